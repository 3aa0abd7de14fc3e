"""Matrices of pair probabilities of low rank, from few pairs a word.

Model. M words; a pair (i, j) of words is drawn with probability B_ij, N times. B is symmetric of rank R, as in a topic
model (B = P^T diag(w) P), a reversible hidden Markov model (B = P^T diag(pi) T P) or a block model. With the marginals
rho = B 1,

    B = rho rho^T + D^1/2 U L U^T D^1/2,

where R - 1 eigenpairs say what words tell of each other. N of the order of M pairs suffice.

Source: Q. Huang, S. Kakade, W. Kong, G. Valiant, Recovering structured probability matrices, ITCS 2018.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np
from scipy import sparse

from .. import _fields as of
from .._parameters import Choice, Flag, Integer, Number, OrNone, Seed, check_parameter
from .._validation import check_vocabulary
from ..evidence import (
    Check,
    Evidence,
    PartErrors,
    mean_cosine,
)
from ..exceptions import EvidenceWarning, LatentiaError, warn
from ..fitting.additive import Additive
from ..fitting.base import fitting
from ..fitting.stages import Fitted, Subset
from ..likelihood import Refine, Refinement, refine
from ..linalg import scaled_eigenspace
from ..moments import FoldCounts, count_pairs, split_counts, symmetric_counts
from ..passes import Folds
from ._binned import Binning, binned_factors
from ._checks import Measured, matrix_checks, part_checks
from ._evidence import dependence, excess, expected_error, missing_signal, persistent_excess
from ._matrix import Estimate, WordClusters, sampled_distance, sampled_sum, some_cells
from ._methods import MatrixMethods
from ._ordered import (
    HeldOut,
    OrderedMatrix,
    OrderedSettings,
    discounts_of,
    held_out_pairs,
    ordered_checks,
    ordered_distance,
    ordered_matrix,
)
from ._pair_counts import PairSums, asymmetry_of, checked_counts, pair_counts, square_counts, thirds, without_copies
from ._refine import PairUpdate, nonnegative_start, over_pairs
from ._scaled_pairs import ScaledPairs
from .factored import Factored, total_distance

_EXCESS = 3.0  # standard deviations of |S|^2 beyond the kept directions
_HELD_OUT = 0.1  # share of the pairs that say whether to refine


@dataclass(frozen=True)
class _IsBinning:
    expectation: str = "expected a latentia.matrices.Binning"

    def allows(self, value: Any) -> bool:
        return isinstance(value, Binning)


class ProbabilityMatrix(MatrixMethods, Additive):
    """Low-rank matrix of pair probabilities, fitted by shrinkage of a scaled spectrum.

    The fit is deterministic, makes one pass over the pairs, and gives the expected l1 error of the matrix.

    Choose it for co-occurrences, bigrams or edges with some to some hundred observations of every word, where a truncated
    SVD of the counts follows the frequent words and the noise. B is symmetric, and pairs lose their order, unless
    ``symmetric=False``: then rows and columns may be different things, such as users and items, or the first and second of
    neighbouring words. Below about one pair for every word nothing beyond the marginals can be found by any method.

    Parameters
    ----------
    n_components : int, default=10
        Rank R of B, the marginals' direction included.
    symmetric : bool, default=True
        False for ordered pairs and rectangular tables: B = P^T W Q, by the shrunk scaled singular triplets of the counts.
    discount : bool or "auto", default="auto"
        Of ordered pairs: whether the count of a pair is reduced by a discount, and only the discounted part is distributed
        by the low rank, as Kneser-Ney smoothing does it with frequencies alone. "auto" does what makes pairs more probable that
        are held out: it helps where the same pairs come again and again, as neighbouring words do.
    method : {"shrink", "binned"}, default="shrink"
        "binned" is the paper's Algorithm 1. It was not more accurate in any measurement.
    tau : float, default=0.3
        Words are scaled as if each had occurred tau N / M times more. For graphs of constant degree 0.5 is better.
    floor : float, default=0.1
        Least probability of a pair, as a multiple of that of independent words. 0 cuts negative entries.
    refine : int or "auto", default=0
        EM from the spectrum, on nonnegative factors: "auto" makes accelerated steps until they converge, and keeps them
        only if they make pairs more probable that are held out first, a number makes that many plain ones. 0 keeps to the
        theorem, and so does "auto" for "binned". Steps take some twenty times as long as the rest; they are worth it from
        about 20 pairs for every word, where components are clear. See ``refinement_``, and *EM has converged* in the evidence.
    pseudo_counts : float, default=1
        With ``refine``: number of pseudo-pairs for every word, shared by the components and spread as the marginals.
    binning : Binning, optional
        Constants of Algorithm 1; by default ones that work, and `Binning.printed` gives the paper's.
    vocabulary : sequence of str or dict, optional
        The words, for `most_similar`.
    max_products : int, optional
        Largest number of products of the counts with a block of R + 2 vectors or some more, to find the eigenvectors; by
        default as many as give 160 vectors, and at least 8. Clear matrices take some ten.
    n_splits : int, default=1
        With ``refine`` or "binned": number of random splits of the pairs into halves, at most 3, whose fits enter the
        expected error; each costs two fits. The error of plain "shrink" is computed from the counts and costs nothing.
    keep_moments : bool, default=False
        Whether to keep the counts, so that pairs can be added (`partial_fit`), taken away (`forget`), and models merged
        (`latentia.merge`): 12 bytes for each different pair. They are all that a fit looks at, so that the answer is the same.
    random_state : int, default=0
        Seed of the starts and splits. None or a RandomState draws a seed.
    n_jobs : int, optional
        Number of threads. Results are bitwise identical for any value.
    verbose : bool or int, default=False
        Whether to show progress where files are read.

    Attributes
    ----------
    marginals_ : ndarray of shape (M,)
        r: how often each word is in a pair, of all words in pairs; of ordered pairs, how often it is the first.
    column_marginals_ : ndarray of shape (M_columns,)
        Of ordered pairs: how often each column is in one.
    embedding_ : ndarray of shape (M, n_kept_)
        Scaled singular vectors D^-1/2 applied to B - r r^T, times the root of their values: coordinates of the words.
    column_embedding_ : ndarray of shape (M_columns, n_kept_)
        Of ordered pairs: the same of the columns.
    discounts_ : ndarray of shape (4,) or None
        Of ordered pairs: what a count of 0, 1, 2 and more gives up; None without discounts.
    spectrum_ : ndarray of shape (R - 1,)
        Signed eigenvalues of the scaled counts, without that of the marginals, by decreasing modulus, before shrinkage.
    noise_level_ : float
        Modulus up to which eigenvalues are noise.
    n_kept_ : int
        Number of eigenvalues above it. For "binned" the rank of what was found.
    components_ : ndarray of shape (n_kept_ + 1, M), core_ : ndarray of shape (n_kept_ + 1, n_kept_ + 1)
        With ``refine`` and directions that were kept: B = P^T W P, nonnegative. Not the topics: see `topics`.
    labels_ : ndarray of shape (M,)
        Communities: k-means of the leading vectors over their scale, computed when asked for.
    bins_ : list of int
        For "binned", where there are at least as many pairs as words: the number of words in each bin that was used.
    n_pairs_ : float
        N. Where all counts have a common divisor, pairs are taken to be copies, of which one counts.
    n_features_in_ : int
        M, the number of rows.
    moments_ : Sums
        What is kept: ``moments_.n_bytes`` is its size, ``moments_.n_rows`` the number of rows.
    evidence_ : Evidence
        Checks of the assumptions, and the expected l1 error of B (0 to 2) (``component_errors``, shape (1,)). It is
        widened where there is more in the pairs than the rank holds, or pairs depend on each other.
    refinement_ : ndarray of shape (n_steps,)
        Log-likelihood of the pairs at every step of EM, in nats; empty where they were not refined.
    n_iter_ : int
        Number of steps of refinement.
    converged_ : bool
        Whether further steps would gain only a negligible amount; only ``refine="auto"`` looks at that.
    n_passes_ : int
        Number of passes over the pairs: one, which counts them.

    Notes
    -----
    Differences from the paper:

    1. "shrink" has no bins and no splitting: words are scaled by their own smoothed marginals, D = r + tau / M, which bounds
       the weight of rare words as the paper's removal of heavy rows does.
    2. The marginals' direction is known, so R - 1 eigenpairs of C / N - r r^T are sought, of either sign: W need not be
       positive semidefinite. The paper's B - rho rho^T for two states is 1/2 (1/2 - t) delta delta^T, with W = 1/2 [[1 - t,
       t], [t, 1 - t]], where appendix C prints other ones.
    3. Eigenvalues are shrunk to sqrt(lambda^2 - e^2) (see `latentia.linalg.scaled`), which minimises the Frobenius error of
       the scaled matrix; where the paper cuts at rank R, directions in the noise are dropped.
    4. Entries below a tenth of the product of marginals are raised to it, and the matrix is scaled to sum to one.
    5. "binned": the printed constants leave out words that occur less than 1e10 times; all are parameters
       (`Binning`), and one sample serves all three steps unless ``split`` is set, and words outside all bins keep r r^T.
    6. ``refine`` is not in the paper.
    7. Ordered pairs and discounts are not in the paper.

    A symmetric table of counts, or list of pairs, is taken to hold every pair twice, as (i, j) and as (j, i): an adjacency
    matrix is one.

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
        "method": Choice("shrink", "binned"),
        "tau": Number(0),
        "floor": Number(0, 1, closed="low"),
        "pseudo_counts": Number(0, closed="low"),
        "binning": OrNone(_IsBinning()),
        "max_products": OrNone(Integer(1)),
    }

    discounts_: Annotated[np.ndarray | None, of.optional(of.numbers("*", 0.0))]
    bins_: Annotated[list[int], of.optional(of.count())]
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
        method: Literal["shrink", "binned"] = "shrink",
        tau: float = 0.3,
        floor: float = 0.1,
        refine: Refine = 0,
        pseudo_counts: float = 1.0,
        binning: Binning | None = None,
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
        self.method = method
        self.tau = tau
        self.floor = floor
        self.refine = refine
        self.pseudo_counts = pseudo_counts
        self.binning = binning
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
            C_ij: how often the pair (i, j) occurred. An adjacency matrix for communities.
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
        return square_counts(C) if self.symmetric else pair_counts(C)

    def _sum_rows(self, rows: sparse.csr_array, like: PairSums | None) -> PairSums:
        return PairSums.of(rows)

    def _fit_sums(self, sums: PairSums, rows: Any) -> ProbabilityMatrix:
        if rows is not None:
            raise LatentiaError("The counts are all that a fit looks at: leave refine_on out.")
        self.moments_ = sums
        return self._fit(sums.counts)

    @fitting
    def fit_pairs(self, pairs: Any, n_words: int | None = None) -> ProbabilityMatrix:
        """Learn the matrix from a list of pairs, counted in one pass.

        Parameters
        ----------
        pairs : array-like of shape (N, 2) or (N, 3), Blocks, or path
            Words as numbers from 0, and if there is a third column how often. A path names a ``.npy`` file, which is read as
            needed, or a text with two or three whole numbers on each line.
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
        return self._fit(checked_counts(count_pairs(pairs, n_words, self.n_jobs, label)))

    def _fit(self, table: sparse.csr_array) -> ProbabilityMatrix:
        """Pairs lose their order where it does not matter, and copies of them count once."""
        if self.keep_moments and "moments_" not in vars(self):
            self.moments_ = PairSums.of(table)
        rows, folds = _without_order(table) if self.symmetric else _Table(table), Folds(4, self._seed)
        return self._fit_stages(rows, self._moments(rows, folds), folds)

    def _moments(self, rows: _Table, folds: Folds) -> _Pairs:
        """The pairs of four groups, and what those say that are held out: whether to refine, or to discount."""
        counts = rows.counts
        _check_size(self, counts)
        pairs = FoldCounts(counts, folds, self.symmetric)
        if self.symmetric:
            gain = self._gain(counts)
            return _Pairs(pairs, 0 if gain is not None and gain <= 0 else self._steps, gain)
        held_out = held_out_pairs(counts, self._settings, self.discount)
        return _Pairs(pairs, held_out=held_out, discounts=discounts_of(counts) if held_out.discounted else None)

    def _recover(self, moments: _Pairs, subset: Subset, full_fit: Any) -> Estimate | _Ordered:
        """The shrunk spectrum of the scaled counts; of ordered pairs, of what they give up."""
        counts = moments.pairs.of(subset.groups)
        if self.symmetric:
            return self._estimate(counts)
        own = None if moments.discounts is None else discounts_of(counts)  # a part may have too few pairs to tell
        return ordered_matrix(counts, self._settings, moments.discounts if own is None else own)

    def _refine(self, recovered: Any, moments: _Pairs, subset: Subset, full_fit: Any) -> Estimate | _Ordered:
        """EM on nonnegative factors."""
        return self._refined(recovered, moments.pairs.of(subset.groups), moments.steps) if moments.steps else recovered

    def _distance(self, first: Any, second: Any, moments: _Pairs) -> np.ndarray:
        if self.symmetric:
            return np.array([sampled_distance(first, second, self._seed)])
        return np.array([ordered_distance(first[0], second[0], moments.pairs.counts, self._seed)])

    def _cost(self) -> Literal["algebra"]:
        return "algebra"

    def _checks(self, fitted: Fitted) -> tuple[list[Check], PartErrors]:
        """The error that the counts tell, or that parts of them tell where they alone do not."""
        found, moments, directions = fitted.model, fitted.moments, self.n_components - 1
        if self.symmetric:
            parts = fitted.errors(self.n_splits if moments.steps or self.method == "binned" else 0)
            missing = missing_signal(found.space, directions)
            error = self._expected_error(found, missing, parts, fitted.rows.counts)
            asymmetry, gain = fitted.rows.asymmetry, moments.gain
            checks = matrix_checks(Measured(found, directions, self.n_pairs_, missing, error, parts, asymmetry, gain))
        else:
            parts = fitted.errors(max(self.n_splits, 1))
            error = 2.0 if parts.errors is None else min(float(parts.errors[0]), 2.0)
            checks = ordered_checks(found[1], directions, self.n_pairs_, error, moments.held_out) + part_checks(parts)
        return checks, replace(parts, errors=np.array([error]))

    def _repeat_shares(self, fitted: Fitted) -> np.ndarray | None:
        """By how much more often pairs come than by chance, of some cells."""
        halves = [half for pair in fitted.halves(min(self.n_splits, 1)) for half in pair]
        if not halves:
            return None
        i, j, chance = some_cells(fitted.moments.pairs.counts, self._seed)
        beyond = [
            one.model.entries(i, j) if self.symmetric else one[0].entries(i, j) for one in (fitted.model, *halves)
        ]
        whole, *others = [one / chance - 1 for one in beyond]
        return mean_cosine([whole], [[other] for other in others])

    @property
    def _settings(self) -> OrderedSettings:
        return OrderedSettings(self.n_components, self.tau, self.floor, self._seed, self.n_jobs)

    def _estimate(self, counts: sparse.csr_array) -> Estimate:
        """B in factors by the spectrum alone, the scaled eigenspace, and what else the method finds."""
        few = counts.sum() / 2 < counts.shape[0]
        space = scaled_eigenspace(
            counts,
            0 if few else self.n_components - 1,
            tau=self.tau,
            beyond=True,
            n_passes=self.max_products,
            random_state=self._seed,
            n_jobs=self.n_jobs,
        )
        r, least = space.marginals, np.sqrt(self.floor) * space.marginals
        if self.method == "binned" and not few:
            binning = Binning() if self.binning is None else self.binning
            steps = thirds(counts, self._seed) if binning.split else [counts] * 3
            found, values, bins = binned_factors(steps, self.n_components, binning, self.n_jobs)
            least = least if binning.fill == "rank-one" else np.zeros_like(least)
            space = replace(space, n_kept=min(len(values), space.n_kept))
            return Estimate(replace(found, least=least), space, bins=bins)
        left = np.column_stack([r, space.directions])
        core = np.diag(np.concatenate([[1.0], space.values[: space.n_kept]]))
        return Estimate(Factored(left, core, least), space)

    def _refined(self, found: Estimate, counts: sparse.csr_array, steps: Refine) -> Estimate:
        """After EM on nonnegative factors, where there are directions beside the marginals."""
        left, r = found.model.left, found.space.marginals
        rank = left.shape[1]
        if not steps or rank < 2:
            return found
        start = nonnegative_start(left, found.model.core, r, r * counts.sum(), self.n_jobs)
        pseudo = 2 * self.pseudo_counts * len(r) / rank * r  # a pair has two words
        refined = refine(PairUpdate(*start, pseudo), over_pairs(counts, self.n_jobs), steps)
        components, mixing = refined.values[0], refined.values[1].reshape(rank, rank)
        return Estimate(Factored(components.T, mixing), found.space, components, mixing, refinement=refined)

    @property
    def _steps(self) -> Refine:
        """Of refining, which Algorithm 1 does not have."""
        return 0 if self.method == "binned" else self.refine

    def _gain(self, counts: sparse.csr_array) -> float | None:
        """Nats by which refining makes a held-out pair more probable; None where that is not asked."""
        if self._steps != "auto":
            return None
        known, held_out = split_counts(counts, True, self._seed, 1 - _HELD_OUT)
        if not (known.nnz and held_out.nnz):
            return 0.0
        found = self._estimate(known)
        if not found.space.n_kept:
            return 0.0
        plain, refined = (
            each.matrix(self.n_jobs).log_likelihood(held_out, each.space.marginals)
            for each in (found, self._refined(found, known, "auto"))
        )
        return refined - plain

    def _set_fitted_attributes(self, fitted: Fitted) -> None:
        self.n_pairs_, self.n_passes_ = float(fitted.rows.counts.sum()) / (1 + self.symmetric), 1
        if self.symmetric:
            self._keep_matrix(fitted.model)
        else:
            found, space = fitted.model
            _keep_ordered(self, found, space, fitted.moments)

    def _keep_matrix(self, found: Estimate) -> None:
        space = found.space
        self._matrix, self._scale = found.matrix(self.n_jobs), space.scale
        self.marginals_, self.noise_level_, self.spectrum_, self.n_kept_ = (
            space.marginals, space.edge, space.observed, space.n_kept,
        )  # fmt: skip
        points = space.vectors * np.abs(space.observed)
        self._communities = WordClusters(points, space.marginals, self._seed)
        self.embedding_ = space.vectors[:, : space.n_kept] * np.sqrt(np.abs(space.values[: space.n_kept]))
        self._set_refinement_attributes(found.refinement)
        if found.components is not None and found.mixing is not None:
            self.components_, self.core_ = found.components, found.mixing
        if found.bins is not None:
            self.bins_ = found.bins

    def _expected_error(self, found: Estimate, missing: float, parts: PartErrors, counts: sparse.csr_array) -> float:
        """What the counts say, and the distance to fits on halves of them where there are such."""
        error = expected_error(found.space, missing, self.n_pairs_, self._seed)
        if excess(found.space) > _EXCESS:
            # What is missing is spread over all cells at most; halves agree on some of it at least.
            least = persistent_excess(counts, found.model.entries, sampled_sum(found, self._seed), self._seed)
            error = float(np.hypot(expected_error(found.space, 0.0, self.n_pairs_, self._seed), np.sqrt(least * error)))
        else:
            error *= dependence(found.space, self.n_pairs_)
        error = min(error, 2.0)
        if parts.errors is None:
            return error
        halves = float(parts.errors[0])
        return max(error, halves) if self.method == "binned" else max(halves, 0.9 * error)

    # --- the matrix ---------------------------------------------------------------------------------------------

    # --- read-offs ----------------------------------------------------------------------------------------------

    # --- helpers ------------------------------------------------------------------------------------------------

    def _distances(self, other: ProbabilityMatrix) -> np.ndarray:
        own, others = self._matrix, other._matrix
        return np.array([total_distance(own.factored, others.factored, (own.scale, others.scale))])

    def _halves(self, X: Any, random_state: int, **fit_parameters: Any) -> list[dict[str, Any]]:
        """Arguments of `fit` for two halves of the pairs."""
        if not self.symmetric:
            return [{"C": half, **fit_parameters} for half in split_counts(pair_counts(X), False, random_state)]
        table = square_counts(X)
        counts, symmetric = symmetric_counts(table)
        halves = split_counts(counts if symmetric else table, symmetric, random_state)
        return [{"C": half, **fit_parameters} for half in halves]

    def _check_parameters(self) -> None:
        if not self.symmetric and self.refine not in (0, "auto"):
            raise LatentiaError("ordered pairs are not refined.", parameter="refine", value=self.refine)
        if not self.symmetric and self.method == "binned":
            raise LatentiaError("Algorithm 1 is for symmetric matrices.", parameter="method", value=self.method)
        if self.refine not in (0, "auto") and self.method == "binned":
            raise LatentiaError(
                "refinement starts from the shrunk spectrum: leave method out.", parameter="refine", value=self.refine
            )


# --- the fitted matrix --------------------------------------------------------------------------------------------


# --- estimates ----------------------------------------------------------------------------------------------------


_Ordered: TypeAlias = tuple[OrderedMatrix, ScaledPairs]


@dataclass(frozen=True)
class _Table:
    """Counts of pairs, and how much more asymmetric they were than noise is, if they were."""

    counts: sparse.csr_array
    asymmetry: float | None = None


def _without_order(table: sparse.csr_array) -> _Table:
    counts, symmetric = symmetric_counts(table)
    return _Table(without_copies(counts), None if symmetric else asymmetry_of(table, counts))


@dataclass(frozen=True)
class _Pairs:
    """Pairs of four groups; steps of refining, and the gain of it; whether to discount, and by how much."""

    pairs: FoldCounts
    steps: Refine = 0
    gain: float | None = None
    held_out: HeldOut | None = None
    discounts: np.ndarray | None = None


def _keep_ordered(model: ProbabilityMatrix, found: OrderedMatrix, space: ScaledPairs, moments: _Pairs) -> None:
    counts, kept = moments.pairs.counts, space.n_kept
    model.discounts_ = moments.discounts
    model._matrix, model._scale = found, space.row_scale
    model.marginals_ = found.marginals
    model.column_marginals_ = np.asarray(counts.sum(axis=0), dtype=np.float64).ravel() / model.n_pairs_
    model.spectrum_, model.noise_level_, model.n_kept_ = space.observed, space.edge, kept
    roots = np.sqrt(space.values[:kept])
    model.embedding_, model.column_embedding_ = space.left[:, :kept] * roots, space.right[:, :kept] * roots
    model._communities = WordClusters(space.left * space.observed, found.marginals, model._seed)
    model._set_refinement_attributes(Refinement.no_steps())


def _check_size(model: ProbabilityMatrix, counts: sparse.csr_array) -> None:
    """Raise for parameters that do not fit the numbers of words and pairs."""
    size, most = counts.shape[0], min(counts.shape)
    if model.n_components > most:
        these = f"{size} words carry" if model.symmetric else f"A table of {size} x {counts.shape[1]} carries"
        raise LatentiaError(
            f"{these} a rank of at most {most}.", at_most=most, parameter="n_components", value=model.n_components
        )
    model.n_features_in_ = size
    check_vocabulary(model)
    n_pairs = counts.sum() / 2
    if model.symmetric and n_pairs < size:
        warn(
            f"{n_pairs:.0f} pairs of {size} words: with less than one pair a word only the marginals can be found, "
            "and the matrix is that of independent words. Give more pairs, or leave rare words out.",
            EvidenceWarning,
        )


# --- evidence -----------------------------------------------------------------------------------------------------


# --- counts -------------------------------------------------------------------------------------------------------
