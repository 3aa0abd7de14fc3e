"""Races: the start of the highest likelihood wins, the first of equals, and failures lose."""

import numpy as np
import pytest

from latentia.exceptions import LatentiaError
from latentia.likelihood import over, race, race_updates, refine
from latentia.mixtures._spherical_update import SphericalMixtureUpdate
from latentia.passes import Blocks


@pytest.fixture(scope="module")
def blocks():
    rng = np.random.default_rng(0)
    centers = np.array([[0.0, 0], [8, 0], [0, 8], [8, 8]])
    return Blocks.from_array(centers[rng.integers(0, 4, 800)] + rng.standard_normal((800, 2)))


def start(means):
    return SphericalMixtureUpdate(np.array(means, float), np.full(4, 0.25), np.full(4, 4.0), floor=1e-3)


BAD = start([[-1, 4], [1, 4], [7, 4], [9, 4.5]])  # two components for each pair of clusters
GOOD = start([[1, 1], [7, 1], [1, 7], [7, 7]])


def test_the_highest_wins_and_the_first_of_equals():
    heights = {"a": -3.0, "b": -1.0, "c": -1.0}
    found = race(heights, lambda height: (height, height))
    assert (found.name, found.reached, found.heights) == ("b", -1.0, heights)
    assert race(heights, lambda height: (height, height), min_gain=2.5).name == "a"


def test_starts_that_fail_lose():
    def climb(start):
        if start is None:
            raise LatentiaError("No way up.")
        return start, start

    found = race({"none": None, "nan": np.nan, "low": -9.0}, climb)
    assert found.name == "low"
    assert found.heights == {"none": -np.inf, "nan": -np.inf, "low": -9.0}
    with pytest.raises(LatentiaError, match="No way up"):
        race({"none": None, "again": None}, climb)


@pytest.mark.parametrize("steps", ["auto", 30])
def test_the_winner_is_refined_to_the_end(blocks, steps):
    found = race_updates({"bad": BAD, "good": GOOD}, over(blocks), steps, n_trial_steps=5)
    alone = refine(GOOD, over(blocks), steps)
    assert found.name == "good"
    assert found.heights["good"] > found.heights["bad"] + 100
    assert found.reached.log_likelihood[-1] == pytest.approx(alone.log_likelihood[-1], rel=1e-6)
    if steps == 30:
        assert len(found.reached.log_likelihood) == 30
        np.testing.assert_allclose(found.reached.values[0], alone.values[0])


def test_without_steps_or_rivals_the_first_is_taken(blocks):
    assert race_updates({"bad": BAD, "good": GOOD}, over(blocks), 0, n_trial_steps=5).name == "bad"
    found = race_updates({"bad": BAD}, over(blocks), 3, n_trial_steps=5)
    assert len(found.reached.log_likelihood) == 3


def test_no_more_steps_than_were_allowed(blocks):
    found = race_updates({"bad": BAD, "good": GOOD}, over(blocks), "auto", n_trial_steps=2, max_steps={"good": 4})
    assert len(found.reached.log_likelihood) == 4
    assert len(refine(BAD, over(blocks), "auto", max_steps=3).log_likelihood) <= 3
