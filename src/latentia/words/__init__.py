"""From texts to counts of words: a vectorizer with sensible rules, and stop words of many languages."""

from .stop_words import languages, resembles_language, stop_words
from .texts import check_texts, texts_of
from .vectorizer import UnsavedVectorizer, WordVectorizer, learn_words

__all__ = [
    "UnsavedVectorizer",
    "WordVectorizer",
    "check_texts",
    "languages",
    "learn_words",
    "resembles_language",
    "stop_words",
    "texts_of",
]
