# SPDX-License-Identifier: Apache-2.0
"""Matching of people with the rows of a release, by joins on the engine.

The release is counted once into cells: distinct combinations of labels and sensitive values, each
with its number of records. Distinct labels are matched with distinct known values, column by column
(queries/label_matching.py). People with equal known values are one tuple. Tuples are joined with
cells one column after the other. After each column, only prefixes of labels are kept that occur in
the release. So an intermediate result has only prefixes that match, even if many labels overlap.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa

from divulge import arrays, queries
from divulge.arrays import Floats, Ints
from divulge.counting import encode
from divulge.engines import StoredRows
from divulge.sources import Table, table_of

_LARGEST_KEY = 2**62


@dataclass(frozen=True, eq=False)
class Shares:
    """Counts of the values of a column among the records that match each tuple.

    Three arrays of equal length, sorted by tuple.
    """

    values: tuple[queries.Text, ...]
    """Text of each code in `value`."""
    tuple_: Ints
    value: Ints
    records: Floats


@dataclass(frozen=True, eq=False)
class Matches:
    """Matching records of each tuple; a tuple is all people with equal known values."""

    of_person: Ints
    """Tuple of each person."""
    first: Ints
    """Position of one person of each tuple."""
    rows: Floats
    """Number of records of the release that match each tuple."""
    classes: Ints
    """Number of combinations of labels that these records have in the known columns."""
    shares: Mapping[str, Shares] = field(default_factory=dict)
    pairs: StoredRows | None = field(default=None, repr=False)
    """Pairs of a tuple (id) and a combination of labels (p) that matches it."""

    @cached_property
    def people(self) -> Ints:
        """Number of people in each tuple."""
        return np.bincount(self.of_person, minlength=len(self.rows)).astype(np.int64)


class Matcher:
    """Release that is counted once and matched with people any number of times."""

    def __init__(
        self,
        release: Table,
        columns: Sequence[str],
        about: Sequence[str],
        *,
        mass: str | None = None,
        meanings: Mapping[str, queries.Meanings] | None = None,
        suppression: Mapping[queries.Text, str] | None = None,
    ) -> None:
        """Prepare matching by `columns`, which may be known, and guesses of `about`.

        The release is counted at the first match.
        """
        self.engine = release.engine
        self.release = release
        self.columns = tuple(columns)
        self.about = tuple(about)
        self._meanings = dict(meanings or {})
        self._suppression = dict(suppression or {})
        self._mass = mass
        self._people: list[Table] = []
        self._fitting_values: dict[tuple[str, tuple[queries.Text, ...], bool], queries.Fits] = {}
        self._totals: dict[str, Floats] = {}
        self._plain: dict[str, frozenset[queries.Text]] = {}
        self.unread: dict[str, tuple[str, ...]] = {}
        """Labels of unknown meaning, by column."""
        self._column_names = tuple(dict.fromkeys((*columns, *about)))
        self._code_column = {name: f"c{index}" for index, name in enumerate(self._column_names)}

    @cached_property
    def _stored_combinations(self) -> StoredRows:
        return _count_combinations(self.release, self._column_names, self._mass)

    @cached_property
    def _numbers(self) -> dict[str, Numbered]:
        return {
            name: Numbered.of(self._stored_combinations, index)
            for index, name in enumerate(self._column_names)
        }

    @cached_property
    def _coded(self) -> StoredRows:
        return _coded(
            self._stored_combinations, [self._numbers[name] for name in self._column_names]
        )

    @classmethod
    def of_predicates(cls, other: Matcher, predicates: pa.Table) -> Matcher:
        """Build a matcher of combinations of labels, which are read as those of the release are."""
        table = table_of(other.engine, other.engine.lend(predicates), source="predicates")
        matcher = cls(
            table,
            predicates.column_names,
            (),
            meanings=other._meanings,
            suppression=other._suppression,
        )
        matcher._plain = other._plain
        matcher._people = other._people
        return matcher

    def labels(self, column: str) -> tuple[queries.Text, ...]:
        """Distinct labels, or values, of a column of the release."""
        return self._numbers[column].texts

    @property
    def reading(self) -> dict[str, str]:
        """Source of the meaning of each column's labels."""
        return {name: self._meanings.get(name, queries.Meanings()).origin for name in self.columns}

    @cached_property
    def records(self) -> float:
        """Number of records of the release."""
        return float(
            self.engine.query(f"SELECT SUM(n) AS n FROM {self._coded.relation} AS c")
            .column("n")[0]
            .as_py()
            or 0
        )

    def totals(self, column: str) -> Floats:
        """Count the records of each value of a column, in the order of `labels`."""
        if column not in self._totals:
            sql = f"""
                SELECT {self._code_column[column]} AS v, SUM(n) AS n
                FROM {self._coded.relation} AS c
                GROUP BY 1
            """
            value_counts = self.engine.query(sql)
            sums = np.zeros(len(self.labels(column)))
            sums[value_counts["v"].to_numpy()] = value_counts["n"].to_numpy()
            self._totals[column] = sums
        return self._totals[column]

    def knowing_values(self, tables: Iterable[Table]) -> None:
        """Register tables of people; a label that equals one of their values represents itself."""
        self._people += tables
        self._plain.clear()

    def _values(self, column: str) -> frozenset[queries.Text]:
        if column not in self._plain:
            texts: set[queries.Text] = set()
            for table in self._people:
                if table.has(column):
                    cell = table.engine.cast(table.engine.quote(column), "VARCHAR")
                    sql = f"SELECT DISTINCT {cell} AS v FROM {table.relation}"
                    texts.update(table.engine.query(sql)["v"].to_pylist())
            self._plain[column] = frozenset(texts)
        return self._plain[column]

    # --- people -----------------------------------------------------------------------------------
    def match(
        self,
        known_table: pa.Table,
        knows: Sequence[str],
        *,
        numbers: Mapping[str, bool] | None = None,
        second_table: pa.Table | None = None,
    ) -> Matches:
        """Find the records that match each of these people in the columns `knows`.

        With `second_table`, find the records that match both tables of values.
        """
        columns = [
            self._column(
                name, known_table, second_table, is_number=(numbers or {}).get(name, False)
            )
            for name in knows
        ]
        codes = [column_codes for column_codes, _, _ in columns]
        radices = [width for _, width, _ in columns]
        of_person, first = _tuples(codes, radices, known_table.num_rows)
        tuple_columns = {"id": np.arange(len(first))} | {
            f"v{column_index}": column_codes[first]
            for column_index, column_codes in enumerate(codes)
        }
        people = self.engine.lend(pa.table(tuple_columns))
        fitting = [fits for _, _, fits in columns]
        matched = self.engine.hold(self._match_sql(people, knows, fitting, carried_column="id"))
        rows, classes = self._matching_rows(matched, knows, len(first))
        return Matches(of_person, first, rows, classes, self._shares(matched, knows), matched)

    def _column(
        self, name: str, known_table: pa.Table, second_table: pa.Table | None, *, is_number: bool
    ) -> tuple[Ints, int, queries.Fits]:
        """Encode the known values of a column; return codes, their number and matching labels."""
        known_values = encode(known_table[name], name=name, kind="text", is_sorted=False)
        codes = known_values.int64_codes
        texts = known_values.domain.labels
        fitting = self._fits(name, texts, is_number=is_number)
        if second_table is None:
            return codes, len(texts), fitting
        second = encode(second_table[name], name=name, kind="text", is_sorted=False)
        other_texts = second.domain.labels
        pair_codes = codes * len(other_texts) + second.int64_codes
        both, numbered = np.unique(pair_codes, return_inverse=True)
        second_fits = self._fits(name, other_texts, is_number=is_number)
        return (
            numbered.astype(np.int64),
            len(both),
            _intersect_fits(fitting, second_fits, *np.divmod(both, len(other_texts))),
        )

    def own_rows(
        self,
        known_table: pa.Table,
        knows: Sequence[str],
        key: str,
        person_keys: pa.ChunkedArray,
        *,
        numbers: Mapping[str, bool],
    ) -> Floats:
        """Count the matching rows of each person that are their own, by a key of the release.

        `person_keys` is the key of each person.
        """
        # The filter also lets nearly equal numbers pass; the match below separates them.
        if numbers[key]:
            kind = "DOUBLE"
            texts = person_keys.cast(pa.float64())
        else:
            kind = "VARCHAR"
            texts = person_keys
        cell = self.engine.cast(self.engine.quote(key), kind)
        key_relation = self.engine.lend(pa.table({"i": texts}))
        column_names = tuple(dict.fromkeys((*knows, key)))
        rows = (
            f"SELECT {', '.join(map(self.engine.quote, column_names))} FROM {self.release.relation}"
        )
        own_rows_table = table_of(
            self.engine,
            f"({rows} WHERE {cell} IN (SELECT i FROM {key_relation} AS w))",
            source="own rows",
        )
        matcher = Matcher(
            own_rows_table, column_names, (), meanings=self._meanings, suppression=self._suppression
        )
        matcher._people = self._people
        matcher._plain = {name: self._values(name) for name in knows} | {
            key: frozenset(person_keys.to_pylist())
        }
        known_table = pa.table({name: known_table[name] for name in knows} | {key: person_keys})
        matches = matcher.match(known_table, column_names, numbers=numbers)
        return matches.rows[matches.of_person]

    def published(self, matches: Matches, people: Table, knows: Sequence[str]) -> Floats:
        """Compute the highest share of each tuple's people that can be in the release.

        If N people match one class of n rows and no other class, it is n / N. A person who matches
        several classes may be in any of them, and counts as published.
        """
        share = np.ones(len(matches.rows))
        if matches.pairs is None:
            return share
        listed, matched = self._match_counted(people, knows, carried_column="id")
        singles_sql = "SELECT id, MIN(p) AS p FROM {} AS m GROUP BY id HAVING COUNT(*) = 1"
        crowd = (
            f"SELECT a.p AS p, SUM(r.n) AS people FROM ({singles_sql.format(matched.relation)}) "
            f"AS a JOIN {listed.relation} AS r ON r.id = a.id GROUP BY a.p"
        )
        sql = (
            "SELECT t.id AS id, c.n AS n, f.people AS people FROM "
            f"({singles_sql.format(matches.pairs.relation)}) AS t "
            f"JOIN ({crowd}) AS f ON f.p = t.p JOIN ({self._classes(knows)}) AS c ON c.p = t.p"
        )
        matching_classes = self.engine.query(sql)
        n, people_counts = (
            matching_classes[name].to_numpy().astype(np.float64) for name in ("n", "people")
        )
        share[matching_classes["id"].to_numpy()] = np.minimum(n / people_counts, 1.0)
        return share

    def crowds(
        self, people: Table, knows: Sequence[str], *, count: str | None = None
    ) -> tuple[Floats, Floats]:
        """Count the records, and the matching people, of each class of the release."""
        _, matched = self._match_counted(people, knows, count=count, carried_column="n")
        sql = (
            "SELECT c.n AS records, COALESCE(m.people, 0) AS people "
            f"FROM ({self._classes(knows)}) AS c LEFT JOIN (SELECT p, SUM(n) AS people "
            f"FROM {matched.relation} AS one GROUP BY p) AS m ON m.p = c.p"
        )
        class_sizes = self.engine.query(sql)
        return class_sizes["records"].to_numpy().astype(np.float64), class_sizes[
            "people"
        ].to_numpy().astype(np.float64)

    def _match_counted(
        self, people: Table, knows: Sequence[str], *, carried_column: str, count: str | None = None
    ) -> tuple[StoredRows, StoredRows]:
        """Count these people by their known values, and match them with the release.

        Returns the counts (n) by tuple (id), and the matching pairs of `carried_column` and labels
        (p).
        """
        stored_people = _count_combinations(people, knows, count)
        if not self.engine.sees(stored_people):
            stored_people = self.engine.hold(
                f"SELECT * FROM {self.engine.lend(stored_people.table())} AS lent"
            )
        numbered = [Numbered.of(stored_people, index) for index in range(len(knows))]
        coded = _coded(stored_people, numbered)
        places = ", ".join(f"c{index} AS v{index}" for index in range(len(knows)))
        key = " || '.' || ".join(f"CAST(c{index} AS VARCHAR(60))" for index in range(len(knows)))
        listed = self.engine.hold(f"SELECT {key} AS id, n, {places} FROM {coded.relation} AS c")
        fitting = [
            self._fits(name, column.texts, is_number=self._is_number(name, people))
            for name, column in zip(knows, numbered, strict=True)
        ]
        return listed, self.engine.hold(
            self._match_sql(listed.relation, knows, fitting, carried_column=carried_column)
        )

    def _is_number(self, column: str, people: Table) -> bool:
        return (
            self.release.column(column).kind == "number" and people.column(column).kind == "number"
        )

    def _fits(self, column: str, texts: Sequence[queries.Text], *, is_number: bool) -> queries.Fits:
        """Match the labels of a column with values; cached for all sets of known columns."""
        key = (column, tuple(texts), is_number)
        if key not in self._fitting_values:
            self._fitting_values[key] = self._read(column, texts, is_number=is_number)
        return self._fitting_values[key]

    def _read(self, column: str, texts: Sequence[queries.Text], *, is_number: bool) -> queries.Fits:
        label_fits = queries.fits(
            self.labels(column),
            texts,
            plain=self._values(column),
            meanings=self._meanings.get(column),
            numbers=is_number,
            suppression=self._suppression,
        )
        if label_fits.unread:
            self.unread[column] = label_fits.unread
        return label_fits

    # --- statements -------------------------------------------------------------------------------
    def _key(self, columns: Sequence[str], cells: Sequence[str]) -> str:
        """Write SQL for the key of a combination of labels: an integer, or a text on overflow."""
        if self._in_numbers(columns):
            key = cells[0]
            for name, cell in zip(columns[1:], cells[1:], strict=True):
                key = f"({key} * {len(self.labels(name))} + {cell})"
            return key
        return " || '.' || ".join(f"CAST({cell} AS VARCHAR(60))" for cell in cells)

    def _in_numbers(self, columns: Sequence[str]) -> bool:
        return (
            float(np.prod([float(max(len(self.labels(name)), 1)) for name in columns]))
            < _LARGEST_KEY
        )

    def _classes(self, knows: Sequence[str], value: str | None = None) -> str:
        """Write SQL that counts the records n of each combination p of labels of these columns.

        With `value`, they are also counted by the values of that column.
        """
        key = self._key(knows, [self._code_column[name] for name in knows])
        if value:
            more = f", {self._code_column[value]} AS s"
        else:
            more = ""
        if value:
            group_columns = "1, 2"
        else:
            group_columns = "1"
        return (
            f"SELECT {key} AS p{more}, SUM(n) AS n "
            f"FROM {self._coded.relation} AS cells GROUP BY {group_columns}"
        )

    def _match_sql(
        self,
        people: str,
        knows: Sequence[str],
        fitting: Sequence[queries.Fits],
        *,
        carried_column: str,
    ) -> str:
        """Write SQL for all matching pairs of a tuple and a combination p of labels.

        The labels in `p` have the order of `knows`.
        """
        fit_relations = [
            self.engine.lend(pa.table({"v": fitting_rows.value, "k": fitting_rows.label}))
            for fitting_rows in fitting
        ]
        # Columns in which few labels match a value come first: they leave the fewest prefixes.
        order = np.argsort(
            [len(fit.label) / max(len(np.unique(fit.value)), 1) for fit in fitting], kind="stable"
        ).tolist()
        steps: list[str] = []
        for step, column_index in enumerate(order):
            remaining_columns = "".join(f", t.v{other}" for other in order[step + 1 :])
            matched_columns = "".join(f", t.k{other}" for other in order[:step])
            if step:
                source = f"m{step - 1}"
            else:
                source = people
            fitting_rows = (
                f"SELECT t.{carried_column}{remaining_columns}{matched_columns}, "
                f"f.k AS k{column_index} FROM {source} AS t "
                f"JOIN {fit_relations[column_index]} AS f ON f.v = t.v{column_index}"
            )
            prefix_columns = [knows[other] for other in order[: step + 1]]
            key = self._key(prefix_columns, [f"x.k{other}" for other in order[: step + 1]])
            occurring_key = self._key(
                prefix_columns, [self._code_column[name] for name in prefix_columns]
            )
            steps.append(
                f"m{step} AS (SELECT x.* FROM ({fitting_rows}) AS x JOIN (SELECT DISTINCT "
                f"{occurring_key} AS p FROM {self._coded.relation} AS cells) AS o ON o.p = {key})"
            )
        key_of_labels = self._key(knows, [f"k{column_index}" for column_index in range(len(knows))])
        return (
            f"WITH {', '.join(steps)} "
            f"SELECT {carried_column}, {key_of_labels} AS p FROM m{len(order) - 1}"
        )

    def _matching_rows(
        self, matched: StoredRows, knows: Sequence[str], tuples: int
    ) -> tuple[Floats, Ints]:
        sql = (
            f"SELECT m.id AS id, COUNT(*) AS classes, SUM(c.n) AS n FROM {matched.relation} AS m "
            f"JOIN ({self._classes(knows)}) AS c ON c.p = m.p GROUP BY m.id"
        )
        tuple_counts = self.engine.query(sql)
        rows = np.zeros(tuples)
        classes = np.zeros(tuples, dtype=np.int64)
        ids = tuple_counts["id"].to_numpy()
        rows[ids] = tuple_counts["n"].to_numpy()
        classes[ids] = tuple_counts["classes"].to_numpy()
        return rows, classes

    def _shares(self, matched: StoredRows, knows: Sequence[str]) -> dict[str, Shares]:
        shares = {}
        for name in self.about:
            sql = (
                f"SELECT m.id AS id, c.s AS s, SUM(c.n) AS n FROM {matched.relation} AS m "
                f"JOIN ({self._classes(knows, name)}) AS c ON c.p = m.p GROUP BY m.id, c.s"
            )
            value_counts = self.engine.query(sql)
            ids = value_counts["id"].to_numpy()
            values = value_counts["s"].to_numpy()
            order = np.lexsort((values, ids))
            records = value_counts["n"].to_numpy().astype(np.float64)[order]
            shares[name] = Shares(self.labels(name), ids[order], values[order], records)
        return shares


