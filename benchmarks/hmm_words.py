"""Claim: 12 states of English words predict new sentences and name parts of speech better than hmmlearn's best of 5 starts,
and than k-means of contexts, in at most half of hmmlearn's time.

    python benchmarks/hmm_words.py [--quick] [--states 12] [--least 5] [--starts 5] [--open]

Universal Dependencies' English EWT: sentences for training, and others for testing. Words are in lower case, and those that the
training sentences have fewer than ``--least`` times are one word. ``nats`` is the log-likelihood of a word of the test
sentences; ``many-to-one`` the share of its words that have the part of speech which is most frequent in their state; V is the V
measure of states and parts of speech. hmmlearn's CategoricalHMM has n_iter=100, tol=.01 and its random starts; "best of" is by
likelihood of the training sentences, its seconds those of all. k-means: words by the frequencies of the 500 most frequent words
before and after them, rows of unit length, ten starts; its nats are those of a chain of these classes. One BLAS thread.

``--open`` keeps all words, of which the test sentences have new ones: SpectralHMM gives them what its states leave for such
(``unseen_``), and hmmlearn's chains get add-one smoothing.
"""

from __future__ import annotations

import argparse
import gzip
import logging
import os
import warnings
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from _common import report, timed, verdict
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.metrics import v_measure_score
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_limits

from latentia.sequences import SpectralHMM

DATA = Path(os.environ.get("LATENTIA_DATA", Path(__file__).parents[2] / "shared" / "data")) / "ud_ewt"
_CONTEXT = 500
_RARE = "<rare>"


class Sentences(NamedTuple):
    """Numbers of words one after another, lengths of the sentences, and numbers of parts of speech."""

    words: np.ndarray
    lengths: np.ndarray
    tags: np.ndarray


def read(name: str) -> list[list[list[str]]]:
    """Sentences of (word, tag)."""
    (path,) = sorted(DATA.glob(f"*{name}*"))
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
    return [[token.rsplit("/", 1) for token in line.split()] for line in text.splitlines() if line.strip()]


def numbered(sentences: list[list[list[str]]], words: dict[str, int], tags: dict[str, int]) -> Sentences:
    flat = [token for sentence in sentences for token in sentence]
    return Sentences(
        np.array([words.get(word.lower(), words.get(_RARE)) for word, _ in flat]),
        np.array([len(sentence) for sentence in sentences]),
        np.array([tags.setdefault(tag, len(tags)) for _, tag in flat]),
    )


def many_to_one(states: np.ndarray, tags: np.ndarray) -> float:
    table = np.zeros((states.max() + 1, tags.max() + 1))
    np.add.at(table, (states, tags), 1)
    return float(table.max(axis=1).sum() / table.sum())


def measured(
    method: str, nats: float, states: np.ndarray, test: Sentences, cpu: float, wall: float, **more: Any
) -> dict[str, Any]:
    return {
        "method": method, "nats": nats, "many-to-one": many_to_one(states, test.tags), "V": v_measure_score(test.tags, states),
        "cpu_s": cpu, "wall_s": wall, **more,
    }  # fmt: skip


def own(train: Sentences, test: Sentences, k: int, s: int, **options: Any) -> dict[str, Any]:
    model = SpectralHMM(k, kind="symbols", n_symbols=s, **options)
    run = timed(lambda: model.fit(train.words, train.lengths))
    nats = model.score(test.words, test.lengths) / len(test.words)
    evidence = model.evidence_
    name = "SpectralHMM" + "".join(f", {key}={value}" for key, value in options.items())
    more = {"start": model.start_, "grade": evidence.grade, "expected": evidence.expected_error}
    return measured(name, nats, model.predict(test.words, test.lengths), test, run.cpu, run.wall, **more)


def add_one(model: Any, train: Sentences) -> None:
    """Smooth hmmlearn's emissions by one step more of each word in each state."""
    steps = model.predict_proba(train.words[:, None], train.lengths).sum(axis=0)
    counts = model.emissionprob_ * steps[:, None] + 1
    model.emissionprob_ = counts / counts.sum(axis=1, keepdims=True)


def peer(train: Sentences, test: Sentences, k: int, s: int, starts: int, smoothed: bool) -> list[dict[str, Any]]:
    """hmmlearn's single starts, and the best of them."""
    from hmmlearn.hmm import CategoricalHMM

    fits = []
    for seed in range(starts):
        model = CategoricalHMM(k, n_iter=100, tol=1e-2, random_state=seed, n_features=s)
        run = timed(lambda model=model: model.fit(train.words[:, None], train.lengths))
        fits.append((model.score(train.words[:, None], train.lengths), model, run.cpu, run.wall))
    rows = []
    for _, model, cpu, wall in fits:
        if smoothed:
            add_one(model, train)
        nats = model.score(test.words[:, None], test.lengths) / len(test.words)
        rows.append(measured("hmmlearn", nats, model.predict(test.words[:, None], test.lengths), test, cpu, wall))
    best = max(range(starts), key=lambda i: fits[i][0])
    total = {"cpu_s": sum(fit[2] for fit in fits), "wall_s": sum(fit[3] for fit in fits)}
    middle = {key: float(np.median([row[key] for row in rows])) for key in rows[0] if key != "method"}
    return [
        {"method": "hmmlearn, a start (median)", **middle},
        rows[best] | total | {"method": f"hmmlearn, best of {starts}"},
    ]


