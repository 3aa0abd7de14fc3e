import numpy as np

from latentia.likelihood import WordSampler, noisy_or_rows


def test_word_sampler_draws_from_its_distributions():
    p = np.array([[0.5, 0.25, 0.25, 0.0], [0.0, 0.1, 0.0, 0.9]])
    counts = WordSampler(p)(np.array([[100_000, 0], [0, 100_000], [0, 0]]), np.random.default_rng(0))
    np.testing.assert_allclose(counts.toarray()[:2] / 100_000, p, atol=0.01)
    assert counts[2:].sum() == 0
    assert counts.has_sorted_indices


def test_findings_of_a_network():
    weights, priors, leak = np.array([[2.0, 0, 1], [0, 1, 0]]), np.array([0.3, 0.6]), np.array([0.1, 0.0, 1.0])
    x, causes = noisy_or_rows(weights, priors, leak, 100_000, np.random.default_rng(0))
    np.testing.assert_allclose(causes.mean(axis=0), priors, atol=0.01)
    for on in ([0, 0], [1, 0], [0, 1], [1, 1]):
        rows = x[(causes == on).all(axis=1)]
        np.testing.assert_allclose(rows.mean(axis=0), 1 - (1 - leak) * np.exp(-np.array(on) @ weights), atol=0.015)
