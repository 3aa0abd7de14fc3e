"""Chains of counts, and filtering step by step."""

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import nbinom, poisson

import latentia
from latentia import LatentiaError
from latentia.datasets import planted
from latentia.metrics import match_components
from latentia.passes import Blocks
from latentia.sequences import SpectralHMM, TwoStateHMM
from latentia.sequences._counts import Counts, _score_wandering_rates
from latentia.sequences.recursions import log_likelihood


@pytest.fixture(scope="module")
def chain():
    return planted.count_chain(4000, 3, 2, persistence=0.7)


@pytest.fixture(scope="module")
def model(chain):
    return SpectralHMM(3, kind="counts").fit(chain.X)


def from_truth(chain):
    init = {"startprob": chain.startprob, "transmat": chain.transmat, "means": chain.rates}
    return SpectralHMM(len(chain.rates), kind="counts", n_splits=0, init=init).fit(chain.X, chain.lengths)


@pytest.mark.parametrize("sizes", [(3, 1), (4, 4), (5, 25)])
def test_the_optimum_of_em_from_the_truth(sizes):
    chain = planted.count_chain(4000, *sizes, persistence=0.7, random_state=1)
    model = SpectralHMM(sizes[0], kind="counts", n_splits=0).fit(chain.X)
    assert model.score(chain.X) > from_truth(chain).score(chain.X) - 0.1
    found, true = match_components(model.means_, chain.rates)
    np.testing.assert_allclose(model.means_[found], chain.rates[true], rtol=0.15, atol=0.15)
    np.testing.assert_allclose(model.transmat_[np.ix_(found, found)], chain.transmat[np.ix_(true, true)], atol=0.08)


def test_evidence(chain, model):
    evidence = model.evidence_
    assert evidence.grade in ("supported", "with care")
    found, true = match_components(model.means_, chain.rates)
    apart = (model.means_[found] - chain.rates[true]) / chain.X.std(axis=0)
    assert np.linalg.norm(apart, axis=1).mean() < 2 * evidence.expected_error


def test_likelihood_is_that_of_poisson_counts(chain, model):
    density = poisson.logpmf(chain.X[:, None, :], model.means_).sum(axis=2)
    expected = log_likelihood(model.startprob_, model.transmat_, density, [len(density)])
    assert model.score(chain.X) == pytest.approx(expected)
    assert model.bic(chain.X) == pytest.approx(-2 * expected + (2 + 6 + 6) * np.log(len(chain.X)))
    assert (model.variances_ == model.means_).all()


def test_what_indicators_are_in_a_state():
    """Means and covariances of the columns that moments are taken of, from rates, and of draws."""
    rates, weights = np.array([[1.0, 3.0], [4.0, 0.5]]), np.array([0.5, 0.5])
    kind = Counts(thresholds=np.array([[0.0, 2.0], [1.0, 3.0]]))
    draws = np.random.default_rng(0).poisson(rates[:, None, :], (2, 200_000, 2)).astype(float)
    tables = [next(iter(kind.moment_blocks(Blocks.from_array(one, lengths=[len(one)]))))[0] for one in draws]
    np.testing.assert_allclose(kind.expected_columns(rates), [one.mean(axis=0) for one in tables], atol=0.03)
    noise = kind.noise(kind.build_chain((weights, np.eye(2), rates)), np.ones(2), weights)
    np.testing.assert_allclose(noise, np.mean([np.cov(one.T) for one in tables], axis=0), atol=0.03)


def test_counts_without_states_are_denied():
    """Also where they vary more than a Poisson count: a mixture of states that come in any order says as much."""
    counts = np.random.default_rng(0).negative_binomial(2, 0.3, (3000, 1))
    with pytest.warns(latentia.exceptions.NotSupportedWarning):
        evidence = SpectralHMM(2, kind="counts").fit(counts).evidence_
    assert not evidence["better than independent steps"].holds


def test_rates_that_wander_are_no_states(chain, model):
    """A line that is cut into high, middle and low rates repeats in every half, and counts are told by those before them."""
    level = lfilter([1.0], [1, -0.95], np.random.default_rng(0).standard_normal(3000))
    counts = np.random.default_rng(1).poisson(5 * np.exp(0.5 * level / level.std()))[:, None]
    with pytest.warns(latentia.exceptions.NotSupportedWarning):
        evidence = SpectralHMM(3, kind="counts").fit(counts).evidence_
    assert not evidence["better than rates that wander"].holds
    assert evidence.found_again.max() < 0.75
    assert model.evidence_["better than rates that wander"].measured > 0.1


