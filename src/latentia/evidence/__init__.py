"""What the theorems assume, measured on the data at hand, and how far the answer can be trusted."""

from . import bounds
from .checks import Check, Evidence
from .stability import half_split_errors, mean_nearest_distance
from .tensors import TensorMeasured, error_checks, tensor_checks, tensor_norm, whitened_noise

__all__ = [
    "Check",
    "Evidence",
    "TensorMeasured",
    "bounds",
    "error_checks",
    "half_split_errors",
    "mean_nearest_distance",
    "tensor_checks",
    "tensor_norm",
    "whitened_noise",
]
