# SPDX-License-Identifier: Apache-2.0
"""The tab Levels: the generalization hierarchy of each quasi-identifier, as levels and as a tree.

A hierarchy can be edited, imported, or cut so that it keeps the most information.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import divulge as dv
from divulge.api import hierarchies
from divulge.arguments import outside
from divulge.errors import BadInput
from divulge.options import PythonCode
from divulge.output import html
from divulge.studio.session_state import SessionState
from divulge.studio.tabs.tab import (
    Html,
    Tab,
    button,
    card,
    dropdown,
    el,
    labeled_field,
    require_table,
    share_bar,
    void_element,
)
from divulge.studio.worker import Worker
from divulge.text import parse_toml, toml_value, visible

_TAB_NAME = "levels"
_EXAMPLES = 6
_LARGEST_ROW_EDITOR = 200
_LARGEST_TREE = 400
_LARGEST_LEAF_LIST = 60
"""Largest number of values that are listed below one label."""


# --- rules, as the control lists them -------------------------------------------------------------
_KINDS: Mapping[str, tuple[str, str, str]] = {
    "": ("what its values suggest", "", ""),
    "intervals": ("ranges of numbers, by their widths", "5, 10, 20", "widths, the finest first"),
    "cuts": (
        "ranges of numbers, cut where I say",
        "20, 40, 60",
        "where a range ends and the next begins",
    ),
    "prefix": (
        "the first characters",
        "",
        "how many are kept on each level; empty: one fewer each time",
    ),
    "dates": ("parts of dates", "month, year, decade", "day, week, month, quarter, year, decade"),
    "order": ("neighbours in an order", "", "its values from low to high"),
    "suppress": ("as it is, or not at all", "", ""),
    "rows": ("value by value, as I say", "", ""),
    "rule": (
        "another rule, or a file",
        "",
        "as a policy file writes it, or the path of an ARX file",
    ),
}


def _rule_kind(rule: Any, choice_kind: str = "") -> str:
    """Return the kind of a rule, as the control lists it.

    `choice_kind` "rule": any rule can be shown as the policy file writes it.
    """
    if choice_kind == "rule" and rule is not None:
        return choice_kind
    if rule is None:
        return ""
    if isinstance(rule, Mapping):
        if dict(rule) == {"suppress": True}:
            return "suppress"
        if (
            len(rule) == 1
            and next(iter(rule)) in _KINDS
            and not any(isinstance(part, list) for part in _parameter_list(rule))
        ):
            return str(next(iter(rule)))
    return "rule"


def _parameter_list(rule: Mapping[str, Any]) -> Sequence[Any]:
    parameter = next(iter(rule.values()))
    if isinstance(parameter, list | tuple):
        return parameter
    return []


def _parameter_text(rule: Any, kind: str) -> str:
    """Return the text of the field for the rule's parameter."""
    if kind in ("", "suppress"):
        return ""
    if kind != "rule":
        return ", ".join(map(str, _parameter_list(rule)))
    if isinstance(rule, Mapping):
        return toml_value(dict(rule))
    return str(rule)


def _parse_rule(kind: str, text: str) -> Any:
    if kind == "":
        return None
    if kind == "suppress":
        return {"suppress": True}
    if kind == "rule":
        if not text.strip():
            raise BadInput(
                "there is no rule",
                hint="write one, such as {intervals = [5, 10]}, or the path of a file",
            )
        if text.lstrip().startswith("{"):
            return parse_toml(f"rule = {text}")["rule"]
        return {"file": text.strip()}
    parts = [part for part in re.split(r"\s*[,;]\s*", text.strip()) if part]
    if kind == "prefix":
        return {"prefix": [_parse_number(part) for part in parts] if parts else True}
    if not parts:
        raise BadInput("this needs something in the field below it", hint=_KINDS[kind][2])
    return {
        kind: [_parse_number(part) for part in parts] if kind in ("intervals", "cuts") else parts
    }


def _parse_number(text: str) -> float:
    try:
        parsed = float(text)
    except ValueError:
        raise BadInput(f"{text!r} is not a number") from None
    if parsed.is_integer():
        return int(parsed)
    return parsed


# --- functions of the controls --------------------------------------------------------------------
def _quasi_identifiers(worker: Worker) -> list[str]:
    names = worker.state.policy.roles.get("quasi_identifiers") or ()
    if isinstance(names, str):
        return [names]
    return list(names)


def _current_column(worker: Worker) -> str:
    """Return the column that is shown."""
    columns = _quasi_identifiers(worker)
    if not columns:
        raise BadInput(
            "no column is a quasi-identifier",
            hint="say on the tab Table which columns others may know",
        )
    if worker.state.column in columns:
        return worker.state.column
    return columns[0]


