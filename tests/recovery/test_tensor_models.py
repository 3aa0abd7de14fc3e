"""Evidence of the models by tensor decomposition: over sweeps from easy to impossible it predicts the true error."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from scipy.stats import spearmanr

from latentia.datasets import planted
from latentia.ica import TensorICA
from latentia.mixtures import MultiViewMixture, SphericalGaussianMixture
from latentia.multilabel import MomentMultiLabelClassifier
from latentia.noisyor import NoisyOr
from latentia.sequences import SpectralHMM
from latentia.topics import SingleTopicModel, SpectralLDA


def distances(found, true, metric):
    """Mean distance of matched components."""
    apart = cdist(found, true, metric)
    return apart[linear_sum_assignment(apart)].mean()


def single_topic(seed, n, length):
    corpus = planted.topic_corpus(n, n_topics=10, n_words=500, length=length, proportions="single", random_state=seed)
    model = SingleTopicModel(10).fit(corpus.counts)
    return model, distances(model.components_, corpus.topics, "cityblock")


def lda(seed, n, length, alpha0):
    corpus = planted.topic_corpus(
        n, n_topics=10, n_words=500, length=length, concentration=alpha0 / 10, random_state=seed
    )
    model = SpectralLDA(10).fit(corpus.counts)
    return model, distances(model.components_, corpus.topics, "cityblock")


def labelled(seed, n, features, background):
    data = planted.labelled_corpus(
        n, n_topics=8, n_words=500, n_labels=40, features=features, background=background, random_state=seed
    )
    model = MomentMultiLabelClassifier(8).fit(data.X, data.Y)
    found, true = (p / p.sum(axis=1, keepdims=True) for p in (model.word_probabilities_, data.truth.word_probabilities))
    return model, distances(found, true, "cityblock")


def gaussian(seed, n, separation):
    data = planted.gaussian_mixture(n, 8, 20, separation=separation, random_state=seed)
    model = SphericalGaussianMixture(8, refine=0).fit(data.X)
    return model, distances(model.means_, data.means, "euclidean")


def product(seed, n, contrast):
    data = planted.product_mixture(n, 5, 30, contrast=contrast, random_state=seed)
    model = MultiViewMixture(5).fit(data.X, views=np.array_split(np.arange(30), 3))
    scale = np.concatenate(model._scales)
    return model, distances(np.hstack(model.means_) / scale, data.means / scale, "euclidean")


def chain(seed, n, persistence):
    data = planted.hidden_markov_chain(n, 4, 12, persistence=persistence, random_state=seed)
    model = SpectralHMM(4, refine=0).fit(data.symbols)
    return model, distances(model.emissionprob_, data.emissionprob, "cityblock")


def sources(seed, n, size, refine=0):
    data = planted.independent_sources(n, size, random_state=seed)
    model = TensorICA(refine=refine).fit(data.X)
    gains = model.components_ @ data.mixing
    shares = (gains / np.linalg.norm(gains, axis=1, keepdims=True)) ** 2
    return model, np.sqrt(1 - shares.max(axis=1)).mean()


def refined_sources(seed, n, size):
    return sources(seed, n, size, refine=30)


def network(seed, n, features, causes, active, leak):
    truth = planted.noisy_or_network(features, causes, active=active, leak=leak, spread=2, random_state=seed)
    model = NoisyOr(causes, refine=0).fit(truth.sample(n, seed + 1).X)
    apart = cdist(truth.weights, model.weights_) / np.linalg.norm(truth.weights, axis=1, keepdims=True)
    return model, apart[linear_sum_assignment(apart)].mean()


SWEEPS = {
    single_topic: [(300, 10), (500, 20), (1000, 20), (3000, 20), (10_000, 20), (2000, 50), (10_000, 50), (300, 50), (200, 8)],
    lda: [
        (300, 50, 1.0), (1000, 50, 1.0), (3000, 50, 1.0), (10_000, 50, 1.0), (3000, 100, 0.3), (10_000, 100, 0.3),
        (3000, 100, 4.0), (10_000, 100, 4.0), (200, 20, 4.0),
    ],
    labelled: [
        (400, 20, 0.4), (1000, 20, 0.4), (3000, 20, 0.4), (10_000, 20, 0.4), (3000, 60, 0.4), (10_000, 60, 0.4),
        (10_000, 60, 0.7), (10_000, 8, 0.6), (300, 60, 0.4), (500, 15, 0.9),
    ],
    gaussian: [
        (1000, 6), (3000, 6), (10_000, 6), (30_000, 6), (3000, 3), (10_000, 3), (30_000, 3), (2000, 1.5), (600, 2),
    ],
    product: [
        (1000, 0.6), (3000, 0.6), (10_000, 0.6), (30_000, 0.6), (3000, 0.45), (10_000, 0.45), (30_000, 0.45), (500, 0.6),
        (2000, 0.15),
    ],
    chain: [
        (2000, 0.8), (5000, 0.8), (20_000, 0.8), (100_000, 0.8), (10_000, 0.65), (30_000, 0.65), (100_000, 0.65),
        (5000, 0.65), (500, 0.5),
    ],
    network: [
        (300, 60, 10, 1.0, 0.02), (1000, 60, 10, 1.0, 0.02), (3000, 60, 10, 1.0, 0.02), (10_000, 60, 10, 1.0, 0.02),
        (100_000, 60, 10, 1.0, 0.02), (3000, 40, 10, 1.0, 0.02), (10_000, 40, 10, 1.5, 0.02), (3000, 90, 8, 2.0, 0.05),
        (10_000, 60, 10, 0.5, 0.1), (200, 45, 10, 1.0, 0.02),
    ],
    sources: [
        (500, 5), (2000, 5), (20_000, 5), (1000, 10), (3000, 10), (10_000, 10), (50_000, 10), (5000, 15), (200, 12),
    ],
    refined_sources: [
        (500, 5), (2000, 5), (20_000, 5), (1000, 10), (3000, 10), (10_000, 10), (50_000, 10), (5000, 15), (20_000, 15),
        (200, 12),
    ],
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::latentia.exceptions.LatentiaWarning")
@pytest.mark.parametrize("family", SWEEPS, ids=lambda f: f.__name__)
def test_evidence_predicts_the_error(family):
    true, expected, has_structure = [], [], []
    for seed, setting in enumerate(SWEEPS[family]):
        model, error = family(seed, *setting)
        if setting is SWEEPS[family][-1]:  # hopeless
            assert len(model.evidence_.components.of("supported")) < len(model.evidence_.components)
        if model.evidence_.component_errors is not None:
            true.append(error)
            expected.append(model.evidence_.component_errors.mean())
            has_structure.append(model.evidence_.statements[2].passed is not False)
    assert len(true) >= 8
    assert spearmanr(true, expected)[0] >= 0.9
    worst = 2 if family is refined_sources else 1.5  # one split only
    ratio = np.array(true) / expected
    assert ratio.max() <= worst
    # Of a fit that predicts no better than a trivial model the error may be smaller: it is not told.
    assert ratio[has_structure].min() >= 1 / worst
