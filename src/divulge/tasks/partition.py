# SPDX-License-Identifier: Apache-2.0
"""What a survey computes about the classes in one stream or partition, with the same NumPy functions as everywhere.

Two folds: `add_up` finds the sums that a metric of one class needs to know about the whole table; `find_worst` then has every
metric of every class, keeps the worst classes and counts those beyond a bound. What a partition returns is small, and two such
summaries merge into one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from divulge.arrays import Floats, Ints
from divulge.belief import Belief, GivenPrior, Ground, Knowledge, PriorBelief, Whole
from divulge.count import Contingency
from divulge.count.align import population_sizes
from divulge.count.assemble import Coding, Layout, assemble, assemble_part
from divulge.count.chunks import whole_classes
from divulge.errors import BadInput
from divulge.metrics import Identity
from divulge.metrics.metric import worst_first
from divulge.metrics.questions import Question, Tally, tally

_POPULATION = "population"


@dataclass(frozen=True, eq=False)
class Outlook:
    """What a belief about one attribute is formed from, apart from the counts of the classes at hand."""

    prior: PriorBelief | GivenPrior
    ground: Ground
    knowledge: Knowledge | None
    recursive_l: int | None
    marginal: Floats = field(repr=False)
    """The mass of each value in the whole table, 0 for one that is ruled out."""
    whole: Whole | None = None
    mean_prior_entropy: float | None = None

    def belief(self, name: str, classes: Contingency) -> Belief | None:
        """The belief about these classes; None where what is known fits nobody in them."""
        cells = classes.cells[name]
        prior = self.prior if isinstance(self.prior, PriorBelief) else self.prior.against(classes)
        places = np.arange(len(classes), dtype=np.int64)
        if self.knowledge is not None:
            if not self.knowledge.possible(cells.domain)[cells.value].any():
                return None
            cells, prior, places = self.knowledge.apply(cells, prior)
        return Belief(cells, prior, self.ground, places, self.recursive_l, self.whole, self.mean_prior_entropy)


@dataclass(frozen=True, eq=False)
class Plan:
    """What a worker has to know."""

    layout: Layout
    codings: Mapping[str, Coding]
    outlooks: Mapping[str, Outlook]
    identity: Identity | None = None
    """The whole table's view; known after the first pass."""
    kept: int = 100
    """How many of the worst classes to keep for each metric."""
    rows_at_once: int = 100_000
    """How many counted rows a worker looks at together."""


@dataclass(frozen=True, eq=False)
class Part:
    """Some classes, as rows and as what metrics are functions of."""

    rows: pa.Table
    class_of_row: Ints
    contingency: Contingency
    identity: Identity
    beliefs: Mapping[str, Belief]


@dataclass(frozen=True, eq=False)
class Totals:
    """Sums over classes."""

    sizes: Ints
    repeats: Ints
    """How many classes have each size."""
    wholes: Mapping[str, Whole]
    prior_entropy: Mapping[str, float]
    """The entropy of each class's prior, times the class's share."""
    keys: tuple[pa.Array, ...]
    """Up to two values of each quasi-identifier: enough to see whether it is constant."""


@dataclass(frozen=True, eq=False)
class Findings:
    """The worst classes, as counted rows, and one tally for each question."""

    rows: pa.Table
    tallies: tuple[Tally, ...]


def part_of(plan: Plan, rows: pa.Table) -> Part | None:
    """The classes of counted rows; None if the rows are about the population only."""
    if "p" in rows.column_names:
        rows = _with_population(plan, rows)
    if rows.num_rows == 0:
        return None
    contingency, class_of_row = assemble_part(plan.layout, rows, codings=plan.codings)
    population = None
    if _POPULATION in rows.column_names:
        population = np.empty(len(contingency))
        population[class_of_row] = rows.column(_POPULATION).to_numpy()
    found = {name: outlook.belief(name, contingency) for name, outlook in plan.outlooks.items()}
    return Part(
        rows=rows,
        class_of_row=class_of_row,
        contingency=contingency,
        identity=Identity.of(contingency, population, whole=plan.identity),
        beliefs={name: belief for name, belief in found.items() if belief is not None},
    )


def _with_population(plan: Plan, rows: pa.Table) -> pa.Table:
    """The table's own rows, with the size of their class in the population in a column of its own."""
    is_register = rows.column("p").is_valid()
    register = rows.filter(is_register).drop_columns(["n"]).rename_columns({"p": "n"})
    own = rows.filter(pc.invert(is_register)).drop_columns(["p"])
    if own.num_rows == 0:
        return own
    contingency, class_of_row = assemble_part(plan.layout, own, codings=plan.codings)
    if register.num_rows == 0:
        raise BadInput(
            f"the population has nobody in {len(contingency)} classes of the table, for example {contingency.class_key(0)}",
            hint="a population table holds everybody the table was drawn from",
        )
    sizes = population_sizes(contingency, assemble(Layout(plan.layout.keys, ()), register))
    return own.append_column(_POPULATION, pa.array(sizes[class_of_row]))


