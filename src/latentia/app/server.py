"""Server of the app: on this machine alone, with one address that holds a token."""

from __future__ import annotations

import os
import secrets
import socket
import threading
import webbrowser
from pathlib import Path
from typing import Any

import uvicorn

from ..exceptions import LatentiaError
from ..system.terminal import say
from .forms import Faces
from .guard import Guard
from .pages import make_app
from .workspace import Workspace

_HOST = "127.0.0.1"


def make_server(
    folder: Path, faces: Faces, port: int = 0, token: str = ""
) -> tuple[uvicorn.Server, socket.socket, str]:
    """Return a server, its listening socket, and the address that opens the app."""
    workspace, token = Workspace(folder), token or secrets.token_urlsafe(24)
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if os.name == "posix":  # Elsewhere it lets another program take the port.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((_HOST, port))
        listener.listen()  # Until then others could listen there, and the browser would find nobody.
    except OSError as error:
        listener.close()
        raise LatentiaError(
            f"the port cannot be used ({error.strerror}). Leave --port out for a free one.",
            parameter="port",
            value=port,
        ) from error
    port = listener.getsockname()[1]
    app: Any = Guard(make_app(workspace, faces, token), token, port)
    config = uvicorn.Config(
        app, log_level="critical", access_log=False, server_header=False, lifespan="off", ws="none", limit_concurrency=64,
        timeout_graceful_shutdown=1,
    )  # fmt: skip
    return uvicorn.Server(config), listener, f"http://{_HOST}:{port}/?token={token}"


def serve(folder: Path, faces: Faces, port: int = 0, browser: bool = True) -> None:
    """Serve the app until Ctrl-C; jobs go on after it."""
    server, listener, address = make_server(folder, faces, port)
    with listener:
        say(f"latentia works in {folder}. Open this address, and keep it to yourself:")
        say(f"  {address}")
        say("Ctrl-C ends the app. Work that is running goes on, and is found again.")
        if browser:
            threading.Timer(0.5, webbrowser.open, [address]).start()
        server.run(sockets=[listener])
