"""Corpora: texts whose words are counted, and tables of counts.

Texts are counted by `latentia.words.WordVectorizer`. Tables of counts (UCI bag of words, MatrixMarket, Parquet) are read
through the binary cache, see `latentia.passes.Blocks.from_files`; columns of words that are left out are cut from each block
when it is read.
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
from ._columns import find_rare_and_common, find_stop_words, place_columns, select_columns
from ._metadata import read_metadata
from .texts import Texts, read_lines, read_texts, report_pages

__all__ = [
    "Corpus", "Texts", "choose_words", "count_words", "holds_counts", "read_corpus", "read_lines", "read_texts", "split_tags",
    "vocabulary_array",
]  # fmt: skip

_TABLE_SUFFIXES = (".mtx", ".parquet")
_N_NAMED = 5  # files that a message names


@dataclass(frozen=True)
class Corpus:
    """Counts of the words of a corpus.

    Attributes
    ----------
    blocks : Blocks
        Documents by words.
    vocabulary : list of str or None
        Words of the columns.
    names : list of str or None
        Names of the documents.
    texts : list of str or None
        The texts, if the source has them.
    source : str
        Name of the file.
    columns : dict of lists of str
        Further columns about the documents, see `Texts`.
    left_out : dict from str to int
        Number of words of a table of counts that were left out, by reason, such as "stop words".
    n_unknown : float
        Number of words of the documents that are not among ``words=``.
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
        Encoding of texts, or of the vocabulary and the metadata, see `read_texts`.
    vocabulary : path, optional
        A file with one word a line, for tables of counts without one.
    progress : bool, default=False
        True shows progress.
    **vectorizer
        Choice of words: ``stop_words``, ``language``, ``min_df``, ``max_df``, ``max_features``, ``words``, as in
        `count_words` and with the same defaults. Other columns of tables of counts are dropped. A table without a vocabulary
        keeps all columns, unless ``min_df``, ``max_df`` or ``max_features`` is given.

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
            exists = source.exists()
        if not exists:
            raise LatentiaError("no such file or folder.", source=source)
        piped = source != Path(path)
        source = _find_table(source) or source
        table = holds_counts(source)
        if table and column is not None:
            raise LatentiaError(f"a table of counts has no text column; leave {column!r} out.", source=source)
        if table and split is not None:
            raise LatentiaError(
                "a table of counts, which has no texts to cut.", parameter="split", value=split, source=source
            )
        if vocabulary is not None and not table:
            raise LatentiaError("holds texts, which contain their words; leave the vocabulary out.", source=source)
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
                report_pages(source, texts.texts)
            return count_words(texts, **vectorizer)
        blocks = Blocks.from_files(source, cache=False if piped else cache, progress=progress)
        corpus = _build_table_corpus(blocks, vocabulary, source, encoding)
        if metadata is not None:
            corpus = replace(corpus, columns=_read_columns(Path(metadata), encoding, blocks.n_rows))
        return choose_words(corpus, **vectorizer)


def _build_table_corpus(
    blocks: Blocks, vocabulary: str | os.PathLike[str] | None, source: Path, encoding: str | None
) -> Corpus:
    words = blocks.names if vocabulary is None else read_lines(Path(vocabulary), encoding)
    if words is not None and len(words) != blocks.shapes[0][1]:
        raise LatentiaError(
            f"{vocabulary}: expected {blocks.shapes[0][1]} words, one for each column of {source}; found {len(words)}."
        )
    return Corpus(blocks, words, None, None, source.name)


