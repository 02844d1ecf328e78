# SPDX-License-Identifier: Apache-2.0
"""Out-of-core measurement of classes whose counts stay on disk or on a Spark cluster.

Two folds process the cells of a stream or partition, class by class, with the same NumPy functions
as in memory. `add_up` computes the sums over the whole table that a metric of one class needs.
`find_worst` evaluates every metric of every class, keeps the worst classes and counts those beyond
a bound. A partition returns a small summary, and two summaries merge into one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from divulge.adversary import (
    Averages,
    Belief,
    ExplicitPrior,
    GroundDistance,
    Knowledge,
    PriorBelief,
    TableTotals,
)
from divulge.arrays import Floats, Ints
from divulge.counting import (
    Contingency,
    CountedColumns,
    Counts,
    Domain,
    ValueNumbers,
    population_sizes,
    whole_classes,
    wildcards,
)
from divulge.engines import StoredRows
from divulge.errors import InternalError
from divulge.metrics.catalogue import IDENTITY, SENSITIVE, leading_metric
from divulge.metrics.identity import Identity
from divulge.metrics.metric import Metric, worst_first


# --- questions about all classes ------------------------------------------------------------------
# Queries over all classes of a table: the number beyond a bound, their people, and the worst
# classes. They are answered from the classes in memory or, if the classes are distributed over a
# cluster, from tallies of the parts that add up.
@dataclass(frozen=True)
class ClassQuery:
    """A query for the classes beyond a bound of a metric."""

    metric: Metric[Any]
    bound: float
    attribute: str | None = None
    """The sensitive attribute; None for identity."""
    recursive_l: int | None = None
    """The l for recursive (c,l)-diversity, if it differs from that of the measurement."""
    only: npt.NDArray[np.bool_] | None = field(default=None, repr=False, compare=False)
    """Mask of the classes that the query covers; None: all."""

    def view(self, identity: Identity, beliefs: Mapping[str, Belief]) -> Any:
        """The argument of the metric function.

        None if background knowledge excludes all classes in memory.
        """
        if self.attribute is None:
            return identity
        belief = beliefs.get(self.attribute)
        if belief is None or self.recursive_l is None:
            return belief
        return replace(belief, recursive_l=self.recursive_l)


@dataclass(frozen=True)
class Tally:
    """The number of classes beyond a bound and of their people."""

    classes: int = 0
    people: int = 0
    share: float = 0.0
    """The share of the people of the table, or of the sum of their weights."""

    def plus(self, other: Tally) -> Tally:
        """Add the tallies of two parts of a table."""
        return Tally(
            self.classes + other.classes, self.people + other.people, self.share + other.share
        )


@dataclass(frozen=True)
class ClassValue:
    """One class and its number."""

    key: Mapping[str, Any]
    size: int
    value: float


@dataclass(frozen=True)
class ClassQueryResult:
    """The table's own number, the classes beyond the bound, and the worst of them, worst first."""

    value: float
    tally: Tally
    worst: tuple[ClassValue, ...]


def beyond(question: ClassQuery, view: Any) -> Ints:
    """The positions in a view of the classes beyond the bound.

    Empty if the metric has no number per class.
    """
    if view is None or question.metric.per_class is None or question.metric.looks_at == "table":
        # An average is met or violated by the table, not by a class.
        return np.empty(0, dtype=np.int64)
    violates = ~question.metric.holds(question.metric.per_class(view), question.bound)
    return np.flatnonzero(
        violates if question.only is None else violates & question.only[classes_of(view)]
    )


def tally(question: ClassQuery, contingency: Contingency, view: Any) -> Tally:
    """Count the classes beyond the bound among those in memory."""
    violating = beyond(question, view)
    if len(violating) == 0:
        return Tally()
    sizes = contingency.sizes[classes_of(view)[violating]]
    return Tally(len(violating), int(sizes.sum()), float(view.class_share[violating].sum()))


def answer(
    question: ClassQuery, contingency: Contingency, view: Any, *, most: int
) -> ClassQueryResult:
    """Answer from the classes in memory, which are all classes or at least the worst."""
    metric = question.metric
    value = _worst_value(question, view)
    if metric.holds(value, question.bound):
        violating = np.empty(0, dtype=np.int64)
    else:
        violating = beyond(question, view)
    if len(violating) == 0 or metric.per_class is None:
        return ClassQueryResult(value, Tally(), ())
    numbers = metric.per_class(view) + 0.0  # -0.0 + 0.0 is 0.0
    classes = classes_of(view)
    if metric.worse == "high":
        badness = numbers[violating]
    else:
        badness = -numbers[violating]
    order = violating[worst_first(badness, contingency.sizes[classes[violating]], limit=most)]
    worst = tuple(
        ClassValue(
            contingency.class_key(int(classes[i])),
            int(contingency.sizes[classes[i]]),
            float(numbers[i]),
        )
        for i in order
    )
    return ClassQueryResult(value, tally(question, contingency, view), worst)


