"""Common parts of all plots: axes, colours of components and grades, access to models, heat maps."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ParamSpec

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..exceptions import LatentiaError, MissingExtraError
from ..report.figures import PALETTE, shorten

INK, PALE = "#52606d", "#b9c2cc"
GRADES = {
    "supported": (PALETTE[0], "o"),
    "with care": (PALETTE[1], "D"),
    "partly": (PALETTE[4], "s"),
    "not measured": (PALE, "o"),
    "not supported": (PALETTE[5], "X"),
}
"""Colour and marker of each grade, the best first."""

_SEQUENTIAL, _DIVERGING = ("#ffffff", "#6ba9d1", "#00507d"), ("#8f3400", "#dd9a6f", "#ffffff", "#6ba9d1", "#00507d")
_MAX_ANNOTATED_CELLS = 400  # Larger maps have no room for numbers.
_WHITE_TEXT_FROM = 0.6  # of the range; numbers in darker cells are white
_MAX_WIDTH, _MAX_HEIGHT = 14.0, 30.0  # inches

P = ParamSpec("P")

# --- axes -----------------------------------------------------------------------------------------------------------


def disable_formulas(plot: Callable[P, Any]) -> Callable[P, Any]:
    """Decorate a function that draws: text with dollar signs is shown as it is, not as a formula."""

    @functools.wraps(plot)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> Any:
        try:
            import matplotlib.pyplot  # noqa: F401
            from matplotlib.text import Text
        except ImportError:
            raise MissingExtraError("matplotlib", "report", "A picture") from None
        axes = plot(*args, **kwargs)
        for ax in np.atleast_1d(np.asarray(axes, dtype=object)).ravel():
            for text in ax.figure.findobj(Text):
                if (
                    "$" in text.get_text() and "mathdefault" not in text.get_text()
                ):  # Tick labels of logarithmic axes are formulas.
                    text.set_parse_math(False)
        return axes

    return wrapper


def make_axes(ax: Any, n: int, across: int, width: float, height: float, **options: Any) -> np.ndarray:
    """Return the n given axes, or those of a new figure with up to ``across`` side by side, each of this size in inches."""
    import matplotlib.pyplot as plt
    from matplotlib.axes import Axes

    if ax is not None:
        axes = np.atleast_1d(np.asarray(ax, dtype=object)).ravel()
        if not all(isinstance(item, Axes) for item in axes):
            raise LatentiaError("expected matplotlib Axes.", parameter="ax", value=ax)
        if len(axes) != n:
            raise LatentiaError(f"There are {len(axes)} axes and {n} panels: they must agree.")
        return axes
    across = min(n, across)
    down = -(-n // across)
    size = min(width * across, _MAX_WIDTH), min(height * down, _MAX_HEIGHT)
    panels = plt.subplots(down, across, figsize=size, layout="constrained", squeeze=False, **options)[1].ravel()
    for empty in panels[n:]:
        empty.set_visible(False)
    return np.asarray(panels[:n])


def new_axes(ax: Any, width: float = 6.4, height: float = 4.0) -> Any:
    """Return the given axes, or those of a new figure of this size in inches."""
    return make_axes(ax, 1, 1, width, height)[0]


def finish_axes(
    ax: Any, x: str = "", y: str = "", *, title: str = "", grid: str = "both", whole_numbers: bool = False
) -> Any:
    """Add titles and a faint grid and return the axes; ``whole_numbers`` restricts the ticks of x to integers."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_axisbelow(True)
    ax.grid(axis=grid, color=PALE, alpha=0.35, linewidth=0.8)
    ax.set(xlabel=x, ylabel=y)
    ax.set_title(title, loc="left", size=10)
    if whole_numbers:
        ax.xaxis.get_major_locator().set_params(integer=True)
    return ax


