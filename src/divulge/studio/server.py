# SPDX-License-Identifier: Apache-2.0
"""The web server of the studio: routes on 127.0.0.1 between pages and their worker processes.

It runs until Ctrl-C, or until no page has been open for a while.

The address of a page, /w/ID/PLACE, identifies it. The server keeps the session state that the
worker last reported. A page that returns after a lost connection, or after its worker was cancelled
or crashed, is therefore as it was.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import re
import secrets
import shutil
import signal
import socket
import tempfile
import threading
import time
import webbrowser
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path, PurePath
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from divulge import signals
from divulge.errors import BadInput
from divulge.studio.auth import AuthMiddleware
from divulge.studio.tabs import TABS
from divulge.studio.worker_process import Change, WorkerProcess

LARGEST_UPLOAD = 200 * 1024 * 1024
_LARGEST_REQUEST = 1024 * 1024
_DEEPEST_REQUEST = 32
"""Levels of nesting; the requests of a page have fewer than ten."""
_DRAWING_LOCK = threading.Lock()
_SCRIPTS = ("page.js", "studio.js")
_STYLES = ("parts.css", "page.css", "studio.css")
_REPORTS = ("report.html", "public-report.html")
_REPORT_POLICY = (
    "sandbox allow-scripts allow-popups; default-src 'none'; script-src 'unsafe-inline'; style-src "
    "'unsafe-inline'; img-src data:"
)
"""Content security policy of reports.

It applies in addition to the report's own policy, which lists its scripts by their hashes.
"""
_LONGEST_NAME = 60
_PAGE_NAME = re.compile(r"[\w-]{12}", re.ASCII)
"""Pattern of a page's random name."""
_HEARTBEAT = 15.0
_SPARE_DELAY = 5.0
_CLOSED_DELAY = 60.0
"""Seconds until a spare worker is started, and until the worker of a closed page is ended."""


@dataclass
class PageSession:
    """The server's record of one page, open or closed."""

    process: WorkerProcess
    connections: Counter[str] = field(default_factory=Counter)
    """Number of open connections by browser tab."""
    tab: str = ""
    """The browser tab that owns the page."""
    last_open: float = field(default_factory=time.monotonic)
    """Time at which the page was last open."""


