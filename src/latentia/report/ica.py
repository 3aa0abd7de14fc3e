"""Summaries of independent components, for readers who do not program."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..linalg.ratios import ratio_of
from ..summaries import Answer, Column, Figure, Summary, Table, block, grade_columns
from .figures import heat_map, lines, shorten, thin_curve
from .page import page
from .parts import column_names, count, evidence_of, grades_say, largest, listing, short_number

_STRONGEST, _MAP_COLUMNS, _CURVES, _SIGNALS = 5, 60, 40, 12
SIGNED = functools.partial(short_number, sign=True)


def excess_kurtosis(sources: np.ndarray) -> np.ndarray:
    """Compute the excess kurtosis of the columns of (n_rows, K), shape (K,); 0 for a Gaussian."""
    centred = sources - sources.mean(axis=0)
    variance = np.maximum((centred**2).mean(axis=0), np.finfo(float).tiny)
    return ratio_of((centred**4).mean(axis=0), variance**2) - 3


@page("Sources", "curves of sources and signals")
def summarize_ica(
    model: Any,
    values: Any = None,
    *,
    columns: Sequence[str] | None = None,
    row_labels: Sequence[Column] = (),
) -> Summary:
    """Summarize the sources and their reliability.

    Parameters
    ----------
    model : TensorICA
        A fitted model.
    values : array of shape (n_rows, D), optional
        The signals, usually those of the fit. Without them the summary has no curves.
    columns : sequence of str of length D, optional
        Names of the signals.
    row_labels : sequence of Column
        Columns that label the rows.

    Returns
    -------
    Summary

    """
    width, size = model.mixing_.shape
    names = column_names(columns, width)
    values = None if values is None else np.asarray(values)
    sources = None if values is None else model.transform(values)
    in_rows = "" if values is None else f" in {count(len(values), 'row')}"
    source_names = [f"source {k}" for k in range(size)]
    mixing = Table(
        "mixing",
        (
            Column("column", names, where="f"),
            Column("mean", model.mean_, ".8g", where="f"),
            *block(source_names, model.mixing_),
        ),
        file="mixing.csv",
    )
    curves = () if values is None or sources is None else _draw_curves(values, sources, names)
    mixing_map = _draw_mixing(model, values, names)
    main_figure, *figures = (curves[0], mixing_map, curves[1]) if curves else (mixing_map,)
    answers = [f"source {k} mostly in {names[d]}" for k, d in enumerate(np.abs(model.mixing_).argmax(axis=0))]
    return Summary(
        headline=f"{count(size, 'source')}{in_rows} of {count(width, 'column')}.",
        parts=(
            _build_sources_table(model, sources, names, evidence_of(model)),
            *figures,
            mixing,
            *(() if sources is None else (build_rows_table(sources, row_labels),)),
        ),
        answer=Answer(
            f"Which independent signals are mixed in these {count(width, 'column')}?",
            f"{count(size, 'source')}: {listing(answers)}.",
            main_figure,
        ),
        error="Expected crosstalk of a source: {} on average: the amplitude of the other sources in it, relative to its own.",
    )


def build_rows_table(sources: np.ndarray, row_labels: Sequence[Column] = ()) -> Table:
    """Build the table of every source (n_rows, K) at every row."""
    names = [f"source {k}" for k in range(sources.shape[1])]
    return Table("rows", (*row_labels, *block(names, sources, ".6g")), file="sources.csv")


def _build_sources_table(model: Any, sources: np.ndarray | None, names: list[str], evidence: Any) -> Table:
    kurtosis = model.kurtosis_ if sources is None else excess_kurtosis(sources)
    top_columns = [
        [(names[d], weights[d]) for d in largest(np.abs(weights), _STRONGEST)] for weights in model.mixing_.T
    ]
    return Table(
        "components",
        (
            Column("source", range(len(kurtosis)), kind="bold", meaning=_SOURCE_MEANING),
            Column("kurtosis", kurtosis, ".4f", ".2f", meaning=_KURTOSIS_MEANING),
            Column("shape", [_name_shape(value) for value in kurtosis], kind="text", where="p"),
            Column("strongest in", top_columns, short=SIGNED, kind="words", where="ps"),
            *grade_columns(evidence, len(kurtosis), "expected crosstalk", meaning=_describe_error(evidence)),
            *block(names, model.components_),
        ),
        title="All sources",
        hint="The least Gaussian sources first. The data does not determine their scale: each has variance 1, and the sign "
        "that makes its largest weight positive.",
        file="unmixing.csv",
        caption=f"{len(kurtosis)} sources",
        label="source",
    )


_SOURCE_MEANING = (
    "A curve that is independent of the other sources. Every signal is a weighted sum of the sources. A source has a number, "
    "not a name, and the data does not determine its size and sign."
)
_KURTOSIS_MEANING = (
    "The difference of a source from a Gaussian, which has 0. Above 0: mostly small values and rare large ones. Below 0: a "
    "flat or two-sided curve. The method needs this difference: two Gaussian sources cannot be separated."
)


def _describe_error(evidence: Any) -> str:
    return (
        "The rows are split at random, and the sources are fitted to each part. The amplitude of other sources in a source "
        "estimates its error: 0.1 means that the others together have a tenth of its amplitude. "
        + grades_say(evidence, "a source", "other rows would give another one")
    )


def _name_shape(kurtosis: float) -> str:
    """Name the shape of a curve with this kurtosis."""
    if kurtosis > 0.3:
        return "rare large values"
    return "flatter than Gaussian" if kurtosis < -0.3 else "nearly Gaussian"


def _draw_curves(values: np.ndarray, sources: np.ndarray, names: list[str]) -> tuple[Figure, Figure]:
    n_shown, width = min(sources.shape[1], _CURVES), values.shape[1]
    curves = [(f"source {k}", *thin_curve(sources[:, k])) for k in range(n_shown)]
    signals = [(name, *thin_curve(signal)) for name, signal in zip(names[:_SIGNALS], values.T, strict=False)]
    selection = f"The first {n_shown} sources" if n_shown < sources.shape[1] else "Each source"
    omission = f" The first {_SIGNALS} of {width}." if width > _SIGNALS else ""
    return (
        Figure(
            "sources",
            lines(curves, whole_numbers=True),
            "The sources over the rows",
            "Curves of the sources; sources.csv holds the numbers",
            f"{selection} over the rows, in standard deviations. A movement that several signals share should be in one source "
            "only. If there are many rows, the curve shows the smallest and largest value of every stretch.",
        ),
        Figure(
            "signals",
            lines(signals, whole_numbers=True),
            "The signals as they came",
            "Curves of the signals",
            f"One curve for each column of the data.{omission}",
        ),
    )


def _draw_mixing(model: Any, values: np.ndarray | None, names: list[str]) -> Figure:
    # Relative to the column's spread, so that columns of large units do not hide the others.
    deviation = np.sqrt((model.mixing_**2).sum(axis=1)) if values is None else values.std(axis=0)
    shares = model.mixing_ / np.where(deviation > 0, deviation, 1.0)[:, None]
    chosen = np.sort(largest(np.abs(shares).max(axis=1), _MAP_COLUMNS))
    rows = [f"source {k}" for k in range(shares.shape[1])]

    def hover(k: int, j: int) -> str:
        d = chosen[j]
        strength = f"{shares[d, k]:+.2f} of its standard deviations\nweight {model.mixing_[d, k]:.4g}"
        return f"{rows[k]} in {shorten(names[d])}\n{strength}"

    omission = " The 60 signals with the largest." if len(names) > _MAP_COLUMNS else ""
    return Figure(
        "mixing",
        heat_map(shares[chosen].T, rows, [names[d] for d in chosen], hover=hover, signed=True),
        "How the signals are mixed",
        "Heat map of the mixing; mixing.csv holds the numbers",
        "The amplitude of every source in every signal, in standard deviations of the signal: blue positive, brown negative. A "
        f"source with one strong cell is almost only in that signal.{omission}",
    )
