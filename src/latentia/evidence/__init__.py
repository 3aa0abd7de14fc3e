"""What the theorems assume, measured on the data at hand, and how far the answer can be trusted."""

from . import bounds
from .checks import Check, Evidence
from .stability import EVERYONE, HALVES, PartErrors, errors_from_groups, half_split_errors, mean_nearest_distance
from .tensors import TensorMeasured, error_checks, separation_limit, tensor_checks, whitened_noise

__all__ = [
    "EVERYONE",
    "HALVES",
    "Check",
    "Evidence",
    "PartErrors",
    "TensorMeasured",
    "bounds",
    "error_checks",
    "errors_from_groups",
    "half_split_errors",
    "mean_nearest_distance",
    "separation_limit",
    "tensor_checks",
    "whitened_noise",
]
