"""Page of topics, for readers who do not program.

The numbers are JSON, and a script draws those of the selected topic. Words have their rank in the model's order and the two
parts of their relevance, so that the page can rank them by any weight, as `latentia.metrics` does.
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
_WEIGHTS = np.linspace(0, 1, 11)  # Values of the slider.
_MIN_PART_OF_USES = 0.05  # A search names a topic from this part of a word's uses on.
_MAX_PLACES = 20_000  # Such places in the data of the script.
_N_SEARCHED_WORDS, _N_SEARCH_TOPICS = 10_000, 3  # Words for the search beyond those that are shown, and topics of each.
_GRADES = ("good", "care", "unknown", "bad")
_N_DOCUMENTS, _N_SIMILAR, _EXCERPT_LENGTH, _N_BARS = 5, 4, 260, 15


@dataclass(frozen=True)
class _Corpus:
    """Documents: lengths (n,), shares of topics (n, K), names and texts; and the words of the columns."""

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
    """Summarise a topic model and its reliability.

    Parameters
    ----------
    model : AnchorTopics, SpectralLDA, SingleTopicModel or EmbeddingTopics
        A fitted model.
    table : sparse matrix, array or Blocks of shape (n_documents, V), or texts, optional
        Counts of words in the documents to show, usually those of the fit, or the texts themselves if the model was fitted on
        texts. Without them no documents are shown.
    embeddings : array-like of shape (n_documents, D), optional
        Embeddings of the documents, for a model that was fitted on them and has no embedder.
    vocabulary : sequence of str of length V, optional
        Words of the columns; by default those of the table or the model, or else "word 0", "word 1", ...
    names, texts : sequence of str of length n_documents, optional
        Names of the documents, and their texts, whose beginnings the page shows.
    row_labels : sequence of Column
        Other labels of the documents.
    prevalence : sequence of (str, Prevalence), optional
        Topics by group and over time, from ``prevalence_by`` and ``prevalence_over``, with the names of the groupings. The
        ``report`` of a model also takes them without names, alone or in a list.
    effects : (str, Effects), optional
        A formula, and the result of ``effects`` for it.

    Returns
    -------
    Summary

    """
    evidence, size = evidence_of(model), len(model.components_)
    corpus = _read_corpus(model, table, embeddings, vocabulary, names, texts)
    ranked = model.word_columns(_FILE_WORDS)
    columns = _columns(model, evidence)
    topics = _topics(model, corpus, component_marks(evidence, size), ranked[:, :_TABLE_WORDS])
    titles = [topic["name"] or ", ".join(topic["top"][:_TITLE_WORDS]) for topic in topics]
    tables = (
        _words(model, columns, ranked, corpus.words),
        *(() if table is None else (_table_of_documents(model, corpus, row_labels),)),
        *prevalence_tables(prevalence or ()),
    )
    values = {
        "topics": sorted(topics, key=lambda topic: (_GRADES.index(topic["grade"]["key"]), -topic["share"])),
        "weight": RELEVANCE,
        "anchored": isinstance(model, AnchorTopics),
        "single": _is_single_topic(model),
    }
    return Summary(
        headline=_describe_corpus(corpus),
        parts=(
            Section("topics.html", values, tables, data=_data(model, corpus.words, topics)),
            _table(columns, ranked, corpus.words),
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


def _table_of_documents(model: Any, corpus: _Corpus, row_labels: Sequence[Column]) -> Table:
    # Embeddings of documents without words have topics all the same.
    lengths = np.ones(len(corpus.shares)) if isinstance(model, EmbeddingTopics) else corpus.lengths
    return document_rows(corpus.shares, lengths, corpus.names, row_labels, topic_headings(model))


def topic_headings(model: Any) -> list[str]:
    """Return names of the columns of topics in tables of documents."""
    return [name or f"topic {k}" for k, name in enumerate(_names_of_topics(model))]


def _names_of_topics(model: Any) -> list[str]:
    return getattr(model, "topic_names", None) or [""] * len(model.components_)


def document_rows(
    shares: np.ndarray, lengths: np.ndarray, names: Column, row_labels: Sequence[Column], topics: Sequence[str]
) -> Table:
    """Make a table of the share of every topic in every document (n, K); documents without words have none."""
    known_shares = np.where(lengths[:, None] > 0, shares, np.nan)
    return Table("rows", (names, *row_labels, *block(topics, known_shares, _share_text)), file="documents.csv")


def _share_text(share: float) -> str:
    return "" if np.isnan(share) else f"{share:.5f}"


def document_names(names: Sequence[str] | None, rows: Iterable[int]) -> Column:
    """Return the names of some documents, or their numbers from 1."""
    if names is None:
        return Column("document", [int(row) + 1 for row in rows], "document {}".format)
    return Column("document", [str(names[row]) for row in rows])


def _shares(model: Any) -> np.ndarray:
    """Return the share of every topic in the corpus, shape (K,)."""
    has_weights = isinstance(model, SingleTopicModel | EmbeddingTopics)
    return model.weights_ if has_weights else model.prevalence_  # type: ignore[no-any-return]


def _is_single_topic(model: Any) -> bool:
    """Return True if a document has one topic in this model."""
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
    given_texts = None if table is None else texts_of(table)
    documents = table if given_texts is None or embeddings is None else None
    if given_texts is not None:
        names, texts = _names_in(table) if names is None else names, given_texts if texts is None else texts
        table = model.counted(given_texts)
    blocks = table if table is None or isinstance(table, Blocks) else _blocks(table)
    (n_topics, n_words), n_rows = model.components_.shape, 0 if blocks is None else blocks.n_rows
    if vocabulary is None:
        vocabulary = column_names(model) if blocks is None or blocks.names is None else blocks.names
    for name, values, needed in (
        ("vocabulary", vocabulary, n_words),
        ("names", names, n_rows),
        ("texts", texts, n_rows),
    ):
        if values is not None and len(values) != needed:
            raise LatentiaError(f"{name}: expected {needed} entries, as the data has; there are {len(values)}.")
    words = [f"word {i}" for i in range(n_words)] if vocabulary is None else [str(word) for word in vocabulary]
    lengths, shares = np.zeros(0), np.zeros((0, n_topics))
    if blocks is not None:
        lengths = np.concatenate([np.asarray(rows[0].sum(axis=1)).ravel() for rows in blocks])
        of_embeddings = isinstance(model, EmbeddingTopics)
        shares = np.asarray(model.transform(documents, embeddings) if of_embeddings else model.transform(blocks))
    return _Corpus(lengths, shares, words, document_names(names, range(n_rows)), texts)


def _blocks(table: Any) -> Blocks:
    """Put counts into blocks, with the names of their columns."""
    return Blocks.from_array(number_table(table, dtype="numeric"), names=column_names_of(table))


def _names_in(X: Any) -> list[str] | None:
    """Return the names of `latentia.datasets.Texts`, or the labels of a Series unless they are numbers."""
    labels = getattr(X, "names", None) if hasattr(X, "texts") else getattr(X, "index", None)
    if labels is None or callable(labels) or getattr(labels, "dtype", None) == np.int64:
        return None
    return [str(name) for name in labels]


def _top_documents(corpus: _Corpus, topic: int) -> list[dict[str, Any]]:
    """Return the documents with the largest share of a topic, without those that are shorter than half of the median.

    A document of a few words has one topic only, and does not illustrate it.
    """
    median_length = np.median(corpus.lengths[corpus.lengths > 0]) if (corpus.lengths > 0).any() else 0.0
    long_enough = np.flatnonzero((corpus.lengths > 0) & (corpus.lengths >= median_length / 2))
    return [
        {
            "name": corpus.names.written(corpus.names.values[row]),
            "share": float(corpus.shares[row, topic]),
            "words": round(float(corpus.lengths[row])),
            "excerpt": "" if corpus.texts is None else _excerpt(str(corpus.texts[row])),
        }
        for row in long_enough[largest(corpus.shares[long_enough, topic], _N_DOCUMENTS)]
    ]


def _excerpt(text: str) -> str:
    """Return the beginning of a text, cut between words."""
    start = " ".join(text[: 4 * _EXCERPT_LENGTH].split())  # White space may fill most of it.
    if len(start) <= _EXCERPT_LENGTH and len(text) <= 4 * _EXCERPT_LENGTH:
        return start
    return start[:_EXCERPT_LENGTH].rsplit(" ", 1)[0] + " …"


# --- tables ---------------------------------------------------------------------------------------------------------


def _columns(model: Any, evidence: Evidence) -> tuple[Column, ...]:
    """Return the columns of the topics, by their numbers."""
    size, grades = len(model.components_), grades_say(evidence, "a topic", _OTHER_DOCUMENTS)
    unit, meaning = ("l2", _ERROR_OF_EMBEDDINGS) if isinstance(model, EmbeddingTopics) else ("l1 of 2", _ERROR)
    names = _names_of_topics(model)
    columns = (
        Column(
            "topic", range(size), meaning=_TOPIC.format(_SINGLE_TOPIC if _is_single_topic(model) else _TOPIC_MIXTURE)
        ),
        *((Column("name", names, kind="text", heading="Name"),) if any(names) else ()),
        Column("share", _shares(model), ".6f", kind="share"),
        *grade_columns(evidence, size, unit=unit, meaning=meaning.format(grades)),
    )
    if not isinstance(model, AnchorTopics):
        return columns
    return *columns, Column(
        "anchor", model.anchor_words_, _join_words, kind="text", term="Anchor word", meaning=_ANCHOR
    )


def _table(columns: tuple[Column, ...], ranked: np.ndarray, words: list[str]) -> Table:
    """Make a table of the topics, the most frequent first."""
    order = np.argsort(-np.asarray(_column(columns, "share").values), kind="stable")
    top = [[words[w] for w in ranked[k, :_TABLE_WORDS]] for k in order]
    word_column = Column("words", top, _join_words, kind="text", term="Order of the words", meaning=_ORDER)
    caption = f"{len(order)} topics, most frequent first"
    return Table("components", (*_take_rows(columns, order), word_column), caption=caption, rest="topics.csv")


def _words(model: Any, topic_columns: tuple[Column, ...], ranked: np.ndarray, words: list[str]) -> Table:
    """Make a table of the first words of every topic, with their probabilities."""
    topic, places = np.repeat(np.arange(len(ranked)), ranked.shape[1]), ranked.ravel()
    columns = (
        *_take_rows(topic_columns, topic),
        Column("rank", np.tile(np.arange(1, ranked.shape[1] + 1), len(ranked))),
        Column("word", [words[w] for w in places]),
        Column("probability", model.components_[topic, places], ".8f"),
    )
    return Table("words", columns, file="topics.csv")


def _column(columns: Iterable[Column], name: str) -> Column:
    return next(column for column in columns if column.name == name)


def _take_rows(columns: Iterable[Column], rows: np.ndarray) -> list[Column]:
    return [replace(column, values=[column.values[i] for i in rows]) for column in columns]


def _join_words(words: Iterable[object]) -> str:
    return " ".join(map(str, words))


# --- the page -------------------------------------------------------------------------------------------------------


def _topics(
    model: Any, corpus: _Corpus, marks: Sequence[tuple[float | None, Mark]], ranked: np.ndarray
) -> list[dict[str, Any]]:
    """Return the values of each topic for the page; ``top`` has its first words, ``similar`` numbers and overlaps."""
    distances = l1_distances(model.components_, model.components_)
    shares, places, names = _shares(model), _place_on_plane(distances), _names_of_topics(model)
    anchors: list[list[str] | None] = [None] * len(marks)
    if isinstance(model, AnchorTopics):  # Columns without names get the words of the vocabulary.
        anchor_words = model.anchor_words_
        anchors = [
            [word if isinstance(word, str) else corpus.words[int(word)] for word in words] for words in anchor_words
        ]
    return [
        {
            "number": k, "name": names[k], "share": float(shares[k]), "error": error, "grade": asdict(mark),
            "anchors": anchors[k],
            "top": [corpus.words[w] for w in ranked[k] if model.components_[k, w] > 0],
            "similar": _find_similar(distances[k], k),
            "documents": _top_documents(corpus, k), "x": float(places[k, 0]), "y": float(places[k, 1]),
        }
        for k, (error, mark) in enumerate(marks)
    ]  # fmt: skip


def _answer(topics: Sequence[dict[str, Any]], titles: Sequence[str]) -> Answer:
    """Return the answer on the largest topics, called by their first words."""
    by_share = sorted(range(len(topics)), key=lambda k: -topics[k]["share"])
    order = by_share[:_N_BARS]
    shares, keys = [topics[k]["share"] for k in order], [topics[k]["grade"]["key"] for k in order]
    hover = [f"Topic {k}, {topics[k]['share']:.1%}\n{', '.join(topics[k]['top'])}" for k in order]
    labels = [f"{k}: {topics[k]['name'] or ', '.join(topics[k]['top'][:_BAR_TITLE])}" for k in order]
    listed = [f"{titles[k]} ({topics[k]['share']:.0%})" for k in by_share]
    naming = "names or first words" if any(topic["name"] for topic in topics) else "first words"
    remark = "" if len(topics) <= _N_BARS else f" The {_N_BARS} largest of {len(topics)}."
    return Answer(
        "What are these documents about?",
        f"{count(len(topics), 'topic')}, called by their {naming}: {listing(listed, comma='; ')}.",
        Figure(
            "shares",
            horizontal_bars(labels, shares, hover=hover, colours=keys, title="share of the corpus"),
            "The topics by their shares",
            "Bars of the shares of topics; the table below holds the same topics",
            f"Blue: supported by the data; yellow: with care; brown: not supported; grey: not measured.{remark}",
        ),
    )


def _data(model: Any, words: list[str], topics: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the data of the script: topics by number, with words as places in ``vocabulary``, and their ranks."""
    components = model.components_
    ranks = np.argsort(model.word_columns(components.shape[1]), axis=1)
    other_frequencies = other_topics(components, _shares(model))
    probability, lift = (relevance(components, other_frequencies, weight) for weight in (1.0, 0.0))
    is_shown = (ranks < _BAR_WORDS) & (components > 0)
    for is_shown_here, probabilities, lifts in zip(is_shown, probability, lift, strict=True):
        present = np.flatnonzero(np.isfinite(probabilities))
        for weight in _WEIGHTS:
            scores = weight * probabilities[present] + (1 - weight) * lifts[present]
            is_shown_here[present[largest(scores, _BAR_WORDS)]] = True
    listed = np.flatnonzero(is_shown.any(axis=0))
    uses = _shares(model)[:, None] * components[:, listed]
    total = uses.sum(axis=0)
    parts = uses / np.where(total > 0, total, 1.0)
    is_held = np.zeros(parts.shape, dtype=bool)  # The search shows topics with a large part of a word's uses.
    is_held.flat[largest(parts.ravel(), _MAX_PLACES)] = True
    places = [np.flatnonzero(row) for row in is_shown[:, listed] | (is_held & (parts >= _MIN_PART_OF_USES))]
    topic_records = [{name: value for name, value in topic.items() if name != "top"} for topic in topics]
    for k, (topic, columns) in enumerate(zip(topic_records, places, strict=True)):
        probabilities, lifts = (
            _round_numbers(components[k, listed[columns]]),
            np.round(lift[k, listed[columns]], 3).tolist(),
        )
        topic["words"] = {
            "at": columns.tolist(),
            "p": probabilities,
            "lift": lifts,
            "rank": ranks[k, listed[columns]].tolist(),
        }
    frequencies = _round_numbers(model.word_frequencies_[listed])
    vocabulary = {"text": [words[w] for w in listed], "corpus": frequencies, "total": _round_numbers(total)}
    rest = np.setdiff1d(np.arange(len(words)), listed)
    rest = np.sort(rest[largest(model.word_frequencies_[rest], _N_SEARCHED_WORDS)])
    return {
        "size": _BAR_WORDS,
        "topics": topic_records,
        "vocabulary": vocabulary,
        "rest": _searchable_words(model, words, rest),
    }


