# SPDX-License-Identifier: Apache-2.0
"""The logic of benchmarks/: ranges, turns, comparison with the record, exponents, and the page.

No measured time decides anything here.
"""

from __future__ import annotations

import json
import math
import re
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from benchmarks import __main__ as bench
from benchmarks import page
from benchmarks.__main__ import NEEDS, Part
from benchmarks.cases import ALONE, CENSUS, EVERY, GROWING, Asked, cases
from benchmarks.harness import (
    Case,
    Failed,
    Sample,
    Spread,
    Work,
    between,
    exponent_of,
    fits_of,
    in_turns,
    machine,
    rows_of,
    run,
    worse,
)

ROOT = Path(__file__).parent.parent
RECORDED = json.loads((ROOT / "benchmarks" / "recorded.json").read_text(encoding="utf-8"))
NOTHING = Work(())


def row(**figures: Any) -> dict[str, Any]:
    return {"part": "measure", "name": "10^6 rows", "work": "all metrics", **figures}


def test_a_spread_is_the_lowest_the_median_and_the_highest() -> None:
    assert Spread.of([3.0, 1.0, 10.0, 2.0]) == (1.0, 2.5, 10.0)
    assert Spread.of([7.0]) == (7.0, 7.0, 7.0)


def test_ratios_are_taken_within_a_turn() -> None:
    case = Case("measure", "10^6 rows", lambda _: {})
    bare = [Sample(1.0, 1.0, 50.0), Sample(4.0, 1.0, 60.0), Sample(2.0, 1.0, 70.0)]
    ours = [
        Sample(3.0, 1.0, 90.0, {"gap": 0.2}),
        Sample(4.0, 1.0, 80.0, {"gap": 0.4}),
        Sample(4.0, 1.0, 100.0, {"gap": 0.3}),
    ]
    (found,) = rows_of(case, {"GROUP BY": bare, "all metrics": ours})
    assert found["ratio"] == (1.0, 2.0, 3.0)  # 3/1, 4/4, 4/2
    assert found["seconds"] == (3.0, 4.0, 4.0)
    assert found["beside_seconds"] == (1.0, 2.0, 4.0)
    assert (found["peak"], found["gap"]) == ((80.0, 90.0, 100.0), (0.2, 0.3, 0.4))
    assert (found["beside"], found["runs"]) == ("GROUP BY", 3)


def test_works_without_a_comparison_have_no_ratio() -> None:
    case = Case("wide", "130 columns", lambda _: {}, against=False)
    assert [
        each["work"] for each in rows_of(case, {"a": [Sample(1, 1, 1)], "b": [Sample(1, 1, 1)]})
    ] == ["a", "b"]
    assert "ratio" not in rows_of(case, {"a": [Sample(1, 1, 1)]})[0]


def test_works_take_turns_as_often_as_asked(tmp_path: Path) -> None:
    seen: list[Work] = []

    def note(work: Work, _folder: Path) -> Sample:
        seen.append(work)
        return Sample(1.0, 1.0, 1.0)

    one, other = Work(("one",)), Work(("other",))
    taken, failed = in_turns({"one": one, "other": other}, tmp_path, runs=3, run=note)
    assert not failed
    assert seen == [one, other] * 3
    assert {name: len(samples) for name, samples in taken.items()} == {"one": 3, "other": 3}
    seen.clear()
    in_turns({"one": one}, tmp_path, runs=3, seconds=0.0, run=note)
    assert seen == [one], "the first turn is always taken, and no other fits into no time"


def test_a_failed_work_stops_others_only_if_they_are_compared_with_it(tmp_path: Path) -> None:
    def fail(work: Work, _folder: Path) -> Sample:
        if work.command == ("bad",):
            raise Failed("out of memory")
        return Sample(1.0, 1.0, 1.0)

    good, bad = Work(("good",)), Work(("bad",))
    taken, failed = in_turns(
        {"bare": good, "limited": bad, "free": good}, tmp_path, runs=2, run=fail
    )
    assert {name: len(samples) for name, samples in taken.items()} == {"bare": 2, "free": 2}
    assert failed == {"limited": "out of memory"}
    with pytest.raises(Failed, match=r"^bare: out of memory$"):
        in_turns({"bare": bad, "free": good}, tmp_path, runs=2, run=fail)


