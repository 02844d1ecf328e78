# SPDX-License-Identifier: Apache-2.0
"""Client of the worker process of one page, as the server uses it.

Messages are lines of JSON. The worker can be killed at any moment, and is restarted with its last
session state. It exits when its standard input closes, so that no process outlives the server.
"""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

Message = Mapping[str, Any]
Change = tuple[str, str, Any]
"""The control, its subject (such as a column), and its new value."""
_ENDED = {
    "error": "the work ended before it was done",
    "hint": "there may not be enough memory for it; the page is as it was before",
    "undone": True,
}
_CANCELLED = {"error": "Cancelled", "hint": "the page is as it was before", "undone": True}
_SECONDS_TO_END = 5.0
"""Seconds that a cancelled process has to remove its staged files."""


def identity_of(folder: str | Path) -> list[int] | None:
    """Return the device and inode of a folder; None if there is none.

    A folder that replaces another one has another inode.
    """
    try:
        status = Path(folder).stat()
    except OSError:
        return None
    return [status.st_dev, status.st_ino]


class WorkerProcess:
    """Client of one worker process.

    Keeps the last session state that the worker reported (`state`), so that a new process can
    continue from it.
    """

    def __init__(self, folder: str) -> None:
        self.state: Message = {}
        self.reports_folder = ""
        """Folder of the reports that were written last."""
        self._folder = folder
        self._lock = threading.Lock()
        self._request_count = 0
        self._queues: dict[int, queue.SimpleQueue[Message | None]] = {}
        self._pending: dict[int, tuple[Message, Message]] = {}
        """Unanswered requests by their number, each with the session state at that time.

        The first one is running.
        """
        self._answered: set[int] = set()
        """Numbers of requests that have received at least one message."""
        self._process: subprocess.Popen[str] | None = None
        self._cancelled: subprocess.Popen[str] | None = None
        self._writing: tuple[str, Any] | None = None
        """Folder of the release that is being written, and its identity before that."""

    def start(self) -> None:
        """Start the process before it is needed: starting takes most of a second."""
        with self._lock:
            self._ensure_running()

    def start_with(self, changes: Sequence[Change]) -> None:
        """Let the worker make these changes before the first request."""
        with self._lock:
            self._ensure_running()
            self._send({"first": changes})

    def restore(self, state: Message) -> None:
        """Continue with the session state that a page of a stopped studio sends."""
        with self._lock:
            self.state = state
            self._ensure_running()
            self._send({"back": state})

    def continue_from(self, state: Message) -> None:
        """Continue with the session state of another page."""
        with self._lock:
            self.state = state
            self._ensure_running()
            self._send({"work": state, "folder": self._folder})

    def _ensure_running(self) -> subprocess.Popen[str]:
        if self._process is None or self._process.poll() is not None:
            # -P: modules are not imported from the folder of the data, where a file may be called
            # json.py.
            command = [sys.executable, "-P", "-m", "divulge.studio"]
            # A process group of its own: Ctrl-C reaches only the server, which ends its workers.
            self._process = subprocess.Popen(  # noqa: S603 - this very program
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                start_new_session=True,
            )
            self._listener = threading.Thread(
                target=self._listen, args=(self._process,), daemon=True
            )
            self._listener.start()
            self._send({"work": self.state, "folder": self._folder})
        return self._process

    def _send(self, message: Message) -> None:
        if self._process is not None and self._process.stdin is not None:
            try:
                self._process.stdin.write(json.dumps(message) + "\n")
                self._process.stdin.flush()
            except OSError:
                pass  # it has just died; its listener thread reports that

    def _listen(self, process: subprocess.Popen[str]) -> None:
        for line in process.stdout or ():
            message = json.loads(line)
            with self._lock:
                if self._process is not process:  # it was ended; its last messages are void
                    continue
                self.state = message.get("work", self.state)
            self.reports_folder = message.get("papers", self.reports_folder)
            if "writing" in message:
                self._writing = message["writing"], message.pop("before", None)
            recipient = message.pop("to", 0)
            self._answered.add(recipient)
            if message.get("end"):
                self._pending.pop(recipient, None)
                self._writing = None
            for number, messages_queue in list(self._queues.items()):
                if recipient in (0, number):  # 0 addresses everyone who waits
                    messages_queue.put(None if message.get("end") else message)
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        if self._cancelled is not process:
            self._end_requests(_ENDED, process=process)

    def _end_requests(
        self, reason: Message, *, process: subprocess.Popen[str], restart: bool = False
    ) -> None:
        """Send `reason` to everyone who waits, and undo the running request.

        The session state becomes what it was before that request. `restart`: requests that waited
        behind it start in a new process.
        """
        with self._lock:
            if self._process is not process:
                return
            self._process = None
            reason = self._with_release_hint(reason)
            self.state = next((before for _, before in self._pending.values()), self.state)
            waiting_numbers = [
                number
                for number in list(self._pending)[1:]
                if restart and number not in self._answered
            ]
            self._pending = {number: self._pending[number] for number in waiting_numbers}
            for number in self._queues.keys() - self._pending.keys():
                self._queues[number].put(reason)
                self._queues[number].put(None)
            for number, (request, _) in self._pending.items():
                self._ensure_running()
                self._send({**request, "to": number})

    def _with_release_hint(self, reason: Message) -> Message:
        """Return the message of an ended process; its hint names a release that was published."""
        writing, self._writing = self._writing, None
        if writing is None:
            return reason
        folder, before = writing
        if identity_of(folder) in (None, before):
            return reason
        return {
            **reason,
            "hint": f"the release was published before that, in {folder}; its reports may be "
            "missing",
        }

    def answers(self, request: Message) -> Iterator[Message]:
        """Yield the worker's messages about a request until the worker has finished it."""
        with self._lock:
            self._ensure_running()
            self._request_count += 1
            number = self._request_count
            messages_queue = queue.SimpleQueue[Message | None]()
            self._queues[number] = messages_queue
            self._pending[number] = (request, self.state)
            self._send({**request, "to": number})
        try:
            while (message := messages_queue.get()) is not None:
                yield message
        finally:
            del self._queues[number]

    def cancel(self, *, restart: bool = True) -> None:
        """End the running request, let it remove its staged files, and start the next requests."""
        process = self._process
        if process is None:
            return
        self._cancelled = process
        process.terminate()
        try:
            process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._end_requests(_CANCELLED, process=process, restart=restart)

    def close(self) -> None:
        """End the process; a later request starts a new one."""
        if self._process is not None:
            listener = self._listener
            self.cancel(restart=False)
            listener.join()
