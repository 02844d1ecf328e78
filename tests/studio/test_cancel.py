# SPDX-License-Identifier: Apache-2.0
"""Cancelling a publication: the page reports whether the release exists; no staged file is left."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.csv
import pytest

import divulge as dv
from divulge.releases import read_manifest
from divulge.studio.worker_process import WorkerProcess

BEFORE = "the page is as it was before"


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[WorkerProcess]:
    monkeypatch.chdir(tmp_path)
    pyarrow.csv.write_csv(dv.datasets.patients(rows=2000, seed=3), tmp_path / "patients.csv")
    (tmp_path / "hospital.toml").write_text(dv.datasets.POLICY, encoding="utf-8")
    (tmp_path / "scratch").mkdir()
    worker = WorkerProcess(str(tmp_path / "scratch"))
    changes = [["open", "", "patients.csv"], ["policy", "", "hospital.toml"]]
    assert not [
        message
        for message in worker.answers({"place": "table", "changes": changes})
        if "error" in message
    ]
    yield worker
    worker.close()


def publish_until(worker: WorkerProcess, ends: Callable[[dict[str, Any]], bool]) -> list[Any]:
    """Publish, cancel when a message arrives, and return all messages."""
    changes = [["out", "", "release"], ["publish", "", ""]]
    messages: list[Any] = []
    cancelling: list[threading.Thread] = []
    for message in worker.answers({"place": "publish", "changes": changes}):
        messages.append(message)
        if ends(dict(message)) and not cancelling:
            cancelling.append(threading.Thread(target=worker.cancel))
            cancelling[0].start()
    for thread in cancelling:
        thread.join()
    return messages


def test_a_release_that_is_on_the_disk_is_named(worker: WorkerProcess, tmp_path: Path) -> None:
    messages = publish_until(
        worker, lambda message: message.get("progress") == "writing the reports"
    )
    assert messages[-1]["error"] == "Cancelled"
    hint = (
        f"the release was published before that, in {tmp_path / 'release'}; its reports may "
        "be "
        "missing"
    )
    assert messages[-1]["hint"] == hint
    read_manifest(tmp_path / "release")


@pytest.mark.parametrize("message", ["writing", "progress"])
def test_the_message_is_true_whenever_it_is_cancelled(
    worker: WorkerProcess, tmp_path: Path, message: str
) -> None:
    messages = publish_until(worker, lambda given: message in given)
    assert messages[-1]["error"] == "Cancelled"
    assert (messages[-1]["hint"] == BEFORE) == (not (tmp_path / "release").exists())
    assert not [path.name for path in tmp_path.iterdir() if ".divulge-" in path.name]


def test_an_earlier_release_is_not_taken_for_a_new_one(
    worker: WorkerProcess, tmp_path: Path
) -> None:
    assert not [message for message in publish_until(worker, lambda _: False) if "error" in message]
    messages = list(worker.answers({"place": "publish", "changes": [["publish", "", ""]]}))
    assert any("exists already" in message.get("error", "") for message in messages)
    # what the first publication said is not left under the error
    assert {"put": "done", "html": ""} in messages
    read_manifest(tmp_path / "release")
