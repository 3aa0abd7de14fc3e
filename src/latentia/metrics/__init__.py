"""Measures of recovery, of topics, clusters and sources, and of held-out fit."""

from .clustering import many_to_one_accuracy
from .coherence import npmi_coherence, top_words, umass_coherence, unique_words
from .held_out import completion_log_likelihood, completion_perplexity, split_tokens
from .matching import l1_distances, match_components, nearest_distances, nearest_other_distance, recovery_errors
from .separation import amari_index

__all__ = [
    "amari_index",
    "completion_log_likelihood",
    "completion_perplexity",
    "l1_distances",
    "many_to_one_accuracy",
    "match_components",
    "nearest_distances",
    "nearest_other_distance",
    "npmi_coherence",
    "recovery_errors",
    "split_tokens",
    "top_words",
    "umass_coherence",
    "unique_words",
]
