"""Overlapping clusters from what shares them: graphs, and hypergraphs of triples."""

from .bits import PackedGraph, connection_graph
from .graph import GraphClusters, recover_graph
from .hypergraph import TripleGraph, recover_graph_3wise, three_wise_graph

__all__ = [
    "GraphClusters",
    "PackedGraph",
    "TripleGraph",
    "connection_graph",
    "recover_graph",
    "recover_graph_3wise",
    "three_wise_graph",
]
