"""Printed decompositions recover planted components, and `decompose` is at least as accurate."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from latentia.papers.tensors import power_iteration, robust_orthogonal_decomposition, robust_power_method, tensor_eigen
from latentia.tensor import decompose
from latentia.tensor.operators import symmetrise_modes, tensor_norm


def planted(k, noise=0.0, seed=0):
    """Return an orthogonal tensor, its vectors and weights; the noise has operator norm ``noise`` times the least weight."""
    rng = np.random.default_rng(seed)
    vectors, weights = np.linalg.qr(rng.standard_normal((k, k)))[0], rng.uniform(1, 2, k)
    error = symmetrise_modes(rng.standard_normal((k, k, k)))
    tensor = np.einsum("k,ka,kb,kc->abc", weights, vectors, vectors, vectors, optimize=True)
    return tensor + error * noise * weights.min() / tensor_norm(error), vectors, weights


def vector_errors(recovered, true):
    cosines = np.abs(true @ recovered.T)
    rows, columns = linear_sum_assignment(-cosines)
    return np.sqrt(2 - 2 * np.minimum(cosines[rows, columns], 1))


METHODS = {
    "7.2": robust_power_method,
    "7.3": lambda tensor, k: tensor_eigen(tensor, np.random.default_rng(0).standard_normal((20, k)), k),
    "noisy-or 2": lambda tensor, k: (lambda weights, vectors: (weights, vectors[0]))(
        *robust_orthogonal_decomposition(tensor, k)
    ),
}


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
@pytest.mark.parametrize("noise", [0, 0.02])
def test_planted_components_are_recovered(method, noise):
    tensor, vectors, weights = planted(8, noise, seed=1)
    recovered_weights, recovered_vectors = method(tensor, 8)
    assert vector_errors(recovered_vectors, vectors).max() < 1e-4 + 8 * noise
    np.testing.assert_allclose(np.sort(recovered_weights), np.sort(weights), rtol=1e-5 + 5 * noise)


def test_deflation_takes_a_component_away():
    tensor, vectors, _ = planted(5)
    vector, weight, deflated = power_iteration(tensor, 20, 30, np.random.default_rng(0))
    assert vector_errors(vector[None], vectors).max() < 1e-6
    np.testing.assert_allclose(np.linalg.norm(deflated) ** 2, np.linalg.norm(tensor) ** 2 - weight**2)


def test_the_default_is_more_accurate_than_deflation():
    tensor, vectors, _ = planted(40, noise=0.2, seed=5)
    polar, power = decompose(tensor).vectors, robust_power_method(tensor, 40)[1]
    assert vector_errors(polar, vectors).mean() < 0.8 * vector_errors(power, vectors).mean()


def test_adaptive_deflation_uses_good_starts():
    tensor, vectors, _ = planted(20, noise=0.5, seed=6)
    starts = vectors + 0.1 * np.random.default_rng(0).standard_normal(vectors.shape)
    assert vector_errors(tensor_eigen(tensor, starts, 20, threshold=0.2)[1], vectors).max() < 0.5


def test_three_different_modes_under_systematic_error():
    # A rank-one error is small in every flattening and large in no direction that matters.
    rng = np.random.default_rng(8)
    families = [np.linalg.qr(rng.standard_normal((20, 20)))[0] for _ in range(3)]
    tensor = np.einsum("ka,kb,kc->abc", *families) + 0.3 / 20**1.5
    weights, recovered = robust_orthogonal_decomposition(tensor, 20)
    assert len(weights) == 20
    for mode, family in zip(recovered, families, strict=True):
        assert vector_errors(mode, family).max() < 0.3


def test_the_same_seed_gives_the_same_bits():
    tensor, _, _ = planted(7, noise=0.1)
    for method in (robust_power_method, robust_orthogonal_decomposition):
        first, second = (method(tensor, 7, random_state=3)[0] for _ in range(2))
        assert (first == second).all()
