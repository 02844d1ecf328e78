# SPDX-License-Identifier: Apache-2.0
"""Meaning of the labels of a generalized release: the values that a record with a label may have.

The publisher has the private part, which lists the values of every label and the type of every
column. A recipient of the release may have the hierarchies. Otherwise a label is read as written:

- null is null,
- a number is itself,
- [20, 30), [20, 29] and 20-29 are every number of the range,
- {20, 25} is one of the listed numbers,
- any other label cannot be queried.

Bounds hold for every value listed here, so a list may be too long but never too short.
"""

from __future__ import annotations

import datetime as dt
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa

from divulge import releases
from divulge.engines import DuckDBEngine, is_plain_type
from divulge.errors import BadInput
from divulge.hierarchies import Hierarchy, file_name, load_hierarchies
from divulge.queries.condition import Tree, numbers_compared
from divulge.sources import Table
from divulge.text import as_number, number_text

Origin = Literal["mapping", "hierarchies", "as written"]
_MAX_LISTED = 100_000
_MAX_EXACT_INTEGER = 2**53
_INTEGER_TYPE = re.compile(r"U?(TINY|SMALL|BIG)?INT(EGER)?")
_DECIMAL_TYPE = re.compile(r"DECIMAL\(\d+, ?(\d+)\)")


class Leaf(NamedTuple):
    """One value that a label represents."""

    label: str | None
    value: Any
    weight: float = 1.0
    """Relative share of the label's records in the estimate; 0: the leaf counts only in the bounds.
    """


class Span(NamedTuple):
    """Range of numbers; the upper end is included only if it is closed."""

    low: Fraction
    high: Fraction
    closed: bool


@dataclass(frozen=True, eq=False)
class Labels:
    """Meaning of the labels of one column."""

    origin: Origin
    type: str
    """DuckDB type in which the values are compared."""
    listed: pa.Table = field(repr=False)
    """Columns label, leaf and weight."""
    spans: Mapping[str | None, tuple[Span, ...]] = field(default_factory=dict, repr=False)
    """Labels that represent more values than can be listed.

    The values of the column are then numbers of the type.
    """
    any_value: frozenset[str | None] = frozenset()
    """Labels that represent any value of the column, including null."""

    @property
    def known_labels(self) -> frozenset[str | None]:
        """Labels with a known meaning."""
        return frozenset(self.listed["label"].to_pylist()) | frozenset(self.spans)

    def leaves(self, name: str, condition: Tree, value: Tree | None) -> pa.Table:
        """Return representatives of all values of the labels for a condition.

        For each value that a record may have had, they contain one with the same result. The result
        of a comparison with numbers changes at these numbers and nowhere between them.
        """
        if self.origin != "as written" and not self.spans:
            return self.listed
        is_plain_column = value is None or (
            value.unnest().key == "column" and value.unnest().name == name
        )
        compared_numbers = [
            number
            for tree in (condition, None if is_plain_column else value)
            if tree
            for number in numbers_compared(tree, name)
        ]
        float_type = np.float32 if self.type == "FLOAT" else np.float64
        leaf_weights = {
            (leaf["label"], leaf["leaf"]): leaf["weight"] for leaf in self.listed.to_pylist()
        }
        for label, spans in self.spans.items():
            for span in spans:
                for point, weight in _representatives(span, compared_numbers, float_type):
                    leaf_weights[label, point] = max(weight, leaf_weights.get((label, point), 0.0))
        return _leaf_table(
            [Leaf(label, point, weight) for (label, point), weight in leaf_weights.items()],
            _arrow_type(float_type),
        )


