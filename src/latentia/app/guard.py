"""Door of the app: who may ask for what, and the headers of every answer."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import socket
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

COOKIE = "latentia"
MAX_BODY_BYTES = 1 << 18
_COMMON = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
REPORT_POLICY = (
    "sandbox allow-scripts allow-downloads; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
"""A report runs its own script without the origin of the app: it can read and ask for nothing."""


class Guard:
    """Middleware that lets only the pages of the app ask, and answers all others with a refusal.

    The first address holds the token and sets a cookie; it is sent for addresses below a secret path only, since browsers share
    cookies between the ports of a machine. Whatever changes something also needs a header that other pages cannot send. Since
    all users of a machine see the address among the arguments of the browser, the system is asked whose the connection is.
    """

    def __init__(self, app: Any, token: str, port: int) -> None:
        self.app, self.token, self.port = app, token, port
        self.hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self.base, self.header = base_of(token), _digest(token, "header")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope)
        response = self._answer(request)
        if response is None:
            await self.app(scope, receive, _adding_headers(send))
        else:
            await response(scope, receive, _adding_headers(send))

    def _answer(self, request: Request) -> Response | None:
        """Return a refusal or the redirection to the app; None if the request is allowed."""
        if any(len(request.headers.getlist(name)) > 1 for name in ("host", "origin", "content-length")):
            return refuse("a header is repeated.")
        if request.client is not None and not any(_is_same_user(*request.client, self.port) for _ in range(3)):
            return refuse("the app answers to the user who started it only.")
        host = request.headers.get("host", "")
        if host not in self.hosts:
            return refuse("the app answers to its own address only.")
        origin = request.headers.get("origin")
        if origin is not None and origin != f"http://{host}":
            return refuse("the request comes from another page.")
        if request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return refuse("the request comes from another page.")
        if request.url.path == "/":
            return self._enter(request)
        if not _equal(request.cookies.get(COOKIE, ""), self.token):
            return refuse("open the address that the terminal shows.")
        if request.method not in ("GET", "HEAD"):
            if origin is None or not _equal(request.headers.get("x-latentia", ""), self.header):
                return refuse("the request comes from another page.")
            if request.method == "POST" and not _is_short(request.headers.get("content-length", "")):
                return refuse("the form is too long.", 413)
        return None

    def _enter(self, request: Request) -> Response:
        token = parse_qs(request.url.query).get("token", [request.cookies.get(COOKIE, "")])[-1]
        if request.method != "GET" or not _equal(token, self.token):
            return refuse("open the address that the terminal shows.")
        response = RedirectResponse(f"{self.base}/", status_code=303)
        response.set_cookie(COOKIE, self.token, path=self.base, httponly=True, samesite="strict")
        return response


def base_of(token: str) -> str:
    """Return the path below which the app lies."""
    return f"/{_digest(token, 'path')[:20]}"


def header_of(token: str) -> str:
    """Return the header that pages of the app send with every change."""
    return _digest(token, "header")


def refuse(text: str, status: int = 403) -> Response:
    """Return a refusal in one line."""
    return PlainTextResponse(f"latentia: {text}\n", status)


def _is_same_user(host: str, port: int, server_port: int) -> bool:
    """Return False if Linux says that a connection is of another user, or of nobody any more; root may do everything.

    Its list of connections may lack one while others come and go, so callers ask more than once.
    """
    lines = []
    for name in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            lines += [line.split() for line in Path(f"/proc/self/net/{name}").read_text().splitlines()]
    peer = f"{int.from_bytes(socket.inet_aton(host), sys.byteorder):08X}:{port:04X}"
    connections = [line for line in lines if line[1].endswith(peer) and line[2].endswith(f":{server_port:04X}")]
    is_known = any(line[1].endswith(f":{server_port:04X}") for line in lines)
    open_users = [int(line[7]) for line in connections if line[3] == "01"]
    return open_users[0] in (os.getuid(), 0) if open_users else not is_known


def _digest(token: str, purpose: str) -> str:
    return hmac.new(token.encode(), purpose.encode(), hashlib.sha256).hexdigest()


def _equal(first: str, second: str) -> bool:
    return hmac.compare_digest(first.encode("utf-8", "replace"), second.encode())


def _is_short(length: str) -> bool:
    return length.isascii() and length.isdigit() and int(length[:12]) <= MAX_BODY_BYTES


def _adding_headers(send: Send) -> Send:
    async def send_with_headers(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            names = {name.lower() for name, _ in message["headers"]}
            headers = _COMMON | {"content-security-policy": _POLICY}
            added = [(k.encode(), v.encode()) for k, v in headers.items() if k.encode() not in names]
            message["headers"] = [*message["headers"], *added]
        await send(message)

    return send_with_headers
