import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import f1_score, ndcg_score, roc_auc_score

from latentia import LatentiaError, metrics
from latentia.metrics import ranking


@pytest.fixture
def labels():
    """Sets of 1 to 69 of 70 labels, but for the first, which is empty, and the second, which has all; tied scores."""
    rng = np.random.default_rng(0)
    Y = rng.random((60, 70)) < rng.random((60, 1)) ** 2
    Y[:, 0], Y[:, 1] = True, False
    Y[0], Y[1] = False, True
    return Y.astype(int), rng.integers(0, 40, Y.shape) / 8


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(40, 1), (40, 5), (40, 37), (40, 64), (5, 1001)])
@pytest.mark.parametrize("n", [1, 2, 5, 33, 2000])
@pytest.mark.parametrize("kind", ["normal", "ties", "ascending", "descending", "infinite"])
def test_top_indices_sort_the_row(dtype, shape, n, kind):
    rng = np.random.default_rng(1)
    scores = (rng.integers(-3, 3, shape) if kind == "ties" else rng.standard_normal(shape)).astype(dtype)
    if kind in ("ascending", "descending"):
        scores = np.sort(scores, axis=1)[:, :: 1 if kind == "ascending" else -1]
    if kind == "infinite":
        scores[rng.random(shape) < 0.7] = -np.inf
        scores[rng.random(shape) < 0.1] = np.inf
    indices, values = metrics.top_indices(scores, n)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :n]
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_array_equal(values, np.take_along_axis(scores, order, 1))
    assert (indices.dtype, values.dtype) == (np.int32, dtype)


def test_top_indices_in_threads_of_other_types_and_of_nothing(monkeypatch):
    monkeypatch.setattr(ranking, "_CHUNK_ENTRIES", 1000)
    scores = np.random.default_rng(2).integers(0, 9, (200, 100))
    one, other = (metrics.top_indices(scores, 7, n_jobs=j)[0] for j in (1, 3))
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(one, metrics.top_indices(np.asfortranarray(scores, dtype=np.float32), 7)[0])
    assert metrics.top_indices(np.empty((0, 4)), 2)[0].shape == (0, 2)
    assert metrics.top_indices(np.empty((3, 0)), 2)[0].shape == (3, 0)


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array, sparse.coo_matrix, np.ndarray.tolist])
def test_document_auc_is_that_of_scikit_learn(labels, convert):
    Y, scores = labels
    auc = metrics.document_auc(convert(Y), scores)
    assert np.isnan(auc[:2]).all()
    np.testing.assert_allclose(auc[2:], [roc_auc_score(y, s) for y, s in zip(Y[2:], scores[2:], strict=True)])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_document_auc_counts_pairs_and_ties_half(labels, dtype, convert, monkeypatch):
    monkeypatch.setattr(ranking, "_CHUNK_ENTRIES", 500)  # in several pieces
    Y, scores = labels
    one, two = (metrics.document_auc(convert(Y), scores.astype(dtype), n_jobs=j) for j in (1, 2))
    np.testing.assert_array_equal(one, two)
    for y, s, found in zip(Y[2:] == 1, scores[2:], one[2:], strict=True):
        gaps = s[y][:, None] - s[~y]
        assert found == pytest.approx(((gaps > 0) + 0.5 * (gaps == 0)).mean())


def test_document_auc_of_many_labels_and_of_infinite_scores():
    rng = np.random.default_rng(3)
    Y = rng.random((6, 1500)) < np.array([[0.1], [0.2], [0.5], [0.9], [0.999], [0.001]])
    Y[:, 0], Y[:, 1] = True, False
    scores = rng.integers(0, 100, Y.shape).astype(np.float32)
    expected = [roc_auc_score(y, s) for y, s in zip(Y, scores, strict=True)]
    np.testing.assert_allclose(metrics.document_auc(Y, scores, n_jobs=2), expected)
    assert metrics.document_auc([[1, 0, 0]], [[-np.inf, -np.inf, np.inf]]) == 0.25


