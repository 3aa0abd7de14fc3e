"""What users of other libraries look for: starts, criteria, covariances, missing steps, absorbing states."""

import numpy as np
import pytest

import latentia
from latentia.datasets import planted
from latentia.exceptions import LatentiaError
from latentia.metrics import recovery_errors
from latentia.sequences import SpectralHMM, TwoStateHMM


@pytest.fixture(scope="module")
def chain():
    return planted.hidden_markov_chain(12_000, 3, 8, persistence=0.7, random_state=0)


@pytest.fixture(scope="module")
def model(chain):
    return SpectralHMM(3, n_splits=0).fit(chain.symbols)


def walk(startprob, transmat, lengths, rng):
    states = []
    for length in lengths:
        p = startprob
        for _ in range(length):
            states.append(min(int(np.searchsorted(np.cumsum(p), rng.random())), len(p) - 1))
            p = transmat[states[-1]]
    return np.array(states)


def test_samples_criteria_and_shares(chain, model):
    value, posteriors = model.score_samples(chain.symbols)
    assert value == pytest.approx(model.score(chain.symbols))
    assert (posteriors == model.predict_proba(chain.symbols)).all()
    m, n = 2 + 6 + 3 * 7, len(chain.symbols)
    assert model.bic(chain.symbols) == pytest.approx(-2 * value + m * np.log(n))
    assert model.aic(chain.symbols) == pytest.approx(-2 * value + 2 * m)
    np.testing.assert_allclose(model.stationary_ @ model.transmat_, model.stationary_, atol=1e-8)


def test_criteria_find_the_number_of_states(chain):
    found = [SpectralHMM(k, n_splits=0).fit(chain.symbols).bic(chain.symbols) for k in (2, 3, 4)]
    assert np.argmin(found) == 1


def test_two_states_have_the_methods():
    chain = planted.hidden_markov_chain(20_000, 2, 30, persistence=0.8, random_state=0)
    model = TwoStateHMM(n_splits=0).fit(chain.symbols)
    value, posteriors = model.score_samples(chain.symbols)
    assert value == pytest.approx(model.score(chain.symbols))
    assert posteriors.shape == (20_000, 2)
    assert model.aic(chain.symbols) < model.bic(chain.symbols)


def test_em_starts_where_it_is_told(chain, model):
    start = {"startprob": chain.startprob, "transmat": chain.transmat, "emissionprob": chain.emissionprob}
    for init in (start, model):
        again = SpectralHMM(3, init=init, n_splits=0).fit(chain.symbols)
        assert again.start_ == "init"
        assert again.score(chain.symbols) == pytest.approx(model.score(chain.symbols), abs=2)


def test_probabilities_of_zero_stay_zero():
    transmat = np.array([[0.9, 0.1, 0], [0, 0.9, 0.1], [0, 0, 1.0]])
    emissions = np.array([[0.7, 0.1, 0.1, 0.1], [0.1, 0.7, 0.1, 0.1], [0.1, 0.1, 0.4, 0.4]])
    rng, lengths = np.random.default_rng(0), [40] * 150
    states = walk(np.array([1.0, 0, 0]), transmat, lengths, rng)
    symbols = (np.cumsum(emissions, axis=1)[states] < rng.random(len(states))[:, None]).sum(axis=1)
    init = {"startprob": [1, 0, 0], "transmat": [[0.5, 0.5, 0], [0, 0.5, 0.5], [0, 0, 1]], "emissionprob": emissions}
    model = SpectralHMM(3, init=init, n_splits=0).fit(symbols, lengths)
    assert (model.transmat_ == 0).sum() == 4
    assert sorted(model.startprob_) == [0, 0, 1]
    assert recovery_errors(model.emissionprob_, emissions).max() < 0.1


@pytest.mark.parametrize(
    ("init", "message"),
    [
        ({"startprob": [0.5, 0.5]}, r"startprob of shape \(3,\); found"),
        ({"startprob": [1, 0, 0]}, "transmat is missing"),
        (
            {"startprob": [1, 1, 0], "transmat": np.eye(3), "emissionprob": np.full((3, 8), 1 / 8)},
            "probabilities that sum to one in startprob; row 0 sums to 2",
        ),
        (
            {"startprob": [1, 0, 0], "transmat": np.eye(3), "emissionprob": np.ones((3, 7))},
            r"emissionprob of shape \(3, 8\)",
        ),
    ],
)
def test_starts_that_are_none(chain, init, message):
    with pytest.raises(LatentiaError, match=message):
        SpectralHMM(3, init=init).fit(chain.symbols)


