from functools import cache

import numpy as np
import pandas as pd
import pytest

import latentia
from latentia import LatentiaError
from latentia.datasets import planted
from latentia.exceptions import DroppedDataWarning
from latentia.metrics import match_components, recovery_errors
from latentia.passes import Blocks
from latentia.sequences import SpectralHMM
from latentia.sequences._state_split_test import _measure_agreement


@pytest.fixture(scope="module")
def chain():
    return planted.hidden_markov_chain(20_000, 4, 12, persistence=0.8, random_state=0)


@pytest.fixture(scope="module")
def vectors():
    return planted.gaussian_chain(20_000, 4, 5, separation=4, persistence=0.6, random_state=0)


@pytest.fixture(scope="module")
def of_symbols(chain):
    """``of_symbols(n)``: a fit of n states that tests read only, made once."""
    return cache(lambda n: SpectralHMM(n, n_splits=0).fit(chain.symbols))


@pytest.fixture(scope="module")
def of_vectors(vectors):
    """A fit that tests read only."""
    return SpectralHMM(4, n_splits=0).fit(vectors.X)


@pytest.mark.parametrize("seed", range(10))
def test_every_seed_of_an_easy_chain(seed):
    chain = planted.hidden_markov_chain(20_000, 4, 12, persistence=0.8, random_state=seed)
    model = SpectralHMM(4, refine=5, n_splits=0).fit(chain.symbols)
    assert recovery_errors(model.emissionprob_, chain.emissionprob).max() < 0.1
    found, true = match_components(model.emissionprob_, chain.emissionprob)
    np.testing.assert_allclose(model.transmat_[np.ix_(found, found)], chain.transmat[np.ix_(true, true)], atol=0.05)


def test_moments_alone(chain):
    model = SpectralHMM(4, refine=0).fit(chain.symbols)
    assert recovery_errors(model.emissionprob_, chain.emissionprob).max() < 0.1
    np.testing.assert_allclose(model.transmat_.sum(axis=1), 1)
    np.testing.assert_allclose(model.emissionprob_.sum(axis=1), 1)
    np.testing.assert_allclose(model.weights_ @ model.transmat_, model.weights_, atol=1e-8)
    assert (np.diff(model.weights_) <= 0).all()
    assert model.n_passes_ == 2


def test_vectors(vectors):
    plain, refined = SpectralHMM(4, refine=0).fit(vectors.X), SpectralHMM(4).fit(vectors.X)
    assert recovery_errors(plain.means_, vectors.means, norm="l2").max() < 0.25
    assert recovery_errors(refined.means_, vectors.means, norm="l2").max() < 0.1
    np.testing.assert_allclose(refined.variances_, 1, atol=0.1)
    assert not hasattr(plain, "emissionprob_")
    assert not hasattr(plain, "symbols_")
    found, true = match_components(refined.means_, vectors.means)
    states = true[np.argsort(found)][refined.predict(vectors.X)]
    assert (states == vectors.states).mean() > 0.95


def test_one_feature_carries_two_states_wherever_the_origin_is():
    chain = planted.gaussian_chain(20_000, 2, 1, separation=3, persistence=0.7, random_state=1)
    model = SpectralHMM(2).fit(chain.X + 1e6)
    assert np.abs(np.sort(model.means_.ravel()) - 1e6 - np.sort(chain.means.ravel())).max() < 0.2
    with pytest.raises(LatentiaError, match="at most 2 states by moments alone; without refine=0, EM fits more"):
        SpectralHMM(3, refine=0).fit(chain.X)


def test_one_feature_carries_many_states_by_em_from_clusters():
    rng = np.random.default_rng(0)
    states = np.repeat(rng.integers(5, size=300), 10)
    levels = np.array([0.0, 3.0, 6.0, 9.0, 12.0])
    model = SpectralHMM(5).fit(levels[states] + rng.standard_normal(3000))
    assert model.start_ == "clusters"
    np.testing.assert_allclose(np.sort(model.means_.ravel()), levels, atol=0.3)
    assert model.evidence_.grade in ("supported", "with care")
    assert any(check.name == "states by moments" for check in model.evidence_.checks)
    assert model.sample(10)[0].shape == (10, 1)


