"""Counts of pairs dealt into two parts."""

import numpy as np
import pytest
from scipy import sparse

from latentia.datasets import planted
from latentia.moments import split_counts, symmetric_counts


@pytest.fixture(scope="module")
def counts():
    return planted.word_pairs(50_000, 3, 200, random_state=3).counts


@pytest.mark.parametrize("symmetric", [False, True])
def test_halves_add_up(counts, symmetric):
    table = symmetric_counts(counts)[0] if symmetric else counts
    first, second = split_counts(table, symmetric, 5)
    assert abs(first + second - table).sum() == 0
    assert first.sum() == pytest.approx(second.sum(), rel=0.02)
    assert not symmetric or abs(first - first.T).sum() == 0


def test_a_share_of_the_pairs_is_dealt(counts):
    first, second = split_counts(counts, False, 0, 0.9)
    assert first.sum() / counts.sum() == pytest.approx(0.9, abs=0.01)
    assert (first.data > 0).all()
    assert (second.data > 0).all()


def test_words_with_themselves_are_dealt_as_pairs():
    counts, symmetric = sparse.csr_array(np.diag(np.full(500, 2.0)) + np.eye(500, k=1) + np.eye(500, k=-1)), True
    first, second = split_counts(counts, symmetric, 0)
    np.testing.assert_array_equal((first + second).toarray(), counts.toarray())
    assert set(np.unique(first.diagonal())) == {0.0, 2.0}
    np.testing.assert_array_equal(first.toarray(), first.toarray().T)
