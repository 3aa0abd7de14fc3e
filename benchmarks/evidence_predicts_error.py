"""Claim: the expected errors in ``evidence_`` predict the true errors of topics, which the fit does not know.

    python benchmarks/evidence_predicts_error.py [--quick] [--refine N]

Sweep: planted corpora from 400 to 50,000 documents, artificial anchors on and off, correlated topics, K too small and
too large. For a fit, the mean expected error of its topics stands beside the true mean error. The error of a found
topic is its l1 distance to the true topic it is matched with, one to one; a surplus topic (K too large) is compared with
the nearest true topic. ``assigned`` leaves surplus topics out; what predicts it is ``weighted``, the expected errors averaged
by prevalence, since surplus topics hold little of the corpus.

Ranking: topic prevalences spread 20-fold; each true topic is matched to its nearest found one, and the expected error of
that one is compared with the distance.
"""

from __future__ import annotations

import argparse

import numpy as np
from _common import report
from scipy.stats import spearmanr

from latentia.datasets import planted
from latentia.metrics import l1_distances, match_components
from latentia.topics import AnchorTopics

CORRELATED = {"proportions": "logistic-normal"}
SWEEP = [
    *[(n, 20, 2000, {}, 20) for n in (400, 1000, 3000)],
    *[(n, 20, 2000, {"anchors": True}, 20) for n in (400, 1000, 3000)],
    *[(n, 50, 5000, {}, 50) for n in (400, 1000, 3000, 10_000, 50_000)],
    *[(n, 50, 5000, {"anchors": True}, 50) for n in (400, 1000, 3000, 10_000, 50_000)],
    *[(n, 50, 5000, {**CORRELATED, "correlation": 0.05}, 50) for n in (1000, 3000, 10_000)],
    *[(n, 50, 5000, {**CORRELATED, "correlation": 0.1}, 50) for n in (400, 1000, 3000, 10_000)],
    *[(n, 100, 5000, {}, 100) for n in (1000, 3000, 10_000)],
    *[(n, 50, 5000, {}, k) for k in (25, 35, 45) for n in (1000, 3000, 10_000)],
    *[(n, 50, 5000, {}, k) for k in (55, 65, 80) for n in (1000, 3000, 10_000)],
    (10_000, 100, 15_000, {}, 100),
    (50_000, 100, 15_000, {}, 100),
]
RANKING = [
    *[(n, 20, 2000, {}) for n in (1000, 3000)],
    *[(n, 50, 5000, {}) for n in (3000, 10_000, 30_000)],
    *[(n, 50, 5000, {"anchors": True}) for n in (3000, 10_000, 30_000)],
    *[(n, 50, 5000, {**CORRELATED, "correlation": 0.1}) for n in (3000, 10_000)],
    (10_000, 100, 5000, {}),
]
TRUSTED = 0.4


def true_errors(found: np.ndarray, true: np.ndarray) -> tuple[np.ndarray, float]:
    """Error of every found topic, and the mean over matched pairs alone."""
    distances = l1_distances(found, true)
    of_found, of_true = match_components(found, true)
    errors = distances.min(axis=1)
    errors[of_found] = distances[of_found, of_true]
    return errors, float(distances[of_found, of_true].mean())


def sweep(settings, refine: int, seed: int) -> list[dict]:
    rows = []
    for i, (n, k, v, options, asked) in enumerate(settings):
        corpus = planted.topic_corpus(n, n_topics=k, n_words=v, random_state=seed + i, **options)
        model = AnchorTopics(asked, refine=refine, n_jobs=2).fit(corpus.counts)
        errors, assigned = true_errors(model.components_, corpus.topics)
        expected = model.evidence_.component_errors
        rows.append(
            {
                "documents": n, "topics": k, "asked": asked, "words": v,
                "anchors": options.get("anchors", False), "correlation": options.get("correlation", 0.0),
                "true": errors.mean(), "assigned": assigned, "expected": expected.mean(),
                "weighted": model.prevalence_ @ expected, "ratio": errors.mean() / expected.mean(),
                "holds": model.evidence_.holds,
                "rank": model.evidence_["rank supported"].measured,
            }
        )  # fmt: skip
        print(".", end="", flush=True)
    print()
    return rows


def ranking(settings, refine: int, seed: int) -> tuple[list[dict], float]:
    rows, pooled = [], []
    for i, (n, k, v, options) in enumerate(settings):
        corpus = planted.topic_corpus(n, n_topics=k, n_words=v, spread=20, random_state=seed + i, **options)
        model = AnchorTopics(k, refine=refine, n_jobs=2).fit(corpus.counts)
        distances = l1_distances(model.components_, corpus.topics)
        nearest = distances.argmin(axis=0)
        true, expected = distances.min(axis=0), model.evidence_.component_errors[nearest]
        pooled.append(np.column_stack([true, expected]))
        rows.append(
            {
                "documents": n, "topics": k, "anchors": options.get("anchors", False),
                "correlation": options.get("correlation", 0.0), "true": true.mean(), "expected": expected.mean(),
                "spearman": spearmanr(true, expected)[0],
            }
        )  # fmt: skip
    return rows, float(spearmanr(np.vstack(pooled))[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fits of at most 3,000 documents")
    parser.add_argument("--refine", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1000)
    options = parser.parse_args()
    most = 3000 if options.quick else 10**9
    rows = sweep([s for s in SWEEP if s[0] <= most], options.refine, options.seed)
    ranks, pooled = ranking([s for s in RANKING if s[0] <= most], options.refine, options.seed + 500)
    true, expected = (np.array([row[key] for row in rows]) for key in ("true", "expected"))
    agree = np.array([row["holds"] == (row["true"] <= TRUSTED) for row in rows])
    assigned, weighted = (np.array([row[key] for row in rows]) for key in ("assigned", "weighted"))
    report(
        f"evidence_predicts_error{'_refined' if options.refine else ''}{'_quick' if options.quick else ''}", rows,
        spearman_across_fits=spearmanr(true, expected)[0],
        worst_factor=float(np.exp(np.abs(np.log(true / expected)).max())),
        fits_within_1_3=f"{int((np.abs(np.log(true / expected)) <= np.log(1.3)).sum())} of {len(rows)}",
        holds_agrees=f"{int(agree.sum())} of {len(rows)}",
        true_fits_trusted=f"{int((true <= TRUSTED).sum())} of {len(rows)}",
        spearman_assigned_weighted=spearmanr(assigned, weighted)[0],
        worst_factor_assigned_weighted=float(np.exp(np.abs(np.log(assigned / weighted)).max())),
    )  # fmt: skip
    report(
        f"evidence_ranks_topics{'_refined' if options.refine else ''}{'_quick' if options.quick else ''}", ranks,
        lowest_within_fit=min(row["spearman"] for row in ranks), pooled=pooled,
    )  # fmt: skip


if __name__ == "__main__":
    main()
