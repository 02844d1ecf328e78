# SPDX-License-Identifier: Apache-2.0
"""Stage: release, targets and adversary set up for attacks, with the truth kept apart: it scores guesses, and no guess is made with it.

All values are texts here, as they are written; null is None. What she knows of a person (`People.known`) and what is true of them
(`People.truth`) are two tables of the same rows.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from divulge import anatomy
from divulge.attacks.attempt import Bound
from divulge.attacks.matching import Matcher, Matches
from divulge.belief import Adversary
from divulge.engines import Engine
from divulge.errors import BadInput
from divulge.policy import Promise
from divulge.table import Roles, Table, table_of
from divulge.values import as_number

if TYPE_CHECKING:
    from fractions import Fraction

    from divulge.arrays import Floats, Ints


_SURELY_NEW = 3.0
"""Where so many new rows are expected, none comes once in twenty times."""
MASS = "expected records"
"""The column that says how many records a row of an anatomized release that was put together stands for."""


Program = Callable[["pa.Table"], "Mapping[tuple[str | None, ...], tuple[str | None, ...] | None] | None"]
"""From an original to what each combination of quasi-identifiers is published as (None: left out); None: nothing can be published."""


@dataclass(frozen=True, eq=False)
class People:
    """People who are attacked: one row for each, in the same order in both tables, every cell as a text."""

    known: pa.Table
    """What she knows of them: the columns of `Stage.knows`."""
    truth: pa.Table
    """Every column that the truth and the release share, to score guesses with."""
    source: str
    numbers: frozenset[str] = frozenset()
    """The columns that hold numbers."""

    def __len__(self) -> int:
        return int(self.known.num_rows)


@dataclass(frozen=True, eq=False)
class Stage:
    """What an attack gets."""

    engine: Engine
    release: Table
    """What she sees; of an anatomized release its tables put together by group, each row for as many records as `mass` expects."""
    mass: str | None
    """The column of the release that says how many records a row stands for; None: each for one."""
    roles: Roles
    """Quasi-identifiers and sensitive columns of the release; she is after the sensitive ones."""
    knows: tuple[str, ...]
    """The columns of the release that she knows of each target."""
    targets: People
    controls: People | None
    """People who are not in the release; None: nobody said who is not."""
    adversary: Adversary
    background: Table | None
    """Another table that she holds."""
    promises: tuple[Promise, ...]
    """What was promised of the release, by its manifest or by whoever asks."""
    seed: int
    everybody: Table
    """The whole truth: whoever is singled out must be alone in it."""
    nobody: Table | None
    """All people who are not in the release."""
    population: Table | None
    matcher: Matcher
    priors: Mapping[str, Mapping[str | None, float]] = field(default_factory=dict)
    """What she believes of a sensitive column beforehand, by the text of each value, where that was said; otherwise the release says it."""
    least_distance: Mapping[str, float] = field(default_factory=dict)
    """The least ground distance between two values of a sensitive column, where it is not 1."""
    published: anatomy.Published | None = None
    """The tables of an anatomized release."""
    levels: Mapping[str, str] = field(default_factory=dict)
    """alpha, beta, gamma and delta as an anatomized release promises them."""
    document: Mapping[str, Any] = field(default_factory=dict)
    """The public manifest of a release of ours; empty for a table of somebody."""
    other_prior: frozenset[str] = frozenset()
    """The sensitive columns whose promises were judged against a prior that somebody gave, and not against the shares of the table."""
    program: Program | None = None
    """What the publisher's program makes of an original, where she knows it with its policy."""
    _matched: dict[tuple[int, tuple[str, ...]], Matches] = field(default_factory=dict, repr=False)

    def generator(self, name: str) -> np.random.Generator:
        """Chance for one attack: the same whatever other attacks are run."""
        return np.random.default_rng([self.seed, zlib.crc32(name.encode())])

    def matches(self, people: People, knows: Sequence[str] | None = None) -> Matches:
        """What fits each of these people by what she knows, or by some of it; looked up once."""
        known = tuple(self.knows if knows is None else knows)
        key = (id(people), known)
        if key not in self._matched:
            self._matched[key] = self.matcher.match(people.known, known, numbers=self._numbers(people, known))
        return self._matched[key]

    def own_row_fits(self, knows: Sequence[str]) -> Floats:
        """For each target the chance that the own row is among those that fit what is known; at most so many where nobody can tell.

        A column that says whose a row is tells it. Otherwise the own row is any that fits what is true of the target, and of people who are
        more than the rows of their class, as many are in the release as it has rows.
        """
        people, known, true = self.targets, tuple(knows), self.targets.truth
        if self.key is not None and self.published is None:
            numbers = self._numbers(people, dict.fromkeys((*known, self.key)))
            return self.matcher.own_rows(people.known, known, self.key, true[self.key], numbers=numbers)
        rightly = self._rightly_known(known)
        chance = np.ones(len(people))
        if rightly is not people:
            both = self.matcher.match(people.known, known, numbers=self._numbers(people, known), beside=true)
            rows = self.matches(rightly, known).rows[self.matches(rightly, known).of_person]
            chance = np.divide(both.rows[both.of_person], rows, out=np.zeros(len(people)), where=rows > 0)
        if self.published is None and self.more_people_than_rows:
            matches = self.matches(rightly, known)
            chance = chance * self.matcher.published(matches, self.everybody, known)[matches.of_person]
        return chance

    @property
    def key(self) -> str | None:
        """The column by which a row of the release is known to be a person's: in the truth and in the release."""
        named = [self.roles.person, *self.roles.identifier]
        shared = [name for name in named if name in self.release.names and name in self.targets.truth.column_names]
        return shared[0] if shared else None

    def in_release(self, about: str | None) -> Floats | None:
        """For each target the chance to be in the release, of whom alone a promise speaks; None: everybody is.

        A column that says whose a row is tells it. Otherwise it is who fits a class by what is true of them, the value that is guessed
        included, and where more people than rows do, they have equal chances.
        """
        people, columns = self.targets, (*self.knows, *(() if about is None else (about,)))
        if self.key is not None:
            own = people.truth[self.key]
            rows = self.matcher.own_rows(people.truth, (), self.key, own, numbers=self._numbers(people, [self.key]))
            return None if rows.all() else np.minimum(rows, 1.0)
        if not self.more_people_than_rows:
            return None
        matches = self.matcher.match(people.truth, columns, numbers=self._numbers(people, columns))
        share = np.where(matches.rows > 0, self.matcher.published(matches, self.everybody, columns), 0.0)
        return share[matches.of_person]

    def control_in_truth(self) -> str | None:
        """How many of the control group stand in the truth too, where some do; refused where they are the same people.

        A column that says whose a row is tells it. Otherwise rows are the same that are alike in every column that both have, which other
        people's may be as well: of new people, as many rows are expected to be new as rows of the truth occur once (Good 1953). So where
        all are there although three new ones or more were to be expected, they are the same people.
        """
        if self.nobody is None:
            return None
        key = self.key if self.key is not None and self.nobody.has(self.key) else None
        shared = [key] if key is not None else [name for name in self.everybody.names if self.nobody.has(name)]
        truth, control = (self._row_texts(side, shared) for side in (self.everybody, self.nobody))
        held = self.engine.hold(f"SELECT r, COUNT(*) AS n FROM ({truth}) AS t GROUP BY r")
        rows = held.relation
        once = f"SELECT SUM(CASE WHEN n = 1 THEN 1 ELSE 0 END) FROM {rows} AS o"
        sql = (
            f"SELECT COUNT(*) AS people, COUNT(t.n) AS found, ({once}) AS once, (SELECT SUM(n) FROM {rows} AS a) AS n "
            f"FROM ({control}) AS c LEFT JOIN {rows} AS t ON t.r = c.r"
        )
        people, found, alone, of = (int(column[0].as_py()) for column in self.engine.query(sql).columns)
        new = people * alone / of
        if found == people and (key is not None or new >= _SURELY_NEW):
            hint = "Give people who are not in the table that the release was made of"
            raise BadInput("every row of the control stands in the truth: it is no control group", hint=hint)
        if not found:
            return None
        if key is not None:
            are = "is" if found == 1 else "are"
            return (
                f"{found:,} of {people:,} people of the control {are} in the truth too, by {key}: they are no control"
            )
        return (
            f"{found:,} of {people:,} rows of the control are like a row of the truth in every column that both have; of other people "
            f"about {people - new:,.0f} would be. Where they are the same people, they are no control"
        )

    def _row_texts(self, table: Table, columns: Sequence[str]) -> str:
        """SQL for a text r of each row, the same for rows that are alike; 34 and 34.0 are where truth and control have numbers."""
        engine, sides = self.engine, [side for side in (self.everybody, self.nobody) if side is not None]
        numbers = {name for name in columns if all(side.column(name).kind == "number" for side in sides)}
        cells = [
            engine.cast(engine.quote(name), "DOUBLE") if name in numbers else engine.quote(name) for name in columns
        ]
        return f"SELECT {_row_text(engine.cast(cell, 'VARCHAR') for cell in cells)} AS r FROM {table.relation}"

    def in_common(self, people: People, name: str, column: pa.ChunkedArray) -> tuple[Ints, Ints]:
        """A column of the release and what is true of people, in the same numbers."""
        return in_common(column, people.truth[name], numbers=self._numbers(people, [name])[name])

    @cached_property
    def too_many_rows(self) -> str:
        """Why rows cannot be held one by one: more than may come to memory. Attacks by joins leave them where they are."""
        limit, tables = self.engine.row_limit, [self.release] if self.published is None else self.published.tables
        if limit is None:
            return ""
        counts = [self.engine.query(f"SELECT COUNT(*) AS n FROM {table.relation}")["n"][0].as_py() for table in tables]
        told = f"the release has {max(counts):,} rows, and {limit:,} may come to memory one by one"
        return told if max(counts) > limit else ""

    @cached_property
    def more_people_than_rows(self) -> bool:
        """Whether some people of the truth cannot be in the release."""
        sql = f"SELECT COUNT(*) AS n FROM {self.everybody.relation}"
        return float(self.everybody.engine.query(sql)["n"][0].as_py()) > self.matcher.records

    def _rightly_known(self, knows: tuple[str, ...]) -> People:
        """The targets with what is true of them for what is known; the targets themselves where that is the same."""
        right = self.targets.truth.select(list(self.knows))
        if right.select(list(knows)).equals(self.targets.known.select(list(knows))):
            return self.targets
        return self._right

    @cached_property
    def _right(self) -> People:
        return replace(self.targets, known=self.targets.truth.select(list(self.knows)))

    def _numbers(self, people: People, knows: Iterable[str]) -> dict[str, bool]:
        return {name: name in people.numbers and self.release.column(name).kind == "number" for name in knows}

    def prior(self, about: str) -> Floats:
        """What she believes of a column before she looks anybody up: the share of each value of `matcher.labels`."""
        given = self.priors.get(about)
        own = [] if given is None else [given.get(text, 0.0) for text in self.matcher.labels(about)]
        masses: Floats = self.matcher.totals(about) if given is None else np.array(own)
        return np.asarray(masses / max(masses.sum(), np.finfo(float).tiny))

    @property
    def sides(self) -> tuple[People, ...]:
        """The targets, and the control group if there is one."""
        return (self.targets,) if self.controls is None else (self.targets, self.controls)

    @property
    def guessed(self) -> tuple[str, ...]:
        """The sensitive columns that she does not know."""
        return tuple(name for name in self.roles.sensitive if name not in self.knows)

    @property
    def covers_all_known(self) -> bool:
        """Whether a promise about classes is about her: she knows quasi-identifiers alone, and a row is a person."""
        return set(self.knows) <= set(self.roles.quasi_identifiers) and self.roles.person is None

    def bound(self, about: str | None, *, journalist: bool = False, average: bool = False) -> Bound | None:
        """The least that a promise leaves to a guess of somebody who knows quasi-identifiers; None: none of them bounds it.

        A promise about an average bounds only what is averaged over everybody.
        """
        if not self.covers_all_known or self.published is not None:
            return None
        prior = np.zeros(0) if about is None else self.shares_of_truth(about)
        found = [
            Bound(promise.metric.leaves(self._scaled(promise, about), prior), promise.text)
            for promise in self.promises
            if promise.metric.leaves is not None
            and promise.metric.scope == ("identity" if about is None else "sensitive")
            and promise.metric.needs_population <= journalist
            and (average or promise.metric.looks_at != "table")
            and promise.attribute in (None, about)
            and not (promise.metric.against_prior and about in self.other_prior)
        ]
        return min((bound for bound in found if bound.value < 1), key=lambda bound: bound.value, default=None)

    def _scaled(self, promise: Promise, about: str | None) -> float:
        """An earth mover's distance is at least the total variation times the least distance between two values."""
        least = self.least_distance.get(str(about), 1.0) if promise.metric.by_distance else 1.0
        return float(promise.bound) / least

    def unbounded(self) -> Iterator[str]:
        """Why promises that bound guesses of values show no bound here; nothing where they do."""
        bounding = [one for one in self.promises if one.metric.leaves is not None and one.metric.scope == "sensitive"]
        if not bounding or not self.guessed or not self.covers_all_known or self.published is not None:
            return
        several = int((self.matches(self.targets).classes > 1)[self.matches(self.targets).of_person].sum())
        if several:
            yield (
                f"what is known of {several:,} of {len(self.targets):,} targets fits several classes, so that guesses may differ within a "
                "class: promises about values show no bound"
            )
        for about in sorted(self.other_prior):
            texts = [one.text for one in bounding if one.metric.against_prior and one.attribute in (None, about)]
            if texts:
                yield f"{', '.join(texts)} of {about} was judged against a prior that was given by hand, so it shows no bound"

    def shares_of_truth(self, about: str) -> Floats:
        """How the values of a column are distributed in the truth: what promises against a prior were held against. No guess knows it."""
        quoted = self.everybody.engine.quote(about)
        sql = f"SELECT COUNT(*) AS n FROM {self.everybody.relation} GROUP BY {quoted}"
        counts = self.everybody.engine.query(sql)["n"].to_numpy().astype(np.float64)
        return np.asarray(counts / counts.sum())


