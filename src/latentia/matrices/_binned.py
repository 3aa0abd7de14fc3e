"""The paper's Algorithm 1: bins of equally frequent words, a subspace from each, and a projection on their union.

Source: Huang, Kakade, Kong, Valiant, Recovering structured probability matrices, ITCS 2018, section 2.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import eigsh

from .._parameters import Choice, Constraint, Flag, Number, check_parameter
from ..linalg import sparse_product
from .factored import Factored


@dataclass(frozen=True)
class Binning:
    """Constants of Algorithm 1. The defaults work; the `printed` ones leave out words that occur less than 1e10 times.

    Attributes
    ----------
    first_bin : float
        k_0: bins of words that occur fewer than ratio^(k_0 - 1) times are left out. Printed: 4 log(c_0 R / (eps sqrt(w_min)))
        + 16.
    least_words : float
        Bins of fewer words are left out. Printed: no such rule.
    least_share : float
        Bins of fewer than this times e^(-1.5 (k + 1)) N words are left out. Printed: 20.
    ratio : float
        Bin k has the words that occur ratio^(k - 1) to ratio^k times. Printed: e.
    level : float
        A bin's marginal rho_k is ratio^(k + level) / N. Printed: 1. At 0 it is the largest in the bin.
    heavy : float
        Words whose count exceeds heavy rho_k N are set to zero. Printed: 2.
    heavy_in_block : float
        Words whose count within their bin exceeds heavy_in_block |I_k| rho_k^2 N / w_min are set to zero. Printed: 2.
    w_min : float
        Least weight of a component.
    split : bool
        Whether the three steps take a third of the pairs each. Printed: yes.
    fill : {"rank-one", "zero"}
        What stands for words outside all bins: r r^T, or nothing. Printed: nothing.
    """

    first_bin: float = 4.0
    least_words: float = 20.0
    least_share: float = 0.0
    ratio: float = math.e
    level: float = 0.0
    heavy: float = 2.0
    heavy_in_block: float = 2.0
    w_min: float = 0.1
    split: bool = False
    fill: str = "rank-one"

    _allowed: ClassVar[Mapping[str, Constraint]] = {
        **dict.fromkeys(("first_bin", "level"), Number()),
        **dict.fromkeys(("least_words", "least_share"), Number(0, closed="low")),
        **dict.fromkeys(("heavy", "heavy_in_block"), Number(0)),
        "ratio": Number(1),
        "w_min": Number(0, 1, closed="high"),
        "split": Flag(),
        "fill": Choice("rank-one", "zero"),
    }

    def __post_init__(self) -> None:
        for name, constraint in self._allowed.items():
            check_parameter(name, getattr(self, name), constraint)

    @classmethod
    def printed(cls, n_components: int, *, eps: float = 0.5, w_min: float = 0.1, c_0: float = 1.0) -> Binning:
        """The constants of the paper, for an error eps.

        Parameters
        ----------
        n_components : int
            R, the rank.
        eps : float, default=0.5
            Error that is asked for.
        w_min : float, default=0.1
            Least weight of a component.
        c_0 : float, default=1.0
            Constant of the theorem.

        Returns
        -------
        Binning
        """
        first_bin = 4 * np.log(c_0 * n_components / (eps * np.sqrt(w_min))) + 16
        return cls(float(first_bin), 0.0, 20.0, math.e, 1.0, 2.0, 2.0, w_min, True, "zero")


def binned_factors(
    steps: list[Any], n_components: int, binning: Binning, n_jobs: int | None = None
) -> tuple[Factored, np.ndarray, list[int]]:
    """B by Algorithm 1, its eigenvalues after scaling, and the number of words in each bin that was used.

    Parameters
    ----------
    steps : list of three csr_array of shape (M, M)
        C + C^T of the pairs for each step; the same three times where the sample is reused.
    """
    size = steps[0].shape[0]
    totals = [float(step.sum()) for step in steps]
    # Step 1: bins by the marginals; rho is 0 outside of all bins.
    seen = np.asarray(steps[0].sum(axis=1)).ravel() / 2
    bins, rho = _bins(seen, totals[0] / 2, binning)
    # Step 2: the leading directions of every diagonal block without its heavy words.
    basis, start = [], 0
    columns, rows, values = [], [], []
    for words in bins:
        directions = _block_directions(steps[1], totals[1], words, rho[words[0]], n_components, binning)
        k = directions.shape[1]
        rows.append(np.repeat(words, k))
        columns.append(np.tile(np.arange(start, start + k), len(words)))
        values.append(directions.ravel())
        basis.append(k)
        start += k
    marginals = np.asarray(steps[2].sum(axis=1)).ravel() / totals[2]
    if not start:
        fill = 1.0 if binning.fill == "rank-one" else 0.0
        return Factored(marginals[:, None], np.array([[fill]])), np.zeros(0), []
    projection = sparse.csr_array(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=(size, start)
    )
    # Step 3: the counts scaled and projected on all blocks' directions, cut to rank R.
    root = np.sqrt(rho)
    scaled = projection.toarray() / np.where(root > 0, root, 1.0)[:, None]
    small = scaled.T @ sparse_product(steps[2], scaled, n_jobs) / totals[2]
    found, vectors = np.linalg.eigh((small + small.T) / 2)
    top = np.argsort(-np.abs(found), kind="stable")[:n_components]
    left = root[:, None] * (projection @ vectors[:, top])
    core = found[top]
    if binning.fill == "rank-one":  # r r^T where either word is outside of all bins
        inside = np.where(rho > 0, marginals, 0.0)
        left, core = np.column_stack([left, marginals, inside]), np.concatenate([core, [1.0, -1.0]])
    return Factored(left, np.diag(core)), found[top], [len(words) for words in bins]


def _bins(seen: np.ndarray, n_pairs: float, b: Binning) -> tuple[list[np.ndarray], np.ndarray]:
    """Words of each bin that is used, and rho_k for every word, from how often each word was seen (N r)."""
    rho = np.zeros(len(seen))
    number = np.where(seen >= 1, np.floor(np.log(np.maximum(seen, 1)) / np.log(b.ratio) + 1e-12) + 1, 0)
    bins = []
    for k in np.unique(number[number > 0]):
        words = np.flatnonzero(number == k)
        if k < b.first_bin or len(words) < max(b.least_words, b.least_share * np.exp(-1.5 * (k + 1)) * n_pairs):
            continue
        rho[words] = b.ratio ** (k + b.level) / n_pairs
        bins.append(words)
    return bins, rho


def _block_directions(counts: Any, total: float, words: np.ndarray, rho: float, k: int, b: Binning) -> np.ndarray:
    """Leading directions (|I|, <= R) of a diagonal block whose heavy words are set to zero."""
    block = counts[words][:, words]
    in_all = np.asarray(counts[words].sum(axis=1)).ravel() / total
    in_block = np.asarray(block.sum(axis=1)).ravel() / total
    light = (in_all <= b.heavy * rho) & (in_block <= b.heavy_in_block * len(words) * rho**2 / b.w_min)
    keep = sparse.diags_array(light.astype(np.float64))
    block = keep @ block.astype(np.float64) @ keep
    if len(words) <= 2 * k + 2:
        values, vectors = np.linalg.eigh(block.toarray())
        return vectors[:, np.argsort(-np.abs(values), kind="stable")[:k]]
    if not block.nnz:
        return np.zeros((len(words), 0))
    start = np.random.default_rng(0).standard_normal(len(words))
    values, vectors = eigsh(block, k=k, which="LM", v0=start)
    return vectors[:, np.argsort(-np.abs(values), kind="stable")]
