# SPDX-License-Identifier: Apache-2.0
"""SQL-like conditions, parsed by sqlglot and let through only if they are expressions over released columns.

sqlglot turns the text (in DuckDB's SQL) into a tree without running it. Every node must be of a class that a condition may be made of. What
runs later is written from the checked tree, never from the user's text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

from divulge.errors import BadInput, nearest
from divulge.values import as_number

if TYPE_CHECKING:
    from sqlglot import exp


Tree: TypeAlias = "exp.Expr"
"""A node of sqlglot's tree; its `key` is the name of its class in small letters."""
_CLASSES = frozenset(
    "Column Identifier Literal RawString Boolean Null Paren And Or Not EQ NEQ GT GTE LT LTE NullSafeEQ NullSafeNEQ Is In "
    "Between Like ILike Glob SimilarTo RegexpLike RegexpFullMatch Case If Cast TryCast DataType DataTypeParam Coalesce "
    "Nullif Add Sub Mul Div IntDiv Mod Pow Neg DPipe Abs Round Floor Ceil Sqrt Ln Log Greatest Least Lower Upper Length "
    "Trim Substring Left Right Contains StartsWith EndsWith StrPosition Anonymous Extract DateTrunc TimestampTrunc Var "
    "Year Month Day".split()
)
_UNKNOWN_TO_SQLGLOT = frozenset({"prefix", "suffix", "date_part"})
_TYPES = frozenset(
    "BOOLEAN TINYINT SMALLINT INT BIGINT INT128 UTINYINT USMALLINT UINT UBIGINT FLOAT DOUBLE DECIMAL CHAR VARCHAR TEXT "
    "DATE TIME TIMESTAMP TIMESTAMPNTZ TIMESTAMPTZ".split()
)
_COMPARISONS = frozenset("eq neq gt gte lt lte nullsafeeq nullsafeneq between in is".split())
_EXAMPLE = "Write what would stand after WHERE, such as: age > 30 and job = 'Doctor'"
_LONGEST = 50_000
_DIALECT = "duckdb"
_QUOTES = f"{_EXAMPLE}; a name that SQL uses itself stands in double quotes"


@dataclass(frozen=True, eq=False)
class Expression:
    """A checked expression over released columns."""

    text: str
    """As the user wrote it."""
    tree: Tree


def parse(text: str, columns: Sequence[str]) -> Expression:
    """Read one expression; anything but an expression over these columns is refused."""
    tree = _parsed(text)
    for node in list(tree.walk()):
        if node.key == "column":
            _resolve(node, columns, text)
        elif (refused := _refusal(node)) is not None:
            raise BadInput(f"{cut(text)} holds {refused}, which a condition must not", hint=_EXAMPLE)
        else:
            _set_apart(node, text)
    return Expression(text, tree)


def write(tree: Tree) -> str:
    """A tree as SQL text of DuckDB, which reads every release, those that Spark wrote too."""
    from sqlglot import ErrorLevel, UnsupportedError

    try:
        return tree.sql(dialect=_DIALECT, comments=False, unsupported_level=ErrorLevel.RAISE)
    except RecursionError:
        raise too_deep("the condition") from None
    except UnsupportedError as error:
        raise BadInput(f"DuckDB cannot work the condition out: {str(error).splitlines()[0]}") from None


def names_in(tree: Tree) -> set[str]:
    """The columns that an expression asks."""
    return {node.name for node in tree.walk() if node.key == "column"}


def numbers_compared(tree: Tree, name: str) -> list[Fraction]:
    """The numbers that a column is compared with; refused where it is used in any other way."""
    found: list[Fraction] = []
    for node in tree.walk():
        if node.key != "column" or node.name != name:
            continue
        inner, outer = node, node.parent
        while outer is not None and outer.key == "paren":
            inner, outer = outer, outer.parent
        numbers = (
            [_number(part) for part in outer.iter_expressions() if part is not inner] if outer is not None else [None]
        )
        if outer is None or outer.key not in _COMPARISONS or None in numbers:
            raise BadInput(
                f"the labels of {name!r} stand for ranges of numbers, and the condition does more than compare it with numbers",
                hint=f'Such as: "{name}" >= 30; or give the hierarchy of the column, or the release with its mappings',
            )
        found += [number for number in numbers if number is not None]
    return found


def _number(tree: Tree) -> Fraction | None:
    """The number that a tree writes; None where it writes something else. For null it may be any: one more changes nothing."""
    tree = tree.unnest()
    if tree.key == "null":
        return Fraction(0)
    if tree.key == "neg":
        number = _number(tree.this)
        return None if number is None else -number
    return as_number(tree.name) if tree.key == "literal" and not tree.args.get("is_string") else None


def column(name: str) -> Tree:
    """The tree of a column's name."""
    from sqlglot import exp

    return exp.column(name, quoted=True)


def join(kind: str, parts: Iterable[Tree]) -> Tree:
    """Several conditions joined by "and" or "or"; one alone stays as it is."""
    from sqlglot import exp

    return (exp.and_ if kind == "and" else exp.or_)(*parts)


def is_not_null(tree: Tree) -> Tree:
    """Whether an expression has a value."""
    from sqlglot import exp

    return exp.Not(this=exp.Is(this=exp.paren(tree), expression=exp.null()))


