"""Models of rows that hold nothing to find: how often does the evidence say that there is something?

    python benchmarks/empty_worlds.py [--seeds 1000-1009] [--family TensorICA] [--law Gaussian]

Rows are one cloud: Gaussian, uniform, or with tails in every direction like those of t with 3 or 5 degrees of freedom. A seed
draws 200 to 2,000 rows, 3 to 5 columns, and whether these are correlated. Uniform columns are sources, which `TensorICA`
should find: they are left out there. Limits were set on seeds below 1000.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from _common import report

from latentia.exceptions import LatentiaError
from latentia.ica import TensorICA
from latentia.mixtures import SphericalGaussianMixture

GRADES = ("supported", "with care", "partly", "not supported", "error")
LAWS: dict[str, Callable[[np.random.Generator, int, int], np.ndarray]] = {
    "Gaussian": lambda rng, n, d: rng.standard_normal((n, d)),
    "t(3)": lambda rng, n, d: rng.standard_normal((n, d)) / np.sqrt(rng.chisquare(3, (n, 1)) / 3),
    "t(5)": lambda rng, n, d: rng.standard_normal((n, d)) / np.sqrt(rng.chisquare(5, (n, 1)) / 5),
    "uniform": lambda rng, n, d: rng.uniform(-1, 1, (n, d)),
}
MODELS: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "TensorICA": lambda rng, d: TensorICA(),
    "TensorICA, refine=0": lambda rng, d: TensorICA(refine=0),
    "TensorICA, fewer": lambda rng, d: TensorICA(int(rng.integers(2, d))),
    "SphericalGaussianMixture, 2": lambda rng, d: SphericalGaussianMixture(2),
    "SphericalGaussianMixture, 3 to 5": lambda rng, d: SphericalGaussianMixture(int(rng.integers(3, 6))),
    "SphericalGaussianMixture, diag": lambda rng, d: SphericalGaussianMixture(
        int(rng.integers(2, 6)), covariance_type="diag"
    ),
    "SphericalGaussianMixture, full": lambda rng, d: SphericalGaussianMixture(
        int(rng.integers(2, 6)), covariance_type="full"
    ),
    "SphericalGaussianMixture, tied": lambda rng, d: SphericalGaussianMixture(
        int(rng.integers(2, 6)), covariance_type="tied"
    ),
}


def cloud(rng: np.random.Generator, law: str) -> np.ndarray:
    """Rows of one cloud; every second one has columns that are correlated."""
    n, d = int(rng.integers(200, 2001)), int(rng.integers(3, 6))
    rows = LAWS[law](rng, n, d)
    return rows @ rng.standard_normal((d, d)) if rng.uniform() < 0.5 else rows


def grade_of(name: str, law: str, seed: int) -> str:
    rng = np.random.default_rng(seed)
    rows = cloud(rng, law)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return str(MODELS[name](rng, rows.shape[1]).fit(rows).evidence_.grade)
    except LatentiaError:
        return "error"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="1000-1009", help="first-last")
    parser.add_argument("--family", nargs="+", default=list(MODELS))
    parser.add_argument("--law", nargs="+", default=list(LAWS))
    options = parser.parse_args()
    first, last = map(int, options.seeds.split("-"))
    lines = []
    for law in options.law:
        for name in (name for name in MODELS if any(name.startswith(one) for one in options.family)):
            if law == "uniform" and name.startswith("TensorICA"):
                continue
            counts = Counter(grade_of(name, law, seed) for seed in range(first, last + 1))
            lines.append({"rows": law, "model": name, **{grade: counts[grade] for grade in GRADES}})
            print(lines[-1], flush=True)
    report("empty_worlds", lines, seeds=options.seeds)


if __name__ == "__main__":
    main()
