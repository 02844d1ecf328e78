# SPDX-License-Identifier: Apache-2.0
"""generalize(): make a release of a table that meets a policy (Afifi et al. 2018, Def. 1 and 10).

The engine counts, the search decides on the counts, and the engine applies the plan when the
release is written. Before publication, the release is read back and measured again, with the prior
of the original table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, Literal, cast

from divulge import engines, generalization, metrics, releases
from divulge import ledger as ledgers
from divulge import policy as policies
from divulge import sources as tables
from divulge.adversary import Adversary, Assumptions
from divulge.api.hierarchies import suggest
from divulge.api.prior_releases import add_prior_releases
from divulge.api.request import ResolvedRequest, resolve_request
from divulge.arguments import arg, arg_name
from divulge.counting import Contingency, Domain, Request, count, count_in_memory
from divulge.engines import OwnEngine
from divulge.errors import BadInput, InternalError, nearest
from divulge.generalization import Plan
from divulge.hierarchies import (
    SUPPRESSED,
    Hierarchy,
    Spec,
    Suggestion,
    build_hierarchies,
    build_hierarchy,
    load_hierarchies,
)
from divulge.metrics import Measurement
from divulge.options import DEFAULT_METHOD, GeneralizationMethod
from divulge.policy import Policy, Promise, Protection, choose, guard, judge
from divulge.results import Result
from divulge.sources import Names, Roles, Table, own_table, read, resolve_roles
from divulge.text import as_names, as_text
from divulge.validation import checked


# cut(): ranges of a column that meet the requirements and keep the most information about a
# sensitive attribute (Bezzi 2010, section 4).
@dataclass(frozen=True, repr=False)
class CutColumn(Result):
    """Optimal ranges of a column, and the hierarchy of these ranges."""

    view = "columns"

    cuts: generalization.Cuts
    rule: Mapping[str, Any]
    """Hierarchy rule in the form of a policy file."""
    hierarchy: Hierarchy
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """All settings on which the ranges depend."""
    notes: tuple[str, ...] = ()


@checked
def cut(
    table: Any,
    column: str,
    *,
    about: str,
    policy: policies.PolicyLike,
    most: int | None = None,
    order: Sequence[str] | None = None,
    keep: Sequence[float | str] = (),
    among: Sequence[float | str] | None = None,
    beside: Names = (),
    against: Names = (),
    adversary: Adversary | None = None,
) -> CutColumn:
    """Find the ranges of a column that meet the policy and keep the most information.

    Each range meets each requirement. The information is about a sensitive column.

    Args:
        table: Any source that `read` opens.
        column: The column to cut into ranges. A null has no position in an order: drop such rows
            with Adversary(nulls="drop").
        about: The sensitive column.
        policy: The requirements that each range meets: a `Policy`, a mapping with the keys of a
            policy file, or the path of one.
        most: Largest number of ranges; by default as many as the requirements allow.
        order: The values of a text column from low to high.
        keep: Cut points that the ranges must have, such as those of a higher generalization level.
        among: The only cut points that the ranges may have in addition to `keep`, such as those of
            a lower generalization level.
        beside: Other quasi-identifiers, published unchanged. Every class of a range and these
            columns meets the requirements, and their joint information is maximized.
        against: Further quasi-identifiers. With these, the result reports the share of the
            information of all of them that is lost (eq. 4 of the paper).
        adversary: As in `measure`; it takes precedence over the policy's.

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> people = pa.table({"age": [20, 21, 60, 61], "disease": ["flu", "flu", "cold", "cold"]})
        >>> dv.cut(people, "age", about="disease", policy=dv.Policy(k_anonymity=2)).rule
        {'cuts': [60]}
    """
    request = resolve_request(policy=policy, adversary=adversary)
    effective_policy = request.policy
    effective_adversary = request.adversary
    if effective_policy.protections:
        raise BadInput(
            "cut points are sought for everybody, and the policy protects chosen people or values"
        )
    source = read(table)
    names = resolve_roles(source, quasi_identifiers=beside).quasi_identifiers
    if column in names:
        raise BadInput(f"{column!r} is cut, so it cannot stand beside itself")
    roles = resolve_roles(source, quasi_identifiers=[column, *names], sensitive=[about])
    effective_adversary.refuse(
        ("released",),
        "ranges of one column are sought, which a release that is out says nothing of",
    )
    assumptions = Assumptions.of(effective_adversary, source, roles)
    nulls = effective_adversary.without_wildcards()
    contingency = count(source, roles, nulls=nulls)
    population = metrics.count_population(source, effective_adversary, roles, nulls)
    before = metrics.measure_counts(
        contingency, source, roles, assumptions=assumptions, nulls=nulls, population=population
    )
    identity_view = before.identity_view
    contingency = replace(
        contingency,
        population=identity_view.population,
        population_estimated=identity_view.estimated,
    )
    merging = assumptions.as_joint(contingency)
    name = roles.quasi_identifiers[0]
    attribute = roles.sensitive[0]
    cuts = generalization.optimal_cuts(
        contingency,
        effective_policy.promises,
        column=name,
        attribute=attribute,
        max_ranges=most,
        order=order,
        keep=keep,
        among=among,
        other_columns=names,
        beliefs=before.beliefs,
    )
    rule = _cut_rule(cuts, contingency.keys[0], order, explicit_points=(*keep, *(among or ())))
    settings = {**before.settings, "prior_weights": dict(merging.prior_weights), "most": most}
    settings |= {"keep": list(keep), "among": None if among is None else list(among)}
    if against:
        all_columns = dict.fromkeys(
            [name, *names, *resolve_roles(source, quasi_identifiers=against).quasi_identifiers]
        )
        full_contingency = count(
            source,
            resolve_roles(source, quasi_identifiers=[*all_columns], sensitive=[about]),
            nulls=nulls,
        )
        cuts = replace(
            cuts, whole_information=generalization.information_of(full_contingency, attribute)
        )
        settings |= {"against": [*all_columns]}
    levels = build_hierarchy(name, rule, contingency.keys[0].labels)
    return CutColumn(cuts, rule, levels, settings, merging.notes, frame=source.frame)


def _cut_rule(
    cuts: generalization.Cuts,
    domain: Domain,
    order: Sequence[str] | None,
    *,
    explicit_points: Sequence[float | str] = (),
) -> dict[str, Any]:
    """Cut points as passed for numbers, which apply to any number.

    For other values, the rule lists every value with its range.
    """
    if not cuts.cut_points:
        return {"suppress": True}
    if domain.kind == "number" and order is None:
        explicit_point_of = {
            next((label for label in domain.labels if label >= float(point)), None): float(point)
            for point in explicit_points
        }
        points = [float(explicit_point_of.get(point, point)) for point in cuts.cut_points]
        return {"cuts": [int(point) if point.is_integer() else point for point in points]}
    texts = [str(as_text(label)) for label in domain.labels]
    if order is not None:
        texts = [text for text in order if text in texts]
    rows: dict[str, list[str]] = {}
    for item in cuts.ranges:
        low = str(as_text(item.low))
        high = str(as_text(item.high))
        if low == high:
            label = low
        else:
            label = f"[{low}, {high}]"
        rows |= {
            text: [label, SUPPRESSED] for text in texts[texts.index(low) : texts.index(high) + 1]
        }
    return {"rows": rows}


# --- generalize -----------------------------------------------------------------------------------
Hierarchies = Mapping[str, Spec] | str | Path


@checked
def generalize(
    table: Any,
    *,
    policy: policies.PolicyLike,
    quasi_identifiers: Names = (),
    sensitive: Names = (),
    identifier: Names = (),
    leave_out: Names = (),
    plain: Names = (),
    weight: str | None = None,
    person: str | None = None,
    hierarchies: Hierarchies | None = None,
    suppression: float | None = None,
    objective: generalization.ObjectiveName | generalization.UserFunction = "loss",
    method: GeneralizationMethod | None = None,
    time_limit: float | None = None,
    all_optima: bool = False,
    keep_nodes: bool = False,
    protections: Sequence[Protection] = (),
    joint: bool = False,
    adversary: Adversary | None = None,
    announce: Callable[[Mapping[str, Suggestion]], None] | None = None,
    ledger: str | Path | ledgers.Ledger | None = None,
    engine: engines.EngineChoice = None,
) -> releases.GeneralizedRelease:
    """Find the generalization that meets the policy with the least information loss.

    Nothing is written before the release's `write`.

    Columns without a role are published unchanged unless the guard rejects them. It rejects columns
    that a policy with roles does not name and columns that look like identifiers. It also rejects
    columns that make more than 1% of the people unique in addition to the published classes. With a
    `unique_share` in the policy, all published columns except the sensitive ones are limited by it,
    whatever their role.

    Args:
        table: Any source that `read` opens.
        policy: The requirements: a `Policy`, a mapping with the keys of a policy file, or the path
            of one.
        quasi_identifiers: As in `measure`, like the other roles; explicit roles take precedence
            over the policy's.
        sensitive: The columns whose values must not be disclosed; they are published unchanged.
        identifier: Columns that identify people; they are not published.
        leave_out: Columns that do not identify people and are not published either.
        plain: Columns that are published unchanged even if the guard would reject them.
        weight: The column with the number of people that a row represents.
        person: The column that names the person each row belongs to, if people have several rows.
        hierarchies: Generalization hierarchies: a folder of files, or for each column a rule such
            as {"intervals": [5, 10]}, a file or a hierarchy. A column without one gets a default,
            shown in the release's `suggestions`.
        suppression: The share of records that may be suppressed; takes precedence over the
            policy's.
        objective: The information loss to minimize: "loss", "arithmetic_loss", "precision",
            "non_uniform_entropy", "discernibility", "average_class_size", "information", or a cost
            function of (levels, counts to be published, number of suppressed people).
        method: One level for each column ("full-domain"), each column unchanged or fully suppressed
            ("columns"), boxes that never overlap ("mondrian"), or boxes that may share values at a
            cut ("relaxed-mondrian"). The default is the policy's method, else the first.
        time_limit: Seconds after which the best release so far is taken; the plan then reports its
            distance from the optimum.
        all_optima: Keep all solutions of equal cost in the release's `plan`.
        keep_nodes: Keep every evaluated combination of levels in the release's `plan`.
        protections: Requirements for selected people or values, in addition to those of the policy.
        joint: Also measure all sensitive columns together as one.
        adversary: As in `measure`; it takes precedence over the policy's.
        announce: Called with the default hierarchies before they are used.
        ledger: The `Ledger`, or its folder, that lists the prior releases. The requirements are met
            together with them, and `write` enters the release there.
        engine: As in `read`. With Spark only counts are collected, and its workers write the
            release.

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> people = pa.table(
        ...     {"zip": ["4761", "4762", "4791", "4792"], "disease": ["flu", "cold", "flu", "cold"]}
        ... )
        >>> policy = dv.Policy(k_anonymity=2)
        >>> release = dv.generalize(
        ...     people, policy=policy, quasi_identifiers="zip", sensitive="disease"
        ... )
        >>> release.plan.levels, sorted(release.tables()["table"].column("zip").to_pylist())
        ({'zip': 1}, ['476*', '476*', '479*', '479*'])
    """
    request = resolve_request(
        guard.ExplicitRoles(
            quasi_identifiers, sensitive, identifier, leave_out, plain, weight, person
        ),
        policy=policy,
        protections=protections,
        suppression=suppression,
        adversary=adversary,
        ledger=ledger,
        makes_release=True,
    )
    prepared_table = Groundwork.of_request(
        read(table, engine=engine), request, hierarchies=hierarchies, joint=joint
    )
    prepared_table.refuse_unexpected_columns()
    options = {
        "objective": objective,
        "time_limit": time_limit,
        "all_optima": all_optima,
        "keep_nodes": keep_nodes,
    }
    return prepared_table.release(request.policy, method=method, announce=announce, **options)


@dataclass(frozen=True, eq=False)
class Groundwork:
    """Inputs of a search: a table with roles, its counts, the adversary and hierarchies.

    Counts are computed once. Requirements, suppression and method of a policy may change without a
    new count, for example by a slider.
    """

    source: Table
    engine: OwnEngine
    roles: Roles
    adversary: Adversary
    policy: Policy = field(repr=False)
    """Policy that defines the roles and levels."""
    hierarchies: Hierarchies | None = None
    """Hierarchies that take precedence over the policy's."""
    joint: bool = False
    ledger: ledgers.PriorReleases | None = None

    @classmethod
    def of(cls, table: Any, policy: Policy) -> Groundwork:
        """Build the inputs from a table and the settings of a policy only."""
        prepared_table = cls.of_request(read(table), resolve_request(policy=policy))
        prepared_table.refuse_unexpected_columns()
        return prepared_table

    @classmethod
    def of_request(
        cls,
        table: Table,
        request: ResolvedRequest,
        *,
        hierarchies: Hierarchies | None = None,
        joint: bool = False,
    ) -> Groundwork:
        """Build the inputs of a request about a table."""
        source, own_engine = own_table(table)
        return cls(
            source,
            own_engine,
            generalization_roles(source, request.policy, request.explicit_roles),
            request.adversary,
            request.policy,
            hierarchies,
            joint=joint,
            ledger=request.ledger_releases,
        )

    def refuse_unexpected_columns(self) -> None:
        """Raise an error for columns without a role that must not be published by accident."""
        guard.refuse([*guard.findings_without_role(self.source, self.roles, self.policy.roles)])

    @cached_property
    def measured_original(self) -> tuple[releases.Original, Measurement]:
        """The original and its measurement."""
        return count_original(
            self.source, self.engine, self.roles, self.adversary, joint=self.joint
        )

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Notes on the rows, independent of the requirements."""
        return guard.repeated(self.source, self.roles)

    @cached_property
    def levels(
        self,
    ) -> Callable[[GeneralizationMethod], tuple[dict[str, Hierarchy], dict[str, Suggestion]]]:
        """Hierarchies of a method, and those of them that were suggested for the values."""
        original, _ = self.measured_original
        return cache(partial(_method_hierarchies, original, self.hierarchies, self.policy))

    @cached_property
    def rollup(self) -> Callable[[GeneralizationMethod], generalization.Rollup]:
        """Counts under the levels of a method, with the cached results of searches."""
        # The cached function does not refer to self, which holds it; a cycle would delay freeing
        # the table.
        original, before = self.measured_original
        levels = self.levels
        rollup_options: dict[str, Any] = {
            "beliefs": before.beliefs,
            "cell_limit": self.source.engine.cell_limit,
        }
        return cache(
            lambda method: generalization.Rollup.of(
                original.people, levels(method)[0], **rollup_options
            )
        )

    def release(
        self,
        policy: Policy,
        *,
        method: GeneralizationMethod | None = None,
        announce: Callable[[Mapping[str, Suggestion]], None] | None = None,
        **options: Any,
    ) -> releases.GeneralizedRelease:
        """Find the release that meets a policy of these roles with the least information loss."""
        source = self.source
        roles = self.roles
        rows_are_people = roles.person is roles.weight is None and self.adversary.nulls != "drop"
        if rows_are_people and any(map(_rejects_single_people, policy.promises)):
            guard.uniqueness.refuse_unique_early(
                source, roles, required=policy.unique_share, suppression=policy.suppression
            )
        original, before = self.measured_original
        protected = choose(policy.protections, original.people, before.beliefs)
        chosen_method = cast("GeneralizationMethod", method or policy.method or DEFAULT_METHOD)
        levels, suggestions = self.levels(chosen_method)
        if suggestions and announce is not None:
            announce(suggestions)
        plan = self._search(policy, chosen_method, **options)
        original = replace(original, assumptions=_release_assumptions(original, plan, levels))
        after = original.measure(plan.published(original.people))
        verdict = judge(
            after, policy.promises, protected=releases.follow(protected, plan, original.people)
        )
        if not verdict.holds:
            raise InternalError("the plan does not keep the policy it was made for")
        published = original.with_person(plan.recoding)
        published_roles = replace(roles, identifier=(), leave_out=())
        unique = guard.uniqueness.measure_uniqueness(
            published, published_roles, required=policy.unique_share
        )
        problem = guard.uniqueness.judge_uniqueness(
            published, published_roles, unique, leave_out=roles.leave_out
        )
        guard.uniqueness.refuse_unique(problem)
        return releases.GeneralizedRelease(
            frame=source.frame,
            source=source,
            engine=self.engine,
            ledger=self.ledger,
            before=before,
            after=after,
            verdict=verdict,
            plan=plan,
            policy=policy,
            hierarchies=levels,
            suggestions=suggestions,
            plain=tuple(
                name
                for name in source.names
                if name in roles.plain or name not in roles.all_columns
            ),
            uniqueness=unique,
            notes=self.notes,
            original=original,
            protected=protected,
            expected=releases.Fingerprint.of(self.engine, f"({original.recoded(plan.recoding)})"),
        )

    def _search(self, policy: Policy, method: GeneralizationMethod, **options: Any) -> Plan:
        original, before = self.measured_original
        contingency = original.people
        search_options: dict[str, Any] = {
            "beliefs": before.beliefs,
            "population": contingency.population,
        }
        search_options["protections"] = policy.protections
        if method in ("full-domain", "columns"):
            suppression = policy.suppression
            plan = generalization.search(
                contingency,
                self.rollup(method),
                policy.promises,
                suppression=suppression,
                **search_options,
                **options,
            )
            return replace(plan, method=method)
        if policy.suppression:
            raise BadInput(
                f"suppression = {policy.suppression:g} has no use: Mondrian cuts only where every "
                "piece keeps the promises, so it leaves nobody out",
                hint="Say suppression = 0, or use the method full-domain",
            )
        default_options = {
            "objective": "loss",
            "time_limit": None,
            "all_optima": False,
            "keep_nodes": False,
        }
        if changed_options := " or ".join(
            arg_name(name)
            for name in default_options
            if options.get(name, default_options[name]) != default_options[name]
        ):
            raise BadInput(
                f"Mondrian takes no {changed_options}", hint="Use the method full-domain"
            )
        levels = self.levels(method)[0]
        strict = method == "mondrian"
        return generalization.mondrian(
            contingency, policy.promises, hierarchies=levels, strict=strict, **search_options
        )

    def tradeoff(
        self,
        policy: Policy,
        metric: str | Sequence[str],
        *,
        attribute: str | None = None,
        objective: generalization.ObjectiveName | generalization.UserFunction = "loss",
        method: Literal["full-domain", "columns"] = "full-domain",
        announce: Callable[[Mapping[str, Suggestion]], None] | None = None,
    ) -> generalization.Front:
        """Evaluate every combination of levels of a method that meets a policy of these roles."""
        original, before = self.measured_original
        _, suggestions = self.levels(method)
        if suggestions and announce is not None:
            announce(suggestions)
        pareto_front = generalization.pareto_front(
            original.people,
            self.rollup(method),
            list(as_names(metric)),
            attribute=attribute,
            objective=objective,
            promises=policy.promises,
            protections=policy.protections,
            suppression=policy.suppression,
            beliefs=before.beliefs,
        )
        settings = {**before.settings, "prior_weights": dict(original.assumptions.prior_weights)}
        return replace(
            pareto_front,
            settings=settings,
            notes=original.assumptions.notes,
            frame=self.source.frame,
        )


def _rejects_single_people(promise: Promise) -> bool:
    """True if a class of one person violates the requirement because it counts people."""
    metric = promise.metric
    counts = (
        metric.scope == "identity"
        and metric.absorbing
        and metric.worse == "low"
        and not metric.needs_population
    )
    return counts and promise.bound > 1


def generalization_roles(
    source: Table, policy: Policy, explicit_roles: guard.ExplicitRoles
) -> Roles:
    """Resolve the roles: explicit roles, else the policy's.

    Raises:
        BadInput: There are no quasi-identifiers.
    """
    roles = guard.roles_in_force(source, policy.roles, explicit_roles)
    if not roles.quasi_identifiers:
        message = "no quasi-identifiers were named, so there is nothing to generalize"
        raise BadInput(
            message,
            hint="Name the columns that an adversary may know; `divulge profile` suggests some",
        )
    return roles


def count_original(
    source: Table, engine: OwnEngine, roles: Roles, adversary: Adversary, *, joint: bool = False
) -> tuple[releases.Original, Measurement]:
    """Count and measure the original.

    The assumptions in the result are prepared for classes that merge.
    """
    if adversary.original is not None:
        message = "the table that is generalized is the original itself"
        raise BadInput(message, hint="Leave original out, or give a prior")
    source, prior_releases = add_prior_releases(source, roles, adversary)
    assumptions = Assumptions.of(adversary.holding_nothing, source, roles)
    nulls = adversary.without_wildcards()
    contingency = prior_releases.pinned(
        count_in_memory(Request(source, prior_releases.roles_with_priors(roles), nulls, joint))
    )
    population = metrics.count_population(source, adversary, roles, nulls)
    before = metrics.measure_counts(
        contingency, source, roles, assumptions=assumptions, nulls=nulls, population=population
    )
    before = prior_releases.add_settings_to(before)
    merging = assumptions.as_joint(contingency)
    original_options: dict[str, Any] = {
        "assumptions": merging,
        "nulls": nulls,
        "joint": joint,
        "released": prior_releases,
    }
    return releases.Original.of(before, source, roles, engine=engine, **original_options), before


def _release_assumptions(
    original: releases.Original, plan: Plan, hierarchies: Mapping[str, Hierarchy]
) -> Assumptions:
    """Assumptions for the release: a conditional prior depends on the published labels."""
    assumptions = original.assumptions
    priors = dict(assumptions.priors)
    for name, prior in assumptions.conditional.items():
        labels_by_condition = plan.labels_holding(
            prior.conditions, list(prior.entries), hierarchies, original.people
        )
        priors[name] = prior.merged(prior.conditions, labels_by_condition.__getitem__)
    return replace(assumptions, priors=priors)


def choose_hierarchies(
    contingency: Contingency,
    hierarchies: Hierarchies | None,
    policy: Policy,
    *,
    declared: tables.Declared | None = None,
    defaults: bool = True,
    extra_values: Mapping[str, Sequence[str | None]] | None = None,
) -> tuple[dict[str, Hierarchy], dict[str, Suggestion]]:
    """Choose a hierarchy for each quasi-identifier.

    The order of precedence is: explicit, the policy's, the source's own, and with `defaults` one
    that is suggested for the values. `extra_values` are values that occur only in a prior. If a
    rule labels them, they are added to the hierarchy.
    """
    values = {key.name: key.labels for key in contingency.own_keys}
    if declared is not None:
        source_hierarchies = declared.hierarchies
    else:
        source_hierarchies = {}
    specs: dict[str, Spec] = {
        name: levels for name, levels in source_hierarchies.items() if name in values
    }
    # Explicit quasi-identifiers take precedence over the policy's, and the policy's levels of other
    # columns are then ignored.
    policy_columns = policy.roles.get("quasi_identifiers") or ()
    if isinstance(policy_columns, str):
        policy_column_set = {policy_columns}
    else:
        policy_column_set = {*policy_columns}
    specs |= {
        name: spec
        for name, spec in policy.hierarchies.items()
        if name in values or name not in policy_column_set
    }
    if isinstance(hierarchies, str | Path):
        specs |= load_hierarchies(hierarchies, columns=list(values))
    else:
        specs |= hierarchies or {}
    for column in specs:
        if column not in values:
            message = f"a hierarchy is given for {column!r}, which is not a quasi-identifier"
            raise BadInput(message, hint=nearest(column, values))
    if defaults:
        missing: Sequence[str] = [name for name in values if name not in specs]
    else:
        missing = []
    suggestions = {suggestion.column: suggestion for suggestion in suggest(contingency, missing)}
    chosen = specs | {name: suggestion.spec for name, suggestion in suggestions.items()}
    return build_hierarchies(chosen, values, beyond=extra_values), suggestions


def _method_hierarchies(
    original: releases.Original,
    hierarchies: Hierarchies | None,
    policy: Policy,
    method: GeneralizationMethod,
) -> tuple[dict[str, Hierarchy], dict[str, Suggestion]]:
    """Hierarchies of a method."""
    contingency = original.people
    extra_values = original.assumptions.condition_values()
    if method != "columns":
        defaults = method == "full-domain"
        declared = original.source.declared
        return choose_hierarchies(
            contingency,
            hierarchies,
            policy,
            declared=declared,
            defaults=defaults,
            extra_values=extra_values,
        )
    if hierarchies:
        message = (
            "the method 'columns' publishes each column as it is or not at all, and hierarchies "
            "are given"
        )
        raise BadInput(message, hint="Leave them out, or use the method 'full-domain'")
    dropped: dict[str, Spec] = {key.name: {"suppress": True} for key in contingency.own_keys}
    return choose_hierarchies(
        contingency, dropped, replace(policy, hierarchies={}), extra_values=extra_values
    )


# tradeoff(): risk and cost of every combination of levels, and the Pareto front (left open by Afifi
# et al. 2018).
@checked
def tradeoff(
    table: Any,
    metric: str | Sequence[str],
    *,
    attribute: str | None = None,
    policy: policies.PolicyLike | None = None,
    quasi_identifiers: Names = (),
    sensitive: Names = (),
    identifier: Names = (),
    weight: str | None = None,
    person: str | None = None,
    hierarchies: Hierarchies | None = None,
    suppression: float | None = None,
    objective: generalization.ObjectiveName | generalization.UserFunction = "loss",
    joint: bool = False,
    adversary: Adversary | None = None,
    announce: Callable[[Mapping[str, Suggestion]], None] | None = None,
    engine: engines.EngineChoice = None,
) -> generalization.Front:
    """Evaluate every combination of levels that meets the policy as a point (metrics, objective).

    Nothing is written.

    Args:
        table: Any source that `read` opens.
        metric: The name of a metric, such as "entropy_leakage", or several names. The Pareto front
            then has the points that no other point beats in every number.
        attribute: The sensitive column of the metrics; by default the worst of them.
        policy: The requirements that every point meets: a `Policy`, a mapping with the keys of a
            policy file, or the path of one.
        quasi_identifiers: As in `generalize`, like the other roles; explicit roles take precedence
            over the policy's.
        sensitive: The columns whose values must not be disclosed.
        identifier: Columns that identify people.
        weight: The column with the number of people that a row represents.
        person: The column that names the person each row belongs to, if people have several rows.
        hierarchies: Generalization hierarchies, as in `generalize`.
        suppression: The share of records that may be suppressed; takes precedence over the
            policy's.
        objective: The information loss, as in `generalize`.
        joint: Also measure all sensitive columns together as one.
        adversary: As in `measure`; it takes precedence over the policy's.
        announce: Called with the default hierarchies before they are used.
        engine: As in `read`.

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> people = pa.table(
        ...     {"zip": ["4761", "4762", "4791", "4792"], "disease": ["flu", "cold", "flu", "cold"]}
        ... )
        >>> roles = {"quasi_identifiers": "zip", "sensitive": "disease"}
        >>> found = dv.tradeoff(
        ...     people, "k_anonymity", **roles, hierarchies={"zip": {"prefix": [3]}}
        ... )
        >>> [(point.levels["zip"], point.leakage, round(point.value, 3)) for point in found.front]
        [(0, 1.0, 0.0), (1, 2.0, 0.333), (2, 4.0, 1.0)]
    """
    request = resolve_request(
        guard.ExplicitRoles(quasi_identifiers, sensitive, identifier, weight=weight, person=person),
        policy=policy,
        suppression=suppression,
        adversary=adversary,
    )
    if suppression is not None and not (request.policy.promises or request.policy.protections):
        message = (
            f"{arg('suppression')} has no effect without a promise: people are "
            "left out where one breaks"
        )
        raise BadInput(
            message,
            hint=f"Give a promise, for example {metrics.EXAMPLE_REQUIREMENT}, or leave it out",
        )
    prepared_table = Groundwork.of_request(
        read(table, engine=engine), request, hierarchies=hierarchies, joint=joint
    )
    return prepared_table.tradeoff(
        request.policy, metric, attribute=attribute, objective=objective, announce=announce
    )
