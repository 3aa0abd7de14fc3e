"""Multi-label classification of text."""

from ._explain import Explanation
from .moment_classifier import MomentMultiLabelClassifier

__all__ = ["Explanation", "MomentMultiLabelClassifier"]
