# SPDX-License-Identifier: Apache-2.0
"""Attack: play the adversaries against what would be published, and tell what it says together with what is out already."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import divulge as dv
from divulge import attacks, charts, views
from divulge.errors import BadInput
from divulge.studio.desk import Desk, in_words
from divulge.studio.places.anatomize import anatomized, arguments, told_command
from divulge.studio.places.place import (
    Html,
    Place,
    card,
    choice,
    el,
    labelled,
    needs_table,
    number_given,
    shown_name,
    tick,
    void,
    whole_given,
)
from divulge.studio.places.promises import released
from divulge.studio.work import FILE, POLICY, TABLE, Work
from divulge.views import html

_NAME = "attack"
_THIS, _AS_IT_CAME, _GROUPS = "", "the table as it came", "the tables and groups of Anatomize"
_USUAL = {"records": 1000, "seed": 1, "wrong": 0, "subsets": 0}
_TABLES = {
    "control": ("people who are not in it", "what she achieves against them is no fault of the release"),
    "background": ("another table that she holds", "what it says of people like the target weighs in"),
}
_MOST_SETS = 3


# --- what controls do -------------------------------------------------------------------------------------------------
def _said(name: str, read: Any) -> Any:
    """A control that fills an argument of dv.attack or dv.compose."""

    def edit(desk: Desk, _: str, value: Any) -> Work:
        found = read(value)
        return desk.work.with_argument(_NAME, name, None if found == _USUAL.get(name) else found)

    return edit


def _knows(desk: Desk, of: str, value: Any) -> Work:
    known = [name for name in _quasi_identifiers(desk.work) if (value if name == of else name in _known(desk.work))]
    if not known:
        raise BadInput("an adversary who knows nothing finds nobody", hint="leave her one column")
    return desk.work.with_argument(_NAME, "knows", [] if known == _quasi_identifiers(desk.work) else known)


def _attack(desk: Desk, of: str, value: Any) -> Work:
    """An attack by name; none: all that have something to attack."""
    before = desk.work.argument(_NAME, "attacks", [])
    chosen = [each.name for each in attacks.ATTACKERS if (value if each.name == of else each.name in before)]
    return desk.work.with_argument(_NAME, "attacks", chosen)


def _release(desk: Desk, of: str, value: Any) -> Work:
    """A release that is out already, or not any more."""
    named = of or str(value).strip()
    kept = [each for each in _out_already(desk.work) if each != named]
    desk.afresh = True
    against = desk.work.argument(_NAME, "against")
    work = desk.work if value or against != named else desk.work.with_argument(_NAME, "against", None)
    return work.with_argument(_NAME, "releases", [*kept, named] if value and named else kept)


def _ledger(desk: Desk, _: str, value: Any) -> Work:
    """A ledger that is there: one that is not would say that nothing is out."""
    named = _text(value)
    if named and not Path(named).expanduser().is_dir():
        raise BadInput(f"there is no ledger {named!r}", hint="name the folder of one that is there")
    return desk.work.with_argument(_NAME, "ledger", named)


def _quasi_identifiers(work: Work) -> list[str]:
    names = work.policy.roles.get("quasi_identifiers") or []
    return [names] if isinstance(names, str) else list(names)


def _known(work: Work) -> list[str]:
    return list(work.argument(_NAME, "knows") or _quasi_identifiers(work))


def _out_already(work: Work) -> list[str]:
    return list(work.argument(_NAME, "releases", []))


# --- what the library says --------------------------------------------------------------------------------------------
def _arguments(work: Work) -> dict[str, Any]:
    """Of dv.attack: what was said here."""
    kept = ("knows", "records", "wrong", "subsets", "seed", "attacks", *_TABLES)
    return {name: value for name in kept if (value := work.argument(_NAME, name)) is not None}


def _attacked(desk: Desk) -> Any:
    """What the adversaries achieve."""
    work, against = desk.work, desk.work.argument(_NAME, "against", _THIS)
    asked, settings = _arguments(work), ""
    if against == _GROUPS:  # which promise their own bounds, not those of the policy
        release, settings = anatomized(desk), json.dumps(arguments(desk))
        asked["policy"] = replace(dv.Policy(), adversary=work.policy.adversary)
    else:
        release = released(desk) if against == _THIS else desk.table if against == _AS_IT_CAME else against
        asked["policy"] = work.policy

    def played() -> Any:
        return dv.attack(release, truth=desk.table, progress=desk.progress("playing the adversaries"), **asked)

    return desk.by_policy("attack", played, about=(against, settings, json.dumps(_arguments(work))))


def _composed(desk: Desk) -> Any:
    """What is out already tells with what would be published; None where nothing is out."""
    work, out, ledger = desk.work, _out_already(desk.work), desk.work.argument(_NAME, "ledger")
    if not out and not ledger:
        return None
    release = [released(desk)] if _promises_something(work) else []

    def put_together() -> Any:
        desk.progress("putting releases together")
        person = work.policy.roles.get("person")
        return dv.compose([*out, *release], truth=desk.table, person=person, ledger=ledger)

    return desk.by_policy("composed", put_together, about=json.dumps([out, ledger]))


def _promises_something(work: Work) -> bool:
    return bool(work.policy.promises or work.policy.protections)


# --- the same without the page ----------------------------------------------------------------------------------------
def _tell_same(desk: Desk) -> None:
    """One mapping of arguments, as the page, the command line and Python take it."""
    work, asked, out = desk.work, _arguments(desk.work), _out_already(desk.work)
    against, ledger = work.argument(_NAME, "against", _THIS), work.argument(_NAME, "ledger")
    flags = [
        part
        for name, given in asked.items()
        for value in (given if isinstance(given, list) else [given])
        for part in ("--attack" if name == "attacks" else f"--{name}", str(value))
    ]
    attacked = {_THIS: work.target, _AS_IT_CAME: work.source}.get(against, against)
    truth, generalized = ("--truth", work.source), against == _THIS or out or ledger
    lines = [work.command("generalize", "--out", work.target)] if generalized else []
    python = [f"release = dv.generalize({TABLE}, policy={POLICY})"] if generalized else []
    given = {_THIS: "release", _AS_IT_CAME: TABLE, _GROUPS: "groups"}.get(against, repr(against))
    by, held = ["--policy", FILE], f", policy={POLICY}"
    if against == _GROUPS:
        made, program, attacked = told_command(desk, arguments(desk))
        lines, python = [*lines, made], [*python, f"groups = {program}"]
        by, her = views.provenance.adversary_flags(work.policy.adversary), work.document.get("adversary")
        held = f", policy={ {'adversary': her}!r}" if her else ""
        if by and "attacks" in asked:  # an option that none of them looks at is refused
            lines.append(f"# the adversary of the policy, for attacks that look at it: {shlex.join(by)}")
            by = []
    if work.reading:  # for the Python they stand with the table
        lines.insert(0, "# --truth takes no options of reading: give a file that needs none, or take the Python")
    lines.append(shlex.join(["divulge", "attack", attacked, *truth, *by, *flags]))
    more = "".join(f", {name}={value!r}" for name, value in asked.items())
    python.append(f"print(dv.attack({given}, truth={TABLE}{held}{more}))")
    if out or ledger:
        person = work.policy.roles.get("person")
        tied = {"person": person, "ledger": ledger}
        extra = [part for name, value in tied.items() if value for part in (f"--{name}", value)]
        lines.append(shlex.join(["divulge", "compose", *out, work.target, *truth, *extra]))
        said = "".join(f", {name}={value!r}" for name, value in tied.items() if value)
        listed = ", ".join([*map(repr, out), "release"])
        python.append(f"print(dv.compose([{listed}], truth={TABLE}{said}))")
    desk.same_as("\n".join(lines), *python)


# --- controls ---------------------------------------------------------------------------------------------------------
def _controls(work: Work) -> Iterator[Html]:
    yield el("h2", "Against")
    options = [
        (_THIS, "what would be published"),
        (_AS_IT_CAME, _AS_IT_CAME),
        *([(_GROUPS, _GROUPS)] if work.policy.roles.get("sensitive") else []),
        *((one, one) for one in _out_already(work)),
    ]
    yield choice("against", options, work.argument(_NAME, "against", _THIS), label="what is attacked")
    yield el("h2", "She knows of each person")
    known = _known(work)
    yield from (tick("knows", shown_name(name), on=name in known, of=name) for name in _quasi_identifiers(work))
    yield _number("wrong", "of it wrong or outdated, in %", 100 * work.argument(_NAME, "wrong", 0), most=99)
    sets = [("0", "no"), *((str(size), f"sets of up to {size}") for size in range(1, _MOST_SETS + 1))]
    chosen = str(work.argument(_NAME, "subsets", 0))
    yield labelled("also if she knows less", choice("subsets", sets, chosen))
    yield _number("records", "people who are attacked", work.argument(_NAME, "records", _USUAL["records"]), least=1)
    yield _number("seed", "drawn at random by seed", work.argument(_NAME, "seed", _USUAL["seed"]))
    yield from _more_tables(work)
    yield from _attackers(work)
    yield from _others(work)


def _number(name: str, words: str, value: float, *, least: int = 0, most: int | None = None) -> Html:
    return labelled(words, void("input", type="number", name=name, value=f"{value:g}", min=least, max=most))


def _path(name: str, words: str, value: str, small: str) -> Html:
    field = void("input", type="text", name=name, value=value, spellcheck="false", autocomplete="off")
    return labelled(words, field, small=small)


def _more_tables(work: Work) -> Iterator[Html]:
    fields = [_path(name, words, work.argument(_NAME, name, ""), small) for name, (words, small) in _TABLES.items()]
    is_open = "open" if any(work.argument(_NAME, name) for name in _TABLES) else None
    yield el("details", el("summary", "other tables"), *fields, open=is_open)


def _attackers(work: Work) -> Iterator[Html]:
    chosen = work.argument(_NAME, "attacks", [])
    head = f"only these {len(chosen)} attacks" if chosen else "every attack that has something to attack"
    ticks = [
        el("div", tick(_NAME, each.name, on=each.name in chosen, of=each.name), el("small", each.plain))
        for each in attacks.ATTACKERS
    ]
    yield el("details", el("summary", head), *ticks)


def _others(work: Work) -> Iterator[Html]:
    """Releases of the same people that are out: folders that lie here, others by their path, a ledger."""
    yield el("h2", "Out already, of the same people")
    named = _out_already(work)
    here = sorted(path.parent.name for path in Path().glob("*/manifest.json"))
    found = dict.fromkeys([*named, *here])
    yield from (tick("release", html.value(name), on=name in named, of=name) for name in found)
    yield _path("release", "folder of a release, or a table", "", "what it tells together with this one is counted")
    small = "the folder of a ledger: all that it knows to be out"
    yield _path("ledger", "or a ledger", work.argument(_NAME, "ledger", ""), small)


# --- the view ---------------------------------------------------------------------------------------------------------
def show(desk: Desk, changed: bool) -> None:  # noqa: FBT001 - as every place
    """What each attack achieves, then what several releases tell together."""
    if not needs_table(desk):
        return
    work = desk.work
    desk.say(head=f"{work.name} · {desk.rows:,} rows")
    _tell_same(desk)
    if not _quasi_identifiers(work):
        raise BadInput("no column is a quasi-identifier", hint="say on the tab Table which columns others may know")
    if not changed:
        desk.put("controls", *_controls(work))
        desk.put("view", el("div", id="attacked"), el("div", id="together"))
    if work.argument(_NAME, "against", _THIS) == _THIS and not _promises_something(work):
        raise BadInput(
            "nothing is promised yet, so nothing would be published",
            hint="promise something on the tab Promises, or attack the table as it came",
        )
    desk.put("attacked", *_achieved(desk, _attacked(desk)))
    desk.put("together", *_together(_composed(desk)))


def _achieved(desk: Desk, found: Any) -> Iterator[Html]:
    against = desk.work.argument(_NAME, "against", _THIS)
    said = {_THIS: "what would be published"}.get(against, against)
    named = said[0].upper() + said[1:]
    found = replace(found, settings={**found.settings, "source": named}, notes=tuple(map(in_words, found.notes)))
    if desk.work.hidden:
        found = replace(found, attempts=tuple(replace(one, most_at_risk=()) for one in found.attempts))
    yield el("h1", "What an adversary achieves")
    yield el("p", views.attack.verdict(found), class_="verdict")
    yield views.attack.tiles(found)
    curve = html.figure(charts.as_json(charts.knowledge(found))) if found.knowledge else None
    yield el("div", html.figure(charts.as_json(found.chart())), class_="card")
    yield card("Attack by attack", views.attack.sections(found, curve, whole=True))


def _together(found: Any) -> Iterator[Html]:
    if found is None:
        told = "Whoever holds two releases of the same people can put them together. Name what is out already at the side, or its ledger."
        yield card("Together with what is out already", el("p", told, class_="lead"))
        return
    drawn = html.figure(charts.as_json(found.chart())) if found.together is not None else None
    numbers = el("details", el("summary", "every number, alone and together"), views.compose.sections(found, None))
    told = html.bullets(*views.compose.sentences(found))
    yield card(
        "Together with what is out already",
        el("p", views.compose.answer(found), class_="verdict"),
        drawn,
        told,
        numbers,
    )


def _text(value: Any) -> str:
    return str(value).strip()


PLACE = Place(
    _NAME,
    "Attack",
    show,
    {
        "against": _said("against", str),
        "knows": _knows,
        "wrong": _said("wrong", lambda value: round(number_given(value) / 100, 6)),
        "subsets": _said("subsets", whole_given),
        "records": _said("records", whole_given),
        "seed": _said("seed", whole_given),
        "control": _said("control", _text),
        "background": _said("background", _text),
        "attack": _attack,
        "release": _release,
        "ledger": _ledger,
    },
)
