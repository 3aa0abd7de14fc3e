"""Inference of the causes of a row, given a network: one algorithm a file."""

from .attribution import attributions
from .network import Network
from .posterior import posteriors
from .questions import questions
from .records import ENUMERATION, QUICKSCORE, SAMPLING, SEARCH, Posteriors

__all__ = [
    "ENUMERATION",
    "QUICKSCORE",
    "SAMPLING",
    "SEARCH",
    "Network",
    "Posteriors",
    "attributions",
    "posteriors",
    "questions",
]
