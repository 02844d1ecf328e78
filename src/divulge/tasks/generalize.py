# SPDX-License-Identifier: Apache-2.0
"""generalize(): from a table and a policy to a release that keeps it (Afifi et al. 2018, Definitions 1 and 10).

The engine counts, the search decides on the counts, and the engine applies the plan when the release is written. Before anything is
searched it is known what each column is; before anything is published it has been read back and measured again, against the prior of the
original table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args

from divulge.belief import Adversary, Assumptions, adversary_in_force
from divulge.count import Contingency
from divulge.count.counting import Request
from divulge.count.counts import count_in_memory
from divulge.engines.choose import OwnEngine
from divulge.errors import BadInput, InternalError, nearest
from divulge.generalize.objective import UserFunction
from divulge.generalize.plan import Plan
from divulge.metrics.measurement import Measurement
from divulge.policy import Policy, Protection, judge
from divulge.policy.chosen import choose
from divulge.publish.verify import Fingerprint
from divulge.table.hierarchy import Hierarchy, Labels
from divulge.table.hierarchy_builders import Spec, build_hierarchies, build_hierarchy
from divulge.table.hierarchy_defaults import Suggestion
from divulge.table.hierarchy_files import load_hierarchies
from divulge.table.read import own_table, read
from divulge.table.roles import Names, Roles, resolve_roles, split_names
from divulge.table.table import Declared, Table
from divulge.tasks.counted import Original, follow
from divulge.tasks.hierarchy import suggest
from divulge.tasks.measuring import count_population, measure_counts
from divulge.tasks.plain_columns import columns_without_role
from divulge.tasks.release import GeneralizedRelease

Method = Literal["full-domain", "columns", "mondrian", "relaxed-mondrian"]
"""One level for each column; each column as it is or not at all; boxes that never overlap; boxes that may share values at a cut."""
Hierarchies = Mapping[str, Spec] | str | Path


def generalize(
    table: Any,
    *,
    policy: Policy | str | Path,
    quasi_identifiers: Names = (),
    sensitive: Names = (),
    identifier: Names = (),
    weight: str | None = None,
    person: str | None = None,
    hierarchies: Hierarchies | None = None,
    suppression: float | None = None,
    objective: str | UserFunction = "loss",
    method: Method = "full-domain",
    time_limit: float | None = None,
    all_optima: bool = False,
    keep_nodes: bool = False,
    protections: Sequence[Protection] = (),
    keep: Names = (),
    joint: bool = False,
    adversary: Adversary | None = None,
    announce: Callable[[Mapping[str, Suggestion]], None] | None = None,
    engine: Any = None,
) -> GeneralizedRelease:
    """Find the generalization that keeps the policy at the least loss; nothing is written before `GeneralizedRelease.write`.

    Roles, and what is said of the adversary, given here go before the policy's own. `hierarchies` is a folder, or for each column a
    rule, a file or a Hierarchy; a column without one gets a default, shown in `suggestions`. `protections` are promises of
    their own for chosen people or values, beside those of the policy. `keep` names columns without a role that are published although
    they look like identifiers. `joint` and `adversary` are as in `measure`. With `all_optima` and `keep_nodes`, its `plan` also has
    all solutions of the same cost, and every combination of levels that was looked at. `announce` is called with the default
    hierarchies before they are used.
    `engine` is "duckdb" (the default), "spark", or an engine of yours; a Spark frame brings its own session. With Spark only counts come
    here, and its workers write the release.

    >>> import pyarrow as pa
    >>> people = pa.table({"zip": ["4761", "4762", "4791", "4792"], "disease": ["flu", "cold", "flu", "cold"]})
    >>> release = generalize(people, policy=Policy(k_anonymity=2), quasi_identifiers="zip", sensitive="disease")
    >>> release.plan.levels, sorted(release.tables()["table"].column("zip").to_pylist())
    ({'zip': 1}, ['476*', '476*', '479*', '479*'])
    """
    kept = policy if isinstance(policy, Policy) else Policy.load(policy)
    kept = replace(kept, protections=(*kept.protections, *protections))
    if suppression is not None:
        kept = replace(kept, suppression=suppression)
    source, own = own_table(read(table, engine=engine))
    given = {"quasi_identifiers": quasi_identifiers, "sensitive": sensitive, "identifier": identifier}
    roles = roles_of(source, kept, given | {"weight": weight, "person": person})
    plain = columns_without_role(source, roles, split_names(source, [keep] if isinstance(keep, str) else keep or ()))
    original, before = count_original(source, own, roles, adversary_in_force(adversary, kept.adversary), joint=joint)
    protected = choose(kept.protections, original.people, before.beliefs)
    levels, suggestions = _levels(original, hierarchies, kept, method=method)
    if suggestions and announce is not None:
        announce(suggestions)
    options = {"objective": objective, "time_limit": time_limit, "all_optima": all_optima, "keep_nodes": keep_nodes}
    plan = _search(original.people, before, levels, policy=kept, method=method, **options)
    original = replace(original, assumptions=_of_release(original, plan, levels))
    after = original.measure(plan.published(original.people))
    verdict = judge(after, kept.promises, protected=follow(protected, plan, original.people))
    if not verdict.holds:
        raise InternalError("the plan does not keep the policy it was made for")
    return GeneralizedRelease(
        source=source,
        engine=own,
        before=before,
        after=after,
        verdict=verdict,
        plan=plan,
        policy=kept,
        hierarchies=levels,
        suggestions=suggestions,
        plain=plain,
        original=original,
        protected=protected,
        expected=Fingerprint.of(own, f"({original.recoded(plan.recoding)})"),
    )


def roles_of(source: Table, policy: Policy, given: Mapping[str, Any]) -> Roles:
    """The roles that are given, else the policy's."""
    arguments = {**policy.roles, **{name: value for name, value in given.items() if value}}
    roles = resolve_roles(source, **arguments, declared=True)
    if not roles.quasi_identifiers:
        raise BadInput(
            "no quasi-identifiers were named, so there is nothing to generalize",
            hint="Name the columns that an adversary may know; `divulge profile` suggests some",
        )
    return roles


