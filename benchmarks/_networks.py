"""What the benchmarks of sparse networks share: how units that were found compare with the planted ones."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

FIRST_SEED = 300
SAME = 0.5  # Jaccard distance of positive edges below which a unit is taken for the true one


class Found(NamedTuple):
    """``true`` units, and the fitted ones that are nearest to them; ``exact`` of these have the same positive edges."""

    true: np.ndarray
    fitted: np.ndarray
    exact: int
    spurious: int
    wrong_edges: int


def of_sign(edges: sparse.csr_array, sign: int) -> sparse.csr_array:
    return sparse.csr_array(edges == sign).astype(np.int32)


def compared(truth: sparse.csr_array, edges: sparse.csr_array) -> Found:
    """Units matched one to one where each is the nearest of the other, by the Jaccard distance of positive edges."""
    own, true = of_sign(edges, 1), of_sign(truth, 1)
    if not own.shape[0]:
        return Found(np.empty(0, int), np.empty(0, int), 0, 0, 0)
    shared = (true @ own.T).toarray()
    either = np.diff(true.indptr)[:, None] + np.diff(own.indptr) - shared
    distances = 1 - shared / np.maximum(either, 1)
    near = distances.argmin(axis=1)
    numbers = np.arange(len(distances))
    matched = np.flatnonzero((distances[numbers, near] < SAME) & (distances.argmin(axis=0)[near] == numbers))
    fitted = near[matched]
    wrong = either[matched, fitted] - shared[matched, fitted]
    return Found(matched, fitted, int((wrong == 0).sum()), own.shape[0] - len(matched), int(wrong.sum()))


def summary(truth: sparse.csr_array, edges: sparse.csr_array) -> dict[str, Any]:
    found = compared(truth, edges)
    return {
        "units": truth.shape[0], "found": edges.shape[0], "matched": len(found.true), "exact": found.exact,
        "spurious": found.spurious, "wrong +": found.wrong_edges,
    }  # fmt: skip


def exact_rows(truth: sparse.csr_array, edges: sparse.csr_array) -> dict[str, int]:
    """``signed``: units of which all edges are found, with their signs; ``made up``: fitted ones that are no planted unit.

    ``missed``: units of three columns or more that are not found so; ``all``: 1 if there are none of either.
    """
    true, own = ({tuple(row) for row in table.toarray().tolist()} for table in (truth, edges))
    missed = sum(int(np.count_nonzero(row)) > 2 for row in true - own)
    return {
        "signed": len(true & own),
        "made up": len(own - true),
        "missed": missed,
        "all": int(missed + len(own - true) == 0),
    }


def wrong_bits(true: sparse.csr_array, coded: sparse.csr_array, found: Found) -> dict[str, float]:
    """Of matched units: wrong bits over all bits and over true ones, and the share of rows without any."""
    own, other = coded[:, found.fitted].astype(np.int8), true[:, found.true].astype(np.int8)
    wrong = sparse.csr_array(own != other)
    return {
        "wrong bits": wrong.nnz / max(wrong.shape[0] * wrong.shape[1], 1),
        "wrong bits / ones": wrong.nnz / max(other.nnz, 1),
        "exact rows": float((np.diff(wrong.indptr) == 0).mean()),
    }


def signs(
    truth: sparse.csr_array, edges: sparse.csr_array, undetermined: sparse.csr_array, found: Found
) -> dict[str, Any]:
    """Negative edges, of matched units and of columns with a positive parent, which alone are ever on."""
    fires = np.flatnonzero(np.asarray(of_sign(truth, 1).sum(axis=0)).ravel() > 0)
    true = truth[found.true].toarray()[:, fires]
    own = edges[found.fitted].toarray()[:, fires]
    left = undetermined[found.fitted].toarray().astype(bool)[:, fires]
    negative = true == -1
    decided = ~left
    return {
        "negative": int(negative.sum()),
        "missed": int((negative & decided & (own != -1)).sum()),
        "left open": int((negative & left).sum()),
        "false": int((~negative & (own == -1)).sum()),
        "wrong signs / decided": float((decided & (own != true)).sum() / max(decided.sum(), 1)),
        "undetermined": float(left.mean()) if left.size else 1.0,
    }
