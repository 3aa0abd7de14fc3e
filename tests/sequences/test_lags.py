import numpy as np

from latentia.moments.vectors import Coordinates
from latentia.passes import Blocks, Folds
from latentia.sequences._lags import build_step_views, encode_one_hot, find_pair_starts, fit_lagged_coordinates


def test_past_and_future_stay_within_their_sequence():
    symbols = np.array([0, 1, 2, 0, 1, 2, 2, 1])[:, None]
    blocks = encode_one_hot(Blocks.from_array(symbols, lengths=[5, 3]), 3)
    identity = Coordinates(np.zeros(3), np.eye(3), constant=False)
    (past, step, future), groups = build_step_views(blocks[0], identity, np.zeros(3), Folds(4, 0, 2))
    assert step.toarray().argmax(axis=1).tolist() == [1, 2, 0, 2]
    assert past[:, :3].argmax(axis=1).tolist() == [0, 1, 2, 2]
    assert future[:, :3].argmax(axis=1).tolist() == [2, 0, 1, 1]
    np.testing.assert_allclose(past[2, 3:], [0.36, 0.6, 1.0])  # steps 2, 1 and 0 of the first sequence
    np.testing.assert_allclose(future[3, 3:], [0, 1.0, 0])
    assert (groups == Folds(4, 0, 2).of(np.array([1, 2, 3, 6]))).all()
    assert find_pair_starts(np.array([2, 1, 3]), 1).tolist() == [0, 3, 4]


def test_large_alphabets_are_reduced():
    rng = np.random.default_rng(2)
    symbols = rng.integers(0, 300, 4000)[:, None]
    blocks = encode_one_hot(Blocks.from_array(symbols, lengths=[1000] * 4), 300)
    scale = 1 / np.sqrt(np.maximum(np.bincount(symbols.ravel(), minlength=300), 1) / 4000)
    coordinates, n_passes = fit_lagged_coordinates(blocks, 14, np.zeros(300), scale, constant=False)
    assert (n_passes, coordinates.basis.shape) == (8, (300, 14))
