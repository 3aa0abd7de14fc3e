"""Claim: what the evidence of a default fit costs beside the fit, in CPU seconds.

    python benchmarks/cost_of_evidence.py [--quick]

Planted data of 2,000, 12,000 and 50,000 rows; the median of three fits, after one that compiles.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from _common import report
from threadpoolctl import threadpool_limits

from latentia.datasets import planted
from latentia.ica import TensorICA
from latentia.mixtures import SphericalGaussianMixture
from latentia.noisyor import NoisyOr
from latentia.sequences import SpectralHMM

FITS: dict[str, tuple[Callable[[int], Any], Callable[[int], Any]]] = {
    "SphericalGaussianMixture": (
        lambda n: planted.gaussian_mixture(n, 8, 20, random_state=1).X, lambda s: SphericalGaussianMixture(8, n_splits=s)
    ),
    "TensorICA": (lambda n: planted.independent_sources(n, 8, random_state=1).X, lambda s: TensorICA(n_splits=s)),
    "SpectralHMM": (
        lambda n: planted.hidden_markov_chain(n, 4, 12, random_state=1).symbols, lambda s: SpectralHMM(4, n_splits=s)
    ),
    "NoisyOr": (
        lambda n: planted.noisy_or_network(30, 5, random_state=1).sample(n, 2).X, lambda s: NoisyOr(5, n_splits=s)
    ),
}  # fmt: skip


def cpu_seconds(new: Callable[[int], Any], n_splits: int, data: Any) -> float:
    times = []
    for _ in range(4):
        began = time.process_time()
        new(n_splits).fit(data)
        times.append(time.process_time() - began)
    return float(np.median(times[1:]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="2,000 rows alone")
    lines = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in (2000,) if parser.parse_args().quick else (2000, 12_000, 50_000):
            for name, (rows, new) in FITS.items():
                data = rows(n)
                default = new(0).__class__().get_params()["n_splits"]
                with_, without = (cpu_seconds(new, n_splits, data) for n_splits in (default, 0))
                lines.append(
                    {"estimator": name, "rows": n, "fit": without, "with evidence": with_, "times": with_ / without}
                )
    report("cost_of_evidence", lines)


if __name__ == "__main__":
    main()
