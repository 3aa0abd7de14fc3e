"""Sparse deep networks, learned layer by layer."""

from .sparse_network import SparseNetwork

__all__ = ["SparseNetwork"]