def _read_columns(metadata: Path, encoding: str | None, n_rows: int) -> dict[str, list[str]]:
    about = read_metadata(metadata, encoding)
    columns = about.align(None, n_rows)
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
        The language of the stop words, such as "english" or "german"; or further words to leave out besides those of
        ``language``; None leaves nothing out.
    language : str or sequence of str
        Language of the texts, if ``stop_words`` names none.
    min_df, max_df : int, float or "auto"
        Leave out words in fewer, or more, documents than this; a float is a share of the documents. "auto" depends on the
        number of documents, see `latentia.words.WordVectorizer`.
    max_features : int, optional
        Keep the most frequent words only.
    token_pattern : str, optional
        Regular expression of a word, see `latentia.words.WordVectorizer`.
    words : sequence of str, optional
        The words to count, in this order, such as those of a model, whatever their frequencies. ``n_unknown`` is the number
        of other words, without stop words.

    Returns
    -------
    Corpus
    """
    documents = texts if isinstance(texts, Texts) else Texts(list(texts), [], "texts")
    if not len(documents):
        raise LatentiaError("the corpus is empty.", source=documents.source)
    if words is not None:
        min_df, max_df, max_features = 1, 1.0, None
    vectorizer = _build_vectorizer(stop_words, language, min_df, max_df, max_features, token_pattern)
    try:
        counts = vectorizer.fit_transform(documents.texts)
    except LatentiaError as error:
        if error.parameter is None:
            error.source = documents.source
        raise
    counted_words = [str(word) for word in vectorizer.get_feature_names_out()]
    names = documents.names or [f"document {i}" for i in range(1, len(documents) + 1)]
    blocks = Blocks.from_array(counts, names=counted_words)
    corpus = Corpus(blocks, counted_words, names, documents.texts, documents.source, documents.columns)
    return corpus if words is None else _match_words(corpus, words)


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
    """Return a corpus without the columns of some words, which are cut from each block when it is read.

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
            "the columns of the table have no names. For stop words give the vocabulary, a file with a word per line; or "
            "leave them out.",
            source=corpus.source,
        )
    usual: tuple[str | int, str | float] = ("auto", "auto") if named else (1, 1.0)
    vectorizer = _build_vectorizer(
        stop_words,
        language,
        usual[0] if min_df is None else min_df,
        usual[1] if max_df is None else max_df,
        max_features,
    )
    selection = _select_columns(corpus, vectorizer)
    chosen = corpus if selection is None else _cut_columns(corpus, *selection)
    return chosen if words is None else _match_words(chosen, words)


def _build_vectorizer(
    stop_words: str | Sequence[str] | None,
    language: str | Sequence[str],
    min_df: int | float | str,
    max_df: int | float | str,
    max_features: int | None,
    token_pattern: str | None = None,
) -> WordVectorizer:
    """Return a vectorizer with these options, after a check."""
    is_language = isinstance(stop_words, str)
    languages: Any = stop_words if is_language or stop_words is None else language
    vectorizer = WordVectorizer(
        languages, stop_words=None if is_language or stop_words is None else list(stop_words), min_df=min_df, max_df=max_df,  # type: ignore[arg-type]
        max_features=max_features, token_pattern=token_pattern,
    )  # fmt: skip
    try:
        vectorizer.check_parameters()
    except LatentiaError as error:
        if error.parameter == "language" and is_language:
            error.parameter, error.value = "stop_words", stop_words
        raise
    return vectorizer


def _select_columns(corpus: Corpus, vectorizer: WordVectorizer) -> tuple[np.ndarray, dict[str, int]] | None:
    """Return the columns to keep, and the numbers of others by reason; None if all stay."""
    blocks, words, width = corpus.blocks, corpus.vocabulary, corpus.blocks.shapes[0][1]
    stops = np.zeros(width, bool) if words is None else find_stop_words(words, vectorizer)
    rare, common = find_rare_and_common(blocks, vectorizer, words)
    min_df, max_df = vectorizer._frequencies(blocks.n_rows)
    reasons = {
        "stop words": stops,
        f"in fewer than {_format_limit(min_df)} documents": rare & ~stops,
        f"in more than {_format_limit(max_df)} documents": common & ~stops,
    }
    columns = np.flatnonzero(~(stops | rare | common))
    if vectorizer.max_features is not None and len(columns) > vectorizer.max_features:
        totals = np.sum([np.asarray(block[0].sum(axis=0)).ravel() for block in blocks], axis=0)
        chosen = np.sort(columns[np.argsort(-totals[columns], kind="stable")[: vectorizer.max_features]])
        reasons["less frequent"] = np.isin(np.arange(width), np.setdiff1d(columns, chosen))
        columns = chosen
    if not len(columns):
        raise LatentiaError(
            f"no words are left of {width} after stop words and document frequencies (min_df={min_df}, max_df={max_df}).",
            source=corpus.source,
        )
    return (
        None
        if len(columns) == width
        else (columns, {reason: int(is_left_out.sum()) for reason, is_left_out in reasons.items() if is_left_out.any()})
    )


