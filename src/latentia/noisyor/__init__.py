"""Noisy-or networks: several causes, binary findings."""

from ._methods import Diagnosis, Edge
from .absences import ExactAbsences
from .inference.questions import Question
from .noisy_or import NoisyOr

__all__ = ["Diagnosis", "Edge", "ExactAbsences", "NoisyOr", "Question"]
