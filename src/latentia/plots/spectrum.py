"""How much stands out of the noise?"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..exceptions import LatentiaError
from ..report.figures import PALETTE
from ._axes import PALE, attribute, called, new_axes, tidy

__all__ = ["plot_spectrum"]


def plot_spectrum(model: Any, *, n: int | None = None, ax: Any = None) -> Any:
    """Draw the sizes of the data's directions, and the size that chance alone would reach.

    Directions that the components need are blue. Where fewer stand above the dashed line than are blue, there are too many
    components for this data; where more do, a larger number may show others.

    Parameters
    ----------
    model : NoisyOr, ProbabilityMatrix or MixedMembershipBlockModel
        A fitted model.
    n : int, optional
        How many directions to show; by default all.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    values = attribute(model, ["spectrum_"], "spectrum")
    if len(values) == 1:
        raise LatentiaError(f"The spectrum of this {type(model).__name__} is one number: {float(values[0]):.3g}.")
    values = np.asarray(values, dtype=float)[:n]
    noise = float(getattr(model, "noise_level_", None) or 0.0)
    needed = _needed(model)
    ax = new_axes(ax)
    number = np.arange(1, len(values) + 1)
    ax.bar(number, values, color=np.where(number <= needed, PALETTE[0], PALE).tolist(), width=0.8)
    for height in ([noise, -noise] if (values < 0).any() else [noise]) if noise else []:
        ax.axhline(height, color=PALETTE[5], linestyle="--", linewidth=1.4)
    if noise:
        ax.annotate(
            "noise", (1, noise), xytext=(3, -3), xycoords=("axes fraction", "data"), textcoords="offset points",
            color=PALETTE[5], size=9,
        )  # fmt: skip
    tidy(ax, "y")
    if (values < 0).any():
        ax.axhline(0, color=PALE, linewidth=1)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set(xlabel="direction", ylabel="size")
    wanted = f"rank {_size(model)}" if hasattr(model, "marginals_") else f"{_size(model)} {called(model)[1]}"
    ax.set_title(f"{needed} needed for {wanted}", loc="left", size=11)
    return ax


def _size(model: Any) -> int:
    for name, axis in (("priors_", 0), ("memberships_", 1)):
        if hasattr(model, name):
            return int(getattr(model, name).shape[axis])
    return int(getattr(model, "n_components_", model.n_components))


def _needed(model: Any) -> int:
    """Directions that so many components take: those of pairs one less, as one is known from frequencies."""
    return _size(model) if hasattr(model, "priors_") else max(_size(model) - 1, 0)
