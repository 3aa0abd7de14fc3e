"""Geometry of the simplex: its vertices among noisy points, and least squares constrained to it."""

from .distributions import distributions
from .least_squares import nonnegative_least_squares, observed_least_squares, simplex_least_squares
from .loners import Loners, distance_loners, exact_loners, hull_separation, loner_groups, robust_loners
from .vertices import clean_up_vertices, farthest_vertices

__all__ = [
    "Loners",
    "clean_up_vertices",
    "distance_loners",
    "distributions",
    "exact_loners",
    "farthest_vertices",
    "hull_separation",
    "loner_groups",
    "nonnegative_least_squares",
    "observed_least_squares",
    "robust_loners",
    "simplex_least_squares",
]
