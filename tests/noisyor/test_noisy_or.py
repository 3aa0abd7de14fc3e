"""Noisy-or networks: exact on population moments, near the truth on samples, clear about what it cannot do."""

import warnings
from copy import copy
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from latentia import LatentiaError, LatentiaWarning, load, save
from latentia.datasets import planted
from latentia.evidence import GRADES
from latentia.likelihood import noisy_or_rows
from latentia.noisyor import NoisyOr
from latentia.noisyor._evidence import compute_incoherence, compute_spectral_boundedness
from latentia.noisyor._expansion import compute_higher_orders, compute_power_coefficients
from latentia.noisyor.absences import ExactAbsences
from latentia.passes import Blocks, assign_folds


def errors(model, truth):
    """Relative errors of weights and of priors, causes matched."""
    apart = cdist(truth.weights, model.weights_) / np.linalg.norm(truth.weights, axis=1, keepdims=True)
    i, j = linear_sum_assignment(apart)
    return apart[i, j], np.abs(model.priors_[j] - truth.priors) / truth.priors


@pytest.fixture(scope="module")
def truth():
    return planted.noisy_or_network(40, 6, spread=3, leak=0.05, random_state=1)


@pytest.fixture(scope="module")
def data(truth):
    return truth.sample(30_000, 2)


@pytest.fixture(scope="module")
def model(data):
    return NoisyOr(6).fit(data.X)


# --- the algorithm ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("odds", [0.05, 0.5, 1.0, 3.0])
def test_powers_sum_to_the_moments_of_any_prior(odds):
    t = np.linspace(0, 1, 101)
    powers = t[:, None] ** np.arange(1, 17)
    assert np.abs(powers @ compute_power_coefficients(np.array([odds]))[:, 0] - np.log1p(odds * t)).max() < 1e-8


def test_higher_orders_are_what_exact_moments_have_beyond_the_first():
    truth = planted.noisy_or_network(12, 3, active=0.9, leak=0.1)
    odds = truth.priors / (1 - truth.priors)
    strengths = -np.expm1(-truth.weights)
    coefficients, vectors = compute_higher_orders(truth.weights, odds)
    whole = (odds * strengths.T) @ strengths + (coefficients * vectors.T) @ vectors
    off = ~np.eye(12, dtype=bool)
    assert np.abs(whole - ExactAbsences(truth.weights, truth.priors, truth.leak).logs().pmi)[off].max() < 1e-12


def test_exact_moments_and_corrections():
    truth = planted.noisy_or_network(80, 10, active=0.5)
    exact = ExactAbsences(truth.weights, truth.priors)
    rounds = [NoisyOr(10, corrections=c).fit_moments(exact) for c in (0, 1, 2, 3)]
    worst = [errors(model, truth)[0].max() for model in rounds]
    assert worst[0] <= 0.05
    assert worst[3] <= 1e-5
    assert all(after < before / 5 for before, after in pairwise(worst))
    assert errors(rounds[3], truth)[1].max() <= 1e-5


def test_strong_priors_and_leaks_do_not_disturb_exact_moments():
    truth = planted.noisy_or_network(60, 8, active=3.0, spread=2, leak=0.2)
    model = NoisyOr(8, corrections=20).fit_moments(ExactAbsences(truth.weights, truth.priors, truth.leak))
    weights, priors = errors(model, truth)
    assert weights.max() < 1e-4
    assert priors.max() < 1e-4
    assert np.abs(model.leak_ - truth.leak).max() < 1e-4


def test_recovery(model, truth):
    weights, priors = errors(model, truth)
    assert np.median(weights) <= 0.03
    assert weights.max() <= 0.05
    assert np.median(priors) <= 0.015
    assert priors.max() <= 0.05
    assert np.abs(model.leak_ - truth.leak).max() <= 0.01
    assert (np.diff(model.priors_) <= 0).all()


def test_the_number_of_causes_is_found(data):
    assert len(NoisyOr(n_splits=0).fit(data.X).priors_) == 6


def test_a_known_prior_is_kept():
    truth = planted.noisy_or_network(40, 5, active=0.5, leak=0.02, random_state=1)
    model = NoisyOr(5, prior=0.1).fit(truth.sample(15_000, 0).X)
    assert (model.priors_ == 0.1).all()
    assert model.prior_errors_ is None
    assert errors(model, truth)[0].max() < 0.06


