# SPDX-License-Identifier: Apache-2.0
"""generalize(): from a table and a policy to a release that keeps it (Afifi et al. 2018, Definitions 1 and 10).

The engine counts, the search decides on the counts, and the engine applies the plan when the release is written; before anything is
published it has been read back and measured again, against the prior of the original table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, Literal, cast

from divulge import engines, hierarchy, metrics, publish, search, values
from divulge import ledger as ledgers
from divulge import policy as policies
from divulge import table as tables
from divulge.api.hierarchies import suggest
from divulge.api.released import beside_released, judged_by
from divulge.belief import Adversary, Assumptions, adversary_in_force
from divulge.count import Contingency, Domain, Request, count, count_in_memory
from divulge.engines import OwnEngine
from divulge.errors import BadInput, InternalError, nearest
from divulge.hierarchy import SUPPRESSED, Hierarchy, Suggestion, load_hierarchies
from divulge.metrics import Measurement
from divulge.policy import Policy, Promise, Protection, choose, guard, judge
from divulge.results import Result
from divulge.search import Plan
from divulge.table import Names, Roles, Table, own_table, read, resolve_roles
from divulge.values import as_text


# --- cut(): the ranges of a column that keep the promises and tell the most about a sensitive attribute (Bezzi 2010, section 4).
@dataclass(frozen=True, repr=False)
class CutColumn(Result):
    """The optimal ranges of a column, and the hierarchy that they make."""

    view = "columns"

    cuts: search.Cuts
    rule: Mapping[str, Any]
    """As it would stand in a policy file."""
    hierarchy: Hierarchy
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Everything that the ranges depend on."""
    notes: tuple[str, ...] = ()


@values.checked
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
    """Find the ranges of a column that keep the policy's promises one by one and keep the most information about a sensitive column.

    Args:
        table: Whatever `read` opens.
        column: The column to cut into ranges. A null has no place in an order: leave such rows out with Adversary(nulls="drop").
        about: The sensitive column.
        policy: The promises that each range keeps: a `Policy`, a mapping with the keys of a policy file, or the path of one.
        most: The most ranges; by default as many as the promises allow.
        order: The values of a text column from low to high.
        keep: Cut points that the ranges must have, such as those of a coarser level.
        among: The only cut points that they may have, beside those to keep, such as those of a finer level.
        beside: Other quasi-identifiers, published as they are: every class of a range and these keeps the promises, and what they tell
            together is kept the highest.
        against: Further quasi-identifiers; with these, the result tells which share of what all of them tell is lost (eq. 4 of the paper).
        adversary: As in `measure`; what is said here goes before the policy's own.

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> people = pa.table({"age": [20, 21, 60, 61], "disease": ["flu", "flu", "cold", "cold"]})
        >>> dv.cut(people, "age", about="disease", policy=dv.Policy(k_anonymity=2)).rule
        {'cuts': [60]}
    """
    kept = Policy.of(policy)
    if kept.protections:
        raise BadInput("cut points are sought for everybody, and the policy protects chosen people or values")
    source = read(table)
    names = resolve_roles(source, quasi_identifiers=beside).quasi_identifiers
    if column in names:
        raise BadInput(f"{column!r} is cut, so it cannot stand beside itself")
    roles = resolve_roles(source, quasi_identifiers=[column, *names], sensitive=[about])
    her = adversary_in_force(adversary, kept.adversary)
    her.refuse(("released",), "ranges of one column are sought, which a release that is out says nothing of")
    assumptions, nulls = Assumptions.of(her, source, roles), her.without_wildcards()
    contingency = count(source, roles, nulls=nulls)
    everybody = metrics.count_population(source, her, roles, nulls)
    before = metrics.measure_counts(
        contingency, source, roles, assumptions=assumptions, nulls=nulls, population=everybody
    )
    seen = before.identity_view
    contingency = replace(contingency, population=seen.population, population_estimated=seen.estimated)
    merging = assumptions.as_joint(contingency)
    name, attribute = roles.quasi_identifiers[0], roles.sensitive[0]
    found = search.optimal_cuts(
        contingency,
        kept.promises,
        column=name,
        attribute=attribute,
        most=most,
        order=order,
        keep=keep,
        among=among,
        beside=names,
        beliefs=before.beliefs,
    )
    rule = _rule(found, contingency.keys[0], order, given=(*keep, *(among or ())))
    settings = {**before.settings, "prior_weights": dict(merging.prior_weights), "most": most}
    settings |= {"keep": list(keep), "among": None if among is None else list(among)}
    if against:
        every = dict.fromkeys([name, *names, *resolve_roles(source, quasi_identifiers=against).quasi_identifiers])
        whole = count(source, resolve_roles(source, quasi_identifiers=[*every], sensitive=[about]), nulls=nulls)
        found = replace(found, whole_information=search.information_of(whole, attribute))
        settings |= {"against": [*every]}
    levels = hierarchy.build_hierarchy(name, rule, contingency.keys[0].labels)
    return CutColumn(found, rule, levels, settings, merging.notes, frame=source.frame)


