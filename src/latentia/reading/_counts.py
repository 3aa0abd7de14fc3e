"""Tables of counts: one column per word, or one row per document and word."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ..exceptions import LatentiaError
from ._numbers import numbers_of
from ._read import open_reading
from ._tables import RawTable, has_columns

_DOCUMENT_COLUMN = re.compile(
    r"(.*[_ .-])?(doc|document|text|file|id|article|paper)s?(id|_id|_no|_name)?|docid|doc_?id", re.IGNORECASE
)
_WORD_COLUMN = re.compile(r"(term|word|token|feature|gene|lemma|ngram)s?(_?id|_name)?", re.IGNORECASE)
_COUNT_COLUMN = re.compile(r"(n|count|counts|freq|frequency|tf|times|value|occurrences|x)", re.IGNORECASE)
_MIN_COUNT_COLUMNS = 10  # in a table with one column per word


def holds_texts(path: Path) -> bool:
    """Return True if a Parquet table has a column of texts."""
    import polars as pl

    try:
        kinds = pl.read_parquet_schema(path)
    except (pl.exceptions.PolarsError, OSError):
        return False
    return any(kind == pl.String for kind in kinds.values())


def table_counts(path: Path, encoding: str | None = None) -> tuple[Any, list[str], list[str] | None] | None:
    """Read counts of words from a table: values, words and names of documents; None for a table of texts.

    The table has a column of counts per word, or a row with a count per document and word.

    Parameters
    ----------
    path : Path
    encoding : str, optional
    """
    if not path.is_file() or not has_columns(path):
        return None
    reading = open_reading(path, encoding=encoding, unique=False)
    table = reading.table
    assert table is not None
    triples = triple_columns(table)
    if triples is not None:
        return _pivot_triples(table, *triples)
    counts = [
        column.name
        for column in reading.columns
        if column.role == "count" or (column.role == "binary" and column.coding == ("1", "0"))
    ]
    other_columns = [column for column in reading.columns if column.name not in counts]
    if len(counts) < _MIN_COUNT_COLUMNS or any(
        column.role not in ("id", "category", "date", "ignored") for column in other_columns
    ):
        return None
    count_columns = [numbers_of(table.series(name)) for name in counts]
    values = np.column_stack([cells.values for cells in count_columns])
    if np.isnan(values).any():
        return None
    return sparse.csr_array(values), counts, reading.row_names or None


def triple_columns(table: RawTable) -> tuple[str, str, str] | None:
    """Return the columns of documents, words and counts of a table with a row for each document and word."""
    if len(table.names) != 3:
        return None
    word = next((name for name in table.names if _WORD_COLUMN.fullmatch(name)), None)
    rest = [name for name in table.names if name != word]
    count = next((name for name in reversed(rest) if _COUNT_COLUMN.fullmatch(name)), None)
    document = next((name for name in rest if name != count and _DOCUMENT_COLUMN.fullmatch(name)), None)
    return None if word is None or count is None or document is None else (document, word, count)


def _pivot_triples(table: RawTable, document: str, word: str, count: str) -> tuple[Any, list[str], list[str]]:
    numbers = numbers_of(table.series(count))
    wrong = (numbers.values < 0) | (numbers.values % 1 != 0)
    if numbers.wrong is not None or wrong.any():
        row = int(wrong.argmax()) if numbers.wrong is None else numbers.wrong
        cell = table.texts(count)[row]
        raise LatentiaError(
            f"expected a count, a whole number from 0, and found {cell!r}.", value=cell, **table.cell(row, count)
        )
    rows, names = _encode(table.texts(document))
    places, words = _encode(table.texts(word))
    cells = sparse.coo_array((numbers.values, (rows, places)), shape=(len(names), len(words)))
    return sparse.csr_array(cells), words, names


def _encode(column: Any) -> tuple[np.ndarray, list[str]]:
    """Return a code per cell and the distinct cells, numbered in the order of first use."""
    import polars as pl

    names = column.unique(maintain_order=True)
    places = column.replace_strict(names, pl.Series(range(len(names)), dtype=pl.Int64), return_dtype=pl.Int64)
    return places.to_numpy(), names.to_list()
