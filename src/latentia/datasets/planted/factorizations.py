"""Separable nonnegative factorizations: rows that are mixtures of a few of the rows.

X = A W + noise. The rows of W are components, A >= 0 holds the weights of each row, and some rows of X are a component alone.
The settings that others measure in are those of Gillis and Vavasis, Fast and robust recursive algorithms for separable
nonnegative matrix factorization, IEEE Transactions on Pattern Analysis and Machine Intelligence, 2014, section 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..._parameters import Choice, Constraint, Integer, Number, OrNone, check_parameter
from ...exceptions import LatentiaError

_ALLOWED: dict[str, Constraint] = {
    "n_rows": Integer(1), "n_features": Integer(1), "n_components": Integer(1), "n_pure": Integer(0),
    "mixtures": Choice("dirichlet", "midpoints"), "concentration": OrNone(Number(0)), "purity": Number(0, 1, "high"),
    "mixing": Choice("simplex", "cone"), "spread": Number(0, closed="low"), "dark": Number(0, 1, "both"),
    "kind": Choice("uniform", "spectra"), "condition": OrNone(Number(1, closed="low")), "noise": Number(0, closed="low"),
    "noise_kind": Choice("gauss", "middle"),
}  # fmt: skip
_BUMPS = 3  # bumps of a spectrum
_DARK = (0.01, 0.05)  # scales of dark rows


@dataclass(frozen=True)
class SeparableRows:
    """Rows, and the components and weights that generated them.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_features)
        ``weights @ components``, plus noise.
    components : ndarray of shape (n_components, n_features)
        W.
    weights : ndarray of shape (n_rows, n_components)
        A; its rows sum to one, or to the scales of the rows where ``mixing`` is "cone".
    anchors : ndarray of int, shape (n_components, n_pure)
        The rows of X that are one component alone.
    """

    X: np.ndarray
    components: np.ndarray
    weights: np.ndarray
    anchors: np.ndarray


def separable_rows(
    n_rows: int = 210,
    n_features: int = 100,
    n_components: int = 20,
    *,
    mixtures: Literal["dirichlet", "midpoints"] = "dirichlet",
    concentration: float | None = None,
    purity: float = 1.0,
    n_pure: int = 1,
    mixing: Literal["simplex", "cone"] = "simplex",
    spread: float = 0.5,
    dark: float = 0.0,
    kind: Literal["uniform", "spectra"] = "uniform",
    condition: float | None = None,
    noise: float = 0.0,
    noise_kind: Literal["gauss", "middle"] = "gauss",
    random_state: int = 0,
) -> SeparableRows:
    """Plant components, some rows that are one of them alone, and mixtures of them.

    The rows are in random order. The experiments of Gillis and Vavasis are the default sizes with ``mixtures="midpoints",
    noise_kind="middle"``, or with "dirichlet" and "gauss"; ``condition=1000`` makes them ill-conditioned.

    Parameters
    ----------
    n_rows, n_features, n_components : int
        n, d and r.
    mixtures : {"dirichlet", "midpoints"}
        How the rows that are not pure are mixed: by weights from a Dirichlet distribution, or each half of two components. All
        pairs of components take turns, in random order: 190 for 20 components.
    concentration : float, optional
        Parameter of the Dirichlet distribution, the same for each component: from 1 on most rows are far from pure, and near 0
        most are almost. None draws one for each component, uniform between 0 and 1.
    purity : float
        Largest share of a component in a mixture. Weights beyond it are moved towards equal ones.
    n_pure : int
        Pure rows of each component; 0 plants none, so that the rows are not separable.
    mixing : {"simplex", "cone"}
        Whether weights of a row sum to one, or to a scale of the row.
    spread : float
        Standard deviation of the logarithm of the scales, whose median is 1; for "cone".
    dark : float
        Share of the mixtures whose scale is between 0.01 and 0.05; for "cone".
    kind : {"uniform", "spectra"}
        Entries of components: independent and uniform between 0 and 1; or a smooth curve over the features, from 0 to 1.
    condition : float, optional
        Ratio of the largest to the smallest singular value of the components. The singular values become a geometric
        sequence with the same sum of squares, and entries may then be negative.
    noise : float
        Size of the noise: for "gauss" the standard deviation of that of an entry, over the root mean square entry of A W. For
        "middle" what is added to a mixture, over its distance from the mean of the components.
    noise_kind : {"gauss", "middle"}
        Gaussian and independent, in all rows; or mixtures are moved straight away from the mean of the components, which is
        what makes them look like components; pure rows stay as they are. Either may leave some entries below zero.
    random_state : int

    Returns
    -------
    SeparableRows
    """
    _check(locals())
    rng = np.random.default_rng(random_state)
    n, r = n_rows, n_components
    W = rng.random((r, n_features)) if kind == "uniform" else _draw_spectra(rng, r, n_features)
    if condition is not None:
        W = _set_condition(W, condition)
    pure = np.repeat(np.eye(r), n_pure, axis=0)
    mixed = _draw_mixtures(rng, n - len(pure), r, mixtures, concentration)
    shares = np.vstack([pure, _limit_shares(mixed, purity)])
    scales = _draw_scales(rng, n, len(pure), spread, dark)[:, None] if mixing == "cone" else np.ones((n, 1))
    A = scales * shares
    X = A @ W
    if noise_kind == "middle":
        X[len(pure) :] += noise * (scales * (shares @ W - W.mean(axis=0)))[len(pure) :]
    else:
        X += noise * np.sqrt(np.mean(X**2)) * rng.standard_normal(X.shape)
    order = rng.permutation(n)
    anchors = np.argsort(order)[: len(pure)].reshape(r, n_pure)
    return SeparableRows(X[order], W, A[order], anchors)


def _check(parameters: dict[str, Any]) -> None:
    """Raise for parameters that are out of range, or contradict each other."""
    for name, allowed in _ALLOWED.items():
        check_parameter(name, parameters[name], allowed)
    pure, r, n = parameters["n_pure"], parameters["n_components"], parameters["n_rows"]
    if pure * r > n:
        raise LatentiaError(
            f"{pure} pure rows of each of {r} components are more than {n}.", parameter="n_rows", value=n
        )
    if parameters["condition"] is not None and r > parameters["n_features"]:
        raise LatentiaError(
            f"{r} components of {parameters['n_features']} features are linearly dependent: they have no condition.",
            parameter="condition", value=parameters["condition"],
        )  # fmt: skip
    if parameters["mixtures"] == "midpoints" and r == 1:
        raise LatentiaError("a single component has no midpoints.", parameter="mixtures", value="midpoints")


def _draw_spectra(rng: np.random.Generator, r: int, d: int) -> np.ndarray:
    """Draw smooth curves over d features, shape (r, d): wide bumps on a slope, with the highest point at one."""
    x = np.linspace(0, 1, d)
    centres, widths = rng.random((r, _BUMPS, 1)), rng.uniform(0.05, 0.25, (r, _BUMPS, 1))
    bumps = (rng.random((r, _BUMPS, 1)) * np.exp(-0.5 * ((x - centres) / widths) ** 2)).sum(axis=1)
    ends = rng.uniform(0, 0.3, (2, r, 1))
    curves = bumps + ends[0] * (1 - x) + ends[1] * x
    return curves / curves.max(axis=1, keepdims=True)


def _set_condition(W: np.ndarray, condition: float) -> np.ndarray:
    """Return W with its singular vectors, and singular values in a geometric sequence with this ratio."""
    left_vectors, values, right_vectors = np.linalg.svd(W, full_matrices=False)
    falling = np.geomspace(1.0, 1.0 / condition, len(values))
    return left_vectors * (falling * np.linalg.norm(values) / np.linalg.norm(falling)) @ right_vectors


def _draw_mixtures(rng: np.random.Generator, n: int, r: int, mixtures: str, concentration: float | None) -> np.ndarray:
    """Draw weights of n mixtures, shape (n, r), rows that sum to one."""
    if mixtures == "dirichlet":
        return rng.dirichlet(rng.random(r) if concentration is None else np.full(r, concentration), n)
    first, second = np.triu_indices(r, 1)
    pairs = np.resize(rng.permutation(len(first)), n)
    weights = np.zeros((n, r))
    weights[np.arange(n), first[pairs]] = weights[np.arange(n), second[pairs]] = 0.5
    return weights


def _limit_shares(shares: np.ndarray, purity: float) -> np.ndarray:
    """Move rows whose largest share is above ``purity`` towards equal shares, until it is not."""
    equal = 1 / shares.shape[1]
    largest = shares.max(axis=1, initial=equal, keepdims=True)
    step = np.minimum(1.0, (purity - equal) / np.maximum(largest - equal, np.finfo(float).tiny))
    return equal + step * (shares - equal)


def _draw_scales(rng: np.random.Generator, n: int, n_pure: int, spread: float, dark: float) -> np.ndarray:
    """Draw scales of n rows, the first of which are pure and never dark."""
    scales = rng.lognormal(0.0, spread, n)
    turned = rng.permutation(np.arange(n_pure, n))[: round(dark * (n - n_pure))]
    scales[turned] = rng.uniform(*_DARK, len(turned))
    return scales
