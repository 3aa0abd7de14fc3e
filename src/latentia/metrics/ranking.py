"""Measures of ranked labels: precision, nDCG and propensity-scored precision at k; AUC by document, by label, of all pairs.

Let y in {0, 1}^L be the label set of a document, |y| its size, and (1), (2), ... its labels by score, best first. Then

    P@k    = 1/k sum_(i <= k) y_(i),
    nDCG@k = sum_(i <= k) y_(i) / log2(i + 1)  /  sum_(i <= min(k, |y|)) 1 / log2(i + 1),
    PSP@k  = sum_d sum_(i <= k) y_(i) / p_(i)  /  sum_d (the k largest 1 / p_l among the labels of d)

with the propensity p_l that a label that applies to a document is recorded. Means over documents speak of frequent labels;
`label_auc` and `label_f1` give every label one number, whose mean (macro) counts rare labels as much.

Sources: K. Bhatia, K. Dahiya, H. Jain, P. Kar, A. Mittal, Y. Prabhu, M. Varma, The Extreme Classification Repository, 2016;
H. Jain, Y. Prabhu, M. Varma, Extreme multi-label loss functions for recommendation, tagging, ranking and other missing label
applications, KDD 2016.
"""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from numba import njit
from scipy import sparse

from ..exceptions import LatentiaError
from ..system.threads import run_in_chunks

_CHUNK_ENTRIES = 1 << 20  # scores per chunk
_RUN_LENGTH = 32
_MAX_DIRECT_LABELS = 256  # label sets up to this size are compared with all scores directly, one label at a time


