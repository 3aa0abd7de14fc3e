import numpy as np
import pytest

from latentia import LatentiaError
from latentia.datasets import planted


def share_found(X, anchors):
    """Share of pure rows among those that successive projections take."""
    left, found = X.copy(), []
    for _ in range(anchors.size):
        found.append(int(np.argmax((left**2).sum(axis=1))))
        direction = left[found[-1]] / np.linalg.norm(left[found[-1]])
        left = left - np.outer(left @ direction, direction)
    return np.isin(found, anchors).mean()


def test_same_seed_same_rows():
    a, b, c = (planted.separable_rows(noise=0.1, random_state=seed) for seed in (1, 1, 2))
    assert (a.X == b.X).all()
    assert (a.X != c.X).any()


@pytest.mark.parametrize("mixtures", ["dirichlet", "midpoints"])
@pytest.mark.parametrize("mixing", ["simplex", "cone"])
@pytest.mark.parametrize("n_pure", [1, 3])
def test_rows_are_mixtures_and_anchors_are_pure(mixtures, mixing, n_pure):
    data = planted.separable_rows(100, 12, 5, mixtures=mixtures, mixing=mixing, n_pure=n_pure)
    np.testing.assert_allclose(data.X, data.weights @ data.components)
    assert (data.weights >= 0).all()
    assert (data.components >= 0).all()
    assert data.anchors.shape == (5, n_pure)
    scales = data.weights.sum(axis=1)
    assert np.allclose(scales, 1) == (mixing == "simplex")
    for k, rows in enumerate(data.anchors):
        np.testing.assert_allclose(data.X[rows], scales[rows, None] * data.components[k])


def test_midpoints_are_of_all_pairs():
    data = planted.separable_rows(mixtures="midpoints")
    halves = data.weights[data.weights.max(axis=1) == 0.5]
    assert len(halves) == 190
    assert len(np.unique(halves, axis=0)) == 190
    assert (halves.sum(axis=0) == 9.5).all()


def test_noise_of_mixtures_leads_away_from_the_mean():
    clean, moved = (
        planted.separable_rows(mixtures="midpoints", noise=noise, noise_kind="middle") for noise in (0.0, 0.2)
    )
    pure = np.isin(np.arange(210), clean.anchors)
    np.testing.assert_array_equal(clean.X[pure], moved.X[pure])
    mean = clean.components.mean(axis=0)
    np.testing.assert_allclose(moved.X[~pure] - mean, 1.2 * (clean.X[~pure] - mean))


def test_gaussian_noise_is_relative():
    clean, noisy = (planted.separable_rows(4000, 50, 4, mixing="cone", noise=noise) for noise in (0.0, 0.3))
    noise = noisy.X - clean.X
    assert noise.std() / np.sqrt(np.mean(clean.X**2)) == pytest.approx(0.3, rel=0.02)


def test_condition_and_spectra():
    ill = planted.separable_rows(condition=1000).components
    assert np.linalg.cond(ill) == pytest.approx(1000)
    assert np.linalg.norm(ill) == pytest.approx(np.linalg.norm(planted.separable_rows().components))
    curves = planted.separable_rows(n_features=200, kind="spectra").components
    np.testing.assert_allclose(curves.max(axis=1), 1)
    assert curves.min() >= 0
    assert np.abs(np.diff(curves, axis=1)).max() < 0.15


def test_purity_bounds_the_shares_of_mixtures():
    data = planted.separable_rows(500, 20, 4, concentration=0.1, purity=0.7, n_pure=0)
    assert data.weights.max() == pytest.approx(0.7)
    np.testing.assert_allclose(data.weights.sum(axis=1), 1)
    assert data.anchors.shape == (4, 0)


def test_dark_rows_are_never_pure():
    data = planted.separable_rows(1000, 20, 4, mixing="cone", dark=0.25, spread=0.1, n_pure=2)
    scales = data.weights.sum(axis=1)
    assert (scales < 0.06).sum() == round(0.25 * 992)
    assert scales[data.anchors].min() > 0.5


@pytest.mark.parametrize(
    ("condition", "kind", "most", "too_much"),
    [(None, "middle", 0.2, 0.46), (None, "gauss", 0.46, 1.0), (1000, "middle", 0.02, 0.2), (1000, "gauss", 0.04, 0.46)],
)
def test_successive_projections_fail_where_they_did_for_gillis_and_vavasis(condition, kind, most, too_much):
    mixtures = "midpoints" if kind == "middle" else "dirichlet"
    shares = {}
    for noise in (most, too_much):
        data = planted.separable_rows(
            condition=condition, mixtures=mixtures, noise=noise, noise_kind=kind, random_state=300
        )
        shares[noise] = share_found(data.X, data.anchors)
    assert shares[most] >= 0.95
    assert shares[too_much] < 0.95


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0}, "n_components=0"),
        ({"n_pure": 11}, "n_rows=210: 11 pure rows of each of 20 components"),
        ({"noise": -0.1}, "noise=-0.1"),
        ({"noise_kind": "poisson"}, "noise_kind='poisson'.*'gauss', 'middle'"),
        ({"n_features": 10, "condition": 10}, "condition=10"),
        ({"n_components": 1, "mixtures": "midpoints"}, "no midpoints"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(LatentiaError, match=message):
        planted.separable_rows(**parameters)
