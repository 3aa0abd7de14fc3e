"""Words of groups that were found without words."""

import numpy as np
import pytest

from latentia import LatentiaError, describe
from latentia.metrics import word_probabilities

TEXTS = ["river valley flood"] * 3 + ["bread butter oven"] * 3 + ["planet orbit"]


def test_shares_labels_and_masks_say_the_same():
    labels = np.array([0, 0, 0, 1, 1, 1, -1])
    shares = (labels[:, None] == np.arange(2)).astype(float)
    for given in (labels, shares, shares.astype(bool), labels.tolist()):
        words = describe(given, TEXTS, 3)
        assert set(words[0]) == {"river", "valley", "flood"}
        assert set(words[1]) == {"bread", "butter", "oven"}


def test_documents_weigh_equally():
    counts = np.array([[98, 2], [0, 1], [0, 0]])
    np.testing.assert_allclose(word_probabilities(counts, np.ones((3, 1))), [[0.49, 0.51]])
    np.testing.assert_allclose(word_probabilities(counts, np.array([[0.0], [0.0], [1.0]])), [[0.49, 0.51]])


@pytest.mark.parametrize(
    ("shares", "said"),
    [
        (np.ones((3, 2)), "3 rows; expected 7"),
        (-np.ones((7, 2)), "describe both signs"),
        (np.full((7, 2), np.nan), "describe both signs"),
        ([-1] * 7, "all are -1"),
        ([0.5] * 7, "whole numbers"),
    ],
)
def test_shares_that_cannot_be_described(shares, said):
    with pytest.raises(LatentiaError, match=said):
        describe(shares, TEXTS)
