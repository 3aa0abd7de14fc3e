"""Recognition of texts, and of scripts without blanks between words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .._entries import is_missing
from ..exceptions import LatentiaError, MissingExtraError

# Chinese and Japanese; Thai, Lao, Burmese and Khmer.
_IDEOGRAPHS = "\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f"
_ABUGIDAS = "\u0e01-\u0e3a\u0e40-\u0e4e\u0e80-\u0edf\u1000-\u109f\u1780-\u17d3\uaa60-\uaa7f"
_RUNS = {"Chinese or Japanese": (re.compile(f"[{_IDEOGRAPHS}]+"), 3.0), "Thai, Lao, Burmese or Khmer": (
    re.compile(f"[{_ABUGIDAS}]+"), 10.0)}  # fmt: skip
_UNSEGMENTED = re.compile(f"[{_IDEOGRAPHS}{_ABUGIDAS}]{{2,}}")
_LETTERS = re.compile(rf"[^\W\d_{_ABUGIDAS}]|[{_ABUGIDAS}]")
_MIN_SHARE_OF_LETTERS = 0.3  # Such a word has fewer letters than one in an alphabet.
_N_SAMPLED, _N_CHARACTERS = 500, 2000  # Texts that are looked at, and characters of each.


def texts_of(X: Any) -> list[str] | None:
    """Return the texts of a sequence of texts; None for tables of numbers.

    Parameters
    ----------
    X : anything
        Texts are `latentia.datasets.Texts`, and lists, tuples, one-dimensional arrays and Series of str.

    Returns
    -------
    list of str, or None

    Raises
    ------
    LatentiaError
        If X is a single text, or documents are lists of words, or some entries are not texts.
    """
    if isinstance(X, (str, bytes)):
        raise LatentiaError(f"Expected a list of texts; got a single text, {_quote(X)}.")
    if isinstance(X, Iterator):
        raise LatentiaError(f"Expected a list of texts; a {type(X).__name__} can be read only once. Give list(...).")
    texts = getattr(X, "texts", X)
    if getattr(texts, "ndim", 1) == 2:
        _refuse_column(texts)
        return None
    if not isinstance(texts, (list, tuple)) and not (hasattr(texts, "dtype") and getattr(texts, "ndim", 1) == 1):
        return None
    first = _first_present(texts) if _may_hold_texts(texts) else None
    return check_texts(texts) if isinstance(first, (str, bytes)) or _is_words(first) else None


def check_texts(texts: Any) -> list[str]:
    """Return texts as a list; raise an error that names an entry which is not a str.

    Parameters
    ----------
    texts : sequence of str
        Texts.

    Returns
    -------
    list of str

    Raises
    ------
    LatentiaError
        If an entry is not a text.
    """
    if isinstance(texts, (str, bytes)):
        raise LatentiaError(f"Expected a list of texts; got a single text, {_quote(texts)}.")
    try:
        documents = list(getattr(texts, "texts", texts))
    except TypeError as error:
        raise LatentiaError(f"Expected a list of texts; found {type(texts).__name__}.") from error
    first = _first_present(documents)
    if _is_words(first):
        raise LatentiaError(
            f"Expected a text for each document; they are lists of words, {_quote(first)}. Give ' '.join(words), or the counts "
            "of scikit-learn's CountVectorizer(analyzer=list)."
        )
    if isinstance(first, bytes):
        raise LatentiaError(f"The texts are bytes, {_quote(first)}. Decode them first, text.decode('utf-8').")
    wrong_rows = [i for i, text in enumerate(documents) if not isinstance(text, str)]
    if not documents:
        raise LatentiaError("Expected texts; the list is empty.")
    if wrong_rows:
        entry = documents[wrong_rows[0]]
        description = "missing" if is_missing(entry) else f"{_quote(entry)}, a {type(entry).__name__}"
        further = f", and {len(wrong_rows) - 1} more are not texts" if len(wrong_rows) > 1 else ""
        raise LatentiaError(
            f"Text {wrong_rows[0]} is {description}{further}. Drop such documents, or put '' in their place."
        )
    return documents


def refuse_unsegmented(texts: Sequence[str]) -> None:
    """Raise an error for texts mostly in a script without blanks between words, unless they have been segmented."""
    step = max(1, len(texts) // _N_SAMPLED)
    sample = " ".join(text[:_N_CHARACTERS] for text in texts[::step])
    if sample.isascii():
        return
    n_letters = len(_LETTERS.findall(sample))
    for script, (pattern, longest) in _RUNS.items():
        runs = np.array([len(run) for run in pattern.findall(sample)])
        if runs.sum() > _MIN_SHARE_OF_LETTERS * n_letters and runs.mean() > longest:
            raise LatentiaError(
                f"The texts are mostly in a script without blanks between words ({script}). Segment them by "
                "vectorizer=WordVectorizer(LANGUAGE, segment=True), with pip install 'latentia[text]'. Or give the words of "
                "each text separated by blanks."
            )


def segmenter() -> Callable[[str], str]:
    """Return a function that puts blanks between words of scripts without blanks, by the dictionaries of ICU.

    Raises
    ------
    MissingExtraError
        If icu4py is not installed.
    """
    try:
        from icu4py.breakers import WordBreaker
    except ImportError:
        raise MissingExtraError("icu4py", "text", "segment=True") from None

    def blanks(run: re.Match[str]) -> str:
        return f" {' '.join(map(str, WordBreaker(run[0], 'root')))} "

    return lambda text: text if text.isascii() else _UNSEGMENTED.sub(blanks, text)


def _first_present(documents: Any) -> Any:
    """Return the first document that is not missing; None if all are."""
    return next((document for document in documents if not is_missing(document)), None)


def _may_hold_texts(texts: Any) -> bool:
    """Return True if entries can be texts, for arrays and Series by their dtype."""
    dtype = getattr(texts, "dtype", None)
    return dtype is None or getattr(dtype, "kind", "O") in "OUST"


def _refuse_column(table: Any) -> None:
    """Raise an error for a data frame of a single column that holds texts."""
    if table.shape[1] != 1 or not table.shape[0] or not hasattr(table, "columns"):
        return
    name = table.columns[0]
    if any(isinstance(cell, str) for cell in table[name].head(10)):
        raise LatentiaError(
            f"Expected a sequence of texts; got a table of one column. Give the column, table[{name!r}]."
        )


def _is_words(document: Any) -> bool:
    is_list = isinstance(document, (list, tuple, set, np.ndarray)) and getattr(document, "ndim", 1) > 0
    return is_list and any(isinstance(word, str) for word in document)


def _quote(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
