# SPDX-License-Identifier: Apache-2.0
"""The truth's rows, each with its class in every release: what several releases tell together is what this table tells.

Whoever holds all releases, and knows of everybody in which class she is, cannot tell two people apart who are in the same class of each of
them: every release stays as it is when these two exchange what she does not know of them. So no receiver learns more than the
joint classes tell, and whoever knows less may learn less: what is measured on them is an upper bound, where everybody's class is known.

Which class a person has is exact where the private part of a release is at hand. Otherwise labels and groups are compared with her
values, and where several fit, people are placed so that each class or group holds as many of each value as were published: one of the
placements that the release allows. Another may have smaller joint classes, so what is measured on it is no bound.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from divulge import answers, arrays, publish
from divulge.arrays import Ints
from divulge.composition.disclosed import Disclosed, Part, coded_texts, place_of, refuse_unless_there
from divulge.count import Contingency, Domain, Request, count_in_memory
from divulge.engines import DuckDBEngine, Held, OwnEngine
from divulge.errors import BadInput
from divulge.search import Recoding
from divulge.table import Roles, Table, own_table, table_of
from divulge.values import as_text

NOT_PUBLISHED = 0
"""Stands in the column of a release for people who are not in it; classes are numbered from 1."""


@dataclass(frozen=True)
class HowFound:
    """How people were found in one release."""

    how: str
    """"mapping", "labels", "hierarchies" or "groups"."""
    several: int = 0
    """People whom several classes fit, and who were placed in one of them."""
    misfits: int = 0
    """People for whom no class that fits them was found with room for their sensitive values, in the way others were placed."""
    too_many: int = 0
    """People for whom the class that fits them has no room: it was published with fewer, and all of them are taken to be in it."""
    unfound: int = 0
    """Published rows of which the truth has nobody."""

    @property
    def exact(self) -> bool:
        """Whether nobody can have another class than she was found in.

        Then everybody fits one class or none, and each class holds as many as fit it: whoever was published is in hers, so nobody else is.
        """
        return not (self.several or self.misfits or self.too_many or self.unfound)

    @classmethod
    def held_against(
        cls, how: str, release: Disclosed, placed: Ints, *, several: int = 0, misfits: int = 0
    ) -> HowFound:
        """With how many people were placed in each class, beside how many were published."""
        more = placed - release.sizes
        return cls(how, several, misfits, int(np.maximum(more, 0).sum()), int(np.maximum(-more, 0).sum()))


@dataclass(frozen=True, eq=False)
class Joined:
    """The rows of the truth with one more column for each release."""

    table: Table
    columns: tuple[str, ...]
    """Of each release the column that holds the number of the class, counted from 1; 0 where a person is not in it."""
    disclosed: tuple[Disclosed, ...]
    readings: tuple[HowFound, ...]
    person: str | None
    versions: int
    """How many tables the truth came in."""
    held: Held = field(repr=False)
    """Keeps the rows for as long as this is kept."""
    sources: tuple[str, ...]
    """Of each release the table that it was looked up in."""
    left: tuple[int, int] | None = None
    """Where people were found again in a later table: those who are not in it any more, and how many of them left their classes alone."""

    @property
    def exact(self) -> bool:
        """Whether everybody's classes are known: then no receiver learns more than the joint classes tell."""
        return all(reading.exact for reading in self.readings) and (self.versions == 1 or self.person is not None)

    def within(self, columns: Sequence[str]) -> Table:
        """The rows of people who are in at least one of these releases."""
        quote = self.table.engine.quote
        somewhere = " OR ".join(f"{quote(name)} <> {NOT_PUBLISHED}" for name in columns)
        relation = f"(SELECT * FROM {self.table.relation} WHERE {somewhere})"
        return replace(self.table, relation=relation)


