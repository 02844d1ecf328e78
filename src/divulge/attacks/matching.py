# SPDX-License-Identifier: Apache-2.0
"""Which rows of a release fit what is known of people, by joins on the engine.

The release is counted once into cells: distinct combinations of labels and sensitive values, each with its records. Column by column
distinct labels are held against distinct known values (answers/meaning.py). People of whom the same is known are one tuple. Tuples meet
cells one column after the other, and after each column only beginnings stay that occur in the release: what is between is never more than
the beginnings that really fit, however many labels overlap.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from divulge import answers, arrays
from divulge.arrays import Floats, Ints
from divulge.engines import Held
from divulge.table import Table, table_of

_LARGEST = 2**62


@dataclass(frozen=True, eq=False)
class Shares:
    """Of each tuple how many fitting records have each value of a column: three arrays of the same length, by tuple."""

    values: tuple[answers.Text, ...]
    """What the numbers stand for."""
    tuple_: Ints
    value: Ints
    records: Floats


@dataclass(frozen=True, eq=False)
class Matches:
    """What fits each tuple, that is all people of whom the same is known."""

    of_person: Ints
    """The tuple of each person."""
    first: Ints
    """A person of each tuple."""
    rows: Floats
    """How many records of the release fit it."""
    classes: Ints
    """How many combinations of labels these have in the columns that are known."""
    shares: Mapping[str, Shares] = field(default_factory=dict)
    pairs: Held | None = field(default=None, repr=False)
    """Each tuple (id) with each combination of labels (p) that fits it."""

    @cached_property
    def people(self) -> Ints:
        """How many people each tuple stands for."""
        return np.bincount(self.of_person, minlength=len(self.rows)).astype(np.int64)


class Matcher:
    """A release that was counted once, to be matched against people as often as needed."""

    def __init__(
        self,
        release: Table,
        columns: Sequence[str],
        about: Sequence[str],
        *,
        mass: str | None = None,
        meanings: Mapping[str, answers.Meanings] | None = None,
        suppression: Mapping[answers.Text, str] | None = None,
    ) -> None:
        """By the columns that may be known and those that are guessed; the release is counted when somebody is matched first."""
        self.engine, self.release = release.engine, release
        self.columns, self.about = tuple(columns), tuple(about)
        self._meanings, self._suppression, self._mass = dict(meanings or {}), dict(suppression or {}), mass
        self._people: list[Table] = []
        self._fitting_values: dict[tuple[str, tuple[answers.Text, ...], bool], answers.Fits] = {}
        self._totals: dict[str, Floats] = {}
        self._plain: dict[str, frozenset[answers.Text]] = {}
        self.unread: dict[str, tuple[str, ...]] = {}
        """Labels that nobody could read, by column."""
        self._named = tuple(dict.fromkeys((*columns, *about)))
        self._place = {name: f"c{place}" for place, name in enumerate(self._named)}

    @cached_property
    def _held(self) -> Held:
        return _counted(self.release, self._named, self._mass)

    @cached_property
    def _numbers(self) -> dict[str, Numbered]:
        return {name: Numbered.of(self._held, place) for place, name in enumerate(self._named)}

    @cached_property
    def _coded(self) -> Held:
        return _coded(self._held, [self._numbers[name] for name in self._named])

    @classmethod
    def of_predicates(cls, other: Matcher, predicates: pa.Table) -> Matcher:
        """Combinations of labels in place of the release, which are read as the release is."""
        table = table_of(other.engine, other.engine.lend(predicates), source="predicates")
        made = cls(table, predicates.column_names, (), meanings=other._meanings, suppression=other._suppression)
        made._plain, made._people = other._plain, other._people
        return made

    def labels(self, column: str) -> tuple[answers.Text, ...]:
        """The distinct labels, or values, of a column of the release."""
        return self._numbers[column].texts

    @property
    def reading(self) -> dict[str, str]:
        """Where she takes the meaning of each column's labels from."""
        return {name: self._meanings.get(name, answers.Meanings()).origin for name in self.columns}

    @cached_property
    def records(self) -> float:
        """How many records the release has."""
        return float(
            self.engine.query(f"SELECT SUM(n) AS n FROM {self._coded.relation} AS c").column("n")[0].as_py() or 0
        )

    def totals(self, column: str) -> Floats:
        """The records of each value of a column, in the order of `labels`."""
        if column not in self._totals:
            sql = f"SELECT {self._place[column]} AS v, SUM(n) AS n FROM {self._coded.relation} AS c GROUP BY 1"
            found, sums = self.engine.query(sql), np.zeros(len(self.labels(column)))
            sums[found["v"].to_numpy()] = found["n"].to_numpy()
            self._totals[column] = sums
        return self._totals[column]

    def knowing_values(self, tables: Iterable[Table]) -> None:
        """Take note of values that the columns have in tables of people: a label like them stands for itself."""
        self._people += tables
        self._plain.clear()

    def _values(self, column: str) -> frozenset[answers.Text]:
        if column not in self._plain:
            found: set[answers.Text] = set()
            for table in self._people:
                if table.has(column):
                    cell = table.engine.cast(table.engine.quote(column), "VARCHAR")
                    sql = f"SELECT DISTINCT {cell} AS v FROM {table.relation}"
                    found.update(table.engine.query(sql)["v"].to_pylist())
            self._plain[column] = frozenset(found)
        return self._plain[column]

    # --- people -------------------------------------------------------------------------------------------------------
    def match(
        self,
        known: pa.Table,
        knows: Sequence[str],
        *,
        numbers: Mapping[str, bool] | None = None,
        beside: pa.Table | None = None,
    ) -> Matches:
        """What fits each of these people, by some of what is known of them; with `beside`, what fits both this and that."""
        columns = [self._column(name, known, beside, is_number=(numbers or {}).get(name, False)) for name in knows]
        codes, radices = [own for own, _, _ in columns], [width for _, width, _ in columns]
        of_person, first = _tuples(codes, radices, known.num_rows)
        lent = {"id": np.arange(len(first))} | {f"v{place}": own[first] for place, own in enumerate(codes)}
        people, fitting = self.engine.lend(pa.table(lent)), [fits for _, _, fits in columns]
        matched = self.engine.hold(self._joined(people, knows, fitting, carried="id"))
        rows, classes = self._fitting(matched, knows, len(first))
        return Matches(of_person, first, rows, classes, self._shares(matched, knows), matched)

    def _column(
        self, name: str, known: pa.Table, beside: pa.Table | None, *, is_number: bool
    ) -> tuple[Ints, int, answers.Fits]:
        """The number of what is known of each person in a column, how many numbers there are, and what fits each."""
        codes, texts = _dictionary(known[name])
        fitting = self._fits(name, texts, is_number=is_number)
        if beside is None:
            return codes, len(texts), fitting
        others, other_texts = _dictionary(beside[name])
        both, numbered = np.unique(codes * len(other_texts) + others, return_inverse=True)
        also = self._fits(name, other_texts, is_number=is_number)
        return numbered.astype(np.int64), len(both), _fitting_both(fitting, also, *np.divmod(both, len(other_texts)))

    def own_rows(
        self, known: pa.Table, knows: Sequence[str], key: str, whose: pa.ChunkedArray, *, numbers: Mapping[str, bool]
    ) -> Floats:
        """How many rows that fit each of these people are their own, by a column of the release that says whose a row is."""
        # Of numbers, those that are nearly the same come along, and are told apart below.
        kind, texts = ("DOUBLE", whose.cast(pa.float64())) if numbers[key] else ("VARCHAR", whose)
        cell, lent = self.engine.cast(self.engine.quote(key), kind), self.engine.lend(pa.table({"i": texts}))
        named = tuple(dict.fromkeys((*knows, key)))
        rows = f"SELECT {', '.join(map(self.engine.quote, named))} FROM {self.release.relation}"
        theirs = table_of(self.engine, f"({rows} WHERE {cell} IN (SELECT i FROM {lent} AS w))", source="own rows")
        some = Matcher(theirs, named, (), meanings=self._meanings, suppression=self._suppression)
        some._people = self._people
        some._plain = {name: self._values(name) for name in knows} | {key: frozenset(whose.to_pylist())}
        known = pa.table({name: known[name] for name in knows} | {key: whose})
        matches = some.match(known, named, numbers=numbers)
        return matches.rows[matches.of_person]

    def published(self, matches: Matches, people: Table, knows: Sequence[str]) -> Floats:
        """The highest share of each tuple's people that can be in the release: of N who fit one class of n rows and nothing else, n / N.

        Whoever fits several classes may be in any of them, and counts as published.
        """
        share = np.ones(len(matches.rows))
        if matches.pairs is None:
            return share
        listed, matched = self._met(people, knows, carried="id")
        alone = "SELECT id, MIN(p) AS p FROM {} AS m GROUP BY id HAVING COUNT(*) = 1"
        crowd = (
            f"SELECT a.p AS p, SUM(r.n) AS people FROM ({alone.format(matched.relation)}) AS a "
            f"JOIN {listed.relation} AS r ON r.id = a.id GROUP BY a.p"
        )
        sql = (
            f"SELECT t.id AS id, c.n AS n, f.people AS people FROM ({alone.format(matches.pairs.relation)}) AS t "
            f"JOIN ({crowd}) AS f ON f.p = t.p JOIN ({self._classes(knows)}) AS c ON c.p = t.p"
        )
        found = self.engine.query(sql)
        n, everybody = (found[name].to_numpy().astype(np.float64) for name in ("n", "people"))
        share[found["id"].to_numpy()] = np.minimum(n / everybody, 1.0)
        return share

    def crowds(self, people: Table, knows: Sequence[str], *, count: str | None = None) -> tuple[Floats, Floats]:
        """For each class of the release, by what may be known, its records and how many of these people fit it."""
        _, matched = self._met(people, knows, count=count, carried="n")
        sql = (
            f"SELECT c.n AS records, COALESCE(m.people, 0) AS people FROM ({self._classes(knows)}) AS c "
            f"LEFT JOIN (SELECT p, SUM(n) AS people FROM {matched.relation} AS one GROUP BY p) AS m ON m.p = c.p"
        )
        found = self.engine.query(sql)
        return found["records"].to_numpy().astype(np.float64), found["people"].to_numpy().astype(np.float64)

    def _met(self, people: Table, knows: Sequence[str], *, carried: str, count: str | None = None) -> tuple[Held, Held]:
        """All these people, counted (n) by what is known of them (id), and what fits them: pairs of `carried` and labels p."""
        held = _counted(people, knows, count)
        if not self.engine.sees(held):
            held = self.engine.hold(f"SELECT * FROM {self.engine.lend(held.table())} AS lent")
        numbered = [Numbered.of(held, place) for place in range(len(knows))]
        coded = _coded(held, numbered)
        places = ", ".join(f"c{place} AS v{place}" for place in range(len(knows)))
        key = " || '.' || ".join(f"CAST(c{place} AS VARCHAR(60))" for place in range(len(knows)))
        listed = self.engine.hold(f"SELECT {key} AS id, n, {places} FROM {coded.relation} AS c")
        fitting = [
            self._fits(name, column.texts, is_number=self._is_number(name, people))
            for name, column in zip(knows, numbered, strict=True)
        ]
        return listed, self.engine.hold(self._joined(listed.relation, knows, fitting, carried=carried))

    def _is_number(self, column: str, people: Table) -> bool:
        return self.release.column(column).kind == "number" and people.column(column).kind == "number"

    def _fits(self, column: str, texts: Sequence[answers.Text], *, is_number: bool) -> answers.Fits:
        """Read once for the same values, however many sets of columns they are known with."""
        key = (column, tuple(texts), is_number)
        if key not in self._fitting_values:
            self._fitting_values[key] = self._read(column, texts, is_number=is_number)
        return self._fitting_values[key]

    def _read(self, column: str, texts: Sequence[answers.Text], *, is_number: bool) -> answers.Fits:
        found = answers.fits(
            self.labels(column),
            texts,
            plain=self._values(column),
            meanings=self._meanings.get(column),
            numbers=is_number,
            suppression=self._suppression,
        )
        if found.unread:
            self.unread[column] = found.unread
        return found

    # --- statements ---------------------------------------------------------------------------------------------------
    def _key(self, columns: Sequence[str], cells: Sequence[str]) -> str:
        """SQL for one number, or one text where numbers would not do, that stands for a combination of labels."""
        if self._in_numbers(columns):
            key = cells[0]
            for name, cell in zip(columns[1:], cells[1:], strict=True):
                key = f"({key} * {len(self.labels(name))} + {cell})"
            return key
        return " || '.' || ".join(f"CAST({cell} AS VARCHAR(60))" for cell in cells)

    def _in_numbers(self, columns: Sequence[str]) -> bool:
        return float(np.prod([float(max(len(self.labels(name)), 1)) for name in columns])) < _LARGEST

    def _classes(self, knows: Sequence[str], value: str | None = None) -> str:
        """SQL for each combination p of labels of these columns its records n, by the value of a column if one is named."""
        key = self._key(knows, [self._place[name] for name in knows])
        more = f", {self._place[value]} AS s" if value else ""
        by = "1, 2" if value else "1"
        return f"SELECT {key} AS p{more}, SUM(n) AS n FROM {self._coded.relation} AS cells GROUP BY {by}"

    def _joined(self, people: str, knows: Sequence[str], fitting: Sequence[answers.Fits], *, carried: str) -> str:
        """SQL for each pair of a tuple and a combination p of labels that fit; `p` follows the order of `knows`."""
        lent = [self.engine.lend(pa.table({"v": found.value, "k": found.label})) for found in fitting]
        # Columns in which few labels fit a value come first: they leave the fewest beginnings.
        order = np.argsort([len(f.label) / max(len(np.unique(f.value)), 1) for f in fitting], kind="stable").tolist()
        steps: list[str] = []
        for step, place in enumerate(order):
            left = "".join(f", t.v{other}" for other in order[step + 1 :])
            done = "".join(f", t.k{other}" for other in order[:step])
            source = f"m{step - 1}" if step else people
            found = f"SELECT t.{carried}{left}{done}, f.k AS k{place} FROM {source} AS t JOIN {lent[place]} AS f ON f.v = t.v{place}"
            begun = [knows[other] for other in order[: step + 1]]
            key = self._key(begun, [f"x.k{other}" for other in order[: step + 1]])
            occurring = self._key(begun, [self._place[name] for name in begun])
            steps.append(
                f"m{step} AS (SELECT x.* FROM ({found}) AS x JOIN "
                f"(SELECT DISTINCT {occurring} AS p FROM {self._coded.relation} AS cells) AS o ON o.p = {key})"
            )
        last = self._key(knows, [f"k{place}" for place in range(len(knows))])
        return f"WITH {', '.join(steps)} SELECT {carried}, {last} AS p FROM m{len(order) - 1}"

    def _fitting(self, matched: Held, knows: Sequence[str], tuples: int) -> tuple[Floats, Ints]:
        sql = (
            f"SELECT m.id AS id, COUNT(*) AS classes, SUM(c.n) AS n FROM {matched.relation} AS m "
            f"JOIN ({self._classes(knows)}) AS c ON c.p = m.p GROUP BY m.id"
        )
        found = self.engine.query(sql)
        rows, classes, ids = np.zeros(tuples), np.zeros(tuples, dtype=np.int64), found["id"].to_numpy()
        rows[ids], classes[ids] = found["n"].to_numpy(), found["classes"].to_numpy()
        return rows, classes

    def _shares(self, matched: Held, knows: Sequence[str]) -> dict[str, Shares]:
        shares = {}
        for name in self.about:
            sql = (
                f"SELECT m.id AS id, c.s AS s, SUM(c.n) AS n FROM {matched.relation} AS m "
                f"JOIN ({self._classes(knows, name)}) AS c ON c.p = m.p GROUP BY m.id, c.s"
            )
            found = self.engine.query(sql)
            ids, values = found["id"].to_numpy(), found["s"].to_numpy()
            order = np.lexsort((values, ids))
            records = found["n"].to_numpy().astype(np.float64)[order]
            shares[name] = Shares(self.labels(name), ids[order], values[order], records)
        return shares


