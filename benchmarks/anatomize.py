# SPDX-License-Identifier: Apache-2.0
"""How fast is anatomization? Division and grouping on public data beside Slicing at the same beta, and cost against rows.

    python benchmarks/anatomize.py [--largest 10000000] [--repeats 5] [--chart anatomize.svg]

Methods are timed in turns in one run, best of several, in processor time (they run on one core); rows are read
before. Larger tables draw whole rows of Census-Income with replacement; there the whole way is timed, from the
Parquet file to the verified release, in a process of its own, whose processor time and peak memory are reported too.
The slope is that of time against rows, both in logarithms: 1 is linear.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow.compute as pc
from chart import draw_lines

import divulge as dv
from divulge.anatomy import (
    AlphaBetaGammaDelta,
    Anatomy,
    Asn,
    Method,
    RowCodes,
    Slicing,
    Slppa,
    Workload,
    read_rows,
    recq_of,
)
from divulge.anatomy.chunks import grouping_of
from divulge.anatomy.methods import anatomize as divide_and_group
from divulge.api.anatomize import anatomy_roles
from divulge.api.anatomized import AnatomizedRelease

ADULT = ["age", "workclass", "education", "marital-status", "relationship", "race", "sex", "hours-per-week"]
CENSUS = [
    "class of worker",
    "detailed industry recode",
    "education",
    "wage per hour",
    "marital stat",
    "major industry code",
    "race",
    "sex",
    "full or part time employment stat",
]


def main() -> None:
    """Run all comparisons and print them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=int, default=10_000_000, help="rows of the largest table")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--chart", help="write time against rows as .svg or .png")
    parser.add_argument("--whole", metavar="PARQUET", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.whole:
        print(json.dumps(whole(Path(options.whole))))
        return
    adult = dv.datasets.load("adult").drop_null()
    census = dv.datasets.load("census-income")
    employed = census.filter(pc.not_equal(census["detailed occupation recode"], "0"))
    compare("Adult, occupation", adult, [*ADULT, "occupation"], 7, options.repeats)
    compare("Adult, age", adult, [*ADULT[1:], "occupation", "age"], 20, options.repeats)
    compare("Census, occupation", employed, ["age", *CENSUS, "detailed occupation recode"], 11, options.repeats)
    compare("Census, age", census, [*CENSUS, "age"], 20, options.repeats)
    points = scale(census, options.largest)
    if options.chart:
        draw(points, options.chart)


def compare(title: str, table: Any, columns: list[str], l_value: int, repeats: int) -> None:
    """Each method at the same beta, in turns; the sensitive column comes last."""
    rows = read_rows(dv.read(table.select(columns)), columns)
    bound = f"1/{l_value}"
    paper = AlphaBetaGammaDelta(alpha="1/2", beta=bound, gamma="1/200", delta=bound)
    methods: dict[str, Method] = {
        "SLPPA": Slppa(paper, tables=3),
        "SLPPA, beta only": Slppa(AlphaBetaGammaDelta(beta=bound), tables=3),
        "SLPPA, locality": Slppa(AlphaBetaGammaDelta(beta=bound), tables=3, locality=True),
        "Slicing": Slicing(l_value, tables=3),
        "Anatomy": Anatomy(l_value),
        "ASN": Asn(beta=AlphaBetaGammaDelta(beta=bound).beta),
    }
    best = in_turns({name: _runner(rows, method, columns) for name, method in methods.items()}, repeats)
    print(f"\n{title}: {len(rows):,} rows, beta = {bound}")
    print(
        f"{'method':<18}{'seconds':>9}{'to Slicing':>12}{'groups':>9}{'beta':>9}{'delta':>9}{'RECQ mean':>11}{'median':>9}"
    )
    for name, method in methods.items():
        found = divide_and_group(rows, method, quasi_identifiers=columns[:-1], sensitive=columns[-1], seed=1)
        error = recq_of(found, Workload(queries=300))
        print(
            f"{name:<18}{best[name]:>9.3f}{best[name] / best['Slicing']:>12.2f}{found.groups:>9,}{float(found.levels.beta):>9.4f}"
            f"{float(found.levels.delta):>9.4f}{error.mean:>11.3f}{error.median:>9.3f}",
            flush=True,
        )


def _runner(rows: RowCodes, method: Method, columns: list[str]) -> Callable[[], Any]:
    return lambda: divide_and_group(rows, method, quasi_identifiers=columns[:-1], sensitive=columns[-1], seed=1)


def in_turns(work: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """The best processor time of each, taken alternately so that noise falls on all."""
    best = dict.fromkeys(work, float("inf"))
    for _ in range(repeats):
        for name, run in work.items():
            started = time.process_time()
            run()
            best[name] = min(best[name], time.process_time() - started)
    return best


def scale(census: Any, largest: int) -> list[dict[str, Any]]:
    """From a Parquet file to a verified release, for more and more rows."""
    sizes = [size for size in (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000) if size <= largest]
    print(
        f"\n{'rows':>11}{'read':>9}{'divide, group':>15}{'write, verify':>15}{'in all':>9}{'CPU':>9}{'peak MiB':>10}{'groups':>10}"
    )
    points = []
    with tempfile.TemporaryDirectory() as scratch:
        for size in sizes:
            path = Path(scratch) / f"{size}.parquet"
            make(census, path, size)
            child = [sys.executable, __file__, "--whole", str(path)]
            found = json.loads(subprocess.run(child, capture_output=True, check=True, text=True).stdout)  # noqa: S603 - this script
            total = found["read"] + found["group"] + found["write"]
            print(
                f"{size:>11,}{found['read']:>8.1f}s{found['group']:>14.1f}s{found['write']:>14.1f}s{total:>8.1f}s"
                f"{found['cpu']:>8.1f}s{found['peak']:>10.0f}{found['groups']:>10,}",
                flush=True,
            )
            points.append({"rows": size, **found, "in all": total})
    for what in ("group", "in all", "cpu"):
        if len(points) > 1:
            logs = np.log([[point["rows"], point[what]] for point in points])
            slope = np.polyfit(logs[:, 0], logs[:, 1], 1)[0]
            print(f"slope of time against rows, {what}: {slope:.2f}")
    return points


def make(census: Any, path: Path, rows: int) -> None:
    """A Parquet file of that many rows drawn from Census-Income, always the same."""
    connection = duckdb.connect()
    connection.register("census", census.select([*CENSUS, "age"]).append_column("row", [list(range(census.num_rows))]))
    names = ", ".join(f'"{name}"' for name in [*CENSUS, "age"])
    drawn = f"SELECT hash(i, 1) % {census.num_rows} AS a FROM range({rows}) AS t(i)"
    connection.execute(
        f"COPY (SELECT {names} FROM ({drawn}) AS d JOIN census ON census.row = d.a) TO '{path}' (FORMAT parquet)"
    )


def whole(path: Path) -> dict[str, float]:
    """The parameters of the paper, from the file to the release; times of the parts."""
    times = [time.perf_counter()]
    opened = dv.read(path)
    roles, left_out = anatomy_roles(opened, quasi_identifiers=CENSUS, sensitive="age", identifier=())
    rows = read_rows(opened, [*CENSUS, "age"])
    times.append(time.perf_counter())
    model = AlphaBetaGammaDelta(alpha="1/2", beta="1/20", gamma="1/200", delta="1/20")
    method = Slppa(model, tables=3)
    found = divide_and_group(rows, method, quasi_identifiers=CENSUS, sensitive="age", seed=1)
    times.append(time.perf_counter())
    groups = grouping_of(found, method, numbering=1)
    release = AnatomizedRelease(
        groups=groups,
        source=opened,
        engine=groups.engine,
        roles=roles,
        left_out=left_out,
        nulls="category",
        seed_given=True,
    )
    release.write(path.with_suffix(".release"))
    times.append(time.perf_counter())
    used = resource.getrusage(resource.RUSAGE_SELF)
    parts = dict(zip(("read", "group", "write"), np.diff(times).tolist(), strict=True))
    return {**parts, "cpu": used.ru_utime + used.ru_stime, "peak": used.ru_maxrss / 1024, "groups": found.groups}


def draw(points: list[dict[str, Any]], path: str) -> None:
    """What took how long, against rows."""
    rows = [
        {"rows": point["rows"], "seconds": point[name], "what": told}
        for point in points
        for name, told in (("group", "divide and group"), ("in all", "from file to release"))
    ]
    draw_lines(rows, path)


if __name__ == "__main__":
    main()