def test_findings_that_are_nearly_always_present_do_no_harm():
    truth = planted.noisy_or_network(40, 5, random_state=4)
    leak = np.where(np.arange(40) % 4 == 0, 0.95, 0.02)
    noisy = planted.NoisyOrTruth(truth.weights, truth.priors, leak)
    model = NoisyOr(5).fit(noisy.sample(15_000, 1).X)
    few = leak < 0.5
    apart = cdist(truth.weights[:, few], model.weights_[:, few]) / np.linalg.norm(
        truth.weights[:, few], axis=1, keepdims=True
    )
    assert apart.min(axis=1).max() < 0.15


def test_refining_raises_the_likelihood(truth):
    X, more = truth.sample(5000, 5).X, truth.sample(5000, 6).X
    plain, refined = (NoisyOr(6, refine=refine, n_splits=0).fit(X) for refine in (0, 8))
    assert refined.score(X) > plain.score(X)
    assert refined.score(more) > plain.score(more)
    assert refined.n_passes_ == 9
    assert errors(refined, truth)[0].mean() < errors(plain, truth)[0].mean() * 1.05
    assert (NoisyOr(6, prior=0.1, refine=1, n_splits=0).fit(X).priors_ == 0.1).all()


def test_more_findings_than_triples_are_counted():
    truth = planted.noisy_or_network(80, 6, leak=0.02)
    model = NoisyOr(6, max_triples=10_000, n_splits=0).fit(truth.sample(15_000, 0).X)  # 39 findings
    assert errors(model, truth)[0].max() < 0.1


# --- contract ---------------------------------------------------------------------------------------------------


def test_the_same_bits_for_any_input_and_number_of_threads(data):
    X = data.X[:3000]
    first = NoisyOr(6, n_splits=1).fit(X)
    frame = pd.DataFrame(X.astype(int), columns=[f"f{i}" for i in range(40)])
    for other, table in (
        (2, X),
        (1, sparse.csr_array(X)),
        (2, frame),
    ):
        again = NoisyOr(6, n_splits=1, n_jobs=other).fit(table)
        assert (again.weights_ == first.weights_).all()
        assert (again.leak_ == first.leak_).all()
        assert (again.evidence_.component_errors == first.evidence_.component_errors).all()
    cut = Blocks.from_array(X.astype(np.float32), block_rows=256)  # EM sums other blocks; counts of absences are whole
    np.testing.assert_allclose(NoisyOr(6, n_splits=1).fit(cut).weights_, first.weights_, atol=1e-6)
    one, other = (NoisyOr(6, n_splits=0, refine=0).fit(table) for table in (X, cut))
    assert (one.weights_ == other.weights_).all()


def test_save_load_and_stability(model, data, tmp_path):
    again = load(save(model, tmp_path / "network"))
    assert (again.predict_proba(data.X[:50]) == model.predict_proba(data.X[:50])).all()
    found = again.evidence_.stability(data.X, n_splits=1)
    assert found.shape == (6,)
    assert 0.5 < found.mean() / model.evidence_.component_errors.mean() < 2


def test_evidence(model, truth):
    evidence = model.evidence_
    assert evidence.holds
    assert evidence["partitions agree"].measured < 0.1
    assert evidence["pairs seldom absent together"].measured == 0
    assert evidence["smallest singular value"].holds
    ratio = evidence.component_errors.mean() / errors(model, truth)[0].mean()
    assert 1 / 1.5 < ratio < 1.5
    assert (model.prior_errors_ < 0.01).all()


@pytest.mark.parametrize("refine", [0, "auto"])
def test_causes_of_independent_findings_are_not_supported(refine):
    X = np.random.default_rng(0).random((4000, 24)) < np.linspace(0.05, 0.5, 24)
    evidence = NoisyOr(4, refine=refine).fit(X.astype(int)).evidence_
    assert not evidence["better than independent findings"].holds
    assert evidence.grade == "not supported"


def with_causes(n, seed):
    """Weights of 4 causes of 30 findings, and which of them are on in n rows."""
    rng = np.random.default_rng(seed)
    weights = np.where(rng.random((4, 30)) < 0.35, -np.log1p(-rng.uniform(0.3, 0.9, (4, 30))), 0)
    return rng, weights, rng.random((n, 4)) < 0.15


