"""The report of independent components, for readers who do not program."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..exceptions import LatentiaError
from ._missing import without_data
from .figures import heat_map, lines, shortened, thinned
from .page import render, write_page
from .parts import Mark, Nouns, comparison_rows, component_marks, count, evidence_of, evidence_parts, version

__all__ = ["excess_kurtosis", "write_ica_report"]

_STRONGEST, _MAP_COLUMNS, _CURVES, _SIGNALS = 5, 60, 40, 12
_NOUNS = Nouns("sources", "source", "rows")


@dataclass(frozen=True)
class _Source:
    """What the page shows of a source; `strongest` holds columns and weights."""

    number: int
    kurtosis: float
    kind: str
    error: float | None
    grade: Mark
    strongest: list[tuple[str, float]]


def excess_kurtosis(sources: np.ndarray) -> np.ndarray:
    """Excess kurtosis of the columns of (n_rows, K), shape (K,); 0 for a Gaussian."""
    centred = sources - sources.mean(axis=0)
    variance = np.maximum((centred**2).mean(axis=0), np.finfo(float).tiny)
    return (centred**4).mean(axis=0) / np.maximum(variance**2, np.finfo(float).tiny) - 3


def write_ica_report(
    path: str | os.PathLike[str],
    model: Any,
    values: Any = None,
    *,
    columns: Sequence[str] | None = None,
    sources: np.ndarray | None = None,
    title: str = "Sources",
    source: str = "",
    comparison: Sequence[Mapping[str, Any]] | None = None,
) -> Path:
    """Write the sources that were found, and how far they can be trusted, to one HTML file that works offline.

    Parameters
    ----------
    path : path
        The file appears complete or not at all; one that is there is replaced.
    model : TensorICA
        A fitted model.
    values : array of shape (n_rows, D), optional
        The signals, usually those that the model was fitted on. Without them no curves are shown.
    columns : sequence of str of length D, optional
        Names of the signals.
    sources : ndarray of shape (n_rows, K), optional
        The sources, where they are known already.
    title, source : str
        Heading of the page, and where the signals came from.
    comparison : sequence of dict, optional
        Rows of a table that compares numbers of sources, the first value the number.

    Returns
    -------
    Path of the file

    """
    check_is_fitted(model)
    values = None if values is None else np.asarray(values)
    sources = model.transform(values) if sources is None and values is not None else sources
    width = len(model.mixing_)
    in_rows = "" if values is None else f" in {count(len(values), 'row')}"
    names = [f"column {i}" for i in range(1, width + 1)] if columns is None else [str(name) for name in columns]
    if len(names) != width:
        raise LatentiaError(f"columns has {len(names)} entries and the data has {width}: they must agree.")
    described = _describe(model, sources, names)
    page = render(
        "ica.html",
        title=title,
        source=source,
        summary=f"{count(len(described), 'source')}{in_rows} of {count(width, 'column')}.",
        nouns=_NOUNS,
        evidence=evidence_parts(evidence_of(model)),
        error=_error_sentence([one.error for one in described]),
        sources=described,
        curves=min(len(described), _CURVES),
        signals=min(width, _SIGNALS),
        width=width,
        all_columns=width <= _MAP_COLUMNS,
        data=_figures(model, values, sources, names),
        comparison=comparison_rows(comparison, len(described)),
        version=version(),
        missing=without_data("curves of sources and signals") if values is None else "",
    )
    return write_page(path, page)


def _describe(model: Any, sources: np.ndarray | None, names: list[str]) -> list[_Source]:
    kurtosis = model.kurtosis_ if sources is None else excess_kurtosis(sources)
    found = []
    for i, (error, mark) in enumerate(component_marks(evidence_of(model), len(kurtosis))):
        weights = model.mixing_[:, i]
        strongest = np.argsort(-np.abs(weights), kind="stable")[:_STRONGEST]
        found.append(
            _Source(
                number=i,
                kurtosis=float(kurtosis[i]),
                kind=_kind(float(kurtosis[i])),
                error=error,
                grade=mark,
                strongest=[(names[d], float(weights[d])) for d in strongest],
            )
        )
    return found


def _kind(kurtosis: float) -> str:
    """What a kurtosis says of a curve."""
    if kurtosis > 0.3:
        return "rare large values"
    return "flatter than Gaussian" if kurtosis < -0.3 else "nearly Gaussian"


def _figures(model: Any, values: np.ndarray | None, sources: np.ndarray | None, names: list[str]) -> dict[str, Any]:
    # Relative to the column's spread, so that columns of large units do not hide the others.
    deviation = np.sqrt((model.mixing_**2).sum(axis=1)) if values is None else values.std(axis=0)
    shares = model.mixing_ / np.where(deviation > 0, deviation, 1.0)[:, None]
    chosen = np.sort(np.argsort(-np.abs(shares).max(axis=1), kind="stable")[:_MAP_COLUMNS])
    hover = [
        [
            f"source {k} in {shortened(names[d])}\n{shares[d, k]:+.2f} of its standard deviations\n"
            f"weight {model.mixing_[d, k]:.4g}"
            for d in chosen
        ]
        for k in range(shares.shape[1])
    ]
    rows = [f"source {k}" for k in range(shares.shape[1])]
    heat = heat_map(shares[chosen].T, rows, [names[d] for d in chosen], hover=hover, signed=True)
    if values is None or sources is None:
        return {"mixing": heat}
    curves = [(f"source {i}", *thinned(sources[:, i])) for i in range(min(sources.shape[1], _CURVES))]
    signals = [(names[d], *thinned(values[:, d])) for d in range(min(values.shape[1], _SIGNALS))]
    return {"sources": lines(curves, whole=True), "mixing": heat, "signals": lines(signals, whole=True)}


def _error_sentence(errors: Sequence[float | None]) -> str:
    measured = [error for error in errors if error is not None]
    if not measured:
        return ""
    mean = float(np.mean(measured))
    return (
        f"Expected crosstalk of a source: {mean:.2g} on average: the amplitude of the other sources that is left in it, "
        "relative to its own."
    )