def contexts(train: Sentences, test: Sentences, k: int, s: int) -> dict[str, Any]:
    """Classes of words by k-means of what stands before and after them."""

    def task() -> np.ndarray:
        ends = np.cumsum(train.lengths)
        inside = np.ones(len(train.words) - 1, bool)
        inside[ends[:-1] - 1] = False
        pairs = train.words[:-1][inside], train.words[1:][inside]
        table = sparse.csr_array((np.ones(len(pairs[0])), pairs), shape=(s, s))
        frequent = np.argsort(-np.bincount(train.words, minlength=s))[:_CONTEXT]
        both = sparse.hstack([table[:, frequent], table.T.tocsr()[:, frequent]], format="csr")
        both.indices, both.indptr = (
            both.indices.astype(np.int32),
            both.indptr.astype(np.int32),
        )  # k-means reads no others
        weights = np.bincount(train.words, minlength=s).astype(float)
        return KMeans(k, n_init=10, random_state=0).fit(normalize(both), sample_weight=weights).labels_

    run = timed(task)
    classes = run.value
    first, moves, words = np.full(k, 0.1), np.full((k, k), 0.1), np.zeros((k, s))
    np.add.at(words, (classes[train.words], train.words), 1)
    starts = np.concatenate([[0], np.cumsum(train.lengths)[:-1]])
    np.add.at(first, classes[train.words[starts]], 1)
    inner = np.setdiff1d(np.arange(1, len(train.words)), starts)
    np.add.at(moves, (classes[train.words[inner - 1]], classes[train.words[inner]]), 1)
    first, moves, words = (p / p.sum(axis=-1, keepdims=True) for p in (first, moves, words))
    own = classes[test.words]
    starts = np.concatenate([[0], np.cumsum(test.lengths)[:-1]])
    logs = np.log(words[own, test.words])
    logs[1:] += np.log(moves[own[:-1], own[1:]])
    logs[starts] = np.log(first[own[starts]] * words[own[starts], test.words[starts]])
    return measured("k-means of contexts", float(logs.mean()), own, test, run.cpu, run.wall)


def main() -> None:
    """Fit, and predict the test sentences."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the sentences, two starts of hmmlearn")
    parser.add_argument("--states", type=int, default=12)
    parser.add_argument("--least", type=int, default=5)
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--own", action="store_true", help="no peers")
    parser.add_argument(
        "--open", action="store_true", help="all words, with new ones in the test sentences; no k-means"
    )
    parser.add_argument("--on", default="test", choices=["test", "dev"])
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.getLogger("hmmlearn").setLevel(logging.CRITICAL)
    sentences = read("train")[:: 10 if arguments.quick else 1]
    counts = Counter(word.lower() for sentence in sentences for word, _ in sentence)
    words = {word: i for i, word in enumerate(sorted(word for word, n in counts.items() if n >= arguments.least))}
    words[_RARE] = len(words)
    if arguments.open:
        both = [*sentences, *read(arguments.on)]
        words = {word: i for i, word in enumerate(dict.fromkeys(w.lower() for one in both for w, _ in one))}
    tags: dict[str, int] = {}
    train, test = numbered(sentences, words, tags), numbered(read(arguments.on), words, tags)
    k, s = arguments.states, len(words)
    with threadpool_limits(1):
        own(
            train, Sentences(*(part[:50] for part in test))._replace(lengths=np.array([50])), 2, s, n_splits=0, refine=1
        )
        rows = [own(train, test, k, s), own(train, test, k, s, n_splits=0)]
        if not arguments.own:
            rows += peer(train, test, k, s, 2 if arguments.quick else arguments.starts, arguments.open)
            rows += [] if arguments.open else [contexts(train, test, k, s)]
    facts: dict[str, Any] = {"words": len(train.words), "alphabet": s, "states": k, "test_words": len(test.words)}
    if not arguments.own:
        ours, best, others = rows[0], rows[3], rows[3:]
        for name in ("nats", "many-to-one"):
            gain = ours[name] - max(other[name] for other in others)
            facts[f"{name}: ahead of all"] = verdict(gain, gain > 0)
        share = ours["cpu_s"] / best["cpu_s"]
        facts["CPU seconds, of hmmlearn's <= 1/2"] = verdict(share, share <= 0.5)
    facts["new words"] = int((~np.isin(test.words, train.words)).sum())
    name = (
        "hmm_words"
        + ("_open" if arguments.open else "")
        + ("" if not (arguments.quick or arguments.own or arguments.on != "test") else "_quick")
    )
    report(name, rows, **facts)


if __name__ == "__main__":
    main()
