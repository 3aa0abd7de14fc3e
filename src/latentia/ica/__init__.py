"""Independent components by tensor decomposition."""

from .tensor_ica import TensorICA

__all__ = ["TensorICA"]
