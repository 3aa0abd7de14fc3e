"""UCI bag of words: three header lines (documents, words, entries), then ``document word count`` from 1."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...exceptions import LatentiaError
from ._sizes import check_shape, parse_header_number
from ._text import open_lines, quote_line
from ._triples import Triples, convert_triples


def convert(path: Path, folder: Path, source: dict[str, Any], progress: bool, options: dict[str, Any]) -> None:
    """Convert one table of counts, with the vocabulary beside it."""
    with open_lines(path) as file:
        header = [file.readline().strip() for _ in range(3)]
    for number, text in enumerate(header, 1):
        if not text.isdigit():
            raise LatentiaError(
                f"expected the number of {('documents', 'words', 'entries')[number - 1]}, found {quote_line(text)}.",
                source=path,
                place=f"line {number}",
            )
    n_rows, n_columns, nnz = (parse_header_number(path, number, text) for number, text in enumerate(header, 1))
    check_shape(path, "lines 1 and 2", (n_rows, n_columns))
    names = "document word count"
    triples = Triples(path, 3, (n_rows, n_columns), nnz, "int32", names=names)
    convert_triples(triples, folder, source, progress)
