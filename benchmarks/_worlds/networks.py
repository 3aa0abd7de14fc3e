"""Tables of bits, or of sums of edges, from hidden units that are on or off, for `SparseNetwork`.

The true error is the Jaccard distance 1 - |S & S'| / |S | S'| of the positive edges of a fitted unit to those of the nearest
true one, of a possible 1. Edges to hidden units are first named as the true unit that the fitted one is nearest to. Where
nothing switches sets of columns on, every unit is 1 off: where a unit would be a stretch of a line, or of a distribution.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from latentia.deep import SparseNetwork

from .world import Case, Draw, Rng, copies, labels_of, remembering, spread_shares, worlds

Table = np.ndarray
Rows = Callable[[Rng, int], Table]
Hidden = Callable[[Rng, int, int, float], Table]  # (rng, p, m, rho): booleans (p, m)
Emit = Callable[[Rng, Table, Table], Table]  # (rng, units that are on, G): booleans (p, n)
_NEW = 400
_HALF = 0.5  # Jaccard distance below which a fitted unit is taken for the true one


def case(
    rng: Rng,
    draw: Rows,
    p: int,
    truth: Sequence[Table] | None,
    nothing: bool = False,
    new: int = _NEW,
    **options: Any,
) -> Case:
    """``truth`` has the positive edges of every layer, booleans; without it each unit is 1 off, or has no error at all."""
    both = draw(rng, p + new)
    rows, unseen = both[:p], both[p:]

    def distances(model: SparseNetwork) -> np.ndarray:
        count = sum(layer.shape[0] for layer in model.layers_)
        return np.ones((count, 1)) if truth is None else apart(model, truth)

    def score(model: SparseNetwork) -> tuple[float, float]:
        return said_of(model, rows, unseen), independent(unseen, rates_of(rows))

    return Case(
        lambda refine: SparseNetwork(refine=refine, **options),
        lambda model: model.fit(rows),
        None if nothing else distances,
        score if new and options.get("input_type") != "real" else None,
        1.0,
    )


def apart(model: SparseNetwork, truth: Sequence[Table]) -> np.ndarray:
    """Distances of all units, of all layers, to all true ones; 1 between layers."""
    found = np.ones((sum(layer.shape[0] for layer in model.layers_), sum(len(layer) for layer in truth)))
    row = column = 0
    named: np.ndarray | None = None
    for layer, true in zip(model.layers_, truth, strict=False):
        own = (layer.toarray() > 0).astype(float)
        sizes = own.sum(axis=1)
        if named is not None:
            own = np.minimum(own @ named, 1)  # edges to units that are nobody's count, but are never shared
        shared = own @ true.T
        near = 1 - shared / np.maximum(sizes[:, None] + true.sum(axis=1) - shared, 1)
        found[row : row + len(near), column : column + len(true)] = near
        row, column = row + len(near), column + len(true)
        named = np.zeros(near.shape)
        if near.size:
            mine = np.flatnonzero(near.min(axis=1) < _HALF)
            named[mine, near[mine].argmin(axis=1)] = 1
    return found


def rates_of(rows: Table) -> np.ndarray:
    return (rows.sum(axis=0) + 0.5) / (len(rows) + 1)


def independent(rows: Table, rates: np.ndarray) -> float:
    """Log-likelihood a row."""
    bits = rows.astype(float)
    return float((bits @ np.log(rates) + (1 - bits) @ np.log1p(-rates)).mean())


def said_of(model: SparseNetwork, rows: Table, unseen: Table) -> float:
    """Log-likelihood of a new row and its code, with the rates of ones, by column, where decoding says off, and where on."""
    if not model.layers_[0].shape[0]:
        return independent(unseen, rates_of(rows))
    codes = model.encode(rows, layer=1)
    said = model.decode(codes, layer=1).toarray().astype(bool)
    off = ((rows & ~said).sum(axis=0) + 0.5) / ((~said).sum(axis=0) + 1)
    on = float((rows & said).sum() + 0.5) / float(said.sum() + 1)
    new = model.encode(unseen, layer=1)
    rates = np.where(model.decode(new, layer=1).toarray(), on, off)
    bits = float(np.where(unseen, np.log(rates), np.log1p(-rates)).sum(axis=1).mean())
    return bits + independent(new.toarray(), rates_of(codes.toarray()))


# --- hidden units ---------------------------------------------------------------------------------------------------


def bernoulli(rng: Rng, p: int, m: int, rho: float) -> Table:
    return rng.random((p, m)) < rho


def uneven(fold: float) -> Hidden:
    """Each by itself; the most frequent one ``fold`` times as often as the least."""
    return lambda rng, p, m, rho: rng.random((p, m)) < m * rho * spread_shares(m, fold)


def in_pairs(chance: float) -> Hidden:
    """Where the first of two units is on, the second is too with this chance."""

    def hidden(rng: Rng, p: int, m: int, rho: float) -> Table:
        first = rng.random((p, m // 2)) < rho
        second = np.where(rng.random(first.shape) < chance, first, rng.random(first.shape) < rho)
        return np.hstack([first, second])

    return hidden


def in_moods(count: int, share: float) -> Hidden:
    """Each row is of one of some groups of units, and only these may be on."""

    def hidden(rng: Rng, p: int, m: int, rho: float) -> Table:
        own = rng.random((count, m)) < share
        return own[rng.integers(0, count, p)] & (rng.random((p, m)) < rho / share)

    return hidden


def crowded_rows(rng: Rng, p: int, m: int, rho: float) -> Table:
    """Rows of few units and rows of many."""
    return rng.random((p, m)) < rho * rng.gamma(1.0, 1.0, (p, 1))


def exactly_one(rng: Rng, p: int, m: int, rho: float) -> Table:
    return np.eye(m, dtype=bool)[rng.integers(0, m, p)]


def staying(stay: float) -> Hidden:
    """Each unit keeps its state from row to row with this chance."""

    def hidden(rng: Rng, p: int, m: int, rho: float) -> Table:
        shares = np.array([1 - rho, rho])
        return np.column_stack([labels_of(rng, p, shares, stay) for _ in range(m)]) == 1

    return hidden


# --- edges ----------------------------------------------------------------------------------------------------------


def random_edges(rng: Rng, m: int, n: int, size: float, negative: bool) -> Table:
    """Weights 1 and, if so, -1: ``size`` of either a unit, about."""
    draws, chance = rng.random((m, n)), size / n
    G = (draws < chance).astype(int)
    return G - ((draws >= chance) & (draws < 2 * chance)) if negative else G


def equal_edges(rng: Rng, m: int, n: int, size: float, negative: bool) -> Table:
    """Exactly as many positive ones a unit."""
    order = rng.random((m, n)).argsort(axis=1).argsort(axis=1)
    return (order < size).astype(int) - (((order >= size) & (order < 2 * size)) if negative else 0)


def uneven_edges(rng: Rng, m: int, n: int, size: float, negative: bool) -> Table:
    """The largest unit with nine times the columns of the smallest."""
    sizes = size * m * spread_shares(m, 9)
    draws = rng.random((m, n))
    G = (draws < sizes[:, None] / n).astype(int)
    return G - ((G == 0) & (draws < 2 * sizes[:, None] / n)) if negative else G


def nested_edges(rng: Rng, m: int, n: int, size: float, negative: bool) -> Table:
    """Every second unit has half of the columns of the one before."""
    G = equal_edges(rng, m, n, size, negative)
    G[1::2] = G[: len(G) // 2 * 2 : 2] * (rng.random((m // 2, n)) < 0.5)
    return G


def next_to_each_other(rng: Rng, m: int, n: int, size: float, negative: bool) -> Table:
    """Bands: unit i has the columns around i n / m, which overlap with its neighbours'."""
    distance = np.abs(np.arange(n) - np.arange(m)[:, None] * n / m)
    return (np.minimum(distance, n - distance) < size / 2).astype(int)


