"""Errors of components that fits with new noise cannot see: rows without pure ones, outliers, a response that bends."""

import numpy as np
import pytest

from latentia.datasets import planted
from latentia.nmf import ApproximateNMF, SeparableNMF
from latentia.nmf._misfit import Bend, PureRowTest, estimate_clipping_bias, measure_moves, measure_sharing

FIRST_TWO = "supported", "with care"


def rows(**settings):
    return planted.separable_rows(
        **{
            "n_rows": 500,
            "n_features": 40,
            "n_components": 4,
            "n_pure": 3,
            "noise": 0.02,
            "random_state": 1,
            **settings,
        }
    )


def fitted(X, true, **settings):
    """Mean expected and true error, and the evidence."""
    model = SeparableNMF(len(true), mixing="simplex", **settings).fit(np.maximum(X, 0))
    apart = np.linalg.norm(model.components_[:, None] - true, axis=2).min(axis=1) / np.sqrt(
        (true**2).sum(axis=1).mean()
    )
    return model.evidence_.expected_error, apart.mean(), model.evidence_


@pytest.mark.parametrize("settings", [{}, {"noise": 0.1}, {"concentration": 2.0, "n_pure": 1}, {"n_components": 10}])
def test_rows_with_pure_ones_are_told_from_noise(settings):
    data = rows(**settings)
    expected, true, evidence = fitted(data.X, data.components)
    assert evidence["found without pure rows"].holds
    assert evidence["straight response"].measured == 0
    assert true / 1.5 < expected < 1.5 * true


@pytest.mark.parametrize("purity", [0.5, 0.6, 0.8])
@pytest.mark.parametrize("seed", range(2))
def test_rows_without_pure_ones_have_errors_of_the_right_size(purity, seed):
    data = rows(n_rows=800, n_components=5, n_pure=0, purity=purity, concentration=0.5, random_state=seed)
    expected, true, evidence = fitted(data.X, data.components)
    assert not evidence["found without pure rows"].holds
    assert true / 2 < expected < 2 * true
    assert evidence.grade in FIRST_TWO or true > 0.75 * evidence.limit


def test_outliers_are_no_components():
    data = rows()
    X = np.vstack([data.X, 10 * data.X.mean() * np.random.default_rng(0).exponential(size=(3, 40))])
    _, true, evidence = fitted(X, data.components)
    assert true > evidence.limit
    assert evidence.grade not in FIRST_TWO


@pytest.mark.parametrize("bend", [0.1, 0.5, 2.0])
def test_a_response_that_bends_is_measured(bend):
    data = rows(noise=0.005)
    m = data.X.mean()
    X = data.X * (1 + bend) / (1 + bend * np.maximum(data.X, 0) / m)
    expected, true, evidence = fitted(X, data.components)
    assert true / 2 < expected < 2 * true
    assert evidence["straight response"].measured > expected / 2


def test_the_size_of_a_bend():
    rng = np.random.default_rng(0)
    W, A = rng.random((4, 40)), rng.dirichlet(np.full(4, 0.5), 500)
    for b in (-0.1, 0.1):
        X = A @ W + b * (A @ W) ** 2 / (A @ W).mean() + 0.01 * rng.standard_normal((500, 40))
        assert abs(Bend.compute(X, W + b * W**2 / (A @ W).mean(), "simplex").size - b) < 0.04
    assert (Bend.compute(A @ W, W, "simplex").bias == 0).all()
    assert (
        Bend.compute(A @ W[:, :4], W[:, :4], "simplex").size is None
    )  # as many features as components: nothing is left


def test_least_squares_moves_components_to_rows_outside():
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    A = np.random.default_rng(0).dirichlet(np.ones(3), 400)
    inside = 0.8 * corners + 0.2 * corners.mean(axis=0)
    far, near = (measure_moves(np.vstack([A @ corners, corners]), one, "simplex") for one in (inside, corners))
    assert far.min() > 0.05
    assert near.max() < 1e-6
    assert (PureRowTest(far, 0.0).bias > 0.05).all()
    assert (PureRowTest(far, 1.0).bias == 0).all()
    assert (PureRowTest(far, None).bias == 0).all()
    assert PureRowTest(far, None).check().holds is None


def test_what_other_rows_hold_of_a_component():
    W = np.random.default_rng(0).random((3, 30))
    weights = np.random.default_rng(1).dirichlet(np.ones(3), 300)
    weights[1:, 2] = 0.0
    held = measure_sharing(weights, W, "simplex", 1e-4)
    assert held[:2].min() > 100
    assert held[2] == 0


def test_noise_that_is_cut_at_zero_moves_components():
    rng = np.random.default_rng(0)
    W = rng.exponential(size=(3, 30)) * (rng.random((3, 30)) < 0.4)
    exact = rng.dirichlet(np.full(3, 0.5), 300) @ W
    assert estimate_clipping_bias(exact, W, 3, 0).max() < 1e-6
    loud = np.maximum(exact + 0.5 * exact.mean() * rng.standard_normal(exact.shape), 0)
    assert estimate_clipping_bias(loud, W, 3, 0).max() > 0.01
    assert (estimate_clipping_bias(loud, W, 0, 0) == 0).all()


def test_without_pure_rows_a_bend_and_further_structure_widen_the_errors():
    rng = np.random.default_rng(0)
    W = rng.exponential(size=(3, 30)) * (rng.random((3, 30)) < 0.4)
    A = rng.dirichlet(np.full(3, 0.5), 200)
    straight = A @ W * (1 + 0.03 * rng.standard_normal((200, 30)))
    further = straight + 0.5 * straight.mean() * rng.exponential(size=(200, 1)) * rng.random(30)
    expected = [ApproximateNMF(3, n_init=3).fit(X).evidence_.expected_error for X in (straight, straight**2, further)]
    assert expected[0] < 0.1
    assert min(expected[1:]) > 2 * expected[0]


def test_refining_gains_where_rows_are_mixtures_and_noise():
    data = rows(noise=0.1, n_pure=1)
    vertices, true, _ = fitted(data.X, data.components)
    expected, error, _ = fitted(data.X, data.components, refine="auto")
    assert error < 0.8 * true
    assert error / 2 < expected < vertices


def test_refining_keeps_the_vertices_where_components_interact():
    rng = np.random.default_rng(0)
    W, A = rng.random((4, 40)), np.vstack([np.repeat(np.eye(4), 5, axis=0), rng.dirichlet(np.full(4, 0.5), 500)])
    X = A @ W + 0.4 * ((A @ W) ** 2 - A**2 @ W**2) + 0.005 * rng.standard_normal((520, 40))
    plain, refined = (SeparableNMF(4, refine=rounds, n_splits=1).fit(np.maximum(X, 0)) for rounds in (0, 50))
    assert refined.n_iter_ == 0
    np.testing.assert_array_equal(refined.components_, plain.components_)
    assert refined.evidence_["straight response"].measured == 0
