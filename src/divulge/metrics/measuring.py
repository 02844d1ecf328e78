# SPDX-License-Identifier: Apache-2.0
"""From counts to a measurement: form what the adversary believes, score every metric, say what the numbers depend on.

Few cells are measured in memory, many where they are held, class by class; priors, orders and distances are the same on both ways.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from divulge.arrays import Floats, Ints
from divulge.belief import Assumptions, Belief, MarginalOf, PriorBelief
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
)
from divulge.errors import BadInput, nearest
from divulge.metrics.closeness import recursive_l
from divulge.metrics.identity import Identity
from divulge.metrics.measurement import Measurement, score
from divulge.metrics.metric import TOLERANCE
from divulge.metrics.survey import Outlook, Survey, survey_classes
from divulge.table import Roles, Table, read_beside, resolve_roles


def measure_request(request: Request, *, assumptions: Assumptions, population: Table | None) -> Measurement:
    """Count; then measure in memory if there are few cells, else class by class where they are held."""
    counts = Counts.of(request)
    register = None if population is None else Counts.of(population_request(population, request.roles, request.nulls))
    source, roles, nulls = request.table, request.roles, request.nulls
    if counts.is_small and (register is None or register.is_small):
        contingency, everybody = counts.collect(), None if register is None else register.collect()
        del counts, register  # the counted rows are not needed twice
        return measure_counts(contingency, source, roles, assumptions=assumptions, nulls=nulls, population=everybody)
    survey = survey_of(counts, register, assumptions)
    sample, where = survey.sample, source.engine.place.removeprefix("the ")
    settings = _settings(request, sample.beliefs, assumptions, population=population is not None)
    *notes, stayed = survey.contingency.notes
    noted = replace(survey.contingency, notes=(*notes, *assumptions.notes, stayed))
    measured = _measurement(noted, sample.identity, sample.beliefs, settings | {"counts": where}, source.frame)
    return replace(measured, survey=survey)


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
            assumed = assumptions if by_class is None else replace(assumptions, priors=others, original=None)
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
        contingency, view, beliefs, score(contingency, view), sensitive, settings, contingency.notes, frame
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


def population_request(everybody: Table, roles: Roles, nulls: Nulls) -> Request:
    """Count everybody by the quasi-identifiers."""
    # A register that does not name the person holds one row for each.
    person = roles.person if roles.person in everybody.names else None
    known = resolve_roles(everybody, quasi_identifiers=roles.quasi_identifiers, person=person)
    return Request(everybody, known, nulls, joint=False)


def count_population(beside: Table, population: Any, roles: Roles, nulls: Nulls) -> Contingency | None:
    """A population, opened beside its table and counted in memory; None where there is none."""
    if population is None:
        return None
    return count_in_memory(population_request(read_beside(beside, population), roles, nulls))


def _settings(
    request: Request, beliefs: Mapping[str, Belief], assumptions: Assumptions, *, population: bool
) -> dict[str, Any]:
    """Everything that a number depends on."""
    from divulge.version import __version__

    source, roles = request.table, request.roles
    return {
        "divulge": __version__,
        "engine": source.engine.name,
        "counts": "collected",
        "source": source.source,
        "quasi_identifiers": list(roles.quasi_identifiers),
        "sensitive": list(beliefs),
        "identifier": list(roles.identifier),
        "person": roles.person,
        "weight": roles.weight,
        "nulls": request.nulls,
        "prior": {name: belief.prior.name for name, belief in beliefs.items()},
        "prior_weights": dict(assumptions.prior_weights),
        "original": None if assumptions.original is None else assumptions.original.source,
        "background": {name: known.describe() for name, known in assumptions.knowledge.items()},
        "ground_distance": {name: belief.ground.distance for name, belief in beliefs.items()},
        "orders": {name: list(order) for name, order in assumptions.ground.orders.items()},
        "recursive_l": {name: recursive_l(belief) for name, belief in beliefs.items()},
        "population": "table" if population else ("weights" if roles.weight else None),
        "log_base": 2,
        "tolerance": TOLERANCE,
    }
