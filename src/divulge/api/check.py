# SPDX-License-Identifier: Apache-2.0
"""check(): check a table against a policy, or a release against its own guarantees.

Table, roles and requirements of a release come from its manifest. A requirement that the files do
not prove is never reported as met.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast, overload

import numpy as np

from divulge import anatomization, engines, metrics, releases
from divulge import ledger as ledgers
from divulge import policy as policies
from divulge.adversary import Adversary, Assumptions
from divulge.api.check_groups import ReleaseCheck, check_groups, check_joint_classes
from divulge.api.measure import (
    assumptions_of,
    guarantee_notes,
    measure_target,
    open_measurable,
    with_release_guess_settings,
)
from divulge.api.opened import OpenedAnatomized, OpenedGeneralized, is_anatomized, open_release
from divulge.api.prior_releases import reject_uncertain
from divulge.api.request import ResolvedRequest, resolve_request
from divulge.arguments import arg, marked
from divulge.arrays import Bools
from divulge.counting import Contingency, Request, count_in_memory
from divulge.errors import BadInput, InternalError
from divulge.metrics import Measurement
from divulge.policy import Policy, Promise, Protection, Verdict, guard, judge
from divulge.sources import Names, Roles, Table, own_table, table_of
from divulge.text import as_names
from divulge.validation import checked

_ALL_ROWS = "all rows of a person"


@overload
def check(
    table: str | Path,
    policy: policies.PolicyLike | None = ...,
    *,
    quasi_identifiers: Names = ...,
    sensitive: Names = ...,
    identifier: Names = ...,
    leave_out: Names = ...,
    plain: Names = ...,
    weight: str | None = ...,
    person: str | None = ...,
    joint: bool = ...,
    adversary: Adversary | None = ...,
    sample: int = ...,
    alpha: anatomization.Share | None = ...,
    beta: anatomization.Share | None = ...,
    gamma: anatomization.Share | None = ...,
    delta: anatomization.Share | None = ...,
    group: str | None = ...,
    count: str | None = ...,
    with_private: bool = ...,
    private_dir: str | Path | None = ...,
    ledger: str | Path | ledgers.Ledger | None = ...,
    engine: engines.EngineChoice = ...,
) -> Verdict | ReleaseCheck: ...


@overload
def check(
    table: Any,
    policy: policies.PolicyLike | None = ...,
    *,
    quasi_identifiers: Names = ...,
    sensitive: Names = ...,
    identifier: Names = ...,
    leave_out: Names = ...,
    plain: Names = ...,
    weight: str | None = ...,
    person: str | None = ...,
    joint: bool = ...,
    adversary: Adversary | None = ...,
    sample: int = ...,
    alpha: anatomization.Share | None = ...,
    beta: anatomization.Share | None = ...,
    gamma: anatomization.Share | None = ...,
    delta: anatomization.Share | None = ...,
    group: str | None = ...,
    count: str | None = ...,
    with_private: bool = ...,
    private_dir: str | Path | None = ...,
    ledger: str | Path | ledgers.Ledger | None = ...,
    engine: engines.EngineChoice = ...,
) -> Verdict: ...


@checked
def check(
    table: Any,
    policy: policies.PolicyLike | None = None,
    *,
    quasi_identifiers: Names = (),
    sensitive: Names = (),
    identifier: Names = (),
    leave_out: Names = (),
    plain: Names = (),
    weight: str | None = None,
    person: str | None = None,
    joint: bool = False,
    adversary: Adversary | None = None,
    sample: int = 10,
    alpha: anatomization.Share | None = None,
    beta: anatomization.Share | None = None,
    gamma: anatomization.Share | None = None,
    delta: anatomization.Share | None = None,
    group: str | None = None,
    count: str | None = None,
    with_private: bool = False,
    private_dir: str | Path | None = None,
    ledger: str | Path | ledgers.Ledger | None = None,
    engine: engines.EngineChoice = None,
) -> Verdict | ReleaseCheck:
    """Measure a table and check it against a policy, or a release against its own guarantees.

    The people of a protection are selected by their values in this table. The guard also examines
    every other column. `findings` lists:

    - identifiers and columns to be dropped that are present,
    - columns that a policy with roles does not name,
    - columns that look like identifiers,
    - columns that make more than the policy's `unique_share` of the people unique.

    `uniqueness` reports how many people are unique by the quasi-identifiers and all other columns
    except the sensitive ones. Without a `unique_share` only columns without a role are limited, to
    1%. If people have several rows, each requirement is also checked for all rows of a person
    together, unless the policy has `person_published = false`.

    An anatomized release, our own or a third party's, has groups and no classes. Its exact levels
    alpha, beta, gamma and delta are computed from its tables and checked against the bounds that it
    guarantees or that are passed; the result is then a `ReleaseCheck`. The prior of delta is the
    distribution of the sensitive values over all groups, because an anatomized release suppresses
    no records. With prior releases (`adversary`, `ledger`) the bounds are checked for joint groups,
    people with equal group and equal prior classes, or the policy for these as classes. Only the
    original determines them.

    A release brings its table, roles and requirements; explicit arguments take precedence. Its
    files are verified against their hashes. Some requirements are not proved by the files, such as
    those relative to the distribution of the original. They are checked with `with_private` or with
    the adversary's original. Without these, they raise an error and are never reported as met.

    Args:
        table: Any source that `read` opens, the folder of a release, or a result of `open_release`.
        policy: The requirements: a `Policy`, a mapping with the keys of a policy file such as
            {"k_anonymity": 5}, or the path of one. The default is those of the release.
        quasi_identifiers: As in `measure`, like the other roles; explicit roles take precedence
            over the policy's.
        sensitive: The columns whose values must not be disclosed.
        identifier: Columns that identify people; the check fails if one is present.
        leave_out: Columns that must not be published; the check fails if one is present.
        plain: Columns that may be published unchanged although they have no other role.
        weight: The column with the number of people that a row represents.
        person: The column that names the person each row belongs to, if people have several rows.
        joint: Also measure all sensitive columns together as one.
        adversary: As in `measure`; it takes precedence over the policy's.
        sample: Number of classes that violate a requirement to list.
        alpha: For an anatomized release: the bound on record linkage, as in `anatomize`. The
            default of all four bounds is the release's.
        beta: The bound on attribute linkage.
        gamma: The bound on table linkage.
        delta: The bound on the probabilistic attack.
        group: The column of a third-party anatomized release with the name of the group. The
            default is GID.
        count: The column of a third-party anatomized release with the number of occurrences of a
            row in its group. The default is Count.
        with_private: For a release: take the distribution of the original from its private part.
        private_dir: The folder of the release's private part, if it is not next to it; implies
            `with_private`.
        ledger: The `Ledger`, or its folder, that lists the prior releases. The requirements are
            checked together with them.
        engine: As in `read`.

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> people = pa.table({"zip": ["1", "1", "2"], "disease": ["flu", "cold", "flu"]})
        >>> verdict = dv.check(
        ...     people, {"k_anonymity": 2}, quasi_identifiers="zip", sensitive="disease"
        ... )
        >>> verdict.holds
        False
        >>> ages = pa.table({"GID": [1, 1, 2, 2], "age": [30, 33, 45, 42]})
        >>> jobs = pa.table(
        ...     {"GID": [1, 2, 2], "job": ["Teacher", "Doctor", "Teacher"], "Count": [2, 1, 1]}
        ... )
        >>> groups = dv.check([ages, jobs], sensitive="job", beta="1/2")
        >>> groups.levels.beta, groups.holds
        (Fraction(1, 1), False)
    """
    bounds = {"alpha": alpha, "beta": beta, "gamma": gamma, "delta": delta}
    explicit_bounds = {name: bound for name, bound in bounds.items() if bound is not None}
    explicit_roles = guard.ExplicitRoles(
        quasi_identifiers, sensitive, identifier, leave_out, plain, weight, person
    )
    request = resolve_request(explicit_roles, policy=policy, adversary=adversary, ledger=ledger)
    effective_policy = request.policy
    effective_adversary = request.adversary
    if is_anatomized(table, group=group):
        opened = open_release(table, sensitive=sensitive, group=group, count=count, engine=engine)
        return _check_anatomized(
            cast("OpenedAnatomized", opened),
            request,
            explicit_bounds,
            joint=joint,
            sample=sample,
            with_private=with_private or private_dir is not None,
        )
    _reject_group_options({**explicit_bounds, "group": group, "count": count})
    target = open_measurable(
        table, with_private=with_private, private_dir=private_dir, engine=engine
    )
    if isinstance(target, OpenedGeneralized):
        if effective_adversary.released_of and person and not target.table.has(person):
            target = replace(target, person_column=person)
            explicit_roles = replace(explicit_roles, person=None)
        return _check_release(
            target,
            target.release,
            effective_policy,
            explicit_roles,
            effective_adversary,
            joint=joint,
            sample=sample,
        )
    roles = request.roles_in(target.table)
    _require_class_requirement(effective_policy)
    measurement = measure_target(target, roles, effective_adversary, joint=joint)
    protected = policies.choose_measured(effective_policy.protections, measurement)
    verdict = judge(measurement, effective_policy.promises, protected=protected, sample=sample)
    verdict = _with_linked_outcomes(
        verdict, target.table, roles, effective_adversary, effective_policy
    )
    return _require_certainty(_with_guard_findings(verdict, target.table, roles, effective_policy))


def _check_anatomized(
    opened: OpenedAnatomized,
    request: ResolvedRequest,
    bounds: Mapping[str, anatomization.Share],
    *,
    joint: bool,
    sample: int,
    with_private: bool,
) -> Verdict | ReleaseCheck:
    """Check the groups of an anatomized release, or a policy for its joint classes."""
    policy = request.policy
    unused_options = [*replace(request.explicit_roles, sensitive=()).explicit_names]
    if with_private:
        unused_options.append("with_private")
    if unused_options:
        message = (
            f"{arg(unused_options[0])} has no effect: an anatomized release says itself what its "
            "columns are"
        )
        raise BadInput(message, hint="Leave it out")
    if not (policy.promises or policy.protections):
        if joint:
            raise BadInput(
                f"{arg('joint')} has no effect on the levels of groups", hint="Leave it out"
            )
        return check_groups(opened, bounds, request.adversary)
    if bounds:
        raise BadInput(
            f"{arg(next(iter(bounds)))} has no effect: the policy is about joint classes",
            hint="Check the levels of the groups without the policy",
        )
    return _require_certainty(
        check_joint_classes(opened, policy, request.adversary, joint=joint, sample=sample)
    )


def _reject_group_options(option_values: Mapping[str, Any]) -> None:
    """Raise BadInput for an option that only an anatomized release has."""
    for name, value in option_values.items():
        if value is not None:
            raise BadInput(
                f"{arg(name)} has no effect: this is no anatomized release", hint="Leave it out"
            )


def _require_class_requirement(policy: Policy) -> None:
    """Raise BadInput if `unique_share` is the only requirement of a policy."""
    if policy.unique_share is not None and not policy.promises and not policy.protections:
        raise BadInput(
            "unique_share is checked only together with a requirement about classes, and the "
            "policy has none",
            hint=f"Add one, for example {metrics.EXAMPLE_REQUIREMENT}",
        )


def _require_certainty(verdict: Verdict) -> Verdict:
    """Return the verdict; raise an error if it passes on classes that are not known for certain."""
    if verdict.holds:
        reject_uncertain(verdict.settings.get("released", ()), verdict.settings["source"])
    return verdict


# --- releases -------------------------------------------------------------------------------------
def _check_release(
    target: OpenedGeneralized,
    release: releases.OpenedRelease,
    policy: Policy,
    explicit_roles: guard.ExplicitRoles,
    adversary: Adversary,
    *,
    joint: bool,
    sample: int,
) -> Verdict:
    """Check a release against explicit requirements, else against its own.

    Raises:
        BadInput: Requirements cannot be checked and none is violated; the message names them.
    """
    is_own_policy = not (policy.promises or policy.protections)
    is_incremental = is_own_policy and release.document["kind"] == "applied"
    if is_own_policy:
        _reject_uncheckable_release(release)
    promises = release.promises if is_own_policy else policy.promises
    roles, policy_roles = _resolve_release_roles(target.table, release, policy, explicit_roles)
    adversary = (
        with_release_guess_settings(release, adversary, roles) if is_own_policy else adversary
    )
    joint_target = _with_earlier_rows(target, release, roles) if is_incremental else target
    measurement = measure_target(
        joint_target, roles, adversary, joint=joint or (is_own_policy and release.document["joint"])
    )
    obstacle = _Obstacles(
        release,
        measurement,
        adversary,
        assumptions_of(target, adversary, roles),
        is_own_policy=is_own_policy,
    )
    reasons = {promise: obstacle.of(promise) for promise in promises}
    checkable_promises = [promise for promise, why in reasons.items() if not why]
    protections = [item for item in policy.protections if not obstacle.of_protection(item)]
    unproved = {promise.text: why for promise, why in reasons.items() if why}
    unproved |= {
        item.text: why for item in policy.protections if (why := obstacle.of_protection(item))
    }
    if is_own_policy:
        unproved |= dict.fromkeys(release.protections, "whom it protects, the original alone says")
        unproved |= dict(item.split(": ", 1) for item in release.unchecked)
    required = _unique_share(release, policy, is_own_policy=is_own_policy)
    owners_unknown = roles.person is None and release.document["roles"].get("person") is not None
    if required is not None and owners_unknown:
        unproved[f"unique_share <= {required:g}"] = (
            "its files do not tell which rows belong to one person"
        )
        required = None
    policy = replace(policy, unique_share=required, roles=policy_roles)
    verdict = None
    if checkable_promises or protections:
        protected = policies.choose_measured(protections, measurement)
        verdict = judge(measurement, checkable_promises, protected=protected, sample=sample)
        if is_incremental:
            new_records = measure_target(
                target, roles, adversary, joint=joint or release.document["joint"]
            )
            verdict = _with_new_records(
                verdict, judge(new_records, checkable_promises, sample=sample), release
            )
        verdict = _with_guard_findings(
            verdict, target.table, roles, policy, unit="rows" if owners_unknown else "people"
        )
    if unproved and (verdict is None or verdict.holds):
        raise _unproved_error(release, unproved, verdict)
    if verdict is None:
        raise InternalError("a release was neither judged nor refused")
    verdict = _with_proof_sources(
        _require_certainty(verdict), release, adversary, is_own_policy=is_own_policy
    )
    check_settings = {
        "promises": "its own" if is_own_policy else "given",
        "with_earlier": is_incremental,
    }
    return _with_check_settings(verdict, release, check_settings, unproved)


def _with_check_settings(
    verdict: Verdict,
    release: releases.OpenedRelease,
    check_settings: Mapping[str, Any],
    unproved: Mapping[str, str],
) -> Verdict:
    """Add the settings of the check, and notes about guarantees and unproved requirements."""
    measurement = verdict.measurement
    settings = dict(measurement.settings)
    settings["release"] = {**settings["release"], **check_settings}
    unproved_notes = [f"not judged: {text}: {reason}" for text, reason in unproved.items()]
    notes = (*measurement.notes, *guarantee_notes(release), *unproved_notes)
    return replace(verdict, measurement=replace(measurement, settings=settings, notes=notes))


def _reject_uncheckable_release(release: releases.OpenedRelease) -> None:
    """Raise BadInput if a release has no requirements, or lacks the private part they need."""
    if release.document["kind"] == "applied" and release.private is None:
        message = (
            f"{release.folder} holds later rows: what it promises is kept by these and "
            "all that was published before together"
        )
        raise BadInput(
            message,
            hint=f"Check it {arg('with_private')} (its private part has the others), or "
            "give promises for "
            "its own table",
        )
    if not (release.promises or release.protections or release.unchecked):
        raise BadInput(
            f"{release.folder} promises nothing, so there is nothing to check",
            hint=f"for example {metrics.EXAMPLE_REQUIREMENT}",
        )


def _with_proof_sources(
    verdict: Verdict, release: releases.OpenedRelease, adversary: Adversary, *, is_own_policy: bool
) -> Verdict:
    """Record for each outcome whether the files or only the publisher can prove it."""
    outcomes = []
    for outcome in verdict.outcomes:
        proof_source: Literal["files", "publisher"] = "publisher"
        if not (outcome.protects or adversary.released):
            proof_source = release.shown_by(
                outcome.promise, outcome.attribute, own_promise=is_own_policy
            )
        outcomes.append(replace(outcome, shown_by=proof_source))
    return replace(verdict, outcomes=tuple(outcomes))


def _unique_share(
    release: releases.OpenedRelease, policy: Policy, *, is_own_policy: bool
) -> float | None:
    """The requirement that is passed explicitly, else the one that the release was made with."""
    if policy.unique_share is not None or not is_own_policy:
        return policy.unique_share
    recorded: float | None = release.document.get("policy", {}).get("unique_share")
    return recorded


def _with_earlier_rows(
    target: OpenedGeneralized, release: releases.OpenedRelease, roles: Roles
) -> OpenedGeneralized:
    """Add all rows published earlier.

    An incremental release meets its guarantees together with them.
    """
    source, engine = own_table(target.table)
    rows = table_of(
        engine,
        f"({release.all_rows(engine, roles.counted_columns)})",
        source=f"{release.folder} and what it continues",
    )
    return replace(target, table=replace(rows, frame=source.frame))


def _with_new_records(
    verdict: Verdict, new_records: Verdict, release: releases.OpenedRelease
) -> Verdict:
    """Add the verdict on the new records of an incremental release among themselves.

    An adversary who knows that a person is one of them looks among them only. If the release was
    published with `accept_incremental_risk`, violations are a warning.
    """
    outcomes = tuple(replace(outcome, new_records=True) for outcome in new_records.outcomes)
    if not release.document["new_records"]["accept_incremental_risk"]:
        return replace(verdict, outcomes=(*verdict.outcomes, *outcomes))
    return replace(verdict, accepted=tuple(item for item in outcomes if not item.holds))


def _unproved_error(
    release: releases.OpenedRelease, unproved: Mapping[str, str], verdict: Verdict | None
) -> BadInput:
    texts_by_reason = {
        why: [text for text, reason in unproved.items() if reason == why]
        for why in dict.fromkeys(unproved.values())
    }
    unproved_text = "; ".join(
        f"{' and '.join(texts)} ({why})" for why, texts in texts_by_reason.items()
    )
    if verdict is None:
        outcome_texts = []
    else:
        outcome_texts = [
            f"{marked(outcome.text)} ({outcome.value:.6g})" for outcome in verdict.outcomes
        ]
    if outcome_texts:
        outcome_note = f"; what was judged holds: {', '.join(outcome_texts)}"
    else:
        outcome_note = ""
    return BadInput(
        f"{release.folder} cannot be said to keep {unproved_text}{outcome_note}",
        hint=f"Check it {arg('with_private')} (its private part) or {arg('original')}, a "
        "population with "
        f"{arg('population')}; or give the promises to judge",
    )


def _resolve_release_roles(
    table: Table,
    release: releases.OpenedRelease,
    policy: Policy,
    explicit_roles: guard.ExplicitRoles,
) -> tuple[Roles, Mapping[str, Any]]:
    """Resolve roles: explicit roles, else the policy's, else those of the release.

    The second result holds the roles that declare the expected columns. A manifest may come from a
    third party. A column that it declares insensitive is accepted unless it looks like an
    identifier. If a policy names columns, only the policy declares insensitive columns.
    """
    release_roles = release.roles
    if not policy.roles:
        suspect = guard.objections(table, release_roles.get("plain", ()))
        release_roles["plain"] = [
            name for name in release_roles.get("plain", ()) if name not in suspect
        ]
        return guard.roles_in_force(table, release_roles, explicit_roles), release.roles
    list_roles = ("identifier", "leave_out", "plain")
    role_arguments: dict[str, Any] = {
        role: table.present(names) if role in list_roles else names
        for role, names in policy.roles.items()
    }
    for role, names in explicit_roles.explicit_names.items():
        if role in list_roles:
            role_arguments[role] = (*as_names(names), *role_arguments.get(role, ()))
        else:
            role_arguments[role] = names
    release_roles |= {"plain": (), "person": policy.roles.get("person")}
    if not explicit_roles.person:
        role_arguments.pop("person", None)
    return guard.roles_in_force(
        table, release_roles, guard.ExplicitRoles(**role_arguments)
    ), policy.roles


@dataclass(frozen=True)
class _Obstacles:
    """Reasons why a requirement on a release cannot be checked with the available data."""

    release: releases.OpenedRelease
    measurement: Measurement
    adversary: Adversary
    assumptions: Assumptions
    is_own_policy: bool
    """True for the release's own requirements, which depend on the publisher's assumptions."""

    def of(self, promise: Promise, attributes: Collection[str] | None = None) -> str:
        """First reason; empty if the requirement can be checked."""
        if attributes is not None:
            beliefs = attributes
        else:
            beliefs = self.measurement.beliefs
        pairs = promise.spread(beliefs, has_population=True)
        return next(
            (
                why
                for column_promise, name in pairs
                if (why := self._column_obstacle(column_promise, name))
            ),
            "",
        )

    def of_protection(self, protection: Protection) -> str:
        """First reason for any requirement of a protection; empty if all can be checked."""
        if protection.attribute and protection.values:
            about = [protection.attribute]
        else:
            about = None
        return next(
            (why for promise in protection.promises if (why := self.of(promise, about))), ""
        )

    def _column_obstacle(self, promise: Promise, attribute: str | None) -> str:
        metric = promise.metric
        settings = self.measurement.settings
        unknown_background = [
            name
            for name in self.release.background
            if self.is_own_policy and name not in self.assumptions.knowledge
        ]
        if settings["person"]:
            unknown_person = None
        else:
            unknown_person = self.release.document["roles"].get("person")
        roles = {"person": unknown_person, "weight": settings["weight"]}
        why = releases.needs_publisher(
            promise, attribute, roles=roles, background=unknown_background
        )
        if not why or roles["person"] is not None or attribute in unknown_background:
            return why
        if attribute is None:
            if self.adversary.population is None:
                return why
            return ""
        if settings["prior"][attribute] == "table":
            private = self.is_own_policy and self.release.private is not None
            if private:
                return f"the prior of {attribute} was given and is not part of the release"
            return why
        if self.is_own_policy and metric.by_distance:
            return self._distance_obstacle(attribute)
        return ""

    def _distance_obstacle(self, attribute: str) -> str:
        if self.release.private is None or attribute in (self.adversary.distances or {}):
            return ""
        distance = self.release.settings["ground_distance"].get(attribute)
        is_same_distance = distance == self.measurement.settings["ground_distance"][attribute]
        if is_same_distance:
            return ""
        return f"the {distance} distance of {attribute} is not part of the release"


def _with_guard_findings(
    verdict: Verdict,
    source: Table,
    roles: Roles,
    policy: Policy,
    *,
    unit: guard.uniqueness.Unit = "people",
) -> Verdict:
    """Add the guard's findings in the columns that no requirement covers."""
    findings = [
        *guard.present(roles, person_published=policy.person_published),
        *guard.findings_without_role(source, roles, policy.roles),
    ]
    flagged = {
        name
        for finding in findings
        if finding.guard == "looks_like_identifier"
        for name in finding.columns
    }
    uniqueness = guard.uniqueness.measure_uniqueness(
        source,
        roles,
        without=flagged,
        unit=unit,
        required=policy.unique_share,
        linked=policy.person_published,
    )
    problem = guard.uniqueness.judge_uniqueness(source, roles, uniqueness)
    settings = {
        **verdict.measurement.settings,
        "leave_out": list(roles.leave_out),
        "plain": list(roles.plain),
        "unique_share": policy.unique_share,
        "person_published": policy.person_published,
    }
    measurement = replace(verdict.measurement, settings=settings)
    return replace(
        verdict,
        measurement=measurement,
        findings=(*findings, *guard.unique_finding(problem)),
        uniqueness=replace(uniqueness, fails=problem is not None),
    )


