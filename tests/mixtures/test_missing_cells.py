"""Mixtures of tables with missing cells: against naive sums, the errors of whole tables, and what cannot be fitted."""

import numpy as np
import pytest
from scipy import stats
from scipy.spatial.distance import cdist
from sklearn.impute import SimpleImputer

from latentia.exceptions import LatentiaError
from latentia.mixtures import MultiViewMixture, SphericalGaussianMixture
from latentia.mixtures._missing import ObservedRows, _condition_cells, log_density
from latentia.mixtures._rows import Mixture

SHAPES = "spherical", "diag", "full", "tied"


def mixture(shape: str, k: int = 3, d: int = 4, seed: int = 0) -> Mixture:
    rng = np.random.default_rng(seed)
    roots = np.eye(d) + 0.3 * rng.standard_normal((k, d, d))
    variance, means = np.exp(rng.standard_normal(k) / 3), 4 * rng.standard_normal((k, d))
    weights = np.full(k, 1 / k)
    covariances = {
        "spherical": None,
        "diag": np.exp(0.5 * rng.standard_normal((k, d))),
        "full": roots @ roots.swapaxes(1, 2),
        "tied": (roots @ roots.swapaxes(1, 2))[:1],
    }[shape]
    return Mixture(means, weights, variance, covariances)


def with_gaps(rows: np.ndarray, share: float = 0.2, seed: int = 1) -> np.ndarray:
    gaps = np.random.default_rng(seed).random(rows.shape) < share
    gaps[gaps.all(axis=1), 0] = False
    return np.where(gaps, np.nan, rows)


def matrices(model: Mixture) -> np.ndarray:
    k, d = model.means.shape
    if model.covariances is None:
        return model.variance[:, None, None] * np.eye(d)
    if model.covariances.ndim == 2:
        return np.array([np.diag(own) for own in model.covariances])
    return np.broadcast_to(model.covariances, (k, d, d))


