# SPDX-License-Identifier: Apache-2.0
"""Tables for benchmarks: always the same for the same size, written as Parquet by DuckDB.

`resampled` draws whole rows of UCI Adult with replacement (at most 19,805 cells). `mixed` takes
age, sex and race from one row and the rest from another (262,277 cells at 10^6 rows). `numbers` has
a number for each text of `resampled`, `complete` a question mark for each null. `columns` has 122
columns more. The others are synthetic.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

QUASI_IDENTIFIERS = [
    "age",
    "workclass",
    "education",
    "native-country",
    "marital-status",
    "race",
    "sex",
]
SENSITIVE = "occupation"
COLUMNS = [*QUASI_IDENTIFIERS, SENSITIVE]
MORE = [f"more{place:03}" for place in range(122)]
ADULT_KINDS = ("resampled", "mixed", "numbers", "complete", "columns")
PEOPLE = ["age", "sex", "region", "education", "marital", "country", "household", "disease"]
RANKED = [f"a{place:02}" for place in range(20)]
_VALUES = (2, 2, 3, 4, 5, 5, 6, 7, 8, 9, 10, 12, 16, 20, 25, 30, 42, 60, 75, 100)
"""Number of values of each of the 20 attributes."""


def make(path: Path, kind: str, rows: int) -> None:
    """Write the table of that kind."""
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("SET preserve_insertion_order = false")
        selected = _adult(connection, kind, rows) if kind in ADULT_KINDS else _made_up(kind, rows)
        connection.execute(f"COPY ({selected}) TO '{path}' (FORMAT parquet)")


def _adult(connection: duckdb.DuckDBPyConnection, kind: str, rows: int) -> str:
    """Return SQL that draws from Adult."""
    from divulge.datasets import load

    adult = load("adult")
    connection.register("adult", adult.append_column("row", [list(range(adult.num_rows))]))
    second = 2 if kind == "mixed" else 1
    drawn = (
        f"SELECT i, hash(i, 1) % {adult.num_rows} AS a, hash(i, {second}) % "
        f"{adult.num_rows} AS "
        f"b FROM range({rows}) AS t(i)"
    )
    taken = [
        (name, f'{"x" if name in ("age", "sex", "race") else "y"}."{name}"') for name in COLUMNS
    ]
    if kind == "numbers":
        taken = [(name, f"CAST(hash({column}) % 9973 AS INTEGER)") for name, column in taken]
    if kind == "complete":
        taken = [(name, f"coalesce(CAST({column} AS VARCHAR), '?')") for name, column in taken]
    if kind == "columns":
        taken += [
            (name, f"'v' || {_drawn(place, 2 + place * 7 % 23, skew=3)}")
            for place, name in enumerate(MORE)
        ]
    listed = ", ".join(f'{column} AS "{name}"' for name, column in taken)
    return (
        f"SELECT {listed} FROM ({drawn}) AS d JOIN adult AS x ON x.row = d.a JOIN adult AS y "
        "ON "
        "y.row = d.b"
    )


def _made_up(kind: str, rows: int) -> str:
    """Return SQL for synthetic tables.

    People (at most 86,400 classes, or one for each row), 20 attributes to rank, 130 to grow by.
    """
    if kind in ("people", "distinct"):
        region, age = _drawn(3, 20, skew=2), _drawn(1, 90)
        household = "CAST(i AS INTEGER)" if kind == "distinct" else f"{age} // 30"
        columns = [
            f"{age} AS age",
            f"'s' || {_drawn(2, 2)} AS sex",
            f"'region ' || {region} AS region",
            f"{_drawn(4, 6, skew=2)} AS education",
            f"'m' || {_drawn(5, 4, skew=2)} AS marital",
            f"'c' || {region} % 4 AS country",
            f"{household} AS household",
            f"'disease ' || {_drawn(8, 15, skew=2)} AS disease",
        ]
    elif kind == "ranked":
        columns = [
            f"'v' || {_drawn(place, values, skew=1.5)} AS {name}"
            for place, (name, values) in enumerate(zip(RANKED, _VALUES, strict=True))
        ]
    else:
        # Equal rows, twenty of each, lie far apart: next to each other they would share the
        # processor's cache.
        row = f"i % {max(rows // 20, 1)}" if kind == "wide-grouped" else "i"
        columns = [
            f"{_drawn(place, 2 + place * 7 % 23, skew=6, row=row)} AS a{place:03}"
            for place in range(130)
        ]
    return f"SELECT {', '.join(columns)} FROM range({rows}) AS t(i)"


def _drawn(seed: int, values: int, *, skew: float = 1.0, row: str = "i") -> str:
    """Return SQL for a number from 0 up to `values`, small ones more often the larger the skew."""
    return (
        f"CAST(floor({values} * power((hash({row}, {seed}) % 1000003) / 1000003.0, {skew})) "
        "AS "
        "SMALLINT)"
    )
