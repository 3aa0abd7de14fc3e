"""Models of sequences."""

from .spectral_hmm import SpectralHMM
from .two_state_hmm import TwoStateHMM

__all__ = ["SpectralHMM", "TwoStateHMM"]