def _with_linked_outcomes(
    verdict: Verdict, source: Table, roles: Roles, adversary: Adversary, policy: Policy
) -> Verdict:
    """Check every requirement a second time if the person column is published.

    The class of a person then holds the people who have equal rows in the quasi-identifiers, each
    as often.
    """
    if roles.person is None or not policy.person_published:
        return verdict
    assumptions = Assumptions.of(adversary.holding_nothing, source, roles)
    _reject_unlinkable(policy, assumptions)
    columns = dict.fromkeys(
        name
        for item in policy.protections
        for name in item.where
        if name in roles.quasi_identifiers
    )
    rows = _rows_with_person_digest(source, roles, adversary, columns=tuple(columns))
    linked_roles = replace(
        roles, quasi_identifiers=(_ALL_ROWS,), identifier=(), leave_out=(), plain=()
    )
    joint = len(verdict.measurement.beliefs) > len(roles.sensitive)
    request = Request(rows, linked_roles, adversary.counted_nulls, joint=joint)
    priors = {
        name: prior
        for name, prior in assumptions.priors.items()
        if name not in assumptions.conditional
    }
    measured = metrics.measure_request(
        request, assumptions=replace(assumptions, priors=priors), population=None
    )
    protected = _linked_protections(policy.protections, measured, request, tuple(columns))
    linked_verdict = judge(measured, policy.promises, protected=protected, sample=0)
    linked = (replace(outcome, linked=True, sample=()) for outcome in linked_verdict.outcomes)
    return replace(verdict, outcomes=(*verdict.outcomes, *linked))


