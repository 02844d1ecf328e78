# SPDX-License-Identifier: Apache-2.0
"""Encoded columns equal those of a plain Python loop, for every type and layout of a column."""

from __future__ import annotations

import datetime as dt
import decimal
import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from divulge.counting import Domain, EncodedColumn, domain_codes, encode, encoding, joint_domain
from divulge.counting.encoding import adopt_dictionary
from divulge.errors import BadInput, InternalError

NAN = float("nan")
MOMENTS = [dt.datetime(2024, 1, day, hour, tzinfo=dt.UTC) for day in (1, 2) for hour in (0, 23)]
VALUES: dict[str, tuple[pa.DataType, Sequence[Any]]] = {
    "text": (pa.string(), ["", "a", "b", "B", "é", "\U0001f600", "a "]),
    "large text": (pa.large_string(), ["", "b", "a", "\uffff", "\U00010000"]),
    "whole numbers": (pa.int64(), [0, -1, 7, 2**62, -(2**62)]),
    "small numbers": (pa.int8(), [-128, 127, 0, 1]),
    "numbers": (pa.float64(), [0.0, -0.0, NAN, -1.5, 1e300, math.inf, -math.inf]),
    "truth values": (pa.bool_(), [True, False]),
    "dates": (pa.date32(), [dt.date(1969, 12, 31), dt.date(2024, 2, 29), dt.date(1, 1, 1)]),
    "times": (pa.timestamp("us", "UTC"), MOMENTS),
    "times of a zone": (pa.timestamp("us", "Europe/Berlin"), MOMENTS),
    "decimals": (pa.decimal128(10, 2), [decimal.Decimal(text) for text in ("-1.50", "0", "9.99")]),
}
LAYOUTS = ("array", "slice", "chunks", "dictionary", "dictionaries of chunks")


def oracle(cells: Sequence[Any], *, is_sorted: bool) -> tuple[list[Any], list[int]]:
    """Number the values by a loop; equal values are those that SQL groups."""
    seen: list[Any] = []
    for cell in cells:
        if not any(is_same(cell, other) for other in seen):
            seen.append(cell)
    if is_sorted:
        numbers = [cell for cell in seen if cell is not None and not is_nan(cell)]
        seen = [*sorted(numbers), *filter(is_nan, seen), *[cell for cell in seen if cell is None]]
    codes = [
        next(code for code, value in enumerate(seen) if is_same(cell, value)) for cell in cells
    ]
    return seen, codes


def is_nan(cell: Any) -> bool:
    return isinstance(cell, float) and math.isnan(cell)


def is_same(left: Any, right: Any) -> bool:
    if left is None or right is None:
        return left is right
    return bool(left == right) or (is_nan(left) and is_nan(right))


def same_values(labels: Sequence[Any], expected: Sequence[Any]) -> bool:
    return len(labels) == len(expected) and all(map(is_same, labels, expected))


def laid_out(cells: list[Any], type_: pa.DataType, layout: str, cuts: list[int]) -> Any:
    array = pa.array(cells, type_)
    if layout == "array":
        return array
    if layout == "slice":
        return pa.concat_arrays([array, array]).slice(len(array))
    if layout == "dictionary":
        return array.dictionary_encode()
    bounds = [0, *sorted(cut % (len(cells) + 1) for cut in cuts), len(cells)]
    chunks = [array.slice(begin, end - begin) for begin, end in itertools.pairwise(bounds)]
    if layout == "chunks":
        return pa.chunked_array(chunks, type_)
    return pa.chunked_array(
        [chunk.dictionary_encode() for chunk in chunks], pa.dictionary(pa.int32(), type_)
    )


@pytest.mark.parametrize("large_chunk", [1, 2**14])
@pytest.mark.parametrize("is_sorted", [True, False])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("values", VALUES)
@settings(deadline=None, max_examples=15)
@given(data=st.data())
def test_codes_and_values_are_those_of_a_loop(
    values: str, layout: str, large_chunk: int, *, is_sorted: bool, data: st.DataObject
) -> None:
    type_, choices = VALUES[values]
    cells = data.draw(st.lists(st.sampled_from([*choices, None]), max_size=12))
    cuts = data.draw(st.lists(st.integers(0, 12), max_size=3))
    column = laid_out(cells, type_, layout, cuts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoding, "_LARGE_CHUNK", large_chunk)
        encoded = encode(column, name="column", kind="text", is_sorted=is_sorted)
    labels, codes = oracle(cells, is_sorted=is_sorted)
    assert encoded.codes.tolist() == codes
    assert same_values(encoded.domain.labels, labels)
    assert (encoded.domain.name, encoded.domain.kind) == ("column", "text")
    assert encoded.value_count == len(labels)
    assert encoded.is_sorted is is_sorted
    assert encoded.int64_codes.dtype == np.int64
    assert encoded.int64_codes.tolist() == codes
    known = [-1 if cell is None else code for cell, code in zip(cells, codes, strict=True)]
    assert encoded.codes_of_known_values.tolist() == known
    assert domain_codes(encoded.domain, column).tolist() == codes
    sorted_labels, sorted_codes = oracle(cells, is_sorted=True)
    assert encoded.sort().codes.tolist() == sorted_codes
    assert same_values(encoded.sort().domain.labels, sorted_labels)
    rows = np.arange(len(cells))[::2]
    assert encoded.take(rows).codes.tolist() == codes[::2]
    assert encoded.take(rows).domain is encoded.domain


