"""``latentia demo``: every family on bundled or planted data, with a start page for all reports."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from sklearn.datasets import load_iris
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import adjusted_rand_score

from .. import persistence
from ..communities import MixedMembershipBlockModel
from ..contrastive import ContrastiveRegression
from ..datasets import load_bible, planted, readers
from ..deep import SparseNetwork
from ..dictionary import IncoherentDictionary
from ..exceptions import LatentiaWarning
from ..ica import TensorICA
from ..matrices import ProbabilityMatrix
from ..metrics import amari_index, atom_distances, match_components
from ..mixtures import SphericalGaussianMixture
from ..multilabel import MomentMultiLabelClassifier
from ..nmf import SeparableNMF
from ..noisyor import NoisyOr
from ..report.page import render, write_page
from ..report.parts import mark_of, version
from ..sequences import SpectralHMM
from ..system.terminal import Terminal, say
from ..topics import AnchorTopics
from ._records import DemoOptions
from ._results import Results
from ._shared import print_evidence

_INDEX = "index.html"


@dataclass(frozen=True)
class Fitted:
    """A fit of the demo.

    Attributes
    ----------
    model : estimator
    data : tuple
        Arguments of `report` after the path.
    answer : str
        Result in a sentence; for planted data, compared with the truth.
    options : dict
        Keyword arguments of `report`.
    """

    model: Any
    data: tuple[Any, ...]
    answer: str
    options: dict[str, Any]


@dataclass(frozen=True)
class Chapter:
    """A family in the demo.

    Attributes
    ----------
    name : str
        Name of the page and the model file, without suffix.
    title, question, source : str
    command : str
        Command that does the same with the user's data.
    learn : callable
        Makes the data, fits the model and returns a `Fitted`.
    """

    name: str
    title: str
    question: str
    source: str
    command: str
    learn: Callable[[], Fitted]


def demo(options: DemoOptions) -> dict[str, Any]:
    """Learn a model of every family, and write their reports with a start page, index.html."""
    files = [f"{chapter.name}.{ending}" for chapter in CHAPTERS for ending in ("html", "npz")]
    results = Results(options.out, Path("demo"), (_INDEX, *files), force=True, evidence=options.evidence)
    results.check()
    console, fits = Terminal(), list[dict[str, Any]]()
    say(
        f"{len(CHAPTERS)} families, on bundled or planted data. It takes 20 seconds on two cores, and over a "
        "minute the first time, when functions are compiled:",
    )

    def write(folder: Path) -> None:
        start = time.monotonic()
        for chapter in CHAPTERS:
            with console.status(f"{chapter.title} ..."):
                fits.append(_run(chapter, folder, console, options.evidence))
        write_page(folder / _INDEX, _index(fits, time.monotonic() - start))

    written = results.write(write)
    say(f"Wrote {len(written)} files to {options.out}. Open {options.out / _INDEX} in a browser.")
    families = [{key: value for key, value in fit.items() if key != "mark"} for fit in fits]
    return {"out": str(options.out), "files": written, "families": families}


def _run(chapter: Chapter, folder: Path, console: Console, full: bool) -> dict[str, Any]:
    """Fit one family and write its files; return the entry of the index."""
    start = time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentiaWarning)  # The evidence on the page says the same.
        fitted = chapter.learn()
        page = folder / f"{chapter.name}.html"
        fitted.model.report(page, *fitted.data, title=chapter.title, source=chapter.source, **fitted.options)
    persistence.save(fitted.model, folder / f"{chapter.name}.npz")
    evidence = fitted.model.evidence_
    seconds = time.monotonic() - start
    mark = mark_of(evidence.grade)
    say(f"  {chapter.title:<38} {mark.label:<17} {seconds:5.1f} s  {fitted.answer}", console)
    if full:
        print_evidence(evidence, console, full=True)
    chapter_facts = {name: value for name, value in vars(chapter).items() if name != "learn"}
    return chapter_facts | {
        "page": page.name,
        "estimator": type(fitted.model).__name__,
        "answer": fitted.answer,
        "grade": evidence.grade,
        "mark": mark,
        "verdict": evidence.verdict,
        "expected_error": evidence.expected_error,
        "seconds": seconds,
    }


def _index(fits: list[dict[str, Any]], seconds: float) -> str:
    grades = [fit["grade"] for fit in fits]
    usable = sum(grade in ("supported", "with care") for grade in grades)
    summary = (
        f"{len(fits)} families of models, each with a question that it answers. The evidence supports {usable} of the "
        f"{len(fits)} answers, and shows which parts of the others can be used."
    )
    look = {"styles": ("demo.css",), "scripts": (), "data": {}, "version": version()}
    return render("demo.html", title="latentia: a tour", summary=summary, fits=fits, seconds=seconds, **look)


# --- the families -----------------------------------------------------------------------------------------------------

_ARCHAIC = "shall unto thou thy thee hath thine saith shalt said came come went let say upon also yea doth hast"
_KINDS = {
    "law": "Genesis, Exodus, Leviticus, Numbers, Deuteronomy",
    "history": "Joshua, Judges, Ruth, 1 Samuel, 2 Samuel, 1 Kings, 2 Kings, 1 Chronicles, 2 Chronicles, Ezra, Nehemiah, Esther",
    "poetry": "Job, Psalms, Proverbs, Ecclesiastes, Song of Solomon",
    "gospels": "Matthew, Mark, Luke, John, Acts",
    "prophets": "Isaiah, Jeremiah, Lamentations, Ezekiel, Daniel, Hosea, Joel, Amos, Obadiah, Jonah, Micah, Nahum, Habakkuk, "
    "Zephaniah, Haggai, Zechariah, Malachi",
}


def _topics() -> Fitted:
    corpus = readers.count_words(load_bible(), stop_words=_ARCHAIC.split(), min_df=5)
    sizes: Any = range(3, 12, 2)
    model = AnchorTopics(sizes, vocabulary=corpus.vocabulary, n_jobs=-1).fit(corpus.blocks)
    usable = [component for component in model.evidence_.components if component.grade != "not supported"]
    answer = f"{len(model.components_)} topics, of which {len(usable)} can be used: 1,189 chapters are little text."
    texts = {"vocabulary": corpus.vocabulary, "names": corpus.names, "texts": corpus.texts}
    return Fitted(model, (corpus.blocks,), answer, texts)


def _labels() -> Fitted:
    bible, tags = load_bible(), [*_KINDS, "letters"]
    kinds = {book: kind for kind, books in _KINDS.items() for book in books.split(", ")}
    book_kinds = [kinds.get(name.rsplit(" ", 1)[0], "letters") for name in bible.names]
    words = CountVectorizer(stop_words="english", min_df=3)
    X, Y = words.fit_transform(bible.texts), np.array([[tag == kind for tag in tags] for kind in book_kinds], int)
    test = np.arange(len(book_kinds)) % 4 == 3
    vocabulary = words.get_feature_names_out()
    model = MomentMultiLabelClassifier(8, moments="factorial", refine="auto", n_jobs=-1)
    model.fit(X[~test], Y[~test])
    accuracy = np.mean(model.decision_function(X[test]).argmax(axis=1) == Y[test].argmax(axis=1))
    answer = f"The right kind of book for {accuracy:.0%} of {test.sum()} new chapters."
    facts = [(f"of {test.sum()} new chapters get the right kind", f"{accuracy:.0%}")]
    return Fitted(model, (X[test], Y[test]), answer, {"vocabulary": vocabulary, "label_names": tags, "facts": facts})


def _sequences() -> Fitted:
    dice, stays = np.array([[1 / 6] * 6, [0.1] * 5 + [0.5]]), (0.95, 0.90)
    rng = np.random.default_rng(0)
    state, throws = 0, np.empty(30_000, int)
    for step in range(len(throws)):
        throws[step] = rng.choice(6, p=dice[state])
        state = state if rng.random() < stays[state] else 1 - state
    model = SpectralHMM(2, n_jobs=-1).fit(throws)
    order, _ = match_components(model.emissionprob_, dice)
    worst = np.abs(model.emissionprob_[order] - dice).sum(axis=1).max()
    six = model.emissionprob_[order[1], 5]
    answer = f"A die that shows six with probability {six:.2f} (true 0.50); worst die {worst:.2f} off."
    return Fitted(model, (throws,), answer, {})


def _mixtures() -> Fitted:
    iris = load_iris()
    model = SphericalGaussianMixture(3, covariance_type="full", n_jobs=-1).fit(iris.data)
    agreement = adjusted_rand_score(iris.target, model.predict(iris.data))
    answer = f"Three groups, close to the species it did not see: adjusted Rand index {agreement:.2f} (1 is perfect)."
    return Fitted(model, (iris.data,), answer, {"columns": [name.partition(" (")[0] for name in iris.feature_names]})


def _sources() -> Fitted:
    time_ = np.arange(16_000) / 8_000
    rng = np.random.default_rng(0)
    played = np.column_stack([
        np.sign(np.sin(2 * np.pi * 110 * time_)), np.sin(2 * np.pi * (330 + 60 * np.sin(6 * np.pi * time_)) * time_),
        rng.standard_normal(len(time_)) * np.exp(-25 * (time_ % 0.25)), 2 * ((196 * time_) % 1) - 1,
    ])  # fmt: skip
    mixing = rng.uniform(0.3, 1.0, (4, 4)) + np.eye(4)
    heard = (played / played.std(axis=0)) @ mixing.T
    model = TensorICA(4, n_jobs=-1).fit(heard)
    crosstalk = float(amari_index(model.components_, mixing))
    answer = f"Four signals, each with {crosstalk:.1%} of the others mixed in (Amari index)."
    return Fitted(model, (heard,), answer, {"columns": [f"microphone {i}" for i in range(1, 5)]})


def _causes() -> Fitted:
    causes = {
        "influenza": {"fever": 0.9, "cough": 0.7, "headache": 0.6, "muscle pain": 0.8, "chills": 0.6},
        "allergy": {"sneezing": 0.9, "itchy eyes": 0.8, "cough": 0.3, "runny nose": 0.7},
        "migraine": {"headache": 0.95, "nausea": 0.6, "light hurts": 0.8, "flicker": 0.5},
        "stomach bug": {"nausea": 0.8, "fever": 0.4, "diarrhoea": 0.9, "cramps": 0.8},
    }
    findings = list(dict.fromkeys(name for table in causes.values() for name in table))
    strengths = np.array([[table.get(name, 0.0) for name in findings] for table in causes.values()])
    rng = np.random.default_rng(0)
    present = rng.random((10_000, 4)) < [0.12, 0.20, 0.10, 0.08]
    off = 0.98 * np.prod(np.where(present[:, :, None], 1 - strengths, 1.0), axis=1)
    X = (rng.random(off.shape) > off).astype(np.int8)
    model = NoisyOr(4, n_jobs=-1).fit(X)
    order, _ = match_components(model.strengths_, strengths)
    worst = np.abs(model.strengths_[order] - strengths).max()
    model.name_causes({int(k): name for k, name in zip(order, causes, strict=True)})
    answer = f"Four causes; the largest error of {strengths.size} probabilities is {worst:.2f}."
    return Fitted(model, (X,), answer, {"columns": findings})


def _pairs() -> Fitted:
    data = planted.word_pairs(200_000, n_components=4, n_words=500, random_state=1)
    model = ProbabilityMatrix(4, n_jobs=-1).fit(data.counts)
    truth = data.components.T @ data.mixing @ data.components
    counts = data.counts.toarray()
    error = np.abs(model.rows(np.arange(500)) - truth).sum()
    counted = np.abs(counts / counts.sum() - truth).sum()
    answer = (
        f"Probabilities of 250,000 pairs, with a total error of {error:.2f}; relative frequencies have {counted:.2f}."
    )
    return Fitted(model, (data.counts,), answer, {})


def _contrasts() -> Fitted:
    data = planted.contrastive_views(40_000, 6, "regression", linear_map="orthogonal", random_state=1)
    model = ContrastiveRegression(n_jobs=-1).fit(data.U, data.V, data.y)
    ours, naive = (np.linalg.norm(coef - data.truth) for coef in (model.coef_, model.naive_coef_))
    answer = f"Coefficients with an error of {ours:.2f}; a regression on the first table alone has {naive:.2f}."
    return Fitted(model, (data.U, data.V, data.y), answer, {})


def _communities() -> Fitted:
    graph = planted.mixed_membership_graph(1000, 4, alpha0=0.1, degree=30, snr=4, random_state=0)
    model = MixedMembershipBlockModel(4, n_jobs=-1).fit(graph.adjacency)
    order, _ = match_components(model.memberships_.T, graph.memberships.T)
    accuracy = np.mean(np.argsort(order)[model.labels_] == graph.memberships.argmax(axis=1))
    answer = f"Four communities, with {accuracy:.0%} of the nodes in the right one."
    return Fitted(model, (graph.adjacency,), answer, {})


def _dictionary() -> Fitted:
    data = planted.sparse_codes(6000, n_features=64, n_components=96, sparsity=3, random_state=0)
    model = IncoherentDictionary(96, sparsity=3, n_jobs=-1).fit(data.X)
    n_recovered = np.sum(atom_distances(data.components, model.components_) < 0.01)
    answer = f"{n_recovered} of 96 atoms in 64 columns, each within .01 of the truth."
    return Fitted(model, (data.X,), answer, {})


def _networks() -> Fitted:
    network = planted.sparse_network(4000, (400, 80), 8, 0.02, negative=False, random_state=1)
    model = SparseNetwork(n_jobs=-1).fit(network.Y)
    true, recovered = network.layers[0].toarray(), model.layers_[0].toarray()
    exact = sum(bool((row == recovered).all(axis=1).any()) for row in true)
    answer = f"{exact} of 80 hidden units with every edge right."
    return Fitted(model, (network.Y,), answer, {})


def _parts() -> Fitted:
    data = planted.separable_rows(1600, 60, 4, n_pure=8, noise=0.005, kind="spectra", random_state=0)
    X = np.abs(data.X)
    model = SeparableNMF(4, n_jobs=-1).fit(X)
    order, _ = match_components(model.components_, data.components)
    cosines = np.sum(model.components_[order] * data.components, axis=1) / (
        np.linalg.norm(model.components_[order], axis=1) * np.linalg.norm(data.components, axis=1)
    )
    worst = np.degrees(np.arccos(np.clip(cosines, 0, 1))).max()
    answer = f"Four spectra, each at most {worst:.1f} degrees from the truth."
    return Fitted(model, (X,), answer, {})


CHAPTERS = (
    Chapter(
        "sequences", "A dishonest casino", "When was which of two dice thrown, if only the throws are known?",
        "30,000 throws, planted", "latentia hmm throws.txt -k 2 --out DIR", _sequences,
    ),
    Chapter(
        "mixtures", "Groups of flowers", "Which groups do 150 flowers form by four lengths?",
        "Fisher's iris, from scikit-learn", "latentia mixture table.csv -k 3 --covariance full --out DIR", _mixtures,
    ),
    Chapter(
        "sources", "Four microphones unmixed", "What did each of four instruments play?",
        "two seconds of sound, planted", "latentia ica recordings.csv --out DIR", _sources,
    ),
    Chapter(
        "contrasts", "What one table has and another lacks", "What drives an outcome, apart from a disturbance in all columns?",
        "two tables of 40,000 rows, planted", "latentia contrast U.csv V.csv --fit regression --target y --out DIR", _contrasts,
    ),
    Chapter(
        "pairs", "Probabilities of word pairs", "How likely is a pair of words, even one that never occurred?",
        "200,000 pairs of 500 words, planted", "latentia matrix pairs.txt -k 4 --out DIR", _pairs,
    ),
    Chapter(
        "communities", "Communities of a network", "Who belongs together, by links alone?",
        "1,000 nodes, planted", "latentia communities edges.csv -k 4 --out DIR", _communities,
    ),
    Chapter(
        "causes", "From symptoms to causes", "Which hidden causes produce findings, several at a time?",
        "10,000 patients, planted", "latentia noisy-or patients.csv -k 4 --out DIR", _causes,
    ),
    Chapter(
        "dictionary", "Atoms of sparse codes", "Which patterns add up to the rows, if there are more patterns than columns?",
        "6,000 rows of three atoms each, planted", "latentia dictionary rows.csv -k 96 --sparsity 3 --out DIR", _dictionary,
    ),
    Chapter(
        "labels", "Tags of chapters", "Which kind of book is a chapter from, judged by its words?",
        "King James Bible, one chapter in four kept back", "latentia labels texts.csv -k 8 --out DIR", _labels,
    ),
    Chapter(
        "parts", "Pure rows of a mixture", "Which materials are mixed in each pixel of a spectral image?",
        "1,600 spectra, planted", "latentia nmf spectra.csv -k 4 --out DIR", _parts,
    ),
    Chapter(
        "networks", "Hidden units of yes and no", "Which hidden units switch the columns of a table on?",
        "4,000 rows of 400 columns, planted", "latentia network table.csv --out DIR", _networks,
    ),
    Chapter(
        "topics", "Topics of the King James Bible", "What is a large book about, chapter by chapter?",
        "King James Bible, 1,189 chapters, bundled", "latentia topics texts/ -k 3:11:2 --out DIR", _topics,
    ),
)  # fmt: skip
"""Families in the order of the demo: quick and clear answers first, long compilation last."""
