"""Planted data: generators that return the data together with the truth that made it."""

from .dictionaries import SparseCodes, sparse_codes
from .expansion import NetworkProperties, NetworkProperty, network_properties
from .factorizations import SeparableRows, separable_rows
from .graphs import PlantedCommunities, mixed_membership_graph
from .labels import LabelModelTruth, PlantedLabels, TopicTerms, label_model, labelled_corpus
from .matrices import PlantedBlocks, PlantedPairs, block_model, two_state_chain, word_distributions, word_pairs
from .mixtures import PlantedMixture, PlantedProducts, PlantedTable, gaussian_mixture, mixed_table, product_mixture
from .networks import (
    NetworkSamples,
    UncompressibleNetwork,
    sparse_network,
    threshold_margins,
    uncompressible_network,
)
from .noisy_or import NoisyOrTruth, PlantedFindings, noisy_or_network, qmr_network
from .sequences import (
    PlantedChain,
    PlantedCountChain,
    PlantedGaussianChain,
    count_chain,
    gaussian_chain,
    hidden_markov_chain,
)
from .sources import PlantedSources, independent_sources
from .topics import PlantedEmbeddings, PlantedTopics, TopicModelTruth, embedded_corpus, topic_corpus, topic_model
from .views import (
    PlantedComponents,
    PlantedContrast,
    PlantedViews,
    cases_and_controls,
    contrastive_views,
    grid_edges,
    rich_components,
)

__all__ = [
    "LabelModelTruth",
    "NetworkProperties",
    "NetworkProperty",
    "NetworkSamples",
    "NoisyOrTruth",
    "PlantedBlocks",
    "PlantedChain",
    "PlantedCommunities",
    "PlantedComponents",
    "PlantedContrast",
    "PlantedCountChain",
    "PlantedEmbeddings",
    "PlantedFindings",
    "PlantedGaussianChain",
    "PlantedLabels",
    "PlantedMixture",
    "PlantedPairs",
    "PlantedProducts",
    "PlantedSources",
    "PlantedTable",
    "PlantedTopics",
    "PlantedViews",
    "SeparableRows",
    "SparseCodes",
    "TopicModelTruth",
    "TopicTerms",
    "UncompressibleNetwork",
    "block_model",
    "cases_and_controls",
    "contrastive_views",
    "count_chain",
    "embedded_corpus",
    "gaussian_chain",
    "gaussian_mixture",
    "grid_edges",
    "hidden_markov_chain",
    "independent_sources",
    "label_model",
    "labelled_corpus",
    "mixed_membership_graph",
    "mixed_table",
    "network_properties",
    "noisy_or_network",
    "product_mixture",
    "qmr_network",
    "rich_components",
    "separable_rows",
    "sparse_codes",
    "sparse_network",
    "threshold_margins",
    "topic_corpus",
    "topic_model",
    "two_state_chain",
    "uncompressible_network",
    "word_distributions",
    "word_pairs",
]
