"""Show matches, levels and news on real data: 20 Newsgroups and Austen's novels, by halves and without a part, and two graphs.

python benchmarks/what_changed_real.py --parts graphs
"""

from __future__ import annotations

import argparse
import csv
import gzip
import random
import re
import subprocess
import sys
import tempfile
import warnings

import numpy as np
from _topics import DATA, counts_of, newsgroups_words
from scipy import sparse
from sklearn.metrics import normalized_mutual_info_score

import latentia
from latentia.communities import MixedMembershipBlockModel
from latentia.topics import AnchorTopics

N_TOPICS, N_ROWS, GROUPS = 20, 500, {"hockey": 11, "Christianity": 16}


def read_newsgroups(part):
    """Return counts, and the group of every document, from 1."""
    labels = np.loadtxt(DATA / "newsgroups20" / f"labels-{part}.txt", dtype=int)
    return counts_of("newsgroups20", f"-{part}")[:, newsgroups_words()], labels


def read_words():
    words = (DATA / "newsgroups20" / "vocab.txt").read_text().split("\n")
    return [word for word, is_used in zip(words, newsgroups_words(), strict=False) if is_used]


def show_topics():
    """Match the topics of two halves, and group those of all documents."""
    counts, words = read_newsgroups("train")[0], read_words()
    half = np.random.default_rng(700).permutation(counts.shape[0]) % 2
    first, second = (AnchorTopics(N_TOPICS, vocabulary=words).fit(counts[half == i]) for i in (0, 1))
    print(latentia.match(first, second))
    levels = AnchorTopics(N_TOPICS, vocabulary=words).fit(counts).levels()
    print(levels.headline, levels, sep="\n")


def show_news():
    """Measure news of batches of test documents, without and with 10% of a group that the model has not seen."""
    (counts, labels), (others, other_labels) = read_newsgroups("train"), read_newsgroups("test")
    for name, group in GROUPS.items():
        rng = np.random.default_rng(group)
        model = AnchorTopics(N_TOPICS, n_splits=0, vocabulary=read_words()).fit(counts[labels != group])
        old, new = others[other_labels != group], others[other_labels == group]
        order = rng.permutation(old.shape[0])
        reference, rest = old[order[:2000]], order[2000:]
        for n_new in (0, N_ROWS // 10):
            for _ in range(3):
                parts = [old[rng.permutation(rest)[: N_ROWS - n_new]], new[rng.permutation(new.shape[0])[:n_new]]]
                news = model.news(sparse.csr_array(sparse.vstack(parts)), reference=reference)
                n_found = sum(row >= N_ROWS - n_new for row in news.examples)
                print(
                    f"{name}, {n_new} of {N_ROWS} new: {news.headline} {n_found} of the examples are new.", flush=True
                )


def show_graphs():
    """Match the communities of two halves of the edges, and group those of all edges."""
    for name, k in (("football", 12), ("polblogs", 2)):
        with gzip.open(DATA / "graphs" / f"{name}.edges.txt.gz") as file:
            edges = np.loadtxt(file, dtype=int)
        labels, n = np.loadtxt(DATA / "graphs" / f"{name}.labels.txt", dtype=int), edges.max() + 1
        is_first = np.random.default_rng(700).random(len(edges)) < 0.5

        def fit(chosen, k=k, n=n):
            graph = sparse.coo_array((np.ones(len(chosen)), chosen.T), shape=(n, n))
            return MixedMembershipBlockModel(k).fit(sparse.csr_array(((graph + graph.T) > 0).astype(float)))

        model = fit(edges)
        print(f"{name}: {normalized_mutual_info_score(labels, model.labels_):.2f} mutual information with the labels")
        print(latentia.match(fit(edges[is_first]), fit(edges[~is_first])))
        levels = model.levels()
        print(levels.headline, levels, sep="\n")


def read_passages():
    """Return passages of 250 words or more, with their novel, of the first and of the second half of each novel's chapters."""
    halves = [], []
    for path in sorted((DATA / "austen").glob("*.txt.gz")):
        text = gzip.decompress(path.read_bytes()).decode(errors="replace")
        chapters = re.split(r"(?im)^\s*chapter\s+[ivxlc\d]+.*$", text)[1:]
        chapters = [chapter for chapter in chapters if len(chapter.split()) > 300]
        for i, chapter in enumerate(chapters):
            words, passages = [], halves[i >= len(chapters) / 2]
            for paragraph in re.split(r"\n\s*\n", chapter):
                words += paragraph.split()
                if len(words) >= 250:
                    passages.append((" ".join(words), path.name.split(".")[0]))
                    words = []
            passages += [(" ".join(words), path.name.split(".")[0])] if len(words) > 100 else []
    return halves


def show_austen():
    """Compare the topics of halves of Austen's novels by the commands, and the news of Emma in batches of the other novels."""
    first, second = read_passages()
    passages, rng = first + second, random.Random(1)
    old = [passage for passage in passages[1::2] if passage[1] != "emma"]
    emma = [passage for passage in passages[::2] + passages[1::2] if passage[1] == "emma"]
    rng.shuffle(old)
    rng.shuffle(emma)
    reference, rest = old[:400], old[400:]
    batches = {
        "without 1": rest[:250], "without 2": rest[250:500], "10% Emma": rest[:225] + emma[:25],
        "20% Emma": rest[225:425] + emma[25:75], "Emma": emma[75:325],
    }  # fmt: skip
    tables = {
        "first": first, "second": second, "reference": reference, "fit": [p for p in passages[::2] if p[1] != "emma"],
        "new": [(text, batch) for batch, part in batches.items() for text, _ in part],
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        for name, rows in tables.items():
            with open(f"{folder}/{name}.csv", "w", newline="") as file:
                csv.writer(file).writerows([("text", "part"), *rows])

        def call(command):
            print(f"latentia {command}", flush=True)
            subprocess.run([sys.executable, "-m", "latentia", *command.split()], cwd=folder, check=True)

        for name in ("first", "second", "fit"):
            call(f"topics {name}.csv --column text -k 10 --levels --no-cache --out of_{name}")
        call("compare of_first of_second --out compared")
        call("news of_fit new.csv --batch part --reference reference.csv --no-cache --out news")


PARTS = {"topics": show_topics, "news": show_news, "graphs": show_graphs, "austen": show_austen}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", nargs="*", default=list(PARTS))
    warnings.simplefilter("ignore")
    for part in parser.parse_args().parts:
        PARTS[part]()
