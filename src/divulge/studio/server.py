# SPDX-License-Identifier: Apache-2.0
"""The server: four routes on 127.0.0.1 between pages and the desks beside them, until Ctrl-C or until no page is open any more.

A page is known by its address, /w/ID/PLACE. What was decided in it is kept here as the desk last told it, so that a page that comes back
after a lost connection, a cancelled or a crashed desk, is as it was.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import secrets
import shutil
import socket
import tempfile
import threading
import time
import webbrowser
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
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

from divulge.errors import BadInput
from divulge.studio.beside import Beside, Change
from divulge.studio.door import Door
from divulge.studio.places import PLACES

LARGEST_UPLOAD = 200 * 1024 * 1024
_LARGEST_REQUEST = 1024 * 1024
_DRAWING = threading.Lock()
_SCRIPTS, _STYLES = ("page.js", "studio.js"), ("parts.css", "page.css", "studio.css")
_REPORTS = ("report.html", "public-report.html")
_OF_REPORTS = "sandbox allow-scripts allow-popups; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"
"""Beside the page's own policy, which names its scripts by their hashes."""
_LONGEST_NAME = 60
_NAME = re.compile(r"[\w-]{12}", re.ASCII)
"""Of a page, as it is drawn."""
_HEARTBEAT = 15.0
_SOON, _LEFT = 5.0, 60.0
"""Seconds after which a desk stands ready for a further page, and after which one ends whose page was closed."""


@dataclass
class OpenPage:
    """A page, or the place where it was."""

    beside: Beside
    pages: Counter[str] = field(default_factory=Counter)
    """How many are open, by their tabs."""
    tab: str = ""
    """Whose it is."""
    left: float = field(default_factory=time.monotonic)
    """When it was looked at last."""


