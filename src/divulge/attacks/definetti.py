# SPDX-License-Identifier: Apache-2.0
"""The deFinetti attack on an anatomized release (Kifer 2009): learn from the whole release which values go together, then guess.

A group tells which sensitive values its records have, and not who has which. Beta promises that nobody believes in a value with more than
its share in the group: true of somebody to whom all ways of dealing out a group's values are alike. But where smokers turn up in groups
that hold lung cancer more often than others do, the release itself teaches that smokers have it, and a group is no longer dealt out
blindly. No promise of anatomization bounds this. How much of it she would learn about people who are not in the release a control group
tells.

She learns a naive Bayes model, p(value of a column | sensitive value), in rounds: each round deals the sensitive values of a group to its
rows by the model so far (blindly at first), so that each row gets one value and each value as many rows as it has records, and then counts
anew. Dealing is by alternate scaling of the group's matrix of likelihoods (Sinkhorn), which stands in for going through all permutations.
Each table of quasi-identifiers is dealt by itself, for the release does not say which of their rows belong together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise

import numpy as np

from divulge import anatomy, arrays, values
from divulge.arrays import Floats, Ints
from divulge.attacks.attempt import AtRisk, Attacker, Attempt, Rate
from divulge.attacks.groups import Occurrences, TargetsInGroups, Whereabouts, no_groups, targets_of, whereabouts
from divulge.attacks.stage import Stage

ROUNDS = 3
"""On Adult the first round gives nearly everything, the third the last point; after it the model runs after its own mistakes."""
SCALINGS = 5
SMOOTHING = 1.0
"""As many records as this are thought to have been seen of each sensitive value, spread evenly over the values of a column."""
_CELLS = 1_000_000
"""So many beliefs are held at a time."""


@dataclass(frozen=True, eq=False)
class _Values:
    """The sensitive values of each group."""

    value: Ints = field(repr=False)
    count: Floats = field(repr=False)
    slots: arrays.Members = field(repr=False)
    distinct: int

    @classmethod
    def of(cls, tables: anatomy.CodedTables, about: str) -> _Values:
        groups = len(tables.sizes)
        found = tables.place[about].by_group(about, groups)
        slots = arrays.lay_out(found.group, groups)
        return cls(found.value, found.count.astype(np.float64), slots, len(tables.domain(about)))


@dataclass(frozen=True, eq=False)
class Dealt:
    """The sensitive values of some groups, dealt out to the rows of one table: one cell for each row and each value of its group."""

    rows: Ints = field(repr=False)
    row: Ints = field(repr=False)
    """For each cell the place of its row in `rows`."""
    slot: Ints = field(repr=False)
    """The group's value: a place in the tally of sensitive values by group."""
    belief: Floats = field(repr=False)
    """Of one record of the row; the cells of a row add up to 1."""

    @property
    def within(self) -> Ints:
        """For each cell its place among those of its row."""
        return np.arange(len(self.row)) - arrays.run_starts(self.row)[self.row]


Shares = list[Floats]
"""What was learnt: for each column p(value of the column | sensitive value), as logarithms."""


def deal(
    table: anatomy.CodedTable, held: _Values, sizes: Ints, take: Callable[[Dealt], None], *, rounds: int = ROUNDS
) -> Shares:
    """Deal the sensitive values to the rows of a table, by what their columns turn out to say; `take` gets what the last round deals."""
    shares: Shares | None = None
    for turn in range(rounds + 1):
        counted = [np.zeros(len(domain) * held.distinct) for domain in table.rows.domains]
        for rows in _portions(table, held):
            dealt = _dealt(table, held, sizes, rows, shares)
            records = dealt.belief * table.records[rows][dealt.row]
            for place, codes in enumerate(table.rows.codes):
                key = codes[rows].astype(np.int64)[dealt.row] * held.distinct + held.value[dealt.slot]
                counted[place] += np.bincount(key, records, minlength=len(counted[place]))
            if turn == rounds:
                take(dealt)
        shares = [_logarithms(column.reshape(-1, held.distinct)) for column in counted]
    return shares or []


def _portions(table: anatomy.CodedTable, held: _Values) -> Iterator[Ints]:
    """Rows of whole groups."""
    order = arrays.stable_order(table.group, len(held.slots))
    group = table.group[order]
    cells = np.cumsum(held.slots.sizes[group])
    starts = arrays.run_starts(group)
    portion = (cells[starts] - held.slots.sizes[group[starts]]) // _CELLS
    yield from np.split(order, starts[np.flatnonzero(np.diff(portion)) + 1])