def _representatives(
    span: Span, compared_numbers: Iterable[Fraction], float_type: Any
) -> Iterator[tuple[float, float]]:
    """Yield representative numbers of a range with their weights.

    They are the compared numbers and the ends and the middle of each interval between two of them.
    If the range begins and ends with an integer, its integers have the weights. Otherwise the
    middles have the lengths of their intervals.
    """
    low = float_type(float(span.low))
    high = float_type(float(span.high))
    inside = {
        float_type(float(number)) for number in compared_numbers if span.low <= number <= span.high
    }
    endpoints = sorted({low, high} | inside)
    has_integer_ends = (
        span.low.denominator == span.high.denominator == 1 and span.high - span.low <= _MAX_LISTED
    )
    # The decimal text of a float may be below the end and still be read as the end.
    includes_high = span.closed or as_number(repr(float(high))) != span.high
    for endpoint in endpoints:
        if endpoint < high or includes_high:
            yield float(endpoint), float(len(endpoints) == 1)
    for left, right in itertools.pairwise(endpoints):
        after = np.nextafter(left, right)
        middle = left + (right - left) / 2
        before = np.nextafter(right, left)
        if left < after < right:
            yield from ((float(after), 0.0), (float(before), 0.0))
            yield float(middle), 0.0 if has_integer_ends else float(right - left)
    if has_integer_ends:
        yield from (
            (float(number), 1.0) for number in range(int(span.low), int(span.high) + span.closed)
        )


# --- sources of the meaning -----------------------------------------------------------------------
@dataclass(frozen=True)
class _ColumnMeaning:
    """Meaning of a column's labels, as text."""

    origin: Origin
    type: str | None
    """Type recorded by the publisher."""
    values: frozenset[tuple[str | None, str | None]]
    """Pairs of a label and a value that it represents; null is None."""
    spans: frozenset[tuple[str | None, Span]] = frozenset()
    """Pairs of a label and a range that it represents."""
    any_value: frozenset[str | None] = frozenset()
    """Labels that represent any value."""


def read_labels(
    engine: DuckDBEngine,
    table: Table,
    document: Mapping[str, Any],
    private_folder: Path | None,
    *,
    hierarchies: str | Path | None,
) -> dict[str, Labels]:
    """Read the meaning of the labels of each generalized column.

    Columns that were published unchanged are not in the result.
    """
    columns = document["roles"]["quasi_identifiers"]
    if private_folder is None:
        types = {}
    else:
        types = releases.read_types(private_folder)
    return {
        name: _build_labels(
            engine,
            name,
            _read_meaning(
                table,
                document,
                private_folder,
                name=name,
                type_=types.get(name),
                hierarchies=hierarchies,
            ),
        )
        for name in columns
        if name not in document.get("unchanged", ())
    }


def _read_meaning(
    table: Table,
    document: Mapping[str, Any],
    private_folder: Path | None,
    *,
    name: str,
    type_: str | None,
    hierarchies: str | Path | None,
) -> _ColumnMeaning:
    labels = f"SELECT DISTINCT {table.engine.quote(name)} AS label FROM {table.relation}"
    # Incremental releases do not record the method: their labels may be of any level of a
    # hierarchy.
    method = document.get("method")
    if private_folder is None:
        boxes_path = None
    else:
        boxes_path = private_folder / releases.BOXES
    in_boxes = method == "mondrian" or (boxes_path is not None and boxes_path.is_file())
    if hierarchies is not None and not in_boxes:
        hierarchy = load_hierarchies(hierarchies, columns=[name]).get(name)
        if hierarchy is not None:
            column = table.engine.query(labels)["label"].to_pylist()
            return _ColumnMeaning(
                "hierarchies",
                type_,
                _hierarchy_pairs(hierarchy, set(column), any_level=method is None),
            )
    if private_folder is None:
        mapping_path = None
    else:
        mapping_path = private_folder / releases.FOLDER / file_name(name)
    if mapping_path is not None and mapping_path.is_file():
        pairs = releases.read_mapping(mapping_path).items()
        return _ColumnMeaning("mapping", type_, frozenset((label, value) for value, label in pairs))
    if boxes_path is not None and boxes_path.is_file():
        position = document["roles"]["quasi_identifiers"].index(name)
        box_list = releases.read_boxes(boxes_path, len(document["roles"]["quasi_identifiers"]))
        label_spans = [(box.labels[position], box.spans[position]) for box in box_list]
        values = {
            (label, value)
            for label, span in label_spans
            if span and "values" in span
            for value in span["values"]
        }
        ranges = [(label, span) for label, span in label_spans if span and "values" not in span]
        any_value = frozenset(label for label, span in label_spans if span is None)
        return replace(_meaning_of_boxes(type_, values, ranges), any_value=any_value)
    column = table.engine.query(labels)["label"].to_pylist()
    return _meaning_as_written(column)


