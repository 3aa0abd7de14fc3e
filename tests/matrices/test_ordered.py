"""Ordered pairs and rectangular tables: near the planted truth, ahead of what knows frequencies alone, honest about noise."""

import numpy as np
import pytest
from scipy import sparse

from latentia import LatentiaError, load, save
from latentia.matrices import ProbabilityMatrix
from latentia.matrices._ordered import estimate_discounts
from latentia.matrices._scaled_pairs import compute_singular_space


@pytest.fixture(scope="module")
def truth():
    """Users x items of four kinds, (400, 120)."""
    rng = np.random.default_rng(0)
    users, items = rng.dirichlet(np.full(4, 0.3), 400), rng.dirichlet(np.full(120, 0.1), 4)
    activity = rng.dirichlet(np.full(400, 5.0))
    return activity[:, None] * (users @ items)


@pytest.fixture(scope="module")
def counts(truth):
    return sparse.csr_array(np.random.default_rng(1).poisson(truth * 20_000))


@pytest.fixture(scope="module")
def model(counts):
    return ProbabilityMatrix(4, symmetric=False, discount=False).fit(counts)


@pytest.fixture(scope="module")
def chain():
    """Neighbours in a sequence with set phrases: (300, 300)."""
    rng = np.random.default_rng(2)
    frequency = rng.dirichlet(np.full(300, 0.5))
    following = 0.5 * frequency + 0.5 * np.eye(300)[rng.permutation(300)]
    return frequency[:, None] * (following / following.sum(axis=1, keepdims=True))


def test_a_table_is_recovered_and_its_error_expected(model, truth, counts):
    assert model.rows(range(400)).sum() == pytest.approx(1)
    error = model.l1_distance(truth)
    alone = ProbabilityMatrix(1, symmetric=False, discount=False).fit(counts)
    assert error < 0.5 * alone.l1_distance(truth)
    assert model.evidence_.expected_error == pytest.approx(error, rel=0.5)
    assert [one.passed for one in model.evidence_.statements] == [True, True, True, None]
    assert model.n_kept_ == 3
    raw = np.abs(counts.toarray() / counts.sum() - truth).sum()
    assert error < 0.7 * raw


def test_what_is_asked_of_it_agrees(model, counts):
    B = model.rows(range(400))
    assert (B >= 0).all()
    np.testing.assert_allclose(model.entries(np.arange(400)[:, None], np.arange(120)), B)
    np.testing.assert_allclose(model.conditional([3, 5]), B[[3, 5]] / B[[3, 5]].sum(axis=1, keepdims=True))
    np.testing.assert_allclose(model.marginals_, counts.sum(axis=1) / counts.sum())
    np.testing.assert_allclose(model.column_marginals_, counts.sum(axis=0) / counts.sum())
    drawn = model.sample(2000)
    assert drawn[:, 0].max() > 120 > drawn[:, 1].max()
    assert model.labels_.shape == (400,)
    assert model.embedding_.shape == (400, 3)
    assert model.column_embedding_.shape == (120, 3)


def test_the_spectrum_is_that_of_a_naive_one(counts):
    space = compute_singular_space(counts, 5)
    C = counts.toarray() / counts.sum()
    r, c = C.sum(axis=1), C.sum(axis=0)
    S = (C - np.outer(r, c)) / np.sqrt(np.outer(r + 0.3 / 400, c + 0.3 / 120))
    np.testing.assert_allclose(space.observed, np.linalg.svd(S, compute_uv=False)[:5], rtol=1e-3)
    noise = np.random.default_rng(3).poisson(np.outer(r, c) * counts.sum())
    assert compute_singular_space(sparse.csr_array(noise), 5).n_kept == 0


def test_discounts_where_the_same_pairs_come_again(chain):
    rng = np.random.default_rng(4)
    known, rest = (sparse.csr_array(rng.poisson(chain * n)) for n in (6000, 6000))
    model = ProbabilityMatrix(5, symmetric=False).fit(known)
    assert model.discounts_ is not None
    assert model.rows(range(300)).sum() == pytest.approx(1)
    np.testing.assert_allclose(model.entries(7, [1, 2]), model.rows(7)[[1, 2]])
    plain = ProbabilityMatrix(5, symmetric=False, discount=False).fit(known)
    assert model.score(rest) > plain.score(rest) + 0.2
    seen = known.toarray() > 0
    B = model.rows(range(300))
    assert (B[~seen] >= 0).all()
    assert (B[seen] > 0).all()


def test_no_discounts_for_a_table_of_ones(truth):
    counts = sparse.csr_array(
        (np.random.default_rng(5).random(truth.shape) < np.minimum(5000 * truth, 1)).astype(float)
    )
    assert estimate_discounts(counts) is None
    assert ProbabilityMatrix(4, symmetric=False).fit(counts).discounts_ is None


def test_independent_pairs_are_not_supported():
    rng = np.random.default_rng(6)
    noise = np.outer(rng.dirichlet(np.ones(150)), rng.dirichlet(np.ones(80)))
    model = ProbabilityMatrix(4, symmetric=False).fit(sparse.csr_array(rng.poisson(noise * 5000)))
    assert not model.evidence_.holds


def test_the_same_bits_after_saving_and_for_any_number_of_threads(counts, model, tmp_path):
    other = ProbabilityMatrix(4, symmetric=False, discount=False, n_jobs=3).fit(counts.toarray())
    np.testing.assert_array_equal(other.rows([0, 9]), model.rows([0, 9]))
    for one in (model, ProbabilityMatrix(4, symmetric=False, discount=True).fit(counts)):
        save(one, tmp_path / "m.npz")
        np.testing.assert_array_equal(load(tmp_path / "m.npz").rows(slice(5)), one.rows(slice(5)))


def test_the_report_of_a_table_that_is_not_square(counts, model, tmp_path):
    page = model.report(tmp_path / "r.html", counts).read_text("utf-8")
    assert "column 1" in page
    assert "What goes with what" in page


def test_errors_say_what_is_wrong(counts, model):
    for call, message in (
        (lambda: ProbabilityMatrix(200, symmetric=False).fit(counts), "400 x 120 carries a rank of at most 120"),
        (lambda: ProbabilityMatrix(3).fit(counts), "Set symmetric=False"),
        (lambda: ProbabilityMatrix(3, symmetric=False, refine=3).fit(counts), "ordered pairs cannot be refined"),
        (
            lambda: ProbabilityMatrix(3, symmetric=False, discount=True).fit(np.ones((9, 9))),
            "that occur once, twice and three",
        ),
        (lambda: ProbabilityMatrix(3, discount="no").fit(counts), "True, False or 'auto'"),
        (lambda: model.entries(0, 120), "whole numbers from 0 to 119"),
        (lambda: model.score(counts.T), "120 x 400 words and the model 400 x 120"),
        (lambda: model.topics(), "expected symmetric=True for topics"),
        (lambda: model.l1_distance(np.ones((3, 3))), "expected equally many"),
    ):
        with pytest.raises(LatentiaError, match=message):
            call()


def test_counts_without_pairs_have_no_space():
    with pytest.raises(LatentiaError, match="no pairs"):
        compute_singular_space(sparse.csr_array((5, 4)), 2)
