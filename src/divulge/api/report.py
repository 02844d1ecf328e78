# SPDX-License-Identifier: Apache-2.0
"""report(): collect the contents of a report on a table, a release or a result.

`output/report` renders it.

A report can leak what a release hides. A public report is made from published files only: the table
of a release, measured by itself, and its public manifest. It never uses the private part, an
original, or the assumed knowledge of an adversary.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, cast

from divulge import attacks, engines, generalization, releases, results
from divulge import policy as policies
from divulge import ranking as rankings
from divulge.adversary import Adversary
from divulge.api.anatomized import AnatomizedRelease
from divulge.api.attack import attack_by_known_columns
from divulge.api.check import check
from divulge.api.check_groups import check_groups
from divulge.api.measure import measure, open_measurable
from divulge.api.opened import (
    OneTable,
    OpenedAnatomized,
    OpenedGeneralized,
    ThirdPartyTable,
    is_anatomized,
    open_release,
)
from divulge.api.rank import rank
from divulge.api.request import resolve_request
from divulge.api.utility import utility
from divulge.arguments import arg
from divulge.errors import BadInput, InternalError
from divulge.metrics import Measurement
from divulge.policy import Policy, Verdict, guard
from divulge.queries import Utility
from divulge.results import Result
from divulge.sources import Names, Table, resolve_roles
from divulge.text import as_names
from divulge.validation import checked

Audience = Literal["internal", "public"]
_RELEASE = "the release"
_MAX_RANKED_COLUMNS = 7
"""Largest number of quasi-identifiers for which a report ranks every set of them."""


@dataclass(frozen=True, eq=False)
class MadeFrom:
    """Inputs of a report, as far as they can be passed again."""

    source: str | None = None
    """Path or address; None for an object in memory."""
    title: str | None = None
    policy: Policy | None = None
    file: Policy = field(default_factory=Policy)
    """The part of the policy that comes from the named file."""
    adversary: Adversary | None = None
    reading: Mapping[str, Any] = field(default_factory=dict)
    """Reading options of the table, as arguments of `read`."""


@dataclass(frozen=True, eq=False, repr=False)
class Report(Result):
    """Contents of a report; `save` writes a self-contained HTML file that needs no network."""

    view = "report"

    name: str
    """Name of the subject, for readers."""
    audience: Audience
    date: dt.date
    found: Result = field(repr=False)
    """Result that the report is about: a measurement, a verdict or a release."""
    release: Mapping[str, Any] | None = field(default=None, repr=False)
    """Public manifest of a published release."""
    uniqueness: guard.uniqueness.Uniqueness | None = None
    """Number of people who are unique by all published columns."""
    ranking: rankings.Ranking | None = field(default=None, repr=False)
    """Disclosure risk of each set of quasi-identifiers."""
    attacks: attacks.AttackResult | None = field(default=None, repr=False)
    """Success of attacks, if the original is available to score the guesses."""
    explanation: generalization.Explanation | None = field(default=None, repr=False)
    """Utility cost of each requirement."""
    utility: Utility | None = field(default=None, repr=False)
    """Utility of the release."""
    beside: Sequence[Mapping[str, Any]] = ()
    """Prior releases together with which the release was checked.

    They are never shown in a public report.
    """
    files: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 hash of each file from which the report was made."""
    policy: str | None = None
    """The named policy file."""
    made_from: MadeFrom = field(default=MadeFrom(), repr=False)
    """Inputs for making the report again."""

    @property
    def public(self) -> bool:
        """True for a report that may be shared."""
        return self.audience == "public"

    @property
    def settings(self) -> Mapping[str, Any]:
        """All settings on which the numbers depend."""
        result_settings: Mapping[str, Any] = getattr(self.found, "settings", {})
        return result_settings

    @property
    def measurement(self) -> Measurement | None:
        """Measurement of the table, if there is one."""
        result = self.found
        if isinstance(result, releases.GeneralizedRelease):
            return result.after
        if isinstance(result, Verdict):
            return result.measurement
        if isinstance(result, Measurement):
            return result
        return None

    @property
    def verdict(self) -> Verdict | None:
        """Verdict, if there is one."""
        result = self.found
        if isinstance(result, releases.GeneralizedRelease):
            return result.verdict
        if isinstance(result, Verdict):
            return result
        return None

    def html(self) -> str:
        """Self-contained HTML page."""
        return self._repr_html_(page=True)

    @checked
    def save(self, path: str | Path) -> Path:
        """Write the page to a file that ends in .html, atomically.

        Only its owner may read an internal report (mode 0600), because it shows values of people.
        """
        private = self.audience == "internal"
        return results.write_file(
            results.page_path(path), self.html().encode(), "report", private=private
        )


