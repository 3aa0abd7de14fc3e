import numpy as np
import pytest
from scipy import sparse

from latentia.exceptions import LatentiaError
from latentia.likelihood import (
    MultinomialMixtureUpdate,
    ProductMixtureUpdate,
    SphericalMixtureUpdate,
    gaussian_log_density,
    multinomial_log_likelihood,
    multinomial_responsibilities,
    product_log_density,
    spherical_log_density,
)
from latentia.passes import Blocks, accumulate

WEIGHTS = np.array([0.5, 0.3, 0.2])


def planted(kind, seed=0, n=300):
    """Data of a mixture, and the class of its update with arguments to start from."""
    rng = np.random.default_rng(seed)
    component = rng.choice(3, n, p=WEIGHTS)
    weights = np.full(3, 1 / 3)
    if kind == "multinomial":
        components = rng.dirichlet(np.full(12, 0.5), 3)
        x = np.array([rng.multinomial(15, components[k]) for k in component])
        return x, MultinomialMixtureUpdate, (0.7 * components + 0.3 * rng.dirichlet(np.ones(12), 3), weights)
    if kind == "bernoulli":
        p = rng.uniform(0.05, 0.95, (3, 8))
        x = (rng.uniform(size=(n, 8)) < p[component]).astype(float)
        return x, ProductMixtureUpdate, (kind, 0.6 * p + 0.4 * rng.uniform(size=(3, 8)), None, weights)
    means = rng.normal(scale=2, size=(3, 4))
    x = means[component] + rng.normal(size=(n, 4)) * np.array([0.5, 1, 2])[component][:, None]
    start = means + rng.normal(scale=0.5, size=(3, 4))
    if kind == "gaussian":
        return x, ProductMixtureUpdate, (kind, start, np.ones((3, 4)), weights)
    return x, SphericalMixtureUpdate, (start, weights, np.ones(3), kind == "tied")


KINDS = ["multinomial", "bernoulli", "gaussian", "spherical", "tied"]


def restart(kind, update, state):
    """The update of the next EM step."""
    new = update.updated(state)
    if kind in ("bernoulli", "gaussian"):
        return ProductMixtureUpdate(kind, *new)
    return type(update)(*new, *([kind == "tied"] if kind in ("spherical", "tied") else []))


def naive_posterior(log_density, weights):
    joint = np.exp(log_density) * weights
    return joint / joint.sum(axis=1, keepdims=True), np.log(joint.sum(axis=1))


def naive_gaussian(x, means, variances):
    log_density = np.zeros((len(x), len(means)))
    for i, row in enumerate(x):
        for k in range(len(means)):
            for j in range(len(row)):
                v = variances[k, j]
                log_density[i, k] -= 0.5 * ((row[j] - means[k, j]) ** 2 / v + np.log(2 * np.pi * v))
    return log_density


def test_multinomial_step_matches_naive_sums():
    x, make, (components, weights) = planted("multinomial")
    update = make(components, weights)
    r, expected = naive_posterior(x @ np.log(components).T, weights)
    table = sparse.csr_array(x)
    np.testing.assert_allclose(multinomial_responsibilities(table, components, weights, n_jobs=2), r)
    np.testing.assert_allclose(multinomial_log_likelihood(x, components, weights), expected)
    for prior in (0.0, np.linspace(0, 1, 12)):
        state = accumulate(Blocks.from_array(table, block_rows=70), update)
        found, new_weights = update.updated(state, prior)
        counts = r.T @ x + prior
        np.testing.assert_allclose(found, counts / counts.sum(axis=1, keepdims=True))
        np.testing.assert_allclose(new_weights, r.mean(axis=0))
        np.testing.assert_allclose(state.log_likelihood, expected.sum())
    assert state.n_rows == 300