def _worst_value(question: ClassQuery, view: Any) -> float:
    """The table's number, or the worst among the classes that the query covers."""
    metric = question.metric
    if question.only is None or metric.per_class is None:
        return metric.value(view)[0]
    numbers = metric.per_class(view)[question.only[classes_of(view)]]
    # All of them are suppressed or excluded by background knowledge: an empty set meets any bound.
    if not len(numbers):
        if metric.worse == "high":
            return 0.0
        return np.inf
    return float(numbers.max() if metric.worse == "high" else numbers.min()) + 0.0


def classes_of(view: Any) -> Ints:
    """The class index of each number of a view."""
    if isinstance(view, Belief):
        return view.classes
    return np.arange(len(view.sizes))


# --- survey ---------------------------------------------------------------------------------------
_POPULATION = "population"


@dataclass(frozen=True, eq=False)
class BeliefBasis:
    """Everything that a belief about one attribute needs except the counts of the classes."""

    prior: PriorBelief | ExplicitPrior
    ground: GroundDistance
    knowledge: Knowledge | None
    recursive_l: int | None
    marginal: Floats = field(repr=False)
    """The mass of each value in the whole table; 0 for a value that is ruled out."""
    whole_table: TableTotals | None = None
    averages: Averages | None = None

    def belief(self, name: str, classes: Contingency) -> Belief | None:
        """The belief about these classes; None if background knowledge excludes all of them."""
        cells = classes.cells[name]
        if isinstance(self.prior, PriorBelief):
            prior = self.prior
        else:
            prior = self.prior.against(classes)
        class_indexes = np.arange(len(classes), dtype=np.int64)
        if self.knowledge is not None:
            if not self.knowledge.possible(cells.domain)[cells.value].any():
                return None
            cells, prior, class_indexes = self.knowledge.apply(cells, prior)
        return Belief(
            cells,
            prior,
            self.ground,
            class_indexes,
            self.recursive_l,
            self.whole_table,
            self.averages,
        )


@dataclass(frozen=True, eq=False)
class SurveyPlan:
    """The parameters of a survey that a worker needs."""

    layout: CountedColumns
    codings: Mapping[str, ValueNumbers]
    belief_bases: Mapping[str, BeliefBasis]
    identity: Identity | None = None
    """The whole table's view; known after the first pass."""
    worst_per_metric: int = 100
    """The number of worst classes to keep for each metric."""
    rows_per_batch: int = 100_000
    """The number of counted rows that a worker processes at once."""


@dataclass(frozen=True, eq=False)
class SurveyPart:
    """Some classes, as rows and as the views on which metrics are computed."""

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
    """The number of classes with each size."""
    wholes: Mapping[str, TableTotals]
    averages: Mapping[str, Averages]
    keys: tuple[pa.Array, ...]
    """The values of each quasi-identifier, up to one more than are examined."""
    suspects: wildcards.Suspects
    same_value: Mapping[str, SameValue]


class SameValue(NamedTuple):
    """The class in which the largest share of people has the same value.

    It is defined for an attribute of which people have several values.
    """

    people_with_value: int
    people: int

    @classmethod
    def by_attribute(cls, contingency: Contingency) -> dict[str, SameValue]:
        """Find that class for each attribute of which a person has several values in a class."""
        largest = {}
        for name, cells in contingency.cells.items():
            if len(cells.mass) == 0 or (cells.totals == contingency.sizes).all():
                continue
            people = contingency.sizes[cells.class_index]
            cell = int(np.lexsort((people, cells.mass / people))[-1])
            largest[name] = cls(int(cells.mass[cell]), int(people[cell]))
        return largest

    @property
    def share(self) -> float:
        """The share of the people in the class."""
        return self.people_with_value / self.people


@dataclass(frozen=True, eq=False)
class SurveyFindings:
    """The worst classes, as counted rows, and one tally for each query."""

    rows: pa.Table
    tallies: tuple[Tally, ...]


