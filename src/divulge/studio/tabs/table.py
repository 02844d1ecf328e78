# SPDX-License-Identifier: Apache-2.0
"""The tab Table: the table as read, its first rows, and the risk and role of each column."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import divulge as dv
from divulge.arguments import outside
from divulge.errors import BadInput, DivulgeError
from divulge.options import ROLE_OF_COLUMN, ROLES
from divulge.output import formatting, html
from divulge.studio.session_state import FILE, SessionState
from divulge.studio.tabs.tab import (
    Html,
    Tab,
    button,
    card,
    checkbox,
    common_metrics,
    dropdown,
    el,
    labeled_field,
    share_bar,
    void_element,
)
from divulge.studio.worker import Worker
from divulge.text import visible

_FIRST_ROWS = 12
_LARGEST_FILE_LIST = 40
_READABLE = (
    ".csv",
    ".tsv",
    ".txt",
    ".jsonl",
    ".ndjson",
    ".parquet",
    ".arrow",
    ".feather",
    ".xlsx",
    ".sav",
    ".dta",
    ".sqlite",
    ".db",
    ".duckdb",
    ".deid",
)
_ROLE_LABELS = {"": "no role yet", **{name: role.label for name, role in ROLES.items()}}
_READING_FIELDS = {
    "delimiter": ("between two cells", "of text; \\t is a tab"),
    "decimal": ("decimal sign", "of text: , or ."),
    "encoding": ("encoding", "of text, SPSS and Stata: utf-8, latin-1, ..."),
    "sheet": ("sheet", "of a spreadsheet"),
    "table": ("table", "of a database"),
    "sql": ("or one SELECT", "that a database answers"),
    "as_of": ("version or moment", "of Delta Lake and Iceberg"),
}
"""Text arguments of `dv.read`; an empty one is detected automatically."""
_HEADERS = {"": None, "yes": True, "no": False}
_KINDS = {"number": "numbers", "date": "dates", "boolean": "yes or no", "nested": "lists"}
_MEANINGS = {
    "quasi-identifier": "others may know it of a person: it is made coarser",
    "sensitive": "nobody should learn it: it is published, and nobody's is to be told",
    "identifier": "it names a person: it is not published",
    "left out": "it names nobody, and is not published",
    "as it is": "published as it is",
}


# --- opening tables and policies ------------------------------------------------------------------
def _open_path(worker: Worker, _: str, value: Any) -> SessionState:
    """Open a table by its path, with the policy opened before it or with suggestions."""
    source = str(value).strip()
    if not source:
        raise BadInput(
            "no table is named", hint="give the path of a file, or drop one onto the page"
        )
    path = Path(source).expanduser()
    return _open_table(worker, str(path) if path.exists() else source, path.name or source)


def _open_table(worker: Worker, source: str, name: str) -> SessionState:
    """Open a table with the policy that was opened before it, else with suggestions.

    The reading options stay as they were set.
    """
    if worker.has_table:
        before = SessionState()
    else:
        before = worker.state
    worker.state = SessionState(
        source=source, name=name, reading=before.reading, document=before.document, base=before.base
    )
    _ = worker.table
    if before.document:
        return _expand_patterns(worker, worker.state)
    return _with_suggestions(worker)


def _open_file(worker: Worker, name: str, value: Any) -> SessionState:
    """Open an uploaded file, which the server has stored in the private folder."""
    path = Path(str(value))
    if path.suffix.lower() == ".toml":
        return _open_policy(worker, name, path)
    return _open_table(worker, str(path), name)


def _set_reading_option(worker: Worker, subject: str, value: Any) -> SessionState:
    """Set a reading option, and read an open table again.

    Its roles stay if its columns are the same.
    """
    if subject == "header":
        option_value: Any = _HEADERS.get(str(value))
    elif subject in ("codes", "union_columns"):
        if value:
            option_value = True
        else:
            option_value = None
    elif subject in _READING_FIELDS:
        option_value = str(value).replace("\\t", "\t") or None
    else:
        raise BadInput(f"a table is not read by {subject!r}")
    state = worker.state.with_reading_option(subject, option_value)
    if not worker.has_table:
        return state
    before, worker.state = worker.table.names, state
    if worker.table.names == before:
        return state
    return _with_suggestions(worker)


def _open_policy(worker: Worker, name: str, value: Any) -> SessionState:
    try:
        text = Path(str(value)).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:  # ValueError: not UTF-8, or not a path at all
        raise BadInput(
            f"{name or value} cannot be read as a policy file: {outside(error)}"
        ) from None
    worker.redraw_controls = True
    return _expand_patterns(
        worker,
        worker.state.with_policy_text(text, base="" if name else str(Path(str(value)).parent)),
    )


def _expand_patterns(worker: Worker, state: SessionState) -> SessionState:
    """Replace patterns of a policy (zip*) by the matching columns, if a table is open."""
    if worker.has_table:
        return state.expand_patterns(worker.table.names)
    return state


def _open_demo(worker: Worker, *_: Any) -> SessionState:
    """Open the patients of the demo with the policy of their hospital."""
    import pyarrow.csv

    worker.begin_step("inventing 20,000 patients")
    folder = Path(worker.folder) / "demo"
    folder.mkdir(exist_ok=True)
    pyarrow.csv.write_csv(dv.datasets.patients(), folder / "patients.csv")
    return (
        SessionState(source=str(folder / "patients.csv"), name="patients.csv")
        .with_policy_text(dv.datasets.POLICY)
        .with_suppression(0.01)
    )


def _with_suggestions(worker: Worker) -> SessionState:
    """Return the state with the roles of a profile and the two most common requirements."""
    roles = _suggested_roles(worker)
    state = worker.state.with_roles(roles)
    for metric, bound in zip(common_metrics(), (5, 2), strict=False):
        if metric.scope == "identity" or roles["sensitive"]:
            state = state.with_requirement(metric.name, bound)
    return state


def _suggested_roles(worker: Worker) -> dict[str, list[str]]:
    columns_by_role: dict[str, list[str]] = defaultdict(list)
    for column in _profile(worker):
        role = ROLE_OF_COLUMN[column.role]
        columns_by_role[
            "identifier" if role == "person" and columns_by_role["person"] else role
        ].append(column.column)
    return columns_by_role


def _profile(worker: Worker) -> Any:
    def profile_table() -> Any:
        table = worker.table
        worker.begin_step("looking at each column")
        return dv.profile(table)

    return worker.cached("profile", profile_table)


def _set_role(worker: Worker, subject: str, value: Any) -> SessionState:
    # a pattern such as "*" would assign the old role again
    if value:
        state = worker.state
    else:
        state = worker.state.expand_patterns(worker.table.names, rest=True)
    return state.with_role(subject, str(value))


def _unknown_columns(worker: Worker) -> list[str]:
    """Return the columns that the policy names but the table lacks."""
    return [name for name in worker.state.named_columns if name not in worker.table.names]


def _remove_unknown_columns(worker: Worker, *_: Any) -> SessionState:
    unknown_names = _unknown_columns(worker)
    columns_by_role = {
        role: [name for name in worker.state.names(role) if name not in unknown_names]
        for role in ROLES
    }
    return worker.state.with_roles(columns_by_role)


def _take_suggestions(worker: Worker, *_: Any) -> SessionState:
    return worker.state.with_roles(_suggested_roles(worker))


def _drop_rest(worker: Worker, *_: Any) -> SessionState:
    """Drop every column without a role."""
    state = worker.state
    for name in worker.table.names:
        if not state.role_of(name):
            state = state.with_role(name, "leave_out")
    return state


def _close_table(worker: Worker, *_: Any) -> SessionState:
    worker.redraw_controls = True
    return SessionState()


# --- view -----------------------------------------------------------------------------------------
def show(worker: Worker, changed: bool) -> None:  # noqa: FBT001 - as in every tab
    """Show the table, or how to open one."""
    if not worker.has_table:
        if not changed:  # text that the user has typed stays
            _show_opening(worker)
        return
    try:
        table = worker.table
        state = worker.state
    except (DivulgeError, OSError):
        _show_opening(worker)  # the file may have been removed since it was opened
        raise
    worker.send(head=f"{state.name} · {worker.row_count:,} rows")
    profile = state.invocation("profile", policy=False)
    worker.send_equivalents(profile.as_command(), f"print({profile.as_python()})")
    worker.put_part("controls", *_controls(worker))
    heading = el("h1", "Who knows what?")
    sentence = (
        "A column that others may know finds a person; a sensitive one is what they would learn. "
        "Say which is which."
    )
    if table.reading.notes:
        notes = html.bullets(*(f"{worker.reworded(note)}." for note in table.reading.notes))
    else:
        notes = None
    parts = (
        heading,
        el("p", sentence, class_="verdict"),
        _unknown_columns_warning(worker),
        _tiles(worker),
        notes,
    )
    worker.put_part("view", *parts, _columns_card(worker), _first_rows_card(worker, table))


def _unknown_columns_warning(worker: Worker) -> Html | None:
    if not (unknown_names := _unknown_columns(worker)):
        return None
    if len(unknown_names) > 1:
        sentence = f"{len(unknown_names)} columns that the policy names are not in this table: "
    else:
        sentence = ""
    sentence = sentence or "A column that the policy names is not in this table: "
    remove_button = button(
        "strangers",
        "Take them out of the policy" if len(unknown_names) > 1 else "Take it out of the policy",
    )
    return el(
        "div",
        row_html(el("p", sentence, html.value(", ".join(unknown_names)), "."), remove_button),
        class_="card warn",
    )


def _show_opening(worker: Worker) -> None:
    worker.send(head="no table is open")
    worker.send_equivalents("divulge studio TABLE")
    worker.put_part("controls")
    path = void_element(
        "input",
        type="text",
        name="path",
        id="path",
        placeholder="patients.csv",
        spellcheck="false",
        autocomplete="off",
    )
    form = el(
        "div",
        labeled_field("Path of a table", path),
        button("open", "Open", subject="path", main=True),
        class_="row",
    )
    format_list = (
        "CSV, JSON lines, Parquet, Arrow, Excel, SPSS, Stata, SQLite, DuckDB, an ARX project, a "
        "folder of files, "
    )
    format_list += "a lakehouse, or an address: postgresql://, https://, s3://."
    files = [el("li", button("open", html.value(name), value=name)) for name in _files_here()]
    if files:
        files_card = el(
            "div", el("h2", "In this folder"), el("ul", *files, class_="files"), class_="card"
        )
    else:
        files_card = None
    demo = row_html(
        el(
            "div",
            el("b", "Nothing at hand?"),
            el("p", "20,000 invented patients, and what their hospital promises."),
        ),
        button("demo", "Try it with them"),
    )
    sentence = "Open it: it stays on this machine, and nothing is sent anywhere."
    if worker.state.document:
        sentence = "The policy is here; now open the table that it is about."
    worker.put_part(
        "view",
        el("h1", "What does your table tell about the people in it?"),
        el("p", sentence, class_="verdict"),
        el(
            "div",
            form,
            el("p", format_list, class_="lead"),
            _reading_controls(worker.state),
            _drop_zone(),
            class_="card",
        ),
        files_card,
        el("div", demo, class_="card"),
    )


def row_html(*parts: Any) -> Html:
    """Return parts next to each other, the last at the end of the line."""
    return el("div", *parts, class_="row apart")


def _drop_zone(label: str = f"or drop a file here, a table up to 200 MB or a {FILE}") -> Html:
    return el(
        "label",
        label,
        void_element("input", type="file", name="file", class_="unseen"),
        class_="drop",
    )


def _reading_controls(state: SessionState) -> Html:
    """Return the controls of the reading options."""

    def field(name: str, label: str, small: str) -> Html:
        value = str(state.reading.get(name, "")).replace("\t", "\\t")
        input_field = void_element(
            "input",
            type="text",
            name="read",
            data_of=name,
            value=value,
            spellcheck="false",
            autocomplete="off",
        )
        return labeled_field(label, input_field, small=small)

    fields = [field(name, *texts) for name, texts in _READING_FIELDS.items()]
    chosen = next(key for key, value in _HEADERS.items() if value is state.reading.get("header"))
    options = (
        ("", "is found out"),
        ("yes", "holds the names of columns"),
        ("no", "is a row like the others"),
    )
    fields.insert(
        3, labeled_field("the first line", dropdown("read", options, chosen, subject="header"))
    )
    codes = checkbox(
        "read",
        "codes of SPSS and Stata instead of labels",
        on="codes" in state.reading,
        subject="codes",
    )
    union = checkbox(
        "read",
        "nulls where one of several files lacks a column",
        on="union_columns" in state.reading,
        subject="union_columns",
    )
    if state.reading:
        head = f"How it is read: {', '.join(state.reading)}"
    else:
        head = "How it is read: found out"
    return el(
        "details",
        el("summary", head),
        *fields,
        codes,
        union,
        open="open" if state.reading else None,
    )


def _files_here() -> list[str]:
    names = (
        path.name
        for path in Path().iterdir()
        if path.suffix.lower() in _READABLE and path.is_file()
    )
    return sorted(names)[:_LARGEST_FILE_LIST]


def _controls(worker: Worker) -> Iterator[Html]:
    state = worker.state
    yield el("h2", "Table")
    yield el(
        "p",
        html.value(state.name),
        el("small", f"{worker.row_count:,} rows, {len(worker.table.names)} columns"),
    )
    yield _reading_controls(state)
    yield checkbox("hidden", "hide the values", on=state.hidden)
    yield button("close", "Open another table")
    yield el("h2", "Roles")
    yield button("suggest", "Take all suggestions")
    if any(not state.role_of(name) for name in worker.table.names):
        yield button("rest", "Leave out what has no role")
    yield html.definitions(_MEANINGS)
    yield el("h2", "Policy")
    yield _drop_zone(f"drop a {FILE} here, or another table")


def _tiles(worker: Worker) -> Html:
    state = worker.state
    counts = {
        role: sum(state.role_of(name) == role for name in worker.table.names)
        for role in ("quasi_identifiers", "sensitive", "")
    }
    return html.tiles(
        html.tile(f"{worker.row_count:,}", "rows"),
        html.tile(f"{len(worker.table.names):,}", "columns"),
        html.tile(f"{counts['quasi_identifiers']}", "that others may know (quasi-identifiers)"),
        html.tile(f"{counts['sensitive']}", "that nobody should learn (sensitive)"),
        *([html.tile(f"{counts['']}", "without a role", bad=True)] if counts[""] else []),
    )


def _columns_card(worker: Worker) -> Html:
    rows = [
        _column_row(worker, column_index, column)
        for column_index, column in enumerate(_profile(worker))
    ]
    head = ("column", "role", "why this is suggested", "tells who it is", "values", "empty")
    table_html = html.rows_of_parts(
        head, rows, caption="Each column, its role, and what it tells", numbers=[4, 5]
    )
    if _profile(worker).notes:
        notes = html.bullets(*(f"{worker.reworded(note)}." for note in _profile(worker).notes))
    else:
        notes = None
    lead = (
        "How much a column alone tells who somebody is: the share of the bits that name a person "
        "(discrimination rate)."
    )
    return card("Columns", el("div", table_html, class_="scroll", tabindex="0"), notes, lead=lead)


def _column_row(worker: Worker, column_index: int, column: Any) -> Html:
    role = worker.state.role_of(column.column)
    suggested = ROLE_OF_COLUMN[column.role]
    options = [
        (key, f"{words} (suggested)" if key == suggested and key != role else words)
        for key, words in _ROLE_LABELS.items()
    ]
    name = visible(column.column)
    chosen = dropdown("role", options, role, subject=column.column, label=f"role of {name}")
    share = column.discrimination_rate
    return el(
        "tr",
        el("th", html.value(column.column), el("small", _column_kind(worker, column)), scope="row"),
        el("td", chosen, class_="role"),
        el("td", column.reason, class_="why"),
        el("td", share_bar(share, f"{formatting.percent(share)} of the bits"), class_="wide"),
        el("td", f"{column.distinct:,}", class_="num"),
        el("td", f"{column.nulls:,}", class_="num"),
        id=f"column-{column_index}",
    )


def _column_kind(worker: Worker, column: Any) -> Html:
    """Return the kind of the column's values; the engine's type is shown on hover."""
    kind = worker.table.column(column.column).kind
    return el("span", _KINDS.get(kind, kind), title=column.type.lower())


def _first_rows_card(worker: Worker, table: Any) -> Html:
    if worker.state.hidden:
        return card("First rows", el("p", "The values are hidden.", class_="lead"))
    first_rows = worker.cached(
        "first rows",
        lambda: table.engine.query(f"SELECT * FROM {table.relation} LIMIT {_FIRST_ROWS}"),
    )
    rows = [
        ["" if cell is None else str(cell) for cell in row.values()]
        for row in first_rows.to_pylist()
    ]
    return card(
        "First rows", html.table([html.value(name) for name in first_rows.column_names], rows)
    )


TAB = Tab(
    "table",
    "Table",
    show,
    {
        "open": _open_path,
        "file": _open_file,
        "read": _set_reading_option,
        "policy": _open_policy,
        "demo": _open_demo,
        "role": _set_role,
        "suggest": _take_suggestions,
        "rest": _drop_rest,
        "strangers": _remove_unknown_columns,
        "close": _close_table,
        "hidden": lambda worker, _, value: replace(worker.state, hidden=bool(value)),
    },
)
