"""Stop words: scikit-learn's list for English, and the lists of the package stopwordsiso for other languages."""

from __future__ import annotations

import difflib
from functools import cache

from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from ..exceptions import LatentiaError, MissingExtraError

_LIKENESS = 0.85  # A word with a nearer language is one with a typing error.
_CODES = {
    "afrikaans": "af", "arabic": "ar", "armenian": "hy", "basque": "eu", "bengali": "bn", "breton": "br",
    "bulgarian": "bg", "catalan": "ca", "chinese": "zh", "croatian": "hr", "czech": "cs", "danish": "da",
    "dutch": "nl", "english": "en", "esperanto": "eo", "estonian": "et", "finnish": "fi", "french": "fr",
    "galician": "gl", "german": "de", "greek": "el", "gujarati": "gu", "hausa": "ha", "hebrew": "he", "hindi": "hi",
    "hungarian": "hu", "indonesian": "id", "irish": "ga", "italian": "it", "japanese": "ja", "korean": "ko",
    "kurdish": "ku", "latin": "la", "latvian": "lv", "lithuanian": "lt", "malay": "ms", "marathi": "mr",
    "norwegian": "no", "persian": "fa", "polish": "pl", "portuguese": "pt", "romanian": "ro", "russian": "ru",
    "slovak": "sk", "slovenian": "sl", "somali": "so", "sotho": "st", "spanish": "es", "swahili": "sw",
    "swedish": "sv", "tagalog": "tl", "thai": "th", "turkish": "tr", "ukrainian": "uk", "urdu": "ur",
    "vietnamese": "vi", "yoruba": "yo", "zulu": "zu",
}  # fmt: skip
_NEGATED = (
    "ai ca could did does do had has have is are must need ought shall should was were wo would might may sha dare"
)
_SHORTENED = {
    "d": "i you he she it we they who there that",
    "ll": "i you he she it we they who there that this what",
    "m": "i",
    "re": "you we they who there what these those",
    "ve": "i you we they who there could might must should would",
}


def languages() -> list[str]:
    """Return the names of the languages that have a list of stop words.

    Returns
    -------
    list of str
    """
    return sorted(_CODES)


def stop_words(language: str) -> frozenset[str]:
    """Return the stop words of a language, in lower case: words that do not tell the subject of a text.

    Parameters
    ----------
    language : str
        Its English name or its code in ISO 639-1: "german" or "de". "english" is scikit-learn's list and contractions such
        as "don't". The lists of other languages are those of the package stopwordsiso.

    Returns
    -------
    frozenset of str

    Raises
    ------
    LatentiaError
        If there is no list for that language.
    MissingExtraError
        If the language is not English and stopwordsiso is not installed.
    """
    return _words(language_code(language))


def language_code(language: str) -> str:
    """Return the code of a language in ISO 639-1, from its English name or the code."""
    name = language.strip().lower() if isinstance(language, str) else ""
    if name in _CODES:
        return _CODES[name]
    if name in _CODES.values():
        return name
    close_names = difflib.get_close_matches(name, _CODES, n=1)
    raise LatentiaError(
        (f"did you mean {close_names[0]!r}? " if close_names else "")
        + f"There are stop words of {', '.join(languages())}.",
        parameter="language",
        value=language,
    )


def resembles_language(word: str) -> bool:
    """Return True for a language, its code, or a word that may be a language with a typing error."""
    name = word.lower()
    return name in _CODES.values() or bool(difflib.get_close_matches(name, _CODES, n=1, cutoff=_LIKENESS))


@cache
def _words(code: str) -> frozenset[str]:
    if code == "en":
        negated = {f"{verb}n't" for verb in _NEGATED.split()}
        shortened = {f"{word}'{end}" for end, words in _SHORTENED.items() for word in words.split()}
        return ENGLISH_STOP_WORDS | negated | shortened | {"e.g.", "i.e."}
    try:
        from stopwordsiso import stopwords
    except ImportError:
        raise MissingExtraError("stopwordsiso", "data", "A list of stop words that are not English") from None
    return frozenset(word.lower().replace("\u2019", "'") for word in stopwords(code))
