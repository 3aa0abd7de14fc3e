"""Posteriors of the causes of a noisy-or network, exact where a sum over 2^14 terms allows it and sampled elsewhere.

Model: causes d_k are independent, on with probability rho_k; given them the findings are independent with

    P[s_i = 0 | d] = (1 - leak_i) exp(-sum_k W_ki d_k).

What is not observed sums out of the model and is dropped. An absent finding is a product over causes: all absent findings
together only turn rho_k into rho_k c_k / (1 - rho_k + rho_k c_k) with c_k = exp(-sum_(i absent) W_ki). Only present findings
couple the causes, and a row is handled by the first of these that it allows:

0. *Enumeration* of the 2^m configurations, for m <= 14.
1. *Quickscore*, for at most 14 present findings P (16 for its second form):
   P[x] = sum_(T subset of P) (-1)^|T| prod_(i in T) (1 - leak_i) prod_k (1 - rho_k + rho_k exp(-sum_(i in T) W_ki)),
   2^|P| m operations. Its terms cancel where the findings are rare. The number of digits lost is known from the sum itself;
   where too few are left, causes are added one after the other to the distribution of the set of findings explained so far,
   which is the same sum over subsets without a subtraction, and takes |P| times as long.
2. *Gibbs sampling* with exchanges of two causes.

References
----------
D. Heckerman, "A tractable inference algorithm for diagnosing multiple diseases", UAI 1989.
S. Arora, R. Ge, T. Ma and A. Risteski, "Provable learning of noisy-or networks", STOC 2017, section 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from sklearn import get_config

from .._parameters import seed_of
from .._threads import for_chunks, one_blas_thread
from ..exceptions import LatentiaError

__all__ = ["ENUMERATION", "QUICKSCORE", "SAMPLING", "Network", "Posteriors", "evidence_for", "posteriors"]

ENUMERATION, QUICKSCORE, SAMPLING = 0, 1, 2

_LARGEST = 14  # 2^14 configurations of the causes, or terms of Quickscore
_LARGEST_COVER = 16  # 2^16 sets of findings explained: as long as sampling takes
_LEAST_LEAK = 1e-12
_LEAST_PRIOR = 1e-300
_LARGEST_PRIOR = 1 - 1e-15
_LOST = 1e-9  # the error of Quickscore above which the sum is done without subtractions
_EPS = float(np.finfo(float).eps)
_ROWS = 4  # of a task: exact rows take milliseconds
_CHAINS, _BATCHES = 4, 8
_BURN_IN, _FIRST_BATCH, _LAST_BATCH = 100, 50, 1600
_EXCHANGES = 4  # after a sweep
_ACCURATE = 0.01
_VISITED = 1 << 13
_LIKELIEST, _PAIRED, _AT_ONCE = 256, 32, 64


@dataclass(frozen=True)
class Network:
    """Parameters of a noisy-or network of m causes and n findings.

    Attributes
    ----------
    weights : ndarray of shape (m, n)
        W, nonnegative: cause k alone turns finding i on with probability 1 - exp(-W_ki).
    priors : ndarray of shape (m,)
        rho, the probabilities that a cause is on.
    leak : ndarray of shape (n,)
        Probabilities that a finding is on while no cause is.
    """

    weights: np.ndarray
    priors: np.ndarray
    leak: np.ndarray

    def __post_init__(self) -> None:
        for name in ("weights", "priors", "leak"):
            try:
                values = np.ascontiguousarray(getattr(self, name), dtype=np.float64)
            except (TypeError, ValueError) as error:
                raise LatentiaError(f"{name} of the network is not an array of numbers ({error}).") from error
            object.__setattr__(self, name, values)
        if self.weights.ndim != 2 or 0 in self.weights.shape:
            raise LatentiaError(
                f"weights has shape {self.weights.shape}: one row for each cause and one column for each finding are needed."
            )
        for name, values, size in (("priors", self.priors, self.m), ("leak", self.leak, self.n)):
            if values.shape != (size,):
                raise LatentiaError(
                    f"{name} has shape {values.shape} and weights {self.weights.shape}: {name} needs shape ({size},)."
                )
            bad = np.flatnonzero(~((values >= 0) & (values <= 1)))
            if len(bad):
                raise LatentiaError(f"{name}[{bad[0]}] is {values[bad[0]]}: probabilities from 0 to 1 are needed.")
        wrong = np.argwhere(~(np.isfinite(self.weights) & (self.weights >= 0)))
        if len(wrong):
            k, i = wrong[0]
            raise LatentiaError(
                f"weights[{k}, {i}] is {self.weights[k, i]}: finite weights of at least 0 are needed; negative estimates "
                "have to be set to 0 first."
            )

    @property
    def m(self) -> int:
        """Number of causes."""
        return int(self.weights.shape[0])

    @property
    def n(self) -> int:
        """Number of findings."""
        return int(self.weights.shape[1])


@dataclass(frozen=True)
class Posteriors:
    """What rows of findings say about the causes.

    Attributes
    ----------
    probabilities : ndarray of shape (rows, m)
        P[d_k = 1 | x].
    log_likelihood : ndarray of shape (rows,)
        log P[x] of what is observed, in nats. For sampled rows a lower bound: the logarithm of the joint probability of x
        and the distinct configurations that the chains visited.
    method : ndarray of shape (rows,)
        0 enumeration, 1 sum over the subsets of the present findings, 2 sampling.
    error : ndarray of shape (rows,)
        Accuracy of the row's probabilities: a bound on rounding for exact methods, and for sampling the standard error,
        largest over the causes. Chains that all miss the same configurations do not show in it.
    """

    probabilities: np.ndarray
    log_likelihood: np.ndarray
    method: np.ndarray
    error: np.ndarray


def posteriors(
    network: Network,
    present: Any,
    observed: Any = None,
    *,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> Posteriors:
    """Posterior probabilities of the causes for many rows of findings.

    A leak below 1e-12 counts as 1e-12, so that findings which no cause explains have an answer: they are then put down to
    the leak and change nothing.

    Parameters
    ----------
    network : Network
    present : array-like of shape (rows, n)
        1 where a finding is on, 0 where it is off. Entries of unobserved findings are not read.
    observed : array-like of shape (rows, n), optional
        Which findings are known; by default all. The others are summed out.
    random_state : int, RandomState or None
        Of the sampled rows. The draws of a row depend on it and on the row's findings alone, not on other rows.
    n_jobs : int, optional
        Number of threads. Results are bitwise identical for any value.

    Returns
    -------
    Posteriors
    """
    X = _as_flags(present, "present", network.n)
    known = np.ones_like(X) if observed is None else _as_flags(observed, "observed", network.n)
    if known.shape != X.shape:
        raise LatentiaError(f"observed has shape {known.shape} and present {X.shape}: they must agree.")
    X &= known
    result = Posteriors(np.empty((len(X), network.m)), np.empty(len(X)), np.zeros(len(X), np.int8), np.empty(len(X)))
    model = _Prepared.of(network)
    if network.m <= _LARGEST:
        _enumerate(model, X, known, result, n_jobs)
    else:
        _by_row(model, X, known, result, seed_of(random_state), n_jobs)
    return result


def evidence_for(
    network: Network,
    present_row: Any,
    observed_row: Any = None,
    *,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Weight of evidence of every finding of one row for every cause, in nats.

    It is logit P[d_k = 1 | x] - logit P[d_k = 1 | x without finding i]: positive where the finding speaks for the cause. The
    weights do not add up to the posterior: findings explain each other away. Probabilities nearer to 0 or 1 than
    the rounding error of the row count as that far away. Where rows are sampled, both posteriors are sums over the same
    configurations, those that the chains visit and their neighbours, so that the noise of sampling cancels.

    Parameters
    ----------
    network : Network
    present_row : array-like of shape (n,)
    observed_row : array-like of shape (n,), optional
    random_state, n_jobs
        As in `posteriors`.

    Returns
    -------
    ndarray of shape (m, n)
        0 for findings that are not observed.
    """
    row = _as_flags(np.atleast_2d(present_row), "present_row", network.n)
    known = (
        np.ones_like(row) if observed_row is None else _as_flags(np.atleast_2d(observed_row), "observed_row", network.n)
    )
    if len(row) != 1 or len(known) != 1:
        raise LatentiaError(
            f"present_row has {len(row)} rows and observed_row {len(known)}: one row is explained at a time."
        )
    whole = posteriors(network, row, known, random_state=random_state, n_jobs=n_jobs)
    if whole.method[0] == SAMPLING:
        return _evidence_from_states(network, row[0], known[0], seed_of(random_state))
    columns = np.flatnonzero(known[0])
    without = np.repeat(known, len(columns), axis=0)
    without[np.arange(len(columns)), columns] = False
    less = posteriors(network, np.repeat(row, len(columns), axis=0), without, random_state=random_state, n_jobs=n_jobs)
    logits = [_logits(each.probabilities, np.clip(each.error, _EPS, 0.5)[:, None]) for each in (whole, less)]
    evidence = np.zeros((network.m, network.n))
    evidence[:, columns] = (logits[0] - logits[1]).T
    return evidence


