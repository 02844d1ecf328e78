# SPDX-License-Identifier: Apache-2.0
"""check(): whether a table keeps a policy, or a release what it promises.

Table, roles and promises of a release come from its manifest, and what the files alone do not prove is never said to hold.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from divulge import anatomy, answers, engines, metrics, publish, values
from divulge import ledger as ledgers
from divulge import policy as policies
from divulge.api.measure import GROUPS, TableOrRelease, guessing_as, measured, told_of
from divulge.api.query import is_anatomized, open_anatomized, promised_by
from divulge.api.released import groups_beside, judged_by, roles_of_groups
from divulge.belief import Adversary, Assumptions, adversary_in_force
from divulge.count import Request
from divulge.engines import choose_engine
from divulge.errors import BadInput, BrokenPromise, InternalError
from divulge.metrics import Measurement
from divulge.policy import Policy, Promise, Protection, Verdict, guard, judge
from divulge.results import Result
from divulge.table import Names, Roles, Table, own_table, table_of

_TOGETHER = "all rows of a person"


@values.checked
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
    private: bool = False,
    ledger: str | Path | ledgers.Ledger | None = None,
    engine: engines.EngineChoice = None,
) -> Verdict:
    """Measure a table and hold it against a policy, or a release against what it promises.

    The people of a protection are chosen by what this table itself says of them. Beside the promises, every other column is looked at:
    `findings` name identifiers and columns to be left out that are there, columns that a policy with roles does not know, what looks like
    an identifier, and columns that leave more than the policy's `alone_share` of the people alone. Where people own several rows, each
    promise is also held against all rows of a person together, unless the policy says `person_published = false`.

    A release brings its table, roles and promises; what is given goes before them. Its files are held against their hashes. A promise that
    its files alone do not prove, such as one against the distribution of the original, is judged with `private` or with the adversary's
    original; without them it is refused, and never said to hold.

    Args:
        table: Whatever `read` opens, the folder of a release, or what `open_release` gave.
        policy: The promises: a `Policy`, a mapping with the keys of a policy file such as {"k_anonymity": 5}, or the path of one.
            By default those of the release.
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
        private: Of a release: take the distribution of the original from its private part (mapping/).
        ledger: The `Ledger`, or its folder, that knows what is out already: the promises are judged together with it.
        engine: As in `read`.

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> people = pa.table({"zip": ["1", "1", "2"], "disease": ["flu", "cold", "flu"]})
        >>> verdict = dv.check(people, {"k_anonymity": 2}, quasi_identifiers="zip", sensitive="disease")
        >>> verdict.holds
        False
    """
    kept = Policy() if policy is None else Policy.of(policy)
    judged = None if _has_groups(table) else TableOrRelease.of(table, private=private, engine=engine)
    given = guard.GivenRoles(quasi_identifiers, sensitive, identifier, leave_out, plain, weight, person)
    _, her = judged_by(ledger, adversary_in_force(adversary, kept.adversary))
    if judged is None:
        return _check_groups(table, kept, given, her, joint=joint, sample=sample, engine=engine)
    if (release := judged.release) is not None:
        if her.released_of and person and not judged.table.has(person):
            judged, given = replace(judged, key=person), replace(given, person=None)
        return _check_release(judged, release, kept, given, her, joint=joint, sample=sample)
    roles = guard.roles_in_force(judged.table, kept.roles, given)
    measurement = measured(judged, roles, her, joint=joint)
    protected = policies.choose_measured(kept.protections, measurement)
    verdict = judge(measurement, kept.promises, protected=protected, sample=sample)
    return _guarded(_with_all_rows(verdict, judged.table, roles, her, kept), judged.table, roles, kept)


# --- releases ---------------------------------------------------------------------------------------------------------
def _check_release(
    judged: TableOrRelease,
    release: publish.OpenedRelease,
    kept: Policy,
    given: guard.GivenRoles,
    her: Adversary,
    *,
    joint: bool,
    sample: int,
) -> Verdict:
    """Hold a release against the promises that are given, else against its own; those that cannot be judged are named."""
    own = not (kept.promises or kept.protections)
    together = own and release.document["kind"] == "applied"
    if together and release.private is None:
        told = f"{release.folder} holds later rows: what it promises is kept by these and all that was published before together"
        raise BadInput(
            told, hint="Judge it with private= (its mapping/ has the others), or give promises for its own table"
        )
    promises = release.promises if own else kept.promises
    if own and not (promises or release.protections or release.unchecked):
        raise BadInput(
            f"{release.folder} promises nothing, so there is nothing to check", hint="for example k_anonymity=5"
        )
    roles, named = _roles_over(judged.table, release, kept, given)
    her = guessing_as(release, her, roles) if own else her
    whole = _with_earlier(judged, release, roles) if together else judged
    measurement = measured(whole, roles, her, joint=joint or (own and release.document["joint"]))
    obstacle = _Obstacles(release, measurement, her, judged.assumptions(her, roles), own=own)
    reasons = {promise: obstacle.of(promise) for promise in promises}
    held = [promise for promise, why in reasons.items() if not why]
    protections = [item for item in kept.protections if not obstacle.of_protection(item)]
    unproved = {promise.text: why for promise, why in reasons.items() if why}
    unproved |= {item.text: why for item in kept.protections if (why := obstacle.of_protection(item))}
    unproved |= dict.fromkeys(release.protections if own else (), "whom it protects, the original alone says")
    unproved |= dict(item.split(": ", 1) for item in release.unchecked if own)
    verdict = None
    if held or protections:
        protected = policies.choose_measured(protections, measurement)
        verdict = judge(measurement, held, protected=protected, sample=sample)
        verdict = _guarded(verdict, judged.table, roles, replace(kept, roles=named))
    if unproved and (verdict is None or verdict.holds):
        raise _unproved(release, unproved, verdict)
    if verdict is None:
        raise InternalError("a release was neither judged nor refused")
    outcomes = tuple(
        replace(
            it,
            shown_by="publisher"
            if it.protects or her.released
            else release.shown_by(it.promise, it.attribute, own=own),
        )
        for it in verdict.outcomes
    )
    settings = dict(verdict.measurement.settings)
    said = {"promises": "its own" if own else "given", "with_earlier": together}
    settings["release"] = {**settings["release"], **said}
    open_ = [f"not judged: {text}: {reason}" for text, reason in unproved.items()]
    notes = (*verdict.measurement.notes, *told_of(release), *open_)
    return replace(verdict, outcomes=outcomes, measurement=replace(verdict.measurement, settings=settings, notes=notes))


def _has_groups(given: Any) -> bool:
    """Whether it is an anatomized release."""
    return isinstance(given, answers.AnatomizedSource) or is_anatomized(given)


def _check_groups(
    release: Any,
    kept: Policy,
    given: guard.GivenRoles,
    her: Adversary,
    *,
    joint: bool,
    sample: int,
    engine: engines.EngineChoice,
) -> Verdict:
    """Hold an anatomized release against promises about classes: joint ones, of its groups and of what is out already."""
    if her.released is None:
        raise BadInput(GROUPS, hint="dv.check_anatomized holds them against its tables")
    if not (kept.promises or kept.protections):
        hint = "dv.check_anatomized with adversary= judges what it promises itself; or give promises, for example k_anonymity=5"
        raise BadInput("no promise about joint classes was given", hint=hint)
    if idle := [*given.named]:
        told = f"{idle[0]}= has no effect: an anatomized release says itself what its columns are"
        raise BadInput(told, hint="Leave it out")
    published = open_anatomized(release, engine=choose_engine(engine))
    roles = roles_of_groups(published)
    for role in ("quasi_identifiers", "sensitive"):
        if kept.roles.get(role) and {*kept.roles[role]} != {*getattr(roles, role)}:
            told = f"the {role} of the policy are not those of the release: {', '.join(getattr(roles, role))}"
            raise BadInput(told, hint="Give the policy that it was made by, or only promises")
    people, held = groups_beside(release, published, her)
    by = replace(roles, quasi_identifiers=held.columns)
    assumptions = Assumptions.of(her.holding_nothing, people, roles)
    found = metrics.measure_request(
        Request(people, by, her.counted_nulls, joint), assumptions=assumptions, population=None
    )
    found = held.told_by(found)
    protected = policies.choose_measured(kept.protections, found)
    return judge(found, kept.promises, protected=protected, sample=sample)


def _with_earlier(judged: TableOrRelease, release: publish.OpenedRelease, roles: Roles) -> TableOrRelease:
    """Later rows and all that was published before them: its promises are kept by both together."""
    source, engine = own_table(judged.table)
    rows = table_of(
        engine, f"({release.all_rows(engine, roles.counted)})", source=f"{release.folder} and what it continues"
    )
    return replace(judged, table=replace(rows, frame=source.frame))


def _unproved(release: publish.OpenedRelease, unproved: Mapping[str, str], verdict: Verdict | None) -> BadInput:
    texts = {
        why: [text for text, reason in unproved.items() if reason == why] for why in dict.fromkeys(unproved.values())
    }
    told = "; ".join(f"{' and '.join(several)} ({why})" for why, several in texts.items())
    shown = [] if verdict is None else [f"{outcome.text} ({outcome.value:.6g})" for outcome in verdict.outcomes]
    files = f"; what was judged holds: {', '.join(shown)}" if shown else ""
    return BadInput(
        f"{release.folder} cannot be said to keep {told}{files}",
        hint="Judge it with private= (its mapping/ beside it) or original=, a population with population=; or give the promises to judge",
    )


def _roles_over(
    table: Table, release: publish.OpenedRelease, kept: Policy, given: guard.GivenRoles
) -> tuple[Roles, Mapping[str, Any]]:
    """The roles given by hand, over the policy's, over those of the release; and the ones that say which columns are known.

    A manifest may come from anybody: a column that it calls plain is, unless it looks like an identifier; where a policy names columns,
    only the policy says what is plain.
    """
    theirs = release.roles
    if not kept.roles:
        suspect = guard.objections(table, theirs.get("plain", ()))
        theirs["plain"] = [name for name in theirs.get("plain", ()) if name not in suspect]
        return guard.roles_in_force(table, theirs, given), release.roles
    several = ("identifier", "leave_out", "plain")
    asked: dict[str, Any] = {
        role: table.present(names) if role in several else names for role, names in kept.roles.items()
    }
    for role, names in given.named.items():
        asked[role] = (*values.several(names), *asked.get(role, ())) if role in several else names
    theirs |= {"plain": (), "person": kept.roles.get("person")}
    if not given.person:
        asked.pop("person", None)
    return guard.roles_in_force(table, theirs, guard.GivenRoles(**asked)), kept.roles


@dataclass(frozen=True)
class _Obstacles:
    """Why a promise about a release cannot be judged with what is at hand."""

    release: publish.OpenedRelease
    measurement: Measurement
    her: Adversary
    assumptions: Assumptions
    own: bool
    """Whether the promises are the release's own, so that they depend on what its publisher assumed."""

    def of(self, promise: Promise, attributes: Collection[str] | None = None) -> str:
        """The first reason; empty where it can be judged."""
        beliefs = attributes if attributes is not None else self.measurement.beliefs
        pairs = promise.spread(beliefs, has_population=True)
        return next((why for found, name in pairs if (why := self._about(found, name))), "")

    def of_protection(self, protection: Protection) -> str:
        """The same for all promises of a protection."""
        about = [protection.attribute] if protection.attribute and protection.values else None
        return next((why for promise in protection.promises if (why := self.of(promise, about))), "")

    def _about(self, promise: Promise, attribute: str | None) -> str:
        metric, settings = promise.metric, self.measurement.settings
        unsaid = [name for name in self.release.background if self.own and name not in self.assumptions.knowledge]
        unsaid_person = None if settings["person"] else self.release.document["roles"].get("person")
        roles = {"person": unsaid_person, "weight": settings["weight"]}
        why = publish.needs_publisher(promise, attribute, roles=roles, background=unsaid)
        if not why or roles["person"] is not None or attribute in unsaid:
            return why
        if attribute is None:
            return why if self.her.population is None else ""
        if settings["prior"][attribute] == "table":
            private = self.own and self.release.private is not None
            return f"the prior of {attribute} was given and is not part of the release" if private else why
        return self._distance(attribute) if self.own and metric.by_distance else ""

    def _distance(self, attribute: str) -> str:
        if self.release.private is None or attribute in (self.her.distances or {}):
            return ""
        asked = self.release.settings["ground_distance"].get(attribute)
        known = asked == self.measurement.settings["ground_distance"][attribute]
        return "" if known else f"the {asked} distance of {attribute} is not part of the release"


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
    known = Assumptions.of(her.holding_nothing, source, roles)
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
    return table_of(engine, f"({sql})", source=source.source, reading=source.reading)


