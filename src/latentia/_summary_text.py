"""Text and notebook views of a summary: its verdict, and the first rows of its main table."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from html import escape
from typing import Any

from ._control_characters import escape_controls

_MAX_LINES, _WIDTH = 40, 100  # A screenful; with the lines of the evidence at most 6,000 characters.
_LEFT_ALIGNED = "text", "name", "words", "grade"


def summary_text(summary: Any) -> str:
    """Return the title, the evidence, and the rows of the main table that fit into forty lines."""
    lines = [*textwrap.wrap(f"{summary.title}: {summary.headline}", _WIDTH), "", *str(summary.evidence).splitlines()]
    table, names = _main_table(summary), ", ".join(summary.tables)
    closing = textwrap.wrap(f"All tables, by name in .tables: {names}.", _WIDTH)[:3]
    lines = lines[: _MAX_LINES - len(closing) - 6]
    if table is not None:
        n_rows = min(len(table), _MAX_LINES - len(lines) - len(closing) - 4)
        lines += ["", *(_shorten(line) for line in table_lines(table, n_rows))]
        if n_rows < len(table):
            lines.append(f"{len(table) - n_rows} more rows in .tables[{table.name!r}]")
    return escape_controls("\n".join(line.rstrip() for line in [*lines, "", *closing]))


def summary_page(summary: Any) -> str:
    """Return the evidence and the main table as HTML."""
    table = _main_table(summary)
    head = f"<p><b>{escape(summary.title)}</b>: {escape(summary.headline)}</p>{summary.evidence._repr_html_()}"
    if table is None:
        return head
    rest = f"<p>{len(table) - _MAX_LINES} more rows.</p>" if len(table) > _MAX_LINES else ""
    return head + table_html(table, _MAX_LINES) + rest


def table_html(table: Any, max_rows: int | None = None) -> str:
    """Return the first rows of a table as HTML."""
    columns = _columns(table)
    heads = "".join(f"<th scope='col'>{escape(column.head or column.name)}</th>" for column in columns)
    rows = [[escape(escape_controls(text)) for text in _row(columns, i)] for i in range(len(table))[:max_rows]]
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"


def table_lines(table: Any, max_rows: int | None = None) -> list[str]:
    """Return the heads and the first rows of a table as aligned lines."""
    columns = _columns(table)
    rows = [[column.head or column.name for column in columns]]
    rows += [_row(columns, i) for i in range(len(table))[:max_rows]]
    widths = [max(len(row[j]) for row in rows) for j in range(len(columns))]
    pads = [str.ljust if column.kind in _LEFT_ALIGNED else str.rjust for column in columns]
    return ["  ".join(pads[j](row[j], widths[j]) for j in range(len(columns))).rstrip() for row in rows]


def _shorten(line: str) -> str:
    """Shorten a long line at the end of a word."""
    return line if len(line) <= _WIDTH else f"{line[:_WIDTH].rsplit(' ', 1)[0].rstrip(',')} …"


def _main_table(summary: Any) -> Any:
    tables = [table for table in summary.tables.values() if table.name != "evidence" and table.of("screen")]
    return next((table for table in tables if table.name == "components"), tables[0] if tables else None)


def _columns(table: Any) -> list[Any]:
    """Return the columns of the screen, lists of words last."""
    return sorted(table.of("screen"), key=lambda column: column.kind == "words")


def _row(columns: Sequence[Any], i: int) -> list[str]:
    return [column.printed(column.values[i]) for column in columns]
