"""Claim: low rank and discounted counts together predict what follows a word better than Kneser-Ney smoothing and KL-NMF do.

    python benchmarks/matrices_ordered.py [--quick]

Ordered pairs of neighbouring words of the King James Bible and of the Austen novels (words seen at least five times), one pair
in ten held out, three splits; nats a held-out pair, log P(first) + log P(second | first), medians. ``ours`` is
`ProbabilityMatrix(rank, symmetric=False)`, ``low rank alone`` the same with discount=False, ``unordered`` that of pairs
without order, on the held-out pairs in order. Peers: interpolated Kneser-Ney smoothing with three discounts from counts of
counts (own transcription of Chen and Goodman 1999), and scikit-learn's KL-NMF of the same rank (multiplicative updates from
nndsvda, 200 steps; mixed with 1% of the marginals, as the low rank alone). Constants come from other text (UD English EWT).
--quick: one split of the Bible, rank 30.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from _common import DATA, report, timed, verdict
from matrices_real_data import bigrams
from scipy import sparse
from sklearn.decomposition import NMF

from latentia.matrices import ProbabilityMatrix
from latentia.matrices._ordered import estimate_discounts
from latentia.moments import split_counts

RANKS = (30, 100)
ADDED = 0.3


def nats(rest: Any, chance: np.ndarray) -> float:
    return float(rest.tocoo().data @ np.log(chance)) / float(rest.sum())


def kneser_ney(known: Any, rest: Any) -> float:
    discounts, cells = estimate_discounts(known), rest.tocoo()
    assert discounts is not None
    i, j = cells.coords
    given = sparse.csr_array(
        (discounts[np.minimum(known.data, 3).astype(int)], known.indices, known.indptr), shape=known.shape
    )
    total, mass = known.sum(axis=1), given.sum(axis=1)
    met = np.asarray((known > 0).sum(axis=0)).ravel() + ADDED
    seen = np.asarray(known[i, j]).ravel()
    left = seen - discounts[np.minimum(seen, 3).astype(int)]
    lower = (met / met.sum())[j]
    second = np.where(total[i] > 0, (left + mass[i] * lower) / np.maximum(total[i], 1), lower)
    first = (total + ADDED) / (total + ADDED).sum()
    return nats(rest, first[i] * second)


def nmf(known: Any, rest: Any, rank: int) -> float:
    options: dict[str, Any] = {"solver": "mu", "beta_loss": "kullback-leibler", "init": "nndsvda", "max_iter": 200}
    model = NMF(rank, **options, random_state=0)
    left = model.fit_transform(known)
    right = model.components_
    i, j = rest.tocoo().coords
    total = float((left.sum(axis=0) * right.sum(axis=1)).sum())
    first, second = (
        (np.asarray(known.sum(axis=axis)).ravel() / known.sum() + ADDED / known.shape[0]) / (1 + ADDED)
        for axis in (1, 0)
    )
    low = np.einsum("nk,nk->n", left[i], right[:, j].T) / total
    return nats(rest, 0.99 * low + 0.01 * first[i] * second[j])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    texts = {"Bible": ["bible_kjv/kjv.txt.gz"]}
    if not quick:
        texts["Austen"] = sorted(f"austen/{path.name}" for path in (DATA / "austen").glob("*.txt.gz"))
    rows = []
    for name, files in texts.items():
        counts, _ = bigrams(files)
        for rank in RANKS[: 1 if quick else None]:
            runs = []
            for seed in range(1 if quick else 3):
                known, rest = split_counts(counts, False, seed, 0.9)
                ours = timed(lambda known=known, rank=rank: ProbabilityMatrix(rank, symmetric=False).fit(known))
                alone = ProbabilityMatrix(rank, symmetric=False, discount=False).fit(known)
                unordered = ProbabilityMatrix(rank).fit(known)
                theirs = timed(lambda known=known, rest=rest, rank=rank: nmf(known, rest, rank))
                runs.append(
                    {
                        "ours": ours.value.score(rest), "low rank alone": alone.score(rest),
                        "Kneser-Ney": kneser_ney(known, rest), "KL-NMF": theirs.value, "unordered": unordered.score(rest),
                        "kept": ours.value.n_kept_, "cpu_s": ours.cpu, "nmf_cpu_s": theirs.cpu,
                    }
                )  # fmt: skip
            rows.append(
                {"text": name, "rank": rank} | {key: float(np.median([run[key] for run in runs])) for key in runs[0]}
            )
            print(rows[-1], flush=True)
    ahead = min(row["ours"] - row["Kneser-Ney"] for row in rows)
    further = min(row["ours"] - row["KL-NMF"] for row in rows)
    share = max(row["cpu_s"] / row["nmf_cpu_s"] for row in rows)
    report(
        "matrices_ordered" + "_quick" * quick, rows,
        **{
            "least nats ahead of Kneser-Ney > 0": verdict(ahead, ahead > 0),
            "least nats ahead of KL-NMF > 0": verdict(further, further > 0),
            "most CPU seconds of KL-NMF's <= 1/3": verdict(share, share <= 1 / 3),
        },
    )  # fmt: skip


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
