# SPDX-License-Identifier: Apache-2.0
"""How fast is the search? Beside anjana, anonypy and anonypyx in one run, and beside the times of ARX.

    python benchmarks/generalize.py [--peers PYTHON] [--no-peers] [--repeats 5]

The peers are installed into an environment of their own, since they pin old packages; --peers names an interpreter that has them.
ARX is Java and is not run here: its times are those of ARX 3.9.2 with a warm JVM on a quiet machine of 2 cores, so compare with them on
one like it. Our figures are the best of several runs in wall time, and in CPU time, which a busy machine disturbs less. The data are the
30,162 complete rows of UCI Adult with eight quasi-identifiers; 10^6 rows are drawn from them, whole ("resampled": as many classes) or with
age, sex and race from one row and the rest from another ("mixed": ten times as many).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.csv

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from divulge.count import Contingency, count  # noqa: E402 - after the path of the tests' Adult
from divulge.datasets import load  # noqa: E402
from divulge.policy import Promise  # noqa: E402
from divulge.search import Plan, mondrian, search  # noqa: E402
from divulge.search.exact import pose  # noqa: E402
from divulge.search.lattice import lattice_of  # noqa: E402
from divulge.table import read, resolve_roles  # noqa: E402
from tests.search.adult import QUASI_IDENTIFIERS, hierarchies  # noqa: E402

SENSITIVE = "occupation"
COLUMNS = [*QUASI_IDENTIFIERS, SENSITIVE]
PEERS = ("anjana", "anonypy", "anonypyx")
K5 = [Promise.make("k_anonymity", 5)]
CLOSE = [*K5, Promise.make("t_closeness", 0.2)]
K150 = [Promise.make("k_anonymity", 150)]


def main() -> None:
    """Run everything and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", type=Path, help="an interpreter where the peers are installed")
    parser.add_argument("--no-peers", action="store_true", help="compare with ARX's times only")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    adult = load("adult").drop_null().select(COLUMNS)
    counted = count_rows(adult)
    print(f"{'search':<44}{'wall':>9}{'CPU':>9}{'nodes':>7}{'loss':>9}{'ARX':>8}{'ARX/wall':>10}")
    line("Adult, k = 5", counted, K5, suppression=0.0, arx=None, repeats=options.repeats)
    plan = line("Adult, k = 5, 5 % suppressed", counted, K5, suppression=0.05, arx=0.26, repeats=options.repeats)
    line("Adult, k = 5 and t = 0.2, 5 % suppressed", counted, CLOSE, suppression=0.05, arx=1.1, repeats=options.repeats)
    for shape in ("resampled", "mixed"):
        seconds, million = timed(partial(lambda shape: count_rows(enlarged(adult, shape)), shape))
        name = f"10^6 {shape} ({len(million):,} classes), k = 150, 5 %"
        line(name, million, K150, suppression=0.05, arx=1.3, repeats=options.repeats)
        print(f"    after drawing and counting in {seconds:.2f} s")
    cut_seconds, boxes = best_of(options.repeats, lambda: mondrian(count_rows(adult), K5))
    print(f"\nMondrian, Adult, k = 5, with counting: {cut_seconds:.3f} s, {boxes.classes:,} classes")
    if not options.no_peers:
        with tempfile.TemporaryDirectory() as scratch:
            against_peers(
                Path(scratch), adult, counted, plan=plan, interpreter=options.peers, ours=(cut_seconds, boxes)
            )


def count_rows(table: pa.Table) -> Contingency:
    """One GROUP BY."""
    source = read(table)
    return count(source, resolve_roles(source, quasi_identifiers=list(QUASI_IDENTIFIERS), sensitive=SENSITIVE))