def _reject_unlinkable(policy: Policy, assumptions: Assumptions) -> None:
    """Raise an error for a requirement that cannot be checked if all rows of a person are known."""
    protected = (promise for item in policy.protections for promise in item.promises)
    for promise in (*policy.promises, *protected):
        about_value = promise.metric.scope == "sensitive" and bool(assumptions.conditional)
        if promise.metric.needs_population or about_value:
            if about_value:
                why = "the prior depends on columns"
            else:
                why = "it depends on a population"
            raise BadInput(
                f"{marked(promise.text)} cannot be judged by all rows of a person: {why}, and "
                "a person is known by several rows",
                hint="Say person_published = false in the policy if the person column is not "
                "published",
            )


def _linked_protections(
    protections: Sequence[Protection],
    measured: Measurement,
    request: Request,
    columns: tuple[str, ...],
) -> list[policies.Protected]:
    """Select the linked classes of each protection.

    Its people meet the conditions in at least one of their rows.
    """
    if not columns:
        return list(policies.choose_measured(protections, measured))
    by_row = replace(
        request, roles=replace(request.roles, quasi_identifiers=(_ALL_ROWS, *columns)), joint=False
    )
    contingency = count_in_memory(by_row)
    return [
        item
        if item.only is None
        else replace(item, only=_linked_classes(item.only, contingency, measured.contingency))
        for item in policies.choose_measured(
            protections, replace(measured, contingency=contingency)
        )
    ]


