# SPDX-License-Identifier: Apache-2.0
"""End of every report: how it was made, and how to repeat it.

The first part lists settings, versions and hashes. The second has command, Python code and policy
file.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from divulge import attacks, generalization, releases
from divulge.adversary import Adversary
from divulge.api import compare as comparing
from divulge.api.anatomized import AnatomizedRelease
from divulge.api.check_groups import ReleaseCheck
from divulge.api.report import Report
from divulge.options import DEFAULT_METHOD, ROLES, SINGLE_ROLES, Invocation, is_expressible
from divulge.output import html, summary
from divulge.output.formatting import settings_sentence
from divulge.output.html import Html, el
from divulge.policy import Promise
from divulge.text import as_names
from divulge.version import __version__

UTILITY_HINT = (
    "How much of the data is left, --original TABLE tells. So it does what attacks achieve."
)
COST_HINT = (
    "What each promise costs is told where a release is made: divulge generalize … --report FILE."
)
NO_ATTACKS_NOTE = (
    "None: the files do not say which record is in which group, and attacks are counted by that. "
    "They are tried where a release is made (divulge anatomize … --report FILE), and with "
    "--original TABLE."
)
_TABLE_PLACEHOLDER = "TABLE"
_PAGE = "report.html"


def promises(report: Report) -> list[Promise]:
    """List the requirements of a report that protect everyone."""
    if report.verdict is not None:
        return [outcome.promise for outcome in report.verdict.outcomes if not outcome.protects]
    if report.release is not None and "policy" in report.release:
        return list(releases.promises_of(report.release))
    return []


def visible_settings(report: Report) -> dict[str, Any]:
    """Settings that the numbers depend on; a public page shows no path."""
    settings = {
        name: value
        for name, value in report.settings.items()
        if not report.public or name not in ("source", "release", "background")
    }
    return dict(settings)


def settings_section(report: Report) -> Html:
    """Build the list of size, roles, adversary, hashes and versions."""
    measured = report.measurement
    document = report.release
    settings = report.settings
    entries: dict[str, Any] = {
        "about": html.value(report.name),
        "date": report.date.isoformat(),
        "audience": report.audience,
    }
    if measured is not None:
        entries["size"] = (
            f"{measured.rows:,} rows, {measured.people:,} people, {measured.class_count:,} classes"
        )
    for role in ROLES:
        names = settings.get(role) or (document or {}).get("roles", {}).get(role)
        if names:
            entries[role.replace("_", " ")] = summary.listed(as_names(names))
    if measured is not None:
        entries["adversary"] = settings_sentence(
            _without_background(settings) if report.public else settings
        )
    if isinstance(report.found, attacks.AttackResult):
        entries |= {
            name.replace("_", " "): html.value(text)
            for name, text in _attack_settings(report.found).items()
        }
    if document is not None:
        entries["release"] = f"{document['kind']}, rows {document.get('row_order', 'shuffled')}"
    for name, digest in report.files.items():
        entries[f"SHA-256 of {name}"] = el("code", digest)
    entries["versions"] = f"divulge {__version__}" + (
        "" if report.public else f", Python {platform.python_version()}"
    )
    if document is not None and "versions" in document:
        entries["published with"] = ", ".join(
            f"{name} {version}" for name, version in document["versions"].items()
        )
    return el("div", html.definitions(entries), class_="card")


def _without_background(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {**settings, "background": {}}


def repeat_section(report: Report) -> Html:
    """Build the command, the Python code and the policy file, and what they omit."""
    call = invocation(report)
    policy = call.as_policy()
    parts: list[Any] = [
        el("p", "On the command line:"),
        el("pre", *html.by_line(call.as_command())),
        el("p", "From Python:"),
        el("pre", *html.by_line(_python_text(report, call))),
    ]
    if policy:
        parts += [el("p", "As a policy file (divulge.toml):"), el("pre", *html.by_line(policy))]
    if missing := list(_omissions(report)):
        parts += [el("p", "These lines alone do not make the same page:"), html.bullets(*missing)]
    return el("div", *parts, class_="card")


def _source(report: Report) -> str:
    """Return the path of the table or release, or a placeholder.

    A reader of a public page has the files in another folder. A table in memory has no path.
    """
    if report.public and report.release is not None:
        return "release"
    if isinstance(report.found, releases.Release):
        release = report.found
    else:
        release = None
    if release is None:
        source = report.made_from.source
    else:
        source = release.source.source
    if source is None and not report.public:
        source_name = report.settings.get("source")
        if isinstance(source_name, str) and Path(source_name).exists():
            source = source_name
        else:
            source = None
    if (
        source is None
        or (report.public and "://" in source)
        or (release is not None and not Path(source).exists())
    ):
        return _TABLE_PLACEHOLDER
    if report.public:
        return Path(source).name
    return source


def _roles(report: Report) -> dict[str, Any]:
    """Return the columns of each role: a name, or a list of names."""
    settings: Any = report.settings
    if isinstance(report.found, releases.GeneralizedRelease):
        column_roles = report.found.original.roles
        settings = {role: getattr(column_roles, role) for role in ROLES}
    elif isinstance(report.found, AnatomizedRelease):
        settings = {role: getattr(report.found.roles, role, ()) for role in ROLES}
    role_columns = {role: settings.get(role) for role in ROLES}
    return {
        role: names if role in SINGLE_ROLES else list(as_names(names))
        for role, names in role_columns.items()
        if names
    }


def invocation(report: Report) -> Invocation:
    """Return the call that makes a report again."""
    result = report.found
    if isinstance(result, comparing.TableComparison):
        return _invocation_of_comparison(result, _roles(report))
    if isinstance(result, attacks.AttackResult):
        return _invocation_of_attack(result)
    call = Invocation(
        "report",
        (_source(report),),
        {**_roles(report), **report.made_from.reading},
        adversary=_adversary_settings(report.made_from.adversary),
        flags={**_policy_options(report), **_page_options(report)},
        policy=_policy_argument(report),
        document=_policy_document(report),
    )
    if isinstance(result, releases.GeneralizedRelease):
        return replace(
            call,
            verb="generalize",
            arguments={**call.arguments, **_search_arguments(report, result)},
            flags={**_policy_options(report), "report": _PAGE},
        )
    if isinstance(result, AnatomizedRelease):
        return replace(
            call,
            verb="anatomize",
            arguments={**call.arguments, **result.model.texts()},
            adversary={},
            flags={"report": _PAGE},
            policy=None,
        )
    if report.release is not None or isinstance(result, ReleaseCheck):
        without_roles = {name: value for name, value in call.arguments.items() if name not in ROLES}
        has_policy = report.made_from.policy is not None
        return replace(call, arguments=without_roles, policy=call.policy if has_policy else None)
    return call


def _page_options(report: Report) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if report.public:
        options["audience"] = "public"
    if report.made_from.title:
        options["title"] = report.made_from.title
    return {**options, "date": report.date.isoformat(), "out": _PAGE}


def _search_arguments(report: Report, release: releases.GeneralizedRelease) -> dict[str, Any]:
    """Return the settings of a search, the method and the objective if they are not the defaults.

    A custom objective function has no name that a command could pass.
    """
    arguments: dict[str, Any] = {"suppression": release.policy.suppression}
    if release.plan.request_name != (report.made_from.file.method or DEFAULT_METHOD):
        arguments["method"] = release.plan.request_name
    objective = release.plan.objective
    objectives = list(generalization.OBJECTIVES)
    if objective in objectives and objective != objectives[0]:
        arguments["objective"] = objective
    return arguments


def _policy_options(report: Report) -> dict[str, Any]:
    """Return the policy file, and the requirements passed in addition to it."""
    policy = report.made_from.policy
    if policy is None:
        if report.verdict is None or report.release is not None:
            return {}
        return {"promise": list(dict.fromkeys(promise.text for promise in promises(report)))}
    file_policy = report.made_from.file
    options: dict[str, Any] = {}
    if report.policy is not None:
        options["policy"] = Path(report.policy).name if report.public else report.policy
    options["promise"] = [
        promise.text for promise in policy.promises if promise not in file_policy.promises
    ]
    if policy.unique_share != file_policy.unique_share:
        options["unique_share"] = policy.unique_share
    return options


def _adversary_settings(adversary: Adversary | None) -> dict[str, Any]:
    if adversary is None:
        return {}
    return adversary.explicit_settings


def _omissions(report: Report) -> Iterator[str]:
    """Yield sentences on the inputs that the user must pass again."""
    result = report.found
    adversary = report.made_from.adversary
    if isinstance(result, comparing.TableComparison):
        return
    if isinstance(result, attacks.AttackResult):
        yield from _attack_omissions(result)
        return
    if _source(report) == _TABLE_PLACEHOLDER:
        yield f"The table was in memory; {_TABLE_PLACEHOLDER} stands for a file of it."
    if report.public and report.release is not None:
        yield "release stands for the folder with the published files and their manifest."
    if isinstance(result, releases.GeneralizedRelease):
        yield from _release_omissions(result)
    elif isinstance(result, AnatomizedRelease):
        yield (
            "Groups are drawn anew each time, and so are the attacks; other settings of the "
            "grouping have to be given again."
        )
    elif report.made_from.policy is None and not report.made_from.source and report.release is None:
        yield (
            "It was made from a result in memory; the command measures the table again, and "
            "tells a little more."
        )
    policy = (
        result.policy
        if isinstance(result, releases.GeneralizedRelease)
        else report.made_from.policy
    )
    if policy is not None and [
        protection
        for protection in policy.protections
        if protection not in report.made_from.file.protections
    ]:
        yield (
            "Promises to chosen people or values have to be given again (--protect, or a policy "
            "file)."
        )
    yield from _adversary_omissions(report, adversary)


def _release_omissions(release: releases.GeneralizedRelease) -> Iterator[str]:
    if hierarchies := [name for name in release.hierarchies if name not in release.suggestions]:
        yield (
            f"Hierarchies were given for {', '.join(hierarchies)}; give them again "
            "(--hierarchies or --hierarchy)."
        )
    if release.plan.objective not in generalization.OBJECTIVES:
        yield (
            "What is lost least was a function of Python, which no option of the command takes "
            "(objective=)."
        )


def _adversary_omissions(report: Report, adversary: Adversary | None) -> Iterator[str]:
    for name, setting in ({} if adversary is None else adversary.explicit_settings).items():
        if not is_expressible(name, setting):
            yield (
                f"The adversary's {name.replace('_', ' ')} was given as a value of Python that no "
                "option of the command takes."
            )
    if adversary is None and (nondefault_settings := _nondefault_settings(report)):
        names = ", ".join(nondefault_settings)
        yield f"The adversary was not the usual one ({names}); give it again."


def _nondefault_settings(report: Report) -> list[str]:
    """List the settings of the adversary that differ from the default.

    It is used for a result whose adversary is not recorded.
    """
    settings = report.settings
    if report.release is not None or report.policy is not None or report.measurement is None:
        return []
    explicit_priors = {
        name: how
        for name, how in settings.get("prior", {}).items()
        if how not in ("table", "original")
    }
    if explicit_priors:
        assumptions = ["prior"]
    else:
        assumptions = []
    if settings.get("background"):
        assumptions += ["background"]
    if settings.get("population"):
        assumptions += ["population"]
    return assumptions + (["nulls"] if settings.get("nulls", "category") != "category" else [])


def _invocation_of_comparison(
    comparison: comparing.TableComparison, roles: Mapping[str, Sequence[str]]
) -> Invocation:
    """Return the call with all tables, or with one table and its policies."""
    settings = comparison.settings
    arguments: dict[str, Any] = dict(roles)
    if settings["policies"]:
        arguments["policies"] = settings["policies"]
    if settings["original"] not in (None, comparison.reference.source):
        arguments["original"] = settings["original"]
    if settings["target"] is not None:
        arguments["target"] = settings["target"]
    if settings["attack"] is not None:
        arguments["attack"] = settings["attack"]["records"]
        arguments["seed"] = settings["attack"]["seed"]
    if settings["applied"]:
        sources = [comparison.reference.source]
    else:
        sources = [compared_table.source for compared_table in comparison]
    return Invocation("compare", tuple(sources), arguments, flags={"out": "compare.html"})


def _attack_arguments(result: attacks.AttackResult) -> dict[str, Any]:
    """Return the arguments of `attack` that can be passed again.

    If an attack was skipped, no attack is named.
    """
    settings = result.settings
    arguments = {
        name: settings[name]
        for name in ("truth", "control", "knows", "sensitive", "identifier", "wrong", "subsets")
    }
    arguments |= {
        "quasi_identifiers": []
        if Path(settings["source"]).is_dir()
        else settings["quasi_identifiers"]
    }
    arguments |= {"attacks": [] if result.left_out else settings["attacks"]}
    return {name: value for name, value in arguments.items() if value} | {
        name: settings[name] for name in ("records", "seed")
    }


def _invocation_of_attack(result: attacks.AttackResult) -> Invocation:
    flags = {"promise": result.settings["policy"], "report": _PAGE}
    return Invocation(
        "attack", (result.settings["source"],), _attack_arguments(result), flags=flags
    )


def _attack_omissions(result: attacks.AttackResult) -> Iterator[str]:
    settings = result.settings
    if not all(
        Path(settings[name]).exists() for name in ("source", "truth", "control") if settings[name]
    ):
        yield "A table was in memory; its name stands for a file of it."
    if settings["policy"]:
        yield f"From Python: policy= takes the promises ({', '.join(settings['policy'])})."
    adversary_settings = (
        "background_knowledge",
        "background",
        "population",
        "suppressed",
        "taxonomies",
        "guesses",
    )
    omitted_names = [name.replace("_", " ") for name in adversary_settings if settings[name]]
    if "given" in settings["prior"].values():
        omitted_names += ["prior"]
    if "hierarchies" in settings["reading"].values():
        omitted_names += ["hierarchies"]
    if omitted_names:
        yield (
            "What else was said of the adversary has to be given again: "
            f"{', '.join(omitted_names)}."
        )


def _attack_settings(result: attacks.AttackResult) -> dict[str, str]:
    """Settings that the numbers of attacks depend on, except roles."""
    settings = result.settings
    setting_names = ("truth", "control", "records", "seed", "wrong", "subsets", "engine")
    reading = ", ".join(f"{name} {origin}" for name, origin in settings["reading"].items())
    texts = {name: str(settings[name]) for name in setting_names if settings[name]}
    return texts | {
        "promises": ", ".join(settings["promises"]) or "none",
        "labels are read": reading,
    }


def _python_text(report: Report, call: Invocation) -> str:
    """Return the Python code that makes the result and saves the page."""
    if call.verb == "compare":
        return f'dv.report({call.as_python()}).save("compare.html")'
    if call.verb == "attack":
        return f'found = {call.as_python()}\ndv.report(found).save("{_PAGE}")'
    source = "table" if call.sources == (_TABLE_PLACEHOLDER,) else ""
    page_arguments = ['audience="public"'] if report.public else []
    if report.made_from.title:
        page_arguments.append(f"title={report.made_from.title!r}")
    day = report.date
    page_arguments.append(f"date=datetime.date({day.year}, {day.month}, {day.day})")
    closing = f'{", ".join(page_arguments)}).save("{_PAGE}")'
    if call.verb == "report":
        return f"{call.as_python(source).removesuffix(')')}, {closing}"
    return f"release = {call.as_python(source)}\ndv.report(release, {closing}"


def _policy_argument(report: Report) -> Any:
    """Return the policy in Python: a path, the bounds, or None.

    A policy that bounds cannot express is the file `divulge.toml`, whose text the page shows.
    """
    if report.policy is not None and not report.public:
        return report.policy
    bounds = {
        promise.metric.name: _integer_bound(promise.bound)
        for promise in promises(report)
        if promise.attribute is None and promise.l_value is None
    }
    policy = report.made_from.policy
    if (
        report.policy is None
        and policy is not None
        and (policy.protections or len(policy.promises) != len(bounds))
    ):
        return "divulge.toml"
    return bounds or None


def _policy_document(report: Report) -> dict[str, Any]:
    """Return the roles and the requirements as entries of a policy file."""
    requirements: dict[str, Any] = {}
    for promise in promises(report):
        bound: Any = _integer_bound(promise.bound)
        if promise.l_value is not None:
            bound = {"c": bound, "l": promise.l_value}
        table = requirements
        if promise.attribute is not None:
            table = requirements.setdefault("attributes", {}).setdefault(promise.attribute, {})
        elif promise.text.startswith("identity "):
            table = requirements.setdefault("identity", {})
        table[promise.metric.name] = bound
    release_roles = (report.release or {}).get("roles", {})
    roles = {role: report.settings.get(role) or release_roles.get(role) for role in ROLES}
    return {**{role: names for role, names in roles.items() if names}, "promises": requirements}


def _integer_bound(bound: float) -> float:
    """Return a whole bound as an integer: 5, not 5.0."""
    if float(bound).is_integer():
        return int(bound)
    return bound