def joined(
    truths: Sequence[Table], disclosed: Sequence[Disclosed], *, person: str | None = None, people: Table | None = None
) -> Joined:
    """Find everybody in every release; `truths` is one table, or of each release the table that it was made of.

    With `people` the rows are those of this table, whatever state of it the releases were made of; it needs `person`.
    """
    if len(truths) not in (1, len(disclosed)):
        told = f"{len(truths)} truths were given for {len(disclosed)} releases"
        raise BadInput(told, hint="Give one table, or for each release the table that it was made of")
    every = list(truths) * (len(disclosed) if len(truths) == 1 else 1)
    if person is not None:
        for table in truths if people is None else (*truths, people):
            table.column(person)
    columns = _free_names(len(disclosed), [name for table in truths for name in table.names])
    versions: dict[int, _Version] = {}
    # A release that was judged beside others is looked up after them: whom it left out is told by her class there.
    order = sorted(range(len(disclosed)), key=lambda place: disclosed[place].beside)
    for table in every:
        if id(table) not in versions:
            versions[id(table)] = _Version(*_own(table, versions))
    found_in = {place: versions[id(every[place])].look_up(disclosed[place], columns[place], person) for place in order}
    readings = [found_in[place] for place in range(len(disclosed))]
    found = list(versions.values())
    engine = found[0].engine
    sql = found[0].sql if len(found) == 1 else _tied(found, columns, person)
    left = None
    if people is not None and person is not None:
        today = _own(people, versions)[0]
        for version in found:
            _refuse_repeated(version, person)
        tied = engine.hold(sql)
        sql, left = _found_again(today, tied, columns, person), _who_left(today, tied, columns, person)
    held = engine.hold(sql)
    last = every[-1]
    rows = table_of(engine, held.relation, source=last.source, frame=last.frame, reading=last.reading)
    return Joined(
        rows, tuple(columns), tuple(disclosed), tuple(readings), person, len(found), held,
        tuple(table.source for table in every), left,
    )  # fmt: skip


def _own(table: Table, versions: dict[int, _Version]) -> tuple[Table, OwnEngine]:
    """The table in an engine of ours; all versions lie in the same."""
    source, engine = own_table(table)
    first = next(iter(versions.values()), None)
    if first is None or first.engine is engine:
        return source, engine
    if first.engine.name != engine.name:
        raise BadInput("the truths lie in different engines", hint="Open all of them with the same engine=")
    lent = first.engine.lend(engine.query(f"SELECT * FROM {source.relation}"))
    return table_of(first.engine, lent, source=source.source, frame=source.frame, reading=source.reading), first.engine


def _free_names(count: int, taken: Sequence[str]) -> list[str]:
    used, mark = {name.casefold() for name in taken}, ""
    while any(f"released {place}{mark}" in used for place in range(1, count + 1)):
        mark += "_"
    return [f"released {place}{mark}" for place in range(1, count + 1)]


class _Gone(NamedTuple):
    """Who was left out of a release that was judged beside others: by her values and by her classes there."""

    keys: tuple[str, ...]
    """Quoted; k0, k1, ... of the rows."""
    classes: Mapping[str, str]
    """The column of each other release, and where the rows hold the number of the class."""
    rows: pa.Table


class _Lookup(NamedTuple):
    """Which class the rows with the same values are in; of those that lie in several, each holds a run of ranks."""

    columns: tuple[str, ...]
    rows: pa.Table
    """The values as k0, k1, ..., the class as code; first and last rank, where people with the same values lie in several classes."""
    ranked: bool
    reading: HowFound
    not_null: tuple[str, ...] = ()
    """Rows without a value here were not published."""
    gone: _Gone | None = None
    """Rows that were left out although others with the same values were not."""