class Studio:
    """All pages, and the private folder with the uploaded files."""

    def __init__(
        self, spare: WorkerProcess, folder: str, initial_changes: Sequence[Change] = ()
    ) -> None:
        self.stopping = threading.Event()
        self._folder, self._initial_changes = folder, initial_changes
        self._lock = threading.Lock()
        self._sessions: dict[str, PageSession] = {}
        self._last_open = time.monotonic()
        self._spare = spare
        self._after_first_answer: BackgroundTask | None = BackgroundTask(self._load_drawing_script)

    def _load_drawing_script(self) -> None:
        """Load the drawing script after the first answer, which needs no chart."""
        self._after_first_answer = None
        threading.Thread(target=drawing_script, daemon=True).start()  # Ctrl-C does not wait for it

    def new_page(self, name: str = "", start: Callable[[WorkerProcess], None] | None = None) -> str:
        """Create a page on the spare worker and return its name.

        `start` starts the worker of a further page. The worker of the first page has already
        started.
        """
        with self._lock:  # pages that return at the same time get a worker each
            worker, self._spare = self._spare, WorkerProcess(self._folder)
            name, is_first = name or secrets.token_urlsafe(9), not self._sessions
            if start is not None:
                start(worker)
            elif not is_first:
                worker.start_with(self._initial_changes)
            self._sessions[name], self._last_open = PageSession(worker), time.monotonic()
        return name

    def find_session(self, request: Request) -> PageSession | None:
        """Return the page that the address names."""
        return self._sessions.get(request.path_params["work"])

    @contextlib.contextmanager
    def count_open(self, session: PageSession, tab: str) -> Iterator[None]:
        """Count the page as open inside the `with` block."""
        session.connections[tab] += 1
        try:
            yield
        finally:
            session.connections[tab] -= 1
            session.last_open = self._last_open = time.monotonic()

    def split_off(self, session: PageSession, tab: str) -> str:
        """Return the name of a new page if another open browser tab owns this address; else "".

        The new page starts with a copy of the session state.
        """
        if session.tab not in ("", tab) and session.connections[session.tab] > 0:
            return self.new_page(start=lambda process: process.continue_from(session.process.state))
        session.tab = tab
        return ""

    def idle_seconds(self) -> float:
        """Return the seconds since the last page was closed; 0 while one is open."""
        if any(page.connections.total() for page in self._sessions.values()):
            return 0.0
        return time.monotonic() - self._last_open

    def manage_workers(self) -> None:
        """Start a spare worker for the next page, and end the workers of pages closed for long.

        An ended worker is started again when its page returns.
        """
        now = time.monotonic()
        if now - self._last_open > _SPARE_DELAY:
            self._spare.start()
        for session in list(self._sessions.values()):
            if not session.connections.total() and now - session.last_open > _CLOSED_DELAY:
                session.process.close()

    def close(self) -> None:
        """End every worker."""
        self.stopping.set()
        for worker in (self._spare, *(page.process for page in self._sessions.values())):
            worker.close()

    # --- routes -----------------------------------------------------------------------------------
    def routes(self) -> list[Route]:
        """Return the routes of pages, requests, uploads, heartbeats, reports and static files."""
        return [
            Route("/", self.redirect_to_new_page),
            Route("/w/{work}", self.redirect_to_tab),
            Route("/w/{work}/ask", self.answer_request, methods=["POST"]),
            Route("/w/{work}/cancel", self.cancel_request, methods=["POST"]),
            Route("/w/{work}/back", self.restore_page, methods=["POST"]),
            Route("/w/{work}/file", self.upload, methods=["POST"]),
            Route("/w/{work}/alive", self.heartbeat),
            Route("/w/{work}/paper/{name}", self.report),
            Route("/w/{work}/{place}", self.frame),
            Route("/static/{name}", self.static_file),
        ]

    async def redirect_to_new_page(self, request: Request) -> Response:
        """Redirect to a new page."""
        del request
        return RedirectResponse(f"/w/{self.new_page()}/{TABS[0]}", status_code=303)

    async def redirect_to_tab(self, request: Request) -> Response:
        """Redirect the address of a page without a tab to its first tab."""
        return RedirectResponse(f"/w/{request.path_params['work']}/{TABS[0]}", status_code=303)

    async def frame(self, request: Request) -> Response:
        """Return the frame of the page; its parts come from the worker."""
        if request.path_params["place"] not in TABS:
            return _error_response(404, "there is no such place")
        # the page belongs to a stopped studio, and its browser tab has lost its state
        if self.find_session(request) is None:
            return RedirectResponse(f"/w/{self.new_page()}/{TABS[0]}#again", status_code=303)
        return Response(_asset("page.html"), media_type="text/html")

    async def static_file(self, request: Request) -> Response:
        """Return a script or a style sheet; none comes from elsewhere."""
        name = request.path_params["name"]
        if name == "vega.js":
            return Response(await run_in_threadpool(drawing_script), media_type="text/javascript")
        if name in (*_SCRIPTS, *_STYLES):
            return Response(
                _asset(name), media_type="text/css" if name.endswith(".css") else "text/javascript"
            )
        return _error_response(404, "there is no such file")

    async def answer_request(self, request: Request) -> Response:
        """Pass a request of the page to its worker, and stream the answer as lines of JSON."""
        session = self.find_session(request)
        if session is None:
            return _error_response(404, "this page is not known here any more")
        try:
            document = _parse_json(await _read_body(request, _LARGEST_REQUEST))
            page_request = {
                "place": str(document["place"]),
                "changes": [_parse_change(change) for change in document.get("changes", ())],
            }
            tab = str(document.get("tab", ""))
        except (BadInput, ValueError, KeyError, TypeError, AttributeError):
            return _error_response(400, "this is not a request of the page")
        if page_request["place"] not in TABS:
            return _error_response(404, "there is no such place")
        if page := await run_in_threadpool(self.split_off, session, tab):
            return JSONResponse({"page": page}, status_code=409)
        return StreamingResponse(
            _json_lines(session.process.answers(page_request)),
            media_type="application/x-ndjson",
            background=self._after_first_answer,
        )

    async def restore_page(self, request: Request) -> Response:
        """Restore a page of a stopped studio from the session state that it sends."""
        name = request.path_params["work"]
        try:
            state = _parse_json(await _read_body(request, _LARGEST_REQUEST))
        except (BadInput, ValueError):
            state = None
        if not isinstance(state, dict) or not _PAGE_NAME.fullmatch(name):
            return _error_response(400, "this is no page that could come back")
        if self.find_session(request) is None:
            await run_in_threadpool(self.new_page, name, lambda process: process.restore(state))
        return JSONResponse({"back": True})

    async def cancel_request(self, request: Request) -> Response:
        """Cancel the running request of the worker."""
        session = self.find_session(request)
        if session is None:
            return _error_response(404, "this page is not known here any more")
        await run_in_threadpool(session.process.cancel)
        await run_in_threadpool(session.process.start)
        return JSONResponse({"cancelled": True})

    async def upload(self, request: Request) -> Response:
        """Store an uploaded file in the private folder."""
        session = self.find_session(request)
        name = PurePath(request.query_params.get("name", "").replace("\\", "/")).name
        if session is None or name in ("", ".", ".."):
            return _error_response(
                404,
                "this page is not known here any more"
                if session is None
                else "the file has no name",
            )
        too_large = _error_response(
            413, "the file is larger than 200 MB", "open it by its path instead"
        )
        if int(request.headers.get("content-length", 0)) > LARGEST_UPLOAD:
            return too_large
        path = Path(tempfile.mkdtemp(dir=self._folder)) / _safe_file_name(name)
        try:
            is_complete = await _store_upload(request, path)
        except (OSError, ClientDisconnect):
            shutil.rmtree(path.parent, ignore_errors=True)
            return _error_response(400, "the file could not be kept")
        if not is_complete:
            shutil.rmtree(path.parent, ignore_errors=True)
            return too_large
        return JSONResponse({"path": str(path), "name": name})

    async def report(self, request: Request) -> Response:
        """Return a report that was published with the release.

        Its policy allows only its own scripts, and the sandbox gives it no origin.
        """
        session = self.find_session(request)
        name = request.path_params["name"]
        if session is None or not session.process.reports_folder or name not in _REPORTS:
            return _error_response(404, "there is no such report")
        path = Path(session.process.reports_folder) / name
        text = await run_in_threadpool(
            lambda: path.read_text(encoding="utf-8") if path.is_file() else None
        )
        if text is None:
            return _error_response(404, "the report is not there any more")
        return Response(
            text, media_type="text/html", headers={"Content-Security-Policy": _REPORT_POLICY}
        )

    async def heartbeat(self, request: Request) -> Response:
        """Keep a stream of heartbeats open while the page is open.

        The server thereby detects closed pages, and the page detects a stopped server.
        """
        session = self.find_session(request)
        if session is None:
            return Response(status_code=204)  # the page's script then does not try again

        async def heartbeats() -> AsyncIterator[bytes]:
            with self.count_open(session, request.query_params.get("tab", "")):
                while not self.stopping.is_set():
                    yield b"data: here\n\n"
                    for _ in range(int(_HEARTBEAT * 4)):
                        await asyncio.sleep(0.25)
                        if self.stopping.is_set():
                            return

        return StreamingResponse(heartbeats(), media_type="text/event-stream")


