"""The tensor power method with deflation: Algorithms 7.1, 7.2 and 7.3 of the thesis, batched.

    theta <- T~(I, theta, theta) / |T~(I, theta, theta)|,      T~ = T - sum of the components found so far.

When to prefer it: as the method that the perturbation theorem (Theorem 7.9) speaks of; or, with ``starts`` that are known to be
near the components (section 7.7), when the noise is too large for random starts. Errors of early components reach the later
ones through the deflation; `polar` is faster and more accurate.

Differences from the thesis:

1. All starts go through one matrix product, and T~ is never formed: a found component costs 2 d flops a start.
2. From one batch of starts every distinct vector that has converged is taken, not the best alone; each is polished on
   the tensor deflated by the others.
3. Algorithm 7.3 tests theta_t before it exists; theta_(t-1) is tested here. Its threshold xi = 5 eps needs the
   unknown noise; by default it is a tenth of the largest eigenvalue found.
"""

from __future__ import annotations

import numpy as np

from .operators import SymmetricTensor, unit_rows

_APART = 0.5  # absolute cosine above which two vectors count as the same
_SETTLED = 1e-3


def power(
    tensor: SymmetricTensor,
    n_components: int,
    rng: np.random.Generator,
    *,
    n_init: int | None = None,
    n_iter: int = 30,
    starts: np.ndarray | None = None,
    adaptive: bool = False,
    threshold: float | None = None,
) -> tuple[np.ndarray, int, bool]:
    """Unit rows v_k found by power iterations, in the order in which they were found.

    Parameters
    ----------
    tensor : SymmetricTensor of dimension d >= n_components
    n_init : int, optional
        L, random starts of a batch; by default 2 K, but at least 20.
    n_iter : int
        N, iterations of a start, and once more for the vector that is kept.
    starts : ndarray of shape (L, d), optional
        Initial vectors, instead of random ones.
    adaptive : bool
        Algorithm 7.3: a found component is subtracted only where it threatens, that is where
        |lambda_j theta . v_j| > threshold.
    threshold : float, optional
        xi of Algorithm 7.3.

    Returns
    -------
    vectors : ndarray of shape (n_components, d)
    n_iter : int
        Iterations of all batches.
    converged : bool
        Whether every vector moved by less than .001 in its last iteration.
    """
    n_init = max(20, 2 * n_components) if n_init is None else n_init
    found, weights = np.empty((0, tensor.dim)), np.empty(0)
    total, settled = 0, True
    while len(found) < n_components:
        batch = rng.standard_normal((n_init, tensor.dim)) if starts is None else starts
        theta = unit_rows(np.array(batch, dtype=np.float64))
        moved = np.full(len(theta), np.inf)
        deflated = _Deflated(tensor, found, weights, adaptive, threshold)
        for _ in range(n_iter):
            theta, moved = deflated.step(theta)
        total += n_iter
        new = _distinct(theta, deflated.values(theta), moved, n_components - len(found))
        for vector in new:
            deflated = _Deflated(tensor, found, weights, adaptive, threshold)
            theta = vector[None]
            for _ in range(n_iter):
                theta, moved = deflated.step(theta)
            settled &= bool(moved[0] < _SETTLED)
            found = np.vstack([found, theta])
            weights = np.append(weights, deflated.values(theta))
        total += n_iter * len(new)
    return found, total, settled


class _Deflated:
    """T minus found components, as a power step and a cubic form."""

    def __init__(
        self, tensor: SymmetricTensor, found: np.ndarray, weights: np.ndarray, adaptive: bool, threshold: float | None
    ) -> None:
        self.tensor, self.found, self.weights = tensor, found, weights
        self.threshold = -1.0
        if adaptive and len(weights):
            self.threshold = 0.1 * float(np.abs(weights).max()) if threshold is None else threshold

    def contract(self, theta: np.ndarray) -> np.ndarray:
        overlap = theta @ self.found.T
        overlap *= np.abs(overlap * self.weights) > self.threshold
        return self.tensor.contract(theta) - (overlap ** (self.tensor.order - 1) * self.weights) @ self.found

    def step(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Next unit vectors, and how far each has moved (up to sign)."""
        new = unit_rows(self.contract(theta))
        moved = np.sqrt(np.maximum(2 - 2 * np.abs(np.einsum("ki,ki->k", new, theta)), 0))
        return new, moved

    def values(self, theta: np.ndarray) -> np.ndarray:
        return np.einsum("ki,ki->k", self.contract(theta), theta)


def _distinct(theta: np.ndarray, values: np.ndarray, moved: np.ndarray, most: int) -> list[np.ndarray]:
    """Converged vectors of a batch, by value, each far from those before it; the best one whether converged or not."""
    order = np.argsort(-np.abs(values))
    kept = [theta[order[0]]]
    for i in order[1:]:
        if len(kept) == most:
            break
        if moved[i] < _SETTLED and np.abs(np.array(kept) @ theta[i]).max() < _APART:
            kept.append(theta[i])
    return kept
