"""Rows of few atoms each, for `IncoherentDictionary`.

The true error is the l2 distance of a fitted atom to the nearest true one up to sign, of a possible 1.41. Where rows are no
combinations of atoms there is nothing right to find, and every atom is 1.41 off; so it is where any basis of a subspace would
do as well, and where atoms are positions on a line or a circle.

Noise is relative: its standard deviation over that of what the atoms give, both of an entry.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from latentia.dictionary import IncoherentDictionary

from .world import Case, Draw, Rng, copies, labels_of, remembering, spread_shares, worlds

Rows = Callable[[Rng, int], np.ndarray]
Supports = Callable[[Rng, int, int, int], np.ndarray]  # (rng, p, m, k): booleans (p, m)
_MOST = float(np.sqrt(2))
_NEW = 1000


def case(
    rng: Rng, draw: Rows, p: int, asked: int, truth: np.ndarray | None, nothing: bool = False, **told: Any
) -> Case:
    """``truth`` are atoms in rows; without them every atom is 1.41 off, or in ``nothing`` has no error at all."""
    both = draw(rng, p + _NEW) if p > 0 else draw(rng, p)
    rows, new = both[:p], both[p:]

    def distances(model: IncoherentDictionary) -> np.ndarray:
        if truth is None:
            return np.full((len(model.components_), 1), _MOST)
        apart = [[np.linalg.norm(truth - sign * atom, axis=1) for sign in (1, -1)] for atom in model.components_]
        return np.asarray(apart).min(axis=1)

    def score(model: IncoherentDictionary) -> tuple[float, float]:
        """Minus what the codes leave of new rows, and what as many principal directions leave."""
        k = min(model.sparsity_, rows.shape[1])
        directions = np.linalg.svd(rows.T @ rows)[0][:, :k]
        left = new - new @ directions @ directions.T
        return model.score(new), -float((left**2).sum(axis=1).mean())

    return Case(
        lambda refine: IncoherentDictionary(asked, refine=refine, **told),
        lambda model: model.fit(rows),
        None if nothing else distances,
        score if len(new) else None,
        _MOST,
    )


# --- atoms ----------------------------------------------------------------------------------------------------------


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def gaussian_atoms(rng: Rng, m: int, n: int) -> np.ndarray:
    return unit(rng.standard_normal((m, n)))


def orthogonal(rng: Rng, m: int, n: int) -> np.ndarray:
    return np.linalg.qr(rng.standard_normal((n, n)))[0][:m]


def spikes_and_waves(rng: Rng, m: int, n: int) -> np.ndarray:
    """Two bases, m = 2 n: single features and a rotation."""
    return np.vstack([np.eye(n), orthogonal(rng, n, n)])[:m]


def alike(share: float, size: int) -> Callable[[Rng, int, int], np.ndarray]:
    """Atoms in groups of a size, any two of a group with about this cosine."""

    def atoms(rng: Rng, m: int, n: int) -> np.ndarray:
        common = np.repeat(gaussian_atoms(rng, -(-m // size), n), size, axis=0)[:m]
        return unit(np.sqrt(share) * common + np.sqrt(1 - share) * gaussian_atoms(rng, m, n))

    return atoms


def in_other_units(rng: Rng, m: int, n: int) -> np.ndarray:
    """Features in units of which the largest is ten times the smallest, so that atoms share directions."""
    return unit(rng.standard_normal((m, n)) * rng.permutation(np.geomspace(10, 1, n)))


def bumps(rng: Rng, m: int, n: int) -> np.ndarray:
    """The same bump at m places of a circle of n features."""
    places = np.arange(m) * n / m
    apart = np.abs(np.arange(n) - places[:, None])
    return unit(np.exp(-0.5 * (np.minimum(apart, n - apart) / 1.5) ** 2))


# --- supports -------------------------------------------------------------------------------------------------------


def uneven(fold: float) -> Supports:
    """k atoms a row; the most used one is in ``fold`` times as many rows, about, as the least used one."""

    def supports(rng: Rng, p: int, m: int, k: int) -> np.ndarray:
        chances = np.log(spread_shares(m, fold)) + rng.gumbel(size=(p, m))
        return chances >= np.partition(chances, m - k, axis=1)[:, [m - k]]

    return supports


def bernoulli(rng: Rng, p: int, m: int, k: int) -> np.ndarray:
    """Each atom by itself, k a row on average."""
    return rng.random((p, m)) < k / m


def from_one(rng: Rng, p: int, m: int, k: int) -> np.ndarray:
    """From one atom a row to 2 k - 1."""
    chances = rng.random((p, m))
    order = chances.argsort(axis=1).argsort(axis=1)
    return order < rng.integers(1, 2 * k, (p, 1))


def in_groups(size: int) -> Supports:
    """Atoms of a group are always used together."""

    def supports(rng: Rng, p: int, m: int, k: int) -> np.ndarray:
        groups = uneven(1)(rng, p, m // size, max(1, k // size))
        return np.repeat(groups, size, axis=1)

    return supports


def with_a_leader(rng: Rng, p: int, m: int, k: int) -> np.ndarray:
    """The second half of the atoms only where their leaders of the first half are used: two rows in three."""
    first = uneven(1)(rng, p, m // 2, max(1, k // 2))
    return np.hstack([first, first & (rng.random(first.shape) < 2 / 3)])


def of_topics(rng: Rng, p: int, m: int, k: int) -> np.ndarray:
    """Rows of six topics, each with half of the atoms."""
    own = rng.random((6, m)) < 0.5
    chances = np.where(own[rng.integers(0, 6, p)], 0.0, -8.0) + rng.gumbel(size=(p, m))
    return chances >= np.partition(chances, m - k, axis=1)[:, [m - k]]


def staying(stay: float) -> Supports:
    """Each of the k atoms of a row stays in the next row with this chance."""

    def supports(rng: Rng, p: int, m: int, k: int) -> np.ndarray:
        table = np.zeros((p, m), bool)
        for _ in range(k):
            table[np.arange(p), labels_of(rng, p, spread_shares(m), stay)] = True
        return table

    return supports


# --- coefficients ---------------------------------------------------------------------------------------------------


def signs(rng: Rng, p: int, m: int) -> np.ndarray:
    return rng.choice([-1.0, 1.0], (p, m))


def uniform(rng: Rng, p: int, m: int) -> np.ndarray:
    return signs(rng, p, m) * rng.uniform(1, 2, (p, m))


def normal(rng: Rng, p: int, m: int) -> np.ndarray:
    return rng.standard_normal((p, m))


def positive(rng: Rng, p: int, m: int) -> np.ndarray:
    return rng.uniform(0.5, 1.5, (p, m))


def laplace(rng: Rng, p: int, m: int) -> np.ndarray:
    return rng.laplace(size=(p, m))


def slow(rng: Rng, p: int, m: int) -> np.ndarray:
    return remembering(rng, p, m, 0.98)


def everywhere(rng: Rng, p: int, m: int, k: int) -> np.ndarray:
    return np.ones((p, m), bool)


# --- noise, and what else happens to rows ---------------------------------------------------------------------------


def white(rng: Rng, p: int, n: int) -> np.ndarray:
    return rng.standard_normal((p, n))


def heavy(degrees: float) -> Callable[[Rng, int, int], np.ndarray]:
    def noise(rng: Rng, p: int, n: int) -> np.ndarray:
        return rng.standard_t(degrees, (p, n)) / np.sqrt(3)

    return noise


def in_some_directions(count: int) -> Callable[[Rng, int, int], np.ndarray]:
    """Noise of a few directions, the same for all rows."""

    def noise(rng: Rng, p: int, n: int) -> np.ndarray:
        directions = orthogonal(rng, count, n)
        return rng.standard_normal((p, count)) @ directions * np.sqrt(n / count)

    return noise


def loud_in_some_rows(rng: Rng, p: int, n: int) -> np.ndarray:
    return rng.standard_normal((p, n)) * rng.lognormal(0, 1, (p, 1)) / np.e


def of_some_features(rng: Rng, p: int, n: int) -> np.ndarray:
    """Ten times as loud in some features as in others."""
    size = np.geomspace(10, 1, n)
    return rng.standard_normal((p, n)) * size / np.sqrt((size**2).mean())


After = Callable[[Rng, np.ndarray], np.ndarray]


def rows_of_all_sizes(rng: Rng, X: np.ndarray) -> np.ndarray:
    return X * rng.lognormal(0, 1, (len(X), 1))


def offset(size: float) -> After:
    """The same row added to all, of this size relative to them."""

    def after(rng: Rng, X: np.ndarray) -> np.ndarray:
        row = rng.standard_normal(X.shape[1])
        return X + size * X.std() * row

    return after


def background(rng: Rng, X: np.ndarray) -> np.ndarray:
    """Four directions with a coefficient in every row, half of the rows' energy."""
    directions = orthogonal(rng, 4, X.shape[1])
    return X + rng.standard_normal((len(X), 4)) @ directions * np.sqrt(X.shape[1] / 4) * X.std()


