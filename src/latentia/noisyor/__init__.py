"""Noisy-or networks: several causes, binary findings."""

from .noisy_or import Diagnosis, Edge, NoisyOr

__all__ = ["Diagnosis", "Edge", "NoisyOr"]
