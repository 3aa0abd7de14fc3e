"""Classes of symbols by exchange climb the likelihood of a chain of classes."""

import numpy as np
from scipy import sparse

from latentia.sequences._exchange import exchange_classes


def height(table, classes, k):
    belongs = np.eye(k)[classes]
    moves = belongs.T @ table @ belongs
    values = [moves, -moves.sum(axis=0), -moves.sum(axis=1)]
    return sum(float((part[part != 0] * np.log(np.abs(part[part != 0]))).sum()) for part in values)


def test_the_likelihood_is_returned_and_climbs():
    rng, k, size = np.random.default_rng(0), 3, 30
    truth = np.arange(size) % k
    table = rng.poisson(np.where((truth[:, None] + 1) % k == truth, 8.0, 1.0))
    counts, order = sparse.csr_array(table.astype(float)), np.argsort(-table.sum(axis=1), kind="stable")
    classes, before = rng.integers(0, k, size), -np.inf
    for _ in range(5):
        reached = exchange_classes(counts, classes, k, order, 1)
        np.testing.assert_allclose(reached, height(table, classes, k), rtol=1e-10)
        assert reached >= before
        before = reached
    assert len({(a, b) for a, b in zip(classes, truth, strict=True)}) == k
