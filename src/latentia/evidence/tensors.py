"""Checks that all methods by tensor decomposition share: rank, noise, sample size, and the expected error."""

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

_MORE = 1.2  # times the directions that components need, from which on some stand for several


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
        Share of the whitened tensor that the components leave, in Frobenius norm.
    stable : ndarray of bool, shape (K,)
        See `latentia.tensor.Decomposition`.
    samples : int
        Rows that the moments are averages of.
    noise : MomentNoise
    n_directions : int, optional
        Eigenvalues that the components need, where it is not K: K - 1 for means about their centre.
    """

    spectrum: np.ndarray
    weights: np.ndarray
    residual: float
    stable: np.ndarray
    samples: int
    noise: MomentNoise
    n_directions: int | None = None
    exact: bool = False
    """Whether no more directions than those exceed the noise where the model holds."""

    @property
    def surplus(self) -> bool:
        """Whether more directions are above the noise than the components need."""
        n = len(self.weights) if self.n_directions is None else self.n_directions
        return self.noise.spectrum is not None and bool((self.spectrum > self.noise.spectrum).sum() > n)


def error_checks(
    parts: PartErrors,
    limit: float,
    symbol: str,
    unit: str,
    what: str = "component",
    source: str = "parts of the data",
    n_rows: int = 0,
) -> list[Check]:
    """The lines that decide, the mean expected error and the share of parts that could be fitted, and the worst component.

    ``source`` says what predicts the errors, ``n_rows`` how many rows the fit was made of.
    """
    errors = parts.errors
    if errors is None:
        remedy = f"Expected errors were not computed. {parts.reason}"
        unmeasured = Check(EXPECTED_ERROR, symbol, None, at_most(limit), parts.reason, source, "verdict", remedy)
        return [unmeasured, *_fitted_parts(parts)]
    mean, worst = float(errors.mean()), int(errors.argmax())
    shaky = int((errors > 2 * limit).sum())
    lines = [
        Check(
            EXPECTED_ERROR, symbol, mean, at_most(limit),
            f"How far {_with_article(what)} may be from the truth ({unit}), estimated from {source}.", source, "verdict",
            n_rows=n_rows, shared=parts.shared,
        ),
        Check(
            f"least stable {what}", f"max of {symbol.removeprefix('mean ')}", float(errors[worst]), at_most(2 * limit),
            f"{what.capitalize()} {worst}. {shaky} {_plural(what)} are above the limit: do not rely on them.", source,
        ),
    ]  # fmt: skip
    return lines + _fitted_parts(parts)


def _fitted_parts(parts: PartErrors) -> list[Check]:
    """How many parts could be fitted, where some could not."""
    return [
        Check(
            PARTS_FITTED, "halves, three quarters", float(parts.n_parts - parts.n_failed),
            at_least(-(-3 * parts.n_parts // 4), f"of {parts.n_parts}"),
            f"Parts of the data that carry the components. {parts.reason}", "parts of the data", "verdict",
        )
    ] if parts.n_failed else []  # fmt: skip


def _with_article(what: str) -> str:
    return f"{'an' if what[0] in 'aeio' else 'a'} {what}"  # "a unit"


def _plural(what: str) -> str:
    return f"{what[:-1]}ies" if what.endswith("y") else f"{what}s"


def separation_limit(components: np.ndarray, metric: str, most: float = np.inf) -> float:
    """Error up to which components are told apart: a third of the mean distance to the nearest other one, or ``most``."""
    return min(most, nearest_other_distance(components, metric) / 3)


def tensor_checks(m: TensorMeasured) -> list[Check]:
    """Rank, noise against the smallest eigenvalue, stability of the fixed points, residual, sample size."""
    k, smallest = len(m.weights), max(float(np.abs(m.weights).min()), np.finfo(float).tiny)
    directions = k if m.n_directions is None else m.n_directions
    limit = bounds.tensor_noise_limit(smallest, k)
    needed = bounds.tensor_samples(m.samples, m.noise.tensor, smallest, k)
    lines = []
    if m.noise.spectrum is not None:
        lines = rank_checks(m.spectrum, m.noise.spectrum, directions, k - directions, exact=m.exact)
    if directions:
        last = float(m.spectrum[directions - 1])
        lines.append(
            Check(
                "smallest singular value", f"sigma_{directions}(M_2)", last, above(last * m.noise.whitening, "its noise"),
                "Can the components be told apart? The smallest singular value, and the noise it must exceed.",
                "Condition 7.2.1, section 7.2", "note",
            )
        )  # fmt: skip
    return [
        *lines,
        Check(
            "stable components", "2 |T(I,I,v)| < lambda", float(m.stable.sum()), equal_to(k),
            "Components that power iterations started near them would find again; the others are mostly noise.", "Lemma 7.7",
        ),
        Check(
            "tensor residual", "|T - sum|_F / |T|_F", m.residual, None,
            "Share of the whitened tensor that the components leave: noise, and what the model does not say.", "(7.1)",
        ),
        Check(
            "tensor noise", "|E|", m.noise.tensor, at_most(limit, "lambda_min / K"),
            "Operator norm of the noise of the whitened tensor. Below the limit (constant 1) recovery is proven; it works far "
            "above.", "Theorem 7.9",
        ),
        Check(
            "sample size of the theorem", "N", float(m.samples), at_least(needed),
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
    """One line: too few directions above the noise, or more of them than components were asked for.

    It is a note, which advice takes its numbers from: on worlds it failed as often where fits were right as where they were
    not. Only more directions than an exact model has are a caution, which nothing else sees where components were joined.

    Parameters
    ----------
    spectrum : ndarray, descending
    edge : float
        Size of eigenvalues of noise.
    directions : int
        Eigenvalues that the components need.
    extra : int
        How many more components there are than directions.
    veto : float
        The fit is not supported where fewer than this share of the directions are above the noise.
    exact : bool
        Whether even one direction more is too many.
    """
    rank = int((spectrum > edge).sum())
    high = directions if exact else max(_MORE * directions, directions + 1)
    if rank > high:
        shown = f"{rank} pattern{'s' * (rank != 1)}"
        meaning = f"The data has {shown} above the noise, more than the model: some of its components mix several."
    elif rank < directions:
        meaning = "The data has fewer patterns above the noise than these components need."
    else:
        meaning = "The data has as many patterns above the noise as these components need."
    more = " or more" if rank == len(spectrum) else ""
    suggests = rank + extra
    directed = "direction" if rank == 1 and not more else "directions"
    remedy = f"The data carries {rank}{more} {directed} above its noise: compare with {suggests}{more}."
    if suggests < 2:
        suggests = 0
        remedy = "No direction of the data is above its noise: more of it is needed, or there is nothing to find."
    bound = within(directions, int(high))
    role: Literal["note", "caution", "veto"] = "caution" if exact and rank > high else "note"
    role = "veto" if rank < veto * directions else role
    return [
        Check("rank supported", f"sigma_i > {edge:.2g}", float(rank), bound, meaning, reference, role, remedy, suggests)
    ]


def whitened_noise(
    whitening: np.ndarray, first: tuple[np.ndarray, np.ndarray], second: tuple[np.ndarray, np.ndarray]
) -> MomentNoise:
    """Noise of the moments (M_2, M_3) in whitened coordinates, from those of two halves and W, shape (b, K)."""
    noise = (first[0] - second[0]) / 2
    return MomentNoise(
        whitening=float(np.linalg.norm(whitening.T @ noise @ whitening, 2)),
        tensor=tensor_norm(apply_to_modes((first[1] - second[1]) / 2, whitening)),
        spectrum=float(np.linalg.norm(noise, 2)),
    )
