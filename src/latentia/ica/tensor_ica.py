"""Independent component analysis by the fourth cumulant.

Model. x = A h + mean with independent sources h_k of unit variance and excess kurtosis kappa_k = E h_k^4 - 3, and z =
W^T (x - mean) white. Then the fourth cumulant of z is orthogonal,

    C = sum_k kappa_k v_k^(x 4),      v_k = W^T a_k,

with the columns a_k of A, and the sources are v_k . z.

Source: R. Ge, Provable Algorithms for Machine Learning Problems, thesis, Princeton 2013, section 7.3.2, Theorem 7.3.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.decomposition import FastICA
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .._validation import check_splits, check_whole, seed_of, table_blocks
from ..evidence import (
    EVERYONE,
    HALVES,
    Check,
    Evidence,
    PartErrors,
    TensorMeasured,
    error_checks,
    errors_from_groups,
    tensor_checks,
)
from ..exceptions import EvidenceWarning, LatentiaError
from ..linalg import Whitening, whiten
from ..moments import FourthMoments, FourthSums, column_moments, principal_coordinates
from ..passes import Blocks, accumulate
from ..tensor import MomentNoise, SymmetricFour, decompose_operator, tensor_norm

__all__ = ["TensorICA"]

_OVERSAMPLE = 12
_TRUSTED = 0.25  # amplitude of other sources in a recovered one: 12 dB
_LEFT_OUT = 0.05
_MOST = 96  # components whose fourth moments, four groups of (pairs x pairs), fit into a gigabyte


@dataclass(frozen=True)
class _Recovered:
    """Unmixing in the coordinates of the moments, (K, b); its inverse, (b, K); and where they come from."""

    unmixing: np.ndarray
    mixing: np.ndarray
    mean: np.ndarray
    kurtosis: np.ndarray
    whitening: Whitening
    info: Any


class TensorICA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Independent components from the fourth cumulant: deterministic, few passes, error bars for every component.

    When to choose it: in place of scikit-learn's `FastICA`, with the same attributes, where runs must agree, data is
    larger than memory, or some thousands of rows must be separated fast. It needs sources with kurtosis other than a
    Gaussian's (at most one without), and fourth moments, so no heavy outliers: clip these first. With ``refine``,
    FastICA's own iterations start from its answer, which makes them as accurate as FastICA's best run and nearly
    always convergent.

    Parameters
    ----------
    n_components : int, optional
        Number of sources K; by default the number of features. With fewer, the data is first reduced to its K leading
        principal directions.
    refine : int, default=0
        Most iterations of FastICA (symmetric, logcosh) from the tensor's solution. They hold the K x n_rows whitened
        data in memory. 50 are mostly enough.
    n_splits : int, default=3
        Random splits into halves, at most 3, whose fits give the error bars; they cost no pass over the data, but with
        ``refine`` one is made and costs as much as refining itself. 0 gives up the error bars.
    random_state : int, default=0
        Seed of the starts and splits; None or a RandomState draws one.
    n_jobs : int, optional
        Threads; the result has the same bits for any number.
    verbose : bool, default=False
        Show progress and the time that remains.

    Attributes
    ----------
    components_ : ndarray of shape (K, D)
        Unmixing: sources are ``components_ @ (x - mean_)`` and have unit variance; the largest absolute kurtosis first.
    mixing_ : ndarray of shape (D, K)
        Its pseudo-inverse. The largest entry of every column is positive.
    mean_ : ndarray of shape (D,)
    whitening_ : ndarray of shape (K, D)
        The part of ``components_`` before the rotation.
    kurtosis_ : ndarray of shape (K,)
        Excess kurtosis of the recovered sources, before refining; 0 for a Gaussian.
    n_iter_ : int
        Iterations of the decomposition, or of FastICA with ``refine``.
    evidence_ : Evidence
        Checks of the assumptions. An expected error (``component_errors``) is the amplitude of all other sources in a
        recovered one, relative to its own: .1 is -20 dB.
    n_passes_ : int
        Passes over the data.

    Notes
    -----
    Differences from the thesis:

    1. Theorem 7.3 needs centred sources of unit variance; for others kappa = E h^4 - 3 (E h^2)^2.
    2. All K^4 entries of the whitened cumulant are decomposed by polar iteration, not the contraction M_4(I, I, I, v)
       with one vector, whose eigenvalues nearly coincide for an unlucky v. kappa_k keeps its sign.
    3. Whitening is by the covariance. The theorem allows Gaussian noise in x, but its covariance is then in the way:
       the answer is biased by about the ratio of noise to signal, which halves of the data cannot see. Nothing is
       promised for noisy mixtures.

    References
    ----------
    R. Ge, thesis 2013, section 7.3.2. P. Comon, Independent component analysis, a new concept?, Signal Processing 1994.

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

    _compared = ("components_", "mixing_")

    def __init__(
        self,
        n_components: int | None = None,
        *,
        refine: int = 0,
        n_splits: int = 3,
        random_state: int = 0,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.refine = refine
        self.n_splits = n_splits
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # --- fitting ------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> TensorICA:
        """Learn the unmixing.

        Parameters
        ----------
        X : array-like, DataFrame or Blocks of shape (n_rows, D)
        y : ignored

        Returns
        -------
        self
        """
        self._check_parameters()
        blocks = table_blocks(self, X, reset=True, sparse=False)
        moments, sums = self._moments(blocks)
        found = self._recover(moments.of(sums, EVERYONE))
        unmixing, mixing, n_iter = self._refine(found, blocks, moments)

        def fit_half(groups: tuple[int, ...]) -> np.ndarray:
            half = blocks.group(frozenset(groups), 4, self._seed) if self.refine else blocks
            return self._refine(self._recover(moments.of(sums, groups)), half, moments)[0]

        n_splits = min(self.n_splits, 1) if self.refine else self.n_splits
        parts = errors_from_groups(fit_half, lambda half: _crosstalk(half @ mixing), n_splits, most=1.0)
        self._finish(found, unmixing, mixing, n_iter, moments)
        return self._weigh_evidence(found, moments, sums, parts)

    def _moments(self, blocks: Blocks) -> tuple[FourthMoments, np.ndarray]:
        options: dict[str, Any] = {"n_jobs": self.n_jobs, "progress": self.verbose}
        columns = column_moments(blocks, **options)
        self._size = self._count(columns.n, columns.variance)
        # Columns are brought to unit variance, so that small units do not look like rank deficiency.
        scale = 1.0 / np.sqrt(np.where(columns.variance > 0, columns.variance, 1.0))
        reduced = self._size < self.n_features_in_
        coordinates, n_passes = principal_coordinates(
            blocks, self._size + _OVERSAMPLE if reduced else self._size, columns.mean, scale=None if reduced else scale,
            slack=1.0, random_state=self._seed, **options,
        )  # fmt: skip
        self._total_variance = float(columns.variance.sum() if reduced else (columns.variance > 0).sum())
        moments = FourthMoments(coordinates, 4, self._seed)
        self.n_passes_ = n_passes + 2
        return moments, accumulate(blocks, moments, **options)

    def _recover(self, sums: FourthSums) -> _Recovered:
        """Whiten, decompose the cumulant, rotate."""
        whitening = whiten(sums.covariance, self._size, "covariance")
        kurtosis, v, info = decompose_operator(sums.cumulant(whitening.matrix), self._size, self._seed)
        return _Recovered(v @ whitening.matrix.T, whitening.inverse @ v.T, sums.mean, kurtosis, whitening, info)

    def _refine(self, found: _Recovered, blocks: Blocks, moments: FourthMoments) -> tuple[np.ndarray, np.ndarray, int]:
        """Unmixing and mixing in the coordinates of the moments after FastICA's iterations, and their number."""
        if not self.refine or self._size < 2:
            return found.unmixing, found.mixing, found.info.iterations
        sources = np.vstack(
            [(moments.coordinates(block[0])[:, :-1] - found.mean) @ found.unmixing.T for block in blocks]
        )
        sources -= sources.mean(axis=0)
        fast = FastICA(whiten=False, w_init=np.eye(self._size), max_iter=self.refine, fun="logcosh")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fast.fit(sources)
        if fast.n_iter_ >= self.refine:
            warnings.warn(
                f"FastICA's iterations have not converged after refine={self.refine}: raise it, or look at the evidence for "
                "sources that are nearly Gaussian.",
                EvidenceWarning,
                stacklevel=3,
            )
        return fast.components_ @ found.unmixing, found.mixing @ fast.components_.T, fast.n_iter_

    def _finish(
        self, found: _Recovered, unmixing: np.ndarray, mixing: np.ndarray, n_iter: int, moments: FourthMoments
    ) -> None:
        """From coordinates to features."""
        basis = moments.coordinates.basis
        # A square basis is diagonal, the scales of the columns, which may differ by more than a pseudo-inverse can tell.
        lift = np.diag(1.0 / np.diag(basis)) if len(basis) == basis.shape[1] else basis
        signs = np.sign((lift @ mixing)[np.abs(lift @ mixing).argmax(axis=0), np.arange(self._size)])
        signs[signs == 0] = 1.0
        self.components_ = signs[:, None] * (unmixing @ basis.T)
        self.mixing_ = lift @ mixing * signs
        self.whitening_ = found.whitening.matrix.T @ basis.T
        self.mean_ = moments.coordinates.center + lift @ found.mean
        self.kurtosis_, self.n_iter_, self._n_features_out = found.kurtosis, int(n_iter), self._size

    def _weigh_evidence(self, found: _Recovered, moments: FourthMoments, sums: Any, parts: PartErrors) -> TensorICA:
        halves, whitening = [moments.of(sums, half) for half in HALVES[0]], found.whitening.matrix
        cumulants = [half.cumulant(whitening) for half in halves]
        noise = SymmetricFour((cumulants[0].packed - cumulants[1].packed) / 2, self._size)
        size = tensor_norm(noise)
        difference = (halves[0].covariance - halves[1].covariance) / 2
        measured = TensorMeasured(
            spectrum=found.whitening.spectrum,
            noise=MomentNoise(float(np.linalg.norm(whitening.T @ difference @ whitening, 2)), size),
            weights=found.kurtosis,
            residual=found.info.residual,
            stable=found.info.stable,
            samples=moments.of(sums, EVERYONE).n,
        )
        checks = error_checks(parts, _TRUSTED, "mean crosstalk", "as amplitude of the other sources in it", "source")
        gaussian = int((np.abs(found.kurtosis) <= size).sum())
        checks.append(
            Check(
                "sources that look Gaussian", f"|kappa_k| <= {size:.2g}", float(gaussian), "<= 1", gaussian <= 1,
                "Sources whose kurtosis is within the noise of the cumulant: they cannot be told from each other's mixtures.",
                "Theorem 7.3",
            )
        )  # fmt: skip
        left = max(1 - float(found.whitening.spectrum[: self._size].sum()) / self._total_variance, 0.0)
        if self._size < self.n_features_in_:
            checks.append(
                Check(
                    "variance left out", "1 - sum of K eigenvalues", left, f"<= {_LEFT_OUT}", left <= _LEFT_OUT,
                    "Share outside the K leading principal directions. If other sources are there, they are in the recovered "
                    "ones too, and parts of the data cannot see it.", "Theorem 7.3", decides=True,
                )
            )  # fmt: skip
        self.evidence_ = Evidence([*checks, *tensor_checks(measured)], parts.errors).bind(self)
        return self

    # --- use ----------------------------------------------------------------------------------------------------

    def transform(self, X: Any) -> np.ndarray:
        """Sources of the rows, shape (n_rows, K)."""
        check_is_fitted(self)
        blocks = table_blocks(self, X, reset=False, sparse=False)
        return np.vstack([(block[0] - self.mean_) @ self.components_.T for block in blocks])

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Rows from sources, shape (n_rows, D)."""
        check_is_fitted(self)
        sources = np.asarray(X, dtype=np.float64)
        if sources.ndim != 2 or sources.shape[1] != len(self.components_):
            raise LatentiaError(f"Sources have shape {sources.shape}: (n_rows, {len(self.components_)}) is needed.")
        return sources @ self.mixing_.T + self.mean_

    # --- helpers ------------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        check_whole(self, refine=0)
        if self.n_components is not None:
            check_whole(self, n_components=1)
        check_splits(self, "rows")
        self._seed = seed_of(self.random_state)

    def _count(self, n_rows: int, variance: np.ndarray) -> int:
        """K, checked against the data."""
        width = len(variance)
        constant = np.flatnonzero(variance == 0)
        size = width if self.n_components is None else self.n_components
        most = min(width - len(constant), n_rows - 1)
        if size > most:
            why = (
                f"{len(constant)} of {width} features are constant (the first is column {constant[0]})"
                if len(constant)
                else (f"the data has {n_rows} rows and {width} features")
            )
            raise LatentiaError(f"n_components={size}, but {why}: this data supports at most n_components={most}.")
        if size > _MOST:
            raise LatentiaError(
                f"n_components={size}: fourth moments of more than {_MOST} components take more than a gigabyte. Lower it."
            )
        return int(size)

    def _distances(self, other: TensorICA) -> np.ndarray:
        return _crosstalk(other.components_ @ self.mixing_)


def _crosstalk(gains: np.ndarray) -> np.ndarray:
    """For every column, a source, the relative amplitude of the other sources in the row that holds most of it, shape (K,).

    Row l of ``gains`` says how much of every source is in the l-th recovered one.
    """
    shares = (gains / np.maximum(np.linalg.norm(gains, axis=1, keepdims=True), np.finfo(float).tiny)) ** 2
    return np.sqrt(np.maximum(1 - shares.max(axis=0), 0))