def rows_of(rng, on, weights):
    return (rng.random((len(on), weights.shape[-1])) > 0.97 * np.exp(-(on @ weights))).astype(int)


def test_goodness_of_fit_of_rows_that_are_what_the_model_says():
    rng, weights, on = with_causes(8000, 0)
    evidence = NoisyOr(4, refine=0).fit(rows_of(rng, on, weights)).evidence_
    assert evidence.grade == "supported"
    assert evidence["causes independent"].measured < 3
    assert evidence["findings independent"].measured < 1.2
    assert evidence["rows of a cause alike"].measured == 0


def test_causes_that_go_together_are_seen():
    rng, weights, on = with_causes(8000, 0)
    on[:, 1] = np.where(rng.random(8000) < 0.5, on[:, 0], on[:, 1])
    evidence = NoisyOr(4, refine=0).fit(rows_of(rng, on, weights)).evidence_
    assert evidence["causes independent"].measured > 4
    assert evidence.grade != "supported"


@pytest.mark.filterwarnings("ignore:4 causes, and pairs")
def test_severity_and_a_wrong_prior_widen_the_expected_error():
    rng, weights, on = with_causes(8000, 0)
    factors = np.exp(0.9 * rng.standard_normal(on.shape) - 0.405)
    shown = -np.log(np.exp(-factors[:, :1, None] * weights).mean(axis=0))  # by a cause that is on alone
    for X, prior, true in (
        (rows_of(rng, on * factors, weights), None, shown),
        (rows_of(rng, on, weights), 0.4, weights),
    ):
        model = NoisyOr(4, prior=prior, refine=0).fit(X)
        error = (cdist(model.weights_, true) / np.linalg.norm(model.weights_, axis=1, keepdims=True)).min(axis=1)
        assert error.mean() > 0.2
        assert 0.4 < model.evidence_.expected_error / error.mean() < 1.5
        assert model.evidence_.grade != "supported"


@pytest.mark.filterwarnings("ignore:4 causes, and pairs")
def test_copies_of_rows_count_once():
    rng, weights, on = with_causes(600, 0)
    X = np.tile(rows_of(rng, on, weights), (10, 1))
    model = NoisyOr(4, refine=0).fit(X)
    error = (cdist(model.weights_, weights) / np.linalg.norm(model.weights_, axis=1, keepdims=True)).min(axis=1)
    assert 0.6 < model.evidence_.expected_error / error.mean() < 1.7


def test_tau_and_incoherence_are_as_defined():
    weights = planted.noisy_or_network(30, 4, random_state=2).weights
    first, second = -np.expm1(-weights.T), -np.expm1(-2 * weights.T)
    tau = compute_spectral_boundedness(weights)
    signal = first @ first.T + np.linalg.svd(first)[1][-1] ** 2 * np.eye(30)
    left = np.linalg.eigvalsh(tau * signal - second @ second.T)
    assert left[0] == pytest.approx(0, abs=1e-8)
    further = -np.expm1(-4 * weights.T)
    left = np.linalg.eigvalsh(compute_spectral_boundedness(weights, 4) * signal - further @ further.T)
    assert left[0] == pytest.approx(0, abs=1e-8)
    left_vectors = np.linalg.svd(first, full_matrices=False)[0]
    assert compute_incoherence(weights) == pytest.approx((left_vectors**2).sum(axis=1).max() * 30 / 4)
    assert compute_spectral_boundedness(np.vstack([weights, weights[:1]])) > 1e6


def test_sampling_and_scoring(model, truth, data):
    X, causes = model.sample(20_000, random_state=3)
    assert X.shape == (20_000, 40)
    assert np.abs(X.mean(axis=0) - data.X.mean(axis=0)).max() < 0.03
    assert np.abs(causes.mean(axis=0) - model.priors_).max() < 0.02
    assert model.score(data.X[:5000]) > model.score(np.random.default_rng(0).permuted(data.X[:5000], axis=0))


def test_posteriors_are_calibrated(model, data):
    found = model.posterior(data.X[:20_000])
    assert (found.method == 0).all()
    matched = linear_sum_assignment(-np.corrcoef(found.probabilities.T, data.causes[:20_000].T)[:6, 6:])[1]
    on = data.causes[:20_000][:, matched]
    for low in (0.05, 0.25, 0.45, 0.65, 0.85):
        chosen = (found.probabilities >= low) & (found.probabilities < low + 0.1)
        noise = 3 * np.sqrt(0.25 / chosen.sum())  # few rows are left in the middle
        assert abs(on[chosen].mean() - found.probabilities[chosen].mean()) < max(0.04, noise)