def outliers(rng: Rng, X: np.ndarray) -> np.ndarray:
    """One row in a hundred is loud in a direction of its own."""
    out = rng.random(len(X)) < 0.01
    X[out] += 10 * X.std() * rng.standard_normal((int(out.sum()), X.shape[1]))
    return X


def coarse(rng: Rng, X: np.ndarray) -> np.ndarray:
    return np.sign(X)


def saturated(rng: Rng, X: np.ndarray) -> np.ndarray:
    return np.tanh(1.5 * X / X.std())


def filled(rng: Rng, X: np.ndarray) -> np.ndarray:
    """A fifth of the entries is missing, and filled with zeros."""
    return np.where(rng.random(X.shape) < 0.2, 0.0, X)


# --- worlds with atoms ----------------------------------------------------------------------------------------------


def codes(
    p: int = 4000,
    n: int = 64,
    m: int = 96,
    k: int = 3,
    noise: float = 0.0,
    *,
    atoms: Callable[[Rng, int, int], np.ndarray] = gaussian_atoms,
    supports: Supports | None = None,
    values: Callable[[Rng, int, int], np.ndarray] = uniform,
    kind: Callable[[Rng, int, int], np.ndarray] = white,
    after: After | None = None,
    asked: int | None = None,
    told: int | None = None,
    times: int = 1,
    shuffled: bool = True,
    defined: bool = True,
) -> Draw:
    """p rows of n features, of k of m atoms each; ``after`` changes the rows, and ``times`` copies them."""

    def make(rng: Rng) -> Case:
        D = atoms(rng, m, n)

        def draw(rng: Rng, p: int) -> np.ndarray:
            many = p if times == 1 else (p - _NEW) // times + _NEW
            C = np.where((supports or uneven(1))(rng, many, m, k), values(rng, many, m), 0.0)
            X = C @ D
            X = X + noise * X.std() * kind(rng, many, n)
            X = after(rng, X) if after else X
            if times == 1:
                return X
            return np.vstack([X[:-_NEW][copies(rng, p - _NEW, times, shuffled)], X[-_NEW:]])

        return case(rng, draw, p - p % times, asked or m, D if defined else None, sparsity=told)

    return make


