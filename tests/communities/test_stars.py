"""Moments of 3-stars: against a sum over all stars, and what they estimate."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from latentia.communities._stars import star_moments
from latentia.datasets import planted


def over_all_stars(table, coordinates):
    """Means over heads, weighed by their degree, of products of the coordinates of different edges."""
    b = coordinates.shape[1]
    total, first, second, third = 0.0, np.zeros(b), np.zeros((b, b)), np.zeros((b, b, b))
    for row in table.astype(int):
        ends = np.repeat(np.arange(len(row)), row)  # an edge that is there twice is two edges
        degree = len(ends)
        if degree < 3:
            continue
        total += degree
        first += coordinates[ends].sum(axis=0)
        for i, j in itertools.permutations(ends, 2):
            second += np.outer(coordinates[i], coordinates[j]) / (degree - 1)
        for i, j, k in itertools.permutations(ends, 3):
            product = np.einsum("a,b,c->abc", coordinates[i], coordinates[j], coordinates[k])
            third += product / ((degree - 1) * (degree - 2))
    return first / total, second / total, third / total


@pytest.mark.parametrize("most", [2, 4])
def test_sums_over_all_stars(most):
    rng = np.random.default_rng(0)
    table, coordinates = rng.integers(0, most, (7, 6)) * (rng.random((7, 6)) < 0.7), rng.standard_normal((6, 3))
    found = star_moments(sparse.csr_array(table.astype(float)), coordinates)
    for one, other in zip((found.first, found.second, found.third), over_all_stars(table, coordinates), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)
    np.testing.assert_allclose(found.images, table @ coordinates)


@pytest.mark.parametrize("alpha0", [0.0, 0.5])
def test_corrected_moments_are_sums_over_communities(alpha0):
    graph = planted.mixed_membership_graph(4000, 3, alpha0=alpha0, degree=150, snr=10, random_state=1)
    truth = graph.connectivity @ graph.memberships.T  # F^T: chance of an edge to every node for each community
    coordinates = (truth - truth.mean(axis=0))[:2].T / truth.std()
    found = star_moments(graph.adjacency, coordinates).correct_for_mixing(alpha0)
    profiles = truth @ coordinates / truth.sum(axis=1, keepdims=True)
    second = profiles.T @ profiles / 3 / (alpha0 + 1)
    third = 2 * np.einsum("ka,kb,kc->abc", profiles, profiles, profiles) / 3 / ((alpha0 + 1) * (alpha0 + 2))
    np.testing.assert_allclose(found.second, second, atol=0.05 * np.abs(second).max())
    np.testing.assert_allclose(found.third, third, atol=0.15 * np.abs(third).max())


def test_the_same_bits_for_any_number_of_threads():
    graph = planted.mixed_membership_graph(3000, 3, random_state=1)
    coordinates = np.random.default_rng(0).standard_normal((3000, 5))
    one, two = (star_moments(graph.adjacency, coordinates, n_jobs) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.third, two.third)
