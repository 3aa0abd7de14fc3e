"""Terminal output with escaped control characters from names of columns, nodes and files."""

from __future__ import annotations

from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from .._control_characters import escape_controls


class Terminal(Console):
    """Console of rich that escapes control characters in every text."""

    def render_str(self, text: str, *args: Any, **options: Any) -> Text:
        return super().render_str(escape_controls(text), *args, **options)


def say(text: str, console: Console | None = None) -> None:
    """Print a line without markup, since names may look like markup; during a status or bar, use its console."""
    (console or Terminal()).print(text, highlight=False, markup=False, soft_wrap=True)


def make_table(title: str = "") -> Table:
    """Make an empty table in the look of all commands.

    Under ``pad_edge=False`` the width of the last column would hang on the version of rich.
    """
    return Table(title=escape(title), title_justify="left", box=SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
