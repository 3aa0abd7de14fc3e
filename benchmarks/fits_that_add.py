"""Claim: rows are added to a model for the price of reading them, and what is kept of the rows does not grow with them.

    python benchmarks/fits_that_add.py [--rows 1000000]

Each model is fitted on all rows but 10,000, its sums are kept, and the rest is added with `partial_fit`. ``share``: the CPU
of that over that of a plain fit on all rows, in percent; ``refined`` is the default fit, ``theorem`` one with ``refine=0``.
``solving`` is what the first look at the model costs after that, however many batches were added. ``apart`` is the largest
difference to one fit with ``keep_moments=True`` on all rows, relative to the largest number. scikit-learn's `IncrementalPCA` of
the same table stands beside ``sources``: its ``partial_fit`` of the same rows, over its fit on all.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from _common import report
from scipy import sparse
from sklearn.decomposition import IncrementalPCA

from latentia.datasets import planted
from latentia.ica import TensorICA
from latentia.matrices import ProbabilityMatrix
from latentia.mixtures import SphericalGaussianMixture
from latentia.noisyor import NoisyOr
from latentia.topics import AnchorTopics

NEW = 10_000


def cpu(task: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    return task(), time.process_time() - start


def of(name: str, make: Callable[..., Any], first: Any, new: Any, everything: Any, learned: str) -> dict[str, Any]:
    kept = make(keep_moments=True)
    kept.fit(first)
    _, adding = cpu(lambda: kept.partial_fit(new))
    _, solving = cpu(lambda: kept.evidence_)
    _, refined = cpu(lambda: make().fit(everything))
    _, theorem = cpu(lambda: make(refine=0).fit(everything))
    whole = make(keep_moments=True).fit(everything)
    one, other = (np.asarray(getattr(model, learned)) for model in (kept, whole))
    return {
        "model": name, "share of refined": 100 * adding / refined, "share of theorem": 100 * adding / theorem,
        "adding_s": adding, "solving_s": solving, "refined_s": refined, "theorem_s": theorem,
        "kept_mb": kept.moments_.n_bytes / 2**20, "apart": float(np.abs(one - other).max() / np.abs(other).max()),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    n = parser.parse_args().rows
    warnings.simplefilter("ignore")
    rows = []
    X = planted.independent_sources(n, 8, random_state=10).X
    peer = IncrementalPCA(8)
    _, whole = cpu(lambda: peer.fit(X))
    _, added = cpu(lambda: peer.partial_fit(X[-NEW:]))
    rows.append(of("sources, D = 8", lambda **kw: TensorICA(**kw), X[:-NEW], X[-NEW:], X, "components_"))
    rows[-1]["peer's share"] = 100 * added / whole
    X = planted.gaussian_mixture(n, n_components=5, n_features=10, separation=6, random_state=10).X
    rows.append(of("mixture, D = 10", lambda **kw: SphericalGaussianMixture(5, **kw), X[:-NEW], X[-NEW:], X, "means_"))
    drawn = [planted.word_pairs(size, n_components=5, n_words=2000, random_state=10).counts for size in (n - NEW, NEW)]
    first, new = (sparse.csr_array(counts) for counts in drawn)
    rows.append(
        of("pairs, 2,000 words", lambda **kw: ProbabilityMatrix(5, **kw), first, new, first + new, "marginals_")
    )
    X = planted.noisy_or_network(60, 5, leak=0.02, random_state=10).sample(n, 11).X
    rows.append(
        of("causes, 60 findings", lambda **kw: NoisyOr(5, corrections=1, **kw), X[:-NEW], X[-NEW:], X, "weights_")
    )
    X = planted.topic_corpus(n, n_topics=10, n_words=1000, length=40, random_state=10).counts
    columns = {"embedding": "projection"}
    rows.append(
        of("topics, 1,000 words", lambda **kw: AnchorTopics(10, **columns, **kw), X[:-NEW], X[-NEW:], X, "components_")
    )
    report("fits_that_add", rows)


if __name__ == "__main__":
    main()
