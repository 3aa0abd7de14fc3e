"""Sample sizes and error bounds that the theorems promise, one module per paper or thesis chapter.

The theorems leave out constant factors; ``constant`` stands for all of them and is 1 by default. The numbers are therefore
orders of magnitude: they show how far away the proven regime is, and which quantity to improve.
"""

from .communities import community_strength, support_threshold
from .detection import kesten_stigum, two_state_detection
from .factorizations import (
    ApproximateFactorizationBounds,
    approximate_factorization_bounds,
    robust_loner_noise_limit,
)
from .labels import MultiLabelErrors, multilabel_documents, multilabel_errors
from .noisy_or import noisy_or_causes, noisy_or_error, noisy_or_rows
from .tensors import tensor_noise_limit, tensor_samples
from .topics import anchor_noise_limit, dirichlet_topic_documents, l1_condition_number, topic_documents

__all__ = [
    "ApproximateFactorizationBounds",
    "MultiLabelErrors",
    "anchor_noise_limit",
    "approximate_factorization_bounds",
    "community_strength",
    "dirichlet_topic_documents",
    "kesten_stigum",
    "l1_condition_number",
    "multilabel_documents",
    "multilabel_errors",
    "noisy_or_causes",
    "noisy_or_error",
    "noisy_or_rows",
    "robust_loner_noise_limit",
    "support_threshold",
    "tensor_noise_limit",
    "tensor_samples",
    "topic_documents",
    "two_state_detection",
]
