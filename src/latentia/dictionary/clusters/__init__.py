"""Overlapping clusters of a graph from what shares them."""

from .bits import PackedGraph, connection_graph
from .graph import GraphClusters, recover_graph

__all__ = ["GraphClusters", "PackedGraph", "connection_graph", "recover_graph"]
