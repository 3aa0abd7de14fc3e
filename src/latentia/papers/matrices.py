"""Recovery of a low-rank probability matrix from few pairs: bins of equally frequent words, a subspace from each.

Source: Huang, Kakade, Kong, Valiant, Recovering structured probability matrices, ITCS 2018, section 2, Algorithm 1.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import eigsh

from ..linalg import sparse_product
from ..moments import split_counts, symmetric_counts


def get_printed_constants(
    n_components: int, *, eps: float = 0.5, w_min: float = 0.1, c_0: float = 1.0
) -> dict[str, float | bool]:
    """Return the constants of the paper, for an error ``eps``. They leave out words that occur less than 1e10 times.

    Parameters
    ----------
    n_components : int
        R, the rank.
    eps : float, default=0.5
        Error to be reached.
    w_min : float, default=0.1
        Smallest weight of a component.
    c_0 : float, default=1.0
        Constant of the theorem.

    Returns
    -------
    dict
        Keyword arguments of `recover_by_bins`.
    """
    first_bin = 4 * math.log(c_0 * n_components / (eps * math.sqrt(w_min))) + 16
    return {
        "first_bin": first_bin, "min_words": 0.0, "min_share": 20.0, "level": 1.0, "w_min": w_min, "split": True,
        "rank_one_outside": False,
    }  # fmt: skip


def recover_by_bins(
    C: Any,
    n_components: int,
    *,
    first_bin: float = 4.0,
    min_words: float = 20.0,
    min_share: float = 0.0,
    ratio: float = math.e,
    level: float = 0.0,
    heavy: float = 2.0,
    heavy_in_block: float = 2.0,
    w_min: float = 0.1,
    split: bool = False,
    rank_one_outside: bool = True,
    random_state: int = 0,
) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Return B = left @ diag(core) @ left.T by Algorithm 1, and the words of each bin.

    The default constants are ones that work; `get_printed_constants` gives those of the paper.

    Parameters
    ----------
    C : sparse matrix of shape (M, M)
        C_ij: how often the pair (i, j) occurred.
    n_components : int
        R, the rank.
    first_bin : float
        k_0: bins of words that occur fewer than ratio^(k_0 - 1) times are left out.
    min_words : float
        Bins of fewer words are left out. The paper has no such rule.
    min_share : float
        Bins of fewer than min_share e^(-1.5 (k + 1)) N words are left out.
    ratio : float
        Bin k has the words that occur ratio^(k - 1) to ratio^k times.
    level : float
        A bin's marginal rho_k is ratio^(k + level) / N; at 0 it is the largest in the bin.
    heavy : float
        Words whose count exceeds heavy rho_k N are set to zero.
    heavy_in_block : float
        Words whose count within their bin exceeds heavy_in_block |I_k| rho_k^2 N / w_min are set to zero.
    w_min : float
        Smallest weight of a component.
    split : bool
        Whether each of the three steps takes a third of the pairs, as in the paper, or all of them.
    rank_one_outside : bool
        Whether words outside all bins have r r^T. In the paper they have 0.
    random_state : int
        Seed of the split.

    Returns
    -------
    left : ndarray of shape (M, K)
    core : ndarray of shape (K,)
    bins : list of ndarray of int
    """
    counts = symmetric_counts(sparse.csr_array(C))[0]
    first, second, third = _split_into_thirds(counts, random_state) if split else (counts, counts, counts)
    # Step 1: bins by the marginals; rho is 0 outside of all bins.
    occurrences, n_pairs = np.asarray(first.sum(axis=1)).ravel() / 2, float(first.sum()) / 2
    bins, rho = _assign_bins(occurrences, n_pairs, first_bin, min_words, min_share, ratio, level)
    # Step 2: the leading directions of every diagonal block without its heavy words.
    blocks = [
        _find_block_directions(second, words, rho[words[0]], n_components, heavy, heavy_in_block / w_min)
        for words in bins
    ]
    # Step 3: the counts scaled and projected on the directions of all blocks, cut to rank R.
    marginals = np.asarray(third.sum(axis=1)).ravel() / float(third.sum())
    if not any(directions.size for directions in blocks):
        return marginals[:, None], np.full(1, float(rank_one_outside)), []
    projection = np.zeros((len(rho), sum(directions.shape[1] for directions in blocks)))
    start = 0
    for words, directions in zip(bins, blocks, strict=True):
        projection[words, start : start + directions.shape[1]] = directions
        start += directions.shape[1]
    root = np.sqrt(rho)
    scaled = projection / np.where(root > 0, root, 1.0)[:, None]
    projected = scaled.T @ sparse_product(third, scaled) / float(third.sum())
    eigenvalues, vectors = np.linalg.eigh((projected + projected.T) / 2)
    top = np.argsort(-np.abs(eigenvalues), kind="stable")[:n_components]
    left, core = root[:, None] * (sparse.csr_array(projection) @ vectors[:, top]), eigenvalues[top]
    if rank_one_outside:  # r r^T where either word is outside of all bins
        inside = np.where(rho > 0, marginals, 0.0)
        left, core = np.column_stack([left, marginals, inside]), np.concatenate([core, [1.0, -1.0]])
    return left, core, bins


def _split_into_thirds(counts: Any, random_state: int) -> tuple[Any, Any, Any]:
    """Return three parts of the pairs."""
    first, rest = split_counts(counts, True, random_state, 1 / 3)
    return (first, *split_counts(rest, True, random_state + 1))


def _assign_bins(
    occurrences: np.ndarray,
    n_pairs: float,
    first_bin: float,
    min_words: float,
    min_share: float,
    ratio: float,
    level: float,
) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the words of each bin that is used, and rho_k for every word, from how often each word occurs (N r)."""
    rho = np.zeros(len(occurrences))
    numbers = np.floor(np.log(np.maximum(occurrences, 1)) / np.log(ratio) + 1e-12) + 1
    numbers[occurrences < 1] = 0
    bins = []
    for k in np.unique(numbers[numbers > 0]):
        words = np.flatnonzero(numbers == k)
        if k >= first_bin and len(words) >= max(min_words, min_share * np.exp(-1.5 * (k + 1)) * n_pairs):
            rho[words] = ratio ** (k + level) / n_pairs
            bins.append(words)
    return bins, rho


def _find_block_directions(
    counts: Any, words: np.ndarray, rho: float, k: int, heavy: float, heavy_in_block: float
) -> np.ndarray:
    """Return the leading directions (|I|, <= R) of a diagonal block whose heavy words are set to zero."""
    block, total = counts[words][:, words], float(counts.sum())
    frequencies = np.asarray(counts[words].sum(axis=1)).ravel() / total
    block_frequencies = np.asarray(block.sum(axis=1)).ravel() / total
    light = (frequencies <= heavy * rho) & (block_frequencies <= heavy_in_block * len(words) * rho**2)
    mask = sparse.diags_array(light.astype(np.float64))
    block = mask @ block.astype(np.float64) @ mask
    if len(words) <= 2 * k + 2:
        values, vectors = np.linalg.eigh(block.toarray())
        return np.asarray(vectors[:, np.argsort(-np.abs(values), kind="stable")[:k]])
    if not block.nnz:
        return np.zeros((len(words), 0))
    start = np.random.default_rng(0).standard_normal(len(words))
    values, vectors = eigsh(block, k=k, which="LM", v0=start)
    return np.asarray(vectors[:, np.argsort(-np.abs(values), kind="stable")])
