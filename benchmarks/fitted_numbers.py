"""Whether two versions of the library fit the same numbers, to the bit: planted sets of every family, and what differs.

Run it in one tree and then in the other, with the file that the first wrote::

    OPENBLAS_NUM_THREADS=1 python benchmarks/fitted_numbers.py --save old.npz
    python benchmarks/fitted_numbers.py --compare old.npz
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

from latentia.communities import MixedMembershipBlockModel
from latentia.contrastive import (
    ContrastiveComponents,
    ContrastiveGaussianMixture,
    ContrastiveIsing,
    ContrastiveLogisticRegression,
    ContrastivePCA,
    ContrastiveRegression,
    RichComponents,
)
from latentia.datasets import planted
from latentia.deep import SparseNetwork
from latentia.dictionary import IncoherentDictionary
from latentia.ica import TensorICA
from latentia.matrices import ProbabilityMatrix
from latentia.mixtures import MultiViewMixture, SphericalGaussianMixture
from latentia.multilabel import MomentMultiLabelClassifier
from latentia.nmf import ApproximateNMF, SeparableNMF
from latentia.noisyor import NoisyOr
from latentia.sequences import SpectralHMM, TwoStateHMM
from latentia.topics import AnchorTopics, SingleTopicModel, SpectralLDA


def topics() -> Iterator[tuple[str, Any]]:
    mixed = planted.topic_corpus(2000, n_topics=6, n_words=600, length=80, random_state=3).counts
    single = planted.topic_corpus(3000, n_topics=5, n_words=400, length=20, proportions="single", random_state=3).counts
    yield "anchors", AnchorTopics(6).fit(mixed)
    yield "anchors refined", AnchorTopics(6, refine=3).fit(mixed)
    yield "anchors projection kl", AnchorTopics(6, embedding="projection", recover="kl").fit(mixed)
    yield "lda", SpectralLDA(6, refine=0).fit(mixed)
    yield "lda refined", SpectralLDA(6, refine=3).fit(mixed)
    yield "single", SingleTopicModel(5, refine=0).fit(single)
    yield "single refined", SingleTopicModel(5, refine=3).fit(single)


def vectors() -> Iterator[tuple[str, Any]]:
    clusters = planted.gaussian_mixture(4000, n_components=5, n_features=12, separation=6, random_state=3).X
    wide = planted.gaussian_mixture(3000, n_components=5, n_features=90, separation=6, random_state=3).X
    binary = planted.product_mixture(8000, n_components=3, n_features=30, random_state=3).X
    cut = [range(10), range(10, 20), range(20, 30)]
    sources = planted.independent_sources(10_000, n_components=5, random_state=3).X
    yield "spherical", SphericalGaussianMixture(5, refine=0).fit(clusters)
    yield "spherical wide", SphericalGaussianMixture(5, refine=0).fit(sparse.csr_array(wide))
    yield "spherical refined", SphericalGaussianMixture(5, refine=5).fit(clusters)
    yield "views", MultiViewMixture(3, refine=0).fit(binary, views=cut)
    yield "views refined", MultiViewMixture(3, distribution="bernoulli", refine=5).fit(binary, views=cut)
    yield "ica", TensorICA(5, refine=0).fit(sources)
    yield "ica refined", TensorICA(4, refine=30).fit(sources)


def sequences() -> Iterator[tuple[str, Any]]:
    chain = planted.hidden_markov_chain(15_000, n_states=3, n_symbols=12, random_state=3)
    two = planted.two_state_chain(20_000, n_symbols=300, random_state=3).symbols
    yield "hmm", SpectralHMM(3, refine=0).fit(chain.symbols)
    yield "hmm refined", SpectralHMM(3, refine=5).fit(chain.symbols)
    states = np.random.default_rng(0).permutation(3)[chain.states]
    series = states[:, None] * np.array([1.0, -2.0]) + np.random.default_rng(1).standard_normal((len(states), 2))
    yield "hmm vectors", SpectralHMM(3, refine=0).fit(series)
    yield "two states", TwoStateHMM(refine=0).fit(two)
    yield "two states refined", TwoStateHMM(refine=5).fit(two)


def tables() -> Iterator[tuple[str, Any]]:
    labelled = planted.labelled_corpus(3000, n_topics=5, n_words=400, n_labels=40, random_state=3)
    findings = planted.noisy_or_network(60, 8, leak=0.02, random_state=3).sample(10_000).X
    pairs = planted.word_pairs(20_000, n_components=3, n_words=500, random_state=3).counts
    yield "labels", MomentMultiLabelClassifier(5, refine=0).fit(labelled.X, labelled.Y)
    yield "labels refined", MomentMultiLabelClassifier(5, refine=3).fit(labelled.X, labelled.Y)
    yield "labels paper", MomentMultiLabelClassifier(5, moments="paper").fit(labelled.X, labelled.Y)
    yield "causes", NoisyOr(8, refine=0).fit(findings)
    yield "causes refined", NoisyOr(8, refine=3).fit(findings)
    yield "causes printed", NoisyOr(8, n_partitions=1, corrections=0).fit(findings)
    yield "pairs", ProbabilityMatrix(3, refine=0).fit(pairs)
    yield "pairs refined", ProbabilityMatrix(3, refine=5).fit(pairs)
    yield "pairs binned", ProbabilityMatrix(3, method="binned").fit(pairs)


def factors() -> Iterator[tuple[str, Any]]:
    pure = planted.separable_rows(600, 40, 4, n_pure=4, noise=0.05, random_state=3).X
    rng = np.random.default_rng(3)
    parts = rng.exponential(size=(3, 40)) * (rng.random((3, 40)) < 0.4)
    sums = rng.poisson(20 * (rng.exponential(size=(800, 3)) * (rng.random((800, 3)) < 0.6)) @ parts).astype(float)
    codes = planted.sparse_codes(2500, n_features=24, n_components=30, sparsity=2, noise=0.03, random_state=3).X
    units = planted.sparse_network(1000, (250, 60), 12, 0.02, flips=0.03, random_state=3).Y
    graph = planted.mixed_membership_graph(400, 3, alpha0=0.1, degree=30, snr=4, random_state=3).adjacency
    yield "separable", SeparableNMF(4).fit(pure)
    yield "separable refined", SeparableNMF(4, refine=3).fit(pure)
    yield "approximate", ApproximateNMF(3).fit(sums)
    yield "dictionary", IncoherentDictionary(30).fit(codes)
    yield "dictionary refined", IncoherentDictionary(30, refine=3).fit(codes)
    yield "network", SparseNetwork().fit(units)
    yield "communities", MixedMembershipBlockModel(3, refine=0).fit(graph)
    yield "communities refined", MixedMembershipBlockModel(3).fit(graph)


def two_views() -> Iterator[tuple[str, Any]]:
    def views(problem: str, n_rows: int = 8000, n_features: int = 5) -> Any:
        options: dict[str, Any] = {"shared": "exponential", "linear_map": "orthogonal", "random_state": 3}
        return planted.contrastive_views(n_rows, n_features, problem, **options)

    plain, linear, logistic = views("pca"), views("regression"), views("logistic")
    mixture, ising = views("mixture"), views("ising", 20_000, 9)
    yield "contrast", ContrastiveComponents().fit(linear.U, linear.V)
    yield "contrast pca", ContrastivePCA(1).fit(plain.U, plain.V)
    yield "contrast regression", ContrastiveRegression().fit(linear.U, linear.V, linear.y)
    yield "contrast logistic", ContrastiveLogisticRegression().fit(logistic.U, logistic.V, logistic.y)
    yield "contrast mixture", ContrastiveGaussianMixture(5).fit(mixture.U, mixture.V)
    yield "contrast ising", ContrastiveIsing(planted.grid_edges(9).tolist()).fit(ising.U, ising.V)
    yield "rich", RichComponents().fit(planted.rich_components(40_000, 3, absent=[0, 4], random_state=3).views)


GROUPS: tuple[Callable[[], Iterator[tuple[str, Any]]], ...] = (topics, vectors, sequences, tables, factors, two_views)


def numbers(model: Any) -> Iterator[tuple[str, np.ndarray]]:
    """Fitted arrays, and the expected errors."""
    for name, value in vars(model).items():
        if name.endswith("_") and not name.startswith("_"):
            for i, one in enumerate(value if isinstance(value, list) else [value]):
                one = one.toarray() if sparse.issparse(one) else one
                if isinstance(one, np.ndarray) and one.dtype.kind in "fiub":
                    yield f"{name}{i if isinstance(value, list) else ''}", one
    if model.evidence_.component_errors is not None:
        yield "component_errors", np.asarray(model.evidence_.component_errors)


def measured(only: str) -> dict[str, np.ndarray]:
    found = {}
    for group in GROUPS:
        if only and group.__name__ != only:
            continue
        for name, model in group():
            found |= {f"{name}: {key}": value for key, value in numbers(model)}
    return found


def compare(old: dict[str, np.ndarray], new: dict[str, np.ndarray]) -> int:
    different = 0
    for key, value in new.items():
        if key not in old:
            print(f"new        {key}")
        elif old[key].shape != value.shape or not np.array_equal(old[key], value, equal_nan=value.dtype.kind == "f"):
            different += 1
            same = old[key].shape == value.shape and value.dtype.kind != "b"
            apart = np.abs(old[key].astype(float) - value).max() if same else np.inf
            print(f"differs    {key}: by {apart:.3g} at most, of {np.abs(value).max():.3g}")
    print(f"{len(new) - different} of {len(new)} arrays have the same bits")
    return different


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save")
    parser.add_argument("--compare")
    parser.add_argument("--only", default="", help="topics, vectors, sequences, tables, factors or two_views")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    found = measured(options.only)
    if options.save:
        np.savez(options.save, **found)
    if options.compare:
        with np.load(options.compare) as file:
            old = {key: file[key] for key in file.files}
        sys.exit(compare(old, found) > 0)


if __name__ == "__main__":
    main()
