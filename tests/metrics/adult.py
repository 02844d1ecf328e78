# SPDX-License-Identifier: Apache-2.0
"""The papers' Adult: the rows of adult.data without a "?", 30,162 of 32,561.

Tests are skipped if the data is not available.
"""

from __future__ import annotations

from functools import cache

import pyarrow as pa
import pytest

import divulge as dv
from divulge.errors import MissingDependency


@cache
def _adult() -> pa.Table | str:
    try:
        return dv.datasets.load("adult")
    except MissingDependency as error:
        return str(error)


def adult() -> pa.Table:
    """All 32,561 rows, with nulls."""
    table = _adult()
    if isinstance(table, str):
        pytest.skip(f"needs the public data set 'adult': {table}")
    return table


def complete_adult() -> pa.Table:
    """The 30,162 rows without nulls."""
    return adult().drop_null()