def _dealt(table: anatomy.CodedTable, held: _Values, sizes: Ints, rows: Ints, shares: Shares | None) -> Dealt:
    group = table.group[rows].astype(np.int64)
    slot, row = held.slots.gather(group)
    if shares is None:
        return Dealt(rows, row, slot, held.count[slot] / sizes[group[row]])
    logarithm, value = np.zeros(len(row)), held.value[slot]
    for column, codes in zip(shares, table.rows.codes, strict=True):
        logarithm += column[codes[rows][row], value]
    best = np.maximum.reduceat(logarithm, arrays.run_starts(row))
    first = int(slot.min())
    weight, times = np.exp(logarithm - best[row]) * held.count[slot], table.records[rows].astype(np.float64)
    belief = _scaled(weight, row, slot - first, times, held.count[first : int(slot.max()) + 1])
    return Dealt(rows, row, slot, belief)


def _logarithms(counted: Floats) -> Floats:
    shares: Floats = np.log((counted + SMOOTHING / len(counted)) / (counted.sum(axis=0) + SMOOTHING))
    return shares


def _scaled(weight: Floats, row: Ints, slot: Ints, times: Floats, count: Floats) -> Floats:
    """Each value goes to as many records as have it, each record has one value; the last holds exactly, the first nearly."""
    belief = weight / arrays.sum_by_id(row, weight, len(times))[row]
    for _ in range(SCALINGS):
        dealt = arrays.sum_by_id(slot, belief * times[row], len(count))
        belief *= (count / np.maximum(dealt, np.finfo(np.float64).tiny))[slot]
        belief /= arrays.sum_by_id(row, belief, len(times))[row]
    return belief


# --- guessing ---------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class LearntGuesses:
    """What she guesses of each target, or draws by lot among values that she believes in alike."""

    success: Floats = field(repr=False)
    """The chance that the guess is right: 0 or 1 but for ties."""
    belief: Floats = field(repr=False)
    """Her belief in her guess."""
    value: Ints = field(repr=False)
    """The first of the values that she believes in most."""
    groups: Ints = field(repr=False)
    """In how many groups the target may be."""


def guess(people: TargetsInGroups, knows: Sequence[str], about: str, *, rounds: int = ROUNDS) -> LearntGuesses:
    """Learn from the release, and guess the sensitive value of each target of whom these columns are known."""
    targets, learnt = len(people), _learn(people, knows, about, rounds)
    made = LearntGuesses(np.zeros(targets), np.zeros(targets), np.full(targets, -1), np.zeros(targets, dtype=np.int64))
    for where in whereabouts(learnt.known, people.tables.sizes):
        made.groups[where.targets] = np.bincount(where.person, minlength=len(where.targets))
        learnt.venture(where, people.tables.sizes, made)
    learnt.by_model_alone(people, made)
    return made


@dataclass(frozen=True, eq=False)
class _OfTuples:
    """Mean beliefs of the rows that are alike in what is known: for each entry of the occurrences one cell per value of its group."""

    start: Ints = field(repr=False)
    belief: Floats = field(repr=False)

    @classmethod
    def empty(cls, found: Occurrences, held: _Values) -> _OfTuples:
        """Without beliefs yet."""
        lengths = held.slots.sizes[found.group(np.arange(found.entries_in_all))]
        start = np.concatenate([[0], np.cumsum(lengths)])
        return cls(start, np.zeros(int(start[-1])))

    def add(self, found: Occurrences, times: Ints, dealt: Dealt) -> None:
        """Rows with the same tuple in a group count by their records."""
        entry = found.entry_of_row[dealt.rows]
        share = times[dealt.rows] / found.count(entry)
        cell = self.start[entry[dealt.row]] + dealt.within
        np.add.at(self.belief, cell, dealt.belief * share[dealt.row])