def top_indices(scores: Any, n: int, n_jobs: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return columns and values of the ``n`` largest entries of every row, descending; ties by column.

    Parameters
    ----------
    scores : array-like of shape (n_rows, L)
        float32 or float64; other types are converted to float64. NaN is not allowed, and not checked.
    n : int
        Number of entries; all L are returned if n > L.
    n_jobs : int, optional
        Threads, as in joblib.

    Returns
    -------
    indices : ndarray of int32, shape (n_rows, min(n, L))
    values : ndarray of the type of ``scores``, same shape

    Examples
    --------
    >>> indices, values = top_indices([[0.1, 0.7, 0.2, 0.7]], 3)
    >>> indices
    array([[1, 3, 2]], dtype=int32)
    >>> values
    array([[0.7, 0.7, 0.2]])
    """
    scores = _as_scores(scores)
    n = min(_as_count(n=n), scores.shape[1])
    indices, values = np.empty((len(scores), n), np.int32), np.empty((len(scores), n), scores.dtype)
    if n:
        run_in_chunks(lambda a, b: _top(scores, a, b, indices, values), len(scores), _rows_of_chunk(scores), n_jobs)
    return indices, values


def document_auc(Y: Any, scores: Any, n_jobs: int | None = None) -> np.ndarray:
    """Compute the AUC of every document: the share of pairs of a present and an absent label in the right order.

    A tie counts half; a document that has no label, or all of them, gets NaN. It is the area under the document's ROC
    curve, and 1 minus its ranking loss where there are no ties.

    Parameters
    ----------
    Y : array-like or sparse matrix of shape (n, L)
        What is not 0 is a label. Never made dense.
    scores : array-like of shape (n, L)
        Not NaN.
    n_jobs : int, optional
        Threads, as in joblib.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> document_auc([[1, 0, 0], [0, 0, 0]], [[0.5, 0.7, 0.1], [0.3, 0.2, 0.1]])
    array([0.5, nan])
    """
    labels, scores = _check_labels_and_scores(Y, scores)
    out = np.empty(len(scores))
    indptr, indices = labels.indptr.astype(np.int64), labels.indices.astype(np.int32)

    def task(start: int, stop: int) -> None:
        _auc(indptr, indices, scores, start, stop, out)
        for d in start + np.flatnonzero(np.diff(indptr[start : stop + 1]) > _MAX_DIRECT_LABELS):
            out[d] = _auc_by_sorting(scores[d], indices[indptr[d] : indptr[d + 1]])

    run_in_chunks(task, len(scores), _rows_of_chunk(scores), n_jobs)
    return out


def label_auc(Y: Any, scores: Any, n_jobs: int | None = None) -> np.ndarray:
    """Compute the AUC of every label: the share of pairs of documents with and without it in the right order.

    A tie counts half; a label that no document has, or all of them, gets NaN. The mean of the others is the macro-AUC.

    Parameters
    ----------
    Y, scores, n_jobs
        As in `document_auc`.

    Returns
    -------
    ndarray of shape (L,)

    Examples
    --------
    >>> label_auc([[1, 0], [0, 0], [1, 0]], [[0.5, 0.7], [0.6, 0.2], [0.9, 0.1]])
    array([0.5, nan])
    """
    return document_auc(_as_labels(Y).T, _as_scores(scores).T, n_jobs)


def micro_auc(Y: Any, scores: Any) -> float:
    """Compute the AUC over all pairs of a recorded and an unrecorded label, of any documents.

    Scores must be comparable across documents. A tie counts half; NaN if Y has no 1, or no 0.

    Parameters
    ----------
    Y, scores
        As in `document_auc`.

    Returns
    -------
    float

    Examples
    --------
    >>> micro_auc([[1, 0], [0, 1]], [[0.5, 0.3], [0.6, 0.9]])
    0.75
    """
    labels, scores = _check_labels_and_scores(Y, scores)
    rows = np.repeat(np.arange(len(scores)), np.diff(labels.indptr))
    label_scores = np.sort(scores[rows, labels.indices])
    n_other = scores.size - len(label_scores)
    if not len(label_scores) or not n_other:
        return float("nan")
    n_won = 0
    for a in range(0, len(scores), _rows_of_chunk(scores)):
        part = scores[a : a + _rows_of_chunk(scores)].ravel()
        below = np.searchsorted(label_scores, part).sum() + np.searchsorted(label_scores, part, side="right").sum()
        n_won += 2 * len(label_scores) * len(part) - int(below)
    return (n_won - len(label_scores) ** 2) / (2 * len(label_scores) * n_other)


def label_f1(Y: Any, predicted: Any) -> np.ndarray:
    """Compute the F1 score of every label: twice the hits over its documents plus its predictions.

    NaN for a label that no document has and that was never predicted. The mean of the others is the macro-F1.

    Parameters
    ----------
    Y, predicted : array-like or sparse matrix of shape (n, L)
        What is not 0 is a label.

    Returns
    -------
    ndarray of shape (L,)

    Examples
    --------
    >>> label_f1([[1, 0, 0], [1, 1, 0]], [[1, 0, 0], [0, 1, 0]]).round(3)
    array([0.667, 1.   ,   nan])
    """
    labels, predictions = _as_labels(Y), _as_labels(predicted)
    if labels.shape != predictions.shape:
        raise LatentiaError(f"Y has shape {labels.shape} and predicted {predictions.shape}; expected equal shapes.")
    hits, size = (
        np.bincount(table.indices, minlength=labels.shape[1]).astype(np.float64)
        for table in (labels.multiply(predictions).tocsr(), sparse.vstack([labels, predictions], format="csr"))
    )
    return np.divide(2 * hits, size, out=np.full(len(size), np.nan), where=size > 0)


def precision_at_k(Y: Any, top: Any, k: int) -> np.ndarray:
    """Compute the share of the k best ranked labels that a document has; 0 for a document without labels.

    Parameters
    ----------
    Y : array-like or sparse matrix of shape (n, L)
        What is not 0 is a label.
    top : array-like of int, shape (n, >= k)
        Labels, best first, as from `top_indices`.
    k : int

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> precision_at_k([[1, 0, 1, 0]], [[2, 1, 3]], 2)
    array([0.5])
    """
    hits, _, _ = _check_ranking(Y, top, k)
    return hits.mean(axis=1)


def ndcg_at_k(Y: Any, top: Any, k: int) -> np.ndarray:
    """Compute the normalised discounted cumulative gain of the k best ranked labels; NaN without labels.

    Parameters
    ----------
    Y, top, k
        As in `precision_at_k`.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> ndcg_at_k([[1, 0, 1, 0]], [[2, 1, 3]], 2).round(4)
    array([0.6131])
    """
    hits, labels, _ = _check_ranking(Y, top, k)
    discount = 1 / np.log2(np.arange(2, k + 2))
    best = np.concatenate([[np.nan], np.cumsum(discount)])
    return hits @ discount / best[np.minimum(np.diff(labels.indptr), k)]


def propensity_scored_precision_at_k(Y: Any, top: Any, k: int, propensities: Any) -> float:
    """Compute precision at k with hits divided by the propensity of their label, relative to the best ranking.

    It is a ratio of two sums over all documents, as in the repository's scripts, not a mean of ratios. NaN if no document has a
    label.

    Parameters
    ----------
    Y, top, k
        As in `precision_at_k`.
    propensities : array-like of shape (L,)
        In (0, 1], as from the function `propensities` on the training labels.

    Returns
    -------
    float

    Examples
    --------
    >>> propensity_scored_precision_at_k([[1, 1, 0], [0, 0, 1]], [[0], [2]], 1, [0.5, 0.25, 1.0])
    0.6
    """
    hits, labels, top_labels = _check_ranking(Y, top, k)
    p = np.asarray(propensities, dtype=np.float64)
    if p.shape != (labels.shape[1],):
        raise LatentiaError(f"propensities have shape {p.shape} and Y {labels.shape}; expected one per label.")
    if not ((p > 0) & (p <= 1)).all():
        raise LatentiaError("propensities must be above 0 and at most 1.")
    documents = np.repeat(np.arange(len(hits)), np.diff(labels.indptr))
    weights = 1 / p[labels.indices]
    order = np.lexsort((-weights, documents))  # keeps the documents' places
    among_best = np.arange(labels.nnz) - labels.indptr[documents] < k
    best = weights[order][among_best].sum()
    return float((hits / p[top_labels]).sum() / best) if labels.nnz else float("nan")


def propensities(label_counts: Any, n_rows: int, a: float = 0.55, b: float = 1.5) -> np.ndarray:
    """Estimate the probability that a label is recorded if it applies (Jain, Prabhu and Varma 2016, section 4).

    p_l = 1 / (1 + C exp(-a log(N_l + b))) with C = (log N - 1) (b + 1)^a.

    Parameters
    ----------
    label_counts : array-like of shape (L,)
        N_l, the number of training documents that have the label.
    n_rows : int
        N, the number of training documents, at least 3: with fewer C is negative.
    a, b : float
        b above 0. The paper has (0.5, 0.4) for Wikipedia, (0.6, 2.6) for Amazon, and these values elsewhere.

    Returns
    -------
    ndarray of shape (L,)

    Examples
    --------
    >>> propensities([1, 10, 1000], 10_000).round(3)
    array([0.109, 0.22 , 0.767])
    """
    counts = np.asarray(label_counts, dtype=np.float64)
    if counts.ndim != 1:
        raise LatentiaError(f"label_counts has shape {counts.shape}; expected one number per label.")
    if n_rows < 3:
        raise LatentiaError(f"n_rows={n_rows}: the model of propensities needs at least 3 documents.")
    if not b > 0:
        raise LatentiaError(f"b={b}: the model of propensities needs a number above 0.")
    if not ((counts >= 0) & (counts <= n_rows)).all():
        raise LatentiaError(f"label_counts must be from 0 to n_rows={n_rows}.")
    c = (np.log(n_rows) - 1) * (b + 1) ** a
    return 1 / (1 + c * (counts + b) ** -a)


def _as_scores(scores: Any) -> np.ndarray:
    scores = np.asarray(scores)
    if scores.ndim != 2 or scores.dtype.kind not in "biuf":
        raise LatentiaError(
            f"scores are {scores.dtype} of shape {scores.shape}; expected a dense table of numbers, documents by labels."
        )
    return np.ascontiguousarray(scores, dtype=None if scores.dtype in (np.float32, np.float64) else np.float64)


def _check_labels_and_scores(Y: Any, scores: Any) -> tuple[sparse.csr_array, np.ndarray]:
    """Return labels and scores of equal shape, without NaN."""
    scores, labels = _as_scores(scores), _as_labels(Y)
    if labels.shape != scores.shape:
        raise LatentiaError(f"Y has shape {labels.shape} and scores {scores.shape}; expected equal shapes.")
    if scores.size and np.isnan(scores.min()):
        raise LatentiaError("scores hold NaN; expected numbers.")
    return labels, scores


def _as_count(**named: int) -> int:
    ((name, value),) = named.items()
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < 1:
        raise LatentiaError(f"{name}={value!r}: expected a whole number of at least 1.")
    return int(value)


def _as_labels(Y: Any) -> sparse.csr_array:
    """Return a table of True where Y is not 0, with sorted columns in every row."""
    table = Y if sparse.issparse(Y) else np.asarray(Y) != 0
    if table.ndim != 2:
        raise LatentiaError(f"Y has shape {table.shape}; expected a table of documents by labels.")
    labels = sparse.csr_array(table)
    labels = sparse.csr_array((labels.data != 0, labels.indices.copy(), labels.indptr.copy()), shape=labels.shape)
    labels.sum_duplicates()
    labels.eliminate_zeros()
    return labels


def _check_ranking(Y: Any, top: Any, k: int) -> tuple[np.ndarray, sparse.csr_array, np.ndarray]:
    """Return hits among the k first labels (n, k), the labels of Y, and these k labels (n, k)."""
    k, labels, top = _as_count(k=k), _as_labels(Y), np.asarray(top)
    n_rows, n_labels = labels.shape
    if top.ndim != 2 or len(top) != n_rows or top.dtype.kind not in "iu":
        raise LatentiaError(
            f"top is {top.dtype} of shape {top.shape} and Y has shape {labels.shape}: give the numbers of the best "
            "labels of every document, as from top_indices."
        )
    if k > top.shape[1]:
        raise LatentiaError(f"k={k}, and top lists {top.shape[1]} labels a document.")
    top = top[:, :k].astype(np.int64)
    if top.size and not 0 <= top.min() <= top.max() < n_labels:
        raise LatentiaError(f"top names labels from {top.min()} to {top.max()}, and Y has {n_labels} columns.")
    ordered = np.sort(top, axis=1)
    repeated = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
    if len(repeated):
        raise LatentiaError(f"top repeats a label for document {repeated[0]}; expected different labels.")
    keys = np.repeat(np.arange(n_rows), np.diff(labels.indptr)) * n_labels + labels.indices
    top_keys = np.arange(n_rows)[:, None] * n_labels + top
    place = np.searchsorted(keys, top_keys)
    return np.append(keys, -1)[place] == top_keys, labels, top


def _rows_of_chunk(scores: np.ndarray) -> int:
    return max(1, _CHUNK_ENTRIES // max(scores.shape[1], 1))


@njit(nogil=True, cache=True, fastmath={"nnan", "nsz"})  # without these, a maximum is no vector operation
def _largest(row: Any, first: Any) -> Any:
    """Return the largest of ``_RUN_LENGTH`` entries."""
    best = row[first]
    for j in range(first, first + _RUN_LENGTH):
        best = row[j] if row[j] > best else best
    return best


@njit(nogil=True, cache=True)
def _worse(value: Any, place: Any, i: Any, j: Any) -> Any:
    return value[i] < value[j] or (value[i] == value[j] and place[i] > place[j])


@njit(nogil=True, cache=True)
def _swap(value: Any, place: Any, i: Any, j: Any) -> None:
    value[i], value[j] = value[j], value[i]
    place[i], place[j] = place[j], place[i]


@njit(nogil=True, cache=True)
def _sink(value: Any, place: Any, at: Any, n: Any) -> None:
    """Restore the heap of ``n`` entries, worst first, below ``at``."""
    while 2 * at + 1 < n:
        child = 2 * at + 1
        if child + 1 < n and _worse(value, place, child + 1, child):
            child += 1
        if _worse(value, place, at, child):
            return
        _swap(value, place, at, child)
        at = child


@njit(nogil=True, cache=True)
def _top(scores: Any, first: Any, last: Any, indices: Any, values: Any) -> None:
    """Keep a heap of the best entries of every row; skip runs whose maximum does not beat the worst of them."""
    n, width, root = indices.shape[1], scores.shape[1], np.int64(0)  # helpers have another version for a literal 0
    for d in range(first, last):
        row, place, value = scores[d], indices[d], values[d]
        for j in range(n):
            value[j], place[j] = row[j], j
        for at in range(n // 2 - 1, -1, -1):
            _sink(value, place, at, n)
        for a in range(n, width, _RUN_LENGTH):
            if a + _RUN_LENGTH <= width and not _largest(row, a) > value[0]:
                continue
            for j in range(a, min(a + _RUN_LENGTH, width)):
                if row[j] > value[0]:
                    value[0], place[0] = row[j], j
                    _sink(value, place, root, n)
        for end in range(n - 1, 0, -1):  # the worst to the end
            _swap(value, place, root, end)
            _sink(value, place, root, end)


def _auc_by_sorting(row: np.ndarray, labels: np.ndarray) -> float:
    """Compute `_auc` for a row of many labels."""
    p, n_other, ordered = len(labels), len(row) - len(labels), np.sort(row)
    if n_other == 0:
        return np.nan
    n_won = sum(int(np.searchsorted(ordered, row[labels], side).sum()) for side in ("left", "right"))
    return (n_won - p * p) / (2.0 * p * n_other)


@njit(nogil=True, cache=True)
def _auc(indptr: Any, indices: Any, scores: Any, first: Any, last: Any, out: Any) -> None:
    """Count twice the comparisons won by labels against all entries, minus p^2 for the p labels among themselves.

    Rows of more than ``_MAX_DIRECT_LABELS`` labels are skipped.
    """
    for d in range(first, last):
        row, labels = scores[d], indices[indptr[d] : indptr[d + 1]]
        p, n_other = len(labels), len(row) - len(labels)
        if p == 0 or n_other == 0:
            out[d] = np.nan
            continue
        if p > _MAX_DIRECT_LABELS:
            continue
        n_won = np.int64(0)
        for label in labels:
            n_won += _count_wins_twice(row, row[label])
        out[d] = (n_won - p * p) / (2.0 * p * n_other)


@njit(nogil=True, cache=True)
def _count_wins_twice(row: Any, s: Any) -> Any:
    """Count entries below s twice, and entries equal to s once."""
    n_won = np.int32(0)  # 32 bits and a counted loop make it a vector operation; a row has fewer than 2^30 columns
    for j in range(len(row)):
        n_won = np.int32(n_won + np.int32(row[j] < s) + np.int32(row[j] <= s))
    return n_won