def test_states_that_differ_in_spread_alone_are_found():
    rng = np.random.default_rng(1)
    spreads = np.array([0.3, 1.0, 3.0])
    states = np.repeat(rng.integers(3, size=60), 50)
    model = SpectralHMM(3).fit(spreads[states] * rng.standard_normal(3000))
    np.testing.assert_allclose(np.sort(np.sqrt(model.variances_.ravel())), spreads, rtol=0.15)
    nearest = np.argsort(model.variances_.ravel())
    x = spreads[states] * rng.standard_normal(3000)
    assert (nearest[states] == model.predict(x)).mean() > 0.9
    gain = next(check for check in model.evidence_.checks if check.name == "better than one Gaussian")
    assert gain.holds


def test_more_states_than_columns_with_covariances_missing_steps_and_a_given_start():
    rng = np.random.default_rng(2)
    X = np.repeat(4.0 * rng.integers(4, size=200), 8)[:, None] + rng.standard_normal((1600, 2))
    full = SpectralHMM(4, covariance_type="full", n_splits=1).fit(X)
    assert full.covariances_.shape == (4, 2, 2)
    again = SpectralHMM(4, init=full, n_splits=1).fit(X)
    assert again.start_ == "init"
    X[50:60] = np.nan
    gappy = SpectralHMM(4, n_splits=1).fit(X)
    assert recovery_errors(gappy.means_, full.means_, norm="l2").max() < 0.2


@pytest.mark.parametrize(
    ("length", "most"), [(3, 0.15), (4, 0.1), (10, 0.1), (50, 0.1)]
)  # of 3 steps a third has a past
def test_short_sequences(length, most):
    n = 120_000 // length
    chain = planted.hidden_markov_chain(lengths=[length] * n, n_states=3, n_symbols=8, persistence=0.6, random_state=2)
    model = SpectralHMM(3, refine=5).fit(chain.symbols, chain.lengths)
    assert recovery_errors(model.emissionprob_, chain.emissionprob).max() < most
    found, true = match_components(model.emissionprob_, chain.emissionprob)
    np.testing.assert_allclose(model.startprob_[found], chain.startprob[true], atol=most)


def test_a_large_alphabet_with_frequencies_as_in_text():
    emissions = planted.topic_model(6, 1000, random_state=0).topics
    chain = planted.hidden_markov_chain(
        100_000, 6, 12, persistence=0.5, min_mass=0.05, min_singular_value=0, random_state=0
    )
    rng = np.random.default_rng(0)
    symbols = np.empty(len(chain.states), np.int64)
    for k, row in enumerate(emissions):
        steps = np.flatnonzero(chain.states == k)
        symbols[steps] = rng.choice(1000, size=len(steps), p=row)
    model = SpectralHMM(6, n_symbols=1000, refine=10, n_splits=0).fit(symbols)
    assert recovery_errors(model.emissionprob_, emissions).mean() < 0.3
    assert model.start_ == "moments"
    assert model.n_passes_ == 20 + 11  # those of the start from classes, which loses: counts and ten steps


def test_a_start_that_is_not_the_stationary_distribution():
    chain = planted.hidden_markov_chain(40_000, 3, 8, persistence=0.7, random_state=3)
    starts = np.flatnonzero(chain.states == 1)[::8][:800]
    starts = starts[starts < 39_990]
    symbols = np.concatenate([chain.symbols[s : s + 10] for s in starts])
    model = SpectralHMM(3, refine=5).fit(symbols, [10] * len(starts))
    found, true = match_components(model.emissionprob_, chain.emissionprob)
    assert model.startprob_[found[list(true).index(1)]] > 0.8


