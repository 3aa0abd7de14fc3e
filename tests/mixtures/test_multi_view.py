import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import latentia
from latentia import LatentiaError
from latentia.datasets import planted
from latentia.metrics import match_components
from latentia.mixtures import MultiViewMixture
from latentia.passes import Blocks

VIEWS = [range(10), range(10, 20), range(20, 30)]


@pytest.fixture(scope="module")
def data():
    return planted.product_mixture(20_000, 5, 30, random_state=0)


def distance(model, means):
    """Mean distance of a probability or mean from the truth."""
    joint = np.hstack(model.means_)
    found, true = match_components(joint, means)
    return np.abs(joint[found] - means[true]).mean()


def test_centres_of_a_product_mixture(data):
    known = np.array([data.X[data.labels == k].mean(axis=0) for k in range(5)])
    best = np.abs(known - data.means).mean()
    plain = MultiViewMixture(5).fit(data.X, views=VIEWS)
    refined = MultiViewMixture(5, distribution="bernoulli", refine=5).fit(data.X, views=VIEWS)
    assert distance(plain, data.means) < 2 * best
    assert distance(refined, data.means) < 1.1 * best
    joint = np.hstack(refined.means_)
    found, true = match_components(joint, data.means)
    np.testing.assert_allclose(refined.weights_[found], data.weights[true], atol=0.02)
    assert (true[np.argsort(found)][refined.predict(data.X)] == data.labels).mean() > 0.85
    assert plain.n_passes_ == 2


def test_gaussian_features_with_their_variances():
    data = planted.product_mixture(20_000, 4, 24, kind="gaussian", separation=5, random_state=1)
    model = MultiViewMixture(4, distribution="gaussian").fit(data.X, views=np.array_split(np.arange(24), 3))
    assert distance(model, data.means) < 0.05
    assert np.abs(np.hstack(model.variances_) - 1).mean() < 0.1
    assert np.isfinite(model.score(data.X))


def test_views_of_different_size_more_than_three_and_in_any_form(data):
    tables = [data.X[:, :7], data.X[:, 7:12], data.X[:, 12:20], data.X[:, 20:30]]
    model = MultiViewMixture(5).fit(tables)
    assert [m.shape for m in model.means_] == [(5, 7), (5, 5), (5, 8), (5, 10)]
    assert distance(model, data.means) < 0.02
    blocks = MultiViewMixture(5, n_jobs=2).fit(Blocks.from_array(*tables))
    assert all((a == b).all() for a, b in zip(blocks.means_, model.means_, strict=True))
    thin = MultiViewMixture(5).fit([sparse.csr_array(t) for t in tables])
    assert all(np.allclose(a, b, atol=1e-8) for a, b in zip(thin.means_, model.means_, strict=True))
    frame = pd.DataFrame(data.X, columns=[f"f{i}" for i in range(30)])
    named = MultiViewMixture(5).fit(frame, views=[[f"f{i}" for i in view] for view in VIEWS])
    plain = MultiViewMixture(5).fit(data.X, views=VIEWS)
    assert all((a == b).all() for a, b in zip(named.means_, plain.means_, strict=True))


def test_units_do_not_matter(data):
    scale = np.random.default_rng(0).uniform(0.01, 100, 30)
    first = MultiViewMixture(5).fit(data.X, views=VIEWS)
    second = MultiViewMixture(5).fit(data.X * scale + 50, views=VIEWS)
    np.testing.assert_allclose(np.hstack(second.means_), np.hstack(first.means_) * scale + 50, rtol=1e-5)


def test_one_feature_a_view_carries_two_components():
    rng = np.random.default_rng(0)
    labels = rng.random(20_000) < 0.3
    x = rng.standard_normal((20_000, 3)) + np.where(labels[:, None], [2, -2, 3], [0, 1, 0])
    model = MultiViewMixture(2).fit(x, views=[[0], [1], [2]])
    np.testing.assert_allclose(np.hstack(model.means_), [[0, 1, 0], [2, -2, 3]], atol=0.12)
    np.testing.assert_allclose(model.weights_, [0.7, 0.3], atol=0.03)


def test_evidence(data, tmp_path):
    model = MultiViewMixture(5).fit(data.X, views=VIEWS)
    assert model.evidence_.holds
    assert model.evidence_["rank supported"].measured == 5
    again = latentia.load(latentia.save(model, tmp_path / "m")).evidence_.stability(data.X, n_splits=1, views=VIEWS)
    assert again.mean() == pytest.approx(model.evidence_.component_errors.mean(), rel=0.5)
    few = MultiViewMixture(4).fit(data.X, views=VIEWS).evidence_["rank supported"]
    assert few.measured == 5
    assert not few.holds


def test_constant_features_keep_their_value(data):
    x = np.hstack([data.X, np.full((20_000, 1), 2.5)])
    model = MultiViewMixture(5).fit(x, views=[*VIEWS[:2], [*VIEWS[2], 30]])
    np.testing.assert_allclose(model.means_[2][:, -1], 2.5, atol=1e-9)
    assert model.evidence_["constant features"].measured == 1


def test_bad_input(data):
    x = data.X[:500]
    with pytest.raises(LatentiaError, match="2 views: three or more"):
        MultiViewMixture(2).fit([x, x])
    with pytest.raises(LatentiaError, match="Part 1 has 400 rows and part 0 has 500"):
        MultiViewMixture(2).fit([x, x[:400], x])
    with pytest.raises(LatentiaError, match="one table with views="):
        MultiViewMixture(2).fit(x)
    with pytest.raises(LatentiaError, match="column 9 is in another view too"):
        MultiViewMixture(2).fit(x, views=[range(10), range(9, 20), range(20, 30)])
    with pytest.raises(LatentiaError, match="column 30, and the table has 30"):
        MultiViewMixture(2).fit(x, views=[range(10), range(10, 20), range(20, 31)])
    with pytest.raises(LatentiaError, match="supports at most n_components=11"):
        MultiViewMixture(12).fit(x, views=VIEWS)
    with pytest.raises(LatentiaError, match="View 2 is constant"):
        MultiViewMixture(2).fit([x, np.ones((500, 3)), x])
    with pytest.raises(LatentiaError, match="needs a likelihood"):
        MultiViewMixture(2, refine=2).fit(x, views=VIEWS)
    with pytest.raises(LatentiaError, match="use one of 'bernoulli', 'gaussian'"):
        MultiViewMixture(2, distribution="poisson").fit(x, views=VIEWS)
    with pytest.raises(LatentiaError, match="there are means and no densities"):
        MultiViewMixture(2).fit(data.X, views=VIEWS).predict(data.X)
    two = np.repeat(np.random.default_rng(0).standard_normal((2, 30)), 200, axis=0)
    with pytest.raises(LatentiaError, match="singular value 3 .* this data supports at most n_components=2"):
        MultiViewMixture(3).fit(two, views=VIEWS)


@pytest.mark.parametrize("seed", range(3))
def test_independent_features_are_not_called_a_mixture(seed):
    x = (np.random.default_rng(seed).random((2000, 30)) < 0.5).astype(float)
    try:
        model = MultiViewMixture(4).fit(x, views=VIEWS)
    except LatentiaError:
        return  # so much the better
    assert not model.evidence_.holds