def test_entries_of_zero_and_duplicates_of_a_sparse_table_are_no_further_labels():
    Y = sparse.csr_array((np.array([1, 1, 0]), np.array([2, 2, 0]), np.array([0, 3])), shape=(1, 4))
    before = Y.copy()
    scores, top = np.array([[0.1, 0.4, 0.3, 0.2]]), np.array([[1, 2, 3, 0]])
    assert metrics.document_auc(Y, scores) == pytest.approx(2 / 3)
    assert metrics.precision_at_k(Y, top, 4) == 0.25
    assert metrics.ndcg_at_k(Y, top, 4) == pytest.approx(1 / np.log2(3))
    np.testing.assert_array_equal(Y.data, before.data)
    np.testing.assert_array_equal(Y.indices, before.indices)


@pytest.mark.parametrize("k", [1, 3, 5, 70])
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_precision_and_ndcg(labels, k, convert):
    Y, _ = labels
    scores = np.random.default_rng(4).permuted(np.tile(np.arange(70.0), (60, 1)), axis=1)  # ndcg_score averages ties
    top, _ = metrics.top_indices(scores, k)
    precision, gain = metrics.precision_at_k(convert(Y), top, k), metrics.ndcg_at_k(convert(Y), top, k)
    np.testing.assert_allclose(precision, [Y[d, top[d]].sum() / k for d in range(60)])
    assert precision[0] == 0
    assert np.isnan(gain[0])
    np.testing.assert_allclose(gain[1:], [ndcg_score(Y[[d]], scores[[d]], k=k) for d in range(1, 60)])


@pytest.mark.parametrize("k", [1, 3, 5])
def test_propensity_scored_precision_by_hand(labels, k):
    Y, scores = labels
    p = metrics.propensities(Y.sum(axis=0), 60)
    top, _ = metrics.top_indices(scores, 10)
    gained = sum(Y[d, label] / p[label] for d in range(60) for label in top[d, :k])
    best = sum(np.sort(Y[d] / p)[::-1][:k].sum() for d in range(60))
    assert metrics.propensity_scored_precision_at_k(sparse.csr_array(Y), top, k, p) == pytest.approx(gained / best)
    ideal, _ = metrics.top_indices(Y / p, k)
    assert metrics.propensity_scored_precision_at_k(Y, ideal, k, p) == pytest.approx(1)
    assert np.isnan(metrics.propensity_scored_precision_at_k(np.zeros_like(Y), top, k, p))


def test_propensities_are_the_published_model():
    counts, n = np.array([0, 3, 500]), 4880
    c = (np.log(n) - 1) * 2.5**0.55
    np.testing.assert_allclose(metrics.propensities(counts, n), 1 / (1 + c * np.exp(-0.55 * np.log(counts + 1.5))))
    with pytest.raises(LatentiaError, match="at least 3 documents"):
        metrics.propensities([1], 2)
    with pytest.raises(LatentiaError, match="from 0 to n_rows=5"):
        metrics.propensities([6], 5)
    with pytest.raises(LatentiaError, match="b=-5"):
        metrics.propensities([1], 5, b=-5)
    with pytest.raises(LatentiaError, match="one number per label"):
        metrics.propensities([[1]], 5)