@pytest.mark.parametrize("kind", ["full", "tied"])
def test_covariances(kind, tmp_path):
    rng = np.random.default_rng(1)
    transmat = np.full((3, 3), 0.1) + 0.7 * np.eye(3)
    states = walk(np.ones(3) / 3, transmat, [6000], rng)
    shape = np.array([[1.0, 0.8], [0.8, 1.0]])
    turned = shape if kind == "tied" else np.array([[1.0, -0.8], [-0.8, 1.0]])
    covariances = np.array([shape, turned, shape])
    means = np.array([[0.0, 0], [4, 0], [0, 4]])
    X = means[states] + np.einsum("nij,nj->ni", np.linalg.cholesky(covariances)[states], rng.standard_normal((6000, 2)))
    model = SpectralHMM(3, covariance_type=kind, n_splits=0).fit(X)
    diagonal = SpectralHMM(3, n_splits=0).fit(X)
    assert model.bic(X) < diagonal.bic(X) - 500
    assert recovery_errors(model.means_, means, norm="l2").max() < 0.15
    if kind == "tied":
        np.testing.assert_allclose(model.covariances_, shape, atol=0.1)
    else:
        nearest = [int(np.linalg.norm(means - mean, axis=1).argmin()) for mean in model.means_]
        np.testing.assert_allclose(model.covariances_, covariances[nearest], atol=0.15)
    assert np.corrcoef(model.sample(4000)[0][model.sample(4000)[1] == 0].T)[0, 1] ** 2 > 0.4
    loaded = latentia.load(latentia.save(model, tmp_path / "m"))
    assert loaded.score(X) == model.score(X)


def test_missing_symbols_are_summed_over(chain):
    gone = np.random.default_rng(0).random(len(chain.symbols)) < 0.15
    for symbols in (
        np.where(gone, np.nan, chain.symbols)[:, None],
        np.where(gone, None, np.array(list("abcdefgh"))[chain.symbols]),
    ):
        model = SpectralHMM(3, kind="symbols").fit(symbols)
        assert recovery_errors(model.emissionprob_, chain.emissionprob).max() < 0.1
        assert model.predict(symbols).shape == symbols.shape[:1]
        at = np.flatnonzero(~gone[:-3] & ~gone[2:-1] & ~gone[3:])[0]
        few = symbols[at : at + 4].copy()
        few[1] = None
        first, last = model.emissionprob_[:, _code(model, few[0])], model.emissionprob_[:, _code(model, few[2])]
        third = model.emissionprob_[:, _code(model, few[3])]
        moves = model.transmat_
        expected = np.log(((model.startprob_ * first) @ moves @ moves * last) @ moves @ third)
        assert model.score(few) == pytest.approx(expected)


def _code(model, symbol):
    return int(np.flatnonzero(model.symbols_ == np.ravel(symbol)[0])[0])


def test_missing_vectors():
    chain = planted.gaussian_chain(8000, 3, 4, separation=4, persistence=0.7, random_state=0)
    X = chain.X.copy()
    X[np.random.default_rng(0).random(len(X)) < 0.15] = np.nan
    model = SpectralHMM(3).fit(X)
    assert recovery_errors(model.means_, chain.means, norm="l2").max() < 0.15
    assert model.evidence_.expected_error < 0.3
    assert np.isfinite(model.score(X))
    assert model.predict_proba(X).shape == (8000, 3)


def test_all_or_too_many_missing():
    with pytest.raises(LatentiaError, match="All 30 steps are missing"):
        SpectralHMM(2).fit(np.full((30, 2), np.nan))
    X = np.random.default_rng(0).standard_normal((30, 2))
    X[::3] = np.nan
    with pytest.raises(LatentiaError, match="three consecutive observed steps"):
        SpectralHMM(2).fit(X)