def two_dictionaries(p: int, n: int, m: int, k: int) -> Draw:
    """The atoms turn into others over time, to a cosine of .8."""

    def make(rng: Rng) -> Case:
        first = gaussian_atoms(rng, m, n)
        second = unit(0.8 * first + 0.6 * gaussian_atoms(rng, m, n))

        def draw(rng: Rng, p: int) -> np.ndarray:
            C = np.where(uneven(1)(rng, p, m, k), uniform(rng, p, m), 0.0)
            share = np.linspace(0, 1, p)[:, None]
            return (1 - share) * (C @ first) + share * (C @ second)

        return case(rng, draw, p, m, first, sparsity=k)

    return make


def clusters(p: int, n: int, m: int, scatter: float, size: float = 0.0) -> Draw:
    """Gaussian clusters about m centres that are ``size`` off the origin together: atoms are directions of the centres."""

    def make(rng: Rng) -> Case:
        centres = rng.standard_normal((m, n)) + size * rng.standard_normal(n)

        def draw(rng: Rng, p: int) -> np.ndarray:
            return centres[rng.integers(0, m, p)] + scatter * rng.standard_normal((p, n))

        return case(rng, draw, p, m, unit(centres))

    return make


# --- worlds without -------------------------------------------------------------------------------------------------


def without(draw: Rows, p: int = 4000, asked: int = 60, told: int | None = None, nothing: bool = False) -> Draw:
    return lambda rng: case(rng, draw, p, asked, None, nothing, sparsity=told)


def subspaces(n: int, count: int, d: int) -> Rows:
    """Each row lies in one of some subspaces, of which any basis would do."""

    def draw(rng: Rng, p: int) -> np.ndarray:
        bases = np.array([orthogonal(rng, d, n) for _ in range(count)])
        return np.einsum("pd,pdn->pn", rng.standard_normal((p, d)), bases[rng.integers(0, count, p)])

    return draw


