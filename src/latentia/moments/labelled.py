"""Moments of documents with label sets: words with words, and words with labels. Every product is one pass.

Blocks have the parts (C, Y, F): counts or occurrences C of D words, 0/1 label sets Y of L labels, and features F of
the words for a linear model (weighted, rows of unit length). With factors s_d of the documents, C and Y give

    second   M_2 = mean_d s_d (c c^T - diag(c)),
    third    M_3 = mean_d s_d' (c (x) c (x) c, different words),
    labels   M_L = mean_d s_d y (x) (c c^T - diag(c)),

which are products over different words of a document. `Factors` says which s: one for occurrences that are independent
given the topic, falling factorials of the length for words that are drawn one after the other. Neither matrix nor tensor is
formed: M_2 B, M_3(S, S, S) and M_L(g, g) need the coordinates S^T c of a document alone. Only the most frequent
words have coordinates (``codes``): rare ones would add noise, and rows to every array.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numba import njit

from .._threads import Parallel, one_blas_thread, threads
from ..exceptions import LatentiaError
from ..passes import Block, RowGroups
from .counts import Counts, as_counts, check_counts
from .documents import WordMoments
from .products import add_cubes, mirror_cube

__all__ = [
    "DiagonalMoments",
    "Factors",
    "LabelledCounts",
    "LabelledSums",
    "LabelsToWords",
    "OccurrenceCubes",
    "OccurrenceMoments",
    "OccurrenceProducts",
    "OccurrenceSums",
    "TopicMoments",
    "WordsToLabels",
    "diagonal_moments",
    "frequent_words",
    "gathered",
]

_COLUMNS, _ROWS = 64, 1024


@dataclass(frozen=True)
class Factors:
    """Factors s_d of documents with n_d words in moments of the orders 1, 2 and 3.

    Attributes
    ----------
    falling : bool
        1 / n, 1 / (n (n - 1)), 1 / (n (n - 1) (n - 2)), and zero for shorter documents; otherwise all are one.
    """

    falling: bool

    def __call__(self, lengths: np.ndarray, order: int) -> np.ndarray:
        if not self.falling:
            return np.ones(len(lengths))
        product = np.prod([lengths - i for i in range(order)], axis=0)
        usable = self.usable(lengths, order)
        return np.where(usable, 1.0 / np.where(usable, product, 1.0), 0.0)

    def usable(self, lengths: np.ndarray, order: int) -> np.ndarray:
        """Which documents count."""
        return lengths >= order if self.falling else np.ones(len(lengths), bool)


# --- the first pass ---------------------------------------------------------------------------------------------


@dataclass
class LabelledSums:
    """What the first pass over documents and their labels tells.

    Attributes
    ----------
    n_rows, n_empty, n_unlabelled : int
        Documents, those without words, those without labels.
    document_frequency : ndarray of shape (D,)
        Documents with the word.
    label_counts : ndarray of shape (L,)
        Documents with the label.
    powers : ndarray of shape (4,)
        Sums over documents of nnz(x), nnz(x)^2, nnz(x)^3 and nnz(y) nnz(x)^2.
    usable : ndarray of shape (3,)
        Documents with at least 1, 2 and 3 words, repeated ones counted.
    longest : int
        Largest number of different words in a document.
    largest : float
        Largest entry of X.
    fractional : bool
        Whether some entry of X is not a whole number.
    """

    n_rows: int
    n_empty: int
    n_unlabelled: int
    document_frequency: np.ndarray
    label_counts: np.ndarray
    powers: np.ndarray
    usable: np.ndarray
    longest: int = 0
    largest: float = 0.0
    fractional: bool = False


class LabelledCounts:
    """Statistic: `LabelledSums` of blocks (X, Y), checking every entry on the way."""

    def __init__(self, n_words: int, n_labels: int, names: Any = None) -> None:
        self.n_words, self.n_labels, self.names = n_words, n_labels, names

    def zero(self) -> LabelledSums:
        return LabelledSums(0, 0, 0, np.zeros(self.n_words), np.zeros(self.n_labels), np.zeros(4), np.zeros(3))

    def add(self, state: LabelledSums, block: Block) -> LabelledSums:
        counts, labels = as_counts(block[0]), as_counts(block[1])
        check_counts(counts, block.rows, self.names)
        _check_labels(labels, block.rows)
        present = counts.data > 0
        state.document_frequency += np.bincount(counts.indices[present], minlength=self.n_words)
        state.label_counts += np.bincount(labels.indices[labels.data > 0], minlength=self.n_labels)
        words, marks = _row_sums(counts.indptr, present), _row_sums(labels.indptr, labels.data > 0)
        length = _row_sums(counts.indptr, counts.data)
        state.powers += [words.sum(), (words**2).sum(), (words**3).sum(), (marks * words**2).sum()]
        state.usable += [(length >= order).sum() for order in (1, 2, 3)]
        state.n_rows += len(words)
        state.n_empty += int((words == 0).sum())
        state.n_unlabelled += int((marks == 0).sum())
        state.longest = max(state.longest, int(words.max(initial=0)))
        state.largest = max(state.largest, float(counts.data.max(initial=0)))
        state.fractional |= bool((counts.data % 1 != 0).any())
        return state

    def merge(self, first: LabelledSums, second: LabelledSums) -> LabelledSums:
        for name in ("n_rows", "n_empty", "n_unlabelled", "document_frequency", "label_counts", "powers", "usable"):
            setattr(first, name, getattr(first, name) + getattr(second, name))
        for name in ("longest", "largest", "fractional"):
            setattr(first, name, max(getattr(first, name), getattr(second, name)))
        return first


def frequent_words(document_frequency: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """The ``most`` words in most documents, ascending, and for every word its place among them or -1."""
    seen = int(np.count_nonzero(document_frequency))
    words = np.sort(np.argsort(-document_frequency, kind="stable")[: min(most, seen)])
    codes = np.full(len(document_frequency), -1, np.int32)
    codes[words] = np.arange(len(words), dtype=np.int32)
    return words, codes


# --- words with words -------------------------------------------------------------------------------------------


class OccurrenceProducts:
    """In-place statistic: sums of s_d c_d (c_d^T B), shape (F, k) for B of that shape, and of s_d c_d, shape (F,)."""

    def __init__(self, columns: np.ndarray, codes: np.ndarray, factors: Factors) -> None:
        self.columns, self.codes, self.factors = np.ascontiguousarray(columns), codes, factors

    def zero(self) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros(self.columns.shape), np.zeros(len(self.columns))

    def add_tasks(self, state: Any, block: Block, parallel: Parallel) -> Any:
        products, single = state
        counts = as_counts(block[0])
        factor = self.factors(_row_sums(counts.indptr, counts.data), 2)
        rows = _gathered(counts, self.codes, self.columns, parallel)
        _scatter_all(counts, self.codes, np.arange(len(rows)), rows * factor[:, None], products, parallel)
        _add_words(counts, self.codes, factor, None, single[None])
        return state


class OccurrenceCubes:
    """In-place statistic: sum_d (S^T c_d)^(x 3), shape (b, b, b), for coordinates S of shape (F, b); see `mirror_cube`."""

    def __init__(self, coordinates: np.ndarray, codes: np.ndarray) -> None:
        self.coordinates, self.codes = np.ascontiguousarray(coordinates), codes

    def zero(self) -> np.ndarray:
        return np.zeros((self.coordinates.shape[1],) * 3)

    def add_tasks(self, state: np.ndarray, block: Block, parallel: Parallel) -> np.ndarray:
        add_cubes(state, _gathered(as_counts(block[0]), self.codes, self.coordinates, parallel), None, parallel)
        return state


@dataclass(frozen=True)
class OccurrenceSums:
    """Sums for groups of documents in coordinates S; see `OccurrenceMoments`.

    Attributes
    ----------
    cubes : ndarray of shape (G, b, b, b)
        Third moments, different words or not.
    first : ndarray of shape (G, b)
    pairs, triples : ndarray of shape (G, F, b)
        Sums of s_d c_d z_d^T with the factors of order 2 and 3; the same array where all factors are one.
    twice, thrice : ndarray of shape (G, F)
        Sums of s_d c_d with these factors.
    documents : ndarray of shape (G, 3)
        Documents of every group that count in moments of order 1, 2, 3.
    """

    cubes: np.ndarray
    first: np.ndarray
    pairs: np.ndarray
    triples: np.ndarray
    twice: np.ndarray
    thrice: np.ndarray
    documents: np.ndarray


@dataclass(frozen=True)
class DiagonalMoments:
    """Moments of words with themselves: sum_k pi_k mu_kv^2, shape (F,), and the part of M_3(S, S, S), shape (b, b, b)."""

    pairs: np.ndarray
    third: np.ndarray

    def added_to(self, moments: WordMoments, coordinates: np.ndarray) -> WordMoments:
        """Moments of words that may be the same."""
        own = self.pairs[:, None] * coordinates
        return WordMoments(
            moments.marginal, moments.sketch + own, moments.first, moments.second + coordinates.T @ own,
            moments.third + self.third,
        )  # fmt: skip


class OccurrenceMoments:
    """In-place statistic: `OccurrenceSums` in coordinates S, shape (F, b). `of` turns them into moments.

    Products of the third moment are in single precision and their sums over chunks of rows in double.
    """

    def __init__(self, coordinates: np.ndarray, codes: np.ndarray, factors: Factors, dealt: RowGroups) -> None:
        self.coordinates, self.codes, self.factors = np.ascontiguousarray(coordinates), codes, factors
        self.dealt = dealt

    def zero(self) -> OccurrenceSums:
        g, (f, b) = self.dealt.n, self.coordinates.shape
        pairs, twice = np.zeros((g, f, b)), np.zeros((g, f))
        triples, thrice = (np.zeros((g, f, b)), np.zeros((g, f))) if self.factors.falling else (pairs, twice)
        return OccurrenceSums(np.zeros((g, b, b, b)), np.zeros((g, b)), pairs, triples, twice, thrice, np.zeros((g, 3)))

    def add_tasks(self, state: OccurrenceSums, block: Block, parallel: Parallel) -> OccurrenceSums:
        counts = as_counts(block[0])
        lengths = _row_sums(counts.indptr, counts.data)
        rows = _gathered(counts, self.codes, self.coordinates, parallel)
        groups = self.dealt.of(block.rows)
        single = rows.astype(np.float32)
        for g in self.dealt.all:
            chosen = np.flatnonzero(groups == g)
            state.documents[g] += [self.factors.usable(lengths[chosen], order).sum() for order in (1, 2, 3)]
            state.first[g] += self.factors(lengths[chosen], 1) @ rows[chosen]
            add_cubes(state.cubes[g], single[chosen], self.factors(lengths[chosen], 3), parallel)
        for order, pairs, words in ((2, state.pairs, state.twice), (3, state.triples, state.thrice)):
            if order == 3 and not self.factors.falling:
                break
            factor = self.factors(lengths, order)
            scaled = rows * factor[:, None]
            for g in self.dealt.all:
                _scatter_all(counts, self.codes, np.flatnonzero(groups == g), scaled, pairs[g], parallel)
            _add_words(counts, self.codes, factor, groups, words)
        return state

    def cube(self, sums: OccurrenceSums, groups: Sequence[int], n_jobs: int | None = None) -> np.ndarray:
        """Sum over the documents of some groups of s_d z (x) z (x) z of different words: the dear part of `of`."""
        chosen = list(groups)
        cube = sums.cubes[chosen].sum(axis=0)
        triples, thrice = sums.triples[chosen].sum(axis=0), sums.thrice[chosen].sum(axis=0)
        _subtract_repeated(cube, self.coordinates, triples, thrice, n_jobs)
        return mirror_cube(cube)

    def of(self, sums: OccurrenceSums, groups: Sequence[int], cube: np.ndarray | None = None) -> WordMoments:
        """Moments of different words of the documents of some groups together; ``cube`` is theirs, if it is known."""
        chosen, s = list(groups), self.coordinates
        first, second, third = sums.documents[chosen].sum(axis=0)
        if not third:
            raise LatentiaError("A part of the data has no documents of three words: there are too few to be split.")
        sketch = sums.pairs[chosen].sum(axis=0)
        sketch -= sums.twice[chosen].sum(axis=0)[:, None] * s
        sketch /= second
        cube = self.cube(sums, chosen) if cube is None else cube
        matrix = s.T @ sketch
        marginal = sums.twice[chosen].sum(axis=0)
        return WordMoments(
            marginal / max(marginal.sum(), 1e-300), sketch, sums.first[chosen].sum(axis=0) / first,
            (matrix + matrix.T) / 2, cube / third,
        )  # fmt: skip


# --- words and labels with topics -------------------------------------------------------------------------------


class TopicMoments:
    """In-place statistic for directions g_k, columns of an (F, K) array: sums of s_d c_d (c_d . g_k), shape (D, K), and

        sum_d s_d y_d ((c_d . g_k)^2 - sum_v c_dv g_vk^2),      shape (L, K),

    the contraction M_L(g_k, g_k) over different words (all pairs with ``diagonal``). ``words=False`` leaves the first out.
    """

    def __init__(
        self, directions: np.ndarray, codes: np.ndarray, factors: Factors, n_labels: int,
        *, diagonal: bool = False, words: bool = True,
    ) -> None:  # fmt: skip
        self.directions, self.codes, self.factors = np.ascontiguousarray(directions), codes, factors
        self.n_labels, self.diagonal, self.words = n_labels, diagonal, words

    def zero(self) -> tuple[np.ndarray, np.ndarray]:
        k = self.directions.shape[1]
        return np.zeros((len(self.codes) if self.words else 0, k)), np.zeros((self.n_labels, k))

    def add_tasks(self, state: Any, block: Block, parallel: Parallel) -> Any:
        words, labels = state
        counts, marks = as_counts(block[0]), as_counts(block[1])
        factor = self.factors(_row_sums(counts.indptr, counts.data), 2)[:, None]
        rows = _gathered(counts, self.codes, self.directions, parallel)
        order = np.arange(len(rows))
        if self.words:
            _scatter_all(counts, None, order, rows * factor, words, parallel)
        squares = rows**2
        if not self.diagonal:
            squares -= _gathered(counts, self.codes, self.directions**2, parallel)
        _scatter_all(marks, None, order, squares * factor, labels, parallel)
        return state


# --- features with labels ---------------------------------------------------------------------------------------


class LabelsToWords:
    """In-place statistic: F^T Y B, shape (D, k), for B of shape (L, k). In single precision: it is a basis, not an answer."""

    def __init__(self, columns: np.ndarray, n_words: int) -> None:
        self.columns, self.n_words = np.ascontiguousarray(columns, dtype=np.float32), n_words

    def zero(self) -> np.ndarray:
        return np.zeros((self.n_words, self.columns.shape[1]), np.float32)

    def add_tasks(self, state: np.ndarray, block: Block, parallel: Parallel) -> np.ndarray:
        marks, features = as_counts(block[1]), block[2]
        rows = _gathered(marks, None, self.columns, parallel)
        _scatter_all(
            Counts(features.indptr, features.indices, features.data), None, np.arange(len(rows)), rows, state, parallel
        )
        return state


class WordsToLabels:
    """In-place statistic for a basis T, shape (D, k), and z_d = T^T f_d: Y^T Z (L, k), Z^T Z (k, k), sum of z_d (k,)."""

    def __init__(self, basis: np.ndarray, n_labels: int) -> None:
        self.basis, self.n_labels = np.ascontiguousarray(basis, dtype=np.float32), n_labels

    def zero(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        k = self.basis.shape[1]
        return np.zeros((self.n_labels, k)), np.zeros((k, k)), np.zeros(k)

    def add_tasks(self, state: Any, block: Block, parallel: Parallel) -> Any:
        crossed, gram, total = state
        marks, features = as_counts(block[1]), block[2]
        rows = _gathered(Counts(features.indptr, features.indices, features.data), None, self.basis, parallel)
        rows = rows.astype(np.float64)
        _scatter_all(marks, None, np.arange(len(rows)), rows, crossed, parallel)
        gram += rows.T @ rows
        total += rows.sum(axis=0)
        return state


def diagonal_moments(
    coordinates: np.ndarray, words: np.ndarray, weights: np.ndarray, n_jobs: int | None = None
) -> DiagonalMoments:
    """What a mixture of independent occurrences has where `OccurrenceMoments` leaves out repeated words.

    A word that is present is so once, so that its co-occurrence with itself is not that of two words. The model's moments
    have sum_k pi_k mu_kv^2 on their diagonal, and likewise where two or three words of a triple agree.

    Parameters
    ----------
    coordinates : ndarray of shape (F, b)
    words : ndarray of shape (F, K)
        Probabilities mu.
    weights : ndarray of shape (K,)
    """
    squares = words**2
    twice = squares @ weights
    third = np.zeros((coordinates.shape[1],) * 3)
    sketch = (squares * weights) @ (words.T @ coordinates)
    _subtract_repeated(third, coordinates, -sketch, -(squares * words) @ weights, n_jobs)
    return DiagonalMoments(twice, mirror_cube(third))


def _subtract_repeated(
    cube: np.ndarray, s: np.ndarray, sketch: np.ndarray, single: np.ndarray, n_jobs: int | None
) -> None:
    """Take triples with a repeated word out of the blocks I <= J <= L of a third moment: 3 sym(S S G) - 2 a S^3 over words.

    With rows g = sketch_v and t = |S_v| / |g|,

        3 sym(S (x) S (x) g) = ((S + t g)^3 - (S - t g)^3 - 2 (t g)^3) / (2 t),

    which are symmetric cubes: half of the products of the unsymmetric sum, and in single precision.
    """
    sizes, others = np.linalg.norm(s, axis=1), np.linalg.norm(sketch, axis=1)
    used = (others > 0) & (sizes > 0)
    t = np.where(used, sizes / np.where(used, others, 1.0), 1.0)[:, None]
    scaled, factor = sketch * t, 1 / (2 * t[:, 0])
    with threads(effective_n_jobs(n_jobs)) as parallel, one_blas_thread():
        for rows, weights in ((s + scaled, -factor), (s - scaled, factor), (scaled, 2 * factor), (s, 2 * single)):
            add_cubes(cube, rows.astype(np.float32), weights, parallel)


# --- kernels ----------------------------------------------------------------------------------------------------


def _row_sums(indptr: np.ndarray, values: np.ndarray) -> np.ndarray:
    sums = np.concatenate([[0.0], np.cumsum(values, dtype=np.float64)])
    return sums[indptr[1:]] - sums[indptr[:-1]]


def _check_labels(labels: Counts, rows: np.ndarray) -> None:
    bad = (labels.data != 0) & (labels.data != 1)
    if bad.any():
        at = int(np.argmax(bad))
        row = rows[int(np.searchsorted(labels.indptr, at, side="right")) - 1]
        raise LatentiaError(
            f"Y has {labels.data[at]:g} in row {row}, column {labels.indices[at]}: label sets are tables of 0 and 1."
        )


def _add_words(
    counts: Counts, codes: np.ndarray, factor: np.ndarray, groups: np.ndarray | None, total: np.ndarray
) -> None:
    """Add sum_d s_d c_d over words with codes to the row of ``total``, (G, F), of the document's group."""
    group = np.zeros(len(factor), np.int8) if groups is None else groups
    _scatter_words(counts.indptr, codes[counts.indices], counts.data, factor, group, total)


