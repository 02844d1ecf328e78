# SPDX-License-Identifier: Apache-2.0
"""`python -m divulge.studio`: the process that the server starts beside each page; lines of JSON come in and go out."""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
from typing import IO, Any

from divulge import arrays
from divulge.studio.desk import Desk
from divulge.studio.places import PLACES, place_named


def _read(lines: IO[str], inbox: queue.Queue[dict[str, Any]]) -> None:
    for line in lines:
        inbox.put(json.loads(line))
    os._exit(0)  # the server is gone, and nobody waits for what is being worked out


def main() -> None:
    """Answer on what is standard output now; whatever else is printed goes to standard error."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    inbox: queue.Queue[dict[str, Any]] = queue.Queue()
    threading.Thread(target=_read, args=(sys.stdin, inbox), daemon=True).start()
    arrays.leave_pandas_out()
    place_named(PLACES[0])
    Desk(inbox, out).serve(PLACES, place_named)


if __name__ == "__main__":
    main()
