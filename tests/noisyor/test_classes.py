"""Whether rows fall into classes, and networks that independent findings are likelier than."""

import warnings

import numpy as np

from latentia.datasets import planted
from latentia.noisyor import NoisyOr
from latentia.noisyor._goodness import fit_classes


def of_classes(n, rng, chances):
    return (rng.random((n, chances.shape[1])) < chances[rng.integers(0, len(chances), n)]).astype(float)


def test_classes_are_said_where_they_are_and_not_where_causes_are():
    rng = np.random.default_rng(0)
    X = of_classes(1500, rng, rng.beta(0.5, 1.0, (3, 24)) * 0.9 + 0.02)
    causes = planted.noisy_or_network(30, 3, active=1.0, leak=0.02, random_state=1).sample(2000, 2).X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        of_rows, of_causes = (NoisyOr(3, n_splits=1).fit(table).evidence_["classes of rows"] for table in (X, causes))
    assert of_rows.holds is False
    assert of_rows.measured > 0.1
    assert of_causes.holds


def test_classes_are_found_with_gaps():
    rng = np.random.default_rng(0)
    chances = rng.beta(0.5, 0.5, (3, 20)) * 0.9 + 0.05
    X = np.where(rng.random((1000, 20)) < 0.8, of_classes(1000, rng, chances), np.nan)
    found, _ = fit_classes(X, 3, 0)
    assert np.abs(found[:, None] - chances).max(axis=2).min(axis=0).max() < 0.15


def test_a_network_is_no_worse_than_independent_findings():
    rng = np.random.default_rng(3)
    chances = rng.uniform(0.1, 0.5, 18)
    X, new = ((rng.random((n, 18)) < chances).astype(float) for n in (600, 5000))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = NoisyOr(4, n_splits=1).fit(X)
    frequency = X.mean(axis=0)
    trivial = new @ np.log(frequency) + (1 - new) @ np.log1p(-frequency)
    assert model.score(new) > trivial.mean() - 0.005
