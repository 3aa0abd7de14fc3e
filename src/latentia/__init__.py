"""Latent-variable models by moments and spectral, tensor and combinatorial decompositions, with evidence.

Families are imported by name: ``from latentia.topics import AnchorTopics``.
"""

from typing import TYPE_CHECKING, Any

from .exceptions import LatentiaError, LatentiaWarning

if TYPE_CHECKING:
    from .persistence import load, save

__version__ = "0.1.0"

__all__ = ["LatentiaError", "LatentiaWarning", "__version__", "load", "save"]


def __getattr__(name: str) -> Any:
    """`load` and `save` when they are first asked for: they import scikit-learn, which takes a second."""
    if name in ("load", "save"):
        from . import persistence

        return getattr(persistence, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