def test_explanations_point_at_the_findings(model, data):
    row = next(i for i, causes in enumerate(data.causes) if causes.sum() == 1 and data.X[i].sum() > 12)
    diagnosis = model.explain(data.X[row])
    assert diagnosis.exact
    top = diagnosis.probabilities.argmax()
    best = diagnosis.attribution[top].argmax()
    assert data.X[row, best]
    assert model.strengths_[top, best] > 0.2


def test_what_is_not_known_is_not_absent(model):
    unknown = np.full((1, 40), np.nan)
    assert model.predict_proba(unknown)[0] == pytest.approx(model.priors_)
    assert not np.allclose(model.predict_proba(np.zeros((1, 40)))[0], model.priors_, rtol=0.1)
    assert model.explain(unknown[0]).attribution == pytest.approx(np.zeros((6, 40)))


def test_graph_lists_the_strong_edges(model):
    edges = model.graph(0.3)
    assert len(edges) == (model.strengths_ >= 0.3).sum()
    assert edges[0].cause == "cause 0"
    assert edges[0].strength == pytest.approx(1 - np.exp(-edges[0].weight))


def test_names_of_outputs(model):
    assert list(model.get_feature_names_out()[:2]) == ["noisyor0", "noisyor1"]
    assert model.transform(np.zeros((2, 40))).shape == (2, 6)


# --- bad input --------------------------------------------------------------------------------------------------


def test_values_that_are_not_binary_are_named(data):
    frame = pd.DataFrame(data.X[:200].astype(float), columns=[f"f{i}" for i in range(40)])
    frame.loc[17, "f3"] = 2
    with pytest.raises(LatentiaError, match=r"Row 17 has 2 in column 'f3'"):
        NoisyOr(3).fit(frame)


def test_constant_findings_are_left_out_and_named():
    truth = planted.noisy_or_network(40, 4, leak=0.02)
    frame = pd.DataFrame(truth.sample(5000).X.astype(int), columns=[f"f{i}" for i in range(40)])
    frame["f7"], frame["f8"] = 0, 1
    with pytest.warns(LatentiaWarning, match="2 findings are present in no row or in all of them.*'f7', 'f8'"):
        model = NoisyOr(4).fit(frame)
    assert (model.weights_[:, 7:9] == 0).all()
    assert 0 < model.leak_[7] < 0.001
    assert 0.999 < model.leak_[8] < 1
    assert np.isfinite(model.predict_proba(frame[:10])).all()
    assert model.evidence_["findings left out"].measured == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"n_components": 32},
            r"^n_components=32: 40 findings can separate at most 31 causes: more causes have more strengths",
        ),
        ({"n_components": 0}, "n_components=0: expected a whole number of at least 1, a range or list"),
        ({"prior": 1.5}, "prior=1.5: expected a number above 0 and below 1, or None"),
        ({"prior": True}, "prior=True"),
        ({"corrections": -1}, "corrections=-1"),
        ({"max_weight": 0}, "max_weight=0"),
        ({"max_weight": "5"}, "max_weight='5'"),
        ({"max_triples": 999}, "max_triples=999"),
        ({"n_splits": 4}, "n_splits=4"),
        ({"random_state": -1}, "random_state=-1"),
    ],
)
def test_parameters_that_cannot_be(data, change, message):
    with pytest.raises(LatentiaError, match=message) as caught:
        NoisyOr(**change).fit(data.X[:200])
    assert {caught.value.parameter: caught.value.value} == change
    assert not any(name in caught.value.problem for name in change)


def test_too_few_rows(data):
    with pytest.raises(LatentiaError, match="99 rows.*100"):
        NoisyOr(3).fit(data.X[:99])


def test_more_causes_than_there_are_is_told(data):
    with pytest.warns(LatentiaWarning, match="12 causes, and pairs of findings show .* may be invented"):
        model = NoisyOr(12, n_splits=1).fit(data.X[:2000])
    assert not model.evidence_.holds or model.evidence_.component_errors.max() > 0.3


