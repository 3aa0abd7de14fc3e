"""What counts as texts, and texts whose words cannot be told apart."""

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
_MOSTLY = 0.3  # of the letters: a word of such a script has fewer than one of an alphabet
_LOOKED_AT, _BEGINNING = 500, 2000  # texts, and characters of each


def texts_of(X: Any) -> list[str] | None:
    """The texts, where X is a sequence of texts; None for tables of numbers.

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
        X is a single text, or documents that are lists of words, or some entries are no texts.
    """
    if isinstance(X, (str, bytes)):
        raise LatentiaError(f"A single text, {_shown(X)}, and several are needed: give a list of texts.")
    if isinstance(X, Iterator):
        raise LatentiaError(f"A {type(X).__name__} can be read once only: give a list of texts, list(...).")
    texts = getattr(X, "texts", X)
    if getattr(texts, "ndim", 1) == 2:
        _refuse_column(texts)
        return None
    if not isinstance(texts, (list, tuple)) and not (hasattr(texts, "dtype") and getattr(texts, "ndim", 1) == 1):
        return None
    first = _first(texts) if _may_hold_texts(texts) else None
    return check_texts(texts) if isinstance(first, (str, bytes)) or _is_words(first) else None


def check_texts(texts: Any) -> list[str]:
    """The texts as a list, if all are str; otherwise an error that says which is not.

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
        If an entry is no text.
    """
    if isinstance(texts, (str, bytes)):
        raise LatentiaError(f"A single text, {_shown(texts)}, and several are needed: give a list of texts.")
    found = list(getattr(texts, "texts", texts))
    first = _first(found)
    if _is_words(first):
        raise LatentiaError(
            f"The documents are lists of words, {_shown(first)}: each must be one text, ' '.join(words). Or give the counts of "
            "scikit-learn's CountVectorizer(analyzer=list)."
        )
    if isinstance(first, bytes):
        raise LatentiaError(f"The texts are bytes, {_shown(first)}: decode them first, text.decode('utf-8').")
    wrong = [i for i, text in enumerate(found) if not isinstance(text, str)]
    if not found:
        raise LatentiaError("There are no texts: the list is empty.")
    if wrong:
        one = found[wrong[0]]
        what = "missing" if is_missing(one) else f"{_shown(one)}, a {type(one).__name__}"
        more = f", and {len(wrong) - 1} more are no texts" if len(wrong) > 1 else ""
        raise LatentiaError(f"Text {wrong[0]} is {what}{more}. Drop such documents, or put '' in their place.")
    return found


def refuse_unsegmented(texts: Sequence[str]) -> None:
    """Raise if texts are mostly in a script without blanks between words, and none have been put in."""
    step = max(1, len(texts) // _LOOKED_AT)
    sample = " ".join(text[:_BEGINNING] for text in texts[::step])
    if sample.isascii():
        return
    n_letters = len(_LETTERS.findall(sample))
    for script, (pattern, longest) in _RUNS.items():
        runs = np.array([len(run) for run in pattern.findall(sample)])
        if runs.sum() > _MOSTLY * n_letters and runs.mean() > longest:
            raise LatentiaError(
                f"The texts are mostly in a script without blanks between words ({script}), so that their words cannot be "
                "told apart. Segment them first: vectorizer=WordVectorizer(LANGUAGE, segment=True) does, with "
                "pip install 'latentia[text]'. Or give the words of each text separated by blanks."
            )


def segmenter() -> Callable[[str], str]:
    """A function that puts blanks between words of scripts that have none: those of the dictionaries of ICU.

    Raises
    ------
    MissingExtraError
        icu4py is not installed.
    """
    try:
        from icu4py.breakers import WordBreaker
    except ImportError:
        raise MissingExtraError("icu4py", "text", "segment=True") from None

    def blanks(run: re.Match[str]) -> str:
        return f" {' '.join(map(str, WordBreaker(run[0], 'root')))} "

    return lambda text: text if text.isascii() else _UNSEGMENTED.sub(blanks, text)


def _first(documents: Any) -> Any:
    """The first document that is not missing; None if all are."""
    return next((one for one in documents if not is_missing(one)), None)


def _may_hold_texts(texts: Any) -> bool:
    """Whether entries can be other than numbers: of arrays and Series by their type."""
    dtype = getattr(texts, "dtype", None)
    return dtype is None or getattr(dtype, "kind", "O") in "OUST"


def _refuse_column(table: Any) -> None:
    """Raise for a data frame of a single column that holds texts."""
    if table.shape[1] != 1 or not table.shape[0] or not hasattr(table, "columns"):
        return
    name = table.columns[0]
    if any(isinstance(one, str) for one in table[name].head(10)):
        raise LatentiaError(f"A table of one column, which holds texts: give the column itself, table[{name!r}].")


def _is_words(document: Any) -> bool:
    return isinstance(document, (list, tuple, set, np.ndarray)) and any(isinstance(one, str) for one in document)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
