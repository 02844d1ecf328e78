# SPDX-License-Identifier: Apache-2.0
"""What the labels of a generalized release stand for: every value that a record with the label may have had.

Whoever published the release has mapping/, which lists the values of every label and the type of every column. Whoever was handed it
may have the hierarchies. Otherwise a label is taken as it is written: null is null, a number is itself, [20, 30) is every number from 20
up to 30, and any other label cannot be asked. Bounds hold for every value listed here, so a list may be too long and never too short.
"""

from __future__ import annotations

import datetime as dt
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa

from divulge import publish
from divulge.answers.condition import Tree, numbers_compared
from divulge.engines import DuckDBEngine, is_plain_type
from divulge.errors import BadInput
from divulge.hierarchy import Hierarchy, file_name, load_hierarchies
from divulge.table import Table
from divulge.values import as_number, number_text, parse_interval

Origin = Literal["mapping", "hierarchies", "as written"]
_MOST_LISTED = 100_000
_MOST_EXACT = 2**53
_CLOSED = re.compile(r"\[\s*([^,\[\]]+?)\s*,\s*([^,\[\]]+?)\s*\]")  # a label of Mondrian: both ends included
_WHOLE = re.compile(r"U?(TINY|SMALL|BIG)?INT(EGER)?")
_DECIMAL = re.compile(r"DECIMAL\(\d+, ?(\d+)\)")


class Leaf(NamedTuple):
    """One value that a label stands for."""

    label: str | None
    value: Any
    weight: float = 1.0
    """How much of the label's records the estimate gives to it; 0: it counts for the bounds alone."""


class Span(NamedTuple):
    """All numbers between two, the greater one included only if it is closed."""

    low: Fraction
    high: Fraction
    closed: bool


@dataclass(frozen=True, eq=False)
class Labels:
    """What the labels of one column stand for."""

    origin: Origin
    type: str
    """The DuckDB type in which its values are compared."""
    listed: pa.Table = field(repr=False)
    """Columns label, leaf and weight."""
    spans: Mapping[str | None, tuple[Span, ...]] = field(default_factory=dict, repr=False)
    """Labels that stand for more values than can be listed; those of the column are then numbers of the type."""

    @property
    def known(self) -> frozenset[str | None]:
        """The labels whose meaning is known."""
        return frozenset(self.listed["label"].to_pylist()) | frozenset(self.spans)

    def leaves(self, name: str, condition: Tree, value: Tree | None) -> pa.Table:
        """Values that stand for all of them in this condition: for each value that a record may have had, one that is answered alike.

        A comparison with numbers changes its answer at these numbers and nowhere between them.
        """
        if self.origin != "as written" and not self.spans:
            return self.listed
        bare = value is None or (value.unnest().key == "column" and value.unnest().name == name)
        compared = [
            number for tree in (condition, None if bare else value) if tree for number in numbers_compared(tree, name)
        ]
        rounded = np.float32 if self.type == "FLOAT" else np.float64
        found = {(leaf["label"], leaf["leaf"]): leaf["weight"] for leaf in self.listed.to_pylist()}
        for label, spans in self.spans.items():
            for span in spans:
                for point, weight in _representatives(span, compared, rounded):
                    found[label, point] = max(weight, found.get((label, point), 0.0))
        return _table([Leaf(label, point, weight) for (label, point), weight in found.items()], _arrow(rounded))


def _representatives(span: Span, compared: Iterable[Fraction], rounded: Any) -> Iterator[tuple[float, float]]:
    """Numbers of a range and their weights: the numbers compared with and, of what lies between two of them, its ends and its middle.

    Weights follow the whole numbers of a range that begins and ends with one, else the lengths of its parts.
    """
    low, high = rounded(float(span.low)), rounded(float(span.high))
    inside = {rounded(float(number)) for number in compared if span.low <= number <= span.high}
    places = sorted({low, high} | inside)
    whole = span.low.denominator == span.high.denominator == 1 and span.high - span.low <= _MOST_LISTED
    # A float may be written as a number below the end and still be the end when it is read.
    ends = span.closed or as_number(repr(float(high))) != span.high
    for place in places:
        if place < high or ends:
            yield float(place), float(len(places) == 1)
    for left, right in itertools.pairwise(places):
        after, middle, before = np.nextafter(left, right), left + (right - left) / 2, np.nextafter(right, left)
        if left < after < right:
            yield from ((float(after), 0.0), (float(before), 0.0))
            yield float(middle), 0.0 if whole else float(right - left)
    if whole:
        yield from ((float(number), 1.0) for number in range(int(span.low), int(span.high) + span.closed))


