"""Exact factorizations, impossibility proofs and lower bounds of the nonnegative rank.

Each bound has a certificate that is checked without the search that found it.

Let M = A W have nonnegative factors of inner dimension r. The supports of the A_t W^t are r rectangles that cover the support
of M, so r is at least

- the size of a fooling set: positive cells of which no two lie in a common rectangle,
- the weight of the support, if cells have weights of which no rectangle has more than one: the dual of the fractional
  rectangle cover,
- the number of rectangles of a cover, the Boolean rank.

None of the three looks at values. The restricted cover does: it takes only rectangles that a factor of the same rank as M can
have, and reaches at most rank + 2.
"""

from ._boolean_rank import BooleanRank, boolean_rank_bound
from ._fooling_set import FoolingSet, fooling_set_bound
from ._polygons import PolygonPair, PolygonProof
from ._rectangle_cover import RectangleCover, rectangle_cover_bound
from ._restricted_cover import RestrictedCover, restricted_cover_bound
from ._results import Approximation, Factorization, Impossible, RankBounds, RankMinor, Undecided
from .exact_nmf import exact_nmf, nonnegative_rank

__all__ = [
    "Approximation",
    "BooleanRank",
    "Factorization",
    "FoolingSet",
    "Impossible",
    "PolygonPair",
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
