"""Profiles: the components of a fitted model as rows of numbers, by the names of its columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..exceptions import LatentiaError
from ..metrics.matching import l1_distances

Distances = Callable[[np.ndarray, np.ndarray], np.ndarray]
MAX_NOISE = 1.5
"""Multiple of the joint error that distances of equal components seldom exceed: see `benchmarks/what_changed.py`."""
_TINY = np.finfo(float).tiny
_N_MOVES, _MOST = 5, 0.9  # columns that are named for a changed component: at most, and their share of all moves
_N_NAMED = 3  # columns in the name of a component or group
_MIN_PART = 0.1  # smallest share of a part of a split component


@dataclass(frozen=True)
class Profile:
    """Components of a model in the units of its data.

    Attributes
    ----------
    values : ndarray of shape (K, V)
        Probabilities, means, strengths or memberships, a row for each component.
    shares : ndarray of shape (K,)
        Share of the data of each component.
    columns : sequence of str, optional
        Names of the words, columns or nodes; None if they are known by position only.
    scales : ndarray of shape (V,), optional
        Units in which distances are measured.
    distances : callable
        Distances of the family, ``distances(first, second)`` of rows (K, V) and (L, V), shape (K, L).
    missing : {"zero", "left out"}
        Meaning of a column that the other model lacks: probability zero, or unknown.
    join : {"mean", "sum", "maximum"}
        How two components become one.
    """

    values: np.ndarray
    shares: np.ndarray
    columns: Sequence[str] | None = None
    scales: np.ndarray | None = None
    distances: Distances = l1_distances
    missing: Literal["zero", "left out"] = "zero"
    join: Literal["mean", "sum", "maximum"] = "mean"

    def measure(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Return the distances of two sets of rows, in the scales of this profile."""
        scales = 1.0 if self.scales is None else self.scales
        return np.asarray(self.distances(first / scales, second / scales))

    def join_pair(self, k: int, m: int, errors: np.ndarray, whole: np.ndarray) -> tuple[np.ndarray, float]:
        """Return two components as one, with its expected error; means have the weights that come nearest to ``whole``.

        Shares may have changed with the split, and have errors that those of the components do not contain.
        """
        rows = self.values[[k, m]]
        joined = rows.sum(axis=0) if self.join == "sum" else rows.max(axis=0)
        weights = np.linalg.norm(rows, axis=1) / max(float(np.linalg.norm(joined)), _TINY)
        if self.join == "sum":
            weights = self.shares[[k, m]] / max(float(self.shares[[k, m]].sum()), _TINY)
        elif self.join == "mean":
            scales = 1.0 if self.scales is None else self.scales
            way, target = (rows[0] - rows[1]) / scales, (whole - rows[1]) / scales
            weight = float(np.clip(way @ target / max(float(way @ way), _TINY), _MIN_PART, 1 - _MIN_PART))
            weights = np.array([weight, 1 - weight])
            joined = weights @ rows
        return joined, float(np.linalg.norm(weights * errors[[k, m]]))


def align_profiles(a: Profile, b: Profile) -> tuple[Profile, Profile, list[str], list[str]]:
    """Return two profiles with the same columns in the same order, their names, and sentences about missing columns."""
    if a.columns is None or b.columns is None:
        if a.values.shape[1] != b.values.shape[1]:
            raise LatentiaError(
                f"match: expected models with the same columns, or with names of columns; found {a.values.shape[1]:,} and "
                f"{b.values.shape[1]:,} columns. Fit data frames, or give names."
            )
        return a, b, [f"column {i}" for i in range(a.values.shape[1])], []
    for profile in (a, b):
        name, n = Counter(profile.columns).most_common(1)[0] if profile.columns else ("", 0)
        if n > 1:
            raise LatentiaError(f"match: {n} columns have the name {name!r}; expected different names.", column=name)
    in_b, in_a = set(b.columns), set(a.columns)
    names = [name for name in a.columns if name in in_b]
    if not names:
        raise LatentiaError(f"match: the models have no column in common: {a.columns[0]!r} is only in a.")
    messages = [
        f"{n_missing:,} of {len(profile.columns or ()):,} columns of {label} are absent from {other_label}"
        f"{_mass(profile, common)}."
        for profile, common, label, other_label in ((a, in_b, "a", "b"), (b, in_a, "b", "a"))
        if (n_missing := sum(name not in common for name in profile.columns or ()))
    ]
    if a.missing == "zero":
        names += [name for name in a.columns if name not in in_b] + [name for name in b.columns if name not in in_a]
    return _reorder(a, names), _reorder(b, names), names, messages


