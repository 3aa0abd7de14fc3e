"""Rows of three views or more, for `MultiViewMixture`.

The true error of a component is the l2 distance of its mean over all features to the nearest true one, in standard
deviations of the data.

Where something besides the component moves the rows, the truth is the mean of the component over it; where rows are spoilt
(not asked, careless, graded), it is what they would be without.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy.spatial.distance import cdist

from latentia.mixtures import MultiViewMixture

from .world import Case, Rng, copies, labels_of, remembering, spread_shares, worlds


def case(
    rng: Rng,
    draw: Callable[[Rng, int], np.ndarray],
    n: int,
    k: int,
    means: np.ndarray | None,
    distribution: str | None = "bernoulli",
    cuts: Any = 3,
) -> Case:
    X, new = draw(rng, n).astype(float), draw(rng, 1000).astype(float)
    views = np.array_split(np.arange(X.shape[1]), cuts)
    sd = np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)

    def score(model: Any) -> tuple[float, float]:
        return model.score(new), independent(X, new, distribution == "bernoulli")

    return Case(
        lambda refine: MultiViewMixture(k, distribution=distribution, refine=refine if distribution else 0),
        lambda model: model.fit(X, views=views),
        None if means is None else lambda model: cdist(np.hstack(model.means_) / sd, means / sd),
        score if distribution else None,
    )


def independent(X: np.ndarray, new: np.ndarray, binary: bool) -> float:
    """Mean log-density of new rows where all features are independent."""
    if binary:
        p = (X.sum(axis=0) + 0.5) / (len(X) + 1)
        return float((new @ np.log(p / (1 - p)) + np.log1p(-p).sum()).mean())
    variance = np.maximum(X.var(axis=0), 1e-9)
    return float(-0.5 * ((new - X.mean(axis=0)) ** 2 / variance + np.log(2 * np.pi * variance)).sum(axis=1).mean())


def chances(rng: Rng, k: int, d: int, contrast: float) -> np.ndarray:
    """Probabilities of binary features around a half."""
    return np.clip(0.5 + contrast * rng.uniform(-1, 1, (k, d)), 0.03, 0.97)


Change = Callable[[Rng, np.ndarray, np.ndarray], np.ndarray]


def switches(
    rng: Rng,
    n: int = 6000,
    k: int = 4,
    d: int = 24,
    contrast: float = 0.45,
    *,
    fold: float = 1.0,
    stay: float = 0.0,
    asked: int | None = None,
    means: np.ndarray | None = None,
    change: Change | None = None,
    after: Change | None = None,
    clean: bool = False,
    times: int = 1,
    shuffled: bool = True,
    cuts: Any = 3,
) -> Case:
    """Binary rows; ``change`` makes other probabilities of the rows' own, (rng, labels, P), ``after`` other rows.

    Where either is given the truth is the mean of the rows of each component, over 30,000 of them, or with ``clean`` what it
    would be without.
    """
    means, shares = chances(rng, k, d, contrast) if means is None else means, spread_shares(k, fold)

    def rows(rng: Rng, labels: np.ndarray) -> np.ndarray:
        p = means[labels]
        p = change(rng, labels, p) if change else p
        X = (rng.random(p.shape) < p).astype(float)
        return after(rng, labels, X) if after else X

    def draw(rng: Rng, n: int) -> np.ndarray:
        X = rows(rng, labels_of(rng, n // times, shares, stay))
        return X if times == 1 else X[copies(rng, n, times, shuffled)]

    true = means
    if (change or after) and not clean:
        true = np.stack([rows(rng, np.full(30_000, j)).mean(axis=0) for j in range(k)])
    return case(rng, draw, n, k if asked is None else asked, true, cuts=cuts)


def logit_shift(p: np.ndarray, shift: np.ndarray) -> np.ndarray:
    return 1 / (1 + (1 / p - 1) * np.exp(-shift))


def nuisance(share: float, size: float, every: int = 1) -> Change:
    """A second hidden variable, on in a share of the rows, moves every ``every``-th feature of all views up."""

    def change(rng: Rng, labels: np.ndarray, p: np.ndarray) -> np.ndarray:
        on = rng.random((len(p), 1)) < share
        return logit_shift(p, size * on * (np.arange(p.shape[1]) % every == 0))

    return change


def ability(size: float) -> Change:
    """A continuous trait of the row moves all features."""
    return lambda rng, labels, p: logit_shift(p, size * rng.standard_normal((len(p), 1)))


def grades_of_membership(rng: Rng, labels: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Each row is a quarter like another row's component."""
    return 0.75 * p + 0.25 * p[rng.permutation(len(p))]