@checked
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
    """Collect a report: verdict, people at risk, methods, limits of the guarantees, and provenance.

    A public report names no value that is shared by fewer people than the guaranteed k. It shows
    only facts that are computed from the published files. So it is made from the folder of a
    release or from a table that is shared unchanged.

    Args:
        about: A table, as `read` opens it; the folder of a release; or any result, such as that of
            `check` or `generalize`.
        policy: As in `check`: the requirements to check. A release brings its own.
        audience: "internal" may show values of people and is marked so; "public" may be shared.
        title: The name of the subject, for readers; by default the name of the file or folder.
        date: The date of the report; by default today's.
        quasi_identifiers: As in `check`, like the other roles.
        sensitive: The columns whose values must not be disclosed.
        identifier: Columns that identify people.
        leave_out: Columns that must not be published.
        plain: Columns that may be published unchanged although they have no other role.
        weight: The column with the number of people that a row represents.
        person: The column that names the person each row belongs to, if people have several rows.
        adversary: As in `measure`. If it has the original of a release, the report also shows the
            utility of the release and the success of attacks on 1,000 people of it.
        engine: As in `read`.

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> people = pa.table({"zip": ["1", "1", "2"], "disease": ["flu", "cold", "flu"]})
        >>> report = dv.report(
        ...     people, {"k_anonymity": 2}, quasi_identifiers="zip", sensitive="disease"
        ... )
        >>> report.verdict.holds, report.html()[:15]
        (False, '<!doctype html>')
    """
    request = resolve_request(
        guard.ExplicitRoles(
            quasi_identifiers, sensitive, identifier, leave_out, plain, weight, person
        ),
        policy=policy,
        adversary=adversary,
    )
    explicit_arguments = request.explicit_roles.explicit_names
    if policy is not None:
        explicit_arguments["policy"] = policy
    if adversary is not None:
        explicit_arguments["adversary"] = adversary
    if audience == "public":
        _reject_private_inputs(about, request.adversary)
    if isinstance(about, Result):
        if explicit_arguments:
            message = (
                f"{arg(next(iter(explicit_arguments)))} has no effect: a "
                f"{type(about).__name__} says "
                "itself what it depends on"
            )
            raise BadInput(message, hint="leave it out, or give the table")
        report_result = _report_on_result(about, audience)
    elif is_anatomized(about):
        report_result = _report_on_anatomized(about, explicit_arguments, audience, engine)
    else:
        report_result = _report_on_table(about, explicit_arguments, audience, engine)
    if isinstance(policy, str | Path):
        policy_path = str(policy)
    else:
        policy_path = None
    effective_policy = None if request.policy == Policy() else request.policy
    source = str(about) if isinstance(about, str | Path) else report_result.made_from.source
    inputs = MadeFrom(
        source,
        title,
        effective_policy,
        Policy() if policy_path is None or effective_policy is None else effective_policy,
        adversary,
    )
    return replace(
        report_result,
        name=title or report_result.name,
        date=date or report_result.date,
        policy=policy_path,
        made_from=inputs,
    )


def _reject_private_inputs(about: Any, adversary: Adversary) -> None:
    """Raise an error if a public report would use more than published files."""
    if isinstance(about, Result):
        message = (
            f"a report for the public is made from published files, and a {type(about).__name__} "
            "may know more than they tell"
        )
        raise BadInput(
            message,
            hint="write the release and give its folder, or give the table that is handed out",
        )
    if (
        isinstance(about, ThirdPartyTable | OpenedGeneralized)
        and about.release is not None
        and about.release.private is not None
    ):
        raise InternalError(
            "a report for the public was to be made from the private part of a release"
        )
    private_settings = sorted(set(adversary.explicit_settings) - {"nulls", "suppressed"})
    if private_settings:
        message = (
            "a report for the public is made from published files alone, and "
            f"{arg(private_settings[0])} is none of them"
        )
        raise BadInput(message, hint="leave it out, or make an internal report")


def _report_on_result(about: Result, audience: Audience) -> Report:
    source = getattr(about, "settings", {}).get("source", type(about).__name__)
    if isinstance(source, str):
        name = Path(source).name
    else:
        name = type(about).__name__
    prior_releases = _prior_releases(getattr(about, "settings", {}))
    report_result = Report(
        name, audience, _today(), about, beside=prior_releases, frame=about.frame
    )
    if isinstance(about, Verdict | releases.GeneralizedRelease):
        report_result = replace(report_result, uniqueness=about.uniqueness)
    if isinstance(about, releases.GeneralizedRelease):
        published = about.original.with_person(about.plan.recoding)
        report_result = replace(
            report_result, explanation=about.explain(), utility=utility(about.source, about)
        )
        attack_result = _attack_release(about, about.source, about.after, Adversary())
        report_result = replace(
            report_result, ranking=_rank_columns(published, about.after), attacks=attack_result
        )
    if isinstance(about, AnatomizedRelease) and about.groups.only is not None:
        report_result = replace(report_result, attacks=about.attack())
    if isinstance(about, attacks.AttackResult):
        return replace(report_result, attacks=about)
    return report_result


