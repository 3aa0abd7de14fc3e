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
_MIN_CELL_LIMIT = 1_000_000  # cells that any sheet may have, however small the file
_MEMORY_PER_BYTE = 20  # bytes of memory per unpacked byte of a workbook


def is_excel(path: Path) -> bool:
    """Return True if the file name is that of an Excel workbook."""
    return path.name.lower().endswith(_SUFFIX)


def sheet_rows(path: Path, sheet: str | None = None) -> list[tuple[int, list[str]]]:
    """Read the rows of a sheet that are not empty, with their numbers, padded to one length.

    ``sheet`` is its name or its number from 1; by default the first visible sheet.
    """
    try:
        import openpyxl
    except ImportError:
        raise MissingExtraError(
            "openpyxl", "data", "Reading Excel workbooks, unless you save the sheet as .csv,"
        ) from None
    with readable(path), open(path, "rb") as file:
        try:
            size = _measure_unpacked(path, file)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # openpyxl warns about parts that it skips: forms, conditional formats.
                book = openpyxl.load_workbook(file, read_only=True, data_only=True)
                sheets = [sheet for sheet in book.worksheets if sheet.sheet_state == "visible"] or book.worksheets
                chosen = _choose_sheet(path, book.worksheets, sheets, sheet)
                rows = _read_filled_rows(path, chosen, size) if chosen is not None else []
        except (LatentiaError, MemoryError):
            raise
        except OSError as error:
            if error.errno is not None:
                raise
            raise _unreadable_error(path, error) from error
        except Exception as error:  # whatever the readers of ZIP, XML and cells meet in a damaged file
            raise _unreadable_error(path, error) from error
    if not rows:
        raise LatentiaError(f"{'the first sheet' if sheet is None else f'sheet {sheet!r}'} is empty.", source=path)
    if len(sheets) > 1 and sheet is None:
        other_titles = ", ".join(repr(unread.title) for unread in sheets[1:6])
        fact = f"{path}: of {len(sheets)} sheets the first, {sheets[0].title!r}, was read."
        warn(FileNotice(fact, f"sheet= names another: {other_titles}."))
    return _pad_rows(path, rows)


def _choose_sheet(path: Path, all_sheets: Any, visible: Any, sheet: str | None) -> Any:
    """Return the sheet of this name or number."""
    if sheet is None:
        return visible[0] if visible else None
    matching = [candidate for candidate in all_sheets if candidate.title == sheet]
    if not matching and sheet.isdecimal() and 1 <= int(sheet) <= len(all_sheets):
        matching = [all_sheets[int(sheet) - 1]]
    if not matching:
        titles = ", ".join(candidate.title for candidate in all_sheets)
        raise LatentiaError(f"no such sheet. There are {titles}.", parameter="sheet", value=sheet, source=path)
    return matching[0]


def _unreadable_error(path: Path, error: Exception) -> LatentiaError:
    return LatentiaError(f"not a readable Excel workbook ({error}). Save the sheet as .csv.", source=path)


def _measure_unpacked(path: Path, file: Any) -> int:
    """Return the unpacked size of the workbook in bytes; raise if memory cannot hold it."""
    with open_archive(path, file) as parts:
        size = sum(part.file_size for part in parts.infolist())
    if _MEMORY_PER_BYTE * size > free_memory():
        raise LatentiaError(
            f"the workbook has {size:,} bytes when unpacked, too many for the memory. Save the sheet as .csv.",
            source=path,
        )
    return size


def _read_filled_rows(path: Path, sheet: Any, size: int) -> list[tuple[int, list[str]]]:
    rows, cells = [], 0
    sheet.reset_dimensions()  # The dimensions in the file may exclude filled cells.
    for number, row in enumerate(sheet.iter_rows(values_only=True), 1):
        cells += len(row) + 1
        if cells > max(_MIN_CELL_LIMIT, size):
            raise LatentiaError(
                "the sheet has too many empty cells for a file of this size. Delete cells far below or beside the table.",
                source=path,
                place=f"row {number}",
            )
        texts = [_cell_text(cell) for cell in row]
        while texts and not texts[-1]:
            texts.pop()
        if texts:
            rows.append((number, texts))
    return rows


def _cell_text(cell: Any) -> str:
    """Return a cell as it would be written in CSV."""
    if cell is None:
        return ""
    if isinstance(cell, (datetime.datetime, datetime.date, datetime.time)):
        is_day = (
            isinstance(cell, datetime.datetime) and cell.time() == datetime.time()
        )  # Excel has no dates without time.
        return cell.date().isoformat() if is_day else cell.isoformat()  # type: ignore[union-attr]
    return str(cell)


def _pad_rows(path: Path, rows: list[tuple[int, list[str]]]) -> list[tuple[int, list[str]]]:
    titles = len(rows) > 2 and len(rows[0][1]) == 1 and len(rows[1][1]) > 1
    headings = rows[1] if titles else rows[0]
    width = len(headings[1])
    for number, row in rows:
        if len(row) > width:
            raise LatentiaError(
                f"expected {width} cells as in the headings, row {headings[0]}, and found {len(row)}. Give each a heading.",
                source=path,
                place=f"row {number}",
            )
        row += [""] * (width - len(row))
    return rows
