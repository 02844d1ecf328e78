# SPDX-License-Identifier: Apache-2.0
"""How does the cost of divulge grow? Rows, columns, combinations and memory, on DuckDB and on Spark.

    python benchmarks/scale.py [--rows 10000000] [--wide-rows 1000000] [--rank-rows 1000000] [--out-of-core-rows 0] [--chart scale.svg]

Every figure comes from a process of its own, which also tells its peak of memory; times are the best of several runs after a first one that
warms up. `GROUP BY` is the bare statement of the same engine over the same columns. The wide tables are those of Figs. 6 and 7 of
Bkakria et al. 2021, in two kinds: `independent` columns, where every row is soon alone in its class, and `grouped` rows, twenty of a kind,
which never are (the worst case for refinement). 0 rows leave a part out.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from scale_data import make_people, make_ranked, make_wide
from scale_tasks import TASKS

SIZES = (10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)


def main() -> None:
    """Run all parts and print them."""
    options = arguments()
    if options.child:
        print(json.dumps(TASKS[options.child[0]](*json.loads(options.child[1]))))
        return
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before the first run")
    points: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        if options.rows:
            points += rows_part(folder, options.rows, options.engines.split(","))
        if options.wide_rows:
            points += wide_part(folder, options.wide_rows, options.wide_columns, options.wide_kinds.split(","))
        if options.rank_rows:
            rank_part(folder, options.rank_rows)
        if options.out_of_core_rows:
            out_of_core_part(folder, options.out_of_core_rows, options.memory_limit)
    if options.chart:
        draw(points, options.chart)


def arguments() -> argparse.Namespace:
    """What the user asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000, help="rows of the largest table of 8 columns")
    parser.add_argument("--engines", default="duckdb,spark")
    parser.add_argument("--wide-rows", type=int, default=1_000_000, help="rows of the largest wide table")
    parser.add_argument("--wide-columns", type=int, default=130)
    parser.add_argument("--wide-kinds", default="independent,grouped")
    parser.add_argument("--rank-rows", type=int, default=1_000_000, help="rows of the table of 20 attributes")
    parser.add_argument("--out-of-core-rows", type=int, default=0, help="rows of a table with as many classes")
    parser.add_argument("--memory-limit", default="3GB", help="of DuckDB, for the table out of core")
    parser.add_argument("--folder", help="where to make the data (default: the system's temporary directory)")
    parser.add_argument("--chart", help="write time against rows and columns as .svg or .png")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    return parser.parse_args()


def rows_part(folder: Path, largest: int, engines: list[str]) -> list[dict[str, Any]]:
    """measure() and the bare GROUP BY of each engine against rows."""
    print("\nmeasure(), all metrics, 7 quasi-identifiers and 1 sensitive attribute, Parquet")
    print(
        f"{'engine':<8}{'rows':>12}{'classes':>10}{'GROUP BY':>11}{'measure':>11}{'ratio':>8}{'rows/s':>13}{'peak MiB':>10}{'load':>7}"
    )
    points: list[dict[str, Any]] = []
    for engine in engines:
        here = []
        for rows in (size for size in SIZES if size <= largest):
            path = make_people(folder, rows)
            bare = child(f"group by {engine}", str(path))
            full = child(f"measure {engine}", str(path))
            here.append((rows, full["seconds"]))
            print(
                f"{engine:<8}{rows:>12,}{full['classes']:>10,}{bare['seconds']:>10.3f}s{full['seconds']:>10.3f}s"
                f"{full['seconds'] / bare['seconds']:>8.2f}{rows / full['seconds']:>13,.0f}{full['peak']:>10.0f}{os.getloadavg()[0]:>7.1f}",
                flush=True,
            )
            points += [
                {"part": "rows", "x": rows, "seconds": bare["seconds"], "what": f"GROUP BY, {engine}"},
                {"part": "rows", "x": rows, "seconds": full["seconds"], "what": f"measure, {engine}"},
            ]
        tell_fit(f"{engine}: seconds against rows", here)
    return points


