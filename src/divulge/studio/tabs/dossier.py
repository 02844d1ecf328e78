# SPDX-License-Identifier: Apache-2.0
"""The tab Dossier: leakage of one person's scattered records when an adversary links them.

It also shows how the leakage grew, which values to verify, and which disinformation would help.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import divulge as dv
from divulge import charts, output, results
from divulge.errors import DivulgeError
from divulge.marks import HIDDEN
from divulge.output import html
from divulge.studio.session_state import SessionState
from divulge.studio.tabs.tab import (
    Html,
    Tab,
    button,
    card,
    el,
    labeled_field,
    parse_integer,
    parse_number,
    void_element,
)
from divulge.studio.worker import Worker
from divulge.text import visible

_TAB_NAME = "dossier"
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
"""Records of three shops about an invented person, and the true values of that person."""
_LARGEST_BUDGET = 20


# --- functions of the controls --------------------------------------------------------------------
def _text_edit(name: str) -> Any:
    """Return the function of a field that sets a path or the rule, and redraws the whole page."""

    def edit(worker: Worker, _: str, value: Any) -> SessionState:
        worker.redraw_controls = True
        return worker.state.with_argument(_TAB_NAME, name, str(value).strip())

    return edit


def _take_file(worker: Worker, _: str, value: Any) -> SessionState:
    """Take an uploaded file: first the records, then the reference record."""
    worker.redraw_controls = True
    has_records = bool(worker.state.argument(_TAB_NAME, "database"))
    return worker.state.with_argument(
        _TAB_NAME, "reference" if has_records else "database", str(value)
    )


def _open_example(worker: Worker, *_: Any) -> SessionState:
    worker.redraw_controls = True
    paths = [Path(worker.folder) / name for name in _EXAMPLE]
    for path, text in zip(paths, _EXAMPLE.values(), strict=True):
        path.write_text(text, encoding="utf-8")
    database, reference = map(str, paths)
    state = worker.state.with_argument(_TAB_NAME, "database", database).with_argument(
        _TAB_NAME, "reference", reference
    )
    return state.with_argument(_TAB_NAME, "rule", _EXAMPLE_RULE).with_argument(
        _TAB_NAME, "budget", 4
    )


def _close_records(worker: Worker, *_: Any) -> SessionState:
    """Remove the records, so that others can be opened."""
    worker.redraw_controls = True
    state = worker.state
    for name in ("database", "reference", "rule", "trust", "budget"):
        state = state.with_argument(_TAB_NAME, name, None)
    return state


def _set_trust(worker: Worker, _: str, value: Any) -> SessionState:
    return worker.state.with_argument(_TAB_NAME, "trust", parse_number(value) or None)


def _set_budget(worker: Worker, _: str, value: Any) -> SessionState:
    return worker.state.with_argument(_TAB_NAME, "budget", parse_integer(value) or None)


# --- results of the library -----------------------------------------------------------------------
def _arguments(state: SessionState) -> tuple[str, str, str, float, int]:
    defaults = {"database": "", "reference": "", "rule": "", "trust": 0.0, "budget": 0}
    database, reference, rule, trust, budget = (
        state.argument(_TAB_NAME, name, default) for name, default in defaults.items()
    )
    return database, reference, rule, trust, budget


def _records(worker: Worker) -> Any:
    path = _arguments(worker.state)[0]
    return worker.cached("records", lambda: dv.dossier.read_database(path), path)


def _cached(worker: Worker, kind: str, compute: Any) -> Any:
    """Return the cached result for these files and this rule, computing it if needed."""
    return worker.cached(kind, compute, *_arguments(worker.state))


def _match_rule(state: SessionState) -> Any:
    _, _, rule, trust, _ = _arguments(state)
    if rule:
        return dv.dossier.MatchRule.parse(rule, threshold=trust)
    return None


# --- equivalent command and Python code -----------------------------------------------------------
def _send_equivalents(worker: Worker) -> None:
    database, reference, rule, trust, budget = _arguments(worker.state)
    files = ["--database", database, "--reference", reference]
    rules = [
        *(["--resolve", rule] if rule else []),
        *(["--trust", f"{trust:g}"] if rule and trust else []),
    ]
    lines = [
        ["leakage", *files, *rules, "--timeline", "--without"],
        ["enhance", *files[:2], *rules],
    ]
    python = [
        (
            f"records, truth = dv.dossier.read_database({database!r}), "
            f"dv.dossier.read_record({reference!r})"
        ),
        f"rule = dv.dossier.MatchRule.parse({rule!r}, threshold={trust!r})"
        if rule
        else "rule = None",
        "operator = dv.dossier.Resolve(rule)" if rule else "operator = dv.dossier.Chain(())",
        *(
            f"print(dv.dossier.{name}(records, truth, operator=operator))"
            for name in ("attack", "timeline", "without")
        ),
        "print(dv.dossier.enhance_each(records, rule=rule))",
    ]
    if rule and budget:
        lines.append(["disinform", *files, *rules, "--budget", str(budget)])
        python.append(
            f"print(dv.dossier.plan_disinformation(records, truth, rule=rule, budget={budget}))"
        )
    worker.send_equivalents(
        "\n".join(shlex.join(["divulge", "dossier", *line]) for line in lines), *python
    )


# --- controls -------------------------------------------------------------------------------------
def _text_field(name: str, label: str, value: str, small: str) -> Html:
    field = void_element(
        "input", type="text", name=name, value=value, spellcheck="false", autocomplete="off"
    )
    return labeled_field(label, field, small=small)


def _number_field(
    name: str, label: str, value: float, small: str, *, largest: float, step: float
) -> Html:
    attributes = {"value": f"{value:g}", "min": 0, "max": f"{largest:g}", "step": f"{step:g}"}
    return labeled_field(
        label, void_element("input", type="number", name=name, **attributes), small=small
    )


def _controls(worker: Worker) -> Iterator[Html]:
    database, reference, rule, trust, budget = _arguments(worker.state)
    labels = sorted({label for record in _records(worker) for label in record.labels})
    label_list = ", ".join(visible(label) for label in labels)
    yield el("h2", "Records")
    yield _text_field("database", "what others hold", database, f"labels: {label_list}")
    yield _text_field("reference", "what is true of the person", reference, "one record: JSON")
    yield button("again", "Other records")
    yield el("h2", "The adversary")
    help_text = (
        "two records are one person's if all labels of a part agree: name+card,name+phone; empty: "
        "nothing is linked"
    )
    yield _text_field("rule", "links records by", rule, help_text)
    if rule:
        yield _number_field(
            "trust", "trusts from", trust, "what is less certain links nothing", largest=1, step=0.1
        )
        yield el("h2", "Disinformation")
        small = "values that may be invented, in all; 0: none"
        yield _number_field("budget", "may cost", budget, small, largest=_LARGEST_BUDGET, step=1)


# --- view -----------------------------------------------------------------------------------------
def show(worker: Worker, changed: bool) -> None:  # noqa: FBT001 - as in every tab
    """Show the leakage, how it grew, which values to verify, and a disinformation plan."""
    worker.send(head="a person's records")
    database, reference, _, _, budget = _arguments(worker.state)
    if not database or not reference:
        _show_opening(worker)
        return
    _send_equivalents(worker)
    try:
        records = _records(worker)
        truth = worker.cached("truth", lambda: dv.dossier.read_record(reference), reference)
    except (DivulgeError, OSError):
        _show_opening(worker)  # so that another file can be opened
        raise
    if not changed:
        worker.put_part("controls", *_controls(worker))
        second_column = el("div", el("div", id="labels"), el("div", id="disinformation"))
        pair = el("div", el("div", id="grew"), second_column, class_="two")
        worker.put_part("view", el("div", id="known"), pair, el("div", id="verify"))
    rule = _match_rule(worker.state)
    operator = dv.dossier.Chain(()) if rule is None else dv.dossier.Resolve(rule)
    attack_result = _cached(worker, "attack", lambda: dv.dossier.attack(records, truth, operator))
    hidden = worker.state.hidden
    worker.put_part("known", *_leakage_view(worker, attack_result))
    progress = worker.begin_step("adding record by record")
    steps = _cached(
        worker,
        "timeline",
        lambda: dv.dossier.timeline(records, truth, operator=operator, progress=progress),
    )
    worker.put_part("grew", _chart_card(steps, hidden=hidden))
    without_each = _cached(
        worker, "without", lambda: dv.dossier.without(records, truth, operator=operator)
    )
    worker.put_part("labels", _chart_card(without_each))  # its chart shows labels only
    enhancements = _cached(worker, "enhance", lambda: dv.dossier.enhance_each(records, rule=rule))
    lead = "What an adversary would check first, and so what she is least sure of."
    verification_table = _result_table(enhancements, hidden=hidden)
    worker.put_part("verify", card("What to verify", verification_table, lead=lead))
    if rule is None or not budget:
        worker.put_part("disinformation")
        return
    worker.begin_step("looking for disinformation")
    plan = _cached(
        worker,
        "plan",
        lambda: dv.dossier.plan_disinformation(records, truth, rule=rule, budget=budget),
    )
    worker.put_part("disinformation", _chart_card(plan, _first_sentence(plan), hidden=hidden))


def _show_opening(worker: Worker) -> None:
    """Show how to open the two files: by path, by upload, or with an example."""
    database, reference, *_ = _arguments(worker.state)
    worker.send_equivalents(
        "divulge dossier leakage --database RECORDS --reference TRUTH --resolve RULE --timeline "
        "--without"
    )
    worker.put_part("controls")
    kinds = "JSON, JSON lines, or CSV with the columns record, label, value, confidence"
    if database:
        drop_label = "or drop the file of what is true"
    else:
        drop_label = "or drop the file of the records"
    drop_zone = el(
        "label",
        drop_label,
        void_element("input", type="file", name="file", class_="unseen"),
        class_="drop",
    )
    fields = (
        _text_field("database", "Records that others hold", database, kinds),
        _text_field("reference", "What is true of the person", reference, "one record, as JSON"),
    )
    demo = el(
        "div",
        el(
            "div",
            el("b", "Nothing at hand?"),
            el("p", "Three shops, and an invented person who buys in each."),
        ),
        button("example", "Try it with her"),
        class_="row apart",
    )
    worker.put_part(
        "view",
        el("h1", "What do scattered records tell about one person?"),
        el(
            "p",
            "Each shop knows a part; whoever links their records knows more. Say what they hold, "
            "and what is true.",
            class_="verdict",
        ),
        el("div", *fields, drop_zone, class_="card"),
        el("div", demo, class_="card"),
    )


def _first_sentence(result: Any) -> str:
    """Return the first sentence of a result's text."""
    return next(line for line in str(result).splitlines() if line.strip())