@pytest.mark.parametrize("is_sorted", [True, False])
@pytest.mark.parametrize("type_", [type_ for type_, _ in VALUES.values()])
@pytest.mark.parametrize("chunks", [0, 1, 2])
def test_a_column_without_rows_has_no_values(
    type_: pa.DataType, chunks: int, *, is_sorted: bool
) -> None:
    column = pa.chunked_array([pa.array([], type_)] * chunks, type_)
    encoded = encode(column, name="column", kind="text", is_sorted=is_sorted)
    assert (encoded.domain.labels, encoded.codes.tolist()) == ([], [])
    assert encoded.domain.values.type in (type_, pa.timestamp("us", "UTC"))


@pytest.mark.parametrize("most_bytes", [0, 2**30])
def test_text_is_combined_only_up_to_a_limit(
    most_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether chunks are combined changes no code."""
    monkeypatch.setattr(encoding, "_MAX_COMBINED_BYTES", most_bytes)
    column = pa.chunked_array([["b", "a"], [], [None, "b"], ["c"]], pa.string())
    combined = list[Any]()
    plain_values = encoding.plain_values

    def recorded_plain_values(cells: pa.ChunkedArray) -> pa.Array:
        combined.append(cells)
        return plain_values(cells)

    monkeypatch.setattr(encoding, "plain_values", recorded_plain_values)
    encoded = encode(column, name="column", kind="text", is_sorted=False)
    assert encoded.domain.labels == ["b", "a", None, "c"]
    assert encoded.codes.tolist() == [0, 1, 2, 0, 3]
    assert len(combined) == (most_bytes > 0)


def test_equal_times_of_several_zones_are_one_value() -> None:
    # Microseconds, because pa.array drops the zone of a datetime once pyspark.pandas is imported.
    column = pa.array([1_704_067_200_000_000], pa.timestamp("us", "Europe/Berlin"))
    assert encode(column, name="at", kind="date").domain.labels == [
        dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    ]


def test_a_dictionary_may_hold_unused_values_equal_values_and_nulls() -> None:
    """Values that no row has are no values; a null is one, wherever it is stored."""
    dictionary = pa.array(["b", "unused", "a", None, "b"])
    column = pa.DictionaryArray.from_arrays(pa.array([4, None, 2, 3, 0], pa.int8()), dictionary)
    encoded = encode(column, name="column", kind="text")
    assert encoded.domain.labels == ["a", "b", None]
    assert encoded.codes.tolist() == [1, 2, 0, 2, 1]
    by_appearance = encode(column, name="column", kind="text", is_sorted=False)
    assert by_appearance.domain.labels == ["b", None, "a"]
    assert by_appearance.codes.tolist() == [0, 1, 2, 1, 0]


def test_an_adopted_dictionary_keeps_its_order() -> None:
    column = pa.DictionaryArray.from_arrays(pa.array([2, None, 0]), pa.array(["b", "c", "a"]))
    adopted = adopt_dictionary(column, name="column", kind="text")
    assert adopted.domain.labels == ["b", "c", "a", None]
    assert adopted.codes.tolist() == [2, 3, 0]
    used = adopted.drop_unused_values()
    assert used.domain.labels == ["b", "a", None]
    assert used.codes.tolist() == [1, 2, 0]
    assert used.drop_unused_values() is used


@pytest.mark.parametrize(("type_", "values"), [(pa.int8(), 128), (pa.uint8(), 256)])
def test_a_null_next_to_as_many_values_as_the_codes_can_number(
    type_: pa.DataType, values: int
) -> None:
    """Null gets a code of its own, even if the type of the dictionary's codes has none left."""
    texts = [f"{number:03}" for number in range(values)]
    indices = pa.array([*range(values), None], type_)
    column = pa.DictionaryArray.from_arrays(indices, pa.array(texts))
    encoded = encode(column, name="column", kind="text")
    assert encoded.domain.labels == [*texts, None]
    assert encoded.codes.tolist() == list(range(values + 1))


def test_a_value_that_only_the_last_row_has_is_used() -> None:
    """The search for unused values looks at blocks of rows."""
    codes = np.zeros(100_000, dtype=np.uint8)
    codes[-1] = 2
    column = EncodedColumn(Domain("column", pa.array(["a", "b", "c"]), "text"), codes)
    used = column.drop_unused_values()
    assert used.domain.labels == ["a", "c"]
    assert used.codes.dtype.itemsize == 1
    assert np.flatnonzero(used.codes).tolist() == [99_999]
    assert int(used.codes[-1]) == 1


def test_tuples_of_columns_are_numbered_in_the_order_of_their_parts() -> None:
    sex = encode(pa.array(["m", "f", "m", "m"]), name="sex", kind="text")
    age = encode(pa.array([9, 30, 10, 9]), name="age", kind="number")
    both = joint_domain([sex, age])
    assert both.domain.name == "sex + age"
    assert both.domain.labels == ["f + 30", "m + 9", "m + 10"]
    assert both.codes.tolist() == [1, 0, 2, 1]


@pytest.mark.parametrize(("is_sorted", "purpose"), [(True, "sorted"), (False, "told apart")])
def test_values_that_cannot_be_compared_raise_an_error(*, is_sorted: bool, purpose: str) -> None:
    column = pa.chunked_array([[[1], [2]]])
    with pytest.raises(BadInput, match=f"list<.*> in column 'visits' cannot be {purpose}"):
        encode(column, name="visits", kind="text", is_sorted=is_sorted)


def test_a_value_outside_the_domain_raises_an_error() -> None:
    domain = encode(pa.array(["a", "b"]), name="column", kind="text").domain
    with pytest.raises(InternalError, match="'column'"):
        domain_codes(domain, pa.array(["a", "c"]))