def _gathered(counts: Counts, codes: np.ndarray | None, columns: np.ndarray, parallel: Parallel) -> np.ndarray:
    """C B, shape (n, k), for words with codes."""
    n = len(counts.indptr) - 1
    out = np.empty((n, columns.shape[1]), columns.dtype)
    indices = counts.indices if codes is None else codes[counts.indices]
    data = counts.data.astype(columns.dtype, copy=False)

    def task(i: int) -> None:
        _gather(counts.indptr, indices, data, columns, out, i * _ROWS, min(n, (i + 1) * _ROWS))

    parallel(task, -(-n // _ROWS))
    return out


def _scatter_all(
    counts: Counts, codes: np.ndarray | None, order: np.ndarray, rows: np.ndarray, total: np.ndarray, parallel: Parallel
) -> None:
    """Add C^T Z to ``total`` for the documents in ``order``; every thread owns some columns."""
    indices = counts.indices if codes is None else codes[counts.indices]
    data, width = counts.data.astype(total.dtype, copy=False), total.shape[1]

    def task(i: int) -> None:
        _scatter(counts.indptr, indices, data, order, rows, total, i * _COLUMNS, min(width, (i + 1) * _COLUMNS))

    parallel(task, -(-width // _COLUMNS))


def gathered(counts: Counts, codes: np.ndarray | None, columns: np.ndarray, n_jobs: int | None) -> np.ndarray:
    """C B, shape (n, k), in the precision of B, shape (F, k); words with a code of -1 count as nothing."""
    with threads(effective_n_jobs(n_jobs)) as parallel:
        return _gathered(counts, codes, columns, parallel)


@njit(nogil=True, cache=True)
def _gather(indptr, indices, data, columns, out, first, last):  # pragma: no cover - compiled
    k = columns.shape[1]
    for d in range(first, last):
        t = out[d]
        t[:] = 0
        for e in range(indptr[d], indptr[d + 1]):
            if indices[e] < 0:
                continue
            c, row = data[e], columns[indices[e]]
            for j in range(k):
                t[j] += c * row[j]


@njit(nogil=True, cache=True)
def _scatter(indptr, indices, data, order, rows, total, first, last):  # pragma: no cover - compiled
    k = last - first
    for d in order:
        t = rows[d, first:last]
        for e in range(indptr[d], indptr[d + 1]):
            if indices[e] < 0:
                continue
            c, row = data[e], total[indices[e], first:last]
            for j in range(k):
                row[j] += c * t[j]


@njit(nogil=True, cache=True)
def _scatter_words(indptr, indices, data, factor, groups, total):  # pragma: no cover - compiled
    for d in range(len(indptr) - 1):
        for e in range(indptr[d], indptr[d + 1]):
            if indices[e] >= 0:
                total[groups[d], indices[e]] += factor[d] * data[e]
