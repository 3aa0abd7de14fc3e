"""Algorithm 1 as it is printed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..exceptions import LatentiaError
from ..linalg import block_krylov_eigh
from ..moments.products import mirror_cube
from ..papers.tensors import robust_power_method
from ..passes import Folds, Plan
from ..tensor import decompose
from ..tensor.decompose import describe_components
from ..tensor.operators import SymmetricThree
from ._documents import Documents
from ._topics import Recovered, Topics
from .moments import Factors, OccurrenceCubes, OccurrenceProducts, TopicMoments

_KRYLOV = 6
_LEAST_WORD = 1e-10  # probability


@dataclass(frozen=True)
class PaperTopics:
    """The paper's Algorithm 1, whose words and labels sum to one, and whose posteriors are taken of them as they are.

    Attributes
    ----------
    n_components : int
    decomposition : {"polar", "power"}
    seed : int
    """

    n_components: int
    decomposition: Any
    seed: int

    def recover(self, documents: Documents, beside: Sequence[Plan], folds: Folds) -> tuple[Recovered, list[Any]]:
        """See `Recovery`. Its passes are its own."""
        results = documents.passes.follow(beside)
        seen, k = documents.seen, self.n_components
        every, once = np.arange(len(seen.document_frequency), dtype=np.int32), Factors(falling=False)

        def summed(statistic: Any) -> Any:
            return documents.passes.sum(statistic, "Algorithm 1")

        def second_moment(columns: np.ndarray) -> np.ndarray:
            return summed(OccurrenceProducts(columns, every, once))[0] / seen.powers[1]

        # Steps 1 to 3: eigenvectors of M_2 and the whitening matrix.
        values, vectors = block_krylov_eigh(second_moment, len(every), k, n_passes=_KRYLOV, random_state=self.seed)
        _check_rank(values, k)
        vectors = vectors * np.where(vectors.sum(axis=0) < 0, -1.0, 1.0)
        whitening, inverse = vectors / np.sqrt(values), vectors * np.sqrt(values)
        # Steps 4 and 5: the whitened third moment and its eigenvectors.
        cube = mirror_cube(summed(OccurrenceCubes(whitening, every))) / seen.powers[2]
        if self.decomposition == "power":
            eigenvectors = robust_power_method(cube, k, random_state=self.seed)[1]
            weights, rotation, info = describe_components(SymmetricThree(cube), eigenvectors, "power", 0, True)
        else:
            weights, rotation, info = decompose(cube, k, self.seed)
        weights, rotation = weights[::-1], rotation[::-1]  # pi = lambda^-2: the largest first
        # Steps 6 and 7: words. Eigenvectors have positive eigenvalues, so that their signs are settled.
        words = rotation @ inverse.T
        words /= words.sum(axis=1, keepdims=True)
        np.maximum(words, _LEAST_WORD, out=words)
        # Steps 8 and 9: labels.
        directions = whitening @ rotation.T
        labels = summed(TopicMoments(directions, every, once, len(seen.label_counts), diagonal=True, words=False))[1].T
        labels /= labels.sum(axis=1, keepdims=True)
        shares = weights**-2.0
        topics = Topics(words, labels, shares / shares.sum())
        return Recovered(topics, values, weights, info, float(shares.sum()), share=0.0), results


def _check_rank(values: np.ndarray, n_components: int) -> None:
    rank = int((values > len(values) * np.finfo(float).eps * values[0]).sum())
    if rank < n_components:
        raise LatentiaError(
            f"the words of the documents span {rank} directions, which carry at most that many topics.",
            at_most=rank, parameter="n_components", value=n_components,
        )  # fmt: skip
