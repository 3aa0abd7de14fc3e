"""The command line in this process, which saves the seconds that a new one takes to load its modules."""

import io
import signal
import subprocess
import sys
import warnings
from contextlib import redirect_stderr, redirect_stdout
from unittest import mock

from latentia.cli import commands


def latentia(*arguments, encoding="utf-8"):
    """Run a command as users do, with the warnings of a new process; as `subprocess.run` it gives code and texts.

    ``encoding`` is that of the screen, which refuses letters that it does not have.
    """
    words, on_interrupt = ["latentia", *map(str, arguments)], signal.getsignal(signal.SIGINT)
    printed, said = (io.TextIOWrapper(io.BytesIO(), encoding, errors="strict", newline="\n") for _ in range(2))
    code = 0
    with (
        redirect_stdout(printed),
        redirect_stderr(said),
        mock.patch.object(sys, "argv", words),
        warnings.catch_warnings(),
    ):
        warnings.resetwarnings()
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            commands.run()
        except SystemExit as end:
            code = end.code or 0
        finally:
            signal.signal(signal.SIGINT, on_interrupt)
    return subprocess.CompletedProcess(words, code, *(_written(stream, encoding) for stream in (printed, said)))


def _written(stream, encoding):
    stream.flush()
    return stream.buffer.getvalue().decode(encoding)
