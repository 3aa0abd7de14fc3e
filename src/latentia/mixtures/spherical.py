"""Mixtures of spherical Gaussians by tensor decomposition.

Model. A row draws a component h with P(h = k) = w_k, and x = mu_h + sigma_h z with z standard normal in R^D. With y =
(x - E[x], 1), nu_k = (mu_k - E[x], 1) and s^2 = sum_k w_k sigma_k^2, the smallest eigenvalue of the covariance,

    E[y y^T] - s^2 (I, 0)                                   = sum_k w_k nu_k nu_k^T,
    E[y^(x 3)] - sum_i (g (x) e_i (x) e_i + rotations)       = sum_k w_k nu_k^(x 3),      g = sum_k w_k sigma_k^2 nu_k,

and g = E[r y] / (D - K + 1), where r is the squared distance of x to the K - 1 dimensional plane of the means.

EM fits other covariances, starting from the spherical mixture.

Source: D. Hsu, S. Kakade, Learning mixtures of spherical Gaussians, ITCS 2013, for the moments; R. Ge, thesis,
Princeton 2013, chapter 7, for the decomposition.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.base import DensityMixin

from .. import _fields as of
from .._parameters import Choice, Flag, NComponents, Seed, seed_of
from .._validation import gaps_of, missing_cells, number_table, table_blocks, weighted
from ..comparing.profile import Profile
from ..evidence import Check, PartErrors, above
from ..exceptions import DroppedDataWarning, LatentiaError, warn
from ..fitting.additive import Additive
from ..fitting.base import check_size, fitted, fitting
from ..fitting.stages import Fitted, Subset, fit_alone
from ..likelihood import Refine, Refined, Refinement, log, normalised, over, refine, single_gaussian
from ..likelihood.gaussian import check_covariances
from ..moments import ColumnSpan, FramedSums, HiddenMoments, WideSums, span_of
from ..passes import Blocks, Folds, content_keys, join_copies, sample_rows
from ._evidence import MixtureMeasurements, build_checks, build_shape_checks
from ._initialisation import MOMENTS, advise_shape, find_likeliest_start, measure_gain_of_full, measure_gain_over_merged
from ._methods import MixtureMethods
from ._missing import ObservedRows, build_gaps_checks, complete_rows, log_density
from ._moments import OVERSAMPLE, Moments, Recovered, recover
from ._moves import Shape
from ._rows import GaussianRows, Mixture, n_parameters
from ._shapes import SHAPES, ShapeScore, build_held_out_check, choose_shape, score_shapes
from ._single_cluster_null import build_structure_checks
from ._spherical_update import SphericalMixtureUpdate

_VARIANCE_FLOOR = 1e-3  # smallest variance of a component, as a share of the mean variance
_ROUNDING = 1e-6  # rounding error of one row
_MAX_FULL_GAIN = 0.1  # largest accepted gain of full covariances in prediction, in nats per row
_TRIMMED_SHARE = 0.05  # share of least likely rows that the rival fit leaves out
_RIVAL_NOTE = "It includes the distance to a rival, the fit without the least likely rows."
_MAX_TRIMMED_ROWS = 20_000  # rows of the rival fit
_SMALL_PART = 1 << 18  # numbers in a part of the rows, on all of which EM is tried before it is made
_MIN_GAIN, _MIN_GAIN_OF_PART = 0.02, 0.2  # nats that a step gains where EM has converged, and where that of a part has


class _Choices(NamedTuple):
    """Starts that subsets try: those that the full fit chose."""

    start_names: tuple[str, ...]


class _InitialFit(NamedTuple):
    """Mixture of the moments, if they were used, initial mixture of EM, and the names of its starts."""

    moment_fit: Recovered | None
    start: Mixture
    start_names: tuple[str, ...]


class SphericalGaussianMixture(MixtureMethods, DensityMixin, Additive[Moments, Refined]):
    """Mixture of spherical or other Gaussians, fitted without random restarts.

    The fit is deterministic, makes a few passes over the data, and gives an expected error for every mean. There is no
    ``n_init``: several starts that are computed from the data, tensor decomposition among them, race by likelihood, and merging
    and splitting components improves the winner.

    Choose it in place of scikit-learn's `GaussianMixture` where EM from random starts merges some components and splits
    others, where runs must agree, or where every component needs an error bar. Scale the features first if their units differ.

    Parameters
    ----------
    n_components : int, "auto" or several, default=10
        Number of components K. ``method="hsu-kakade"`` and ``refine=0`` need at least K features, and means that span K - 1
        dimensions.
        A range or list tries each value and keeps the one the evidence recommends; "auto" tries 2 to 100. See
        ``n_components_``, ``recommendation_`` and ``comparison_``. Each number costs a fit.
    covariance_type : {"spherical", "diag", "full", "tied", "auto"}, default="spherical"
        Shape of the components, as in scikit-learn: a single variance for each component, a variance for each feature, any
        covariance matrix, or one matrix for all. The last three start from the spherical mixture or from clusters of rows,
        whitened or not, and are fitted by plain EM, with all rows in memory. "auto" takes the shape with the fewest parameters
        under which held-out rows are about as likely as under the best; see ``covariance_type_`` and *held-out log-likelihood*
        in the evidence. It costs some twenty fits of at most 5,000 rows without error bars. Sparse rows, kept moments and the
        theorem only allow "spherical".
    shrink : bool, default=True
        Whether "diag" and "full" covariances are shrunk towards the covariance within all components, and this one, like
        "tied", towards its diagonal, by as much as helps to predict left-out rows: very little if components have many rows
        and differ. False gives the maximum of the likelihood, which small components overfit. "spherical" is never shrunk.
    method : {"auto", "hsu-kakade"}, default="auto"
        Start of EM. "auto": the likeliest of the moments' mixture, clusters of Ward's linkage, and two choices of rows as
        centres, after moves that merge two components and split a third, on at most 10,000 rows in memory. "hsu-kakade": the
        moments' mixture alone.
    refine : int or "auto", default="auto"
        EM from the start: "auto" makes accelerated steps until they converge, a number that many plain steps, each a
        pass over the data. 0 keeps to the theorem, whatever the ``method``. See ``refinement_``, and *EM has converged* in
        the evidence.
    n_splits : int, default=3
        Number of random splits into halves, at most 3, whose fits give the expected errors. They need no pass over the
        data; with ``refine`` a single split is used, which costs as much as refining. With 0 no errors are measured.
    keep_moments : bool, default=False
        Whether to keep third moments, so that rows can be added (`partial_fit`) and removed (`forget`), and models merged
        (`latentia.merge`): 32 (D + 1)^3 bytes for up to 64 columns, at most 8.8 MB. For more columns they are kept in
        K + 12 <= 64 directions that the first rows choose, see *new rows outside of the frame* in the evidence. The answer is
        then the theorem's.
    random_state : int, default=0
        Seed of the starts and splits. None or a RandomState draws a seed.
    n_jobs : int, optional
        Number of threads. Results are bitwise identical for any value.
    verbose : bool or int, default=False
        Whether to show progress and the remaining time.

    Attributes
    ----------
    means_ : ndarray of shape (K, D)
        Means, in order of decreasing weight.
    weights_ : ndarray of shape (K,)
    variance_ : ndarray of shape (K,)
        Variances sigma_k^2 of a single feature; if features differ, their mean.
    covariances_ : ndarray of shape (K,), (K, D), (K, D, D) or (D, D)
        As in scikit-learn, for "spherical", "diag", "full" and "tied" components.
    prior_strength_ : float
        Weight of the shared covariance in that of every component, as a number of rows; 0 without shrinkage.
    covariance_type_ : {"spherical", "diag", "full", "tied"}
        Fitted shape.
    n_components_ : int
        Number of components with rows: those with less than one row are dropped, with a warning.
    moments_ : Sums
        Kept moments: ``moments_.n_bytes`` is their size, ``moments_.n_rows`` the number of rows.
    evidence_ : Evidence
        Checks of the assumptions, and the expected l2 error of every mean in the units of the data
        (``component_errors``).
    refinement_ : ndarray of shape (n_steps,)
        Log-likelihood of the data at every step of EM, in nats; with shrinkage less ``prior_strength_`` times the divergences
        of the covariances from the shared one.
    n_iter_ : int
        Number of steps of refinement.
    converged_ : bool
        True if further steps would gain only a negligible amount; only ``refine="auto"`` checks this.
    n_passes_ : int
        Number of passes over the data, without those for the expected errors and the rows in memory.

    Notes
    -----
    Differences from Hsu and Kakade:

    1. Moments are about the mean, with a constant appended: K means need span only K - 1 dimensions, and moving the
       data changes nothing.
    2. g averages all D - K + 1 directions outside the plane of the means, where the paper takes one; s^2 likewise.
    3. With more than 2 (K + 12) features all moments are taken in the K + 12 leading principal directions; no D x D matrix
       appears.
    4. Weights come from the constant's coordinate, E[y] = sum_k w_k nu_k, not from the tensor's eigenvalues w_k^-1/2.
    5. ``refine`` is not in the paper: EM with variances of at least a thousandth of their mean.
    6. Nor are ``method="auto"``, which does not need moments of full rank, and covariances that are not spherical. The
       evidence then lacks the lines on moments.
    7. Nor is shrinkage of covariances: see `latentia.mixtures._shrunk`.
    8. Nor are missing cells. EM takes expectations over them. For moments, starts and checks of shape they are drawn given the
       observed cells, from a mixture fitted by EM. Whether a cell is missing may depend on observed cells, not on its value.

    References
    ----------
    D. Hsu, S. Kakade, ITCS 2013. R. Ge, thesis 2013, chapter 7. N. Ueda, R. Nakano, Z. Ghahramani, G. E. Hinton, SMEM
    algorithm for mixture models, Neural Computation 2000, for the moves.

    Examples
    --------
    >>> from latentia.datasets import planted
    >>> from latentia.mixtures import SphericalGaussianMixture
    >>> data = planted.gaussian_mixture(5000, n_components=4, n_features=8, separation=8)
    >>> model = SphericalGaussianMixture(4, refine=5).fit(data.X)
    >>> model.means_.shape
    (4, 8)
    """

    _constraints: ClassVar = {
        "covariance_type": Choice(*SHAPES, "auto"), "shrink": Flag(),
        "method": Choice("auto", "hsu-kakade"),
    }  # fmt: skip
    _compared, _order, _spare = ("means_",), 3, OVERSAMPLE
    n_components_: Annotated[int, of.size("K")]
    covariance_type_: str
    means_: Annotated[np.ndarray, of.numbers("K V")]
    variance_: Annotated[np.ndarray, of.numbers("K", of.MIN_MAGNITUDE)]
    prior_strength_: Annotated[float, of.number(0.0)]
    _gaps: np.ndarray | None = None  # within a fit, the missing cells
    _scores: Sequence[ShapeScore] = ()  # within a fit, the likelihood of held-out rows under each shape
    _covariances: Annotated[np.ndarray, of.optional(of.numbers("..."))]

    def __init__(
        self,
        n_components: NComponents = 10,
        *,
        covariance_type: str = "spherical",
        shrink: bool = True,
        method: str = "auto",
        refine: Refine = "auto",
        n_splits: int = 3,
        keep_moments: bool = False,
        random_state: Seed = 0,
        n_jobs: int | None = None,
        verbose: int = False,
    ) -> None:
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.shrink = shrink
        self.method = method
        self.refine = refine
        self.n_splits = n_splits
        self.keep_moments = keep_moments
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # --- fitting ------------------------------------------------------------------------------------------------

    @fitting
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> SphericalGaussianMixture:
        """Learn the mixture.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or Blocks of shape (n_rows, D)
            NaN is a missing cell, except in sparse tables and Blocks; every row and column must have an observed cell.
        y : ignored
        sample_weight : array-like of int, shape (n_rows,), optional
            How often each row counts.

        Returns
        -------
        self

        Raises
        ------
        LatentiaError
            If a parameter is out of its range, if X has infinite entries, a row or column without a cell, or fewer rows than
            components.
        """
        blocks = weighted(table_blocks(self, X, reset=True, missing=not self.keep_moments), sample_weight)
        _check_count(self, blocks.n_rows)
        self._gaps = None if isinstance(X, Blocks) else gaps_of(blocks)
        return (self._fit_rows if self.keep_moments else self._fit_in_span)(blocks)

    def _fit_rows(self, rows: Blocks, *more: Any) -> SphericalGaussianMixture:
        """Fit on independent columns, after the choice of the shape."""
        self._gaps = None if self._gaps is None else missing_cells(rows)
        self._scores = _compare_shapes(self, rows)
        self.covariance_type_ = choose_shape(self._scores).shape if self._scores else self._shape
        if self._gaps is not None:
            rows = complete_rows(
                rows, self._gaps, self.n_components - 1, partial(_fit_observed_cells, self), self._seed
            )
        self._fit_stages(rows)
        del self._gaps, self._scores
        return self

    def _fit_sums_in_span(self, sums: FramedSums | WideSums, rows: Blocks | None) -> None:
        span = sums.span
        if span is None:
            return self._fit_selected(sums, rows)
        reduced_rows = None if rows is None else span.reduce(rows)
        self._fit_columns(span, lambda: self._fit_selected(sums.select(span.kept), reduced_rows))

    def _columns_compared(self) -> dict[str, Any]:
        return {"covariance": self._shape}

    def _sums(self, rows: Any, folds: Folds, like: Any) -> FramedSums | WideSums:
        if not self._is_spherical:
            raise LatentiaError(
                "kept moments identify spherical components only: fit other shapes on the rows, without keep_moments.",
                parameter="covariance_type", value=self.covariance_type,
            )  # fmt: skip
        return super()._sums(rows, folds, like)

    @fitting
    def fit_moments(self, moments: HiddenMoments) -> SphericalGaussianMixture:
        """Learn the mixture of a hidden part of rows from its third cumulant.

        Parameters
        ----------
        moments : HiddenMoments
            Cumulants of order 3, from `latentia.contrastive.contrast_moments`.

        Returns
        -------
        self
            Without rows there is no EM: components are spherical.
        """
        return self._fit_hidden_moments(moments, 3, lambda hidden: Moments.from_hidden(hidden, self.n_components))

    def _moments_from_sums(self, sums: FramedSums | WideSums) -> Moments:
        _check_count(self, sums.n_rows)
        return Moments.from_sums(sums, self.n_components)

    def _assign_folds(self, rows: Blocks) -> Folds:
        """Assign rows to folds, by content instead of order if they are too few for stretches of neighbours."""
        folds = super()._assign_folds(rows)
        if folds.stretch > 1 or folds.leaders is not None:
            return folds
        table = rows.table()
        if sparse.issparse(table):
            return folds
        keys = np.zeros(rows.shapes[0][0], np.int64)  # Rows of a half keep their numbers in the full data.
        keys[np.concatenate([block.rows for block in rows])] = content_keys(table) >> np.uint64(1)
        return join_copies(Folds(folds.n, folds.seed), keys)

    def _moments(self, rows: Blocks, folds: Folds) -> Moments:
        """Pass over the data: columns, coordinates, and in these the moments of four groups of rows."""
        _check_count(self, rows.n_rows)  # Again, as dependent columns may be gone.
        return Moments.from_blocks(
            rows, self.n_components, folds, self._seed, n_jobs=self.n_jobs, progress=self.verbose
        )

    def _shared_choices(self, recovered: _InitialFit, model: Refined) -> _Choices:
        return _Choices(recovered.start_names)

    def _recover(self, moments: Moments, subset: Subset, choices: _Choices | None) -> _InitialFit:
        """Recover the mixture from the moments, or find a likelier start; parts start like the full fit, without moves."""
        start_names = () if choices is None else choices.start_names
        use_moments = MOMENTS in start_names if start_names else self._is_spherical or self._moments_only
        moment_fit = _recover_by_moments(self, moments, subset.groups) if use_moments else None
        moment_mixture = None if moment_fit is None else moment_fit.mixture
        if self._moments_only and self._is_spherical:
            assert moment_mixture is not None
            return _InitialFit(moment_fit, moment_mixture, (MOMENTS,))
        _check_count(self, subset.rows.n_rows)
        start = find_likeliest_start(
            subset.rows, moments, moment_mixture, self.n_components, self._shape, shrink=self.shrink,
            compete=not self._moments_only, start_names=start_names,
        )  # fmt: skip
        return _InitialFit(moment_fit, *start)

    def _refine(self, recovered: _InitialFit, moments: Moments, subset: Subset, choices: Any) -> Refined:
        """Refine the mixture by EM on the rows."""
        refined = self._run_em(recovered.start, moments, subset)
        return _drop_empty_components(self, refined, moments, subset) if subset.is_whole else refined

    def _restart(self, model: Refined, moments: Moments, subset: Subset) -> Refined | None:
        return self._run_em(model.parameters, moments, subset) if self.refine else None

    def _is_best(self, answer: Refined, model: Refined, moments: Moments, subset: Subset, clearly: float) -> bool:
        if self.refine != "auto" or self._gaps is not None or subset.rows.n_rows * self.n_features_in_ > _SMALL_PART:
            return False
        target = answer.refinement.log_likelihood[-1] + clearly
        return not _load_rows(self, subset, moments).may_reach(model.parameters.shift(-moments.columns.mean), target)

    def _profile(self) -> Profile:
        return Profile(self.means_, self.weights_, self.column_names, distances=cdist, missing="left out")

    def _distance(self, first: Refined, second: Refined, moments: Moments) -> np.ndarray:
        return cdist(first.parameters.means, second.parameters.means).min(axis=1)

    def _checks(self, fitted: Fitted[Moments, Refined]) -> tuple[list[Check], PartErrors]:
        """Check expected errors, moments if they were used, and the spread of rows about components."""
        refined: Refined = fitted.model
        measured = MixtureMeasurements(
            fitted.recovered.moment_fit if self._is_spherical else None, refined.parameters, fitted.moments
        )
        parts = fitted.errors(self.n_splits).widen(measured.bias)
        if fitted.rows is not None and self.refine and self.n_splits:
            parts = parts.widen(_measure_rival_distance(self, fitted))
        self._keep_confusions(fitted, 0 if fitted.rows is None else self.n_splits)
        checks = build_checks(refined, measured, parts)
        if self._scores:
            checks.append(build_held_out_check(choose_shape(self._scores), self._scores))
        if self._gaps is not None:
            (rows,) = sample_rows(Blocks.from_array(np.where(self._gaps, np.nan, fitted.rows.table())))
            checks += build_gaps_checks(self._gaps, rows, refined.parameters, self._seed)
        if fitted.rows is not None:
            checks += _check_structure(self, fitted)
            checks += _compare_with_merged(fitted)
        return checks, parts

    @property
    def _is_spherical(self) -> bool:
        """True if components are spherical, as the theorem assumes."""
        return self._shape == "spherical"

    @property
    def _shape(self) -> Shape:
        """Shape of the components; with "auto" the chosen one, and spherical before the choice."""
        unchosen = "spherical" if self.covariance_type == "auto" else self.covariance_type
        return str(vars(self).get("covariance_type_", unchosen))

    @property
    def _moments_only(self) -> bool:
        """True if the moments alone give the start of EM."""
        return self.method == "hsu-kakade" or not self.refine

    def _run_em(self, start: Mixture, moments: Moments, part: Subset) -> Refined:
        """Run EM on the rows of a part."""
        if not self.refine:
            return Refined(start.sorted(), Refinement.no_steps())
        tolerance = _MIN_GAIN if part.is_whole else _MIN_GAIN_OF_PART
        if start.covariances is not None or self._gaps is not None:
            center = moments.columns.mean
            mixture, refinement = _load_rows(self, part, moments).converge(start.shift(-center), self.refine, tolerance)
            return Refined(mixture.shift(center).sorted(), refinement)
        update = SphericalMixtureUpdate(*start[:3], floor=_VARIANCE_FLOOR, min_variance=moments.min_variance)
        refined = refine(update, over(part.rows, self.n_jobs, self.verbose), self.refine, tolerance)
        means, variance, weights = refined.values
        return Refined(Mixture(means, weights, variance).sorted(), refined)

    def _set_fitted_attributes(self, fitted: Fitted[Moments, Refined]) -> None:
        mixture: Mixture = fitted.model.parameters
        self.means_, self.weights_, self.variance_, covariances, self.prior_strength_ = mixture
        self.n_components_, self.covariance_type_ = len(mixture.weights), self._shape
        if covariances is not None:
            self._covariances = covariances
        self._set_refinement_attributes(fitted.model.refinement)
        dealt_by_content = fitted.folds.leaders is not None and fitted.folds.stretch == 1
        self.n_passes_ = fitted.moments.n_passes + len(self.refinement_) + dealt_by_content

    def _expand_columns(self, span: ColumnSpan) -> None:
        self.means_ = span.points(self.means_)
        if "_covariances" in vars(self):
            covariances = self._covariances
            self._covariances = span.variances(covariances) if covariances.ndim == 2 else span.covariances(covariances)

    @property
    def covariances_(self) -> np.ndarray:
        """Covariances, as scikit-learn has them: (K,), (K, D), (K, D, D) or (D, D)."""
        if not hasattr(self, "variance_"):
            raise AttributeError("covariances_: the model is not fitted yet.")
        if self._is_spherical:
            return self.variance_
        return self._covariances[0] if self._shape == "tied" else self._covariances

    @property
    def _mixture(self) -> Mixture:
        """Mixture on the independent columns."""
        means, covariances, span = self.means_, vars(self).get("_covariances"), vars(self).get("_span")
        if span is not None:
            means = span.select(means)
            covariances = None if covariances is None else covariances[..., span.kept]
            covariances = (
                covariances[:, span.kept] if covariances is not None and covariances.ndim == 3 else covariances
            )
        return Mixture(means, self.weights_, self.variance_, covariances, self.prior_strength_)

    def _n_parameters(self) -> int:
        k, width = self._mixture.means.shape
        return n_parameters(k, width, self._shape)

    def _check_parameters(self) -> None:
        if self.refine == 0 and not self._is_spherical:
            raise LatentiaError(
                f"covariance_type={self.covariance_type!r} needs EM: the theorem is about spherical components.",
                parameter="refine", value=self.refine,
            )  # fmt: skip

    # --- use ----------------------------------------------------------------------------------------------------

    @fitted
    def sample(self, n_samples: int = 1, random_state: Any = 0) -> tuple[np.ndarray, np.ndarray]:
        """Draw rows from the fitted mixture: X (n_samples, D) and their components (n_samples,).

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows.
        random_state : int, RandomState or Generator, default=0
            Seed of the draws.

        Returns
        -------
        X : ndarray of shape (n_samples, D)
        components : ndarray of int, shape (n_samples,)
            The component of each row.
        """
        n_samples, rng = check_size(n_samples), np.random.default_rng(seed_of(random_state))
        rows, components = self._mixture.draw(n_samples, rng)
        return (rows if "_span" not in vars(self) else self._span.points(rows)), components

    def _draw_alike(self, X: Any, rng: np.random.Generator) -> np.ndarray:
        table = number_table(X, missing=True)
        rows = table.toarray() if sparse.issparse(table) else table
        return np.where(np.isnan(rows), np.nan, self.sample(len(rows), rng)[0])

    def _joint(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the joint log-density of each row and component, (n, K), block by block."""
        blocks = table_blocks(self, X, reset=False, missing=True)
        log_weights = np.log(np.maximum(self.weights_, np.finfo(float).tiny))
        mixture, span = self._mixture, vars(self).get("_span")
        blocks = blocks if span is None else span.reduce(blocks)
        return (log_density(mixture, block[0], block.rows) + log_weights for block in blocks)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        return tags

    def _check_fitted(self) -> None:
        stored, covariances, (k, v) = vars(self).get("_covariances"), self._mixture.covariances, self.means_.shape
        shape = {"diag": (k, v), "full": (k, v, v), "tied": (1, v, v)}.get(self._shape)
        if (None if stored is None else np.shape(stored)) != shape:
            raise LatentiaError(f"_covariances is not of shape {shape}")
        if covariances is not None and self._shape == "diag":
            if not (np.isfinite(covariances).all() and (covariances >= of.MIN_MAGNITUDE).all()):
                raise LatentiaError("_covariances: expected positive finite variances")
        elif covariances is not None:
            check_covariances(covariances, "_covariances")


