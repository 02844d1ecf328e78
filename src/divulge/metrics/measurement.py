# SPDX-License-Identifier: Apache-2.0
"""Measurements: every metric's number, its worst class and the settings; from counts to numbers.

Few cells are measured in memory. Many cells are measured where they are stored, class by class.
Priors, orders and distances are the same in both cases.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from divulge import results
from divulge.adversary import Adversary, Assumptions, Belief, MarginalOf, PriorBelief
from divulge.arguments import arg_name
from divulge.arrays import Floats, Ints
from divulge.counting import (
    Cells,
    Contingency,
    Counts,
    Domain,
    EncodedColumn,
    Nulls,
    Request,
    ValueNumbers,
    align,
    count,
    count_in_memory,
    domain_codes,
    joint_domain,
    population_sizes,
    wildcards,
)
from divulge.errors import BadInput, nearest
from divulge.metrics.catalogue import IDENTITY, SENSITIVE, find_metric
from divulge.metrics.class_detail import ClassDetail, ClassScore, find_class, shares_in
from divulge.metrics.diversity import recursive_l
from divulge.metrics.identity import Identity
from divulge.metrics.independence import Independence, Weighing, independence_of
from divulge.metrics.itpr_repair import THIRDS, Repair, RepairKind, RiskBands, bands_of, repair_of
from divulge.metrics.metric import TOLERANCE, Metric
from divulge.metrics.out_of_core import (
    BeliefBasis,
    ClassQuery,
    ClassQueryResult,
    SameValue,
    Survey,
    answer,
    survey_classes,
)
from divulge.metrics.population_risk import ESTIMATOR
from divulge.results import Result
from divulge.sources import Roles, Table, read_with_engine_of, resolve_roles
from divulge.validation import checked
from divulge.version import __version__

LOG = logging.getLogger("divulge.metrics")
_WHOLE_UNITS = ("people", "classes", "values")


@dataclass(frozen=True)
class WorstClass:
    """The class where a metric is worst."""

    index: int
    key: Mapping[str, Any]
    size: int


@dataclass(frozen=True)
class Score:
    """One metric's number for the table.

    `worst` is the class with the worst number, if the metric has a number per class.
    """

    metric: Metric[Any]
    value: float
    attribute: str | None
    worst: WorstClass | None

    @property
    def number(self) -> float | int:
        """The value; an int if it counts people, classes or values."""
        return as_number(self.metric, self.value)


def as_number(metric: Metric[Any], value: float) -> float | int:
    """Convert a count to int and any other value to float."""
    if metric.unit in _WHOLE_UNITS and float(value).is_integer():
        return int(value)
    return float(value)


@dataclass(frozen=True, eq=False, repr=False)
class Measurement(Result):
    """All metrics of one table under one choice of roles."""

    view = "measurement"

    contingency: Contingency = field(repr=False)
    """The classes; only the worst by each metric if they stayed on disk or on a cluster."""
    identity_view: Identity = field(repr=False)
    beliefs: Mapping[str, Belief] = field(repr=False)
    identity: Mapping[str, Score]
    sensitive: Mapping[str, Mapping[str, Score]]
    settings: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    survey: Survey | None = field(default=None, repr=False)
    """The survey of all classes, if they stayed on disk or on a cluster."""

    @property
    def class_count(self) -> int:
        """The number of classes of the table."""
        if self.survey is None:
            return len(self.contingency)
        return self.survey.classes

    def ask(self, questions: Sequence[ClassQuery], *, most: int = 10) -> list[ClassQueryResult]:
        """Find the classes beyond a bound, among all classes of the table.

        Up to `most` of them are listed.
        """
        if self.survey is not None:
            return self.survey.ask(questions, most=most)
        return [
            answer(
                question,
                self.contingency,
                question.view(self.identity_view, self.beliefs),
                most=most,
            )
            for question in questions
        ]

    @property
    def overlapping(self) -> bool:
        """True if wildcards make a person match several classes; few metrics are available then."""
        return self.identity_view.overlapping

    @property
    def rows(self) -> int:
        """The number of counted rows."""
        return self.contingency.rows

    @property
    def people(self) -> int:
        """The number of people in the counted rows."""
        return self.contingency.people

    def __getitem__(self, name: str) -> Score:
        """The score of a metric; with several sensitive attributes, the worst of their scores."""
        matching_scores = [scores[name] for scores in self.sensitive.values() if name in scores]
        if matching_scores:
            metric = matching_scores[0].metric
            return max(
                matching_scores,
                key=lambda score: score.value if metric.worse == "high" else -score.value,
            )
        if name in self.identity:
            return self.identity[name]
        if self.overlapping:
            raise overlap_error(repr(find_metric(name).name))
        measured_names = {
            *self.identity,
            *(key for scores in self.sensitive.values() for key in scores),
        }
        raise BadInput(f"{name!r} was not measured", hint=nearest(name, sorted(measured_names)))

    def information_about(self, attribute: str) -> tuple[float, float]:
        """Mutual information and average I1 of a sensitive attribute, in bits.

        The first uses the table's own distribution, the second the prior.
        """
        scores = self.sensitive[attribute]
        return scores["mutual_information"].value, scores["average_surprise"].value

    def per_class(self, name: str, attribute: str | None = None) -> Floats:
        """One number per class; NaN for a class that background knowledge excludes."""
        metric: Metric[Any] = find_metric(name, "identity" if attribute is None else "sensitive")
        if metric.per_class is None:
            raise BadInput(f"{name!r} is a number of the whole table, not of a class")
        if attribute is None:
            if name not in self.identity:
                if self.overlapping:
                    raise overlap_error(repr(name))
                raise needs_population(repr(name))
            return metric.per_class(self.identity_view) + 0.0  # -0.0 + 0.0 is 0.0
        if attribute not in self.beliefs:
            raise BadInput(
                f"{attribute!r} is not a sensitive attribute here",
                hint=nearest(attribute, self.beliefs),
            )
        belief = self.beliefs[attribute]
        numbers = np.full(len(self.contingency), np.nan)
        numbers[belief.classes] = metric.per_class(belief) + 0.0
        return numbers

    @cached_property
    def classes(self) -> Any:
        """One row per class with all per-class metrics, as the kind of frame of the input.

        If the classes stayed on disk or on a cluster, these are the worst classes. A note states
        the total number.
        """
        return results.as_frame(self.class_table(), self.frame)

    def of_class(self, **values: Any) -> ClassDetail:
        """One class in detail, by a value of each quasi-identifier.

        Example: `m.of_class(zip="042**", age=">=80")`. If the classes stayed on disk or on a
        cluster, only the worst classes are available.
        """
        index = find_class(self.contingency, values, class_count=self.class_count)
        class_beliefs = {
            name: belief for name, belief in self.beliefs.items() if index in belief.classes
        }
        scores = [
            ClassScore(
                score.metric,
                as_number(score.metric, float(self.per_class(name, attribute)[index])),
                attribute,
            )
            for attribute, named_scores in [
                (None, self.identity),
                *((name, self.sensitive[name]) for name in class_beliefs),
            ]
            for name, score in named_scores.items()
            if score.metric.per_class is not None
        ]
        return ClassDetail(
            key=self.contingency.class_key(index),
            size=int(self.contingency.sizes[index]),
            of_people=self.people,
            shares={
                name: tuple(shares_in(belief, index)) for name, belief in class_beliefs.items()
            },
            scores=tuple(scores),
            settings=self.settings,
            frame=self.frame,
        )

    def posterior(self, **values: Any) -> Any:
        """Prior and posterior of every sensitive value in one class, as a frame.

        It has the kind of frame of the input.
        """
        return self.of_class(**values).to_frame()

    @checked
    def bands(self, bounds: tuple[float, float] = THIRDS) -> RiskBands:
        """The number of people at low, moderate and high risk by ITPR, and the drivers of ITPR.

        See Bkakria et al. 2021, section 5. The paper leaves the bounds to the data owner; the
        default, thirds, is ours.
        """
        self._check_itpr()
        return bands_of(self, bounds)

    @checked
    def repair(
        self,
        about: str | None = None,
        *,
        how: RepairKind = "records",
        steps: int = 10,
        limit: float = 0.05,
    ) -> Repair:
        """Choose records to suppress ("records") or to repair in one value ("cells") to lower ITPR.

        Each step lowers ITPR the most. It is ITPR of identity, or `about` a sensitive attribute.
        `limit` is the largest share of people whose records are changed. The search is greedy:
        another choice of as many classes may do better.
        """
        self._check_itpr()
        if about is not None and about not in self.beliefs:
            raise BadInput(
                f"{about!r} is not a sensitive attribute here", hint=nearest(about, self.beliefs)
            )
        return repair_of(self, about, how=how, steps=steps, limit=limit)

    @checked
    def independence(
        self, attribute: str | None = None, *, weigh: Weighing = "people"
    ) -> Independence:
        """Group the metrics by their order of the classes, with Spearman's rank correlation.

        Each class is weighted by its people. The result covers one sensitive attribute and the
        metrics of identity. Without sensitive attributes it covers only identity.
        """
        if attribute is None and len(self.beliefs) == 1:
            attribute = next(iter(self.beliefs))
        if attribute not in self.beliefs and (self.beliefs or attribute is not None):
            if attribute is None:
                message = "one of several attributes must be named"
            else:
                message = f"{attribute!r} is not sensitive here"
            raise BadInput(message, hint=nearest(attribute or "", self.beliefs))
        return independence_of(self, attribute, weigh=weigh)

    def _check_itpr(self) -> None:
        if self.overlapping:
            raise overlap_error("ITPR")

    def class_table(self) -> pa.Table:
        """The classes as an Arrow table: key columns, `size`, and one column per metric.

        Columns are named `identity.metric` for identity and `attribute.metric` for the others.
        """
        columns: dict[str, Any] = {
            key.name: self.contingency.key_column(position)
            for position, key in enumerate(self.contingency.keys)
        }
        size = "size"
        while size in columns:
            size = f"class {size}"
        columns[size] = self.contingency.sizes
        if "identity" not in self.sensitive:
            prefix = "identity"
        else:
            prefix = "(identity)"
        for attribute, scores in [(None, self.identity), *self.sensitive.items()]:
            for name, score in scores.items():
                if score.metric.per_class is not None:
                    columns[f"{prefix if attribute is None else attribute}.{name}"] = (
                        self.per_class(name, attribute)
                    )
        return pa.table(columns)

    def class_records(self) -> list[dict[str, Any]]:
        """The class table as the nested records of the JSON output."""
        identity = self._class_columns(self.identity, None)
        sensitive = {
            name: self._class_columns(scores, name) for name, scores in self.sensitive.items()
        }
        present = {
            name: np.isin(np.arange(len(self.contingency)), self.beliefs[name].classes)
            for name in sensitive
        }
        keys = [
            self.contingency.key_column(position).to_pylist()
            for position in range(len(self.contingency.keys))
        ]
        names = [key.name for key in self.contingency.keys]
        return [
            {
                "class": {name: column[index] for name, column in zip(names, keys, strict=True)},
                "size": int(self.contingency.sizes[index]),
                "identity": {name: numbers[index] for name, numbers in identity.items()},
                "sensitive": {
                    attribute: {name: numbers[index] for name, numbers in columns.items()}
                    for attribute, columns in sensitive.items()
                    if present[attribute][index]
                },
            }
            for index in range(len(self.contingency))
        ]

    def _class_columns(
        self, scores: Mapping[str, Score], attribute: str | None
    ) -> dict[str, list[float | int]]:
        return {
            name: [
                as_number(score.metric, number)
                for number in self.per_class(name, attribute).tolist()
            ]
            for name, score in scores.items()
            if score.metric.per_class is not None
        }


def score(contingency: Contingency, view: Identity | Belief) -> dict[str, Score]:
    """Scores of identity (the metrics that the data allow), or of one sensitive attribute."""
    scores: dict[str, Score] = {}
    if isinstance(view, Belief):
        about: str | None = view.cells.domain.name
        metrics: Sequence[Metric[Any]] = SENSITIVE
    else:
        about = None
        metrics = IDENTITY
    for metric in metrics:
        if isinstance(view, Identity) and not _is_available(metric, view):
            continue
        value, position = metric.value(view)
        worst = None
        if position is not None:
            if isinstance(view, Belief):
                index = int(view.classes[position])
            else:
                index = position
            worst = WorstClass(index, contingency.class_key(index), int(contingency.sizes[index]))
        scores[metric.name] = Score(metric, value, about, worst)
    return scores


def _is_available(metric: Metric[Any], view: Identity) -> bool:
    """Return True if the data allow a metric of identity."""
    if view.overlapping:
        return metric.overlapping
    return not metric.needs_population or view.population is not None


def needs_population(measured: str) -> BadInput:
    """Build the error for a metric that needs a population."""
    return BadInput(
        f"{measured} needs a population", hint="give a population table or a weight column"
    )


def overlap_error(measured: str) -> BadInput:
    """Build the error for a metric that is not available with wildcards."""
    return BadInput(
        f"{measured} cannot be told: {_OVERLAP_LIMITATION}",
        hint="Count what is suppressed as a value of its own",
    )


_OVERLAP_LIMITATION = (
    "with wildcards classes overlap, and only "
    f"{', '.join(metric.name for metric in IDENTITY if metric.overlapping)} are told"
)


# --- from counts to a measurement: form the beliefs, score every metric ---------------------------


def measure_request(
    request: Request, *, assumptions: Assumptions, population: Request | None
) -> Measurement:
    """Count, then measure in memory if there are few cells, else class by class."""
    LOG.info("counting classes of %d quasi-identifiers", len(request.roles.quasi_identifiers))
    counts = Counts.of(request)
    LOG.info("measuring")
    if population is None:
        population_counts = None
    else:
        population_counts = Counts.of(population)
    source = request.table
    roles = request.roles
    nulls = request.nulls
    if counts.is_small and (population_counts is None or population_counts.is_small):
        contingency = counts.collect()
        if population_counts is None:
            population_contingency = None
        else:
            population_contingency = population_counts.collect()
        del counts, population_counts  # frees the counted rows
        values = [
            cells.domain for name, cells in contingency.cells.items() if name in roles.sensitive
        ]
        people = int(contingency.sizes.sum())
        doubts, suppressed = request.doubts(
            wildcards.suspects_of(contingency), people, contingency.keys, values
        )
        contingency = replace(contingency, notes=(*contingency.notes, *doubts))
        if request.wildcards:
            measurement = _measure_overlapping(contingency, request)
        else:
            measurement = measure_counts(
                contingency,
                source,
                roles,
                assumptions=assumptions,
                nulls=nulls,
                population=population_contingency,
            )
        return replace(measurement, settings={**measurement.settings, "suppressed": suppressed})
    if request.wildcards:
        raise BadInput(
            f"{source.source} has {counts.cells:,} combinations of values, too many to look in "
            "memory for what matches a wildcard",
            hint="Name fewer quasi-identifiers, allow more memory, or count what is suppressed "
            "as a value of its own",
        )
    survey = survey_of(counts, population_counts, assumptions)
    sample = survey.sample
    counts_location = source.engine.storage.removeprefix("the ")
    settings = _settings(request, sample.beliefs, assumptions, population=population is not None)
    *notes, location_note = survey.contingency.notes
    pair_notes = _notes_on_pairs(survey.same_value) if roles.person is not None else ()
    contingency_with_notes = replace(
        survey.contingency, notes=(*notes, *assumptions.notes, *pair_notes, location_note)
    )
    surveyed = _measurement(
        contingency_with_notes,
        sample.identity,
        sample.beliefs,
        settings | {"counts": counts_location, "suppressed": dict(survey.suppressed)},
        source.frame,
    )
    return replace(surveyed, survey=survey)


def _measure_overlapping(contingency: Contingency, request: Request) -> Measurement:
    """Measure the number of people who match each class, if some cells match anything."""
    people_matching, without_values = wildcards.people_matching(contingency, request.wildcards)
    sizes = people_matching.astype(np.float64)
    row_counts = contingency.sizes.astype(np.float64)
    view = Identity(
        sizes, np.ones(len(sizes)), float(np.log2(row_counts.sum())), class_people=row_counts
    )
    if request.roles.sensitive:
        sensitive_note = f"; nothing about {', '.join(request.roles.sensitive)}"
    else:
        sensitive_note = ""
    notes = [f"{_OVERLAP_LIMITATION}{sensitive_note}"]
    if without_values:
        notes.append(
            f"{without_values:,} rows have nothing but wildcards: they match everybody and hide "
            "nobody else"
        )
    elif not (people_matching != contingency.sizes).any():
        notes.append("no record matches another one by a wildcard")
    settings = _settings(request, {}, Assumptions(), population=False)
    settings |= {"population": None, "population_estimator": None}
    if None in request.wildcards:
        settings["nulls"] = "wildcard"
    contingency_with_notes = replace(contingency, cells={}, notes=(*contingency.notes, *notes))
    return _measurement(contingency_with_notes, view, {}, settings, request.table.frame)


def survey_of(
    counts: Counts,
    register: Counts | None,
    assumptions: Assumptions,
    *,
    metrics: Sequence[str] | None = None,
) -> Survey:
    """Form the beliefs for the table as one class, and survey all classes.

    Prior, order and distances are taken from the beliefs about the table as one class.
    """
    request = counts.request
    codings: dict[str, ValueNumbers] = {}
    belief_bases: dict[str, BeliefBasis] = {}
    if request.roles.sensitive:
        marginals, codings = counts.one_class()
        for name in marginals.cells:
            class_prior = assumptions.conditional.get(name)
            other_priors = {key: prior for key, prior in assumptions.priors.items() if key != name}
            if class_prior is None:
                marginal_assumptions = assumptions
            else:
                marginal_assumptions = replace(
                    assumptions, priors=other_priors, original=None, original_values={}
                )
            belief = marginal_assumptions.belief(
                marginals, name, marginal_of_original(request.roles, request.nulls)
            )
            prior = class_prior or belief.prior
            knowledge = assumptions.knowledge.get(name)
            marginal = belief.cells.marginal
            belief_bases[name] = BeliefBasis(
                prior, belief.ground, knowledge, belief.recursive_l, marginal
            )
            coding = codings[name]
            target = belief.cells.domain
            if target is not coding.domain:  # an explicit order, or more values in the original
                codings[name] = replace(
                    coding, domain=target, codes=domain_codes(target, coding.domain.values)
                )
    return survey_classes(counts, codings, belief_bases, register=register, metrics=metrics)


def measure_counts(
    contingency: Contingency,
    source: Table,
    roles: Roles,
    *,
    assumptions: Assumptions,
    nulls: Nulls = "category",
    population: Contingency | None = None,
) -> Measurement:
    """Measure every metric of a counted table, optionally with a counted population."""
    marginal = marginal_of_original(roles, nulls)
    beliefs = {name: assumptions.belief(contingency, name, marginal) for name in contingency.cells}
    if population is None:
        sizes = None
    else:
        sizes = population_sizes(contingency, population)
    request = Request(source, roles, nulls, joint=False)
    settings = _settings(request, beliefs, assumptions, population=population is not None)
    pair_notes = (
        _notes_on_pairs(SameValue.by_attribute(contingency)) if roles.person is not None else ()
    )
    contingency_with_notes = replace(
        contingency, notes=(*contingency.notes, *assumptions.notes, *pair_notes)
    )
    return _measurement(
        contingency_with_notes, Identity.of(contingency, sizes), beliefs, settings, source.frame
    )


def _notes_on_pairs(same_value: Mapping[str, SameValue]) -> Iterator[str]:
    """Notes on attributes with several values per person, whose shares are not shares of people."""
    for name, largest in same_value.items():
        yield (
            f"somebody has several values of {name!r} in a class: its metrics are about pairs of "
            f"person and value. Of people, {largest.people_with_value:,} of {largest.people:,} in "
            "a class have the same value; a protection of a value bounds such a share"
        )


def _measurement(
    contingency: Contingency,
    view: Identity,
    beliefs: Mapping[str, Belief],
    settings: Mapping[str, Any],
    frame: str,
) -> Measurement:
    sensitive = {name: score(contingency, belief) for name, belief in beliefs.items()}
    return Measurement(
        contingency,
        view,
        beliefs,
        score(contingency, view),
        sensitive,
        settings,
        contingency.notes,
        frame=frame,
    )


def marginal_of_original(roles: Roles, nulls: Nulls) -> MarginalOf:
    """Return a function that aligns the marginal of an original with the cells of a table.

    It counts each attribute of the original once.
    """

    @cache
    def count_marginal(
        original: Table, columns: tuple[str, ...]
    ) -> tuple[Domain, Ints, Floats, float | None]:
        for name in columns:
            if name not in original.names:
                raise BadInput(
                    f"the original table ({original.source}) has no column {name!r}",
                    hint=nearest(name, original.names),
                )
        marginal_roles = resolve_roles(
            original, quasi_identifiers=columns, weight=roles.weight, person=roles.person
        )
        marginal = count(original, marginal_roles, nulls=nulls)
        parts = list(map(EncodedColumn, marginal.keys, marginal.codes))
        if len(parts) == 1:
            attribute = parts[0]
        else:
            attribute = joint_domain(parts)
        masses = marginal.sizes if marginal.population is None else marginal.population
        if roles.person is None:
            people = None
        else:
            people = float(marginal.people)
        return attribute.domain, attribute.int64_codes, masses.astype(float), people

    def marginal(original: Table, cells: Cells) -> tuple[Cells, PriorBelief]:
        columns = (cells.domain.name,) if cells.domain.name in roles.sensitive else roles.sensitive
        original_domain, codes, masses, people = count_marginal(original, columns)
        domain, table_codes, original_codes = align(cells.domain, original_domain)
        weights = np.zeros((1, len(domain)))
        np.add.at(weights[0], original_codes[codes], masses)
        return cells.recode(table_codes, domain), PriorBelief("original", weights, people=people)

    return marginal


def beliefs_by(
    assumptions: Assumptions, roles: Roles, nulls: Nulls
) -> Callable[[Contingency], dict[str, Belief]]:
    """Return a function from classes to beliefs, for any columns; the priors must be joint."""
    marginal = marginal_of_original(roles, nulls)

    def beliefs(contingency: Contingency) -> dict[str, Belief]:
        known_assumptions = assumptions.known_to([key.name for key in contingency.keys])
        return {
            name: known_assumptions.belief(contingency, name, marginal)
            for name in contingency.cells
        }

    return beliefs


def population_request(
    population: Table, roles: Roles, nulls: Nulls, *, people: str | None = None
) -> Request:
    """Build the request that counts a population by the quasi-identifiers.

    `people` is the column with the number of people that a row represents.
    """
    # A population table without the person column has one row per person.
    if roles.person in population.names:
        person = roles.person
    else:
        person = None
    population_roles = resolve_roles(
        population, quasi_identifiers=roles.quasi_identifiers, person=person
    )
    if people is not None:
        _check_people_column(population, population_roles, people)
    return Request(population, population_roles, nulls, joint=False, people=people)


def _check_people_column(population: Table, roles: Roles, people: str) -> None:
    """Raise an error if the column does not hold numbers of people."""
    if population.column(people).kind != "number" or people in roles.all_columns:
        message = f"{people!r} of {population.source} cannot say how many people a row stands for"
        raise BadInput(message, hint="name a column of whole numbers that has no other part")
    if roles.person is not None:
        message = (
            f"a population of counts names nobody, and {population.source} has the person column "
            f"{roles.person!r}"
        )
        raise BadInput(message, hint=f"leave {arg_name('population_count')} out, or that column")
    cell = population.engine.quote(people)
    invalid_count = (
        f"SUM(CASE WHEN {cell} IS NULL OR {cell} < 0 OR {cell} <> FLOOR({cell}) OR {cell} > 1e15 "
        "THEN 1 ELSE 0 END)"
    )
    invalid_rows = population.engine.query(
        f"SELECT {invalid_count} AS wrong FROM {population.relation}"
    ).to_pylist()[0]["wrong"]
    if invalid_rows:
        message = (
            f"{invalid_rows:,} rows of {population.source} have no number of people in {people!r}"
        )
        raise BadInput(message, hint="give whole numbers, 0 or more")


def count_population(
    table: Table, adversary: Adversary, roles: Roles, nulls: Nulls
) -> Contingency | None:
    """Read the adversary's population and count it in memory; None if there is none."""
    if adversary.population is None:
        return None
    population = read_with_engine_of(table, adversary.population)
    return count_in_memory(
        population_request(population, roles, nulls, people=adversary.population_count)
    )


