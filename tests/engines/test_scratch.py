# SPDX-License-Identifier: Apache-2.0
"""Private directories are removed with the process that made them.

Those of a killed process are removed by the next one that starts in the same place.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from divulge.private_folder import Scratch, remove_stale

SOURCE = Path(__file__).parents[2] / "src"

CHILD = """
import sys
from divulge.engines.duckdb import DuckDBEngine
engine = DuckDBEngine(temp_directory=sys.argv[1])
engine.keep("SELECT * FROM range(100000)")
print(engine.directory, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def child(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Another process with an engine that keeps data in tmp_path, and its directory."""
    environment = os.environ | {"PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-c", CHILD, str(tmp_path)]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield process, Path(process.stdout.readline().strip())
        process.kill()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such locks")
def test_a_killed_process_leaves_nothing_for_long(
    child: tuple[subprocess.Popen[str], Path], tmp_path: Path
) -> None:
    process, left = child
    assert (left / "stored.duckdb").stat().st_size > 0
    others = tmp_path / "divulge-of-somebody-else"
    others.mkdir()
    remove_stale.cache_clear()
    first = Scratch(tmp_path)
    assert left.is_dir()  # its owner is alive
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert left.is_dir()
    remove_stale.cache_clear()
    second = Scratch(tmp_path)
    assert not left.exists()
    assert {first.directory, second.directory, others} == set(tmp_path.iterdir())
    for scratch in (first, second):
        scratch.remove()
    assert list(tmp_path.iterdir()) == [others]


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "owner.lock").touch()
    place = tmp_path / "place"
    place.mkdir()
    (place / "divulge-link").symlink_to(precious, target_is_directory=True)
    remove_stale.cache_clear()
    Scratch(place).remove()
    assert (precious / "owner.lock").exists()


FORK = """
import os, sys
from divulge.private_folder import Scratch
scratch = Scratch(sys.argv[1])
if os.fork() == 0:
    scratch.remove()
    os._exit(0)
os.wait()
print(scratch.directory.is_dir(), end=" ")
scratch.remove()
print(scratch.directory.is_dir())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_fork_leaves_its_parents_directory_alone(tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-c", FORK, str(tmp_path)]
    assert (
        subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
        == "True False\n"
    )
