"""Evidence for separability, measured on the fit: refits with new noise, rows outside the hull, features held out."""

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
from ..evidence.limits import MAX_RELATIVE_ERROR, STANDARD_ERRORS
from ..exceptions import LatentiaError
from ..linalg import unit_rows
from ..linalg.ratios import ratio_of
from ..metrics import nearest_others
from ..simplex import hull_separation
from ._descent import row_weights
from ._misfit import (
    STRUCTURE_RATIO,
    Bend,
    PureRowTest,
    compute_residuals,
    measure_largest_residual,
    measure_moves,
    measure_sharing,
    rms_length,
    single_row_check,
)
from ._span import count_distinguishing

_MAX_LEVERAGE = 0.8  # beyond this leverage of a feature, its residuals do not show its noise
_NEGLIGIBLE = 1e-12  # share of the rows' squared length that counts as zero
_REMAINING_SHARE = 0.25  # error that is assumed after refinement, as a share of the distance that it moved components
_MAX_OUTSIDE = 2.0  # limit of the part of the rows outside the hull, relative to noise


def component_distances(first: np.ndarray, second: np.ndarray, mixing: str) -> np.ndarray:
    """Return the distance of each component to the nearest one of another fit, over their length; of directions for "cone"."""
    if mixing == "cone":
        first, second = unit_rows(first), unit_rows(second)
    distances = np.sqrt(((first[:, None] - second[None]) ** 2).sum(axis=2).min(axis=1))
    return np.asarray(distances / rms_length(first))


def find_error_limit(vertices: np.ndarray, mixing: str) -> tuple[float, np.ndarray]:
    """Return the limit of the mean expected error, and the distance of each component to the nearest other one."""
    vertices = unit_rows(vertices) if mixing == "cone" else vertices
    if len(vertices) == 1:
        return MAX_RELATIVE_ERROR, np.full(1, np.inf)
    distances = nearest_others(vertices, "euclidean") / rms_length(vertices)
    return min(MAX_RELATIVE_ERROR, float(distances.mean()) / 3), distances


LEFT_OUT = "The fit leaves them out, as does what is measured of it."
"""How the descents treat missing cells."""


