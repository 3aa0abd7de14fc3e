"""Planted data with known truth, readers of real files, and a bundled corpus."""

from . import planted, readers
from .bundled import load_bible
from .pairs import Pairs, read_pairs, read_text_pairs
from .readers import Corpus

__all__ = ["Corpus", "Pairs", "load_bible", "planted", "read_pairs", "read_text_pairs", "readers"]
