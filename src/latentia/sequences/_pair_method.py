"""Two states from pairs and triples of steps: a direction in which symbols differ, and the moments of scores along it.

Source: Q. Huang, S. Kakade, W. Kong, G. Valiant, ITCS 2018, Proposition 1.4, Theorem 1.5, appendix C.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeAlias

import numpy as np
from scipy import sparse

from ..evidence import (
    Check,
    trivial_checks,
)
from ..evidence.limits import MANY_STANDARD_ERRORS
from ..linalg import ScaledSpace, scaled_eigenspace
from ..moments import symmetric_counts
from ..simplex import distributions
from ._chain import Chain, compute_stationary
from ._copies import find_first_copies
from ._pair_evidence import PairFit, compare_pairs, pair_log_likelihoods

_MIN_SHARE = 0.02  # smallest share of a state
_UNSEEN_STEPS = 0.5  # pseudo-steps of each symbol on held-out steps
LAGS = 3  # largest lag of the pairs from which the direction is recovered
_MIN_LONG_MEMORY = 0.65  # eigenvalue of the transitions below which larger lags added as much noise as signal


@dataclass(frozen=True)
class Moments:
    """Centred moments of scores: of neighbours, of steps at lag two, of three in a row; variance and number of steps."""

    c1: float
    c2: float
    c3: float
    variance: float
    n: float

    @property
    def deviations(self) -> float:
        """Moment c_1 in standard deviations of independent steps."""
        return self.c1 * np.sqrt(self.n) / self.variance if self.variance > 0 else 0.0

    @property
    def share_difference(self) -> float:
        """Difference of the states' shares by the third moment."""
        lam = self.c2 / self.c1 if self.c1 else 0.0
        skew = self.c3 / self.c2 if self.c2 else 0.0
        separation = float(np.sqrt(skew**2 + 4 * max(self.c1 / lam, 0.0))) if lam else 0.0
        return abs(skew) / separation if separation else 1.0


_Part: TypeAlias = tuple[ScaledSpace, Moments]


@dataclass(frozen=True)
class PairRecovery:
    """Two states recovered from pairs and triples of steps.

    Attributes
    ----------
    chain : Chain or None
        None if no chain has these moments.
    space : ScaledSpace
        Direction of the states' difference.
    moments : Moments
        Moments of the scores along it.
    eigenvalue : float
        Leading eigenvalue of the scaled counts.
    weights : tuple of float
        Weights of the pairs at lags 1, 2, ...
    parts : list of (ScaledSpace, Moments)
        For each part the direction recovered from the other parts, and the moments of its scores along it.
    """

    chain: Chain | None
    space: ScaledSpace
    moments: Moments
    eigenvalue: float
    weights: tuple[float, ...]
    parts: list[_Part] = field(default_factory=list)

    def drop_chain(self) -> PairRecovery:
        """Return a copy without a chain."""
        return replace(self, chain=None)


@dataclass(frozen=True)
class TwoStateRecovery:
    """Recoveries from neighbours alone and from all pairs that are used.

    Attributes
    ----------
    first, final : PairRecovery
    """

    first: PairRecovery
    final: PairRecovery

    @property
    def chain(self) -> Chain | None:
        """Final chain; None if no second state was detected."""
        return self.final.chain


def _average_moments(parts: Sequence[Moments], copies: float) -> Moments:
    """Average the moments of parts, with the number of steps that are not copies."""
    n = sum(m.n for m in parts)
    c1, c2, c3, variance = (
        sum(getattr(m, name) * m.n for m in parts) / max(n, 1) for name in ("c1", "c2", "c3", "variance")
    )
    return Moments(c1, c2, c3, variance, n / copies)


def _orient(direction: np.ndarray, space: ScaledSpace) -> ScaledSpace:
    """Flip the sign of the vector if it points away from a direction."""
    return space if space.vectors[:, 0] @ direction >= 0 else replace(space, vectors=-space.vectors)


