"""Counts of the words of texts."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from .._parameters import Anything, Constraint, Flag, Integer, Names, OrNone, check_parameter
from ..exceptions import LatentiaError, MissingExtraError
from .stop_words import language_code, stop_words
from .texts import check_texts, refuse_unsegmented, segmenter

WordsOfPart: TypeAlias = tuple[int, Counter[str], Counter[str]]

_FEW, _MANY = 20, 20_000  # documents from which on words in a single one say nothing, and words in a handful
_COMMON, _SOME = 0.5, 200  # share of the documents that a word says nothing in, from so many documents on

_APOSTROPHES = "\u2019\u02bc\uff07"
_PLAIN = {ord(c): "'" for c in _APOSTROPHES} | {0xAD: None, 0x2010: "-", 0x2011: "-"}
_LOOSE = re.compile(r"(?<![^\W_])_+|_+(?![^\W_])")  # underscores that join no words
_JOINERS = "\u200c\u200d"
_SYLLABLES = "\u1100-\u11ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff"
_ELIDED = {  # what loses its vowel before an apostrophe
    "fr": "l d j m t s n c qu jusqu lorsqu puisqu quoiqu",
    "it": "l un all dall dell nell sull coll c d m t s v n gl agl dagl degl negl sugl quell quest",
    "ca": "l d m n s t",
}


@dataclass(frozen=True)
class _Languages:
    """The name of a language, or several."""

    expectation: str = "expected the name of a language, such as 'german', or several, or None"

    def allows(self, value: Any) -> bool:
        return value is None or isinstance(value, str) or Names().allows(value)


@dataclass(frozen=True)
class _Pattern:
    """A regular expression, or None."""

    expectation: str = "expected a regular expression, such as r'\\S+', or None"

    def allows(self, value: Any) -> bool:
        try:
            return value is None or (isinstance(value, str) and re.compile(value).groups < 2)
        except re.error:
            return False


@dataclass(frozen=True)
class _Frequency:
    """A number of documents, a share of them, or "auto"."""

    expectation: str = "expected a number of documents of at least 1, a share of them from 0.0 to 1.0, or 'auto'"

    def allows(self, value: Any) -> bool:
        share = isinstance(value, (float, np.floating)) and bool(0 <= value <= 1)
        return (isinstance(value, str) and value == "auto") or share or Integer(1).allows(value)


class WordVectorizer(CountVectorizer):
    r"""Count the words of texts.

    Words are in lower case and have three letters or more; two in scripts of syllables, such as Hangul. Digits are letters of
    words that have others ("b2b", "covid-19"), and numbers are no words. Codes with points are one word ("E11.9"), as are
    phrases joined by underscores ("new_york"). Initials with their stops are one word ("U.S." is "u.s."), as is what an
    apostrophe joins ("don't", "o'brien"); a possessive 's is dropped. Combining marks belong to words,
    as in Hindi.

    It is scikit-learn's `CountVectorizer` with other rules, and takes its place anywhere.

    Parameters
    ----------
    language : str, sequence of str or None, default="english"
        Language of the texts, or several, by English name or ISO 639-1 code: its stop words are left out (see `stop_words`).
        French, Italian and Catalan articles are cut from their nouns ("l'homme" is "homme"). None leaves all words in.
    stop_words : sequence of str, optional
        More words to leave out.
    min_df, max_df : int, float or "auto", default="auto"
        Leave out words in fewer, or more, documents than this; a float is a share of the documents. "auto" leaves out words
        in a single document where there are 20 documents or more, in fewer than five where there are 20,000, and words in
        more than half of the documents where there are 200.
    max_features : int, optional
        Keep this many words, the most frequent ones.
    ngram_range : (int, int), default=(1, 1)
        Least and largest number of neighbouring words that are counted as one.
    vocabulary : sequence of str or dict, optional
        Words to count, or a dict from words to columns. Nothing else is counted then, and nothing left out.
    token_pattern : str, optional
        Regular expression of what is a word, such as ``r"\S+"``, where everything between blanks is one. By default the rules
        above say it.
    lemmas : bool, default=False
        Whether forms of a word are counted as one, by the form that dictionaries have: "houses" is "house", "gegangen"
        "gehen". It needs languages that the package simplemma knows, some fifty.
    segment : bool, default=False
        Whether to find the words of scripts without blanks: Chinese, Japanese, Thai, Lao, Burmese and Khmer, by the
        dictionaries of ICU, in the package icu4py.

    Attributes
    ----------
    vocabulary_ : dict
        Column of every word.

    Raises
    ------
    LatentiaError
        The texts are mostly in a script without blanks between words, or one of them is no text, or no words are left.

    Examples
    --------
    >>> from latentia.words import WordVectorizer
    >>> vectorizer = WordVectorizer()
    >>> vectorizer.fit_transform(["The U.S. economy's state in 2020", "Don't blame COVID-19 or the U.S."]).shape
    (2, 5)
    >>> vectorizer.get_feature_names_out().tolist()
    ['blame', 'covid-19', 'economy', 'state', 'u.s.']
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {}  # those below take the place of scikit-learn's
    _constraints: ClassVar[dict[str, Constraint]] = {
        "language": _Languages(),
        "stop_words": OrNone(Names("a sequence of words is needed; the words of a language come with language=")),
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
        texts = self._checked(raw_documents)
        least, most = self._frequencies(len(texts))
        counter = CountVectorizer(
            analyzer=self.build_analyzer(), min_df=least, max_df=most, max_features=self.max_features,
            vocabulary=self.vocabulary,
        )  # fmt: skip
        try:
            counts = counter.fit_transform(texts)
        except ValueError as error:
            raise LatentiaError(self._no_words(texts, str(error))) from error
        self.vocabulary_, self.fixed_vocabulary_ = counter.vocabulary_, counter.fixed_vocabulary_
        return counts

    def _no_words(self, texts: Sequence[str], why: str) -> str:
        """Say why no words are left: none is a word by the rules, all are stop words, or document frequencies leave none."""
        prepare, tokens = self.build_preprocessor(), self.build_tokenizer()
        words = Counter(word for text in texts for word in tokens(prepare(text)))
        if not words:
            pieces = Counter(piece for text in texts for piece in text.split()).most_common(5)
            held = f" They hold {', '.join(repr(piece) for piece, _ in pieces)}." if pieces else ""
            return (
                f"no words are in {len(texts)} texts: words have three letters or more, and numbers are none.{held} "
                r"token_pattern=r'\S+' takes all between blanks as words."
            )
        stops = self.get_stop_words() or frozenset()
        if set(words) <= stops:
            return f"no words are left of {len(texts)} texts: all {len(words)} are stop words, such as {next(iter(words))!r}."
        return (
            f"no words are left of {len(texts)} texts after stop words and document frequencies (min_df={self.min_df}, "
            f"max_df={self.max_df}): {why}"
        )

    def transform(self, raw_documents: Any) -> sparse.csr_array:
        """Count the words that `fit` has learned in texts.

        Parameters
        ----------
        raw_documents : sequence of str

        Returns
        -------
        csr_array of shape (n_documents, V)
        """
        return super().transform(self._checked(raw_documents))

    def _checked(self, raw_documents: Any) -> list[str]:
        """The texts, whose words can be told apart."""
        texts = check_texts(raw_documents)
        if not self.segment:
            refuse_unsegmented(texts)
        return texts

    def get_stop_words(self) -> frozenset[str] | None:
        """The words that are left out, as they are counted; None if all are left in."""
        prepare, tokens = self.build_preprocessor(), self.build_tokenizer()
        listed = [tokens(prepare(word)) for code in self._codes() for word in stop_words(code)]
        words = {found[0] for found in listed if len(found) == 1}  # others are phrases of words that say something
        given = () if self.stop_words is None else self.stop_words
        return frozenset(words.union(*(tokens(prepare(word)) for word in given))) or None

    def build_preprocessor(self) -> Callable[[str], str]:
        """The function that puts a text into lower case and one way of writing."""
        codes = self._codes()
        turkish = "tr" in codes
        elided = "|".join(" ".join(_ELIDED.get(code, "") for code in codes).split())
        articles = re.compile(rf"\b(?:{elided})'(?=\w)") if elided else None
        cut = segmenter() if self.segment else None

        def prepare(text: str) -> str:
            if turkish:
                text = text.replace("\u0130", "i").replace("I", "\u0131")  # dotted and dotless
            text = _plain(text) if self.token_pattern is None else text.lower()
            text = text if cut is None else cut(text)
            return articles.sub(" ", text) if articles else text

        return prepare

    def build_tokenizer(self) -> Callable[[str], list[str]]:
        """The function that cuts a prepared text into words."""
        words = (_pattern() if self.token_pattern is None else re.compile(self.token_pattern)).findall
        if not self.lemmas:
            return words
        lemma = _lemma_of(tuple(self._codes()))
        return lambda text: [lemma(word) for word in words(text)]

    def _codes(self) -> list[str]:
        """Codes of the languages."""
        if self.language is None:
            return []
        some: Iterable[str] = [self.language] if isinstance(self.language, str) else self.language
        return [language_code(one) for one in some]

    def _frequencies(self, n: int) -> tuple[int | float, int | float]:
        """Document frequencies between which words are counted, of so many documents."""
        least = 1 if n < _FEW else 2 if n < _MANY else 5
        most = 1.0 if n < _SOME else _COMMON
        return (
            least if isinstance(self.min_df, str) else self.min_df,
            most if isinstance(self.max_df, str) else self.max_df,
        )

    def check_parameters(self) -> None:
        """Raise a `LatentiaError` for a parameter that cannot be used."""
        for name, value in self.get_params(deep=False).items():
            check_parameter(name, value, self._constraints[name])
        self._codes()
        low, high = self.ngram_range if np.shape(self.ngram_range) == (2,) else (0, 0)
        if not Integer(1).allows(low) or not Integer(1).allows(high) or low > high:
            raise LatentiaError(
                "two whole numbers of at least 1 are needed, the least first.",
                parameter="ngram_range",
                value=self.ngram_range,
            )


def learn_words(
    vectorizer: Any, count_parts: Callable[[Callable[[Iterable[str]], WordsOfPart]], Iterable[WordsOfPart]]
) -> None:
    """Learn the words of texts that come in parts, such as the partitions of a collection, as ``fit`` learns those of a list.

    Parameters
    ----------
    vectorizer : WordVectorizer
    count_parts : callable
        Given a function that counts the words of the texts of one part, returns its results for all parts.
    """
    if not isinstance(vectorizer, WordVectorizer):
        raise LatentiaError(
            f"A {type(vectorizer).__name__} cannot learn its words from parts: fit it on some of the texts before, or give a "
            "WordVectorizer."
        )
    vectorizer.check_parameters()
    if vectorizer.vocabulary is not None:
        vectorizer._validate_vocabulary()
        return
    n_texts, in_texts, times = 0, Counter[str](), Counter[str]()
    for n, own_texts, own_times in count_parts(_CountPart(vectorizer)):
        n_texts += n
        in_texts.update(own_texts)
        times.update(own_times)
    least, most = vectorizer._frequencies(n_texts)
    least, most = (share * n_texts if isinstance(share, (float, np.floating)) else share for share in (least, most))
    words = [word for word in sorted(in_texts) if least <= in_texts[word] <= most]
    if vectorizer.max_features is not None and len(words) > vectorizer.max_features:
        words = sorted(sorted(words, key=lambda word: -times[word])[: vectorizer.max_features])
    if not words:
        raise LatentiaError(
            f"no words are left of {n_texts} texts after stop words and document frequencies (min_df={vectorizer.min_df}, "
            f"max_df={vectorizer.max_df})."
        )
    vectorizer.vocabulary_, vectorizer.fixed_vocabulary_ = {word: i for i, word in enumerate(words)}, False


class _CountPart:
    """Number of texts of a part, in how many of them each word is, and how often."""

    def __init__(self, vectorizer: WordVectorizer) -> None:
        self._vectorizer = vectorizer

    def __call__(self, texts: Iterable[str]) -> WordsOfPart:
        found, analyze = list(texts), self._vectorizer.build_analyzer()
        if found:
            self._vectorizer._checked(found)
        in_texts, times = Counter[str](), Counter[str]()
        for text in found:
            words = analyze(text)
            times.update(words)
            in_texts.update(set(words))
        return len(found), in_texts, times


@dataclass(frozen=True)
class UnsavedVectorizer:
    """Stands in a loaded model for a vectorizer of another library, which is code and was not saved.

    Attributes
    ----------
    name : str
        Of its class.
    """

    name: str

    def fit_transform(self, raw_documents: Any, y: Any = None) -> Any:
        """Raise a `LatentiaError` that says what to do."""
        raise LatentiaError(
            f"The texts were counted by a {self.name}, which is not saved with a model. Set vectorizer= to one before you fit."
        )

    def transform(self, raw_documents: Any) -> Any:
        """Raise a `LatentiaError` that says what to do."""
        raise LatentiaError(
            f"The model was fitted on texts that a {self.name} counted, which is not saved with it. Give the counts, "
            "vectorizer.transform(texts), of that vectorizer, or set vectorizer_ of the model to it."
        )


@cache
def _lemma_of(codes: tuple[str, ...]) -> Callable[[str], str]:
    """The function from a word of languages to the form that dictionaries have."""
    try:
        import simplemma
    except ImportError:
        raise MissingExtraError("simplemma", "text", "lemmas=True") from None

    @cache
    def lemma(word: str) -> str:
        found = str(simplemma.lemmatize(word, lang=codes)).lower() if word.isalpha() else word
        return found if len(_pattern().findall(found)) == 1 else word

    try:
        lemma("a")
    except ValueError as error:
        raise LatentiaError(
            f"simplemma has no lemmas of these languages ({error}): count words as they are, lemmas=False.",
            parameter="language", value=", ".join(codes),
        ) from error  # fmt: skip
    return lemma


def _plain(text: str) -> str:
    """The text in lower case, composed, with one kind of apostrophe and hyphen."""
    text = text.replace("\u0130", "i").lower()  # else its dot becomes a mark of its own
    if not text.isascii():
        text = unicodedata.normalize("NFC", text).translate(_PLAIN)
    return _LOOSE.sub(" ", text) if "_" in text else text


@cache
def _pattern() -> re.Pattern[str]:
    """The words of a prepared text: initials, names with a number, and other words."""
    marks = "".join(chr(c) for c in range(0x300, 0x10000) if unicodedata.category(chr(c)).startswith("M"))
    own = rf"[\w{marks}{_JOINERS}]"
    end = rf"(?!{own})"
    joined = rf"'(?!s{end})"
    long = rf"(?=(?:{joined}|){own}(?:(?:{joined})?{own}){{2}}|[{_SYLLABLES}]{{2}})"
    return re.compile(
        rf"(?<![\w{marks}.])(?:[^\W\d]\.){{2,}}{end}"
        rf"|(?<!{own})[^\W\d_]{{1,3}}\d{{1,5}}(?:\.\d{{1,4}}[^\W\d_]?){{1,2}}{end}"
        rf"|(?<!{own})[^\W\d]{own}*-\d{{1,3}}{end}"
        rf"|(?<!{own})(?!\d+{end}){long}{own}+(?:{joined}{own}+)*"
    )
