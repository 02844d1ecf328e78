# SPDX-License-Identifier: Apache-2.0
"""report(): everything that one page tells about a table, a release or a result, gathered; `views/report` lays it out.

A report can leak what a release hides. One for the public is made from published files alone: the table of a release, measured by
itself, and its public manifest. It never sees mapping/, an original, or what an adversary was assumed to hold.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from divulge import answers, attacks, engines, publish, results, search, values
from divulge import policy as policies
from divulge import ranking as rankings
from divulge.api.anatomized import AnatomizedRelease
from divulge.api.attack import attack_plainly
from divulge.api.check import check, check_anatomized
from divulge.api.measure import TableOrRelease, measure
from divulge.api.query import is_anatomized
from divulge.api.rank import rank
from divulge.api.utility import Utility, utility
from divulge.belief import Adversary, adversary_in_force
from divulge.errors import BadInput, InternalError
from divulge.metrics import Measurement
from divulge.policy import Policy, Verdict, guard
from divulge.results import Result
from divulge.table import Names, Table, resolve_roles

Audience = Literal["internal", "public"]
_RELEASE = "the release"
_MOST_RANKED = 7
"""With more quasi-identifiers than this, a report does not look at every set of them."""


@dataclass(frozen=True, eq=False)
class MadeFrom:
    """What was given to make a report, as far as somebody could give it again."""

    source: str | None = None
    """A path or an address; None: something in memory."""
    title: str | None = None
    policy: Policy | None = None
    file: Policy = field(default_factory=Policy)
    """What of it stands in the file that was named."""
    adversary: Adversary | None = None
    options: tuple[str, ...] = ()
    """On the command line: how the table is read, and what the release was made with."""


@dataclass(frozen=True, eq=False, repr=False)
class Report(Result):
    """What one page tells: `save` writes it as a file that opens anywhere, without a network."""

    view = "report"

    name: str
    """What it is about, as a reader calls it."""
    audience: Audience
    date: dt.date
    found: Result = field(repr=False)
    """What was measured, judged or decided."""
    release: Mapping[str, Any] | None = field(default=None, repr=False)
    """Of a published release: its public manifest."""
    alone: guard.Alone | None = None
    """Who is alone with the columns known that have no role, or are plain."""
    ranking: rankings.Ranking | None = field(default=None, repr=False)
    """What each set of quasi-identifiers tells."""
    attacks: attacks.Attacks | attacks.AttackResult | None = field(default=None, repr=False)
    """What an adversary achieves, where the original is there to score her guesses."""
    explanation: search.Explanation | None = field(default=None, repr=False)
    """The price of each promise."""
    utility: Utility | None = field(default=None, repr=False)
    """How much of the data is left."""
    beside: Sequence[Mapping[str, Any]] = ()
    """The releases that were out already when it was made, and that it was judged together with; never told to the public."""
    files: Mapping[str, str] = field(default_factory=dict)
    """The hash (SHA-256) of each file that it was made from."""
    policy: str | None = None
    """The policy file that was named."""
    made_from: MadeFrom = field(default=MadeFrom(), repr=False)
    """What it takes to make it again."""

    @property
    def public(self) -> bool:
        """Whether it is made to be handed out."""
        return self.audience == "public"

    @property
    def settings(self) -> Mapping[str, Any]:
        """Everything that the numbers depend on."""
        told: Mapping[str, Any] = getattr(self.found, "settings", {})
        return told

    @property
    def measurement(self) -> Measurement | None:
        """What was measured of the table, if one was."""
        found = self.found
        if isinstance(found, publish.GeneralizedRelease):
            return found.after
        return found.measurement if isinstance(found, Verdict) else found if isinstance(found, Measurement) else None

    @property
    def verdict(self) -> Verdict | None:
        """What was judged, if anything was."""
        found = self.found
        return (
            found.verdict
            if isinstance(found, publish.GeneralizedRelease)
            else found
            if isinstance(found, Verdict)
            else None
        )

    def html(self) -> str:
        """The page: one text that needs nothing beside it."""
        return self._repr_html_(page=True)

    @values.checked
    def save(self, path: str | Path) -> Path:
        """Write the page to a file that ends in .html; whoever reads it sees all of it or the one before."""
        return results.write_file(results.page_path(path), self.html().encode(), "report")


@values.checked
def report(
    about: Any,
    policy: policies.PolicyLike | None = None,
    *,
    audience: Audience = "internal",
    title: str | None = None,
    date: dt.date | None = None,
    quasi_identifiers: Names = (),
    sensitive: Names = (),
    identifier: Names = (),
    leave_out: Names = (),
    plain: Names = (),
    weight: str | None = None,
    person: str | None = None,
    adversary: Adversary | None = None,
    engine: engines.EngineChoice = None,
) -> Report:
    """Gather what one page tells: the verdict, who is at risk and why, what was done, what is not promised, how it was made.

    A report for the public names no value that fewer people share than the promised k, and tells nothing that is not worked out from
    the published files. So it is made from the folder of a release or from a table that is handed out as it is.

    Args:
        about: A table, as `read` opens it; the folder of a release; or any result, such as that of `check` or `generalize`.
        policy: As in `check`: what the table is held against. A release brings its own.
        audience: "internal" may show values of people and is stamped so; "public" may be handed out.
        title: What the page is about, as its readers call it; by default the name of the file or folder.
        date: The date that stands on it; by default today's.
        quasi_identifiers: As in `check`, and so are the other roles.
        sensitive: The columns whose values must not be learnt.
        identifier: Columns that name people.
        leave_out: Columns that are not to be published.
        plain: Columns that may be there as they are, although they have no other role.
        weight: The column that says how many people a row stands for.
        person: The column that says whose row it is, where people own several.
        adversary: As in `measure`. If she holds the original of a release, the report also tells how much of it is left, and what
            attacks on 1,000 people of it achieve.
        engine: As in `read`.

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> people = pa.table({"zip": ["1", "1", "2"], "disease": ["flu", "cold", "flu"]})
        >>> report = dv.report(people, {"k_anonymity": 2}, quasi_identifiers="zip", sensitive="disease")
        >>> report.verdict.holds, report.html()[:15]
        (False, '<!doctype html>')
    """
    given = guard.GivenRoles(quasi_identifiers, sensitive, identifier, leave_out, plain, weight, person).named
    if policy is not None:
        given["policy"] = policy
    if adversary is not None:
        given["adversary"] = adversary
    her = adversary_in_force(adversary, Policy.of(policy).adversary if policy is not None else None)
    if audience == "public":
        _refuse_private(about, her)
    if isinstance(about, Result):
        if given:
            told = f"{next(iter(given))}= has no effect: a {type(about).__name__} says itself what it depends on"
            raise BadInput(told, hint="leave it out, or give the table")
        made = _of_result(about, audience)
    elif is_anatomized(about) or isinstance(about, answers.AnatomizedSource):
        made = _of_anatomized(about, given, audience, engine)
    else:
        made = _of_table(about, given, audience, engine)
    named = str(policy) if isinstance(policy, str | Path) else None
    kept = None if policy is None or Policy.of(policy) == Policy() else Policy.of(policy)
    source = str(about) if isinstance(about, str | Path) else made.made_from.source
    again = MadeFrom(source, title, kept, Policy() if named is None or kept is None else kept, adversary)
    return replace(made, name=title or made.name, date=date or made.date, policy=named, made_from=again)


def _refuse_private(about: Any, her: Adversary) -> None:
    """A public report is a function of published files."""
    if isinstance(about, Result):
        told = f"a report for the public is made from published files, and a {type(about).__name__} may know more than they tell"
        raise BadInput(told, hint="write the release and give its folder, or give the table that is handed out")
    if isinstance(about, TableOrRelease) and about.release is not None and about.release.private is not None:
        raise InternalError("a report for the public was to be made from the private part of a release")
    holds = sorted(set(her.given) - {"nulls", "suppressed"})
    if holds:
        told = f"a report for the public is made from published files alone, and {holds[0]}= is none of them"
        raise BadInput(told, hint="leave it out, or make an internal report")


def _of_result(about: Result, audience: Audience) -> Report:
    source = getattr(about, "settings", {}).get("source", type(about).__name__)
    name = Path(source).name if isinstance(source, str) else type(about).__name__
    beside = _released(getattr(about, "settings", {}))
    made = Report(name, audience, _today(), about, beside=beside, frame=about.frame)
    if isinstance(about, Verdict | publish.GeneralizedRelease):
        made = replace(made, alone=about.alone)
    if isinstance(about, publish.GeneralizedRelease):
        published = about.original.with_person(about.plan.recoding)
        made = replace(made, explanation=about.explain(), utility=utility(about.source, about))
        tried = _attacked(about, about.source, about.after, Adversary())
        made = replace(made, ranking=_ranked(published, about.after), attacks=tried)
    if isinstance(about, AnatomizedRelease) and about.groups.only is not None:
        made = replace(made, attacks=about.attack())
    return replace(made, attacks=about) if isinstance(about, attacks.Attacks | attacks.AttackResult) else made


def _released(settings: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """What is out already, as a result names it."""
    return tuple(item for item in settings.get("released") or () if isinstance(item, Mapping))


def _of_anatomized(about: Any, given: Mapping[str, Any], audience: Audience, engine: engines.EngineChoice) -> Report:
    original, given = _without_original(given)
    if given:
        told = f"{next(iter(given))}= has no effect: an anatomized release is held against the levels that it promises"
        raise BadInput(told, hint="leave it out")
    found = check_anatomized(about, engine=engine)
    folder = Path(about) if isinstance(about, str | Path) else None
    name = _RELEASE if folder is None or audience == "public" else folder.resolve().name
    document = None if folder is None else publish.read_manifest(folder, handed_out=True)
    made = Report(name, audience, _today(), found, document, files=_sealed(document), frame=found.frame)
    if original is None:
        return made
    return replace(
        made,
        utility=utility(original, about, engine=engine),
        attacks=attack_plainly(about, Adversary(), truth=original, engine=engine),
    )


def _without_original(given: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The original, if one is given, and the rest; of an adversary who holds nothing else nothing is left."""
    her: Adversary = given.get("adversary") or Adversary()
    rest = {name: it for name, it in given.items() if name != "adversary"}
    return her.original, rest | ({"adversary": her} if set(her.given) - {"original"} else {})


