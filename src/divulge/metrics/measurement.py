# SPDX-License-Identifier: Apache-2.0
"""What was measured: every metric's number, the class that is worst, the settings that gave the numbers; and the way there from counts.

Few cells are measured in memory, many where they are held, class by class; priors, orders and distances are the same on both ways.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from divulge import results
from divulge.arrays import Floats, Ints
from divulge.belief import Adversary, Assumptions, Belief, MarginalOf, PriorBelief
from divulge.count import (
    Cells,
    Contingency,
    Counts,
    Domain,
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
from divulge.metrics.catalogue import IDENTITY, SENSITIVE, TOLERANCE, Metric, find_metric
from divulge.metrics.closeness import recursive_l
from divulge.metrics.identity import ESTIMATOR, Identity
from divulge.metrics.independence import Independence, Weighing, independence_of
from divulge.metrics.itpr import THIRDS, How, Repair, RiskBands, bands_of, repair_of
from divulge.metrics.one_class import ClassScore, OneClass, find_class, shares_in
from divulge.metrics.survey import Answer, Outlook, Question, Survey, answer, survey_classes
from divulge.results import Result
from divulge.table import Roles, Table, read_beside, resolve_roles
from divulge.values import checked
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
    """One metric's number for the table; `worst` is the class that decides it, where classes have a number of their own."""

    metric: Metric[Any]
    value: float
    attribute: str | None
    worst: WorstClass | None

    @property
    def number(self) -> float | int:
        """The value, as a whole number where people, classes or values are counted."""
        return as_number(self.metric, self.value)


def as_number(metric: Metric[Any], value: float) -> float | int:
    """A count as a whole number, everything else as it is."""
    return int(value) if metric.unit in _WHOLE_UNITS and float(value).is_integer() else float(value)


