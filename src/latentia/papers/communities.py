"""Overlapping communities from five parts of a graph: Algorithms 8.1 to 8.3.

Edges from i to j have the mean pi_i^T P pi_j. Nodes are assigned at random to five parts X, Y, A, B, C. With F_A = Pi_A P^T,
the share alpha_i of community i, and the modified count T of 3-stars from Y to A, B, C,

    E[T / 2] = sum_i alpha_i (F_A)_i (x) (F_B)_i (x) (F_C)_i,                                   (8.7), (8.9)

and the singular vectors of the edges from X to A, B, C turn it into a symmetric tensor of dimension K with orthonormal
components, from which the memberships of the nodes outside of A follow.

The parts make the factors independent, as the theorems assume. Each step sees a fifth of the edges, so the algorithms need
dense graphs; `latentia.communities.MixedMembershipBlockModel` uses all edges at once.

Differences from the thesis:

1. The expectation of (8.7) is twice (8.9): the tensor is halved.
2. The tensor is formed in K dimensions only, from whitened neighbourhoods, and R_AB of (8.14) is V_B^T V_A of the two
   decompositions. `latentia.tensor.decompose` finds its components.
3. The two rotations of Algorithm 8.1 find the communities in different orders, which are matched on the nodes that both have.
4. The threshold tau is a multiple of the standard deviation of each entry's noise: 2.5 for alpha_0 up to .2, falling to 1.5 at
   alpha_0 = 1. With alpha_0 = 0, and in rows without an entry above tau, the largest entry alone stays. Rows are normalised.
5. Algorithm 8.3 subtracts alpha_0 / |Z| for averages over the nodes Z, not alpha_0 / n. The averages of a part come from all
   other parts, but only from memberships that were not computed from edges of that part.
6. The memberships are those of Algorithm 8.3's averages, with the same threshold: they use three or four times as many edges of
   a node as those of Algorithm 8.1, which serve to form the averages.
7. lambda^-2 does not sum to one, as noise in the whitening matrices makes all lambda too small. It is normalised.

Source: R. Ge, Provable algorithms for machine learning problems, PhD thesis, Princeton 2013, chapter 8.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.sparse.linalg import aslinearoperator
from scipy.spatial.distance import cdist

from ..exceptions import EvidenceWarning, LatentiaError, warn
from ..linalg import block_krylov_svd
from ..tensor import decompose
from ..tensor.operators import symmetrise_modes

_RELATIVE_RANK_TOLERANCE = 1e-7  # singular values below this share of the first are zero: they are roots of squares


class PartitionedCommunities(NamedTuple):
    """The answer of `partitioned_communities`; columns of all arrays are in one order.

    Attributes
    ----------
    memberships : ndarray of shape (n, K)
        Pi: rows sum to one. Nodes without informative edges get ``shares``.
    shares : ndarray of shape (K,)
        alpha, as lambda^-2 normalised to sum one.
    connectivity : ndarray of shape (K, K)
        P = Q G Q^T: expected weight of an edge from community to community.
    averages : ndarray of shape (n, K)
        (F - L) / (H - L) of Algorithm 8.3: memberships plus noise. NaN where H <= L.
    """

    memberships: np.ndarray
    shares: np.ndarray
    connectivity: np.ndarray
    averages: np.ndarray


class NodeParts(NamedTuple):
    """Numbers of the nodes in each part, in the roles of Algorithm 8.2."""

    X: np.ndarray
    Y: np.ndarray
    A: np.ndarray
    B: np.ndarray
    C: np.ndarray


class NoisyMemberships(NamedTuple):
    """Memberships before the threshold, and standard deviations of their noise, both of shape (n, K)."""

    values: np.ndarray
    noise: np.ndarray


def partitioned_communities(
    adjacency: sparse.csr_array, n_components: int, alpha0: float, random_state: int = 0
) -> PartitionedCommunities:
    """Learn overlapping communities from a random partition of the nodes in five (Algorithms 8.1 and 8.3).

    Parameters
    ----------
    adjacency : csr_array of shape (n, n)
        G: the weight of the edge from i to j in row i. Of directed graphs, the edges that leave a node are used.
    n_components : int
        K.
    alpha0 : float
        Sum of the Dirichlet parameters; 0 for one community a node.
    random_state : int
        Seed of the partition.

    Returns
    -------
    PartitionedCommunities

    Raises
    ------
    LatentiaError
        If the edges between two parts have a rank below K, or a community is left without nodes.

    Warns
    -----
    EvidenceWarning
        If edges inside communities are not more frequent than across them, H <= L. The memberships are then those of Algorithm
        8.1, which does not need it.
    """
    n_nodes = adjacency.shape[0]
    if not 1 <= n_components <= n_nodes // 5:
        raise _too_many_communities(n_components, f"{n_nodes} nodes make five parts of {n_nodes // 5} nodes")
    order = np.random.default_rng(random_state).permutation(n_nodes)
    parts = NodeParts(*(np.sort(part) for part in np.array_split(order, 5)))
    return learn_from_parts(adjacency, parts, n_components, alpha0)


def learn_from_parts(
    adjacency: sparse.csr_array, parts: NodeParts, n_components: int, alpha0: float
) -> PartitionedCommunities:
    """Run Algorithm 8.1 on given parts, and Algorithm 8.3 on its memberships."""
    # Memberships of all nodes but those of A, then, with the roles of Y and A interchanged, of all but those of Y
    shares, through_a = memberships_from_stars(adjacency, parts, n_components, alpha0)
    interchanged = parts._replace(Y=parts.A, A=parts.Y)
    through_y = memberships_from_stars(adjacency, interchanged, n_components, alpha0)[1]
    # Columns of both in one order
    shared = np.concatenate([parts.X, parts.B, parts.C])
    through_y = through_y[:, linear_sum_assignment(cdist(through_a[shared].T, through_y[shared].T, "cityblock"))[1]]
    memberships = through_a.copy()
    memberships[parts.A] = through_y[parts.A]
    # Averages over the members, and memberships from these
    averages = average_neighbours(adjacency, parts, memberships, through_y, alpha0)
    if averages is not None:
        memberships = cut_noise(averages, alpha0, shares)
    q = mean_weights(memberships, alpha0)
    values = np.full_like(memberships, np.nan) if averages is None else averages.values
    return PartitionedCommunities(memberships, shares, q.T @ (adjacency @ q), values)


# --- Algorithm 8.2 ------------------------------------------------------------------------------------------------


def memberships_from_stars(
    adjacency: sparse.csr_array, parts: NodeParts, n_components: int, alpha0: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return alpha, shape (K,), and memberships of all nodes, shape (n, K); the rows of nodes in A are of no use."""
    weights, rotation = rotate_stars(adjacency, parts, n_components, alpha0)
    shares = weights**-2 / np.sum(weights**-2)
    return shares, cut_noise(sum_edges(adjacency, parts.A, rotation), alpha0, shares)


