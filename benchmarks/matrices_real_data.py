"""Claim: on real pairs the low-rank matrix predicts held-out pairs better than the marginals, and where counts are few more.

    python benchmarks/matrices_real_data.py [--quick]

Log-likelihood per held-out pair in nats, one pair in ten held out. Pairs: neighbouring words of the King James Bible and of the
Austen novels (words seen at least five times), and pairs of words of the same document of 20 Newsgroups (5,000 frequent words,
50 pairs a document). All models are of unordered pairs: rank one (smoothed marginals), add-one, interpolated back-off
(Witten-Bell: a word with T neighbours seen c times gives T / (c + T) to the marginals), KL-NMF of scikit-learn (50
components), ``shrink`` at several ranks, and with refine=10 and "auto"; all but back-off and add-one are mixed with 1% of the
marginals' product. Communities: share of nodes in the right class, classes matched, beside SpectralClustering. --quick: the
Bible alone, fewer ranks.
"""

from __future__ import annotations

import argparse
import gzip
import re
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from _common import DATA, report, timed
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import SpectralClustering
from sklearn.decomposition import NMF

from latentia.matrices import ProbabilityMatrix
from latentia.passes import Blocks

LEAST, RANKS = 5, (10, 30, 100)
WORDS = {"Bible": ("lord", "sea", "seven", "wept"), "Austen": ("emma", "sister", "happy", "london")}


def bigrams(names: Sequence[str]) -> tuple[sparse.csr_array, list[str]]:
    """Counts of neighbouring words and the words."""
    tokens: list[str] = []
    for name in names:
        with gzip.open(DATA / name, "rt", encoding="latin-1") as file:
            tokens += re.findall(r"[a-z]+(?:'[a-z]+)?", re.sub(r"^\w+:\d+", "", file.read().lower(), flags=re.M))
    words = [word for word, count in Counter(tokens).most_common() if count >= LEAST]
    numbers = {word: i for i, word in enumerate(words)}
    codes = np.array([numbers.get(token, -1) for token in tokens])
    first, second = codes[:-1], codes[1:]
    known = (first >= 0) & (second >= 0)
    shape = (len(words), len(words))
    return sparse.coo_array((np.ones(known.sum()), (first[known], second[known])), shape=shape).tocsr(), words


def document_pairs() -> tuple[sparse.csr_array, list[str]]:
    folder = DATA / "newsgroups20"
    parts = [Blocks.from_files(folder / f"docword-{part}.txt.gz").table() for part in ("train", "test")]
    X = sparse.vstack(parts, format="csr")
    vocabulary = (folder / "vocab.txt").read_text().split("\n")
    frequent = np.argsort(-np.asarray(X.sum(axis=0)).ravel(), kind="stable")[50:5050]
    X, rng = sparse.csr_array(X[:, frequent]), np.random.default_rng(0)
    firsts, seconds = [], []
    for row in range(X.shape[0]):
        part = slice(X.indptr[row], X.indptr[row + 1])
        tokens = np.repeat(X.indices[part], X.data[part].astype(int))
        if len(tokens) > 1:
            drawn = rng.permuted(np.tile(np.arange(len(tokens)), (50, 1)), axis=1)[:, :2]
            firsts.append(tokens[drawn[:, 0]])
            seconds.append(tokens[drawn[:, 1]])
    places = (np.concatenate(firsts), np.concatenate(seconds))
    table = sparse.coo_array((np.ones(len(places[0])), places), shape=(len(frequent),) * 2).tocsr()
    return table, [vocabulary[i] for i in frequent]


