"""Decompositions of small tensors into rank-one components: nothing here sees the data."""

from .cp import als
from .decompose import Decomposition, decompose, decompose_operator
from .operators import SymmetricFour, SymmetricThree, multilinear, pair_products, symmetrise_modes, tensor_norm
from .polar import polar
from .whitened import MomentNoise, WhitenedDecomposition, apply_to_modes, decompose_whitened

__all__ = [
    "Decomposition",
    "MomentNoise",
    "SymmetricFour",
    "SymmetricThree",
    "WhitenedDecomposition",
    "als",
    "apply_to_modes",
    "decompose",
    "decompose_operator",
    "decompose_whitened",
    "multilinear",
    "pair_products",
    "polar",
    "symmetrise_modes",
    "tensor_norm",
]
