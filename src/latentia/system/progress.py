"""Progress bar with remaining time, shown only on a terminal."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def progress_bar(progress: bool | str, total: int, unit: str) -> Iterator[Callable[[int], None]]:
    """Yield ``advance(n)``, which does nothing without ``progress`` or a screen. A string labels the bar."""
    if not progress or total < 1:
        yield lambda _: None
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
        task = bar.add_task(escape(escape_controls(progress)) if isinstance(progress, str) else "pass", total=total)
        yield lambda n: bar.advance(task, n)
