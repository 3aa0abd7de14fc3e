"""Progress of long work: a bar with remaining time on a terminal, or lines of JSON for a program."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Callable, Iterator

_LINE_SECONDS = 0.2  # time between two lines of one stage
_FOR_PROGRAMS: list[float] = []  # the start of the work whose progress is printed as JSON


@contextlib.contextmanager
def progress_as_json() -> Iterator[None]:
    """Print the progress of the block on standard error, a JSON object a line: stage, done, total, unit and seconds."""
    _FOR_PROGRAMS.append(time.monotonic())
    try:
        yield
    finally:
        _FOR_PROGRAMS.pop()


def report_stage(stage: str, done: int = 0, total: int = 0, unit: str = "") -> None:
    """Print the stage that begins, and how far it is, if a program asked for progress."""
    if _FOR_PROGRAMS:
        seconds = round(time.monotonic() - _FOR_PROGRAMS[-1], 2)
        line = {"stage": stage, "done": done, "total": total, "unit": unit, "seconds": seconds}
        print(json.dumps({"progress": line}), file=sys.stderr, flush=True)


@contextlib.contextmanager
def progress_bar(progress: bool | str, total: int, unit: str) -> Iterator[Callable[[int], None]]:
    """Yield ``advance(n)``, which does nothing without ``progress`` or a screen. A string labels the bar."""
    if not progress or total < 1:
        yield lambda _: None
        return
    label = progress if isinstance(progress, str) else "pass"
    if _FOR_PROGRAMS:
        yield _advance_in_lines(label, total, unit)
        return
    from rich.markup import escape

    from .._control_characters import escape_controls
    from .terminal import Terminal

    console = Terminal(stderr=True)
    if not (console.is_interactive or console.is_jupyter):
        yield lambda _: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}/{task.total} " + unit))
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task(escape(escape_controls(label)), total=total)
        yield lambda n: bar.advance(task, n)


def _advance_in_lines(stage: str, total: int, unit: str) -> Callable[[int], None]:
    """Return ``advance(n)``, which prints lines: the first and the last, and others from time to time."""
    done, printed = 0, time.monotonic()
    report_stage(stage, 0, total, unit)

    def advance(n: int) -> None:
        nonlocal done, printed
        done += n
        if done >= total or time.monotonic() - printed >= _LINE_SECONDS:
            printed = time.monotonic()
            report_stage(stage, done, total, unit)

    return advance
