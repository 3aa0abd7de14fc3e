"""Worlds on which evidence is audited, a file a family: some follow its model, some do not, and in some there is nothing."""

from __future__ import annotations

from importlib import import_module

from .world import Case, World

__all__ = ["FAMILIES", "Case", "World", "one_world", "worlds_of"]

FAMILIES = {
    "SphericalGaussianMixture": "gaussians",
    "MultiViewMixture": "views",
    "SpectralHMM": "chains",
    "TwoStateHMM": "two_states",
    "TensorICA": "sources",
    "SingleTopicModel": "single_topics",
    "SpectralLDA": "mixed_topics",
    "AnchorTopics": "anchors",
    "MomentMultiLabelClassifier": "labels",
    "NoisyOr": "causes",
    "ProbabilityMatrix": "matrices",
    "ContrastiveComponents": "contrastive",
    "ContrastivePCA": "contrastive",
    "ContrastiveRegression": "contrastive",
    "ContrastiveLogisticRegression": "contrastive",
    "ContrastiveGaussianMixture": "contrastive",
    "ContrastiveIsing": "contrastive",
    "RichComponents": "rich",
    "MixedMembershipBlockModel": "communities",
    "IncoherentDictionary": "dictionary",
    "SparseNetwork": "networks",
    "SeparableNMF": "nmf",
    "ApproximateNMF": "factors",
}


def worlds_of(family: str) -> list[World]:
    """The worlds of a family, in the order right, wrong, empty."""
    return [world for world in import_module(f"{__name__}.{FAMILIES[family]}").WORLDS if world.family == family]


def one_world(family: str, name: str) -> World:
    return next(world for world in worlds_of(family) if world.name == name)
