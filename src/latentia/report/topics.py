"""The report of a topic model, for readers who do not program.

The page holds everything that it shows. Numbers travel as JSON, and a script draws those of the selected topic. Words come
with the two parts of their relevance, so that the page ranks them by any weight of these as `latentia.metrics` does.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._validation import column_names
from ..exceptions import LatentiaError
from ..metrics import l1_distances
from ..metrics.relevance import RELEVANCE, other_topics, relevance
from ..passes import Blocks
from ..topics.prevalence import Prevalence
from ..words import texts_of
from ._missing import without_data
from ._prevalence import prevalence_parts
from .page import render, write_page
from .parts import Mark, Nouns, comparison_rows, component_marks, count, evidence_of, evidence_parts, largest, version

__all__ = ["topic_shares", "write_topics_report"]

_TABLE_WORDS, _BAR_WORDS, _TITLE_WORDS = 10, 20, 3
_WEIGHTS = np.linspace(0, 1, 11)  # those of the slider
_HELD, _MOST_HELD = 0.05, 20_000  # of a word's uses, from which on a search names a topic; and how many such places
_GRADES = ("good", "care", "unknown", "bad")
_DOCUMENTS, _SIMILAR, _EXCERPT = 5, 4, 260
_NOUNS = Nouns("topics", "topic", "documents")


@dataclass(frozen=True)
class _Word:
    text: str
    anchor: bool


@dataclass(frozen=True)
class _Document:
    name: str
    share: float
    words: int
    excerpt: str


@dataclass(frozen=True)
class _Topic:
    """What the page shows of a topic.

    `error` is None where it was not measured, `top` has its first words, `similar` (number, overlap); `anchors` is None for
    models without anchor words.
    """

    number: int
    share: float
    error: float | None
    grade: Mark
    top: list[_Word]
    anchors: list[str] | None
    similar: list[tuple[int, float]]
    documents: list[_Document]
    x: float
    y: float

    @property
    def title(self) -> str:
        return ", ".join(word.text for word in self.top[:_TITLE_WORDS])


@dataclass(frozen=True)
class _Corpus:
    """The documents as the page needs them: their lengths (n,) and shares of topics (n, K), and their texts."""

    lengths: np.ndarray
    shares: np.ndarray
    vocabulary: list[str]
    names: Sequence[str] | None
    texts: Sequence[str] | None


def write_topics_report(
    path: str | os.PathLike[str],
    model: Any,
    table: Any = None,
    *,
    vocabulary: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
    texts: Sequence[str] | None = None,
    title: str = "Topics",
    source: str = "",
    comparison: Sequence[Mapping[str, Any]] | None = None,
    prevalence: Sequence[tuple[str, Prevalence]] | None = None,
) -> Path:
    """Write what a topic model found, and how far it can be trusted, to one HTML file that works offline.

    Parameters
    ----------
    path : path
        The file appears complete or not at all; one that is there is replaced.
    model : AnchorTopics, SpectralLDA or SingleTopicModel
        A fitted model.
    table : sparse matrix, array or Blocks of shape (n_documents, V), or texts, optional
        Counts of words in the documents to show, usually those that the model was fitted on, or the documents themselves
        where it was fitted on texts. Without it none are shown.
    vocabulary : sequence of str of length V, optional
        Words of the columns; by default those that the table or the model knows, or else "word 0", "word 1", ...
    names, texts : sequence of str of length n_documents, optional
        Names of the documents, and their texts, of which the page shows the beginnings.
    title, source : str
        Heading of the page, and where the documents came from.
    comparison : sequence of dict, optional
        Rows of a table that compares numbers of topics; the keys are its headings. If the first value of a row is
        this model's number of topics, the row is marked.
    prevalence : sequence of (str, Prevalence), optional
        Topics by group and over time, from ``prevalence_by`` and ``prevalence_over``, with the names of the groupings.

    Returns
    -------
    Path of the file

    """
    check_is_fitted(model)
    given = None if table is None else texts_of(table)
    if given is not None:
        names = getattr(table, "names", None) if names is None else names
        texts = given if texts is None else texts
        table = model._counted(given)
    blocks = table if table is None or isinstance(table, Blocks) else Blocks.from_array(table)
    corpus = _read_corpus(model, blocks, vocabulary, names, texts)
    ranks = _Ranks.of(model)
    topics = _describe_topics(model, corpus, ranks)
    sections, figures = prevalence_parts(prevalence, [topic.title for topic in topics])
    page = render(
        "topics.html",
        title=title,
        source=source,
        summary=_summary(corpus),
        nouns=_NOUNS,
        evidence=evidence_parts(evidence_of(model)),
        error=_error_sentence([topic.error for topic in topics]),
        topics=sorted(topics, key=lambda topic: (_GRADES.index(topic.grade.key), -topic.share)),
        weight=RELEVANCE,
        anchored=hasattr(model, "anchor_words_"),
        single=hasattr(model, "predict"),
        data=_data(model, corpus, topics, ranks) | {"figures": figures},
        prevalence=sections,
        comparison=comparison_rows(comparison, len(topics)),
        version=version(),
        missing=without_data("documents") if table is None else "",
    )
    return write_page(path, page)


def topic_shares(model: Any) -> np.ndarray:
    """Share of every topic in the corpus, shape (K,)."""
    return np.asarray(model.prevalence_ if hasattr(model, "prevalence_") else model.weights_)


# --- documents ------------------------------------------------------------------------------------------------------


def _read_corpus(
    model: Any,
    blocks: Blocks | None,
    vocabulary: Sequence[str] | None,
    names: Sequence[str] | None,
    texts: Sequence[str] | None,
) -> _Corpus:
    (n_topics, n_words), n_rows = model.components_.shape, 0 if blocks is None else blocks.n_rows
    if vocabulary is None:
        known = None if blocks is None else blocks.names
        vocabulary = column_names(model) if known is None else known
    for name, given, needed in (
        ("vocabulary", vocabulary, n_words),
        ("names", names, n_rows),
        ("texts", texts, n_rows),
    ):
        if given is not None and len(given) != needed:
            raise LatentiaError(f"{name} has {len(given)} entries and the data has {needed}: they must agree.")
    words = [f"word {i}" for i in range(n_words)] if vocabulary is None else [str(word) for word in vocabulary]
    if blocks is None:
        return _Corpus(np.zeros(0), np.zeros((0, n_topics)), words, names, texts)
    lengths = np.concatenate([np.asarray(block[0].sum(axis=1)).ravel() for block in blocks])
    return _Corpus(lengths, model.transform(blocks), words, names, texts)


def _top_documents(corpus: _Corpus, topic: int) -> list[_Document]:
    """The documents with the largest share of a topic, among those that are not much shorter than most.

    A document of a few words is all of one topic and shows nothing of it.
    """
    usual = np.median(corpus.lengths[corpus.lengths > 0]) if (corpus.lengths > 0).any() else 0.0
    written = np.flatnonzero((corpus.lengths > 0) & (corpus.lengths >= usual / 2))
    rows = written[largest(corpus.shares[written, topic], _DOCUMENTS)]
    return [
        _Document(
            name=f"document {row + 1}" if corpus.names is None else str(corpus.names[row]),
            share=float(corpus.shares[row, topic]),
            words=round(float(corpus.lengths[row])),
            excerpt="" if corpus.texts is None else _excerpt(str(corpus.texts[row])),
        )
        for row in rows
    ]


def _excerpt(text: str) -> str:
    """The beginning of a text, cut between words."""
    start = " ".join(text[: 4 * _EXCERPT].split())  # white space may fill most of it
    if len(start) <= _EXCERPT and len(text) <= 4 * _EXCERPT:
        return start
    return start[:_EXCERPT].rsplit(" ", 1)[0] + " …"


# --- topics ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Ranks:
    """The two parts of the relevance of words to topics, (K, V): its value with the weight 1, and with 0."""

    probability: np.ndarray
    lift: np.ndarray

    @classmethod
    def of(cls, model: Any) -> _Ranks:
        others = other_topics(model.components_, topic_shares(model))
        return cls(relevance(model.components_, others, 1.0), relevance(model.components_, others, 0.0))

    def first(self, topic: int, weight: float, count: int) -> np.ndarray:
        """The words that come first, of those that the topic has."""
        probability, lift = self.probability[topic], self.lift[topic]
        present = np.flatnonzero(np.isfinite(probability))
        return present[largest(weight * probability[present] + (1 - weight) * lift[present], count)]


def _describe_topics(model: Any, corpus: _Corpus, ranks: _Ranks) -> list[_Topic]:
    marks, shares = component_marks(evidence_of(model), len(model.components_)), topic_shares(model)
    distances = l1_distances(model.components_, model.components_)
    places = _places(distances)
    anchors = [_anchors(model, k, corpus.vocabulary) for k in range(len(marks))]
    return [
        _Topic(
            number=k,
            share=float(shares[k]),
            error=error,
            grade=mark,
            top=[
                _Word(corpus.vocabulary[i], corpus.vocabulary[i] in (anchors[k] or []))
                for i in ranks.first(k, RELEVANCE, _TABLE_WORDS)
            ],
            anchors=anchors[k],
            similar=_similar(distances[k], k),
            documents=_top_documents(corpus, k),
            x=float(places[k, 0]),
            y=float(places[k, 1]),
        )
        for k, (error, mark) in enumerate(marks)
    ]


def _anchors(model: Any, topic: int, vocabulary: list[str]) -> list[str] | None:
    """A topic's anchor words; those known by column only take their names from the vocabulary."""
    if not hasattr(model, "anchor_words_"):
        return None
    words = model.anchor_words_[topic]
    return [word if isinstance(word, str) else vocabulary[int(word)] for word in words]


