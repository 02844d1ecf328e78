# SPDX-License-Identifier: Apache-2.0
"""Convert the columns of a pandas frame to Arrow.

Values that Arrow would merge raise an error. A column of Python objects may hold anything. Arrow
would merge a date and a timestamp of that day, a text and its bytes, and a time with a zone and one
without. All values of a column must be of one kind, or whole numbers and numbers with a fraction.
"""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from divulge.errors import BadInput
from divulge.sources.table import check_names

_FAILURES = (pa.ArrowException, OverflowError, TypeError, ValueError)
_KINDS: tuple[tuple[tuple[type, ...], str], ...] = (
    ((bool, np.bool_), "bool"),
    ((int, np.integer), "int"),
    ((np.longdouble,), "longdouble"),
    ((float, np.floating), "float"),
    ((Decimal,), "Decimal"),
    ((str,), "str"),
    ((bytes, bytearray, memoryview), "bytes"),
    ((dt.datetime,), "datetime"),
    ((dt.date,), "date"),
    ((dt.time,), "time"),
    ((dt.timedelta,), "timedelta"),
    ((list, tuple, set, frozenset, np.ndarray), "list"),
    ((dict,), "dict"),
)
"""Types of Python and NumPy by kind; a subclass precedes its base class."""
_COMPATIBLE_KINDS = ({"int", "float"}, {"int", "Decimal"})
"""Kinds that Arrow combines in one column without a change, or rejects."""
_MOST_DIGITS = 76


def arrow_table(frame: Any) -> pa.Table:
    """Return the columns as Arrow, without the index; missing values of every kind become null."""
    if frame.columns.nlevels > 1:
        raise BadInput(
            "the pandas frame has column names of several levels",
            hint="Flatten them to one name each",
        )
    names = [str(name) if name is not None else "" for name in frame.columns]
    check_names(names, source="the pandas frame")
    columns = [_arrow_column(frame.iloc[:, index], name) for index, name in enumerate(names)]
    return pa.Table.from_arrays(columns, names=names)


def _arrow_column(series: Any, name: str) -> pa.Array | pa.ChunkedArray:
    pd = sys.modules["pandas"]
    if isinstance(series.dtype, pd.CategoricalDtype):
        return _arrow_categories(series, name)
    if isinstance(series.dtype, pd.IntervalDtype | pd.PeriodDtype):
        series = series.astype(object).map(str, na_action="ignore")
    elif isinstance(series.dtype, pd.SparseDtype):
        series = series.sparse.to_dense()
    try:
        if series.dtype == object:
            column = _object_column(series, name)
        else:
            column = pa.Array.from_pandas(series)
    except UnicodeEncodeError:
        raise BadInput(
            f"the column {name!r} of the pandas frame has text that is not valid Unicode (a lone "
            "surrogate)",
            hint="Replace such characters, for example by encode('utf-8', 'replace')",
        ) from None
    except _FAILURES as error:
        raise _mixed_values_error(
            name, sorted({type(value).__name__ for value in series.dropna()})
        ) from error
    if pa.types.is_null(column.type):
        return column.cast(pa.string())
    return column


def _mixed_values_error(name: str, kinds: Iterable[str]) -> BadInput:
    return BadInput(
        f"the column {name!r} of the pandas frame holds values that cannot stand in one column: "
        f"{', '.join(kinds)}",
        hint=f"Make them one type, for example frame[{name!r}].astype(str)",
    )


def _arrow_categories(series: Any, name: str) -> pa.Array:
    """Return a categorical column.

    Its categories may be texts, numbers, dates or the intervals that pandas.cut makes.
    """
    categories = _arrow_column(series.cat.categories.to_series(), name)
    if isinstance(categories, pa.ChunkedArray):
        categories = categories.combine_chunks()
    codes = series.cat.codes.to_numpy()
    return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), categories)


def _object_column(series: Any, name: str) -> pa.Array:
    """Return a column of Python objects, all of one kind."""
    cells = series.to_numpy(dtype=object, copy=True)
    missing = series.isna().to_numpy(dtype=bool)
    cells[missing] = None  # a numpy.datetime64 next to another NumPy type crashes Arrow
    values = cells[~missing]
    kinds = _check_kinds(values, name)
    if kinds == {"int"}:
        return _integers(cells)
    if kinds == {"datetime"} and _has_nanoseconds(values):
        if values[0].tzinfo is not None:
            zone = "UTC"
        else:
            zone = None
        return pa.Array.from_pandas(cells, type=pa.timestamp("ns", zone))
    return pa.Array.from_pandas(cells)


def _check_kinds(values: Any, name: str) -> set[str]:
    """Return the kinds of values; several kinds raise an error, even inside of lists and dicts."""
    types = set(map(type, values))
    kinds = {_kind(type_) for type_ in types}
    if kinds & {"datetime", "time"}:
        zoned = {
            value.tzinfo is not None for value in values if isinstance(value, dt.datetime | dt.time)
        }
        if len(zoned) > 1:
            raise _mixed_values_error(name, (f"{min(kinds)} with a zone", f"{min(kinds)} without"))
        if "time" in kinds and True in zoned:
            raise _mixed_values_error(name, ("time with a zone",))
    if (
        np.datetime64 in types
        and len({value.dtype for value in values if isinstance(value, np.datetime64)}) > 1
    ):
        raise _mixed_values_error(name, ("datetime64 of several units",))
    is_mixed = len(kinds) > 1 and not any(kinds <= together for together in _COMPATIBLE_KINDS)
    if is_mixed or "longdouble" in kinds:  # Arrow would round it to a double
        raise _mixed_values_error(name, sorted(kinds))
    if kinds == {"list"}:
        _check_inner([item for value in values for item in value], name)
    if kinds == {"dict"}:
        for key in dict.fromkeys(key for value in values for key in value):
            _check_inner([value[key] for value in values if key in value], name)
    return kinds


def _check_inner(values: list[Any], name: str) -> None:
    pd = sys.modules["pandas"]
    present = [
        value
        for value in values
        if isinstance(value, list | tuple | dict | np.ndarray | np.datetime64 | np.timedelta64)
        or not pd.isna(value)
    ]
    kinds = _check_kinds(present, name)
    if kinds == {"datetime"} and _has_nanoseconds(present):
        raise _mixed_values_error(name, ("Timestamp with nanoseconds in a list or dict",))


def _kind(type_: type) -> str:
    for types, kind in _KINDS:
        if issubclass(type_, types):
            return kind
    return type_.__name__


def _has_nanoseconds(values: Iterable[Any]) -> bool:
    """Return whether a pandas Timestamp is finer than the microseconds that Arrow uses."""
    return any(getattr(value, "nanosecond", 0) for value in values)


def _integers(cells: Any) -> pa.Array:
    """Return whole numbers in the narrowest type: 64 bits, else a decimal."""
    try:
        return pa.Array.from_pandas(cells)
    except (OverflowError, pa.ArrowInvalid):
        numbers = [None if value is None else Decimal(int(value)) for value in cells]
        digits = max(len(number.as_tuple().digits) for number in numbers if number is not None)
        if digits > _MOST_DIGITS:
            raise
        return pa.array(numbers, pa.decimal256(_MOST_DIGITS, 0))
