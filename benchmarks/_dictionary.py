"""What the benchmarks of dictionaries share: measures, and the learners of others.

Every learner takes rows (p, n) and gives atoms (m, n) of unit length. K-SVD codes with `matching_pursuit`, as ours does,
so that what is compared is how atoms are found and not how fast codes are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numba import njit
from sklearn.decomposition import MiniBatchDictionaryLearning

from latentia.dictionary.pursuit import matching_pursuit
from latentia.metrics import atom_distances

FIRST_SEED = 300
_ALTERNATIONS = 3  # of an atom and its coefficients, in place of the singular vectors


def recovered(truth: np.ndarray, atoms: np.ndarray) -> dict[str, float]:
    """Share of the true atoms that some atom is within .1 and .01 of, up to sign, and the median distance."""
    apart = atom_distances(truth, atoms)
    return {
        "below .1": float((apart < 0.1).mean()),
        "below .01": float((apart < 0.01).mean()),
        "median": float(np.median(apart)),
    }


def unit(rows: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1.0)


def some_rows(X: np.ndarray, m: int, seed: int) -> np.ndarray:
    """m rows, drawn at random, of unit length: where the learners of others begin."""
    return unit(X[np.random.default_rng(seed).permutation(len(X))[:m]])


# --- K-SVD ----------------------------------------------------------------------------------------------------------


def ksvd(
    X: np.ndarray, atoms: np.ndarray, sparsity: int, rounds: int = 30, cpu: float = np.inf, n_jobs: int = 1
) -> np.ndarray:
    """K-SVD (Aharon, Elad, Bruckstein 2006), for some rounds or until so many CPU seconds are spent.

    Each atom and its coefficients become the best rank-1 approximation of what the other atoms leave of its rows, one after the
    other, by three alternations from where they are; an atom that no row uses becomes the row of which most is left.
    """
    atoms, start = np.ascontiguousarray(atoms).copy(), time.process_time()
    for _ in range(rounds):
        codes = matching_pursuit(X, atoms, sparsity, n_jobs=n_jobs)
        order = np.argsort(codes.atoms, axis=None, kind="stable")
        ends = np.searchsorted(codes.atoms.ravel()[order], np.arange(len(atoms) + 1))
        rest = X.copy()
        _subtract(rest, codes.atoms, codes.values, atoms)
        _update(rest, codes.values, atoms, order, ends, _ALTERNATIONS)
        if time.process_time() - start > cpu:
            break
    return atoms


@njit(cache=True)
def _subtract(rest, chosen, values, atoms):  # pragma: no cover - compiled
    for row in range(len(rest)):
        for i in range(chosen.shape[1]):
            if chosen[row, i] >= 0:
                rest[row] -= values[row, i] * atoms[chosen[row, i]]


@njit(cache=True)
def _update(rest, values, atoms, order, ends, alternations):  # pragma: no cover - compiled
    k = values.shape[1]
    new = np.empty(atoms.shape[1])
    for j in range(len(atoms)):
        mine = order[ends[j] : ends[j + 1]]
        if len(mine) == 0:
            worst = np.array([(row * row).sum() for row in rest]).argmax()
            length = np.sqrt((rest[worst] ** 2).sum())
            if length > 0:
                atoms[j] = rest[worst] / length
                rest[worst] = 0.0
            continue
        for place in mine:
            rest[place // k] += values[place // k, place % k] * atoms[j]
        for _ in range(alternations):
            new[:] = 0.0
            for place in mine:
                new += values[place // k, place % k] * rest[place // k]
            length = np.sqrt((new * new).sum())
            if length == 0.0:
                break
            atoms[j] = new / length
            for place in mine:
                values[place // k, place % k] = (rest[place // k] * atoms[j]).sum()
        for place in mine:
            rest[place // k] -= values[place // k, place % k] * atoms[j]


# --- scikit-learn ---------------------------------------------------------------------------------------------------


def minibatches(
    X: np.ndarray, atoms: np.ndarray, alpha: float, batch: int, epochs: int, cpu: float = np.inf, **more: Any
) -> Iterator[tuple[float, np.ndarray]]:
    """scikit-learn's MiniBatchDictionaryLearning: CPU seconds so far and atoms, after every epoch and at the end.

    ``alpha`` is relative to the mean length of a row. Ends when so many CPU seconds are spent.
    """
    spent, rng = 0.0, np.random.default_rng(0)
    penalty = alpha * float(np.linalg.norm(X, axis=1).mean())
    model = MiniBatchDictionaryLearning(
        len(atoms), alpha=penalty, batch_size=batch, dict_init=atoms, random_state=0, n_jobs=1, **more
    )
    for _ in range(epochs):
        order = rng.permutation(len(X))
        for first in range(0, len(X), batch):
            start = time.process_time()
            model.partial_fit(X[order[first : first + batch]])
            spent += time.process_time() - start
            if spent > cpu:
                break
        yield spent, unit(model.components_)
        if spent > cpu:
            return


def best_of_epochs(
    runs: Iterator[tuple[float, np.ndarray]], rate: Callable[[np.ndarray], float], slack: float = 0.005
) -> tuple[float, float, int, np.ndarray]:
    """(rate, CPU seconds, epoch, atoms): the first epoch whose rate is within ``slack`` of the best one."""
    many = [(rate(atoms), cpu, epoch, atoms) for epoch, (cpu, atoms) in enumerate(runs, start=1)]
    best = max(one[0] for one in many)
    return next(one for one in many if one[0] >= best - slack)


# --- dictlearn ------------------------------------------------------------------------------------------------------


def dictlearn_atoms(
    X: np.ndarray, atoms: np.ndarray, sparsity: int, rounds: int, algorithm: str = "aksvd"
) -> np.ndarray:
    """Those of the package dictlearn; ModuleNotFoundError without it."""
    from dictlearn import DictionaryLearning

    model = DictionaryLearning(
        len(atoms), fit_algorithm=algorithm, n_nonzero_coefs=sparsity, max_iter=rounds, dict_init=atoms, random_state=0
    )
    return np.asarray(model.fit(X).components_)


# --- others ---------------------------------------------------------------------------------------------------------


def cosines(n_atoms: int, size: int) -> np.ndarray:
    """An overcomplete table of discrete cosines on squares of size x size pixels: n_atoms is the square of a number."""
    side = round(n_atoms**0.5)
    waves = np.cos(np.pi * np.outer(np.arange(side), np.arange(size) + 0.5) / side)
    waves[1:] -= waves[1:].mean(axis=1, keepdims=True)
    waves = unit(waves)
    return unit(np.kron(waves, waves))


def coded(rows: np.ndarray, atoms: np.ndarray, sparsity: int) -> np.ndarray:
    """What codes of that many atoms make of rows."""
    return np.asarray(matching_pursuit(rows, atoms, sparsity).dense(len(atoms)) @ atoms)


def coded_up_to(rows: np.ndarray, atoms: np.ndarray, left: float, most: int) -> np.ndarray:
    """The same with as many atoms a row as leave no more than this squared length, at most ``most``."""
    enough = matching_pursuit(rows, atoms, most).residuals <= left
    needed = np.where(enough.any(axis=1), enough.argmax(axis=1), most)
    found = np.zeros_like(rows)
    for k in np.unique(needed[needed > 0]):
        found[needed == k] = coded(rows[needed == k], atoms, int(k))
    return found


def psnr(first: np.ndarray, second: np.ndarray) -> float:
    """Peak signal to noise in dB, of values from 0 to 1."""
    return float(-10 * np.log10(np.mean((first - second) ** 2)))
