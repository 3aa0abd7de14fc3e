"""What is each topic about?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..exceptions import LatentiaError
from ..metrics.relevance import RELEVANCE, other_topics, top_words
from ..report.figures import shortened
from ._axes import GRADES, INK, PALE, attribute, called, column_names, small_multiples

__all__ = ["plot_topics"]

_TOPICS, _ACROSS = 12, 4
_ORDER = ("supported", "with care", "not measured", "not supported")


def plot_topics(
    model: Any,
    n_words: int = 8,
    *,
    topics: Sequence[int] | None = None,
    relevance: float = RELEVANCE,
    vocabulary: Sequence[str] | None = None,
    ax: Any = None,
) -> Any:
    """Draw the words of topics as bars, a panel for each.

    Coloured bars are the probabilities of the words in the topic, grey ones their frequencies in the corpus, and each panel has
    a scale of its own. Words stand by
    their relevance, which weighs how probable a word is and how much more so than elsewhere. The colour of the bars is the
    topic's grade, and the heading has its share of the documents.

    Parameters
    ----------
    model : AnchorTopics, SpectralLDA, SingleTopicModel or MomentMultiLabelClassifier
        A fitted model.
    n_words : int
        Words of every topic.
    topics : sequence of int, optional
        The topics to draw; by default the 12 of the best grade and the largest share.
    relevance : float
        Weight of a word's probability beside its lift, from 0 to 1; with 1 the most probable words come first.
    vocabulary : sequence of str of length V, optional
        Words of the columns; by default those that the model knows.
    ax : array of matplotlib.axes.Axes, optional
        As many as there are topics to draw; by default those of a new figure.

    Returns
    -------
    ndarray of matplotlib.axes.Axes
        One for each topic, in the order of ``topics``.
    """
    probabilities = np.asarray(attribute(model, ["word_probabilities_", "components_"], "topics"))
    frequencies = np.asarray(attribute(model, ["word_frequencies_"], "topics of words"))
    if hasattr(model, "word_probabilities_"):  # that a word is in a document, which need not sum to one
        probabilities = probabilities / np.maximum(probabilities.sum(axis=1, keepdims=True), 1e-300)
        frequencies = model.weights_ @ probabilities
    names = column_names(model, probabilities.shape[1], vocabulary, "word")
    chosen, shares, grades = _chosen(model, topics, len(probabilities))
    if n_words < 1:
        raise LatentiaError("at least one is needed.", parameter="n_words", value=n_words)
    others = other_topics(
        probabilities, np.full(len(probabilities), 1 / len(probabilities)) if shares is None else shares
    )
    words = top_words(probabilities, n_words, word_frequencies=others, relevance=relevance)[chosen]
    panels = _panels(ax, len(chosen), words.shape[1])
    places = np.arange(words.shape[1])
    for panel, k, own in zip(panels, chosen, words, strict=True):
        top = max(float(probabilities[k, own].max()), 1e-300)
        tint = GRADES[grades[k]][0]
        panel.barh(places, 100 * probabilities[k, own], height=0.72, color=tint)
        panel.barh(places + 0.27, 100 * np.minimum(frequencies[own], top), height=0.18, color=PALE)
        panel.set_yticks(places, [shortened(names[w], 18) for w in own])
        panel.set_ylim(words.shape[1] - 0.4, -0.6)
        panel.set_xlim(0, 104 * top)
        panel.tick_params(axis="y", length=0)
        panel.tick_params(axis="x", labelsize=8, colors=INK)
        panel.locator_params(axis="x", nbins=4)
        panel.spines[["top", "right", "left"]].set_visible(False)
        panel.spines["bottom"].set_color(PALE)
        share = "" if shares is None else f"   {100 * shares[k]:.1f}%"
        panel.set_title(f"{called(model)[0]} {k}{share}", loc="left", size=10)
    if ax is None and len(panels):
        _legend(panels[0].get_figure(), {grades[k] for k in chosen})
    return panels


def _chosen(model: Any, topics: Sequence[int] | None, n_topics: int) -> tuple[np.ndarray, np.ndarray | None, list[str]]:
    """Numbers of the topics to draw; shares and grades of all."""
    evidence = getattr(model, "evidence_", None)
    records = [] if evidence is None else list(evidence.components)
    grades = [one.grade for one in records] if len(records) == n_topics else ["not measured"] * n_topics
    shares = model._shares()
    if topics is not None:
        chosen = np.asarray(list(topics), dtype=int)
        if not len(chosen) or chosen.min() < 0 or chosen.max() >= n_topics:
            raise LatentiaError(f"there are topics 0 to {n_topics - 1}.", parameter="topics", value=list(topics))
        return chosen, shares, grades
    rank = np.array([_ORDER.index(grade) for grade in grades])
    order = np.lexsort((np.zeros(n_topics) if shares is None else -shares, rank))
    return order[:_TOPICS], shares, grades


def _panels(ax: Any, n: int, n_words: int) -> np.ndarray:
    """Axes for every topic: those given, or of a new figure with up to four side by side."""
    if ax is not None:
        panels = np.atleast_1d(np.asarray(ax, dtype=object)).ravel()
        if len(panels) != n:
            raise LatentiaError(f"There are {len(panels)} axes and {n} topics: they must agree.")
        return panels
    return small_multiples(n, _ACROSS, 2.9, 0.21 * n_words + 0.85, more=0.4)


def _legend(figure: Any, grades: set[str]) -> None:
    from matplotlib.patches import Patch

    handles = [Patch(color=GRADES[grade][0], label=f"in the topic, % ({grade})") for grade in _ORDER if grade in grades]
    handles.append(Patch(color=PALE, label="in the corpus, %"))
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False, fontsize=9)