def _of_table(about: Any, given: Mapping[str, Any], audience: Audience, engine: engines.EngineChoice) -> Report:
    kept = given.get("policy")
    her = adversary_in_force(given.get("adversary"), None if kept is None else Policy.of(kept).adversary)
    judged = _opened(about, audience, engine, private=her.original is None)
    release = judged.release
    if audience == "public" and release is None:
        given = _roles_that_are_there(judged.table, given)
    document = None if release is None else release.document
    found = _judged(judged, given)
    measured = found.measurement if isinstance(found, Verdict) else found
    known = measured.settings["quasi_identifiers"]
    alone = found.alone if isinstance(found, Verdict) else _alone(judged, known)
    source = judged.table.source if _is_path(judged.table.source) else None
    name = judged.table.source if source is None else Path(source).resolve().name
    if audience == "public" and (release is not None or source is None):
        name = "the table" if release is None else _RELEASE  # what its publisher calls the place is not in the files
    files = _sealed(document) if release is not None else _hashed(judged.table)
    made = Report(name, audience, _today(), found, document, alone, files=files, frame=measured.frame)
    private = release is not None and release.private is not None and release.holds_mappings
    beside = _released(measured.settings) or (_released(release.settings) if release is not None and private else ())
    made = replace(made, beside=() if audience == "public" else beside)
    made = replace(made, ranking=_ranked(judged.table, measured), made_from=MadeFrom(source))
    if release is None or her.original is None:
        return made
    left = utility(her.original, release.folder, engine=engine)
    return replace(made, utility=left, attacks=_attacked(judged, her.original, measured, her))