def _meaning_as_written(labels: Iterable[str | None]) -> _ColumnMeaning:
    """Read labels that are numbers, sets of numbers, or ranges of numbers with two ends."""
    values: set[tuple[str | None, str | None]] = set()
    spans: set[tuple[str | None, Span]] = set()
    for label in labels:
        meaning = releases.parse_label(label)
        if (span := _span_of(meaning)) is not None:
            spans.add((label, span))
            continue
        for member in meaning.members or (meaning,):
            if member.is_null:
                values.add((label, None))
            elif member.number is not None:
                values.add((label, member.label))
            else:
                values = {pair for pair in values if pair[0] != label}
                break
    return _ColumnMeaning("as written", None, frozenset(values), frozenset(spans))


def _span_of(meaning: releases.LabelMeaning) -> Span | None:
    """Return the range of numbers of a label; None if it is not a range or has an open end."""
    interval = meaning.interval
    if interval is None or interval.low is None or interval.high is None:
        return None
    return Span(interval.low, interval.high, interval.closed)


def _hierarchy_pairs(
    hierarchy: Hierarchy, published: set[str | None], *, any_level: bool = False
) -> frozenset[tuple[str | None, str | None]]:
    """Pair each published label with its values in a hierarchy.

    A release does not record the level. So all levels count that have all the published labels, or
    with `any_level` every level.
    """
    pairs: set[tuple[str | None, str | None]] = set()
    for level in range(hierarchy.height + 1):
        values = {(labels[level], value) for value, labels in hierarchy.rows.items()} | {
            (hierarchy.null_labels[level], None)
        }
        if any_level or published <= {label for label, _ in values}:
            pairs |= {pair for pair in values if pair[0] in published}
    return frozenset(pairs)


def _meaning_of_boxes(
    type_: str | None,
    values: set[tuple[str | None, str | None]],
    ranges: list[tuple[str | None, Any]],
) -> _ColumnMeaning:
    spans: set[tuple[str | None, Span]] = set()
    for label, ends in ranges:
        texts = str(ends["from"]), str(ends["to"])
        listed = _list_range(type_, *texts)
        low, high = map(as_number, texts)
        if listed is not None:
            values |= {(label, text) for text in listed}
        elif low is not None and high is not None:
            spans.add((label, Span(low, high, closed=True)))
    return _ColumnMeaning("mapping", type_, frozenset(values), frozenset(spans))


def _list_range(type_: str | None, low: str, high: str) -> list[str] | None:
    """List all values of a type in a range; None if they cannot be listed or are too many."""
    if type_ == "DATE":
        try:
            first = dt.date.fromisoformat(low)
            last = dt.date.fromisoformat(high)
        except ValueError:
            return None
        return [str(first + dt.timedelta(days=day)) for day in range((last - first).days + 1)]
    decimal = _DECIMAL_TYPE.fullmatch(type_ or "")
    if decimal is None and not _INTEGER_TYPE.fullmatch(type_ or ""):
        return None
    if decimal:
        step = Fraction(1, 10 ** int(decimal[1]))
    else:
        step = Fraction(1)
    first_number = as_number(low)
    last_number = as_number(high)
    if (
        first_number is None
        or last_number is None
        or last_number - first_number > _MAX_LISTED * step
    ):
        return None
    return [
        number_text(first_number + step_index * step)
        for step_index in range(int((last_number - first_number) / step) + 1)
    ]


# --- values in the type of the column -------------------------------------------------------------
def _build_labels(engine: DuckDBEngine, name: str, meaning: _ColumnMeaning) -> Labels:
    return replace(_typed_labels(engine, name, meaning), any_value=meaning.any_value)