def _recover_by_moments(
    method: SphericalGaussianMixture, moments: Moments, groups: tuple[int, ...]
) -> Recovered | None:
    """Recover the mixture from the moments of some groups; None if these fail and are not required."""
    if method.n_components > method.n_features_in_:
        return None
    try:
        return recover(moments, groups, method.n_components, method._seed)
    except LatentiaError:
        if method._moments_only:
            raise
        return None


def _load_rows(method: SphericalGaussianMixture, part: Subset, moments: Moments) -> GaussianRows:
    """Load the rows of a part into memory."""
    center, min_variance, shape = moments.columns.mean, moments.min_variance, method._shape
    if method._gaps is not None:
        return ObservedRows.from_completed(part.rows, method._gaps, center, shape, min_variance, method.shrink)
    if shape == "spherical":
        return GaussianRows.all_spherical(part.rows, center, min_variance)
    return GaussianRows.from_blocks(part.rows, center, shape, shrink=method.shrink)


def _drop_empty_components(
    method: SphericalGaussianMixture, refined: Refined, moments: Moments, part: Subset
) -> Refined:
    """Drop components with less than one row, and refine the others again."""
    mixture: Mixture = refined.parameters
    if not method.refine:
        return refined
    remaining = np.flatnonzero(mixture.weights * part.rows.n_rows >= 1 - _ROUNDING)
    if len(remaining) == len(mixture.weights):
        return refined
    if not len(remaining):
        raise LatentiaError(
            f"no component has as much as one of the {part.rows.n_rows} rows: use fewer.",
            parameter="n_components", value=method.n_components,
        )  # fmt: skip
    warn(
        f"{len(mixture.weights) - len(remaining)} of {len(mixture.weights)} components have less than one row and were "
        f"dropped: use n_components={len(remaining)}, or fewer.",
        DroppedDataWarning,
    )
    return _drop_empty_components(method, method._run_em(mixture.select(remaining), moments, part), moments, part)