def _set_column(worker: Worker, _: str, value: Any) -> SessionState:
    worker.redraw_controls = True
    return replace(worker.state.with_argument(_TAB_NAME, "kind", None), column=str(value))


def _with_rule(worker: Worker, rule: Any) -> SessionState:
    """Return the session state with another rule of the column.

    A rule that does not fit the values of the column raises an error before anything changes.
    """
    column, worker.redraw_controls = _current_column(worker), True
    if rule is None:
        specs = {}
    else:
        specs = {column: rule}
    built = hierarchies.build(worker.table, [column], specs=specs, folder=Path(worker.state.base))
    hierarchies.cover(worker.table, built.hierarchies).refuse_gaps()
    return worker.state.with_levels(column, rule)


def _set_kind(worker: Worker, _: str, value: Any) -> SessionState | None:
    kind = str(value)
    if kind not in _KINDS:
        raise BadInput(f"there is no such rule as {kind!r}")
    worker.state = worker.state.with_argument(_TAB_NAME, "kind", "rule" if kind == "rule" else None)
    if kind == "rows":
        return _with_rule(worker, {"rows": _label_rows(_current_hierarchy(worker))})
    if kind == "order":
        built = hierarchies.build(
            worker.table,
            [_current_column(worker)],
            specs={_current_column(worker): {"suppress": True}},
        )
        texts = [
            text for text in built.hierarchies[_current_column(worker)].rows if text is not None
        ]
        return _with_rule(worker, {"order": texts})
    if kind == "rule":
        current = worker.state.document.get("hierarchies", {}).get(_current_column(worker))
        return _with_rule(
            worker,
            current
            if current is not None
            else _build_hierarchies(worker).rules[_current_column(worker)],
        )
    return _with_rule(worker, _parse_rule(kind, _KINDS[kind][1]))


def _set_parameter(worker: Worker, subject: str, value: Any) -> SessionState:
    if subject not in _KINDS:
        raise BadInput(f"there is no such rule as {subject!r}")
    try:
        return _with_rule(worker, _parse_rule(subject, str(value)))
    except ValueError as error:
        raise BadInput(f"this is no rule: {outside(error)}") from None


def _take_file(worker: Worker, name: str, value: Any) -> SessionState:
    """Take an uploaded hierarchy file of ARX or anjana.

    Its rows become part of the policy, which then needs no file.
    """
    del name
    return _with_rule(
        worker, {"rows": _label_rows(next(iter(hierarchies.load_any(Path(str(value))).values())))}
    )


def _label_rows(hierarchy: Any) -> dict[str, list[str]]:
    """Return the labels of each value from finest to coarsest, as a policy file lists them."""
    return {
        text: [str(label) for label in labels[1:]]
        for text, labels in hierarchy.rows.items()
        if text is not None
    }


def _set_label(worker: Worker, subject: str, value: Any) -> SessionState:
    """Change the label of one value.

    If other values have that label, the value also gets their labels on the coarser levels.
    """
    rows = _label_rows(_current_hierarchy(worker))
    try:
        text, level = json.loads(subject)
        labels = rows[text]
        labels[level] = str(value).strip() or text
    except (ValueError, KeyError, IndexError, TypeError):
        raise BadInput(f"{subject!r} is no label of a value") from None
    matching_labels = next(
        (
            other_labels
            for name, other_labels in rows.items()
            if name != text and other_labels[level] == labels[level]
        ),
        labels,
    )
    rows[text] = [*labels[: level + 1], *matching_labels[level + 1 :]]
    return _with_rule(worker, {"rows": rows})


def _set_height(worker: Worker, _: str, value: Any) -> SessionState:
    """Add a finest level, initially with the values as labels; or remove the finest level."""
    rows = _label_rows(_current_hierarchy(worker))
    if value == "more":
        return _with_rule(
            worker, {"rows": {text: [text, *labels] for text, labels in rows.items()}}
        )
    if any(len(labels) < 2 for labels in rows.values()):
        raise BadInput("one level must be left")
    return _with_rule(worker, {"rows": {text: labels[1:] for text, labels in rows.items()}})


def _cut_column(worker: Worker, subject: str, _: Any) -> SessionState:
    """Set the ranges that keep the most information about a sensitive column.

    They meet each requirement separately.
    """
    policy = worker.state.policy
    column = _current_column(worker)
    worker.begin_step(f"looking for the ranges of {column} that keep most about {subject}")
    cut_result = dv.cut(
        worker.table,
        column,
        about=subject,
        policy=replace(policy, roles={}, hierarchies={}, protections=()),
    )
    return _with_rule(worker, dict(cut_result.rule))


# --- view -----------------------------------------------------------------------------------------
def _current_hierarchy(worker: Worker) -> Any:
    """Return the hierarchy of the column that is shown."""
    return _build_hierarchies(worker).hierarchies[_current_column(worker)]