class _Version:
    """One state of the truth, with a column for each release that was made of it."""

    def __init__(self, table: Table, engine: OwnEngine) -> None:
        self.table, self.engine = table, engine
        self.sql = f"SELECT * FROM {table.relation}"
        self.added: list[str] = []
        self.looked_up: list[Disclosed] = []

    def look_up(self, release: Disclosed, column: str, person: str | None) -> HowFound:
        """Add the column of a release."""
        refuse_unless_there(self.table, release.columns, release.name)
        gone = self._gone(release)
        found = _by_mapping(self.table, release, gone) if release.by_mapping else _by_fit(self.table, release)
        quote, engine = self.engine.quote, self.engine
        names = [quote(name) for name in (*self.table.names, *self.added)]
        keys = [quote(name) for name in found.columns]
        same = [f"source.{key} IS NOT DISTINCT FROM classes.k{place}" for place, key in enumerate(keys)]
        rank = ""
        if found.ranked:
            plain = [item.name for item in self.table.columns if item.kind != "nested"]
            order = [person] if person is not None else [name for name in plain if name not in found.columns]
            by = ", ".join(map(quote, order)) or keys[0]
            rank = f", ROW_NUMBER() OVER (PARTITION BY {', '.join(keys)} ORDER BY {by}) AS divulge_rank"
            same.append("source.divulge_rank BETWEEN classes.first AND classes.last")
        code = f"COALESCE(classes.code, {NOT_PUBLISHED})"
        if found.not_null:
            absent = " OR ".join(f"source.{quote(name)} IS NULL" for name in found.not_null)
            code = f"CASE WHEN {absent} THEN {NOT_PUBLISHED} ELSE {code} END"
        left_out = ""
        if found.gone is not None:
            code = f"CASE WHEN gone.people IS NULL THEN {code} ELSE {NOT_PUBLISHED} END"
            left = [f"source.{key} IS NOT DISTINCT FROM gone.k{place}" for place, key in enumerate(found.gone.keys)]
            left += [f"source.{quote(name)} = gone.{at}" for name, at in found.gone.classes.items()]
            left_out = f" LEFT JOIN {engine.lend(found.gone.rows)} AS gone ON {' AND '.join(left)}"
        self.sql = (
            f"SELECT {', '.join(f'source.{name}' for name in names)}, CAST({code} AS BIGINT) AS {quote(column)} "
            f"FROM (SELECT *{rank} FROM ({self.sql}) AS given) AS source "
            f"LEFT JOIN {engine.lend(found.rows)} AS classes ON {' AND '.join(same)}{left_out}"
        )
        self.added.append(column)
        self.looked_up.append(release)
        return found.reading

    def _gone(self, release: Disclosed) -> _Gone | None:
        """Who was left out of it, if what it was judged beside is here too."""
        left_out = None if release.opened is None else release.opened.left_out
        if left_out is None or release.opened is None:
            return None
        found = _with_classes(left_out, dict(zip(self.added, self.looked_up, strict=True)))
        if found is None:
            return None
        rows = {name: left_out[name] for name in left_out.column_names if name not in found}
        for name, (_, numbers) in found.items():
            codes = [numbers.get(text, NOT_PUBLISHED) for text in left_out[name].to_pylist()]
            rows[name] = pa.array(codes, pa.int64())
        keys = tuple(self.engine.quote(name) for name in release.opened.quasi_identifiers)
        return _Gone(keys, {column: name for name, (column, _) in found.items()}, pa.table(rows))


def _with_classes(
    left_out: pa.Table, others: Mapping[str, Disclosed]
) -> Mapping[str, tuple[str, dict[str, int]]] | None:
    """For each release that another was judged beside: the column it has here, and the number of each class; None where one is not here."""
    found: dict[str, tuple[str, dict[str, int]]] = {}
    for name in [name for name in left_out.column_names if name.startswith("r")]:
        wanted = (left_out.schema.field(name).metadata or {}).get(publish.CLASSES, b"").decode()
        column = next((column for column, release in others.items() if release.classes_sha256 == wanted), None)
        if column is None:
            return None
        found[name] = column, {others[column].class_text(index): index + 1 for index in range(len(others[column]))}
    return found