@dataclass(frozen=True, eq=False)
class Numbered:
    """The distinct texts of a column, and the relation that numbers them."""

    texts: tuple[answers.Text, ...]
    relation: str

    @classmethod
    def of(cls, held: Held, place: int) -> Numbered:
        """Number the distinct texts of a column of counted rows."""
        found = held.engine.query(f"SELECT DISTINCT c{place} AS t FROM {held.relation} AS held ORDER BY t")["t"]
        texts = tuple(None if text == "-" else text[1:] for text in found.to_pylist())
        numbers = pa.table({"t": found.combine_chunks(), "c": np.arange(len(texts))})
        return cls(texts, held.engine.lend(numbers))


def _counted(table: Table, columns: Sequence[str], mass: str | None) -> Held:
    """The records n of each combination of texts c0, c1, ...; a text has = before it and null is -, so that all are joined alike."""
    engine = table.engine
    cells = [engine.cast(engine.quote(name), "VARCHAR") for name in columns]
    texts = ", ".join(f"COALESCE('=' || {cell}, '-') AS c{place}" for place, cell in enumerate(cells))
    weight = "1" if mass is None else engine.cast(engine.quote(mass), "DOUBLE")
    named = ", ".join(f"c{place}" for place in range(len(columns)))
    rows = f"SELECT {texts}, {weight} AS w FROM {table.relation}"
    sql = f"SELECT {named}, CAST(SUM(w) AS DOUBLE) AS n FROM ({rows}) AS r GROUP BY {named}"
    return engine.hold(sql, source=table.source)


