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
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.utils.validation import check_is_fitted

from .. import _fields as of
from .._base import check_size, fitted, fitting
from .._parameters import Choice, Flag, Integer, Number, OrNone, Seed, check_parameter, seed_of
from .._stages import Fitted, Part, Staged
from .._validation import check_vocabulary, column_names, number_table
from ..evidence import (
    Check,
    Evidence,
    PartErrors,
    above,
    at_least,
    at_most,
    equal_to,
    noise_limit,
    settled_checks,
)
from ..exceptions import EvidenceWarning, LatentiaError, NonIntegerCountWarning, warn
from ..likelihood import Refine, Refinement, refine
from ..linalg import ScaledSpace, scaled_eigenspace, unit_rows
from ..moments import DealtCounts, count_pairs, split_counts, symmetric_counts
from ..passes import Blocks, RowGroups
from ._binned import Binning, binned_factors
from ._evidence import dependence, excess, expected_error, missing_signal, persistent_excess
from ._moves import moved_labels
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
from ._refine import PairUpdate, nonnegative_start, over_pairs
from ._scaled_pairs import ScaledPairs
from ._topics import PairTopics, topics_from_anchors, topics_from_triples
from .factored import Factored, total_distance

__all__ = ["ProbabilityMatrix"]

_MOST_ENTRIES = 1 << 28  # of an array of rows: 2 GiB
_TRUSTED = 1.0  # l1 error, of a possible 2
_BETTER = 0.7  # of |S|_F: an error that is clearly below that of independent words
_SMOOTHING = 0.01  # share of the smoothed marginals in likelihoods
_ASYMMETRIC = 1.5  # times the noise of symmetric counts
_DRAWS = 50_000  # cells at which distances to fits on halves are measured
_EXCESS = 3.0  # standard deviations of |S|^2 beyond the kept directions
_FEW_CELLS = 20  # of which it is no wonder if all counts have a common divisor
_PIECE = 1 << 16  # numbers
_HELD_OUT = 0.1  # share of the pairs that say whether to refine


@dataclass(frozen=True)
class _IsBinning:
    needed: str = "a latentia.matrices.Binning is needed"

    def allows(self, value: Any) -> bool:
        return isinstance(value, Binning)


