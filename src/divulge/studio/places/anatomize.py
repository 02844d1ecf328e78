# SPDX-License-Identifier: Apache-2.0
"""Anatomize: the other way to publish, values as they are in groups, beside the generalized release at the same protection."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import divulge as dv
from divulge import charts
from divulge.errors import BadInput
from divulge.studio.desk import Desk
from divulge.studio.places.place import (
    Html,
    Place,
    button,
    card,
    choice,
    el,
    labelled,
    needs_table,
    tick,
    void,
    whole_given,
)
from divulge.studio.places.promises import released
from divulge.studio.work import POLICY, TABLE, Work, role_flags
from divulge.views import html, summary, words

_NAME = "anatomize"
_FIRST_ROWS = 6
_BOUNDS = {
    "beta": "the commonest sensitive value in a group, at most",
    "alpha": "the commonest values of a table in a group, at most",
    "gamma": "the commonest combination over all tables, at most",
    "delta": "how far the share of a sensitive value may move",
}
_SHARES = ("1/2", "1/3", "1/4", "1/5", "1/6", "1/8", "1/10", "1/20")
_MOST_TABLES = 4
_FOLDER = "anatomized"


# --- what controls do -------------------------------------------------------------------------------------------------
def _bound(desk: Desk, of: str, value: Any) -> Work:
    if of not in _BOUNDS:
        raise BadInput(f"there is no bound {of!r}", hint=f"there are: {', '.join(_BOUNDS)}")
    return desk.work.with_argument(_NAME, of, str(value))


def _tables(desk: Desk, _: str, value: Any) -> Work:
    return desk.work.with_argument(_NAME, "tables", whole_given(value) if value else None)


def _locality(desk: Desk, _: str, value: Any) -> Work:
    return desk.work.with_argument(_NAME, "locality", True if value else None)


def _about(desk: Desk, _: str, value: Any) -> Work:
    desk.afresh = True
    return desk.work.with_argument(_NAME, "about", str(value))


def _condition(desk: Desk, _: str, value: Any) -> Work:
    return desk.work.with_argument(_NAME, "condition", str(value).strip())


def _out(desk: Desk, _: str, value: Any) -> Work:
    return desk.work.with_argument(_NAME, "out", str(value).strip())


def _publish(desk: Desk, *_: Any) -> None:
    """Write, read back, work out the levels again."""
    folder = Path(desk.work.argument(_NAME, "out", _FOLDER)).expanduser()
    release = anatomized(desk)
    desk.progress("writing the tables, reading them back and working out the levels again")
    release.write(folder)
    desk.say(published=str(folder))
    written = [[el("code", str(path)), "handed out"] for path in sorted(folder.rglob("*")) if path.is_file()]
    told = el("p", "The tables were written, read back from the disk, and keep every bound.")
    chip = html.joined((html.chip("ok", "published"), " and verified"))
    desk.put("done", card(chip, told, html.table(("file", "what it is"), written)))


# --- what the library says --------------------------------------------------------------------------------------------
def _names(work: Work, role: str) -> list[str]:
    names = work.policy.roles.get(role) or []
    return [names] if isinstance(names, str) else list(names)


def _roles(work: Work) -> dict[str, Any]:
    """As dv.anatomize takes them; a column that is published as it is has no group to hide in, and is left out."""
    taken = {role: _names(work, role) for role in ("quasi_identifiers", "sensitive", "identifier", "leave_out")}
    return {role: names for role, names in taken.items() if names}


def _of_release(desk: Desk) -> str:
    """The largest share of a sensitive value that what Promises would publish leaves in a class, rounded up; empty: nothing is promised."""
    if not _promises_something(desk.work):
        return ""
    found = released(desk).after.sensitive
    return f"{math.ceil(max(scores['alpha'].value for scores in found.values()) * 1e4) / 1e4:g}"


def _promises_something(work: Work) -> bool:
    return bool(work.policy.promises or work.policy.protections)


def arguments(desk: Desk) -> dict[str, Any]:
    """Of dv.anatomize, beside the roles."""
    given = {name: desk.work.argument(_NAME, name) for name in (*_BOUNDS, "tables", "locality")}
    given["beta"] = given["beta"] or _of_release(desk) or _SHARES[0]
    return {name: value for name, value in given.items() if value is not None}


def anatomized(desk: Desk) -> Any:
    """The tables and groups that keep the bounds."""
    asked = arguments(desk)

    def grouped() -> Any:
        desk.progress("dividing columns into tables, and records into groups")
        return dv.anatomize(desk.table, **_roles(desk.work), **asked)

    return desk.by_policy("anatomized", grouped, about=json.dumps(asked))


def _sides(desk: Desk, about: str) -> Any:
    """Anatomized and generalized at the same bound, all asked the same queries."""
    work, asked, roles = desk.work, arguments(desk), _roles(desk.work)
    rules = dict(work.policy.hierarchies) or None
    tables = asked.get("tables", min(2, len(roles["quasi_identifiers"])))

    def compared() -> Any:
        desk.progress("asking four releases a thousand queries")
        return dv.papers.side_by_side(
            desk.table,
            sensitive=about,
            beta=asked["beta"],
            quasi_identifiers=roles["quasi_identifiers"],
            hierarchies=rules,
            suppression=work.policy.suppression,
            tables=tables,
        )

    return desk.by_policy("sides", compared, "promises", "protect", about=(about, asked["beta"], tables))


def _generalized(desk: Desk) -> Any:
    """What Promises would publish, in the private folder, to be asked."""
    release = released(desk)

    def opened() -> Any:
        folder = Path(desk.folder) / f"asked-{len(list(Path(desk.folder).glob('asked-*')))}"
        desk.progress("opening what Promises would publish")
        release.write(folder)
        return dv.open_release(folder)

    return desk.by_policy("opened", opened)


def _truth(desk: Desk) -> Any:
    """The table itself: one table, which answers exactly."""

    def opened() -> Any:
        roles = _roles(desk.work)
        rows = desk.table.engine.query(f"SELECT 1 AS GID, * FROM {desk.table.relation}")
        return dv.open_release([rows.select(["GID", *roles["quasi_identifiers"], *roles["sensitive"]])])

    return desk.by_policy("truth to ask", opened, "promises", "protect", "suppression", "hierarchies")


# --- the same without the page ----------------------------------------------------------------------------------------
def told_command(desk: Desk, asked: dict[str, Any]) -> tuple[str, str, str]:
    """The command that writes the tables, the Python that makes them, and their folder."""
    work, roles = desk.work, _roles(desk.work)
    flags = role_flags(roles)
    flags += [
        part
        for name, value in asked.items()
        for part in ([f"--{name}"] if value is True else [f"--{name}", str(value)])
    ]
    out = work.argument(_NAME, "out", _FOLDER)
    more = "".join(f", {name}={value!r}" for name, value in {**roles, **asked}.items())
    return work.command("anatomize", *flags, "--out", out, policy=False), f"dv.anatomize({TABLE}{more})", out


def _tell_same(desk: Desk, asked: dict[str, Any]) -> None:
    work, condition = desk.work, desk.work.argument(_NAME, "condition", "")
    made, program, out = told_command(desk, asked)
    lines, python = [made], [f"release = {program}", f"release.write({out!r})"]
    if condition:
        lines.append(shlex.join(["divulge", "query", out, condition]))
        python.append(f"print(dv.query({out!r}, {condition!r}))")
        if _promises_something(work):
            lines += [
                work.command("generalize", "--out", work.target),
                shlex.join(["divulge", "query", work.target, condition]),
            ]
            python.append(f"dv.generalize({TABLE}, policy={POLICY}).write({work.target!r})")
            python.append(f"print(dv.query({work.target!r}, {condition!r}))")
    desk.same_as("\n".join(lines), *python)


# --- controls ---------------------------------------------------------------------------------------------------------
def _controls(desk: Desk) -> Iterator[Html]:
    work, of_release = desk.work, _of_release(desk)
    yield el("h2", "Every group keeps")
    for name, told in _BOUNDS.items():
        nothing = "no bound"
        if name == "beta":
            nothing = f"{of_release}, as on Promises" if of_release else _SHARES[0]
        chosen = work.argument(_NAME, name, "")
        options = [("", nothing), *((each, each) for each in _SHARES if each != nothing)]
        yield labelled(f"{name}: {told}", choice("bound", options, chosen, of=name))
    yield el("h2", "How")
    tables = [("", "two, if there are two columns"), *((str(n), str(n)) for n in range(1, _MOST_TABLES + 1))]
    yield labelled("tables of quasi-identifiers", choice("tables", tables, str(work.argument(_NAME, "tables", ""))))
    yield tick("locality", "group records that are alike", on=bool(work.argument(_NAME, "locality")))
    yield el("p", "The same bounds, and better answers.", class_="lead")
    if len(_names(work, "sensitive")) > 1:
        names = [(name, html.value(name)) for name in _names(work, "sensitive")]
        yield labelled("compared for", choice("about", names, _compared_for(work)))
    yield el("h2", "Into a folder")
    out = void("input", type="text", name="out", value=work.argument(_NAME, "out", _FOLDER), spellcheck="false")
    yield labelled("folder of the tables", out, small=f"in {Path.cwd()}")
    yield button("publish", "Publish these tables", main=True)


def _compared_for(work: Work) -> str:
    names = _names(work, "sensitive")
    asked = work.argument(_NAME, "about", "")
    return asked if asked in names else names[0]


# --- the view ---------------------------------------------------------------------------------------------------------
def show(desk: Desk, changed: bool) -> None:  # noqa: FBT001 - as every place
    """What groups leave, what is handed out, the comparison, and a question to both."""
    if not needs_table(desk):
        return
    work = desk.work
    desk.say(head=f"{work.name} · {desk.rows:,} rows")
    if not _names(work, "sensitive") or not _names(work, "quasi_identifiers"):
        desk.same_as("divulge anatomize TABLE --sensitive COLUMN --beta 1/4 --out anatomized")
        raise BadInput(
            "groups hide which sensitive value belongs to whom, and no column is sensitive, or none a quasi-identifier",
            hint="say on the tab Table which is which",
        )
    if not changed:
        desk.put("controls", *_controls(desk))
        desk.put("view", *(el("div", id=each) for each in ("done", "groups", "ask", "sides")))
    asked = arguments(desk)
    _tell_same(desk, asked)
    release = anatomized(desk)
    desk.put("groups", *_groups(desk, release))
    desk.put("ask", _ask(desk, release))
    desk.put("sides", _side_by_side(desk))


def _groups(desk: Desk, release: Any) -> Iterator[Html]:
    lines = summary.lines_of_levels(release.model, release.levels)
    yield el("h1", "The other way to publish")
    yield el("p", summary.in_groups(release), summary.kept(lines), class_="verdict")
    yield html.joined((summary.group_tiles(release),))
    lead = "Every value stays as it is. A row of one table belongs to a row of another only by their group, so who has which is not told."
    if not desk.work.hidden:
        tables = [_first_rows(frame) for frame in release.tables().values()]
        yield card("What is handed out", el("div", *tables, class_="cards"), lead=lead)
    yield card("What was promised, and what is kept", summary.scoreboard(lines))
    yield el("div", html.figure(charts.as_json(charts.groups(release))), class_="card")


def _first_rows(frame: Any) -> Html:
    head = [html.value(name) for name in frame.column_names]
    rows = [
        ["" if cell is None else str(cell) for cell in row.values()] for row in frame.slice(0, _FIRST_ROWS).to_pylist()
    ]
    return el("div", html.table(head, rows))


def _ask(desk: Desk, release: Any) -> Html:
    """A count, of the table itself, of the groups, and of what Promises would publish."""
    condition = desk.work.argument(_NAME, "condition", "")
    field = void("input", type="text", name="condition", value=condition, spellcheck="false", autocomplete="off")
    example = "" if desk.work.hidden else _example(desk)
    tried = button("condition", "For example", value=example) if example else None
    parts = [el("div", labelled("How many people are there with", field, small=_help(example)), tried, class_="row")]
    if condition:
        sources = {"the table itself": _truth(desk), "anatomized": release}
        if _promises_something(desk.work):
            sources["generalized, as on Promises"] = _generalized(desk)
        rows = [[name, *_answer(dv.query(source, condition))] for name, source in sources.items()]
        parts.append(html.table(("asked", "estimate", "certainly from", "to", "left out, not counted"), rows))
    lead = "Whoever gets a release can count in it. What is certain holds in every table that could have led to it."
    return card("Ask both", *parts, lead=lead)


def _help(example: str) -> Html:
    told = "a condition as in SQL's WHERE, then Enter"
    return html.joined((told, ": ", el("code", example))) if example else html.escape(told)


def _answer(found: Any) -> list[str]:
    numbers = [words.number(each) for each in (found.estimate, found.low, found.high)]
    return [*numbers, f"{found.settings['left_out'] or 0:,}"]


def _example(desk: Desk) -> str:
    """Of the first person: a quasi-identifier and the sensitive value."""
    work = desk.work
    names = [_names(work, "quasi_identifiers")[-1], _compared_for(work)]
    quoted = ", ".join(map(desk.table.engine.quote, names))
    first = f"SELECT {quoted} FROM {desk.table.relation} LIMIT 1"
    rows = desk.once("example", lambda: desk.table.engine.query(first), *names).to_pylist()
    told = [_equals(name, value) for row in rows for name, value in row.items() if isinstance(value, str | int)]
    return " and ".join(told)


def _equals(name: str, value: str | int) -> str:
    column = name if name.isidentifier() and name.isascii() else '"' + name.replace('"', '""') + '"'
    return f"{column} = {value}" if isinstance(value, int) else column + " = '" + value.replace("'", "''") + "'"


def _side_by_side(desk: Desk) -> Html:
    about, people = _compared_for(desk.work), desk.rows
    rows: list[list[Any]] = []
    for side in _sides(desk, about):
        if side.refused is not None:
            rows.append([side.name, "there is none", "", "", "", ""])
            continue
        rows.append(
            [side.name, words.percent(side.beta), words.percent(side.delta), f"{side.groups:,}", f"{people - side.published:,}",
             words.percent(side.recq.median)]
        )  # fmt: skip
    head = (
        "release",
        "largest share of a value",
        "moves by at most",
        "groups or classes",
        "left out",
        "off by, in the middle",
    )
    told = f" make up more than {arguments(desk)['beta']}. All are asked the same 1,000 counts; the last column is how far off the middle "
    told += "one is. An anatomized release shows every combination of a table, so that anybody can see who is in it if one is rare."
    same = "Four releases at the same bound: in no group and no class does a value of "
    lead = html.joined((same, html.value(about), told))
    return card(
        "Beside generalizing, at the same protection",
        el("div", html.table(head, rows), class_="scroll", tabindex="0"),
        lead=lead,
    )


PLACE = Place(
    _NAME,
    "Anatomize",
    show,
    {
        "bound": _bound,
        "tables": _tables,
        "locality": _locality,
        "about": _about,
        "condition": _condition,
        "out": _out,
        "publish": _publish,
    },
)
