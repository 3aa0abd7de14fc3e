"""Readers of texts: folders of files, one document per line, separated values and workbooks with a text column."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from ..exceptions import DroppedDataWarning, FileNotice, LatentiaError, warn
from ..passes.formats import CACHE_SUFFIX, find_encoding, known_encoding, open_text, open_unicode, readable, reusable
from ._csv import has_columns, open_rows

__all__ = ["Texts", "read_lines", "read_texts"]

_NAMED = 5  # files that a note names


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
    skipped : list of str
        Files of a folder that are not among them, as they cannot be read as text.
    """

    texts: list[str]
    names: list[str]
    source: str
    skipped: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.texts)


def read_texts(path: str | os.PathLike[str], *, column: str | None = None, encoding: str | None = None) -> Texts:
    """Read texts from a folder (a document a file), a table with a text column, or a file with one document a line.

    Files of a folder that are not text are left out with a warning. A pipe is read to its end; ``-`` is standard input.

    Parameters
    ----------
    path : path
    column : str, optional
        Of a CSV or TSV file, separated by whatever, or an Excel workbook; by default one named text, or the only one.
    encoding : str, optional
        By default UTF-8, or UTF-16 where a mark says so; what is neither is read as Windows-1252, with a `FileNotice`.
    """
    with reusable(path) as source:
        return _read_texts(source, column, encoding)


def _read_texts(source: Path, column: str | None, encoding: str | None) -> Texts:
    if column is not None and not has_columns(source):
        raise LatentiaError(f"{source}: has no columns. Leave {column!r} out, or name a table .csv, .tsv or .xlsx.")
    if source.is_dir():
        return _read_folder(source, encoding)
    if has_columns(source):
        return _read_column(source, column, encoding)
    lines = read_lines(source, encoding)
    kept = [(i, line) for i, line in enumerate(lines, 1) if line.strip()]
    if not kept:
        raise LatentiaError(f"{source}: the file has no text in it.")
    return Texts([line for _, line in kept], [f"line {i}" for i, _ in kept], source.name)


def read_lines(path: Path, encoding: str | None = None) -> list[str]:
    """The lines of a text file, without their ends."""
    with open_unicode(path, None, encoding) as file:
        return [line.rstrip("\n") for line in file]


# --- folders ----------------------------------------------------------------------------------------------------


def _read_folder(source: Path, encoding: str | None) -> Texts:
    with readable(source):
        files = sorted(p for p in source.rglob("*") if p.is_file() and not _hidden(p.relative_to(source)))
    if not files:
        raise LatentiaError(f"{source}: the folder has no files.")
    if encoding is not None:
        known_encoding(encoding)
    texts, names, problems, western = [], [], [], []
    for file in files:
        name = str(file.relative_to(source))
        try:
            with readable(file), open_text(file) as binary:
                found = find_encoding(file, binary, encoding)
            with open_unicode(file, encoding=found) as text:
                texts.append(text.read())
        except LatentiaError as error:
            problems.append((name, error.problem.removeprefix(str(file)).lstrip(":, ")))
            continue
        names.append(name)
        western += [name] if encoding is None and found == "cp1252" else []
    if not texts:
        raise LatentiaError(
            f"{source}: none of its {len(files)} files can be read as text. {problems[0][0]}: {problems[0][1]}"
        )
    _tell(source, len(files), problems, western)
    return Texts(texts, names, source.name, [name for name, _ in problems])


def _tell(source: Path, n_files: int, problems: list[tuple[str, str]], western: list[str]) -> None:
    """Say which files were left out, and which are not UTF-8."""
    if problems:
        each = "; ".join(f"{name}: {problem.rstrip('.')}" for name, problem in problems[:_NAMED])
        more = f"; and {len(problems) - _NAMED} more" if len(problems) > _NAMED else ""
        warn(f"{source}: {len(problems)} of {n_files} files were left out. {each}{more}.", DroppedDataWarning)
    if western:
        more = f" and {len(western) - _NAMED} more" if len(western) > _NAMED else ""
        warn(
            FileNotice(
                f"{source}: not UTF-8 and read as Windows-1252 (Latin-1): {', '.join(western[:_NAMED])}{more}.",
                "encoding= names another.",
            )
        )


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") or part.endswith(CACHE_SUFFIX) for part in path.parts)


# --- columns ----------------------------------------------------------------------------------------------------


def _read_column(path: Path, column: str | None, encoding: str | None) -> Texts:
    with open_rows(path, encoding=encoding) as source:
        header = next(source.rows, (1, []))[1]
        if not header:
            raise LatentiaError(f"{path}: the file is empty.")
        place = _text_column(path, header, column)
        found = [(row[place], f"{source.unit} {first}") for first, row in source.rows]
    if not found:
        raise LatentiaError(f"{path}: there are no rows below the header.")
    return Texts([text for text, _ in found], [name for _, name in found], path.name)


def _text_column(path: Path, header: list[str], column: str | None) -> int:
    if column is None:
        if len(header) == 1:
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