def legend(ax: Any, **options: Any) -> None:
    """Add a legend, in several columns if it has more than ten entries."""
    n = len(options.get("handles") or ax.get_legend_handles_labels()[1])
    ax.legend(**{"frameon": False, "fontsize": 9, "ncols": 1 + n // 11} | options)


def name_rows(ax: Any, names: Sequence[object], length: int = 24) -> None:
    """Name the positions y = 0, 1, ... from the top."""
    ax.set_yticks(range(len(names)), [shorten(name, length) for name in names])
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)


def rule(ax: Any, y: float, text: str, tint: str = INK) -> None:
    """Draw a labelled dashed line at a height."""
    ax.axhline(y, color=tint, linestyle="--", linewidth=1.2)
    place = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
    ax.annotate(text, (0, y), xytext=(4, 3), size=8, color=tint, **place)


def draw_circled(ax: Any, text: str, place: tuple[float, float], tint: str) -> None:
    """Draw the number of a component in a circle."""
    box = {"boxstyle": "circle", "fc": "white", "ec": tint, "lw": 2, "alpha": 0.9}
    ax.annotate(text, place, ha="center", va="center", size=10, weight="bold", bbox=box)


def colour(component: int) -> str:
    """Return the colour of a component, as in reports."""
    return PALETTE[component % len(PALETTE)]


# --- models ---------------------------------------------------------------------------------------------------------


def entry(model: Any, table: Mapping[str, Any], noun: str) -> Any:
    """Return the entry of a table for the class of a fitted model or its base classes; raise if there is none."""
    check_is_fitted(model)
    for ancestor in type(model).__mro__:
        if ancestor.__name__ in table:
            return table[ancestor.__name__]
    raise LatentiaError(f"This {type(model).__name__} has no {noun}.")


def attribute(model: Any, name: str, noun: str) -> Any:
    """Return a fitted attribute; raise if it is missing or empty."""
    check_is_fitted(model, "evidence_")
    value = vars(model).get(name)
    if value is None or not len(value):
        raise LatentiaError(f"This {type(model).__name__} has no {noun} ({name}).")
    return value


def column_names(model: Any, width: int, names: Sequence[object] | None = None) -> list[str]:
    """Return names of columns or words: the given ones, those of the model, or numbers."""
    kind = "word" if model.nouns[2] == "documents" else "column"
    if names is not None and len(names) != width:
        raise LatentiaError(f"There are {len(names)} names and {width} {kind}s: they must agree.")
    known_names = model.column_names if names is None else names
    return (
        [f"{kind} {i}" for i in range(width)]
        if known_names is None or len(known_names) != width
        else list(map(str, known_names))
    )


def check_names(names: Sequence[object] | None, default: Sequence[str], plural: str) -> list[str]:
    """Return the given names, checked for their number, or the default names."""
    if names is not None and len(names) != len(default):
        raise LatentiaError(f"There are {len(names)} names and {len(default)} {plural}: they must agree.")
    return [str(name) for name in (default if names is None else names)]


def select_rows(n: int, max_rows: int) -> np.ndarray:
    """Return evenly spaced numbers of at most ``max_rows`` of n rows."""
    return np.unique(np.linspace(0, n - 1, min(n, max_rows)).round().astype(int))


# --- heat maps ------------------------------------------------------------------------------------------------------


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
    """Draw values (n, m) as colours with white at zero, the first row on top; small maps show numbers."""
    (n, m), top = values.shape, float(np.abs(values).max(initial=0.0)) or 1.0
    signed, long = bool((values < 0).any()), max(map(len, columns), default=0) > 3
    ax = new_axes(ax, max(3.2, 0.45 * m + 2.4) if m <= 40 else 9.0, max(2.4, 0.3 * n + 1.4))
    from matplotlib.colors import LinearSegmentedColormap

    tints = LinearSegmentedColormap.from_list("latentia", _DIVERGING if signed else _SEQUENTIAL)
    image = ax.imshow(values, cmap=tints, vmin=-top if signed else 0.0, vmax=top, aspect="auto")
    rotation = {"rotation": 60, "ha": "left", "rotation_mode": "anchor"} if long else {}
    ax.set_xticks(range(m), [shorten(name) for name in columns], **rotation)
    ax.set_yticks(range(n), [shorten(name) for name in rows])
    ax.tick_params(length=0, top=False, labeltop=True, bottom=False, labelbottom=False)
    ax.xaxis.set_label_position("top")
    ax.set(xlabel=column_title, ylabel=row_title)
    ax.spines[:].set_visible(False)
    if values.size > _MAX_ANNOTATED_CELLS:
        ax.get_figure().colorbar(image, ax=ax, shrink=0.8)
        return ax
    for (i, j), value in np.ndenumerate(np.round(values, digits) + 0.0):
        tint = "white" if abs(values[i, j]) > _WHITE_TEXT_FROM * top else "#1b2430"
        ax.text(j, i, f"{value:.{digits}f}", ha="center", va="center", size=8, color=tint)
    return ax
