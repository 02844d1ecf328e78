# SPDX-License-Identifier: Apache-2.0
"""measure(): from a table to every metric: read, resolve roles, count, form beliefs, score. check(): whether it keeps a policy.

Both take the folder of a release too. Table, roles and promises then come from its manifest, and what the files alone do not prove is
never said to hold.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from divulge import answers, engines, metrics, publish, values
from divulge import ledger as ledgers
from divulge import policy as policies
from divulge.api.released import beside_new, beside_released, groups_beside, roles_of_groups
from divulge.belief import Adversary, Assumptions, adversary_in_force
from divulge.count import Request
from divulge.engines import DuckDBEngine, choose_engine
from divulge.errors import BadInput, InternalError
from divulge.metrics import Measurement
from divulge.policy import Policy, Promise, Protection, Verdict, guard, judge
from divulge.table import Names, Roles, Table, own_table, read, read_beside, resolve_roles, table_of

_GROUPS = "this is an anatomized release: what it promises are levels of its groups, alpha, beta, gamma and delta"
_TOGETHER = "all rows of a person"
_OF_ITSELF = (
    "the prior is the distribution of the published table itself; that of the original, by which a release is judged, may give "
    "other numbers"
)


@dataclass(frozen=True)
class TableOrRelease:
    """A table to be measured, and the release that it is the table of, where a release was named."""

    table: Table
    release: publish.OpenedRelease | None = None
    key: str | None = None
    """The column of the original that names people, where the release does not have it."""

    @classmethod
    def of(cls, given: Any, *, private: bool = False, engine: engines.EngineChoice = None) -> TableOrRelease:
        """Open whatever `read` opens, the folder of a release, or what `open_release` gave."""
        if isinstance(given, TableOrRelease):
            return given
        folder = _folder_of(given)
        if folder is None:
            if private:
                told = "private= looks into mapping/ of a release, and no release was named"
                raise BadInput(told, hint="Name the folder that holds manifest.json, or leave it out")
            return cls(read(given, engine=engine))
        release = publish.OpenedRelease.read_folder(folder, private=private)
        table = release.read(choose_engine(engine) or DuckDBEngine())
        return cls(replace(table, source=str(folder)), release)

    def assumptions(self, her: Adversary, roles: Roles) -> Assumptions:
        """What she comes to; of a release that is opened with its private part, her prior is that of the original."""
        found = Assumptions.of(her.holding_nothing, self.table, roles)
        if self.release is None or self.release.private is None:
            return found
        if her.original is not None and her.population is None:
            told = "the prior of the original is in the private part of the release, and in original="
            raise BadInput(told, hint="Give one of them")
        own = self.release.settings["prior"]
        counted = {name: masses for name, masses in self.release.masses.items() if own.get(name) == "original"}
        return replace(found, original_values={} if her.original is not None else counted)


def _guessing_as(release: publish.OpenedRelease, her: Adversary, roles: Roles) -> Adversary:
    """What she says, over when a guess is right by the release."""
    told = {
        how: {name: number for name, number in release.guesses.get(how, {}).items() if name in roles.sensitive} or None
        for how in ("tries", "within")
    }
    return her.over(Adversary(tries=told["tries"], within=told["within"]))


def _folder_of(given: Any) -> Path | None:
    """The folder of a release, where one is given."""
    if isinstance(given, answers.AnatomizedSource):
        raise BadInput(_GROUPS, hint="dv.check_anatomized holds them against its tables")
    if isinstance(given, answers.GeneralizedSource):
        return given.folder
    is_folder = isinstance(given, str | Path) and (Path(given) / publish.NAME).is_file()
    return Path(given) if is_folder else None


@values.checked
def measure(
    table: Any,
    *,
    quasi_identifiers: Names = (),
    sensitive: Names = (),
    identifier: Names = (),
    weight: str | None = None,
    person: str | None = None,
    joint: bool = False,
    adversary: Adversary | None = None,
    private: bool = False,
    engine: engines.EngineChoice = None,
) -> Measurement:
    """Measure what a table gives away about the people in it.

    Args:
        table: Whatever `read` opens, the folder of a release, or what `open_release` gave. A release says itself what roles its
            columns have; what is given goes before it.
        quasi_identifiers: The columns that an adversary may know of a person; people who agree on all of them make a class.
        sensitive: The columns whose values must not be learnt.
        identifier: Columns that name people; they take no part.
        weight: The column that says how many people a row stands for.
        person: The column that says whose row it is, where people own several.
        joint: Measure all sensitive columns together as one, too.
        adversary: What she believed before, rules out and holds; by default she believes the table's own distribution.
        private: Of a release: take the distribution of the original, which is in its private part (mapping/), for her prior.
        engine: As in `read`.

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> people = pa.table({"zip": ["1", "1", "2", "2"], "disease": ["flu", "flu", "flu", "cancer"]})
        >>> m = dv.measure(people, quasi_identifiers="zip", sensitive="disease")
        >>> m["k_anonymity"].value, m["l_diversity"].worst.key
        (2.0, {'zip': '1'})
    """
    her = adversary_in_force(adversary)
    judged = TableOrRelease.of(table, private=private, engine=engine)
    given: dict[str, Any] = {"quasi_identifiers": quasi_identifiers, "sensitive": sensitive, "identifier": identifier}
    given |= {"weight": weight, "person": person}
    release = judged.release
    if release is None:
        roles = resolve_roles(judged.table, **given, declared=True)
    else:
        roles = guard.roles_in_force(judged.table, release.roles, given)
        her = _guessing_as(release, her, roles)
    if not roles.sensitive:
        her.refuse(("recursive_l", "distances", "orders", "taxonomies", "tries", "within"), "no column is sensitive")
    found = _measured(judged, roles, her, joint=joint)
    return found if release is None else replace(found, notes=(*found.notes, *_told_of(release)))


def _measured(judged: TableOrRelease, roles: Roles, her: Adversary, *, joint: bool) -> Measurement:
    """Count and measure; an identifier whose values repeat is said to be perhaps a person."""
    source, release = judged.table, judged.release
    assumptions = judged.assumptions(her, roles)
    counted, by, held = _beside_released(judged, roles, her)
    request = Request(counted, by, her.counted_nulls, joint, her.suppression)
    if request.wildcards:
        _refuse_beside_wildcards(her, roles, joint=joint)
    everybody, recoded = _population(judged, her, roles)
    found = metrics.measure_request(request, assumptions=assumptions, population=everybody)
    if held.columns:
        named = {**source.told, "quasi_identifiers": list(roles.quasi_identifiers)}
        found = held.told_by(replace(found, settings={**found.settings, **named}))
    noted = [] if recoded is None else [recoded.text]
    found = replace(found, notes=(*guard.repeated(source, roles), *found.notes, *noted))
    if her.population is not None:
        found = replace(found, settings={**found.settings, "population_recoded": recoded and recoded.setting})
    if release is None:
        return found
    of_itself = [_OF_ITSELF] if "table" in found.settings["prior"].values() else []
    told = {"folder": str(release.folder), "kind": release.document["kind"], "private": release.private is not None}
    return replace(found, settings={**found.settings, "release": told}, notes=(*found.notes, *of_itself))


def _beside_released(
    judged: TableOrRelease, roles: Roles, her: Adversary
) -> tuple[Table, Roles, publish.EarlierReleases]:
    """What is counted, and by which columns: with releases that are out already, the joint classes of the people in the original."""
    if her.released is None or (judged.release is None and her.original is None):
        table, held = beside_released(judged.table, roles, her)
        return table, held.judged(roles), held
    new = judged.table if judged.release is None else judged.release.folder
    by = roles
    if her.released_of and judged.release is not None:
        identifier = tuple(judged.release.document["roles"].get("identifier", ()))
        by = replace(roles, person=roles.person or judged.key, identifier=identifier)
    table, held = beside_new(new, judged.table, by, her)
    return table, replace(by, quasi_identifiers=held.columns, identifier=(), leave_out=(), plain=()), held


@dataclass(frozen=True)
class _Recoded:
    """A population of original values that got the labels of a release."""

    folder: Path
    left_out: int
    """Rows with values that the release does not know."""

    @property
    def setting(self) -> dict[str, Any]:
        return {"by": str(self.folder), "left_out": self.left_out}

    @property
    def text(self) -> str:
        left_out = f"; {self.left_out:,} rows of it have values that it does not know and were left out"
        return f"the population was recoded by the mapping of {self.folder}{left_out if self.left_out else ''}"


def _population(judged: TableOrRelease, her: Adversary, roles: Roles) -> tuple[Request | None, _Recoded | None]:
    """Her population, with the labels of the release where its mapping lies beside the table and the population holds original values."""
    if her.population is None:
        return None, None
    everybody = read_beside(judged.table, her.population)
    as_it_is = metrics.population_request(everybody, roles, her.counted_nulls, people=her.population_count)
    folder = judged.release.folder if judged.release is not None else Path(judged.table.source).parent
    if not (folder / publish.NAME).is_file() or not (folder / publish.FOLDER).is_dir():
        return as_it_is, None
    release = publish.OpenedRelease.read_folder(folder, private=True)
    found = release.recode_table(everybody, roles.quasi_identifiers, her.counted_nulls)
    if found is None:
        return as_it_is, None
    return replace(as_it_is, table=found[0]), _Recoded(folder, found[1])


def _told_of(release: publish.OpenedRelease) -> list[str]:
    """Which promises the files alone prove, and which only the publisher could."""
    shown: dict[str, list[str]] = {"files": [], "publisher": list(release.protections)}
    for promise in release.promises:
        about = [promise.attribute] if promise.attribute else release.sensitive or [None]
        by = {release.shown_by(promise, name) for name in about}
        shown["publisher" if "publisher" in by else "files"].append(promise.text)
    files, publisher = (", ".join(shown[name]) for name in ("files", "publisher"))
    told = [f"of what the release promises, its files alone show: {files}"] if files else []
    return [*told, *([f"of what the release promises, only its publisher can show: {publisher}"] if publisher else [])]


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
    given = {"quasi_identifiers": quasi_identifiers, "sensitive": sensitive, "identifier": identifier}
    given |= {"leave_out": leave_out, "plain": plain, "weight": weight, "person": person}
    _, her = ledgers.judge_by(ledger, adversary_in_force(adversary, kept.adversary))
    if judged is None:
        return _check_groups(table, kept, given, her, joint=joint, sample=sample, engine=engine)
    if (release := judged.release) is not None:
        if her.released_of and person and not judged.table.has(person):
            judged, given = replace(judged, key=person), {**given, "person": None}
        return _check_release(judged, release, kept, given, her, joint=joint, sample=sample)
    roles = guard.roles_in_force(judged.table, kept.roles, given)
    measurement = _measured(judged, roles, her, joint=joint)
    protected = policies.choose_measured(kept.protections, measurement)
    verdict = judge(measurement, kept.promises, protected=protected, sample=sample)
    return _guarded(_with_all_rows(verdict, judged.table, roles, her, kept), judged.table, roles, kept)


# --- releases ---------------------------------------------------------------------------------------------------------
def _check_release(
    judged: TableOrRelease,
    release: publish.OpenedRelease,
    kept: Policy,
    given: Mapping[str, Any],
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
    her = _guessing_as(release, her, roles) if own else her
    whole = _with_earlier(judged, release, roles) if together else judged
    measurement = _measured(whole, roles, her, joint=joint or (own and release.document["joint"]))
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
    notes = (*verdict.measurement.notes, *_told_of(release), *open_)
    return replace(verdict, outcomes=outcomes, measurement=replace(verdict.measurement, settings=settings, notes=notes))


def _has_groups(given: Any) -> bool:
    """Whether it is an anatomized release."""
    if not isinstance(given, str | Path) or not (Path(given) / publish.NAME).is_file():
        return isinstance(given, answers.AnatomizedSource)
    from divulge.api.query import is_anatomized  # most tables are none

    return is_anatomized(given)


def _check_groups(
    release: Any,
    kept: Policy,
    given: Mapping[str, Any],
    her: Adversary,
    *,
    joint: bool,
    sample: int,
    engine: engines.EngineChoice,
) -> Verdict:
    """Hold an anatomized release against promises about classes: joint ones, of its groups and of what is out already."""
    if her.released is None:
        raise BadInput(_GROUPS, hint="dv.check_anatomized holds them against its tables")
    if not (kept.promises or kept.protections):
        hint = "dv.check_anatomized with adversary= judges what it promises itself; or give promises, for example k_anonymity=5"
        raise BadInput("no promise about joint classes was given", hint=hint)
    if idle := [role for role, names in given.items() if names]:
        told = f"{idle[0]}= has no effect: an anatomized release says itself what its columns are"
        raise BadInput(told, hint="Leave it out")
    from divulge.api.query import open_anatomized

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
    table: Table, release: publish.OpenedRelease, kept: Policy, given: Mapping[str, Any]
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
    asked = {role: table.present(names) if role in several else names for role, names in kept.roles.items()}
    for role, names in given.items():
        if names:
            listed = (names,) if isinstance(names, str) else tuple(names)
            asked[role] = (*listed, *asked.get(role, ())) if role in several else names
    theirs |= {"plain": (), "person": kept.roles.get("person")}
    if not given.get("person"):
        asked.pop("person", None)
    return guard.roles_in_force(table, theirs, asked), kept.roles


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