def _parsed(text: str) -> Tree:
    from sqlglot import Dialect, ParseError, TokenError, exp

    if not text.isprintable() and any(0xD800 <= ord(sign) <= 0xDFFF for sign in text):
        raise BadInput(f"{cut(text)} is not a condition: it holds bytes that are not UTF-8", hint="Write it in UTF-8")
    if len(text) > _LONGEST:
        told = f"a condition of {len(text):,} characters is too long; {_LONGEST:,} are taken"
        raise BadInput(told, hint="Ask for a range instead of a list, or ask in parts and add up")
    try:
        found = Dialect.get_or_raise(_DIALECT).parse_into(exp.Condition, text)
    except RecursionError:
        raise too_deep(cut(text)) from None
    except TokenError:
        raise BadInput(f"{cut(text)} is not a condition: a quote or a comment has no end", hint=_EXAMPLE) from None
    except ParseError as error:
        place = str(error.errors[0].get("highlight", "")) if error.errors else ""
        raise BadInput(f"{cut(text)} is not a condition: it is not understood at {place!r}", hint=_QUOTES) from None
    if len(found) != 1 or found[0] is None:
        raise BadInput(f"{cut(text)} is {'more than one' if any(found) else 'no'} condition", hint=_EXAMPLE)
    return found[0]


def _resolve(node: Any, columns: Sequence[str], text: str) -> None:
    """Give a column its exact name. SQL's names know no case: one that differs in nothing else is meant, unless several do."""
    asked = ".".join(part.name for part in node.parts)
    folded = [name for name in columns if name.casefold() == asked.casefold()]
    fitting = [asked] if asked in columns else folded
    if len(node.parts) != 1 or not fitting:
        told = f"{cut(text)} names the column {asked!r}, which was not released"
        raise BadInput(told, hint=nearest(asked, columns))
    if len(fitting) > 1:
        told = f"{cut(text)} names the column {asked!r}, which could be any of {', '.join(map(repr, fitting))}"
        raise BadInput(told, hint="Write it as the release does")
    node.this.replace(column(fitting[0]).this)


def _refusal(node: Any) -> str | None:
    """What a node is, if it must not stand in a condition."""
    from sqlglot import exp

    class_ = type(node).__name__
    if class_ == "Anonymous" or (class_ not in _CLASSES and isinstance(node, exp.Func)):
        name = node.name if class_ == "Anonymous" else node.sql_name()
        return None if name.lower() in _UNKNOWN_TO_SQLGLOT else f"the function {name.lower()}"
    if class_ == "DataType":
        type_ = str(getattr(node.this, "value", node.this))
        return None if type_ in _TYPES and not node.args.get("nested") else f"the type {node.sql('duckdb').lower()}"
    if class_ == "In" and not node.expressions and not node.args.get("query"):
        return "in without a list"
    if class_ == "Log" and node.args.get("expression") is None:
        return "the function log"
    if class_ in ("Var", "Extract") and not node.name.isalpha():
        return f"the unit {node.name!r}"
    return None if class_ in _CLASSES else re.sub(r"(?<=[a-z])(?=[A-Z])", " ", class_).lower()


def _set_apart(node: Tree, text: str) -> None:
    """Put an operand that is an operation itself in parentheses, so that every engine reads the tree that was checked.

    Where dialects disagree about what is meant (a = b is null), the user is asked for the parentheses.
    """
    from sqlglot import exp

    parent, operations = node.parent, (exp.Binary, exp.Unary, exp.Between, exp.In)
    if not isinstance(node, operations) or not isinstance(parent, operations) or "paren" in (node.key, parent.key):
        return
    compares = isinstance(node, exp.Predicate | exp.Not) and not isinstance(node, exp.Func)
    if compares and isinstance(parent, exp.Predicate):
        raise BadInput(f"{cut(text)} compares a comparison", hint="Put the inner one in parentheses")
    if type(node) is not type(parent) or not isinstance(node, exp.Connector):
        holder = exp.Paren()
        node.replace(holder)
        holder.set("this", node)


def too_deep(what: str) -> BadInput:
    """The refusal of what the parser, the writer or the engine would run out of stack for."""
    return BadInput(f"{what} is nested too deeply", hint="Take it apart, or write lists as: column in (a, b, c)")


def cut(text: str) -> str:
    """The text for a message, its beginning alone where it is long."""
    return repr(text if len(text) <= 80 else text[:77] + "...")


# --- an expression split by the tables of a release -------------------------------------------------------------------
# With x AND y AND z over three tables nothing is left over, and equation 11 of Yao et al. 2021 applies as printed.
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
    # Each part of the rest that one table answers gets a name; equal parts share one.
    names: dict[str, str] = {}
    features: dict[int, dict[str, Tree]] = {}

    def replacement(node: Tree) -> Tree:
        tables = _tables(node, place)
        if len(tables) != 1:
            return node
        part = node.unnest()
        name = names.setdefault(part.sql(dialect=_DIALECT, comments=False), f"f{len(names)}")
        features.setdefault(tables.pop(), {})[name] = part
        return column(name)

    def named(tree: Tree) -> Tree:
        if tree.key in _OTHER and len(_tables(tree, place)) > 1:
            return join(tree.key, [named(part) for part in tree.flatten()])
        return tree.transform(replacement)

    rest = named(join("and", left)) if left else None
    summed = None if value is None else named(value)
    return Terms({table: join("and", parts) for table, parts in own.items()}, features, rest, summed)


def complement(condition: Tree, place: Mapping[str, int]) -> Tree | None:
    """For an OR over several tables: the AND that holds exactly where it does not; None for other conditions.

    A condition that is null does not hold, so each part is asked whether it "is not true".
    """
    from sqlglot import exp

    parts = _parts("or", _push_not(condition))
    tables = [_tables(part, place) for part in parts]
    if any(len(asked) > 1 for asked in tables) or len(set().union(*tables)) < 2:
        return None
    return join("and", [exp.NullSafeNEQ(this=exp.paren(part), expression=exp.true()) for part in parts])


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
