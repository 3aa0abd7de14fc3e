"""Searches for vertices: all find those of points without noise, and each what it is for."""

import numpy as np
import pytest

from latentia.datasets import planted
from latentia.nmf._selection import (
    find_affine_vertices,
    find_hull_vertices,
    find_preconditioned_vertices,
    find_whitened_vertices,
)
from latentia.simplex import farthest_vertices

SEARCHES = {
    "spa": lambda points, r: farthest_vertices(points, r)[0],
    "farthest": find_affine_vertices,
    "whitened": find_whitened_vertices,
    "spa-spa": find_preconditioned_vertices,
    "snpa": find_hull_vertices,
}
searches = pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)


def separable(**settings):
    return planted.separable_rows(**{"n_rows": 120, "n_features": 30, "n_components": 6, "random_state": 3, **settings})


def share_found(search, data):
    r = len(data.components)
    return len(set(search(data.X, r).tolist()) & set(data.anchors.ravel().tolist())) / r


@searches
def test_vertices_without_noise(search):
    assert share_found(search, separable()) == 1


@searches
@pytest.mark.parametrize("setting", [{"mixtures": "midpoints", "noise_kind": "middle", "noise": 0.1}, {"noise": 0.02}])
def test_vertices_with_noise(search, setting):
    assert share_found(search, separable(**setting)) == 1


@pytest.mark.parametrize("name", ["whitened", "spa-spa"])
def test_conditioning_makes_dependent_vertices_easy(name):
    data = separable(
        n_rows=210,
        n_features=100,
        n_components=20,
        mixtures="midpoints",
        noise_kind="middle",
        noise=0.2,
        condition=1000,
    )
    assert share_found(SEARCHES[name], data) == 1
    assert share_found(SEARCHES["spa"], data) < 0.9


def test_more_vertices_than_dimensions():
    mixtures = np.random.default_rng(0).dirichlet(np.ones(4), 40)
    triangle = np.array([[6.0, 5.0], [4.5, 5.9], [4.5, 4.1]])
    shares = mixtures[:, :3] / mixtures[:, :3].sum(axis=1, keepdims=True)
    assert set(find_affine_vertices(np.vstack([triangle, shares @ triangle]), 3)) == {0, 1, 2}
    square = np.array([[1.0, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1]])  # of rank 3
    points = np.vstack([square, mixtures @ square])
    assert set(find_hull_vertices(points, 4)) == {0, 1, 2, 3}
    assert len(farthest_vertices(points, 4)[0]) == 3


@searches
def test_points_that_span_less(search):
    points = np.random.default_rng(0).dirichlet(np.ones(3), 50) @ np.random.default_rng(1).random((3, 10))
    assert len(search(points, 3)) == 3
    assert len(search(np.ones((5, 4)), 3)) == 1
