"""Files of baskets: each line lists the items of one row."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..exceptions import FileNotice, LatentiaError, warn, write_parameter
from ..passes.formats import open_unicode, readable, reusable
from ..reading import has_columns, long_columns, open_reading

__all__ = ["read_baskets"]

_SEPARATORS, _SAMPLE_SIZE = ",;\t|", 1 << 16


def read_baskets(
    path: str | os.PathLike[str],
    *,
    rows: str | None = None,
    empty: str = "missing",
    encoding: str | None = None,
    columns: Sequence[str] | None = None,
) -> tuple[list[list[str]], list[Any]]:
    r"""Read baskets: lines that list items, separated by commas, semicolons, tabs or `|`; or a table with a row for each item.

    Parameters
    ----------
    path : path
        Items may be quoted; blanks around them and empty items are dropped. Empty lines are baskets without items only if they
        hold a separator; others are left out, and counted in a notice.
    rows : {"long", "wide"}, optional
        "long": a table with headings and a row for each item, with a column that names the basket, such as an invoice. By
        default a table is long if its headings say so.
    empty : {"missing", "absent"}
        "absent" keeps empty lines, as baskets without items.
    encoding : str, optional
        Encoding; detected by default.
    columns : sequence of str, optional
        The column of baskets and that of items, of a long table.

    Returns
    -------
    baskets : list of lists of str
    lines : list
        The line of each basket in the file, from 1, or its name in a long table.

    Raises
    ------
    LatentiaError
        If there is no such file, or it holds no item.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from latentia.datasets.baskets import read_baskets
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "receipts.txt"
    ...     _ = path.write_text("milk, bread\nbeer\n")
    ...     read_baskets(path)
    ([['milk', 'bread'], ['beer']], [1, 2])
    """
    path = Path(path)
    with reusable(path) as source:
        if rows != "wide":
            long_baskets = _read_long_baskets(source, rows, columns, encoding)
            if long_baskets is not None:
                return long_baskets
        baskets, lines, n_empty = _read_lists(source, encoding, empty == "absent")
    if not any(baskets):
        raise LatentiaError("expected lines of items separated by commas, found no items.", source=path)
    if n_empty:
        fact = f"{path}: {n_empty:,} empty lines were left out."
        warn(FileNotice(fact, "empty='absent' keeps them, as baskets without items."))
    return baskets, lines


def _read_lists(path: Path, encoding: str | None, keep: bool) -> tuple[list[list[str]], list[Any], int]:
    """Read a list of items a line, and count the empty lines that are left out."""
    baskets: list[list[str]] = []
    lines, n_empty, skipped = [], 0, 0
    with readable(path), open_unicode(path, "", encoding) as file:
        sample = file.read(_SAMPLE_SIZE)
        file.seek(0)
        separator = max(_SEPARATORS, key=sample.count)
        reader = csv.reader(file, delimiter=separator, skipinitialspace=True)
        try:
            for cells in reader:
                if not cells:
                    skipped += 1
                if cells and skipped:  # empty lines at the end are ignored
                    n_empty += 0 if keep else skipped
                    baskets += [[] for _ in range(skipped)] if keep else []
                    lines += list(range(reader.line_num - skipped, reader.line_num)) if keep else []
                    skipped = 0
                if cells:
                    baskets.append(list(dict.fromkeys(cell.strip() for cell in cells if cell.strip())))
                    lines.append(reader.line_num)
        except csv.Error as error:
            raise LatentiaError(f"{error}.", source=path, place=f"line {reader.line_num}") from error
    return baskets, lines, n_empty


def _read_long_baskets(
    path: Path, rows: str | None, columns: Sequence[str] | None, encoding: str | None
) -> tuple[list[list[str]], list[Any]] | None:
    """Read a table with a row for each item; return None for other files, unless ``rows`` is "long"."""
    if rows is None and (columns is None and not has_columns(path)):
        return None
    try:
        reading = open_reading(path, encoding=encoding, unique=False)
    except LatentiaError:
        if rows == "long":
            raise
        return None
    table = reading.table
    assert table is not None
    names = list(columns) if columns else long_columns(table, reading.columns)
    if names is None or len(names) != 2:
        if rows == "long":
            raise LatentiaError(
                f"which columns name the basket and the item? There are {', '.join(table.names)}; name the two with "
                f"{write_parameter('columns')}.",
                source=path,
            )
        return None
    unknown = [name for name in names if name not in table.names]
    if unknown:
        raise LatentiaError(f"no column {unknown[0]!r}. There are {', '.join(table.names)}.", source=path)
    items_by_basket: dict[str, dict[str, None]] = {}
    for basket, item in zip(*(table.texts(name).to_list() for name in names), strict=True):
        items = items_by_basket.setdefault(basket.strip(), {})
        if item.strip():
            items[item.strip()] = None
    fact = f"{path}: was read with a row for each item: rows with the same {names[0]!r} are a basket of {names[1]!r}."
    warn(FileNotice(fact, "rows='wide' reads a basket a row.", parameter="rows"))
    return [list(items) for items in items_by_basket.values()], list(items_by_basket)
