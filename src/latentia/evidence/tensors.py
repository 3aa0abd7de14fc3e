"""Checks for all methods by tensor decomposition: rank, noise, sample size and expected error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..metrics.matching import nearest_other_distance
from ..tensor import MomentNoise, apply_to_modes
from ..tensor.operators import tensor_norm
from . import bounds
from .checks import EXPECTED_ERROR, PARTS_FITTED, Check, above, at_least, at_most, equal_to, within
from .parts import PartErrors

_FAR_FACTOR = 3  # Beyond this multiple of the components one more fit is no comparison.
_MAX_RANK_FACTOR = 1.2  # with more directions than this multiple of those needed, some components merge several


@dataclass(frozen=True)
class TensorMeasured:
    """Measurements of a fit by tensor decomposition.

    Attributes
    ----------
    spectrum : ndarray
        Leading eigenvalues of the matrix that was whitened, descending.
    weights : ndarray of shape (K,)
        Eigenvalues of the whitened tensor.
    residual : float
        Norm of the residual relative to that of the whitened tensor (Frobenius).
    stable : ndarray of bool, shape (K,)
        See `latentia.tensor.Decomposition`.
    samples : int
        Number of rows in the moments.
    noise : MomentNoise
    n_directions : int, optional
        Eigenvalues that the components need, if not K: K - 1 for means about their centre.
    """

    spectrum: np.ndarray
    weights: np.ndarray
    residual: float
    stable: np.ndarray
    samples: int
    noise: MomentNoise
    n_directions: int | None = None
    exact: bool = False
    """True if no further direction exceeds the noise when the model holds."""

    @property
    def surplus(self) -> bool:
        """True if more directions are above the noise than the components need."""
        n = len(self.weights) if self.n_directions is None else self.n_directions
        return self.noise.spectrum is not None and bool((self.spectrum > self.noise.spectrum).sum() > n)


def error_checks(
    parts: PartErrors,
    limit: float,
    symbol: str,
    unit: str,
    noun: str = "component",
    source: str = "parts of the data",
    n_rows: int = 0,
) -> list[Check]:
    """Build the checks of the expected error, the share of parts that could be fitted, and the worst component.

    ``source`` names what predicts the errors; ``n_rows`` is the number of rows of the fit.
    """
    errors, meaning, remedy = parts.errors, parts.reason, f"Expected errors were not computed. {parts.reason}"
    if errors is not None:
        meaning, remedy = f"How far {_add_article(noun)} may be from the truth ({unit}), estimated from {source}.", ""
    mean = None if errors is None else float(errors.mean())
    lines = [
        Check(
            EXPECTED_ERROR, symbol, mean, at_most(limit), meaning, source, "verdict", remedy,
            n_rows=0 if errors is None else n_rows, shared=parts.shared,
        )
    ]  # fmt: skip
    if errors is not None:
        worst, n_shaky = int(errors.argmax()), int((errors > 2 * limit).sum())
        line = Check(
            f"least stable {noun}", f"max of {symbol.removeprefix('mean ')}", float(errors[worst]), at_most(2 * limit),
            f"{noun.capitalize()} {worst}. {n_shaky} {_plural(noun)} are above the limit: do not rely on them.", source,
        )  # fmt: skip
        lines.append(line)
    return lines + parts_checks(parts)


def parts_checks(parts: PartErrors) -> list[Check]:
    """Report how many parts could be fitted, if some could not."""
    return [
        Check(
            PARTS_FITTED, "halves, three quarters", float(parts.n_parts - parts.n_failed),
            at_least(-(-3 * parts.n_parts // 4), f"of {parts.n_parts}"),
            f"Parts of the data on which the fit succeeded. {parts.reason}", "parts of the data", "verdict",
        )
    ] if parts.n_failed else []  # fmt: skip


def _add_article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeio' else 'a'} {noun}"  # "a unit"


def _plural(noun: str) -> str:
    return f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"


def separation_limit(components: np.ndarray, metric: str, max_limit: float = np.inf) -> float:
    """Return the error up to which components can be told apart: a third of their distance, at most ``max_limit``."""
    return min(max_limit, nearest_other_distance(components, metric) / 3)


def tensor_checks(measurements: TensorMeasured) -> list[Check]:
    """Check rank, noise, stability of the fixed points, residual and sample size of a tensor decomposition."""
    k, smallest = len(measurements.weights), max(float(np.abs(measurements.weights).min()), np.finfo(float).tiny)
    directions = k if measurements.n_directions is None else measurements.n_directions
    limit = bounds.tensor_noise_limit(smallest, k)
    needed = bounds.tensor_samples(measurements.samples, measurements.noise.tensor, smallest, k)
    lines = []
    if measurements.noise.spectrum is not None:
        lines = rank_checks(
            measurements.spectrum, measurements.noise.spectrum, directions, k - directions, exact=measurements.exact
        )
    if directions:
        last = float(measurements.spectrum[directions - 1])
        lines.append(
            Check(
                "smallest singular value", f"sigma_{directions}(M_2)", last,
                above(last * measurements.noise.whitening, "its noise"),
                "Can the components be told apart? The smallest singular value, and the noise it must exceed.",
                "Condition 7.2.1, section 7.2", "note",
            )
        )  # fmt: skip
    return [
        *lines,
        Check(
            "stable components", "2 |T(I,I,v)| < lambda", float(measurements.stable.sum()), equal_to(k),
            "Components to which nearby power iterations converge; the others are mostly noise.", "Lemma 7.7",
        ),
        Check(
            "tensor residual", "|T - sum|_F / |T|_F", measurements.residual, None,
            "Share of the whitened tensor that the components leave: noise and misfit.", "(7.1)",
        ),
        Check(
            "tensor noise", "|E|", measurements.noise.tensor, at_most(limit, "lambda_min / K"),
            "Operator norm of the noise of the whitened tensor. Below the limit (constant 1) recovery is proven; it also "
            "works far above.", "Theorem 7.9",
        ),
        Check(
            "sample size of the theorem", "N", float(measurements.samples), at_least(needed),
            "Rows at which the noise would meet that limit.", "Theorem 7.9",
        ),
    ]  # fmt: skip


def rank_checks(
    spectrum: np.ndarray,
    edge: float,
    directions: int,
    extra: int = 0,
    reference: str = "Condition 7.2.1",
    veto: float = 0.0,
    exact: bool = False,
) -> list[Check]:
    """Compare the number of directions above the noise with the number that the components need.

    It is a note that gives advice its numbers: in simulations it failed as often for right fits as for wrong ones. Only more
    directions than an exact model allows are a caution, since no other check sees merged components.

    Parameters
    ----------
    spectrum : ndarray, descending
    edge : float
        Largest eigenvalue of pure noise.
    directions : int
        Eigenvalues that the components need.
    extra : int
        Number of components minus directions.
    veto : float
        The fit is not supported if less than this share of the directions is above the noise.
    exact : bool
        Whether a single extra direction is too many.
    """
    rank = int((spectrum > edge).sum())
    max_rank = directions if exact else max(_MAX_RANK_FACTOR * directions, directions + 1)
    if rank > max_rank:
        rank_text = f"{rank} pattern{'s' * (rank != 1)}"
        meaning = f"The data has {rank_text} above the noise, more than the model: some components mix several."
    elif rank < directions:
        meaning = "The data has fewer patterns above the noise than these components need."
    else:
        meaning = "The data has as many patterns above the noise as these components need."
    suffix = " or more" if rank == len(spectrum) else ""
    suggests = rank + extra
    directed = "direction" if rank == 1 and not suffix else "directions"
    is_far = suggests > _FAR_FACTOR * (directions + extra)
    larger = f"larger numbers, up to {suggests}" if is_far else f"{suggests}{suffix}"
    remedy = f"The data carries {rank}{suffix} {directed} above its noise: compare with {larger}."
    if suggests < 2:
        suggests = 0
        remedy = "No direction of the data is above its noise: collect more data, or there is nothing to find."
    bound = within(directions, int(max_rank))
    role: Literal["note", "caution", "veto"] = "caution" if exact and rank > max_rank else "note"
    role = "veto" if rank < veto * directions else role
    return [
        Check("rank supported", f"sigma_i > {edge:.2g}", float(rank), bound, meaning, reference, role, remedy, suggests)
    ]


def whiten_noise(
    whitening: np.ndarray, first: tuple[np.ndarray, np.ndarray], second: tuple[np.ndarray, np.ndarray]
) -> MomentNoise:
    """Return the noise of the moments (M_2, M_3) in whitened coordinates, from two halves and W, shape (b, K)."""
    noise = (first[0] - second[0]) / 2
    return MomentNoise(
        whitening=float(np.linalg.norm(whitening.T @ noise @ whitening, 2)),
        tensor=tensor_norm(apply_to_modes((first[1] - second[1]) / 2, whitening)),
        spectrum=float(np.linalg.norm(noise, 2)),
    )
