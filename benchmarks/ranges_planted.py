"""Claim: of a range of numbers of components, estimators choose the planted one or its neighbour.

    python benchmarks/ranges_planted.py [--seeds 400-409] [--family NAME ...]

Each data set has 3 to 7 components and follows the model; numbers from 2 to 9 are compared. *Near*: the number chosen differs
by at most one from the planted one. Data sets of seeds below 400 served to set the rule, those from 400 on are reported.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from _common import report, timed
from threadpoolctl import threadpool_limits

from latentia.communities import MixedMembershipBlockModel
from latentia.datasets import planted
from latentia.mixtures import SphericalGaussianMixture
from latentia.nmf import SeparableNMF
from latentia.noisyor import NoisyOr
from latentia.sequences import SpectralHMM
from latentia.topics import AnchorTopics

RANGE = range(2, 10)


def clusters(k: int, seed: int) -> Any:
    return SphericalGaussianMixture(RANGE).fit(planted.gaussian_mixture(3000, k, 12, random_state=seed).X)


def chain(k: int, seed: int) -> Any:
    data = planted.hidden_markov_chain(8000, k, 20, random_state=seed)
    return SpectralHMM(RANGE).fit(data.symbols, data.lengths)


def causes(k: int, seed: int) -> Any:
    return NoisyOr(RANGE).fit(planted.noisy_or_network(24, k, random_state=seed).sample(2000, random_state=seed).X)


def topics(k: int, seed: int) -> Any:
    return AnchorTopics(RANGE).fit(
        planted.topic_corpus(1500, length=60, n_topics=k, n_words=300, anchors=True, random_state=seed).counts
    )


def communities(k: int, seed: int) -> Any:
    return MixedMembershipBlockModel(RANGE).fit(
        planted.mixed_membership_graph(1200, k, alpha0=0.0, random_state=seed).adjacency
    )


def spectra(k: int, seed: int) -> Any:
    return SeparableNMF(RANGE).fit(planted.separable_rows(400, 40, k, noise=0.02, n_pure=5, random_state=seed).X)


FAMILIES: dict[str, Callable[[int, int], Any]] = {
    "SphericalGaussianMixture": clusters, "SpectralHMM": chain, "NoisyOr": causes, "AnchorTopics": topics,
    "MixedMembershipBlockModel": communities, "SeparableNMF": spectra,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="400-409", help="first-last")
    parser.add_argument("--family", nargs="+", choices=list(FAMILIES), default=list(FAMILIES))
    options = parser.parse_args()
    first, last = map(int, options.seeds.split("-"))
    lines = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for family in options.family:
            chosen, seconds = [], 0.0
            for seed in range(first, last + 1):
                k = int(np.random.default_rng([seed, 64]).integers(3, 8))
                fit = timed(lambda family=family, k=k, seed=seed: FAMILIES[family](k, seed))
                chosen.append((k, fit.value.n_components_))
                seconds += fit.cpu
            right, near = (sum(abs(k - number) <= far for k, number in chosen) for far in (0, 1))
            pairs = " ".join(f"{k}:{number}" for k, number in chosen)
            line = {"family": family, "data sets": len(chosen), "right": right, "near": near, "planted:chosen": pairs,
                    "seconds": round(seconds / len(chosen), 1)}  # fmt: skip
            lines.append(line)
            print(line, flush=True)
    print(f"near in {sum(line['near'] for line in lines)} of {sum(line['data sets'] for line in lines)}")
    report("ranges_planted", lines, seeds=options.seeds)


if __name__ == "__main__":
    main()
