# SPDX-License-Identifier: Apache-2.0
"""kill -9 at fifty moments, and two processes at once: the ledger lists all published releases.

It lists no others.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import divulge as dv
from tests.ledger.dying import MOMENTS

ROOT = Path(__file__).parent.parent.parent
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no fork")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two different releases to publish again and again."""
    place = tmp_path_factory.mktemp("models")
    people = pa.table(
        {"zip": ["4761", "4762", "4791", "4792"], "disease": ["flu", "cold", "flu", "cold"]}
    )
    roles: dict[str, Any] = {"quasi_identifiers": "zip", "sensitive": "disease"}
    return [
        dv.generalize(people, policy={"k_anonymity": k}, **roles).write(place / str(k))
        for k in (2, 4)
    ]


def program(what: str, folder: Path, models: list[Path]) -> tuple[dict[str, Any], str]:
    """Output of the test program, and of its children."""
    command = [sys.executable, "-m", "tests.ledger.dying", what, str(folder), *map(str, models)]
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


@pytest.fixture
def quick_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory if there is one.

    The tests kill processes, not the power supply, so a real disk is not needed.
    """
    memory = Path("/dev/shm")  # noqa: S108 - a folder of our own inside
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory, prefix="divulge-dying-") as folder:
        yield Path(folder)


def test_ledger_and_releases_agree_after_kills_at_fifty_moments(
    quick_disk: Path, models: list[Path]
) -> None:
    found, _ = program("deaths", quick_disk, models)
    assert found["moments"] == 2 * MOMENTS == 50
    # Some died before they entered their intention, some between that and the rename, some between
    # the rename and the entry.
    assert set(found["cases"]) == {
        "not out, settled",
        "not out, intended",
        "out, intended",
        "out, settled",
    }


def test_concurrent_creation_yields_one_ledger_and_loses_no_release(
    tmp_path: Path, models: list[Path]
) -> None:
    found, said = program("crowd", tmp_path, models)
    assert found == {"ended": [0], "left": [[models[0].name]]}, said


def test_concurrent_processes_are_judged_one_after_the_other(
    tmp_path: Path, models: list[Path]
) -> None:
    found, said = program("at_once", tmp_path, models)
    assert found["ended"] == [0, 0], said
    assert found["judged_against"] == [0, 1]
    assert (found["waited"], found["late"]) == (2, False)
    assert "another process publishes by the ledger" in said
    assert "was not done after 0.1 seconds" in said
    assert "release 3 was entered since this one was decided" in found["refused"]
    assert not found["too_late"]
    assert sorted(found["entered"]) == ["between", "out-0", "out-1"]