def _rule(
    cuts: search.Cuts, domain: Domain, order: Sequence[str] | None, *, given: Sequence[float | str] = ()
) -> dict[str, Any]:
    """Cut points for numbers, which fit any number, as they were given; else every value with the range it lies in."""
    if not cuts.cut_points:
        return {"suppress": True}
    if domain.kind == "number" and order is None:
        as_given = {
            next((label for label in domain.labels if label >= float(point)), None): float(point) for point in given
        }
        points = [float(as_given.get(point, point)) for point in cuts.cut_points]
        return {"cuts": [int(point) if point.is_integer() else point for point in points]}
    texts = [str(as_text(label)) for label in domain.labels]
    texts = texts if order is None else [text for text in order if text in texts]
    rows: dict[str, list[str]] = {}
    for item in cuts.ranges:
        low, high = str(as_text(item.low)), str(as_text(item.high))
        label = low if low == high else f"[{low}, {high}]"
        rows |= {text: [label, SUPPRESSED] for text in texts[texts.index(low) : texts.index(high) + 1]}
    return {"rows": rows}


# --- generalize -------------------------------------------------------------------------------------------------------
Method = Literal["full-domain", "columns", "mondrian", "relaxed-mondrian"]
"""One level for each column; each column as it is or not at all; boxes that never overlap; boxes that may share values at a cut."""
Hierarchies = Mapping[str, hierarchy.Spec] | str | Path