def _searchable_words(model: Any, words: list[str], places: np.ndarray) -> dict[str, Any]:
    """Return words that are not among the first of any topic: frequencies, and per mille of their uses by topic."""
    uses = _shares(model)[:, None] * model.components_[:, places]
    parts = np.round(1000 * uses / np.maximum(uses.sum(axis=0), 1e-300)).astype(int).T
    best = np.argsort(-parts, axis=1, kind="stable")[:, :_N_SEARCH_TOPICS]
    topic_parts = [
        [int(x) for k in topic_order if row[k] >= 1000 * _MIN_PART_OF_USES for x in (k, row[k])]
        for topic_order, row in zip(best, parts, strict=True)
    ]
    return {
        "text": [words[w] for w in places],
        "corpus": _round_numbers(model.word_frequencies_[places]),
        "in": topic_parts,
    }


def _round_numbers(values: np.ndarray) -> list[float]:
    return [float(f"{value:.4g}") for value in values]


def _find_similar(distances: np.ndarray, topic: int) -> list[tuple[int, float]]:
    """Return the nearest other topics, with the probability on the same words: one minus half the distance."""
    nearest = [int(k) for k in np.argsort(distances, kind="stable") if k != topic][:_N_SIMILAR]
    return [(k, max(0.0, 1 - float(distances[k]) / 2)) for k in nearest]