def rotate_stars(
    adjacency: sparse.csr_array, parts: NodeParts, n_components: int, alpha0: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return lambda, shape (K,), and the map from edges into A to memberships, W_A Phi Diag(lambda)^-1, shape (|A|, K)."""
    leaves = (parts.A, parts.B, parts.C)
    whitenings, right = zip(
        *(whiten_edges(adjacency[parts.X][:, nodes], n_components, alpha0) for nodes in leaves), strict=True
    )
    # W_B R_AB with R_AB = W_B^T G_XB^T G_XA W_A / |X| of matrices of rank K (8.14)
    rotated = [whitening @ (v.T @ right[0]) for whitening, v in zip(whitenings, right, strict=True)]
    a, b, c = (adjacency[parts.Y][:, nodes] @ matrix for nodes, matrix in zip(leaves, rotated, strict=True))
    tensor = star_tensor(a, b, c, alpha0)
    if not tensor.any():
        raise _too_many_communities(n_components, "no node of Y has edges to A, B and C: there are no 3-stars to count")
    weights, vectors, _ = decompose(tensor, n_components)
    return weights, rotated[0] @ (vectors.T / weights)


def whiten_edges(block: sparse.csr_array, n_components: int, alpha0: float) -> tuple[np.ndarray, np.ndarray]:
    """Return W = U D^-1, shape (|A|, K), and V, shape (|X|, K), with |X|^(-1/2) G^T = U D V^T of the modified edges (8.6).

    These are sqrt(alpha_0 + 1) G - (sqrt(alpha_0 + 1) - 1) 1 mu^T: sparse plus rank one.
    """
    n_heads, root = block.shape[0], float(np.sqrt(alpha0 + 1))
    means = np.asarray(block.sum(axis=0), dtype=np.float64).reshape(1, -1) / n_heads
    mean_part = aslinearoperator(np.ones((n_heads, 1))) @ aslinearoperator(means)
    modified = root * aslinearoperator(block.astype(np.float64)) - (root - 1) * mean_part
    v, values, ut = block_krylov_svd(modified, n_components, n_passes=8, oversample=10)
    rank = int((values > _RELATIVE_RANK_TOLERANCE * values[0]).sum())
    if rank < n_components:
        raise _too_many_communities(n_components, f"edges from one part to another have rank {rank}")
    return ut.T * (np.sqrt(n_heads) / values), v


def star_tensor(a: np.ndarray, b: np.ndarray, c: np.ndarray, alpha0: float) -> np.ndarray:
    """Return half of (8.7) in whitened coordinates, symmetrise_modes, shape (K, K, K).

    Parameters
    ----------
    a, b, c : ndarray of shape (|Y|, K)
        Whitened neighbourhoods of every node of Y in A, B and C.
    """
    mean_a, mean_b, mean_c = a.mean(axis=0), b.mean(axis=0), c.mean(axis=0)
    third = (alpha0 + 1) * (alpha0 + 2) * np.einsum("yi,yj,yk->ijk", a, b, c, optimize=True) / len(a)
    third += 2 * alpha0**2 * np.einsum("i,j,k->ijk", mean_a, mean_b, mean_c)
    pairs = np.einsum("ij,k->ijk", a.T @ b, mean_c)
    pairs += np.einsum("ik,j->ijk", a.T @ c, mean_b)
    pairs += np.einsum("jk,i->ijk", b.T @ c, mean_a)
    return symmetrise_modes((third - alpha0 * (alpha0 + 1) / len(a) * pairs) / 2)


# --- memberships and averages -------------------------------------------------------------------------------------


def sum_edges(adjacency: sparse.csr_array, nodes: np.ndarray, weights: np.ndarray) -> NoisyMemberships:
    """Return weighted sums of every row's edges to some nodes, and their noise: independent edges of variance up to E[g^2]."""
    edges = adjacency[:, nodes].astype(np.float64)
    return NoisyMemberships(edges @ weights, np.sqrt(edges.power(2) @ weights**2))


def cut_noise(memberships: NoisyMemberships, alpha0: float, shares: np.ndarray) -> np.ndarray:
    """Keep entries above the threshold, or the largest of a row, as rows of sum one; ``shares`` where none is positive."""
    values = memberships.values
    best = np.arange(values.shape[1]) == values.argmax(axis=1)[:, None]
    above = best
    if alpha0 > 0:
        above = best | (values > np.interp(np.log(alpha0), np.log([0.2, 1.0]), [2.5, 1.5]) * memberships.noise)
    rows = np.where(above, np.maximum(values, 0), 0)
    sums = rows.sum(axis=1, keepdims=True)
    return np.where(sums > 0, rows / np.where(sums > 0, sums, 1.0), shares)


def mean_weights(memberships: np.ndarray, alpha0: float) -> np.ndarray:
    """Return Q^T, shape (|Z|, K): (alpha_0 + 1) pi_i / sum of pi_i - alpha_0 / |Z|; Pi Q^T is about the unit matrix."""
    sums = memberships.sum(axis=0)
    if (sums <= 0).any():
        raise _too_many_communities(len(sums), f"{int((sums <= 0).sum())} of {len(sums)} communities have no nodes")
    return (alpha0 + 1) * memberships / sums - alpha0 / len(memberships)


def average_neighbours(
    adjacency: sparse.csr_array, parts: NodeParts, memberships: np.ndarray, through_y: np.ndarray, alpha0: float
) -> NoisyMemberships | None:
    """Run Algorithm 8.3: (G_SZ Q_Z^T - L) / (H - L) for every part S, where Z are other parts; None where H <= L.

    ``memberships`` rest on edges into A, those of A itself and all of ``through_y`` on edges into Y. Averages of A and Y are
    taken over the other three parts, with memberships that rest on edges into the other one of the two.
    """
    values, noise = np.empty_like(memberships), np.empty_like(memberships)
    for name, nodes in parts._asdict().items():
        excluded = [parts.A, parts.Y] if name in "AY" else [nodes]
        others = np.setdiff1d(np.arange(len(memberships)), np.concatenate(excluded))
        independent = through_y if name == "A" else memberships
        sums = sum_edges(adjacency[nodes], others, mean_weights(independent[others], alpha0))
        connectivity = mean_weights(independent[nodes], alpha0).T @ sums.values
        k, total, trace = len(connectivity), connectivity.sum(), np.trace(connectivity)
        high, low = trace / k, (total - trace) / max(k * (k - 1), 1)
        if high <= low:
            warn(
                f"Algorithm 8.3 expects more edges inside communities than across; their means are {high:.3g} and {low:.3g}. "
                "The memberships are those of Algorithm 8.1.",
                EvidenceWarning,
            )
            return None
        values[nodes] = (sums.values - low) / (high - low)
        noise[nodes] = sums.noise / (high - low)
    return NoisyMemberships(values, noise)


def _too_many_communities(n_components: int, reason: str) -> LatentiaError:
    return LatentiaError(
        f"{reason}. Use fewer communities, or MixedMembershipBlockModel, which does not divide the graph.",
        parameter="n_components", value=n_components,
    )  # fmt: skip