@values.checked
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
    objective: search.ObjectiveName | search.UserFunction = "loss",
    method: Method | None = None,
    time_limit: float | None = None,
    all_optima: bool = False,
    keep_nodes: bool = False,
    protections: Sequence[Protection] = (),
    joint: bool = False,
    adversary: Adversary | None = None,
    announce: Callable[[Mapping[str, Suggestion]], None] | None = None,
    ledger: str | Path | ledgers.Ledger | None = None,
    engine: engines.EngineChoice = None,
) -> publish.GeneralizedRelease:
    """Find the generalization that keeps the policy at the least loss; nothing is written before the release's `write`.

    Columns without a role are published as they are, if the guard lets them: refused are those that a policy with roles does not know,
    that look like identifiers, or that leave more than the policy's `alone_share` of the people alone beside the published classes.

    Args:
        table: Whatever `read` opens.
        policy: The promises: a `Policy`, a mapping with the keys of a policy file, or the path of one.
        quasi_identifiers: As in `measure`, and so are the other roles; what is given here goes before the policy's own.
        sensitive: The columns whose values must not be learnt; they are published as they are.
        identifier: Columns that name people; they are not published.
        leave_out: Columns that name nobody and are not published either.
        plain: Columns that are published as they are, whatever the guard says of them.
        weight: The column that says how many people a row stands for.
        person: The column that says whose row it is, where people own several.
        hierarchies: How columns become coarser: a folder of files, or for each column a rule such as {"intervals": [5, 10]}, a file or a
            hierarchy. A column without one gets a default, shown in the release's `suggestions`.
        suppression: The share of records that may be left out; goes before the policy's own.
        objective: What is lost least: "loss", "arithmetic_loss", "precision", "non_uniform_entropy", "discernibility",
            "average_class_size", "information", or a function of (levels, the counts that would be published, people left out) to a cost.
        method: One level for each column ("full-domain"), each column as it is or not at all ("columns"), boxes that never overlap
            ("mondrian"), or boxes that may share values at a cut ("relaxed-mondrian"); by default the policy's, else the first.
        time_limit: Seconds after which the best release found so far is taken; the plan then says how far it may be from the best.
        all_optima: Keep all solutions of the same cost in the release's `plan`.
        keep_nodes: Keep every combination of levels that was looked at in the release's `plan`.
        protections: Promises of their own for chosen people or values, beside those of the policy.
        joint: Measure all sensitive columns together as one, too.
        adversary: As in `measure`; what is said here goes before the policy's own.
        announce: Called with the default hierarchies before they are used.
        ledger: The `Ledger`, or its folder, that knows what is out already: the promises are kept together with it, and `write` enters
            the release there.
        engine: As in `read`. With Spark only counts come here, and its workers write the release.

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> people = pa.table({"zip": ["4761", "4762", "4791", "4792"], "disease": ["flu", "cold", "flu", "cold"]})
        >>> policy = dv.Policy(k_anonymity=2)
        >>> release = dv.generalize(people, policy=policy, quasi_identifiers="zip", sensitive="disease")
        >>> release.plan.levels, sorted(release.tables()["table"].column("zip").to_pylist())
        ({'zip': 1}, ['476*', '476*', '479*', '479*'])
    """
    kept = Policy.of(policy)
    kept = replace(kept, protections=(*kept.protections, *protections))
    if suppression is not None:
        kept = replace(kept, suppression=suppression)
    source, own = own_table(read(table, engine=engine))
    given = guard.GivenRoles(quasi_identifiers, sensitive, identifier, leave_out, plain, weight, person)
    roles = roles_of(source, kept, given)
    guard.refuse([*guard.unasked(source, roles, kept.roles)])
    out, her = judged_by(ledger, adversary_in_force(adversary, kept.adversary), new=True)
    ground = Groundwork(source, own, roles, her, kept, hierarchies, joint=joint, ledger=out)
    options = {"objective": objective, "time_limit": time_limit, "all_optima": all_optima, "keep_nodes": keep_nodes}
    return ground.release(kept, method=method, announce=announce, **options)


