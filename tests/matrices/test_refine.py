"""EM for nonnegative factors of pair probabilities: against dense sums, its gradient, and when it is kept."""

import numpy as np
import pytest
from scipy import sparse

from latentia.datasets import planted
from latentia.likelihood import refine
from latentia.matrices import ProbabilityMatrix
from latentia.matrices._refine import PairUpdate, make_e_step
from latentia.moments import split_counts, symmetric_counts

STEP = 1e-5


@pytest.fixture(scope="module")
def problem():
    """C + C^T of 12 words, and an update of three components."""
    rng = np.random.default_rng(0)
    table = rng.poisson(1.5, (12, 12))
    mixing = rng.random((3, 3))
    update = PairUpdate(
        rng.dirichlet(np.ones(12), 3), (mixing + mixing.T) / (2 * mixing.sum()), 0.7 * rng.dirichlet(np.ones(12))
    )
    return sparse.csr_array(table + table.T), update


def objective(update, counts):
    """Log-likelihood of the pairs, each of which is in the counts twice, and of the pseudo-counts."""
    P, W = update.components, update.mixing
    return (counts.toarray() * np.log(P.T @ W @ P)).sum() / 2 + (update.pseudo * np.log(P)).sum()


def test_a_step_is_em_written_out(problem):
    counts, update = problem
    P, W = update.components, update.mixing
    words, together = np.tile(update.pseudo, (3, 1)), np.zeros((3, 3))
    for i, j, times in zip(*counts.tocoo().coords, counts.tocoo().data, strict=True):
        joint = P[:, [i]] * W * P[:, j]  # that i comes from k and j from l
        joint *= times / 2 / joint.sum()  # (i, j) and (j, i) are the same pair
        words[:, i] += joint.sum(axis=1)
        words[:, j] += joint.sum(axis=0)
        together += joint
    found = refine(update, make_e_step(counts), 1)
    np.testing.assert_allclose(found.values[0], words / words.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(found.values[1].reshape(3, 3), (together + together.T) / (2 * together.sum()))
    assert found.log_likelihood[0] == pytest.approx(objective(update, counts) - (update.pseudo * np.log(P)).sum())


def test_slopes_are_gradients_along_symmetric_moves(problem):
    counts, update = problem
    words, together = update.expected(update.sums(counts))
    rng = np.random.default_rng(1)
    for _ in range(5):
        move, turn = rng.standard_normal((3, 12)), rng.standard_normal((3, 3))
        turn += turn.T

        def moved(step, move=move, turn=turn):
            (P,) = words.move_to(words.coordinates() + step * move.ravel())
            (W,) = together.move_to(together.coordinates() + step * turn.ravel())
            return objective(update.move_to(P, W), counts)

        slope = words.slope() @ move.ravel() + together.slope() @ turn.ravel()
        assert slope == pytest.approx((moved(STEP) - moved(-STEP)) / (2 * STEP), rel=1e-6)


def test_until_settled_it_climbs_as_high_as_many_plain_steps():
    data = planted.word_pairs(20_000, 3, 60, contrast=1.7, random_state=1)
    counts = symmetric_counts(data.counts)[0]
    components = (data.components + 1 / 60) / 2
    update = PairUpdate(components, (data.mixing + 0.01) / 1.09, np.full(60, 0.5))
    many, few = (refine(update, make_e_step(counts), steps) for steps in (3000, "auto"))
    best, found = (objective(update.move_to(*each.values), counts) for each in (many, few))
    assert found > best - 0.05
    assert few.converged
    assert len(few.log_likelihood) < 150
    W = few.values[1].reshape(3, 3)
    np.testing.assert_allclose(W, W.T, atol=1e-12)


@pytest.fixture(scope="module")
def clear():
    return planted.word_pairs(40_000, 3, 400, base="uniform", contrast=1.7, random_state=3)


def test_clear_components_are_refined(clear):
    plain = ProbabilityMatrix(3).fit(clear.counts)
    model = ProbabilityMatrix(3, refine="auto").fit(clear.counts)
    assert model.l1_distance(clear) < 0.96 * plain.l1_distance(clear)
    assert model.components_.shape == (3, 400)
    assert model.core_.sum() == pytest.approx(1)
    assert model.evidence_["EM has converged"].holds
    assert model.refinement_[-1] > model.refinement_[0] + 100
    assert model.refinement_[-1] / 40_000 == pytest.approx(model.score(clear.counts), abs=0.02)
    assert model.evidence_.component_errors[0] == pytest.approx(model.l1_distance(clear), rel=0.3)
    # Held-out pairs are a tenth, which fits to the others are asked about.
    known, held_out = split_counts(symmetric_counts(clear.counts)[0], True, 0, 0.9)
    refined = ProbabilityMatrix(3, refine=len(model.refinement_), n_splits=0).fit(known).score(held_out)
    gain = refined - ProbabilityMatrix(3).fit(known).score(held_out)
    assert model.evidence_["held-out pairs"].measured == pytest.approx(gain, rel=0.3)


def test_where_held_out_pairs_do_not_gain_the_spectrum_stays():
    data = planted.word_pairs(20_000, 20, 1000, contrast=1.0, random_state=3)
    plain, model, forced = (ProbabilityMatrix(20, refine=r).fit(data.counts) for r in (0, "auto", 100))
    assert model.n_kept_ > 0
    assert model.evidence_["held-out pairs"].measured < 0
    assert len(model.refinement_) == 0
    assert not hasattr(model, "components_")
    assert (model.entries(range(1000), 7) == plain.entries(range(1000), 7)).all()
    assert forced.l1_distance(data) > 1.05 * model.l1_distance(data)
    assert len(forced.refinement_) == 100


@pytest.mark.filterwarnings("ignore::latentia.exceptions.LatentiaWarning")
def test_nothing_is_refined_where_there_is_no_direction():
    words = np.random.default_rng(1).integers(0, 1000, (10_000, 2))
    for model in (
        ProbabilityMatrix(2, refine="auto").fit_pairs(words, 1000),
        ProbabilityMatrix(2, refine="auto").fit_pairs([[0, 1]]),
    ):
        assert model.refinement_.shape == (0,)
        assert "EM has converged" not in str(model.evidence_)


def test_more_pseudo_counts_bring_components_nearer_to_the_marginals(clear):
    apart = []
    for pseudo_counts in (0, 1, 100):
        model = ProbabilityMatrix(3, refine=5, pseudo_counts=pseudo_counts).fit(clear.counts)
        apart.append(np.abs(model.components_ - model.marginals_).sum())
    assert apart[0] > apart[1] > apart[2]
