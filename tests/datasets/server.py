# SPDX-License-Identifier: Apache-2.0
"""A file server on loopback that counts requests, so that tests download without the network."""

from __future__ import annotations

import http.server
import threading
from collections import Counter
from typing import TYPE_CHECKING

from divulge.datasets.catalogue import WebFile

if TYPE_CHECKING:
    from pathlib import Path


class FileServer:
    """Serves one folder until `stop`; `asked` counts the requests for each file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.asked: Counter[str] = Counter()
        asked = self.asked

        class Handler(http.server.SimpleHTTPRequestHandler):
            def __init__(self, *args: object) -> None:
                super().__init__(*args, directory=str(folder))  # type: ignore[arg-type]

            def do_GET(self) -> None:
                asked[self.path.lstrip("/")] += 1
                super().do_GET()

            def log_message(self, *_: object) -> None:
                """Keep the test output clean."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}
        )
        self._thread.start()

    def address_of(self, name: str) -> str:
        """Return the address of that file, which need not exist."""
        return f"http://127.0.0.1:{self._server.server_port}/{name}"

    def put(self, name: str, content: bytes) -> WebFile:
        """Serve this content under this name."""
        (self.folder / name).write_bytes(content)
        return WebFile(self.address_of(name))

    def stop(self) -> None:
        """Close the port and wait for the thread."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