def part_of(plan: SurveyPlan, rows: pa.Table) -> SurveyPart | None:
    """The classes of counted rows; None if the rows contain only the population."""
    if "p" in rows.column_names:
        rows = _with_population(plan, rows)
    if rows.num_rows == 0:
        return None
    contingency, class_of_row = plan.layout.assemble_part(rows, codings=plan.codings)
    population = None
    if _POPULATION in rows.column_names:
        population = np.empty(len(contingency))
        population[class_of_row] = rows.column(_POPULATION).to_numpy()
    all_beliefs = {
        name: basis.belief(name, contingency) for name, basis in plan.belief_bases.items()
    }
    beliefs = {name: belief for name, belief in all_beliefs.items() if belief is not None}
    identity = Identity.of(contingency, population, whole_table=plan.identity)
    return SurveyPart(rows, class_of_row, contingency, identity, beliefs)


def _with_population(plan: SurveyPlan, rows: pa.Table) -> pa.Table:
    """The table's own rows, with the population size of their class in an additional column."""
    is_register = rows.column("p").is_valid()
    register = rows.filter(is_register).drop_columns(["n"]).rename_columns({"p": "n"})
    table_rows = rows.filter(pc.invert(is_register)).drop_columns(["p"])
    if table_rows.num_rows == 0:
        return table_rows
    contingency, class_of_row = plan.layout.assemble_part(table_rows, codings=plan.codings)
    if register.num_rows:
        population = CountedColumns(plan.layout.keys, ()).assemble(register)
    else:
        population = None
    sizes = population_sizes(contingency, population)
    return table_rows.append_column(_POPULATION, pa.array(sizes[class_of_row]))


def add_up(plan: SurveyPlan, batches: Iterable[pa.RecordBatch]) -> SurveyTotals | None:
    """The first pass over a partition."""
    total: SurveyTotals | None = None
    for part in _iterate_parts(plan, batches):
        part_totals = _part_totals(plan, part)
        if total is None:
            total = part_totals
        else:
            total = merge_totals(total, part_totals)
    return total


def _iterate_parts(plan: SurveyPlan, batches: Iterable[pa.RecordBatch]) -> Iterator[SurveyPart]:
    for rows in whole_classes(batches, len(plan.layout.keys), rows=plan.rows_per_batch):
        part = part_of(plan, rows)
        if part is not None:
            yield part


def _part_totals(plan: SurveyPlan, part: SurveyPart) -> SurveyTotals:
    sizes, repeats = np.unique(part.contingency.sizes, return_counts=True)
    wholes = {
        name: TableTotals.of(belief.cells, plan.belief_bases[name].marginal)
        for name, belief in part.beliefs.items()
    }
    averages = {name: belief.averages(wholes[name].total) for name, belief in part.beliefs.items()}
    keys = tuple(key.values.slice(0, wildcards.MOST_VALUES + 1) for key in part.contingency.keys)
    suspects = wildcards.suspects_of(part.contingency)
    same_value = SameValue.by_attribute(part.contingency)
    return SurveyTotals(
        sizes, repeats.astype(np.int64), wholes, averages, keys, suspects, same_value
    )


def merge_totals(first: SurveyTotals, other: SurveyTotals) -> SurveyTotals:
    """The sums over two partitions."""
    sizes, size_index = np.unique(np.concatenate([first.sizes, other.sizes]), return_inverse=True)
    repeats = np.zeros(len(sizes), dtype=np.int64)
    np.add.at(repeats, size_index, np.concatenate([first.repeats, other.repeats]))
    # Background knowledge about an attribute may exclude everyone in one of the partitions.
    wholes = {**first.wholes, **other.wholes}
    wholes |= {
        name: first_whole.plus(other.wholes[name])
        for name, first_whole in first.wholes.items()
        if name in other.wholes
    }
    averages = {**first.averages, **other.averages}
    averages |= {
        name: average.plus(other.averages[name])
        for name, average in first.averages.items()
        if name in other.averages
    }
    pairs = zip(first.keys, other.keys, strict=True)
    keys = tuple(
        pa.concat_arrays([left, right]).unique().slice(0, wildcards.MOST_VALUES + 1)
        for left, right in pairs
    )
    suspects = {
        name: dict(Counter(texts) + Counter(other.suspects[name]))
        for name, texts in first.suspects.items()
    }
    same_value = {**first.same_value, **other.same_value}
    for name in first.same_value.keys() & other.same_value.keys():
        candidates = (first.same_value[name], other.same_value[name])
        same_value[name] = max(candidates, key=lambda item: (item.share, item.people))
    return SurveyTotals(sizes, repeats, wholes, averages, keys, suspects, same_value)


