# SPDX-License-Identifier: Apache-2.0
"""measure(): from a table to every metric: read, resolve roles, count, form beliefs, score."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from divulge.belief import Belief, GroundChoice, Knowledge, Prior, Taxonomy, as_share, read_knowledge, read_prior
from divulge.count import Cells, Contingency, Nulls, count
from divulge.count.align import align, population_sizes
from divulge.count.assemble import Coding, joint_domain
from divulge.count.contingency import Floats
from divulge.count.counting import Request
from divulge.count.counts import Counts
from divulge.errors import BadInput, nearest
from divulge.metrics import TOLERANCE, Identity
from divulge.metrics.diversity import recursive_l
from divulge.metrics.measurement import Measurement, score_attribute, score_identity
from divulge.table.read import read, read_beside
from divulge.table.roles import Roles, resolve_roles
from divulge.table.table import Table
from divulge.tasks.distributed import Survey, outlook_of, recoded, survey_classes
from divulge.tasks.partition import Outlook

Names = str | Sequence[str]
Values = Mapping[str, Sequence[str | None] | str] | Iterable[str]


@dataclass(frozen=True)
class Assumptions:
    """What is assumed about the adversary and about distances, by attribute; recorded in every result."""

    original: Table | None = None
    original_masses: Mapping[str, Floats] = field(default_factory=dict)
    """The original's mass of each value of an attribute, where the original has been counted over the same values."""
    priors: Mapping[str, Any] = field(default_factory=dict)
    knowledge: Mapping[str, Knowledge] = field(default_factory=dict)
    ground: GroundChoice = field(default_factory=GroundChoice)
    recursive_l: int | None = None


def measure(
    table: Any,
    *,
    quasi_identifiers: Names,
    sensitive: Names = (),
    identifier: Names = (),
    weight: str | None = None,
    person: str | None = None,
    nulls: Nulls = "category",
    joint: bool = False,
    original: Any = None,
    prior: Any = None,
    rule_out: Values = (),
    rule_in: Values = (),
    distances: Mapping[str, str] | None = None,
    taxonomies: Mapping[str, Taxonomy] | None = None,
    orders: Mapping[str, Sequence[str]] | None = None,
    recursive_l: int | None = None,
    population: Any = None,
    engine: Any = None,
) -> Measurement:
    """Measure what a table gives away about the people in it.

    `engine` is "duckdb" (the default), "spark", or an engine of yours; a Spark frame brings its own session.

    >>> import pyarrow as pa
    >>> people = pa.table({"zip": ["1", "1", "2", "2"], "disease": ["flu", "flu", "flu", "cancer"]})
    >>> m = measure(people, quasi_identifiers="zip", sensitive="disease")
    >>> m["k_anonymity"].value, m["l_diversity"].worst.key
    (2.0, {'zip': '1'})
    """
    source = read(table, engine=engine)
    roles = resolve_roles(
        source,
        quasi_identifiers=quasi_identifiers,
        sensitive=sensitive,
        identifier=identifier,
        weight=weight,
        person=person,
        declared=True,
    )
    assumptions = assume(
        roles,
        original=None if original is None else read_beside(source, original),
        prior=prior,
        rule_out=rule_out,
        rule_in=rule_in,
        distances=distances,
        taxonomies=taxonomies,
        orders=orders,
        recursive_l=recursive_l,
    )
    everybody = None if population is None else read_beside(source, population)
    return _measure_held(Request(source, roles, nulls, joint), assumptions=assumptions, population=everybody)


def assume(
    roles: Roles,
    *,
    original: Any = None,
    prior: Any = None,
    rule_out: Values = (),
    rule_in: Values = (),
    distances: Mapping[str, str] | None = None,
    taxonomies: Mapping[str, Taxonomy] | None = None,
    orders: Mapping[str, Sequence[str]] | None = None,
    recursive_l: int | None = None,
) -> Assumptions:
    """Check what the user assumes against the roles."""
    _check_recursive_l(recursive_l)
    return Assumptions(
        original=None if original is None else read(original),
        priors=_by_attribute(prior, roles),
        knowledge=_known(read_knowledge(rule_out, rule_in), roles, "background knowledge"),
        ground=GroundChoice(
            _known(distances or {}, roles, "a distance"),
            _known(taxonomies or {}, roles, "a taxonomy"),
            _known(orders or {}, roles, "an order"),
        ),
        recursive_l=recursive_l,
    )


