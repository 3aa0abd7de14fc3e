"""The lowest layer of a network whose observed layer is real: y = b + a * (G h + noise), with signed edges.

h has few active bits, G has weights of -1, 0 and 1 (k units by n columns), and each column u has a scale a_u, an offset b_u and
noise of standard deviation sigma_u, in units of its scale. All of them are unknown, and so is the number of units.

The third central moments of y are sums over units: E[y_u y_v y_s] = sum_z kappa_z g_zu g_zv g_zs, with kappa_z > 0 where a
unit is active less than half of the time. Thresholds on single moments (Theorem 6.21) find triples with a common parent,
and signs of moments tell the signs of edges (Algorithm 6.7). Here all moments are used at once: after whitening, units are the
orthogonal directions of the largest skewness, and signs come with them. What they find is then refined as a code: rows are
encoded, columns are regressed on the bits, coefficients are rounded, and the residual is searched for what is still missing.

References: Arora, Bhaskara, Ge and Ma, Provable bounds for learning some deep representations, 2014, section 6.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numba
import numpy as np
from scipy import sparse
from scipy.special import ndtr

from ..system.threads import run_in_chunks

_MAX_SEARCHES = 4  # searches of the rows and then of their residuals
_ROUNDS = 6  # rounds of encoding and regression after each search
_MAX_LEFT_OVER = 0.1  # residual directions above noise per unit; with more, the search starts from pairs as well
_NEGLIGIBLE = 1e-6  # share of the variance that is rounding
_ICA_STEPS = 60
_LLOYD_STEPS = 8
_MIN_RELATIVE_FREQUENCY = 0.4  # share of the usual frequency below which a direction is no seed
_PAIRS_AT_ONCE, _SEED_STEPS = 128, 4  # pairs that are tried at a time, and steps of each
_MAX_BARREN = 3  # batches of pairs without a new unit that end the search
_MIN_SKEW = 0.7  # least skewness of a unit's direction: that of a bit which is active in 34% of the rows
_MIN_SHARE = 0.01  # least share of the variance of a column that an edge explains
_MIN_SIGNIFICANCE = 5.0  # least coefficient of an edge, in standard errors
# Squared distance of a unit's coefficients from -1, 0 and 1, relative to them.
_MAX_MISFIT, _MAX_FIRST_MISFIT = 0.15, 0.6
_MAX_VALLEY = 0.35  # density of a unit's evidence halfway between off and on, relative to that at on
_CHUNK_ROWS = 2048  # rows that are encoded at a time


@dataclass(frozen=True)
class RealLayer:
    """A layer with real columns.

    Attributes
    ----------
    weights : csr_array of int8, of shape (n_units, n_columns)
        G: -1 and 1.
    undetermined : csr_array of bool, of the same shape
        Pairs for which the data shows neither an edge nor its absence.
    scale, offset, noise : ndarrays of shape (n_columns,)
        a, b and sigma.
    densities : ndarray of shape (n_units,)
        The share of the rows in which each unit is active.
    variance : ndarray of shape (n_columns,)
        Variance of the columns.
    """

    weights: sparse.csr_array
    undetermined: sparse.csr_array
    scale: np.ndarray
    offset: np.ndarray
    noise: np.ndarray
    densities: np.ndarray
    variance: np.ndarray


def recover_real(Y: np.ndarray, *, min_children: int = 2, seed: int = 0, n_jobs: int | None = None) -> RealLayer:
    """Learn the units of the lowest hidden layer from rows with real columns.

    Parameters
    ----------
    Y : ndarray of shape (n_rows, n_columns)
    min_children : int
        Least number of columns of a unit.
    seed : int
        Seed of the initial directions.
    n_jobs : int, optional
    """
    Y = np.asarray(Y, dtype=np.float64)
    rng = np.random.default_rng(seed)

    def search(*starts: Callable[[np.ndarray], np.ndarray]) -> tuple[RealLayer, int]:
        """Search from the first start, then from all; return the layer, and the number of residual directions above noise."""
        layer, bits = _empty_layer(Y), np.zeros((len(Y), 0), dtype=bool)
        for i in range(_MAX_SEARCHES):
            residual = Y - decode_real(layer, bits)
            if residual.var(axis=0).sum() <= _NEGLIGIBLE * Y.var(axis=0).sum() or not (
                directions := _whiten(residual).shape[1]
            ):
                return layer, 0
            new_bits = np.hstack([start(residual) for start in starts[: max(i, 1)]])
            candidate, refined_bits = _refine_layer(Y, np.hstack([bits, new_bits]), min_children, n_jobs)
            if _description_length(candidate, len(Y)) >= _description_length(layer, len(Y)):
                break
            layer, bits = candidate, refined_bits
        return layer, directions

    layer, n_unexplained = search(lambda residual: _find_skewed_bits(residual, rng))
    if n_unexplained > _MAX_LEFT_OVER * layer.weights.shape[0]:
        seeded_layer, _ = search(_grow_pairs, lambda residual: _find_skewed_bits(residual, rng))
        layer = min(layer, seeded_layer, key=lambda candidate: _description_length(candidate, len(Y)))
    return layer


def encode_real(layer: RealLayer, Y: np.ndarray, *, n_jobs: int | None = None) -> np.ndarray:
    """Return the units that are active in each row, by maximum a posteriori, an array of bool of shape (n_rows, n_units).

    Starts where the best linear estimate exceeds its middle between off and on, then flips one unit at a time as long as that
    lowers |(y - b) / a - G h|^2 in units of noise, plus twice the price of active units, log((1 - rho) / rho).
    """
    Y = np.asarray(Y, dtype=np.float64)
    bits = np.zeros((len(Y), layer.weights.shape[0]), dtype=bool)
    if not bits.shape[1]:
        return bits
    G = layer.weights.toarray().astype(np.float64)
    rho = np.clip(layer.densities, 1e-6, 0.5)
    weighted = G / np.maximum(layer.noise, _noise_floor(layer)) ** 2
    gram = weighted @ G.T
    linear = np.linalg.solve(gram + np.diag(1 / (rho * (1 - rho))), weighted)
    gains = np.einsum("zu,zu->z", linear, G)
    middle = (0.5 - rho) * gains
    price = 2 * np.log((1 - rho) / rho)

    def piece(start: int, stop: int) -> None:
        rows = (Y[start:stop] - layer.offset) / layer.scale
        on = (rows - rho @ G) @ linear.T > middle
        _descend(on, (rows - on @ G) @ weighted.T, gram, price)
        bits[start:stop] = on

    run_in_chunks(piece, len(Y), _CHUNK_ROWS, n_jobs)
    return bits


def decode_real(layer: RealLayer, bits: np.ndarray | sparse.csr_array) -> np.ndarray:
    """Return b + a * G h, of shape (n_rows, n_columns)."""
    means = bits @ layer.weights.toarray().astype(np.float64)
    means *= layer.scale
    means += layer.offset
    return means


def _noise_floor(layer: RealLayer) -> float:
    """Return a floor of the noise: with exact data wrong units could never be corrected."""
    return max(0.02, 0.1 * float(np.median(layer.noise)))


@numba.njit(cache=True, nogil=True)
def _descend(on: np.ndarray, match: np.ndarray, gram: np.ndarray, price: np.ndarray) -> None:
    """Flip the unit that lowers the penalised squared error most, until none does; ``match`` is g_z . residual."""
    n_rows, n_units = on.shape
    for i in range(n_rows):
        for _ in range(2 * n_units):
            best, gain = -1, 1e-9
            for z in range(n_units):
                g = -2 * match[i, z] - gram[z, z] + price[z] if on[i, z] else 2 * match[i, z] - gram[z, z] - price[z]
                if g > gain:
                    best, gain = z, g
            if best < 0:
                break
            step = -1.0 if on[i, best] else 1.0
            on[i, best] = not on[i, best]
            for z in range(n_units):
                match[i, z] -= step * gram[best, z]


def _find_skewed_bits(Y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the bits of the skewed directions of the rows, an array of bool of shape (n_rows, n_directions)."""
    Z = _whiten(Y)
    if not Z.shape[1]:
        return np.zeros(Z.shape, dtype=bool)
    W = np.linalg.qr(rng.standard_normal((Z.shape[1], Z.shape[1])))[0]
    for _ in range(_ICA_STEPS):
        U, _, Vt = np.linalg.svd(Z.T @ (Z @ W) ** 2, full_matrices=False)
        before, W = W, U @ Vt
        if np.quantile(np.abs(np.einsum("ij,ij->j", before, W)), 0.02) > 1 - 1e-5:
            break
    on, skew = _split_values(Z @ W)
    return on[:, skew > _MIN_SKEW]


