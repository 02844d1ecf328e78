# SPDX-License-Identifier: Apache-2.0
"""How does the cost of divulge grow? Rows, columns, combinations and memory, on DuckDB and on Spark.

    python benchmarks/scale.py                 # all of docs/concepts/scale.md: some 20 quiet minutes, 15 GB of disk
    python benchmarks/scale.py --quick         # a hundredth of the rows: a few minutes
    python benchmarks/scale.py --parts wide,rank --wide-rows 1000000 --chart wide.png

Every figure comes from a process of its own; its peak of memory is that of the whole process, with Spark that of Python, Java and
the workers together. `GROUP BY` is the bare statement of the same engine over the same columns; its time and that of measure() are
the best of up to five runs after a first one. The wide tables are those of Figs. 6 and 7 of Bkakria et al. 2021, in two kinds:
`independent` columns, where every row is soon alone in its class, and `grouped` rows, twenty of a kind, which never are (the worst
case for refinement). Made data lies in a temporary folder and goes away. Linux only: memory is read from /proc.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from scale_data import make_people, make_ranked, make_wide
from scale_tasks import TASKS

SIZES = (10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
SAID: list[str] = []
PARTS = ("rows", "alone", "wide", "rank", "disk")
_BYTES_PER_ROW = 150
"""Of disk, for a row that is a class of its own: the table, what is sorted and what is kept."""


def main() -> None:
    """Run the parts and print them."""
    options = arguments()
    if options.child:
        print(json.dumps(TASKS[options.child[0]](*json.loads(options.child[1]))))
        return
    share = 100 if options.quick else 1
    rows = {part: getattr(options, f"{part}_rows") // share for part in PARTS}
    chosen = options.parts.split(",")
    say(
        f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores, Python {platform.python_version()}, {load()} before the first run"
    )
    points: list[dict[str, Any]] = []
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        if "rows" in chosen:
            points += rows_part(folder, rows["rows"], options.engines.split(","))
        if "alone" in chosen:
            alone_part(folder, rows["alone"])
        if "wide" in chosen:
            points += wide_part(folder, rows["wide"], options.wide_columns, options.wide_kinds.split(","))
        if "rank" in chosen:
            rank_part(folder, rows["rank"])
        if "disk" in chosen:
            out_of_core_part(folder, rows["disk"], options.memory_limit)
    say(f"\n{time.perf_counter() - began:.0f} s in all, {load()} at the end")
    if points:
        draw(points, options.chart)
    if options.page:
        put_into(Path(options.page))


def arguments() -> argparse.Namespace:
    """What the user asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--parts", default=",".join(PARTS), help="which to run, separated by commas (default: %(default)s)"
    )
    parser.add_argument("--quick", action="store_true", help="a hundredth of the rows in every part")
    parser.add_argument("--rows-rows", type=int, default=10_000_000, help="rows: of the largest table of 8 columns")
    parser.add_argument("--engines", default="duckdb,spark", help="rows: the engines")
    parser.add_argument(
        "--alone-rows", type=int, default=10_000_000, help="alone: rows, each a class, on a Spark of 1 GiB"
    )
    parser.add_argument("--wide-rows", type=int, default=10_000_000, help="wide: rows of the largest wide table")
    parser.add_argument("--wide-columns", type=int, default=130)
    parser.add_argument("--wide-kinds", default="independent,grouped")
    parser.add_argument("--rank-rows", type=int, default=1_000_000, help="rank: rows of the table of 20 attributes")
    parser.add_argument(
        "--disk-rows", type=int, default=100_000_000, help="disk: rows, each a class, within a memory limit"
    )
    parser.add_argument(
        "--memory-limit", default="3GB", help="disk: DuckDB's own limit; the process takes up to 1 GiB more"
    )
    parser.add_argument("--folder", help="where to make the data (default: the system's temporary directory)")
    parser.add_argument("--chart", default="build/scale.svg", help="time against rows and columns, as .svg or .png")
    parser.add_argument(
        "--page", help="also put what is printed into the text block of this page, docs/concepts/scale.md"
    )
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    return parser.parse_args()