def test_strings_integers_and_frames(chain):
    names = np.array([f"s{i:02d}" for i in range(12)])
    plain = SpectralHMM(4).fit(chain.symbols)
    named = SpectralHMM(4).fit(names[chain.symbols])
    framed = SpectralHMM(4).fit(pd.DataFrame({"x": chain.symbols}))
    column = SpectralHMM(4).fit(chain.symbols[:, None])
    for other in (named, framed, column):
        assert (other.emissionprob_ == plain.emissionprob_).all()
    assert named.symbols_.tolist() == names.tolist()
    assert (named.predict(names[chain.symbols[:100]]) == plain.predict(chain.symbols[:100])).all()
    wide = SpectralHMM(4, n_symbols=15).fit(chain.symbols)
    assert wide.emissionprob_.shape == (4, 15)
    assert (wide.emissionprob_[:, 12:] < 1e-4).all()  # never seen: pseudo-counts alone


def test_the_same_bits_for_any_input_form_and_number_of_threads(vectors):
    lengths = [500] * 40
    first = SpectralHMM(4, refine=2).fit(vectors.X, lengths)
    for other in (
        SpectralHMM(4, refine=2, n_jobs=2).fit(vectors.X, lengths),
        SpectralHMM(4, refine=2).fit(Blocks.from_array(vectors.X, lengths=lengths)),
    ):
        assert (other.means_ == first.means_).all()
        assert (other.evidence_.component_errors == first.evidence_.component_errors).all()


def test_path_smoothing_and_likelihood(chain):
    model = SpectralHMM(4, refine=5).fit(chain.symbols)
    path = model.predict(chain.symbols)
    found, true = match_components(model.emissionprob_, chain.emissionprob)
    assert (true[np.argsort(found)][path] == chain.states).mean() > 0.75
    proba = model.predict_proba(chain.symbols)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    value, same = model.decode(chain.symbols)
    assert (same == path).all()
    assert value < model.score(chain.symbols) < 0
    lengths = [5000] * 4
    assert model.score(chain.symbols, lengths) == pytest.approx(model.score(chain.symbols), rel=1e-3)
    symbols, states = model.sample(5000)
    assert set(states) <= set(range(4))
    drawn = np.bincount(symbols[states == 0], minlength=12) / (states == 0).sum()
    np.testing.assert_allclose(drawn, model.emissionprob_[0], atol=0.05)


def test_a_symbol_that_was_never_seen_is_not_impossible(chain):
    model = SpectralHMM(4, n_symbols=13).fit(chain.symbols)
    assert np.isfinite(model.score(np.append(chain.symbols[:100], 12)))


def test_evidence_and_stability(chain, vectors, tmp_path):
    model = SpectralHMM(4).fit(chain.symbols)
    assert model.evidence_.holds
    assert model.evidence_["rank supported"].measured == 4
    loaded = latentia.load(latentia.save(model, tmp_path / "m"))
    assert (loaded.predict(chain.symbols) == model.predict(chain.symbols)).all()
    errors = loaded.evidence_.stability(chain.symbols, n_splits=1)
    assert errors.mean() == pytest.approx(model.evidence_.component_errors.mean(), rel=0.7)
    continuous = SpectralHMM(4).fit(vectors.X, [1000] * 20)
    assert continuous.evidence_.holds
    assert continuous.evidence_.stability(vectors.X, n_splits=1, lengths=[1000] * 20).shape == (4,)


@pytest.mark.parametrize("seed", range(4))
def test_independent_symbols_are_not_called_a_chain(seed):
    evidence = SpectralHMM(2).fit(np.random.default_rng(seed).integers(0, 8, 5000)).evidence_
    assert evidence.expected_error > evidence.limit
    assert not evidence.holds