def _place_on_plane(distances: np.ndarray) -> np.ndarray:
    """Place topics on the plane, (K, 2), by classical multidimensional scaling of their distances (K, K)."""
    n = len(distances)
    centre = np.eye(n) - 1 / n
    values, vectors = np.linalg.eigh(-0.5 * centre @ distances**2 @ centre)
    places = np.zeros((n, 2))
    for axis, i in enumerate(range(n - 1, max(n - 3, -1), -1)):
        direction = vectors[:, i] * np.sqrt(max(values[i], 0.0))
        places[:, axis] = direction * (
            np.sign(direction[np.argmax(np.abs(direction))]) or 1.0
        )  # The sign is not random.
    return places


# --- words about the whole ------------------------------------------------------------------------------------------


def _describe_corpus(corpus: _Corpus) -> str:
    n_documents, n_topics = corpus.shares.shape
    n_found, words = count(n_topics, "topic"), count(len(corpus.words), "different word")
    if not n_documents:
        return f"{n_found} of {words}."
    n_blank = int((corpus.lengths < 2).sum())
    blank = f"; {count(n_blank, 'document')} with fewer than two words taught nothing" if n_blank else ""
    n_words = f"{float(corpus.lengths.sum()):,.0f} words in all"
    return f"{n_found} in {count(n_documents, 'document')} with {words} ({n_words}{blank})."