def test_a_process_reports_its_result_and_the_system_its_cost(tmp_path: Path) -> None:
    program = (
        "x = bytearray(300 * 2**20); print('noise'); print('{\"seconds\": 12.5, \"cells\": 3}')"
    )
    sample = run(Work((sys.executable, "-c", program)), tmp_path)
    assert (sample.seconds, sample.found) == (12.5, {"cells": 3})
    assert 300 < sample.peak < 400
    ours = bytearray(200 * 2**20)
    small = run(Work((sys.executable, "-c", "print(1)"), reports=False), tmp_path)
    assert small.peak < len(ours) / 2**20, "no process inherits our own memory as its peak"
    assert small.seconds > 0


def test_a_failed_process_is_reported_by_its_last_line(tmp_path: Path) -> None:
    with pytest.raises(Failed, match=r"^ValueError: no$"):
        run(Work((sys.executable, "-c", "raise ValueError('no')")), tmp_path)


def test_a_process_that_does_not_end_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    program = (
        "import os, subprocess, sys; print(subprocess.Popen(['sleep', '600']).pid, "
        "file=open('child', 'w'), flush=True); os.wait()"
    )
    with pytest.raises(Failed, match=r"^not done after 3 s$"):
        run(Work((sys.executable, "-c", program)), tmp_path, longest=3.0)
    child = int((tmp_path / "child").read_text())
    for _ in range(6000):  # a signal takes its time
        if has_ended(child):
            return
        time.sleep(0.01)
    pytest.fail("what it started still runs")


def has_ended(process: int) -> bool:
    try:
        return "State:\tZ" in Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    except FileNotFoundError:
        return True


