# SPDX-License-Identifier: Apache-2.0
"""The worker: the process that serves one page.

It holds the session state, calls the library, and sends the parts of the page as soon as they are
ready.

A request is abandoned as soon as the page has sent a newer one: while a slider is dragged, only the
last answer matters.
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
from divulge.arguments import Argument, FrontEnd, python_spelling, spelled, worded_by
from divulge.errors import DivulgeError
from divulge.marks import without_values
from divulge.output import formatting, html
from divulge.studio import is_missing, redaction
from divulge.studio.session_state import FILE, SessionState
from divulge.studio.worker_process import identity_of

ResultT = TypeVar("ResultT")
_CACHE_SIZE = 16
"""Number of cached results of each kind, so that returning to a tab or a bound takes no time."""
_LARGEST_IN_MEMORY = 4 * 1024**3
"""Largest size in bytes of files that are loaded into memory; larger ones are read from disk."""
_PROGRESS_INTERVAL = 0.15
"""Seconds between two reports of progress."""
_METRIC = re.compile(
    rf"\b({'|'.join(sorted((metric.name for metric in metrics.METRICS), key=len, reverse=True))})\b"
)


class Superseded(Exception):
    """The page has asked for something newer."""


class Worker:
    """The session state of a page, and the cached results about it."""

    def __init__(self, request_queue: queue.Queue[dict[str, Any]], output: IO[str]) -> None:
        self.state = SessionState()
        self.folder = ""
        """Private folder for uploaded and generated files."""
        self.redraw_controls = False
        """True if the last change also affects the controls."""
        self.requested: set[str] = set()
        """Long computations that the user has started, by their name and the policy."""
        self._request_queue = request_queue
        self._output = output
        self._initial_changes: list[Any] = []
        self._notice: dict[str, str] = {}
        """Error and hint that are sent with the next answer."""
        self._outcomes: dict[tuple[str, str], str] = {}
        """Parts that say what was published, by tab and element, until an answer contains them."""
        self._lock = threading.Lock()
        self._request_number = 0
        self._cache: dict[tuple[str, str, str], OrderedDict[Any, Any]] = {}
        self._step = ""
        self._last_report = 0.0

    # --- messages to the page ---------------------------------------------------------------------
    def send(self, **message: Any) -> None:
        """Send a message to the page that made the request."""
        with self._lock:
            self._output.write(json.dumps({**message, "to": self._request_number}) + "\n")
            self._output.flush()

    def put_part(self, element_id: str, *parts: Any) -> None:
        """Fill a part of the page.

        Raises:
            Superseded: The page has sent a newer request.
        """
        self.stop_if_superseded()
        self.send(put=element_id, html=self._html_of(parts))

    def _html_of(self, parts: Sequence[Any]) -> str:
        text = str(html.joined(parts))
        if self.state.hidden:
            return redaction.hide_phrases(
                text, [protection.who for protection in self.state.policy.protections]
            )
        return text

    def clear_outcome(self, tab: str, element_id: str) -> None:
        """Empty a part that says what was published earlier."""
        self._outcomes.pop((tab, element_id), None)
        self.send(put=element_id, html="")

    def put_outcome(self, tab: str, element_id: str, *parts: Any) -> None:
        """Fill a part that says what was published.

        It is sent with the next answer for this tab. What is on the disk is therefore reported even
        if the page has sent a newer request meanwhile.
        """
        self._outcomes[tab, element_id] = self._html_of(parts)

    def _send_outcomes(self, tab: str) -> None:
        for key in [key for key in self._outcomes if key[0] == tab]:
            self.send(put=key[1], html=self._outcomes.pop(key))

    def stop_if_superseded(self) -> None:
        """Raise `Superseded` if the page has sent a newer request."""
        if not self._request_queue.empty():
            raise Superseded

    def begin_step(self, step: str) -> Callable[[int, int], None]:
        """Return a callback that functions of the library call with their progress."""

        def report(done: int, total: int) -> None:
            self.stop_if_superseded()
            self._report_progress(done, total)

        self._step = step
        self.send(progress=step)
        return report

    def _report_progress(self, done: int, total: int) -> None:
        """Send the progress of the current step; the engine calls this from a thread of its own."""
        now = time.monotonic()
        if now - self._last_report > _PROGRESS_INTERVAL:
            self._last_report = now
            self.send(progress=self._step, done=done, of=total)

    def announce_release(self, folder: Path) -> None:
        """Announce the folder of a release before it is written.

        If the page cancels, the server can then report whether the release was published.
        """
        path = folder.absolute()
        self.send(writing=str(path), before=identity_of(path))

    def send_equivalents(self, command: str, *python: str) -> None:
        """Send the equivalent command line, Python code and policy file; redacted if hidden."""
        program = "\n".join(("import divulge as dv", "", *python))
        text = self.state.text
        policy_text = text
        if self.state.hidden:
            command = redaction.redact_command(command, self._known_names)
            program = redaction.redact_python(program, self._known_names)
            policy_text = redaction.redact_policy(self.state.document, self._known_names)
        self.send(
            same={
                "command": command,
                "python": program,
                "policy": policy_text,
                "saved": text,
                "file": FILE,
            }
        )

    # --- cached results ---------------------------------------------------------------------------
    def cached(self, kind: str, compute: Callable[[], ResultT], *arguments: Any) -> ResultT:
        """Return the cached result for these arguments and the open table, computing it if needed.

        Each kind of result has its own cache, so that moving a slider evicts no other kind.
        """
        results = self._cache.setdefault((*self._table_key, kind), OrderedDict())
        if arguments in results:
            results.move_to_end(arguments)
        else:
            results[arguments] = compute()
            if len(results) > _CACHE_SIZE:
                results.popitem(last=False)
        result: ResultT = results[arguments]
        return result

    def cached_by_policy(
        self, kind: str, compute: Callable[[], ResultT], *without: str, about: Any = None
    ) -> ResultT:
        """Return the cached result for this policy, ignoring its parts `without`."""
        relevant_parts = {
            key: value for key, value in self.state.document.items() if key not in without
        }
        return self.cached(
            kind, compute, self.state.base, json.dumps(relevant_parts, sort_keys=True), about
        )

    @property
    def _table_key(self) -> tuple[str, str]:
        """Source of the open table, and the options that it was read with."""
        return self.state.source, json.dumps(self.state.reading, sort_keys=True)

    @property
    def has_table(self) -> bool:
        """True if a table is open."""
        return bool(self.state.source)

    @property
    def table(self) -> Any:
        """The open table, read once."""

        def read_table() -> tuple[Any, Any]:
            self.begin_step(f"reading {self.state.name}")
            table = dv.read(
                self.state.source,
                **self.state.reading,
                engine=dv.DuckDBEngine(progress=self._report_progress),
            )
            if _disk_size(self.state.source) > _LARGEST_IN_MEMORY:
                return table, None
            # A text file would be read again for each query. From memory, a slider answers seven
            # times as fast on a million rows.
            stored = table.engine.hold(f"SELECT * FROM {table.relation}")
            return replace(table, relation=stored.relation), stored

        return self.cached("table", read_table)[0]

    def reworded(self, text: str) -> str:
        """Word a message of the library for the page, without data values if they are hidden."""
        if not self.state.hidden:
            return reword_message(text)
        with without_values(self._known_names | redaction.harmless_options()):
            return reword_message(text)

    @property
    def _known_names(self) -> set[str]:
        """Names of files and columns, which are shown even if values are hidden."""
        names = {
            self.state.source,
            self.state.name,
            self.state.target,
            FILE,
            *self.state.named_columns,
        }
        try:
            return names | set(self.table.names) if self.has_table else names
        except (DivulgeError, OSError):
            return names

    @property
    def row_count(self) -> int:
        """Number of rows of the table."""
        count_rows = lambda: self.table.engine.query(  # noqa: E731
            f"SELECT count(*) AS n FROM {self.table.relation}"
        )
        return int(self.cached("rows", count_rows).column("n")[0].as_py())

    # --- requests ---------------------------------------------------------------------------------
    def serve(self, names: Sequence[str], load_tab: Callable[[str], Any]) -> None:
        """Answer requests until the server is gone.

        Tabs are loaded when they are needed, or while no request waits.
        """
        unloaded = list(names)
        while True:
            while unloaded and self._request_number and self._request_queue.empty():
                load_tab(unloaded.pop(0))
            *superseded, latest = self._next_requests(load_tab)
            for request in superseded:
                self._answer_request(load_tab, request, renders=False)
            self._answer_request(load_tab, latest, renders=True)

    def _answer_request(
        self, load_tab: Callable[[str], Any], request: dict[str, Any], *, renders: bool
    ) -> None:
        self._request_number = request["to"]
        if self._run_guarded(lambda: self._apply_changes(load_tab, request)) and renders:
            # The page still shows the previous state. If the new one cannot be shown, the old parts
            # are removed.
            is_complete = self._run_guarded(
                lambda: load_tab(request["place"]).show(self, self._is_partial(request)),
                outdated=True,
            )
            if is_complete and self._request_queue.empty():  # a newer answer would replace this one
                self._send_outcomes(request["place"])
        if self._notice:
            self.send(**self._notice)
            self._notice = {}
        self.send(end=True)

    def _next_requests(self, load_tab: Callable[[str], Any]) -> Sequence[dict[str, Any]]:
        """Return the waiting requests of the page, the newest last; block until there is one.

        Messages that restore a session state or hold the changes of the command line are handled
        here.
        """
        requests: list[dict[str, Any]] = []
        while not requests or not self._request_queue.empty():
            message = self._request_queue.get()
            if "to" in message:
                requests.append(message)
            elif "first" in message:
                self._make_initial_changes(load_tab, message["first"])
            elif "back" in message:
                self._restore_page(message["back"])
            else:
                self.folder = message["folder"]
                self._restore(message["work"])
        return requests

    def _restore(self, description: dict[str, Any]) -> None:
        """Continue with the session state that the server stored, or with an empty page.

        The page is empty, and shows an error, if the state cannot be read.
        """
        try:
            if description:
                self.state = SessionState.from_dict(description)
            else:
                self.state = SessionState()
        except Exception:  # noqa: BLE001 - it may come from a page's request to /back
            self.state = SessionState()
            self._notice = {
                "error": "what this page was cannot be read",
                "hint": "open the table again",
            }

    def _make_initial_changes(self, load_tab: Callable[[str], Any], first: list[Any]) -> None:
        """Make the changes of the command line before the first request.

        A browser takes time to start; the table is read meanwhile.
        """
        self._initial_changes = first
        with contextlib.suppress(
            DivulgeError, OSError, Superseded
        ):  # the first request repeats it, and then the page shows the error
            self._apply_changes(load_tab, {"place": "table"})
            return
        self._initial_changes = first

    def _restore_page(self, state: dict[str, Any]) -> None:
        """Restore a page of a stopped studio from the state that the page sent.

        The page shows a message, which names the table if its file is gone.
        """
        restarted, self._initial_changes = "The studio was started again", []
        try:
            self.state = SessionState.from_dict(state)
            missing = is_missing(self.state.source)
        except Exception:  # noqa: BLE001 - the description comes from outside, and the worker must survive all of it
            self.state, self._notice = (
                SessionState(),
                {"error": f"{restarted}, and what this page was cannot be read", "hint": ""},
            )
            return
        self._notice = {"error": restarted, "hint": "this page is as it was"}
        if missing:
            self._notice["hint"] = (
                f"open {self.state.name} again, which is not there any more; the policy is still "
                "here"
            )
            self.state = replace(self.state, source="", name="", reading={})

    def _is_partial(self, request: Mapping[str, Any]) -> bool:
        return bool(request.get("changes")) and not self.redraw_controls

    def _apply_changes(self, load_tab: Callable[[str], Any], request: dict[str, Any]) -> None:
        """Make the changes of a request: all of them or none."""
        tab, before, self.redraw_controls = load_tab(request["place"]), self.state, False
        first, self._initial_changes = self._initial_changes, []
        if first:  # changes of the command line, made as if by the page
            self._apply_changes(load_tab, {"place": "table", "changes": first})
            before = self.state
        try:
            for name, subject, value in request.get("changes", ()):
                self.state = tab.edit(name)(self, subject, value) or self.state
        except BaseException:
            self.state = before
            raise
        if self.state != before or not request.get("changes"):
            self._cache = {
                key: results for key, results in self._cache.items() if key[:2] == self._table_key
            }
            self.send(work=self.state.to_dict())

    def _run_guarded(self, action: Callable[[], None], *, outdated: bool = False) -> bool:
        """Run `action`; return True if it succeeded, and report its errors without a traceback."""
        try:
            with html.stills(enabled=False), worded_by(PAGE):
                action()
        except Superseded:
            return False
        except DivulgeError as error:
            error_text = self.reworded(error.message), self.reworded(error.hint)
        except OSError as error:
            error_text = (
                (
                    f"{error.filename or 'the file'}: "
                    f"{os.strerror(error.errno) if error.errno else error}"
                ),
                "",
            )
        except Exception:  # noqa: BLE001 - the outermost edge
            traceback.print_exc()
            error_text = (
                "this is a bug in divulge, not in your data",
                "please report it with the lines that the terminal shows",
            )
        else:
            return True
        upload_folder = re.compile(
            rf"{re.escape(self.folder)}/[^/\s]+/"
        )  # of an uploaded file, only the name is shown
        message, hint = (upload_folder.sub("", text) for text in error_text)
        self.send(error=message, hint=hint, outdated=outdated)
        return False


def _disk_size(source: str) -> int:
    """Size in bytes of a file or folder; 0 if it is not on this disk."""
    path = Path(source)
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def spell_control(argument: Argument) -> str:
    """Spell an argument as the control of the page that sets it."""
    if argument.name == "force":
        return "the tick at the side"
    if argument.name == "person" and argument.form == "value":
        return f"the role 'whose row it is' to {argument.code} on the tab Table"
    if argument.form in ("assigned", "name"):
        return argument.name.replace("_", "-")
    return python_spelling(argument)


def name_metrics_in_words(text: str) -> str:
    """Write the metrics of a text in words."""
    return _METRIC.sub(lambda match: formatting.metric_words(match[1]), text)


PAGE = FrontEnd(spell_control, name_metrics_in_words)
"""Wording of messages on a page."""


def reword_message(text: str) -> str:
    """Word a message of the library for the page: arguments become controls, metrics words.

    >>> from divulge.arguments import arg
    >>> reword_message(f"name it with {arg('quasi_identifiers')}.")
    'name it with quasi-identifiers.'
    >>> replace_it = f"replace it with {arg('force', value=True)}"
    >>> reword_message(f"no generalization keeps k_anonymity >= 5; {replace_it}")
    'no generalization keeps k-anonymity >= 5; replace it with the tick at the side'
    >>> reword_message(f"does it name people? Then give {arg('person', 'patient_id')}")
    "does it name people? Then give the role 'whose row it is' to 'patient_id' on the tab Table"
    """
    with worded_by(PAGE):
        return spelled(text)