def enlarged(adult: pa.Table, shape: str, rows: int = 1_000_000) -> pa.Table:
    """That many rows drawn from Adult, always the same."""
    connection = duckdb.connect()
    connection.register("adult", adult.append_column("row", [list(range(adult.num_rows))]))
    seed = 1 if shape == "resampled" else 2
    drawn = (
        f"SELECT hash(i, 1) % {adult.num_rows} AS a, hash(i, {seed}) % {adult.num_rows} AS b FROM range({rows}) AS t(i)"
    )
    taken = ", ".join(f'{"x" if name in ("age", "sex", "race") else "y"}."{name}"' for name in COLUMNS)
    joined = f"SELECT {taken} FROM ({drawn}) AS d JOIN adult AS x ON x.row = d.a JOIN adult AS y ON y.row = d.b"
    return connection.sql(joined).to_arrow_table()


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Wall time and result."""
    started = time.perf_counter()
    found = work()
    return time.perf_counter() - started, found


def best_of(repeats: int, work: Callable[[], Any]) -> tuple[float, Any]:
    """The best wall time of several runs."""
    runs = [timed(work) for _ in range(repeats)]
    return min(seconds for seconds, _ in runs), runs[-1][1]


def line(
    name: str, counted: Contingency, promises: Sequence[Promise], *, suppression: float, arx: float | None, repeats: int
) -> Plan:
    """One search, printed."""
    walls, cpus = [], []
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        plan = search(counted, hierarchies(), promises, suppression=suppression)
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    against = "" if arx is None else f"{arx:>7.2f}s{arx / min(walls):>10.1f}"
    print(f"{name:<44}{min(walls):>8.3f}s{min(cpus):>8.3f}s{plan.checked:>7,}{plan.value:>9.4f}{against}", flush=True)
    return plan


def against_peers(
    folder: Path,
    adult: pa.Table,
    counted: Contingency,
    *,
    plan: Plan,
    interpreter: Path | None,
    ours: tuple[float, Plan],
) -> None:
    """Each peer on the same table, side by side with us."""
    python = interpreter or install(folder)
    if python is None:
        return
    table, levels = folder / "adult.csv", folder / "hierarchies.json"
    pyarrow.csv.write_csv(adult, table)
    labels = {name: list(map(list, zip(*item.rows.values(), strict=True))) for name, item in hierarchies().items()}
    levels.write_text(json.dumps(labels), encoding="utf-8")
    whole, _ = best_of(3, lambda: search(count_rows(adult), hierarchies(), K5, suppression=0.05))
    print(f"\n{'peer, Adult, k = 5':<24}{'peer':>9}{'divulge':>9}{'ratio':>8}  result")
    for name in PEERS:
        found = run_peer(python, name, table, levels)
        if found is None:
            continue
        seconds = whole if name == "anjana" else ours[0]
        result = f"{found.get('classes', 0):,} classes, divulge {ours[1].classes:,}"
        if name == "anjana":
            result = f"loss {loss_of(counted, found['levels']):.4f}, divulge {plan.value:.4f}"
        print(
            f"{name:<24}{found['seconds']:>8.2f}s{seconds:>8.3f}s{found['seconds'] / seconds:>8.0f}  {result}",
            flush=True,
        )


def loss_of(counted: Contingency, levels: Mapping[str, int]) -> float:
    """Our loss of the levels that a peer chose, what breaks k left out."""
    problem = pose(counted, lattice_of(counted, hierarchies()), K5, suppression=1.0)
    return problem.objective.cost(problem.judge.check(tuple(levels[name] for name in QUASI_IDENTIFIERS)))


def install(folder: Path) -> Path | None:
    """An environment with the peers, or None where they cannot be had."""
    environment = folder / "peers"
    python = environment / "bin" / "python"
    steps = [[sys.executable, "-m", "venv", str(environment)], [str(python), "-m", "pip", "install", "-q", *PEERS]]
    for step in steps:
        done = subprocess.run(step, capture_output=True, text=True, check=False)  # noqa: S603 - this interpreter
        if done.returncode:
            print(f"\nthe peers cannot be installed, so they are left out: {done.stderr.strip().splitlines()[-1:]}")
            return None
    return python


def run_peer(python: Path, name: str, table: Path, levels: Path) -> dict[str, Any] | None:
    """One peer in a process of its own."""
    script = Path(__file__).with_name("generalize_peers.py")
    command = [
        str(python),
        str(script),
        name,
        str(table),
        ",".join(QUASI_IDENTIFIERS),
        SENSITIVE,
        "5",
        "0.05",
        str(levels),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - this script
    if done.returncode:
        print(f"{name}: left out, it failed: {done.stderr.strip().splitlines()[-1:]}")
        return None
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


if __name__ == "__main__":
    main()
