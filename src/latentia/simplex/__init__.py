"""Geometry of the simplex: its vertices among noisy points, and least squares constrained to it."""

from .distributions import distributions
from .least_squares import nonnegative_least_squares, simplex_least_squares
from .loners import Loners, distance_loners, exact_loners, hull_separation, loner_groups, robust_loners
from .selection import (
    Leading,
    affine_vertices,
    extreme_rays,
    nonnegative_projections,
    preconditioned_vertices,
    smoothed_vertices,
    squared_distances,
    whitened_vertices,
)
from .vertices import clean_up_vertices, farthest_vertices

__all__ = [
    "Leading",
    "Loners",
    "affine_vertices",
    "clean_up_vertices",
    "distance_loners",
    "distributions",
    "exact_loners",
    "extreme_rays",
    "farthest_vertices",
    "hull_separation",
    "loner_groups",
    "nonnegative_least_squares",
    "nonnegative_projections",
    "preconditioned_vertices",
    "robust_loners",
    "simplex_least_squares",
    "smoothed_vertices",
    "squared_distances",
    "whitened_vertices",
]
