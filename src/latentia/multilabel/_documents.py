"""Documents with label sets: counts of a first pass, and blocks in the form that topics and head need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..exceptions import LatentiaError, NonIntegerCountWarning, warn
from ..passes import Blocks, Plan, accumulate, follow
from ._features import inverse_document_frequency, view
from .moments import CountDocuments, DocumentCounts


@dataclass
class Passes:
    """Passes over documents, with a count of them."""

    blocks: Blocks
    n_jobs: int | None = None
    verbose: bool = False
    n: int = 0

    def sum(self, statistic: Any, label: str) -> Any:
        """Sum a statistic in one pass."""
        self.n += 1
        return accumulate(self.blocks, statistic, self.n_jobs, progress=self.verbose and label)

    def follow(self, plans: Sequence[Plan]) -> list[Any]:
        """Return the results of plans that share their passes."""
        results, n_passes = follow(self.blocks, plans, self.n_jobs, "pass {}" if self.verbose else "")
        self.n += n_passes
        return results


@dataclass(frozen=True)
class Documents:
    """Documents with label sets, after the pass that counts them.

    Attributes
    ----------
    passes : Passes
        Over blocks of words, label sets and, for a linear head, features.
    counts : DocumentCounts
    occurrences : bool
        Whether words are present or absent, not drawn one after the other.
    weights : ndarray of shape (D,) or None
        Inverse document frequencies; None if the words are weighted already.
    """

    passes: Passes
    counts: DocumentCounts
    occurrences: bool
    weights: np.ndarray | None

    @property
    def blocks(self) -> Blocks:
        return self.passes.blocks

    @property
    def words(self) -> np.ndarray:
        """Overall probabilities of the words, shape (D,): of being present, or of being drawn."""
        return overall_words(self.word_frequencies, self.occurrences)

    @property
    def word_frequencies(self) -> np.ndarray:
        """Share of the documents with the word, shape (D,)."""
        return self.counts.document_frequency / self.counts.n_rows

    @property
    def labels(self) -> np.ndarray:
        """Share of the documents with the label, shape (L,)."""
        return self.counts.label_counts / self.counts.n_rows


def read_documents(passes: Passes, moments: str, linear: bool, names: Any) -> Documents:
    """Count words and labels in one pass, refuse what cannot be learned from, and choose what words are.

    Parameters
    ----------
    passes : Passes
        Over blocks of words and label sets.
    moments : {"auto", "occurrence", "factorial"}
    linear : bool
        Whether a linear head needs features.
    names : sequence of str or None
        Names of the words, for messages.
    """
    (_, n_words), (_, n_labels) = passes.blocks.shapes[:2]
    counts: DocumentCounts = passes.sum(CountDocuments(n_words, n_labels, names), "counting words and labels")
    _check_contents(counts)
    if counts.fractional and moments == "factorial":
        warn(
            "moments='factorial' expects counts of words; X has fractions. Use moments='occurrence' for weights.",
            NonIntegerCountWarning,
        )
    whole_counts = not counts.fractional and counts.largest > 1
    occurrences = not (moments == "factorial" or (moments == "auto" and whole_counts))
    weights = None if counts.fractional else inverse_document_frequency(counts.document_frequency, counts.n_rows)
    blocks = view(passes.blocks, occurrences=occurrences, weights=weights, linear=linear)
    return Documents(Passes(blocks, passes.n_jobs, passes.verbose, passes.n), counts, occurrences, weights)


def overall_words(frequencies: np.ndarray, occurrences: bool) -> np.ndarray:
    """Return overall probabilities of words, given the share of documents with each, shape (D,)."""
    return frequencies if occurrences else frequencies / frequencies.sum()


def _check_contents(counts: DocumentCounts) -> None:
    n = counts.n_rows
    if not counts.label_counts.any():
        raise LatentiaError(f"None of the {n} rows has a label; expected 1 in some cells of Y.")
    if not counts.document_frequency.any():
        raise LatentiaError(f"None of the {n} rows has a word; expected positive entries of X.")
    if not counts.powers[3]:
        raise LatentiaError(f"None of the {n} rows has both words and labels. Check that X and Y belong together.")
