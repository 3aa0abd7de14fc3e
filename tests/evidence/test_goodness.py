"""What is left of a whitened tensor against its noise, and the models without components."""

import numpy as np
import pytest
from scipy import sparse, stats

from latentia.evidence import Misfit, WhitenedMoments, misfit_of_tensor, trivial_checks
from latentia.likelihood import single_gaussian
from latentia.tensor.operators import symmetrise_modes


def tensor_of(weights, vectors):
    return np.einsum("k,ka,kb,kc->abc", weights, vectors, vectors, vectors)


def noise(rng, k, scale):
    return symmetrise_modes(scale * rng.standard_normal((k, k, k)))


def drawn(rng, k, scale, extra=0.0, n_splits=3):
    """A noisy orthogonal tensor, and halves whose means are the whole, four groups in all."""
    weights, vectors = np.linspace(1, 2, k), np.linalg.qr(rng.standard_normal((k, k)))[0].T
    groups = [tensor_of(weights, vectors) + extra + noise(rng, k, 2 * scale) for _ in range(4)]
    half = lambda i, j: WhitenedMoments(np.eye(k), (groups[i] + groups[j]) / 2)  # noqa: E731
    splits = [(half(0, 1), half(2, 3)), (half(0, 2), half(1, 3)), (half(0, 3), half(1, 2))][:n_splits]
    return sum(groups) / 4, weights, vectors, splits


def test_the_ratio_is_one_where_the_model_holds():
    rng = np.random.default_rng(0)
    ratios = [misfit_of_tensor(*drawn(rng, 6, 0.02)).ratio for _ in range(40)]
    assert np.mean(ratios) == pytest.approx(1, abs=0.1)
    assert np.mean(np.array(ratios) <= 2) >= 0.95


def test_structure_beyond_the_components_shows_as_ratio_and_share():
    rng = np.random.default_rng(1)
    extra = noise(rng, 6, 0.3)
    whole, *rest = drawn(rng, 6, 0.02, extra)
    found = misfit_of_tensor(whole, *rest)
    assert found.ratio > 10
    size = np.linalg.norm(extra) / np.linalg.norm(whole)
    assert 0.4 * size < found.share < size
    assert found.bias(np.array([2.0, np.inf])) == pytest.approx([2.4 * found.share, 0.0])
    (check,) = found.checks()
    assert (check.role, check.holds) == ("caution", False)


def test_what_weights_and_rotations_absorb_is_no_misfit():
    rng = np.random.default_rng(2)
    tensor, weights, vectors, splits = drawn(rng, 5, 0.01)
    turn = np.eye(5) + 0.05 * (np.eye(5, k=1) - np.eye(5, k=-1))
    turned = np.linalg.qr(turn @ vectors.T)[0] * np.sign(np.diag(np.linalg.qr(turn)[1]))
    near = tensor_of(weights + 0.1, np.linalg.qr(turned)[0].T)
    same = misfit_of_tensor(tensor, weights, vectors, splits).ratio
    moved = misfit_of_tensor(tensor + 0 * near, weights + 0.05, vectors, splits).ratio
    assert moved == pytest.approx(same, rel=0.2)


def test_halves_are_compared_in_their_own_whitening():
    """Halves of another scale have another second moment: that is no noise of the third."""
    rng = np.random.default_rng(3)
    weights, vectors = np.ones(4), np.linalg.qr(rng.standard_normal((4, 4)))[0].T
    tensor = tensor_of(weights, vectors)
    e = 0.02
    up, down = (
        WhitenedMoments((1 + e) * np.eye(4), (1 + e) ** 1.5 * tensor),
        WhitenedMoments((1 - e) * np.eye(4), (1 - e) ** 1.5 * tensor),
    )
    assert np.abs(up.rewhiten() - down.rewhiten()).max() < e**2


def test_one_component_leaves_nothing_to_compare():
    rng = np.random.default_rng(4)
    found = misfit_of_tensor(np.ones((1, 1, 1)), np.ones(1), np.ones((1, 1)), drawn(rng, 2, 0.1)[3])
    assert found.ratio is None
    assert found.bias(np.array([1.0])) == [0.0]
    assert found.checks()[0].holds is None
    assert Misfit.from_norms(1.0, 1.0, 4.0).share == 0


def test_a_fit_must_gain_more_than_its_parameters_cost():
    rows = np.zeros(1000)
    (gain,) = trivial_checks(rows + 0.1, rows, extra=10, n_rows=1000, against="one component")
    assert gain.measured == pytest.approx(0.1 - 5 * np.log(1000) / 1000)
    assert (gain.role, gain.holds) == ("veto", True)
    (loss,) = trivial_checks(rows + 0.1, rows, extra=40, n_rows=1000, against="one component")
    assert loss.holds is False
    assert "one component" in loss.remedy


@pytest.mark.parametrize("shape", ["ball", "axes", "full"])
def test_one_gaussian_takes_the_covariance_that_the_rows_carry(shape):
    rng = np.random.default_rng(5)
    root = {"ball": np.eye(4), "axes": np.diag([1.0, 2, 3, 4]), "full": np.linalg.cholesky(np.eye(4) + 0.7)}[shape]
    X = rng.standard_normal((3000, 4)) @ root.T + 5
    found, n_parameters = single_gaussian(X, 3000)
    assert n_parameters == {"ball": 5, "axes": 8, "full": 14}[shape]
    best = stats.multivariate_normal(np.full(4, 5.0), root @ root.T).logpdf(X)
    assert found.mean() == pytest.approx(best.mean(), abs=0.01)
    ball = single_gaussian(sparse.csr_array(X), 3000)[0]
    variance = X.var(axis=0).mean()
    assert ball == pytest.approx(stats.multivariate_normal(X.mean(axis=0), variance * np.eye(4)).logpdf(X))