def find_worst(
    plan: SurveyPlan,
    criteria: Sequence[ClassQuery],
    questions: Sequence[ClassQuery],
    batches: Iterable[pa.RecordBatch],
) -> SurveyFindings | None:
    """Run the second pass over a partition.

    Returns the worst classes by each criterion, and a tally for each query.
    """
    findings: SurveyFindings | None = None
    for part in _iterate_parts(plan, batches):
        views = [(question, question.view(part.identity, part.beliefs)) for question in questions]
        tallies = tuple(tally(question, part.contingency, view) for question, view in views)
        part_findings = SurveyFindings(_worst_rows(plan, criteria, part), tallies)
        if findings is None:
            findings = part_findings
        else:
            findings = merge_findings(plan, criteria, findings, part_findings)
    return findings


def merge_findings(
    plan: SurveyPlan, criteria: Sequence[ClassQuery], first: SurveyFindings, other: SurveyFindings
) -> SurveyFindings:
    """Merge the worst classes of two partitions.

    The worst classes of the union are among those of the parts.
    """
    part = _nonempty_part(plan, pa.concat_tables([first.rows, other.rows]))
    tallies = tuple(
        left.plus(right) for left, right in zip(first.tallies, other.tallies, strict=True)
    )
    return SurveyFindings(_worst_rows(plan, criteria, part), tallies)


def _worst_rows(plan: SurveyPlan, criteria: Sequence[ClassQuery], part: SurveyPart) -> pa.Table:
    """The rows of the classes that are among the worst by one of the criteria."""
    is_chosen = np.zeros(len(part.contingency), dtype=bool)
    for criterion in criteria:
        view = criterion.view(part.identity, part.beliefs)
        if view is not None:
            is_chosen[
                _worst_classes(criterion, part.contingency, view, limit=plan.worst_per_metric)
            ] = True
    if is_chosen.all():
        return part.rows
    return part.rows.filter(pa.array(is_chosen[part.class_of_row]))


def _worst_classes(
    criterion: ClassQuery, contingency: Contingency, view: Any, *, limit: int
) -> Ints:
    """The worst classes, with more people first in a tie, and the first of the worst.

    A score names the first of the worst.
    """
    metric = criterion.metric
    classes = classes_of(view)
    if metric.per_class is None:
        # The limit follows from the largest prior entropy of all classes. Any other number of the
        # table needs no class.
        if isinstance(view, Belief):
            return classes[[int(np.argmax(view.prior_entropy))]]
        return classes[:0]
    numbers = metric.per_class(view)
    if metric.worse == "high":
        badness = numbers
    else:
        badness = -numbers
    worst = worst_first(badness, contingency.sizes[classes], limit=limit)
    chosen_classes: Ints = classes[np.append(worst, metric.first_worst(numbers))]
    return chosen_classes


@dataclass(frozen=True, eq=False)
class Survey:
    """A table whose classes stayed on disk or a cluster: sums over all, and the worst classes."""

    held_rows: StoredRows = field(repr=False)
    plan: SurveyPlan = field(repr=False)
    sample: SurveyPart = field(repr=False)
    """The worst classes by each metric."""
    contingency: Contingency = field(repr=False)
    """The classes of the sample, with the numbers and notes of the whole table."""
    answers: dict[ClassQuery, Tally] = field(repr=False)
    suppressed: Mapping[str, str] = field(default_factory=dict)
    """The meaning of each text of suppressed cells in counting."""
    same_value: Mapping[str, SameValue] = field(default_factory=dict)

    @property
    def classes(self) -> int:
        """The number of classes of the table."""
        return int(self.sample.identity.classes)

    @property
    def kept(self) -> int:
        """The number of worst classes in the sample for each metric."""
        return self.plan.worst_per_metric

    def ask(self, questions: Sequence[ClassQuery], *, most: int) -> list[ClassQueryResult]:
        """Answer from the sample if possible, and other queries in one pass over the classes."""
        sample_answers = {
            question: self._answer_from_sample(question, most) for question in questions
        }
        answers = {
            question: sample_answer
            for question, sample_answer in sample_answers.items()
            if sample_answer is not None
        }
        open_questions = tuple(question for question in sample_answers if question not in answers)
        if not open_questions:
            return [answers[question] for question in questions]
        plan = replace(self.plan, worst_per_metric=max(most, 1))
        findings = self.held_rows.engine.fold(
            self.held_rows,
            partial(find_worst, plan, open_questions, open_questions),
            partial(merge_findings, plan, open_questions),
        )
        part = _nonempty_part(plan, findings.rows)
        for question, class_tally in zip(open_questions, findings.tallies, strict=True):
            view = question.view(part.identity, part.beliefs)
            answers[question] = replace(
                answer(question, part.contingency, view, most=most), tally=class_tally
            )
        return [answers[question] for question in questions]

    def _answer_from_sample(self, question: ClassQuery, most: int) -> ClassQueryResult | None:
        """Answer from the sample, which has the worst classes; None if the sample is not enough.

        The sample shows whether a bound is met, but not how many classes violate it.
        """
        if question.recursive_l is not None:
            return None
        view = question.view(self.sample.identity, self.sample.beliefs)
        sample_answer = answer(question, self.sample.contingency, view, most=min(most, self.kept))
        if question in self.answers:
            return replace(sample_answer, tally=self.answers[question])
        if sample_answer.tally.classes == 0:
            return sample_answer
        return None