@dataclass(frozen=True, eq=False)
class Groundwork:
    """What a search begins with: a table with roles, counted once before an adversary, and the levels of its columns.

    Promises, suppression and method of a policy may change, and nothing is counted again: that is what a slider does.
    """

    source: Table
    engine: OwnEngine
    roles: Roles
    adversary: Adversary
    policy: Policy = field(repr=False)
    """Whose roles and levels these are."""
    hierarchies: Hierarchies | None = None
    """What goes before the policy's own."""
    joint: bool = False
    ledger: ledgers.OutAlready | None = None

    @classmethod
    def of(cls, table: Any, policy: Policy) -> Groundwork:
        """By what a policy says alone."""
        source, own = own_table(read(table))
        roles = roles_of(source, policy, guard.GivenRoles())
        guard.refuse([*guard.unasked(source, roles, policy.roles)])
        return cls(source, own, roles, adversary_in_force(None, policy.adversary), policy)

    @cached_property
    def counted(self) -> tuple[publish.Original, Measurement]:
        """The original, and what it tells."""
        return count_original(self.source, self.engine, self.roles, self.adversary, joint=self.joint)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What to say of the rows, whatever is promised."""
        return guard.repeated(self.source, self.roles)

    @cached_property
    def levels(self) -> Callable[[Method], tuple[dict[str, Hierarchy], dict[str, Suggestion]]]:
        """The hierarchies that a method works with, and those of them that were chosen for the values."""
        original, _ = self.counted
        return cache(partial(_levels, original, self.hierarchies, self.policy))

    @cached_property
    def rollup(self) -> Callable[[Method], search.Rollup]:
        """The counts under the levels of a method, and what searches remember of them."""
        (original, before), levels = self.counted, self.levels  # not self, which holds this: the table would go late
        known: dict[str, Any] = {"beliefs": before.beliefs, "cell_limit": self.source.engine.cell_limit}
        return cache(lambda method: search.Rollup.of(original.people, levels(method)[0], **known))

    def release(
        self,
        policy: Policy,
        *,
        method: Method | None = None,
        announce: Callable[[Mapping[str, Suggestion]], None] | None = None,
        **options: Any,
    ) -> publish.GeneralizedRelease:
        """The release that keeps a policy of these roles at the least loss."""
        source, roles = self.source, self.roles
        rows_are_people = roles.person is roles.weight is None and self.adversary.nulls != "drop"
        if rows_are_people and any(map(_asks_for_company, policy.promises)):
            guard.refuse(guard.alone_already(source, roles, policy.alone_share, left_out=policy.suppression))
        original, before = self.counted
        protected = choose(policy.protections, original.people, before.beliefs)
        how = cast("Method", method or policy.method or "full-domain")
        levels, suggestions = self.levels(how)
        if suggestions and announce is not None:
            announce(suggestions)
        plan = self._search(policy, how, **options)
        original = replace(original, assumptions=_of_release(original, plan, levels))
        after = original.measure(plan.published(original.people))
        verdict = judge(after, policy.promises, protected=publish.follow(protected, plan, original.people))
        if not verdict.holds:
            raise InternalError("the plan does not keep the policy it was made for")
        alone, refused = guard.alone(
            original.with_person(plan.recoding), replace(roles, identifier=(), leave_out=()), policy.alone_share
        )
        guard.refuse(refused)
        return publish.GeneralizedRelease(
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
            plain=tuple(name for name in source.names if name in roles.plain or name not in roles.named),
            alone=alone,
            notes=self.notes,
            original=original,
            protected=protected,
            expected=publish.Fingerprint.of(self.engine, f"({original.recoded(plan.recoding)})"),
        )

    def _search(self, policy: Policy, method: Method, **options: Any) -> Plan:
        original, before = self.counted
        contingency = original.people
        known: dict[str, Any] = {"beliefs": before.beliefs, "population": contingency.population}
        known["protections"] = policy.protections
        if method in ("full-domain", "columns"):
            left_out = policy.suppression
            found = search.search(
                contingency, self.rollup(method), policy.promises, suppression=left_out, **known, **options
            )
            return replace(found, method=method)
        if policy.suppression:
            raise BadInput(
                f"suppression = {policy.suppression:g} has no use: Mondrian cuts only where every piece keeps the promises, "
                "so it leaves nobody out",
                hint="Say suppression = 0, or use the method full-domain",
            )
        usual = {"objective": "loss", "time_limit": None, "all_optima": False, "keep_nodes": False}
        if unusual := " or ".join(name for name in usual if options.get(name, usual[name]) != usual[name]):
            raise BadInput(f"Mondrian takes no {unusual}", hint="Use the method full-domain")
        levels, strict = self.levels(method)[0], method == "mondrian"
        return search.mondrian(contingency, policy.promises, hierarchies=levels, strict=strict, **known)

    def tradeoff(
        self,
        policy: Policy,
        metric: str | Sequence[str],
        *,
        attribute: str | None = None,
        objective: search.ObjectiveName | search.UserFunction = "loss",
        method: Literal["full-domain", "columns"] = "full-domain",
        announce: Callable[[Mapping[str, Suggestion]], None] | None = None,
    ) -> search.Front:
        """Every combination of the levels of a method that keeps a policy of these roles."""
        original, before = self.counted
        _, suggestions = self.levels(method)
        if suggestions and announce is not None:
            announce(suggestions)
        found = search.pareto_front(
            original.people,
            self.rollup(method),
            list(values.several(metric)),
            attribute=attribute,
            objective=objective,
            promises=policy.promises,
            protections=policy.protections,
            suppression=policy.suppression,
            beliefs=before.beliefs,
        )
        settings = {**before.settings, "prior_weights": dict(original.assumptions.prior_weights)}
        return replace(found, settings=settings, notes=original.assumptions.notes, frame=self.source.frame)


def _asks_for_company(promise: Promise) -> bool:
    """Whether a class of one person breaks it, because it counts people."""
    metric = promise.metric
    counts = metric.scope == "identity" and metric.absorbing and metric.worse == "low" and not metric.needs_population
    return counts and promise.bound > 1


def roles_of(source: Table, policy: Policy, given: guard.GivenRoles) -> Roles:
    """The roles that are given, else the policy's; without quasi-identifiers there is nothing to do."""
    roles = guard.roles_in_force(source, policy.roles, given)
    if not roles.quasi_identifiers:
        told = "no quasi-identifiers were named, so there is nothing to generalize"
        raise BadInput(told, hint="Name the columns that an adversary may know; `divulge profile` suggests some")
    return roles