@pytest.mark.parametrize("refine", [0, 2])
def test_errors_that_were_not_measured_do_not_hold(chain, refine):
    evidence = SpectralHMM(4, refine=refine, n_splits=0).fit(chain.symbols).evidence_
    assert evidence["expected error"].measured is None
    assert not evidence.holds


def test_refitting_on_another_kind_forgets_the_first(chain, vectors):
    model = SpectralHMM(4).fit(chain.symbols)
    model.fit(vectors.X)
    assert not hasattr(model, "emissionprob_")
    model.fit(chain.symbols)
    assert not hasattr(model, "means_")


def test_bad_input(chain):
    x = chain.symbols[:300]
    with pytest.raises(LatentiaError, match="All 150 sequences have fewer than 3 steps"):
        SpectralHMM(2).fit(x, [2] * 150)
    with pytest.raises(LatentiaError, match="lengths add up to 200, and the data has 300 rows"):
        SpectralHMM(2).fit(x, [100, 100])
    with pytest.raises(LatentiaError, match="^n_symbols=5: symbol 11 is outside the alphabet"):
        SpectralHMM(2, n_symbols=5).fit(chain.symbols)
    with pytest.raises(LatentiaError, match="row 3 holds -1"):
        SpectralHMM(2).fit(np.where(np.arange(300) == 3, -1, x))
    with pytest.raises(
        LatentiaError,
        match=r"^n_components=13: only 12 different symbols occur: .* 12 states\. Its moments carry fewer: 6 can be fitted",
    ):
        SpectralHMM(13).fit(chain.symbols)
    with pytest.raises(LatentiaError, match="one column of symbols"):
        SpectralHMM(2, kind="symbols").fit(np.zeros((30, 2), int))
    with pytest.raises(LatentiaError, match="whole numbers or strings"):
        SpectralHMM(2, kind="symbols").fit(np.linspace(0, 1, 30))
    with pytest.raises(LatentiaError, match="NaN"):
        SpectralHMM(2).fit(np.full((30, 2), np.nan))
    with pytest.raises(LatentiaError, match="a sequence of symbols or vectors"):
        SpectralHMM(2).fit([])
    model = SpectralHMM(3).fit(np.array(list("abcdefghijkl"))[chain.symbols])
    with pytest.raises(LatentiaError, match=r"Symbol 'zebra' in row 1 is outside the alphabet of 12 symbols \(a, b"):
        model.predict(["a", "zebra"])
    with pytest.warns(DroppedDataWarning, match="1 of 2 sequences have fewer than 3 steps"):
        SpectralHMM(2).fit(x, [298, 2])


def test_blocks_and_arrays_agree(chain, vectors):
    lengths = [4000, 6000, 10_000]
    for steps in (chain.symbols[:, None], vectors.X):
        blocks = Blocks.from_array(steps, lengths=lengths, block_rows=3000)
        model = SpectralHMM(4, refine=1).fit(steps, lengths)
        other = SpectralHMM(4, refine=1).fit(blocks)
        np.testing.assert_allclose(other.transmat_, model.transmat_, atol=1e-10)
        assert (model.predict(blocks) == model.predict(steps, lengths)).all()
        assert model.score(blocks) == pytest.approx(model.score(steps, lengths))
        assert other.evidence_.stability(blocks, n_splits=1).shape == (4,)


USES = ["predict", "decode", "predict_proba", "score"]


