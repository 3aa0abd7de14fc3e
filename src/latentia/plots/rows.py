"""Plots of rows: clusters, memberships, and states over time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from ..exceptions import LatentiaError
from ..report.communities import PALETTE as TWENTY
from ..report.figures import places_on_a_plane, points
from ._axes import (
    attribute,
    check_names,
    colour,
    column_names,
    disable_formulas,
    entry,
    finish_axes,
    legend,
    new_axes,
    select_rows,
)
from .figures import plot_figure

_N_MEMBERS, _N_ROWS = 500, 2000
_MAX_SYMBOLS = 12  # Sequences of few symbols are drawn with symbol names.


@disable_formulas
def plot_clusters(model: Any, X: Any, *, n: int = _N_ROWS, ax: Any = None) -> Any:
    """Plot the rows in the plane that best separates the component means, coloured by component.

    The plane shows only two of all directions: components that overlap there may be separate in other directions.

    Parameters
    ----------
    model : estimator with ``means_`` and ``predict``
        A fitted mixture, or a hidden Markov model of vectors.
    X : array or sparse matrix of shape (n_rows, D)
    n : int
        Maximal number of rows, evenly spaced.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    means = attribute(model, "means_", "means")
    means = np.hstack(means) if isinstance(means, list) else means
    labels = np.asarray(model.predict(X))
    if np.shape(X)[1:] != means.shape[1:]:
        raise LatentiaError(f"Expected a table with {means.shape[1]} columns.")
    row_numbers = select_rows(len(labels), n)
    rows = X.tocsr()[row_numbers].toarray() if sparse.issparse(X) else np.asarray(X, dtype=float)[row_numbers]
    weights = model.weights_ / model.weights_.sum()
    plane, centre = places_on_a_plane(means, weights), weights @ means
    names = [f"{model.nouns[0]} {k}" for k in range(len(means))]
    ax = plot_figure(points((rows - centre) @ plane, labels[row_numbers], (means - centre) @ plane, names), ax=ax)
    ax.set_aspect("equal", adjustable="datalim")
    return ax


