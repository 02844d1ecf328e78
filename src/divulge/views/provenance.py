# SPDX-License-Identifier: Apache-2.0
"""The end of every report: how it was made (settings, versions, hashes), and how to make it again: command, Python, policy file."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from divulge import attacks, publish, search, values
from divulge.api import compare as comparing
from divulge.api.anatomized import AnatomizedRelease
from divulge.api.check import ReleaseCheck
from divulge.api.report import Report
from divulge.belief import Adversary
from divulge.policy import Promise
from divulge.version import __version__
from divulge.views import html, summary
from divulge.views.html import Html, el
from divulge.views.words import settings_sentence

ROLES = {
    "quasi_identifiers": "--qi", "sensitive": "--sensitive", "identifier": "--identifier", "leave_out": "--leave-out",
    "plain": "--plain", "person": "--person", "weight": "--weight",
}  # fmt: skip


LEFT = "How much of the data is left, --original TABLE tells. So it does what attacks achieve."
PRICE = "What each promise costs is told where a release is made: divulge generalize … --report FILE."
NO_ATTACKS = (
    "None: the files do not say which record is in which group, and attacks are counted by that. "
    "They are tried where a release is made (divulge anatomize … --report FILE), and with --original TABLE."
)
_IN_MEMORY = "TABLE"


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
            told[role.replace("_", " ")] = summary.listed(values.several(names))
    if measured is not None:
        told["adversary"] = settings_sentence(_value_free(settings) if report.public else settings)
    if isinstance(report.found, attacks.AttackResult):
        told |= {name.replace("_", " "): html.value(text) for name, text in _attack_settings(report.found).items()}
    if document is not None:
        told["release"] = f"{document['kind']}, rows {document.get('row_order', 'shuffled')}"
    for name, digest in report.files.items():
        told[f"SHA-256 of {name}"] = el("code", digest)
    told["versions"] = f"divulge {__version__}" + ("" if report.public else f", Python {platform.python_version()}")
    if document is not None and "versions" in document:
        told["published with"] = ", ".join(f"{name} {version}" for name, version in document["versions"].items())
    return el("div", html.definitions(told), class_="card")


def _value_free(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {**settings, "background": {}}


def again(report: Report) -> Html:
    """As a command, from Python, and the policy as a file; and what none of them tells."""
    policy = policy_text(report)
    parts: list[Any] = [
        el("p", "On the command line:"), el("pre", *html.by_line(_command(report))),
        el("p", "From Python:"), el("pre", *html.by_line(_python(report))),
    ]  # fmt: skip
    if policy:
        parts += [el("p", "As a policy file (divulge.toml):"), el("pre", *html.by_line(policy))]
    if missing := list(_not_told(report)):
        parts += [el("p", "These lines alone do not make the same page:"), html.bullets(*missing)]
    return el("div", *parts, class_="card")


def _source(report: Report) -> str:
    """Where it was read; a reader of a public page has its files somewhere else."""
    if report.public and report.release is not None:
        return "release"
    release = report.found if isinstance(report.found, publish.Release) else None
    source = report.made_from.source if release is None else release.source.source
    if source is None and not report.public:
        told = report.settings.get("source")
        source = told if isinstance(told, str) and Path(told).exists() else None
    if source is None or (report.public and "://" in source) or (release is not None and not Path(source).exists()):
        return _IN_MEMORY
    return Path(source).name if report.public else source


def _roles(report: Report) -> dict[str, list[str]]:
    """The columns of each role."""
    told: Any = report.settings
    if isinstance(report.found, publish.GeneralizedRelease):
        own = report.found.original.roles
        told = {role: getattr(own, role) for role in ROLES}
    elif isinstance(report.found, AnatomizedRelease):
        told = {role: getattr(report.found.roles, role, ()) for role in ROLES}
    found = {role: told.get(role) for role in ROLES}
    return {role: list(values.several(names)) for role, names in found.items() if names}


def _command(report: Report) -> str:
    if isinstance(report.found, comparing.TableComparison):
        return _command_of_comparison(report.found, _roles(report))
    if isinstance(report.found, attacks.AttackResult):
        return _command_of_attack(report.found)
    flags = [word for role, names in _roles(report).items() for word in (ROLES[role], ",".join(names))]
    tail = [*report.made_from.options, *_policy_flags(report), *adversary_flags(report.made_from.adversary)]
    last = ["--title", report.made_from.title] if report.made_from.title else []
    last += ["--date", report.date.isoformat(), "--out", "report.html"]
    if isinstance(report.found, publish.GeneralizedRelease):
        share = report.found.policy.suppression
        tail += ["--suppression", f"{share:g}"] if share != report.made_from.file.suppression else []
        tail += ["--method", report.found.plan.asked_as] if _method_told(report) else []
        tail += ["--objective", report.found.plan.objective] if _objective_told(report.found.plan) else []
        return shlex.join(["divulge", "generalize", _source(report), *flags, *tail, "--report", "report.html"])
    if isinstance(report.found, AnatomizedRelease):
        bounds = [word for line in report.found.model.texts().items() for word in (f"--{line[0]}", str(line[1]))]
        return shlex.join(["divulge", "anatomize", _source(report), *flags, *bounds, "--report", "report.html"])
    if report.public:
        last = ["--audience", "public", *last]
    if report.release is not None or isinstance(report.found, ReleaseCheck):
        flags = []
    return shlex.join(["divulge", "report", _source(report), *flags, *tail, *last])


def _method_told(report: Report) -> bool:
    """Whether whoever makes the release again has to say how."""
    found, usual = report.found, report.made_from.file.method or "full-domain"
    return isinstance(found, publish.GeneralizedRelease) and found.plan.asked_as != usual


def _objective_told(plan: search.Plan) -> bool:
    """The same of what is lost least; a function of somebody's own has no name."""
    return plan.objective in search.OBJECTIVES and plan.objective != next(iter(search.OBJECTIVES))


