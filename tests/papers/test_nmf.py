"""Printed algorithms find the vertices of planted simplices; tests/simplex compares the fast ones with them."""

import numpy as np
import pytest

from latentia.papers.nmf import almost_anchors, distance_to_hull, fast_anchor_words, loners, robust_loners


def planted(noise=0.0, seed=0):
    """Return 30 points whose first four are vertices with l1 noise up to ``noise``."""
    rng = np.random.default_rng(seed)
    points = np.vstack([np.eye(4), rng.dirichlet(np.full(4, 0.5), 26)]) @ rng.dirichlet(np.full(8, 0.5), 4)
    error = rng.standard_normal(points.shape)
    return points + noise * error / np.abs(error).sum(axis=1, keepdims=True)


def test_distance_to_a_hull():
    square = np.array([[0.0, 0], [1, 0], [0, 1], [1, 1]])
    assert distance_to_hull(np.array([0.5, 0.5]), square) == pytest.approx(0)
    assert distance_to_hull(np.array([2.0, 1.5]), square) == pytest.approx(1.5)
    assert distance_to_hull(np.array([0.5, 0.5]), square, np.array([1.0, 0, 0, 0])) == pytest.approx(1)
    assert distance_to_hull(np.zeros(2), square[:0]) == np.inf


def test_vertices_without_noise():
    points = planted()
    assert list(loners(points)) == [0, 1, 2, 3]
    assert list(loners(np.vstack([points, points]))) == [0, 1, 2, 3]
    assert sorted(fast_anchor_words(points, 4)) == [0, 1, 2, 3]


@pytest.mark.parametrize("find", [robust_loners, almost_anchors])
def test_one_group_of_loners_for_each_vertex(find):
    points = planted(noise=0.001)
    rows, groups = find(points, 0.001, 0.5)
    assert set(range(4)) <= set(rows)
    assert len(set(groups)) == 4
    assert len(set(groups[:4])) == 4
