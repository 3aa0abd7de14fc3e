"""Command line: one subcommand a family."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from types import FrameType
from typing import NoReturn

__all__ = ["main"]

_UNSAFE = "_numba_unpickle", "_raw_object_cache_notify", "_raw_object_cache_getbuffer", "__del__"
"""Functions that are called from outside of Python, where an exception is forgotten, or crashes the process as in what
compiled functions call when they return arrays."""
INTERRUPTED = 130  # the exit code that shells give to what Ctrl-C ends


def main() -> None:
    """Run the command line; Ctrl-C ends it with a line on standard error and exit code 130."""
    # While modules are loaded, which takes seconds, nothing has to be cleaned up, and some modules would catch an exception.
    signal.signal(signal.SIGINT, _leave)
    from .commands import run

    with contextlib.ExitStack() as around:
        # While the interpreter is taken down all is done.
        around.callback(signal.signal, signal.SIGINT, signal.SIG_IGN)
        run(lambda: _ready(around))


def _ready(around: contextlib.ExitStack) -> None:
    """The modules of a command are there, and it begins."""
    from ._compiling import announced

    signal.signal(signal.SIGINT, _stop)
    around.enter_context(announced(_say_compiling))


def _say_compiling() -> None:
    """On standard error, above a bar of progress if there is one."""
    print("note: compiling for this computer, up to a minute; kept for later runs.", file=sys.stderr, flush=True)


def _leave(*_: object) -> None:
    _say_interrupted()
    os._exit(INTERRUPTED)


def _stop(_: int, frame: FrameType | None) -> None:
    """Leave every block of code, so that files in progress are removed; after a function of `_UNSAFE`, not within."""
    safe = _outside(frame)
    if safe is not frame and safe is not None:
        safe.f_trace = _leave_blocks
        sys.settrace(lambda *_: None)  # or the trace of that frame is not called
        return
    _leave_blocks()


def _leave_blocks(*_: object) -> NoReturn:
    sys.settrace(None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # another Ctrl-C does not keep them from it
    _say_interrupted()
    sys.exit(INTERRUPTED)


def _outside(frame: FrameType | None) -> FrameType | None:
    """The innermost frame that no function of `_UNSAFE` has called."""
    safe = frame
    while frame is not None:
        if frame.f_code.co_name in _UNSAFE:
            safe = frame.f_back
        frame = frame.f_back
    return safe


def _say_interrupted() -> None:
    os.write(2, b"\ninterrupted\n")
    if "--json" in sys.argv[1:]:
        os.write(1, b'{"error": "interrupted"}\n')
