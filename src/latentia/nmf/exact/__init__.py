"""Exact factorizations, impossibility proofs and lower bounds of the nonnegative rank."""

from ._lower_bounds import (
    BooleanRank,
    FoolingSet,
    RectangleCover,
    RestrictedCover,
    boolean_rank_bound,
    fooling_set_bound,
    rectangle_cover_bound,
    restricted_cover_bound,
)
from ._polygons import NestedPolygons, PolygonProof
from ._results import Approximation, Factorization, Impossible, RankBounds, RankMinor, Undecided
from .exact_nmf import exact_nmf, nonnegative_rank

__all__ = [
    "Approximation",
    "BooleanRank",
    "Factorization",
    "FoolingSet",
    "Impossible",
    "NestedPolygons",
    "PolygonProof",
    "RankBounds",
    "RankMinor",
    "RectangleCover",
    "RestrictedCover",
    "Undecided",
    "boolean_rank_bound",
    "exact_nmf",
    "fooling_set_bound",
    "nonnegative_rank",
    "rectangle_cover_bound",
    "restricted_cover_bound",
]
