"""Claim: where the linear map is known, a hundred rows tell the direction of s1 at twice the error that rows of s1 have.

    python benchmarks/contrastive_known_map.py [--seeds 20] [--quick] [--jobs 1]

Problems, maps and errors of section 5 of the paper as in `contrastive_figure_1`, d = 10, from Gaussian shared parts too.
``known`` is the default with ``linear_map=A``, ``known, eq3`` the paper's cov(u) - cov(u, A^+ v) (``method="eq2"``),
``learned`` the default without A, ``V covariates`` the same regressed on V as well; ``true samples`` see s1. Means over seeds
from 300 on; ``ratio`` is that of ``known`` to ``true samples``, ``told`` the median ratio of expected to true error of
``known``. --quick: two seeds.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from _common import report
from _contrastive import FIRST_SEED, error, from_rows, residual
from joblib import Parallel, delayed

from latentia.contrastive import ContrastivePCA, ContrastiveRegression
from latentia.datasets import planted

ROWS = (100, 300, 1000, 10_000)
METHODS = ("true samples", "known", "known, eq3", "learned", "V covariates")


def one(problem: Any, n: int, linear_map: Any, shared: Any, seed: int) -> tuple[list[float], float]:
    data = planted.contrastive_views(n, 10, problem, linear_map=linear_map, shared=shared, random_state=seed)

    def fitted(**options: Any) -> Any:
        if problem == "pca":
            return ContrastivePCA(1, **options).fit(data.U, data.V)
        return ContrastiveRegression(**options).fit(data.U, data.V, data.y)

    models = [fitted(linear_map=data.linear_map), fitted(linear_map=data.linear_map, method="eq2"), fitted()]
    beside = residual(data) if problem == "pca" else np.hstack([data.U, data.V])
    answers = [model.components_[0] if problem == "pca" else model.coef_ for model in models]
    answers = [from_rows(problem, data.own, data), *answers, from_rows(problem, beside, data)]
    expected = float(np.mean(models[0].evidence_.component_errors))
    true = np.sqrt(max(1 - (answers[1] @ data.truth) ** 2, 0.0))
    if problem == "regression":
        standard = models[0].scale_
        true = np.abs((answers[1] - data.truth) * standard).mean() / np.sqrt(np.mean((data.truth * standard) ** 2))
    return [error(problem, found, data) for found in answers], expected / true


def compared(problem: str, n: int, linear_map: str, shared: str, seeds: range, jobs: int) -> dict[str, Any]:
    found = Parallel(jobs)(delayed(one)(problem, n, linear_map, shared, seed) for seed in seeds)
    means = np.mean([values for values, _ in found], axis=0)
    row: dict[str, Any] = {"problem": problem, "A": linear_map, "s2": shared, "n": n}
    row |= dict(zip(METHODS, means.tolist(), strict=True))
    return row | {"ratio": means[1] / means[0], "told": float(np.median([told for _, told in found]))}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    some = range(FIRST_SEED, FIRST_SEED + (2 if options.quick else options.seeds))
    kinds = [("orthogonal", "auto"), ("orthogonal", "gaussian"), ("uniform", "auto")]
    rows = [
        compared(problem, n, linear_map, shared, some, options.jobs)
        for problem in ("pca", "regression")
        for linear_map, shared in kinds
        for n in (ROWS[:2] if options.quick else ROWS)
    ]
    report("contrastive_known_map" + ("_quick" if options.quick else ""), rows, seeds=len(some))
