"""A LEML-like peer: low-rank squared loss by alternating minimisation (Yu, Jain, Kar, Dhillon, ICML 2014).

    min over W (D x K), H (L x K):   |Y - X W H^T|_F^2 + penalty (|W|_F^2 + |H|_F^2).

Given W, H is a ridge regression with K unknowns a label. Given H, W is found by conjugate gradients, whose products cost
two passes over the entries of X each, as in the paper's section 3. The original code is no longer distributed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse


class LowRankSquaredLoss:
    """Alternating minimisation; ``fit(X, Y)``, then scores are X W H^T."""

    def __init__(
        self, n_components: int, *, penalty: float = 1.0, rounds: int = 10, inner: int = 10, seed: int = 0
    ) -> None:
        self.n_components, self.penalty, self.rounds, self.inner, self.seed = n_components, penalty, rounds, inner, seed

    def fit(self, X: Any, Y: Any) -> LowRankSquaredLoss:
        X, Y = sparse.csr_array(X, dtype=np.float64), sparse.csr_array(Y, dtype=np.float64)
        X_t, Y_t = sparse.csr_array(X.T), sparse.csr_array(Y.T)
        k = self.n_components
        W = np.random.default_rng(self.seed).standard_normal((X.shape[1], k)) / np.sqrt(k)
        for _ in range(self.rounds):
            Z = X @ W
            H = np.linalg.solve(Z.T @ Z + self.penalty * np.eye(k), (Y_t @ Z).T).T
            W = self._solve(X, X_t, X_t @ (Y @ H), H.T @ H, W)
        self.W, self.H = W, H
        return self

    def _solve(self, X: Any, X_t: Any, right: np.ndarray, gram: np.ndarray, W: np.ndarray) -> np.ndarray:
        """Conjugate gradients for X^T X W G + penalty W = R, from the last W."""

        def apply(V: np.ndarray) -> np.ndarray:
            return X_t @ ((X @ V) @ gram) + self.penalty * V

        residual = right - apply(W)
        direction, size = residual, float((residual**2).sum())
        first = size
        for _ in range(self.inner):
            image = apply(direction)
            step = size / float((direction * image).sum())
            W = W + step * direction
            residual = residual - step * image
            new = float((residual**2).sum())
            if new < 1e-6 * first:
                break
            direction, size = residual + new / size * direction, new
        return W

    def decision_function(self, X: Any) -> np.ndarray:
        return (sparse.csr_array(X) @ self.W) @ self.H.T
