"""Topic models with guarantees."""

from .anchor_topics import AnchorTopics
from .prevalence import Prevalence
from .single_topic import SingleTopicModel
from .spectral_lda import SpectralLDA

__all__ = ["AnchorTopics", "Prevalence", "SingleTopicModel", "SpectralLDA"]