def held_out(counts: sparse.csr_array) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Nine tenths of the pairs and one."""
    drawn = np.random.default_rng(1).binomial(counts.data.astype(int), 0.1).astype(float)
    test, train = counts.copy(), counts.copy()
    test.data, train.data = drawn, counts.data - drawn
    test.eliminate_zeros()
    train.eliminate_zeros()
    return train, test


def peers(train: sparse.csr_array) -> dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]]:
    """Probabilities of pairs (i, j) under simple models."""
    both = sparse.csr_array(train + train.T)
    size, total, sums = both.shape[0], both.sum(), np.asarray(both.sum(axis=1)).ravel()
    smooth = (sums / total + 0.3 / size) / 1.3
    types = np.diff(both.indptr)

    def rank_one(i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return smooth[i] * smooth[j]

    def add_one(i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return (np.asarray(both[i, j]).ravel() + 1) / (total + size**2)

    def back_off(i: np.ndarray, j: np.ndarray) -> np.ndarray:
        given = (np.asarray(both[i, j]).ravel() + types[i] * smooth[j]) / (sums[i] + types[i])
        return smooth[i] * given

    model = NMF(50, beta_loss="kullback-leibler", solver="mu", init="nndsvda", max_iter=100, random_state=0)
    left = model.fit_transform(both.tocsr())
    weight = left.sum(axis=0) @ model.components_.sum(axis=1)

    def nmf(i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return 0.99 * (left[i] * model.components_.T[j]).sum(axis=1) / weight + 0.01 * smooth[i] * smooth[j]

    return {"rank one": rank_one, "add-one": add_one, "back-off": back_off, "KL-NMF, 50": nmf}


def text(name: str, counts: sparse.csr_array, words: list[str], ranks: Sequence[int]) -> list[dict[str, Any]]:
    train, test = held_out(counts)
    cells = test.tocoo()
    facts = {"data": name, "words": len(words), "pairs": counts.sum(), "pairs_a_word": counts.sum() / len(words)}
    rows = []
    done = timed(lambda: peers(train))
    for method, chance in done.value.items():
        value = cells.data @ np.log(chance(*cells.coords)) / cells.data.sum()
        rows.append(facts | {"method": method, "nats": value, "wall_s": done.wall if "NMF" in method else None})
    for rank in ranks:
        for refine in (0, 10, "auto"):
            fit = timed(lambda rank=rank, refine=refine: ProbabilityMatrix(
                rank, refine=refine, n_splits=0, vocabulary=words, n_jobs=-1).fit(train))  # fmt: skip
            model = fit.value
            row = {
                "method": f"rank {rank}" + (f", refine={refine}" if refine else ""),
                "nats": model.score(test),
                "wall_s": fit.wall,
            }
            rows.append(facts | row | {"kept": model.n_kept_, "expected": float(model.evidence_.component_errors[0])})
    model = ProbabilityMatrix(100, n_splits=0, vocabulary=words, n_jobs=-1).fit(counts)
    for word in WORDS.get(name, ("god", "windows", "hockey", "disk")):
        print(f"{name}, {word}:", ", ".join(other for other, _ in model.most_similar(word, 8)))
    return rows


def communities(name: str) -> list[dict[str, Any]]:
    with gzip.open(DATA / "graphs" / f"{name}.edges.txt.gz", "rt") as file:
        edges = np.loadtxt(file, dtype=int)
    labels = np.loadtxt(DATA / "graphs" / f"{name}.labels.txt", dtype=int)
    size, k = len(labels), len(np.unique(labels))
    table = sparse.coo_array((np.ones(len(edges)), tuple(edges.T)), shape=(size, size)).tocsr()
    adjacency = sparse.csr_array(((table + table.T) > 0).astype(float))

    def ours() -> np.ndarray:
        return ProbabilityMatrix(k, tau=0.5, n_splits=0).fit(adjacency).labels_

    def sklearn() -> np.ndarray:
        matrix = sparse.csr_matrix(adjacency)
        matrix.indices, matrix.indptr = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
        return SpectralClustering(k, affinity="precomputed", random_state=0).fit_predict(matrix)

    rows = []
    for method, task in (("ProbabilityMatrix", ours), ("SpectralClustering", sklearn)):
        done = timed(task)
        joint = np.zeros((k, k))
        np.add.at(joint, (np.unique(labels, return_inverse=True)[1], done.value), 1)
        right = joint[linear_sum_assignment(-joint)].sum() / size
        rows.append({"data": name, "nodes": size, "classes": k, "method": method, "right": right, "wall_s": done.wall})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    warnings.simplefilter("ignore")
    ranks = RANKS[:1] if quick else RANKS
    rows = text("Bible", *bigrams(["bible_kjv/kjv.txt.gz"]), ranks)
    if not quick:
        novels = sorted(f"austen/{path.name}" for path in (DATA / "austen").glob("*.txt.gz"))
        rows += text("Austen", *bigrams(novels), ranks)
        rows += text("20 Newsgroups", *document_pairs(), ranks)
    rows += [row for name in ("polblogs", "football") for row in communities(name)]
    report("matrices_real_data" + ("_quick" if quick else ""), rows)


if __name__ == "__main__":
    main()
