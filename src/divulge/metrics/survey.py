# SPDX-License-Identifier: Apache-2.0
"""Measuring classes that are not brought together: their counts stay on disk or on a Spark cluster.

Two folds go over the cells of a stream or partition, class by class, with the same NumPy functions as everywhere: `add_up` finds the sums
that a metric of one class needs to know about the whole table; `find_worst` then has every metric of every class, keeps the worst
classes and counts those beyond a bound. What a partition returns is small, and two such summaries merge into one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from divulge.arrays import Floats, Ints
from divulge.belief import Averages, Belief, GivenPrior, Ground, Knowledge, PriorBelief, Whole
from divulge.count import (
    Contingency,
    CountedColumns,
    Counts,
    Domain,
    ValueNumbers,
    population_sizes,
    whole_classes,
    wildcards,
)
from divulge.engines import Held
from divulge.errors import InternalError
from divulge.metrics.catalogue import IDENTITY, SENSITIVE, Metric, leading_metric, worst_first
from divulge.metrics.identity import Identity


# --- questions about all classes --------------------------------------------------------------------------------------
# Questions about all classes of a table: how many are beyond a bound, how many people they hold, and which are the worst.
#
# They are answered from the classes at hand, or, where the classes are spread over a cluster, from tallies of the parts that add up.
@dataclass(frozen=True)
class Question:
    """A question: which classes are beyond this bound of a metric."""

    metric: Metric[Any]
    bound: float
    attribute: str | None = None
    """The sensitive attribute; None for identity."""
    recursive_l: int | None = None
    """Another l for recursive (c,l)-diversity than the one measured with."""
    only: npt.NDArray[np.bool_] | None = field(default=None, repr=False, compare=False)
    """The classes that are asked about; None: all."""

    def view(self, identity: Identity, beliefs: Mapping[str, Belief]) -> Any:
        """What the metric is a function of; None where background knowledge leaves none of the classes at hand."""
        if self.attribute is None:
            return identity
        belief = beliefs.get(self.attribute)
        if belief is None or self.recursive_l is None:
            return belief
        return replace(belief, recursive_l=self.recursive_l)


@dataclass(frozen=True)
class Tally:
    """The classes beyond a bound."""

    classes: int = 0
    people: int = 0
    share: float = 0.0
    """Of the people of the table, or of the sum of their weights."""

    def plus(self, other: Tally) -> Tally:
        """Of two parts of a table together."""
        return Tally(self.classes + other.classes, self.people + other.people, self.share + other.share)


@dataclass(frozen=True)
class ClassNumber:
    """One class and its number."""

    key: Mapping[str, Any]
    size: int
    value: float


@dataclass(frozen=True)
class Answer:
    """The table's own number, the classes beyond the bound, and the worst of them, worst first."""

    value: float
    tally: Tally
    worst: tuple[ClassNumber, ...]


def beyond(question: Question, view: Any) -> Ints:
    """The positions in a view of the classes beyond the bound; none where classes have no number of their own."""
    if view is None or question.metric.per_class is None or question.metric.looks_at == "table":
        # An average is kept or broken by the table, not by a class.
        return np.empty(0, dtype=np.int64)
    broken = ~question.metric.holds(question.metric.per_class(view), question.bound)
    return np.flatnonzero(broken if question.only is None else broken & question.only[classes_of(view)])


def tally(question: Question, contingency: Contingency, view: Any) -> Tally:
    """Count the classes beyond the bound among those at hand."""
    found = beyond(question, view)
    if len(found) == 0:
        return Tally()
    sizes = contingency.sizes[classes_of(view)[found]]
    return Tally(len(found), int(sizes.sum()), float(view.class_share[found].sum()))


