"""What a sparse network's fit knows about itself, and the checks that follow from it.

The expected error of a unit is the Jaccard distance of its positive edges to those of the true unit. Three things make it up.

- The odds of every edge. They are right where the model holds and rows are independent, and distances to fits on halves are
  not: the chance that an edge is taken for what it is not falls exponentially in the rows, so that halves miss units, and
  edges, that all rows do not.
- How unequally a unit's firings fall to the halves. Where they do so more than by chance, because rows are copies of each
  other, or neighbours in time, as many rows count as one, for odds and for the test of what is a unit.
- Fits on halves. Units that halves do not find, although they find most others, are accidents; and where edges differ more than
  their odds say, the distance itself is the error.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ..evidence import Check, PartErrors, at_least, at_most, error_checks, trivial_checks
from ..passes import Folds
from ._encode import decode, difference
from ._layers import Layer, Rows, signed
from ._real import decode_real
from ._statistics import BinaryRows, cofiring_pairs, pair_dependence
from ._units import acceptable, edge_doubts, gains_of

TRUSTED = 0.25  # mean Jaccard distance
_SAME = 0.5  # Jaccard distance below which units of two fits are the same one
_LOST = 0.9  # expected error of a unit that parts do not find again
_MOST_LEFT = 0.1  # of the dependence of pairs that units may leave
_MOST_MISSING, _MOST_SURPLUS = 0.05, 0.05  # units, as shares of those found
_LEAST_FIRINGS = 50.0  # of a unit: from there on positive edges are exact where the model holds
_MOST_CROWDED = 0.5  # parents of a column that are on at a time
_SEED_SHARE = 0.3
_TOO_MANY = 10.0  # times the distance of halves that the doubts of edges predict, from which on it counts whole
_UNLIKE = 0.85  # Jaccard distance from which on a half has nothing like a unit
_ACCIDENTS, _CHANCE_FOUND = 0.02, 0.05  # odds of an accident beforehand, and the chance that a half has it too
_ENOUGH = 15.0  # firings in a half from which on it should find a unit
_ENTRIES = 20_000_000
_TINY = 1e-12


# --- distances ------------------------------------------------------------------------------------------------------


def unit_distances(layers: Sequence[sparse.csr_array], others: Sequence[sparse.csr_array]) -> np.ndarray:
    """Jaccard distance of the positive edges of each unit to the nearest unit of another network, layer after layer.

    Parameters
    ----------
    layers, others : sequences of csr_array of int8, shape (n_units, n_below)
        From below. Layers that the other network does not have count as empty.
    """
    found, named = [], None
    for number, layer in enumerate(layers):
        own = signed(layer, 1).astype(np.int32)
        if number >= len(others):
            found.append(np.ones(own.shape[0]))
            continue
        other = signed(others[number], 1).astype(np.int32)
        sizes = np.diff(other.indptr)  # before columns that have no counterpart are lost
        if named is not None:
            other = other @ named
        distances = _jaccard(own, other, sizes)
        found.append(distances.min(axis=1, initial=1.0))
        named = _names(distances)
    return np.concatenate([np.empty(0), *found])


def _jaccard(own: sparse.csr_array, other: sparse.csr_array, sizes: np.ndarray) -> np.ndarray:
    """Distances of sets, shape (n_own, n_other)."""
    shared = (own @ other.T).toarray()
    either = np.diff(own.indptr)[:, None] + sizes - shared
    return np.asarray(1 - shared / np.maximum(either, 1))


def _names(distances: np.ndarray) -> sparse.csr_array:
    """Which unit of this network each unit of the other one is: (n_other, n_own), with entries 1."""
    n_own, n_other = distances.shape
    if not n_own or not n_other:
        return sparse.csr_array((n_other, n_own), dtype=np.int32)
    nearest = distances.argmin(axis=0)
    same = np.flatnonzero(
        (distances[nearest, np.arange(n_other)] < _SAME) & (distances.argmin(axis=1)[nearest] == np.arange(n_other))
    )
    return sparse.csr_array((np.ones(len(same), np.int32), (same, nearest[same])), shape=(n_other, n_own))


# --- expected errors ------------------------------------------------------------------------------------------------


def expected_errors(
    rows: Rows,
    layers: list[Layer],
    group: np.ndarray,
    folds: Folds,
    learned: Callable[[tuple[int, ...]], list[Layer]],
    n_jobs: int | None,
) -> PartErrors:
    """Expected error of every unit, from the odds of its edges and fits on two halves of the rows.

    Parameters
    ----------
    rows : Rows
    layers : list of Layer
        The fit on all rows.
    group : ndarray of shape (n_rows,)
        Group of each row.
    folds : Folds
    learned : callable
        Layers of the rows of some groups, with positive edges.
    n_jobs : int or None
    """
    halves = [np.flatnonzero(np.isin(group, half)) for half in folds.splits[0]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parts = [learned(half) for half in folds.splits[0]]
    edges = [layer.edges for layer in layers]
    distances = np.array([unit_distances(edges, [layer.edges for layer in part]) for part in parts])
    ends = np.cumsum([0, *(one.shape[0] for one in edges)])
    found: list[np.ndarray] = [np.empty(0)]
    accidents = None
    for number, layer in enumerate(layers):
        far = distances[:, ends[number] : ends[number + 1]]
        below = rows if number == 0 else layers[number - 1].hidden
        temper = _dependence(layer.hidden, group, folds)
        firings = np.array([layer.hidden.take(half).counts for half in halves])
        lost = np.where(_accepted(below, layer, temper, n_jobs), _accidental(far, firings / temper), 1.0)
        if accidents is not None:  # of the units below that edges lead to
            members = signed(layer.edges, 1)
            wrong = np.asarray(members @ accidents) / np.maximum(np.diff(members.indptr), 1)
            lost = 1 - (1 - lost) * (1 - wrong)
        own = _differing(
            below, layer, [part[number] for part in parts if number < len(part)], far, halves, temper, n_jobs
        )
        found.append(np.clip(lost + (1 - lost) * own, 0.0, 1.0))
        accidents = lost
    return PartErrors(np.concatenate(found), n_parts=len(parts))


def _accidental(far: np.ndarray, firings: np.ndarray) -> np.ndarray:
    """Chance that units are accidents, from the halves that have nothing like them: shapes (2, n_units).

    Halves that miss many units for want of rows say little of one of them; those that miss no others say much.
    """
    able, missed = firings >= _ENOUGH, far >= _UNLIKE
    rate = ((able & missed).sum() + 0.5) / (able.sum() + 1.0)  # of units that are there
    odds = np.where(able, np.where(missed, (1 - _CHANCE_FOUND) / rate, _CHANCE_FOUND / max(1 - rate, _TINY)), 1.0)
    odds = _ACCIDENTS * odds.prod(axis=0)
    return np.asarray(np.where(able.any(axis=0), odds / (1 + odds), 0.0))


def _dependence(hidden: BinaryRows, group: np.ndarray, folds: Folds) -> float:
    """Rows that count as one: how unequally the firings of units fall to halves, over what chance does."""
    counts = np.array([hidden.take(np.flatnonzero(group == g)).counts for g in folds.all], dtype=np.float64)
    total = counts.sum(axis=0)
    seen = total >= 4
    if not seen.any():
        return 1.0
    ratios = [
        (counts[list(first)].sum(axis=0) - counts[list(second)].sum(axis=0))[seen] ** 2 / total[seen]
        for first, second in folds.splits
    ]
    ratio = np.mean(ratios, axis=0)
    return max(1.0, float(ratio.mean() - 2 * ratio.std() / np.sqrt(len(ratio))))


def _accepted(below: Rows, layer: Layer, temper: float, n_jobs: int | None) -> np.ndarray:
    """Units that pass the test of acceptance when so many rows count as one."""
    members = layer.members
    if temper == 1 or isinstance(below, np.ndarray):
        return np.ones(members.shape[0], dtype=bool)
    units = np.split(members.indices, members.indptr[1:-1])
    return acceptable(gains_of(below.thinned(_ENTRIES), units, temper, n_jobs))


def _differing(
    below: Rows,
    layer: Layer,
    parts: list[Layer],
    far: np.ndarray,
    halves: list[np.ndarray],
    temper: float,
    n_jobs: int | None,
) -> np.ndarray:
    """Expected share of the edges of each unit that differ, if it is no accident."""
    near = far < _UNLIKE
    apart = np.where(near, far, 0.0).sum(axis=0) / np.maximum(near.sum(axis=0), 1)
    if isinstance(below, np.ndarray):
        return apart
    doubts = edge_doubts(below, layer.hidden, layer.members, temper, n_jobs)
    if not near.any():
        return doubts
    of_parts = [
        edge_doubts(below.take(half), part.hidden, part.members, temper, n_jobs)
        for part, half in zip(parts, halves, strict=False)
    ]
    predicted = float(np.mean(np.concatenate(of_parts))) + float(doubts.mean())
    times = max(1.0, float(far[near].mean()) / max(predicted, _TINY))
    # Doubts vanish exponentially with the rows: what halves have more of them, the whole has by the same factor, unless it is
    # so large that something else than doubts parts the halves.
    return np.asarray(np.maximum(min(times, _TOO_MANY) * doubts, (1 - min(_TOO_MANY / times, 1.0)) * apart))


# --- what is measured -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Described:
    """How a layer describes the rows below it.

    Attributes
    ----------
    fitted, trivial : ndarray of shape (n_rows,)
        Log-likelihood of each row with the units that are on in it, and of independent columns.
    extra : int
        Parameters that the layer has beyond those of independent columns.
    left : float
        Norm of the dependence of pairs that the units leave, as a share of that of the rows below.
    missing : float
        Units that the pairs which are left would make.
    ones, wrong_bits, wrong_rows : float
        Share of the ones that units explain, and of bits and rows that decoding the code gets wrong.
    """

    fitted: np.ndarray
    trivial: np.ndarray
    extra: int
    left: float
    missing: float
    ones: float
    wrong_bits: float
    wrong_rows: float


@dataclass(frozen=True)
class Measured:
    """What the checks are made of.

    Attributes
    ----------
    layers : list of Layer
    described : list of Described
    parts : PartErrors
    n_rows : int
    n_asked : int
        Layers that were asked for.
    """

    layers: list[Layer]
    described: list[Described]
    parts: PartErrors
    n_rows: int
    n_asked: int


def measure(rows: Rows, layers: list[Layer], n_jobs: int | None) -> list[Described]:
    """How each layer describes the one below."""
    found = []
    for layer in layers:
        found.append(
            _columns_described(rows, layer) if layer.real is not None else _bits_described(rows, layer, n_jobs)
        )
        rows = layer.hidden
    return found


def shares_of(layers: list[Layer]) -> np.ndarray:
    """Of each unit, its positive edges times its firings, as a share of its layer's, over the number of layers."""
    found = [np.empty(0)]
    for layer in layers:
        weights = layer.hidden.counts * np.diff(layer.members.indptr)
        found.append(weights / max(float(weights.sum()), _TINY) / len(layers))
    return np.concatenate(found)


