"""Answers of simpler methods for the same two views: U alone, U without its canonical directions with V, V as covariates."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from sklearn.cross_decomposition import CCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.mixture import GaussianMixture

from ..exceptions import LatentiaError
from ..linalg.ratios import ratio_of

PEERS = ("U alone", "CCA", "V as covariates")
_MIN_CORRELATION = 0.5  # directions with a higher canonical correlation count as shared
_MAX_ROWS = 20_000  # rows for mixtures, which pass over them many times
_INVERSE_PENALTY = 100.0  # a slight penalty, as classes may be separable
KINDS = {
    "ContrastivePCA": "pca",
    "ContrastiveRegression": "regression",
    "ContrastiveLogisticRegression": "logistic",
    "ContrastiveGaussianMixture": "mixture",
    "ContrastiveIsing": "ising",
    "ContrastiveComponents": "components",
}


def kind_of(model: Any) -> str:
    """Return the kind of model, as ``latentia contrast --fit`` calls it."""
    return KINDS[type(model).__name__]


def spread_of(values: np.ndarray) -> np.ndarray:
    """Return the standard deviations by which estimators scale the columns; 1 for constant ones."""
    deviations = np.asarray(values.std(axis=0, ddof=1))
    return np.where(deviations > 0, deviations, 1.0)


def answer_of(model: Any, U: np.ndarray) -> np.ndarray:
    """Return the answer to compare: directions, coefficients, means, couplings, or the covariance of s1 in standard units."""
    kind = kind_of(model)
    if kind == "components":
        return np.asarray(model.covariance(1) / np.outer(spread_of(U), spread_of(U)))
    if kind in ("pca", "mixture"):
        return np.asarray(model.components_ if kind == "pca" else model.means_)
    return np.ravel(model.couplings_ if kind == "ising" else model.coef_)


def scale_errors(model: Any, errors: np.ndarray, coefficients: np.ndarray, U: np.ndarray) -> np.ndarray:
    """Return expected errors of coefficients, given relative to their root mean square, in the units of each column."""
    spread = spread_of(U)
    return np.asarray(errors * np.sqrt(np.mean((coefficients * spread) ** 2)) / spread)


def variances(model: Any, U: np.ndarray, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return covariances of U and of s1, columns in unit variance."""
    joint = np.cov(np.hstack([U, V]).T)
    scale = np.outer(spread_of(U), spread_of(U))
    width = U.shape[1]
    specific = model.own_weights @ joint[:, :width]  # the weights are cov(s1, (u, v)) over cov(u, v)
    return joint[:width, :width] / scale, (specific + specific.T) / 2 / scale


def contrast_peers(model: Any, U: np.ndarray, V: np.ndarray, y: Any = None) -> dict[str, np.ndarray]:
    """Answer the model's question by simpler methods, in its shape and units.

    "U alone" ignores V. "CCA" projects U on the complement of its leading canonical directions with V
    (`sklearn.cross_decomposition.CCA`): ``n_shared`` of them or, if that is None, those with a correlation above one half; as
    many directions as the answer needs remain. "V as covariates" removes from U its regression on V, and in regressions adds V
    as further columns.
    """
    kind, centred = kind_of(model), V - V.mean(axis=0)
    center, scale = U.mean(axis=0), spread_of(U)
    residual = U - centred @ np.linalg.lstsq(centred, U - center, rcond=None)[0]
    complement = _complement((U - center) / scale, centred / spread_of(V), model)
    if kind in ("regression", "logistic"):
        rows, covariates = (U - center) / scale, centred / spread_of(V)
        target = np.asarray(y) == model.classes_[1] if kind == "logistic" else np.asarray(y, dtype=float)
        if kind == "logistic" and len(np.unique(target)) < 2:
            first, second = model.classes_
            raise LatentiaError(
                f"y has one class; a comparison takes rows of both classes of the fit, {first} and {second}."
            )
        fit = _logistic if kind == "logistic" else _linear
        width = U.shape[1]
        coefficients = (
            fit(rows, target), complement @ fit(rows @ complement, target), fit(np.hstack([rows, covariates]), target)[:width],
        )  # fmt: skip
        return dict(zip(PEERS, (values / scale for values in coefficients), strict=True))
    projected = center + ((U - center) / scale) @ complement @ complement.T * scale
    answer = answer_of(model, U)
    tables = U, projected, residual
    return {name: _answer_from_rows(kind, model, rows, answer, scale) for name, rows in zip(PEERS, tables, strict=True)}