def _mass(profile: Profile, common: set[str]) -> str:
    if profile.missing != "zero":
        return " and are left out"
    is_absent = np.array([name not in common for name in profile.columns or ()])
    mass = float(profile.shares @ profile.values[:, is_absent].sum(axis=1) / max(float(profile.shares.sum()), _TINY))
    return f" and count as zero there: {mass:.1%} of the probability"


def _reorder(profile: Profile, names: Sequence[str]) -> Profile:
    """Return a profile with other columns; those that it lacks are zero."""
    places = {name: i for i, name in enumerate(profile.columns or ())}
    order = np.array([places.get(name, -1) for name in names])

    def take(numbers: np.ndarray, fill: float) -> np.ndarray:
        return np.where(order >= 0, numbers[..., order], fill)

    scales = None if profile.scales is None else take(profile.scales, 1.0)
    return replace(profile, values=take(profile.values, 0.0), columns=list(names), scales=scales)


def find_largest_moves(
    profile: Profile, before: np.ndarray, after: np.ndarray, names: Sequence[str]
) -> tuple[tuple[str, float, float], ...]:
    """Return the columns that make most of the distance of two rows, the largest move first, with their values in both."""
    moves = np.abs(after - before) / (1.0 if profile.scales is None else profile.scales)
    order = np.argsort(-moves, kind="stable")
    n_shown = min(int(np.searchsorted(moves[order].cumsum(), _MOST * moves.sum())) + 1, _N_MOVES)
    return tuple((str(names[c]), float(before[c]), float(after[c])) for c in order[:n_shown])


def name_components(profile: Profile, groups: Sequence[Sequence[int]]) -> list[str]:
    """Name groups of components by their most frequent words or nodes, or by the columns in which they stand out."""
    columns, weights = profile.columns, np.maximum(profile.shares, _TINY)
    if columns is None:
        return [""] * len(groups)
    mean = np.average(profile.values, axis=0, weights=weights)

    def name(group: Sequence[int]) -> str:
        row = np.average(profile.values[group], axis=0, weights=weights[group])
        if profile.missing == "zero" or profile.join == "sum":
            return ", ".join(str(columns[i]) for i in np.argsort(-row, kind="stable")[:_N_NAMED])
        if len(group) == len(weights):  # The mean of all does not stand out from itself.
            return ""
        moves = find_largest_moves(profile, mean, row, [str(column) for column in columns])[:_N_NAMED]
        return ", ".join(f"{column} {value:.3g}" for column, _, value in moves)

    return [name(list(group)) for group in groups]


def check_model(model: Any, expectation: str, *attributes: str) -> None:
    """Raise unless an object is a fitted model with these attributes."""
    if isinstance(model, type) or not hasattr(model, "_profile"):
        kind = f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__
        raise LatentiaError(f"{expectation}, found {kind}.")
    check_is_fitted(model, attributes or None)


def profile_of(model: Any) -> Profile:
    """Return the profile of a fitted model; raise if its family has none."""
    profile: Profile | None = model._profile()
    if profile is None:
        raise LatentiaError(f"match: the components of a {type(model).__name__} cannot be compared by their columns.")
    reading = getattr(model, "reading_", None) or {}
    scales = reading.get("divided_by")
    if scales is None or np.shape(scales) != profile.values.shape[1:]:
        return profile
    # The columns were scaled by their rows: values return to the units of the file, and errors are in these scales.
    values = profile.values * scales + np.asarray(reading["subtracted"])
    return replace(
        profile, values=values, scales=np.asarray(scales) * (1.0 if profile.scales is None else profile.scales)
    )