def count_original(
    source: Table, engine: OwnEngine, roles: Roles, adversary: Adversary, *, joint: bool = False
) -> tuple[publish.Original, Measurement]:
    """Count and measure the original; what a release is measured by is ready for classes that merge."""
    if adversary.original is not None:
        told = "the table that is generalized is the original itself"
        raise BadInput(told, hint="Leave original out, or give a prior")
    source, released = beside_released(source, roles, adversary)
    assumptions, nulls = Assumptions.of(adversary.holding_nothing, source, roles), adversary.without_wildcards()
    contingency = released.pinned(count_in_memory(Request(source, released.judged(roles), nulls, joint)))
    everybody = metrics.count_population(source, adversary, roles, nulls)
    before = metrics.measure_counts(
        contingency, source, roles, assumptions=assumptions, nulls=nulls, population=everybody
    )
    before = released.told_by(before)
    merging = assumptions.as_joint(contingency)
    known: dict[str, Any] = {"assumptions": merging, "nulls": nulls, "joint": joint, "released": released}
    return publish.Original.of(before, source, roles, engine=engine, **known), before


def _of_release(original: publish.Original, plan: Plan, hierarchies: Mapping[str, Hierarchy]) -> Assumptions:
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
    declared: tables.Declared | None = None,
    defaults: bool = True,
    also: Mapping[str, Sequence[str | None]] | None = None,
) -> tuple[dict[str, Hierarchy], dict[str, Suggestion]]:
    """A hierarchy for each quasi-identifier: given, the policy's, the source's own, or (with `defaults`) one chosen for its values.

    `also` are values that only a prior knows; where a rule gives them a label too, the hierarchy knows it.
    """
    values = {key.name: key.labels for key in contingency.own_keys}
    own = declared.hierarchies if declared is not None else {}
    specs: dict[str, hierarchy.Spec] = {name: levels for name, levels in own.items() if name in values}
    # Quasi-identifiers by hand go before the policy's, and its levels of the others are not asked for.
    theirs = policy.roles.get("quasi_identifiers") or ()
    others = {theirs} if isinstance(theirs, str) else {*theirs}
    specs |= {name: spec for name, spec in policy.hierarchies.items() if name in values or name not in others}
    specs |= load_hierarchies(given, columns=list(values)) if isinstance(given, str | Path) else given or {}
    for column in specs:
        if column not in values:
            told = f"a hierarchy is given for {column!r}, which is not a quasi-identifier"
            raise BadInput(told, hint=nearest(column, values))
    missing: Sequence[str] = [name for name in values if name not in specs] if defaults else []
    suggestions = {suggestion.column: suggestion for suggestion in suggest(contingency, missing)}
    chosen = specs | {name: suggestion.spec for name, suggestion in suggestions.items()}
    return hierarchy.build_hierarchies(chosen, values, beyond=also), suggestions


