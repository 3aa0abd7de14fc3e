"""The partitioned algorithm for overlapping communities, as it is printed (thesis, Algorithms 8.1 to 8.3).

Edges from i to j have the mean pi_i^T P pi_j. Nodes are dealt to five parts X, Y, A, B, C. With F_A = Pi_A P^T, the
share alpha_i of community i, and the modified count T of 3-stars from Y to A, B, C,

    E[T / 2] = sum_i alpha_i (F_A)_i (x) (F_B)_i (x) (F_C)_i,                                   (8.7), (8.9)

and the singular vectors of the edges from X to A, B, C turn it into a symmetric tensor of dimension K with orthonormal
components, from which the memberships of the nodes outside of A follow.

When to prefer it: to compare with the theorems, whose independence the parts provide. It sees a fifth of the edges at a
time, and so needs dense graphs.

Differences from the thesis:

1. The expectation of (8.7) is twice (8.9): the tensor is halved.
2. It is formed in K dimensions only, from whitened neighbourhoods, and R_AB of (8.14) is V_B^T V_A of the two
   decompositions.
3. The two rotations of Algorithm 8.1 find the communities in different orders, which are matched on the nodes that both
   have.
4. The threshold tau is a multiple of the standard deviation of each entry's noise: 2.5 where alpha_0 <= .2, falling to
   1.5 at alpha_0 = 1. With alpha_0 = 0 the largest entry alone is kept, and so it is in rows where none is above tau.
   Rows are normalised.
5. Algorithm 8.3 subtracts alpha_0 / |Z| for averages over the nodes Z, not alpha_0 / n. The averages of a part come
   from all other parts, not from one, but only from memberships that were not computed from edges of that part.
6. The memberships that are returned are those of Algorithm 8.3's averages, with the same threshold. They use three or
   four times as many edges of a node as Algorithm 8.1, whose memberships serve to form the averages: with 5000 nodes of
   degree 400 and alpha_0 = .1 the mean l1 error of a node falls from .059 to .032 (K = 5, p / q = 6), at alpha_0 = 0
   both are zero.
7. lambda^-2 does not sum to one: noise in the whitening matrices makes all lambda too small. It is normalised.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

from ..exceptions import EvidenceWarning, LatentiaError, warn
from ..linalg import block_krylov_svd, sparse_product
from ..metrics import match_components
from ..system.threads import single_blas_thread
from ..tensor import decompose
from ..tensor.operators import symmetrised
from ._model import inside_and_across, noise_multiple

_PARTS = 5
_PASSES, _OVERSAMPLE = 8, 10
_LEAST = 1e-7  # of the first singular value, below which another one is zero: they come from squares
_STARTS = 1000
_POWER = ("adaptive", "power")
_METHODS = (*_POWER, "polar", "joint")
_BLOCK = 1 << 22  # numbers of a block of products
_STRICT = 2.5  # tau in standard deviations, where there is little overlap


class Partitioned(NamedTuple):
    """What the partitioned algorithm found; columns of all attributes are in one order.

    Attributes
    ----------
    memberships : ndarray of shape (n, K)
        Pi: rows sum to one. Nodes of which no edge says anything get ``shares``.
    shares : ndarray of shape (K,)
        alpha hat, lambda^-2 normalised to sum one.
    connectivity : ndarray of shape (K, K)
        P = Q G Q^T: probability of an edge, or expected weight, from community to community.
    weights : ndarray of shape (K,)
        lambda, eigenvalues of the tensor of the first rotation.
    support_average : ndarray of shape (n, K)
        Averages F of Algorithm 8.3 as (F - L) / (H - L): memberships plus noise. NaN where H <= L.
    """

    memberships: np.ndarray
    shares: np.ndarray
    connectivity: np.ndarray
    weights: np.ndarray
    support_average: np.ndarray


class _Parts(NamedTuple):
    """Numbers of the nodes in each part, in the roles of Algorithm 8.2."""

    X: np.ndarray
    Y: np.ndarray
    A: np.ndarray
    B: np.ndarray
    C: np.ndarray

    def turned(self) -> _Parts:
        """The roles of Y and A interchanged."""
        return self._replace(Y=self.A, A=self.Y)


class _Task(NamedTuple):
    """What is asked."""

    graph: sparse.csr_array
    n_components: int
    alpha0: float
    seed: int
    method: str
    n_jobs: int | None


class _Whitened(NamedTuple):
    """W = U D^-1, shape (|A|, K), and V, shape (|X|, K), of |X|^(-1/2) G_XA^T = U D V^T."""

    matrix: np.ndarray
    right: np.ndarray


class _Estimate(NamedTuple):
    """Memberships before the threshold and the standard deviation of their noise, both of shape (n, K)."""

    values: np.ndarray
    noise: np.ndarray


def partitioned(
    adjacency: sparse.csr_array,
    n_components: int,
    alpha0: float,
    *,
    seed: int = 0,
    method: str = "adaptive",
    n_jobs: int | None = None,
) -> Partitioned:
    """Learn overlapping communities from five parts of a graph.

    Parameters
    ----------
    adjacency : csr_array of shape (n, n)
        G, symmetric or directed, with the weight of the edge from i to j in row i. Directed graphs are seen through the
        edges that leave a node.
    n_components : int
        K.
    alpha0 : float
        Sum of the Dirichlet parameters; 0 for one community a node.
    seed : int
        Deals the nodes to the parts.
    method : {"adaptive", "power", "polar", "joint"}
        How `latentia.tensor.decompose` takes the tensor apart. The first two start from whitened neighbourhoods;
        "adaptive" is Algorithm 7.3. In dense graphs with alpha_0 up to .3 all agree. Where communities are hard to tell
        apart, or alpha_0 is near 1, the noise of the whitening leaves components that are not orthogonal, and power
        iterations may miss one; "polar" and "joint" are more accurate then.
    n_jobs : int, optional
        Threads of sparse products; results do not depend on it.

    Returns
    -------
    Partitioned
        A named tuple (memberships, shares, connectivity, weights, support_average).

    Raises
    ------
    LatentiaError
        If the edges between two parts have a rank below K, or a community is left without nodes.

    Warns
    -----
    EvidenceWarning
        If edges inside communities are not more likely than across them, H <= L. The memberships are then those of
        Algorithm 8.1, which does not need it.

    References
    ----------
    R. Ge, Provable algorithms for machine learning problems, thesis 2013, chapter 8. A. Anandkumar, R. Ge, D. Hsu, S.
    Kakade, A tensor approach to learning mixed membership community models, JMLR 15, 2014.
    """
    _check(adjacency, n_components, alpha0, method)
    with single_blas_thread():
        task = _Task(adjacency, n_components, alpha0, seed, method, n_jobs)
        return _learned(task, _assign_folds(adjacency.shape[0], seed))


def _learned(task: _Task, parts: _Parts) -> Partitioned:
    """Algorithms 8.1 and 8.3 on given parts."""
    # Memberships of all nodes but those of A, then of all but those of Y, and their columns in one order
    weights, shares, first = _memberships(task, parts)
    _, _, second = _memberships(task, parts.turned())
    second = _aligned(second, first, np.concatenate([parts.X, parts.B, parts.C]))
    thesis = first.copy()
    thesis[parts.A] = second[parts.A]
    # Averages over the communities so found, and memberships by them
    averages = _averages(task, parts, thesis, second)
    if averages is None:
        memberships, support = thesis, np.full_like(thesis, np.nan)
    else:
        memberships, support = _thresholded(averages, task.alpha0, shares), averages.values
    return Partitioned(memberships, shares, _connectivity(task, memberships), weights, support)


def _check(adjacency: Any, n_components: int, alpha0: float, method: str) -> None:
    if not sparse.issparse(adjacency) or adjacency.format != "csr" or adjacency.shape[0] != adjacency.shape[1]:
        raise LatentiaError("adjacency must be a csr_array with the same nodes in rows and columns.")
    if not (np.isfinite(alpha0) and alpha0 >= 0):
        raise LatentiaError("a number of at least 0 is needed.", parameter="alpha0", value=alpha0)
    if method not in _METHODS:
        raise LatentiaError(f"use one of {', '.join(map(repr, _METHODS))}.", parameter="method", value=method)
    smallest = adjacency.shape[0] // _PARTS
    if not 1 <= n_components <= smallest:
        raise _too_many(
            n_components,
            f"the {adjacency.shape[0]} nodes make five parts of {smallest} nodes or a few more, and each part needs "
            "at least as many nodes as there are communities",
        )


def _too_many(n_components: int, reason: str) -> LatentiaError:
    return LatentiaError(
        f"{reason}. Look for fewer communities, or use a method that does not divide the graph.",
        parameter="n_components",
        value=n_components,
    )


def _assign_folds(n_nodes: int, seed: int) -> _Parts:
    """Five random parts whose sizes differ by one at most."""
    order = np.random.default_rng(seed).permutation(n_nodes)
    return _Parts(*(np.sort(part) for part in np.array_split(order, _PARTS)))


# --- Algorithm 8.2 ------------------------------------------------------------------------------------------------


def _memberships(task: _Task, parts: _Parts) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """lambda, alpha hat, and memberships of all nodes; the rows of nodes in A are of no use."""
    weights, mapping = _rotation(task, parts)
    shares = weights**-2 / np.sum(weights**-2)
    estimate = _sums(task.graph, parts.A, mapping, task.n_jobs)
    return weights, shares, _thresholded(estimate, task.alpha0, shares)


def _rotation(task: _Task, parts: _Parts) -> tuple[np.ndarray, np.ndarray]:
    """lambda, shape (K,), and the map from edges into A to memberships, W_A Phi Diag(lambda)^-1, shape (|A|, K)."""
    from_x, from_y = task.graph[parts.X], task.graph[parts.Y]
    leaves = (parts.A, parts.B, parts.C)
    white = [_whitened(from_x[:, nodes], task) for nodes in leaves]
    matrices = [white[0].matrix, *(_turned_to(white[0], other) for other in white[1:])]
    stars = [
        sparse_product(from_y[:, nodes], matrix, task.n_jobs) for nodes, matrix in zip(leaves, matrices, strict=True)
    ]
    tensor = _whitened_tensor(stars, task.alpha0)
    if not tensor.any():
        raise _too_many(
            task.n_components, "no node of one part has edges to three others: there are no 3-stars to count"
        )
    options = _options(task, parts, matrices[0])
    method: Any = task.method
    weights, vectors, _ = decompose(tensor, task.n_components, task.seed, method, **options)
    return weights, matrices[0] @ (vectors.T / weights)


def _whitened(block: sparse.csr_array, task: _Task) -> _Whitened:
    """Whitening matrix of the modified adjacency (8.6) of one part."""
    operator = _modified(block, task.alpha0, task.n_jobs)
    options = {"n_passes": _PASSES, "oversample": _OVERSAMPLE, "random_state": task.seed}
    u, values, vt = block_krylov_svd(operator, task.n_components, **options)
    rank = int((values > _LEAST * values[0]).sum())
    if rank < task.n_components:
        raise _too_many(
            task.n_components,
            f"edges from one part of the nodes to another have rank {rank}, and {task.n_components} is needed",
        )
    return _Whitened(vt.T * (np.sqrt(block.shape[0]) / values), u)


def _modified(block: sparse.csr_array, alpha0: float, n_jobs: int | None) -> LinearOperator:
    """The matrix sqrt(alpha_0 + 1) G - (sqrt(alpha_0 + 1) - 1) 1 mu^T, sparse plus rank one (8.6)."""
    turned = sparse.csr_array(block.T)
    root = float(np.sqrt(alpha0 + 1))
    mean = (np.asarray(block.sum(axis=0), dtype=np.float64) / block.shape[0]).reshape(-1, 1)

    def forward(columns: np.ndarray) -> np.ndarray:
        columns = columns.reshape(len(columns), -1)
        return root * sparse_product(block, columns, n_jobs) - (root - 1) * (mean.T @ columns)

    def backward(columns: np.ndarray) -> np.ndarray:
        columns = columns.reshape(len(columns), -1)
        return root * sparse_product(turned, columns, n_jobs) - (root - 1) * mean * columns.sum(axis=0)

    return LinearOperator(
        block.shape, matvec=forward, rmatvec=backward, matmat=forward, rmatmat=backward, dtype=np.dtype(np.float64)
    )


def _turned_to(reference: _Whitened, other: _Whitened) -> np.ndarray:
    """W_B R_AB, shape (|B|, K), with R_AB = W_B^T G_XB^T G_XA W_A / |X| of matrices of rank K (8.14)."""
    return other.matrix @ (other.right.T @ reference.right)


def _whitened_tensor(stars: Sequence[np.ndarray], alpha0: float) -> np.ndarray:
    """Half of (8.7) in whitened coordinates and symmetrised, shape (K, K, K).

    Parameters
    ----------
    stars : three arrays of shape (|Y|, K)
        Whitened neighbourhoods of every node of Y in A, B and C.
    """
    a, b, c = stars
    means = [star.mean(axis=0) for star in stars]
    third = (alpha0 + 1) * (alpha0 + 2) * _mean_product(a, b, c)
    third += 2 * alpha0**2 * np.einsum("i,j,k->ijk", *means)
    pairs = (
        np.einsum("ij,k->ijk", a.T @ b, means[2])
        + np.einsum("ik,j->ijk", a.T @ c, means[1])
        + np.einsum("jk,i->ijk", b.T @ c, means[0])
    )
    third -= alpha0 * (alpha0 + 1) / len(a) * pairs
    return symmetrised(third / 2)


def _mean_product(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Mean of a_y (x) b_y (x) c_y over rows y."""
    n, k = a.shape
    total = np.zeros((k * k, k))
    rows = max(_BLOCK // (k * k), 1)
    for start in range(0, n, rows):
        part = slice(start, start + rows)
        total += np.einsum("yi,yj->yij", a[part], b[part]).reshape(-1, k * k).T @ c[part]
    return (total / n).reshape(k, k, k)


def _options(task: _Task, parts: _Parts, matrix: np.ndarray) -> dict[str, Any]:
    """For power iterations: starts at whitened neighbourhoods in A of all or many nodes of B, and 10 log n steps."""
    if task.method not in _POWER:
        return {}
    nodes, most = parts.B, max(_STARTS, 20 * task.n_components)
    if len(nodes) > most:
        nodes = np.random.default_rng(task.seed).choice(nodes, most, replace=False)
    starts = sparse_product(task.graph[nodes][:, parts.A], matrix, task.n_jobs)
    return {"starts": starts, "n_iter": int(np.ceil(10 * np.log(task.graph.shape[0])))}


# --- memberships --------------------------------------------------------------------------------------------------


def _sums(graph: sparse.csr_array, nodes: np.ndarray, weights: np.ndarray, n_jobs: int | None) -> _Estimate:
    """Weighted sums of every row's edges to some nodes, and their noise: independent edges of variance up to E[g^2]."""
    padded = np.zeros((graph.shape[1], weights.shape[1]))
    padded[nodes] = weights
    squares = sparse.csr_array((graph.data.astype(np.float64) ** 2, graph.indices, graph.indptr), shape=graph.shape)
    return _Estimate(
        sparse_product(graph, padded, n_jobs), np.sqrt(np.maximum(sparse_product(squares, padded**2, n_jobs), 0))
    )


def _thresholded(estimate: _Estimate, alpha0: float, shares: np.ndarray) -> np.ndarray:
    """Entries above the noise, and the largest of a row, as rows of sum one; ``shares`` where none is positive."""
    values = estimate.values
    kept = np.zeros_like(values)
    rows = np.arange(len(values))
    best = values.argmax(axis=1)
    kept[rows, best] = np.maximum(values[rows, best], 0)
    if alpha0 > 0:
        cut = noise_multiple(alpha0, _STRICT)
        kept = np.where((values > cut * estimate.noise) & (values > 0), values, kept)
    sums = kept.sum(axis=1, keepdims=True)
    return np.where(sums > 0, kept / np.where(sums > 0, sums, 1.0), shares)


def _aligned(found: np.ndarray, reference: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """Columns of ``found`` in the order of those of ``reference`` that they are closest to on some nodes."""
    of_found, _ = match_components(found[nodes].T, reference[nodes].T)
    return found[:, of_found]


def _mean_weights(memberships: np.ndarray, alpha0: float) -> np.ndarray:
    """Q^T, shape (|Z|, K), of nodes Z: (alpha_0 + 1) pi_i / sum of pi_i - alpha_0 / |Z|; Pi Q^T is about the unit."""
    sums = memberships.sum(axis=0)
    if (sums <= 0).any():
        k = len(sums)
        raise _too_many(k, f"no node was found for {int((sums <= 0).sum())} of {k} communities")
    return (alpha0 + 1) * memberships / sums - alpha0 / len(memberships)


def _connectivity(task: _Task, memberships: np.ndarray) -> np.ndarray:
    """Q G Q^T, shape (K, K)."""
    q = _mean_weights(memberships, task.alpha0)
    return q.T @ sparse_product(task.graph, q, task.n_jobs)


# --- Algorithm 8.3 ------------------------------------------------------------------------------------------------


def _averages(task: _Task, parts: _Parts, thesis: np.ndarray, second: np.ndarray) -> _Estimate | None:
    """(G_SZ Q_Z^T - L) / (H - L) for every part S, where Z are other parts; None where H <= L.

    Memberships ``thesis`` rest on edges into A, those of A itself and all of ``second`` on edges into Y. Of the nodes
    in A and Y, averages are taken over the other three parts, with memberships that rest on edges into the other one of
    the two.
    """
    values, noise = np.empty_like(thesis), np.empty_like(thesis)
    for name, nodes in parts._asdict().items():
        left_out = [parts.A, parts.Y] if name in "AY" else [nodes]
        others = np.setdiff1d(np.arange(len(thesis)), np.concatenate(left_out))
        held = second if name == "A" else thesis
        sums = _sums(task.graph[nodes], others, _mean_weights(held[others], task.alpha0), task.n_jobs)
        connectivity = _mean_weights(held[nodes], task.alpha0).T @ sums.values
        inside, across = inside_and_across(connectivity)
        if inside <= across:
            warn(
                f"Edges inside of communities have a mean of {inside:.3g} and those across one of {across:.3g}: "
                "Algorithm 8.3 needs more inside. The memberships are those of Algorithm 8.1.",
                EvidenceWarning,
            )
            return None
        values[nodes] = (sums.values - across) / (inside - across)
        noise[nodes] = sums.noise / (inside - across)
    return _Estimate(values, noise)