def test_findings_without_a_common_cause():
    X = np.random.default_rng(0).random((2000, 30)) < 0.2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentiaWarning)
        model = NoisyOr(4).fit(X)
    assert not model.evidence_.holds


def test_widths_and_forms_at_prediction(model, data):
    with pytest.raises(LatentiaError, match="39"):
        model.predict_proba(data.X[:3, :39])
    with pytest.raises(LatentiaError, match="2 rows; expected one row"):
        model.explain(data.X[:2])
    with pytest.raises(LatentiaError, match="Row 1 has 3"):
        model.predict_proba(np.vstack([data.X[:1], np.full((1, 40), 3)]))


def nearest_errors(truth, weights):
    """Relative l2 error of every true cause's weights."""
    return np.linalg.norm(truth[:, None] - weights, axis=2).min(axis=1) / np.linalg.norm(truth, axis=1)


def test_a_part_of_a_split_has_error_bars():
    X = planted.noisy_or_network(60, 4, leak=0.02).sample(20_000).X
    model = NoisyOr(4).fit(Blocks.from_array(X).split(4, 0)[0])
    assert model.evidence_.component_errors.min() > 0.01
    assert model.evidence_.holds


def test_em_helps_with_thirty_causes():
    truth = planted.noisy_or_network(130, 30, active=1.3, leak=0.01, random_state=2)
    X = truth.sample(14_000, random_state=1).X
    moments, refined = NoisyOr(30, refine=0, n_splits=0).fit(X), NoisyOr(30, n_splits=0).fit(X)
    before, after = (nearest_errors(truth.weights, model.weights_).mean() for model in (moments, refined))
    assert after < before
    assert (moments.leak_ > 0).all()
    assert (refined.leak_ > 0).all()


@pytest.mark.parametrize("top", [0.5, 0.9])
def test_frequent_causes_have_honest_errors(top):
    truth = planted.noisy_or_network(40, 5, leak=0.02, random_state=4)
    priors = np.array([top, 0.2, 0.2, 0.1, 0.05])
    X, _ = noisy_or_rows(truth.weights, priors, np.full(40, 0.02), 20_000, np.random.default_rng(1))
    refined = NoisyOr(5).fit(X)
    assert refined.evidence_.component_errors[0] > 0.5 * min(nearest_errors(truth.weights, refined.weights_)[0], 1.0)
    model = NoisyOr(5, refine=0).fit(X)
    errors = nearest_errors(truth.weights, model.weights_)
    assert model.evidence_.component_errors[0] > 0.9 * min(errors[0], 1.0)
    assert (model.evidence_.grade in GRADES[:2]) == (top < 0.7)
    if top < 0.7:
        assert not model.evidence_["left by the corrections"].holds
        more = NoisyOr(5, corrections=10, refine=0, n_splits=0).fit(X)
        assert nearest_errors(truth.weights, more.weights_)[0] < 0.05
        assert more.evidence_["left by the corrections"].holds


def test_copies_of_findings_are_left_out_and_named():
    truth = planted.noisy_or_network(40, 5, leak=0.02, random_state=3)
    X = truth.sample(10_000).X
    with pytest.warns(
        LatentiaWarning, match="15 findings are present in exactly the rows of an earlier one.*'finding 40'"
    ):
        model = NoisyOr(5).fit(np.hstack([X, X[:, :15]]))
    assert nearest_errors(truth.weights, model.weights_[:, :40]).max() < 0.06
    assert (model.weights_[:, 40:] == 0).all()


def test_unknown_cells_of_frames():
    model = NoisyOr(4).fit(planted.noisy_or_network(40, 4, leak=0.02).sample(3000).X)
    row = np.zeros((2, 40))
    row[:, 3:9] = 1
    row[0, 5] = np.nan
    for dtype in ("Int64", "boolean", "Float64", object):
        frame = pd.DataFrame(row).astype(dtype)
        np.testing.assert_allclose(model.predict_proba(frame), model.predict_proba(row))
    np.testing.assert_allclose(model.predict_proba(Blocks.from_array(row)), model.predict_proba(row))
    known = np.where(np.isnan(row), 0, row)
    assert np.abs(model.predict_proba(known) - model.predict_proba(row))[0].max() > 1e-6


def exact_moments():
    truth = planted.noisy_or_network(40, 4, leak=0.02)
    return ExactAbsences(truth.weights, truth.priors, truth.leak)