def _parse_json(body: bytes) -> Any:
    """Parse the JSON of a request.

    Raises:
        ValueError: It is nested too deeply, or holds NaN, a number or a text out of range.
    """
    try:
        document = json.loads(body, parse_constant=_reject_constant)
    except RecursionError:
        raise ValueError("the request is nested too deeply") from None
    level = [document]
    for _ in range(_DEEPEST_REQUEST):
        if not level:
            return document
        for node in level:
            _reject_leaf(node)
        level = [child for node in level for child in _children(node)]
    raise ValueError("the request is nested too deeply")


def _reject_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _reject_leaf(node: Any) -> None:
    """Raise ValueError for a text that is not Unicode or holds NUL, or a number beyond 64 bits."""
    if isinstance(node, str):
        node.encode()  # a lone surrogate raises UnicodeEncodeError, a ValueError
        if "\0" in node:
            raise ValueError("a text of the request holds NUL")
    if isinstance(node, float) and not math.isfinite(node):
        raise ValueError("a number of the request is too large")
    if isinstance(node, int) and abs(node) >= 2**63:
        raise ValueError("a number of the request is too large")


def _children(node: Any) -> Iterable[Any]:
    """Return the parts of a JSON value, keys included."""
    if isinstance(node, dict):
        return (*node, *node.values())
    if isinstance(node, list):
        return node
    return ()


def _parse_change(change: Any) -> tuple[str, str, Any]:
    if not isinstance(change, list):
        raise TypeError("a change is a list")
    name, subject, value = change
    if not isinstance(name, str) or not isinstance(subject, str):
        raise TypeError("a change names its control and its subject by texts")
    return name, subject, value


