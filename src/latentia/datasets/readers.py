"""Readers of corpora: folders of texts, one document a line, CSV with a text column, and tables of counts.

Texts are tokenised by scikit-learn's `CountVectorizer`. Tables of counts (UCI bag of words, MatrixMarket) are read
through the binary cache, see `latentia.passes.Blocks.from_files`.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer

from ..exceptions import LatentiaError
from ..passes import Blocks
from ..passes.cache import read_header
from ..passes.formats import CACHE_SUFFIX, detect_format, open_text, readable, reusable

__all__ = ["Corpus", "Texts", "count_words", "read_corpus", "read_texts"]

_TOKEN = r"(?u)\b[^\W\d_]{3,}\b"
_TABLE_SUFFIXES = (".mtx", ".parquet")


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


@dataclass(frozen=True)
class Corpus:
    """A corpus as counts.

    Attributes
    ----------
    blocks : Blocks
        Documents by words.
    vocabulary : list of str or None
        Words of the columns.
    names : list of str or None
        Names of the documents.
    texts : list of str or None
        The texts, where the source had them.
    source : str
        Where it came from.
    """

    blocks: Blocks
    vocabulary: list[str] | None
    names: list[str] | None
    texts: list[str] | None
    source: str

    @property
    def counts(self) -> Any:
        """All counts as one matrix, shape (n_documents, V)."""
        return self.blocks.table()


def read_corpus(
    path: str | os.PathLike[str],
    *,
    column: str | None = None,
    cache: str | os.PathLike[str] | None = None,
    vocabulary: str | os.PathLike[str] | None = None,
    progress: bool = False,
    **vectorizer: Any,
) -> Corpus:
    """Read a corpus of any form that the command line takes.

    Parameters
    ----------
    path : path
        A folder of text files; a CSV or TSV file with a text column; a text file with one document a line; a UCI bag
        of words or MatrixMarket file. ``.gz`` is read as it is. A pipe is read to its end; ``-`` is standard input.
    column : str, optional
        Text column of a CSV file; by default one named text, or the only one.
    cache : path, optional
        Folder for the binary cache of tables; by default beside the file.
    vocabulary : path, optional
        A file with one word a line, for tables of counts without one.
    **vectorizer
        Passed to `count_words`: ``stop_words``, ``min_df``, ``max_df``, ``max_features``.
    """
    with reusable(path) as source:
        with readable(source):
            found = source.exists()
        if not found:
            raise LatentiaError(f"{source}: no such file or folder.")
        table = _is_table(source)
        if table and column is not None:
            raise LatentiaError(f"{source}: a table of counts has no text column; leave {column!r} out.")
        if vocabulary is not None and not table:
            raise LatentiaError(f"{source}: holds texts, which bring their own words; leave the vocabulary out.")
        if not table:
            return count_words(_read_texts(source, column), **vectorizer)
        blocks = Blocks.from_files(source, cache=cache if source == Path(path) else None, progress=progress)
        return _table_corpus(blocks, vocabulary, source)


def _table_corpus(blocks: Blocks, vocabulary: str | os.PathLike[str] | None, source: Path) -> Corpus:
    words = blocks.names if vocabulary is None else read_lines(Path(vocabulary))
    if words is not None and len(words) != blocks.shapes[0][1]:
        raise LatentiaError(
            f"{vocabulary}: {len(words)} words, and {source} has {blocks.shapes[0][1]} columns: they must agree."
        )
    return Corpus(blocks, words, None, None, source.name)


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
        texts = [_decode(_read_bytes(file), file) for file in files]
        return Texts(texts, [str(file.relative_to(source)) for file in files], source.name)
    suffix = source.name.removesuffix(".gz").rsplit(".", 1)[-1].lower()
    if suffix in ("csv", "tsv"):
        return _read_csv(source, "," if suffix == "csv" else "\t", column)
    lines = read_lines(source)
    kept = [(i, line) for i, line in enumerate(lines, 1) if line.strip()]
    if not kept:
        raise LatentiaError(f"{source}: the file has no text in it.")
    return Texts([line for _, line in kept], [f"line {i}" for i, _ in kept], source.name)


def count_words(
    texts: Texts | Sequence[str],
    *,
    stop_words: str | Sequence[str] | None = "english",
    min_df: int | float = 2,
    max_df: int | float = 0.5,
    max_features: int | None = None,
) -> Corpus:
    """Count the words of texts: lower case, letters only, three letters or more.

    Parameters
    ----------
    texts : Texts or sequence of str
    stop_words : "english", sequence of str, or None
        Words to leave out; a sequence is added to the English ones.
    min_df, max_df : int or float
        Leave out words in fewer, or more, documents than this; a float is a share of the documents.
    max_features : int, optional
        Keep the most frequent words only.
    """
    documents = texts if isinstance(texts, Texts) else Texts(list(texts), [], "texts")
    if not len(documents):
        raise LatentiaError(f"{documents.source}: the corpus is empty.")
    stops = None if stop_words is None else set(ENGLISH_STOP_WORDS)
    if stops is not None and not isinstance(stop_words, str):
        stops |= {word.lower() for word in stop_words or ()}
    vectorizer = CountVectorizer(
        token_pattern=_TOKEN, stop_words=sorted(stops) if stops else None, min_df=min_df, max_df=max_df,
        max_features=max_features,
    )  # fmt: skip
    try:
        counts = vectorizer.fit_transform(documents.texts)
    except ValueError as error:
        raise LatentiaError(
            f"{documents.source}: no words are left of {len(documents)} documents after stop words and document frequencies "
            f"(min_df={min_df}, max_df={max_df}): {error}"
        ) from error
    words = [str(word) for word in vectorizer.get_feature_names_out()]
    names = documents.names or [f"document {i}" for i in range(1, len(documents) + 1)]
    return Corpus(Blocks.from_array(counts, names=words), words, names, documents.texts, documents.source)


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") or part.endswith(CACHE_SUFFIX) for part in path.parts)


def read_lines(path: Path) -> list[str]:
    """The lines of a text file, without their ends."""
    return [line.rstrip("\n") for line in io.StringIO(_decode(_read_bytes(path), path), newline=None)]


def _is_table(path: Path) -> bool:
    name = path.name.removesuffix(".gz").lower()
    if path.is_dir():
        return read_header(path) is not None
    if name.endswith(_TABLE_SUFFIXES):
        return True
    if name.endswith((".csv", ".tsv")):
        return False
    try:
        return detect_format(path) in ("uci", "matrixmarket")
    except LatentiaError:
        return False


def _read_csv(path: Path, delimiter: str, column: str | None) -> Texts:
    csv.field_size_limit(1 << 30)
    reader = csv.reader(io.StringIO(_decode(_read_bytes(path), path), newline=""), delimiter=delimiter, strict=True)
    texts, names, first = [], [], 1
    try:
        header = next(reader, None)
        if not header:
            raise LatentiaError(f"{path}: the file is empty.")
        place = _text_column(path, header, column)
        first = reader.line_num + 1
        for row in reader:
            if row and len(row) != len(header):
                raise LatentiaError(
                    f"{path}, line {first}: {len(row)} fields, and the header has {len(header)}. Put texts with "
                    f"{delimiter!r} or quotes in them in double quotes."
                )
            if row:
                texts.append(row[place])
                names.append(f"line {first}")
            first = reader.line_num + 1
    except csv.Error as error:
        raise LatentiaError(f"{path}, line {first}: not readable as CSV ({error}). Is a quote not closed?") from error
    if not texts:
        raise LatentiaError(f"{path}: there are no rows below the header.")
    return Texts(texts, names, path.name)


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
                f"{path}: which column holds the text? There are {', '.join(header)}; name one with --column."
            )
        return lowered.index("text")
    if column not in header:
        raise LatentiaError(f"{path}: no column {column!r}. There are {', '.join(header)}.")
    return header.index(column)


def _read_bytes(path: Path) -> bytes:
    with readable(path), open_text(path) as file:
        return file.read()


def _decode(data: bytes, path: Path) -> str:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    if b"\0" in data[:4096]:
        raise LatentiaError(f"{path}: not a text file.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise LatentiaError(
            f"{path}, line {line}: not UTF-8 text (byte {data[error.start]:#x}). Save it as UTF-8."
        ) from error


def vocabulary_array(vocabulary: Sequence[str] | None, n_words: int) -> np.ndarray:
    """The words of the columns; their numbers where they have no names."""
    return np.asarray(vocabulary if vocabulary is not None else [f"word {i}" for i in range(n_words)], dtype=object)
