"""Comparisons within errors: components of two models, coarser levels of one model, and news in other rows."""

from .drift import Drift, measure_drift
from .levels import Join, Levels
from .matching import Match, Pair, match
from .news import News
from .profile import Profile

__all__ = ["Drift", "Join", "Levels", "Match", "News", "Pair", "Profile", "match", "measure_drift"]
