"""What the benchmarks of rich component analysis share: the paper's five problems, its peers and the errors.

A problem is a model of s1 in u = s1 + s2, v = A s2 + s3 (`planted.contrastive_views`). ``true samples`` learns it from the
rows of s1, which nobody has; ``naive`` from U; ``CCA`` from U projected on the complement of the first 1, 2 or 5 canonical
directions, whichever is best in hindsight on average, since the paper does not say how many; ``V covariates`` from U less its
regression on V, and for regressions with V beside U; ``eq2`` is the paper's equation 2, with its polynomial and its Taylor
gradient; and ``default`` is the library's.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import linear_sum_assignment, minimize
from scipy.spatial.distance import cdist
from sklearn.linear_model import LogisticRegression

from latentia.contrastive import (
    ContrastiveComponents,
    ContrastiveGaussianMixture,
    ContrastiveIsing,
    ContrastiveLogisticRegression,
    ContrastivePCA,
    ContrastiveRegression,
)
from latentia.datasets import planted
from latentia.exceptions import LatentiaError, LatentiaWarning
from latentia.mixtures import SphericalGaussianMixture
from latentia.moments import cross_cumulant

PROBLEMS = ("pca", "regression", "mixture", "logistic", "ising")
METHODS = ("true samples", "default", "eq2", "naive", "CCA", "V covariates")
DIRECTIONS = (1, 2, 5)  # of CCA that are projected out
FIRST_SEED = 300  # constants were chosen on seeds below 200
warnings.simplefilter("ignore", LatentiaWarning)  # without error bars, as here, no fit is supported


def drawn(problem: str, n: int, d: int, linear_map: str, seed: int, strength: float = 1.0) -> planted.PlantedViews:
    """Views of a problem; ``linear_map="orthonormal"`` is the orthogonal one without its scale (d / 3)^(1/2)."""
    kind: Any = "orthogonal" if linear_map == "orthonormal" else linear_map
    what: Any = "mixture" if problem == "third cumulant" else problem
    data = planted.contrastive_views(n, d, what, linear_map=kind, strength=strength, random_state=seed)
    if linear_map != "orthonormal":
        return data
    matrix = data.linear_map / np.sqrt(d / 3)
    return replace(data, linear_map=matrix, V=data.shared @ matrix.T + data.other)


# --- estimates --------------------------------------------------------------------------------------------------


def from_rows(problem: str, rows: np.ndarray, data: planted.PlantedViews) -> np.ndarray:
    """What the rows say if they are taken to be those of s1; columns beyond those of U are covariates."""
    d = data.U.shape[1]
    if problem == "pca":
        return np.linalg.eigh(np.cov(rows.T))[1][:, -1]
    if problem == "regression":
        centred = rows - rows.mean(axis=0)
        return np.linalg.lstsq(centred, data.y - data.y.mean(), rcond=1e-10)[0][:d]
    if problem == "logistic":
        return LogisticRegression(C=np.inf, max_iter=500).fit(rows, data.y).coef_[0, :d]
    if problem == "third cumulant":
        return cross_cumulant([rows], (0, 0, 0))
    if problem == "mixture":
        return SphericalGaussianMixture(d, refine=0, n_splits=0).fit(rows).means_
    if rows is data.own:
        return composite_couplings(rows, data.edges)
    return bethe(np.corrcoef(rows.T), data.edges)


def from_views(problem: str, data: planted.PlantedViews, method: str = "auto", **more: Any) -> np.ndarray:
    """What the library says, by the default or by the paper's equation 2."""
    options: dict[str, Any] = {"method": method, "n_splits": 0, **more}
    if problem == "pca":
        return ContrastivePCA(1, **options).fit(data.U, data.V).components_[0]
    if problem == "regression":
        return ContrastiveRegression(**options).fit(data.U, data.V, data.y).coef_
    if problem == "logistic":
        kind = "paper" if method == "eq2" else "adaptive"
        return ContrastiveLogisticRegression(approximation=kind, **options).fit(data.U, data.V, data.y).coef_[0]
    if problem == "third cumulant":
        return ContrastiveComponents(**options).fit(data.U, data.V).cumulant(1, 3)
    if problem == "mixture":
        return ContrastiveGaussianMixture(data.U.shape[1], **options).fit(data.U, data.V).means_
    if method == "eq2":
        return taylor(ContrastiveComponents(**options).fit(data.U, data.V).covariance(1), data.edges)
    return ContrastiveIsing(data.edges, **options).fit(data.U, data.V).couplings_


def residual(data: planted.PlantedViews) -> np.ndarray:
    """U less its regression on V."""
    v = data.V - data.V.mean(axis=0)
    return data.U - v @ np.linalg.lstsq(v, data.U - data.U.mean(axis=0), rcond=None)[0]


def without_canonical(data: planted.PlantedViews, k: int) -> np.ndarray:
    """U, projected on the complement of its k leading canonical directions with V."""
    u, v = data.U - data.U.mean(axis=0), data.V - data.V.mean(axis=0)
    crossed = u.T @ v
    found = np.linalg.solve(u.T @ u, crossed) @ cho_solve(cho_factor(v.T @ v), crossed.T)
    values, vectors = np.linalg.eig(found)
    frame = np.linalg.qr(vectors[:, np.argsort(-values.real)[:k]].real)[0]
    return data.U - u @ frame @ frame.T