def _split_values(S: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Split each column between its two values; return which rows are above, and the skewness of each column."""
    S = (S - S.mean(axis=0)) / np.maximum(S.std(axis=0), 1e-30)
    skew = (S**3).mean(axis=0)
    threshold = skew / 2  # a standardised bit of skewness g has the values (g +- (g^2 + 4)^(1/2)) / 2
    for _ in range(_LLOYD_STEPS):
        on = threshold < S
        share = on.mean(axis=0)
        above = np.where(on, S, 0).mean(axis=0)
        threshold = (above / np.maximum(share, 1e-12) - above / np.maximum(1 - share, 1e-12)) / 2
    return threshold < S, skew


def _grow_pairs(Y: np.ndarray) -> np.ndarray:
    """Return bits of units that start from a pair of columns: shape (n_rows, n_found).

    The third moments with a pair that has a common parent are those of the parent's columns, with their signs.
    """
    Z = (Y - Y.mean(axis=0)).astype(np.float32)
    spread = Z.std(axis=0)
    Z /= np.where(spread > 1e-9 * spread.max(), spread, np.inf)
    n_rows, n_columns = Z.shape
    C = Z.T @ Z / n_rows
    first, second = np.triu_indices(n_columns, 1)
    size = np.abs(C[first, second])
    order = np.argsort(-size, kind="stable")[: int((size > 4 / np.sqrt(n_rows)).sum())]
    first, second = first[order], second[order]
    covered = np.zeros((n_columns, n_columns), dtype=bool)
    bits = np.zeros((n_rows, 0), dtype=bool)
    barren, usual = 0, 0.0
    while len(first) and barren < _MAX_BARREN and bits.shape[1] < n_columns:
        u, v = first[:_PAIRS_AT_ONCE], second[:_PAIRS_AT_ONCE]
        G = (Z[:, u] * Z[:, v]).T @ Z / n_rows * np.sign(C[u, v])[:, None]
        G[np.arange(len(u)), u] = G[np.arange(len(u)), v] = 0
        G = _keep_largest(G)
        on = np.zeros((n_rows, len(u)), dtype=bool)
        for _ in range(_SEED_STEPS):
            before, on = on, _split_values(Z @ G.T)[0]
            count = np.maximum(on.sum(axis=0), 1)[:, None]
            G = _keep_largest((on.T.astype(np.float32) @ Z) / count)
        is_stable = (before & on).sum(axis=0) >= 0.8 * (before | on).sum(axis=0)
        rows = on.sum(axis=0)
        good = is_stable & (rows >= 10) & (_split_values(Z @ G.T)[1] > _MIN_SKEW)
        # Units of the layer above, which switch many units on at a time, are much rarer than those.
        usual = usual or (float(np.median(rows[good])) if good.any() else 0.0)
        good &= rows >= _MIN_RELATIVE_FREQUENCY * usual
        n_before = bits.shape[1]
        bits = _drop_copies(np.hstack([bits, on[:, good]]))
        barren = 0 if bits.shape[1] > n_before else barren + 1
        for g in G[good]:
            covered[np.ix_(g != 0, g != 0)] = True
        first, second = first[_PAIRS_AT_ONCE:], second[_PAIRS_AT_ONCE:]
        is_open = ~covered[first, second]
        first, second = first[is_open], second[is_open]
    return bits


def _keep_largest(G: np.ndarray) -> np.ndarray:
    """Return rows of unit length with the entries that are at least half of the fourth largest."""
    size = np.abs(G)
    limits = np.sort(size, axis=1)[:, -min(4, G.shape[1])] / 2
    G = np.where(size >= limits[:, None], G, 0)
    return G / np.maximum(np.linalg.norm(G, axis=1, keepdims=True), 1e-30)


def _whiten(Y: np.ndarray) -> np.ndarray:
    """Principal components above the noise with unit variance, shape (n_rows, n_directions)."""
    n_rows = len(Y)
    Z = Y - Y.mean(axis=0)
    spread = Z.std(axis=0)
    Z /= np.where(spread > 0, spread, 1)
    values, vectors = np.linalg.eigh(Z.T @ Z / n_rows)
    values, vectors = np.maximum(values[::-1], 0), vectors[:, ::-1]
    rank = int((values > 1e-9 * max(values[0], 1e-300)).sum())
    n_kept = 0
    while n_kept < rank:  # keep eigenvalues above the largest of noise whose mean is that of the remaining ones
        edge = values[n_kept:rank].mean() * (1 + np.sqrt((rank - n_kept) / n_rows)) ** 2
        n_above = int((values[:rank] > edge).sum())
        if n_above <= n_kept:
            break
        n_kept = n_above
    if n_kept == rank - 1:
        n_kept = rank
    return Z @ (vectors[:, :n_kept] / np.sqrt(values[:n_kept]))


def _refine_layer(
    Y: np.ndarray, bits: np.ndarray, min_children: int, n_jobs: int | None
) -> tuple[RealLayer, np.ndarray]:
    """Alternate between regression on bits and encoding, until the weights are stable."""
    layer, bits = _regress(Y, bits, min_children, _MAX_FIRST_MISFIT)
    for _ in range(_ROUNDS):
        bits = encode_real(layer, Y, n_jobs=n_jobs)
        new, bits = _regress(Y, bits, min_children, _MAX_FIRST_MISFIT)
        has_converged = (
            new.weights.shape == layer.weights.shape and (new.weights != layer.weights).nnz <= 1e-3 * layer.weights.nnz
        )
        layer = new
        if has_converged:
            break
    return _regress(Y, bits[:, _find_two_valued(layer, Y, bits)], min_children, _MAX_MISFIT)


def _regress(Y: np.ndarray, bits: np.ndarray, min_children: int, max_misfit: float) -> tuple[RealLayer, np.ndarray]:
    """Regress columns on bits and round to weights; drop copies of bits, and bits without enough edges."""
    bits = _drop_copies(bits)
    while True:
        layer, misfit = _round_coefficients(Y, bits)
        children = np.diff(layer.weights.indptr)
        is_kept = (children >= min_children) & (misfit <= max_misfit)
        if is_kept.all():
            return layer, bits
        bits = bits[:, is_kept]


def _round_coefficients(Y: np.ndarray, bits: np.ndarray) -> tuple[RealLayer, np.ndarray]:
    """Return the layer of the bits, and how far the coefficients of each are from weights."""
    n_rows, k = bits.shape
    density = bits.mean(axis=0)
    centre, variance = Y.mean(axis=0), Y.var(axis=0)
    if not k:
        return _empty_layer(Y), np.zeros(0)
    H = bits - density
    gram = H.T @ H
    gram[np.diag_indices(k)] += 1e-6 * n_rows
    inverse = np.linalg.inv(gram)
    B = inverse @ (H.T @ (Y - centre))  # (k, n)
    residual_variance = np.maximum(variance - np.einsum("zu,zu->u", B, (H.T @ (Y - centre))) / n_rows, 1e-12 * variance)
    errors = np.sqrt(np.outer(np.diag(inverse), residual_variance))
    scale = _fit_scales(B, errors, density, variance)
    relative, errors = B / scale, errors / scale
    G = np.clip(np.rint(relative), -1, 1)
    G[np.abs(relative) < _MIN_SIGNIFICANCE * errors] = 0
    G[:, ~np.isfinite(scale)] = 0
    scale = np.where(np.isfinite(scale), scale, 1.0)
    open_ = (np.abs(np.abs(relative) - 0.5) < np.minimum(3 * errors, 0.25)) | (errors > 0.2)
    misfit = ((relative - G) ** 2 - errors**2).sum(axis=1) / np.maximum((relative**2).sum(axis=1), 1e-300)
    residual = Y - bits @ (G * scale)
    offset = residual.mean(axis=0)
    layer = RealLayer(
        sparse.csr_array(G.astype(np.int8)),
        sparse.csr_array(open_),
        scale,
        offset,
        residual.std(axis=0) / scale,
        density,
        np.where(variance > 0, variance, 1.0),
    )
    return layer, misfit


def _fit_scales(B: np.ndarray, errors: np.ndarray, density: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Fit the scale a of each column, for which its coefficients are nearest to -a, 0 and a; infinite without an edge."""
    size = np.abs(B)
    explained = density[:, None] * (1 - density[:, None]) * B**2
    edge = (size > _MIN_SIGNIFICANCE * errors) & (explained > _MIN_SHARE * variance)
    top = np.sort(np.where(edge, size, 0), axis=0)[::-1][: min(len(B), 40)]
    best, scale = np.full(B.shape[1], np.inf), np.full(B.shape[1], np.inf)
    for a in top:
        ok = a > 0
        loss = np.minimum(top**2, (top - a) ** 2).sum(axis=0)
        better = ok & (loss < best)
        best[better], scale[better] = loss[better], a[better]
    for _ in range(3):
        near = edge & (np.abs(size - scale) < scale / 2)
        count = near.sum(axis=0)
        scale = np.where(count > 0, np.where(near, size, 0).sum(axis=0) / np.maximum(count, 1), scale)
    return scale


def _drop_copies(bits: np.ndarray) -> np.ndarray:
    """Return bits that are active in some rows but less than half of them, without copies of others."""
    bits = bits[:, (bits.mean(axis=0) < 0.5) & (bits.sum(axis=0) >= 5)]
    H = bits.astype(np.float32)
    common, sizes = H.T @ H, H.sum(axis=0)
    overlap = common / np.maximum(sizes[:, None] + sizes - common, 1)
    return bits[:, ~(np.triu(overlap, 1) > 0.5).any(axis=0)]


def _find_two_valued(layer: RealLayer, Y: np.ndarray, bits: np.ndarray) -> np.ndarray:
    """Return which units have two values: g_z . (y less the other units) / |g_z|^2 is near 0 or 1."""
    G = layer.weights.toarray().astype(np.float64)
    weighted = G / np.maximum(layer.noise, _noise_floor(layer)) ** 2
    size = np.einsum("zu,zu->z", weighted, G)
    value = ((Y - decode_real(layer, bits)) / layer.scale) @ weighted.T / np.maximum(size, 1e-300)
    scatter = (value**2).mean(axis=0)
    value += bits
    middle = ((value > 0.35) & (value < 0.65)).mean(axis=0) / 0.3
    top = ((value > 0.75) & (value < 1.25)).mean(axis=0) / 0.5
    has_valley = middle <= _MAX_VALLEY * top
    # Noise that is independent across columns may fill the valley of a unit with few of them. A unit of more than two values
    # scatters more, because its columns deviate together.
    sd = 1 / np.sqrt(np.maximum(size, 1e-300))
    density = layer.densities
    tails = (1 - density) * (ndtr(0.65 / sd) - ndtr(0.35 / sd)) + density * (ndtr(-0.35 / sd) - ndtr(-0.65 / sd))
    noisy = (
        (scatter <= 1.2 * sd**2)
        & (middle <= _MAX_VALLEY * top + 1.2 * tails / 0.3)
        & (np.diff(layer.weights.indptr) > 2)
    )
    return has_valley | (noisy & (sd < 0.25))


def _description_length(layer: RealLayer, n_rows: int) -> float:
    """Description length of the rows, up to a constant: residuals, codes and edges."""
    variance = (layer.scale * layer.noise) ** 2
    rho = np.clip(layer.densities, 1e-9, 1 - 1e-9)
    codes = -(rho * np.log(rho) + (1 - rho) * np.log1p(-rho)).sum()
    spread = np.log(np.maximum(variance, 1e-12 * layer.variance)).sum() / 2
    return float(n_rows * (spread + codes) + layer.weights.nnz * np.log(n_rows))


def _empty_layer(Y: np.ndarray) -> RealLayer:
    n_columns = Y.shape[1]
    spread = Y.std(axis=0)
    no_edges = sparse.csr_array((0, n_columns), dtype=np.int8)
    variance = np.where(spread > 0, spread**2, 1.0)
    return RealLayer(no_edges, no_edges.astype(bool), np.ones(n_columns), Y.mean(axis=0), spread, np.zeros(0), variance)
