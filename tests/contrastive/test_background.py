"""Cases and controls."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics import silhouette_score

import latentia
from latentia import LatentiaError
from latentia.contrastive import BackgroundPCA
from latentia.datasets import planted

pytestmark = pytest.mark.filterwarnings("ignore::latentia.exceptions.NotSupportedWarning")


def error(components, directions):
    """Mean sine of the angles."""
    return float(np.sqrt(np.clip(1 - np.abs(components @ directions.T).max(axis=1) ** 2, 0, None)).mean())


def contrastive_pca(data, strength, k):
    _, vectors = np.linalg.eigh(np.cov(data.X.T, bias=True) - strength * np.cov(data.background.T, bias=True))
    return vectors[:, ::-1][:, :k].T


@pytest.mark.parametrize(("k", "strength"), [(1, 1.0), (1, 1.5), (2, 1.0)])
def test_as_near_as_contrastive_pca_at_its_best_strength(k, strength):
    mine, best = [], []
    for seed in range(5):
        data = planted.cases_and_controls(600, 500, 20, k, strength=strength, random_state=seed)
        model = BackgroundPCA(k, n_splits=0).fit(data.X, data.background)
        mine.append(error(model.components_, data.directions))
        assert model.strength_ == pytest.approx(strength, rel=0.15)
        best.append(min(error(contrastive_pca(data, a, k), data.directions) for a in np.geomspace(0.2, 20, 15)))
    assert np.mean(mine) < 1.2 * np.mean(best)


def test_a_given_strength_is_contrastive_pca():
    data = planted.cases_and_controls(600, 500, 20, 2)
    model = BackgroundPCA(2, strength=1.3).fit(data.X, data.background)
    np.testing.assert_allclose(np.abs(model.components_), np.abs(contrastive_pca(data, 1.3, 2)), atol=1e-8)
    assert model.strength_ == 1.3


def test_evidence():
    data = planted.cases_and_controls(2000, 2000, 20)
    model = BackgroundPCA(1).fit(data.X, data.background)
    assert [one.passed for one in model.evidence_.statements] == [True, True, True, None]
    assert model.evidence_.grade == "with care"
    assert error(model.components_, data.directions) < 2 * model.evidence_.expected_error
    assert model.contrast_[0] > 2
    assert model.transform(data.X).var() / model.transform(data.background).var() == pytest.approx(
        model.contrast_[0], rel=0.01
    )


@pytest.mark.parametrize("strength", [1.0, 2.0])
def test_no_difference_is_not_supported(strength):
    for seed in range(10):
        data = planted.cases_and_controls(300, 300, 20, variance=0, strength=strength, random_state=seed)
        evidence = BackgroundPCA(2).fit(data.X, data.background).evidence_
        assert evidence.grade == "not supported"
        assert not evidence["contrast on other rows"].holds


def test_a_direction_too_many_is_told():
    data = planted.cases_and_controls(2000, 2000, 20)
    evidence = BackgroundPCA(2).fit(data.X, data.background).evidence_
    assert evidence["contrast on other rows"].holds
    assert not evidence["weakest contrast on other rows"].holds


def test_what_a_background_must_be(tmp_path):
    data = planted.cases_and_controls(100, 100, 6)
    for background, message in (
        (None, "needs a background"),
        (data.background[:, :5], "5 columns"),
        (np.ones((50, 6)), "the same"),
    ):
        with pytest.raises(LatentiaError, match=message):
            BackgroundPCA(1).fit(data.X, background)
    with pytest.raises(LatentiaError, match="strength"):
        BackgroundPCA(1, strength=-1).fit(data.X, data.background)
    with pytest.raises(LatentiaError, match="at most 6"):
        BackgroundPCA(7).fit(data.X, data.background)
    model = BackgroundPCA(1).fit(data.X, data.background)
    loaded = latentia.load(latentia.save(model, tmp_path / "m"))
    assert (loaded.transform(data.X) == model.transform(data.X)).all()


def two_kinds(shared, seed=0, n=600):
    """Cases of two kinds that differ along the first column; ``shared`` is the deviation that both tables have along it."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 2, n)
    nuisance = np.array([shared, shared, *[0.0] * 8])
    X, background = (
        rng.standard_normal((n, 10)) + rng.standard_normal((n, 1)) * nuisance + 0.2 * rng.standard_normal((n, 10))
        for _ in range(2)
    )
    X[:, 0] += np.where(kinds == 0, -2.5, 2.5)
    return X, background, kinds


def separation(coordinates, kinds):
    """Difference of the means of two kinds, in standard deviations within them."""
    first, second = (coordinates[kinds == kind] for kind in (0, 1))
    return abs(first.mean() - second.mean()) / np.sqrt((first.var() + second.var()) / 2)


def test_coordinates_are_filtered_where_the_background_hides_the_difference():
    for seed in range(5):
        X, background, kinds = two_kinds(8.0, seed)
        model = BackgroundPCA(1).fit(X, background)
        assert model.coordinates_ == "filter"
        shown, projected = model.transform(X)[:, 0], X @ model.components_[0]
        assert separation(shown, kinds) > 2.5
        assert separation(projected, kinds) < 0.5 * separation(shown, kinds)
        assert model.filters_ @ model.components_.T == pytest.approx(1)
        assert model.contrast_[0] == pytest.approx(shown.var() / model.transform(background).var(), rel=0.01)


def test_coordinates_are_projections_where_filters_only_add_noise():
    pixels, digit = load_digits(return_X_y=True)
    used = np.isin(digit, (4, 7, 9))
    pixels = pixels[used] - pixels[used].mean(axis=0)
    pixels, digit = pixels[:, pixels.std(axis=0) > 0] / pixels.std(axis=0)[pixels.std(axis=0) > 0], digit[used]
    cases, kinds = pixels[digit != 7], digit[digit != 7]
    model = BackgroundPCA(1, n_splits=0).fit(cases, pixels[digit == 7])
    assert model.coordinates_ == "projection"
    assert silhouette_score(model.transform(cases), kinds) > 0.6


def test_a_given_strength_shows_projections():
    data = planted.cases_and_controls(600, 500, 20, 2)
    model = BackgroundPCA(2, strength=1.0).fit(data.X, data.background)
    assert model.coordinates_ == "projection"
    np.testing.assert_array_equal(model.filters_, model.components_)


def test_coordinates_keep_the_units_of_directions():
    data = planted.cases_and_controls(800, 800, 12, 2)
    model = BackgroundPCA(2).fit(data.X, data.background)
    moved = data.X + 3 * model.components_[0] - model.components_[1]
    np.testing.assert_allclose(model.transform(moved) - model.transform(data.X), [[3.0, -1.0]] * 800, atol=1e-8)
    np.testing.assert_array_equal(
        BackgroundPCA(2).fit_transform(data.X, background=data.background), model.transform(data.X)
    )


def test_parts_without_any_spread():
    """Cases at two points, up to rounding: the ratio of variances between and within them is a number."""
    rng = np.random.default_rng(0)
    background = rng.standard_normal((300, 4))
    cases = 1e3 * np.outer(np.repeat([-1.0, 1.0], 150), [1.0, 2.0, 0.5, -1.0])
    with np.errstate(over="raise"):
        model = BackgroundPCA(1).fit(cases, background=background)
    assert np.isfinite(model.transform(cases)).all()
