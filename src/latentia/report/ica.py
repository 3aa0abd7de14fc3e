"""Independent components, for readers who do not program."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..summaries import Answer, Column, Figure, Summary, Table, block, grade_columns
from .figures import heat_map, lines, shorten, thin_curve
from .page import page
from .parts import column_names, count, evidence_of, grades_say, largest, listing, short_number

_STRONGEST, _MAP_COLUMNS, _CURVES, _SIGNALS = 5, 60, 40, 12
SIGNED = functools.partial(short_number, sign=True)


def excess_kurtosis(sources: np.ndarray) -> np.ndarray:
    """Excess kurtosis of the columns of (n_rows, K), shape (K,); 0 for a Gaussian."""
    centred = sources - sources.mean(axis=0)
    variance = np.maximum((centred**2).mean(axis=0), np.finfo(float).tiny)
    return (centred**4).mean(axis=0) / np.maximum(variance**2, np.finfo(float).tiny) - 3


@page("Sources", "curves of sources and signals")
def summarize_ica(
    model: Any,
    values: Any = None,
    *,
    columns: Sequence[str] | None = None,
    row_labels: Sequence[Column] = (),
) -> Summary:
    """Say what sources were found, and how far they can be trusted.

    Parameters
    ----------
    model : TensorICA
        A fitted model.
    values : array of shape (n_rows, D), optional
        The signals, usually those that the model was fitted on. Without them no curves are shown.
    columns : sequence of str of length D, optional
        Names of the signals.
    row_labels : sequence of Column
        What tells the rows apart.

    Returns
    -------
    Summary

    """
    width, size = model.mixing_.shape
    names = column_names(columns, width)
    values = None if values is None else np.asarray(values)
    sources = None if values is None else model.transform(values)
    in_rows = "" if values is None else f" in {count(len(values), 'row')}"
    called = [f"source {k}" for k in range(size)]
    mixing = Table(
        "mixing",
        (
            Column("column", names, where="f"),
            Column("mean", model.mean_, ".8g", where="f"),
            *block(called, model.mixing_),
        ),
        file="mixing.csv",
    )
    curves = () if values is None or sources is None else _curves(values, sources, names)
    mixed = _map(model, values, names)
    picture, *figures = (curves[0], mixed, curves[1]) if curves else (mixed,)
    heard = [f"source {k} mostly in {names[d]}" for k, d in enumerate(np.abs(model.mixing_).argmax(axis=0))]
    return Summary(
        says=f"{count(size, 'source')}{in_rows} of {count(width, 'column')}.",
        parts=(
            _table(model, sources, names, evidence_of(model)),
            *figures,
            mixing,
            *(() if sources is None else (rows_of(sources, row_labels),)),
        ),
        answer=Answer(
            f"Which independent signals are mixed in these {count(width, 'column')}?",
            f"{count(size, 'source')}: {listing(heard)}.",
            picture,
        ),
        error="Expected crosstalk of a source: {} on average: the amplitude of the other sources that is left in it, relative "
        "to its own.",
    )


def rows_of(sources: np.ndarray, row_labels: Sequence[Column] = ()) -> Table:
    """Every source (n_rows, K) at every row."""
    names = [f"source {k}" for k in range(sources.shape[1])]
    return Table("rows", (*row_labels, *block(names, sources, ".6g")), file="sources.csv")


def _table(model: Any, sources: np.ndarray | None, names: list[str], evidence: Any) -> Table:
    kurtosis = model.kurtosis_ if sources is None else excess_kurtosis(sources)
    told = [[(names[d], weights[d]) for d in largest(np.abs(weights), _STRONGEST)] for weights in model.mixing_.T]
    return Table(
        "components",
        (
            Column("source", range(len(kurtosis)), kind="bold", meaning=_SOURCE),
            Column("kurtosis", kurtosis, ".4f", ".2f", meaning=_KURTOSIS),
            Column("shape", [_shape(value) for value in kurtosis], kind="text", where="p"),
            Column("strongest in", told, short=SIGNED, kind="words", where="ps"),
            *grade_columns(evidence, len(kurtosis), "expected crosstalk", meaning=_crosstalk(evidence)),
            *block(names, model.components_),
        ),
        title="All sources",
        hint="Those farthest from Gaussian first. Sources have no scale of their own: each has variance 1, and the sign that "
        "makes its largest weight positive.",
        file="unmixing.csv",
        caption=f"{len(kurtosis)} sources",
        label="source",
    )


_SOURCE = (
    "A curve that is independent of the other sources. Every signal is a sum of the sources, each with its own weight. A "
    "source has a number, not a name, and neither size nor sign of its own."
)
_KURTOSIS = (
    "How a source differs from a Gaussian, which has 0: above, mostly small values and rare large ones; below, a flat or "
    "two-sided curve. The method needs sources that differ: two Gaussian ones cannot be told apart."
)


def _crosstalk(evidence: Any) -> str:
    return (
        "The rows are split at random, and the sources are learned from the parts anew. How much of the others gets into a "
        "source says how far it may be from the truth: 0.1 means that the others together have a tenth of its amplitude. "
        + grades_say(evidence, "a source", "other rows would give another one")
    )


def _shape(kurtosis: float) -> str:
    """What a kurtosis says of a curve."""
    if kurtosis > 0.3:
        return "rare large values"
    return "flatter than Gaussian" if kurtosis < -0.3 else "nearly Gaussian"


def _curves(values: np.ndarray, sources: np.ndarray, names: list[str]) -> tuple[Figure, Figure]:
    shown, width = min(sources.shape[1], _CURVES), values.shape[1]
    curves = [(f"source {k}", *thin_curve(sources[:, k])) for k in range(shown)]
    signals = [(name, *thin_curve(own)) for name, own in zip(names[:_SIGNALS], values.T, strict=False)]
    which = f"The first {shown} sources" if shown < sources.shape[1] else "Each source"
    cut = f" The first {_SIGNALS} of {width}." if width > _SIGNALS else ""
    return (
        Figure(
            "sources",
            lines(curves, whole_numbers=True),
            "The sources over the rows",
            "Curves of the sources; sources.csv holds the numbers",
            f"{which} over the rows, in standard deviations. What moves alike in several signals should move in one source "
            "only. Of many rows, the smallest and largest value of every stretch are drawn.",
        ),
        Figure(
            "signals",
            lines(signals, whole_numbers=True),
            "The signals as they came",
            "Curves of the signals",
            f"One curve for each column of the data, as it was given.{cut}",
        ),
    )


def _map(model: Any, values: np.ndarray | None, names: list[str]) -> Figure:
    # Relative to the column's spread, so that columns of large units do not hide the others.
    deviation = np.sqrt((model.mixing_**2).sum(axis=1)) if values is None else values.std(axis=0)
    shares = model.mixing_ / np.where(deviation > 0, deviation, 1.0)[:, None]
    chosen = np.sort(largest(np.abs(shares).max(axis=1), _MAP_COLUMNS))
    rows = [f"source {k}" for k in range(shares.shape[1])]

    def hover(k: int, j: int) -> str:
        d = chosen[j]
        strength = f"{shares[d, k]:+.2f} of its standard deviations\nweight {model.mixing_[d, k]:.4g}"
        return f"{rows[k]} in {shorten(names[d])}\n{strength}"

    cut = " The 60 signals with the largest." if len(names) > _MAP_COLUMNS else ""
    return Figure(
        "mixing",
        heat_map(shares[chosen].T, rows, [names[d] for d in chosen], hover=hover, signed=True),
        "How the signals are mixed",
        "Heat map of the mixing; mixing.csv holds the numbers",
        "The amplitude of every source in every signal, in standard deviations of the signal: blue positive, brown negative. A "
        f"source with one strong cell is heard in that signal nearly alone.{cut}",
    )