def in_common(one: pa.ChunkedArray, other: pa.ChunkedArray, *, numbers: bool) -> tuple[Ints, Ints]:
    """The texts of two columns in the same numbers; null has one too, and of numbers 34 and 34.0 are the same.

    >>> left, right = in_common(pa.chunked_array([["34", "7"]]), pa.chunked_array([["7.0", None, "34"]]), numbers=True)
    >>> left.tolist(), right.tolist()
    ([0, 1], [1, 2, 0])
    """
    coded = pa.chunked_array([*one.chunks, *other.chunks], pa.string()).combine_chunks().dictionary_encode("encode")
    codes: Ints = coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    if numbers:
        alike: dict[Fraction | str | None, int] = {}
        values = ((text, as_number(text or "")) for text in coded.dictionary.to_pylist())
        same = [alike.setdefault(text if number is None else number, len(alike)) for text, number in values]
        codes = np.array(same, dtype=np.int64)[codes]
    return codes[: len(one)], codes[len(one) :]


def drawn(table: Table, columns: Sequence[str], records: int, seed: int) -> pa.Table:
    """So many rows drawn at random, as texts: the same ones on every engine, for chance is a hash of the row and of the seed.

    Rows that are alike are numbered, so that each of them has a chance of its own.
    """
    engine = table.engine
    texts = [engine.cast(engine.quote(name), "VARCHAR") for name in columns]
    named = ", ".join(f"{text} AS c{place}" for place, text in enumerate(texts))
    plain = ", ".join(f"c{place}" for place in range(len(texts)))
    row = _row_text(plain.split(", "))
    sql = (
        f"SELECT {plain} FROM (SELECT {plain}, r, ROW_NUMBER() OVER (PARTITION BY r ORDER BY r) AS copy FROM "
        f"(SELECT {plain}, {row} AS r FROM (SELECT {named} FROM {table.relation}) AS a) AS b) AS c "
        f"ORDER BY md5(r || '#' || CAST(copy AS VARCHAR(20)) || '#{int(seed)}') LIMIT {int(records)}"
    )
    found = engine.query(sql)
    return found.rename_columns(list(columns))


