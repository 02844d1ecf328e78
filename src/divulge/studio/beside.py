# SPDX-License-Identifier: Apache-2.0
"""A desk as the server sees it: a process beside a page, asked by lines of JSON, which can be ended at any moment and goes on after it.

The process ends by itself when its input does, so nothing is left behind however the server dies.
"""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Message = Mapping[str, Any]
Change = tuple[str, str, Any]
"""The control, what it is about, and its value."""
_ENDED = {
    "error": "the work ended before it was done",
    "hint": "there may not be enough memory for it; the page is as it was before",
    "undone": True,
}
_CANCELLED = {"error": "Cancelled", "hint": "the page is as it was before", "undone": True}


class Beside:
    """One desk. What it last said its work was (`work`) is what it goes on with when it has to be started again."""

    def __init__(self, folder: str) -> None:
        self.work: Message = {}
        self.papers = ""
        """The folder of the reports that were written last."""
        self._folder = folder
        self._lock = threading.Lock()
        self._asked = 0
        self._boxes: dict[int, queue.SimpleQueue[Message | None]] = {}
        self._open: dict[int, tuple[Message, Message]] = {}
        """What was asked and is not answered, and what the work was then; the first of it is being done."""
        self._heard: set[int] = set()
        """Of these, what something was said to."""
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Have the process ready before it is needed: it takes most of a second to come up."""
        with self._lock:
            self._running()

    def begin(self, first: Sequence[Change]) -> None:
        """Have it do something before anybody asks."""
        with self._lock:
            self._running()
            self._send({"first": first})

    def back(self, work: Message) -> None:
        """Have it go on with what a page says that it was."""
        with self._lock:
            self.work = work
            self._running()
            self._send({"back": work})

    def take(self, work: Message) -> None:
        """Have it go on with what another page is."""
        with self._lock:
            self.work = work
            self._running()
            self._send({"work": work, "folder": self._folder})

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None or self._process.poll() is not None:
            # -P: programs are not looked for in the folder of the data, where a file may be called json.py.
            command = [sys.executable, "-P", "-m", "divulge.studio"]
            # A group of its own: Ctrl-C is for the server, which then ends its desks.
            self._process = subprocess.Popen(  # noqa: S603 - this very program
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                start_new_session=True,
            )
            self._listener = threading.Thread(target=self._listen, args=(self._process,), daemon=True)
            self._listener.start()
            self._send({"work": self.work, "folder": self._folder})
        return self._process

    def _send(self, message: Message) -> None:
        if self._process is not None and self._process.stdin is not None:
            try:
                self._process.stdin.write(json.dumps(message) + "\n")
                self._process.stdin.flush()
            except OSError:
                pass  # it has just died; who listens to it says so

    def _listen(self, process: subprocess.Popen[str]) -> None:
        for line in process.stdout or ():
            message = json.loads(line)
            with self._lock:
                if self._process is not process:  # it was ended, and what it said last is undone
                    continue
                self.work = message.get("work", self.work)
            self.papers = message.get("papers", self.papers)
            to = message.pop("to", 0)
            self._heard.add(to)
            if message.get("end"):
                self._open.pop(to, None)
            for box in [
                box for number, box in list(self._boxes.items()) if to in (0, number)
            ]:  # to nobody: whoever waits
                box.put(None if message.get("end") else message)
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        self._end_all(_ENDED, of=process)

    def _end_all(self, why: Message, *, of: subprocess.Popen[str], again: bool = False) -> None:
        """Tell all who wait, and undo what was being done; `again`: what waited behind it begins in a new process."""
        with self._lock:
            if self._process is not of:
                return
            self._process = None
            self.work = next((before for _, before in self._open.values()), self.work)
            behind = [number for number in list(self._open)[1:] if again and number not in self._heard]
            self._open = {number: self._open[number] for number in behind}
            for number in self._boxes.keys() - self._open.keys():
                self._boxes[number].put(why)
                self._boxes[number].put(None)
            for number, (request, _) in self._open.items():
                self._running()
                self._send({**request, "to": number})

    def ask(self, request: Message) -> Iterator[Message]:
        """What the desk says to it, until it has said all."""
        with self._lock:
            self._running()
            self._asked += 1
            number, box = self._asked, queue.SimpleQueue[Message | None]()
            self._boxes[number] = box
            self._open[number] = (request, self.work)
            self._send({**request, "to": number})
        try:
            while (message := box.get()) is not None:
                yield message
        finally:
            del self._boxes[number]

    def cancel(self, *, again: bool = True) -> None:
        """End what runs; the page is as it was before, and what waits behind it begins."""
        process = self._process
        if process is not None:
            process.kill()
            self._end_all(_CANCELLED, of=process, again=again)

    def close(self) -> None:
        """End it for good, or until it is asked again."""
        if self._process is not None:
            listener = self._listener
            self.cancel(again=False)
            listener.join()