@dataclass(frozen=True, eq=False, repr=False)
class Measurement(Result):
    """All metrics of one table under one choice of roles."""

    view = "measurement"

    contingency: Contingency = field(repr=False)
    """The classes; where they stayed on disk or on a cluster, the worst of them by each metric."""
    identity_view: Identity = field(repr=False)
    beliefs: Mapping[str, Belief] = field(repr=False)
    identity: Mapping[str, Score]
    sensitive: Mapping[str, Mapping[str, Score]]
    settings: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    survey: Survey | None = field(default=None, repr=False)
    """All classes, where they stayed on disk or on a cluster."""

    @property
    def class_count(self) -> int:
        """How many classes the table has."""
        return len(self.contingency) if self.survey is None else self.survey.classes

    def ask(self, questions: Sequence[Question], *, most: int = 10) -> list[Answer]:
        """Which classes are beyond a bound, among all classes of the table; up to `most` of them are named."""
        if self.survey is not None:
            return self.survey.ask(questions, most=most)
        return [
            answer(question, self.contingency, question.view(self.identity_view, self.beliefs), most=most)
            for question in questions
        ]

    @property
    def overlapping(self) -> bool:
        """Whether wildcards make a person match several classes, so that few metrics are told."""
        return self.identity_view.overlapping

    @property
    def rows(self) -> int:
        """Rows counted."""
        return self.contingency.rows

    @property
    def people(self) -> int:
        """People among them."""
        return self.contingency.people

    def __getitem__(self, name: str) -> Score:
        """The score of a metric; with several sensitive attributes, the worst of theirs."""
        found = [scores[name] for scores in self.sensitive.values() if name in scores]
        if found:
            metric = found[0].metric
            return max(found, key=lambda score: score.value if metric.worse == "high" else -score.value)
        if name in self.identity:
            return self.identity[name]
        if self.overlapping:
            raise not_told(repr(find_metric(name).name))
        known = {*self.identity, *(key for scores in self.sensitive.values() for key in scores)}
        raise BadInput(f"{name!r} was not measured", hint=nearest(name, sorted(known)))

    def information_about(self, attribute: str) -> tuple[float, float]:
        """What the classes tell of a sensitive attribute on average, in bits: by the table's own distribution, and against the prior."""
        scores = self.sensitive[attribute]
        return scores["mutual_information"].value, scores["average_surprise"].value

    def per_class(self, name: str, attribute: str | None = None) -> Floats:
        """One number per class; nan for a class that background knowledge excludes."""
        metric: Metric[Any] = find_metric(name, "identity" if attribute is None else "sensitive")
        if metric.per_class is None:
            raise BadInput(f"{name!r} is a number of the whole table, not of a class")
        if attribute is None:
            if name not in self.identity:
                raise not_told(repr(name)) if self.overlapping else needs_population(repr(name))
            return metric.per_class(self.identity_view) + 0.0  # -0.0 + 0.0 is 0.0
        if attribute not in self.beliefs:
            raise BadInput(f"{attribute!r} is not a sensitive attribute here", hint=nearest(attribute, self.beliefs))
        belief = self.beliefs[attribute]
        numbers = np.full(len(self.contingency), np.nan)
        numbers[belief.classes] = metric.per_class(belief) + 0.0
        return numbers

    @cached_property
    def classes(self) -> Any:
        """One row per class with all per-class metrics, as the kind of frame that was handed in.

        Where the classes stayed on disk or on a cluster, these are the worst of them; a note says how many there are.
        """
        return results.as_frame(self.class_table(), self.frame)

    def of_class(self, **values: Any) -> OneClass:
        """One class in full, by a value of each quasi-identifier: `m.of_class(zip="042**", age=">=80")`.

        Where the classes stayed on disk or on a cluster, only the worst of them can be asked for.
        """
        index = find_class(self.contingency, values, among=self.class_count)
        believed = {name: belief for name, belief in self.beliefs.items() if index in belief.classes}
        scores = [
            ClassScore(score.metric, as_number(score.metric, float(self.per_class(name, attribute)[index])), attribute)
            for attribute, named in [(None, self.identity), *((name, self.sensitive[name]) for name in believed)]
            for name, score in named.items()
            if score.metric.per_class is not None
        ]
        return OneClass(
            key=self.contingency.class_key(index),
            size=int(self.contingency.sizes[index]),
            of_people=self.people,
            shares={name: tuple(shares_in(belief, index)) for name, belief in believed.items()},
            scores=tuple(scores),
            settings=self.settings,
            frame=self.frame,
        )

    def posterior(self, **values: Any) -> Any:
        """What is believed of every sensitive value before and after a class is known, as the kind of frame that was handed in."""
        return self.of_class(**values).to_frame()

    @checked
    def bands(self, bounds: tuple[float, float] = THIRDS) -> RiskBands:
        """How many people are at low, moderate and high risk by ITPR, and what it grows with (Bkakria et al. 2021, section 5).

        The paper leaves the bounds to the data owner; the default, thirds, is ours.
        """
        self._has_itpr()
        return bands_of(self, bounds)

    @checked
    def repair(self, about: str | None = None, *, how: How = "records", steps: int = 10, limit: float = 0.05) -> Repair:
        """Which records to leave out ("records"), or of which a value to repair ("cells"), so that ITPR falls most in each step.

        It is ITPR of identity, or `about` a sensitive attribute; `limit` is the largest share of people whose records are touched. Greedy:
        another choice of as many classes may do better.
        """
        self._has_itpr()
        if about is not None and about not in self.beliefs:
            raise BadInput(f"{about!r} is not a sensitive attribute here", hint=nearest(about, self.beliefs))
        return repair_of(self, about, how=how, steps=steps, limit=limit)

    @checked
    def independence(self, attribute: str | None = None, *, weigh: Weighing = "people") -> Independence:
        """Which metrics order the classes alike, and which add something: Spearman's correlation, each class as heavy as its people.

        About one sensitive attribute, with the metrics of identity; where there are none, about identity alone.
        """
        if attribute is None and len(self.beliefs) == 1:
            attribute = next(iter(self.beliefs))
        if attribute not in self.beliefs and (self.beliefs or attribute is not None):
            told = (
                "one of several attributes must be named"
                if attribute is None
                else f"{attribute!r} is not sensitive here"
            )
            raise BadInput(told, hint=nearest(attribute or "", self.beliefs))
        return independence_of(self, attribute, weigh=weigh)

    def _has_itpr(self) -> None:
        if self.overlapping:
            raise not_told("ITPR")

    def class_table(self) -> pa.Table:
        """The same as an Arrow table: the key columns, `size`, then `metric` for identity and `attribute.metric` for the rest."""
        columns: dict[str, Any] = {
            key.name: self.contingency.key_column(position) for position, key in enumerate(self.contingency.keys)
        }
        size = "size"
        while size in columns:
            size = f"class {size}"
        columns[size] = self.contingency.sizes
        prefix = "identity" if "identity" not in self.sensitive else "(identity)"
        for attribute, scores in [(None, self.identity), *self.sensitive.items()]:
            for name, score in scores.items():
                if score.metric.per_class is not None:
                    columns[f"{prefix if attribute is None else attribute}.{name}"] = self.per_class(name, attribute)
        return pa.table(columns)

    def class_records(self) -> list[dict[str, Any]]:
        """The class table as the nested records of the JSON document."""
        identity = self._class_columns(self.identity, None)
        sensitive = {name: self._class_columns(scores, name) for name, scores in self.sensitive.items()}
        present = {name: np.isin(np.arange(len(self.contingency)), self.beliefs[name].classes) for name in sensitive}
        keys = [self.contingency.key_column(position).to_pylist() for position in range(len(self.contingency.keys))]
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

    def _class_columns(self, scores: Mapping[str, Score], attribute: str | None) -> dict[str, list[float | int]]:
        return {
            name: [as_number(score.metric, number) for number in self.per_class(name, attribute).tolist()]
            for name, score in scores.items()
            if score.metric.per_class is not None
        }


