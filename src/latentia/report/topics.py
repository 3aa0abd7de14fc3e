"""Topics, for readers who do not program.

Numbers travel as JSON, and a script draws those of the selected topic. Words come with their place among those that the model
shows, and with the two parts of their relevance, so that the page ranks them by any weight of these as `latentia.metrics` does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from .._frames import column_names_of
from .._validation import column_names, number_table
from ..effects import Effects
from ..evidence import Evidence
from ..exceptions import LatentiaError
from ..metrics import l1_distances
from ..metrics.relevance import RELEVANCE, other_topics, relevance
from ..passes import Blocks
from ..summaries import Answer, Column, Figure, Section, Summary, Table, block, grade_columns
from ..topics import AnchorTopics, EmbeddingTopics, SingleTopicModel
from ..topics.prevalence import Prevalence
from ..words import texts_of
from ._effects import effects_lines, effects_parts
from ._prevalence import prevalence_figures, prevalence_lines, prevalence_tables
from .figures import horizontal_bars
from .page import page
from .parts import Mark, component_marks, count, evidence_of, grades_say, largest, listing

_FILE_WORDS, _TABLE_WORDS, _BAR_WORDS, _BAR_TITLE, _TITLE_WORDS = 50, 10, 20, 5, 3
_WEIGHTS = np.linspace(0, 1, 11)  # those of the slider
_HELD, _MOST_HELD = 0.05, 20_000  # of a word's uses, from which on a search names a topic; and how many such places
_SOUGHT, _IN = 10_000, 3  # words that are searched beyond those that are shown, and topics of each
_GRADES = ("good", "care", "unknown", "bad")
_DOCUMENTS, _SIMILAR, _EXCERPT, _SHOWN = 5, 4, 260, 15


@dataclass(frozen=True)
class _Corpus:
    """The documents: their lengths (n,), shares of topics (n, K), names and texts; and words of the columns."""

    lengths: np.ndarray
    shares: np.ndarray
    words: list[str]
    names: Column
    texts: Sequence[str] | None


@page("Topics", "documents")
def summarize_topics(
    model: Any,
    table: Any = None,
    embeddings: Any = None,
    *,
    vocabulary: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
    texts: Sequence[str] | None = None,
    row_labels: Sequence[Column] = (),
    prevalence: Sequence[tuple[str, Prevalence]] | None = None,
    effects: tuple[str, Effects] | None = None,
) -> Summary:
    """Say what a topic model found, and how far it can be trusted.

    Parameters
    ----------
    model : AnchorTopics, SpectralLDA, SingleTopicModel or EmbeddingTopics
        A fitted model.
    table : sparse matrix, array or Blocks of shape (n_documents, V), or texts, optional
        Counts of words in the documents to show, usually those that the model was fitted on, or the documents themselves
        where it was fitted on texts. Without it none are shown.
    embeddings : array-like of shape (n_documents, D), optional
        Embeddings of the documents, for a model that was fitted on them and has no embedder.
    vocabulary : sequence of str of length V, optional
        Words of the columns; by default those that the table or the model knows, or else "word 0", "word 1", ...
    names, texts : sequence of str of length n_documents, optional
        Names of the documents, and their texts, of which the page shows the beginnings.
    row_labels : sequence of Column
        What else tells the documents apart.
    prevalence : sequence of (str, Prevalence), optional
        Topics by group and over time, from ``prevalence_by`` and ``prevalence_over``, with the names of the groupings.
    effects : (str, Effects), optional
        A formula, and what ``effects`` says of it.

    Returns
    -------
    Summary

    """
    evidence, size = evidence_of(model), len(model.components_)
    corpus = _read_corpus(model, table, embeddings, vocabulary, names, texts)
    ranked = model.word_columns(_FILE_WORDS)
    known = _columns(model, evidence)
    topics = _topics(model, corpus, component_marks(evidence, size), ranked[:, :_TABLE_WORDS])
    titles = [topic["name"] or ", ".join(topic["top"][:_TITLE_WORDS]) for topic in topics]
    tables = (
        _words(model, known, ranked, corpus.words),
        *(() if table is None else (rows_of(corpus.shares, corpus.names, row_labels, topic_headings(model)),)),
        *prevalence_tables(prevalence or ()),
    )
    values = {
        "topics": sorted(topics, key=lambda topic: (_GRADES.index(topic["grade"]["key"]), -topic["share"])),
        "weight": RELEVANCE,
        "anchored": isinstance(model, AnchorTopics),
        "single": _of_one_topic(model),
    }
    return Summary(
        says=_says(corpus),
        parts=(
            Section("topics.html", values, tables, data=_data(model, corpus.words, topics)),
            _table(known, ranked, corpus.words),
            *prevalence_figures(prevalence or (), titles),
            *(() if effects is None else effects_parts(*effects, titles)),
        ),
        answer=_answer(topics, titles),
        error="" if isinstance(model, EmbeddingTopics) else _MEAN_ERROR,
        reading=(("Finding a word", _FINDING), ("In the topic, in the corpus", _FREQUENCIES), ("Map", _MAP)),
        styles=("topics.css",),
        scripts=("topics.js",),
        lines=(
            *prevalence_lines(prevalence or (), titles),
            *(() if effects is None else effects_lines(*effects, titles)),
        ),
    )


def topic_headings(model: Any) -> list[str]:
    """Return names of the columns of topics in tables of documents."""
    return [name or f"topic {k}" for k, name in enumerate(_names_of_topics(model))]


def _names_of_topics(model: Any) -> list[str]:
    return getattr(model, "topic_names", None) or [""] * len(model.components_)


def rows_of(shares: np.ndarray, names: Column, row_labels: Sequence[Column], topics: Sequence[str]) -> Table:
    """The share of every topic in every document (n, K)."""
    return Table("rows", (names, *row_labels, *block(topics, shares, ".5f")), file="documents.csv")


def names_of(names: Sequence[str] | None, rows: Iterable[int]) -> Column:
    """Names of some of the documents, or their numbers from 1."""
    if names is None:
        return Column("document", [int(row) + 1 for row in rows], "document {}".format)
    return Column("document", [str(names[row]) for row in rows])


def _shares(model: Any) -> np.ndarray:
    """Of every topic in the corpus, shape (K,)."""
    weighed = isinstance(model, SingleTopicModel | EmbeddingTopics)
    return model.weights_ if weighed else model.prevalence_  # type: ignore[no-any-return]


def _of_one_topic(model: Any) -> bool:
    """Whether a document is about one topic."""
    return isinstance(model, SingleTopicModel) or (isinstance(model, EmbeddingTopics) and model.method == "mixture")


# --- documents ------------------------------------------------------------------------------------------------------


def _read_corpus(
    model: Any,
    table: Any,
    embeddings: Any,
    vocabulary: Sequence[str] | None,
    names: Sequence[str] | None,
    texts: Sequence[str] | None,
) -> _Corpus:
    given = None if table is None else texts_of(table)
    read = table if given is None or embeddings is None else None
    if given is not None:
        names, texts = _names_in(table) if names is None else names, given if texts is None else texts
        table = model.counted(given)
    blocks = table if table is None or isinstance(table, Blocks) else _blocks(table)
    (n_topics, n_words), n_rows = model.components_.shape, 0 if blocks is None else blocks.n_rows
    if vocabulary is None:
        vocabulary = column_names(model) if blocks is None or blocks.names is None else blocks.names
    for name, some, needed in (("vocabulary", vocabulary, n_words), ("names", names, n_rows), ("texts", texts, n_rows)):
        if some is not None and len(some) != needed:
            raise LatentiaError(f"{name} has {len(some)} entries and the data has {needed}: they must agree.")
    words = [f"word {i}" for i in range(n_words)] if vocabulary is None else [str(word) for word in vocabulary]
    lengths, shares = np.zeros(0), np.zeros((0, n_topics))
    if blocks is not None:
        lengths = np.concatenate([np.asarray(one[0].sum(axis=1)).ravel() for one in blocks])
        of_embeddings = isinstance(model, EmbeddingTopics)
        shares = np.asarray(model.transform(read, embeddings) if of_embeddings else model.transform(blocks))
    return _Corpus(lengths, shares, words, names_of(names, range(n_rows)), texts)


def _blocks(table: Any) -> Blocks:
    """Counts in blocks, with the names of their columns."""
    return Blocks.from_array(number_table(table, dtype="numeric"), names=column_names_of(table))


def _names_in(X: Any) -> list[str] | None:
    """Of `latentia.datasets.Texts`, or the labels of a Series that are not mere numbers."""
    found = getattr(X, "names", None) if hasattr(X, "texts") else getattr(X, "index", None)
    if found is None or callable(found) or getattr(found, "dtype", None) == np.int64:
        return None
    return [str(name) for name in found]


def _top_documents(corpus: _Corpus, topic: int) -> list[dict[str, Any]]:
    """The documents with the largest share of a topic, among those that are not much shorter than most.

    A document of a few words is all of one topic and shows nothing of it.
    """
    usual = np.median(corpus.lengths[corpus.lengths > 0]) if (corpus.lengths > 0).any() else 0.0
    some = np.flatnonzero((corpus.lengths > 0) & (corpus.lengths >= usual / 2))
    return [
        {
            "name": corpus.names.written(corpus.names.values[row]),
            "share": float(corpus.shares[row, topic]),
            "words": round(float(corpus.lengths[row])),
            "excerpt": "" if corpus.texts is None else _excerpt(str(corpus.texts[row])),
        }
        for row in some[largest(corpus.shares[some, topic], _DOCUMENTS)]
    ]


def _excerpt(text: str) -> str:
    """The beginning of a text, cut between words."""
    start = " ".join(text[: 4 * _EXCERPT].split())  # white space may fill most of it
    if len(start) <= _EXCERPT and len(text) <= 4 * _EXCERPT:
        return start
    return start[:_EXCERPT].rsplit(" ", 1)[0] + " …"


# --- tables ---------------------------------------------------------------------------------------------------------


def _columns(model: Any, evidence: Evidence) -> tuple[Column, ...]:
    """What is known of each topic, by their numbers."""
    size, grades = len(model.components_), grades_say(evidence, "a topic", _OTHERS)
    unit, meaning = ("l2", _ERROR_OF_EMBEDDINGS) if isinstance(model, EmbeddingTopics) else ("l1 of 2", _ERROR)
    names = _names_of_topics(model)
    known = (
        Column("topic", range(size), meaning=_TOPIC.format(_ONE if _of_one_topic(model) else _MANY)),
        *((Column("name", names, kind="text", heading="Name"),) if any(names) else ()),
        Column("share", _shares(model), ".6f", kind="share"),
        *grade_columns(evidence, size, unit=unit, meaning=meaning.format(grades)),
    )
    if not isinstance(model, AnchorTopics):
        return known
    return *known, Column("anchor", model.anchor_words_, _spaced, kind="text", term="Anchor word", meaning=_ANCHOR)


def _table(known: tuple[Column, ...], ranked: np.ndarray, words: list[str]) -> Table:
    """The topics, the most frequent first."""
    order = np.argsort(-np.asarray(_column(known, "share").values), kind="stable")
    top = [[words[w] for w in ranked[k, :_TABLE_WORDS]] for k in order]
    told = Column("words", top, _spaced, kind="text", term="Order of the words", meaning=_ORDER)
    caption = f"{len(order)} topics, most frequent first"
    return Table("components", (*_picked(known, order), told), caption=caption, rest="topics.csv")


def _words(model: Any, known: tuple[Column, ...], ranked: np.ndarray, words: list[str]) -> Table:
    """The words that stand for every topic, and how probable they are in it."""
    topic, places = np.repeat(np.arange(len(ranked)), ranked.shape[1]), ranked.ravel()
    columns = (
        *_picked(known, topic),
        Column("rank", np.tile(np.arange(1, ranked.shape[1] + 1), len(ranked))),
        Column("word", [words[w] for w in places]),
        Column("probability", model.components_[topic, places], ".8f"),
    )
    return Table("words", columns, file="topics.csv")


def _column(columns: Iterable[Column], name: str) -> Column:
    return next(column for column in columns if column.name == name)


def _picked(columns: Iterable[Column], rows: np.ndarray) -> list[Column]:
    return [replace(column, values=[column.values[i] for i in rows]) for column in columns]


def _spaced(words: Iterable[object]) -> str:
    return " ".join(map(str, words))


# --- the page -------------------------------------------------------------------------------------------------------


def _topics(
    model: Any, corpus: _Corpus, marks: Sequence[tuple[float | None, Mark]], ranked: np.ndarray
) -> list[dict[str, Any]]:
    """What the page shows of each topic; ``top`` has its first words, ``similar`` numbers and overlaps."""
    distances = l1_distances(model.components_, model.components_)
    shares, places, names = _shares(model), _places(distances), _names_of_topics(model)
    anchors: list[list[str] | None] = [None] * len(marks)
    if isinstance(model, AnchorTopics):  # those known by column only take their names from the vocabulary
        found = model.anchor_words_
        anchors = [[word if isinstance(word, str) else corpus.words[int(word)] for word in words] for words in found]
    return [
        {
            "number": k, "name": names[k], "share": float(shares[k]), "error": error, "grade": asdict(mark),
            "anchors": anchors[k],
            "top": [corpus.words[w] for w in ranked[k] if model.components_[k, w] > 0], "similar": _similar(distances[k], k),
            "documents": _top_documents(corpus, k), "x": float(places[k, 0]), "y": float(places[k, 1]),
        }
        for k, (error, mark) in enumerate(marks)
    ]  # fmt: skip


def _answer(topics: Sequence[dict[str, Any]], titles: Sequence[str]) -> Answer:
    """The largest topics, each called by its first words."""
    order = sorted(range(len(topics)), key=lambda k: -topics[k]["share"])[:_SHOWN]
    shares, keys = [topics[k]["share"] for k in order], [topics[k]["grade"]["key"] for k in order]
    hover = [f"Topic {k}, {topics[k]['share']:.1%}\n{', '.join(topics[k]['top'])}" for k in order]
    called = [f"{k}: {topics[k]['name'] or ', '.join(topics[k]['top'][:_BAR_TITLE])}" for k in order]
    named = [f"{titles[k]} ({topics[k]['share']:.0%})" for k in order]
    how = "names or first words" if any(topic["name"] for topic in topics) else "first words"
    some = "" if len(topics) <= _SHOWN else f" The {_SHOWN} largest of {len(topics)}."
    return Answer(
        "What are these documents about?",
        f"{count(len(topics), 'topic')}, called by their {how}: {listing(named, comma='; ')}.",
        Figure(
            "shares",
            horizontal_bars(called, shares, hover=hover, colours=keys, title="share of the corpus"),
            "The topics by their shares",
            "Bars of the shares of topics; the table below holds the same topics",
            f"Blue: supported by the data; yellow: with care; brown: not supported; grey: not measured.{some}",
        ),
    )


def _data(model: Any, words: list[str], topics: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What the script reads: topics by number, with words as places in ``vocabulary``, and what ranks them."""
    components = model.components_
    ranks = np.argsort(model.word_columns(components.shape[1]), axis=1)
    others = other_topics(components, _shares(model))
    probability, lift = (relevance(components, others, weight) for weight in (1.0, 0.0))
    kept = (ranks < _BAR_WORDS) & (components > 0)
    for own, p, up in zip(kept, probability, lift, strict=True):
        present = np.flatnonzero(np.isfinite(p))
        for weight in _WEIGHTS:
            own[present[largest(weight * p[present] + (1 - weight) * up[present], _BAR_WORDS)]] = True
    listed = np.flatnonzero(kept.any(axis=0))
    uses = _shares(model)[:, None] * components[:, listed]
    total = uses.sum(axis=0)
    parts = uses / np.where(total > 0, total, 1.0)
    held = np.zeros(parts.shape, dtype=bool)  # words of whose uses a topic has much, for the search
    held.flat[largest(parts.ravel(), _MOST_HELD)] = True
    places = [np.flatnonzero(row) for row in kept[:, listed] | (held & (parts >= _HELD))]
    told = [{name: value for name, value in topic.items() if name != "top"} for topic in topics]
    for k, (topic, at) in enumerate(zip(told, places, strict=True)):
        p, up = _digits(components[k, listed[at]]), np.round(lift[k, listed[at]], 3).tolist()
        topic["words"] = {"at": at.tolist(), "p": p, "lift": up, "rank": ranks[k, listed[at]].tolist()}
    frequencies = _digits(model.word_frequencies_[listed])
    vocabulary = {"text": [words[w] for w in listed], "corpus": frequencies, "total": _digits(total)}
    rest = np.setdiff1d(np.arange(len(words)), listed)
    rest = np.sort(rest[largest(model.word_frequencies_[rest], _SOUGHT)])
    return {"size": _BAR_WORDS, "topics": told, "vocabulary": vocabulary, "rest": _rest(model, words, rest)}


