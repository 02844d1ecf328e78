# SPDX-License-Identifier: Apache-2.0
"""Levels: how each quasi-identifier may become coarser, as levels and as a tree; edited, imported, or cut where most is kept."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import divulge as dv
from divulge import values
from divulge.api import hierarchies
from divulge.errors import BadInput
from divulge.studio.desk import Desk
from divulge.studio.places.place import Html, Place, button, card, choice, el, labelled, meter, needs_table, void
from divulge.studio.work import TABLE, Work
from divulge.views import html

_NAME = "levels"
_EXAMPLES = 6
_MOST_BY_HAND = 200
_MOST_IN_TREE = 400
_MOST_BELOW = 60
"""Values that are listed below one label."""


# --- rules, as people choose them -------------------------------------------------------------------------------------
_KINDS: Mapping[str, tuple[str, str, str]] = {
    "": ("what its values suggest", "", ""),
    "intervals": ("ranges of numbers, by their widths", "5, 10, 20", "widths, the finest first"),
    "cuts": ("ranges of numbers, cut where I say", "20, 40, 60", "where a range ends and the next begins"),
    "prefix": ("the first characters", "", "how many are kept on each level; empty: one fewer each time"),
    "dates": ("parts of dates", "month, year, decade", "day, week, month, quarter, year, decade"),
    "order": ("neighbours in an order", "", "its values from low to high"),
    "suppress": ("as it is, or not at all", "", ""),
    "rows": ("value by value, as I say", "", ""),
    "rule": ("another rule, or a file", "", "as a policy file writes it, or the path of an ARX file"),
}


def _kind_of(rule: Any, asked: str = "") -> str:
    """What was chosen; a rule can be `asked` for as a policy file writes it, whatever kind it is."""
    if asked == "rule" and rule is not None:
        return asked
    if rule is None:
        return ""
    if isinstance(rule, Mapping):
        if dict(rule) == {"suppress": True}:
            return "suppress"
        if len(rule) == 1 and next(iter(rule)) in _KINDS and not any(isinstance(each, list) for each in _listed(rule)):
            return str(next(iter(rule)))
    return "rule"


def _listed(rule: Mapping[str, Any]) -> Sequence[Any]:
    given = next(iter(rule.values()))
    return given if isinstance(given, list | tuple) else []


def _parameter_of(rule: Any, kind: str) -> str:
    """What stands in the field."""
    if kind in ("", "suppress"):
        return ""
    if kind != "rule":
        return ", ".join(map(str, _listed(rule)))
    return values.toml_value(dict(rule)) if isinstance(rule, Mapping) else str(rule)


def _rule_of(kind: str, text: str) -> Any:
    if kind == "":
        return None
    if kind == "suppress":
        return {"suppress": True}
    if kind == "rule":
        if not text.strip():
            raise BadInput("there is no rule", hint="write one, such as {intervals = [5, 10]}, or the path of a file")
        return values.parse_toml(f"rule = {text}")["rule"] if text.lstrip().startswith("{") else {"file": text.strip()}
    parts = [part for part in re.split(r"\s*[,;]\s*", text.strip()) if part]
    if kind == "prefix":
        return {"prefix": [_number(part) for part in parts] if parts else True}
    if not parts:
        raise BadInput("this needs something in the field below it", hint=_KINDS[kind][2])
    return {kind: [_number(part) for part in parts] if kind in ("intervals", "cuts") else parts}


def _number(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        raise BadInput(f"{text!r} is not a number") from None
    return int(found) if found.is_integer() else found


# --- what controls do -------------------------------------------------------------------------------------------------
def _columns(desk: Desk) -> list[str]:
    named = desk.work.policy.roles.get("quasi_identifiers") or ()
    return [named] if isinstance(named, str) else list(named)


def _column(desk: Desk) -> str:
    """The one that is looked at."""
    columns = _columns(desk)
    if not columns:
        raise BadInput("no column is a quasi-identifier", hint="say on the tab Table which columns others may know")
    return desk.work.column if desk.work.column in columns else columns[0]


def _set_column(desk: Desk, _: str, value: Any) -> Work:
    desk.afresh = True
    return replace(desk.work.with_argument(_NAME, "kind", None), column=str(value))


def _with(desk: Desk, rule: Any) -> Work:
    """The work with a rule that fits the values of the column; one that does not is refused before anything changes."""
    column, desk.afresh = _column(desk), True
    specs = {} if rule is None else {column: rule}
    built = hierarchies.build(desk.table, [column], specs=specs, folder=Path(desk.work.base))
    hierarchies.cover(desk.table, built.hierarchies).refuse_gaps()
    return desk.work.with_levels(column, rule)


def _set_kind(desk: Desk, _: str, value: Any) -> Work | None:
    kind = str(value)
    if kind not in _KINDS:
        raise BadInput(f"there is no such rule as {kind!r}")
    desk.work = desk.work.with_argument(_NAME, "kind", "rule" if kind == "rule" else None)
    if kind == "rows":
        return _with(desk, {"rows": _rows_of(_found(desk))})
    if kind == "order":
        counted = hierarchies.build(desk.table, [_column(desk)], specs={_column(desk): {"suppress": True}})
        texts = [text for text in counted.hierarchies[_column(desk)].rows if text is not None]
        return _with(desk, {"order": texts})
    if kind == "rule":
        current = desk.work.document.get("hierarchies", {}).get(_column(desk))
        return _with(desk, current if current is not None else _built(desk).rules[_column(desk)])
    return _with(desk, _rule_of(kind, _KINDS[kind][1]))


def _set_parameter(desk: Desk, of: str, value: Any) -> Work:
    if of not in _KINDS:
        raise BadInput(f"there is no such rule as {of!r}")
    try:
        return _with(desk, _rule_of(of, str(value)))
    except ValueError as error:
        raise BadInput(f"this is no rule: {error}") from None


def _take_file(desk: Desk, name: str, value: Any) -> Work:
    """A file of ARX or anjana that was dropped: its rows become part of the policy, which then needs no file."""
    del name
    return _with(desk, {"rows": _rows_of(next(iter(hierarchies.load_any(Path(str(value))).values())))})


def _rows_of(found: Any) -> dict[str, list[str]]:
    """A hierarchy as a policy file lists it: each value, and its labels from the finest to the coarsest."""
    return {text: [str(label) for label in labels[1:]] for text, labels in found.rows.items() if text is not None}


def _set_label(desk: Desk, of: str, value: Any) -> Work:
    """Another label of one value; under a label that others have too, it goes on as they do."""
    rows = _rows_of(_found(desk))
    try:
        text, level = json.loads(of)
        labels = rows[text]
        labels[level] = str(value).strip() or text
    except (ValueError, KeyError, IndexError, TypeError):
        raise BadInput(f"{of!r} is no label of a value") from None
    alike = next((each for name, each in rows.items() if name != text and each[level] == labels[level]), labels)
    rows[text] = [*labels[: level + 1], *alike[level + 1 :]]
    return _with(desk, {"rows": rows})


def _set_height(desk: Desk, _: str, value: Any) -> Work:
    """One level more, at first as fine as the values; or one fewer, without the finest of them."""
    rows = _rows_of(_found(desk))
    if value == "more":
        return _with(desk, {"rows": {text: [text, *labels] for text, labels in rows.items()}})
    if any(len(labels) < 2 for labels in rows.values()):
        raise BadInput("one level must be left")
    return _with(desk, {"rows": {text: labels[1:] for text, labels in rows.items()}})


def _cut(desk: Desk, of: str, _: Any) -> Work:
    """The ranges that keep the promises one by one and tell the most about a sensitive column."""
    policy, column = desk.work.policy, _column(desk)
    desk.progress(f"looking for the ranges of {column} that keep most about {of}")
    found = dv.cut(desk.table, column, about=of, policy=replace(policy, roles={}, hierarchies={}, protections=()))
    return _with(desk, dict(found.rule))


# --- the view ---------------------------------------------------------------------------------------------------------
def _found(desk: Desk) -> Any:
    """The hierarchy of the column that is looked at."""
    return _built(desk).hierarchies[_column(desk)]


def _built(desk: Desk) -> Any:
    def made() -> Any:
        work, columns = desk.work, _columns(desk)
        desk.progress("building the levels")
        specs = {name: rule for name, rule in work.policy.hierarchies.items() if name in columns}
        return hierarchies.build(desk.table, columns, specs=specs)

    return desk.by_policy("levels", made, "method", "promises", "suppression", "protect", "adversary", "alone_share")


def show(desk: Desk, changed: bool) -> None:  # noqa: FBT001 - as every place
    """One column: its rule, its levels, its tree."""
    del changed
    if not needs_table(desk):
        return
    work, column = desk.work, _column(desk)
    desk.say(head=f"{work.name} · {desk.rows:,} rows")
    rule = work.document.get("hierarchies", {}).get(column)
    _tell_same(desk, column)
    desk.put("controls", *_controls(desk, column, rule))
    built = _built(desk)
    found = built.hierarchies[column]
    reason = built.suggestions[column].reason if column in built.suggestions else "as you said"
    told = f"{len(found.rows):,} values, {found.height} coarser levels: {reason}."
    by_hand = _kind_of(rule, work.argument(_NAME, "kind", "")) == "rows" and not work.hidden
    tree = "The coarsest first; open a label to see what lies under it."
    desk.put(
        "view",
        el("h1", "How ", html.value(column), " may become coarser"),
        el("p", told, class_="verdict"),
        _by_hand(found) if by_hand else None,
        _levels(found, hidden=work.hidden),
        None if work.hidden else card("As a tree", _tree(found), lead=tree),
    )


def _tell_same(desk: Desk, column: str) -> None:
    """The levels of one column, whatever is promised: that somebody stands in each class is always kept."""
    rule = desk.work.policy.hierarchies.get(column)
    by_rule = isinstance(rule, Mapping)
    written = () if rule is None else ("--rule", values.toml_value(rule)) if by_rule else ("--taxonomy", str(rule))
    given = "" if rule is None else f", hierarchies={ {column: dict(rule) if by_rule else str(rule)}!r}"
    desk.same_as(
        desk.work.command("hierarchy build", "--column", column, *written, policy=False),
        f"kept = {{'quasi_identifiers': {column!r}, 'leave_out': '*', 'k_anonymity': 1}}",
        f"release = dv.generalize({TABLE}, policy=kept{given})",
        f"for labels in release.hierarchies[{column!r}].rows.values():",
        "    print(*labels, sep=' < ')",
    )


def _controls(desk: Desk, column: str, rule: Any) -> Iterator[Html]:
    yield el("h2", "Column")
    yield choice("column", [(name, values.visible(name)) for name in _columns(desk)], column, label="column")
    kind = _kind_of(rule, desk.work.argument(_NAME, "kind", ""))
    yield el("h2", "Its levels are")
    yield choice("kind", [(key, told) for key, (told, _, _) in _KINDS.items()], kind, label="its levels are")
    if kind == "rows":
        yield button("height", "One level more", value="more")
        yield button("height", "One level fewer", value="fewer")
    elif kind not in ("", "suppress"):
        given = _parameter_of(rule, kind)
        field = void("input", type="text", name="parameter", data_of=kind, value=given, spellcheck="false")
        yield labelled(_KINDS[kind][2], field)
    named = desk.work.policy.roles.get("sensitive") or ()
    for about in [named] if isinstance(named, str) else named:
        if desk.table.column(column).kind in ("number", "date"):
            words = html.joined(("Cut where most about ", html.value(about), " is kept"))
            yield button("cut", words, of=about)
    yield el("h2", "Import")
    told = "drop a file here, as ARX and anjana write them"
    yield el("label", told, void("input", type="file", name="file", class_="unseen"), class_="drop")


def _by_hand(found: Any) -> Html:
    """Each value with a field for its label on each level; labels that are there already are offered."""
    rows = _rows_of(found)
    if len(rows) > _MOST_BY_HAND:
        told = f"{len(rows):,} values are too many to go through; write a file of them and drop it here."
        return card("Value by value", el("p", told, class_="lead"))
    lists = [
        el("datalist", *(el("option", value=label) for label in labels), id=f"labels-{level}")
        for level, labels in enumerate(dict.fromkeys(each) for each in zip(*rows.values(), strict=True))
    ]
    head = ("value", *(f"level {level}" for level in range(1, found.height + 1)))
    parts = [
        el(
            "tr",
            el("th", html.value(text), scope="row"),
            *(_label(text, level, label) for level, label in enumerate(labels)),
        )
        for text, labels in rows.items()
    ]
    shown = html.rows_of_parts(head, parts, caption="Each value and its labels")
    lead = (
        "Values with the same label on a level are published as one. A label that others have goes on as theirs does."
    )
    return card("Value by value", el("div", shown, class_="scroll hand", tabindex="0"), *lists, lead=lead)


def _label(text: str, level: int, label: str) -> Html:
    told = f"{values.visible(text)}, level {level + 1}"
    about = {"data_of": json.dumps([text, level]), "list": f"labels-{level}", "aria_label": told}
    return el(
        "td", void("input", type="text", name="label", value=label, spellcheck="false", autocomplete="off", **about)
    )


def _levels(found: Any, *, hidden: bool) -> Html:
    rows = []
    leaves = len(found.rows)
    for level in range(found.height + 1):
        labels = list(dict.fromkeys(labels[level] for labels in found.rows.values()))
        shown = ", ".join(values.visible("null" if label is None else label) for label in labels[:_EXAMPLES])
        shown, more = ("", "") if hidden else (shown, " …" if len(labels) > _EXAMPLES else "")
        share = len(labels) / leaves
        name = "as it came" if level == 0 else "nothing is told" if len(labels) == 1 and level == found.height else ""
        rows.append(
            el(
                "tr",
                el("th", f"level {level}", el("small", name) if name else None, scope="row"),
                el("td", f"{len(labels):,}", class_="num"),
                el("td", meter(share, f"{len(labels):,} of {leaves:,}"), class_="wide"),
                el("td", html.value(f"{shown}{more}"), class_="why"),
            )
        )
    table = html.rows_of_parts(("level", "labels", "how fine", "such as"), rows, caption="Each level", numbers=[1])
    return card("Levels", table)


def _tree(found: Any) -> Html:
    paths = [tuple(reversed(labels)) for labels in found.rows.values()]
    if len(paths) > _MOST_IN_TREE:
        return el(
            "p", f"{len(paths):,} values are too many to draw; the levels above show some of each.", class_="lead"
        )
    return el("ul", *_branches(paths, opened=True), class_="tree")


def _branches(paths: Sequence[tuple[str | None, ...]], *, opened: bool = False) -> Iterator[Html]:
    """Labels that repeat from level to level stand once."""
    groups: dict[str | None, list[tuple[str | None, ...]]] = {}
    for path in paths:  # in the order of the values
        groups.setdefault(path[0], []).append(path[1:])
    for label, inside in groups.items():
        below = inside
        while below and below[0] and all(path[:1] == (label,) for path in below):
            below = [path[1:] for path in below]
        name = html.value("null" if label is None else label)
        if not below or not below[0]:
            yield el("li", name)
        elif len(below[0]) == 1:
            values_below = [html.value("null" if path[0] is None else path[0]) for path in below[:_MOST_BELOW]]
            told = html.joined(part for each in values_below for part in (each, " "))
            more = f" and {len(below) - _MOST_BELOW:,} more" if len(below) > _MOST_BELOW else ""
            yield el("li", name, el("span", told, more, class_="leaves"))
        else:
            head = el("summary", name, el("small", f" {len(below):,} values"))
            branches = el("ul", *_branches(below, opened=opened and len(groups) == 1))  # down to where it first divides
            yield el("li", el("details", head, branches, open="open" if opened else None))


PLACE = Place(
    "levels",
    "Levels",
    show,
    {
        "column": _set_column,
        "kind": _set_kind,
        "parameter": _set_parameter,
        "label": _set_label,
        "height": _set_height,
        "file": _take_file,
        "cut": _cut,
    },
)
