"""Tables of topics without pandas, and the printing of tables with and without it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from .._control_characters import escape_controls

_MIN_WORD_WIDTH, _ANCHOR_WIDTH = 30, 20  # Characters of words, even in a narrow terminal, and of anchor words.


class PlainTable:
    """A table with a row for each topic, and some attributes and methods of a data frame."""

    def __init__(self, columns: Mapping[str, Sequence[Any]], index: Sequence[int]) -> None:
        self._columns = {name: list(values) for name, values in columns.items()}
        self.index = [int(k) for k in index]
        """Numbers of the topics, in the order of the rows."""

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self._columns)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), len(self._columns)

    def __len__(self) -> int:
        return len(self.index)

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __getitem__(self, name: Any) -> Any:
        """Return a column, ``table["words"]``, or a table of some columns, ``table[["share", "words"]]``."""
        if isinstance(name, list):
            return PlainTable({column: self._columns[column] for column in name}, self.index)
        return PlainColumn(self._columns[name], self.index)

    def iterrows(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the number of each topic with its row, a dictionary."""
        for place, topic in enumerate(self.index):
            yield topic, {name: values[place] for name, values in self._columns.items()}

    def head(self, n: int = 5) -> PlainTable:
        """Return the first rows."""
        return PlainTable({name: values[:n] for name, values in self._columns.items()}, self.index[:n])

    def __repr__(self) -> str:
        return format_table(self._columns, self.index, "topic")


class PlainColumn:
    """A column: it iterates over its values in the order of the rows, and ``column[3]`` is the value of topic 3."""

    def __init__(self, values: Sequence[Any], index: Sequence[int]) -> None:
        self._values, self._places = list(values), {topic: place for place, topic in enumerate(index)}

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __getitem__(self, topic: int) -> Any:
        return self._values[self._places[topic]]

    def __repr__(self) -> str:
        return repr(self._values)


# --- printing -------------------------------------------------------------------------------------------------------


def format_table(columns: Mapping[str, Sequence[Any]], index: Sequence[Any], index_name: str) -> str:
    """Format columns that are all in `FORMATS`, with words cut to the width of the terminal."""
    cells = {index_name: [str(k) for k in index]}
    cells |= {name: [FORMATS[name](value) for value in values] for name, values in columns.items()}
    for name, width in (("anchor words", _ANCHOR_WIDTH), ("words", _word_width(cells))):
        if name in cells:
            cells[name] = [_truncate(text, width) for text in cells[name]]
    padded = []
    for name, texts in cells.items():
        pad = str.ljust if FORMATS.get(name) is str else str.rjust
        width = max(map(len, [name, *texts]))
        padded.append([pad(text, width) for text in [name, *texts]])
    return escape_controls("\n".join("  ".join(row).rstrip() for row in zip(*padded, strict=True)))


def _word_width(cells: Mapping[str, Sequence[str]]) -> int:
    """Return the number of characters of a line that remain for words."""
    widths = {name: max(map(len, [name, *texts])) for name, texts in cells.items() if name != "words"}
    widths |= {name: min(width, _ANCHOR_WIDTH) for name, width in widths.items() if name == "anchor words"}
    return max(
        shutil.get_terminal_size((100, 24)).columns - sum(2 + width for width in widths.values()), _MIN_WORD_WIDTH
    )


def _truncate(text: str, width: int) -> str:
    """Cut a text between words to at most ``width`` characters."""
    return text if len(text) <= width else text[: width - 1].rsplit(" ", 1)[0] + "…"


def _format_number(form: str) -> Callable[[float], str]:
    return lambda value: "" if value != value else format(value, form)  # NaN is blank.


FORMATS: Mapping[Any, Callable[[Any], str]] = {
    "share": _format_number(".1%"),
    "probability": _format_number(".1%"),
    "expected error": _format_number(".2f"),
    "rank": _format_number("d"),
    "grade": str,
    "anchor words": str,
    "words": str,
}
"""Formats of the values of each column; texts are aligned to the left."""
