"""The report of a topic model, for readers who do not program.

The page holds everything that it shows. The numbers of the selected topic travel as JSON, and a script draws them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..evidence import Evidence
from ..evidence.checks import describe
from ..exceptions import LatentiaError
from ..metrics import l1_distances
from ..passes import Blocks
from ._page import render, write_page

__all__ = ["write_topics_report"]

_TABLE_WORDS, _BAR_WORDS, _TITLE_WORDS = 10, 20, 3
_DOCUMENTS, _SIMILAR, _EXCERPT = 5, 4, 260


@dataclass(frozen=True)
class _Grade:
    """How far a topic may be trusted; `key` is its name in the style sheet."""

    key: str
    label: str
    rule: str


_RELIABLE = _Grade("good", "reliable", "expected error up to 0.4")
_CARE = _Grade("care", "read with care", "above 0.4, up to 0.8")
_UNREADABLE = _Grade("bad", "unreliable", "above 0.8")
_UNKNOWN = _Grade("unknown", "not measured", "no error was measured")
_LIMITS = ((0.4, _RELIABLE), (0.8, _CARE))


@dataclass(frozen=True)
class _Word:
    text: str
    topic: float
    corpus: float
    anchor: bool


@dataclass(frozen=True)
class _Document:
    name: str
    share: float
    words: int
    excerpt: str


@dataclass(frozen=True)
class _Topic:
    """What the page shows of a topic; `error` is None where it was not measured, `similar` holds (number, overlap)."""

    number: int
    share: float
    error: float | None
    grade: _Grade
    words: list[_Word]
    anchors: list[str]
    similar: list[tuple[int, float]]
    documents: list[_Document]
    x: float
    y: float

    @property
    def title(self) -> str:
        return ", ".join(word.text for word in self.words[:_TITLE_WORDS])

    @property
    def top(self) -> list[_Word]:
        return self.words[:_TABLE_WORDS]


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
    table: Any,
    *,
    vocabulary: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
    texts: Sequence[str] | None = None,
    title: str = "Topics",
    source: str = "",
    comparison: Sequence[Mapping[str, Any]] | None = None,
) -> Path:
    """Write what a topic model found, and how far it can be trusted, to one HTML file that works offline.

    Parameters
    ----------
    path : path
        The file appears complete or not at all; one that is there is replaced.
    model : AnchorTopics
        A fitted model.
    table : sparse matrix, array or Blocks of shape (n_documents, V)
        Counts of words in the documents to show, usually those that the model was fitted on.
    vocabulary : sequence of str of length V, optional
        Words of the columns; by default the table's column names, and without these "word 0", "word 1", ...
    names, texts : sequence of str of length n_documents, optional
        Names of the documents, and their texts, of which the page shows the beginnings.
    title, source : str
        Heading of the page, and where the documents came from.
    comparison : sequence of dict, optional
        Rows of a table that compares numbers of topics; the keys are its headings. If the first value of a row is
        this model's number of topics, the row is marked.

    Returns
    -------
    Path of the file

    """
    check_is_fitted(model)
    blocks = table if isinstance(table, Blocks) else Blocks.from_array(table)
    corpus = _read_corpus(model, blocks, vocabulary, names, texts)
    topics = _describe_topics(model, corpus)
    evidence = getattr(model, "evidence_", None)
    page = render(
        "topics.html",
        title=title,
        source=source,
        summary=_summary(corpus),
        verdict=_verdict(evidence, topics),
        topics=topics,
        legend=_legend(topics),
        data=[asdict(topic) | {"title": topic.title} for topic in topics],
        checks=_evidence_rows(evidence),
        comparison=_comparison(comparison, len(topics)),
        version=_version(),
    )
    return write_page(path, page)


# --- documents ------------------------------------------------------------------------------------------------------


def _read_corpus(
    model: Any,
    blocks: Blocks,
    vocabulary: Sequence[str] | None,
    names: Sequence[str] | None,
    texts: Sequence[str] | None,
) -> _Corpus:
    n_words = model.components_.shape[1]
    vocabulary = blocks.names if vocabulary is None else vocabulary
    for name, given, needed in (
        ("vocabulary", vocabulary, n_words),
        ("names", names, blocks.n_rows),
        ("texts", texts, blocks.n_rows),
    ):
        if given is not None and len(given) != needed:
            raise LatentiaError(f"{name} has {len(given)} entries and the data has {needed}: they must agree.")
    words = [f"word {i}" for i in range(n_words)] if vocabulary is None else [str(word) for word in vocabulary]
    lengths = np.concatenate([np.asarray(block[0].sum(axis=1)).ravel() for block in blocks])
    return _Corpus(lengths, model.transform(blocks), words, names, texts)


def _top_documents(corpus: _Corpus, topic: int) -> list[_Document]:
    """The documents with the largest share of a topic, among those that are not much shorter than most.

    A document of a few words is all of one topic and shows nothing of it.
    """
    usual = np.median(corpus.lengths[corpus.lengths > 0]) if (corpus.lengths > 0).any() else 0.0
    written = np.flatnonzero((corpus.lengths > 0) & (corpus.lengths >= usual / 2))
    rows = written[_largest(corpus.shares[written, topic], _DOCUMENTS)]
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


def _largest(values: np.ndarray, count: int) -> np.ndarray:
    """Positions of the largest values, largest first; equal ones in their order."""
    if count < len(values):
        limit = np.partition(values, -count)[-count]
        above = np.flatnonzero(values >= limit)
    else:
        above = np.arange(len(values))
    return above[np.argsort(-values[above], kind="stable")][:count]


# --- topics ---------------------------------------------------------------------------------------------------------


def _describe_topics(model: Any, corpus: _Corpus) -> list[_Topic]:
    errors = _errors(model, len(model.components_))
    distances = l1_distances(model.components_, model.components_)
    places = _places(distances)
    anchors = [_anchors(model, k, corpus.vocabulary) for k in range(len(errors))]
    return [
        _Topic(
            number=k,
            share=float(model.prevalence_[k]),
            error=error,
            grade=_grade(error),
            words=_top_words(model, k, corpus.vocabulary, anchors[k]),
            anchors=anchors[k],
            similar=_similar(distances[k], k),
            documents=_top_documents(corpus, k),
            x=float(places[k, 0]),
            y=float(places[k, 1]),
        )
        for k, error in enumerate(errors)
    ]


def _errors(model: Any, n_topics: int) -> list[float | None]:
    """Expected errors of the topics; None for each that was not measured."""
    errors = getattr(getattr(model, "evidence_", None), "component_errors", None)
    if errors is None:
        return [None] * n_topics
    return [float(error) if np.isfinite(error) else None for error in errors]


def _grade(error: float | None) -> _Grade:
    if error is None:
        return _UNKNOWN
    return next((grade for limit, grade in _LIMITS if error <= limit), _UNREADABLE)


def _anchors(model: Any, topic: int, vocabulary: list[str]) -> list[str]:
    """A topic's anchor words; those known by column only take their names from the vocabulary."""
    words = model.anchor_words_[topic]
    return [word if isinstance(word, str) else vocabulary[int(word)] for word in words]


