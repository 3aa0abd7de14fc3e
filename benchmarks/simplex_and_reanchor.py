"""Claim: the simplex-constrained problems of 15,000 words take less than a CPU second, and editing anchors less than a second.

    python benchmarks/simplex_and_reanchor.py [--repeats 5]

15,000 words, 100 topics, 10,000 planted documents. Beside the solver: projected gradient (FISTA) with matrix products, run
to the same gap on a tenth of the words and scaled up. One BLAS thread; medians.
"""

from __future__ import annotations

import argparse

import numpy as np
from _common import report, timed
from threadpoolctl import threadpool_limits

from latentia.datasets import planted
from latentia.simplex import simplex_least_squares
from latentia.topics import AnchorTopics
from latentia.topics._anchors import vertex_rows

GAP = 1e-4


def gaps(points, vertices, weights):
    """Duality gaps relative to the mean squared norm of the vertices about their centre."""
    centre = vertices.mean(axis=0)
    s, x = vertices - centre, points - centre
    gradient = weights @ (s @ s.T) - x @ s.T
    return ((weights * gradient).sum(axis=1) - gradient.min(axis=1)) / (np.trace(s @ s.T) / len(s))


def project(rows):
    """Nearest points of the probability simplex."""
    ordered = -np.sort(-rows, axis=1)
    excess = (np.cumsum(ordered, axis=1) - 1) / np.arange(1, rows.shape[1] + 1)
    last = (ordered > excess).sum(axis=1) - 1
    return np.maximum(rows - excess[np.arange(len(rows)), last][:, None], 0)


def fista(points, vertices, gap, most=20_000):
    gram, products = vertices @ vertices.T, points @ vertices.T
    step = 1 / np.linalg.eigvalsh(gram)[-1]
    weights = np.full((len(points), len(vertices)), 1 / len(vertices))
    ahead, momentum = weights, 1.0
    for i in range(most):
        new = project(ahead - step * (ahead @ gram - products))
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead, weights, momentum = new + (momentum - 1) / following * (new - weights), new, following
        if i % 50 == 49 and gaps(points, vertices, weights).max() <= gap:
            break
    return weights


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    corpus = planted.topic_corpus(10_000, n_topics=100, n_words=15_000, random_state=55)
    with threadpool_limits(1):
        model = AnchorTopics(100).fit(corpus.counts)
        rows = model._embedding.rows
        vertices = vertex_rows(model._embedding, model._anchors, model._words.codes)
        solves = [timed(lambda: simplex_least_squares(rows, vertices, tol=GAP)) for _ in range(options.repeats)]
        some = rows[::10]
        other = timed(lambda: fista(some, vertices, GAP))
        edits = [timed(lambda k=k: model.reanchor(replace={k: None})) for k in range(options.repeats)]
    measured = gaps(rows, vertices, solves[0].value)
    report(
        "simplex_and_reanchor",
        [
            {"task": "simplex, pairwise descent", "cpu_s": np.median([s.cpu for s in solves]), "largest_gap": measured.max()},
            {"task": "simplex, FISTA (scaled)", "cpu_s": 10 * other.cpu,
             "largest_gap": gaps(some, vertices, other.value).max()},
            {"task": "reanchor", "cpu_s": np.median([e.cpu for e in edits]), "wall_s": np.median([e.wall for e in edits])},
        ],
        words=len(rows), topics=100,
    )  # fmt: skip


if __name__ == "__main__":
    main()
