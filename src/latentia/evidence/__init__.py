"""What the theorems assume, measured on the data at hand, and how far the answer can be trusted."""

from . import bounds
from .checks import Check, Evidence
from .stability import EVERYONE, HALVES, errors_from_groups, half_split_errors, mean_nearest_distance
from .tensors import TensorMeasured, error_checks, tensor_checks, whitened_noise

__all__ = [
    "EVERYONE",
    "HALVES",
    "Check",
    "Evidence",
    "TensorMeasured",
    "bounds",
    "error_checks",
    "errors_from_groups",
    "half_split_errors",
    "mean_nearest_distance",
    "tensor_checks",
    "whitened_noise",
]