def _by_mapping(table: Table, release: Disclosed, gone: _Gone | None) -> _Lookup:
    """By what the private part says that each value became."""
    opened, there = release.opened, release.counted
    assert opened is not None and there is not None  # noqa: S101, PT018 - `by_mapping` says so
    drop = opened.nulls == "drop"
    not_null = tuple(name for name in opened.sensitive if drop and table.has(name))
    given = " AND ".join(f"{table.engine.quote(name)} IS NOT NULL" for name in not_null)
    rows_in = replace(table, relation=f"(SELECT * FROM {table.relation} WHERE {given})") if not_null else table
    told = [part for part in release.told if gone is None and table.has(part.columns[0])]
    roles = Roles(release.columns, tuple(part.columns[0] for part in told), (), None, None)
    counted = count_in_memory(Request(rows_in, roles, "category", joint=False))
    own = [place for place, name in enumerate(release.columns) if name in opened.quasi_identifiers]
    parts = (counted.keys[place] for place in own), (counted.codes[place] for place in own)
    recoding, _ = opened.recode(replace(counted, keys=tuple(parts[0]), codes=tuple(parts[1])))
    code = place_of(_with_others(recoding, counted), there) + 1
    if drop:
        for key, codes in zip(counted.keys, counted.codes, strict=True):
            code[np.array([label is None for label in key.labels])[codes]] = NOT_PUBLISHED
    rows = {f"k{place}": counted.key_column(place) for place in range(len(counted.keys))} | {"code": pa.array(code)}
    placed = arrays.exact_sums(code, counted.sizes, len(release) + 1)
    if gone is not None:
        keys = zip(*([as_text(key.labels[at]) for at in codes] for key, codes in _own_part(counted, own)), strict=True)
        class_of = dict(zip(keys, code.tolist(), strict=True))
        left = zip(*(map(as_text, gone.rows[f"k{at}"].to_pylist()) for at in range(len(own))), strict=True)
        for who, people in zip(left, gone.rows["people"].to_pylist(), strict=True):
            placed[class_of.get(who, NOT_PUBLISHED)] -= people
    reading = HowFound.held_against("mapping", release, placed[1:])
    misfits = max((_with_other_values(counted, code, part) for part in told), default=0)
    reading = replace(reading, misfits=max(0, misfits - reading.too_many))
    return _Lookup(release.columns, pa.table(rows), ranked=False, reading=reading, not_null=not_null, gone=gone)


def _with_other_values(counted: Contingency, code: Ints, part: Part) -> int:
    """How many people of the classes were published with other sensitive values than they have: counts of another state of the table."""
    cells, known = counted.cells[part.columns[0]], {text: place for place, text in enumerate(part.texts[0])}
    to = np.array([known.get(as_text(label), len(known)) for label in cells.domain.labels], dtype=np.int64)
    width, classes = len(known) + 1, int(max(code.max(initial=0), part.in_class.max(initial=-1) + 1)) + 1
    here = arrays.exact_sums(
        code[cells.class_index] * width + to[cells.value], cells.mass.astype(np.int64), classes * width
    )
    published = arrays.exact_sums((part.in_class + 1) * width + part.codes[0], part.people, classes * width)
    return int(np.maximum(here - published, 0)[width:].sum())  # those before are not published


def _own_part(counted: Contingency, places: Sequence[int]) -> list[tuple[Domain, list[int]]]:
    return [(counted.keys[place], counted.codes[place].tolist()) for place in places]


def _with_others(recoding: Recoding, counted: Contingency) -> Recoding:
    """The same with the columns that the release published as they are, and that she knows."""
    others = [place for place, key in enumerate(counted.keys) if key.name not in recoding.columns]
    keys = [counted.keys[place] for place in others]
    return replace(
        recoding,
        columns=(*recoding.columns, *(key.name for key in keys)),
        labels=(*recoding.labels, *(tuple(as_text(label) for label in key.labels) for key in keys)),
        codes=(*recoding.codes, *(counted.codes[place] for place in others)),
        unchanged=(*recoding.unchanged, *(True for _ in others)),
    )


