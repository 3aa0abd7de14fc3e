"""What the theorems assume, measured on the data at hand, and how far the answer can be trusted."""

from . import bounds
from .checks import Check, Evidence
from .stability import half_split_errors

__all__ = ["Check", "Evidence", "bounds", "half_split_errors"]
