"""Limits of detection, whatever the method.

Two states: Huang, Kakade, Kong, Valiant, Recovering structured probability matrices, 2018, appendix B. Blocks: the threshold of
Kesten and Stigum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import gammaln, logsumexp

from ...exceptions import LatentiaError
from ._positive import check_positive


def two_state_detection(
    n_steps: int | Sequence[int] | np.ndarray, n_symbols: int, switch: float = 0.25, contrast: float = 1.0
) -> float:
    """Bound the chance that any test distinguishes chains of two states from independent draws (Lemmas B.5 and B.6).

    Chains are as in Theorem 1.5: half of the symbols, drawn at random, have probability (1 + delta) / M in one state and
    (1 - delta) / M in the other, the rest the other way round, and the states switch with probability t. With
    u = 2 t (1 - t), and a symbols that two such halves share, x = (4 a / M - 1) delta^2,

        E[Y^2] = sum_a C(M/2, a)^2 / C(M, M/2) f(x),    f = A l_+^N + (1 - A) l_-^N,
        l_+- = 1 - u +- (u^2 + (1 - 2 u) x^2)^(1/2),    A = (1 - l_-) / (l_+ - l_-),

    is an exact finite sum, and the chance at most 1/2 + (E[Y^2] - 1)^(1/2) / 4. The paper has delta = 1 and t = 1/4.

    Parameters
    ----------
    n_steps : int or sequence of int
        N; or the length of each of several independent sequences.
    n_symbols : int
        M; an odd number is reduced by one.
    switch : float, default=0.25
        t, between 0 and 1.
    contrast : float, default=1.0
        delta, half of the l1 distance between the states' symbols.

    Returns
    -------
    float
        Between 1/2 (a coin) and 1 (no bound).

    Examples
    --------
    >>> from latentia.evidence.bounds import two_state_detection
    >>> round(two_state_detection(500, 1000), 2), round(two_state_detection(1000, 1000), 2)
    (0.62, 0.71)
    """
    lengths = np.atleast_1d(np.asarray(n_steps, dtype=np.int64))
    check_positive(n_symbols=n_symbols, contrast=contrast)
    if lengths.min(initial=0) < 0 or not 0 <= switch <= 1 or contrast > 1:
        raise LatentiaError(
            f"n_steps={n_steps}, switch={switch}, contrast={contrast}: expected n_steps of at least 0, switch between 0 and "
            "1, and contrast of at most 1."
        )
    half = max(int(n_symbols) // 2, 1)
    a = np.arange(half + 1)
    chances = 2 * (gammaln(half + 1) - gammaln(a + 1) - gammaln(half - a + 1))
    chances -= gammaln(2 * half + 1) - 2 * gammaln(half + 1)
    u, x = 2 * switch * (1 - switch), (2 * a / half - 1) * contrast**2
    root = np.sqrt(u**2 + (1 - 2 * u) * x**2)
    high, low = 1 - u + root, np.maximum(1 - u - root, 0.0)
    share = np.divide(1 - low, high - low, out=np.ones_like(root), where=root > 0)
    total = chances
    for length, times in zip(*np.unique(lengths, return_counts=True), strict=True):
        rest = (1 - share) * (low / high) ** float(length)
        total = total + times * (length * np.log(high) + np.log(share + rest))
    excess = math.expm1(min(float(logsumexp(total)), 50.0))
    return min(0.5 + math.sqrt(max(excess, 0.0)) / 4, 1.0)


def kesten_stigum(n_nodes: int, n_components: int, inside: float, across: float) -> float:
    """Return the signal of equal blocks over the threshold of Kesten and Stigum: n (p - q)^2 / (K (p + (K - 1) q)).

    Below 1 no test tells two blocks from none as n grows (Mossel, Neeman, Sly 2015), and for more blocks no efficient test is
    known.

    Parameters
    ----------
    n_nodes, n_components : int
        n and K.
    inside, across : float
        p and q, probabilities of edges inside of a block and between blocks.

    Returns
    -------
    float
    """
    check_positive(n_nodes=n_nodes, n_components=n_components)
    if not (0 <= across <= 1 and 0 <= inside <= 1 and inside + across > 0):
        raise LatentiaError(f"inside={inside}, across={across}: expected two probabilities, not both zero.")
    return n_nodes * (inside - across) ** 2 / (n_components * (inside + (n_components - 1) * across))
