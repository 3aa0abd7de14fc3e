"""Separable nonnegative factorization: rows that are mixtures of a few of them.

Model. X = A W + noise, A >= 0. Each of the r rows of W, the components, is a row of X: some rows are one component alone (pure
pixels of an image, anchor words of a word table). Rows of A sum to one ("simplex"), or to anything ("cone"); then only the
direction of a component is known, and rows are scaled to sum to one first.

The components are then the vertices of the hull of the rows, and finding them is geometry, not search: one answer, in
polynomial time, where nonnegative factorization in general is hard.

Source: R. Ge, thesis, Princeton 2013, sections 2.5, 2.6 and 3.5 and Algorithm 4.3 (with S. Arora, R. Kannan, A. Moitra).
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from scipy import sparse

from .. import _fields as of
from .._parameters import Choice, Flag, NComponents, Number, OrNone, Seed
from .._validation import gaps_of, missing_cells, table_blocks
from ..evidence import Check, PartErrors, mean_repeat_shares
from ..exceptions import EvidenceWarning, LatentiaError, warn
from ..fitting.base import fitting
from ..fitting.stages import Fitted, Subset, fit_alone
from ..likelihood import Refine, Refinement, over
from ..linalg import completed
from ..moments import ColumnSpan, span_without_constants
from ..passes import Blocks, Folds, accumulate, assign_folds, sample_rows
from ._anchors import METHODS, Members, Method, Selection, found_by, means, pooled, raced
from ._descent import Descent, FactorSums, FactorUpdate, refined, row_weights
from ._evidence import Measured, Redrawn, by_other_columns, component_distances, evidence_checks, gaps_checks
from ._misfit import ROWS, followed
from ._model import FactorModel, dense
from ._points import Points, Table, table_of

Mixing = Literal["simplex", "cone"]
_AS_GOOD = 1.1  # times the residual variance of the cone, up to which the simplex is taken
_EXACT = 1e-20  # share of the rows' squared length that counts as nothing
_PROGRAMS = "lp", "robust-lp", "loners"  # whose l1 distances singular vectors would change
_ROUNDS = 30  # of descent in a fit with noise drawn again
_SAMPLE = 2000


class _Rows(NamedTuple):
    """The rows, and whether they are nonnegative."""

    table: Table
    nonnegative: bool


class _Vertices(NamedTuple):
    """The points that were searched, the vertices among them, and these with the points that are near."""

    points: Points
    selection: Selection
    pooled: Selection


class _Factors(NamedTuple):
    """Components, the points that they began as, sums of a pass with them, shares, and what the rounds left."""

    components: np.ndarray
    members: Selection
    sums: FactorSums
    shares: np.ndarray
    refinement: Refinement
    n_passes: int


_COMPLETED = "They were completed to a table of low rank, and expected errors take them as if they had been there."


class SeparableNMF(FactorModel):
    """Nonnegative factorization whose components are rows of the data.

    Choose it where some rows are one component alone, or nearly: pixels of a spectral image, samples of a mixture experiment,
    words by documents (transpose a document table, then the anchors are words). There is one answer, no seed and no restarts.
    Where no row is pure, use `ApproximateNMF` or scikit-learn's ``NMF``; the evidence says whether that is so.

    It can stand where scikit-learn's ``NMF`` stands.

    Parameters
    ----------
    n_components : int, "auto" or several, default=5
        Number of components r. A range or list tries each value and keeps the one the evidence recommends; so does "auto". See
        ``n_components_``, ``recommendation_`` and ``comparison_``. Each number costs a fit.
    method : str, default="auto"
        How the vertices are found. "auto" runs five searches and takes the one with the least residual: "spa", "farthest",
        "whitened", "spa-spa" and "snpa".

        - "spa": farthest from the span of those found (successive projections);
        - "farthest": from the affine span, then each once more (Algorithm 4.3);
        - "whitened", "spa-spa": "spa" after whitening, or after the vertices of a first search were made orthonormal:
          for components that nearly depend on each other;
        - "snpa": farthest from the hull of those found: for more components than dimensions, and against noise in weak
          directions;
        - "xray": extreme rays of a cone;
        - "smoothed": "spa" with means of rows in place of rows;
        - "lp": rows outside of the hull of the others (Theorem 2.46), for data without noise;
        - "robust-lp" (Theorem 2.48), "loners" (section 3.5): the same with noise of ``eps``.
    mixing : {"auto", "simplex", "cone"}, default="auto"
        Whether weights of a row sum to one. "auto" takes "simplex" if it leaves hardly more of the rows.
    eps : float, optional
        l1 noise of a row, for "robust-lp" and "loners": in the units of the data, or for "cone" of rows that sum to one. By
        default the least of a series that leaves r groups of loners.
    pooled : bool, default=True
        Whether a component is the mean of the rows near its anchor, where that has less noise and hardly any bias. False keeps
        the anchors themselves.
    refine : int or "auto", default=0
        Rounds at most of coordinate descent from the components, each a pass over the data. They end where the rows are in the
        hull but for noise, or the error converges; components are then no longer rows of the data. The vertices stay, and
        ``n_iter_`` is 0, where rows have structure beyond r components that the rounds would fit.
    n_splits : int, default=3
        Times that noise is drawn again for the expected errors; each costs a search. With 0 there are none.
    random_state : int, default=0
        Seed of the noise that is drawn again. The components do not depend on it.
    n_jobs : int, optional
        Number of threads. Results are bitwise identical for any value.
    verbose : bool or int, default=False
        Whether to show progress and the remaining time.

    Attributes
    ----------
    anchors_ : ndarray of int, shape (r,)
        Rows of the data that stand for the components.
    components_ : ndarray of shape (r, d)
        Rows of W, in the units of the data, the one with the largest share first.
    weights_ : ndarray of shape (r,)
        Mean share of each component in a row: of its weights, or for "cone" of its sum.
    method_ : str
        The search that was taken.
    mixing_kind_ : {"simplex", "cone"}
    reconstruction_err_ : float
        |X - A W| in the Frobenius norm.
    relative_error_ : float
        The same over |X|.
    refinement_ : ndarray of shape (n_rounds,)
        Log-likelihood of the rows in every round, in nats, at its best variance of the noise.
    n_iter_ : int
        Number of steps of refinement.
    converged_ : bool
        Whether further steps would gain only a negligible amount; only ``refine="auto"`` looks at that.
    evidence_ : Evidence
        Checks of the assumptions. Expected errors (``component_errors``) are distances |w - w'| to the true components, over
        the root mean square length of components; for "cone" of components scaled to unit length.
    n_passes_ : int
        Number of passes over the data.

    Notes
    -----
    All rows are held in memory. Rows of more than twice 3 r + 20 features are replaced by their coordinates on that many
    leading singular vectors, which keep what tells components apart; means of rows are taken with all features.

    Differences from the thesis:

    1. Rows that sum to less than a tenth of the median row's sum are not scaled to one: their noise would be (all rows are, in
       the thesis).
    2. "auto", "pooled" and "refine" are not in the thesis, nor are "whitened", "spa-spa", "snpa", "xray" and "smoothed", which
       section 2.6 compares with.
    3. Theorem 2.48's constant is mended: the neighbourhood is 10 eps / alpha + 2 eps; and Definition 3.23 asks for a distance
       of more than 2 eps.
    4. Entries may be negative, with a warning: what is asked of the weights does not need positive rows.
    5. Cells may be missing, at random: the rows are then completed to a table of rank r, and fitted as whole ones.

    References
    ----------
    R. Ge, thesis 2013, sections 2.5, 2.6, 3.5, 4.2. S. Arora, R. Ge, R. Kannan, A. Moitra, STOC 2012.

    Examples
    --------
    >>> from latentia.datasets import planted
    >>> from latentia.nmf import SeparableNMF
    >>> data = planted.separable_rows(500, 60, 4, n_pure=3, noise=0.02)
    >>> X = data.X.clip(0)
    >>> model = SeparableNMF(4).fit(X)
    >>> model.transform(X).shape
    (500, 4)
    """

    _gaps: np.ndarray | None = None  # within a fit, the cells that are missing
    _rival: ClassVar[str] = "It includes the distance to a rival, least squares from all rows."
    _constraints: ClassVar = {
        "method": Choice(*METHODS),
        "mixing": Choice("auto", "simplex", "cone"),
        "eps": OrNone(Number(0)),
        "pooled": Flag(),
    }
    anchors_: Annotated[np.ndarray, of.places("K")]
    method_: str
    mixing_kind_: Mixing
    refinement_: Annotated[np.ndarray, of.numbers("*")]
    n_iter_: Annotated[int, of.count()]
    converged_: bool

    def __init__(
        self,
        n_components: NComponents = 5,
        *,
        method: Method = "auto",
        mixing: Literal["auto", "simplex", "cone"] = "auto",
        eps: float | None = None,
        pooled: bool = True,
        refine: Refine = 0,
        n_splits: int = 3,
        random_state: Seed = 0,
        n_jobs: int | None = None,
        verbose: int = False,
    ) -> None:
        self.n_components = n_components
        self.method = method
        self.mixing = mixing
        self.eps = eps
        self.pooled = pooled
        self.refine = refine
        self.n_splits = n_splits
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # --- fitting ------------------------------------------------------------------------------------------------

    @fitting
    def fit(self, X: Any, y: Any = None) -> SeparableNMF:
        """Find the components.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or Blocks of shape (n_rows, d)
            NaN is a cell that is missing, in tables that are neither sparse nor Blocks; every row and column must have one that
            is there.
        y : ignored

        Returns
        -------
        self

        Raises
        ------
        LatentiaError
            If a parameter is out of its range, or if X has infinite entries, or a row or column without a cell.
        """
        rows = table_blocks(self, X, reset=True, missing=True)
        gaps = None if isinstance(X, Blocks) else gaps_of(rows)
        self._gaps = gaps
        self._fit_varying(rows)
        del self._gaps
        return self

    def _span_of(self, rows: Any, more: Sequence[Any]) -> ColumnSpan | None:
        return span_without_constants(rows)

    def _fit_rows(self, rows: Blocks, *more: Any) -> SeparableNMF:
        self._gaps = None if self._gaps is None else missing_cells(rows)
        return self._fit_stages(rows if self._gaps is None else self._completed(rows, self._gaps))

    def _completed(self, rows: Blocks, gaps: np.ndarray) -> Blocks:
        """The rows, completed to a table of as low a rank as there are components; nonnegative if the others are."""
        table = np.vstack([np.asarray(block[0], dtype=np.float64) for block in rows])
        found = completed(table, gaps, self.n_components)
        return Blocks.from_array(np.maximum(found, min(float(np.nanmin(table)), 0.0)), names=rows.names)

    def _assign_folds(self, rows: Blocks) -> Folds:
        return Folds(1, self._seed)  # parts are not of the rows: their noise is drawn again

    def _moments(self, rows: Blocks, folds: Folds) -> _Rows:
        """The rows themselves, which are searched."""
        table = table_of(rows)
        return _Rows(table, self._signs(table))

    def _recover(self, moments: _Rows, subset: Subset, full_fit: Any) -> _Vertices:
        """Vertices, on the simplex or in the cone, and the rows near each."""
        points, selection = self._selected(moments.table)
        return _Vertices(points, selection, self._pooled(points, selection))

    def _refine(self, recovered: _Vertices, moments: _Rows, subset: Subset, full_fit: Any) -> _Factors:
        """Rounds of descent, and a pass with the components that they end with; the largest share first."""
        table, mixing, some = moments.table, recovered.points.mixing, recovered.points.some(_SAMPLE)
        components = table.means(recovered.pooled.members, recovered.points)
        descent = Descent(outside=lambda now: self._outside(some, now))
        start = FactorUpdate(components, mixing, descent, moments.nonnegative, 1 / table.unit)
        refinement = refined(start, over(subset.rows, self.n_jobs, self.verbose), self.refine)
        before, after = (some.of(one) for one in (components, *refinement.values))
        if descent.errors and followed(
            table.scaled(recovered.points, _SAMPLE), some.points, before, after, mixing, self._seed
        ):
            refinement = Refinement.no_steps(components)
        last = start.at(*refinement.values)
        _require_components(last.components, mixing)
        sums: FactorSums = accumulate(subset.rows, last, self.n_jobs)
        order = np.argsort(-sums.shares, kind="stable")
        members = [recovered.pooled.members[k] for k in order]
        return _Factors(
            last.components[order], recovered.pooled._replace(members=members), sums, sums.shares[order],
            refinement, len(descent.errors),
        )  # fmt: skip

    def _set_fitted_attributes(self, fitted: Fitted) -> None:
        model: _Factors = fitted.model
        table: Table = fitted.moments.table
        self.components_, self.anchors_ = model.components * table.unit, table.first[model.members.anchors]
        self.weights_ = model.shares / max(float(model.sums.shares.sum()), np.finfo(float).tiny)
        self.method_, self.mixing_kind_ = fitted.recovered.selection.method, fitted.recovered.points.mixing
        self.reconstruction_err_ = float(np.sqrt(model.sums.left)) * table.unit
        self.relative_error_ = model.sums.relative_error
        self._set_refinement_attributes(model.refinement)
        self.n_passes_ = 2 + model.n_passes

    def _checks(self, fitted: Fitted) -> tuple[list[Check], PartErrors]:
        """Errors of fits to rows whose noise was drawn again, and what the theorem assumes of the rows."""
        points, selection, _ = fitted.recovered
        model: _Factors = fitted.model
        members, table = model.members, fitted.moments.table
        rounds, vertices = len(model.refinement.log_likelihood), members.vertices(points.points)
        measured = self._measured(points, points.of(model.components) if rounds else vertices)
        counts = (measured.weights**2).sum(axis=0) if rounds else np.array([len(own) for own in members.members])
        measured, eps = replace(measured, counts=counts), self._eps(table, selection.scaled)
        rounds = min(rounds, _ROUNDS)
        redrawn = Redrawn.of(
            measured, lambda drawn: self._again(measured, selection, drawn, eps, rounds), self.n_splits, self._seed
        )  # fmt: skip
        rows = dense(sample_rows(fitted.rows, _SAMPLE)[0]) / table.unit
        others = {one: means(points.points, own) for one, own in selection.others.items()}
        some = table.scaled(points, ROWS), points.some(ROWS).points
        way = component_distances(measured.vertices, vertices, points.mixing)
        checks, parts = evidence_checks(measured, redrawn, rows, some, way, model.components, others, self._seed)
        return checks + self._gaps_checks(fitted, model.components), parts

    def _gaps_checks(self, fitted: Fitted, components: np.ndarray) -> list[Check]:
        if self._gaps is None:
            return []
        (rows,) = sample_rows(Blocks.from_array(np.where(self._gaps, np.nan, fitted.rows.table())), _SAMPLE)
        some = rows / fitted.moments.table.unit
        expect = by_other_columns(some, components, fitted.recovered.points.mixing, self.n_jobs)
        return gaps_checks(float(self._gaps.mean()), _COMPLETED, some, expect, self._seed)

    def _repeat_shares(self, fitted: Fitted) -> np.ndarray | None:
        """By the weights of rows, on halves of them: a component is in a half that has another row like it."""
        folds, halves = assign_folds(fitted.rows, self._seed), []
        settings = {"method": self.method_, "mixing": self.mixing_kind_, "refine": 0}
        for half in folds.splits[0] if self.n_splits else ():
            with contextlib.suppress(LatentiaError), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                other = fit_alone(self, fitted.rows.group(half, folds), settings)
                other.method._set_fitted_attributes(other)
                component_view = other.method._component_view(fitted)
                halves += [] if component_view is None else [component_view]
        return mean_repeat_shares(self._component_view(fitted), halves)

    def _signs(self, table: Table) -> bool:
        """Whether all entries are nonnegative; a warning where some are not."""
        entries = table.rows.data if sparse.issparse(table.rows) else table.rows
        least = float(entries.min(initial=0.0))
        if least < 0:
            share = float((entries < 0).sum()) / max(table.rows.shape[0] * table.rows.shape[1], 1)
            warn(
                f"{share:.1%} of the entries are negative, the least is {least * table.unit:.3g}. Weights will be nonnegative, "
                "components may have negative entries. If they should not, set them to zero first.",
                EvidenceWarning,
            )
        return least >= 0

    def _selected(self, table: Table) -> tuple[Points, Selection]:
        """Vertices by the best of the searches; of both kinds of mixing the simplex, unless the cone leaves clearly less."""
        cone = self._found(table, "cone") if self.mixing == "cone" else None
        if cone is not None and self.method != "auto":
            return cone[0], Selection.of(cone[1], self.method, self.method, scaled=True)
        plain, found = self._found(table, "simplex")
        first, left = raced(found, plain.points, "simplex", self.n_jobs)
        simplex = plain, Selection.of(found, first, first, scaled=False)
        if self.mixing == "simplex":
            return simplex
        try:
            scaled, of_scaled = cone or self._found(table, "cone")
        except LatentiaError:
            return simplex
        both = {(one, False): own for one, own in found.items()} | {(one, True): own for one, own in of_scaled.items()}
        best, least = raced(both, plain.points, "cone", self.n_jobs)
        free = max(table.rows.shape[1] - self.n_components, 1)
        if self.mixing == "auto" and left <= _AS_GOOD * least * (free + 1) / free + _EXACT * plain.energy:
            return simplex
        return scaled, Selection.of(both, best, best[0], scaled=best[1])

    def _found(self, table: Table, mixing: Mixing) -> tuple[Points, dict[str, Members]]:
        points = table.points(mixing, self.n_components, self._seed, exact=self.method in _PROGRAMS)
        eps = self._eps(table, mixing == "cone")
        return points, found_by(self.method, points.points, self.n_components, eps=eps, n_jobs=self.n_jobs)

    def _eps(self, table: Table, scaled: bool) -> float | None:
        """The noise of a row in the units of the points."""
        return self.eps if self.eps is None or scaled else self.eps / table.unit

    def _pooled(self, points: Points, selection: Selection) -> Selection:
        if not self.pooled:
            return selection
        measured = self._measured(points, selection.vertices(points.points))
        return pooled(points.points, selection, measured.weights, *measured.sizes)

    def _measured(self, points: Points, vertices: np.ndarray) -> Measured:
        weights = row_weights(points.points, vertices, points.mixing, self.n_jobs)
        return Measured(
            points.points,
            vertices,
            weights,
            points.mixing,
            points.scales,
            points.dimension,
            points.outside,
            np.ones(len(vertices)),
        )

    def _outside(self, points: Points, components: np.ndarray) -> float:
        """What the hull of components leaves of the points, over what noise leaves."""
        return self._measured(points, points.of(components)).outside_noise(self._seed, self.n_jobs)

    def _again(
        self, measured: Measured, selection: Selection, drawn: np.ndarray, eps: float | None, rounds: int
    ) -> Measured:
        """The same fit to points whose noise was drawn again."""
        scales = measured.scales[:, None]
        searched = drawn if selection.scaled else drawn / np.where(scales > 0, scales, 1.0)
        method: Any = selection.method
        found = found_by(method, searched, self.n_components, eps=eps, n_jobs=self.n_jobs)
        own = Selection.of(found, selection.method, selection.method, selection.scaled)

        again = measured.at(drawn, own.vertices(drawn), self.n_jobs)
        if self.pooled:
            again = measured.at(drawn, pooled(drawn, own, again.weights, *again.sizes).vertices(drawn), self.n_jobs)
        if rounds:
            descent = Descent(
                outside=lambda now: again.at(drawn, now, self.n_jobs).outside_noise(self._seed, self.n_jobs)
            )
            update = FactorUpdate(again.vertices, measured.mixing, descent, bool(drawn.min() >= 0))
            rounded = refined(update, over(Blocks.from_array(drawn), self.n_jobs), rounds)
            again = measured.at(drawn, rounded.values[0], self.n_jobs)
        return again

    def _distances(self, other: SeparableNMF) -> np.ndarray:
        return component_distances(self.components_, other.components_, self.mixing_kind_)


def _require_components(components: np.ndarray, mixing: str) -> None:
    if not components.any():
        message = "all components are zero: sums of most rows are not positive. Use mixing='simplex'."
        raise LatentiaError(message, parameter="mixing", value=mixing)