def _build_hierarchies(worker: Worker) -> Any:
    def build() -> Any:
        state = worker.state
        columns = _quasi_identifiers(worker)
        worker.begin_step("building the levels")
        specs = {name: rule for name, rule in state.policy.hierarchies.items() if name in columns}
        return hierarchies.build(worker.table, columns, specs=specs)

    return worker.cached_by_policy(
        "levels", build, "method", "promises", "suppression", "protect", "adversary", "unique_share"
    )


def show(worker: Worker, changed: bool) -> None:  # noqa: FBT001 - as in every tab
    """Show the rule, the levels and the tree of one column."""
    del changed
    if not require_table(worker):
        return
    state = worker.state
    column = _current_column(worker)
    worker.send(head=f"{state.name} · {worker.row_count:,} rows")
    rule = state.document.get("hierarchies", {}).get(column)
    _send_equivalents(worker, column)
    worker.put_part("controls", *_controls(worker, column, rule))
    built = _build_hierarchies(worker)
    hierarchy = built.hierarchies[column]
    if column in built.suggestions:
        reason = built.suggestions[column].reason
    else:
        reason = "as you said"
    sentence = f"{len(hierarchy.rows):,} values, {hierarchy.height} coarser levels: {reason}."
    is_edited_by_row = (
        _rule_kind(rule, state.argument(_TAB_NAME, "kind", "")) == "rows" and not state.hidden
    )
    tree_lead = "The coarsest first; open a label to see what lies under it."
    worker.put_part(
        "view",
        el("h1", "How ", html.value(column), " may become coarser"),
        el("p", sentence, class_="verdict"),
        _row_editor(hierarchy) if is_edited_by_row else None,
        _levels_card(hierarchy, hidden=state.hidden),
        None if state.hidden else card("As a tree", _tree_html(hierarchy), lead=tree_lead),
    )


def _send_equivalents(worker: Worker, column: str) -> None:
    """Send the equivalent command and Python code, which build the levels of one column.

    The Python code requires at most as many unique people as rows, so that every table meets it.
    """
    rule = worker.state.policy.hierarchies.get(column)
    rule_flags: dict[str, Any] = {}
    arguments: dict[str, Any] = {}
    if isinstance(rule, Mapping):
        rule_flags = {"rule": toml_value(rule)}
        arguments = {"hierarchies": {column: dict(rule)}}
    elif rule is not None:
        rule_flags = {"taxonomy": str(rule)}
        arguments = {"hierarchies": {column: str(rule)}}
    build = worker.state.invocation("hierarchy build", policy=False, column=column, **rule_flags)
    uniques = worker.row_count
    policy = f"{{'quasi_identifiers': {column!r}, 'leave_out': '*', 'uniques': {uniques}}}"
    generalize = worker.state.invocation("generalize", arguments)
    generalize = replace(generalize, policy=PythonCode(policy))
    worker.send_equivalents(
        build.as_command(),
        f"release = {generalize.as_python()}",
        f"for labels in release.hierarchies[{column!r}].rows.values():",
        "    print(*labels, sep=' < ')",
    )


def _controls(worker: Worker, column: str, rule: Any) -> Iterator[Html]:
    yield el("h2", "Column")
    yield dropdown(
        "column",
        [(name, visible(name)) for name in _quasi_identifiers(worker)],
        column,
        label="column",
    )
    kind = _rule_kind(rule, worker.state.argument(_TAB_NAME, "kind", ""))
    yield el("h2", "Its levels are")
    yield dropdown(
        "kind",
        [(key, description) for key, (description, _, _) in _KINDS.items()],
        kind,
        label="its levels are",
    )
    if kind == "rows":
        yield button("height", "One level more", value="more")
        yield button("height", "One level fewer", value="fewer")
    elif kind not in ("", "suppress"):
        if worker.state.hidden:
            parameter = ""
        else:
            parameter = _parameter_text(rule, kind)
        if worker.state.hidden:
            hidden = "hidden"
        else:
            hidden = None
        field = void_element(
            "input",
            type="text",
            name="parameter",
            data_of=kind,
            value=parameter,
            placeholder=hidden,
            spellcheck="false",
        )
        yield labeled_field(_KINDS[kind][2], field)
    names = worker.state.policy.roles.get("sensitive") or ()
    if isinstance(names, str):
        attributes: Sequence[str] = [names]
    else:
        attributes = names
    for about in attributes:
        if worker.table.column(column).kind in ("number", "date"):
            words = html.joined(("Cut where most about ", html.value(about), " is kept"))
            yield button("cut", words, subject=about)
    yield el("h2", "Import")
    drop_label = "drop a file here, as ARX and anjana write them"
    yield el(
        "label",
        drop_label,
        void_element("input", type="file", name="file", class_="unseen"),
        class_="drop",
    )