class Studio:
    """All pages, and the private folder with what was dropped onto them."""

    def __init__(self, spare: Beside, folder: str, first: Sequence[Change] = ()) -> None:
        self.stopping = threading.Event()
        self._folder, self._first = folder, first
        self._lock = threading.Lock()
        self._sessions: dict[str, OpenPage] = {}
        self._left = time.monotonic()
        self._spare = spare
        self._get_ready: BackgroundTask | None = BackgroundTask(self._prepare)

    def _prepare(self) -> None:
        """After the first answer, which needs no picture: what the next ones need."""
        self._get_ready = None
        threading.Thread(target=drawing_script, daemon=True).start()  # Ctrl-C does not wait for it

    def new(self, name: str = "", begin: Callable[[Beside], None] | None = None) -> str:
        """A page on the desk that stands ready, where something is to `begin`; the first one has begun with the table already."""
        with self._lock:  # pages that come back at once get a desk each
            beside, self._spare = self._spare, Beside(self._folder)
            name, is_first = name or secrets.token_urlsafe(9), not self._sessions
            if begin is not None:
                begin(beside)
            elif not is_first:
                beside.begin(self._first)
            self._sessions[name], self._left = OpenPage(beside), time.monotonic()
        return name

    def session(self, request: Request) -> OpenPage | None:
        """The one that an address names."""
        return self._sessions.get(request.path_params["work"])

    @contextlib.contextmanager
    def looking(self, session: OpenPage, tab: str) -> Iterator[None]:
        """While a page is open."""
        session.pages[tab] += 1
        try:
            yield
        finally:
            session.pages[tab] -= 1
            session.left = self._left = time.monotonic()

    def another(self, session: OpenPage, tab: str) -> str:
        """The page of a tab that came by the address of another tab's, which is still open; empty: the address is its own."""
        if session.tab not in ("", tab) and session.pages[session.tab] > 0:
            return self.new(begin=lambda beside: beside.take(session.beside.work))
        session.tab = tab
        return ""

    def idle(self) -> float:
        """Seconds without any page."""
        return 0.0 if any(each.pages.total() for each in self._sessions.values()) else time.monotonic() - self._left

    def tidy(self) -> None:
        """A desk stands ready for the next page; one whose page has long been closed ends until that page comes back."""
        now = time.monotonic()
        if now - self._left > _SOON:
            self._spare.start()
        for session in list(self._sessions.values()):
            if not session.pages.total() and now - session.left > _LEFT:
                session.beside.close()

    def close(self) -> None:
        """End every desk."""
        self.stopping.set()
        for beside in (self._spare, *(each.beside for each in self._sessions.values())):
            beside.close()

    # --- routes ---------------------------------------------------------------------------------------------------
    def routes(self) -> list[Route]:
        """A page, what it asks, what is dropped onto it, whether it is still there; and its scripts."""
        return [
            Route("/", self.begin),
            Route("/w/{work}", self.enter),
            Route("/w/{work}/ask", self.ask, methods=["POST"]),
            Route("/w/{work}/cancel", self.cancel, methods=["POST"]),
            Route("/w/{work}/back", self.back, methods=["POST"]),
            Route("/w/{work}/file", self.file, methods=["POST"]),
            Route("/w/{work}/alive", self.alive),
            Route("/w/{work}/paper/{name}", self.paper),
            Route("/w/{work}/{place}", self.page),
            Route("/static/{name}", self.static),
        ]

    async def begin(self, request: Request) -> Response:
        """A new page."""
        del request
        return RedirectResponse(f"/w/{self.new()}/{PLACES[0]}", status_code=303)

    async def enter(self, request: Request) -> Response:
        """A page without a place."""
        return RedirectResponse(f"/w/{request.path_params['work']}/{PLACES[0]}", status_code=303)

    async def page(self, request: Request) -> Response:
        """The frame; what is in it comes from the desk."""
        if request.path_params["place"] not in PLACES:
            return _refused(404, "there is no such place")
        if self.session(request) is None:  # it was of a studio that was stopped, and has forgotten what it was
            return RedirectResponse(f"/w/{self.new()}/{PLACES[0]}#again", status_code=303)
        return Response(_asset("page.html"), media_type="text/html")

    async def static(self, request: Request) -> Response:
        """Scripts and style sheets, all from here."""
        name = request.path_params["name"]
        if name == "vega.js":
            return Response(await run_in_threadpool(drawing_script), media_type="text/javascript")
        if name in (*_SCRIPTS, *_STYLES):
            return Response(_asset(name), media_type="text/css" if name.endswith(".css") else "text/javascript")
        return _refused(404, "there is no such file")

    async def ask(self, request: Request) -> Response:
        """What the page wants changed and shown; the answer is lines of JSON, as they come from the desk."""
        session = self.session(request)
        if session is None:
            return _refused(404, "this page is not known here any more")
        try:
            asked = json.loads(await _body(request, _LARGEST_REQUEST))
            wanted = {"place": str(asked["place"]), "changes": [_change(each) for each in asked.get("changes", ())]}
            tab = str(asked.get("tab", ""))
        except (BadInput, ValueError, KeyError, TypeError):
            return _refused(400, "this is not a request of the page")
        if wanted["place"] not in PLACES:
            return _refused(404, "there is no such place")
        if page := await run_in_threadpool(self.another, session, tab):
            return JSONResponse({"page": page}, status_code=409)
        return StreamingResponse(
            _lines(session.beside.ask(wanted)), media_type="application/x-ndjson", background=self._get_ready
        )

    async def back(self, request: Request) -> Response:
        """A page of a studio that was stopped goes on here, with what it says that it was."""
        name = request.path_params["work"]
        try:
            work = json.loads(await _body(request, _LARGEST_REQUEST))
        except (BadInput, ValueError):
            work = None
        if not isinstance(work, dict) or not _NAME.fullmatch(name):
            return _refused(400, "this is no page that could come back")
        if self.session(request) is None:
            await run_in_threadpool(self.new, name, lambda beside: beside.back(work))
        return JSONResponse({"back": True})

    async def cancel(self, request: Request) -> Response:
        """End what the desk does."""
        session = self.session(request)
        if session is None:
            return _refused(404, "this page is not known here any more")
        await run_in_threadpool(session.beside.cancel)
        await run_in_threadpool(session.beside.start)
        return JSONResponse({"cancelled": True})

    async def file(self, request: Request) -> Response:
        """A file that was dropped onto the page, into the private folder."""
        session = self.session(request)
        name = PurePath(request.query_params.get("name", "").replace("\\", "/")).name
        if session is None or name in ("", ".", ".."):
            return _refused(404, "this page is not known here any more" if session is None else "the file has no name")
        too_large = _refused(413, "the file is larger than 200 MB", "open it by its path instead")
        if int(request.headers.get("content-length", 0)) > LARGEST_UPLOAD:
            return too_large
        kept = Path(tempfile.mkdtemp(dir=self._folder)) / _safe(name)
        try:
            whole = await _keep(request, kept)
        except (OSError, ClientDisconnect):
            shutil.rmtree(kept.parent, ignore_errors=True)
            return _refused(400, "the file could not be kept")
        if not whole:
            shutil.rmtree(kept.parent, ignore_errors=True)
            return too_large
        return JSONResponse({"path": str(kept), "name": name})

    async def paper(self, request: Request) -> Response:
        """A report that was written; it forbids itself all but its own scripts, and here it has no origin."""
        session, name = self.session(request), request.path_params["name"]
        if session is None or not session.beside.papers or name not in _REPORTS:
            return _refused(404, "there is no such report")
        path = Path(session.beside.papers) / name
        text = await run_in_threadpool(lambda: path.read_text(encoding="utf-8") if path.is_file() else None)
        if text is None:
            return _refused(404, "the report is not there any more")
        return Response(text, media_type="text/html", headers={"Content-Security-Policy": _OF_REPORTS})

    async def alive(self, request: Request) -> Response:
        """Open as long as the page is: the server knows whether somebody is there, and the page whether the server is."""
        session = self.session(request)
        if session is None:
            return Response(status_code=204)  # which tells the page's script not to try again

        async def beats() -> AsyncIterator[bytes]:
            with self.looking(session, request.query_params.get("tab", "")):
                while not self.stopping.is_set():
                    yield b"data: here\n\n"
                    for _ in range(int(_HEARTBEAT * 4)):
                        await asyncio.sleep(0.25)
                        if self.stopping.is_set():
                            return

        return StreamingResponse(beats(), media_type="text/event-stream")


