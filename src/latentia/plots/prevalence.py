"""How much of a topic has each group, or each period?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..exceptions import LatentiaError
from ..report.figures import shortened
from ._axes import INK, colour, new_axes, small_multiples, tidy

__all__ = ["plot_prevalence"]

_MOST, _WIDE = 12, 3  # panels that are drawn by default, and side by side


def plot_prevalence(
    prevalence: Any, *, topics: Sequence[int] | None = None, names: Sequence[str] | None = None, ax: Any = None
) -> Any:
    """Draw the shares of topics by group, as points with their intervals, or over time, as curves in a band.

    Parameters
    ----------
    prevalence : Prevalence
        From ``prevalence_by`` or ``prevalence_over`` of a topic model.
    topics : sequence of int, optional
        Topics to draw; by default the dozen that moves most beyond chance.
    names : sequence of str of length K, optional
        Names of all topics; by default those of the model.
    ax : matplotlib.axes.Axes, optional
        Where to draw, for a single topic; by default a new figure with a panel a topic.

    Returns
    -------
    matplotlib.axes.Axes, or an ndarray of them if several topics are drawn
    """
    n_topics = len(prevalence.topics)
    labels = prevalence.topics if names is None else [str(name) for name in names]
    if len(labels) != n_topics:
        raise LatentiaError(f"There are {len(labels)} names and {n_topics} topics: they must agree.")
    chosen = sorted(prevalence.most_moving(_MOST)) if topics is None else [int(topic) for topic in topics]
    wrong = [topic for topic in chosen if not 0 <= topic < n_topics]
    if wrong or not chosen:
        raise LatentiaError(f"topics={topics!r}: give numbers from 0 to {n_topics - 1}.")
    if ax is not None and len(chosen) > 1:
        raise LatentiaError(f"One ax has room for one topic, and {len(chosen)} are asked for: give topics=[...].")
    by_time = prevalence.places is not None
    height = 2.2 if by_time else max(1.6, 0.28 * len(prevalence.labels) + 0.9)
    if len(chosen) == 1:
        axes = np.array([new_axes(ax, 5.0, max(height, 2.8))])
    else:
        axes = small_multiples(len(chosen), _WIDE, 3.4, height, sharex=True, sharey=True)
    share = prevalence.share
    most = 105 * float(share.high[:, chosen].max())
    for one, topic in zip(axes, chosen, strict=True):
        value, low, high = (100 * part[:, topic] for part in (share.value, share.low, share.high))
        (_draw_curve if by_time else _draw_groups)(one, prevalence, value, low, high, colour(topic), most)
        one.set_title(shortened(labels[topic], 34), fontsize=9, loc="left", color=INK)
    return axes[0] if len(chosen) == 1 else axes


def _draw_curve(ax: Any, prevalence: Any, value: Any, low: Any, high: Any, paint: str, most: float) -> None:
    ax.fill_between(prevalence.places, low, high, color=paint, alpha=0.22, linewidth=0)
    ax.plot(prevalence.places, value, color=paint, linewidth=1.8, marker="o", markersize=3)
    tidy(ax, "y")
    ax.set_ylim(0, most)
    ax.yaxis.set_major_formatter("{x:g}%")


def _draw_groups(ax: Any, prevalence: Any, value: Any, low: Any, high: Any, paint: str, most: float) -> None:
    places = np.arange(len(value))
    ax.hlines(places, low, high, color=paint, linewidth=3, alpha=0.45)
    ax.plot(value, places, "o", color=paint, markersize=5)
    ax.set_yticks(places, [shortened(label) for label in prevalence.labels])
    ax.set_ylim(len(value) - 0.5, -0.5)
    tidy(ax, "x")
    ax.set_xlim(0, most)
    ax.xaxis.set_major_formatter("{x:g}%")
