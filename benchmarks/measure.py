# SPDX-License-Identifier: Apache-2.0
"""How fast is `divulge.measure`? Ratios to the bare GROUP BY and to pycanon, measured side by side in one run.

    python benchmarks/measure.py [--largest 10000000] [--pycanon-rows 1000000] [--chart measure.svg]

Rows are made from UCI Adult: `resampled` draws whole rows with replacement (few classes, as in Adult), `mixed` takes age, sex and race from
one row and the other columns from another (many classes). Every figure is the best of several runs, taken in turns; memory is the peak of
a process of its own.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
from chart import draw_lines

import divulge as dv
from divulge.datasets import load

QUASI_IDENTIFIERS = ["age", "workclass", "education", "native-country", "marital-status", "race", "sex"]
SENSITIVE = "occupation"
COLUMNS = [*QUASI_IDENTIFIERS, SENSITIVE]


def main() -> None:
    """Run all comparisons and print them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=int, default=10_000_000, help="rows of the largest table")
    parser.add_argument("--pycanon-rows", type=int, default=0, help="also time pycanon's nine numbers on so many rows")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--chart", help="write time against rows as .svg or .png")
    parser.add_argument("--peak", metavar="PARQUET", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peak:
        dv.measure(options.peak, quasi_identifiers=QUASI_IDENTIFIERS, sensitive=SENSITIVE)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
        return
    with tempfile.TemporaryDirectory() as scratch:
        rows = [size for size in (10_000, 100_000, 1_000_000, 10_000_000) if size <= options.largest]
        print(
            f"{'data':<11}{'rows':>11}{'classes':>10}{'cells':>10}{'GROUP BY':>11}{'measure':>11}{'ratio':>8}{'peak MiB':>10}"
        )
        points = [
            compare(Path(scratch), shape, size, options.repeats) for shape in ("resampled", "mixed") for size in rows
        ]
        print(f"\n`divulge measure` on Adult (32,561 rows, CSV), whole process: {whole_process(Path(scratch)):.2f} s")
        if options.pycanon_rows:
            against_pycanon(Path(scratch), options.pycanon_rows)
    if options.chart:
        draw(points, options.chart)


def make(folder: Path, shape: str, rows: int) -> Path:
    """A Parquet file of that many rows made from Adult, always the same."""
    path = folder / f"{shape}-{rows}.parquet"
    if not path.exists():
        connection = duckdb.connect()
        connection.register("adult", load("adult").append_column("row", [list(range(32_561))]))
        drawn = f"SELECT hash(i, 1) % 32561 AS a, hash(i, {1 if shape == 'resampled' else 2}) % 32561 AS b FROM range({rows}) AS t(i)"
        taken = ", ".join(f'{"x" if name in ("age", "sex", "race") else "y"}."{name}"' for name in COLUMNS)
        connection.execute(
            f"COPY (SELECT {taken} FROM ({drawn}) AS d JOIN adult AS x ON x.row = d.a JOIN adult AS y ON y.row = d.b) "
            f"TO '{path}' (FORMAT parquet)"
        )
    return path


def compare(folder: Path, shape: str, rows: int, repeats: int) -> dict[str, Any]:
    """The bare GROUP BY beside all metrics, in turns."""
    path = make(folder, shape, rows)
    names = ", ".join(f'"{name}"' for name in COLUMNS)

    def bare() -> Any:
        return (
            duckdb.connect()
            .sql(f"SELECT {names}, COUNT(*) AS n FROM read_parquet('{path}') GROUP BY {names}")
            .to_arrow_table()
        )

    def everything() -> Any:
        return dv.measure(path, quasi_identifiers=QUASI_IDENTIFIERS, sensitive=SENSITIVE)

    cells, measured = bare(), everything()
    group_by, measure = in_turns(bare, everything, repeats)
    child = [sys.executable, __file__, "--peak", str(path)]
    peak = int(subprocess.run(child, capture_output=True, check=True, text=True).stdout) / 1024  # noqa: S603 - this script
    classes = len(measured.contingency)
    print(
        f"{shape:<11}{rows:>11,}{classes:>10,}{cells.num_rows:>10,}{group_by:>10.3f}s{measure:>10.3f}s"
        f"{measure / group_by:>8.2f}{peak:>10.0f}",
        flush=True,
    )
    return {"data": shape, "rows": rows, "GROUP BY": group_by, "all metrics": measure}


def in_turns(first: Callable[[], Any], second: Callable[[], Any], repeats: int) -> tuple[float, float]:
    """The best time of each, taken alternately so that noise falls on both."""
    best = [float("inf"), float("inf")]
    for _ in range(repeats):
        for position, work in enumerate((first, second)):
            started = time.perf_counter()
            work()
            best[position] = min(best[position], time.perf_counter() - started)
    return best[0], best[1]


def whole_process(folder: Path) -> float:
    """From the shell to the last line, best of five."""
    import pyarrow.csv

    path = folder / "adult.csv"
    pyarrow.csv.write_csv(load("adult"), path)
    command = [
        sys.executable,
        "-m",
        "divulge",
        "measure",
        str(path),
        "--qi",
        ",".join(QUASI_IDENTIFIERS),
        "--sensitive",
        SENSITIVE,
    ]
    times = []
    for _ in range(5):
        started = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - our own program
        times.append(time.perf_counter() - started)
    return min(times)


def against_pycanon(folder: Path, rows: int) -> None:
    """The same nine numbers from both, once."""
    from pycanon.anonymity import (
        alpha_k_anonymity,
        basic_beta_likeness,
        delta_disclosure,
        enhanced_beta_likeness,
        entropy_l_diversity,
        k_anonymity,
        l_diversity,
        recursive_c_l_diversity,
        t_closeness,
    )

    path = make(folder, "resampled", rows)
    frame = duckdb.connect().sql(f"SELECT * FROM read_parquet('{path}')").to_arrow_table().to_pandas().fillna("?")
    started = time.perf_counter()
    k_anonymity(frame, QUASI_IDENTIFIERS)
    for number in (
        alpha_k_anonymity, l_diversity, entropy_l_diversity, recursive_c_l_diversity,
        basic_beta_likeness, enhanced_beta_likeness, t_closeness, delta_disclosure,
    ):  # fmt: skip
        number(frame, QUASI_IDENTIFIERS, [SENSITIVE])
    theirs = time.perf_counter() - started
    ours, _ = in_turns(
        lambda: dv.measure(frame, quasi_identifiers=QUASI_IDENTIFIERS, sensitive=SENSITIVE), lambda: None, 3
    )
    from_file, _ = in_turns(
        lambda: dv.measure(path, quasi_identifiers=QUASI_IDENTIFIERS, sensitive=SENSITIVE), lambda: None, 3
    )
    print(f"pycanon, nine numbers, {rows:,} rows in pandas: {theirs:.1f} s")
    print(f"divulge, all numbers, the same frame: {ours:.3f} s ({theirs / ours:,.0f} times faster)")
    print(f"divulge, all numbers, the same rows in Parquet: {from_file:.3f} s ({theirs / from_file:,.0f} times faster)")


def draw(points: list[dict[str, Any]], path: str) -> None:
    """What took how long, against rows."""
    rows = [
        {"rows": point["rows"], "seconds": point[name], "what": f"{name} ({point['data']})"}
        for point in points
        for name in ("GROUP BY", "all metrics")
    ]
    draw_lines(rows, path)


if __name__ == "__main__":
    main()