def _change(given: Any) -> tuple[str, str, Any]:
    name, of, value = given
    return str(name), str(of), value


def _safe(name: str) -> str:
    """A name that every file system takes, as near to what people call the file as that goes."""
    path = PurePath(re.sub(r"[^\w .()+-]", "_", name, flags=re.ASCII))
    return f"{path.stem[:_LONGEST_NAME].strip(' .') or 'table'}{path.suffix[:_LONGEST_NAME]}"


def _lines(messages: Iterator[Mapping[str, Any]]) -> Iterator[bytes]:
    return ((json.dumps(message) + "\n").encode() for message in messages)


def _refused(status: int, why: str, hint: str = "") -> Response:
    return JSONResponse({"error": why, "hint": hint}, status_code=status)


async def _body(request: Request, most: int) -> bytes:
    found = b""
    async for chunk in request.stream():
        found += chunk
        if len(found) > most:
            raise BadInput("the request is too large")
    return found


async def _keep(request: Request, path: Path) -> bool:
    """Write what is sent to a file; False where it is too large."""
    size = 0
    with path.open("wb") as kept:
        async for chunk in request.stream():
            size += len(chunk)
            if size > LARGEST_UPLOAD:
                return False
            kept.write(chunk)
    return True


def drawing_script() -> str:
    """Vega, for the page to draw with; it takes seconds to put together, once, while the first page is read."""
    with _DRAWING:
        from divulge import charts

        return charts.drawing_script()


@cache
def _asset(name: str) -> str:
    home = "divulge.views" if name in ("parts.css", "page.css", "page.js") else "divulge.studio"
    return (resources.files(home) / name).read_text(encoding="utf-8")


# --- serving ----------------------------------------------------------------------------------------------------------
def listening(port: int) -> socket.socket:
    """A socket of this machine alone; port 0: any that is free."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind(("127.0.0.1", port))
    except OSError as error:
        found.close()
        raise BadInput(
            f"port {port} cannot be used: {error.strerror}", hint="leave --port out to take any that is free"
        ) from None
    found.listen()  # from now on, so that whoever reads the address at once is not refused
    return found


class _Server(uvicorn.Server):
    """One that ends its open connections when it is to stop."""

    def __init__(self, config: uvicorn.Config, studio: Studio) -> None:
        super().__init__(config)
        self._studio = studio

    def handle_exit(self, sig: int, frame: Any) -> None:
        """Ctrl-C: the first one ends it, politely and at once."""
        self._studio.stopping.set()
        super().handle_exit(sig, frame)


def serve(
    desk: Beside,
    folder: str,
    first: Sequence[Change],
    *,
    port: int,
    browser: bool,
    idle: float,
    tell: Callable[[str], None],
) -> None:
    """Serve pages, the first of them on this desk, until Ctrl-C, or until none was open for `idle` seconds."""
    bound = listening(port)
    number = bound.getsockname()[1]
    studio = Studio(desk, folder, first)

    @contextlib.asynccontextmanager
    async def living(app: Starlette) -> AsyncIterator[None]:
        del app
        watching = asyncio.create_task(_watch(studio, server, idle))
        yield
        watching.cancel()

    door = Door(Starlette(routes=studio.routes(), lifespan=living), port=number)
    config = uvicorn.Config(
        door,
        log_level="critical",
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=2,
    )
    server = _Server(config, studio)
    tell(f"http://127.0.0.1:{number}/?token={door.new_token()}")
    if browser:
        threading.Timer(0.3, webbrowser.open, [f"http://127.0.0.1:{number}/?token={door.new_token()}"]).start()
    try:
        server.run(sockets=[bound])
    except KeyboardInterrupt:
        pass
    finally:
        studio.close()
        bound.close()


async def _watch(studio: Studio, server: uvicorn.Server, idle: float) -> None:
    """Keep a desk ready, and stop when nobody has been there for long."""
    while studio.idle() < idle:
        await asyncio.sleep(min(1.0, idle / 4))
        await run_in_threadpool(studio.tidy)
    studio.stopping.set()
    server.should_exit = True
