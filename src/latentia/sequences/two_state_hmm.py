"""Hidden Markov chains of two states over large alphabets, from few steps per symbol.

Model. A chain of two states with stationary shares pi and transitions T shows the symbol x in state i with probability
p_i(x). Neighbouring symbols have the joint distribution

    B = rho rho^T + pi_1 pi_2 lambda delta delta^T,    delta = p_1 - p_2,    lambda = T_11 + T_22 - 1,

so that one eigenpair of the scaled counts gives delta's direction, and scores y along it have the centred moments

    c_1 = E[y_t y_t+1] = lambda v,  c_2 = E[y_t y_t+2] = lambda^2 v,  c_3 = E[y_t y_t+1 y_t+2] = lambda^2 (pi_2 - pi_1) Delta v,

with Delta = E[y | 1] - E[y | 2] and v = pi_1 pi_2 Delta^2. Hence

    lambda = c_2 / c_1,    Delta^2 = (c_3 / c_2)^2 + 4 c_1 / lambda,    pi_2 - pi_1 = (c_3 / c_2) / Delta.

Source: Q. Huang, S. Kakade, W. Kong, G. Valiant, Recovering structured probability matrices, ITCS 2018, Proposition 1.4
and appendix C.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np

from .. import _fields as of
from .._parameters import Choice, Integer, Number, OrNone, Seed, seed_of
from ..evidence import (
    Check,
    PartErrors,
    convergence_checks,
    mean_cosine,
)
from ..exceptions import EvidenceWarning, LatentiaError, warn
from ..fitting.base import check_size, fitted, fitting
from ..fitting.stages import Fitted, Subset
from ..likelihood import Refine, Refined, Refinement, log, over, refine
from ..moments import CountSums
from ..passes import Blocks, Folds
from ._chain import Chain, compute_stationary, symbol_distances
from ._kept import AdditiveSequences, assign_folds_by_content, check_symbols, count_pairs, steps_from_sums
from ._methods import ChainMethods
from ._pair_evidence import ChainMeasurements, PairFit, best_test, build_chain_checks
from ._pair_method import PairMethod, PairRecovery, Steps, TwoStateRecovery, count_steps
from ._steps import (
    check_lengths,
    cut_sequences,
    encode_symbols,
    find_alphabet,
    has_symbols,
    read_all_steps,
    sequence_blocks,
)
from .recursions import log_likelihood
from .updates import EmissionUpdate

_MAX_SYMBOLS = 200  # Their triples in four groups of steps take 128 MB.
_UNIFORM_SHARE = 0.01  # share of EM's pseudo-steps that is spread evenly over the symbols
_MOMENT_WEIGHT = 0.1  # weight of the moments' symbols in EM, as a share of the number of steps


class TwoStateHMM(ChainMethods, AdditiveSequences[Steps, Refined]):
    """Hidden Markov model of two states over a large alphabet, fitted by moments of pairs and triples of steps.

    The fit is deterministic, and reports when there is no second state.

    Choose it for a switch between two regimes that differ in many symbols, each of which occurs a few to some hundred times,
    where Baum-Welch follows the noise. It needs about 5 M steps for M symbols: from M steps no test distinguishes the chain
    from independent draws with probability above 0.71 (`latentia.evidence.bounds.two_state_detection`), and ``detected_`` is
    False. For more states, or some tens of symbols, use `SpectralHMM`.

    Parameters
    ----------
    n_components : int, default=2
        Number of states; always 2.
    n_symbols : int, optional
        Size of the alphabet M, where integers stand for symbols; by default one more than the largest.
    method : {"moments", "cubic"}, default="moments"
        "cubic" is the paper's equation for a symmetric chain on two super-words.
    cross_fit : int, default=4
        Number of parts of the steps; the scores of each part are along the direction of the other parts. 1 uses all steps for
        both, which biases the transitions if the data is short.
    tau : float, default=0.3
        Symbols are scaled as if each had occurred tau N / M more times.
    refine : int or "auto", default="auto"
        EM from the moments for the symbols, with fixed transitions: "auto" makes accelerated steps until they converge, a
        number that many plain steps. 0 keeps to the theorem, and so does "auto" for the cubic. See ``refinement_``, and *EM
        has converged* in the evidence.
    pseudo_counts : float, default=0.2
        With ``refine``: pseudo-steps per symbol that each state gets, in proportion to the symbols' frequencies. In addition,
        the moments' symbols count as a tenth as many steps as the data.
    n_splits : int, default=1
        With 0 no errors are measured. Expected errors are those of the moments, from halves of the steps; EM makes the true
        errors a little smaller.
    keep_moments : bool, default=False
        Whether to keep counts of pairs and triples of symbols, of at most 200, so that sequences can be added (`partial_fit`),
        taken away (`forget`), and models merged (`latentia.merge`): 4 M^3 bytes and 24 M^2 for each part, 132 MB at most. The
        answer is then the theorem's.
    random_state : int, default=0
        Seed of the eigenvectors' start. None or a RandomState draws a seed.
    n_jobs : int, optional
        Number of threads. Results are bitwise identical for any value.
    verbose : bool or int, default=False
        Show a progress bar for each step of EM.

    Attributes
    ----------
    detected_ : bool
        True if the chain differs from independent draws: its eigenvalue is above the edge of the noise, and neighbours'
        scores agree on held-out steps by three standard deviations. Otherwise both states have the symbols' frequencies.
    startprob_, weights_ : ndarray of shape (2,)
        Stationary shares, in decreasing order.
    transmat_ : ndarray of shape (2, 2)
        Transition probabilities; rows sum to one.
    emissionprob_ : ndarray of shape (2, M)
        Symbol probabilities of the states; rows sum to one.
    eigenvalue_ : float
        lambda, the second eigenvalue of T.
    spectrum_ : ndarray of shape (1,)
        Leading eigenvalue of the scaled counts.
    noise_level_ : float
        The edge of the noise of such eigenvalues.
    symbols_ : ndarray of shape (M,)
        The symbols: column x of ``emissionprob_`` belongs to ``symbols_[x]``.
    moments_ : Sums
        Kept counts: ``moments_.n_bytes`` is their size, ``moments_.n_rows`` the number of rows.
    evidence_ : Evidence
        Checks of the assumptions, and the expected l1 error of each state's symbols (``component_errors``),
        from 0 to 2. They grow with the part of the pairs that two states do not explain; copies of steps count once.
    refinement_ : ndarray of shape (n_steps,)
        Log-likelihood of the steps at every step of EM, in nats.
    n_iter_ : int
        Number of steps of refinement.
    converged_ : bool
        True if further steps would gain only a negligible amount; only ``refine="auto"`` checks this.
    n_passes_ : int
        Number of passes over the data.

    Notes
    -----
    Differences from the paper:

    1. delta's direction comes from the shrunk scaled spectrum (`latentia.linalg.scaled`), not from bins.
    2. The chain may be asymmetric, by c_3. No cubic is needed.
    3. The paper's cubic for a symmetric chain, with super-words S = {delta > 0} and its complement, has the root lambda = 0
       twice: eliminating P(S | i) leaves P(SSS) - m^3 = m c_1 (2 + lambda), which "cubic" solves.
    4. The paper's B - rho rho^T = (1/2 - t) delta delta^T lacks a factor 1/2, and W is 1/2 [[1 - t, t], [t, 1 - t]].
    5. Scores are along a direction fitted on other steps (cross-fitting), in place of the paper's independent batches.
    6. If lambda exceeds 0.65, the direction is fitted again on pairs at lags one, two and three, whose scaled counts are added
       with the weights 1, lambda and lambda^2.
    7. ``refine`` and ``detected_`` are not in the paper. For states that differ little, maximum likelihood alone gives worse
       symbols than the moments; shrunk towards the moments it gives better ones.

    References
    ----------
    Q. Huang, S. Kakade, W. Kong, G. Valiant, ITCS 2018, Proposition 1.4, Theorem 1.5, Corollary 1.6.

    Examples
    --------
    >>> from latentia.datasets import planted
    >>> from latentia.sequences import TwoStateHMM
    >>> chain = planted.two_state_chain(20_000, n_symbols=200)
    >>> model = TwoStateHMM().fit(chain.symbols)
    >>> model.detected_
    True
    """

    _constraints: ClassVar = {
        "n_components": Integer(2, 2, because="this model has two states: use SpectralHMM for others"),
        "n_symbols": OrNone(Integer(1)),
        "method": Choice("moments", "cubic"),
        "cross_fit": Integer(1),
        "tau": Number(0),
        "pseudo_counts": Number(0),
        "n_splits": Integer(0),
    }
    _compared = ("emissionprob_", "symbols_")
    _nouns = ("state", "states", "steps")
    emissionprob_: Annotated[np.ndarray, of.distributions("K S")]
    symbols_: Annotated[np.ndarray, of.symbols("S")]
    noise_level_: Annotated[float, of.number(0.0)]
    spectrum_: Annotated[np.ndarray, of.numbers("*")]
    eigenvalue_: Annotated[float, of.number()]
    detected_: bool
    _marginal: Annotated[np.ndarray, of.shares("S")]

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_symbols: int | None = None,
        method: Literal["moments", "cubic"] = "moments",
        cross_fit: int = 4,
        tau: float = 0.3,
        refine: Refine = "auto",
        pseudo_counts: float = 0.2,
        n_splits: int = 1,
        keep_moments: bool = False,
        random_state: Seed = 0,
        n_jobs: int | None = None,
        verbose: int = False,
    ) -> None:
        self.n_components = n_components
        self.n_symbols = n_symbols
        self.method = method
        self.cross_fit = cross_fit
        self.tau = tau
        self.refine = refine
        self.pseudo_counts = pseudo_counts
        self.n_splits = n_splits
        self.keep_moments = keep_moments
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # --- fitting ------------------------------------------------------------------------------------------------

    @fitting
    def fit(self, X: Any, lengths: Any = None) -> TwoStateHMM:
        """Learn the chain.

        Parameters
        ----------
        X : array-like of shape (n_steps,) or (n_steps, 1) of symbols, or Blocks with lengths
            Sequences one after another.
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

    def _assign_folds(self, rows: _Sequences) -> Folds:
        return Folds(self.cross_fit, self._seed)

    def _assign_content_folds(self, rows: _Sequences) -> Folds:
        return assign_folds_by_content(rows.blocks, self.cross_fit)

    def _sums(self, rows: _Sequences, folds: Folds, like: Any) -> CountSums:
        check_symbols(len(self.symbols_), _MAX_SYMBOLS)
        return count_pairs(rows.blocks, folds, len(self.symbols_))

    def _moments_from_sums(self, sums: CountSums) -> Steps:
        return steps_from_sums(sums)

    def _moments(self, rows: _Sequences, folds: Folds) -> Steps:
        """Count pairs of steps at lags one, two and three in each stretch."""
        return count_steps(rows.symbols, rows.lengths, folds.n, len(self.symbols_))

    def _recover(self, moments: Steps, subset: Subset, choices: Any) -> TwoStateRecovery:
        """Recover the direction of the states' difference, and the moments of the scores along it (Theorem 1.5).

        Neighbours decide whether there is a chain; if its memory is long, larger lags improve its symbols.
        """
        if np.count_nonzero(moments.occurrences) < 2:
            raise LatentiaError("Expected several symbols; all steps have the same one, so that states cannot differ.")
        method = self._pairs
        first = method.recover(moments, (1.0,))
        return TwoStateRecovery(
            first, method.recover_from_distant(moments, first) if method.is_strong(first) else first.drop_chain()
        )

    def _refine(self, recovered: TwoStateRecovery, moments: Steps, subset: Subset, choices: Any) -> Refined:
        """Refine the symbols by EM."""
        if recovered.chain is None:
            return Refined(self._build_independent_chain(recovered.first, moments.marginal), Refinement.no_steps())
        return self._run_em(recovered.chain, moments.marginal, subset.source)

    def _set_fitted_attributes(self, fitted: Fitted[Steps, Refined]) -> None:
        first: PairRecovery = fitted.recovered.first
        chain: Chain = fitted.model.parameters
        self._marginal, self.detected_ = fitted.moments.marginal, fitted.recovered.chain is not None
        self.noise_level_, self.spectrum_ = first.space.edge, np.array([first.eigenvalue])
        self.startprob_, self.transmat_, self.emissionprob_ = chain.startprob, chain.transmat, chain.emissions
        self.weights_ = compute_stationary(self.transmat_) if self.detected_ else chain.startprob
        self.eigenvalue_ = float(np.trace(self.transmat_) - 1)
        self._set_refinement_attributes(fitted.model.refinement)
        self.n_passes_ = 1 + len(self.refinement_)

    def _checks(self, fitted: Fitted[Steps, Refined]) -> tuple[list[Check], PartErrors]:
        """Check the fit of the pairs, expected errors, the theorem's assumptions, and a model without states."""
        learned: TwoStateRecovery = fitted.recovered
        steps: Steps = fitted.moments
        first, chain = learned.first, learned.chain
        fit = None if chain is None else self._pairs.compare_pairs(first, chain, steps)
        parts = self._expected_errors(learned.final, fitted.model.parameters, steps, fit)
        measured = ChainMeasurements(
            parts, fit, best_test(steps.occurrences, steps.lengths, chain), first.eigenvalue, self.noise_level_,
            first.moments.deviations,
            self.cross_fit > 1, self.eigenvalue_, _measure_separation(self.emissionprob_), chain,
            first.moments.share_difference if self.method == "cubic" and self.detected_ else None,
        )  # fmt: skip
        against = [] if chain is None else self._pairs.compare_with_frequencies(first, steps)
        return [*build_chain_checks(measured, steps.n), *convergence_checks(fitted.model.refinement), *against], parts

    def _repeat_shares(self, fitted: Fitted[Steps, Refined]) -> np.ndarray | None:
        """Measure how well halves agree on the difference of the two states, in units of the frequencies' noise."""
        recovery: PairRecovery = fitted.recovered.final
        if recovery.chain is None or not self.n_splits:
            return None
        scale = 1 / np.sqrt(np.maximum(recovery.chain.emissions.mean(axis=0), np.finfo(float).tiny))
        differences = [
            scale * (emissions[0] - emissions[1]) for emissions in self._pairs.recover_halves(recovery, fitted.moments)
        ]
        full_difference = scale * (recovery.chain.emissions[0] - recovery.chain.emissions[1])
        return mean_cosine([full_difference] * 2, [[half] * 2 for half in differences])

    @property
    def _pairs(self) -> PairMethod:
        return PairMethod(self.method, self.cross_fit, self.tau, self._seed, self.n_jobs)

    @property
    def _em_steps(self) -> Refine:
        """Steps of EM; none for the paper's equation by default."""
        return 0 if self.method == "cubic" and self.refine == "auto" else self.refine

    def _run_em(self, chain: Chain, marginal: np.ndarray, steps: _Sequences) -> Refined:
        """Run EM for the symbols from a smoothed chain, and shrink them towards it."""
        if not self._em_steps:
            return Refined(chain.sorted(), Refinement.no_steps())
        size, start = len(marginal), chain.smooth(marginal)
        uniform_prior = self.pseudo_counts * size * ((1 - _UNIFORM_SHARE) * marginal + _UNIFORM_SHARE / size)
        prior = uniform_prior + _MOMENT_WEIGHT * len(steps.symbols) * chain.startprob[:, None] * start.emissions
        update = EmissionUpdate(chain.startprob, chain.transmat, start.emissions, prior)
        refinement = refine(update, over(steps.blocks, self.n_jobs, self.verbose), self._em_steps)
        return Refined(Chain(chain.startprob, chain.transmat, *refinement.values).sorted(), refinement)

    def _build_independent_chain(self, first: PairRecovery, marginal: np.ndarray) -> Chain:
        """Build two equal states, with a warning that no chain was detected."""
        warn(
            f"No second state was detected: the eigenvalue {first.eigenvalue:.3g} is not above the noise, "
            f"{first.space.edge:.3g}, or neighbours' scores do not agree ({first.moments.deviations:.1f} standard deviations). "
            "Give more steps, or drop rare symbols.",
            EvidenceWarning,
        )
        return Chain(np.full(2, 0.5), np.full((2, 2), 0.5), np.tile(marginal, (2, 1)))

    def _distances(self, other: TwoStateHMM) -> np.ndarray:
        return symbol_distances((self.emissionprob_, self.symbols_), (other.emissionprob_, other.symbols_))

    def _halves(self, X: Any, random_state: int, **fit_parameters: Any) -> list[dict[str, Any]]:
        """Build the arguments of `fit` for two halves: alternate stretches of every sequence."""
        model = TwoStateHMM(**self.get_params())
        symbols, lengths = model._read(X, fit_parameters.get("lengths"), reset=True)
        stretch = max(50, len(symbols) // 200)
        group = (np.arange(len(symbols)) // stretch + random_state) % 2
        halves = []
        for g in (0, 1):
            rows, piece_lengths = cut_sequences(group == g, lengths)
            halves.append({"X": model.symbols_[symbols[rows]], "lengths": piece_lengths})
        return halves

    # --- evidence -----------------------------------------------------------------------------------------------

    def _expected_errors(self, recovery: PairRecovery, chain: Chain, steps: Steps, fit: PairFit | None) -> PartErrors:
        """Estimate l1 errors of the states' symbols: from the moments or from halves of the steps, whichever is larger."""
        if recovery.chain is None or fit is None:
            return PartErrors.missing("No second state was detected.")
        if not self.n_splits:
            return PartErrors.missing("No errors were asked for: n_splits is 0.")
        errors = self._pairs.estimate_errors(recovery, chain, steps.n / steps.copies)
        halves = self._pairs.recover_halves(recovery, steps)
        if halves:
            distances = np.mean([np.abs(recovery.chain.emissions - half).sum(axis=1) for half in halves], axis=0)
            order = np.argsort(-recovery.chain.startprob, kind="stable")
            errors = np.maximum(errors, distances[order] / np.sqrt(steps.excess))
        return PartErrors(errors, 2).widen(fit.bias(_measure_separation(self.emissionprob_)), 2.0)

    # --- use ----------------------------------------------------------------------------------------------------

    def _n_parameters(self) -> int:
        return 1 + 2 + 2 * (len(self.symbols_) - 1)

    @fitted
    def sample(self, n_samples: int = 100, random_state: Any = 0) -> tuple[np.ndarray, np.ndarray]:
        """Draw a sequence: symbols (n_samples,) and states (n_samples,).

        Parameters
        ----------
        n_samples : int, default=100
            Number of steps.
        random_state : int, RandomState or Generator, default=0
            Seed of the draws.

        Returns
        -------
        X : ndarray of shape (n_samples,)
            Symbols.
        states : ndarray of int, shape (n_samples,)
        """
        numbers, states = _sample_steps(self, check_size(n_samples), seed_of(random_state))
        return self.symbols_[numbers], states

    @fitted
    def entropy_rate(self, n_steps: int = 200_000, random_state: Any = 0) -> float:
        """Return the entropy of a step given all earlier steps, in nats, from the likelihood of a simulated sequence.

        From fewer than about M steps it cannot be learned to within 0.5 (Corollary 1.6); see ``evidence_``.

        Parameters
        ----------
        n_steps : int, default=200000
            Length of the simulated sequence.
        random_state : int, RandomState or Generator, default=0
            Seed of the draws.

        Returns
        -------
        float
        """
        n_steps = check_size(n_steps, "n_steps")
        numbers, _ = _sample_steps(self, n_steps, seed_of(random_state))
        with np.errstate(divide="ignore"):
            table = np.log(self.emissionprob_.T)
        return -float(log_likelihood(self.startprob_, self.transmat_, table, [n_steps], numbers)) / n_steps

    def _chains(self, X: Any, lengths: Any) -> Iterator[tuple[int, tuple[Any, ...]]]:
        symbols, lengths = self._read(X, lengths, reset=False)
        yield len(symbols), (self.startprob_, self.transmat_, log(self.emissionprob_.T), lengths, symbols)

    def _read(self, X: Any, lengths: Any = None, *, reset: bool = True) -> _Sequences:
        """Read symbol numbers (n,) and lengths of the sequences."""
        steps, lengths = read_all_steps(X, lengths)
        has_symbols(steps[0], "symbols")
        if reset:
            self.symbols_, self.n_features_in_ = find_alphabet([steps], self.n_symbols), 1
            if len(self.symbols_) < 2:
                raise LatentiaError("Expected at least two symbols; one occurs, so that two states cannot differ.")
        blocks = sequence_blocks(encode_symbols(steps, self.symbols_), lengths)
        if reset:
            check_lengths(blocks)
        return _Sequences(blocks.table().ravel(), np.asarray(blocks.lengths))

    def _check_fitted(self) -> None:
        if len(self.weights_) != 2 or not (self.symbols_[:-1] < self.symbols_[1:]).all():
            raise LatentiaError("expected two states, and symbols in order")


class _Sequences(NamedTuple):
    """Sequences: symbol numbers of shape (n,), and lengths."""

    symbols: np.ndarray
    lengths: np.ndarray

    @property
    def blocks(self) -> Blocks:
        return Blocks.from_array(self.symbols[:, None], lengths=self.lengths)


def _sample_steps(model: TwoStateHMM, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Sample symbol numbers and states of a sequence; stays in a state last a geometric time."""
    rng = np.random.default_rng(seed)
    leave = np.clip(1 - np.diag(model.transmat_), 1e-12, 1.0)
    first = int(rng.random() >= model.startprob_[0])
    states = np.empty(0, np.int64)
    while len(states) < n:
        n_stays = max(16, int(1.2 * (n - len(states)) / (1 / leave).mean()) // 2 * 2)
        order = (first + np.arange(n_stays)) % 2
        stays = np.minimum(rng.geometric(leave[order]), n)
        states = np.concatenate([states, np.repeat(order, stays)[:n]])
    states = states[:n]
    cumulated = np.cumsum(model.emissionprob_, axis=1)
    numbers = np.empty(n, np.int64)
    for k in (0, 1):
        steps_in_state = np.flatnonzero(states == k)
        numbers[steps_in_state] = np.searchsorted(
            cumulated[k], rng.random(len(steps_in_state)) * cumulated[k, -1], side="right"
        )
    return np.minimum(numbers, len(model.symbols_) - 1), states


def _measure_separation(emissions: np.ndarray) -> float:
    """Measure the l1 distance of the states' symbols."""
    return float(np.abs(emissions[0] - emissions[1]).sum())
