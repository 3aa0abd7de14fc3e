"""Which state follows which, and when is each?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..exceptions import LatentiaError
from ._axes import attribute, colour, column_names, heat, new_axes, tidy

__all__ = ["plot_states", "plot_transitions"]


def plot_transitions(model: Any, *, names: Sequence[str] | None = None, ax: Any = None) -> Any:
    """Draw the probabilities of the next state (columns) given the present one (rows).

    Parameters
    ----------
    model : SpectralHMM or TwoStateHMM
        A fitted model.
    names : sequence of str of length K, optional
        Names of the states; by default their numbers.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    matrix = attribute(model, ["transmat_"], "transitions")
    labels = [str(k) for k in range(len(matrix))] if names is None else [str(name) for name in names]
    if len(labels) != len(matrix):
        raise LatentiaError(f"There are {len(labels)} names and {len(matrix)} states: they must agree.")
    return heat(ax, matrix, labels, labels, row_title="from state", column_title="to state")


def plot_states(
    model: Any,
    X: Any,
    *,
    column: int | str = 0,
    start: int = 0,
    stop: int | None = None,
    names: Sequence[str] | None = None,
    ax: Any = None,
) -> Any:
    """Draw a sequence with its most probable states as colours behind it.

    Parameters
    ----------
    model : SpectralHMM or TwoStateHMM
        A fitted model.
    X : array of shape (n_steps,) of symbols, or (n_steps, D) of numbers
        One sequence.
    column : int or str
        Which column to draw, where there are several.
    start, stop : int
        The steps to draw; by default all.
    names : sequence of str of length K, optional
        Names of the states; by default their numbers.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    K = len(attribute(model, ["transmat_"], "states"))
    labels = [f"state {k}" for k in range(K)] if names is None else [str(name) for name in names]
    if len(labels) != K:
        raise LatentiaError(f"There are {len(labels)} names and {K} states: they must agree.")
    states, values = np.asarray(model.predict(X)), np.asarray(X)
    title = "symbol"
    if values.ndim > 1:
        known = [str(name) for name in X.columns] if hasattr(X, "columns") else column_names(model, values.shape[1])
        if isinstance(column, str) and column not in known:
            raise LatentiaError(f"There are {', '.join(known)}.", parameter="column", value=column)
        place = known.index(column) if isinstance(column, str) else column
        if not -values.shape[1] <= place < values.shape[1]:
            raise LatentiaError(f"There are {values.shape[1]} columns.", parameter="column", value=column)
        values, title = values[:, place], known[place]
    shown = np.arange(len(values))[start:stop]
    if not len(shown):
        raise LatentiaError(f"No steps lie from {start} to {stop}: there are {len(values)}.")
    ax = new_axes(ax, 9.0, 3.2)
    edges = np.flatnonzero(np.diff(states[shown])) + 1
    for first, last in zip([0, *edges], [*edges, len(shown)], strict=True):
        k = int(states[shown[first]])
        ax.axvspan(shown[first] - 0.5, shown[last - 1] + 0.5, color=colour(k), alpha=0.22, linewidth=0)
    numbers = values.dtype.kind in "biuf" and not (title == "symbol" and len(getattr(model, "symbols_", ())) <= 12)
    if numbers:
        ax.plot(shown, values[shown], color="#1b2430", linewidth=1)
    else:
        kinds, codes = np.unique(values[shown], return_inverse=True)
        ax.plot(shown, codes, "|", color="#1b2430", markersize=7)
        ax.set_yticks(range(len(kinds)), [str(kind) for kind in kinds])
    from matplotlib.patches import Patch

    found = np.unique(states[shown])
    ax.legend(
        handles=[Patch(color=colour(int(k)), alpha=0.35, label=labels[int(k)]) for k in found], frameon=False, fontsize=9,
        ncols=min(len(found), 6), loc="lower left", bbox_to_anchor=(0, 1),
    )  # fmt: skip
    tidy(ax, "y")
    ax.set_xlim(shown[0] - 0.5, shown[-1] + 0.5)
    ax.set(xlabel="step", ylabel=title)
    return ax