@dataclass(frozen=True)
class FitMeasurements:
    """Measurements of a fit, in the coordinates in which vertices were searched.

    Attributes
    ----------
    points : ndarray of shape (m, k)
    vertices : ndarray of shape (r, k)
    weights : ndarray of shape (m, r)
    mixing : {"simplex", "cone"}
    scales : ndarray of shape (m,)
        Factors by which rows were multiplied.
    dimension : int
        Number of features d.
    outside : float
        Squared length of the points beyond their coordinates.
    counts : ndarray of shape (r,)
        Number of points averaged for each vertex.
    n_filled : int
        Number of missing coordinates that are replaced by fitted ones.
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
        """Residual of the points from the weighted vertices."""
        return self.points - self.weights @ self.vertices

    @cached_property
    def best_residual(self) -> np.ndarray:
        """Residual from the best components for the weights, so without the noise of the vertices."""
        return compute_residuals(self.points, self.weights)

    @cached_property
    def noise(self) -> float:
        """Variance of the noise of a coordinate of a point."""
        (m, k), r = self.points.shape, len(self.vertices)
        free = max(k - r + (self.mixing == "simplex"), 0) * max(m - r, 0)
        return float((self.best_residual**2).sum()) / (max(free - self.n_filled, 0) or m * k)

    @property
    def sizes(self) -> tuple[float, float]:
        """Squared length of the noise of a point, within the coordinates and beyond them."""
        return self.noise * self.points.shape[1], self.outside / len(self.points)

    @property
    def hidden(self) -> np.ndarray:
        """Squared length of the noise of each vertex that the coordinates leave out, shape (r,)."""
        return np.asarray(self.outside / len(self.points) / np.maximum(self.counts, 1.0))

    @property
    def span_residual(self) -> float:
        """Mean squared distance of the points from the hull, within the span of the vertices."""
        basis = self._compute_basis()
        return float(((self.residual @ basis.T) ** 2).sum()) / len(self.points)

    def refit(self, points: np.ndarray, vertices: np.ndarray, n_jobs: int | None = None) -> FitMeasurements:
        """Return the measurements of other points and vertices."""
        weights = row_weights(points, vertices, self.mixing, n_jobs)
        return replace(self, points=points, vertices=vertices, weights=weights)

    def outside_noise(self, seed: int, n_jobs: int | None = None) -> float:
        """Return the squared distance of the points from the hull, over the same of points with new noise."""
        refit = self.refit(self.redraw_points(np.random.default_rng([seed, 104])), self.vertices, n_jobs)
        return float(ratio_of(self.span_residual, refit.span_residual))

    def _compute_basis(self) -> np.ndarray:
        _, sizes, directions = np.linalg.svd(self.vertices, full_matrices=False)
        return np.asarray(directions[sizes > 1e-12 * sizes.max(initial=0.0)])

    def redraw_points(self, rng: np.random.Generator) -> np.ndarray:
        """Simulate points: the fitted ones, with new noise of the size of each feature's and each scaled row's."""
        (m, k), residual = self.points.shape, self.best_residual
        leverage = np.einsum("ij,ij->j", self._compute_basis(), self._compute_basis())
        feature_noise = np.einsum("ij,ij->j", residual, residual) / np.maximum(1 - leverage, 1 - _MAX_LEVERAGE)
        if self.dimension > k or (leverage > _MAX_LEVERAGE).any():
            feature_noise = np.ones(k)
        row_noise = self.scales**2
        shape = np.outer(
            row_noise / max(float(row_noise.mean()), 1e-300), feature_noise / max(float(feature_noise.mean()), 1e-300)
        )
        return np.asarray(self.weights @ self.vertices + np.sqrt(self.noise * shape) * rng.standard_normal((m, k)))


@dataclass(frozen=True)
class NewNoiseFits:
    """Errors of fits to points with new noise.

    Attributes
    ----------
    errors : PartErrors
    in_span : float or None
        Mean of `Measured.in_span` over these fits.
    moved : float or None
        Mean squared distance that least squares moves a vertex in them.
    """

    errors: PartErrors
    span_residual: float | None = None
    moved: float | None = None

    @classmethod
    def compute(
        cls, measured: FitMeasurements, refit_points: Callable[[np.ndarray], FitMeasurements], n_draws: int, seed: int
    ) -> NewNoiseFits:
        """Fit ``n_draws`` times.

        New noise about the fitted points moves the fit about as far as the fit is from the truth.
        """
        if not n_draws:
            return cls(PartErrors.missing("Needs fits with noise drawn again: n_splits is 0."))
        distances, span_residual, moves, reason = [], [], [], ""
        for number in range(n_draws):
            try:
                refit = refit_points(measured.redraw_points(np.random.default_rng([seed, number])))
            except LatentiaError as error:
                reason = str(error)
                continue
            distances.append(_measure_distances(measured, refit))
            span_residual.append(refit.span_residual)
            moves.append(float((measure_moves(refit.points, refit.vertices, refit.mixing) ** 2).mean()))
        if not distances:
            return cls(
                PartErrors(None, n_draws, n_draws, f"No fit with noise drawn again has as many components. {reason}")
            )
        errors = np.mean(distances, axis=0)
        parts = PartErrors(errors, n_draws, n_draws - len(distances), reason)
        return cls(parts, float(np.mean(span_residual)), float(np.mean(moves)))


def _measure_distances(measured: FitMeasurements, refit: FitMeasurements) -> np.ndarray:
    """Return the distances of vertices to those of a fit with new noise, and add the noise beyond their coordinates."""
    within = component_distances(measured.vertices, refit.vertices, measured.mixing)
    cone = measured.mixing == "cone"
    lengths = np.linalg.norm(measured.vertices, axis=1) if cone else rms_length(measured.vertices)
    return np.hypot(within, ratio_of(np.sqrt(measured.hidden), lengths))


def evidence_checks(
    measured: FitMeasurements,
    redrawn: NewNoiseFits,
    rows: np.ndarray,
    sample: tuple[np.ndarray, np.ndarray],
    refinement_moves: np.ndarray,
    components: np.ndarray,
    rival_vertices: dict[str, np.ndarray],
    seed: int,
) -> tuple[list[Check], PartErrors]:
    """Return the checks, and the expected errors with those by misfit.

    Parameters
    ----------
    rows : ndarray of shape (s, d)
        A sample of the rows.
    sample : (ndarray of shape (m, d), ndarray of shape (m, k))
        Scaled rows with all features, and their points.
    refinement_moves : ndarray of shape (r,)
        How far refinement moved the components.
    components : ndarray of shape (r, d)
    rival_vertices : dict
        Vertices by other methods.
    """
    mixing, (limit, distances) = measured.mixing, find_error_limit(measured.vertices, measured.mixing)
    hull = (
        Misfit.from_norms(measured.span_residual, redrawn.span_residual, _measure_energy(measured))
        if redrawn.span_residual
        else Misfit()
    )
    pure_row_test = PureRowTest.compute(*sample, measured.vertices, mixing, redrawn.moved, seed)
    sharing = measure_sharing(measured.weights, measured.vertices, mixing, measured.noise)
    bend = Bend.compute(rows, components, mixing)
    if pure_row_test.structure is not None:  # interactions occur in mixtures only
        pure_row_test = replace(pure_row_test, structure=pure_row_test.structure * float(np.sqrt(1 - bend.interacting)))
    single_row_errors = np.where((sharing > 1) | ~np.isfinite(distances), 0.0, distances)
    parts = (
        redrawn.errors.widen(_REMAINING_SHARE * refinement_moves)
        .widen(pure_row_test.bias)
        .widen(single_row_errors)
        .widen(bend.bias, np.sqrt(2))
    )
    lines = error_checks(
        parts, limit, "mean |w - w'|", "in lengths of a component", "component", "noise that was drawn again"
    )
    pure = _count_pure_rows(measured)
    lines += [
        structure_check(measure_structure(rows, components, mixing, seed)),
        Check(
            "rows outside of the hull", "|R|^2 / |N|^2", hull.ratio,
            at_most(max(_MAX_OUTSIDE, hull.noise_limit), "1 for noise"),
            "Squared distance of the rows from the hull of the components, within their span, relative to noise. A large value "
            "means that some components have no pure row, or that rows are no mixtures.", "Theorem 2.46", "note",
            "No rows seem to be a single component: look at the rows with the largest residual, or use ApproximateNMF.",
        ),
        pure_row_test.check(),
        single_row_check(sharing),
        bend.check(limit),
        surplus_check(measured),
        Check(
            "pure rows", "least of a component", float(pure.min()), at_least(2),
            f"Number of different rows that differ from a component only by noise; the median component has "
            f"{np.median(pure):.0f}. A component with a single such row may be an outlier.", "Definition 2.43",
        ),
    ]  # fmt: skip
    lines += feature_prediction_checks(rows, components, mixing, seed)
    lines += _side_measurements(measured, rows, components, rival_vertices, limit)
    return lines, parts


def structure_check(misfit: Misfit) -> Check:
    """Check that residuals have no direction larger than noise."""
    return Check(
        "goodness of fit", "|R|^2 / |N|^2", misfit.ratio, at_most(STRUCTURE_RATIO, "1 for noise"),
        "The largest direction of the residuals, compared with the same under random signs.",
        "not in the papers", "caution",
        "The rows have structure beyond these components: compare with more of them.",
    )  # fmt: skip


def distinguishing_check(components: np.ndarray, weights: np.ndarray) -> Check:
    """Check that each of two components has features and rows without the other."""
    return Check(
        "features and rows of one alone", "least of a pair", float(count_distinguishing(components, weights)), at_least(2),
        "Features and rows that have one component without the other. Where there are none, other factors give the same rows.",
        "section 2.5", "caution",
        "Other components may give the same rows: do not read much into the small entries of these.",
    )  # fmt: skip


def surplus_check(measured: FitMeasurements) -> Check:
    """Check that each component is larger than noise."""
    return Check(
        "components above the noise", "smallest over its noise", _measure_weakest_direction(measured), at_least(1.0),
        "The weakest direction of the fitted rows, relative to noise. Below 1 there are too many components for the data.",
        "not in the papers", "caution", "Fit fewer components: the data does not separate this many.",
    )  # fmt: skip


def _measure_energy(measured: FitMeasurements) -> float:
    """Return the mean squared distance of the points from their mean."""
    return float(measured.points.var(axis=0).sum())


def measure_structure(rows: np.ndarray, components: np.ndarray, mixing: Any, seed: int) -> Misfit:
    """Compare the largest direction of the residuals with that under random signs."""
    largest, noise = measure_largest_residual(rows, row_weights(rows, components, mixing), seed)
    energy = float(np.einsum("ij,ij->", rows, rows))
    return Misfit(0.0) if largest <= _NEGLIGIBLE * energy else Misfit.from_norms(largest, noise, energy)


def _measure_weakest_direction(measured: FitMeasurements) -> float | None:
    """Return the smallest singular value of the fitted points in the span of the components, over that of noise."""
    weights, r = measured.weights, len(measured.vertices)
    if measured.mixing == "simplex":
        weights, r = weights - weights.mean(axis=0), r - 1
    m, k = measured.points.shape
    if not 0 < r <= min(m, k):
        return None
    fitted = np.linalg.qr(weights, mode="r") @ measured.vertices
    smallest = float(np.linalg.svd(fitted, compute_uv=False)[r - 1])
    noise = np.sqrt(measured.noise) * (np.sqrt(m) + np.sqrt(measured.dimension))
    return min(float(ratio_of(smallest, noise)), 1e6)


def _count_pure_rows(measured: FitMeasurements) -> np.ndarray:
    """Count the points within noise of each vertex, shape (r,)."""
    point_lengths = np.einsum("ij,ij->i", measured.points, measured.points)
    vertex_lengths = np.einsum("ij,ij->i", measured.vertices, measured.vertices)
    squared = point_lengths[:, None] - 2 * measured.points @ measured.vertices.T + vertex_lengths
    k = measured.points.shape[1]
    limit = 1.5 * measured.noise * (k + 2 * np.sqrt(2 * k))  # a vertex has less noise than a row
    return np.asarray((squared <= np.maximum(limit, 1e-20 * vertex_lengths)).sum(axis=0))


def feature_prediction_checks(rows: np.ndarray, components: np.ndarray, mixing: str, seed: int) -> list[Check]:
    """Check that weights from half of the features predict the other half better than multiples of the mean row do.

    Weights from few features are noisy, so both predictions are first shrunk towards the mean row, by least squares.
    """
    d = rows.shape[1]
    if d < 2 or len(rows) < 2:
        return []
    order = np.random.default_rng([seed, 102]).permutation(d)
    fitted, trivial = np.zeros(len(rows)), np.zeros(len(rows))
    gaps = missing_entries(rows)
    means = rows.mean(axis=0, keepdims=True) if gaps is None else np.nanmean(rows, axis=0, keepdims=True)
    for known_columns, held_columns in ((order[: d // 2], order[d // 2 :]), (order[d // 2 :], order[: d // 2])):
        is_observed = np.ones((len(rows), len(held_columns))) if gaps is None else ~gaps[:, held_columns]
        held = np.where(is_observed, rows[:, held_columns] - means[:, held_columns], 0.0)
        multiples, mixtures = (
            is_observed
            * (
                row_weights(rows[:, known_columns], model[:, known_columns], mixing) @ model[:, held_columns]  # type: ignore[arg-type]
                - means[:, held_columns]
            )
            for model in (means, components)
        )
        sizes = is_observed.sum(axis=1)
        for predictions, total in (([multiples, mixtures], fitted), ([multiples], trivial)):
            squares = np.square(held - _shrink(predictions, held)).sum(axis=1)
            variance = max(float(squares.mean()) / max(float(sizes.mean()), 1), np.finfo(float).tiny)
            total -= 0.5 * (squares / variance + sizes * np.log(variance))
    return trivial_checks(
        fitted, trivial, extra=0, n_rows=len(rows), against="the mean row", deviations=STANDARD_ERRORS
    )


def _shrink(predictions: list[np.ndarray], held: np.ndarray) -> np.ndarray:
    """Return the combination of predictions that is nearest to what is held out; the last one counts only if it helps."""
    table = np.array([prediction.ravel() for prediction in predictions])
    factors = np.linalg.lstsq(table.T, held.ravel(), rcond=None)[0]
    if len(factors) > 1 and factors[-1] <= 0:
        return _shrink(predictions[:-1], held)
    return np.asarray((factors @ table).reshape(held.shape))


def _side_measurements(
    measured: FitMeasurements,
    rows: np.ndarray,
    components: np.ndarray,
    rival_vertices: dict[str, np.ndarray],
    limit: float,
) -> list[Check]:
    """Return measurements that are not part of the verdict."""
    weights = row_weights(rows, components, measured.mixing)
    sums = np.abs(rows).sum(axis=1)
    bright = sums > 0
    row_residuals = np.abs(rows - weights @ components).sum(axis=1)[bright] / sums[bright]
    eps = float(row_residuals.max(initial=0.0))
    alpha = hull_separation(_normalise_rows(components))
    totals = measured.weights.sum(axis=1, keepdims=True)
    shares = measured.weights / np.where(totals > 0, totals, 1.0)
    next_purest = -np.sort(-shares, axis=0)[1:2]
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
            "separability gap", "", 1.0 - float(next_purest.mean()) if next_purest.size else None, None,
            "Mean weight that the second purest row of a component lacks; 0 if it is pure as well.",
            "section 2.5",
        ),
        Check(
            "residual outside of the cone", "|X - A W| / |X|",
            float(np.linalg.norm(rows - weights @ components) / max(float(np.linalg.norm(rows)), 1e-300)), None,
            f"Of {len(rows):,} rows.", "section 2.5",
        ),
    ]  # fmt: skip
    if rival_vertices:
        agreement = [
            float((component_distances(measured.vertices, vertices, measured.mixing) <= limit).mean())
            for vertices in rival_vertices.values()
        ]
        lines.append(
            Check(
                "anchors that other methods find too", "", float(np.median(agreement)), None,
                f"Share of the components that the median of {', '.join(rival_vertices)} has within the limit.", "section 2.6",
            )
        )  # fmt: skip
    return lines


def _normalise_rows(rows: np.ndarray) -> np.ndarray:
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


def column_predictor(
    rows: np.ndarray, components: np.ndarray, mixing: Any, n_jobs: int | None
) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Return a function that predicts some columns from others by least squares."""
    return lambda known_columns, target_columns: (
        row_weights(rows[:, known_columns], components[:, known_columns], mixing, n_jobs)
        @ components[:, target_columns]
    )