Y, TOP = np.eye(3), np.array([[0, 1], [1, 2], [2, 0]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metrics.top_indices(np.ones(3), 1), r"scores are float64 of shape \(3,\)"),
        (lambda: metrics.top_indices(sparse.eye_array(3), 1), "scores are object .* a dense table"),
        (lambda: metrics.top_indices([["a", "b"]], 1), "scores are <U1"),
        (lambda: metrics.top_indices(np.ones((1, 3)), 0), "n=0: expected a whole number of at least 1"),
        (lambda: metrics.document_auc(Y, np.ones((3, 4))), r"Y has shape \(3, 3\) and scores \(3, 4\)"),
        (lambda: metrics.document_auc(Y[0], np.ones((1, 3))), r"Y has shape \(3,\)"),
        (lambda: metrics.precision_at_k(sparse.coo_array(Y[0]), TOP[:1], 1), r"Y has shape \(3,\)"),
        (lambda: metrics.document_auc(Y, np.full((3, 3), np.nan)), "NaN"),
        (lambda: metrics.precision_at_k(Y, TOP, 3), "k=3, and top lists 2 labels"),
        (lambda: metrics.precision_at_k(Y, TOP, True), "k=True"),
        (lambda: metrics.precision_at_k(Y, TOP[:2], 1), r"top is int64 of shape \(2, 2\) and Y has shape \(3, 3\)"),
        (lambda: metrics.ndcg_at_k(Y, TOP + 0.5, 1), "float64"),
        (lambda: metrics.ndcg_at_k(Y, TOP + 1, 1), "labels from 1 to 3, and Y has 3"),
        (lambda: metrics.ndcg_at_k(Y, TOP[:, [0, 0]], 2), "repeats a label for document 0"),
        (lambda: metrics.ndcg_at_k(Y, TOP - 1, 1), "labels from -1 to 1"),
        (lambda: metrics.propensity_scored_precision_at_k(Y, TOP, 1, [1, 1]), r"shape \(2,\)"),
        (lambda: metrics.propensity_scored_precision_at_k(Y, TOP, 1, [1, 1, 0]), "above 0"),
    ],
)
def test_what_does_not_fit_is_named(call, message):
    with pytest.raises(LatentiaError, match=message):
        call()


# --- one number per label, and all pairs at once ----------------------------------------------------------------------


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_label_auc_is_that_of_scikit_learn(labels, convert):
    Y, scores = labels
    Y, scores = Y[2:], scores[2:]  # the others have all labels or none
    found = metrics.label_auc(convert(Y), scores)
    assert np.isnan(found[:2]).all()
    known = np.isfinite(found)
    np.testing.assert_allclose(found[known], [roc_auc_score(Y[:, j], scores[:, j]) for j in np.flatnonzero(known)])
    assert known.sum() > 60
    np.testing.assert_allclose(np.nanmean(found), roc_auc_score(Y[:, known], scores[:, known], average="macro"))


@pytest.mark.parametrize("entries", [100, 1 << 20])
def test_micro_auc_counts_pairs_and_ties_half(labels, entries, monkeypatch):
    monkeypatch.setattr(ranking, "_CHUNK_ENTRIES", entries)
    Y, scores = labels
    own, others = scores[Y > 0], scores[Y == 0]
    difference = own[:, None] - others[None]
    expected = (difference > 0).mean() + (difference == 0).mean() / 2
    assert metrics.micro_auc(Y, scores) == pytest.approx(expected, rel=1e-12)
    assert metrics.micro_auc(sparse.csr_array(Y), scores) == pytest.approx(
        roc_auc_score(Y, scores, average="micro"), rel=1e-12
    )
    assert np.isnan(metrics.micro_auc(Y * 0, scores))
    assert np.isnan(metrics.micro_auc(Y * 0 + 1, scores))


def test_label_f1_is_that_of_its_definition(labels):
    Y, scores = labels
    predicted = scores > 3.5
    predicted[:, 1] = False
    found = metrics.label_f1(Y, sparse.csr_array(predicted))
    for j in range(70):
        hits = sum(bool(y) and bool(p) for y, p in zip(Y[:, j], predicted[:, j], strict=True))
        size = int(Y[:, j].sum() + predicted[:, j].sum())
        assert found[j] == pytest.approx(2 * hits / size if size else np.nan, nan_ok=True)
    known = np.isfinite(found)
    assert np.nanmean(found) == pytest.approx(f1_score(Y[:, known], predicted[:, known], average="macro"))


def test_macro_measures_of_what_does_not_agree():
    with pytest.raises(LatentiaError, match="Y has shape .* and scores"):
        metrics.micro_auc(np.ones((2, 3)), np.ones((2, 4)))
    with pytest.raises(LatentiaError, match="NaN"):
        metrics.label_auc(np.ones((2, 3)), np.full((2, 3), np.nan))
    with pytest.raises(LatentiaError, match="and predicted"):
        metrics.label_f1(np.ones((2, 3)), np.ones((2, 4)))
