"""Bounds of the theorems on rich components and on communities: how they scale."""

import pytest

from latentia import LatentiaError
from latentia.evidence import bounds

VIEWS = {"norm": 2.0, "radius": 1.5, "cumulant": 0.3}
ROWS = {"order": 2, "least_map": 0.5, **VIEWS}


def test_rows_for_two_views():
    base = bounds.contrastive_rows(0.1, **ROWS)
    assert bounds.contrastive_rows(0.05, **ROWS) == pytest.approx(4 * base)
    assert bounds.contrastive_rows(0.1, **{**ROWS, "cumulant": 0.15}) == pytest.approx(16 * base)
    assert bounds.contrastive_rows(0.1, **{**ROWS, "norm": 4.0}) == pytest.approx(2**10 * base)
    assert base == pytest.approx((2 * 1.5) ** 4 * 2**10 * 1.5**16 / (0.3**4 * 0.5**4 * 0.1**2))


def test_errors_and_operations():
    assert bounds.contrastive_map_error(0.1, **VIEWS) == pytest.approx(0.1 * 4 * 1.5**4 / 0.09)
    assert bounds.contrastive_operations(10, 4) == 40**6
    assert bounds.biased_gradient_error(0.1, 2.0) ** 2 == pytest.approx(8 * 0.1**2 / 2**2)
    assert bounds.rich_component_operations(5, 3, 3, 4) == 5040 * 15**7


def test_rows_for_many_components_grow_with_chains():
    settings = {"n_components": 7, "distinguishing": 3, "order": 4, "least_map": 0.5, **VIEWS}
    rows = [bounds.rich_component_rows(0.1, chain=q, **settings) for q in (1, 2, 3)]
    assert rows[1] / rows[0] == pytest.approx(rows[2] / rows[1])
    assert rows[0] < rows[1]
    with pytest.raises(LatentiaError, match="least_map"):
        bounds.rich_component_rows(0.1, chain=1, **{**settings, "least_map": 0.0})


def test_communities():
    assert bounds.community_strength(10_000, 10) == pytest.approx(0.1)
    memberships, connectivity = bounds.community_errors(10_000, 10, 0.04, 0.01)
    assert memberships == pytest.approx(20 / 0.03)
    assert connectivity == pytest.approx(10 * 0.2 / 100)
    assert bounds.support_threshold(10_000, 10, 0.04, 0.01) == pytest.approx(0.2 * 10 / (0.03 * 100))
    with pytest.raises(LatentiaError, match="below inside"):
        bounds.community_errors(100, 2, 0.1, 0.1)
