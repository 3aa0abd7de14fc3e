"""Cross moments of three views, and the change of coordinates that makes them symmetric.

Views x_1, x_2, x_3 are independent given a component h. In coordinates y_a of each view (see `Coordinates`), with
conditional means A_a e_k and weights w_k,

    E[y_a y_b^T] = A_a diag(w) A_b^T,      E[y_1 (x) y_2 (x) y_3] = sum_k w_k (A_1 e_k) (x) (A_2 e_k) (x) (A_3 e_k).

Theorem 7.5 of the thesis turns views 1 and 2 into copies of view 3. Here all three views are treated alike. With C_ab
the moments after scaling the views by E[y_a y_a^T]^-1/2, the leading K eigenvectors of C_21 C_13 C_32 are the
directions of the middle view that all three have in common, and their images under C_12 and C_32 those of the others.
With Sigma_ab = E[y_a y_b^T] in them, Sigma_ab Sigma_cb^-1 Sigma_ca = A_a diag(w) A_a^T is what x_a has in common with
the other views; W_a whitens it, so that O_a = W_a^T A_a diag(w)^(1/2) is orthogonal and W_a^T Sigma_ab W_b = O_a
O_b^T. The leading K eigenvectors of the 3K x 3K matrix of these blocks give rotations F_a = O_a G with one common G.
In the coordinates N_a = W_a F_a every view has the conditional means w_k^(-1/2) v_k with one orthonormal basis v_k,
and the third moment is symmetric: it is averaged over the orders of the views.

A function f of view a, whatever it is, has E[f(x_a) y_b^T] N_b v_k = w_k^(1/2) E[f(x_a) | k] for each other view b:
so the means are read off in all D dimensions of a view, and so are second moments.

Sources: R. Ge, thesis 2013, section 7.3.3, Theorem 7.5; S. Arora, R. Ge, T. Ma, A. Risteski, STOC 2017, section C,
for the whitening.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
from scipy import sparse

from ..exceptions import LatentiaError
from ..linalg import polar_factor, whiten
from ..passes import Block
from ..system.threads import Parallel
from ..tensor import MomentNoise
from ..tensor.operators import symmetrise_modes, tensor_norm
from .products import CHUNK, add_triples
from .vectors import Coordinates

_PAIRS = ((0, 1), (0, 2), (1, 2))
Views = tuple[Sequence[Any], np.ndarray]


@dataclass(frozen=True)
class ViewSums:
    """Averages over rows.

    Attributes
    ----------
    n : int
    firsts : list of three ndarrays of shape (d_a,)
        E[y_a].
    pairs : dict from (a, b) to ndarray of shape (d_a, d_b)
        E[y_a y_b^T] for all a and b.
    third : ndarray of shape (d_1, d_2, d_3)
    sketches : dict from (a, b) to ndarray of shape (D_a, d_b)
        E[x_a y_b^T].
    squares : dict from (a, b) to ndarray of shape (D_a, d_b)
        E[x_a^2 y_b^T], entry by entry; empty unless they were asked for.
    """

    n: int
    firsts: list[np.ndarray]
    pairs: dict[tuple[int, int], np.ndarray]
    third: np.ndarray
    sketches: dict[tuple[int, int], np.ndarray]
    squares: dict[tuple[int, int], np.ndarray]


class ViewMoments:
    """In-place statistic of three views in groups of rows; `of` makes the moments of some groups together.

    Parameters
    ----------
    coordinates : three Coordinates
    views : callable
        Maps a block to its three aligned tables and the group of every row.
    n_groups : int
        Number of groups that ``views`` returns.
    sketched : sequence of int
        Views a for which E[x_a y_b^T] is kept.
    squares : bool
        Whether E[(x_a - c_a)^2 y_b^T] is kept for them, c_a being the centre of the view's coordinates.
    """

    def __init__(
        self,
        coordinates: Sequence[Coordinates],
        views: Callable[[Block], Views],
        n_groups: int = 4,
        *,
        sketched: Sequence[int] = (0, 1, 2),
        squares: bool = False,
    ) -> None:
        self.coordinates, self.views, self.n_groups = list(coordinates), views, n_groups
        self.sketched = [(a, b) for a in sketched for b in range(3) if b != a]
        self.squares = squares

    def zero(self) -> dict[Any, np.ndarray]:
        g, sizes = self.n_groups, [c.size for c in self.coordinates]
        state: dict[Any, np.ndarray] = {"third": np.zeros((g, *sizes)), "n": np.zeros(g)}
        for a in range(3):
            state["first", a] = np.zeros((g, sizes[a]))
            state["pair", a, a] = np.zeros((g, sizes[a], sizes[a]))
        for a, b in _PAIRS:
            state["pair", a, b] = np.zeros((g, sizes[a], sizes[b]))
        for a, b in self.sketched:
            width = len(self.coordinates[a].center)
            state["sketch", a, b] = np.zeros((g, width, sizes[b]))
            if self.squares:
                state["square", a, b] = np.zeros((g, width, sizes[b]))
        return state

    def add_tasks(self, state: dict[Any, np.ndarray], block: Block, parallel: Parallel) -> dict[Any, np.ndarray]:
        tables, groups = self.views(block)
        for g in range(self.n_groups):
            rows = np.flatnonzero(groups == g)
            for start in range(0, len(rows), 4 * CHUNK):
                self._add(state, g, [table[rows[start : start + 4 * CHUNK]] for table in tables], parallel)
        return state

    def _add(self, state: dict[Any, np.ndarray], g: int, tables: list[Any], parallel: Parallel) -> None:
        y = [coordinates(table) for coordinates, table in zip(self.coordinates, tables, strict=True)]
        state["n"][g] += len(y[0])
        add_triples(state["third"][g], y[0], y[1], y[2], parallel)
        for a in range(3):
            state["first", a][g] += y[a].sum(axis=0)
            state["pair", a, a][g] += y[a].T @ y[a]
        for a, b in _PAIRS:
            state["pair", a, b][g] += y[a].T @ y[b]
        for a, b in self.sketched:
            state["sketch", a, b][g] += tables[a].T @ y[b]
            if self.squares:
                state["square", a, b][g] += _squares(tables[a], self.coordinates[a].center, y[b])

    def of(self, state: dict[Any, np.ndarray], groups: tuple[int, ...]) -> ViewSums:
        """Return the moments over the rows of some folds, from the summed state."""
        selected = list(groups)
        n = float(state["n"][selected].sum())
        if n < 1:
            raise LatentiaError("Expected rows in each part of the data, found none: there are too few to split.")
        mean = {key: value[selected].sum(axis=0) / max(n, 1.0) for key, value in state.items()}
        pairs = {(a, b): mean["pair", a, b] for a, b in _PAIRS}
        pairs |= {(b, a): pair.T for (a, b), pair in pairs.items()} | {(a, a): mean["pair", a, a] for a in range(3)}
        sketches = {(a, b): mean["sketch", a, b] for a, b in self.sketched}
        squares = {(a, b): mean["square", a, b] for a, b in self.sketched} if self.squares else {}
        return ViewSums(round(n), [mean["first", a] for a in range(3)], pairs, mean["third"], sketches, squares)


@dataclass(frozen=True)
class CommonFrame:
    """Coordinates in which the three views are copies of each other.

    Attributes
    ----------
    maps : three ndarrays of shape (d_a, K)
        N_a.
    tensor : ndarray of shape (K, K, K)
        The symmetric third moment.
    firsts : ndarray of shape (3, K)
        Means of the views.
    spectrum : ndarray
        Singular values of the scaled pair moment, descending, for the pair of views whose K-th one is smallest.
    scalings : three ndarrays of shape (d_a, r_a)
        E[y_a y_a^T]^-1/2.
    asymmetry : float
        Distance of the third moment from symmetry, relative to its norm.
    """

    maps: list[np.ndarray]
    tensor: np.ndarray
    firsts: np.ndarray
    spectrum: np.ndarray
    scalings: list[np.ndarray]
    asymmetry: float

    def mean_given(self, moments: dict[tuple[int, int], np.ndarray], a: int, vectors: np.ndarray) -> np.ndarray:
        """Return E[f(x_a) | k] for all components, shape (K, D), from E[f(x_a) y_b^T] and the orthonormal rows v_k.

        For each other view b it is the average of f(x_a) over rows with weights proportional to v_k . N_b^T y_b; the two
        estimates are averaged.
        """
        other_views = [b for b in range(3) if b != a]
        estimates = [moments[a, b] @ (self.maps[b] @ vectors.T) / self._roots(vectors)[b] for b in other_views]
        return np.mean(estimates, axis=0).T

    def weights(self, vectors: np.ndarray) -> np.ndarray:
        """Return the weights of the components, shape (K,): v_k . E[N_a^T y_a] is their root."""
        weights = self._roots(vectors).mean(axis=0) ** 2
        return weights / weights.sum()

    def _roots(self, vectors: np.ndarray) -> np.ndarray:
        """(3, K); far below a common size, where a component is noise, they are cut."""
        return np.maximum(self.firsts @ vectors.T, 0.05 / np.sqrt(len(vectors)))


def frame_noise(frame: CommonFrame, first: ViewSums, second: ViewSums) -> MomentNoise:
    """Estimate the noise of pairs of views and of the tensor in the common frame, from two halves of the data."""
    noises = {pair: (first.pairs[pair] - second.pairs[pair]) / 2 for pair in _PAIRS}
    pairs = [frame.maps[a].T @ noise @ frame.maps[b] for (a, b), noise in noises.items()]
    scaled = [frame.scalings[a].T @ noise @ frame.scalings[b] for (a, b), noise in noises.items()]
    third = np.einsum("abc,ai,bj,ck->ijk", (first.third - second.third) / 2, *frame.maps, optimize=True)
    whitening, spectrum = (max(float(np.linalg.norm(noise, 2)) for noise in noisy) for noisy in (pairs, scaled))
    return MomentNoise(whitening, tensor_norm(symmetrise_modes(third)), spectrum)


def common_frame(m: ViewSums, n_components: int) -> CommonFrame:
    """Symmetrise the moments of three views for ``n_components``."""
    scalings = [_inverse_root(m.pairs[a, a], m.n) for a in range(3)]
    leading, reduced = _leading_directions(m, scalings, n_components)
    whitenings, k = [], n_components
    for a in range(3):
        b, c = (view for view in range(3) if view != a)
        # Both orders of the other views estimate the same matrix.
        shared = reduced[a, b] @ np.linalg.solve(reduced[c, b], reduced[c, a])
        whitenings.append(whiten((shared + shared.T) / 2, k, f"moment that view {a + 1} shares with the others").matrix)
    blocks = [[np.eye(k) for _ in range(3)] for _ in range(3)]
    for a, b in reduced:
        blocks[a][b] = polar_factor(whitenings[a].T @ reduced[a, b] @ whitenings[b])
    joint = np.linalg.eigh(np.block(blocks))[1][:, -k:]
    rotations = [polar_factor(joint[a * k : (a + 1) * k]) for a in range(3)]
    maps = [leading[a] @ whitenings[a] @ rotations[a] for a in range(3)]
    raw = np.einsum("abc,ai,bj,ck->ijk", m.third, *maps, optimize=True)
    tensor = symmetrise_modes(raw)
    firsts = np.array([m.firsts[a] @ maps[a] for a in range(3)])
    spectra = [np.linalg.svd(scalings[a].T @ m.pairs[a, b] @ scalings[b], compute_uv=False) for a, b in _PAIRS]
    asymmetry = max(float(np.linalg.norm(raw.transpose(p) - tensor)) for p in permutations(range(3)))
    weakest = min(spectra, key=lambda s: s[k - 1])
    return CommonFrame(maps, tensor, firsts, weakest, scalings, asymmetry / max(float(np.linalg.norm(tensor)), 1e-300))


def _leading_directions(
    m: ViewSums, scalings: list[np.ndarray], n_components: int
) -> tuple[list[np.ndarray], dict[tuple[int, int], np.ndarray]]:
    """Return the maps of each view to the K directions that all views share, and the moments between them."""
    scaled = {(a, b): scalings[a].T @ m.pairs[a, b] @ scalings[b] for a in range(3) for b in range(3) if a != b}
    # Once around the views: what only two of them share, such as fixed phrases of neighbours, drops out.
    cycle = scaled[1, 0] @ scaled[0, 2] @ scaled[2, 1]
    values, vectors = np.linalg.eigh((cycle + cycle.T) / 2)
    middle = vectors[:, ::-1][:, :n_components]
    definite = int((values > 1e-12 * values[-1]).sum())
    if definite < n_components:  # what there is by size
        left_vectors, singular, _ = np.linalg.svd(cycle)
        rank = int((singular > 1e-12 * singular[0]).sum())
        if rank < n_components:
            raise LatentiaError(
                f"singular value {rank + 1} of what the three views have in common is zero: this data supports at most {rank} "
                "components.", at_most=rank, parameter="n_components", value=n_components,
            )  # fmt: skip
        middle = left_vectors[:, :n_components]
    directions = [middle if a == 1 else np.linalg.qr(scaled[a, 1] @ middle)[0] for a in range(3)]
    leading = [scaling @ basis for scaling, basis in zip(scalings, directions, strict=True)]
    reduced = {(a, b): leading[a].T @ m.pairs[a, b] @ leading[b] for a, b in scaled}
    for (a, b), pair in reduced.items():
        singular = np.linalg.svd(pair, compute_uv=False)
        if singular[-1] <= 1e-9 * singular[0]:
            rank = int((singular > 1e-9 * singular[0]).sum())
            raise LatentiaError(
                f"singular value {rank + 1} of the moment of views {a + 1} and {b + 1} is {singular[rank]:.2g} (the largest is "
                f"{singular[0]:.3g}): this data supports at most {rank} components.",
                at_most=rank, parameter="n_components", value=n_components,
            )  # fmt: skip
    return leading, reduced


def _inverse_root(moment: np.ndarray, n: int) -> np.ndarray:
    """M^-1/2 of a second moment (d, d), with a ridge of d / n of the mean eigenvalue; without directions of no spread."""
    values, vectors = np.linalg.eigh(moment)
    is_observed = values > 1e-9 * values[-1]
    ridge = len(values) / max(n, 1) * values.mean()
    return vectors[:, is_observed] / np.sqrt(values[is_observed] + ridge)


def _squares(table: Any, center: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """sum_n (x_n - c)^2 y_n^T, entry by entry, shape (D, k)."""
    if not sparse.issparse(table):
        return ((table - center) ** 2).T @ rows
    cross, row_sums = table.T @ rows, rows.sum(axis=0)
    return table.multiply(table).T @ rows - 2 * center[:, None] * cross + np.outer(center**2, row_sums)