@dataclass(frozen=True, eq=False)
class Numbered:
    """Distinct texts of a column, and the relation that maps them to codes."""

    texts: tuple[queries.Text, ...]
    relation: str

    @classmethod
    def of(cls, stored_rows: StoredRows, index: int) -> Numbered:
        """Number the distinct texts of a column of counted rows."""
        distinct_texts = stored_rows.engine.query(
            f"SELECT DISTINCT c{index} AS t FROM {stored_rows.relation} AS held ORDER BY t"
        )["t"]
        texts = tuple(None if text == "-" else text[1:] for text in distinct_texts.to_pylist())
        numbers = pa.table({"t": distinct_texts.combine_chunks(), "c": np.arange(len(texts))})
        return cls(texts, stored_rows.engine.lend(numbers))


def _count_combinations(table: Table, columns: Sequence[str], mass: str | None) -> StoredRows:
    """Count the records n of each combination of texts c0, c1, ....

    A text is prefixed with = and null is -, so that nulls can be joined like texts.
    """
    engine = table.engine
    cells = [engine.cast(engine.quote(name), "VARCHAR") for name in columns]
    texts = ", ".join(
        f"COALESCE('=' || {cell}, '-') AS c{index}" for index, cell in enumerate(cells)
    )
    if mass is None:
        weight = "1"
    else:
        weight = engine.cast(engine.quote(mass), "DOUBLE")
    column_list = ", ".join(f"c{index}" for index in range(len(columns)))
    rows = f"SELECT {texts}, {weight} AS w FROM {table.relation}"
    sql = (
        f"SELECT {column_list}, CAST(SUM(w) AS DOUBLE) AS n FROM ({rows}) AS r GROUP BY "
        f"{column_list}"
    )
    return engine.hold(sql, source=table.source)


