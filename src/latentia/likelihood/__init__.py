"""Likelihoods: the driver of EM, E-step updates that several models share, and samplers."""

from .admixture import fold_in, token_probabilities
from .coordinates import Chances, Distributions, Expected, Gaussians, Rates, Values
from .edges import draw_edges
from .em import EStep, Refine, Refined, Refinement, Update, converge, estimate_values, over, refine
from .gaussian import gaussian_log_density
from .given import MissingCells
from .multinomial import (
    STILL,
    LeaveOneOutUpdate,
    MultinomialMixtureUpdate,
    Responsibilities,
    multinomial_log_likelihood,
    multinomial_responsibilities,
)
from .racing import Race, race, race_updates
from .rows import log, normalised
from .sampling import WordSampler, noisy_or_rows
from .trivial import independent_features, single_gaussian

__all__ = [
    "STILL",
    "Chances",
    "Distributions",
    "EStep",
    "Expected",
    "Gaussians",
    "LeaveOneOutUpdate",
    "MissingCells",
    "MultinomialMixtureUpdate",
    "Race",
    "Rates",
    "Refine",
    "Refined",
    "Refinement",
    "Responsibilities",
    "Update",
    "Values",
    "WordSampler",
    "converge",
    "draw_edges",
    "estimate_values",
    "fold_in",
    "gaussian_log_density",
    "independent_features",
    "log",
    "multinomial_log_likelihood",
    "multinomial_responsibilities",
    "noisy_or_rows",
    "normalised",
    "over",
    "race",
    "race_updates",
    "refine",
    "single_gaussian",
    "token_probabilities",
]
