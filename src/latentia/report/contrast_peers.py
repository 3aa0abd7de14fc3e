"""What simpler methods say of the same two views: U alone, U without its canonical directions with V, and V as covariates."""

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

PEERS = ("U alone", "CCA", "V as covariates")
_CLEAR = 0.5  # a canonical correlation from which on its direction counts as shared
_MOST_ROWS = 20_000  # for mixtures, which go over the rows many times
_WEIGHT = 100.0  # of the likelihood, beside a slight penalty: classes may be separated without error
KINDS = {
    "ContrastivePCA": "pca",
    "ContrastiveRegression": "regression",
    "ContrastiveLogisticRegression": "logistic",
    "ContrastiveGaussianMixture": "mixture",
    "ContrastiveIsing": "ising",
    "ContrastiveComponents": "components",
}


def kind_of(model: Any) -> str:
    """The kind of model, as ``latentia contrast --fit`` calls it."""
    return KINDS[type(model).__name__]


def spread_of(values: np.ndarray) -> np.ndarray:
    """Standard deviations of the columns, with which the estimators bring them to unit variance; 1 of constant ones."""
    deviations = np.asarray(values.std(axis=0, ddof=1))
    return np.where(deviations > 0, deviations, 1.0)


def answer_of(model: Any, U: np.ndarray) -> np.ndarray:
    """What is compared: directions, coefficients, means, couplings, or the covariance of s1 in units of standard deviations."""
    kind = kind_of(model)
    if kind == "components":
        return np.asarray(model.covariance(1) / np.outer(spread_of(U), spread_of(U)))
    if kind in ("pca", "mixture"):
        return np.asarray(model.components_ if kind == "pca" else model.means_)
    return np.ravel(model.couplings_ if kind == "ising" else model.coef_)


def in_units_of(model: Any, errors: np.ndarray, coefficients: np.ndarray, U: np.ndarray) -> np.ndarray:
    """Expected errors of coefficients, which are relative to the size of all, in the units of each."""
    spread = spread_of(U)
    return np.asarray(errors * np.sqrt(np.mean((coefficients * spread) ** 2)) / spread)


