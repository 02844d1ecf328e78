# SPDX-License-Identifier: Apache-2.0
"""SQL-like conditions, parsed by sqlglot and restricted to expressions over released columns.

sqlglot turns the text (in DuckDB's SQL) into a tree without running it. Every node must be of an
allowed class. The SQL that runs later is written from the checked tree, never from the user's text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

from divulge.arguments import outside
from divulge.errors import BadInput, nearest
from divulge.text import as_number

if TYPE_CHECKING:
    from sqlglot import exp


Tree: TypeAlias = "exp.Expr"
"""Node of sqlglot's tree; its `key` is the name of its class in lower case."""
_ALLOWED_NODES = frozenset(
    "Column Identifier Literal RawString Boolean Null Paren And Or Not EQ NEQ GT GTE LT "
    "LTE NullSafeEQ NullSafeNEQ Is In Between Like ILike Glob SimilarTo RegexpLike RegexpFullMatch "
    "Case If Cast TryCast DataType DataTypeParam Coalesce Nullif Add Sub Mul Div IntDiv Mod Pow "
    "Neg DPipe Abs Round Floor Ceil Sqrt Ln Log Greatest Least Lower Upper Length Trim Substring "
    "Left Right Contains StartsWith EndsWith StrPosition Anonymous Extract DateTrunc "
    "TimestampTrunc Var Year Month Day".split()
)
_UNKNOWN_TO_SQLGLOT = frozenset({"prefix", "suffix", "date_part"})
_ALLOWED_TYPES = frozenset(
    "BOOLEAN TINYINT SMALLINT INT BIGINT INT128 UTINYINT USMALLINT UINT UBIGINT FLOAT DOUBLE "
    "DECIMAL CHAR VARCHAR TEXT DATE TIME TIMESTAMP TIMESTAMPNTZ TIMESTAMPTZ".split()
)
_COMPARISONS = frozenset("eq neq gt gte lt lte nullsafeeq nullsafeneq between in is".split())
_EXAMPLE = "Write what would stand after WHERE, such as: age > 30 and job = 'Doctor'"
_MAX_LENGTH = 50_000
_DIALECT = "duckdb"
_QUOTES = f"{_EXAMPLE}; a name that SQL uses itself stands in double quotes"


@dataclass(frozen=True, eq=False)
class Expression:
    """Checked expression over released columns."""

    text: str
    """Text as the user wrote it."""
    tree: Tree


def parse(text: str, columns: Sequence[str]) -> Expression:
    """Parse one expression over these columns; any other text raises BadInput."""
    tree = _parse_text(text)
    for node in list(tree.walk()):
        if node.key == "column":
            _resolve(node, columns, text)
        elif (forbidden := _describe_forbidden(node)) is not None:
            raise BadInput(
                f"{quoted_excerpt(text)} holds {forbidden}, which a condition must not",
                hint=_EXAMPLE,
            )
        else:
            _parenthesize(node, text)
    return Expression(text, tree)


def write(tree: Tree) -> str:
    """Write a tree as SQL of DuckDB, which reads every release, even those written by Spark."""
    from sqlglot import ErrorLevel, UnsupportedError

    try:
        return tree.sql(dialect=_DIALECT, comments=False, unsupported_level=ErrorLevel.RAISE)
    except RecursionError:
        raise nesting_error("the condition") from None
    except UnsupportedError as error:
        raise BadInput(
            f"DuckDB cannot work the condition out: {outside(str(error).splitlines()[0])}"
        ) from None


def names_in(tree: Tree) -> set[str]:
    """Names of the columns in an expression."""
    return {node.name for node in tree.walk() if node.key == "column"}


def numbers_compared(tree: Tree, name: str) -> list[Fraction]:
    """Numbers that a column is compared with.

    Raises:
        BadInput: if the column is used in any other way.
    """
    fractions: list[Fraction] = []
    for node in tree.walk():
        if node.key != "column" or node.name != name:
            continue
        inner = node
        outer = node.parent
        while outer is not None and outer.key == "paren":
            inner = outer
            outer = outer.parent
        if outer is not None:
            numbers = [_number_of(part) for part in outer.iter_expressions() if part is not inner]
        else:
            numbers = [None]
        if outer is None or outer.key not in _COMPARISONS or None in numbers:
            raise BadInput(
                f"the labels of {name!r} stand for ranges of numbers, and the condition does "
                "more than compare it with numbers",
                hint=f'Such as: "{name}" >= 30; or give the hierarchy of the column, or the '
                "release with its private part",
            )
        fractions += [number for number in numbers if number is not None]
    return fractions


def _number_of(tree: Tree) -> Fraction | None:
    """Return the number that a tree represents; None if it is not a number.

    Null returns 0: an additional number in the result changes no answer.
    """
    tree = tree.unnest()
    if tree.key == "null":
        return Fraction(0)
    if tree.key == "neg":
        number = _number_of(tree.this)
        if number is None:
            return None
        return -number
    if tree.key == "literal" and not tree.args.get("is_string"):
        return as_number(tree.name)
    return None


