"""Planted data with known truth, readers of real files, and a bundled corpus."""

from . import planted, readers
from .bundled import load_bible
from .readers import Corpus

__all__ = ["Corpus", "load_bible", "planted", "readers"]