def covariance(n: int, decay: float) -> Rows:
    """Gaussian, with variances that fall by a power."""

    def draw(rng: Rng, p: int) -> np.ndarray:
        return rng.standard_normal((p, n)) * np.arange(1, n + 1) ** (-decay / 2) @ orthogonal(rng, n, n)

    return draw


def factors(n: int, count: int, noise: float) -> Rows:
    """As many Gaussian factors as there are, in every row."""

    def draw(rng: Rng, p: int) -> np.ndarray:
        X = rng.standard_normal((p, count)) @ gaussian_atoms(rng, count, n)
        return X + noise * X.std() * rng.standard_normal((p, n))

    return draw


def gaussian_clusters(n: int, count: int) -> Rows:
    """Clusters with covariances and centres of their own, off the origin together."""

    def draw(rng: Rng, p: int) -> np.ndarray:
        centres = rng.standard_normal((count, n)) + 0.5 * rng.standard_normal(n)
        shapes = rng.standard_normal((count, n, n)) / np.sqrt(n)
        labels = rng.integers(0, count, p)
        return centres[labels] + np.einsum("pn,pnd->pd", rng.standard_normal((p, n)), shapes[labels])

    return draw


def waves(n: int, power: float) -> Rows:
    """Signals as smooth as patches of images, alike at every place."""

    def draw(rng: Rng, p: int) -> np.ndarray:
        f = np.arange(1, n)
        parts = (rng.standard_normal((p, n - 1)) + 1j * rng.standard_normal((p, n - 1))) * f ** (-power)
        X = np.fft.irfft(parts, 2 * n, axis=1)[:, :n]
        return X - X.mean(axis=1, keepdims=True)

    return draw


def steps(n: int, k: int) -> Rows:
    """Piecewise constant, with k steps anywhere."""

    def draw(rng: Rng, p: int) -> np.ndarray:
        X = np.zeros((p, n))
        for _ in range(k):
            X += (np.arange(n) >= rng.uniform(0, n, (p, 1))) * rng.standard_normal((p, 1))
        return X - X.mean(axis=1, keepdims=True)

    return draw


def on_a_circle(n: int, k: int, width: float, noise: float = 0.0) -> Rows:
    """k bumps at any places of a circle."""

    def draw(rng: Rng, p: int) -> np.ndarray:
        X = np.zeros((p, n))
        for _ in range(k):
            apart = np.abs(np.arange(n) - rng.uniform(0, n, (p, 1)))
            X += np.exp(-0.5 * (np.minimum(apart, n - apart) / width) ** 2) * uniform(rng, p, 1)
        return X + noise * X.std() * rng.standard_normal((p, n))

    return draw


def tones(n: int, k: int) -> Rows:
    """k sines of any frequency and phase."""

    def draw(rng: Rng, p: int) -> np.ndarray:
        X = np.zeros((p, n))
        for _ in range(k):
            X += uniform(rng, p, 1) * np.sin(
                np.arange(n) * rng.uniform(0.1, np.pi, (p, 1)) + rng.uniform(0, 2 * np.pi, (p, 1))
            )
        return X

    return draw


def elliptical(n: int, degrees: float) -> Rows:
    """Heavy tails, alike in all directions."""

    def draw(rng: Rng, p: int) -> np.ndarray:
        return rng.standard_normal((p, n)) / np.sqrt(rng.chisquare(degrees, (p, 1)) / degrees)

    return draw


def permuted(rng: Rng, p: int) -> np.ndarray:
    """Sparse codes, each feature with its own order of rows."""
    n = 64
    C = np.where(uneven(1)(rng, p, 96, 3), uniform(rng, p, 96), 0.0)
    return rng.permuted(C @ gaussian_atoms(rng, 96, n), axis=0)


def independent_features(n: int) -> Rows:
    """Heavy-tailed features that have nothing to do with each other."""
    return lambda rng, p: rng.standard_t(3, (p, n))


