"""Measure how often `latentia.match` names planted changes: the same components, changed, new and gone ones.

Seeds below 700 are for the choice of constants, seeds from 700 are reported.

    python benchmarks/what_changed.py --quick
"""

from __future__ import annotations

import argparse
import warnings
from collections import defaultdict

import numpy as np

import latentia
from latentia.datasets import planted
from latentia.mixtures import SphericalGaussianMixture
from latentia.noisyor import NoisyOr
from latentia.sequences import SpectralHMM
from latentia.topics import AnchorTopics

K, D = 5, 8


def mixture(means, seed):
    rng = np.random.default_rng(seed)
    X = means[rng.integers(len(means), size=2000)] + rng.standard_normal((2000, D))
    return SphericalGaussianMixture(len(means)).fit(X)


def plan_mixtures(seed):
    """Yield kinds of changes with the two models, and the expected status of each true component that changed."""
    means = 4 * np.random.default_rng(seed).standard_normal((K, D))
    first = mixture(means, 10_000 + seed)
    second = mixture(means, 20_000 + seed)
    yield "same", first, second
    yield (
        "new",
        first,
        mixture(np.vstack([means, 4 * np.random.default_rng(seed + 7).standard_normal(D)]), 30_000 + seed),
    )
    yield "gone", first, mixture(means[1:], 40_000 + seed)
    joint = np.hypot(first.evidence_.component_errors.mean(), second.evidence_.component_errors.mean())
    for factor in (3, 5):
        moved, direction = means.copy(), np.random.default_rng(seed + 9).standard_normal(D)
        moved[0] += factor * joint * direction / np.linalg.norm(direction)
        yield f"changed by {factor} joint errors", first, mixture(moved, 50_000 + seed)


def halves(draw, estimator):
    def plan(seed):
        yield "same", estimator().fit(draw(seed, 1)), estimator().fit(draw(seed, 2))

    return plan


def draw_topics(seed, part):
    return planted.topic_corpus(3000, n_topics=K, n_words=200, random_state=seed).counts[part % 2 :: 2]


def draw_network(seed, part):
    return planted.noisy_or_network(30, K, leak=0.02, random_state=seed).sample(4000, random_state=part).X


def draw_chain(seed, part):
    rng = np.random.default_rng(seed)
    emissions, transitions = rng.dirichlet(np.full(12, 0.3), 3), 0.7 * np.eye(3) + 0.1
    rng, state, steps = np.random.default_rng([seed, part]), 0, []
    for _ in range(4000):
        state = rng.choice(3, p=transitions[state] / transitions[state].sum())
        steps.append(rng.choice(12, p=emissions[state]))
    return np.array(steps)


FAMILIES = {
    "mixtures": plan_mixtures,
    "topics": halves(draw_topics, lambda: AnchorTopics(K)),
    "noisy-or": halves(draw_network, lambda: NoisyOr(K)),
    "chains": halves(draw_chain, lambda: SpectralHMM(3)),
}


def measure(family, seeds):
    counts, ratios = defaultdict(lambda: [0, 0]), []
    for seed in seeds:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                for kind, first, second in FAMILIES[family](seed):
                    pairs = latentia.match(first, second).pairs
                    statuses = [pair.status for pair in pairs]
                    if kind == "same":
                        ratios += [pair.distance / pair.joint_error for pair in pairs if pair.a is not None]
                    right = statuses.count("same") if kind == "same" else int(kind.split()[0] in statuses)
                    counts[kind][0] += right
                    counts[kind][1] += len(first.evidence_.component_errors) if kind == "same" else 1
            except latentia.LatentiaError as error:
                print(f"{family}, seed {seed}: {error}", flush=True)
    for kind, (right, n) in counts.items():
        print(f"{family:10} {kind:28} {right:4} of {n:4}  {right / max(n, 1):.0%}", flush=True)
    if ratios:
        print(f"{family:10} 95% quantile of distance over joint error: {np.quantile(ratios, 0.95):.2f}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--first-seed", type=int, default=700)
    parser.add_argument("--families", nargs="*", default=list(FAMILIES))
    arguments = parser.parse_args()
    n = 4 if arguments.quick else 50
    for name in arguments.families:
        measure(name, range(arguments.first_seed, arguments.first_seed + n))
