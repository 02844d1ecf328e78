# SPDX-License-Identifier: Apache-2.0
"""Works timed side by side, each in a process of its own: seconds, processor time and peak memory, ratios with their spread, and fits.

The system says what a process took when it ends (wait4), whatever it imported or allocated. Works of a case run in turns, so that what
disturbs the machine falls on all of them; a ratio is taken within a turn. Nothing here decides a test.
"""

from __future__ import annotations

import importlib.metadata
import json
import math
import os
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
WORSE = 1.1
"""A figure is told as worse from 10 % beyond the spread of the recorded one."""
LONGEST = 600.0
"""Seconds after which a work is ended and left out."""
LIBRARIES = ("divulge", "duckdb", "numpy", "pyarrow", "pandas", "pyspark")
Found = Mapping[str, Any]


class Spread(NamedTuple):
    """The lowest, the median and the highest of several runs."""

    low: float
    middle: float
    high: float

    @staticmethod
    def of(numbers: Iterable[float]) -> Spread:
        """Of what was measured."""
        ordered = sorted(numbers)
        return Spread(ordered[0], statistics.median(ordered), ordered[-1])


@dataclass(frozen=True)
class Work:
    """A command. One that `reports` prints a JSON object last, whose `seconds` leave out the start of Python and its imports."""

    command: tuple[str, ...]
    reports: bool = True
    clean: tuple[Path, ...] = ()
    """Its own, removed before it starts."""


@dataclass(frozen=True)
class Sample:
    """What one run took: seconds on the clock, seconds of the processor and MiB at the peak, with what it found."""

    seconds: float
    cpu: float
    peak: float
    found: Found = field(default_factory=dict)


_LAUNCHER = """\
import json, os, sys, time
told, *command = sys.argv[1:]
started = time.perf_counter()
process = os.posix_spawn(command[0], command, os.environ)
_, status, used = os.wait4(process, 0)
with open(told, "w") as file:
    json.dump([time.perf_counter() - started, used.ru_utime + used.ru_stime, used.ru_maxrss], file)
sys.exit(0 if os.waitstatus_to_exitcode(status) == 0 else 1)
"""
"""A small process that starts a work and waits for it: one started from here would inherit our own memory as its peak."""


class Failed(Exception):
    """A work that ended with an error; the last line that it said."""


@dataclass(frozen=True)
class Case:
    """Works that answer one question; each is held against the first if that is the bare work or a rival (`against`)."""

    part: str
    name: str
    works: Callable[[Path], Mapping[str, Work]]
    """By name, in the order in which they take turns; made in a folder where data may lie."""
    against: bool = True
    aim: str = ""
    runs: int | None = None
    """The most runs, where fewer than asked for are enough."""
    agree: Callable[[Sequence[Found]], str] = lambda _found: ""
    """What is wrong if works do not answer the same."""
    size: int = 0
    """Rows, where the case is a point of a fit; `name` then names the fit."""


def task(name: str, /, **given: Any) -> Work:
    """A function of works.py, in a process of its own."""
    return Work((sys.executable, "-m", "benchmarks.works", name, json.dumps(given)))


