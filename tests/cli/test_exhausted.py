# SPDX-License-Identifier: Apache-2.0
"""Memory or disk space runs out: one line, exit code 2, and no partial output."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from divulge.cli import main
from divulge.engines import memory
from tests.helpers import CliResult, run_cli

ROWS = 20_000


@pytest.fixture
def people(tmp_path: Path) -> str:
    """A table of half a megabyte, which does not fit where there is less space."""
    path = tmp_path / "people.csv"
    rows = (f"{i % 50},{'abc'[i % 3]},{'x' * 20}{i % 97}" for i in range(ROWS))
    path.write_text("age,disease,note\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return str(path)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 256 kB, if the system allows it."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)]
    if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no disk can be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Limit the size of files, as if the disk were full.

    A full disk needs rights that a test may lack.
    """
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def generalized(table: str, out: Path, *more: str) -> CliResult:
    roles = ("--qi", "age", "--sensitive", "disease", "--plain", "note")
    return run_cli(
        "generalize", table, *roles, "--k-anonymity", "2", "--out", str(out), "--json", *more
    )


def assert_nothing_is_left(found: CliResult, folder: Path, told: str) -> None:
    assert found.code == 2, found.err
    assert found.err.count("\n") == 1
    assert "{" not in found.err
    assert told in found.json()["error"]
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("format_", ["csv", "arrow"])
def test_a_full_disk_leaves_no_release(format_: str, people: str, small_disk: Path) -> None:
    found = generalized(people, small_disk / "release", "--format", format_)
    assert_nothing_is_left(found, small_disk, "No space left on device")


@pytest.mark.parametrize("format_", ["csv", "arrow"])
def test_a_file_that_cannot_grow_leaves_no_release(
    format_: str, people: str, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    with files_of_at_most(100_000):
        found = generalized(people, folder / "release", "--format", format_)
    assert_nothing_is_left(found, folder, "File too large")


def test_anatomized_tables_leave_no_partial_output(people: str, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    roles = ("--qi", "age", "--sensitive", "disease", "--beta", "1/2")
    with files_of_at_most(50_000):
        found = run_cli("anatomize", people, *roles, "--out", str(folder / "release"), "--json")
    assert_nothing_is_left(found, folder, "File too large")


def test_a_memory_limit_that_is_too_small(people: str, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    found = generalized(people, folder / "release", "--memory-limit", "1MB")
    assert_nothing_is_left(found, folder, "a memory limit of 1MB is too small")


@pytest.mark.parametrize(
    ("limit", "told"),
    [("10MB", "memory ran out: failed to offload"), ("20MB", "No space left on device")],
)
def test_no_space_to_spill_to(
    people: str, small_disk: Path, monkeypatch: pytest.MonkeyPatch, limit: str, told: str
) -> None:
    """There is no space to spill to, and none for stored intermediate results."""
    for part in ("FIXED", "SMALLEST"):
        monkeypatch.setattr(memory, part, 0)  # so that a small table is too large
    limits = ("--memory-limit", limit, "--temp-directory", str(small_disk))
    found = run_cli(
        "measure", people, "--qi", "age,note", "--sensitive", "disease", "--json", *limits
    )
    assert_nothing_is_left(found, small_disk, told)


def test_python_runs_out_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(main, "_dispatch", lambda _: np.empty(2**58))
    found = run_cli("measure", "--json")
    assert (found.code, found.err.count("\n")) == (2, 1)
    assert found.json()["error"].startswith("memory ran out: Unable to allocate")


def test_a_full_disk_shows_the_message_of_the_system(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "Error writing bytes to file. Detail: [errno 28] No space left on device")

    monkeypatch.setattr("pyarrow.csv.write_csv", full)
    found = run_cli("demo", "--out", str(tmp_path / "demo"), "--rows", "200")
    assert (found.code, found.err.splitlines()[-1]) == (
        2,
        "divulge: No space left on device. Make room there, or write to another folder",
    )
