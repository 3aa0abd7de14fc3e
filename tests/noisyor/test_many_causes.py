"""Networks of many causes: landmarks instead of all triples, imputed instead of solved, searched instead of enumerated."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from latentia import LatentiaError
from latentia.datasets.planted import NoisyOrTruth
from latentia.evidence import bounds
from latentia.likelihood import Refinement
from latentia.noisyor import NoisyOr
from latentia.noisyor._em import NetworkRefinement
from latentia.noisyor._landmarks import Landmarks, count_causes_above_noise
from latentia.noisyor._packed import pack_pairs, sum_products, symmetrise, transform
from latentia.noisyor._recovery import compute_moments, compute_pair_basis, recover, scale_pairs
from latentia.noisyor.absences import ExactAbsences, RowPacking, make_absences
from latentia.noisyor.inference import Network, posteriors, questions
from latentia.noisyor.inference.records import QUICKSCORE, SEARCH
from latentia.noisyor.noisy_or import _add_systematic_errors
from latentia.passes import Blocks, accumulate, assign_folds
from latentia.tensor.operators import SymmetricThree, multilinear, symmetrise_modes

ROUNDS = {"prior": None, "corrections": 2, "max_weight": 5.0}


def planted(m, n, size, seed, least=0.005, most=0.03):
    """In the manner of QMR-DT: each cause has so many findings, with strengths from .2 to .9."""
    rng = np.random.default_rng(seed)
    strengths = np.zeros((m, n))
    for row in strengths:
        row[rng.choice(n, size, replace=False)] = rng.uniform(0.2, 0.9, size)
    priors = np.exp(rng.uniform(np.log(least), np.log(most), m))
    return NoisyOrTruth(-np.log1p(-strengths), priors, rng.uniform(0.001, 0.01, n))


def compared(weights, truth):
    """Cosines of strengths with those of the true causes, and the mean error of those that are not zero."""
    own, true = -np.expm1(-weights), -np.expm1(-truth.weights)
    cosines = true @ own.T / np.linalg.norm(true, axis=1)[:, None] / np.maximum(np.linalg.norm(own, axis=1), 1e-12)
    i, j = linear_sum_assignment(-cosines)
    return cosines[i, j], float(np.abs(own[j] - true)[true > 0].mean())


def counted(X, seed=0):
    blocks = Blocks.from_array(X)
    folds = assign_folds(blocks, seed)
    return make_absences(accumulate(blocks, RowPacking(X.shape[1], folds)), np.arange(X.shape[1])), folds


@pytest.fixture(scope="module")
def truth():
    """65 causes of 130 findings: more than a third of them."""
    return planted(65, 130, 16, 0)


@pytest.fixture(scope="module")
def rows(truth):
    return truth.sample(40_000, 1)


@pytest.fixture(scope="module")
def model(rows):
    return NoisyOr(65, n_splits=0).fit(rows.X)


# --- packed tensors -------------------------------------------------------------------------------------------------


def test_packed_tensors_are_those_that_are_not():
    rng = np.random.default_rng(0)
    left, right, matrix = (rng.standard_normal(shape) for shape in ((9, 20), (9, 20), (20, 20)))
    i, j = np.triu_indices(20)
    full = symmetrise_modes(np.einsum("na,nb,nc->abc", left, right, right))
    packed = symmetrise(sum_products(left, right))
    assert np.allclose(packed, full[:, i, j])
    assert np.allclose(transform(packed.copy(), matrix), multilinear(full, matrix, matrix, matrix)[:, i, j])
    assert np.allclose(pack_pairs(matrix), ((matrix + matrix.T) / 2)[i, j])
    single = full.astype(np.float32)
    images = SymmetricThree.from_packed(single[:, i, j].copy()).contract(matrix[:3].astype(np.float32))
    assert np.allclose(images, SymmetricThree(single).contract(matrix[:3].astype(np.float32)), rtol=1e-5)


# --- learning -------------------------------------------------------------------------------------------------------


def test_exact_moments_give_the_network():
    truth = planted(12, 60, 15, 3)
    found = Landmarks(ExactAbsences(truth.weights, truth.priors, truth.leak), 12, [()], 60, ROUNDS | {"corrections": 5})
    cosines, error = compared(found.network(()).weights, truth)
    assert cosines.min() > 0.9999
    assert error < 0.005


def test_it_finds_the_causes_of_the_core_that_is_solved_for():
    truth = planted(15, 90, 20, 4)
    source, folds = counted(truth.sample(30_000, 5).X)
    landmarks = Landmarks(source, 15, [folds.all], 90, ROUNDS).network(folds.all)
    logs = source.logs(folds.all)
    basis = compute_pair_basis(scale_pairs(logs, np.exp(logs.single / 2)), 15)
    solved = recover(compute_moments(source, basis, [], [folds.all])[0][0], **ROUNDS).network
    cosines, error = compared(landmarks.weights, truth)
    _, exact = compared(solved.weights, truth)
    assert cosines.min() > 0.95
    assert error < 1.2 * exact


def test_half_as_many_causes_as_findings_are_found(truth, model):
    cosines, error = compared(model.weights_, truth)
    assert cosines.min() > 0.9
    assert error < 0.05
    assert (model.weights_ > 0).mean() < 2 * (truth.weights > 0).mean()


def test_the_number_of_causes_is_that_above_the_noise():
    truth = planted(65, 260, 40, 6)
    source, folds = counted(truth.sample(40_000, 7).X)
    found, (low, high) = count_causes_above_noise(source, folds)
    assert abs(found - 65) <= 1
    assert low <= found <= high


@pytest.mark.parametrize("n_jobs", [2])
def test_threads_change_no_bits(rows, model, n_jobs):
    again = NoisyOr(65, n_splits=0, n_jobs=n_jobs).fit(rows.X)
    assert (again.weights_ == model.weights_).all()
    assert (again.priors_ == model.priors_).all()


def test_halves_say_which_causes_are_lost():
    # The last two causes are on in some ten rows.
    truth = planted(64, 256, 40, 8)
    truth.priors[-2:] = 3e-4
    model = NoisyOr(64).fit(truth.sample(30_000, 9).X)
    cosines, _ = compared(model.weights_, truth)
    lost = cosines < 0.9
    assert 0 < lost.sum() <= 3
    assert (model.evidence_.component_errors > 0.3).sum() >= lost.sum()
    assert (model.evidence_.component_errors > 0.3).sum() <= 6


@pytest.mark.parametrize(("n", "most"), [(3, 1), (6, 3), (40, 31), (4075, 3985)])
def test_no_more_causes_than_pairs_can_tell(n, most):
    assert bounds.noisy_or_causes(n) == most
    with pytest.raises(LatentiaError, match=f"{n} findings can separate at most {most} causes"):
        NoisyOr(most + 1).fit(np.zeros((100, n), bool))


# --- use ------------------------------------------------------------------------------------------------------------


def test_posteriors_by_search_are_those_of_all_subsets(truth):
    network = Network(truth.weights, truth.priors, truth.leak)
    fresh = truth.sample(400, 11)
    some = fresh.X[(fresh.X.sum(axis=1) > 11) & (fresh.X.sum(axis=1) < 15)][:20]
    found = posteriors(network, some)
    assert (found.method == SEARCH).all()
    few = Network(truth.weights[:60], truth.priors[:60], truth.leak)  # as few as have exact sums
    keep = ~fresh.causes[:, 60:].any(axis=1) & (fresh.X.sum(axis=1) > 8) & (fresh.X.sum(axis=1) < 15)
    exact = posteriors(few, fresh.X[keep][:20])
    assert (exact.method == QUICKSCORE).all()
    more = Network(np.vstack([few.weights, np.zeros((5, 130))]), np.append(few.priors, np.full(5, 1e-9)), few.leak)
    searched = posteriors(more, fresh.X[keep][:20])
    assert (searched.method == SEARCH).sum() > 5
    assert np.abs(searched.probabilities[:, :60] - exact.probabilities).max() < 0.01
    assert np.allclose(searched.log_likelihood, exact.log_likelihood, atol=0.02)


def test_causes_of_new_rows_are_told(truth, rows, model):
    fresh = truth.sample(300, 12)
    own = posteriors(Network(truth.weights, truth.priors, truth.leak), fresh.X).probabilities
    places = linear_sum_assignment(-(truth.weights @ model.weights_.T))[1]
    apart = np.abs(model.predict_proba(fresh.X)[:, places] - own)
    assert apart.mean() < 0.005


def test_gains_are_those_of_both_answers():
    rng = np.random.default_rng(0)
    network = Network(
        rng.exponential(1, (3, 4)) * (rng.random((3, 4)) < 0.7), np.array([0.1, 0.2, 0.3]), np.full(4, 0.05)
    )

    def entropy(row, known):
        p = posteriors(network, row, known).probabilities[0]
        return -(p * np.log(p) + (1 - p) * np.log1p(-p)).sum()

    nothing, row = np.zeros((1, 4), bool), np.zeros((1, 4), bool)
    chances, gains = questions(network, network.priors)
    for i in range(4):
        known, present = nothing.copy(), row.copy()
        known[0, i] = present[0, i] = True
        after = chances[i] * entropy(present, known) + (1 - chances[i]) * entropy(row, known)
        assert np.isclose(gains[i], entropy(row, nothing) - after)


def test_what_is_asked_says_more_than_frequent_findings(truth, model):
    fresh = truth.sample(60, 13)
    frequent = np.argsort(-fresh.X.mean(axis=0))[:5]
    is_worse_than_promised = []
    for row in fresh.X.astype(float):
        asked, given = np.full(130, np.nan), np.full(130, np.nan)
        for _ in range(5):
            question = model.ask(asked, 1)[0]
            assert np.isnan(asked[question.number])
            asked[question.number] = row[question.number]
        given[frequent] = row[frequent]
        p = np.clip(model.predict_proba(np.vstack([asked, given])), 1e-12, 1 - 1e-12)
        is_worse_than_promised.append(-(p * np.log(p) + (1 - p) * np.log1p(-p)).sum(axis=1))
    assert np.mean(is_worse_than_promised, axis=0)[0] < np.mean(is_worse_than_promised, axis=0)[1]


def test_what_cannot_be_asked(model):
    with pytest.raises(LatentiaError, match="one row with NaN.*x has no NaN"):
        model.ask(np.zeros(130))
    with pytest.raises(LatentiaError, match="x has 2 rows"):
        model.ask(np.full((2, 130), np.nan))
    with pytest.raises(LatentiaError, match="n=0"):
        model.ask(np.full(130, np.nan), 0)


def test_a_cause_without_findings_is_not_supported():
    # One of each half, the nearest to it, is just the same.
    network = Network(np.array([[1.0, 2.0, 0.5], [0.0, 0.0, 0.0]]), np.array([0.1, 0.009]), np.full(3, 0.01))
    learner = SimpleNamespace(remaining=None)
    errors = _add_systematic_errors(np.array([0.1, 0.0]), NetworkRefinement(network, Refinement.no_steps()), learner)
    assert errors[0] == 0.1
    assert errors[1] > 1
