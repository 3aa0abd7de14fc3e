"""Covariates and outcomes of memberships: designs by formula, errors by cluster, and what they are reported as."""

from .design import check_independent, clusters_of, columns_of, design_of
from .estimates import Estimates, Memberships, least_squares, moved, outcomes
from .results import Effects

__all__ = [
    "Effects",
    "Estimates",
    "Memberships",
    "check_independent",
    "clusters_of",
    "columns_of",
    "design_of",
    "least_squares",
    "moved",
    "outcomes",
]
