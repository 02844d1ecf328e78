# SPDX-License-Identifier: Apache-2.0
"""The deFinetti attack on an anatomized release (Kifer 2009).

The adversary learns correlations from the whole release and uses them to guess. A group reveals the
sensitive values of its records, but not which record has which value. Beta bounds the posterior of
a value by its share in the group. That bound assumes that all assignments of a group's values to
its records are equally likely. But suppose that smokers are often in groups that contain lung
cancer. Then the release itself teaches that smokers have it, and the assignments are no longer
equally likely. No guarantee of anatomization bounds this attack. A control group shows how much the
attack learns about people who are not in the release.

The adversary learns a naive Bayes model, p(value of a column | sensitive value), in rounds. Each
round assigns the sensitive values of a group to its rows by the current model (uniformly at first).
Each row gets one value, and each value gets as many rows as it has records. Then the model is
estimated again from the assignment. The assignment is computed by alternate scaling of the group's
matrix of likelihoods (Sinkhorn), which approximates the sum over all permutations. Each table of
quasi-identifiers is assigned independently, because the release does not link their rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise

import numpy as np

from divulge import anatomization, arrays
from divulge.arrays import Floats, Ints
from divulge.attacks.context import AttackContext
from divulge.attacks.group_linkage import (
    Occurrences,
    PossibleGroups,
    TargetsInGroups,
    no_groups,
    targets_of,
    whereabouts,
)
from divulge.attacks.result import AtRisk, Attacker, Attempt, Rate
from divulge.text import as_text

ROUNDS = 3
"""Number of rounds of learning.

On Adult the first round contributes nearly all of the success, the third the last percentage point.
Further rounds reinforce the model's own errors.
"""
SCALINGS = 5
SMOOTHING = 1.0
"""Pseudo-records added for each sensitive value, distributed evenly over the values of a column."""
_CELLS = 1_000_000
"""Maximum number of beliefs in memory at a time."""


@dataclass(frozen=True, eq=False)
class _GroupValues:
    """Sensitive values of each group, with their counts."""

    value: Ints = field(repr=False)
    count: Floats = field(repr=False)
    slots: arrays.Members = field(repr=False)
    distinct: int

    @classmethod
    def of(cls, tables: anatomization.CodedTables, about: str) -> _GroupValues:
        groups = len(tables.sizes)
        value_tally = tables.table_by_column[about].by_group(about, groups)
        slots = arrays.lay_out(value_tally.group, groups)
        return cls(
            value_tally.value,
            value_tally.count.astype(np.float64),
            slots,
            len(tables.domain(about)),
        )


@dataclass(frozen=True, eq=False)
class Assignment:
    """Probabilistic assignment of the sensitive values of some groups to the rows of one table.

    There is one cell for each row and each value of its group.
    """

    rows: Ints = field(repr=False)
    row: Ints = field(repr=False)
    """Position in `rows` of each cell's row."""
    slot: Ints = field(repr=False)
    """Position of each cell's value in the tally of sensitive values by group."""
    belief: Floats = field(repr=False)
    """Probability of the value for one record of the row; the cells of a row add up to 1."""

    @property
    def position_in_row(self) -> Ints:
        """Position of each cell among the cells of its row."""
        return np.arange(len(self.row)) - arrays.run_starts(self.row)[self.row]


Shares = list[Floats]
"""Learned model: for each column log p(value of the column | sensitive value)."""


def assign_values(
    table: anatomization.CodedTable,
    group_values: _GroupValues,
    sizes: Ints,
    take: Callable[[Assignment], None],
    *,
    rounds: int = ROUNDS,
) -> Shares:
    """Assign the sensitive values to the rows of a table by a model learned in rounds.

    `take` receives the assignments of the last round. Returns the model.
    """
    shares: Shares | None = None
    for round_index in range(rounds + 1):
        value_counts = [
            np.zeros(len(domain) * group_values.distinct) for domain in table.rows.domains
        ]
        for rows in _portions(table, group_values):
            assignment = _assign(table, group_values, sizes, rows, shares)
            records = assignment.belief * table.records[rows][assignment.row]
            for column_index, codes in enumerate(table.rows.codes):
                key = (
                    codes[rows].astype(np.int64)[assignment.row] * group_values.distinct
                    + group_values.value[assignment.slot]
                )
                value_counts[column_index] += np.bincount(
                    key, records, minlength=len(value_counts[column_index])
                )
            if round_index == rounds:
                take(assignment)
        shares = [_log_shares(column.reshape(-1, group_values.distinct)) for column in value_counts]
    return shares or []