# --- where the meaning comes from -------------------------------------------------------------------------------------
@dataclass(frozen=True)
class _Meaning:
    """What is known of a column's labels, as text."""

    origin: Origin
    type: str | None
    """As the publisher noted it."""
    values: frozenset[tuple[str | None, str | None]]
    """A label and a value that it stands for; null is None."""
    spans: frozenset[tuple[str | None, Span]] = frozenset()
    """A label and a range that it stands for."""


def read_labels(
    engine: DuckDBEngine, table: Table, document: Mapping[str, Any], folder: Path, *, hierarchies: str | Path | None
) -> dict[str, Labels]:
    """What the labels of each column stand for; columns that were published as they are have none."""
    columns = document["roles"]["quasi_identifiers"]
    types = publish.read_types(folder)
    return {
        name: _labels(
            engine, name, _meaning(table, document, folder, name=name, type_=types.get(name), hierarchies=hierarchies)
        )
        for name in columns
        if name not in document["unchanged"]
    }


def _meaning(
    table: Table,
    document: Mapping[str, Any],
    folder: Path,
    *,
    name: str,
    type_: str | None,
    hierarchies: str | Path | None,
) -> _Meaning:
    labels = f"SELECT DISTINCT {table.engine.quote(name)} AS label FROM {table.relation}"
    if hierarchies is not None and document["method"] != "mondrian":
        given = load_hierarchies(hierarchies, columns=[name]).get(name)
        if given is not None:
            column = table.engine.query(labels)["label"].to_pylist()
            return _Meaning("hierarchies", type_, _of_hierarchy(given, set(column)))
    mapping, boxes = folder / publish.FOLDER / file_name(name), folder / publish.BOXES
    if mapping.is_file():
        pairs = publish.read_mapping(mapping).items()
        return _Meaning("mapping", type_, frozenset((label, value) for value, label in pairs))
    if boxes.is_file():
        position = document["roles"]["quasi_identifiers"].index(name)
        found = publish.read_boxes(boxes, len(document["roles"]["quasi_identifiers"]))
        read = [(box.labels[position], box.spans[position]) for box in found]
        values = {(label, value) for label, span in read if span and "values" in span for value in span["values"]}
        return _of_boxes(type_, values, [(label, span) for label, span in read if span and "values" not in span])
    column = table.engine.query(labels)["label"].to_pylist()
    numbers = {(label, label) for label in column if label is None or as_number(label) is not None}
    spans = {(label, span) for label in column if label is not None and (span := span_of(label)) is not None}
    return _Meaning("as written", None, frozenset(numbers), frozenset(spans))


def _of_hierarchy(given: Hierarchy, published: set[str | None]) -> frozenset[tuple[str | None, str | None]]:
    """The values of each label on the level that has all published ones; a release does not tell it, and where several fit, any may be."""
    found: set[tuple[str | None, str | None]] = set()
    for level in range(given.height + 1):
        values = {(labels[level], value) for value, labels in given.rows.items()} | {(given.null_labels[level], None)}
        if published <= {label for label, _ in values}:
            found |= {pair for pair in values if pair[0] in published}
    return frozenset(found)


def _of_boxes(
    type_: str | None, values: set[tuple[str | None, str | None]], ranges: list[tuple[str | None, Any]]
) -> _Meaning:
    spans: set[tuple[str | None, Span]] = set()
    for label, ends in ranges:
        texts = str(ends["from"]), str(ends["to"])
        listed = _between(type_, *texts)
        low, high = map(as_number, texts)
        if listed is not None:
            values |= {(label, text) for text in listed}
        elif low is not None and high is not None:
            spans.add((label, Span(low, high, closed=True)))
    return _Meaning("mapping", type_, frozenset(values), frozenset(spans))


def _between(type_: str | None, low: str, high: str) -> list[str] | None:
    """All values of a type from one to another, where they are few enough to be listed."""
    if type_ == "DATE":
        try:
            first, last = dt.date.fromisoformat(low), dt.date.fromisoformat(high)
        except ValueError:
            return None
        return [str(first + dt.timedelta(days=day)) for day in range((last - first).days + 1)]
    decimal = _DECIMAL.fullmatch(type_ or "")
    if decimal is None and not _WHOLE.fullmatch(type_ or ""):
        return None
    step = Fraction(1, 10 ** int(decimal[1])) if decimal else Fraction(1)
    first_number, last_number = as_number(low), as_number(high)
    if first_number is None or last_number is None or last_number - first_number > _MOST_LISTED * step:
        return None
    return [number_text(first_number + place * step) for place in range(int((last_number - first_number) / step) + 1)]


