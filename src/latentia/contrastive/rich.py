"""Rich component analysis: views that are sums of components, each of which some of the views share.

Model. There are k views of d columns, and independent components S_j with values in R^d, each in the views of a set Q_j,

    U_i = sum_(j : i in Q_j) A^(i,j) S_j,

with unknown invertible maps A^(i,j), the identity for the first view of Q_j. The components may have any distribution whose
cumulants of some order do not vanish; nothing else is assumed of them, and each may be as complex as it likes.

Source: R. Ge and J. Zou, Rich component analysis, 2015, section 3.2 and appendix B.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from scipy import sparse

from .. import _fields as of
from .._parameters import Anything, Integer
from .._validation import check_same_rows, finite_blocks, weighted
from ..evidence import Check, Evidence, Misfit, PartErrors, above, at_least, at_most, error_checks, mean_cosine
from ..evidence.limits import MAX_RELATIVE_ERROR
from ..exceptions import EvidenceWarning, LatentiaError, warn
from ..fitting.base import fitted, fitting
from ..fitting.stages import Fitted, Staged, Subset
from ..linalg.ratios import ratio_of
from ..moments import ColumnSpan, span_of
from ..passes import Blocks, Folds, assign_folds
from ._rich_maps import FIRM_DEVIATIONS, Parts, Plan, ResidualSums, find_parts, measure_residual_cumulants, solve
from ._rich_moments import MAX_ORDER, N_GROUPS, RowCumulants, ViewCumulants, read_cumulants, scale_modes
from ._sets import SetSystem, Views, set_system
from .views import FOLD_SEED, view_table

_MIN_SCORE = 4.0  # standard deviations of noise: of some 230 components that were zero, none had 3.6
_MAX_CONDITION = 30.0  # the inverse of a map with a larger condition number is mostly noise
_ROUNDING = 1e-6  # least noise as a share of all, for views that determine each other
_MIN_ROWS = 64
_MAX_CUMULANT_ORDER = 6
_MAX_DISTINGUISHING = _MAX_CUMULANT_ORDER - 1


@dataclass(frozen=True)
class _Views:
    """The declared sets, and the cumulants of the views."""

    declared_system: SetSystem
    cumulants: ViewCumulants


class _Choices(NamedTuple):
    """The plan of the full fit, and the cumulants that go with it."""

    plan: Plan
    jackknife_cumulants: list[RowCumulants]
    n_passes: int


@dataclass(frozen=True)
class _Recovery:
    """The plan for components, their maps, and the cumulants of all rows without a group each."""

    plan: Plan
    parts: Parts
    jackknife_cumulants: list[RowCumulants]
    n_passes: int


class RichComponents(Staged[_Views, _Recovery]):
    """Rich component analysis: linear maps and cumulants of components that views share.

    The fit is deterministic, makes two passes over the data, and gives an expected error for every component in several views.

    Choose it for several tables of the same rows and of equally many columns (laboratories, instruments, modalities), where the
    question is which part belongs to one view, or to some of them alone. It learns the cumulants of each component without a
    model of any component: use these with methods of moments. Components must not be Gaussian, and samples must be large: with
    three views of five columns and all seven components the maps have relative errors of .3 at 10,000 rows, .06 at 100,000 and
    .03 at 500,000 if components are exponential; .2 at 100,000 if they are uniform. For two views of which only one is of
    interest, the other classes of this module need far fewer rows.

    Parameters
    ----------
    subsets : list of tuple of int, optional
        The views Q_j of every component, by numbers from 0. By default all 2^k - 1 subsets of the views, for up to three views.
        Fewer sets make the answer more precise: leave out those that cannot have a component.
    order : int or "auto", default="auto"
        Order of the cumulants that identify the maps. "auto" uses all that do up to four, and a higher one where none does.
        Third cumulants are zero for symmetric components, and better for others.
    n_splits : int, default=3
        Number of splits into halves, at most 3, whose fits, and those on three quarters, give the expected errors.
        They cost no pass over the data. With 0 no errors are measured.
    n_jobs : int, optional
        Number of threads. Results are bitwise identical for any value.
    verbose : bool or int, default=False
        Whether to show progress and the remaining time.

    Attributes
    ----------
    subsets_ : list of tuple of int
        The views of each component.
    present_ : ndarray of bool, shape (n_subsets,)
        Components that are not zero, as far as cumulants of the orders used show: a Gaussian component seems to be zero, except
        where covariances tell components apart.
    zero_test_ : ndarray of shape (n_subsets,)
        Norm of the cumulants of each component in standard deviations of their noise. Below 4 it is taken to be zero.
    linear_maps_ : dict of (int, int) to ndarray of shape (d, d)
        A^(i, j) of view i and component j, for components that are not zero.
    distinguishing_sets_ : list of tuple of int
        For each component, the smallest set of views that no other component contains, except those in supersets of its views.
    n_views_, n_features_in_ : int
        Number of views k, and of columns d of each.
    n_passes_ : int
        Number of passes over the data, those for the expected errors not counted.
    evidence_ : Evidence
        Checks of the assumptions. The expected errors (``component_errors``) are of the components that are in several views
        and not zero, in the order of ``subsets_``: the Frobenius norm of the errors of the maps of a component to all views but
        its first, over the norm of these maps, both in units of the columns' standard deviations. Components in one view have
        no map and no expected error.

    Notes
    -----
    A cross-cumulant of views W is a sum over the components that are in all of these views. With a distinguishing set of L
    views all components but those in supersets of Q_j drop out, the latter are known already, and

        kappa(U_W, U_i) - ... = unfold(...) A^(i,j)T        for all i in Q_j

    have all factors but the last in common. The system is L-distinguishable if L views are enough for every component. The maps
    then take cumulants of order L + 1, and a component's cumulants of order t are identified from t = L on. All subsets of k
    views are k-distinguishable.

    Differences from the paper:

    1. Algorithm 2 divides by M of min Q_i; it has to be that of min Q_j. Its sums over Q_l that contain Q_j leave out l = j.
    2. Maps are learned by total least squares in the metric of the noise, which parts of the data estimate, and not by a
       pseudo-inverse of M_min, whose noise pulls them towards zero. Components whose signal is within the noise in some
       direction keep the pseudo-inverse.
    3. All views that isolate a component are used together, not one distinguishing set: (0, 0, 1) and (0, 1, 1), of all
       orders up to four, with whitened views. Smaller distinguishing sets are padded so.
    4. The part of a component in a cumulant is taken from the cumulant that differs from it in the fewest views, so that
       as few estimated maps as possible are multiplied. With exact cumulants it makes no difference.
    5. S_j = 0 is tested by products of estimates of M from eight groups of rows, against their scatter (jackknife, so that
       errors of the maps used count). The paper looks at the smallest singular value of M.
    6. Without the components that are zero, more cumulants identify the others. Maps are learned again with these.
    7. Orders count for each component by itself: cumulants of order t < L are known for a component if its distinguishing set,
       and those of components in supersets of its views, have at most t views.

    References
    ----------
    R. Ge, J. Zou, Rich component analysis, 2015.

    Examples
    --------
    >>> from latentia.contrastive import RichComponents
    >>> from latentia.datasets import planted
    >>> data = planted.rich_components(50_000, n_features=3, absent=[3])
    >>> model = RichComponents().fit(data.views)
    >>> model.present_
    array([ True,  True,  True, False,  True,  True,  True])
    >>> model.linear_maps_[2, 6].shape, model.cumulant(6, 3).shape
    ((3, 3), (3, 3, 3))
    """

    _constraints: ClassVar = {"subsets": Anything(), "order": Anything()}
    _compared = ("linear_maps_", "subsets_", "_scale")
    n_views_: Annotated[int, of.size("I")]
    subsets_: Annotated[list[Views], of.places("", below="I")]
    distinguishing_sets_: Annotated[list[Views], of.places("", below="I")]
    present_: Annotated[np.ndarray, of.flags("J")]
    zero_test_: Annotated[np.ndarray, of.numbers("J")]
    linear_maps_: Annotated[dict[tuple[int, int], np.ndarray], of.numbers("V V")]
    evidence_: Annotated[Evidence, of.Letters({"K": "N"})]
    _scale: Annotated[np.ndarray, of.numbers("I V", of.MIN_MAGNITUDE)]
    _cumulants: Annotated[dict[tuple[int, int], np.ndarray], of.numbers("...")]
    _spans: Annotated[list[ColumnSpan], of.optional(of.Field())]

    def __init__(
        self,
        subsets: Sequence[Sequence[int]] | None = None,
        *,
        order: int | str = "auto",
        n_splits: int = 3,
        n_jobs: int | None = None,
        verbose: int = False,
    ) -> None:
        self.subsets = subsets
        self.order = order
        self.n_splits = n_splits
        self.n_jobs = n_jobs
        self.verbose = verbose

    # --- fitting ------------------------------------------------------------------------------------------------

    @fitting
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> RichComponents:
        """Find the components that are not zero, and their maps.

        Parameters
        ----------
        X : list of k tables of shape (n_rows, d), or Blocks with k parts
            The views: equally many rows, in the same order, and equally many columns.
        y : ignored
        sample_weight : array-like of int, shape (n_rows,), optional
            How often each row is there.

        Returns
        -------
        self

        Raises
        ------
        LatentiaError
            If a parameter is out of its range, if there is one view alone, if views differ in rows or columns, if entries are
            NaN or infinite, or if the sets do not tell the components apart.
        """
        blocks = weighted(_views(X), sample_weight)
        self.n_views_, self.n_features_in_ = len(blocks.shapes), blocks.shapes[0][1]
        return self._fit_in_spans(blocks)

    def _fit_in_spans(self, blocks: Blocks) -> RichComponents:
        """Fit the linearly independent columns of each view, and extend fitted arrays to all columns."""
        width = self.n_features_in_
        spans = [span_of(blocks, part) or ColumnSpan.all_columns(width) for part in range(self.n_views_)]
        ranks = [len(span.kept) for span in spans]
        if ranks == [width] * self.n_views_:
            return self._fit_stages(blocks)
        _check_widths(ranks, "linearly independent columns")
        reduced_blocks = blocks
        for part, span in enumerate(spans):
            if len(span.dependent_columns):
                span.tell(table=f"view {part}")
            reduced_blocks = span.reduce(reduced_blocks, part)
        self.n_features_in_ = ranks[0]
        self._fit_stages(reduced_blocks)
        self.n_features_in_, self._spans = width, spans
        self.linear_maps_ = {
            (i, j): spans[i].directions(spans[self.subsets_[j][0]].coefficients(linear_map), axis=0)
            for (i, j), linear_map in self.linear_maps_.items()
        }
        for (j, order), cumulant in self._cumulants.items():
            self._cumulants[j, order] = self._widen_cumulant(j, cumulant)
        variances = [span.variances(scale**2) for span, scale in zip(spans, self._scale, strict=True)]
        self._scale = np.sqrt(np.maximum(variances, 0.0))
        self._scale[self._scale == 0] = 1.0
        self.evidence_.bind(self)
        return self

    def _widen_cumulant(self, j: int, cumulant: np.ndarray) -> np.ndarray:
        """Return a cumulant of component j in all columns of its first view."""
        for axis in range(cumulant.ndim):
            cumulant = self._spans[self.subsets_[j][0]].directions(cumulant, axis)
        return cumulant

    def _assign_folds(self, rows: Blocks) -> Folds:
        return replace(assign_folds(rows, FOLD_SEED, N_GROUPS), n=4)

    def _moments(self, rows: Blocks, folds: Folds) -> _Views:
        """Compute columns, and fourth moments of eight groups of rows, in two passes."""
        declared_system = set_system(self.subsets, self.n_views_, _MAX_DISTINGUISHING)
        self._check_order(declared_system)
        return _Views(declared_system, ViewCumulants(rows, folds, n_jobs=self.n_jobs, progress=self.verbose))

    def _shared_choices(self, recovered: _Recovery, model: _Recovery) -> _Choices:
        return _Choices(recovered.plan, recovered.jackknife_cumulants, recovered.n_passes)

    def _recover(self, moments: _Views, subset: Subset, choices: _Choices | None) -> _Recovery:
        """Find the components that are not zero, and their maps; parts of the rows follow the plan of all rows."""
        cumulants = moments.cumulants
        if choices is not None:
            parts = solve(choices.plan, cumulants.quarter_cumulants(subset.groups))
            return _Recovery(choices.plan, parts, choices.jackknife_cumulants, choices.n_passes)
        jackknife_cumulants = cumulants.leave_out_groups()
        maps = find_parts(
            moments.declared_system, cumulants.all, jackknife_cumulants, self.n_views_, self._orders, _MIN_SCORE
        )
        return _Recovery(*maps, jackknife_cumulants, cumulants.n_passes)

    def _cost(self) -> Literal["free"]:
        return "free"

    def _distance(self, first: _Recovery, second: _Recovery, moments: Any) -> np.ndarray:
        return _errors(first.parts.maps, second.parts.maps, first.plan)

    def _checks(self, fitted: Fitted[_Views, _Recovery]) -> tuple[list[Check], PartErrors]:
        """Compute errors from parts, widened for weak components: regressions are biased, and noise hides some directions."""
        recovery: _Recovery = fitted.recovered
        cumulants: ViewCumulants = fitted.moments.cumulants
        plan, parts = recovery.plan, recovery.parts
        misfit = _misfit(plan, parts, cumulants.all, recovery.jackknife_cumulants)
        if plan.components_with_maps:
            doubt = np.hypot(
                _errors(parts.maps, parts.loose, plan), [np.sqrt(plan.unknown[j]) for j in plan.components_with_maps]
            )
            errors = fitted.errors(self.n_splits).widen(
                np.hypot(doubt, misfit.bias(np.ones(len(plan.components_with_maps))))
            )
        else:
            warn(
                "No component in several views is above the noise: these views look independent or Gaussian, or there are too "
                "few rows. See zero_test_.",
                EvidenceWarning,
            )
            errors = PartErrors.missing("No component in several views is above the noise.")
        return _checks(plan, parts, errors, misfit, cumulants), errors

    def _repeat_shares(self, fitted: Fitted[_Views, _Recovery]) -> np.ndarray | None:
        """Compare the maps of the components in several views."""
        plan: Plan = fitted.recovered.plan

        def maps(parts: Parts) -> list[np.ndarray]:
            return [
                np.array([parts.maps[i, j] for i in plan.declared_system.subsets[j][1:]])
                for j in plan.components_with_maps
            ]

        halves = [maps(fitted.model_of(half).parts) for half in fitted.compared]
        return mean_cosine(maps(fitted.model.parts), halves) if plan.components_with_maps else None

    def _set_fitted_attributes(self, fitted: Fitted[_Views, _Recovery]) -> None:
        """Set fitted attributes, in the units of the data."""
        recovery: _Recovery = fitted.recovered
        plan, parts, self.n_passes_ = recovery.plan, recovery.parts, recovery.n_passes
        scale = self._scale = fitted.moments.cumulants.scale
        self.subsets_ = list(plan.declared_system.subsets)
        self.distinguishing_sets_ = [plan.declared_system.distinguishing(j) for j in range(len(self.subsets_))]
        self.zero_test_ = np.array([plan.scores[j] for j in range(len(self.subsets_))])
        self.present_ = np.isin(np.arange(len(self.subsets_)), plan.present)
        self.linear_maps_ = {
            (i, j): scale[i][:, None] * parts.maps[i, j] / scale[self.subsets_[j][0]]
            for j in plan.present
            for i in self.subsets_[j]
        }
        self._cumulants = {}
        for j in plan.present:
            first = self.subsets_[j][0]
            for order in range(2, MAX_ORDER + 1):
                if parts.system_for_order(order).available(j, order):
                    self._cumulants[j, order] = scale_modes(parts.cumulant(j, order), (first,) * order, scale)

    def _orders(self, system: SetSystem, j: int) -> Sequence[int]:
        """Return the orders of the cumulants that identify component j."""
        if self.order != "auto":
            return [int(self.order)]
        declared_system = SetSystem(system.subsets)
        low_orders = [t for t in range(2, MAX_ORDER + 1) if (declared_system if t == 2 else system).instruments(j, t)]
        return low_orders or [
            next(t for t in range(MAX_ORDER + 1, _MAX_CUMULANT_ORDER + 1) if system.instruments(j, t))
        ]

    def _check_parameters(self) -> None:
        if self.order != "auto" and not Integer(2, _MAX_CUMULANT_ORDER).allows(self.order):
            raise LatentiaError(
                f"expected 'auto' or a whole number from 2 to {_MAX_CUMULANT_ORDER}.",
                parameter="order",
                value=self.order,
            )
        if self.subsets is not None and (isinstance(self.subsets, str) or not isinstance(self.subsets, Iterable)):
            raise LatentiaError(
                "expected a list of tuples with the numbers of the views of each component, or None for all subsets.",
                parameter="subsets", value=self.subsets,
            )  # fmt: skip

    def _check_order(self, declared_system: SetSystem) -> None:
        if self.order == "auto":
            return
        for j, views in enumerate(declared_system.subsets):
            if not declared_system.instruments(j, int(self.order)):
                min_order = next(t for t in range(2, _MAX_CUMULANT_ORDER + 2) if declared_system.instruments(j, t))
                raise LatentiaError(
                    f"component {j} of views {views} can be separated from the others by cumulants of order {min_order} or "
                    "more.",
                    parameter="order", value=self.order,
                )  # fmt: skip

    def _distances(self, reference: RichComponents) -> np.ndarray:
        components = sorted({j for i, j in self.linear_maps_ if i != self.subsets_[j][0]})
        errors = [
            _relative_error(_standardise_maps(self, j), _standardise_maps(reference, j, self._scale))
            for j in components
        ]
        return np.array(errors, dtype=float)

    def _halves(self, X: Any, random_state: int, **fit_parameters: Any) -> list[dict[str, Any]]:
        return [{"X": half} for half in _views(X).split(2, random_state)]

    # --- use ----------------------------------------------------------------------------------------------------

    @fitted
    def cumulant(self, component: int, order: int, X: Any = None) -> np.ndarray:
        """Return the cumulant of S_j: Algorithm 3. Zeros if the component is zero.

        Parameters
        ----------
        component : int
            j, its place in ``subsets_``.
        order : int
            From the number of views in its distinguishing set on, and those of components in supersets of its views.
        X : list of tables, or Blocks
            The views; needed for orders five and six alone, which take two passes for each cross-cumulant.

        Returns
        -------
        ndarray of shape (d, d, ...), in the coordinates of the first view of the component and the units of the data
        """
        j, order = self._check_component(component), int(self._check_cumulant_order(order))
        declared_system = SetSystem(tuple(self.subsets_))
        system = declared_system if order == 2 else declared_system.mark_absent(np.flatnonzero(~self.present_).tolist())
        if not system.available(j, order):
            hardest = max(
                (j, *system.containing(self.subsets_[j], j)),
                key=lambda component_number: len(system.distinguishing(component_number)),
            )
            min_order = len(system.distinguishing(hardest))
            raise LatentiaError(
                f"the cumulants of component {j} are known from order {min_order} on. It takes {min_order} views to separate "
                f"component {hardest}, of views {self.subsets_[hardest]}, from the others, so that lower ones are sums of "
                "components.",
                parameter="order", value=order,
            )  # fmt: skip
        if not self.present_[j]:
            return np.zeros((self.n_features_in_,) * order)
        if order <= MAX_ORDER:
            return self._cumulants[j, order].copy()
        if X is None:
            raise LatentiaError(
                f"the model does not keep cumulants beyond order {MAX_ORDER}: give the views as well, X=[U1, U2, ...].",
                parameter="order", value=order,
            )  # fmt: skip
        return self._compute_from_views(j, order, X, system, declared_system)

    def _compute_from_views(
        self, j: int, order: int, X: Any, system: SetSystem, declared_system: SetSystem
    ) -> np.ndarray:
        blocks = _views(X)
        if [shape[1] for shape in blocks.shapes] != [self.n_features_in_] * self.n_views_:
            raise LatentiaError(
                f"X has views of {', '.join(str(shape[1]) for shape in blocks.shapes)} columns; the model was fitted on "
                f"{self.n_views_} views of {self.n_features_in_}."
            )
        maps, spans = dict(self.linear_maps_), vars(self).get("_spans")
        for part, span in enumerate(spans or []):
            blocks = span.reduce(blocks, part)
        if spans:
            maps = {
                (i, k): linear_map[np.ix_(spans[i].kept, spans[self.subsets_[k][0]].kept)]
                for (i, k), linear_map in maps.items()
            }
        cumulants = read_cumulants(blocks, n_jobs=self.n_jobs, progress=self.verbose)
        inverses = {key: np.linalg.inv(linear_map) for key, linear_map in maps.items()}
        cumulant = Parts(system, declared_system, cumulants, maps, inverses).cumulant(j, order)
        return self._widen_cumulant(j, cumulant) if spans else cumulant

    def covariance(self, component: int) -> np.ndarray:
        """Return the covariance of S_j, shape (d, d), where the sets identify it: see `cumulant`.

        Parameters
        ----------
        component : int
            Number j of the component, from 0.

        Returns
        -------
        ndarray of shape (d, d)
        """
        return self.cumulant(component, 2)

    def _check_component(self, component: Any) -> int:
        if not Integer(0, len(self.subsets_) - 1).allows(component):
            raise LatentiaError(
                f"expected a component from 0 to {len(self.subsets_) - 1}.", parameter="component", value=component
            )
        return int(component)

    def _check_cumulant_order(self, order: Any) -> int:
        if not Integer(2, _MAX_CUMULANT_ORDER).allows(order):
            raise LatentiaError(
                f"expected a whole number from 2 to {_MAX_CUMULANT_ORDER}.", parameter="order", value=order
            )
        return int(order)

    def _check_fitted(self) -> None:
        subsets, v = self.subsets_, self.n_features_in_
        if not len(subsets) == len(self.distinguishing_sets_) == len(self.present_) or not all(subsets):
            raise LatentiaError("subsets_, distinguishing_sets_ and present_ do not match")
        present = {(i, j) for j in np.flatnonzero(self.present_).tolist() for i in subsets[j]}
        if self.linear_maps_.keys() != present:
            raise LatentiaError("linear_maps_ do not match the components that are present")
        for (j, order), cumulant in self._cumulants.items():
            if not (0 <= j < len(subsets) and self.present_[j]) or cumulant.shape != (v,) * order:
                raise LatentiaError("_cumulants do not match the components")


# --- views --------------------------------------------------------------------------------------------------------


def _views(X: Any) -> Blocks:
    """Return Blocks with one part a view, checked to have equally many rows and columns."""
    if isinstance(X, Blocks):
        if any(sparse.issparse(part) for part in X.some_rows(1)):
            raise LatentiaError("Expected dense tables; the views are sparse. Use their arrays.")
        blocks: Blocks | None = finite_blocks(X, range(len(X.shapes)), [f"view {i}" for i in range(len(X.shapes))])
    else:
        if (
            (isinstance(X, np.ndarray) and X.ndim == 2)
            or hasattr(X, "columns")
            or sparse.issparse(X)
            or not _is_list_of_tables(X)
        ):
            raise LatentiaError("Expected a list of tables, one for each view.")
        tables = [view_table(table, f"view {i}") for i, table in enumerate(X)]
        if tables:
            check_same_rows(**{f"view {i}": len(table) for i, table in enumerate(tables)})
        blocks = Blocks.from_array(*tables) if tables else None
    if blocks is None or len(blocks.shapes) < 2:
        raise LatentiaError(f"Expected two views or more; there is {'none' if blocks is None else 'one'}.")
    _check_widths([shape[1] for shape in blocks.shapes], "columns")
    if blocks.n_rows < _MIN_ROWS:
        raise LatentiaError(
            f"The data has {blocks.n_rows} rows; cumulants of parts of the data need at least {_MIN_ROWS}."
        )
    return blocks


def _check_widths(widths: Sequence[int], noun: str) -> None:
    for i, width in enumerate(widths):
        if width != widths[0]:
            raise LatentiaError(
                f"View {i} has {width} {noun} and view 0 has {widths[0]}: components have invertible maps, so that views need "
                f"equally many. Reduce them to {min(widths)} or fewer, by PCA for example."
            )


def _is_list_of_tables(X: Any) -> bool:
    return isinstance(X, Iterable) and not isinstance(X, (str, dict)) and getattr(X, "ndim", 1) > 0


# --- errors -------------------------------------------------------------------------------------------------------


def _errors(
    full_maps: dict[tuple[int, int], np.ndarray], part_maps: dict[tuple[int, int], np.ndarray], plan: Plan
) -> np.ndarray:
    """Return the relative error of the maps of every component in several views."""

    def stack_maps(maps: dict[tuple[int, int], np.ndarray], j: int) -> np.ndarray:
        return np.array([maps[i, j] for i in plan.declared_system.subsets[j][1:]])

    return np.array(
        [_relative_error(stack_maps(full_maps, j), stack_maps(part_maps, j)) for j in plan.components_with_maps]
    )


def _standardise_maps(model: RichComponents, j: int, scale: np.ndarray | None = None) -> np.ndarray:
    """Return maps of component j to all views but its first, for columns in unit variance; zeros for a zero component."""
    first, *further_views = model.subsets_[j]
    scale, maps = model._scale if scale is None else scale, model.linear_maps_
    zeros = np.zeros((scale.shape[1],) * 2)
    return np.array([maps.get((i, j), zeros) / scale[i][:, None] * scale[first] for i in further_views])


def _relative_error(maps: np.ndarray, reference: np.ndarray) -> float:
    return float(ratio_of(np.linalg.norm(reference - maps), np.linalg.norm(maps)))


# --- evidence -----------------------------------------------------------------------------------------------------


def _misfit(
    plan: Plan, parts: Parts, full_cumulants: RowCumulants, jackknife_cumulants: Sequence[RowCumulants]
) -> Misfit:
    sums: ResidualSums = measure_residual_cumulants(
        plan, parts, full_cumulants, jackknife_cumulants, range(2, MAX_ORDER + 1)
    )
    if not sums.entries:
        return Misfit()
    noise = max(sums.noise, _ROUNDING * sums.total)
    return Misfit.from_norms(max(sums.residual, 0.0), noise, sums.total, sums.entries)


def _checks(plan: Plan, parts: Parts, errors: PartErrors, misfit: Misfit, moments: ViewCumulants) -> list[Check]:
    subsets = plan.declared_system.subsets
    checks = error_checks(
        errors,
        MAX_RELATIVE_ERROR,
        "mean |A' - A| / |A|",
        "relative to the norm of its maps",
        "component",
        n_rows=moments.n_rows,
    )
    if errors.errors is not None:
        worst = plan.components_with_maps[int(errors.errors.argmax())]
        shaky = int((errors.errors > 2 * MAX_RELATIVE_ERROR).sum())
        meaning = f"Component {worst}, of views {subsets[worst]}. {shaky} components are above the limit: do not rely on them."
        checks = [
            replace(check, meaning=meaning) if check.name == "least stable component" else check for check in checks
        ]
    checks += misfit.checks()
    checks.append(
        Check(
            "shared components", "|{j : S_j != 0, |Q_j| > 1}|", float(len(plan.components_with_maps)), at_least(1),
            "Components in several views whose cumulants are above their noise.", "Algorithm 2", "veto",
            "The views seem to share no component, or a Gaussian or weak one. More rows would show a weak one.",
        )
    )  # fmt: skip
    if plan.weakest and plan.components_with_maps:
        j = min(plan.components_with_maps, key=lambda check: plan.weakest[check])
        checks.append(
            Check(
                "weakest direction", "sigma_min(M_j), in standard deviations", plan.weakest[j], above(FIRM_DEVIATIONS),
                f"Component {j}, of views {subsets[j]}: how far its cumulants are above their noise in the weakest direction. "
                "Below the limit its maps are unknown in this direction.",
                "Lemma B.4", "note",
                f"Component {j} has a direction with small cumulants: reduce the views to fewer columns, use more rows, or "
                f"leave {subsets[j]} out of subsets if it is weak.",
            )
        )  # fmt: skip
    if plan.components_with_maps:
        condition, i, j = max(
            (float(np.linalg.cond(parts.maps[i, j])), i, j) for j in plan.components_with_maps for i in subsets[j]
        )
        checks.append(
            Check(
                "condition of the maps", "max cond(A^(i,j))", condition, at_most(_MAX_CONDITION),
                f"Map of component {j} to view {i}, in standard deviations: its inverse multiplies noise by this factor.",
                "Lemma B.6",
            )
        )  # fmt: skip
    checks.append(
        Check(
            "components that are zero", f"score < {_MIN_SCORE:g}", float(len(plan.system.absent)), None,
            "Components whose cumulants are within their noise, Gaussian ones among them.", "Algorithm 2",
        )
    )  # fmt: skip
    return checks