def _policy_flags(report: Report) -> list[str]:
    """The policy file that was named, and what was promised beside it."""
    kept = report.made_from.policy
    if kept is None:
        given = promises(report) if report.verdict is not None and report.release is None else []
        return [word for text in dict.fromkeys(each.text for each in given) for word in ("--promise", text)]
    by_file = report.made_from.file
    flags = [] if report.policy is None else ["--policy", Path(report.policy).name if report.public else report.policy]
    flags += [w for each in kept.promises if each not in by_file.promises for w in ("--promise", each.text)]
    return flags + (["--alone-share", f"{kept.alone_share:g}"] if kept.alone_share != by_file.alone_share else [])


_ADVERSARY = {
    "original": "--original", "prior": "--prior", "rule_out": "--rule-out", "rule_in": "--rule-in", "distances": "--distance",
    "taxonomies": "--hierarchy", "orders": "--order", "population": "--population", "population_count": "--population-count",
    "nulls": "--nulls", "recursive_l": "--recursive-l", "tries": "--tries", "within": "--within",
}  # fmt: skip


def adversary_flags(her: Adversary | None) -> list[str]:
    """What was said of her, as far as a command can say it."""
    found: list[str] = []
    for name, given in ({} if her is None else her.given).items():
        if not _can_be_written(name, given):
            continue
        if name == "suppressed":
            found += [word for text in given for word in ("--suppressed", text)]
            found += ["--as", next(iter(given.values()))] if given else []
        elif not isinstance(given, Mapping):
            found += [_ADVERSARY[name], str(given)]
        elif name == "orders":
            found += [word for column, order in given.items() for word in ("--order", f"{column}={','.join(order)}")]
        else:
            pairs = ((column, it) for column, them in given.items() for it in ([them] if _is_one(them) else them))
            found += [word for column, it in pairs for word in (_ADVERSARY[name], f"{column}={it}")]
    return found


def _is_one(given: Any) -> bool:
    return isinstance(given, str | Path | int | float)


def _can_be_written(name: str, given: Any) -> bool:
    """Whether a command can say it: paths, names and texts, not frames, probabilities or trees."""
    if not isinstance(given, Mapping):
        return _is_one(given)
    several = ("rule_out", "rule_in")
    if name == "suppressed":
        return len(set(given.values())) < 2
    if name == "orders":
        return not any("," in value for order in given.values() for value in order)
    if name in several:
        return all(isinstance(it, str) for them in given.values() for it in ([them] if _is_one(them) else them))
    return all(isinstance(it, str | Path) or name in ("tries", "within") for it in given.values())


def _not_told(report: Report) -> Iterator[str]:
    """What has to be given again by whoever makes it again."""
    found, her = report.found, report.made_from.adversary
    if isinstance(found, comparing.TableComparison):
        return
    if isinstance(found, attacks.AttackResult):
        yield from _attack_not_told(found)
        return
    if _source(report) == _IN_MEMORY:
        yield f"The table was in memory; {_IN_MEMORY} stands for a file of it."
    if report.public and report.release is not None:
        yield "release stands for the folder with the published files and their manifest."
    if isinstance(found, publish.GeneralizedRelease):
        yield from _release_not_told(found)
    elif isinstance(found, AnatomizedRelease):
        yield "Groups are drawn anew each time, and so are the attacks; other settings of the grouping have to be given again."
    elif report.made_from.policy is None and not report.made_from.source and report.release is None:
        yield "It was made from a result in memory; the command measures the table again, and tells a little more."
    kept = found.policy if isinstance(found, publish.GeneralizedRelease) else report.made_from.policy
    if kept is not None and [each for each in kept.protections if each not in report.made_from.file.protections]:
        yield "Promises to chosen people or values have to be given again (--protect, or a policy file)."
    yield from _adversary_not_told(report, her)


