"""A start of EM from classes of symbols: each symbol belongs to one class, and each state emits the symbols of one class.

In text most words belong to one part of speech, which their neighbours reveal. Let C count neighbouring symbols, with row
sums a and column sums b. Rows of the leading left and right singular vectors of

    (C_xy / sqrt((a_x + tau) (b_y + tau)))_xy,

each scaled to unit length, are clustered by k-means with symbols weighted by their counts, from the K most frequent ones.
Then symbols move, the most frequent first, to the class where the likelihood of a chain of classes is highest,

    sum_cd N_cd log N_cd - sum_c N_c. log N_c. - sum_d N_.d log N_.d,

where N_cd counts neighbours of classes c and d, until no symbol moves. The maximum that this reaches depends on the start, so
three values of tau are tried and the most likely classes win. Nothing is random. In the resulting chain nine tenths of what a
state emits are symbols of its class and one tenth any symbol, since EM cannot leave a probability of zero.

Source: S. Martin, J. Liermann, H. Ney, Algorithms for bigram and trigram word clustering, Speech Communication 24 (1998),
for the exchange. Moments of three steps give transitions and emissions at once, but are noisier: with thousands of symbols
classes are the better start of the two, though no theorem says so.
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

_TAUS = (1.0, 3.0, 10.0)  # Symbols with fewer counts than this are scaled down.
_MAX_SWEEPS = 20  # sweeps of the exchange
_MAX_CENTRE_STEPS = 30  # steps of k-means
_SVD_PASSES = 6
_CLASS_SHARE = 0.9  # probability that a state emits a symbol of its class
_TRANSITION_PRIOR = 0.1  # pseudo-count of every transition between classes


def fit_class_chain(blocks: Blocks, n_symbols: int, k: int, n_jobs: int | None = None) -> Chain:
    """Fit the chain of K classes of symbols.

    Parameters
    ----------
    blocks : Blocks
        Numbers of symbols, (n, 1), and the lengths of the sequences.
    n_symbols : int
    k : int
        Number of classes, below the number of symbols that occur.
    """
    sums = accumulate(blocks, _NeighbourStatistic(n_symbols), n_jobs)
    totals = sums.neighbours.sum(axis=1), sums.neighbours.sum(axis=0)
    order = np.argsort(-sums.symbols, kind="stable")

    def exchange(tau: float) -> tuple[float, np.ndarray]:
        classes = _cluster_symbols(_embed_symbols(sums.neighbours, *totals, k, tau), sums.symbols, order[:k])
        return exchange_classes(sums.neighbours, classes, k, order, _MAX_SWEEPS), classes

    return _build_chain(race(dict(zip(map(str, _TAUS), _TAUS, strict=True)), exchange).reached, sums, k)


@dataclass
class _NeighbourCounts:
    """Counts of neighbouring symbols (S, S), of symbols (S,) and of those that begin sequences (S,)."""

    neighbours: sparse.csr_array
    symbols: np.ndarray
    starts: np.ndarray


class _NeighbourStatistic:
    """Statistic: `_NeighbourCounts`."""

    def __init__(self, n_symbols: int) -> None:
        self.n_symbols = n_symbols

    def zero(self) -> _NeighbourCounts:
        s = self.n_symbols
        return _NeighbourCounts(sparse.csr_array((s, s)), np.zeros(s), np.zeros(s))

    def add(self, state: _NeighbourCounts, block: Block) -> _NeighbourCounts:
        symbols, lengths, s = np.asarray(block[0]).ravel(), block[-1], self.n_symbols
        ends = np.cumsum(lengths)
        has_next = np.ones(len(symbols), bool)
        has_next[ends - 1] = False
        pair_starts = np.flatnonzero(has_next)
        pairs = sparse.coo_array(
            (np.ones(len(pair_starts)), (symbols[pair_starts], symbols[pair_starts + 1])), shape=(s, s)
        )
        block_counts = _NeighbourCounts(
            pairs.tocsr(), np.bincount(symbols, minlength=s), np.bincount(symbols[ends - lengths], minlength=s)
        )
        return self.merge(state, block_counts)

    def merge(self, first: _NeighbourCounts, second: _NeighbourCounts) -> _NeighbourCounts:
        return _NeighbourCounts(
            first.neighbours + second.neighbours, first.symbols + second.symbols, first.starts + second.starts
        )


def _embed_symbols(
    neighbours: sparse.csr_array, row_totals: np.ndarray, column_totals: np.ndarray, k: int, tau: float
) -> np.ndarray:
    """Embed each symbol by what follows and what precedes it: two unit vectors of 2 K coordinates side by side."""
    row_scale, column_scale = (sparse.diags_array(1 / np.sqrt(total + tau)) for total in (row_totals, column_totals))
    scaled = sparse.csr_array(row_scale @ neighbours @ column_scale)
    u, values, vt = block_krylov_svd(scaled, min(2 * k, len(row_totals)), n_passes=_SVD_PASSES)
    return np.hstack([unit_rows(u * values), unit_rows(vt.T * values)])


def _cluster_symbols(points: np.ndarray, weights: np.ndarray, centre_symbols: np.ndarray) -> np.ndarray:
    """Cluster the symbols by weighted k-means that starts from the centre symbols; labels of shape (S,)."""
    k, centres = len(centre_symbols), points[centre_symbols]
    classes = np.zeros(len(points), np.int64)
    for _ in range(_MAX_CENTRE_STEPS):
        nearest = (points @ centres.T - 0.5 * (centres**2).sum(axis=1)).argmax(axis=1)
        if (nearest == classes).all():
            break
        classes = nearest
        membership = sparse.csr_array((weights, (classes, np.arange(len(classes)))), shape=(k, len(classes)))
        mass = np.asarray(membership.sum(axis=1))[:, None]
        centres = np.where(mass > 0, membership @ points / np.where(mass > 0, mass, 1.0), centres)
    return classes


def _build_chain(classes: np.ndarray, sums: _NeighbourCounts, k: int) -> Chain:
    """Build the chain whose states are these classes."""
    s = len(classes)
    membership = sparse.csr_array((np.ones(s), (classes, np.arange(s))), shape=(k, s))
    frequencies = sums.symbols / sums.symbols.sum()
    class_emissions = membership.toarray() * sums.symbols
    total = class_emissions.sum(axis=1, keepdims=True)
    class_emissions = np.where(total > 0, class_emissions / np.where(total > 0, total, 1.0), frequencies)
    transitions = (membership @ sums.neighbours @ membership.T).toarray() + _TRANSITION_PRIOR
    starts = membership @ sums.starts + _TRANSITION_PRIOR
    emissions = _CLASS_SHARE * class_emissions + (1 - _CLASS_SHARE) * frequencies
    return Chain(starts / starts.sum(), transitions / transitions.sum(axis=1, keepdims=True), emissions)
