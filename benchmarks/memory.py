# SPDX-License-Identifier: Apache-2.0
"""Memory of a process and of all its descendants, as Spark has them; from /proc (Linux only)."""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from typing import Self

_SECONDS_BETWEEN_LOOKS = 0.2


class Watch:
    """Largest memory, in MiB, of this process, of Java below it, of all others, and of a folder."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self.peaks: dict[str, float] = {}
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while True:
            done = self._done.wait(_SECONDS_BETWEEN_LOOKS)
            now = _memory_by_kind()
            now["all"] = sum(now.values())
            if self._folder is not None:
                now["folder"] = _size(self._folder)
            self.peaks = {
                kind: max(now.get(kind, 0.0), self.peaks.get(kind, 0.0))
                for kind in now | self.peaks
            }
            if done:
                return


def _memory_by_kind() -> dict[str, float]:
    """Return the memory of the driver (this process), of its Java, and of all others."""
    children = defaultdict(list)
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # the process has ended
            children[int((folder / "stat").read_text().rpartition(")")[2].split()[1])].append(
                int(folder.name)
            )
    found: dict[str, float] = defaultdict(float)
    waiting = [os.getpid()]
    while waiting:
        process = waiting.pop()
        waiting += children[process]
        with suppress(OSError, StopIteration):  # the process has ended, or has released its memory
            name = Path(f"/proc/{process}/comm").read_text().strip()
            kind = "driver" if process == os.getpid() else "java" if name == "java" else "workers"
            lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
            found[kind] += (
                next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024
            )
    return dict(found)


def _size(folder: Path) -> float:
    total = 0
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):
            total += path.stat().st_size
    return total / 2**20