def test_previous_files_of_a_work_are_removed(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old").touch()
    run(
        Work((sys.executable, "-c", "open('new', 'w')"), reports=False, clean=(tmp_path / "out",)),
        tmp_path,
    )
    assert [path.name for path in tmp_path.iterdir()] == ["new"]


# --- Comparison with the record -------------------------------------------------------------------
@pytest.mark.parametrize(
    ("now", "told"),
    [
        ([0.5, 0.9, 3.0], False),  # better, though one run was slow
        ([2.0, 2.2, 2.2], False),  # 10 % beyond the highest of the recorded ones, and no more
        ([1.0, 2.21, 2.3], True),
        ([9.0, 9.0, 9.0], True),
    ],
)
def test_worse_is_more_than_ten_percent_beyond_the_recorded_spread(
    now: list[float],
    told: bool,  # noqa: FBT001
) -> None:
    assert bool(worse([row(ratio=now)], [row(ratio=[1.0, 1.5, 2.0])])) is told


def test_each_figure_is_compared_with_the_recorded_one_of_its_name() -> None:
    recorded = [row(ratio=[1.0, 1.0, 1.0], peak=[100.0, 100.0, 100.0], gap=[0.0, 0.0, 0.0])]
    now = row(
        ratio=[1.0, 1.0, 1.0],
        peak=[200.0, 200.0, 200.0],
        gap=[0.1, 0.1, 0.1],
        seconds=[9.0, 9.0, 9.0],
    )
    told = worse([now], recorded)
    assert [re.findall(r"([\d.]+) (gap|MiB)", line) for line in told] == [
        [("0.1", "gap")],
        [("200", "MiB")],
    ]
    assert all(line.startswith("worse: measure, 10^6 rows, all metrics: ") for line in told)
    assert worse([now | {"name": "10^5 rows"}], recorded) == [], (
        "what was not recorded is not worse than anything"
    )
    assert worse([row(seconds=[9.0, 9.0, 9.0])], [row(seconds=[1.0, 1.0, 1.0])]) == [], (
        "seconds belong to a machine"
    )


def test_an_exponent_that_rose_is_reported() -> None:
    assert worse([row(exponent=[1.4, 1.5, 1.6])], [row(exponent=[0.9, 1.0, 1.1])])
    assert not worse([row(exponent=[1.0, 1.2, 1.4])], [row(exponent=[0.9, 1.0, 1.1])])


# --- Fits -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("exponent", [0.5, 1.0, 1.3, 2.0])
def test_the_exponent_of_known_data_is_found(exponent: float) -> None:
    found = exponent_of([(size, 3e-7 * size**exponent) for size in (10**5, 10**6, 10**7)])
    assert found is not None
    assert found == pytest.approx((exponent, exponent, exponent), abs=1e-6)


def test_the_interval_of_an_exponent_by_hand() -> None:
    """Logarithms (0, 0), (1, 1), (2, 3): slope 3/2, squared residuals 1/6, so a standard error
    of sqrt(1/12); t is 12.7062.
    """
    points: list[Any] = [(1.0, 1.0), (math.e, math.e), (math.e**2, math.e**3)]
    reach = 12.7062 * math.sqrt(1 / 12)
    assert exponent_of(points) == pytest.approx((1.5 - reach, 1.5, 1.5 + reach), abs=1e-4)


def test_two_points_make_no_fit() -> None:
    assert exponent_of([(10, 1.0), (100, 10.0)]) is None
    assert exponent_of([(10, 1.0), (10, 1.1), (10, 1.2)]) is None


def test_the_exponent_between_two_points() -> None:
    assert between((10, 1.0), (1000, 100.0)) == pytest.approx(1.0)
    assert between((8, 2.0), (128, 8.0)) == pytest.approx(0.5)


def test_a_fit_takes_all_runs_and_shows_medians() -> None:
    (fit,) = fits_of(
        "growth", {("measure", "texts"): {100: [1.0, 3.0, 2.0], 10: [0.2], 1000: [20.0]}}
    )
    assert (fit["part"], fit["name"], fit["work"]) == ("growth", "texts", "measure")
    assert fit["sizes"] == {10: 0.2, 100: 2.0, 1000: 20.0}
    assert fit["last"] == pytest.approx(1.0)
    assert fit["exponent"] == exponent_of(
        [(100, 1.0), (100, 3.0), (100, 2.0), (10, 0.2), (1000, 20.0)]
    )
    assert page.fit_line(fit).endswith("), between the largest 1.00")
    (alone,) = fits_of("growth", {("measure", "texts"): {10: [0.2]}})
    assert page.fit_line(alone) == "measure, texts: no fit"


# --- Cases ----------------------------------------------------------------------------------------
def test_every_case_has_a_name_of_its_own() -> None:
    for part in (*EVERY, *ALONE):
        found = list(cases(part, Asked((10**6, 10**7))))
        assert found, part
        assert {case.part for case in found} == {part}
        if part != "growth":
            assert len({case.name for case in found}) == len(found)


def test_the_quasi_identifiers_of_the_search_are_different_columns() -> None:
    assert (len(CENSUS), len(set(CENSUS))) == (18, 18)


def grown(part: Part, folder: Path, work: str, size: int) -> None:
    program = f"print('{{\"seconds\": {size / 1000}}}')"
    part.take(
        Case(
            "growth",
            "t",
            lambda _: {work: Work((sys.executable, "-c", program))},
            against=False,
            size=size,
        )
    )
    assert folder.exists()


def test_a_larger_table_is_left_out_where_it_would_take_too_long(tmp_path: Path) -> None:
    part = Part("growth", tmp_path, runs=1, seconds=1.0)
    grown(part, tmp_path, "anatomize", 5_000)
    grown(part, tmp_path, "anatomize", 50_000)  # 5 s before, so 50 are likely
    grown(part, tmp_path, "anatomize", 500_000)
    grown(part, tmp_path, "query", 500_000)
    found = part.finished()
    assert [fit["sizes"] for fit in found["rows"]] == [{5_000: 5.0, 50_000: 50.0}]
    assert found["left_out"] == [
        "t, 500,000 rows: anatomize took 50 s with a tenth of the rows",
        "t, 500,000 rows: query needs what anatomize was to leave",
    ]


def test_parts_that_make_a_release_run_before_parts_that_query_it() -> None:
    assert all(GROWING.index(first) < GROWING.index(then) for then, first in NEEDS.items())


# --- The page -------------------------------------------------------------------------------------
def test_the_page_shows_what_is_recorded() -> None:
    pictures = {
        path.stem.removeprefix("speed-"): f"../assets/{path.name}"
        for path in (ROOT / "docs/assets").glob("speed-*")
    }
    assert page.text(RECORDED, pictures) == (ROOT / "docs" / "concepts" / page.NAME).read_text(
        encoding="utf-8"
    ), "make bench BENCH=page"
    assert set(RECORDED) <= {*EVERY, *ALONE}


def test_the_page_says_when_and_by_which_versions_and_names_no_machine() -> None:
    told = machine()
    assert set(told) == {"date", "cores", "memory_gib", "load_before", "system", "versions"}
    assert {"python", "duckdb", "numpy", "pyarrow", "pyspark"} <= set(told["versions"])
    assert re.match(
        r"\d{4}-\d\d-\d\d, \d+ cores, \d+ GiB, \w+, load [\d.]+ before", page.told_of(told)
    )


def test_different_results_are_shown_on_the_page() -> None:
    case = Case("rivals", "nine numbers", lambda _: {}, agree=lambda found: f"{len(found)} numbers")
    rows = rows_of(case, {"pycanon": [Sample(9.0, 1, 1)], "divulge": [Sample(1.0, 1, 1)]})
    assert "ANSWERS DIFFER: 2 numbers" in page.line_of(rows[0])
    record = {"rivals": {"machine": machine(), "rows": rows, "left_out": ["ARX: not run"]}}
    shown = page.text(record, {})
    assert "**answers differ: 2 numbers**" in shown
    assert "- rivals: ARX: not run" in shown
    assert "| 0.11 (0.11 to 0.11) |" in shown


def test_charts_are_light_files(tmp_path: Path) -> None:
    figures = row(ratio=[1.0, 2.0, 3.0], beside="GROUP BY")
    fits = fits_of("growth", {("measure", "texts"): {10: [0.2], 100: [2.0], 1000: [20.0]}})
    record = {
        "measure": {"rows": [figures]},
        "growth": {"rows": fits},
        "rivals": {"rows": [figures | {"part": "rivals"}]},
    }
    drawn = page.draw(record, tmp_path)
    assert {name: path.name for name, path in drawn.items()} == {
        "beside": "speed-beside.svg",
        "rivals": "speed-rivals.svg",
        "growth": "speed-growth.svg",
    }
    for path in drawn.values():
        assert path.stat().st_size < 100_000
    assert "times as fast: 0.333333; label: 10^6 rows, beside GROUP BY; high: 1" in drawn[
        "rivals"
    ].read_text(encoding="utf-8")


def test_parts_that_were_not_run_stay_as_they_were_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "ROOT", tmp_path)
    monkeypatch.setattr(bench, "RECORD", tmp_path / "recorded.json")
    part = {"machine": machine(), "rows": [], "left_out": ["nothing"]}
    bench.keep({"measure": part}, {"rank": part, "measure": part | {"left_out": []}}, record=True)
    assert json.loads((tmp_path / "recorded.json").read_text()) == {"measure": part, "rank": part}
    assert "- rank: nothing" in (tmp_path / "docs" / "concepts" / "speed.md").read_text()
    assert "rank" not in (tmp_path / "build" / "bench" / "speed.md").read_text()


def test_worse_figures_are_printed_last_with_the_number_compared() -> None:
    before = {"measure": {"rows": [row(ratio=[1.0, 1.0, 1.0])]}}
    *told, last = bench.compared(
        {"measure": {"rows": [row(ratio=[2.0, 2.0, 2.0]), row(name="10^9 rows")]}}, before
    )
    assert len(told) == 1
    assert last == "1 figures of 1 recorded rows got worse by more than 10 % beyond their spread"