def test_multinomial_with_many_components_and_impossible_words():
    rng = np.random.default_rng(0)
    components = rng.dirichlet(np.full(9, 0.3), 20)
    components[:10, 0] = 0  # a word of the others only
    components[:, 8] = 0  # a word of none
    components /= components.sum(axis=1, keepdims=True)
    weights = rng.dirichlet(np.ones(20))
    x = rng.integers(0, 3, (40, 9))
    x[:, 8] = 0
    x[0], x[1], x[2] = 0, 0, 0
    x[1, 8], x[2, 0] = 1, 1
    r, log_likelihood = (f(x, components, weights) for f in (multinomial_responsibilities, multinomial_log_likelihood))
    np.testing.assert_allclose(r[0], weights)
    np.testing.assert_allclose(r[1], weights)
    np.testing.assert_allclose(log_likelihood[0], 0, atol=1e-12)
    assert log_likelihood[1] == -np.inf
    assert (r[2, :10] == 0).all()
    update = MultinomialMixtureUpdate(components, weights)
    state = accumulate(Blocks.from_array(x, block_rows=7), update)
    counts = r.T @ x
    np.testing.assert_allclose(np.concatenate(state.first, axis=1).T, counts, atol=1e-12)
    stored = sparse.csr_array(x)
    stored.data[stored.indices == 0] = 0  # stored zeros are no words
    np.testing.assert_allclose(
        multinomial_responsibilities(stored, components, weights),
        multinomial_responsibilities(stored.toarray(), components, weights),
    )


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("as_table", [np.asarray, sparse.csr_array])
def test_spherical_step_matches_naive_sums(tied, as_table):
    x, make, (means, weights, variance, _) = planted("spherical")
    variance = variance * [1, 2, 3]
    log_density = naive_gaussian(x, means, np.repeat(variance[:, None], 4, axis=1))
    np.testing.assert_allclose(spherical_log_density(as_table(x), means, variance), log_density)
    r, expected = naive_posterior(log_density, weights)
    update = make(means, weights, variance, tied)
    state = accumulate(Blocks.from_array(as_table(x), block_rows=70), update)
    mass = r.sum(axis=0)
    mean = r.T @ x / mass[:, None]
    spread = (r * ((x[:, None] - mean) ** 2).sum(axis=2)).sum(axis=0)
    new = spread / (4 * mass) if not tied else np.full(3, spread.sum() / (4 * 300))
    for found, want in zip(update.updated(state), (mean, mass / 300, new), strict=True):
        np.testing.assert_allclose(found, want)
    np.testing.assert_allclose(state.log_likelihood, expected.sum())
    assert (update.updated(state, 99.0)[2] == 99).all()


def test_gaussian_step_matches_naive_sums():
    x, make, (kind, means, variances, weights) = planted("gaussian")
    variances = variances * np.linspace(0.5, 2, 4)
    log_density = naive_gaussian(x, means, variances)
    np.testing.assert_allclose(gaussian_log_density(x, means, variances), log_density)
    np.testing.assert_allclose(product_log_density(kind, sparse.csr_array(x), means, variances), log_density)
    r, expected = naive_posterior(log_density, weights)
    update = make(kind, means, variances, weights)
    state = accumulate(Blocks.from_array(x, block_rows=70), update)
    mass = r.sum(axis=0)[:, None]
    mean = r.T @ x / mass
    for found, want in zip(update.updated(state), (mean, r.T @ x**2 / mass - mean**2, r.mean(axis=0)), strict=True):
        np.testing.assert_allclose(found, want)
    np.testing.assert_allclose(state.log_likelihood, expected.sum())
    assert (update.updated(state, np.array([0, 0, 0, 50.0]))[1][:, 3] == 50).all()


