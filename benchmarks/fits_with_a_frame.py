"""Claim: rows of wide tables are added in a frame that the first batch chose, with the error of one fit on all rows, and the
evidence says when a new component lies outside of it.

    python benchmarks/fits_with_a_frame.py [--seeds 100 200]

20 batches of 1,000 rows of planted data. ``error``: of the model that they were added to (means: distance to the nearest one;
sources: crosstalk), ``one fit``: of one fit on all rows with ``refine=0``, ``peer``: scikit-learn's `MiniBatchKMeans` by
``partial_fit`` of the same batches, and its `FastICA` on all rows, which has no ``partial_fit``; means over the
first seeds, and ``ratio`` of the first two.
``by batch 12``, ``too early``: percent of the seeds in which the check *new rows outside of the frame* fails by batch 12, and
before batch 10, where batches from the tenth on have one component more, as frequent as the others. ``never``: percent of the
seeds in which it never fails without one. The constants of the check were tried on seeds 0 to 5.
"""

from __future__ import annotations

import argparse
import warnings
from copy import copy, deepcopy
from typing import Any

import numpy as np
from _common import report
from scipy.spatial.distance import cdist
from sklearn.cluster import MiniBatchKMeans
from sklearn.decomposition import FastICA

from latentia.datasets import planted
from latentia.ica import TensorICA
from latentia.mixtures import SphericalGaussianMixture

BATCHES, ROWS, K, NEW = 20, 1000, 5, 10


class Clouds:
    """A mixture in 100 columns."""

    name, width = "mixture", 100

    def __init__(self, seed: int, k: int) -> None:
        self.truth = planted.gaussian_mixture(10, n_components=k, n_features=self.width, random_state=seed).means
        self.draws = np.random.default_rng((seed, 1))

    def batch(self, k: int) -> np.ndarray:
        labels = self.draws.integers(k, size=ROWS)
        return self.truth[labels] + self.draws.standard_normal((ROWS, self.width))

    def model(self, **options: Any) -> Any:
        return SphericalGaussianMixture(K, **options)

    def error(self, model: Any) -> float:
        return float(cdist(self.truth, model.means_).min(axis=1).mean())

    def peer(self, batches: list[np.ndarray]) -> float:
        found = MiniBatchKMeans(K, random_state=0)
        for batch in batches:
            found.partial_fit(batch)
        return float(cdist(self.truth, found.cluster_centers_).min(axis=1).mean())


class WideClouds(Clouds):
    """The same in more columns than are told apart outside of a frame."""

    name, width = "mixture, D = 1,000", 1000


class Signals:
    """Sources in 100 columns with noise."""

    name, width, noise = "sources", 100, 0.3

    def __init__(self, seed: int, k: int) -> None:
        self.truth = planted.independent_sources(10, k, self.width, random_state=seed).mixing
        self.draws = np.random.default_rng((seed, 1))

    def batch(self, k: int) -> np.ndarray:
        sources = self.draws.laplace(size=(ROWS, k)) / np.sqrt(2)
        return sources @ self.truth[:, :k].T + self.noise * self.draws.standard_normal((ROWS, self.width))

    def model(self, **options: Any) -> Any:
        return TensorICA(K, **options)

    def error(self, model: Any) -> float:
        gains = model.components_ @ self.truth
        shares = (gains / np.linalg.norm(gains, axis=1, keepdims=True)) ** 2
        return float(np.sqrt(1 - shares.max(axis=0)).mean())

    def peer(self, batches: list[np.ndarray]) -> float:
        return self.error(FastICA(K, whiten="unit-variance", random_state=0).fit(np.vstack(batches)))


def errors(world: Any, seed: int) -> tuple[float, float, float]:
    """Of batches that were added, of one fit, and of the peer."""
    data = world(seed, K)
    batches = [data.batch(K) for _ in range(BATCHES)]
    model = data.model()
    for batch in batches:
        model.partial_fit(batch)
    return data.error(model), data.error(data.model(refine=0).fit(np.vstack(batches))), data.peer(batches)


def seen(world: Any, seed: int) -> tuple[int | None, int | None]:
    """The first batch, from 1, after which the check fails: without a new component, and with one from the tenth batch on."""
    data = world(seed, K + 1)
    model, found = data.model(), []
    for number in range(1, BATCHES + 1):
        if number == NEW:
            other, draws = copy(model), deepcopy(data)
        model.partial_fit(data.batch(K))
        found += [number] if fails(model) else []
    early = [number for number in found if number < NEW]
    for number in range(NEW, BATCHES + 1) if not early else ():
        other.partial_fit(draws.batch(K + 1))
        if fails(other):
            return next(iter(found), None), number
    return next(iter(found), None), next(iter(early), None)


def fails(model: Any) -> bool:
    """What the check says, without learning the model."""
    found = model.moments_.outside()
    return found is not None and found.rise > found.limit


def row(world: Any, seeds: range, n_compared: int) -> dict[str, Any]:
    first = [seen(world, seed) for seed in seeds]
    added, one, peer = np.mean([errors(world, seed) for seed in seeds[:n_compared]], axis=0)
    return {
        "world": world.name, "error": added, "one fit": one, "ratio": added / one, "peer": peer,
        "by batch 12": 100 * np.mean([new is not None and NEW <= new <= NEW + 2 for _, new in first]),
        "too early": 100 * np.mean([new is not None and new < NEW for _, new in first]),
        "never": 100 * np.mean([none is None for none, _ in first]),
        "seeds": f"{seeds[0]}-{seeds[-1]}", "of errors": n_compared,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs=2, default=(100, 200), metavar=("FIRST", "END"))
    parser.add_argument("--compared", type=int, default=20, help="seeds of which errors are compared")
    parser.add_argument("--worlds", nargs="*", default=["mixture", "sources"])
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    worlds = [world for world in (Clouds, WideClouds, Signals) if world.name in asked.worlds]
    report("fits_with_a_frame", [row(world, range(*asked.seeds), asked.compared) for world in worlds])


if __name__ == "__main__":
    main()
