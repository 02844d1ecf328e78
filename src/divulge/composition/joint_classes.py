# SPDX-License-Identifier: Apache-2.0
"""Rows of the original with their class in every release, which define the joint classes.

Consider a recipient of all releases who knows the class of each person in each of them. Two people
who are in the same class of every release are indistinguishable to this recipient. Every release
stays the same if these two exchange the values that the recipient does not know. So no recipient
learns more than the joint classes disclose, and a recipient with less knowledge may learn less.
Metrics of the joint classes are an upper bound if the class of each person is known.

The class of a person is exact if the private part of a release is available. Otherwise labels and
groups are compared with the person's values. If several classes fit, people are placed so that each
class or group has as many of each value as were published. This is one of the placements that the
release allows. Another placement may have smaller joint classes, so its metrics are no bound.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from divulge import arrays, queries
from divulge.arguments import arg
from divulge.arrays import Ints
from divulge.composition.recipient_view import (
    ColumnEntries,
    PublishedRelease,
    matching_classes,
    require_columns,
)
from divulge.counting import Contingency, EncodedColumn, Request, count_in_memory, encode
from divulge.engines import DuckDBEngine, OwnEngine, StoredRows
from divulge.errors import BadInput
from divulge.generalization import Recoding
from divulge.releases import CLASSES
from divulge.sources import Roles, Table, own_table, table_of
from divulge.text import as_text

NOT_PUBLISHED = 0
"""Class number of people who are not in a release; classes are numbered from 1."""


@dataclass(frozen=True)
class LookupResult:
    """Method and result of the lookup of people in one release."""

    how: str
    """"mapping", "labels", "hierarchies" or "groups"."""
    several: int = 0
    """Number of people whom several classes fit and who were placed in one of them."""
    misfits: int = 0
    """Number of people without a fitting class that has capacity left for their sensitive values.
    """
    too_many: int = 0
    """Number of people in excess of the published size of the class that fits them.

    All of them are counted in that class.
    """
    unfound: int = 0
    """Number of published rows without a person in the original."""

    @property
    def exact(self) -> bool:
        """True if no person can be in a class other than the one found.

        Then each person fits one class or none, and each class has as many people as fit it. So all
        published people are in their class, and no other person is.
        """
        return not (self.several or self.misfits or self.too_many or self.unfound)

    @classmethod
    def from_placement(
        cls,
        how: str,
        release: PublishedRelease,
        placed_counts: Ints,
        *,
        several: int = 0,
        misfits: int = 0,
    ) -> LookupResult:
        """Compare the number of people placed in each class with the published sizes."""
        excess = placed_counts - release.sizes
        return cls(
            how,
            several,
            misfits,
            int(np.maximum(excess, 0).sum()),
            int(np.maximum(-excess, 0).sum()),
        )


@dataclass(frozen=True, eq=False)
class JointClasses:
    """Rows of the original with one additional column for each release."""

    table: Table
    columns: tuple[str, ...]
    """Column of each release with the class number, counted from 1; 0 if the person is not in it.
    """
    releases: tuple[PublishedRelease, ...]
    lookups: tuple[LookupResult, ...]
    person: str | None
    versions: int
    """Number of tables in which the original was passed."""
    stored_rows: StoredRows = field(repr=False)
    """Handle that keeps the rows stored."""
    sources: tuple[str, ...]
    """Table in which people were looked up, for each release."""
    left: tuple[int, int] | None = None
    """People of the releases who are not in the later table, and those of them with unique classes.

    None unless people were matched with a later table.
    """

    @property
    def exact(self) -> bool:
        """True if the class of each person is known, so joint classes are an upper bound."""
        return all(lookup.exact for lookup in self.lookups) and (
            self.versions == 1 or self.person is not None
        )

    def within(self, columns: Sequence[str]) -> Table:
        """Rows of people who are in at least one of these releases."""
        quote = self.table.engine.quote
        is_published = " OR ".join(f"{quote(name)} <> {NOT_PUBLISHED}" for name in columns)
        relation = f"(SELECT * FROM {self.table.relation} WHERE {is_published})"
        return replace(self.table, relation=relation)


def join_classes(
    truths: Sequence[Table],
    releases: Sequence[PublishedRelease],
    *,
    person: str | None = None,
    people: Table | None = None,
) -> JointClasses:
    """Look up all people in every release.

    `truths` is one table, or for each release the table that it was made from.

    With `people` the rows are those of this table, regardless of the state from which the releases
    were made. It needs `person`.
    """
    if len(truths) not in (1, len(releases)):
        message = f"{len(truths)} truths were given for {len(releases)} releases"
        raise BadInput(
            message, hint="Give one table, or for each release the table that it was made of"
        )
    originals = list(truths) * (len(releases) if len(truths) == 1 else 1)
    if person is not None:
        if people is None:
            tables_of_people = truths
        else:
            tables_of_people = (*truths, people)
        for table in tables_of_people:
            table.column(person)
    columns = _unused_column_names(
        len(releases), [name for table in truths for name in table.names]
    )
    versions: dict[int, _OriginalVersion] = {}
    # A release that suppressed people because of others is looked up after them. A person's class
    # there determines whether this release suppressed the person.
    lookup_order = sorted(
        range(len(releases)), key=lambda index: releases[index].prior_release_count
    )
    for table in originals:
        if id(table) not in versions:
            versions[id(table)] = _OriginalVersion(*_in_shared_engine(table, versions))
    results = {
        release_index: versions[id(originals[release_index])].add_release(
            releases[release_index], columns[release_index], person
        )
        for release_index in lookup_order
    }
    lookup_results = [results[release_index] for release_index in range(len(releases))]
    version_list = list(versions.values())
    engine = version_list[0].engine
    if len(version_list) == 1:
        sql = version_list[0].sql
    else:
        sql = _join_versions(version_list, columns, person)
    departed = None
    if people is not None and person is not None:
        current_people = _in_shared_engine(people, versions)[0]
        for version in version_list:
            _require_one_row_per_person(version, person)
        stored_classes = engine.hold(sql)
        sql = _match_people(current_people, stored_classes, columns, person)
        departed = _count_departed(current_people, stored_classes, columns, person)
    stored_rows = engine.hold(sql)
    last = originals[-1]
    rows = table_of(
        engine, stored_rows.relation, source=last.source, frame=last.frame, reading=last.reading
    )
    return JointClasses(
        rows,
        tuple(columns),
        tuple(releases),
        tuple(lookup_results),
        person,
        len(version_list),
        stored_rows,
        tuple(table.source for table in originals),
        departed,
    )


def _in_shared_engine(
    table: Table, versions: dict[int, _OriginalVersion]
) -> tuple[Table, OwnEngine]:
    """Bring the table into one of our engines; all versions share one engine."""
    source, engine = own_table(table)
    first = next(iter(versions.values()), None)
    if first is None or first.engine is engine:
        return source, engine
    if first.engine.name != engine.name:
        raise BadInput(
            "the truths lie in different engines",
            hint=f"Open all of them with the same {arg('engine')}",
        )
    relation = first.engine.lend(engine.query(f"SELECT * FROM {source.relation}"))
    return table_of(
        first.engine, relation, source=source.source, frame=source.frame, reading=source.reading
    ), first.engine


def _unused_column_names(count: int, names: Sequence[str]) -> list[str]:
    used_names = {name.casefold() for name in names}
    suffix = ""
    while any(
        f"released {release_number}{suffix}" in used_names for release_number in range(1, count + 1)
    ):
        suffix += "_"
    return [f"released {release_number}{suffix}" for release_number in range(1, count + 1)]


class _Suppressed(NamedTuple):
    """People whom a release suppressed because of their classes in prior releases."""

    keys: tuple[str, ...]
    """Quoted names of the columns k0, k1, ... of the rows."""
    classes: Mapping[str, str]
    """Column of each other release, with the column of `rows` that holds its class number."""
    rows: pa.Table


class _ClassLookup(NamedTuple):
    """Class of the rows with the same values.

    Where such rows are in several classes, each class has a range of ranks.
    """

    columns: tuple[str, ...]
    rows: pa.Table
    """Values as k0, k1, ... and class as code.

    The columns first and last hold the range of ranks, if people with the same values are in
    several classes.
    """
    ranked: bool
    result: LookupResult
    not_null: tuple[str, ...] = ()
    """Columns whose nulls exclude a row from the release."""
    suppressed: _Suppressed | None = None
    """Rows that were suppressed although others with the same values were not."""


class _OriginalVersion:
    """One state of the original, with a column for each release that was made from it."""

    def __init__(self, table: Table, engine: OwnEngine) -> None:
        self.table = table
        self.engine = engine
        self.sql = f"SELECT * FROM {table.relation}"
        self.class_columns: list[str] = []
        self.releases: list[PublishedRelease] = []

    def add_release(
        self, release: PublishedRelease, column: str, person: str | None
    ) -> LookupResult:
        """Add the class column of a release."""
        require_columns(self.table, release.columns, release.name)
        suppressed = self._suppressed_people(release)
        if release.has_mapping:
            lookup = _lookup_by_mapping(self.table, release, suppressed)
        else:
            lookup = _lookup_by_fit(self.table, release)
        quote = self.engine.quote
        engine = self.engine
        column_names = [quote(name) for name in (*self.table.names, *self.class_columns)]
        keys = [quote(name) for name in lookup.columns]
        conditions = [
            f"source.{key} IS NOT DISTINCT FROM classes.k{key_index}"
            for key_index, key in enumerate(keys)
        ]
        rank_sql = ""
        if lookup.ranked:
            orderable = [item.name for item in self.table.columns if item.kind != "nested"]
            if person is not None:
                order = [person]
            else:
                order = [name for name in orderable if name not in lookup.columns]
            order_sql = ", ".join(map(quote, order)) or keys[0]
            partition_sql = ", ".join(keys)
            row_number = f"ROW_NUMBER() OVER (PARTITION BY {partition_sql} ORDER BY {order_sql})"
            rank_sql = f", {row_number} AS divulge_rank"
            conditions.append("source.divulge_rank BETWEEN classes.first AND classes.last")
        code = f"COALESCE(classes.code, {NOT_PUBLISHED})"
        if lookup.not_null:
            absent = " OR ".join(f"source.{quote(name)} IS NULL" for name in lookup.not_null)
            code = f"CASE WHEN {absent} THEN {NOT_PUBLISHED} ELSE {code} END"
        suppression_join = ""
        if lookup.suppressed is not None:
            code = f"CASE WHEN suppressed.people IS NULL THEN {code} ELSE {NOT_PUBLISHED} END"
            suppression_conditions = [
                f"source.{key} IS NOT DISTINCT FROM suppressed.k{key_index}"
                for key_index, key in enumerate(lookup.suppressed.keys)
            ]
            suppression_conditions += [
                f"source.{quote(name)} = suppressed.{class_column}"
                for name, class_column in lookup.suppressed.classes.items()
            ]
            suppression_join = f"""
                LEFT JOIN {engine.lend(lookup.suppressed.rows)} AS suppressed
                ON {" AND ".join(suppression_conditions)}
            """
        self.sql = f"""
            SELECT
                {", ".join(f"source.{name}" for name in column_names)},
                CAST({code} AS BIGINT) AS {quote(column)}
            FROM (SELECT *{rank_sql} FROM ({self.sql}) AS version) AS source
            LEFT JOIN {engine.lend(lookup.rows)} AS classes ON {" AND ".join(conditions)}
            {suppression_join}
        """
        self.class_columns.append(column)
        self.releases.append(release)
        return lookup.result

    def _suppressed_people(self, release: PublishedRelease) -> _Suppressed | None:
        """People suppressed because of other releases; None if one of those is not here."""
        if release.opened is None:
            suppressed_rows = None
        else:
            suppressed_rows = release.opened.left_out
        if suppressed_rows is None or release.opened is None:
            return None
        prior_codes = _prior_class_codes(
            suppressed_rows, dict(zip(self.class_columns, self.releases, strict=True))
        )
        if prior_codes is None:
            return None
        rows = {
            name: suppressed_rows[name]
            for name in suppressed_rows.column_names
            if name not in prior_codes
        }
        for name, (_, numbers) in prior_codes.items():
            codes = [numbers.get(text, NOT_PUBLISHED) for text in suppressed_rows[name].to_pylist()]
            rows[name] = pa.array(codes, pa.int64())
        keys = tuple(self.engine.quote(name) for name in release.opened.quasi_identifiers)
        return _Suppressed(
            keys, {column: name for name, (column, _) in prior_codes.items()}, pa.table(rows)
        )


def _prior_class_codes(
    suppressed_rows: pa.Table, releases: Mapping[str, PublishedRelease]
) -> Mapping[str, tuple[str, dict[str, int]]] | None:
    """Column and class numbers of each release that caused suppression; None if one is not here."""
    class_codes: dict[str, tuple[str, dict[str, int]]] = {}
    for name in [name for name in suppressed_rows.column_names if name.startswith("r")]:
        classes_hash = (
            (suppressed_rows.schema.field(name).metadata or {}).get(CLASSES, b"").decode()
        )
        column = next(
            (
                column
                for column, release in releases.items()
                if release.classes_sha256 == classes_hash
            ),
            None,
        )
        if column is None:
            return None
        class_codes[name] = (
            column,
            {
                releases[column].class_text(index): index + 1
                for index in range(len(releases[column]))
            },
        )
    return class_codes


def _lookup_by_mapping(
    table: Table, release: PublishedRelease, suppressed: _Suppressed | None
) -> _ClassLookup:
    """Look up classes by the mapping of values in the private part."""
    opened_release = release.opened
    release_classes = release.contingency
    assert opened_release is not None and release_classes is not None  # noqa: S101, PT018 - has_mapping
    drops_nulls = opened_release.nulls == "drop"
    not_null = tuple(name for name in opened_release.sensitive if drops_nulls and table.has(name))
    nonnull_sql = " AND ".join(f"{table.engine.quote(name)} IS NOT NULL" for name in not_null)
    if not_null:
        source = replace(table, relation=f"(SELECT * FROM {table.relation} WHERE {nonnull_sql})")
    else:
        source = table
    sensitive_parts = [
        part
        for part in release.sensitive_entries
        if suppressed is None and table.has(part.columns[0])
    ]
    roles = Roles(
        release.columns, tuple(part.columns[0] for part in sensitive_parts), (), None, None
    )
    contingency = count_in_memory(Request(source, roles, "category", joint=False))
    key_indices = [
        key_index
        for key_index, name in enumerate(release.columns)
        if name in opened_release.quasi_identifiers
    ]
    key_parts = (
        (contingency.keys[key_index] for key_index in key_indices),
        (contingency.codes[key_index] for key_index in key_indices),
    )
    recoding, _ = opened_release.recode(
        replace(contingency, keys=tuple(key_parts[0]), codes=tuple(key_parts[1]))
    )
    code = matching_classes(_extend_recoding(recoding, contingency), release_classes) + 1
    if drops_nulls:
        for key, codes in zip(contingency.keys, contingency.codes, strict=True):
            code[np.array([label is None for label in key.labels])[codes]] = NOT_PUBLISHED
    rows = {
        f"k{key_index}": contingency.key_column(key_index)
        for key_index in range(len(contingency.keys))
    } | {"code": pa.array(code)}
    placed_counts = arrays.exact_sums(code, contingency.sizes, len(release) + 1)
    if suppressed is not None:
        columns = [
            [
                as_text(contingency.keys[key_index].labels[code_])
                for code_ in contingency.codes[key_index].tolist()
            ]
            for key_index in key_indices
        ]
        keys = zip(*columns, strict=True)
        class_of = dict(zip(keys, code.tolist(), strict=True))
        suppressed_keys = zip(
            *(
                map(as_text, suppressed.rows[f"k{index}"].to_pylist())
                for index in range(len(key_indices))
            ),
            strict=True,
        )
        for key_texts, people in zip(
            suppressed_keys, suppressed.rows["people"].to_pylist(), strict=True
        ):
            placed_counts[class_of.get(key_texts, NOT_PUBLISHED)] -= people
    result = LookupResult.from_placement("mapping", release, placed_counts[1:])
    misfits = max(
        (_count_changed_values(contingency, code, part) for part in sensitive_parts), default=0
    )
    result = replace(result, misfits=max(0, misfits - result.too_many))
    return _ClassLookup(
        release.columns,
        pa.table(rows),
        ranked=False,
        result=result,
        not_null=not_null,
        suppressed=suppressed,
    )


def _count_changed_values(contingency: Contingency, code: Ints, part: ColumnEntries) -> int:
    """Number of people published with other sensitive values than they have in this table.

    They come from another state of the table.
    """
    cells = contingency.cells[part.columns[0]]
    codes_of_texts = {text: text_code for text_code, text in enumerate(part.texts[0])}
    target_codes = np.array(
        [codes_of_texts.get(as_text(label), len(codes_of_texts)) for label in cells.domain.labels],
        dtype=np.int64,
    )
    width = len(codes_of_texts) + 1
    classes = int(max(code.max(initial=0), part.class_index.max(initial=-1) + 1)) + 1
    own_counts = arrays.exact_sums(
        code[cells.class_index] * width + target_codes[cells.value],
        cells.mass.astype(np.int64),
        classes * width,
    )
    published_counts = arrays.exact_sums(
        (part.class_index + 1) * width + part.codes[0], part.people, classes * width
    )
    surplus = np.maximum(own_counts - published_counts, 0)
    return int(surplus[width:].sum())  # the first entries are of people who are not published


def _extend_recoding(recoding: Recoding, contingency: Contingency) -> Recoding:
    """Extend a recoding by the published unchanged columns that are background knowledge."""
    others = [
        key_index
        for key_index, key in enumerate(contingency.keys)
        if key.name not in recoding.columns
    ]
    keys = [contingency.keys[key_index] for key_index in others]
    return replace(
        recoding,
        columns=(*recoding.columns, *(key.name for key in keys)),
        labels=(*recoding.labels, *(tuple(as_text(label) for label in key.labels) for key in keys)),
        codes=(*recoding.codes, *(contingency.codes[key_index] for key_index in others)),
        unchanged=(*recoding.unchanged, *(True for _ in others)),
    )


# --- lookup without a mapping ---------------------------------------------------------------------
def _lookup_by_fit(table: Table, release: PublishedRelease) -> _ClassLookup:
    """Look up classes by the labels and groups that fit the values of each person.

    Each class takes as many people with each value as it has.
    """
    sensitive_parts = [part for part in release.sensitive_entries if table.has(part.columns[0])]
    columns = tuple(
        dict.fromkeys((*release.columns, *(part.columns[0] for part in sensitive_parts)))
    )
    columns_sql = ", ".join(map(table.engine.quote, columns))
    counts = table.engine.query(
        f"SELECT {columns_sql}, COUNT(*) AS n FROM {table.relation} GROUP BY {columns_sql}"
    )
    numeric_columns = frozenset(name for name in columns if table.column(name).kind == "number")
    distinct_rows = _DistinctRows(
        columns,
        [
            encode(counts.column(index), name=name, kind="text", is_sorted=False)
            for index, name in enumerate(columns)
        ],
        numeric_columns,
    )
    sizes: Ints = counts.column(len(columns)).to_numpy()
    placement = _Placement(sizes, release, distinct_rows)
    placement.place_people(
        placement.candidates(sensitive_parts), [*release.lookup_entries, *sensitive_parts]
    )
    misfits = int(placement.unplaced.sum())
    placement.place_people(placement.candidates([]), release.lookup_entries)
    misfits -= int(placement.unplaced.sum())
    cell, code, people = placement.placements()
    last = np.cumsum(people) - np.concatenate([[0], np.cumsum(people)])[np.searchsorted(cell, cell)]
    rows = {f"k{index}": counts.column(index).take(pa.array(cell)) for index in range(len(columns))}
    rows |= {
        "code": pa.array(code + 1),
        "first": pa.array(last - people + 1),
        "last": pa.array(last),
    }
    if release.hierarchies:
        method = "hierarchies"
    else:
        method = "labels"
    if release.groups is not None:
        method = "groups"
    ranked = len(np.unique(cell)) < len(cell)
    placed_counts = arrays.exact_sums(code, people, len(release))
    result = LookupResult.from_placement(
        method, release, placed_counts, several=placement.ambiguous, misfits=misfits
    )
    return _ClassLookup(columns, pa.table(rows), ranked, result)


class _DistinctRows(NamedTuple):
    """Distinct rows of the original in the columns that are looked up."""

    columns: tuple[str, ...]
    encoded_columns: Sequence[EncodedColumn]
    numeric_columns: Collection[str]
    """Columns that hold numbers: 34 and 34.0 are equal."""


class _Placement:
    """Assignment of people to the classes of a release."""

    def __init__(
        self, sizes: Ints, release: PublishedRelease, distinct_rows: _DistinctRows
    ) -> None:
        self.unplaced: Ints = sizes.copy()
        """Number of people of each cell who are not placed yet."""
        self.ambiguous = 0
        self._release = release
        self._distinct_rows = distinct_rows
        self._capacity = {
            id(part): part.people.copy()
            for part in (*release.lookup_entries, *release.sensitive_entries)
        }
        self._placements: list[tuple[Ints, Ints, Ints]] = []

    def candidates(self, sensitive_parts: Sequence[ColumnEntries]) -> pa.Table:
        """Pairs of a cell with unplaced people and a class that fits it.

        Columns: cell, class, and r0, r1, ... with the entry of each part that fits.
        """
        engine = DuckDBEngine()
        distinct_rows = self._distinct_rows
        release = self._release
        unplaced_rows = np.flatnonzero(self.unplaced)
        columns = {
            f"k{index}": pa.array(encoded.int64_codes[unplaced_rows])
            for index, encoded in enumerate(distinct_rows.encoded_columns)
        }
        joins = [f"{engine.lend(pa.table({'cell': pa.array(unplaced_rows), **columns}))} AS cells"]
        for number, part in enumerate((*release.lookup_entries, *sensitive_parts)):
            if number:
                conditions = [f"part{number}.c = part0.c"]
            else:
                conditions = []
            for index, name in enumerate(part.columns):
                column_index = distinct_rows.columns.index(name)
                fits = _matching_labels(
                    name,
                    distinct_rows,
                    part.texts[index],
                    release,
                    is_lookup_column=part in release.lookup_entries,
                )
                joins.append(
                    f"JOIN {engine.lend(fits)} AS f{number}_{index} ON f{number}_{index}.v = "
                    f"cells.k{column_index}"
                )
                conditions.append(f"part{number}.x{index} = f{number}_{index}.l")
            entries = {"c": part.class_index, "r": np.arange(len(part.class_index))}
            entries |= {f"x{index}": codes for index, codes in enumerate(part.codes)}
            entries_relation = engine.lend(
                pa.table({name: pa.array(numbers) for name, numbers in entries.items()})
            )
            joins.append(f"JOIN {entries_relation} AS part{number} ON {' AND '.join(conditions)}")
        entry_columns = ", ".join(
            f"part{number}.r AS r{number}"
            for number in range(len(release.lookup_entries) + len(sensitive_parts))
        )
        return engine.query(f"""
            SELECT cell, part0.c AS class, {entry_columns}
            FROM {" ".join(joins)}
            ORDER BY cell, class
        """)

    def place_people(self, candidates: pa.Table, parts: Sequence[ColumnEntries]) -> None:
        """Place people, starting with those whom the fewest classes fit.

        Cells that one class fits are placed first. Each other cell goes to the classes with the
        most capacity left.
        """
        cell = candidates.column("cell").to_numpy()
        class_index = candidates.column("class").to_numpy()
        entries = [candidates.column(f"r{number}").to_numpy() for number in range(len(parts))]
        capacities = [self._capacity[id(part)] for part in parts]
        cell_starts = np.flatnonzero(np.concatenate([[True], cell[1:] != cell[:-1]]))
        fitting_counts = np.diff(cell_starts, append=len(cell))
        single_fit = cell_starts[fitting_counts == 1]
        people = self.unplaced[cell[single_fit]]
        for capacity, entry in zip(capacities, entries, strict=True):
            np.subtract.at(capacity, entry[single_fit], people)
        self._record_placement(cell[single_fit], class_index[single_fit], people)
        others = np.flatnonzero(fitting_counts > 1)
        self.ambiguous += int(self.unplaced[cell[cell_starts[others]]].sum())
        placements: list[tuple[int, int, int]] = []
        for index in others[np.argsort(fitting_counts[others], kind="stable")].tolist():
            candidates_of_cell = range(
                cell_starts[index], cell_starts[index] + fitting_counts[index]
            )
            remaining = int(self.unplaced[cell[candidates_of_cell[0]]])
            capacity_of = {
                j: min(
                    int(capacity[entry[j]])
                    for capacity, entry in zip(capacities, entries, strict=True)
                )
                for j in candidates_of_cell
            }
            for j in sorted(candidates_of_cell, key=lambda j: -capacity_of[j]):
                placed_people = min(remaining, capacity_of[j])
                if placed_people <= 0:
                    break
                placements.append((int(cell[j]), int(class_index[j]), placed_people))
                for capacity, entry in zip(capacities, entries, strict=True):
                    capacity[entry[j]] -= placed_people
                remaining -= placed_people
        if placements:
            self._record_placement(
                *(np.array(column, dtype=np.int64) for column in zip(*placements, strict=True))
            )

    def _record_placement(self, cell: Ints, class_index: Ints, people: Ints) -> None:
        np.subtract.at(self.unplaced, cell, people)
        self._placements.append((cell, class_index, people))

    def placements(self) -> tuple[Ints, Ints, Ints]:
        """Placed people: cell in ascending order, class, and number of people."""
        cell, class_index, people = (
            np.concatenate([np.zeros(0, np.int64), *column])
            for column in zip(*self._placements, strict=True)
        )
        order = np.lexsort((class_index, cell))
        return cell[order], class_index[order], people[order]


def _matching_labels(
    name: str,
    cells: _DistinctRows,
    labels: list[str | None],
    release: PublishedRelease,
    *,
    is_lookup_column: bool,
) -> pa.Table:
    """Pairs of a value of the original and a label of the release that may stand for it.

    Values in groups stand for themselves. A null label fits nulls. If no value is null, the cell
    was suppressed and the null label fits any value. An unreadable label raises an error if some
    value fits no other label, because it may stand for that value.
    """
    texts = cells.encoded_columns[cells.columns.index(name)].domain.texts
    if not is_lookup_column or release.groups is not None:
        index_of_label = {label: label_index for label_index, label in enumerate(labels)}
        pairs = [
            (label_index, index_of_label[text])
            for label_index, text in enumerate(texts)
            if text in index_of_label
        ]
        if pairs:
            value, label = zip(*pairs, strict=True)
        else:
            value = ()
            label = ()
        return pa.table({"v": pa.array(value, pa.int64()), "l": pa.array(label, pa.int64())})
    hierarchy = release.hierarchies.get(name)
    fits = queries.fits(
        labels,
        texts,
        plain=texts,
        meanings=None if hierarchy is None else queries.Meanings.of_levels(hierarchy),
        numbers=name in cells.numeric_columns,
        suppression=None if None in texts else {None: "wildcard"},
    )
    unread_labels = frozenset(fits.unread)
    is_readable = np.array([label not in unread_labels for label in labels], dtype=bool)[fits.label]
    if fits.unread and len(np.unique(fits.value[is_readable])) < len(texts):
        message = (
            f"it cannot be told which values of {name!r} the published {fits.unread[0]!r} stands "
            "for"
        )
        raise BadInput(
            message,
            hint="Give the release with its private part, or hierarchies that have the label",
        )
    return pa.table(
        {"v": pa.array(fits.value[is_readable]), "l": pa.array(fits.label[is_readable])}
    )


# --- an original that changed between releases ----------------------------------------------------
def _join_versions(
    versions: Sequence[_OriginalVersion], columns: Sequence[str], person: str | None
) -> str:
    """Query for all people of all versions, with their latest row and all their classes."""
    engine = versions[0].engine
    last = versions[-1].table
    quote = engine.quote
    for version in versions:
        for column in last.columns:
            if (
                version.table.has(column.name)
                and version.table.column(column.name).type != column.type
            ):
                message = (
                    f"the column {column.name!r} is {column.type} in {last.source} and not in "
                    f"{version.table.source}"
                )
                raise BadInput(message, hint="Give all versions of the truth the same types")
    shared = [name for name in last.names if all(version.table.has(name) for version in versions)]
    keys = [quote(name) for name in (shared if person is None else [person])]
    if not keys:
        raise BadInput("the versions of the truth share no column, so nobody is in two of them")
    version_queries = []
    for number, version in enumerate(versions):
        if person is not None:
            _require_one_row_per_person(version, person)
        columns_sql = [
            quote(column.name)
            if version.table.has(column.name)
            else f"{engine.cast('NULL', column.type)} AS {quote(column.name)}"
            for column in last.columns
        ]
        columns_sql += [
            quote(name) if name in version.class_columns else f"CAST(0 AS BIGINT) AS {quote(name)}"
            for name in columns
        ]
        copy_number = f"ROW_NUMBER() OVER (PARTITION BY {', '.join(keys)} ORDER BY {keys[0]})"
        version_queries.append(
            f"SELECT {', '.join(columns_sql)}, {number} AS divulge_version, {copy_number} AS "
            f"divulge_copy FROM ({version.sql}) AS v{number}"
        )
    all_rows = " UNION ALL ".join(version_queries)
    partition = f"PARTITION BY {', '.join(keys)}, divulge_copy"
    codes = ", ".join(f"MAX({quote(name)}) OVER ({partition}) AS {quote(name)}" for name in columns)
    column_list = ", ".join(map(quote, last.names))
    newest = f"ROW_NUMBER() OVER ({partition} ORDER BY divulge_version DESC) AS divulge_newest"
    rows = f"SELECT {column_list}, {codes}, {newest} FROM ({all_rows}) AS all_rows"
    class_columns = ", ".join(map(quote, columns))
    return f"""
        SELECT {column_list}, {class_columns} FROM ({rows}) AS joined WHERE divulge_newest = 1
    """


def _match_people(
    people: Table, stored_classes: StoredRows, columns: Sequence[str], person: str
) -> str:
    """Query for the rows of a table with the classes in which each person was published.

    These depend on the values at the time of the release, not on the values in this table.
    """
    quote = people.engine.quote
    people_columns = ", ".join(f"source.{quote(name)}" for name in people.names)
    codes = ", ".join(
        f"COALESCE(before.{quote(name)}, {NOT_PUBLISHED}) AS {quote(name)}" for name in columns
    )
    condition = f"source.{quote(person)} = before.{quote(person)}"
    return (
        f"SELECT {people_columns}, {codes} FROM {people.relation} AS source LEFT JOIN "
        f"{stored_classes.relation} AS before ON {condition}"
    )


def _count_departed(
    people: Table, stored_classes: StoredRows, columns: Sequence[str], person: str
) -> tuple[int, int]:
    """Number of published people who are not in the table, and of those with unique classes."""
    key = people.engine.quote(person)
    names = [people.engine.quote(name) for name in columns]
    columns_sql = ", ".join(names)
    is_published = " OR ".join(f"before.{name} <> {NOT_PUBLISHED}" for name in names)
    present_people = f"SELECT DISTINCT {key} AS person FROM {people.relation}"
    departed = f"""
        SELECT {", ".join(f"before.{name}" for name in names)}
        FROM {stored_classes.relation} AS before
        LEFT JOIN ({present_people}) AS present ON present.person = before.{key}
        WHERE present.person IS NULL AND ({is_published})
    """
    class_sizes = f"SELECT COUNT(*) AS n FROM ({departed}) AS departed GROUP BY {columns_sql}"
    totals = people.engine.query(f"""
        SELECT
            COALESCE(SUM(n), 0) AS people,
            COALESCE(SUM(CASE WHEN n = 1 THEN 1 ELSE 0 END), 0) AS unique_people
        FROM ({class_sizes}) AS classes
    """).to_pylist()[0]
    return int(totals["people"]), int(totals["unique_people"])


def _require_one_row_per_person(version: _OriginalVersion, person: str) -> None:
    key = version.engine.quote(person)
    counts = version.engine.query(
        f"SELECT COUNT(*) AS rows_, COUNT({key}) AS named, COUNT(DISTINCT {key}) AS people FROM "
        f"{version.table.relation}"
    ).to_pylist()[0]
    if counts["rows_"] != counts["people"]:
        without = counts["rows_"] - counts["named"]
        if without:
            problem = f"{person!r} is empty in {without:,} of its rows"
        else:
            problem = f"{person!r} names some people twice"
        hint = "Versions of a truth are tied by it: give one row per person, each with its name"
        raise BadInput(f"{version.table.source}: {problem}", hint=hint)
