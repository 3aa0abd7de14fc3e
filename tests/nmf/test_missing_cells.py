"""Separable factors of tables with missing cells."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import nnls

from latentia.datasets import planted
from latentia.exceptions import LatentiaError
from latentia.linalg import complete_table
from latentia.nmf import ApproximateNMF, PoissonNMF, SeparableNMF
from latentia.nmf._counts import Table, choose_start, factorize
from latentia.nmf._evidence import component_distances
from latentia.simplex import observed_least_squares


def to_csr_with_gaps(rows, share=0.2, seed=0):
    return np.where(np.random.default_rng(seed).random(rows.shape) < share, np.nan, rows)


def test_tables_of_low_rank_are_completed_exactly():
    rng = np.random.default_rng(0)
    whole = rng.random((60, 3)) @ rng.random((3, 30))
    gappy = to_csr_with_gaps(whole)
    np.testing.assert_allclose(complete_table(gappy, np.isnan(gappy), 3), whole, atol=1e-3)
    np.testing.assert_allclose(complete_table(gappy.T, np.isnan(gappy.T), 3), whole.T, atol=1e-3)


@pytest.mark.parametrize("mixing", ["simplex", "cone"])
def test_components_are_nearly_as_good_as_those_of_whole_tables(mixing):
    errors, expected = [], []
    for seed in range(4, 8):
        data = planted.separable_rows(300, 30, 4, n_pure=3, noise=0.05, random_state=seed)
        X = data.X.clip(0)
        models = [SeparableNMF(4, mixing=mixing, method="spa").fit(one) for one in (X, to_csr_with_gaps(X))]
        errors.append([component_distances(one.components_, data.components, mixing).mean() for one in models])
        expected.append(models[1].evidence_.expected_error)
    whole, gappy = np.mean(errors, axis=0)
    assert gappy < 1.5 * whole
    assert 0.5 < np.mean(expected) / gappy < 2


def test_weights_are_of_the_cells_that_are_there():
    data = planted.separable_rows(200, 30, 3, n_pure=3, noise=0.0, random_state=1)
    X, gappy = data.X.clip(0), to_csr_with_gaps(data.X.clip(0))
    model = SeparableNMF(3, n_splits=0).fit(X)
    np.testing.assert_allclose(model.transform(gappy), model.transform(X), atol=1e-6)
    np.testing.assert_allclose(model.score(gappy), 1.0)
    found = SeparableNMF(3, n_splits=0).fit(gappy)
    assert component_distances(found.components_, data.components, found.mixing_kind_).max() < 0.01


def test_rows_and_columns_without_cells():
    X = planted.separable_rows(50, 10, 3, random_state=1).X.clip(0)
    for place, said in (((7, slice(None)), "Row 7"), ((slice(None), 2), "Column 2")):
        gappy = X.copy()
        gappy[place] = np.nan
        with pytest.raises(LatentiaError, match=f"{said} has no values"):
            SeparableNMF(3).fit(gappy)
    model = SeparableNMF(3, n_splits=0).fit(X)
    with pytest.raises(LatentiaError, match="Row 0 has no values"):
        model.transform(np.full((1, 10), np.nan))


# --- descents on the cells that are there ---------------------------------------------------------------------------


def rows_of_factors(rng):
    """Rows whose factors the zeros of both leave no freedom."""
    components = rng.random((3, 40)) * (rng.random((3, 40)) < 0.4)
    return np.maximum(rng.gamma(0.4, 1.0, (200, 3)) @ components + 0.1 * rng.standard_normal((200, 40)), 0), components


def rows_of_counts(rng):
    components = rng.dirichlet(np.full(30, 0.3), 3)
    return rng.poisson(200 * rng.dirichlet(np.full(3, 0.5), 200) @ components).astype(float), components


@pytest.mark.parametrize(("kind", "planted"), [(ApproximateNMF, rows_of_factors), (PoissonNMF, rows_of_counts)])
def test_factors_are_as_good_as_those_of_whole_tables_and_better_than_with_means(kind, planted):
    errors, expected = [], []
    for seed in range(4):
        X, components = planted(np.random.default_rng([seed, 1]))
        gappy = to_csr_with_gaps(X, 0.1, seed)
        imputed = np.where(np.isnan(gappy), np.nanmean(gappy, axis=0), gappy)
        models = [kind(3, n_splits=splits).fit(table) for table, splits in ((X, 0), (gappy, 2), (imputed, 0))]
        errors.append([component_distances(components, model.components_, "cone").mean() for model in models])
        expected.append(models[1].evidence_.expected_error)
    whole, gappy, imputed = np.mean(errors, axis=0)
    assert gappy < 1.2 * whole
    assert gappy < 0.8 * imputed
    assert 0.5 < np.mean(expected) / gappy < 3


@pytest.mark.parametrize("kind", [ApproximateNMF, PoissonNMF])
def test_a_table_without_noise_is_found_again_from_some_cells(kind):
    rng = np.random.default_rng(2)
    whole = rng.gamma(0.5, 1.0, (60, 2)) @ (rng.random((2, 20)) * (rng.random((2, 20)) < 0.6))
    gappy = to_csr_with_gaps(whole)
    model = kind(2, n_splits=0, tol=1e-9).fit(gappy)
    weights = model.transform(gappy)
    scale = np.sqrt((whole**2).mean())
    assert np.abs(model.inverse_transform(weights) - whole).max() < 0.05 * scale
    assert model.score(gappy) > 0.999
    np.testing.assert_allclose(model.transform(gappy[7:8]), weights[7:8], rtol=1e-9, atol=1e-12)


def test_values_of_missing_cells_are_not_read():
    X, _ = rows_of_counts(np.random.default_rng(0))
    gaps = np.isnan(to_csr_with_gaps(X, 0.1))
    table = Table.from_matrix(sparse.csr_array(np.where(gaps, np.nan, X)))
    found = factorize(table, choose_start(table, 3, 0), 80, 0.0)
    expected = found.weights @ found.columns.T
    plain = (np.where(X > 0, X * np.log(np.maximum(X, 1) / np.maximum(expected, 1e-300)), 0.0) - X + expected)[
        ~gaps
    ].sum()
    np.testing.assert_allclose(found.divergence[-1], plain)
    assert (np.diff(found.divergence) <= 1e-9 * found.divergence[:-1]).all()


@pytest.mark.parametrize("affine", [False, True])
def test_weights_by_some_coordinates_are_those_of_scipy(affine):
    rng = np.random.default_rng(3)
    vertices, observed = rng.random((4, 12)), rng.random((30, 12)) < 0.7
    points = rng.dirichlet(np.ones(4), 30) @ vertices + 0.2 * rng.standard_normal((30, 12))
    weights = observed_least_squares(np.where(observed, points, np.nan), observed, vertices, affine=affine)
    for point, there, found in zip(points, observed, weights, strict=True):
        columns, target = vertices[:, there].T, point[there]
        if affine:  # a heavy row asks for a sum of one
            columns, target = np.vstack([columns, np.full(4, 1e4)]), np.append(target, 1e4)
        np.testing.assert_allclose(found, nnls(columns, target)[0], atol=1e-5)


@pytest.mark.parametrize("kind", [ApproximateNMF, PoissonNMF])
def test_what_is_missing_is_counted_and_must_not_be_all_of_a_row_or_column(kind):
    X, _ = rows_of_counts(np.random.default_rng(0))
    gappy = to_csr_with_gaps(X, 0.1)
    model = kind(3, n_splits=0).fit(gappy)
    share = next(check.measured for check in model.evidence_.checks if check.name == "missing cells")
    assert share == np.isnan(gappy).mean()
    assert not any(check.name == "missing cells" for check in kind(3, n_splits=0).fit(X).evidence_.checks)
    for place, name in (((7, slice(None)), "Row 7"), ((slice(None), 2), "Column 2")):
        spoiled = X.copy()
        spoiled[place] = np.nan
        with pytest.raises(LatentiaError, match=f"{name} has no values"):
            kind(3).fit(spoiled)
    stored = sparse.csr_array(X)
    stored.data[0] = np.nan
    with pytest.raises(LatentiaError, match="NaN; expected a number"):
        kind(3).fit(stored)


@pytest.mark.parametrize("estimator", [PoissonNMF, ApproximateNMF, SeparableNMF])
@pytest.mark.parametrize("way", ["random", "other", "own"])
def test_cells_that_are_missing_by_their_value_are_said(estimator, way):
    rng = np.random.default_rng(3)
    weights = rng.gamma(1.0, size=(500, 3)) * (rng.random((500, 3)) < 0.5) + 0.05
    X = 5 * weights @ (rng.gamma(1.0, size=(3, 20)) * (rng.random((3, 20)) < 0.5) + 0.02)
    X = (
        rng.poisson(X).astype(float)
        if estimator is PoissonNMF
        else np.maximum(X + 0.5 * rng.standard_normal(X.shape), 0)
    )
    scores = (X - X.mean(axis=0)) / X.std(axis=0)
    gaps = rng.random(X.shape) < (0.05 if way == "random" else 0.7)
    if way != "random":
        gaps &= (scores if way == "own" else np.roll(scores, -1, axis=1)) > 1.5
    if way == "other":
        gaps[:, 1::2] = False
    check = estimator(3).fit(np.where(gaps, np.nan, X)).evidence_["cells missing by value"]
    assert check.role == "caution"
    assert check.holds is (way != "own")