def _settings(
    request: Request, beliefs: Mapping[str, Belief], assumptions: Assumptions, *, population: bool
) -> dict[str, Any]:
    """All settings on which a number depends."""
    source = request.table
    roles = request.roles
    if roles.weight:
        population_source = "weights"
    else:
        population_source = None
    if population:
        population_source = "table"
    return {
        "divulge": __version__,
        "engine": source.engine.name,
        "counts": "collected",
        **source.reading_settings,
        "quasi_identifiers": list(roles.quasi_identifiers),
        "sensitive": list(beliefs),
        "identifier": list(roles.identifier),
        "person": roles.person,
        "weight": roles.weight,
        "nulls": request.nulls,
        "suppressed": {text: how for text, how in request.suppression.items() if text is not None},
        "prior": {name: belief.prior.name for name, belief in beliefs.items()},
        "prior_weights": dict(assumptions.prior_weights),
        "original": None if assumptions.original is None else assumptions.original.source,
        "background": {
            name: knowledge.describe() for name, knowledge in assumptions.knowledge.items()
        },
        "ground_distance": {name: belief.ground.distance for name, belief in beliefs.items()},
        "orders": {name: list(order) for name, order in assumptions.ground.orders.items()},
        "recursive_l": {name: recursive_l(belief) for name, belief in beliefs.items()},
        "right_guess": {name: belief.ground.guess.text for name, belief in beliefs.items()},
        "population": population_source,
        "population_estimator": ESTIMATOR if roles.weight and not population else None,
        "log_base": 2,
        "tolerance": TOLERANCE,
    }