def column(name: str) -> Tree:
    """Build the tree of a column's name."""
    from sqlglot import exp

    return exp.column(name, quoted=True)


def join(kind: str, parts: Iterable[Tree]) -> Tree:
    """Join conditions by "and" or "or"; a single condition is returned unchanged."""
    from sqlglot import exp

    return (exp.and_ if kind == "and" else exp.or_)(*parts)


def is_not_null(tree: Tree) -> Tree:
    """Build the condition that an expression is not null."""
    from sqlglot import exp

    return exp.Not(this=exp.Is(this=exp.paren(tree), expression=exp.null()))


def _parse_text(text: str) -> Tree:
    from sqlglot import Dialect, ParseError, TokenError, exp

    if not text.isprintable() and any(0xD800 <= ord(character) <= 0xDFFF for character in text):
        raise BadInput(
            f"{quoted_excerpt(text)} is not a condition: it holds bytes that are not UTF-8",
            hint="Write it in UTF-8",
        )
    if len(text) > _MAX_LENGTH:
        message = f"a condition of {len(text):,} characters is too long; {_MAX_LENGTH:,} are taken"
        raise BadInput(
            message, hint="Ask for a range instead of a list, or ask in parts and add up"
        )
    try:
        expressions = Dialect.get_or_raise(_DIALECT).parse_into(exp.Condition, text)
    except RecursionError:
        raise nesting_error(quoted_excerpt(text)) from None
    except TokenError:
        raise BadInput(
            f"{quoted_excerpt(text)} is not a condition: a quote or a comment has no end",
            hint=_EXAMPLE,
        ) from None
    except ParseError as error:
        if error.errors:
            position = str(error.errors[0].get("highlight", ""))
        else:
            position = ""
        raise BadInput(
            f"{quoted_excerpt(text)} is not a condition: it is not understood at {position!r}",
            hint=_QUOTES,
        ) from None
    if len(expressions) != 1 or expressions[0] is None:
        raise BadInput(
            f"{quoted_excerpt(text)} is {'more than one' if any(expressions) else 'no'} condition",
            hint=_EXAMPLE,
        )
    return expressions[0]


def _resolve(node: Any, columns: Sequence[str], text: str) -> None:
    """Replace the name of a column by its exact spelling in the release.

    SQL's names are case-insensitive. A name that differs from several columns only by case raises
    an error.
    """
    column_name = ".".join(part.name for part in node.parts)
    case_insensitive_matches = [
        name for name in columns if name.casefold() == column_name.casefold()
    ]
    if column_name in columns:
        candidates = [column_name]
    else:
        candidates = case_insensitive_matches
    if len(node.parts) != 1 or not candidates:
        message = f"{quoted_excerpt(text)} names the column {column_name!r}, which was not released"
        raise BadInput(message, hint=nearest(column_name, columns))
    if len(candidates) > 1:
        message = (
            f"{quoted_excerpt(text)} names the column {column_name!r}, which could be any of "
            f"{', '.join(map(repr, candidates))}"
        )
        raise BadInput(message, hint="Write it as the release does")
    node.this.replace(column(candidates[0]).this)


def _describe_forbidden(node: Any) -> str | None:
    """Describe a node that is not allowed in a condition; None for an allowed one."""
    from sqlglot import exp

    class_ = type(node).__name__
    if class_ == "Anonymous" or (class_ not in _ALLOWED_NODES and isinstance(node, exp.Func)):
        if class_ == "Anonymous":
            name = node.name
        else:
            name = node.sql_name()
        if name.lower() in _UNKNOWN_TO_SQLGLOT:
            return None
        return f"the function {name.lower()}"
    if class_ == "DataType":
        type_ = str(getattr(node.this, "value", node.this))
        if type_ in _ALLOWED_TYPES and not node.args.get("nested"):
            return None
        return f"the type {node.sql('duckdb').lower()}"
    if class_ == "In" and not node.expressions and not node.args.get("query"):
        return "in without a list"
    if class_ == "Log" and node.args.get("expression") is None:
        return "the function log"
    if class_ in ("Var", "Extract") and not node.name.isalpha():
        return f"the unit {node.name!r}"
    if class_ in _ALLOWED_NODES:
        return None
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", class_).lower()


def _parenthesize(node: Tree, text: str) -> None:
    """Put an operand that is itself an operation in parentheses.

    So every engine reads the tree that was checked. An expression that dialects read differently
    (a = b is null) raises an error that requests parentheses.
    """
    from sqlglot import exp

    parent = node.parent
    operations = (exp.Binary, exp.Unary, exp.Between, exp.In)
    if (
        not isinstance(node, operations)
        or not isinstance(parent, operations)
        or "paren" in (node.key, parent.key)
    ):
        return
    is_comparison = isinstance(node, exp.Predicate | exp.Not) and not isinstance(node, exp.Func)
    if is_comparison and isinstance(parent, exp.Predicate):
        raise BadInput(
            f"{quoted_excerpt(text)} compares a comparison", hint="Put the inner one in parentheses"
        )
    if type(node) is not type(parent) or not isinstance(node, exp.Connector):
        parentheses = exp.Paren()
        node.replace(parentheses)
        parentheses.set("this", node)


