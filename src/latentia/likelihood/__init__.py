"""Likelihoods: updates of a pass for every model, and the one driver of EM."""

from .coordinates import Chances, Distributions, Expected, Gaussians, Values
from .em import EStep, Model, Refine, Refinement, over, refine

__all__ = [
    "Chances",
    "Distributions",
    "EStep",
    "Expected",
    "Gaussians",
    "Model",
    "Refine",
    "Refinement",
    "Values",
    "over",
    "refine",
]