# --- groups -----------------------------------------------------------------------------------------------------------
# check_anatomized(): which (alpha, beta, gamma, delta) an anatomized release keeps, ours or another's, from its tables alone.
# Beside what is out already the groups become smaller: whoever holds all of it knows of each person the group and the classes that she has
# there. Then the bounds are held against these joint groups, as the table that the release was made of knows them.
@dataclass(frozen=True, repr=False)
class ReleaseCheck(Result):
    """What a release reaches, and whether it keeps what is asked."""

    view = "releases"

    levels: anatomy.Reached
    model: anatomy.AlphaBetaGammaDelta
    tables: tuple[tuple[str, ...], ...]
    groups: int
    smallest: int
    largest: int
    breaking: int
    """How many groups break a bound."""
    settings: Mapping[str, Any]
    """Where each bound comes from, the tables, and which of their columns are sensitive, name the group, and count."""
    notes: tuple[str, ...] = ()

    def raise_for_broken(self) -> None:
        """Raise `BrokenPromise`, which names what is broken, unless every group keeps every bound."""
        if not self.holds:
            told = [
                f"{name} <= {getattr(self.model, name)} (reached {getattr(self.levels, name)})" for name in self.broken
            ]
            raise BrokenPromise(f"the release breaks {', '.join(told)}")

    @property
    def broken(self) -> tuple[str, ...]:
        """The names of the bounds that are exceeded."""
        return self.model.broken_by(self.levels)

    @property
    def holds(self) -> bool:
        """Every group keeps every bound."""
        return self.breaking == 0


