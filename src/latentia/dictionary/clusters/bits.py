"""Graphs in packed bits: a row of 64-bit words for every node, to count common neighbours 64 at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from ...system.threads import run_in_chunks

_MAX_PRODUCTS = 1 << 21  # inner products at a time
_ROWS = 256


@dataclass(frozen=True)
class PackedGraph:
    """An undirected graph without loops.

    Attributes
    ----------
    words : ndarray of uint64, shape (p, ceil(p / 64))
        Bit j % 64 of word j // 64 in row i says whether nodes i and j are connected.
    """

    words: np.ndarray

    @classmethod
    def from_table(cls, adjacency: Any) -> PackedGraph:
        """Pack a square symmetric table of truth values, shape (p, p)."""
        table = np.asarray(adjacency, dtype=bool)
        return cls(_remove_loops(_pack_bits(table)))

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.words)

    @property
    def degrees(self) -> np.ndarray:
        """Number of neighbours of every node, shape (p,)."""
        return np.asarray(np.bitwise_count(self.words).sum(axis=1, dtype=np.int64))

    def neighbours(self, node: int) -> np.ndarray:
        """Return the numbers of the neighbours of a node, ascending."""
        return np.nonzero(np.unpackbits(self.words[node].view(np.uint8), bitorder="little"))[0]

    def common(self, *nodes: int) -> np.ndarray:
        """Return the packed set of the common neighbours of some nodes, shape (ceil(p / 64),)."""
        return np.asarray(np.bitwise_and.reduce(self.words[list(nodes)], axis=0))


def connection_graph(rows: np.ndarray, threshold: float, n_jobs: int | None = None) -> PackedGraph:
    """Connect rows whose absolute inner product exceeds a threshold (Definition 5.14, with the absolute value of section 5.2).

    Products are computed in single precision, some rows at a time; the graph takes p^2 / 8 bytes.

    Parameters
    ----------
    rows : ndarray of shape (p, n)
    threshold : float
    n_jobs : int, optional
    """
    size = np.ldexp(1.0, np.frexp(np.abs(rows).max(initial=0.0))[1] - 1)  # A power of two changes no digit.
    single, threshold = np.ascontiguousarray(rows / size, dtype=np.float32), threshold / size / size
    p = len(single)
    words = np.zeros((p, -(-p // 64)), dtype=np.uint64)

    def connect_rows(first: int, last: int) -> None:
        words[first:last] = _pack_bits(np.abs(single[first:last] @ single.T) > threshold)

    run_in_chunks(connect_rows, p, max(1, _MAX_PRODUCTS // max(p, 1)), n_jobs)
    return PackedGraph(_remove_loops(words))


def _pack_bits(table: np.ndarray) -> np.ndarray:
    """Pack rows of truth values into 64-bit words, shape (n, ceil(p / 64))."""
    n_bytes = 8 * -(-table.shape[1] // 64)
    packed = np.zeros((len(table), n_bytes), dtype=np.uint8)
    bits = np.packbits(table, axis=1, bitorder="little")
    packed[:, : bits.shape[1]] = bits
    return packed.view("<u8").astype(np.uint64, copy=False)


def _remove_loops(words: np.ndarray) -> np.ndarray:
    nodes = np.arange(len(words))
    words[nodes, nodes // 64] &= ~(np.uint64(1) << (nodes % 64).astype(np.uint64))
    return words


@njit(nogil=True, cache=True)
def popcount(word):
    """Count the bits of a word that are set."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


@njit(nogil=True, cache=True)
def count_common(words, shared, counts):
    """Count the neighbours of every node that are in the packed set ``shared``, in place."""
    for x in range(len(words)):
        total = np.uint64(0)
        for w in range(len(shared)):
            total += popcount(words[x, w] & shared[w])
        counts[x] = total
