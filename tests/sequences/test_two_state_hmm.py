"""Chains of two states: recovery by moments, the cubic, detection, entropy rate, inputs and errors."""

import numpy as np
import pytest

import latentia
from latentia import LatentiaError
from latentia.datasets import planted
from latentia.exceptions import EvidenceWarning
from latentia.passes import Blocks
from latentia.sequences import TwoStateHMM


def errors(model, chain):
    """Mean l1 error of the emissions and largest error of a transition, states matched."""
    found = []
    for order in ([0, 1], [1, 0]):
        emission = np.abs(model.emissionprob_[order] - chain.emissionprob).sum(axis=1).mean()
        found.append((emission, np.abs(model.transmat_[np.ix_(order, order)] - chain.transmat).max()))
    return min(found)


@pytest.fixture(scope="module")
def halves():
    return planted.two_state_chain(50_000, 1000, switch=(0.25, 0.25), emissions="halves", random_state=5)


@pytest.fixture(scope="module")
def fitted(halves):
    """A fit that tests read only."""
    return TwoStateHMM().fit(halves.symbols)


def test_the_family_of_the_theorem_is_recovered(halves, fitted):
    emission, transition = errors(fitted, halves)
    assert fitted.detected_
    assert emission < 0.2
    assert transition < 0.02
    assert fitted.evidence_.holds
    assert fitted.evidence_.component_errors == pytest.approx(emission, rel=0.4)


@pytest.mark.parametrize("switch", [(0.05, 0.3), (0.1, 0.1), (0.8, 0.7), (0.5, 0.9)], ids=str)
def test_asymmetric_and_alternating_chains(switch):
    chain = planted.two_state_chain(200_000, 500, switch=switch, emissions="uniform", contrast=2.0, random_state=3)
    model = TwoStateHMM().fit(chain.symbols)
    emission, transition = errors(model, chain)
    assert model.detected_
    assert transition < 0.03
    assert emission < 0.25
    assert model.weights_[0] >= model.weights_[1]
    assert model.transmat_.sum(axis=1) == pytest.approx(1)
    assert (model.transmat_ >= 0).all()


def test_the_cubic_on_a_symmetric_chain(halves):
    emission, transition = errors(TwoStateHMM(method="cubic").fit(halves.symbols), halves)
    assert emission < 0.2
    assert transition < 0.03


def test_moments_are_those_of_the_model():
    """The three identities of the module, on exact expectations."""
    rng = np.random.default_rng(0)
    transmat = np.array([[0.9, 0.1], [0.3, 0.7]])
    shares = np.array([0.75, 0.25])
    p = rng.dirichlet(np.ones(6), 2)
    y = rng.standard_normal(6)
    y -= shares @ p @ y
    means = p @ y
    c1 = np.einsum("i,ij,i,j->", shares, transmat, means, means)
    c2 = np.einsum("i,ij,i,j->", shares, transmat @ transmat, means, means)
    c3 = np.einsum("i,ij,jk,i,j,k->", shares, transmat, transmat, means, means, means)
    apart = means[0] - means[1]
    assert c2 / c1 == pytest.approx(np.trace(transmat) - 1)
    assert apart**2 == pytest.approx((c3 / c2) ** 2 + 4 * c1 / (c2 / c1))
    assert shares[1] - shares[0] == pytest.approx(c3 / c2 / apart)


@pytest.mark.parametrize(("n", "m"), [(20_000, 1000), (5000, 5000), (50_000, 200)])
def test_nothing_is_detected_in_independent_draws(n, m):
    found = 0
    for seed in range(5):
        symbols = np.random.default_rng(seed).integers(0, m, n)
        with pytest.warns(EvidenceWarning, match="No second state"):
            model = TwoStateHMM(n_symbols=m).fit(symbols)
        found += model.detected_
        assert not model.evidence_.holds
        assert model.emissionprob_[0] == pytest.approx(model.emissionprob_[1])
        assert np.isfinite(model.score(symbols))
    assert found == 0


