"""Hidden Markov chains of two states over large alphabets, from few steps a symbol.

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

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np
from scipy import sparse

from .. import _fields as of
from .._base import Estimator, check_size, fitted, fitting
from .._parameters import Choice, Integer, Number, OrNone, Seed, seed_of
from ..evidence import (
    Check,
    Evidence,
    PartErrors,
    above,
    at_least,
    at_most,
    error_checks,
    settled_checks,
    trivial_checks,
)
from ..exceptions import EvidenceWarning, LatentiaError, warn
from ..likelihood import Refine, Refined, Refinement, log, over, refine
from ..linalg import ScaledSpace, scaled_eigenspace
from ..moments import symmetric_counts
from ..passes import Blocks
from ..simplex import distributions
from ._chain import Chain, stationary, symbol_distances
from ._copies import first_copies
from ._methods import ChainMethods
from ._pair_evidence import PairFit, fit_of_pairs, pair_log_likelihoods
from ._steps import all_steps, alphabet, encoded, has_symbols, long_enough, pieces, sequence_blocks
from .recursions import forward_backward, log_likelihood, viterbi
from .updates import EmissionUpdate

__all__ = ["TwoStateHMM"]

_DEVIATIONS = 3.0  # of the lagged score on steps that it was not found on: chance below 0.3%
_TRUSTED = 0.4  # l1 error of a state's symbols, of a possible 2; and a third of what the states are apart
_LEAST_SHARE = 0.02  # of a state
_LEAST_STEPS = 1.5  # per symbol
_UNEQUAL = 0.2
_UNSEEN = 0.01  # share of the pseudo-steps of EM that is spread evenly over the symbols
_UNSEEN_STEPS = 0.5  # of each symbol, on steps that it was not counted on
_TRUST = 0.1  # steps that the moments' symbols count as in EM, as a share of the data's
_LAGS = 3  # steps apart of the pairs that the direction is found on
_SHORT = (
    0.65  # eigenvalue of the transitions below which steps farther apart were seen to bring as much noise as signal
)


class TwoStateHMM(ChainMethods, Estimator):
    """Hidden Markov model of two states over a large alphabet, fitted by moments of pairs and triples of steps.

    The fit is deterministic, and says when there is no second state.

    Choose it for a switch between two regimes that show themselves in many symbols, each seen some to some hundred times,
    where Baum-Welch follows the noise. It needs some M steps for M symbols: from M steps no test tells the chain from
    independent draws with probability above 0.71 (Proposition B.1), and ``detected_`` is False. For more states, or some
    tens of symbols, use `SpectralHMM`.

    Parameters
    ----------
    n_components : int, default=2
        Number of states, which is 2.
    n_symbols : int, optional
        Size of the alphabet M, where integers stand for symbols; by default one more than the largest.
    method : {"moments", "cubic"}, default="moments"
        "cubic" is the paper's equation for a symmetric chain on two super-words.
    cross_fit : int, default=4
        Number of parts of the steps; the scores of each are along the direction found on the others. 1 takes all steps for
        both, which biases the transitions where data is short.
    tau : float, default=0.3
        Symbols are scaled as if each had been seen tau N / M times more.
    refine : int or "auto", default="auto"
        EM from the moments for the symbols, with the transitions kept: "auto" makes accelerated steps until they have settled,
        a number that many plain ones. 0 keeps to the theorem, and so does "auto" for the cubic. See ``refinement_``, and *EM
        has settled* in the evidence.
    pseudo_counts : float, default=0.2
        With ``refine``: pseudo-steps per symbol that each state gets, spread as the symbols' frequencies. Beside these the
        moments' symbols count as a tenth as many steps as the data.
    n_splits : int, default=1
        With 0 no errors are measured. Expected errors are those of the moments, from halves of the steps; EM lowers the true
        ones a little further.
    random_state : int, default=0
        Seed of the eigenvectors' start. None or a RandomState draws a seed.
    n_jobs : int, optional
        Number of threads. Results are bitwise identical for any value.
    verbose : bool or int, default=False
        Show a progress bar for each step of EM.

    Attributes
    ----------
    detected_ : bool
        Whether the chain was told from independent draws: its eigenvalue is above the edge of the noise, and neighbours'
        scores agree, on steps that the direction was not found on, by three standard deviations. Otherwise both states
        have the symbols' frequencies.
    startprob_, weights_ : ndarray of shape (2,)
        Stationary shares, in decreasing order.
    transmat_ : ndarray of shape (2, 2)
        Transition probabilities; rows sum to one.
    emissionprob_ : ndarray of shape (2, M)
        Symbol probabilities of the states; rows sum to one.
    eigenvalue_ : float
        lambda, the second eigenvalue of T.
    spectrum_, edge_ : float
        Leading eigenvalue of the scaled counts, and the edge of the noise.
    symbols_ : ndarray of shape (M,)
        The symbols: column x of ``emissionprob_`` belongs to ``symbols_[x]``.
    evidence_ : Evidence
        Checks of the assumptions, and the expected l1 error of each state's symbols (``component_errors``), of a
        possible 2. They are widened by what two states leave of the pairs; copies of steps count once.
    refinement_ : ndarray of shape (n_steps,)
        Log-likelihood of the steps at every step of EM, in nats.
    n_passes_ : int
        Number of passes over the data.

    Notes
    -----
    Differences from the paper:

    1. delta's direction comes from the shrunk scaled spectrum (`latentia.linalg.scaled`), not from bins.
    2. The chain may be asymmetric: c_3 says by how much. No cubic is needed.
    3. The paper's cubic for a symmetric chain, with super-words S = {delta > 0} and its complement, has the root lambda = 0
       twice: eliminating P(S | i) leaves P(SSS) - m^3 = m c_1 (2 + lambda), which "cubic" solves.
    4. The paper's B - rho rho^T = (1/2 - t) delta delta^T lacks a factor 1/2, and W is 1/2 [[1 - t, t], [t, 1 - t]].
    5. Scores are along a direction found on other steps (cross-fitting), which the paper's independent batches are for.
    6. Where lambda turns out to exceed 0.65, the direction is found anew on pairs one, two and three steps apart, whose scaled
       counts are added by the weights 1, lambda and lambda^2.
    7. ``refine`` and ``detected_`` are not in the paper. Maximum likelihood alone has worse symbols than the moments where
       states are hardly apart; drawn towards those of the moments it has better ones.

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
    edge_: Annotated[float, of.number(0.0)]
    spectrum_: Annotated[float, of.number()]
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
            If a parameter is out of its range, if X has NaN or infinite entries where they do not mark missing steps,
            if the lengths do not add up to the steps, or if too few steps are left.
        """
        symbols, lengths = self._read(X, lengths, reset=True)
        steps = _counted(symbols, lengths, self.cross_fit, len(self.symbols_))
        self._marginal = steps.marginal
        # Neighbours tell whether there is a chain; where its memory is long, steps farther apart tell more of its symbols.
        first = self._found(steps, (1.0,))
        self.edge_, self.spectrum_ = first.space.edge, first.eigenvalue
        found = self._found_farther(steps, first) if self._is_strong(first) else replace(first, chain=None)
        self.detected_ = found.chain is not None
        # EM for the symbols.
        alone = Refinement.none()
        chain, refinement = (
            Refined(self._independent(first), alone) if found.chain is None else self._refined(found.chain, steps)
        )
        self.startprob_, self.transmat_, self.emissionprob_ = chain.startprob, chain.transmat, chain.emissions
        self.weights_ = stationary(self.transmat_) if self.detected_ else chain.startprob
        self.eigenvalue_ = float(np.trace(self.transmat_) - 1)
        self.refinement_ = refinement.log_likelihood
        self.n_passes_ = 1 + len(self.refinement_)
        # Evidence.
        fit = None if found.chain is None else self._fit_of_pairs(first, found.chain, steps)
        parts = self._expected_errors(found, steps, fit)
        limit = _TRUSTED if found.chain is None else _limit(found.chain, parts.errors)
        checks = [*self._checks(first.moments, parts, limit, len(symbols), fit), *settled_checks(refinement)]
        self.evidence_ = Evidence([*checks, *self._against_frequencies(first, steps)], parts.errors).bind(self)
        return self

    def _found(self, steps: _Steps, weights: tuple[float, ...]) -> _Found:
        """The chain that explains the steps 1, 2, ... apart, whose counts are added by their weights."""
        space = self._space(steps, weights)
        if not len(space.observed):
            return _Found(None, space, _Moments(0.0, 0.0, 0.0, 0.0, 0.0), 0.0, weights)
        parts = self._moments(steps, weights, space)
        moments = _together([moments for _, moments in parts], steps.copies)
        chain = _solve(moments, space, steps.marginal, self.method)
        return _Found(chain, space, moments, float(space.observed[0]), weights, parts)

    def _is_strong(self, first: _Found) -> bool:
        """Whether the direction is above the noise, and the scores of neighbours along it agree."""
        agree = self.cross_fit == 1 or abs(first.moments.deviations) > _DEVIATIONS
        return abs(first.eigenvalue) > first.space.edge and bool(agree)

    def _found_farther(self, steps: _Steps, first: _Found) -> _Found:
        """The same from pairs farther apart too, where the memory is long."""
        memory = float(np.trace(first.chain.transmat) - 1) if first.chain is not None else 0.0
        if abs(memory) <= _SHORT:
            return first
        found = self._found(steps, tuple(memory**k for k in range(_LAGS)))
        return found if found.chain is not None else replace(found, chain=first.chain)

    def _space(self, steps: _Steps, weights: tuple[float, ...], parts: Sequence[int] | None = None) -> ScaledSpace:
        """Leading eigenpair of the scaled counts of steps 1, 2, ... apart, added by their weights, of all or some parts."""
        tables = []
        for lag in range(len(weights)):
            kept = [steps.counts[lag][p] for p in (range(self.cross_fit) if parts is None else parts)]
            both, symmetric = symmetric_counts(sum(kept[1:], kept[0]))
            tables.append(both + both if symmetric else both)  # symmetric by chance: these pairs are ordered
        space = scaled_eigenspace(
            tables[0],
            1,
            tau=self.tau,
            calibrate=False,  # steps that the direction was not found on tell signal from noise
            further=list(zip(weights[1:], tables[1:], strict=True)),
            random_state=self._seed,
            n_jobs=self.n_jobs,
        )
        return space if steps.copies == 1 else _noisier(space, steps.copies)

    def _moments(self, steps: _Steps, weights: tuple[float, ...], whole: ScaledSpace) -> list[_Part]:
        """For each part the direction found on the others, and moments of its scores along it."""
        direction, found = whole.vectors[:, 0], []
        for part in range(self.cross_fit):
            others = [p for p in range(self.cross_fit) if p != part]
            space = _towards(direction, self._space(steps, weights, others) if others else whole)
            scores = space.vectors[:, 0] / np.sqrt(space.scale)
            if self.method == "cubic":
                scores = (scores > 0).astype(np.float64)
            found.append((space, _lagged(scores, steps, part)))
        return found

    @property
    def _steps(self) -> Refine:
        """Of EM, which the paper's equation does not have."""
        return 0 if self.method == "cubic" and self.refine == "auto" else self.refine

    def _refined(self, chain: Chain, steps: _Steps) -> Refined:
        """After EM for the symbols, from ones of which none is impossible, and towards which they are drawn."""
        if not self._steps:
            return Refined(chain.sorted(), Refinement.none())
        size, start = len(steps.marginal), chain.smoothed(steps.marginal)
        even = self.pseudo_counts * size * ((1 - _UNSEEN) * steps.marginal + _UNSEEN / size)
        mass = even + _TRUST * len(steps.symbols) * chain.startprob[:, None] * start.emissions
        update = EmissionUpdate(chain.startprob, chain.transmat, start.emissions, mass)
        blocks = Blocks.from_array(steps.symbols[:, None], lengths=steps.lengths)
        found = refine(update, over(blocks, self.n_jobs, self.verbose), self._steps)
        return Refined(Chain(chain.startprob, chain.transmat, *found.values).sorted(), found)

    def _independent(self, first: _Found) -> Chain:
        """What is said where no chain was detected: two states that are the same."""
        warn(
            f"No second state was detected: the eigenvalue {first.eigenvalue:.3g} is not above the noise, "
            f"{first.space.edge:.3g}, or neighbours' scores do not agree ({first.moments.deviations:.1f} standard deviations). "
            "Give more steps, or drop rare symbols.",
            EvidenceWarning,
        )
        return Chain(np.full(2, 0.5), np.full((2, 2), 0.5), np.tile(self._marginal, (2, 1)))

    def _distances(self, other: TwoStateHMM) -> np.ndarray:
        return symbol_distances((self.emissionprob_, self.symbols_), (other.emissionprob_, other.symbols_))

    def _halves(self, X: Any, random_state: int, **fit_parameters: Any) -> list[dict[str, Any]]:
        """Arguments of `fit` for two halves: alternate stretches of every sequence."""
        model = TwoStateHMM(**self.get_params())
        symbols, lengths = model._read(X, fit_parameters.get("lengths"), reset=True)
        stretch = max(50, len(symbols) // 200)
        group = (np.arange(len(symbols)) // stretch + random_state) % 2
        halves = []
        for g in (0, 1):
            rows, cut = pieces(group == g, lengths)
            halves.append({"X": model.symbols_[symbols[rows]], "lengths": cut})
        return halves

    # --- evidence -----------------------------------------------------------------------------------------------

    def _fit_of_pairs(self, first: _Found, chain: Chain, steps: _Steps) -> PairFit:
        lagged = [sum(counts[1:], counts[0]) for counts in steps.counts]
        both, symmetric = symmetric_counts(steps.distinct)
        both = both + both if symmetric else both
        return fit_of_pairs(first.space, both, lagged, chain, steps.copies, self.n_jobs)

    def _against_frequencies(self, first: _Found, steps: _Steps) -> list[Check]:
        """Whether pairs on which the direction was not found are more probable than those of independent steps."""
        if not self.detected_ or self.cross_fit == 1:
            return []
        found, n = [], len(steps.symbols) * (1 - 1 / self.cross_fit)
        for counts, (space, _) in zip(steps.counts[0], first.parts, strict=True):
            smooth = (n * space.marginals + _UNSEEN_STEPS) / (n + _UNSEEN_STEPS * len(space.marginals))
            chain = _solve(first.moments, space, smooth, self.method)
            found += [] if chain is None else [pair_log_likelihoods(counts, chain, smooth)]
        if not found:
            return []
        fitted, trivial = (np.concatenate(values) for values in zip(*found, strict=True))
        options: dict[str, Any] = {"against": "frequencies", "unit": "pair", "deviations": _DEVIATIONS}
        return trivial_checks(fitted, trivial, extra=0, n_rows=len(fitted), **options)

    def _checks(self, m: _Moments, parts: PartErrors, limit: float, n: int, fit: PairFit | None) -> list[Check]:
        apart = float(np.abs(self.emissionprob_[0] - self.emissionprob_[1]).sum())
        return [
            *error_checks(
                parts, limit, "mean |p_i - p'_i|_1", "in l1, of a possible 2", "state", "halves of the steps",
                n_rows=n, rows="steps",
            ),
            *([] if fit is None else fit.checks()),
            Check(
                "leading eigenvalue", "|lambda_1(S)|", abs(self.spectrum_), above(self.edge_, "e"),
                "Of the scaled counts of neighbours, beside the edge of the noise.", "appendix C", "verdict",
            ),
            Check(
                "agreement of neighbours", "c_1 / sd", abs(m.deviations), above(_DEVIATIONS), "Lagged score on steps that its "
                "direction was not found on, in standard deviations of independent steps.", "Theorem 1.5",
                "verdict" if self.cross_fit > 1 else "note",
            ),
            Check(
                "steps per symbol", "N / M", n / len(self.symbols_), at_least(_LEAST_STEPS),
                "Below, chains as in the theorem cannot be told from independent draws.", "Proposition B.1",
            ),
            *([_symmetry(m)] if self.method == "cubic" and self.detected_ else []),
            Check("memory", "lambda", self.eigenvalue_, None, "Second eigenvalue of the transitions.", "Proposition 1.4"),
            Check(
                "separation", "|p_1 - p_2|_1", apart, None, "l1 distance of the states' symbols, of a possible 2.",
                "Proposition 1.4",
            ),
        ]  # fmt: skip

    def _expected_errors(self, found: _Found, steps: _Steps, fit: PairFit | None) -> PartErrors:
        """l1 errors of the states' symbols: what the moments say or halves of the steps, whichever is more."""
        if found.chain is None or fit is None:
            return PartErrors.none("No second state was detected.")
        if not self.n_splits:
            return PartErrors.none("No errors were asked for: n_splits is 0.")
        errors = self._from_moments(found, len(steps.symbols) / steps.copies)
        halves = self._from_halves(found, found.chain, steps)
        if halves is not None:
            errors = np.maximum(errors, halves[np.argsort(-found.chain.startprob, kind="stable")])
        apart = float(np.abs(self.emissionprob_[0] - self.emissionprob_[1]).sum())
        return PartErrors(errors, 2).widened(fit.bias(apart), 2.0)

    def _from_moments(self, found: _Found, n: float) -> np.ndarray:
        """The noise of the direction, and that of the frequencies: what they add up to if all else is known."""
        space, gain = found.space, sum(weight**2 for weight in found.weights)
        signal, edge = abs(float(space.signal[0])) if space.n_kept else space.edge / 2, space.edge
        c2 = max(1 - edge**2 / (4 * signal**2), 0.05)
        product = self.weights_[0] * self.weights_[1] * max(abs(self.eigenvalue_), 0.02) * gain
        length = signal / product  # of delta in scaled coordinates, squared
        spread = space.marginals / space.scale
        spread /= spread.sum()
        direction = space.scale * length * ((1 - c2) ** 2 * space.marginals + c2 * (1 - c2) * spread)
        deviations = [np.sqrt(other**2 * direction + space.marginals / n) for other in self.weights_[::-1]]
        return np.array([np.sqrt(2 / np.pi) * float(one.sum()) for one in deviations])

    def _from_halves(self, found: _Found, chain: Chain, steps: _Steps) -> np.ndarray | None:
        """Distances of the states' symbols to those of two halves of the parts; None where there are no two."""
        if self.cross_fit % 2:
            return None
        distances, middle = [], self.cross_fit // 2
        for half in (range(middle), range(middle, self.cross_fit)):
            space = _towards(found.space.vectors[:, 0], self._space(steps, found.weights, half))
            moments = _together([found.parts[p][1] for p in half], steps.copies)
            own = _solve(moments, space, space.marginals, self.method)
            symbols = np.tile(space.marginals, (2, 1)) if own is None else own.emissions
            distances.append(np.abs(chain.emissions - symbols).sum(axis=1))
        return np.asarray(np.mean(distances, axis=0))

    # --- use ----------------------------------------------------------------------------------------------------

    def predict(self, X: Any, lengths: Any = None) -> np.ndarray:
        """Return the most probable path of states (Viterbi), shape (n_steps,).

        Parameters
        ----------
        X : array-like of shape (n_steps,) or (n_steps, 1) of symbols, or Blocks with lengths
            Sequences one after another.
        lengths : array-like of int, shape (n_sequences,), optional
            Lengths of the sequences, in order; by default there is one.

        Returns
        -------
        ndarray of int, shape (n_steps,)
        """
        return self.decode(X, lengths)[1]

    @fitted
    def decode(self, X: Any, lengths: Any = None) -> tuple[float, np.ndarray]:
        """Return the log-probability of the most probable path together with the steps, and the path, shape (n_steps,).

        Parameters
        ----------
        X : array-like of shape (n_steps,) or (n_steps, 1) of symbols, or Blocks with lengths
            Sequences one after another.
        lengths : array-like of int, shape (n_sequences,), optional
            Lengths of the sequences, in order; by default there is one.

        Returns
        -------
        log_probability : float
            In nats.
        path : ndarray of int, shape (n_steps,)
            The states.
        """
        states, value = viterbi(*self._arguments(X, lengths))
        return float(value), states

    def predict_proba(self, X: Any, lengths: Any = None) -> np.ndarray:
        """Return the probabilities of the states at every step given whole sequences (smoothing), shape (n_steps, 2).

        Parameters
        ----------
        X : array-like of shape (n_steps,) or (n_steps, 1) of symbols, or Blocks with lengths
            Sequences one after another.
        lengths : array-like of int, shape (n_sequences,), optional
            Lengths of the sequences, in order; by default there is one.

        Returns
        -------
        ndarray of shape (n_steps, 2)
        """
        return self.score_samples(X, lengths)[1]

    @fitted
    def _smoothed(self, X: Any, lengths: Any) -> tuple[float, np.ndarray, int]:
        total, posteriors, *_ = forward_backward(*self._arguments(X, lengths))
        return total, posteriors, len(posteriors)

    def _n_parameters(self) -> int:
        return 1 + 2 + 2 * (len(self.symbols_) - 1)

    @fitted
    def score(self, X: Any, lengths: Any = None) -> float:
        """Return the log-likelihood of all steps together in nats; higher is better.

        Parameters
        ----------
        X : array-like of shape (n_steps,) or (n_steps, 1) of symbols, or Blocks with lengths
            Sequences one after another.
        lengths : array-like of int, shape (n_sequences,), optional
            Lengths of the sequences, in order; by default there is one.

        Returns
        -------
        float

        Raises
        ------
        LatentiaError
            If X has symbols that the fit has not seen, or another number of features.
        """
        return float(log_likelihood(*self._arguments(X, lengths)))

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
        numbers, states = self._draw(check_size(n_samples), seed_of(random_state))
        return self.symbols_[numbers], states

    @fitted
    def entropy_rate(self, n_steps: int = 200_000, random_state: Any = 0) -> float:
        """Return the entropy of a step given all before it, in nats, from the likelihood of a sequence drawn from the model.

        Below the order of M steps it cannot be learned to within 0.5 (Corollary 1.6); see ``evidence_``.

        Parameters
        ----------
        n_steps : int, default=200000
            Length of the sequence that is drawn.
        random_state : int, RandomState or Generator, default=0
            Seed of the draws.

        Returns
        -------
        float
        """
        n_steps = check_size(n_steps, "n_steps")
        numbers, _ = self._draw(n_steps, seed_of(random_state))
        with np.errstate(divide="ignore"):
            table = np.log(self.emissionprob_.T)
        return -float(log_likelihood(self.startprob_, self.transmat_, table, [n_steps], numbers)) / n_steps

    def _draw(self, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Symbol numbers and states of a sequence: stays in a state last a geometric time."""
        rng = np.random.default_rng(seed)
        leave = np.clip(1 - np.diag(self.transmat_), 1e-12, 1.0)
        first = int(rng.random() >= self.startprob_[0])
        states = np.empty(0, np.int64)
        while len(states) < n:
            turns = max(16, int(1.2 * (n - len(states)) / (1 / leave).mean()) // 2 * 2)
            order = (first + np.arange(turns)) % 2
            stays = np.minimum(rng.geometric(leave[order]), n)
            states = np.concatenate([states, np.repeat(order, stays)[:n]])
        states = states[:n]
        cumulated = np.cumsum(self.emissionprob_, axis=1)
        numbers = np.empty(n, np.int64)
        for k in (0, 1):
            mine = np.flatnonzero(states == k)
            numbers[mine] = np.searchsorted(cumulated[k], rng.random(len(mine)) * cumulated[k, -1], side="right")
        return np.minimum(numbers, len(self.symbols_) - 1), states

    def _arguments(self, X: Any, lengths: Any) -> tuple[Any, ...]:
        """Arguments of the recursions."""
        symbols, lengths = self._read(X, lengths, reset=False)
        return self.startprob_, self.transmat_, log(self.emissionprob_.T), lengths, symbols

    def _read(self, X: Any, lengths: Any, reset: bool) -> tuple[np.ndarray, np.ndarray]:
        """Symbol numbers (n,) and lengths of the sequences."""
        steps, lengths = all_steps(X, lengths)
        has_symbols(steps[0], "symbols")
        if reset:
            self.symbols_, self.n_features_in_ = alphabet([steps], self.n_symbols), 1
            if len(self.symbols_) < 2:
                raise LatentiaError("One symbol occurs: there is nothing to tell two states by.")
        blocks = sequence_blocks(encoded(steps, self.symbols_), lengths)
        if reset:
            long_enough(blocks)
        return blocks.table().ravel(), np.asarray(blocks.lengths)

    def _check_fitted(self) -> None:
        if len(self.weights_) != 2 or not (self.symbols_[:-1] < self.symbols_[1:]).all():
            raise LatentiaError("there must be two states, and symbols in order")


# --- from counts to the chain -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Moments:
    """Centred moments of scores: of neighbours, of steps two apart, of three in a row; variance and number of steps."""

    c1: float
    c2: float
    c3: float
    variance: float
    n: float

    @property
    def deviations(self) -> float:
        """c_1 in standard deviations of independent steps."""
        return self.c1 * np.sqrt(self.n) / self.variance if self.variance > 0 else 0.0


_Part: TypeAlias = tuple[ScaledSpace, _Moments]


@dataclass(frozen=True)
class _Found:
    """What pairs and triples of steps say.

    Attributes
    ----------
    chain : Chain or None
        None where there is none.
    space : ScaledSpace
        Of the direction of the states' difference.
    moments : _Moments
        Of the scores along it.
    eigenvalue : float
        Leading eigenvalue of the scaled counts.
    weights : tuple of float
        Of the pairs 1, 2, ... apart.
    parts : list of (ScaledSpace, _Moments)
        For each part the direction found on the others, and the moments of its scores along it.
    """

    chain: Chain | None
    space: ScaledSpace
    moments: _Moments
    eigenvalue: float
    weights: tuple[float, ...]
    parts: list[_Part] = field(default_factory=list)


def _limit(chain: Chain, errors: np.ndarray | None) -> float:
    """Error up to which states are told apart: a third of their distance by the moments, without what errors add to it."""
    apart = float(np.abs(chain.emissions[0] - chain.emissions[1]).sum())
    noise = 0.0 if errors is None else min(float(np.linalg.norm(errors)), 0.9 * apart)
    return min(_TRUSTED, float(np.sqrt(apart**2 - noise**2)) / 3)


def _together(parts: Sequence[_Moments], copies: float) -> _Moments:
    """Mean over parts, with as many steps as are no copies."""
    n = sum(m.n for m in parts)
    c1, c2, c3, variance = (
        sum(getattr(m, name) * m.n for m in parts) / max(n, 1) for name in ("c1", "c2", "c3", "variance")
    )
    return _Moments(c1, c2, c3, variance, n / copies)


def _towards(direction: np.ndarray, space: ScaledSpace) -> ScaledSpace:
    """The same with its vector on the side of a direction."""
    return space if space.vectors[:, 0] @ direction >= 0 else replace(space, vectors=-space.vectors)


def _noisier(space: ScaledSpace, copies: float) -> ScaledSpace:
    """The same with the edge of steps that are there so many times on average."""
    edge = space.edge * float(np.sqrt(copies))
    values = np.sign(space.observed) * np.sqrt(np.maximum(space.observed**2 - edge**2, 0))
    return replace(space, edge=edge, values=values, n_kept=int((np.abs(space.observed) > edge).sum()))


def _solve(m: _Moments, space: ScaledSpace, marginal: np.ndarray, method: str) -> Chain | None:
    """The chain with these moments; None if there is none."""
    direction = space.vectors[:, 0]
    vector = direction * np.sqrt(space.scale)  # delta up to its length
    if method == "cubic":
        above_zero = direction > 0
        mean = float(marginal[above_zero].sum())
        # c_3 is P(SSS) - m^3 - m (2 c_1 + c_2); in a symmetric chain it is 0, so that c_2 is what P(SSS) leaves.
        lam = (m.c3 + mean * m.c2) / (mean * m.c1) if mean * m.c1 != 0 else 0.0
        skew, span = 0.0, float(vector[above_zero].sum())
    else:
        lam, span = (m.c2 / m.c1 if m.c1 != 0 else 0.0), 1.0
        skew = m.c3 / m.c2 if m.c2 != 0 else 0.0
    if lam * m.c1 <= 0 or span <= 0:
        return None
    lam = float(np.clip(lam, -0.99, 0.99))
    apart = float(np.sqrt(skew**2 + 4 * m.c1 / lam))
    second = float(np.clip((1 + skew / apart) / 2, _LEAST_SHARE, 1 - _LEAST_SHARE))
    shares = np.array([1 - second, second])
    lam = max(lam, -float(shares.min() / shares.max()) + 1e-6)
    delta = vector * (apart / span)
    emissions = np.stack([marginal + shares[1] * delta, marginal - shares[0] * delta])
    transmat = lam * np.eye(2) + (1 - lam) * shares
    return Chain(shares, transmat, distributions(emissions, marginal))


def _symmetry(m: _Moments) -> Check:
    """How far apart the states' shares are by the third moment, which the cubic takes to be equal."""
    lam = m.c2 / m.c1 if m.c1 else 0.0
    skew = m.c3 / m.c2 if m.c2 else 0.0
    apart = float(np.sqrt(skew**2 + 4 * max(m.c1 / lam, 0.0))) if lam else 0.0
    unequal = abs(skew) / apart if apart else 1.0
    return Check(
        "symmetry", "|pi_2 - pi_1|", unequal, at_most(_UNEQUAL),
        "Of the states' shares; method='cubic' takes them to be equal. Use 'moments' where they are not.",
        "Proposition 1.4", "verdict",
    )  # fmt: skip


@dataclass(frozen=True)
class _Steps:
    """The steps, and the pairs of neighbours among them.

    Attributes
    ----------
    symbols, lengths : ndarray of int
        Numbers of the symbols, (n,), and the lengths of the sequences.
    marginal : ndarray of shape (M,)
        Frequencies of the symbols.
    first, inner : ndarray of int
        Places of steps with one and with two later ones in their sequence.
    first_part, inner_part : ndarray of int
        The part of each.
    counts : list of list of csr_array, (M, M)
        Pairs 1, 2, ... apart in each part.
    distinct : csr_array of shape (M, M)
        Pairs of neighbours, copies left out.
    copies : float
        Times that a step is there on average, in data that repeats itself; else 1.
    """

    symbols: np.ndarray
    lengths: np.ndarray
    marginal: np.ndarray
    first: np.ndarray
    first_part: np.ndarray
    inner: np.ndarray
    inner_part: np.ndarray
    counts: list[list[sparse.csr_array]]
    distinct: sparse.csr_array
    copies: float


def _counted(symbols: np.ndarray, lengths: np.ndarray, n_parts: int, size: int) -> _Steps:
    """Count the pairs of each of ``n_parts`` stretches of the steps over an alphabet of ``size`` symbols.

    Copies of steps are in the stretch of the first of them.
    """
    n, steps = len(symbols), np.arange(len(symbols))
    left = np.repeat(np.cumsum(lengths), lengths) - steps  # steps to the end of the sequence
    first, inner = np.flatnonzero(left > 1), np.flatnonzero(left > 2)
    leaders = first_copies(symbols, size)
    own = steps if leaders is None else np.flatnonzero(leaders == steps)
    part = (steps if leaders is None else np.searchsorted(own, leaders)) * n_parts // len(own)

    def counted(starts: np.ndarray, lag: int) -> sparse.csr_array:
        cells = (np.ones(len(starts), np.int32), (symbols[starts], symbols[starts + lag]))
        return sparse.csr_array(sparse.coo_array(cells, shape=(size, size)))

    counts = []
    for lag in range(1, _LAGS + 1):
        starts = np.flatnonzero(left > lag)
        counts.append([counted(starts[part[starts] == p], lag) for p in range(n_parts)])
    distinct = counted(own[left[own] > 1], 1)
    marginal = np.bincount(symbols, minlength=size) / n
    copies = 1.0 if leaders is None else n / len(own)
    return _Steps(symbols, lengths, marginal, first, part[first], inner, part[inner], counts, distinct, copies)


def _lagged(scores: np.ndarray, steps: _Steps, part: int) -> _Moments:
    """Centred moments of the scores of one part's steps."""
    symbols = steps.symbols
    first, inner = steps.first[steps.first_part == part], steps.inner[steps.inner_part == part]
    if not len(inner):
        return _Moments(0.0, 0.0, 0.0, 0.0, 0.0)
    values = scores[symbols[first]]
    mean = values.mean()
    y = scores - mean
    a, b = y[symbols[first]], y[symbols[first + 1]]
    x0, x1, x2 = (y[symbols[inner + lag]] for lag in (0, 1, 2))
    return _Moments(
        float((a * b).mean()),
        float((x0 * x2).mean()),
        float((x0 * x1 * x2).mean()),
        float((a * a).mean()),
        float(len(first)),
    )
