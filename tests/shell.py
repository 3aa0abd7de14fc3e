"""The command line in this process, which saves the seconds that a new one takes to load its modules."""

import io
import signal
import subprocess
import sys
import warnings
from contextlib import redirect_stderr, redirect_stdout
from unittest import mock

from latentia.cli import commands


def latentia(*arguments):
    """Run a command as users do, with the warnings of a new process; as `subprocess.run` it gives code and texts."""
    words, on_interrupt = ["latentia", *map(str, arguments)], signal.getsignal(signal.SIGINT)
    printed, said = io.StringIO(), io.StringIO()
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
    return subprocess.CompletedProcess(words, code, printed.getvalue(), said.getvalue())
