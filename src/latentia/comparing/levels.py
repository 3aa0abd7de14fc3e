"""A tree of the components of one model: those that are closest are joined first, each join with its evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any, Literal

import numpy as np

from .._control_characters import escape_controls
from .._frames import frame_of_rows
from .._parameters import Integer, check_parameter
from ..exceptions import LatentiaError
from ..metrics.matching import l1_distances
from ..summaries import Column, Table
from .profile import MAX_NOISE, Profile, find_largest_moves, profile_of

SplitGrade = Literal["supported", "with care", "not supported"]

_GAP = 1.5  # Least ratio of the distance between two groups to the largest distance inside, and between levels.
_MIN_FOUND_AGAIN = 0.5  # Components found again by less are not reliable: no split rests on them.
_MIN_SHARE = 0.01  # Nor on components with a smaller share, over the mean share: their errors are not measured.
_N_WORDS = 3  # columns in the name of a component or group
_COLUMNS = ("join", "first", "second", "distance", "joint_error", "grade")


@dataclass(frozen=True)
class Join:
    """Two groups that become one.

    Attributes
    ----------
    join : int
        Number of the group: K for the first join, then K + 1, ...
    first, second : int
        Numbers of the parts: below K a component, otherwise an earlier join.
    distance : float
        Distance of the weighted means of both parts, in the unit of the components' expected errors.
    joint_error : float
        Expected error of this difference.
    grade : {"supported", "with care", "not supported"}
        Evidence that the two parts are different groups.
    """

    join: int
    first: int
    second: int
    distance: float
    joint_error: float
    grade: SplitGrade


@dataclass(frozen=True)
class Levels:
    """Result of ``levels()``; printing shows the tree.

    Attributes
    ----------
    joins : tuple of Join
        K - 1 joins, the closest parts first.
    names : tuple of str
        A name for each component.
    suggested : int
        Number of groups above the largest gap between levels; K if no gap is clear.
    group_names : tuple of str
        A name for the group of each join; empty without.
    nouns : (str, str, str)
        Singular and plural noun for components, and plural noun for rows.
    """

    joins: tuple[Join, ...]
    names: tuple[str, ...]
    suggested: int
    group_names: tuple[str, ...] = ()
    nouns: tuple[str, str, str] = ("component", "components", "rows")

    @property
    def headline(self) -> str:
        """Number of groups at the level with the clearest gap, in a sentence."""
        many, size = self.nouns[1], len(self.names)
        if self.suggested == size:
            return f"No coarser level of the {size} {many} stands out."
        return f"The {size} {many} fall into {self.suggested} groups at the level with the clearest gap."

    def cut(self, k: int | None = None) -> np.ndarray:
        """Return the group of every component at ``k`` groups, by default ``suggested``; the group of component 0 is 0."""
        size = len(self.names)
        k = self.suggested if k is None else k
        check_parameter("k", k, Integer(1, size, "there are so many components"))
        groups = {i: [i] for i in range(size)}
        for join in self.joins[: size - k]:
            groups[join.join] = groups.pop(join.first) + groups.pop(join.second)
        labels = np.empty(size, dtype=int)
        for number, members in enumerate(sorted(groups.values(), key=min)):
            labels[members] = number
        return labels

    def rows(self) -> list[dict[str, Any]]:
        """Return a dictionary of join, first, second, distance, joint_error and grade for each join."""
        return [{name: getattr(join, name) for name in _COLUMNS} for join in self.joins]

    def to_frame(self) -> Any:
        """Return `rows` as a data frame of pandas or polars: see `latentia.summaries.Table.to_frame`."""
        return frame_of_rows(self.rows(), "Levels.to_frame", list(_COLUMNS))

    def table(self) -> Table:
        """Return the joins, the last first, as a table for a file."""
        rows = self.rows()[::-1]
        columns = [Column(name, [row[name] for row in rows]) for name in _COLUMNS]
        names = [*([""] * len(rows) if not self.group_names else self.group_names)][::-1]
        return Table("levels", (*columns, Column("name", names)), file="levels.csv")

    def record(self) -> dict[str, Any]:
        """Return the tree for programs."""
        return {
            "suggested": self.suggested, "groups": self.cut(), "names": self.names, "joins": self.table().rows()[::-1],
        }  # fmt: skip

    def nodes(self) -> list[tuple[int, int, str]]:
        """Return depth, number and text of all nodes, parts below their join."""
        size, nodes = len(self.names), []
        stack = [(0, self.joins[-1].join if self.joins else 0)]
        while stack:
            depth, number = stack.pop()
            if number < size:
                nodes.append((depth, number, self.names[number]))
                continue
            join = self.joins[number - size]
            name = f"{self.group_names[number - size]}: " if self.group_names else ""
            text = f"{name}split at {join.distance:.3g}, joint error {join.joint_error:.3g}: {join.grade}"
            nodes.append((depth, number, text))
            stack += [(depth + 1, join.second), (depth + 1, join.first)]
        return [(depth, number, escape_controls(text)) for depth, number, text in nodes]

    def __str__(self) -> str:
        return "\n".join("  " * depth + text for depth, _, text in self.nodes())

    def _repr_html_(self) -> str:
        html, depth_before = "", 0
        for depth, number, text in self.nodes():
            html += "</details>" * (depth_before - depth)
            is_leaf = number < len(self.names)
            html += f"<div>{escape(text)}</div>" if is_leaf else f"<details open><summary>{escape(text)}</summary>"
            depth_before = depth if is_leaf else depth + 1
        return html + "</details>" * depth_before


def find_levels(
    profile: Profile, errors: np.ndarray, names: Sequence[str], is_reliable: np.ndarray | None = None
) -> Levels:
    """Join the components of a profile step by step, and grade each join.

    Every step joins the two groups a and b, of shares w and centres c, for which Ward's w_a w_b / (w_a + w_b) |c_a - c_b|^2 is
    least, with square roots of probabilities as coordinates (Hellinger) and scaled columns otherwise. The distance d of a join
    is that of the family, between the means of both groups weighted by shares, and its error is

        e^2 = sum_(i in a) (w_i e_i / w_a)^2 + sum_(i in b) (w_i e_i / w_b)^2.

    A split is not supported unless d exceeds 1.5 e, and both parts hold a component that ``is_reliable``. It is supported if d
    also is 1.5 times the largest distance of a join inside. Let d_k be the largest distance of joins down to k groups, at least
    1.5 times their error; a join with a part that is not reliable has distance zero here. The suggested number k of groups has
    the largest ratio d_(k - 1) / d_k, if that is 1.5 or more.
    """
    size = len(errors)
    weights = np.maximum(profile.shares, np.finfo(float).tiny)
    is_reliable = np.ones(size, dtype=bool) if is_reliable is None else is_reliable
    points = _coordinates(profile)
    members = {i: [i] for i in range(size)}
    inside, joins = dict.fromkeys(range(size), 0.0), []
    heights, noise = np.empty(max(size - 1, 0)), np.empty(max(size - 1, 0))

    def describe(group: Sequence[int]) -> tuple[np.ndarray, float]:
        parts = weights[group] / weights[group].sum()
        return parts @ profile.values[group], float(np.linalg.norm(parts * errors[group]))

    for step in range(size - 1):
        first, second = _closest(members, weights, points)
        (mean_a, error_a), (mean_b, error_b) = describe(members[first]), describe(members[second])
        distance, error = float(profile.measure(mean_a[None], mean_b[None])[0, 0]), float(np.hypot(error_a, error_b))
        within = max(inside.pop(first), inside.pop(second))
        has_evidence = is_reliable[members[first]].any() and is_reliable[members[second]].any()
        differs = has_evidence and distance > MAX_NOISE * error
        grade: SplitGrade = (
            "not supported" if not differs else "supported" if distance >= _GAP * within else "with care"
        )
        joins.append(Join(size + step, first, second, distance, error, grade))
        members[size + step] = members.pop(first) + members.pop(second)
        inside[size + step] = max(within, distance)
        heights[step], noise[step] = has_evidence * distance, MAX_NOISE * error
    return Levels(tuple(joins), tuple(names), _suggest(heights, noise))


def _coordinates(profile: Profile) -> np.ndarray:
    if profile.distances is l1_distances:
        return np.asarray(np.sqrt(np.maximum(profile.values, 0.0)))
    return profile.values / (1.0 if profile.scales is None else profile.scales)


def _closest(members: dict[int, list[int]], weights: np.ndarray, points: np.ndarray) -> tuple[int, int]:
    """Return the numbers of the two groups whose join adds least to the sum of squares."""
    numbers = sorted(members)
    masses = np.array([weights[members[g]].sum() for g in numbers])
    centres = np.array([weights[members[g]] @ points[members[g]] for g in numbers]) / masses[:, None]
    squares = (centres**2).sum(axis=1)
    costs = np.maximum(squares[:, None] + squares - 2 * centres @ centres.T, 0.0)
    costs *= masses[:, None] * masses / (masses[:, None] + masses)
    np.fill_diagonal(costs, np.inf)
    i, j = sorted(divmod(int(costs.argmin()), len(numbers)))
    return numbers[i], numbers[j]


def _suggest(heights: np.ndarray, noise: np.ndarray) -> int:
    """Return the number of groups above the largest relative gap of the distances; all components without a clear gap."""
    size = len(heights) + 1
    if size < 3:
        return size
    floors = np.maximum.accumulate(np.maximum(heights, noise))
    ratios = heights[1:] / np.maximum(floors[:-1], np.finfo(float).tiny)
    step = int(ratios.argmax())
    return size - 1 - step if ratios[step] >= _GAP else size


def levels_of(model: Any) -> Levels:
    """Return the levels of a fitted model; raise if its family has no rows, or the model no expected errors."""
    profile, errors = model._profile_of_levels(), model.evidence_.of_components.component_errors
    if profile is None or profile.join == "maximum":
        raise LatentiaError(f"levels: the components of a {type(model).__name__} cannot be grouped by their columns.")
    if errors is None or not np.isfinite(errors).all():
        raise LatentiaError(
            "levels: expected a model with expected errors, found none. Fit it with n_splits above 0, on more rows."
        )
    found_again = model.evidence_.of_components.found_again
    is_reliable = profile.shares >= _MIN_SHARE * profile.shares.mean()
    if found_again is not None:
        is_reliable &= ~(np.asarray(found_again) < _MIN_FOUND_AGAIN)
    names = [f"{model.nouns[0]} {k}" for k in range(len(errors))]
    levels = replace(find_levels(profile, np.asarray(errors), names, is_reliable), nouns=model.nouns)
    return _name(levels, profile_of(model))


def component_names(model: Any) -> list[str]:
    """Return the names of the components: given ones, else the words or columns in which they stand out."""
    given_names = getattr(model, "cause_names_", None) or getattr(model, "topic_names", None) or ()
    profile = profile_of(model)
    return [
        (given_names[k] if k < len(given_names) else "") or _describe(profile, [k]) for k in range(len(profile.values))
    ]


def _describe(profile: Profile, members: Sequence[int]) -> str:
    """Describe components by their most frequent words or nodes, or by the columns in which they stand out."""
    columns, weights = profile.columns, np.maximum(profile.shares, np.finfo(float).tiny)
    if columns is None:
        return ""
    row = np.average(profile.values[members], axis=0, weights=weights[members])
    if profile.missing == "zero" or profile.join == "sum":
        return ", ".join(str(columns[i]) for i in np.argsort(-row, kind="stable")[:_N_WORDS])
    if len(members) == len(profile.values):  # The mean of all does not stand out from itself.
        return ""
    mean = np.average(profile.values, axis=0, weights=weights)
    moves = find_largest_moves(profile, mean, row, [str(column) for column in columns])[:_N_WORDS]
    return ", ".join(f"{column} {value:.3g}" for column, _, value in moves)


def _name(levels: Levels, profile: Profile) -> Levels:
    """Name components and groups by what describes them."""

    def name(label: str, members: Sequence[int]) -> str:
        return ": ".join(filter(None, [label, _describe(profile, members)]))

    if profile.columns is None:
        return levels
    members = {i: [i] for i in range(len(levels.names))}
    for join in levels.joins:
        members[join.join] = members[join.first] + members[join.second]
    names = tuple(name(label, [i]) for i, label in enumerate(levels.names))
    groups = [members[join.join] for join in levels.joins]
    return replace(
        levels, names=names, group_names=tuple(name(f"{len(group)} {levels.nouns[1]}", group) for group in groups)
    )