def test_refining_keeps_the_transitions_and_raises_the_likelihood(halves):
    plain, refined = (TwoStateHMM(refine=n).fit(halves.symbols) for n in (0, 5))
    assert (plain.transmat_ == refined.transmat_).all()
    assert refined.score(halves.symbols) > plain.score(halves.symbols)
    assert errors(refined, halves)[0] < 0.2


def test_em_lowers_the_error_also_where_the_states_are_hardly_apart(halves):
    close = planted.two_state_chain(100_000, n_symbols=1000, contrast=0.7, random_state=2)
    for chain, gain in ((halves, 0.95), (close, 1.0)):
        plain, refined = (TwoStateHMM(refine=refine).fit(chain.symbols) for refine in (0, "auto"))
        assert refined.detected_
        assert refined.evidence_["EM has converged"].holds
        assert errors(refined, chain)[0] < gain * errors(plain, chain)[0]
        assert errors(refined, chain)[0] == pytest.approx(refined.evidence_.expected_error, rel=0.4)


def test_the_cubic_is_refined_by_a_number_of_steps_alone(halves):
    assert len(TwoStateHMM(method="cubic").fit(halves.symbols).refinement_) == 0
    assert len(TwoStateHMM(method="cubic", refine=2).fit(halves.symbols).refinement_) == 2


def test_the_entropy_rate(halves):
    true = TwoStateHMM()
    model = true.fit(halves.symbols)
    found = model.entropy_rate()
    model.emissionprob_, model.transmat_ = halves.emissionprob, halves.transmat
    assert abs(found - model.entropy_rate()) < 0.05
    assert model.entropy_rate() < np.log(1000)


def test_decoding_scoring_and_sampling(halves, fitted):
    agreement = (fitted.predict(halves.symbols) == halves.states).mean()
    assert max(agreement, 1 - agreement) > 0.9
    assert fitted.predict_proba(halves.symbols[:10]).sum(axis=1) == pytest.approx(1)
    assert fitted.decode(halves.symbols[:10])[0] < 0
    symbols, states = fitted.sample(5000, random_state=2)
    assert symbols.shape == states.shape == (5000,)
    assert (states[1:] != states[:-1]).mean() == pytest.approx(0.25, abs=0.04)


def test_strings_lengths_and_blocks_agree(halves):
    lengths = [20_000, 30_000]
    plain = TwoStateHMM().fit(halves.symbols, lengths)
    names = np.array([f"s{i:04d}" for i in halves.symbols])
    strings = TwoStateHMM().fit(names, lengths)
    blocks = TwoStateHMM().fit(Blocks.from_array(halves.symbols[:, None], lengths=lengths))
    for other in (strings, blocks):
        assert other.transmat_ == pytest.approx(plain.transmat_)
        assert other.emissionprob_ == pytest.approx(plain.emissionprob_)
    assert strings.sample(3)[0].dtype.kind == "U"


def test_same_bits_for_any_number_of_threads(halves):
    one, two = (TwoStateHMM(n_jobs=n).fit(halves.symbols) for n in (1, 2))
    assert (one.emissionprob_ == two.emissionprob_).all()
    assert (one.transmat_ == two.transmat_).all()


def test_save_load_and_stability(halves, fitted, tmp_path):
    loaded = latentia.load(latentia.save(fitted, tmp_path / "m"))
    assert loaded.score(halves.symbols) == fitted.score(halves.symbols)
    assert loaded.evidence_.stability(halves.symbols, n_splits=1).shape == (2,)


