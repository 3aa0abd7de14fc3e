"""Claim: fits to moments of s1 have the errors of fits to as many rows of s1 as have moments with these standard errors.

    python benchmarks/contrastive_moments.py [--quick] [--first 400] [--seeds 10]

u = s1 + s2, v = A s2 + s3 with exponential s2 and normal s3, 50,000 rows; A is learned, or known. ``rows``: number of rows of
s1 whose cumulants have the errors of `contrast_moments`, the smaller one of covariance and higher cumulant (of sources in
white coordinates); ``error``:
crosstalk of `TensorICA` (d=4), distance of means (d=4, K=3), l1 error of topics (8 words, K=3); ``direct``: mean error of ten
fits to moments of that many rows of s1.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from _common import report
from scipy.spatial.distance import cdist

from latentia.contrastive import contrast_moments
from latentia.evidence import Evidence
from latentia.exceptions import LatentiaError
from latentia.ica import TensorICA
from latentia.mixtures import SphericalGaussianMixture
from latentia.moments import Cumulants, HiddenMoments
from latentia.passes import Folds
from latentia.tensor.operators import SymmetricFour
from latentia.topics import SpectralLDA

N, MANY, FEW = 50_000, 1_000_000, 2000


def cumulants_of(rows: np.ndarray, order: int) -> Cumulants:
    centred = rows - rows.mean(axis=0)
    n, covariance = len(rows), centred.T @ centred / len(rows)
    third = np.einsum("ni,nj,nk->ijk", centred, centred, centred, optimize=True) / n
    if order == 3:
        return Cumulants(n, rows.mean(axis=0), covariance, third)
    pairs = (centred[:, :, None] * centred[:, None, :]).reshape(n, -1)
    fourth = (pairs.T @ pairs / n).reshape((rows.shape[1],) * 4)
    for pattern in ("ij,kl->ijkl", "ik,jl->ijkl", "il,jk->ijkl"):
        fourth = fourth - np.einsum(pattern, covariance, covariance)
    return Cumulants(n, rows.mean(axis=0), covariance, third, SymmetricFour.from_tensor(fourth))


def given(cumulants: Cumulants, order: int) -> HiddenMoments:
    return HiddenMoments(order, lambda groups: cumulants, Folds(4), Evidence([]))


def crosstalk(model: TensorICA, mixing: np.ndarray) -> float:
    gains = (model.components_ @ mixing) ** 2
    return float(np.sqrt(1 - gains.max(axis=1) / gains.sum(axis=1)).mean())


Kind = tuple[int, float, Callable[[int], np.ndarray], Callable[[HiddenMoments], float]]


def sources(rng: np.random.Generator) -> Kind:
    mixing = rng.standard_normal((4, 4))
    model = TensorICA(noise=None, n_splits=0)
    return 4, 1.0, lambda n: rng.laplace(size=(n, 4)) @ mixing.T, lambda m: crosstalk(model.fit_moments(m), mixing)


def clusters(rng: np.random.Generator) -> Kind:
    means, model = rng.standard_normal((3, 4)) * 2, SphericalGaussianMixture(3, n_splits=0)
    draw = lambda n: means[rng.integers(0, 3, n)] + rng.standard_normal((n, 4))  # noqa: E731
    return 3, 1.0, draw, lambda m: float(cdist(means, model.fit_moments(m).means_).min(axis=1).mean())


def topics(rng: np.random.Generator) -> Kind:
    words, model = rng.dirichlet(np.full(8, 0.3), 3), SpectralLDA(3, alpha0=1.2, n_splits=0)
    draw = lambda n: rng.dirichlet(np.full(3, 0.4), n) @ words  # noqa: E731
    return (
        3,
        0.05,
        draw,
        lambda m: float(cdist(words, model.fit_moments(m).components_, "cityblock").min(axis=1).mean()),
    )


def apply(tensor: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    for _ in range(tensor.ndim):  # The first mode becomes the last one.
        tensor = np.tensordot(tensor, matrix, axes=(0, 0))
    return tensor


def relative_errors(cumulants: Cumulants, exact: Cumulants) -> np.ndarray:
    white = np.eye(len(exact.mean))
    if exact.fourth is not None:  # Sources do not depend on the units.
        white = np.linalg.inv(np.linalg.cholesky(exact.covariance)).T
    pairs = zip(cumulants.tensors()[1:], exact.tensors()[1:], strict=True)
    tensors = [(apply(tensor, white), apply(truth, white)) for tensor, truth in pairs]
    errors = [np.linalg.norm(tensor - truth) / np.linalg.norm(truth) for tensor, truth in tensors]
    return np.array([errors[0], errors[-1]])


def run(kind: Callable[[np.random.Generator], Kind], seed: int, known: bool) -> dict[str, Any]:
    rng = np.random.default_rng([seed, 76])
    order, scale, draw, error_of = kind(rng)
    s1 = draw(N)
    d = s1.shape[1]
    s2 = (rng.exponential(size=(N, d)) - 1) @ rng.standard_normal((d, d)) * scale
    linear_map = np.linalg.qr(rng.standard_normal((d, d)))[0]
    V = s2 @ linear_map.T + rng.standard_normal((N, d)) * scale
    moments = contrast_moments(s1 + s2, V, order=order, linear_map=linear_map if known else None, mean=s1.mean(axis=0))
    exact = cumulants_of(draw(MANY), order)
    of_few = np.mean([relative_errors(cumulants_of(draw(FEW), order), exact) for _ in range(10)], axis=0)
    rows = int(max((FEW * (of_few / relative_errors(moments.all_rows, exact)) ** 2).min(), 60))
    direct = []
    for _ in range(10):
        try:
            direct.append(error_of(given(cumulants_of(draw(rows), order), order)))
        except LatentiaError:  # So few rows do not support the components.
            continue
    error = error_of(moments)
    ratio = error / np.mean(direct) if direct else np.nan
    return {"s1": kind.__name__, "known": known, "seed": seed, "rows": rows, "error": error, "ratio": float(ratio)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one seed")
    parser.add_argument("--first", type=int, default=400)
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    seeds = range(options.first, options.first + (1 if options.quick else options.seeds))
    rows = [run(kind, seed, known) for kind in (sources, clusters, topics) for known in (False, True) for seed in seeds]
    report("contrastive_moments" + ("_quick" if options.quick else ""), rows)
    for kind in ("sources", "clusters", "topics"):
        ratios = [row["ratio"] for row in rows if row["s1"] == kind]
        print(f"{kind}: median ratio {np.nanmedian(ratios):.2f}, {np.mean(np.array(ratios) <= 1.3):.0%} at most 1.3")


if __name__ == "__main__":
    main()
