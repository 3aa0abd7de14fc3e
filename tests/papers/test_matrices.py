"""Algorithm 1 for probability matrices, with the printed constants and with ones that work."""

import numpy as np
import pytest

from latentia.datasets import planted
from latentia.papers.matrices import get_printed_constants, recover_by_bins


def l1_error(counts, truth, **constants):
    left, core, _ = recover_by_bins(counts, 2, **constants)
    B = np.maximum((left * core) @ left.T, 0)
    return np.abs(B / B.sum() - truth).sum()


def test_the_printed_constants_leave_no_word():
    data = planted.word_pairs(20_000, 3, 100, random_state=1)
    left, core, bins = recover_by_bins(data.counts, 3, **get_printed_constants(3))
    assert bins == []
    assert not ((left * core) @ left.T).any()


@pytest.mark.parametrize("split", [False, True])
def test_the_error_falls_with_the_number_of_pairs(split):
    errors = []
    for n_pairs in (20_000, 400_000):
        data = planted.word_pairs(n_pairs, 2, 1000, base="uniform", contrast=1.7, random_state=4)
        errors.append(l1_error(data.counts, data.rows(slice(None)), split=split))
    assert errors[1] < 0.5 * errors[0]


def test_words_of_a_bin_are_about_equally_frequent():
    data = planted.word_pairs(50_000, 2, 500, random_state=2)
    occurrences = np.asarray(data.counts.sum(axis=0) + data.counts.sum(axis=1)).ravel() / 2
    _, _, bins = recover_by_bins(data.counts, 2)
    assert len(bins) > 1
    for words in bins:
        assert occurrences[words].max() <= np.e * occurrences[words].min()


def test_words_outside_all_bins_have_the_product_of_marginals():
    data = planted.word_pairs(50_000, 2, 500, random_state=2)
    marginals = np.asarray(data.counts.sum(axis=0) + data.counts.sum(axis=1)).ravel() / (2 * data.counts.sum())
    left, core, bins = recover_by_bins(data.counts, 2)
    outside = np.setdiff1d(np.arange(500), np.concatenate(bins))
    assert len(outside)
    B = (left * core) @ left.T
    np.testing.assert_allclose(B[outside], np.outer(marginals[outside], marginals), atol=1e-15)