def answer(question: Question, contingency: Contingency, view: Any, *, most: int) -> Answer:
    """Answer from the classes at hand, which are all classes or at least the worst of them."""
    metric = question.metric
    value = _value(question, view)
    found = np.empty(0, dtype=np.int64) if metric.holds(value, question.bound) else beyond(question, view)
    if len(found) == 0 or metric.per_class is None:
        return Answer(value, Tally(), ())
    numbers = metric.per_class(view) + 0.0  # -0.0 + 0.0 is 0.0
    classes = classes_of(view)
    badness = numbers[found] if metric.worse == "high" else -numbers[found]
    order = found[worst_first(badness, contingency.sizes[classes[found]], most=most)]
    worst = tuple(
        ClassNumber(contingency.class_key(int(classes[i])), int(contingency.sizes[classes[i]]), float(numbers[i]))
        for i in order
    )
    return Answer(value, tally(question, contingency, view), worst)


def _value(question: Question, view: Any) -> float:
    """The table's number, or the worst among the classes that are asked about."""
    metric = question.metric
    if question.only is None or metric.per_class is None:
        return metric.value(view)[0]
    numbers = metric.per_class(view)[question.only[classes_of(view)]]
    if not len(numbers):  # they are left out, or background knowledge excludes them: about nobody, everything is kept
        return 0.0 if metric.worse == "high" else np.inf
    return float(numbers.max() if metric.worse == "high" else numbers.min()) + 0.0


def classes_of(view: Any) -> Ints:
    """The class that each number of a view is about."""
    return view.classes if isinstance(view, Belief) else np.arange(len(view.sizes))


# --- survey -----------------------------------------------------------------------------------------------------------
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
    averages: Averages | None = None

    def belief(self, name: str, classes: Contingency) -> Belief | None:
        """The belief about these classes; None where what is known fits nobody in them."""
        cells = classes.cells[name]
        prior = self.prior if isinstance(self.prior, PriorBelief) else self.prior.against(classes)
        places = np.arange(len(classes), dtype=np.int64)
        if self.knowledge is not None:
            if not self.knowledge.possible(cells.domain)[cells.value].any():
                return None
            cells, prior, places = self.knowledge.apply(cells, prior)
        return Belief(cells, prior, self.ground, places, self.recursive_l, self.whole, self.averages)


@dataclass(frozen=True, eq=False)
class SurveyPlan:
    """What a worker has to know."""

    layout: CountedColumns
    codings: Mapping[str, ValueNumbers]
    outlooks: Mapping[str, Outlook]
    identity: Identity | None = None
    """The whole table's view; known after the first pass."""
    kept: int = 100
    """How many of the worst classes to keep for each metric."""
    rows_at_once: int = 100_000
    """How many counted rows a worker looks at together."""


@dataclass(frozen=True, eq=False)
class SurveyPart:
    """Some classes, as rows and as what metrics are functions of."""

    rows: pa.Table
    class_of_row: Ints
    contingency: Contingency
    identity: Identity
    beliefs: Mapping[str, Belief]


@dataclass(frozen=True, eq=False)
class SurveyTotals:
    """Sums over classes."""

    sizes: Ints
    repeats: Ints
    """How many classes have each size."""
    wholes: Mapping[str, Whole]
    averages: Mapping[str, Averages]
    keys: tuple[pa.Array, ...]
    """The values of each quasi-identifier, up to one more than are looked at."""
    suspects: wildcards.Suspects


@dataclass(frozen=True, eq=False)
class SurveyFindings:
    """The worst classes, as counted rows, and one tally for each question."""

    rows: pa.Table
    tallies: tuple[Tally, ...]


