# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C and SIGTERM at many moments: one line, exit code 130 or 143, and no staged file.

A child process runs the program and sends itself the signal at its n-th call of a Python or C
function. The moments therefore cover imports, reading, searching, writing and the end, and are the
same in each run.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from divulge.ledger import Ledger
from divulge.releases import read_manifest
from tests.cli import nine_patients

SOURCES = Path(__file__).parent.parent.parent / "src"
PROGRAM = """
import os, signal, sys
moment, number = int(sys.argv[1]), int(sys.argv[2])
sys.argv[1:] = sys.argv[3:]
calls = 0
leave = os._exit

def count(frame, event, argument):
    global calls
    if event in ("call", "c_call"):
        calls += 1
        if calls == moment:
            signal.raise_signal(number)

def report(code):
    sys.setprofile(None)
    os.write(2, b"calls=%d\\n" % calls) if moment == 0 else None
    leave(code)

os._exit = report
from divulge.cli.start import main
sys.setprofile(count)
main()
"""
FIRST = 15
"""The first moment: the signals are blocked by then, so that they wait for their handlers."""
LINES = {signal.SIGINT: "divulge: interrupted", signal.SIGTERM: "divulge: terminated"}


def run_program(
    folder: Path, moment: int, number: int, *arguments: str
) -> subprocess.CompletedProcess[str]:
    """Run the program in a folder, with the signal at a moment; moment 0 counts its calls."""
    (folder / "tmp").mkdir(exist_ok=True)
    environment = os.environ | {
        "PYTHONPATH": str(SOURCES),
        "TMPDIR": str(folder / "tmp"),
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, "-P", "-c", PROGRAM, str(moment), str(int(number)), *arguments]
    return subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def count_calls(folder: Path, *arguments: str) -> int:
    done = run_program(folder, 0, signal.SIGINT, *arguments)
    assert done.returncode == 0, done.stderr
    return int(done.stderr.rsplit("calls=", 1)[1])


def moments(calls: int, count: int) -> list[int]:
    """Return moments of a run: half of them evenly spaced, half ever closer to its end.

    Files are written near the end.
    """
    even = [FIRST + calls * index // (count // 2) for index in range(count // 2)]
    late = [calls - int(calls * 0.3 * 0.75**index) for index in range(count - len(even))]
    return sorted({*even, *late})


@pytest.mark.slow
def test_a_signal_at_any_moment_of_a_release(tmp_path: Path, *, quick: bool) -> None:
    table = tmp_path / "patients.csv"
    table.write_text(nine_patients.ROWS, encoding="utf-8")
    command = [
        "generalize",
        str(table),
        *nine_patients.ROLES,
        *nine_patients.RULES,
        "--k-anonymity",
        "3",
    ]
    command += ["--ledger", "ledger", "--recipient", "clinic", "--out", "release"]
    counts: list[int] = []
    for name in ("first", "second"):  # the first run may have to compile modules
        (tmp_path / name).mkdir()
        counts.append(count_calls(tmp_path / name, *command))
    calls = min(counts)
    interrupted = 0
    for index, moment in enumerate(moments(calls, 8 if quick else 24)):
        number = [signal.SIGINT, signal.SIGTERM][index % 2]
        folder = tmp_path / f"moment-{moment}"
        folder.mkdir()
        done = run_program(folder, moment, number, *command)
        context = f"moment {moment} of {calls}: {done.stderr}"
        release = folder / "release"
        if done.returncode != 0:
            interrupted += 1
            published = f"; {release} was published before" if release.exists() else ""
            assert done.stderr == f"{LINES[number]}{published}\n", context
            assert done.returncode == 128 + number, context
        else:  # all was said: the signal came too late
            assert release.exists(), context
        if release.exists():
            read_manifest(release)
        assert list((folder / "tmp").iterdir()) == [], context
        left = {path.name for path in folder.iterdir()} - {
            "tmp",
            "release",
            "ledger",
            "release.private",
        }
        assert not left, context
        entered = len(Ledger(folder / "ledger").holdings()) if (folder / "ledger").exists() else 0
        assert entered == int(release.exists()), context
    assert interrupted >= 4


def test_json_has_one_object_when_interrupted(tmp_path: Path) -> None:
    table = tmp_path / "patients.csv"
    table.write_text(nine_patients.ROWS, encoding="utf-8")
    command = ["measure", str(table), "--qi", "zip,age", "--sensitive", "disease", "--json"]
    calls = count_calls(tmp_path, *command)
    for moment in (FIRST, calls // 4, calls // 2):
        done = run_program(tmp_path, moment, signal.SIGTERM, *command)
        assert json.loads(done.stdout) == {"error": "terminated", "hint": "", "exit_code": 143}
        assert (done.returncode, done.stderr) == (143, "divulge: terminated\n")


def test_a_report_that_was_written_before_the_signal_is_named(tmp_path: Path) -> None:
    """The signal comes when the report is renamed, which it waits for."""
    program = (
        "import pathlib, signal, sys\n"
        "rename = pathlib.Path.replace\n"
        "def renamed(self, target):\n"
        "    signal.raise_signal(signal.SIGTERM)\n"
        "    return rename(self, target)\n"
        "pathlib.Path.replace = renamed\n"
        "from divulge.cli.start import main\n"
        "main()\n"
    )
    table = tmp_path / "patients.csv"
    table.write_text(nine_patients.ROWS, encoding="utf-8")
    report = tmp_path / "report.html"
    command = ["report", str(table), "--qi", "zip,age", "--out", str(report)]
    done = subprocess.run(
        [sys.executable, "-P", "-c", program, *command],
        env=os.environ | {"PYTHONPATH": str(SOURCES)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == f"divulge: terminated; {report} was written before\n"
    assert done.returncode == 143
    assert report.exists()
    assert [path.name for path in tmp_path.iterdir() if ".divulge" in path.name] == []


def test_an_ignored_signal_stays_ignored(tmp_path: Path) -> None:
    """Shells let background jobs ignore Ctrl-C, and nohup a closing terminal."""
    table = tmp_path / "patients.csv"
    table.write_text(nine_patients.ROWS, encoding="utf-8")
    program = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n" + PROGRAM
    environment = os.environ | {"PYTHONPATH": str(SOURCES)}
    arguments = ["5000", str(int(signal.SIGINT)), "measure", str(table), "--qi", "zip,age"]
    done = subprocess.run(
        [sys.executable, "-P", "-c", program, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
