# SPDX-License-Identifier: Apache-2.0
"""Splitting an expression by the tables of a release: what each table can answer alone, and what must be put together.

A condition becomes: for each table, the part of a top-level AND that only it is asked (`own`); what is left over
(`rest`), in which the largest parts that one table can answer alone are replaced by names (`features`). With x AND y
AND z over three tables nothing is left over, and equation 11 of Yao et al. 2021 applies as printed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from divulge.anatomize.condition import Tree, column, conjunction, nodes, operator, replace_parts

_NEGATED = {"CONJUNCTION_AND": "OR", "CONJUNCTION_OR": "AND"}


@dataclass(frozen=True, eq=False)
class Terms:
    """An expression, table by table."""

    own: Mapping[int, Tree]
    """Conditions that one table answers and that must all hold."""
    features: Mapping[int, Mapping[str, Tree]]
    """Parts of what is left over that one table answers, by the name that stands for them there."""
    rest: Tree | None
    """What is left over, over the names of features; None if nothing is."""
    value: Tree | None = None
    """What is summed up, over the names of features; None for a count."""

    @property
    def tables(self) -> tuple[int, ...]:
        """The tables that are asked."""
        return tuple(sorted({*self.own, *self.features}))


def split(condition: Tree, place: Mapping[str, int], *, value: Tree | None = None) -> Terms:
    """Split a condition, and what is to be summed up where it holds; `place` says in which table a column is."""
    own: dict[int, list[Tree]] = {}
    left: list[Tree] = []
    for part in _conjuncts(_push_not(condition)):
        tables = _tables(part, place)
        if len(tables) == 1:
            own.setdefault(tables.pop(), []).append(part)
        else:
            left.append(part)
    naming = _Naming(place)
    rest = naming.name(conjunction("AND", left)) if left else None
    named = None if value is None else naming.name(value)
    return Terms({table: conjunction("AND", parts) for table, parts in own.items()}, naming.features, rest, named)


def complement(condition: Tree, place: Mapping[str, int]) -> Tree | None:
    """For an OR over several tables: the AND that holds exactly where it does not; None for other conditions.

    A condition that is null does not hold, so each part is asked whether it "is not true".
    """
    pushed = _push_not(condition)
    if pushed["type"] != "CONJUNCTION_OR" or len(_tables(pushed, place)) < 2:
        return None
    parts: list[Tree] = pushed["children"]
    if any(len(_tables(part, place)) > 1 for part in parts):
        return None
    return conjunction("AND", [_is_not_true(part) for part in parts])


class _Naming:
    """Gives a name to each part that one table answers; equal parts share one."""

    def __init__(self, place: Mapping[str, int]) -> None:
        self._place = place
        self._names: dict[str, str] = {}
        self.features: dict[int, dict[str, Tree]] = {}

    def name(self, tree: Tree) -> Tree:
        return replace_parts(tree, self._replacement)

    def _replacement(self, node: Tree) -> Tree | None:
        tables = _tables(node, self._place)
        if len(tables) != 1:
            return None
        (table,) = tables
        name = self._names.setdefault(json.dumps(node, sort_keys=True), f"f{len(self._names)}")
        self.features.setdefault(table, {})[name] = node
        return column(name)


def _tables(tree: Tree, place: Mapping[str, int]) -> set[int]:
    return {place[node["column_names"][0]] for node in nodes(tree) if node["class"] == "COLUMN_REF"}


def _conjuncts(tree: Tree) -> list[Tree]:
    if tree["type"] != "CONJUNCTION_AND":
        return [tree]
    return [part for child in tree["children"] for part in _conjuncts(child)]


def _push_not(tree: Tree, *, negated: bool = False) -> Tree:
    """Move each NOT below AND and OR, which SQL's three truth values allow (De Morgan)."""
    if tree["type"] == "OPERATOR_NOT":
        return _push_not(tree["children"][0], negated=not negated)
    if tree["type"] in _NEGATED:
        kind = _NEGATED[tree["type"]] if negated else tree["type"].removeprefix("CONJUNCTION_")
        return conjunction(kind, _flat(kind, [_push_not(child, negated=negated) for child in tree["children"]]))
    return operator("NOT", tree) if negated else tree


def _flat(kind: str, children: list[Tree]) -> list[Tree]:
    """(a OR b) OR c as a OR b OR c."""
    return [
        part
        for child in children
        for part in (child["children"] if child["type"] == f"CONJUNCTION_{kind}" else [child])
    ]


def _is_not_true(tree: Tree) -> Tree:
    nothing = {
        "class": "CONSTANT",
        "type": "VALUE_CONSTANT",
        "alias": "",
        "literal": {"kind": "BOOLEAN", "text": "true"},
    }
    return {"class": "COMPARISON", "type": "COMPARE_DISTINCT_FROM", "alias": "", "left": tree, "right": nothing}
