"""Claim: moments find single topics as well as known labels do, and refined ones Dirichlet mixtures as well as sampling.

    python benchmarks/tensor_topics.py [--quick] [--seeds 5]

Single topic: 5,000 documents of 20 words, 1,000 words, 10 topics. ``known labels``: word frequencies of the documents of
each topic, what no method can beat by much. ``raw outer products``: moments of c / n with its diagonal, E[c c^T] / n^2 and
E[c^(x 3)] / n^3, and ``first three words``: those of a random order, as the thesis has it; both whitened and decomposed
like ours. scikit-learn's online VB fits a mixture of topics, with 1 / K as Dirichlet parameters. Dirichlet mixtures: 5,000
documents of 100 words, alpha_0 = 1; peers know the Dirichlet parameters, .1. ``l1``: mean distance of topics after
matching; medians over seeds; one process, one BLAS thread, one worker.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from _common import report, sklearn_topics, timed, tomotopy_topics
from sklearn.decomposition import LatentDirichletAllocation
from threadpoolctl import threadpool_limits

from latentia.datasets import planted
from latentia.linalg import whiten
from latentia.metrics import recovery_errors
from latentia.moments import third_moment
from latentia.tensor import decompose
from latentia.topics import SingleTopicModel, SpectralLDA


def from_moments(second: np.ndarray, third: Callable[[np.ndarray], np.ndarray], k: int) -> np.ndarray:
    """Topics from M_2 (V x V) and a function that gives M_3(W, W, W)."""
    whitening = whiten(second, k).matrix
    vectors = decompose(third(whitening), k).vectors
    topics = np.maximum((second @ whitening @ vectors.T).T, 0)
    return topics / topics.sum(axis=1, keepdims=True)


def raw_outer_products(counts: Any, k: int) -> np.ndarray:
    shares = counts.toarray() / counts.sum(axis=1)[:, None]
    return from_moments(shares.T @ shares / len(shares), lambda w: third_moment(shares @ w) / len(shares), k)


def first_three_words(counts: Any, k: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    words = np.array([rng.permutation(np.repeat(row.indices, row.data))[:3] for row in _rows(counts)])
    second = np.zeros((counts.shape[1],) * 2)
    for a, b in ((0, 1), (0, 2), (1, 2)):
        np.add.at(second, (words[:, a], words[:, b]), 1.0)
    second = (second + second.T) / (6 * len(words))

    def third(w: np.ndarray) -> np.ndarray:
        x, y, z = (w[words[:, i]] for i in range(3))
        cube = np.einsum("na,nb,nc->abc", x, y, z, optimize=True) / len(words)
        cube = cube + cube.transpose(1, 2, 0) + cube.transpose(2, 0, 1)
        return (cube + cube.transpose(0, 2, 1)) / 6

    return from_moments(second, third, k)


def _rows(counts: Any) -> list[Any]:
    return [counts[[i]] for i in range(counts.shape[0])]


def known_labels(corpus: Any) -> np.ndarray:
    sums = np.asarray((corpus.counts.T @ corpus.proportions).T)
    return sums / sums.sum(axis=1, keepdims=True)


def sklearn_batch(counts: Any, k: int) -> np.ndarray:
    model = LatentDirichletAllocation(k, learning_method="batch", max_iter=10, random_state=1, n_jobs=1).fit(counts)
    return model.components_ / model.components_.sum(axis=1, keepdims=True)


def single(corpus: Any, k: int, seed: int) -> dict[str, tuple]:
    counts = corpus.counts
    tasks = {
        "SingleTopicModel": lambda: SingleTopicModel(k).fit(counts).components_,
        "no error bars": lambda: SingleTopicModel(k, n_splits=0).fit(counts).components_,
        "refine=5": lambda: SingleTopicModel(k, refine=5).fit(counts).components_,
        "refine=5, no error bars": lambda: SingleTopicModel(k, refine=5, n_splits=0).fit(counts).components_,
        "known labels": lambda: known_labels(corpus),
        "raw outer products": lambda: raw_outer_products(counts, k),
        "first three words": lambda: first_three_words(counts, k, seed),
    }
    return timed_tasks(tasks) | {"scikit-learn online, 10 passes": _peer(sklearn_topics(counts, k))}


def mixed(corpus: Any, k: int, seed: int) -> dict[str, tuple]:
    counts = corpus.counts
    alpha0 = float(corpus.truth.dirichlet.sum())
    tasks = {
        "SpectralLDA, alpha0 known": lambda: SpectralLDA(k, alpha0=alpha0).fit(counts).components_,
        "SpectralLDA, alpha0 searched": lambda: SpectralLDA(k).fit(counts).components_,
        "searched, no error bars": lambda: SpectralLDA(k, n_splits=0).fit(counts).components_,
        "alpha0 at half": lambda: SpectralLDA(k, alpha0=alpha0 / 2).fit(counts).components_,
        "alpha0 at twice": lambda: SpectralLDA(k, alpha0=2 * alpha0).fit(counts).components_,
        "refine=5": lambda: SpectralLDA(k, refine=5).fit(counts).components_,
        "refine=5, no error bars": lambda: SpectralLDA(k, refine=5, n_splits=0).fit(counts).components_,
        "scikit-learn batch, 10 passes": lambda: sklearn_batch(counts, k),
    }
    peers = {
        "scikit-learn online, 10 passes": sklearn_topics(counts, k),
        "tomotopy, 200 iterations": tomotopy_topics(counts, k, 200, alpha0 / k, seed + 1),
    }
    return timed_tasks(tasks) | {name: _peer(run) for name, run in peers.items()}


def timed_tasks(tasks: dict[str, Callable[[], np.ndarray]]) -> dict[str, tuple]:
    runs = {name: timed(task) for name, task in tasks.items()}
    return {name: (run.value, run.cpu, run.wall) for name, run in runs.items()}


def _peer(run: Any) -> tuple:
    return run.value[0], run.cpu, run.wall


def compare(
    name: str, methods: Callable[..., dict[str, tuple]], seeds: list[int], k: int, **options: Any
) -> list[dict]:
    rows: dict[str, list] = {}
    for seed in seeds:
        corpus = planted.topic_corpus(n_topics=k, random_state=seed, **options)
        for method, (topics, cpu, wall) in methods(corpus, k, seed).items():
            errors = recovery_errors(topics, corpus.topics)
            rows.setdefault(method, []).append((errors.mean(), errors.max(), cpu, wall))
        print(".", end="", flush=True)
    print()
    medians = {method: np.median(runs, axis=0) for method, runs in rows.items()}
    return [
        {"data": name, "method": method, "l1": l1, "worst": worst, "cpu_s": cpu, "wall_s": wall}
        for method, (l1, worst, cpu, wall) in medians.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="1,000 documents")
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    seeds, n = list(range(options.seeds)), 1000 if options.quick else 5000
    base = {"n_words": 1000, "n_documents": n}
    with threadpool_limits(1):
        tiny = planted.topic_corpus(300, n_topics=3, n_words=100)
        SingleTopicModel(3, refine=1).fit(tiny.counts)  # compile
        SpectralLDA(3, refine=1).fit(tiny.counts)
        rows = compare("single topic", single, seeds, 10, length=20, proportions="single", **base)
        rows += compare("Dirichlet, alpha0 = 1", mixed, seeds, 10, length=100, concentration=0.1, **base)
    report("tensor_topics" + ("_quick" if options.quick else ""), rows, documents=n, seeds=len(seeds))


if __name__ == "__main__":
    main()
