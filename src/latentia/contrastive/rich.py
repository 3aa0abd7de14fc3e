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
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from scipy import sparse

from .. import _fields as of
from .._parameters import Anything, Integer
from .._validation import check_same_rows, finite_blocks, weighted
from ..evidence import Check, Evidence, Misfit, PartErrors, above, at_least, at_most, error_checks, mean_cosine
from ..exceptions import EvidenceWarning, LatentiaError, warn
from ..fitting.base import fitted, fitting
from ..fitting.stages import Fitted, Staged, Subset
from ..moments import ColumnSpan, span_of
from ..passes import Blocks, Folds, assign_folds
from ._rich_maps import FIRM, Left, Parts, Plan, find_parts, left_over, solve
from ._rich_moments import MOST_ORDER, N_GROUPS, RowCumulants, ViewCumulants, cumulants_of, scaled
from ._sets import SetSystem, Views, set_system
from .views import FOLD_SEED, view_table

_ABSENT = 4.0  # standard deviations of noise: of some 230 components that were zero, none had 3.6
_TRUSTED = 0.2  # relative error of a map
_ILL = 30.0  # condition number of a map from which on its inverse is mostly noise
_ROUNDING = 1e-6  # of the whole: noise of views that determine each other
_LEAST_ROWS = 64
_HIGHEST = 6  # order of cumulants
_MOST_DISTINGUISHING = _HIGHEST - 1


@dataclass(frozen=True)
class _Views:
    """The sets that are given, and the cumulants of the views."""

    given: SetSystem
    cumulants: ViewCumulants


@dataclass(frozen=True)
class _Found:
    """Which components are there and by which cumulants each is found, the maps; and what all rows but some say."""

    plan: Plan
    parts: Parts
    without: list[RowCumulants]
    n_passes: int