def _check_count(model: SphericalGaussianMixture, n_rows: int) -> None:
    width = model.n_features_in_ if model._moments_only else np.inf
    if model.n_components > min(n_rows, width):
        raise LatentiaError(
            f"{n_rows} rows of {model.n_features_in_} features support at most {min(n_rows, width)} components"
            + (" by moments." if width < n_rows else "."),
            at_most=int(min(n_rows, width)), parameter="n_components", value=model.n_components,
        )  # fmt: skip


def _measure_rival_distance(method: SphericalGaussianMixture, fitted: Fitted[Moments, Refined]) -> np.ndarray:
    """Measure the distance of the means to those of a rival fit without the least likely rows, (K,); 0 for sparse rows."""
    mixture: Mixture = fitted.model.parameters
    (rows,) = sample_rows(fitted.rows, _MAX_TRIMMED_ROWS)
    if sparse.issparse(rows):
        return np.zeros(len(mixture.weights))
    fitted.rival = _RIVAL_NOTE
    log_likelihoods = normalised(mixture.log_density(rows) + log(mixture.weights), mixture.weights)[1]
    rivals, folds = [], Folds(1, method._seed)
    for subset in (rows[log_likelihoods >= np.quantile(log_likelihoods, _TRIMMED_SHARE)], rows)[
        : 1 + (len(rows) < fitted.rows.n_rows)
    ]:
        part = Subset(folds.all, folds, Blocks.from_array(subset))
        rivals.append(method._run_em(mixture, fitted.moments, part).parameters.means)
    full = rivals[1] if len(rivals) > 1 else mixture.means
    return np.asarray(cdist(full, rivals[0]).min(axis=1))