def score(contingency: Contingency, view: Identity | Belief) -> dict[str, Score]:
    """Every metric of identity that the data allow, or of one sensitive attribute."""
    found: dict[str, Score] = {}
    about = view.cells.domain.name if isinstance(view, Belief) else None
    metrics: Sequence[Metric[Any]] = SENSITIVE if isinstance(view, Belief) else IDENTITY
    for metric in metrics:
        if isinstance(view, Identity) and not _is_told(metric, view):
            continue
        value, place = metric.value(view)
        worst = None
        if place is not None:
            index = int(view.classes[place]) if isinstance(view, Belief) else place
            worst = WorstClass(index, contingency.class_key(index), int(contingency.sizes[index]))
        found[metric.name] = Score(metric, value, about, worst)
    return found


def _is_told(metric: Metric[Any], view: Identity) -> bool:
    """Whether the data allow a metric of identity."""
    if view.overlapping:
        return metric.overlapping
    return not metric.needs_population or view.population is not None


def needs_population(what: str) -> BadInput:
    """There is none."""
    return BadInput(f"{what} needs a population", hint="give a population table or a weight column")


def not_told(what: str) -> BadInput:
    """Wildcards are in force."""
    return BadInput(f"{what} cannot be told: {_ONLY_THESE}", hint="Count what is suppressed as a value of its own")


_ONLY_THESE = (
    "with wildcards classes overlap, and only "
    f"{', '.join(metric.name for metric in IDENTITY if metric.overlapping)} are told"
)


# --- From counts to a measurement: form what the adversary believes, score every metric ---------------------------------


def measure_request(request: Request, *, assumptions: Assumptions, population: Request | None) -> Measurement:
    """Count; then measure in memory if there are few cells, else class by class where they are held."""
    LOG.info("counting classes of %d quasi-identifiers", len(request.roles.quasi_identifiers))
    counts = Counts.of(request)
    LOG.info("measuring")
    register = None if population is None else Counts.of(population)
    source, roles, nulls = request.table, request.roles, request.nulls
    if counts.is_small and (register is None or register.is_small):
        contingency, everybody = counts.collect(), None if register is None else register.collect()
        del counts, register  # the counted rows are not needed twice
        values = [cells.domain for name, cells in contingency.cells.items() if name in roles.sensitive]
        people = int(contingency.sizes.sum())
        doubts, suppressed = request.doubts(wildcards.suspects_of(contingency), people, contingency.keys, values)
        contingency = replace(contingency, notes=(*contingency.notes, *doubts))
        if request.wildcards:
            found = _measure_overlapping(contingency, request)
        else:
            found = measure_counts(
                contingency, source, roles, assumptions=assumptions, nulls=nulls, population=everybody
            )
        return replace(found, settings={**found.settings, "suppressed": suppressed})
    if request.wildcards:
        raise BadInput(
            f"{source.source} has {counts.cells:,} combinations of values, too many to look in memory for what matches a wildcard",
            hint="Name fewer quasi-identifiers, allow more memory, or count what is suppressed as a value of its own",
        )
    survey = survey_of(counts, register, assumptions)
    sample, where = survey.sample, source.engine.place.removeprefix("the ")
    settings = _settings(request, sample.beliefs, assumptions, population=population is not None)
    *notes, stayed = survey.contingency.notes
    noted = replace(survey.contingency, notes=(*notes, *assumptions.notes, stayed))
    measured = _measurement(
        noted,
        sample.identity,
        sample.beliefs,
        settings | {"counts": where, "suppressed": dict(survey.suppressed)},
        source.frame,
    )
    return replace(measured, survey=survey)


