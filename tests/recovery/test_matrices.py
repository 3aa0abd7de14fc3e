"""Evidence of probability matrices and two-state chains: over sweeps from easy to impossible it predicts the true error."""

import warnings
from functools import cache

import numpy as np
import pytest
from scipy.stats import spearmanr

from latentia.datasets import planted
from latentia.exceptions import LatentiaWarning
from latentia.matrices import ProbabilityMatrix
from latentia.sequences import TwoStateHMM


@cache
def pairs(seed, words, rank, base, contrast, ratio):
    return planted.word_pairs(words * ratio, rank, words, base=base, contrast=contrast, random_state=seed)


def matrix(seed, words, rank, base, contrast, ratio, refine=0, **options):
    data = pairs(seed, words, rank, base, contrast, ratio)
    model = ProbabilityMatrix(rank, refine=refine, **options).fit(data.counts)
    return model, model.l1_distance(data)


def refined(*setting):
    return matrix(*setting, refine=10)


def converged(*setting):
    return matrix(*setting, refine="auto")


def chain(seed, symbols, ratio, switch, emissions, contrast):
    data = planted.two_state_chain(
        symbols * ratio, symbols, switch=switch, emissions=emissions, contrast=contrast, random_state=seed
    )
    model = TwoStateHMM(n_symbols=symbols).fit(data.symbols)
    distances = [
        np.abs(model.emissionprob_[order] - data.emissionprob).sum(axis=1).mean() for order in ([0, 1], [1, 0])
    ]
    return model, min(distances)


MATRICES = [
    (words, rank, base, contrast, ratio)
    for words, rank, base, contrast in (
        (500, 2, "zipf", 1.0), (500, 5, "uniform", 1.0), (1000, 5, "zipf", 1.7), (500, 10, "uniform", 1.7),
    )
    for ratio in (100, 30, 10, 5, 2)
]  # fmt: skip
CHAINS = [
    (symbols, ratio, switch, emissions, contrast)
    for symbols, switch, emissions, contrast in (
        (1000, (0.25, 0.25), "halves", 1.0), (500, (0.1, 0.3), "uniform", 1.0), (1000, (0.8, 0.7), "halves", 1.0),
        (500, (0.2, 0.2), "zipf", 1.7),
    )
    for ratio in (300, 100, 40, 15, 2)
]  # fmt: skip
SWEEPS = {matrix: MATRICES, refined: MATRICES, converged: MATRICES, chain: CHAINS}


@pytest.mark.parametrize("family", SWEEPS, ids=lambda f: f.__name__)
def test_evidence_predicts_the_error(family):
    true, expected, supported = [], [], []
    for seed, setting in enumerate(SWEEPS[family]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LatentiaWarning)
            model, error = family(40 + seed, *setting)
        if setting[1 if family is chain else -1] == 2:  # pairs or steps a word
            assert not model.evidence_.holds
        if model.evidence_.component_errors is not None:
            true.append(error)
            expected.append(model.evidence_.component_errors.mean())
            supported.append(model.evidence_.holds)
    assert len(true) >= 12
    assert spearmanr(true, expected)[0] >= 0.9
    factors = np.exp(np.abs(np.log(np.array(true) / expected)))
    assert factors[supported].max() <= 1.5
    assert np.mean(factors <= 1.5) >= 0.85
    assert factors.max() <= 2.1


def test_refining_is_kept_where_it_helps():
    shares = []
    for seed, setting in enumerate(MATRICES):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LatentiaWarning)
            (_, plain), (_, found) = (matrix(80 + seed, *setting, refine=refine, n_splits=0) for refine in (0, "auto"))
        shares.append(found / plain)
    assert max(shares) < 1.03
    assert min(shares) < 0.92


def test_it_is_not_worse_than_independence():
    for seed in range(3):
        for words, rank, base, ratio in ((1000, 2, "zipf", 5), (1000, 10, "uniform", 20), (2000, 5, "zipf", 5)):
            data = planted.word_pairs(words * ratio, rank, words, base=base, random_state=60 + seed)
            one, model = (ProbabilityMatrix(k).fit(data.counts).l1_distance(data) for k in (1, rank))
            assert model < one + 0.005
