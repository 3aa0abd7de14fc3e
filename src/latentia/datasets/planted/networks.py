"""Sparse deep networks: hidden layers of few active units, with positive and negative edges.

The units of the top layer h^(l) are independent, each active with probability rho. Below, unit v of layer i - 1 is active if
more of its positive than of its negative parents are: h^(i-1) = 1[G_(i-1) h^(i) > 0], with weights of -1, 0 and 1. The observed
layer is the last of these, y = h^(0), or real: y = G_0 h^(1) + noise. Every edge is there independently of all others.

References: Arora, Bhaskara, Ge and Ma, Provable bounds for learning some deep representations, 2014.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from ...exceptions import LatentiaError
from ._draws import check_sizes

_PIECE_EDGES = 1 << 24  # edges that are followed at a time


@dataclass(frozen=True)
class NetworkSamples:
    """Rows of a sparse network, and the network.

    Attributes
    ----------
    Y : csr_array of bool, or ndarray, of shape (n_rows, n_observed)
        The observed layer; an array of float64 where it is real.
    hidden : list of csr_array of bool, of shape (n_rows, n_units)
        The units that are active, the lowest hidden layer first.
    layers : list of csr_array of int8, of shape (n_units, n_units of the layer below)
        G: weights of -1 and 1 of the edges from each unit down, the lowest hidden layer first.
    densities : list of ndarray of shape (n_units,)
        The share of the rows in which each unit is active, the lowest hidden layer first.
    """

    Y: sparse.csr_array | np.ndarray
    hidden: list[sparse.csr_array]
    layers: list[sparse.csr_array]
    densities: list[np.ndarray]


def sparse_network(
    n_rows: int = 5000,
    sizes: Sequence[int] = (2000, 500),
    degrees: float | Sequence[float] = 10.0,
    density: float = 0.01,
    *,
    flips: float = 0.0,
    observed: Literal["binary", "real"] = "binary",
    noise: float = 0.0,
    negative: bool = True,
    random_state: int = 0,
) -> NetworkSamples:
    """Plant a sparse network, and draw rows from it.

    Parameters
    ----------
    n_rows : int
    sizes : sequence of int
        Units of each layer from below: (observed, hidden 1, ..., hidden l).
    degrees : float or sequence of float, one for each hidden layer
        d_i, from below: the expected number of parents, of either sign, that a node of layer i has in layer i + 1. A unit
        of layer i + 1 thus has d_i n_i / n_(i+1) children.
    density : float
        rho: the probability that a unit of the top layer is active.
    flips : float
        The probability that a bit of a binary observed layer is flipped.
    observed : {"binary", "real"}
    noise : float
        Standard deviation of the noise of a real observed layer.
    negative : bool
        Half of the edges are negative; otherwise none is.
    random_state : int

    Returns
    -------
    NetworkSamples
        The data and the truth that it was drawn from.

    Examples
    --------
    >>> from latentia.datasets import planted
    >>> network = planted.sparse_network(1000, (400, 100), 10, 0.02)
    >>> network.Y.shape, network.layers[0].shape
    ((1000, 400), (100, 400))
    """
    sizes, degrees = _check_layers(n_rows, sizes, degrees)
    if not 0 < density < 1:
        raise LatentiaError(f"density={density}: expected a number above 0 and below 1.")
    if observed not in ("binary", "real"):
        raise LatentiaError(f"observed={observed!r}: use 'binary' or 'real'.")
    if not 0 <= flips < 1 or not 0 <= noise < np.inf:
        raise LatentiaError(f"flips={flips}, noise={noise}: flips is at least 0 and below 1, noise at least 0.")
    if (flips and observed == "real") or (noise and observed == "binary"):
        raise LatentiaError("flips are of a binary observed layer, noise is of a real one: the other must be 0.")
    rng = np.random.default_rng(random_state)
    layers = [
        _draw_random_edges(above, below, degree / above, negative, rng)
        for below, above, degree in zip(sizes[:-1], sizes[1:], degrees, strict=True)
    ]
    hidden = [_draw_bits(n_rows, sizes[-1], density, rng)]
    for edges in layers[:0:-1]:
        hidden.insert(0, _apply_threshold(hidden[0], edges, 0.0, rng))
    if observed == "binary":
        Y = _apply_threshold(hidden[0], layers[0], flips, rng)
    else:
        Y = (hidden[0].astype(np.float64) @ layers[0].astype(np.float64)).toarray()
        if noise:
            Y += noise * rng.standard_normal(Y.shape)
    densities = [np.bincount(bits.indices, minlength=bits.shape[1]) / n_rows for bits in hidden]
    return NetworkSamples(Y, hidden, layers, densities)


@dataclass(frozen=True)
class UncompressibleNetwork:
    """Two layers that no single layer replaces, with inputs that show it.

    Attributes
    ----------
    layers : list of csr_array of int8, of shapes (2 n_copies, n_copies) and (4 n_copies, 2 n_copies)
        Weights of the lower and of the upper layer, as in `NetworkSamples`.
    inputs : ndarray of bool, shape (4, 4 n_copies)
        Active units of the top layer.
    outputs : ndarray of bool, shape (4, n_copies)
        What the two layers make of them.
    """

    layers: list[sparse.csr_array]
    inputs: np.ndarray
    outputs: np.ndarray


def uncompressible_network(n_copies: int = 1) -> UncompressibleNetwork:
    """Plant the two layers of Lemma 6.24, with weights of -1, 0 and 1, whose outputs no threshold layer has.

    Output v has two parents, each with a positive and a negative one of its own: u_1 and u_2, u_3 and u_4. v is off
    for (u_1, u_2) and for (u_3, u_4), and on for (u_1, u_4) and for (u_2, u_3). A single layer of weights A and offset b
    needs A_1 + A_2 + b <= 0 and A_3 + A_4 + b <= 0, but A_1 + A_4 + b > 0 and A_2 + A_3 + b > 0: the sums contradict each
    other.

    Parameters
    ----------
    n_copies : int
        Outputs, each with units of its own.

    Returns
    -------
    UncompressibleNetwork
        The data and the truth that it was drawn from.

    Examples
    --------
    >>> from latentia.datasets import planted
    >>> network = planted.uncompressible_network()
    >>> network.outputs.ravel()
    array([False, False,  True,  True])
    >>> planted.threshold_margins(network.inputs, network.outputs)
    array([0.])
    """
    check_sizes(n_copies=n_copies)
    copies = sparse.eye_array(n_copies, dtype=np.int8)
    lower, upper = np.array([[1], [1]]), np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
    layers = [sparse.csr_array(sparse.kron(copies, edges.astype(np.int8), format="csr")) for edges in (lower, upper)]
    inputs = np.tile(np.array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 0, 1], [0, 1, 1, 0]], dtype=bool), n_copies)
    outputs = inputs
    for edges in reversed(layers):
        outputs = outputs.astype(np.int64) @ edges.toarray().astype(np.int64) > 0
    return UncompressibleNetwork(layers, inputs, outputs)


def threshold_margins(inputs: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    """Return the largest margin of a threshold of the inputs for each output, shape (n_outputs,), by linear programming.

    The largest t for which weights a and an offset b in [-1, 1] exist with a . x + b >= t where the output is on, and
    a . x + b <= -t where it is off. 0 says that no single layer 1[A x + b > 0] has that output.

    Parameters
    ----------
    inputs : ndarray of shape (n_rows, n_inputs)
    outputs : ndarray of bool, shape (n_rows, n_outputs)

    Returns
    -------
    ndarray of shape (n_outputs,)
    """
    X = np.asarray(inputs, dtype=np.float64)
    on = np.asarray(outputs, dtype=bool)
    if X.ndim != 2 or on.ndim != 2 or len(X) != len(on):
        raise LatentiaError(f"inputs has shape {X.shape}, outputs {on.shape}: expected two tables of as many rows.")
    rows = np.hstack([X, np.ones((len(X), 1))])
    goal = np.append(np.zeros(rows.shape[1]), -1.0)
    limits = [(-1.0, 1.0)] * rows.shape[1] + [(0.0, None)]
    margins = np.zeros(on.shape[1])
    for v in range(on.shape[1]):
        sign = np.where(on[:, v], -1.0, 1.0)[:, None]
        solution = linprog(
            goal, A_ub=np.hstack([sign * rows, np.ones((len(X), 1))]), b_ub=np.zeros(len(X)), bounds=limits
        )
        margins[v] = max(0.0, -solution.fun)
    return margins


def _check_layers(
    n_rows: int, sizes: Sequence[int], degrees: float | Sequence[float]
) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Return the sizes of the layers, and a degree for each hidden layer."""
    sizes = tuple(int(size) for size in sizes)
    if len(sizes) < 2:
        raise LatentiaError(f"sizes={sizes}: expected the observed layer and at least one hidden layer.")
    check_sizes(n_rows=n_rows, **{f"sizes[{i}]": size for i, size in enumerate(sizes)})
    layer_degrees = (
        np.broadcast_to(degrees, len(sizes) - 1) if np.ndim(degrees) == 0 else np.asarray(degrees, dtype=np.float64)
    )
    if layer_degrees.shape != (len(sizes) - 1,):
        raise LatentiaError(f"degrees={degrees}: expected {len(sizes) - 1}, one for each hidden layer.")
    for degree, above in zip(layer_degrees, sizes[1:], strict=True):
        if not 0 < degree <= above:
            raise LatentiaError(f"degrees={degrees}: a node has between 0 and {above} parents in a layer of {above}.")
    return sizes, tuple(float(degree) for degree in layer_degrees)