def rows_part(folder: Path, largest: int, engines: list[str]) -> list[dict[str, Any]]:
    """measure() and the bare GROUP BY of each engine against rows."""
    say("\nmeasure(), all metrics, 7 quasi-identifiers and 1 sensitive attribute, Parquet")
    say(
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
            say(
                f"{engine:<8}{rows:>12,}{full['classes']:>10,}{bare['seconds']:>10.3f}s{full['seconds']:>10.3f}s"
                f"{full['seconds'] / bare['seconds']:>8.2f}{rows / full['seconds']:>13,.0f}{full['peak']:>10.0f}{os.getloadavg()[0]:>7.1f}"
            )
            points += [
                {"part": "rows", "x": rows, "seconds": bare["seconds"], "what": f"GROUP BY, {engine}"},
                {"part": "rows", "x": rows, "seconds": full["seconds"], "what": f"measure, {engine}"},
            ]
        tell_fit(f"{engine}: seconds against rows", here)
    return points


def alone_part(folder: Path, rows: int) -> None:
    """measure() on Spark where each row is a class of its own, and Java has a heap of 1 GiB for driver and executors together."""
    path = make_people(folder, rows, distinct=True)
    found = child("measure spark small", str(path), "1g")
    peaks = found["peaks"]
    say(
        f"\nmeasure() on Spark with a heap of 1 GiB: {rows:,} rows, {found['classes']:,} classes, counts: {found['counts']}, "
        f"{found['came']:,} classes came to the driver; {found['seconds']:.0f} s, {rows / found['seconds']:,.0f} rows/s\n"
        f"peaks: Python driver {peaks['driver']:.0f} MiB, Java {peaks['java']:.0f} MiB, "
        f"Python workers together {peaks.get('workers', 0):.0f} MiB; {load()}"
    )
    path.unlink()


def wide_part(folder: Path, largest: int, columns: int, kinds: list[str]) -> list[dict[str, Any]]:
    """Simple and combined ITPR of growing sets of columns."""
    points: list[dict[str, Any]] = []
    steps = [n for n in range(1, columns + 1) if n in (1, columns) or n % 10 == 0]
    for kind in kinds:
        say(f"\ngrowing(), {kind}: simple ITPR of {columns} attributes and combined ITPR of the first n")
        say(
            f"{'rows':>12}{'all n':>11}{'CPU':>11}{'cells/s':>14}{'peak MiB':>10}{'load':>7}   seconds until n = 1, 10, 20, ..."
        )
        totals: list[tuple[int, float]] = []
        busy: list[tuple[int, float]] = []
        for rows in (largest // 8, largest // 4, largest // 2, largest):
            path = make_wide(folder, rows, columns, kind)
            found = child("growing", str(path))
            path.unlink()
            at, cpu = found["at"], found["cpu"]
            totals.append((rows, at[-1]))
            busy.append((rows, cpu[-1]))
            say(
                f"{rows:>12,}{at[-1]:>10.2f}s{cpu[-1]:>10.2f}s{rows * columns / at[-1]:>14,.0f}{found['peak']:>10.0f}"
                f"{os.getloadavg()[0]:>7.1f}   " + " ".join(f"{at[n - 1]:.1f}" for n in steps)
            )
        say(f"simple ITPR: from {min(found['simple']):.4f} to {max(found['simple']):.4f}")
        say("combined ITPR: " + ", ".join(f"n={n}: {value:.4f}" for n, value in found["itpr"]))
        tell_fit(f"{kind}: seconds against n, {largest:,} rows", [(n, at[n - 1]) for n in steps])
        tell_fit(f"{kind}: CPU seconds against n, {largest:,} rows", [(n, cpu[n - 1]) for n in steps])
        tell_fit(f"{kind}: seconds against rows, n = {columns}", totals)
        tell_fit(f"{kind}: CPU seconds against rows, n = {columns}", busy)
        points += [
            {"part": "columns", "x": n, "seconds": at[n - 1], "what": f"{kind}, {largest:,} rows"} for n in steps
        ]
    return points


def rank_part(folder: Path, rows: int) -> None:
    """rank() beside one GROUP BY for each combination of up to three of 20 attributes."""
    path = str(make_ranked(folder, rows))
    say(f"\nrank(), 20 attributes up to size 3, {rows:,} rows")
    for sensitive in ([], ["disease"]):
        each, ours = child("group by each", path, sensitive), child("rank", path, sensitive)
        say(
            f"{'with' if sensitive else 'without'} a sensitive attribute: {each['combinations']:,} GROUP BYs {each['seconds']:.1f} s, "
            f"rank {ours['seconds']:.1f} s: {each['seconds'] / ours['seconds']:.1f} times faster; "
            f"with the {each['more']} GROUP BYs of all attributes but one and of all "
            f"{(each['seconds'] + each['more_seconds']) / ours['seconds']:.1f} times; peak {ours['peak']:.0f} MiB; {load()}"
        )


def out_of_core_part(folder: Path, rows: int, limit: str) -> None:
    """measure() where each row is a class of its own and memory is short."""
    free, needed = shutil.disk_usage(folder).free, rows * _BYTES_PER_ROW
    if free < needed:
        say(f"\nmeasure() within {limit} left out: {folder} has {free >> 30} GiB free, and {needed >> 30} are needed")
        return
    path = make_people(folder, rows, distinct=True)
    found = child("measure within", str(path), limit, str(folder))
    say(
        f"\nmeasure() within {limit}: {rows:,} rows, {found['classes']:,} classes, {path.stat().st_size / 2**20:,.0f} MiB of Parquet: "
        f"{found['seconds']:.0f} s, {rows / found['seconds']:,.0f} rows/s; peak of the process {found['peak']:,.0f} MiB, "
        f"of the private folder {found['spilled']:,.0f} MiB; {load()}"
    )
    path.unlink()


def say(text: str) -> None:
    """Print, and remember for a page."""
    print(text, flush=True)
    SAID.append(text)


def put_into(page: Path) -> None:
    """Replace the one text block of a page that begins with a date."""
    said = "\n".join(line.rstrip() for line in "\n".join(SAID).splitlines())
    text, found = re.subn(
        r"(?ms)^```text\n\d{4}-\d\d-\d\d,.*?^```$", lambda _: f"```text\n{said}\n```", page.read_text(encoding="utf-8")
    )
    if found != 1:
        sys.exit(f"{page} has {found} blocks to replace instead of one")
    page.write_text(text, encoding="utf-8")


def load() -> str:
    """How busy the machine is."""
    return f"load {os.getloadavg()[0]:.1f}"


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
        say(f"fit of {what}: {start:.3f} + {slope:.3g} x, R2 = {fit:.4f}")


def draw(points: list[dict[str, Any]], path: str) -> None:
    """Time against rows and against columns."""
    import altair as alt

    def lines(part: str, title: str, scale: str) -> alt.Chart:
        shown: dict[str, Any] = {"scale": {"type": scale}, "axis": {"format": "~s", "labelOverlap": True}}
        data = alt.InlineData(values=[point for point in points if point["part"] == part])
        chart: alt.Chart = (
            alt.Chart(data, title=title)
            .properties(width=420, height=300)
            .mark_line(point=True)
            .encode(alt.X("x:Q", title=part, **shown), alt.Y("seconds:Q", **shown), alt.Color("what:N", title=None))
        )
        return chart

    titles = {"rows": ("measure() against rows", "log"), "columns": ("growing() against columns", "linear")}
    drawn = {point["part"] for point in points}
    panels = [lines(part, *how) for part, how in titles.items() if part in drawn]
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    alt.hconcat(*panels).resolve_scale(color="independent").save(path)
    print(f"chart: {path}")


if __name__ == "__main__":
    main()