def _measure_overlapping(contingency: Contingency, request: Request) -> Measurement:
    """How many people each class matches, where some cells match anything."""
    matches, without_values = wildcards.people_matching(contingency, request.wildcards)
    sizes = matches.astype(np.float64)
    own = contingency.sizes.astype(np.float64)
    view = Identity(sizes, np.ones(len(sizes)), float(np.log2(own.sum())), own=own)
    about = f"; nothing about {', '.join(request.roles.sensitive)}" if request.roles.sensitive else ""
    notes = [f"{_ONLY_THESE}{about}"]
    if without_values:
        notes.append(f"{without_values:,} rows have nothing but wildcards: they match everybody and hide nobody else")
    elif not (matches != contingency.sizes).any():
        notes.append("no record matches another one by a wildcard")
    settings = _settings(request, {}, Assumptions(), population=False)
    settings |= {"population": None, "population_estimator": None}
    if None in request.wildcards:
        settings["nulls"] = "wildcard"
    noted = replace(contingency, cells={}, notes=(*contingency.notes, *notes))
    return _measurement(noted, view, {}, settings, request.table.frame)


def survey_of(
    counts: Counts, register: Counts | None, assumptions: Assumptions, *, metrics: Sequence[str] | None = None
) -> Survey:
    """Form the beliefs about the table as one class, and take prior, order and distances from there to all classes."""
    request = counts.request
    codings: dict[str, ValueNumbers] = {}
    outlooks: dict[str, Outlook] = {}
    if request.roles.sensitive:
        marginals, codings = counts.one_class()
        for name in marginals.cells:
            by_class = assumptions.conditional.get(name)
            others = {key: prior for key, prior in assumptions.priors.items() if key != name}
            assumed = (
                assumptions
                if by_class is None
                else replace(assumptions, priors=others, original=None, original_values={})
            )
            belief = assumed.belief(marginals, name, marginal_of_original(request.roles, request.nulls))
            prior, known, marginal = by_class or belief.prior, assumptions.knowledge.get(name), belief.cells.marginal
            outlooks[name] = Outlook(prior, belief.ground, known, belief.recursive_l, marginal)
            coding, target = codings[name], belief.cells.domain
            if target is not coding.domain:  # an order was given, or an original has more values
                codings[name] = replace(coding, domain=target, codes=domain_codes(target, coding.domain.values))
    return survey_classes(counts, codings, outlooks, register=register, metrics=metrics)


def measure_counts(
    contingency: Contingency,
    source: Table,
    roles: Roles,
    *,
    assumptions: Assumptions,
    nulls: Nulls = "category",
    population: Contingency | None = None,
) -> Measurement:
    """Every metric of a table that has been counted, and its population with it."""
    marginal = marginal_of_original(roles, nulls)
    beliefs = {name: assumptions.belief(contingency, name, marginal) for name in contingency.cells}
    sizes = None if population is None else population_sizes(contingency, population)
    request = Request(source, roles, nulls, joint=False)
    settings = _settings(request, beliefs, assumptions, population=population is not None)
    noted = replace(contingency, notes=(*contingency.notes, *assumptions.notes))
    return _measurement(noted, Identity.of(contingency, sizes), beliefs, settings, source.frame)


def _measurement(
    contingency: Contingency, view: Identity, beliefs: Mapping[str, Belief], settings: Mapping[str, Any], frame: str
) -> Measurement:
    sensitive = {name: score(contingency, belief) for name, belief in beliefs.items()}
    return Measurement(
        contingency, view, beliefs, score(contingency, view), sensitive, settings, contingency.notes, frame=frame
    )