def _draw_positions(total: int, probability: float, rng: np.random.Generator) -> np.ndarray:
    """Draw the sorted positions of events among ``total`` independent ones, in time proportional to their number."""
    expected = total * probability
    positions = np.zeros(0, dtype=np.int64)
    while True:
        gaps = rng.geometric(probability, int(expected + 6 * np.sqrt(expected) + 16))
        last = positions[-1] if len(positions) else -1
        positions = np.concatenate([positions, last + np.cumsum(gaps)])
        if positions[-1] >= total:
            return positions[: np.searchsorted(positions, total)]


def _draw_bits(n_rows: int, n_columns: int, probability: float, rng: np.random.Generator) -> sparse.csr_array:
    """Draw independent bits."""
    rows, columns = np.divmod(_draw_positions(n_rows * n_columns, probability, rng), n_columns)
    starts = np.searchsorted(rows, np.arange(n_rows + 1))
    index = np.int32 if max(len(rows), n_columns) < 2**31 else np.int64
    return sparse.csr_array(
        (np.ones(len(rows), dtype=bool), columns.astype(index), starts.astype(index)), shape=(n_rows, n_columns)
    )


def _draw_random_edges(
    n_above: int, n_below: int, probability: float, negative: bool, rng: np.random.Generator
) -> sparse.csr_array:
    """Draw weights of a random bipartite graph."""
    edges = _draw_bits(n_above, n_below, probability, rng).astype(np.int8)
    if negative:
        edges.data[rng.random(edges.nnz) < 0.5] = -1
    return edges


def _apply_threshold(
    above: sparse.csr_array, edges: sparse.csr_array, flips: float, rng: np.random.Generator
) -> sparse.csr_array:
    """Return 1[G h > 0] with some bits flipped, computed a few rows at a time."""
    n_rows, n_below = above.shape[0], edges.shape[1]
    a_row = max(edges.nnz / max(edges.shape[0], 1) * above.nnz / n_rows, flips * n_below, 1)
    size = max(1, int(_PIECE_EDGES / a_row))
    weights = edges.astype(np.int32)
    pieces = []
    for start in range(0, n_rows, size):
        active = (above[start : start + size].astype(np.int32) @ weights) > 0
        if flips:
            active = active != _draw_bits(active.shape[0], n_below, flips, rng)
        active.sort_indices()
        pieces.append(active)
    return sparse.csr_array(sparse.vstack(pieces, format="csr"))
