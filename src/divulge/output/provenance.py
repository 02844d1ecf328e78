# SPDX-License-Identifier: Apache-2.0
"""End of every report: how it was made, and how to repeat it.

The first part lists settings, versions and hashes. The second has command, Python code and policy
file.
"""

from __future__ import annotations

import platform
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from divulge import attacks, generalization, releases
from divulge.adversary import Adversary
from divulge.api import compare as comparing
from divulge.api.anatomized import AnatomizedRelease
from divulge.api.check import ReleaseCheck
from divulge.api.report import Report
from divulge.options import DEFAULT_METHOD, ROLES, flag_of
from divulge.output import html, summary
from divulge.output.formatting import settings_sentence
from divulge.output.html import Html, el
from divulge.policy import Promise
from divulge.text import as_names, toml_text
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
    policy = policy_text(report)
    parts: list[Any] = [
        el("p", "On the command line:"),
        el("pre", *html.by_line(_command_text(report))),
        el("p", "From Python:"),
        el("pre", *html.by_line(_python_text(report))),
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


def _roles(report: Report) -> dict[str, list[str]]:
    """List the columns of each role."""
    settings: Any = report.settings
    if isinstance(report.found, releases.GeneralizedRelease):
        column_roles = report.found.original.roles
        settings = {role: getattr(column_roles, role) for role in ROLES}
    elif isinstance(report.found, AnatomizedRelease):
        settings = {role: getattr(report.found.roles, role, ()) for role in ROLES}
    role_columns = {role: settings.get(role) for role in ROLES}
    return {role: list(as_names(names)) for role, names in role_columns.items() if names}


def _command_text(report: Report) -> str:
    if isinstance(report.found, comparing.TableComparison):
        return _command_of_comparison(report.found, _roles(report))
    if isinstance(report.found, attacks.AttackResult):
        return _command_of_attack(report.found)
    flags = [
        word for role, names in _roles(report).items() for word in (flag_of(role), ",".join(names))
    ]
    options = [
        *report.made_from.options,
        *_policy_flags(report),
        *adversary_flags(report.made_from.adversary),
    ]
    if report.made_from.title:
        page_options = ["--title", report.made_from.title]
    else:
        page_options = []
    page_options += ["--date", report.date.isoformat(), "--out", "report.html"]
    if isinstance(report.found, releases.GeneralizedRelease):
        share = report.found.policy.suppression
        if share != report.made_from.file.suppression:
            options += ["--suppression", f"{share:g}"]
        if _needs_method(report):
            options += ["--method", report.found.plan.request_name]
        if _needs_objective(report.found.plan):
            options += ["--objective", report.found.plan.objective]
        return shlex.join(
            ["divulge", "generalize", _source(report), *flags, *options, "--report", "report.html"]
        )
    if isinstance(report.found, AnatomizedRelease):
        bounds = [
            word
            for line in report.found.model.texts().items()
            for word in (f"--{line[0]}", str(line[1]))
        ]
        return shlex.join(
            ["divulge", "anatomize", _source(report), *flags, *bounds, "--report", "report.html"]
        )
    if report.public:
        page_options = ["--audience", "public", *page_options]
    if report.release is not None or isinstance(report.found, ReleaseCheck):
        flags = []
    return shlex.join(["divulge", "report", _source(report), *flags, *options, *page_options])


def _needs_method(report: Report) -> bool:
    """Return whether a repeated command must name the method."""
    result = report.found
    default_method = report.made_from.file.method or DEFAULT_METHOD
    return (
        isinstance(result, releases.GeneralizedRelease)
        and result.plan.request_name != default_method
    )


def _needs_objective(plan: generalization.Plan) -> bool:
    """Return whether a repeated command must name the objective.

    A custom objective function has no name that a command could pass.
    """
    return plan.objective in generalization.OBJECTIVES and plan.objective != next(
        iter(generalization.OBJECTIVES)
    )


def _policy_flags(report: Report) -> list[str]:
    """Return the policy file, and the requirements passed in addition to it."""
    policy = report.made_from.policy
    if policy is None:
        if report.verdict is not None and report.release is None:
            requirements = promises(report)
        else:
            requirements = []
        return [
            word
            for text in dict.fromkeys(requirement.text for requirement in requirements)
            for word in ("--promise", text)
        ]
    file_policy = report.made_from.file
    if report.policy is None:
        flags = []
    else:
        flags = ["--policy", Path(report.policy).name if report.public else report.policy]
    flags += [
        word
        for requirement in policy.promises
        if requirement not in file_policy.promises
        for word in ("--promise", requirement.text)
    ]
    return flags + (
        ["--unique-share", f"{policy.unique_share:g}"]
        if policy.unique_share != file_policy.unique_share
        else []
    )


_ADVERSARY_OPTIONS = {
    "original": "--original",
    "prior": "--prior",
    "rule_out": "--rule-out",
    "rule_in": "--rule-in",
    "distances": "--distance",
    "taxonomies": "--hierarchy",
    "orders": "--order",
    "population": "--population",
    "population_count": "--population-count",
    "nulls": "--nulls",
    "recursive_l": "--recursive-l",
    "tries": "--tries",
    "within": "--within",
}


def adversary_flags(adversary: Adversary | None) -> list[str]:
    """Return the settings of the adversary that can be written as options."""
    flags: list[str] = []
    for name, setting in ({} if adversary is None else adversary.explicit_settings).items():
        if not _is_expressible(name, setting):
            continue
        if name == "suppressed":
            flags += [word for text in setting for word in ("--suppressed", text)]
            if setting:
                flags += ["--as", next(iter(setting.values()))]
        elif not isinstance(setting, Mapping):
            flags += [_ADVERSARY_OPTIONS[name], str(setting)]
        elif name == "orders":
            flags += [
                word
                for column, order in setting.items()
                for word in ("--order", f"{column}={','.join(order)}")
            ]
        else:
            pairs = (
                (column, value)
                for column, column_setting in setting.items()
                for value in ([column_setting] if _is_scalar(column_setting) else column_setting)
            )
            flags += [
                word
                for column, value in pairs
                for word in (_ADVERSARY_OPTIONS[name], f"{column}={value}")
            ]
    return flags


def _is_scalar(setting: Any) -> bool:
    return isinstance(setting, str | Path | int | float)


def _is_expressible(name: str, setting: Any) -> bool:
    """Return whether a setting can be an option of a command.

    Paths, names and texts can; frames, probabilities and trees cannot.
    """
    if not isinstance(setting, Mapping):
        return _is_scalar(setting)
    list_settings = ("rule_out", "rule_in")
    if name == "suppressed":
        return len(set(setting.values())) < 2
    if name == "orders":
        return not any("," in value for order in setting.values() for value in order)
    if name in list_settings:
        return all(
            isinstance(item, str)
            for column_setting in setting.values()
            for item in ([column_setting] if _is_scalar(column_setting) else column_setting)
        )
    return all(
        isinstance(item, str | Path) or name in ("tries", "within") for item in setting.values()
    )


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
        if not _is_expressible(name, setting):
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


def _command_of_comparison(
    comparison: comparing.TableComparison, roles: Mapping[str, Sequence[str]]
) -> str:
    """Return the command with all tables, or with one table and its policies."""
    settings = comparison.settings
    flags = [word for role, names in roles.items() for word in (flag_of(role), ",".join(names))]
    flags += [word for name in settings["policies"] for word in ("--policy", name)]
    if settings["original"] in (None, comparison.reference.source):
        options = []
    else:
        options = ["--original", settings["original"]]
    if settings["target"] is not None:
        options += ["--target", settings["target"]]
    attack_settings = settings["attack"]
    if attack_settings is not None:
        options += [
            "--attack",
            str(attack_settings["records"]),
            "--seed",
            str(attack_settings["seed"]),
        ]
    if settings["applied"]:
        sources = [comparison.reference.source]
    else:
        sources = [compared_table.source for compared_table in comparison]
    return shlex.join(["divulge", "compare", *sources, *flags, *options, "--out", "compare.html"])


def _python_of_comparison(
    comparison: comparing.TableComparison, roles: Mapping[str, Sequence[str]]
) -> str:
    settings = comparison.settings
    if settings["applied"]:
        sources = [comparison.reference.source]
    else:
        sources = [compared_table.source for compared_table in comparison]
    arguments = [
        repr(sources),
        *([f"policies={settings['policies']!r}"] if settings["policies"] else []),
    ]
    if settings["original"] not in (None, comparison.reference.source):
        arguments += [f"original={settings['original']!r}"]
    arguments += [f"{role}={names!r}" for role, names in roles.items()]
    if settings["target"] is not None:
        arguments += [f"target={settings['target']!r}"]
    if settings["attack"] is not None:
        arguments += [f"attack={settings['attack']['records']}, seed={settings['attack']['seed']}"]
    return f'dv.report(dv.compare({", ".join(arguments)})).save("compare.html")'


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


def _command_of_attack(result: attacks.AttackResult) -> str:
    arguments = _attack_arguments(result)
    repeated_options = [
        word for name in arguments.pop("attacks", ()) for word in ("--attack", name)
    ]
    repeated_options += [word for text in result.settings["policy"] for word in ("--promise", text)]
    flags = [
        (flag_of(name, "attack"), ",".join(value) if isinstance(value, list) else str(value))
        for name, value in arguments.items()
    ]
    words = [word for flag in flags for word in flag]
    return shlex.join(
        [
            "divulge",
            "attack",
            result.settings["source"],
            *words,
            *repeated_options,
            "--report",
            "report.html",
        ]
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


def _python_text(report: Report) -> str:
    if isinstance(report.found, comparing.TableComparison):
        return _python_of_comparison(report.found, _roles(report))
    if isinstance(report.found, attacks.AttackResult):
        attack_arguments = ", ".join(
            f"{name}={arguments!r}" for name, arguments in _attack_arguments(report.found).items()
        )
        return (
            f"found = dv.attack({report.found.settings['source']!r}, "
            f'{attack_arguments})\ndv.report(found).save("report.html")'
        )
    bounds = {
        promise.metric.name: _integer_bound(promise.bound)
        for promise in promises(report)
        if promise.attribute is None and promise.l_value is None
    }
    effective_policy = report.made_from.policy
    title = report.made_from.title
    policy = _policy_argument(report, bounds)
    roles = [f"{role}={names!r}" for role, names in _roles(report).items()]
    page_arguments = ['audience="public"'] if report.public else []
    if title:
        page_arguments.append(f"title={title!r}")
    page_arguments.append(
        f"date=datetime.date({report.date.year}, {report.date.month}, {report.date.day})"
    )
    source = "table" if _source(report) == _TABLE_PLACEHOLDER else repr(_source(report))
    closing = f'{", ".join(page_arguments)}).save("report.html")'
    if isinstance(report.found, releases.GeneralizedRelease):
        arguments = [
            source,
            f"policy={policy}",
            *roles,
            f"suppression={report.found.policy.suppression:g}",
        ]
        if _needs_method(report):
            arguments.append(f"method={report.found.plan.request_name!r}")
        if _needs_objective(report.found.plan):
            arguments.append(f"objective={report.found.plan.objective!r}")
        return f"release = dv.generalize({', '.join(arguments)})\ndv.report(release, {closing}"
    if isinstance(report.found, AnatomizedRelease):
        arguments = [
            source,
            *roles,
            *(f"{name}={bound!r}" for name, bound in report.found.model.texts().items()),
        ]
        return f"release = dv.anatomize({', '.join(arguments)})\ndv.report(release, {closing}"
    if report.release is not None or isinstance(report.found, ReleaseCheck):
        roles = []
        policy = policy if effective_policy is not None else ""
    adversary = report.made_from.adversary
    literal_settings = {
        name: setting
        for name, setting in ({} if adversary is None else adversary.explicit_settings).items()
        if _is_literal(setting)
    }
    adversary_arguments = (
        [
            f"adversary=dv.Adversary({', '.join(f'{n}={setting!r}' for n, setting in literal_settings.items())})"  # noqa: E501
        ]
        if literal_settings
        else []
    )
    arguments = [source, *([policy] if policy else []), *roles, *adversary_arguments]
    return f"dv.report({', '.join(arguments)}, {closing}"


def _policy_argument(report: Report, bounds: Mapping[str, float]) -> str:
    """Return the policy as Python: a path, the bounds, or an empty string.

    A policy that bounds cannot express is the file `divulge.toml`, whose text the page shows.
    """
    if report.policy is not None and not report.public:
        return repr(report.policy)
    policy = report.made_from.policy
    if (
        report.policy is None
        and policy is not None
        and (policy.protections or len(policy.promises) != len(bounds))
    ):
        return repr("divulge.toml")
    if bounds:
        return repr(bounds)
    return ""


def _is_literal(value: Any) -> bool:
    """Return whether the repr of a value is valid program text."""
    if isinstance(value, Mapping):
        return all(_is_literal(item) for item in (*value, *value.values()))
    return isinstance(value, str | int | float) or (
        isinstance(value, list | tuple) and all(map(_is_literal, value))
    )


def policy_text(report: Report) -> str:
    """Return the requirements as a policy file, or an empty string if there are none."""
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
    if not requirements:
        return ""
    roles = {
        role: report.settings.get(role) or (report.release or {}).get("roles", {}).get(role)
        for role in ROLES
    }
    return toml_text(
        {role: names for role, names in roles.items() if names} | {"promises": requirements}
    ).rstrip("\n")


def _integer_bound(bound: float) -> float:
    """Return a whole bound as an integer: 5, not 5.0."""
    if float(bound).is_integer():
        return int(bound)
    return bound
