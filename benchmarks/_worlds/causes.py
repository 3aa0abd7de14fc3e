"""Findings with causes, for `NoisyOr`.

The true error of a cause is |W_k - W'|_2 / |W_k|_2 to the nearest true weights W', at most 2.

Where findings are reported falsely, or causes go together or shut findings off, the truth is the strengths W without that;
where a cause that is on alone shows otherwise (copied findings, severity, two that are needed), it is how it shows then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import ndtri

from latentia.noisyor import NoisyOr

from .world import Case, Rng, copies, remembering, worlds

On = Callable[[Rng, int, np.ndarray], np.ndarray]  # (rng, n, priors): bool (n, m)


def case(
    rng: Rng,
    draw: Callable[[Rng, int], np.ndarray],
    n: int,
    asked: int,
    weights: np.ndarray | None,
    prior: float | None = None,
) -> Case:
    X, new = draw(rng, n).astype(float), draw(rng, 400).astype(float)
    p = (X.sum(axis=0) + 0.5) / (len(X) + 1)

    def distances(model: Any) -> np.ndarray:
        lengths = np.linalg.norm(model.weights_, axis=1, keepdims=True)
        return cdist(model.weights_, weights) / np.maximum(lengths, 1e-12)

    return Case(
        lambda refine: NoisyOr(asked, prior=prior, refine=refine),
        lambda model: model.fit(X),
        None if weights is None else distances,
        lambda model: (model.score(new), float((new @ np.log(p / (1 - p)) + np.log1p(-p).sum()).mean())),
        2.0,
    )


def network(rng: Rng, m: int, n: int, density: float, low: float = 0.3, high: float = 0.9, block: bool = False) -> Any:
    """Weights (m, n): each cause has some findings; in blocks it shares none."""
    linked = (np.arange(n) * m // n == np.arange(m)[:, None]) if block else rng.random((m, n)) < density
    for k in range(m):
        linked[k, rng.choice(n, 3, replace=False)] |= not linked[k].sum() >= 3
    return np.where(linked, -np.log1p(-rng.uniform(low, high, (m, n))), 0.0)


def independent(rng: Rng, n: int, priors: np.ndarray) -> np.ndarray:
    return rng.random((n, len(priors))) < priors


def findings(
    rng: Rng,
    n: int = 8000,
    m: int = 5,
    width: int = 30,
    *,
    priors: np.ndarray | float = 0.15,
    density: float = 0.3,
    leak: float = 0.03,
    weights: np.ndarray | None = None,
    on: On = independent,
    asked: int | None = None,
    told: float | None = None,
    strengths: Callable[[Rng, np.ndarray, np.ndarray], np.ndarray] | None = None,
    after: Callable[[Rng, np.ndarray, np.ndarray], np.ndarray] | None = None,
    alone: bool = False,
    times: int = 1,
    shuffled: bool = True,
) -> Case:
    """``strengths(rng, on, W)`` makes chances of absence (n, width) of its own, ``after`` other rows, (rng, on, X).

    With ``alone`` the truth is what rows say in which one cause is on, beside those without any.
    """
    weights = network(rng, m, width, density) if weights is None else weights
    m, width = weights.shape
    priors, leaks = np.broadcast_to(priors, m), rng.uniform(0.3, 1.7, width) * leak

    def rows(rng: Rng, causes: np.ndarray) -> np.ndarray:
        absent = strengths(rng, causes, weights) if strengths else np.exp(-(causes @ weights))
        X = rng.random(absent.shape) >= absent * (1 - leaks)
        return after(rng, causes, X) if after else X

    def draw(rng: Rng, n: int) -> np.ndarray:
        X = rows(rng, on(rng, n // times, priors))
        return X if times == 1 else X[copies(rng, n, times, shuffled)]

    true = shown(rng, rows, m) if alone else weights
    return case(rng, draw, n, m if asked is None else asked, true, told)


def shown(rng: Rng, rows: Callable[[Rng, np.ndarray], np.ndarray], m: int) -> np.ndarray:
    """-log P(absent | one cause) / P(absent | none), by 20,000 rows each."""
    none, *each = (rows(rng, np.tile(one, (20_000, 1))).mean(axis=0) for one in np.eye(m + 1, m, -1) > 0)
    return np.maximum(np.log((1 - none + 1e-4) / (1 - np.array(each) + 1e-4)), 0)


# --- what is wrong with them --------------------------------------------------------------------------------------


def together(correlation: float) -> On:
    """Causes 1 and 2, 3 and 4, ... go together: Gaussian copulas with this correlation."""

    def on(rng: Rng, n: int, priors: np.ndarray) -> np.ndarray:
        g, shared = rng.standard_normal((n, len(priors))), rng.standard_normal((n, (len(priors) + 1) // 2))
        shared = np.repeat(shared, 2, axis=1)[:, : len(priors)]
        return np.sqrt(1 - correlation) * g + np.sqrt(correlation) * shared < ndtri(priors)

    return on


def frailty(correlation: float) -> On:
    """All causes go together: some people have many."""

    def on(rng: Rng, n: int, priors: np.ndarray) -> np.ndarray:
        g = np.sqrt(1 - correlation) * rng.standard_normal((n, len(priors)))
        return g + np.sqrt(correlation) * rng.standard_normal((n, 1)) < ndtri(priors)

    return on


def persistent(rho: float) -> On:
    """Causes last from row to row."""
    return lambda rng, n, priors: remembering(rng, n, len(priors), rho) < ndtri(priors)


def one_at_a_time(rng: Rng, n: int, priors: np.ndarray) -> np.ndarray:
    """Exactly one cause is on, or none."""
    chance = np.append(priors, max(1 - priors.sum(), 0.0))
    return np.arange(len(priors)) == rng.choice(len(chance), n, p=chance / chance.sum())[:, None]


def season(rng: Rng, n: int, priors: np.ndarray) -> np.ndarray:
    """Causes are up to three times as frequent in the last rows as in the first."""
    return rng.random((n, len(priors))) < priors * np.linspace(0.5, 1.5, n)[:, None]


def inhibiting(rng: Rng, causes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The last cause shuts off two thirds of what others do, besides what it does itself."""
    others = causes[:, :-1] @ weights[:-1]
    chance = 1 - np.exp(-others)
    chance *= np.where(causes[:, -1:], 1 / 3, 1)
    return (1 - chance) * np.exp(-(causes[:, -1:] @ weights[-1:]))


