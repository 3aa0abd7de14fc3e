"""Clusters of rows that EM starts from."""

from .centres import label_starts, shares_of_labels

__all__ = ["label_starts", "shares_of_labels"]
