import numpy as np
import pytest

from latentia import LatentiaError, metrics


def test_order_sign_and_scale_do_not_matter():
    rng = np.random.default_rng(0)
    mixing = rng.standard_normal((7, 4))
    unmixing = np.diag([2.0, -0.1, 30.0, -1.0]) @ np.linalg.pinv(mixing)[[2, 0, 3, 1]]
    assert metrics.amari_index(unmixing, mixing) == pytest.approx(0, abs=1e-12)
    assert metrics.amari_index(unmixing + 0.01, mixing) > 1e-3


def test_index_by_hand():
    assert metrics.amari_index(np.ones((3, 3)), np.eye(3)) == 1
    # rows: 1/2 and 1/4 beyond the largest; columns: 1/4 and 1/2
    assert metrics.amari_index([[2, -1], [1, 4]], np.eye(2)) == pytest.approx((0.5 + 0.25 + 0.5 + 0.25) / 4)
    assert metrics.amari_index([[3]], [[-2]]) == 0


def test_bad_matrices():
    with pytest.raises(LatentiaError, match=r"\(2, 3\) and mixing \(2, 3\)"):
        metrics.amari_index(np.ones((2, 3)), np.ones((2, 3)))
    with pytest.raises(LatentiaError, match=r"expected \(K, d\) and \(d, K\)"):
        metrics.amari_index(np.ones(3), np.ones(3))
    with pytest.raises(LatentiaError, match="zeros"):
        metrics.amari_index(np.diag([1.0, 0.0]), np.eye(2))
    with pytest.raises(LatentiaError, match="not finite"):
        metrics.amari_index(np.diag([1.0, np.nan]), np.eye(2))
