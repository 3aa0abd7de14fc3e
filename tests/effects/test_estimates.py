"""Errors by cluster against transcriptions of their formulas, and outcomes against planted ones."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import sqrtm
from scipy.stats import t as student

from latentia.effects import Effects, Memberships, least_squares, outcomes
from latentia.effects.combinations import Combinations
from latentia.effects.estimates import component_error_variance
from latentia.exceptions import LatentiaError

N, P, K = 60, 3, 2


class Noisy(Memberships):
    """Shares with noise of a known covariance, and without errors of components."""

    def __init__(self, shares: np.ndarray, covariance: np.ndarray) -> None:
        self.shares, self.covariance = shares, covariance
        self.errors = np.empty((0, *covariance.shape))

    def squares(self, rows):
        return self.shares[rows].T @ self.shares[rows] - rows.sum() * self.covariance

    def apply_squares(self, coefficients):
        return self.shares * (self.shares @ coefficients)[:, None] - self.covariance @ coefficients

    def perturb_squares(self, second, error):
        return error @ second + second @ error.T


def exact(shares):
    return Noisy(shares, np.zeros((shares.shape[1],) * 2))


def clustered(cluster):
    """CR2, its degrees of freedom, fewer with heavy tails, and the variance under one correlation within clusters."""
    rng = np.random.default_rng(0)
    x = np.column_stack([np.ones(N), rng.normal(size=N), rng.normal(size=N) + cluster / 5])
    y = rng.normal(size=(N, K)) + rng.normal(size=(cluster.max() + 1, K))[cluster]
    inverse = np.linalg.inv(x.T @ x)
    hat, value = x @ inverse @ x.T, inverse @ x.T @ y
    left, groups = y - x @ value, [np.flatnonzero(cluster == g) for g in np.unique(cluster)]
    robust, along = np.zeros((P, K)), np.zeros((P, len(groups), N))
    for g, rows in enumerate(groups):
        a = inverse @ x[rows].T @ np.linalg.inv(sqrtm(np.eye(len(rows)) - hat[np.ix_(rows, rows)])).real
        robust += (a @ left[rows]) ** 2
        along[:, g] = a @ (np.eye(N) - hat)[rows]
    freedom = np.array([np.trace(a @ a.T) ** 2 / ((a @ a.T) ** 2).sum() for a in along])
    pairs, free = (cluster[:, None] == cluster).astype(float), np.eye(N) - hat
    means = np.array(
        [[np.trace(free), np.trace(free @ pairs)], [np.trace(free @ pairs), np.trace(free @ pairs @ free @ pairs)]]
    )
    usual = np.empty((P, K))
    for k in range(K):
        e = left[:, k]
        if len(groups) == N:
            own, shared = e @ e / means[0, 0], 0.0
        else:
            own, shared = np.linalg.solve(means, [e @ e, e @ pairs @ e])
            shared = max(shared, 0.0)
            own = (e @ e - means[0, 1] * shared) / means[0, 0]
        usual[:, k] = np.diag(inverse @ x.T @ (own * np.eye(N) + shared * pairs) @ x @ inverse)
    sums = np.array([left[rows].sum(axis=0) / len(rows) ** 0.5 for rows in groups])
    heavy = np.maximum((sums**4).mean(axis=0) / (sums**2).mean(axis=0) ** 2 - 3, 0)
    freedom = freedom[:, None] / (1 + heavy / 8)
    pooled = (freedom * robust + 10 * usual) / (freedom + 10)
    return x, y, value, np.sqrt(pooled), freedom, N**2 / sum(len(rows) ** 2 for rows in groups)


@pytest.mark.parametrize(
    "cluster", [np.arange(N), np.repeat(np.arange(12), 5), np.sort(np.random.default_rng(1).integers(0, 9, N))]
)
def test_errors_are_those_of_the_formulas(cluster) -> None:
    x, y, value, error, freedom, n = clustered(cluster)
    shuffled = np.random.default_rng(2).permutation(N)
    found = least_squares(x[shuffled], exact(y[shuffled]), np.ones(N, dtype=bool), cluster[shuffled])
    np.testing.assert_allclose(found.value, value, atol=1e-12)
    np.testing.assert_allclose(found.error, error, rtol=1e-9)
    np.testing.assert_allclose(found.freedom, np.maximum(freedom, np.clip(n - P, 1, freedom + 10)), rtol=1e-9)


def test_a_mean_of_few_rows_with_heavy_tails_has_an_interval_that_holds_it() -> None:
    group, held = np.repeat([0, 1], [25, 400]), []
    for seed in range(1000, 1150):
        rng = np.random.default_rng(seed)
        shares = rng.beta(0.1, 1.9, 425)
        found = least_squares(
            np.column_stack([np.ones(425), group == 0]),
            exact(np.column_stack([shares, 1 - shares])),
            np.ones(425, dtype=bool),
            np.arange(425),
        )
        held.append(np.abs(found.value[1, 0]) < student.ppf(0.95, found.freedom[1, 0]) * found.error[1, 0])
    assert 0.87 < np.mean(held) < 0.96


def test_blocks_of_clusters_change_nothing(monkeypatch) -> None:
    x, y, *_, error, _, _ = clustered(np.repeat(np.arange(12), 5))
    monkeypatch.setattr("latentia.effects.estimates._CHUNK_ENTRIES", 40)
    found = least_squares(x, exact(y), np.ones(N, dtype=bool), np.repeat(np.arange(12), 5))
    np.testing.assert_allclose(found.error, error, rtol=1e-9)


def test_units_of_a_covariate_do_not_matter() -> None:
    x, y, *_ = clustered(np.repeat(np.arange(12), 5))
    members = exact(y)
    members.errors = np.random.default_rng(0).normal(size=(1, K, K)) / 10
    cluster, rows, units = np.repeat(np.arange(12), 5), np.ones(N, dtype=bool), np.array([1, 1e3, 1e-4])
    one, other = (least_squares(table, members, rows, cluster) for table in (x, x * units))
    np.testing.assert_allclose(one.error, other.error * units[:, None], rtol=1e-9)


def test_a_cluster_with_a_term_of_its_own_has_an_error() -> None:
    x, y, *_ = clustered(np.repeat(np.arange(12), 5))
    cluster = np.repeat(np.arange(12), 5)
    found = least_squares(np.column_stack([x, cluster == 3]), exact(y), np.ones(N, dtype=bool), cluster)
    assert np.isfinite(found.error).all()
    assert (found.error > 0).all()
    assert (found.freedom >= 1).all()


def test_errors_of_components_widen() -> None:
    means = np.array([[0.2, 0.8], [0.5, 0.5]])
    assert not component_error_variance(means, np.empty((0, 2, 2))).any()
    assert (component_error_variance(means, np.array([[[0.0, 0.1], [0.0, -0.1]]])) > 0).all()


def test_outcomes_do_not_shrink_as_shares_with_noise_do() -> None:
    b, covariance = np.array([1.0, 0.0, -1.0]), 0.06 * (np.eye(3) - 1 / 3)
    found, plain, held = [], [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        w = rng.dirichlet(np.ones(3), size=800)
        z = 2 * w[:, :1] + rng.normal(size=(800, 1))
        noise = 0.06**0.5 * rng.normal(size=(800, 3))
        shares = w + noise - noise.mean(axis=1, keepdims=True)
        y = w @ b + 0.5 * z[:, 0] + 0.3 * rng.normal(size=800)
        one = outcomes(y, z, Noisy(shares, covariance), np.ones(800, dtype=bool), np.arange(800))
        found.append(one.value[1] - b)
        held.append(np.abs(one.value[1] - b) < 1.65 * one.error[1])
        plain.append(np.linalg.lstsq(np.column_stack([shares, z - z.mean()]), y, rcond=None)[0][:3])
    shortfall = np.ptp(np.mean(plain, axis=0)) / 2
    assert shortfall < 0.75
    assert abs(np.ptp(np.mean(found, axis=0) + b) / 2 - 1) < 0.05
    assert 0.8 < np.mean(held) < 0.98


def test_memberships_that_are_all_noise_still_give_finite_answers() -> None:
    rng = np.random.default_rng(0)
    shares = 0.5 + 0.1 * rng.normal(size=(50, 1)) * np.array([1.0, -1.0])
    members = Noisy(shares, 0.02 * np.array([[1.0, -1.0], [-1.0, 1.0]]))  # twice the variance there is
    found = outcomes(rng.normal(size=50), np.zeros((50, 0)), members, np.ones(50, dtype=bool), np.arange(50))
    assert np.isfinite(found.value).all()
    assert np.isfinite(found.error).all()


def test_what_is_reported() -> None:
    x, y, *_ = clustered(np.arange(N))
    found = least_squares(x, exact(y), np.ones(N, dtype=bool), np.arange(N))
    facts = {
        "n_rows": N,
        "n_clusters": N,
        "n_left_out": 0,
        "component_errors": False,
        "nouns": ("topic", "topics", "documents"),
    }
    effects = Effects.from_estimates(found, 0.95, terms=["Intercept", "a", "b"], components=["x", "y"], **facts)
    np.testing.assert_allclose((effects.p_value < 0.05), (effects.low > 0) | (effects.high < 0))
    np.testing.assert_allclose(effects.high - effects.estimate, student.ppf(0.975, found.freedom) * found.error)
    assert len(effects.rows()) == 6
    assert list(effects.rows()[0])[:5] == ["component", "term", "estimate", "low", "high"]
    assert "2 topics, 60 documents, 0 left out; intervals of 95%" in repr(effects)
    assert [panel[0] for panel in effects.panels()] == ["a", "b"]
    with pytest.raises(ValueError, match="expected some of Intercept, a, b"):
        effects.panels(["c"])


def test_combinations_are_sums_contrasts_and_ratios() -> None:
    x, _, *_ = clustered(np.arange(N))
    members, cluster, every = (
        exact(np.random.default_rng(1).dirichlet(np.ones(4), N)),
        np.repeat(np.arange(12), 5),
        np.ones(N, bool),
    )
    members.errors = np.random.default_rng(0).normal(size=(1, 4, 4)) / 50
    wanted = Combinations.from_request({"one": 2, "two": [0, 3], "less": {0: 1, 1: -2}, "ratio": ([0, 1], [2])}, 4)
    assert wanted.is_ratio.tolist() == [False, False, False, True]
    for estimate in (
        lambda sums: least_squares(x, members, every, cluster, sums),
        lambda sums: outcomes(x[:, 1], np.zeros((N, 0)), members, every, cluster, sums),
    ):
        plain, found = estimate(None), wanted.estimate(estimate)
        a, b, c, d = plain.value.T
        np.testing.assert_allclose(found.value.T, [c, a + d, a - 2 * b, (a + b) / c], rtol=1e-9)
        np.testing.assert_allclose(found.value, wanted.combine_values(plain.value), rtol=1e-9)
        np.testing.assert_allclose(found.error[:, 0], plain.error[:, 2], rtol=1e-9)
        assert (found.error > 0).all()


def test_intervals_of_contrasts_and_ratios_hold_the_true_values() -> None:
    wanted, held = Combinations.from_request({"less": {0: 1, 1: -1}, "ratio": ([0], [1, 2])}, 3), []
    mean, group = np.array([[0.5, 0.2, 0.3], [0.3, 0.3, 0.4]]), np.repeat([0, 1], 60)
    true = np.stack([mean[:, 0] - mean[:, 1], mean[:, 0] / (1 - mean[:, 0])], axis=1)
    for seed in range(100):
        rng = np.random.default_rng(seed)
        members = exact(np.array([rng.dirichlet(2 * mean[g]) for g in group]))
        found = wanted.estimate(
            lambda sums, members=members: least_squares(
                np.eye(2)[group], members, np.ones(120, dtype=bool), np.arange(120), sums
            )
        )
        held.append(np.abs(found.value - true) < student.ppf(0.95, found.freedom) * found.error)
    assert (np.abs(np.mean(held, axis=0) - 0.9) < 0.08).all()


@pytest.mark.parametrize("wanted", [{}, [0, 1], {"a": [4]}, {"a": ["0"]}, {"a": []}, {"a": {-1: 2}}])
def test_combinations_that_cannot_be_used(wanted) -> None:
    with pytest.raises(LatentiaError, match="components"):
        Combinations.from_request(wanted, 4)