def _coded(stored_rows: StoredRows, numbered: Sequence[Numbered]) -> StoredRows:
    """Replace the texts of counted combinations by their codes."""
    column_list = ", ".join(
        f"CAST(d{index}.c AS BIGINT) AS c{index}" for index in range(len(numbered))
    )
    joins = "".join(
        f" JOIN {column.relation} AS d{index} ON d{index}.t = r.c{index}"
        for index, column in enumerate(numbered)
    )
    return stored_rows.engine.hold(
        f"SELECT {column_list}, r.n AS n FROM {stored_rows.relation} AS r{joins}"
    )


def _intersect_fits(
    left: queries.Fits, other: queries.Fits, values: Ints, others: Ints
) -> queries.Fits:
    """Find for each pair of values the labels that match both."""
    width = 1 + max(int(fits.label.max(initial=-1)) for fits in (left, other))
    label_keys = []
    for fits, value in ((left, values), (other, others)):
        order = np.argsort(fits.value, kind="stable")
        start = np.searchsorted(fits.value[order], value)
        label_counts = np.searchsorted(fits.value[order], value, side="right") - start
        labels = fits.label[order][arrays.ranges(start, label_counts)]
        label_keys.append(np.repeat(np.arange(len(value)), label_counts) * width + labels)
    shared = np.intersect1d(label_keys[0], label_keys[1], assume_unique=True)
    return queries.Fits(shared % max(width, 1), shared // max(width, 1))


def _tuples(codes: Sequence[Ints], radices: Sequence[int], rows: int) -> tuple[Ints, Ints]:
    if not rows:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    return arrays.class_ids(codes, radices, rows=rows)
