"""Overlapping clusters from what shares them, graphs and hypergraphs of triples; and clusters of rows for EM to start from."""

from ._centres import label_starts, shares_of_labels

__all__ = [
    "label_starts",
    "shares_of_labels",
]
