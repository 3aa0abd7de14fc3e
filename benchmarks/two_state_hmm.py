"""Claim: a chain of two states over a thousand symbols is learned by moments, where Baum-Welch from random starts is not.

    python benchmarks/two_state_hmm.py [--quick] [--seeds 3] [--iterations 200] [--only refining]

Emission error: mean l1 distance of the states' symbols, of a possible 2; transition error: largest of an entry. ``held_out``
is the log-likelihood a step of 20,000 further steps; entropy error that of the entropy rate, in nats. ``over_hmmlearn``:
CPU seconds of hmmlearn's CategoricalHMM (random start, n_iter=200, tol=0) over those of the row. The chains switch with
probability .25: ``halves`` is the family of Theorem 1.5, ``uniform`` and ``zipf`` have emissions base * Exponential(1).
``false``: runs of 60 on independent uniform draws in which a chain is detected. One BLAS thread.

``refining`` says what EM does to the moments' emissions where states are ever closer: chains of 5,000 to 100,000 steps and
10 to 200 steps a symbol that switch with probabilities (.25, .25), (.1, .3) or (.8, .7), three seeds of each where a chain is
detected. ``to_moments`` and ``worst``: geometric mean and largest ratio of the emissions' error to that of the moments, and
``better`` how often it is below 1; ``expected``: median and least of the expected over the true error.
"""

from __future__ import annotations

import argparse
import logging
import warnings
from itertools import product
from typing import Any

import numpy as np
from _common import report, timed
from threadpoolctl import threadpool_limits

from latentia.datasets import planted
from latentia.sequences import TwoStateHMM

SIZES = ((5000, 100), (5000, 500), (20_000, 200), (20_000, 2000), (100_000, 500), (100_000, 5000))
SWITCHES = ((0.25, 0.25), (0.1, 0.3), (0.8, 0.7))


def errors(emissions: np.ndarray, transmat: np.ndarray, chain: Any) -> tuple[float, float]:
    found = []
    for order in ([0, 1], [1, 0]):
        emission = np.abs(emissions[order] - chain.emissionprob).sum(axis=1).mean()
        found.append((float(emission), float(np.abs(transmat[np.ix_(order, order)] - chain.transmat).max())))
    return min(found)


def hmmlearn(symbols: np.ndarray, m: int, iterations: int) -> Any:
    from hmmlearn.hmm import CategoricalHMM

    return CategoricalHMM(2, n_iter=iterations, tol=0, random_state=0, n_features=m).fit(symbols[:, None])


def likelihood(model: Any, chain: Any, symbols: np.ndarray) -> float:
    """Log-likelihood a step, emissions mixed with 1% of the uniform distribution: hmmlearn's have zeros."""
    from latentia.sequences.recursions import log_likelihood

    emissions = 0.99 * model.emissionprob_ + 0.01 / model.emissionprob_.shape[1]
    total = log_likelihood(model.startprob_, model.transmat_, np.log(emissions.T), [len(symbols)], symbols)
    return float(total) / len(symbols)


def compare(m: int, ratio: int, kind: str, seeds: int, iterations: int) -> list[dict]:
    rows: dict[str, list[dict]] = {}
    for seed in range(seeds):
        options = {"switch": (0.25, 0.25), "emissions": kind, "random_state": 50 + seed}
        chain = planted.two_state_chain(m * ratio + 20_000, m, **options)
        symbols, fresh = chain.symbols[: m * ratio], chain.symbols[m * ratio :]
        truth = TwoStateHMM(n_symbols=m).fit(symbols)
        truth.emissionprob_, truth.transmat_ = chain.emissionprob, chain.transmat
        entropy = truth.entropy_rate()
        tasks = {
            "default": lambda: TwoStateHMM(n_symbols=m).fit(symbols),
            "refine=0": lambda: TwoStateHMM(n_symbols=m, refine=0).fit(symbols),
            "cubic": lambda: TwoStateHMM(n_symbols=m, method="cubic").fit(symbols),
        }
        if iterations and seed == 0:
            tasks[f"hmmlearn, {iterations}"] = lambda: hmmlearn(symbols, m, iterations)
        for name, task in tasks.items():
            run = timed(task)
            emission, transition = errors(run.value.emissionprob_, run.value.transmat_, chain)
            row = {"emission": emission, "transition": transition, "held_out": likelihood(run.value, chain, fresh)}
            row |= {
                "train": likelihood(run.value, chain, symbols),
                "cpu_s": run.cpu,
                "wall_s": run.wall,
            }
            if isinstance(run.value, TwoStateHMM):
                row["entropy_error"] = abs(run.value.entropy_rate() - entropy)
                row["detected"] = float(run.value.detected_)
            rows.setdefault(name, []).append(row)
        print(".", end="", flush=True)
    out = []
    for name, found in rows.items():
        row = {"symbols": m, "steps_a_symbol": ratio, "emissions": kind, "method": name, "runs": len(found)}
        out.append(row | {key: float(np.mean([each[key] for each in found])) for key in found[0]})
    peer = next((row["cpu_s"] for row in out if row["method"].startswith("hmmlearn")), None)
    return [row | ({"over_hmmlearn": peer / row["cpu_s"]} if peer else {}) for row in out]


