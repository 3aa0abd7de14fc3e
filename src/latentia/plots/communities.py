"""Who belongs where, and who is linked to whom?"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..exceptions import LatentiaError
from ..report.communities import PALETTE as TWENTY
from ._axes import attribute, called, heat, new_axes

__all__ = ["plot_connectivity", "plot_memberships"]

_ROWS = 500


def plot_memberships(model: Any, X: Any = None, *, n: int = _ROWS, sort: bool = True, ax: Any = None) -> Any:
    """Draw how each row, or node, is divided among the components: a column of colours for each.

    Parameters
    ----------
    model : estimator
        A fitted model of mixed memberships: communities, topics, states, mixtures, factorizations.
    X : table, optional
        The rows; nodes of a graph are known to the model.
    n : int
        How many rows at most; of more, some at even distances.
    sort : bool
        Whether rows stand by their strongest component and, in it, by its share; otherwise in their order, as for sequences.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    shares = _shares(model, X)
    shares = shares[np.isfinite(shares).all(axis=1)]
    shares = shares[shares.sum(axis=1) > 0]
    if not len(shares):
        raise LatentiaError("No row belongs to a component.")
    shares = shares / shares.sum(axis=1, keepdims=True)
    if sort:
        shares = shares[np.lexsort((-shares.max(axis=1), shares.argmax(axis=1)))]
    chosen = np.unique(np.linspace(0, len(shares) - 1, min(n, len(shares))).round().astype(int))
    one, _, rows = called(model)
    ax = new_axes(ax, 8.0, 3.0)
    edges = np.arange(len(chosen) + 1) - 0.5
    below = np.zeros(len(chosen))
    for k, part in enumerate(shares[chosen].T):
        ax.stairs(
            below + part,
            edges,
            baseline=below,
            fill=True,
            color=TWENTY[k % len(TWENTY)],
            label=f"{one} {k}",
            linewidth=0,
        )
        below = below + part
    ax.set(xlim=(edges[0], edges[-1]), ylim=(0, 1), ylabel="share")
    some = "" if len(chosen) == len(shares) else f"{len(chosen)} of "
    ax.set_xlabel(f"{some}{len(shares):,} {rows}" + (f", by their strongest {one}" if sort else ""))
    ax.spines[:].set_visible(False)
    ax.set_xticks([])
    if shares.shape[1] <= len(TWENTY):
        ax.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1, 1), ncols=1 + shares.shape[1] // 15)
    return ax


def _shares(model: Any, X: Any) -> np.ndarray:
    """Of the components in every row, (n, K)."""
    check_is_fitted(model)
    if hasattr(model, "memberships_") and X is None:
        return np.asarray(model.memberships_)
    if X is None:
        raise LatentiaError(f"A {type(model).__name__} does not keep its rows: give them, plot_memberships(model, X).")
    if hasattr(
        model, "relative_error_"
    ):  # a factorization: the share of a component is that of its entries in a row's sum
        return np.asarray(model.transform(X) * model.components_.sum(axis=1))
    # The probabilities that a classifier predicts are of classes.
    for method in ["posterior"] if hasattr(model, "classes_") else ["predict_proba", "transform"]:
        if hasattr(model, method):
            found = getattr(model, method)(X)
            if isinstance(found, np.ndarray) and found.ndim == 2 and np.allclose(found.sum(axis=1), 1):
                return found
    raise LatentiaError(f"The rows of a {type(model).__name__} have no shares of components.")


def plot_connectivity(model: Any, *, ax: Any = None) -> Any:
    """Draw the weights of edges between communities, as the model has them, relative to the largest.

    Parameters
    ----------
    model : MixedMembershipBlockModel
        A fitted model.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    values = np.asarray(attribute(model, ["connectivity_"], "connectivity"))
    names = [str(k) for k in range(len(values))]
    scaled = values / (float(values.max()) or 1.0)
    start, end = ("from community", "to community") if model.directed_ else ("community", "community")
    return heat(ax, scaled, names, names, row_title=start, column_title=end)
