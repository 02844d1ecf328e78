# SPDX-License-Identifier: Apache-2.0
"""Times of the studio in a real browser: the first page after the command, and a slider.

The tables are the demo, the public Adult and a million rows. Run `make bench BENCH=studio`; `--rows
1000000 --moves 20` are the defaults. The times are wall-clock times, on a machine that does nothing
else. Next to each is the processor time of the server, the worker and the page's own thread, which
other work on the machine changes less.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv

import divulge as dv
from tests.output import browser as driver
from tests.studio.served import studio

LONG = 120_000
ADULT = """quasi_identifiers = ["age", "sex", "race", "marital-status"]
sensitive = ["occupation"]
leave_out = ["*"]
suppression = 0.05

[promises]
k_anonymity = 5
l_diversity = 3
"""
MOVE = """([value]) => {
  const slider = document.querySelector('#controls input[type=range][name=bound]');
  slider.value = value;
  slider.dispatchEvent(new Event('input', {bubbles: true}));
}"""


def shown(page: Any, after: int = 0) -> int:
    """Wait for the result of the newest request."""
    page.wait_for_function(
        "(n) => Number(document.body.dataset.shown ?? 0) > n", arg=after, timeout=LONG
    )
    return int(page.evaluate("Number(document.body.dataset.shown)"))


def first_page(browser: Any, folder: Path, table: str, policy: str, moves: int) -> None:
    """Time the way from the command to a page that shows the table.

    Then time the slider of k, from drag to verdict and to the last chart.
    """
    began = time.perf_counter()
    with studio(folder, [table, "--policy", policy]) as served:
        page = browser.new_context(viewport={"width": 1366, "height": 768}).new_page()
        page.goto(served.address)
        page.wait_for_function(
            "() => document.querySelectorAll('#view tr').length > 2", timeout=LONG
        )
        shown_after = time.perf_counter() - began
        desk = max(map(int, _children(served.process.pid)), key=_processor)
        worked = (
            f"{_processor(served.process.pid):.2f} s of the server beside "
            f"{_processor(desk):.2f} "
            "s of the desk"
        )
        print(f"{table}: the table is shown {shown_after:.2f} s after the command ({worked})")
        page.click("nav a[href=promises]")
        page.wait_for_url("**/promises")
        number = shown(page)
        verdicts, wholes, began_at, page_time = [], [], _processor(desk), _watched(page)
        drawn = page_time()
        for move in range(moves):
            value = 3 + move % 20
            start = time.perf_counter()
            page.evaluate(MOVE, [value])
            page.wait_for_function(
                "(told) => document.querySelector('#kept').innerText.includes(told)",
                arg=f"at least {value} people",
                timeout=LONG,
            )
            verdicts.append(time.perf_counter() - start)
            number = shown(page, number)  # all charts are drawn then
            wholes.append(time.perf_counter() - start)
        told = (
            f"{statistics.median(verdicts) * 1000:.0f} ms to the verdict and the loss, "
            f"{statistics.median(wholes) * 1000:.0f} ms to all"
        )
        each, drawing = (
            (_processor(desk) - began_at) / moves * 1000,
            (page_time() - drawn) / moves * 1000,
        )
        print(
            f"{table}: a slider answers in {told} (median of {moves}; {each:.0f} ms of the desk, "
            f"{drawing:.0f} ms of the page)"
        )


def _watched(page: Any) -> Callable[[], float]:
    """Count the seconds that the page's own thread works from now: scripts, layout, drawing."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def worked() -> float:
        found = {
            each["name"]: each["value"]
            for each in session.send("Performance.getMetrics")["metrics"]
        }
        return float(found["TaskDuration"])

    return worked


def _children(pid: int) -> list[str]:
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [child for task in tasks for child in task.read_text(encoding="utf-8").split()]


def _processor(pid: int) -> float:
    """Return the seconds that a process has worked."""
    told = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Print the times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--moves", type=int, default=20)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, driver.started() as browser:
        folder = Path(name)
        pyarrow.csv.write_csv(dv.datasets.patients(), folder / "patients.csv")
        (folder / "hospital.toml").write_text(
            "suppression = 0.01\n" + dv.datasets.POLICY, encoding="utf-8"
        )
        first_page(browser, folder, "patients.csv", "hospital.toml", given.moves)
        pyarrow.csv.write_csv(pa.table(dv.datasets.load("adult")), folder / "adult.csv")
        (folder / "adult.toml").write_text(ADULT, encoding="utf-8")
        first_page(browser, folder, "adult.csv", "adult.toml", given.moves)
        some = dv.datasets.patients(rows=min(given.rows, 20_000))
        many = pa.concat_tables([some] * -(-given.rows // some.num_rows)).slice(0, given.rows)
        pyarrow.csv.write_csv(many, folder / "many.csv")
        first_page(browser, folder, "many.csv", "hospital.toml", max(given.moves // 4, 1))


if __name__ == "__main__":
    main()