def _bits_described(rows: Rows, layer: Layer, n_jobs: int | None) -> Described:
    assert isinstance(rows, BinaryRows)
    n_rows, n_columns = rows.n_rows, rows.n_columns
    said = decode(layer.hidden, layer.edges, n_jobs)
    left, unsaid = difference(rows, said, n_jobs), difference(said, rows, n_jobs)
    on = (left.counts + 0.5) / (n_rows - said.counts + 1)  # where decoding says off
    off = (len(unsaid.indices) + 0.5) / (len(said.indices) + 1)  # where it says on
    fitted = _independent(layer.hidden) + float(np.log1p(-on).sum())
    fitted = fitted + _row_sums(left, np.log(on / (1 - on))) + _row_sums(unsaid, np.log(off) - np.log1p(-on))
    explained = np.log1p(-off) - np.log1p(-on)
    fitted = fitted + _row_sums(said, explained) - _row_sums(unsaid, explained)
    wrong = np.diff(left.indptr) + np.diff(unsaid.indptr)
    beyond, noise = pair_dependence(left, n_jobs=n_jobs)
    whole, of_whole = pair_dependence(rows, n_jobs=n_jobs)
    return Described(
        fitted,
        _independent(rows),
        layer.edges.nnz + layer.edges.shape[0] + 1,
        float(np.sqrt(max(beyond - noise, 0.0) / max(whole - of_whole, _TINY))) if whole > 2 * of_whole else 0.0,
        _missing(left, layer, n_jobs),
        1 - len(left.indices) / max(len(rows.indices), 1),
        float(wrong.sum()) / max(n_rows * n_columns, 1),
        float((wrong > 0).mean()),
    )


