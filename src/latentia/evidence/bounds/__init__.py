"""Sample sizes and errors that the theorems promise, as functions: a module a paper, or a chapter of the thesis.

The theorems leave out constant factors; ``constant`` stands for all of them and is 1 by default. So the numbers are
orders of magnitude: what they tell is how far the proven regime is, and which quantity to improve.
"""

from .communities import (
    community_errors,
    community_strength,
    support_threshold,
)
from .contrastive import (
    biased_gradient_error,
    contrastive_map_error,
    contrastive_operations,
    contrastive_rows,
    rich_component_operations,
    rich_component_rows,
)
from .detection import (
    kesten_stigum,
    least_pair_eigenvalue,
    probability_matrix_pairs,
    two_state_detection,
)
from .dictionaries import (
    WeakDictionaryBounds,
    chance_of_common_neighbour,
    dictionary_rows,
    dictionary_sparsity,
    dictionary_svd,
    disjoint_product,
    piercing_probability,
    weak_dictionary,
)
from .factorizations import (
    ApproximateFactorizationBounds,
    LonerPrograms,
    PolynomialSystem,
    RobustLonerBounds,
    approximate_factorization_bounds,
    factorization_system,
    hyperplane_partition_count,
    hyperplane_partition_operations,
    loner_programs,
    robust_loner_bounds,
    robust_loner_noise_limit,
    simplicial_factorization_system,
)
from .labels import (
    MultiLabelErrors,
    multilabel_documents,
    multilabel_errors,
)
from .networks import (
    NetworkConditions,
    network_conditions,
    network_density,
    network_rows,
    third_moment_bounds,
    triple_recovery,
)
from .noisy_or import (
    noisy_or_causes,
    noisy_or_error,
    noisy_or_rows,
)
from .tensors import (
    tensor_noise_limit,
    tensor_samples,
    tensor_vector_error,
)
from .topics import (
    almost_anchor_cover,
    almost_anchor_noise_limit,
    anchor_cover,
    anchor_noise_limit,
    dirichlet_topic_documents,
    l1_condition_number,
    runoff_threshold,
    topic_documents,
)

__all__ = [
    "ApproximateFactorizationBounds",
    "LonerPrograms",
    "MultiLabelErrors",
    "NetworkConditions",
    "PolynomialSystem",
    "RobustLonerBounds",
    "WeakDictionaryBounds",
    "almost_anchor_cover",
    "almost_anchor_noise_limit",
    "anchor_cover",
    "anchor_noise_limit",
    "approximate_factorization_bounds",
    "biased_gradient_error",
    "chance_of_common_neighbour",
    "community_errors",
    "community_strength",
    "contrastive_map_error",
    "contrastive_operations",
    "contrastive_rows",
    "dictionary_rows",
    "dictionary_sparsity",
    "dictionary_svd",
    "dirichlet_topic_documents",
    "disjoint_product",
    "factorization_system",
    "hyperplane_partition_count",
    "hyperplane_partition_operations",
    "kesten_stigum",
    "l1_condition_number",
    "least_pair_eigenvalue",
    "loner_programs",
    "multilabel_documents",
    "multilabel_errors",
    "network_conditions",
    "network_density",
    "network_rows",
    "noisy_or_causes",
    "noisy_or_error",
    "noisy_or_rows",
    "piercing_probability",
    "probability_matrix_pairs",
    "rich_component_operations",
    "rich_component_rows",
    "robust_loner_bounds",
    "robust_loner_noise_limit",
    "runoff_threshold",
    "simplicial_factorization_system",
    "support_threshold",
    "tensor_noise_limit",
    "tensor_samples",
    "tensor_vector_error",
    "third_moment_bounds",
    "topic_documents",
    "triple_recovery",
    "two_state_detection",
    "weak_dictionary",
]