class RichComponents(Staged):
    """Rich component analysis: linear maps and cumulants of components that views share.

    The fit is deterministic, makes two passes over the data, and gives an expected error for every component in several views.

    Choose it for several tables of the same rows and of equally many columns (laboratories, instruments, modalities), where
    the question is what one view, or some of them, have for themselves. It learns the cumulants of each component without a
    model of any component: use these with methods of moments. Components must not be Gaussian, and samples must be large: with
    three views of five columns and all seven components the maps have relative errors of .3 at 10,000 rows, .06 at 100,000
    and .03 at 500,000 if components are exponential; .2 at 100,000 if they are uniform. For two views of which
    only one is of interest, the other classes of this module need far fewer rows.

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
        The smallest set of views of each component that no others have, but for supersets of its views.
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
    What makes it work: a cross-cumulant of views W has a part of every component that is in all of these views, and none of
    others. With a distinguishing set of L views all components but those in supersets of Q_j drop out, these are known
    already, and

        kappa(U_W, U_i) - ... = unfold(...) A^(i,j)T        for all i in Q_j

    have everything but the last factor in common. The system is L-distinguishable if L views are enough for every component.
    The maps then take cumulants of order L + 1, and cumulants of a component of order t can be had from t = L on. All subsets
    of k views are k-distinguishable.

    Differences from the paper:

    1. Algorithm 2 divides by M of min Q_i; it has to be that of min Q_j. Its sums over Q_l that contain Q_j leave out l = j.
    2. Maps are found by total least squares in the metric of the noise, which parts of the data estimate, and not by a
       pseudo-inverse of M_min, whose noise pulls them towards zero. Components whose signal is within the noise in some
       direction keep the pseudo-inverse.
    3. All views that isolate a component are used together, not one distinguishing set: (0, 0, 1) and (0, 1, 1), of all
       orders up to four, with whitened views. Smaller distinguishing sets are padded so.
    4. The part of a component in a cumulant is taken from the cumulant that differs from it in the fewest views, so that
       estimated maps are multiplied as seldom as can be. With exact cumulants it makes no difference.
    5. Whether S_j = 0 is a test: products of what eight groups of rows say of M, against their scatter (jackknife, so that
       errors of the maps used count). The paper asks whether the smallest singular value of M is too small.
    6. Components that are zero leave more cumulants that tell the others apart. Maps are found again with these.
    7. Orders count for each component by itself: cumulants of order t < L are known for components of which no distinguishing
       set, nor of one in a superset of its views, has more than t views.

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
        """Fit on the columns of each view that say something of their own, and give all columns their entries."""
        width = self.n_features_in_
        spans = [span_of(blocks, part) or ColumnSpan.all_columns(width) for part in range(self.n_views_)]
        ranks = [len(span.kept) for span in spans]
        if ranks == [width] * self.n_views_:
            return self._fit_stages(blocks)
        _check_widths(ranks, "columns that say something of their own")
        few = blocks
        for part, span in enumerate(spans):
            if len(span.dependent_columns):
                span.tell(table=f"view {part}")
            few = span.reduce(few, part)
        self.n_features_in_ = ranks[0]
        self._fit_stages(few)
        self.n_features_in_, self._spans = width, spans
        self.linear_maps_ = {
            (i, j): spans[i].directions(spans[self.subsets_[j][0]].coefficients(linear_map), axis=0)
            for (i, j), linear_map in self.linear_maps_.items()
        }
        for (j, order), cumulant in self._cumulants.items():
            self._cumulants[j, order] = self._widened(j, cumulant)
        variances = [span.variances(scale**2) for span, scale in zip(spans, self._scale, strict=True)]
        self._scale = np.sqrt(np.maximum(variances, 0.0))
        self._scale[self._scale == 0] = 1.0
        self.evidence_.bind(self)
        return self

    def _widened(self, j: int, cumulant: np.ndarray) -> np.ndarray:
        """Return a cumulant of component j in all columns of its first view."""
        for axis in range(cumulant.ndim):
            cumulant = self._spans[self.subsets_[j][0]].directions(cumulant, axis)
        return cumulant

    def _assign_folds(self, rows: Blocks) -> Folds:
        return replace(assign_folds(rows, FOLD_SEED, N_GROUPS), n=4)

    def _moments(self, rows: Blocks, folds: Folds) -> _Views:
        """Two passes: columns, and fourth moments of eight groups of rows."""
        given = set_system(self.subsets, self.n_views_, _MOST_DISTINGUISHING)
        self._check_order(given)
        return _Views(given, ViewCumulants(rows, folds, n_jobs=self.n_jobs, progress=self.verbose))

    def _recover(self, moments: _Views, subset: Subset, full_fit: _Found | None) -> _Found:
        """Components that are not zero, and their maps; of parts of the rows as those of all rows were found."""
        cumulants = moments.cumulants
        if full_fit is not None:
            return replace(full_fit, parts=solve(full_fit.plan, cumulants.of_quarters(subset.groups)))
        without = cumulants.without()
        found = find_parts(moments.given, cumulants.all, without, self.n_views_, self._orders, _ABSENT)
        return _Found(*found, without, cumulants.n_passes)

    def _cost(self) -> Literal["free"]:
        return "free"

    def _distance(self, first: _Found, second: _Found, moments: Any) -> np.ndarray:
        return _errors(first.parts.maps, second.parts.maps, first.plan)

    def _checks(self, fitted: Fitted) -> tuple[list[Check], PartErrors]:
        """Errors of parts, widened for weak components: regressions are biased, and little is known of directions in noise."""
        found: _Found = fitted.recovered
        cumulants: ViewCumulants = fitted.moments.cumulants
        plan, parts = found.plan, found.parts
        misfit = _misfit(plan, parts, cumulants.all, found.without)
        if plan.mapped:
            doubt = np.hypot(_errors(parts.maps, parts.loose, plan), [np.sqrt(plan.unknown[j]) for j in plan.mapped])
            errors = fitted.errors(self.n_splits).widen(np.hypot(doubt, misfit.bias(np.ones(len(plan.mapped)))))
        else:
            warn(
                "No component in several views is above the noise: these views look independent or Gaussian, or have too few "
                "rows. Look at zero_test_.",
                EvidenceWarning,
            )
            errors = PartErrors.missing("No component in several views is above the noise.")
        return _checks(plan, parts, errors, misfit, cumulants), errors

    def _repeat_shares(self, fitted: Fitted) -> np.ndarray | None:
        """By the maps of the components in several views."""
        plan: Plan = fitted.recovered.plan

        def maps(parts: Parts) -> list[np.ndarray]:
            return [np.array([parts.maps[i, j] for i in plan.given.subsets[j][1:]]) for j in plan.mapped]

        halves = [maps(fitted.model_of(half).parts) for half in fitted.compared]
        return mean_cosine(maps(fitted.model.parts), halves) if plan.mapped else None

    def _set_fitted_attributes(self, fitted: Fitted) -> None:
        """Set what was found, in the units of the data."""
        found: _Found = fitted.recovered
        plan, parts, self.n_passes_ = found.plan, found.parts, found.n_passes
        scale = self._scale = fitted.moments.cumulants.scale
        self.subsets_ = list(plan.given.subsets)
        self.distinguishing_sets_ = [plan.given.distinguishing(j) for j in range(len(self.subsets_))]
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
            for order in range(2, MOST_ORDER + 1):
                if parts.system_of(order).available(j, order):
                    self._cumulants[j, order] = scaled(parts.cumulant(j, order), (first,) * order, scale)

    def _orders(self, system: SetSystem, j: int) -> Sequence[int]:
        """Orders of the cumulants that tell of component j."""
        if self.order != "auto":
            return [int(self.order)]
        given = SetSystem(system.subsets)
        usual = [t for t in range(2, MOST_ORDER + 1) if (given if t == 2 else system).instruments(j, t)]
        return usual or [next(t for t in range(MOST_ORDER + 1, _HIGHEST + 1) if system.instruments(j, t))]

    def _check_parameters(self) -> None:
        if self.order != "auto" and not Integer(2, _HIGHEST).allows(self.order):
            raise LatentiaError(
                f"'auto' or a whole number from 2 to {_HIGHEST} is needed.", parameter="order", value=self.order
            )
        if self.subsets is not None and (isinstance(self.subsets, str) or not isinstance(self.subsets, Iterable)):
            raise LatentiaError(
                "a list of tuples with the numbers of the views of each component is needed, or None for all subsets.",
                parameter="subsets", value=self.subsets,
            )  # fmt: skip

    def _check_order(self, given: SetSystem) -> None:
        if self.order == "auto":
            return
        for j, views in enumerate(given.subsets):
            if not given.instruments(j, int(self.order)):
                least = next(t for t in range(2, _HIGHEST + 2) if given.instruments(j, t))
                raise LatentiaError(
                    f"component {j} of views {views} can be separated from the others by cumulants of order {least} or more.",
                    parameter="order", value=self.order,
                )  # fmt: skip

    def _distances(self, other: RichComponents) -> np.ndarray:
        mapped = sorted({j for i, j in self.linear_maps_ if i != self.subsets_[j][0]})
        found = [_relative(_standard(self, j), _standard(other, j, self._scale)) for j in mapped]
        return np.array(found, dtype=float)

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
        j, order = self._number(component), int(self._known_order(order))
        given = SetSystem(tuple(self.subsets_))
        system = given if order == 2 else given.without(np.flatnonzero(~self.present_).tolist())
        if not system.available(j, order):
            hides = max((j, *system.containing(self.subsets_[j], j)), key=lambda one: len(system.distinguishing(one)))
            least = len(system.distinguishing(hides))
            raise LatentiaError(
                f"the cumulants of component {j} are known from order {least} on. It takes {least} views to separate component "
                f"{hides}, of views {self.subsets_[hides]}, from the others, so that lower ones are sums of components.",
                parameter="order", value=order,
            )  # fmt: skip
        if not self.present_[j]:
            return np.zeros((self.n_features_in_,) * order)
        if order <= MOST_ORDER:
            return self._cumulants[j, order].copy()
        if X is None:
            raise LatentiaError(
                f"cumulants beyond order {MOST_ORDER} are not kept: give the views as well, X=[U1, U2, ...].",
                parameter="order", value=order,
            )  # fmt: skip
        return self._from_views(j, order, X, system, given)

    def _from_views(self, j: int, order: int, X: Any, system: SetSystem, given: SetSystem) -> np.ndarray:
        blocks = _views(X)
        if [shape[1] for shape in blocks.shapes] != [self.n_features_in_] * self.n_views_:
            raise LatentiaError(
                f"X has views of {', '.join(str(shape[1]) for shape in blocks.shapes)} columns, and the model was fitted on "
                f"{self.n_views_} of {self.n_features_in_}."
            )
        maps, spans = dict(self.linear_maps_), vars(self).get("_spans")
        for part, span in enumerate(spans or []):
            blocks = span.reduce(blocks, part)
        if spans:
            maps = {
                (i, k): linear_map[np.ix_(spans[i].kept, spans[self.subsets_[k][0]].kept)]
                for (i, k), linear_map in maps.items()
            }
        cumulants = cumulants_of(blocks, n_jobs=self.n_jobs, progress=self.verbose)
        inverses = {key: np.linalg.inv(linear_map) for key, linear_map in maps.items()}
        cumulant = Parts(system, given, cumulants, maps, inverses).cumulant(j, order)
        return self._widened(j, cumulant) if spans else cumulant

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

    def _number(self, component: Any) -> int:
        if not Integer(0, len(self.subsets_) - 1).allows(component):
            raise LatentiaError(
                f"a component from 0 to {len(self.subsets_) - 1} is needed.", parameter="component", value=component
            )
        return int(component)

    def _known_order(self, order: Any) -> int:
        if not Integer(2, _HIGHEST).allows(order):
            raise LatentiaError(f"a whole number from 2 to {_HIGHEST} is needed.", parameter="order", value=order)
        return int(order)

    def _check_fitted(self) -> None:
        subsets, v = self.subsets_, self.n_features_in_
        if not len(subsets) == len(self.distinguishing_sets_) == len(self.present_) or not all(subsets):
            raise LatentiaError("subsets_ are not those of present_")
        present = {(i, j) for j in np.flatnonzero(self.present_).tolist() for i in subsets[j]}
        if self.linear_maps_.keys() != present:
            raise LatentiaError("linear_maps_ are not those of the components that are present")
        for (j, order), one in self._cumulants.items():
            if not (0 <= j < len(subsets) and self.present_[j]) or one.shape != (v,) * order:
                raise LatentiaError("_cumulants are not those of the components")


# --- views --------------------------------------------------------------------------------------------------------


def _views(X: Any) -> Blocks:
    """Blocks with one part a view, of equally many rows and columns."""
    if isinstance(X, Blocks):
        if any(sparse.issparse(part) for part in X.some_rows(1)):
            raise LatentiaError("The views are sparse: cumulants need dense tables. Use their arrays.")
        blocks: Blocks | None = finite_blocks(X, range(len(X.shapes)), [f"view {i}" for i in range(len(X.shapes))])
    else:
        if (isinstance(X, np.ndarray) and X.ndim == 2) or hasattr(X, "columns") or sparse.issparse(X) or not _listed(X):
            raise LatentiaError("A list of tables is needed, one for each view.")
        tables = [view_table(table, f"view {i}") for i, table in enumerate(X)]
        if tables:
            check_same_rows(**{f"view {i}": len(table) for i, table in enumerate(tables)})
        blocks = Blocks.from_array(*tables) if tables else None
    if blocks is None or len(blocks.shapes) < 2:
        raise LatentiaError(f"{'There is no view' if blocks is None else 'There is one view'}: two or more are needed.")
    _check_widths([shape[1] for shape in blocks.shapes], "columns")
    if blocks.n_rows < _LEAST_ROWS:
        raise LatentiaError(
            f"The data has {blocks.n_rows} rows: cumulants of parts of the data need at least {_LEAST_ROWS}."
        )
    return blocks


def _check_widths(widths: Sequence[int], what: str) -> None:
    for i, width in enumerate(widths):
        if width != widths[0]:
            raise LatentiaError(
                f"View {i} has {width} {what} and view 0 has {widths[0]}: components have invertible maps, so that views need "
                f"equally many. Reduce them to {min(widths)} or fewer, by PCA for example."
            )


def _listed(X: Any) -> bool:
    return isinstance(X, Iterable) and not isinstance(X, (str, dict)) and getattr(X, "ndim", 1) > 0


# --- errors -------------------------------------------------------------------------------------------------------


def _errors(
    whole: dict[tuple[int, int], np.ndarray], part: dict[tuple[int, int], np.ndarray], plan: Plan
) -> np.ndarray:
    """Relative error of the maps of every component that has any."""

    def of(maps: dict[tuple[int, int], np.ndarray], j: int) -> np.ndarray:
        return np.array([maps[i, j] for i in plan.given.subsets[j][1:]])

    return np.array([_relative(of(whole, j), of(part, j)) for j in plan.mapped])


def _standard(model: RichComponents, j: int, scale: np.ndarray | None = None) -> np.ndarray:
    """Maps of component j to all views but its first, in units of the columns' standard deviations; zeros where it is zero."""
    first, *others = model.subsets_[j]
    scale, maps = model._scale if scale is None else scale, model.linear_maps_
    nothing = np.zeros((scale.shape[1],) * 2)
    return np.array([maps.get((i, j), nothing) / scale[i][:, None] * scale[first] for i in others])