def _independent(rows: BinaryRows) -> np.ndarray:
    """Log-likelihood of each row under independent columns of their own rates, shape (n_rows,)."""
    rates = (rows.counts + 0.5) / (rows.n_rows + 1)
    return np.asarray(_row_sums(rows, np.log(rates / (1 - rates))) + np.log1p(-rates).sum())


def _row_sums(rows: BinaryRows, values: np.ndarray) -> np.ndarray:
    """Sum of the values of the columns that are on in each row."""
    sums = np.append(0.0, np.cumsum(values[rows.indices]))
    return sums[rows.indptr[1:]] - sums[rows.indptr[:-1]]


def _missing(left: BinaryRows, layer: Layer, n_jobs: int | None) -> float:
    """Pairs of columns that are on together without a unit as often as those of units are, over the pairs of a unit."""
    thin = left.thinned(5e6)
    pairs = cofiring_pairs(thin, n_jobs)
    if not layer.edges.shape[0]:
        return float(len(pairs.first) > 0)
    firings = float(np.median(layer.hidden.counts)) * thin.n_rows / max(left.n_rows, 1)
    degree = float(np.median(np.diff(layer.members.indptr)))
    strong = int((pairs.excess >= _SEED_SHARE * firings).sum())
    return strong / max(degree * (degree - 1) / 2, 1.0)


