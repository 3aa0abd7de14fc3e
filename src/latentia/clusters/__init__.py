"""Overlapping clusters from what shares them, graphs and hypergraphs of triples; and clusters of rows for EM to start from."""

from ._bits import PackedGraph, connection_graph
from ._centres import label_starts, shares_of_labels
from ._graph import GraphClusters, recover_graph
from ._hypergraph import TripleGraph, recover_graph_3wise, three_wise_graph

__all__ = [
    "GraphClusters",
    "PackedGraph",
    "TripleGraph",
    "connection_graph",
    "label_starts",
    "recover_graph",
    "recover_graph_3wise",
    "shares_of_labels",
    "three_wise_graph",
]
