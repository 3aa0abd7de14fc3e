"""Moves of nodes between clusters: against a naive transcription, and better labels of planted blocks."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import normalized_mutual_info_score as agreement

from latentia import LatentiaError
from latentia.exceptions import EvidenceWarning
from latentia.matrices import ProbabilityMatrix
from latentia.matrices._moves import move_labels


def blocks(n, k, degree, contrast, seed):
    rng = np.random.default_rng(seed)
    labels, activity = rng.integers(k, size=n), rng.pareto(2.5, n) + 1
    chance = np.where(labels[:, None] == labels, contrast, 1.0) * np.outer(activity, activity)
    upper = np.triu(rng.random((n, n)) < np.minimum(chance * degree * n / chance.sum(), 1), 1)
    return sparse.csr_array((upper | upper.T).astype(float)), labels


def naive(A, labels, k, gamma):
    A, labels = A.toarray(), labels.copy()
    degrees = A.sum(axis=1)
    for _ in range(30):
        moved = False
        for i in np.argsort(-degrees, kind="stable"):
            others = np.arange(len(labels)) != i
            gains = [
                A[i, others & (labels == c)].sum()
                - gamma * degrees[i] * degrees[others & (labels == c)].sum() / A.sum()
                for c in range(k)
            ]
            best = int(np.argmax(gains))
            if gains[best] > gains[labels[i]] + 1e-9 * max(1, abs(gains[labels[i]])):
                labels[i], moved = best, True
        if not moved:
            break
    return labels


@pytest.mark.parametrize("gamma", [1.0, 2.5])
def test_moves_are_those_of_the_definition(gamma):
    A, truth = blocks(80, 3, 8, 6, 0)
    start = np.where(np.random.default_rng(1).random(80) < 0.4, 0, truth)
    np.testing.assert_array_equal(move_labels(A, start, 3, gamma), naive(A, start, 3, gamma))


@pytest.mark.parametrize(("k", "contrast", "seed"), [(5, 8, 11), (10, 12, 12), (2, 4, 13)])
def test_communities_of_any_degree_are_found(k, contrast, seed):
    A, truth = blocks(1000, k, 12, contrast, seed)
    model = ProbabilityMatrix(k).fit(A)
    moved = model.communities(A)
    assert agreement(truth, moved) > agreement(truth, model.labels_)
    assert agreement(truth, moved) > 0.7
    assert len(np.unique(moved)) <= k


def test_clusters_that_do_not_hold_together_stay():
    A = sparse.csr_array(np.kron([[0, 1], [1, 0]], np.ones((20, 20))))
    labels = np.repeat([0, 1], 20)
    np.testing.assert_array_equal(move_labels(A, labels, 2), labels)


def test_fewer_edges_than_nodes_have_communities_too():
    pieces = [np.ones((3, 3)) - np.eye(3)] * 4 + [np.zeros((2, 2))]
    A = sparse.csr_array(sparse.block_diag(pieces))
    with pytest.warns(EvidenceWarning, match="12 pairs of 14 words"):
        model = ProbabilityMatrix(4).fit(A)
    found = model.communities(A)
    for start in range(0, 12, 3):
        assert len(set(found[start : start + 3])) == 1
    assert len(np.unique(found[:12])) == 4
    with pytest.raises(LatentiaError, match="14"):
        model.communities(np.ones((3, 3)))
    with pytest.raises(LatentiaError, match="resolution"):
        model.communities(A, resolution=-1)
