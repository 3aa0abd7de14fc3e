"""Topics of all documents and of parts of them: recovered from anchors, then refined where that helps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np

from ..exceptions import LatentiaError
from ..likelihood import Refine, Refined
from ._anchors import Anchor
from ._collapsed import fit_in_memory
from ._corpus import Words
from ._embedding import Embedding, GroupSketches
from ._ordering import OwnOrder
from ._refine import RefinedTopics, led_astray, n_candidates, refine_topics

__all__ = ["PartTopics", "Recovered"]

_PART_TOL = 1e-3  # duality gap for parts of the documents, whose noise is far larger


@dataclass(frozen=True)
class Recovered:
    """Anchors, and topics (K, V') over the columns of the embedding that they were found in."""

    embedding: Embedding
    anchors: list[Anchor]
    topics: np.ndarray


class PartTopics:
    """Topics of groups of documents, each made when it is first asked for.

    Parameters
    ----------
    recover : callable
        ``recover(embedding, K, tol)``: anchors and topics of an embedding.
    sketches : GroupSketches
    words : Words
    order : OwnOrder
        Documents that are refined on.
    steps : int or "auto"
    given : bool
        Whether some anchors are the user's own, which stand.
    n_components, tol, n_jobs, progress
        As of the estimator.
    """

    def __init__(
        self,
        recover: Callable[[Embedding, int, float], Recovered],
        sketches: GroupSketches,
        words: Words,
        order: OwnOrder,
        *,
        steps: Refine,
        given: bool,
        n_components: int,
        tol: float,
        n_jobs: int | None = None,
        progress: bool = False,
    ) -> None:
        self._recover, self._sketches, self._words, self._order = recover, sketches, words, order
        self._steps, self._n_components, self._tol = steps, n_components, tol
        self._free = steps == "auto" and not given
        self._passes: dict[str, Any] = {"n_jobs": n_jobs, "progress": progress}
        self._all, self._halves = sketches.dealt.all, sketches.dealt.splits[:1]
        self.recovered: Callable[[tuple[int, ...]], np.ndarray] = cache(self._recovered)
        self._swept: Callable[[tuple[int, ...]], RefinedTopics] = cache(self._sweep)

    @cached_property
    def found(self) -> Recovered:
        """Anchors and topics of all documents."""
        return self._recover(self._sketches.embedding(self._all), self._n_components, self._tol)

    @cached_property
    def refining(self) -> bool:
        """Whether topics are refined."""
        return self._swept_at_all and not self._stray

    @property
    def n_sweeps(self) -> int:
        """Over all documents, those whose outcome was not kept as well."""
        return len(self._swept(self._all).refinement.log_likelihood) if self._swept_at_all else 0

    def refined(self, groups: tuple[int, ...]) -> Refined:
        """Topics of some groups after refinement, as `RefinedTopics`."""
        found = self._swept(groups) if self.refining else RefinedTopics.none(self.recovered(groups))
        return Refined(found, found.refinement)

    # --- recovery -----------------------------------------------------------------------------------------------

    def _recovered(self, groups: tuple[int, ...]) -> np.ndarray:
        """Topics of some groups over all words, (K, V)."""
        return self._words.spread(self.found.topics) if groups == self._all else self._of_part(groups, self._sketches)

    def _of_part(self, groups: tuple[int, ...], sketches: GroupSketches) -> np.ndarray:
        """Nothing else is kept of a part: its sketch is large."""
        tol = max(self._tol, _PART_TOL)
        return self._words.spread(self._recover(sketches.embedding(groups), self._n_components, tol).topics)

    # --- refinement ---------------------------------------------------------------------------------------------

    @cached_property
    def _n_entries(self) -> float:
        return float(self._words.document_frequency.sum())

    @cached_property
    def _rank(self) -> int:
        """Directions above the noise; none where it is not known."""
        embedding = self.found.embedding
        return int((embedding.spectrum > embedding.noise_edge()).sum()) if embedding.noise > 0 else 0

    @property
    def _n_tried(self) -> int:
        """Topics to start with: more than asked for, where the data has them."""
        return n_candidates(self._n_components, self._rank) if self._free else self._n_components

    def _candidates(self, groups: tuple[int, ...]) -> np.ndarray | None:
        """More topics than asked for, of some groups, to start a search from."""
        if self._n_tried == self._n_components:
            return None
        tol = self._tol if groups == self._all else max(self._tol, _PART_TOL)
        try:
            found = self._recover(self._sketches.embedding(groups, self._n_tried), self._n_tried, tol)
        except LatentiaError:
            return None
        return self._words.spread(found.topics)

    def _sweep(self, groups: tuple[int, ...]) -> RefinedTopics:
        dealt = self._sketches.dealt
        return refine_topics(
            self.recovered(groups),
            self._order.group(groups, dealt),
            self._words.probabilities,
            self._steps,
            soft=self._free,
            n_entries=self._n_entries * len(groups) / dealt.n,
            candidates=self._candidates(groups),
            **self._passes,
        )

    @cached_property
    def _swept_at_all(self) -> bool:
        if self._steps == "auto" and not fit_in_memory(self._n_entries, self._n_components):
            return self._n_tried > self._n_components  # otherwise what packed shares leave out is more than anchors err
        return self._steps != 0

    @cached_property
    def _stray(self) -> bool:
        """Whether sweeps lead away from topics that are known better, in data that carries no more than these."""
        if not self._free or self._rank > self._n_components or not self._halves:
            return False
        seedless = self._sketches.dealt_by(0)
        try:
            halves = [self._of_part(half, seedless) for half in self._halves[0]]
        except LatentiaError:
            return False
        return led_astray(self._swept(self._all).topics, self.recovered(self._all), halves)
