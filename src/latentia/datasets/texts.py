"""Readers of texts: folders of files, one document per line, CSV and TSV files with a text column."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ..exceptions import LatentiaError
from ..passes.formats import CACHE_SUFFIX, open_unicode, reusable
from ._csv import csv_rows, is_csv

__all__ = ["Texts", "read_lines", "read_texts"]


@dataclass(frozen=True)
class Texts:
    """Documents as texts.

    Attributes
    ----------
    texts : list of str
    names : list of str
        A name for every document: its file, or its line.
    source : str
        Where they came from.
    """

    texts: list[str]
    names: list[str]
    source: str

    def __len__(self) -> int:
        return len(self.texts)


def read_texts(path: str | os.PathLike[str], *, column: str | None = None) -> Texts:
    """Read texts from a folder (a document a file), a CSV or TSV file, or a file with one document a line.

    A pipe is read to its end; ``-`` is standard input.
    """
    with reusable(path) as source:
        return _read_texts(source, column)


def _read_texts(source: Path, column: str | None) -> Texts:
    if source.is_dir():
        files = sorted(p for p in source.rglob("*") if p.is_file() and not _hidden(p.relative_to(source)))
        if not files:
            raise LatentiaError(f"{source}: the folder has no files.")
        texts = [_read(file) for file in files]
        return Texts(texts, [str(file.relative_to(source)) for file in files], source.name)
    if is_csv(source):
        return _read_csv(source, column)
    lines = read_lines(source)
    kept = [(i, line) for i, line in enumerate(lines, 1) if line.strip()]
    if not kept:
        raise LatentiaError(f"{source}: the file has no text in it.")
    return Texts([line for _, line in kept], [f"line {i}" for i, _ in kept], source.name)


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") or part.endswith(CACHE_SUFFIX) for part in path.parts)


def read_lines(path: Path) -> list[str]:
    """The lines of a text file, without their ends."""
    with open_unicode(path, newline=None) as file:
        return [line.rstrip("\n") for line in file]


def _read(path: Path) -> str:
    with open_unicode(path) as file:
        return file.read()


def _read_csv(path: Path, column: str | None) -> Texts:
    with open_unicode(path) as file:
        rows = csv_rows(path, file)
        header = next(rows, (1, []))[1]
        if not header:
            raise LatentiaError(f"{path}: the file is empty.")
        place = _text_column(path, header, column)
        found = [(row[place], f"line {first}") for first, row in rows]
    if not found:
        raise LatentiaError(f"{path}: there are no rows below the header.")
    return Texts([text for text, _ in found], [name for _, name in found], path.name)


def _text_column(path: Path, header: list[str], column: str | None) -> int:
    if column is None:
        if len(header) == 1:
            for other in (";", "\t"):
                if other in header[0]:
                    raise LatentiaError(f"{path}: separated by {other!r}? Save it with commas, or with tabs as .tsv.")
            return 0
        lowered = [name.strip().lower() for name in header]
        if "text" not in lowered:
            raise LatentiaError(
                f"{path}: which column holds the text? There are {', '.join(header)}; name one of them."
            )
        return lowered.index("text")
    if column not in header:
        raise LatentiaError(f"{path}: no column {column!r}. There are {', '.join(header)}.")
    return header.index(column)