def _typed_labels(engine: DuckDBEngine, name: str, meaning: _ColumnMeaning) -> Labels:
    if meaning.origin == "as written" or meaning.spans:
        return _range_labels(name, meaning)
    texts = {value for _, value in meaning.values if value is not None}
    if meaning.type is not None and is_plain_type(meaning.type):
        type_ = meaning.type
    else:
        type_ = _guess_type(texts)
    leaves = _leaf_table(
        [Leaf(label, text, weight) for label, text, weight in _weighted_leaves(meaning.values)],
        pa.string(),
    )
    leaf_relation = engine.register(engine.fresh_name("leaves"), leaves)
    # A text that is not a value of the type occurs in no record.
    typed = engine.query(
        f"SELECT label, TRY_CAST(leaf AS {type_}) AS leaf, weight FROM {leaf_relation} "
        f"WHERE leaf IS NULL OR TRY_CAST(leaf AS {type_}) IS NOT NULL"
    )
    return Labels(meaning.origin, type_, typed)


def _range_labels(name: str, meaning: _ColumnMeaning) -> Labels:
    """Build labels that represent numbers and ranges of numbers.

    Raises:
        BadInput: if floats cannot represent the numbers exactly.
    """
    spans: dict[str | None, tuple[Span, ...]] = {}
    for label, span in sorted(meaning.spans, key=lambda item: (item[0] or "", item[1])):
        spans[label] = (*spans.get(label, ()), span)
    numbers = [
        Leaf(label, None if text is None else as_number(text), weight)
        for label, text, weight in _weighted_leaves(meaning.values)
    ]
    range_ends = [end for span in meaning.spans for end in span[1][:2]] + [
        leaf.value for leaf in numbers if leaf.value is not None
    ]
    if any(abs(end) > _MAX_EXACT_INTEGER for end in range_ends):
        message = f"the labels of {name!r} are numbers beyond 2^53, which are not compared exactly"
        raise BadInput(
            message, hint="Give the hierarchy of the column, or the release with its private part"
        )
    float_type = np.float32 if meaning.type == "FLOAT" else np.float64
    leaves = [
        Leaf(label, None if value is None else float(float_type(float(value))), weight)
        for label, value, weight in numbers
    ]
    return Labels(
        meaning.origin,
        "FLOAT" if meaning.type == "FLOAT" else "DOUBLE",
        _leaf_table(leaves, _arrow_type(float_type)),
        spans,
    )


def _weighted_leaves(values: Iterable[tuple[str | None, str | None]]) -> Iterator[Leaf]:
    """Assign weights to the leaves of labels.

    The label of null is recorded even if there are no nulls. So null counts in the estimate only if
    its label represents no other value.
    """
    pairs = sorted(values, key=lambda pair: tuple((text is None, text or "") for text in pair))
    labels_with_values = {label for label, value in pairs if value is not None}
    return (
        Leaf(label, value, float(value is not None or label not in labels_with_values))
        for label, value in pairs
    )


def _leaf_table(leaves: Iterable[Leaf], type_: pa.DataType) -> pa.Table:
    if leaves := list(leaves):
        labels, values, weights = zip(*leaves, strict=True)
    else:
        labels = ()
        values = ()
        weights = ()
    columns = {"label": pa.array(labels, pa.string()), "leaf": pa.array(values, type_)}
    return pa.table(columns | {"weight": pa.array(weights, pa.float64())})


def _arrow_type(float_type: Any) -> pa.DataType:
    if float_type is np.float32:
        return pa.float32()
    return pa.float64()


def _guess_type(texts: Iterable[str]) -> str:
    """Guess an unrecorded type from values: integers, numbers, dates or text."""
    kinds = [
        kind for kind, is_of_type in _TYPE_CHECKS.items() if texts and all(map(is_of_type, texts))
    ]
    if kinds:
        return kinds[0]
    return "VARCHAR"


def _is_integer(text: str) -> bool:
    """True for an integer in its usual notation; 007 is not one."""
    number = as_number(text)
    return (
        number is not None
        and number.denominator == 1
        and text == str(int(number))
        and abs(number) < 2**63
    )


def _is_number(text: str) -> bool:
    return as_number(text) is not None and (
        not text.startswith("0") or text.startswith("0.") or text == "0"
    )


_TYPE_CHECKS = {"BIGINT": _is_integer, "DOUBLE": _is_number, "DATE": releases.is_date}
