"""Matrices of pair probabilities of low rank, from few pairs a word.

Model. M words; a pair (i, j) of words is drawn with probability B_ij, N times. B is symmetric of rank R, as in a topic
model (B = P^T diag(w) P), a reversible hidden Markov model (B = P^T diag(pi) T P) or a block model. With the marginals
rho = B 1,

    B = rho rho^T + D^1/2 U L U^T D^1/2,

where R - 1 eigenpairs describe the associations between words. N of the order of M pairs suffice.

Source: Q. Huang, S. Kakade, W. Kong, G. Valiant, Recovering structured probability matrices, ITCS 2018.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, cast

import numpy as np
from scipy import sparse

from .. import _fields as of
from .._parameters import Flag, Integer, Number, OrNone, Seed, check_parameter
from .._validation import check_vocabulary
from ..evidence import (
    Check,
    Evidence,
    PartErrors,
    mean_cosine,
)
from ..evidence.limits import MANY_STANDARD_ERRORS
from ..exceptions import EvidenceWarning, LatentiaError, warn
from ..fitting.additive import Additive
from ..fitting.base import fitting
from ..fitting.stages import Fitted, Subset
from ..likelihood import Refine, Refinement, refine
from ..linalg import scaled_eigenspace
from ..moments import FoldCounts, count_pairs, split_counts, symmetric_counts
from ..passes import Folds
from ._checks import FitMeasurements, halves_checks, matrix_checks
from ._evidence import (
    compute_expected_error,
    estimate_dependence,
    estimate_missing_signal,
    estimate_persistent_excess,
    measure_excess,
)
from ._matrix import Estimate, WordClusters, draw_cells, estimate_distance, estimate_sum
from ._methods import MatrixMethods
from ._ordered import (
    AsymmetricMatrix,
    AsymmetricSettings,
    DiscountChoice,
    asymmetric_checks,
    choose_discounts,
    estimate_asymmetric_distance,
    estimate_discounts,
    fit_asymmetric,
)
from ._pair_counts import (
    PairSums,
    check_pair_counts,
    measure_asymmetry,
    read_pair_counts,
    read_square_counts,
    remove_copies,
)
from ._refine import PairUpdate, initialise_nonnegative, make_e_step
from ._scaled_pairs import SingularSpace
from .factored import LowRankProduct, total_distance

_HELD_OUT_SHARE = 0.1  # share of the pairs that decide about refinement


class ProbabilityMatrix(MatrixMethods, Additive["_PairMoments", Any]):
    """Low-rank matrix of pair probabilities, fitted by shrinkage of a scaled spectrum.

    The fit is deterministic, makes one pass over the pairs, and gives the expected l1 error of the matrix.

    Choose it for co-occurrences, bigrams or edges with a few to some hundred observations of every word, where a truncated
    SVD of the counts follows the frequent words and the noise. B is symmetric, and the order of pairs is ignored, unless
    ``symmetric=False``: then rows and columns may be different things, such as users and items, or the first and second of
    neighbouring words. Below about one pair for every word no method can find more than the marginals.

    Parameters
    ----------
    n_components : int, default=10
        Rank R of B, the marginals' direction included.
    symmetric : bool, default=True
        False for ordered pairs and rectangular tables: B = P^T W Q, by the shrunk scaled singular triplets of the counts.
    discount : bool or "auto", default="auto"
        For ordered pairs: True reduces the count of a pair by a discount, and the low rank distributes the discounts, as
        Kneser-Ney smoothing does with frequencies alone. "auto" chooses the model with the higher likelihood of held-out
        pairs. Discounts help where the same pairs come again and again, as neighbouring words do.
    tau : float, default=0.3
        Words are scaled as if each had tau N / M more occurrences. For graphs of constant degree 0.5 is better.
    floor : float, default=0.1
        Lower limit of the probability of a pair, as a multiple of that of independent words. 0 cuts negative entries.
    refine : int or "auto", default=0
        EM from the spectral estimate, on nonnegative factors. "auto" makes accelerated steps until they converge, and uses
        them only if they raise the likelihood of held-out pairs; a number makes that many plain steps; 0 keeps to the
        theorem. Steps take some twenty times as long as the rest; they pay from about 20 pairs for every word, if components
        are clear. See ``refinement_``, and *EM has converged* in the evidence.
    pseudo_counts : float, default=1
        With ``refine``: number of pseudo-pairs for every word, shared by the components and spread as the marginals.
    vocabulary : sequence of str or dict, optional
        The words, for `most_similar`.
    max_products : int, optional
        Maximum number of products of the counts with a block of R + 2 vectors or a few more, to find the eigenvectors; by
        default as many as give 160 vectors, and at least 8. Clear matrices take about ten.
    n_splits : int, default=1
        With ``refine``: number of random splits of the pairs into halves, at most 3, whose fits enter the expected error;
        each costs two fits. Without it the error is computed from the counts and costs nothing.
    keep_moments : bool, default=False
        True stores the counts, so that pairs can be added (`partial_fit`) or removed (`forget`), and models merged
        (`latentia.merge`): 12 bytes for each different pair. A fit uses nothing else, so that the answer is the same.
    random_state : int, default=0
        Seed of the starts and splits. None or a RandomState draws a seed.
    n_jobs : int, optional
        Number of threads. Results are bitwise identical for any value.
    verbose : bool or int, default=False
        True shows progress while files are read.

    Attributes
    ----------
    marginals_ : ndarray of shape (M,)
        r: share of each word in all words of pairs; for ordered pairs, in all first words.
    column_marginals_ : ndarray of shape (M_columns,)
        For ordered pairs: share of each column in all second words.
    embedding_ : ndarray of shape (M, n_kept_)
        Scaled singular vectors D^-1/2 applied to B - r r^T, times the root of their values: coordinates of the words.
    column_embedding_ : ndarray of shape (M_columns, n_kept_)
        For ordered pairs: coordinates of the columns.
    discounts_ : ndarray of shape (4,) or None
        For ordered pairs: discounts of counts of 0, 1, 2 and more; None without discounts.
    spectrum_ : ndarray of shape (R - 1,)
        Signed eigenvalues of the scaled counts, without that of the marginals, by decreasing modulus, before shrinkage.
    noise_level_ : float
        Modulus up to which eigenvalues are noise.
    n_kept_ : int
        Number of eigenvalues above it.
    components_ : ndarray of shape (n_kept_ + 1, M), core_ : ndarray of shape (n_kept_ + 1, n_kept_ + 1)
        With ``refine`` and kept directions: B = P^T W P, nonnegative. These are not the topics: see `topics`.
    labels_ : ndarray of shape (M,)
        Communities: k-means of the leading vectors over their scale, computed at the first use.
    n_pairs_ : float
        N. If all counts have a common divisor, pairs are taken to be copies, and each counts once.
    n_features_in_ : int
        M, the number of rows.
    moments_ : Sums
        With ``keep_moments``: the stored counts; ``moments_.n_bytes`` is their size, ``moments_.n_rows`` the number of rows.
    evidence_ : Evidence
        Checks of the assumptions, and the expected l1 error of B (0 to 2) (``component_errors``, shape (1,)). The error
        is widened if the pairs have more structure than the rank, or depend on each other.
    refinement_ : ndarray of shape (n_steps,)
        Log-likelihood of the pairs at every step of EM, in nats; empty without refinement.
    n_iter_ : int
        Number of steps of refinement.
    converged_ : bool
        True if further steps would gain a negligible amount; only ``refine="auto"`` checks it.
    n_passes_ : int
        Number of passes over the pairs: one.

    Notes
    -----
    Differences from the paper:

    1. There are no bins and no splitting: words are scaled by their own smoothed marginals, D = r + tau / M, which bounds
       the weight of rare words as the paper's removal of heavy rows does. `latentia.papers.matrices.recover_by_bins` is the
       algorithm as printed; it was nowhere more accurate.
    2. The marginals' direction is known, so R - 1 eigenpairs of C / N - r r^T are sought, of either sign: W need not be
       positive semidefinite. The paper's B - rho rho^T for two states is 1/2 (1/2 - t) delta delta^T, with W = 1/2 [[1 - t,
       t], [t, 1 - t]], where appendix C prints other ones.
    3. Eigenvalues are shrunk to sqrt(lambda^2 - e^2) (see `latentia.linalg.scaled`), which minimises the Frobenius error of
       the scaled matrix; where the paper cuts at rank R, directions in the noise are dropped.
    4. Entries below a tenth of the product of marginals are raised to it, and the matrix is scaled to sum to one.
    5. ``refine`` is not in the paper.
    6. Ordered pairs and discounts are not in the paper.

    A symmetric table of counts, such as an adjacency matrix, or a symmetric list of pairs is taken to hold every pair twice, as
    (i, j) and as (j, i).

    References
    ----------
    Q. Huang, S. Kakade, W. Kong, G. Valiant, ITCS 2018, Algorithm 1 and Theorem 1.1.

    Examples
    --------
    >>> from latentia.datasets import planted
    >>> from latentia.matrices import ProbabilityMatrix
    >>> data = planted.word_pairs(20_000, n_components=3, n_words=500)
    >>> model = ProbabilityMatrix(3).fit(data.counts)
    >>> model.rows([0, 1]).shape
    (2, 500)
    """

    _compared, _max_distance = ("_matrix",), 2.0
    _nouns = ("matrix", "matrices", "pairs")
    _constraints: ClassVar = {
        "n_components": Integer(1),  # an upper end: shrinkage finds the rank
        "symmetric": Flag(),
        "discount": Flag(auto=True),
        "tau": Number(0),
        "floor": Number(0, 1, closed="low"),
        "pseudo_counts": Number(0, closed="low"),
        "max_products": OrNone(Integer(1)),
    }

    discounts_: Annotated[np.ndarray | None, of.optional(of.numbers("*", 0.0))]
    refinement_: Annotated[np.ndarray, of.numbers("*")]
    n_iter_: Annotated[int, of.count()]
    converged_: bool
    evidence_: Annotated[Evidence, of.Letters({"K": "J"})]

    def __init__(
        self,
        n_components: int = 10,
        *,
        symmetric: bool = True,
        discount: bool | Literal["auto"] = "auto",
        tau: float = 0.3,
        floor: float = 0.1,
        refine: Refine = 0,
        pseudo_counts: float = 1.0,
        vocabulary: Sequence[Any] | Mapping[Any, int] | None = None,
        max_products: int | None = None,
        n_splits: int = 1,
        keep_moments: bool = False,
        random_state: Seed = 0,
        n_jobs: int | None = None,
        verbose: int = False,
    ) -> None:
        self.n_components = n_components
        self.symmetric = symmetric
        self.discount = discount
        self.tau = tau
        self.floor = floor
        self.refine = refine
        self.pseudo_counts = pseudo_counts
        self.vocabulary = vocabulary
        self.max_products = max_products
        self.n_splits = n_splits
        self.keep_moments = keep_moments
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # --- fitting ------------------------------------------------------------------------------------------------

    @fitting
    def fit(self, C: Any, y: Any = None) -> ProbabilityMatrix:
        """Learn the matrix from counts of pairs.

        Parameters
        ----------
        C : sparse matrix, array-like, DataFrame or Blocks of shape (M, M), or (M, M_columns) with ``symmetric=False``
            C_ij: count of the pair (i, j). An adjacency matrix for communities.
        y : ignored

        Returns
        -------
        self

        Raises
        ------
        LatentiaError
            If a parameter is out of its range, if C is not square, has NaN, infinite or negative entries, or no pair at
            all.
        """
        return self._fit(self._read(C))

    def _read(self, C: Any, *, reset: bool = True) -> sparse.csr_array:
        return read_square_counts(C) if self.symmetric else read_pair_counts(C)

    def _sum_rows(self, rows: sparse.csr_array, like: PairSums | None) -> PairSums:
        return PairSums.from_counts(rows)

    def _fit_sums(self, sums: PairSums, rows: Any) -> ProbabilityMatrix:
        if rows is not None:
            raise LatentiaError("A fit needs nothing but the counts: leave refine_on out.")
        self.moments_ = sums
        return self._fit(sums.counts)

    @fitting
    def fit_pairs(self, pairs: Any, n_words: int | None = None) -> ProbabilityMatrix:
        """Learn the matrix from a list of pairs, counted in one pass.

        Parameters
        ----------
        pairs : array-like of shape (N, 2) or (N, 3), Blocks, or path
            Words as numbers from 0, with counts in a third column if there is one. A path names a ``.npy`` file, which is
            mapped into memory, or a text with two or three whole numbers on each line.
        n_words : int, optional
            M; by default one more than the largest word.

        Returns
        -------
        self

        Raises
        ------
        LatentiaError
            If the file cannot be read, or if words are no whole numbers from 0.
        """
        check_parameter("n_words", n_words, OrNone(Integer(1)))
        label = self.verbose and "counting pairs"
        return self._fit(check_pair_counts(count_pairs(pairs, n_words, self.n_jobs, label)))

    def _fit(self, table: sparse.csr_array) -> ProbabilityMatrix:
        """Fit the matrix; for symmetric ones ignore the order of pairs, and count copies once."""
        if self.keep_moments and "moments_" not in vars(self):
            self.moments_ = PairSums.from_counts(table)
        rows, folds = _symmetrise(table) if self.symmetric else _Table(table), Folds(4, self._seed)
        return self._fit_stages(rows, self._moments(rows, folds), folds)

    def _moments(self, rows: _Table, folds: Folds) -> _PairMoments:
        """Return the pairs of four groups, and the decision about refinement or discounts by held-out pairs."""
        counts = rows.counts
        _check_size(self, counts)
        pairs = FoldCounts(counts, folds, self.symmetric)
        if self.symmetric:
            gain = self._measure_refinement_gain(counts)
            return _PairMoments(pairs, 0 if gain is not None and gain <= 0 else self.refine, gain)
        held_out = choose_discounts(counts, self._settings, self.discount)
        return _PairMoments(
            pairs, held_out=held_out, discounts=estimate_discounts(counts) if held_out.discounted else None
        )

    def _recover(self, moments: _PairMoments, subset: Subset, choices: Any) -> Estimate | _AsymmetricFit:
        """Return the shrunk spectrum of the scaled counts; for ordered pairs with discounts, that of the discounts."""
        counts = moments.pairs.of(subset.groups)
        if self.symmetric:
            return self._estimate(counts)
        part_discounts = (
            None if moments.discounts is None else estimate_discounts(counts)
        )  # None: the part has too few pairs
        return fit_asymmetric(counts, self._settings, moments.discounts if part_discounts is None else part_discounts)

    def _refine(self, recovered: Any, moments: _PairMoments, subset: Subset, choices: Any) -> Estimate | _AsymmetricFit:
        """Refine nonnegative factors by EM, if requested."""
        return (
            self._refine_factors(recovered, moments.pairs.of(subset.groups), moments.steps)
            if moments.steps
            else recovered
        )

    def _distance(self, first: Any, second: Any, moments: _PairMoments) -> np.ndarray:
        if self.symmetric:
            return np.array([estimate_distance(first, second, self._seed)])
        return np.array([estimate_asymmetric_distance(first[0], second[0], moments.pairs.counts, self._seed)])

    def _cost(self) -> Literal["algebra"]:
        return "algebra"

    def _checks(self, fitted: Fitted[_PairMoments, Any]) -> tuple[list[Check], PartErrors]:
        """Return checks and the expected error, from the counts or, where these do not suffice, from fits on halves."""
        estimate, moments, directions = fitted.model, fitted.moments, self.n_components - 1
        if self.symmetric:
            parts = fitted.errors(self.n_splits if moments.steps else 0)
            missing = estimate_missing_signal(estimate.space, directions)
            error = self._combine_errors(estimate, missing, parts, fitted.rows.counts)
            asymmetry, gain = fitted.rows.asymmetry, moments.gain
            checks = matrix_checks(
                FitMeasurements(estimate, directions, self.n_pairs_, missing, error, parts, asymmetry, gain)
            )
        else:
            parts = fitted.errors(max(self.n_splits, 1))
            error = 2.0 if parts.errors is None else min(float(parts.errors[0]), 2.0)
            discounts = cast(DiscountChoice, moments.held_out)
            checks = asymmetric_checks(estimate[1], directions, self.n_pairs_, error, discounts) + halves_checks(parts)
        return checks, replace(parts, errors=np.array([error]))

    def _repeat_shares(self, fitted: Fitted[_PairMoments, Any]) -> np.ndarray | None:
        """Compare the excess of random cells over chance between the fit and its halves."""
        halves = [half for pair in fitted.halves(min(self.n_splits, 1)) for half in pair]
        if not halves:
            return None
        i, j, chance = draw_cells(fitted.moments.pairs.counts, self._seed)
        ratios = [
            fit.model.entries(i, j) if self.symmetric else fit[0].entries(i, j) for fit in (fitted.model, *halves)
        ]
        full_excess, *half_excesses = [fit / chance - 1 for fit in ratios]
        return mean_cosine([full_excess], [[half_excess] for half_excess in half_excesses])

    @property
    def _settings(self) -> AsymmetricSettings:
        return AsymmetricSettings(self.n_components, self.tau, self.floor, self._seed, self.n_jobs)

    def _estimate(self, counts: sparse.csr_array) -> Estimate:
        """Return B in factors from the scaled eigenspace."""
        has_few_pairs = counts.sum() / 2 < counts.shape[0]
        space = scaled_eigenspace(
            counts,
            0 if has_few_pairs else self.n_components - 1,
            tau=self.tau,
            beyond=True,
            n_passes=self.max_products,
            random_state=self._seed,
            n_jobs=self.n_jobs,
        )
        r, limits = space.marginals, np.sqrt(self.floor) * space.marginals
        factor = np.column_stack([r, space.directions])
        core = np.diag(np.concatenate([[1.0], space.values[: space.n_kept]]))
        return Estimate(LowRankProduct(factor, core, limits), space)

    def _refine_factors(self, estimate: Estimate, counts: sparse.csr_array, steps: Refine) -> Estimate:
        """Return the estimate after EM on nonnegative factors; unchanged if it has no direction beside the marginals."""
        factor, r = estimate.model.factor, estimate.space.marginals
        rank = factor.shape[1]
        if not steps or rank < 2:
            return estimate
        start = initialise_nonnegative(factor, estimate.model.core, r, r * counts.sum(), self.n_jobs)
        pseudo = 2 * self.pseudo_counts * len(r) / rank * r  # a pair has two words
        refined = refine(PairUpdate(*start, pseudo), make_e_step(counts, self.n_jobs), steps)
        components, mixing = refined.values[0], refined.values[1].reshape(rank, rank)
        return Estimate(LowRankProduct(components.T, mixing), estimate.space, components, mixing, refinement=refined)

    def _measure_refinement_gain(self, counts: sparse.csr_array) -> float | None:
        """Return the gain of refinement in nats a held-out pair; None unless ``refine="auto"``."""
        if self.refine != "auto":
            return None
        training, held_out = split_counts(counts, True, self._seed, 1 - _HELD_OUT_SHARE)
        if not (training.nnz and held_out.nnz):
            return 0.0
        spectral = self._estimate(training)
        if not spectral.space.n_kept:
            return 0.0
        plain, refined = (
            candidate.matrix(self.n_jobs).log_likelihood(held_out, candidate.space.marginals)
            for candidate in (spectral, self._refine_factors(spectral, training, "auto"))
        )
        return refined - plain

    def _set_fitted_attributes(self, fitted: Fitted[_PairMoments, Any]) -> None:
        self.n_pairs_, self.n_passes_ = float(fitted.rows.counts.sum()) / (1 + self.symmetric), 1
        if self.symmetric:
            self._set_symmetric_attributes(fitted.model)
        else:
            matrix, space = fitted.model
            _set_asymmetric_attributes(self, matrix, space, fitted.moments)

    def _set_symmetric_attributes(self, estimate: Estimate) -> None:
        space = estimate.space
        self._matrix, self._scale = estimate.matrix(self.n_jobs), space.scale
        self.marginals_, self.noise_level_, self.spectrum_, self.n_kept_ = (
            space.marginals, space.edge, space.observed, space.n_kept,
        )  # fmt: skip
        points = space.vectors * np.abs(space.observed)
        self._communities = WordClusters(points, space.marginals, self._seed)
        self.embedding_ = space.vectors[:, : space.n_kept] * np.sqrt(np.abs(space.values[: space.n_kept]))
        self._set_refinement_attributes(estimate.refinement)
        if estimate.components is not None and estimate.mixing is not None:
            self.components_, self.core_ = estimate.components, estimate.mixing

    def _combine_errors(self, estimate: Estimate, missing: float, parts: PartErrors, counts: sparse.csr_array) -> float:
        """Return the expected error from the counts, combined with the distance to fits on halves if there are any."""
        error = compute_expected_error(estimate.space, missing, self.n_pairs_, self._seed)
        if measure_excess(estimate.space) > MANY_STANDARD_ERRORS:
            # The missing part is spread over all cells at most; the part on which halves agree is a lower bound.
            min_error = estimate_persistent_excess(
                counts, estimate.model.entries, estimate_sum(estimate, self._seed), self._seed
            )
            error = float(
                np.hypot(
                    compute_expected_error(estimate.space, 0.0, self.n_pairs_, self._seed), np.sqrt(min_error * error)
                )
            )
        else:
            error *= estimate_dependence(estimate.space, self.n_pairs_)
        error = min(error, 2.0)
        if parts.errors is None:
            return error
        return max(float(parts.errors[0]), 0.9 * error)

    # --- helpers ------------------------------------------------------------------------------------------------

    def _distances(self, model: ProbabilityMatrix) -> np.ndarray:
        matrix, second = self._matrix, model._matrix
        return np.array([total_distance(matrix.factored, second.factored, (matrix.scale, second.scale))])

    def _halves(self, X: Any, random_state: int, **fit_parameters: Any) -> list[dict[str, Any]]:
        """Return arguments of `fit` for two halves of the pairs."""
        if not self.symmetric:
            return [{"C": half, **fit_parameters} for half in split_counts(read_pair_counts(X), False, random_state)]
        table = read_square_counts(X)
        counts, symmetric = symmetric_counts(table)
        halves = split_counts(counts if symmetric else table, symmetric, random_state)
        return [{"C": half, **fit_parameters} for half in halves]

    def _check_parameters(self) -> None:
        if not self.symmetric and self.refine not in (0, "auto"):
            raise LatentiaError(
                "expected 0 or 'auto': ordered pairs cannot be refined.", parameter="refine", value=self.refine
            )


_AsymmetricFit: TypeAlias = tuple[AsymmetricMatrix, SingularSpace]


@dataclass(frozen=True)
class _Table:
    """Counts of pairs, and their asymmetry relative to noise; None for a symmetric table."""

    counts: sparse.csr_array
    asymmetry: float | None = None


def _symmetrise(table: sparse.csr_array) -> _Table:
    counts, symmetric = symmetric_counts(table)
    return _Table(remove_copies(counts), None if symmetric else measure_asymmetry(table, counts))


@dataclass(frozen=True)
class _PairMoments:
    """Pairs of four groups; steps and gain of refinement; the choice of discounts, and the discounts."""

    pairs: FoldCounts
    steps: Refine = 0
    gain: float | None = None
    held_out: DiscountChoice | None = None
    discounts: np.ndarray | None = None


def _set_asymmetric_attributes(
    model: ProbabilityMatrix, matrix: AsymmetricMatrix, space: SingularSpace, moments: _PairMoments
) -> None:
    counts, n_kept = moments.pairs.counts, space.n_kept
    model.discounts_ = moments.discounts
    model._matrix, model._scale = matrix, space.row_scale
    model.marginals_ = matrix.marginals
    model.column_marginals_ = np.asarray(counts.sum(axis=0), dtype=np.float64).ravel() / model.n_pairs_
    model.spectrum_, model.noise_level_, model.n_kept_ = space.observed, space.edge, n_kept
    roots = np.sqrt(space.values[:n_kept])
    model.embedding_, model.column_embedding_ = (
        space.left_vectors[:, :n_kept] * roots,
        space.right_vectors[:, :n_kept] * roots,
    )
    model._communities = WordClusters(space.left_vectors * space.observed, matrix.marginals, model._seed)
    model._set_refinement_attributes(Refinement.no_steps())


def _check_size(model: ProbabilityMatrix, counts: sparse.csr_array) -> None:
    """Raise for parameters that do not fit the numbers of words and pairs."""
    size, max_rank = counts.shape[0], min(counts.shape)
    if model.n_components > max_rank:
        description = f"{size} words carry" if model.symmetric else f"A table of {size} x {counts.shape[1]} carries"
        raise LatentiaError(
            f"{description} a rank of at most {max_rank}.",
            at_most=max_rank,
            parameter="n_components",
            value=model.n_components,
        )
    model.n_features_in_ = size
    check_vocabulary(model)
    n_pairs = counts.sum() / 2
    if model.symmetric and n_pairs < size:
        warn(
            f"{n_pairs:.0f} pairs of {size} words: with less than one pair a word only the marginals can be estimated, "
            "and the matrix is that of independent words. Give more pairs, or leave rare words out.",
            EvidenceWarning,
        )
