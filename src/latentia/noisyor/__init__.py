"""Noisy-or networks: several causes, binary findings."""

from .absences import ExactAbsences
from .noisy_or import Diagnosis, Edge, NoisyOr

__all__ = ["Diagnosis", "Edge", "ExactAbsences", "NoisyOr"]
