"""Topic models with guarantees."""

from .anchor_topics import AnchorTopics
from .embedding_topics import EmbeddingTopics
from .prevalence import Prevalence
from .single_topic import SingleTopicModel
from .spectral_lda import SpectralLDA

__all__ = ["AnchorTopics", "EmbeddingTopics", "Prevalence", "SingleTopicModel", "SpectralLDA"]