# --- columns --------------------------------------------------------------------------------------------------------


def threshold(rng: Rng, H: Table, G: Table) -> Table:
    return H.astype(np.float32) @ G.astype(np.float32) > 0


def flipped(chance: float) -> Emit:
    return lambda rng, H, G: threshold(rng, H, G) ^ (rng.random((len(H), G.shape[1])) < chance)


def noisy_or(failure: float) -> Emit:
    """Each positive edge fails by itself."""

    def emit(rng: Rng, H: Table, G: Table) -> Table:
        return rng.random((len(H), G.shape[1])) < 1 - failure ** (H.astype(np.float32) @ (G > 0).astype(np.float32))

    return emit


def unequal(spread: float) -> Emit:
    """Edges of weights in place of 1 and -1, above half."""

    def emit(rng: Rng, H: Table, G: Table) -> Table:
        return H.astype(float) @ (G * rng.lognormal(0, spread, G.shape)) > 0.5

    return emit


def two_needed(rng: Rng, H: Table, G: Table) -> Table:
    """A column is on where two of its parents are."""
    return H.astype(np.float32) @ G.astype(np.float32) > 1


def parity(rng: Rng, H: Table, G: Table) -> Table:
    return (H.astype(np.float32) @ np.abs(G).astype(np.float32)) % 2 == 1


