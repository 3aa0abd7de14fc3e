"""Files of baskets: each line lists the items that one row has."""

from __future__ import annotations

import csv
import os
from pathlib import Path

from ..exceptions import LatentiaError
from ..passes.formats import open_unicode, readable

__all__ = ["read_baskets"]

_SEPARATORS, _SAMPLE = ",;\t|", 1 << 16


def read_baskets(path: str | os.PathLike[str], *, encoding: str | None = None) -> tuple[list[list[str]], list[int]]:
    r"""Read a text file in which each line lists the items of one basket, separated by commas, semicolons, tabs or `|`.

    Parameters
    ----------
    path : path
        Items may be quoted; blanks around them and empty items are dropped. Empty lines are baskets without items only if they
        hold a separator; others are left out.
    encoding : str, optional
        By default UTF-8, else what the file looks like.

    Returns
    -------
    baskets : list of lists of str
    lines : list of int
        The line of the file that each basket stands in, from 1.

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
    baskets, lines = [], []
    with readable(path), open_unicode(path, "", encoding) as file:
        sample = file.read(_SAMPLE)
        file.seek(0)
        separator = max(_SEPARATORS, key=sample.count)
        reader = csv.reader(file, delimiter=separator, skipinitialspace=True)
        try:
            for cells in reader:
                if cells:
                    baskets.append(list(dict.fromkeys(cell.strip() for cell in cells if cell.strip())))
                    lines.append(reader.line_num)
        except csv.Error as error:
            raise LatentiaError(f"{path}, line {reader.line_num}: {error}.") from error
    if not any(baskets):
        raise LatentiaError(f"{path}: no items. Each line should list those of one basket, separated by commas.")
    return baskets, lines
