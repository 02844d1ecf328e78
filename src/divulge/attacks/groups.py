# SPDX-License-Identifier: Apache-2.0
"""Where in an anatomized release a person may be, and the attacks of Yao et al. 2021, section 3, by somebody who knows a part of it.

Of a target she knows some columns (section 5.2: quasi-identifiers, all or some, or the sensitive value). It may be in every group that has
these values in each table. In a group of n records, d1, d2, ... of which have them, n (d1/n) (d2/n) ... records are expected to have them
all; the groups are weighed by that number. What she then puts together or infers she draws by her belief, so that her success is her belief
in the truth: a weighed mean of shares of groups, each within its bound. That is what alpha, beta, gamma and delta promise. Whoever learns
from all groups which values go together is not bounded by them: definetti.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, cast
from weakref import WeakKeyDictionary

import numpy as np

from divulge import anatomy, arrays, values
from divulge.arrays import Codes, Floats, Ints
from divulge.attacks.attempt import Aim, Attacker, Attempt, Bound, Rate
from divulge.attacks.stage import People, Stage
from divulge.count import Domain
from divulge.errors import BadInput

if TYPE_CHECKING:
    import pyarrow as pa

PAIRS = 250_000
"""So many pairs of a target and a group it may be in are held at a time."""


@dataclass(frozen=True, eq=False)
class Occurrences:
    """In which groups the tuples of some columns of one table occur, and how often; and the tuple of each target."""

    groups: int
    target: Ints = field(repr=False)
    """The number of each target's tuple."""
    _group: Ints = field(repr=False)
    _count: Ints = field(repr=False)
    _start: Ints = field(repr=False)
    """Tuple t occurs in the groups from place start[t] up to start[t + 1]."""
    entry_of_row: Ints = field(repr=False)
    """For each row of the table, the place of its tuple and group."""

    @classmethod
    def of(cls, tuples: Codes, group: Codes, targets: Codes, *, groups: int, times: Ints | None = None) -> Occurrences:
        """From the tuple and group of each row, and the tuple of each target, in the same numbers."""
        distinct = 1 + max(int(numbers.max(initial=-1)) for numbers in (tuples, targets))
        # A tally sorts by its first column, so tuples take the place of groups.
        found = anatomy.tally(tuples, group, groups=distinct, values=groups, count=times)
        start = np.searchsorted(found.group, np.arange(distinct + 1))
        rows = np.searchsorted(found.group * groups + found.value, tuples.astype(np.int64) * groups + group)
        return cls(groups, targets.astype(np.int64), found.value, found.count, start, rows)

    @property
    def distinct(self) -> int:
        """How many tuples the table has."""
        return int(np.count_nonzero(np.diff(self._start)))

    @property
    def entries_in_all(self) -> int:
        """How many pairs of a tuple and a group there are."""
        return len(self._group)

    @cached_property
    def share(self) -> Floats:
        """The share of all records that have the tuple of each target."""
        tuples = arrays.sum_by_id(self._keys // self.groups, self._count, len(self._start) - 1)
        share: Floats = tuples[self.target] / tuples.sum()
        return share

    @cached_property
    def holding(self) -> Ints:
        """In how many groups each target's tuple occurs."""
        return self._start[self.target + 1] - self._start[self.target]

    def everywhere(self, targets: Ints) -> tuple[Ints, Ints]:
        """Pairs of a target, by its place in `targets`, and an entry of its tuple."""
        entries = arrays.ranges(self._start[self.target[targets]], self.holding[targets])
        return np.repeat(np.arange(len(targets)), self.holding[targets]), entries

    def entries(self, targets: Ints, group: Ints) -> Ints:
        """The entry of each target's tuple in a group; -1 where it does not occur there."""
        if not len(self._group):
            return np.full(len(targets), -1, dtype=np.int64)
        tuples = self.target[targets]
        wanted = tuples * self.groups + group
        place = np.searchsorted(self._keys, wanted)
        place[place == len(self._keys)] = 0
        return np.where(self._keys[place] == wanted, place, -1)

    def group(self, entries: Ints) -> Ints:
        """The group of each entry."""
        return self._group[entries]

    def count(self, entries: Ints) -> Ints:
        """How many records of its group have the tuple; 0 where it does not occur."""
        return np.where(entries < 0, 0, self._count[entries])

    @cached_property
    def _keys(self) -> Ints:
        return np.repeat(np.arange(len(self._start) - 1), np.diff(self._start)) * self.groups + self._group


@dataclass(frozen=True, eq=False)
class Whereabouts:
    """The groups in which some of the targets may be."""

    targets: Ints = field(repr=False)
    """Whom this is about."""
    person: Ints = field(repr=False)
    """For each pair of a target and a group, the target's place in `targets`."""
    group: Ints = field(repr=False)
    weight: Floats = field(repr=False)
    """The belief that the target is in the group; of each target that fits anywhere they add up to 1."""

    def mean(self, per_pair: Floats) -> Floats:
        """The expectation of each target; 0 for who fits nowhere."""
        return arrays.sum_by_id(self.person, self.weight * per_pair, len(self.targets))


def whereabouts(known: Sequence[Occurrences], sizes: Ints) -> Iterator[Whereabouts]:
    """For all targets, some at a time: the groups that hold in each table what is known of them."""
    if not known:
        raise BadInput("nothing of what is known of the targets is in the release", hint="Name columns that it has")
    holding = np.stack([each.holding for each in known])
    rarest, fewest = holding.argmin(axis=0), holding.min(axis=0)
    for place in range(len(known)):
        whom = np.flatnonzero(rarest == place)
        for some in _portions(whom, fewest[whom]):
            yield _weighed(known, place, some, sizes)


def _portions(whom: Ints, pairs: Ints) -> Iterator[Ints]:
    if len(whom):
        portion = (np.cumsum(pairs) - pairs) // PAIRS
        yield from np.split(whom, np.flatnonzero(np.diff(portion)) + 1)


def _weighed(known: Sequence[Occurrences], rarest: int, whom: Ints, sizes: Ints) -> Whereabouts:
    person, entries = known[rarest].everywhere(whom)
    group = known[rarest].group(entries)
    weight = known[rarest].count(entries).astype(np.float64)
    for place, other in enumerate(known):
        if place != rarest:
            weight *= other.count(other.entries(whom[person], group)) / sizes[group]
    total = arrays.sum_by_id(person, weight, len(whom))
    fits = weight > 0
    person, group, weight = person[fits], group[fits], weight[fits]
    return Whereabouts(whom, person, group, weight / total[person])


def belief_in(known: Sequence[Occurrences], sought: Sequence[Occurrences], sizes: Ints) -> tuple[Floats, int]:
    """Her belief in what is sought of each target, all of it at once; and how many targets fit somewhere."""
    belief, fitting = np.zeros(len(known[0].target) if known else 0), 0
    for where in whereabouts(known, sizes):
        whom = where.targets[where.person]
        shares = [each.count(each.entries(whom, where.group)) / sizes[where.group] for each in sought]
        belief[where.targets] = where.mean(np.multiply.reduce(shares))
        fitting += len(np.unique(where.person))
    return belief, fitting


# --- a release as it can be read, and targets by their values ---------------------------------------------------------
@dataclass(frozen=True, eq=False)
class TargetsInGroups:
    """An anatomized release, and people whose values were written in its numbers: the code of a value, or how many the column has."""

    tables: anatomy.CodedTables
    sensitive: tuple[str, ...]
    known: Mapping[str, Ints] = field(repr=False)
    truth: Mapping[str, Ints] = field(repr=False)

    @classmethod
    def of(cls, tables: anatomy.CodedTables, sensitive: Sequence[str], people: People) -> TargetsInGroups:
        """People by their values; columns that the release lacks are left out."""
        known, truth = (
            {name: _codes(tables.domain(name), side.column(name)) for name in tables.place if name in side.column_names}
            for side in (people.known, people.truth)
        )
        return cls(tables, tuple(sensitive), known, truth)

    def __len__(self) -> int:
        return len(next(iter((self.known or self.truth).values())))

    @property
    def divided(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each table of quasi-identifiers."""
        listed = (table.rows.names for table in self.tables.tables)
        return tuple(names for names in listed if names[0] not in self.sensitive)

    def knowing(self, names: Sequence[str]) -> list[Occurrences]:
        """What is known of the targets, table by table."""
        parts = [[name for name in table.rows.names if name in names] for table in self.tables.tables]
        return [self.occurrences(part, self.known) for part in parts if part]

    def believed(self, names: Sequence[str], sought: Sequence[Sequence[str]]) -> tuple[Floats, int]:
        """The belief in what is true of each target in the sought tables, of somebody who knows these columns; and how many fit."""
        return belief_in(
            self.knowing(names), [self.occurrences(table, self.truth) for table in sought], self.tables.sizes
        )

    def occurrences(self, names: Sequence[str], codes: Mapping[str, Ints]) -> Occurrences:
        """Of the tuples of columns of one table, and of targets of whom these values are known or true."""
        table, groups = self.tables.place[names[0]], len(self.tables.sizes)
        radices = [len(self.tables.domain(name)) + 1 for name in names]
        rows = len(table.group)
        both = [np.concatenate([table.rows.column(name).astype(np.int64), codes[name]]) for name in names]
        ids, _ = arrays.class_ids(both, radices, rows=len(both[0]))
        return Occurrences.of(ids[:rows], table.group, ids[rows:], groups=groups, times=table.times)


def _codes(domain: Domain, column: pa.ChunkedArray) -> Ints:
    """Values are compared by their texts: a number in one file may be a text in another."""
    place = {values.as_text(label): number for number, label in enumerate(domain.labels)}
    coded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    numbers = [place.get(values.as_text(label), len(place)) for label in coded.dictionary.to_pylist()]
    found: Ints = np.array(numbers, dtype=np.int64)[coded.indices.to_numpy(zero_copy_only=False)]
    return found


# --- the four attacks -------------------------------------------------------------------------------------------------
_READ: WeakKeyDictionary[Stage, tuple[TargetsInGroups, TargetsInGroups | None]] = WeakKeyDictionary()


def targets_of(stage: Stage) -> tuple[TargetsInGroups, TargetsInGroups | None]:
    """The targets and the control group in the numbers of the release, which is read once."""
    if stage not in _READ:
        tables = anatomy.CodedTables.read(cast("anatomy.Published", stage.published))
        coded = partial(TargetsInGroups.of, tables, stage.roles.sensitive)
        _READ[stage] = coded(stage.targets), None if stage.controls is None else coded(stage.controls)
    return _READ[stage]


def no_groups(stage: Stage) -> str:
    """Why these attacks have nothing to attack; empty where they have."""
    if stage.published is None:
        return "the release is not anatomized"
    return stage.too_many_rows if stage.knows else "nothing is known of the targets that is in the release"


def _nothing_to_put_together(stage: Stage) -> str:
    if lacking := no_groups(stage):
        return lacking
    if len(targets_of(stage)[0].divided) < 2:
        return "all quasi-identifiers are in one table: nothing has to be put together"
    return (
        "" if _linkable(stage) else "what is known of the targets, or is true of them, leaves no table to put together"
    )


def _linkable(stage: Stage) -> list[tuple[str, ...]]:
    """The tables of quasi-identifiers that she can put to what she knows of others."""
    people, _ = targets_of(stage)
    return [
        table
        for table in people.divided
        if set(stage.knows) - set(table) and all(name in people.truth for name in table)
    ]


def _record_linkage(stage: Stage) -> Iterator[Attempt]:
    told = "She knows what stands in the other tables, and draws the tuple of this one from the groups that a target may be in."
    for table in _linkable(stage):
        others = tuple(name for name in stage.knows if name not in table)
        yield _drawn(stage, "record-linkage", "linkability", others, [table], level="alpha", told=told)


def _attribute_linkage(stage: Stage) -> Iterator[Attempt]:
    told = "She draws the value from the groups that a target may be in, each value by its share there."
    for about in stage.guessed:
        yield _drawn(stage, "attribute-linkage", "inference", stage.knows, [(about,)], level="beta", told=told)


def _table_linkage(stage: Stage) -> Iterator[Attempt]:
    told = (
        "She draws one row from each table of a group that a target may be in, and looks whether it is the target's record. "
        "Putting the whole release together gives a record more chances than this one, and gamma does not bound them."
    )
    whole = [table.rows.names for table in targets_of(stage)[0].tables.tables]
    yield _drawn(stage, "table-linkage", "membership", stage.knows, whole, level="gamma", told=told)


def _probabilistic(stage: Stage) -> Iterator[Attempt]:
    told = "The same draw as in attribute-linkage, held against the belief before the groups were seen, which delta lets grow so far."
    for about in stage.guessed:
        yield _drawn(stage, "probabilistic", "inference", stage.knows, [(about,)], level="delta", told=told)


def _drawn(
    stage: Stage, name: str, aim: Aim, knows: Sequence[str], sought: Sequence[Sequence[str]], *, level: str, told: str
) -> Attempt:
    """An attack that draws what it seeks by her belief; of one table, it can be held against a draw from all of it."""
    (people, controls), single = targets_of(stage), sought[0] if len(sought) == 1 else None
    belief, fitting = people.believed(knows, sought)
    control = None
    if controls is not None:
        control = Rate(float(controls.believed(knows, sought)[0].sum()), len(controls))
    before = None if single is None else people.occurrences(single, people.truth)
    prior = None if before is None else float(before.share.mean())
    added = prior or 0.0 if level == "delta" else 0.0
    most = Fraction(stage.levels.get(level, "1"))
    beside = " added to the prior" if level == "delta" else ""
    return Attempt(
        name=name,
        aim=aim,
        about=None if single is None else ", ".join(single),
        knows=tuple(knows),
        targets=len(people),
        guesses=fitting,
        successes=float(belief.sum()),
        random=None if before is None else 1 / before.distinct,
        prior=prior,
        control=control,
        bound=Bound(min(float(most) + added, 1.0), f"{level} <= {most}{beside}") if most < 1 else None,
        told=told,
    )


GROUP_ATTACKERS = (
    Attacker(
        "record-linkage",
        "linkability",
        "puts the quasi-identifiers of a person together from the tables of an anatomized release",
        "Yao et al. 2021, sections 3 and 5.2",
        _record_linkage,
        _nothing_to_put_together,
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
        lambda stage: no_groups(stage) or _incomplete(stage),
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


def _incomplete(stage: Stage) -> str:
    people, _ = targets_of(stage)
    lacking = [name for name in people.tables.place if name not in people.truth]
    return f"the truth has no column {lacking[0]!r}, so that nobody's whole record is known" if lacking else ""
