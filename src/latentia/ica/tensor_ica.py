"""Independent component analysis by the fourth cumulant.

Model. x = A h + mean with independent sources h_k of unit variance and excess kurtosis kappa_k = E h_k^4 - 3, and z =
W^T (x - mean) white. Then the fourth cumulant of z is orthogonal,

    C = sum_k kappa_k v_k^(x 4),      v_k = W^T a_k,

with the columns a_k of A, and the sources are v_k . z. Gaussian noise in x leaves this form, but the v_k are then not
orthogonal: see `latentia.ica._noise`.

Source: R. Ge, Provable Algorithms for Machine Learning Problems, thesis, Princeton 2013, section 7.3.2, Theorem 7.3.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils import Bunch

from .. import _fields as of
from .._parameters import Choice, Integer, OrNone, Seed
from .._validation import number_table, table_blocks, weighted
from ..evidence import (
    Check,
    ComponentView,
    PartErrors,
    RealAndSimulated,
    TensorMeasured,
    above,
    at_most,
    error_checks,
    tensor_checks,
)
from ..evidence.limits import MAX_FOREIGN_SHARE, NOISE_RATIO
from ..exceptions import EvidenceWarning, LatentiaError, warn
from ..fitting.additive import Additive
from ..fitting.base import OutputNames, fitted, fitting
from ..fitting.stages import Fitted, Subset
from ..likelihood import Refine
from ..linalg import Whitening, whiten
from ..linalg.ratios import ratio_of
from ..moments import (
    ColumnMoments,
    ColumnSpan,
    FourthCumulants,
    FourthMoments,
    FramedSums,
    HiddenFourth,
    HiddenMoments,
    WideSums,
    column_moments,
    principal_coordinates,
    span_of,
)
from ..moments.vectors import Coordinates
from ..passes import Blocks, Folds, accumulate, sample_rows
from ..tensor import MomentNoise, decompose_operator
from ..tensor.operators import are_stable, tensor_norm
from ..tensor.polar import polar
from ._fast_ica import MAX_TURN, fast_ica
from ._misfit import CumulantFit, measure_cumulant_fit
from ._noise import SourcesInNoise, recover_in_noise

_OVERSAMPLE = 12  # directions beyond the number of components
_MAX_LEFT_OUT = 0.05  # largest accepted share of variance outside of the principal directions
_RIVAL_NOTE = "It includes the distance to a rival, the answer with Gaussian noise, beyond the rival's own error."
_RIVAL_FACTOR = 3.0  # error of the answer with noise, in errors of the answer without, on data without noise
_WHITE_TOLERANCE = 0.1  # largest difference from one of the variances of white rows
_MAX_ITER = 200
_NOISE_STARTS, _MANY_COMPONENTS = 4, 16  # starts of least squares in noise, for fewer components than this
_ROUGH_OPTIONS: dict[str, Any] = {"n_init": 2, "max_iter": 30, "tol": 1e-3}  # for decompositions of parts
_MAX_COMPONENTS = 96  # Their fourth moments, four groups of (pairs x pairs), fit into a gigabyte.


class TensorICA(OutputNames, TransformerMixin, Additive["_Moments", "_Unmixing"]):
    """Independent component analysis by tensor decomposition of the fourth cumulant.

    The fit is deterministic, makes a few passes over the data, and gives an expected error for every component.

    Choose it in place of scikit-learn's `FastICA`, with the same attributes, where runs must agree, where every source needs
    an error bar, or where data is larger than memory. It needs sources with a kurtosis that differs from a Gaussian's (except
    at most one), and fourth moments, so clip heavy outliers first. FastICA's iterations start from the tensor's answer: two or
    three of them usually suffice.

    Parameters
    ----------
    n_components : int, optional
        Number of sources K; by default the number of linearly independent features. With fewer sources than features, the data
        is first reduced to its K leading principal directions.
    whiten : {"unit-variance", "arbitrary-variance", False}, default="unit-variance"
        As in scikit-learn. "unit-variance": sources have variance one. "arbitrary-variance": the rotation of white rows is
        orthonormal, and the whitening divides by the root of the sums of squares of rows, not of their mean, so that sources
        have variance 1 / n_rows. False: the rows are white already, and ``components_`` is the rotation, with mean zero and no
        ``whitening_``; all features are sources then.
    refine : int or "auto", default="auto"
        FastICA (symmetric, logcosh) from the tensor's solution: "auto" iterates until convergence, at most 200 times, a number
        at most that many times, each a pass over the data. 0 keeps to the theorem; it is the better choice if all sources are
        flatter than a Gaussian. See ``refinement_``, and *FastICA has converged* in the evidence.
    noise : {"auto", "gaussian", None}, default="auto"
        None: no noise. "gaussian": the data has Gaussian noise of any covariance; the fit uses the fourth cumulant only,
        without a pass and without ``refine``, whose iterations noise biases. "auto": "gaussian" if the answer without noise
        does not fit, noise explains most of the misfit, and the answers differ by more than chance (*Gaussian noise* in the
        evidence). On data without noise None is two to three times as accurate.
    n_splits : int, default=3
        Number of random splits into halves, at most 3, whose fits, and those on three quarters, give the expected errors.
        They need no pass over the data; with ``refine`` a single split is used, and its fits take about four times as long
        as refining. With 0 no errors are measured.
    keep_moments : bool, default=False
        Whether to keep fourth moments, so that rows can be added (`partial_fit`) and removed (`forget`), and models merged
        (`latentia.merge`): 16 (D + 1)^2 (D + 2)^2 bytes for up to 64 columns, at most 294 MB. For more columns they are kept in
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
    n_components_ : int
        Number of sources, K.
    components_ : ndarray of shape (K, D)
        Unmixing matrix: sources are ``components_ @ (x - mean_)``, by default of unit variance, in order of decreasing
        absolute kurtosis. If noise is modelled, it is the unmixing of ``mixing_`` with the smallest noise,
        (A^T S^-1 A)^-1 A^T S^-1 for the noise's covariance S; the unit variance is then that of a source without its remaining
        noise.
    mixing_ : ndarray of shape (D, K)
        Mixing matrix A; ``components_`` is an inverse, without noise the pseudo-inverse. The largest entry of every column is
        positive.
    noise_covariance_ : ndarray of shape (D, D), or None if no noise is modelled
        Covariance of the Gaussian noise: the covariance of the rows less A A^T, in the K + 12 leading principal directions if
        there are more features. The data cannot distinguish noise from Gaussian parts of the sources: this is the smallest
        noise with an equal share in all of them.
    mean_ : ndarray of shape (D,)
        Zero with ``whiten=False``.
    whitening_ : ndarray of shape (K, D)
        The part of ``components_`` before the rotation; absent with ``whiten=False``.
    kurtosis_ : ndarray of shape (K,)
        Excess kurtosis of the recovered sources, before refining and without modelled noise; 0 for a Gaussian.
    n_iter_ : int
        Number of iterations of FastICA, or without ``refine`` or with modelled noise of the decomposition.
    converged_ : bool
        True if FastICA's last iteration turned no source; False without ``refine``. If noise is modelled, True if least squares
        have converged.
    refinement_ : ndarray of shape (n_iter_,), or (0,) without ``refine`` or if noise is modelled
        Objective of FastICA at the start of each iteration: up to a constant the mean log-likelihood of a row in nats, for
        white sources with density exp(-s^2 / 2) / cosh s or, if that fits better, exp(-s^2 / 2) cosh s. It is 0 if all sources
        look Gaussian.
    moments_ : Sums
        Kept moments: ``moments_.n_bytes`` is their size, ``moments_.n_rows`` the number of rows.
    evidence_ : Evidence
        Checks of the assumptions. An expected error (``component_errors``) is the amplitude of all other sources in a
        recovered one, relative to the source itself: 0.1 is -20 dB. It grows with the misfit of the fourth cumulant beyond
        noise, and rows are split in stretches, with copies together, so that errors are right for signals and copied rows.
    n_passes_ : int
        Number of passes over the data, without those for the expected errors. Each iteration of FastICA counts as one, even if
        it reads kept coordinates (up to four million numbers).

    Notes
    -----
    Differences from the thesis:

    1. Theorem 7.3 needs centred sources of unit variance; for others kappa = E h^4 - 3 (E h^2)^2.
    2. All K^4 entries of the whitened cumulant are decomposed by polar iteration, not the contraction M_4(I, I, I, v)
       with one vector, whose eigenvalues nearly coincide for an unlucky v. kappa_k keeps its sign.
    3. Without noise whitening is by the covariance, not by M_4(I, I, u, u), in which Gaussian noise vanishes. This is more
       accurate, but with noise biased by about the ratio of noise to signal, which halves of the data cannot show. The misfit
       of the cumulant reveals the noise (*goodness of fit*), and increases the expected errors.
    4. In noise the a_k are those with least squares |C - sum_k kappa_k a_k^(x 4)|^2 over all entries of the cumulant of
       rows of covariance I, from the orthogonal answer. M_4(I, I, u, u) is one slice of it, and indefinite if kurtoses have
       mixed signs.
    5. ``refine`` is not in the thesis.

    References
    ----------
    R. Ge, thesis 2013, section 7.3.2. P. Comon, Independent component analysis, a new concept?, Signal Processing 1994.
    A. Hyvärinen, Fast and robust fixed-point algorithms for independent component analysis, IEEE Trans. Neural Networks 1999.

    Examples
    --------
    >>> from latentia.datasets import planted
    >>> from latentia.ica import TensorICA
    >>> from latentia.metrics import amari_index
    >>> data = planted.independent_sources(20_000, n_components=4)
    >>> model = TensorICA(4).fit(data.X)
    >>> amari_index(model.components_, data.mixing) < 0.02
    True
    """

    _constraints: ClassVar = {
        "n_components": OrNone(Integer(1)), "whiten": Choice("unit-variance", "arbitrary-variance", False),
        "noise": OrNone(Choice("auto", "gaussian")),
    }  # fmt: skip
    _compared, _max_distance, _spare = ("components_", "mixing_"), 1.0, _OVERSAMPLE
    _nouns = ("source", "sources", "rows")
    components_: Annotated[np.ndarray, of.numbers("K V")]
    mixing_: Annotated[np.ndarray, of.numbers("V K")]
    mean_: Annotated[np.ndarray, of.numbers("V")]
    noise_covariance_: Annotated[np.ndarray | None, of.optional(of.numbers("V V"))]
    whitening_: Annotated[np.ndarray, of.optional(of.numbers("K V"))]
    kurtosis_: Annotated[np.ndarray, of.numbers("K")]
    n_iter_: Annotated[int, of.count()]
    refinement_: Annotated[np.ndarray, of.numbers("*")]
    converged_: bool
    _n_features_out: Annotated[int, of.size("K")]
    _rank: int | None = None  # within a fit, the rank of linearly dependent columns

    def __init__(
        self,
        n_components: int | None = None,
        *,
        whiten: str | bool = "unit-variance",
        refine: Refine = "auto",
        noise: str | None = "auto",
        n_splits: int = 3,
        keep_moments: bool = False,
        random_state: Seed = 0,
        n_jobs: int | None = None,
        verbose: int = False,
    ) -> None:
        self.n_components = n_components
        self.whiten = whiten
        self.refine = refine
        self.noise = noise
        self.n_splits = n_splits
        self.keep_moments = keep_moments
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # --- fitting ------------------------------------------------------------------------------------------------

    @fitting
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> TensorICA:
        """Learn the unmixing.

        Parameters
        ----------
        X : array-like, DataFrame or Blocks of shape (n_rows, D)
        y : ignored
        sample_weight : array-like of int, shape (n_rows,), optional
            How often each row counts.

        Returns
        -------
        self

        Raises
        ------
        LatentiaError
            If a parameter is out of its range, if X has NaN or infinite entries, or fewer rows or directions than sources; with
            ``whiten=False`` also if columns are not white, or for ``noise="gaussian"``.
        """
        rows = weighted(self._read(X), sample_weight)
        if self.keep_moments:
            return self._fit_stages(rows)
        self._rank = None if self.whiten is False else self._rank_of(span_of(rows))
        self._fit_stages(rows)
        del self._rank
        return self

    def _fit_sums_in_span(self, sums: FramedSums | WideSums, rows: Blocks | None) -> None:
        self._rank = None if self.whiten is False else self._rank_of(sums.span)
        self._fit_selected(sums, rows)
        del self._rank

    def _rank_of(self, span: ColumnSpan | None) -> int | None:
        """Return the number of independent columns, if not all are; warn of dependent ones if all should be sources."""
        if span is None:
            return None
        if self.n_components is None:
            span.tell(self._column_names)
        return len(span.kept)

    def _read(self, X: Any, *, reset: bool = True) -> Blocks:
        return table_blocks(self, X, reset=reset, sparse=False)

    def _check_parameters(self) -> None:
        if self.noise == "gaussian" and self.whiten is False:
            raise LatentiaError(
                "noise needs whitening, as components_ is then not a rotation: use whiten='unit-variance'.",
                parameter="noise", value="gaussian",
            )  # fmt: skip

    def _moments(self, rows: Blocks, folds: Folds) -> _Moments:
        """Pass over the data: columns, principal coordinates, and in these the fourth moments of four groups of rows."""
        options: dict[str, Any] = {"n_jobs": self.n_jobs, "progress": self.verbose}
        columns = column_moments(rows, **options)
        size = self._count(columns)
        coordinates, n_passes = self._coordinates(rows, columns, size, options)
        statistic = FourthMoments(coordinates, folds)
        sums = accumulate(rows, statistic, **options)
        return _Moments.from_sums(columns, size, statistic, sums, n_passes + 2, self.whiten is False)

    @fitting
    def fit_moments(self, moments: HiddenMoments) -> TensorICA:
        """Learn the unmixing of a hidden part of rows from its fourth cumulant.

        Parameters
        ----------
        moments : HiddenMoments
            Cumulants of order 4, from `latentia.contrastive.contrast_moments`.

        Returns
        -------
        self
            Without rows there is no refinement.
        """
        self._rank = None
        self._fit_hidden_moments(moments, 4, self._moments_from_hidden)
        del self._rank
        return self

    def _moments_from_hidden(self, hidden: HiddenMoments) -> _Moments:
        columns = hidden.columns
        statistic = HiddenFourth(hidden, Coordinates(columns.mean, np.diag(self._scale(columns))))
        return _Moments.from_sums(columns, self._count(columns), statistic, np.empty(0), 0, self.whiten is False)

    def _moments_from_sums(self, sums: FramedSums | WideSums) -> _Moments:
        """Compute the moments from kept sums."""
        columns = sums.columns
        size = self._count(columns)
        is_reduced, scale = size < self.n_features_in_, self._scale(columns)
        coordinates = (
            sums.principal(size + _OVERSAMPLE, 1.0) if is_reduced else Coordinates(columns.mean, np.diag(scale))
        )
        statistic = FourthMoments(coordinates, Folds())
        moments = _Moments.from_sums(
            columns, size, statistic, sums.to_coordinates(coordinates), 1, self.whiten is False
        )
        return replace(moments, lift=sums.lift(coordinates)) if isinstance(sums, WideSums) else moments

    def _shared_choices(self, recovered: _Recovery, model: _Unmixing) -> _Start:
        return _Start(recovered.unmixing, recovered.kurtosis, recovered.noisy is not None)

    def _recover(self, moments: _Moments, subset: Subset, choices: _Start | None) -> _Recovery:
        """Whiten, decompose the cumulant and rotate (Theorem 7.3); in noise fit least squares from there."""
        sums = moments.sum_groups(subset.groups)
        whitening = _compute_whitening(sums, moments)
        if choices is not None:
            return _recover_part(sums, whitening, self._seed, choices)
        kurtosis, v, info = decompose_operator(sums.cumulant(whitening.matrix), moments.size, self._seed)
        unmixing = _Unmixing(v @ whitening.matrix.T, whitening.inverse @ v.T, info.iterations, np.empty(0))
        recovery = _Recovery(unmixing, sums.mean, kurtosis, whitening, info)
        if self.noise == "gaussian":
            return _replace_by_noisy(recovery, _recover_best_in_noise(recovery, moments, self._seed))
        may_have_noise = self.noise == "auto" and not moments.white and moments.size > 1
        return _choose_noise_model(recovery, moments, self._seed, self.n_splits > 0) if may_have_noise else recovery

    def _refine(self, recovered: _Recovery, moments: _Moments, subset: Subset, choices: Any) -> _Unmixing:
        """Run FastICA on the rows."""
        if not self.refine or moments.size < 2 or recovered.noisy:
            return recovered.unmixing
        start, max_iter = recovered.unmixing, _MAX_ITER if self.refine == "auto" else int(self.refine)
        coordinates = moments.statistic.coordinates
        result = fast_ica(subset.rows, coordinates, recovered.mean, start.matrix, max_iter, self.n_jobs, self.verbose)
        if result.turn >= MAX_TURN:
            self._warn_not_converged(max_iter)
        matrix, inverse = result.rotation @ start.matrix, start.inverse @ result.rotation.T
        return _Unmixing(matrix, inverse, len(result.log_likelihood), result.log_likelihood, result.turn)

    def _checks(self, fitted: Fitted[_Moments, _Unmixing]) -> tuple[list[Check], PartErrors]:
        """Check the misfit of the cumulant, expected errors, and the theorem's assumptions.

        Refined fits on three quarters of the rows count too: without them the expected errors of 120 planted sets were off by a
        factor of 1.38 (root mean square), with them by 1.31.
        """
        moments = fitted.moments
        recovery: _Recovery = fitted.recovered
        folds = moments.folds
        rest = recovery.noisy.rest if recovery.noisy else None
        cumulant = measure_cumulant_fit(
            moments.sum_groups(folds.all), _sum_halves(moments), recovery.unmixing.matrix, rest
        )
        parts = fitted.errors(min(self.n_splits, 1) if self.refine and not recovery.noisy else self.n_splits)
        if parts.errors is not None and recovery.rival and recovery.rival_error <= MAX_FOREIGN_SHARE:
            fitted.rival = _RIVAL_NOTE
            # Later digits are rounding errors.
            distances = np.round(_crosstalk(recovery.rival.matrix @ fitted.model.inverse), 4)
            tolerance = (_RIVAL_FACTOR * parts.errors) ** 2
            parts = parts.widen(np.sqrt(np.maximum(distances**2 - tolerance, 0.0)), self._max_distance)
        mixed_in = float(np.sqrt(_measure_left_out_share(recovery, moments)))  # as if the other directions were sources
        parts = parts.widen(np.full(moments.size, np.hypot(cumulant.bias, mixed_in)), self._max_distance)
        if parts.errors is not None:
            parts = replace(parts, errors=np.maximum(parts.errors, cumulant.rotation_error))
        return [*_checks(recovery, moments, parts, cumulant), *_check_convergence(fitted.model)], parts

    def _cost(self) -> Literal["free"]:
        return "free"

    def _component_view(self, fitted: Fitted[_Moments, _Unmixing]) -> ComponentView:
        """Return the sources of rows."""
        return ComponentView(np.asarray(self.transform(fitted.comparison_rows)).T, signed=True)

    def _real_and_simulated(self, fitted: Fitted[_Moments, _Unmixing], rng: np.random.Generator) -> RealAndSimulated:
        """Return sources, and sources that are permuted across rows: independent with the same distributions.

        Noise of twice the expected error hides the crosstalk that this error explains.
        """
        sources = np.asarray(self.transform(Blocks.from_array(*sample_rows(fitted.rows))))
        errors = fitted.errors(1).errors
        spread = sources.std(axis=0) * (0.0 if errors is None else 2 * errors)
        sources = sources + spread * rng.standard_normal(sources.shape)
        sources, other_sources = np.array_split(sources, 2)
        names = [f"source {k}" for k in range(sources.shape[1])]
        return RealAndSimulated(sources, rng.permuted(other_sources, axis=0), names)

    def _distance(self, first: _Unmixing, second: _Unmixing, moments: _Moments) -> np.ndarray:
        return _crosstalk(second.matrix @ first.inverse)

    def _set_fitted_attributes(self, fitted: Fitted[_Moments, _Unmixing]) -> None:
        """Set sources in the units of ``whiten``."""
        unmixing: _Unmixing = fitted.model
        recovery: _Recovery = fitted.recovered
        moments = fitted.moments
        components, mixing, self.mean_ = _to_features(unmixing, recovery, moments)
        unit = np.sqrt(moments.sum_groups(moments.folds.all).n) if self.whiten == "arbitrary-variance" else 1.0
        self.components_, self.mixing_, self.n_components_ = components / unit, mixing * unit, len(components)
        if moments.white:
            self.mean_ = np.zeros_like(self.mean_)
        else:
            self.whitening_ = _compute_signal_whitening(recovery, moments, components) / unit
        self.noise_covariance_ = _compute_noise_covariance(recovery, moments)
        self.kurtosis_ = recovery.kurtosis
        self.n_iter_ = int(unmixing.n_iter)
        self.refinement_ = unmixing.log_likelihood
        self.converged_ = (
            recovery.noisy.converged if recovery.noisy else unmixing.turn is not None and unmixing.turn < MAX_TURN
        )
        self._n_features_out = moments.size
        self.n_passes_ = moments.n_passes + len(self.refinement_)

    def _coordinates(
        self, rows: Blocks, columns: ColumnMoments, size: int, options: dict[str, Any]
    ) -> tuple[Coordinates, int]:
        """Compute principal coordinates, or those of all columns at unit variance, so that small units keep their rank."""
        is_reduced = size < self.n_features_in_
        return principal_coordinates(
            rows, size + _OVERSAMPLE if is_reduced else size, columns.mean, scale=None if is_reduced else self._scale(columns),
            slack=1.0, random_state=self._seed, **options,
        )  # fmt: skip

    def _scale(self, columns: ColumnMoments) -> np.ndarray:
        """Return factors that bring columns to unit variance; ones if the rows are white already."""
        varying = np.where(columns.variance > 0, columns.variance, 1.0)
        return np.ones_like(varying) if self.whiten is False else 1.0 / np.sqrt(varying)

    def _warn_not_converged(self, max_iter: int) -> None:
        advice = "." if self.refine == "auto" else f", or raise refine={self.refine}."
        warn(
            f"FastICA has not converged after {max_iter} iterations. Check the evidence for sources that are nearly Gaussian"
            + advice,
            EvidenceWarning,
        )

    def _count(self, columns: ColumnMoments) -> int:
        """Return K, checked against the data."""
        width = len(columns.variance)
        rank = int((columns.variance > 0).sum()) if self._rank is None else self._rank
        size = rank if self.n_components is None and self._rank else self.n_components or width
        max_components = min(rank, columns.n - 1)
        if self.whiten is False and size < width:
            raise LatentiaError(
                f"whiten=False takes all {width} features as sources: leave n_components out.",
                parameter="n_components", value=size,
            )  # fmt: skip
        if size > max_components:
            reason = f"{width - rank} of {width} features are constant, copies or combinations of others"
            reason = reason if rank < width else f"the data has {columns.n} rows and {width} features"
            raise LatentiaError(
                f"{reason}: this data supports at most {max_components} components.",
                at_most=max_components,
                parameter="n_components",
                value=size,
            )
        if size > _MAX_COMPONENTS:
            raise LatentiaError(
                f"fourth moments of more than {_MAX_COMPONENTS} components take more than a gigabyte. Use fewer.",
                parameter="n_components", value=size,
            )  # fmt: skip
        return size

    def _distances(self, other: TensorICA) -> np.ndarray:
        return _crosstalk(other.components_ @ self.mixing_)

    # --- use ----------------------------------------------------------------------------------------------------

    @fitted
    def transform(self, X: Any) -> np.ndarray:
        """Return the sources of the rows, shape (n_rows, K).

        Parameters
        ----------
        X : array-like, DataFrame or Blocks of shape (n_rows, D)
            Signals with the columns of the fit.

        Returns
        -------
        ndarray of shape (n_rows, K)

        Raises
        ------
        LatentiaError
            If X has another number of columns than the data of the fit, or NaN.
        """
        blocks = table_blocks(self, X, reset=False, sparse=False)
        return np.vstack([(block[0] - self.mean_) @ self.components_.T for block in blocks])

    @fitted
    def inverse_transform(self, X: Any) -> np.ndarray:
        """Return the rows of given sources (n_rows, K), shape (n_rows, D).

        Parameters
        ----------
        X : array-like of shape (n_rows, K)
            Sources.

        Returns
        -------
        ndarray of shape (n_rows, D)
        """
        sources = number_table(X, sparse_allowed=False)
        if sources.shape[1] != len(self.components_):
            raise LatentiaError(f"Expected sources of shape (n_rows, {len(self.components_)}); found {sources.shape}.")
        return sources @ self.mixing_.T + self.mean_

    def _check_fitted(self) -> None:
        identity = np.eye(len(self.components_))
        if not np.allclose(self.components_ @ self.mixing_, identity, rtol=0, atol=of.TOLERANCE):
            raise LatentiaError("mixing_ is not the inverse of components_")


# --- from moments to the unmixing ---------------------------------------------------------------------------------


class _Unmixing(NamedTuple):
    """Unmixing in the coordinates of the moments, (K, b), its inverse (b, K), and the number of iterations.

    After FastICA also the log-likelihood at each iteration, and the largest 1 - |cosine| by which the last turned a source.
    """

    matrix: np.ndarray
    inverse: np.ndarray
    n_iter: int
    log_likelihood: np.ndarray
    turn: float | None = None


@dataclass(frozen=True)
class _Moments:
    """Number of sources K, total variance of the columns, and the fourth moments of groups of rows in coordinates.

    ``white`` is True if the rows are white already; ``lift`` maps coordinates to features, if the coordinates do not.
    """

    size: int
    total_variance: float
    statistic: FourthMoments | HiddenFourth
    sums: np.ndarray
    folds: Folds
    n_passes: int
    white: bool
    lift: np.ndarray | None = None

    @classmethod
    def from_sums(
        cls,
        columns: ColumnMoments,
        size: int,
        statistic: FourthMoments | HiddenFourth,
        sums: np.ndarray,
        n_passes: int,
        white: bool,
    ) -> _Moments:
        """Build the moments, and check that rows are white if ``white`` says so."""
        total = float((columns.variance if size < len(columns.variance) else columns.variance > 0).sum())
        moments = cls(size, total, statistic, sums, statistic.folds, n_passes, white)
        if white:
            _check_white(moments)
        return moments

    def sum_groups(self, groups: tuple[int, ...]) -> FourthCumulants:
        return self.statistic.of(self.sums, groups)


class _Start(NamedTuple):
    """Sources of the full fit, from which the iterations of subsets start, and whether noise was modelled."""

    unmixing: _Unmixing
    kurtosis: np.ndarray
    has_noise: bool


@dataclass(frozen=True)
class _Recovery:
    """Recovered unmixing, mean of the coordinates, whitening, and tensor decomposition.

    ``noisy`` is the least-squares answer if noise is modelled, ``noise_ratio`` the ratio that "auto" compares with its limit.
    ``rival`` is the least-squares answer if the cumulant fits without noise, with its error.
    """

    unmixing: _Unmixing
    mean: np.ndarray
    kurtosis: np.ndarray
    whitening: Whitening
    info: Any
    noisy: SourcesInNoise | None = None
    noise_ratio: float | None = None
    rival: SourcesInNoise | None = None
    rival_error: float = np.inf


def _compute_whitening(m: FourthCumulants, moments: _Moments) -> Whitening:
    if not moments.white:
        return whiten(m.covariance, moments.size, "covariance")
    return Whitening(np.eye(moments.size), np.eye(moments.size), np.linalg.eigvalsh(m.covariance)[::-1])


def _check_white(moments: _Moments) -> None:
    """Raise if rows are not white."""
    spectrum = np.linalg.eigvalsh(moments.sum_groups(moments.folds.all).covariance)
    deviation = float(np.abs(spectrum - 1).max())
    if deviation > _WHITE_TOLERANCE:
        raise LatentiaError(
            f"expected white rows (variance 1 in every direction); one direction has variance "
            f"{spectrum[np.abs(spectrum - 1).argmax()]:.3g}. Use whiten='unit-variance', or whiten the rows first.",
            parameter="whiten", value=False,
        )  # fmt: skip


def _recover_part(sums: FourthCumulants, whitening: Whitening, seed: int, start: _Start) -> _Recovery:
    """Recover the sources of a part of the rows, to the precision that expected errors need.

    Start from the sources of the full fit, and from random ones if those do not attract in the part's cumulant.
    """
    if start.has_noise:
        recovery = _Recovery(start.unmixing, sums.mean, start.kurtosis, whitening, Bunch(iterations=0))
        return _replace_by_noisy(recovery, recover_in_noise(sums, start.unmixing.inverse))
    cumulant, info, size = sums.cumulant(whitening.matrix), Bunch(iterations=0), len(start.kurtosis)
    for starts in (start.unmixing.matrix @ whitening.inverse, None):
        v, _, _ = polar(cumulant, size, np.random.default_rng(seed), starts=starts, **_ROUGH_OPTIONS)
        kurtosis = np.einsum("ki,ki->k", cumulant.contract(v), v)
        if are_stable(cumulant, kurtosis, v).all():
            break
    unmixing = _Unmixing(v @ whitening.matrix.T, whitening.inverse @ v.T, 0, np.empty(0))
    return _Recovery(unmixing, sums.mean, kurtosis, whitening, info)


def _replace_by_noisy(recovery: _Recovery, noisy: SourcesInNoise, noise_ratio: float | None = None) -> _Recovery:
    """Replace the orthogonal answer by that of least squares in noise."""
    unmixing = _Unmixing(noisy.matrix, noisy.inverse, noisy.n_iter, np.empty(0))
    return replace(recovery, unmixing=unmixing, kurtosis=noisy.kurtosis, noisy=noisy, noise_ratio=noise_ratio)


def _sum_halves(moments: _Moments) -> list[tuple[FourthCumulants, FourthCumulants]]:
    return [(moments.sum_groups(a), moments.sum_groups(b)) for a, b in moments.folds.splits]


def _recover_best_in_noise(recovery: _Recovery, moments: _Moments, seed: int) -> SourcesInNoise:
    """Fit least squares from the orthogonal answer and from random ones, and return the best.

    In much noise there are other minima, with nearby vectors of opposite signs.
    """
    sums, rng, inverse = moments.sum_groups(moments.folds.all), np.random.default_rng(seed), recovery.whitening.inverse
    starts = [recovery.unmixing.inverse]
    if moments.size < _MANY_COMPONENTS:
        starts += [inverse @ rng.standard_normal((moments.size,) * 2) for _ in range(_NOISE_STARTS - 1)]
    return min((recover_in_noise(sums, start) for start in starts), key=lambda noisy: noisy.residual)


def _choose_noise_model(recovery: _Recovery, moments: _Moments, seed: int, has_rival: bool) -> _Recovery:
    """Choose the answer in noise if the orthogonal one does not fit, noise explains most of the misfit, and sources differ.

    Sources differ if the distance of the answers is larger than the error of the answer in noise, by halves, explains: the bias
    of the orthogonal answer is then larger than its gain in variance. This needs no pass. If the orthogonal answer fits, the
    other one is its rival.
    """
    with contextlib.suppress(LatentiaError):
        halves = _sum_halves(moments)
        sums = moments.sum_groups(moments.folds.all)
        orthogonal_fit = measure_cumulant_fit(sums, halves, recovery.unmixing.matrix)
        if orthogonal_fit.fits and not has_rival:
            return recovery
        noisy = (
            recover_in_noise(sums, recovery.unmixing.inverse)
            if orthogonal_fit.fits
            else _recover_best_in_noise(recovery, moments, seed)
        )
        half_fits = [recover_in_noise(half, noisy.inverse) for pair in halves for half in pair]
        errors = np.array([_crosstalk(half_fit.matrix @ noisy.inverse) for half_fit in half_fits])
        if orthogonal_fit.fits:
            return replace(recovery, rival=noisy, rival_error=float(np.sqrt((errors**2).mean())))
        noisy_fit = measure_cumulant_fit(sums, halves, noisy.matrix, noisy.rest)
        distance = _crosstalk(recovery.unmixing.matrix @ noisy.inverse).mean()
        ratio = float(ratio_of(distance, errors.mean()) ** 2)
        if ratio > NOISE_RATIO and noisy_fit.misfit.share <= orthogonal_fit.misfit.share / 2:
            return _replace_by_noisy(recovery, noisy, ratio)
        return replace(recovery, noise_ratio=ratio)
    return recovery


def _compute_noise_covariance(recovery: _Recovery, moments: _Moments) -> np.ndarray | None:
    """Compute the noise covariance of the features, (D, D): the rows' covariance less that of the sources."""
    if recovery.noisy is None:
        return None
    lift, inverse = _compute_lift(moments), recovery.noisy.inverse
    noise = moments.sum_groups(moments.folds.all).covariance - inverse @ inverse.T
    return np.asarray(lift @ noise @ lift.T)


