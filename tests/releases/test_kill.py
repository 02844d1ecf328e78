# SPDX-License-Identifier: Apache-2.0
"""kill -9 at many moments: the target is empty or a complete release, and the next run cleans up.

A child process plans a release, reports that, and writes it on a signal. The parent kills it after
delays spread over the time of a whole run, and as soon as it sees each file appear on the disk. The
result must be the same for every timing.
"""

from __future__ import annotations

import contextlib
import csv
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from divulge.errors import BadInput
from divulge.releases import read_manifests
from divulge.releases.release import publish
from tests.releases.folders import names

ROOT = Path(__file__).parent.parent.parent
PROGRAM = """
import sys
import divulge
source, target, k, force = sys.argv[1:]
release = divulge.generalize(
    source, policy=divulge.Policy(k_anonymity=int(k)), quasi_identifiers=["zip", "age"], sensitive="disease", identifier="name"
)
print("ready", flush=True)
sys.stdin.readline()
release.write(target, force=bool(int(force)))
print("done", flush=True)
"""  # noqa: E501
ROWS = 40_000
DELAYS = 6


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("source") / "patients.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["name", "zip", "age", "disease"])
        writer.writerows(
            (
                f"name-{i}",
                f"{47000 + i * 7 % 900}",
                20 + i * 13 % 60,
                "flu cold cancer".split()[i % 3],
            )
            for i in range(ROWS)
        )
    return path


@contextlib.contextmanager
def child(
    source: Path, target: Path, *, k: int, force: bool = False
) -> Iterator[subprocess.Popen[str]]:
    """Start a process that has planned a release and waits for the signal to write."""
    command = [sys.executable, "-c", PROGRAM, str(source), str(target), str(k), str(int(force))]
    # A killed process cannot remove the temporary folder of its engine; pytest will.
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "TMPDIR": str(source.parent)}
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n", (
            process.stderr.read() if process.stderr else ""
        )
        process.stdin.write("go\n")
        process.stdin.flush()
        try:
            yield process
        finally:
            process.kill()


def whole_run(source: Path, target: Path, *, k: int, force: bool = False) -> float:
    """Seconds that a run takes from the signal to its end."""
    begin = time.monotonic()
    with child(source, target, k=k, force=force) as process:
        begin = time.monotonic()
        assert process.wait() == 0
    return time.monotonic() - begin


def kill_after(delay: float) -> Callable[[subprocess.Popen[str], Path], None]:
    def wait(_: subprocess.Popen[str], __: Path) -> None:
        time.sleep(delay)

    return wait


def kill_when(pattern: str) -> Callable[[subprocess.Popen[str], Path], None]:
    """Wait until a file of that name appears next to the target, or the run is over."""

    def wait(process: subprocess.Popen[str], target: Path) -> None:
        while process.poll() is None and not any(target.parent.glob(pattern)):
            pass

    return wait


STAGED = ".out.divulge-*"
MOMENTS = (
    STAGED,
    f"{STAGED}/release",
    f"{STAGED}/release/table.csv",
    f"{STAGED}/private/mapping",
    f"{STAGED}/private/mapping/original.json",
    f"{STAGED}/release/manifest.json",
    f"{STAGED}/private/manifest.json",
    "out.private",
    "out",
)


def released(folder: Path) -> int:
    """Return the k of a complete release, counted here; its hashes are checked too."""
    manifest = read_manifests(folder).public
    with (folder / "table.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert manifest["rows"] == len(rows) == ROWS
    assert set(rows[0]) == {"zip", "age", "disease"}
    return min(Counter((row["zip"], row["age"]) for row in rows).values())


def next_run(target: Path) -> None:
    """Run the first step of any later run; it stops there because it has nothing to publish."""
    with pytest.raises((BadInput, StopIteration)):
        publish(target, [], verify=lambda _: next(iter(())))


@pytest.mark.slow
def test_a_killed_run_leaves_no_partial_release(source: Path, tmp_path: Path) -> None:
    duration = whole_run(source, tmp_path / "whole", k=5)
    delays = [kill_after(duration * place / DELAYS) for place in range(DELAYS)]
    left_behind = 0
    for wait in [*delays, *map(kill_when, MOMENTS)]:
        place = tmp_path / f"trial-{time.monotonic_ns()}"
        place.mkdir()
        target = place / "out"
        with child(source, target, k=5) as process:
            wait(process, target)
            process.kill()
            process.wait()
        left_behind += any(name.startswith(".out.") for name in names(place))
        if target.exists():
            assert released(target) >= 5
        next_run(target)
        assert names(place) in ([], ["out", "out.private"])
    assert left_behind >= len(MOMENTS) // 2, (
        "no run was killed in the middle, so nothing was tested"
    )


@pytest.mark.slow
def test_a_killed_replacement_keeps_one_of_the_two_releases(source: Path, tmp_path: Path) -> None:
    """The old release (k = 2) or the new one (k = 50) is complete at every moment.

    It is in place or can be restored.
    """
    target = tmp_path / "out"
    whole_run(source, target, k=2)
    assert 2 <= released(target) < 50
    seen = set()
    for moment in (
        f"{STAGED}/release/table.csv",
        f"{STAGED}/release/manifest.json",
        f"{STAGED}/replaced",
        f"{STAGED}/replaced.private",
        "out/none",
    ):
        with child(source, target, k=50, force=True) as process:
            kill_when(moment)(process, target)
            process.kill()
            process.wait()
        if target.exists():
            released(target)
        next_run(target)
        assert names(tmp_path) == ["out", "out.private"]
        seen.add(released(target) >= 50)
    assert seen == {False, True}