def _data(model: Any, corpus: _Corpus, topics: Sequence[_Topic], ranks: _Ranks) -> dict[str, Any]:
    """What the script reads: topics by number, with words as places in ``vocabulary``, and the two parts of their rank."""
    components, shares = model.components_, topic_shares(model)
    first = [np.unique(np.concatenate([ranks.first(k, w, _BAR_WORDS) for w in _WEIGHTS])) for k in range(len(topics))]
    listed = np.unique(np.concatenate(first))
    uses = shares[:, None] * components[:, listed]
    of_topics = []
    for topic, places in zip(
        topics, _places_of_words(uses, [np.searchsorted(listed, own) for own in first]), strict=True
    ):
        own = listed[places]
        words = {
            "at": places.tolist(),
            "p": _digits(components[topic.number, own], 4),
            "lift": np.round(ranks.lift[topic.number, own], 3).tolist(),
        }
        described = asdict(topic)
        del described["top"]
        of_topics.append(described | {"words": words})
    vocabulary = {
        "text": [corpus.vocabulary[i] for i in listed],
        "corpus": _digits(model.word_frequencies_[listed], 4),
        "total": _digits(uses.sum(axis=0), 4),
    }
    return {"weight": RELEVANCE, "size": _BAR_WORDS, "topics": of_topics, "vocabulary": vocabulary}


