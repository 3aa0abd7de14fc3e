"""Claim: coordinates of `BackgroundPCA` show groups as clearly as contrastive PCA at the strength that the groups choose.

    python benchmarks/contrastive_shown.py [--quick]

Tables of scikit-learn: cases are two groups, the background is a third one or, of two groups, further rows of one. Each table
as it is, and with a nuisance that cases and background share: a random direction with three standard deviations of all columns
together. Columns are standardised over both. Silhouettes of the groups along one direction: *shown* is `transform`,
*projection* the projection on the same direction; *best strength* is contrastive PCA with the strength of seven, from .1 to
100, that has the largest silhouette, and *PCA* that of the cases. The rule that chooses coordinates was set on these tables.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from _common import report, timed
from sklearn import datasets
from sklearn.metrics import silhouette_score
from threadpoolctl import threadpool_limits

from latentia.contrastive import BackgroundPCA

_STRENGTHS = np.geomspace(0.1, 100, 7)
_DIGITS = (0, 1, 2), (3, 8, 5), (4, 9, 7), (1, 7, 9), (6, 0, 3), (2, 3, 8)
_MARGIN = 0.06
_GOOD = ("supported", "with care")

Tables = tuple[str, np.ndarray, np.ndarray, np.ndarray]


def tables() -> Iterator[Tables]:
    """Yield a name, the cases, their groups, and the background."""
    for name in ("iris", "wine"):
        X, group = getattr(datasets, f"load_{name}")(return_X_y=True)
        for third in range(3):
            yield f"{name} without {third}", X[group != third], group[group != third], X[group == third]
    X, group = datasets.load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    cases, rest = order[:300], order[300:]
    yield "breast cancer", X[cases], group[cases], X[rest[group[rest] == 1]]
    X, group = datasets.load_digits(return_X_y=True)
    for first, second, third in _DIGITS:
        used = np.isin(group, (first, second))
        yield f"digits {first} and {second}, {third}", X[used], group[used], X[group == third]


def with_nuisance(X: np.ndarray, background: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    direction = rng.standard_normal(X.shape[1])
    direction *= 3 * np.sqrt(X.shape[1] / 2) / np.linalg.norm(direction)
    cases, controls = (table + rng.standard_normal((len(table), 1)) * direction for table in (X, background))
    return cases, controls


def compare(name: str, X: np.ndarray, group: np.ndarray, background: np.ndarray) -> dict[str, Any]:
    of_cases, of_background = (np.cov(table.T, bias=True) for table in (X, background))

    def separation(direction: np.ndarray) -> float:
        return float(silhouette_score((X @ direction)[:, None], group))

    def leading(strength: float) -> np.ndarray:
        return np.asarray(np.linalg.eigh(of_cases - strength * of_background)[1][:, -1])

    run = timed(lambda: BackgroundPCA(1).fit(X, background))
    model = run.value
    return {
        "table": name, "shown": float(silhouette_score(model.transform(X), group)), "coordinates": model.coordinates_,
        "projection": separation(model.components_[0]), "best strength": max(map(separation, map(leading, _STRENGTHS))),
        "PCA": separation(leading(0.0)), "grade": model.evidence_.grade, "cpu_s": run.cpu,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tables as they are")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    with threadpool_limits(1):
        for name, X, group, background in tables():
            both = np.vstack([X, background])
            spread = both.std(axis=0)
            kept = spread > 1e-9
            X, background = (((table - both.mean(axis=0))[:, kept] / spread[kept]) for table in (X, background))
            rows.append(compare(name, X, group, background))
            for seed in () if options.quick else (0, 1):
                cases, controls = with_nuisance(X, background, seed)
                rows.append(compare(f"{name}, nuisance {seed}", cases, group, controls))
    good = [row for row in rows if row["grade"] in _GOOD]
    facts = {
        f"at least {peer} less {_MARGIN}{where}": f"{sum(row['shown'] >= row[peer] - _MARGIN for row in kept)} of {len(kept)}"
        for where, kept in (("", rows), (", first two grades", good))
        for peer in ("best strength", "PCA")
    }
    report("contrastive_shown" + ("_quick" if options.quick else ""), rows, **facts)


if __name__ == "__main__":
    main()
