"""Packed counting and PMI of absences, against counting by hand."""

from itertools import combinations, permutations

import numpy as np
import pytest
from scipy import sparse

from latentia import LatentiaError
from latentia.datasets import planted
from latentia.noisyor.absences import AbsenceCounts, ExactAbsences, Partition, RowPacking
from latentia.noisyor.bits import count_pairs_among, pack_columns, transpose_bits
from latentia.passes import Blocks, Folds, accumulate

FOLD_SEED = Folds(4, 0)
ALL = FOLD_SEED.all


def counted(X, n_jobs=1, block_rows=None, columns=None):
    blocks = Blocks.from_array(X, block_rows=block_rows)
    packed = accumulate(blocks, RowPacking(X.shape[1], FOLD_SEED), n_jobs)
    return AbsenceCounts(packed, columns, n_jobs)


@pytest.fixture(scope="module", name="X")
def findings():
    table = planted.noisy_or_network(9, 3, leak=0.05, random_state=3).sample(1000, 0).X
    table[::7] = False  # rows without a finding are only counted
    return table.astype(np.uint8)


def rows_of(X, groups):
    return X[np.isin(FOLD_SEED.of(np.arange(len(X))), groups)]


def log_absence(X, *findings):
    return np.log(((X[:, findings].sum(axis=1) == 0).sum() + 0.5) / (len(X) + 0.5))


def pmi3(X, i, j, k):
    pairs = sum(log_absence(X, *pair) for pair in combinations((i, j, k), 2))
    return pairs - log_absence(X, i, j, k) - sum(log_absence(X, one) for one in (i, j, k))


@pytest.mark.parametrize("groups", [ALL, (0, 2), (1, 2, 3)])
def test_logarithms_are_those_of_counts_by_hand(X, groups):
    logs, own = counted(X).logs(groups), rows_of(X, groups)
    assert np.allclose(logs.single, [log_absence(own, i) for i in range(9)], atol=1e-13)
    for i, j in combinations(range(9), 2):
        assert logs.pair[i, j] == pytest.approx(log_absence(own, i, j), abs=1e-13)
        assert logs.pmi[j, i] == pytest.approx(
            log_absence(own, i, j) - log_absence(own, i) - log_absence(own, j), abs=1e-12
        )
    assert (np.diag(logs.pmi) == 0).all()


def test_pairs_of_rare_independent_findings_have_no_bias():
    X = (np.random.default_rng(0).random((2000, 200)) < 0.01).astype(np.uint8)
    pmi = counted(X).logs(ALL).pmi[np.triu_indices(200, 1)]
    assert abs(2000 * pmi.mean()) < 0.03  # of a count of rows


def test_all_triples_and_split_ones_are_the_sums_by_hand(X):
    factor = np.random.default_rng(1).standard_normal((9, 2))
    factor[5] = 0  # is left out
    partition = Partition(np.array([0, 4, 8]), np.array([1, 2, 3]), np.array([6, 7]))
    cubes, split = counted(X).all_triples(factor, [ALL, (1, 3)], [partition])
    sides = {i: side for side, part in enumerate(partition) for i in part}
    expected, own, by_sides = np.zeros((2, 2, 2)), np.zeros((2, 2, 2)), np.zeros((2, 2, 2))
    for triple in combinations([i for i in range(9) if i != 5], 3):
        permuted = [np.einsum("x,y,z->xyz", *factor[list(order)]) for order in permutations(triple)]
        one = sum(permuted) / 6
        expected += pmi3(X, *triple) * one
        own += pmi3(rows_of(X, (1, 3)), *triple) * one
        if len({sides[i] for i in triple}) == 3:
            by_sides += pmi3(X, *triple) * one
    assert np.allclose(cubes, [expected, own], atol=1e-10)
    assert np.allclose(split[0], by_sides, atol=1e-10)


def test_the_same_bits_for_any_number_of_threads_and_any_form_of_input(X):
    factor = np.random.default_rng(1).standard_normal((9, 3))
    first = counted(X).all_triples(factor, [ALL], [])[0]
    for other in (counted(X, 2, 100), counted(sparse.csr_array(X.astype(float))), counted(X.astype(float), 2)):
        assert (other.all_triples(factor, [ALL], [])[0] == first).all()


def test_chosen_columns_alone(X):
    some = counted(X, columns=np.array([1, 4, 6]))
    assert np.allclose(some.logs(ALL).pair[0, 2], log_absence(X, 1, 6))


def test_exact_moments_are_the_limit_of_counts():
    truth = planted.noisy_or_network(9, 2, leak=0.1, random_state=0)
    exact, sampled = (
        ExactAbsences(truth.weights, truth.priors, truth.leak),
        counted(truth.sample(400_000, 1).X.astype(np.uint8)),
    )
    assert np.abs(exact.logs().single - sampled.logs(ALL).single).max() < 0.01
    assert np.abs(exact.logs().pmi - sampled.logs(ALL).pmi).max() < 0.02
    factor = np.eye(9)
    by_count, by_formula = (m.all_triples(factor, [ALL], [])[0][0] for m in (sampled, exact))
    assert np.abs(by_count - by_formula).max() < 0.01
    assert np.abs(by_formula).max() > 0.02


def test_a_value_that_is_neither_is_named():
    X = np.zeros((200, 3))
    X[150, 1] = 2
    with pytest.raises(LatentiaError, match=r"Row 150 has 2 in column 'fever'.*present.*absent"):
        accumulate(Blocks.from_array(X), RowPacking(3, FOLD_SEED, ["pain", "fever", "rash"]))


@pytest.mark.parametrize(("start", "stop", "first"), [(4, 150, 4), (20, 60, 60), (130, 150, 140)])
def test_pairs_among_the_rows_of_a_column_are_counted(start, stop, first):
    rng = np.random.default_rng(0)
    table = rng.random((40_000, 150)) < rng.uniform(0.02, 0.9, 150)
    table[:, 3] = True  # more rows than are taken out at a time
    bits = pack_columns(table)
    for i in (0, 3):
        found = np.zeros((stop - start, 150 - first), np.int32)
        order = np.arange(150)
        count_pairs_among(bits, order, transpose_bits(bits, order), i, start, stop, first, found)
        own = table[table[:, i]].astype(np.float64)
        later = np.arange(start, stop)[:, None] < np.arange(first, 150)
        assert (found == np.where(later, (own.T @ own)[start:stop, first:], 0)).all()


def test_moments_have_the_same_bits_for_any_number_of_threads(X):
    factor, partition = np.random.default_rng(1).standard_normal((9, 4)), Partition(*np.arange(9).reshape(3, 3))
    found = [counted(X, n_jobs).all_triples(factor, [ALL, (0, 1)], [partition]) for n_jobs in (1, 2)]
    for one, other in zip(*found, strict=True):
        assert (one == other).all()
