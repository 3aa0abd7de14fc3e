"""Counts of the words of texts."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from html import unescape
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from .._parameters import Anything, Constraint, Flag, Integer, Names, OrNone, check_parameter
from ..exceptions import LatentiaError, MissingExtraError
from .stop_words import language_code, stop_words
from .texts import check_texts, refuse_unsegmented, segmenter

WordsOfPart: TypeAlias = tuple[int, Counter[str], Counter[str]]

_MIN_TEXTS_TO_DROP_SINGLES = 20  # With this many texts, words in a single text are left out by default,
_MIN_TEXTS_TO_DROP_RARE = 20_000  # and with this many, words in fewer than five.
_MIN_TEXTS_TO_DROP_COMMON = 200  # With this many texts, words in a larger share of them than
_MAX_SHARE = 0.5  # this are left out by default.

_APOSTROPHES = "\u2019\u02bc\uff07"
_PLAIN_CHARACTERS = {ord(c): "'" for c in _APOSTROPHES} | {0xAD: None, 0x2010: "-", 0x2011: "-"}
_TAGS = re.compile(r"</?[A-Za-z][^<>]*>")
_LOOSE_UNDERSCORES = re.compile(r"(?<![^\W_])_+|_+(?![^\W_])")  # Underscores that do not join words.
_JOINERS = "\u200c\u200d"
_SYLLABLES = "\u1100-\u11ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff"
_ELIDED_ARTICLES = {  # Words that lose their vowel before an apostrophe.
    "fr": "l d j m t s n c qu jusqu lorsqu puisqu quoiqu",
    "it": "l un all dall dell nell sull coll c d m t s v n gl agl dagl degl negl sugl quell quest",
    "ca": "l d m n s t",
}


@dataclass(frozen=True)
class _Languages:
    """Constraint: the name of a language, several names, or None."""

    expectation: str = "expected the name of a language, such as 'german', or several, or None"

    def allows(self, value: Any) -> bool:
        return value is None or isinstance(value, str) or Names().allows(value)


@dataclass(frozen=True)
class _Pattern:
    """Constraint: a regular expression, or None."""

    expectation: str = "expected a regular expression, such as r'\\S+', or None"

    def allows(self, value: Any) -> bool:
        try:
            return value is None or (isinstance(value, str) and re.compile(value).groups < 2)
        except re.error:
            return False


@dataclass(frozen=True)
class _Frequency:
    """Constraint: a number of documents, a share of them, or "auto"."""

    expectation: str = "expected a number of documents of at least 1, a share of them from 0.0 to 1.0, or 'auto'"

    def allows(self, value: Any) -> bool:
        share = isinstance(value, (float, np.floating)) and bool(0 <= value <= 1)
        return (isinstance(value, str) and value == "auto") or share or Integer(1).allows(value)


class WordVectorizer(CountVectorizer):
    r"""Count the words of texts.

    Words are in lower case and have three letters or more, or two in scripts of syllables such as Hangul. Digits may be part of
    words ("b2b", "covid-19"); numbers are not words. Codes with points are one word ("E11.9"), and so are phrases joined by
    underscores ("new_york"), initials with their stops ("U.S." is "u.s."), and words with apostrophes ("don't", "o'brien"); a
    possessive 's is dropped. Combining marks belong to words, as in Hindi. Tags and entities of HTML ("<br>", "&amp;") are
    none.

    It is scikit-learn's `CountVectorizer` with other rules, and can replace it everywhere.

    Parameters
    ----------
    language : str, sequence of str or None, default="english"
        Language of the texts, or several, by English name or ISO 639-1 code: its stop words are left out (see `stop_words`).
        French, Italian and Catalan articles are removed from their nouns ("l'homme" is "homme"). None keeps all words.
    stop_words : sequence of str, optional
        More words to leave out.
    min_df, max_df : int, float or "auto", default="auto"
        Leave out words in fewer, or more, documents than this; a float is a share of the documents. "auto" leaves out words
        in a single document where there are 20 documents or more, in fewer than five where there are 20,000, and words in
        more than half of the documents where there are 200.
    max_features : int, optional
        Number of words to keep, the most frequent ones.
    ngram_range : (int, int), default=(1, 1)
        Smallest and largest number of neighbouring words that are counted as one.
    vocabulary : sequence of str or dict, optional
        Words to count, or a dict from words to columns. All of these are counted, and no others.
    token_pattern : str, optional
        Regular expression of words, such as ``r"\S+"`` for everything between blanks. By default the rules above apply.
    lemmas : bool, default=False
        Whether to count the forms of a word as one, in dictionary form: "houses" is "house", "gegangen" is "gehen". The package
        simplemma knows some fifty languages.
    segment : bool, default=False
        Whether to split scripts without blanks into words: Chinese, Japanese, Thai, Lao, Burmese and Khmer, by the dictionaries
        of ICU, in the package icu4py.

    Attributes
    ----------
    vocabulary_ : dict
        Column of every word.

    Raises
    ------
    LatentiaError
        If the texts are mostly in a script without blanks between words, one of them is not a text, or no words remain.

    Examples
    --------
    >>> from latentia.words import WordVectorizer
    >>> vectorizer = WordVectorizer()
    >>> vectorizer.fit_transform(["The U.S. economy's state in 2020", "Don't blame COVID-19 or the U.S."]).shape
    (2, 5)
    >>> vectorizer.get_feature_names_out().tolist()
    ['blame', 'covid-19', 'economy', 'state', 'u.s.']
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {}  # `_constraints` replaces scikit-learn's constraints.
    _constraints: ClassVar[dict[str, Constraint]] = {
        "language": _Languages(),
        "stop_words": OrNone(Names("expected a sequence of words; for the words of a language use language=")),
        "min_df": _Frequency(),
        "max_df": _Frequency(),
        "max_features": OrNone(Integer(1)),
        "ngram_range": Anything(),
        "vocabulary": OrNone(Names()),
        "token_pattern": _Pattern(),
        "lemmas": Flag(),
        "segment": Flag(),
    }
    language: str | Sequence[str] | None

    def __init__(
        self,
        language: str | Sequence[str] | None = "english",
        *,
        stop_words: Sequence[str] | None = None,
        min_df: int | float | Literal["auto"] = "auto",
        max_df: int | float | Literal["auto"] = "auto",
        max_features: int | None = None,
        ngram_range: tuple[int, int] = (1, 1),
        vocabulary: Any = None,
        token_pattern: str | None = None,
        lemmas: bool = False,
        segment: bool = False,
    ) -> None:
        super().__init__(
            stop_words=stop_words,
            min_df=min_df,
            max_df=max_df,
            max_features=max_features,
            ngram_range=ngram_range,
            vocabulary=vocabulary,
            token_pattern=token_pattern,
        )
        self.language = language
        self.lemmas = lemmas
        self.segment = segment

    def fit_transform(self, raw_documents: Any, y: Any = None) -> sparse.csr_array:
        """Learn the words of texts and count them.

        Parameters
        ----------
        raw_documents : sequence of str
        y : ignored

        Returns
        -------
        csr_array of shape (n_documents, V)
        """
        self.check_parameters()
        texts = self._check_texts(raw_documents)
        min_count, max_count = self._frequencies(len(texts))
        counter = CountVectorizer(
            analyzer=self.build_analyzer(), min_df=min_count, max_df=max_count, max_features=self.max_features,
            vocabulary=self.vocabulary,
        )  # fmt: skip
        try:
            counts = counter.fit_transform(texts)
        except ValueError as error:
            raise LatentiaError(self._explain_no_words(texts, str(error))) from error
        self.vocabulary_, self.fixed_vocabulary_ = counter.vocabulary_, counter.fixed_vocabulary_
        return counts

    def _explain_no_words(self, texts: Sequence[str], reason: str) -> str:
        """Explain why no words remain: by the rules for words, stop words, or document frequencies."""
        prepare, tokens = self.build_preprocessor(), self.build_tokenizer()
        words = Counter(word for text in texts for word in tokens(prepare(text)))
        if not words:
            pieces = Counter(piece for text in texts for piece in text.split()).most_common(5)
            contents = f" They contain {', '.join(repr(piece) for piece, _ in pieces)}." if pieces else ""
            return (
                f"there are no words in {len(texts)} texts. Words have three letters or more and are not numbers.{contents} "
                r"Use token_pattern=r'\S+' to count everything between blanks."
            )
        stops = self.get_stop_words() or frozenset()
        if set(words) <= stops:
            return f"no words remain of {len(texts)} texts: all {len(words)} are stop words, such as {next(iter(words))!r}."
        return (
            f"no words remain of {len(texts)} texts after stop words and document frequencies (min_df={self.min_df}, "
            f"max_df={self.max_df}): {reason}"
        )

    def transform(self, raw_documents: Any) -> sparse.csr_array:
        """Count the words of `fit` in texts.

        Parameters
        ----------
        raw_documents : sequence of str

        Returns
        -------
        csr_array of shape (n_documents, V)
        """
        return super().transform(self._check_texts(raw_documents))

    def _check_texts(self, raw_documents: Any) -> list[str]:
        """Return the texts as a list, if their words can be separated."""
        texts = check_texts(raw_documents)
        if not self.segment:
            refuse_unsegmented(texts)
        return texts

    def get_stop_words(self) -> frozenset[str] | None:
        """Return the words that are left out, in the form of counted words; None without any."""
        prepare, tokens = self.build_preprocessor(), self.build_tokenizer()
        tokenised = [tokens(prepare(word)) for code in self._codes() for word in stop_words(code)]
        words = {
            tokens_of_word[0] for tokens_of_word in tokenised if len(tokens_of_word) == 1
        }  # Other entries of the lists are phrases.
        extra_words = () if self.stop_words is None else self.stop_words
        return frozenset(words.union(*(tokens(prepare(word)) for word in extra_words))) or None

    def build_preprocessor(self) -> Callable[[str], str]:
        """Return the function that puts a text into lower case and normalises its characters."""
        codes = self._codes()
        turkish = "tr" in codes
        elided = "|".join(" ".join(_ELIDED_ARTICLES.get(code, "") for code in codes).split())
        articles = re.compile(rf"\b(?:{elided})'(?=\w)") if elided else None
        segment = segmenter() if self.segment else None

        def prepare(text: str) -> str:
            if turkish:
                text = text.replace("\u0130", "i").replace("I", "\u0131")  # Dotted and dotless i.
            text = _normalise(text) if self.token_pattern is None else text.lower()
            text = text if segment is None else segment(text)
            return articles.sub(" ", text) if articles else text

        return prepare

    def build_tokenizer(self) -> Callable[[str], list[str]]:
        """Return the function that splits a prepared text into words."""
        words = (_word_pattern() if self.token_pattern is None else re.compile(self.token_pattern)).findall
        if not self.lemmas:
            return words
        lemma = _make_lemmatizer(tuple(self._codes()))
        return lambda text: [lemma(word) for word in words(text)]

    def _codes(self) -> list[str]:
        """Return the codes of the languages."""
        if self.language is None:
            return []
        names: Iterable[str] = [self.language] if isinstance(self.language, str) else self.language
        return [language_code(name) for name in names]

    def _frequencies(self, n: int) -> tuple[int | float, int | float]:
        """Return the smallest and largest document frequency of counted words, for ``n`` documents."""
        min_count = 1 if n < _MIN_TEXTS_TO_DROP_SINGLES else 2 if n < _MIN_TEXTS_TO_DROP_RARE else 5
        max_share = 1.0 if n < _MIN_TEXTS_TO_DROP_COMMON else _MAX_SHARE
        return (
            min_count if isinstance(self.min_df, str) else self.min_df,
            max_share if isinstance(self.max_df, str) else self.max_df,
        )

    def check_parameters(self) -> None:
        """Raise a `LatentiaError` for a parameter that cannot be used."""
        for name, value in self.get_params(deep=False).items():
            check_parameter(name, value, self._constraints[name])
        self._codes()
        low, high = self.ngram_range if np.shape(self.ngram_range) == (2,) else (0, 0)
        if not Integer(1).allows(low) or not Integer(1).allows(high) or low > high:
            raise LatentiaError(
                "expected two whole numbers of at least 1, the smaller one first.",
                parameter="ngram_range",
                value=self.ngram_range,
            )


