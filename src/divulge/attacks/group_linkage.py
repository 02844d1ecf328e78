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
from divulge.arrays import Codes, Floats, Ints
from divulge.attacks.context import AttackContext, People
from divulge.attacks.result import Aim, Attacker, Attempt, Bound, Rate
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
    def share(self) -> Floats:
        """Share of all records that have the tuple of each target."""
        tuples = arrays.sum_by_id(self._keys // self.groups, self._count, len(self._start) - 1)
        share: Floats = tuples[self.target] / tuples.sum()
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


def belief_in(
    occurrences: Sequence[Occurrences], sought: Sequence[Occurrences], sizes: Ints
) -> tuple[Floats, int]:
    """Compute the joint posterior of the sought values of each target.

    Also returns the number of targets that match some group.
    """
    belief = np.zeros(len(occurrences[0].target) if occurrences else 0)
    matching_targets = 0
    for portion in whereabouts(occurrences, sizes):
        targets = portion.targets[portion.person]
        shares = [
            sought_occurrences.count(sought_occurrences.entries(targets, portion.group))
            / sizes[portion.group]
            for sought_occurrences in sought
        ]
        belief[portion.targets] = portion.mean(np.multiply.reduce(shares))
        matching_targets += len(np.unique(portion.person))
    return belief, matching_targets


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

    def believed(self, names: Sequence[str], sought: Sequence[Sequence[str]]) -> tuple[Floats, int]:
        """Compute the posterior of each target's true values in the sought tables.

        The adversary knows the columns `names`. Also returns the number of targets that match some
        group.
        """
        return belief_in(
            self.knowing(names),
            [self.occurrences(table, self.truth) for table in sought],
            self.tables.sizes,
        )

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
    if len(targets_of(context)[0].divided) < 2:
        return "all quasi-identifiers are in one table: nothing has to be put together"
    if _linkable_tables(context):
        return ""
    return "what is known of the targets, or is true of them, leaves no table to put together"


def _linkable_tables(context: AttackContext) -> list[tuple[str, ...]]:
    """Tables of quasi-identifiers that can be linked to known columns of other tables."""
    people, _ = targets_of(context)
    return [
        table
        for table in people.divided
        if set(context.knows) - set(table) and all(name in people.truth for name in table)
    ]


def _record_linkage(context: AttackContext) -> Iterator[Attempt]:
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
        "it is the target's record. Putting the whole release together gives a record more chances "
        "than this one, and gamma does not bound them."
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
    if len(sought) == 1:
        single = sought[0]
    else:
        single = None
    belief, matching_targets = people.believed(knows, sought)
    control = None
    if controls is not None:
        control = Rate(float(controls.believed(knows, sought)[0].sum()), len(controls))
    if single is None:
        true_occurrences = None
    else:
        true_occurrences = people.occurrences(single, people.truth)
    if true_occurrences is None:
        prior = None
    else:
        prior = float(true_occurrences.share.mean())
    if level == "delta":
        prior_share = prior or 0.0
    else:
        prior_share = 0.0
    level_bound = Fraction(context.levels.get(level, "1"))
    if level == "delta":
        suffix = " added to the prior"
    else:
        suffix = ""
    return Attempt(
        name=name,
        aim=aim,
        about=None if single is None else ", ".join(single),
        knows=tuple(knows),
        targets=len(people),
        guesses=matching_targets,
        successes=float(belief.sum()),
        random=None if true_occurrences is None else 1 / true_occurrences.distinct,
        prior=prior,
        control=control,
        bound=Bound(min(float(level_bound) + prior_share, 1.0), f"{level} <= {level_bound}{suffix}")
        if level_bound < 1
        else None,
        told=description,
    )


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
        lambda context: no_groups(context) or _no_whole_records(context),
    ),
    Attacker(
        "probabilistic",
        "inference",
        "holds her belief in the true value against what it was before an anatomized release",
        "Yao et al. 2021, section 3, attack 4",
        _probabilistic,
        no_groups,
    ),
)


def _no_whole_records(context: AttackContext) -> str:
    people, _ = targets_of(context)
    missing_columns = [name for name in people.tables.table_by_column if name not in people.truth]
    if missing_columns:
        return (
            f"the truth has no column {missing_columns[0]!r}, "
            "so that nobody's whole record is known"
        )
    return ""