def differences(model: Any, U: np.ndarray, peers: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Return the mean distance of each simpler method from the model, in the unit of the expected error."""
    answer, spread = answer_of(model, U), spread_of(U)
    return {name: _difference(kind_of(model), answer, peer_answer, spread) for name, peer_answer in peers.items()}


def _difference(kind: str, answer: np.ndarray, peer_answer: np.ndarray, spread: np.ndarray) -> float:
    if kind == "pca":
        return float(np.sqrt(np.clip(1 - (answer * peer_answer).sum(axis=1) ** 2, 0, None)).mean())
    if kind == "mixture":
        return float(np.linalg.norm(answer - peer_answer, axis=1).mean())
    if kind == "ising":
        return float(np.abs(answer - peer_answer).mean())
    if kind == "components":
        return float(ratio_of(np.linalg.norm(answer - peer_answer), np.linalg.norm(answer)))
    size = max(float(np.sqrt(np.mean((answer * spread) ** 2))), np.finfo(float).tiny)
    return float(np.abs((answer - peer_answer) * spread).mean() / size)


def _complement(rows: np.ndarray, covariates: np.ndarray, model: Any) -> np.ndarray:
    """Return orthonormal directions (d_u, d_u - r), the complement of the r leading canonical ones."""
    width = rows.shape[1]
    kind = kind_of(model)
    needed = len(answer_of(model, rows)) - (kind == "mixture") if kind in ("pca", "mixture") else 1
    ranks = [int(np.linalg.matrix_rank(part)) for part in (rows, covariates)]  # No canonical direction is beyond them.
    max_removed = min(width - max(1, needed), *ranks)
    if max_removed < 1:
        return np.eye(width)
    # Canonical directions depend on the covariance alone, which these few rows have.
    # Powers of two bring both views to the size of one, and change no bits of the directions.
    tables = [np.ldexp(part, -np.frexp(np.abs(part).max())[1]) for part in (rows, covariates)]
    root: np.ndarray = np.linalg.qr(np.hstack(tables), mode="r")  # type: ignore[assignment]
    sample = np.vstack([root, -root])
    n_removed = max_removed if model.n_shared is None else min(max_removed, model.n_shared)
    with warnings.catch_warnings():
        # Further directions are noise, of which CCA says that they do not converge, or that nothing is left.
        warnings.filterwarnings("ignore", category=UserWarning, module=r"sklearn\.cross_decomposition")
        cca = CCA(n_components=n_removed, scale=False).fit(sample[:, :width], sample[:, width:])
    if model.n_shared is None:
        pairs = zip(*(part.T for part in cca.transform(sample[:, :width], sample[:, width:])), strict=True)
        with np.errstate(divide="ignore", invalid="ignore"):  # A constant score has no correlation, which is not clear.
            clear = [abs(float(np.corrcoef(a, b)[0, 1])) > _MIN_CORRELATION for a, b in pairs]
        n_removed = max(1, clear.index(False) if False in clear else len(clear))
    leading = np.linalg.qr(cca.x_rotations_[:, :n_removed])[0]
    return np.asarray(np.linalg.svd(leading, full_matrices=True)[0][:, n_removed:])


def _linear(rows: np.ndarray, target: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.lstsq(rows, target - target.mean(), rcond=None)[0])


def _logistic(rows: np.ndarray, target: np.ndarray) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return np.asarray(LogisticRegression(C=_INVERSE_PENALTY, max_iter=1000).fit(rows, target).coef_[0])


def _answer_from_rows(kind: str, model: Any, rows: np.ndarray, answer: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return the answer for rows of U as they are, without a correction, with components in the order of ``answer``."""
    covariance = np.atleast_2d(np.cov(rows.T))
    if kind == "components":
        return covariance / np.outer(scale, scale)
    if kind == "ising":
        deviations = np.sqrt(np.maximum(np.diag(covariance), np.finfo(float).tiny))
        inverse = np.linalg.pinv(covariance / np.outer(deviations, deviations), hermitian=True)
        i, j = model.edges_.T
        return np.asarray(-np.arcsinh(2 * inverse[i, j]) / 2)
    if kind == "pca":
        directions = np.linalg.eigh(covariance)[1][:, ::-1].T[: len(answer)]
        cosines = answer @ directions.T
        places = linear_sum_assignment(-np.abs(cosines))[1]
        return np.asarray(
            directions[places] * np.where(cosines[np.arange(len(answer)), places] < 0, -1.0, 1.0)[:, None]
        )
    sample = rows[np.random.default_rng(0).permutation(len(rows))[:_MAX_ROWS]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        mixture = GaussianMixture(len(answer), covariance_type="spherical", n_init=3, random_state=0)
        try:
            mixture.fit(sample)
        except ValueError as error:
            raise LatentiaError(
                "Simpler methods cannot be compared: a mixture of U alone has a component without spread, or U is so far from "
                "zero that its digits are lost. Subtract the mean of every column."
            ) from error
    return np.asarray(mixture.means_[linear_sum_assignment(cdist(answer, mixture.means_))[1]])