def learn_words(
    vectorizer: Any, count_parts: Callable[[Callable[[Iterable[str]], WordsOfPart]], Iterable[WordsOfPart]]
) -> None:
    """Learn the words of texts that come in parts, such as the partitions of a collection, as ``fit`` does for a list.

    Parameters
    ----------
    vectorizer : WordVectorizer
    count_parts : callable
        Takes a function that counts the words in the texts of one part, and returns its results for all parts.
    """
    if not isinstance(vectorizer, WordVectorizer):
        raise LatentiaError(
            f"A {type(vectorizer).__name__} cannot learn its words from parts. Fit it on some of the texts before, or give a "
            "WordVectorizer."
        )
    vectorizer.check_parameters()
    if vectorizer.vocabulary is not None:
        vectorizer._validate_vocabulary()
        return
    n_texts, document_counts, word_counts = 0, Counter[str](), Counter[str]()
    for n, part_documents, part_words in count_parts(_CountPart(vectorizer)):
        n_texts += n
        document_counts.update(part_documents)
        word_counts.update(part_words)
    min_count, max_count = vectorizer._frequencies(n_texts)
    min_count, max_count = (
        share * n_texts if isinstance(share, (float, np.floating)) else share for share in (min_count, max_count)
    )
    words = [word for word in sorted(document_counts) if min_count <= document_counts[word] <= max_count]
    if vectorizer.max_features is not None and len(words) > vectorizer.max_features:
        words = sorted(sorted(words, key=lambda word: -word_counts[word])[: vectorizer.max_features])
    if not words:
        raise LatentiaError(
            f"no words remain of {n_texts} texts after stop words and document frequencies (min_df={vectorizer.min_df}, "
            f"max_df={vectorizer.max_df})."
        )
    vectorizer.vocabulary_, vectorizer.fixed_vocabulary_ = {word: i for i, word in enumerate(words)}, False