@dataclass(frozen=True, eq=False)
class _Learnt:
    """What she learnt that bears on what she knows of the targets."""

    held: _Values
    truth: Ints
    """The true value of each target, for scoring alone."""
    known: list[Occurrences]
    tuples: list[_OfTuples]
    shares: Mapping[str, Floats]

    def venture(self, where: Whereabouts, sizes: Ints, made: LearntGuesses) -> None:
        """Guess for some targets: within each group that they may be in, the tables speak independently given the value."""
        held, people = self.held, max(_CELLS // self.held.distinct, 1)
        bounds = np.searchsorted(where.person, np.arange(0, len(where.targets) + people, people))
        for first, (begin, end) in enumerate(pairwise(bounds.tolist())):
            person, group = where.person[begin:end], where.group[begin:end]
            slot, pair = held.slots.gather(group)
            within = np.arange(len(slot)) - arrays.run_starts(pair)[pair]
            share = held.count[slot] / sizes[group[pair]]
            belief = share.copy()
            for found, mean in zip(self.known, self.tuples, strict=True):
                entry = found.entries(where.targets[person], group)
                belief *= mean.belief[mean.start[entry[pair]] + within] / share
            total = arrays.sum_by_id(pair, belief, len(group))
            # Where no value is left that all tables leave possible, the shares of the group are.
            belief = np.where(total[pair] > 0, belief / np.where(total > 0, total, 1.0)[pair], share)
            some = where.targets[first * people : (first + 1) * people]
            cell = (person[pair] - first * people) * held.distinct + held.value[slot]
            weighed = arrays.sum_by_id(cell, belief * where.weight[begin:end][pair], len(some) * held.distinct)
            self._settle(weighed.reshape(len(some), held.distinct), some, made)

    def by_model_alone(self, people: TargetsInGroups, made: LearntGuesses) -> None:
        """Who fits nowhere is not in the release, or is known wrongly: of them too the model says something."""
        total = arrays.sum_by_id(self.held.value, self.held.count, self.held.distinct)
        absent = np.flatnonzero(made.belief == 0)
        for some in np.array_split(absent, len(absent) * self.held.distinct // _CELLS + 1):
            logarithm = np.tile(np.log(total / total.sum()), (len(some), 1))
            for name, column in self.shares.items():
                codes = people.known[name][some]
                seen = codes < len(column)
                logarithm[seen] += column[codes[seen]]
            belief = np.exp(logarithm - logarithm.max(axis=1, keepdims=True, initial=-np.inf))
            self._settle(belief / belief.sum(axis=1, keepdims=True), some, made)

    def _settle(self, belief: Floats, targets: Ints, made: LearntGuesses) -> None:
        """The likeliest value, or one of several by lot."""
        highest = belief.max(axis=1, keepdims=True)
        tied = (belief >= highest * (1 - 1e-9)) & (highest > 0)
        own = self.truth[targets]
        among = np.flatnonzero((highest[:, 0] > 0) & (own < belief.shape[1]))
        right = np.zeros(len(targets))
        right[among] = tied[among, own[among]] / tied[among].sum(axis=1)
        made.success[targets], made.belief[targets] = right, highest[:, 0]
        made.value[targets] = np.where(highest[:, 0] > 0, tied.argmax(axis=1), -1)


def _learn(people: TargetsInGroups, knows: Sequence[str], about: str, rounds: int) -> _Learnt:
    held = _Values.of(people.tables, about)
    found = _Learnt(held, people.truth[about], [], [], {})
    shares: dict[str, Floats] = {}
    for table in people.tables.tables:
        part = [name for name in table.rows.names if name in knows]
        if part and about not in table.rows.names:
            known = people.occurrences(part, people.known)
            tuples = _OfTuples.empty(known, held)
            learnt = deal(table, held, people.tables.sizes, partial(tuples.add, known, table.records), rounds=rounds)
            found.known.append(known)
            found.tuples.append(tuples)
            shares |= dict(zip(table.rows.names, learnt, strict=True))
    return replace(found, shares={name: column for name, column in shares.items() if name in knows})


# --- the attack on a stage --------------------------------------------------------------------------------------------
_TOLD = (
    "She learns from all groups which values go together, and guesses the likeliest value of the groups that a target may be in; of who "
    "fits none, the likeliest by what she learnt. Beta bounds what somebody believes to whom all ways of dealing out a group's values are "
    "alike; it does not bound this."
)
_SHOWN = 5


def _definetti(stage: Stage) -> Iterator[Attempt]:
    people, controls = targets_of(stage)
    for about in stage.guessed:
        made, truth = guess(people, stage.knows, about), people.truth[about]
        total = np.bincount(people.tables.place[about].rows.column(about), people.tables.place[about].times)
        control = None
        if controls is not None:
            control = Rate(float(guess(controls, stage.knows, about).success.sum()), len(controls))
        yield Attempt(
            name="definetti",
            aim="inference",
            about=about,
            knows=stage.knows,
            targets=len(people),
            guesses=len(people),
            successes=float(made.success.sum()),
            random=1 / len(total),
            prior=float((truth == total.argmax()).mean()),
            control=control,
            most_at_risk=tuple(_surest(stage, made, people.tables.domain(about).labels)),
            told=_TOLD,
        )


def _surest(stage: Stage, made: LearntGuesses, labels: Sequence[object]) -> Iterator[AtRisk]:
    """The targets of whom she is surest."""
    order = np.lexsort((np.arange(len(made.belief)), -made.belief))[:_SHOWN]
    for person in order.tolist():
        known = {name: stage.targets.known.column(name)[person].as_py() for name in stage.knows}
        told = values.as_text(labels[int(made.value[person])])
        yield AtRisk(
            known, 1, float(made.groups[person]), told, float(made.belief[person]), float(made.success[person])
        )


DEFINETTI = Attacker(
    "definetti",
    "inference",
    "learns from a whole anatomized release which values go together, and guesses by that",
    "Kifer 2009",
    _definetti,
    no_groups,
)
