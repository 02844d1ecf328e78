# SPDX-License-Identifier: Apache-2.0
"""Single changes (mutants) of Python sources, and the import hook that runs or records them.

Environment variables control the hook, so that it also works in the processes that a test starts:

    DIVULGE_MUTANT=composition/intersection_bounds.py:412:1   # run this change; no file is written
    DIVULGE_RECORD=FOLDER                         # record which statements of functions are executed

It needs only the standard library, because every process imports it at its start.
"""  # noqa: E501

from __future__ import annotations

import ast
import atexit
import hashlib
import importlib.abc
import importlib.machinery
import json
import marshal
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "divulge"
MUTANT = "DIVULGE_MUTANT"
RECORD = "DIVULGE_RECORD"

FLIPPED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
STRICTNESS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}
OPPOSITE_NAMES = {
    "max": "min",
    "min": "max",
    "any": "all",
    "all": "any",
    "maximum": "minimum",
    "minimum": "maximum",
    "argmax": "argmin",
    "argmin": "argmax",
}
NO_DECISION = frozenset(
    ("strict", "exist_ok", "parents", "frozen", "eq", "slots", "ensure_ascii", "daemon")
)
"""Keywords whose truth value does not affect a release."""
SWAPPED_OPERATORS = (ast.Sub, ast.Div, ast.FloorDiv, ast.Mod)


@dataclass(frozen=True, order=True)
class Mutation:
    """One change of one node of a source file."""

    file: str
    """Path below src/divulge, with slashes."""
    node: int
    """Index of the node in a walk through the syntax tree."""
    variant: int
    """Index of the change among the possible changes of the node."""
    kind: str
    line: int
    statement: int
    """Line on which the innermost statement begins; 0 if it runs when the module is imported."""
    function: str

    @property
    def key(self) -> str:
        """Text that identifies the mutant."""
        return f"{self.file}:{self.node}:{self.variant}"


# --- the changes ----------------------------------------------------------------------------------


def mutations(source: str, file: str) -> list[Mutation]:
    """List every change of a source, in the order of the syntax tree."""
    tree = ast.parse(source)
    places = _enclosing(tree)
    found: list[Mutation] = []
    for index, node in enumerate(ast.walk(tree)):
        place = places.get(node)
        if place is None:
            continue
        for variant, (kind, _) in enumerate(_changes(node, place)):
            statement = place.statement if place.function else 0
            line = getattr(node, "lineno", statement)
            found.append(Mutation(file, index, variant, kind, line, statement, place.function))
    return found


def mutated(source: str, node: int, variant: int) -> ast.Module:
    """Return the syntax tree of a source with one change."""
    return _mutated_nodes(source, node, variant)[0]


def before_and_after(source: str, node: int, variant: int) -> tuple[str, str]:
    """Return the changed expression before and after, each in one line."""
    _, before, after = _mutated_nodes(source, node, variant)
    return _shown(before), _shown(after)


def _mutated_nodes(source: str, index: int, variant: int) -> tuple[ast.Module, ast.AST, ast.AST]:
    tree = ast.parse(source)
    places = _enclosing(tree)
    node = next(node for position, node in enumerate(ast.walk(tree)) if position == index)
    _, replacement = _changes(node, places[node])[variant]
    _Replace(node, replacement).visit(tree)
    return ast.fix_missing_locations(tree), node, replacement


def _shown(node: ast.AST) -> str:
    text = ast.unparse(node)
    first = text.split("\n", 1)[0] if isinstance(node, ast.If) else " ".join(text.split())
    return first if len(first) <= 160 else f"{first[:157]}..."


class _Replace(ast.NodeTransformer):
    def __init__(self, node: ast.AST, replacement: ast.AST) -> None:
        self.node = node
        self.replacement = replacement

    def visit(self, node: ast.AST) -> Any:
        if node is self.node:
            return ast.copy_location(self.replacement, node)
        return self.generic_visit(node)


@dataclass(frozen=True)
class _Place:
    """Position of a node: its parent, innermost statement, enclosing functions and classes."""

    parent: ast.AST
    statement: int
    function: str


def _enclosing(tree: ast.Module) -> dict[ast.AST, _Place]:
    """Map every expression and statement that may be changed to its position.

    Annotations are left out.
    """
    places: dict[ast.AST, _Place] = {}

    def descend(node: ast.AST, parent: ast.AST, statement: int, function: str) -> None:
        if isinstance(node, ast.stmt):
            statement = node.lineno
        places[node] = _Place(parent, statement, function)
        inside = function
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inside = f"{function}.{node.name}".lstrip(".")
        for name, value in ast.iter_fields(node):
            if name in {"annotation", "returns", "decorator_list", "type_params"}:
                continue
            own = inside if name == "body" else function
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    descend(child, node, statement, own)

    for statement in tree.body:
        descend(statement, tree, 0, "")
    return places


