# SPDX-License-Identifier: Apache-2.0
"""measure(): from a table to every metric: read, resolve roles, count, form beliefs, score. check(): whether it keeps a policy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from divulge import engines, metrics, values
from divulge import policy as policies
from divulge.belief import Adversary, Assumptions, adversary_in_force
from divulge.count import Request
from divulge.errors import BadInput
from divulge.metrics import Measurement
from divulge.policy import Policy, Promise, Verdict, choose_measured, guard, judge
from divulge.table import Names, Roles, Table, read, read_beside, resolve_roles, table_of

_TOGETHER = "all rows of a person"


@values.checked
def measure(
    table: Any,
    *,
    quasi_identifiers: Names,
    sensitive: Names = (),
    identifier: Names = (),
    weight: str | None = None,
    person: str | None = None,
    joint: bool = False,
    adversary: Adversary | None = None,
    engine: engines.EngineChoice = None,
) -> Measurement:
    """Measure what a table gives away about the people in it.

    Args:
        table: Whatever `read` opens.
        quasi_identifiers: The columns that an adversary may know of a person; people who agree on all of them make a class.
        sensitive: The columns whose values must not be learnt.
        identifier: Columns that name people; they take no part.
        weight: The column that says how many people a row stands for.
        person: The column that says whose row it is, where people own several.
        joint: Measure all sensitive columns together as one, too.
        adversary: What she believed before, rules out and holds; by default she believes the table's own distribution.
        engine: As in `read`.

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> people = pa.table({"zip": ["1", "1", "2", "2"], "disease": ["flu", "flu", "flu", "cancer"]})
        >>> m = dv.measure(people, quasi_identifiers="zip", sensitive="disease")
        >>> m["k_anonymity"].value, m["l_diversity"].worst.key
        (2.0, {'zip': '1'})
    """
    her = adversary_in_force(adversary)
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
    if not roles.sensitive:
        her.refuse(("recursive_l", "distances", "orders", "taxonomies"), "no column is sensitive")
    return _measured(source, roles, her, joint=joint)


def _measured(source: Table, roles: Roles, her: Adversary, *, joint: bool) -> Measurement:
    """Count and measure; an identifier whose values repeat is said to be perhaps a person."""
    assumptions = Assumptions.of(her, source, roles)
    request = Request(source, roles, her.counted_nulls, joint, her.suppression)
    if request.wildcards:
        _refuse_beside_wildcards(her, roles, joint=joint)
    everybody = None if her.population is None else read_beside(source, her.population)
    found = metrics.measure_request(request, assumptions=assumptions, population=everybody)
    return replace(found, notes=(*guard.repeated(source, roles), *found.notes))


def _refuse_beside_wildcards(her: Adversary, roles: Roles, *, joint: bool) -> None:
    """What could not be counted, or would have no effect, where classes overlap."""
    if roles.person is not None:
        told = f"with wildcards the rows of one {roles.person!r} would be counted as people who hide each other"
        raise BadInput(told, hint="reduce the table to one row per person first")
    her.refuse(sorted(set(her.given) - {"nulls", "suppressed"}), "with wildcards nothing is told that depends on it")
    if joint:
        raise metrics.not_told("joint=True")


@values.checked
def check(
    table: Any,
    policy: policies.PolicyLike,
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
    engine: engines.EngineChoice = None,
) -> Verdict:
    """Measure a table and hold it against a policy.

    The people of a protection are chosen by what this table itself says of them. Beside the promises, every other column is looked at:
    `findings` name identifiers and columns to be left out that are there, columns that a policy with roles does not know, what looks like
    an identifier, and columns that leave more than the policy's `alone_share` of the people alone. Where people own several rows, each
    promise is also held against all rows of a person together, unless the policy says `person_published = false`.

    Args:
        table: Whatever `read` opens.
        policy: The promises: a `Policy`, a mapping with the keys of a policy file such as {"k_anonymity": 5}, or the path of one.
        quasi_identifiers: As in `measure`, and so are the other roles; what is given here goes before the policy's own.
        sensitive: The columns whose values must not be learnt.
        identifier: Columns that name people; one that is there breaks the verdict.
        leave_out: Columns that are not to be published; one that is there breaks the verdict.
        plain: Columns that may be there as they are, although they have no other role.
        weight: The column that says how many people a row stands for.
        person: The column that says whose row it is, where people own several.
        joint: Measure all sensitive columns together as one, too.
        adversary: As in `measure`; what is said here goes before the policy's own.
        sample: How many of the classes that break a promise are named.
        engine: As in `read`.

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> people = pa.table({"zip": ["1", "1", "2"], "disease": ["flu", "cold", "flu"]})
        >>> verdict = dv.check(people, {"k_anonymity": 2}, quasi_identifiers="zip", sensitive="disease")
        >>> verdict.holds
        False
    """
    kept = Policy.of(policy)
    source = read(table, engine=engine)
    given = {"quasi_identifiers": quasi_identifiers, "sensitive": sensitive, "identifier": identifier}
    given |= {"leave_out": leave_out, "plain": plain, "weight": weight, "person": person}
    roles = guard.roles_in_force(source, kept.roles, given)
    her = adversary_in_force(adversary, kept.adversary)
    measurement = _measured(source, roles, her, joint=joint)
    protected = choose_measured(kept.protections, measurement)
    verdict = judge(measurement, kept.promises, protected=protected, sample=sample)
    return _guarded(_with_all_rows(verdict, source, roles, her, kept), source, roles, kept)


def _guarded(verdict: Verdict, source: Table, roles: Roles, policy: Policy) -> Verdict:
    """The verdict with what the guard finds in the columns that no promise is about."""
    findings = [
        *guard.present(roles, person_published=policy.person_published),
        *guard.unasked(source, roles, policy.roles),
    ]
    flagged = {name for finding in findings if finding.guard == "looks_like_identifier" for name in finding.columns}
    alone, more = guard.alone(source, roles, policy.alone_share, flagged=flagged)
    settings = {
        **verdict.measurement.settings,
        "leave_out": list(roles.leave_out),
        "plain": list(roles.plain),
        "alone_share": policy.alone_share,
        "person_published": policy.person_published,
    }
    measurement = replace(verdict.measurement, settings=settings)
    return replace(verdict, measurement=measurement, findings=(*findings, *more), alone=alone)


def _with_all_rows(verdict: Verdict, source: Table, roles: Roles, her: Adversary, policy: Policy) -> Verdict:
    """Where the person column is handed out, each promise a second time: a person's class is who has the same rows, each as often."""
    if roles.person is None or not policy.person_published:
        return verdict
    known = Assumptions.of(her, source, roles)
    promises = [promise for promise in policy.promises if _can_be_held(promise, known)]
    if not promises:
        return verdict
    together = replace(roles, quasi_identifiers=(_TOGETHER,), identifier=(), leave_out=(), plain=())
    request = Request(_rows_together(source, roles, her), together, her.counted_nulls, joint=False)
    priors = {name: prior for name, prior in known.priors.items() if name not in known.conditional}
    measured = metrics.measure_request(request, assumptions=replace(known, priors=priors), population=None)
    found = (replace(outcome, linked=True, sample=()) for outcome in judge(measured, promises, sample=0).outcomes)
    return replace(verdict, outcomes=(*verdict.outcomes, *found))


