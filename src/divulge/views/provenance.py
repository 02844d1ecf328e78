# SPDX-License-Identifier: Apache-2.0
"""The end of every report: how it was made (settings, versions, hashes), and how to make it again: command, Python, policy file."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from divulge import publish, values
from divulge.api import compare as comparing
from divulge.api.report import Report
from divulge.policy import Promise
from divulge.version import __version__
from divulge.views import html, summary
from divulge.views.html import Html, el
from divulge.views.measurement import settings_sentence

ROLES = {
    "quasi_identifiers": "--qi", "sensitive": "--sensitive", "identifier": "--identifier", "leave_out": "--leave-out",
    "plain": "--plain", "person": "--person", "weight": "--weight",
}  # fmt: skip


def promises(report: Report) -> list[Promise]:
    """What was promised to everybody."""
    if report.verdict is not None:
        return [outcome.promise for outcome in report.verdict.outcomes if not outcome.protects]
    if report.release is not None and "policy" in report.release:
        return list(publish.promises_of(report.release))
    return []


def told_settings(report: Report) -> dict[str, Any]:
    """What the numbers depend on; a public page tells no path."""
    kept = {
        name: value
        for name, value in report.settings.items()
        if not report.public or name not in ("source", "release", "background")
    }
    return dict(kept)


def how_made(report: Report) -> Html:
    """Size, roles, adversary, hashes, versions."""
    measured, document, settings = report.measurement, report.release, report.settings
    told: dict[str, Any] = {
        "about": html.value(report.name),
        "date": report.date.isoformat(),
        "audience": report.audience,
    }
    if measured is not None:
        told["size"] = f"{measured.rows:,} rows, {measured.people:,} people, {measured.class_count:,} classes"
    for role in ROLES:
        names = settings.get(role) or (document or {}).get("roles", {}).get(role)
        if names:
            told[role.replace("_", " ")] = summary.listed([names] if isinstance(names, str) else list(names))
    if measured is not None:
        told["adversary"] = settings_sentence(_value_free(settings) if report.public else settings)
    if document is not None:
        told["release"] = f"{document['kind']}, rows {document.get('row_order', 'shuffled')}"
    for name, digest in report.files.items():
        told[f"SHA-256 of {name}"] = el("code", digest)
    told["versions"] = f"divulge {__version__}, Python {platform.python_version()}"
    if document is not None and "versions" in document:
        told["published with"] = ", ".join(f"{name} {version}" for name, version in document["versions"].items())
    return el("div", html.definitions(told), class_="card")


def _value_free(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {**settings, "background": {}}


def again(report: Report) -> Html:
    """As a command, from Python, and the policy as a file."""
    policy = policy_text(report)
    parts: list[Any] = [
        el("p", "On the command line:"), el("pre", *html.by_line(_command(report))),
        el("p", "From Python:"), el("pre", *html.by_line(_python(report))),
    ]  # fmt: skip
    if policy:
        parts += [el("p", "As a policy file (divulge.toml):"), el("pre", *html.by_line(policy))]
    return el("div", *parts, class_="card")


def _source(report: Report) -> str:
    """Where it was read; to the public, its name."""
    release = report.found if isinstance(report.found, publish.Release) else None
    source = report.settings.get("source") if release is None else release.source.source
    return report.name if report.public or not isinstance(source, str) else source


def _roles(report: Report) -> dict[str, list[str]]:
    """The columns of each role."""
    told: Any = report.settings
    if isinstance(report.found, publish.GeneralizedRelease):
        own = report.found.original.roles
        told = {role: getattr(own, role) for role in ROLES}
    found = {role: told.get(role) for role in ROLES}
    return {role: [names] if isinstance(names, str) else list(names) for role, names in found.items() if names}


def _command(report: Report) -> str:
    if isinstance(report.found, comparing.TableComparison):
        return _command_of_comparison(report.found, _roles(report))
    flags = [word for role, names in _roles(report).items() for word in (ROLES[role], ",".join(names))]
    if report.policy is not None and not report.public:
        flags += ["--policy", report.policy]
    else:
        texts = dict.fromkeys(promise.text for promise in promises(report))
        flags += [word for text in texts for word in ("--promise", text)]
    tail = [*(["--audience", "public"] if report.public else []), "--out", "report.html"]
    if isinstance(report.found, publish.GeneralizedRelease):
        share = report.found.policy.suppression
        flags += ["--suppression", f"{share:g}"] if share else []
        first = shlex.join(["divulge", "generalize", _source(report), *flags, "--out", "release"])
        return f"{first}\n{shlex.join(['divulge', 'report', 'release', *tail])}"
    if report.release is not None or isinstance(report.found, publish.Release):
        flags = []
    return shlex.join(["divulge", "report", _source(report), *flags, *tail])


def _command_of_comparison(found: comparing.TableComparison, roles: Mapping[str, Sequence[str]]) -> str:
    """The tables, or the one table and its policies."""
    told = found.settings
    flags = [word for role, names in roles.items() for word in (ROLES[role], ",".join(names))]
    flags += [word for name in told["policies"] for word in ("--policy", name)]
    given = [] if told["original"] in (None, found.reference.source) else ["--original", told["original"]]
    given += [] if told["target"] is None else ["--target", told["target"]]
    sources = [found.reference.source] if told["applied"] else [each.source for each in found]
    return shlex.join(["divulge", "compare", *sources, *flags, *given, "--out", "compare.html"])


def _python_of_comparison(found: comparing.TableComparison, roles: Mapping[str, Sequence[str]]) -> str:
    told = found.settings
    sources = [found.reference.source] if told["applied"] else [each.source for each in found]
    given = [repr(sources), *([f"policies={told['policies']!r}"] if told["policies"] else [])]
    given += [] if told["original"] in (None, found.reference.source) else [f"original={told['original']!r}"]
    given += [f"{role}={names!r}" for role, names in roles.items()]
    given += [] if told["target"] is None else [f"target={told['target']!r}"]
    return f'dv.report(dv.compare({", ".join(given)})).save("compare.html")'


def _python(report: Report) -> str:
    if isinstance(report.found, comparing.TableComparison):
        return _python_of_comparison(report.found, _roles(report))
    bounds = {
        promise.metric.name: _whole(promise.bound)
        for promise in promises(report)
        if promise.attribute is None and promise.l_value is None
    }
    policy = repr(report.policy) if report.policy is not None and not report.public else repr(bounds) if bounds else ""
    roles = [f"{role}={names!r}" for role, names in _roles(report).items()]
    last = ['audience="public"'] if report.public else []
    if isinstance(report.found, publish.GeneralizedRelease):
        given = [repr(_source(report)), f"policy={policy}", *roles, f"suppression={report.found.policy.suppression:g}"]
        return f'release = dv.generalize({", ".join(given)})\ndv.report(release).save("report.html")'
    if report.release is not None or isinstance(report.found, publish.Release):
        policy, roles = "", []
    given = [repr(_source(report)), *([policy] if policy else []), *roles, *last]
    return f'dv.report({", ".join(given)}).save("report.html")'


def policy_text(report: Report) -> str:
    """The promises as a policy file; empty where there are none."""
    tables: dict[str, dict[str, Any]] = {}
    for promise in promises(report):
        metric = promise.metric
        is_twofold = metric.scope == "identity" and promise.text.startswith("identity ")
        where = "promises.identity" if is_twofold else "promises"
        if promise.attribute is not None:
            where = f"promises.attributes.{values.toml_key(promise.attribute)}"
        bound: Any = _whole(promise.bound)
        bound = bound if promise.l_value is None else {"c": bound, "l": promise.l_value}
        tables.setdefault(where, {})[metric.name] = bound
    if not tables:
        return ""
    roles = {role: report.settings.get(role) or (report.release or {}).get("roles", {}).get(role) for role in ROLES}
    lines = [f"{role} = {values.toml_value(names)}" for role, names in roles.items() if names]
    for where, bounds in tables.items():
        lines += ["", f"[{where}]", *(f"{name} = {values.toml_value(bound)}" for name, bound in bounds.items())]
    return "\n".join(lines)


def _whole(bound: float) -> float:
    """5, not 5.0."""
    return int(bound) if float(bound).is_integer() else bound