WORLDS = worlds(
    "IncoherentDictionary",
    right={
        "plenty": codes(8000, told=3),
        "plenty, noise .1": codes(6000, 64, 96, 3, 0.1, told=3),
        "plenty, sparsity found": codes(6000, 64, 96, 3, 0.1),
        "few features": codes(2000, 16, 24, 1, 0.2),
        "two atoms of 24 features": codes(3000, 24, 48, 2, 0.1, told=2),
        "thrice as many atoms as features": codes(6000, 32, 96, 2, 0.1, told=2),
        "thrice, sparsity found": codes(5000, 32, 96, 2, 0.1),
        "fewer atoms than features": codes(1500, 64, 32, 3, 0.05),
        "128 features": codes(6000, 128, 192, 4, 0.05, told=4),
        "six atoms a row": codes(5000, 128, 128, 6, 0.1, told=6),
        "six, 64 features": codes(5000, 64, 96, 6, 0.1, told=6),
        "signs": codes(4000, 64, 96, 3, 0.1, values=signs),
        "normal coefficients": codes(6000, 64, 96, 3, 0.05, values=normal, told=3),
        "normal coefficients, noise .3": codes(4000, 48, 64, 3, 0.3, values=normal, told=3),
        "Bernoulli": codes(5000, 64, 96, 3, 0.1, supports=bernoulli),
        "from one to five": codes(5000, 64, 96, 3, 0.1, supports=from_one, told=5),
        "usage tenfold": codes(6000, 64, 96, 3, 0.1, supports=uneven(10), told=3),
        "usage thirtyfold, noise": codes(4000, 64, 96, 3, 0.3, supports=uneven(30)),
        "orthogonal": codes(1500, 48, 48, 4, 0.1, atoms=orthogonal),
        "spikes and waves": codes(3000, 48, 96, 3, 0.2, atoms=spikes_and_waves, told=3),
        "noise .3": codes(5000, 64, 96, 3, 0.3, told=3),
        "noise .6": codes(4000, 64, 96, 3, 0.6, told=3),
        "noise 1": codes(4000, 64, 96, 2, 1.0, told=2),
        "noise 1, few atoms": codes(3000, 64, 20, 2, 1.0),
        "noise 1.5": codes(4000, 64, 64, 2, 1.5, told=2),
        "noise 3": codes(4000, 48, 64, 2, 3.0, told=2),
        "900 rows": codes(900, 64, 96, 3, 0.1, told=3),
        "400 rows, noise": codes(400, 48, 64, 2, 0.2),
        "400 rows of five atoms": codes(400, 64, 96, 5, told=5),
        "300 rows": codes(300, 32, 64, 3, 0.1, told=3),
        "few rows, few atoms": codes(300, 32, 20, 1, 0.5),
        "many rows": codes(20_000, 32, 48, 2, 0.3, told=2),
    },
    wrong={
        "covariance": without(covariance(48, 1.5)),
        "covariance, three told": without(covariance(48, 3.0), told=3),
        "covariance, faint": without(covariance(48, 0.5), told=4),
        "ten factors": without(factors(48, 10, 0.2)),
        "three factors": without(factors(48, 3, 0.1), asked=20),
        "clusters": clusters(3000, 32, 40, 0.3),
        "clusters, off the origin": clusters(3000, 32, 40, 0.3, 1.0),
        "Gaussian clusters": without(gaussian_clusters(32, 12), asked=30),
        "subspaces of three": without(subspaces(48, 20, 3), told=3),
        "subspaces of two": without(subspaces(48, 30, 2)),
        "waves": without(waves(48, 1.0)),
        "waves, smooth": without(waves(64, 2.0), asked=100, told=4),
        "steps": without(steps(48, 2)),
        "circle": without(on_a_circle(48, 1, 2.0)),
        "circle, three bumps": without(on_a_circle(64, 3, 1.5, 0.1), asked=64, told=3),
        "tones": without(tones(48, 2), asked=96),
        "nonnegative codes": codes(5000, 64, 96, 3, values=positive, told=3),
        "nonnegative codes, noise": codes(4000, 48, 64, 4, 0.3, values=positive),
        "offset": codes(4000, after=offset(0.5), told=3),
        "pairs of atoms": codes(4000, 64, 96, 4, supports=in_groups(2), values=normal, told=4),
        "pairs of atoms, uniform": codes(4000, 64, 60, 2, 0.1, supports=in_groups(2)),
        "groups of three": codes(4000, 64, 60, 3, 0.1, supports=in_groups(3), values=normal),
        "leaders": codes(4000, 64, 80, 4, 0.1, supports=with_a_leader),
        "topics": codes(4000, 64, 96, 3, 0.1, supports=of_topics, told=3),
        "twins of cosine .9": codes(5000, 64, 80, 3, atoms=alike(0.9, 2), told=3),
        "twins, noise": codes(5000, 64, 80, 3, 0.3, atoms=alike(0.9, 2)),
        "groups of cosine .6": codes(4000, 64, 100, 3, 0.1, atoms=alike(0.6, 5), told=3),
        "bumps": codes(4000, 48, 48, 2, 0.1, atoms=bumps),
        "half of the atoms": codes(4000, asked=48, told=3),
        "half of the atoms, sparsity found": codes(4000, 64, 96, 2, 0.2, asked=48),
        "some atoms too few": codes(4000, asked=84, told=3),
        "twice the atoms": codes(4000, 64, 60, 3, asked=120, told=3),
        "twice the atoms, noise": codes(4000, 64, 60, 3, 0.4, asked=120),
        "half the sparsity": codes(4000, 64, 96, 4, told=2),
        "half the sparsity, noise": codes(4000, 64, 64, 4, 0.3, told=2),
        "twice the sparsity": codes(4000, 64, 96, 2, told=4),
        "twice the sparsity, noise": codes(4000, 64, 96, 3, 0.3, told=6),
        "heavy-tailed noise": codes(4000, 64, 80, 3, 0.5, kind=heavy(2.5), told=3),
        "noise in five directions": codes(4000, 64, 80, 3, 0.6, kind=in_some_directions(5), told=3),
        "noise of some features": codes(4000, 64, 80, 3, 0.6, kind=of_some_features, told=3),
        "loud rows": codes(4000, 64, 80, 3, 0.6, kind=loud_in_some_rows, told=3),
        "rows of all sizes": codes(4000, 64, 80, 3, 0.2, after=rows_of_all_sizes, told=3),
        "background": codes(4000, 64, 80, 3, after=background, told=3),
        "outliers": codes(4000, 64, 80, 3, 0.1, after=outliers, told=3),
        "signs of entries": codes(4000, 64, 64, 2, after=coarse),
        "saturated": codes(4000, 64, 80, 3, after=saturated, told=3),
        "missing, filled with zeros": codes(4000, 64, 80, 3, after=filled, told=3),
        "features in other units": codes(4000, 64, 80, 2, 0.2, atoms=in_other_units, told=2),
        "time series": codes(4000, 64, 80, 3, 0.2, supports=staying(0.95), values=slow, told=3),
        "time series, slow": codes(3000, 48, 48, 2, 0.3, supports=staying(0.98), values=slow),
        "copied rows": codes(4000, 48, 64, 3, 0.3, times=10, told=3),
        "copied rows, neighbours": codes(4000, 48, 64, 3, 0.3, times=10, shuffled=False, told=3),
        "moving atoms": two_dictionaries(4000, 64, 80, 3),
        "dense coefficients": codes(5000, 32, 32, 3, supports=everywhere, values=laplace, told=3),
        "dense normal coefficients": codes(4000, 48, 96, 3, supports=everywhere, values=normal),
        "twelve atoms a row": codes(4000, 64, 96, 12, told=12),
        "elliptical": without(elliptical(32, 3)),
    },
    empty={
        "white noise": without(lambda rng, p: rng.standard_normal((p, 48)), nothing=True),
        "white noise, three told": without(lambda rng, p: rng.standard_normal((p, 32)), told=3, nothing=True),
        "white noise, ten atoms": without(lambda rng, p: rng.standard_normal((p, 16)), asked=10, nothing=True),
        "white noise, few rows": without(lambda rng, p: rng.standard_normal((p, 64)), 200, nothing=True),
        "permuted columns": without(permuted, nothing=True),
        "independent features": without(independent_features(32), asked=48, nothing=True),
        "constant": without(lambda rng, p: np.ones((p, 24)), 500, 20, nothing=True),
        "constant and noise": without(lambda rng, p: 1 + 0.3 * rng.standard_normal((p, 32)), 2000, 40, nothing=True),
        "zeros and ones": without(lambda rng, p: (rng.random((p, 48)) < 0.2).astype(float), nothing=True),
        "fewer rows than features": without(lambda rng, p: rng.standard_normal((p, 64)), 40, 20, nothing=True),
    },
)
