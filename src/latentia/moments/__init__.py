"""Statistics of the data that the decompositions start from."""

from .absences import (
    AbsenceMoments,
    CountedAbsences,
    ExactAbsences,
    LogAbsences,
    PackedRows,
    PackedRowsSum,
    Partition,
)
from .cooccurrence import Cooccurrence, WordCounts
from .documents import DocumentMoments, WordMoments, WordTriples, lda_corrected, leading_words
from .findings import binary_rows, present_findings
from .fourth import FourthMoments, FourthSums
from .labelled import (
    DiagonalMoments,
    Factors,
    LabelledCounts,
    LabelledSums,
    LabelsToWords,
    OccurrenceCubes,
    OccurrenceMoments,
    OccurrenceProducts,
    OccurrenceSums,
    TopicMoments,
    WordsToLabels,
    diagonal_moments,
    frequent_words,
    gathered,
)
from .lags import lagged_coordinates, one_hot_blocks, past_and_future
from .left import Left, left_across_views, left_of_tensor, left_within_views
from .pairs import PairCounts, count_pairs, symmetric_counts
from .products import third_moment
from .thinning import split_counts
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

__all__ = [
    "AbsenceMoments",
    "ColumnMoments",
    "CommonFrame",
    "Cooccurrence",
    "Coordinates",
    "CountedAbsences",
    "DiagonalMoments",
    "DocumentMoments",
    "ExactAbsences",
    "Factors",
    "FourthMoments",
    "FourthSums",
    "LabelledCounts",
    "LabelledSums",
    "LabelsToWords",
    "Left",
    "LogAbsences",
    "OccurrenceCubes",
    "OccurrenceMoments",
    "OccurrenceProducts",
    "OccurrenceSums",
    "PackedRows",
    "PackedRowsSum",
    "PairCounts",
    "Partition",
    "TopicMoments",
    "VectorMoments",
    "VectorSums",
    "ViewMoments",
    "ViewSums",
    "WordCounts",
    "WordMoments",
    "WordTriples",
    "WordsToLabels",
    "all_column_moments",
    "binary_rows",
    "column_moments",
    "common_frame",
    "count_pairs",
    "diagonal_moments",
    "frame_noise",
    "frequent_words",
    "gathered",
    "lagged_coordinates",
    "lda_corrected",
    "leading_words",
    "left_across_views",
    "left_of_tensor",
    "left_within_views",
    "one_hot_blocks",
    "past_and_future",
    "present_findings",
    "principal_coordinates",
    "split_counts",
    "symmetric_counts",
    "third_moment",
]
