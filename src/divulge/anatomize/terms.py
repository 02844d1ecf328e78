# SPDX-License-Identifier: Apache-2.0
"""Splitting an expression by the tables of a release: what each table can answer alone, and what must be put together.

A condition becomes: for each table, the part of a top-level AND that only it is asked (`own`); what is left over
(`rest`), in which the largest parts that one table can answer alone are replaced by names (`features`). With x AND y
AND z over three tables nothing is left over, and equation 11 of Yao et al. 2021 applies as printed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from divulge.anatomize.condition import Tree, column, is_not_true, join

_OTHER = {"and": "or", "or": "and"}


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
    for part in _parts("and", _push_not(condition)):
        tables = _tables(part, place)
        (own.setdefault(tables.pop(), []) if len(tables) == 1 else left).append(part)
    naming = _Naming(place)
    rest = naming.name(join("and", left)) if left else None
    named = None if value is None else naming.name(value)
    return Terms({table: join("and", parts) for table, parts in own.items()}, naming.features, rest, named)


def complement(condition: Tree, place: Mapping[str, int]) -> Tree | None:
    """For an OR over several tables: the AND that holds exactly where it does not; None for other conditions.

    A condition that is null does not hold, so each part is asked whether it "is not true".
    """
    parts = _parts("or", _push_not(condition))
    tables = [_tables(part, place) for part in parts]
    if any(len(asked) > 1 for asked in tables) or len(set().union(*tables)) < 2:
        return None
    return join("and", [is_not_true(part) for part in parts])


class _Naming:
    """Gives a name to each part that one table answers; equal parts share one."""

    def __init__(self, place: Mapping[str, int]) -> None:
        self._place = place
        self._names: dict[str, str] = {}
        self.features: dict[int, dict[str, Tree]] = {}

    def name(self, tree: Tree) -> Tree:
        if tree.key in _OTHER and len(_tables(tree, self._place)) > 1:
            return join(tree.key, [self.name(part) for part in tree.flatten()])
        return tree.transform(self._replacement)

    def _replacement(self, node: Tree) -> Tree:
        tables = _tables(node, self._place)
        if len(tables) != 1:
            return node
        part = node.unnest()
        name = self._names.setdefault(part.sql(dialect="duckdb", comments=False), f"f{len(self._names)}")
        self.features.setdefault(tables.pop(), {})[name] = part
        return column(name)


def _tables(tree: Tree, place: Mapping[str, int]) -> set[int]:
    return {place[node.name] for node in tree.walk() if node.key == "column"}


def _parts(kind: str, tree: Tree) -> list[Tree]:
    """What an AND or an OR joins; another tree alone."""
    return list(tree.flatten()) if tree.key == kind else [tree]


def _push_not(tree: Tree, *, negated: bool = False) -> Tree:
    """Move each NOT below AND and OR, which SQL's three truth values allow (De Morgan); (a OR b) OR c is a OR b OR c."""
    tree = tree.unnest()
    if tree.key == "not":
        return _push_not(tree.this, negated=not negated)
    if tree.key in _OTHER:
        kind = _OTHER[tree.key] if negated else tree.key
        return join(kind, [part for one in tree.flatten() for part in _parts(kind, _push_not(one, negated=negated))])
    return tree.not_() if negated else tree
