"""Repeatability: does what people read of a component repeat on other rows?

Expected errors are about numbers. A topic whose probabilities are off by a half may have the same words and documents in every
fit: it is *found again*. This is the first of the four statements (`latentia.evidence.statements`), and the best single sign of
real components. Alone it is not enough: halves also agree on the shells into which a mixture cuts a single cloud.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from scipy.optimize import linear_sum_assignment

from .checks import Check, at_most

Again = Literal["yes", "mostly", "no"]

_STRETCH_ROWS = 5  # consecutive rows whose likeness is measured
_MAX_CORRELATION = 0.1  # larger correlations of neighbouring rows are reported
# Repeat shares from which a component is found again, and mostly found again.
WELL_FOUND, MOSTLY_FOUND = 0.75, 0.5
_FEATURE_WEIGHT = 0.25  # weight of the displayed columns, if they repeat less than shares do
_DISCOUNT = 2 / 3  # factor for repeats that data without components would show too
_N_ROTATIONS, _CHANCE_QUANTILE = 200, 0.95  # random rotations, and the quantile of their agreement
_MAX_AXES = 30  # more random axes are hardly ever near each other
_MAX_AXIS_CORRELATION = 0.95  # axes that are nearer count no more, so that one of them does not speak for all
_PART_TEXTS = {
    "nodes": "three quarters of the edges",
    "variance": "halves of the rows",
    "units": "three quarters of the rows",
}
_DIGITS = 9  # rounding, so that the last bits of correlations do not decide
_TINY = 1e-12  # share of the squared length: rows that vary less are constant up to rounding


@dataclass(frozen=True)
class ComponentView:
    """Shares and features by which people read the components of a fitted model.

    Attributes
    ----------
    shares : ndarray of shape (K, n)
        Amount of each component in each of some rows: shares, probabilities, activations or memberships.
    displayed_columns : ndarray of int, shape (K, m), optional
        Columns that tables show for each component.
    signed : bool
        Whether the sign of a component is arbitrary.
    ordered : bool
        Whether the rows are in the order of the data that was split.
    """

    shares: np.ndarray
    displayed_columns: np.ndarray | None = None
    signed: bool = False
    ordered: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "shares", np.asarray(self.shares))  # from a data frame, if `transform` returns one


def repeat_shares(view: ComponentView, other_view: ComponentView) -> np.ndarray:
    """Return how much of each component another fit contains, from 0 to 1, shape (K,).

    Components are matched one to one, so a duplicate has no partner. The value is the correlation of matched shares in the same
    rows; if tables show columns, three quarters of it plus a quarter of the common share of these columns, if that is less.
    """
    similarities = _correlations(view.shares, other_view.shares)
    similarities = np.abs(similarities) if view.signed else np.maximum(similarities, 0.0)
    rows, columns = linear_sum_assignment(-similarities)
    shares = np.zeros(len(similarities))
    shares[rows] = similarities[rows, columns]
    if view.displayed_columns is not None and other_view.displayed_columns is not None:
        pairs = zip(view.displayed_columns[rows], other_view.displayed_columns[columns], strict=True)
        common_features = np.array([len(np.intersect1d(a, b)) / max(len(a), 1) for a, b in pairs])
        shares[rows] = np.minimum(
            shares[rows], (1 - _FEATURE_WEIGHT) * shares[rows] + _FEATURE_WEIGHT * common_features
        )
    return shares


def mean_repeat_shares(full_view: ComponentView, half_views: Sequence[ComponentView]) -> np.ndarray | None:
    """Return the mean of `repeat_shares` over fits on halves, shape (K,).

    None without halves, or if the only component is constant over all rows.
    """
    if not half_views or (len(full_view.shares) == 1 and not _standardize(full_view.shares).any()):
        return None
    shares = np.mean([repeat_shares(full_view, half) for half in half_views], axis=0).round(_DIGITS)
    return (
        discount_repeats(shares)
        if len(half_views) > 1 and no_better_than_chance(*half_views[:2])
        else np.asarray(shares)
    )


def mean_cosine(full_fit: Sequence[np.ndarray], half_fits: Sequence[Sequence[np.ndarray]]) -> np.ndarray | None:
    """Return mean cosines, at least 0, of components without rows, such as coefficients, shape (K,)."""
    if not half_fits:
        return None
    return np.mean(
        [[max(_cosine(a, b), 0.0) for a, b in zip(full_fit, half, strict=True)] for half in half_fits], axis=0
    )


def _cosine(first: np.ndarray, second: np.ndarray) -> float:
    sizes = float(np.linalg.norm(first) * np.linalg.norm(second))
    return float(np.vdot(first, second)) / sizes if sizes > 0 else 0.0


def discount_repeats(repeats: np.ndarray, is_doubtful: bool | np.ndarray = True) -> np.ndarray:
    """Lower the repeats of doubtful components, so that they are "mostly" at best."""
    return np.where(is_doubtful, _DISCOUNT, 1.0) * repeats


def no_better_than_chance(view: ComponentView, other_view: ComponentView) -> bool:
    """Return True if two fits agree no better than randomly rotated axes do.

    A few axes of one space are always near some others: in three dimensions matched random axes have a mean correlation of .8.
    So the test is on components without a sign, all together. Random axes are all about as near; so in a second measure
    those that are much nearer than others count more.
    """
    k = len(view.shares)
    if not view.signed or not 1 < k <= _MAX_AXES:
        return False
    return bool((_measure_agreement(repeat_shares(view, other_view)) <= _chance_agreement(k)).all())


def _measure_agreement(correlations: np.ndarray) -> np.ndarray:
    """Return the means of r and of -log(1 - r^2) over matched axes."""
    capped = np.minimum(correlations, _MAX_AXIS_CORRELATION)
    return np.array([correlations.mean(), -np.log1p(-(capped**2)).mean()])


@cache
def _chance_agreement(k: int) -> np.ndarray:
    """Return the agreement that k matched random axes seldom exceed."""
    rotations = np.abs(np.linalg.qr(np.random.default_rng(0).standard_normal((_N_ROTATIONS, k, k)))[0])
    agreements = [_measure_agreement(table[linear_sum_assignment(-table)]) for table in rotations]
    return np.asarray(np.quantile(agreements, _CHANCE_QUANTILE, axis=0))


def neighbour_checks(component_view: ComponentView, stretch_length: int) -> list[Check]:
    """Report how alike neighbouring rows are, if stretches of rows stayed together in the split."""
    if stretch_length < 2 or not component_view.ordered or component_view.shares.shape[1] < 2 * _STRETCH_ROWS:
        return []
    return [
        Check(
            "likeness of neighbours", "", _intraclass_correlation(component_view.shares),
            at_most(_MAX_CORRELATION, "0 for rows in no order"),
            "Correlation of the components' shares in neighbouring rows. Neighbours were kept together, so errors are for new "
            "stretches of rows, not for new rows in between.",
            "not in the papers", "note",
            "Neighbouring rows are alike and were kept together. If their order means nothing, evidence_.stability(X) gives "
            "the errors for rows split one by one.",
        )
    ]  # fmt: skip


def _intraclass_correlation(shares: np.ndarray) -> float:
    """Return the intraclass correlation of shares (K, n) in stretches of rows, averaged over components that vary."""
    n = shares.shape[1] // _STRETCH_ROWS
    table = shares[:, : n * _STRETCH_ROWS].reshape(len(shares), n, _STRETCH_ROWS)
    between = _STRETCH_ROWS * table.mean(axis=2).var(axis=1) * n / (n - 1)
    within = table.var(axis=2, ddof=1).mean(axis=1)
    total = between + (_STRETCH_ROWS - 1) * within
    correlations = (between - within)[total > 0] / total[total > 0]
    return float(correlations.mean()) if len(correlations) else 0.0


def again(share: float | None) -> Again | Literal[""]:
    """Return "yes", "mostly" or "no" for a repeat share; "" if it was not measured."""
    if share is None:
        return ""
    return "yes" if share >= WELL_FOUND else "mostly" if share >= MOSTLY_FOUND else "no"


def again_text(share: float | None) -> str:
    """Format a repeat share: ``yes, 93%``."""
    return "" if share is None else f"{again(share)}, {share:.0%}"


def parts_text(nouns: tuple[str, str, str]) -> str:
    """Name the parts of the data that are compared: halves of the rows, or of what the shares refer to."""
    return _PART_TEXTS.get(nouns[1]) or _PART_TEXTS.get(nouns[2], f"halves of the {nouns[2]}")


def _correlations(first_shares: np.ndarray, second_shares: np.ndarray) -> np.ndarray:
    """Return correlations between rows, shape (K, K'); 0 for constant rows."""
    first_rows, second_rows = (_standardize(shares) for shares in (first_shares, second_shares))
    return np.clip(first_rows @ second_rows.T, -1.0, 1.0)


def _standardize(shares: np.ndarray) -> np.ndarray:
    """Centre rows and scale them to length one; constant rows become zero."""
    centred = shares - shares.mean(axis=1, keepdims=True)
    squares = np.einsum("kn,kn->k", centred, centred)
    varies = squares > _TINY * np.einsum("kn,kn->k", shares, shares)
    return np.asarray(centred * np.where(varies, 1 / np.sqrt(np.where(varies, squares, 1.0)), 0.0)[:, None])