def _measure_held(request: Request, *, assumptions: Assumptions, population: Table | None) -> Measurement:
    """Count; then measure in memory if there are few cells, else class by class where they are held."""
    counts = Counts.of(request)
    register = None if population is None else Counts.of(population_request(population, request.roles, request.nulls))
    if counts.is_small and (register is None or register.is_small):
        contingency, everybody = counts.collect(), None if register is None else register.collect()
        del counts, register  # the counted rows are not needed twice
        return measure_counts(
            contingency,
            request.table,
            request.roles,
            assumptions=assumptions,
            nulls=request.nulls,
            population=everybody,
        )
    survey = _survey(counts, register, assumptions)
    settings = settings_of(
        request.table,
        request.roles,
        survey.sample.beliefs,
        assumptions,
        nulls=request.nulls,
        population=population is not None,
        counts=request.table.engine.place.removeprefix("the "),
    )
    return measurement_of(
        survey.contingency,
        survey.sample.identity,
        survey.sample.beliefs,
        settings=settings,
        frame=request.table.frame,
        survey=survey,
    )


def _survey(counts: Counts, register: Counts | None, assumptions: Assumptions) -> Survey:
    """Form the beliefs about the table as one class, and take prior, order and distances from there to all classes."""
    request = counts.request
    codings: dict[str, Coding] = {}
    outlooks: dict[str, Outlook] = {}
    if request.roles.sensitive:
        marginals, codings = counts.one_class()
        for name in marginals.cells:
            given = read_prior(assumptions.priors[name], name) if name in assumptions.priors else None
            by_class = given if given is not None and given.conditions else None
            others = {key: prior for key, prior in assumptions.priors.items() if key != name}
            assumed = assumptions if by_class is None else replace(assumptions, priors=others, original=None)
            belief = form_belief(marginals, name, assumed, roles=request.roles, nulls=request.nulls)
            outlooks[name] = outlook_of(belief, knowledge=assumptions.knowledge.get(name), given=by_class)
            codings[name] = recoded(codings[name], belief)
    return survey_classes(counts, codings, outlooks, register=register)


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
    beliefs = {
        name: form_belief(contingency, name, assumptions, roles=roles, nulls=nulls) for name in contingency.cells
    }
    sizes = None if population is None else population_sizes(contingency, population)
    settings = settings_of(source, roles, beliefs, assumptions, nulls=nulls, population=population is not None)
    return measurement_of(contingency, Identity.of(contingency, sizes), beliefs, settings=settings, frame=source.frame)


def measurement_of(
    contingency: Contingency,
    view: Identity,
    beliefs: Mapping[str, Belief],
    *,
    settings: Mapping[str, Any],
    frame: str,
    survey: Survey | None = None,
) -> Measurement:
    """Score every metric; `survey` knows all classes where the contingency holds only the worst."""
    return Measurement(
        contingency=contingency,
        identity_view=view,
        beliefs=beliefs,
        identity=score_identity(contingency, view),
        sensitive={name: score_attribute(contingency, belief) for name, belief in beliefs.items()},
        settings=settings,
        notes=contingency.notes,
        frame=frame,
        survey=survey,
    )


def form_belief(
    contingency: Contingency, attribute: str, assumptions: Assumptions, *, roles: Roles, nulls: Nulls
) -> Belief:
    """Prior and posterior of one attribute under the assumptions."""
    cells = contingency.cells[attribute]
    if attribute in assumptions.priors:
        prior = read_prior(assumptions.priors[attribute], attribute).against(contingency)
    elif attribute in assumptions.original_masses:
        prior = Prior("original", assumptions.original_masses[attribute][None, :])
    elif assumptions.original is not None:
        cells, prior = _prior_of_original(cells, assumptions.original, roles, nulls)
    else:
        prior = Prior("table", cells.marginal[None, :])
    arranged = assumptions.ground.arrange(cells)
    if arranged is not cells:
        codes = [cells.domain.labels.index(label) for label in arranged.domain.labels]
        prior = Prior(prior.name, prior.weights[:, codes], prior.row)
    ground = assumptions.ground.ground(arranged)
    classes = np.arange(len(contingency), dtype=np.int64)
    if attribute in assumptions.knowledge:
        arranged, prior, classes = assumptions.knowledge[attribute].apply(arranged, prior)
    return Belief(arranged, prior, ground, classes, assumptions.recursive_l)