def count_original(
    source: Table, engine: OwnEngine, roles: Roles, adversary: Adversary, *, joint: bool = False
) -> tuple[Original, Measurement]:
    """Count and measure the original; what a release is measured by is ready for classes that merge."""
    if adversary.original is not None:
        raise BadInput(
            "the table that is generalized is the original itself", hint="Leave original out, or give a prior"
        )
    assumptions, nulls = Assumptions.of(adversary, roles), adversary.nulls or "category"
    contingency = count_in_memory(Request(source, roles, nulls, joint))
    everybody = count_population(source, adversary.population, roles, nulls)
    before = measure_counts(contingency, source, roles, assumptions=assumptions, nulls=nulls, population=everybody)
    assumptions = assumptions.as_joint(contingency)
    original = Original.of(before, source, roles, engine=engine, assumptions=assumptions, nulls=nulls, joint=joint)
    return original, before


def _of_release(original: Original, plan: Plan, hierarchies: Mapping[str, Hierarchy]) -> Assumptions:
    """The same adversary before the release: a prior that depends on columns, by their published labels."""
    assumptions = original.assumptions
    priors = dict(assumptions.priors)
    for name, prior in assumptions.conditional.items():
        holding = plan.labels_holding(prior.conditions, list(prior.entries), hierarchies, original.people)
        priors[name] = prior.merged(prior.conditions, holding.__getitem__)
    return replace(assumptions, priors=priors)


def choose_hierarchies(
    contingency: Contingency,
    given: Hierarchies | None,
    policy: Policy,
    *,
    declared: Declared | None = None,
    defaults: bool = True,
    also: Mapping[str, Sequence[str | None]] | None = None,
) -> tuple[dict[str, Hierarchy], dict[str, Suggestion]]:
    """A hierarchy for each quasi-identifier: given, the policy's, the source's own, or (with `defaults`) one chosen for its values.

    `also` are values that only a prior knows; where a rule gives them a label too, the hierarchy knows it.
    """
    values = {key.name: key.labels for key in contingency.keys}
    own = declared.hierarchies if declared is not None else {}
    specs: dict[str, Spec] = {name: hierarchy for name, hierarchy in own.items() if name in values}
    specs |= policy.hierarchies
    if isinstance(given, str | Path):
        specs |= load_hierarchies(given, columns=list(values))
    else:
        specs |= dict(given or {})
    for column in specs:
        if column not in values:
            raise BadInput(
                f"a hierarchy is given for {column!r}, which is not a quasi-identifier", hint=nearest(column, values)
            )
    missing: Sequence[str] = [name for name in values if name not in specs] if defaults else []
    suggestions = {suggestion.column: suggestion for suggestion in suggest(contingency, missing)}
    chosen = specs | {name: suggestion.spec for name, suggestion in suggestions.items()}
    built = build_hierarchies(chosen, values)
    return {name: _reaching(built[name], chosen[name], (also or {}).get(name, ())) for name in built}, suggestions