def _widen_edge(space: ScaledSpace, copies: float) -> ScaledSpace:
    """Widen the edge of the noise for steps that occur this many times on average."""
    edge = space.edge * float(np.sqrt(copies))
    values = np.sign(space.observed) * np.sqrt(np.maximum(space.observed**2 - edge**2, 0))
    return replace(space, edge=edge, values=values, n_kept=int((np.abs(space.observed) > edge).sum()))


def _solve_chain(m: Moments, space: ScaledSpace, marginal: np.ndarray, method: str) -> Chain | None:
    """Solve for the chain with these moments; return None if there is none."""
    direction = space.vectors[:, 0]
    vector = direction * np.sqrt(space.scale)  # This is delta up to its length.
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
    separation = float(np.sqrt(skew**2 + 4 * m.c1 / lam))
    second = float(np.clip((1 + skew / separation) / 2, _MIN_SHARE, 1 - _MIN_SHARE))
    shares = np.array([1 - second, second])
    lam = max(lam, -float(shares.min() / shares.max()) + 1e-6)
    delta = vector * (separation / span)
    emissions = np.stack([marginal + shares[1] * delta, marginal - shares[0] * delta])
    transmat = lam * np.eye(2) + (1 - lam) * shares
    return Chain(shares, transmat, distributions(emissions, marginal))


class StepScores(Protocol):
    """Steps whose symbols can be scored."""

    def moments(self, scores: np.ndarray, part: int) -> Moments:
        """Compute the centred moments of the scores (M,) of one part's steps."""


@dataclass(frozen=True)
class Steps:
    """Counts of the steps.

    Attributes
    ----------
    n : int
    lengths : ndarray of int
        Lengths of the sequences.
    occurrences : ndarray of int, shape (M,)
        Occurrences of the symbols.
    scored : StepScores
    counts : list of list of csr_array, (M, M)
        Pairs at lags 1, 2, ... in each part.
    distinct : csr_array of shape (M, M)
        Pairs of neighbours, without copies.
    copies : float
        Average number of occurrences of a step in data that repeats itself; else 1.
    excess : float
        Factor by which accidental copies of stretches increase the variance between parts.
    """

    n: int
    lengths: np.ndarray
    occurrences: np.ndarray
    scored: StepScores
    counts: list[list[sparse.csr_array]]
    distinct: sparse.csr_array
    copies: float
    excess: float = 1.0

    @property
    def marginal(self) -> np.ndarray:
        """Frequencies of the symbols, shape (M,)."""
        return self.occurrences / self.n


def count_steps(symbols: np.ndarray, lengths: np.ndarray, n_parts: int, size: int) -> Steps:
    """Count the pairs of each of ``n_parts`` stretches of the steps over an alphabet of ``size`` symbols.

    Copies of steps belong to the stretch of the original.
    """
    n, steps = len(symbols), np.arange(len(symbols))
    n_remaining = np.repeat(np.cumsum(lengths), lengths) - steps  # steps until the end of the sequence
    first, inner = np.flatnonzero(n_remaining > 1), np.flatnonzero(n_remaining > 2)
    leaders = find_first_copies(symbols, size)
    originals = steps if leaders is None else np.flatnonzero(leaders == steps)
    part = (steps if leaders is None else np.searchsorted(originals, leaders)) * n_parts // len(originals)

    def count_lagged_pairs(starts: np.ndarray, lag: int) -> sparse.csr_array:
        cells = (np.ones(len(starts), np.int32), (symbols[starts], symbols[starts + lag]))
        return sparse.csr_array(sparse.coo_array(cells, shape=(size, size)))

    counts = []
    for lag in range(1, LAGS + 1):
        starts = np.flatnonzero(n_remaining > lag)
        counts.append([count_lagged_pairs(starts[part[starts] == p], lag) for p in range(n_parts)])
    distinct = count_lagged_pairs(originals[n_remaining[originals] > 1], 1)
    copies = 1.0 if leaders is None else n / len(originals)
    scored = _StepSequence(symbols, first, part[first], inner, part[inner])
    return Steps(n, lengths, np.bincount(symbols, minlength=size), scored, counts, distinct, copies)