def _columns_described(rows: Rows, layer: Layer) -> Described:
    assert isinstance(rows, np.ndarray)
    assert layer.real is not None
    n_rows = len(rows)
    residual = rows - decode_real(layer.real, layer.hidden.table())
    spread = np.maximum(rows.std(axis=0), _TINY)
    noise = np.maximum(residual.std(axis=0), 1e-3 * spread)
    trivial = _gaussian((rows - rows.mean(axis=0)) / spread, spread)
    fitted = _independent(layer.hidden) + _gaussian((residual - residual.mean(axis=0)) / noise, noise)
    left, whole = _correlations(residual, noise), _correlations(rows - rows.mean(axis=0), spread)
    chance = rows.shape[1] * (rows.shape[1] - 1) / max(n_rows, 1)
    wrong = np.abs(residual) > 0.5 * layer.real.scale
    return Described(
        fitted,
        trivial,
        layer.edges.nnz + layer.edges.shape[0],
        float(np.sqrt(max(left - chance, 0.0) / max(whole - chance, _TINY))) if whole > 2 * chance else 0.0,
        0.0,
        1 - float((noise**2).sum() / (spread**2).sum()),
        float(wrong.mean()),
        float(wrong.any(axis=1).mean()),
    )


def _gaussian(standard: np.ndarray, spread: np.ndarray) -> np.ndarray:
    return np.asarray(-0.5 * (standard**2).sum(axis=1) - np.log(spread * np.sqrt(2 * np.pi)).sum())


def _correlations(centred: np.ndarray, spread: np.ndarray) -> float:
    """Sum of the squared correlations of different columns."""
    standard = centred / spread
    products = standard.T @ standard / max(len(standard), 1)
    return float((products**2).sum() - (np.diag(products) ** 2).sum())


# --- checks ---------------------------------------------------------------------------------------------------------


def checks(m: Measured) -> list[Check]:
    """The lines of the evidence."""
    lines = error_checks(
        m.parts, TRUSTED, "mean 1 - |S & S'| / |S | S'|", "the share of its positive edges that differs", "unit",
        n_rows=m.n_rows,
    )  # fmt: skip
    lines.append(_units_found(m))
    for number, one in enumerate(m.described):
        if m.layers[number].edges.shape[0]:
            lines += _layer_checks(m, number, one)
    lines += _rank_checks(m)
    for number in range(len(m.layers)):
        lines += _theorem_checks(m, number)
    return lines


