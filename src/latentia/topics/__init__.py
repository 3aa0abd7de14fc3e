"""Topic models with guarantees."""

from ._prevalence import Prevalence
from .anchor_topics import AnchorTopics
from .single_topic import SingleTopicModel
from .spectral_lda import SpectralLDA

__all__ = ["AnchorTopics", "Prevalence", "SingleTopicModel", "SpectralLDA"]
