"""Statistics of the data that the decompositions start from."""

from .additive import WIDEST, CountSums, Sums, check_width
from .cooccurrence import Cooccurrence, WordCounts
from .cumulants import (
    FourthGram,
    cross_cumulant,
    cumulants_to_moments,
    k_factors,
    moments_to_cumulants,
    set_partitions,
)
from .documents import DocumentMoments, WordMoments, WordTriples, lda_corrected, leading_words
from .fourth import FourthMoments, FourthSums, KStatistics
from .framed import FramedSums
from .graphs import Graph, as_graph
from .observed import ObservedColumns, filled, observed_columns
from .pairs import PairCounts, count_pairs, symmetric_counts
from .products import third_moment
from .residuals import (
    Left,
    independent_rows,
    left_across_views,
    left_of_tensor,
    left_within_views,
    means_given_middle,
)
from .span import ColumnSpan, select_columns, span_of, span_of_moments, span_without_constants
from .sparse_products import gathered
from .thinning import FoldCounts, split_counts
from .vectors import (
    ColumnMoments,
    Coordinates,
    VectorMoments,
    VectorSums,
    all_column_moments,
    column_moments,
    principal_coordinates,
)
from .views import CommonFrame, ViewMoments, ViewSums, common_frame, frame_noise
from .wide import WideSums

__all__ = [
    "WIDEST",
    "ColumnMoments",
    "ColumnSpan",
    "CommonFrame",
    "Cooccurrence",
    "Coordinates",
    "CountSums",
    "DocumentMoments",
    "FoldCounts",
    "FourthGram",
    "FourthMoments",
    "FourthSums",
    "FramedSums",
    "Graph",
    "KStatistics",
    "Left",
    "ObservedColumns",
    "PairCounts",
    "Sums",
    "VectorMoments",
    "VectorSums",
    "ViewMoments",
    "ViewSums",
    "WideSums",
    "WordCounts",
    "WordMoments",
    "WordTriples",
    "all_column_moments",
    "as_graph",
    "check_width",
    "column_moments",
    "common_frame",
    "count_pairs",
    "cross_cumulant",
    "cumulants_to_moments",
    "filled",
    "frame_noise",
    "gathered",
    "independent_rows",
    "k_factors",
    "lda_corrected",
    "leading_words",
    "left_across_views",
    "left_of_tensor",
    "left_within_views",
    "means_given_middle",
    "moments_to_cumulants",
    "observed_columns",
    "principal_coordinates",
    "select_columns",
    "set_partitions",
    "span_of",
    "span_of_moments",
    "span_without_constants",
    "split_counts",
    "symmetric_counts",
    "third_moment",
]
