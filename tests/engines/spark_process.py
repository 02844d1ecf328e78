# SPDX-License-Identifier: Apache-2.0
"""Process with a Spark of its own, which measures on request, one JSON object per line.

`cluster` is a real multi-process Spark: a master, two workers, two executors, each with Python
processes of its own. It also serves Spark Connect. `connect` is a client of that server. The tests
start it, because a process can have one Spark only.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from divulge.engines import SparkEngine, spark
from tests.engines.spark_documents import anatomized, measured, released

_JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Options of Java for tiny tables and short runs.

Optimized compilation and a parallel garbage collector do not pay.
"""
SETTINGS = {
    "spark.sql.shuffle.partitions": "2",  # as few as still have to be merged
    "spark.driver.extraJavaOptions": _JAVA_OPTIONS,
    # Adaptive planning after each stage is an eighth of all work here, and changes nothing for so
    # few rows. The cluster has the setting of users.
    "spark.sql.adaptive.enabled": "false",
}
_SEVERAL_PROCESSES = {
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.shuffle.partitions": "4",  # more than there are executors: one of them may be killed
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1",
}


class Saboteur:
    """Kills the working process in the middle of a partition, once for each name in `kills`.

    It records the processes that it killed.
    """

    def __init__(
        self, work: Callable[[Iterator[pa.RecordBatch]], Any], folder: str, kill: str
    ) -> None:
        self._work, self._folder, self._kill = work, folder, kill

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Any:
        return self._work(self._disturbed(batches))

    def _disturbed(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            half = batch.num_rows // 2
            yield batch.slice(0, half)
            if half:
                self._strike()
            yield batch.slice(half)

    def _strike(self) -> None:
        worker = os.getpid()
        victim = worker if self._kill == "worker" else parent(parent(worker))
        try:
            note = os.open(Path(self._folder) / self._kill, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
        except FileExistsError:
            return
        os.write(note, json.dumps([victim, started(victim)]).encode())
        os.close(note)
        os.kill(victim, signal.SIGKILL)
        time.sleep(60)  # until the signal arrives


def parent(process: int) -> int:
    """Return the parent of a process.

    Python's workers are children of a daemon, which is a child of the executor.
    """
    lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("PPid:"))


def started(process: int) -> int | None:
    """Return the start time of a process, which distinguishes it from a later one; None if dead."""
    try:
        fields = (
            Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        )
    except FileNotFoundError:
        return None
    return None if fields[0] == "Z" else int(fields[19])


class SabotagedEngine(SparkEngine):
    """Kills once in each pass over the classes: first a Python worker, then an executor."""

    folder = ""

    def fold(self, held: Any, summarize: Any, merge: Any) -> Any:
        kill = "executor" if (Path(self.folder) / "worker").exists() else "worker"
        return super().fold(held, Saboteur(summarize, self.folder, kill), merge)


def serve(engine: SparkEngine) -> None:
    """Answer requests until there are no more."""
    for line in sys.stdin:
        request = json.loads(line)
        if "release" in request:
            spark.ROWS_PER_PART = request["rows_per_part"]
            answer(released(Path(request["release"]), engine))
            continue
        if "anatomize" in request:
            answer(anatomized(Path(request["anatomize"]), engine.session))
            continue
        asked = engine
        if "sabotage" in request:
            asked = SabotagedEngine(engine.session)
            asked.folder = request["sabotage"]
        asked.collect_limit = request["collect_limit"]
        answer(measured(request["case"], asked))


def answer(document: dict[str, Any]) -> None:
    """Write one line."""
    sys.stdout.write(json.dumps(document) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Start the requested Spark."""
    kind, port = sys.argv[1:]
    if kind == "connect":
        engine = SparkEngine(remote=f"sc://127.0.0.1:{port}")
    else:
        connect = {
            "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.connect.grpc.binding.port": port,
        }
        engine = SparkEngine(
            master="local-cluster[2,1,1024]", config=SETTINGS | _SEVERAL_PROCESSES | connect
        )
    answer({"ready": kind})
    serve(engine)


if __name__ == "__main__":
    main()