def _rest(model: Any, words: list[str], places: np.ndarray) -> dict[str, Any]:
    """Words that are not among the first of any topic: their frequencies, and per mille of their uses by topic."""
    uses = _shares(model)[:, None] * model.components_[:, places]
    parts = np.round(1000 * uses / np.maximum(uses.sum(axis=0), 1e-300)).astype(int).T
    best = np.argsort(-parts, axis=1, kind="stable")[:, :_IN]
    held = [
        [int(x) for k in own if row[k] >= 1000 * _HELD for x in (k, row[k])]
        for own, row in zip(best, parts, strict=True)
    ]
    return {"text": [words[w] for w in places], "corpus": _digits(model.word_frequencies_[places]), "in": held}


def _digits(values: np.ndarray) -> list[float]:
    return [float(f"{value:.4g}") for value in values]


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


def _says(corpus: _Corpus) -> str:
    n_documents, n_topics = corpus.shares.shape
    found, words = count(n_topics, "topic"), count(len(corpus.words), "different word")
    if not n_documents:
        return f"{found} of {words}."
    return (
        f"{found} in {count(n_documents, 'document')} with {words} ({float(corpus.lengths.sum()):,.0f} words in all)."
    )


_MEAN_ERROR = (
    "Expected error of a topic: {1:.2f} on average, where 0 is perfect and 2 is all wrong. That is about {2:.0%} of a topic's "
    "probability expected on the wrong words."
)
_TOPIC = (
    "Words that tend to occur in the same documents, each with a probability. {} A topic has a number, not a name: what it is "
    "about is for the reader to say. Read its documents before giving it one."
)
_ONE = "Every document is about one topic; how sure that is, its probability says."
_MANY = "A document is a mixture of topics: its share of a topic is the part of its words that comes from it."
_ANCHOR = (
    "A word that belongs to one topic and hardly occurs in any other. Each topic was found through its anchor. An anchor is a "
    "sign of its topic, not a summary, and is often rarer than the topic's other words. An anchor that makes no sense is a "
    "reason to distrust its topic."
)
_ERROR = (
    "The documents are split at random, and topics are learned from the parts anew. How far a topic moves says how far it may "
    "be from the truth. The error is the sum of the differences of all word probabilities: 0 is perfect, 2 means that no word "
    "is right, and half of it is the share of the topic's probability that lies on wrong words. {} Of a topic *with care* "
    "trust its main words only."
)
_ERROR_OF_EMBEDDINGS = (
    "The documents are split at random, and topics are learned from the parts anew. How far the mean direction of a topic's "
    "embeddings moves says how far it may be from the truth, in lengths of a direction: 0 is perfect. {}"
)
_OTHERS = "other documents of the same kind would give it other words"
_ORDER = (
    "First come words that surely occur in the same documents as the topic's other ones, of those that are relevant to it. The "
    "slider ranks by relevance alone, with its weight λ: λ log p(word in the topic) + (1 \N{MINUS SIGN} λ) times the logarithm "
    "of how many times as probable the word is there as in the other topics (after Sievert and Shirley 2014). At 1 the most "
    "frequent words of a topic come first, though they may be frequent everywhere; at 0 those that hardly occur elsewhere, "
    "though they may be rare."
)
_FINDING = (
    "Of all uses of the word in the corpus, how many come from each topic, as the model has it. Topics with less than 5% of "
    "them are named only where the word stands among their first; of words that are among the first of none, three topics at "
    "most. Words are searched up to the 10,000 most frequent."
)
_FREQUENCIES = (
    "A word's probability within the topic, beside its frequency in the whole corpus. Words that are much more probable in the "
    "topic are what sets it apart."
)
_MAP = (
    "Topics differ in many dimensions, and the map has two. Circles that would hide each other are moved apart. "
    "What lies close on the map is not always similar; the list of most similar topics is exact."
)
