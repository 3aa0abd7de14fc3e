"""Moments of documents with label sets: words with words, and words with labels. Every product is one pass.

Blocks have the parts (C, Y, F): counts or occurrences C of D words, 0/1 label sets Y of L labels, and features F of
the words for a linear model (weighted, rows of unit length). With factors s_d of the documents, C and Y give

    second   M_2 = mean_d s_d (c c^T - diag(c)),
    third    M_3 = mean_d s_d' (c (x) c (x) c, different words),
    labels   M_L = mean_d s_d y (x) (c c^T - diag(c)),

which are products over different words of a document. `Factors` defines s: one for occurrences that are independent given the
topic, falling factorials of the length for words that are drawn one after the other. Matrices and tensors are never formed:
M_2 B, M_3(S, S, S) and M_L(g, g) need only the coordinates S^T c of a document. Only the most frequent words have coordinates
(``codes``): rare ones would add noise, and rows to every array.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from ..exceptions import LatentiaError
from ..moments import WordMoments
from ..moments.counts import Counts, as_counts, as_stored_counts, check_counts
from ..moments.products import add_cubes, mirror_cube, sum_mixed_cubes
from ..moments.sparse_products import add_products, encode_counts, products, sort_by_column, squared_products
from ..passes import Block, Folds
from ..system.threads import Parallel, single_blas_thread, threads

_ROWS = 2048  # rows of a product in double precision at a time


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
        """Return the documents that count, bool (n,)."""
        return lengths >= order if self.falling else np.ones(len(lengths), bool)


# --- the first pass ---------------------------------------------------------------------------------------------


@dataclass
class DocumentCounts:
    """Counts of the first pass over documents and their labels.

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
        Largest number of distinct words in a document.
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


class CountDocuments:
    """Statistic: `DocumentCounts` of blocks (X, Y), with a check of every entry."""

    def __init__(self, n_words: int, n_labels: int, names: Any = None) -> None:
        self.n_words, self.n_labels, self.names = n_words, n_labels, names

    def zero(self) -> DocumentCounts:
        return DocumentCounts(0, 0, 0, np.zeros(self.n_words), np.zeros(self.n_labels), np.zeros(4), np.zeros(3))

    def add(self, state: DocumentCounts, block: Block) -> DocumentCounts:
        counts, labels = as_counts(block[0]), as_counts(block[1])
        check_counts(counts, block.rows, self.names)
        _check_labels(labels, block.rows)
        present = counts.data > 0
        state.document_frequency += np.bincount(counts.indices[present], minlength=self.n_words)
        state.label_counts += np.bincount(labels.indices[labels.data > 0], minlength=self.n_labels)
        words_per_row, labels_per_row = _row_sums(counts.indptr, present), _row_sums(labels.indptr, labels.data > 0)
        length = _row_sums(counts.indptr, counts.data)
        state.powers += [
            words_per_row.sum(),
            (words_per_row**2).sum(),
            (words_per_row**3).sum(),
            (labels_per_row * words_per_row**2).sum(),
        ]
        state.usable += [(length >= order).sum() for order in (1, 2, 3)]
        state.n_rows += len(words_per_row)
        state.n_empty += int((words_per_row == 0).sum())
        state.n_unlabelled += int((labels_per_row == 0).sum())
        state.longest = max(state.longest, int(words_per_row.max(initial=0)))
        state.largest = max(state.largest, float(counts.data.max(initial=0)))
        state.fractional |= bool((counts.data % 1 != 0).any())
        return state

    def merge(self, first: DocumentCounts, second: DocumentCounts) -> DocumentCounts:
        for name in ("n_rows", "n_empty", "n_unlabelled", "document_frequency", "label_counts", "powers", "usable"):
            setattr(first, name, getattr(first, name) + getattr(second, name))
        for name in ("longest", "largest", "fractional"):
            setattr(first, name, max(getattr(first, name), getattr(second, name)))
        return first