def _attacked(about: Any, truth: Any, measured: Measurement, her: Adversary) -> attacks.AttackResult | None:
    """What somebody achieves who knows the quasi-identifiers; None where classes stayed with the engine, or people own several rows."""
    if measured.survey is not None or measured.settings["person"] is not None:
        return None
    return attack_plainly(about, her, truth=truth)


def _roles_that_are_there(table: Table, given: Mapping[str, Any]) -> dict[str, Any]:
    """Columns that are not handed out are not named to the public, not even as those that are left out."""

    def there(names: Any) -> list[str]:
        return [name for name in values.several(names) if table.has(name)]

    hidden = ("identifier", "leave_out")
    found: dict[str, Any] = {name: there(it) if name in hidden else it for name, it in given.items()}
    if "policy" in found:
        kept = Policy.of(found["policy"])
        roles = {role: there(names) if role in hidden else names for role, names in kept.roles.items()}
        found["policy"] = replace(kept, roles=roles)
    return found


def _ranked(table: Table, measured: Measurement) -> rankings.Ranking | None:
    """What every set of quasi-identifiers tells, as the measurement counted people and nulls; None where that would be too many sets."""
    told = measured.settings
    known = told["quasi_identifiers"]
    if not 1 < len(known) <= _MOST_RANKED or measured.survey is not None or measured.overlapping:
        return None
    nulls = Adversary(nulls=told["nulls"])
    roles = {"quasi_identifiers": known, "sensitive": told["sensitive"], "person": told["person"]}
    return rank(table, **roles, adversary=nulls, up_to=len(known))


