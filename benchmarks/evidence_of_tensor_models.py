"""Claim: the expected errors in ``evidence_`` of the models by tensor decomposition predict their true errors.

    python benchmarks/evidence_of_tensor_models.py [--quick] [--seeds 2] [--family NAME]

Sweep: for each family planted data from easy to hopeless (rows, length of documents, separation, contrast, persistence,
spread of the weights), without and with refining. For a fit, the mean expected error of its components stands beside the
true mean error in the same distance, each component against the true one that it is matched with, one to one (``true``), or
against the nearest (``nearest``). ``holds`` of the evidence is compared with true <= the limit that the evidence itself
names. The number of components is the true one; fits with another number, or with a wrong Dirichlet sum, are settings of
their own ("wrong"), where surplus components are compared with the nearest true one. ``refused``: the estimator raised a
LatentiaError that says what the data supports; ``unmeasured``: halves of the data cannot carry the components, and the
evidence does not hold (``yet_good``: of these, fits whose true error is below the limit). ``wrongly_trusted``: the evidence
holds and the error is above the limit; ``wrongly_denied``: the reverse, and the rows of the fits name the check that denied
them.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from _common import report
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from scipy.stats import spearmanr
from threadpoolctl import threadpool_limits

from latentia.datasets import planted
from latentia.exceptions import LatentiaError
from latentia.ica import TensorICA
from latentia.metrics import l1_distances
from latentia.mixtures import MultiViewMixture, SphericalGaussianMixture
from latentia.sequences import SpectralHMM
from latentia.topics import SingleTopicModel, SpectralLDA


@dataclass(frozen=True)
class Family:
    """``plant(random_state, **setting)`` makes data; ``distances(model, data)`` are those of found to true components."""

    plant: Callable[..., Any]
    size: str
    components: str
    fit: Callable[..., Any]
    distances: Callable[[Any, Any], np.ndarray]
    refine: int | str
    settings: list[dict]


def single_topic(data, k, refine, **options):
    return SingleTopicModel(k, refine=refine, **options).fit(data.counts)


def lda(data, k, refine, **options):
    return SpectralLDA(k, refine=refine, **options).fit(data.counts)


def spherical(data, k, refine, **options):
    return SphericalGaussianMixture(k, refine=refine, **options).fit(data.X)


def multi_view(data, k, refine, **options):
    binary = bool(np.isin(data.X[:5], (0, 1)).all())
    thirds = np.array_split(np.arange(data.X.shape[1]), 3)
    distribution = "bernoulli" if binary else "gaussian"
    return MultiViewMixture(k, distribution=distribution, refine=refine, **options).fit(data.X, views=thirds)


def hidden_markov(data, k, refine, **options):
    if hasattr(data, "symbols"):
        n_symbols = data.emissionprob.shape[1]
        return SpectralHMM(k, n_symbols=n_symbols, refine=refine, **options).fit(data.symbols, data.lengths)
    return SpectralHMM(k, refine=refine, **options).fit(data.X, data.lengths)


def ica(data, k, refine, **options):
    return TensorICA(k, refine=refine, **options).fit(data.X)


def topic_distances(model, data):
    return l1_distances(model.components_, data.topics)


def multi_view_distances(model, data):
    scale = data.X.std(axis=0)
    return cdist(np.hstack(model.means_) / scale, data.means / scale)


def state_distances(model, data):
    if hasattr(data, "symbols"):
        return l1_distances(model.emissionprob_, data.emissionprob)
    scale = data.X.std(axis=0)
    return cdist(model.means_ / scale, data.means / scale)


def crosstalk(model, data):
    """Amplitude of all sources but the true one in each recovered source."""
    gains = model.components_ @ data.mixing
    shares = gains**2 / (gains**2).sum(axis=1, keepdims=True)
    return np.sqrt(np.maximum(1 - shares, 0))


def chain(n_steps, kind="symbols", **options):
    return (planted.hidden_markov_chain if kind == "symbols" else planted.gaussian_chain)(n_steps, **options)


def single_corpus(**options):
    return planted.topic_corpus(proportions="single", **options)


def grid(base: dict, **values: list) -> list[dict]:
    """The base setting with each value of one parameter."""
    return [{**base, name: value} for name, chosen in values.items() for value in chosen]


TOPICS = {"n_topics": 10, "n_words": 1000}
MIXED = {**TOPICS, "concentration": 0.1, "length": 100}
ROUND = {"n_components": 10, "n_features": 20, "separation": 6.0}
PRODUCT = {"n_components": 5, "n_features": 30}
STATES = {"n_states": 4, "n_symbols": 12, "persistence": 0.8}
VECTORS = {"kind": "vectors", "n_states": 4, "n_features": 5}
ALIKE = {"concentration": 5.0, "min_singular_value": 0.02}
MANY = {"n_states": 8, "n_symbols": 30, "min_mass": 0.03, "min_singular_value": 0.1}
LAPLACE = {"n_components": 10}
FAMILIES = {
    "single topic": Family(
        single_corpus, "n_documents", "n_topics", single_topic, topic_distances, 5,
        [
            *grid({**TOPICS, "length": 20}, n_documents=[100, 300, 1000, 3000, 10_000, 50_000]),
            *grid({**TOPICS, "length": 5}, n_documents=[300, 1000, 3000, 10_000, 50_000]),
            *grid({**TOPICS, "length": 3}, n_documents=[1000, 10_000, 50_000]),
            *grid({**TOPICS, "length": 100}, n_documents=[100, 300, 1000]),
            *grid({**TOPICS, "length": 20, "spread": 20.0}, n_documents=[1000, 3000, 10_000]),
            *grid({"n_topics": 30, "n_words": 1000, "length": 20}, n_documents=[1000, 10_000]),
            *grid({**TOPICS, "length": 20, "n_documents": 3000}, asked=[5, 8, 12, 15]),
        ],
    ),
    "LDA": Family(
        planted.topic_corpus, "n_documents", "n_topics", lda, topic_distances, 5,
        [
            *grid(MIXED, n_documents=[100, 300, 1000, 3000, 10_000, 30_000]),
            *grid({**MIXED, "length": 20}, n_documents=[300, 1000, 3000, 10_000, 30_000]),
            *grid({**MIXED, "length": 300}, n_documents=[100, 300, 1000, 3000]),
            *grid({**MIXED, "concentration": 0.03}, n_documents=[300, 1000, 5000]),
            *grid({**MIXED, "concentration": 0.5}, n_documents=[1000, 5000, 20_000]),
            *grid({**MIXED, "spread": 20.0}, n_documents=[1000, 5000]),
            *grid({**MIXED, "known": {"alpha0": 1.0}}, n_documents=[300, 1000, 5000]),
            *grid({**MIXED, "n_documents": 5000}, asked=[5, 8, 12, 15]),
            *grid({**MIXED, "n_documents": 5000}, wrong=[{"alpha0": 0.3}, {"alpha0": 5.0}]),
        ],
    ),
    "spherical Gaussians": Family(
        planted.gaussian_mixture, "n_samples", "n_components", spherical,
        lambda model, data: cdist(model.means_, data.means), "auto",
        [
            *grid(ROUND, n_samples=[100, 300, 1000, 3000, 10_000, 50_000]),
            *grid({**ROUND, "n_samples": 10_000}, separation=[1.0, 2.0, 3.0, 4.0, 10.0]),
            *grid({**ROUND, "n_samples": 1000}, separation=[2.0, 4.0, 10.0]),
            *grid({**ROUND, "n_samples": 5000}, spread=[5.0, 20.0]),
            *grid({**ROUND, "variance": np.geomspace(0.3, 3, 10)}, n_samples=[1000, 10_000]),
            *grid({"n_components": 20, "n_features": 50, "separation": 6.0}, n_samples=[1000, 5000, 20_000, 50_000]),
            *grid({**ROUND, "n_samples": 10_000}, asked=[5, 8, 12, 15]),
        ],
    ),
    "multi-view": Family(
        planted.product_mixture, "n_samples", "n_components", multi_view, multi_view_distances, "auto",
        [
            *grid({**PRODUCT, "contrast": 0.6}, n_samples=[100, 300, 1000, 3000, 10_000, 50_000]),
            *grid({**PRODUCT, "n_samples": 5000}, contrast=[0.1, 0.2, 0.3, 0.4, 0.8]),
            *grid({**PRODUCT, "n_samples": 20_000}, contrast=[0.1, 0.2, 0.3]),
            *grid({**PRODUCT, "n_samples": 1000}, contrast=[0.3, 0.8]),
            *grid({**PRODUCT, "n_samples": 5000, "contrast": 0.6}, spread=[5.0, 20.0]),
            *grid({**PRODUCT, "kind": "gaussian", "n_samples": 5000}, separation=[1.0, 2.0, 3.0, 6.0]),
            *grid({**PRODUCT, "n_samples": 10_000, "contrast": 0.6}, asked=[3, 4, 6, 8]),
        ],
    ),
    "hidden Markov": Family(
        chain, "n_steps", "n_states", hidden_markov, state_distances, "auto",
        [
            *grid(STATES, n_steps=[300, 1000, 3000, 10_000, 30_000, 100_000]),
            *grid({**STATES, "persistence": 0.5}, n_steps=[1000, 3000, 10_000, 30_000, 100_000]),
            *grid({**STATES, "persistence": 0.3, "min_transition_singular_value": 0.1}, n_steps=[3000, 30_000]),
            *grid({**STATES, **ALIKE}, n_steps=[3000, 30_000, 100_000]),
            *grid({**STATES, **MANY}, n_steps=[3000, 10_000, 50_000]),
            *grid({**VECTORS, "separation": 4.0}, n_steps=[300, 1000, 3000, 10_000, 50_000]),
            *grid({**VECTORS, "n_steps": 10_000}, separation=[0.5, 1.0, 2.0, 3.0]),
            *grid({**STATES, "n_steps": 20_000}, asked=[2, 3, 5, 6]),
        ],
    ),
    "ICA": Family(
        planted.independent_sources, "n_samples", "n_components", ica, crosstalk, "auto",
        [
            *grid(LAPLACE, n_samples=[50, 100, 300, 1000, 3000, 10_000, 50_000]),
            *grid({**LAPLACE, "distribution": "uniform"}, n_samples=[100, 1000, 10_000]),
            *grid({**LAPLACE, "distribution": "student"}, n_samples=[300, 3000, 30_000]),
            *grid({**LAPLACE, "distribution": "mixed"}, n_samples=[100, 300, 1000, 10_000]),
            *grid({"n_components": 20}, n_samples=[1000, 10_000, 30_000]),
            *grid({"n_components": 3}, n_samples=[100, 1000]),
            *grid({**LAPLACE, "n_samples": 10_000, "distribution": "exponential"}, n_features=[10, 20]),
        ],
    ),
}  # fmt: skip


def one_fit(family: Family, setting: dict, refine: int | str, seed: int) -> dict:
    setting = dict(setting)
    asked = setting.pop("asked", setting[family.components])
    wrong = setting.pop("wrong", {})
    known = setting.pop("known", {})
    data = family.plant(random_state=seed, **setting)
    row = {"n": setting[family.size], "k": setting[family.components], "asked": asked, "refine": refine}
    shown = {name: value for name, value in setting.items() if name not in (family.size, family.components)}
    shown = {**shown, **known, **wrong} | ({"variance": "varies"} if "variance" in shown else {})
    row["setting"] = " ".join(f"{name}={value}" for name, value in shown.items())
    row["right"] = asked == row["k"] and not wrong
    try:
        model = family.fit(data, asked, refine, **known, **wrong)
    except LatentiaError:
        return {**row, "outcome": "refused", "holds": False}
    return row | judged(model, family.distances(model, data))


def judged(model: Any, distances: np.ndarray) -> dict:
    """True and expected error, and whether the evidence agrees."""
    errors = distances.min(axis=1)
    nearest = errors.mean()
    found, true = linear_sum_assignment(distances)
    errors[found] = distances[found, true]
    limit = model.evidence_.limit
    expected = model.evidence_.component_errors
    out = {
        "outcome": "unmeasured" if expected is None else "measured", "true": errors.mean(), "nearest": nearest,
        "limit": limit, "holds": model.evidence_.holds, "good": bool(errors.mean() <= limit),
    }  # fmt: skip
    out["denied_by"] = ", ".join(check.name for check in model.evidence_.failed)
    if expected is not None:
        out |= {"expected": expected.mean(), "ratio": errors.mean() / expected.mean()}
    return out


def summary(name: str, rows: list[dict]) -> dict:
    measured = [row for row in rows if row["outcome"] == "measured"]
    true, expected, nearest = (np.array([row[key] for row in measured]) for key in ("true", "expected", "nearest"))
    ratio = true / expected
    under, over = measured[int(ratio.argmax())], measured[int(ratio.argmin())]
    return {
        "family": name,
        "fits": len(rows),
        "refused": sum(row["outcome"] == "refused" for row in rows),
        "unmeasured": sum(row["outcome"] == "unmeasured" for row in rows),
        "yet_good": sum(row["outcome"] == "unmeasured" and row["good"] for row in rows),
        "spearman": spearmanr(true, expected)[0],
        "within_1_3": f"{int((np.abs(np.log(ratio)) <= np.log(1.3)).sum())} of {len(ratio)}",
        "within_2": f"{int((np.abs(np.log(ratio)) <= np.log(2)).sum())} of {len(ratio)}",
        "worst_factor": float(np.exp(np.abs(np.log(ratio)).max())),
        "worst_factor_nearest": float(np.exp(np.abs(np.log(nearest / expected)).max())),
        "holds_agrees": f"{sum(row['holds'] == row['good'] for row in measured)} of {len(measured)}",
        "wrongly_trusted": sum(row["holds"] and not row["good"] for row in measured),
        "wrongly_denied": sum(row["good"] and not row["holds"] for row in measured),
        "most_hopeful": f"{ratio.max():.2g} at {described(under)}",
        "most_cautious": f"{ratio.min():.2g} at {described(over)}",
    }


def described(row: dict) -> str:
    asked = "" if row["asked"] == row["k"] else f" asked={row['asked']}"
    return f"n={row['n']} k={row['k']}{asked} {row['setting']} refine={row['refine']} (true {row['true']:.2g})"


def sweep(name: str, family: Family, most: int, seeds: int) -> list[dict]:
    rows = []
    for i, setting in enumerate(family.settings):
        if setting[family.size] > most:
            continue
        for refine in (0, family.refine):
            rows += [{"family": name, **one_fit(family, setting, refine, 2000 + 10 * i + s)} for s in range(seeds)]
        print(".", end="", flush=True)
    print()
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fits of at most 3,000 rows, one seed")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--family", choices=list(FAMILIES), help="this family alone")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    chosen = [options.family] if options.family else list(FAMILIES)
    most, seeds = (3000, 1) if options.quick else (10**9, options.seeds)
    suffix = ("_quick" if options.quick else "") + (f"_{options.family.replace(' ', '_')}" if options.family else "")
    rows, right, wrong = [], [], []
    with threadpool_limits(1):
        for name in chosen:
            found = sweep(name, FAMILIES[name], most, seeds)
            rows += found
            for refined in (False, True):
                label = name + (", refined" if refined else "")
                same = [row for row in found if row["right"] and (row["refine"] != 0) == refined]
                right.append(summary(label, same))
            other = [row for row in found if not row["right"]]
            wrong += [summary(name, other)] if any(row["outcome"] == "measured" for row in other) else []
    report("evidence_of_tensor_models_fits" + suffix, rows)
    report("evidence_of_tensor_models" + suffix, right)
    report("evidence_of_tensor_models_wrong" + suffix, wrong)


if __name__ == "__main__":
    main()
