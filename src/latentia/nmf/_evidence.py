"""What separability asks for, measured on the fit: noise drawn again, rows outside of the hull, features held out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from .._entries import missing_entries
from ..evidence import (
    Check,
    Misfit,
    PartErrors,
    at_least,
    at_most,
    bounds,
    error_checks,
    missing_checks,
    trivial_checks,
)
from ..exceptions import LatentiaError
from ..linalg import unit_rows
from ..metrics import nearest_others
from ..simplex import hull_separation
from ._descent import row_weights
from ._misfit import Bend, WithoutPure, largest_left, left_by, length_of, moved, shared, single_row_check

_TRUSTED = 0.2  # error of a component up to which it is the true one, in lengths of a component
_LEVERAGE = 0.8  # of a feature in the span of the components, beyond which residuals say nothing of noise by features
_RADIUS = 2.0  # standard deviations of noise within which rows count as pure
_HARDLY = 1e-12  # share of the rows' squared length that counts as nothing
_LEFT = 0.25  # of the way that refining took components, that they are still off
_OUTSIDE = 2.0  # times what noise puts outside of the hull
_STRUCTURE = 1.5  # times the largest direction of noise


def component_distances(first: np.ndarray, second: np.ndarray, mixing: str) -> np.ndarray:
    """Distance of each component to the nearest one of another fit, over their length; of directions where size is free."""
    if mixing == "cone":
        first, second = unit_rows(first), unit_rows(second)
    apart = np.sqrt(((first[:, None] - second[None]) ** 2).sum(axis=2).min(axis=1))
    return np.asarray(apart / length_of(first))


def trusted_error(vertices: np.ndarray, mixing: str) -> tuple[float, np.ndarray]:
    """The limit of the mean expected error, and the distance of each component to the nearest other one."""
    vertices = unit_rows(vertices) if mixing == "cone" else vertices
    if len(vertices) == 1:
        return _TRUSTED, np.full(1, np.inf)
    apart = nearest_others(vertices, "euclidean") / length_of(vertices)
    return min(_TRUSTED, float(apart.mean()) / 3), apart


LEFT_OUT = "The fit leaves them out, as does what is measured of it."
"""What the descents make of missing cells."""


@dataclass(frozen=True)
class Measured:
    """What is known after a fit, in the coordinates that vertices were looked for in.

    Attributes
    ----------
    points : ndarray of shape (m, k)
    vertices : ndarray of shape (r, k)
    weights : ndarray of shape (m, r)
    mixing : {"simplex", "cone"}
    scales : ndarray of shape (m,)
        What the rows of the points were multiplied by.
    dimension : int
        Number of features d.
    outside : float
        Squared length of the points that the coordinates leave out.
    counts : ndarray of shape (r,)
        Points that each vertex is the mean of.
    n_filled : int
        Coordinates of points that are fitted ones, as they are missing.
    """

    points: np.ndarray
    vertices: np.ndarray
    weights: np.ndarray
    mixing: Literal["simplex", "cone"]
    scales: np.ndarray
    dimension: int
    outside: float
    counts: np.ndarray
    n_filled: int = 0

    @property
    def residual(self) -> np.ndarray:
        """What the weights on the vertices leave of the points."""
        return self.points - self.weights @ self.vertices

    @cached_property
    def beyond(self) -> np.ndarray:
        """What the weights leave with the components that are best for them: without the noise of the vertices."""
        return left_by(self.points, self.weights)

    @cached_property
    def noise(self) -> float:
        """Variance of the noise of a coordinate of a point."""
        (m, k), r = self.points.shape, len(self.vertices)
        free = max(k - r + (self.mixing == "simplex"), 0) * max(m - r, 0)
        return float((self.beyond**2).sum()) / (max(free - self.n_filled, 0) or m * k)

    @property
    def sizes(self) -> tuple[float, float]:
        """Squared lengths of the noise of a point, within the coordinates and beyond them."""
        return self.noise * self.points.shape[1], self.outside / len(self.points)

    @property
    def hidden(self) -> np.ndarray:
        """Squared length of the noise of each vertex that the coordinates leave out, shape (r,)."""
        return np.asarray(self.outside / len(self.points) / np.maximum(self.counts, 1.0))

    @property
    def in_span(self) -> float:
        """Mean squared length, in the span of the vertices, of what the hull leaves of the points."""
        basis = self._basis()
        return float(((self.residual @ basis.T) ** 2).sum()) / len(self.points)

    def at(self, points: np.ndarray, vertices: np.ndarray, n_jobs: int | None = None) -> Measured:
        """The same of other points and vertices."""
        weights = row_weights(points, vertices, self.mixing, n_jobs)
        return replace(self, points=points, vertices=vertices, weights=weights)

    def outside_noise(self, seed: int, n_jobs: int | None = None) -> float:
        """What the hull leaves of the points in the span of the vertices, over what it leaves where noise is drawn again."""
        again = self.at(self.drawn(np.random.default_rng([seed, 104])), self.vertices, n_jobs)
        return self.in_span / max(again.in_span, np.finfo(float).tiny)

    def _basis(self) -> np.ndarray:
        _, sizes, directions = np.linalg.svd(self.vertices, full_matrices=False)
        return np.asarray(directions[sizes > 1e-12 * sizes.max(initial=0.0)])

    def drawn(self, rng: np.random.Generator) -> np.ndarray:
        """The points as they might have been: fitted ones and new noise, as large as that of each feature and scaled row."""
        (m, k), residual = self.points.shape, self.beyond
        leverage = np.einsum("ij,ij->j", self._basis(), self._basis())
        each = np.einsum("ij,ij->j", residual, residual) / np.maximum(1 - leverage, 1 - _LEVERAGE)
        if self.dimension > k or (leverage > _LEVERAGE).any():
            each = np.ones(k)
        rows = self.scales**2
        shape = np.outer(rows / max(float(rows.mean()), 1e-300), each / max(float(each.mean()), 1e-300))
        return np.asarray(self.weights @ self.vertices + np.sqrt(self.noise * shape) * rng.standard_normal((m, k)))


@dataclass(frozen=True)
class Redrawn:
    """Fits to points whose noise was drawn again.

    Attributes
    ----------
    errors : PartErrors
    in_span : float or None
        Mean of `Measured.in_span` over these fits.
    moved : float or None
        Mean squared distance that least squares moves a vertex in them.
    """

    errors: PartErrors
    in_span: float | None = None
    moved: float | None = None

    @classmethod
    def of(cls, measured: Measured, again: Callable[[np.ndarray], Measured], n_draws: int, seed: int) -> Redrawn:
        """Fit ``n_draws`` times.

        The distance of the fit to one with new noise, on the points as the fit has them, has the size of the fit's own
        distance to the truth.
        """
        if not n_draws:
            return cls(PartErrors.missing("Needs fits with noise drawn again: n_splits is 0."))
        distances, in_span, far, reason = [], [], [], ""
        for number in range(n_draws):
            try:
                other = again(measured.drawn(np.random.default_rng([seed, number])))
            except LatentiaError as error:
                reason = str(error)
                continue
            distances.append(_distances(measured, other))
            in_span.append(other.in_span)
            far.append(float((moved(other.points, other.vertices, other.mixing) ** 2).mean()))
        if not distances:
            return cls(
                PartErrors(None, n_draws, n_draws, f"No fit with noise drawn again has as many components. {reason}")
            )
        errors = np.mean(distances, axis=0)
        parts = PartErrors(errors, n_draws, n_draws - len(distances), reason)
        return cls(parts, float(np.mean(in_span)), float(np.mean(far)))


def _distances(measured: Measured, other: Measured) -> np.ndarray:
    """Of the vertices to the nearest ones of a fit with new noise, and the noise that their coordinates leave out."""
    within = component_distances(measured.vertices, other.vertices, measured.mixing)
    cone = measured.mixing == "cone"
    lengths = np.linalg.norm(measured.vertices, axis=1) if cone else length_of(measured.vertices)
    return np.hypot(within, np.sqrt(measured.hidden) / np.maximum(lengths, np.finfo(float).tiny))


def evidence_checks(
    measured: Measured,
    redrawn: Redrawn,
    rows: np.ndarray,
    some: tuple[np.ndarray, np.ndarray],
    way: np.ndarray,
    components: np.ndarray,
    others: dict[str, np.ndarray],
    seed: int,
) -> tuple[list[Check], PartErrors]:
    """The lines of the evidence, and the expected errors with the misfit.

    Parameters
    ----------
    rows : ndarray of shape (s, d)
        Some rows of the data.
    some : (ndarray of shape (m, d), ndarray of shape (m, k))
        Scaled rows with all features, and their points.
    way : ndarray of shape (r,)
        How far refining took the components.
    components : ndarray of shape (r, d)
    others : dict
        Vertices that other methods found.
    """
    mixing, (limit, apart) = measured.mixing, trusted_error(measured.vertices, measured.mixing)
    hull = Misfit.from_norms(measured.in_span, redrawn.in_span, _energy(measured)) if redrawn.in_span else Misfit()
    second = WithoutPure.of(*some, measured.vertices, mixing, redrawn.moved, seed)
    held = shared(measured.weights, measured.vertices, mixing, measured.noise)
    bend = Bend.of(rows, components, mixing)
    if second.structure is not None:  # what interacts is in mixtures alone
        second = replace(second, structure=second.structure * float(np.sqrt(1 - bend.interacting)))
    alone = np.where((held > 1) | ~np.isfinite(apart), 0.0, apart)
    parts = redrawn.errors.widen(_LEFT * way).widen(second.bias).widen(alone).widen(bend.bias, np.sqrt(2))
    lines = error_checks(
        parts, limit, "mean |w - w'|", "in lengths of a component", "component", "noise that was drawn again"
    )
    pure = _pure(measured)
    lines += [
        structure_check(structure(rows, components, mixing, seed)),
        Check(
            "rows outside of the hull", "|R|^2 / |N|^2", hull.ratio, at_most(max(_OUTSIDE, hull.noise_limit), "1 for noise"),
            "Part of the rows, in the span of the components, that lies outside of their hull, relative to noise. More says "
            "that some components have no pure row, or that rows are no mixtures.", "Theorem 2.46", "caution",
            "No rows seem to be a component alone: look at the rows with the largest residual, or use ApproximateNMF.",
        ),
        second.check(),
        single_row_check(held),
        bend.check(limit),
        surplus_check(measured),
        Check(
            "pure rows", "least of a component", float(pure.min()), at_least(2),
            f"Different rows within noise of a component; the median component has {np.median(pure):.0f}. One that rests on a "
            "single row may be an outlier.", "Definition 2.43",
        ),
    ]  # fmt: skip
    lines += held_out_checks(rows, components, mixing, seed)
    lines += _notes(measured, rows, components, others, limit)
    return lines, parts


def structure_check(misfit: Misfit) -> Check:
    """Whether there is more than noise beyond the components."""
    return Check(
        "goodness of fit", "|R|^2 / |N|^2", misfit.ratio, at_most(_STRUCTURE, "1 for noise"),
        "The largest direction of what the components leave of the rows, against the same with random signs.",
        "not in the papers", "caution",
        "The rows have structure beyond these components: compare with more of them.",
    )  # fmt: skip


def surplus_check(measured: Measured) -> Check:
    """Whether each component stands out of the noise."""
    return Check(
        "components above the noise", "smallest over its noise", _surplus(measured), at_least(1.0),
        "The weakest direction of the fitted rows over that of noise. Below 1 there are too many components for the data.",
        "not in the papers", "caution", "Fit fewer components: the data does not separate this many.",
    )  # fmt: skip


def _energy(measured: Measured) -> float:
    """Mean squared length of the points about their mean."""
    return float(measured.points.var(axis=0).sum())


def structure(rows: np.ndarray, components: np.ndarray, mixing: Any, seed: int) -> Misfit:
    """Largest direction of what is left, against that with random signs."""
    left, noise = largest_left(rows, row_weights(rows, components, mixing), seed)
    whole = float(np.einsum("ij,ij->", rows, rows))
    return Misfit(0.0) if left <= _HARDLY * whole else Misfit.from_norms(left, noise, whole)


def _surplus(measured: Measured) -> float | None:
    """Smallest singular value of the fitted points in the directions of the components, over that of noise."""
    weights, r = measured.weights, len(measured.vertices)
    if measured.mixing == "simplex":
        weights, r = weights - weights.mean(axis=0), r - 1
    m, k = measured.points.shape
    if not 0 < r <= min(m, k):
        return None
    fitted = np.linalg.qr(weights, mode="r") @ measured.vertices
    smallest = float(np.linalg.svd(fitted, compute_uv=False)[r - 1])
    noise = np.sqrt(measured.noise) * (np.sqrt(m) + np.sqrt(measured.dimension))
    return min(smallest / max(noise, 1e-300), 1e6)


def _pure(measured: Measured) -> np.ndarray:
    """How many points lie within noise of each vertex, shape (r,)."""
    size = np.einsum("ij,ij->i", measured.points, measured.points)
    own = np.einsum("ij,ij->i", measured.vertices, measured.vertices)
    squared = size[:, None] - 2 * measured.points @ measured.vertices.T + own
    k = measured.points.shape[1]
    limit = 1.5 * measured.noise * (k + _RADIUS * np.sqrt(2 * k))  # that of a vertex is less than of a row
    return np.asarray((squared <= np.maximum(limit, 1e-20 * own)).sum(axis=0))


def held_out_checks(rows: np.ndarray, components: np.ndarray, mixing: str, seed: int) -> list[Check]:
    """Whether weights from half of the features predict the other half better than the mean row does."""
    d = rows.shape[1]
    if d < 2 or len(rows) < 2:
        return []
    order = np.random.default_rng([seed, 102]).permutation(d)
    fitted, trivial = np.zeros(len(rows)), np.zeros(len(rows))
    gaps = missing_entries(rows)
    means = rows.mean(axis=0, keepdims=True) if gaps is None else np.nanmean(rows, axis=0, keepdims=True)
    for seen, held in ((order[: d // 2], order[d // 2 :]), (order[d // 2 :], order[: d // 2])):
        for model, total in ((components, fitted), (means, trivial)):
            weights = row_weights(rows[:, seen], model[:, seen], mixing)  # type: ignore[arg-type]
            residual = rows[:, held] - weights @ model[:, held]
            sizes = np.full(len(rows), len(held)) if gaps is None else np.count_nonzero(~gaps[:, held], axis=1)
            left = np.nansum(residual**2, axis=1)
            variance = max(float(left.mean()) / max(float(sizes.mean()), 1), np.finfo(float).tiny)
            total -= 0.5 * (left / variance + sizes * np.log(variance))
    return trivial_checks(fitted, trivial, extra=0, n_rows=len(rows), against="the mean row")


def _notes(
    measured: Measured, rows: np.ndarray, components: np.ndarray, others: dict[str, np.ndarray], limit: float
) -> list[Check]:
    """Measurements that are not part of the verdict."""
    weights = row_weights(rows, components, measured.mixing)
    sums = np.abs(rows).sum(axis=1)
    bright = sums > 0
    left = np.abs(rows - weights @ components).sum(axis=1)[bright] / sums[bright]
    eps = float(left.max(initial=0.0))
    alpha = hull_separation(_summing_to_one(components))
    totals = measured.weights.sum(axis=1, keepdims=True)
    shares = measured.weights / np.where(totals > 0, totals, 1.0)
    second = -np.sort(-shares, axis=0)[1:2]
    lines = [
        Check(
            "robust simplicial", "alpha", alpha if np.isfinite(alpha) else None, None,
            "Least l1 distance of a component, its entries summing to one, to the hull of the others; at most 2.",
            "Definition 2.47",
        ),
        Check(
            "noise that the theorem allows", "eps", eps, at_most(bounds.robust_loner_noise_limit(min(alpha, 2.0))),
            "Largest l1 residual of a row that sums to one. Below the bound Theorem 2.48 holds for any noise.", "Theorem 2.48",
        ),
        Check(
            "separability gap", "", 1.0 - float(second.mean()) if second.size else None, None,
            "How far from a component the next purest row is on average, in weight; 0 where it is pure as well.",
            "section 2.5",
        ),
        Check(
            "residual outside of the cone", "|X - A W| / |X|",
            float(np.linalg.norm(rows - weights @ components) / max(float(np.linalg.norm(rows)), 1e-300)), None,
            f"Of {len(rows):,} rows.", "section 2.5",
        ),
    ]  # fmt: skip
    if others:
        found = [
            float((component_distances(measured.vertices, one, measured.mixing) <= limit).mean())
            for one in others.values()
        ]
        lines.append(
            Check(
                "anchors that other methods find too", "", float(np.median(found)), None,
                "Share of the components that the median of " + ", ".join(others) + " has within the limit.", "section 2.6",
            )
        )  # fmt: skip
    return lines


def _summing_to_one(rows: np.ndarray) -> np.ndarray:
    sums = np.abs(rows).sum(axis=1, keepdims=True)
    return np.asarray(rows / np.where(sums > 0, sums, 1.0))


def gaps_checks(
    share: float, treatment: str, rows: Any, expect: Callable[[np.ndarray, np.ndarray], np.ndarray], seed: int
) -> list[Check]:
    """Measure the share of missing cells and whether they are missing by their value; no lines where none is missing."""
    if not share:
        return []
    meaning = f"{treatment} What is missing must not depend on its value."
    return [Check("missing cells", "share", share, None, meaning, "the model"), *missing_checks(rows, expect, seed)]


def by_other_columns(
    rows: np.ndarray, components: np.ndarray, mixing: Any, n_jobs: int | None
) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Return a function that predicts some columns from others by least squares."""
    return lambda seen, others: row_weights(rows[:, seen], components[:, seen], mixing, n_jobs) @ components[:, others]
