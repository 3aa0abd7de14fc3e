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
from .documents import DocumentMoments, WordMoments, WordTriples, correct_for_lda, leading_words
from .fourth import FourthCumulants, FourthMoments, FourthSums, KStatistics
from .framed import FramedSums
from .given import Cumulants, HiddenFourth, HiddenMoments, HiddenVectors
from .graphs import Graph, as_graph
from .observed import ObservedColumns, fill_missing, observed_columns
from .pairs import PairCounts, count_pairs, symmetric_counts
from .products import third_moment
from .residuals import (
    Residual,
    independent_rows,
    means_given_middle,
    residual_across_views,
    residual_within_views,
    tensor_residual,
)
from .span import ColumnSpan, select_columns, span_of, span_of_moments, span_without_constants
from .sparse_products import gather_products
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
    "Cumulants",
    "DocumentMoments",
    "FoldCounts",
    "FourthCumulants",
    "FourthGram",
    "FourthMoments",
    "FourthSums",
    "FramedSums",
    "Graph",
    "HiddenFourth",
    "HiddenMoments",
    "HiddenVectors",
    "KStatistics",
    "ObservedColumns",
    "PairCounts",
    "Residual",
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
    "correct_for_lda",
    "count_pairs",
    "cross_cumulant",
    "cumulants_to_moments",
    "fill_missing",
    "frame_noise",
    "gather_products",
    "independent_rows",
    "k_factors",
    "leading_words",
    "means_given_middle",
    "moments_to_cumulants",
    "observed_columns",
    "principal_coordinates",
    "residual_across_views",
    "residual_within_views",
    "select_columns",
    "set_partitions",
    "span_of",
    "span_of_moments",
    "span_without_constants",
    "split_counts",
    "symmetric_counts",
    "tensor_residual",
    "third_moment",
]
