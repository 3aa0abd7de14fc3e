"""Claim: tests of effects keep their level with few uneven clusters, and clusters that nobody named are noticed.

    python benchmarks/effects_with_clusters.py [--quick] [--simulations 1000] [--seed 400]

Shares of 10 to 25 clusters, 30 rows each on average, of sizes from Dirichlet(2), in which two rows of a cluster are correlated
by r. The covariate has no effect: it is drawn for rows, for clusters, or is 1 in a third of the clusters. *Rejected*: tests at
5% that say it has one, clusters named. *Warned*: fits without clusters that name the column of these; *false*: that name one of
three other columns, of 12 groups, of many, and of numbers that all differ.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from _common import report, verdict
from scipy.stats import t as student

from latentia.effects import Memberships, least_squares
from latentia.effects.dependence import warn_of_clusters

ROWS = 30  # of a cluster


class Exact(Memberships):
    """Shares that are known."""

    def __init__(self, shares: np.ndarray) -> None:
        self.shares, self.errors = shares, np.empty((0, shares.shape[1], shares.shape[1]))

    def squares(self, rows: np.ndarray) -> np.ndarray:
        return self.shares[rows].T @ self.shares[rows]

    def apply_squares(self, coefficients: np.ndarray) -> np.ndarray:
        return self.shares * (self.shares @ coefficients)[:, None]

    def perturb_squares(self, second: np.ndarray, error: np.ndarray) -> np.ndarray:
        return error @ second + second @ error.T


def simulate(covariate: str, correlation: float, clusters: int, rng: np.random.Generator) -> tuple[bool, bool, bool]:
    """Whether a test rejects, whether the column of clusters is named, and whether another one is."""
    n = ROWS * clusters
    cluster = rng.choice(clusters, n, p=rng.dirichlet(np.full(clusters, 2.0)))
    of_cluster = (
        rng.permutation(clusters) < clusters / 3 if covariate == "a third of clusters" else rng.normal(size=clusters)
    )
    x = np.column_stack([np.ones(n), rng.normal(size=n) if covariate == "rows" else of_cluster[cluster]])
    shares = np.sqrt(correlation) * rng.normal(size=(clusters, 3))[cluster] + np.sqrt(1 - correlation) * rng.normal(
        size=(n, 3)
    )
    rows = np.ones(n, dtype=bool)
    found = least_squares(x, Exact(shares[:, :1]), rows, cluster)
    p = 2 * student.sf(np.abs(found.value[1, 0]) / found.error[1, 0], found.freedom[1, 0])
    others = {"twelve": rng.integers(12, size=n), "many": rng.integers(n // 3, size=n), "numbers": rng.normal(size=n)}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_clusters(x, shares, {"cluster": cluster.astype(str), **others}, rows)
    said = str(caught[0].message) if caught else ""
    return bool(p < 0.05), "'cluster' (" in said, any(f"'{name}' (" in said for name in others)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="50 simulations; results apart")
    parser.add_argument("--simulations", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=400)
    options = parser.parse_args()
    n, rows = 50 if options.quick else options.simulations, list[dict[str, Any]]()
    for covariate in ("rows", "clusters", "a third of clusters"):
        for correlation in (0.0, 0.1, 0.3):
            for clusters in (10, 15, 25):
                rng = np.random.default_rng([options.seed, len(rows)])
                shares = np.mean([simulate(covariate, correlation, clusters, rng) for _ in range(n)], axis=0)
                row = {"covariate": covariate, "correlation": correlation, "clusters": clusters}
                rows.append(row | dict(zip(("rejected", "warned", "false"), map(float, shares), strict=True)))
    most, false = (max(row[name] for row in rows) for name in ("rejected", "false"))
    least = min(row["warned"] for row in rows if row["correlation"] >= 0.3)
    bars = {
        "tests at 5% reject at most 7%": verdict(most, most <= 0.07),
        "a correlation of .3 is noticed in 90%": verdict(least, least >= 0.9),
        "another column is named in at most 5%": verdict(false, false <= 0.05),
    }
    report(f"effects_with_clusters{'_quick' if options.quick else ''}", rows, **bars, simulations=n)


if __name__ == "__main__":
    main()
