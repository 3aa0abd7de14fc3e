"""Claim: the words shown of topics go together in other documents as those of NMF of tf-idf do, and stay frequent.

    python benchmarks/topics_words_shown.py [--quick] [--seeds 1] [--topics 10 20 50] [--corpora ap] [--all-models]

Ten words a topic: those of ``top_words``; the ten most probable ones of the same topics; those of collapsed Gibbs sampling
(tomotopy, 300 iterations, its defaults); and those of NMF of tf-idf (scikit-learn, its default start). *coherence*: NPMI of
pairs of them in documents that were held out from all: one in five of the Associated Press and of the chapters of the Bible,
on which the constants were chosen; the test documents of 20 Newsgroups, and those of titles of papers, on whose training
documents those for very short texts were. *unique*: words of ten that no other topic shows. *probability*: mean probability
of the words shown in their topic, beside that of the most probable ones. Medians over seeds; the last lines are means over
numbers of topics.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from _common import report, tomotopy_topics, verdict
from _topics import ALPHA, Split, associated_press, medians, newsgroups, parsed, titles
from found_again import bible as chapters
from scipy import sparse
from sklearn.decomposition import NMF
from sklearn.feature_extraction.text import TfidfTransformer
from threadpoolctl import threadpool_limits

from latentia.metrics import npmi_coherence, top_words, unique_words
from latentia.passes import row_groups
from latentia.topics import AnchorTopics, SingleTopicModel, SpectralLDA

SHOWN, PROBABLE, GIBBS, TFIDF = "top_words", "most probable", "Gibbs sampling", "NMF of tf-idf"


def bible(seed: int) -> Split:
    counts = sparse.csr_array(chapters()["X"])
    held = row_groups(np.arange(counts.shape[0]), 5, seed) == 0
    return Split("Bible", counts[~held], counts[held])


CORPORA = {"ap": associated_press, "bible": bible, "newsgroups": newsgroups, "titles": titles}


def measured(words: np.ndarray, test: Any) -> dict[str, float]:
    """Coherence and unique words, by scores that rank these words first."""
    scores = np.zeros((len(words), test.shape[1]))
    np.put_along_axis(scores, words, np.arange(words.shape[1], 0, -1.0)[None], axis=1)
    return {"coherence": npmi_coherence(scores, test).mean(), "unique": unique_words(scores).mean()}


def compare(split: Split, k: int, seed: int, models: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Measures of every method."""
    tfidf = TfidfTransformer().fit_transform(sparse.csr_matrix(split.train))
    peers = {
        GIBBS: tomotopy_topics(split.train, k, 300, ALPHA, seed).value[0],
        TFIDF: NMF(k, random_state=seed, max_iter=400).fit(tfidf).components_,
    }
    own = {"corpus": split.name, "topics": k}
    rows = [{**own, "words": name, **measured(top_words(some), split.test)} for name, some in peers.items()]
    for kind in models:
        model = kind(k, n_splits=0, random_state=seed).fit(split.train)
        probable = top_words(model.components_)
        for name, words in ((SHOWN, model.word_columns()), (PROBABLE, probable)):
            share = np.take_along_axis(model.components_, words, axis=1).mean()
            share /= np.take_along_axis(model.components_, probable, axis=1).mean()
            rows.append(
                {**own, "words": f"{kind.__name__}, {name}", **measured(words, split.test), "probability": share}
            )
    return rows


def bars(rows: list[dict[str, Any]], kind: str) -> dict[str, str]:
    """What the claim means in numbers, in the mean over corpora and numbers of topics, and whether it holds."""

    def mean(words: str, name: str) -> float:
        return float(np.mean([row[name] for row in rows if row["words"] == words]))

    shown = f"{kind}, {SHOWN}"
    beside = {peer: mean(shown, "coherence") - mean(peer, "coherence") for peer in (TFIDF, GIBBS)}
    unique = min(mean(shown, "unique") / mean(peer, "unique") for peer in (TFIDF, GIBBS))
    share = mean(shown, "probability")
    return {
        f"{kind}: coherence less that of NMF of tf-idf >= -.03": verdict(beside[TFIDF], beside[TFIDF] >= -0.03),
        f"{kind}: coherence less that of Gibbs sampling >= 0": verdict(beside[GIBBS], beside[GIBBS] >= 0),
        f"{kind}: unique words >= .85 of either's": verdict(unique, unique >= 0.85),
        f"{kind}: probability >= half of the most probable words'": verdict(share, share >= 0.5),
    }


def main() -> None:
    options = parsed(
        __doc__,
        topics=(10, 20, 50),
        seeds=1,
        corpora={"nargs": "+", "choices": list(CORPORA), "default": list(CORPORA)},
        all_models={"action": "store_true", "help": "SpectralLDA and SingleTopicModel too"},
    )
    warnings.simplefilter("ignore")
    models = (AnchorTopics, SpectralLDA, SingleTopicModel) if options.all_models else (AnchorTopics,)
    with threadpool_limits(1):
        rows = [
            row
            for name in options.corpora
            for k in options.topics
            for seed in options.seeds
            for row in compare(CORPORA[name](seed), k, seed, models)
        ]
    table = medians(rows, by=("corpus", "topics", "words"))
    facts = {name: value for kind in models for name, value in bars(table, kind.__name__).items()}
    means = [{**row, "topics": "mean"} for row in _means(table)]
    report("topics_words_shown" + options.suffix, table + means, **facts, seeds=options.seeds)


def _means(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Over numbers of topics, of each corpus."""
    pairs = dict.fromkeys((row["corpus"], row["words"]) for row in rows)
    found = []
    for corpus, words in pairs:
        some = [row for row in rows if (row["corpus"], row["words"]) == (corpus, words)]
        names = [name for name in ("coherence", "unique", "probability") if name in some[0]]
        found.append(
            {"corpus": corpus, "topics": 0, "words": words, **{n: np.mean([r[n] for r in some]) for n in names}}
        )
    return found


if __name__ == "__main__":
    main()
