# SPDX-License-Identifier: Apache-2.0
"""Start processes with a Spark of their own and send them requests (see spark_process)."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent


class Child:
    """A process that measures cases."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self._process = process
        self.port = port

    def measured(
        self, case: str, *, collect_limit: int, sabotage: Path | None = None
    ) -> dict[str, Any]:
        """Return the measurement of a case by the process."""
        asked: dict[str, Any] = {"case": case, "collect_limit": collect_limit}
        if sabotage is not None:
            asked["sabotage"] = str(sabotage)
        return self.ask(asked)

    def ask(self, request: dict[str, Any] | None) -> dict[str, Any]:
        """Send a request, if there is one, and wait for the result."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        if request is not None:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, (
            f"the process with Spark ended with {self._process.wait()}; its messages stand above"
        )
        found: dict[str, Any] = json.loads(line)
        return found


@contextmanager
def child(kind: str, *, port: int, folder: Path) -> Iterator[Child]:
    """A process with a cluster, or with a client of its Spark Connect server."""
    environment = os.environ | {
        "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}",
        "SPARK_HOME": str(_spark_home(folder)),
    }
    command = [sys.executable, "-m", "tests.engines.spark_process", kind, str(port)]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=folder,
        env=environment,
    ) as process:
        started = Child(process, port)
        assert started.ask(None) == {"ready": kind}
        yield started
        assert process.stdin is not None
        with suppress(BrokenPipeError):
            process.stdin.close()
        try:
            process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            # a client whose server died would try again for ten minutes
            process.kill()


def free_port() -> int:
    """Return a port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _spark_home(folder: Path) -> Path:
    """Spark's installation seen through links: the workers of a local cluster write into a
    folder `work` inside it.
    """
    import pyspark

    home = folder / "spark-home"
    if not home.exists():
        home.mkdir()
        for entry in Path(pyspark.__file__).parent.iterdir():
            if entry.name != "work":
                (home / entry.name).symlink_to(entry)
    return home
