"""Geometry of the simplex: its vertices among noisy points, and least squares constrained to it."""

from .distributions import distributions
from .least_squares import nonnegative_least_squares, simplex_least_squares
from .vertices import clean_up_vertices, farthest_vertices, robust_loners

__all__ = [
    "clean_up_vertices",
    "distributions",
    "farthest_vertices",
    "nonnegative_least_squares",
    "robust_loners",
    "simplex_least_squares",
]