def _relative(maps: np.ndarray, other: np.ndarray) -> float:
    return float(np.linalg.norm(other - maps) / max(np.linalg.norm(maps), np.finfo(float).tiny))


# --- evidence -----------------------------------------------------------------------------------------------------


def _misfit(plan: Plan, parts: Parts, whole: RowCumulants, without: Sequence[RowCumulants]) -> Misfit:
    left: Left = left_over(plan, parts, whole, without, range(2, MOST_ORDER + 1))
    if not left.entries:
        return Misfit()
    noise = max(left.noise, _ROUNDING * left.whole)
    return Misfit.from_norms(max(left.left, 0.0), noise, left.whole, left.entries)


def _checks(plan: Plan, parts: Parts, errors: PartErrors, misfit: Misfit, moments: ViewCumulants) -> list[Check]:
    subsets = plan.given.subsets
    lines = error_checks(
        errors, _TRUSTED, "mean |A' - A| / |A|", "relative to the norm of its maps", "component", n_rows=moments.n_rows
    )
    if errors.errors is not None:
        worst = plan.mapped[int(errors.errors.argmax())]
        shaky = int((errors.errors > 2 * _TRUSTED).sum())
        meaning = f"Component {worst}, of views {subsets[worst]}. {shaky} components are above the limit: do not rely on them."
        lines = [replace(one, meaning=meaning) if one.name == "least stable component" else one for one in lines]
    lines += misfit.checks()
    lines.append(
        Check(
            "shared components", "|{j : S_j != 0, |Q_j| > 1}|", float(len(plan.mapped)), at_least(1),
            "Components in several views whose cumulants are above their noise.", "Algorithm 2", "veto",
            "The views seem to share nothing: it is zero, Gaussian, or weak. More rows would show what is weak.",
        )
    )  # fmt: skip
    if plan.weakest and plan.mapped:
        j = min(plan.mapped, key=lambda one: plan.weakest[one])
        lines.append(
            Check(
                "weakest direction", "sigma_min(M_j), in standard deviations", plan.weakest[j], above(FIRM),
                f"Of component {j}, of views {subsets[j]}: how far the direction in which its cumulants are smallest is above "
                "their noise. Below the limit its maps are not known there.",
                "Lemma B.4", "caution",
                f"Component {j} has a direction without much of a cumulant: reduce the views to fewer columns, use more rows, "
                f"or leave {subsets[j]} out of subsets if it is weak.",
            )
        )  # fmt: skip
    if plan.mapped:
        condition, i, j = max((float(np.linalg.cond(parts.maps[i, j])), i, j) for j in plan.mapped for i in subsets[j])
        lines.append(
            Check(
                "condition of the maps", "max cond(A^(i,j))", condition, at_most(_ILL),
                f"Of the map of component {j} to view {i}, in standard deviations: its inverse multiplies noise by as much.",
                "Lemma B.6",
            )
        )  # fmt: skip
    lines.append(
        Check(
            "components that are zero", f"score < {_ABSENT:g}", float(len(plan.system.absent)), None,
            "Components whose cumulants are within their noise. Gaussian ones are among them.", "Algorithm 2",
        )
    )  # fmt: skip
    return lines