def part_of(plan: SurveyPlan, rows: pa.Table) -> SurveyPart | None:
    """The classes of counted rows; None if the rows are about the population only."""
    if "p" in rows.column_names:
        rows = _with_population(plan, rows)
    if rows.num_rows == 0:
        return None
    contingency, class_of_row = plan.layout.assemble_part(rows, codings=plan.codings)
    population = None
    if _POPULATION in rows.column_names:
        population = np.empty(len(contingency))
        population[class_of_row] = rows.column(_POPULATION).to_numpy()
    found = {name: outlook.belief(name, contingency) for name, outlook in plan.outlooks.items()}
    beliefs = {name: belief for name, belief in found.items() if belief is not None}
    identity = Identity.of(contingency, population, whole=plan.identity)
    return SurveyPart(rows, class_of_row, contingency, identity, beliefs)


def _with_population(plan: SurveyPlan, rows: pa.Table) -> pa.Table:
    """The table's own rows, with the size of their class in the population in a column of its own."""
    is_register = rows.column("p").is_valid()
    register = rows.filter(is_register).drop_columns(["n"]).rename_columns({"p": "n"})
    own = rows.filter(pc.invert(is_register)).drop_columns(["p"])
    if own.num_rows == 0:
        return own
    contingency, class_of_row = plan.layout.assemble_part(own, codings=plan.codings)
    everybody = CountedColumns(plan.layout.keys, ()).assemble(register) if register.num_rows else None
    sizes = population_sizes(contingency, everybody)
    return own.append_column(_POPULATION, pa.array(sizes[class_of_row]))


def add_up(plan: SurveyPlan, batches: Iterable[pa.RecordBatch]) -> SurveyTotals | None:
    """The first pass over a partition."""
    total: SurveyTotals | None = None
    for part in _parts(plan, batches):
        found = _totals(plan, part)
        total = found if total is None else merge_totals(total, found)
    return total


def _parts(plan: SurveyPlan, batches: Iterable[pa.RecordBatch]) -> Iterator[SurveyPart]:
    for rows in whole_classes(batches, len(plan.layout.keys), rows=plan.rows_at_once):
        part = part_of(plan, rows)
        if part is not None:
            yield part


def _totals(plan: SurveyPlan, part: SurveyPart) -> SurveyTotals:
    sizes, repeats = np.unique(part.contingency.sizes, return_counts=True)
    wholes = {name: Whole.of(belief.cells, plan.outlooks[name].marginal) for name, belief in part.beliefs.items()}
    averages = {name: belief.averages(wholes[name].total) for name, belief in part.beliefs.items()}
    keys = tuple(key.values.slice(0, wildcards.MOST_VALUES + 1) for key in part.contingency.keys)
    return SurveyTotals(
        sizes, repeats.astype(np.int64), wholes, averages, keys, wildcards.suspects_of(part.contingency)
    )


def merge_totals(one: SurveyTotals, other: SurveyTotals) -> SurveyTotals:
    """The sums over two partitions."""
    sizes, place = np.unique(np.concatenate([one.sizes, other.sizes]), return_inverse=True)
    repeats = np.zeros(len(sizes), dtype=np.int64)
    np.add.at(repeats, place, np.concatenate([one.repeats, other.repeats]))
    # What is known about an attribute may fit nobody in one of the partitions.
    wholes = {**one.wholes, **other.wholes}
    wholes |= {name: whole.plus(other.wholes[name]) for name, whole in one.wholes.items() if name in other.wholes}
    averages = {**one.averages, **other.averages}
    averages |= {name: own.plus(other.averages[name]) for name, own in one.averages.items() if name in other.averages}
    pairs = zip(one.keys, other.keys, strict=True)
    keys = tuple(pa.concat_arrays([left, right]).unique().slice(0, wildcards.MOST_VALUES + 1) for left, right in pairs)
    suspects = {name: dict(Counter(texts) + Counter(other.suspects[name])) for name, texts in one.suspects.items()}
    return SurveyTotals(sizes, repeats, wholes, averages, keys, suspects)