def add_up(plan: Plan, batches: Iterable[pa.RecordBatch]) -> Totals | None:
    """The first pass over a partition."""
    total: Totals | None = None
    for rows in whole_classes(batches, len(plan.layout.keys), rows=plan.rows_at_once):
        part = part_of(plan, rows)
        if part is not None:
            found = _totals(plan, part)
            total = found if total is None else merge_totals(total, found)
    return total


def _totals(plan: Plan, part: Part) -> Totals:
    sizes, repeats = np.unique(part.contingency.sizes, return_counts=True)
    wholes = {name: Whole.of(belief.cells, plan.outlooks[name].marginal) for name, belief in part.beliefs.items()}
    return Totals(
        sizes=sizes,
        repeats=repeats.astype(np.int64),
        wholes=wholes,
        prior_entropy={
            name: float((belief.cells.totals / wholes[name].total) @ belief.prior_entropy)
            for name, belief in part.beliefs.items()
        },
        keys=tuple(key.values.slice(0, 2) for key in part.contingency.keys),
    )


def merge_totals(one: Totals, other: Totals) -> Totals:
    """The sums over two partitions."""
    sizes, place = np.unique(np.concatenate([one.sizes, other.sizes]), return_inverse=True)
    repeats = np.zeros(len(sizes), dtype=np.int64)
    np.add.at(repeats, place, np.concatenate([one.repeats, other.repeats]))
    return Totals(
        sizes=sizes,
        repeats=repeats,
        # What is known about an attribute may fit nobody in one of the partitions.
        wholes={**one.wholes, **other.wholes}
        | {name: one.wholes[name].plus(other.wholes[name]) for name in one.wholes if name in other.wholes},
        prior_entropy={
            name: one.prior_entropy.get(name, 0.0) + other.prior_entropy.get(name, 0.0)
            for name in {**one.prior_entropy, **other.prior_entropy}
        },
        keys=tuple(
            pa.concat_arrays([left, right]).unique().slice(0, 2)
            for left, right in zip(one.keys, other.keys, strict=True)
        ),
    )


def find_worst(
    plan: Plan, criteria: Sequence[Question], questions: Sequence[Question], batches: Iterable[pa.RecordBatch]
) -> Findings | None:
    """The second pass over a partition: the worst classes by each criterion, and a tally for each question."""
    found: Findings | None = None
    for rows in whole_classes(batches, len(plan.layout.keys), rows=plan.rows_at_once):
        part = part_of(plan, rows)
        if part is None:
            continue
        tallies = tuple(
            tally(question, part.contingency, question.view(part.identity, part.beliefs)) for question in questions
        )
        here = Findings(worst_rows(plan, criteria, part), tallies)
        found = here if found is None else merge_findings(plan, criteria, found, here)
    return found


def merge_findings(plan: Plan, criteria: Sequence[Question], one: Findings, other: Findings) -> Findings:
    """The worst of two partitions: those of the union are among those of the parts."""
    part = part_of(plan, pa.concat_tables([one.rows, other.rows]))
    if part is None:
        raise TypeError("findings without classes")
    return Findings(
        worst_rows(plan, criteria, part),
        tuple(left.plus(right) for left, right in zip(one.tallies, other.tallies, strict=True)),
    )


def worst_rows(plan: Plan, criteria: Sequence[Question], part: Part) -> pa.Table:
    """The rows of the classes that are among the worst by one of the criteria."""
    chosen = np.zeros(len(part.contingency), dtype=bool)
    for criterion in criteria:
        view = criterion.view(part.identity, part.beliefs)
        if view is not None:
            chosen[_worst_classes(criterion, part.contingency, view, most=plan.kept)] = True
    return part.rows if chosen.all() else part.rows.filter(pa.array(chosen[part.class_of_row]))


def _worst_classes(criterion: Question, contingency: Contingency, view: Any, *, most: int) -> Ints:
    """The worst classes, most people first in a tie; and the first of the worst, which a score names."""
    metric = criterion.metric
    if metric.per_class is None:
        # A bound that follows from the largest prior entropy of all classes; any other number of the table needs no class.
        return (
            view.classes[[int(np.argmax(view.prior_entropy))]]
            if isinstance(view, Belief)
            else np.empty(0, dtype=np.int64)
        )
    numbers = metric.per_class(view)
    classes = view.classes if isinstance(view, Belief) else np.arange(len(contingency))
    badness = numbers if metric.worse == "high" else -numbers
    worst = worst_first(badness, contingency.sizes[classes], most=most)
    chosen: Ints = classes[np.append(worst, metric.first_worst(numbers))]
    return chosen
