"""Steps that repeat earlier steps word for word: copies of sequences, or of parts of them.

Halves of the data measure the noise only if they share nothing, so that each copy must go into the half of its original. A
window of w steps counts as a copy if chance makes no two windows alike: with the collision entropy h of a step,
n^2 exp(-h w) is far below one among n windows.
"""

from __future__ import annotations

import numpy as np

_MIN_REPETITIONS = 1.5  # average occurrences of a step from which on data counts as repeating itself
_MAX_WINDOW = 200
_MIN_ENTROPY = 0.05


def find_first_copies(symbols: np.ndarray, size: int) -> np.ndarray | None:
    """Find for every step the first step that it is a copy of, shape (n,); None if the data does not repeat itself."""
    n, width = len(symbols), _choose_window_length(symbols, size)
    if n <= width:
        return None
    first_windows = _find_first_windows(symbols, width, size)
    copies = np.flatnonzero(first_windows < np.arange(len(first_windows)))
    shifts = np.zeros(n, np.int64)
    for step in range(width):
        shifts[copies + step] = np.maximum(shifts[copies + step], copies - first_windows[copies])
    return np.arange(n) - shifts if n >= _MIN_REPETITIONS * (shifts == 0).sum() else None


def _choose_window_length(symbols: np.ndarray, size: int) -> int:
    """Choose a window so long that no two are alike by chance."""
    n = len(symbols)
    counts = np.bincount(symbols, minlength=size)
    symbol_entropy = -np.log(float((counts / n) @ (counts / n)))
    pairs = np.unique(symbols[:-1] * np.int64(size) + symbols[1:], return_counts=True)[1].astype(np.float64)
    pair_collision = float((pairs * (pairs - 1)).sum()) / n**2
    entropy = symbol_entropy if pair_collision <= 0 else min(symbol_entropy, -np.log(pair_collision) - symbol_entropy)
    return min(int(np.ceil(2 * np.log(100 * n) / max(entropy, _MIN_ENTROPY))), _MAX_WINDOW)


def _find_first_windows(symbols: np.ndarray, width: int, size: int) -> np.ndarray:
    """Find for every window the first one with the same symbols, by a hash of 64 bits."""
    rng = np.random.default_rng(0)
    keys, factors = (rng.integers(1, 1 << 63, count).astype(np.uint64) for count in (size, width))
    n_windows = len(symbols) - width + 1
    hashes = np.zeros(n_windows, np.uint64)
    for step, factor in enumerate(factors | np.uint64(1)):
        hashes += keys[symbols[step : step + n_windows]] * factor
    _, first, window_ids = np.unique(hashes, return_index=True, return_inverse=True)
    return np.asarray(first[window_ids])
