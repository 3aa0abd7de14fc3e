"""Register of the families of models, for the command line, pages, tests and benchmarks."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

__all__ = ["FAMILIES", "Family", "estimator", "estimators", "family_of"]


@dataclass(frozen=True)
class Family:
    """Family of models. The record holds names only, so that families are imported on demand.

    Attributes
    ----------
    package : str
        Package of its estimators, below ``latentia``.
    command : str
        Command; with ``_`` for ``-`` also its module and function in `latentia.cli`.
    headline : str
        What the command does, for the list of commands and its help.
    estimators : tuple of str
        Names of the classes; the command fits the first one by default.
    page : str
        Module of `latentia.report`.
    applied : str
        File that ``latentia apply`` writes; empty if models cannot be applied.
    reads : str
        Input of ``latentia apply``: "rows" of a table, "texts", or "other".
    plain : tuple of str
        Estimators with the generic page.
    """

    package: str
    command: str
    headline: str
    estimators: tuple[str, ...]
    page: str
    applied: str
    reads: Literal["rows", "texts", "other"] = "rows"
    plain: tuple[str, ...] = ()

    @property
    def module(self) -> str:
        """Name of the modules of its command."""
        return self.command.replace("-", "_")

    def classes(self) -> list[type[Any]]:
        """Import and return the estimators."""
        package = import_module(f".{self.package}", __package__)
        return [getattr(package, name) for name in self.estimators]


FAMILIES = (
    Family(
        "topics", "topics", "Learn topics of documents and write tables, a model and a report.",
        ("AnchorTopics", "SpectralLDA", "SingleTopicModel", "EmbeddingTopics"), "topics", "documents.csv", "texts",
    ),
    Family(
        "multilabel", "labels",
        "Learn which labels text has, predict those of new text, and write tables, a model and a report.",
        ("MomentMultiLabelClassifier",), "labels", "predictions.csv", "texts",
    ),
    Family(
        "sequences", "hmm", "Learn a hidden Markov model of sequences and write tables, a model and a report.",
        ("SpectralHMM", "TwoStateHMM"), "hmm", "paths.csv", "other",
    ),
    Family(
        "mixtures", "mixture",
        "Learn a mixture of components of the rows of a table and write tables, a model and a report.",
        ("SphericalGaussianMixture", "MultiViewMixture"), "mixture", "labels.csv",
    ),
    Family(
        "ica", "ica", "Separate mixed signals into independent sources and write tables, a model and a report.",
        ("TensorICA",), "ica", "sources.csv",
    ),
    Family(
        "noisyor", "noisy-or",
        "Learn hidden causes of findings that are present or absent and write tables, a network and a report.",
        ("NoisyOr",), "noisy_or", "posteriors.csv",
    ),
    Family(
        "matrices", "matrix",
        "Learn the probability of every pair, nearest words, or communities, and write tables and a report.",
        ("ProbabilityMatrix",), "matrix", "pairs.csv", "other",
    ),
    Family(
        "communities", "communities",
        "Find overlapping communities of a graph, and write tables, a model and a report.",
        ("MixedMembershipBlockModel",), "communities", "memberships.csv", "other",
    ),
    Family(
        "dictionary", "dictionary",
        "Learn a dictionary of patterns, of which rows (or image patches) are sums, and write tables, a model and a report.",
        ("IncoherentDictionary",), "dictionary", "codes.csv",
    ),
    Family(
        "deep", "network",
        "Learn a sparse network of hidden units above columns that are on or off, and write tables, a model and a report.",
        ("SparseNetwork",), "network", "codes.csv",
    ),
    Family(
        "nmf", "nmf",
        "Find the rows of which all others are mixtures, and the shares, and write tables, a model and a report.",
        ("SeparableNMF", "ApproximateNMF", "PoissonNMF"), "nmf", "weights.csv", plain=("ApproximateNMF", "PoissonNMF"),
    ),
    Family(
        "contrastive", "contrast",
        "Find the part of one table that another table of the same rows or columns lacks; write tables, a model and a report.",
        (
            "ContrastivePCA", "ContrastiveComponents", "ContrastiveRegression", "ContrastiveLogisticRegression",
            "ContrastiveGaussianMixture", "ContrastiveIsing", "RichComponents", "BackgroundPCA",
        ), "contrast", "scores.csv", plain=("RichComponents", "BackgroundPCA"),
    ),
)  # fmt: skip
"""All families, in the order of the list of commands."""


def family_of(name: str) -> Family | None:
    """Return the family of an estimator, by the name of its class."""
    return next((family for family in FAMILIES if name in family.estimators), None)


def estimators() -> tuple[str, ...]:
    """Return the names of all estimators."""
    return tuple(name for family in FAMILIES for name in family.estimators)


def estimator(name: str) -> type[Any]:
    """Return an estimator by the name of its class."""
    family = family_of(name)
    if family is None:
        raise ValueError(f"Expected the name of an estimator, found {name!r}.")
    return next(cls for cls in family.classes() if cls.__name__ == name)