@disable_formulas
def plot_memberships(model: Any, X: Any = None, *, n: int = _N_MEMBERS, sort: bool = True, ax: Any = None) -> Any:
    """Draw the shares of the components in each row or node, as a column of colours.

    Parameters
    ----------
    model : estimator
        A fitted model of mixed memberships: communities, topics, states, mixtures, factorizations.
    X : table, optional
        The rows; models of graphs know their nodes.
    n : int
        Maximal number of rows; from more, evenly spaced ones are drawn.
    sort : bool
        Whether rows are sorted by their strongest component and its share; otherwise they keep their order, as for sequences.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    check_is_fitted(model)
    if X is None and "memberships_" not in vars(model):
        raise LatentiaError(f"A {type(model).__name__} does not store its rows. Give them: plot_memberships(model, X).")
    shares = np.asarray(entry(model, _SHARES, "shares of components in its rows")(model, X))
    shares = shares[np.isfinite(shares).all(axis=1) & (shares.sum(axis=1) > 0)]
    if not len(shares):
        raise LatentiaError("No row belongs to a component.")
    shares = shares / shares.sum(axis=1, keepdims=True)
    if sort:
        shares = shares[np.lexsort((-shares.max(axis=1), shares.argmax(axis=1)))]
    drawn_shares = shares[select_rows(len(shares), n)]
    (singular, _, rows), ax = model.nouns, new_axes(ax, 8.0, 3.0)
    edges, tops = np.arange(len(drawn_shares) + 1) - 0.5, np.cumsum(drawn_shares, axis=1)
    for k, (top, part) in enumerate(zip(tops.T, drawn_shares.T, strict=True)):
        look = {"color": TWENTY[k % len(TWENTY)], "label": f"{singular} {k}", "linewidth": 0}
        ax.stairs(top, edges, baseline=top - part, fill=True, **look)
    sample_text = "" if len(drawn_shares) == len(shares) else f"{len(drawn_shares)} of "
    ax.set_xlabel(f"{sample_text}{len(shares):,} {rows}" + (f", by their strongest {singular}" if sort else ""))
    ax.set(xlim=(edges[0], edges[-1]), ylim=(0, 1), ylabel="share", xticks=[])
    ax.spines[:].set_visible(False)
    if shares.shape[1] <= len(TWENTY):
        legend(ax, fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))
    return ax


def _predict_shares(model: Any, X: Any) -> np.ndarray:
    return model.predict_proba(X)  # type: ignore[no-any-return]


_SHARES: Mapping[str, Callable[[Any, Any], np.ndarray]] = {
    **dict.fromkeys(("MixtureMethods", "ContrastiveGaussianMixture", "ChainMethods"), _predict_shares),
    "TopicTables": lambda model, X: model.transform(X),
    "MomentMultiLabelClassifier": lambda model, X: model.posterior(X),
    "MembershipMethods": lambda model, X: model.memberships_ if X is None else model.transform(X),
    # In a factorization the share of a component is its part of the row's sum.
    "FactorModel": lambda model, X: model.transform(X) * model.components_.sum(axis=1),
}
"""Functions that return the shares of the components in every row, shape (n, K)."""


@disable_formulas
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
    """Draw a sequence over a background in the colours of its most probable states.

    Parameters
    ----------
    model : SpectralHMM or TwoStateHMM
        A fitted model.
    X : array of shape (n_steps,) of symbols, or (n_steps, D) of numbers
        One sequence.
    column : int or str
        Column to draw, if there are several.
    start, stop : int
        First and last step to draw; by default all.
    names : sequence of str of length K, optional
        Names of the states; by default their numbers.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    K = len(attribute(model, "transmat_", "states"))
    labels = check_names(names, [f"state {k}" for k in range(K)], "states")
    states, (values, title) = np.asarray(model.predict(X)), _column(model, X, column)
    steps = np.arange(len(values))[start:stop]
    if not len(steps):
        raise LatentiaError(f"No steps lie from {start} to {stop}: there are {len(values)}.")
    from matplotlib.patches import Patch

    ax, visible_states = new_axes(ax, 9.0, 3.2), np.unique(states[steps])
    edges = [0, *np.flatnonzero(np.diff(states[steps])) + 1, len(steps)]
    for first, last in pairwise(edges):
        tint = colour(int(states[steps[first]]))
        ax.axvspan(steps[first] - 0.5, steps[last - 1] + 0.5, color=tint, alpha=0.22, linewidth=0)
    kinds, codes = np.unique(values[steps], return_inverse=True)
    if values.dtype.kind in "biuf" and (title != "symbol" or len(kinds) > _MAX_SYMBOLS):
        ax.plot(steps, values[steps], color="#1b2430", linewidth=1)
    else:
        ax.plot(steps, codes, "|", color="#1b2430", markersize=7)
        ax.set_yticks(range(len(kinds)), [str(kind) for kind in kinds])
    handles = [Patch(color=colour(int(k)), alpha=0.35, label=labels[int(k)]) for k in visible_states]
    legend(ax, handles=handles, ncols=min(len(visible_states), 6), loc="lower left", bbox_to_anchor=(0, 1))
    ax.set_xlim(steps[0] - 0.5, steps[-1] + 0.5)
    return finish_axes(ax, "step", title, grid="y")


def _column(model: Any, X: Any, column: int | str) -> tuple[np.ndarray, str]:
    """Return the drawn values of a sequence and their name."""
    values = np.asarray(X)
    if values.ndim == 1:
        return values, "symbol"
    names = column_names(model, values.shape[1], getattr(X, "columns", None))
    if isinstance(column, str) and column not in names:
        raise LatentiaError(f"no such column. There are {', '.join(names)}.", parameter="column", value=column)
    place = names.index(column) if isinstance(column, str) else column
    if not -values.shape[1] <= place < values.shape[1]:
        raise LatentiaError(f"no such column. There are {values.shape[1]} columns.", parameter="column", value=column)
    return values[:, place], names[place]
