# SPDX-License-Identifier: Apache-2.0
"""Convert Arrow columns to types that DuckDB preserves.

Columns whose values DuckDB would merge, change or not read raise an error: texts that are not
UTF-8, durations finer than microseconds, numbers of more digits than any type has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import pyarrow as pa

from divulge.errors import BadInput
from divulge.sources.table import DECIMAL_DIGITS, check_names

Batches = Callable[[], Iterable[pa.RecordBatch]]
"""Function that reads the batches of a table; called several times."""

_OWN_EXTENSIONS = ("arrow.uuid", "arrow.json", "arrow.bool8")
"""Extension types that DuckDB supports; of others it takes the storage."""


def has_known_types(schema: pa.Schema) -> bool:
    """Return whether DuckDB reads all columns as they are."""
    return all(_candidates(type_) == [type_] for type_ in schema.types)


def check_schema(schema: pa.Schema, *, source: str) -> None:
    """Raise an error for names that differ only in case, and for types that cannot be converted."""
    check_names(schema.names, source=source)
    for field in schema:
        inner = [type_ for type_ in _inner_types(field.type) if not _is_known(type_)]
        if inner and (pa.types.is_nested(field.type) or not _candidates(field.type)):
            raise BadInput(
                f"the column {field.name!r} of {source} has the type {field.type}, which DuckDB "
                "does not know",
                hint="Cast it to float32, float64, decimal128 or text",
            )


def exact_table(table: pa.Table, *, source: str) -> pa.Table:
    """Return a table in memory in types that DuckDB preserves, after a check of its values."""
    check_schema(table.schema, source=source)
    if has_known_types(table.schema):
        check_values(table.to_batches(), source=source)
        return table
    return exact_reader(table.schema, table.to_batches, source=source).read_all()


def exact_reader(schema: pa.Schema, batches: Batches, *, source: str) -> pa.RecordBatchReader:
    """Return batches in types that DuckDB preserves.

    Decimals of more than 38 digits are narrowed if all values fit, else they are text.
    """
    check_schema(schema, source=source)
    types = exact_types(schema, [batches], source=source)
    exact = pa.schema(list(types.items()))

    def converted() -> Iterator[pa.RecordBatch]:
        for batch in batches():
            result = cast_columns(batch, exact)
            check_values([result], source=source)
            yield result

    return pa.RecordBatchReader.from_batches(exact, converted())


def checked_reader(reader: pa.RecordBatchReader, *, source: str) -> pa.RecordBatchReader:
    """Return a reader that raises an error at the first value that DuckDB cannot hold."""
    check_schema(reader.schema, source=source)
    if not has_known_types(reader.schema):
        return exact_table(reader.read_all(), source=source).to_reader()

    def checked() -> Iterator[pa.RecordBatch]:
        for batch in reader:
            check_values([batch], source=source)
            yield batch

    return pa.RecordBatchReader.from_batches(reader.schema, checked())


def exact_types(
    schema: pa.Schema, parts: Sequence[Batches], *, source: str
) -> dict[str, pa.DataType]:
    """Return for each column the first type that holds all its values, in all parts."""
    types = {}
    for field in schema:
        candidates = _candidates(field.type)
        if len(candidates) > 1 or pa.types.is_decimal(_storage(field.type)):
            candidates = [
                type_
                for type_ in candidates
                if all(_fits(part(), field.name, type_) for part in parts)
            ]
        if not candidates:
            raise BadInput(
                f"the column {field.name!r} of {source} has the type {field.type} and numbers of "
                f"more than {DECIMAL_DIGITS} digits",
                hint="Cast it to text",
            )
        types[field.name] = candidates[0]
    return types


def cast_columns(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch in the types of `exact_types`."""
    columns = [_cast(batch.column(field.name), field.type) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def check_values(batches: Iterable[pa.RecordBatch], *, source: str) -> None:
    """Raise an error for texts that are not UTF-8, and for durations that DuckDB would change."""
    for batch in batches:
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            _check_column(column, name, source=source)


def needs_check(type_: pa.DataType) -> bool:
    """Return whether `check_values` may raise an error for values of a type."""
    looks = (_is_text, pa.types.is_duration, pa.types.is_interval, pa.types.is_date64)
    return any(look(inner) for inner in _inner_types(type_) for look in looks)


def _check_column(column: pa.Array, name: str, *, source: str) -> None:
    type_ = column.type
    if pa.types.is_dictionary(type_):
        _check_column(column.dictionary, name, source=source)
    elif pa.types.is_duration(type_) or pa.types.is_interval(type_):
        if not _is_in_microseconds(column):
            raise BadInput(
                f"the column {name!r} of {source} has durations that microseconds do not hold",
                hint="Cast it to int64",
            )
    elif pa.types.is_date64(type_):
        if not _is_lossless(column, pa.date32()):
            raise BadInput(
                f"the column {name!r} of {source} has dates with a time of day",
                hint="Cast it to timestamp",
            )
    elif _is_text(type_) or pa.types.is_nested(type_) or pa.types.is_run_end_encoded(type_):
        try:
            column.validate(full=True)
        except pa.ArrowInvalid:
            raise BadInput(
                f"the column {name!r} of {source} has text that is not UTF-8",
                hint="Write it anew, or read it as bytes",
            ) from None


def _is_in_microseconds(column: pa.Array) -> bool:
    if pa.types.is_interval(column.type):
        return all(value.nanoseconds % 1000 == 0 for value in column.drop_null().to_pylist())
    return _is_lossless(column, pa.duration("us"))


def _is_lossless(column: pa.Array, type_: pa.DataType) -> bool:
    try:
        column.cast(type_)
    except pa.ArrowInvalid:
        return False
    return True


def _candidates(type_: pa.DataType) -> list[pa.DataType]:
    """Return the types to try for a column, the best first."""
    storage = _storage(type_)
    if storage is not type_:
        return _candidates(storage)
    if pa.types.is_float16(type_):
        return [pa.float32()]
    if not pa.types.is_decimal(type_) or _is_known(type_):
        if _is_known(type_):
            return [type_]
        return []
    scale = max(type_.scale, 0)
    if scale <= DECIMAL_DIGITS:
        narrow_types = [pa.decimal128(DECIMAL_DIGITS, scale)]
    else:
        narrow_types = []
    if type_.scale >= 0:
        return [*narrow_types, pa.string()]
    return narrow_types


def decimal_scale(type_: pa.DataType) -> int:
    """Return the number of decimal places of a type of decimals."""
    return int(_storage(type_).scale)


def _storage(type_: pa.DataType) -> pa.DataType:
    """Return the storage type that DuckDB reads of a type that wraps another one."""
    if isinstance(type_, pa.BaseExtensionType) and type_.extension_name not in _OWN_EXTENSIONS:
        return _storage(type_.storage_type)
    if pa.types.is_dictionary(type_) and not _is_known(type_.value_type):
        return _storage(type_.value_type)
    return type_


def _fits(batches: Iterable[pa.RecordBatch], name: str, type_: pa.DataType) -> bool:
    try:
        for batch in batches:
            _cast(batch.column(name), type_)
    except pa.ArrowInvalid:
        return False
    return True


def _cast(column: pa.Array, type_: pa.DataType) -> pa.Array:
    if isinstance(column.type, pa.BaseExtensionType) and column.type != type_:
        return _cast(column.storage, type_)
    if column.type == type_:
        return column
    if pa.types.is_decimal(column.type) and pa.types.is_string(type_):
        return _decimal_texts(column)
    return column.cast(type_)


def _decimal_texts(column: pa.Array) -> pa.Array:
    """Return decimals as texts, equal for equal numbers of any scale: 1.4 for 1.40."""
    import pyarrow.compute as pc

    texts = pc.replace_substring_regex(
        column.cast(pa.string()), r"^(-?\d+\.\d*?)0+(E.*)?$", r"\1\2"
    )
    texts = pc.replace_substring_regex(texts, r"\.(E.*)?$", r"\1")
    return pc.replace_substring_regex(texts, r"^-?0(E.*)?$", "0")


def _inner_types(type_: pa.DataType) -> Iterator[pa.DataType]:
    """Yield a type and all types that its values consist of."""
    yield type_
    if isinstance(type_, pa.BaseExtensionType):
        yield from _inner_types(type_.storage_type)
    elif pa.types.is_dictionary(type_) or pa.types.is_run_end_encoded(type_):
        yield from _inner_types(type_.value_type)
    else:
        for index in range(type_.num_fields):
            yield from _inner_types(type_.field(index).type)


def _is_known(type_: pa.DataType) -> bool:
    if pa.types.is_decimal(type_):
        return not pa.types.is_decimal256(type_) and type_.scale >= 0
    return not (pa.types.is_float16(type_) or pa.types.is_union(type_))


def _is_text(type_: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(type_)
        or pa.types.is_large_string(type_)
        or pa.types.is_string_view(type_)
    )
