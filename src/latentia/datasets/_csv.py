"""Rows of CSV and TSV files, each with the line where it begins."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path

from ..exceptions import LatentiaError
from ..passes.formats import plain_name

__all__ = ["csv_rows", "delimiter_of", "is_csv"]

_DELIMITERS = {".csv": ",", ".tsv": "\t"}


def is_csv(path: Path) -> bool:
    """Whether the name says that the file is CSV or TSV."""
    return plain_name(path)[-4:] in _DELIMITERS


def delimiter_of(path: Path) -> str:
    """What separates the columns of such a file."""
    return _DELIMITERS[plain_name(path)[-4:]]


def csv_rows(path: Path, lines: Iterable[str], *, even: bool = True) -> Iterator[tuple[int, list[str]]]:
    """The rows that are not empty, each with the line where it begins; if ``even``, all must be as long as the first."""
    csv.field_size_limit(1 << 30)
    delimiter = delimiter_of(path)
    reader = csv.reader(lines, delimiter=delimiter, strict=even)
    first, width = 1, 0
    try:
        for row in reader:
            if row:
                width = width or len(row)
                if even and len(row) != width:
                    raise LatentiaError(
                        f"{path}, line {first}: {len(row)} fields, and the header has {width}. Put fields with "
                        f"{delimiter!r} or quotes in them in double quotes."
                    )
                yield first, row
            first = reader.line_num + 1
    except csv.Error as error:
        raise LatentiaError(f"{path}, line {first}: not readable as CSV ({error}). Is a quote not closed?") from error
