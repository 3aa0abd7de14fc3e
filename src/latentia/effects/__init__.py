"""Regression of memberships on covariates, and of outcomes on memberships: designs by formula, errors by cluster."""

from .estimates import Estimates, Memberships, least_squares, outcomes
from .results import Effects

__all__ = ["Effects", "Estimates", "Memberships", "least_squares", "outcomes"]
