"""Command line with one subcommand per family."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from types import FrameType
from typing import NoReturn

__all__ = ["main"]

_UNSAFE = "_numba_unpickle", "_raw_object_cache_notify", "_raw_object_cache_getbuffer", "__del__"
"""Functions called from outside Python, where an exception is lost or crashes the process, as when compiled functions return
arrays."""
INTERRUPTED = 130  # exit code of shells after Ctrl-C


def main() -> None:
    """Run the command line; Ctrl-C ends it with a line on standard error and exit code 130."""
    # Loading modules takes seconds and leaves nothing to clean up; some modules would catch an exception.
    signal.signal(signal.SIGINT, _leave)
    from .commands import run

    with contextlib.ExitStack() as around:
        # When the interpreter shuts down, all work is done.
        around.callback(signal.signal, signal.SIGINT, signal.SIG_IGN)
        run(lambda: _prepare(around))


def _prepare(around: contextlib.ExitStack) -> None:
    """Prepare for interrupts and compilation once the modules of a command are loaded."""
    from ._compiling import announce_compiling

    signal.signal(signal.SIGINT, _stop)
    around.enter_context(announce_compiling(_say_compiling))


def _say_compiling() -> None:
    """Print a note on standard error, above any progress bar."""
    print(
        "note: compiling for this computer takes up to a minute; later runs start at once.", file=sys.stderr, flush=True
    )


def _leave(*_: object) -> None:
    _say_interrupted()
    os._exit(INTERRUPTED)


def _stop(_: int, frame: FrameType | None) -> None:
    """Exit through every block, so that unfinished files are removed; inside a function of `_UNSAFE`, wait for its end."""
    safe = _find_safe_frame(frame)
    if safe is not frame and safe is not None:
        safe.f_trace = _leave_blocks
        sys.settrace(lambda *_: None)  # Without a global trace that of the frame is not called.
        return
    _leave_blocks()


def _leave_blocks(*_: object) -> NoReturn:
    sys.settrace(None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # A second Ctrl-C must not stop the clean-up.
    _say_interrupted()
    sys.exit(INTERRUPTED)


def _find_safe_frame(frame: FrameType | None) -> FrameType | None:
    """Return the innermost frame outside the functions of `_UNSAFE`."""
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