def _compute_signal_whitening(recovery: _Recovery, moments: _Moments, components: np.ndarray) -> np.ndarray:
    """Compute the map before the rotation, (K, D): it whitens the rows, or in noise their part A h."""
    basis = moments.statistic.coordinates.basis
    if recovery.noisy is None:
        return np.asarray(recovery.whitening.matrix.T @ basis.T)
    return np.asarray(np.linalg.svd(recovery.noisy.inverse, full_matrices=False)[2] @ components)


def _compute_lift(moments: _Moments) -> np.ndarray:
    """Compute the map from coordinates to features, (D, b)."""
    if moments.lift is not None:
        return moments.lift
    basis = moments.statistic.coordinates.basis
    # A square basis is diagonal: the scales of the columns, which may differ too much for a pseudo-inverse.
    return np.diag(1.0 / np.diag(basis)) if len(basis) == basis.shape[1] else basis


def _to_features(
    unmixing: _Unmixing, recovery: _Recovery, moments: _Moments
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Convert unmixing (K, D), mixing (D, K) and mean (D,) from coordinates to features."""
    coordinates = moments.statistic.coordinates
    basis, lift = coordinates.basis, _compute_lift(moments)
    mixing = lift @ unmixing.inverse
    signs = np.sign(mixing[np.abs(mixing).argmax(axis=0), np.arange(moments.size)])
    signs[signs == 0] = 1.0
    return signs[:, None] * (unmixing.matrix @ basis.T), mixing * signs, coordinates.center + lift @ recovery.mean


def _crosstalk(gains: np.ndarray) -> np.ndarray:
    """Return for every source the relative amplitude of other sources in the recovered source closest to it, shape (K,).

    Row l of ``gains`` holds the amplitudes of the true sources (columns) in the l-th recovered one.
    """
    shares = (gains / np.maximum(np.linalg.norm(gains, axis=1, keepdims=True), np.finfo(float).tiny)) ** 2
    return np.sqrt(np.maximum(1 - shares.max(axis=0), 0))


# --- evidence -----------------------------------------------------------------------------------------------------


def _checks(recovery: _Recovery, moments: _Moments, parts: PartErrors, cumulant: CumulantFit) -> list[Check]:
    (first, second), whitening = moments.folds.splits[0], recovery.whitening
    noise = tensor_norm(cumulant.noise)
    difference = (moments.sum_groups(first).covariance - moments.sum_groups(second).covariance) / 2
    measured = TensorMeasured(
        spectrum=whitening.spectrum,
        noise=MomentNoise(float(np.linalg.norm(whitening.matrix.T @ difference @ whitening.matrix, 2)), noise),
        weights=recovery.kurtosis,
        residual=recovery.noisy.residual if recovery.noisy else recovery.info.residual,
        stable=recovery.info.stable if recovery.noisy is None else _find_stable_in_noise(recovery, moments),
        samples=moments.sum_groups(moments.folds.all).n,
    )
    return [
        *error_checks(
            parts, MAX_FOREIGN_SHARE, "mean crosstalk", "as amplitude of the other sources in it", "source",
            n_rows=measured.samples,
        ),
        *cumulant.misfit.checks(cumulant.limit, "sources"),
        *_check_excess(cumulant),
        *_check_noise(recovery),
        *_check_hidden_noise(recovery),
        Check(
            "sources that look Gaussian", f"|kappa_k| <= {noise:.2g}", float((np.abs(recovery.kurtosis) <= noise).sum()),
            at_most(1),
            "Sources whose kurtosis is within the noise of the cumulant. They cannot be separated from each other.",
            "Theorem 7.3",
        ),
        *_check_left_out_variance(recovery, moments),
        *tensor_checks(measured),
    ]  # fmt: skip


def _check_excess(cumulant: CumulantFit) -> list[Check]:
    if cumulant.excess is None:
        return []
    return [
        Check(
            "cumulant above noise", "|C|^2 / E|C|^2", cumulant.excess, above(cumulant.min_excess, "1 for Gaussian data"),
            "The fourth cumulant, relative to that of as many Gaussian rows, and lower if it is like that of a cloud with "
            "tails in every direction. It is all that separates the sources.",
            "Theorem 7.3", "veto", "The data looks like a single cloud, so that its sources cannot be separated.",
        )
    ]  # fmt: skip


def _check_noise(recovery: _Recovery) -> list[Check]:
    if recovery.noise_ratio is None:
        return []
    verdict = "Noise is modelled." if recovery.noisy else "Noise is not modelled."
    if recovery.noise_ratio > NOISE_RATIO and not recovery.noisy:
        verdict = "Noise is not modelled, as it does not explain the misfit of the cumulant."
    return [
        Check(
            "Gaussian noise", "squared distance / error", recovery.noise_ratio, at_most(NOISE_RATIO),
            "Distance between the answers with and without Gaussian noise, relative to the error of the former. Above the "
            f"limit noise is modelled if it explains the cumulant. {verdict}", "Theorem 7.3",
        )
    ]  # fmt: skip


def _check_hidden_noise(recovery: _Recovery) -> list[Check]:
    if recovery.rival is None:
        return []
    return [
        Check(
            "noise would show", "error of the answer in noise", recovery.rival_error, at_most(MAX_FOREIGN_SHARE),
            "Error of the sources if Gaussian noise is allowed for. Above the limit hidden noise may mix them.",
            "Theorem 7.3", "caution",
            "These rows would not show noise as loud as the sources, and errors do not include it: use more rows.",
        )
    ]  # fmt: skip


def _find_stable_in_noise(recovery: _Recovery, moments: _Moments) -> np.ndarray:
    """Mark the components that attract in coordinates in which they are orthonormal."""
    cumulant = moments.sum_groups(moments.folds.all).cumulant(recovery.unmixing.matrix.T)
    return are_stable(cumulant, recovery.kurtosis, np.eye(moments.size))


def _check_convergence(unmixing: _Unmixing) -> list[Check]:
    if unmixing.turn is None:
        return []
    return [
        Check(
            "FastICA has converged", "1 - |cosine| of the last turn", unmixing.turn, at_most(MAX_TURN),
            f"{unmixing.n_iter} iterations. Largest turn of a source in the last one.", "not in the thesis",
        )
    ]  # fmt: skip


def _measure_left_out_share(recovery: _Recovery, moments: _Moments) -> float:
    """Return the share of the variance outside the principal directions that sources are in."""
    if moments.size == len(moments.statistic.coordinates.center):
        return 0.0
    spectrum = recovery.whitening.spectrum if recovery.noisy else recovery.whitening.spectrum[: moments.size]
    return max(1 - float(spectrum.sum()) / moments.total_variance, 0.0)


def _check_left_out_variance(recovery: _Recovery, moments: _Moments) -> list[Check]:
    if moments.size == len(moments.statistic.coordinates.center):
        return []
    n_kept = len(recovery.whitening.spectrum) if recovery.noisy else moments.size
    return [
        Check(
            "variance left out", f"1 - sum of {'K + 12' if recovery.noisy else 'K'} eigenvalues",
            _measure_left_out_share(recovery, moments), at_most(_MAX_LEFT_OUT),
            f"Share of the variance outside the {n_kept} leading principal directions. Sources there would mix with the "
            "recovered ones, which parts of the data cannot show: expected errors include its root.",
            "Theorem 7.3", "caution",
        )
    ]  # fmt: skip
