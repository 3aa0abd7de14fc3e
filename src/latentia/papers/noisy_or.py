"""Noisy-or networks from pairs and triples of findings that are absent together, as the paper prints it.

Model. Causes k are on with the same, known probability rho, independently. Finding i is absent with probability
exp(-sum_k W_ki d_k), d_k being 1 where cause k is on and 0 elsewhere.

Differences from the print: half a row is added to each count, so that no logarithm is infinite. Within Q_a stands the best
approximation of rank m (as in Theorem 2.10; Algorithm 4 leaves it out), and Q_a is made symmetric. rho^(-1/3) in Algorithm 4 is
(rho / (1 - rho))^(-1/3), as Proposition A.2 has it. Strengths beyond their range are cut, at the most those of ``max_weight``.

Source: S. Arora, R. Ge, T. Ma, A. Risteski, Provable learning of noisy-or networks, STOC 2017.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..exceptions import LatentiaError
from .tensors import robust_orthogonal_decomposition


def learn_noisy_or(
    X: Any, n_components: int, prior: float, *, max_weight: float = 5.0, random_state: int = 0
) -> np.ndarray:
    """Learn the weights W of a noisy-or network from rows of findings (Algorithm 1).

    Parameters
    ----------
    X : array-like of shape (n_rows, n)
        1 where a finding is present, 0 where it is absent.
    n_components : int
        Number of causes m.
    prior : float
        rho, P(cause on).
    max_weight : float, default=5.0
        nu_u, the largest weight.
    random_state : int, default=0
        Seed of the partition of the findings and of Algorithm 2.

    Returns
    -------
    ndarray of shape (m, n)

    Raises
    ------
    LatentiaError
        If the pairs or triples have fewer than m components.
    """
    findings = np.random.default_rng(random_state).permutation(np.shape(X)[1])
    partition = np.array_split(findings, 3)
    pairs, triples = compute_pmi(X, partition)
    return recover_weights(
        pairs, triples, partition, n_components, prior, max_weight=max_weight, random_state=random_state
    )


def compute_pmi(X: Any, partition: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Compute pointwise mutual information of findings that are absent (equations 2.1 to 2.3).

    Parameters
    ----------
    X : array-like of shape (n_rows, n)
    partition : three ndarrays of int
        The sets of findings S_a, S_b and S_c.

    Returns
    -------
    pairs : ndarray of shape (n, n)
    triples : ndarray of shape (|S_a|, |S_b|, |S_c|)
    """
    absent = (np.asarray(X) == 0).astype(np.float64)
    a, b, c = partition
    counts = np.array([(absent[:, b] * absent[:, [i]]).T @ absent[:, c] for i in a])
    single, pair, triple = (
        np.log((table + 0.5) / (len(absent) + 0.5)) for table in (absent.sum(axis=0), absent.T @ absent, counts)
    )
    pairs = pair - single[:, None] - single
    triples = pairs[np.ix_(a, b)][:, :, None] + pairs[np.ix_(a, c)][:, None] + pairs[np.ix_(b, c)] - triple
    return pairs, triples + single[a][:, None, None] + single[b][:, None] + single[c]


def recover_weights(
    pairs: np.ndarray,
    triples: np.ndarray,
    partition: Sequence[np.ndarray],
    n_components: int,
    prior: float,
    *,
    max_weight: float = 5.0,
    random_state: int = 0,
) -> np.ndarray:
    """Recover the weights W, shape (m, n), from what `compute_pmi` returns (Algorithm 1, with Algorithm 2 within)."""
    scale = (prior / (1 - prior)) ** (-1 / 3)
    # Whiten the triples by Q_a, Q_b and Q_c, each along its own mode.
    bases, roots = zip(*whiten_pairs(pairs, partition, n_components, scale), strict=True)
    inverses = [basis / root for basis, root in zip(bases, roots, strict=True)]
    whitened = np.einsum("ijl,ix,jy,lz->xyz", triples, *inverses, optimize=True)
    # Decompose by Algorithm 2.
    values, sides = robust_orthogonal_decomposition(whitened, n_components, random_state=random_state)
    if len(values) < n_components:
        raise LatentiaError(
            f"Expected {n_components} causes; the triples of findings show {len(values)}. Ask for at most that many.",
            at_most=len(values), parameter="n_components", value=n_components,
        )  # fmt: skip
    # Undo the whitening: 1 - exp(-W) on each set of findings, up to its sign.
    strengths = np.zeros((n_components, len(pairs)))
    for findings, basis, root, side in zip(partition, bases, roots, sides, strict=True):
        estimate = scale * (side * root) @ basis.T
        strengths[:, findings] = estimate * np.where(estimate.sum(axis=1, keepdims=True) < 0, -1.0, 1.0)
    return -np.log1p(-np.clip(strengths, 0.0, -np.expm1(-max_weight)))


def whiten_pairs(
    pairs: np.ndarray, partition: Sequence[np.ndarray], n_components: int, scale: float
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Compute leading eigenvectors of Q_a, Q_b and Q_c, (size, m), and the roots of their eigenvalues, (m,) (Algorithm 4)."""
    factors = []
    for turn in range(3):
        a, b, c = (partition[(turn + i) % 3] for i in range(3))
        u, s, vt = np.linalg.svd(pairs[np.ix_(b, c)], full_matrices=False)
        inverse = (vt[:n_components].T / s[:n_components]) @ u[:, :n_components].T
        q = scale * pairs[np.ix_(a, b)] @ inverse.T @ pairs[np.ix_(c, a)]
        values, vectors = np.linalg.eigh((q + q.T) / 2)
        n_positive = int((values > 0).sum())
        if n_positive < n_components:
            raise LatentiaError(
                f"Expected {n_components} causes; a whitening matrix has {n_positive} positive eigenvalues. Ask for at most "
                "that many.",
                at_most=n_positive, parameter="n_components", value=n_components,
            )  # fmt: skip
        factors.append((vectors[:, -n_components:], np.sqrt(values[-n_components:])))
    return factors
