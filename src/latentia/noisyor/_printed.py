"""Algorithm 1 of the paper as printed, with its Algorithms 2 to 4: one partition, no correction.

Findings beyond those that are partitioned (see ``max_triples``) get their strengths from their pairs with these.

What is mended: inside Q_a stands the best rank-m approximation (as in Theorem 2.10; Algorithm 4 leaves it out), and Q_a is
symmetrised; what is left of F beyond its range maps to nu_u; rho^(-1/3) in Algorithm 4 is (rho / (1 - rho))^(-1/3), as
Proposition A.2 has it. If the prior is not given, Q is not scaled, and the tensor's eigenvalues tell rho.
"""

from __future__ import annotations

import numpy as np

from ..exceptions import LatentiaError
from ..papers.tensors import robust_orthogonal_decomposition
from ._recovery import odds_of, ordered_network
from .absences import AbsenceMoments, Partition
from .inference import Network


def recover_as_printed(
    source: AbsenceMoments,
    groups: tuple[int, ...],
    partition: Partition,
    n_components: int,
    *,
    prior: float | None,
    max_weight: float,
    seed: int,
    progress: bool = False,
) -> Network:
    """Network from the rows of some groups, by one partition."""
    logs = source.logs(groups)
    whitening = _whitening(logs.pmi, partition, n_components, prior)
    inverse = [vectors / roots for vectors, roots in whitening]
    cube = source.contracted(partition, inverse, groups, progress and "triples")
    values, triple = robust_orthogonal_decomposition(cube, n_components, random_state=seed)
    if len(values) < n_components:
        raise LatentiaError(
            f"the moments have {len(values)} components that can be told apart. Ask for at most that many causes, or use "
            "corrections and more partitions.",
            parameter="n_components", value=n_components,
        )  # fmt: skip
    # Coordinates in an eigenbasis of Q, so that Q^(1/2) u = E diag(roots) u.
    odds = odds_of(values, prior)
    scale = odds**-0.5 if prior is None else odds ** (-1 / 3)
    strengths = np.zeros((n_components, source.n_features))
    for part, (vectors, roots), units in zip(partition, whitening, triple, strict=True):
        own = scale[:, None] * ((units * roots) @ vectors.T)
        strengths[:, part] = own * np.where(own.sum(axis=1, keepdims=True) < 0, -1.0, 1.0)
    used = np.concatenate([np.asarray(part) for part in partition])
    rest = np.setdiff1d(np.arange(source.n_features), used)
    if len(rest):  # findings whose triples were not counted: their pairs with the others, which are F^T diag(odds) F
        strengths[:, rest] = np.linalg.lstsq(
            (odds[:, None] * strengths[:, used]).T, logs.pmi[np.ix_(used, rest)], None
        )[0]
    return ordered_network(strengths, odds, logs.single, max_weight)


def _whitening(
    pmi: np.ndarray, partition: Partition, n_components: int, prior: float | None
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Algorithm 4: leading eigenvectors of Q_a, Q_b and Q_c, (size, K), and square roots of their eigenvalues, (K,)."""
    scale = 1.0 if prior is None else (prior / (1 - prior)) ** (-1 / 3)
    found = []
    for turn in range(3):
        a, b, c = (partition[(turn + i) % 3] for i in range(3))
        q = scale * pmi[np.ix_(a, b)] @ _pseudo_inverse(pmi[np.ix_(b, c)], n_components).T @ pmi[np.ix_(c, a)]
        values, vectors = np.linalg.eigh((q + q.T) / 2)
        if values[-n_components] <= 0:
            raise LatentiaError(
                f"a whitening matrix of Algorithm 4 has {int((values > 0).sum())} positive eigenvalues. Ask for at most that "
                "many causes, or use corrections and more partitions.",
                parameter="n_components", value=n_components,
            )  # fmt: skip
        found.append((vectors[:, -n_components:], np.sqrt(values[-n_components:])))
    return found


def _pseudo_inverse(matrix: np.ndarray, rank: int) -> np.ndarray:
    """Moore-Penrose inverse of the best approximation of a rank."""
    u, s, vt = np.linalg.svd(matrix, full_matrices=False)
    return (vt[:rank].T / s[:rank]) @ u[:, :rank].T
