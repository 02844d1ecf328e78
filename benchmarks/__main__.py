# SPDX-License-Identifier: Apache-2.0
"""Ratios to the bare work and to rivals, measured side by side in one run.

Figures that are worse than the record are reported; they do not fail the run.

    make bench                                # every part of the record, 10^6 and 10^7 rows: about 25 quiet minutes on two cores
    make bench ARGS=--quick                   # 10^5 and 10^6 rows
    make bench BENCH=measure,rank             # some parts
    make bench ARGS=--record                  # also store the figures, and write the page
    make bench BENCH=page                     # only the page, from the recorded figures
    make bench BENCH=studio ARGS="--moves 5"  # another file of benchmarks/, with options of its own

Page, charts and figures of every run are in build/bench/. With --record they become
benchmarks/recorded.json, docs/concepts/speed.md and docs/assets/speed-*.svg. Parts that were not run
stay as they are.
"""  # noqa: E501

from __future__ import annotations

import argparse
import importlib
import json
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks import page
from benchmarks.cases import ALONE, EVERY, Asked, cases
from benchmarks.harness import (
    ROOT,
    Case,
    Failed,
    Sample,
    Spread,
    fits_of,
    in_turns,
    key_of,
    machine,
    rows_of,
    worse,
)

RECORD = ROOT / "benchmarks" / "recorded.json"
OTHERS = ("answers", "attack_bed", "fuzz", "profile_roles", "studio")
GROWTH_SECONDS = 60.0
"""Expected seconds above which a table ten times as large is not tried."""
NEEDS = {"query": "anatomize", "apply": "generalize"}
"""Parts that need a release of the same size from another part."""


def main() -> None:
    """Run the parts, print the figures, and store them."""
    if sys.argv[1:2] and sys.argv[1] in OTHERS:
        module = importlib.import_module(f"benchmarks.{sys.argv.pop(1)}")
        sys.exit(module.main())
    options = arguments()
    sizes = options.rows or ("100000,1000000" if options.quick else "1000000,10000000")
    rows = tuple(sorted(int(size) for size in sizes.split(",")))
    asked = Asked(rows, search_seconds=options.search_seconds)
    recorded: dict[str, Any] = (
        json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    )
    if options.parts == "page":
        keep({}, recorded, record=True)
        return
    parts = list(EVERY) if options.parts == "all" else options.parts.split(",")
    if unknown := set(parts) - {*EVERY, *ALONE}:
        sys.exit(
            f"no part is called {', '.join(sorted(unknown))}; there are "
            f"{', '.join((*EVERY, *ALONE, *OTHERS))}"
        )
    signal.signal(
        signal.SIGTERM, lambda *_: sys.exit(143)
    )  # works end and data go also when it is ended from elsewhere
    began, where = time.perf_counter(), machine()
    print(page.told_of(where), flush=True)
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for part in parts:
            measured = Part(part, Path(folder), runs=options.runs, seconds=options.seconds)
            for case in cases(part, asked):
                measured.take(case)
            found[part] = {"machine": where, **measured.finished()}
            keep(
                found, recorded, record=options.record
            )  # after each part, so that a run that is cut off keeps what it has
    print(f"\n{time.perf_counter() - began:.0f} s in all")
    print("\n".join(compared(found, recorded)))


def keep(found: Mapping[str, Any], recorded: Mapping[str, Any], *, record: bool) -> None:
    """Store the page and the figures of this run.

    With `record` they are recorded too; parts that were not run stay as they were.
    """
    if found:
        page.write(found, ROOT / "build" / "bench", ROOT / "build" / "bench")
    if record:
        every = {**recorded, **found}
        kept = {part: every[part] for part in (*EVERY, *ALONE) if part in every}
        RECORD.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
        page.write(kept, ROOT / "docs" / "concepts", ROOT / "docs" / "assets")


def compared(found: Mapping[str, Any], recorded: Mapping[str, Any]) -> list[str]:
    """Return the figures that got worse, and the number of rows that could be compared."""
    now, then = (
        [row for part in found for row in kept.get(part, {}).get("rows", [])]
        for kept in (found, recorded)
    )
    told, alike = worse(now, then), {key_of(row) for row in now} & {key_of(row) for row in then}
    return [
        *told,
        (
            f"{len(told)} figures of {len(alike)} recorded rows got worse by more than 10 % "
            "beyond "
            "their spread"
        ),
    ]


