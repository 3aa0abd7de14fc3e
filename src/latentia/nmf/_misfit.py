"""Errors of components that refits with new noise cannot show: rows without pure ones, structure, outliers, bent responses.

*Without pure rows.* Least squares moves components to where all rows want them, pure or not. Where the model holds, it moves
them by noise, as far as in simulated rows with new noise. Where components are outliers, lie inside the hull of the true ones,
or some are missing, it moves them by about their error.

*Structure beyond the components.* Where rows have more structure than mixtures and noise, least squares makes components follow
it. They then leave a residual direction larger than noise, and move by a few times its size; without pure rows by far more.
Vertices are rows, so they are off by what a row has of this direction.

*A single row.* A component that only one row holds, beyond noise, may be an outlier or a surplus mixture. Its error is taken to
be its distance to the next component.

*A response that bends.* A detector that reads f(x) for x does not read mixtures as mixtures of what it reads. With
f(x) = x + b g(x), residuals are b g of the fitted entries, less what weights and components absorb: Tukey's one degree of
freedom. Components are then off by b g(w). Of g(x) = x^2 / m and x log(x / m), where m is the mean entry, the one that explains
more is taken, if it explains most of the largest residual direction. Where components interact in a row, residuals look like
products of two of them instead, and pure rows are right.

*Entries that cannot be negative.* Without pure rows, least squares with noise moves components towards each other or away from
each other, and in all parts of the rows alike. Fits to simulated rows, whose residuals have random signs, do so once more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..evidence import Check, above, at_most
from ..evidence.limits import MANY_STANDARD_ERRORS, NOISE_RATIO
from ..likelihood import over, refine
from ..linalg import unit_rows
from ..passes import Blocks
from ._descent import Descent, FactorUpdate, row_weights
from ._points import choose_evenly

Mixing = Literal["simplex", "cone"]

_ROUNDS, ROWS = 20, 1000  # of least squares, and rows at most that it is done on
_ERROR_PER_MOVE = 1.25  # error of components without pure rows, in distances that so many rounds move them
_MAX_MOVE_PER_STRUCTURE = 30.0  # moves that follow a structure: 1 to 13 of its sizes; without pure rows 100 and more
STRUCTURE_RATIO = 1.5  # a residual direction beyond this multiple of noise is structure
_ERROR_PER_STRUCTURE = (
    1.4  # error of vertices, in sizes of the largest structure; above 1, since there are further ones
)
_MAX_SHARING = 1e6  # cap of a ratio to noise
_MIN_BEND_SIGNIFICANCE = 7.0  # least size of a bend in standard errors; counts look bent by up to six
_MIN_BEND_SHARE = 0.85  # least share of the largest residual direction that a bend explains
_DRAWS_PER_SPLIT = 2  # simulated tables per split
_ERROR_PER_SHIFT = 2.5  # error of components, in mean shifts of simulated fits
_NEGLIGIBLE = 1e-20  # share of squared lengths that counts as zero


def rms_length(vertices: np.ndarray) -> float:
    """Return the root mean square length of components."""
    return max(float(np.sqrt(np.einsum("ij,ij->", vertices, vertices) / len(vertices))), np.finfo(float).tiny)


def measure_moves(points: np.ndarray, vertices: np.ndarray, mixing: Mixing, n_jobs: int | None = None) -> np.ndarray:
    """Return how far least squares moves each vertex, over their length; directions for "cone"; shape (r,)."""
    return _measure_distances(vertices, _descend(_subsample(points), vertices, mixing, False, n_jobs), mixing)


def _measure_distances(vertices: np.ndarray, recovered: np.ndarray, mixing: Mixing) -> np.ndarray:
    if mixing == "cone":
        vertices, recovered = unit_rows(vertices), unit_rows(recovered)
    return np.asarray(np.linalg.norm(recovered - vertices, axis=1) / rms_length(vertices))


def compute_residuals(rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the residuals of rows with the best components for the weights."""
    gram, cross = weights.T @ weights, weights.T @ rows
    return np.asarray(rows - weights @ np.linalg.lstsq(gram, cross, rcond=None)[0])


