"""Other estimators of a probability matrix, for the benchmarks."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from latentia.datasets import planted
from latentia.likelihood import refine
from latentia.matrices._refine import PairUpdate, make_e_step
from latentia.matrices.factored import LowRankProduct, total_distance
from latentia.papers.matrices import recover_by_bins

# The notes' settings: words, rank, base frequencies, pairs a word. The contrast reproduces their rank-one column: with
# Exponential(1) draws as printed it does at rank 2, and at higher rank only with the draws to the power 1.7.
TABLE = [
    (1000, 2, "zipf", 5),
    (1000, 2, "zipf", 20),
    (1000, 2, "uniform", 10),
    (1000, 10, "uniform", 20),
    (10_000, 5, "zipf", 5),
    (10_000, 5, "zipf", 20),
    (10_000, 5, "uniform", 20),
]


def marginals(counts: Any) -> np.ndarray:
    both = np.asarray(counts.sum(axis=0)).ravel() + np.asarray(counts.sum(axis=1)).ravel()
    return both / both.sum()


def l1(left: np.ndarray, core: np.ndarray, data: planted.PlantedPairs) -> float:
    """l1 error of max(left core left^T, 0), scaled to sum to one."""
    model = LowRankProduct(left, core, np.zeros(len(left)))
    return total_distance(model, data, (1 / float(model.row_sums().sum()), 1.0))


def rank_one(counts: Any, data: Any) -> float:
    return l1(marginals(counts)[:, None], np.eye(1), data)


def plain_svd(counts: Any, data: Any, rank: int) -> float:
    both = sparse.csr_array(counts + counts.T) / (2 * counts.sum())
    values, vectors = top_pairs(both, rank)
    return l1(vectors, np.diag(values), data)


def scaled_svd(counts: Any, data: Any, rank: int) -> float:
    r = marginals(counts)
    root = np.sqrt(np.where(r > 0, r, 1.0))
    both = sparse.csr_array(counts + counts.T) / (2 * counts.sum())
    values, vectors = top_pairs(sparse.diags_array(1 / root) @ both @ sparse.diags_array(1 / root), rank)
    return l1(root[:, None] * vectors, np.diag(values), data)


def binned(counts: Any, data: Any, rank: int, **constants: Any) -> float:
    """l1 error of Algorithm 1, with `ProbabilityMatrix`'s lower limit of entries where words outside all bins have one."""
    left, core, _ = recover_by_bins(counts, rank, **constants)
    limit = np.sqrt(0.1) * marginals(counts) * constants.get("rank_one_outside", True)
    model = LowRankProduct(left, np.diag(core), limit)
    total = float(model.row_sums().sum())
    return total_distance(model, data, (1 / total if total > 0 else 1.0, 1.0))


def top_pairs(table: Any, rank: int) -> tuple[np.ndarray, np.ndarray]:
    from scipy.sparse.linalg import eigsh

    return eigsh(table.astype(np.float64), k=rank, v0=np.ones(table.shape[0]))


def plsa(counts: Any, data: Any, rank: int, pseudo_counts: float, steps: int = 100) -> float:
    """EM from a random start; ``pseudo_counts`` in pairs a word, 0 for maximum likelihood."""
    r = marginals(counts)
    start = r[:, None] * np.random.default_rng(0).uniform(0.5, 1.5, (len(r), rank))
    both = sparse.csr_array(counts + counts.T)
    pseudo = 2 * pseudo_counts * len(r) / rank * r
    update = PairUpdate((start / start.sum(axis=0)).T, np.eye(rank) / rank, pseudo)
    p, w = refine(update, make_e_step(both, n_jobs=2), steps).values
    return l1(p.T, w.reshape(rank, rank), data)
