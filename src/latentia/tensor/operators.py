"""Symmetric tensors as operators, in packed form.

A symmetric d x d x d tensor is kept as a d x P matrix, P = d (d + 1) / 2, one column a pair i <= j of its last two modes;
a symmetric tensor with four modes as a P x P matrix. Pairs i < j carry the factor sqrt(2) on both sides, so that

    T(I, v, v) = packed @ pairs(v),      pairs(v)_(i, j) = v_i v_j or sqrt(2) v_i v_j,

is one matrix product for any number of vectors v, with half of the flops of the full tensor: K d^3 for K vectors.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numba import njit

_CHUNK, _SMALL = 64, 32
_PAIRS, _TILE = 2048, 16
_ROOT = 2.0**0.5


class SymmetricTensor(Protocol):
    """A symmetric tensor with ``order`` modes of dimension ``dim``."""

    order: int
    dim: int
    dtype: np.dtype

    def contract(self, vectors: np.ndarray) -> np.ndarray:
        """T(I, v, ..., v) for every row v, shape (m, d)."""

    def matrices(self, vectors: np.ndarray) -> np.ndarray:
        """T(I, I, v, ..., v) for every row v, shape (m, d, d)."""

    def norm_squared(self) -> float:
        """Sum of the squares of all entries."""

    def to_single_precision(self) -> SymmetricTensor:
        """Return the same tensor in float32, for iterations far from their end."""

    def unfolding_gram(self) -> np.ndarray:
        """Gram matrix of the rows of the d x d^(order - 1) unfolding, shape (d, d)."""

    def largest_beside(self, weights: np.ndarray, vectors: np.ndarray) -> np.ndarray:
        """Return cheap bounds of the norms of T(I, I, v, ...) on the complements of unit vectors v; infinite without."""

    def project(self, basis: np.ndarray) -> SymmetricTensor:
        """Return the tensor T(B, ..., B) for orthonormal columns B, shape (d, k)."""


def pair_products(rows: np.ndarray, first: int = 0, last: int | None = None) -> np.ndarray:
    """v_i v_j for all pairs i <= j and every row v: shape (m, P), pairs ordered by i; optionally i from first to last."""
    m, d = rows.shape
    last = d if last is None else last
    products = np.empty((m, sum(d - i for i in range(first, last))), rows.dtype)
    start = 0
    for i in range(first, last):
        np.multiply(rows[:, i, None], rows[:, i:], out=products[:, start : start + d - i])
        start += d - i
    return products


def _stretches(dim: int) -> Iterator[tuple[int, int, int]]:
    """Yield every i with the places of the pairs (i, i), ..., (i, d - 1)."""
    first = 0
    for i in range(dim):
        yield i, first, first + dim - i
        first += dim - i


def pieces(dim: int) -> Iterator[tuple[range, int, int]]:
    """Ranges of i whose pairs fill a piece, and the places of these pairs."""
    start, begin = 0, 0
    for i, first, last in _stretches(dim):
        if i > start and last - begin > _PAIRS:
            yield range(start, i), begin, first
            start, begin = i, first
    yield range(start, dim), begin, dim * (dim + 1) // 2


class SymmetricThree:
    """A symmetric tensor with three modes.

    Parameters
    ----------
    tensor : ndarray of shape (d, d, d)
    """

    order = 3

    def __init__(self, tensor: np.ndarray) -> None:
        self.full, self.dim, self.dtype = tensor, len(tensor), tensor.dtype
        root = np.asarray(_ROOT, tensor.dtype)
        self._packed = np.empty((self.dim, self.dim * (self.dim + 1) // 2), tensor.dtype)
        for i, first, last in _stretches(self.dim):
            np.multiply(tensor[:, i, i:], root, out=self._packed[:, first:last])
            self._packed[:, first] = tensor[:, i, i]
        self._single: SymmetricThree | None = self if tensor.dtype == np.float32 else None
        self._gram: np.ndarray | None = None

    @classmethod
    def from_packed(cls, packed: np.ndarray) -> SymmetricThree:
        """Return a tensor for `contract` alone from entries (i, (j, k)), j <= k, in float32; the array is changed in place."""
        tensor = cls.__new__(cls)
        tensor.dim, tensor.dtype, tensor._packed, tensor._single = len(packed), packed.dtype, packed, tensor
        for _, first, last in _stretches(tensor.dim):
            packed[:, first + 1 : last] *= np.asarray(_ROOT, packed.dtype)
        return tensor

    def contract(self, vectors: np.ndarray) -> np.ndarray:
        # The products of some hundred pairs stay in the cache, and every entry of T is read once.
        columns = np.ascontiguousarray(vectors.T)
        scaled = columns * np.asarray(_ROOT, columns.dtype)
        images = np.zeros((len(vectors), self.dim), np.result_type(columns, self._packed))
        for rows, first, last in pieces(self.dim):
            products = np.empty((last - first, len(vectors)), columns.dtype)
            start = 0
            for i in rows:
                np.multiply(scaled[i], columns[i:], out=products[start : start + self.dim - i])
                np.multiply(columns[i], columns[i], out=products[start])
                start += self.dim - i
            images += products.T @ self._packed[:, first:last].T
        return images

    def matrices(self, vectors: np.ndarray) -> np.ndarray:
        packed = vectors @ self._packed
        full = np.empty((len(vectors), self.dim, self.dim), packed.dtype)
        for i, first, last in _stretches(self.dim):
            np.multiply(packed[:, first:last], 1 / np.asarray(_ROOT, packed.dtype), out=full[:, i, i:])
            full[:, i, i] = packed[:, first]
            full[:, i + 1 :, i] = full[:, i, i + 1 :]
        return full

    def norm_squared(self) -> float:
        return float(np.vdot(self._packed, self._packed))

    def to_single_precision(self) -> SymmetricThree:
        if self._single is None:
            self._single = SymmetricThree(self.full.astype(np.float32))
        return self._single

    def unfolding_gram(self) -> np.ndarray:
        if self._gram is None:
            self._gram = self._packed @ self._packed.T
        return self._gram

    def largest_beside(self, weights: np.ndarray, vectors: np.ndarray) -> np.ndarray:
        # |M|^2 less the square of v^T M v in Frobenius norm, where |M|^2 = v^T G v for M = T(I, I, v).
        squares = np.einsum("ki,ki->k", vectors @ self.unfolding_gram(), vectors)
        return np.asarray(np.sqrt(np.maximum(squares - weights**2, 0)))

    def project(self, basis: np.ndarray) -> SymmetricThree:
        return SymmetricThree(symmetrise_modes(multilinear(self.full, basis, basis, basis)))


class SymmetricFour:
    """A symmetric tensor with four modes, given by its packed matrix.

    Parameters
    ----------
    packed : ndarray of shape (P, P)
        Entry ((i, j), (k, l)) is T_ijkl, for pairs i <= j and k <= l.
    dim : int

    Attributes
    ----------
    where : ndarray of int, shape (dim, dim)
        The place of each pair, in either order.
    """

    order = 4

    def __init__(self, packed: np.ndarray, dim: int) -> None:
        self.dim, self.packed, self.dtype = dim, packed, packed.dtype
        i, j = np.triu_indices(dim)
        self._twice = np.where(i == j, 1.0, 2.0).astype(packed.dtype)
        self.where = np.empty((dim, dim), np.int64)
        self.where[i, j] = self.where[j, i] = np.arange(len(i))

    @classmethod
    def from_tensor(cls, tensor: np.ndarray) -> SymmetricFour:
        """Pack a full tensor, shape (d, d, d, d)."""
        i, j = np.triu_indices(len(tensor))
        return cls(tensor[i, j][:, i, j], len(tensor))

    def contract(self, vectors: np.ndarray) -> np.ndarray:
        return np.einsum("mij,mj->mi", self.matrices(vectors), vectors)

    def matrices(self, vectors: np.ndarray) -> np.ndarray:
        packed = (pair_products(vectors) * self._twice) @ self.packed
        return packed[:, self.where]

    def norm_squared(self) -> float:
        return float(self._twice @ self.packed**2 @ self._twice)

    def to_single_precision(self) -> SymmetricFour:
        return SymmetricFour(self.packed.astype(np.float32), self.dim)

    def unfolding_gram(self) -> np.ndarray:
        # T_ijkl T_ajkl summed over j, k, l: the pair (k, l) is an inner product of rows of the packed matrix.
        rows = self.packed * np.sqrt(self._twice)
        inner = rows @ rows.T
        return np.array([[inner[self.where[i], self.where[a]].sum() for a in range(self.dim)] for i in range(self.dim)])

    def largest_beside(self, weights: np.ndarray, vectors: np.ndarray) -> np.ndarray:
        return np.full(len(weights), np.inf)

    def full(self) -> np.ndarray:
        """Return all entries, shape (dim, dim, dim, dim)."""
        return np.asarray(self.packed[self.where[:, :, None, None], self.where[None, None]])

    def project(self, basis: np.ndarray) -> SymmetricFour:
        k = basis.shape[1]
        i, j = np.triu_indices(k)
        # Row (a, b) maps the pair (i, j) of the old coordinates: B_ia B_jb, both orders of the pair.
        o, p = np.triu_indices(self.dim)
        lift = basis[o][:, i] * basis[p][:, j] + np.where((o == p)[:, None], 0.0, basis[p][:, i] * basis[o][:, j])
        return SymmetricFour(lift.T @ self.packed @ lift, k)


def make_operator(tensor: np.ndarray) -> SymmetricTensor:
    """Return a symmetric array with three or four modes as an operator."""
    return SymmetricThree(tensor) if tensor.ndim == 3 else SymmetricFour.from_tensor(tensor)


def are_stable(tensor: SymmetricTensor, weights: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Return True where the power map contracts: its derivative at v is (order - 1) P T(I, I, v, ...) P / weight."""
    attracts = (tensor.order - 1) * tensor.largest_beside(weights, vectors) < np.abs(weights)
    single = tensor.to_single_precision()  # single precision suffices to compare a norm with a bound
    for places in np.array_split(np.flatnonzero(~attracts), -(-np.count_nonzero(~attracts) // _CHUNK) or 1):
        v = vectors[places].astype(np.float32)
        size = _spectral_radius(single.matrices(v), v)
        attracts[places] = (tensor.order - 1) * size < np.abs(weights[places])
    return attracts


def _spectral_radius(matrices: np.ndarray, v: np.ndarray, n_steps: int = 15) -> np.ndarray:
    """Return the largest absolute eigenvalue of each symmetric matrix on the complement of its unit vector, shape (m,)."""
    image = np.matmul(matrices, v[:, :, None])[:, :, 0]
    if v.shape[1] <= _SMALL:
        inner = np.einsum("mi,mi->m", image, v)
        cross = image[:, :, None] * v[:, None, :]
        projected = matrices - cross - cross.transpose(0, 2, 1) + inner[:, None, None] * v[:, :, None] * v[:, None, :]
        return np.abs(np.linalg.eigvalsh(projected)).max(axis=1)
    probe = np.random.default_rng(0).standard_normal(v.shape).astype(v.dtype)
    size = np.zeros(len(v))
    for _ in range(n_steps):
        probe -= np.einsum("mi,mi->m", probe, v)[:, None] * v
        probe /= np.maximum(np.linalg.norm(probe, axis=1, keepdims=True), np.finfo(probe.dtype).tiny)
        probe = np.matmul(matrices, probe[:, :, None])[:, :, 0]
        probe -= np.einsum("mi,mi->m", probe, v)[:, None] * v
        size = np.linalg.norm(probe, axis=1)
    return size


def tensor_norm(tensor: np.ndarray | SymmetricTensor, n_init: int = 32, n_iter: int = 30) -> float:
    """Operator norm max |T(v, ..., v)| over unit v of a symmetric tensor, as power iterations from many starts find it."""
    symmetric = make_operator(tensor) if isinstance(tensor, np.ndarray) else tensor
    v = np.random.default_rng(0).standard_normal((n_init, symmetric.dim))
    largest = 0.0
    for _ in range(n_iter):
        v /= np.maximum(np.linalg.norm(v, axis=1, keepdims=True), np.finfo(float).tiny)
        image = symmetric.contract(v)
        largest = max(largest, float(np.abs(np.einsum("ki,ki->k", image, v)).max()))
        v = image
    return largest


def multilinear(tensor: np.ndarray, first: np.ndarray, second: np.ndarray, third: np.ndarray) -> np.ndarray:
    """T(A, B, C), shape (k_1, k_2, k_3), with one matrix of shape (d_i, k_i) for each of three modes."""
    d = tensor.shape
    half = (first.T @ tensor.reshape(d[0], -1)).reshape(-1, d[2]) @ third
    return np.matmul(second.T, half.reshape(first.shape[1], d[1], -1))


def symmetrise_modes(tensor: np.ndarray) -> np.ndarray:
    """Return the mean of a (d, d, d) array over all orders of its modes."""
    mean = np.empty(tensor.shape, np.result_type(tensor, np.float32))
    _symmetrise(np.ascontiguousarray(tensor), mean)
    return mean


@njit(nogil=True, cache=True)
def _symmetrise(tensor: np.ndarray, mean: np.ndarray) -> None:
    d = len(tensor)
    for a in range(0, d, _TILE):  # blocks of rows whose mirror images stay in the cache
        for b in range(a, d, _TILE):
            for c in range(b, d, _TILE):
                for i in range(a, min(a + _TILE, d)):
                    for j in range(max(b, i), min(b + _TILE, d)):
                        for k in range(max(c, j), min(c + _TILE, d)):
                            value = (
                                (tensor[i, j, k] + tensor[j, k, i] + tensor[k, i, j])
                                + (tensor[i, k, j] + tensor[j, i, k] + tensor[k, j, i])
                            ) / 6
                            mean[i, j, k] = mean[i, k, j] = mean[j, i, k] = value
                            mean[j, k, i] = mean[k, i, j] = mean[k, j, i] = value
