"""Many logistic regressions at once, against one at a time."""

from functools import cache

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from latentia.multilabel._logistic import Design, logistic_regressions


@pytest.fixture(scope="module")
def rows():
    """A sparse table, and 70 labels of every frequency: more than are solved together."""
    rng = np.random.default_rng(0)
    table = sparse.csr_array(sparse.random(400, 30, 0.3, random_state=1, format="csr"), dtype=np.float32)
    scores = table @ rng.standard_normal((30, 70)) * 2 + rng.uniform(-5, 1, 70)
    labels = rng.random((400, 70)) < 1 / (1 + np.exp(-scores))
    labels[:, 7], labels[:, 8] = False, True
    return table, sparse.csr_array(labels.astype(np.int8))


def objective(table, y, strength, coefficients, intercept):
    scores = table @ coefficients + intercept
    return (np.logaddexp(0, scores) - y * scores).sum() + coefficients @ coefficients / (2 * strength)


@pytest.fixture(scope="module")
def alone(rows):
    """``alone(label, strength)``: a regression of one label by scikit-learn, made once."""
    full = rows[0].toarray().astype(np.float64)

    @cache
    def solved(label, strength):
        model = LogisticRegression(C=strength, tol=1e-8, max_iter=1000, solver="newton-cholesky")
        return model.fit(full, rows[1][:, [label]].toarray().ravel())

    return solved


@pytest.mark.parametrize("strength", [0.3, 10.0])
@pytest.mark.parametrize("dense", [False, True])
def test_each_label_is_solved_as_if_alone(rows, alone, strength, dense):
    table, labels = rows
    full = table.toarray().astype(np.float64)
    found = logistic_regressions(Design(table.toarray() if dense else table), labels, strength, 60)
    few = logistic_regressions(Design(table), labels, strength, 6)
    for label in range(70):
        y = labels[:, [label]].toarray().ravel()
        if label in (7, 8):
            continue
        if not 0 < y.sum() < 400:
            assert not found.coefficients[:, label].any()
            continue
        exact = alone(label, strength)
        best = objective(full, y, strength, exact.coef_[0], exact.intercept_[0])
        own, fast = (
            objective(full, y, strength, w.coefficients[:, label].astype(float), w.intercept[label])
            for w in (found, few)
        )
        assert own <= best * 1.005 + 0.01
        nothing = objective(full, y, strength, np.zeros(30), np.log(y.mean() / (1 - y.mean())))
        assert fast - best <= 0.15 * (nothing - best)


def test_labels_of_no_row_and_of_all_rows_have_no_words(rows):
    found = logistic_regressions(Design(rows[0]), rows[1], 1.0, 5)
    assert not found.coefficients[:, [7, 8]].any()
    np.testing.assert_allclose(found.intercept[[7, 8]], [np.log(0.5 / 399.5), np.log(399.5 / 0.5)])


def test_same_bits_for_any_number_of_threads(rows):
    first, second = (logistic_regressions(Design(rows[0]), rows[1], 3.0, 5, n_jobs=j) for j in (1, 2))
    assert (first.coefficients == second.coefficients).all()
    assert (first.intercept == second.intercept).all()


def test_a_start_that_is_near_needs_fewer_steps(rows):
    table, labels = rows
    design, y = Design(table), labels.toarray()
    near = logistic_regressions(design, labels, 3.0, 40)
    again, cold = (logistic_regressions(design, labels, 10.0, 3, start) for start in (near, None))
    totals = [
        sum(objective(table, y[:, j], 10.0, w.coefficients[:, j], w.intercept[j]) for j in range(70))
        for w in (again, cold)
    ]
    assert totals[0] < totals[1]


def test_separable_rows_stay_finite():
    table = sparse.csr_array(np.eye(6, dtype=np.float32))
    found = logistic_regressions(Design(table), sparse.csr_array(np.eye(6, dtype=np.int8)), 1e4, 50)
    assert np.isfinite(found.coefficients).all()
    scores = table @ found.coefficients + found.intercept
    assert (scores.argmax(axis=1) == np.arange(6)).all()
