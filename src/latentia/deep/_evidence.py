"""Evidence for a sparse network: errors of its units, and checks.

The expected error of a unit is the Jaccard distance of its positive edges to those of the true unit. It has three sources.

- The odds of every edge. They are right where the model holds and rows are independent. Distances to fits on halves are too
  large then: the chance of a wrong edge falls exponentially in the rows, so halves miss units and edges that all rows show.
- The split of a unit's firings between the halves. Where it is more unequal than by chance, because rows are copies of each
  other or neighbours in time, several rows count as one, for odds and for the test of units.
- Fits on halves. Units that halves do not find, although they find most others, are accidents. Where edges differ more than
  their odds predict, the distance itself is the error.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ..evidence import Check, PartErrors, at_least, at_most, error_checks, trivial_checks
from ..evidence.limits import MAX_FOREIGN_SHARE
from ..linalg.ratios import ratio_of
from ..passes import Folds
from ._encode import decode, subtract
from ._layers import Layer, Rows, select_sign
from ._real import decode_real
from ._statistics import BinaryRows, cofiring_pairs, pair_dependence
from ._units import are_units, estimate_edge_doubts, measure_units

_MAX_MATCH_DISTANCE = 0.5  # Jaccard distance below which units of two fits match
_LOST_ERROR = 0.9  # expected error of a unit that halves do not find
_MAX_RESIDUAL_DEPENDENCE = 0.1  # largest share of the dependence of pairs that units leave unexplained
_MAX_MISSING, _MAX_SURPLUS = 0.05, 0.05  # limits of missing and surplus units, as shares of the units of the model
_MIN_FIRINGS = 50.0  # rows with a unit on, from which positive edges are exact where the model holds
_MAX_CROWDED = 0.5  # largest mean number of parents of a column that are on at a time
_SEED_SHARE = 0.3
_MAX_DOUBT_RATIO = 10.0  # beyond this multiple of the predicted distance of halves, the distance itself is the error
_MIN_UNLIKE_DISTANCE = 0.85  # Jaccard distance from which a half has no similar unit
_PRIOR_ACCIDENT, _REPEATED_ACCIDENT = 0.02, 0.05  # prior odds of an accident; chance that a half has it too
_MIN_HALF_FIRINGS = 15.0  # firings in a half from which it should find a unit
_MAX_ENTRIES = 20_000_000
_TINY = 1e-12


# --- distances ------------------------------------------------------------------------------------------------------


def unit_distances(layers: Sequence[sparse.csr_array], other_layers: Sequence[sparse.csr_array]) -> np.ndarray:
    """Return the Jaccard distances of the positive edges of units to the nearest unit of another network, layer by layer.

    Parameters
    ----------
    layers, other_layers : sequences of csr_array of int8, shape (n_units, n_below)
        Lowest layer first. Layers that the other network lacks count as empty.
    """
    all_distances, names = [], None
    for number, layer in enumerate(layers):
        members = select_sign(layer, 1).astype(np.int32)
        if number >= len(other_layers):
            all_distances.append(np.ones(members.shape[0]))
            continue
        other_members = select_sign(other_layers[number], 1).astype(np.int32)
        sizes = np.diff(other_members.indptr)  # sizes before columns without a counterpart are dropped
        if names is not None:
            other_members = other_members @ names
        distances = _jaccard(members, other_members, sizes)
        all_distances.append(distances.min(axis=1, initial=1.0))
        names = _match_units(distances)
    return np.concatenate([np.empty(0), *all_distances])


def _jaccard(sets: sparse.csr_array, other_sets: sparse.csr_array, sizes: np.ndarray) -> np.ndarray:
    """Return the Jaccard distances of sets, shape (n_sets, n_other)."""
    shared = (sets @ other_sets.T).toarray()
    either = np.diff(sets.indptr)[:, None] + sizes - shared
    return np.asarray(1 - shared / np.maximum(either, 1))


def _match_units(distances: np.ndarray) -> sparse.csr_array:
    """Match each unit of the other network to a unit of this one: shape (n_other, n_units), with entries 1."""
    n_units, n_other = distances.shape
    if not n_units or not n_other:
        return sparse.csr_array((n_other, n_units), dtype=np.int32)
    nearest = distances.argmin(axis=0)
    matches = np.flatnonzero(
        (distances[nearest, np.arange(n_other)] < _MAX_MATCH_DISTANCE)
        & (distances.argmin(axis=1)[nearest] == np.arange(n_other))
    )
    return sparse.csr_array((np.ones(len(matches), np.int32), (matches, nearest[matches])), shape=(n_other, n_units))


# --- expected errors ------------------------------------------------------------------------------------------------


def expected_errors(
    rows: Rows,
    layers: list[Layer],
    group: np.ndarray,
    folds: Folds,
    learn: Callable[[tuple[int, ...]], list[Layer]],
    n_jobs: int | None,
) -> PartErrors:
    """Estimate the error of every unit from the odds of its edges and fits on two halves of the rows.

    Parameters
    ----------
    rows : Rows
    layers : list of Layer
        The fit on all rows.
    group : ndarray of shape (n_rows,)
        Group of each row.
    folds : Folds
    learn : callable
        Takes groups, and returns layers of their rows with positive edges.
    n_jobs : int or None
    """
    halves = [np.flatnonzero(np.isin(group, half)) for half in folds.splits[0]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parts = [learn(half) for half in folds.splits[0]]
    edges = [layer.edges for layer in layers]
    distances = np.array([unit_distances(edges, [layer.edges for layer in part]) for part in parts])
    ends = np.cumsum([0, *(layer_edges.shape[0] for layer_edges in edges)])
    errors: list[np.ndarray] = [np.empty(0)]
    accidents = None
    for number, layer in enumerate(layers):
        layer_distances = distances[:, ends[number] : ends[number + 1]]
        below = rows if number == 0 else layers[number - 1].hidden
        temper = _dependence(layer.hidden, group, folds)
        firings = np.array([layer.hidden.take(half).counts for half in halves])
        accident_chances = np.where(
            _pass_test(below, layer, temper, n_jobs), _estimate_accidents(layer_distances, firings / temper), 1.0
        )
        if accidents is not None:  # edges may lead to accidental units of the layer below
            members = select_sign(layer.edges, 1)
            wrong = np.asarray(members @ accidents) / np.maximum(np.diff(members.indptr), 1)
            accident_chances = 1 - (1 - accident_chances) * (1 - wrong)
        edge_errors = _estimate_edge_errors(
            below,
            layer,
            [part[number] for part in parts if number < len(part)],
            layer_distances,
            halves,
            temper,
            n_jobs,
        )
        errors.append(np.clip(accident_chances + (1 - accident_chances) * edge_errors, 0.0, 1.0))
        accidents = accident_chances
    return PartErrors(np.concatenate(errors), n_parts=len(parts))


def _estimate_accidents(distances: np.ndarray, firings: np.ndarray) -> np.ndarray:
    """Estimate the chance that units are accidents, from the halves that have no similar unit; both of shape (2, n_units).

    A half that misses many units for lack of rows tells little about one of them; a half that misses no others tells much.
    """
    has_rows, missed = firings >= _MIN_HALF_FIRINGS, distances >= _MIN_UNLIKE_DISTANCE
    rate = ((has_rows & missed).sum() + 0.5) / (has_rows.sum() + 1.0)  # miss rate of true units
    odds = np.where(
        has_rows, np.where(missed, (1 - _REPEATED_ACCIDENT) / rate, _REPEATED_ACCIDENT / max(1 - rate, _TINY)), 1.0
    )
    odds = _PRIOR_ACCIDENT * odds.prod(axis=0)
    return np.asarray(np.where(has_rows.any(axis=0), odds / (1 + odds), 0.0))


def _dependence(hidden: BinaryRows, group: np.ndarray, folds: Folds) -> float:
    """Return how many rows count as one: the inequality of firings between halves, over that by chance."""
    counts = np.array([hidden.take(np.flatnonzero(group == g)).counts for g in folds.all], dtype=np.float64)
    total = counts.sum(axis=0)
    is_active = total >= 4
    if not is_active.any():
        return 1.0
    ratios = [
        (counts[list(first)].sum(axis=0) - counts[list(second)].sum(axis=0))[is_active] ** 2 / total[is_active]
        for first, second in folds.splits
    ]
    ratio = np.mean(ratios, axis=0)
    return max(1.0, float(ratio.mean() - 2 * ratio.std() / np.sqrt(len(ratio))))


def _pass_test(below: Rows, layer: Layer, temper: float, n_jobs: int | None) -> np.ndarray:
    """Return which units pass the test of acceptance when ``temper`` rows count as one."""
    members = layer.members
    if temper == 1 or isinstance(below, np.ndarray):
        return np.ones(members.shape[0], dtype=bool)
    units = np.split(members.indices, members.indptr[1:-1])
    return are_units(measure_units(below.thin(_MAX_ENTRIES), units, temper, n_jobs))


def _estimate_edge_errors(
    below: Rows,
    layer: Layer,
    parts: list[Layer],
    distances: np.ndarray,
    halves: list[np.ndarray],
    temper: float,
    n_jobs: int | None,
) -> np.ndarray:
    """Estimate the share of wrong edges of each unit, if it is no accident."""
    is_similar = distances < _MIN_UNLIKE_DISTANCE
    mean_distances = np.where(is_similar, distances, 0.0).sum(axis=0) / np.maximum(is_similar.sum(axis=0), 1)
    if isinstance(below, np.ndarray):
        return mean_distances
    doubts = estimate_edge_doubts(below, layer.hidden, layer.members, temper, n_jobs)
    if not is_similar.any():
        return doubts
    of_parts = [
        estimate_edge_doubts(below.take(half), part.hidden, part.members, temper, n_jobs)
        for part, half in zip(parts, halves, strict=False)
    ]
    predicted = float(np.mean(np.concatenate(of_parts))) + float(doubts.mean())
    ratio = max(1.0, float(ratio_of(distances[is_similar].mean(), predicted)))
    # Doubts vanish exponentially with the rows. If halves differ by more than their doubts, the doubts of all rows are raised
    # by the same factor; a factor too large for doubts means that the distance itself is the error.
    return np.asarray(
        np.maximum(min(ratio, _MAX_DOUBT_RATIO) * doubts, (1 - min(_MAX_DOUBT_RATIO / ratio, 1.0)) * mean_distances)
    )


# --- measurements ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LayerDescription:
    """Measures of how well a layer describes the rows below it.

    Attributes
    ----------
    fitted, trivial : ndarray of shape (n_rows,)
        Log-likelihood of each row with the units that are on in it, and of independent columns.
    extra : int
        Number of parameters beyond those of independent columns.
    residual_dependence : float
        Norm of the dependence of pairs that units do not explain, as a share of that of the rows below.
    missing : float
        Number of units that the unexplained pairs would make.
    explained_ones, wrong_bits, wrong_rows : float
        Share of the ones that units explain, and of bits and rows that decoding the code gets wrong.
    """

    fitted: np.ndarray
    trivial: np.ndarray
    extra: int
    residual_dependence: float
    missing: float
    explained_ones: float
    wrong_bits: float
    wrong_rows: float


@dataclass(frozen=True)
class NetworkMeasurements:
    """Measurements for the checks.

    Attributes
    ----------
    layers : list of Layer
    descriptions : list of LayerDescription
    parts : PartErrors
    n_rows : int
    n_asked : int
        Number of requested layers.
    """

    layers: list[Layer]
    descriptions: list[LayerDescription]
    parts: PartErrors
    n_rows: int
    n_asked: int


def measure(rows: Rows, layers: list[Layer], n_jobs: int | None) -> list[LayerDescription]:
    """Measure how well each layer describes the one below."""
    descriptions = []
    for layer in layers:
        descriptions.append(
            _describe_columns(rows, layer) if layer.real is not None else _describe_bits(rows, layer, n_jobs)
        )
        rows = layer.hidden
    return descriptions


def compute_shares(layers: list[Layer]) -> np.ndarray:
    """Return the share of each unit: positive edges times firings, relative to its layer, over the number of layers."""
    shares = [np.empty(0)]
    for layer in layers:
        weights = layer.hidden.counts * np.diff(layer.members.indptr)
        shares.append(weights / max(float(weights.sum()), _TINY) / len(layers))
    return np.concatenate(shares)


def _describe_bits(rows: Rows, layer: Layer, n_jobs: int | None) -> LayerDescription:
    assert isinstance(rows, BinaryRows)
    n_rows, n_columns = rows.n_rows, rows.n_columns
    predicted = decode(layer.hidden, layer.edges, n_jobs)
    unexplained, overpredicted = subtract(rows, predicted, n_jobs), subtract(predicted, rows, n_jobs)
    on = (unexplained.counts + 0.5) / (n_rows - predicted.counts + 1)  # where decoding says off
    off = (len(overpredicted.indices) + 0.5) / (len(predicted.indices) + 1)  # where it says on
    fitted = _independent_log_likelihood(layer.hidden) + float(np.log1p(-on).sum())
    fitted = (
        fitted + _row_sums(unexplained, np.log(on / (1 - on))) + _row_sums(overpredicted, np.log(off) - np.log1p(-on))
    )
    explained = np.log1p(-off) - np.log1p(-on)
    fitted = fitted + _row_sums(predicted, explained) - _row_sums(overpredicted, explained)
    wrong = np.diff(unexplained.indptr) + np.diff(overpredicted.indptr)
    beyond, noise = pair_dependence(unexplained, n_jobs=n_jobs)
    dependence, noise_of_rows = pair_dependence(rows, n_jobs=n_jobs)
    return LayerDescription(
        fitted,
        _independent_log_likelihood(rows),
        layer.edges.nnz + layer.edges.shape[0] + 1,
        float(np.sqrt(ratio_of(max(beyond - noise, 0.0), max(dependence - noise_of_rows, 0.0))))
        if dependence > 2 * noise_of_rows
        else 0.0,
        _count_missing(unexplained, layer, n_jobs),
        1 - len(unexplained.indices) / max(len(rows.indices), 1),
        float(wrong.sum()) / max(n_rows * n_columns, 1),
        float((wrong > 0).mean()),
    )


def _independent_log_likelihood(rows: BinaryRows) -> np.ndarray:
    """Return the log-likelihood of each row under independent columns, shape (n_rows,)."""
    rates = (rows.counts + 0.5) / (rows.n_rows + 1)
    return np.asarray(_row_sums(rows, np.log(rates / (1 - rates))) + np.log1p(-rates).sum())


def _row_sums(rows: BinaryRows, values: np.ndarray) -> np.ndarray:
    """Sum the values of the columns that are on in each row."""
    sums = np.append(0.0, np.cumsum(values[rows.indices]))
    return sums[rows.indptr[1:]] - sums[rows.indptr[:-1]]


def _count_missing(unexplained: BinaryRows, layer: Layer, n_jobs: int | None) -> float:
    """Count pairs of columns that are on together without a unit as often as those of units, over the pairs of a unit."""
    sample = unexplained.thin(5e6)
    pairs = cofiring_pairs(sample, n_jobs)
    if not layer.edges.shape[0]:
        return float(len(pairs.first) > 0)
    firings = float(np.median(layer.hidden.counts)) * sample.n_rows / max(unexplained.n_rows, 1)
    degree = float(np.median(np.diff(layer.members.indptr)))
    strong = int((pairs.excess >= _SEED_SHARE * firings).sum())
    return strong / max(degree * (degree - 1) / 2, 1.0)


def _describe_columns(rows: Rows, layer: Layer) -> LayerDescription:
    assert isinstance(rows, np.ndarray)
    assert layer.real is not None
    n_rows = len(rows)
    residual = rows - decode_real(layer.real, layer.hidden.table())
    spread = np.maximum(rows.std(axis=0), _TINY)
    noise = np.maximum(residual.std(axis=0), 1e-3 * spread)
    trivial = _gaussian((rows - rows.mean(axis=0)) / spread, spread)
    fitted = _independent_log_likelihood(layer.hidden) + _gaussian((residual - residual.mean(axis=0)) / noise, noise)
    residual_correlations, correlations = (
        _correlations(residual, noise),
        _correlations(rows - rows.mean(axis=0), spread),
    )
    chance = rows.shape[1] * (rows.shape[1] - 1) / max(n_rows, 1)
    wrong = np.abs(residual) > 0.5 * layer.real.scale
    return LayerDescription(
        fitted,
        trivial,
        layer.edges.nnz + layer.edges.shape[0],
        float(np.sqrt(ratio_of(max(residual_correlations - chance, 0.0), max(correlations - chance, 0.0))))
        if correlations > 2 * chance
        else 0.0,
        0.0,
        1 - float((noise**2).sum() / (spread**2).sum()),
        float(wrong.mean()),
        float(wrong.any(axis=1).mean()),
    )


def _gaussian(standard: np.ndarray, spread: np.ndarray) -> np.ndarray:
    return np.asarray(-0.5 * (standard**2).sum(axis=1) - np.log(spread * np.sqrt(2 * np.pi)).sum())


def _correlations(centred: np.ndarray, spread: np.ndarray) -> float:
    """Return the sum of the squared correlations of different columns."""
    standard = centred / spread
    products = standard.T @ standard / max(len(standard), 1)
    return float((products**2).sum() - (np.diag(products) ** 2).sum())


# --- checks ---------------------------------------------------------------------------------------------------------


def checks(measured: NetworkMeasurements) -> list[Check]:
    """Return the checks of a network."""
    lines = error_checks(
        measured.parts, MAX_FOREIGN_SHARE, "mean 1 - |S & S'| / |S | S'|", "the share of its positive edges that differs",
        "unit", n_rows=measured.n_rows,
    )  # fmt: skip
    lines.append(_unit_check(measured))
    for number, description in enumerate(measured.descriptions):
        if measured.layers[number].edges.shape[0]:
            lines += _layer_checks(measured, number, description)
    lines += _rank_checks(measured)
    for number in range(len(measured.layers)):
        lines += _theorem_checks(measured, number)
    return lines


def _unit_check(measured: NetworkMeasurements) -> Check:
    n = measured.layers[0].edges.shape[0]
    return Check(
        "units found", "n_1", float(n), at_least(1),
        "Sets of columns that are active together more often than by chance, and are not explained by smaller sets.",
        "Algorithm 6.6", "veto",
        "No group of columns is active together often enough: give more rows, or accept that there are no units.",
    )  # fmt: skip


def _layer_checks(m: NetworkMeasurements, number: int, description: LayerDescription) -> list[Check]:
    lowest, last = number == 0, "" if len(m.layers) == 1 else f", layer {number + 1}"
    better = trivial_checks(
        description.fitted, description.trivial, extra=description.extra, n_rows=len(description.fitted),
        against="independent columns" if lowest else f"independent units of layer {number}",
    )  # fmt: skip
    return [
        *better,
        Check(
            f"goodness of fit{last}", "|R| / |C|", description.residual_dependence, at_most(_MAX_RESIDUAL_DEPENDENCE),
            "Dependence of pairs of columns beyond their common units and chance, as a share of the dependence in the data.",
            "not in the thesis", "note",
            "Columns depend on each other in ways that units do not explain: take units as clusters of columns at most.",
        ),
        Check(
            f"ones explained{last}", "", description.explained_ones, None,
            "Share of the ones, or of the variance of real columns, that units explain.", "the model",
        ),
        Check(
            f"decoded bits{last}", "D(E(y)) = y", 1 - description.wrong_bits, None,
            "Share of bits that are right after encoding and decoding a row.", "Lemma 6.4",
        ),
        Check(
            f"decoded rows{last}", "D(E(y)) = y", 1 - description.wrong_rows, None,
            "Share of rows without an error after encoding and decoding.", "Lemma 6.4",
        ),
    ]  # fmt: skip


def _rank_checks(m: NetworkMeasurements) -> list[Check]:
    lines: list[Check] = []
    n_units = sum(layer.edges.shape[0] for layer in m.layers)
    if not n_units:
        return lines
    missing = sum(description.missing for description in m.descriptions)
    lines.append(
        Check(
            "units missing", "", missing / n_units, at_most(_MAX_MISSING, "of those found"),
            "Pairs of columns that are on together without a unit as often as pairs of a unit, over the pairs of a unit.",
            "not in the thesis", "caution",
            "Some columns are active together without a unit: give more rows, or accept that other causes link them.",
        )
    )  # fmt: skip
    if m.parts.errors is not None:
        surplus = float((m.parts.errors >= _LOST_ERROR).mean())
        lines.append(
            Check(
                "units not found again", "", surplus, at_most(_MAX_SURPLUS, "of those found"),
                "Units that fits on halves of the rows lack: fragments, accidents, or units that are rarely on.",
                "not in the thesis", "note",
                "Some units do not turn up again in halves of the rows: ignore those with a large expected error.",
            )
        )  # fmt: skip
    if len(m.layers) < m.n_asked:
        lines.append(
            Check(
                "layers found", "l", float(len(m.layers)), at_least(m.n_asked, "asked for"),
                "Layers in which units were found.", "Algorithm 6.1", "note",
                f"The data shows no units in layer {len(m.layers) + 1}: ask for {len(m.layers)} layers, or give more rows.",
            )
        )  # fmt: skip
    return lines


def _theorem_checks(m: NetworkMeasurements, number: int) -> list[Check]:
    layer, name = m.layers[number], f", layer {number + 1}" if len(m.layers) > 1 else ""
    if not layer.edges.shape[0]:
        return []
    firings = layer.hidden.counts
    parents = np.diff(sparse.csc_array(layer.members).indptr)
    crowded = float(layer.hidden.rates.mean() * parents.mean())
    undetermined = layer.undetermined.nnz / max(layer.edges.shape[0] * layer.edges.shape[1], 1)
    return [
        Check(
            f"density times degree{name}", "rho d", crowded, at_most(_MAX_CROWDED),
            "Positive parents of a column that are on at a time: units overlap above the limit.", "Lemma 6.9",
        ),
        Check(
            f"firings of a unit{name}", "rho N", float(np.median(firings)), at_least(_MIN_FIRINGS),
            "Rows in which the median unit is on.", "Theorem 6.14",
        ),
        Check(
            f"undetermined pairs{name}", "", undetermined, None,
            "Share of the pairs of a unit and a column where neither an edge nor its absence is established.", "Lemma 6.12",
        ),
    ]  # fmt: skip