def _portions(table: anatomization.CodedTable, group_values: _GroupValues) -> Iterator[Ints]:
    """Yield portions of rows that consist of whole groups and fit into memory."""
    order = arrays.stable_order(table.group, len(group_values.slots))
    group = table.group[order]
    cells = np.cumsum(group_values.slots.sizes[group])
    starts = arrays.run_starts(group)
    portion = (cells[starts] - group_values.slots.sizes[group[starts]]) // _CELLS
    yield from np.split(order, starts[np.flatnonzero(np.diff(portion)) + 1])


def _assign(
    table: anatomization.CodedTable,
    group_values: _GroupValues,
    sizes: Ints,
    rows: Ints,
    shares: Shares | None,
) -> Assignment:
    group = table.group[rows].astype(np.int64)
    slot, row = group_values.slots.gather(group)
    if shares is None:
        return Assignment(rows, row, slot, group_values.count[slot] / sizes[group[row]])
    logarithm = np.zeros(len(row))
    value = group_values.value[slot]
    for column, codes in zip(shares, table.rows.codes, strict=True):
        logarithm += column[codes[rows][row], value]
    best = np.maximum.reduceat(logarithm, arrays.run_starts(row))
    first = int(slot.min())
    weight = np.exp(logarithm - best[row]) * group_values.count[slot]
    records = table.records[rows].astype(np.float64)
    belief = _sinkhorn(
        weight, row, slot - first, records, group_values.count[first : int(slot.max()) + 1]
    )
    return Assignment(rows, row, slot, belief)


def _log_shares(value_counts: Floats) -> Floats:
    shares: Floats = np.log(
        (value_counts + SMOOTHING / len(value_counts)) / (value_counts.sum(axis=0) + SMOOTHING)
    )
    return shares


def _sinkhorn(weight: Floats, row: Ints, slot: Ints, records: Floats, count: Floats) -> Floats:
    """Scale weights to probabilities of values by Sinkhorn's iteration.

    The probabilities of each record add up to 1 exactly. Those of each value add up approximately
    to the number of records that have it.
    """
    belief = weight / arrays.sum_by_id(row, weight, len(records))[row]
    for _ in range(SCALINGS):
        value_totals = arrays.sum_by_id(slot, belief * records[row], len(count))
        belief *= (count / np.maximum(value_totals, np.finfo(np.float64).tiny))[slot]
        belief /= arrays.sum_by_id(row, belief, len(records))[row]
    return belief


# --- guessing -------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class ModelGuesses:
    """Guesses of the learned model for each target; ties are broken at random."""

    success: Floats = field(repr=False)
    """Probability that the guess is right: 0 or 1 except for ties."""
    belief: Floats = field(repr=False)
    """Posterior of the guessed value."""
    value: Ints = field(repr=False)
    """First of the likeliest values."""
    groups: Ints = field(repr=False)
    """Number of groups that the target may be in."""


def guess(
    people: TargetsInGroups, knows: Sequence[str], about: str, *, rounds: int = ROUNDS
) -> ModelGuesses:
    """Learn a model from the release, and guess the sensitive value of each target.

    The columns `knows` of the targets are known.
    """
    targets = len(people)
    model = _learn_model(people, knows, about, rounds)
    guesses = ModelGuesses(
        np.zeros(targets),
        np.zeros(targets),
        np.full(targets, -1),
        np.zeros(targets, dtype=np.int64),
    )
    for where in whereabouts(model.occurrences, people.tables.sizes):
        guesses.groups[where.targets] = np.bincount(where.person, minlength=len(where.targets))
        model.guess_targets(where, people.tables.sizes, guesses)
    model.guess_by_model(people, guesses)
    return guesses


