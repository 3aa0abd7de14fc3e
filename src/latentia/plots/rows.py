"""How far do groups of rows lie apart?"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..exceptions import LatentiaError
from ..report.figures import PALETTE, places_on_a_plane
from ._axes import attribute, called, colour, new_axes, tidy

__all__ = ["plot_clusters"]

_ROWS = 2000


def plot_clusters(model: Any, X: Any, *, n: int = _ROWS, ax: Any = None) -> Any:
    """Draw rows in the plane in which the means of the components lie farthest apart, in the colours of their components.

    Rows and means have as many dimensions as there are columns, and the plane has two: components that cover each other there
    may be apart in other directions.

    Parameters
    ----------
    model : estimator with ``means_`` and ``predict``
        A fitted mixture, or a hidden Markov model of vectors.
    X : array or sparse matrix of shape (n_rows, D)
    n : int
        How many rows at most, at even distances.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    means = attribute(model, ["means_"], "means")
    means = np.hstack(means) if isinstance(means, list) else np.asarray(means)
    labels = np.asarray(model.predict(X))
    if getattr(X, "shape", (0, 0))[1:] != means.shape[1:]:
        raise LatentiaError(f"One table with {means.shape[1]} columns is needed.")
    some = np.unique(np.linspace(0, len(labels) - 1, min(n, len(labels))).round().astype(int))
    rows = X.tocsr()[some].toarray() if sparse.issparse(X) else np.asarray(X, dtype=float)[some]
    weights = model.weights_ / model.weights_.sum()
    plane = places_on_a_plane(means, weights)
    centre = weights @ means
    places, centres = (rows - centre) @ plane, (means - centre) @ plane
    ax = new_axes(ax, 6.0, 5.0)
    one = called(model)[0]
    for k in range(len(means)):
        own = labels[some] == k
        marker = "osD^vP"[k // len(PALETTE) % 6]
        ax.scatter(*places[own].T, s=12, c=colour(k), marker=marker, alpha=0.6, linewidths=0, label=f"{one} {k}")
    for k, (x, y) in enumerate(centres):
        ax.annotate(
            str(k), (x, y), ha="center", va="center", size=10, weight="bold",
            bbox={"boxstyle": "circle", "fc": "white", "ec": colour(k), "lw": 2, "alpha": 0.9},
        )  # fmt: skip
    tidy(ax)
    ax.set_aspect("equal", adjustable="datalim")
    ax.set(xlabel="first direction", ylabel="second direction")
    return ax
