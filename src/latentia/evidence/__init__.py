"""What the theorems assume, measured on the data at hand, and how far the answer can be trusted."""

from . import bounds
from .checks import Bound, Check, Evidence, above, at_least, at_most, between, equal_to
from .parts import PartErrors, PartFits
from .settled import settled_checks
from .stability import half_split_errors
from .tensors import TensorMeasured, error_checks, separation_limit, tensor_checks, whitened_noise

__all__ = [
    "Bound",
    "Check",
    "Evidence",
    "PartErrors",
    "PartFits",
    "TensorMeasured",
    "above",
    "at_least",
    "at_most",
    "between",
    "bounds",
    "equal_to",
    "error_checks",
    "half_split_errors",
    "separation_limit",
    "settled_checks",
    "tensor_checks",
    "whitened_noise",
]
