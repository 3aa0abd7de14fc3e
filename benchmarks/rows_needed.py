"""Claim: ``evidence_.rows_needed(error)`` names a number of rows at which the true error is as asked for.

    python benchmarks/rows_needed.py [--quick] [--seeds 10] [--first-seed 400]

Data that follows the model, of six families. One fit says how many rows the error asked for needs: 1.25 times the expected
error of the fit, or a half, two thirds or a third of it, in turn. Five fits of as many new rows of the same model have a mean
true error: the mean distance of components to the true ones after matching, in the unit of the family's expected error.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from _common import report, verdict
from _topics import parsed
from _worlds.sources import crosstalk
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from threadpoolctl import threadpool_limits

from latentia.ica import TensorICA
from latentia.mixtures import MultiViewMixture, SphericalGaussianMixture
from latentia.sequences import SpectralHMM
from latentia.topics import SingleTopicModel, SpectralLDA

Rng = np.random.Generator
Truth = tuple[Callable[[Rng, int], Any], Callable[[Any], np.ndarray], Callable[[], Any], int]
SHARES = (1.25, 0.5, 2 / 3, 1 / 3)
N_FITS = 5


def mixture(rng: Rng) -> Truth:
    means = rng.uniform(1.2, 2.5) * rng.standard_normal((4, 8))

    def draw(rng: Rng, n: int) -> Any:
        return means[rng.integers(4, size=n)] + rng.standard_normal((n, 8))

    return draw, lambda model: cdist(model.means_, means), lambda: SphericalGaussianMixture(4), 600


def views(rng: Rng) -> Truth:
    means = 2.5 * rng.standard_normal((3, 3, 4))

    def draw(rng: Rng, n: int) -> Any:
        labels = rng.integers(3, size=n)
        return [of_view[labels] + rng.standard_normal((n, 4)) for of_view in means]

    def distances(model: Any) -> np.ndarray:
        return np.asarray(
            np.mean([cdist(found, true) for found, true in zip(model.means_, means, strict=True)], axis=0)
        )

    return draw, distances, lambda: MultiViewMixture(3, distribution="gaussian"), 800


def single_topics(rng: Rng) -> Truth:
    topics = rng.dirichlet(np.full(60, 0.3), 5)

    def draw(rng: Rng, n: int) -> Any:
        return rng.multinomial(15, topics[rng.integers(5, size=n)])

    return draw, lambda model: cdist(model.components_, topics, "cityblock"), lambda: SingleTopicModel(5), 600


def mixed_topics(rng: Rng) -> Truth:
    topics = rng.dirichlet(np.full(120, 0.1), 5)

    def draw(rng: Rng, n: int) -> Any:
        return rng.multinomial(60, rng.dirichlet(np.full(5, 0.15), n) @ topics)

    return draw, lambda model: cdist(model.components_, topics, "cityblock"), lambda: SpectralLDA(5), 600


def sources(rng: Rng) -> Truth:
    mixing = np.linalg.qr(rng.standard_normal((5, 5)))[0] * rng.uniform(0.5, 2, 5)

    def draw(rng: Rng, n: int) -> Any:
        return rng.laplace(size=(n, 5)) / np.sqrt(2) @ mixing.T

    return draw, lambda model: crosstalk(model.components_, mixing), lambda: TensorICA(5), 1500


def chain(rng: Rng) -> Truth:
    emissions = rng.dirichlet(np.full(8, 0.4), 3)
    transitions = 0.7 * np.eye(3) + 0.3 * rng.dirichlet(np.ones(3), 3)

    def draw(rng: Rng, n: int) -> Any:
        states = np.zeros(n, int)
        for t, uniform in enumerate(rng.random(n - 1), 1):
            states[t] = min(np.searchsorted(transitions[states[t - 1]].cumsum(), uniform), 2)
        return (emissions[states].cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(max=7)

    return draw, lambda model: cdist(model.emissionprob_, emissions, "cityblock"), lambda: SpectralHMM(3), 3000


FAMILIES = {
    "SphericalGaussianMixture": mixture,
    "MultiViewMixture": views,
    "SingleTopicModel": single_topics,
    "SpectralLDA": mixed_topics,
    "TensorICA": sources,
    "SpectralHMM": chain,
}


def compare(family: str, seed: int) -> dict[str, Any]:
    """Return the error asked for, the number of rows, and the error of fits of as many."""
    rng = np.random.default_rng([list(FAMILIES).index(family), seed])
    draw, distances, make, n = FAMILIES[family](rng)

    def true_error(model: Any) -> float:
        apart = distances(model)
        return float(apart[linear_sum_assignment(apart)].mean())

    model = make().fit(draw(rng, n))
    wanted = model.evidence_.expected_error * SHARES[seed % len(SHARES)]
    needed = model.evidence_.rows_needed(wanted)
    errors = [np.inf]  # of an answer that no number of rows is enough
    if np.isfinite(needed.rows):
        errors = [true_error(make().set_params(n_splits=0).fit(draw(rng, round(needed.rows)))) for _ in range(N_FITS)]
    return {
        "family": family, "seed": seed, "n": n, "true": true_error(model), "expected": model.evidence_.expected_error,
        "grade": model.evidence_.grade, "wanted": wanted, "rows": needed.rows, "error": np.mean(errors),
        "over wanted": np.mean(errors) / wanted,
    }  # fmt: skip


def main() -> None:
    options = parsed(__doc__, seeds=10)
    warnings.simplefilter("ignore")
    rows = []
    with threadpool_limits(1):
        for family in FAMILIES:
            for seed in options.seeds:
                rows.append(compare(family, seed))
                print(rows[-1], flush=True)
    factors = np.abs(np.log([row["over wanted"] for row in rows]))
    shares = {factor: float((factors <= np.log(factor)).mean()) for factor in (np.sqrt(2), 2)}
    bars = {
        "true error within a factor 2 of the error asked for in 80%": verdict(shares[2], shares[2] >= 0.8),
        "within the root of 2, a factor 2 of rows": verdict(shares[np.sqrt(2)], shares[np.sqrt(2)] >= 0.8),
    }
    report("rows_needed" + options.suffix, rows, **bars, seeds=options.seeds)


if __name__ == "__main__":
    main()
