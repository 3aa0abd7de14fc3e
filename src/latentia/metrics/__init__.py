"""Measures of recovery, of topics, clusters, communities, sources and atoms, of held-out fit, and of ranked labels.

Of ranked labels, by document: `precision_at_k`, `ndcg_at_k`, `document_auc`; that weigh rare labels by how seldom they are
recorded: `propensity_scored_precision_at_k` with `propensities`; of all pairs at once: `micro_auc`; and one number a label,
whose mean is the macro measure: `label_auc`, `label_f1`.
"""

from .atoms import atom_coherence, atom_distances
from .clustering import many_to_one_accuracy
from .coherence import cv_coherence, npmi_coherence, umass_coherence, unique_words
from .communities import link_auc, overlapping_f1, overlapping_nmi
from .described import describe, word_probabilities
from .held_out import completion_log_likelihood, completion_perplexity, split_tokens
from .matching import (
    l1_distances,
    match_components,
    nearest_distances,
    nearest_other_distance,
    nearest_others,
    recovery_errors,
)
from .ranking import (
    document_auc,
    label_auc,
    label_f1,
    micro_auc,
    ndcg_at_k,
    precision_at_k,
    propensities,
    propensity_scored_precision_at_k,
    top_indices,
)
from .relevance import RELEVANCE, frex, other_topics, relevance, top_words
from .separation import amari_index

__all__ = [
    "RELEVANCE",
    "amari_index",
    "atom_coherence",
    "atom_distances",
    "completion_log_likelihood",
    "completion_perplexity",
    "cv_coherence",
    "describe",
    "document_auc",
    "frex",
    "l1_distances",
    "label_auc",
    "label_f1",
    "link_auc",
    "many_to_one_accuracy",
    "match_components",
    "micro_auc",
    "ndcg_at_k",
    "nearest_distances",
    "nearest_other_distance",
    "nearest_others",
    "npmi_coherence",
    "other_topics",
    "overlapping_f1",
    "overlapping_nmi",
    "precision_at_k",
    "propensities",
    "propensity_scored_precision_at_k",
    "recovery_errors",
    "relevance",
    "split_tokens",
    "top_indices",
    "top_words",
    "umass_coherence",
    "unique_words",
    "word_probabilities",
]