def _changes(node: ast.AST, place: _Place) -> list[tuple[str, ast.AST]]:
    """Return the changes of one node, each with its kind and the node that replaces it."""
    if isinstance(node, ast.Compare):
        return _comparison_changes(node)
    if isinstance(node, ast.BoolOp):
        operator = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        return [("and/or", ast.BoolOp(operator, node.values))]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return [("not", node.operand)]
    if isinstance(node, ast.If):
        return _guard_changes(node)
    if (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, SWAPPED_OPERATORS)
        and not _is_text(node.left)
    ):
        return [("operands", ast.BinOp(node.right, node.op, node.left))]
    if isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Load) and place.function:
        return _pair_changes(node, place.parent)
    if isinstance(node, ast.Call):
        return _opposite_call(node)
    if isinstance(node, ast.Constant) and place.function:
        return _constant_changes(node, place.parent)
    return []


def _comparison_changes(node: ast.Compare) -> list[tuple[str, ast.AST]]:
    found: list[tuple[str, ast.AST]] = []
    for index, operator in enumerate(node.ops):
        for table, kind in ((FLIPPED, "comparison"), (STRICTNESS, "strictness")):
            if other := table.get(type(operator)):
                operators = [*node.ops[:index], other(), *node.ops[index + 1 :]]
                found.append((kind, ast.Compare(node.left, operators, node.comparators)))
    return found


def _guard_changes(node: ast.If) -> list[tuple[str, ast.AST]]:
    leaves = isinstance(node.body[-1], ast.Raise | ast.Return | ast.Continue | ast.Break)
    typing_only = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    if node.orelse or not leaves or typing_only:
        return []
    return [("guard", ast.If(ast.Constant(value=False), node.body, []))]


def _pair_changes(node: ast.Tuple, parent: ast.AST) -> list[tuple[str, ast.AST]]:
    if len(node.elts) != 2 or isinstance(parent, ast.Subscript | ast.Assign):
        return []
    first, second = node.elts
    if isinstance(first, ast.Starred) or isinstance(second, ast.Starred):
        return []
    membership = isinstance(parent, ast.Compare)
    shorter = [("operands", ast.Tuple([second], ast.Load()))] if membership else []
    swapped = [] if membership else [("operands", ast.Tuple([second, first], ast.Load()))]
    return [*shorter, *swapped]


def _opposite_call(node: ast.Call) -> list[tuple[str, ast.AST]]:
    called = node.func
    if isinstance(called, ast.Name) and called.id in OPPOSITE_NAMES:
        name = ast.Name(OPPOSITE_NAMES[called.id], ast.Load())
        return [("opposite", ast.Call(name, node.args, node.keywords))]
    if isinstance(called, ast.Attribute) and called.attr in OPPOSITE_NAMES:
        attribute = ast.Attribute(called.value, OPPOSITE_NAMES[called.attr], ast.Load())
        return [("opposite", ast.Call(attribute, node.args, node.keywords))]
    return []


def _constant_changes(node: ast.Constant, parent: ast.AST) -> list[tuple[str, ast.AST]]:
    if isinstance(node.value, bool):
        if isinstance(parent, ast.keyword) and parent.arg in NO_DECISION:
            return []
        return [("constant", ast.Constant(value=not node.value))]
    if isinstance(node.value, int) and isinstance(
        parent, ast.Compare | ast.BinOp | ast.Slice | ast.Subscript
    ):
        return [("constant", ast.Constant(value=node.value + 1))]
    return []


def _is_text(node: ast.expr) -> bool:
    """Return whether a left operand is a text, whose % is formatting."""
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


# --- executed statements --------------------------------------------------------------------------

HITS = "_divulge_hits"


@dataclass(frozen=True)
class Probed:
    """Statements of one module, by line, and a byte for each that is 1 once it was executed."""

    lines: list[int]
    hits: bytearray


EXECUTED: dict[str, Probed] = {}
"""Records of this process, by file."""


def take_executed() -> dict[str, str]:
    """Return the lines executed since the last call, by file, as a bit set in hexadecimal."""
    found: dict[str, str] = {}
    for file, probed in EXECUTED.items():
        if 1 not in probed.hits:
            continue
        bits = 0
        for line, hit in zip(probed.lines, probed.hits, strict=True):
            if hit:
                bits |= 1 << line
        found[file] = f"{bits:x}"
        probed.hits[:] = bytes(len(probed.hits))
    return found