# --- without a mapping ------------------------------------------------------------------------------------------------
def _by_fit(table: Table, release: Disclosed) -> _Lookup:
    """By which labels and groups fit the values that people have; each class takes as many of each value as it holds."""
    told = [part for part in release.told if table.has(part.columns[0])]
    columns = tuple(dict.fromkeys((*release.columns, *(part.columns[0] for part in told))))
    listed = ", ".join(map(table.engine.quote, columns))
    counted = table.engine.query(f"SELECT {listed}, COUNT(*) AS n FROM {table.relation} GROUP BY {listed}")
    numbers = frozenset(name for name in columns if table.column(name).kind == "number")
    cells = _Cells(columns, [coded_texts(counted.column(place)) for place in range(len(columns))], numbers)
    sizes: Ints = counted.column(len(columns)).to_numpy()
    place = _Placement(sizes, release, cells)
    place.settle(place.candidates(told), [*release.known, *told])
    misfits = int(place.left.sum())
    place.settle(place.candidates([]), release.known)
    misfits -= int(place.left.sum())
    cell, code, people = place.runs()
    last = np.cumsum(people) - np.concatenate([[0], np.cumsum(people)])[np.searchsorted(cell, cell)]
    rows = {f"k{at}": counted.column(at).take(pa.array(cell)) for at in range(len(columns))}
    rows |= {"code": pa.array(code + 1), "first": pa.array(last - people + 1), "last": pa.array(last)}
    how = "groups" if release.groups is not None else "hierarchies" if release.hierarchies else "labels"
    ranked = len(np.unique(cell)) < len(cell)
    placed = arrays.exact_sums(code, people, len(release))
    reading = HowFound.held_against(how, release, placed, several=place.several, misfits=misfits)
    return _Lookup(columns, pa.table(rows), ranked, reading)


class _Cells(NamedTuple):
    """Distinct rows of the truth in the columns that are looked up."""

    columns: tuple[str, ...]
    coded: Sequence[tuple[Ints, list[str | None]]]
    numbers: Collection[str]
    """Columns that hold numbers: 34 and 34.0 are the same."""


class _Placement:
    """People on their way into the classes of a release."""

    def __init__(self, sizes: Ints, release: Disclosed, cells: _Cells) -> None:
        self.left: Ints = sizes.copy()
        """People of each cell who are not placed yet."""
        self.several = 0
        self._release, self._cells = release, cells
        self._room = {id(part): part.people.copy() for part in (*release.known, *release.told)}
        self._runs: list[tuple[Ints, Ints, Ints]] = []

    def candidates(self, told: Sequence[Part]) -> pa.Table:
        """Each cell that has people left with each class that fits it: cell, class, and of each part the entry that fits, r0, r1, ..."""
        scratch, cells, release = DuckDBEngine(), self._cells, self._release
        open_ = np.flatnonzero(self.left)
        columns = {f"k{at}": pa.array(codes[open_]) for at, (codes, _) in enumerate(cells.coded)}
        joins = [f"{scratch.lend(pa.table({'cell': pa.array(open_), **columns}))} AS cells"]
        for number, part in enumerate((*release.known, *told)):
            same = [f"part{number}.c = part0.c"] if number else []
            for at, name in enumerate(part.columns):
                place = cells.columns.index(name)
                fits = _fits(name, cells, part.texts[at], release, known=part in release.known)
                joins.append(f"JOIN {scratch.lend(fits)} AS f{number}_{at} ON f{number}_{at}.v = cells.k{place}")
                same.append(f"part{number}.x{at} = f{number}_{at}.l")
            entries = {"c": part.in_class, "r": np.arange(len(part.in_class))}
            entries |= {f"x{at}": codes for at, codes in enumerate(part.codes)}
            lent = scratch.lend(pa.table({name: pa.array(numbers) for name, numbers in entries.items()}))
            joins.append(f"JOIN {lent} AS part{number} ON {' AND '.join(same)}")
        entry = ", ".join(f"part{number}.r AS r{number}" for number in range(len(release.known) + len(told)))
        return scratch.query(f"SELECT cell, part0.c AS class, {entry} FROM {' '.join(joins)} ORDER BY cell, class")

    def settle(self, found: pa.Table, parts: Sequence[Part]) -> None:
        """Place people: first where one class fits, then those whom fewest fit, each where most room is left."""
        cell, in_class = found.column("cell").to_numpy(), found.column("class").to_numpy()
        if not len(cell):
            return
        entries = [found.column(f"r{number}").to_numpy() for number in range(len(parts))]
        rooms = [self._room[id(part)] for part in parts]
        begins = np.flatnonzero(np.concatenate([[True], cell[1:] != cell[:-1]]))
        fitting = np.diff(begins, append=len(cell))
        alone = begins[fitting == 1]
        people = self.left[cell[alone]]
        for room, entry in zip(rooms, entries, strict=True):
            np.subtract.at(room, entry[alone], people)
        self._place(cell[alone], in_class[alone], people)
        others = np.flatnonzero(fitting > 1)
        self.several += int(self.left[cell[begins[others]]].sum())
        taken: list[tuple[int, int, int]] = []
        for at in others[np.argsort(fitting[others], kind="stable")].tolist():
            here = range(begins[at], begins[at] + fitting[at])
            wanted = int(self.left[cell[here[0]]])
            free = {j: min(int(room[entry[j]]) for room, entry in zip(rooms, entries, strict=True)) for j in here}
            for j in sorted(here, key=lambda j: -free[j]):
                took = min(wanted, free[j])
                if took <= 0:
                    break
                taken.append((int(cell[j]), int(in_class[j]), took))
                for room, entry in zip(rooms, entries, strict=True):
                    room[entry[j]] -= took
                wanted -= took
        if taken:
            self._place(*(np.array(column, dtype=np.int64) for column in zip(*taken, strict=True)))

    def _place(self, cell: Ints, in_class: Ints, people: Ints) -> None:
        np.subtract.at(self.left, cell, people)
        self._runs.append((cell, in_class, people))

    def runs(self) -> tuple[Ints, Ints, Ints]:
        """Who was placed: cells in order, the class, and how many people."""
        cell, in_class, people = (
            np.concatenate([np.zeros(0, np.int64), *column]) for column in zip(*self._runs, strict=True)
        )
        order = np.lexsort((in_class, cell))
        return cell[order], in_class[order], people[order]