_MEAN_ERROR = (
    "Expected error of a topic: {1:.2f} on average, where 0 is perfect and 2 is all wrong. So about {2:.0%} of a topic's "
    "probability is expected on the wrong words."
)
_TOPIC = (
    "Words that tend to occur in the same documents, each with a probability. {} A topic has a number, not a name. Read its "
    "documents before you give it a name."
)
_SINGLE_TOPIC = "Every document is about one topic, with a probability."
_TOPIC_MIXTURE = "A document is a mixture of topics: its share of a topic is the part of its words that comes from it."
_ANCHOR = (
    "A word that belongs to one topic and hardly occurs in any other. The method finds each topic through its anchor. An "
    "anchor is a sign of its topic, not a summary, and is often rarer than the topic's other words. If an anchor makes no "
    "sense, distrust its topic."
)
_ERROR = (
    "The documents are split at random, and topics are learned again from each part. The distance that a topic moves measures "
    "how far it may be from the truth. The error is the sum of the differences of all word probabilities: 0 is perfect, 2 "
    "means that no word is right, and half of it is the share of the topic's probability on wrong words. {} If a topic is "
    "marked *with care*, trust its main words only."
)
_ERROR_OF_EMBEDDINGS = (
    "The documents are split at random, and topics are learned again from each part. The distance that the mean direction of a "
    "topic's embeddings moves measures how far it may be from the truth, in lengths of a direction: 0 is perfect. {}"
)
_OTHER_DOCUMENTS = "other documents of the same kind would give it other words"
_ORDER = (
    "First come relevant words that certainly occur in the same documents as the topic's other words. The slider ranks by "
    "relevance alone, with its weight λ: λ log p(word in the topic) + (1 \N{MINUS SIGN} λ) times the logarithm of the ratio of "
    "the word's probability there to that in the other topics (after Sievert and Shirley 2014). At 1 the most frequent words "
    "of a topic come first, which may be frequent everywhere; at 0 words that hardly occur elsewhere, which may be rare."
)
_FINDING = (
    "The part of all uses of the word in the corpus that comes from each topic, according to the model. Topics with less than "
    "5% of them are named only if the word is among their first words. For words that are not among the first of any topic, at "
    "most three topics are named. The search covers the 10,000 most frequent words."
)
_FREQUENCIES = (
    "A word's probability within the topic, beside its frequency in the whole corpus. Words that are much more probable in the "
    "topic distinguish it from others."
)
_MAP = (
    "Topics differ in many dimensions, and the map has two. Circles that would hide each other are moved. Topics that are "
    "close on the map are not always similar; the list of most similar topics is exact."
)