@dataclass(frozen=True)
class _StepSequence:
    """Steps in their order.

    Attributes
    ----------
    symbols : ndarray of int, shape (n,)
    first, inner : ndarray of int
        Positions of steps with one and with two later ones in their sequence.
    first_part, inner_part : ndarray of int
        The part of each.
    """

    symbols: np.ndarray
    first: np.ndarray
    first_part: np.ndarray
    inner: np.ndarray
    inner_part: np.ndarray

    def moments(self, scores: np.ndarray, part: int) -> Moments:
        symbols = self.symbols
        first, inner = self.first[self.first_part == part], self.inner[self.inner_part == part]
        if not len(inner):
            return Moments(0.0, 0.0, 0.0, 0.0, 0.0)
        values = scores[symbols[first]]
        mean = values.mean()
        y = scores - mean
        a, b = y[symbols[first]], y[symbols[first + 1]]
        x0, x1, x2 = (y[symbols[inner + lag]] for lag in (0, 1, 2))
        return Moments(
            float((a * b).mean()),
            float((x0 * x2).mean()),
            float((x0 * x1 * x2).mean()),
            float((a * a).mean()),
            float(len(first)),
        )


@dataclass(frozen=True)
class PairMethod:
    """The method of moments of two states.

    Attributes
    ----------
    method : {"moments", "cubic"}
    cross_fit : int
        Number of stretches of the steps.
    tau : float
    seed : int
    n_jobs : int or None
    """

    method: str
    cross_fit: int
    tau: float
    seed: int
    n_jobs: int | None

    def recover(self, steps: Steps, weights: tuple[float, ...]) -> PairRecovery:
        """Recover the chain from steps at lags 1, 2, ..., whose counts are added with these weights."""
        space = self.fit_space(steps, weights)
        if not len(space.observed):
            return PairRecovery(None, space, Moments(0.0, 0.0, 0.0, 0.0, 0.0), 0.0, weights)
        parts = self.fit_directions(steps, weights, space)
        moments = _average_moments([moments for _, moments in parts], steps.copies)
        chain = _solve_chain(moments, space, steps.marginal, self.method)
        return PairRecovery(chain, space, moments, float(space.observed[0]), weights, parts)

    def is_strong(self, first: PairRecovery) -> bool:
        """Return True if the direction is above the noise and the scores of neighbours along it agree."""
        agree = self.cross_fit == 1 or abs(first.moments.deviations) > MANY_STANDARD_ERRORS
        return abs(first.eigenvalue) > first.space.edge and bool(agree)

    def recover_from_distant(self, steps: Steps, first: PairRecovery) -> PairRecovery:
        """Recover the chain again with pairs at larger lags too, if the memory is long."""
        memory = float(np.trace(first.chain.transmat) - 1) if first.chain is not None else 0.0
        if abs(memory) <= _MIN_LONG_MEMORY:
            return first
        recovery = self.recover(steps, tuple(memory**k for k in range(LAGS)))
        return recovery if recovery.chain is not None else replace(recovery, chain=first.chain)

    def fit_space(self, steps: Steps, weights: tuple[float, ...], parts: Sequence[int] | None = None) -> ScaledSpace:
        """Compute the leading eigenpair of the scaled counts at lags 1, 2, ..., added with weights, of all or some parts."""
        tables = []
        for lag in range(len(weights)):
            part_counts = [steps.counts[lag][p] for p in (range(self.cross_fit) if parts is None else parts)]
            pairs, symmetric = symmetric_counts(sum(part_counts[1:], part_counts[0]))
            tables.append(pairs + pairs if symmetric else pairs)  # Ordered pairs may be symmetric by chance.
        space = scaled_eigenspace(
            tables[0],
            1,
            tau=self.tau,
            calibrate=False,  # Held-out steps distinguish signal from noise.
            further=list(zip(weights[1:], tables[1:], strict=True)),
            random_state=self.seed,
            n_jobs=self.n_jobs,
        )
        return space if steps.copies == 1 else _widen_edge(space, steps.copies)

    def fit_directions(self, steps: Steps, weights: tuple[float, ...], full_space: ScaledSpace) -> list[_Part]:
        """Fit for each part the direction of the other parts, and compute the moments of its scores along it."""
        direction, parts = full_space.vectors[:, 0], []
        for part in range(self.cross_fit):
            other_parts = [p for p in range(self.cross_fit) if p != part]
            space = _orient(direction, self.fit_space(steps, weights, other_parts) if other_parts else full_space)
            scores = space.vectors[:, 0] / np.sqrt(space.scale)
            if self.method == "cubic":
                scores = (scores > 0).astype(np.float64)
            parts.append((space, steps.scored.moments(scores, part)))
        return parts

    def compare_pairs(self, first: PairRecovery, chain: Chain, steps: Steps) -> PairFit:
        """Compare the pairs with those of a chain."""
        lagged = [sum(counts[1:], counts[0]) for counts in steps.counts]
        pairs, symmetric = symmetric_counts(steps.distinct)
        pairs = pairs + pairs if symmetric else pairs
        return compare_pairs(first.space, pairs, lagged, chain, steps.copies, self.n_jobs)

    def compare_with_frequencies(self, first: PairRecovery, steps: Steps) -> list[Check]:
        """Check that held-out pairs are more probable than pairs of independent steps."""
        if self.cross_fit == 1:
            return []
        log_likelihoods, n = [], steps.n * (1 - 1 / self.cross_fit)
        for counts, (space, _) in zip(steps.counts[0], first.parts, strict=True):
            smooth = (n * space.marginals + _UNSEEN_STEPS) / (n + _UNSEEN_STEPS * len(space.marginals))
            chain = _solve_chain(first.moments, space, smooth, self.method)
            log_likelihoods += [] if chain is None else [pair_log_likelihoods(counts, chain, smooth)]
        if not log_likelihoods:
            return []
        fitted, trivial = (np.concatenate(values) for values in zip(*log_likelihoods, strict=True))
        options: dict[str, Any] = {"against": "frequencies", "unit": "pair", "deviations": MANY_STANDARD_ERRORS}
        return trivial_checks(fitted, trivial, extra=0, n_rows=len(fitted), **options)

    def estimate_errors(self, recovery: PairRecovery, chain: Chain, n: float) -> np.ndarray:
        """Estimate the states' errors from the noise of the direction and of the frequencies, as if all else were known."""
        space, gain = recovery.space, sum(weight**2 for weight in recovery.weights)
        signal, edge = abs(float(space.signal[0])) if space.n_kept else space.edge / 2, space.edge
        c2 = max(1 - edge**2 / (4 * signal**2), 0.05)
        shares, memory = compute_stationary(chain.transmat), float(np.trace(chain.transmat) - 1)
        product = shares[0] * shares[1] * max(abs(memory), 0.02) * gain
        length = signal / product  # squared length of delta in scaled coordinates
        spread = space.marginals / space.scale
        spread /= spread.sum()
        direction = space.scale * length * ((1 - c2) ** 2 * space.marginals + c2 * (1 - c2) * spread)
        deviations = [np.sqrt(other_share**2 * direction + space.marginals / n) for other_share in shares[::-1]]
        return np.array([np.sqrt(2 / np.pi) * float(deviation.sum()) for deviation in deviations])

    def recover_halves(self, recovery: PairRecovery, steps: Steps) -> list[np.ndarray]:
        """Recover the states' symbols from each half of the parts, (2, n); nothing if the number of parts is odd."""
        if self.cross_fit % 2:
            return []
        halves, middle = [], self.cross_fit // 2
        for half in (range(middle), range(middle, self.cross_fit)):
            space = _orient(recovery.space.vectors[:, 0], self.fit_space(steps, recovery.weights, half))
            moments = _average_moments([recovery.parts[p][1] for p in half], steps.copies)
            chain = _solve_chain(moments, space, space.marginals, self.method)
            halves.append(np.tile(space.marginals, (2, 1)) if chain is None else chain.emissions)
        return halves
