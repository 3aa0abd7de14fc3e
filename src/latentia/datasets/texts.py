"""Readers of texts: folders of files, one document per line, separated values and workbooks with a text column."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, SupportsIndex, overload

from ..exceptions import DroppedDataWarning, FileNotice, LatentiaError, warn
from ..passes.formats import (
    CACHE_SUFFIX,
    check_encoding,
    find_encoding,
    open_text,
    open_unicode,
    readable,
    reusable,
)
from ..reading import Reading, has_columns, open_reading
from ..system.compressed import strip_compression
from ..system.scratch import real_path
from ._metadata import Metadata, read_metadata
from ._split import check_split, cut_text

_N_NAMED = 5  # files in a notice
_MIN_PAGE_LINES = 100  # lines of a text from which it is checked for running text
_MIN_WRAPPED_SHARE = 0.3  # share of lines that begin with a small letter in running text
_MAX_PAGE_WIDTH = 120  # characters of a line of running text


@dataclass(frozen=True)
class Texts:
    """Documents as texts, iterated and indexed like a list; a slice keeps names and columns.

    Attributes
    ----------
    texts : list of str
    names : list of str
        Name of every document: its file or line, and its chapter.
    source : str
        Name of the file.
    skipped : list of str
        Files of a folder that cannot be read as text.
    columns : dict of lists of str
        Further columns about the documents: the other columns of a table, or those of a file of metadata.
    """

    texts: list[str]
    names: list[str]
    source: str
    skipped: list[str] = field(default_factory=list)
    columns: dict[str, list[str]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.texts)

    def __iter__(self) -> Iterator[str]:
        return iter(self.texts)

    @overload
    def __getitem__(self, index: SupportsIndex) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> Texts: ...

    def __getitem__(self, index: SupportsIndex | slice) -> str | Texts:
        if isinstance(index, slice):
            return self._replace_texts(self.texts[index], self.names[index], range(len(self))[index])
        return self.texts[index]

    def _replace_texts(self, texts: list[str], names: list[str], rows: Sequence[int]) -> Texts:
        """Return other texts, each with the columns of one of these rows."""
        columns = {name: [column[i] for i in rows] for name, column in self.columns.items()}
        return replace(self, texts=texts, names=names, columns=columns)


def read_texts(
    path: str | os.PathLike[str],
    *,
    column: str | None = None,
    split: str | int | None = None,
    metadata: str | os.PathLike[str] | None = None,
    encoding: str | None = None,
) -> Texts:
    """Read texts from a folder (a document a file), a table with a text column, or a file with one document a line.

    Files of a folder that are not text are left out with a warning. A pipe is read to its end; ``-`` is standard input.

    Parameters
    ----------
    path : path
    column : str, optional
        Text column of a CSV or TSV file or an Excel workbook; by default one named text, or the only one. The other columns
        become ``columns``.
    split : "chapter", "paragraph" or int, optional
        Cut every text into documents; a file that is no table is then one text. "chapter" cuts at headings such as
        "CHAPTER I", "Kapitel 2" or "III." on a line of their own; "paragraph" at blank lines, where short paragraphs are
        joined until they have 100 words; a number after that many words.
    metadata : path, optional
        A CSV or TSV file or Excel workbook about the documents: a row for each, in their order, or one that names it in the
        first column. Its columns become ``columns``. Any other file has one value a line.
    encoding : str, optional
        By default UTF-8, or UTF-16 with a byte order mark; other files are read as Windows-1252, with a `FileNotice`.

    Returns
    -------
    Texts

    Raises
    ------
    LatentiaError
        If the file cannot be read as one of these formats. The message names the file, the line and the column.
    """
    check_split(split)
    about = None if metadata is None else read_metadata(Path(metadata), encoding)
    with reusable(path) as source:
        texts = _read_texts(source, column, encoding, split is not None, metadata)
        of_lines = source.is_file() and not has_columns(source)
    texts, about = _add_metadata(texts, about)
    if of_lines:
        texts, about = _add_metadata(_drop_blank(texts), about)
    if split is not None:
        texts, about = _add_metadata(_cut_texts(texts, split), about)
    if about is not None:
        raise about.refuse(texts.names, len(texts))
    return texts


def _read_texts(source: Path, column: str | None, encoding: str | None, as_one: bool, metadata: Any) -> Texts:
    """Read texts; a file without columns is one text if ``as_one``, else one text a line, including blank ones."""
    if column is not None and not has_columns(source):
        raise LatentiaError(
            f"has no columns. Leave {column!r} out, or name a table .csv, .tsv or .xlsx.", source=source
        )
    if source.is_dir():
        return _read_folder(source, encoding, None if metadata is None else real_path(metadata))
    if has_columns(source):
        return _read_column(source, column, encoding)
    lines = read_lines(source, encoding)
    if not any(line.strip() for line in lines):
        raise LatentiaError("expected text, found an empty file.", source=source)
    if as_one:
        return Texts(["\n".join(lines)], [source.name], source.name)
    return Texts(lines, [f"line {i}" for i in range(1, len(lines) + 1)], source.name)


def _add_metadata(texts: Texts, about: Metadata | None) -> tuple[Texts, Metadata | None]:
    """Add columns of metadata to the texts, if these have rows for them; else return both unchanged."""
    columns = None if about is None else about.align(texts.names, len(texts))
    if about is None or columns is None:
        return texts, about
    double = [name for name in columns if name in texts.columns]
    if double:
        raise LatentiaError(f"a column {double[0]!r}, which {texts.source} has too. Rename one.", source=about.source)
    return replace(texts, columns=texts.columns | columns), None


def _drop_blank(texts: Texts) -> Texts:
    filled = [i for i, text in enumerate(texts.texts) if text.strip()]
    if len(filled) == len(texts):
        return texts
    return texts._replace_texts([texts.texts[i] for i in filled], [texts.names[i] for i in filled], filled)


def _cut_texts(texts: Texts, split: str | int) -> Texts:
    """Cut every text into parts, with names of the text and the part."""
    pieces = [cut_text(text, split) for text in texts.texts]
    uncut = [name for name, parts in zip(texts.names, pieces, strict=True) if not parts]
    if len(uncut) == len(texts):
        raise LatentiaError(
            "expected headings of chapters, found none: separate lines such as 'CHAPTER I', 'Chapter 1. Home' or 'I.', with a "
            "blank line before. Use 'paragraph', which cuts at blank lines, or a number of words.",
            source=texts.source,
            parameter="split",
            value=split,
        )
    parts, names, rows = [], [], []
    for i, (name, text) in enumerate(zip(texts.names, texts.texts, strict=True)):
        name = strip_compression(name)
        for label, piece in pieces[i] or ([("", text)] if text.strip() else []):
            parts.append(piece)
            names.append(f"{name}, {label}" if label else name)
            rows.append(i)
    if split == "chapter" and uncut:
        rest = f" and {len(uncut) - _N_NAMED} more" if len(uncut) > _N_NAMED else ""
        warn(
            FileNotice(
                f"{texts.source}: {len(uncut)} of {len(texts)} texts have no headings of chapters and are not cut: "
                f"{', '.join(uncut[:_N_NAMED])}{rest}."
            )
        )
    return texts._replace_texts(parts, names, rows)


def report_pages(source: Path, lines: Sequence[str]) -> None:
    """Issue a notice if lines look like running text rather than documents."""
    filled = [line for line in lines if line.strip()]
    small = sum(line.lstrip()[0].islower() for line in filled)
    if (
        len(filled) >= _MIN_PAGE_LINES
        and small > _MIN_WRAPPED_SHARE * len(filled)
        and max(map(len, filled)) <= _MAX_PAGE_WIDTH
    ):
        warn(
            FileNotice(
                f"{source}: was read with a document per line, and looks like running text.",
                "split='chapter', split='paragraph' or split=500 cuts it into chapters, paragraphs, or as many words.",
                parameter="split",
            )
        )


def read_lines(path: Path, encoding: str | None = None) -> list[str]:
    """Return the lines of a text file, without line breaks.

    Parameters
    ----------
    path : str or path
        The file or folder.
    encoding : str, optional
        Encoding of the file; detected by default.

    Returns
    -------
    list of str
    """
    with open_unicode(path, None, encoding) as file:
        return [line.rstrip("\n") for line in file]


# --- folders ----------------------------------------------------------------------------------------------------


def _read_folder(source: Path, encoding: str | None, excluded: Path | None) -> Texts:
    """Read the texts of all files but ``excluded``."""
    with readable(source):
        files = sorted(p for p in source.rglob("*") if p.is_file() and not _is_hidden(p.relative_to(source)))
        files = [file for file in files if excluded is None or real_path(file) != excluded]
    if not files:
        raise LatentiaError("the folder has no files.", source=source)
    if encoding is not None:
        check_encoding(encoding)
    texts, names, problems, western = [], [], [], []
    for file in files:
        name = str(file.relative_to(source))
        try:
            with readable(file), open_text(file) as binary:
                used_encoding = find_encoding(file, binary, encoding)
            with open_unicode(file, encoding=used_encoding) as text:
                texts.append(text.read())
        except LatentiaError as error:
            error.source = None  # the folder is named once
            problems.append((name, error.message))
            continue
        names.append(name)
        western += [name] if encoding is None and used_encoding == "cp1252" else []
    if not texts:
        raise LatentiaError(
            f"none of its {len(files)} files can be read as text. {problems[0][0]}: {problems[0][1]}", source=source
        )
    _report_files(source, len(files), problems, western)
    return Texts(texts, names, source.name, [name for name, _ in problems])


def _report_files(source: Path, n_files: int, problems: list[tuple[str, str]], western: list[str]) -> None:
    """Issue warnings about files that were left out, or are not UTF-8."""
    if problems:
        problem_list = "; ".join(f"{name}: {problem.rstrip('.')}" for name, problem in problems[:_N_NAMED])
        rest = f"; and {len(problems) - _N_NAMED} more" if len(problems) > _N_NAMED else ""
        warn(f"{source}: {len(problems)} of {n_files} files were left out. {problem_list}{rest}.", DroppedDataWarning)
    if western:
        rest = f" and {len(western) - _N_NAMED} more" if len(western) > _N_NAMED else ""
        warn(
            FileNotice(
                f"{source}: not UTF-8 and read as Windows-1252 (Latin-1): {', '.join(western[:_N_NAMED])}{rest}.",
                "encoding= names another.",
                parameter="encoding",
            )
        )


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") or part.endswith(CACHE_SUFFIX) for part in path.parts)


# --- columns ----------------------------------------------------------------------------------------------------


def _read_column(path: Path, column: str | None, encoding: str | None) -> Texts:
    reading = open_reading(path, encoding=encoding, unique=False)
    table = reading.table
    assert table is not None
    name = _find_text_column(path, reading, column)
    other_columns = {column_name: reading.texts(column_name) for column_name in table.names if column_name != name}
    names = [] if reading.column(name).role == "id" else reading.row_names
    names = names or [f"{table.unit} {row}" for row in table.rows]
    return Texts(reading.texts(name), names, path.name, columns=other_columns)


def _find_text_column(path: Path, reading: Reading, column: str | None) -> str:
    """Return the text column: the requested one, or the one named text, or the only one of texts."""
    names = [info.name for info in reading.columns]
    if column is not None:
        if column not in names:
            raise LatentiaError(f"no column {column!r}. There are {', '.join(names)}.", source=path)
        return column
    candidates = [name for name, role in reading.column_options.roles.items() if role == "text"]
    candidates = candidates or [name for name in names if name.lower() == "text"] or (names if len(names) == 1 else [])
    texts = candidates or [info.name for info in reading.columns if info.role == "text"]
    if len(texts) != 1:
        raise LatentiaError(
            f"which column holds the text? There are {', '.join(names)}; name one of them.",
            source=path,
            parameter="column",
            value=None,
        )
    return texts[0]
