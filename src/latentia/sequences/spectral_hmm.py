"""Hidden Markov models by tensor decomposition.

Model. A chain of K states starts in state i with probability pi_i and moves from i to j with probability T_ij. In
state i it shows the symbol x with probability O_ix, or a vector with mean O_i and independent Gaussian features.
Given the state of step t + 1, the steps t, t + 1 and t + 2 are independent views, and the means of the middle one are
the rows of O.

Source: R. Ge, Provable Algorithms for Machine Learning Problems, thesis, Princeton 2013, section 7.3.3, Proposition
7.6.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._validation import check_choices, check_splits, check_whole, seed_of
from ..evidence import (
    EVERYONE,
    HALVES,
    Check,
    Evidence,
    PartErrors,
    TensorMeasured,
    error_checks,
    errors_from_groups,
    separation_limit,
    tensor_checks,
)
from ..exceptions import LatentiaError
from ..metrics import nearest_distances
from ..moments import (
    CommonFrame,
    Coordinates,
    GaussianChainUpdate,
    SymbolChainUpdate,
    ViewMoments,
    ViewSums,
    column_moments,
    common_frame,
    forward_backward,
    frame_noise,
    gaussian_log_density,
    lagged_coordinates,
    log_likelihood,
    one_hot_blocks,
    past_and_future,
    viterbi,
)
from ..passes import Block, Blocks, accumulate
from ..simplex import distributions, simplex_least_squares
from ..tensor import Decomposition, decompose
from ._chain import Chain, stationary
from ._steps import alphabet, as_table, encoded, has_symbols, long_enough, stretches, vectors

__all__ = ["SpectralHMM"]

_OVERSAMPLE = 12
_TRUSTED = 0.4  # l1 error of a state's symbols, of a possible 2
_FLOOR = 0.02  # of a feature's variance: its least variance in a state
_PRIOR = 0.01  # pseudo-counts of a transition and of a symbol in EM


class SpectralHMM(BaseEstimator):
    """Hidden Markov model by tensor decomposition: deterministic, some passes, error bars for every state.

    When to choose it: sequences of symbols or of vectors where Baum-Welch from random starts ends somewhere else each
    time. It needs some thousands of steps, states that are each visited, and emissions that are linearly independent
    (for vectors: means that are affinely independent, so at least K - 1 features), and a transition matrix of full
    rank: states that are told apart by their neighbours as well as by themselves.

    Parameters
    ----------
    n_components : int, default=4
        Number of states K.
    kind : {"auto", "symbols", "vectors"}, default="auto"
        What the steps are. "auto" takes strings and a single column of integers as symbols, all else as vectors.
    n_symbols : int, optional
        Size of the alphabet, where integers stand for symbols; by default one more than the largest.
    refine : int, default=0
        Passes of EM (Baum-Welch), started from the moments. Outside the theorem; 5 to 10 are mostly enough for the
        accuracy of maximum likelihood. Its error bars hold half of the data in memory.
    n_splits : int, default=3
        Splits of the steps into halves, at most 3, whose fits give the error bars; they cost no pass over the data,
        but with ``refine`` one is made and costs as much as refining itself. 0 gives up the error bars.
    random_state : int, default=0
        Seed of the starts and splits; None or a RandomState draws one.
    n_jobs : int, optional
        Threads; the result has the same bits for any number.
    verbose : bool, default=False
        Show progress and the time that remains.

    Attributes
    ----------
    startprob_ : ndarray of shape (K,)
        Distribution of the first state. With fewer than ten sequences a state, that of any step.
    transmat_ : ndarray of shape (K, K)
        Row i: where state i moves; rows sum to one.
    emissionprob_ : ndarray of shape (K, S)
        Symbol probabilities of the states; rows sum to one. For symbols.
    means_, variances_ : ndarray of shape (K, D)
        Of the features in each state. For vectors.
    weights_ : ndarray of shape (K,)
        Share of the steps in each state, the largest first.
    symbols_ : ndarray of shape (S,)
        The symbols: column x of ``emissionprob_`` belongs to ``symbols_[x]``.
    evidence_ : Evidence
        Checks of the assumptions, and the expected error of each state (``component_errors``): for symbols the l1
        distance of its distribution, of a possible 2; for vectors the l2 distance of its mean in standard deviations
        of the features.
    n_passes_ : int
        Passes over the data.

    Notes
    -----
    Differences from the thesis:

    1. Its transition matrix is column-stochastic; ``transmat_`` is row-stochastic.
    2. The three views are symmetrised together and reduced to K dimensions by their cross moments (see
       `latentia.moments`): emissions need not be square. For vectors a constant is appended.
    3. Transitions come from E[x_t x_t+1^T] = O^T J O with the joint distribution J of two states, where the thesis
       reads them off the third view's means; negative entries are cut.
    4. With more than 2 (K + 12) symbols the moments are taken in the K + 12 leading directions in which steps tell of
       their neighbours, symbols being weighted by the fourth root of their inverse frequency: by the root, as for
       documents, rare ones drown the others in noise. Eight passes.
    5. All steps of a sequence are used, as if it were stationary; the thesis takes the first three of many sequences.
    6. For vectors, variances of features come from E[x^2 | state], as the means do.
    7. ``refine`` is Baum-Welch with .01 pseudo-counts. Likelihoods and EM use distributions mixed with 1% of the
       symbols' frequencies (and of the states', for transitions), so that nothing is impossible.

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

    _compared = ("_emissions", "_scale", "symbols_", "_vectors")
    _vectors: bool
    symbols_: np.ndarray

    def __init__(
        self,
        n_components: int = 4,
        *,
        kind: Literal["auto", "symbols", "vectors"] = "auto",
        n_symbols: int | None = None,
        refine: int = 0,
        n_splits: int = 3,
        random_state: int = 0,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.kind = kind
        self.n_symbols = n_symbols
        self.refine = refine
        self.n_splits = n_splits
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # --- fitting ------------------------------------------------------------------------------------------------

    def fit(self, X: Any, lengths: Any = None) -> SpectralHMM:
        """Learn the chain.

        Parameters
        ----------
        X : array-like of shape (n_steps,) or (n_steps, 1) of symbols, or (n_steps, D) of numbers, or Blocks with lengths
            Sequences one after another.
        lengths : array-like of int, shape (n_sequences,), optional
            Lengths of the sequences, in order; by default there is one.

        Returns
        -------
        self
        """
        self._check_parameters()
        blocks = self._read(X, lengths, reset=True)
        moments, sums, starts = self._moments(blocks)
        frame, decomposition, found = self._recover(moments.of(sums, EVERYONE), starts)
        chain = self._refine(found, blocks).sorted()

        def fit_part(groups: tuple[int, ...]) -> np.ndarray:
            part = stretches(blocks, groups, self._seed, self._stretch) if self.refine else blocks
            return self._refine(self._recover(moments.of(sums, groups), starts)[-1], part).emissions

        parts = errors_from_groups(
            fit_part,
            lambda emissions: self._nearest(chain.emissions, emissions),
            self.n_splits,
            cheap=not self.refine,
            most=np.inf if self._vectors else 2.0,
        )
        self._finish(chain)
        return self._weigh_evidence(frame, decomposition, moments, sums, parts)

    def _moments(self, blocks: Blocks) -> tuple[ViewMoments, Any, StartSums]:
        """Moments of three consecutive steps, and the symbols or vectors at which sequences start."""
        options: dict[str, Any] = {"n_jobs": self.n_jobs, "progress": self.verbose}
        rows = blocks if self._vectors else one_hot_blocks(blocks, len(self.symbols_))
        columns = column_moments(rows, **options)
        width = len(columns.mean)
        self._marginal = columns.mean
        if self._vectors:
            seen = columns.variance > 0
            center, self._scale = columns.mean, np.sqrt(np.where(seen, columns.variance, 1.0))
            scale = seen / self._scale
            most = int(seen.sum()) + 1
            why = f"{int(seen.sum())} of {width} features vary"
        else:
            seen = columns.mean > 0
            center, self._scale = np.zeros(width), np.ones(width)
            scale = np.where(seen, np.where(seen, columns.mean, 1.0) ** -0.25, 0.0)
            most = int(seen.sum())
            why = f"{most} different symbols occur" if most > 1 else "one symbol occurs"
        if self.n_components > most:
            raise LatentiaError(
                f"n_components={self.n_components}, but only {why}: this data supports at most n_components={most}."
            )
        coordinates, n_passes = lagged_coordinates(
            rows,
            self.n_components + _OVERSAMPLE,
            center,
            scale,
            constant=self._vectors,
            random_state=self._seed,
            **options,
        )
        self._stretch = _stretch(blocks)
        average = (columns.mean - center) @ coordinates.basis
        size = coordinates.size + coordinates.basis.shape[1]
        ready = Coordinates(np.zeros(size), np.eye(size), constant=False)  # past and future come in coordinates
        moments = ViewMoments(
            [ready, coordinates, ready],
            lambda block: past_and_future(block, coordinates, average, 4, self._seed, self._stretch),
            sketched=(1,),
            squares=self._vectors,
        )
        self.n_passes_ = n_passes + 2 + self.refine
        starts = _Starts(coordinates)
        sums, first = accumulate(rows, [moments, starts], **options)
        return moments, sums, first

    def _recover(self, m: ViewSums, starts: StartSums) -> tuple[CommonFrame, Decomposition, Chain]:
        """Emissions from the middle view, transitions from neighbours."""
        frame = common_frame(m, self.n_components)
        decomposition = decompose(frame.tensor, self.n_components, self._seed)
        v = decomposition.vectors
        emissions, variances = frame.mean_given(m.sketches, 1, v), None
        if self._vectors:
            square = frame.mean_given(m.squares, 1, v)
            variances = np.maximum(square - (emissions - self._marginal) ** 2, _FLOOR * self._scale**2)
        else:
            emissions = distributions(emissions, self._marginal)
        seen = starts.coordinates(emissions)
        inverse = np.linalg.pinv(seen)
        d = starts.coordinates.size
        neighbours = m.pairs[0, 1][:d] + m.pairs[1, 2][:, :d]
        joint = np.maximum(inverse.T @ neighbours @ inverse, 0)
        shares = joint.sum(axis=0) + joint.sum(axis=1)
        shares = shares / shares.sum() if shares.sum() > 0 else frame.weights(v)
        transmat = distributions(joint, shares)
        startprob = shares
        if starts.n >= 10 * self.n_components:
            target = starts.total / starts.n
            startprob = simplex_least_squares(target[None], seen, tol=1e-6)[0]
        return frame, decomposition, Chain(startprob, transmat, emissions, variances)

    def _refine(self, chain: Chain, blocks: Blocks) -> Chain:
        for step in range(self.refine):
            label = self.verbose and f"refining {step + 1} of {self.refine}"
            chain = chain if step else chain.smoothed(self._marginal)
            if self._vectors:
                assert chain.variances is not None
                of_vectors = GaussianChainUpdate(chain.startprob, chain.transmat, chain.emissions, chain.variances)
                sums = accumulate(blocks, of_vectors, self.n_jobs, progress=label)
                chain = Chain(*of_vectors.updated(sums, _FLOOR * self._scale**2, _PRIOR))
            else:
                of_symbols = SymbolChainUpdate(chain.startprob, chain.transmat, chain.emissions)
                chain = Chain(*of_symbols.updated(accumulate(blocks, of_symbols, self.n_jobs, progress=label), _PRIOR))
        return chain

    def _finish(self, chain: Chain) -> None:
        for name in ("emissionprob_", "means_", "variances_"):
            if hasattr(self, name):
                delattr(self, name)
        self.startprob_, self.transmat_, self._emissions = chain.startprob, chain.transmat, chain.emissions
        self.weights_ = stationary(chain.transmat)
        if self._vectors:
            self.means_, self.variances_ = chain.emissions, chain.variances
        else:
            self.emissionprob_ = chain.emissions

    def _nearest(self, emissions: np.ndarray, other: np.ndarray) -> np.ndarray:
        if self._vectors:
            return cdist(emissions / self._scale, other / self._scale).min(axis=1)
        return nearest_distances(emissions, other)

    def _distances(self, other: SpectralHMM) -> np.ndarray:
        if self._vectors:
            return self._nearest(self._emissions, other._emissions)
        together = np.union1d(self.symbols_, other.symbols_)
        spread = []
        for model in (self, other):
            table = np.zeros((len(model._emissions), len(together)))
            table[:, np.searchsorted(together, model.symbols_)] = model._emissions
            spread.append(table)
        return nearest_distances(*spread)

    def _halves(self, X: Any, random_state: int, lengths: Any = None) -> list[dict[str, Any]]:
        """Arguments of `fit` for two halves, made of stretches of the sequences."""
        model = SpectralHMM(**self.get_params())
        model._seed = random_state
        blocks = model._read(X, lengths, reset=True)
        halves = []
        for groups in HALVES[0]:
            half = stretches(blocks, groups, random_state, _stretch(blocks))
            rows = half.table()
            halves.append({"X": rows if model._vectors else model.symbols_[rows.ravel()], "lengths": half.lengths})
        return halves

    def _weigh_evidence(
        self,
        frame: CommonFrame,
        decomposition: Decomposition,
        moments: ViewMoments,
        sums: Any,
        parts: PartErrors,
    ) -> SpectralHMM:
        weights, _, info = decomposition
        first, second = (moments.of(sums, half) for half in HALVES[0])
        measured = TensorMeasured(
            spectrum=frame.spectrum,
            weights=weights,
            residual=info.residual,
            stable=info.stable,
            samples=moments.of(sums, EVERYONE).n,
            noise=frame_noise(frame, first, second),
        )
        if self._vectors:
            scaled = self._emissions / self._scale
            limit = separation_limit(scaled, "euclidean") if self.n_components > 1 else 1.0
            unit = "in l2 and standard deviations of the features"
            checks = error_checks(parts, limit, "mean |O_k - O'_k|_2", unit, "state")
        else:
            limit = separation_limit(self._emissions, "cityblock", _TRUSTED)
            checks = error_checks(parts, limit, "mean |O_k - O'_k|_1", "in l1, of a possible 2", "state")
        memory = float(np.linalg.svd(self.transmat_, compute_uv=False)[-1])
        checks += [
            *tensor_checks(measured),
            Check(
                "smallest singular value of T", "sigma_K(T)", memory, "> 0", memory > 1e-3,
                "Near zero, some states cannot be told apart by what comes before and after them.", "Proposition 7.6",
            ),
            Check(
                "least visited state", "min w_k", float(self.weights_.min()), "", None,
                f"Share of the steps: {self.weights_.min() * measured.samples:.0f} of them.", "Proposition 7.6",
            ),
        ]  # fmt: skip
        self.evidence_ = Evidence(checks, parts.errors).bind(self)
        return self

    # --- use ----------------------------------------------------------------------------------------------------

    def predict(self, X: Any, lengths: Any = None) -> np.ndarray:
        """Most probable path of states (Viterbi), shape (n_steps,)."""
        return self.decode(X, lengths)[1]

    def decode(self, X: Any, lengths: Any = None) -> tuple[float, np.ndarray]:
        """Log-probability of the most probable path together with the steps, and the path, shape (n_steps,)."""
        found = [viterbi(*chain) for chain in self._chains(X, lengths)]
        return float(sum(value for _, value in found)), np.concatenate([states for states, _ in found])

    def predict_proba(self, X: Any, lengths: Any = None) -> np.ndarray:
        """Probabilities of the states at every step given whole sequences (smoothing), shape (n_steps, K)."""
        return np.vstack([forward_backward(*chain)[1] for chain in self._chains(X, lengths)])

    def score(self, X: Any, lengths: Any = None) -> float:
        """Log-likelihood of all steps together, in nats. Higher is better."""
        return float(sum(log_likelihood(*chain) for chain in self._chains(X, lengths)))

    def sample(self, n_samples: int = 100, random_state: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Draw a sequence: symbols (n_samples,) or vectors (n_samples, D), and the states (n_samples,)."""
        check_is_fitted(self)
        rng = np.random.default_rng(random_state)
        draws = rng.random(n_samples)
        states = np.empty(n_samples, np.int64)
        cumulated = np.cumsum(np.vstack([self.transmat_, self.startprob_]), axis=1)
        state = self.n_components  # the last row: where a sequence starts
        for t, draw in enumerate(draws):
            state = min(int(np.searchsorted(cumulated[state], draw, side="right")), self.n_components - 1)
            states[t] = state
        if self._vectors:
            noise = rng.standard_normal((n_samples, self.n_features_in_))
            return self.means_[states] + np.sqrt(np.asarray(self.variances_)[states]) * noise, states
        emitted = (np.cumsum(self.emissionprob_, axis=1)[states] < rng.random(n_samples)[:, None]).sum(axis=1)
        return self.symbols_[np.minimum(emitted, len(self.symbols_) - 1)], states

    def _chains(self, X: Any, lengths: Any) -> Iterator[tuple[Any, ...]]:
        """Arguments of the recursions, block by block."""
        check_is_fitted(self)
        blocks = self._read(X, lengths, reset=False)
        variances = self.variances_ if self._vectors else None
        chain = Chain(self.startprob_, self.transmat_, self._emissions, variances).smoothed(self._marginal)
        return (self._arguments(chain, block) for block in blocks)

    def _arguments(self, chain: Chain, block: Block) -> tuple[Any, ...]:
        if self._vectors:
            density = gaussian_log_density(block[0], chain.emissions, np.asarray(chain.variances))
            return chain.startprob, chain.transmat, density, block[-1]
        return chain.startprob, chain.transmat, np.log(chain.emissions.T), block[-1], block[0].ravel()

    # --- helpers ------------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        check_whole(self, n_components=1, refine=0)
        check_choices(self, kind=("auto", "symbols", "vectors"))
        if self.n_symbols is not None:
            check_whole(self, n_symbols=1)
        check_splits(self, "steps")
        self._seed = seed_of(self.random_state)

    def _read(self, X: Any, lengths: Any, reset: bool) -> Blocks:
        """Steps as blocks of symbol numbers (n, 1) or vectors (n, D), with the lengths of the sequences."""
        table = as_table(X, lengths)
        if reset:
            self._vectors = not has_symbols(table, self.kind)
            self.__dict__.pop("symbols_", None)
            self.n_features_in_ = table.shape[1]
        elif table.shape[1] != self.n_features_in_:
            raise LatentiaError(f"X has {table.shape[1]} features and the model was fitted on {self.n_features_in_}.")
        if not self._vectors and reset:
            self.symbols_ = alphabet(X, table, self.n_symbols)
        if isinstance(X, Blocks):
            if not self._vectors and self.symbols_.dtype.kind not in "iu":
                raise LatentiaError(
                    "The model was fitted on strings, and Blocks hold numbers: give strings as an array."
                )
            blocks = X
        else:
            values = vectors(table) if self._vectors else encoded(table, self.symbols_)
            blocks = Blocks.from_array(values, lengths=[len(values)] if lengths is None else lengths)
        return long_enough(blocks) if reset else blocks


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


def _stretch(blocks: Blocks) -> int:
    """Neighbouring steps that are dealt together: some hundred stretches a group."""
    return int(np.clip(blocks.n_rows // 400, 10, 1000))