def wide_part(folder: Path, largest: int, columns: int, kinds: list[str]) -> list[dict[str, Any]]:
    """Simple and combined ITPR of growing sets of columns."""
    points = []
    for kind in kinds:
        print(f"\ngrowing(), {kind}: simple ITPR of {columns} attributes and combined ITPR of the first n")
        print(f"{'rows':>12}{'all n':>11}{'cells/s':>14}{'peak MiB':>10}   seconds until n = 1, 10, 20, ...")
        totals = []
        for rows in (largest // 8, largest // 4, largest // 2, largest):
            found = child("growing", str(make_wide(folder, rows, columns, kind)))
            at, steps = found["at"], [n for n in range(1, columns + 1) if n == 1 or n % 10 == 0]
            totals.append((rows, at[-1]))
            print(
                f"{rows:>12,}{at[-1]:>10.2f}s{rows * columns / at[-1]:>14,.0f}{found['peak']:>10.0f}   "
                + " ".join(f"{at[n - 1]:.1f}" for n in steps),
                flush=True,
            )
        print("combined ITPR: " + ", ".join(f"n={n}: {value:.4f}" for n, value in found["itpr"]))
        tell_fit(f"{kind}: seconds against n, {largest:,} rows", [(n, at[n - 1]) for n in steps])
        tell_fit(f"{kind}: seconds against rows, n = {columns}", totals)
        points += [
            {"part": "columns", "x": n, "seconds": at[n - 1], "what": f"{kind}, {largest:,} rows"} for n in steps
        ]
    return points


def rank_part(folder: Path, rows: int) -> None:
    """rank() beside one GROUP BY for each combination of up to three of 20 attributes."""
    path = str(make_ranked(folder, rows))
    print(f"\nrank(), 20 attributes up to size 3, {rows:,} rows")
    for sensitive in ([], ["disease"]):
        each, ours = child("group by each", path, sensitive), child("rank", path, sensitive)
        print(
            f"{'with' if sensitive else 'without'} a sensitive attribute: {each['combinations']:,} GROUP BYs {each['seconds']:.1f} s, "
            f"rank {ours['seconds']:.1f} s: {each['seconds'] / ours['seconds']:.1f} times faster; "
            f"with the {each['more']} GROUP BYs of all attributes but one and of all "
            f"{(each['seconds'] + each['more_seconds']) / ours['seconds']:.1f} times; peak {ours['peak']:.0f} MiB",
            flush=True,
        )


def out_of_core_part(folder: Path, rows: int, limit: str) -> None:
    """measure() where each row is a class of its own and memory is short."""
    path = make_people(folder, rows, distinct=True)
    found = child("measure within", str(path), limit, str(folder))
    print(
        f"\nmeasure() within {limit}: {rows:,} rows, {found['classes']:,} classes, {path.stat().st_size / 2**20:,.0f} MiB of Parquet: "
        f"{found['seconds']:.0f} s, {rows / found['seconds']:,.0f} rows/s, peak {found['peak']:,.0f} MiB, load {os.getloadavg()[0]:.1f}",
        flush=True,
    )


def child(task: str, *given: Any) -> dict[str, Any]:
    """Run a task in a process of its own."""
    command = [sys.executable, __file__, "--child", task, json.dumps(given)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - this script
    if done.returncode:
        sys.exit(f"{task} {given}: {done.stderr}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def tell_fit(what: str, points: list[tuple[int, float]]) -> None:
    """Print the straight line through the points."""
    x, y = (np.array(side, dtype=np.float64) for side in zip(*points, strict=True))
    if len(x) > 2:
        slope, start = np.polyfit(x, y, 1)
        spread = float(((y - y.mean()) ** 2).sum())
        fit = 1 - float(((y - start - slope * x) ** 2).sum()) / spread
        print(f"fit of {what}: {start:.3f} + {slope:.3g} x, R2 = {fit:.4f}")


def draw(points: list[dict[str, Any]], path: str) -> None:
    """Time against rows and against columns."""
    import altair as alt

    def lines(part: str, title: str, scale: str) -> alt.Chart:
        here = [point for point in points if point["part"] == part]
        axis = {"scale": alt.Scale(type=scale)}  # type: ignore[arg-type]
        return (
            alt.Chart(alt.Data(values=here), title=title, width=420, height=300)
            .mark_line(point=True)
            .encode(
                x=alt.X("x:Q", title=part, **axis), y=alt.Y("seconds:Q", **axis), color=alt.Color("what:N", title=None)
            )
        )

    both = alt.hconcat(
        lines("rows", "measure() against rows", "log"), lines("columns", "growing() against columns", "linear")
    )
    both.resolve_scale(color="independent").save(path)


if __name__ == "__main__":
    main()
