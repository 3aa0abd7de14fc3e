"""Statistics of the data that the decompositions start from."""

from .admixture import AdmixtureUpdate, fold_in
from .cooccurrence import Cooccurrence, WordCounts
from .documents import DocumentMoments, WordMoments, WordTriples, lda_corrected, leading_words
from .mixtures import MultinomialMixtureUpdate, multinomial_log_likelihood, multinomial_responsibilities
from .multinomial import WordSampler
from .products import third_moment

__all__ = [
    "AdmixtureUpdate",
    "Cooccurrence",
    "DocumentMoments",
    "MultinomialMixtureUpdate",
    "WordCounts",
    "WordMoments",
    "WordSampler",
    "WordTriples",
    "fold_in",
    "lda_corrected",
    "leading_words",
    "multinomial_log_likelihood",
    "multinomial_responsibilities",
    "third_moment",
]