def probed(tree: ast.Module) -> list[int]:
    """Put a probe before each statement of each function; return the statements' lines."""
    lines: list[int] = []
    for function in [
        node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]:
        for block in _blocks(function):
            block[:] = list(_with_probes(block, lines))
    ast.fix_missing_locations(tree)
    return lines


def _blocks(function: ast.AST) -> Iterator[list[ast.stmt]]:
    """Yield the lists of statements of a function, without those of inner functions."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(function, name, None)
        if isinstance(block, list) and block:
            inner = [
                node
                for node in block
                if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            ]
            for statement in inner:
                yield from _blocks(statement)
            yield block
    for name in ("handlers", "cases"):
        for part in getattr(function, name, []):
            yield from _blocks(part)


def _with_probes(block: Sequence[ast.stmt], lines: list[int]) -> Iterator[ast.stmt]:
    for index, statement in enumerate(block):
        docstring = (
            index == 0
            and isinstance(statement, ast.Expr)
            and isinstance(statement.value, ast.Constant)
        )
        if not docstring:
            probe = ast.parse(f"{HITS}[{len(lines)}] = 1").body[0]
            lines.append(statement.lineno)
            yield ast.copy_location(probe, statement)
        yield statement


# --- the hook -------------------------------------------------------------------------------------


class _Loader(importlib.machinery.SourceFileLoader):
    """Compile a module anew, with a change or with probes.

    Nothing is written next to the source.
    """

    def get_code(self, fullname: str) -> CodeType | None:
        del fullname
        source = Path(self.path).read_text(encoding="utf-8")
        file = Path(self.path).relative_to(PACKAGE).as_posix()
        mutant = os.environ.get(MUTANT, "")
        if mutant.startswith(f"{file}:"):
            _, node, variant = mutant.rsplit(":", 2)
            return compile(
                mutated(source, int(node), int(variant)), self.path, "exec", dont_inherit=True
            )
        code, lines = _probed_code(source, self.path)
        # A module that is imported or compiled again continues with the bytes that its functions
        # write.
        EXECUTED.setdefault(file, Probed(lines, bytearray(len(lines))))
        return code

    def exec_module(self, module: ModuleType) -> None:
        file = Path(self.path).relative_to(PACKAGE).as_posix()
        code = self.get_code(module.__name__)
        if file in EXECUTED:
            vars(module)[HITS] = EXECUTED[file].hits
        if code is not None:
            exec(code, vars(module))  # noqa: S102 - this is what a loader does


def _probed_code(source: str, path: str) -> tuple[CodeType, list[int]]:
    """Compile a source with probes, once for all processes of a recording."""
    digest = hashlib.sha256(f"{path}\n{source}".encode()).hexdigest()[:24]
    kept = Path(os.environ[RECORD]) / "compiled" / digest
    if kept.exists():
        code, lines = marshal.loads(kept.read_bytes())  # noqa: S302 - written by this program
        return code, lines
    tree = ast.parse(source)
    lines = probed(tree)
    code = compile(tree, path, "exec", dont_inherit=True)
    kept.parent.mkdir(parents=True, exist_ok=True)
    partial = kept.with_suffix(f".{os.getpid()}")
    partial.write_bytes(marshal.dumps((code, lines)))
    partial.replace(kept)
    return code, lines


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.partition(".")[0] != "divulge":
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if (
            spec is None
            or spec.origin is None
            or not isinstance(spec.loader, importlib.machinery.SourceFileLoader)
        ):
            return spec
        origin = Path(spec.origin)
        if not origin.is_relative_to(PACKAGE):
            return spec
        mutant = os.environ.get(MUTANT, "")
        if os.environ.get(RECORD) or mutant.startswith(
            f"{origin.relative_to(PACKAGE).as_posix()}:"
        ):
            spec.loader = _Loader(fullname, spec.origin)
        return spec


def install() -> None:
    """Run a mutant or record in this process, if the environment variables are set."""
    if not (os.environ.get(MUTANT) or os.environ.get(RECORD)):
        return
    sys.meta_path.insert(0, _Finder())
    if os.environ.get(RECORD) and os.environ.get("PYTEST_CURRENT_TEST"):
        atexit.register(_record_child)


def go_first() -> None:
    """Let the hook of this process run before hooks that were installed later."""
    sys.meta_path.sort(key=lambda finder: not isinstance(finder, _Finder))


def _record_child() -> None:
    """Write the executed statements of a process that a test started."""
    executed = take_executed()
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
    if executed and test:
        folder = Path(os.environ[RECORD]) / "children"
        folder.mkdir(parents=True, exist_ok=True)
        record = {"test": test, "lines": executed}
        (folder / f"{os.getpid()}-{os.urandom(4).hex()}.json").write_text(
            json.dumps(record), encoding="utf-8"
        )
