"""Statistics of the data that the decompositions start from."""

from .admixture import AdmixtureUpdate, fold_in
from .cooccurrence import Cooccurrence, WordCounts
from .multinomial import WordSampler

__all__ = ["AdmixtureUpdate", "Cooccurrence", "WordCounts", "WordSampler", "fold_in"]