def marginal_of_original(roles: Roles, nulls: Nulls) -> MarginalOf:
    """Counts the values of an original table, each attribute once, and lines them up with those of the table at hand."""

    @cache
    def counted(original: Table, columns: tuple[str, ...]) -> tuple[Domain, Ints, Floats]:
        for name in columns:
            if name not in original.names:
                raise BadInput(
                    f"the original table ({original.source}) has no column {name!r}", hint=nearest(name, original.names)
                )
        known = resolve_roles(original, quasi_identifiers=columns, weight=roles.weight, person=roles.person)
        marginal = count(original, known, nulls=nulls)
        parts = list(zip(marginal.keys, marginal.codes, strict=True))
        domain, codes = parts[0] if len(parts) == 1 else joint_domain(parts)
        return domain, codes, (marginal.sizes if marginal.population is None else marginal.population).astype(float)

    def marginal(original: Table, cells: Cells) -> tuple[Cells, PriorBelief]:
        columns = (cells.domain.name,) if cells.domain.name in roles.sensitive else roles.sensitive
        found, codes, people = counted(original, columns)
        domain, ours, theirs = align(cells.domain, found)
        weights = np.zeros((1, len(domain)))
        np.add.at(weights[0], theirs[codes], people)
        return cells.recode(ours, domain), PriorBelief("original", weights)

    return marginal


def beliefs_by(assumptions: Assumptions, roles: Roles, nulls: Nulls) -> Callable[[Contingency], dict[str, Belief]]:
    """What she believes about the classes of any columns of a table; her priors are joint."""
    marginal = marginal_of_original(roles, nulls)

    def beliefs(contingency: Contingency) -> dict[str, Belief]:
        known = assumptions.known_to([key.name for key in contingency.keys])
        return {name: known.belief(contingency, name, marginal) for name in contingency.cells}

    return beliefs


def population_request(everybody: Table, roles: Roles, nulls: Nulls, *, people: str | None = None) -> Request:
    """Count everybody by the quasi-identifiers; `people` is the column that says how many a row stands for."""
    # A register that does not name the person holds one row for each.
    person = roles.person if roles.person in everybody.names else None
    known = resolve_roles(everybody, quasi_identifiers=roles.quasi_identifiers, person=person)
    if people is not None:
        _check_people(everybody, known, people)
    return Request(everybody, known, nulls, joint=False, people=people)


def _check_people(everybody: Table, roles: Roles, people: str) -> None:
    """Refuse what is no number of people."""
    if everybody.column(people).kind != "number" or people in roles.named:
        told = f"{people!r} of {everybody.source} cannot say how many people a row stands for"
        raise BadInput(told, hint="name a column of whole numbers that has no other part")
    if roles.person is not None:
        told = f"a population of counts names nobody, and {everybody.source} has the person column {roles.person!r}"
        raise BadInput(told, hint="leave population_count out, or that column")
    cell = everybody.engine.quote(people)
    wrong = f"SUM(CASE WHEN {cell} IS NULL OR {cell} < 0 OR {cell} <> FLOOR({cell}) OR {cell} > 1e15 THEN 1 ELSE 0 END)"
    found = everybody.engine.query(f"SELECT {wrong} AS wrong FROM {everybody.relation}").to_pylist()[0]["wrong"]
    if found:
        told = f"{found:,} rows of {everybody.source} have no number of people in {people!r}"
        raise BadInput(told, hint="give whole numbers, 0 or more")


def count_population(beside: Table, adversary: Adversary, roles: Roles, nulls: Nulls) -> Contingency | None:
    """Her population, opened beside its table and counted in memory; None where there is none."""
    if adversary.population is None:
        return None
    everybody = read_beside(beside, adversary.population)
    return count_in_memory(population_request(everybody, roles, nulls, people=adversary.population_count))


def _settings(
    request: Request, beliefs: Mapping[str, Belief], assumptions: Assumptions, *, population: bool
) -> dict[str, Any]:
    """Everything that a number depends on."""
    source, roles = request.table, request.roles
    return {
        "divulge": __version__,
        "engine": source.engine.name,
        "counts": "collected",
        **source.told,
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
        "background": {name: known.describe() for name, known in assumptions.knowledge.items()},
        "ground_distance": {name: belief.ground.distance for name, belief in beliefs.items()},
        "orders": {name: list(order) for name, order in assumptions.ground.orders.items()},
        "recursive_l": {name: recursive_l(belief) for name, belief in beliefs.items()},
        "right_guess": {name: belief.ground.guess.text for name, belief in beliefs.items()},
        "population": "table" if population else ("weights" if roles.weight else None),
        "population_estimator": ESTIMATOR if roles.weight and not population else None,
        "log_base": 2,
        "tolerance": TOLERANCE,
    }
