import numpy as np
import pytest

from latentia import LatentiaError, metrics


def test_names_of_clusters_do_not_matter():
    labels = np.random.default_rng(0).integers(4, size=100)
    assert metrics.many_to_one_accuracy(np.array([9, -2, 7, 3])[labels], labels) == 1
    assert metrics.many_to_one_accuracy(labels.astype(str), labels) == 1


def test_accuracy_by_hand():
    predicted = [0, 0, 0, 1, 1, 2, 2, 2]
    true = ["a", "a", "b", "a", "a", "b", "c", "b"]
    assert metrics.many_to_one_accuracy(predicted, true) == pytest.approx((2 + 2 + 2) / 8)
    assert metrics.many_to_one_accuracy([0] * 8, true) == pytest.approx(4 / 8)
    assert metrics.many_to_one_accuracy(range(8), true) == 1


def test_bad_labels():
    with pytest.raises(LatentiaError, match=r"\(2,\) and true \(3,\)"):
        metrics.many_to_one_accuracy([0, 1], [0, 1, 2])
    with pytest.raises(LatentiaError, match="one cluster and one label per sample"):
        metrics.many_to_one_accuracy([], [])
    with pytest.raises(LatentiaError, match="one cluster and one label per sample"):
        metrics.many_to_one_accuracy(np.eye(2), np.eye(2))
