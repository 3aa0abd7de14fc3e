"""Corpora: texts whose words are counted, and tables of counts.

Texts are counted by `latentia.words.WordVectorizer`. Tables of counts (UCI bag of words, MatrixMarket, Parquet) are read
through the binary cache, see `latentia.passes.Blocks.from_files`, and the columns of words that are left out are cut from each
block as it is read.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..exceptions import FileNotice, LatentiaError, warn
from ..passes import Blocks
from ..passes.cache import read_header
from ..passes.formats import detect_format, no_encoding, plain_name, readable, reusable
from ..reading import has_columns, holds_texts, split_tags, table_counts
from ..words import WordVectorizer
from ._columns import is_stop_word, placed_columns, rare_and_common, selected_columns
from ._metadata import read_metadata
from .texts import Texts, read_lines, read_texts, tell_of_pages

__all__ = [
    "Corpus", "Texts", "choose_words", "count_words", "holds_counts", "read_corpus", "read_lines", "read_texts", "split_tags",
    "vocabulary_array",
]  # fmt: skip

_TABLE_SUFFIXES = (".mtx", ".parquet")
_NAMED = 5  # files that a message names


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
    columns : dict of lists of str
        What else is known of every document, see `Texts`.
    left_out : dict from str to int
        Why words of a table of counts were left out, such as "stop words", and how many.
    n_unknown : float
        How many words of the documents are none of those that were asked for with ``words=``.
    """

    blocks: Blocks
    vocabulary: list[str] | None
    names: list[str] | None
    texts: list[str] | None
    source: str
    columns: dict[str, list[str]] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    n_unknown: float = 0

    @property
    def counts(self) -> Any:
        """All counts as one matrix, shape (n_documents, V)."""
        return self.blocks.table()