def arguments() -> argparse.Namespace:
    """Parse the options of the user."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    listed = (
        f"all (of the record: {', '.join(EVERY)}), or some, separated by commas; also "
        f"{', '.join(ALONE)}"
    )
    parser.add_argument("parts", nargs="?", default="all", help=listed)
    parser.add_argument(
        "--quick", action="store_true", help="tables of 10^5 and 10^6 rows instead of 10^6 and 10^7"
    )
    parser.add_argument("--rows", help="other numbers of rows, separated by commas")
    parser.add_argument(
        "--runs", type=int, default=5, help="the most runs of a case (default: %(default)s)"
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=100.0,
        help="a case gets another run while it fits into these (default: %(default)s)",
    )
    parser.add_argument(
        "--search-seconds", type=float, default=30.0, help="the time limit of an optimal search"
    )
    parser.add_argument(
        "--folder", help="where to make the data (default: the system's temporary directory)"
    )
    parser.add_argument(
        "--record",
        action="store_true",
        help="keep the figures, and write the page of the documentation",
    )
    return parser.parse_args()


class Part:
    """Cases of a part, one after the other; each is printed when it is done."""

    def __init__(self, name: str, folder: Path, *, runs: int, seconds: float) -> None:
        self.name, self.folder, self.runs, self.seconds = name, folder, runs, seconds
        self.rows: list[dict[str, Any]] = []
        self.left_out: list[str] = []
        self._grown: dict[tuple[str, str], dict[int, list[float]]] = defaultdict(dict)
        print(f"\n{name}", flush=True)

    def take(self, case: Case) -> None:
        """Run a case, or print why it is not run."""
        try:
            taken = self._taken(case)
        except Failed as failed:
            self._leave_out(case, str(failed))
            return
        if case.size:
            self._keep_point(case, taken)
            return
        for row in rows_of(case, taken):
            self.rows.append(row)
            print(f"  {page.line_of(row)}", flush=True)

    def _taken(self, case: Case) -> dict[str, list[Sample]]:
        works = case.works(self.folder)
        if case.size and (reason := self._too_long(next(iter(works)), case)):
            raise Failed(reason)
        most = min(self.runs, case.runs or self.runs)
        seconds = self.seconds / 10 if case.size else self.seconds
        taken, failed = in_turns(works, self.folder, runs=most, seconds=seconds)
        for name, reason in failed.items():
            self._leave_out(case, f"{name}: {reason}")
        return taken

    def _leave_out(self, case: Case, reason: str) -> None:
        size = f", {case.size:,} rows" if case.size else ""
        self.left_out.append(f"{case.name}{size}: {reason}")
        print(f"  left out: {self.left_out[-1]}", flush=True)

    def _too_long(self, work: str, case: Case) -> str:
        before = self._grown[work, case.name]
        if work in NEEDS and case.size not in self._grown[NEEDS[work], case.name]:
            return f"{work} needs what {NEEDS[work]} was to leave"
        if before and (took := Spread.of(before[max(before)]).middle) * 10 > GROWTH_SECONDS:
            return f"{work} took {took:.0f} s with a tenth of the rows"
        return ""

    def _keep_point(self, case: Case, taken: dict[str, list[Sample]]) -> None:
        for work, samples in taken.items():
            seconds = [sample.seconds for sample in samples]
            self._grown[work, case.name][case.size] = seconds
            print(
                f"  {work}, {case.name}, {case.size:,} rows: {Spread.of(seconds).middle:.3f} s",
                flush=True,
            )

    def finished(self) -> dict[str, Any]:
        """Return the results of the part."""
        fits = fits_of(self.name, {key: sizes for key, sizes in self._grown.items() if sizes})
        for fit in fits:
            print(f"  {page.fit_line(fit)}")
        return {"rows": [*self.rows, *fits], "left_out": self.left_out}


if __name__ == "__main__":
    main()
