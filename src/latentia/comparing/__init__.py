"""Comparisons of fitted models: which components of two models are the same, within their errors."""

from .match import Match, Pair, match
from .news import News
from .profile import Profile

__all__ = ["Match", "News", "Pair", "Profile", "match"]
