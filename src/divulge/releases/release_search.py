# SPDX-License-Identifier: Apache-2.0
"""Search for the generalized release of a table: counts, hierarchies, plan and verdict.

The counts and the hierarchies do not depend on the requirements. So they are computed once, and
requirements, suppression and method may change without a new count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from typing import Any, Literal, cast

from divulge import generalization, metrics
from divulge.adversary import Adversary, Assumptions
from divulge.arguments import arg_name
from divulge.counting import Request, count_in_memory
from divulge.engines import OwnEngine
from divulge.errors import BadInput, InternalError
from divulge.generalization import Hierarchies, Plan, choose_hierarchies
from divulge.hierarchies import Hierarchy, Spec, Suggestion
from divulge.metrics import Measurement
from divulge.options import DEFAULT_METHOD, GeneralizationMethod
from divulge.policy import Policy, Promise, choose, guard, judge
from divulge.releases.generalized import EarlierReleases, GeneralizedRelease, Original, follow
from divulge.releases.release import Register
from divulge.releases.verification import Fingerprint
from divulge.sources import Roles, Table
from divulge.text import as_names


@dataclass(frozen=True, eq=False)
class ReleaseSearch:
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
    ledger: Register | None = None
    joint_table: Table | None = field(default=None, repr=False)
    """The table with the classes of prior releases; None if there are none."""
    prior_releases: EarlierReleases = field(default_factory=EarlierReleases, repr=False)

    @cached_property
    def measured_original(self) -> tuple[Original, Measurement]:
        """The original and its measurement."""
        return count_original(
            self.joint_table or self.source,
            self.engine,
            self.roles,
            self.adversary,
            self.prior_releases,
            joint=self.joint,
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
    ) -> GeneralizedRelease:
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
        verdict = judge(after, policy.promises, protected=follow(protected, plan, original.people))
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
        return GeneralizedRelease(
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
            expected=Fingerprint.of(self.engine, f"({original.recoded(plan.recoding)})"),
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


def count_original(
    source: Table,
    engine: OwnEngine,
    roles: Roles,
    adversary: Adversary,
    prior_releases: EarlierReleases,
    *,
    joint: bool = False,
) -> tuple[Original, Measurement]:
    """Count and measure the original.

    The assumptions in the result are prepared for classes that merge.
    """
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
    return Original.of(before, source, roles, engine=engine, **original_options), before


def _release_assumptions(
    original: Original, plan: Plan, hierarchies: Mapping[str, Hierarchy]
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


def _method_hierarchies(
    original: Original,
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
