"""Fit: whether a small classifier tells real rows from rows that are drawn from the fitted model.

Rows are drawn with the design of the real ones: as many, of the same lengths, with the same missing cells. Where the model
holds the classifier guesses, and the area under its curve is a half; where it does not, the columns that give drawn rows away
say why. It sees whatever a tree sees, such as shapes, tails, dependence and dispersion, and nothing that both have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from .checks import REAL_OR_SIMULATED, Check, at_most

_APART, _SURE = 0.03, 2.5  # area above a half, that is let pass, or so many of its standard errors
_FEWEST, _MOST_COLUMNS = 100, 100
_TREES = {"max_iter": 40, "max_leaf_nodes": 8, "learning_rate": 0.2, "min_samples_leaf": 20, "early_stopping": False}
_NAMED = 3  # columns


@dataclass(frozen=True)
class Drawn:
    """Rows, and as many that are drawn from the model.

    Attributes
    ----------
    real, drawn : ndarrays of shape (n, D)
        Missing cells are NaN.
    names : sequence of str
        Of the columns, or none.
    """

    real: np.ndarray
    drawn: np.ndarray
    names: Sequence[str] = ()


def simulated_checks(rows: Drawn, seed: int, noun: str = "row") -> list[Check]:
    """One line, a caution: the area under the curve; none of too few rows."""
    n = min(len(rows.real), len(rows.drawn))
    if n < _FEWEST or not rows.real.shape[1]:
        return []
    columns = np.unique(np.linspace(0, rows.real.shape[1] - 1, _MOST_COLUMNS).astype(int))
    table = np.vstack([rows.real[:n][:, columns], rows.drawn[:n][:, columns]])
    is_real = np.arange(2 * n) < n
    area, give_away = _area(table, is_real, seed)
    limit = 0.5 + max(_APART, _SURE * float(np.sqrt((2 * n + 1) / (12 * n * n))))
    named = [rows.names[columns[j]] if len(rows.names) else f"column {columns[j]}" for j in give_away]
    by = f" What tells them apart most: {', '.join(named)}." if area > limit and named else ""
    return [
        Check(
            REAL_OR_SIMULATED, "area under the curve", area, at_most(limit, "0.5 for guessing"),
            f"How well a small classifier tells real {noun}s from {noun}s drawn from the model.{by}",
            "not in the papers", "caution",
            f"Data that is drawn from the model looks different.{by or ' Look at what it leaves out.'}",
        )
    ]  # fmt: skip


def _area(table: np.ndarray, is_real: np.ndarray, seed: int) -> tuple[float, list[int]]:
    """Area under the curve on rows that were not learned from, and the columns without which it is smallest."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    rng = np.random.default_rng([seed, 106])
    fold = np.empty(len(table), bool)
    for kind in (is_real, ~is_real):
        fold[kind] = rng.permutation(int(kind.sum())) % 2 == 0
    scores, lost = np.empty(len(table)), np.zeros(table.shape[1])
    for held in (fold, ~fold):
        trees = HistGradientBoostingClassifier(random_state=0, **_TREES).fit(table[~held], is_real[~held])
        scores[held] = trees.decision_function(table[held])
        whole, order = _rank_area(scores[held], is_real[held]), rng.permutation(int(held.sum()))
        for j in range(table.shape[1]) if whole > 0.5 + _APART else ():
            mixed = table[held].copy()
            mixed[:, j] = mixed[order, j]
            lost[j] += whole - _rank_area(trees.decision_function(mixed), is_real[held])
    area = float(np.mean([_rank_area(scores[held], is_real[held]) for held in (fold, ~fold)]))
    return area, [int(j) for j in np.argsort(-lost, kind="stable")[:_NAMED] if lost[j] > 0]


def _rank_area(scores: np.ndarray, is_real: np.ndarray) -> float:
    """Chance that a real row scores higher than a drawn one; ties count half."""
    n, m = int(is_real.sum()), int((~is_real).sum())
    return float((rankdata(scores)[is_real].sum() - n * (n + 1) / 2) / max(n * m, 1))