@pytest.mark.parametrize("shape", SHAPES)
def test_densities_and_expectations_are_those_of_normal_distributions(shape):
    model = mixture(shape)
    rows = with_gaps(model.draw(30, np.random.default_rng(2))[0], 0.4)
    found = log_density(model, rows, np.arange(30))
    gaps = np.isnan(rows)
    for k, covariance in enumerate(matrices(model)):
        expected = next(iter(_condition_cells(model, np.where(gaps, 0.0, rows), gaps).expected(k)))[1:]
        for i, row in enumerate(rows):
            o, m = np.flatnonzero(~gaps[i]), np.flatnonzero(gaps[i])
            inner = covariance[np.ix_(o, o)]
            mean = model.means[k]
            np.testing.assert_allclose(found[i, k], stats.multivariate_normal(mean[o], inner).logpdf(row[o]))
            weights = np.linalg.solve(inner, covariance[np.ix_(o, m)]).T
            np.testing.assert_allclose(expected[0][i, m], mean[m] + weights @ (row[o] - mean[o]))
            spread = covariance[np.ix_(m, m)] - weights @ covariance[np.ix_(o, m)]
            own = expected[1][i][np.ix_(m, m)] if expected[1].ndim == 3 else np.diag(expected[1][i][m])
            np.testing.assert_allclose(own, spread, atol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_steps_of_em_never_lower_the_likelihood_of_the_cells(shape):
    model = mixture(shape)
    rows = with_gaps(model.draw(200, np.random.default_rng(3))[0])
    gaps = np.isnan(rows)
    center = np.nanmean(rows, axis=0)
    table = np.where(gaps, 0.0, rows - center)
    observed = ObservedRows(table, shape, 4, np.full(4, 1e-9) if shape != "spherical" else 1e-9, gaps=gaps)
    heights = np.array(observed.climb(model.shift(0.5 - center), 15, -np.inf).objectives)
    assert (np.diff(heights) >= -1e-8 * np.abs(heights[1:])).all()
    assert heights[-1] > heights[0]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", [3, 4])
def test_means_are_nearly_as_good_as_those_of_whole_tables(shape, seed):
    true = mixture(shape, d=6, seed=seed)
    rows = true.draw(800, np.random.default_rng(seed))[0]
    gappy = with_gaps(rows)
    errors = [
        cdist(true.means, SphericalGaussianMixture(3, covariance_type=shape, n_splits=0).fit(X).means_)
        .min(axis=1)
        .mean()
        for X in (rows, SimpleImputer().fit_transform(gappy))
    ]
    model = SphericalGaussianMixture(3, covariance_type=shape).fit(gappy)
    error = cdist(true.means, model.means_).min(axis=1).mean()
    assert error < 1.5 * errors[0] + 0.02
    assert error < errors[1]
    assert 0.4 < model.evidence_.expected_error / error < 2.5
    np.testing.assert_allclose(model.evidence_["missing cells"].measured, np.isnan(gappy).mean())
    assert (model.predict(gappy) == model.predict(rows)).mean() > 0.9
    assert np.isfinite(model.score(gappy))


def test_nothing_is_found_in_one_gaussian():
    rows = with_gaps(np.random.default_rng(0).standard_normal((400, 5)))
    assert not SphericalGaussianMixture(3).fit(rows).evidence_.holds


def test_rows_and_columns_without_cells_and_what_cannot_have_gaps():
    rows = mixture("spherical").draw(60, np.random.default_rng(5))[0]
    for place, said in (((7, slice(None)), "Row 7"), ((slice(None), 2), "Column 2")):
        gappy = rows.copy()
        gappy[place] = np.nan
        with pytest.raises(LatentiaError, match=f"{said} has no values"):
            SphericalGaussianMixture(3).fit(gappy)
    model = SphericalGaussianMixture(3, n_splits=0).fit(rows)
    with pytest.raises(LatentiaError, match="Row 0 has no values"):
        model.predict(np.full((1, 4), np.nan))
    with pytest.raises(LatentiaError, match="NaN"):
        SphericalGaussianMixture(3, keep_moments=True, refine=0).fit(with_gaps(rows))
    assert not hasattr(SphericalGaussianMixture(3, n_splits=0).fit(with_gaps(rows)), "gaps_")


def gone(X: np.ndarray, way: str, seed: int) -> np.ndarray:
    """The table with cells missing at random, by the next column, or by their own value."""
    scores = (X - X.mean(axis=0)) / X.std(axis=0)
    gaps = np.random.default_rng([seed, 1]).random(X.shape) < (0.05 if way == "random" else 0.7)
    if way == "other":
        gaps &= np.roll(scores, -1, axis=1) > 1.0
        gaps[:, 1::2] = False
    elif way == "own":
        gaps &= scores > 1.5
    gaps[gaps.all(axis=1), 0] = False
    return np.where(gaps, np.nan, X)


@pytest.mark.parametrize("kind", ["spherical", "full", "views"])
@pytest.mark.parametrize("way", ["random", "other", "own"])
def test_cells_that_are_missing_by_their_value_are_said(kind, way):
    rng = np.random.default_rng(12)
    means, labels = 1.5 * rng.standard_normal((3, 6)), rng.integers(3, size=1500)
    X = gone(means[labels] + rng.standard_normal((1500, 6)), way, 12)
    if kind == "views":
        model = MultiViewMixture(3, distribution="gaussian").fit(X, views=[[0, 1], [2, 3], [4, 5]])
    else:
        model = SphericalGaussianMixture(3, covariance_type=kind).fit(X)
    check = model.evidence_["cells missing by value"]
    assert check.role == "caution"
    assert check.holds is (way != "own")
    if way == "own":
        assert model.evidence_.grade != "supported"


def test_whole_tables_have_no_line_on_missing_cells():
    model = SphericalGaussianMixture(3).fit(mixture("spherical").draw(300, np.random.default_rng(2))[0])
    assert not [check for check in model.evidence_.checks if "missing" in check.name]
