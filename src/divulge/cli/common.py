# SPDX-License-Identifier: Apache-2.0
"""What all commands share: one JSON object on standard output, a console for people, and column lists from flags."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from divulge.results import Result, plain

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


_TERMINAL = threading.Lock()
"""Held by the bar that is shown."""


def emit_json(document: Mapping[str, Any]) -> None:
    """Print one JSON object and nothing else."""
    # Escapes are JSON in any encoding; an output that is not UTF-8 could not take every letter as it is.
    encoding = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "")
    sys.stdout.write(json.dumps(plain(document), ensure_ascii=encoding != "utf8", allow_nan=False) + "\n")


def tell(result: Result, *, json_: bool, text: Mapping[str, Any] | None = None, **options: Any) -> None:
    """A result as one JSON object, or in words; `options` are the views' own, `text` those of the words alone."""
    if json_:
        emit_json(result.to_dict(**options))
    else:
        show(result.text(**options, **(text or {})))


def show(*parts: RenderableType) -> None:
    """Print for people, without the blanks that fill lines up."""
    target = console()
    for part in parts:
        with target.capture() as captured:
            target.print(part)
        sys.stdout.write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))


def console() -> Console:
    """The console that people read; plain text, without colour and a little wider, when it is piped."""
    from rich.console import Console

    return Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else 120)


def new_app() -> typer.Typer:
    """An empty command with the manners that all commands share."""
    return typer.Typer(
        add_completion=False, rich_markup_mode=None, context_settings={"help_option_names": ["-h", "--help"]}
    )


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on standard error for long work, fed with (done, total); nothing when standard error is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with _TERMINAL, Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def statement_bar() -> Callable[[int, int], None] | None:
    """A bar for statements that take long, which an engine feeds by itself; None when standard error is not a terminal."""
    return _StatementBar() if sys.stderr.isatty() else None


class _StatementBar:
    """Comes with the first news of a statement and goes when it is done; stays away while another bar is there."""

    def __init__(self) -> None:
        self._bar: Any = None

    def __call__(self, done: int, total: int) -> None:
        if self._bar is None and done < total and _TERMINAL.acquire(blocking=False):
            from rich.console import Console
            from rich.progress import Progress

            self._bar = Progress(console=Console(stderr=True), transient=True)
            self._bar.add_task("counting", total=total)
            self._bar.start()
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=done)
            if done >= total:
                self._bar.stop()
                self._bar = None
                _TERMINAL.release()
