"""Comparison of overlapping communities, and of scores of edges.

Communities X_1, ..., X_K of n nodes are given in one of two forms: as memberships, an array of truth values (or of 0 and 1)
with shape (n, K), or as a list with a set or array of node numbers for each. Communities without nodes are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import entr

from ..exceptions import LatentiaError

_CHUNK_PAIRS = 1 << 22  # pairs of communities


def overlapping_f1(recovered: Any, true: Any) -> float:
    """Compute the mean F1 score of communities and their best matches, both ways.

    With F1(A, B) = 2 |A n B| / (|A| + |B|) it is the mean of

        mean_k max_l F1(X_k, Y_l)   and   mean_l max_k F1(X_k, Y_l)

    and lies in [0, 1]; it is 1 if each community is among the others, too. Nodes in no community do not count.

    Parameters
    ----------
    recovered, true : array-like of shape (n, K), bool or 0 and 1, or list of K sets or arrays of node numbers
        Two-dimensional arrays, sparse ones and DataFrames are memberships; lists and tuples are communities. The two may have
        different forms and numbers of communities.

    Returns
    -------
    float

    References
    ----------
    Yang, Leskovec: Overlapping community detection at scale, WSDM 2013.

    Examples
    --------
    >>> overlapping_f1([{0, 1, 2}, {2, 3}], [{2, 3}, {0, 1, 2}])
    1.0
    >>> overlapping_f1([{0, 1, 2, 3}], [{0, 1}, {2, 3}])
    0.6666666666666666
    """
    recovered, true, _ = _memberships(recovered, true)
    common = sparse.coo_array(recovered.T @ true)
    recovered_index, true_index = common.row, common.col
    scores = 2 * common.data / (_sizes(recovered)[recovered_index] + _sizes(true)[true_index])
    best_recovered, best_true = np.zeros(recovered.shape[1]), np.zeros(true.shape[1])
    np.maximum.at(best_recovered, recovered_index, scores)
    np.maximum.at(best_true, true_index, scores)
    return float((best_recovered.mean() + best_true.mean()) / 2)


def overlapping_nmi(recovered: Any, true: Any, n_nodes: int | None = None) -> float:
    """Compute the mutual information of two covers by communities, divided by the larger entropy.

    A community is a random variable, whether a random node is in it, with entropy H(X_k). Its entropy given the other cover is

        H(X_k | Y) = min_l H(X_k | Y_l),

    without those Y_l whose complement says more about X_k than they do; if none remains, it is H(X_k).
    With H(X) = sum_k H(X_k) and H(X | Y) = sum_k H(X_k | Y) the result is

        [H(X) - H(X | Y) + H(Y) - H(Y | X)] / (2 max(H(X), H(Y))),

    from 0 for independent covers to 1 for equal ones.

    Parameters
    ----------
    recovered, true : array-like of shape (n, K), bool or 0 and 1, or list of K sets or arrays of node numbers
        Two-dimensional arrays, sparse ones and DataFrames are memberships; lists and tuples are communities.
    n_nodes : int, optional
        n; needed if both are lists. Nodes in no community count.

    Returns
    -------
    float

    Notes
    -----
    Of K and L communities the K L numbers of nodes that two share are counted first; nothing else depends on n.

    References
    ----------
    McDaid, Greene, Hurley: Normalized mutual information to evaluate overlapping community finding algorithms,
    arXiv:1110.2515, 2011. This is its NMI_max.

    Examples
    --------
    >>> overlapping_nmi([{0, 1, 2}, {2, 3}], [{2, 3}, {0, 1, 2}], n_nodes=6)
    1.0
    >>> overlapping_nmi([{0, 1}, {2, 3}], [{0, 2}, {1, 3}], n_nodes=4)
    0.0
    """
    recovered, true, n = _memberships(recovered, true, n_nodes, needs_size=True)
    recovered_entropy, true_entropy = (_entropies(_sizes(x), n) for x in (recovered, true))
    max_entropy = max(recovered_entropy.sum(), true_entropy.sum())
    if max_entropy == 0:
        return 1.0  # each community on either side has all nodes
    recovered_residual, true_residual = recovered_entropy.copy(), true_entropy.copy()
    for part, conditional in _conditional_entropies(recovered, true, n):
        recovered_residual[part] = np.minimum(recovered_residual[part], conditional[0].min(axis=1))
        true_residual = np.minimum(true_residual, conditional[1].min(axis=0))
    shared = recovered_entropy.sum() - recovered_residual.sum() + true_entropy.sum() - true_residual.sum()
    return float(np.clip(shared / (2 * max_entropy), 0, 1))


def link_auc(scores_of_edges: Any, scores_of_non_edges: Any) -> float:
    """Probability that an edge has a higher score than a pair of nodes without one; ties count half.

    This is the area under the ROC curve of a prediction of edges, usually of held-out edges and as many pairs drawn from those
    without an edge: 0.5 for scores that know nothing, 1 if all edges are above all other pairs.

    Parameters
    ----------
    scores_of_edges : array-like of shape (m,)
    scores_of_non_edges : array-like of shape (k,)

    Returns
    -------
    float

    Examples
    --------
    >>> link_auc([0.9, 0.4], [0.1, 0.4])
    0.875
    """
    of_edges, of_others = (
        _scores(scores, name)
        for scores, name in ((scores_of_edges, "scores_of_edges"), (scores_of_non_edges, "scores_of_non_edges"))
    )
    of_others = np.sort(of_others)
    below, not_above = (np.searchsorted(of_others, of_edges, side).sum(dtype=np.float64) for side in ("left", "right"))
    return float((below + not_above) / (2 * len(of_edges) * len(of_others)))


def _scores(values: Any, name: str) -> np.ndarray:
    try:
        scores = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise LatentiaError(f"{name} must be numbers ({error}).") from error
    if scores.ndim != 1 or not len(scores):
        raise LatentiaError(f"{name} has shape {scores.shape}; expected one score per pair, and at least one pair.")
    if np.isnan(scores).any():
        raise LatentiaError(f"{name} has NaN at {int(np.isnan(scores).argmax())}: every pair needs a score.")
    return scores


# --- entropies ----------------------------------------------------------------------------------------------------


def _entropies(sizes: np.ndarray, n: int) -> np.ndarray:
    """Return the entropy of membership in sets of these sizes."""
    return entr(sizes / n) + entr((n - sizes) / n)


def _conditional_entropies(
    recovered: sparse.csr_array, true: sparse.csr_array, n: int
) -> Iterator[tuple[slice, tuple[np.ndarray, np.ndarray]]]:
    """Yield (H(X_k | Y_l), H(Y_l | X_k)), each of shape (part of K, L), for chunks of the recovered communities.

    Entries are infinite if a community is more informative by its complement.
    """
    of_found, of_true = recovered.T.tocsr(), _sizes(true)
    rows = max(_CHUNK_PAIRS // len(of_true), 1)
    for start in range(0, recovered.shape[1], rows):
        part = slice(start, start + rows)
        common = (of_found[part] @ true).toarray().astype(np.float64)
        sizes = np.asarray(of_found[part].sum(axis=1)).ravel()[:, None]
        matching = entr(common / n) + entr((n - sizes - of_true + common) / n)
        differing = entr((sizes - common) / n) + entr((of_true - common) / n)
        joint = np.where(matching >= differing, matching + differing, np.inf)
        yield part, (joint - _entropies(of_true, n), joint - _entropies(sizes, n))


# --- communities --------------------------------------------------------------------------------------------------


def _memberships(
    recovered: Any, true: Any, n_nodes: int | None = None, needs_size: bool = False
) -> tuple[sparse.csr_array, sparse.csr_array, int]:
    """Return both as memberships of the same n nodes, shapes (n, K) and (n, L), and n."""
    if n_nodes is not None and n_nodes < 1:
        raise LatentiaError("expected at least 1 node.", parameter="n_nodes", value=n_nodes)
    sides = [_read(recovered, "recovered"), _read(true, "true")]
    sizes = [side.shape[0] for side, is_array in sides if is_array]
    if n_nodes is not None:
        sizes.append(n_nodes)
    if needs_size and not sizes:
        raise LatentiaError("n_nodes=None: lists of communities do not say how many nodes there are; give n_nodes.")
    if len(set(sizes)) > 1:
        raise LatentiaError(
            f"The communities are of {sizes[0]} nodes and of {sizes[-1]}: they must be of the same nodes."
        )
    n = sizes[0] if sizes else max(side.shape[0] for side, _ in sides)
    for (side, _), name in zip(sides, ("found", "true"), strict=True):
        if side.shape[0] > n:
            raise LatentiaError(f"{name} has the node {side.shape[0] - 1}, and there are {n} nodes: count from 0.")
        side.resize((n, side.shape[1]))
    return sides[0][0], sides[1][0], n


def _read(source: Any, name: str) -> tuple[sparse.csr_array, bool]:
    """Return nonempty communities as 0-1 memberships, and whether the source was an array."""
    is_array = (
        sparse.issparse(source) or hasattr(source, "columns") or (isinstance(source, np.ndarray) and source.ndim > 1)
    )
    table = _read_array(source, name) if is_array else _read_lists(source, name)
    nonempty = np.flatnonzero(_sizes(table))
    if not len(nonempty):
        raise LatentiaError(f"{name}: expected at least one community with nodes.")
    return (table if len(nonempty) == table.shape[1] else table[:, nonempty]), is_array


def _read_array(source: Any, name: str) -> sparse.csr_array:
    table = source if sparse.issparse(source) else np.asarray(source)
    if table.ndim != 2 or table.dtype.kind not in "buif":
        raise LatentiaError(
            f"{name} has shape {table.shape} and type {table.dtype}; expected truth values of shape (n, K)."
        )
    table = sparse.csr_array(table, copy=True)
    table.sum_duplicates()
    table.eliminate_zeros()
    if not (table.data == 1).all():
        odd = table.data[table.data != 1][0]
        raise LatentiaError(f"{name} has the value {odd}; expected memberships of 0 or 1. Threshold graded ones first.")
    return table.astype(np.int64)


def _read_lists(source: Any, name: str) -> sparse.csr_array:
    try:
        communities = [np.unique(np.asarray(list(nodes))) for nodes in source]
    except TypeError as error:
        raise LatentiaError(
            f"{name} must be an array of memberships or a list of sets of node numbers ({error})."
        ) from error
    for k, nodes in enumerate(communities):
        if len(nodes) and (nodes.dtype.kind not in "ui" or nodes.ndim != 1 or nodes[0] < 0):
            raise LatentiaError(f"{name}, community {k} has the node {nodes.ravel()[0]!r}; expected numbers from 0.")
    rows = np.concatenate([np.empty(0, np.int64), *(nodes.astype(np.int64) for nodes in communities)])
    columns = np.repeat(np.arange(len(communities)), [len(nodes) for nodes in communities])
    shape = (int(rows.max(initial=-1)) + 1, len(communities))
    return sparse.csr_array(sparse.coo_array((np.ones(len(rows), np.int64), (rows, columns)), shape=shape))


def _sizes(memberships: sparse.csr_array) -> np.ndarray:
    """Return the number of nodes of every community, shape (K,)."""
    return np.asarray(memberships.sum(axis=0)).ravel()