def _opened(about: Any, audience: Audience, engine: engines.EngineChoice, *, private: bool) -> TableOrRelease:
    """With the private part of a release, where it lies beside, the report is for its publisher, and no original is given."""
    if isinstance(about, TableOrRelease):
        return about
    folder = about.folder if isinstance(about, answers.GeneralizedSource) else about
    mine = Path(folder) / publish.FOLDER / publish.NAME if isinstance(folder, str | Path) else None
    private = private and mine is not None and audience == "internal" and mine.is_file()
    return TableOrRelease.of(about, private=private, engine=engine)


def _judged(judged: TableOrRelease, given: Mapping[str, Any]) -> Verdict | Measurement:
    """Held against the promises where there are any that can be judged, else measured."""
    roles = {name: it for name, it in given.items() if name not in ("policy", "adversary", "leave_out", "plain")}
    her = given.get("adversary")
    policy = given.get("policy")
    kept = Policy() if policy is None else Policy.of(policy)
    if judged.release is None and (kept.promises or kept.protections):
        return check(judged, **given)
    knows_original = adversary_in_force(her, kept.adversary).original is not None
    if judged.release is not None and (judged.release.private is not None or knows_original or kept.promises):
        try:
            return check(judged, **given)
        except BadInput:
            # A promise that needs what is not here is told as the manifest tells it; what the files show is measured.
            if kept.promises:
                raise
    if policy is not None:
        named = {role: names for role, names in kept.roles.items() if role not in ("leave_out", "plain")}
        roles = named | roles
        her = adversary_in_force(her, kept.adversary)
    return measure(judged, **roles, adversary=her)


def _alone(judged: TableOrRelease, known: Names) -> guard.Alone | None:
    """Who is alone with every other column of a published table known."""
    if judged.release is None:
        return None
    plain = tuple(name for name in judged.release.document["roles"].get("plain", ()) if judged.table.has(name))
    return (
        guard.count_alone(judged.table, resolve_roles(judged.table, quasi_identifiers=known), plain) if plain else None
    )


def _sealed(document: Mapping[str, Any] | None) -> dict[str, str]:
    return {} if document is None else {name: entry["sha256"] for name, entry in document["files"].items()}


def _hashed(table: Table) -> dict[str, str]:
    path = Path(table.source)
    if not _is_path(table.source) or not path.is_file():
        return {}
    with path.open("rb") as file:
        return {path.name: hashlib.file_digest(file, "sha256").hexdigest()}


def _is_path(source: str) -> bool:
    return "://" not in source and Path(source).exists()


def _today() -> dt.date:
    return dt.datetime.now(tz=dt.UTC).date()
