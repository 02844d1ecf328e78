# SPDX-License-Identifier: Apache-2.0
"""Possible groups of a person in an anatomized release, and the attacks of Yao et al. 2021.

The attacks are those of section 3, by an adversary with partial knowledge. The adversary knows some
columns of a target (section 5.2: all or some quasi-identifiers, or the sensitive value). The target
may be in every group that has these values in each table. Suppose a group has n records, and d1,
d2, ... of them have the values in each table. Then n (d1/n) (d2/n) ... records are expected to have
them all, and the group is weighted by that number. The adversary draws the unknown values from the
posterior, so the success rate is the posterior of the true values. That is a weighted mean of
shares in groups, each within its bound: alpha, beta, gamma and delta guarantee it. They do not
bound an adversary who learns correlations of values from all groups; see definetti.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, cast
from weakref import WeakKeyDictionary

import numpy as np

from divulge import anatomization, arrays
from divulge.arrays import Bools, Codes, Floats, Ints
from divulge.attacks.context import AttackContext, People
from divulge.attacks.result import TOLERANCE, Aim, Attacker, Attempt, Bound, Rate
from divulge.counting import Domain, encode
from divulge.errors import BadInput

if TYPE_CHECKING:
    import pyarrow as pa

PAIRS = 250_000
"""Maximum number of pairs of a target and a possible group in memory at a time."""


@dataclass(frozen=True, eq=False)
class Occurrences:
    """Counts of the tuples of some columns of one table by group, and the tuple of each target.

    An entry is a pair of a tuple and a group in which it occurs.
    """

    groups: int
    target: Ints = field(repr=False)
    """Code of each target's tuple."""
    _group: Ints = field(repr=False)
    _count: Ints = field(repr=False)
    _start: Ints = field(repr=False)
    """Position of the first entry of each tuple; those of tuple t end at start[t + 1]."""
    entry_of_row: Ints = field(repr=False)
    """For each row of the table, the entry of its tuple and group."""

    @classmethod
    def of(
        cls, tuples: Codes, group: Codes, targets: Codes, *, groups: int, times: Ints | None = None
    ) -> Occurrences:
        """Count the tuples of rows by group; the tuples of targets have the same codes."""
        distinct = 1 + max(int(numbers.max(initial=-1)) for numbers in (tuples, targets))
        # A tally is sorted by its first column, so tuples are passed as its groups.
        group_tally = anatomization.tally(
            tuples, group, groups=distinct, values=groups, count=times
        )
        start = np.searchsorted(group_tally.group, np.arange(distinct + 1))
        rows = np.searchsorted(
            group_tally.group * groups + group_tally.value, tuples.astype(np.int64) * groups + group
        )
        return cls(
            groups, targets.astype(np.int64), group_tally.value, group_tally.count, start, rows
        )

    @property
    def distinct(self) -> int:
        """Number of distinct tuples of the table."""
        return int(np.count_nonzero(np.diff(self._start)))

    @property
    def entry_count(self) -> int:
        """Number of entries."""
        return len(self._group)

    @cached_property
    def _records_by_tuple(self) -> Floats:
        return arrays.sum_by_id(self._keys // self.groups, self._count, len(self._start) - 1)

    @property
    def records(self) -> Floats:
        """Number of records that have the tuple of each target."""
        return self._records_by_tuple[self.target]

    @property
    def share(self) -> Floats:
        """Share of all records that have the tuple of each target."""
        share: Floats = self.records / self._records_by_tuple.sum()
        return share

    @cached_property
    def group_count(self) -> Ints:
        """Number of groups in which each target's tuple occurs."""
        return self._start[self.target + 1] - self._start[self.target]

    def all_entries(self, targets: Ints) -> tuple[Ints, Ints]:
        """Return all pairs of a target, by its position in `targets`, and an entry of its tuple."""
        entries = arrays.ranges(self._start[self.target[targets]], self.group_count[targets])
        return np.repeat(np.arange(len(targets)), self.group_count[targets]), entries

    def entries(self, targets: Ints, group: Ints) -> Ints:
        """Find the entry of each target's tuple in a group; -1 if it does not occur there."""
        if not len(self._group):
            return np.full(len(targets), -1, dtype=np.int64)
        tuples = self.target[targets]
        entry_keys = tuples * self.groups + group
        position = np.searchsorted(self._keys, entry_keys)
        position[position == len(self._keys)] = 0
        return np.where(self._keys[position] == entry_keys, position, -1)

    def group(self, entries: Ints) -> Ints:
        """Return the group of each entry."""
        return self._group[entries]

    def count(self, entries: Ints) -> Ints:
        """Return the number of records of each entry; 0 for an entry of -1."""
        return np.where(entries < 0, 0, self._count[entries])

    @cached_property
    def _keys(self) -> Ints:
        return (
            np.repeat(np.arange(len(self._start) - 1), np.diff(self._start)) * self.groups
            + self._group
        )


@dataclass(frozen=True, eq=False)
class PossibleGroups:
    """Possible groups of some of the targets, with their probabilities."""

    targets: Ints = field(repr=False)
    """Positions of these targets among all."""
    person: Ints = field(repr=False)
    """For each pair of a target and a group, the target's position in `targets`."""
    group: Ints = field(repr=False)
    weight: Floats = field(repr=False)
    """Probability that the target is in the group.

    The weights of a target that matches any group add up to 1.
    """

    def mean(self, per_pair: Floats) -> Floats:
        """Compute the expectation of each target; 0 for targets that match no group."""
        return arrays.sum_by_id(self.person, self.weight * per_pair, len(self.targets))


def whereabouts(occurrences: Sequence[Occurrences], sizes: Ints) -> Iterator[PossibleGroups]:
    """Yield the possible groups of all targets, in portions.

    A group is possible if the target's known values occur in it in each table.
    """
    if not occurrences:
        raise BadInput(
            "nothing of what is known of the targets is in the release",
            hint="Name columns that it has",
        )
    holding = np.stack([table_occurrences.group_count for table_occurrences in occurrences])
    rarest_table = holding.argmin(axis=0)
    fewest_groups = holding.min(axis=0)
    for table_index in range(len(occurrences)):
        targets = np.flatnonzero(rarest_table == table_index)
        for portion in _portions(targets, fewest_groups[targets]):
            yield _weighted_groups(occurrences, table_index, portion, sizes)


def _portions(targets: Ints, pairs: Ints) -> Iterator[Ints]:
    if len(targets):
        portion = (np.cumsum(pairs) - pairs) // PAIRS
        yield from np.split(targets, np.flatnonzero(np.diff(portion)) + 1)


def _weighted_groups(
    occurrences: Sequence[Occurrences], rarest_table: int, targets: Ints, sizes: Ints
) -> PossibleGroups:
    person, entries = occurrences[rarest_table].all_entries(targets)
    group = occurrences[rarest_table].group(entries)
    weight = occurrences[rarest_table].count(entries).astype(np.float64)
    for table_index, occurrences_of_table in enumerate(occurrences):
        if table_index != rarest_table:
            weight *= (
                occurrences_of_table.count(occurrences_of_table.entries(targets[person], group))
                / sizes[group]
            )
    total = arrays.sum_by_id(person, weight, len(targets))
    is_possible = weight > 0
    person, group, weight = person[is_possible], group[is_possible], weight[is_possible]
    return PossibleGroups(targets, person, group, weight / total[person])


@dataclass(frozen=True, eq=False)
class GroupPosterior:
    """GroupPosterior of the sought values of each target."""

    expected: Floats = field(repr=False)
    """By an adversary who weights all possible groups of the target."""
    highest: Floats = field(repr=False)
    """By an adversary who also knows the target's group; of the possible groups, the worst one."""
    matching_targets: int
    """Number of targets that match some group."""


def posterior_of(
    occurrences: Sequence[Occurrences], sought: Sequence[Occurrences], sizes: Ints
) -> GroupPosterior:
    """Compute the joint posterior of the sought values of each target."""
    expected = np.zeros(len(occurrences[0].target) if occurrences else 0)
    highest = np.zeros(len(expected))
    matching_targets = 0
    for portion in whereabouts(occurrences, sizes):
        targets = portion.targets[portion.person]
        shares = [
            sought_occurrences.count(sought_occurrences.entries(targets, portion.group))
            / sizes[portion.group]
            for sought_occurrences in sought
        ]
        share = np.multiply.reduce(shares)
        expected[portion.targets] = portion.mean(share)
        np.maximum.at(highest, targets, share)
        matching_targets += len(np.unique(portion.person))
    return GroupPosterior(expected, highest, matching_targets)


def missing_probability(counts: Sequence[Ints], sizes: Ints) -> Floats:
    """Compute the probability that no row of a random join of a group has all sought tuples.

    Each table of a group of n rows has the sought tuple in `counts` of them, and the join deals the
    rows of each table out at random. The number of joined rows that have the tuples of the first
    tables is a Markov chain: after m such rows, the next table with d of n adds Hypergeometric(n,
    d, m) of them.

    >>> n, d = np.array([4]), np.array([1])
    >>> missing_probability([d, d], n), missing_probability([2 * d, 2 * d, d], n).round(4)
    (array([0.75]), array([0.75]))
    """
    first, *others = np.sort(np.stack(counts), axis=0)
    highest_count = int(first.max(initial=0))
    log_factorial = np.concatenate(
        [[0.0], np.cumsum(np.log(np.arange(1, int(sizes.max(initial=1)) + 1)))]
    )
    state = np.zeros((highest_count + 1, len(sizes)))
    state[first, np.arange(len(sizes))] = 1.0
    for table_index, count in enumerate(others):
        is_last = table_index == len(others) - 1
        next_state = np.zeros_like(state)
        for before in range(highest_count + 1):
            for after in range(1 if is_last else before + 1):
                next_state[after] += state[before] * _hypergeometric(
                    after, sizes, count, before, log_factorial
                )
        state = next_state
    missing: Floats = state[0]
    return missing


def _hypergeometric(
    marked_drawn: int, size: Ints, marked: Ints, drawn: int, log_factorial: Floats
) -> Floats:
    """Probability that `drawn` of `size` rows, `marked` of which are marked, hold that many."""
    unmarked_drawn = drawn - marked_drawn
    is_possible = (marked_drawn <= marked) & (unmarked_drawn <= size - marked) & (drawn <= size)

    def log_choose(total: Ints, chosen: int) -> Floats:
        rest = np.maximum(total - chosen, 0)
        value: Floats = log_factorial[total] - log_factorial[chosen] - log_factorial[rest]
        return value

    log_probability = (
        log_choose(marked, marked_drawn)
        + log_choose(size - marked, unmarked_drawn)
        - log_choose(size, drawn)
    )
    return np.where(is_possible, np.exp(log_probability), 0.0)


# --- a release as it can be read, and targets by their values -------------------------------------
@dataclass(frozen=True, eq=False)
class TargetsInGroups:
    """Anatomized release, and people whose values have its codes.

    The code of a value that the release does not have is the number of values of the column.
    """

    tables: anatomization.CodedTables
    sensitive: tuple[str, ...]
    known_codes: Mapping[str, Ints] = field(repr=False)
    truth: Mapping[str, Ints] = field(repr=False)

    @classmethod
    def of(
        cls, tables: anatomization.CodedTables, sensitive: Sequence[str], people: People
    ) -> TargetsInGroups:
        """Encode the values of people; columns that the release does not have are ignored."""
        known_codes, truth = (
            {
                name: _codes(tables.domain(name), values_of_people.column(name))
                for name in tables.table_by_column
                if name in values_of_people.column_names
            }
            for values_of_people in (people.known_values, people.truth)
        )
        return cls(tables, tuple(sensitive), known_codes, truth)

    def __len__(self) -> int:
        return len(next(iter((self.known_codes or self.truth).values())))

    @property
    def divided(self) -> tuple[tuple[str, ...], ...]:
        """Columns of each table of quasi-identifiers."""
        column_names = (table.rows.names for table in self.tables.tables)
        return tuple(names for names in column_names if names[0] not in self.sensitive)

    def knowing(self, names: Sequence[str]) -> list[Occurrences]:
        """Count the known tuples of the targets in each table that has some of these columns."""
        parts = [
            [name for name in table.rows.names if name in names] for table in self.tables.tables
        ]
        return [self.occurrences(part, self.known_codes) for part in parts if part]

    def posterior(self, names: Sequence[str], sought: Sequence[Sequence[str]]) -> GroupPosterior:
        """Compute the posterior of each target's true values in the sought tables.

        The adversary knows the columns `names`.
        """
        return posterior_of(
            self.knowing(names),
            [self.occurrences(table, self.truth) for table in sought],
            self.tables.sizes,
        )

    def reconstructed(self) -> Floats:
        """Probability that each target's record occurs if each group is joined at random."""
        occurrences = [
            self.occurrences(table.rows.names, self.truth) for table in self.tables.tables
        ]
        log_missing = np.zeros(len(self))
        for portion in whereabouts(occurrences, self.tables.sizes):
            targets = portion.targets[portion.person]
            counts = [
                table_occurrences.count(table_occurrences.entries(targets, portion.group))
                for table_occurrences in occurrences
            ]
            missing = missing_probability(counts, self.tables.sizes[portion.group])
            with np.errstate(divide="ignore"):
                np.add.at(log_missing, targets, np.log(missing))
        return 1 - np.exp(log_missing)

    def unique_tuples(self, names: Sequence[str]) -> Bools:
        """Mark the targets with a known tuple that occurs once in the release.

        What is known of the target must be true.
        """
        is_unique = np.zeros(len(self), dtype=np.bool_)
        for table in self.tables.tables:
            columns = [name for name in table.rows.names if name in names]
            if not columns:
                continue
            is_true = np.logical_and.reduce(
                [self.known_codes[name] == self.truth[name] for name in columns]
            )
            is_unique |= is_true & (self.occurrences(columns, self.truth).records == 1)
        return is_unique

    def occurrences(self, names: Sequence[str], codes: Mapping[str, Ints]) -> Occurrences:
        """Count the tuples of columns of one table, for targets with these codes."""
        table = self.tables.table_by_column[names[0]]
        groups = len(self.tables.sizes)
        radices = [len(self.tables.domain(name)) + 1 for name in names]
        rows = len(table.group)
        combined = [
            np.concatenate([table.rows.column(name).astype(np.int64), codes[name]])
            for name in names
        ]
        ids, _ = arrays.class_ids(combined, radices, rows=len(combined[0]))
        return Occurrences.of(ids[:rows], table.group, ids[rows:], groups=groups, times=table.times)


def _codes(domain: Domain, column: pa.ChunkedArray) -> Ints:
    """Encode a column of people in the codes of a domain.

    Values are compared as texts, because a number in one file may be a text in another.
    """
    code_of_text = {text: code for code, text in enumerate(domain.texts)}
    encoded = encode(column, name=domain.name, kind=domain.kind, is_sorted=False)
    codes = [code_of_text.get(text, len(code_of_text)) for text in encoded.domain.texts]
    value_codes: Ints = np.array(codes, dtype=np.int64)[encoded.codes]
    return value_codes


# --- the four attacks -----------------------------------------------------------------------------
_ENCODED_TARGETS: WeakKeyDictionary[
    AttackContext, tuple[TargetsInGroups, TargetsInGroups | None]
] = WeakKeyDictionary()


def targets_of(context: AttackContext) -> tuple[TargetsInGroups, TargetsInGroups | None]:
    """Encode the targets and the control group in the codes of the release, which is read once."""
    if context not in _ENCODED_TARGETS:
        tables = anatomization.CodedTables.read(cast("anatomization.Published", context.published))
        coded = partial(TargetsInGroups.of, tables, context.roles.sensitive)
        _ENCODED_TARGETS[context] = (
            coded(context.targets),
            None if context.controls is None else coded(context.controls),
        )
    return _ENCODED_TARGETS[context]


def no_groups(context: AttackContext) -> str:
    """Return the reason that attacks on groups do not apply; empty if they do."""
    if context.published is None:
        return "the release is not anatomized"
    if context.knows:
        return context.too_many_rows
    return "nothing is known of the targets that is in the release"


def _no_linkable_tables(context: AttackContext) -> str:
    if reason := no_groups(context):
        return reason
    if len(targets_of(context)[0].divided) < 2 and _level(context, "alpha") == 1:
        return "all quasi-identifiers are in one table: nothing has to be put together"
    if _linkable_tables(context):
        return ""
    return "what is known of the targets, or is true of them, leaves no table to put together"


def _linkable_tables(context: AttackContext) -> list[tuple[str, ...]]:
    """Tables of quasi-identifiers that can be linked to known columns of other tables.

    A single table needs no link.
    """
    people, _ = targets_of(context)
    is_single = len(people.divided) == 1
    return [
        table
        for table in people.divided
        if (is_single or set(context.knows) - set(table))
        and all(name in people.truth for name in table)
    ]


def _level(context: AttackContext, name: str) -> Fraction:
    """Guaranteed bound of the release on a level of its groups; 1 if it guarantees none."""
    return Fraction(context.levels.get(name, "1"))


def _record_linkage(context: AttackContext) -> Iterator[Attempt]:
    people, controls = targets_of(context)
    if len(people.divided) == 1:
        (table,) = people.divided
        yield Attempt(
            name="record-linkage",
            aim="linkability",
            about=", ".join(table),
            knows=context.knows,
            targets=len(people),
            guesses=len(people),
            successes=float(len(people)),
            control=None if controls is None else Rate(float(len(controls)), len(controls)),
            bound=_level_bound(context, "alpha"),
            highest=1.0,
            exceeding=len(people),
            told="All quasi-identifiers are in one table, so nothing has to be put together.",
        )
        return
    description = (
        "She knows what stands in the other tables, and draws the tuple of this one from the "
        "groups that a target may be in."
    )
    for table in _linkable_tables(context):
        others = tuple(name for name in context.knows if name not in table)
        yield _draw_attempt(
            context,
            "record-linkage",
            "linkability",
            others,
            [table],
            level="alpha",
            description=description,
        )


def _attribute_linkage(context: AttackContext) -> Iterator[Attempt]:
    description = (
        "She draws the value from the groups that a target may be in, each value by its share "
        "there."
    )
    for about in context.guessed:
        yield _draw_attempt(
            context,
            "attribute-linkage",
            "inference",
            context.knows,
            [(about,)],
            level="beta",
            description=description,
        )


def _table_linkage(context: AttackContext) -> Iterator[Attempt]:
    description = (
        "She draws one row from each table of a group that a target may be in, and looks whether "
        "it is the target's record."
    )
    table_columns = [table.rows.names for table in targets_of(context)[0].tables.tables]
    yield _draw_attempt(
        context,
        "table-linkage",
        "membership",
        context.knows,
        table_columns,
        level="gamma",
        description=description,
    )


def _probabilistic(context: AttackContext) -> Iterator[Attempt]:
    description = (
        "The same draw as in attribute-linkage, held against the belief before the groups were "
        "seen, which delta lets grow so far."
    )
    for about in context.guessed:
        yield _draw_attempt(
            context,
            "probabilistic",
            "inference",
            context.knows,
            [(about,)],
            level="delta",
            description=description,
        )


def _draw_attempt(
    context: AttackContext,
    name: str,
    aim: Aim,
    knows: Sequence[str],
    sought: Sequence[Sequence[str]],
    *,
    level: str,
    description: str,
) -> Attempt:
    """Run an attack that draws the sought values from the posterior.

    If they are in one table, the baselines are a random tuple and a random record of that table.
    """
    people, controls = targets_of(context)
    posterior = people.posterior(knows, sought)
    control = None
    if controls is not None:
        control = Rate(float(controls.posterior(knows, sought).expected.sum()), len(controls))
    prior_shares = np.zeros(len(people))
    random = None
    if len(sought) == 1:
        true_occurrences = people.occurrences(sought[0], people.truth)
        prior_shares = true_occurrences.share
        random = 1 / true_occurrences.distinct
    gain = posterior.highest - prior_shares
    bound = _level_bound(context, level, float(prior_shares.mean()) if level == "delta" else 0.0)
    excess = (gain if level == "delta" else posterior.highest) - float(_level(context, level))
    return Attempt(
        name=name,
        aim=aim,
        about=", ".join(sought[0]) if len(sought) == 1 else None,
        knows=tuple(knows),
        targets=len(people),
        guesses=posterior.matching_targets,
        successes=float(posterior.expected.sum()),
        random=random,
        prior=float(prior_shares.mean()) if len(sought) == 1 else None,
        control=control,
        bound=bound,
        highest=float(posterior.highest.max(initial=0.0)),
        highest_gain=float(gain.max(initial=0.0)) if len(sought) == 1 else None,
        exceeding=None if bound is None else int((excess > TOLERANCE).sum()),
        told=description,
    )


def _level_bound(context: AttackContext, level: str, prior_share: float = 0.0) -> Bound | None:
    """Guaranteed bound on the rate of an attack; None if the release guarantees none."""
    bound = _level(context, level)
    if bound == 1:
        return None
    suffix = " added to the prior" if level == "delta" else ""
    return Bound(min(float(bound) + prior_share, 1.0), f"{level} <= {bound}{suffix}")


def _reconstruction(context: AttackContext) -> Iterator[Attempt]:
    people, controls = targets_of(context)
    chances = people.reconstructed()
    control = None
    if controls is not None:
        control = Rate(float(controls.reconstructed().sum()), len(controls))
    yield Attempt(
        name="reconstruction",
        aim="membership",
        about=None,
        knows=tuple(people.tables.table_by_column),
        targets=len(people),
        guesses=len(people),
        successes=float(chances.sum()),
        control=control,
        told="She joins the rows of each group at random, and looks whether the target's record "
        "is among the joined rows. Each group has as many chances as records; gamma bounds one.",
    )


def _absence(context: AttackContext) -> Iterator[Attempt]:
    people, controls = targets_of(context)
    is_unique = people.unique_tuples(context.knows)
    control = None
    if controls is not None:
        control = Rate(float(controls.unique_tuples(context.knows).sum()), len(controls))
    yield Attempt(
        name="absence",
        aim="membership",
        about=None,
        knows=context.knows,
        targets=len(people),
        guesses=int(is_unique.sum()),
        successes=float(is_unique.sum()),
        control=control,
        told="She looks for a tuple of the target that occurs once in the release: without the "
        "target it would be missing, so their absence would show.",
    )


def _no_whole_records(context: AttackContext) -> str:
    if reason := no_groups(context):
        return reason
    people, controls = targets_of(context)
    for side, name in ((people, "truth"), (controls, "control")):
        if side is None:
            continue
        missing_columns = [
            column for column in side.tables.table_by_column if column not in side.truth
        ]
        if missing_columns:
            return (
                f"the {name} has no column {missing_columns[0]!r}, "
                "so that nobody's whole record is known"
            )
    return ""


GROUP_ATTACKERS = (
    Attacker(
        "record-linkage",
        "linkability",
        "puts the quasi-identifiers of a person together from the tables of an anatomized release",
        "Yao et al. 2021, sections 3 and 5.2",
        _record_linkage,
        _no_linkable_tables,
    ),
    Attacker(
        "attribute-linkage",
        "inference",
        "draws the value from the groups of an anatomized release that the person may be in",
        "Yao et al. 2021, sections 3 and 5.2",
        _attribute_linkage,
        no_groups,
    ),
    Attacker(
        "table-linkage",
        "membership",
        "draws a record from the groups of an anatomized release and looks whose it is",
        "Yao et al. 2021, sections 3 and 5.2",
        _table_linkage,
        _no_whole_records,
    ),
    Attacker(
        "probabilistic",
        "inference",
        "holds her belief in the true value against what it was before an anatomized release",
        "Yao et al. 2021, section 3, attack 4",
        _probabilistic,
        no_groups,
    ),
    Attacker(
        "reconstruction",
        "membership",
        "joins the tables of an anatomized release at random and looks for the person's record",
        "Yao et al. 2021, section 3, attack 3",
        _reconstruction,
        _no_whole_records,
    ),
    Attacker(
        "absence",
        "membership",
        "finds people whose absence from an anatomized release would show",
        "Yao et al. 2021, section 3, attack 3",
        _absence,
        no_groups,
    ),
)
