"""Fits that begin at the planted truth: the general way, and families that need one of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy import sparse
from sklearn.base import clone

from latentia.communities import MixedMembershipBlockModel, block_model
from latentia.communities._fit import _FINAL_STEPS
from latentia.communities._model import Communities
from latentia.communities._refine import fit_mixed_memberships
from latentia.datasets import planted
from latentia.deep import SparseNetwork, _units
from latentia.ica import TensorICA
from latentia.ica.tensor_ica import _crosstalk
from latentia.metrics import recovery_errors
from latentia.nmf import SeparableNMF
from latentia.nmf._points import Table


@dataclass(frozen=True)
class Case:
    """A default fit, the same from the truth, and the error of either."""

    default: Callable[[], Any]
    limit: Callable[[], Any]
    error: Callable[[Any], float]


def case(
    estimator: Any, error: Callable[[Any], float], start: Callable[..., Any], *data: Any, at: Any = None, **options: Any
) -> Case:
    """A case in which ``start`` makes the truth of what is returned by ``_recover``, or by ``at``, a name of a module."""
    owner, name = at or (type(estimator), "_recover")
    before = getattr(owner, name)

    def limit() -> Any:
        with patch.object(owner, name, lambda *given, **named: start(before(*given, **named), *given)):
            return clone(estimator).set_params(n_splits=0).fit(*data, **options)

    return Case(lambda: clone(estimator).fit(*data, **options), limit, error)


def mean_error(found: np.ndarray, true: np.ndarray, norm: str = "l1") -> float:
    """Mean distance of true rows to those that they are matched with."""
    return float(recovery_errors(found, true, norm).mean())


def shares(rows: np.ndarray) -> np.ndarray:
    return rows / rows.sum(axis=1, keepdims=True)


def separable(seed: int) -> Case:
    """Rounds end early, where rows lie in the hull but for noise, which those of the truth do at once: the limit's do not."""
    world = planted.separable_rows(600, 40, 5, concentration=0.5, n_pure=4, noise=0.1, random_state=seed)
    lengths = np.linalg.norm(world.components, axis=1)
    one = case(
        SeparableNMF(5, refine="auto"),
        lambda model: float((recovery_errors(model.components_, world.components, "l2") / lengths).mean()),
        lambda found, *given: world.components,
        world.X,
        at=(Table, "average_members"),
    )

    def limit() -> Any:
        with patch.object(SeparableNMF, "_measure_outside", lambda *given: np.inf):
            return one.limit()

    return replace(one, limit=limit)


def sources(seed: int) -> Case:
    """The truth as near as a rotation of white rows comes to it, which is all that the iterations change."""
    world = planted.independent_sources(3000, 6, random_state=seed)

    def start(found: Any, model: Any, moments: Any, *given: Any) -> Any:
        true = np.linalg.pinv(world.mixing) @ np.linalg.pinv(moments.statistic.coordinates.basis.T)
        u, _, v = np.linalg.svd(true @ found.whitening.inverse)
        unmixing = found.unmixing._replace(
            matrix=u @ v @ found.whitening.matrix.T, inverse=found.whitening.inverse @ (u @ v).T
        )
        return replace(found, unmixing=unmixing, noisy=None)

    return case(TensorICA(6), lambda model: float(_crosstalk(model.components_ @ world.mixing).mean()), start, world.X)


def memberships(sampled: bool) -> Callable[[int], Case]:
    """The truth in the place of the memberships that trial steps lead to, or the posterior mean by sampling from there."""

    def draw(seed: int) -> Case:
        world = planted.mixed_membership_graph(1000, 4, alpha0=0.5, degree=30, snr=4.0, random_state=seed)
        truth = Communities(world.memberships, world.connectivity, world.activity, world.activity)

        def start(found: Any, ends: Any, *given: Any) -> Any:
            options: dict[str, Any] = {"races": 1, "max_steps": _FINAL_STEPS}
            return replace(
                found, mixed=fit_mixed_memberships(ends, truth, found.shape, world.dirichlet, "auto", **options)
            )

        def error(model: Any) -> float:
            found = model if isinstance(model, np.ndarray) else model.memberships_
            return float(recovery_errors(found.T, world.memberships.T).sum()) / len(found)

        one = case(MixedMembershipBlockModel(4), error, start, world.adjacency, at=(block_model, "refine_starts"))
        return replace(one, limit=lambda: sampled_memberships(world, seed)) if sampled else one

    return draw


def sampled_memberships(world: Any, seed: int, burn_in: int = 150, n_averaged: int = 100) -> np.ndarray:
    """Posterior mean memberships of communities of equal expected degrees, by Gibbs sampling from the truth."""
    rng, (i, j) = np.random.default_rng(seed), sparse.triu(world.adjacency, 1).nonzero()
    pi, rates, total = world.memberships, world.connectivity, np.zeros(world.memberships.shape)
    n, k = pi.shape
    for sweep in range(burn_in + n_averaged):
        chances = (pi[i][:, :, None] * rates * pi[j][:, None, :]).reshape(len(i), -1).cumsum(axis=1)
        cells = (chances < rng.random((len(i), 1)) * chances[:, -1:]).sum(axis=1)
        first, second = np.divmod(cells, k)
        ends = np.bincount(np.append(i * k + first, j * k + second), minlength=n * k).reshape(n, k)
        pi = np.maximum(shares(rng.standard_gamma(world.dirichlet + ends) + 1e-12), 1e-12)
        edges = np.bincount(cells, minlength=k * k).reshape(k, k)
        drawn = rng.standard_gamma(edges + edges.T + 0.5) / np.outer(pi.sum(axis=0), pi.sum(axis=0))
        rates = (drawn + drawn.T) / 2
        if sweep >= burn_in:
            total += shares(world.dirichlet + ends)
    return total / n_averaged


def network(seed: int) -> Case:
    """The true units in the place of those that pairs grow into; then the same rounds of polishing. Error: wrong edges."""
    world = planted.sparse_network(400, (200, 40), 5, 0.05, flips=0.05, random_state=seed)
    edges = (world.layers[0].toarray() > 0).astype(float)
    units = [np.flatnonzero(one) for one in edges]

    def error(model: Any) -> float:
        wrong = recovery_errors((model.layers_[0].toarray() > 0).astype(float), edges)
        return float(np.where(np.isnan(wrong), edges.sum(axis=1), wrong).sum() / edges.sum())

    return case(
        SparseNetwork(), error, lambda found, rows, known, *given: found if known else units, world.Y,
        at=(_units, "_grow_units"),
    )  # fmt: skip
