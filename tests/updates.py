"""A small data set for every update of EM, and an update to start from: fixtures of all tests."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from latentia.likelihood import MultinomialMixtureUpdate
from latentia.likelihood.products import ProductMixtureUpdate
from latentia.mixtures._spherical_update import SphericalMixtureUpdate
from latentia.multilabel._likelihood import MixtureWithLabelsUpdate, Pseudo
from latentia.passes import Blocks, accumulate
from latentia.sequences._counts import CountChainUpdate
from latentia.sequences.updates import EmissionUpdate, GaussianChainUpdate, SymbolChainUpdate

KINDS = [
    "symbols", "emissions", "vectors", "counts", "spherical", "tied", "gaussian", "bernoulli", "multinomial", "present",
    "drawn",
]  # fmt: skip
WEIGHTS = np.array([0.5, 0.3, 0.2])


@dataclass(frozen=True)
class Problem:
    """Rows of a planted model of three components or states, and an update of values that are off."""

    tables: tuple[Any, ...]
    lengths: list[int] | None
    update: Any

    def blocks(self, block_rows: int = 1000) -> Blocks:
        return Blocks.from_array(*self.tables, lengths=self.lengths, block_rows=block_rows)

    def sums(self, update: Any = None, block_rows: int = 1000, n_jobs: int | None = None) -> Any:
        """Of an E-step."""
        return accumulate(self.blocks(block_rows), update or self.update, n_jobs)


@pytest.fixture(params=KINDS)
def problem(request):
    """One of every kind."""
    return planted(request.param)


@pytest.fixture
def problem_of():
    """``problem_of(kind, seed=0, n=300, prior=0.0)``."""
    return planted


@pytest.fixture
def parameters():
    """Start, transitions and emissions of a chain of three states and six symbols."""
    rng = np.random.default_rng(0)
    return rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), 3), rng.dirichlet(np.ones(6), 3)


@pytest.fixture
def enumerate_paths():
    """``enumerate_paths(startprob, transmat, density)``: likelihood, posterior, transitions and best path of one sequence."""
    return from_all_paths


def from_all_paths(startprob: np.ndarray, transmat: np.ndarray, density: np.ndarray) -> tuple[Any, ...]:
    n, k = density.shape
    posterior, transitions, best = np.zeros((n, k)), np.zeros((k, k)), (-1.0, ())
    for path in itertools.product(range(k), repeat=n):
        moves = list(itertools.pairwise(path))
        p = startprob[path[0]] * np.prod([transmat[m] for m in moves]) * np.prod(density[range(n), path])
        best = max(best, (p, path))
        posterior[range(n), path] += p
        for move in moves:
            transitions[move] += p
    total = posterior[0].sum()
    return total, posterior / total, transitions / total, best


@pytest.fixture
def naive_posterior():
    """``naive_posterior(log_density, weights)``: responsibilities and log-likelihoods of rows."""

    def posterior(log_density: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        joint = np.exp(log_density) * weights
        return joint / joint.sum(axis=1, keepdims=True), np.log(joint.sum(axis=1))

    return posterior


@pytest.fixture
def naive_gaussian():
    """``naive_gaussian(x, means, variances)``: log-densities of rows."""

    def log_density(x: np.ndarray, means: np.ndarray, variances: np.ndarray) -> np.ndarray:
        found = np.zeros((len(x), len(means)))
        for i, row in enumerate(x):
            for k in range(len(means)):
                for j in range(len(row)):
                    v = variances[k, j]
                    found[i, k] -= 0.5 * ((row[j] - means[k, j]) ** 2 / v + np.log(2 * np.pi * v))
        return found

    return log_density


def planted(kind: str, seed: int = 0, n: int = 300, prior: float = 0.0) -> Problem:
    rng = np.random.default_rng(seed)
    if kind in ("symbols", "emissions", "vectors", "counts"):
        return planted_chain(kind, rng, n, prior)
    component, weights = rng.choice(3, n, p=WEIGHTS), np.full(3, 1 / 3)
    if kind in ("spherical", "tied", "gaussian"):
        means = rng.normal(scale=2, size=(3, 4))
        x = means[component] + rng.normal(size=(n, 4)) * np.array([0.5, 1, 2])[component][:, None]
        start = means + rng.normal(scale=0.5, size=(3, 4))
        if kind == "gaussian":
            return Problem((x,), None, ProductMixtureUpdate(kind, start, np.ones((3, 4)), weights))
        return Problem((x,), None, SphericalMixtureUpdate(start, weights, np.ones(3), tied=kind == "tied"))
    if kind == "bernoulli":
        p = rng.uniform(0.05, 0.95, (3, 8))
        x = (rng.uniform(size=(n, 8)) < p[component]).astype(float)
        start = 0.6 * p + 0.4 * rng.uniform(size=(3, 8))
        return Problem((x,), None, ProductMixtureUpdate(kind, start, None, weights))
    words = rng.dirichlet(np.full(12, 0.5), 3)
    x = np.array([rng.multinomial(15, words[k]) for k in component])
    start = 0.7 * words + 0.3 * rng.dirichlet(np.ones(12), 3)
    if kind == "multinomial":
        return Problem((sparse.csr_array(x),), None, MultinomialMixtureUpdate(start, weights, prior))
    gamma = rng.uniform(0.05, 0.8, (3, 5))
    y = (rng.uniform(size=(n, 5)) < gamma[component]).astype(float)
    labels = 0.6 * gamma + 0.4 * rng.uniform(size=(3, 5))
    pseudo = Pseudo(12 * prior, np.full(12, 1 / 12), np.full(5, 0.2))
    if kind == "present":
        x, start = (x > 0).astype(float), np.clip(5 * start, 0.05, 0.9)
    update = MixtureWithLabelsUpdate(start, labels, weights, kind == "present", pseudo)
    return Problem((sparse.csr_array(x), sparse.csr_array(y)), None, update)


def planted_chain(kind: str, rng: np.random.Generator, n: int, prior: float) -> Problem:
    lengths = [n // 3, 1, n - 1 - n // 3]
    startprob, transmat = rng.dirichlet(np.ones(3)), 0.5 * np.eye(3) + 0.5 * rng.dirichlet(np.ones(3), 3)
    states = np.concatenate([walk(startprob, transmat, length, rng) for length in lengths])
    begin, moves = np.full(3, 1 / 3), 0.7 * transmat + 0.1
    if kind == "vectors":
        means = rng.normal(scale=2, size=(3, 2))
        x = means[states] + rng.normal(size=(n, 2))
        start = means + rng.normal(scale=0.5, size=(3, 2))
        return Problem((x,), lengths, GaussianChainUpdate(begin, moves, start, np.full((3, 2), 2.0), prior=prior))
    if kind == "counts":
        rates = rng.uniform(0.5, 6, size=(3, 2))
        return Problem((rng.poisson(rates[states]),), lengths, CountChainUpdate(begin, moves, 0.7 * rates + 0.6, prior))
    emissions = rng.dirichlet(np.full(6, 0.5), 3)
    symbols = np.array([rng.choice(6, p=emissions[state]) for state in states])[:, None]
    make = SymbolChainUpdate if kind == "symbols" else EmissionUpdate
    return Problem((symbols,), lengths, make(begin, moves, 0.7 * emissions + 0.3 / 6, prior))


def walk(startprob: np.ndarray, transmat: np.ndarray, length: int, rng: np.random.Generator) -> np.ndarray:
    states = [rng.choice(len(startprob), p=startprob)]
    for _ in range(length - 1):
        states.append(rng.choice(len(startprob), p=transmat[states[-1]]))
    return np.array(states)
