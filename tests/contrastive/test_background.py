"""Cases and controls."""

import numpy as np
import pytest

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
