"""Steps of symbols that were said before, word for word: copies of sequences, or of parts of them.

Halves of the steps say how large the noise is if they share none. Copies do, so that each goes with its first one. A window of
steps counts as a copy where chance would make no two alike: it is so long that among n windows of a chain with the symbols'
collision entropy h a step, n^2 exp(-h w) is far below one.
"""

from __future__ import annotations

import numpy as np

_REPEATED = 1.5  # times that a step is seen on average, in data that repeats itself
_LONGEST = 200
_LEAST_ENTROPY = 0.05


def first_copies(symbols: np.ndarray, size: int) -> np.ndarray | None:
    """For every step the first one that it is a copy of, shape (n,); None where the data does not repeat itself."""
    n, width = len(symbols), _window(symbols, size)
    if n <= width:
        return None
    first = _first_windows(symbols, width, size)
    copied = np.flatnonzero(first < np.arange(len(first)))
    back = np.zeros(n, np.int64)
    for step in range(width):
        back[copied + step] = np.maximum(back[copied + step], copied - first[copied])
    return np.arange(n) - back if n >= _REPEATED * (back == 0).sum() else None


def _window(symbols: np.ndarray, size: int) -> int:
    """Steps that no two windows share by chance."""
    n = len(symbols)
    counts = np.bincount(symbols, minlength=size)
    alone = -np.log(float((counts / n) @ (counts / n)))
    pairs = np.unique(symbols[:-1] * np.int64(size) + symbols[1:], return_counts=True)[1].astype(np.float64)
    together = float((pairs * (pairs - 1)).sum()) / n**2
    entropy = alone if together <= 0 else min(alone, -np.log(together) - alone)
    return min(int(np.ceil(2 * np.log(100 * n) / max(entropy, _LEAST_ENTROPY))), _LONGEST)


def _first_windows(symbols: np.ndarray, width: int, size: int) -> np.ndarray:
    """For every window the first one with the same symbols, by a hash of 64 bits."""
    rng = np.random.default_rng(0)
    keys, factors = (rng.integers(1, 1 << 63, count).astype(np.uint64) for count in (size, width))
    last = len(symbols) - width + 1
    hashes = np.zeros(last, np.uint64)
    for step, factor in enumerate(factors | np.uint64(1)):
        hashes += keys[symbols[step : step + last]] * factor
    _, first, same = np.unique(hashes, return_index=True, return_inverse=True)
    return np.asarray(first[same])
