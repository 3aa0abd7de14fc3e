"""Hidden Markov models by tensor decomposition.

Model. A chain of K states starts in state i with probability pi_i and moves from i to j with probability T_ij. In
state i it shows the symbol x with probability O_ix, a vector with mean O_i and independent Gaussian features, or
independent Poisson counts with means O_i. Given the state of step t + 1, the steps t, t + 1 and t + 2 are independent
views, and the means of the middle one are the rows of O.

Source: R. Ge, Provable Algorithms for Machine Learning Problems, thesis, Princeton 2013, section 7.3.3, Proposition
7.6.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from .. import _fields as of
from .._parameters import Anything, Choice, Integer, NComponents, OrNone, Seed, seed_of
from .._validation import finite_blocks
from ..evidence import (
    Check,
    ComponentView,
    PartErrors,
    TensorMeasured,
    ViewMisfits,
    above,
    at_most,
    convergence_checks,
    count_parameters,
    tensor_checks,
    trivial_checks,
)
from ..exceptions import LatentiaError, LatentiaWarning, warn
from ..fitting.base import check_size, fitted, fitting
from ..fitting.stages import Fitted, Subset
from ..likelihood import Refine, Refinement, converge, estimate_values, over, race, race_updates, refine
from ..likelihood.gaussian import check_covariances
from ..moments import (
    ColumnMoments,
    ColumnSpan,
    CommonFrame,
    Coordinates,
    CountSums,
    ViewMoments,
    ViewSums,
    column_moments,
    common_frame,
    fill_missing,
    frame_noise,
    means_given_middle,
    observed_columns,
    residual_across_views,
    residual_within_views,
    span_of,
    tensor_residual,
)
from ..passes import Block, Blocks, Folds, accumulate, deal_sequences
from ..simplex import distributions, simplex_least_squares
from ..tensor import Decomposition, decompose
from ._chain import SEQUENCES_PER_STATE, Chain, stationary
from ._classes import chain_of_classes
from ._counts import Counts
from ._emissions import Covariance, Emissions, Scaling, Symbols, Vectors, chances_of_unseen, with_unseen
from ._kept import AdditiveSequences, by_content, check_symbols, lengths_of, view_sums, views_of_sums
from ._lags import lagged_coordinates, leading_coordinates, means_of_neighbours, past_and_future
from ._methods import ChainMethods
from ._one_more import one_state_more
from ._start import given_chain
from ._steps import (
    alphabet,
    first_block,
    from_first,
    has_symbols,
    joined_sequences,
    kept,
    long_enough,
    observed,
    present,
    sequence_blocks,
    some_stretches,
    stretches,
)
from .recursions import forward_backward, log_likelihood

_OVERSAMPLE = 12
_MOST_SYMBOLS = 100  # of which counts are kept
_FEW = 10  # E-steps in which starts race, and all that are made from classes of symbols
_PIECE = 200  # steps of a stretch of which the likelihood is one number
_TRIED, _TRIED_AT_ONCE = 10_000, 1000  # steps whose likelihood is compared, and those of a stretch
_MOST_CHANGE = 3.0  # of the expected error, in the course of the data
_MOST_GAIN = 0.65  # nats for each parameter of a state more
_LEAST_OF_HALF = 0.1  # of a state's steps, for comparing both halves
_LEAST_SINGULAR = 1e-3  # of the transition matrix


class SpectralHMM(ChainMethods, AdditiveSequences):
    """Hidden Markov model of symbols, vectors or counts, fitted by tensor decomposition.

    The fit is deterministic, makes some passes over the data, and gives an expected error for every state.

    Choose it for sequences where Baum-Welch from random starts gives another answer each time. It needs some thousands of
    steps, and states that are each visited. The moments need emissions that are linearly independent (for vectors: means that
    are affinely independent, so at least K - 1 features), and a transition matrix of full rank: states that are told apart by
    their neighbours as well as by themselves. Where vectors or counts lack this, EM starts from clusters alone, and the
    evidence lacks the lines on moments.

    Parameters
    ----------
    n_components : int, "auto" or several, default=4
        Number of states K.
        A range or list tries each value and keeps the one the evidence recommends; "auto" tries 2 to 100. See
        ``n_components_``, ``recommendation_`` and ``comparison_``. Each number costs a fit.
    kind : {"auto", "symbols", "vectors", "counts"}, default="auto"
        What the steps are. "auto" takes strings and a single column of integers as symbols, all else as vectors, and refuses
        a column of whole numbers with gaps, which may be either. "counts" are whole numbers in one or more columns, Poisson
        and independent given the state.
    n_symbols : int, optional
        Size of the alphabet, where integers stand for symbols; by default one more than the largest.
    refine : int or "auto", default="auto"
        EM (Baum-Welch) from the moments: "auto" makes accelerated steps until they converge, a number that many plain
        ones, each a pass over the data. 0 keeps to the theorem. Expected errors of a refined chain hold half of the data in
        memory. See ``refinement_``, and *EM has converged* in the evidence.
    covariance_type : {"diag", "full", "tied"}, default="diag"
        Of vectors: whether features are independent given the state, each state has a covariance matrix, or all states share
        one. EM (plain steps, until they converge) learns matrices after the moments, which take features as independent.
    init : dict or fitted chain, optional
        Where EM starts, instead of the moments: ``startprob`` (K,), ``transmat`` (K, K) and ``emissionprob`` (K, S) or
        ``means`` (K, D) and, of vectors, if wanted, ``variances`` (K, D); or a fitted model with these attributes.
        Probabilities of zero stay zero, so that a chain can be made to go from left to right only. The evidence still needs
        the moments.
    n_splits : int, default=3
        Number of splits of the steps into halves, at most 3, whose fits give the expected errors. They cost no pass over
        the data; with ``refine`` a single split is used, which costs as much as refining. With 0 no errors are measured.
    keep_moments : bool, default=False
        Whether to keep counts of what comes before and after each of at most 100 symbols, so that sequences can be added
        (`partial_fit`), taken away (`forget`), and models merged (`latentia.merge`): 32 S (2 S + 1)^2 bytes, 132 MB at most. Of
        vectors there are no such counts. The answer is then the theorem's.
    random_state : int, default=0
        Seed of the starts and splits. None or a RandomState draws a seed.
    n_jobs : int, optional
        Number of threads. Results are bitwise identical for any value.
    verbose : bool or int, default=False
        Whether to show progress and the remaining time.

    Attributes
    ----------
    startprob_ : ndarray of shape (K,)
        Distribution of the first state. With fewer than ten sequences per state, EM starts it from that of any step.
    transmat_ : ndarray of shape (K, K)
        Row i says where state i moves; rows sum to one.
    emissionprob_ : ndarray of shape (K, S)
        Symbol probabilities of the states, for symbols; rows sum to one.
    means_, variances_ : ndarray of shape (K, D)
        Means and variances of the features in each state, for vectors. For counts both are the rates.
    covariances_ : ndarray of shape (K, D, D), or (D, D) if tied
        With ``covariance_type`` "full" or "tied" alone.
    weights_ : ndarray of shape (K,)
        Shares of the steps in each state, in decreasing order: those in the long run, or, with ten sequences per state or
        more, those of sequences as long as these, which differ where a state is never left.
    stationary_ : ndarray of shape (K,)
        Shares in the long run.
    start_ : {"moments", "classes", "clusters", "init"}
        What EM started from.
    symbols_ : ndarray of shape (S,)
        The symbols: column x of ``emissionprob_`` belongs to ``symbols_[x]``.
    unseen_ : ndarray of shape (K,)
        Probability that a state shows one of the symbols that are not in the fitted data, where ``n_symbols`` allows for
        such: by leaving one step out. `score`, `predict` and all that reads new sequences use it; ``emissionprob_`` is as
        fitted.
    moments_ : Sums
        What is kept: ``moments_.n_bytes`` is its size, ``moments_.n_rows`` the number of rows.
    evidence_ : Evidence
        Checks of the assumptions, and the expected error of each state (``component_errors``): for symbols the l1 distance
        of its distribution (0 to 2); else the l2 distance of its mean in standard deviations of the features. They
        are widened where the fit leaves more of the moments than noise is.
    refinement_ : ndarray of shape (n_steps,)
        Log-likelihood of the data at every step of EM, in nats: its history.
    n_iter_ : int
        Number of steps of refinement.
    converged_ : bool
        Whether further steps would gain only a negligible amount; only ``refine="auto"`` looks at that.
    n_passes_ : int
        Number of passes over the data, those for the expected errors not counted.

    Notes
    -----
    Differences from the thesis:

    1. Its transition matrix is column-stochastic; ``transmat_`` is row-stochastic.
    2. The three views are symmetrised together and reduced to K dimensions by their cross moments (see
       `latentia.moments`): emissions need not be square. For vectors a constant is appended.
    3. Transitions come from E[x_t x_t+1^T] = O^T J O with the joint distribution J of two states, where the thesis
       reads them off the third view's means; negative entries are cut.
    4. With more than 2 (K + 12) symbols the moments are taken in the K + 12 leading directions in which steps depend
       on their neighbours, symbols being weighted by the fourth root of their inverse frequency: by the root, as for
       documents, rare ones drown the others in noise. It takes eight passes.
    5. All steps of a sequence are used, as if it were stationary; the thesis takes the first three of many sequences.
    6. For vectors, variances of features come from E[x^2 | state], as the means do.
    7. ``refine`` is Baum-Welch with 0.01 pseudo-counts. It starts from distributions mixed with 1% of the symbols'
       frequencies (and of the states', for transitions), so that nothing is impossible.
    8. With more than 2 (K + 12) symbols a second start competes with the moments': classes of symbols that are learned from
       their neighbours, as in text. Both take ten steps, and the likelier one goes on; from classes "auto" stops there,
       since on text later steps gain little on new sentences and make states fit the parts of speech less.
    9. Of vectors, clusters compete with the moments in the same way: of steps, of steps with their neighbours, and of means and
       deviations in windows. They race on some 5,000 steps, and fit any number of states, from one column on.
    10. Steps may be missing: None or NaN in an array (single symbols as numbers need ``kind="symbols"``). The moments leave
        them out, as if the sequence began anew, and EM and likelihoods sum over what they may have been. Single cells of
        vectors may be missing as well, of counts only whole steps.

    11. Counts come with indicators, whether each is at most one of a few quantiles of its column, so that one column carries
        more than two states. Clusters are those of the roots of counts. EM has 0.01 pseudo-steps with a count of one.

    References
    ----------
    R. Ge, thesis 2013, section 7.3.3. A. Anandkumar, D. Hsu, S. Kakade, A method of moments for mixture
    models and hidden Markov models, COLT 2012.

    Examples
    --------
    >>> from latentia.datasets import planted
    >>> from latentia.sequences import SpectralHMM
    >>> chain = planted.hidden_markov_chain(20_000, n_states=3, n_symbols=8)
    >>> model = SpectralHMM(3, refine=5).fit(chain.symbols)
    >>> model.predict(chain.symbols).shape
    (20000,)
    """

    _constraints: ClassVar = {
        "kind": Choice("auto", "symbols", "vectors", "counts"), "n_symbols": OrNone(Integer(1)),
        "covariance_type": Choice("diag", "full", "tied"), "init": Anything(),
    }  # fmt: skip
    _compared = ("_kind", "_chain", "_deviations")
    _nouns = ("state", "states", "steps")
    start_: str
    symbols_: Annotated[np.ndarray, of.optional(of.symbols("S"))]
    emissionprob_: Annotated[np.ndarray, of.optional(of.distributions("K S"))]
    unseen_: Annotated[np.ndarray, of.optional(of.shares("K"))]
    means_: Annotated[np.ndarray, of.optional(of.numbers("K V"))]
    variances_: Annotated[np.ndarray, of.optional(of.numbers("K V", of.MIN_MAGNITUDE))]
    covariances_: Annotated[np.ndarray, of.optional(of.numbers("... V V"))]
    _kind: Emissions
    _chain: Chain
    _deviations: Annotated[np.ndarray, of.numbers("S", of.MIN_MAGNITUDE)]

    def __init__(
        self,
        n_components: NComponents = 4,
        *,
        kind: Literal["auto", "symbols", "vectors", "counts"] = "auto",
        n_symbols: int | None = None,
        refine: Refine = "auto",
        covariance_type: Covariance = "diag",
        init: Any = None,
        n_splits: int = 3,
        keep_moments: bool = False,
        random_state: Seed = 0,
        n_jobs: int | None = None,
        verbose: int = False,
    ) -> None:
        self.n_components = n_components
        self.kind = kind
        self.n_symbols = n_symbols
        self.refine = refine
        self.covariance_type = covariance_type
        self.init = init
        self.n_splits = n_splits
        self.keep_moments = keep_moments
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_parameters(self) -> None:
        for name, default in (("covariance_type", "diag"), ("init", None)):
            if not self.refine and getattr(self, name) is not default and getattr(self, name) != default:
                raise LatentiaError(f"refine=0: {name} is of EM, which this leaves out.")
        if self.kind == "counts" and self.covariance_type != "diag":
            raise LatentiaError("kind='counts': covariance_type is of vectors; rates are all that counts have.")

    # --- fitting ------------------------------------------------------------------------------------------------

    @fitting
    def fit(self, X: Any, lengths: Any = None) -> SpectralHMM:
        """Learn the chain.

        Parameters
        ----------
        X : array-like of shape (n_steps,) or (n_steps, 1) of symbols, or (n_steps, D) of numbers, or Blocks with lengths
            Or a list of sequences, each a list of symbols or of vectors, or a string of symbols between blanks.
            Sequences one after another. In an array None and NaN are missing steps, or single cells of vectors.
        lengths : array-like of int, shape (n_sequences,), optional
            Lengths of the sequences, in order; by default there is one.

        Returns
        -------
        self

        Raises
        ------
        LatentiaError
            If a parameter is out of its range, if X has NaN or infinite entries where they do not mark missing steps,
            if the lengths do not add up to the steps, or if too few steps are left.
        """
        return self._fit_stages(self._read(X, lengths))

    def _assign_folds(self, rows: _Steps) -> Folds:
        return rows.folds(self._seed)

    def _moments(self, rows: _Steps, folds: Folds) -> _Moments:
        """Passes over the data: columns, coordinates of neighbours, and moments of three steps and of first ones."""
        options: dict[str, Any] = {"n_jobs": self.n_jobs, "progress": self.verbose}
        kind, table = self._kind, self._kind.table(rows.observed)
        columns, table, share = _columns(table, rows.has_gaps, options)
        scaling = kind.scaling(columns)
        _check_carried(kind, scaling, self.n_components, columns.n if self.refine else 0)
        center, scale, deviations, _, _ = scaling
        size, seed = self.n_components + _OVERSAMPLE, self._seed
        coordinates, n_passes = lagged_coordinates(
            table, size, center, scale, constant=kind.constant, random_state=seed, **options
        )
        statistic = _three_steps(coordinates, columns.mean - center, folds, kind.constant)
        sums, starts = accumulate(table, [statistic, _Starts(coordinates)], **options)
        whole, seen = (np.asarray(blocks.lengths) for blocks in (rows.whole, rows.observed))
        n_passes += rows.n_passes + 2
        return _Moments(
            kind, columns.mean, deviations, statistic, sums, starts, folds, n_passes, whole, seen, scaling.most, share
        )

    def _assign_content_folds(self, rows: _Steps) -> Folds:
        return by_content(rows.observed)

    def _sums(self, rows: _Steps, folds: Folds, like: Any) -> CountSums:
        if not isinstance(self._kind, Symbols):
            raise LatentiaError(
                "Expected symbols, found vectors: moments are kept of symbols alone, whose counts add up. Fit all sequences "
                "together, without keep_moments."
            )
        if self.init is not None:
            raise LatentiaError("kept moments say where the chain starts: leave init out, or fit without keep_moments.")
        check_symbols(len(self.symbols_), _MOST_SYMBOLS)
        return view_sums(rows.observed, folds, len(self.symbols_), n_jobs=self.n_jobs, progress=self.verbose)

    def _moments_from_sums(self, sums: CountSums) -> _Moments:
        """The same as of rows, in one pass."""
        self._kind, tables = Symbols(self.symbols_), sums.tables
        marginal, lengths = tables["symbols"] / sums.n_rows, lengths_of(sums)
        scaling = self._kind.scaling(ColumnMoments(sums.n_rows, marginal, marginal * (1 - marginal)))
        _check_carried(self._kind, scaling, self.n_components)
        center, scale, deviations, _, _ = scaling
        lags = (tables["lags"] + tables["lags"].swapaxes(1, 2)).sum(axis=0).astype(np.float64)
        size = self.n_components + _OVERSAMPLE
        coordinates = leading_coordinates(lags.__matmul__, size, center, scale, False, random_state=self._seed)
        average, folds = marginal @ coordinates.basis, Folds()
        starts = StartSums(int(tables["starts"].sum()), tables["starts"] @ coordinates.basis, coordinates)
        statistic, state = _three_steps(coordinates, marginal, folds, False), views_of_sums(sums, coordinates, average)
        return _Moments(
            self._kind, marginal, deviations, statistic, state, starts, folds, 1, lengths, lengths, scaling.most
        )

    def _recover(self, moments: _Moments, subset: Subset, full_fit: Any) -> _Recovered | None:
        """What the moments say; None where they do not carry the states of vectors, and EM starts from clusters."""
        if self.n_components > moments.most:
            return None
        try:
            return self._recover_by_moments(moments, subset.groups)
        except LatentiaError:
            if isinstance(moments.kind, Symbols) or not self.refine:
                raise
            return None

    def _recover_by_moments(self, moments: _Moments, groups: tuple[int, ...]) -> _Recovered:
        """Emissions from the middle view, transitions from neighbours."""
        m, starts, k = moments.of(groups), moments.starts, self.n_components
        frame = common_frame(m, k)
        decomposition = decompose(frame.tensor, k, self._seed)
        v = decomposition.vectors
        emissions, variances = moments.kind.recovered(frame, m, v, moments.marginal, moments.deviations)
        seen = starts.coordinates(moments.kind.shown(emissions))
        inverse = np.linalg.pinv(seen)
        d = starts.coordinates.size
        neighbours = m.pairs[0, 1][:d] + m.pairs[1, 2][:, :d]
        joint = np.maximum(inverse.T @ neighbours @ inverse, 0)
        shares = joint.sum(axis=0) + joint.sum(axis=1)
        shares = shares / shares.sum() if shares.sum() > 0 else frame.weights(v)
        startprob = shares
        if starts.n >= SEQUENCES_PER_STATE * k:
            target = starts.total / starts.n
            startprob = simplex_least_squares(target[None], seen, tol=1e-6)[0]
        return _Recovered(Chain(startprob, distributions(joint, shares), emissions, variances), frame, decomposition)

    def _refine(self, recovered: _Recovered | None, moments: _Moments, subset: Subset, full_fit: Any) -> _RefinedChain:
        """EM on the steps, from the best start."""
        chain = None if recovered is None else recovered.chain
        if chain is not None and not self.refine:
            return _RefinedChain(chain.sorted(moments.lengths), Refinement.no_steps())
        return self._climbed(_starts(self, chain, moments, subset), moments, subset)

    def _restart(self, model: _RefinedChain, moments: _Moments, subset: Subset) -> _RefinedChain | None:
        """Not from classes, which are made of each part's own steps, and are not refined to the end."""
        if not self.refine or model.start == "classes":
            return None
        return self._climbed({"moments": model.parameters}, moments, subset)

    def _distance(self, first: _RefinedChain, second: _RefinedChain, moments: _Moments) -> np.ndarray:
        return moments.kind.nearest(first.parameters.emissions, second.parameters.emissions, moments.deviations)

    def _component_view(self, fitted: Fitted) -> ComponentView:
        """Probabilities of the states in some stretches."""
        some = some_stretches(fitted.rows.observed, _TRIED, _TRIED_AT_ONCE)
        found = [forward_backward(*self._kind.arguments(self._chain, block))[1] for block in some]
        return ComponentView(np.vstack(found).T, ordered=False)

    @property
    def _max_distance(self) -> float:
        return self._kind.most

    def _checks(self, fitted: Fitted) -> tuple[list[Check], PartErrors]:
        """What the fit leaves of the moments, errors of parts, changes in the course of the data, and independent steps."""
        moments: _Moments = fitted.moments
        refined: _RefinedChain = fitted.model
        lines, n_steps = list[Check](), moments.of(moments.folds.all).n
        parts, of_moments = _weigh_moments(refined, fitted, fitted.errors(self.n_splits))
        if parts.errors is not None:
            known = moments.kind.least_errors(refined.parameters, moments.deviations, self.weights_ * n_steps)
            parts = replace(parts, errors=np.maximum(parts.errors, known))
        if parts.errors is not None and self.refine:
            changes = _changes(refined.parameters, moments, fitted.rows, self.n_jobs)
            lines = _over_time(changes, parts.errors)
            errors = np.minimum(np.maximum(parts.errors, changes), self._max_distance)
            if isinstance(moments.kind, Symbols) and refined.refinement.converged:
                more, misses = _one_more(refined.parameters, moments, fitted.rows)
                lines, errors = [*lines, more], np.maximum(errors, misses)
            parts = replace(parts, errors=errors)
        checks = [*_checks(refined, moments, parts, of_moments, self.weights_), *lines]
        return checks + _against_independence(self, fitted), parts

    def _climbed(self, starts: dict[str, Chain], moments: _Moments, part: Subset) -> _RefinedChain:
        """After EM from the start that leads highest."""
        kind, e_step = moments.kind, over(part.rows, self.n_jobs, self.verbose)
        updates = {name: kind.update(start, moments.deviations) for name, start in starts.items()}
        won = race_updates(updates, e_step, self.refine, _FEW, max_steps={"classes": _FEW})
        n_passes = (
            won.n_steps + (len(starts) > 1) + (isinstance(kind, Counts) and len(starts) > 1)
        )  # roots of some rows
        refined = _RefinedChain(kind.chain(won.reached.values), won.reached, won.name, n_passes)
        if isinstance(kind, Vectors) and kind.covariance != "diag":
            refined = _with_covariances(refined, starts, kind, moments.deviations, e_step, self.refine)
        return replace(refined, parameters=refined.parameters.sorted(part.source.lengths))

    def _set_fitted_attributes(self, fitted: Fitted) -> None:
        chain: Chain = fitted.model.parameters
        self._chain, self._deviations = chain, fitted.moments.deviations
        self.startprob_, self.transmat_, self.weights_ = (
            chain.startprob,
            chain.transmat,
            chain.shares(fitted.moments.lengths),
        )
        if chain.variances is None:
            self.emissionprob_ = chain.emissions
            counts = np.round(fitted.moments.marginal * fitted.moments.lengths_seen.sum())
            self.unseen_ = chances_of_unseen(chain.emissions, self.weights_, counts)
        else:
            self.means_, self.variances_ = chain.emissions, chain.variances
        if chain.covariances is not None:
            self.covariances_ = chain.covariances[0] if self.covariance_type == "tied" else chain.covariances
        if "_span" in vars(self):
            _widen(self, self._span)
        self.start_ = fitted.model.start
        self._set_refinement_attributes(fitted.model.refinement)
        self.n_passes_ = fitted.moments.n_passes + fitted.model.n_passes

    def _distances(self, other: SpectralHMM) -> np.ndarray:
        if type(other._kind) is not type(self._kind):
            raise LatentiaError("expected steps of the kind of those of the fit, found others.", parameter="X")
        one, two = self._chain.emissions, other._chain.emissions
        return self._kind.distances(one, two, other._kind, self._deviations)

    def _widths(self) -> dict[str, Any]:
        """Return the number of columns that say something of their own: halves have no others."""
        return {"columns": np.size(self._deviations)}

    def _halves(self, X: Any, random_state: int, **fit_parameters: Any) -> list[dict[str, Any]]:
        """Arguments of `fit` for two halves, made of stretches of the sequences."""
        model = SpectralHMM(**self.get_params())
        steps = model._read(X, fit_parameters.get("lengths"))
        folds = steps.folds(random_state)
        halves = [steps.group(groups, folds) for groups in folds.splits[0]]
        return [{"X": model._kind.original(half.table()), "lengths": half.lengths} for half in halves]

    # --- use ----------------------------------------------------------------------------------------------------

    @fitted
    def sample(self, n_samples: int = 100, random_state: Any = 0) -> tuple[np.ndarray, np.ndarray]:
        """Draw a sequence: symbols (n_samples,) or vectors (n_samples, D), and the states (n_samples,).

        Parameters
        ----------
        n_samples : int, default=100
            Number of steps.
        random_state : int, RandomState or Generator, default=0
            Seed of the draws.

        Returns
        -------
        X : ndarray of shape (n_samples,) or (n_samples, D)
            Symbols or vectors.
        states : ndarray of int, shape (n_samples,)
        """
        n_samples, rng = check_size(n_samples), np.random.default_rng(seed_of(random_state))
        draws, states = rng.random(n_samples), np.empty(n_samples, np.int64)
        cumulated = np.cumsum(np.vstack([self.transmat_, self.startprob_]), axis=1)
        state = last = len(self.startprob_)  # the last row: where a sequence starts
        for t, draw in enumerate(draws):
            state = min(int(np.searchsorted(cumulated[state], draw, side="right")), last - 1)
            states[t] = state
        rows = self._kind.draw(self._chain, states, rng)
        return rows if "_span" not in vars(self) else self._span.points(rows), states

    def _n_parameters(self) -> int:
        k = len(self.startprob_)
        return k - 1 + k * (k - 1) + self._kind.n_parameters(self._chain)

    def _chains(self, X: Any, lengths: Any) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """Symbols that the fit has not seen are possible, and counted."""
        chain, unseen, n = self._chain, np.empty(0, int), 0
        if chain.variances is None and self.unseen_.any():
            new = np.asarray(~chain.emissions.any(axis=0))
            chain, unseen = (
                replace(chain, emissions=with_unseen(chain.emissions, self.unseen_, new)),
                np.flatnonzero(new),
            )
        for block in self._encoded(X, lengths, reset=False):
            n += int(np.isin(block[0], unseen).sum()) if len(unseen) else 0
            yield int((~self._kind.missing(block[0])).sum()), self._kind.arguments(chain, block)
        if n:
            warn(
                f"Steps with symbols that do not occur in the fitted data: {n}. Their probability is that of unseen_.",
                LatentiaWarning,
            )

    def _read(self, X: Any, lengths: Any = None, *, reset: bool = True) -> _Steps:
        """The steps of a fit."""
        whole, is_read = self._encoded(X, lengths, reset), isinstance(X, Blocks)
        seen = whole if is_read else observed(whole, self._kind.missing)
        has_gaps = not is_read and not isinstance(self._kind, Symbols | Counts) and bool(np.isnan(seen.table()).any())
        if reset and not isinstance(self._kind, Symbols | Counts):
            span = span_of(seen)
            if span is not None:
                span.tell()
                self._span, whole, seen = span, span.reduce(whole), span.reduce(seen)
                seen = observed(whole, self._kind.missing) if has_gaps else seen
        return _Steps(whole, seen, int(is_read and isinstance(self._kind, Symbols | Counts)), has_gaps)

    def _encoded(self, X: Any, lengths: Any, reset: bool) -> Blocks:
        """Steps as blocks of symbol numbers (n, 1) or vectors (n, D), with the lengths of the sequences."""
        X, lengths = joined_sequences(X, lengths, self.kind)
        first = first_block(X, lengths)
        width = first[0].shape[1]
        if reset:
            self.n_features_in_ = width
            self._kind = Vectors(self.covariance_type)
            if self.kind == "counts":
                self._kind = Counts.told_by(X, first, self.n_components)
            elif has_symbols(first[0], self.kind):
                seen = from_first(X, first) if isinstance(X, Blocks) else [kept(first, present(first[0]))]
                self.symbols_ = alphabet(seen, self.n_symbols)
                self._kind = Symbols(self.symbols_)
        elif width != self.n_features_in_:
            raise LatentiaError(f"X has {width} features and the model was fitted on {self.n_features_in_}.")
        if not isinstance(X, Blocks):
            blocks = sequence_blocks(self._kind.values(first), lengths)
        else:  # a fit's statistics refuse what is no number, and the encoding of symbols does
            blocks = self._kind.blocks(X) if reset or isinstance(self._kind, Symbols | Counts) else finite_blocks(X)
        if reset:
            return long_enough(blocks)
        return blocks if "_span" not in vars(self) else self._span.reduce(blocks)

    def _check_fitted(self) -> None:
        chain, own = self._chain, vars(self)
        is_symbols = "symbols_" in own
        if isinstance(self._kind, Symbols) is not is_symbols or isinstance(self._kind, Counts) is not (
            self.kind == "counts"
        ):
            raise LatentiaError("_kind is not that of the steps")
        needed = ("emissionprob_", "unseen_") if is_symbols else ("means_", "variances_")
        if any(name not in own for name in needed) or (chain.variances is None) is not is_symbols:
            raise LatentiaError(f"{needed[0]} is missing")
        if isinstance(self._kind, Symbols):
            if not np.allclose(chain.emissions, self.emissionprob_, rtol=0, atol=of.TOLERANCE):
                raise LatentiaError("_chain.emissions is not emissionprob_")
            alphabets = (self.symbols_, self._kind.alphabet)
            if self.n_features_in_ != 1 or not all((one[:-1] < one[1:]).all() for one in alphabets):
                raise LatentiaError("symbols_ are not in order")
        wide, found = chain.covariances, own.get("covariances_")
        is_wide = not is_symbols and self.covariance_type != "diag"
        if (wide is not None) is not is_wide or (found is not None) is not is_wide:
            raise LatentiaError(f"covariances_ is not that of covariance_type={self.covariance_type!r}")
        if wide is not None and found is not None:
            check_covariances(wide, "_chain.covariances")
            if np.shape(found) != (wide.shape[1:] if self.covariance_type == "tied" else wide.shape):
                raise LatentiaError(f"covariances_ has shape {np.shape(found)}")


def _widen(model: SpectralHMM, span: ColumnSpan) -> None:
    """Give what the states show of the columns that were kept entries for all columns."""
    model.means_ = span.points(model.means_)
    model.variances_ = np.maximum(span.variances(model.variances_), of.MIN_MAGNITUDE)
    if "covariances_" in vars(model):
        model.covariances_ = span.covariances(model.covariances_)


def _check_carried(kind: Emissions, scaling: Scaling, k: int, by_em: int = 0) -> None:
    """Raise where neither the moments of the columns nor, of vectors, EM can carry the states."""
    most, reason, way_out = scaling.most, f"only {scaling.why}", ""
    if not isinstance(kind, Symbols):
        way_out = " by moments alone; without refine=0, EM fits more from clusters"
        if by_em:
            most, reason, way_out = max(most, by_em), f"there are {by_em} steps", ""
    if k > most:
        raise LatentiaError(
            f"{reason}: this data supports at most {most} states{way_out}.",
            at_most=most, parameter="n_components", value=k,
        )  # fmt: skip


def _starts(model: SpectralHMM, chain: Chain | None, moments: _Moments, part: Subset) -> dict[str, Chain]:
    """Where EM may start: what was given, or the moments and what competes with them."""
    kind, k = moments.kind, model.n_components
    if model.init is not None:
        symbols = isinstance(kind, Symbols)
        given = given_chain(model.init, k, moments.deviations, symbols, vars(model).get("_span"))
        return {
            "init": kind.chain((given.startprob, given.transmat, given.emissions))
            if isinstance(kind, Counts)
            else given
        }
    starts = {} if chain is None else {"moments": chain.smoothed(moments.marginal)}
    if isinstance(kind, Symbols) and _many_symbols(moments, k):
        steps = part.source.observed if part.is_whole else part.rows
        starts["classes"] = chain_of_classes(steps, len(kind.alphabet), k, model.n_jobs)
    elif isinstance(kind, Vectors):
        starts["clusters"] = kind.clusters(part.rows, moments.deviations, k)
    return starts


def _with_covariances(
    diagonal: _RefinedChain, starts: dict[str, Chain], kind: Vectors, deviations: np.ndarray, e_step: Any, steps: Refine
) -> _RefinedChain:
    """EM for covariance matrices, from where it has settled without, or from where that started: which is more likely."""
    made = 0

    def climb(start: Chain) -> tuple[float, Refinement]:
        nonlocal made
        update = kind.full_update(start, deviations)
        found = converge(update, e_step) if steps == "auto" else refine(update, e_step, steps)
        made += len(found.log_likelihood)
        return float(found.log_likelihood[-1]), found

    won = race({"variances": diagonal.parameters, **starts}, climb)
    start, moves, means, covariances = won.reached.values
    variances = np.einsum("kii->ki", covariances).copy()
    chain = Chain(start, moves, means, variances, covariances)
    return replace(diagonal, parameters=chain, refinement=won.reached, n_passes=diagonal.n_passes + made)


def _against_independence(model: SpectralHMM, fitted: Fitted) -> list[Check]:
    """Whether the fit predicts some stretches better than a model in which steps are independent.

    Where there are many symbols, and fits on halves, each predicts stretches of the other half: a penalty that counts every
    probability of every symbol is far above what rare ones add by chance.
    """
    if fitted.rows is None:
        return []
    moments: _Moments = fitted.moments
    blocks, halves = fitted.rows.observed, [fitted.cached_model(half) for half in moments.folds.splits[0]]
    some, lines = some_stretches(blocks, _TRIED, _TRIED_AT_ONCE), list[Check]()
    rivals = model._kind.wandering(some)
    if None in halves:
        rivals = [model._kind.without_states(some.table(), moments.marginal, blocks.n_rows, model._chain), *rivals]
    else:
        lines = _on_other_halves(blocks, moments, [half.parameters for half in halves if half is not None])
    total = sum(log_likelihood(*model._kind.arguments(model._chain, block)) for block in some) if rivals else 0.0
    k = len(model.weights_)
    n_fitted = k * (k - 1) + model._kind.n_parameters(model._chain)
    gained = np.full(some.n_rows, total / some.n_rows)
    for trivial, n_parameters, against in rivals:
        extra = count_parameters(n_fitted - n_parameters, blocks.n_rows, bool(model.refine))
        lines += trivial_checks(gained, trivial, extra=extra, n_rows=blocks.n_rows, against=against, unit="step")
    return lines


@dataclass(frozen=True)
class _Steps:
    """All steps, and those that are not missing, which cut sequences; the two are one where none is missing.

    ``n_passes`` were made for the alphabet. With ``has_gaps``, single cells of vectors are missing.
    """

    whole: Blocks
    observed: Blocks
    n_passes: int
    has_gaps: bool = False

    @property
    def lengths(self) -> np.ndarray:
        return np.asarray(self.whole.lengths)

    def folds(self, seed: int) -> Folds:
        """Four groups of neighbouring steps, some hundred stretches in each."""
        return deal_sequences(self.observed, seed, int(np.clip(self.observed.n_rows // 400, 10, 1000)))

    def group(self, groups: tuple[int, ...], folds: Folds) -> Blocks:
        """What EM reads of some groups."""
        return self.whole if groups == folds.all else stretches(self.observed, groups, folds)


@dataclass(frozen=True)
class _InTime:
    """Two groups of steps: the first half of the data, and the second."""

    n_rows: int
    all: ClassVar[tuple[int, ...]] = (0, 1)

    def of(self, rows: np.ndarray) -> np.ndarray:
        return (2 * np.asarray(rows) >= self.n_rows).astype(np.int64)


@dataclass(frozen=True)
class _RefinedChain:
    """A chain, the refinement that it comes from, the start that won, and all passes that it took."""

    parameters: Chain
    refinement: Refinement
    start: str = "moments"
    n_passes: int = 0


# --- from moments to the chain ------------------------------------------------------------------------------------


@dataclass
class StartSums:
    """Number of sequences, and the sum of the coordinates of their first steps."""

    n: int
    total: np.ndarray
    coordinates: Coordinates


class _Starts:
    """Statistic: `StartSums`."""

    def __init__(self, coordinates: Coordinates) -> None:
        self.coordinates = coordinates

    def zero(self) -> StartSums:
        return StartSums(0, np.zeros(self.coordinates.size), self.coordinates)

    def add(self, state: StartSums, block: Block) -> StartSums:
        first = np.cumsum(block[-1]) - block[-1]
        state.total += self.coordinates(block[0][first]).sum(axis=0)
        state.n += len(first)
        return state

    def merge(self, first: StartSums, second: StartSums) -> StartSums:
        return StartSums(first.n + second.n, first.total + second.total, self.coordinates)


@dataclass(frozen=True)
class _Moments:
    """Means and standard deviations (1 for symbols) of the columns, moments of groups of steps, and first steps.

    They carry ``most`` states. ``lengths`` are those of the sequences, and ``lengths_seen`` of the pieces that missing steps
    cut them into. ``share`` is that of the cells of each column that are there; None where no single ones are missing.
    """

    kind: Emissions
    marginal: np.ndarray
    deviations: np.ndarray
    statistic: ViewMoments
    sums: Any
    starts: StartSums
    folds: Folds
    n_passes: int
    lengths: np.ndarray
    lengths_seen: np.ndarray
    most: int
    share: np.ndarray | None = None

    def of(self, groups: tuple[int, ...]) -> ViewSums:
        sums = self.statistic.of(self.sums, groups)
        if self.share is None:
            return sums
        return replace(sums, squares={pair: one * self.share[:, None] for pair, one in sums.squares.items()})

    @property
    def column_deviations(self) -> np.ndarray:
        """Standard deviations of the columns that moments are taken of."""
        return self.deviations if self.share is None else self.deviations / np.sqrt(self.share)

    @property
    def halves(self) -> list[tuple[ViewSums, ViewSums]]:
        return [(self.of(one), self.of(two)) for one, two in self.folds.splits]


@dataclass(frozen=True)
class _Recovered:
    """The chain, and the frame and the decomposition that it comes from."""

    chain: Chain
    frame: CommonFrame
    decomposition: Decomposition


def _columns(table: Blocks, has_gaps: bool, options: dict[str, Any]) -> tuple[ColumnMoments, Blocks, np.ndarray | None]:
    """Columns of a table, the table that moments are taken of, and shares of cells that are there: one pass.

    Where cells are missing, the table is the one that stands for it in moments: see `latentia.moments.observed`.
    """
    if not has_gaps:
        return column_moments(table, **options), table, None
    (columns,) = observed_columns(table, **options)
    return (
        columns.moments,
        table.map(lambda block: [fill_missing(block[0], columns), block[-1]], table.shapes),
        columns.share,
    )


def _three_steps(coordinates: Coordinates, average: np.ndarray, folds: Folds, squares: bool) -> ViewMoments:
    """Statistic: moments of past, step and future; the average stands for what is not there."""
    average = average @ coordinates.basis
    size = coordinates.size + coordinates.basis.shape[1]
    ready = Coordinates(np.zeros(size), np.eye(size), constant=False)  # past and future come in coordinates
    return ViewMoments(
        [ready, coordinates, ready],
        lambda block: past_and_future(block, coordinates, average, folds),
        folds.n,
        sketched=(1,),
        squares=squares,
    )


def _many_symbols(moments: _Moments, k: int) -> bool:
    """Whether so many symbols occur that moments are taken in fewer directions."""
    return isinstance(moments.kind, Symbols) and int((moments.marginal > 0).sum()) > 2 * (k + _OVERSAMPLE)


# --- evidence -----------------------------------------------------------------------------------------------------


def _measured(found: _Recovered, moments: _Moments) -> TensorMeasured:
    return TensorMeasured(
        spectrum=found.frame.spectrum,
        weights=found.decomposition.weights,
        residual=found.decomposition.info.residual,
        stable=found.decomposition.info.stable,
        samples=moments.of(moments.folds.all).n,
        noise=frame_noise(found.frame, *moments.halves[0]),
        exact=True,
    )


def _misfits(chain: Chain, found: _Recovered, moments: _Moments, surplus: bool) -> ViewMisfits:
    """Of past, step and future.

    Means of past and future given a state are those that the transitions say, or those that the data says if the emissions
    are right, whichever leave less: the first are wrong where sequences do not start as they go on, and the second are nearly
    all noise where states show nearly the same.
    """
    coordinates, whole, halves = moments.statistic.coordinates[1], moments.of(moments.folds.all), moments.halves
    shown = moments.kind.shown(chain.emissions)
    seen = coordinates(shown)
    means, weights = means_given_middle(whole, seen)
    average = (moments.marginal - coordinates.center) @ coordinates.basis
    inside = stationary(chain.transmat)
    past, future = means_of_neighbours(seen, average, chain.transmat, inside, moments.lengths_seen)
    tensor = min(
        (tensor_residual(found.frame, whole, halves, views, weights) for views in (means, [past, seen, future])),
        key=lambda one: one.residual,
    )
    noise = moments.kind.noise(chain, moments.column_deviations, weights)
    within = None
    if noise is not None:
        within = residual_within_views([coordinates], [noise], whole, halves, [shown], weights, views=[1])
    across = residual_across_views(whole, halves, means, weights)
    if _many_symbols(moments, len(seen)):  # whose shares by least squares are noise where states are classes of them
        across = min(
            across, residual_across_views(whole, halves, [past, seen, future], inside), key=lambda one: one.residual
        )
    return ViewMisfits.from_norms(tensor, across, within, surplus)


def _over_time(changes: np.ndarray, errors: np.ndarray) -> list[Check]:
    """Whether states are the same in both halves of the time."""
    ratio = float(np.median(changes) / max(float(np.median(errors)), np.finfo(float).tiny))
    return [
        Check(
            "the same over time", "|O_1 - O_2| / 2, of the error", ratio, at_most(_MOST_CHANGE, "times"),
            "How far what states show moves between the halves of the data. Above the limit they change; errors are "
            "at least as large as the change.", "not in the thesis", "caution",
            "States change in the course of the data: fit parts of it, or take a trend out first.",
        )
    ]  # fmt: skip


def _one_more(chain: Chain, moments: _Moments, steps: _Steps) -> tuple[Check, np.ndarray]:
    """What a state more gains on some stretches, and, if that is much, how far each state is from the nearest of those then."""
    kind, k, some = moments.kind, len(chain.startprob), some_stretches(steps.observed, _TRIED, _TRIED_AT_ONCE)
    basis, all_of_them = moments.statistic.coordinates[1].basis, some.n_rows == steps.observed.n_rows
    gain, more = one_state_more(kind, chain, some, basis, moments.deviations, all_of_them)
    check = Check(
        "one state more", "log-likelihood / parameters", gain / (2 * k + int((moments.marginal > 0).sum()) - 1),
        at_most(_MOST_GAIN, "nats"),
        "What a chain with one of the states split in two gains within a few steps of EM, for each parameter more. Above the "
        "limit a state stands for several, or steps depend on more than their states.",
        "not in the thesis", "caution",
        f"With a state more the steps are predicted clearly better: compare with {k + 1}.", k + 1,
    )  # fmt: skip
    misses = np.zeros(k) if check.holds else kind.nearest(chain.emissions, more.emissions, moments.deviations)
    return check, misses


def _weigh_moments(refined: _RefinedChain, fitted: Fitted, parts: PartErrors) -> tuple[PartErrors, list[Check]]:
    """Widen errors by what the fit leaves of the moments, and build the lines on moments, where they carry the states."""
    moments: _Moments = fitted.moments
    if fitted.recovered is None:
        return parts, [_without_moments(moments)]
    measured, apart = _measured(fitted.recovered, moments), moments.kind.apart(refined.parameters, moments.deviations)
    misfits = _misfits(refined.parameters, fitted.recovered, moments, measured.surplus)
    refines = len(refined.refinement.log_likelihood) > 0
    lines = [*misfits.checks("states", "past and future", "features", refines), *tensor_checks(measured)]
    return parts.widen(misfits.together(refines).bias(apart), moments.kind.most), lines


def _without_moments(moments: _Moments) -> Check:
    """Build the line on states that moments do not carry."""
    return Check(
        "states by moments", "states", float(moments.most), None,
        "The moments do not carry as many states as were asked for, or not clearly: EM starts from clusters alone, and the "
        "lines on moments are missing.", "not in the thesis",
    )  # fmt: skip


def _checks(
    refined: _RefinedChain, moments: _Moments, parts: PartErrors, of_moments: list[Check], shares: np.ndarray
) -> list[Check]:
    chain, n = refined.parameters, moments.of(moments.folds.all).n
    return [
        *moments.kind.checks(chain, moments.deviations, parts, n),
        *_missing_cells(moments.share),
        *of_moments,
        *convergence_checks(refined.refinement),
        Check(
            "smallest singular value of T", "sigma_K(T)", float(np.linalg.svd(chain.transmat, compute_uv=False)[-1]),
            above(_LEAST_SINGULAR), "Near zero, some states cannot be told apart by what comes before and after them.",
            "Proposition 7.6",
        ),
        Check(
            "least visited state", "min w_k", float(shares.min()), None,
            f"Share of the steps: {shares.min() * n:.0f} of them.", "Proposition 7.6",
        ),
    ]  # fmt: skip


def _missing_cells(share: np.ndarray | None) -> list[Check]:
    """Build the line on single cells that are missing, where there are any."""
    if share is None:
        return []
    meaning = (
        "EM and likelihoods leave them out, and moments weigh the others up. What is missing must not depend on its value, nor "
        "on which other cells are."
    )
    return [Check("missing cells", "share", float(1 - share.mean()), None, meaning, "not in the thesis")]


def _changes(chain: Chain, moments: _Moments, steps: _Steps, n_jobs: int | None) -> np.ndarray:
    """Half of the distance between what each state shows in the first and in the second half of the data, shape (K,).

    Groups that are dealt all over the data have every time in them, and are alike where states change. One step of EM on
    each half in time tells: of noise alone it is about the error. States that hardly occur in one of them are not compared.
    """
    kind, shown, times = moments.kind, [], []
    order = _InTime(steps.whole.n_rows)
    for half in order.all:
        update = kind.update(chain, moments.deviations)
        sums = over(stretches(steps.whole, (half,), order), n_jobs)(update, 0)
        shown.append(estimate_values(update, sums)[2])
        times.append(sums.transitions.sum(axis=1))
    seen = np.min(times, axis=0) >= _LEAST_OF_HALF * np.sum(times, axis=0)
    return np.where(seen, 0.5 * kind.between(shown[0], shown[1], moments.deviations), 0.0)


def _on_other_halves(blocks: Blocks, moments: _Moments, parts: list[Chain]) -> list[Check]:
    """By fits on halves, each on stretches of the other half; symbols are mixed with 1% of all frequencies."""
    gained, trivial, against = [], [], ""
    for part, half in zip(parts, reversed(moments.folds.splits[0]), strict=True):
        some = some_stretches(stretches(blocks, half, moments.folds), _TRIED, _PIECE)
        chain = part.smoothed(moments.marginal)
        alone, _, against = moments.kind.without_states(some.table(), moments.marginal, blocks.n_rows, chain)
        pieces = [piece for block in some for piece in _pieces(block)]
        gained += [log_likelihood(*moments.kind.arguments(chain, piece)) / len(piece[0]) for piece in pieces]
        trivial += [float(one.mean()) for one in np.split(alone, np.cumsum([len(piece[0]) for piece in pieces])[:-1])]
    return trivial_checks(
        np.array(gained), np.array(trivial), extra=0, n_rows=blocks.n_rows, against=against, unit="step"
    )


def _pieces(block: Block) -> Iterator[Block]:
    """The sequences of a block, one by one."""
    ends = np.cumsum(block[-1])
    for start, end in zip(ends - block[-1], ends, strict=True):
        yield Block.of([*(part[start:end] for part in block[:-1]), np.array([end - start])])