class ProbabilityMatrix(Staged):
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
        Of ordered pairs: whether a pair that was seen has its count less a discount, and only what was given up is dealt by
        the low rank, as Kneser-Ney smoothing does it with frequencies alone. "auto" does what makes pairs more probable that
        are held out: it helps where the same pairs come again and again, as neighbouring words do.
    method : {"shrink", "binned"}, default="shrink"
        "binned" is the paper's Algorithm 1. It has not been seen to be more accurate.
    tau : float, default=0.3
        Words are scaled as if each had been seen tau N / M times more. For graphs of constant degree 0.5 is better.
    floor : float, default=0.1
        Least probability of a pair, as a multiple of that of independent words. 0 cuts negative entries.
    refine : int or "auto", default=0
        EM from the spectrum, on nonnegative factors: "auto" makes accelerated steps until they have settled, and keeps them
        only if they make pairs more probable that are held out first, a number makes that many plain ones. 0 keeps to the
        theorem, and so does "auto" for "binned". Steps take some twenty times as long as the rest; they are worth it from
        about 20 pairs for every word, where components are clear. See ``refinement_``, and *EM has settled* in the evidence.
    pseudo_counts : float, default=1
        With ``refine``: number of pseudo-pairs for every word, shared by the components and spread as the marginals.
    binning : Binning, optional
        Constants of Algorithm 1; by default ones that work, and `Binning.printed` gives the paper's.
    vocabulary : sequence of str or dict, optional
        The words, for `most_similar`.
    max_products : int, optional
        Largest number of products of the counts with a block of R + 2 vectors or some more, to find the eigenvectors; by
        default so many that there are 160 vectors, and at least 8. Clear matrices take some ten.
    n_splits : int, default=1
        With ``refine`` or "binned": number of random splits of the pairs into halves, at most 3, whose fits enter the
        expected error; each costs two fits. The error of plain "shrink" is computed from the counts and costs nothing.
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
        Eigenvalues of the scaled counts without the marginals', signed, by decreasing modulus, before shrinkage.
    edge_ : float
        Modulus up to which eigenvalues are noise.
    n_kept_ : int
        Number of eigenvalues above it. For "binned" the rank of what was found.
    components_ : ndarray of shape (n_kept_ + 1, M), mixing_ : ndarray of shape (n_kept_ + 1, n_kept_ + 1)
        With ``refine`` and directions that were kept: B = P^T W P, nonnegative. Not the topics: see `topics`.
    labels_ : ndarray of shape (M,)
        Communities: k-means of the leading vectors over their scale, computed when asked for.
    bins_ : list of int
        For "binned", where there are at least as many pairs as words: the number of words in each bin that was used.
    n_pairs_ : float
        N. Where all counts have a common divisor, pairs are taken to be copies, of which one counts.
    n_features_in_ : int
        M, the number of rows.
    evidence_ : Evidence
        Checks of the assumptions, and the expected l1 error of B, of a possible 2 (``component_errors``, shape (1,)). It is
        widened where there is more in the pairs than the rank holds, or pairs depend on each other.
    refinement_ : ndarray of shape (n_steps,)
        Log-likelihood of the pairs at every step of EM, in nats; empty where they were not refined.
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
    5. "binned": the printed constants leave out words seen less than 1e10 times; all are parameters (`Binning`), the sample is
       reused for the three steps unless ``split`` is set, and words outside all bins keep r r^T.
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

    _compared, _farthest = ("_matrix",), 2.0
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

    marginals_: Annotated[np.ndarray, of.shares("V")]
    column_marginals_: Annotated[np.ndarray, of.optional(of.shares("W"))]
    spectrum_: Annotated[np.ndarray, of.numbers("*")]
    edge_: Annotated[float, of.number(0.0)]
    n_kept_: Annotated[int, of.count()]
    n_pairs_: Annotated[float, of.number(0.0)]
    embedding_: Annotated[np.ndarray, of.numbers("V E")]
    column_embedding_: Annotated[np.ndarray, of.optional(of.numbers("W E"))]
    discounts_: Annotated[np.ndarray | None, of.optional(of.numbers("*", 0.0))]
    components_: Annotated[np.ndarray, of.optional(of.numbers("R V", 0.0))]
    mixing_: Annotated[np.ndarray, of.optional(of.numbers("R R", 0.0))]
    bins_: Annotated[list[int], of.optional(of.count())]
    refinement_: Annotated[np.ndarray, of.numbers("*")]
    evidence_: Annotated[Evidence, of.Letters({"K": "J"})]
    _matrix: _Matrix | OrderedMatrix
    _scale: Annotated[np.ndarray, of.numbers("V", 0.0)]
    _communities: _Communities

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
            C_ij: how often the pair (i, j) was seen. An adjacency matrix for communities.
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
        return self._fit(_square(C) if self.symmetric else _table(C))

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
        return self._fit(_counts(count_pairs(pairs, n_words, self.n_jobs, label)))

    def _fit(self, table: sparse.csr_array) -> ProbabilityMatrix:
        """Pairs lose their order where it does not matter, and copies of them count once."""
        if not self.symmetric:
            return self._fit_stages(_Table(table))
        counts, symmetric = symmetric_counts(table)
        asymmetry = None if symmetric else _asymmetry(table, counts)
        del table
        counts = _without_copies(counts)
        return self._fit_stages(_Table(counts, asymmetry))

    def _dealt(self, rows: _Table) -> RowGroups:
        return RowGroups(4, self._seed)

    def _moments(self, rows: _Table, dealt: RowGroups) -> _Pairs:
        """The pairs of four groups, and what those say that are held out: whether to refine, or to discount."""
        counts = rows.counts
        self._check_size(counts)
        pairs = DealtCounts(counts, dealt, self.symmetric)
        if self.symmetric:
            gain = self._gain(counts)
            return _Pairs(pairs, 0 if gain is not None and gain <= 0 else self._steps, gain)
        held_out = held_out_pairs(counts, self._settings, self.discount)
        return _Pairs(pairs, held_out=held_out, discounts=discounts_of(counts) if held_out.discounted else None)

    def _recover(self, moments: _Pairs, part: Part, whole: Any) -> _Estimate | _Ordered:
        """The shrunk spectrum of the scaled counts; of ordered pairs, of what they give up."""
        counts = moments.pairs.of(part.groups)
        if self.symmetric:
            return self._estimate(counts)
        own = None if moments.discounts is None else discounts_of(counts)  # a part may have too few pairs to tell
        return ordered_matrix(counts, self._settings, moments.discounts if own is None else own)

    def _refine(self, found: Any, moments: _Pairs, part: Part, whole: Any) -> _Estimate | _Ordered:
        """EM on nonnegative factors."""
        return self._refined(found, moments.pairs.of(part.groups), moments.steps) if moments.steps else found

    def _distance(self, one: Any, other: Any, moments: _Pairs) -> np.ndarray:
        if self.symmetric:
            return np.array([_distance(one, other, self._seed)])
        return np.array([ordered_distance(one[0], other[0], moments.pairs.counts, self._seed)])

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
            checks = _checks(_Measured(found, directions, self.n_pairs_, missing, error, parts, asymmetry, gain))
        else:
            parts = fitted.errors(max(self.n_splits, 1))
            error = 2.0 if parts.errors is None else min(float(parts.errors[0]), 2.0)
            checks = ordered_checks(found[1], directions, self.n_pairs_, error, moments.held_out) + _part_checks(parts)
        return checks, replace(parts, errors=np.array([error]))

    @property
    def _settings(self) -> OrderedSettings:
        return OrderedSettings(self.n_components, self.tau, self.floor, self._seed, self.n_jobs)

    def _check_size(self, counts: sparse.csr_array) -> None:
        """Raise for parameters that do not fit the numbers of words and pairs."""
        size, most = counts.shape[0], min(counts.shape)
        if self.n_components > most:
            these = f"{size} words carry" if self.symmetric else f"A table of {size} x {counts.shape[1]} carries"
            raise LatentiaError(f"{these} a rank of at most {most}.", parameter="n_components", value=self.n_components)
        self.n_features_in_ = size
        check_vocabulary(self)
        n_pairs = counts.sum() / 2
        if self.symmetric and n_pairs < size:
            warn(
                f"{n_pairs:.0f} pairs of {size} words: with less than one pair a word only the marginals can be found, "
                "and the matrix is that of independent words. Give more pairs, or leave rare words out.",
                EvidenceWarning,
            )

    def _estimate(self, counts: sparse.csr_array) -> _Estimate:
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
            steps = _thirds(counts, self._seed) if binning.split else [counts] * 3
            found, values, bins = binned_factors(steps, self.n_components, binning, self.n_jobs)
            least = least if binning.fill == "rank-one" else np.zeros_like(least)
            space = replace(space, n_kept=min(len(values), space.n_kept))
            return _Estimate(replace(found, least=least), space, bins=bins)
        left = np.column_stack([r, space.directions])
        core = np.diag(np.concatenate([[1.0], space.values[: space.n_kept]]))
        return _Estimate(Factored(left, core, least), space)

    def _refined(self, found: _Estimate, counts: sparse.csr_array, steps: Refine) -> _Estimate:
        """After EM on nonnegative factors, where there are directions beside the marginals."""
        left, r = found.model.left, found.space.marginals
        rank = left.shape[1]
        if not steps or rank < 2:
            return found
        start = nonnegative_start(left, found.model.core, r, r * counts.sum(), self.n_jobs)
        pseudo = 2 * self.pseudo_counts * len(r) / rank * r  # a pair has two words
        refined = refine(PairUpdate(*start, pseudo), over_pairs(counts, self.n_jobs), steps)
        components, mixing = refined.values[0], refined.values[1].reshape(rank, rank)
        return _Estimate(Factored(components.T, mixing), found.space, components, mixing, refinement=refined)

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

    def _keep(self, fitted: Fitted) -> None:
        self.n_pairs_, self.n_passes_ = float(fitted.rows.counts.sum()) / (1 + self.symmetric), 1
        if self.symmetric:
            self._keep_matrix(fitted.model)
        else:
            found, space = fitted.model
            self._keep_ordered(found, space, fitted.moments)

    def _keep_ordered(self, found: OrderedMatrix, space: ScaledPairs, moments: _Pairs) -> None:
        counts, kept = moments.pairs.counts, space.n_kept
        self.discounts_ = moments.discounts
        self._matrix, self._scale = found, space.row_scale
        self.marginals_ = found.marginals
        self.column_marginals_ = np.asarray(counts.sum(axis=0), dtype=np.float64).ravel() / self.n_pairs_
        self.spectrum_, self.edge_, self.n_kept_ = space.observed, space.edge, kept
        roots = np.sqrt(space.values[:kept])
        self.embedding_, self.column_embedding_ = space.left[:, :kept] * roots, space.right[:, :kept] * roots
        self._communities = _Communities(space.left * space.observed, found.marginals, self._seed)
        self.refinement_ = np.empty(0)

    def _keep_matrix(self, found: _Estimate) -> None:
        space = found.space
        self._matrix, self._scale = found.matrix(self.n_jobs), space.scale
        self.marginals_, self.edge_, self.spectrum_, self.n_kept_ = (
            space.marginals, space.edge, space.observed, space.n_kept,
        )  # fmt: skip
        points = space.vectors * np.abs(space.observed)
        self._communities = _Communities(points, space.marginals, self._seed)
        self.embedding_ = space.vectors[:, : space.n_kept] * np.sqrt(np.abs(space.values[: space.n_kept]))
        self.refinement_ = found.refinement.log_likelihood
        if found.components is not None and found.mixing is not None:
            self.components_, self.mixing_ = found.components, found.mixing
        if found.bins is not None:
            self.bins_ = found.bins

    def _expected_error(self, found: _Estimate, missing: float, parts: PartErrors, counts: sparse.csr_array) -> float:
        """What the counts say, and the distance to fits on halves of them where there are such."""
        error = expected_error(found.space, missing, self.n_pairs_, self._seed)
        if excess(found.space) > _EXCESS:
            # What is missing is spread over all cells at most; halves agree on some of it at least.
            least = persistent_excess(counts, found.model.entries, _sum(found, self._seed), self._seed)
            error = float(np.hypot(expected_error(found.space, 0.0, self.n_pairs_, self._seed), np.sqrt(least * error)))
        else:
            error *= dependence(found.space, self.n_pairs_)
        error = min(error, 2.0)
        if parts.errors is None:
            return error
        halves = float(parts.errors[0])
        return max(error, halves) if self.method == "binned" else max(halves, 0.9 * error)

    # --- the matrix ---------------------------------------------------------------------------------------------

    @fitted
    def entries(self, i: Any, j: Any) -> np.ndarray:
        """Return probabilities of the pairs (i, j), of the broadcast shape of the two arrays of words.

        Parameters
        ----------
        i : int or array-like of int
            First words of the pairs.
        j : int or array-like of int
            Second words of the pairs.

        Returns
        -------
        ndarray of the broadcast shape of i and j

        Raises
        ------
        LatentiaError
            If there is no such word.
        """
        i, j = self._words(i), self._words(j, columns=True)
        try:
            np.broadcast_shapes(i.shape, j.shape)
        except ValueError:
            raise LatentiaError(
                f"i has the shape {i.shape} and j {j.shape}: equally many words are needed, or shapes that broadcast."
            ) from None
        return self._matrix.entries(i, j)

    @fitted
    def rows(self, i: Any) -> np.ndarray:
        """Return rows of B, shape (M,) for one word and (n, M) for n: nonnegative, and all rows together sum to one.

        The first call makes a pass over the M x M matrix in tiles, to find its sum.

        Parameters
        ----------
        i : int or array-like of int
            Words.

        Returns
        -------
        ndarray of shape (M,) or (n, M)

        Raises
        ------
        LatentiaError
            If there is no such word, or if so many rows do not fit an array.
        """
        words = np.arange(self.n_features_in_)[i] if isinstance(i, slice) else self._words(i)
        if words.ndim > 1:
            raise LatentiaError(f"Words have the shape {words.shape}: one word, or a list of them, is needed.")
        if words.size * self._n_columns > _MOST_ENTRIES:
            raise LatentiaError(
                f"{words.size} rows of {self._n_columns} entries do not fit an array: ask for some rows at a time, or for "
                "entries."
            )
        found = self._matrix.factored.rows(np.atleast_1d(words)) * self._matrix.scale
        return found[0] if words.ndim == 0 else found

    @fitted
    def conditional(self, i: Any) -> np.ndarray:
        """Return probabilities of the other word of a pair given one, shape (M,) or (n, M); rows sum to one.

        Parameters
        ----------
        i : int or array-like of int
            The given words.

        Returns
        -------
        ndarray of shape (M,) or (n, M)
        """
        rows = np.atleast_2d(self.rows(i))
        sums = rows.sum(axis=1, keepdims=True)
        alone = self.marginals_ if self.symmetric else self.column_marginals_
        found = np.where(sums > 0, rows / np.where(sums > 0, sums, 1.0), alone)
        return found[0] if np.ndim(i) == 0 and not isinstance(i, slice) else found

    @fitted
    def l1_distance(self, other: Any) -> float:
        """Return sum_ij |B_ij - B'_ij|, of a possible 2, in one pass over tiles.

        Parameters
        ----------
        other : ProbabilityMatrix, array of shape (M, M), or anything with ``size`` and ``rows(slice, columns)``
            Such as a planted truth.

        Returns
        -------
        float
        """
        own, scale = self._matrix, 1.0
        if isinstance(other, ProbabilityMatrix):
            check_is_fitted(other)
            other, scale = other._matrix.factored, other._matrix.scale
        elif not hasattr(other, "rows"):
            table = np.asarray(other.toarray() if sparse.issparse(other) else other, dtype=np.float64)
            if table.ndim != 2 or (self.symmetric and table.shape[0] != table.shape[1]):
                raise LatentiaError(f"other has the shape {table.shape}: a square array is needed.")
            other = _Dense(table)
        width = getattr(other, "width", other.size)
        if (other.size, width) != (own.factored.size, self._n_columns):
            raise LatentiaError(
                f"The matrices have {own.factored.size} and {other.size} words, {self._n_columns} and {width} columns: they "
                "must agree."
            )
        return total_distance(own.factored, other, (own.scale, scale), self.n_jobs)

    @fitted
    def score(self, C: Any, y: Any = None) -> float:
        """Return the mean log-likelihood of a pair of held-out counts (M, M) in nats; higher is better.

        B is mixed with 1% of the product of smoothed marginals, so that nothing is impossible.

        Parameters
        ----------
        C : sparse matrix or array-like of shape (M, M)
            Counts of pairs on the same words.
        y : ignored

        Returns
        -------
        float

        Raises
        ------
        LatentiaError
            If C has another size than the data of the fit.
        """
        counts = _square(C) if self.symmetric else _table(C)
        if counts.shape != (self.n_features_in_, self._n_columns):
            asked = f"{self.n_features_in_}" if self.symmetric else f"{self.n_features_in_} x {self._n_columns}"
            found = f"{counts.shape[0]}" if self.symmetric else f"{counts.shape[0]} x {counts.shape[1]}"
            raise LatentiaError(f"The counts have {found} words and the model {asked}.")
        return self._matrix.log_likelihood(counts, self.marginals_)

    @fitted
    def sample(self, n_samples: int = 1, random_state: Any = 0) -> np.ndarray:
        """Draw pairs, shape (n_samples, 2).

        Parameters
        ----------
        n_samples : int, default=1
            How many to draw.
        random_state : int, RandomState or Generator, default=0
            Seed of the draws.

        Returns
        -------
        ndarray of int, shape (n_samples, 2)
        """
        n_samples, rng = check_size(n_samples), np.random.default_rng(seed_of(random_state))
        sums = self._matrix.row_sums()
        if not sums.any():
            raise LatentiaError("The matrix is zero: no bin was used. Lower first_bin.")
        firsts, n = np.unique(np.searchsorted(np.cumsum(sums / sums.sum()), rng.random(n_samples)), return_counts=True)
        firsts = np.minimum(firsts, len(sums) - 1)
        seconds = []
        step = max(1, (1 << 22) // self._n_columns)
        for start in range(0, len(firsts), step):
            cumulated = np.cumsum(np.maximum(self._matrix.factored.rows(firsts[start : start + step]), 0), axis=1)
            for row, times in zip(cumulated, n[start : start + step], strict=True):
                seconds.append(np.searchsorted(row, rng.random(times) * row[-1], side="right"))
        pairs = np.column_stack([np.repeat(firsts, n), np.minimum(np.concatenate(seconds), self._n_columns - 1)])
        return rng.permutation(pairs)

    # --- read-offs ----------------------------------------------------------------------------------------------

    @fitted
    def most_similar(self, word: Any, n: int = 10, *, min_count: int = 50) -> list[tuple[Any, float]]:
        """Return words whose embeddings have the largest cosine with that of ``word``, and the cosines, in order.

        Parameters
        ----------
        word : int or str
            A number, or a word of the vocabulary.
        n : int
            Number of words.
        min_count : int
            Least number of times that a word was seen in pairs to be listed; embeddings of rarer words are mostly noise.

        Returns
        -------
        list of (word, cosine)

        Raises
        ------
        LatentiaError
            If the word is not in the vocabulary.
        """
        n = check_size(n, "n")
        check_parameter("min_count", min_count, Number(0, closed="low"))
        names = column_names(self)
        if isinstance(word, str):
            if names is None or word not in list(names):
                raise LatentiaError(f"{word!r} is not in the vocabulary" + (", which was not given." * (names is None)))
            word = list(names).index(word)
        words = self._words(word)
        if words.ndim:
            raise LatentiaError(f"word has the shape {words.shape}: the neighbours of one word are found at a time.")
        at = int(words)
        norms = np.linalg.norm(self.embedding_, axis=1)
        if not self.n_kept_ or norms[at] == 0:
            raise LatentiaError(f"Word {word} has no embedding: it was not seen, or the matrix has rank one.")
        cosines = self.embedding_ @ self.embedding_[at] / np.where(norms > 0, norms * norms[at], np.inf)
        cosines[(1 + self.symmetric) * self.n_pairs_ * self.marginals_ < min_count] = -np.inf
        cosines[at] = -np.inf
        n = min(n, len(cosines))
        best = np.flatnonzero(cosines >= np.partition(cosines, -n)[-n])
        best = best[np.argsort(-cosines[best], kind="stable")][:n]
        best = best[np.isfinite(cosines[best])]
        return [(int(k) if names is None else names[k], float(cosines[k])) for k in best]

    @property
    @fitted
    def labels_(self) -> np.ndarray:
        """Communities: R clusters by k-means of the R - 1 leading vectors, shape (M,).

        Rows of the vectors, times their eigenvalues, have unit length, so that clusters do not go by frequency or degree; two
        communities are told by sign. Directions below the edge are used too; whether they stand for anything is for
        ``evidence_`` to say. `communities` is better for graphs.
        """
        return self._communities.labels

    @fitted
    def communities(self, C: Any, *, resolution: float | None = None) -> np.ndarray:
        """Return ``labels_`` after moves of single nodes along the edges of the graph.

        A node goes to the community into which more of its edges lead than by chance, given all degrees, until none moves;
        the number of communities stays. It is the better answer for graphs, and needs the edges once more.

        Parameters
        ----------
        C : sparse matrix or array-like of shape (M, M)
            The counts or the adjacency matrix that the model was fitted on.
        resolution : float, optional
            How much chance counts: 1 for modularity, more for smaller communities. By default that of the likeliest
            degree-corrected block model.

        Returns
        -------
        ndarray of int, shape (M,)

        Raises
        ------
        LatentiaError
            If C has another size than the data of the fit, or the pairs are ordered.

        References
        ----------
        M. Newman, Equivalence between modularity optimization and maximum likelihood methods for community detection, Phys.
        Rev. E 94 (2016).
        """
        check_parameter("resolution", resolution, OrNone(Number(0)))
        if not self.symmetric:
            raise LatentiaError("Communities are those of pairs without order.", parameter="symmetric", value=False)
        counts, _ = symmetric_counts(_square(C))
        if counts.shape[0] != self.n_features_in_:
            raise LatentiaError(f"The counts have {counts.shape[0]} words and the model {self.n_features_in_}.")
        start, n_clusters = self._communities, min(self.n_components, self.n_features_in_)
        if start.points.shape[1] + 1 < n_clusters:  # fewer pairs than words, of which the matrix keeps no directions
            space = scaled_eigenspace(
                counts, n_clusters - 1, tau=self.tau, calibrate=False, random_state=self._seed, n_jobs=self.n_jobs
            )
            start = _Communities(space.vectors * np.abs(space.observed), self.marginals_, self._seed)
        return moved_labels(counts, start.labels, n_clusters, resolution)

    @fitted
    def topics(self, triples: Any = None, *, anchors: Any = None, min_count: int = 20) -> PairTopics:
        """Return the parameters of a topic model B = P^T W P: from documents of three words, or else from anchor words.

        Parameters
        ----------
        triples : array-like of int, shape (n, 3), optional
            Documents of three words each, all of one topic. W is then diagonal.
        anchors : array-like of int, shape (R,), optional
            A word for each topic that occurs in no other; by default they are searched for among the words that were seen
            at least ``min_count`` times.
        min_count : int, default=20
            Least number of times that a word was seen to be an anchor.

        Returns
        -------
        PairTopics
        """
        if not self.symmetric:
            raise LatentiaError("Topics are read off pairs without order.", parameter="symmetric", value=False)
        spectral = self._spectral()
        rank = spectral.left.shape[1]
        if rank < self.n_components:
            raise LatentiaError(
                f"{rank} directions are above the noise, which carry at most {rank} topics.",
                parameter="n_components", value=self.n_components,
            )  # fmt: skip
        if triples is not None:
            if (np.diag(spectral.core) <= 0).any():
                raise LatentiaError("B has a negative eigenvalue: it is not that of topics with independent words.")
            return topics_from_triples(spectral, self.marginals_, triples, self._seed)
        least = min_count / (2 * self.n_pairs_)
        return topics_from_anchors(spectral, self.marginals_, self.n_components, anchors, least, self.n_jobs)

    # --- helpers ------------------------------------------------------------------------------------------------

    def _spectral(self) -> Factored:
        """r r^T and the kept directions, without floor."""
        values = np.sign(self.spectrum_) * np.sqrt(np.maximum(self.spectrum_**2 - self.edge_**2, 0))
        kept = values[: self.n_kept_]
        directions = self.embedding_ / np.sqrt(np.abs(kept)) * np.sqrt(self._scale)[:, None]
        return Factored(np.column_stack([self.marginals_, directions]), np.diag(np.concatenate([[1.0], kept])))

    @property
    def _n_columns(self) -> int:
        return self.n_features_in_ if self.symmetric else len(self.column_marginals_)

    def _words(self, i: Any, columns: bool = False) -> np.ndarray:
        words, size = np.asarray(i), self._n_columns if columns else self.n_features_in_
        words = words.astype(np.int64) if not words.size else words
        if words.dtype.kind not in "iu" or (words.size and (words.min() < 0 or words.max() >= size)):
            raise LatentiaError(f"Words are whole numbers from 0 to {size - 1}.")
        return words

    def _distances(self, other: ProbabilityMatrix) -> np.ndarray:
        own, others = self._matrix, other._matrix
        return np.array([total_distance(own.factored, others.factored, (own.scale, others.scale))])

    def _halves(self, X: Any, random_state: int, **fit_parameters: Any) -> list[dict[str, Any]]:
        """Arguments of `fit` for two halves of the pairs."""
        if not self.symmetric:
            return [{"C": half, **fit_parameters} for half in split_counts(_table(X), False, random_state)]
        table = _square(X)
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

    def _check_fitted(self) -> None:
        if type(self._matrix) is not (_Matrix if self.symmetric else OrderedMatrix):
            raise LatentiaError("_matrix is not that of pairs with or without order")
        if isinstance(self._matrix, OrderedMatrix):
            if not {"column_marginals_", "column_embedding_"} <= vars(self).keys():
                raise LatentiaError("column_marginals_ is missing")
            self._matrix.check()
            return
        factored = self._matrix.factored
        if factored.least is not None:  # whose products no entry is below
            return
        if not hasattr(self, "components_") or not hasattr(self, "mixing_"):
            raise LatentiaError("_matrix.factored.least is missing")
        if not np.array_equal(factored.left, self.components_.T) or not np.array_equal(factored.core, self.mixing_):
            raise LatentiaError("_matrix.factored is not that of components_ and mixing_")


# --- the fitted matrix --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Matrix:
    """B in factors up to a scale, which is found when it is first needed: that takes a pass over all entries."""

    factored: Factored
    sums_to_one: bool
    n_jobs: Annotated[int | None, of.Field(types=("int64", "int32"))]

    @cached_property
    def scale(self) -> float:
        """What brings the sum of all entries to one."""
        total = 1.0 if self.sums_to_one else float(self.row_sums().sum())
        return 1 / total if total > 0 else 1.0

    def row_sums(self) -> np.ndarray:
        return np.maximum(self.factored.row_sums(self.n_jobs), 0)

    def entries(self, i: Any, j: Any) -> np.ndarray:
        return self.factored.entries(i, j) * self.scale

    def log_likelihood(self, counts: sparse.csr_array, marginals: np.ndarray) -> float:
        """Mean logarithm of the probability of a pair, mixed with a little of the product of smoothed marginals."""
        cells, size = counts.tocoo(), len(marginals)
        i, j = cells.coords
        smooth = (marginals + 0.3 / size) / 1.3
        total = 0.0
        for start in range(0, cells.nnz, 1 << 20):
            part = slice(start, start + (1 << 20))
            chance = (1 - _SMOOTHING) * self.entries(i[part], j[part]) + _SMOOTHING * smooth[i[part]] * smooth[j[part]]
            total += float(cells.data[part] @ np.log(chance))
        return total / float(cells.sum())


@dataclass(frozen=True)
class _Communities:
    """Clusters of words, found when they are first asked for.

    Attributes
    ----------
    points : ndarray of shape (M, R - 1)
    marginals : ndarray of shape (M,)
        Weights of the words; those of weight 0 are not looked at.
    seed : int
    """

    points: Annotated[np.ndarray, of.numbers("V P")]
    marginals: Annotated[np.ndarray, of.shares("V")]
    seed: Annotated[int, of.count()]

    @cached_property
    def labels(self) -> np.ndarray:
        """The cluster of every word, shape (M,)."""
        points, seen = self.points, self.marginals > 0
        if not points.shape[1]:
            return np.zeros(len(points), np.int64)
        if points.shape[1] == 1:
            return (points[:, 0] > 0).astype(np.int64)
        points = unit_rows(points)
        clusters = KMeans(min(points.shape[1] + 1, int(seen.sum())), n_init=10, random_state=self.seed)
        clusters.fit(points[seen], sample_weight=self.marginals[seen])
        return clusters.predict(points).astype(np.int64)


# --- estimates ----------------------------------------------------------------------------------------------------


_Ordered: TypeAlias = tuple[OrderedMatrix, ScaledPairs]


@dataclass(frozen=True)
class _Table:
    """Counts of pairs, and how much more asymmetric they were than noise is, if they were."""

    counts: sparse.csr_array
    asymmetry: float | None = None


@dataclass(frozen=True)
class _Pairs:
    """Pairs of four groups; steps of refining, and the gain of it; whether to discount, and by how much."""

    pairs: DealtCounts
    steps: Refine = 0
    gain: float | None = None
    held_out: HeldOut | None = None
    discounts: np.ndarray | None = None


@dataclass(frozen=True)
class _Estimate:
    """B in factors, and what else there is: P (R, M), W (R, R) and the refinement of refined ones, and the sizes of bins."""

    model: Factored
    space: ScaledSpace
    components: np.ndarray | None = None
    mixing: np.ndarray | None = None
    bins: list[int] | None = None
    refinement: Refinement = field(default_factory=Refinement.none)

    def matrix(self, n_jobs: int | None) -> _Matrix:
        return _Matrix(self.model, self.components is not None, n_jobs)


def _sum(found: _Estimate, seed: int) -> float:
    """Sum of all entries of a matrix, from some cells."""
    i, j, weight = _cells(found, seed)
    return float((found.model.entries(i, j) * weight).mean())


def _cells(found: _Estimate, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cells drawn by the words' frequencies, and one over the chance of each."""
    rng = np.random.default_rng(seed)
    chance = found.space.scale / found.space.scale.sum()
    i, j = rng.choice(len(chance), (2, _DRAWS), p=chance)
    return i, j, 1 / (chance[i] * chance[j])


def _distance(found: _Estimate, part: _Estimate, seed: int) -> float:
    """l1 distance of two matrices, from some cells."""
    i, j, weight = _cells(found, seed)
    apart = np.abs(_scaled(found.model.entries(i, j), weight) - _scaled(part.model.entries(i, j), weight))
    return float((apart * weight).mean())


def _scaled(entries: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Entries of a matrix drawn with chance 1 / weight, divided by their estimated sum."""
    total = float((entries * weight).mean())
    return entries / total if total > 0 else entries


def _thirds(counts: Any, random_state: int) -> list[Any]:
    """Three parts of the pairs."""
    first, rest = split_counts(counts, True, random_state, 1 / 3)
    return [first, *split_counts(rest, True, random_state + 1)]


# --- evidence -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Measured:
    """What the fit knows about itself.

    Attributes
    ----------
    found : _Estimate
    directions : int
        R - 1, as asked for.
    n_pairs : float
    missing : float
        Squared norm of what the kept directions leave of S.
    error : float
        Expected l1 error.
    parts : PartErrors
    asymmetry : float or None
        None for symmetric counts.
    gain : float or None
        Nats a held-out pair that refining gives; None where that was not asked.
    """

    found: _Estimate
    directions: int
    n_pairs: float
    missing: float
    error: float
    parts: PartErrors
    asymmetry: float | None
    gain: float | None

    @property
    def space(self) -> ScaledSpace:
        return self.found.space


def _checks(m: _Measured) -> list[Check]:
    space, size = m.space, len(m.space.marginals)
    signal, kept = (float(np.sqrt((space.signal**2).sum() + more)) for more in (m.missing, 0.0))
    limit = min(max(_BETTER * kept, 0.02), _TRUSTED)
    lines = [
        Check(
            "expected error", "|B - B'|_1", m.error, at_most(limit),
            "Expected l1 error, of a possible 2. That of independent words is about 0.8 |S|_F, of the directions that were "
            "kept; above 1 most of the probability is on wrong pairs.", "Theorem 1.1", "verdict",
            "It is hardly better than independence: more pairs are needed, or a lower rank.",
        ),
        Check(
            "directions kept", "|lambda_k| > e", float(space.n_kept), equal_to(m.directions),
            f"Eigenvalues above the edge of the noise at {space.edge:.2g}. The others are dropped: if they are fewer than "
            "n_components - 1, part of B is missing, or has a lower rank.", "section 2",
        ),
        Check(
            "signal", "|S|_F", signal, above(space.edge / 2, "e / 2"),
            "Norm of what words tell of each other; a direction with less than e / 2 cannot be seen.", "section 1.2.2",
            "verdict" if m.directions else "note",
        ),
        Check(
            "pairs per word", "N / M", m.n_pairs / size, at_least(1),
            "The sample size of the theorem is of the order of M.", "Theorem 1.5", "verdict",
        ),
    ]  # fmt: skip
    if m.directions and not space.n_kept:
        meaning = "Words beside their frequencies tell nothing of each other: the matrix is that of independent words."
        lines.append(Check("structure", "|lambda_1| > e", 0.0, at_least(1), meaning, "section 2", "veto"))
    return [*lines, *_further(m), *_refining_checks(m), *_other_checks(m), *_part_checks(m.parts)]


def _further(m: _Measured) -> list[Check]:
    if not m.space.beyond:
        return []
    return [
        Check(
            "goodness of fit", "|lambda_R| / e", m.space.beyond / m.space.plain_edge,
            at_most(noise_limit(int((m.space.marginals > 0).sum())), "1 for noise"),
            "The eigenvalue after those that were asked for, beside the edge of the noise of independent pairs. Above the "
            "limit the rank does not hold all structure, or pairs depend on each other, and errors are widened by it.",
            "section 1.2.2", "caution",
            "There is more in the pairs than this rank, or they are not independent, such as all pairs of some documents: "
            "compare with a higher rank, or take fewer pairs of each document.",
        )
    ]  # fmt: skip


def _refining_checks(m: _Measured) -> list[Check]:
    lines = settled_checks(m.found.refinement)
    if m.gain is not None:
        meaning = "How much more probable refining makes pairs that are held out, one in ten. The matrix is refined if it does."
        lines.append(Check("held-out pairs", "nats a pair", m.gain, above(0), meaning, "not in the paper"))
    return lines


def _other_checks(m: _Measured) -> list[Check]:
    unseen, negative = int((m.space.marginals == 0).sum()), float((m.space.values < 0).sum())
    lines = [
        Check("unseen words", "r_i = 0", float(unseen), None, "Their rows are zero.", "section 2"),
        Check(
            "negative eigenvalues", "lambda_k < 0", negative, equal_to(0),
            "The theorem asks for a positive semidefinite mixing matrix; this estimator keeps them.", "Theorem 1.1",
        ),
    ]  # fmt: skip
    if m.asymmetry is not None:
        lines.append(
            Check(
                "asymmetry", "sum (c_ij - c_ji)^2 / sum (c_ij + c_ji)", m.asymmetry, at_most(_ASYMMETRIC),
                "1 for pairs without order. Above, the order of the words matters, and the model leaves it out.", "section 1.1",
            )
        )  # fmt: skip
    return lines


def _part_checks(parts: PartErrors) -> list[Check]:
    lines, source = [], "parts of the data"
    if parts.errors is not None:
        meaning = "l1 distance to fits on halves of the pairs, which does not see what all of them miss."
        lines.append(Check("distance to halves", "|B - B_half|_1", float(parts.errors[0]), None, meaning, source))
    if parts.n_failed:
        made, needed = (
            float(parts.n_parts - parts.n_failed),
            at_least(-(-3 * parts.n_parts // 4), f"of {parts.n_parts}"),
        )
        lines.append(Check("parts fitted", "halves, three quarters", made, needed, parts.reason, source, "verdict"))
    return lines


# --- counts -------------------------------------------------------------------------------------------------------


class _Dense:
    """An array as `total_distance` reads it."""

    def __init__(self, table: np.ndarray) -> None:
        self.table, (self.size, self.width) = table, table.shape

    def rows(self, i: Any, columns: slice = slice(None)) -> np.ndarray:
        return self.table[i, columns]


def _square(C: Any) -> sparse.csr_array:
    """Counts of pairs of the same words as csr_array, checked."""
    table = _table(C)
    if table.shape[0] != table.shape[1]:
        raise LatentiaError(
            f"The counts have shape {table.shape}: a square table is needed, with the same words in rows and columns. For "
            "pairs of two kinds, or in which order matters, set symmetric=False."
        )
    return table


def _table(C: Any) -> sparse.csr_array:
    """Counts as csr_array, checked."""
    C = C.table() if isinstance(C, Blocks) else number_table(C, "C", dtype="numeric")
    return _counts(sparse.csr_array(C))


def _counts(table: sparse.csr_array) -> sparse.csr_array:
    _check_entries(table, np.isfinite(table.data), "NaN and infinite entries must be dropped or imputed")
    _check_entries(table, table.data >= 0, "counts must not be negative")
    in_range = (table.data == 0) | ((table.data >= 1e-15) & (table.data <= 1e15))
    _check_entries(table, in_range, "counts from 1e-15 to 1e15 are needed, whose products are in range")
    if not table.nnz or not table.sum() > 0:
        raise LatentiaError("There are no pairs: all counts are zero.")
    if table.dtype.kind == "f" and not (np.rint(table.data) == table.data).all():
        warn("The counts are not whole numbers; noise is taken to be that of counts.", NonIntegerCountWarning)
    return table if table.dtype.kind in "fi" and table.dtype.itemsize >= 4 else table.astype(np.float64)


def _without_copies(counts: sparse.csr_array) -> sparse.csr_array:
    """C + C^T of pairs of which each is there once, where all counts have a common divisor."""
    data = counts.data
    if counts.nnz < _FEW_CELLS or data.min() < 2 or (np.rint(data) != data).any():
        return counts
    cells = counts.tocoo()
    whole = np.rint(cells.data).astype(np.int64)
    times = int(
        np.gcd.reduce(np.where(cells.coords[0] == cells.coords[1], whole // 2, whole))
    )  # pairs i, i are there twice
    if times < 2:
        return counts
    return sparse.csr_array((data // times, counts.indices, counts.indptr), shape=counts.shape)


def _check_entries(table: sparse.csr_array, good: np.ndarray, needed: str) -> None:
    """Raise for the first entry that is not good."""
    if good.all():
        return
    at = int(np.argmin(good))
    row = int(np.searchsorted(table.indptr, at, side="right")) - 1
    raise LatentiaError(f"The counts have {table.data[at]} in row {row}, column {table.indices[at]}: {needed}.")


def _asymmetry(table: Any, counts: Any) -> float:
    """sum (c_ij - c_ji)^2 / sum (c_ij + c_ji) outside of the diagonal, from C and C + C^T."""
    squares = [_sum_of_squares(each.data) for each in (table, counts)]
    outside = float(counts.sum()) - 2 * float(table.diagonal().sum())
    return (4 * squares[0] - squares[1]) / outside if outside > 0 else 0.0


def _sum_of_squares(data: np.ndarray) -> float:
    """Of numbers of any type, without a copy of them all as floats."""
    pieces = (data[start : start + _PIECE].astype(np.float64) for start in range(0, len(data), _PIECE))
    return sum(float(piece @ piece) for piece in pieces)
