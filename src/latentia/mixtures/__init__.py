"""Mixtures by tensor decomposition."""

from .multi_view import MultiViewMixture
from .spherical import SphericalGaussianMixture

__all__ = ["MultiViewMixture", "SphericalGaussianMixture"]
