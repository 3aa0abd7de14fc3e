"""Counts of symbols that come after each other, which are kept in the place of sequences and can be added to those of others.

Steps are dealt into groups in stretches, by a hash of their whole sequence, so that groups hang on nothing but what is in a
sequence. `latentia.moments.additive` says what is done about short sequences, of which there are copies by accident.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numba import njit
from scipy import sparse

from ..exceptions import LatentiaError
from ..fitting.additive import Additive, Receipt
from ..moments import Coordinates, CountSums
from ..moments.additive import copy_inflation, count_remainders, shrink_to_mean
from ..passes import Block, Blocks, Folds, accumulate, deal_sequences_by_content
from ..system.threads import Parallel
from ._lags import DISCOUNT, REACH, followed
from ._pair_method import LAGS, Moments, Steps

_STRETCH = 100  # steps that stay together
_LONGEST = 1024  # length up to which sequences are counted one by one
_DISCOUNTS = np.rint(5 ** (REACH - 1) * DISCOUNT ** np.arange(REACH)).astype(np.int64)  # 3^k 5^(5 - k)
_CHANGES = 8  # of the symbol in a stretch, from which on another one like it may be no accident


class AdditiveSequences(Additive):
    """Base of the estimators that are fitted on counts of steps."""

    def partial_fit(self, X: Any, lengths: Any = None, *, refine_on: Any = None) -> Self:  # type: ignore[override]
        """Add sequences: the model is that of all so far, as of one ``fit`` with ``keep_moments=True``.

        Parameters
        ----------
        X : as in ``fit``
            New steps. Give ``n_symbols`` if the first ones do not have all symbols.
        lengths : array-like of int, shape (n_sequences,), optional
            Lengths of the sequences.
        refine_on : tuple, optional
            Steps, and lengths if there are several sequences, on which the answer is refined, as ``refine`` says; without them
            it is what the moments say.

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
            After a ``fit`` without ``keep_moments``, whose rows are not among those of the model then.
        """
        return self._update_rows((X, lengths), refine_on=refine_on)

    def forget(self, X: Any, lengths: Any = None) -> Receipt:  # type: ignore[override]
        """Take sequences away again: the model is that of the remaining ones, and nothing in it depends on the removed ones.

        Its symbols stay: without ``n_symbols`` they are those of the first sequences.

        Parameters
        ----------
        X : as in ``fit``
            Whole sequences that were in a ``fit`` or ``partial_fit``. It is an error if they have steps that were not.
        lengths : array-like of int, shape (n_sequences,), optional
            Lengths of the sequences.

        Returns
        -------
        Receipt
            How many steps were removed, how many are left, and a digest of those removed.
        """
        return self._forget_rows((X, lengths))


def by_content(blocks: Blocks, n: int = 4) -> Folds:
    """Groups of steps that hang on their sequence alone."""
    return deal_sequences_by_content(blocks, _STRETCH, n)


def check_symbols(n: int, most: int) -> None:
    """Raise for more symbols than have their triples kept."""
    if n > most:
        raise LatentiaError(
            f"There are {n} symbols: moments are kept of at most {most}, as all triples of them are counted. Map rare ones to "
            "one symbol, or fit anew."
        )


class StepCounts:
    """In-place statistic: how often there is each symbol, how long sequences are, and of how many stretches there are copies.

    Parameters
    ----------
    size : int
        Number of symbols S.
    folds : Folds
        By content.
    """

    def __init__(self, size: int, folds: Folds) -> None:
        self.size, self.folds = size, folds

    def zero(self) -> dict[str, np.ndarray]:
        none = count_remainders(np.empty(0, np.int64))
        return {
            "symbols": np.zeros(self.size, np.int64), "lengths": np.zeros(_LONGEST + 3, np.int64),
            "copies": np.array([none, none]), "squares": np.zeros(1, np.int64),
        }  # fmt: skip

    def add_tasks(self, state: dict[str, np.ndarray], block: Block, parallel: Parallel) -> dict[str, np.ndarray]:
        symbols, lengths = block[0].ravel(), np.asarray(block[-1])
        state["symbols"] += np.bincount(symbols, minlength=self.size)
        is_long = lengths > _LONGEST
        state["lengths"][:-2] += np.bincount(lengths[~is_long], minlength=_LONGEST + 1)
        state["lengths"][-2:] += is_long.sum(), lengths[is_long].sum()
        place = np.arange(len(symbols)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        first = np.flatnonzero(place % _STRETCH == 0)
        ends = np.append(first[1:], len(symbols))
        changes = np.append(0, np.cumsum(np.append(symbols[1:] != symbols[:-1], True)))
        by_chance = changes[ends - 1] - changes[first] < _CHANGES
        hashes, weights = self.folds.leaders[block.rows[first]], np.maximum(ends - first - 2, 0)  # type: ignore[index]
        state["copies"][0] += count_remainders(hashes[by_chance], weights[by_chance])
        state["copies"][1] += count_remainders(hashes[~by_chance])
        state["squares"] += (weights[by_chance] ** 2).sum()
        return state


def lengths_of(sums: CountSums) -> np.ndarray:
    """Lengths of the sequences; very long ones have their mean."""
    counts = sums.tables["lengths"]
    n, total = (int(number) for number in counts[-2:])
    return np.append(np.repeat(np.arange(_LONGEST + 1), counts[:-2]), np.full(n, total // max(n, 1)))


def excess_of(sums: CountSums) -> float:
    """By how much the variance of groups is larger, because copies of stretches are together by accident."""
    by_chance, copied = sums.tables["copies"]
    return copy_inflation(by_chance, copied, float(sums.tables["squares"][0]))


# --- pairs and triples of a few symbols -------------------------------------------------------------------------------


class _PairCounts(StepCounts):
    """The same, with pairs 1, 2, ... apart, (LAGS, G, S, S), and triples in a row, (G, S, S, S), by the group of the first."""

    def zero(self) -> dict[str, np.ndarray]:
        n, s = self.folds.n, self.size
        pairs, triples = np.zeros((LAGS, n, s, s), np.int64), np.zeros((n, s, s, s), np.int32)
        return super().zero() | {"pairs": pairs, "triples": triples}

    def add_tasks(self, state: dict[str, np.ndarray], block: Block, parallel: Parallel) -> dict[str, np.ndarray]:
        symbols, lengths, groups = block[0].ravel(), block[-1], self.folds.of(block.rows)
        for lag in range(1, LAGS + 1):
            first = followed(lengths, lag)
            np.add.at(state["pairs"][lag - 1], (groups[first], symbols[first], symbols[first + lag]), 1)
        first = followed(lengths, 2)
        three = symbols[first], symbols[first + 1], symbols[first + 2]
        np.add.at(state["triples"], (groups[first], *three), 1)
        return super().add_tasks(state, block, parallel)


def pair_sums(blocks: Blocks, folds: Folds, size: int) -> CountSums:
    """Count pairs and triples of steps."""
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
        # Over the middle one.
        c2, c3 = (
            (np.einsum("ijk,j->ik", triples, one, optimize=True) @ y) @ y / n_triples for one in (np.ones_like(y), y)
        )
        return Moments(float(y @ pairs @ y / n), float(c2), float(c3), float(first @ y**2 / n), float(n))


def steps_of_sums(sums: CountSums) -> Steps:
    """What the method of two states is given, from sums."""
    pairs = sums.tables["pairs"]
    counts = [[sparse.csr_array(table) for table in tables] for tables in pairs]
    return Steps(
        n=sums.n_rows, lengths=lengths_of(sums), occurrences=sums.tables["symbols"],
        scored=_Tables(pairs[0], sums.tables["triples"]), counts=counts, distinct=sum(counts[0][1:], counts[0][0]), copies=1.0,
        excess=excess_of(sums),
    )  # fmt: skip


# --- past, step and future of a few symbols ---------------------------------------------------------------------------


class _ViewCounts(StepCounts):
    """The same, with what `past_and_future` has of each step that has neighbours, and first symbols.

    Past and future of a step are the next neighbour, (S,), the discounted sum of neighbours, (S,), and the sum of its
    discounts, the latter two times 5^5, which makes them whole numbers. ``views`` has their products by the group and the
    symbol of the step, (G, S, 2 S + 1, 2 S + 1), and ``past`` and ``future`` those with themselves, (G, 2 S + 1, 2 S + 1).
    """

    def zero(self) -> dict[str, np.ndarray]:
        n, s, d = self.folds.n, self.size, 2 * self.size + 1
        own = {"past": np.zeros((n, d, d), np.int64), "future": np.zeros((n, d, d), np.int64)}
        return super().zero() | own | {
            "views": np.zeros((n, s, d, d), np.int64), "lags": np.zeros((2, s, s), np.int64), "starts": np.zeros(s, np.int64)
        }  # fmt: skip

    def add_tasks(self, state: dict[str, np.ndarray], block: Block, parallel: Parallel) -> dict[str, np.ndarray]:
        symbols, lengths = block[0].ravel(), np.asarray(block[-1])
        for lag, table in enumerate(state["lags"], 1):
            first = followed(lengths, lag)
            np.add.at(table, (symbols[first], symbols[first + lag]), 1)
        ends = np.cumsum(lengths)
        state["starts"] += np.bincount(symbols[ends - lengths], minlength=self.size)
        groups = self.folds.of(block.rows).astype(np.int64)
        tables = state["views"], state["past"], state["future"]
        _add_views(symbols, lengths, groups, _DISCOUNTS, *tables)
        return super().add_tasks(state, block, parallel)


def view_sums(blocks: Blocks, folds: Folds, size: int, **options: Any) -> CountSums:
    """Count what comes before and after each step."""
    return CountSums(blocks.n_rows, accumulate(blocks, _ViewCounts(size, folds), **options))


def views_of_sums(sums: CountSums, coordinates: Coordinates, average: np.ndarray) -> dict[Any, np.ndarray]:
    """The state of `latentia.moments.ViewMoments` of past, step and future in coordinates, from sums."""
    excess = excess_of(sums)
    views, past, future = (shrink_to_mean(sums.tables[name], excess) for name in ("views", "past", "future"))
    basis, (_, s, d, _) = coordinates.basis, views.shape
    to = np.zeros((d, 2 * basis.shape[1]))  # coordinates of past and future
    to[:s, : basis.shape[1]] = basis
    to[s:-1, basis.shape[1] :], to[-1, basis.shape[1] :] = basis, -average
    to[s:] /= _DISCOUNTS[0]
    cubes = np.array([np.einsum("mij,ip,jr->mpr", view, to, to, optimize=True) for view in views])  # of each symbol
    before, after = views[..., :s].sum(axis=3) @ to, views[:, :, :s].sum(axis=2) @ to  # (G, S, 2 b)
    counts = views[:, :, :s, :s].sum(axis=(2, 3))
    return {
        "n": counts.sum(axis=1), "third": np.einsum("gmpr,mq->gpqr", cubes, basis),
        ("first", 0): before.sum(axis=1), ("first", 1): counts @ basis, ("first", 2): after.sum(axis=1),
        ("pair", 0, 0): to.T @ past @ to, ("pair", 1, 1): np.einsum("gm,mq,mr->gqr", counts, basis, basis),
        ("pair", 2, 2): to.T @ future @ to, ("pair", 0, 2): cubes.sum(axis=1),
        ("pair", 0, 1): before.swapaxes(1, 2) @ basis, ("pair", 1, 2): basis.T @ after,
        ("sketch", 1, 0): before, ("sketch", 1, 2): after,
    }  # fmt: skip


@njit(nogil=True, cache=True)
def _add_views(symbols, lengths, groups, discounts, views, past, future):
    """Add the products of all steps that have two neighbours; of both sides some entries, by their places and values."""
    size, reach, start = views.shape[1], len(discounts), 0
    places, values = np.empty((2, reach + 2), np.int64), np.empty((2, reach + 2), np.int64)
    for length in lengths:
        for t in range(start + 1, start + length - 1):
            left, right = min(t - start, reach), min(start + length - 1 - t, reach)
            for side in range(2):
                step, last = (-1, left) if side == 0 else (1, right)
                places[side, 0], values[side, 0], total = symbols[t + step], 1, 0
                for lag in range(last):
                    places[side, lag + 1], values[side, lag + 1] = size + symbols[t + step * (lag + 1)], discounts[lag]
                    total += discounts[lag]
                places[side, last + 1], values[side, last + 1] = 2 * size, total
            group = groups[t]
            for a in range(left + 2):
                for b in range(right + 2):
                    views[group, symbols[t], places[0, a], places[1, b]] += values[0, a] * values[1, b]
                for b in range(left + 2):
                    past[group, places[0, a], places[0, b]] += values[0, a] * values[0, b]
            for a in range(right + 2):
                for b in range(right + 2):
                    future[group, places[1, a], places[1, b]] += values[1, a] * values[1, b]
        start += length
