"""Planted data with known truth, readers of real files, and a bundled corpus."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import readers
from .arrays import read_array
from .bundled import load_bible
from .graphs import NewNodes, read_graph, read_new_nodes
from .images import image_from_patches, image_patches, read_image, read_patches, read_pictures
from .labelled import Labelled, read_labelled
from .pairs import KnownPairs, Pairs, match_pairs, read_pairs
from .readers import Corpus, Texts
from .sequences import Sequences, read_sequences
from .tables import read_table
from .text_pairs import read_text_pairs
from .views import Views, read_views

if TYPE_CHECKING:
    from . import instances, planted

__all__ = [
    "Corpus",
    "KnownPairs",
    "Labelled",
    "NewNodes",
    "Pairs",
    "Sequences",
    "Texts",
    "Views",
    "image_from_patches",
    "image_patches",
    "instances",
    "load_bible",
    "match_pairs",
    "planted",
    "read_array",
    "read_graph",
    "read_image",
    "read_labelled",
    "read_new_nodes",
    "read_pairs",
    "read_patches",
    "read_pictures",
    "read_sequences",
    "read_table",
    "read_text_pairs",
    "read_views",
    "readers",
]


def __getattr__(name: str) -> Any:
    """Import generators at their first use: readers of files do not need them."""
    if name in ("instances", "planted"):
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