def _prior_releases(settings: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """Prior releases in the settings of a result."""
    return tuple(item for item in settings.get("released") or () if isinstance(item, Mapping))


def _report_on_anatomized(
    about: Any,
    explicit_arguments: Mapping[str, Any],
    audience: Audience,
    engine: engines.EngineChoice,
) -> Report:
    original, explicit_arguments = _split_original(explicit_arguments)
    sensitive = explicit_arguments.pop("sensitive", ())
    if explicit_arguments:
        message = (
            f"{arg(next(iter(explicit_arguments)))} has no effect: an anatomized release is held "
            "against the levels that it promises"
        )
        raise BadInput(message, hint="leave it out")
    opened = cast("OpenedAnatomized", open_release(about, sensitive=sensitive, engine=engine))
    release_check = check_groups(opened, {}, Adversary(), requires_bounds=False)
    folder = opened.folder
    if folder is None or audience == "public":
        name = _RELEASE
    else:
        name = folder.resolve().name
    document = dict(opened.document) or None
    report_result = Report(
        name,
        audience,
        _today(),
        release_check,
        document,
        files=_manifest_hashes(document),
        frame=release_check.frame,
    )
    if original is None:
        return report_result
    return replace(
        report_result,
        utility=utility(original, opened, engine=engine),
        attacks=attack_by_known_columns(opened, Adversary(), truth=original, engine=engine),
    )


def _split_original(explicit_arguments: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Split off the original from the arguments, if one is passed.

    An adversary without other settings is removed.
    """
    adversary: Adversary = explicit_arguments.get("adversary") or Adversary()
    other_arguments = {
        name: value for name, value in explicit_arguments.items() if name != "adversary"
    }
    return adversary.original, other_arguments | (
        {"adversary": adversary} if set(adversary.explicit_settings) - {"original"} else {}
    )


def _report_on_table(
    about: Any,
    explicit_arguments: Mapping[str, Any],
    audience: Audience,
    engine: engines.EngineChoice,
) -> Report:
    adversary = resolve_request(
        policy=explicit_arguments.get("policy"), adversary=explicit_arguments.get("adversary")
    ).adversary
    target = _open_input(about, audience, engine, private=adversary.original is None)
    release = target.release
    if audience == "public" and release is None:
        explicit_arguments = _published_roles(target.table, explicit_arguments)
    document = None if release is None else release.document
    result = _check_or_measure(target, explicit_arguments)
    measured = result.measurement if isinstance(result, Verdict) else result
    unique = (
        result.uniqueness
        if isinstance(result, Verdict)
        else _uniqueness(target, measured, explicit_arguments)
    )
    source = target.table.source if _is_path(target.table.source) else None
    name = target.table.source if source is None else Path(source).resolve().name
    if audience == "public" and (release is not None or source is None):
        # The publisher's name of the folder is not in the files.
        name = "the table" if release is None else _RELEASE
    files = _manifest_hashes(document) if release is not None else _file_hash(target.table)
    report_result = Report(
        name, audience, _today(), result, document, unique, files=files, frame=measured.frame
    )
    has_mappings = release is not None and release.private is not None and release.holds_mappings
    prior_releases = _prior_releases(measured.settings) or (
        _prior_releases(release.settings) if release is not None and has_mappings else ()
    )
    report_result = replace(report_result, beside=() if audience == "public" else prior_releases)
    report_result = replace(
        report_result, ranking=_rank_columns(target.table, measured), made_from=MadeFrom(source)
    )
    if release is None or adversary.original is None:
        return report_result
    release_utility = utility(adversary.original, target, engine=engine)
    return replace(
        report_result,
        utility=release_utility,
        attacks=_attack_release(target, adversary.original, measured, adversary),
    )


def _attack_release(
    about: Any, original: Any, measured: Measurement, adversary: Adversary
) -> attacks.AttackResult | None:
    """Success of an adversary who knows the quasi-identifiers.

    None if classes stayed in the engine, or if people have several rows.
    """
    if measured.survey is not None or measured.settings["person"] is not None:
        return None
    return attack_by_known_columns(about, adversary, truth=original)


def _published_roles(table: Table, explicit_arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Remove unpublished columns from the roles of a public report.

    Columns that are not shared are not named to the public, not even as dropped columns.
    """

    def present_names(names: Any) -> list[str]:
        return [name for name in as_names(names) if table.has(name)]

    hidden = ("identifier", "leave_out")
    arguments: dict[str, Any] = {
        name: present_names(value) if name in hidden else value
        for name, value in explicit_arguments.items()
    }
    if "policy" in arguments:
        policy = Policy.of(arguments["policy"])
        roles = {
            role: present_names(names) if role in hidden else names
            for role, names in policy.roles.items()
        }
        arguments["policy"] = replace(policy, roles=roles)
    return arguments


def _rank_columns(table: Table, measured: Measurement) -> rankings.Ranking | None:
    """Ranking of every set of quasi-identifiers, with people and nulls counted as measured.

    None if there are too many sets.
    """
    settings = measured.settings
    known_columns = settings["quasi_identifiers"]
    if (
        not 1 < len(known_columns) <= _MAX_RANKED_COLUMNS
        or measured.survey is not None
        or measured.overlapping
    ):
        return None
    nulls = Adversary(nulls=settings["nulls"])
    roles = {
        "quasi_identifiers": known_columns,
        "sensitive": settings["sensitive"],
        "person": settings["person"],
    }
    return rank(table, **roles, adversary=nulls, up_to=len(known_columns))


def _open_input(
    about: Any, audience: Audience, engine: engines.EngineChoice, *, private: bool
) -> OneTable:
    """Open the input, with the private part of a release under three conditions.

    It is next to the release, the report is internal, and no original is passed.
    """
    if isinstance(about, ThirdPartyTable | OpenedGeneralized):
        return about
    next_to_it = isinstance(about, str | Path) and releases.private_place(about).is_dir()
    with_private = private and next_to_it and audience == "internal"
    return open_measurable(about, with_private=with_private, engine=engine)


def _check_or_measure(
    target: OneTable, explicit_arguments: Mapping[str, Any]
) -> Verdict | Measurement:
    """Check the requirements if there are any that can be checked, else measure."""
    roles = {
        name: value
        for name, value in explicit_arguments.items()
        if name not in ("policy", "adversary", "leave_out", "plain")
    }
    request = resolve_request(
        policy=explicit_arguments.get("policy"), adversary=explicit_arguments.get("adversary")
    )
    if target.release is None and (request.policy.promises or request.policy.protections):
        return check(target, **explicit_arguments)
    knows_original = request.adversary.original is not None
    if target.release is not None and (
        target.release.private is not None or knows_original or request.policy.promises
    ):
        try:
            return check(target, **explicit_arguments)
        except BadInput:
            # A requirement that needs unavailable data is reported as in the manifest. Facts that
            # the files prove are measured.
            if request.policy.promises:
                raise
    policy_roles = {
        role: names
        for role, names in request.policy.roles.items()
        if role not in ("leave_out", "plain")
    }
    return measure(target, **(policy_roles | roles), adversary=request.adversary)


def _uniqueness(
    target: OneTable, measured: Measurement, explicit_arguments: Mapping[str, Any]
) -> guard.uniqueness.Uniqueness:
    """Count people who are unique by all columns, for a table that was measured and not checked."""
    settings = measured.settings
    table = target.table
    policy = explicit_arguments.get("policy")
    dropped = [
        *as_names(explicit_arguments.get("leave_out")),
        *table.present((Policy.of(policy).roles if policy else {}).get("leave_out")),
    ]
    roles = resolve_roles(
        table,
        quasi_identifiers=settings["quasi_identifiers"],
        sensitive=settings["sensitive"],
        identifier=[name for name in settings["identifier"] if name not in dropped],
        leave_out=dropped,
        weight=settings["weight"],
        person=settings["person"],
    )
    has_hidden_person = (
        target.release is not None
        and target.release.document["roles"].get("person")
        and roles.person is None
    )
    return guard.uniqueness.measure_uniqueness(
        table,
        roles,
        unit="rows" if has_hidden_person else "people",
        linked=policy is None or Policy.of(policy).person_published,
    )


def _manifest_hashes(document: Mapping[str, Any] | None) -> dict[str, str]:
    if document is None:
        return {}
    return {name: entry["sha256"] for name, entry in document["files"].items()}


def _file_hash(table: Table) -> dict[str, str]:
    path = Path(table.source)
    if not _is_path(table.source) or not path.is_file():
        return {}
    with path.open("rb") as file:
        return {path.name: hashlib.file_digest(file, "sha256").hexdigest()}


def _is_path(source: str) -> bool:
    return "://" not in source and Path(source).exists()


def _today() -> dt.date:
    return dt.datetime.now(tz=dt.UTC).date()
