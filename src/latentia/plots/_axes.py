"""What all pictures share: axes, colours of components and grades, names of columns, heat maps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..exceptions import LatentiaError, MissingExtraError
from ..report.figures import PALETTE, shortened

INK, PALE = "#52606d", "#b9c2cc"
GRADES = {
    "supported": (PALETTE[0], "o"),
    "with care": (PALETTE[1], "D"),
    "not supported": (PALETTE[5], "X"),
    "not measured": (PALE, "o"),
}
"""Colour and marker of each grade of a component."""

_BLUES, _BOTH = ("#ffffff", "#6ba9d1", "#00507d"), ("#8f3400", "#dd9a6f", "#ffffff", "#6ba9d1", "#00507d")
_ANNOTATED = 400  # cells that still have room for their numbers
_DARK = 0.6  # of the range, from where on numbers in cells are white
_WIDEST, _HIGHEST = 14.0, 30.0  # inches


def pyplot() -> Any:
    """The plotting module, or an error that says how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingExtraError("matplotlib", "report", "A picture") from None
    return plt


def new_axes(ax: Any, width: float = 6.4, height: float = 4.0) -> Any:
    """The axes that were given, or those of a new figure of this size in inches."""
    if ax is None:
        _, ax = pyplot().subplots(figsize=(min(width, _WIDEST), min(height, _HIGHEST)), layout="constrained")
    elif not hasattr(ax, "get_figure"):
        raise LatentiaError("ax is not matplotlib's Axes.", parameter="ax", value=ax)
    return ax


def small_multiples(n: int, most: int, width: float, height: float, more: float = 0.0, **options: Any) -> np.ndarray:
    """Axes of a new figure, n of them and up to ``most`` side by side, of this size in inches; ``more`` is its height."""
    across = min(n, most)
    down = -(-n // across)
    size = (width * across, height * down + more)
    _, made = pyplot().subplots(down, across, figsize=size, layout="constrained", squeeze=False, **options)
    for empty in made.ravel()[n:]:
        empty.set_visible(False)
    return np.asarray(made.ravel()[:n])


def tidy(ax: Any, grid: str = "both") -> Any:
    """Axes with two sides and a faint grid behind what is drawn; they are returned."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_axisbelow(True)
    if grid:
        ax.grid(axis=grid, color=PALE, alpha=0.35, linewidth=0.8)
    return ax


def colour(component: int) -> str:
    """Of a component, the same as in reports."""
    return PALETTE[component % len(PALETTE)]


def attribute(model: Any, names: Sequence[str], what: str) -> Any:
    """The first of some attributes that a fitted model has and that is not empty, or an error that says what is missing."""
    check_is_fitted(model)
    for name in names:
        found = getattr(model, name, None)
        if found is not None and (not isinstance(found, np.ndarray) or found.size):
            return found
    raise LatentiaError(f"This {type(model).__name__} has no {what} ({' or '.join(names)}).")


def called(model: Any) -> tuple[str, str, str]:
    """What one component is called, several, and the rows."""
    evidence = getattr(model, "evidence_", None)
    found = model._nouns if evidence is None else evidence.nouns
    return (str(found[0]), str(found[1]), str(found[2]))


def column_names(model: Any, width: int, given: Sequence[object] | None = None, kind: str = "column") -> list[str]:
    """Names of the columns: those given, those that the model knows, or numbers."""
    if given is not None and len(given) != width:
        raise LatentiaError(f"There are {len(given)} names and {width} {kind}s: they must agree.")
    for found in (
        given, _words(model), getattr(model, "feature_names_in_", None), getattr(model, "_column_names", None),
        getattr(model, "reading_", {}).get("columns"),
    ):  # fmt: skip
        if found is not None and len(found) == width:
            return [str(name) for name in found]
    return [f"{kind} {i}" for i in range(width)]


def _words(model: Any) -> Any:
    """The words of a vocabulary in the order of their columns."""
    given = getattr(model, "vocabulary", None)
    return sorted(given, key=given.__getitem__) if isinstance(given, dict) else given


def image_colours(signed: bool) -> Any:
    """White to dark blue, or brown over white to blue: matplotlib's colour map of this name."""
    pyplot()
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("latentia", _BOTH if signed else _BLUES)


def above(values: np.ndarray) -> float:
    """The largest size of some values, or 1 where all are 0."""
    return float(np.abs(values).max(initial=0.0)) or 1.0


def heat(
    ax: Any,
    values: np.ndarray,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    digits: int = 2,
    row_title: str = "",
    column_title: str = "",
) -> Any:
    """Values (n, m) as colours, the first row on top, with numbers where there are few; white is zero."""
    signed = bool((values < 0).any())
    top, (n, m) = above(values), values.shape
    width, height = max(3.2, 0.45 * m + 2.4) if m <= 40 else 9.0, max(2.4, 0.3 * n + 1.4)
    ax = new_axes(ax, width, height)
    image = ax.imshow(values, cmap=image_colours(signed), vmin=-top if signed else 0.0, vmax=top, aspect="auto")
    ax.set_xticks(range(m), [shortened(name) for name in columns], rotation=60 if _long(columns) else 0)
    if _long(columns):
        for label in ax.get_xticklabels():
            label.set(ha="left", rotation_mode="anchor")
    ax.set_yticks(range(n), [shortened(name) for name in rows])
    ax.tick_params(length=0, top=False, labeltop=True, bottom=False, labelbottom=False)
    ax.xaxis.set_label_position("top")
    ax.set(xlabel=column_title, ylabel=row_title)
    ax.spines[:].set_visible(False)
    if values.size <= _ANNOTATED:
        for (i, j), value in np.ndenumerate(np.round(values, digits) + 0.0):
            light = abs(values[i, j]) > _DARK * top
            ax.text(
                j, i, f"{value:.{digits}f}", ha="center", va="center", size=8, color="white" if light else "#1b2430"
            )
    else:
        ax.get_figure().colorbar(image, ax=ax, shrink=0.8)
    return ax


def _long(names: Sequence[str]) -> bool:
    return len(names) > 0 and max(map(len, names)) > 3