def with_background(rate: float, fold: float) -> Emit:
    """Columns are also on by themselves, some far more often than others."""

    def emit(rng: Rng, H: Table, G: Table) -> Table:
        n = G.shape[1]
        rates = rng.permutation(np.minimum(n * rate * spread_shares(n, fold), 0.9))
        return threshold(rng, H, G) | (rng.random((len(H), n)) < rates)

    return emit


def lost_rows(rng: Rng, H: Table, G: Table) -> Table:
    """Ones are missing, in some rows most of them."""
    return threshold(rng, H, G) & (rng.random((len(H), G.shape[1])) < rng.uniform(0.3, 1, (len(H), 1)))


# --- worlds with units ----------------------------------------------------------------------------------------------


def network(
    p: int = 2500,
    n: int = 300,
    m: int = 60,
    size: float = 20,
    rho: float = 0.025,
    *,
    hidden: Hidden = bernoulli,
    edges: Callable[[Rng, int, int, float, bool], Table] = random_edges,
    emit: Emit = threshold,
    negative: bool = True,
    times: int = 1,
    shuffled: bool = True,
    defined: bool = True,
    n_layers: int = 1,
    together: bool = False,
) -> Draw:
    """p rows of n columns; m units of ``size`` positive columns, each on in a share rho; ``times`` copies of every row.

    ``together``: the second half of the units is on where the first is, so that two are one.
    """

    def make(rng: Rng) -> Case:
        G = edges(rng, m, n, size, negative)
        kept = p - p % times

        def draw(rng: Rng, many: int) -> Table:
            Y = emit(rng, hidden(rng, many if times == 1 else kept // times + _NEW, m, rho), G)
            if times == 1:
                return Y
            return np.vstack([Y[:-_NEW][copies(rng, kept, times, shuffled)], Y[-_NEW:]])

        true = G[: m // 2] + G[m // 2 :] if together else G
        return case(rng, draw, kept, [true > 0] if defined else None, n_layers=n_layers)

    return make


def real(
    p: int, n: int, m: int, size: float, rho: float, noise: float, *, weights: float = 0.0, heavy: bool = False
) -> Draw:
    """Sums of edges and noise; ``weights`` is the spread of their logarithms."""

    def make(rng: Rng) -> Case:
        G = random_edges(rng, m, n, size, True)
        of_edges = G * rng.lognormal(0, weights, G.shape)

        def draw(rng: Rng, many: int) -> Table:
            z = rng.standard_t(3, (many, n)) / np.sqrt(3) if heavy else rng.standard_normal((many, n))
            return bernoulli(rng, many, m, rho) @ of_edges + noise * z

        return case(rng, draw, p, [G > 0], input_type="real")

    return make


def deeper(
    p: int,
    sizes: tuple[int, int, int],
    lower: float,
    upper: float,
    rho: float,
    flips: float = 0.0,
    layers: int = 2,
) -> Draw:
    """Two hidden layers; columns of the units of either, and what is asked for."""

    def make(rng: Rng) -> Case:
        n, m, top = sizes
        first = random_edges(rng, m, n, lower, True)
        second = random_edges(rng, top, m, upper, True)

        def draw(rng: Rng, many: int) -> Table:
            return flipped(flips)(rng, threshold(rng, bernoulli(rng, many, top, rho), second), first)

        return case(rng, draw, p, [first > 0, second > 0], n_layers=layers)

    return make


# --- worlds without -------------------------------------------------------------------------------------------------


def without(draw: Rows, p: int = 2500, nothing: bool = False, **options: Any) -> Draw:
    return lambda rng: case(rng, draw, p, None, nothing, **options)


def topics(n: int, k: int, length: int, alpha: float) -> Rows:
    """Words that occur in documents of some topics."""

    def draw(rng: Rng, p: int) -> Table:
        words = rng.dirichlet(np.full(n, 0.05), k)
        shares = rng.dirichlet(np.full(k, alpha), p) @ words
        return rng.random((p, n)) < -np.expm1(-length * shares)

    return draw


def magnets(n: int, coupling: float, field: float) -> Rows:
    """A chain of spins, neighbours alike: columns on a line."""

    def draw(rng: Rng, p: int) -> Table:
        Y = np.zeros((p, n), bool)
        rate = field
        Y[:, 0] = rng.random(p) < rate
        for j in range(1, n):
            Y[:, j] = np.where(rng.random(p) < coupling, Y[:, j - 1], rng.random(p) < rate)
        return Y

    return draw


def windows(n: int, width: float, count: int, spread: float = 0.0) -> Rows:
    """Stretches of a circle of columns that begin anywhere."""

    def draw(rng: Rng, p: int) -> Table:
        Y = np.zeros((p, n), bool)
        for _ in range(count):
            distance = np.abs(np.arange(n) - rng.uniform(0, n, (p, 1)))
            Y |= np.minimum(distance, n - distance) < width / 2 * rng.lognormal(0, spread, (p, 1))
        return Y

    return draw


def above(n: int, k: int, limit: float, own: float) -> Rows:
    """Gaussian factors in all columns, and noise, cut at a limit."""

    def draw(rng: Rng, p: int) -> Table:
        loadings = rng.standard_normal((k, n)) / np.sqrt(k)
        return rng.standard_normal((p, k)) @ loadings + own * rng.standard_normal((p, n)) > limit * np.sqrt(1 + own**2)

    return draw


def scales(n: int, limit: float) -> Rows:
    """Columns as thresholds of one number, as in tests from easy to hard."""

    def draw(rng: Rng, p: int) -> Table:
        level = rng.standard_normal((p, 1))
        return level + 0.7 * rng.standard_normal((p, n)) > np.linspace(0, limit, n)

    return draw


def slow_columns(n: int, rho: float, limit: float) -> Rows:
    """Time series that have nothing to do with each other."""
    return lambda rng, p: remembering(rng, p, n, rho) > limit


def fields(n: int, radius: float) -> Rows:
    """Bits of columns on a square: those near each other are alike."""

    def draw(rng: Rng, p: int) -> Table:
        places = rng.random((n, 2))
        squared = ((places[:, None] - places) ** 2).sum(axis=2)
        root = np.linalg.cholesky(np.exp(-squared / (2 * radius**2)) + 1e-6 * np.eye(n))
        return rng.standard_normal((p, n)) @ root.T > 1.5

    return draw


def answers(questions: int, choices: int) -> Rows:
    """Indicators of columns with categories: one on in each group."""

    def draw(rng: Rng, p: int) -> Table:
        picked = rng.integers(0, choices, (p, questions))
        return (picked[:, :, None] == np.arange(choices)).reshape(p, -1)

    return draw


def gaussian_factors(n: int, k: int) -> Rows:
    """Numbers, and no bits behind them."""
    return lambda rng, p: rng.standard_normal((p, k)) @ rng.standard_normal((k, n)) + 0.5 * rng.standard_normal((p, n))


def blocks_of(n: int, size: int, limit: float, own: float) -> Draw:
    """Blocks of columns with a Gaussian number each, cut at a limit: the blocks are right."""

    def make(rng: Rng) -> Case:
        truth = np.repeat(np.eye(n // size, dtype=bool), size, axis=1)

        def draw(rng: Rng, p: int) -> Table:
            common = np.repeat(rng.standard_normal((p, n // size)), size, axis=1)
            return common + own * rng.standard_normal((p, n)) > limit * np.sqrt(1 + own**2)

        return case(rng, draw, 2500, [truth])

    return make


def clusters(p: int, n: int, k: int, high: float, low: float) -> Draw:
    """Rows of one cluster each; its columns, thirty a cluster, are on often, and the others hardly."""

    def make(rng: Rng) -> Case:
        own = rng.random((k, n)) < 30 / n

        def draw(rng: Rng, many: int) -> Table:
            return rng.random((many, n)) < np.where(own[rng.integers(0, k, many)], high, low)

        return case(rng, draw, p, [own])

    return make


def profiles(n: int, k: int) -> Rows:
    """Clusters with a rate of their own in every column."""

    def draw(rng: Rng, p: int) -> Table:
        rates = rng.beta(0.5, 4, (k, n))
        return rng.random((p, n)) < rates[rng.integers(0, k, p)]

    return draw


# --- nothing --------------------------------------------------------------------------------------------------------


def bits(n: int, rate: float, fold: float = 1.0) -> Rows:
    return lambda rng, p: rng.random((p, n)) < np.minimum(n * rate * spread_shares(n, fold), 0.95)


def copied_bits(rng: Rng, p: int) -> Table:
    return bits(100, 0.1)(rng, p // 10)[copies(rng, p, 10)]


def constant(value: bool) -> Rows:
    return lambda rng, p: np.full((p, 60), value)


def permuted(rng: Rng, p: int) -> Table:
    """A network, each column with its own order of rows."""
    Y = threshold(rng, bernoulli(rng, p, 60, 0.025), random_edges(rng, 60, 300, 20, False))
    return rng.permuted(Y, axis=0)


WORLDS = worlds(
    "SparseNetwork",
    right={
        "plenty": network(),
        "plenty, no negative edges": network(negative=False),
        "rho d .05": network(2500, rho=0.0125),
        "rho d .2": network(2000, rho=0.05),
        "rho d .3": network(1500, rho=0.075),
        "rho d .5": network(1200, 200, 40, rho=0.125),
        "rho d 1": network(1200, n=200, size=13, rho=0.25),
        "rho d .5, no negative edges": network(1200, 200, 40, rho=0.125, negative=False),
        "100 rows": network(100),
        "200 rows": network(200),
        "400 rows": network(400),
        "800 rows": network(800),
        "800 rows, no negative edges": network(800, negative=False),
        "400 rows, flips": network(400, emit=flipped(0.01)),
        "200 rows, larger rho": network(200, rho=0.06),
        "many rows": network(6000, n=200, m=40),
        "400 columns, 100 units": network(2500, 400, 100, 20, 0.02),
        "50 columns, 8 units": network(1500, 50, 8, 10, 0.05),
        "30 columns, 10 units": network(1000, 30, 10, 6, 0.06),
        "flips of .3%": network(emit=flipped(0.003)),
        "flips of 1%": network(emit=flipped(0.01)),
        "flips of 2%": network(emit=flipped(0.02)),
        "flips of 5%": network(emit=flipped(0.05)),
        "flips of 5%, 800 rows": network(800, emit=flipped(0.05)),
        "four columns a unit": network(2500, size=4, edges=equal_edges),
        "five columns a unit": network(1500, size=5, edges=equal_edges),
        "six columns a unit": network(1500, size=6, negative=False),
        "eight columns, flips": network(1500, size=8, emit=flipped(0.01)),
        "forty columns a unit": network(1000, n=400, m=40, size=40),
        "units of all sizes": network(2000, size=20, edges=uneven_edges),
        "rates tenfold": network(1500, hidden=uneven(10)),
        "rates thirtyfold, few rows": network(900, hidden=uneven(30)),
        "more units than columns": network(2500, 60, 80, 8, 0.01),
        "real": real(1000, 100, 40, 12, 0.05, 0.1),
        "real, noise .5": real(1000, 100, 40, 12, 0.05, 0.5),
        "real, few rows": real(300, 80, 30, 10, 0.06, 0.3),
        "two layers": deeper(2500, (300, 40, 200), 24, 3, 0.003),
        "two layers, flips": deeper(2500, (300, 40, 200), 24, 3, 0.003, 0.003),
        "two layers, few rows": deeper(1000, (300, 40, 200), 24, 3, 0.003),
    },
    wrong={
        "edges fail, .1": network(emit=noisy_or(0.1)),
        "edges fail, .3": network(emit=noisy_or(0.3)),
        "edges fail, .3, few rows": network(600, emit=noisy_or(0.3)),
        "edges fail, .6": network(2500, emit=noisy_or(0.6)),
        "rows fail": network(emit=lost_rows),
        "clusters": clusters(2500, 200, 15, 0.8, 0.02),
        "clusters, certain": clusters(1500, 200, 12, 0.97, 0.005),
        "clusters, faint": clusters(2000, 200, 8, 0.5, 0.05),
        "profiles": without(profiles(100, 8)),
        "profiles, many": without(profiles(200, 30), 2000),
        "topics": without(topics(300, 10, 30, 0.1), 2000),
        "topics, mixed": without(topics(300, 20, 60, 0.5), 2000),
        "topics, long": without(topics(200, 6, 150, 0.2), 1500),
        "chain of spins": without(magnets(100, 0.7, 0.1)),
        "chain of spins, close": without(magnets(100, 0.95, 0.05)),
        "windows": without(windows(150, 12, 1)),
        "three windows": without(windows(200, 10, 3)),
        "windows of all widths": without(windows(150, 12, 2, 0.5)),
        "fields": without(fields(120, 0.1), 2000),
        "factors": without(above(150, 4, 1.5, 0.5)),
        "ten factors": without(above(150, 10, 1.5, 1.0)),
        "factors, rare": without(above(150, 6, 2.3, 0.3)),
        "scale": without(scales(80, 2.5)),
        "answers": without(answers(30, 5)),
        "blocks of a number": blocks_of(120, 10, 1.3, 0.5),
        "blocks of a number, noise": blocks_of(120, 12, 1.6, 1.0),
        "unequal weights": network(emit=unequal(0.5)),
        "unequal weights, far": network(emit=unequal(1.2)),
        "two parents needed": network(2500, rho=0.1, emit=two_needed, negative=False, defined=False),
        "parity": network(2000, rho=0.1, emit=parity),
        "pairs of units": network(hidden=in_pairs(0.5)),
        "pairs of units, close": network(hidden=in_pairs(0.9)),
        "pairs of units, always": network(hidden=in_pairs(1.0), together=True),
        "units of a mood": network(hidden=in_moods(6, 0.3)),
        "units of a narrow mood": network(hidden=in_moods(12, 0.1)),
        "full and empty rows": network(hidden=crowded_rows),
        "one unit a row": network(1500, hidden=exactly_one),
        "units in units": network(edges=nested_edges, negative=False),
        "bands": network(2500, 300, 60, 20, 0.025, edges=next_to_each_other, negative=False),
        "bands, close": network(2500, 200, 100, 12, 0.02, edges=next_to_each_other, negative=False),
        "background": network(emit=with_background(0.05, 1)),
        "background, uneven": network(emit=with_background(0.05, 100)),
        "time series": network(hidden=staying(0.9)),
        "time series, slow": network(hidden=staying(0.98)),
        "columns of time series": without(slow_columns(100, 0.99, 1.5)),
        "copied rows": network(2000, times=10),
        "copied rows, neighbours": network(2000, times=10, shuffled=False),
        "copied rows, flips": network(2000, emit=flipped(0.02), times=5),
        "copied bits": without(copied_bits, new=0),
        "two layers, one asked for": deeper(2500, (300, 40, 200), 24, 3, 0.003, layers=1),
        "two crowded layers": deeper(1200, (300, 60, 24), 20, 10, 0.02),
        "one layer, two asked for": network(n_layers=2),
        "real, unequal weights": real(1000, 100, 40, 12, 0.05, 0.2, weights=0.5),
        "real, heavy tails": real(1000, 100, 40, 12, 0.05, 0.5, heavy=True),
        "real, factors": without(gaussian_factors(80, 6), 1000, input_type="real", new=0),
    },
    empty={
        "independent bits": without(bits(150, 0.05), nothing=True),
        "half of the bits": without(bits(60, 0.5), 1000, nothing=True),
        "rare bits": without(bits(300, 0.01), nothing=True),
        "unequal rates": without(bits(150, 0.06, 300), nothing=True),
        "unequal rates, far": without(bits(200, 0.1, 10_000), 1500, nothing=True),
        "permuted columns": without(permuted, nothing=True),
        "all off": without(constant(False), 300, nothing=True),
        "all on": without(constant(True), 300, nothing=True),
        "twenty rows": without(bits(100, 0.05), 20, nothing=True),
        "one row": without(bits(50, 0.2), 1, nothing=True),
        "three columns": without(bits(3, 0.3), 500, nothing=True),
        "a few constant columns": without(lambda rng, p: bits(80, 0.1)(rng, p) | (np.arange(80) < 5), nothing=True),
        "white noise": without(lambda rng, p: rng.standard_normal((p, 60)), 800, True, input_type="real", new=0),
    },
)
