"""Nonnegative matrix factorization with certificates: separable, exact and approximate; of counts."""

from .approximate_nmf import ApproximateNMF
from .exact import (
    Factorization,
    Impossible,
    RankBounds,
    Undecided,
    boolean_rank_bound,
    exact_nmf,
    fooling_set_bound,
    nonnegative_rank,
    rectangle_cover_bound,
    restricted_cover_bound,
)
from .partitions import hyperplane_partitions
from .poisson_nmf import PoissonNMF
from .separable_nmf import SeparableNMF

__all__ = [
    "ApproximateNMF",
    "Factorization",
    "Impossible",
    "PoissonNMF",
    "RankBounds",
    "SeparableNMF",
    "Undecided",
    "boolean_rank_bound",
    "exact_nmf",
    "fooling_set_bound",
    "hyperplane_partitions",
    "nonnegative_rank",
    "rectangle_cover_bound",
    "restricted_cover_bound",
]
