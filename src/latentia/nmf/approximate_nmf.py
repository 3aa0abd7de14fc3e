"""Nonnegative factorization of rows without pure ones, with a certificate of how near to the best it is.

Model. M = A W + noise with A, W >= 0 and few components r. Nothing is assumed of the factors, so that finding the best ones is
hard in general; for small r the search has few unknowns: the rows of W lie near the span of the r leading singular vectors
(section 2.7), and there A = U S, W = S^-1 V for a matrix S of shape (r, r).

No factorization by r components, of any sign, has an error below that of the truncated singular value decomposition. The error
over this lower bound is the certificate: at 1 there is none better.

Source: R. Ge, thesis, Princeton 2013, section 2.7 (with S. Arora, R. Kannan, A. Moitra).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from scipy import sparse

from .. import _fields as of
from .._entries import missing_entries
from .._parameters import Integer, NComponents, Number, Seed, check_parameter
from .._validation import gaps_of, table_blocks, weighted
from ..evidence import Check, Misfit, PartErrors, at_least, at_most, bounds, error_checks
from ..exceptions import LatentiaError
from ..fitting.base import fitted, fitting
from ..fitting.stages import Fitted, Subset
from ..likelihood import over, refine
from ..linalg import completed, unit_rows
from ..passes import Blocks, Folds, accumulate, sample_rows
from ._descent import Descent, FactorSums, FactorUpdate, filled, row_weights
from ._evidence import (
    LEFT_OUT,
    Measured,
    by_other_columns,
    component_distances,
    gaps_checks,
    held_out_checks,
    structure,
    structure_check,
    surplus_check,
    trusted_error,
)
from ._misfit import Bend, noise_bias
from ._model import FactorModel, dense
from ._points import Table, leading_triplets, table_of
from ._selection import nonnegative_projections
from ._span import freedom, in_span, telling_apart

_FIRST, _TOL = 20, 1e-6  # rounds of descent of every start; change of the error at which the best of them end
_BEST = 3  # starts that are descended from to the end
_OF_PARTS = 2  # starts for a part of the rows
_TELLING = 2  # features, and rows, of one component without another
_SAME = 1.001  # times the least error, up to which another answer is as good
_NEAR = 1.2  # certificate up to which there is little to gain
_SHAKEN = 1e-3  # of their length, what rows of a start are moved by, so that none depend on each other
_EXACT = 1e-12  # share of the rows' length that counts as nothing
_SAMPLE = 2000
_AT_ONCE = 1 << 22  # entries of a table whose residual is computed, not subtracted from its size


class ApproximateNMF(FactorModel):
    """Nonnegative factorization by a search in the span of the rows, with a certificate.

    Choose it where no row is a component alone, so that `SeparableNMF` does not apply, and there are few components (up to
    about ten). It says how far its error can be from the least one, and whether other answers are as good, which scikit-learn's
    ``NMF`` does not.

    Parameters
    ----------
    n_components : int, "auto" or several, default=3
        Number of components r. A range or list tries each value and keeps the one the evidence recommends; so does "auto". See
        ``n_components_``, ``recommendation_`` and ``comparison_``. Each number costs a fit.
    n_init : int, default=10
        Starts of the search, the first from rows far apart, the others from rows drawn at random. It stops earlier where
        the certificate says that nothing is better.
    tol : float, default=1e-6
        Share by which the error may exceed its lower bound for the search to end.
    n_splits : int, default=3
        Splits of the rows into halves, whose fits give the expected errors. With 0 there are none.
    random_state : int, default=0
        Seed of starts and halves.
    n_jobs : int, optional
        Number of threads. Results are bitwise identical for any value.
    verbose : bool or int, default=False
        Whether to show progress and the remaining time.

    Attributes
    ----------
    components_ : ndarray of shape (r, d)
        Rows of W, of unit length times the root mean square weight, the one with the largest share first.
    weights_ : ndarray of shape (r,)
        Mean share of each component in a row.
    reconstruction_err_ : float
        |M - A W| in the Frobenius norm.
    relative_error_ : float
        The same over |M|.
    lower_bound_ : float
        What no factorization by r components is below, in the units of ``reconstruction_err_``: the length of what r singular
        vectors leave. Of more than 1,000 rows and features it is from a few passes, and may be a trifle too large; where cells
        are missing, it is that of the nearest table of rank r to the others, from turns that end before the last digit.
    certificate_ : float
        ``reconstruction_err_`` over ``lower_bound_``, at least 1.
    starts_ : ndarray of shape (n,)
        Error over lower bound that each start led to after its first rounds, in the order of the starts.
    evidence_ : Evidence
        Checks. Expected errors (``component_errors``) are distances of components to the true ones, all of unit length. They
        include how far other answers are that are as good as this one, and what residuals say of the noise, of a response that
        bends, and of structure beyond the components.
    n_passes_ : int
        Number of passes over the data, those for the expected errors not counted.

    Notes
    -----
    Differences from section 2.7:

    1. The net of all factors, `net_size` of them, is replaced by starts whose negative parts are reduced by descent on S;
       then what is left of them is cut, and rounds of exact least squares for A and coordinate descent for W follow. The
       convex program (2.4) has no part of its own.
    2. A' is from nonnegative least squares (the text of Lemma 2.53 says least squares).
    3. Cells may be missing, at random. Starts are in the span of the rows as completed to a table of rank r; rounds, errors
       and the evidence are of the cells that are there.

    References
    ----------
    R. Ge, thesis 2013, section 2.7, Theorem 2.49.

    Examples
    --------
    >>> import numpy as np
    >>> from latentia.nmf import ApproximateNMF
    >>> rng = np.random.default_rng(0)
    >>> M = rng.random((60, 2)) @ rng.random((2, 30)) + 0.05 * rng.random((60, 30))
    >>> model = ApproximateNMF(2).fit(M)
    >>> bool(model.certificate_ < 1.001)
    True
    """

    _constraints: ClassVar = {"n_init": Integer(1), "tol": Number(0)}
    _max_distance = float(np.sqrt(2))
    components_: Annotated[np.ndarray, of.numbers("K V", 0.0)]
    starts_: Annotated[np.ndarray, of.numbers("*", 0.0)]
    lower_bound_: Annotated[float, of.number(0.0)]
    certificate_: Annotated[float, of.number(0.0)]

    def __init__(
        self,
        n_components: NComponents = 3,
        *,
        n_init: int = 10,
        tol: float = 1e-6,
        n_splits: int = 3,
        random_state: Seed = 0,
        n_jobs: int | None = None,
        verbose: int = False,
    ) -> None:
        self.n_components = n_components
        self.n_init = n_init
        self.tol = tol
        self.n_splits = n_splits
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # --- fitting ------------------------------------------------------------------------------------------------

    @fitting
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> ApproximateNMF:
        """Search for the components.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or Blocks of shape (n_rows, d)
            Nonnegative. NaN is a cell that is missing, in tables that are not sparse; every row and column must have one that
            is there.
        y : ignored
        sample_weight : array-like of int, shape (n_rows,), optional
            How often each row is there.

        Returns
        -------
        self

        Raises
        ------
        LatentiaError
            If a parameter is out of its range, if X has infinite or negative entries or a row or column without a cell, or if
            there are more components than rows or features carry.
        """
        return self._fit_varying(weighted(table_blocks(self, X, reset=True, missing=True), sample_weight))

    def _moments(self, rows: Blocks, folds: Folds) -> None:
        """There are none: descent reads rows."""

    def _recover(self, moments: None, subset: Subset, full_fit: Any) -> _Found:
        """The best of the starts. Those are of a table whose missing cells are completed; the descent is on the others."""
        table = table_of(subset.rows, missing=True)
        blocks = Blocks.from_array(table.rows)
        _check_nonnegative(table)
        gaps = None if missing_entries(table.rows) is None else gaps_of(blocks)
        if gaps is not None:
            table = replace(table, rows=completed(table.rows, gaps, self.n_components))
        left, right, bound, energy = self._range_of(table, gaps)
        # Starts, each with a few rounds of descent.
        tried: list[_Tried] = []
        for start in self._starts(table, right, self.n_init if subset.is_whole else min(self.n_init, _OF_PARTS)):
            components = np.maximum(in_span(left, right, start) @ right, 0.0)
            tried.append(self._descended(_Tried(components, np.inf), blocks, table, _FIRST))
            if tried[-1].error <= max((1 + self.tol) * bound, _EXACT):
                break
        # The best of them to the end: of parts one, as other answers are looked for in all rows.
        first = [one.error for one in tried]
        order = sorted(range(len(tried)), key=lambda i: first[i])[: _BEST if subset.is_whole else 1]
        ended = [self._descended(tried[i], blocks, table, "auto") for i in order]
        found = self._in_order(ended, blocks, table)
        errors, share = np.array(first) / max(bound, _EXACT), 0.0 if gaps is None else float(gaps.mean())
        return _Found(*found, bound, energy, table.unit, errors, _as_good(ended), share)

    def _in_order(self, ended: list[_Tried], blocks: Blocks, table: Table) -> tuple[np.ndarray, np.ndarray, float]:
        """Components of the best, the strongest first, their shares, and its error."""
        best = min(ended, key=lambda one: one.error)
        sums: FactorSums = accumulate(blocks, FactorUpdate(best.components, "cone", Descent()), self.n_jobs)
        lengths = np.linalg.norm(best.components, axis=1, keepdims=True)
        strengths = np.diag(sums.gram)[:, None] * lengths**2
        order = np.argsort(-strengths[:, 0], kind="stable")
        components = best.components / np.where(lengths > 0, lengths, 1.0) * np.sqrt(strengths / max(sums.n_rows, 1))
        shares = np.sqrt(strengths[order, 0])
        return components[order], shares / max(float(shares.sum()), np.finfo(float).tiny), best.error

    def _range_of(self, table: Table, gaps: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, float, float]:
        """U and V of the best approximation without signs, its relative error, and the length of the table."""
        n, d = table.rows.shape
        r = self.n_components
        if r > min(n, d):
            raise LatentiaError(
                f"a table of {n} rows and {d} features supports at most {min(n, d)} components.",
                at_most=min(n, d), parameter="n_components", value=r,
            )  # fmt: skip
        energy = float((table.rows * table.rows).sum() if gaps is None else (table.rows[~gaps] ** 2).sum())
        if energy == 0:
            raise LatentiaError("All entries are zero: there is nothing to factorize.")
        left, sizes, right = leading_triplets(table.rows, r, self._seed)
        if len(sizes) < r:
            raise LatentiaError(
                f"the rows have rank {len(sizes)}, which supports at most {len(sizes)} components: they are a sum of no more.",
                at_most=len(sizes), parameter="n_components", value=r,
            )  # fmt: skip
        at_once = gaps is not None or n * d <= _AT_ONCE
        rest = dense(table.rows) - (left * sizes) @ right if at_once else None
        rest = rest if rest is None or gaps is None else np.where(gaps, 0.0, rest)
        beyond = energy - float((sizes**2).sum()) if rest is None else float(np.einsum("ij,ij->", rest, rest))
        roots = np.sqrt(sizes)
        return left * roots, roots[:, None] * right, math.sqrt(max(beyond, 0.0) / energy), math.sqrt(energy)

    def _starts(self, table: Table, right: np.ndarray, n: int) -> Iterator[np.ndarray]:
        """Matrices S whose components are rows of the table: r far apart, then r drawn at random."""
        rng, r, pseudo = np.random.default_rng(self._seed), self.n_components, np.linalg.pinv(right)
        coordinates = unit_rows(np.asarray(table.rows @ pseudo))
        coordinates = coordinates[coordinates.any(axis=1)]
        far = nonnegative_projections(coordinates, r)
        few = len(coordinates) < r
        for number in range(n):
            chosen = far if number == 0 and len(far) == r else rng.choice(len(coordinates), r, replace=few)
            yield np.linalg.pinv(coordinates[chosen] + _SHAKEN * rng.standard_normal((r, r)))

    def _descended(self, start: _Tried, blocks: Blocks, table: Table, rounds: Any) -> _Tried:
        descent = Descent(_TOL)
        update = FactorUpdate(start.components, "cone", descent)
        found = refine(update, over(blocks, self.n_jobs, self.verbose), rounds, until=descent.converged)
        sums: FactorSums = accumulate(blocks, update.at(*found.values), self.n_jobs)
        return _Tried(found.values[0], sums.relative_error)

    def _set_fitted_attributes(self, fitted: Fitted) -> None:
        found: _Found = fitted.model
        self.components_, self.weights_ = found.components * found.unit, found.shares
        size, bound = found.length * found.unit, min(found.bound, found.error)  # rounding may put the bound above
        self.relative_error_, self.reconstruction_err_, self.lower_bound_ = (
            found.error,
            found.error * size,
            bound * size,
        )
        self.certificate_ = 1.0 if found.error <= _EXACT**0.5 else found.error / max(bound, _EXACT)
        self.starts_, self.n_passes_ = found.starts, 1

    def _cost(self) -> Literal["algebra"]:
        return "algebra"

    def _distance(self, first: _Found, second: _Found, moments: None) -> np.ndarray:
        return component_distances(first.components, second.components, "cone")

    def _checks(self, fitted: Fitted) -> tuple[list[Check], PartErrors]:
        """Errors of parts, widened by what these share: answers that are as good, near or far, clipped noise, and misfit."""
        found: _Found = fitted.model
        parts = fitted.errors(self.n_splits)
        if parts.errors is not None and found.others:
            others = [component_distances(found.components, one, "cone") for one in found.others]
            parts = parts.widen(np.mean(others, axis=0), self._max_distance)
        rows = dense(sample_rows(fitted.rows, _SAMPLE)[0]) / found.unit
        weights = row_weights(rows, found.components, "cone", self.n_jobs)
        limit, apart = trusted_error(found.components, "cone")
        gaps = missing_entries(rows)
        whole = filled(rows, gaps, weights, found.components)
        bend = Bend.of(whole, found.components, "cone", self.n_jobs)
        misfit = structure(whole, found.components, "cone", self._seed)
        clipped = noise_bias(rows, found.components, self.n_splits, self._seed, self.n_jobs)
        for shared in (freedom(found.components, weights), clipped, bend.bias, misfit.bias(apart)):
            parts = parts.widen(shared, self._max_distance)
        return self._lines(found, rows, weights, parts, limit, bend, misfit), parts

    def _lines(
        self,
        found: _Found,
        rows: np.ndarray,
        weights: np.ndarray,
        parts: PartErrors,
        limit: float,
        bend: Bend,
        misfit: Misfit,
    ) -> list[Check]:
        gaps = missing_entries(rows)
        measured = Measured(
            filled(rows, gaps, weights, found.components), found.components, weights, "cone", np.ones(len(rows)),
            rows.shape[1], 0.0, np.ones(len(weights.T)), 0 if gaps is None else int(np.count_nonzero(gaps)),
        )  # fmt: skip
        lines = error_checks(parts, limit, "mean |w - w'|", "of unit length", "component")
        lines += [
            Check(
                "certificate", "|M - A W| / lower bound", self.certificate_, at_most(_NEAR),
                "No factorization by as many components has an error below the lower bound: at 1 there is none better.",
                "Theorem 2.49", "caution", "A better factorization may exist: raise n_init.",
            ),
            Check(
                "features and rows of one alone", "least of a pair", float(telling_apart(found.components, weights)),
                at_least(_TELLING), "Of one component without the other. Where there are none, other factors give the same "
                "rows; the theorem bounds the error of A W, not that of W.", "section 2.5", "caution",
                "Other components may give the same rows: do not read much into the small entries of these.",
            ),
            bend.check(limit),
            structure_check(misfit),
            surplus_check(measured),
        ]  # fmt: skip
        lines += held_out_checks(rows, found.components, "cone", self._seed)
        lines.append(
            Check(
                "freedom of the factors", "", float(freedom(found.components, weights).mean()), None,
                "How far a component can be moved along another with the same A W, of unit length; expected errors include it.",
                "section 2.2",
            )
        )  # fmt: skip
        lines.append(
            Check(
                "other answers that are as good", "", float(len(found.others)), None,
                f"Of {_BEST} starts that were followed to the end, others whose error is within {_SAME - 1:.1%} of the least.",
                "section 2.7",
            )
        )  # fmt: skip
        expect = by_other_columns(rows, found.components, "cone", self.n_jobs)
        return lines + gaps_checks(found.missing, LEFT_OUT, rows, expect, self._seed)

    def _distances(self, other: ApproximateNMF) -> np.ndarray:
        return component_distances(self.components_, other.components_, "cone")

    # --- use ----------------------------------------------------------------------------------------------------

    @fitted
    def net_size(self, eps: float | None = None) -> float:
        """Convex programs that the net of section 2.7 would have, for a relative error ``eps``.

        Parameters
        ----------
        eps : float, optional
            By default that of the fit.

        Returns
        -------
        float
        """
        eps = self.relative_error_ if eps is None else eps
        check_parameter("eps", eps, Number(0, 1))
        r = len(self.components_)
        cutoff = bounds.approximate_factorization_bounds(float(eps), r).cutoff
        of_rows = r * r * math.log1p(2 * math.sqrt(r) * cutoff / eps)
        of_directions = r * (r - 1) * math.log1p(2 / min(eps / (cutoff * r), 0.1))
        logarithm = of_rows + of_directions
        return math.exp(logarithm) if logarithm < math.log(np.finfo(float).max) else math.inf

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


@dataclass(frozen=True)
class _Tried:
    """Components, their relative error, and the passes that they took."""

    components: np.ndarray
    error: float


@dataclass(frozen=True)
class _Found:
    """What the search ends with, in the units of the table."""

    components: np.ndarray
    shares: np.ndarray
    error: float
    bound: float
    length: float
    unit: float
    starts: np.ndarray
    others: list[np.ndarray]
    missing: float


def _check_nonnegative(table: Table) -> None:
    entries = table.rows.data if sparse.issparse(table.rows) else table.rows
    least = float(np.fmin.reduce(entries, axis=None, initial=0.0))
    if least < 0:
        raise LatentiaError(
            f"Negative values in data, the least is {least * table.unit:.3g}: set those that are noise to "
            "zero, or use SeparableNMF."
        )


def _as_good(ended: list[_Tried]) -> list[np.ndarray]:
    """Components of those that are as good as the best."""
    best = min(ended, key=lambda one: one.error)
    return [one.components for one in ended if one is not best and one.error <= _SAME * best.error + _EXACT]