@values.checked
def check_anatomized(
    release: Any,
    *,
    alpha: anatomy.Share | None = None,
    beta: anatomy.Share | None = None,
    gamma: anatomy.Share | None = None,
    delta: anatomy.Share | None = None,
    sensitive: str | Sequence[str] = (),
    group: str = anatomy.GROUP,
    count: str = anatomy.COUNT,
    adversary: Adversary | None = None,
    ledger: str | Path | ledgers.Ledger | None = None,
    engine: engines.EngineChoice = None,
) -> ReleaseCheck:
    """Work out the exact levels of an anatomized release from its tables alone, and hold them against what it promises.

    A bound that is given goes before the one that the release promises. Where there is neither, nothing is judged: that is refused. All
    four levels are shown by the files alone; the prior of delta is the distribution of the sensitive values over all groups, for an
    anatomized release leaves nobody out. Beside what is out already (`adversary`, `ledger`) joint groups are held against the bounds: who
    has the same group and the same classes there. The original alone says who that is.

    Args:
        release: An anatomized release, ours or another's, as in `query`.
        alpha: As in `anatomize`, and so are the other bounds; 1 demands nothing. By default what the release promises.
        beta: The bound on attribute linkage.
        gamma: The bound on table linkage.
        delta: The bound on the probabilistic attack.
        sensitive: The sensitive columns of another's release; ours says itself, and what is given goes before it.
        group: The column of another's release that names the group.
        count: The column of another's release that says how often a row stands in its group.
        adversary: What she holds already (released=), and the table that the release was made of (original=); nothing else about her has
            an effect here.
        ledger: The `Ledger`, or its folder, that knows what is out already: she holds that too.
        engine: As in `read`; with Spark groups are measured on the workers, which must see the files.

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> ages = pa.table({"GID": [1, 1, 2, 2], "age": [30, 33, 45, 42]})
        >>> jobs = pa.table({"GID": [1, 2, 2], "job": ["Teacher", "Doctor", "Teacher"], "Count": [2, 1, 1]})
        >>> found = dv.check_anatomized([ages, jobs], sensitive="job", beta="1/2")
        >>> found.levels.beta, found.holds
        (Fraction(1, 1), False)
    """
    bounds = {"alpha": alpha, "beta": beta, "gamma": gamma, "delta": delta}
    given = {name: bound for name, bound in bounds.items() if bound is not None}
    model = anatomy.AlphaBetaGammaDelta(**{**promised_by(release), **given})
    names = values.several(sensitive)
    published = open_anatomized(release, sensitive=names, group=group, count=count, engine=choose_engine(engine))
    beside, joint = _beside(release, published, adversary_in_force(adversary), ledger)
    found = anatomy.measure_tables(joint, model)
    if not given and model == anatomy.AlphaBetaGammaDelta():
        reached = ", ".join(f"{name} {level}" for name, level in found.levels.texts().items())
        told = f"the release promises nothing, so there is nothing to hold it against; it reaches {reached}"
        raise BadInput(told, hint="Give a bound, for example beta=1/4")
    tables = tuple(table.columns for table in published.tables)
    return ReleaseCheck(
        levels=found.levels,
        model=model,
        tables=tables,
        groups=found.groups,
        smallest=found.smallest,
        largest=found.largest,
        breaking=found.breaking,
        settings={
            "bounds": {name: "given" if name in given else "the release" for name in model.texts()},
            "engine": published.engine.name,
            "source": [table.source for table in published.tables],
            "sensitive": list(published.sensitive),
            "group": published.group,
            "count": published.count,
            "prior": "release",
            **({"released": [dict(item) for item in beside.settings]} if beside.columns else {}),
        },
        notes=beside.notes,
        frame=published.frame,
    )


def _beside(
    release: Any, published: anatomy.Published, her: Adversary, ledger: str | Path | ledgers.Ledger | None
) -> tuple[publish.EarlierReleases, anatomy.Published]:
    """What is out already, and the tables with joint groups: as they are where nothing is."""
    why = "bounds of groups depend on what she holds, and the original on who is in which, alone"
    her.refuse([name for name in her.given if name not in ("released", "released_of", "original")], why)
    if ledger is None and her.released is None:
        her.refuse(["original"] if her.original is not None else [], "nothing that is out already is named")
    _, holder = judged_by(ledger, her)
    if holder.released is None:
        return publish.EarlierReleases(), published
    people, held = groups_beside(release, published, holder)
    quote = people.engine.quote
    joint = " || ' & ' || ".join(map(quote, held.columns)) + f" AS {quote(published.group)}"
    tables = [
        table_of(
            people.engine,
            f"(SELECT {joint}, {', '.join(map(quote, table.columns))} FROM {people.relation})",
            source=people.source,
        )
        for table in published.tables
    ]
    asked: dict[str, Any] = {"sensitive": published.sensitive, "group": published.group, "count": published.count}
    return held, anatomy.join_tables(tables, **asked)