def read_corpus(
    path: str | os.PathLike[str],
    *,
    column: str | None = None,
    split: str | int | None = None,
    metadata: str | os.PathLike[str] | None = None,
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
        column; a text file with one document a line; a UCI bag of words, MatrixMarket or Parquet file. ``.gz`` is read as it
        is. A pipe is read to its end; ``-`` is standard input.
    column : str, optional
        Text column of a table; by default one named text, or the only one.
    split : "chapter", "paragraph" or int, optional
        Cut every text into documents, see `read_texts`.
    metadata : path, optional
        A table about the documents, see `read_texts`; of a table of counts a row for each, in their order.
    cache : path or bool, optional
        Folder for the binary cache of tables of counts; by default beside the file. False keeps none.
    encoding : str, optional
        Of texts, or of the vocabulary and the metadata, see `read_texts`.
    vocabulary : path, optional
        A file with one word a line, for tables of counts without one.
    progress : bool, default=False
        Whether to show progress.
    **vectorizer
        Which words are counted: ``stop_words``, ``language``, ``min_df``, ``max_df``, ``max_features``, ``words``, as in
        `count_words` and with the same defaults. Tables of counts are read without the columns of the others. Of a table
        without a vocabulary all columns are kept, unless ``min_df``, ``max_df`` or ``max_features`` is given.

    Returns
    -------
    Corpus

    Raises
    ------
    LatentiaError
        If the file cannot be read as one of these formats. The message names the file, the line and the column.
    """
    with reusable(path) as source:
        with readable(source):
            found = source.exists()
        if not found:
            raise LatentiaError("no such file or folder.", source=source)
        piped = source != Path(path)
        source = _table_in(source) or source
        table = holds_counts(source)
        if table and column is not None:
            raise LatentiaError(f"a table of counts has no text column; leave {column!r} out.", source=source)
        if table and split is not None:
            raise LatentiaError(
                "a table of counts, which has no texts to cut.", parameter="split", value=split, source=source
            )
        if vocabulary is not None and not table:
            raise LatentiaError("holds texts, which bring their own words; leave the vocabulary out.", source=source)
        counted = None if table or column is not None or split is not None else table_counts(source, encoding)
        if counted is not None:
            values, words, names = counted
            corpus = Corpus(Blocks.from_array(values, names=words), words, names, None, source.name)
            return choose_words(
                corpus, **{name: value for name, value in vectorizer.items() if name != "token_pattern"}
            )
        if table and vocabulary is None and metadata is None and encoding is not None:
            raise no_encoding(source, encoding)
        if not table:
            texts = read_texts(source, column=column, split=split, metadata=metadata, encoding=encoding)
            if split is None and source.is_file() and not has_columns(source):
                tell_of_pages(source, texts.texts)
            return count_words(texts, **vectorizer)
        blocks = Blocks.from_files(source, cache=False if piped else cache, progress=progress)
        corpus = _table_corpus(blocks, vocabulary, source, encoding)
        if metadata is not None:
            corpus = replace(corpus, columns=_columns_of(Path(metadata), encoding, blocks.n_rows))
        return choose_words(corpus, **vectorizer)


def _table_corpus(
    blocks: Blocks, vocabulary: str | os.PathLike[str] | None, source: Path, encoding: str | None
) -> Corpus:
    words = blocks.names if vocabulary is None else read_lines(Path(vocabulary), encoding)
    if words is not None and len(words) != blocks.shapes[0][1]:
        raise LatentiaError(
            f"{vocabulary}: {len(words)} words, and {source} has {blocks.shapes[0][1]} columns: they must agree."
        )
    return Corpus(blocks, words, None, None, source.name)


def _columns_of(metadata: Path, encoding: str | None, n_rows: int) -> dict[str, list[str]]:
    about = read_metadata(metadata, encoding)
    columns = about.of(None, n_rows)
    if columns is None:
        raise about.refuse(None, n_rows)
    return columns


def count_words(
    texts: Texts | Sequence[str],
    *,
    stop_words: str | Sequence[str] | None = "english",
    language: str | Sequence[str] = "english",
    min_df: int | float | str = "auto",
    max_df: int | float | str = "auto",
    max_features: int | None = None,
    token_pattern: str | None = None,
    words: Sequence[str] | None = None,
) -> Corpus:
    """Count the words of texts, by the rules of `latentia.words.WordVectorizer`.

    Parameters
    ----------
    texts : Texts or sequence of str
    stop_words : str, sequence of str, or None
        The language whose stop words are left out, such as "english" or "german"; or words to leave out besides those of
        ``language``; None leaves all in.
    language : str or sequence of str
        Of the texts, where ``stop_words`` does not say it.
    min_df, max_df : int, float or "auto"
        Leave out words in fewer, or more, documents than this; a float is a share of the documents. "auto" fits the number
        of documents, see `latentia.words.WordVectorizer`.
    max_features : int, optional
        Keep the most frequent words only.
    token_pattern : str, optional
        Regular expression of what is a word, see `latentia.words.WordVectorizer`.
    words : sequence of str, optional
        The words to count, in this order, such as those of a model, whatever their frequencies. ``n_unknown`` says how many
        words are others, besides stop words.

    Returns
    -------
    Corpus
    """
    documents = texts if isinstance(texts, Texts) else Texts(list(texts), [], "texts")
    if not len(documents):
        raise LatentiaError("the corpus is empty.", source=documents.source)
    if words is not None:
        min_df, max_df, max_features = 1, 1.0, None
    vectorizer = _vectorizer(stop_words, language, min_df, max_df, max_features, token_pattern)
    try:
        counts = vectorizer.fit_transform(documents.texts)
    except LatentiaError as error:
        if error.parameter is None:
            error.source = documents.source
        raise
    found = [str(word) for word in vectorizer.get_feature_names_out()]
    names = documents.names or [f"document {i}" for i in range(1, len(documents) + 1)]
    blocks = Blocks.from_array(counts, names=found)
    corpus = Corpus(blocks, found, names, documents.texts, documents.source, documents.columns)
    return corpus if words is None else _with_words(corpus, words)


def choose_words(
    corpus: Corpus,
    *,
    stop_words: str | Sequence[str] | None = "auto",
    language: str | Sequence[str] = "english",
    min_df: int | float | str | None = None,
    max_df: int | float | str | None = None,
    max_features: int | None = None,
    words: Sequence[str] | None = None,
) -> Corpus:
    """A table of counts without the columns of some words, which are cut from each block as it is read.

    Document frequencies take one pass over the table.

    Parameters
    ----------
    corpus : Corpus
    stop_words : str, sequence of str, or None
        As in `count_words`; "auto" is English where there is a vocabulary. Pieces of contractions, such as "don" and "ll",
        are stop words too.
    language : str or sequence of str
    min_df, max_df : int, float or "auto", optional
        As in `count_words`; by default "auto" with a vocabulary; without one all columns are kept. With 1 columns
        without any count are kept too.
    max_features : int, optional
    words : sequence of str, optional
        As in `count_words`.
    """
    if words is not None:
        min_df, max_df, max_features = 1, 1.0, None
    named = corpus.vocabulary is not None
    if isinstance(stop_words, str) and stop_words == "auto":
        stop_words = "english" if named else None
    elif stop_words is not None and not named:
        raise LatentiaError(
            "the table has no words, only numbers of columns. For stop words give the vocabulary, a file "
            "with a word per line; or leave them out.",
            source=corpus.source,
        )
    usual: tuple[str | int, str | float] = ("auto", "auto") if named else (1, 1.0)
    vectorizer = _vectorizer(
        stop_words,
        language,
        usual[0] if min_df is None else min_df,
        usual[1] if max_df is None else max_df,
        max_features,
    )
    kept = _kept_columns(corpus, vectorizer)
    found = corpus if kept is None else _with_columns(corpus, *kept)
    return found if words is None else _with_words(found, words)


def _vectorizer(
    stop_words: str | Sequence[str] | None,
    language: str | Sequence[str],
    min_df: int | float | str,
    max_df: int | float | str,
    max_features: int | None,
    token_pattern: str | None = None,
) -> WordVectorizer:
    """The vectorizer of these options, checked."""
    listed = isinstance(stop_words, str)
    spoken: Any = stop_words if listed or stop_words is None else language
    vectorizer = WordVectorizer(
        spoken, stop_words=None if listed or stop_words is None else list(stop_words), min_df=min_df, max_df=max_df,  # type: ignore[arg-type]
        max_features=max_features, token_pattern=token_pattern,
    )  # fmt: skip
    try:
        vectorizer.check_parameters()
    except LatentiaError as error:
        if error.parameter == "language" and listed:
            error.parameter, error.value = "stop_words", stop_words
        raise
    return vectorizer


def _kept_columns(corpus: Corpus, vectorizer: WordVectorizer) -> tuple[np.ndarray, dict[str, int]] | None:
    """Columns that stay, and why how many others do not; None if all stay."""
    blocks, words, width = corpus.blocks, corpus.vocabulary, corpus.blocks.shapes[0][1]
    stops = np.zeros(width, bool) if words is None else is_stop_word(words, vectorizer)
    rare, common = rare_and_common(blocks, vectorizer, words)
    least, most = vectorizer._frequencies(blocks.n_rows)
    reasons = {
        "stop words": stops,
        f"in fewer than {_frequency(least)} documents": rare & ~stops,
        f"in more than {_frequency(most)} documents": common & ~stops,
    }
    kept = np.flatnonzero(~(stops | rare | common))
    if vectorizer.max_features is not None and len(kept) > vectorizer.max_features:
        totals = np.sum([np.asarray(block[0].sum(axis=0)).ravel() for block in blocks], axis=0)
        chosen = np.sort(kept[np.argsort(-totals[kept], kind="stable")[: vectorizer.max_features]])
        reasons["less frequent"] = np.isin(np.arange(width), np.setdiff1d(kept, chosen))
        kept = chosen
    if not len(kept):
        raise LatentiaError(
            f"no words are left of {width} after stop words and document frequencies (min_df={least}, max_df={most}).",
            source=corpus.source,
        )
    return None if len(kept) == width else (kept, {why: int(gone.sum()) for why, gone in reasons.items() if gone.any()})


def _frequency(limit: int | float) -> str:
    return f"{100 * limit:g}% of the" if isinstance(limit, (float, np.floating)) else f"{limit:,}"


def _with_columns(corpus: Corpus, kept: np.ndarray, left_out: dict[str, int]) -> Corpus:
    words = list(vocabulary_array(corpus.vocabulary, corpus.blocks.shapes[0][1])[kept])
    return replace(corpus, blocks=selected_columns(corpus.blocks, kept, words), vocabulary=words, left_out=left_out)


def _with_words(corpus: Corpus, words: Sequence[str]) -> Corpus:
    """The corpus with these columns; its other words are counted."""
    width, found = corpus.blocks.shapes[0][1], corpus.vocabulary
    if found is None and width != len(words):
        found = list(vocabulary_array(None, width))  # what columns without words are called when some are left out
        if not set(words) <= set(found):
            raise LatentiaError(
                f"its words and the model's cannot be compared, because its columns have no names: a table of "
                f"counts with {len(words)} columns is needed.",
                source=corpus.source,
            )
    if found is None or list(found) == list(words):
        return replace(corpus, vocabulary=[str(word) for word in words])
    blocks = placed_columns(corpus.blocks, found, words)
    if blocks is None:
        raise LatentiaError(
            "the model has none of its words. Was it learned from texts of another kind?", source=corpus.source
        )
    n_all, n_known = (sum(float(block[0].sum()) for block in each) for each in (corpus.blocks, blocks))
    return replace(corpus, blocks=blocks, vocabulary=[str(word) for word in words], n_unknown=n_all - n_known)


def _table_in(folder: Path) -> Path | None:
    """The bag of words in a folder that holds one, whatever else; of several the one to learn from."""
    if not folder.is_dir() or read_header(folder) is not None:
        return None
    with readable(folder):
        files = sorted(file for file in folder.iterdir() if not file.name.startswith(".") and file.is_file())
    tables = [file for file in files if file.name.startswith("docword") or plain_name(file).endswith(".mtx")]
    if not tables:
        return None
    found = (
        tables
        if len(tables) == 1
        else [file for file in tables if _stem(file).endswith(("-train", "_train", ".train"))]
    )
    if len(found) != 1:
        names = ", ".join(file.name for file in tables[:_NAMED]) + (", ..." if len(tables) > _NAMED else "")
        raise LatentiaError(f"{len(tables)} tables of counts: {names}. Name one of them.", source=folder)
    others = [file.name for file in files if file != found[0] and not file.name.startswith("vocab")]
    if others:
        more = f" and {len(others) - _NAMED} more" if len(others) > _NAMED else ""
        warn(
            FileNotice(
                f"{folder}: the table of counts {found[0].name} was read, and not {', '.join(others[:_NAMED])}{more}.",
                "Name a file to read another.",
            )
        )
    return found[0]


def _stem(file: Path) -> str:
    return plain_name(file).removesuffix(".txt").removesuffix(".mtx")


def holds_counts(path: Path) -> bool:
    """Whether a file or folder is a table of counts, or holds one, and no texts.

    Parameters
    ----------
    path : str or path
        The file or folder.

    Returns
    -------
    bool
    """
    if path.is_dir():
        return read_header(path) is not None or _table_in(path) is not None
    if plain_name(path).endswith(".parquet"):
        return not holds_texts(path)
    if plain_name(path).endswith(_TABLE_SUFFIXES):
        return True
    if has_columns(path):
        return False
    try:
        return detect_format(path) in ("uci", "matrixmarket")
    except LatentiaError:
        return False


def vocabulary_array(vocabulary: Sequence[str] | None, n_words: int) -> np.ndarray:
    """The words of the columns; their numbers where they have no names.

    Parameters
    ----------
    vocabulary : sequence of str, optional
        The words.
    n_words : int
        Number of columns.

    Returns
    -------
    ndarray of shape (n_words,)
    """
    return np.asarray(vocabulary if vocabulary is not None else [f"word {i}" for i in range(n_words)], dtype=object)
