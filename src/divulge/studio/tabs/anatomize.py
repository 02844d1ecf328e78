# SPDX-License-Identifier: Apache-2.0
"""The tab Anatomize: publish original values in groups, and compare with the generalized release.

The comparison is made at the same protection.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import divulge as dv
from divulge import charts
from divulge.errors import BadInput
from divulge.options import Invocation
from divulge.output import formatting, html, summary
from divulge.studio.session_state import SessionState
from divulge.studio.tabs.promises import planned_release
from divulge.studio.tabs.tab import (
    Html,
    Tab,
    button,
    card,
    checkbox,
    dropdown,
    el,
    labeled_field,
    parse_integer,
    require_table,
    void_element,
)
from divulge.studio.worker import Worker

_TAB_NAME = "anatomize"
_FIRST_ROWS = 6
_BOUNDS = {
    "beta": "the commonest sensitive value in a group, at most",
    "alpha": "the commonest values of a table in a group, at most",
    "gamma": "the commonest combination over all tables, at most",
    "delta": "how far the share of a sensitive value may move",
}
_SHARES = ("1/2", "1/3", "1/4", "1/5", "1/6", "1/8", "1/10", "1/20")
_LARGEST_TABLE_COUNT = 4
_FOLDER = "anatomized"


# --- functions of the controls --------------------------------------------------------------------
def _set_bound(worker: Worker, subject: str, value: Any) -> SessionState:
    if subject not in _BOUNDS:
        raise BadInput(f"there is no bound {subject!r}", hint=f"there are: {', '.join(_BOUNDS)}")
    return worker.state.with_argument(_TAB_NAME, subject, str(value))


def _set_table_count(worker: Worker, _: str, value: Any) -> SessionState:
    return worker.state.with_argument(_TAB_NAME, "tables", parse_integer(value) if value else None)


def _set_locality(worker: Worker, _: str, value: Any) -> SessionState:
    return worker.state.with_argument(_TAB_NAME, "locality", True if value else None)


def _set_compared_attribute(worker: Worker, _: str, value: Any) -> SessionState:
    worker.redraw_controls = True
    return worker.state.with_argument(_TAB_NAME, "about", str(value))


def _set_condition(worker: Worker, _: str, value: Any) -> SessionState:
    return worker.state.with_argument(_TAB_NAME, "condition", str(value).strip())


def _set_folder(worker: Worker, _: str, value: Any) -> SessionState:
    return worker.state.with_argument(_TAB_NAME, "out", str(value).strip())


def _publish(worker: Worker, *_: Any) -> None:
    """Write the tables, read them back, and measure their privacy levels again."""
    folder = Path(worker.state.argument(_TAB_NAME, "out", _FOLDER)).expanduser()
    release = anatomized_release(worker)
    worker.begin_step("writing the tables, reading them back and working out the levels again")
    worker.clear_outcome(_TAB_NAME, "done")
    worker.announce_release(folder)
    release.write(folder)
    worker.send(published=str(folder))
    file_rows = [
        [el("code", str(path)), "handed out"]
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    ]
    sentence = el("p", "The tables were written, read back from the disk, and keep every bound.")
    chip = html.joined((html.chip("ok", "published"), " and verified"))
    file_table = html.table(("file", "what it is"), file_rows)
    worker.put_outcome(_TAB_NAME, "done", card(chip, sentence, file_table))


# --- results of the library -----------------------------------------------------------------------
def _names(state: SessionState, role: str) -> list[str]:
    names = state.policy.roles.get(role) or []
    if isinstance(names, str):
        return [names]
    return list(names)


def _roles(state: SessionState) -> dict[str, Any]:
    """Return the roles that `dv.anatomize` takes.

    Insensitive columns (`plain`) are dropped: they have no group to hide in.
    """
    columns_by_role = {
        role: _names(state, role)
        for role in ("quasi_identifiers", "sensitive", "identifier", "leave_out")
    }
    return {role: names for role, names in columns_by_role.items() if names}


def _generalized_beta(worker: Worker) -> str:
    """Return the largest share of a sensitive value in a class of the generalized release.

    It is rounded up, and "" if the policy has no requirement.
    """
    if not _has_requirements(worker.state):
        return ""
    scores_by_attribute = planned_release(worker).after.sensitive
    return f"{math.ceil(max(scores['alpha'].value for scores in scores_by_attribute.values()) * 1e4) / 1e4:g}"  # noqa: E501


def _has_requirements(state: SessionState) -> bool:
    return bool(state.policy.promises or state.policy.protections)


def anatomize_arguments(worker: Worker) -> dict[str, Any]:
    """Return the arguments of `dv.anatomize` other than the roles."""
    values = {
        name: worker.state.argument(_TAB_NAME, name) for name in (*_BOUNDS, "tables", "locality")
    }
    values["beta"] = values["beta"] or _generalized_beta(worker) or _SHARES[0]
    return {name: value for name, value in values.items() if value is not None}


def anatomized_release(worker: Worker) -> Any:
    """Return the anatomized release: tables and groups that meet the bounds."""
    options = anatomize_arguments(worker)

    def anatomize() -> Any:
        worker.begin_step("dividing columns into tables, and records into groups")
        return dv.anatomize(worker.table, **_roles(worker.state), **options)

    return worker.cached_by_policy("anatomized", anatomize, about=json.dumps(options))


def _comparison(worker: Worker, about: str) -> Any:
    """Return the comparison of anatomized and generalized releases at the same bound.

    All of them answer the same queries.
    """
    state = worker.state
    options = anatomize_arguments(worker)
    roles = _roles(worker.state)
    rules = dict(state.policy.hierarchies) or None
    tables = options.get("tables", min(2, len(roles["quasi_identifiers"])))

    def compare() -> Any:
        worker.begin_step("asking four releases a thousand queries")
        return dv.side_by_side(
            worker.table,
            sensitive=about,
            beta=options["beta"],
            quasi_identifiers=roles["quasi_identifiers"],
            hierarchies=rules,
            suppression=state.policy.suppression,
            tables=tables,
        )

    return worker.cached_by_policy(
        "sides", compare, "promises", "protect", about=(about, options["beta"], tables)
    )


def _queryable_generalization(worker: Worker) -> Any:
    """Return the generalized release, written to the private folder so that it can be queried."""
    release = planned_release(worker)

    def open_for_queries() -> Any:
        folder = Path(worker.folder) / f"asked-{len(list(Path(worker.folder).glob('asked-*')))}"
        worker.begin_step("opening what Promises would publish")
        release.write(folder)
        return dv.open_release(folder)

    return worker.cached_by_policy("opened", open_for_queries)


def _queryable_original(worker: Worker) -> Any:
    """Return the original table as a release of one table, which answers queries exactly."""

    def open_for_queries() -> Any:
        roles = _roles(worker.state)
        rows = worker.table.engine.query(f"SELECT 1 AS GID, * FROM {worker.table.relation}")
        return dv.open_release(
            [rows.select(["GID", *roles["quasi_identifiers"], *roles["sensitive"]])]
        )

    return worker.cached_by_policy(
        "truth to ask", open_for_queries, "promises", "protect", "suppression", "hierarchies"
    )


# --- equivalent command and Python code -----------------------------------------------------------
def equivalent_anatomize(worker: Worker, options: dict[str, Any]) -> Invocation:
    """Return the call that makes the tables, and writes them to their folder."""
    state = worker.state
    out = state.argument(_TAB_NAME, "out", _FOLDER)
    return state.invocation("anatomize", {**_roles(state), **options}, policy=False, out=out)


def _send_equivalents(worker: Worker, options: dict[str, Any]) -> None:
    state = worker.state
    condition = worker.state.argument(_TAB_NAME, "condition", "")
    anatomize = equivalent_anatomize(worker, options)
    out = anatomize.flags["out"]
    lines = [anatomize.as_command()]
    python = [f"release = {anatomize.as_python()}", f"release.write({out!r})"]
    if condition:
        of_groups = Invocation("query", (out, condition))
        lines.append(of_groups.as_command())
        python.append(f"print({of_groups.as_python()})")
    if condition and _has_requirements(state):
        generalize = state.invocation("generalize", out=state.target)
        of_classes = Invocation("query", (state.target, condition))
        lines += [generalize.as_command(), of_classes.as_command()]
        python.append(f"{generalize.as_python()}.write({state.target!r})")
        python.append(f"print({of_classes.as_python()})")
    worker.send_equivalents("\n".join(lines), *python)


# --- controls -------------------------------------------------------------------------------------
def _controls(worker: Worker) -> Iterator[Html]:
    state = worker.state
    generalized_beta = _generalized_beta(worker)
    yield el("h2", "Every group keeps")
    for name, description in _BOUNDS.items():
        default_label = "no bound"
        if name == "beta":
            if generalized_beta:
                default_label = f"{generalized_beta}, as on Promises"
            else:
                default_label = _SHARES[0]
        chosen = state.argument(_TAB_NAME, name, "")
        options = [
            ("", default_label),
            *((fraction, fraction) for fraction in _SHARES if fraction != default_label),
        ]
        yield labeled_field(
            f"{name}: {description}", dropdown("bound", options, chosen, subject=name)
        )
    yield el("h2", "How")
    tables = [
        ("", "two, if there are two columns"),
        *((str(n), str(n)) for n in range(1, _LARGEST_TABLE_COUNT + 1)),
    ]
    yield labeled_field(
        "tables of quasi-identifiers",
        dropdown("tables", tables, str(state.argument(_TAB_NAME, "tables", ""))),
    )
    yield checkbox(
        "locality", "group records that are alike", on=bool(state.argument(_TAB_NAME, "locality"))
    )
    yield el("p", "The same bounds, and better answers.", class_="lead")
    if len(_names(state, "sensitive")) > 1:
        names = [(name, html.value(name)) for name in _names(state, "sensitive")]
        yield labeled_field("compared for", dropdown("about", names, _compared_attribute(state)))
    yield el("h2", "Into a folder")
    out = void_element(
        "input",
        type="text",
        name="out",
        value=state.argument(_TAB_NAME, "out", _FOLDER),
        spellcheck="false",
    )
    yield labeled_field("folder of the tables", out, small=f"in {Path.cwd()}")
    yield button("publish", "Publish these tables", main=True)


def _compared_attribute(state: SessionState) -> str:
    names = _names(state, "sensitive")
    attribute = state.argument(_TAB_NAME, "about", "")
    return attribute if attribute in names else names[0]


# --- view -----------------------------------------------------------------------------------------
def show(worker: Worker, changed: bool) -> None:  # noqa: FBT001 - as in every tab
    """Show the groups, the tables, a query of both releases, and the comparison."""
    if not require_table(worker):
        return
    state = worker.state
    worker.send(head=f"{state.name} · {worker.row_count:,} rows")
    if not _names(state, "sensitive") or not _names(state, "quasi_identifiers"):
        worker.send_equivalents(
            "divulge anatomize TABLE --sensitive COLUMN --beta 1/4 --out anatomized"
        )
        raise BadInput(
            "groups hide which sensitive value belongs to whom, and no column is sensitive, or "
            "none a quasi-identifier",
            hint="say on the tab Table which is which",
        )
    if not changed:
        worker.put_part("controls", *_controls(worker))
        worker.put_part(
            "view", *(el("div", id=element_id) for element_id in ("done", "groups", "ask", "sides"))
        )
    options = anatomize_arguments(worker)
    _send_equivalents(worker, options)
    release = anatomized_release(worker)
    worker.put_part("groups", *_groups_view(worker, release))
    worker.put_part("ask", _query_card(worker, release))
    worker.put_part("sides", _comparison_card(worker))


def _groups_view(worker: Worker, release: Any) -> Iterator[Html]:
    lines = summary.lines_of_levels(release.model, release.levels)
    yield el("h1", "The other way to publish")
    yield el(
        "p", summary.in_groups(release), summary.requirements_sentence(lines), class_="verdict"
    )
    yield html.joined((summary.group_tiles(release),))
    lead = (
        "Every value stays as it is. A row of one table belongs to a row of another only by their "
        "group, so who has which is not told."
    )
    if not worker.state.hidden:
        tables = [_first_rows(frame) for frame in release.tables().values()]
        yield card("What is handed out", el("div", *tables, class_="cards"), lead=lead)
    yield card("What was promised, and what is kept", summary.scoreboard(lines))
    yield el("div", html.figure(charts.as_json(charts.groups(release))), class_="card")


def _first_rows(frame: Any) -> Html:
    head = [html.value(name) for name in frame.column_names]
    rows = [
        ["" if cell is None else str(cell) for cell in row.values()]
        for row in frame.slice(0, _FIRST_ROWS).to_pylist()
    ]
    return el("div", html.table(head, rows))


def _query_card(worker: Worker, release: Any) -> Html:
    """Return the card that counts in the original table, the groups and the generalized release."""
    condition = worker.state.argument(_TAB_NAME, "condition", "")
    if worker.state.hidden:
        shown_condition = ""
    else:
        shown_condition = condition
    field = void_element(
        "input",
        type="text",
        name="condition",
        value=shown_condition,
        spellcheck="false",
        autocomplete="off",
    )
    if worker.state.hidden:
        example = ""
    else:
        example = _example_condition(worker)
    if example:
        example_button = button("condition", "For example", value=example)
    else:
        example_button = None
    parts = [
        el(
            "div",
            labeled_field("How many people are there with", field, small=_condition_help(example)),
            example_button,
            class_="row",
        )
    ]
    if condition:
        sources = {"the table itself": _queryable_original(worker), "anatomized": release}
        if _has_requirements(worker.state):
            sources["generalized, as on Promises"] = _queryable_generalization(worker)
        rows = [
            [name, *_answer_cells(dv.query(source, condition))] for name, source in sources.items()
        ]
        parts.append(
            html.table(("asked", "estimate", "certainly from", "to", "left out, not counted"), rows)
        )
    lead = (
        "Whoever gets a release can count in it. What is certain holds in every table that could "
        "have led to it."
    )
    return card("Ask both", *parts, lead=lead)


def _condition_help(example: str) -> Html:
    help_text = "a condition as in SQL's WHERE, then Enter"
    if example:
        return html.joined((help_text, ": ", el("code", example)))
    return html.escape(help_text)


def _answer_cells(result: Any) -> list[str]:
    numbers = [formatting.number(value) for value in (result.estimate, result.low, result.high)]
    return [*numbers, f"{result.settings['left_out'] or 0:,}"]


def _example_condition(worker: Worker) -> str:
    """Return an example condition: one quasi-identifier and the sensitive value of a record."""
    state = worker.state
    names = [_names(state, "quasi_identifiers")[-1], _compared_attribute(state)]
    quoted = ", ".join(map(worker.table.engine.quote, names))
    first = f"SELECT {quoted} FROM {worker.table.relation} LIMIT 1"
    rows = worker.cached("example", lambda: worker.table.engine.query(first), *names).to_pylist()
    conditions = [
        _equality(name, value)
        for row in rows
        for name, value in row.items()
        if isinstance(value, str | int)
    ]
    return " and ".join(conditions)


def _equality(name: str, value: str | int) -> str:
    if name.isidentifier() and name.isascii():
        column = name
    else:
        column = '"' + name.replace('"', '""') + '"'
    if isinstance(value, int):
        return f"{column} = {value}"
    return column + " = '" + value.replace("'", "''") + "'"


def _comparison_card(worker: Worker) -> Html:
    about = _compared_attribute(worker.state)
    people = worker.row_count
    rows: list[list[Any]] = []
    for side in _comparison(worker, about):
        if side.refused is not None:
            rows.append([side.name, "there is none", "", "", "", ""])
            continue
        rows.append(
            [
                side.name,
                formatting.percent(side.beta),
                formatting.percent(side.delta),
                f"{side.groups:,}",
                f"{people - side.published:,}",
                formatting.percent(side.recq.median),
            ]
        )
    head = (
        "release",
        "largest share of a value",
        "moves by at most",
        "groups or classes",
        "left out",
        "off by, in the middle",
    )
    beta = anatomize_arguments(worker)["beta"]
    lead_text = (
        f" make up more than {beta}. All are asked the same 1,000 counts; the last column is how "
        "far off the middle "
    )
    lead_text += (
        "one is. An anatomized release shows every combination of a table, so that anybody can see "
        "who is in it if one is rare."
    )
    opening_text = "Four releases at the same bound: in no group and no class does a value of "
    lead = html.joined((opening_text, html.value(about), lead_text))
    return card(
        "Beside generalizing, at the same protection",
        el("div", html.table(head, rows), class_="scroll", tabindex="0"),
        lead=lead,
    )


TAB = Tab(
    _TAB_NAME,
    "Anatomize",
    show,
    {
        "bound": _set_bound,
        "tables": _set_table_count,
        "locality": _set_locality,
        "about": _set_compared_attribute,
        "condition": _set_condition,
        "out": _set_folder,
        "publish": _publish,
    },
)