def nesting_error(subject: str) -> BadInput:
    """Error for an expression that exceeds the stack of the parser, the writer or the engine."""
    return BadInput(
        f"{subject} is nested too deeply",
        hint="Take it apart, or write lists as: column in (a, b, c)",
    )


def quoted_excerpt(text: str) -> str:
    """Quote a text for a message; of a long text only the beginning."""
    return repr(text if len(text) <= 80 else text[:77] + "...")


# --- Splitting of an expression by the tables of a release ----------------------------------------
# For x AND y AND z over three tables the rest is empty, and equation 11 of Yao et al. 2021 applies
# as printed.
_DUAL = {"and": "or", "or": "and"}


@dataclass(frozen=True, eq=False)
class Terms:
    """Expression split by the tables of a release."""

    table_conditions: Mapping[int, Tree]
    """For each table, a condition over its columns only; all of these must hold."""
    features: Mapping[int, Mapping[str, Tree]]
    """For each table, the single-table parts of `rest` and `value`, by their feature name."""
    rest: Tree | None
    """Rest of the condition, over several tables, written with feature names; None if empty."""
    value: Tree | None = None
    """Expression to sum up, written with feature names; None for a count."""

    @property
    def tables(self) -> tuple[int, ...]:
        """Tables that the expression refers to."""
        return tuple(sorted({*self.table_conditions, *self.features}))


def split_by_table(
    condition: Tree, table_of_column: Mapping[str, int], *, value: Tree | None = None
) -> Terms:
    """Split a condition, and the expression to sum up over its matches, by table.

    `table_of_column` maps each column to its table.
    """
    table_parts: dict[int, list[Tree]] = {}
    multi_table_parts: list[Tree] = []
    for part in _operands("and", _push_not(condition)):
        tables = _tables(part, table_of_column)
        (
            table_parts.setdefault(tables.pop(), []) if len(tables) == 1 else multi_table_parts
        ).append(part)
    # Each single-table part of the rest gets a feature name; equal parts share one.
    names: dict[str, str] = {}
    features: dict[int, dict[str, Tree]] = {}

    def replace_by_feature(node: Tree) -> Tree:
        tables = _tables(node, table_of_column)
        if len(tables) != 1:
            return node
        part = node.unnest()
        name = names.setdefault(part.sql(dialect=_DIALECT, comments=False), f"f{len(names)}")
        features.setdefault(tables.pop(), {})[name] = part
        return column(name)

    def with_features(tree: Tree) -> Tree:
        if tree.key in _DUAL and len(_tables(tree, table_of_column)) > 1:
            return join(tree.key, [with_features(part) for part in tree.flatten()])
        return tree.transform(replace_by_feature)

    if multi_table_parts:
        rest = with_features(join("and", multi_table_parts))
    else:
        rest = None
    if value is None:
        summed_value = None
    else:
        summed_value = with_features(value)
    return Terms(
        {table: join("and", parts) for table, parts in table_parts.items()},
        features,
        rest,
        summed_value,
    )


def complement(condition: Tree, table_of_column: Mapping[str, int]) -> Tree | None:
    """Return the complement, an AND, of an OR over several tables; None for other conditions.

    A condition that is null does not hold, so each part of the AND is "part is not true".
    """
    from sqlglot import exp

    parts = _operands("or", _push_not(condition))
    tables = [_tables(part, table_of_column) for part in parts]
    if any(len(part_tables) > 1 for part_tables in tables) or len(set().union(*tables)) < 2:
        return None
    return join(
        "and", [exp.NullSafeNEQ(this=exp.paren(part), expression=exp.true()) for part in parts]
    )


def _tables(tree: Tree, table_of_column: Mapping[str, int]) -> set[int]:
    return {table_of_column[node.name] for node in tree.walk() if node.key == "column"}


def _operands(kind: str, tree: Tree) -> list[Tree]:
    """Operands of a tree of this kind (AND or OR); any other tree is its own single part."""
    if tree.key == kind:
        return list(tree.flatten())
    return [tree]


def _push_not(tree: Tree, *, negated: bool = False) -> Tree:
    """Move each NOT below AND and OR (De Morgan), and flatten (a OR b) OR c to a OR b OR c.

    SQL's three-valued logic allows this.
    """
    tree = tree.unnest()
    if tree.key == "not":
        return _push_not(tree.this, negated=not negated)
    if tree.key in _DUAL:
        if negated:
            kind = _DUAL[tree.key]
        else:
            kind = tree.key
        return join(
            kind,
            [
                part
                for operand in tree.flatten()
                for part in _operands(kind, _push_not(operand, negated=negated))
            ],
        )
    if negated:
        return tree.not_()
    return tree
