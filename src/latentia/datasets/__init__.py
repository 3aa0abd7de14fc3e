"""Planted data with known truth, readers of real files, and a bundled corpus."""

from . import instances, planted, readers
from .bundled import load_bible
from .graphs import read_graph
from .images import image_from_patches, image_patches, read_image
from .pairs import Pairs, read_pairs
from .readers import Corpus, Texts
from .tables import read_table
from .text_pairs import read_text_pairs

__all__ = [
    "Corpus",
    "Pairs",
    "Texts",
    "image_from_patches",
    "image_patches",
    "instances",
    "load_bible",
    "planted",
    "read_graph",
    "read_image",
    "read_pairs",
    "read_table",
    "read_text_pairs",
    "readers",
]
