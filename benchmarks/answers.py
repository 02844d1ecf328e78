# SPDX-License-Identifier: Apache-2.0
"""Error of `query`: random conditions over several tables of anatomized releases.

The tables are Adult and random columns.

    python -m benchmarks.answers

The figures in docs/concepts/anatomize.md come from here. The true count must lie within the bounds
every time.
"""

from __future__ import annotations

import random

import duckdb
import numpy as np
import pyarrow as pa

import divulge as dv

QUESTIONS = 300


def condition(table: pa.Table, names: list[str], draw: random.Random) -> str:
    """Return ranges of numbers and lists of texts, around values that occur."""
    parts = []
    for name in names:
        values = [draw.choice(table[name].to_pylist()) for _ in range(draw.randint(2, 3))]
        if pa.types.is_string(table.schema.field(name).type):
            quoted = ", ".join("'" + value.replace("'", "''") + "'" for value in values)
            parts.append(f'"{name}" in ({quoted})')
        else:
            parts.append(f'"{name}" between {min(values)} and {max(values)}')
    return " and ".join(parts)


def compare(title: str, table: pa.Table, *, sensitive: str, beta: str, tables: int) -> None:
    """Query one release many times and compare with the true counts."""
    draw = random.Random(1)  # noqa: S311 - not for secrets
    names = [name for name in table.column_names if name != sensitive]
    release = dv.anatomize(
        table, sensitive=sensitive, quasi_identifiers=names, beta=beta, tables=tables, seed=1
    )
    source, truths = dv.open_release(release), duckdb.connect()
    truths.register("original", table)
    errors: list[float] = []
    within = 0
    while len(errors) < QUESTIONS:
        asked = condition(table, [*draw.sample(names, draw.randint(1, 3)), sensitive], draw)
        found = dv.query(source, asked)
        (truth,) = truths.execute(f"SELECT COUNT(*) FROM original WHERE {asked}").fetchall()[0]
        if (
            found.estimate is None
            or found.low is None
            or found.high is None
            or found.low == found.high
        ):
            continue
        within += found.low <= truth <= found.high
        errors.append(abs(found.estimate - truth) / max(truth, 1))
    middle, most = np.quantile(errors, [0.5, 0.9])
    print(
        f"{title}: within the bounds {within} of {QUESTIONS}; relative error {middle:.2f} "
        f"(median), {most:.2f} (nine in ten)"
    )


def main() -> None:
    """Compare all releases."""
    draw, rows = np.random.default_rng(1), 5000
    one = draw.integers(0, 20, rows)
    free = {name: draw.integers(0, 20, rows) for name in "abc"} | {
        "s": draw.integers(0, 10, rows).astype(str)
    }
    bound = {
        "a": one,
        "b": one + draw.integers(0, 2, rows),
        "c": one * 7 % 20,
        "s": (one // 2).astype(str),
    }
    compare("independent columns", pa.table(free), sensitive="s", beta="1/4", tables=2)
    compare("columns that depend on one", pa.table(bound), sensitive="s", beta="1/4", tables=2)
    columns = ["age", "education", "marital-status", "race", "sex", "relationship", "occupation"]
    adult = dv.datasets.load("adult").select(columns).drop_null()
    for tables in (1, 2, 3):
        compare(
            f"Adult, {tables} tables of quasi-identifiers",
            adult,
            sensitive="occupation",
            beta="1/7",
            tables=tables,
        )


if __name__ == "__main__":
    main()