def _units_found(m: Measured) -> Check:
    n = m.layers[0].edges.shape[0]
    return Check(
        "units found", "n_1", float(n), at_least(1),
        "Sets of columns that fire together, beyond chance and without smaller sets that explain them.", "Algorithm 6.6",
        "veto",
        "No columns fire together as those of a unit do: more rows are needed, or there is nothing to find.",
    )  # fmt: skip


def _layer_checks(m: Measured, number: int, one: Described) -> list[Check]:
    lowest, last = number == 0, "" if len(m.layers) == 1 else f", layer {number + 1}"
    better = trivial_checks(
        one.fitted, one.trivial, extra=one.extra, n_rows=len(one.fitted),
        against="independent columns" if lowest else f"independent units of layer {number}",
    )  # fmt: skip
    return [
        *better,
        Check(
            f"goodness of fit{last}", "|R| / |C|", one.left, at_most(_MOST_LEFT),
            "How often pairs are on together without a unit of theirs, beyond chance, as a share of what there is to explain.",
            "not in the thesis", "caution",
            "Columns depend on each other in a way that units do not explain: read units as clusters of columns at most.",
        ),
        Check(
            f"ones explained{last}", "", one.ones, None,
            "Share of the ones, or of the variance of real columns, that units explain.", "the model",
        ),
        Check(
            f"decoded bits{last}", "D(E(y)) = y", 1 - one.wrong_bits, None,
            "Share of bits that decoding the code of a row gives back.", "Lemma 6.4",
        ),
        Check(
            f"decoded rows{last}", "D(E(y)) = y", 1 - one.wrong_rows, None,
            "Share of rows that decoding their code gives back without an error.", "Lemma 6.4",
        ),
    ]  # fmt: skip


def _rank_checks(m: Measured) -> list[Check]:
    lines: list[Check] = []
    n_units = sum(layer.edges.shape[0] for layer in m.layers)
    if not n_units:
        return lines
    missing = sum(one.missing for one in m.described)
    lines.append(
        Check(
            "units missing", "", missing / n_units, at_most(_MOST_MISSING, "of those found"),
            "Pairs of columns that are on together without a unit as often as those of a unit are, over the pairs of a unit.",
            "not in the thesis", "caution",
            "Some columns fire together and no unit was found for them: more rows are needed, or they are no units.",
        )
    )  # fmt: skip
    if m.parts.errors is not None:
        surplus = float((m.parts.errors >= _LOST).mean())
        lines.append(
            Check(
                "units not found again", "", surplus, at_most(_MOST_SURPLUS, "of those found"),
                "Units that fits on halves of the rows do not have: fragments, accidents, or units with few firings.",
                "not in the thesis", "note",
                "Some units are not found again in halves of the rows: leave out those with a large expected error.",
            )
        )  # fmt: skip
    if len(m.layers) < m.n_asked:
        lines.append(
            Check(
                "layers found", "l", float(len(m.layers)), at_least(m.n_asked, "asked for"),
                "Layers in which units were found.", "Algorithm 6.1", "caution",
                f"Layer {len(m.layers) + 1} has no units that the data shows: ask for {len(m.layers)}, or give more rows.",
            )
        )  # fmt: skip
    return lines


def _theorem_checks(m: Measured, number: int) -> list[Check]:
    layer, name = m.layers[number], f", layer {number + 1}" if len(m.layers) > 1 else ""
    if not layer.edges.shape[0]:
        return []
    firings = layer.hidden.counts
    parents = np.diff(sparse.csc_array(layer.members).indptr)
    crowded = float(layer.hidden.rates.mean() * parents.mean())
    undetermined = layer.undetermined.nnz / max(layer.edges.shape[0] * layer.edges.shape[1], 1)
    return [
        Check(
            f"density times degree{name}", "rho d", crowded, at_most(_MOST_CROWDED),
            "Positive parents of a column that are on at a time: units overlap above the limit.", "Lemma 6.9",
        ),
        Check(
            f"firings of a unit{name}", "rho N", float(np.median(firings)), at_least(_LEAST_FIRINGS),
            "Rows in which the median unit is on.", "Theorem 6.14",
        ),
        Check(
            f"undetermined pairs{name}", "", undetermined, None,
            "Share of the pairs of a unit and a column where neither an edge nor its absence is established.", "Lemma 6.12",
        ),
    ]  # fmt: skip
