"""Command line: one subcommand a family."""

from __future__ import annotations

import os
import signal
import sys

__all__ = ["main"]

INTERRUPTED = 130  # the exit code that shells give to what Ctrl-C ends


def main() -> None:
    """Run the command line; Ctrl-C ends it with a line on standard error and exit code 130."""
    # While modules are loaded, which takes seconds, nothing has to be cleaned up, and some modules would catch an exception.
    signal.signal(signal.SIGINT, _leave)
    from .commands import run

    signal.signal(signal.SIGINT, _stop)
    run()


def _leave(*_: object) -> None:
    _say_interrupted()
    os._exit(INTERRUPTED)


def _stop(*_: object) -> None:
    """Leave every block of code, so that files in progress are removed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # another Ctrl-C does not keep them from it
    _say_interrupted()
    sys.exit(INTERRUPTED)


def _say_interrupted() -> None:
    os.write(2, b"\ninterrupted\n")
