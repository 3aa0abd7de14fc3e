"""The first sheet of an Excel workbook, through the ``data`` extra."""

from __future__ import annotations

import datetime
import warnings
from pathlib import Path
from typing import Any

from ..exceptions import FileNotice, LatentiaError, MissingExtraError, warn
from ..passes.formats import free_memory, readable
from ..system.compressed import open_archive

_SUFFIX = ".xlsx"
_ALWAYS = 1_000_000  # cells, empty ones among them, that any sheet may have
_PER_BYTE = 20  # bytes of memory that a byte of a workbook takes, unpacked


def is_excel(path: Path) -> bool:
    """Whether the name says that the file is an Excel workbook."""
    return path.name.lower().endswith(_SUFFIX)


def sheet_rows(path: Path, sheet: str | None = None) -> list[tuple[int, list[str]]]:
    """Read the rows of a sheet with anything in them, and their numbers, all as long as the longest.

    ``sheet`` is its name, or its number from 1; by default it is the first that is not hidden.
    """
    try:
        import openpyxl
    except ImportError:
        raise MissingExtraError(
            "openpyxl", "data", "Reading Excel workbooks, unless you save the sheet as .csv,"
        ) from None
    with readable(path), open(path, "rb") as file:
        try:
            size = _checked_size(path, file)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of what it does not read: forms, conditional formats
                book = openpyxl.load_workbook(file, read_only=True, data_only=True)
                sheets = [sheet for sheet in book.worksheets if sheet.sheet_state == "visible"] or book.worksheets
                chosen = _chosen_sheet(path, book.worksheets, sheets, sheet)
                rows = _filled_rows(path, chosen, size) if chosen is not None else []
        except (LatentiaError, MemoryError):
            raise
        except OSError as error:
            if error.errno is not None:
                raise
            raise _unreadable(path, error) from error
        except Exception as error:  # whatever the readers of ZIP, XML and cells meet in a damaged file
            raise _unreadable(path, error) from error
    if not rows:
        raise LatentiaError(f"{'the first sheet' if sheet is None else f'sheet {sheet!r}'} is empty.", source=path)
    if len(sheets) > 1 and sheet is None:
        others = ", ".join(repr(one.title) for one in sheets[1:6])
        fact = f"{path}: of {len(sheets)} sheets the first, {sheets[0].title!r}, was read."
        warn(FileNotice(fact, f"sheet= names another: {others}."))
    return _even(path, rows)


def _chosen_sheet(path: Path, all_sheets: Any, visible: Any, sheet: str | None) -> Any:
    """Return the sheet of this name or number."""
    if sheet is None:
        return visible[0] if visible else None
    named = [one for one in all_sheets if one.title == sheet]
    if not named and sheet.isdecimal() and 1 <= int(sheet) <= len(all_sheets):
        named = [all_sheets[int(sheet) - 1]]
    if not named:
        titles = ", ".join(one.title for one in all_sheets)
        raise LatentiaError(f"no such sheet. There are {titles}.", parameter="sheet", value=sheet, source=path)
    return named[0]


def _unreadable(path: Path, error: Exception) -> LatentiaError:
    return LatentiaError(f"not a readable Excel workbook ({error}). Save the sheet as .csv.", source=path)


def _checked_size(path: Path, file: Any) -> int:
    """How many bytes the workbook has when it is unpacked, if they can be held."""
    with open_archive(path, file) as parts:
        size = sum(part.file_size for part in parts.infolist())
    if _PER_BYTE * size > free_memory():
        raise LatentiaError(
            f"{size} bytes when unpacked, which do not fit into memory. Save the sheet as .csv.", source=path
        )
    return size


def _filled_rows(path: Path, sheet: Any, size: int) -> list[tuple[int, list[str]]]:
    rows, cells = [], 0
    sheet.reset_dimensions()  # what the file says of them hides what stands outside
    for number, row in enumerate(sheet.iter_rows(values_only=True), 1):
        cells += len(row) + 1
        if cells > max(_ALWAYS, size):
            raise LatentiaError(
                "the sheet has more empty cells than a file of this size can mean. Delete what stands "
                "far below or beside the table.",
                source=path,
                place=f"row {number}",
            )
        texts = [_text(cell) for cell in row]
        while texts and not texts[-1]:
            texts.pop()
        if texts:
            rows.append((number, texts))
    return rows


def _text(cell: Any) -> str:
    """A cell as CSV would have it."""
    if cell is None:
        return ""
    if isinstance(cell, (datetime.datetime, datetime.date, datetime.time)):
        return cell.isoformat()
    return str(cell)


def _even(path: Path, rows: list[tuple[int, list[str]]]) -> list[tuple[int, list[str]]]:
    titles = len(rows) > 2 and len(rows[0][1]) == 1 and len(rows[1][1]) > 1
    headings = rows[1] if titles else rows[0]
    width = len(headings[1])
    for number, row in rows:
        if len(row) > width:
            raise LatentiaError(
                f"{len(row)} cells, and the headings in row {headings[0]} are {width}. Give every column a heading.",
                source=path,
                place=f"row {number}",
            )
        row += [""] * (width - len(row))
    return rows
