# SPDX-License-Identifier: Apache-2.0
"""A desk: the process beside a page. It holds the work, asks the library, and sends the parts of the page as soon as they are known.

What was asked before the page asked for something newer is not finished: whoever drags a slider wants the last answer only.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import re
import threading
import time
import traceback
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, TypeVar

import divulge as dv
from divulge import metrics
from divulge.errors import DivulgeError
from divulge.studio import is_missing
from divulge.studio.work import FILE, Work
from divulge.views import html, words

Found = TypeVar("Found")
_KEPT = 16
"""Results of each kind that are kept, so that going back to a tab or to a promise takes no time."""
_LARGEST_HELD = 4 * 1024**3
"""Bytes of files that are held in memory; larger ones are read where they lie, each time."""
_OFTEN = 0.15
"""Seconds between two reports of progress."""
_ARGUMENT = re.compile(r"\b([a-z]+(?:_[a-z]+)*)=(?=[\s.,;:)]|$)")
_METRIC = re.compile(rf"\b({'|'.join(sorted((each.name for each in metrics.METRICS), key=len, reverse=True))})\b")
_AS_CONTROLS = {"force=True": "the tick at the side"}
"""Arguments with a value, as the page has them."""


class Superseded(Exception):
    """The page has asked for something newer."""


class Desk:
    """The work, and what has been found out about it."""

    def __init__(self, inbox: queue.Queue[dict[str, Any]], out: IO[str]) -> None:
        self.work = Work()
        self.folder = ""
        """The private one, for what is dropped onto the page or invented."""
        self.afresh = False
        """Whether what was changed changes the controls too."""
        self.asked: set[str] = set()
        """Long work that somebody has asked for, by what it is and the policy."""
        self._inbox, self._out = inbox, out
        self._first: list[Any] = []
        self._news: dict[str, str] = {}
        """What happened to the page, told with the next answer."""
        self._lock = threading.Lock()
        self._answering = 0
        self._kept: dict[tuple[str, str, str], OrderedDict[Any, Any]] = {}
        self._doing, self._told = "", 0.0

    # --- saying ---------------------------------------------------------------------------------------------------
    def say(self, **message: Any) -> None:
        """A message to the page that asked."""
        with self._lock:
            self._out.write(json.dumps({**message, "to": self._answering}) + "\n")
            self._out.flush()

    def put(self, place: str, *parts: Any) -> None:
        """Fill a part of the page; not if the page has asked for something newer meanwhile."""
        self.stop_if_superseded()
        self.say(put=place, html=str(html.joined(parts)))

    def stop_if_superseded(self) -> None:
        """Leave what nobody waits for any more."""
        if not self._inbox.empty():
            raise Superseded

    def progress(self, what: str) -> Callable[[int, int], None]:
        """For functions of the library that tell how far they are."""

        def told(done: int, of: int) -> None:
            self.stop_if_superseded()
            self._tell(done, of)

        self._doing = what
        self.say(progress=what)
        return told

    def _tell(self, done: int, of: int) -> None:
        """How far what is being done is; the engine calls it from a thread of its own."""
        now = time.monotonic()
        if now - self._told > _OFTEN:
            self._told = now
            self.say(progress=self._doing, done=done, of=of)

    def same_as(self, command: str, *python: str) -> None:
        """What does the same without the page: command line, Python and policy file."""
        self.say(same={"command": command, "python": self.work.python(*python), "policy": self.work.text, "file": FILE})

    # --- finding out ----------------------------------------------------------------------------------------------
    def once(self, kind: str, make: Callable[[], Found], *about: Any) -> Found:
        """What was found before of the same table, else found now; however often a slider moves, no other kind is lost for it."""
        kept = self._kept.setdefault((*self._opened, kind), OrderedDict())
        if about in kept:
            kept.move_to_end(about)
        else:
            kept[about] = make()
            if len(kept) > _KEPT:
                kept.popitem(last=False)
        found: Found = kept[about]
        return found

    def by_policy(self, kind: str, make: Callable[[], Found], *without: str, about: Any = None) -> Found:
        """What depends on the policy, but for these parts of it."""
        depends = {key: value for key, value in self.work.document.items() if key not in without}
        return self.once(kind, make, self.work.base, json.dumps(depends, sort_keys=True), about)

    @property
    def _opened(self) -> tuple[str, str]:
        """The table that lies here, and how it was read."""
        return self.work.source, json.dumps(self.work.reading, sort_keys=True)

    @property
    def is_open(self) -> bool:
        """Whether a table lies here."""
        return bool(self.work.source)

    @property
    def table(self) -> Any:
        """The table, opened once."""

        def opened() -> tuple[Any, Any]:
            self.progress(f"reading {self.work.name}")
            found = dv.read(self.work.source, **self.work.reading, engine=dv.DuckDBEngine(progress=self._tell))
            if _size(self.work.source) > _LARGEST_HELD:
                return found, None
            # A text file would be read anew for each question; held, a slider answers seven times as fast on a million rows.
            held = found.engine.hold(f"SELECT * FROM {found.relation}")
            return replace(found, relation=held.relation), held

        return self.once("table", opened)[0]

    @property
    def rows(self) -> int:
        """How many there are."""
        counted = lambda: self.table.engine.query(f"SELECT count(*) AS n FROM {self.table.relation}")  # noqa: E731
        return int(self.once("rows", counted).column("n")[0].as_py())

    # --- answering ------------------------------------------------------------------------------------------------
    def serve(self, names: Sequence[str], place_named: Callable[[str], Any]) -> None:
        """Answer until the server is gone; places are loaded when they are needed, or while nobody waits."""
        ahead = list(names)
        while True:
            while ahead and self._answering and self._inbox.empty():
                place_named(ahead.pop(0))
            *older, newest = self._next(place_named)
            for request in older:
                self._answer(place_named, request, shown=False)
            self._answer(place_named, newest, shown=True)

    def _answer(self, place_named: Callable[[str], Any], request: dict[str, Any], *, shown: bool) -> None:
        self._answering = request["to"]
        if self._guarded(lambda: self._change(place_named, request)) and shown:
            # What stands on the page is of the work before: where the new one cannot be shown, it goes.
            self._guarded(lambda: place_named(request["place"]).show(self, self._is_partial(request)), outdated=True)
        if self._news:
            self.say(**self._news)
            self._news = {}
        self.say(end=True)

    def _next(self, place_named: Callable[[str], Any]) -> Sequence[dict[str, Any]]:
        """What is asked; where the desk was, and what the command line asked for, are no questions of a page."""
        waiting: list[dict[str, Any]] = []
        while not waiting or not self._inbox.empty():
            message = self._inbox.get()
            if "to" in message:
                waiting.append(message)
            elif "first" in message:
                self._begin(place_named, message["first"])
            elif "back" in message:
                self._come_back(message["back"])
            else:
                self.work, self.folder = (
                    Work.from_dict(message["work"]) if message["work"] else Work(),
                    message["folder"],
                )
        return waiting

    def _begin(self, place_named: Callable[[str], Any], first: list[Any]) -> None:
        """What the command line asked for, before a page asks for anything: a browser takes its time to start."""
        self._first = first
        with contextlib.suppress(
            DivulgeError, OSError, Superseded
        ):  # the page does it again, and is told what is wrong
            self._change(place_named, {"place": "table"})
            return
        self._first = first

    def _come_back(self, told: dict[str, Any]) -> None:
        """To a page of a studio that was stopped: it says itself what it was, and what of that is gone is told."""
        again, self._first = "The studio was started again", []
        try:
            self.work = Work.from_dict(told)
        except (DivulgeError, TypeError, ValueError, AttributeError):  # whatever somebody sends
            self.work, self._news = Work(), {"error": f"{again}, and what this page was cannot be read", "hint": ""}
            return
        self._news = {"error": again, "hint": "this page is as it was"}
        if is_missing(self.work.source):
            self._news["hint"] = f"open {self.work.name} again, which is not there any more; the policy is still here"
            self.work = replace(self.work, source="", name="", reading={})

    def _is_partial(self, request: Mapping[str, Any]) -> bool:
        return bool(request.get("changes")) and not self.afresh

    def _change(self, place_named: Callable[[str], Any], request: dict[str, Any]) -> None:
        """What the page wants changed; all of it or nothing."""
        place, before, self.afresh = place_named(request["place"]), self.work, False
        first, self._first = self._first, []
        if first:  # what the command line asked for, as if somebody did it on the page
            self._change(place_named, {"place": "table", "changes": first})
            before = self.work
        try:
            for name, of, value in request.get("changes", ()):
                self.work = place.edit(name)(self, of, value) or self.work
        except BaseException:
            self.work = before
            raise
        if self.work != before or not request.get("changes"):
            self._kept = {key: found for key, found in self._kept.items() if key[:2] == self._opened}
            self.say(work=self.work.to_dict())

    def _guarded(self, act: Callable[[], None], *, outdated: bool = False) -> bool:
        """Whether it went well; errors are told in the sentence of the library, never as a stack."""
        try:
            with html.stills(wanted=False):
                act()
        except Superseded:
            return False
        except DivulgeError as error:
            told = in_words(error.message), in_words(error.hint)
        except OSError as error:
            told = f"{error.filename or 'the file'}: {os.strerror(error.errno) if error.errno else error}", ""
        except Exception:  # noqa: BLE001 - the outermost edge
            traceback.print_exc()
            told = (
                "this is a bug in divulge, not in your data",
                "please report it with the lines that the terminal shows",
            )
        else:
            return True
        dropped = re.compile(
            rf"{re.escape(self.folder)}/[^/\s]+/"
        )  # of what was dropped onto the page, the name is told
        message, hint = (dropped.sub("", text) for text in told)
        self.say(error=message, hint=hint, outdated=outdated)
        return False


def _size(source: str) -> int:
    """Bytes on the disk; 0 of what is elsewhere."""
    path = Path(source)
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def in_words(text: str) -> str:
    """An error speaks of arguments and metrics in the words of Python; on a page they are controls.

    >>> in_words("name it with quasi_identifiers=.")
    'name it with quasi-identifiers.'
    >>> in_words("no generalization keeps k_anonymity >= 5; replace the release with force=True")
    'no generalization keeps k-anonymity >= 5; replace the release with the tick at the side'
    """
    for argument, control in _AS_CONTROLS.items():
        text = text.replace(argument, control)
    text = _METRIC.sub(lambda found: words.metric_words(found[1]), text)
    return _ARGUMENT.sub(lambda found: found[1].replace("_", "-"), text)