def find_worst(
    plan: SurveyPlan, criteria: Sequence[Question], questions: Sequence[Question], batches: Iterable[pa.RecordBatch]
) -> SurveyFindings | None:
    """The second pass over a partition: the worst classes by each criterion, and a tally for each question."""
    found: SurveyFindings | None = None
    for part in _parts(plan, batches):
        views = [(question, question.view(part.identity, part.beliefs)) for question in questions]
        tallies = tuple(tally(question, part.contingency, view) for question, view in views)
        here = SurveyFindings(_worst_rows(plan, criteria, part), tallies)
        found = here if found is None else merge_findings(plan, criteria, found, here)
    return found


def merge_findings(
    plan: SurveyPlan, criteria: Sequence[Question], one: SurveyFindings, other: SurveyFindings
) -> SurveyFindings:
    """The worst of two partitions: those of the union are among those of the parts."""
    part = _part(plan, pa.concat_tables([one.rows, other.rows]))
    tallies = tuple(left.plus(right) for left, right in zip(one.tallies, other.tallies, strict=True))
    return SurveyFindings(_worst_rows(plan, criteria, part), tallies)


def _worst_rows(plan: SurveyPlan, criteria: Sequence[Question], part: SurveyPart) -> pa.Table:
    """The rows of the classes that are among the worst by one of the criteria."""
    chosen = np.zeros(len(part.contingency), dtype=bool)
    for criterion in criteria:
        view = criterion.view(part.identity, part.beliefs)
        if view is not None:
            chosen[_worst_classes(criterion, part.contingency, view, most=plan.kept)] = True
    return part.rows if chosen.all() else part.rows.filter(pa.array(chosen[part.class_of_row]))


def _worst_classes(criterion: Question, contingency: Contingency, view: Any, *, most: int) -> Ints:
    """The worst classes, most people first in a tie; and the first of the worst, which a score names."""
    metric, classes = criterion.metric, classes_of(view)
    if metric.per_class is None:
        # A bound that follows from the largest prior entropy of all classes; any other number of the table needs no class.
        return classes[[int(np.argmax(view.prior_entropy))]] if isinstance(view, Belief) else classes[:0]
    numbers = metric.per_class(view)
    badness = numbers if metric.worse == "high" else -numbers
    worst = worst_first(badness, contingency.sizes[classes], most=most)
    chosen: Ints = classes[np.append(worst, metric.first_worst(numbers))]
    return chosen


@dataclass(frozen=True, eq=False)
class Survey:
    """A table whose classes stayed where they are held: what is known about all of them, and the worst of them."""

    held: Held = field(repr=False)
    plan: SurveyPlan = field(repr=False)
    sample: SurveyPart = field(repr=False)
    """The worst classes by each metric."""
    contingency: Contingency = field(repr=False)
    """The same classes, with the numbers and notes of the whole table."""
    answers: dict[Question, Tally] = field(repr=False)
    suppressed: Mapping[str, str] = field(default_factory=dict)
    """How each text of suppressed cells is counted."""

    @property
    def classes(self) -> int:
        """How many classes the table has."""
        return int(self.sample.identity.classes)

    @property
    def kept(self) -> int:
        """How many of the worst classes are in the sample for each metric."""
        return self.plan.kept

    def ask(self, questions: Sequence[Question], *, most: int) -> list[Answer]:
        """Answer from the sample where it is enough, and all other questions together in one pass over the classes."""
        sampled = {question: self._from_sample(question, most) for question in questions}
        known = {question: found for question, found in sampled.items() if found is not None}
        open_ones = tuple(question for question in sampled if question not in known)
        if not open_ones:
            return [known[question] for question in questions]
        plan = replace(self.plan, kept=max(most, 1))
        findings = self.held.engine.fold(
            self.held, partial(find_worst, plan, open_ones, open_ones), partial(merge_findings, plan, open_ones)
        )
        part = _part(plan, findings.rows)
        for question, counted in zip(open_ones, findings.tallies, strict=True):
            view = question.view(part.identity, part.beliefs)
            known[question] = replace(answer(question, part.contingency, view, most=most), tally=counted)
        return [known[question] for question in questions]

    def _from_sample(self, question: Question, most: int) -> Answer | None:
        """The sample holds the worst classes, so it shows whether a bound holds, but not how many classes break it."""
        if question.recursive_l is not None:
            return None
        view = question.view(self.sample.identity, self.sample.beliefs)
        found = answer(question, self.sample.contingency, view, most=min(most, self.kept))
        if question in self.answers:
            return replace(found, tally=self.answers[question])
        return found if found.tally.classes == 0 else None