def _check_structure(method: SphericalGaussianMixture, fitted: Fitted[Moments, Refined]) -> list[Check]:
    """Check that there are components at all; if not, advise a shape that may show them."""
    blocks, folds, mixture = fitted.rows, fitted.folds, fitted.model.parameters
    pairs = fitted.halves(1) if method.n_splits else []
    halves = [(half_fit.parameters, half, other_half) for pair, groups in zip(pairs, folds.splits, strict=False)
              for half_fit, half, other_half in zip(pair, groups, reversed(groups), strict=True)]  # fmt: skip
    (rows,) = sample_rows(blocks)
    density = mixture.log_density(rows)
    shares, _ = normalised(density + log(mixture.weights), mixture.weights)
    (spread_check,) = build_shape_checks(density, shares, mixture.log_dets(), rows.shape[1])

    def fit(subset: Blocks) -> Mixture:
        settings = {"n_components": len(mixture.weights), "_gaps": None}
        mixture_alone: Mixture = fit_alone(method, subset, settings).model.parameters
        return mixture_alone

    lines = build_structure_checks(blocks, folds, halves, fit, bool(spread_check.holds), method._seed)
    full = _compare_with_full(rows, shares.T, method._shape)
    if all(line.holds for line in lines):
        return [*lines, spread_check, *full]
    trivial, n_trivial = single_gaussian(rows, blocks.n_rows)
    min_likelihood = float(trivial.mean()) - 0.5 * n_trivial * np.log(blocks.n_rows) / blocks.n_rows
    shape = advise_shape(
        blocks, len(mixture.weights), method._shape, min_likelihood, partial(_mixture_of_shape, method)
    ) if method.covariance_type != "auto" else ""  # fmt: skip
    return [*(replace(line, remedy=shape or line.remedy) for line in lines), spread_check, *full]