def variances(model: Any, U: np.ndarray, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Covariances of U and of s1, columns in unit variance."""
    joint = np.cov(np.hstack([U, V]).T)
    scale = np.outer(spread_of(U), spread_of(U))
    width = U.shape[1]
    own = model.own_weights @ joint[:, :width]  # the weights are cov(s1, (u, v)) over cov(u, v)
    return joint[:width, :width] / scale, (own + own.T) / 2 / scale


def contrast_peers(model: Any, U: np.ndarray, V: np.ndarray, y: Any = None) -> dict[str, np.ndarray]:
    """The model's question answered by simpler methods, in its shape and units.

    U alone takes no notice of V. CCA projects U on the complement of its leading canonical directions with V
    (`sklearn.cross_decomposition.CCA`): ``n_shared`` of them or, where that is not given, those with a correlation above one
    half, and leaves as many directions as the answer needs. V as covariates removes from U its regression on V, and in
    regressions puts V beside U.
    """
    kind, centred = kind_of(model), V - V.mean(axis=0)
    middle, scale = U.mean(axis=0), spread_of(U)
    residual = U - centred @ np.linalg.lstsq(centred, U - middle, rcond=None)[0]
    complement = _complement((U - middle) / scale, centred / spread_of(V), model)
    if kind in ("regression", "logistic"):
        rows, others = (U - middle) / scale, centred / spread_of(V)
        target = np.asarray(y) == model.classes_[1] if kind == "logistic" else np.asarray(y, dtype=float)
        if kind == "logistic" and len(np.unique(target)) < 2:
            first, second = model.classes_
            raise LatentiaError(
                f"y: rows of both classes of the fit, {first} and {second}, are needed for a comparison."
            )
        fit = _logistic if kind == "logistic" else _linear
        width = U.shape[1]
        found = (
            fit(rows, target), complement @ fit(rows @ complement, target), fit(np.hstack([rows, others]), target)[:width],
        )  # fmt: skip
        return dict(zip(PEERS, (one / scale for one in found), strict=True))
    projected = middle + ((U - middle) / scale) @ complement @ complement.T * scale
    ours = answer_of(model, U)
    tables = U, projected, residual
    return {name: _unsupervised(kind, model, rows, ours, scale) for name, rows in zip(PEERS, tables, strict=True)}


def differences(model: Any, U: np.ndarray, peers: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Mean distance of each peer from the model, in the unit of the expected error."""
    ours, spread = answer_of(model, U), spread_of(U)
    return {name: _difference(kind_of(model), ours, found, spread) for name, found in peers.items()}


def _difference(kind: str, ours: np.ndarray, other: np.ndarray, spread: np.ndarray) -> float:
    if kind == "pca":
        return float(np.sqrt(np.clip(1 - (ours * other).sum(axis=1) ** 2, 0, None)).mean())
    if kind == "mixture":
        return float(np.linalg.norm(ours - other, axis=1).mean())
    if kind == "ising":
        return float(np.abs(ours - other).mean())
    if kind == "components":
        return float(np.linalg.norm(ours - other) / max(float(np.linalg.norm(ours)), np.finfo(float).tiny))
    size = max(float(np.sqrt(np.mean((ours * spread) ** 2))), np.finfo(float).tiny)
    return float(np.abs((ours - other) * spread).mean() / size)


def _complement(rows: np.ndarray, others: np.ndarray, model: Any) -> np.ndarray:
    """Orthonormal directions (d_u, d_u - r) that the r leading canonical ones leave."""
    width = rows.shape[1]
    kind = kind_of(model)
    needed = len(answer_of(model, rows)) - (kind == "mixture") if kind in ("pca", "mixture") else 1
    ranks = [int(np.linalg.matrix_rank(part)) for part in (rows, others)]  # No canonical direction is beyond them.
    most = min(width - max(1, needed), *ranks)
    if most < 1:
        return np.eye(width)
    # A few rows with the covariance of all: it is all that canonical directions depend on.
    root: np.ndarray = np.linalg.qr(np.hstack([rows, others]), mode="r")  # type: ignore[assignment]
    few = np.vstack([root, -root])
    wanted = most if model.n_shared is None else min(most, model.n_shared)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", message="y residual is constant")  # The other directions are noise.
        found = CCA(n_components=wanted, scale=False).fit(few[:, :width], few[:, width:])
    if model.n_shared is None:
        pairs = zip(*(part.T for part in found.transform(few[:, :width], few[:, width:])), strict=True)
        with np.errstate(divide="ignore", invalid="ignore"):  # A constant score has no correlation, which is not clear.
            clear = [abs(float(np.corrcoef(a, b)[0, 1])) > _CLEAR for a, b in pairs]
        wanted = max(1, clear.index(False) if False in clear else len(clear))
    leading = np.linalg.qr(found.x_rotations_[:, :wanted])[0]
    return np.asarray(np.linalg.svd(leading, full_matrices=True)[0][:, wanted:])


def _linear(rows: np.ndarray, target: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.lstsq(rows, target - target.mean(), rcond=None)[0])


def _logistic(rows: np.ndarray, target: np.ndarray) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return np.asarray(LogisticRegression(C=_WEIGHT, max_iter=1000).fit(rows, target).coef_[0])


def _unsupervised(kind: str, model: Any, rows: np.ndarray, ours: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """The answer for rows of U as they are, without a correction, with components in the order of ``ours``."""
    covariance = np.atleast_2d(np.cov(rows.T))
    if kind == "components":
        return covariance / np.outer(scale, scale)
    if kind == "ising":
        deviations = np.sqrt(np.maximum(np.diag(covariance), np.finfo(float).tiny))
        inverse = np.linalg.pinv(covariance / np.outer(deviations, deviations), hermitian=True)
        i, j = model.edges_.T
        return np.asarray(-np.arcsinh(2 * inverse[i, j]) / 2)
    if kind == "pca":
        found = np.linalg.eigh(covariance)[1][:, ::-1].T[: len(ours)]
        cosines = ours @ found.T
        places = linear_sum_assignment(-np.abs(cosines))[1]
        return np.asarray(found[places] * np.where(cosines[np.arange(len(ours)), places] < 0, -1.0, 1.0)[:, None])
    sample = rows[np.random.default_rng(0).permutation(len(rows))[:_MOST_ROWS]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        mixture = GaussianMixture(len(ours), covariance_type="spherical", n_init=3, random_state=0).fit(sample)
    return np.asarray(mixture.means_[linear_sum_assignment(cdist(ours, mixture.means_))[1]])
