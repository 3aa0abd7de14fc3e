"""The report of a noisy-or network, for readers who do not program."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from ..exceptions import LatentiaError
from ._missing import without_data
from .figures import PALETTE, links, shortened, spectrum
from .page import render, write_page
from .parts import (
    Mark,
    Nouns,
    comparison_rows,
    component_marks,
    count,
    evidence_of,
    evidence_parts,
    largest,
    short_number,
    version,
)

__all__ = ["frequencies", "percent", "strongest_findings", "write_noisy_or_report"]

_STRONGEST, _MOST_FINDINGS, _MOST_LISTED, _MOST_EDGES = 8, 60, 300, 250
_FEWEST, _CAUSES_OF_ROW, _PROBABLE = 3, 8, 0.01  # causes that are shown of a row
_SPEAKING, _LEAST_EVIDENCE, _MOST_EVIDENCE = 5, 0.1, np.log(1e6)
_APART = 1.7  # least distance of two causes, that of two findings being 1
_NOUNS = Nouns("causes", "cause", "rows")


@dataclass(frozen=True)
class _Cause:
    """What the page shows of a cause; `strongest` holds findings and strengths, `more` how many others it has."""

    number: int
    name: str
    prior: float
    prior_error: float | None
    error: float | None
    grade: Mark
    colour: str
    strongest: list[tuple[str, float]]
    more: int


@dataclass(frozen=True)
class _Finding:
    """What the page shows of a finding; `causes` holds numbers and strengths, the strongest first."""

    name: str
    frequency: float
    leak: float
    constant: bool
    causes: list[tuple[int, float]]


@dataclass(frozen=True)
class _Suspect:
    """A cause in the light of one row: its probability, and the findings for and against it with factors of its odds."""

    number: int
    colour: str
    prior: float
    probability: float
    favour: list[tuple[str, str]]
    against: list[tuple[str, str]]


@dataclass(frozen=True)
class _Explained:
    """What the page shows of a row."""

    name: str
    present: list[str]
    accuracy: float
    exact: bool
    suspects: list[_Suspect]
    others: int


def frequencies(X: Any) -> np.ndarray:
    """Share of the rows in which each finding is present, shape (n,)."""
    if sparse.issparse(X) or np.asarray(X).dtype.kind != "f":
        return np.asarray(X.mean(axis=0), dtype=float).ravel()
    known = ~np.isnan(X)
    return np.where(known, X, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)


def _expected_frequencies(model: Any) -> np.ndarray:
    """The same in the rows that the model expects."""
    absent = (1 - model.leak_) * np.prod(1 - model.priors_[:, None] * model.strengths_, axis=0)
    return np.asarray(1 - absent)


def strongest_findings(strengths: np.ndarray, threshold: float, most: int = _STRONGEST) -> np.ndarray:
    """The findings of a cause, given its strengths (n,): at most so many of at least the threshold, strongest first."""
    first = largest(strengths, most)
    return first[strengths[first] >= threshold]


def percent(value: float) -> str:
    """A probability in percent; what is neither 0 nor 1 never looks as if it were."""
    if 0 < value < 0.001:
        return "<0.1%"
    if 0.999 < value < 1:
        return ">99.9%"
    return f"{100 * value:.1f}%"


def write_noisy_or_report(
    path: str | os.PathLike[str],
    model: Any,
    X: Any = None,
    *,
    columns: Sequence[str] | None = None,
    rows: Sequence[int] = (),
    row_names: Sequence[str] | None = None,
    diagnoses: Sequence[Any] | None = None,
    threshold: float = 0.05,
    title: str = "Causes",
    source: str = "",
    comparison: Sequence[Mapping[str, Any]] | None = None,
) -> Path:
    """Write the causes that were found, and how far they can be trusted, to one HTML file that works offline.

    Parameters
    ----------
    path : path
        The file appears complete or not at all; one that is there is replaced.
    model : NoisyOr
        A fitted model.
    X : array or sparse matrix of shape (n_rows, n), optional
        1 where a finding is present and 0 where it is absent; usually what the model was fitted on. Without it frequencies are
        those that the model expects.
    columns : sequence of str of length n, optional
        Names of the findings.
    rows : sequence of int
        Positions in X of the rows whose diagnosis is shown.
    row_names : sequence of str, optional
        What these rows are called; by default by their number from 1.
    diagnoses : sequence of Diagnosis, optional
        What `NoisyOr.explain` says of these rows, where it is known already.
    threshold : float
        Strengths below it are not shown.
    title, source : str
        Heading of the page, and where the rows came from.
    comparison : sequence of dict, optional
        Rows of a table that compares numbers of causes, the first value the number.

    Returns
    -------
    Path of the file

    """
    check_is_fitted(model)
    m, n = model.weights_.shape
    names = [f"column {i}" for i in range(1, n + 1)] if columns is None else [str(name) for name in columns]
    width = n if X is None else X.shape[1]
    if len(names) != n or width != n:
        raise LatentiaError(
            f"columns has {len(names)} entries, the data {width} columns and the model {n} findings: they must agree."
        )
    if X is None and len(rows):
        raise LatentiaError("rows are positions in X, which was not given.")
    causes = _describe(model, names, threshold)
    frequency = _expected_frequencies(model) if X is None else frequencies(X)
    in_rows = "" if X is None else f" in {count(X.shape[0], 'row')}"
    page = render(
        "noisy_or.html",
        title=title,
        source=source,
        summary=f"{count(m, 'cause')} of {count(n, 'finding')}{in_rows}.",
        nouns=_NOUNS,
        evidence=evidence_parts(evidence_of(model)),
        error=_error_sentence([cause.error for cause in causes]),
        causes=causes,
        threshold=threshold,
        percent=percent,
        given=getattr(model, "prior", None) is not None,
        findings=_findings(model, frequency, names, threshold),
        n_findings=n,
        drawn=_MOST_FINDINGS,
        likely=model.n_components_range_,
        stand_out=int((model.spectrum_ > model.noise_).sum()) if model.noise_ else None,
        explained=_explained(model, X, names, rows, row_names, diagnoses),
        data={"network": _network(model, frequency, names, threshold), "spectrum": _spectrum(model)},
        comparison=comparison_rows(comparison, m),
        version=version(),
        missing=without_data("rows (how often findings are present is what the model expects)") if X is None else "",
    )
    return write_page(path, page)


def _describe(model: Any, names: list[str], threshold: float) -> list[_Cause]:
    found = []
    for k, (error, mark) in enumerate(component_marks(evidence_of(model), len(model.priors_))):
        strengths = model.strengths_[k]
        first = strongest_findings(strengths, threshold)
        found.append(
            _Cause(
                number=k,
                name=model._given_names.get(k, ""),
                prior=float(model.priors_[k]),
                prior_error=None if model.prior_errors_ is None else float(model.prior_errors_[k]),
                error=error,
                grade=mark,
                colour=_colour(k),
                strongest=[(names[i], float(strengths[i])) for i in first],
                more=int((strengths >= threshold).sum()) - len(first),
            )
        )
    return found


def _findings(model: Any, frequency: np.ndarray, names: list[str], threshold: float) -> list[_Finding]:
    """The most frequent findings."""
    return [
        _Finding(
            name=names[i],
            frequency=float(frequency[i]),
            leak=float(model.leak_[i]),
            constant=not 0 < frequency[i] < 1,
            causes=[
                (int(k), float(model.strengths_[k, i])) for k in strongest_findings(model.strengths_[:, i], threshold)
            ],
        )
        for i in largest(frequency, _MOST_LISTED)
    ]


def _colour(cause: int) -> str:
    return PALETTE[cause % len(PALETTE)]


# --- rows that are explained ----------------------------------------------------------------------------------------


def _explained(
    model: Any,
    X: Any,
    names: list[str],
    rows: Sequence[int],
    row_names: Sequence[str] | None,
    diagnoses: Sequence[Any] | None,
) -> list[_Explained]:
    called = [f"row {i + 1}" for i in rows] if row_names is None else [str(name) for name in row_names]
    tables = [X[[i]] for i in rows]
    tables = [table.toarray() if sparse.issparse(table) else np.asarray(table) for table in tables]
    said = [model.explain(table) for table in tables] if diagnoses is None else list(diagnoses)
    if not len(called) == len(said) == len(tables):
        raise LatentiaError(
            f"{len(tables)} rows, {len(called)} row_names and {len(said)} diagnoses: there must be one of each a row."
        )
    return [
        _explain(model, table[0], names, name, diagnosis)
        for table, name, diagnosis in zip(tables, called, said, strict=True)
    ]


def _explain(model: Any, row: np.ndarray, names: list[str], name: str, diagnosis: Any) -> _Explained:
    present = row == 1
    texts = [finding if here else f"no {finding}" for finding, here in zip(names, present, strict=True)]
    probabilities = diagnosis.probabilities
    likely = largest(probabilities, max(_FEWEST, min(_CAUSES_OF_ROW, int((probabilities >= _PROBABLE).sum()))))
    suspects = [
        _Suspect(
            number=int(k),
            colour=_colour(k),
            prior=float(model.priors_[k]),
            probability=float(probabilities[k]),
            favour=_speaking(diagnosis.attribution[k], texts),
            against=_speaking(-diagnosis.attribution[k], texts),
        )
        for k in likely
    ]
    return _Explained(
        name=name,
        present=[names[i] for i in np.flatnonzero(present)],
        accuracy=diagnosis.error,
        exact=diagnosis.exact,
        suspects=suspects,
        others=len(probabilities) - len(suspects),
    )


def _speaking(evidence: np.ndarray, texts: list[str]) -> list[tuple[str, str]]:
    """The findings with the largest evidence (n,) in nats, with the factors by which they change the odds."""
    first = [i for i in largest(evidence, _SPEAKING) if evidence[i] >= _LEAST_EVIDENCE]
    return [(texts[i], short_number(float(np.exp(min(evidence[i], _MOST_EVIDENCE))))) for i in first]


# --- figures --------------------------------------------------------------------------------------------------------


def _network(model: Any, frequency: np.ndarray, names: list[str], threshold: float) -> dict[str, Any]:
    """Causes on the left, the findings that have the strongest lines on the right, lines as wide as they are strong."""
    strengths = model.strengths_
    order = _placed(strengths, threshold)
    shown = strengths[:, order]
    m, n = shown.shape
    right = np.arange(n) + 0.5
    left = _beside(shown)
    edges = np.argwhere((shown >= threshold) & (shown > 0))
    edges = edges[largest(shown[tuple(edges.T)], _MOST_EDGES)]
    return links(
        [(str(k), _hover_of_cause(model, k, names, threshold), k % len(PALETTE)) for k in range(m)],
        [(shortened(names[i]), _hover_of_finding(model, i, names, frequency, threshold)) for i in order],
        [(k, i, shown[k, i]) for k, i in edges],
        (left, right),
    )


def _placed(strengths: np.ndarray, threshold: float) -> np.ndarray:
    """The findings with the strongest lines, those of the first cause on top, so that few lines cross."""
    top = strengths.max(axis=0)
    chosen = largest(top, _MOST_FINDINGS)
    chosen = chosen[(top[chosen] >= threshold) & (top[chosen] > 0)]
    return chosen[np.lexsort((-top[chosen], strengths[:, chosen].argmax(axis=0)))]


def _beside(strengths: np.ndarray) -> np.ndarray:
    """Heights (m,) of the causes: each beside the findings of which it is the strongest cause, none upon another."""
    m, n = strengths.shape
    own = np.bincount(strengths.argmax(axis=0), minlength=m) if n else np.zeros(m, int)
    above = np.cumsum(own) - own
    apart = _APART * np.arange(m)
    return np.maximum.accumulate(above + own / 2 - apart) + apart


def _hover_of_cause(model: Any, cause: int, names: list[str], threshold: float) -> str:
    first = strongest_findings(model.strengths_[cause], threshold, 12)
    listed = [f"{shortened(names[i], 40)} {percent(model.strengths_[cause, i])}" for i in first]
    return "\n".join([f"cause {cause}, on in {percent(model.priors_[cause])} of the rows", *listed])


def _hover_of_finding(model: Any, finding: int, names: list[str], frequency: np.ndarray, threshold: float) -> str:
    first = strongest_findings(model.strengths_[:, finding], threshold)
    listed = [f"cause {k} {percent(model.strengths_[k, finding])}" for k in first]
    heading = f"{shortened(names[finding], 40)}, in {percent(frequency[finding])} of the rows"
    return "\n".join([heading, *listed, f"without any cause {percent(model.leak_[finding])}"])


def _spectrum(model: Any) -> dict[str, Any]:
    """Directions of the pairs of findings, those that the causes need in blue."""
    return spectrum(model.spectrum_, len(model.priors_), [model.noise_] if model.noise_ else [], "size")


# --- words about the whole ------------------------------------------------------------------------------------------


def _error_sentence(errors: Sequence[float | None]) -> str:
    measured = [error for error in errors if error is not None]
    if not measured:
        return ""
    return (
        f"Expected error of a cause: {np.mean(measured):.2g} on average; 0.1 means that its strengths as a whole may be "
        "off by about a tenth of their size."
    )