class _CountPart:
    """Count the texts of a part, the texts with each word, and its occurrences."""

    def __init__(self, vectorizer: WordVectorizer) -> None:
        self._vectorizer = vectorizer

    def __call__(self, texts: Iterable[str]) -> WordsOfPart:
        documents, analyze = list(texts), self._vectorizer.build_analyzer()
        if documents:
            self._vectorizer._check_texts(documents)
        document_counts, word_counts = Counter[str](), Counter[str]()
        for text in documents:
            words = analyze(text)
            word_counts.update(words)
            document_counts.update(set(words))
        return len(documents), document_counts, word_counts


@dataclass(frozen=True)
class UnsavedVectorizer:
    """Placeholder in a loaded model for a vectorizer of another library, which is code and is not saved.

    Attributes
    ----------
    name : str
        Name of its class.
    """

    name: str

    def fit_transform(self, raw_documents: Any, y: Any = None) -> Any:
        """Raise a `LatentiaError`: the vectorizer was not saved."""
        raise LatentiaError(
            f"The texts were counted by a {self.name}, which is not saved with a model. Set vectorizer= to one before you fit."
        )

    def transform(self, raw_documents: Any) -> Any:
        """Raise a `LatentiaError`: the vectorizer was not saved."""
        raise LatentiaError(
            f"The model was fitted on texts that a {self.name} counted, which is not saved with it. Give the counts, "
            "vectorizer.transform(texts), of that vectorizer, or set vectorizer_ of the model to it."
        )


