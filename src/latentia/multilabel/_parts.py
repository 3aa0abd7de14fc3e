"""Moments of parts of the documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..moments import WordMoments
from ..passes import Folds
from .moments import DiagonalMoments, OccurrenceMoments, OccurrenceSums


@dataclass
class PartMoments:
    """Moments of groups of documents, each computed once.

    Attributes
    ----------
    words : ndarray of int, shape (F,)
        Frequent words, which have coordinates.
    overall : ndarray of shape (F,)
        Frequencies of these words in all documents, on the scale of their probabilities.
    diagonal : DiagonalMoments or None
        Diagonal that is added to the moments of different words.
    """

    moments: OccurrenceMoments
    sums: OccurrenceSums
    words: np.ndarray
    overall: np.ndarray
    n_jobs: int | None = None
    diagonal: DiagonalMoments | None = None
    _cubes: dict[tuple[int, ...], np.ndarray] = field(default_factory=dict, repr=False)

    @property
    def folds(self) -> Folds:
        return self.moments.folds

    def combine(self, groups: Sequence[int]) -> WordMoments:
        """Return the moments of the documents of some groups together."""
        moments = self.moments.compute(self.sums, groups, self._cube(tuple(groups)))
        return self.diagonal.add_to(moments, self.moments.coordinates) if self.diagonal else moments

    def _cube(self, groups: tuple[int, ...]) -> np.ndarray:
        if groups not in self._cubes:
            parts = self.folds.splits[0] if groups == self.folds.all and self.folds.splits else ()  # sums add up
            self._cubes[groups] = (
                self._cube(parts[0]) + self._cube(parts[1])
                if parts
                else self.moments.cube(self.sums, groups, self.n_jobs)
            )
        return self._cubes[groups]
