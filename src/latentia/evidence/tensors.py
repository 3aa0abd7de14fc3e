"""Checks that all methods by tensor decomposition share: rank, noise, sample size, and the expected error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..tensor import SymmetricFour, SymmetricThree, apply_to_modes
from . import bounds
from .checks import Check

__all__ = ["TensorMeasured", "error_checks", "tensor_checks", "tensor_norm", "whitened_noise"]


@dataclass(frozen=True)
class TensorMeasured:
    """What a fit by tensor decomposition knows about itself.

    Attributes
    ----------
    spectrum : ndarray
        Leading eigenvalues of the matrix that was whitened, descending.
    spectrum_noise : float or None
        Spectral norm of the noise of that matrix, from halves of the data.
    weights : ndarray of shape (K,)
        Eigenvalues of the whitened tensor.
    noise : float or None
        Operator norm of the noise of the whitened tensor, from halves of the data.
    residual : float
        Share of the whitened tensor that the components leave, in Frobenius norm.
    stable : ndarray of bool, shape (K,)
        See `latentia.tensor.Decomposition`.
    samples : int
        Rows that the moments are averages of.
    """

    spectrum: np.ndarray
    spectrum_noise: float | None
    weights: np.ndarray
    noise: float | None
    residual: float
    stable: np.ndarray
    samples: int


def error_checks(
    errors: np.ndarray | None, limit: float, symbol: str, unit: str, unmeasured: str, what: str = "component"
) -> list[Check]:
    """The line that decides, the mean expected error, and the line of the worst component."""
    if errors is None:
        return [Check("expected error", symbol, "not measured", f"<= {limit:.3g}", None, unmeasured, "split halves")]
    mean, worst = float(errors.mean()), int(errors.argmax())
    shaky = int((errors > 2 * limit).sum())
    return [
        Check(
            "expected error", symbol, mean, f"<= {limit:.3g}", mean <= limit,
            f"Mean distance of a {what} from the truth, {unit}, as halves of the data predict it.",
            "split halves", decides=True,
        ),
        Check(
            f"least stable {what}", f"max of {symbol.removeprefix('mean ')}", float(errors[worst]), f"<= {2 * limit:.3g}",
            bool(errors[worst] <= 2 * limit),
            f"{what.capitalize()} {worst}. {shaky} {what}s are above the limit: do not rely on them.", "split halves",
        ),
    ]  # fmt: skip


def tensor_checks(m: TensorMeasured) -> list[Check]:
    """Rank, noise against the smallest eigenvalue, stability of the fixed points, residual, sample size."""
    k, smallest = len(m.weights), float(np.abs(m.weights).min())
    lines = []
    if m.spectrum_noise is not None:
        rank = int((m.spectrum > m.spectrum_noise).sum())
        more = " or more" if rank == len(m.spectrum) else ""
        lines.append(
            Check(
                "rank supported", f"sigma_i > {m.spectrum_noise:.2g}", float(rank), f">= {k}", rank >= k,
                f"Components that the second moment tells from noise: {rank}{more}.", "Condition 7.2.1",
            )
        )  # fmt: skip
        lines.append(
            Check(
                "smallest singular value", "sigma_K(M_2)", float(m.spectrum[k - 1]), f"> {m.spectrum_noise:.2g}",
                bool(m.spectrum[k - 1] > m.spectrum_noise),
                "What is divided by in whitening, beside its noise: how far the components are from being dependent.",
                "Condition 7.2.1, section 7.2",
            )
        )  # fmt: skip
    lines.append(
        Check(
            "stable components", "2 |T(I,I,v)| < lambda", float(m.stable.sum()), f"= {k}", bool(m.stable.all()),
            "Components that power iterations started near them would find again; the others are mostly noise.", "Lemma 7.7",
        )
    )  # fmt: skip
    lines.append(
        Check(
            "tensor residual", "|T - sum|_F / |T|_F", m.residual, "", None,
            "Share of the whitened third moment that the components leave: noise, and what the model does not say.",
            "(7.1)",
        )
    )  # fmt: skip
    if m.noise is not None:
        limit = bounds.tensor_noise_limit(smallest, k)
        lines.append(
            Check(
                "tensor noise", "|E|", m.noise, f"<= {limit:.2g} (lambda_min / K)", bool(m.noise <= limit),
                f"Under the limit (constant 1) each vector's error is at most {bounds.tensor_vector_error(m.noise, smallest):.2g}; "
                "the decomposition works far above it.", "Theorem 7.9",
            )
        )  # fmt: skip
        needed = bounds.tensor_samples(m.samples, m.noise, smallest, k)
        lines.append(
            Check(
                "sample size of the theorem", "N", float(m.samples), f">= {needed:.2g}", bool(m.samples >= needed),
                "Rows at which this noise would meet Theorem 7.9.", "Theorem 7.9",
            )
        )  # fmt: skip
    return lines


def tensor_norm(tensor: np.ndarray | SymmetricThree | SymmetricFour, n_starts: int = 32, n_iter: int = 30) -> float:
    """Operator norm max |T(v, ..., v)| over unit v of a symmetric tensor, as power iterations from many starts find it."""
    operator = SymmetricThree(tensor) if isinstance(tensor, np.ndarray) else tensor
    v = np.random.default_rng(0).standard_normal((n_starts, operator.dim))
    largest = 0.0
    for _ in range(n_iter):
        v /= np.maximum(np.linalg.norm(v, axis=1, keepdims=True), np.finfo(float).tiny)
        image = operator.contract(v)
        largest = max(largest, float(np.abs(np.einsum("ki,ki->k", image, v)).max()))
        v = image
    return largest


def whitened_noise(
    whitening: np.ndarray, first: tuple[np.ndarray, np.ndarray], second: tuple[np.ndarray, np.ndarray]
) -> tuple[float, float]:
    """Norms of the noise of M_2 and of M_3(W, W, W), from the moments (M_2, M_3) of two halves of the data.

    Half of the difference of two halves has the distribution of the noise of the whole.
    """
    noise = (first[0] - second[0]) / 2
    return float(np.linalg.norm(noise, 2)), tensor_norm(apply_to_modes((first[1] - second[1]) / 2, whitening))
