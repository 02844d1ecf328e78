# SPDX-License-Identifier: Apache-2.0
"""Timing of works side by side, each in a process of its own.

Measures seconds, processor time and peak memory, ratios with their range, and fits. The operating
system reports the usage of a process at its end (wait4), whatever it imported or allocated. Works
of a case run in turns, so that disturbances of the machine affect all of them. A ratio is taken
within a turn. Nothing here decides a test.
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
"""Factor beyond the range of the recorded figure from which a figure is reported as worse."""
LONGEST = 600.0
"""Seconds after which a work is ended and left out."""
LIBRARIES = ("divulge", "duckdb", "numpy", "pyarrow", "pandas", "pyspark")
Found = Mapping[str, Any]


class Spread(NamedTuple):
    """Lowest, median and highest of several runs."""

    low: float
    middle: float
    high: float

    @staticmethod
    def of(numbers: Iterable[float]) -> Spread:
        """Summarize measured numbers."""
        ordered = sorted(numbers)
        return Spread(ordered[0], statistics.median(ordered), ordered[-1])


@dataclass(frozen=True)
class Work:
    """A command.

    A work that `reports` prints a JSON object last. Its `seconds` exclude the start of Python and
    its imports.
    """

    command: tuple[str, ...]
    reports: bool = True
    clean: tuple[Path, ...] = ()
    """Files of the work that are removed before it starts."""


@dataclass(frozen=True)
class Sample:
    """Cost of one run: wall-clock seconds, processor seconds, peak in MiB; and its result."""

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
"""Small process that starts a work and waits for it.

A work started from here would inherit our own memory as its peak.
"""


class Failed(Exception):
    """A work that ended with an error; the last line of its output."""


@dataclass(frozen=True)
class Case:
    """Works that do the same task.

    Each is compared with the first if that is the bare work or a rival (`against`).
    """

    part: str
    name: str
    works: Callable[[Path], Mapping[str, Work]]
    """Works by name, in the order of their turns; made in a folder for data."""
    against: bool = True
    aim: str = ""
    runs: int | None = None
    """Most runs, if fewer than requested are enough."""
    agree: Callable[[Sequence[Found]], str] = lambda _found: ""
    """Check of the results; returns a description of the difference if works disagree."""
    size: int = 0
    """Number of rows, if the case is a point of a fit; `name` then names the fit."""


def task(name: str, /, **given: Any) -> Work:
    """Return a function of works.py as a work in a process of its own."""
    return Work((sys.executable, "-m", "benchmarks.works", name, json.dumps(given)))


def run(work: Work, folder: Path, *, longest: float = LONGEST) -> Sample:
    """Run a work to its end, or for `longest` seconds."""
    for path in work.clean:
        if path.is_dir():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)
    # Our sources are run as installed packages are, with their byte code: it is kept, whatever
    # the settings of this shell.
    searched = {
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")]),
        "PYTHONDONTWRITEBYTECODE": "",
    }
    with (
        tempfile.TemporaryFile() as said,
        tempfile.TemporaryFile() as errors,
        tempfile.NamedTemporaryFile() as told,
    ):
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
        except BaseException as stopped:
            # also ends its child processes, even after Ctrl-C
            os.killpg(launched.pid, signal.SIGKILL)
            launched.wait()
            if isinstance(stopped, subprocess.TimeoutExpired):
                raise Failed(f"not done after {longest:,.0f} s") from None
            raise
        for stream in (said, errors):
            stream.seek(0)
        if launched.returncode:
            raise Failed(
                (
                    errors.read().decode().strip().splitlines()
                    or [f"exit code {launched.returncode}"]
                )[-1]
            )
        found = json.loads(said.read().decode().strip().splitlines()[-1]) if work.reports else {}
        seconds, cpu, peak = json.loads(told.read())
    return Sample(found.pop("seconds", seconds), cpu, found.pop("peak", peak / 1024), found)


def in_turns(
    works: Mapping[str, Work],
    folder: Path,
    *,
    runs: int,
    seconds: float = math.inf,
    run: Callable[..., Sample] = run,
) -> tuple[dict[str, list[Sample]], dict[str, str]]:
    """Run each work once in every turn; return the samples, and the reasons of omissions.

    No turn begins that would likely end after the time limit, except the first. A work that fails
    is left out. If the first work fails, the others are left out too, because they are compared
    with it.
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
    """Return the rows of the page and of the record, one for each work."""
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
        row |= {
            what: Spread.of(getattr(sample, what) for sample in samples)
            for what in ("seconds", "cpu", "peak")
        }
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


# --- Comparison with the record -------------------------------------------------------------------
COMPARED = {"ratio": "x", "gap": "gap", "peak": "MiB", "exponent": "as exponent"}
"""Figures that are compared; less is better in all of them.

Seconds are not compared, because they depend on the machine.
"""


def key_of(row: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return the key that matches a row with a recorded row."""
    return row["part"], row["name"], row["work"]


def worse(rows: Iterable[Mapping[str, Any]], recorded: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return a line for each figure whose median is 10% beyond the highest of the recorded runs."""
    before, told = {key_of(row): row for row in recorded}, []
    for row in rows:
        old = before.get(key_of(row), {})
        for what, unit in COMPARED.items():
            if what not in row or what not in old:
                continue
            now, then = Spread(*row[what]), Spread(*old[what])
            if now.middle > WORSE * then.high + 1e-9:
                told.append(
                    f"worse: {', '.join(filter(None, key_of(row)))}: {now.middle:.3g} {unit} "
                    f"({now.low:.3g} to {now.high:.3g}), "
                    f"recorded {then.middle:.3g} ({then.low:.3g} to {then.high:.3g})"
                )
    return told


# --- Fits -----------------------------------------------------------------------------------------
def exponent_of(points: Sequence[tuple[int, float]], confidence: float = 0.95) -> Spread | None:
    """Fit c of time = b n^c by least squares on logarithms, with its interval.

    Returns None if there are fewer than three points of two sizes.
    """
    if len(points) < 3 or len({size for size, _ in points}) < 2:
        return None
    import numpy as np
    from scipy import stats

    fitted = stats.linregress(*np.log(np.array(points, dtype=float)).T)
    reach = float(stats.t.ppf((1 + confidence) / 2, len(points) - 2) * fitted.stderr)
    return Spread(float(fitted.slope) - reach, float(fitted.slope), float(fitted.slope) + reach)


def between(one: tuple[float, float], other: tuple[float, float]) -> float:
    """Return the exponent between two points: 1 is in proportion."""
    return math.log(other[1] / one[1]) / math.log(other[0] / one[0])


def fits_of(
    part: str, points: Mapping[tuple[str, str], Mapping[int, Sequence[float]]]
) -> list[dict[str, Any]]:
    """Return a row for each work and kind of table, of its seconds by rows."""
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


# --- Machine --------------------------------------------------------------------------------------
def machine() -> dict[str, Any]:
    """Return the properties of the machine that the figures depend on, without its name."""
    return {
        "date": time.strftime("%Y-%m-%d"),
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "load_before": round(os.getloadavg()[0], 1),
        "system": platform.system(),
        "versions": {"python": platform.python_version()}
        | {name: _version(name) for name in LIBRARIES},
    }


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
