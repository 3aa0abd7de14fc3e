"""Hidden Markov models by tensor decomposition.

Model. A chain of K states starts in state i with probability pi_i and moves from i to j with probability T_ij. State i
emits the symbol x with probability O_ix, or a vector with mean O_i and independent Gaussian features, or independent
Poisson counts with means O_i. Given the state of step t + 1, the steps t, t + 1 and t + 2 are independent views, and
the means of the middle view are the rows of O.

Source: R. Ge, Provable Algorithms for Machine Learning Problems, thesis, Princeton 2013, section 7.3.3, Proposition
7.6.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from scipy.spatial.distance import cdist

from .. import _fields as of
from .._parameters import Anything, Choice, Integer, NComponents, OrNone, Seed, seed_of
from .._validation import finite_blocks
from ..comparing.profile import Profile
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
    missing_checks,
    tensor_checks,
    trivial_checks,
)
from ..exceptions import LatentiaError, LatentiaWarning, warn
from ..fitting.base import check_size, fitted, fitting
from ..fitting.stages import Fitted, Subset
from ..likelihood import Refine, Refinement, converge, estimate_values, over, race, race_updates, refine
from ..likelihood.gaussian import check_covariances
from ..linalg.ratios import ratio_of
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
from ..passes import Block, Blocks, Folds, accumulate, assign_sequence_folds
from ..simplex import distributions, simplex_least_squares
from ..tensor import Decomposition, decompose
from ._chain import SEQUENCES_PER_STATE, Chain, compute_stationary
from ._classes import fit_class_chain
from ._counts import Counts
from ._emissions import Covariance, Emissions, Scaling, Symbols, Vectors, add_unseen_symbols, estimate_unseen
from ._kept import (
    AdditiveSequences,
    assign_folds_by_content,
    check_symbols,
    count_views,
    sequence_lengths,
    views_from_sums,
)
from ._lags import build_step_views, compute_neighbour_means, fit_lagged_coordinates, fit_leading_coordinates
from ._methods import ChainMethods
from ._start import build_initial_chain
from ._state_split_test import try_state_split
from ._steps import (
    check_lengths,
    drop_missing,
    find_alphabet,
    find_present,
    has_symbols,
    iterate_from_first,
    join_sequences,
    read_first_block,
    sample_stretches,
    select_groups,
    select_rows,
    sequence_blocks,
)
from .recursions import forward_backward, log_likelihood

_WINDOW = 20  # steps of a sequence that `news` compares at a time
_OVERSAMPLE = 12  # directions beyond the number of states
_MAX_SYMBOLS = 100  # alphabet of which keep_moments counts views
_RACE_STEPS = 10  # E-steps in which starts race, and all E-steps from classes of symbols
_PIECE_STEPS = 200  # steps of a stretch whose likelihood is one number
_SAMPLE_STEPS, _SAMPLE_STRETCH = 10_000, 1000  # steps whose likelihood is compared, and length of their stretches
_MAX_CHANGE = 3.0  # change between the halves of the time, in expected errors
_MAX_GAIN = 0.65  # nats per parameter of an additional state
_MIN_HALF_SHARE = 0.1  # A state needs this share of its steps in each half of the time to be compared.
_MIN_SINGULAR = 1e-3  # smallest singular value of the transition matrix


class SpectralHMM(ChainMethods, AdditiveSequences["_Moments", "_ChainFit"]):
    """Hidden Markov model of symbols, vectors or counts, fitted by tensor decomposition.

    The fit is deterministic, makes a few passes over the data, and gives an expected error for every state.

    Choose it where Baum-Welch from random starts gives a different answer each time. It needs some thousands of steps, and
    every state must be visited. The moments need emissions that are linearly independent (for vectors: means that are affinely
    independent, so at least K - 1 features), and a transition matrix of full rank, so that neighbours distinguish states too.
    Where vectors or counts lack this, EM starts from clusters alone, and the evidence lacks the lines on moments.

    Parameters
    ----------
    n_components : int, "auto" or several, default=4
        Number of states K.
        A range or list tries each value and keeps the one the evidence recommends; "auto" tries 2 to 100. See
        ``n_components_``, ``recommendation_`` and ``comparison_``. Each number costs a fit.
    kind : {"auto", "symbols", "vectors", "counts"}, default="auto"
        Kind of the steps. "auto" takes strings and a single column of integers as symbols, anything else as vectors, and
        refuses a column of whole numbers with gaps, which may be either. "counts" are whole numbers in one or more columns,
        Poisson and independent given the state.
    n_symbols : int, optional
        Size of the alphabet, where integers stand for symbols; by default one more than the largest.
    refine : int or "auto", default="auto"
        EM (Baum-Welch) from the moments: "auto" makes accelerated steps until they converge, a number that many plain steps,
        each a pass over the data. 0 keeps to the theorem. The expected errors of a refined chain need half of the data in
        memory. See ``refinement_``, and *EM has converged* in the evidence.
    covariance_type : {"diag", "full", "tied"}, default="diag"
        For vectors: features are independent given the state ("diag"), each state has a covariance matrix ("full"), or all
        states share one ("tied"). EM (plain steps, until they converge) learns matrices after the moments, which take features
        as independent.
    init : dict or fitted chain, optional
        Start of EM, instead of the moments: ``startprob`` (K,), ``transmat`` (K, K) and ``emissionprob`` (K, S) or ``means``
        (K, D), and optionally, for vectors, ``variances`` (K, D); or a fitted model with these attributes.
        Probabilities of zero stay zero, so that a chain can be made to go from left to right only. The evidence still needs
        the moments.
    n_splits : int, default=3
        Number of splits of the steps into halves, at most 3, whose fits give the expected errors. They need no pass over the
        data; with ``refine`` a single split is used, which costs as much as refining. With 0 no errors are measured.
    keep_moments : bool, default=False
        Whether to keep counts of what precedes and follows each of at most 100 symbols, so that sequences can be added
        (`partial_fit`) and removed (`forget`), and models merged (`latentia.merge`): 32 S (2 S + 1)^2 bytes, at most 132 MB.
        Only symbols have such counts. The answer is then the theorem's.
    random_state : int, default=0
        Seed of the starts and splits. None or a RandomState draws a seed.
    n_jobs : int, optional
        Number of threads. Results are bitwise identical for any value.
    verbose : bool or int, default=False
        Whether to show progress and the remaining time.

    Attributes
    ----------
    startprob_ : ndarray of shape (K,)
        Distribution of the first state. With fewer than ten sequences per state, EM starts it from the shares of all steps.
    transmat_ : ndarray of shape (K, K)
        Row i has the probabilities of the next state after state i; rows sum to one.
    emissionprob_ : ndarray of shape (K, S)
        Symbol probabilities of the states, for symbols; rows sum to one.
    means_, variances_ : ndarray of shape (K, D)
        Means and variances of the features in each state, for vectors. For counts both equal the rates.
    covariances_ : ndarray of shape (K, D, D), or (D, D) if tied
        Only with ``covariance_type`` "full" or "tied".
    weights_ : ndarray of shape (K,)
        Shares of the steps in each state, in decreasing order: in the long run, or, with at least ten sequences per state, in
        sequences of the same lengths, which differ if a state is never left.
    stationary_ : ndarray of shape (K,)
        Shares in the long run.
    start_ : {"moments", "classes", "clusters", "init"}
        Start of EM.
    symbols_ : ndarray of shape (S,)
        The symbols: column x of ``emissionprob_`` belongs to ``symbols_[x]``.
    unseen_ : ndarray of shape (K,)
        Probability that a state emits a symbol that is not in the fitted data, if ``n_symbols`` allows for such, estimated by
        leaving one step out. `score`, `predict` and all methods for new sequences use it; ``emissionprob_`` is as fitted.
    moments_ : Sums
        Kept counts: ``moments_.n_bytes`` is their size, ``moments_.n_rows`` the number of rows.
    evidence_ : Evidence
        Checks of the assumptions, and the expected error of each state (``component_errors``): for symbols the l1 distance
        of its distribution (0 to 2); else the l2 distance of its mean in standard deviations of the features. They
        grow if the fit misses more of the moments than noise explains.
    refinement_ : ndarray of shape (n_steps,)
        Log-likelihood of the data at every step of EM, in nats.
    n_iter_ : int
        Number of steps of refinement.
    converged_ : bool
        True if further steps would gain only a negligible amount; only ``refine="auto"`` checks this.
    n_passes_ : int
        Number of passes over the data, without those for the expected errors.

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
       documents, rare ones drown the others in noise. This takes eight passes.
    5. All steps of a sequence are used, as if it were stationary; the thesis takes the first three of many sequences.
    6. For vectors, variances of features come from E[x^2 | state], as the means do.
    7. ``refine`` is Baum-Welch with 0.01 pseudo-counts. It starts from distributions mixed with 1% of broad ones
       (emissions: the symbols' frequencies; transitions: shares and uniform; start: uniform), so that nothing is impossible.
    8. With more than 2 (K + 12) symbols a second start competes with the moments: classes of symbols that are learned from
       their neighbours, as in text. Both take ten steps, and the likelier one goes on; from classes "auto" stops there,
       since on text later steps gain little on new sentences and fit the parts of speech less well.
    9. For vectors, clusters compete with the moments in the same way: of steps, of steps with their neighbours, and of means
       and deviations in windows. They race on about 5,000 steps, and give any number of states even from one column.
    10. Steps may be missing: None or NaN in an array (single symbols as numbers need ``kind="symbols"``). The moments drop
        them, as if a new sequence began, and EM and likelihoods sum over their possible values. For vectors single cells may
        be missing too, for counts only whole steps.

    11. Counts come with indicators whether a count is at most a quantile of its column, so that one column carries more than
        two states. Clusters are those of the roots of counts. EM has 0.01 pseudo-steps with a count of one.

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
                raise LatentiaError(f"refine=0: {name} needs EM, which refine=0 skips.")
        if self.kind == "counts" and self.covariance_type != "diag":
            raise LatentiaError("kind='counts': leave covariance_type out; it needs vectors.")

    # --- fitting ------------------------------------------------------------------------------------------------

    @fitting
    def fit(self, X: Any, lengths: Any = None) -> SpectralHMM:
        """Learn the chain.

        Parameters
        ----------
        X : array-like of shape (n_steps,) or (n_steps, 1) of symbols, or (n_steps, D) of numbers, or Blocks with lengths
            Sequences one after another; or a list of sequences, each a list of symbols or vectors, or a string of symbols
            between blanks. In an array None and NaN are missing steps, or single missing cells of vectors.
        lengths : array-like of int, shape (n_sequences,), optional
            Lengths of the sequences, in order; by default there is one.

        Returns
        -------
        self

        Raises
        ------
        LatentiaError
            If a parameter is out of its range, if X has infinite entries or NaN that does not mark a missing step, if the
            lengths do not add up to the number of steps, or if too few steps remain.
        """
        return self._fit_stages(self._read(X, lengths))

    def _assign_folds(self, rows: _Steps) -> Folds:
        return rows.folds(self._seed)

    def _moments(self, rows: _Steps, folds: Folds) -> _Moments:
        """Pass over the data twice, and eight times more with many symbols: columns, coordinates, moments of three steps."""
        options: dict[str, Any] = {"n_jobs": self.n_jobs, "progress": self.verbose}
        kind, table = self._kind, self._kind.moment_blocks(rows.observed)
        columns, table, share = _summarise_columns(table, rows.has_gaps, options)
        scaling = kind.scaling(columns)
        _check_carried(kind, scaling, self.n_components, columns.n if self.refine else 0)
        center, scale, deviations, _, _ = scaling
        size, seed = self.n_components + _OVERSAMPLE, self._seed
        coordinates, n_passes = fit_lagged_coordinates(
            table, size, center, scale, constant=kind.constant, random_state=seed, **options
        )
        statistic = _build_view_statistic(coordinates, columns.mean - center, folds, kind.constant)
        sums, starts = accumulate(table, [statistic, _StartStatistic(coordinates)], **options)
        lengths, observed_lengths = (np.asarray(blocks.lengths) for blocks in (rows.all_steps, rows.observed))
        n_passes += rows.n_passes + 2
        return _Moments(
            kind, columns.mean, deviations, statistic, sums, starts, folds, n_passes, lengths, observed_lengths,
            scaling.max_states, share,
        )  # fmt: skip

    def _assign_content_folds(self, rows: _Steps) -> Folds:
        return assign_folds_by_content(rows.observed)

    def _sums(self, rows: _Steps, folds: Folds, like: Any) -> CountSums:
        if not isinstance(self._kind, Symbols):
            raise LatentiaError(
                "keep_moments: expected symbols, whose counts add up; found vectors. Fit all sequences together, without "
                "keep_moments."
            )
        if self.init is not None:
            raise LatentiaError(
                "keep_moments: the kept moments give the start. Leave init out, or fit without keep_moments."
            )
        check_symbols(len(self.symbols_), _MAX_SYMBOLS)
        return count_views(rows.observed, folds, len(self.symbols_), n_jobs=self.n_jobs, progress=self.verbose)

    def _moments_from_sums(self, sums: CountSums) -> _Moments:
        """Compute the moments from kept counts."""
        self._kind, tables = Symbols(self.symbols_), sums.tables
        marginal, lengths = tables["symbols"] / sums.n_rows, sequence_lengths(sums)
        scaling = self._kind.scaling(ColumnMoments(sums.n_rows, marginal, marginal * (1 - marginal)))
        _check_carried(self._kind, scaling, self.n_components)
        center, scale, deviations, _, _ = scaling
        lags = (tables["lags"] + tables["lags"].swapaxes(1, 2)).sum(axis=0).astype(np.float64)
        size = self.n_components + _OVERSAMPLE
        coordinates = fit_leading_coordinates(lags.__matmul__, size, center, scale, False, random_state=self._seed)
        average, folds = marginal @ coordinates.basis, Folds()
        starts = StartSums(int(tables["starts"].sum()), tables["starts"] @ coordinates.basis, coordinates)
        statistic = _build_view_statistic(coordinates, marginal, folds, False)
        state = views_from_sums(sums, coordinates, average)
        return _Moments(
            self._kind, marginal, deviations, statistic, state, starts, folds, 1, lengths, lengths, scaling.max_states
        )

    def _recover(self, moments: _Moments, subset: Subset, choices: Any) -> _Recovery | None:
        """Recover the chain from the moments; None if they do not carry the states, so that EM starts from clusters."""
        if self.n_components > moments.max_states:
            return None
        try:
            return self._recover_by_moments(moments, subset.groups)
        except LatentiaError:
            if isinstance(moments.kind, Symbols) or not self.refine:
                raise
            return None

    def _recover_by_moments(self, moments: _Moments, groups: tuple[int, ...]) -> _Recovery:
        """Recover emissions from the middle view and transitions from neighbours."""
        m, starts, k = moments.sum_groups(groups), moments.starts, self.n_components
        frame = common_frame(m, k)
        decomposition = decompose(frame.tensor, k, self._seed)
        v = decomposition.vectors
        emissions, variances = moments.kind.recover_emissions(frame, m, v, moments.marginal, moments.deviations)
        state_coordinates = starts.coordinates(moments.kind.expected_columns(emissions))
        inverse = np.linalg.pinv(state_coordinates)
        d = starts.coordinates.size
        neighbours = m.pairs[0, 1][:d] + m.pairs[1, 2][:, :d]  # E[y_t-1 y_t^T] + E[y_t y_t+1^T] = 2 C^T J C
        joint = np.maximum(inverse.T @ neighbours @ inverse, 0)
        shares = joint.sum(axis=0) + joint.sum(axis=1)
        shares = shares / shares.sum() if shares.sum() > 0 else frame.weights(v)
        startprob = shares
        if starts.n >= SEQUENCES_PER_STATE * k:
            target = starts.total / starts.n
            startprob = simplex_least_squares(target[None], state_coordinates, tol=1e-6)[0]
        return _Recovery(Chain(startprob, distributions(joint, shares), emissions, variances), frame, decomposition)

    def _refine(self, recovered: _Recovery | None, moments: _Moments, subset: Subset, choices: Any) -> _ChainFit:
        """Run EM on the steps, from the best start."""
        chain = None if recovered is None else recovered.chain
        if chain is not None and not self.refine:
            return _ChainFit(chain.sorted(moments.lengths), Refinement.no_steps())
        return self._run_em(_collect_starts(self, chain, moments, subset), moments, subset)

    def _restart(self, model: _ChainFit, moments: _Moments, subset: Subset) -> _ChainFit | None:
        """Restart EM, except from classes, which depend on the steps of each part and do not run to convergence."""
        if not self.refine or model.start == "classes":
            return None
        return self._run_em({"full fit": model.parameters}, moments, subset)

    def _distance(self, first: _ChainFit, second: _ChainFit, moments: _Moments) -> np.ndarray:
        return moments.kind.nearest_state_distances(
            first.parameters.emissions, second.parameters.emissions, moments.deviations
        )

    def _component_view(self, fitted: Fitted[_Moments, _ChainFit]) -> ComponentView:
        """Return the probabilities of the states in sampled stretches."""
        sample = sample_stretches(fitted.rows.observed, _SAMPLE_STEPS, _SAMPLE_STRETCH)
        posteriors = [forward_backward(*self._kind.recursion_arguments(self._chain, block))[1] for block in sample]
        return ComponentView(np.vstack(posteriors).T, ordered=False)

    @property
    def _max_distance(self) -> float:
        return self._kind.max_distance

    def _checks(self, fitted: Fitted[_Moments, _ChainFit]) -> tuple[list[Check], PartErrors]:
        """Check misfit of the moments, expected errors, changes over time, and a model of independent steps."""
        moments = fitted.moments
        refined: _ChainFit = fitted.model
        lines, n_steps = list[Check](), moments.sum_groups(moments.folds.all).n
        parts, moment_checks = _weigh_moments(refined, fitted, fitted.errors(self.n_splits))
        if parts.errors is not None:
            min_errors = moments.kind.min_errors(refined.parameters, moments.deviations, self.weights_ * n_steps)
            parts = replace(parts, errors=np.maximum(parts.errors, min_errors))
        if parts.errors is not None and self.refine:
            changes = _measure_changes(refined.parameters, moments, fitted.rows, self.n_jobs)
            lines = _check_changes(changes, parts.errors)
            errors = np.minimum(np.maximum(parts.errors, changes), self._max_distance)
            if isinstance(moments.kind, Symbols) and refined.refinement.converged:
                split_check, misses = _check_state_split(refined.parameters, moments, fitted.rows)
                lines, errors = [*lines, split_check], np.maximum(errors, misses)
            parts = replace(parts, errors=errors)
        lines = [*_check_hidden_cells(self, fitted), *lines]
        checks = [*_build_checks(refined, moments, parts, moment_checks, self.weights_), *lines]
        return checks + _compare_with_independence(self, fitted), parts

    def _run_em(self, starts: dict[str, Chain], moments: _Moments, part: Subset) -> _ChainFit:
        """Run EM from the start that reaches the highest likelihood."""
        kind, e_step = moments.kind, over(part.rows, self.n_jobs, self.verbose)
        updates = {name: kind.update(start, moments.deviations) for name, start in starts.items()}
        won = race_updates(updates, e_step, self.refine, _RACE_STEPS, max_steps={"classes": _RACE_STEPS})
        # The rival start takes one pass, and with counts another for the roots of some rows.
        n_passes = won.n_steps + (len(starts) > 1) + (isinstance(kind, Counts) and len(starts) > 1)
        refined = _ChainFit(kind.build_chain(won.reached.values), won.reached, won.name, n_passes)
        if isinstance(kind, Vectors) and kind.covariance != "diag":
            refined = _fit_covariances(refined, starts, kind, moments.deviations, e_step, self.refine)
        return replace(refined, parameters=refined.parameters.sorted(part.source.lengths))

    def _set_fitted_attributes(self, fitted: Fitted[_Moments, _ChainFit]) -> None:
        chain: Chain = fitted.model.parameters
        self._chain, self._deviations = chain, fitted.moments.deviations
        self.startprob_ = chain.startprob
        self.transmat_ = chain.transmat
        self.weights_ = chain.compute_shares(fitted.moments.lengths)
        if chain.variances is None:
            self.emissionprob_ = chain.emissions
            counts = np.round(fitted.moments.marginal * fitted.moments.observed_lengths.sum())
            self.unseen_ = estimate_unseen(chain.emissions, self.weights_, counts)
        else:
            self.means_, self.variances_ = chain.emissions, chain.variances
        if chain.covariances is not None:
            self.covariances_ = chain.covariances[0] if self.covariance_type == "tied" else chain.covariances
        if "_span" in vars(self):
            _expand_columns(self, self._span)
        self.start_ = fitted.model.start
        self._set_refinement_attributes(fitted.model.refinement)
        self.n_passes_ = fitted.moments.n_passes + fitted.model.n_passes

    def _profile(self) -> Profile | None:
        emissions, shares = self._chain.emissions, self.stationary_
        if "symbols_" in vars(self):
            return Profile(emissions, shares, [str(symbol) for symbol in self.symbols_])
        if not isinstance(self._kind, Vectors):  # Counts have a distance of their own, which is not between rows.
            return None
        return Profile(emissions, shares, self.column_names, self._deviations, cdist, missing="left out")

    def _distances(self, other: SpectralHMM) -> np.ndarray:
        if type(other._kind) is not type(self._kind):
            raise LatentiaError("expected steps of the same kind as in the fit.", parameter="X")
        first, second = self._chain.emissions, other._chain.emissions
        return self._kind.distances_to_model(first, second, other._kind, self._deviations)

    def _widths(self) -> dict[str, Any]:
        """Return the number of linearly independent columns, which halves share."""
        return {"columns": np.size(self._deviations)}

    def _halves(self, X: Any, random_state: int, **fit_parameters: Any) -> list[dict[str, Any]]:
        """Build the arguments of `fit` for two halves of stretches of the sequences."""
        model = SpectralHMM(**self.get_params())
        steps = model._read(X, fit_parameters.get("lengths"))
        folds = steps.folds(random_state)
        halves = [steps.group(groups, folds) for groups in folds.splits[0]]
        return [{"X": model._kind.decode_steps(half.table()), "lengths": half.lengths} for half in halves]

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
        state = last = len(self.startprob_)  # The last row holds the start of a sequence.
        for t, draw in enumerate(draws):
            state = min(int(np.searchsorted(cumulated[state], draw, side="right")), last - 1)
            states[t] = state
        rows = self._kind.draw(self._chain, states, rng)
        return rows if "_span" not in vars(self) else self._span.points(rows), states

    def _rows_in_memory(self, X: Any) -> np.ndarray:
        return self.join_steps(X)[0]

    def _row_scores(self, X: Any) -> np.ndarray:
        """Return the log-probability of each window of a sequence; the last steps may be left out."""
        n_windows = len(X) // _WINDOW
        scores = []
        for _, (start, transitions, table, lengths, *codes) in (
            self._chains(X[: n_windows * _WINDOW], np.full(n_windows, _WINDOW)) if n_windows else ()
        ):
            for end in np.cumsum(lengths):
                window = slice(end - _WINDOW, end)
                arguments = (table, [_WINDOW], codes[0][window]) if codes else (table[window], [_WINDOW])
                scores.append(log_likelihood(start, transitions, *arguments))
        return np.array(scores)

    def _draw_alike(self, X: Any, rng: np.random.Generator) -> np.ndarray:
        return self.sample(len(X), rng)[0]

    def _steps_of(self, rows: np.ndarray) -> np.ndarray:
        return np.asarray((_WINDOW * rows[:, None] + np.arange(_WINDOW)).ravel())

    def _noun_of_scores(self) -> str:
        return f"windows of {_WINDOW} steps"

    def _n_parameters(self) -> int:
        k = len(self.startprob_)
        return k - 1 + k * (k - 1) + self._kind.n_parameters(self._chain)

    def _chains(self, X: Any, lengths: Any) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """Give symbols that are not in the fitted data the probability of ``unseen_``, with a warning."""
        chain, unseen, n = self._chain, np.empty(0, int), 0
        if chain.variances is None and self.unseen_.any():
            is_new = np.asarray(~chain.emissions.any(axis=0))
            chain = replace(chain, emissions=add_unseen_symbols(chain.emissions, self.unseen_, is_new))
            unseen = np.flatnonzero(is_new)
        for block in self._encode(X, lengths, reset=False):
            n += int(np.isin(block[0], unseen).sum()) if len(unseen) else 0
            yield int((~self._kind.missing(block[0])).sum()), self._kind.recursion_arguments(chain, block)
        if n:
            warn(
                f"{n} steps have symbols that do not occur in the fitted data; unseen_ gives their probability.",
                LatentiaWarning,
            )

    def _read(self, X: Any, lengths: Any = None, *, reset: bool = True) -> _Steps:
        """Read the steps of a fit."""
        all_steps, is_read = self._encode(X, lengths, reset), isinstance(X, Blocks)
        observed_steps = all_steps if is_read else drop_missing(all_steps, self._kind.missing)
        has_gaps = (
            not is_read
            and not isinstance(self._kind, Symbols | Counts)
            and bool(np.isnan(observed_steps.table()).any())
        )
        if reset and not isinstance(self._kind, Symbols | Counts):
            span = span_of(observed_steps)
            if span is not None:
                span.tell()
                self._span, all_steps, observed_steps = span, span.reduce(all_steps), span.reduce(observed_steps)
                observed_steps = drop_missing(all_steps, self._kind.missing) if has_gaps else observed_steps
        return _Steps(all_steps, observed_steps, int(is_read and isinstance(self._kind, Symbols | Counts)), has_gaps)

    def _encode(self, X: Any, lengths: Any, reset: bool) -> Blocks:
        """Encode steps as blocks of symbol numbers (n, 1) or vectors (n, D), with the lengths of the sequences."""
        X, lengths = join_sequences(X, lengths, self.kind)
        first = read_first_block(X, lengths)
        width = first[0].shape[1]
        if reset:
            self.n_features_in_ = width
            self._kind = Vectors(self.covariance_type)
            if self.kind == "counts":
                self._kind = Counts.from_rows(X, first, self.n_components)
            elif has_symbols(first[0], self.kind):
                blocks_with_steps = (
                    iterate_from_first(X, first)
                    if isinstance(X, Blocks)
                    else [select_rows(first, find_present(first[0]))]
                )
                self.symbols_ = find_alphabet(blocks_with_steps, self.n_symbols)
                self._kind = Symbols(self.symbols_)
        elif width != self.n_features_in_:
            raise LatentiaError(f"Expected {self.n_features_in_} features, as in the fit; X has {width}.")
        if not isinstance(X, Blocks):
            blocks = sequence_blocks(self._kind.encode_array(first), lengths)
        else:  # The statistics of a fit, and the encoding of symbols, check for numbers themselves.
            blocks = (
                self._kind.encode_blocks(X) if reset or isinstance(self._kind, Symbols | Counts) else finite_blocks(X)
            )
        if reset:
            return check_lengths(blocks)
        return blocks if "_span" not in vars(self) else self._span.reduce(blocks)

    def _check_fitted(self) -> None:
        chain, attributes = self._chain, vars(self)
        is_symbols = "symbols_" in attributes
        if isinstance(self._kind, Symbols) is not is_symbols or isinstance(self._kind, Counts) is not (
            self.kind == "counts"
        ):
            raise LatentiaError("_kind does not fit the steps")
        needed = ("emissionprob_", "unseen_") if is_symbols else ("means_", "variances_")
        if any(name not in attributes for name in needed) or (chain.variances is None) is not is_symbols:
            raise LatentiaError(f"{needed[0]} is missing")
        if isinstance(self._kind, Symbols):
            if not np.allclose(chain.emissions, self.emissionprob_, rtol=0, atol=of.TOLERANCE):
                raise LatentiaError("_chain.emissions is not emissionprob_")
            alphabets = (self.symbols_, self._kind.alphabet)
            if self.n_features_in_ != 1 or not all((alphabet[:-1] < alphabet[1:]).all() for alphabet in alphabets):
                raise LatentiaError("symbols_ are not in order")
        covariances, public_covariances = chain.covariances, attributes.get("covariances_")
        has_covariances = not is_symbols and self.covariance_type != "diag"
        if (covariances is not None) is not has_covariances or (public_covariances is not None) is not has_covariances:
            raise LatentiaError(f"covariances_ is not that of covariance_type={self.covariance_type!r}")
        if covariances is not None and public_covariances is not None:
            check_covariances(covariances, "_chain.covariances")
            if np.shape(public_covariances) != (
                covariances.shape[1:] if self.covariance_type == "tied" else covariances.shape
            ):
                raise LatentiaError(f"covariances_ has shape {np.shape(public_covariances)}")


def _expand_columns(model: SpectralHMM, span: ColumnSpan) -> None:
    """Extend means and variances from the fitted columns to all columns."""
    model.means_ = span.points(model.means_)
    model.variances_ = np.maximum(span.variances(model.variances_), of.MIN_MAGNITUDE)
    if "covariances_" in vars(model):
        model.covariances_ = span.covariances(model.covariances_)


def _check_carried(kind: Emissions, scaling: Scaling, k: int, by_em: int = 0) -> None:
    """Raise if neither the moments of the columns nor, for vectors, EM can carry the states."""
    max_states, reason, way_out = scaling.max_states, f"only {scaling.reason}", ""
    if not isinstance(kind, Symbols):
        way_out = " by moments alone; without refine=0, EM fits more from clusters"
        if by_em:
            max_states, reason, way_out = max(max_states, by_em), f"there are {by_em} steps", ""
    if k > max_states:
        raise LatentiaError(
            f"{reason}: this data supports at most {max_states} states{way_out}.",
            at_most=max_states, parameter="n_components", value=k,
        )  # fmt: skip


def _collect_starts(model: SpectralHMM, chain: Chain | None, moments: _Moments, part: Subset) -> dict[str, Chain]:
    """Collect the starts of EM: the user's own, or the moments and their rivals."""
    kind, k = moments.kind, model.n_components
    if model.init is not None:
        symbols = isinstance(kind, Symbols)
        initial = build_initial_chain(model.init, k, moments.deviations, symbols, vars(model).get("_span"))
        return {
            "init": kind.build_chain((initial.startprob, initial.transmat, initial.emissions))
            if isinstance(kind, Counts)
            else initial
        }
    starts = {} if chain is None else {"moments": chain.smooth(moments.marginal)}
    if isinstance(kind, Symbols) and _has_many_symbols(moments, k):
        steps = part.source.observed if part.is_whole else part.rows
        starts["classes"] = fit_class_chain(steps, len(kind.alphabet), k, model.n_jobs)
    elif isinstance(kind, Vectors):
        starts["clusters"] = kind.build_cluster_start(part.rows, moments.deviations, k)
    return starts


def _fit_covariances(
    diagonal: _ChainFit, starts: dict[str, Chain], kind: Vectors, deviations: np.ndarray, e_step: Any, steps: Refine
) -> _ChainFit:
    """Run EM for covariance matrices, from the converged diagonal chain or from its starts: the likeliest wins."""
    n_steps = 0

    def climb(start: Chain) -> tuple[float, Refinement]:
        nonlocal n_steps
        update = kind.full_update(start, deviations)
        refinement = converge(update, e_step) if steps == "auto" else refine(update, e_step, steps)
        n_steps += len(refinement.log_likelihood)
        return float(refinement.log_likelihood[-1]), refinement

    won = race({"variances": diagonal.parameters, **starts}, climb)
    start, transmat, means, covariances = won.reached.values
    variances = np.einsum("kii->ki", covariances).copy()
    chain = Chain(start, transmat, means, variances, covariances)
    return replace(diagonal, parameters=chain, refinement=won.reached, n_passes=diagonal.n_passes + n_steps)


def _compare_with_independence(model: SpectralHMM, fitted: Fitted[_Moments, _ChainFit]) -> list[Check]:
    """Check that the fit predicts sampled stretches better than models without states.

    With fits on halves, each predicts stretches of the other half: with many symbols, a penalty for every probability is far
    above what rare symbols add by chance.
    """
    if fitted.rows is None:
        return []
    moments = fitted.moments
    blocks, halves = fitted.rows.observed, [fitted.cached_model(half) for half in moments.folds.splits[0]]
    sample, lines = sample_stretches(blocks, _SAMPLE_STEPS, _SAMPLE_STRETCH), list[Check]()
    rivals = model._kind.score_drifting_steps(sample)
    if None in halves:
        rivals = [
            model._kind.score_independent_steps(sample.table(), moments.marginal, blocks.n_rows, model._chain),
            *rivals,
        ]
    else:
        lines = _compare_on_other_halves(blocks, moments, [half.parameters for half in halves if half is not None])
    total = (
        sum(log_likelihood(*model._kind.recursion_arguments(model._chain, block)) for block in sample)
        if rivals
        else 0.0
    )
    k = len(model.weights_)
    n_fitted = k * (k - 1) + model._kind.n_parameters(model._chain)
    gained = np.full(sample.n_rows, total / sample.n_rows)
    for trivial, n_parameters, against in rivals:
        extra = count_parameters(n_fitted - n_parameters, blocks.n_rows, bool(model.refine))
        lines += trivial_checks(gained, trivial, extra=extra, n_rows=blocks.n_rows, against=against, unit="step")
    return lines


@dataclass(frozen=True)
class _Steps:
    """All steps, and the observed ones, in which missing steps cut sequences; the same blocks if none is missing.

    ``n_passes`` counts the passes for the alphabet. With ``has_gaps``, single cells of vectors are missing.
    """

    all_steps: Blocks
    observed: Blocks
    n_passes: int
    has_gaps: bool = False

    @property
    def lengths(self) -> np.ndarray:
        return np.asarray(self.all_steps.lengths)

    def folds(self, seed: int) -> Folds:
        """Assign steps to four groups of some hundred stretches each."""
        return assign_sequence_folds(self.observed, seed, int(np.clip(self.observed.n_rows // 400, 10, 1000)))

    def group(self, groups: tuple[int, ...], folds: Folds) -> Blocks:
        """Select the steps of some groups for EM."""
        return self.all_steps if groups == folds.all else select_groups(self.observed, groups, folds)


@dataclass(frozen=True)
class _TimeHalves:
    """Two groups of steps: the first half of the data, and the second."""

    n_rows: int
    all: ClassVar[tuple[int, ...]] = (0, 1)

    def of(self, rows: np.ndarray) -> np.ndarray:
        return (2 * np.asarray(rows) >= self.n_rows).astype(np.int64)


@dataclass(frozen=True)
class _ChainFit:
    """Refined chain, its refinement, the winning start, and the number of passes."""

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


class _StartStatistic:
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

    They carry at most ``max_states`` states. ``lengths`` are those of the sequences, and ``observed_lengths`` those of the
    pieces between missing steps. ``share`` is the share of observed cells in each column; None if no single cells are missing.
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
    observed_lengths: np.ndarray
    max_states: int
    share: np.ndarray | None = None

    def sum_groups(self, groups: tuple[int, ...]) -> ViewSums:
        sums = self.statistic.of(self.sums, groups)
        if self.share is None:
            return sums
        return replace(sums, squares={pair: squares * self.share[:, None] for pair, squares in sums.squares.items()})

    @property
    def column_deviations(self) -> np.ndarray:
        """Standard deviations of the columns that enter the moments."""
        return self.deviations if self.share is None else self.deviations / np.sqrt(self.share)

    @property
    def halves(self) -> list[tuple[ViewSums, ViewSums]]:
        return [(self.sum_groups(first), self.sum_groups(second)) for first, second in self.folds.splits]


@dataclass(frozen=True)
class _Recovery:
    """Recovered chain, with its frame and tensor decomposition."""

    chain: Chain
    frame: CommonFrame
    decomposition: Decomposition


def _summarise_columns(
    table: Blocks, has_gaps: bool, options: dict[str, Any]
) -> tuple[ColumnMoments, Blocks, np.ndarray | None]:
    """Summarise columns in one pass: their moments, the table that enters the moments, and shares of observed cells.

    If cells are missing, the returned table replaces the original in moments: see `latentia.moments.observed`.
    """
    if not has_gaps:
        return column_moments(table, **options), table, None
    (columns,) = observed_columns(table, **options)
    return (
        columns.moments,
        table.map(lambda block: [fill_missing(block[0], columns), block[-1]], table.shapes),
        columns.share,
    )


def _build_view_statistic(coordinates: Coordinates, average: np.ndarray, folds: Folds, squares: bool) -> ViewMoments:
    """Build the statistic of the moments of past, step and future; a missing neighbour counts as the average."""
    average = average @ coordinates.basis
    size = coordinates.size + coordinates.basis.shape[1]
    ready = Coordinates(np.zeros(size), np.eye(size), constant=False)  # Past and future are coordinates already.
    return ViewMoments(
        [ready, coordinates, ready],
        lambda block: build_step_views(block, coordinates, average, folds),
        folds.n,
        sketched=(1,),
        squares=squares,
    )


def _has_many_symbols(moments: _Moments, k: int) -> bool:
    """Return True if so many symbols occur that moments are taken in fewer directions."""
    return isinstance(moments.kind, Symbols) and int((moments.marginal > 0).sum()) > 2 * (k + _OVERSAMPLE)


# --- evidence -----------------------------------------------------------------------------------------------------


def _measure_tensor(recovery: _Recovery, moments: _Moments) -> TensorMeasured:
    return TensorMeasured(
        spectrum=recovery.frame.spectrum,
        weights=recovery.decomposition.weights,
        residual=recovery.decomposition.info.residual,
        stable=recovery.decomposition.info.stable,
        samples=moments.sum_groups(moments.folds.all).n,
        noise=frame_noise(recovery.frame, *moments.halves[0]),
        exact=True,
    )


def _compute_misfits(chain: Chain, recovery: _Recovery, moments: _Moments, surplus: bool) -> ViewMisfits:
    """Compute the misfit of the chain to the moments of past, step and future.

    The means of past and future given a state come from the transitions, or from the data and the emissions, whichever
    misfit is smaller: the first are wrong if the start of sequences is special, the second are noisy if states emit nearly
    the same.
    """
    coordinates, sums, halves = moments.statistic.coordinates[1], moments.sum_groups(moments.folds.all), moments.halves
    expected_columns = moments.kind.expected_columns(chain.emissions)
    state_coordinates = coordinates(expected_columns)
    means, weights = means_given_middle(sums, state_coordinates)
    average = (moments.marginal - coordinates.center) @ coordinates.basis
    inside = compute_stationary(chain.transmat)
    past, future = compute_neighbour_means(state_coordinates, average, chain.transmat, inside, moments.observed_lengths)
    tensor = min(
        (
            tensor_residual(recovery.frame, sums, halves, views, weights)
            for views in (means, [past, state_coordinates, future])
        ),
        key=lambda misfit: misfit.residual,
    )
    noise = moments.kind.noise(chain, moments.column_deviations, weights)
    within = None
    if noise is not None:
        within = residual_within_views([coordinates], [noise], sums, halves, [expected_columns], weights, views=[1])
    across = residual_across_views(sums, halves, means, weights)
    if _has_many_symbols(
        moments, len(state_coordinates)
    ):  # Least-squares shares are noise if states are classes of symbols.
        across = min(
            across,
            residual_across_views(sums, halves, [past, state_coordinates, future], inside),
            key=lambda misfit: misfit.residual,
        )
    return ViewMisfits.from_norms(tensor, across, within, surplus)


def _check_changes(changes: np.ndarray, errors: np.ndarray) -> list[Check]:
    """Check that states are the same in both halves of the time."""
    ratio = float(ratio_of(np.median(changes), np.median(errors)))
    return [
        Check(
            "the same over time", "|O_1 - O_2| / 2, of the error", ratio, at_most(_MAX_CHANGE, "times"),
            "Change of the states' emissions between the first and the second half of the data. Errors are at least as large "
            "as the change.", "not in the thesis", "caution",
            "States change over time: fit parts of the data, or remove a trend first.",
        )
    ]  # fmt: skip


def _check_state_split(chain: Chain, moments: _Moments, steps: _Steps) -> tuple[Check, np.ndarray]:
    """Check the gain of splitting a state on sampled stretches; if it is large, also return how far each state then moves."""
    kind = moments.kind
    k = len(chain.startprob)
    sample = sample_stretches(steps.observed, _SAMPLE_STEPS, _SAMPLE_STRETCH)
    basis, is_complete = moments.statistic.coordinates[1].basis, sample.n_rows == steps.observed.n_rows
    gain, split_chain = try_state_split(kind, chain, sample, basis, moments.deviations, is_complete)
    check = Check(
        "one state more", "log-likelihood / parameters", gain / (2 * k + int((moments.marginal > 0).sum()) - 1),
        at_most(_MAX_GAIN, "nats"),
        "Gain of splitting one state in two, after a few steps of EM, per additional parameter. Above the limit a state stands "
        "for several, or steps depend on more than their states.",
        "not in the thesis", "caution",
        f"One more state predicts the steps clearly better: compare with {k + 1}.", k + 1,
    )  # fmt: skip
    misses = (
        np.zeros(k)
        if check.holds
        else kind.nearest_state_distances(chain.emissions, split_chain.emissions, moments.deviations)
    )
    return check, misses


def _weigh_moments(
    refined: _ChainFit, fitted: Fitted[_Moments, _ChainFit], parts: PartErrors
) -> tuple[PartErrors, list[Check]]:
    """Widen errors by the misfit of the moments, and build the checks on moments, if these carry the states."""
    moments = fitted.moments
    if fitted.recovered is None:
        return parts, [_note_missing_moments(moments)]
    measured = _measure_tensor(fitted.recovered, moments)
    separations = moments.kind.state_separations(refined.parameters, moments.deviations)
    misfits = _compute_misfits(refined.parameters, fitted.recovered, moments, measured.surplus)
    refines = len(refined.refinement.log_likelihood) > 0
    lines = [*misfits.checks("states", "past and future", "features", refines), *tensor_checks(measured)]
    return parts.widen(misfits.together(refines).bias(separations), moments.kind.max_distance), lines


def _note_missing_moments(moments: _Moments) -> Check:
    """Build the check that says why those on moments are missing."""
    return Check(
        "states by moments", "states", float(moments.max_states), None,
        "The moments carry fewer states than requested, or not clearly: EM starts from clusters alone, and the lines on "
        "moments are missing.", "not in the thesis",
    )  # fmt: skip


def _build_checks(
    refined: _ChainFit, moments: _Moments, parts: PartErrors, moment_checks: list[Check], shares: np.ndarray
) -> list[Check]:
    chain, n = refined.parameters, moments.sum_groups(moments.folds.all).n
    return [
        *moments.kind.checks(chain, moments.deviations, parts, n),
        *_check_missing_cells(moments.share),
        *moment_checks,
        *convergence_checks(refined.refinement),
        Check(
            "smallest singular value of T", "sigma_K(T)", float(np.linalg.svd(chain.transmat, compute_uv=False)[-1]),
            above(_MIN_SINGULAR), "Near zero, the steps before and after do not distinguish some states.",
            "Proposition 7.6",
        ),
        Check(
            "least visited state", "min w_k", float(shares.min()), None,
            f"Share of the steps: {shares.min() * n:.0f} of them.", "Proposition 7.6",
        ),
    ]  # fmt: skip


def _check_missing_cells(share: np.ndarray | None) -> list[Check]:
    """Build the check on single missing cells, if there are any."""
    if share is None:
        return []
    meaning = (
        "EM and likelihoods skip them, and moments give the other cells more weight. Whether a cell is missing must not depend "
        "on its value, nor on other missing cells."
    )
    return [Check("missing cells", "share", float(1 - share.mean()), None, meaning, "not in the thesis")]


def _check_hidden_cells(model: SpectralHMM, fitted: Fitted[_Moments, _ChainFit]) -> list[Check]:
    """Check whether single cells of vectors are missing because of their value."""
    if fitted.moments.share is None or fitted.rows is None:
        return []
    (sample,) = sample_stretches(fitted.rows.all_steps, _SAMPLE_STEPS, _SAMPLE_STRETCH)
    rows, lengths = sample[0], sample[-1]

    def expect(observed: np.ndarray, others: np.ndarray) -> np.ndarray:
        (steps,) = Blocks.from_array(np.where(observed, rows, np.nan), lengths=lengths)
        posterior = forward_backward(*model._kind.recursion_arguments(model._chain, steps))[1]
        return np.asarray(posterior @ model._chain.emissions[:, others])

    return missing_checks(rows, expect, model._seed)


def _measure_changes(chain: Chain, moments: _Moments, steps: _Steps, n_jobs: int | None) -> np.ndarray:
    """Measure half of the distance of each state's emissions between the halves of the time, shape (K,).

    Random groups contain all times, and agree even if states change; so compare one step of EM on each half of the time. For
    constant states the distance is about the error. States that hardly occur in one of the halves are not compared.
    """
    kind, emissions, visits = moments.kind, [], []
    order = _TimeHalves(steps.all_steps.n_rows)
    for half in order.all:
        update = kind.update(chain, moments.deviations)
        sums = over(select_groups(steps.all_steps, (half,), order), n_jobs)(update, 0)
        emissions.append(estimate_values(update, sums)[2])
        visits.append(sums.transitions.sum(axis=1))
    is_compared = np.min(visits, axis=0) >= _MIN_HALF_SHARE * np.sum(visits, axis=0)
    return np.where(is_compared, 0.5 * kind.distances_by_number(emissions[0], emissions[1], moments.deviations), 0.0)


def _compare_on_other_halves(blocks: Blocks, moments: _Moments, parts: list[Chain]) -> list[Check]:
    """Compare fits on halves, each on stretches of the other half; symbols are mixed with 1% of all frequencies."""
    gained, trivial, against = [], [], ""
    for part, half in zip(parts, reversed(moments.folds.splits[0]), strict=True):
        sample = sample_stretches(select_groups(blocks, half, moments.folds), _SAMPLE_STEPS, _PIECE_STEPS)
        chain = part.smooth(moments.marginal)
        independent, _, against = moments.kind.score_independent_steps(
            sample.table(), moments.marginal, blocks.n_rows, chain
        )
        pieces = [piece for block in sample for piece in _split_sequences(block)]
        gained += [log_likelihood(*moments.kind.recursion_arguments(chain, piece)) / len(piece[0]) for piece in pieces]
        trivial += [
            float(scores.mean())
            for scores in np.split(independent, np.cumsum([len(piece[0]) for piece in pieces])[:-1])
        ]
    return trivial_checks(
        np.array(gained), np.array(trivial), extra=0, n_rows=blocks.n_rows, against=against, unit="step"
    )


def _split_sequences(block: Block) -> Iterator[Block]:
    """Yield the sequences of a block, one by one."""
    ends = np.cumsum(block[-1])
    for start, end in zip(ends - block[-1], ends, strict=True):
        yield Block.from_parts([*(part[start:end] for part in block[:-1]), np.array([end - start])])
