# SPDX-License-Identifier: Apache-2.0
"""The studio (`divulge studio`): measure, anonymize and publish in a browser, on one's own machine.

It has three parts. None of them computes a number itself:

- The page (page.html, studio.js, studio.css) shows the parts that it receives, and sends back which
  control was moved.
- The server (server.py, auth.py) listens on 127.0.0.1, lets in browsers that used the printed
  address, and passes messages on.
- The worker (worker.py, tabs/) is one process per page. It holds one immutable `SessionState`
  (session_state.py), calls the library, and sends parts of the page. They use the components,
  wording and charts of a report.

Shiny for Python was rejected. Version 1.8.0 was tried on 2026-11-18, with one page and 8 s of
NumPy, DuckDB and Python as a `reactive.ExtendedTask`. With the computation in the task itself, a
second page waited 7.5 to 7.8 s for its slider. In a thread of the task the second page did not
wait, but `cancel()` only reported a cancellation, and the computation ran to its end. Under
`script-src 'self'; style-src 'self'` the page did not come up: it needs inline scripts, inline
styles and eval. It loads 18 files of 1.34 MB; this page loads 6 of 0.04 MB (and 0.9 MB of Vega with
the first chart). The time to the first page was no different: 0.66 to 0.77 s there, 0.58 to 0.73 s
here.

Here the server is Starlette on uvicorn, of which a page needs few routes, and a worker is a
process. Cancelling ends the process, two pages cannot disturb each other, and its memory is freed.
Messages are lines of JSON, over a pipe and over HTTP alike, so that a request can be tried with
curl: progress, then each part as soon as it is ready. The page's content security policy allows
only its own scripts and styles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from divulge import private_folder
from divulge.studio.worker_process import Change, WorkerProcess

__all__ = ["is_missing", "serve"]


def is_missing(source: str) -> bool:
    """Return True if `source` is the path of a local file that does not exist.

    An empty source, an address and a glob pattern are never missing.
    """
    elsewhere = not source or "://" in source or bool(set("*?[") & set(source))
    return not elsewhere and not Path(source).exists()


def serve(
    initial_changes: Sequence[Change] = (),
    *,
    port: int = 0,
    browser: bool = True,
    idle: float = 1800.0,
    print_address: Callable[[str], None] = print,
) -> None:
    """Serve pages until Ctrl-C, or until no page was open for `idle` seconds.

    The changes in `initial_changes` are made in each new page before it is shown.
    """
    scratch = private_folder.Scratch()
    worker = WorkerProcess(str(scratch.directory))
    try:
        # starting the worker takes longest; the server is imported meanwhile
        worker.start_with(initial_changes)
        from divulge.studio import server

        server.serve(
            worker,
            str(scratch.directory),
            initial_changes,
            port=port,
            browser=browser,
            idle=idle,
            print_address=print_address,
        )
    finally:
        worker.close()
        scratch.remove()
