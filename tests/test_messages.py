# SPDX-License-Identifier: Apache-2.0
"""Texts from outside in the messages of errors are quoted or marked, so that redaction hides them.

A message is an f-string. What it repeats without quotation marks is a count, a name of a file, a
column or an option, a type, or a sentence of divulge; anything else is marked by `outside` or
`quoted` of divulge.arguments.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import divulge

PACKAGE = Path(divulge.__file__).parent
MARKED = {"outside", "quoted", "arg", "arg_name", "marked", "repr", "listed", "quoted_excerpt"}
"""Functions that mark or quote what they are given."""
HARMLESS = frozenset(
    """
    __module__ __qualname__ __version__ _cached_path _quoted_name _role_text _types_by_file
    _violations about address address_text advice arrived as_posix attribute because before
    both_roles bound brief broken_by budget cells changed_options checked_records chosen
    chunks colno column column_sources columns conditions confidence content context count
    defect deferred description detail detected_shell differences display_name display_names
    distinct edits either encoding ending epsilon example examples existing existing_numbers
    expectation expected expected_levels explanation failures fewer fewest file file_name
    filename findings_text first first_name flag flags folder folds forbidden form format
    format_name format_text formats get get_args group group_size groups guesses high
    high_text hint holds home indent index int invalid_rows key kind kind_of_name kinds
    kinds_text known_as l_diversity label labels large least len level limit line line_num
    lineno lines list list_note location long_rows longer loose low low_text lower map
    master max_deferred max_ranges max_table_size maximum meaning measured message method
    mismatches missing module more msg name names needed_columns node noun num_rows number
    option option_name option_text order origin other_columns others out outcome
    outcome_note parent path patterns person places port position prefix private_dir
    private_target probabilities problem problems promised promises purpose queries reason
    records relative_to release remote requested required requirements role role_prefix root
    row_text rows scheme second selectivity settings share shares shorter side sides sign
    size sizes small sorted source source_flags sources spellings storage strerror subject
    successes suppressed suppression table tables target targets text these title top tries type
    type_ type_name types unchecked uncovered_classes unknown unproved_text upper usual_width
    value_text variables verb violation violations wait weights what where why with_header
    with_l without words worst
    """.split()
)
"""Last names of expressions that hold nothing from outside but names of files and columns."""


def error_classes() -> set[str]:
    """Return the names of DivulgeError and of all classes derived from it, however far."""
    bases = {
        node.name: {last_name(base) for base in node.bases}
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    }
    names = {"DivulgeError", "Sentence"}
    while derived := {name for name, inherited in bases.items() if inherited & names} - names:
        names |= derived
    return names


def last_name(node: ast.expr) -> str:
    """Return the last name of an expression: `name` of `column.name`, and of `column.names[0]`."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return last_name(node.value) if node.attr in ("marked", "__name__") else node.attr
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr == "join":
            return last_name(node.args[0])
        return last_name(node.func.value) if node.func.attr == "replace" else node.func.attr
    if isinstance(node, ast.Call):
        return "quoted" if ast.unparse(node).startswith("map(repr") else last_name(node.func)
    for field in ("value", "elt", "left", "body", "values"):
        inner = getattr(node, field, None)
        if isinstance(inner, list):
            inner = inner[0]
        if isinstance(inner, ast.expr):
            return last_name(inner)
    return ""


def is_quoted_or_count(part: ast.FormattedValue) -> bool:
    """Return True for `{value!r}`, and for `{rows:,}`, which only counts have."""
    return part.conversion == ord("r") or (
        part.format_spec is not None and "','" in ast.unparse(part.format_spec)
    )


def unmarked_parts(function: ast.AST, names: set[str]) -> Iterator[tuple[int, str]]:
    """Yield what the f-strings in the errors of a function repeat without quotation marks."""
    for call in ast.walk(function):
        if not isinstance(call, ast.Call) or last_name(call.func) not in names:
            continue
        for text in ast.walk(call):
            if not isinstance(text, ast.JoinedStr):
                continue
            for part in text.values:
                if isinstance(part, ast.FormattedValue) and not is_quoted_or_count(part):
                    yield part.lineno, last_name(part.value)


def test_errors_mark_the_texts_from_outside() -> None:
    names = error_classes()
    unmarked = sorted(
        f"{path.relative_to(PACKAGE)}:{line}: {name}"
        for path in PACKAGE.rglob("*.py")
        for line, name in unmarked_parts(ast.parse(path.read_text(encoding="utf-8")), names)
        if name not in MARKED | HARMLESS and not name.isupper() and name
    )
    assert not unmarked, "\n".join(
        ["mark it by outside() or quoted(), or add a harmless name here:", *unmarked]
    )


def test_an_unmarked_part_is_noticed() -> None:
    source = "raise BadInput(f'{rows:,} rows lack {cell}, {label!r}', hint=f'not {outside(cell)}')"
    assert [name for _, name in unmarked_parts(ast.parse(source), {"BadInput"})] == [
        "cell",
        "outside",
    ]
