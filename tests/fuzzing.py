"""Random cases: how many the tests of `tests/fuzz` try, what may come out of one, and small fits of every estimator."""

import os
import time
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from scipy import sparse

from latentia import LatentiaError, LatentiaWarning
from latentia.communities import MixedMembershipBlockModel
from latentia.contrastive import (
    BackgroundPCA,
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
from latentia.nmf import ApproximateNMF, PoissonNMF, SeparableNMF
from latentia.noisyor import NoisyOr
from latentia.sequences import SpectralHMM, TwoStateHMM
from latentia.topics import AnchorTopics, EmbeddingTopics, SingleTopicModel, SpectralLDA

SECONDS = 10.0


class TooSlowError(AssertionError):
    """A case took longer than `SECONDS`."""


def twice_if_slow(case, *arguments):
    """The result of a case; one that is too slow may have compiled kernels, and is tried again."""
    try:
        return case(*arguments)
    except TooSlowError:
        return case(*arguments)


def budget(normal, full):
    """Number of cases: ``normal`` in a run of the tests, ``full`` where the environment has ``LATENTIA_FUZZ`` set.

    ``LATENTIA_FUZZ=1`` tries all of ``full``, ``LATENTIA_FUZZ=0.1`` a tenth.
    """
    share = os.environ.get("LATENTIA_FUZZ")
    return normal if not share else max(1, round(full * float(share)))


@contextmanager
def documented(*others, seconds=SECONDS):
    """A case: no error but the library's and ``others``; no warning but the library's; in time."""
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", LatentiaWarning)
        warnings.filterwarnings("ignore", message=".*feature names")
        try:
            yield
        except (LatentiaError, *others):
            pass
    if time.process_time() - start > seconds:
        raise TooSlowError


@dataclass(frozen=True)
class World:
    """A small fit: an estimator, arguments of ``fit``, and the methods that take the table.

    ``sums`` are those methods whose rows sum to one, and ``undefined`` those that answer NaN for rows without entries.
    """

    estimator: object
    data: dict
    uses: tuple
    sums: tuple = ()
    undefined: tuple = ()

    @property
    def name(self):
        return type(self.estimator).__name__

    @property
    def table(self):
        return next(iter(self.data.values()))


@cache
def worlds():
    topics = planted.topic_corpus(300, n_topics=3, n_words=40, length=40, concentration=0.1, random_state=1).counts
    embedded = planted.embedded_corpus(300, n_topics=3, n_words=40, n_features=6, random_state=1)
    labels = planted.labelled_corpus(300, n_topics=2, n_words=100, n_labels=10, features=15, random_state=1)
    chain = planted.hidden_markov_chain(1500, n_states=2, n_symbols=6, random_state=1).symbols
    vectors = planted.gaussian_mixture(600, n_components=2, n_features=3, separation=6, random_state=1).X
    contrast = planted.cases_and_controls(300, 300, 5, random_state=1)
    counts = planted.count_chain(600, 2, 2, random_state=1).X
    clusters = planted.gaussian_mixture(300, n_components=3, n_features=5, separation=6, random_state=1).X
    two = planted.two_state_chain(1500, n_symbols=20, random_state=1).symbols
    binary = planted.product_mixture(500, n_components=2, n_features=12, contrast=0.6, random_state=1).X
    kinds = ["gaussian"] * 3 + ["categorical"] * 6 + ["poisson"] * 3
    mixed = np.hstack([clusters[:, :3], binary[:300, :6], planted.count_chain(300, 2, 3, random_state=1).X])
    sources = planted.independent_sources(600, n_components=3, random_state=1).X
    findings = planted.noisy_or_network(15, 2, leak=0.02, random_state=1).sample(400).X
    pairs = planted.word_pairs(3000, n_components=2, n_words=30, random_state=1).counts
    graph = planted.mixed_membership_graph(60, 2, alpha0=0.1, degree=10, snr=2.5, random_state=1).adjacency
    arrows = planted.mixed_membership_graph(60, 2, degree=6, snr=2, directed=True, spread=0.5, random_state=1).adjacency
    views = [range(4), range(4, 8), range(8, 12)]
    network = planted.sparse_network(500, (60, 15), 6, 0.05, random_state=1).Y
    codes = planted.sparse_codes(400, n_features=10, n_components=12, sparsity=2, noise=0.05, random_state=1).X
    mixtures = planted.separable_rows(200, 10, 3, n_pure=3, noise=0.03, random_state=1).X
    shared = {
        problem: planted.contrastive_views(400, 4, problem, shared="exponential", random_state=1)
        for problem in ("pca", "regression", "logistic", "mixture")
    }
    both = {problem: {"U": one.U, "V": one.V} for problem, one in shared.items()}
    steps = ("predict", "predict_proba", "score")
    return [
        World(AnchorTopics(3), {"X": topics}, ("transform", "score", "perplexity"), ("transform",)),
        World(SpectralLDA(3), {"X": topics}, ("transform", "score", "perplexity"), ("transform",)),
        World(
            SingleTopicModel(3), {"X": topics}, ("transform", "predict", "predict_proba", "score"), ("predict_proba",)
        ),
        World(EmbeddingTopics(3), {"X": embedded.counts, "embeddings": embedded.embeddings}, ()),
        World(
            SphericalGaussianMixture(3),
            {"X": clusters},
            ("predict", "predict_proba", "score", "score_samples"),
            ("predict_proba",),
        ),
        World(TensorICA(3), {"X": sources}, ("transform",)),
        World(SparseNetwork(), {"X": network}, ("encode", "transform", "denoise")),
        World(IncoherentDictionary(12), {"X": codes}, ("transform", "score")),
        World(
            MomentMultiLabelClassifier(2),
            {"X": labels.X, "Y": labels.Y},
            ("decision_function", "predict_proba", "predict", "posterior", "top_labels"),
            ("posterior",),
        ),
        World(MultiViewMixture(2, distribution="bernoulli"), {"X": binary, "views": views}, steps, ("predict_proba",)),
        World(MultiViewMixture(2, distribution="gaussian"), {"X": binary, "views": views}, steps, ("predict_proba",)),
        World(MultiViewMixture(2, distribution=kinds), {"X": mixed}, steps, ("predict_proba",)),
        World(SpectralHMM(2), {"X": chain}, (*steps, "decode"), ("predict_proba",)),
        World(SpectralHMM(2), {"X": vectors}, (*steps, "decode"), ("predict_proba",)),
        World(SpectralHMM(2, kind="counts"), {"X": counts}, (*steps, "decode"), ("predict_proba",)),
        World(TwoStateHMM(), {"X": two}, (*steps, "decode"), ("predict_proba",)),
        World(NoisyOr(2), {"X": findings}, ("transform", "predict_proba", "score")),
        World(ProbabilityMatrix(2), {"C": pairs}, ("score",)),
        World(ProbabilityMatrix(3, refine=5), {"C": pairs}, ("score",)),
        World(MixedMembershipBlockModel(2), {"A": graph}, ("score", "transform"), ("transform",), ("transform",)),
        World(
            MixedMembershipBlockModel(3, alpha0=0),
            {"A": arrows},
            ("score", "transform"),
            ("transform",),
            ("transform",),
        ),
        World(ContrastiveComponents(), both["regression"], ("transform",)),
        World(ContrastivePCA(2), both["pca"], ("transform",)),
        World(BackgroundPCA(1), {"X": contrast.X, "background": contrast.background}, ("transform",)),
        World(ContrastiveRegression(), {**both["regression"], "y": shared["regression"].y}, ("predict",)),
        World(
            ContrastiveLogisticRegression(),
            {**both["logistic"], "y": shared["logistic"].y},
            ("predict", "predict_proba", "decision_function"),
            ("predict_proba",),
        ),
        World(ContrastiveGaussianMixture(3), both["mixture"], ("predict", "predict_proba"), ("predict_proba",)),
        World(SeparableNMF(3), {"X": mixtures}, ("transform", "score")),
        World(SeparableNMF(3, mixing="cone", refine=2), {"X": mixtures}, ("transform", "score")),
        World(ApproximateNMF(2, n_init=2), {"X": np.abs(mixtures[:60])}, ("transform", "score")),
        World(PoissonNMF(2), {"X": np.rint(20 * np.abs(mixtures[:60]))}, ("transform", "score")),
        World(ContrastiveIsing([[0, 1], [1, 2], [2, 3]]), both["pca"], ()),
    ]


@cache
def models():
    """`worlds`, and fits whose options leave other attributes."""
    by = {world.name: world for world in worlds()[::-1]}
    topics, clusters, labels = by["AnchorTopics"], by["SphericalGaussianMixture"], by["MomentMultiLabelClassifier"]
    vectors = next(world for world in worlds() if world.name == "SpectralHMM" and np.ndim(world.table) == 2)
    real = 2 * by["SparseNetwork"].table.toarray() + 0.1 * np.random.default_rng(0).standard_normal((500, 60))
    three = planted.rich_components(2000, 2, random_state=2).views
    words = [f"w{i}" for i in range(40)]
    given = {"anchors": [{3: 0.5}, [4, 5]], "embedding": "projection", "vocabulary": words}
    return [
        *worlds(),
        replace(topics, estimator=AnchorTopics(3, **given)),
        replace(topics, estimator=AnchorTopics(3, refine=0)),
        replace(by["SpectralLDA"], estimator=SpectralLDA([2, 3])),
        *(
            replace(clusters, estimator=SphericalGaussianMixture(3, covariance_type=kind))
            for kind in ("full", "tied", "diag")
        ),
        *(replace(vectors, estimator=SpectralHMM(2, covariance_type=kind)) for kind in ("full", "tied")),
        replace(by["SparseNetwork"], estimator=SparseNetwork(input_type="real"), data={"X": real}),
        replace(labels, estimator=MomentMultiLabelClassifier(2, head="bayes")),
        replace(labels, estimator=MomentMultiLabelClassifier(2, head="logistic")),
        replace(labels, estimator=MomentMultiLabelClassifier(2, topics=False), uses=labels.uses[:3], sums=()),
        replace(by["ProbabilityMatrix"], estimator=ProbabilityMatrix(2, symmetric=False)),
        replace(by["ContrastiveComponents"], estimator=ContrastiveComponents(method="eq2")),
        replace(by["NoisyOr"], estimator=NoisyOr(None, prior=0.1)),
        World(RichComponents(), {"X": three}, ()),
    ]


@cache
def fitted(number):
    """The fit of one of `models`, made once for all tests, which change nothing in it."""
    world = models()[number]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentiaWarning)
        warnings.simplefilter("error", RuntimeWarning)
        return type(world.estimator)(**world.estimator.get_params()).fit(**world.data)


def defined(answer):
    """The rows of an answer but those of NaN alone, which stand for rows without entries."""
    return answer[~np.isnan(answer).all(axis=1)]


def check_answer(answer, sums=False, n_rows=None):
    """Raise unless an answer of a method is finite, of so many rows, and rows sum to one where they must."""
    if isinstance(answer, tuple):
        for part in answer:
            check_answer(part, n_rows=n_rows)
        return
    values = answer.data if sparse.issparse(answer) else np.asarray(answer)
    if values.dtype.kind in "fc":
        assert np.isfinite(values).all(), "not finite"
    if n_rows is not None and np.ndim(answer):
        assert answer.shape[0] == n_rows, "other rows"
    if sums:
        assert np.allclose(answer.sum(axis=1), 1.0, atol=1e-6), "rows do not sum to one"
        assert not len(answer) or answer.min() >= 0
