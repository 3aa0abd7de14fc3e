"""That functions are being compiled is said once, and only where one waits for it."""

import subprocess
import sys
import time

import pytest
from numba.core import event

from latentia.cli._compiling import announce_compiling


def compiling(seconds):
    with event.trigger_event("numba:compile"):
        time.sleep(seconds)


@pytest.fixture
def said():
    return []


def test_a_long_wait_is_announced_once(said):
    with announce_compiling(lambda: said.append(1), patience=0.05):
        compiling(0.3)
        assert said == [1]  # while it lasts
        compiling(0.3)
    assert said == [1]


def test_short_waits_add_up(said):
    with announce_compiling(lambda: said.append(1), patience=0.5):
        for _ in range(8):
            compiling(0.1)
    assert said == [1]


def test_functions_compiled_within_others_are_counted_once(said):
    with announce_compiling(lambda: said.append(1), patience=30.0):
        with event.trigger_event("numba:compile"):
            compiling(0.01)
        compiling(0.01)
    assert said == []


def test_nothing_is_said_afterwards(said):
    with announce_compiling(lambda: said.append(1), patience=0.1):
        event.start_event("numba:compile")  # and the command is interrupted
    time.sleep(0.3)
    compiling(0.3)
    assert said == []


def test_the_command_line_says_it_on_standard_error():
    code = """
from numba.core import event
import latentia.cli.commands as commands
def run(ready):
    ready()
    with event.trigger_event("numba:compile"):
        __import__("time").sleep(3)
commands.run = run
from latentia.cli import main
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "note: compiling for this computer takes up to a minute; later runs start at once.\n"
    assert done.stdout == ""