def in_pairs(rng: Rng, labels: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Within a view, each second feature repeats the one before it in 60% of the rows."""
    again = rng.random((len(X), X.shape[1] // 2)) < 0.6
    X[:, 1::2] = np.where(again, X[:, 0::2], X[:, 1::2])
    return X


def across_views(rng: Rng, labels: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Two features of the last view repeat features of the first in 80% of the rows."""
    again = rng.random((len(X), 2)) < 0.8
    X[:, -2:] = np.where(again, X[:, :2], X[:, -2:])
    return X


def unanswered(share: float) -> Change:
    """In some rows the last two thirds of the features were not asked, and read zero."""

    def after(rng: Rng, labels: np.ndarray, X: np.ndarray) -> np.ndarray:
        X[np.ix_(rng.random(len(X)) < share, np.arange(X.shape[1] // 3, X.shape[1]))] = 0
        return X

    return after


def careless(rng: Rng, labels: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Eight in a hundred rows are all ones, and as many all zeros."""
    kind = rng.random(len(X))
    X[kind < 0.08], X[kind > 0.92] = 1, 0
    return X


def drifting(rng: Rng, labels: np.ndarray, p: np.ndarray) -> np.ndarray:
    """All features become more likely from the first row to the last."""
    return logit_shift(p, 3 * np.linspace(-0.5, 0.5, len(p))[:, None])


def twins(rng: Rng, k: int, d: int, near: float) -> np.ndarray:
    p = chances(rng, k, d, 0.45)
    p[-1] = np.clip(p[0] + near * rng.choice([-1, 1], d), 0.03, 0.97)
    return p


def measured(
    rng: Rng,
    n: int = 5000,
    k: int = 4,
    d: int = 18,
    sep: float = 1.2,
    *,
    distribution: str | None = "gaussian",
    asked: int | None = None,
    stay: float = 0.0,
    noise: Callable[[Rng, np.ndarray, int], np.ndarray] | None = None,
    cuts: Any = 3,
) -> Case:
    """Rows of numbers, with means of standard deviation ``sep`` in each feature, and noise of unit variance."""
    means = sep * rng.standard_normal((k, d))
    noise = noise or (lambda rng, labels, d: rng.standard_normal((len(labels), d)))

    def draw(rng: Rng, n: int) -> np.ndarray:
        labels = labels_of(rng, n, spread_shares(k, 2), stay)
        return means[labels] + noise(rng, labels, d)

    return case(rng, draw, n, k if asked is None else asked, means, distribution, cuts)


def own_variances(rng: Rng, k: int, d: int) -> Callable[[Rng, np.ndarray, int], np.ndarray]:
    sd = rng.uniform(0.5, 1.5, (k, d))
    return lambda rng, labels, d: sd[labels] * rng.standard_normal((len(labels), d))


def within_views(rng: Rng, labels: np.ndarray, d: int) -> np.ndarray:
    """Noise that the features of a view share by half."""
    own, shared = rng.standard_normal((len(labels), d)), rng.standard_normal((len(labels), 3))
    return (own + np.repeat(shared, d // 3, axis=1)) / np.sqrt(2)


def common_factor(rng: Rng, labels: np.ndarray, d: int) -> np.ndarray:
    """Noise that all features share by a third."""
    return (rng.standard_normal((len(labels), d)) * np.sqrt(2) + rng.standard_normal((len(labels), 1))) / np.sqrt(3)


def heavy(rng: Rng, labels: np.ndarray, d: int) -> np.ndarray:
    """Tails, t3, of all features of a row together."""
    return rng.standard_normal((len(labels), d)) / np.sqrt(rng.chisquare(3, (len(labels), 1)))


def mixed_views(rng: Rng) -> Case:
    """A fifth of the views is of another row: records that were joined wrongly."""
    p = chances(rng, 4, 24, 0.45)

    def draw(rng: Rng, n: int) -> np.ndarray:
        labels = np.tile(rng.choice(4, n)[:, None], 3)
        wrong = rng.random(labels.shape) < 0.2
        labels[wrong] = rng.choice(4, int(wrong.sum()))
        return rng.random((n, 24)) < p[labels].transpose(0, 1, 2)[:, [0] * 8 + [1] * 8 + [2] * 8, np.arange(24)]

    return case(rng, draw, 6000, 4, p)


def nothing(draw: Callable[[Rng, int], np.ndarray], distribution: str = "bernoulli") -> Callable[[Rng], Case]:
    return lambda rng: case(rng, draw, 5000, 4, None, distribution)


def one_within(rng: Rng, n: int) -> np.ndarray:
    return in_pairs(rng, np.zeros(n, int), (rng.random((n, 24)) < np.linspace(0.2, 0.8, 24)).astype(float))


def kinds(
    rng: Rng,
    n: int = 4000,
    k: int = 3,
    *,
    gaps: float = 0.0,
    contrast: float = 1.0,
    asked: int | None = None,
    alone: bool = False,
    change: Callable[[Rng, pd.DataFrame], pd.DataFrame] | None = None,
) -> Case:
    """A table of numbers, categories and counts; ``alone`` puts the cells of each column in an order of their own."""
    means, sd = contrast * rng.standard_normal((k, 4)), rng.uniform(0.5, 1.5, (k, 4))
    chances, rates = (
        rng.dirichlet(np.full(3, 1 / contrast), (k, 4)),
        rng.gamma(1 / contrast, 4 * contrast, (k, 4)) + 0.2,
    )
    shares = spread_shares(k, 2)

    def draw(rng: Rng, n: int, gaps: float) -> tuple[pd.DataFrame, np.ndarray]:
        labels = labels_of(rng, n, shares, 0.0)
        values = (rng.random((n, 4, 1)) > chances[labels].cumsum(axis=2)[:, :, :2]).sum(axis=2)
        numbers = means[labels] + sd[labels] * rng.standard_normal((n, 4))
        tables = {
            "number": numbers,
            "category": np.array(["a", "b", "c"], object)[values],
            "count": rng.poisson(rates[labels]),
        }
        frame = pd.DataFrame(
            {f"{kind} {i}": column for kind, table in tables.items() for i, column in enumerate(table.T)}
        )
        frame = change(rng, frame) if change else frame
        if alone:
            frame = pd.DataFrame({name: rng.permutation(frame[name].to_numpy()) for name in frame})
        return frame.mask(rng.random(frame.shape) < gaps), labels

    (rows, _), (new, _), (many, of_many) = draw(rng, n, gaps), draw(rng, 1000, gaps), draw(rng, 30_000, 0.0)
    kind = {"number": "gaussian", "category": "categorical", "count": "poisson"}
    said = {name: kind[name.split()[0]] for name in rows}
    dummies = pd.get_dummies(many, prefix_sep=" = ", dtype=float)
    true = dummies.groupby(of_many).mean()

    def errors(model: Any) -> np.ndarray:
        features = [name for view in model.feature_names for name in view]
        scales = np.concatenate(model.column_scales)
        return cdist(np.hstack(model.means_) / scales, true[features].to_numpy() / scales)

    def score(model: Any) -> tuple[float, float]:
        return model.score(new), MultiViewMixture(1, distribution=said, n_splits=0).fit(rows).score(new)

    return Case(
        lambda refine: MultiViewMixture(k if asked is None else asked, distribution=said, refine=refine),
        lambda model: model.fit(rows), None if alone else errors, score,
    )  # fmt: skip


def uneven_counts(rng: Rng, frame: pd.DataFrame) -> pd.DataFrame:
    """Counts of rows that are more or less active, whatever their component."""
    active = rng.gamma(2, 0.5, len(frame))
    counts = [name for name in frame if name.startswith("count")]
    return frame.assign(**{name: rng.poisson(frame[name] * active).astype(float) for name in counts})


def echoed(rng: Rng, frame: pd.DataFrame) -> pd.DataFrame:
    """Two columns say mostly what two others do."""
    again = rng.random(len(frame)) < 0.7
    return frame.assign(
        **{f"{kind} 1": np.where(again, frame[f"{kind} 0"], frame[f"{kind} 1"]) for kind in ("number", "category")}
    )


WORLDS = worlds(
    "MultiViewMixture",
    right={
        "plenty": lambda rng: switches(rng, 10_000),
        "numbers": lambda rng: measured(rng),
        "numbers, own variances": lambda rng: measured(rng, 4000, 5, 24, noise=own_variances(rng, 5, 24)),
        "no distribution": lambda rng: measured(rng, 8000, distribution=None, noise=within_views),
        "five views": lambda rng: switches(rng, 5000, 4, 30, cuts=5),
        "views of 4, 8 and 20": lambda rng: switches(rng, 8000, 4, 32, cuts=[4, 12]),
        "eight components": lambda rng: switches(rng, 6000, 8, 60),
        "few rows": lambda rng: switches(rng, 500, 3, 24),
        "weak contrast": lambda rng: switches(rng, 8000, 3, 30, 0.25),
        "hardly enough": lambda rng: switches(rng, 2500, 4, 24, 0.3),
        "hopeless": lambda rng: switches(rng, 300, 5, 24, 0.2),
        "shares 50-fold": lambda rng: switches(rng, 10_000, 5, 30, fold=50),
        "twins": lambda rng: switches(rng, 10_000, 4, 30, means=twins(rng, 4, 30, 0.12)),
        "columns of several kinds": lambda rng: kinds(rng),
        "columns of several kinds, gaps": lambda rng: kinds(rng, gaps=0.2),
        "columns of several kinds, weak": lambda rng: kinds(rng, 3000, 4, contrast=0.6),
        "numbers, close": lambda rng: measured(rng, 5000, 4, 18, 0.6),
    },
    wrong={
        "nuisance shared by views": lambda rng: switches(rng, change=nuisance(0.3, 2.5)),
        "nuisance, every third feature": lambda rng: switches(rng, change=nuisance(0.5, 2.0, 3)),
        "nuisance, faint": lambda rng: switches(rng, change=nuisance(0.5, 0.8)),
        "ability": lambda rng: switches(rng, change=ability(1.0)),
        "grades of membership": lambda rng: switches(rng, change=grades_of_membership, clean=True),
        "pairs of features": lambda rng: switches(rng, after=in_pairs),
        "features across views": lambda rng: switches(rng, after=across_views),
        "not asked, read as zero": lambda rng: switches(rng, after=unanswered(0.25), clean=True),
        "careless rows": lambda rng: switches(rng, after=careless, clean=True),
        "copied rows": lambda rng: switches(rng, 6000, times=10),
        "copied rows, neighbours, weak": lambda rng: switches(rng, 10_000, 3, 30, 0.3, times=10, shuffled=False),
        "time series": lambda rng: switches(rng, 6000, stay=0.99),
        "time series of numbers": lambda rng: measured(
            rng, 5000, sep=0.8, stay=0.98, noise=lambda r, z, d: remembering(r, len(z), d, 0.95)
        ),
        "K half": lambda rng: switches(rng, 8000, 6, 30, asked=3),
        "K twice": lambda rng: switches(rng, 8000, 3, 30, asked=6),
        "numbers, K one too many": lambda rng: measured(rng, asked=5),
        "drift": lambda rng: switches(rng, change=drifting),
        "numbers with tails": lambda rng: measured(rng, noise=heavy),
        "numbers with a common factor": lambda rng: measured(rng, sep=0.8, noise=common_factor),
        "views joined wrongly": mixed_views,
        "columns of several kinds, uneven counts": lambda rng: kinds(rng, change=uneven_counts),
        "columns of several kinds, echoes": lambda rng: kinds(rng, change=echoed),
        "columns of several kinds, K twice": lambda rng: kinds(rng, asked=6),
    },
    empty={
        "independent switches": nothing(lambda rng, n: rng.random((n, 24)) < np.linspace(0.1, 0.9, 24)),
        "independent numbers": nothing(lambda rng, n: rng.standard_normal((n, 18)), "gaussian"),
        "one component, pairs of features": nothing(one_within),
        "columns of several kinds, alone": lambda rng: kinds(rng, alone=True),
        "numbers with memory": nothing(lambda rng, n: remembering(rng, n, 18, 0.97), "gaussian"),
    },
)
