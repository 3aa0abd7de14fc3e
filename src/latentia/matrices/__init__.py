"""Matrices of probabilities of pairs."""

from ._topics import PairTopics
from .probability_matrix import ProbabilityMatrix

__all__ = ["PairTopics", "ProbabilityMatrix"]
