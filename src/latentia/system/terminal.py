"""What reaches a terminal: names of columns, nodes and files may hold characters that it would obey."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from .._control_characters import escape_controls


class Terminal(Console):
    """A console of rich that shows the control characters in every text that it is given."""

    def render_str(self, text: str, *args: Any, **options: Any) -> Text:
        return super().render_str(escape_controls(text), *args, **options)


def say(text: str, console: Console | None = None) -> None:
    """Print a line as it is, as names may look like markup; beside a status or a bar it needs the console of that."""
    (console or Terminal()).print(text, highlight=False, markup=False, soft_wrap=True)