def survey_classes(
    counts: Counts,
    codings: Mapping[str, ValueNumbers],
    belief_bases: Mapping[str, BeliefBasis],
    *,
    register: Counts | None = None,
    metrics: Sequence[str] | None = None,
) -> Survey:
    """Survey the classes in two folds; `metrics` are the names of the metrics, by default all."""
    counts_with_population = counts.with_population(register)
    fold = counts_with_population.engine.fold
    plan = SurveyPlan(counts.layout, codings, belief_bases)
    sums = fold(counts_with_population, partial(add_up, plan), merge_totals)
    totals = counts.request.totals(int(sums.sizes @ sums.repeats))
    belief_bases = {
        name: replace(basis, whole_table=sums.wholes[name], averages=sums.averages[name])
        for name, basis in belief_bases.items()
    }
    sizes = sums.sizes.astype(np.float64)
    repeats = sums.repeats.astype(np.float64)
    spectrum = Identity.of_spectrum(
        sizes,
        repeats,
        person_entropy=totals.person_entropy,
        person_share=totals.person_share,
        uniques=totals.unique_people,
    )
    plan = replace(plan, belief_bases=belief_bases, identity=spectrum)
    criteria = _criteria(
        plan, population=register is not None or counts.layout.weighted, metrics=metrics
    )
    report_questions: tuple[ClassQuery, ...] = ()
    # Every report lists the classes above twice the average, so the second pass counts them too.
    if metrics is None:
        leading = leading_metric("sensitive")
        report_questions = tuple(
            ClassQuery(leading, 2 * sums.averages[name].surprise, name) for name in belief_bases
        )
    findings = fold(
        counts_with_population,
        partial(find_worst, plan, criteria, report_questions),
        partial(merge_findings, plan, criteria),
    )
    sample = _nonempty_part(plan, findings.rows)
    single_codings = [coding.parts[0] for coding in codings.values() if coding.tuples is None]
    pairs = list(zip(counts.layout.keys, sums.keys, strict=True))
    constant = {column.name: values[0].as_py() for column, values in pairs if len(values) == 1}
    keys = [Domain(column.name, values, column.kind) for column, values in pairs]
    doubts, suppressed = counts.request.doubts(
        sums.suspects, int(sums.sizes @ sums.repeats), keys, single_codings
    )
    notes = (*counts.request.notes(totals.rows, constant, single_codings), *doubts)
    sample_note = (
        f"the counts stayed on {counts_with_population.engine.storage}: "
        f"{len(sample.contingency):,} of {int(sums.repeats.sum()):,} classes are here, the "
        f"{plan.worst_per_metric} worst by each metric"
    )
    contingency = replace(sample.contingency, **asdict(totals), notes=(*notes, sample_note))
    answers = dict(zip(report_questions, findings.tallies, strict=True))
    return Survey(
        counts_with_population, plan, sample, contingency, answers, suppressed, sums.same_value
    )


def _criteria(
    plan: SurveyPlan, *, population: bool, metrics: Sequence[str] | None
) -> tuple[ClassQuery, ...]:
    """The metrics by which the worst classes are kept."""
    identity = [
        ClassQuery(metric, 0.0)
        for metric in IDENTITY
        if metric.per_class and (population or not metric.needs_population)
    ]
    sensitive = [
        ClassQuery(metric, 0.0, name) for name in plan.belief_bases for metric in SENSITIVE
    ]
    return tuple(
        item for item in (*identity, *sensitive) if metrics is None or item.metric.name in metrics
    )


def _nonempty_part(plan: SurveyPlan, rows: Any) -> SurveyPart:
    part = part_of(plan, rows)
    if part is None:
        raise InternalError("a survey returned no classes")
    return part
