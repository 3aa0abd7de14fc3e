"""Claim: causes of baskets predict other baskets better than a mixture of as many kinds of baskets does.

    python benchmarks/noisy_or_baskets.py [--quick]

Baskets of 20,000 planted rows (15 causes of some 12 of 120 items each, 1.6 on), tags of papers (Bibtex), tags of pages
(Delicious, those on 100 pages or more), and words of titles (m10), each with 15 causes; the last three are real data, and read
only where they are. Items in fewer than 10 training baskets are left out. ``nats`` are mean log-likelihoods of held-out
baskets, more is better: of noisy-or networks a lower bound where baskets have many items. The peer is a mixture of product
Bernoulli distributions of as many components, by EM from five random starts of 200 steps, the best on the training baskets,
with half a basket of pseudo-counts; "independent" are frequencies alone. Constants of the library were chosen on none of these.
"""

from __future__ import annotations

import argparse
import gzip
import warnings
from collections import Counter
from typing import Any

import numpy as np
from _common import DATA, report, timed, verdict
from scipy import sparse
from scipy.special import logsumexp

from latentia.datasets import planted
from latentia.noisyor import NoisyOr

CAUSES, LEAST, STARTS, STEPS = 15, 10, 5, 200
Baskets = list[list[str]]


def planted_baskets(seed: int) -> tuple[Baskets, Baskets]:
    truth = planted.noisy_or_network(120, CAUSES, active=1.6, density=0.1, leak=0.01, spread=2, random_state=seed)
    return tuple(  # type: ignore[return-value]
        [[f"item {i}" for i in np.flatnonzero(row)] for row in truth.sample(n, seed + 1 + k).X]
        for k, n in enumerate((20_000, 5000))
    )


def tags(name: str, part: str) -> Baskets:
    with gzip.open(DATA / name / f"{part}.txt.gz", "rt") as file:
        next(file)
        return [[f"tag {tag}" for tag in line.split(" ")[0].split(",") if tag] for line in file]


def titles(part: str) -> Baskets:
    words = (DATA / "m10" / "vocab.txt").read_text("utf-8").split()
    with gzip.open(DATA / "m10" / f"docword-{part}.txt.gz", "rt") as file:
        n = int(next(file))
        next(file), next(file)
        baskets: Baskets = [[] for _ in range(n)]
        for line in file:
            document, word, _ = (int(cell) for cell in line.split())
            baskets[document - 1].append(words[word - 1])
    return baskets


def frequent(baskets: Baskets, least: int) -> set[str]:
    counts = Counter(item for basket in baskets for item in set(basket))
    return {item for item, count in counts.items() if count >= least}


def table(baskets: Baskets, items: list[str]) -> sparse.csr_array:
    place = {item: i for i, item in enumerate(items)}
    rows = [sorted({place[item] for item in basket if item in place}) for basket in baskets]
    indptr = np.append(0, np.cumsum([len(row) for row in rows]))
    indices = np.concatenate([np.array(row, int) for row in rows])
    return sparse.csr_array((np.ones(len(indices)), indices, indptr), shape=(len(rows), len(items)))


def log_joint(X: Any, chances: np.ndarray, shares: np.ndarray) -> np.ndarray:
    return X @ (np.log(chances) - np.log1p(-chances)).T + np.log1p(-chances).sum(axis=1) + np.log(shares)


def mixture(X: Any, k: int, seed: int) -> tuple[float, np.ndarray, np.ndarray]:
    """A mixture of product Bernoulli distributions by EM: log-likelihood, chances (k, n) and shares (k,)."""
    rng = np.random.default_rng(seed)
    posterior = rng.dirichlet(np.full(k, 0.1), X.shape[0])
    frequency, last = np.asarray(X.mean(axis=0)).ravel(), -np.inf
    for _ in range(STEPS):
        counts = posterior.sum(axis=0)
        chances = (posterior.T @ X + 0.5 * frequency) / (counts[:, None] + 0.5)
        shares = (counts + 0.5) / (counts + 0.5).sum()
        joint = log_joint(X, np.clip(chances, 1e-9, 1 - 1e-9), shares)
        total = logsumexp(joint, axis=1)
        posterior = np.exp(joint - total[:, None])
        if total.sum() - last < 1e-6 * abs(total.sum()):
            break
        last = total.sum()
    return float(total.sum()), np.clip(chances, 1e-9, 1 - 1e-9), shares


def best_mixture(X: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
    return max((mixture(X, k, seed) for seed in range(STARTS)), key=lambda found: found[0])[1:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="planted baskets alone")
    quick = parser.parse_args().quick
    cases = {"planted": (planted_baskets(401), LEAST)}
    if not quick and (DATA / "bibtex").exists():
        cases["bibtex tags"] = ((tags("bibtex", "train"), tags("bibtex", "test")), LEAST)
        cases["delicious tags"] = ((tags("delicious", "train"), tags("delicious", "test")), 100)
        cases["title words"] = ((titles("train"), titles("test")), LEAST)
    rows = []
    for name, ((train, test), least) in cases.items():
        kept = frequent(train, least)
        train, test = ([[item for item in basket if item in kept] for basket in part] for part in (train, test))
        items = sorted(kept)
        X, Y = table(train, items), table(test, items)
        ours = timed(lambda train=train: NoisyOr(CAUSES, min_df=1, n_jobs=-1).fit(train))
        theirs = timed(lambda X=X: best_mixture(X, CAUSES))
        share = (np.asarray(X.sum(axis=0)).ravel() + 0.5) / (X.shape[0] + 1)
        model = ours.value
        rows.append(
            {
                "baskets": name, "n": X.shape[0], "items": len(items), "nats": model.score(test),
                "mixture": float(logsumexp(log_joint(Y, *theirs.value), axis=1).mean()),
                "independent": float(log_joint(Y, share[None], np.ones(1)).mean()), "grade": model.evidence_.grade,
                "cpu_s": ours.cpu, "mixture_cpu_s": theirs.cpu,
                "causes": "; ".join(model.cause_names_[:3]),
            }
        )  # fmt: skip
        print(rows[-1], flush=True)
    ahead = [row["nats"] - row["mixture"] for row in rows]
    report(
        "noisy_or_baskets" + "_quick" * quick, rows, causes=CAUSES,
        **{"least nats ahead of the mixture > 0": verdict(min(ahead), min(ahead) > 0)},
    )  # fmt: skip


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