def test_an_absorbing_state_in_many_short_sequences():
    start, transmat = np.array([0.7, 0.3]), np.array([[0.85, 0.15], [0, 1.0]])
    emissions, lengths = np.array([[0.75, 0.25], [0.1, 0.9]]), [20] * 400
    rng = np.random.default_rng(0)
    states = walk(start, transmat, lengths, rng)
    answers = (rng.random(len(states)) < emissions[states, 1]).astype(int)
    model = SpectralHMM(2, n_splits=0).fit(answers, lengths)
    assert recovery_errors(model.emissionprob_, emissions).max() < 0.1
    assert model.transmat_.min() < 0.01
    known = int(model.emissionprob_[:, 1].argmax())
    assert model.weights_[known] == pytest.approx(states.mean(), abs=0.05)
    assert model.stationary_[known] > 0.9


def test_symbols_that_belong_to_one_state_each_are_found_with_any_seed():
    rng = np.random.default_rng(0)
    transmat = np.array([[0.02, 0.9, 0.08], [0.1, 0.1, 0.8], [0.8, 0.1, 0.1]])
    states = walk(np.ones(3) / 3, transmat, [15_000], rng)
    symbols = 100 * states + np.minimum(rng.geometric(0.05, len(states)) - 1, 99)
    model = SpectralHMM(3, n_symbols=300, n_splits=0).fit(symbols)
    truth = np.array([np.bincount(symbols[states == k], minlength=300) for k in range(3)], float)
    truth /= truth.sum(axis=1, keepdims=True)
    assert recovery_errors(model.emissionprob_, truth).max() < 0.1
    again = SpectralHMM(3, n_symbols=300, n_splits=0, random_state=7).fit(symbols)
    np.testing.assert_allclose(again.emissionprob_, model.emissionprob_, atol=0.02)


def test_chains_of_symbols_have_no_covariances_to_load(tmp_path):
    steps = np.arange(3000) // 7 % 2
    model = SpectralHMM(2, covariance_type="full", n_splits=0).fit(steps)
    again = latentia.load(latentia.save(model, tmp_path / "model"))
    np.testing.assert_array_equal(again.predict(steps), model.predict(steps))


def test_many_symbols_are_judged_by_what_halves_predict():
    """A penalty that counts each probability of each symbol would say that this chain predicts worse than frequencies."""
    rng, k, size = np.random.default_rng(0), 3, 600
    emissions = rng.dirichlet(np.full(size, 0.05), k)
    states = walk(np.full(k, 1 / k), 0.8 * np.eye(k) + 0.2 / k, [20] * 400, rng)
    symbols = (np.cumsum(emissions, axis=1)[states] < rng.random(len(states))[:, None]).sum(axis=1)
    evidence = SpectralHMM(k, n_symbols=size).fit(symbols, [20] * 400).evidence_
    assert evidence["better than independent symbols"].measured > 0.1
    shuffled = SpectralHMM(k, n_symbols=size).fit(rng.permutation(symbols), [20] * 400).evidence_
    assert shuffled.grade == "not supported"


def test_features_that_vary_together_are_no_misfit_of_covariances():
    rng = np.random.default_rng(0)
    means = 3 * rng.standard_normal((3, 4))
    states = walk(np.full(3, 1 / 3), 0.9 * np.eye(3) + 0.1 / 3, [3000], rng)
    steps = means[states] + rng.standard_normal((3000, 4)) + rng.standard_normal((3000, 1))
    grades = {kind: SpectralHMM(3, covariance_type=kind).fit(steps).evidence_ for kind in ("diag", "full")}
    assert grades["full"].grade == "supported"
    assert grades["diag"].grade != "supported"


def test_states_that_drift_are_seen():
    rng = np.random.default_rng(0)
    means = 3 * rng.standard_normal((3, 4))
    states = walk(np.full(3, 1 / 3), 0.9 * np.eye(3) + 0.1 / 3, [3000], rng)
    steps = means[states] + rng.standard_normal((3000, 4))
    still = SpectralHMM(3).fit(steps).evidence_
    moving = SpectralHMM(3).fit(steps + np.linspace(-0.5, 0.5, 3000)[:, None]).evidence_
    assert still["the same over time"].measured < 3 < moving["the same over time"].measured
    assert still.grade == "supported"
    assert moving.grade != "supported"
    assert (moving.component_errors > 2 * still.component_errors).all()