def _release_not_told(found: publish.GeneralizedRelease) -> Iterator[str]:
    if hierarchies := [name for name in found.hierarchies if name not in found.suggestions]:
        yield f"Hierarchies were given for {', '.join(hierarchies)}; give them again (--hierarchies or --hierarchy)."
    if found.plan.objective not in search.OBJECTIVES:
        yield "What is lost least was a function of Python, which no option of the command takes (objective=)."


def _adversary_not_told(report: Report, her: Adversary | None) -> Iterator[str]:
    for name, given in ({} if her is None else her.given).items():
        if not _can_be_written(name, given):
            yield f"The adversary's {name.replace('_', ' ')} was given as a value of Python that no option of the command takes."
    if her is None and (assumed := _assumed(report)):
        yield f"The adversary was not the usual one ({', '.join(assumed)}); give it again."


def _assumed(report: Report) -> list[str]:
    """What of the adversary is not as usual; of a result nobody knows how it was given."""
    told = report.settings
    if report.release is not None or report.policy is not None or report.measurement is None:
        return []
    by_hand = {name: how for name, how in told.get("prior", {}).items() if how not in ("table", "original")}
    found = ["prior"] if by_hand else []
    found += ["background"] if told.get("background") else []
    found += ["population"] if told.get("population") else []
    return found + (["nulls"] if told.get("nulls", "category") != "category" else [])


def _command_of_comparison(found: comparing.TableComparison, roles: Mapping[str, Sequence[str]]) -> str:
    """The tables, or the one table and its policies."""
    told = found.settings
    flags = [word for role, names in roles.items() for word in (ROLES[role], ",".join(names))]
    flags += [word for name in told["policies"] for word in ("--policy", name)]
    given = [] if told["original"] in (None, found.reference.source) else ["--original", told["original"]]
    given += [] if told["target"] is None else ["--target", told["target"]]
    drawn = told["attack"]
    given += [] if drawn is None else ["--attack", str(drawn["records"]), "--seed", str(drawn["seed"])]
    sources = [found.reference.source] if told["applied"] else [each.source for each in found]
    return shlex.join(["divulge", "compare", *sources, *flags, *given, "--out", "compare.html"])


def _python_of_comparison(found: comparing.TableComparison, roles: Mapping[str, Sequence[str]]) -> str:
    told = found.settings
    sources = [found.reference.source] if told["applied"] else [each.source for each in found]
    given = [repr(sources), *([f"policies={told['policies']!r}"] if told["policies"] else [])]
    given += [] if told["original"] in (None, found.reference.source) else [f"original={told['original']!r}"]
    given += [f"{role}={names!r}" for role, names in roles.items()]
    given += [] if told["target"] is None else [f"target={told['target']!r}"]
    given += [] if told["attack"] is None else [f"attack={told['attack']['records']}, seed={told['attack']['seed']}"]
    return f'dv.report(dv.compare({", ".join(given)})).save("compare.html")'


def _asked_of_attack(found: attacks.AttackResult) -> dict[str, Any]:
    """What `attack` was asked, as far as somebody could ask it again; where attacks were named, none is told that was not tried."""
    told = found.settings
    asked = {name: told[name] for name in ("truth", "control", "knows", "sensitive", "identifier", "wrong", "subsets")}
    asked |= {"quasi_identifiers": [] if Path(told["source"]).is_dir() else told["quasi_identifiers"]}
    asked |= {"attacks": [] if found.left_out else told["attacks"]}
    return {name: given for name, given in asked.items() if given} | {name: told[name] for name in ("records", "seed")}


def _command_of_attack(found: attacks.AttackResult) -> str:
    asked = _asked_of_attack(found)
    several = [word for name in asked.pop("attacks", ()) for word in ("--attack", name)]
    several += [word for text in found.settings["policy"] for word in ("--promise", text)]
    flags = [
        (ROLES.get(name, f"--{name}"), ",".join(it) if isinstance(it, list) else str(it)) for name, it in asked.items()
    ]
    words = [word for flag in flags for word in flag]
    return shlex.join(["divulge", "attack", found.settings["source"], *words, *several, "--report", "report.html"])


