"""Independent component analysis by the fourth cumulant.

Model. x = A h + mean with independent sources h_k of unit variance and excess kurtosis kappa_k = E h_k^4 - 3, and z =
W^T (x - mean) white. Then the fourth cumulant of z is orthogonal,

    C = sum_k kappa_k v_k^(x 4),      v_k = W^T a_k,

with the columns a_k of A, and the sources are v_k . z. With Gaussian noise in x it has the same form, but the v_k are not
orthogonal: see `latentia.ica._noise`.

Source: R. Ge, Provable Algorithms for Machine Learning Problems, thesis, Princeton 2013, section 7.3.2, Theorem 7.3.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
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
from ..exceptions import EvidenceWarning, LatentiaError, warn
from ..fitting.additive import Additive
from ..fitting.base import fitted, fitting
from ..fitting.stages import Fitted, Subset
from ..likelihood import Refine
from ..linalg import Whitening, whiten
from ..moments import (
    ColumnMoments,
    ColumnSpan,
    FourthMoments,
    FourthSums,
    FramedSums,
    WideSums,
    column_moments,
    principal_coordinates,
    span_of,
)
from ..moments.vectors import Coordinates
from ..passes import Blocks, Folds, accumulate, sample_rows
from ..tensor import MomentNoise, decompose_operator
from ..tensor.operators import stable, tensor_norm
from ..tensor.polar import polar
from ._fast_ica import STILL, fast_ica
from ._misfit import CumulantFit, fit_of_cumulant
from ._noise import SourcesInNoise, sources_in_noise

_OVERSAMPLE = 12
_TRUSTED = 0.25  # amplitude of other sources in a recovered one: 12 dB
_LEFT_OUT = 0.05
_RIVAL = "It includes the distance to a rival, the answer in Gaussian noise, as far as that is not its noise."
_LOOSER = 3.0  # times the error of an answer without noise, that the one in noise has where there is none
_APART = 2.0  # squared distance, in squared errors of the answer in noise, from which on that is the better one
_WHITE = 0.1  # by which variances of white rows may differ from one
_MOST_ITERATIONS = 200
_STARTS, _MANY = 4, 16  # of least squares in noise, for fewer components than that
_ROUGH: dict[str, Any] = {"n_init": 2, "max_iter": 30, "tol": 1e-3}  # of the decompositions of parts
_MOST = 96  # components whose fourth moments, four groups of (pairs x pairs), fit into a gigabyte


class TensorICA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Additive):
    """Independent component analysis by tensor decomposition of the fourth cumulant.

    The fit is deterministic, makes a few passes over the data, and gives an expected error for every component.

    Choose it in place of scikit-learn's `FastICA`, with the same attributes, where runs must agree, where every source needs
    an error bar, or where data is larger than memory. It needs sources with kurtosis other than a Gaussian's (at most one
    without), and fourth moments, so no heavy outliers: clip these first. FastICA's own iterations start from the tensor's
    answer: two or three of them mostly suffice.

    Parameters
    ----------
    n_components : int, optional
        Number of sources K; by default the number of features that are no constants, copies or combinations of others. With
        fewer than features, the data is first reduced to its K leading principal directions.
    whiten : {"unit-variance", "arbitrary-variance", False}, default="unit-variance"
        As in scikit-learn. "unit-variance": sources have variance one. "arbitrary-variance": the rotation of white rows is
        orthonormal, and the whitening divides by the root of the sums of squares of rows, not of their mean, so that sources
        have variance 1 / n_rows. False: the rows are white already, and ``components_`` is the rotation, with mean zero and no
        ``whitening_``; all features are sources then.
    refine : int or "auto", default="auto"
        FastICA (symmetric, logcosh) from the tensor's solution: "auto" iterates until it has converged, at most 200 times, a
        number at most that many times, each a pass over the data. 0 keeps to the theorem; it is the better choice where
        all sources are flatter than a Gaussian. See ``refinement_``, and *FastICA has converged* in the evidence.
    noise : {"auto", "gaussian", None}, default="auto"
        None: there is none. "gaussian": Gaussian noise of any covariance is in the data; what only the fourth cumulant says is
        taken, without a pass and without ``refine``, whose iterations noise biases. "auto": "gaussian" where the answer
        without noise does not fit, noise explains most of what is left, and both answers are farther apart than chance moves
        them (*Gaussian noise* in the evidence). Without noise None is two to three times as accurate.
    n_splits : int, default=3
        Number of random splits into halves, at most 3, whose fits, and those on three quarters, give the expected errors.
        They cost no pass over the data; with ``refine`` a single split is used, and its fits take about four times as long
        as refining. With 0 no errors are measured.
    keep_moments : bool, default=False
        Whether to keep fourth moments, so that rows can be added (`partial_fit`), taken away (`forget`), and models merged
        (`latentia.merge`): 16 (D + 1)^2 (D + 2)^2 bytes of at most 64 columns, 294 MB. Of more columns they are kept in K + 12
        <= 64 directions that the first rows choose, see *new rows outside of the frame* in the evidence. The answer is then
        the theorem's.
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
        absolute kurtosis. Where noise is modelled, it is the one unmixing of ``mixing_`` with least noise,
        (A^T S^-1 A)^-1 A^T S^-1 for the noise's covariance S; the variance of one is then that of a source without the
        noise that is left in it.
    mixing_ : ndarray of shape (D, K)
        A, of which ``components_`` is an inverse, without noise the pseudo-inverse. The largest entry of every column is
        positive.
    noise_covariance_ : ndarray of shape (D, D), or None where no noise is modelled
        Covariance of the Gaussian noise: what A A^T leaves of the covariance of the rows, in the K + 12 leading principal
        directions if there are more features. The data cannot tell noise from Gaussian parts of the sources: this is the
        smallest noise that takes the same share of all of them.
    mean_ : ndarray of shape (D,)
        Zero with ``whiten=False``.
    whitening_ : ndarray of shape (K, D)
        The part of ``components_`` before the rotation; absent with ``whiten=False``.
    kurtosis_ : ndarray of shape (K,)
        Excess kurtosis of the recovered sources, before refining and without modelled noise; 0 for a Gaussian.
    n_iter_ : int
        Number of iterations of FastICA, or without ``refine`` or with modelled noise of the decomposition.
    converged_ : bool
        Whether FastICA's last iteration turned no source; False without ``refine``. Where noise is modelled, whether least
        squares have converged.
    refinement_ : ndarray of shape (n_iter_,), or (0,) without ``refine`` and where noise is modelled
        What FastICA climbs, at the start of each iteration: up to a constant the mean log-likelihood of a row in nats, for
        white sources with density exp(-s^2 / 2) / cosh s or, where that fits one better, exp(-s^2 / 2) cosh s. It is 0
        where all sources look Gaussian.
    moments_ : Sums
        What is kept: ``moments_.n_bytes`` is its size, ``moments_.n_rows`` the number of rows.
    evidence_ : Evidence
        Checks of the assumptions. An expected error (``component_errors``) is the amplitude of all other sources in a
        recovered one, relative to its own: 0.1 is -20 dB. It is widened by what the sources leave of the fourth cumulant
        beyond noise, and rows are split in stretches, with copies together, so that signals and copied rows have errors of
        their own size.
    n_passes_ : int
        Number of passes over the data, those for the expected errors not counted. Each iteration of FastICA counts as one,
        though it reads coordinates that were kept where there are at most four million of them.

    Notes
    -----
    Differences from the thesis:

    1. Theorem 7.3 needs centred sources of unit variance; for others kappa = E h^4 - 3 (E h^2)^2.
    2. All K^4 entries of the whitened cumulant are decomposed by polar iteration, not the contraction M_4(I, I, I, v)
       with one vector, whose eigenvalues nearly coincide for an unlucky v. kappa_k keeps its sign.
    3. Without noise whitening is by the covariance, not by M_4(I, I, u, u), in which Gaussian noise vanishes. This is more
       accurate, and with noise biased by about the ratio of noise to signal, which halves of the data cannot see. What it
       leaves of the cumulant shows that there is noise (*goodness of fit*), and widens the expected errors.
    4. In noise the a_k are those with least squares |C - sum_k kappa_k a_k^(x 4)|^2 over all entries of the cumulant of
       rows of covariance I, from the orthogonal answer. M_4(I, I, u, u) is one slice of it, and indefinite where signs of
       kurtosis are mixed.
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
    _rank: int | None = None  # within a fit, of columns that hang on each other

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
            How often each row is there.

        Returns
        -------
        self

        Raises
        ------
        LatentiaError
            If a parameter is out of its range, if X has NaN or infinite entries, fewer rows or directions than sources,
            or with ``whiten=False`` columns that are not white or ``noise="gaussian"``.
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
        """Return how many columns say something of their own, if not all; warn of others where all are to be sources."""
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
                "with whiten=False components_ is a rotation, and with noise it is none: use whiten='unit-variance'.",
                parameter="noise", value="gaussian",
            )  # fmt: skip

    def _moments(self, rows: Blocks, folds: Folds) -> _Moments:
        """Passes over the data: columns, principal coordinates, and fourth moments in these of four groups of rows."""
        options: dict[str, Any] = {"n_jobs": self.n_jobs, "progress": self.verbose}
        columns = column_moments(rows, **options)
        size = self._count(columns)
        coordinates, n_passes = self._coordinates(rows, columns, size, options)
        statistic = FourthMoments(coordinates, folds)
        sums = accumulate(rows, statistic, **options)
        return _Moments.checked(columns, size, statistic, sums, n_passes + 2, self.whiten is False)

    def _moments_from_sums(self, sums: FramedSums | WideSums) -> _Moments:
        """The same as of rows, in one pass."""
        columns = sums.columns
        size = self._count(columns)
        few, scale = size < self.n_features_in_, self._scale(columns)
        coordinates = sums.principal(size + _OVERSAMPLE, 1.0) if few else Coordinates(columns.mean, np.diag(scale))
        statistic = FourthMoments(coordinates, Folds())
        moments = _Moments.checked(columns, size, statistic, sums.to_coordinates(coordinates), 1, self.whiten is False)
        return replace(moments, lift=sums.lift(coordinates)) if isinstance(sums, WideSums) else moments

    def _recover(self, moments: _Moments, subset: Subset, full_fit: _Recovered | None) -> _Recovered:
        """Theorem 7.3: whiten, decompose the cumulant, rotate; in noise, least squares from there."""
        m = moments.of(subset.groups)
        whitening = _whitening(m, moments)
        if full_fit is not None:
            return _recovered_roughly(m, whitening, self._seed, full_fit)
        kurtosis, v, info = decompose_operator(m.cumulant(whitening.matrix), moments.size, self._seed)
        unmixing = _Unmixing(v @ whitening.matrix.T, whitening.inverse @ v.T, info.iterations, np.empty(0))
        found = _Recovered(unmixing, m.mean, kurtosis, whitening, info)
        if self.noise == "gaussian":
            return _in_noise(found, _best_in_noise(found, moments, self._seed))
        asked = self.noise == "auto" and not moments.white and moments.size > 1
        return _noise_where_it_shows(found, moments, self._seed, self.n_splits > 0) if asked else found

    def _refine(self, recovered: _Recovered, moments: _Moments, subset: Subset, full_fit: Any) -> _Unmixing:
        """FastICA's iterations on the rows."""
        if not self.refine or moments.size < 2 or recovered.noisy:
            return recovered.unmixing
        start, most = recovered.unmixing, _MOST_ITERATIONS if self.refine == "auto" else int(self.refine)
        coordinates = moments.statistic.coordinates
        after = fast_ica(subset.rows, coordinates, recovered.mean, start.matrix, most, self.n_jobs, self.verbose)
        if after.turn >= STILL:
            self._warn_of_turns(most)
        matrix, inverse = after.rotation @ start.matrix, start.inverse @ after.rotation.T
        return _Unmixing(matrix, inverse, len(after.log_likelihood), after.log_likelihood, after.turn)

    def _checks(self, fitted: Fitted) -> tuple[list[Check], PartErrors]:
        """What the sources leave of the cumulant, the errors of parts, and what the theorem assumes.

        Three quarters of the rows are fitted after refining too: without them the expected errors of 120 planted sets were
        off by a factor of 1.38 (root mean square), with them by 1.31.
        """
        moments: _Moments = fitted.moments
        found: _Recovered = fitted.recovered
        folds = moments.folds
        rest = found.noisy.rest if found.noisy else None
        cumulant = fit_of_cumulant(moments.of(folds.all), _halves(moments), found.unmixing.matrix, rest)
        parts = fitted.errors(min(self.n_splits, 1) if self.refine and not found.noisy else self.n_splits)
        if parts.errors is not None and found.rival and found.rival_error <= _TRUSTED:
            fitted.rival = _RIVAL
            apart = np.round(_crosstalk(found.rival.matrix @ fitted.model.inverse), 4)  # Later digits are of rounding.
            own = (_LOOSER * parts.errors) ** 2
            parts = parts.widen(np.sqrt(np.maximum(apart**2 - own, 0.0)), self._max_distance)
        parts = parts.widen(np.full(moments.size, cumulant.bias), self._max_distance)
        if parts.errors is not None:
            parts = replace(parts, errors=np.maximum(parts.errors, cumulant.turned))
        return [*_checks(found, moments, parts, cumulant), *_converged(fitted.model)], parts

    def _cost(self) -> Literal["free"]:
        return "free"

    def _component_view(self, fitted: Fitted) -> ComponentView:
        """The sources of rows."""
        return ComponentView(np.asarray(self.transform(fitted.comparison_rows)).T, signed=True)

    def _real_and_simulated(self, fitted: Fitted, rng: np.random.Generator) -> RealAndSimulated:
        """Rows whose sources are those of different rows: of sources whose laws are not known it asks for independence.

        Noise of twice the expected error hides what sources have of each other by that.
        """
        sources = np.asarray(self.transform(Blocks.from_array(*sample_rows(fitted.rows))))
        errors = fitted.errors(1).errors
        spread = sources.std(axis=0) * (0.0 if errors is None else 2 * errors)
        sources = sources + spread * rng.standard_normal(sources.shape)
        sources, others = np.array_split(sources, 2)
        names = [f"source {k}" for k in range(sources.shape[1])]
        return RealAndSimulated(sources, rng.permuted(others, axis=0), names)

    def _distance(self, first: _Unmixing, second: _Unmixing, moments: _Moments) -> np.ndarray:
        return _crosstalk(second.matrix @ first.inverse)

    def _set_fitted_attributes(self, fitted: Fitted) -> None:
        """Sources in the units that ``whiten`` says."""
        unmixing: _Unmixing = fitted.model
        found: _Recovered = fitted.recovered
        moments: _Moments = fitted.moments
        components, mixing, self.mean_ = _of_features(unmixing, found, moments)
        unit = np.sqrt(moments.of(moments.folds.all).n) if self.whiten == "arbitrary-variance" else 1.0
        self.components_, self.mixing_, self.n_components_ = components / unit, mixing * unit, len(components)
        if moments.white:
            self.mean_ = np.zeros_like(self.mean_)
        else:
            self.whitening_ = _signal_whitening(found, moments, components) / unit
        self.noise_covariance_ = _noise_covariance(found, moments)
        self.kurtosis_, self.n_iter_, self.refinement_ = found.kurtosis, int(unmixing.n_iter), unmixing.log_likelihood
        self.converged_ = found.noisy.converged if found.noisy else unmixing.turn is not None and unmixing.turn < STILL
        self._n_features_out = moments.size
        self.n_passes_ = moments.n_passes + len(self.refinement_)

    def _coordinates(
        self, rows: Blocks, columns: ColumnMoments, size: int, options: dict[str, Any]
    ) -> tuple[Coordinates, int]:
        """Leading principal directions; or all columns, in unit variance: small units do not look like rank deficiency then."""
        few = size < self.n_features_in_
        return principal_coordinates(
            rows, size + _OVERSAMPLE if few else size, columns.mean, scale=None if few else self._scale(columns), slack=1.0,
            random_state=self._seed, **options,
        )  # fmt: skip

    def _scale(self, columns: ColumnMoments) -> np.ndarray:
        """Factors that bring columns to unit variance, unless the rows are white as they come."""
        varying = np.where(columns.variance > 0, columns.variance, 1.0)
        return np.ones_like(varying) if self.whiten is False else 1.0 / np.sqrt(varying)

    def _warn_of_turns(self, most: int) -> None:
        advice = "." if self.refine == "auto" else f", or raise refine={self.refine}."
        warn(
            f"FastICA has not converged after {most} iterations. Look at the evidence for sources that are nearly Gaussian"
            + advice,
            EvidenceWarning,
        )

    def _count(self, columns: ColumnMoments) -> int:
        """K, checked against the data."""
        width = len(columns.variance)
        rank = int((columns.variance > 0).sum()) if self._rank is None else self._rank
        size = rank if self.n_components is None and self._rank else self.n_components or width
        most = min(rank, columns.n - 1)
        if self.whiten is False and size < width:
            raise LatentiaError(
                f"with whiten=False all {width} features are sources: leave n_components out.",
                parameter="n_components", value=size,
            )  # fmt: skip
        if size > most:
            why = f"{width - rank} of {width} features are constant, copies or combinations of others"
            why = why if rank < width else f"the data has {columns.n} rows and {width} features"
            raise LatentiaError(
                f"{why}: this data supports at most {most} components.",
                at_most=most,
                parameter="n_components",
                value=size,
            )
        if size > _MOST:
            raise LatentiaError(
                f"fourth moments of more than {_MOST} components take more than a gigabyte. Choose fewer.",
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
        """Return the rows that sources (n_rows, K) make, shape (n_rows, D).

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
            raise LatentiaError(f"Sources have shape {sources.shape}: (n_rows, {len(self.components_)}) is needed.")
        return sources @ self.mixing_.T + self.mean_

    def _check_fitted(self) -> None:
        one = np.eye(len(self.components_))
        if not np.allclose(self.components_ @ self.mixing_, one, rtol=0, atol=of.TOLERANCE):
            raise LatentiaError("mixing_ is not the inverse of components_")


# --- from moments to the unmixing ---------------------------------------------------------------------------------


class _Unmixing(NamedTuple):
    """Unmixing in the coordinates of the moments, (K, b), its inverse (b, K), and the iterations that it took.

    After FastICA also the log-likelihood at each of them, and the largest 1 - |cosine| by which the last turned a source.
    """

    matrix: np.ndarray
    inverse: np.ndarray
    n_iter: int
    log_likelihood: np.ndarray
    turn: float | None = None


@dataclass(frozen=True)
class _Moments:
    """Number of sources K, total variance of the columns, and the fourth moments of groups of rows in coordinates.

    ``white`` says that the rows are white as they come; ``lift`` leads from coordinates to features, where that is not said by
    the coordinates.
    """

    size: int
    total_variance: float
    statistic: FourthMoments
    sums: np.ndarray
    folds: Folds
    n_passes: int
    white: bool
    lift: np.ndarray | None = None

    @classmethod
    def checked(
        cls, columns: ColumnMoments, size: int, statistic: FourthMoments, sums: np.ndarray, n_passes: int, white: bool
    ) -> _Moments:
        """Of rows which are white if they are said to be."""
        total = float((columns.variance if size < len(columns.variance) else columns.variance > 0).sum())
        moments = cls(size, total, statistic, sums, statistic.folds, n_passes, white)
        if white:
            _check_white(moments)
        return moments

    def of(self, groups: tuple[int, ...]) -> FourthSums:
        return self.statistic.of(self.sums, groups)


@dataclass(frozen=True)
class _Recovered:
    """The unmixing, the mean of the coordinates, and the whitening and the decomposition that it comes from.

    Where noise is modelled, also what least squares gave; and the ratio that "auto" compared with its limit. The rival is what
    least squares gave where the cumulant fits without noise, with its error.
    """

    unmixing: _Unmixing
    mean: np.ndarray
    kurtosis: np.ndarray
    whitening: Whitening
    info: Any
    noisy: SourcesInNoise | None = None
    apart: float | None = None
    rival: SourcesInNoise | None = None
    rival_error: float = np.inf


def _whitening(m: FourthSums, moments: _Moments) -> Whitening:
    if not moments.white:
        return whiten(m.covariance, moments.size, "covariance")
    return Whitening(np.eye(moments.size), np.eye(moments.size), np.linalg.eigvalsh(m.covariance)[::-1])


def _check_white(moments: _Moments) -> None:
    """Raise for rows that are not white."""
    spectrum = np.linalg.eigvalsh(moments.of(moments.folds.all).covariance)
    off = float(np.abs(spectrum - 1).max())
    if off > _WHITE:
        raise LatentiaError(
            f"the rows are not white: one direction has variance {spectrum[np.abs(spectrum - 1).argmax()]:.3g} and "
            "all must have 1. Use whiten='unit-variance', or whiten them first.",
            parameter="whiten", value=False,
        )  # fmt: skip


def _recovered_roughly(m: FourthSums, whitening: Whitening, seed: int, whole: _Recovered) -> _Recovered:
    """Of a part of the rows, to the precision that expected errors need.

    It starts from the sources of the whole, and from random ones where these are no attractors of the part's cumulant.
    """
    if whole.noisy:
        rough = _Recovered(whole.unmixing, m.mean, whole.kurtosis, whitening, Bunch(iterations=0))
        return _in_noise(rough, sources_in_noise(m, whole.unmixing.inverse))
    cumulant, info, size = m.cumulant(whitening.matrix), Bunch(iterations=0), len(whole.kurtosis)
    for starts in (whole.unmixing.matrix @ whitening.inverse, None):
        v, _, _ = polar(cumulant, size, np.random.default_rng(seed), starts=starts, **_ROUGH)
        kurtosis = np.einsum("ki,ki->k", cumulant.contract(v), v)
        if stable(cumulant, kurtosis, v).all():
            break
    unmixing = _Unmixing(v @ whitening.matrix.T, whitening.inverse @ v.T, 0, np.empty(0))
    return _Recovered(unmixing, m.mean, kurtosis, whitening, info)


def _in_noise(found: _Recovered, noisy: SourcesInNoise, apart: float | None = None) -> _Recovered:
    """The answer of least squares in the place of the orthogonal one."""
    unmixing = _Unmixing(noisy.matrix, noisy.inverse, noisy.n_iter, np.empty(0))
    return replace(found, unmixing=unmixing, kurtosis=noisy.kurtosis, noisy=noisy, apart=apart)


def _halves(moments: _Moments) -> list[tuple[FourthSums, FourthSums]]:
    return [(moments.of(a), moments.of(b)) for a, b in moments.folds.splits]


def _best_in_noise(found: _Recovered, moments: _Moments, seed: int) -> SourcesInNoise:
    """Least squares from the orthogonal answer, and from random ones.

    In much noise there are other minima, with vectors of opposite signs that lie near to each other.
    """
    whole, rng, one = moments.of(moments.folds.all), np.random.default_rng(seed), found.whitening.inverse
    starts = [found.unmixing.inverse]
    if moments.size < _MANY:
        starts += [one @ rng.standard_normal((moments.size,) * 2) for _ in range(_STARTS - 1)]
    return min((sources_in_noise(whole, start) for start in starts), key=lambda noisy: noisy.residual)


def _noise_where_it_shows(found: _Recovered, moments: _Moments, seed: int, has_rival: bool) -> _Recovered:
    """The answer in noise where the orthogonal one does not fit, noise explains most of that, and it shows in the sources.

    That is where both are farther apart than the own error of the answer in noise, which halves tell, can explain: the bias of
    the orthogonal answer is then larger than what it saves in variance. All of this is free of passes. Where the orthogonal
    answer fits, the other one is its rival.
    """
    with contextlib.suppress(LatentiaError):
        halves = _halves(moments)
        whole = moments.of(moments.folds.all)
        before = fit_of_cumulant(whole, halves, found.unmixing.matrix)
        if before.fits and not has_rival:
            return found
        noisy = sources_in_noise(whole, found.unmixing.inverse) if before.fits else _best_in_noise(found, moments, seed)
        others = [sources_in_noise(half, noisy.inverse) for pair in halves for half in pair]
        errors = np.array([_crosstalk(other.matrix @ noisy.inverse) for other in others])
        if before.fits:
            return replace(found, rival=noisy, rival_error=float(np.sqrt((errors**2).mean())))
        fit = fit_of_cumulant(whole, halves, noisy.matrix, noisy.rest)
        apart = _crosstalk(found.unmixing.matrix @ noisy.inverse).mean()
        ratio = float((apart / max(errors.mean(), np.finfo(float).tiny)) ** 2)
        if ratio > _APART and fit.misfit.share <= before.misfit.share / 2:
            return _in_noise(found, noisy, ratio)
        return replace(found, apart=ratio)
    return found


def _noise_covariance(found: _Recovered, moments: _Moments) -> np.ndarray | None:
    """Of features, (D, D): what the sources leave of the covariance of the coordinates."""
    if found.noisy is None:
        return None
    lift, inverse = _lift(moments), found.noisy.inverse
    noise = moments.of(moments.folds.all).covariance - inverse @ inverse.T
    return np.asarray(lift @ noise @ lift.T)


def _signal_whitening(found: _Recovered, moments: _Moments, components: np.ndarray) -> np.ndarray:
    """What comes before the rotation, (K, D): it whitens the rows, or in noise the part of them that is A h."""
    basis = moments.statistic.coordinates.basis
    if found.noisy is None:
        return np.asarray(found.whitening.matrix.T @ basis.T)
    return np.asarray(np.linalg.svd(found.noisy.inverse, full_matrices=False)[2] @ components)


def _lift(moments: _Moments) -> np.ndarray:
    """From coordinates back to features, (D, b)."""
    if moments.lift is not None:
        return moments.lift
    basis = moments.statistic.coordinates.basis
    # A square basis is diagonal, the scales of the columns, which may differ by more than a pseudo-inverse can tell.
    return np.diag(1.0 / np.diag(basis)) if len(basis) == basis.shape[1] else basis


def _of_features(
    unmixing: _Unmixing, found: _Recovered, moments: _Moments
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Unmixing (K, D), mixing (D, K) and mean (D,), from coordinates to features."""
    coordinates = moments.statistic.coordinates
    basis, lift = coordinates.basis, _lift(moments)
    mixing = lift @ unmixing.inverse
    signs = np.sign(mixing[np.abs(mixing).argmax(axis=0), np.arange(moments.size)])
    signs[signs == 0] = 1.0
    return signs[:, None] * (unmixing.matrix @ basis.T), mixing * signs, coordinates.center + lift @ found.mean


def _crosstalk(gains: np.ndarray) -> np.ndarray:
    """For every column, a source, the relative amplitude of the other sources in the row that holds most of it, shape (K,).

    Row l of ``gains`` says how much of every source is in the l-th recovered one.
    """
    shares = (gains / np.maximum(np.linalg.norm(gains, axis=1, keepdims=True), np.finfo(float).tiny)) ** 2
    return np.sqrt(np.maximum(1 - shares.max(axis=0), 0))


# --- evidence -----------------------------------------------------------------------------------------------------


def _checks(found: _Recovered, moments: _Moments, parts: PartErrors, cumulant: CumulantFit) -> list[Check]:
    (one, other), whitening = moments.folds.splits[0], found.whitening
    noise = tensor_norm(cumulant.noise)
    difference = (moments.of(one).covariance - moments.of(other).covariance) / 2
    measured = TensorMeasured(
        spectrum=whitening.spectrum,
        noise=MomentNoise(float(np.linalg.norm(whitening.matrix.T @ difference @ whitening.matrix, 2)), noise),
        weights=found.kurtosis,
        residual=found.noisy.residual if found.noisy else found.info.residual,
        stable=found.info.stable if found.noisy is None else _stable_in_noise(found, moments),
        samples=moments.of(moments.folds.all).n,
    )
    return [
        *error_checks(
            parts, _TRUSTED, "mean crosstalk", "as amplitude of the other sources in it", "source",
            n_rows=measured.samples,
        ),
        *cumulant.misfit.checks(cumulant.most, "sources"),
        *_excess(cumulant),
        *_noise_that_shows(found),
        *_noise_that_may_hide(found),
        Check(
            "sources that look Gaussian", f"|kappa_k| <= {noise:.2g}", float((np.abs(found.kurtosis) <= noise).sum()),
            at_most(1),
            "Sources whose kurtosis is within the noise of the cumulant: they and mixtures of them look the same.",
            "Theorem 7.3",
        ),
        *_variance_left_out(whitening, moments, found.noisy is not None),
        *tensor_checks(measured),
    ]  # fmt: skip


def _excess(cumulant: CumulantFit) -> list[Check]:
    if cumulant.excess is None:
        return []
    return [
        Check(
            "cumulant above noise", "|C|^2 / E|C|^2", cumulant.excess, above(cumulant.least, "1 for Gaussian data"),
            "The fourth cumulant beside that of Gaussian data of as many rows. It is all that sources are told apart by.",
            "Theorem 7.3", "veto", "The data looks Gaussian, beside its noise: nothing tells its sources apart.",
        )
    ]  # fmt: skip


def _noise_that_shows(found: _Recovered) -> list[Check]:
    if found.apart is None:
        return []
    took = "in noise was taken." if found.noisy else "without noise was taken."
    if found.apart > _APART and not found.noisy:
        took = "without noise was taken: noise does not explain what it leaves of the cumulant."
    return [
        Check(
            "Gaussian noise", "squared distance / error", found.apart, at_most(_APART),
            "How far the answer in Gaussian noise is from the one without, beside its own error. Above the limit noise is "
            f"modelled, if it explains the cumulant. The answer {took}", "Theorem 7.3",
        )
    ]  # fmt: skip


def _noise_that_may_hide(found: _Recovered) -> list[Check]:
    if found.rival is None:
        return []
    return [
        Check(
            "noise would show", "error of the answer in noise", found.rival_error, at_most(_TRUSTED),
            "How well the sources are told if Gaussian noise is allowed for. Above the limit noise may be there unseen, and "
            "mix them.", "Theorem 7.3", "caution",
            "Noise as loud as the sources would not be seen in these rows, and errors do not include it: take more rows.",
        )
    ]  # fmt: skip


def _stable_in_noise(found: _Recovered, moments: _Moments) -> np.ndarray:
    """Whether components attract in coordinates in which they are orthonormal."""
    cumulant = moments.of(moments.folds.all).cumulant(found.unmixing.matrix.T)
    return stable(cumulant, found.kurtosis, np.eye(moments.size))


def _converged(unmixing: _Unmixing) -> list[Check]:
    if unmixing.turn is None:
        return []
    return [
        Check(
            "FastICA has converged", "1 - |cosine| of the last turn", unmixing.turn, at_most(STILL),
            f"{unmixing.n_iter} iterations. By how much the last one turned a source, at most.", "not in the thesis",
        )
    ]  # fmt: skip


def _variance_left_out(whitening: Whitening, moments: _Moments, noisy: bool) -> list[Check]:
    if moments.size == len(moments.statistic.coordinates.center):
        return []
    kept = len(whitening.spectrum) if noisy else moments.size
    left = max(1 - float(whitening.spectrum[:kept].sum()) / moments.total_variance, 0.0)
    return [
        Check(
            "variance left out", f"1 - sum of {'K + 12' if noisy else 'K'} eigenvalues", left, at_most(_LEFT_OUT),
            f"Share outside the {kept} leading principal directions. If other sources are there, they are in the recovered "
            "ones too, and parts of the data cannot see it.", "Theorem 7.3", "verdict",
        )
    ]  # fmt: skip