@cache
def _make_lemmatizer(codes: tuple[str, ...]) -> Callable[[str], str]:
    """Return the function from words of some languages to their dictionary forms."""
    try:
        import simplemma
    except ImportError:
        raise MissingExtraError("simplemma", "text", "lemmas=True") from None

    @cache
    def lemma(word: str) -> str:
        lemma_text = str(simplemma.lemmatize(word, lang=codes)).lower() if word.isalpha() else word
        return lemma_text if len(_word_pattern().findall(lemma_text)) == 1 else word

    try:
        lemma("a")
    except ValueError as error:
        raise LatentiaError(
            f"simplemma has no lemmas for these languages ({error}). Use lemmas=False.",
            parameter="language", value=", ".join(codes),
        ) from error  # fmt: skip
    return lemma


def _normalise(text: str) -> str:
    """Put a text into lower case and composed characters, with one kind of apostrophe and hyphen, without tags of HTML."""
    if "<" in text or "&" in text:
        text = _TAGS.sub(" ", unescape(text))
    text = text.replace("\u0130", "i").lower()  # Otherwise its dot becomes a separate mark.
    if not text.isascii():
        text = unicodedata.normalize("NFC", text).translate(_PLAIN_CHARACTERS)
    return _LOOSE_UNDERSCORES.sub(" ", text) if "_" in text else text


@cache
def _word_pattern() -> re.Pattern[str]:
    """Return the pattern of words in a prepared text: initials, names with a number, and other words."""
    marks = "".join(chr(c) for c in range(0x300, 0x10000) if unicodedata.category(chr(c)).startswith("M"))
    letter = rf"[\w{marks}{_JOINERS}]"
    end = rf"(?!{letter})"
    apostrophe = rf"'(?!s{end})"
    long_enough = rf"(?=(?:{apostrophe}|){letter}(?:(?:{apostrophe})?{letter}){{2}}|[{_SYLLABLES}]{{2}})"
    return re.compile(
        rf"(?<![\w{marks}.])(?:[^\W\d]\.){{2,}}{end}"
        rf"|(?<!{letter})[^\W\d_]{{1,3}}\d{{1,5}}(?:\.\d{{1,4}}[^\W\d_]?){{1,2}}{end}"
        rf"|(?<!{letter})[^\W\d]{letter}*-\d{{1,3}}{end}"
        rf"|(?<!{letter})(?!\d+{end}){long_enough}{letter}+(?:{apostrophe}{letter}+)*"
    )
