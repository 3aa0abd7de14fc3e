"""Claim: on real text refined topics predict better than those of Gibbs sampling, in two thirds of its time at most.

    python benchmarks/topics_against_gibbs.py [--quick] [--seeds 3] [--topics 10 20 50] [--corpora ap] [--spectral]

Corpora: Associated Press, one document in five held out by seed; 20 Newsgroups, its own test documents, and nine in ten of
its training documents by seed (stop words, words of fewer than three letters, in fewer than 5 or more than 30% of the
documents left out); titles of papers, on which nothing was chosen, in the same way, at 10 topics. tomotopy runs 300
iterations with its defaults, which start at .1 a topic and optimise the Dirichlet parameters; training alone is timed. Both
sides predict held-out words with topics mixed with 5% of the word frequencies and with their own Dirichlet parameters.
Coherence (NPMI, by training documents) and unique words of the 10 most probable words. CPU seconds of all threads, one
BLAS thread. Medians over seeds, of ratios and differences too; these compare runs of one seed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from _common import Timed, report, timed, tomotopy_topics, verdict
from _topics import (
    ALPHA,
    Split,
    associated_press,
    compile_topics,
    kept,
    measure,
    medians,
    newsgroups,
    parsed,
    titles,
)
from threadpoolctl import threadpool_limits

from latentia.topics import AnchorTopics, SpectralLDA

CORPORA = {"ap": associated_press, "newsgroups": newsgroups, "titles": titles}
TITLES_TOPICS = 10
GIBBS, PLAIN, WITH_BARS = "tomotopy, 300 iterations", "no error bars", "error bars"


def fits(k: int, seed: int, options: Any) -> dict[str, Any]:
    """Models by name."""
    shared = {"refine": options.refine, "random_state": seed}
    models: dict[str, Any] = {
        "refine=0": AnchorTopics(k, refine=0, n_splits=0, random_state=seed),
        PLAIN: AnchorTopics(k, n_splits=0, **shared),
        WITH_BARS: AnchorTopics(k, **shared),
    }
    return models | ({"SpectralLDA": SpectralLDA(k, n_splits=0, **shared)} if options.spectral else {})


def compare(split: Split, k: int, seed: int, gibbs: Callable[..., Timed], options: Any) -> list[dict[str, Any]]:
    """Measures of every method, beside those of Gibbs sampling."""
    rows = []
    for name, model in fits(k, seed, options).items():
        run = timed(lambda model=model: model.fit(split.train))
        errors = model.evidence_.component_errors
        more = {"topics": k, "expected_error": None if errors is None else errors.mean()}
        result = model.components_, model.dirichlet_, run.cpu
        rows.append(measure(split.name, name, *result, split.train, split.test, **more))
    peer = gibbs(split.train, k, 300, ALPHA, seed)
    more = {"topics": k, "expected_error": None}
    rows.append(measure(split.name, GIBBS, *peer.value, peer.cpu, split.train, split.test, **more))
    for row in rows:
        row["perplexity_ratio"] = row["perplexity"] / rows[-1]["perplexity"]
        row["npmi_gain"] = row["npmi"] - rows[-1]["npmi"]
        row["unique_ratio"] = row["unique"] / rows[-1]["unique"]
        row["cpu_share"] = row["cpu_s"] / rows[-1]["cpu_s"]
    return rows


def bars(rows: list[dict[str, Any]]) -> dict[str, str]:
    """What the claim means in numbers, and whether it holds."""

    def column(method: str, name: str, short: bool = False) -> np.ndarray:
        chosen = [row for row in rows if row["method"] == method and (row["corpus"] == "titles") == short]
        return np.array([row[name] for row in chosen])

    facts: dict[str, str] = {}
    if column(PLAIN, "npmi").size:
        ratio, gain = column(PLAIN, "perplexity_ratio"), column(PLAIN, "npmi_gain")
        unique, cpu = column(PLAIN, "unique_ratio"), column(PLAIN, "cpu_share")
        with_bars = column(WITH_BARS, "cpu_share")
        facts |= {
            "perplexity ratio <= .99 on each: largest": verdict(ratio.max(), ratio.max() <= 0.99),
            "perplexity ratio <= .96: mean": verdict(ratio.mean(), ratio.mean() <= 0.96),
            "NPMI gain >= -.02 on each: least": verdict(gain.min(), gain.min() >= -0.02),
            "NPMI gain >= 0: mean": verdict(gain.mean(), gain.mean() >= 0),
            "unique words ratio >= .85 on each: least": verdict(unique.min(), unique.min() >= 0.85),
            "CPU share <= 1/3 without error bars: largest": verdict(cpu.max(), cpu.max() <= 1 / 3),
            "CPU share <= 2/3 with error bars: largest": verdict(with_bars.max(), with_bars.max() <= 2 / 3),
        }
    if column(PLAIN, "npmi", short=True).size:
        ratio, gain = column(PLAIN, "perplexity_ratio", short=True), column(PLAIN, "npmi_gain", short=True)
        facts["titles: perplexity ratio <= 1.02"] = verdict(ratio.max(), ratio.max() <= 1.02)
        facts["titles: NPMI gain >= -.03"] = verdict(gain.min(), gain.min() >= -0.03)
    return facts


def main() -> None:
    options = parsed(
        __doc__,
        topics=(10, 20, 50),
        corpora={"nargs": "+", "choices": list(CORPORA), "default": list(CORPORA)},
        spectral={"action": "store_true", "help": "SpectralLDA too"},
    )
    warnings.simplefilter("ignore")
    gibbs, rows = kept(tomotopy_topics, options.keep), []
    with threadpool_limits(1):
        compile_topics()
        for name in options.corpora:
            for k in [TITLES_TOPICS] if name == "titles" else options.topics:
                for seed in options.seeds:
                    rows += compare(CORPORA[name](seed), k, seed, gibbs, options)
                    print(".", end="", flush=True)
    print()
    table = medians(rows, by=("corpus", "topics", "method"))
    report("topics_against_gibbs" + options.suffix, table, **bars(table), seeds=options.seeds, refine=options.refine)


if __name__ == "__main__":
    main()
