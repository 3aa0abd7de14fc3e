"""Fit: can a small classifier tell real rows from rows simulated by the fitted model?

Simulated rows have the design of the real ones: their number, lengths and missing cells. If the model holds, the classifier
guesses and the area under its curve is a half; if not, the columns that give simulated rows away show why. The classifier sees
whatever a tree sees: shapes, tails, dependence and dispersion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from .checks import REAL_OR_SIMULATED, Check, at_most

_MIN_EXCESS, _MIN_DEVIATIONS = 0.03, 2.5  # tolerated area above a half, and the same in standard errors
_MIN_ROWS, _MAX_COLUMNS = 100, 100
_TREE_OPTIONS = {
    "max_iter": 40,
    "max_leaf_nodes": 8,
    "learning_rate": 0.2,
    "min_samples_leaf": 20,
    "early_stopping": False,
}
_MAX_NAMED = 3  # columns that the sentence names


@dataclass(frozen=True)
class RealAndSimulated:
    """Real rows, and as many simulated from the model.

    Attributes
    ----------
    real, simulated : ndarrays of shape (n, D)
        Missing cells are NaN.
    names : sequence of str
        Names of the columns; may be empty.
    """

    real: np.ndarray
    simulated: np.ndarray
    names: Sequence[str] = ()


def simulation_checks(rows: RealAndSimulated, seed: int, noun: str = "row") -> list[Check]:
    """Build one caution, on the area under the curve; none for too few rows."""
    n = min(len(rows.real), len(rows.simulated))
    if n < _MIN_ROWS or not rows.real.shape[1]:
        return []
    columns = np.unique(np.linspace(0, rows.real.shape[1] - 1, _MAX_COLUMNS).astype(int))
    table = np.vstack([rows.real[:n][:, columns], rows.simulated[:n][:, columns]])
    is_real = np.arange(2 * n) < n
    area, telling_columns = _area(table, is_real, seed)
    limit = 0.5 + max(_MIN_EXCESS, _MIN_DEVIATIONS * float(np.sqrt((2 * n + 1) / (12 * n * n))))
    names = [rows.names[columns[j]] if len(rows.names) else f"column {columns[j]}" for j in telling_columns]
    names_sentence = f" They differ most in: {', '.join(names)}." if area > limit and names else ""
    return [
        Check(
            REAL_OR_SIMULATED, "area under the curve", area, at_most(limit, "0.5 for guessing"),
            f"How well a small classifier tells real {noun}s from {noun}s simulated by the model.{names_sentence}",
            "not in the papers", "caution",
            f"Data simulated by the model looks different.{names_sentence or ' Look for what the model leaves out.'}",
        )
    ]  # fmt: skip


def _area(table: np.ndarray, is_real: np.ndarray, seed: int) -> tuple[float, list[int]]:
    """Return the area under the curve on held-out rows, and the columns whose permutation lowers it most."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    rng = np.random.default_rng([seed, 106])
    fold = np.empty(len(table), bool)
    for kind in (is_real, ~is_real):
        fold[kind] = rng.permutation(int(kind.sum())) % 2 == 0
    scores, area_losses = np.empty(len(table)), np.zeros(table.shape[1])
    for is_held_out in (fold, ~fold):
        trees = HistGradientBoostingClassifier(random_state=0, **_TREE_OPTIONS).fit(
            table[~is_held_out], is_real[~is_held_out]
        )
        scores[is_held_out] = trees.decision_function(table[is_held_out])
        full_area, order = (
            _rank_area(scores[is_held_out], is_real[is_held_out]),
            rng.permutation(int(is_held_out.sum())),
        )
        for j in range(table.shape[1]) if full_area > 0.5 + _MIN_EXCESS else ():
            permuted = table[is_held_out].copy()
            permuted[:, j] = permuted[order, j]
            area_losses[j] += full_area - _rank_area(trees.decision_function(permuted), is_real[is_held_out])
    area = float(np.mean([_rank_area(scores[is_held_out], is_real[is_held_out]) for is_held_out in (fold, ~fold)]))
    return area, [int(j) for j in np.argsort(-area_losses, kind="stable")[:_MAX_NAMED] if area_losses[j] > 0]


def _rank_area(scores: np.ndarray, is_real: np.ndarray) -> float:
    """Return the chance that a real row scores higher than a simulated one; ties count half."""
    n, m = int(is_real.sum()), int((~is_real).sum())
    return float((rankdata(scores)[is_real].sum() - n * (n + 1) / 2) / max(n * m, 1))