def adding(rng: Rng, causes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Chances add up, to at most 0.95, where noisy-or multiplies absences."""
    return 1 - np.minimum(causes @ (1 - np.exp(-weights)), 0.95)


def needing_two(rng: Rng, causes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """A finding of two causes or more is rare with only one of these on: a third of the weight."""
    linked = causes @ (weights > 0).astype(float)
    several = (weights > 0).sum(axis=0) >= 2
    return np.exp(-(causes @ weights) * np.where(several & (linked < 2), 1 / 3, 1))


def strongest(rng: Rng, causes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Only the strongest cause that is on counts."""
    return np.exp(-np.max(causes[:, :, None] * weights, axis=1))


def severe(rng: Rng, causes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """In each row a cause is milder or more severe: weights times a log-normal factor of mean one."""
    factor = np.exp(0.9 * rng.standard_normal(causes.shape) - 0.405)
    return np.exp(-((causes * factor) @ weights))


def misreported(share: float) -> Callable[[Rng, np.ndarray, np.ndarray], np.ndarray]:
    """Some entries are the wrong way round."""
    return lambda rng, causes, X: X ^ (rng.random(X.shape) < share)


def not_asked(rng: Rng, causes: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Of a quarter of the rows the second half of the findings was not looked at, and is absent."""
    X[np.ix_(rng.random(len(X)) < 0.25, np.arange(X.shape[1] // 2, X.shape[1]))] = False
    return X


def complaining(rng: Rng, causes: np.ndarray, X: np.ndarray) -> np.ndarray:
    """One in twenty rows reports half of everything."""
    out = rng.random(len(X)) < 0.05
    X[out] |= rng.random((int(out.sum()), X.shape[1])) < 0.5
    return X


def nearly_copied(rng: Rng, causes: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Five findings are others under another name, nine times out of ten."""
    again = rng.random((len(X), 5)) < 0.9
    X[:, -5:] = np.where(again, X[:, :5], X[:, -5:])
    return X


def lasting_findings(rng: Rng, causes: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Each finding is looked at anew in every fourth row, and else carried on."""
    rows = np.arange(len(X))[:, None]
    new = np.where((rng.random(X.shape) < 0.25) | (rows == 0), rows, 0)
    return np.take_along_axis(X, np.maximum.accumulate(new, axis=0), axis=0)


def alike(rng: Rng, m: int, n: int, own: float) -> np.ndarray:
    """The last cause is the first but for a share of its weights."""
    weights = network(rng, m, n, 0.35)
    weights[-1] = (1 - own) * weights[0] + own * weights[-1]
    return weights


def nothing(draw: Callable[[Rng, int], np.ndarray], n: int = 5000, asked: int = 4) -> Callable[[Rng], Case]:
    return lambda rng: case(rng, draw, n, asked, None)


def chances(rng: Rng, n: int) -> np.ndarray:
    return rng.random((n, 24)) < np.linspace(0.05, 0.5, 24)


def lasting(rng: Rng, n: int) -> np.ndarray:
    return remembering(rng, n, 24, 0.97) < ndtri(np.linspace(0.05, 0.5, 24))


WORLDS = worlds(
    "NoisyOr",
    right={
        "plenty": lambda rng: findings(rng, 20_000),
        "own findings": lambda rng: findings(rng, 6000, weights=network(rng, 5, 30, 0, block=True)),
        "eight causes": lambda rng: findings(rng, 12_000, 8, 45, density=0.2, priors=0.1),
        "seven causes, few rows": lambda rng: findings(rng, 1500, 7, 35, density=0.2, priors=0.12),
        "overlapping": lambda rng: findings(rng, 12_000, density=0.5, priors=0.12),
        "frequent causes": lambda rng: findings(rng, 10_000, 4, 24, priors=0.35),
        "priors from 2% to 30%": lambda rng: findings(rng, 15_000, priors=np.geomspace(0.3, 0.02, 5)),
        "no leak": lambda rng: findings(rng, 6000, leak=0.0),
        "prior told": lambda rng: findings(rng, 8000, told=0.15),
        "few rows": lambda rng: findings(rng, 800),
        "weak causes": lambda rng: findings(rng, 8000, weights=network(rng, 4, 30, 0.4, 0.1, 0.4), priors=0.2),
        "twins": lambda rng: findings(rng, 15_000, weights=alike(rng, 4, 30, 0.4)),
        "hardly enough": lambda rng: findings(rng, 2000, 6, 30, leak=0.08),
        "hopeless": lambda rng: findings(rng, 200, 6, 30, priors=0.1),
    },
    wrong={
        "pairs of causes together": lambda rng: findings(rng, on=together(0.6)),
        "all causes together": lambda rng: findings(rng, on=frailty(0.3)),
        "one at a time": lambda rng: findings(rng, on=one_at_a_time),
        "inhibiting": lambda rng: findings(rng, priors=0.2, strengths=inhibiting),
        "chances add up": lambda rng: findings(rng, density=0.5, priors=0.3, strengths=adding),
        "two are needed": lambda rng: findings(rng, density=0.5, priors=0.25, strengths=needing_two, alone=True),
        "the strongest counts": lambda rng: findings(rng, density=0.5, priors=0.3, strengths=strongest),
        "severity": lambda rng: findings(rng, strengths=severe, alone=True),
        "prior told too small": lambda rng: findings(rng, told=0.04),
        "prior told too large": lambda rng: findings(rng, told=0.4),
        "misreported": lambda rng: findings(rng, after=misreported(0.08)),
        "half not asked": lambda rng: findings(rng, after=not_asked),
        "complaining rows": lambda rng: findings(rng, after=complaining),
        "findings nearly copied": lambda rng: findings(rng, after=nearly_copied, alone=True),
        "copied rows": lambda rng: findings(rng, 6000, times=10),
        "copied rows, neighbours": lambda rng: findings(rng, 10_000, times=10, shuffled=False),
        "time series": lambda rng: findings(rng, on=persistent(0.98)),
        "time series, findings last": lambda rng: findings(rng, on=persistent(0.999), after=lasting_findings),
        "season": lambda rng: findings(rng, on=season),
        "too few": lambda rng: findings(rng, 10_000, 8, 36, density=0.25, asked=4),
        "too many": lambda rng: findings(rng, 8000, 4, 30, asked=8),
        "one too few": lambda rng: findings(rng, 8000, 5, 30, asked=4),
    },
    empty={
        "independent findings": nothing(chances),
        "independent findings with memory": nothing(lasting),
        "independent findings, copied rows": nothing(lambda rng, n: chances(rng, n // 10)[copies(rng, n, 10)]),
    },
)
