import numpy as np
import pytest
from scipy import sparse

from latentia import LatentiaError
from latentia.datasets import planted
from latentia.moments import Cooccurrence
from latentia.passes import Blocks, Folds


def explicit(x):
    """Q as its definition has it, one document at a time."""
    x = np.asarray(x.todense() if sparse.issparse(x) else x, dtype=float)
    total, used = np.zeros((x.shape[1],) * 2), 0
    for c in x:
        n = c.sum()
        if n >= 2:
            total += (np.outer(c, c) - np.diag(c)) / (n * (n - 1))
            used += 1
    return total / used


@pytest.fixture(scope="module")
def counts():
    return planted.topic_corpus(150, n_topics=5, n_words=90, length=12, random_state=2).counts


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_products_without_q_match_explicit_q(counts, n_jobs):
    rng = np.random.default_rng(0)
    q, b = explicit(counts), rng.standard_normal((90, 130))
    operator = Cooccurrence(Blocks.from_array(counts, block_rows=40), folds=Folds(4), n_jobs=n_jobs)
    assert np.abs(operator.product(b) - q @ b).max() <= 1e-12
    assert np.abs(operator.marginal() - q.sum(axis=1)).max() <= 1e-12
    assert operator.n_passes == 2


def test_groups_are_the_q_of_their_documents_and_add_up(counts):
    b = np.eye(90)
    operator = Cooccurrence(Blocks.from_array(counts, block_rows=37), folds=Folds(4, 5))
    grouped = operator.group_products(b)
    groups = Folds(4, 5).of(np.arange(150))
    for g in range(4):
        np.testing.assert_allclose(grouped[g], explicit(counts[groups == g]), atol=1e-13)
    np.testing.assert_allclose(operator.combine(grouped, (0, 1, 2, 3)), explicit(counts), atol=1e-13)
    half = np.isin(groups, (0, 3))
    np.testing.assert_allclose(operator.combine(grouped, (0, 3)), explicit(counts[half]), atol=1e-13)
    np.testing.assert_allclose(operator.marginal([0, 3]), explicit(counts[half]).sum(axis=1), atol=1e-13)


def test_merged_words_are_one_word(counts):
    codes = np.arange(90) // 2
    merged = counts.toarray().reshape(150, 45, 2).sum(axis=2)
    operator = Cooccurrence(Blocks.from_array(counts))
    operator.merge_words(codes)
    np.testing.assert_allclose(operator.product(np.eye(45)), explicit(merged), atol=1e-13)


def test_dense_sparse_and_reordered_blocks_agree_to_the_bit(counts):
    b = np.random.default_rng(1).standard_normal((90, 70))
    sparse_q = Cooccurrence(Blocks.from_array(counts, block_rows=50)).product(b)
    dense_q = Cooccurrence(Blocks.from_array(counts.toarray(), block_rows=50)).product(b)
    assert (sparse_q == dense_q).all()


def test_short_and_empty_documents_are_counted_and_left_out():
    x = np.array([[2, 1, 0], [0, 0, 0], [1, 0, 0], [0, 3, 1]])
    operator = Cooccurrence(Blocks.from_array(x))
    assert (operator.sums.used.sum(), operator.sums.empty.sum(), operator.sums.short.sum()) == (2, 1, 2)
    np.testing.assert_allclose(operator.product(np.eye(3)), explicit(x), atol=1e-15)
    assert operator.marginal().sum() == pytest.approx(1)
    assert list(operator.sums.document_frequency) == [1, 2, 1]


@pytest.mark.parametrize(("value", "message"), [(-1.0, "Negative values"), (np.nan, "NaN"), (np.inf, "infinity")])
def test_bad_counts_name_row_and_column(value, message):
    x = np.ones((9, 4))
    x[6, 2] = value
    blocks = Blocks.from_array(x, block_rows=4)
    blocks.names = ["a", "b", "c", "d"]
    with pytest.raises(LatentiaError, match=rf"{message}.*row 6, column 2 \('c'\)"):
        Cooccurrence(blocks)