def _fits(name: str, cells: _Cells, labels: list[str | None], release: Disclosed, *, known: bool) -> pa.Table:
    """Pairs of a value of the truth and a label of the release that may stand for it; values of groups stand for themselves.

    A null fits nulls, and where no value is null, anything: such a cell was suppressed. A label that nobody can read is refused while
    some value has no other: it may stand for that one.
    """
    texts = cells.coded[cells.columns.index(name)][1]
    if not known or release.groups is not None:
        places = {label: place for place, label in enumerate(labels)}
        pairs = [(place, places[text]) for place, text in enumerate(texts) if text in places]
        value, label = zip(*pairs, strict=True) if pairs else ((), ())
        return pa.table({"v": pa.array(value, pa.int64()), "l": pa.array(label, pa.int64())})
    levels = release.hierarchies.get(name)
    found = answers.fits(
        labels,
        texts,
        plain=texts,
        meanings=None if levels is None else answers.Meanings.of_levels(levels),
        numbers=name in cells.numbers,
        suppression=None if None in texts else {None: "wildcard"},
    )
    unread = frozenset(found.unread)
    read = np.array([label not in unread for label in labels], dtype=bool)[found.label]
    if found.unread and len(np.unique(found.value[read])) < len(texts):
        told = f"it cannot be told which values of {name!r} the published {found.unread[0]!r} stands for"
        raise BadInput(told, hint="Give the release with its mapping/, or hierarchies that have the label")
    return pa.table({"v": pa.array(found.value[read]), "l": pa.array(found.label[read])})


