# SPDX-License-Identifier: Apache-2.0
"""The context of attacks, with the release, the targets and the adversary.

The original is kept separate: it is used to score guesses, never to make them. All values are texts
as written; null is None. The known values of people (`People.known`) and their true values
(`People.truth`) are two tables with the same rows.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from divulge import anatomization
from divulge.adversary import Adversary
from divulge.attacks.matching import Matcher, Matches
from divulge.attacks.result import Bound
from divulge.counting import encode
from divulge.engines import Engine
from divulge.errors import BadInput
from divulge.policy import Promise
from divulge.sources import Roles, Table, table_of
from divulge.text import as_number

if TYPE_CHECKING:
    from fractions import Fraction

    from divulge.arrays import Floats, Ints


_CERTAINLY_NEW = 3.0
"""Expected number of new rows at which no new row has a probability of 1/20."""
MASS = "expected records"
"""Column with the number of records that a row of a joined anatomized release represents."""


Program = Callable[
    ["pa.Table"], "Mapping[tuple[str | None, ...], tuple[str | None, ...] | None] | None"
]
"""Function from an original to the published labels of each combination of quasi-identifiers.

Labels of None mean suppressed. A result of None means that nothing can be published.
"""


@dataclass(frozen=True, eq=False)
class People:
    """Attacked people: one row each, in the same order in both tables, every cell as a text."""

    known_values: pa.Table
    """Values that the adversary knows of them: the columns of `Stage.knows`."""
    truth: pa.Table
    """Values in all columns that the original and the release share, to score guesses."""
    source: str
    numbers: frozenset[str] = frozenset()
    """Columns of numbers."""

    def __len__(self) -> int:
        return int(self.known_values.num_rows)


@dataclass(frozen=True, eq=False)
class AttackContext:
    """Context of an attack."""

    engine: Engine
    release: Table
    """Published table; the tables of an anatomized release are joined by group.

    A row of the joined tables represents the number of records in `mass`.
    """
    mass: str | None
    """Column with the number of records that a row represents; None if each represents one."""
    roles: Roles
    """Quasi-identifiers and sensitive columns of the release; the attacks infer the latter."""
    knows: tuple[str, ...]
    """Columns of the release that the adversary knows of each target."""
    targets: People
    controls: People | None
    """Control group of people who are not in the release; None without one."""
    adversary: Adversary
    background: Table | None
    """Auxiliary table of the adversary."""
    promises: tuple[Promise, ...]
    """Requirements of the release, from its manifest or passed explicitly."""
    seed: int
    everybody: Table
    """The whole original; a person who is singled out must be unique in it."""
    nobody: Table | None
    """All people of the control group."""
    population: Table | None
    matcher: Matcher
    priors: Mapping[str, Mapping[str | None, float]] = field(default_factory=dict)
    """Adversary's prior of a sensitive column, by the text of each value.

    Columns without one have the shares of the release as their prior.
    """
    least_distance: Mapping[str, float] = field(default_factory=dict)
    """Least ground distance between two values of a sensitive column, if it is not 1."""
    published: anatomization.Published | None = None
    """Tables of an anatomized release."""
    levels: Mapping[str, str] = field(default_factory=dict)
    """Guaranteed alpha, beta, gamma and delta of an anatomized release."""
    document: Mapping[str, Any] = field(default_factory=dict)
    """Public manifest of our release; empty for a third-party table."""
    other_prior: frozenset[str] = frozenset()
    """Sensitive columns whose requirements were checked with an explicit prior.

    The requirements of other columns were checked with the shares of the table.
    """
    program: Program | None = None
    """Publisher's program with its policy, if the adversary knows it."""
    _matched: dict[tuple[int, tuple[str, ...]], Matches] = field(default_factory=dict, repr=False)

    def generator(self, name: str) -> np.random.Generator:
        """Create the random generator of one attack; it does not depend on other attacks."""
        return np.random.default_rng([self.seed, zlib.crc32(name.encode())])

    def matches(self, people: People, knows: Sequence[str] | None = None) -> Matches:
        """Match these people with the release by all or some known columns; results are cached."""
        columns = tuple(self.knows if knows is None else knows)
        key = (id(people), columns)
        if key not in self._matched:
            self._matched[key] = self.matcher.match(
                people.known_values, columns, numbers=self._numbers(people, columns)
            )
        return self._matched[key]

    def own_row_fits(self, knows: Sequence[str]) -> Floats:
        """Compute for each target the probability that their own row is among the matching rows.

        With a key, it is the number of matching rows that are the target's own. Without a key, the
        result is an upper bound: any row that matches the target's true values counts as their
        own. If a class has fewer rows than matching people, only as many people as rows are in the
        release.
        """
        people = self.targets
        columns = tuple(knows)
        true_values = self.targets.truth
        if self.key is not None and self.published is None:
            numbers = self._numbers(people, dict.fromkeys((*columns, self.key)))
            return self.matcher.own_rows(
                people.known_values, columns, self.key, true_values[self.key], numbers=numbers
            )
        rightly_known = self._rightly_known(columns)
        chance = np.ones(len(people))
        if rightly_known is not people:
            both_matches = self.matcher.match(
                people.known_values,
                columns,
                numbers=self._numbers(people, columns),
                second_table=true_values,
            )
            rows = self.matches(rightly_known, columns).rows[
                self.matches(rightly_known, columns).of_person
            ]
            chance = np.divide(
                both_matches.rows[both_matches.of_person],
                rows,
                out=np.zeros(len(people)),
                where=rows > 0,
            )
        if self.published is None and self.more_people_than_rows:
            matches = self.matches(rightly_known, columns)
            chance = (
                chance * self.matcher.published(matches, self.everybody, columns)[matches.of_person]
            )
        return chance

    @property
    def key(self) -> str | None:
        """Column that identifies the person of a row, in both the original and the release."""
        candidates = [self.roles.person, *self.roles.identifier]
        shared = [
            name
            for name in candidates
            if name in self.release.names and name in self.targets.truth.column_names
        ]
        if shared:
            return shared[0]
        return None

    def in_release(self, about: str | None) -> Floats | None:
        """Compute for each target the probability to be in the release; None if all targets are.

        Requirements cover only people in the release. With a key, the key decides. Without a key, a
        target is in the release if they match a class by their true values, including the guessed
        value. If more people than rows match, all of them have equal probabilities.
        """
        people = self.targets
        columns = (*self.knows, *(() if about is None else (about,)))
        if self.key is not None:
            person_keys = people.truth[self.key]
            rows = self.matcher.own_rows(
                people.truth, (), self.key, person_keys, numbers=self._numbers(people, [self.key])
            )
            if rows.all():
                return None
            return np.minimum(rows, 1.0)
        if not self.more_people_than_rows:
            return None
        matches = self.matcher.match(people.truth, columns, numbers=self._numbers(people, columns))
        share = np.where(
            matches.rows > 0, self.matcher.published(matches, self.everybody, columns), 0.0
        )
        return share[matches.of_person]

    def control_in_truth(self) -> str | None:
        """Return a warning if people of the control group are in the original; None if none are.

        With a key, people are compared by it. Without a key, rows are compared in all common
        columns, but rows of different people may be equal. The expected share of new rows among new
        people is the share of rows of the original that occur once (Good 1953). If no row is new
        although at least three are expected, the control group consists of the same people.

        Raises:
            BadInput: if the control group consists of people of the original.
        """
        if self.nobody is None:
            return None
        if self.key is not None and self.nobody.has(self.key):
            key = self.key
        else:
            key = None
        if key is not None:
            shared = [key]
        else:
            shared = [name for name in self.everybody.names if self.nobody.has(name)]
        truth, control = (self._row_texts(side, shared) for side in (self.everybody, self.nobody))
        stored_counts = self.engine.hold(f"SELECT r, COUNT(*) AS n FROM ({truth}) AS t GROUP BY r")
        rows = stored_counts.relation
        unique_count_sql = f"SELECT SUM(CASE WHEN n = 1 THEN 1 ELSE 0 END) FROM {rows} AS o"
        sql = (
            f"SELECT COUNT(*) AS people, COUNT(t.n) AS found, ({unique_count_sql}) AS once, "
            f"(SELECT SUM(n) FROM {rows} AS a) AS n "
            f"FROM ({control}) AS c LEFT JOIN {rows} AS t ON t.r = c.r"
        )
        people, overlap, unique_rows, row_count = (
            int(column[0].as_py()) for column in self.engine.query(sql).columns
        )
        expected_new = people * unique_rows / row_count
        if overlap == people and (key is not None or expected_new >= _CERTAINLY_NEW):
            hint = "Give people who are not in the table that the release was made of"
            raise BadInput(
                "every row of the control stands in the truth: it is no control group", hint=hint
            )
        if not overlap:
            return None
        if key is not None:
            if overlap == 1:
                are = "is"
            else:
                are = "are"
            return (
                f"{overlap:,} of {people:,} people of the control {are} in the truth too, by "
                f"{key}: they are no control"
            )
        return (
            f"{overlap:,} of {people:,} rows of the control are like a row of the truth in every "
            f"column that both have; of other people about {people - expected_new:,.0f} would be. "
            "Where they are the same people, they are no control"
        )

    def _row_texts(self, table: Table, columns: Sequence[str]) -> str:
        """Write SQL for a text r of each row; equal rows have equal texts.

        34 and 34.0 are equal in columns of numbers.
        """
        engine = self.engine
        sides = [side for side in (self.everybody, self.nobody) if side is not None]
        numbers = {
            name for name in columns if all(side.column(name).kind == "number" for side in sides)
        }
        cells = [
            engine.cast(engine.quote(name), "DOUBLE") if name in numbers else engine.quote(name)
            for name in columns
        ]
        return (
            f"SELECT {_row_text(engine.cast(cell, 'VARCHAR') for cell in cells)} AS r FROM "
            f"{table.relation}"
        )

    def encode_in_common(
        self, people: People, name: str, column: pa.ChunkedArray
    ) -> tuple[Ints, Ints]:
        """Encode a column of the release and the true values of people in the same codes."""
        return encode_in_common(
            column, people.truth[name], numbers=self._numbers(people, [name])[name]
        )

    @cached_property
    def too_many_rows(self) -> str:
        """Reason that the rows do not fit into memory; empty if they do.

        Attacks by joins do not load the rows.
        """
        limit = self.engine.row_limit
        tables = [self.release] if self.published is None else self.published.tables
        if limit is None:
            return ""
        counts = [
            self.engine.query(f"SELECT COUNT(*) AS n FROM {table.relation}")["n"][0].as_py()
            for table in tables
        ]
        message = (
            f"the release has {max(counts):,} rows, and {limit:,} may come to memory one by one"
        )
        if max(counts) > limit:
            return message
        return ""

    @cached_property
    def more_people_than_rows(self) -> bool:
        """True if the original has more people than the release has records."""
        sql = f"SELECT COUNT(*) AS n FROM {self.everybody.relation}"
        return float(self.everybody.engine.query(sql)["n"][0].as_py()) > self.matcher.records

    def _rightly_known(self, knows: tuple[str, ...]) -> People:
        """Return the targets with their true values as known values.

        These are the targets themselves if all known values are true.
        """
        right = self.targets.truth.select(list(self.knows))
        if right.select(list(knows)).equals(self.targets.known_values.select(list(knows))):
            return self.targets
        return self._truly_known

    @cached_property
    def _truly_known(self) -> People:
        return replace(self.targets, known_values=self.targets.truth.select(list(self.knows)))

    def _numbers(self, people: People, knows: Iterable[str]) -> dict[str, bool]:
        return {
            name: name in people.numbers and self.release.column(name).kind == "number"
            for name in knows
        }

    def prior(self, about: str) -> Floats:
        """Compute the adversary's prior of a column, in the order of `matcher.labels`."""
        prior_shares = self.priors.get(about)
        if prior_shares is None:
            label_shares = []
        else:
            label_shares = [prior_shares.get(text, 0.0) for text in self.matcher.labels(about)]
        if prior_shares is None:
            masses: Floats = self.matcher.totals(about)
        else:
            masses = np.array(label_shares)
        return np.asarray(masses / max(masses.sum(), np.finfo(float).tiny))

    @property
    def sides(self) -> tuple[People, ...]:
        """Targets, and the control group if there is one."""
        if self.controls is None:
            return (self.targets,)
        return (self.targets, self.controls)

    @property
    def guessed(self) -> tuple[str, ...]:
        """Sensitive columns that the adversary does not know."""
        return tuple(name for name in self.roles.sensitive if name not in self.knows)

    @property
    def covers_all_known(self) -> bool:
        """True if requirements on classes cover the adversary.

        The adversary then knows only quasi-identifiers, and each row is a different person.
        """
        return set(self.knows) <= set(self.roles.quasi_identifiers) and self.roles.person is None

    def bound(
        self, about: str | None, *, journalist: bool = False, average: bool = False
    ) -> Bound | None:
        """Find the lowest bound of the requirements on a guess; None if no requirement bounds it.

        The adversary of the bound knows only quasi-identifiers. A requirement on an average bounds
        only averages over all people.
        """
        if not self.covers_all_known or self.published is not None:
            return None
        if about is None:
            prior = np.zeros(0)
        else:
            prior = self.shares_of_truth(about)
        bounds = [
            Bound(promise.metric.leaves(self._scaled(promise, about), prior), promise.text)
            for promise in self.promises
            if promise.metric.leaves is not None
            and promise.metric.scope == ("identity" if about is None else "sensitive")
            and promise.metric.needs_population <= journalist
            and (average or promise.metric.looks_at != "table")
            and promise.attribute in (None, about)
            and not (promise.metric.against_prior and about in self.other_prior)
        ]
        return min(
            (bound for bound in bounds if bound.value < 1),
            key=lambda bound: bound.value,
            default=None,
        )

    def _scaled(self, promise: Promise, about: str | None) -> float:
        """Convert the bound of a requirement to a bound on the total variation.

        An earth mover's distance is at least the total variation times the least distance between
        two values.
        """
        if promise.metric.by_distance:
            least = self.least_distance.get(str(about), 1.0)
        else:
            least = 1.0
        return float(promise.bound) / least

    def unbounded(self) -> Iterator[str]:
        """Yield the reasons that requirements on sensitive values show no bound here, if any."""
        bounding = [
            promise
            for promise in self.promises
            if promise.metric.leaves is not None and promise.metric.scope == "sensitive"
        ]
        if (
            not bounding
            or not self.guessed
            or not self.covers_all_known
            or self.published is not None
        ):
            return
        ambiguous_targets = int(
            (self.matches(self.targets).classes > 1)[self.matches(self.targets).of_person].sum()
        )
        if ambiguous_targets:
            yield (
                f"what is known of {ambiguous_targets:,} of {len(self.targets):,} targets fits "
                "several classes, so that guesses may differ within a "
                "class: promises about values show no bound"
            )
        for about in sorted(self.other_prior):
            texts = [
                promise.text
                for promise in bounding
                if promise.metric.against_prior and promise.attribute in (None, about)
            ]
            if texts:
                yield (
                    f"{', '.join(texts)} of {about} was judged against a prior that was given by "
                    "hand, so it shows no bound"
                )

    def shares_of_truth(self, about: str) -> Floats:
        """Compute the distribution of a column in the original.

        Requirements relative to a prior were checked with it. It is never used to make a guess.
        """
        quoted = self.everybody.engine.quote(about)
        sql = f"SELECT COUNT(*) AS n FROM {self.everybody.relation} GROUP BY {quoted}"
        counts = self.everybody.engine.query(sql)["n"].to_numpy().astype(np.float64)
        return np.asarray(counts / counts.sum())


