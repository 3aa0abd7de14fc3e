"""Latent-variable models by moments and spectral, tensor and combinatorial decompositions, with evidence.

Families are imported by name: ``from latentia.topics import AnchorTopics``.
"""

from .exceptions import LatentiaError, LatentiaWarning
from .persistence import load, save

__version__ = "0.1.0"

__all__ = ["LatentiaError", "LatentiaWarning", "__version__", "load", "save"]