def compute_residuals_beyond_span(rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the part of rows outside the span of the best components for the weights."""
    components = np.linalg.lstsq(weights, rows, rcond=None)[0]
    of_features = np.linalg.qr(components.T)[0]
    return np.asarray(rows - (rows @ of_features) @ of_features.T)


def measure_largest_residual(rows: np.ndarray, weights: np.ndarray, seed: int) -> tuple[float, float]:
    """Return the squared length of the largest direction of the residuals, and of the same with random signs."""
    return measure_largest_direction(compute_residuals(rows, weights), seed)


def measure_largest_direction(residual: np.ndarray, seed: int) -> tuple[float, float]:
    """Return the squared length of the largest direction of residuals, and of the same with random signs."""
    residual = residual.T if residual.shape[0] < residual.shape[1] else residual
    signs = np.random.default_rng([seed, 101]).choice([-1.0, 1.0], residual.shape)
    largest, noise = (float(np.linalg.eigvalsh(table.T @ table)[-1]) for table in (residual, residual * signs))
    return largest, noise


def measure_followed_structure(
    rows: np.ndarray, points: np.ndarray, vertices: np.ndarray, recovered: np.ndarray, mixing: Mixing, seed: int
) -> float | None:
    """Return the size of the structure that components follow when they move from the vertices; None if they follow none.

    The size is the part of a row in the largest residual direction, over the length of components. ``rows`` have all features,
    and ``points`` are their coordinates.
    """
    largest, noise = measure_largest_direction(
        compute_residuals_beyond_span(rows, row_weights(points, recovered, mixing)), seed
    )
    size = float(np.sqrt(max(largest - noise, 0.0) / len(rows))) / rms_length(vertices)
    explains = (
        largest > STRUCTURE_RATIO * noise
        and _measure_distances(vertices, recovered, mixing).mean() < _MAX_MOVE_PER_STRUCTURE * size
    )
    return size if explains else None


def estimate_clipping_bias(
    rows: np.ndarray, components: np.ndarray, n_splits: int, seed: int, n_jobs: int | None = None
) -> np.ndarray:
    """Estimate the error of directions by noise that is cut at zero, with residuals of random signs; shape (r,)."""
    if not n_splits:
        return np.zeros(len(components))
    rows = _subsample(rows)
    (n, d), r, n_cells = rows.shape, len(components), np.count_nonzero(rows == rows)
    fitted = row_weights(rows, components, "cone", n_jobs) @ components
    noise_scale = np.sqrt(n_cells / max(n_cells - r * (n + d - r), 1))
    draws = []
    for number in range(_DRAWS_PER_SPLIT * n_splits):
        random_signs = np.random.default_rng([seed, 103, number]).choice([-1.0, 1.0], rows.shape)
        simulated = np.maximum(fitted + noise_scale * random_signs * (rows - fitted), 0.0)
        draws.append(_descend(simulated, components, "cone", True, n_jobs))
    return estimate_bias(components, draws)


def estimate_bias(components: np.ndarray, draws: list[np.ndarray]) -> np.ndarray:
    """Estimate the mean error of directions, beyond chance, by fits to simulated tables; shape (r,).

    Such fits are nearer to the model that was simulated than that model is to the truth: zeros that noise has made stay.
    """
    shifts = np.stack([unit_rows(draw) for draw in draws]) - unit_rows(components)
    chance = shifts.var(axis=0, ddof=1).sum(axis=1) / len(draws)
    squared = (shifts.mean(axis=0) ** 2).sum(axis=1) - NOISE_RATIO * chance
    return np.asarray(_ERROR_PER_SHIFT * np.sqrt(np.maximum(squared, 0.0)))


def _subsample(rows: np.ndarray) -> np.ndarray:
    return rows[choose_evenly(len(rows), ROWS)]


def _descend(
    rows: np.ndarray, components: np.ndarray, mixing: Mixing, nonnegative: bool, n_jobs: int | None
) -> np.ndarray:
    update = FactorUpdate(components, mixing, Descent(), nonnegative)
    return np.asarray(refine(update, over(Blocks.from_array(rows), n_jobs), _ROUNDS).values[0])


@dataclass(frozen=True)
class PureRowTest:
    """Comparison of how far least squares moves components with how far noise alone does.

    Attributes
    ----------
    moved : ndarray of shape (r,)
    noise : float or None
        Mean squared distance in fits with new noise; None without such fits.
    structure : float or None
        Size of the structure that components follow, if any.
    """

    moved: np.ndarray
    noise: float | None
    structure: float | None = None

    @classmethod
    def compute(
        cls, rows: np.ndarray, points: np.ndarray, vertices: np.ndarray, mixing: Mixing, noise: float | None, seed: int
    ) -> PureRowTest:
        """Move the vertices by least squares on ``points``, the coordinates of ``rows``."""
        recovered = _descend(points, vertices, mixing, False, None)
        return cls(
            _measure_distances(vertices, recovered, mixing),
            noise,
            measure_followed_structure(rows, points, vertices, recovered, mixing, seed),
        )

    @property
    def bias(self) -> np.ndarray:
        """Error of each component that the test implies, shape (r,)."""
        noise = np.inf if self.noise is None else self.noise
        move_errors = np.asarray(_ERROR_PER_MOVE * np.sqrt(np.maximum(self.moved**2 - NOISE_RATIO * noise, 0.0)))
        if self.structure is None:
            return move_errors
        # Vertices are off by the structure in a row, or may lie among rows that have more of it.
        structure_size = _ERROR_PER_STRUCTURE * self.structure
        return np.asarray(np.sqrt(structure_size * np.maximum(move_errors, structure_size)))

    def check(self) -> Check:
        """Return the check, which asks for care where components move farther than noise moves them."""
        squared_move = float((self.moved**2).mean())
        ratio = None if self.noise is None else squared_move / max(self.noise, _NEGLIGIBLE)
        return Check(
            "found without pure rows", "|w - w'|^2 / |N|^2", ratio, at_most(NOISE_RATIO, "1 for noise"),
            "How far least squares on all rows, which needs no pure rows, moves the components, relative to how far it moves "
            "them in simulated mixtures with noise. Expected errors include the excess.", "not in the papers", "caution",
            "Rows that are mixtures suggest other components: look for outliers, compare other numbers of components, or use "
            "ApproximateNMF.",
        )  # fmt: skip


def measure_sharing(weights: np.ndarray, vertices: np.ndarray, mixing: Mixing, noise: float) -> np.ndarray:
    """Return the squared weights on each component in all rows but the purest one, over those by noise alone; shape (r,).

    Parameters
    ----------
    weights : ndarray of shape (m, r)
    vertices : ndarray of shape (r, k)
    noise : float
        Variance of a coordinate.
    """
    r, unit = len(vertices), rms_length(vertices)
    covariance = vertices @ vertices.T / unit**2
    if mixing == "simplex":  # weights that sum to one
        covariance = np.block([[covariance, np.ones((r, 1))], [np.ones((1, r)), np.zeros((1, 1))]])
    variance = noise / unit**2 * np.diag(np.linalg.pinv(covariance, hermitian=True))[:r]
    squares = weights**2
    other_squares = squares.sum(axis=0) - squares.max(axis=0)
    noise_squares = len(weights) / 2 * np.maximum(variance, 0.0)  # the negative half is cut
    return np.asarray(np.minimum(other_squares / np.maximum(noise_squares, _NEGLIGIBLE), _MAX_SHARING))


def single_row_check(sharing: np.ndarray) -> Check:
    """Return the note on components in a single row."""
    return Check(
        "components in other rows", "least, over noise", float(sharing.min()), above(1),
        "Squared weights on a component in all rows but the purest one, relative to those by noise alone. Where they are no "
        "larger, the expected error is the distance to the next component.", "not in the papers", "note",
        "Some components are in a single row: leave this row out if it is an outlier, or ask for fewer components.",
    )  # fmt: skip


@dataclass(frozen=True)
class Bend:
    """Bend of the response, and the error of each component by it.

    Attributes
    ----------
    size : float or None
        b of the curve that explains more, negative where the response saturates; None where rows have no residuals to show it.
    bias : ndarray of shape (r,)
        Error over the length of the components; of directions for "cone".
    interacting : float
        Share of the largest direction beyond the components that products of two of them explain, where they explain more.
    """

    size: float | None
    bias: np.ndarray
    interacting: float = 0.0

    @classmethod
    def compute(cls, rows: np.ndarray, components: np.ndarray, mixing: Mixing, n_jobs: int | None = None) -> Bend:
        """Measure the bend on rows with all features. Standard errors are of sums over rows or over features, the larger."""
        weights = row_weights(rows, components, mixing, n_jobs)
        fitted, mean = weights @ components, max(float(np.abs(rows).mean()), np.finfo(float).tiny)
        of_rows, of_features = np.linalg.qr(weights)[0], np.linalg.qr(components.T)[0]

        def remove_factors(table: np.ndarray) -> np.ndarray:
            """Return the part of a table that neither other components nor other weights explain."""
            residual = table - of_rows @ (of_rows.T @ table)
            return np.asarray(residual - (residual @ of_features) @ of_features.T)

        residual, best_gain, bend = remove_factors(rows), 0.0, cls(None, np.zeros(len(components)))
        largest, noise = measure_largest_direction(residual, 0)
        structure = max(largest - noise, _NEGLIGIBLE * largest, np.finfo(float).tiny)
        for entries, component_change in _list_curves(weights, components / mean):
            curve = remove_factors(mean * entries)
            size, along = float((curve**2).sum()), float((residual * curve).sum())
            if size <= _NEGLIGIBLE * float((fitted**2).sum()) or along**2 / size <= best_gain:
                continue
            scores = (residual - along / size * curve) * curve
            error = max(float(np.linalg.norm(scores.sum(axis=axis))) for axis in (0, 1))
            best_gain = along**2 / size
            is_certain = abs(along) > _MIN_BEND_SIGNIFICANCE * error and best_gain > _MIN_BEND_SHARE * structure
            certain_size = (abs(along) - MANY_STANDARD_ERRORS * error) / size if is_certain else 0.0
            share = min(best_gain / structure, 1.0) if is_certain and not component_change.any() else 0.0
            bend = cls(along / size, certain_size * _measure_turn(components, mean * component_change, mixing), share)
        return bend

    def check(self, limit: float) -> Check:
        """Return the check, which asks for care where the bend alone makes errors of half the limit."""
        size_text = "not measured" if self.size is None else f"{self.size:+.2g}"
        return Check(
            "straight response", "mean |w - f(w)|", float(self.bias.mean()), at_most(limit / 2),
            f"The error of components if entries are f(x) = x + b g(x), with b = {size_text}, less its noise; g is x^2 or "
            "x log x, over the mean entry. Expected errors are widened by it.", "Tukey 1949", "caution",
            "Entries of mixtures are not the sums of their parts: the response bends. Linearise it first, for example with "
            "absorbances in place of transmissions, or leave out saturated values.",
        )  # fmt: skip


def _x_log_x(x: np.ndarray) -> np.ndarray:
    """Return x log x, which a power slightly above one adds."""
    return np.asarray(x * np.log(np.maximum(np.abs(x), np.finfo(float).tiny)))


def _list_curves(weights: np.ndarray, components: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield what two curves of the response, and products of two components, add to entries and to components."""
    fitted = weights @ components
    yield fitted**2, components**2
    yield _x_log_x(fitted), _x_log_x(components)
    yield fitted**2 - weights**2 @ components**2, np.zeros_like(components)


def _measure_turn(components: np.ndarray, change: np.ndarray, mixing: Mixing) -> np.ndarray:
    """Return how far a change moves components, up to a factor: of each for "cone", of all for "simplex"; shape (r,)."""
    inner, squared = (change * components).sum(axis=1), (components**2).sum(axis=1)
    if mixing == "simplex":
        inner, squared = np.full(len(components), inner.mean()), np.full(len(components), squared.mean())
    squared = np.maximum(squared, np.finfo(float).tiny)
    turn = np.linalg.norm(change - (inner / squared)[:, None] * components, axis=1)
    return np.asarray(turn / np.sqrt(squared))
