"""Directions of some documents, measured in others: what short documents make of the spectrum is no structure."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from latentia.metrics import nearest_distances
from latentia.topics import AnchorTopics
from latentia.topics._repeated import repeated_spectrum


def corpus(n: int, k: int, seed: int = 0, v: int = 500) -> tuple[sparse.csr_array, np.ndarray]:
    """Documents that mix topics around common words, half of them of less than a third of the mean length."""
    rng = np.random.default_rng(seed)
    common = rng.permutation(1 / (np.arange(v) + 3.0))
    topics = rng.standard_gamma(200 * common / common.sum(), (k, v)) + 1e-12
    topics /= topics.sum(axis=1, keepdims=True)
    lengths = np.clip(40 * rng.lognormal(0, 1.4, n), 2, 2000).astype(int)
    return sparse.csr_array(rng.multinomial(lengths, rng.dirichlet(np.full(k, 0.1), n) @ topics), dtype=float), topics


@pytest.fixture(scope="module")
def tailed() -> tuple[sparse.csr_array, np.ndarray]:
    return corpus(2000, 6)


def test_lengths_with_heavy_tails_are_no_misfit(tailed):
    counts, topics = tailed
    model = AnchorTopics(6).fit(counts)
    evidence = model.evidence_
    true = nearest_distances(model.components_, topics).mean()
    assert true < evidence.limit / 2
    assert true / 1.5 < evidence.expected_error < 1.5 * true
    assert evidence["rank supported"].measured == 6
    assert evidence.grade == "supported"


def test_topics_left_out_are_seen_beside_tails(tailed):
    evidence = AnchorTopics(3).fit(tailed[0]).evidence_
    assert evidence["rank supported"].measured >= 5
    assert evidence["goodness of fit"].holds is False
    assert evidence.grade not in ("supported", "with care")


def test_spectrum_has_what_both_halves_have():
    counts, _ = corpus(2000, 4, seed=1)
    spectrum = repeated_spectrum([counts[:1000], counts[1000:]], float(counts.sum() / 2000), 10)
    assert (np.diff(spectrum) <= 0).all()
    assert spectrum[0] == pytest.approx(1, abs=0.1)
    assert spectrum[3] > 10 * np.abs(spectrum[4:]).max()


def test_halves_of_nothing_in_common_have_nothing():
    counts, _ = corpus(400, 2, seed=2)
    empty = sparse.csr_array(counts.shape)
    assert (repeated_spectrum([counts, empty], 40.0, 5) == 0).all()
    assert len(repeated_spectrum([counts[:200, :3], counts[200:, :3]], 40.0, 5)) == 3