@pytest.mark.parametrize(
    ("options", "symbols", "message"),
    [
        ({"n_components": 3}, [0, 1, 0, 1], "^n_components=3: expected 2, because this model has two states"),
        ({"n_components": True}, [0, 1, 0, 1], "n_components=True"),
        ({"tau": "a"}, [0, 1, 0, 1], "tau='a'"),
        ({"pseudo_counts": np.nan}, [0, 1, 0, 1], "pseudo_counts=nan"),
        ({"method": "power"}, [0, 1, 0, 1], "method='power'"),
        ({"cross_fit": 0}, [0, 1, 0, 1], "cross_fit=0"),
        ({"tau": -1.0}, [0, 1, 0, 1], "tau=-1.0"),
        ({}, [0, 0, 0, 0], "at least two symbols; one occurs"),
        ({}, [0, -1, 0, 0], "row 1 holds -1"),
        ({}, [0, 1], "fewer than 3 steps"),
        ({"n_symbols": 2}, [0, 5, 1, 0], "^n_symbols=2: symbol 5 is outside the alphabet"),
        ({}, np.ones((4, 2)), "one column of symbols"),
    ],
)
def test_bad_input(options, symbols, message):
    with pytest.raises(LatentiaError, match=message):
        TwoStateHMM(**options).fit(symbols)


def test_sequences_of_three_steps():
    """There are no pairs three steps apart, which a chain of long memory would be learned from too."""
    chain = planted.two_state_chain(50_000, 200, contrast=1.5, switch=(0.1, 0.1))
    model = TwoStateHMM().fit(chain.symbols[:49_998], [3] * 16_666)
    assert model.detected_
    np.testing.assert_allclose(model.transmat_, chain.transmat, atol=0.05)


def test_the_cubic_says_where_the_states_are_not_equally_frequent():
    chains = [planted.two_state_chain(50_000, 200, emissions="halves", switch=(0.1, p)) for p in (0.3, 0.1)]
    uneven, even = (TwoStateHMM(method="cubic").fit(chain.symbols).evidence_ for chain in chains)
    assert uneven["symmetry"].measured == pytest.approx(0.5, abs=0.05)
    assert not uneven.holds
    assert even.holds


@pytest.mark.parametrize("cross_fit", [1, 4])
def test_errors_that_were_not_measured_do_not_hold(halves, cross_fit):
    model = TwoStateHMM(n_splits=0, cross_fit=cross_fit).fit(halves.symbols)
    assert model.detected_
    assert model.evidence_["expected error"].measured is None
    assert not model.evidence_.holds
    measured = TwoStateHMM(cross_fit=cross_fit).fit(halves.symbols).evidence_
    assert measured.statements[1].passed
    assert measured.statements[0].passed is (
        None if cross_fit == 1 else True
    )  # Without parts there is nothing to compare.
    assert measured.grade == ("with care" if cross_fit == 1 else "supported")


USES = ["predict", "decode", "predict_proba", "score"]


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize(
    ("symbol", "message"),
    [
        (np.nan, "whole numbers.*; row 77 holds nan"),
        (0.5, "whole numbers.*; row 77 holds 0.5"),
        (-1.0, "Symbol '-1' in row 77 is outside the alphabet of 1000 symbols"),
        (1000.0, "Symbol '1000' in row 77 is outside the alphabet of 1000 symbols"),
    ],
)
def test_symbols_outside_the_alphabet_are_named_in_blocks(halves, fitted, use, symbol, message):
    x = halves.symbols[:100, None].astype(float)
    x[77] = symbol
    with pytest.raises(LatentiaError, match=message):
        getattr(fitted, use)(Blocks.from_array(x, lengths=[30, 30, 40], block_rows=30))
    with pytest.raises(LatentiaError, match=message):
        getattr(fitted, use)(x)


def test_more_columns_than_one_are_refused_at_prediction(halves, fitted):
    with pytest.raises(LatentiaError, match="one column of symbols; X has 2 columns"):
        fitted.predict(np.zeros((5, 2), int))


def test_strings_in_blocks(halves):
    names = np.array([f"s{i:04d}" for i in halves.symbols])
    lengths = [5000] * 10
    whole = TwoStateHMM().fit(names, lengths)
    cut = TwoStateHMM().fit(Blocks.from_array(names[:, None], lengths=lengths, block_rows=5000))
    assert (cut.emissionprob_ == whole.emissionprob_).all()
    with pytest.raises(LatentiaError, match="Symbol .189. in row 0 is outside the alphabet"):
        whole.predict(Blocks.from_array(halves.symbols[:, None], lengths=lengths))