@dataclass(frozen=True, eq=False)
class _TupleBeliefs:
    """Mean beliefs of the rows with equal known values.

    Each entry of the occurrences has one cell for each value of its group.
    """

    start: Ints = field(repr=False)
    belief: Floats = field(repr=False)

    @classmethod
    def empty(cls, occurrences: Occurrences, group_values: _GroupValues) -> _TupleBeliefs:
        """Allocate cells with beliefs of 0."""
        lengths = group_values.slots.sizes[occurrences.group(np.arange(occurrences.entry_count))]
        start = np.concatenate([[0], np.cumsum(lengths)])
        return cls(start, np.zeros(int(start[-1])))

    def add(self, occurrences: Occurrences, times: Ints, assignment: Assignment) -> None:
        """Add the beliefs of rows; rows of a group with equal tuples are weighted by records."""
        entry = occurrences.entry_of_row[assignment.rows]
        share = times[assignment.rows] / occurrences.count(entry)
        cell = self.start[entry[assignment.row]] + assignment.position_in_row
        np.add.at(self.belief, cell, assignment.belief * share[assignment.row])


@dataclass(frozen=True, eq=False)
class _Model:
    """Learned model, restricted to the known columns of the targets."""

    group_values: _GroupValues
    truth: Ints
    """True value of each target, used only for scoring."""
    occurrences: list[Occurrences]
    tuples: list[_TupleBeliefs]
    shares: Mapping[str, Floats]

    def guess_targets(self, where: PossibleGroups, sizes: Ints, guesses: ModelGuesses) -> None:
        """Guess the values of some targets.

        Within each group that a target may be in, the tables are independent given the value.
        """
        group_values = self.group_values
        people = max(_CELLS // self.group_values.distinct, 1)
        bounds = np.searchsorted(where.person, np.arange(0, len(where.targets) + people, people))
        for first, (begin, end) in enumerate(pairwise(bounds.tolist())):
            person = where.person[begin:end]
            group = where.group[begin:end]
            slot, pair = group_values.slots.gather(group)
            position_in_row = np.arange(len(slot)) - arrays.run_starts(pair)[pair]
            share = group_values.count[slot] / sizes[group[pair]]
            belief = share.copy()
            for occurrences, mean in zip(self.occurrences, self.tuples, strict=True):
                entry = occurrences.entries(where.targets[person], group)
                belief *= mean.belief[mean.start[entry[pair]] + position_in_row] / share
            total = arrays.sum_by_id(pair, belief, len(group))
            # If the tables together rule out all values, the shares of the group are used.
            belief = np.where(
                total[pair] > 0, belief / np.where(total > 0, total, 1.0)[pair], share
            )
            portion = where.targets[first * people : (first + 1) * people]
            cell = (person[pair] - first * people) * group_values.distinct + group_values.value[
                slot
            ]
            values_by_target = arrays.sum_by_id(
                cell, belief * where.weight[begin:end][pair], len(portion) * group_values.distinct
            )
            self._record_guesses(
                values_by_target.reshape(len(portion), group_values.distinct), portion, guesses
            )

    def guess_by_model(self, people: TargetsInGroups, guesses: ModelGuesses) -> None:
        """Guess the values of targets who match no group, by the model only.

        Such targets are not in the release, or the background knowledge about them is wrong.
        """
        total = arrays.sum_by_id(
            self.group_values.value, self.group_values.count, self.group_values.distinct
        )
        absent = np.flatnonzero(guesses.belief == 0)
        for portion in np.array_split(
            absent, len(absent) * self.group_values.distinct // _CELLS + 1
        ):
            logarithm = np.tile(np.log(total / total.sum()), (len(portion), 1))
            for name, column in self.shares.items():
                codes = people.known_codes[name][portion]
                is_known = codes < len(column)
                logarithm[is_known] += column[codes[is_known]]
            belief = np.exp(logarithm - logarithm.max(axis=1, keepdims=True, initial=-np.inf))
            self._record_guesses(belief / belief.sum(axis=1, keepdims=True), portion, guesses)

    def _record_guesses(self, belief: Floats, targets: Ints, guesses: ModelGuesses) -> None:
        """Guess the likeliest value, or one of several at random, and record its success."""
        highest = belief.max(axis=1, keepdims=True)
        tied = (belief >= highest * (1 - 1e-9)) & (highest > 0)
        true_values = self.truth[targets]
        scorable = np.flatnonzero((highest[:, 0] > 0) & (true_values < belief.shape[1]))
        success = np.zeros(len(targets))
        success[scorable] = tied[scorable, true_values[scorable]] / tied[scorable].sum(axis=1)
        guesses.success[targets] = success
        guesses.belief[targets] = highest[:, 0]
        guesses.value[targets] = np.where(highest[:, 0] > 0, tied.argmax(axis=1), -1)


def _learn_model(people: TargetsInGroups, knows: Sequence[str], about: str, rounds: int) -> _Model:
    group_values = _GroupValues.of(people.tables, about)
    model = _Model(group_values, people.truth[about], [], [], {})
    shares: dict[str, Floats] = {}
    for table in people.tables.tables:
        known_columns = [name for name in table.rows.names if name in knows]
        if known_columns and about not in table.rows.names:
            occurrences = people.occurrences(known_columns, people.known_codes)
            tuples = _TupleBeliefs.empty(occurrences, group_values)
            table_shares = assign_values(
                table,
                group_values,
                people.tables.sizes,
                partial(tuples.add, occurrences, table.records),
                rounds=rounds,
            )
            model.occurrences.append(occurrences)
            model.tuples.append(tuples)
            shares |= dict(zip(table.rows.names, table_shares, strict=True))
    return replace(model, shares={name: column for name, column in shares.items() if name in knows})


# --- the attack on a context ----------------------------------------------------------------------
_DESCRIPTION = (
    "She learns from all groups which values go together, and guesses the likeliest value of "
    "the groups that a target may be in; of who fits none, the likeliest by what she learnt. Beta "
    "bounds what somebody believes to whom all ways of dealing out a group's values are alike; it "
    "does not bound this."
)
_MAX_SHOWN = 5


def _definetti(context: AttackContext) -> Iterator[Attempt]:
    people, controls = targets_of(context)
    for about in context.guessed:
        guesses = guess(people, context.knows, about)
        truth = people.truth[about]
        value_counts = np.bincount(
            people.tables.table_by_column[about].rows.column(about),
            people.tables.table_by_column[about].times,
        )
        control = None
        if controls is not None:
            control = Rate(
                float(guess(controls, context.knows, about).success.sum()), len(controls)
            )
        yield Attempt(
            name="definetti",
            aim="inference",
            about=about,
            knows=context.knows,
            targets=len(people),
            guesses=len(people),
            successes=float(guesses.success.sum()),
            random=1 / len(value_counts),
            prior=float((truth == value_counts.argmax()).mean()),
            control=control,
            most_at_risk=tuple(
                _most_confident(context, guesses, people.tables.domain(about).labels)
            ),
            told=_DESCRIPTION,
        )


def _most_confident(
    context: AttackContext, guesses: ModelGuesses, labels: Sequence[object]
) -> Iterator[AtRisk]:
    """Yield the targets with the highest confidence of the guess."""
    order = np.lexsort((np.arange(len(guesses.belief)), -guesses.belief))[:_MAX_SHOWN]
    for person in order.tolist():
        known_values = {
            name: context.targets.known_values.column(name)[person].as_py()
            for name in context.knows
        }
        likely_value = as_text(labels[int(guesses.value[person])])
        yield AtRisk(
            known_values,
            1,
            float(guesses.groups[person]),
            likely_value,
            float(guesses.belief[person]),
            float(guesses.success[person]),
        )


DEFINETTI = Attacker(
    "definetti",
    "inference",
    "learns from a whole anatomized release which values go together, and guesses by that",
    "Kifer 2009",
    _definetti,
    no_groups,
)