def _reaching(hierarchy: Hierarchy, spec: Spec, others: Sequence[str | None]) -> Hierarchy:
    """The hierarchy with the labels of values that nobody in the table has, as far as its rule gives them one."""
    missing = hierarchy.missing(others)
    beyond = _labels_beyond(hierarchy, spec, missing)
    if missing and not beyond:  # one of them does not fit the rule
        for text in missing:
            beyond |= _labels_beyond(hierarchy, spec, [text])
    return replace(hierarchy, beyond=beyond) if beyond else hierarchy


def _labels_beyond(hierarchy: Hierarchy, spec: Spec, others: Sequence[str]) -> dict[str | None, Labels]:
    try:
        wider = build_hierarchy(hierarchy.column, spec, [*hierarchy.rows, *others]).rows
    except BadInput:
        return {}
    # A rule may look at all values at once: only where it labels the known ones as before do its labels mean the same.
    same = all(wider.get(known) == labels for known, labels in hierarchy.rows.items())
    return {text: wider[text] for text in others if text in wider} if same else {}


def _levels(
    original: Original, given: Hierarchies | None, policy: Policy, *, method: Method
) -> tuple[dict[str, Hierarchy], dict[str, Suggestion]]:
    """The hierarchies that a method works with."""
    contingency, also = original.people, original.assumptions.condition_values()
    if method not in get_args(Method):
        raise BadInput(f"there is no method {method!r}", hint=nearest(method, get_args(Method)))
    if method != "columns":
        defaults, declared = method == "full-domain", original.source.declared
        return choose_hierarchies(contingency, given, policy, declared=declared, defaults=defaults, also=also)
    if given:
        raise BadInput(
            "the method 'columns' publishes each column as it is or not at all, and hierarchies are given",
            hint="Leave them out, or use the method 'full-domain'",
        )
    values = {key.name: key.labels for key in contingency.keys}
    drop: Spec = {"suppress": True}
    built = build_hierarchies(dict.fromkeys(values, drop), values)
    return {name: _reaching(built[name], drop, also.get(name, ())) for name in built}, {}


def _search(
    contingency: Contingency,
    before: Measurement,
    hierarchies: Mapping[str, Hierarchy],
    *,
    policy: Policy,
    method: Method,
    **options: Any,
) -> Plan:
    if method in ("full-domain", "columns"):
        from divulge.generalize.search import search

        plan = search(
            contingency,
            hierarchies,
            policy.promises,
            beliefs=before.beliefs,
            suppression=policy.suppression,
            protections=policy.protections,
            population=contingency.population,
            **options,
        )
        return replace(plan, method=method)
    if policy.suppression:
        raise BadInput(
            f"suppression = {policy.suppression:g} has no use: Mondrian cuts only where every piece keeps the promises, "
            "so it leaves nobody out",
            hint="Say suppression = 0, or use the method full-domain",
        )
    usual = {"objective": "loss", "time_limit": None, "all_optima": False, "keep_nodes": False}
    if options != usual:
        raise BadInput(
            f"Mondrian takes no {' or '.join(name for name in usual if options[name] != usual[name])}",
            hint="Use the method full-domain",
        )
    from divulge.generalize.mondrian import mondrian

    return mondrian(
        contingency,
        policy.promises,
        hierarchies=hierarchies,
        strict=method == "mondrian",
        beliefs=before.beliefs,
        protections=policy.protections,
        population=contingency.population,
    )
