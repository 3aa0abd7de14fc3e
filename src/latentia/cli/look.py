"""``latentia look``: the contents of a file, column by column, and the commands that fit it."""

from __future__ import annotations

from typing import Any

from rich.markup import escape

from ..passes.formats import STANDARD_INPUT, reusable
from ..reading import Reading, look_at
from ..system.terminal import Terminal, make_table, say
from ._records import LookOptions

_HEADS = "column", "role", "why", "examples", "missing"
_MAX_COLUMNS = 60  # in the printed list


def look(options: LookOptions) -> dict[str, Any]:
    """Show what a file holds: the role of every column, missing cells, suspicious codes, and commands to copy."""
    name = "-" if options.source.name == STANDARD_INPUT else str(options.source)
    with reusable(options.source) as path:
        reading = look_at(path, options.column_options, sheet=options.sheet, encoding=options.encoding, name=name)
    _print(reading)
    return reading.record() | {"commands": list(reading.commands)}


def _print(reading: Reading) -> None:
    console = Terminal()
    columns = f", {len(reading.columns):,} columns" if reading.columns else ""
    say(f"{reading.source}: {reading.shape}, {reading.n_rows:,} rows{columns}", console)
    for note in reading.notes:
        say(f"note: {note}", console)
    if reading.columns:
        table = make_table()
        for head in _HEADS:
            table.add_column(head, justify="right" if head == "missing" else "left", overflow="fold")
        rows = reading.rows()
        for row in rows[:_MAX_COLUMNS]:
            table.add_row(*map(escape, row[: len(_HEADS)]))
        console.print(table)
        for row in rows[:_MAX_COLUMNS]:
            if row[-1]:
                say(f"  {row[0]}: {row[-1]}", console)
        if len(rows) > _MAX_COLUMNS:
            say(f"{len(rows) - _MAX_COLUMNS:,} more columns; all of them: --json", console)
    if reading.commands:
        say("Commands for such a file:", console)
        for command in reading.commands:
            say(f"  {command}", console)
