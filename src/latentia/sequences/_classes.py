"""A start of EM from classes of symbols: each symbol belongs to one class, and each state shows the symbols of one.

In text most words belong to one part of speech, and a class is told by its neighbours. With the counts C of neighbouring
symbols, a and b of those on the left and on the right, rows of the leading left and right vectors of

    (C_xy / sqrt((a_x + tau) (b_y + tau)))_xy,

each scaled to unit length, are clustered by k-means with symbols weighted by their counts, from the K most frequent ones.
Then symbols move, the most frequent first, to the class where the likelihood of a chain of classes is highest,

    sum_cd N_cd log N_cd - sum_c N_c. log N_c. - sum_d N_.d log N_.d,

N_cd being the neighbours of classes c and d, until none moves. It ends at a maximum that hangs on where it began, so it is done
for three values of tau, and the most likely classes are taken. There is nothing random in it. What is found is a chain whose
states show nine tenths symbols of their own and one tenth any: EM cannot leave what is impossible.

Source: S. Martin, J. Liermann, H. Ney, Algorithms for bigram and trigram word clustering, Speech Communication 24 (1998),
for the exchange. Moments of three steps know transitions and emissions at once, and pay for it in noise: with thousands of
symbols classes are the better start of the two, though no theorem says so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ..likelihood import race
from ..linalg import block_krylov_svd, unit_rows
from ..passes import Block, Blocks, accumulate
from ._chain import Chain
from ._exchange import exchange_classes

_TAUS = (1.0, 3.0, 10.0)  # counts by which rare symbols are scaled down
_SWEEPS = 20  # at most
_MOST_MOVES = 30  # of the centres of k-means
_SVD_PASSES = 6
_OWN = 0.9  # of what a state shows
_PRIOR = 0.1  # counts of every move of classes


def chain_of_classes(blocks: Blocks, n_symbols: int, k: int, n_jobs: int | None = None) -> Chain:
    """The chain of K classes of symbols.

    Parameters
    ----------
    blocks : Blocks
        Numbers of symbols, (n, 1), and the lengths of the sequences.
    n_symbols : int
    k : int
        Classes, fewer than symbols that occur.
    """
    sums = accumulate(blocks, _Neighbours(n_symbols), n_jobs)
    counts = sums.neighbours.sum(axis=1), sums.neighbours.sum(axis=0)
    order = np.argsort(-sums.symbols, kind="stable")

    def exchanged(tau: float) -> tuple[float, np.ndarray]:
        classes = _clustered(_directions(sums.neighbours, *counts, k, tau), sums.symbols, order[:k])
        return exchange_classes(sums.neighbours, classes, k, order, _SWEEPS), classes

    return _as_chain(race(dict(zip(map(str, _TAUS), _TAUS, strict=True)), exchanged).reached, sums, k)


@dataclass
class _Sums:
    """Counts of neighbouring symbols (S, S), of symbols (S,) and of those that begin sequences (S,)."""

    neighbours: sparse.csr_array
    symbols: np.ndarray
    starts: np.ndarray


class _Neighbours:
    """Statistic: `_Sums`."""

    def __init__(self, n_symbols: int) -> None:
        self.n_symbols = n_symbols

    def zero(self) -> _Sums:
        s = self.n_symbols
        return _Sums(sparse.csr_array((s, s)), np.zeros(s), np.zeros(s))

    def add(self, state: _Sums, block: Block) -> _Sums:
        symbols, lengths, s = np.asarray(block[0]).ravel(), block[-1], self.n_symbols
        ends = np.cumsum(lengths)
        followed = np.ones(len(symbols), bool)
        followed[ends - 1] = False
        first = np.flatnonzero(followed)
        pairs = sparse.coo_array((np.ones(len(first)), (symbols[first], symbols[first + 1])), shape=(s, s))
        one = _Sums(pairs.tocsr(), np.bincount(symbols, minlength=s), np.bincount(symbols[ends - lengths], minlength=s))
        return self.merge(state, one)

    def merge(self, first: _Sums, second: _Sums) -> _Sums:
        return _Sums(first.neighbours + second.neighbours, first.symbols + second.symbols, first.starts + second.starts)


def _directions(neighbours: sparse.csr_array, left: np.ndarray, right: np.ndarray, k: int, tau: float) -> np.ndarray:
    """What follows and what precedes each symbol, as two unit vectors of 2 K coordinates side by side."""
    rows, columns = (sparse.diags_array(1 / np.sqrt(total + tau)) for total in (left, right))
    scaled = sparse.csr_array(rows @ neighbours @ columns)
    u, values, vt = block_krylov_svd(scaled, min(2 * k, len(left)), n_passes=_SVD_PASSES)
    return np.hstack([unit_rows(u * values), unit_rows(vt.T * values)])


def _clustered(points: np.ndarray, weights: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Classes of the symbols by weighted k-means from these ones, shape (S,)."""
    k, centres = len(first), points[first]
    classes = np.zeros(len(points), np.int64)
    for _ in range(_MOST_MOVES):
        nearest = (points @ centres.T - 0.5 * (centres**2).sum(axis=1)).argmax(axis=1)
        if (nearest == classes).all():
            break
        classes = nearest
        belongs = sparse.csr_array((weights, (classes, np.arange(len(classes)))), shape=(k, len(classes)))
        mass = np.asarray(belongs.sum(axis=1))[:, None]
        centres = np.where(mass > 0, belongs @ points / np.where(mass > 0, mass, 1.0), centres)
    return classes


def _as_chain(classes: np.ndarray, sums: _Sums, k: int) -> Chain:
    """The chain whose states are these classes."""
    s = len(classes)
    belongs = sparse.csr_array((np.ones(s), (classes, np.arange(s))), shape=(k, s))
    frequencies = sums.symbols / sums.symbols.sum()
    own = belongs.toarray() * sums.symbols
    total = own.sum(axis=1, keepdims=True)
    own = np.where(total > 0, own / np.where(total > 0, total, 1.0), frequencies)
    moves = (belongs @ sums.neighbours @ belongs.T).toarray() + _PRIOR
    starts = belongs @ sums.starts + _PRIOR
    emissions = _OWN * own + (1 - _OWN) * frequencies
    return Chain(starts / starts.sum(), moves / moves.sum(axis=1, keepdims=True), emissions)
