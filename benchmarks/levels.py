"""Measure `levels` on planted worlds of two levels, and on mixtures and topics that are fitted with too many components.

Seeds below 700 are for the choice of constants, seeds from 700 are reported.

    python benchmarks/levels.py --quick
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from sklearn.metrics import normalized_mutual_info_score

from latentia.communities import MixedMembershipBlockModel
from latentia.datasets.planted.topics import TopicModelTruth
from latentia.exceptions import LatentiaError
from latentia.mixtures import MultiViewMixture, SphericalGaussianMixture
from latentia.topics import AnchorTopics, SingleTopicModel, SpectralLDA

GROUPS = np.repeat(np.arange(3), 3)
K, D, V = len(GROUPS), 24, 200


def means_of(seed, flat=False):
    rng = np.random.default_rng(seed)
    centres = np.zeros((3, D)) if flat else 10 * rng.standard_normal((3, D))
    return centres[GROUPS] + (5 if flat else 2.5) * rng.standard_normal((K, D))


def rows_of(means, seed, n=4000):
    rng = np.random.default_rng([seed, 1])
    return means[rng.integers(len(means), size=n)] + rng.standard_normal((n, D))


def topics_of(seed, flat=False):
    rng = np.random.default_rng(seed)
    bases = rng.dirichlet(np.full(V, 0.1), 3)[GROUPS]
    topics = rng.dirichlet(np.full(V, 0.1), K)
    return topics if flat else 0.6 * bases + 0.4 * topics


def counts_of(topics, seed, single=False):
    size = len(topics)
    prior = None if single else np.full(size, 0.1)
    truth = TopicModelTruth(topics, np.full(size, 1 / size), dirichlet=prior, single=single)
    return truth.sample(3000, 100, random_state=seed).counts


def graph_of(seed, flat=False):
    rng = np.random.default_rng(seed)
    rates = np.where(GROUPS[:, None] == GROUPS, 0.02 if flat else 0.1, 0.02) + 0.25 * np.eye(K)
    labels = rng.integers(K, size=900)
    upper = np.triu(rng.random((900, 900)) < rates[labels][:, labels], 1)
    return (upper | upper.T).astype(float), labels


def plan(family, seed, flat=False):
    """Return a fitted model, and distances of its components to the true ones."""
    if family == "communities":
        graph, labels = graph_of(seed, flat)
        model = MixedMembershipBlockModel(K).fit(graph)
        return model, -(np.nan_to_num(model.memberships_).T @ np.eye(K)[labels])
    if family in ("spherical", "views"):
        means = means_of(seed, flat)
        X = rows_of(means, seed)
        if family == "spherical":
            model = SphericalGaussianMixture(K).fit(X)
            return model, cdist(model.means_, means)
        model = MultiViewMixture(K).fit(np.split(X, 3, axis=1))
        return model, cdist(np.hstack(model.means_), means)
    topics = topics_of(seed, flat)
    estimator = {"anchor": AnchorTopics, "lda": SpectralLDA, "single": SingleTopicModel}[family]
    model = estimator(K).fit(counts_of(topics, seed, family == "single"))
    return model, cdist(model.components_, topics, "cityblock")


def measure_levels(family, seeds):
    """Print how often the upper level is found, and how often worlds of one level are left alone."""
    agreements, at_three, flat_sizes = [], [], []
    for seed in seeds:
        for flat in (False, True):
            try:
                model, distances = plan(family, seed, flat)
            except LatentiaError as error:
                print(f"{family}, seed {seed}: {error}", flush=True)
                continue
            levels = model.levels()
            rows, columns = linear_sum_assignment(distances)
            truth = GROUPS[columns]
            if flat:
                flat_sizes.append(levels.suggested)
            else:
                agreements.append(normalized_mutual_info_score(truth, levels.cut()[rows]))
                at_three.append(normalized_mutual_info_score(truth, levels.cut(3)[rows]))
    agreements, at_three, flat_sizes = map(np.array, (agreements, at_three, flat_sizes))
    print(
        f"{family:12} NMI .9 of cut(): {(agreements >= 0.9).sum()} of {len(agreements)}, of cut(3): {(at_three >= 0.9).sum()}; "
        f"no upper level where there is none: {(flat_sizes == K).sum()} of {len(flat_sizes)}",
        flush=True,
    )


def measure_twins(family, seeds, extra=2):
    """Print how often a split between two fitted parts of one true component is supported."""
    supported, n_twins = 0, 0
    for seed in seeds:
        try:
            if family == "spherical":
                true = 4 * np.random.default_rng(seed).standard_normal((4, D))
                model = SphericalGaussianMixture(4 + extra).fit(rows_of(true, seed))
                nearest = cdist(model.means_, true).argmin(axis=1)
            else:
                true = np.random.default_rng(seed).dirichlet(np.full(V, 0.1), 4)
                estimator = {"anchor": AnchorTopics, "single": SingleTopicModel}[family]
                model = estimator(4 + extra).fit(counts_of(true, seed, family == "single"))
                nearest = cdist(model.components_, true, "cityblock").argmin(axis=1)
            joins = model.levels().joins
        except LatentiaError as error:
            print(f"{family}, seed {seed}: {error}", flush=True)
            continue
        members = {i: [i] for i in range(len(nearest))}
        for join in joins:
            members[join.join] = members[join.first] + members[join.second]
            if len(set(nearest[members[join.join]])) == 1:
                n_twins += 1
                supported += join.grade == "supported"
    print(f"{family:12} supported splits of one true component: {supported} of {n_twins}", flush=True)


FAMILIES = ("spherical", "views", "anchor", "lda", "single", "communities")

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--first-seed", type=int, default=700)
    parser.add_argument("--worlds", type=int, default=20)
    parser.add_argument("--families", nargs="*", default=FAMILIES)
    arguments = parser.parse_args()
    seeds = range(arguments.first_seed, arguments.first_seed + (2 if arguments.quick else arguments.worlds))
    warnings.simplefilter("ignore")
    for name in arguments.families:
        measure_levels(name, seeds)
        if name in ("spherical", "anchor", "single"):
            measure_twins(name, seeds)