def false_alarms(m: int, ratio: int, runs: int) -> dict:
    draws = (np.random.default_rng(900 + seed).integers(0, m, m * ratio) for seed in range(runs))
    found = sum(TwoStateHMM(n_symbols=m).fit(symbols).detected_ for symbols in draws)
    return {"symbols": m, "steps_a_symbol": ratio, "emissions": "independent", "runs": runs, "false": int(found)}


def refining(seeds: range) -> list[dict]:
    rows = []
    for kind, contrast in (("uniform", 0.7), ("uniform", 1.0), ("uniform", 2.0), ("zipf", 1.7), ("halves", 1.0)):
        found: dict[str, list[dict]] = {}
        for (n, m), switch, seed in product(SIZES, SWITCHES, seeds):
            options = {"switch": switch, "emissions": kind, "contrast": contrast, "random_state": seed}
            chain = planted.two_state_chain(n + 10_000, m, **options)
            symbols, fresh = chain.symbols[:n], chain.symbols[n:]
            tasks = {
                "refine=0": lambda m=m, x=symbols: TwoStateHMM(n_symbols=m, refine=0).fit(x),
                "refine=5": lambda m=m, x=symbols: TwoStateHMM(n_symbols=m, refine=5).fit(x),
                "default": lambda m=m, x=symbols: TwoStateHMM(n_symbols=m).fit(x),
            }
            for name, task in tasks.items():
                run = timed(task)
                if run.value.detected_:
                    emission, transition = errors(run.value.emissionprob_, run.value.transmat_, chain)
                    row = {"emission": emission, "transition": transition, "e_steps": len(run.value.refinement_)}
                    row |= {"held_out": likelihood(run.value, chain, fresh), "cpu_s": run.cpu, "wall_s": run.wall}
                    found.setdefault(name, []).append(row | {"expected": run.value.evidence_.expected_error / emission})
        moments = np.array([row["emission"] for row in found["refine=0"]])
        for name, runs in found.items():
            ratio = np.array([row["emission"] for row in runs]) / moments
            mean = {key: float(np.mean([row[key] for row in runs])) for key in runs[0]}
            rows.append(
                {"emissions": kind, "contrast": contrast, "method": name, "runs": len(runs)}
                | mean
                | {"to_moments": float(np.exp(np.log(ratio).mean())), "worst": float(ratio.max())}
                | {"better": float((ratio < 1).mean())}
                | {"expected": float(np.median([row["expected"] for row in runs]))}
                | {"least_expected": min(row["expected"] for row in runs)}
            )
        print(".", end="", flush=True)
    print()
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one seed, 20 iterations, 10 independent runs")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=200)
    parser.add_argument("--only", choices=("refining",))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.getLogger("hmmlearn").setLevel(logging.CRITICAL)
    seeds, iterations, runs = (1, 20, 10) if options.quick else (options.seeds, options.iterations, 60)
    with threadpool_limits(1):
        TwoStateHMM(refine=1).fit(planted.two_state_chain(2000, 20).symbols)  # compile
        report("two_state_refining" + ("_quick" if options.quick else ""), refining(range(7000, 7000 + seeds)))
        if options.only:
            return
        rows = compare(1000, 50, "halves", seeds, iterations)
        rows += compare(1000, 50, "uniform", seeds, 0) + compare(1000, 50, "zipf", seeds, 0)
        rows += compare(10_000, 10, "halves", seeds, 0)
        rows += [false_alarms(1000, 50, runs), false_alarms(1000, 5, runs), false_alarms(5000, 10, runs)]
    print()
    report("two_state_hmm" + ("_quick" if options.quick else ""), rows)


if __name__ == "__main__":
    main()
