"""Covariates and outcomes of memberships: designs by formula, errors by cluster, and what they are reported as."""

from .estimates import Estimates, Memberships, least_squares, outcomes
from .results import Effects

__all__ = ["Effects", "Estimates", "Memberships", "least_squares", "outcomes"]