def _linked_classes(is_chosen: Bools, by_row: Contingency, linked: Contingency) -> Bools:
    """Flags of the linked classes that have one of the selected rows.

    The first column of both contingency tables is the digest.
    """
    digests = by_row.keys[0].labels
    chosen = {digests[code] for code in by_row.codes[0][is_chosen].tolist()}
    return np.array([digest in chosen for digest in linked.key_column(0).to_pylist()], dtype=bool)


def _rows_with_person_digest(
    source: Table, roles: Roles, adversary: Adversary, *, columns: tuple[str, ...] = ()
) -> Table:
    """Rows with a digest of the quasi-identifiers in all rows of their person.

    The result also has the sensitive columns and `columns`.
    """
    engine = source.engine
    quote = source.engine.quote
    where = Request(source, roles, adversary.counted_nulls, joint=False).where()
    row = guard.uniqueness.row_text(source, roles.quasi_identifiers)
    person = quote(str(roles.person))
    digests = (
        f"SELECT {person} AS p, {engine.digest(row)} AS d "
        f"FROM {source.relation}{where} GROUP BY {person}"
    )
    values = "".join(f", {quote(name)}" for name in (*roles.sensitive, *columns))
    rows = f"(SELECT {person}{values} FROM {source.relation}{where}) AS one"
    sql = (
        f"SELECT one.*, o.d AS {quote(_ALL_ROWS)} FROM {rows} JOIN ({digests}) AS o ON "
        f"one.{person} = o.p"
    )
    return table_of(engine, f"({sql})", source=source.source, reading=source.reading)