def span_of(label: str) -> Span | None:
    """The range that a label writes; None where an end is open."""
    if closed := _CLOSED.fullmatch(label):
        low, high = as_number(closed[1]), as_number(closed[2])
        return Span(low, high, closed=True) if low is not None and high is not None and low <= high else None
    interval = parse_interval(label)
    if interval is None or interval.low is None or interval.high is None:
        return None
    return Span(interval.low, interval.high, closed=False)


# --- values in the type of the column ---------------------------------------------------------------------------------
def _labels(engine: DuckDBEngine, name: str, meaning: _Meaning) -> Labels:
    if meaning.origin == "as written" or meaning.spans:
        return _ranges(name, meaning)
    texts = {value for _, value in meaning.values if value is not None}
    type_ = meaning.type if meaning.type is not None and is_plain_type(meaning.type) else _guessed(texts)
    leaves = _table([Leaf(label, text, weight) for label, text, weight in _weighed(meaning.values)], pa.string())
    lent = engine.register(engine.fresh_name("leaves"), leaves)
    # A text that is no value of the type occurs in no record.
    found = engine.query(
        f"SELECT label, TRY_CAST(leaf AS {type_}) AS leaf, weight FROM {lent} "
        f"WHERE leaf IS NULL OR TRY_CAST(leaf AS {type_}) IS NOT NULL"
    )
    return Labels(meaning.origin, type_, found)


def _ranges(name: str, meaning: _Meaning) -> Labels:
    """Numbers and ranges of numbers; refused where a float cannot tell them apart."""
    spans: dict[str | None, tuple[Span, ...]] = {}
    for label, span in sorted(meaning.spans, key=lambda item: (item[0] or "", item[1])):
        spans[label] = (*spans.get(label, ()), span)
    numbers = [
        Leaf(label, None if text is None else as_number(text), weight)
        for label, text, weight in _weighed(meaning.values)
    ]
    ends = [end for span in meaning.spans for end in span[1][:2]] + [
        leaf.value for leaf in numbers if leaf.value is not None
    ]
    if any(abs(end) > _MOST_EXACT for end in ends):
        told = f"the labels of {name!r} are numbers beyond 2^53, which are not compared exactly"
        raise BadInput(told, hint="Give the hierarchy of the column, or the release with its mappings")
    rounded = np.float32 if meaning.type == "FLOAT" else np.float64
    listed = [
        Leaf(label, None if value is None else float(rounded(float(value))), weight) for label, value, weight in numbers
    ]
    return Labels(
        meaning.origin, "FLOAT" if meaning.type == "FLOAT" else "DOUBLE", _table(listed, _arrow(rounded)), spans
    )


def _weighed(values: Iterable[tuple[str | None, str | None]]) -> Iterator[Leaf]:
    """What a null becomes is noted whether there are nulls or not: it counts in the estimate only where a label stands for nothing else."""
    pairs = sorted(values, key=lambda pair: tuple((text is None, text or "") for text in pair))
    others = {label for label, value in pairs if value is not None}
    return (Leaf(label, value, float(value is not None or label not in others)) for label, value in pairs)


def _table(leaves: Iterable[Leaf], type_: pa.DataType) -> pa.Table:
    labels, values, weights = zip(*leaves, strict=True) if (leaves := list(leaves)) else ((), (), ())
    columns = {"label": pa.array(labels, pa.string()), "leaf": pa.array(values, type_)}
    return pa.table(columns | {"weight": pa.array(weights, pa.float64())})


def _arrow(rounded: Any) -> pa.DataType:
    return pa.float32() if rounded is np.float32 else pa.float64()


def _guessed(texts: Iterable[str]) -> str:
    """The type of values that nobody noted: whole numbers, numbers, dates or text."""
    kinds = [kind for kind, fits in _GUESSES.items() if texts and all(map(fits, texts))]
    return kinds[0] if kinds else "VARCHAR"


def _is_whole(text: str) -> bool:
    """A whole number as it is written; 007 is not one."""
    number = as_number(text)
    return number is not None and number.denominator == 1 and text == str(int(number)) and abs(number) < 2**63


def _is_number(text: str) -> bool:
    return as_number(text) is not None and (not text.startswith("0") or text.startswith("0.") or text == "0")


def is_date(text: str) -> bool:
    """Whether a text is an ISO date, as it is written."""
    try:
        return str(dt.date.fromisoformat(text)) == text
    except ValueError:
        return False


_GUESSES = {"BIGINT": _is_whole, "DOUBLE": _is_number, "DATE": is_date}