def _places_of_words(uses: np.ndarray, first: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The words that travel with each topic: its first ones, and those of whose uses (K, n) it has much, for the search."""
    total = uses.sum(axis=0)
    parts = uses / np.where(total > 0, total, 1.0)
    kept = np.zeros(parts.shape, dtype=bool)
    kept.flat[largest(parts.ravel(), _MOST_HELD)] = True
    kept &= parts >= _HELD
    for k, own in enumerate(first):
        kept[k, own] = True
    return [np.flatnonzero(row) for row in kept]


def _digits(values: np.ndarray, digits: int) -> list[float]:
    return [float(f"{value:.{digits}g}") for value in values]


def _similar(distances: np.ndarray, topic: int) -> list[tuple[int, float]]:
    """The nearest other topics, with the share of probability on the same words: one less half the distance."""
    nearest = [int(k) for k in np.argsort(distances, kind="stable") if k != topic][:_SIMILAR]
    return [(k, max(0.0, 1 - float(distances[k]) / 2)) for k in nearest]


def _places(distances: np.ndarray) -> np.ndarray:
    """Classical multidimensional scaling of distances (K, K) to the plane, (K, 2)."""
    n = len(distances)
    centre = np.eye(n) - 1 / n
    values, vectors = np.linalg.eigh(-0.5 * centre @ distances**2 @ centre)
    places = np.zeros((n, 2))
    for axis, i in enumerate(range(n - 1, max(n - 3, -1), -1)):
        direction = vectors[:, i] * np.sqrt(max(values[i], 0.0))
        places[:, axis] = direction * (np.sign(direction[np.argmax(np.abs(direction))]) or 1.0)  # a sign free of chance
    return places


# --- words about the whole ------------------------------------------------------------------------------------------


def _summary(corpus: _Corpus) -> str:
    n_documents, n_topics = corpus.shares.shape
    if not n_documents:
        return f"{count(n_topics, 'topic')} of {count(len(corpus.vocabulary), 'different word')}."
    return (
        f"{count(n_topics, 'topic')} in {count(n_documents, 'document')} with "
        f"{count(len(corpus.vocabulary), 'different word')} ({float(corpus.lengths.sum()):,.0f} words in all)."
    )


def _error_sentence(errors: Sequence[float | None]) -> str:
    measured = [error for error in errors if error is not None]
    if not measured:
        return ""
    mean = float(np.mean(measured))
    return (
        f"Expected error of a topic: {mean:.2f} on average, where 0 is perfect and 2 is all wrong. "
        f"That is about {min(mean / 2, 1):.0%} of a topic's probability expected on the wrong words."
    )