def _can_be_held(promise: Promise, known: Assumptions) -> bool:
    """A population is not known by its rows, nor is a prior that depends on single columns."""
    return not promise.metric.needs_population and (promise.metric.scope == "identity" or not known.conditional)


def _rows_together(source: Table, roles: Roles, her: Adversary) -> Table:
    """The rows with one quasi-identifier: a digest of all that the quasi-identifiers say in all rows of their person."""
    engine, quote = source.engine, source.engine.quote
    where = Request(source, roles, her.counted_nulls, joint=False).where()
    texts = [engine.cast(quote(name), "VARCHAR") for name in roles.quasi_identifiers]
    # Each text with its length before it: no two rows are written alike.
    row = " || ".join(f"COALESCE(CAST(LENGTH({text}) AS VARCHAR(20)) || ':' || {text}, '-')" for text in texts)
    person = quote(str(roles.person))
    digests = f"SELECT {person} AS p, {engine.digest(row)} AS d FROM {source.relation}{where} GROUP BY {person}"
    values = "".join(f", {quote(name)}" for name in roles.sensitive)
    rows = f"(SELECT {person}{values} FROM {source.relation}{where}) AS one"
    sql = f"SELECT one.*, o.d AS {quote(_TOGETHER)} FROM {rows} JOIN ({digests}) AS o ON one.{person} = o.p"
    return table_of(engine, f"({sql})", source=source.source)
