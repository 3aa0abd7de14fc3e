"""What the benchmarks of topics share: real corpora, their held-out documents and labels, measures, and medians."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from _common import DATA
from joblib import Memory
from scipy import sparse
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from latentia import metrics
from latentia.datasets import planted
from latentia.passes import Blocks, row_groups
from latentia.topics import AnchorTopics

ALPHA = 0.1  # tomotopy's default Dirichlet parameter of a topic, where its own optimisation of them starts
FIRST_SEED = 300
SUBJECTS = {
    "comp": range(2, 7),
    "forsale": range(7, 8),
    "rec": range(8, 12),
    "sci": range(12, 16),
    "politics": range(17, 20),
    "religion": (1, 16, 20),
}  # numbers of the 20 groups, in alphabetical order from 1


# --- corpora ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Split:
    """Counts of the documents to learn from and of held-out ones."""

    name: str
    train: sparse.csr_array
    test: sparse.csr_array


@cache
def counts_of(folder: str, part: str = "") -> sparse.csr_array:
    """Counts of all documents of a folder of the shared data, with part="-train" or "-test" of these."""
    return sparse.csr_array(Blocks.from_files(DATA / folder / f"docword{part}.txt.gz", cache=False).table())


@cache
def newsgroups_words() -> np.ndarray:
    """Columns of 20 Newsgroups that are kept, bool, shape (V,).

    Left out are stop words, words of fewer than three letters, and those in fewer than 5 or more than 30% of the training
    documents.
    """
    table = counts_of("newsgroups20", "-train")
    frequency = np.bincount(table.indices, minlength=table.shape[1])
    words = (DATA / "newsgroups20" / "vocab.txt").read_text().split("\n")[: table.shape[1]]
    named = np.array([len(word) > 2 and word not in ENGLISH_STOP_WORDS for word in words])
    return (frequency >= 5) & (frequency <= 0.3 * table.shape[0]) & named


def associated_press(seed: int = 0) -> Split:
    """Associated Press, with one document in five held out."""
    counts = counts_of("ap")
    held = row_groups(np.arange(counts.shape[0]), 5, seed) == 0
    return Split("Associated Press", counts[~held], counts[held])


def newsgroups(seed: int | None = None) -> Split:
    """20 Newsgroups with its own test documents; with a seed nine in ten of the training documents."""
    train, test = (counts_of("newsgroups20", part)[:, newsgroups_words()] for part in ("-train", "-test"))
    return Split("20 Newsgroups", train[nine_in_ten(train.shape[0], seed)], test)


def titles(seed: int | None = None) -> Split:
    """Titles of papers with the test titles of the source; with a seed nine in ten of the training titles."""
    train, test = (counts_of("m10", part) for part in ("-train", "-test"))
    return Split("titles", train[nine_in_ten(train.shape[0], seed)], test)


def newsgroups_subjects(seed: int | None = None) -> tuple[sparse.csr_array, np.ndarray]:
    """Training documents of 20 Newsgroups that have words, and which of six subjects their group belongs to."""
    groups = np.loadtxt(DATA / "newsgroups20" / "labels-train.txt", dtype=int)
    subject = np.zeros(21, dtype=int)
    for i, numbers in enumerate(SUBJECTS.values()):
        subject[list(numbers)] = i
    counts = counts_of("newsgroups20", "-train")[:, newsgroups_words()]
    kept = nine_in_ten(len(groups), seed) & (counts.sum(axis=1) > 0)
    return counts[kept], subject[groups[kept]]


def nine_in_ten(n: int, seed: int | None) -> np.ndarray:
    """Rows that a seed keeps, bool, shape (n,); all without one."""
    return np.ones(n, dtype=bool) if seed is None else row_groups(np.arange(n), 10, seed) != 0


# --- fits -------------------------------------------------------------------------------------------------------


def compile_topics() -> None:
    """Fit a tiny corpus, so that no timed fit compiles."""
    tiny = planted.topic_corpus(300, n_topics=3, n_words=200)
    for refine in (0, "auto"):
        AnchorTopics(3, refine=refine).fit(tiny.counts).transform(tiny.counts)


def kept(task: Callable[..., Any], folder: Path | None) -> Callable[..., Any]:
    """A peer whose runs are kept in a folder, with the seconds that they took at the time; without one as it is."""
    return Memory(folder, verbose=0).cache(task)


# --- measures ---------------------------------------------------------------------------------------------------


def measure(
    corpus: str, name: str, topics: np.ndarray, alpha: np.ndarray, cpu: float, train: Any, test: Any, /, **more: Any
) -> dict[str, Any]:
    """Held-out fit of topics mixed with 5% of the word frequencies, and coherence and unique words of the 10 first words."""
    base = np.asarray(train.sum(axis=0)).ravel() / train.sum()
    smooth = 0.95 * topics + 0.05 * (0.999 * base + 0.001 / len(base))
    return {
        "corpus": corpus,
        "method": name,
        "perplexity": metrics.completion_perplexity(smooth, alpha, test),
        "npmi": metrics.npmi_coherence(topics, train).mean(),
        "umass": metrics.umass_coherence(topics, train).mean(),
        "unique": metrics.unique_words(topics).mean(),
        "cpu_s": cpu,
        **more,
    }


def medians(rows: Iterable[dict[str, Any]], by: Sequence[str]) -> list[dict[str, Any]]:
    """One row for each combination of the columns ``by``, in order of appearance, with medians of the other columns.

    A column that has no number in any of the rows is None.
    """
    groups: dict[tuple, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[column] for column in by), []).append(row)
    out = []
    for key, members in groups.items():
        row = dict(zip(by, key, strict=True))
        for column in (column for column in members[0] if column not in by):
            values = [member[column] for member in members if member[column] is not None]
            row[column] = np.median(values) if values else None
        out.append(row)
    return out


# --- command line -----------------------------------------------------------------------------------------------


def parsed(
    doc: str | None, topics: Sequence[int] | None = None, seeds: int = 3, **more: dict[str, Any]
) -> argparse.Namespace:
    """Options that these scripts share, with ``seeds`` as a list of numbers; ``more`` has one option each.

    Those with a default of ``topics`` compare with peers. ``suffix`` ends the name of the results.
    """
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one seed, fewest topics, small corpora; results apart")
    parser.add_argument("--seeds", type=int, default=seeds, help="how many")
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    parser.add_argument("--refine", type=lambda text: text if text == "auto" else int(text), default="auto")
    if topics is not None:
        parser.add_argument("--topics", type=int, nargs="+", default=list(topics))
        parser.add_argument("--keep", type=Path, help="folder in which runs of peers are kept for the next call")
    for name, option in more.items():
        parser.add_argument("--" + name.replace("_", "-"), **option)
    options = parser.parse_args()
    options.seeds = list(range(options.first_seed, options.first_seed + (1 if options.quick else options.seeds)))
    if options.quick and topics is not None:
        options.topics = options.topics[:1]
    options.suffix = "_quick" if options.quick else ""
    return options
