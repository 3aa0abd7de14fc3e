"""What rows that are no mixtures with pure ones do to components: errors that fits with new noise cannot see.

*Without pure rows.* Least squares moves components to where all rows want them, whether or not any is pure. Where the model
holds it moves them by noise, about as far as it does in rows whose noise was drawn again; where components are outliers, or lie
inside of the hull of the true ones, or further ones are missing, it moves them by about their error.

*A single row.* A component that no row but its own holds more of than noise makes it hold may be an outlier, or a mixture too
many: its error is as large as its distance to the next one.

*A response that bends.* A detector that reads f(x) for x does not read mixtures as mixtures of what it reads. With
f(x) = x + b x^2 / m, where m is the mean entry, residuals are b times the squares of fitted entries, as far as weights and
components do not take these up: Tukey's one degree of freedom. Components are then off by b w^2 / m.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..evidence import Check, above, at_most
from ..likelihood import over, refine
from ..linalg import unit_rows
from ..passes import Blocks
from ._descent import Descent, FactorUpdate, row_weights

Mixing = Literal["simplex", "cone"]

_ROUNDS, _ROWS = 20, 1000  # of least squares, and points at most that it is done on
_MOST = 2.0  # times the squared distance that noise moves components, that noise alone seldom does
_PART = 1.25  # errors of components whose rows are not pure, in distances that so many rounds move them
_MANY = 1e6  # times what noise gives, beyond which it does not matter
_SURE = 3.0  # standard errors of a bend that do not count
_VANISHED = 1e-20  # share of squared lengths that counts as nothing


def length_of(vertices: np.ndarray) -> float:
    """Root mean square length of components."""
    return max(float(np.sqrt(np.einsum("ij,ij->", vertices, vertices) / len(vertices))), np.finfo(float).tiny)


def moved(points: np.ndarray, vertices: np.ndarray, mixing: Mixing, n_jobs: int | None = None) -> np.ndarray:
    """How far least squares moves each vertex, over their length; of directions for "cone"; shape (r,)."""
    some = np.linspace(0, len(points) - 1, min(len(points), _ROWS)).astype(np.int64)
    update = FactorUpdate(vertices, mixing, Descent(), nonnegative=False)
    found = refine(update, over(Blocks.from_array(points[some]), n_jobs), _ROUNDS).values[0]
    if mixing == "cone":
        vertices, found = unit_rows(vertices), unit_rows(found)
    return np.asarray(np.linalg.norm(found - vertices, axis=1) / length_of(vertices))


@dataclass(frozen=True)
class WithoutPure:
    """How far least squares moves components, and how far noise alone has it do so.

    Attributes
    ----------
    moved : ndarray of shape (r,)
    noise : float or None
        Mean squared distance in fits with noise drawn again; None if there are none.
    """

    moved: np.ndarray
    noise: float | None

    @property
    def bias(self) -> np.ndarray:
        """Error that it says each component has, shape (r,)."""
        noise = np.inf if self.noise is None else self.noise
        return np.asarray(_PART * np.sqrt(np.maximum(self.moved**2 - _MOST * noise, 0.0)))

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
    """How much an entry of mean size bends, and the error that this makes of each component.

    Attributes
    ----------
    size : float or None
        b: below zero where the response saturates. None where rows leave nothing to tell it by.
    bias : ndarray of shape (r,)
        Over the length of the components; of directions for "cone".
    """

    size: float | None
    bias: np.ndarray

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

        squares, residual = beyond(fitted**2 / mean), beyond(rows)
        size = float(np.einsum("ij,ij->", squares, squares))
        if size <= _VANISHED * float(np.einsum("ij,ij->", fitted, fitted)):
            return cls(None, np.zeros(len(components)))
        bend = float(np.einsum("ij,ij->", residual, squares)) / size
        scores = (residual - bend * squares) * squares
        error = max(float(np.linalg.norm(scores.sum(axis=axis))) for axis in (0, 1)) / size
        away = components**2 / mean  # but for a factor, of each component or of all
        axis: Any = 1 if mixing == "cone" else None
        along = (away * components).sum(axis=axis, keepdims=True) / np.maximum(
            (components**2).sum(axis=axis, keepdims=True), np.finfo(float).tiny
        )
        off = np.linalg.norm(away - along * components, axis=1)
        lengths: Any = np.linalg.norm(components, axis=1) if mixing == "cone" else length_of(components)
        surely = max(abs(bend) - _SURE * error, 0.0)
        return cls(bend, surely * off / np.maximum(lengths, np.finfo(float).tiny))

    def check(self, limit: float) -> Check:
        """One line, which asks for care where the bend alone makes errors of half the limit."""
        bend = "not measured" if self.size is None else f"{self.size:+.2g}"
        return Check(
            "straight response", "mean |w - f(w)|", float(self.bias.mean()), at_most(limit / 2),
            f"The error of components if entries are f(x) = x + b x^2 / m, where m is the mean entry and b = {bend}, less its "
            "noise. Expected errors are widened by it.", "Tukey 1949", "caution",
            "Entries of mixtures are not the sums of their parts: the response bends. Make it straight first, such as by "
            "absorbances in place of transmissions, or leave out what is saturated.",
        )  # fmt: skip