def frequent_words(document_frequency: np.ndarray, max_words: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the ``max_words`` most frequent words, ascending, and the place of every word among them, or -1."""
    n_present = int(np.count_nonzero(document_frequency))
    words = np.sort(np.argsort(-document_frequency, kind="stable")[: min(max_words, n_present)])
    codes = np.full(len(document_frequency), -1, np.int32)
    codes[words] = np.arange(len(words), dtype=np.int32)
    return words, codes


# --- words with words -------------------------------------------------------------------------------------------


class OccurrenceProducts:
    """In-place statistic: sums of s_d c_d (c_d^T B), shape (F, k) for B of that shape, and of s_d c_d, shape (F,).

    Products with B are in its precision, and sums in double.
    """

    def __init__(self, columns: np.ndarray, codes: np.ndarray, factors: Factors) -> None:
        self.columns, self.codes, self.factors = np.ascontiguousarray(columns), codes, factors

    def zero(self) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros(self.columns.shape), np.zeros(len(self.columns))

    def add_tasks(self, state: Any, block: Block, parallel: Parallel) -> Any:
        total, single = state
        counts = encode_counts(block[0], self.codes, self.columns.dtype)
        factor = self.factors(_lengths(block), 2)
        rows = products(counts, self.columns, parallel)
        add_products(total, sort_by_column(counts, len(single), parallel, factor), rows, parallel, single)
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
        Sums of s_d c_d z_d^T with the factors of order 2 and 3; the same array if all factors are one.
    twice, thrice : ndarray of shape (G, F)
        Sums of s_d c_d with these factors.
    documents : ndarray of shape (G, 3)
        Documents of every group that count in moments of order 1, 2 and 3.
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

    def add_to(self, moments: WordMoments, coordinates: np.ndarray) -> WordMoments:
        """Return moments of words that may be equal."""
        diagonal = self.pairs[:, None] * coordinates
        return WordMoments(
            moments.marginal, moments.sketch + diagonal, moments.first, moments.second + coordinates.T @ diagonal,
            moments.third + self.third,
        )  # fmt: skip


class OccurrenceMoments:
    """In-place statistic: `OccurrenceSums` in coordinates S, shape (F, b). `compute` turns them into moments.

    Products of the third moment are in single precision, and their sums over chunks of rows in double. With ``single`` the
    same holds for products with S.
    """

    def __init__(
        self, coordinates: np.ndarray, codes: np.ndarray, factors: Factors, folds: Folds, *, single: bool = False
    ) -> None:
        self.coordinates, self.codes, self.factors = np.ascontiguousarray(coordinates), codes, factors
        self.folds, self.dtype = folds, np.float32 if single else np.float64

    def zero(self) -> OccurrenceSums:
        g, (f, b) = self.folds.n, self.coordinates.shape
        pairs, twice = np.zeros((g, f, b)), np.zeros((g, f))
        triples, thrice = (np.zeros((g, f, b)), np.zeros((g, f))) if self.factors.falling else (pairs, twice)
        return OccurrenceSums(np.zeros((g, b, b, b)), np.zeros((g, b)), pairs, triples, twice, thrice, np.zeros((g, 3)))

    def add_tasks(self, state: OccurrenceSums, block: Block, parallel: Parallel) -> OccurrenceSums:
        counts, lengths, groups = (
            encode_counts(block[0], self.codes, self.dtype),
            _lengths(block),
            self.folds.of(block.rows),
        )
        rows = products(counts, self.coordinates.astype(self.dtype, copy=False), parallel)
        single = rows.astype(np.float32, copy=False)
        for g in self.folds.all:
            chosen = np.flatnonzero(groups == g)
            state.documents[g] += [self.factors.usable(lengths[chosen], order).sum() for order in (1, 2, 3)]
            state.first[g] += self.factors(lengths[chosen], 1) @ rows[chosen]
            add_cubes(state.cubes[g], single[chosen], self.factors(lengths[chosen], 3), parallel)
        n_words, n_groups = self.coordinates.shape[0], self.folds.n
        for order, pairs, words in ((2, state.pairs, state.twice), (3, state.triples, state.thrice)):
            if order == 3 and not self.factors.falling:
                break
            columns = sort_by_column(counts, n_words, parallel, self.factors(lengths, order), groups, n_groups)
            add_products(pairs.reshape(n_groups * n_words, -1), columns, rows, parallel, words.reshape(-1))
        return state

    def cube(self, sums: OccurrenceSums, groups: Sequence[int], n_jobs: int | None = None) -> np.ndarray:
        """Sum s_d z (x) z (x) z of different words over the documents of some groups: the expensive part of `compute`."""
        chosen = list(groups)
        cube = mirror_cube(sums.cubes[chosen].sum(axis=0))
        triples, thrice = sums.triples[chosen].sum(axis=0), sums.thrice[chosen].sum(axis=0)
        cube -= _sum_repeats(self.coordinates, triples, thrice, n_jobs)
        return cube

    def compute(self, sums: OccurrenceSums, groups: Sequence[int], cube: np.ndarray | None = None) -> WordMoments:
        """Compute moments of different words of the documents of some groups; ``cube`` is their cube, if it is known."""
        chosen, s = list(groups), self.coordinates
        first, second, third = sums.documents[chosen].sum(axis=0)
        if not third:
            raise LatentiaError(
                "A part of the data has no documents of three words. Use more documents, or n_splits=0."
            )
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
    """In-place statistic of words and labels along directions g_k, the columns of an (F, K) array.

    It has the sums of s_d c_d (c_d . g_k), shape (D, K), and

        sum_d s_d y_d ((c_d . g_k)^2 - sum_v c_dv g_vk^2),      shape (L, K),

    which is the contraction M_L(g_k, g_k) over different words. Products with directions are in their precision, and sums in
    double.
    """

    def __init__(self, directions: np.ndarray, codes: np.ndarray, factors: Factors, n_labels: int) -> None:
        self.directions, self.codes, self.factors = np.ascontiguousarray(directions), codes, factors
        self.n_labels = n_labels

    def zero(self) -> tuple[np.ndarray, np.ndarray]:
        k = self.directions.shape[1]
        return np.zeros((len(self.codes), k)), np.zeros((self.n_labels, k))

    def add_tasks(self, state: Any, block: Block, parallel: Parallel) -> Any:
        words, labels = state
        counts, labels_per_row = (encode_counts(table, None, self.directions.dtype) for table in block[:2])
        frequent_counts, factor = (
            encode_counts(block[0], self.codes, self.directions.dtype),
            self.factors(_lengths(block), 2),
        )
        rows, repeated = squared_products(frequent_counts, self.directions, parallel)
        squares = rows**2 - repeated
        add_products(words, sort_by_column(counts, len(words), parallel, factor), rows, parallel)
        add_products(labels, sort_by_column(labels_per_row, self.n_labels, parallel, factor), squares, parallel)
        return state


# --- features with labels ---------------------------------------------------------------------------------------


class LabelsToWords:
    """In-place statistic: F^T Y B, shape (D, k), for B of shape (L, k). Single precision suffices for a basis."""

    def __init__(self, columns: np.ndarray, n_words: int) -> None:
        self.columns, self.n_words = np.ascontiguousarray(columns, dtype=np.float32), n_words

    def zero(self) -> np.ndarray:
        return np.zeros((self.n_words, self.columns.shape[1]), np.float32)

    def add_tasks(self, state: np.ndarray, block: Block, parallel: Parallel) -> np.ndarray:
        rows = products(encode_counts(block[1], None, np.float32), self.columns, parallel)
        add_products(state, sort_by_column(as_stored_counts(block[2]), self.n_words, parallel), rows, parallel)
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
        rows = products(as_stored_counts(block[2]), self.basis, parallel)
        labels_per_row = sort_by_column(encode_counts(block[1], None, np.float32), self.n_labels, parallel)
        add_products(crossed, labels_per_row, rows, parallel)
        pieces = [rows[a : a + _ROWS] for a in range(0, len(rows), _ROWS)]
        grams = np.empty((len(pieces), *gram.shape))

        def task(i: int) -> None:
            piece = pieces[i].astype(np.float64)
            np.matmul(piece.T, piece, out=grams[i])

        parallel(task, len(pieces))
        gram += grams.sum(axis=0)
        total += rows.sum(axis=0, dtype=np.float64)
        return state


def diagonal_moments(
    coordinates: np.ndarray, words: np.ndarray, weights: np.ndarray, n_jobs: int | None = None
) -> DiagonalMoments:
    """Compute the moments of repeated words in a mixture of independent occurrences, which `OccurrenceMoments` leaves out.

    A word occurs once in a document, so that its co-occurrence with itself says nothing about two words. The model's moments
    have sum_k pi_k mu_kv^2 on their diagonal, and similar terms where two or three words of a triple are equal.

    Parameters
    ----------
    coordinates : ndarray of shape (F, b)
    words : ndarray of shape (F, K)
        Probabilities mu.
    weights : ndarray of shape (K,)
    """
    squares = words**2
    twice = squares @ weights
    sketch = (squares * weights) @ (words.T @ coordinates)
    return DiagonalMoments(twice, _sum_repeats(coordinates, sketch, (squares * words) @ weights, n_jobs))


def _sum_repeats(s: np.ndarray, sketch: np.ndarray, single: np.ndarray, n_jobs: int | None) -> np.ndarray:
    """Sum triples with a repeated word: 3 sym(S (x) S (x) g) - 2 a S^(x 3) over words, for rows g of a sketch.

    Products are in single precision, and their sums over chunks of words in double.
    """
    second_factor = 3 * sketch - 2 * single[:, None] * s
    with threads(effective_n_jobs(n_jobs)) as parallel, single_blas_thread():
        return sum_mixed_cubes(s.astype(np.float32), second_factor.astype(np.float32), parallel)


# --- rows -------------------------------------------------------------------------------------------------------


def _lengths(block: Block) -> np.ndarray:
    counts = as_counts(block[0])
    return _row_sums(counts.indptr, counts.data)


def _row_sums(indptr: np.ndarray, values: np.ndarray) -> np.ndarray:
    sums = np.concatenate([[0.0], np.cumsum(values, dtype=np.float64)])
    return sums[indptr[1:]] - sums[indptr[:-1]]


def _check_labels(labels: Counts, rows: np.ndarray) -> None:
    bad = (labels.data != 0) & (labels.data != 1)
    if bad.any():
        at = int(np.argmax(bad))
        row = rows[int(np.searchsorted(labels.indptr, at, side="right")) - 1]
        raise LatentiaError(f"Y has {labels.data[at]:g} in row {row}, column {labels.indices[at]}; expected 0 or 1.")