@pytest.mark.parametrize("size", [0, -1, 2.5, True, "3", None])
def test_bad_sizes_of_samples(halves, fitted, size):
    with pytest.raises(LatentiaError, match="^n_samples="):
        fitted.sample(size)
    with pytest.raises(LatentiaError, match="^n_steps="):
        fitted.entropy_rate(size)


@pytest.mark.parametrize("lengths", [[[1, 2], [3]], ["a"], [50_000.0], [50_001, -1], [2**62] * 4 + [50_000]], ids=str)
def test_bad_lengths(halves, fitted, lengths):
    for use in (TwoStateHMM().fit, fitted.predict):
        with pytest.raises(LatentiaError, match="^lengths"):
            use(halves.symbols, lengths)


def test_a_fit_that_fails_changes_nothing(halves):
    model = TwoStateHMM().fit(halves.symbols)
    path = model.predict(halves.symbols)
    with pytest.raises(LatentiaError, match="at least two symbols; one occurs"):
        model.fit([0, 0, 0, 0])
    assert (model.predict(halves.symbols) == path).all()


def said_again(symbols, share, rng):
    """Each symbol is with some probability the one before it."""
    new = np.append(True, rng.random(len(symbols) - 1) >= share)
    return symbols[np.maximum.accumulate(np.where(new, np.arange(len(symbols)), 0))]


def test_right_chains_pass_all_that_can_be_told_of_misfit(halves):
    evidence = TwoStateHMM(refine=0).fit(halves.symbols).evidence_
    assert evidence["goodness of fit"].holds
    assert evidence["symbols that return"].holds
    assert evidence["better than frequencies"].measured > 0


def test_more_regimes_are_used_with_care():
    rng = np.random.default_rng(0)
    emissions = rng.dirichlet(np.full(150, 0.5), 4)
    states = np.repeat(rng.integers(0, 4, 2000), rng.geometric(0.1, 2000))
    symbols = np.array([rng.choice(150, p=emissions[state]) for state in states])
    evidence = TwoStateHMM(refine=0).fit(symbols).evidence_
    assert evidence["goodness of fit"].holds is False
    assert evidence.grade != "supported"


def test_symbols_that_return_are_seen():
    rng = np.random.default_rng(1)
    chain = planted.two_state_chain(15_000, 200, emissions="uniform", contrast=2.0, random_state=1)
    evidence = TwoStateHMM(refine=0).fit(said_again(chain.symbols, 0.1, rng)).evidence_
    assert evidence["symbols that return"].holds is False
    assert not evidence.holds


@pytest.mark.parametrize("refine", [0, "auto"])
def test_a_fit_that_predicts_worse_than_frequencies_is_in_no_good_grade(refine):
    rng = np.random.default_rng(2)
    symbols = said_again(rng.integers(0, 200, 10_000), 0.2, rng)
    model = TwoStateHMM(refine=refine).fit(symbols)
    assert model.detected_  # of a kind: symbols are said again
    assert model.evidence_["better than frequencies"].holds is False
    assert model.evidence_.grade == "not supported"


def test_copies_are_no_evidence():
    chain = planted.two_state_chain(20_000, 200, emissions="uniform", contrast=2.0, random_state=1)
    once = TwoStateHMM(refine=0).fit(chain.symbols[:4000]).evidence_
    many = TwoStateHMM(refine=0).fit(np.tile(chain.symbols[:4000], 5)).evidence_
    assert many.expected_error == pytest.approx(once.expected_error, rel=0.4)
    with pytest.warns(EvidenceWarning, match="No second state"):
        model = TwoStateHMM().fit(np.tile(np.random.default_rng(0).integers(0, 200, 1000), 10))
    assert not model.detected_
