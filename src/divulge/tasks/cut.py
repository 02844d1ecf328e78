# SPDX-License-Identifier: Apache-2.0
"""cut(): the ranges of a column that keep the promises and tell the most about a sensitive attribute (Bezzi 2010, section 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from divulge.belief import Adversary, Assumptions, adversary_in_force
from divulge.count import Domain, count
from divulge.errors import BadInput
from divulge.generalize.intervals import Cuts, optimal_cuts
from divulge.policy import Policy
from divulge.results import Result
from divulge.table.hierarchy import SUPPRESSED, Hierarchy
from divulge.table.hierarchy_builders import build_hierarchy
from divulge.table.read import read, read_beside
from divulge.table.roles import resolve_roles
from divulge.table.texts import as_text
from divulge.tasks.measuring import count_population, measure_counts


@dataclass(frozen=True, repr=False)
class CutColumn(Result):
    """The optimal ranges of a column, and the hierarchy that they make."""

    view = "columns"

    cuts: Cuts
    rule: Mapping[str, Any]
    """As it would stand in a policy file."""
    hierarchy: Hierarchy
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Everything that the ranges depend on."""
    notes: tuple[str, ...] = ()


def cut(
    table: Any,
    column: str,
    *,
    about: str,
    policy: Policy | str | Path,
    most: int | None = None,
    order: Sequence[str] | None = None,
    adversary: Adversary | None = None,
) -> CutColumn:
    """Ranges of `column`, `most` at most, that keep the policy's promises one by one and keep the most information about `about`.

    `order` gives the order of a text column from low to high. `adversary` is as in `measure` and goes before the policy's. A null has no
    place in an order: leave such rows out with Adversary(nulls="drop").

    >>> import pyarrow as pa
    >>> people = pa.table({"age": [20, 21, 60, 61], "disease": ["flu", "flu", "cold", "cold"]})
    >>> cut(people, "age", about="disease", policy=Policy(k_anonymity=2)).rule
    {'cuts': [60]}
    """
    kept = policy if isinstance(policy, Policy) else Policy.load(policy)
    if kept.protections:
        raise BadInput("cut points are sought for everybody, and the policy protects chosen people or values")
    source = read(table)
    roles = resolve_roles(source, quasi_identifiers=[column], sensitive=[about])
    her = adversary_in_force(adversary, kept.adversary)
    original = None if her.original is None else read_beside(source, her.original)
    assumptions, nulls = Assumptions.of(her, roles, original=original), her.nulls or "category"
    contingency = count(source, roles, nulls=nulls)
    everybody = count_population(source, her.population, roles, nulls)
    before = measure_counts(contingency, source, roles, assumptions=assumptions, nulls=nulls, population=everybody)
    contingency = replace(contingency, population=before.identity_view.population)
    merging = assumptions.as_joint(contingency)
    name, attribute = roles.quasi_identifiers[0], roles.sensitive[0]
    found = optimal_cuts(
        contingency, kept.promises, column=name, attribute=attribute, most=most, order=order, beliefs=before.beliefs
    )
    rule = _rule(found, contingency.keys[0], order)
    return CutColumn(
        found,
        rule,
        build_hierarchy(name, rule, contingency.keys[0].labels),
        {**before.settings, "prior_weights": dict(merging.prior_weights)},
        merging.notes,
    )


def _rule(cuts: Cuts, domain: Domain, order: Sequence[str] | None) -> dict[str, Any]:
    """Cut points for numbers, which fit any number; else every value with the range it lies in."""
    if not cuts.cut_points:
        return {"suppress": True}
    if domain.kind == "number" and order is None:
        return {"cuts": [int(point) if float(point).is_integer() else float(point) for point in cuts.cut_points]}
    texts = [str(as_text(label)) for label in domain.labels]
    texts = texts if order is None else [text for text in order if text in texts]
    rows: dict[str, list[str]] = {}
    for item in cuts.ranges:
        low, high = str(as_text(item.low)), str(as_text(item.high))
        label = low if low == high else f"[{low}, {high}]"
        rows |= {text: [label, SUPPRESSED] for text in texts[texts.index(low) : texts.index(high) + 1]}
    return {"rows": rows}