def _attack_not_told(found: attacks.AttackResult) -> Iterator[str]:
    told = found.settings
    if not all(Path(told[name]).exists() for name in ("source", "truth", "control") if told[name]):
        yield "A table was in memory; its name stands for a file of it."
    if told["policy"]:
        yield f"From Python: policy= takes the promises ({', '.join(told['policy'])})."
    said = ("background_knowledge", "background", "population", "suppressed", "taxonomies", "guesses")
    given = [name.replace("_", " ") for name in said if told[name]]
    given += ["prior"] if "given" in told["prior"].values() else []
    given += ["hierarchies"] if "hierarchies" in told["reading"].values() else []
    if given:
        yield f"What else was said of the adversary has to be given again: {', '.join(given)}."


def _attack_settings(found: attacks.AttackResult) -> dict[str, str]:
    """What the numbers depend on, beside roles."""
    told, shown = found.settings, ("truth", "control", "records", "seed", "wrong", "subsets", "engine")
    reading = ", ".join(f"{name} {origin}" for name, origin in told["reading"].items())
    found_ = {name: str(told[name]) for name in shown if told[name]}
    return found_ | {"promises": ", ".join(told["promises"]) or "none", "labels are read": reading}


def _python(report: Report) -> str:
    if isinstance(report.found, comparing.TableComparison):
        return _python_of_comparison(report.found, _roles(report))
    if isinstance(report.found, attacks.AttackResult):
        asked = ", ".join(f"{name}={given!r}" for name, given in _asked_of_attack(report.found).items())
        return f'found = dv.attack({report.found.settings["source"]!r}, {asked})\ndv.report(found).save("report.html")'
    bounds = {
        promise.metric.name: _whole(promise.bound)
        for promise in promises(report)
        if promise.attribute is None and promise.l_value is None
    }
    kept, title = report.made_from.policy, report.made_from.title
    policy = repr(report.policy) if report.policy is not None and not report.public else repr(bounds) if bounds else ""
    if kept is not None and report.policy is None and (kept.protections or len(kept.promises) != len(bounds)):
        policy = repr("divulge.toml")
    roles = [f"{role}={names!r}" for role, names in _roles(report).items()]
    last = ['audience="public"'] if report.public else []
    last += [f"title={title!r}"] if title else []
    last.append(f"date=datetime.date({report.date.year}, {report.date.month}, {report.date.day})")
    source = "table" if _source(report) == _IN_MEMORY else repr(_source(report))
    closing = f'{", ".join(last)}).save("report.html")'
    if isinstance(report.found, publish.GeneralizedRelease):
        given = [source, f"policy={policy}", *roles, f"suppression={report.found.policy.suppression:g}"]
        given += [f"method={report.found.plan.asked_as!r}"] if _method_told(report) else []
        given += [f"objective={report.found.plan.objective!r}"] if _objective_told(report.found.plan) else []
        return f"release = dv.generalize({', '.join(given)})\ndv.report(release, {closing}"
    if isinstance(report.found, AnatomizedRelease):
        given = [source, *roles, *(f"{name}={bound!r}" for name, bound in report.found.model.texts().items())]
        return f"release = dv.anatomize({', '.join(given)})\ndv.report(release, {closing}"
    if report.release is not None or isinstance(report.found, ReleaseCheck):
        roles = []
        policy = policy if kept is not None else ""
    her = report.made_from.adversary
    written = {name: it for name, it in ({} if her is None else her.given).items() if _is_literal(it)}
    assumed = [f"adversary=dv.Adversary({', '.join(f'{n}={it!r}' for n, it in written.items())})"] if written else []
    given = [source, *([policy] if policy else []), *roles, *assumed]
    return f"dv.report({', '.join(given)}, {closing}"


def _is_literal(given: Any) -> bool:
    """Whether its repr is its program text."""
    if isinstance(given, Mapping):
        return all(_is_literal(each) for each in (*given, *given.values()))
    return isinstance(given, str | int | float) or (isinstance(given, list | tuple) and all(map(_is_literal, given)))


def policy_text(report: Report) -> str:
    """The promises as a policy file; empty where there are none."""
    told: dict[str, Any] = {}
    for promise in promises(report):
        bound: Any = _whole(promise.bound)
        bound = bound if promise.l_value is None else {"c": bound, "l": promise.l_value}
        table = told
        if promise.attribute is not None:
            table = told.setdefault("attributes", {}).setdefault(promise.attribute, {})
        elif promise.text.startswith("identity "):
            table = told.setdefault("identity", {})
        table[promise.metric.name] = bound
    if not told:
        return ""
    roles = {role: report.settings.get(role) or (report.release or {}).get("roles", {}).get(role) for role in ROLES}
    return values.toml_text({role: names for role, names in roles.items() if names} | {"promises": told}).rstrip("\n")


def _whole(bound: float) -> float:
    """5, not 5.0."""
    return int(bound) if float(bound).is_integer() else bound
