"""Matrices of probabilities of pairs."""

from ._binned import Binning
from ._topics import PairTopics
from .probability_matrix import ProbabilityMatrix

__all__ = ["Binning", "PairTopics", "ProbabilityMatrix"]