@pytest.mark.parametrize("as_table", [np.asarray, sparse.csr_array])
def test_bernoulli_step_matches_naive_sums(as_table):
    x, make, (kind, p, _, weights) = planted("bernoulli")
    density = np.ones((300, 3))
    for j in range(8):
        density *= np.where(x[:, [j]] == 1, p[:, j], 1 - p[:, j])
    np.testing.assert_allclose(product_log_density(kind, as_table(x), p), np.log(density))
    r, expected = naive_posterior(np.log(density), weights)
    update = make(kind, p, None, weights)
    state = accumulate(Blocks.from_array(as_table(x), block_rows=70), update)
    means, variances, new_weights = update.updated(state)
    np.testing.assert_allclose(means, r.T @ x / r.sum(axis=0)[:, None])
    np.testing.assert_allclose(new_weights, r.mean(axis=0))
    np.testing.assert_allclose(state.log_likelihood, expected.sum())
    assert variances is None
    assert np.ptp(update.updated(state, 0.4)[0]) <= 0.2 + 1e-12


def test_bernoulli_columns_may_be_certain():
    p = np.array([[0.0, 0.5], [1.0, 0.25]])
    x = np.array([[0, 1], [1, 0.0]])
    expected = [[np.log(0.5), -np.inf], [-np.inf, np.log(0.75)]]
    for table in (x, sparse.csr_array(x)):
        np.testing.assert_allclose(product_log_density("bernoulli", table, p), expected)


def test_unknown_kinds_and_missing_variances_are_named():
    with pytest.raises(LatentiaError, match="kind='poisson'"):
        product_log_density("poisson", np.zeros((1, 1)), np.zeros((1, 1)))
    with pytest.raises(LatentiaError, match="variances"):
        ProductMixtureUpdate("gaussian", np.zeros((1, 1)), None, np.ones(1))


@pytest.mark.parametrize("kind", KINDS)
def test_em_never_lowers_the_likelihood(kind):
    x, make, start = planted(kind)
    update, history = make(*start), []
    for _ in range(30):
        state = accumulate(Blocks.from_array(x, block_rows=90), update)
        history.append(state.log_likelihood)
        update = restart(kind, update, state)
    assert (np.diff(history) > -1e-9 * abs(history[0])).all()
    assert history[-1] > history[0] + 10


@pytest.mark.parametrize("kind", KINDS)
def test_same_bits_for_any_number_of_threads(kind):
    x, make, start = planted(kind)
    update, results = make(*start), []
    for rows in (7, 64, 1000):
        blocks = Blocks.from_array(x, block_rows=rows)
        one, two = (accumulate(blocks, update, n_jobs) for n_jobs in (1, 2))
        assert one.log_likelihood == two.log_likelihood
        found = [part for part in update.updated(one) if part is not None]
        for a, b in zip(found, [part for part in update.updated(two) if part is not None], strict=True):
            assert (a == b).all()
        results.append(found)
    for found in results[:2]:
        for a, b in zip(found, results[2], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", ["gaussian", "spherical", "tied"])
def test_data_far_from_the_origin(kind):
    x, make, start = planted(kind)
    shift, at = 2.0**20, 1 if kind == "gaussian" else 0
    near, far = make(*start), make(*[part + shift if i == at else part for i, part in enumerate(start)])
    for _ in range(3):
        a, b = accumulate(Blocks.from_array(x), near), accumulate(Blocks.from_array(x + shift), far)
        np.testing.assert_allclose(a.log_likelihood, b.log_likelihood, rtol=1e-7)
        near, far = restart(kind, near, a), restart(kind, far, b)
    np.testing.assert_allclose(near.means, far.means - shift, atol=1e-7)
    name = "variances" if kind == "gaussian" else "variance"
    np.testing.assert_allclose(getattr(near, name), getattr(far, name), rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_component_keeps_its_parameters(kind):
    x, make, start = planted(kind)
    names = {"multinomial": ["components"], "bernoulli": ["means"], "gaussian": ["means", "variances"]}
    old = make(*start)
    old.weights = np.array([0.5, 0.5, 0])
    if kind == "multinomial":
        old = make(start[0], old.weights)
    new = restart(kind, old, accumulate(Blocks.from_array(x), old))
    assert new.weights[2] == 0
    for name in names.get(kind, ["means"]):
        assert (getattr(new, name)[2] == getattr(old, name)[2]).all()
        assert np.isfinite(getattr(new, name)).all()
    if kind == "spherical":
        assert new.variance[2] == old.variance[2]
