# SPDX-License-Identifier: Apache-2.0
"""The studio: the whole work in a browser, on one's own machine (`divulge studio`).

Three parts, and none of them knows how a number comes about:

- the page (page.html, studio.js, studio.css) shows what it is sent, and sends back which control was moved;
- the server (server.py, door.py) listens on 127.0.0.1, lets in who came by the printed address, and passes messages on;
- the desk (desk.py, places/), a process beside each page, holds one immutable `Work` (work.py), calls the library, and sends parts of
  the page, made of the same parts, words and charts as a report.

Why not Shiny for Python, whose documentation was read and which was not tried: its long tasks are asyncio tasks of the server's process
(`reactive.ExtendedTask`), which can be cancelled where they wait; a search that counts does not wait. Here the server is Starlette on
uvicorn, of which a page needs a few routes, and a desk is a process: cancelling is to end it, two pages cannot disturb each other, and
its memory is given back. What is sent is lines of JSON, over a pipe and over HTTP alike, so that a request can be tried with curl:
progress, then each part as soon as it is known. The page forbids itself everything but its own scripts and styles.
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