@pytest.mark.parametrize("use", USES)
def test_what_is_no_number_is_named_in_blocks(vectors, of_vectors, use):
    x = vectors.X[:100].copy()
    x[77, 3] = np.nan
    with pytest.raises(LatentiaError, match="Row 77, column 3: NaN"):
        getattr(of_vectors, use)(Blocks.from_array(x, lengths=[30, 30, 40], block_rows=30))
    x[77, 3] = np.inf
    with pytest.raises(LatentiaError, match="Row 77, column 3: infinity"):
        getattr(of_vectors, use)(x)


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize(
    ("symbol", "message"),
    [
        (np.nan, "whole numbers.*; row 77 holds nan"),
        (np.inf, "whole numbers.*; row 77 holds inf"),
        (0.5, "whole numbers.*; row 77 holds 0.5"),
        (-1.0, "Symbol '-1' in row 77 is outside the alphabet of 12 symbols"),
        (12.0, "Symbol '12' in row 77 is outside the alphabet of 12 symbols"),
    ],
)
def test_symbols_outside_the_alphabet_are_named_in_blocks(chain, of_symbols, use, symbol, message):
    model = of_symbols(4)
    x = chain.symbols[:100, None].astype(float)
    x[77] = symbol
    with pytest.raises(LatentiaError, match=message):
        getattr(model, use)(Blocks.from_array(x, lengths=[30, 30, 40], block_rows=30))


@pytest.mark.parametrize(
    ("symbol", "message"),
    [(np.nan, "whole numbers.*; row 777 holds nan"), (-1.0, "whole numbers from 0; row 777 holds -1")],
)
def test_bad_symbols_of_a_fit_on_blocks_are_named(chain, symbol, message):
    x = chain.symbols[:1000, None].astype(float)
    x[777] = symbol
    with pytest.raises(LatentiaError, match=message):
        SpectralHMM(2, kind="symbols").fit(Blocks.from_array(x, lengths=[100] * 10, block_rows=300))
    with pytest.raises(LatentiaError, match="row 777"):
        SpectralHMM(2, kind="symbols", n_symbols=12).fit(Blocks.from_array(x, lengths=[100] * 10, block_rows=300))


@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        ([[100, 200], [200]], "expected a list of whole numbers"),
        (500, "expected a list of whole numbers"),
        ([[250, 250]], "expected a list of whole numbers"),
        (["a", "b"], "whole numbers of at least 1, found 'a' at position 0"),
        ([250.0, 250.0], "whole numbers of at least 1, found 250.0 at position 0"),
        ([True] * 500, "whole numbers of at least 1, found True at position 0"),
        ([250, None, 250], "whole numbers of at least 1, found None at position 1"),
        ([600, -100], "whole numbers of at least 1, found -100 at position 1"),
        ([0, 500], "whole numbers of at least 1, found 0 at position 0"),
        ([200, 200], "lengths add up to 400, and the data has 500 rows"),
        ([], "lengths add up to 0, and the data has 500 rows"),
        ([2**62] * 4 + [500], "lengths add up to 18446744073709552116, and the data has 500 rows"),
        ([2**70, 500], "lengths add up to 1180591620717411303924, and the data has 500 rows"),
    ],
    ids=str,
)
def test_bad_lengths(chain, of_symbols, lengths, message):
    model = of_symbols(2)
    for use in (SpectralHMM(2).fit, model.predict, model.score):
        with pytest.raises(LatentiaError, match=message):
            use(chain.symbols[:500], lengths)


@pytest.mark.parametrize(
    "kind", [list, tuple, np.array, lambda n: np.array(n, np.uint8), lambda n: np.array(n, object)]
)
def test_lengths_of_any_kind(chain, of_symbols, kind):
    model = of_symbols(2)
    lengths = [200, 50, 250]
    assert model.score(chain.symbols[:500], kind(lengths)) == model.score(chain.symbols[:500], lengths)


@pytest.mark.parametrize("size", [0, -1, 2.5, True, "3", None])
def test_bad_sizes_of_samples(of_symbols, size):
    model = of_symbols(2)
    with pytest.raises(LatentiaError, match="^n_samples="):
        model.sample(size)


def test_a_fit_that_fails_changes_nothing(chain, vectors):
    model = SpectralHMM(4).fit(chain.symbols)
    path = model.predict(chain.symbols)
    with pytest.raises(LatentiaError, match="supports at most 4 states"):
        model.set_params(n_components=9, refine=0).fit(vectors.X[:, :3])
    assert (model.predict(chain.symbols) == path).all()
    assert len(set(model.sample(1000)[1])) == 4


