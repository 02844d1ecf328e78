# SPDX-License-Identifier: Apache-2.0
"""A studio as `divulge studio` starts it, and raw HTTP requests as any local program could send."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SOURCES = Path(__file__).parent.parent.parent / "src"


@dataclass(frozen=True)
class Served:
    """A running studio."""

    process: subprocess.Popen[str]
    address: str
    port: int

    @property
    def token(self) -> str:
        """Token in the printed address."""
        return self.address.partition("token=")[2]

    def send(self, request: str, body: str = "", /, **headers: str | None) -> str:
        """Return the answer to a request; a None header is not sent, `_` in a name is `-`."""
        told = {"Host": f"127.0.0.1:{self.port}", "Connection": "close"} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        lines = [
            f"{request} HTTP/1.1",
            *(f"{name}: {value}" for name, value in told.items() if value is not None),
        ]
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as connection:
            connection.sendall("\r\n".join([*lines, "", body]).encode())
            found = b""
            while chunk := connection.recv(65536):
                found += chunk
        return found.decode()

    def status(self, request: str, **headers: str | None) -> int:
        """Return only the status of the answer."""
        return int(self.send(request, **headers).split()[1])

    def enter(self) -> str:
        """Use the token, and return the cookie that it is exchanged for."""
        answer = self.send(f"GET /?token={self.token}")
        found = re.search(r"set-cookie: ([^;]+);", answer, re.IGNORECASE)
        assert found is not None, answer
        return found[1]

    def new_page(self, cookie: str) -> str:
        """Open a page, and return its name."""
        found = re.search(
            r"location: /w/([^/]+)/", self.send("GET /", Cookie=cookie), re.IGNORECASE
        )
        assert found is not None
        return found[1]

    def post(self, path: str, cookie: str, body: str = "", **headers: str | None) -> str:
        """Post a request as the page does."""
        own, length = f"http://127.0.0.1:{self.port}", str(len(body.encode()))
        return self.send(
            f"POST {path}", body, Origin=own, Cookie=cookie, **{"Content_Length": length, **headers}
        )


@contextmanager
def studio(
    folder: Path, arguments: Sequence[str] = (), *, browser: str | None = None
) -> Iterator[Served]:
    """Start a studio in a folder, and stop it as Ctrl-C does; `browser` is a browser's command."""
    command = [
        sys.executable,
        "-P",
        "-m",
        "divulge",
        "studio",
        *arguments,
        *(() if browser else ("--no-browser",)),
    ]
    environment = (
        os.environ | {"PYTHONPATH": str(SOURCES)} | ({"BROWSER": browser} if browser else {})
    )
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        process.stdout.readline()
        address = process.stdout.readline().strip()
        yield Served(process, address, int(address.split(":")[2].split("/")[0]))
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.wait(20)
        if process.stdout is not None:
            process.stdout.close()
