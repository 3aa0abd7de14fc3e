"""Scaled eigenspace of a symmetric matrix of counts, with eigenvalues shrunk for noise.

Of N pairs of M words, C_sym = (C + C^T) / 2 are the counts and r = C_sym 1 / N the marginals. In

    S = D^-1/2 (C_sym / N - r r^T) D^-1/2,        D = diag(r) + tau / M,

the noise of an entry has variance about a_i a_j / (2N) with a = r / D <= 1, whatever the word's frequency: the noise is
a Wigner matrix, whose spectrum ends at e = 2 sqrt(sum_i a_i^2 / (2N)). Of a signal eigenvalue l > e / 2 one observes
lambda = l + e^2 / (4 l), along a vector with squared cosine c^2 = 1 - e^2 / (4 l^2) to the true one, and the multiple of
that vector's square that is nearest to the truth is l c^2 = sqrt(lambda^2 - e^2).

This holds if every word is frequent. Rare words have heavier tails, and eigenvalues above e that are noise. Pairs that occur
twice give an unbiased estimate of the squared Frobenius norm of the whole signal: with s = C + C^T, d_i = 2N r_i and
z = D^-1/2 r,

    |S|^2 = sum_ij [s_ij (s_ij - 1) - d_i (d_i - 1) d_j (d_j - 1) / (2N)^2] / ((2N)^2 D_i D_j) - 2 z^T S z,

with a standard deviation of e^2 / 2 (s_ii - 2 stands for s_ii - 1 on the diagonal, where s counts a pair twice). Where the
squared signals l^2 above e add up to more than |S|^2 and a standard deviation, e is raised until they do not.
In a table of zeros and ones, such as a graph without multiple edges, no pair occurs twice and |S|^2 comes from the signals.
Walks do not turn back there, so d_i (d_i - 1) stands for d_i^2 in e, as for regular graphs (2 sqrt(d - 1)).

Sources: Huang, Kakade, Kong, Valiant, Recovering structured probability matrices, ITCS 2018, for the scaling; Benaych-
Georges and Nadakuditi, Adv. Math. 227 (2011), for the spectrum; Gavish and Donoho, IEEE Trans. Inf. Theory 63 (2017), for
the shrinkage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..exceptions import LatentiaError
from ..system.threads import single_blas_thread
from .krylov import outlying_eigenpairs
from .sparse import sparse_product, sum_lowered_squares

_TAUS = 1e-9, 1e30  # outside these limits absent words, or all words, leave the range of single precision


@dataclass(frozen=True)
class ScaledSpace:
    """Leading eigenpairs of S.

    Attributes
    ----------
    marginals : ndarray of shape (M,)
        r.
    scale : ndarray of shape (M,)
        The diagonal of D.
    vectors : ndarray of shape (M, k)
        u, orthonormal columns, of the eigenvalues of largest modulus; only those above the edge count.
    observed : ndarray of shape (k,)
        lambda, signed, by decreasing modulus.
    values : ndarray of shape (k,)
        Their shrunk values; 0 below the edge.
    edge : float
        e.
    norm, norm_deviation : float
        Estimate of |S|^2 without noise, and its standard deviation.
    n_kept : int
        Number of eigenvalues above the edge.
    beyond : float
        Modulus of the next eigenvalue; 0 if it was not requested.
    """

    marginals: np.ndarray
    scale: np.ndarray
    vectors: np.ndarray
    observed: np.ndarray
    values: np.ndarray
    edge: float
    n_kept: int
    norm: float = 0.0
    norm_deviation: float = 0.0
    beyond: float = 0.0

    @property
    def plain_edge(self) -> float:
        """The edge e before it was raised."""
        return float(np.sqrt(2 * self.norm_deviation))

    @property
    def signal(self) -> np.ndarray:
        """Signed eigenvalues l above the edge, without noise, shape (n_kept,)."""
        eigenvalues = self.observed[: self.n_kept]
        return np.sign(eigenvalues) * (np.abs(eigenvalues) + np.abs(self.values[: self.n_kept])) / 2

    @property
    def directions(self) -> np.ndarray:
        """Columns D^1/2 u of the eigenvalues above the edge, shape (M, n_kept); with ``values`` they give B - r r^T."""
        return self.vectors[:, : self.n_kept] * np.sqrt(self.scale)[:, None]


def scaled_eigenspace(
    counts: Any,
    n_vectors: int,
    *,
    tau: float = 0.3,
    further: Sequence[tuple[float, Any]] = (),
    calibrate: bool = True,
    beyond: bool = False,
    n_passes: int | None = None,
    n_settled: int | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> ScaledSpace:
    """Compute the leading eigenpairs of S by a block Krylov method; no array exceeds its basis, M x 160 up to k = 17.

    Parameters
    ----------
    counts : csr_array of shape (M, M)
        C + C^T: symmetric, its entries sum to 2N.
    n_vectors : int
        k.
    tau : float
        Words are scaled as if each had occurred tau N / M times more.
    further : sequence of (float, csr_array)
        Weights of further counts of the same words with independent noise. Their scaled matrices are added, and e grows by the
        root of one plus the squared weights over their shares of pairs. |S|^2 then comes from the signals.
    calibrate : bool
        Whether to raise e until the signals agree with |S|^2; needless if signal and noise are separated otherwise.
    beyond : bool
        Whether to find the modulus of one more eigenvalue.
    n_passes : int, optional
        Largest number of products with the counts.
    n_settled : int, optional
        Number of eigenvalues whose convergence ends the passes earlier; by default all.
    random_state : int
        Seed of `outlying_eigenpairs`.
    n_jobs : int, optional
        Number of threads. Results are bitwise identical for any value.
    """
    size, total = counts.shape[0], float(counts.sum())
    if not total > 0:
        raise LatentiaError("A part of the data has no pairs: there are too few pairs to split.")
    marginals = sparse_product(counts, np.ones((size, 1)), n_jobs).ravel() / total
    scale = marginals + min(max(tau, _TAUS[0]), _TAUS[1]) / size
    simple = counts.data.max() <= 1
    degrees = marginals * total
    tables = [(1.0, counts, total), *((weight, table, float(table.sum())) for weight, table in further)]
    tables = [entry for entry in tables if entry[2] > 0]  # short sequences have no distant pairs
    edge = 2 * float(np.sqrt(sum(weight**2 * total / n for weight, _, n in tables)))
    edge *= float(np.sqrt((degrees * np.maximum(degrees - simple, 0) / scale**2).sum() / total**3))
    n_vectors = min(n_vectors, size - 1)
    if not n_vectors:
        return ScaledSpace(marginals, scale, np.empty((size, 0)), np.empty(0), np.empty(0), edge, 0, 0.0, edge**2 / 2)
    inverse = (1 / np.sqrt(scale))[:, None].astype(np.float32)
    center = (marginals / np.sqrt(scale))[:, None].astype(np.float32)
    together = np.float32(sum(weight for weight, *_ in tables))

    def apply(block: np.ndarray) -> np.ndarray:
        scaled, image = block * inverse, None
        for weight, table, n in tables:
            part = sparse_product(table, scaled, n_jobs)
            part *= np.float32(weight / n)
            image = part if image is None else np.add(image, part, out=image)
        image *= inverse
        image -= center @ (together * (center.T @ block))
        return image

    with single_blas_thread():  # idle BLAS threads would spin during the product with the counts
        observed, vectors = outlying_eigenpairs(
            apply,
            size,
            min(n_vectors + beyond, size - 1),
            edge,
            n_passes=n_passes,
            n_settled=n_settled,
            random_state=random_state,
        )
    last = float(abs(observed[n_vectors])) if len(observed) > n_vectors else 0.0
    observed, vectors = observed[:n_vectors], vectors[:, :n_vectors]
    deviation = edge**2 / 2
    if calibrate and not simple and not further:
        norm = signal_norm(counts, marginals, scale, n_jobs)
        edge = _raise_edge(observed, edge, max(norm + deviation, 0.0))
    else:
        norm = _sum_signals(observed, edge)
    values = np.sign(observed) * np.sqrt(np.maximum(observed**2 - edge**2, 0))
    n_kept = int((np.abs(observed) > edge).sum())
    return ScaledSpace(marginals, scale, vectors, observed, values, edge, n_kept, norm, deviation, last)


def signal_norm(counts: Any, marginals: np.ndarray, scale: np.ndarray, n_jobs: int | None) -> float:
    """Estimate |S|^2 without noise and without bias."""
    total, ratio = float(counts.sum()), marginals / scale
    squares = sum_lowered_squares(counts, 1 / scale, n_jobs) / total**2
    degrees = marginals * total
    expected = (float((degrees * (degrees - 1) / scale).sum()) / total**2) ** 2
    cross = float(ratio @ sparse_product(counts, ratio[:, None], n_jobs).ravel()) / total
    return squares - expected - 2 * (cross - float((marginals * ratio).sum()) ** 2)


def _raise_edge(observed: np.ndarray, edge: float, max_power: float) -> float:
    """Return the least edge at or above ``edge`` whose signals' squares add up to at most ``max_power``."""
    if _sum_signals(observed, edge) <= max_power:
        return edge
    low, high = edge, max(edge, float(np.abs(observed).max()))
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if _sum_signals(observed, middle) > max_power else (low, middle)
    return high


def _sum_signals(observed: np.ndarray, edge: float) -> float:
    """Sum the squared signals l of eigenvalues above the edge."""
    eigenvalues = np.abs(observed[np.abs(observed) > edge])
    return float(((eigenvalues + np.sqrt(eigenvalues**2 - edge**2)) ** 2).sum()) / 4
