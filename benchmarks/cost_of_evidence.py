"""Claim: what the evidence of a default fit costs beside the fit, in CPU seconds.

    python benchmarks/cost_of_evidence.py [--family TensorICA ...] [--rows 2000 12000]

Planted data; the faster of two fits, after one that compiles. *Within*: up to 10,000 rows, at most five fits and .5 s more than
one; of more rows, at most 1.2 times the fit, or twice with a rival.
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

from latentia.communities import MixedMembershipBlockModel
from latentia.datasets import planted
from latentia.dictionary import IncoherentDictionary
from latentia.ica import TensorICA
from latentia.mixtures import MultiViewMixture, SphericalGaussianMixture
from latentia.nmf import ApproximateNMF, SeparableNMF
from latentia.noisyor import NoisyOr
from latentia.sequences import SpectralHMM
from latentia.topics import AnchorTopics, SingleTopicModel, SpectralLDA

RIVAL = ("SphericalGaussianMixture", "TensorICA", "SeparableNMF")
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
    "MultiViewMixture": (
        lambda n: np.hsplit(planted.product_mixture(n, 5, 30, random_state=1).X, 3),
        lambda s: MultiViewMixture(5, distribution="bernoulli", n_splits=s),
    ),
    "AnchorTopics": (
        lambda n: planted.topic_corpus(n, random_state=1, n_topics=10).counts, lambda s: AnchorTopics(10, n_splits=s)
    ),
    "SpectralLDA": (
        lambda n: planted.topic_corpus(n, random_state=1, n_topics=10).counts, lambda s: SpectralLDA(10, n_splits=s)
    ),
    "SingleTopicModel": (
        lambda n: planted.topic_corpus(n, random_state=1, n_topics=10, proportions="single").counts,
        lambda s: SingleTopicModel(10, n_splits=s),
    ),
    "SeparableNMF": (
        lambda n: planted.separable_rows(n, 50, 5, noise=0.05, n_pure=5, random_state=1).X,
        lambda s: SeparableNMF(5, n_splits=s),
    ),
    "ApproximateNMF": (
        lambda n: planted.separable_rows(n, 50, 5, noise=0.05, n_pure=5, random_state=1).X.clip(0),
        lambda s: ApproximateNMF(5, n_splits=s),
    ),
    "IncoherentDictionary": (
        lambda n: planted.sparse_codes(n, 32, 48, random_state=1).X, lambda s: IncoherentDictionary(48, n_splits=s)
    ),
    "MixedMembershipBlockModel": (
        lambda n: planted.mixed_membership_graph(n, random_state=1).adjacency,
        lambda s: MixedMembershipBlockModel(5, n_splits=s),
    ),
}  # fmt: skip


def cpu_seconds(new: Callable[[int], Any], n_splits: int, data: Any) -> float:
    times = []
    for _ in range(3):
        began = time.process_time()
        new(n_splits).fit(data)
        times.append(time.process_time() - began)
    return min(times[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", nargs="+", choices=list(FITS), default=list(FITS))
    parser.add_argument("--rows", nargs="+", type=int, default=[2000, 12_000])
    options = parser.parse_args()
    lines = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in options.family:
            rows, new = FITS[name]
            for n in options.rows:
                data = rows(n)
                default = new(0).__class__(2).get_params()["n_splits"]
                with_, without = (cpu_seconds(new, n_splits, data) for n_splits in (default, 0))
                most = 6 * without + 0.5 if n <= 10_000 else (2 if name in RIVAL else 1.2) * without
                lines.append(
                    {"estimator": name, "rows": n, "fit": without, "with evidence": with_, "times": with_ / without,
                     "within": with_ <= most}
                )  # fmt: skip
                print(lines[-1], flush=True)
    report("cost_of_evidence", lines)


if __name__ == "__main__":
    main()
