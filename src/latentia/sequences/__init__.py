"""Models of sequences."""

from .spectral_hmm import SpectralHMM

__all__ = ["SpectralHMM"]
