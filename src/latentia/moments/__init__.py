"""Statistics of the data that the decompositions start from."""

from .admixture import AdmixtureUpdate, fold_in
from .cooccurrence import Cooccurrence, WordCounts
from .documents import DocumentMoments, WordMoments, WordTriples, lda_corrected, leading_words
from .fourth import FourthMoments, FourthSums
from .hidden_markov import (
    GaussianChainUpdate,
    SymbolChainUpdate,
    forward_backward,
    gaussian_log_density,
    log_likelihood,
    viterbi,
)
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
from .labelled_mixtures import LabelledMixtureUpdate, LogProbabilities, log_probabilities, topic_posterior
from .lags import lagged_coordinates, one_hot_blocks, past_and_future, window_groups
from .mixtures import (
    MultinomialMixtureUpdate,
    ProductMixtureUpdate,
    SphericalMixtureUpdate,
    multinomial_log_likelihood,
    multinomial_responsibilities,
    product_log_density,
    spherical_log_density,
)
from .multinomial import WordSampler
from .products import third_moment
from .vectors import Coordinates, VectorMoments, VectorSums, all_column_moments, column_moments, principal_coordinates
from .views import CommonFrame, ViewMoments, ViewSums, common_frame, frame_noise

__all__ = [
    "AdmixtureUpdate",
    "CommonFrame",
    "Cooccurrence",
    "Coordinates",
    "DiagonalMoments",
    "DocumentMoments",
    "Factors",
    "FourthMoments",
    "FourthSums",
    "GaussianChainUpdate",
    "LabelledCounts",
    "LabelledMixtureUpdate",
    "LabelledSums",
    "LabelsToWords",
    "LogProbabilities",
    "MultinomialMixtureUpdate",
    "OccurrenceCubes",
    "OccurrenceMoments",
    "OccurrenceProducts",
    "OccurrenceSums",
    "ProductMixtureUpdate",
    "SphericalMixtureUpdate",
    "SymbolChainUpdate",
    "TopicMoments",
    "VectorMoments",
    "VectorSums",
    "ViewMoments",
    "ViewSums",
    "WordCounts",
    "WordMoments",
    "WordSampler",
    "WordTriples",
    "WordsToLabels",
    "all_column_moments",
    "column_moments",
    "common_frame",
    "diagonal_moments",
    "fold_in",
    "forward_backward",
    "frame_noise",
    "frequent_words",
    "gathered",
    "gaussian_log_density",
    "lagged_coordinates",
    "lda_corrected",
    "leading_words",
    "log_likelihood",
    "log_probabilities",
    "multinomial_log_likelihood",
    "multinomial_responsibilities",
    "one_hot_blocks",
    "past_and_future",
    "principal_coordinates",
    "product_log_density",
    "spherical_log_density",
    "third_moment",
    "topic_posterior",
    "viterbi",
    "window_groups",
]
