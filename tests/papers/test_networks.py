"""Sets from triples of nodes."""

from itertools import combinations

import numpy as np
import pytest

from latentia.datasets import planted
from latentia.papers.networks import recover_graph_3wise, triples_together


def random_sets(n_sets, n_nodes, degree, seed):
    return np.random.default_rng(seed).random((n_sets, n_nodes)) < degree / n_nodes


def triples_of(sets):
    rows = [np.array(list(combinations(np.flatnonzero(members), 3))).reshape(-1, 3) for members in sets]
    places = np.unique(np.ravel_multi_index(np.concatenate(rows).T, (sets.shape[1],) * 3))
    return np.column_stack(np.unravel_index(places, (sets.shape[1],) * 3))


def same_sets(found, sets, least=4):
    wanted = {tuple(np.flatnonzero(members)) for members in sets if members.sum() >= least}
    return {tuple(np.flatnonzero(members)) for members in found.toarray()} == wanted


@pytest.mark.parametrize("degree", [10, 20, 40])
def test_random_sets_are_found_exactly(degree):
    sets = random_sets(75, 300, degree, degree)
    found = recover_graph_3wise(triples_of(sets), 300)
    assert same_sets(found, sets)
    assert found.dtype == bool


def test_missing_triples_and_triples_by_chance():
    sets, rng = random_sets(50, 300, 20, 1), np.random.default_rng(2)
    triples = triples_of(sets)
    by_chance = rng.integers(0, 300, (len(triples) // 10, 3))
    by_chance = by_chance[(np.diff(np.sort(by_chance, axis=1), axis=1) > 0).all(axis=1)]
    noisy = np.concatenate([triples[rng.random(len(triples)) > 0.2], by_chance])
    assert same_sets(recover_graph_3wise(noisy, 300), sets)


def test_triples_by_chance_alone_are_no_sets():
    rows = np.random.default_rng(3).integers(0, 200, (20_000, 3))
    rows = rows[(np.diff(np.sort(rows, axis=1), axis=1) > 0).all(axis=1)]
    assert recover_graph_3wise(rows, 200).shape == (0, 200)


def test_a_known_degree_leaves_unions_out():
    sets = random_sets(30, 400, 20, 4)
    triples = triples_of(sets)
    assert same_sets(recover_graph_3wise(triples, 400, degree=20), sets)
    assert recover_graph_3wise(triples, 400, degree=2).shape[0] == 0


def test_sets_of_three():
    triple = np.array([[4, 2, 0]])
    assert recover_graph_3wise(triple, 5).shape == (0, 5)
    assert recover_graph_3wise(triple, 5, min_size=3).indices.tolist() == [0, 2, 4]


def test_triples_in_any_order_are_the_same_sets():
    sets = random_sets(10, 60, 8, 5)
    rows, rng = triples_of(sets), np.random.default_rng(6)
    shuffled = rng.permuted(np.concatenate([rows, rows])[rng.permutation(2 * len(rows))], axis=1)
    assert np.array_equal(recover_graph_3wise(rows, 60).toarray(), recover_graph_3wise(shuffled, 60).toarray())


def test_triples_that_fire_together():
    rows = np.random.default_rng(7).random((300, 25)) < 0.3
    together = [(u, v, s) for u, v, s in combinations(range(25), 3) if rows[:, [u, v, s]].all(axis=1).sum() >= 11]
    assert [tuple(row) for row in triples_together(rows, 10.5)] == together


def test_units_of_a_layer_from_rows():
    samples = planted.sparse_network(6000, (600, 120), 8, 0.02, random_state=8)
    found = recover_graph_3wise(triples_together(samples.Y.toarray(), 0.02 * 6000 / 2), 600).toarray()
    sets = samples.layers[0].toarray() > 0
    exact = {tuple(np.flatnonzero(m)) for m in found} & {tuple(np.flatnonzero(m)) for m in sets}
    assert len(exact) >= 117
