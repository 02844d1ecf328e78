# SPDX-License-Identifier: Apache-2.0
"""Table: what was read, its first rows, what each column tells by itself, and the role of each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import divulge as dv
from divulge import values
from divulge.errors import BadInput, DivulgeError
from divulge.studio.desk import Desk, in_words
from divulge.studio.places.place import (
    Html,
    Place,
    button,
    card,
    choice,
    el,
    labelled,
    meter,
    tick,
    usual_metrics,
    void,
)
from divulge.studio.work import FILE, ROLES, TABLE, Work
from divulge.views import html, words

_FIRST_ROWS = 12
_MOST_FILES = 40
_READABLE = (
    ".csv", ".tsv", ".txt", ".jsonl", ".ndjson", ".parquet", ".arrow", ".feather", ".xlsx", ".sav", ".dta", ".sqlite", ".db",
    ".duckdb", ".deid",
)  # fmt: skip
_ROLES = (
    ("", "no role yet"),
    ("quasi_identifiers", "quasi-identifier"),
    ("sensitive", "sensitive"),
    ("identifier", "identifier"),
    ("leave_out", "left out"),
    ("plain", "as it is"),
    ("person", "whose row it is"),
    ("weight", "survey weight"),
)
_READ_SO = {
    "delimiter": ("between two cells", "of text; \\t is a tab"),
    "decimal": ("decimal sign", "of text: , or ."),
    "encoding": ("encoding", "of text, SPSS and Stata: utf-8, latin-1, ..."),
    "sheet": ("sheet", "of a spreadsheet"),
    "table": ("table", "of a database"),
    "sql": ("or one SELECT", "that a database answers"),
    "as_of": ("version or moment", "of Delta Lake and Iceberg"),
}
"""Arguments of dv.read that are texts; what nobody says is found out."""
_HEADERS = {"": None, "yes": True, "no": False}
_KINDS = {"number": "numbers", "date": "dates", "boolean": "yes or no", "nested": "lists"}
_IN_POLICIES = {"quasi_identifier": "quasi_identifiers"}
_MEANINGS = {
    "quasi-identifier": "others may know it of a person: it is made coarser",
    "sensitive": "nobody should learn it: it is published, and nobody's is to be told",
    "identifier": "it names a person: it is not published",
    "left out": "it names nobody, and is not published",
    "as it is": "published as it is",
}


# --- opening ----------------------------------------------------------------------------------------------------------
def _open(desk: Desk, _: str, value: Any) -> Work:
    """A table by its path; roles and promises are suggested unless a policy lies beside it."""
    source = str(value).strip()
    if not source:
        raise BadInput("no table is named", hint="give the path of a file, or drop one onto the page")
    path = Path(source).expanduser()
    return _opened(desk, str(path) if path.exists() else source, path.name or source)


def _opened(desk: Desk, source: str, name: str) -> Work:
    """A table with the policy that was opened before it, else with what suits it; read as was said before."""
    before = Work() if desk.is_open else desk.work
    desk.work = Work(source=source, name=name, reading=before.reading, document=before.document, base=before.base)
    _ = desk.table
    return _spread(desk, desk.work) if before.document else _with_suggestions(desk)


def _open_file(desk: Desk, name: str, value: Any) -> Work:
    """A file that was dropped onto the page, which the server has put into the private folder."""
    path = Path(str(value))
    if path.suffix.lower() == ".toml":
        return _open_policy(desk, name, path)
    return _opened(desk, str(path), name)


def _read_so(desk: Desk, of: str, value: Any) -> Work:
    """How the table is read; one that is open is read anew, and keeps its roles where its columns stay."""
    if of == "header":
        said: Any = _HEADERS.get(str(value))
    elif of == "codes":
        said = True if value else None
    elif of in _READ_SO:
        said = str(value).replace("\\t", "\t") or None
    else:
        raise BadInput(f"a table is not read by {of!r}")
    work = desk.work.read_otherwise(of, said)
    if not desk.is_open:
        return work
    before, desk.work = desk.table.names, work
    return work if desk.table.names == before else _with_suggestions(desk)


def _open_policy(desk: Desk, name: str, value: Any) -> Work:
    try:
        text = Path(str(value)).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:  # also what is not UTF-8, or no path at all
        raise BadInput(f"{name or value} cannot be read as a policy file: {error}") from None
    desk.afresh = True
    return _spread(desk, desk.work.opening(text, base="" if name else str(Path(str(value)).parent)))


def _spread(desk: Desk, work: Work) -> Work:
    """Columns that a policy names by a pattern (zip*) are named one by one, as soon as the table is there."""
    return work.spread(desk.table.names) if desk.is_open else work


def _open_demo(desk: Desk, *_: Any) -> Work:
    """The patients of the demo, and the policy of their hospital."""
    import pyarrow.csv

    desk.progress("inventing 20,000 patients")
    folder = Path(desk.folder) / "demo"
    folder.mkdir(exist_ok=True)
    pyarrow.csv.write_csv(dv.datasets.patients(), folder / "patients.csv")
    return (
        Work(source=str(folder / "patients.csv"), name="patients.csv")
        .opening(dv.datasets.POLICY)
        .with_suppression(0.01)
    )


def _with_suggestions(desk: Desk) -> Work:
    """The roles that a profile suggests, and the two promises that are made most often."""
    roles = _suggested(desk)
    work = desk.work.with_roles(roles)
    for metric, bound in zip(usual_metrics(), (5, 2), strict=False):
        if metric.scope == "identity" or roles["sensitive"]:
            work = work.with_promise(metric.name, bound)
    return work


def _suggested(desk: Desk) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for column in _profile(desk):
        role = _IN_POLICIES.get(column.role, column.role)
        found["identifier" if role == "person" and found["person"] else role].append(column.column)
    return found


def _profile(desk: Desk) -> Any:
    def looked() -> Any:
        table = desk.table
        desk.progress("looking at each column")
        return dv.profile(table)

    return desk.once("profile", looked)


def _set_role(desk: Desk, of: str, value: Any) -> Work:
    work = desk.work if value else desk.work.spread(desk.table.names, rest=True)  # "*" would give it its role again
    return work.with_role(of, str(value))


def _strangers(desk: Desk) -> list[str]:
    """Columns that the policy names and the table does not have."""
    return [name for name in desk.work.named if name not in desk.table.names]


def _forget_strangers(desk: Desk, *_: Any) -> Work:
    strange = _strangers(desk)
    kept = {role: [name for name in desk.work.names(role) if name not in strange] for role in ROLES}
    return desk.work.with_roles(kept)


def _suggest(desk: Desk, *_: Any) -> Work:
    return desk.work.with_roles(_suggested(desk))


def _rest_left_out(desk: Desk, *_: Any) -> Work:
    """Every column without a role is left out."""
    work = desk.work
    for name in desk.table.names:
        work = work if work.role_of(name) else work.with_role(name, "leave_out")
    return work


def _close(desk: Desk, *_: Any) -> Work:
    desk.afresh = True
    return Work()


# --- showing ----------------------------------------------------------------------------------------------------------
def show(desk: Desk, changed: bool) -> None:  # noqa: FBT001 - as every place
    """The table, or how to open one."""
    if not desk.is_open:
        if not changed:  # what was typed stays
            _show_opening(desk)
        return
    try:
        table, work = desk.table, desk.work
    except (DivulgeError, OSError):
        _show_opening(desk)  # the file may have gone since it was opened
        raise
    desk.say(head=f"{work.name} · {desk.rows:,} rows")
    desk.same_as(work.command("profile", policy=False), f"table = dv.read({TABLE})", "print(dv.profile(table))")
    desk.put("controls", *_controls(desk))
    heading = el("h1", "Who knows what?")
    told = "A column that others may know finds a person; a sensitive one is what they would learn. Say which is which."
    notes = html.bullets(*(f"{in_words(note)}." for note in table.reading.notes)) if table.reading.notes else None
    parts = (heading, el("p", told, class_="verdict"), _other_columns(desk), _tiles(desk), notes)
    desk.put("view", *parts, _columns(desk), _rows(desk, table))


def _other_columns(desk: Desk) -> Html | None:
    if not (strange := _strangers(desk)):
        return None
    told = f"{len(strange)} columns that the policy names are not in this table: " if len(strange) > 1 else ""
    told = told or "A column that the policy names is not in this table: "
    taken = button("strangers", "Take them out of the policy" if len(strange) > 1 else "Take it out of the policy")
    return el("div", joined_row(el("p", told, html.value(", ".join(strange)), "."), taken), class_="card warn")


def _show_opening(desk: Desk) -> None:
    desk.say(head="no table is open")
    desk.same_as("divulge studio TABLE")
    desk.put("controls")
    path = void(
        "input", type="text", name="path", id="path", placeholder="patients.csv", spellcheck="false", autocomplete="off"
    )
    form = el("div", labelled("Path of a table", path), button("open", "Open", of="path", main=True), class_="row")
    kinds = "CSV, JSON lines, Parquet, Arrow, Excel, SPSS, Stata, SQLite, DuckDB, an ARX project, a folder of files, "
    kinds += "a lakehouse, or an address: postgresql://, https://, s3://."
    files = [el("li", button("open", html.value(name), value=name)) for name in _files_here()]
    here = el("div", el("h2", "In this folder"), el("ul", *files, class_="files"), class_="card") if files else None
    demo = joined_row(
        el("div", el("b", "Nothing at hand?"), el("p", "20,000 invented patients, and what their hospital promises.")),
        button("demo", "Try it with them"),
    )
    told = "Open it: it stays on this machine, and nothing is sent anywhere."
    if desk.work.document:
        told = "The policy is here; now open the table that it is about."
    desk.put(
        "view",
        el("h1", "What does your table tell about the people in it?"),
        el("p", told, class_="verdict"),
        el("div", form, el("p", kinds, class_="lead"), _reading(desk.work), _dropping(), class_="card"),
        here,
        el("div", demo, class_="card"),
    )


def joined_row(*parts: Any) -> Html:
    """Parts beside each other, the last at the end of the line."""
    return el("div", *parts, class_="row apart")


def _dropping(told: str = f"or drop a file here, a table up to 200 MB or a {FILE}") -> Html:
    return el("label", told, void("input", type="file", name="file", class_="unseen"), class_="drop")


def _reading(work: Work) -> Html:
    """What may be said about how a table is read."""

    def field(name: str, told: str, small: str) -> Html:
        value = str(work.reading.get(name, "")).replace("\t", "\\t")
        given = void(
            "input", type="text", name="read", data_of=name, value=value, spellcheck="false", autocomplete="off"
        )
        return labelled(told, given, small=small)

    fields = [field(name, *told) for name, told in _READ_SO.items()]
    chosen = next(key for key, value in _HEADERS.items() if value is work.reading.get("header"))
    options = (("", "is found out"), ("yes", "holds the names of columns"), ("no", "is a row like the others"))
    fields.insert(3, labelled("the first line", choice("read", options, chosen, of="header")))
    codes = tick("read", "codes of SPSS and Stata instead of labels", on="codes" in work.reading, of="codes")
    head = f"How it is read: {', '.join(work.reading)}" if work.reading else "How it is read: found out"
    return el("details", el("summary", head), *fields, codes, open="open" if work.reading else None)


def _files_here() -> list[str]:
    found = (path.name for path in Path().iterdir() if path.suffix.lower() in _READABLE and path.is_file())
    return sorted(found)[:_MOST_FILES]


def _controls(desk: Desk) -> Iterator[Html]:
    work = desk.work
    yield el("h2", "Table")
    yield el("p", html.value(work.name), el("small", f"{desk.rows:,} rows, {len(desk.table.names)} columns"))
    yield _reading(work)
    yield tick("hidden", "hide the values", on=work.hidden)
    yield button("close", "Open another table")
    yield el("h2", "Roles")
    yield button("suggest", "Take all suggestions")
    if any(not work.role_of(name) for name in desk.table.names):
        yield button("rest", "Leave out what has no role")
    yield html.definitions(_MEANINGS)
    yield el("h2", "Policy")
    yield _dropping(f"drop a {FILE} here, or another table")


def _tiles(desk: Desk) -> Html:
    work = desk.work
    counts = {
        role: sum(work.role_of(name) == role for name in desk.table.names)
        for role in ("quasi_identifiers", "sensitive", "")
    }
    return html.tiles(
        html.tile(f"{desk.rows:,}", "rows"),
        html.tile(f"{len(desk.table.names):,}", "columns"),
        html.tile(f"{counts['quasi_identifiers']}", "that others may know (quasi-identifiers)"),
        html.tile(f"{counts['sensitive']}", "that nobody should learn (sensitive)"),
        *([html.tile(f"{counts['']}", "without a role", bad=True)] if counts[""] else []),
    )


def _columns(desk: Desk) -> Html:
    rows = [_column(desk, place, column) for place, column in enumerate(_profile(desk))]
    head = ("column", "role", "why this is suggested", "tells who it is", "values", "empty")
    shown = html.rows_of_parts(head, rows, caption="Each column, its role, and what it tells", numbers=[4, 5])
    notes = html.bullets(*(f"{note}." for note in _profile(desk).notes)) if _profile(desk).notes else None
    lead = (
        "How much a column alone tells who somebody is: the share of the bits that name a person (discrimination rate)."
    )
    return card("Columns", el("div", shown, class_="scroll", tabindex="0"), notes, lead=lead)


def _column(desk: Desk, place: int, column: Any) -> Html:
    role = desk.work.role_of(column.column)
    suggested = _IN_POLICIES.get(column.role, column.role)
    options = [(key, f"{words} (suggested)" if key == suggested and key != role else words) for key, words in _ROLES]
    name = values.visible(column.column)
    chosen = choice("role", options, role, of=column.column, label=f"role of {name}")
    share = column.discrimination_rate
    return el(
        "tr",
        el("th", html.value(column.column), el("small", _kind(desk, column)), scope="row"),
        el("td", chosen, class_="role"),
        el("td", column.reason, class_="why"),
        el("td", meter(share, f"{words.percent(share)} of the bits"), class_="wide"),
        el("td", f"{column.distinct:,}", class_="num"),
        el("td", f"{column.nulls:,}", class_="num"),
        id=f"column-{place}",
    )


def _kind(desk: Desk, column: Any) -> Html:
    """What its values are, in a word; the engine's type for whoever points at it."""
    kind = desk.table.column(column.column).kind
    return el("span", _KINDS.get(kind, kind), title=column.type.lower())


def _rows(desk: Desk, table: Any) -> Html:
    if desk.work.hidden:
        return card("First rows", el("p", "The values are hidden.", class_="lead"))
    found = desk.once("first rows", lambda: table.engine.query(f"SELECT * FROM {table.relation} LIMIT {_FIRST_ROWS}"))
    rows = [["" if cell is None else str(cell) for cell in row.values()] for row in found.to_pylist()]
    return card("First rows", html.table([html.value(name) for name in found.column_names], rows))


PLACE = Place(
    "table",
    "Table",
    show,
    {
        "open": _open,
        "file": _open_file,
        "read": _read_so,
        "policy": _open_policy,
        "demo": _open_demo,
        "role": _set_role,
        "suggest": _suggest,
        "rest": _rest_left_out,
        "strangers": _forget_strangers,
        "close": _close,
        "hidden": lambda desk, _, value: replace(desk.work, hidden=bool(value)),
    },
)
