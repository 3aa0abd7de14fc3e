"""Sufficient statistics: counts of consecutive symbols that replace the sequences and add up across data sets.

Stretches of steps are assigned to folds by a hash of their whole sequence, so that folds depend on the content alone. See
`latentia.moments.additive` for short sequences, which may be alike by accident.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numba import njit
from scipy import sparse

from ..exceptions import LatentiaError
from ..fitting import stages
from ..fitting.additive import Additive, Receipt
from ..moments import Coordinates, CountSums
from ..moments.additive import copy_inflation, count_remainders, shrink_to_mean
from ..passes import Block, Blocks, Folds, accumulate, assign_sequence_folds_by_content
from ..system.threads import Parallel
from ._lags import DISCOUNT, REACH, find_pair_starts
from ._pair_method import LAGS, Moments, Steps

_STRETCH = 100  # steps that stay in one fold
_MAX_EXACT_LENGTH = 1024  # Longer sequences are counted together, by their mean length.
_DISCOUNTS = np.rint(5 ** (REACH - 1) * DISCOUNT ** np.arange(REACH)).astype(np.int64)  # 3^k 5^(5 - k)
_MIN_CHANGES = 8  # Two equal stretches with this many changes of the symbol are no accident.


class AdditiveSequences(Additive[stages.Moments, stages.Parameters]):
    """Base of the estimators that can be fitted on counts of steps."""

    def partial_fit(self, X: Any, lengths: Any = None, *, refine_on: Any = None) -> Self:  # type: ignore[override]
        """Add sequences: the model equals one ``fit`` of all sequences so far with ``keep_moments=True``.

        Parameters
        ----------
        X : as in ``fit``
            New steps. Give ``n_symbols`` if the first steps lack some symbols.
        lengths : array-like of int, shape (n_sequences,), optional
            Lengths of the sequences.
        refine_on : as X, or a pair of steps and lengths, optional
            Steps, and lengths if there are several sequences, on which EM refines the answer, as ``refine`` says; without them
            the answer is that of the moments.

        Returns
        -------
        self

        Raises
        ------
        LatentiaError
            As in ``fit``.

        Warns
        -----
        DroppedDataWarning
            After a ``fit`` without ``keep_moments``, whose rows the model then loses.
        """
        steps = refine_on if refine_on is None or isinstance(refine_on, tuple) else (refine_on,)
        if steps is not None and not 1 <= len(steps) <= 2:
            raise LatentiaError("expected steps, or a pair of steps and lengths.", parameter="refine_on")
        return self._update_rows((X, lengths), refine_on=steps)

    def forget(self, X: Any, lengths: Any = None) -> Receipt:  # type: ignore[override]
        """Remove sequences: the model is that of the remaining ones, and nothing in it depends on the removed ones.

        The symbols stay: without ``n_symbols`` they are those of the first sequences.

        Parameters
        ----------
        X : as in ``fit``
            Whole sequences that were part of a ``fit`` or ``partial_fit``; anything else is an error.
        lengths : array-like of int, shape (n_sequences,), optional
            Lengths of the sequences.

        Returns
        -------
        Receipt
            How many steps were removed, how many remain, and a digest of those removed.
        """
        return self._forget_rows((X, lengths))


def assign_folds_by_content(blocks: Blocks, n: int = 4) -> Folds:
    """Assign steps to folds by a hash of their sequence."""
    return assign_sequence_folds_by_content(blocks, _STRETCH, n)


def check_symbols(n_symbols: int, max_symbols: int) -> None:
    """Raise if there are too many symbols to count their triples."""
    if n_symbols > max_symbols:
        raise LatentiaError(
            f"keep_moments counts all triples of at most {max_symbols} symbols; this data has {n_symbols}. Map rare symbols to "
            "one symbol, or fit without keep_moments."
        )


class StepCounts:
    """In-place statistic: counts of symbols, of lengths of sequences, and of copied stretches.

    Parameters
    ----------
    size : int
        Number of symbols S.
    folds : Folds
        Folds by content.
    """

    def __init__(self, size: int, folds: Folds) -> None:
        self.size, self.folds = size, folds

    def zero(self) -> dict[str, np.ndarray]:
        no_copies = count_remainders(np.empty(0, np.int64))
        return {
            "symbols": np.zeros(self.size, np.int64), "lengths": np.zeros(_MAX_EXACT_LENGTH + 3, np.int64),
            "copies": np.array([no_copies, no_copies]), "squares": np.zeros(1, np.int64),
        }  # fmt: skip

    def add_tasks(self, state: dict[str, np.ndarray], block: Block, parallel: Parallel) -> dict[str, np.ndarray]:
        symbols, lengths = block[0].ravel(), np.asarray(block[-1])
        state["symbols"] += np.bincount(symbols, minlength=self.size)
        is_long = lengths > _MAX_EXACT_LENGTH
        state["lengths"][:-2] += np.bincount(lengths[~is_long], minlength=_MAX_EXACT_LENGTH + 1)
        state["lengths"][-2:] += is_long.sum(), lengths[is_long].sum()
        position = np.arange(len(symbols)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        stretch_starts = np.flatnonzero(position % _STRETCH == 0)
        ends = np.append(stretch_starts[1:], len(symbols))
        changes = np.append(0, np.cumsum(np.append(symbols[1:] != symbols[:-1], True)))
        may_be_chance = changes[ends - 1] - changes[stretch_starts] < _MIN_CHANGES
        hashes, weights = self.folds.leaders[block.rows[stretch_starts]], np.maximum(ends - stretch_starts - 2, 0)  # type: ignore[index]
        state["copies"][0] += count_remainders(hashes[may_be_chance], weights[may_be_chance])
        state["copies"][1] += count_remainders(hashes[~may_be_chance])
        state["squares"] += (weights[may_be_chance] ** 2).sum()
        return state


def sequence_lengths(sums: CountSums) -> np.ndarray:
    """Return the lengths of the sequences; very long ones all get their mean."""
    counts = sums.tables["lengths"]
    n, total = (int(number) for number in counts[-2:])
    return np.append(np.repeat(np.arange(_MAX_EXACT_LENGTH + 1), counts[:-2]), np.full(n, total // max(n, 1)))


def variance_excess(sums: CountSums) -> float:
    """Compute the factor by which accidental copies of stretches increase the variance between folds."""
    chance_copies, true_copies = sums.tables["copies"]
    return copy_inflation(chance_copies, true_copies, float(sums.tables["squares"][0]))


# --- pairs and triples of a few symbols -------------------------------------------------------------------------------


class _PairCounts(StepCounts):
    """`StepCounts` with pairs at lags 1, 2, ..., (LAGS, G, S, S), and consecutive triples, (G, S, S, S), by fold."""

    def zero(self) -> dict[str, np.ndarray]:
        n, s = self.folds.n, self.size
        pairs, triples = np.zeros((LAGS, n, s, s), np.int64), np.zeros((n, s, s, s), np.int32)
        return super().zero() | {"pairs": pairs, "triples": triples}

    def add_tasks(self, state: dict[str, np.ndarray], block: Block, parallel: Parallel) -> dict[str, np.ndarray]:
        symbols, lengths, groups = block[0].ravel(), block[-1], self.folds.of(block.rows)
        for lag in range(1, LAGS + 1):
            starts = find_pair_starts(lengths, lag)
            np.add.at(state["pairs"][lag - 1], (groups[starts], symbols[starts], symbols[starts + lag]), 1)
        starts = find_pair_starts(lengths, 2)
        triple = symbols[starts], symbols[starts + 1], symbols[starts + 2]
        np.add.at(state["triples"], (groups[starts], *triple), 1)
        return super().add_tasks(state, block, parallel)


def count_pairs(blocks: Blocks, folds: Folds, size: int) -> CountSums:
    """Count pairs and triples of steps, by the fold of their first step."""
    return CountSums(blocks.n_rows, accumulate(blocks, _PairCounts(size, folds)))


class _Tables:
    """Moments of scores from tables of pairs (G, S, S) and triples (G, S, S, S)."""

    def __init__(self, pairs: np.ndarray, triples: np.ndarray) -> None:
        self._pairs, self._triples = pairs, triples

    def moments(self, scores: np.ndarray, part: int) -> Moments:
        pairs, triples = self._pairs[part], self._triples[part]
        n, n_triples = int(pairs.sum()), int(triples.sum())
        if not n_triples:
            return Moments(0.0, 0.0, 0.0, 0.0, 0.0)
        first = pairs.sum(axis=1)
        y = scores - float(first @ scores) / n
        # Sum over the middle step.
        c2, c3 = (
            (np.einsum("ijk,j->ik", triples, weights, optimize=True) @ y) @ y / n_triples
            for weights in (np.ones_like(y), y)
        )
        return Moments(float(y @ pairs @ y / n), float(c2), float(c3), float(first @ y**2 / n), float(n))


def steps_from_sums(sums: CountSums) -> Steps:
    """Build the input of the two-state method from sums."""
    pairs = sums.tables["pairs"]
    counts = [[sparse.csr_array(table) for table in tables] for tables in pairs]
    return Steps(
        n=sums.n_rows, lengths=sequence_lengths(sums), occurrences=sums.tables["symbols"],
        scored=_Tables(pairs[0], sums.tables["triples"]), counts=counts, distinct=sum(counts[0][1:], counts[0][0]), copies=1.0,
        excess=variance_excess(sums),
    )  # fmt: skip


# --- past, step and future of a few symbols ---------------------------------------------------------------------------


class _ViewCounts(StepCounts):
    """`StepCounts` with the views of `build_step_views` for each inner step, and first symbols.

    Past and future of a step are the next neighbour, (S,), the discounted sum of neighbours, (S,), and the sum of its
    discounts, the latter two times 5^5, which makes them whole numbers. ``views`` has their products by the group and the
    symbol of the step, (G, S, 2 S + 1, 2 S + 1), and ``past`` and ``future`` those with themselves, (G, 2 S + 1, 2 S + 1).
    """

    def zero(self) -> dict[str, np.ndarray]:
        n, s, d = self.folds.n, self.size, 2 * self.size + 1
        side_products = {"past": np.zeros((n, d, d), np.int64), "future": np.zeros((n, d, d), np.int64)}
        return super().zero() | side_products | {
            "views": np.zeros((n, s, d, d), np.int64), "lags": np.zeros((2, s, s), np.int64), "starts": np.zeros(s, np.int64)
        }  # fmt: skip

    def add_tasks(self, state: dict[str, np.ndarray], block: Block, parallel: Parallel) -> dict[str, np.ndarray]:
        symbols, lengths = block[0].ravel(), np.asarray(block[-1])
        for lag, table in enumerate(state["lags"], 1):
            starts = find_pair_starts(lengths, lag)
            np.add.at(table, (symbols[starts], symbols[starts + lag]), 1)
        ends = np.cumsum(lengths)
        state["starts"] += np.bincount(symbols[ends - lengths], minlength=self.size)
        groups = self.folds.of(block.rows).astype(np.int64)
        tables = state["views"], state["past"], state["future"]
        _add_views(symbols, lengths, groups, _DISCOUNTS, *tables)
        return super().add_tasks(state, block, parallel)


def count_views(blocks: Blocks, folds: Folds, size: int, **options: Any) -> CountSums:
    """Count the past and the future of each step."""
    return CountSums(blocks.n_rows, accumulate(blocks, _ViewCounts(size, folds), **options))


def views_from_sums(sums: CountSums, coordinates: Coordinates, average: np.ndarray) -> dict[Any, np.ndarray]:
    """Compute the state of `latentia.moments.ViewMoments` of past, step and future, in coordinates, from sums."""
    excess = variance_excess(sums)
    views, past, future = (shrink_to_mean(sums.tables[name], excess) for name in ("views", "past", "future"))
    basis, (_, s, d, _) = coordinates.basis, views.shape
    projection = np.zeros((d, 2 * basis.shape[1]))  # coordinates of past and future
    projection[:s, : basis.shape[1]] = basis
    projection[s:-1, basis.shape[1] :], projection[-1, basis.shape[1] :] = basis, -average
    projection[s:] /= _DISCOUNTS[0]
    # Third moments for each symbol.
    cubes = np.array([np.einsum("mij,ip,jr->mpr", view, projection, projection, optimize=True) for view in views])
    past_sums = views[..., :s].sum(axis=3) @ projection  # (G, S, 2 b)
    future_sums = views[:, :, :s].sum(axis=2) @ projection
    counts = views[:, :, :s, :s].sum(axis=(2, 3))
    return {
        "n": counts.sum(axis=1), "third": np.einsum("gmpr,mq->gpqr", cubes, basis),
        ("first", 0): past_sums.sum(axis=1), ("first", 1): counts @ basis, ("first", 2): future_sums.sum(axis=1),
        ("pair", 0, 0): projection.T @ past @ projection, ("pair", 1, 1): np.einsum("gm,mq,mr->gqr", counts, basis, basis),
        ("pair", 2, 2): projection.T @ future @ projection, ("pair", 0, 2): cubes.sum(axis=1),
        ("pair", 0, 1): past_sums.swapaxes(1, 2) @ basis, ("pair", 1, 2): basis.T @ future_sums,
        ("sketch", 1, 0): past_sums, ("sketch", 1, 2): future_sums,
    }  # fmt: skip


@njit(nogil=True, cache=True)
def _add_views(symbols, lengths, groups, discounts, views, past, future):
    """Add the products of past and future of all steps with two neighbours, from the nonzero entries of both sides."""
    size, reach, start = views.shape[1], len(discounts), 0
    places, values = np.empty((2, reach + 2), np.int64), np.empty((2, reach + 2), np.int64)
    for length in lengths:
        for t in range(start + 1, start + length - 1):
            n_before, n_after = min(t - start, reach), min(start + length - 1 - t, reach)
            for side in range(2):
                step, last = (-1, n_before) if side == 0 else (1, n_after)
                places[side, 0], values[side, 0], total = symbols[t + step], 1, 0
                for lag in range(last):
                    places[side, lag + 1], values[side, lag + 1] = size + symbols[t + step * (lag + 1)], discounts[lag]
                    total += discounts[lag]
                places[side, last + 1], values[side, last + 1] = 2 * size, total
            group = groups[t]
            for a in range(n_before + 2):
                for b in range(n_after + 2):
                    views[group, symbols[t], places[0, a], places[1, b]] += values[0, a] * values[1, b]
                for b in range(n_before + 2):
                    past[group, places[0, a], places[0, b]] += values[0, a] * values[0, b]
            for a in range(n_after + 2):
                for b in range(n_after + 2):
                    future[group, places[1, a], places[1, b]] += values[1, a] * values[1, b]
        start += length
