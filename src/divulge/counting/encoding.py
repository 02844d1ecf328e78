# SPDX-License-Identifier: Apache-2.0
"""Encoding of columns: distinct values, and the position of each row's value among them.

This is the only module that turns values into codes. The values are in ascending order or
in the order of their appearance. A null is a value, and so is a NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from divulge import arrays
from divulge.arrays import Codes, Ints
from divulge.counting.contingency import Domain
from divulge.errors import BadInput, InternalError
from divulge.sources import Kind

JOINT = " + "
_CODES_PER_CHECK = 1 << 15
_LARGE_CHUNK = 1 << 14
"""Average number of rows from which it is not worth combining chunks before they are encoded."""
_MAX_COMBINED_BYTES = 1 << 30
"""Most bytes of text in chunks that are combined; one array holds at most 2 GiB."""


@dataclass(frozen=True, eq=False)
class EncodedColumn:
    """Column as codes: a code is the position of a value in the domain."""

    domain: Domain
    codes: Codes = field(repr=False)
    """The code of each row, in a type that is wide enough."""
    is_sorted: bool = False
    """True if the values are in ascending order, with null as the last one."""

    @property
    def value_count(self) -> int:
        """Number of values of the domain; null counts as one."""
        return len(self.domain)

    @property
    def int64_codes(self) -> Ints:
        """Codes in 64 bits, for arithmetic with codes of other columns."""
        return self.codes.astype(np.int64, copy=False)

    @property
    def codes_of_known_values(self) -> Ints:
        """Codes in 64 bits, with -1 in place of a null."""
        if not self.domain.values.null_count:
            return self.int64_codes
        is_null = self.domain.values.is_null().to_numpy(zero_copy_only=False)
        codes = np.where(is_null, -1, np.arange(len(is_null)))
        known_codes: Ints = codes[self.codes]
        return known_codes

    def take(self, rows: Ints | slice) -> EncodedColumn:
        """Return some rows; the domain stays."""
        return EncodedColumn(self.domain, self.codes[rows], self.is_sorted)

    def sort(self) -> EncodedColumn:
        """Renumber the values in ascending order, with null as the last one."""
        if self.is_sorted:
            return self
        values = self.domain.values
        try:
            order = pc.array_sort_indices(values, null_placement="at_end")
        except pa.ArrowNotImplementedError:
            raise _incomparable(self.domain.name, values.type, "sorted") from None
        rank = arrays.inverse(order.to_numpy())
        domain = Domain(self.domain.name, values.take(order), self.domain.kind)
        return EncodedColumn(domain, rank[self.codes], is_sorted=True)

    def drop_unused_values(self) -> EncodedColumn:
        """Remove the values that no row has."""
        occurs = np.zeros(self.value_count, dtype=bool)
        for start in range(0, len(self.codes), _CODES_PER_CHECK):
            occurs[self.codes[start : start + _CODES_PER_CHECK]] = True
            if occurs.all():
                return self
        values = self.domain.values.filter(pa.array(occurs))
        codes = (np.cumsum(occurs) - 1).astype(self.codes.dtype)[self.codes]
        domain = Domain(self.domain.name, values, self.domain.kind)
        return EncodedColumn(domain, codes, self.is_sorted)


def encode(
    column: pa.ChunkedArray | pa.Array, *, name: str, kind: Kind, is_sorted: bool = True
) -> EncodedColumn:
    """Encode a column: its distinct values, and the code of each row.

    Args:
        column: values of any type that can be compared; dictionary-encoded ones too.
        name: name of the column.
        kind: kind of its values.
        is_sorted: number the values in ascending order with null as the last one. Otherwise the
            values are numbered in the order of their appearance, and so is null.

    Raises:
        BadInput: if values of this type cannot be compared.

    >>> ages = encode(pa.array([41, None, 29, 41]), name="age", kind="number")
    >>> ages.domain.labels, ages.codes.tolist()
    ([29, 41, None], [1, 2, 0, 1])
    """
    if is_sorted:
        if pa.types.is_dictionary(column.type):
            return _encode_dictionary(column, name=name, kind=kind)
        return _encode_by_appearance(column, name, kind, purpose="sorted").sort()
    return _encode_by_appearance(column, name, kind, purpose="told apart")


def _encode_by_appearance(
    column: pa.ChunkedArray | pa.Array, name: str, kind: Kind, *, purpose: str
) -> EncodedColumn:
    """Number the values in the order of their appearance."""
    try:
        if _stays_in_chunks(column):
            # The chunks share one dictionary.
            chunks = column.dictionary_encode(null_encoding="encode").chunks
        else:
            chunks = [plain_values(column).dictionary_encode(null_encoding="encode")]
    except pa.ArrowNotImplementedError:
        raise _incomparable(name, column.type, purpose) from None
    chunk_codes = [chunk.indices.to_numpy(zero_copy_only=False) for chunk in chunks]
    if len(chunk_codes) == 1:
        codes = chunk_codes[0]
    else:
        codes = np.concatenate(chunk_codes)
    return EncodedColumn(Domain(name, chunks[0].dictionary, kind), codes)


def _stays_in_chunks(column: pa.ChunkedArray | pa.Array) -> bool:
    """Report whether to encode chunk by chunk: text in large chunks, or too much text to combine.

    Arrow encodes no chunk without rows.
    """
    if not isinstance(column, pa.ChunkedArray) or not pa.types.is_string(column.type):
        return False
    if column.num_chunks < 2 or not len(column):
        return False
    has_large_chunks = len(column) >= column.num_chunks * _LARGE_CHUNK
    return bool(has_large_chunks or column.get_total_buffer_size() >= _MAX_COMBINED_BYTES)


def _incomparable(name: str, type_: pa.DataType, purpose: str) -> BadInput:
    return BadInput(
        f"values of type {type_} in column {name!r} cannot be {purpose}",
        hint="turn the column into text",
    )


def _encode_dictionary(
    column: pa.ChunkedArray | pa.Array, *, name: str, kind: Kind
) -> EncodedColumn:
    """Encode a dictionary-encoded column: only the values that occur are sorted."""
    if isinstance(column, pa.ChunkedArray):
        array = column.combine_chunks()
    else:
        array = column
    encoded = adopt_dictionary(array, name=name, kind=kind).drop_unused_values()
    # The dictionary may hold a value twice.
    values = encode(encoded.domain.values, name=name, kind=kind)
    return EncodedColumn(values.domain, values.int64_codes[encoded.codes], is_sorted=True)


def dictionary_array(column: pa.ChunkedArray) -> pa.DictionaryArray:
    """Return a column as one dictionary-encoded array, whose nulls are not in the dictionary."""
    if pa.types.is_dictionary(column.type):
        return column.unify_dictionaries().combine_chunks()
    return column.combine_chunks().dictionary_encode()


def adopt_dictionary(array: pa.DictionaryArray, *, name: str, kind: Kind) -> EncodedColumn:
    """Adopt the dictionary of an array as the domain; null, if it occurs, is the last value.

    The dictionary may hold values that no row has.
    """
    values = array.dictionary
    indices = array.indices
    if indices.null_count:
        if len(values) > np.iinfo(indices.type.to_pandas_dtype()).max:
            indices = indices.cast(pa.int64())
        indices = indices.fill_null(len(values))
        values = pa.concat_arrays([values, pa.nulls(1, values.type)])
    return EncodedColumn(Domain(name, values, kind), indices.to_numpy(zero_copy_only=False))


def joint_domain(parts: Sequence[EncodedColumn]) -> EncodedColumn:
    """Combine several attributes into one, whose values are the tuples that occur."""
    codes = [part.codes for part in parts]
    ids, first = arrays.class_ids(codes, [part.value_count for part in parts], rows=len(codes[0]))
    labels = [
        JOINT.join(str(part.domain.labels[part.codes[row]]) for part in parts)
        for row in first.tolist()
    ]
    name = JOINT.join(part.domain.name for part in parts)
    return EncodedColumn(Domain(name, pa.array(labels, type=pa.string()), "text"), ids)


def domain_codes(domain: Domain, column: pa.ChunkedArray | pa.Array) -> Ints:
    """Return the position of each row's value in a domain that contains them all."""
    array = plain_values(column)
    if array.type != domain.values.type:
        array = array.cast(domain.values.type)
    indices = pc.index_in(array, value_set=domain.values)
    if indices.null_count:
        raise InternalError(f"a value of {domain.name!r} is not among the values that were counted")
    return cast("Ints", indices.to_numpy(zero_copy_only=False).astype(np.int64))


def plain_values(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """Return one array without dictionaries, with one zero, one NaN and timestamps in UTC."""
    if isinstance(column, pa.ChunkedArray):
        array = column.combine_chunks()
    else:
        array = column
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    if pa.types.is_floating(array.type):
        # SQL groups 0.0 with -0.0 and may return either, even a different one for each grouping
        # set; -0.0 + 0.0 is 0.0.
        array = pc.add(array, pa.scalar(0.0, array.type))
        # SQL does not distinguish NaNs of different bits either, but an encoding does.
        array = pc.if_else(pc.is_nan(array), pa.scalar(float("nan"), array.type), array)
    if pa.types.is_timestamp(array.type) and array.type.tz not in (None, "UTC"):
        # the zone is a setting of the reader, not a part of the value
        array = array.cast(pa.timestamp(array.type.unit, "UTC"))
    return array
