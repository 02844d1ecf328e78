# SPDX-License-Identifier: Apache-2.0
"""The studio: the whole work in a browser, on one's own machine (`divulge studio`).

Three parts, and none of them knows how a number comes about:

- the page (page.html, studio.js, studio.css) shows what it is sent, and sends back which control was moved;
- the server (server.py, door.py) listens on 127.0.0.1, lets in who came by the printed address, and passes messages on;
- the desk (desk.py, places/), a process beside each page, holds one immutable `Work` (work.py), calls the library, and sends parts of
  the page, made of the same parts, words and charts as a report.

Why not Shiny for Python: 1.8.0 was tried on 2026-11-18, with one page and 8 s of NumPy, DuckDB and Python as a `reactive.ExtendedTask`.
Worked out in the task itself, a second page waited 7.5 to 7.8 s for its slider; in a thread of it, it did not, but `cancel()` only said
so, and the work went on to its end. Under `script-src 'self'; style-src 'self'` the page did not come up: it needs inline scripts, inline
styles and eval. It loads 18 files of 1.34 MB, this page 6 of 0.04 MB (and 0.9 MB of Vega with the first picture); its first page was there
after 0.66 to 0.77 s, ours after 0.58 to 0.73 s: no difference. Here the server is Starlette on uvicorn, of which a page needs few
routes, and a desk is a process: cancelling is to end it, two pages cannot disturb each other, and its memory is given back. What is sent is
lines of JSON, over a pipe and over HTTP alike, so that a request can be tried with curl: progress, then each part as soon as it is known.
The page forbids itself everything but its own scripts and styles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from divulge import private_folder
from divulge.studio.beside import Beside, Change

__all__ = ["is_missing", "serve"]


def is_missing(source: str) -> bool:
    """Whether a table is named that would lie here, and does not."""
    elsewhere = not source or "://" in source or bool(set("*?[") & set(source))
    return not elsewhere and not Path(source).exists()


def serve(
    first: Sequence[Change] = (),
    *,
    port: int = 0,
    browser: bool = True,
    idle: float = 1800.0,
    tell: Callable[[str], None] = print,
) -> None:
    """Serve pages, in which `first` has been done, until Ctrl-C, or until none was open for `idle` seconds."""
    scratch = private_folder.Scratch()
    desk = Beside(str(scratch.directory))
    try:
        desk.begin(first)  # it takes longest to come up; meanwhile the server is imported
        from divulge.studio import server

        server.serve(desk, str(scratch.directory), first, port=port, browser=browser, idle=idle, tell=tell)
    finally:
        desk.close()
        scratch.remove()