def _compare_with_full(rows: Any, shares: np.ndarray, shape: str) -> list[Check]:
    """Check that full covariances would not predict better, if other matrices were fitted."""
    gain = (
        measure_gain_of_full(rows, shares, shape) if shape in ("diag", "tied") and not sparse.issparse(rows) else None
    )
    if gain is None:
        return []
    reason = "Columns depend on each other" if shape == "diag" else "Components differ in shape"
    return [
        Check(
            "better than full covariances", "nats a row", -gain, above(-_MAX_FULL_GAIN),
            "Gain in prediction of left-out rows over a fit with full covariances.",
            "not in the paper", "note", f"{reason} within components: use covariance_type='full'.",
        )
    ]  # fmt: skip


def _compare_with_merged(fitted: Fitted[Moments, Refined]) -> list[Check]:
    """Check that all components are needed, if EM has fitted spherical ones."""
    mixture: Mixture = fitted.model.parameters
    k = len(mixture.weights)
    if k < 3 or mixture.covariances is not None or not len(fitted.model.refinement.log_likelihood):
        return []
    return [
        Check(
            "better than one fewer", "nats a row", measure_gain_over_merged(fitted.rows, fitted.moments, mixture), above(0),
            "Gain in likelihood over a fit with two of its components merged, less a penalty for its parameters.",
            "not in the paper", "caution",
            f"Two components stand for one: use {k - 1} components, or fewer.", k - 1,
        )
    ]  # fmt: skip


