"""Counts of pairs split into two random parts (binomial thinning).

The parts of counts that are Poisson are independent of each other, and each has the pairs' probabilities: one can be fitted and
the other measured on.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from ..exceptions import LatentiaError
from ..passes import Folds


@dataclass(frozen=True)
class FoldCounts:
    """Counts whose pairs are split at random into four groups when a part of them is needed.

    Attributes
    ----------
    counts : csr_array of shape (M, M)
    folds : Folds
    symmetric : bool
        Whether the counts are C + C^T, with every pair twice.
    """

    counts: sparse.csr_array
    folds: Folds
    symmetric: bool = True

    def of(self, groups: tuple[int, ...]) -> sparse.csr_array:
        """Return the counts of the pairs in some folds."""
        if groups == self.folds.all:
            return self.counts
        total = sum((self._groups[g] for g in groups[1:]), start=self._groups[groups[0]])
        if not total.nnz:
            raise LatentiaError("Expected pairs in each part of the counts, found none: there are too few to split.")
        return total

    @cached_property
    def _groups(self) -> list[sparse.csr_array]:
        seed = self.folds.seed
        halves = split_counts(self.counts, self.symmetric, seed)
        return [part for i, half in enumerate(halves) for part in split_counts(half, self.symmetric, seed + 1 + i)]


def split_counts(
    counts: sparse.csr_array, symmetric: bool, random_state: int = 0, share: float = 0.5
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Split counts into two parts: every pair goes to the first with probability ``share`` (binomial thinning).

    With ``symmetric`` the two entries of a pair go together, and a word with itself counts twice. Parts of a count beyond
    whole numbers go to either as one.
    """
    rng = np.random.default_rng(random_state)
    table = counts
    if symmetric:
        table = sparse.csr_array(sparse.triu(counts, k=1) + sparse.diags_array(counts.diagonal() / 2))
    whole_part = np.floor(table.data)
    first = rng.binomial(whole_part.astype(np.int64), share) + (table.data - whole_part) * (
        rng.random(table.nnz) < share
    )
    parts = []
    for data in (first, table.data - first):
        part = sparse.csr_array(
            (data.astype(table.dtype), table.indices.copy(), table.indptr.copy()), shape=table.shape
        )
        part.eliminate_zeros()
        parts.append(sparse.csr_array(part + part.T).astype(counts.dtype) if symmetric else part)
    return parts[0], parts[1]