def _safe_file_name(name: str) -> str:
    """Return a file name that every file system accepts, as close to the original as possible."""
    path = PurePath(re.sub(r"[^\w .()+-]", "_", name, flags=re.ASCII))
    return f"{path.stem[:_LONGEST_NAME].strip(' .') or 'table'}{path.suffix[:_LONGEST_NAME]}"


def _json_lines(messages: Iterator[Mapping[str, Any]]) -> Iterator[bytes]:
    return ((json.dumps(message) + "\n").encode() for message in messages)


def _error_response(status: int, message: str, hint: str = "") -> Response:
    return JSONResponse({"error": message, "hint": hint}, status_code=status)


async def _read_body(request: Request, limit: int) -> bytes:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            raise BadInput("the request is too large")
    return body


async def _store_upload(request: Request, path: Path) -> bool:
    """Write the body of the request to a file; return False if it is too large."""
    size = 0
    with path.open("wb") as file:
        async for chunk in request.stream():
            size += len(chunk)
            if size > LARGEST_UPLOAD:
                return False
            file.write(chunk)
    return True


def drawing_script() -> str:
    """Return Vega, which draws the charts of the page.

    Building it takes seconds, once, while the user reads the first page.
    """
    with _DRAWING_LOCK:
        from divulge import charts

        return charts.drawing_script()


@cache
def _asset(name: str) -> str:
    if name in ("parts.css", "page.css", "page.js"):
        home = "divulge.output"
    else:
        home = "divulge.studio"
    return (resources.files(home) / name).read_text(encoding="utf-8")


# --- serving --------------------------------------------------------------------------------------
def listening_socket(port: int) -> socket.socket:
    """Return a listening socket on 127.0.0.1; port 0: any free port."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
    except OSError as error:
        listener.close()
        raise BadInput(
            f"port {port} cannot be used: {error.strerror}",
            hint="leave --port out to take any that is free",
        ) from None
    listener.listen()  # at once, so that the printed address can already be opened
    return listener


class _Server(uvicorn.Server):
    """A uvicorn server that ends its open connections when it is stopped."""

    def __init__(self, config: uvicorn.Config, studio: Studio) -> None:
        super().__init__(config)
        self._studio = studio

    def handle_exit(self, sig: int, frame: Any) -> None:
        """Stop at the first Ctrl-C, gracefully and at once."""
        self._studio.stopping.set()
        super().handle_exit(sig, frame)


def serve(
    worker: WorkerProcess,
    folder: str,
    initial_changes: Sequence[Change],
    *,
    port: int,
    browser: bool,
    idle: float,
    print_address: Callable[[str], None],
) -> None:
    """Serve pages until Ctrl-C, or until no page was open for `idle` seconds.

    The first page uses the process `worker`.
    """
    listener = listening_socket(port)
    port_number = listener.getsockname()[1]
    studio = Studio(worker, folder, initial_changes)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        del app
        watch_task = asyncio.create_task(_watch(studio, server, idle))
        yield
        watch_task.cancel()

    application = AuthMiddleware(
        Starlette(routes=studio.routes(), lifespan=lifespan), port=port_number
    )
    config = uvicorn.Config(
        application,
        log_level="critical",
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=2,
    )
    server = _Server(config, studio)
    print_address(f"http://127.0.0.1:{port_number}/?token={application.new_token()}")
    if browser:
        threading.Timer(
            0.3,
            webbrowser.open,
            [f"http://127.0.0.1:{port_number}/?token={application.new_token()}"],
        ).start()
    try:
        with _ended_by_interrupt():
            server.run(sockets=[listener])
    finally:
        studio.close()
        listener.close()


@contextlib.contextmanager
def _ended_by_interrupt() -> Iterator[None]:
    """Treat Ctrl-C as the normal end of serving, not as an interruption."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        signals.finish(0)  # closing the workers may outlast the patience with the main thread
    finally:
        signal.signal(signal.SIGINT, before)


async def _watch(studio: Studio, server: uvicorn.Server, idle: float) -> None:
    """Keep a spare worker ready, and stop the server after `idle` seconds without a page."""
    while studio.idle_seconds() < idle:
        await asyncio.sleep(min(1.0, idle / 4))
        await run_in_threadpool(studio.manage_workers)
    studio.stopping.set()
    server.should_exit = True