def _row_text(cells: Iterable[str]) -> str:
    """SQL for one text that says all cells of a row, and no other row's."""
    return " || ".join(f"COALESCE(CAST(LENGTH({cell}) AS VARCHAR(20)) || ':' || {cell}, '-')" for cell in cells)


def people_of(table: Table, columns: Sequence[str], knows: Sequence[str], *, records: int, seed: int) -> People:
    """Some people of a table, with what is known and what is true of them."""
    rows = drawn(table, columns, records, seed)
    numbers = frozenset(name for name in columns if table.column(name).kind == "number")
    return People(rows.select(list(knows)), rows, table.source, numbers)


def put_together(published: anatomy.Published) -> Table:
    """The tables of an anatomized release as one: rows of a group meet each other, for as many records as chance would put there.

    Of a group of n records, tuples that occur d1, d2, ... times are expected together in d1 d2 ... / n^(tables - 1) of them.
    """
    engine = published.engine
    quote = engine.quote
    parts = []
    for place, table in enumerate(published.tables):
        named = "".join(f", {quote(name)}" for name in table.columns)
        rows = f"SELECT {quote(published.group)} AS g{named}, {published.mass(table)} AS w FROM {table.relation}"
        columns = "".join(f", {quote(name)}" for name in table.columns)
        parts.append(
            f"(SELECT g{columns}, CAST(SUM(w) AS DOUBLE) AS w FROM ({rows}) AS r GROUP BY g{columns}) AS t{place}"
        )
    first = published.tables[0]
    records = f"CAST(SUM({published.mass(first)}) AS DOUBLE)"
    sizes = f"(SELECT {quote(published.group)} AS g, {records} AS n FROM {first.relation} GROUP BY 1) AS z"
    joins = "".join(f" JOIN {part} ON t{place}.g = t0.g" for place, part in enumerate(parts) if place)
    weight = " * ".join(f"t{place}.w" for place in range(len(parts)))
    divisor = " * ".join(["z.n"] * (len(parts) - 1)) or "1"
    named = ", ".join(
        f"t{place}.{quote(name)} AS {quote(name)}"
        for place, table in enumerate(published.tables)
        for name in table.columns
    )
    sql = f"SELECT {named}, {weight} / ({divisor}) AS {quote(MASS)} FROM {parts[0]} JOIN {sizes} ON z.g = t0.g{joins}"
    return table_of(engine, f"({sql})", source=first.source)