def _prior_of_original(cells: Cells, original: Table, roles: Roles, nulls: Nulls) -> tuple[Cells, Prior]:
    """The marginal of the original table, over the values of both tables."""
    columns = (cells.domain.name,) if cells.domain.name in roles.sensitive else roles.sensitive
    for name in columns:
        if name not in original.names:
            raise BadInput(
                f"the original table ({original.source}) has no column {name!r}", hint=nearest(name, original.names)
            )
    marginal = count(
        original,
        resolve_roles(original, quasi_identifiers=columns, weight=roles.weight, person=roles.person),
        nulls=nulls,
    )
    parts = list(zip(marginal.keys, marginal.codes, strict=True))
    counted, codes = parts[0] if len(parts) == 1 else joint_domain(parts)
    domain, ours, theirs = align(cells.domain, counted)
    weights = np.zeros((1, len(domain)))
    np.add.at(weights[0], theirs[codes], marginal.sizes if marginal.population is None else marginal.population)
    return cells.recode(ours, domain), Prior("original", weights)


def population_request(population: Any, roles: Roles, nulls: Nulls) -> Request:
    """Count everybody by the quasi-identifiers."""
    everybody = read(population)
    # A register that does not name the person holds one row for each.
    person = roles.person if roles.person in everybody.names else None
    known = resolve_roles(everybody, quasi_identifiers=roles.quasi_identifiers, person=person)
    return Request(everybody, known, nulls, joint=False)


def _check_recursive_l(given: Any) -> None:
    if given is not None and (isinstance(given, bool) or not isinstance(given, int) or given < 1):
        raise BadInput(f"recursive_l={given!r} is not possible", hint="l is a whole number, at least 1")


def _by_attribute(prior: Any, roles: Roles) -> dict[str, Any]:
    """A prior for the only sensitive attribute, or a mapping from attribute to prior."""
    if prior is None:
        return {}
    if isinstance(prior, Mapping) and prior and all(as_share(item) is None for item in prior.values()):
        return dict(_known(prior, roles, "a prior"))
    if len(roles.sensitive) != 1:
        raise BadInput(
            f"one prior for {len(roles.sensitive)} sensitive attributes",
            hint="give a mapping from attribute to prior (--prior COLUMN=FILE for each)",
        )
    if isinstance(prior, (str, Path, Mapping, Sequence)):
        return {roles.sensitive[0]: prior}
    raise BadInput(f"a prior cannot be read from {type(prior).__name__}", hint="use a CSV file, a mapping or rows")


def _known(given: Mapping[str, Any], roles: Roles, what: str) -> Mapping[str, Any]:
    for name in given:
        if name not in roles.sensitive:
            raise BadInput(
                f"{what} is given for {name!r}, which is not a sensitive attribute here",
                hint=nearest(name, roles.sensitive),
            )
    return given


def settings_of(
    source: Table,
    roles: Roles,
    beliefs: Mapping[str, Belief],
    assumptions: Assumptions,
    *,
    nulls: Nulls,
    population: bool,
    counts: str = "collected",
) -> dict[str, Any]:
    """Everything that a number depends on."""
    from divulge import __version__

    return {
        "divulge": __version__,
        "engine": source.engine.name,
        "counts": counts,
        "source": source.source,
        "quasi_identifiers": list(roles.quasi_identifiers),
        "sensitive": list(beliefs),
        "identifier": list(roles.identifier),
        "person": roles.person,
        "weight": roles.weight,
        "nulls": nulls,
        "prior": {name: belief.prior.name for name, belief in beliefs.items()},
        "original": None if assumptions.original is None else assumptions.original.source,
        "background": {name: known.describe() for name, known in assumptions.knowledge.items()},
        "ground_distance": {name: belief.ground.distance for name, belief in beliefs.items()},
        "orders": {name: list(order) for name, order in assumptions.ground.orders.items()},
        "recursive_l": {name: recursive_l(belief) for name, belief in beliefs.items()},
        "population": "table" if population else ("weights" if roles.weight else None),
        "log_base": 2,
        "tolerance": TOLERANCE,
    }