def _row_editor(hierarchy: Any) -> Html:
    """Return a table with one field per value and level; existing labels are suggested."""
    rows = _label_rows(hierarchy)
    if len(rows) > _LARGEST_ROW_EDITOR:
        sentence = (
            f"{len(rows):,} values are too many to go through; write a file of them and drop it "
            "here."
        )
        return card("Value by value", el("p", sentence, class_="lead"))
    lists = [
        el("datalist", *(el("option", value=label) for label in labels), id=f"labels-{level}")
        for level, labels in enumerate(
            dict.fromkeys(column_labels) for column_labels in zip(*rows.values(), strict=True)
        )
    ]
    head = ("value", *(f"level {level}" for level in range(1, hierarchy.height + 1)))
    parts = [
        el(
            "tr",
            el("th", html.value(text), scope="row"),
            *(_label_field(text, level, label) for level, label in enumerate(labels)),
        )
        for text, labels in rows.items()
    ]
    table_html = html.rows_of_parts(head, parts, caption="Each value and its labels")
    lead = (
        "Values with the same label on a level are published as one. A label that others have goes "
        "on as theirs does."
    )
    return card(
        "Value by value",
        el("div", table_html, class_="scroll hand", tabindex="0"),
        *lists,
        lead=lead,
    )


def _label_field(text: str, level: int, label: str) -> Html:
    field_label = f"{visible(text)}, level {level + 1}"
    about = {
        "data_of": json.dumps([text, level]),
        "list": f"labels-{level}",
        "aria_label": field_label,
    }
    return el(
        "td",
        void_element(
            "input",
            type="text",
            name="label",
            value=label,
            spellcheck="false",
            autocomplete="off",
            **about,
        ),
    )


def _levels_card(hierarchy: Any, *, hidden: bool) -> Html:
    rows = []
    leaves = len(hierarchy.rows)
    for level in range(hierarchy.height + 1):
        labels = list(dict.fromkeys(labels[level] for labels in hierarchy.rows.values()))
        examples = ", ".join(
            visible("null" if label is None else label) for label in labels[:_EXAMPLES]
        )
        if hidden:
            examples = ""
            more = ""
        else:
            more = " …" if len(labels) > _EXAMPLES else ""
        share = len(labels) / leaves
        name = ""
        if level == 0:
            name = "as it came"
        elif len(labels) == 1 and level == hierarchy.height:
            name = "nothing is told"
        rows.append(
            el(
                "tr",
                el("th", f"level {level}", el("small", name) if name else None, scope="row"),
                el("td", f"{len(labels):,}", class_="num"),
                el("td", share_bar(share, f"{len(labels):,} of {leaves:,}"), class_="wide"),
                el("td", html.value(f"{examples}{more}"), class_="why"),
            )
        )
    table = html.rows_of_parts(
        ("level", "labels", "how fine", "such as"), rows, caption="Each level", numbers=[1]
    )
    return card("Levels", table)


def _tree_html(hierarchy: Any) -> Html:
    paths = [tuple(reversed(labels)) for labels in hierarchy.rows.values()]
    if len(paths) > _LARGEST_TREE:
        return el(
            "p",
            f"{len(paths):,} values are too many to draw; the levels above show some of each.",
            class_="lead",
        )
    return el("ul", *_tree_branches(paths, is_opened=True), class_="tree")


def _tree_branches(
    paths: Sequence[tuple[str | None, ...]], *, is_opened: bool = False
) -> Iterator[Html]:
    """Yield the branches of a tree; labels that repeat from level to level appear once."""
    groups: dict[str | None, list[tuple[str | None, ...]]] = {}
    for path in paths:  # in the order of the values
        groups.setdefault(path[0], []).append(path[1:])
    for label, subpaths in groups.items():
        below = subpaths
        while below and below[0] and all(path[:1] == (label,) for path in below):
            below = [path[1:] for path in below]
        name = html.value("null" if label is None else label)
        if not below or not below[0]:
            yield el("li", name)
        elif len(below[0]) == 1:
            values_below = [
                html.value("null" if path[0] is None else path[0])
                for path in below[:_LARGEST_LEAF_LIST]
            ]
            leaf_values = html.joined(part for leaf in values_below for part in (leaf, " "))
            if len(below) > _LARGEST_LEAF_LIST:
                more = f" and {len(below) - _LARGEST_LEAF_LIST:,} more"
            else:
                more = ""
            yield el("li", name, el("span", leaf_values, more, class_="leaves"))
        else:
            head = el("summary", name, el("small", f" {len(below):,} values"))
            # opened down to the first level with several labels
            branches = el("ul", *_tree_branches(below, is_opened=is_opened and len(groups) == 1))
            yield el("li", el("details", head, branches, open="open" if is_opened else None))


TAB = Tab(
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
        "cut": _cut_column,
    },
)
