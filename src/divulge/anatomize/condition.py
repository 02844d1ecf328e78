# SPDX-License-Identifier: Apache-2.0
"""SQL-like conditions, parsed by DuckDB and let through only if they are expressions over released columns.

DuckDB turns the text into a tree (json_serialize_sql) without running it. The tree is held against a list of what a
condition may be made of: columns, constants, comparisons, AND, OR, NOT, IN, BETWEEN, LIKE, IS NULL, CASE, casts,
arithmetic and a few functions that depend on nothing but their arguments. What runs later is written from the checked
tree (json_deserialize_sql), never from the user's text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from divulge.engines.base import Engine
from divulge.errors import BadInput, nearest

Tree = dict[str, Any]
"""A node of DuckDB's parse tree; every expression in it is a mapping with a "class"."""

_CLASSES = frozenset("COLUMN_REF CONSTANT COMPARISON CONJUNCTION OPERATOR BETWEEN FUNCTION CASE CAST TYPE".split())
_OPERATORS = frozenset(
    "OPERATOR_NOT OPERATOR_IS_NULL OPERATOR_IS_NOT_NULL OPERATOR_COALESCE COMPARE_IN COMPARE_NOT_IN".split()
)
_FUNCTIONS = frozenset(
    "+ - * / // % ^ || ~~ !~~ ~~* !~~* ~~~ abs round floor ceil ceiling sqrt ln log10 greatest least nullif lower upper length "
    "trim ltrim rtrim substring substr left right contains starts_with ends_with prefix suffix position regexp_matches "
    "regexp_full_match date_part date_trunc year month day".split()
)
_EXAMPLE = "Write what would stand after WHERE, such as: age > 30 and job = 'Doctor'"


@dataclass(frozen=True, eq=False)
class Expression:
    """A checked expression over released columns."""

    text: str
    """As the user wrote it."""
    tree: Tree
    columns: frozenset[str]


def parse(engine: Engine, text: str, columns: Sequence[str]) -> Expression:
    """Read one expression; anything but an expression over these columns is refused."""
    bare, given = _statement(engine, "SELECT 1 FROM t"), _statement(engine, f"SELECT 1 FROM t WHERE {text}", shown=text)
    tree = given.pop("where_clause", None)
    bare.pop("where_clause", None)
    if not isinstance(tree, dict) or _without_places(given) != _without_places(bare):
        raise BadInput(f"{_cut(text)} is more than one condition", hint=_EXAMPLE)
    tree = _without_places(tree)
    known = {name.casefold(): name for name in columns}
    used = set()
    for node in nodes(tree):
        if node["class"] == "COLUMN_REF":
            used.add(_resolve(node, known, text))
        else:
            _check(node, text)
    return Expression(text, tree, frozenset(used))


def write(engine: Engine, tree: Tree) -> str:
    """A tree as SQL text, written by DuckDB."""
    document = _parsed(engine, "SELECT 1")
    document["statements"][0]["node"]["select_list"] = [tree]
    found = engine.query("SELECT json_deserialize_sql(CAST(? AS JSON)) AS text", [json.dumps(document)]).to_pylist()
    return str(found[0]["text"]).removeprefix("SELECT ")


def nodes(tree: Any) -> Iterator[Tree]:
    """Every expression in a tree, the tree itself first."""
    if isinstance(tree, dict):
        if "class" in tree:
            yield tree
        for part in tree.values():
            yield from nodes(part)
    elif isinstance(tree, list):
        for part in tree:
            yield from nodes(part)


def column(name: str) -> Tree:
    """The tree of a column's name."""
    return {"class": "COLUMN_REF", "type": "COLUMN_REF", "alias": "", "column_names": [name]}


def conjunction(kind: str, children: Iterable[Tree]) -> Tree:
    """Several conditions joined by AND or OR; one alone stays as it is."""
    parts = list(children)
    if len(parts) == 1:
        return parts[0]
    return {"class": "CONJUNCTION", "type": f"CONJUNCTION_{kind}", "alias": "", "children": parts}


def operator(kind: str, child: Tree) -> Tree:
    """NOT, IS NULL or IS NOT NULL of an expression."""
    return {"class": "OPERATOR", "type": f"OPERATOR_{kind}", "alias": "", "children": [child]}


def replace_parts(tree: Tree, replacement_of: Callable[[Tree], Tree | None]) -> Tree:
    """A copy of the tree in which nodes are replaced, from the top down; None keeps a node and looks at its parts."""

    def walk(part: Any) -> Any:
        if isinstance(part, dict):
            replacement = replacement_of(part) if "class" in part else None
            return replacement if replacement is not None else {key: walk(value) for key, value in part.items()}
        return [walk(item) for item in part] if isinstance(part, list) else part

    result: Tree = walk(tree)
    return result


def _statement(engine: Engine, sql: str, *, shown: str = "") -> Tree:
    document = _parsed(engine, sql)
    if document["error"]:
        reason = str(document.get("error_message", "")).splitlines()[0]
        raise BadInput(f"{_cut(shown)} is not a condition: {reason}", hint=_EXAMPLE)
    if len(document["statements"]) != 1:
        raise BadInput(f"{_cut(shown)} is more than one condition", hint=_EXAMPLE)
    statement: Tree = document["statements"][0]["node"]
    return statement


def _parsed(engine: Engine, sql: str) -> Tree:
    found = engine.query("SELECT json_serialize_sql(?) AS tree", [sql]).to_pylist()
    document: Tree = json.loads(found[0]["tree"])
    return document


def _without_places(part: Any) -> Any:
    """The tree without where in the text each node stands."""
    if isinstance(part, dict):
        return {key: _without_places(value) for key, value in part.items() if not key.startswith("query_location")}
    return [_without_places(item) for item in part] if isinstance(part, list) else part


def _resolve(node: Tree, known: dict[str, str], text: str) -> str:
    """The released column that is meant; SQL's names know no case. The node gets the exact name."""
    names = node["column_names"]
    exact = known.get(str(names[-1]).casefold())
    if len(names) != 1 or exact is None:
        asked = ".".join(names)
        raise BadInput(
            f"{_cut(text)} names the column {asked!r}, which was not released", hint=nearest(asked, known.values())
        )
    node["column_names"] = [exact]
    return exact


def _check(node: Tree, text: str) -> None:
    class_, type_ = node["class"], str(node.get("type", ""))
    name = str(node.get("function_name", "")).lower()
    allowed = class_ in _CLASSES
    if class_ == "OPERATOR":
        allowed = type_ in _OPERATORS
    if class_ == "FUNCTION":
        plain = not (node.get("schema") or node.get("catalog") or node.get("filter") or node.get("distinct"))
        allowed = name in _FUNCTIONS and plain and not node.get("order_bys", {}).get("orders")
    if not allowed:
        what = f"the function {name}" if class_ == "FUNCTION" else type_.replace("_", " ").lower()
        raise BadInput(f"{_cut(text)} holds {what}, which a condition must not", hint=_EXAMPLE)


def _cut(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:77] + "...")
