"""Matrices of pair probabilities of low rank, two-state chains and block models, with what was drawn from them.

A matrix B = P^T W P has R rows P_k of word probabilities, proportional to base times an Exponential(1) draw to the power
of a contrast, and mixing weights W: a diagonal drawn from Dirichlet(10, ..., 10), or given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse

from ...exceptions import LatentiaError
from ._draws import check_sizes
from .sequences import PlantedChain, cumulate, stationary_of, walk

_ZIPF = 2.7


@dataclass(frozen=True)
class PlantedPairs:
    """Pairs of words and the probability matrix they were drawn from.

    Attributes
    ----------
    pairs : ndarray of shape (n_pairs, 2), int32
    components : ndarray of shape (R, M)
        P: rows sum to one.
    mixing : ndarray of shape (R, R)
        W: symmetric, entries sum to one.
    triples : ndarray of shape (n_triples, 3), int32
        Documents of three words each, of one component: drawn for a diagonal W only.
    """

    pairs: np.ndarray
    components: np.ndarray
    mixing: np.ndarray
    triples: np.ndarray

    @property
    def size(self) -> int:
        """M."""
        return self.components.shape[1]

    @property
    def counts(self) -> sparse.csr_array:
        """Count of each pair, shape (M, M)."""
        values = np.ones(len(self.pairs), np.int32)
        table = sparse.coo_array((values, (self.pairs[:, 0], self.pairs[:, 1])), shape=(self.size, self.size))
        return sparse.csr_array(table)

    def rows(self, i: Any, columns: slice = slice(None)) -> np.ndarray:
        """Return rows of B, shape (n, M), or some of their columns."""
        return (self.components.T[i] @ self.mixing) @ self.components[:, columns]


@dataclass(frozen=True)
class PlantedBlocks:
    """A graph and its blocks.

    Attributes
    ----------
    adjacency : csr_array of shape (n, n)
        Symmetric, of zeros and ones, with an empty diagonal.
    labels : ndarray of shape (n,)
    """

    adjacency: sparse.csr_array
    labels: np.ndarray


def word_distributions(
    n_components: int,
    n_words: int,
    base: Literal["zipf", "uniform"] = "zipf",
    contrast: float = 1.0,
    random_state: int | np.random.Generator = 0,
) -> np.ndarray:
    """Draw P, with rows proportional to base * Exponential(1)^contrast, shape (n_components, n_words).

    Parameters
    ----------
    n_components : int
        R.
    n_words : int
        M.
    base : {"zipf", "uniform"}, default="zipf"
        Frequencies of the words before topics are drawn: proportional to 1 / (rank + 2.7), or equal.
    contrast : float, default=1.0
        Power of the Exponential(1) draws.
    random_state : int or Generator, default=0
        Seed.

    Returns
    -------
    ndarray of shape (n_components, n_words)
    """
    check_sizes(n_components=n_components, n_words=n_words)
    if base not in ("zipf", "uniform"):
        raise LatentiaError(f"base={base!r}: use 'zipf' or 'uniform'.")
    rng = np.random.default_rng(random_state)
    common = np.ones(n_words) if base == "uniform" else 1 / (np.arange(n_words) + 1 + _ZIPF)
    rows = common * rng.standard_exponential((n_components, n_words)) ** contrast
    return rows / rows.sum(axis=1, keepdims=True)


def word_pairs(
    n_pairs: int = 100_000,
    n_components: int = 5,
    n_words: int = 1000,
    *,
    base: Literal["zipf", "uniform"] = "zipf",
    contrast: float = 1.0,
    mixing: np.ndarray | None = None,
    n_triples: int = 0,
    random_state: int = 0,
) -> PlantedPairs:
    """Plant a probability matrix of rank R and draw pairs from it.

    Parameters
    ----------
    n_pairs : int
        N.
    n_components, n_words : int
        R and M.
    base : {"zipf", "uniform"}
        Frequencies of the words before topics are drawn: proportional to 1 / (rank + 2.7), or equal.
    contrast : float
        Power of the Exponential(1) draws, which controls the distance of the components.
    mixing : ndarray of shape (R, R), optional
        W: symmetric and nonnegative; it need not be positive semidefinite. By default diagonal and drawn.
    n_triples : int
        Documents of three words to draw, besides the pairs.
    random_state : int
        The same one plants the same matrix for all numbers of pairs.

    Returns
    -------
    PlantedPairs
        The data and the truth that it was drawn from.
    """
    check_sizes(n_pairs=n_pairs)
    rng = np.random.default_rng(random_state)
    components = word_distributions(n_components, n_words, base, contrast, rng)
    weights = rng.dirichlet(np.full(n_components, 10.0))
    if mixing is None:
        mixing = np.diag(weights)
    else:
        mixing = np.asarray(mixing, dtype=np.float64)
        if mixing.shape != (n_components, n_components) or (mixing < 0).any() or (mixing != mixing.T).any():
            raise LatentiaError(f"mixing: expected a symmetric nonnegative {n_components} x {n_components} array.")
        if n_triples:
            raise LatentiaError("n_triples: triples are drawn for a diagonal mixing matrix only.")
        mixing = mixing / mixing.sum()
    cells = rng.choice(n_components**2, size=n_pairs, p=mixing.ravel())
    pairs = np.stack([_draw_words(components, part, rng) for part in np.divmod(cells, n_components)], axis=1)
    topics = rng.choice(n_components, size=n_triples, p=weights)
    triples = np.stack([_draw_words(components, topics, rng) for _ in range(3)], axis=1)
    return PlantedPairs(pairs, components, mixing, triples)


def two_state_chain(
    n_steps: int = 50_000,
    n_symbols: int = 1000,
    *,
    switch: tuple[float, float] = (0.2, 0.2),
    emissions: Literal["zipf", "uniform", "halves"] | np.ndarray = "uniform",
    contrast: float = 1.0,
    random_state: int = 0,
) -> PlantedChain:
    """Plant a hidden Markov chain of two states over a large alphabet.

    Parameters
    ----------
    n_steps, n_symbols : int
        N and M.
    switch : (float, float)
        Probabilities to leave each state.
    emissions : {"zipf", "uniform", "halves"} or ndarray of shape (2, M)
        As the base of `word_pairs`; "halves" gives the states disjoint random halves of the alphabet, uniform on each (the
        family of Theorem 1.5).
    contrast, random_state
        As in `word_pairs`.

    Returns
    -------
    PlantedChain
        The data and the truth that it was drawn from.
    """
    check_sizes(n_steps=n_steps, n_symbols=n_symbols)
    if not all(0 < p <= 1 for p in switch) or len(switch) != 2:
        raise LatentiaError(f"switch={switch}: need two probabilities above 0.")
    rng = np.random.default_rng(random_state)
    if isinstance(emissions, np.ndarray):
        table = emissions / emissions.sum(axis=1, keepdims=True)
    elif emissions == "halves":
        first = rng.permutation(n_symbols) < n_symbols // 2
        table = np.stack([first, ~first]) / np.array([[first.sum()], [(~first).sum()]])
    else:
        table = word_distributions(2, n_symbols, emissions, contrast, rng)
    transmat = np.array([[1 - switch[0], switch[0]], [switch[1], 1 - switch[1]]])
    startprob = stationary_of(transmat)
    lengths = np.array([n_steps])
    states = walk(cumulate(startprob), cumulate(transmat), lengths, rng.random(n_steps))
    symbols = _draw_words(table, states, rng).astype(np.int64)
    return PlantedChain(symbols, states, lengths, startprob, transmat, table)


def block_model(
    n_nodes: int = 4000,
    n_blocks: int = 2,
    *,
    degree: float = 3.0,
    snr: float = 2.0,
    random_state: int = 0,
) -> PlantedBlocks:
    """Plant a stochastic block model of equal blocks and constant average degree.

    An edge within a block has probability a / n, across blocks b / n, with mean degree d = (a + (q - 1) b) / q and
    signal-to-noise ratio (a - b)^2 / (q^2 d). Above 1, the threshold of Kesten and Stigum, blocks can be detected.

    Parameters
    ----------
    n_nodes, n_blocks : int
        n and q.
    degree, snr : float
    random_state : int

    Returns
    -------
    PlantedBlocks
        The data and the truth that it was drawn from.
    """
    check_sizes(n_nodes=n_nodes, n_blocks=n_blocks)
    rng = np.random.default_rng(random_state)
    difference = n_blocks * np.sqrt(snr * degree)
    across = degree - difference / n_blocks
    if across < 0:
        raise LatentiaError(f"degree={degree}, snr={snr}: edges across blocks would need a negative probability.")
    labels = rng.permutation(np.arange(n_nodes) % n_blocks)
    members = [np.flatnonzero(labels == k) for k in range(n_blocks)]
    ends = []
    for i in range(n_blocks):
        for j in range(i, n_blocks):
            n_cells = len(members[i]) * (len(members[i]) - 1) // 2 if i == j else len(members[i]) * len(members[j])
            n_edges = rng.binomial(n_cells, (across + difference * (i == j)) / n_nodes)
            ends.append(np.stack([rng.choice(members[i], n_edges), rng.choice(members[j], n_edges)]))
    u, v = np.hstack(ends)
    u, v = u[u != v], v[u != v]
    table = sparse.coo_array((np.ones(len(u)), (u, v)), shape=(n_nodes, n_nodes))
    adjacency = sparse.csr_array(table + table.T)
    adjacency.data[:] = 1.0
    return PlantedBlocks(adjacency, labels)


def _draw_words(rows: np.ndarray, chosen_rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw a word from row ``chosen_rows[t]`` for every t, shape (n,), int32."""
    words = np.empty(len(chosen_rows), np.int32)
    for k, probabilities in enumerate(rows):
        positions = np.flatnonzero(chosen_rows == k)
        words[positions] = np.searchsorted(cumulate(probabilities), rng.random(len(positions)), side="right")
    return words