def test_levels_that_wander_are_filtered():
    """Against the recursion step by step."""
    rows, lengths, kept = np.array([[3.0], [0.0], [7.0], [2.0], [5.0]]), np.array([2, 3]), 0.8
    found, mean, inverse_scale = [], 3.0, 0.5
    for sequence in (rows[:2, 0], rows[2:, 0]):
        total = n = 0.0
        for count in sequence:
            shape, rate = mean * inverse_scale + total, inverse_scale + n
            found.append(nbinom.logpmf(count, shape, rate / (1 + rate)))
            total, n = kept * (total + count), kept * (n + 1)
    given = np.array([mean]), np.array([inverse_scale])
    np.testing.assert_allclose(_score_wandering_rates(rows, lengths, *given, kept)[:, 0], found, rtol=1e-6)


def test_counts_that_vary_too_much_are_told():
    chain = planted.count_chain(4000, 2, 2, persistence=0.8)
    wide = np.random.default_rng(0).negative_binomial(2, 2 / (2 + chain.rates[chain.states]))
    evidence = SpectralHMM(2, kind="counts").fit(wide).evidence_
    assert not evidence["independence of features"].holds


def test_missing_steps_and_files(chain, model, tmp_path):
    gone = np.random.default_rng(0).random(len(chain.X)) < 0.15
    holes = np.where(gone[:, None], np.nan, chain.X)
    found = SpectralHMM(3, kind="counts", n_splits=0).fit(holes)
    np.testing.assert_allclose(found.means_, model.means_, rtol=0.1, atol=0.1)
    assert found.predict(holes).shape == gone.shape
    loaded = latentia.load(latentia.save(model, tmp_path / "m"))
    assert loaded.score(chain.X) == model.score(chain.X)
    drawn, states = loaded.sample(2000)
    assert drawn.dtype.kind == "i"
    np.testing.assert_allclose(drawn[states == 0].mean(axis=0), model.means_[0], rtol=0.2)
    assert model.tables["states"].rows()[0]["mean"] == pytest.approx(model.means_[0, 0])


@pytest.mark.parametrize("bad", [-1.0, 0.5, np.inf])
def test_what_is_no_count_is_named(chain, model, bad):
    X = chain.X.astype(float)
    X[7, 1] = bad
    with pytest.raises(LatentiaError, match="7"):
        SpectralHMM(3, kind="counts").fit(X)
    with pytest.raises(LatentiaError, match="7"):
        model.score(X)
    with pytest.raises(LatentiaError, match="7"):
        SpectralHMM(3, kind="counts").fit(Blocks.from_array(X, lengths=[len(X)]))
    with pytest.raises(LatentiaError, match="covariance_type"):
        SpectralHMM(3, kind="counts", covariance_type="full").fit(chain.X)


def test_a_fit_of_hmmlearn_is_a_start(chain, model):
    class PoissonHMM:
        startprob_, transmat_, lambdas_ = chain.startprob, chain.transmat, chain.rates

    found = SpectralHMM(3, kind="counts", n_splits=0, init=PoissonHMM()).fit(chain.X)
    assert found.score(chain.X) == pytest.approx(model.score(chain.X), abs=0.1)


# --- filtering ----------------------------------------------------------------------------------------------------


def test_filtering_uses_no_later_step(chain, model):
    filtered = model.filter(chain.X)
    np.testing.assert_allclose(filtered[:100], model.filter(chain.X[:100]))
    for t in (0, 5, 99):
        np.testing.assert_allclose(filtered[t], model.predict_proba(chain.X[: t + 1])[-1])
    two = model.filter(chain.X[:100], [60, 40])
    np.testing.assert_allclose(two[60:], model.filter(chain.X[60:100]))


def of_kind(kind):
    if kind == "counts":
        X = planted.count_chain(2000, 2, 2).X
        return SpectralHMM(2, kind="counts", n_splits=0).fit(X), X
    if kind == "vectors":
        X = planted.gaussian_chain(2000, 2, 2).X
        return SpectralHMM(2, n_splits=0).fit(X), X
    symbols = planted.hidden_markov_chain(2000, 2, 5, persistence=0.8).symbols
    if kind == "two states":
        return TwoStateHMM().fit(symbols), symbols
    symbols = np.array(list("abcde"))[symbols] if kind == "strings" else symbols
    return SpectralHMM(2, n_splits=0).fit(symbols), symbols


@pytest.mark.parametrize("kind", ["counts", "vectors", "symbols", "strings", "two states"])
def test_a_step_at_a_time(kind):
    model, X = of_kind(kind)
    state = None
    for x, expected in zip(X[:30], model.filter(X[:30]), strict=True):
        state = model.filter_step(x, state)
        np.testing.assert_allclose(state, expected)
    np.testing.assert_allclose(model.filter_step(None, state), state @ model.transmat_)
    for wrong in ([0.5, 0.6], [1.0], [-0.5, 1.5]):
        with pytest.raises(LatentiaError, match="filter_step returns"):
            model.filter_step(X[0], wrong)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_sample_whose_column_has_no_count_has_a_score():
    rows = np.column_stack([np.random.default_rng(0).poisson(2.0, 50), np.zeros(50)])
    ((scores, *_),) = Counts.score_drifting_steps(None, Blocks.from_array(rows, lengths=[50]))
    assert np.isfinite(scores).all()
