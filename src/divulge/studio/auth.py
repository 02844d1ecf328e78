# SPDX-License-Identifier: Apache-2.0
"""Authentication: only the browser that used the printed address may talk to the server.

The server listens on 127.0.0.1 only, which every program and every page on this machine can reach.

- Another user of the machine has no cookie. The cookie is set in exchange for a one-time token. The
  list of processes may show the address of a browser, but by then the token is used.
- Another page in the same browser (CSRF) is recognized by its Origin or Sec-Fetch-Site header.
- A foreign host name that resolves to this machine (DNS rebinding) is recognized by the Host
  header.
"""

from __future__ import annotations

import secrets
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src "
    "'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": _CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_REJECTION_TEXT = (
    "This is not your door: open the address that `divulge studio` printed. It is good once; start "
    "the studio again for another.\n"
)


class AuthMiddleware:
    """ASGI middleware that admits requests with a valid token or the cookie that was set for one.

    Every other request is rejected before the application sees it.
    """

    def __init__(self, app: ASGIApp, *, port: int) -> None:
        self._app = app
        self._hosts = (f"127.0.0.1:{port}", f"localhost:{port}")
        # Browsers share the cookies of 127.0.0.1 among all ports, so each studio needs a cookie
        # name of its own.
        self._cookie = f"divulge-studio-{port}"
        self._secret = secrets.token_urlsafe(32)
        self._tokens: set[str] = set()

    def new_token(self) -> str:
        """Return a new token that is valid for one request."""
        token = secrets.token_urlsafe(32)
        self._tokens.add(token)
        return token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on to the application, or reject it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":  # the page opens none
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        elif not self._is_same_origin(scope):
            await _send_response(send, 403, _REJECTION_TEXT)
        elif self._consume_token(scope):
            cookie = f"{self._cookie}={self._secret}; HttpOnly; SameSite=Strict; Path=/"
            await _send_response(send, 303, "", Location="/", **{"Set-Cookie": cookie})
        elif not self._has_cookie(scope):
            await _send_response(send, 403, _REJECTION_TEXT)
        else:
            await self._app(scope, receive, _with_headers(send))

    def _is_same_origin(self, scope: Scope) -> bool:
        if [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"] not in [
            [host] for host in self._hosts
        ]:
            return False
        reads = scope["method"] in ("GET", "HEAD")
        origin = _header(scope, b"origin")
        if origin is None:
            return reads and _header(scope, b"sec-fetch-site") in (None, "same-origin", "none")
        return origin == f"http://{_header(scope, b'host')}"

    def _consume_token(self, scope: Scope) -> bool:
        tokens = parse_qs(scope["query_string"].decode("latin-1")).get("token", [])
        if scope["path"] != "/" or scope["method"] != "GET" or len(tokens) != 1:
            return False
        matching = [
            token
            for token in self._tokens
            if secrets.compare_digest(token.encode(), tokens[0].encode())
        ]
        self._tokens.difference_update(matching)
        return bool(matching)

    def _has_cookie(self, scope: Scope) -> bool:
        try:
            morsel = SimpleCookie(_header(scope, b"cookie") or "").get(self._cookie)
        except CookieError:
            return False
        return morsel is not None and secrets.compare_digest(
            morsel.value.encode(), self._secret.encode()
        )


def _header(scope: Scope, name: bytes) -> str | None:
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == name), None)


def _encode_headers(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode(), value.encode()) for name, value in headers.items()]


async def _send_response(send: Send, status: int, text: str, **headers: str) -> None:
    all_headers = HEADERS | {"Content-Type": "text/plain; charset=utf-8"} | headers
    await send(
        {"type": "http.response.start", "status": status, "headers": _encode_headers(all_headers)}
    )
    await send({"type": "http.response.body", "body": text.encode()})


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            own_names = {name for name, _ in message["headers"]}
            missing_headers = [
                (name, value) for name, value in _encode_headers(HEADERS) if name not in own_names
            ]
            message = {**message, "headers": [*message["headers"], *missing_headers]}
        await send(message)

    return send_with_headers