def run(work: Work, folder: Path, *, longest: float = LONGEST) -> Sample:
    """Run it to its end, or for so many seconds."""
    for path in work.clean:
        if path.is_dir():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)
    # Our sources come as installed packages do, with their byte code: it is kept, whatever this shell says.
    searched = {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")]), "PYTHONDONTWRITEBYTECODE": ""}
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as errors, tempfile.NamedTemporaryFile() as told:
        launched = subprocess.Popen(  # noqa: S603 - our own commands
            [sys.executable, "-I", "-S", "-c", _LAUNCHER, told.name, *work.command],
            stdout=said,
            stderr=errors,
            cwd=folder,
            env=os.environ | searched,
            start_new_session=True,
        )
        try:
            launched.wait(longest)
        except BaseException as stopped:  # whatever it started ends with it, also when somebody types Ctrl-C
            os.killpg(launched.pid, signal.SIGKILL)
            launched.wait()
            if isinstance(stopped, subprocess.TimeoutExpired):
                raise Failed(f"not done after {longest:,.0f} s") from None
            raise
        for stream in (said, errors):
            stream.seek(0)
        if launched.returncode:
            raise Failed((errors.read().decode().strip().splitlines() or [f"exit code {launched.returncode}"])[-1])
        found = json.loads(said.read().decode().strip().splitlines()[-1]) if work.reports else {}
        seconds, cpu, peak = json.loads(told.read())
    return Sample(found.pop("seconds", seconds), cpu, found.pop("peak", peak / 1024), found)


def in_turns(
    works: Mapping[str, Work], folder: Path, *, runs: int, seconds: float = math.inf, run: Callable[..., Sample] = run
) -> tuple[dict[str, list[Sample]], dict[str, str]]:
    """Each work once in every turn, and why some were left out.

    No turn begins that would likely end after so many seconds, but the first always does. A work that fails is left out, and takes no
    other with it but where it is the first, beside which the others stand.
    """
    taken: dict[str, list[Sample]] = {name: [] for name in works}
    failed: dict[str, str] = {}
    began = time.perf_counter()
    for turn in range(1, runs + 1):
        for name in list(taken):
            try:
                taken[name].append(run(works[name], folder))
            except Failed as reason:
                if name == next(iter(works)):
                    raise Failed(f"{name}: {reason}") from reason
                failed[name] = str(reason)
                del taken[name]
        if (time.perf_counter() - began) * (turn + 1) / turn > seconds:
            break
    return taken, failed


def rows_of(case: Case, taken: Mapping[str, Sequence[Sample]]) -> list[dict[str, Any]]:
    """What is told of each work: a row of the page, and of what is recorded."""
    bare = next(iter(taken)) if case.against else None
    wrong = case.agree([samples[-1].found for samples in taken.values()]) if len(taken) > 1 else ""
    rows = []
    for name, samples in taken.items():
        if name == bare:
            continue
        row: dict[str, Any] = {
            "part": case.part,
            "name": case.name,
            "work": name,
            "runs": len(samples),
            "aim": case.aim,
        }
        row |= {what: Spread.of(getattr(sample, what) for sample in samples) for what in ("seconds", "cpu", "peak")}
        row |= {"found": dict(samples[-1].found), "wrong": wrong}
        if "gap" in samples[-1].found:
            row["gap"] = Spread.of(sample.found["gap"] for sample in samples)
        if bare is not None:
            beside = taken[bare]
            pairs = zip(samples, beside, strict=True)
            row |= {
                "beside": bare,
                "beside_seconds": Spread.of(sample.seconds for sample in beside),
                "beside_found": dict(beside[-1].found),
                "ratio": Spread.of(ours.seconds / theirs.seconds for ours, theirs in pairs),
            }
        rows.append(row)
    return rows


# --- Against what was recorded ----------------------------------------------------------------------------------------
COMPARED = {"ratio": "x", "gap": "gap", "peak": "MiB", "exponent": "as exponent"}
"""Less is better in all of them. Seconds are not compared: they belong to a machine."""


def key_of(row: Mapping[str, Any]) -> tuple[str, str, str]:
    """By which a row finds the one that was recorded."""
    return row["part"], row["name"], row["work"]


def worse(rows: Iterable[Mapping[str, Any]], recorded: Iterable[Mapping[str, Any]]) -> list[str]:
    """A line for each figure whose median is more than 10 % beyond the highest of the recorded runs."""
    before, told = {key_of(row): row for row in recorded}, []
    for row in rows:
        old = before.get(key_of(row), {})
        for what, unit in COMPARED.items():
            if what not in row or what not in old:
                continue
            now, then = Spread(*row[what]), Spread(*old[what])
            if now.middle > WORSE * then.high + 1e-9:
                told.append(
                    f"worse: {', '.join(filter(None, key_of(row)))}: {now.middle:.3g} {unit} ({now.low:.3g} to {now.high:.3g}), "
                    f"recorded {then.middle:.3g} ({then.low:.3g} to {then.high:.3g})"
                )
    return told


# --- Fits -------------------------------------------------------------------------------------------------------------
def exponent_of(points: Sequence[tuple[int, float]], confidence: float = 0.95) -> Spread | None:
    """C of time = b n^c by least squares on logarithms, with its interval; None where there are fewer than three points of two sizes."""
    if len(points) < 3 or len({size for size, _ in points}) < 2:
        return None
    import numpy as np
    from scipy import stats

    fitted = stats.linregress(*np.log(np.array(points, dtype=float)).T)
    reach = float(stats.t.ppf((1 + confidence) / 2, len(points) - 2) * fitted.stderr)
    return Spread(float(fitted.slope) - reach, float(fitted.slope), float(fitted.slope) + reach)


def between(one: tuple[float, float], other: tuple[float, float]) -> float:
    """The exponent between two points: 1 is in proportion."""
    return math.log(other[1] / one[1]) / math.log(other[0] / one[0])


def fits_of(part: str, points: Mapping[tuple[str, str], Mapping[int, Sequence[float]]]) -> list[dict[str, Any]]:
    """A row for each work and kind of table, of its seconds by rows."""
    rows = []
    for (work, kind), sizes in points.items():
        middles = {size: statistics.median(seconds) for size, seconds in sorted(sizes.items())}
        row: dict[str, Any] = {"part": part, "name": kind, "work": work, "sizes": middles}
        found = exponent_of([(size, each) for size, seconds in sizes.items() for each in seconds])
        last = list(middles.items())[-2:]
        row |= {"exponent": found} if found is not None else {}
        row |= {"last": between(*last)} if len(last) == 2 else {}
        rows.append(row)
    return rows


# --- Where it was measured ------------------------------------------------------------------------------------------
def machine() -> dict[str, Any]:
    """What the figures depend on; nothing that names the machine."""
    return {
        "date": time.strftime("%Y-%m-%d"),
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "load_before": round(os.getloadavg()[0], 1),
        "system": platform.system(),
        "versions": {"python": platform.python_version()} | {name: _version(name) for name in LIBRARIES},
    }


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
