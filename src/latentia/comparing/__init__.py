"""Comparisons within errors: components of two models, coarser levels of one model, and news in other rows."""

from .levels import Join, Levels
from .matching import Match, Pair, match
from .news import News
from .profile import Profile

__all__ = ["Join", "Levels", "Match", "News", "Pair", "Profile", "match"]
