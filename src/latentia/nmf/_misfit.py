"""What rows that are no mixtures with pure ones do to components: errors that fits with new noise cannot see.

*Without pure rows.* Least squares moves components to where all rows want them, whether or not any is pure. Where the model
holds it moves them by noise, about as far as it does in rows whose noise was drawn again; where components are outliers, or lie
inside of the hull of the true ones, or further ones are missing, it moves them by about their error.

*Structure beyond the components.* Where rows are more than mixtures and noise, components by least squares follow that. They
leave a direction then which noise does not, and move by a few times its size; without pure rows by far more. Vertices are rows,
and off by what a row has of it.

*A single row.* A component that no row but its own holds more of than noise makes it hold may be an outlier, or a mixture too
many: its error is as large as its distance to the next one.

*A response that bends.* A detector that reads f(x) for x does not read mixtures as mixtures of what it reads. With
f(x) = x + b g(x), residuals are b g of the fitted entries, as far as weights and components do not take these up: Tukey's one
degree of freedom. Components are then off by b g(w). Of g(x) = x^2 / m and x log(x / m), where m is the mean entry, the one is
taken that explains more, if that is about what there is beyond the components. Where components that are in a row together
interact, residuals are like products of two of them instead, and pure rows are right.

*Entries that cannot be negative.* Where rows have no pure ones, least squares with noise moves components towards each other or
apart, and those of all parts of the rows alike. So it does once more with residuals of random signs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..evidence import Check, above, at_most
from ..likelihood import over, refine
from ..linalg import unit_rows
from ..passes import Blocks
from ._descent import Descent, FactorUpdate, row_weights
from ._points import evenly

Mixing = Literal["simplex", "cone"]

_ROUNDS, ROWS = 20, 1000  # of least squares, and rows at most that it is done on
_MOST = 2.0  # times the squared distance that noise moves components, that noise alone seldom does
_PART = 1.25  # errors of components whose rows are not pure, in distances that so many rounds move them
_FARTHER = (
    30.0  # sizes of a structure that components move to follow it, at most: 1 to 13; without pure rows 100 and more
)
_DIRECTION = 1.5  # times what noise leaves in a direction, from which on it is a structure
_DIRECTIONS = 1.4  # times the size of a structure in its largest direction, that vertices are off: there are others
_MANY = 1e6  # times what noise gives, beyond which it does not matter
_SURE = 3.0  # standard errors of a bend that do not count,
_CERTAIN = 7.0  # if it is of so many: counts look bent by up to six,
_ALL = 0.85  # and explains so much of the largest direction beyond the components
_DRAWS = 2  # of noise, a split
_BY_CHANCE = 2.0  # times its variance that the square of a mean shift may be by chance
_OFF = 2.5  # times that shift that components are off
_VANISHED = 1e-20  # share of squared lengths that counts as nothing


def length_of(vertices: np.ndarray) -> float:
    """Root mean square length of components."""
    return max(float(np.sqrt(np.einsum("ij,ij->", vertices, vertices) / len(vertices))), np.finfo(float).tiny)


def moved(points: np.ndarray, vertices: np.ndarray, mixing: Mixing, n_jobs: int | None = None) -> np.ndarray:
    """How far least squares moves each vertex, over their length; of directions for "cone"; shape (r,)."""
    return _apart(vertices, _descended(_some(points), vertices, mixing, False, n_jobs), mixing)


def _apart(vertices: np.ndarray, found: np.ndarray, mixing: Mixing) -> np.ndarray:
    if mixing == "cone":
        vertices, found = unit_rows(vertices), unit_rows(found)
    return np.asarray(np.linalg.norm(found - vertices, axis=1) / length_of(vertices))


def left_by(rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """What weights leave of rows with the components that are best for them."""
    gram, cross = weights.T @ weights, weights.T @ rows
    return np.asarray(rows - weights @ np.linalg.lstsq(gram, cross, rcond=None)[0])


def beyond_span(rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """What the span of the components that are best for the weights leaves of rows, whatever their weights."""
    components = np.linalg.lstsq(weights, rows, rcond=None)[0]
    of_features = np.linalg.qr(components.T)[0]
    return np.asarray(rows - (rows @ of_features) @ of_features.T)


def largest_left(rows: np.ndarray, weights: np.ndarray, seed: int) -> tuple[float, float]:
    """Squared length of the largest direction that weights leave of rows, and of the same with random signs."""
    return largest_direction(left_by(rows, weights), seed)


def largest_direction(residual: np.ndarray, seed: int) -> tuple[float, float]:
    """Squared length of the largest direction of residuals, and of the same with random signs."""
    residual = residual.T if residual.shape[0] < residual.shape[1] else residual
    signs = np.random.default_rng([seed, 101]).choice([-1.0, 1.0], residual.shape)
    left, noise = (float(np.linalg.eigvalsh(one.T @ one)[-1]) for one in (residual, residual * signs))
    return left, noise


def followed(
    rows: np.ndarray, points: np.ndarray, vertices: np.ndarray, found: np.ndarray, mixing: Mixing, seed: int
) -> float | None:
    """Size of the structure that components follow from vertices to where they were found; None where it is not that.

    Over the length of components: what a row has of the largest direction that they leave. Some rows have all features, and
    ``points`` are their coordinates.
    """
    left, noise = largest_direction(beyond_span(rows, row_weights(points, found, mixing)), seed)
    size = float(np.sqrt(max(left - noise, 0.0) / len(rows))) / length_of(vertices)
    explains = left > _DIRECTION * noise and _apart(vertices, found, mixing).mean() < _FARTHER * size
    return size if explains else None


def noise_bias(
    rows: np.ndarray, components: np.ndarray, n_splits: int, seed: int, n_jobs: int | None = None
) -> np.ndarray:
    """The error that entries cut at zero make of components, by residuals of random signs; of directions, shape (r,)."""
    if not n_splits:
        return np.zeros(len(components))
    rows = _some(rows)
    (n, d), r, n_cells = rows.shape, len(components), np.count_nonzero(rows == rows)
    fitted = row_weights(rows, components, "cone", n_jobs) @ components
    free = np.sqrt(n_cells / max(n_cells - r * (n + d - r), 1))
    draws = []
    for number in range(_DRAWS * n_splits):
        signs = np.random.default_rng([seed, 103, number]).choice([-1.0, 1.0], rows.shape)
        drawn = np.maximum(fitted + free * signs * (rows - fitted), 0.0)
        draws.append(_descended(drawn, components, "cone", True, n_jobs))
    return bias_of(components, draws)


def bias_of(components: np.ndarray, draws: list[np.ndarray]) -> np.ndarray:
    """How far components are off on average, beyond chance, by fits to noise drawn again about them; of directions, shape (r,).

    Fits to such noise are nearer to what it was drawn about than that is to the truth: where noise has put zeros, zeros stay.
    """
    shifts = np.stack([unit_rows(one) for one in draws]) - unit_rows(components)
    chance = shifts.var(axis=0, ddof=1).sum(axis=1) / len(draws)
    squared = (shifts.mean(axis=0) ** 2).sum(axis=1) - _BY_CHANCE * chance
    return np.asarray(_OFF * np.sqrt(np.maximum(squared, 0.0)))


def _some(rows: np.ndarray) -> np.ndarray:
    return rows[evenly(len(rows), ROWS)]


def _descended(
    rows: np.ndarray, components: np.ndarray, mixing: Mixing, nonnegative: bool, n_jobs: int | None
) -> np.ndarray:
    update = FactorUpdate(components, mixing, Descent(), nonnegative)
    return np.asarray(refine(update, over(Blocks.from_array(rows), n_jobs), _ROUNDS).values[0])


@dataclass(frozen=True)
class WithoutPure:
    """How far least squares moves components, and how far noise alone has it do so.

    Attributes
    ----------
    moved : ndarray of shape (r,)
    noise : float or None
        Mean squared distance in fits with noise drawn again; None if there are none.
    structure : float or None
        Size of the structure that it follows, if it does.
    """

    moved: np.ndarray
    noise: float | None
    structure: float | None = None

    @classmethod
    def of(
        cls, rows: np.ndarray, points: np.ndarray, vertices: np.ndarray, mixing: Mixing, noise: float | None, seed: int
    ) -> WithoutPure:
        """Move the vertices of some points, whose rows have all features."""
        found = _descended(points, vertices, mixing, False, None)
        return cls(_apart(vertices, found, mixing), noise, followed(rows, points, vertices, found, mixing, seed))

    @property
    def bias(self) -> np.ndarray:
        """Error that it says each component has, shape (r,)."""
        noise = np.inf if self.noise is None else self.noise
        moved = np.asarray(_PART * np.sqrt(np.maximum(self.moved**2 - _MOST * noise, 0.0)))
        if self.structure is None:
            return moved
        # Of a row: vertices are off by that, or may lie among rows that have more of it.
        size = _DIRECTIONS * self.structure
        return np.asarray(np.sqrt(size * np.maximum(moved, size)))

    def check(self) -> Check:
        """One line, which asks for care where components move farther than noise moves them."""
        left = float((self.moved**2).mean())
        ratio = None if self.noise is None else left / max(self.noise, _VANISHED)
        return Check(
            "found without pure rows", "|w - w'|^2 / |N|^2", ratio, at_most(_MOST, "1 for noise"),
            "How far least squares from all rows, which needs no pure ones, moves the components, against how far it does "
            "where rows are mixtures with noise. Expected errors are widened by what is more.", "not in the papers", "caution",
            "Rows that are no component alone say that the components lie elsewhere: look for outliers, compare with other "
            "numbers of components, or use ApproximateNMF.",
        )  # fmt: skip


def shared(weights: np.ndarray, vertices: np.ndarray, mixing: Mixing, noise: float) -> np.ndarray:
    """What other rows than the purest one hold of each component, over what noise makes them hold; squares, shape (r,).

    Parameters
    ----------
    weights : ndarray of shape (m, r)
    vertices : ndarray of shape (r, k)
    noise : float
        Variance of a coordinate.
    """
    r, unit = len(vertices), length_of(vertices)
    covariance = vertices @ vertices.T / unit**2
    if mixing == "simplex":  # weights that sum to one
        covariance = np.block([[covariance, np.ones((r, 1))], [np.ones((1, r)), np.zeros((1, 1))]])
    variance = noise / unit**2 * np.diag(np.linalg.pinv(covariance, hermitian=True))[:r]
    squares = weights**2
    others = squares.sum(axis=0) - squares.max(axis=0)
    by_noise = len(weights) / 2 * np.maximum(variance, 0.0)  # half of it is below zero, and cut
    return np.asarray(np.minimum(others / np.maximum(by_noise, _VANISHED), _MANY))


def single_row_check(held: np.ndarray) -> Check:
    """One line, which asks for care where a component is in no other row."""
    return Check(
        "components in other rows", "least, over noise", float(held.min()), above(1),
        "Squared weights on a component in other rows than the one that is purest, against those that noise alone gives. Where "
        "there are no more, the expected error is the distance to the next component.", "not in the papers", "caution",
        "Some components are in one row alone: leave that out if it is an outlier, or ask for fewer components.",
    )  # fmt: skip


@dataclass(frozen=True)
class Bend:
    """How much the response bends, and the error that this makes of each component.

    Attributes
    ----------
    size : float or None
        b, of the curve that leaves less: below zero where the response saturates. None where rows leave nothing to tell it by.
    bias : ndarray of shape (r,)
        Over the length of the components; of directions for "cone".
    interacting : float
        Share of the largest direction beyond the components that products of two of them explain, where they explain more.
    """

    size: float | None
    bias: np.ndarray
    interacting: float = 0.0

    @classmethod
    def of(cls, rows: np.ndarray, components: np.ndarray, mixing: Mixing, n_jobs: int | None = None) -> Bend:
        """From some rows, all features of them; standard errors are those of sums over rows, or features, whichever is more."""
        weights = row_weights(rows, components, mixing, n_jobs)
        fitted, mean = weights @ components, max(float(np.abs(rows).mean()), np.finfo(float).tiny)
        of_rows, of_features = np.linalg.qr(weights)[0], np.linalg.qr(components.T)[0]

        def beyond(table: np.ndarray) -> np.ndarray:
            """What neither other components nor other weights take up."""
            left = table - of_rows @ (of_rows.T @ table)
            return np.asarray(left - (left @ of_features) @ of_features.T)

        residual, best, found = beyond(rows), 0.0, cls(None, np.zeros(len(components)))
        left, noise = largest_direction(residual, 0)
        structure = max(left - noise, _VANISHED * left, np.finfo(float).tiny)
        for entries, added in _curved(weights, components / mean):
            bent = beyond(mean * entries)
            size, along = float((bent**2).sum()), float((residual * bent).sum())
            if size <= _VANISHED * float((fitted**2).sum()) or along**2 / size <= best:
                continue
            scores = (residual - along / size * bent) * bent
            error = max(float(np.linalg.norm(scores.sum(axis=axis))) for axis in (0, 1))
            best = along**2 / size
            certain = abs(along) > _CERTAIN * error and best > _ALL * structure
            surely = (abs(along) - _SURE * error) / size if certain else 0.0
            share = min(best / structure, 1.0) if certain and not added.any() else 0.0
            found = cls(along / size, surely * _turned(components, mean * added, mixing), share)
        return found

    def check(self, limit: float) -> Check:
        """One line, which asks for care where the bend alone makes errors of half the limit."""
        bend = "not measured" if self.size is None else f"{self.size:+.2g}"
        return Check(
            "straight response", "mean |w - f(w)|", float(self.bias.mean()), at_most(limit / 2),
            f"The error of components if entries are f(x) = x + b g(x), with b = {bend}, less its noise; g is x^2 or x log x, "
            "over the mean entry. Expected errors are widened by it.", "Tukey 1949", "caution",
            "Entries of mixtures are not the sums of their parts: the response bends. Make it straight first, such as by "
            "absorbances in place of transmissions, or leave out what is saturated.",
        )  # fmt: skip


def _power(x: np.ndarray) -> np.ndarray:
    """What a power a little above one adds: x log x."""
    return np.asarray(x * np.log(np.maximum(np.abs(x), np.finfo(float).tiny)))


def _curved(weights: np.ndarray, components: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """What curves of the response, and products of two components of a row, add to entries and to components."""
    fitted = weights @ components
    yield fitted**2, components**2
    yield _power(fitted), _power(components)
    yield fitted**2 - weights**2 @ components**2, np.zeros_like(components)


def _turned(components: np.ndarray, added: np.ndarray, mixing: Mixing) -> np.ndarray:
    """How far what is added moves components, but for a factor: of each for "cone", of all for "simplex"; shape (r,)."""
    inner, squared = (added * components).sum(axis=1), (components**2).sum(axis=1)
    if mixing == "simplex":
        inner, squared = np.full(len(components), inner.mean()), np.full(len(components), squared.mean())
    squared = np.maximum(squared, np.finfo(float).tiny)
    off = np.linalg.norm(added - (inner / squared)[:, None] * components, axis=1)
    return np.asarray(off / np.sqrt(squared))
