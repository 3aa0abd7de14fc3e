"""Which causes stand behind which findings?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..exceptions import LatentiaError
from ..report.figures import shortened
from ..report.parts import largest
from ._axes import INK, attribute, colour, column_names, new_axes

__all__ = ["plot_network"]

_FINDINGS, _THRESHOLD = 40, 0.05
_APART = 1.7  # least distance of two causes, that of two findings being 1


def plot_network(
    model: Any,
    *,
    n_findings: int = _FINDINGS,
    threshold: float = _THRESHOLD,
    columns: Sequence[str] | None = None,
    ax: Any = None,
) -> Any:
    """Draw the causes (left), their findings (right), and lines between them that are as wide as the causes are strong.

    Parameters
    ----------
    model : NoisyOr
        A fitted model.
    n_findings : int
        How many findings at most: those with the strongest lines.
    threshold : float
        Strengths below it are not drawn.
    columns : sequence of str of length n, optional
        Names of the findings; by default those that the model knows.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    strengths = np.asarray(attribute(model, ["strengths_"], "strengths of causes"))
    names = column_names(model, strengths.shape[1], columns)
    top = strengths.max(axis=0)
    chosen = largest(top, n_findings)
    chosen = chosen[(top[chosen] >= threshold) & (top[chosen] > 0)]
    if not len(chosen):
        raise LatentiaError("No cause is as strong as that.", parameter="threshold", value=threshold)
    chosen = chosen[np.lexsort((-top[chosen], strengths[:, chosen].argmax(axis=0)))]
    shown = strengths[:, chosen]
    right, left = np.arange(len(chosen)) + 0.5, _beside(shown)
    bottom = max(len(chosen), float(left[-1]) + 1)
    ax = new_axes(ax, 6.4, 0.24 * bottom + 0.6)
    for k, i in sorted(zip(*np.nonzero(shown >= max(threshold, 1e-12)), strict=True), key=lambda edge: shown[edge]):
        ax.plot(
            [0, 1], [left[k], right[i]], color=colour(int(k)), linewidth=0.6 + 5 * shown[k, i], alpha=0.55, zorder=1
        )
    ax.scatter(np.ones(len(chosen)), right, s=22, c=INK, zorder=2)
    for y, i in zip(right, chosen, strict=True):
        ax.text(1.03, y, shortened(names[i], 30), va="center", size=9)
    for k, y in enumerate(left):
        ax.annotate(
            str(k), (0, y), ha="center", va="center", size=10, weight="bold",
            bbox={"boxstyle": "circle", "fc": "white", "ec": colour(k), "lw": 2},
        )  # fmt: skip
        ax.text(-0.06, y, f"in {100 * model.priors_[k]:.0f}%", va="center", ha="right", size=8, color=INK)
    ax.set(xlim=(-0.25, 1.5), ylim=(bottom, -0.5))
    ax.set_axis_off()
    return ax


def _beside(strengths: np.ndarray) -> np.ndarray:
    """Heights (m,) of the causes: each beside the findings of which it is the strongest cause, none upon another."""
    m, n = strengths.shape
    own = np.bincount(strengths.argmax(axis=0), minlength=m) if n else np.zeros(m, int)
    apart = _APART * np.arange(m)
    return np.asarray(np.maximum.accumulate(np.cumsum(own) - own / 2 - apart) + apart)
