"""What people read of components, and whether it is found again on other rows.

Expected errors are about numbers. A topic whose probabilities are off by a half may have the same words and the same documents
in every fit: it is *found again*. It is the first of the four statements (`latentia.evidence.statements`), and tells components
of real data that repeat from others best. Alone it is not enough: halves agree on the shells that a mixture cuts a single cloud
into, too.
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

_NEIGHBOURS = 5  # rows of a stretch, among those that are read
_ALIKE = 0.1  # correlation of neighbours that is worth a word
FOUND, LEAST_FOUND = 0.75, 0.5  # share of a component that is the same, where it is found again, and where it mostly is
_NAMED = 0.25  # weight of the columns that are named, where they repeat less than shares do
_DOUBTED = 2 / 3  # of what is found again
_TURNS, _SURE, _MANY = 200, 0.95, 30  # of so many axes and more, hardly any are near others
_PARTS = {
    "nodes": "three quarters of the edges",
    "variance": "halves of the rows",
    "units": "three quarters of the rows",
}
_DIGITS = 9  # What one of two halves has is half of it, whatever the last bits of a correlation are.
_TINY = 1e-12  # of the squared length of shares: what varies less is constant up to rounding


@dataclass(frozen=True)
class ComponentView:
    """Shares and features by which people read the components of a fitted model.

    Attributes
    ----------
    shares : ndarray of shape (K, n)
        How much of each component is in each of some rows: shares, probabilities, activations or memberships.
    shown : ndarray of int, shape (K, m), optional
        Columns that tables name for each component.
    signed : bool
        Whether a component may be turned round in another fit.
    ordered : bool
        Whether the rows are some of those that were split, in their order.
    """

    shares: np.ndarray
    shown: np.ndarray | None = None
    signed: bool = False
    ordered: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "shares", np.asarray(self.shares))  # from a data frame, if `transform` returns one


def repeated(one: ComponentView, other: ComponentView) -> np.ndarray:
    """How much of each component another fit has, from 0 to 1, shape (K,).

    Components are matched one to one: of two that stand for the same one, the other fit has one. It is the correlation of
    the shares of matched ones in the same rows; where tables name columns, three quarters of that and a quarter of the share of
    the named columns that both name, if that is less.
    """
    alike = _correlations(one.shares, other.shares)
    alike = np.abs(alike) if one.signed else np.maximum(alike, 0.0)
    mine, theirs = linear_sum_assignment(-alike)
    found = np.zeros(len(alike))
    found[mine] = alike[mine, theirs]
    if one.shown is not None and other.shown is not None:
        pairs = zip(one.shown[mine], other.shown[theirs], strict=True)
        named = np.array([len(np.intersect1d(a, b)) / max(len(a), 1) for a, b in pairs])
        found[mine] = np.minimum(found[mine], (1 - _NAMED) * found[mine] + _NAMED * named)
    return found


def found_again(whole: ComponentView, halves: Sequence[ComponentView]) -> np.ndarray | None:
    """How much of each component fits on halves of the data have in the mean, shape (K,); None of one that all rows have alike,
    or without halves.
    """
    if not halves or (len(whole.shares) == 1 and not _standard(whole.shares).any()):
        return None
    found = np.mean([repeated(whole, half) for half in halves], axis=0).round(_DIGITS)
    return doubted(found) if len(halves) > 1 and no_better_than_chance(*halves[:2]) else np.asarray(found)


def mean_cosine(whole: Sequence[np.ndarray], halves: Sequence[Sequence[np.ndarray]]) -> np.ndarray | None:
    """The same of components that are numbers without rows, such as coefficients: cosines, each counted from 0, shape (K,)."""
    if not halves:
        return None
    return np.mean([[max(_cosine(a, b), 0.0) for a, b in zip(whole, half, strict=True)] for half in halves], axis=0)


def _cosine(one: np.ndarray, other: np.ndarray) -> float:
    sizes = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(np.vdot(one, other)) / sizes if sizes > 0 else 0.0


def doubted(found: np.ndarray, which: bool | np.ndarray = True) -> np.ndarray:
    """Components found again; those that data without components would give as well are "mostly" at best."""
    return np.where(which, _DOUBTED, 1.0) * found


def no_better_than_chance(one: ComponentView, other: ComponentView) -> bool:
    """Whether components of two fits on different rows agree no better than axes that are turned at random do.

    A few axes of one space always have near ones among any others: in three dimensions matched ones have a mean correlation
    of .8. So it is asked of those that have no sign, all together.
    """
    k = len(one.shares)
    if not one.signed or not 1 < k <= _MANY:
        return False
    return bool(repeated(one, other).mean() <= _by_chance(k))


@cache
def _by_chance(k: int) -> float:
    """Mean correlation of matched axes that k axes, turned at random, seldom have more of."""
    turned = np.abs(np.linalg.qr(np.random.default_rng(0).standard_normal((_TURNS, k, k)))[0])
    return float(np.quantile([table[linear_sum_assignment(-table)].mean() for table in turned], _SURE))


def neighbour_checks(component_view: ComponentView, stretch: int) -> list[Check]:
    """How alike neighbouring rows are, where stretches of them were assigned to the same half."""
    if stretch < 2 or not component_view.ordered or component_view.shares.shape[1] < 2 * _NEIGHBOURS:
        return []
    return [
        Check(
            "likeness of neighbours", "", _within_stretches(component_view.shares), at_most(_ALIKE, "0 for rows in no order"),
            "Correlation of the components' shares in neighbouring rows. Neighbours were kept together, so that errors are for "
            "other stretches of rows, and not for other rows in between.",
            "not in the papers", "note",
            "Neighbouring rows are alike, and were kept together: where their order means nothing, evidence_.stability(X) has "
            "the errors for rows split one by one.",
        )
    ]  # fmt: skip


def _within_stretches(shares: np.ndarray) -> float:
    """Intraclass correlation of shares (K, n) in stretches of some rows, the mean over components that vary."""
    n = shares.shape[1] // _NEIGHBOURS
    table = shares[:, : n * _NEIGHBOURS].reshape(len(shares), n, _NEIGHBOURS)
    between = _NEIGHBOURS * table.mean(axis=2).var(axis=1) * n / (n - 1)
    within = table.var(axis=2, ddof=1).mean(axis=1)
    total = between + (_NEIGHBOURS - 1) * within
    alike = (between - within)[total > 0] / total[total > 0]
    return float(alike.mean()) if len(alike) else 0.0


def again(share: float | None) -> Again | Literal[""]:
    """The same in a word; nothing where it was not measured."""
    if share is None:
        return ""
    return "yes" if share >= FOUND else "mostly" if share >= LEAST_FOUND else "no"


def again_text(share: float | None) -> str:
    """``yes, 93%``."""
    return "" if share is None else f"{again(share)}, {share:.0%}"


def parts_text(nouns: tuple[str, str, str]) -> str:
    """The parts of the data in which components are looked for: halves of the rows, or of what shares refer to."""
    return _PARTS.get(nouns[1]) or _PARTS.get(nouns[2], f"halves of the {nouns[2]}")


def _correlations(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Between rows, shape (K, K'); 0 where one of them is constant."""
    first, second = (_standard(shares) for shares in (one, other))
    return np.clip(first @ second.T, -1.0, 1.0)


def _standard(shares: np.ndarray) -> np.ndarray:
    """Rows with mean zero and length one, or zero."""
    centred = shares - shares.mean(axis=1, keepdims=True)
    squares = np.einsum("kn,kn->k", centred, centred)
    varies = squares > _TINY * np.einsum("kn,kn->k", shares, shares)
    return np.asarray(centred * np.where(varies, 1 / np.sqrt(np.where(varies, squares, 1.0)), 0.0)[:, None])