def estimates(problem: str, data: planted.PlantedViews) -> Iterator[tuple[str, Callable[[], np.ndarray]]]:
    """Every method, as a task; CCA once for every number of directions."""
    beside = problem in ("regression", "logistic")
    yield "true samples", lambda: from_rows(problem, data.own, data)
    yield "default", lambda: from_views(problem, data)
    yield "eq2", lambda: from_views(problem, data, "eq2")
    yield "naive", lambda: from_rows(problem, data.U, data)
    for k in DIRECTIONS:
        yield f"CCA {k}", lambda k=k: from_rows(problem, without_canonical(data, k), data)
    rows = np.hstack([data.U, data.V]) if beside else residual(data)
    yield "V covariates", lambda: from_rows(problem, rows, data)


# --- spins ------------------------------------------------------------------------------------------------------


def bethe(correlations: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """J_ij = -asinh(2 (C^-1)_ij) / 2."""
    inverse = np.linalg.pinv(correlations, hermitian=True)
    return -np.arcsinh(2 * inverse[edges[:, 0], edges[:, 1]]) / 2


def taylor(moments: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Where the paper's gradient is zero; E[s_i^2 s_j s_k] = E[s_j s_k], since spins are -1 and 1."""
    eye = np.eye(len(edges))
    start = taylor_gradient(np.zeros(len(edges)), moments, edges)
    system = np.array([taylor_gradient(one, moments, edges) - start for one in eye]).T
    return np.linalg.lstsq(system, -start, rcond=None)[0]


def taylor_gradient(couplings: np.ndarray, moments: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """The paper's gradient of the composite likelihood (appendix D), from E[s_i s_j]."""
    (i, j), strengths = edges.T, np.zeros_like(moments)
    strengths[i, j] = strengths[j, i] = couplings
    fields = strengths @ moments
    return 2 * moments[i, j] - fields[i, j] - fields[j, i]


def composite(spins: np.ndarray, edges: np.ndarray) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    """The composite log-likelihood of a row of spins, and its gradient."""
    (i, j), (n, d) = edges.T, spins.shape

    def value(couplings: np.ndarray) -> tuple[float, np.ndarray]:
        strengths = np.zeros((d, d))
        strengths[i, j] = strengths[j, i] = couplings
        margins = spins * (spins @ strengths)
        slopes = (spins / (1 + np.exp(2 * margins))).T @ spins * (2 / n)
        return -float(np.logaddexp(0, -2 * margins).sum() / n), slopes[i, j] + slopes[j, i]

    return value


def composite_couplings(spins: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Where the composite likelihood is largest."""
    value = composite(spins, edges)
    return minimize(lambda at: tuple(-one for one in value(at)), np.zeros(len(edges)), jac=True, method="L-BFGS-B").x


# --- errors -----------------------------------------------------------------------------------------------------


def error(problem: str, found: np.ndarray, data: planted.PlantedViews) -> float:
    """Squared distance of a direction or of coefficients; mean one of matched means; mean one of couplings; of a cumulant
    the relative error."""
    truth = data.truth
    if problem == "third cumulant":
        whole = np.einsum("ka,kb,kc->abc", truth, truth, truth) / len(truth)
        return float(np.linalg.norm(found - whole) / np.linalg.norm(whole))
    if problem == "mixture":
        return float((matched_distances(found, truth) ** 2).mean())
    if problem == "pca":
        return float(min(((found - truth) ** 2).sum(), ((found + truth) ** 2).sum()))
    squares = (found - truth) ** 2
    return float(squares.mean() if problem == "ising" else squares.sum())


def matched_distances(means: np.ndarray, truth: np.ndarray) -> np.ndarray:
    apart = cdist(truth, means)
    return apart[linear_sum_assignment(apart)]


def errors(problem: str, data: planted.PlantedViews, only: tuple[str, ...] = ()) -> dict[str, float]:
    """Of every method; NaN where it gives no answer."""
    found = {}
    for name, task in estimates(problem, data):
        if only and not name.startswith(tuple(only)):
            continue
        try:
            found[name] = error(problem, task(), data)
        except (LatentiaError, np.linalg.LinAlgError):
            found[name] = np.nan
    return found


def over_seeds(many: list[dict[str, float]]) -> dict[str, tuple[float, float]]:
    """Mean and standard deviation over seeds; of CCA for the number of directions with the least mean."""
    values = {name: [one[name] for one in many] for name in many[0]}
    found = {name: (float(np.mean(some)), float(np.std(some))) for name, some in values.items()}
    cca = [name for name in found if name.startswith("CCA")]
    if cca:
        found["CCA"] = found[min(cca, key=lambda name: np.nan_to_num(found[name][0], nan=np.inf))]
    return {name: one for name, one in found.items() if not name.startswith("CCA ")}
