# SPDX-License-Identifier: Apache-2.0
"""The public tables of Yao et al. 2021, section 6.

Tests are skipped, with the reason, if the tables are not available.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import divulge as dv
from divulge.anatomization import RowCodes, read_rows
from divulge.errors import MissingDependency

ADULT = {
    "age": "age",
    "workclass": "workclass",
    "education": "education",
    "marital": "marital-status",
    "occupation": "occupation",
    "relationship": "relationship",
    "race": "race",
    "sex": "sex",
    "hours": "hours-per-week",
    "country": "native-country",
}
"""The attributes of Table 5 and their columns."""

CENSUS = {
    "age": "age",
    "worker": "class of worker",
    "industry": "detailed industry recode",
    "education": "education",
    "wagehour": "wage per hour",
    "marital": "marital stat",
    "major": "major industry code",
    "race": "race",
    "sex": "sex",
    "employment": "full or part time employment stat",
    "gains": "capital gains",
}
"""The attributes of Table 6 and their columns."""


@cache
def _loaded(name: str) -> pa.Table | str:
    try:
        return dv.datasets.load(name)
    except MissingDependency as error:
        return str(error)


def public(name: str) -> pa.Table:
    """A public table; of Adult only the rows without nulls, as in the paper."""
    table = _loaded(name)
    if isinstance(table, str):
        pytest.skip(f"needs the public data set {name!r}: {table}")
    return table.drop_null() if name == "adult" else table


def whole_adult(columns: Sequence[str]) -> RowCodes:
    """All 48,842 rows of Adult, both parts, with nulls."""
    parts = [_loaded("adult"), _loaded("adult-test")]
    for part in parts:
        if isinstance(part, str):
            pytest.skip(f"needs the public data sets 'adult' and 'adult-test': {part}")
    both = pa.concat_tables(
        [part.select(list(columns)) for part in parts if not isinstance(part, str)]
    )
    return read_rows(dv.read(both), list(columns))


def rows_where(name: str, columns: Sequence[str], not_zero: str | None = None) -> RowCodes:
    """Rows of a public table, all or those in which a column is not 0."""
    table = public(name)
    if not_zero is not None:
        zero = "0" if pa.types.is_string(table.schema.field(not_zero).type) else 0
        table = table.filter(pc.not_equal(table.column(not_zero), zero))
    return read_rows(
        dv.read(table.select(list(dict.fromkeys(columns)))), list(dict.fromkeys(columns))
    )


@cache
def paper_rows(name: str) -> RowCodes:
    """The attributes of Table 5 or Table 6."""
    return rows_where(name, list((ADULT if name == "adult" else CENSUS).values()))
