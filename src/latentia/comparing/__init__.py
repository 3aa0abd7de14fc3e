"""Comparisons of fitted models: which components of two models are the same, within their errors."""

from .matching import Match, Pair, match
from .profile import Profile

__all__ = ["Match", "Pair", "Profile", "match"]