def _levels(
    original: publish.Original, given: Hierarchies | None, policy: Policy, method: Method
) -> tuple[dict[str, Hierarchy], dict[str, Suggestion]]:
    """The hierarchies that a method works with."""
    contingency, also = original.people, original.assumptions.condition_values()
    if method != "columns":
        defaults, declared = method == "full-domain", original.source.declared
        return choose_hierarchies(contingency, given, policy, declared=declared, defaults=defaults, also=also)
    if given:
        told = "the method 'columns' publishes each column as it is or not at all, and hierarchies are given"
        raise BadInput(told, hint="Leave them out, or use the method 'full-domain'")
    dropped: dict[str, hierarchy.Spec] = {key.name: {"suppress": True} for key in contingency.own_keys}
    return choose_hierarchies(contingency, dropped, replace(policy, hierarchies={}), also=also)


# --- tradeoff(): what every combination of levels would tell and cost, and which none beats (Afifi et al. 2018 leave it open)
@values.checked
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
    objective: search.ObjectiveName | search.UserFunction = "loss",
    joint: bool = False,
    adversary: Adversary | None = None,
    announce: Callable[[Mapping[str, Suggestion]], None] | None = None,
    engine: engines.EngineChoice = None,
) -> search.Front:
    """Put every combination of levels that keeps the policy as a point (metrics, objective); nothing is written.

    Args:
        table: Whatever `read` opens.
        metric: The name of a metric, such as "entropy_leakage", or of several: on the front is then what none beats in every number.
        attribute: The sensitive column that the metrics are about; by default the worst of them.
        policy: What every point keeps: a `Policy`, a mapping with the keys of a policy file, or the path of one.
        quasi_identifiers: As in `generalize`, and so are the other roles; what is given here goes before the policy's own.
        sensitive: The columns whose values must not be learnt.
        identifier: Columns that name people.
        weight: The column that says how many people a row stands for.
        person: The column that says whose row it is, where people own several.
        hierarchies: How columns become coarser, as in `generalize`.
        suppression: The share of records that may be left out; goes before the policy's own.
        objective: What is lost, as in `generalize`.
        joint: Measure all sensitive columns together as one, too.
        adversary: As in `measure`; what is said here goes before the policy's own.
        announce: Called with the default hierarchies before they are used.
        engine: As in `read`.

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> people = pa.table({"zip": ["4761", "4762", "4791", "4792"], "disease": ["flu", "cold", "flu", "cold"]})
        >>> roles = {"quasi_identifiers": "zip", "sensitive": "disease"}
        >>> found = dv.tradeoff(people, "k_anonymity", **roles, hierarchies={"zip": {"prefix": [3]}})
        >>> [(point.levels["zip"], point.leakage, round(point.value, 3)) for point in found.front]
        [(0, 1.0, 0.0), (1, 2.0, 0.333), (2, 4.0, 1.0)]
    """
    kept = Policy() if policy is None else Policy.of(policy)
    if suppression is not None:
        if not (kept.promises or kept.protections):
            told = "suppression= has no effect without a promise: people are left out where one breaks"
            raise BadInput(told, hint="Give a promise, for example k_anonymity=5, or leave it out")
        kept = replace(kept, suppression=suppression)
    source, own = own_table(read(table, engine=engine))
    given = guard.GivenRoles(quasi_identifiers, sensitive, identifier, weight=weight, person=person)
    roles = roles_of(source, kept, given)
    her = adversary_in_force(adversary, kept.adversary)
    ground = Groundwork(source, own, roles, her, kept, hierarchies, joint=joint)
    return ground.tradeoff(kept, metric, attribute=attribute, objective=objective, announce=announce)