def _leakage_view(worker: Worker, result: Any) -> Iterator[Html]:
    share = output.dossier.share
    hidden = worker.state.hidden
    yield el("h1", "What is known of this person")
    if not hidden:  # the sentence names the records
        yield el("p", _first_sentence(result), class_="verdict")
    yield html.tiles(
        html.tile(
            share(result.leakage),
            "of the person is known (0: nothing, 100 %: all of it, and nothing false)",
        ),
        html.tile(share(result.before), "by the most telling record alone"),
        html.tile(f"{len(_records(worker)):,}", f"records; {len(result.records):,} after linking"),
    )
    lead = "What each record tells, after those that belong together were linked."
    yield card("Record by record", _result_table(result, hidden=hidden), lead=lead)


def _chart_card(result: Any, lead: str = "", *, hidden: bool = False) -> Html:
    """Return the chart of a result, and its numbers; with hidden values only the numbers."""
    if hidden:
        chart = None
    else:
        chart = html.figure(charts.as_json(result.chart()))
    result_table = _result_table(result, hidden=hidden)
    numbers = el("details", el("summary", "the numbers"), result_table, open=hidden)
    return el("div", el("p", lead) if lead else None, chart, numbers, class_="card")


def _result_table(result: Any, *, hidden: bool = False) -> Html:
    """Return the table of a result; with hidden values only its labels and numbers are shown."""
    head, rows = results.rows_of(result)
    cells = [
        [
            HIDDEN if hidden and _may_be_value(name, value) else _cell_text(value)
            for name, value in zip(head, row, strict=True)
        ]
        for row in rows
    ]
    return el("div", html.table(head, cells, most=100), class_="scroll", tabindex="0")


def _may_be_value(column: str, value: Any) -> bool:
    """Return True unless the cell is a number or a label; the name of a record may be a person."""
    return column != "label" and isinstance(value, str | list | tuple)


def _cell_text(value: Any) -> Any:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, bool):
        if value:
            return "yes"
        return "no"
    return value


TAB = Tab(
    _TAB_NAME,
    "Dossier",
    show,
    {
        "database": _text_edit("database"),
        "reference": _text_edit("reference"),
        "rule": _text_edit("rule"),
        "trust": _set_trust,
        "budget": _set_budget,
        "file": _take_file,
        "example": _open_example,
        "again": _close_records,
    },
)