def test_empty_data(of_symbols):
    model = of_symbols(2)
    for use in (SpectralHMM(2).fit, model.predict):
        with pytest.raises(LatentiaError, match="The data is empty"):
            use(Blocks.from_array(np.empty((0, 1), int), lengths=[]))


def test_sequences_of_different_lengths_are_joined(of_symbols):
    model = of_symbols(2)
    np.testing.assert_array_equal(model.predict([[1, 2], [3]]), model.predict([1, 2, 3], lengths=[2, 1]))


def test_the_warning_points_at_the_line_that_fits(chain):
    with pytest.warns(DroppedDataWarning) as caught:
        SpectralHMM(2).fit(chain.symbols[:300], [298, 2])
    said = [str(warning.message) for warning in caught]
    assert [warning.filename for warning in caught] == [__file__] * 2
    assert "fewer than 3 steps" in said[0]
    assert "NOT SUPPORTED" in said[1]  # two states of four


def test_a_state_that_stands_for_two_is_seen():
    symbols = planted.hidden_markov_chain(10_000, 4, 12, persistence=0.6, random_state=4).symbols
    few, right = (SpectralHMM(k).fit(symbols).evidence_ for k in (3, 4))
    assert few["one state more"].measured > 1.5 * few["one state more"].bound.limit
    assert few.grade != "supported"
    assert "compare with 4" in few.advice
    assert right["one state more"].holds
    assert right.grade == "supported"


def test_a_state_of_one_symbol_stands_for_no_other():
    strength, scores = _measure_agreement(np.array([1.0, 0.0, 0.0]), np.eye(3)[:, :2], [], [])
    assert strength == 0
    assert not scores.any()


@pytest.mark.parametrize("refine", [0, 5])
def test_a_chain_that_has_not_settled_is_not_compared_with_one_of_a_state_more(chain, refine):
    assert "one state more" not in [
        check.name for check in SpectralHMM(4, refine=refine).fit(chain.symbols).evidence_.checks
    ]


@pytest.mark.parametrize("refine", [0, "auto"])
def test_chains_that_predict_worse_than_independent_steps_are_not_supported(refine):
    rng = np.random.default_rng(3)
    symbols = SpectralHMM(4, refine=refine).fit(rng.integers(0, 12, 600)).evidence_
    assert symbols["better than independent symbols"].measured < 0
    assert symbols.grade == "not supported"
    rows = SpectralHMM(4, refine=refine).fit(rng.standard_normal((400, 5))).evidence_
    assert rows["better than one Gaussian"].measured < 0
    assert rows.grade == "not supported"


def test_noise_with_memory_is_seen():
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((5000, 4))
    for t in range(1, 5000):
        noise[t] = 0.9 * noise[t - 1] + 0.44 * noise[t]
    evidence = SpectralHMM(3, refine=0).fit(noise).evidence_
    assert not evidence["independence of past and future"].holds
    assert evidence.grade == "not supported"


def test_too_few_states_are_seen(chain):
    full = SpectralHMM(4, refine=0).fit(chain.symbols).evidence_
    assert full["goodness of fit"].holds
    assert full["independence of past and future"].holds
    fewer = SpectralHMM(3, refine=0).fit(chain.symbols).evidence_
    assert not fewer["rank supported"].holds
    assert fewer.expected_error > 2 * full.expected_error


def test_copies_of_sequences_do_not_make_errors_smaller():
    chain = planted.hidden_markov_chain(3000, 3, 10, random_state=0)
    few = SpectralHMM(3, refine=0).fit(chain.symbols, lengths=[50] * 60).evidence_
    many = SpectralHMM(3, refine=0).fit(np.tile(chain.symbols, 8), lengths=[50] * 480).evidence_
    assert many.expected_error > 0.6 * few.expected_error
