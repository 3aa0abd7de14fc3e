"""Models of several sites are matched before they are merged, and merged whether they agree or not."""

import warnings

import numpy as np
import pytest

import latentia
from latentia.exceptions import EvidenceWarning
from latentia.ica import TensorICA
from latentia.mixtures import SphericalGaussianMixture

MEANS = 9 * np.eye(3)


def draw(seed, means=MEANS):
    rng = np.random.default_rng(seed)
    return means[rng.integers(3, size=900)] + rng.standard_normal((900, 3))


def fit(seed, means=MEANS, **options):
    model = SphericalGaussianMixture(3, keep_moments=True, covariance_type="spherical", **options)
    return model.fit(draw(seed, means))


@pytest.fixture(scope="module")
def sites():
    """Two sites that agree, and one of whose means one lies elsewhere."""
    return fit(1), fit(2), fit(3, MEANS + 4 * np.outer([1, 0, 0], [0, 1, 0]))


def test_sites_that_agree_are_merged_without_a_word(sites):
    with warnings.catch_warnings():
        warnings.simplefilter("error", EvidenceWarning)
        merged = latentia.merge(sites[:2])
    assert merged.moments_.n_rows == 1800


def test_a_site_that_differs_is_named_and_merged(sites):
    with pytest.warns(EvidenceWarning, match=r"Models 0 \(a\) and 2 \(b\) disagree") as record:
        merged = latentia.merge(sites)
    assert merged.moments_.n_rows == 2700
    (message,) = (str(warning.message) for warning in record if "disagree" in str(warning.message))
    assert message.count(" is ") == 2  # the component that moved, and the model of all rows
    assert "changed (column 1" in message
    assert latentia.match(sites[0], sites[1]).differences() == []


def test_sites_that_cannot_be_matched_are_merged():
    with warnings.catch_warnings():
        warnings.simplefilter("error", EvidenceWarning)
        assert latentia.merge([fit(1, n_splits=0), fit(2, MEANS + 3, n_splits=0)]).moments_.n_rows == 1800
        X = np.random.default_rng(0).laplace(size=(2, 2000, 3))
        sources = [TensorICA(3, keep_moments=True).partial_fit(part) for part in X]
        assert latentia.merge(sources).moments_.n_rows == 4000
        lazy = [
            SphericalGaussianMixture(3, keep_moments=True, covariance_type="spherical").partial_fit(draw(seed, means))
            for seed, means in ((1, MEANS), (2, MEANS + 3))
        ]
        assert latentia.merge(lazy).moments_.n_rows == 1800
