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
    find_encoding,
    known_encoding,
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

_NAMED = 5  # files that a note names
_PAGE = 100  # lines of a text that is looked at
_WRAPPED = 0.3  # of its lines that begin with a small letter: those of running text
_WIDEST = 120  # characters of its lines


@dataclass(frozen=True)
class Texts:
    """Documents as texts. They are iterated and indexed as their list; a slice keeps names and columns.

    Attributes
    ----------
    texts : list of str
    names : list of str
        A name for every document: its file, or its line, and its chapter.
    source : str
        Where they came from.
    skipped : list of str
        Files of a folder that are not among them, as they cannot be read as text.
    columns : dict of lists of str
        What else is known of every document: the other columns of a table, or those of a file of metadata.
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
    def __getitem__(self, which: SupportsIndex) -> str: ...

    @overload
    def __getitem__(self, which: slice) -> Texts: ...

    def __getitem__(self, which: SupportsIndex | slice) -> str | Texts:
        if isinstance(which, slice):
            return self._with(self.texts[which], self.names[which], range(len(self))[which])
        return self.texts[which]

    def _with(self, texts: list[str], names: list[str], rows: Sequence[int]) -> Texts:
        """Other texts, each with the columns of a row of these."""
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
        Of a CSV or TSV file, separated by whatever, or an Excel workbook; by default one named text, or the only one. The
        other columns become ``columns``.
    split : "chapter", "paragraph" or int, optional
        Cut every text into documents; a file that is no table is one text then. "chapter" cuts at headings such as
        "CHAPTER I", "Kapitel 2" or "III." on a line of their own; "paragraph" at blank lines, where short paragraphs are
        joined until they have 100 words; a number after that many words.
    metadata : path, optional
        A CSV or TSV file or Excel workbook about the documents: a row for each, in their order, or one that names it in the
        first column. Its columns become ``columns``. Any other file has one value a line.
    encoding : str, optional
        By default UTF-8, or UTF-16 where a mark says so; what is neither is read as Windows-1252, with a `FileNotice`.

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
    texts, about = _with_metadata(texts, about)
    if of_lines:
        texts, about = _with_metadata(_without_blank(texts), about)
    if split is not None:
        texts, about = _with_metadata(_cut(texts, split), about)
    if about is not None:
        raise about.refuse(texts.names, len(texts))
    return texts


def _read_texts(source: Path, column: str | None, encoding: str | None, whole: bool, metadata: Any) -> Texts:
    """One text of a file without columns if ``whole``, else one a line, blank ones among them."""
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
        raise LatentiaError("the file has no text in it.", source=source)
    if whole:
        return Texts(["\n".join(lines)], [source.name], source.name)
    return Texts(lines, [f"line {i}" for i in range(1, len(lines) + 1)], source.name)


def _with_metadata(texts: Texts, about: Metadata | None) -> tuple[Texts, Metadata | None]:
    """The texts with columns of metadata, if these have rows for them; else both as they are."""
    columns = None if about is None else about.of(texts.names, len(texts))
    if about is None or columns is None:
        return texts, about
    double = [name for name in columns if name in texts.columns]
    if double:
        raise LatentiaError(f"a column {double[0]!r}, which {texts.source} has too. Rename one.", source=about.source)
    return replace(texts, columns=texts.columns | columns), None


def _without_blank(texts: Texts) -> Texts:
    kept = [i for i, text in enumerate(texts.texts) if text.strip()]
    if len(kept) == len(texts):
        return texts
    return texts._with([texts.texts[i] for i in kept], [texts.names[i] for i in kept], kept)


def _cut(texts: Texts, split: str | int) -> Texts:
    """The parts of every text, called by its name and theirs."""
    pieces = [cut_text(text, split) for text in texts.texts]
    whole = [name for name, found in zip(texts.names, pieces, strict=True) if not found]
    if len(whole) == len(texts):
        raise LatentiaError(
            "no headings of chapters were found: lines of their own such as 'CHAPTER I', 'Chapter 1. Home' or "
            "'I.', with a blank line before. Use 'paragraph', which cuts at blank lines, or a number of words.",
            source=texts.source,
            parameter="split",
            value=split,
        )
    found, names, rows = [], [], []
    for i, (name, text) in enumerate(zip(texts.names, texts.texts, strict=True)):
        name = strip_compression(name)
        for label, piece in pieces[i] or ([("", text)] if text.strip() else []):
            found.append(piece)
            names.append(f"{name}, {label}" if label else name)
            rows.append(i)
    if split == "chapter" and whole:
        more = f" and {len(whole) - _NAMED} more" if len(whole) > _NAMED else ""
        warn(
            FileNotice(
                f"{texts.source}: {len(whole)} of {len(texts)} texts have no headings of chapters and stay whole: "
                f"{', '.join(whole[:_NAMED])}{more}."
            )
        )
    return texts._with(found, names, rows)


def tell_of_pages(source: Path, lines: Sequence[str]) -> None:
    """Say that lines look like those of pages, and not like documents."""
    filled = [line for line in lines if line.strip()]
    small = sum(line.lstrip()[0].islower() for line in filled)
    if len(filled) >= _PAGE and small > _WRAPPED * len(filled) and max(map(len, filled)) <= _WIDEST:
        warn(
            FileNotice(
                f"{source}: was read with a document per line, and looks like running text.",
                "split='chapter', split='paragraph' or split=500 cuts it into chapters, paragraphs, or as many words.",
                parameter="split",
            )
        )


def read_lines(path: Path, encoding: str | None = None) -> list[str]:
    """The lines of a text file, without line breaks.

    Parameters
    ----------
    path : str or path
        The file or folder.
    encoding : str, optional
        Of the file; detected by default.

    Returns
    -------
    list of str
    """
    with open_unicode(path, None, encoding) as file:
        return [line.rstrip("\n") for line in file]


# --- folders ----------------------------------------------------------------------------------------------------


def _read_folder(source: Path, encoding: str | None, other: Path | None) -> Texts:
    """The texts of all files but ``other``."""
    with readable(source):
        files = sorted(p for p in source.rglob("*") if p.is_file() and not _hidden(p.relative_to(source)))
        files = [file for file in files if other is None or real_path(file) != other]
    if not files:
        raise LatentiaError("the folder has no files.", source=source)
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
            error.source = None  # The folder is named once for all.
            problems.append((name, error.message))
            continue
        names.append(name)
        western += [name] if encoding is None and found == "cp1252" else []
    if not texts:
        raise LatentiaError(
            f"none of its {len(files)} files can be read as text. {problems[0][0]}: {problems[0][1]}", source=source
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
                parameter="encoding",
            )
        )


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") or part.endswith(CACHE_SUFFIX) for part in path.parts)


# --- columns ----------------------------------------------------------------------------------------------------


def _read_column(path: Path, column: str | None, encoding: str | None) -> Texts:
    reading = open_reading(path, encoding=encoding, unique=False)
    table = reading.table
    assert table is not None
    name = _text_column(path, reading, column)
    others = {other: reading.texts(other) for other in table.names if other != name}
    names = [] if reading.column(name).role == "id" else reading.row_names
    names = names or [f"{table.unit} {row}" for row in table.rows]
    return Texts(reading.texts(name), names, path.name, columns=others)


def _text_column(path: Path, reading: Reading, column: str | None) -> str:
    """Return the column of texts: the one that is named, or is called text, or is the only one of texts."""
    names = [one.name for one in reading.columns]
    if column is not None:
        if column not in names:
            raise LatentiaError(f"no column {column!r}. There are {', '.join(names)}.", source=path)
        return column
    called = [name for name, role in reading.asked.roles.items() if role == "text"]
    called = called or [name for name in names if name.lower() == "text"] or (names if len(names) == 1 else [])
    texts = called or [one.name for one in reading.columns if one.role == "text"]
    if len(texts) != 1:
        raise LatentiaError(
            f"which column holds the text? There are {', '.join(names)}; name one of them.",
            source=path,
            parameter="column",
            value=None,
        )
    return texts[0]
