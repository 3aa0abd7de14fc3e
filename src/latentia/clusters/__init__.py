"""Clusters of rows as starting points of EM."""

from .centres import label_starts, shares_of_labels

__all__ = ["label_starts", "shares_of_labels"]