def encode_in_common(
    left: pa.ChunkedArray, other: pa.ChunkedArray, *, numbers: bool
) -> tuple[Ints, Ints]:
    """Encode the texts of two columns in the same codes.

    Null has a code too. With `numbers`, 34 and 34.0 are equal.

    >>> left, right = encode_in_common(
    ...     pa.chunked_array([["34", "7"]]), pa.chunked_array([["7.0", None, "34"]]), numbers=True
    ... )
    >>> left.tolist(), right.tolist()
    ([0, 1], [1, 2, 0])
    """
    combined = pa.chunked_array([*left.chunks, *other.chunks], pa.string())
    encoded = encode(combined, name="both columns", kind="text", is_sorted=False)
    codes = encoded.int64_codes
    if numbers:
        code_of_value: dict[Fraction | str | None, int] = {}
        values = ((text, as_number(text or "")) for text in encoded.domain.labels)
        merged_codes = [
            code_of_value.setdefault(text if number is None else number, len(code_of_value))
            for text, number in values
        ]
        codes = np.array(merged_codes, dtype=np.int64)[codes]
    return codes[: len(left)], codes[len(left) :]


def draw_rows(table: Table, columns: Sequence[str], records: int, seed: int) -> pa.Table:
    """Draw rows at random, as texts.

    The sample is the same on every engine, because the random order is a hash of the row and the
    seed. Equal rows are numbered, so that each has its own place in the order.
    """
    engine = table.engine
    texts = [engine.cast(engine.quote(name), "VARCHAR") for name in columns]
    cell_list = ", ".join(f"{text} AS c{index}" for index, text in enumerate(texts))
    plain = ", ".join(f"c{index}" for index in range(len(texts)))
    row = _row_text(plain.split(", "))
    sql = (
        f"SELECT {plain} FROM (SELECT {plain}, r, ROW_NUMBER() OVER (PARTITION BY r "
        f"ORDER BY r) AS copy FROM (SELECT {plain}, {row} AS r "
        f"FROM (SELECT {cell_list} FROM {table.relation}) AS a) AS b) AS c ORDER BY "
        f"md5(r || '#' || CAST(copy AS VARCHAR(20)) || '#{int(seed)}') LIMIT {int(records)}"
    )
    sample = engine.query(sql)
    return sample.rename_columns(list(columns))


