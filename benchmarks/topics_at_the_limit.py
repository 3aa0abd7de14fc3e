"""Claim: refined topics are as near to the truth as the same sampling is when it starts there, also where topics share words.

    python benchmarks/topics_at_the_limit.py [--quick] [--seeds 3] [--first-seed 500]

Documents are drawn from topics (1 - b) Dirichlet(c) + b background, with proportions Dirichlet(a). The limit is the sampling of
`latentia.topics._sampling` started at the true topics, 200 sweeps before and 200 averaged. Error: mean l1 distance of topics
after matching, of a possible 2. CPU seconds with error bars, one thread.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from _common import report, timed, verdict
from _topics import compile_topics, medians, parsed
from scipy import sparse
from threadpoolctl import threadpool_limits

from latentia.metrics import recovery_errors
from latentia.topics import AnchorTopics, SpectralLDA
from latentia.topics._sampling import sample_topics

WITHIN = 1.3  # factor between the expected error and the true one


@dataclass(frozen=True)
class World:
    """How documents are drawn."""

    topics: int
    documents: int
    background: float = 0.4
    words: int = 500
    length: int = 60
    alpha: float = 0.1
    concentration: float = 0.05

    def draw(self, seed: int) -> tuple[sparse.csr_array, np.ndarray]:
        """Return counts of words and the topics."""
        rng = np.random.default_rng(seed)
        base = rng.dirichlet(np.full(self.words, 0.5))
        own = rng.dirichlet(np.full(self.words, self.concentration), self.topics)
        topics = (1 - self.background) * own + self.background * base
        proportions = rng.dirichlet(np.full(self.topics, self.alpha), self.documents)
        lengths = np.maximum(rng.poisson(self.length, self.documents), 5)
        counts = [rng.multinomial(n, p @ topics) for n, p in zip(lengths, proportions, strict=True)]
        return sparse.csr_array(np.array(counts, dtype=np.float64)), topics


WORLDS = {
    "background .2": World(10, 3000, 0.2),
    "background .4": World(10, 3000),
    "background .4, 10,000 documents": World(10, 10_000),
    "background .5, 20 topics": World(20, 3000, 0.5, 1500, 80),
    "four topics, 80 words": World(4, 2500, 0.3, 80, 100, 0.25, 0.2),
    "8 words a document": World(10, 5000, 0.1, 600, 8),
    "mixed documents": World(6, 6000, 0.1, length=100, alpha=0.8),
}


def compare(name: str, seed: int) -> list[dict[str, Any]]:
    """Return a row for each estimator: its error beside the limit and the theorem's."""
    world, rows = WORLDS[name], []
    counts, topics = world.draw(seed)
    start = 0.999 * topics + 0.001 / world.words
    limit = recovery_errors(sample_topics(counts, start, burn_in=200, n_averaged=200).topics, topics).mean()
    for estimator in (AnchorTopics, SpectralLDA):
        run = timed(lambda estimator=estimator: estimator(world.topics).fit(counts))
        model, theorem = run.value, estimator(world.topics, refine=0, n_splits=0).fit(counts)
        error = recovery_errors(model.components_, topics)
        rows.append(
            {
                "world": name,
                "estimator": estimator.__name__,
                "l1": error.mean(),
                "limit": limit,
                "over limit": error.mean() / limit,
                "l1, refine=0": recovery_errors(theorem.components_, topics).mean(),
                "worst topic": error.max(),
                "expected over true": model.evidence_.component_errors.mean() / error.mean(),
                "grade": float(model.evidence_.grade == "supported"),
                "cpu_s": run.cpu,
            }
        )
    return rows


def main() -> None:
    options = parsed(__doc__, worlds={"nargs": "+", "default": list(WORLDS)})
    warnings.simplefilter("ignore")
    rows = []
    with threadpool_limits(1):
        compile_topics()
        for name in options.worlds[:1] if options.quick else options.worlds:
            for seed in options.seeds:
                rows += compare(name, seed)
                print(rows[-2], rows[-1], sep="\n", flush=True)
    table = medians(rows, by=("world", "estimator"))
    worst = max(row["over limit"] for row in table)
    factors = np.abs(np.log([row["expected over true"] for row in rows]))
    share = float((factors <= np.log(WITHIN)).mean())
    bars = {
        "error over the limit at most 1.15 in the median of every world: largest": verdict(worst, worst <= 1.15),
        "expected error within a factor 1.3 in 70% of the fits": verdict(share, share >= 0.7),
    }
    report("topics_at_the_limit" + options.suffix, table, **bars, seeds=options.seeds)


if __name__ == "__main__":
    main()