def _logits(probabilities: np.ndarray, least: Any) -> np.ndarray:
    p = np.clip(probabilities, least, 1 - least)
    return np.log(p) - np.log1p(-p)


def _evidence_from_states(network: Network, present: np.ndarray, observed: np.ndarray, seed: int) -> np.ndarray:
    """`evidence_for` by sums over configurations that the chains visit, and those one or two causes away from the likeliest."""
    model = _Prepared.of(network)
    on, off, _, found = _absorb(model.weights, model.on, model.off, model.hazard, present, observed)
    loads, hazard = np.ascontiguousarray(model.weights[:, found]), model.hazard[found]
    states = _states(on, off, loads, hazard, _stream(np.uint64(seed), present, observed), _VISITED)
    states = np.unique(states, axis=0)
    likeliest = states[np.argsort(-_log_joint(states, on, off, loads, hazard), kind="stable")[:_LIKELIEST]]
    one = np.eye(network.m, dtype=bool)
    two = (one[:, None] | one)[np.triu_indices(network.m, 1)]
    beside = [
        (some[:, None] ^ flips).reshape(-1, network.m) for some, flips in ((likeliest, one), (likeliest[:_PAIRED], two))
    ]
    states = np.unique(np.vstack([states, *beside]), axis=0)
    joint, table = _log_joint(states, on, off, loads, hazard), states.astype(float)
    whole = _logits(_mean_state(joint[:, None], table), _EPS)
    evidence = np.zeros((network.m, network.n))
    columns = np.flatnonzero(observed)
    for part in np.array_split(columns, max(1, len(columns) // _AT_ONCE)):
        load = table @ model.weights[:, part] + model.hazard[part]
        alone = np.where(present[part], np.log(-np.expm1(-load)), -load)  # log P of each finding as it is
        evidence[:, part] = (whole - _logits(_mean_state(joint[:, None] - alone, table), _EPS)).T
    return evidence


def _log_joint(
    states: np.ndarray, on: np.ndarray, off: np.ndarray, loads: np.ndarray, hazard: np.ndarray
) -> np.ndarray:
    """log P of configurations (C, m) and the present findings, given the absent ones."""
    table = states.astype(float)
    return table @ np.log(on) + (1 - table) @ np.log(off) + np.log(-np.expm1(-(table @ loads + hazard))).sum(axis=1)


def _mean_state(logs: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Means (L, m) of configurations (C, m), weighted by each column of exp(logs), (C, L)."""
    weights = np.exp(logs - logs.max(axis=0))
    return (weights.T @ table) / weights.sum(axis=0)[:, None]


def _as_flags(values: Any, name: str, n: int) -> np.ndarray:
    """A new boolean array of shape (rows, n)."""
    flags = np.asarray(values)
    if flags.ndim != 2 or flags.shape[1] != n:
        raise LatentiaError(f"{name} has shape {flags.shape}: a row has {n} findings in this network.")
    if flags.dtype != bool:
        bad = np.argwhere(~((flags == 0) | (flags == 1)))
        if len(bad):
            i, j = bad[0]
            raise LatentiaError(f"{name}[{i}, {j}] is {flags[i, j]!r}: 0 and 1 or booleans are needed.")
    return np.array(flags, dtype=bool, order="C")


@dataclass(frozen=True)
class _Prepared:
    """A network away from the ends of its ranges, so that every logarithm is finite.

    Attributes
    ----------
    weights : ndarray of shape (m, n)
    on, off : ndarray of shape (m,)
        rho and 1 - rho.
    hazard : ndarray of shape (n,)
        -log(1 - leak): the load of a finding while no cause is on.
    """

    weights: np.ndarray
    on: np.ndarray
    off: np.ndarray
    hazard: np.ndarray

    @classmethod
    def of(cls, network: Network) -> _Prepared:
        on = np.clip(network.priors, _LEAST_PRIOR, _LARGEST_PRIOR)
        return cls(network.weights, on, 1 - on, -np.log1p(-np.clip(network.leak, _LEAST_LEAK, _LARGEST_PRIOR)))


# --- enumeration ------------------------------------------------------------------------------------------------


def _enumerate(
    model: _Prepared, present: np.ndarray, observed: np.ndarray, out: Posteriors, n_jobs: int | None
) -> None:
    """Fill ``out`` by sums over all configurations of the causes."""
    m = len(model.on)
    configurations = (np.arange(1 << m)[:, None] >> np.arange(m) & 1).astype(float)
    prior = configurations @ np.log(model.on) + (1 - configurations) @ np.log(model.off)
    # Four arrays of rows x configurations and of findings x configurations at most live at a time, on a few threads.
    floats = get_config()["working_memory"] * (1 << 20) / 8 / 16 / len(configurations)
    rows = int(np.clip(floats, 1, 1024))

    def task(first: int, last: int) -> None:
        joint = np.tile(prior, (last - first, 1))
        for a in range(0, present.shape[1], rows):
            part = slice(a, a + rows)
            load = configurations @ model.weights[:, part] + model.hazard[part]
            # Terms of one sign: whatever the loads, no digits cancel.
            joint -= (observed[first:last, part] & ~present[first:last, part]).astype(float) @ load.T
            joint += present[first:last, part].astype(float) @ np.log(-np.expm1(-load)).T
        largest = joint.max(axis=1)
        joint -= largest[:, None]
        np.exp(joint, out=joint)
        total = joint.sum(axis=1)
        out.probabilities[first:last] = np.clip(joint @ configurations / total[:, None], 0, 1)
        out.log_likelihood[first:last] = largest + np.log(total)
        out.error[first:last] = _EPS * (m + 8 + 2 * np.abs(largest))

    with one_blas_thread():
        for_chunks(task, len(present), rows, n_jobs)


# --- row by row -------------------------------------------------------------------------------------------------


def _by_row(
    model: _Prepared, present: np.ndarray, observed: np.ndarray, out: Posteriors, seed: int, n_jobs: int | None
) -> None:
    """Fill ``out`` by sums over the subsets of a row's present findings where they are few, else by sampling."""
    # The backward pass of a sum without subtractions keeps m arrays of 2^|P|; rows for which that is too much are sampled.
    floats = get_config()["working_memory"] * (1 << 20) / 8 / 8
    largest = min(_LARGEST_COVER, int(np.log2(max(1.0, floats / (len(model.on) + 1)))))

    def task(first: int, last: int) -> None:
        for r in range(first, last):
            on, off, scale, found = _absorb(model.weights, model.on, model.off, model.hazard, present[r], observed[r])
            loads, hazard = np.ascontiguousarray(model.weights[:, found]), model.hazard[found]
            if len(found) <= max(_LARGEST, largest):
                likelihood, joint, error = _subsets(on, off, loads, hazard, len(found) <= largest)
                if error <= _LOST:
                    out.probabilities[r] = np.clip(joint / likelihood, 0, 1)
                    out.log_likelihood[r], out.method[r], out.error[r] = scale + np.log(likelihood), QUICKSCORE, error
                    continue
            stream = _stream(np.uint64(seed), present[r], observed[r])
            out.probabilities[r], log_likelihood, out.error[r] = _sample(on, off, loads, hazard, stream)
            out.log_likelihood[r], out.method[r] = scale + log_likelihood, SAMPLING

    for_chunks(task, len(present), _ROWS, n_jobs)


def _subsets(
    on: np.ndarray, off: np.ndarray, loads: np.ndarray, hazard: np.ndarray, may_cover: bool
) -> tuple[float, np.ndarray, float]:
    """P[x], P[x, d_k = 1] of shape (m,), and a bound on the relative error of both."""
    digits = _EPS * np.sqrt(len(on) + loads.shape[1])  # of one term, a product of that many factors
    if loads.shape[1] <= _LARGEST:
        likelihood, joint, absolute = _quickscore(on, off, np.exp(-loads.T), np.exp(-hazard))
        error = float(digits * absolute / likelihood) if likelihood > 0 else np.inf
        if error <= _LOST or not may_cover:
            return likelihood, joint, error
    likelihood, joint = _cover(on, off, loads, hazard)
    return likelihood, joint, float(digits * 8)


@njit(nogil=True, cache=True)
def _absorb(
    weights: np.ndarray, on: np.ndarray, off: np.ndarray, hazard: np.ndarray, present: np.ndarray, observed: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float, np.ndarray]:  # pragma: no cover - compiled
    """Priors on and off (m,) given the absent findings, log P[absent findings], and which findings are present."""
    m = len(on)
    absent = np.flatnonzero(observed & ~present)
    new_on, new_off, scale = np.empty(m), np.empty(m), 0.0
    for i in absent:
        scale -= hazard[i]
    for k in range(m):
        load = 0.0
        for i in absent:
            load += weights[k, i]
        both = off[k] + on[k] * np.exp(-load)
        new_on[k], new_off[k] = on[k] * np.exp(-load) / both, off[k] / both
        scale += np.log(both)
    return new_on, new_off, scale, np.flatnonzero(present)


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz"})
def _quickscore(
    on: np.ndarray, off: np.ndarray, kept: np.ndarray, quiet: np.ndarray
) -> tuple[float, np.ndarray, float]:  # pragma: no cover - compiled
    """The alternating sums P[x], P[x, d_k = 1] of shape (m,), and the sum of the sizes of the terms.

    ``kept`` (p, m) is exp(-W), ``quiet`` (p,) is 1 - leak, both of the present findings.
    """
    p, m = kept.shape
    # A subset is its parent, which lacks its lowest member, times that member. The last subset seen with a given lowest
    # member is the parent of all that follow until the next such.
    path, weight = np.empty((p + 1, m)), np.empty(p + 1)
    path[p], weight[p] = on, 1.0
    joint, share = on.copy(), np.empty(m)
    total, absolute = 1.0, 1.0
    for subset in range(1, 1 << p):
        low = 0
        while not subset >> low & 1:
            low += 1
        above = low + 1
        while above < p and not subset >> above & 1:
            above += 1
        here, parent, member = path[low], path[above], kept[low]
        weight[low] = -quiet[low] * weight[above]
        product = weight[low]
        for k in range(m):
            here[k] = parent[k] * member[k]
            factor = off[k] + here[k]
            product *= factor
            share[k] = here[k] / factor
        total += product
        absolute += abs(product)
        for k in range(m):
            joint[k] += product * share[k]
    return total, joint, absolute


@njit(nogil=True, cache=True)
def _cover(
    on: np.ndarray, off: np.ndarray, loads: np.ndarray, hazard: np.ndarray
) -> tuple[float, np.ndarray]:  # pragma: no cover - compiled
    """P[x] and P[x, d_k = 1] of shape (m,), from the distribution of the set of findings that the first k causes turned on.

    ``loads`` (m, p) and ``hazard`` (p,) are those of the present findings. Every term is nonnegative.
    """
    m, p = loads.shape
    strengths, kept = -np.expm1(-loads), np.exp(-loads)
    size = 1 << p
    # after[k, S]: the probability that causes k, k + 1, ... complete the set S.
    after = np.zeros((m + 1, size))
    after[m, size - 1] = 1.0
    for k in range(m - 1, -1, -1):
        _complete(strengths[k], kept[k], after[k + 1], after[k])
        for s in range(size):
            after[k, s] = off[k] * after[k + 1, s] + on[k] * after[k, s]
    before, active, joint = np.zeros(size), np.empty(size), np.empty(m)
    before[0] = 1.0
    _spread(-np.expm1(-hazard), np.exp(-hazard), before)
    total = 0.0
    for s in range(size):
        total += before[s] * after[0, s]
    for k in range(m):
        active[:] = before
        _spread(strengths[k], kept[k], active)
        mass = 0.0
        for s in range(size):
            mass += active[s] * after[k + 1, s]
        joint[k] = on[k] * mass
        for s in range(size):
            before[s] = off[k] * before[s] + on[k] * active[s]
    return total, joint


@njit(nogil=True, cache=True)
def _spread(strengths: np.ndarray, kept: np.ndarray, sets: np.ndarray) -> None:  # pragma: no cover - compiled
    """The distribution of the set of findings after an active cause, in place."""
    for i in range(len(strengths)):
        q, step = strengths[i], 1 << i
        if q == 0.0:
            continue
        for a in range(0, len(sets), 2 * step):
            for s in range(a, a + step):
                sets[s + step] += q * sets[s]
                sets[s] *= kept[i]


@njit(nogil=True, cache=True)
def _complete(
    strengths: np.ndarray, kept: np.ndarray, after: np.ndarray, out: np.ndarray
) -> None:  # pragma: no cover - compiled
    """The expectation of ``after`` over the set of findings after an active cause: the transpose of `_spread`."""
    out[:] = after
    for i in range(len(strengths)):
        q, step = strengths[i], 1 << i
        if q == 0.0:
            continue
        for a in range(0, len(out), 2 * step):
            for s in range(a, a + step):
                out[s] = kept[i] * out[s] + q * out[s + step]


# --- sampling ---------------------------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def _stream(seed: np.uint64, present: np.ndarray, observed: np.ndarray) -> np.ndarray:  # pragma: no cover - compiled
    """State (1,) of the random numbers of a row: a hash of the seed and of the row's findings."""
    state = np.array([seed], np.uint64)
    for i in range(len(present)):
        state[0] ^= np.uint64(1 + present[i] + 2 * observed[i])
        state[0] = _bits(state)
    return state


@njit(nogil=True, cache=True)
def _bits(state: np.ndarray) -> np.uint64:  # pragma: no cover - compiled
    """64 random bits; splitmix64."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(nogil=True, cache=True)
def _uniform(state: np.ndarray) -> float:  # pragma: no cover - compiled
    """A random number in [0, 1)."""
    return float(_bits(state) >> np.uint64(11)) * 2.0**-53


@njit(nogil=True, cache=True)
def _sample(
    on: np.ndarray, off: np.ndarray, loads: np.ndarray, hazard: np.ndarray, stream: np.ndarray
) -> tuple[np.ndarray, float, float]:  # pragma: no cover - compiled
    """Probabilities (m,), log of the mass of the distinct configurations visited, and standard error.

    Chains run side by side. A chain's mean is over equal batches; when the answer is not accurate enough, pairs of
    batches become one and as many sweeps again are made. The standard error is the larger of that from all batches and that
    from the chains alone, so that chains which stay in different places show; and at least one sweep's share, since what is
    rarer than that was not seen.
    """
    m = len(on)
    strengths = -np.expm1(-loads)
    keys = np.empty(m, np.uint64)
    for k in range(m):
        keys[k] = _bits(stream)
    states = np.zeros((_CHAINS, m), np.bool_)
    for c in range(_CHAINS):
        _begin(c, on, off, loads, strengths, hazard, stream, states[c])
    sums = np.zeros((_CHAINS, _BATCHES, m))
    visited, mass = np.zeros(_VISITED, np.uint64), np.array([-np.inf, 0.0, 0.0])
    length, first, error = _FIRST_BATCH, 0, np.inf
    while True:
        for c in range(_CHAINS):
            for b in range(first, _BATCHES):
                for _ in range(length):
                    _sweep(on, off, loads, strengths, hazard, stream, states[c], sums[c, b])
                    _visit(on, off, loads, hazard, keys, states[c], visited, mass)
        means, error = _summary(sums / length)
        error = max(error, 1.0 / (_CHAINS * _BATCHES * length))
        if error <= _ACCURATE or length >= _LAST_BATCH:
            return means, mass[0] + np.log(mass[1]), error
        half = _BATCHES // 2
        for b in range(half):
            sums[:, b] = sums[:, 2 * b] + sums[:, 2 * b + 1]
        sums[:, half:] = 0.0
        first, length = half, 2 * length


@njit(nogil=True, cache=True)
def _begin(
    chain: int,
    on: np.ndarray,
    off: np.ndarray,
    loads: np.ndarray,
    strengths: np.ndarray,
    hazard: np.ndarray,
    stream: np.ndarray,
    state: np.ndarray,
) -> None:  # pragma: no cover - compiled
    """Put a chain where it starts, each otherwise, and let it forget that."""
    if chain == 0:
        _climb(on, off, strengths, hazard, loads, state)
    elif chain == 1:
        for k in range(len(on)):
            state[k] = _uniform(stream) < on[k]
    else:
        _scatter(on, strengths, stream, state)
    for _ in range(_BURN_IN):
        _sweep(on, off, loads, strengths, hazard, stream, state, np.zeros(len(on)))


@njit(nogil=True, cache=True)
def _states(
    on: np.ndarray, off: np.ndarray, loads: np.ndarray, hazard: np.ndarray, stream: np.ndarray, n: int
) -> np.ndarray:  # pragma: no cover - compiled
    """Configurations (n, m) that chains pass through."""
    m = len(on)
    strengths = -np.expm1(-loads)
    found, each = np.zeros((n, m), np.bool_), n // _CHAINS
    for c in range(_CHAINS):
        state = np.zeros(m, np.bool_)
        _begin(c, on, off, loads, strengths, hazard, stream, state)
        for t in range(each):
            _sweep(on, off, loads, strengths, hazard, stream, state, np.zeros(m))
            found[c * each + t] = state
    return found


@njit(nogil=True, cache=True)
def _summary(batches: np.ndarray) -> tuple[np.ndarray, float]:  # pragma: no cover - compiled
    """Means (m,) of batches of chains, shape (chains, batches, m), and their standard error."""
    n_chains, n_batches, m = batches.shape
    means, largest = np.zeros(m), 0.0
    for k in range(m):
        chains = np.zeros(n_chains)
        for c in range(n_chains):
            chains[c] = batches[c, :, k].mean()
        mean = chains.mean()
        within = ((batches[:, :, k] - mean) ** 2).sum() / (n_chains * n_batches - 1) / (n_chains * n_batches)
        between = ((chains - mean) ** 2).sum() / (n_chains - 1) / n_chains
        means[k], largest = min(1.0, max(0.0, mean)), max(largest, within, between)
    return means, np.sqrt(largest)


@njit(nogil=True, cache=True)
def _sweep(
    on: np.ndarray,
    off: np.ndarray,
    loads: np.ndarray,
    strengths: np.ndarray,
    hazard: np.ndarray,
    stream: np.ndarray,
    state: np.ndarray,
    sums: np.ndarray,
) -> None:  # pragma: no cover - compiled
    """Draw every cause once given the others, add those probabilities to ``sums``, then try exchanges."""
    m, p = loads.shape
    # exp(-load) and 1 - exp(-load) of the present findings in this state, and in another one beside it
    quiet, fired, quiet_beside, fired_beside = np.empty(p), np.empty(p), np.empty(p), np.empty(p)
    _fire(loads, hazard, state, -1, -1, quiet, fired)
    for k in range(m):
        was = state[k]
        if was:
            _fire(loads, hazard, state, k, -1, quiet_beside, fired_beside)
            probability = _conditional(on[k], off[k], strengths[k], quiet_beside, fired_beside)
        else:
            probability = _conditional(on[k], off[k], strengths[k], quiet, fired)
        sums[k] += probability
        state[k] = _uniform(stream) < probability
        if was and not state[k]:
            quiet[:], fired[:] = quiet_beside, fired_beside
        elif state[k] and not was:
            _fire(loads, hazard, state, -1, -1, quiet, fired)
    for _ in range(min(p, _EXCHANGES)):
        if _exchange(on, off, loads, strengths, hazard, stream, state, fired, quiet_beside, fired_beside):
            fired[:] = fired_beside


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz"})
def _conditional(
    on: float, off: float, strengths: np.ndarray, quiet: np.ndarray, fired: np.ndarray
) -> float:  # pragma: no cover - compiled
    """Probability of a cause given the others, with which the findings are as ``quiet`` and ``fired`` say."""
    against = off  # a product of factors of at most 1: where it underflows, the cause is certain
    for i in range(len(fired)):
        against *= fired[i] / (fired[i] + quiet[i] * strengths[i])
    return on / (on + against)


@njit(nogil=True, cache=True)
def _fire(
    loads: np.ndarray,
    hazard: np.ndarray,
    state: np.ndarray,
    without: int,
    extra: int,
    quiet: np.ndarray,
    fired: np.ndarray,
) -> None:  # pragma: no cover - compiled
    """P[off] and P[on] of the findings, shape (p,), with the causes on but for ``without``, and with ``extra``.

    Summed afresh: loads from which others were subtracted would lose leaks of 1e-12.
    """
    quiet[:] = hazard
    for k in range(len(state)):
        if (state[k] and k != without) or k == extra:
            for i in range(len(hazard)):
                quiet[i] += loads[k, i]
    for i in range(len(hazard)):
        load = quiet[i]
        quiet[i] = np.exp(-load)
        fired[i] = 1.0 - quiet[i] if load > 1.0 else -np.expm1(-load)


@njit(nogil=True, cache=True)
def _exchange(
    on: np.ndarray,
    off: np.ndarray,
    loads: np.ndarray,
    strengths: np.ndarray,
    hazard: np.ndarray,
    stream: np.ndarray,
    state: np.ndarray,
    fired: np.ndarray,
    quiet_after: np.ndarray,
    fired_after: np.ndarray,
) -> bool:  # pragma: no cover - compiled
    """A Metropolis step that turns a cause off and another on, drawn by their strengths for one random present finding.

    ``fired`` (p,) is that of ``state`` before; the other two get those of the state proposed. Returns whether it is taken.
    """
    m, p = loads.shape
    i = int(_uniform(stream) * p)
    active, idle = 0.0, 0.0
    for k in range(m):
        if state[k]:
            active += strengths[k, i]
        else:
            idle += strengths[k, i]
    if active <= 0.0 or idle <= 0.0:
        return False
    a = _draw(strengths[:, i], state, True, active * _uniform(stream))
    b = _draw(strengths[:, i], state, False, idle * _uniform(stream))
    _fire(loads, hazard, state, a, b, quiet_after, fired_after)
    ratio = np.log(on[b]) - np.log(off[b]) + np.log(off[a]) - np.log(on[a])
    # Of the way back to the way there: the draws depend on which causes are on.
    q_a, q_b = strengths[a, i], strengths[b, i]
    ratio += np.log(active / max(active - q_a + q_b, q_b)) + np.log(idle / max(idle - q_b + q_a, q_a))
    product = 1.0
    for j in range(p):
        product *= fired_after[j] / fired[j]
        if not 1e-100 < product < 1e100:
            ratio += np.log(product)
            product = 1.0
    taken = np.log(1.0 - _uniform(stream)) < ratio + np.log(product)
    if taken:
        state[a], state[b] = False, True
    return taken


@njit(nogil=True, cache=True)
def _draw(weights: np.ndarray, state: np.ndarray, value: bool, target: float) -> int:  # pragma: no cover - compiled
    """A cause whose state is ``value``, where the running sum of weights passes ``target``; -1 where none has weight."""
    last, total = -1, 0.0
    for k in range(len(weights)):
        if state[k] == value and weights[k] > 0.0:
            last = k
            total += weights[k]
            if total > target:
                break
    return last


@njit(nogil=True, cache=True)
def _climb(
    on: np.ndarray, off: np.ndarray, strengths: np.ndarray, hazard: np.ndarray, loads: np.ndarray, state: np.ndarray
) -> None:  # pragma: no cover - compiled
    """Turn on the cause that raises the probability most, as long as one does."""
    m, p = loads.shape
    quiet, fired = np.empty(p), np.empty(p)
    for _ in range(m):
        _fire(loads, hazard, state, -1, -1, quiet, fired)
        best, most = -1, 0.0
        for k in range(m):
            if not state[k]:
                gain = np.log(on[k]) - np.log(off[k])
                for i in range(p):
                    gain += np.log1p(quiet[i] * strengths[k, i] / fired[i])
                if gain > most:
                    best, most = k, gain
        if best < 0:
            return
        state[best] = True


@njit(nogil=True, cache=True)
def _scatter(
    on: np.ndarray, strengths: np.ndarray, stream: np.ndarray, state: np.ndarray
) -> None:  # pragma: no cover - compiled
    """Turn on a random likely cause of every finding that the causes on so far leave unexplained."""
    m, p = strengths.shape
    start = int(_uniform(stream) * p)
    for j in range(p):
        i = (start + j) % p
        explained, weights, total = False, np.empty(m), 0.0
        for k in range(m):
            explained = explained or (state[k] and strengths[k, i] > 0.5)
            weights[k] = on[k] * strengths[k, i]
            total += 0.0 if state[k] else weights[k]
        if not explained:
            k = _draw(weights, state, False, total * _uniform(stream))
            if k >= 0:
                state[k] = True


@njit(nogil=True, cache=True)
def _visit(
    on: np.ndarray,
    off: np.ndarray,
    loads: np.ndarray,
    hazard: np.ndarray,
    keys: np.ndarray,
    state: np.ndarray,
    visited: np.ndarray,
    mass: np.ndarray,
) -> None:  # pragma: no cover - compiled
    """Add the joint probability of a configuration not seen before to ``mass``: log of a scale, sum at it, their number."""
    m, p = loads.shape
    key = np.uint64(1)
    for k in range(m):
        if state[k]:
            key ^= keys[k]
    place = np.int64(key % np.uint64(_VISITED))
    while visited[place] != np.uint64(0):
        if visited[place] == key:
            return
        place = (place + 1) % _VISITED
    if mass[2] > 0.75 * _VISITED:  # a lower bound still
        return
    visited[place] = key
    mass[2] += 1.0
    quiet, fired = np.empty(p), np.empty(p)
    _fire(loads, hazard, state, -1, -1, quiet, fired)
    joint = np.log(fired).sum()
    for k in range(m):
        joint += np.log(on[k]) if state[k] else np.log(off[k])
    if joint > mass[0]:
        mass[1] *= np.exp(mass[0] - joint) if mass[1] > 0 else 0.0
        mass[0] = joint
    mass[1] += np.exp(joint - mass[0])