# --- a truth that changed between releases ----------------------------------------------------------------------------
def _tied(versions: Sequence[_Version], columns: Sequence[str], person: str | None) -> str:
    """Everybody who is in some version, as she is in the last that has her, with her classes in all releases."""
    engine, last = versions[0].engine, versions[-1].table
    quote = engine.quote
    for version in versions:
        for column in last.columns:
            if version.table.has(column.name) and version.table.column(column.name).type != column.type:
                told = f"the column {column.name!r} is {column.type} in {last.source} and not in {version.table.source}"
                raise BadInput(told, hint="Give all versions of the truth the same types")
    shared = [name for name in last.names if all(version.table.has(name) for version in versions)]
    keys = [quote(name) for name in (shared if person is None else [person])]
    if not keys:
        raise BadInput("the versions of the truth share no column, so nobody is in two of them")
    parts = []
    for number, version in enumerate(versions):
        if person is not None:
            _refuse_repeated(version, person)
        own = [
            quote(column.name)
            if version.table.has(column.name)
            else f"{engine.cast('NULL', column.type)} AS {quote(column.name)}"
            for column in last.columns
        ]
        own += [quote(name) if name in version.added else f"CAST(0 AS BIGINT) AS {quote(name)}" for name in columns]
        copy = f"ROW_NUMBER() OVER (PARTITION BY {', '.join(keys)} ORDER BY {keys[0]})"
        parts.append(
            f"SELECT {', '.join(own)}, {number} AS divulge_version, {copy} AS divulge_copy FROM ({version.sql}) AS v{number}"
        )
    everybody = " UNION ALL ".join(parts)
    one = f"PARTITION BY {', '.join(keys)}, divulge_copy"
    codes = ", ".join(f"MAX({quote(name)}) OVER ({one}) AS {quote(name)}" for name in columns)
    plain = ", ".join(map(quote, last.names))
    newest = f"ROW_NUMBER() OVER ({one} ORDER BY divulge_version DESC) AS divulge_newest"
    rows = f"SELECT {plain}, {codes}, {newest} FROM ({everybody}) AS everybody"
    return f"SELECT {plain}, {', '.join(map(quote, columns))} FROM ({rows}) AS tied WHERE divulge_newest = 1"


def _found_again(people: Table, tied: Held, columns: Sequence[str], person: str) -> str:
    """The rows of a table, each with the classes that its person has: as she was when a release was made, not as she is."""
    quote = people.engine.quote
    own = ", ".join(f"source.{quote(name)}" for name in people.names)
    codes = ", ".join(f"COALESCE(before.{quote(name)}, {NOT_PUBLISHED}) AS {quote(name)}" for name in columns)
    same = f"source.{quote(person)} = before.{quote(person)}"
    return f"SELECT {own}, {codes} FROM {people.relation} AS source LEFT JOIN {tied.relation} AS before ON {same}"


def _who_left(people: Table, tied: Held, columns: Sequence[str], person: str) -> tuple[int, int]:
    """How many who are in a release are not in the table, and how many of them share their classes with nobody else who left."""
    key, names = people.engine.quote(person), [people.engine.quote(name) for name in columns]
    listed, out = ", ".join(names), " OR ".join(f"before.{name} <> {NOT_PUBLISHED}" for name in names)
    stays = f"SELECT DISTINCT {key} AS who FROM {people.relation}"
    gone = f"SELECT {', '.join(f'before.{name}' for name in names)} FROM {tied.relation} AS before LEFT JOIN ({stays}) AS stays "
    gone += f"ON stays.who = before.{key} WHERE stays.who IS NULL AND ({out})"
    classes = f"SELECT COUNT(*) AS n FROM ({gone}) AS gone GROUP BY {listed}"
    sums = "COALESCE(SUM(n), 0) AS people, COALESCE(SUM(CASE WHEN n = 1 THEN 1 ELSE 0 END), 0) AS alone"
    found = people.engine.query(f"SELECT {sums} FROM ({classes}) AS classes").to_pylist()[0]
    return int(found["people"]), int(found["alone"])


def _refuse_repeated(version: _Version, person: str) -> None:
    key = version.engine.quote(person)
    found = version.engine.query(
        f"SELECT COUNT(*) AS rows_, COUNT({key}) AS named, COUNT(DISTINCT {key}) AS people FROM {version.table.relation}"
    ).to_pylist()[0]
    if found["rows_"] != found["people"]:
        without = found["rows_"] - found["named"]
        told = f"{person!r} is empty in {without:,} of its rows" if without else f"{person!r} names some people twice"
        hint = "Versions of a truth are tied by it: give one row per person, each with its name"
        raise BadInput(f"{version.table.source}: {told}", hint=hint)
