"""Corpora: texts whose words are counted, and tables of counts.

Texts are tokenised by scikit-learn's `CountVectorizer`. Tables of counts (UCI bag of words, MatrixMarket) are read
through the binary cache, see `latentia.passes.Blocks.from_files`.
"""

from __future__ import annotations

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
from ..passes.formats import detect_format, no_encoding, plain_name, readable, reusable
from ._csv import has_columns
from .texts import Texts, read_lines, read_texts

__all__ = ["Corpus", "Texts", "count_words", "read_corpus", "read_lines", "read_texts", "vocabulary_array"]

_TOKEN = r"(?u)\b[^\W\d_]{3,}\b"
_TABLE_SUFFIXES = (".mtx", ".parquet")


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
    cache: str | os.PathLike[str] | bool | None = None,
    encoding: str | None = None,
    vocabulary: str | os.PathLike[str] | None = None,
    progress: bool = False,
    **vectorizer: Any,
) -> Corpus:
    """Read a corpus of any form that the command line takes.

    Parameters
    ----------
    path : path
        A folder of text files, or of a bag of words and its vocabulary; a CSV or TSV file or Excel workbook with a text
        column; a text file with one document a line; a UCI bag of words or MatrixMarket file. ``.gz`` is read as it is. A pipe
        is read to its end; ``-`` is standard input.
    column : str, optional
        Text column of a table; by default one named text, or the only one.
    cache : path or bool, optional
        Folder for the binary cache of tables of counts; by default beside the file. False keeps none.
    encoding : str, optional
        Of texts, or of the vocabulary, see `read_texts`.
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
        piped = source != Path(path)
        source = _table_in(source) or source
        table = _is_table(source)
        if table and column is not None:
            raise LatentiaError(f"{source}: a table of counts has no text column; leave {column!r} out.")
        if vocabulary is not None and not table:
            raise LatentiaError(f"{source}: holds texts, which bring their own words; leave the vocabulary out.")
        if table and vocabulary is None and encoding is not None:
            raise no_encoding(source, encoding)
        if not table:
            return count_words(read_texts(source, column=column, encoding=encoding), **vectorizer)
        blocks = Blocks.from_files(source, cache=False if piped else cache, progress=progress)
        return _table_corpus(blocks, vocabulary, source, encoding)


def _table_corpus(
    blocks: Blocks, vocabulary: str | os.PathLike[str] | None, source: Path, encoding: str | None
) -> Corpus:
    words = blocks.names if vocabulary is None else read_lines(Path(vocabulary), encoding)
    if words is not None and len(words) != blocks.shapes[0][1]:
        raise LatentiaError(
            f"{vocabulary}: {len(words)} words, and {source} has {blocks.shapes[0][1]} columns: they must agree."
        )
    return Corpus(blocks, words, None, None, source.name)


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
        Words to leave out; a sequence is added to the English ones. There are no lists of other languages.
    min_df, max_df : int or float
        Leave out words in fewer, or more, documents than this; a float is a share of the documents.
    max_features : int, optional
        Keep the most frequent words only.
    """
    documents = texts if isinstance(texts, Texts) else Texts(list(texts), [], "texts")
    if not len(documents):
        raise LatentiaError(f"{documents.source}: the corpus is empty.")
    if isinstance(stop_words, str) and stop_words != "english":
        raise LatentiaError(
            "the only list that comes with the library is 'english'. Give a sequence of words, or None.",
            parameter="stop_words",
            value=stop_words,
        )
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


def _table_in(folder: Path) -> Path | None:
    """The bag of words in a folder that holds one, and besides it a vocabulary at most."""
    if not folder.is_dir() or read_header(folder) is not None:
        return None
    with readable(folder):
        files = [file for file in folder.iterdir() if not file.name.startswith(".") and file.is_file()]
    tables = [file for file in files if file.name.startswith("docword") or plain_name(file).endswith(".mtx")]
    others = [file for file in files if file not in tables and not file.name.startswith("vocab")]
    return tables[0] if len(tables) == 1 and not others else None


def _is_table(path: Path) -> bool:
    if path.is_dir():
        return read_header(path) is not None
    if plain_name(path).endswith(_TABLE_SUFFIXES):
        return True
    if has_columns(path):
        return False
    try:
        return detect_format(path) in ("uci", "matrixmarket")
    except LatentiaError:
        return False


def vocabulary_array(vocabulary: Sequence[str] | None, n_words: int) -> np.ndarray:
    """The words of the columns; their numbers where they have no names."""
    return np.asarray(vocabulary if vocabulary is not None else [f"word {i}" for i in range(n_words)], dtype=object)
