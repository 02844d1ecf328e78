# SPDX-License-Identifier: Apache-2.0
"""Dossier: what scattered records of one person tell together, how that grew, what to verify, and which disinformation would help."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import divulge as dv
from divulge import charts, results, values, views
from divulge.errors import DivulgeError
from divulge.studio.desk import Desk
from divulge.studio.places.place import Html, Place, button, card, el, labelled, number_given, void, whole_given
from divulge.studio.work import Work
from divulge.views import html

_NAME = "dossier"
_EXAMPLE_RULE = "name+card,name+phone"
_EXAMPLE = {
    "shops.csv": """record,label,value,confidence
bookshop,name,Ann Lee,1
bookshop,card,4711,1
bookshop,phone,555-0101,1
florist,name,Ann Lee,1
florist,card,0815,1
pharmacy,name,Ann Lee,1
pharmacy,card,0815,1
pharmacy,phone,555-0101,0.8
pharmacy,medicine,insulin,0.9
""",
    "ann.json": json.dumps(
        {
            "attributes": [
                {"label": label, "value": value}
                for label, value in (
                    ("name", "Ann Lee"),
                    ("card", "4711"),
                    ("card", "0815"),
                    ("phone", "555-0101"),
                    ("medicine", "insulin"),
                    ("address", "1 Main St"),
                )
            ]
        }
    ),
}
"""What three shops hold of an invented person, and what is true of her."""
_MOST_BUDGET = 20


# --- what controls do -------------------------------------------------------------------------------------------------
def _opening(name: str) -> Any:
    """A file by its path; what is shown changes as a whole."""

    def edit(desk: Desk, _: str, value: Any) -> Work:
        desk.afresh = True
        return desk.work.with_argument(_NAME, name, str(value).strip())

    return edit


def _file(desk: Desk, _: str, value: Any) -> Work:
    """Dropped onto the page: the records first, then the truth."""
    desk.afresh = True
    has_records = bool(desk.work.argument(_NAME, "database"))
    return desk.work.with_argument(_NAME, "reference" if has_records else "database", str(value))


def _example(desk: Desk, *_: Any) -> Work:
    desk.afresh = True
    paths = [Path(desk.folder) / name for name in _EXAMPLE]
    for path, text in zip(paths, _EXAMPLE.values(), strict=True):
        path.write_text(text, encoding="utf-8")
    database, reference = map(str, paths)
    work = desk.work.with_argument(_NAME, "database", database).with_argument(_NAME, "reference", reference)
    return work.with_argument(_NAME, "rule", _EXAMPLE_RULE).with_argument(_NAME, "budget", 4)


def _again(desk: Desk, *_: Any) -> Work:
    """Other records."""
    desk.afresh = True
    work = desk.work
    for name in ("database", "reference", "rule", "trust", "budget"):
        work = work.with_argument(_NAME, name, None)
    return work


def _trust(desk: Desk, _: str, value: Any) -> Work:
    return desk.work.with_argument(_NAME, "trust", number_given(value) or None)


def _budget(desk: Desk, _: str, value: Any) -> Work:
    return desk.work.with_argument(_NAME, "budget", whole_given(value) or None)


# --- what the library says --------------------------------------------------------------------------------------------
def _said(work: Work) -> tuple[str, str, str, float, int]:
    given = {"database": "", "reference": "", "rule": "", "trust": 0.0, "budget": 0}
    database, reference, rule, trust, budget = (work.argument(_NAME, name, usual) for name, usual in given.items())
    return database, reference, rule, trust, budget


def _records(desk: Desk) -> Any:
    path = _said(desk.work)[0]
    return desk.once("records", lambda: dv.dossier.read_database(path), path)


def _found(desk: Desk, what: str, make: Any) -> Any:
    """What was found for the same files and rule, else found now."""
    return desk.once(what, make, *_said(desk.work))


def _rule(work: Work) -> Any:
    _, _, rule, trust, _ = _said(work)
    return dv.dossier.MatchRule.parse(rule, threshold=trust) if rule else None


# --- the same without the page ----------------------------------------------------------------------------------------
def _tell_same(desk: Desk) -> None:
    database, reference, rule, trust, budget = _said(desk.work)
    files = ["--database", database, "--reference", reference]
    rules = [*(["--resolve", rule] if rule else []), *(["--trust", f"{trust:g}"] if rule and trust else [])]
    lines = [["leakage", *files, *rules, "--timeline", "--without"], ["enhance", *files[:2], *rules]]
    python = [
        f"records, truth = dv.dossier.read_database({database!r}), dv.dossier.read_record({reference!r})",
        f"rule = dv.dossier.MatchRule.parse({rule!r}, threshold={trust!r})" if rule else "rule = None",
        "operator = dv.dossier.Resolve(rule)" if rule else "operator = dv.dossier.Chain(())",
        *(f"print(dv.dossier.{name}(records, truth, operator=operator))" for name in ("attack", "timeline", "without")),
        "print(dv.dossier.enhance_each(records, rule=rule))",
    ]
    if rule and budget:
        lines.append(["disinform", *files, *rules, "--budget", str(budget)])
        python.append(f"print(dv.dossier.plan_disinformation(records, truth, rule=rule, budget={budget}))")
    desk.same_as("\n".join(shlex.join(["divulge", "dossier", *line]) for line in lines), *python)


# --- controls ---------------------------------------------------------------------------------------------------------
def _field(name: str, words: str, value: str, small: str) -> Html:
    given = void("input", type="text", name=name, value=value, spellcheck="false", autocomplete="off")
    return labelled(words, given, small=small)


def _number(name: str, words: str, value: float, small: str, *, most: float, step: float) -> Html:
    given = {"value": f"{value:g}", "min": 0, "max": f"{most:g}", "step": f"{step:g}"}
    return labelled(words, void("input", type="number", name=name, **given), small=small)


def _controls(desk: Desk) -> Iterator[Html]:
    database, reference, rule, trust, budget = _said(desk.work)
    labels = sorted({label for record in _records(desk) for label in record.labels})
    shown = ", ".join(values.visible(label) for label in labels)
    yield el("h2", "Records")
    yield _field("database", "what others hold", database, f"labels: {shown}")
    yield _field("reference", "what is true of the person", reference, "one record: JSON")
    yield button("again", "Other records")
    yield el("h2", "The adversary")
    told = "two records are one person's if all labels of a part agree: name+card,name+phone; empty: nothing is linked"
    yield _field("rule", "links records by", rule, told)
    if rule:
        yield _number("trust", "trusts from", trust, "what is less certain links nothing", most=1, step=0.1)
        yield el("h2", "Disinformation")
        small = "values that may be invented, in all; 0: none"
        yield _number("budget", "may cost", budget, small, most=_MOST_BUDGET, step=1)


# --- the view ---------------------------------------------------------------------------------------------------------
def show(desk: Desk, changed: bool) -> None:  # noqa: FBT001 - as every place
    """What is known of the person, then how it grew, what to verify, and what would help."""
    desk.say(head="a person's records")
    database, reference, _, _, budget = _said(desk.work)
    if not database or not reference:
        _show_opening(desk)
        return
    _tell_same(desk)
    try:
        records = _records(desk)
        truth = desk.once("truth", lambda: dv.dossier.read_record(reference), reference)
    except (DivulgeError, OSError):
        _show_opening(desk)  # where another file can be named
        raise
    if not changed:
        desk.put("controls", *_controls(desk))
        beside = el("div", el("div", id="labels"), el("div", id="disinformation"))
        pair = el("div", el("div", id="grew"), beside, class_="two")
        desk.put("view", el("div", id="known"), pair, el("div", id="verify"))
    by = _rule(desk.work)
    operator = dv.dossier.Chain(()) if by is None else dv.dossier.Resolve(by)
    attacked = _found(desk, "attack", lambda: dv.dossier.attack(records, truth, operator))
    desk.put("known", *_known(desk, attacked))
    told = desk.progress("adding record by record")
    steps = _found(desk, "timeline", lambda: dv.dossier.timeline(records, truth, operator=operator, progress=told))
    desk.put("grew", _drawn(steps))
    kept = _found(desk, "without", lambda: dv.dossier.without(records, truth, operator=operator))
    desk.put("labels", _drawn(kept))
    sure = _found(desk, "enhance", lambda: dv.dossier.enhance_each(records, rule=by))
    lead = "What an adversary would check first, and so what she is least sure of."
    desk.put("verify", card("What to verify", _listed(sure), lead=lead))
    if by is None or not budget:
        desk.put("disinformation")
        return
    desk.progress("looking for disinformation")
    plan = _found(desk, "plan", lambda: dv.dossier.plan_disinformation(records, truth, rule=by, budget=budget))
    desk.put("disinformation", _drawn(plan, _first(plan)))


def _show_opening(desk: Desk) -> None:
    """How to begin: two files, by their path, dropped, or invented."""
    database, reference, *_ = _said(desk.work)
    desk.same_as("divulge dossier leakage --database RECORDS --reference TRUTH --resolve RULE --timeline --without")
    desk.put("controls")
    kinds = "JSON, JSON lines, or CSV with the columns record, label, value, confidence"
    dropped = "or drop the file of what is true" if database else "or drop the file of the records"
    drop = el("label", dropped, void("input", type="file", name="file", class_="unseen"), class_="drop")
    fields = (
        _field("database", "Records that others hold", database, kinds),
        _field("reference", "What is true of the person", reference, "one record, as JSON"),
    )
    demo = el(
        "div",
        el("div", el("b", "Nothing at hand?"), el("p", "Three shops, and an invented person who buys in each.")),
        button("example", "Try it with her"),
        class_="row apart",
    )
    desk.put(
        "view",
        el("h1", "What do scattered records tell about one person?"),
        el(
            "p",
            "Each shop knows a part; whoever links their records knows more. Say what they hold, and what is true.",
            class_="verdict",
        ),
        el("div", *fields, drop, class_="card"),
        el("div", demo, class_="card"),
    )


def _first(found: Any) -> str:
    """The sentence that its text begins with."""
    return next(line for line in str(found).splitlines() if line.strip())


def _known(desk: Desk, found: Any) -> Iterator[Html]:
    share = views.dossier.share
    yield el("h1", "What is known of this person")
    yield el("p", _first(found), class_="verdict")
    yield html.tiles(
        html.tile(share(found.leakage), "of the person is known (0: nothing, 100 %: all of it, and nothing false)"),
        html.tile(share(found.before), "by the most telling record alone"),
        html.tile(f"{len(_records(desk)):,}", f"records; {len(found.records):,} after linking"),
    )
    lead = "What each record tells, after those that belong together were linked."
    yield card("Record by record", _listed(found), lead=lead)


def _drawn(found: Any, lead: str = "") -> Html:
    """The picture of a result, and its numbers."""
    picture = html.figure(charts.as_json(found.chart()))
    numbers = el("details", el("summary", "the numbers"), _listed(found))
    return el("div", el("p", lead) if lead else None, picture, numbers, class_="card")


def _listed(found: Any) -> Html:
    head, rows = results.rows_of(found)
    cells = [[_cell(value) for value in row] for row in rows]
    return el("div", html.table(head, cells, most=100), class_="scroll", tabindex="0")


def _cell(value: Any) -> Any:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return (
        f"{value:.4g}" if isinstance(value, float) else ("yes" if value else "no") if isinstance(value, bool) else value
    )


PLACE = Place(
    _NAME,
    "Dossier",
    show,
    {
        "database": _opening("database"),
        "reference": _opening("reference"),
        "rule": _opening("rule"),
        "trust": _trust,
        "budget": _budget,
        "file": _file,
        "example": _example,
        "again": _again,
    },
)