def _format_limit(limit: int | float) -> str:
    return f"{100 * limit:g}% of the" if isinstance(limit, (float, np.floating)) else f"{limit:,}"


def _cut_columns(corpus: Corpus, columns: np.ndarray, left_out: dict[str, int]) -> Corpus:
    words = list(vocabulary_array(corpus.vocabulary, corpus.blocks.shapes[0][1])[columns])
    return replace(corpus, blocks=select_columns(corpus.blocks, columns, words), vocabulary=words, left_out=left_out)


def _match_words(corpus: Corpus, words: Sequence[str]) -> Corpus:
    """Return the corpus with these columns, and the number of its other words."""
    width, vocabulary = corpus.blocks.shapes[0][1], corpus.vocabulary
    if vocabulary is None and width != len(words):
        vocabulary = list(vocabulary_array(None, width))  # names of columns without words when some are left out
        if not set(words) <= set(vocabulary):
            raise LatentiaError(
                f"expected {len(words)} columns, as many as the model's words, because the columns have no names; found "
                f"{width}.",
                source=corpus.source,
            )
    if vocabulary is None or list(vocabulary) == list(words):
        return replace(corpus, vocabulary=[str(word) for word in words])
    blocks = place_columns(corpus.blocks, vocabulary, words)
    if blocks is None:
        raise LatentiaError(
            "the model knows none of its words. Was it learned from texts of another kind?", source=corpus.source
        )
    n_all, n_known = (sum(float(block[0].sum()) for block in counts) for counts in (corpus.blocks, blocks))
    return replace(corpus, blocks=blocks, vocabulary=[str(word) for word in words], n_unknown=n_all - n_known)


def _find_table(folder: Path) -> Path | None:
    """Return the bag of words in a folder; of several the training file; None if there is none."""
    if not folder.is_dir() or read_header(folder) is not None:
        return None
    with readable(folder):
        files = sorted(file for file in folder.iterdir() if not file.name.startswith(".") and file.is_file())
    tables = [file for file in files if file.name.startswith("docword") or plain_name(file).endswith(".mtx")]
    if not tables:
        return None
    matches = (
        tables
        if len(tables) == 1
        else [file for file in tables if _strip_suffixes(file).endswith(("-train", "_train", ".train"))]
    )
    if len(matches) != 1:
        names = ", ".join(file.name for file in tables[:_N_NAMED]) + (", ..." if len(tables) > _N_NAMED else "")
        raise LatentiaError(f"{len(tables)} tables of counts: {names}. Name one of them.", source=folder)
    unread = [file.name for file in files if file != matches[0] and not file.name.startswith("vocab")]
    if unread:
        rest = f" and {len(unread) - _N_NAMED} more" if len(unread) > _N_NAMED else ""
        warn(
            FileNotice(
                f"{folder}: the table of counts {matches[0].name} was read, and not {', '.join(unread[:_N_NAMED])}{rest}.",
                "Name a file to read another.",
            )
        )
    return matches[0]


def _strip_suffixes(file: Path) -> str:
    return plain_name(file).removesuffix(".txt").removesuffix(".mtx")


def holds_counts(path: Path) -> bool:
    """Return True if a file or folder is a table of counts, or holds one, rather than texts.

    Parameters
    ----------
    path : str or path
        The file or folder.

    Returns
    -------
    bool
    """
    if path.is_dir():
        return read_header(path) is not None or _find_table(path) is not None
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
    """Return the words of the columns; their numbers if there is no vocabulary.

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