def _fit_observed_cells(method: SphericalGaussianMixture, completed: Blocks) -> Mixture:
    """Fit the mixture by EM on the observed cells, from a start on completed rows."""
    folds = method._assign_folds(completed)
    moments, part = method._moments(completed, folds), Subset(folds.all, folds, completed)
    mixture: Mixture = method._run_em(method._recover(moments, part, None).start, moments, part).parameters
    return mixture


def _compare_shapes(method: SphericalGaussianMixture, blocks: Blocks) -> list[ShapeScore]:
    """Cross-validate the shapes that compete, or the single shape if numbers of components compete."""
    if not (method.covariance_type == "auto" or method._is_compared) or sparse.issparse(blocks[0][0]):
        return []
    balls_only = method._moments_only or method.keep_moments
    shapes = SHAPES if method.covariance_type == "auto" and not balls_only else (method._shape,)
    if len(shapes) == 1 and not method._is_compared:
        return []
    span = span_of(blocks) if method.keep_moments else None  # Otherwise the rows are reduced already.
    return score_shapes(
        blocks if span is None else span.reduce(blocks), shapes, method.n_components,
        lambda rows, shape: _mixture_of_shape(method, rows, shape),
    )  # fmt: skip


def _mixture_of_shape(method: SphericalGaussianMixture, rows: np.ndarray, shape: Shape) -> Mixture:
    """Fit components of a shape to some rows, without checks."""
    alone, blocks = copy(method), Blocks.from_array(rows)
    alone.__dict__ |= {"covariance_type_": shape, "n_splits": 0, "keep_moments": False, "verbose": False}
    alone.n_features_in_, alone._gaps = rows.shape[1], gaps_of(blocks)
    _check_count(alone, blocks.n_rows)
    with np.errstate(
        over="ignore", invalid="ignore"
    ):  # Squares of the largest numbers are infinite, and such a fit loses.
        if alone._gaps is not None:
            blocks = complete_rows(
                blocks, alone._gaps, alone.n_components - 1, partial(_fit_observed_cells, alone), alone._seed
            )
        return _fit_observed_cells(alone, blocks)