def _coded(held: Held, numbered: Sequence[Numbered]) -> Held:
    """The same with numbers for texts."""
    named = ", ".join(f"CAST(d{place}.c AS BIGINT) AS c{place}" for place in range(len(numbered)))
    joins = "".join(
        f" JOIN {column.relation} AS d{place} ON d{place}.t = r.c{place}" for place, column in enumerate(numbered)
    )
    return held.engine.hold(f"SELECT {named}, r.n AS n FROM {held.relation} AS r{joins}")


def _dictionary(column: pa.ChunkedArray) -> tuple[Ints, tuple[answers.Text, ...]]:
    """A number for each text, and the texts; null is one of them."""
    encoded = pc.dictionary_encode(column.combine_chunks(), null_encoding="encode")
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64), tuple(encoded.dictionary.to_pylist())


def _fitting_both(one: answers.Fits, other: answers.Fits, values: Ints, others: Ints) -> answers.Fits:
    """For each pair of values, the labels that fit both."""
    width = 1 + max(int(fits.label.max(initial=-1)) for fits in (one, other))
    sides = []
    for fits, value in ((one, values), (other, others)):
        order = np.argsort(fits.value, kind="stable")
        start = np.searchsorted(fits.value[order], value)
        many = np.searchsorted(fits.value[order], value, side="right") - start
        labels = fits.label[order][arrays.ranges(start, many)]
        sides.append(np.repeat(np.arange(len(value)), many) * width + labels)
    shared = np.intersect1d(sides[0], sides[1], assume_unique=True)
    return answers.Fits(shared % max(width, 1), shared // max(width, 1))


def _tuples(codes: Sequence[Ints], radices: Sequence[int], rows: int) -> tuple[Ints, Ints]:
    if not rows:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    return arrays.class_ids(codes, radices, rows=rows)
