"""Symbols that a fit has not seen are possible in new sequences."""

from __future__ import annotations

import numpy as np
import pytest

import latentia
from latentia.exceptions import LatentiaWarning
from latentia.likelihood import log
from latentia.sequences import SpectralHMM
from latentia.sequences.recursions import log_likelihood

WORDS = 2000


def _text(rng: np.random.Generator, n: int) -> np.ndarray:
    """Words of two states that change often, by Zipf's law in each."""
    frequency = 1 / np.arange(1, WORDS // 2 + 1)
    states = np.cumsum(rng.random(n) < 0.7) % 2
    return 2 * rng.choice(WORDS // 2, n, p=frequency / frequency.sum()) + states


@pytest.fixture(scope="module")
def texts() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    return _text(rng, 5000), _text(rng, 5000)


@pytest.fixture(scope="module")
def model(texts: tuple[np.ndarray, np.ndarray]) -> SpectralHMM:
    return SpectralHMM(2, n_symbols=WORDS, n_splits=0).fit(texts[0])


def test_new_words_have_the_probability_that_they_turn_out_to_have(texts, model):
    learned, new = texts
    unseen = ~np.isin(new, learned)
    assert 0.02 < unseen.mean() < 0.2
    assert model.weights_ @ model.unseen_ == pytest.approx(unseen.mean(), rel=0.25)
    with pytest.warns(LatentiaWarning, match=f"{unseen.sum()} steps have symbols that do not occur in the fitted data"):
        score = model.score(new)
    added = model.emissionprob_ * len(learned) * model.weights_[:, None] + 1
    added /= added.sum(axis=1, keepdims=True)
    assert np.isfinite(score)
    assert score > log_likelihood(model.startprob_, model.transmat_, log(added.T), [len(new)], new)


def test_paths_and_posteriors_go_through_new_words(texts, model):
    with pytest.warns(LatentiaWarning, match="do not occur in the fitted data"):
        posteriors = model.predict_proba(texts[1])
    with pytest.warns(LatentiaWarning, match="do not occur in the fitted data"):
        states = model.predict(texts[1])
    unseen = ~np.isin(texts[1], texts[0])
    parity = texts[1] % 2
    agree = max(np.mean(states[unseen] == parity[unseen]), np.mean(states[unseen] != parity[unseen]))
    assert agree > 0.6
    np.testing.assert_allclose(posteriors.sum(axis=1), 1)


def test_where_all_symbols_were_seen_nothing_is_left_for_others(texts, tmp_path):
    numbers = np.unique(texts[0], return_inverse=True)[1]
    model = SpectralHMM(2, n_splits=0).fit(numbers)
    assert not model.unseen_.any()
    table = log(model.emissionprob_.T)
    assert model.score(numbers) == log_likelihood(model.startprob_, model.transmat_, table, [len(numbers)], numbers)
    again = latentia.load(latentia.save(model, tmp_path / "model"))
    np.testing.assert_array_equal(again.unseen_, model.unseen_)