def _row_text(cells: Iterable[str]) -> str:
    """Write SQL for a text that encodes all cells of a row without ambiguity."""
    return " || ".join(
        f"COALESCE(CAST(LENGTH({cell}) AS VARCHAR(20)) || ':' || {cell}, '-')" for cell in cells
    )


def people_of(
    table: Table, columns: Sequence[str], knows: Sequence[str], *, records: int, seed: int
) -> People:
    """Sample people of a table, with their known and their true values."""
    rows = draw_rows(table, columns, records, seed)
    numbers = frozenset(name for name in columns if table.column(name).kind == "number")
    return People(rows.select(list(knows)), rows, table.source, numbers)


def put_together(published: anatomization.Published) -> Table:
    """Join the tables of an anatomized release by group, with expected numbers of records.

    In a group of n records, tuples that occur d1, d2, ... times are expected to occur together in
    d1 d2 ... / n^(tables - 1) records.
    """
    engine = published.engine
    quote = engine.quote
    parts = []
    for table_index, table in enumerate(published.tables):
        column_list = "".join(f", {quote(name)}" for name in table.columns)
        rows = (
            f"SELECT {quote(published.group)} AS g{column_list}, {published.mass(table)} AS w "
            f"FROM {table.relation}"
        )
        columns = "".join(f", {quote(name)}" for name in table.columns)
        parts.append(
            f"(SELECT g{columns}, CAST(SUM(w) AS DOUBLE) AS w FROM ({rows}) AS r GROUP BY "
            f"g{columns}) AS t{table_index}"
        )
    first = published.tables[0]
    records = f"CAST(SUM({published.mass(first)}) AS DOUBLE)"
    sizes = (
        f"(SELECT {quote(published.group)} AS g, {records} AS n "
        f"FROM {first.relation} GROUP BY 1) AS z"
    )
    joins = "".join(
        f" JOIN {part} ON t{table_index}.g = t0.g"
        for table_index, part in enumerate(parts)
        if table_index
    )
    weight = " * ".join(f"t{table_index}.w" for table_index in range(len(parts)))
    divisor = " * ".join(["z.n"] * (len(parts) - 1)) or "1"
    column_list = ", ".join(
        f"t{table_index}.{quote(name)} AS {quote(name)}"
        for table_index, table in enumerate(published.tables)
        for name in table.columns
    )
    sql = (
        f"SELECT {column_list}, {weight} / ({divisor}) AS {quote(MASS)} FROM {parts[0]} JOIN "
        f"{sizes} ON z.g = t0.g{joins}"
    )
    return table_of(engine, f"({sql})", source=first.source)