@pytest.fixture(scope="module")
def asked():
    """A model that is asked what it cannot answer."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentiaWarning)
        return NoisyOr(4).fit(planted.noisy_or_network(40, 4, leak=0.02).sample(1000).X)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.predict_proba(np.full((2, 40), "yes")), "Row 0, column 0 of X: 'yes' is text"),
        (lambda m: m.explain(["yes"] * 40), "findings of the model have no names"),
        (lambda m: m.sample(-1), "n_samples=-1"),
        (lambda m: m.sample(True), "n_samples=True"),
        (lambda m: m.sample(3, random_state="a"), "random_state='a'"),
        (lambda m: m.graph(7), "threshold=7"),
        (lambda m: m.graph(True), "threshold=True"),
        (lambda m: m.fit_moments(np.eye(3)), "moments is a ndarray"),
        (lambda _: NoisyOr().fit_moments(exact_moments()), "n_components=None: exact moments need the number"),
        (lambda _: NoisyOr(4, refine=2).fit_moments(exact_moments()), "refine=2: exact moments have no rows"),
        (lambda _: NoisyOr(4).fit(np.zeros((200, 9))), "0 of 9 findings vary"),
        (lambda _: NoisyOr(4).fit(np.repeat(np.arange(200)[:, None] % 2, 20, axis=1)), "1 of 20 findings vary"),
        (lambda _: ExactAbsences(np.ones((4, 9)), np.full(3, 0.1)), "a prior for each cause"),
    ],
)
@pytest.mark.filterwarnings("ignore::latentia.exceptions.LatentiaWarning")
def test_bad_calls_say_what_is_wrong(call, message, asked):
    with pytest.raises(LatentiaError, match=message):
        call(asked)


def test_blocks_with_other_columns_are_refused():
    names = [f"f{i}" for i in range(40)]
    frame = pd.DataFrame(planted.noisy_or_network(40, 4, leak=0.02).sample(1000).X.astype(int), columns=names)
    model = NoisyOr(4).fit(frame)
    with pytest.raises(LatentiaError, match="columns of the blocks differ"):
        model.predict_proba(Blocks.from_array(frame[names[::-1]]))


def test_alike_findings_have_one_cause():
    rng = np.random.default_rng(0)
    X = (rng.random((3000, 1)) < 0.3) ^ (rng.random((3000, 20)) < 0.1)
    assert len(NoisyOr().fit(X).priors_) == 1


def test_warnings_name_the_line_that_called():
    X = planted.noisy_or_network(80, 20, active=4, leak=0.02, density=0.15).sample(1500, random_state=1).X
    X[:, 7] = False
    X[:, 9] = X[:, 8]
    with pytest.warns(LatentiaWarning) as caught:
        NoisyOr(20, refine=1, n_splits=0).fit(X)
    told = " ".join(str(warning.message) for warning in caught)
    for part in ("present in no row", "exactly the rows of an earlier one", "may be invented"):
        assert part in told
    assert {warning.filename for warning in caught} == {__file__}


def test_errors_of_priors_are_distances_to_the_halves(truth):
    """As `fit` on each half says; three quarters and what they cost play no part."""
    X = truth.sample(6000, 8).X
    for refine in (0, 2):
        model = NoisyOr(6, n_splits=1, refine=refine).fit(X)
        apart = []
        for groups in model_halves(X):
            half = NoisyOr(6, n_splits=0, refine=refine).fit(X[groups])
            nearest = cdist(model.weights_, half.weights_).argmin(axis=1)
            apart.append(np.abs(half.priors_[nearest] - model.priors_))
        # Fits of their own scale findings and choose a basis by their rows alone, so that little differs.
        assert model.prior_errors_.mean() == pytest.approx(np.mean(apart), rel=0.3)


def model_halves(X):
    folds = assign_folds(Blocks.from_array(X), 0)
    group = folds.of(np.arange(len(X)))
    return [np.isin(group, half) for half in folds.splits[0]]


def test_evidence_of_exact_moments_is_not_measured():
    model = NoisyOr(4).fit_moments(exact_moments())
    assert model.evidence_["expected error"].measured is None
    assert not model.evidence_.holds
    assert model.evidence_["smallest singular value"].holds
    assert model.noise_level_ == 0.0
    assert model.prior_errors_ is None


# --- gaps, baskets, names ---------------------------------------------------------------------------------------


def with_gaps(X, share, seed=0):
    return np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X.astype(float))


@pytest.mark.parametrize("refine", [0, "auto"])
def test_gaps_cost_what_the_missing_cells_would_have_told(truth, data, refine):
    whole = NoisyOr(6, refine=refine, n_splits=0).fit(data.X[:10_000])
    gaps = with_gaps(data.X[:10_000], 0.2)
    model = NoisyOr(6, refine=refine).fit(gaps)
    assert errors(model, truth)[0].mean() < (3 if refine == 0 else 1.5) * errors(whole, truth)[0].mean()
    checks = {check.name: check for check in model.evidence_.checks}
    assert checks["missing cells"].measured == pytest.approx(0.2, abs=0.01)
    assert checks["missing by chance"].holds
    frame = pd.DataFrame(gaps).astype("boolean")
    np.testing.assert_array_equal(NoisyOr(6, refine=refine, n_splits=0).fit(frame).weights_, model.weights_)
    blocks = Blocks.from_array(gaps, block_rows=1500)
    cut = NoisyOr(6, refine=refine, n_splits=0).fit(blocks)
    np.testing.assert_allclose(cut.weights_, model.weights_, rtol=1e-6, atol=1e-9)


def test_gaps_that_go_with_findings_are_told(truth, data):
    X = data.X[:10_000].astype(float)
    asked = truth.weights.max(axis=0).argmax()
    chance = np.where(X[:, [asked]] == 1, 0.4, 0.1)
    X[(np.random.default_rng(1).random(X.shape) < chance) & (np.arange(40) != asked)] = np.nan
    checks = {check.name: check for check in NoisyOr(6).fit(X).evidence_.checks}
    assert not checks["missing by chance"].holds


def test_a_row_of_gaps_is_refused(data):
    X = with_gaps(data.X[:3000], 0.1)
    X[17] = np.nan
    with pytest.raises(LatentiaError, match="Row 17 has NaN for all findings"):
        NoisyOr(6).fit(X)


def test_copies_with_gaps_are_left_out(data):
    X = data.X[:5000].astype(float)
    X[:, 7] = X[:, 2]
    with pytest.warns(
        LatentiaWarning, match="1 findings are present in exactly the rows of an earlier one: 'finding 7'"
    ):
        model = NoisyOr(6, refine=0).fit(with_gaps(X, 0.1))
    assert not model.weights_[:, 7].any()


@pytest.mark.parametrize("seed", [31, 32, 33])
def test_the_number_of_causes_and_its_range(seed):
    truth = planted.noisy_or_network(40, 6, leak=0.02, spread=2, random_state=seed)
    X = truth.sample(6000, seed).X
    model = NoisyOr(refine=0, n_splits=0).fit(X)
    low, high = model.n_components_range_
    assert low <= len(model.priors_) <= high
    assert low <= 6 <= high
    assert model.n_components_ == len(model.priors_)
    assert NoisyOr(6, refine=0, n_splits=0).fit(X).n_components_range_ is None


def test_numbers_of_causes_are_compared():
    X = planted.noisy_or_network(30, 4, leak=0.02).sample(4000).X
    model = NoisyOr(range(3, 6)).fit(X)
    assert (model.n_components, model.n_components_) == (range(3, 6), 4)
    assert [row["n_components"] for row in model.comparison_] == [3, 4, 5]
    assert "4 causes" in model.recommendation_


@pytest.fixture(scope="module")
def baskets():
    data = planted.noisy_or_network(40, 4, leak=0.02, random_state=3).sample(4000, 4)
    return [[f"item {i}" for i in np.flatnonzero(row)] for row in data.X], data


def test_baskets_are_rows(baskets):
    lists, data = baskets
    model = NoisyOr(4).fit(lists)
    names = list(model._column_names)
    assert sorted(names) == names
    order = [int(name.split()[1]) for name in names]
    table = NoisyOr(4).fit(pd.DataFrame(data.X[:, order], columns=names))
    np.testing.assert_allclose(model.weights_, table.weights_, rtol=1e-9)
    np.testing.assert_allclose(model.predict_proba([*lists[:5], ["a new one"], []]), table.predict_proba(
        pd.DataFrame(np.vstack([data.X[:5, order], np.zeros((2, 40))]), columns=names)
    ))  # fmt: skip
    assert model.explain(lists[0]).probabilities.shape == (4,)
    assert model.explain([lists[0]]).log_likelihood == model.explain(lists[0]).log_likelihood


def test_rare_items_are_left_out_of_baskets(baskets):
    lists, _ = baskets
    some = [[*lists[0], "once"], *lists[1:]]
    with pytest.warns(
        LatentiaWarning, match=r"1 of 41 items are in fewer than 5 baskets and are left out: 'once'\. Lower"
    ):
        assert NoisyOr(4, refine=0).fit(some).n_features_in_ == 40
    assert NoisyOr(4, refine=0, min_df=1).fit(some).n_features_in_ == 41
    with pytest.raises(LatentiaError, match="Basket 1 is 3; expected a list of the names"):
        NoisyOr(4).fit([["a"], 3])
    with pytest.raises(LatentiaError, match="No item is in 5 baskets"):
        NoisyOr(4).fit([["a"], ["b"]] * 3)


def test_names_of_causes_that_are_refused(model):
    model = copy(model).name_causes({1: "breakfast"})
    m = len(model.cause_names_)
    for wrong, message in (
        ({m: "x"}, f"cause {m}; expected numbers from 0 to {m - 1}"),
        ({-1: "x"}, "cause -1; expected numbers"),
        ({0: " "}, "name of cause 0 is ' '"),
        ({0: 5}, "name of cause 0 is 5"),
        (["a"] * (m - 1), f"{m - 1} names; expected {m}"),
        ({0: "a", 2: "a"}, "Two causes are called 'a'"),
        ({0: model.cause_names_[2]}, "Two causes are called"),
    ):
        with pytest.raises(LatentiaError, match=message):
            model.name_causes(wrong)
    assert model.cause_names_[1] == "breakfast"


def test_causes_have_names(baskets, tmp_path):
    lists, data = baskets
    assert NoisyOr(4, refine=0).fit(data.X).cause_names_ == ["cause 0", "cause 1", "cause 2", "cause 3"]
    model = NoisyOr(4, refine=0).fit(lists)
    assert len(set(model.cause_names_)) == 4
    first = model.cause_names_[0].split(" + ")
    strongest = [model._column_names[i] for i in np.argsort(-model.strengths_[0])[:8]]
    assert set(first) <= set(strongest)
    assert model.name_causes({1: "breakfast"}) is model
    assert model.cause_names_[1] == "breakfast"
    assert {edge.cause for edge in model.graph()} == set(model.cause_names_)
    save(model, tmp_path / "m.npz")
    assert load(tmp_path / "m.npz").cause_names_ == model.cause_names_
    assert model.cause_names_[1] == "breakfast"
    assert model.name_causes(list("abcd")).cause_names_ == list("abcd")


@pytest.mark.filterwarnings("ignore")
def test_a_network_that_em_is_refused_predicts_no_worse_than_independent_findings(monkeypatch):
    monkeypatch.setattr("latentia.noisyor.noisy_or.MAX_CROWDED", -1.0)
    rng = np.random.default_rng(23)
    chances = rng.choice([0.1, 0.25, 0.75, 0.9], size=(4, 24))
    X = rng.random((1500, 24)) < chances[rng.choice(4, 1500, p=[0.4, 0.3, 0.2, 0.1])]
    order = np.random.default_rng(33).permutation(1500)
    train, test = X[order[:1000]], X[order[1000:]]
    model = NoisyOr(15, n_splits=0).fit(train)
    assert len(model.refinement_) <= 1
    shares = train.mean(axis=0)
    independent = (test * np.log(shares) + ~test * np.log1p(-shares)).sum(axis=1)
    assert model.score(test) > independent.mean() - independent.std() / np.sqrt(len(test))
    assert model.evidence_.grade == "not supported"


@pytest.mark.filterwarnings("error:X does not have valid feature names")
def test_a_data_frame_and_rows_that_are_drawn_bring_no_warning_of_names():
    pandas = pytest.importorskip("pandas")
    X = planted.noisy_or_network(18, 3, leak=0.02, random_state=2).sample(2000, random_state=1).X.astype(int)
    frame = pandas.DataFrame(X, columns=[f"finding {i}" for i in range(18)])
    model = NoisyOr(3).fit(frame)
    assert not model.news(frame[:200]).alarm