def _top_words(model: Any, topic: int, vocabulary: list[str], anchors: list[str]) -> list[_Word]:
    probabilities = model.components_[topic]
    return [
        _Word(
            text=vocabulary[i],
            topic=float(probabilities[i]),
            corpus=float(model.word_probabilities_[i]),
            anchor=vocabulary[i] in anchors,
        )
        for i in _largest(probabilities, _BAR_WORDS)
    ]


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
    return (
        f"{_count(n_topics, 'topic')} in {_count(n_documents, 'document')} with "
        f"{_count(len(corpus.vocabulary), 'different word')} ({float(corpus.lengths.sum()):,.0f} words in all)."
    )


def _verdict(evidence: Evidence | None, topics: list[_Topic]) -> dict[str, str]:
    """The verdict: a key for the style sheet, a headline, and what it means."""
    if evidence is None or not any(check.decides for check in evidence.checks):
        text = "No error bars were made for this model, so nothing is known about how far its topics can be trusted."
        return {"key": "unknown", "headline": "These topics were not checked", "text": text, "error": ""}
    if evidence.holds:
        headline, text = "The evidence supports these topics", "They can be read and compared one by one."
        key = "good"
    else:
        headline = "The evidence does not support these topics as a whole"
        text = "Read only those marked reliable. Fewer topics, or more documents, usually make the others firmer."
        if not any(topic.grade is _RELIABLE for topic in topics):
            text = "None of them is reliable. Try fewer topics, or more documents."
        key = "bad"
    return {"key": key, "headline": headline, "text": text, "error": _error_sentence(topics)}


def _error_sentence(topics: list[_Topic]) -> str:
    errors = [topic.error for topic in topics if topic.error is not None]
    if not errors:
        return ""
    mean = float(np.mean(errors))
    return (
        f"Expected error of a topic: {mean:.2f} on average, where 0 is perfect and 2 is all wrong. "
        f"That is about {mean / 2:.0%} of a topic's probability expected on the wrong words."
    )


def _legend(topics: list[_Topic]) -> list[tuple[_Grade, int]]:
    """The grades with the number of topics of each; those of a measured model also where there are none."""
    counts = [(grade, sum(topic.grade is grade for topic in topics)) for grade in (_RELIABLE, _CARE, _UNREADABLE)]
    unknown = sum(topic.grade is _UNKNOWN for topic in topics)
    measured = counts if unknown < len(topics) else []
    return measured + ([(_UNKNOWN, unknown)] if unknown else [])


def _evidence_rows(evidence: Evidence | None) -> list[dict[str, str]]:
    columns = ("name", "measured", "needed", "holds", "meaning")
    checks = [] if evidence is None else evidence.checks
    return [
        dict(zip(columns, describe(check), strict=True)) | {"reference": check.reference, "symbol": check.symbol}
        for check in checks
    ]


def _comparison(rows: Sequence[Mapping[str, Any]] | None, n_topics: int) -> dict[str, Any] | None:
    """Headings, and rows of texts with a mark on those of this model's number of topics."""
    if not rows:
        return None
    headings = list(dict.fromkeys(key for row in rows for key in row))
    cells = [([_cell(row.get(key)) for key in headings], row.get(headings[0]) == n_topics) for row in rows]
    return {"headings": [str(heading).replace("_", " ") for heading in headings], "rows": cells}


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "NO"
    if isinstance(value, (float, np.floating)):
        number = float(value)
        return f"{number:,.0f}" if number.is_integer() or abs(number) >= 1000 else f"{number:.3g}"
    return str(value)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _version() -> str:
    from .. import __version__

    return __version__
