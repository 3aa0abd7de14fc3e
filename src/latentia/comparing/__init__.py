"""Comparisons of components: of two fitted models, and of one on coarser levels, within their errors."""

from .levels import Join, Levels
from .matching import Match, Pair, match
from .profile import Profile

__all__ = ["Join", "Levels", "Match", "Pair", "Profile", "match"]
