"""Separable factors of tables with missing cells."""

import numpy as np
import pytest

from latentia.datasets import planted
from latentia.exceptions import LatentiaError
from latentia.linalg import completed
from latentia.nmf import SeparableNMF
from latentia.nmf._evidence import component_distances


def with_gaps(rows, share=0.2, seed=0):
    return np.where(np.random.default_rng(seed).random(rows.shape) < share, np.nan, rows)


def test_tables_of_low_rank_are_completed_exactly():
    rng = np.random.default_rng(0)
    whole = rng.random((60, 3)) @ rng.random((3, 30))
    gappy = with_gaps(whole)
    np.testing.assert_allclose(completed(gappy, np.isnan(gappy), 3), whole, atol=1e-3)
    np.testing.assert_allclose(completed(gappy.T, np.isnan(gappy.T), 3), whole.T, atol=1e-3)


@pytest.mark.parametrize("mixing", ["simplex", "cone"])
def test_components_are_nearly_as_good_as_those_of_whole_tables(mixing):
    errors, expected = [], []
    for seed in range(4, 8):
        data = planted.separable_rows(300, 30, 4, n_pure=3, noise=0.05, random_state=seed)
        X = data.X.clip(0)
        models = [SeparableNMF(4, mixing=mixing, method="spa").fit(one) for one in (X, with_gaps(X))]
        errors.append([component_distances(one.components_, data.components, mixing).mean() for one in models])
        expected.append(models[1].evidence_.expected_error)
    whole, gappy = np.mean(errors, axis=0)
    assert gappy < 1.5 * whole
    assert 0.5 < np.mean(expected) / gappy < 2


def test_weights_are_of_the_cells_that_are_there():
    data = planted.separable_rows(200, 30, 3, n_pure=3, noise=0.0, random_state=1)
    X, gappy = data.X.clip(0), with_gaps(data.X.clip(0))
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
        with pytest.raises(LatentiaError, match=f"{said} has no cell"):
            SeparableNMF(3).fit(gappy)
    model = SeparableNMF(3, n_splits=0).fit(X)
    with pytest.raises(LatentiaError, match="Row 0 has no cell"):
        model.transform(np.full((1, 10), np.nan))
