# SPDX-License-Identifier: Apache-2.0
"""The worker process that the server starts for each page: `python -m divulge.studio`.

It reads and writes lines of JSON.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
from typing import IO, Any

from divulge import arrays, interrupts, signals
from divulge.studio.tabs import TABS, load_tab
from divulge.studio.worker import Worker


def _read(lines: IO[str], inbox: queue.Queue[dict[str, Any]]) -> None:
    for line in lines:
        inbox.put(json.loads(line))
    interrupts.remove_all()
    os._exit(0)  # the server is gone, and nobody waits for the results


def main() -> None:
    """Answer on the original standard output; everything else printed goes to standard error."""
    signals.install(announces=False)
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    inbox: queue.Queue[dict[str, Any]] = queue.Queue()
    threading.Thread(target=_read, args=(sys.stdin, inbox), daemon=True).start()
    arrays.leave_pandas_out()
    load_tab(TABS[0])
    Worker(inbox, out).serve(TABS, load_tab)


if __name__ == "__main__":
    main()
