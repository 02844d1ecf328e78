# SPDX-License-Identifier: Apache-2.0
"""The door: who may speak to the server. It listens on 127.0.0.1 alone, which every program and every page on this machine can reach.

- Another user of the machine has no cookie. It is given for a token that is good once: the address of a browser can be read in the
  list of processes, and by then its token is used.
- Another page in the same browser (CSRF) says by its Origin, or by Sec-Fetch-Site, that it is another one.
- A name of somebody else's that leads here (DNS rebinding) stands in Host.
"""

from __future__ import annotations

import secrets
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_REFUSED = "This is not your door: open the address that `divulge studio` printed. It is good once; start the studio again for another.\n"


class Door:
    """Lets in who brings a token or the cookie that was given for one; everything else is refused before anything looks at it."""

    def __init__(self, app: ASGIApp, *, port: int) -> None:
        self._app = app
        self._hosts = (f"127.0.0.1:{port}", f"localhost:{port}")
        # Browsers share the cookies of 127.0.0.1 among all ports, so that each studio needs a name of its own.
        self._cookie = f"divulge-studio-{port}"
        self._secret = secrets.token_urlsafe(32)
        self._tokens: set[str] = set()

    def new_token(self) -> str:
        """One that opens the door once."""
        token = secrets.token_urlsafe(32)
        self._tokens.add(token)
        return token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, or refuse."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":  # there is none here, so nobody asks for one
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        elif not self._is_from_here(scope):
            await _answer(send, 403, _REFUSED)
        elif self._takes_token(scope):
            cookie = f"{self._cookie}={self._secret}; HttpOnly; SameSite=Strict; Path=/"
            await _answer(send, 303, "", Location="/", **{"Set-Cookie": cookie})
        elif not self._has_cookie(scope):
            await _answer(send, 403, _REFUSED)
        else:
            await self._app(scope, receive, _with_headers(send))

    def _is_from_here(self, scope: Scope) -> bool:
        if [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"] not in [
            [host] for host in self._hosts
        ]:
            return False
        reads = scope["method"] in ("GET", "HEAD")
        origin = _header(scope, b"origin")
        if origin is None:
            return reads and _header(scope, b"sec-fetch-site") in (None, "same-origin", "none")
        return origin == f"http://{_header(scope, b'host')}"

    def _takes_token(self, scope: Scope) -> bool:
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [])
        if scope["path"] != "/" or scope["method"] != "GET" or len(given) != 1:
            return False
        found = [token for token in self._tokens if secrets.compare_digest(token.encode(), given[0].encode())]
        self._tokens.difference_update(found)
        return bool(found)

    def _has_cookie(self, scope: Scope) -> bool:
        try:
            given = SimpleCookie(_header(scope, b"cookie") or "").get(self._cookie)
        except CookieError:
            return False
        return given is not None and secrets.compare_digest(given.value.encode(), self._secret.encode())


def _header(scope: Scope, name: bytes) -> str | None:
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == name), None)


def _encoded(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode(), value.encode()) for name, value in headers.items()]


async def _answer(send: Send, status: int, text: str, **headers: str) -> None:
    told = HEADERS | {"Content-Type": "text/plain; charset=utf-8"} | headers
    await send({"type": "http.response.start", "status": status, "headers": _encoded(told)})
    await send({"type": "http.response.body", "body": text.encode()})


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = {name for name, _ in message["headers"]}
            extra = [(name, value) for name, value in _encoded(HEADERS) if name not in own]
            message = {**message, "headers": [*message["headers"], *extra]}
        await send(message)

    return sending
