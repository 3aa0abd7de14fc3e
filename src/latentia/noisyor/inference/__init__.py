"""What is known of the causes of a row, given a network: one algorithm a file."""

from .attribution import attributions
from .network import Network
from .posterior import posteriors
from .records import ENUMERATION, QUICKSCORE, SAMPLING, Posteriors

__all__ = ["ENUMERATION", "QUICKSCORE", "SAMPLING", "Network", "Posteriors", "attributions", "posteriors"]
