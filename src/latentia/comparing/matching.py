"""Components of two models, matched: the same within their errors, changed, new, gone, split or merged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import combinations
from typing import Any, Literal

import numpy as np
from scipy.optimize import linear_sum_assignment

from .._control_characters import escape_controls
from .._frames import frame_of_rows
from .._summary_text import table_html, table_lines
from ..exceptions import LatentiaError
from ..linalg.ratios import ratio_of
from ..summaries import Column, Table
from .profile import MAX_NOISE, Profile, align_profiles, check_model, find_largest_moves, name_components, profile_of

Status = Literal["same", "changed", "new", "gone", "split", "merged"]

_IDENTITY = 0.75  # Share of the distance to the nearest other component up to which a component keeps its identity.
_CLEARLY = 0.5  # Multiple of its distance below which two parts explain a component better than its equal.
_FAR_BETTER = 1 / 3  # Multiple of both of their distances below which two parts are a component that also changed.
_CLEAR_CHANGE = 1.5 * MAX_NOISE  # Joint errors of a change that none of 120 equal components of two sites showed.
_MEANINGS: dict[Status, str] = {
    "same": "the distance is at most 1.5 times the joint error, which equal components seldom exceed.",
    "changed": "it is larger, but the component is still nearer than others are.",
    "new": "no component of a is near.",
    "gone": "no component of b is near.",
    "split": "two components of b together are the component of a.",
    "merged": "two components of a together are the component of b.",
}
_COLUMNS = ("a", "b", "distance", "joint_error", "status")


@dataclass(frozen=True)
class Pair:
    """A component of a, a component of b, or one of each.

    Attributes
    ----------
    a, b : int or None
        Numbers of the components. A component that was split has a row for each part.
    distance : float
        Distance of the family, in the unit of its expected errors. Of a split or merged component: from the two parts
        together. Of a new or gone one: to the nearest component of the other model.
    joint_error : float
        Root of the sum of the squares of both expected errors.
    status : {"same", "changed", "new", "gone", "split", "merged"}
    largest_moves : tuple of (str, float, float)
        For a changed component: the columns that make most of the distance, with their values in a and in b.
    """

    a: int | None
    b: int | None
    distance: float
    joint_error: float
    status: Status
    largest_moves: tuple[tuple[str, float, float], ...] = ()


@dataclass(frozen=True)
class Match:
    """Result of `match`; printing shows its pairs.

    Attributes
    ----------
    pairs : tuple of Pair
        In the order of the components of a; new ones last.
    nouns : (str, str, str)
        Singular and plural noun for components, and plural noun for rows.
    messages : tuple of str
        Sentences about columns that one model lacks, and about pairs that are the same within their errors alone.
    names : tuple of (str, str)
        Names of both components of each pair, by the columns in which they stand out; empty if columns have no names.
    """

    pairs: tuple[Pair, ...]
    nouns: tuple[str, str, str]
    messages: tuple[str, ...] = ()
    names: tuple[tuple[str, ...], ...] = ()

    def differences(self) -> list[str]:
        """Return a sentence for each component that differs clearly: by 2.25 joint errors, or without an equal."""
        noun, sentences = self.nouns[0], list[str]()
        for pair in self.pairs:
            moves = ", ".join(f"{name} {before:.3g} to {after:.3g}" for name, before, after in pair.largest_moves)
            if pair.status == "changed" and pair.distance > _CLEAR_CHANGE * pair.joint_error:
                sentences.append(f"{noun} {pair.a} is {noun} {pair.b} of b, changed ({moves}).")
            elif pair.status not in ("same", "changed"):
                place = f"{noun} {pair.b} of b" if pair.a is None else f"{noun} {pair.a}"
                counterpart = f" ({noun} {pair.b} of b)" if pair.a is not None and pair.b is not None else ""
                sentences.append(f"{place} is {pair.status}{counterpart}.")
        return sentences

    def rows(self) -> list[dict[str, Any]]:
        """Return a dictionary of a, b, distance, joint_error and status for each pair."""
        return [{name: getattr(pair, name) for name in _COLUMNS} for pair in self.pairs]

    def to_frame(self) -> Any:
        """Return `rows` as a data frame of pandas or polars: see `latentia.summaries.Table.to_frame`."""
        return frame_of_rows(self.rows(), "Match.to_frame", list(_COLUMNS))

    @property
    def headline(self) -> str:
        """Number of components of each status, in a sentence."""
        counts = Counter(pair.status for pair in self.pairs)
        if set(counts) == {"same"}:
            n, (singular, plural, _) = counts["same"], self.nouns
            return (
                f"All {n} {plural} are the same within their errors."
                if n > 1
                else f"The {singular} is the same within its error."
            )
        return (
            f"Rows of the table: {', '.join(f'{counts[status]} {status}' for status in _MEANINGS if counts[status])}."
        )

    def table(self) -> Table:
        """Return the pairs as a table for the screen, a page and a file."""
        columns = {name: [getattr(pair, name) for pair in self.pairs] for name in _COLUMNS}
        moves = [
            ", ".join(f"{name} {before:.3g} to {after:.3g}" for name, before, after in pair.largest_moves)
            for pair in self.pairs
        ]
        names_a, names_b = ([names[side] for names in self.names] for side in (0, 1))
        noun, heading = self.nouns[0], self.nouns[0].capitalize()
        named = (
            Column("component_a", names_a, kind="text", heading=f"{heading} of a", where="pf"),
            Column("component_b", names_b, kind="text", heading=f"{heading} of b", where="pf"),
            Column("component", [a or b for a, b in self.names], kind="text", head=noun, where="s"),
        )
        return Table(
            "matches",
            (
                Column("a", columns["a"]), Column("b", columns["b"]), Column("distance", columns["distance"], ".6g", ".3g"),
                Column("joint_error", columns["joint_error"], ".6g", ".3g", heading="Joint error", head="joint error"),
                Column("status", columns["status"], kind="text"),
                *(named if any(map(any, self.names)) else ()),
                Column(
                    "largest_moves", moves, kind="text", heading="Moved most, from a to b", head="moved most, from a to b",
                    where="psf" if any(moves) else "f",
                ),
            ),
            f"Matched {self.nouns[1]}",
            " ".join(f"*{status.capitalize()}*: {meaning}" for status, meaning in _MEANINGS.items()),
        )  # fmt: skip

    def __str__(self) -> str:
        return escape_controls("\n".join([*table_lines(self.table()), "", self.headline, *self.messages]))

    def _repr_html_(self) -> str:
        return table_html(self.table()) + "".join(
            f"<p>{escape(escape_controls(message))}</p>" for message in (self.headline, *self.messages)
        )


def _name(model: Any, profile: Profile) -> list[str]:
    """Return the names that a user gave the components, or else what they stand out by."""
    names = name_components(profile, [[k] for k in range(len(profile.values))])
    given_names = getattr(model, "cause_names_", None) or getattr(model, "topic_names", None) or [""] * len(names)
    return [given_name or name for given_name, name in zip(given_names, names, strict=True)]


def match(a: Any, b: Any) -> Match:
    """Match the components of two fitted models of one family, and say which are the same within their errors.

    Words, columns or nodes are aligned by name, so their order does not matter. A word that one model lacks has probability
    zero there; other columns are compared only if both models have them.

    Parameters
    ----------
    a, b : estimators
        Fitted models of one class, with expected errors: of other rows, years or sites.

    Returns
    -------
    Match
        Pairs with their distance, the error that both have together, and a status. *Same*: the distance is at
        most 1.5 times the joint error, which equal components seldom exceed. *Changed*: it is larger, and less than three
        quarters of the distance to the nearest other component of either model. Otherwise the component of
        a is *gone* and that of b is *new*. *Split*: two components of b together are the component of a. *Merged*: the reverse.

    Raises
    ------
    LatentiaError
        If the models are of different classes, have no column in common, or have no expected errors.
    """
    for model in (a, b):
        check_model(model, "match: expected two fitted models", "evidence_")
    if type(a) is not type(b):
        raise LatentiaError(f"match: expected models of one class, found {type(a).__name__} and {type(b).__name__}.")
    first, second, names, messages = align_profiles(profile_of(a), profile_of(b))
    pairs = _match_profiles(first, second, _errors_of(a, "a"), _errors_of(b, "b"), names)
    unclear = _list_unclear(pairs, first, second)
    if unclear:
        messages.append(
            f"The errors are too large for {len(unclear)} of these pairs, whose {a.nouns[1]} may be different ones: "
            f"{', '.join(unclear)}."
        )
    named = [_name(model, profile) for model, profile in ((a, first), (b, second))]
    pair_names = [
        tuple("" if number is None else side[number] for side, number in zip(named, (pair.a, pair.b), strict=True))
        for pair in pairs
    ]
    return Match(tuple(pairs), a.nouns, tuple(messages), tuple(pair_names))


def _list_unclear(pairs: Sequence[Pair], a: Profile, b: Profile) -> list[str]:
    """List pairs that are the same within their error alone, and not by the distance to other components."""
    within_a, within_b = _distances_within(a, a), _distances_within(b, a)
    return [
        f"{pair.a} and {pair.b}"
        for pair in pairs
        if pair.status == "same" and pair.distance > _IDENTITY * min(within_a[pair.a or 0], within_b[pair.b or 0])
    ]


def _errors_of(model: Any, label: str) -> np.ndarray:
    errors = model.evidence_.of_components.component_errors
    if errors is None or not np.isfinite(errors).all():
        raise LatentiaError(
            f"match: expected a model with expected errors; {label} has none. Fit it with n_splits above 0, on more rows."
        )
    return np.asarray(errors)


def _match_profiles(
    a: Profile, b: Profile, errors_a: np.ndarray, errors_b: np.ndarray, names: Sequence[str]
) -> list[Pair]:
    distances = a.measure(a.values, b.values)
    joint = np.hypot(errors_a[:, None], errors_b[None, :])
    limits = _IDENTITY * np.minimum(_distances_within(a, a)[:, None], _distances_within(b, a)[None, :])
    reach = np.maximum(limits, MAX_NOISE * joint)
    # Beyond their reach all components are equally far, so that new ones do not decide who matches whom.
    rows, columns = linear_sum_assignment(np.minimum(distances, reach) / np.where(np.isfinite(reach), reach, 1.0))
    partners = {int(i): int(j) for i, j in zip(rows, columns, strict=True) if distances[i, j] <= reach[i, j]}
    equal_pairs = {(i, j) for i, j in partners.items() if distances[i, j] <= MAX_NOISE * joint[i, j]}
    pairs, open_a, open_b = [], {*range(len(errors_a))}, {*range(len(errors_b))}
    # Two parts together must come nearer than each alone, and clearly nearer than a part that alone is the same.
    bounds = distances.copy()
    for i, j in equal_pairs:
        bounds[i, j] *= _CLEARLY
    for k, parts, distance, error in _find_splits(a, b, errors_a, errors_b, open_a, open_b, partners, bounds):
        pairs += [Pair(k, part, distance, error, "split") for part in parts]
        open_a, open_b = open_a - {k}, open_b - set(parts)
    reverse = {j: i for i, j in partners.items()}
    swapped = b if b.scales is None else replace(b, scales=a.scales)
    for k, parts, distance, error in _find_splits(swapped, a, errors_b, errors_a, open_b, open_a, reverse, bounds.T):
        pairs += [Pair(part, k, distance, error, "merged") for part in parts]
        open_a, open_b = open_a - set(parts), open_b - {k}
    for i, j in partners.items():
        if i in open_a and j in open_b:
            status: Status = "same" if (i, j) in equal_pairs else "changed"
            moves = () if status == "same" else find_largest_moves(a, a.values[i], b.values[j], names)
            pairs.append(Pair(i, j, float(distances[i, j]), float(joint[i, j]), status, moves))
            open_a, open_b = open_a - {i}, open_b - {j}
    for i in open_a:
        j = int(distances[i].argmin())
        pairs.append(Pair(i, None, float(distances[i, j]), float(joint[i, j]), "gone"))
    for j in open_b:
        i = int(distances[:, j].argmin())
        pairs.append(Pair(None, j, float(distances[i, j]), float(joint[i, j]), "new"))
    order = len(errors_a)
    return sorted(pairs, key=lambda pair: (order if pair.a is None else pair.a, -1 if pair.b is None else pair.b))


def _distances_within(profile: Profile, unit: Profile) -> np.ndarray:
    """Return the distance of each component to the nearest other one of its model; infinite for a single one."""
    distances = unit.measure(profile.values, profile.values).astype(float)
    np.fill_diagonal(distances, np.inf)
    return np.asarray(distances.min(axis=1))


def _find_splits(
    whole: Profile, parts: Profile, whole_errors: np.ndarray, part_errors: np.ndarray, open_whole: set[int],
    open_parts: set[int], partners: dict[int, int], bounds: np.ndarray,
) -> Iterator[tuple[int, tuple[int, int], float, float]]:  # fmt: skip
    """Yield components that two others together equal, each with their numbers, the distance and the joint error."""
    unpaired, candidates = open_parts - set(partners.values()), []
    for k in open_whole:
        for i, j in combinations(sorted(unpaired | ({partners[k]} if k in partners else set())), 2):
            joined, error = parts.join_pair(i, j, part_errors, whole.values[k])
            distance = float(whole.measure(whole.values[[k]], joined[None])[0, 0])
            joint = float(np.hypot(whole_errors[k], error))
            bound = bounds[k, [i, j]].min()
            if distance < bound and distance <= max(MAX_NOISE * joint, _FAR_BETTER * bound):
                candidates.append((ratio_of(distance, joint), k, (i, j), distance, joint))
    used: set[tuple[str, int]] = set()
    for _, k, pair, distance, joint in sorted(candidates):
        members = {("whole", k), *(("part", part) for part in pair)}
        if not members & used:
            used |= members
            yield k, pair, distance, joint