def survey_classes(
    counts: Counts,
    codings: Mapping[str, ValueNumbers],
    outlooks: Mapping[str, Outlook],
    *,
    register: Counts | None = None,
    metrics: Sequence[str] | None = None,
) -> Survey:
    """Two folds over the classes; `metrics` are the names of those wanted, by default all."""
    held = counts.with_population(register)
    fold = held.engine.fold
    plan = SurveyPlan(counts.layout, codings, outlooks)
    sums = fold(held, partial(add_up, plan), merge_totals)
    rows, people, person_entropy, person_share = counts.request.totals(int(sums.sizes @ sums.repeats))
    outlooks = {
        name: replace(outlook, whole=sums.wholes[name], averages=sums.averages[name])
        for name, outlook in outlooks.items()
    }
    sizes, repeats = sums.sizes.astype(np.float64), sums.repeats.astype(np.float64)
    spectrum = Identity.of_spectrum(sizes, repeats, person_entropy=person_entropy, person_share=person_share)
    plan = replace(plan, outlooks=outlooks, identity=spectrum)
    criteria = _criteria(plan, population=register is not None or counts.layout.weighted, metrics=metrics)
    hidden: tuple[Question, ...] = ()
    if metrics is None:  # every report tells which classes give more than twice the average, so the answer comes along
        leading = leading_metric("sensitive")
        hidden = tuple(Question(leading, 2 * sums.averages[name].surprise, name) for name in outlooks)
    findings = fold(held, partial(find_worst, plan, criteria, hidden), partial(merge_findings, plan, criteria))
    sample = _part(plan, findings.rows)
    alone = [coding.parts[0] for coding in codings.values() if coding.tuples is None]
    pairs = list(zip(counts.layout.keys, sums.keys, strict=True))
    constant = {column.name: values[0].as_py() for column, values in pairs if len(values) == 1}
    keys = [Domain(column.name, values, column.kind) for column, values in pairs]
    doubts, suppressed = counts.request.doubts(sums.suspects, int(sums.sizes @ sums.repeats), keys, alone)
    notes = (*counts.request.notes(rows, constant, alone), *doubts)
    kept = (
        f"the counts stayed on {held.engine.place}: {len(sample.contingency):,} of {int(sums.repeats.sum()):,} classes are here, "
        f"the {plan.kept} worst by each metric"
    )
    contingency = replace(
        sample.contingency,
        rows=rows,
        people=people,
        person_entropy=person_entropy,
        person_share=person_share,
        notes=(*notes, kept),
    )
    answers = dict(zip(hidden, findings.tallies, strict=True))
    return Survey(held, plan, sample, contingency, answers, suppressed)


def _criteria(plan: SurveyPlan, *, population: bool, metrics: Sequence[str] | None) -> tuple[Question, ...]:
    """The metrics by which the worst classes are kept."""
    identity = [
        Question(metric, 0.0) for metric in IDENTITY if metric.per_class and (population or not metric.needs_population)
    ]
    sensitive = [Question(metric, 0.0, name) for name in plan.outlooks for metric in SENSITIVE]
    return tuple(item for item in (*identity, *sensitive) if metrics is None or item.metric.name in metrics)


def _part(plan: SurveyPlan, rows: Any) -> SurveyPart:
    part = part_of(plan, rows)
    if part is None:
        raise InternalError("a survey returned no classes")
    return part
