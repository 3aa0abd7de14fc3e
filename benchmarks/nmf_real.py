"""Claim: anchors of words are topics that can be read; digits, of which none is pure, are said to be no such mixtures.

    python benchmarks/nmf_real.py [--only digits|words] [--show]

Words: 20 Newsgroups (the folder of data as ``LATENTIA_DATA``), words of 100 documents or more without stop words. Rows are
words and so are columns: log(1 + how often two words are in the same document / how often chance puts them there), 0 for a
word with itself. Components are words, and their entries other words; *npmi* is the coherence of the ten largest in the
documents, and *unique* how many of these are in no other component. Digits: 1,797 images of scikit-learn of 8 x 8 pixels;
every second one is learned from. *left*: |X - A W| / |X| of the rows that were learned from, and *left of others* of the rest.
scikit-learn's NMF has the start "nndsvda" and 1,000 rounds or until it has converged; for words it also has its usual input,
documents by words with tf-idf weights. CPU seconds on one thread.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from _common import DATA, report, timed
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.decomposition import NMF
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, TfidfTransformer
from threadpoolctl import threadpool_limits

from latentia.metrics import npmi_coherence, unique_words
from latentia.nmf import SeparableNMF
from latentia.passes import Blocks

DIGITS, WORDS = (10, 16, 32), (20, 40)
LEAST, MOST = 100, 0.2  # documents of a word, and their share
OURS: dict[str, dict[str, Any]] = {
    "SeparableNMF": {}, "n_splits=0": {"n_splits": 0}, 'n_splits=0, refine="auto"': {"n_splits": 0, "refine": "auto"},
}  # fmt: skip
TOP = 8


def left(model: Any, X: Any) -> float:
    rest = X - model.transform(X) @ model.components_
    return float(np.linalg.norm(rest) / np.linalg.norm(X.toarray() if sparse.issparse(X) else X))


def learners(r: int) -> dict[str, Any]:
    ours = {name: SeparableNMF(r, n_jobs=1, **given) for name, given in OURS.items()}
    return ours | {"scikit-learn NMF": NMF(r, init="nndsvda", max_iter=1000, random_state=0)}


def digits() -> list[dict[str, Any]]:
    images, rows = load_digits().data, []
    for r in DIGITS:
        for name, learner in learners(r).items():
            done = timed(lambda learner=learner: learner.fit(images[::2]))
            row = {"data": "digits", "r": r, "method": name, "left": left(done.value, images[::2])}
            row |= {"left of others": left(done.value, images[1::2]), "cpu_s": done.cpu, **said(done.value)}
            rows.append(row)
            print({key: round(v, 4) if isinstance(v, float) else v for key, v in row.items()}, flush=True)
    return rows


def corpus() -> tuple[sparse.csr_array, list[str]]:
    """Counts of words in documents, and the words."""
    folder = DATA / "newsgroups20"
    counts = sparse.csr_array(Blocks.from_files(folder / "docword-train.txt.gz", cache=False).table())
    words = (folder / "vocab.txt").read_text().split("\n")[: counts.shape[1]]
    documents = np.bincount(counts.indices, minlength=counts.shape[1])
    kept = (documents >= LEAST) & (documents <= MOST * counts.shape[0])
    kept &= np.array([len(word) > 2 and word not in ENGLISH_STOP_WORDS for word in words])
    return sparse.csr_array(counts[:, kept]), [word for word, keep in zip(words, kept, strict=True) if keep]


def together(counts: sparse.csr_array) -> np.ndarray:
    """log(1 + lift) of two words in a document, shape (n_words, n_words)."""
    present = (counts > 0).astype(np.float64)
    both = np.asarray((present.T @ present).toarray())
    documents = np.diag(both).copy()
    np.fill_diagonal(both, 0.0)
    return np.log1p(both * counts.shape[0] / np.outer(documents, documents))


def words(show: bool) -> list[dict[str, Any]]:
    counts, names = corpus()
    table, rows = together(counts), []
    tfidf = TfidfTransformer(sublinear_tf=True).fit_transform(counts)
    print(f"{counts.shape[0]} documents, {len(names)} words")
    for r in WORDS:
        for name, learner in learners(r).items():
            done = timed(lambda learner=learner: learner.fit(table))
            row = {"data": "words", "r": r, "method": name, "left": left(done.value, table), "cpu_s": done.cpu}
            rows.append(row | coherence(done.value, counts) | said(done.value))
            print({key: round(v, 4) if isinstance(v, float) else v for key, v in rows[-1].items()}, flush=True)
            if show:
                listed(done.value, names)
        done = timed(lambda r=r: NMF(r, init="nndsvda", max_iter=1000, random_state=0).fit(tfidf))
        row = {"data": "words", "r": r, "method": "scikit-learn NMF of tf-idf", "cpu_s": done.cpu}
        rows.append(row | coherence(done.value, counts))
        print({key: round(v, 4) if isinstance(v, float) else v for key, v in rows[-1].items()}, flush=True)
    return rows


def coherence(model: Any, counts: Any) -> dict[str, float]:
    return {
        "npmi": float(npmi_coherence(model.components_, counts).mean()),
        "unique": float(unique_words(model.components_).mean()),
    }


def said(model: Any) -> dict[str, Any]:
    if not isinstance(model, SeparableNMF):
        return {}
    measured = {"grade": model.evidence_.grade, "expected": model.evidence_.expected_error} if model.n_splits else {}
    return {"chosen": model.method_, "mixing": model.mixing_kind_} | measured


def listed(model: Any, names: list[str]) -> None:
    """Components with the words of their largest entries, the anchor first."""
    anchors = getattr(model, "anchors_", [None] * len(model.components_))
    for anchor, component in zip(anchors, model.components_, strict=True):
        top = ", ".join(names[i] for i in np.argsort(-component, kind="stable")[:TOP])
        print(f"    {'' if anchor is None else names[anchor]}: {top}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=["digits", "words"])
    parser.add_argument("--show", action="store_true", help="the words of every component")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows: list[dict[str, Any]] = []
    with threadpool_limits(1):
        for given in OURS.values():
            SeparableNMF(3, n_jobs=1, **given).fit(load_digits().data[:300])  # compiled
        if options.only != "words":
            rows += digits()
        if options.only != "digits":
            rows += words(options.show)
    report(f"nmf_real{'_' + options.only if options.only else ''}", rows)


if __name__ == "__main__":
    main()
