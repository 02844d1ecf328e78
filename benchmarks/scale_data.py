# SPDX-License-Identifier: Apache-2.0
"""Made-up tables for scale.py: always the same for the same size, written as Parquet by DuckDB."""

from __future__ import annotations

from pathlib import Path

import duckdb

PEOPLE = ["age", "sex", "region", "education", "marital", "country", "household", "disease"]
RANKED = [f"a{place:02}" for place in range(20)]
_VALUES = (2, 2, 3, 4, 5, 5, 6, 7, 8, 9, 10, 12, 16, 20, 25, 30, 42, 60, 75, 100)
"""How many values each of the 20 attributes has."""


def make_people(folder: Path, rows: int, *, distinct: bool = False) -> Path:
    """Eight columns of people: at most 86,400 classes or, if `distinct`, as many as rows."""
    region, age = _drawn(3, 20, skew=2), _drawn(1, 90)
    columns = (
        f"{age} AS age, 's' || {_drawn(2, 2)} AS sex, 'region ' || {region} AS region, {_drawn(4, 6, skew=2)} AS education, "
        f"'m' || {_drawn(5, 4, skew=2)} AS marital, 'c' || {region} % 4 AS country, "
        f"{'CAST(i AS INTEGER)' if distinct else f'{age} // 30'} AS household, 'disease ' || {_drawn(8, 15, skew=2)} AS disease"
    )
    return _written(folder / f"people-{rows}-{distinct}.parquet", columns, rows)


def make_ranked(folder: Path, rows: int) -> Path:
    """20 attributes of 2 to 100 values, as text, and a sensitive one."""
    columns = [
        f"'v' || {_drawn(place, values, skew=1.5)} AS {name}"
        for place, (name, values) in enumerate(zip(RANKED, _VALUES, strict=True))
    ]
    return _written(
        folder / f"ranked-{rows}.parquet", ", ".join([*columns, f"{_drawn(99, 15, skew=2)} AS disease"]), rows
    )


def make_wide(folder: Path, rows: int, columns: int, kind: str) -> Path:
    """Many columns of 2 to 24 values; `grouped` rows are alike by twenties in all columns, `independent` ones have nothing in common.

    Rows of a group lie far apart: side by side they would share the processor's cache.
    """
    row = f"i % {max(rows // 20, 1)}" if kind == "grouped" else "i"
    drawn = (f"{_drawn(place, 2 + place * 7 % 23, skew=6, row=row)} AS a{place:03}" for place in range(columns))
    return _written(folder / f"wide-{kind}-{rows}-{columns}.parquet", ", ".join(drawn), rows)


def _drawn(seed: int, values: int, *, skew: float = 1.0, row: str = "i") -> str:
    """SQL for a number from 0 up to `values`, small ones more often the larger the skew."""
    return f"CAST(floor({values} * power((hash({row}, {seed}) % 1000003) / 1000003.0, {skew})) AS SMALLINT)"


def _written(path: Path, columns: str, rows: int) -> Path:
    if not path.exists():
        with duckdb.connect() as connection:
            connection.execute("SET preserve_insertion_order = false")
            connection.execute(f"COPY (SELECT {columns} FROM range({rows}) AS t(i)) TO '{path}' (FORMAT parquet)")
    return path
