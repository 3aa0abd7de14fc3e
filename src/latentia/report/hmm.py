"""The report of a hidden Markov model, for readers who do not program."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..exceptions import LatentiaError
from ._missing import without_data
from .figures import PALETTE, heat_map, lines, shortened
from .page import render, write_page
from .parts import Mark, Nouns, comparison_rows, component_marks, count, evidence_of, evidence_parts, version

__all__ = ["emission_lifts", "mean_stays", "write_hmm_report"]

_TABLE_SYMBOLS, _BAR_SYMBOLS = 10, 15
_SEQUENCES, _STEPS, _CURVE_STEPS, _CURVES = 8, 60, 500, 5
_MEANS_SHOWN, _MAP_COLUMNS = 8, 60
_LEAST = 5e-4  # probability of a symbol that is worth a line
_NOUNS = Nouns("states", "state", "steps")


@dataclass(frozen=True)
class _Symbol:
    text: str
    state: float
    overall: float
    lift: float


@dataclass(frozen=True)
class _State:
    """What the page shows of a state: `top` are its most probable symbols, `apart` those that it favours most."""

    number: int
    share: float
    start: float
    stay: float
    error: float | None
    grade: Mark
    colour: str
    top: list[_Symbol]
    apart: list[_Symbol]
    means: list[tuple[str, float, float]]
    symbols: list[_Symbol]


class _Data(NamedTuple):
    """Sequences one after another with their lengths, and the state of every step."""

    steps: np.ndarray
    lengths: np.ndarray
    states: np.ndarray


def mean_stays(transmat: np.ndarray) -> np.ndarray:
    """Steps that a state lasts on average, 1 / (1 - p), shape (K,); infinite where it is never left."""
    leave = 1 - np.diag(transmat)
    return np.where(leave > 1e-6, 1 / np.maximum(leave, 1e-6), np.inf)


def emission_lifts(model: Any, steps: np.ndarray | None = None) -> np.ndarray:
    """How many times as probable as overall, in the steps or in the long run, every symbol is in every state, shape (K, S)."""
    frequencies = _frequencies(model, steps)
    return model.emissionprob_ / np.where(frequencies > 0, frequencies, np.inf)


def write_hmm_report(
    path: str | os.PathLike[str],
    model: Any,
    steps: Any = None,
    lengths: Sequence[int] | np.ndarray | None = None,
    *,
    columns: Sequence[str] | None = None,
    states: np.ndarray | None = None,
    names: Sequence[str] | None = None,
    title: str = "States",
    source: str = "",
    comparison: Sequence[Mapping[str, Any]] | None = None,
) -> Path:
    """Write what a hidden Markov model found, and how far it can be trusted, to one HTML file that works offline.

    Parameters
    ----------
    path : path
        The file appears complete or not at all; one that is there is replaced.
    model : SpectralHMM or TwoStateHMM
        A fitted model.
    steps : array of shape (n_steps,) of symbols, or (n_steps, D) of numbers, optional
        The sequences one after another, usually those that the model was fitted on; None and NaN are missing steps. Without
        them none are shown.
    lengths : sequence of int, optional
        Lengths of the sequences; by default there is one.
    columns : sequence of str of length D, optional
        Names of the features.
    states : ndarray of int, shape (n_steps,), optional
        The most probable path, where it is known already.
    names : sequence of str of length n_sequences, optional
        Names of the sequences.
    title, source : str
        Heading of the page, and where the sequences came from.
    comparison : sequence of dict, optional
        Rows of a table that compares numbers of states, the first value the number.

    Returns
    -------
    Path of the file

    """
    check_is_fitted(model)
    symbols = hasattr(model, "emissionprob_")
    features = [] if symbols else _feature_names(columns, model.means_.shape[1])
    data: _Data | None = None
    if steps is not None:
        steps = np.asarray(steps)
        lengths = np.array([len(steps)]) if lengths is None else np.asarray(lengths)
        if lengths.sum() != len(steps):
            raise LatentiaError(
                f"lengths add up to {lengths.sum()}, and the data has {len(steps)} steps: they must agree."
            )
        data = _Data(steps, lengths, model.predict(steps, lengths) if states is None else states)
    described = _describe(model, steps, features)
    page = render(
        "hmm.html",
        title=title,
        source=source,
        summary=_summary(model, data, symbols),
        nouns=_NOUNS,
        evidence=evidence_parts(evidence_of(model)),
        error=_error_sentence([state.error for state in described], symbols),
        detected=bool(getattr(model, "detected_", True)),
        states=described,
        symbols=symbols,
        two_state=hasattr(model, "detected_"),
        examples=_examples(*data, names) if symbols and data is not None else [],
        palette=PALETTE,
        data=_figures(model, data, features),
        comparison=comparison_rows(comparison, len(described)),
        version=version(),
        missing=without_data("sequences and their paths", "X, lengths") if data is None else "",
    )
    return write_page(path, page)


# --- states ---------------------------------------------------------------------------------------------------------


def _describe(model: Any, steps: np.ndarray | None, features: list[str]) -> list[_State]:
    k = len(model.weights_)
    marks, stays = component_marks(evidence_of(model), k), mean_stays(model.transmat_)
    listed = [([], []) for _ in range(k)] if features else _symbols(model, steps)
    return [
        _State(
            number=i,
            share=float(model.weights_[i]),
            start=float(model.startprob_[i]),
            stay=float(stays[i]),
            error=marks[i][0],
            grade=marks[i][1],
            colour=PALETTE[i % len(PALETTE)],
            top=listed[i][0][:_TABLE_SYMBOLS],
            apart=listed[i][1],
            means=_means(model, i, features) if features else [],
            symbols=listed[i][0],
        )
        for i in range(k)
    ]


def _symbols(model: Any, steps: np.ndarray | None) -> list[tuple[list[_Symbol], list[_Symbol]]]:
    """For every state the most probable symbols, and those whose probability it raises most."""
    overall, lifts = _frequencies(model, steps), emission_lifts(model, steps)
    found = []
    for probabilities, lift in zip(model.emissionprob_, lifts, strict=True):
        gain = probabilities * np.log(np.maximum(lift, 1e-12))
        probable = np.argsort(-probabilities, kind="stable")[:_BAR_SYMBOLS]
        probable = probable[probabilities[probable] >= min(_LEAST, probabilities.max())]
        apart = [s for s in np.argsort(-gain, kind="stable")[:_TABLE_SYMBOLS] if lift[s] > 1]
        found.append(
            tuple(
                [
                    _Symbol(str(model.symbols_[s]), float(probabilities[s]), float(overall[s]), float(lift[s]))
                    for s in order
                ]
                for order in (probable, apart)
            )
        )
    return found  # type: ignore[return-value]


def _frequencies(model: Any, steps: np.ndarray | None) -> np.ndarray:
    if steps is None:
        return np.asarray(model.weights_ @ model.emissionprob_)
    seen = np.array([step for step in steps if step is not None]) if steps.dtype.kind == "O" else steps
    places = np.searchsorted(model.symbols_, seen)
    return np.bincount(places, minlength=len(model.symbols_)) / len(seen)


def _means(model: Any, state: int, features: list[str]) -> list[tuple[str, float, float]]:
    """Mean and standard deviation of the columns that tell the state apart best."""
    spread = np.sqrt(model.weights_ @ model.variances_) + 1e-300
    apart = np.abs(model.means_[state] - model.weights_ @ model.means_) / spread
    chosen = np.sort(np.argsort(-apart, kind="stable")[:_MEANS_SHOWN])
    deviations = np.sqrt(model.variances_[state])
    return [(features[d], float(model.means_[state, d]), float(deviations[d])) for d in chosen]


def _feature_names(columns: Sequence[str] | None, width: int) -> list[str]:
    if columns is None:
        return [f"column {i}" for i in range(1, width + 1)]
    if len(columns) != width:
        raise LatentiaError(f"columns has {len(columns)} entries and the data has {width}: they must agree.")
    return [str(name) for name in columns]


# --- figures and examples -------------------------------------------------------------------------------------------


def _figures(model: Any, data: _Data | None, features: list[str]) -> dict[str, Any]:
    k = len(model.weights_)
    names = [str(i) for i in range(k)]
    hover = [
        [f"from state {i} to state {j}\nprobability {p:.3f}" for j, p in enumerate(row)]
        for i, row in enumerate(model.transmat_)
    ]
    figures = {"transitions": heat_map(model.transmat_, names, names, hover=hover, row_title="from", column_title="to")}
    if features:
        figures["means"] = _means_figure(model, features)
    if features and data is not None:
        figures["curves"] = _curves(model, data.steps[: data.lengths[0]][:_CURVE_STEPS], data.states, features)
    return figures


def _means_figure(model: Any, features: list[str]) -> dict[str, Any]:
    """Means in standard deviations of all steps, for at most 60 columns: those whose means differ most."""
    centre = model.weights_ @ model.means_
    total = np.sqrt(model.weights_ @ (model.variances_ + (model.means_ - centre) ** 2))
    scaled = (model.means_ - centre) / np.where(total > 0, total, 1.0)
    chosen = np.sort(np.argsort(-(model.weights_ @ scaled**2), kind="stable")[:_MAP_COLUMNS])
    hover = [
        [
            f"state {i}, {shortened(features[d])}\nmean {model.means_[i, d]:.4g}, standard deviation "
            f"{np.sqrt(model.variances_[i, d]):.4g}\n{scaled[i, d]:+.2f} standard deviations from the overall mean"
            for d in chosen
        ]
        for i in range(len(scaled))
    ]
    rows = [f"state {i}" for i in range(len(scaled))]
    return heat_map(scaled[:, chosen], rows, [features[d] for d in chosen], hover=hover, signed=True, digits=1)


def _curves(model: Any, steps: np.ndarray, states: np.ndarray, features: list[str]) -> dict[str, Any]:
    """The path over the first steps, and the columns that tell the states apart best."""
    spread = np.sqrt(model.weights_ @ model.variances_) + 1e-300
    apart = model.means_.std(axis=0) / spread
    chosen = np.sort(np.argsort(-apart, kind="stable")[:_CURVES])
    x = np.arange(1, len(steps) + 1)
    series = [("state", x, states[: len(steps)]), *((features[d], x, steps[:, d]) for d in chosen)]
    return lines(series, steps=[0], title="step", whole=True)


def _examples(
    steps: np.ndarray, lengths: np.ndarray, states: np.ndarray, names: Sequence[str] | None
) -> list[dict[str, Any]]:
    """The beginnings of the first sequences, each symbol with its state."""
    found, start = [], 0
    for i, length in enumerate(lengths[:_SEQUENCES]):
        shown = range(start, start + min(int(length), _STEPS))
        name = f"sequence {i + 1}" if names is None else str(names[i])
        pairs = [("?" if steps[t] is None else str(steps[t]), int(states[t])) for t in shown]
        found.append({"name": name, "steps": pairs, "more": int(length) > _STEPS})
        start += int(length)
    return found


# --- words about the whole ------------------------------------------------------------------------------------------


def _summary(model: Any, data: _Data | None, symbols: bool) -> str:
    what = count(len(model.symbols_), "different symbol") if symbols else count(model.means_.shape[1], "column")
    states = count(len(model.weights_), "state")
    if data is None:
        return f"{states} with {what}."
    return f"{states} in {count(len(data.lengths), 'sequence')} of {what} ({len(data.steps):,} steps in all)."


def _error_sentence(errors: Sequence[float | None], symbols: bool) -> str:
    measured = [error for error in errors if error is not None]
    if not measured:
        return ""
    mean = float(np.mean(measured))
    if symbols:
        return (
            f"Expected error of a state: {mean:.2f} on average, where 0 is perfect and 2 is all wrong. "
            f"That is about {min(mean / 2, 1):.0%} of a state's probability expected on the wrong symbols."
        )
    return f"Expected error of a state's means: {mean:.2g} standard deviations on average."
