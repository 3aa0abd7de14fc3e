"""Plots of topics, and of their shares by group or period."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..exceptions import LatentiaError
from ..metrics.relevance import RELEVANCE, other_topics, top_words
from ..report.figures import bands, intervals, shorten
from ._axes import (
    GRADES,
    INK,
    PALE,
    attribute,
    check_names,
    column_names,
    disable_formulas,
    entry,
    finish_axes,
    legend,
    make_axes,
    name_rows,
)  # fmt: skip
from .figures import plot_figure

_MAX_PANELS = 12  # by default
_TOPICS = {"TopicTables": "components_", "MomentMultiLabelClassifier": "word_probabilities_"}


@disable_formulas
def plot_topics(
    model: Any,
    n_words: int = 8,
    *,
    topics: Sequence[int] | None = None,
    relevance: float | None = None,
    vocabulary: Sequence[str] | None = None,
    ax: Any = None,
) -> Any:
    """Draw the words of topics as bars, one panel per topic.

    Coloured bars are the probabilities of the words in the topic, grey bars their frequencies in the corpus; every panel has
    its own scale. The words are those of ``top_words``. The colour shows the topic's grade, and the heading its share of the
    documents.

    Parameters
    ----------
    model : AnchorTopics, SpectralLDA, SingleTopicModel or MomentMultiLabelClassifier
        A fitted model.
    n_words : int
        Number of words per topic.
    topics : sequence of int, optional
        The topics to draw; by default the 12 of the best grade and the largest share.
    relevance : float, optional
        Rank words by relevance instead, with this weight of a word's probability beside its lift, from 0 to 1; with 1 the
        most probable words come first.
    vocabulary : sequence of str of length V, optional
        Words of the columns; by default those of the model.
    ax : array of matplotlib.axes.Axes, optional
        One per topic; by default those of a new figure.

    Returns
    -------
    ndarray of matplotlib.axes.Axes
        One per topic, in the order of ``topics``.
    """
    name = entry(model, _TOPICS, "topics")
    probabilities, frequencies = attribute(model, name, "topics"), model.word_frequencies_
    of_labels = name == "word_probabilities_"
    if of_labels:  # These probabilities of occurrence do not sum to one.
        probabilities = probabilities / np.maximum(probabilities.sum(axis=1, keepdims=True), 1e-300)
        frequencies = model.weights_ @ probabilities
    names = column_names(model, probabilities.shape[1], vocabulary)
    chosen, shares, grades = _choose_topics(model, topics, len(probabilities))
    if n_words < 1:
        raise LatentiaError("expected at least 1.", parameter="n_words", value=n_words)
    if of_labels:
        words = _rank_label_words(probabilities, shares, n_words, RELEVANCE if relevance is None else relevance)[chosen]
    else:
        words = model.word_columns(n_words, relevance=relevance)[chosen]
    places, topic_names = np.arange(words.shape[1]), getattr(model, "topic_names", [""] * len(probabilities))
    panels = make_axes(ax, len(chosen), 4, 2.9, 0.21 * len(places) + 1.0)
    for panel, k, columns in zip(panels, chosen, words, strict=True):
        top = max(float(probabilities[k, columns].max()), 1e-300)
        panel.barh(places, 100 * probabilities[k, columns], height=0.72, color=GRADES[grades[k]][0])
        panel.barh(places + 0.27, 100 * np.minimum(frequencies[columns], top), height=0.18, color=PALE)
        name_rows(panel, [names[w] for w in columns], 18)
        share = "" if shares is None else f"   {100 * shares[k]:.1f}%"
        finish_axes(panel, title=f"{topic_names[k] or f'{model.nouns[0]} {k}'}{share}", grid="x")
        panel.set_xlim(0, 104 * top)
        panel.tick_params(axis="x", labelsize=8, colors=INK)
        panel.locator_params(axis="x", nbins=4)
    if ax is None:
        _legend(panels[0].get_figure(), {grades[k] for k in chosen})
    return panels


def _rank_label_words(probabilities: np.ndarray, shares: np.ndarray | None, n: int, relevance: float) -> np.ndarray:
    """Rank the words of a label model's topics by relevance, columns of shape (K, n)."""
    other_frequencies = other_topics(probabilities, np.full(len(probabilities), 1.0) if shares is None else shares)
    return top_words(probabilities, n, word_frequencies=other_frequencies, relevance=relevance)


def _choose_topics(
    model: Any, topics: Sequence[int] | None, n_topics: int
) -> tuple[np.ndarray, np.ndarray | None, list[str]]:
    """Return the numbers of the topics to draw, and shares and grades of all topics."""
    records, shares = model.evidence_.components, model.evidence_.shares
    grades = [record.grade for record in records] if len(records) == n_topics else ["not measured"] * n_topics
    if topics is not None:
        chosen = np.asarray(list(topics), dtype=int)
        if not len(chosen) or chosen.min() < 0 or chosen.max() >= n_topics:
            raise LatentiaError(f"there are topics 0 to {n_topics - 1}.", parameter="topics", value=list(topics))
        return chosen, shares, grades
    rank = np.array([list(GRADES).index(grade) for grade in grades])
    return np.lexsort((np.zeros(n_topics) if shares is None else -shares, rank))[:_MAX_PANELS], shares, grades


def _legend(figure: Any, grades: set[str]) -> None:
    from matplotlib.patches import Patch

    handles = [
        Patch(color=tint, label=f"in the topic, % ({grade})") for grade, (tint, _) in GRADES.items() if grade in grades
    ]
    handles.append(Patch(color=PALE, label="in the corpus, %"))
    legend(figure, handles=handles, loc="outside lower center", ncols=len(handles))


@disable_formulas
def plot_prevalence(
    prevalence: Any, *, topics: Sequence[int] | None = None, names: Sequence[str] | None = None, ax: Any = None
) -> Any:
    """Draw the shares of topics by group, as bars with their intervals, or over time, as curves in a band.

    Parameters
    ----------
    prevalence : Prevalence
        From ``prevalence_by`` or ``prevalence_over`` of a topic model.
    topics : sequence of int, optional
        Topics to draw; by default the dozen with the largest changes beyond chance.
    names : sequence of str of length K, optional
        Names of all topics; by default those of the model.
    ax : matplotlib.axes.Axes, optional
        Where to draw a single topic; by default a new figure with one panel per topic.

    Returns
    -------
    matplotlib.axes.Axes, or an ndarray of them if several topics are drawn
    """
    labels, by_time = check_names(names, prevalence.topics, "topics"), prevalence.places is not None
    chosen = sorted(prevalence.most_moving(_MAX_PANELS)) if topics is None else [int(topic) for topic in topics]
    if not chosen or min(chosen) < 0 or max(chosen) >= len(labels):
        raise LatentiaError(f"topics={topics!r}: give numbers from 0 to {len(labels) - 1}.")
    share, x = prevalence.share, prevalence.labels
    if by_time:
        x = prevalence.places if prevalence.numbers is None else prevalence.numbers
    parts = [[part[:, topic] for part in (share.value, share.low, share.high)] for topic in chosen]
    panels = [(shorten(labels[topic], 34), x, *part_values) for topic, part_values in zip(chosen, parts, strict=True)]
    style: dict[str, Any] = {"percent": True, "level": prevalence.level, "colours": chosen}
    return plot_figure(
        bands(panels, labels=prevalence.axis or None, **style) if by_time else intervals(panels, **style), ax=ax
    )
