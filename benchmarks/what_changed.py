"""Measure how often `latentia.match` names planted changes of the right component.

Two models are fitted to rows of two truths. A component of the truth is the component of a model nearest to it, one to one, and
`latentia.match` is right if it pairs these two with the status of the change. Seeds below 700 are for the choice of constants,
seeds from 700 are reported.

    python benchmarks/what_changed.py --worlds 4
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import defaultdict

import numpy as np
from scipy.optimize import linear_sum_assignment

import latentia
from latentia.communities import MixedMembershipBlockModel
from latentia.datasets.planted._draws import draw_separated_means
from latentia.likelihood.edges import draw_edges
from latentia.mixtures import MultiViewMixture, SphericalGaussianMixture
from latentia.noisyor import NoisyOr
from latentia.sequences import SpectralHMM
from latentia.topics import AnchorTopics

N_NODES = 600


# --- truths: rows for components ------------------------------------------------------------------------------------


def draw_means(k, rng, width=9):
    return draw_separated_means(k, width, 7.0, rng)


def draw_words(k, rng, width=160):
    """Word probabilities; six words of each component, and of a spare one, are only its own."""
    words = rng.dirichlet(np.full(width, 0.3), k)
    words[:, : 6 * (k + 1)] = 0
    for i in range(k):
        words[i, 6 * i : 6 * i + 6] = 0.05
    return words / words.sum(axis=1, keepdims=True)


def draw_symbols(k, rng):
    return rng.dirichlet(np.full(24, 0.15), k)


def draw_causes(k, rng):
    return np.where(rng.random((k, 40)) < 0.25, rng.uniform(0.8, 2.0, (k, 40)), 0.0)


def draw_members(k, rng):
    return np.eye(k)[rng.permutation(np.arange(N_NODES) % k)].T


# --- fits to rows of a truth, with shares of the components ---------------------------------------------------------


def fit_mixture(means, shares, rng):
    labels = rng.choice(len(means), 1500, p=shares)
    return SphericalGaussianMixture(len(means)).fit(means[labels] + rng.standard_normal((1500, means.shape[1])))


def fit_views(means, shares, rng):
    labels = rng.choice(len(means), 3000, p=shares)
    X = means[labels] + rng.standard_normal((3000, means.shape[1]))
    return MultiViewMixture(len(means)).fit(np.split(X, 3, axis=1))


def fit_topics(words, shares, rng):
    weights = rng.dirichlet(1.5 * shares, 1500)
    return AnchorTopics(len(words)).fit(rng.multinomial(80, weights @ words))


def fit_causes(strengths, shares, rng):
    on = rng.random((4000, len(strengths))) < 0.75 * shares
    return NoisyOr(len(strengths)).fit((rng.random((4000, 40)) > 0.98 * np.exp(-(on @ strengths))).astype(int))


def walk(shares, rng, n=6000):
    states = rng.choice(len(shares), n, p=shares)
    stays = rng.random(n) < 0.7
    for i in np.flatnonzero(stays[1:]) + 1:
        states[i] = states[i - 1]
    return states


def fit_symbols(emissions, shares, rng):
    cumulative = emissions.cumsum(axis=1)[walk(shares, rng)]
    symbols = np.minimum((rng.random((len(cumulative), 1)) > cumulative).sum(axis=1), 23)
    return SpectralHMM(len(emissions)).fit(np.array([f"s{i:02}" for i in symbols]))


def fit_vectors(means, shares, rng):
    X = means[walk(shares, rng, 3000)]
    return SpectralHMM(len(means)).fit(X + rng.standard_normal(X.shape))


def fit_graph(members, shares, rng):
    table = np.full((len(members), len(members)), 0.004) + 0.12 * np.eye(len(members)) * (0.2 / shares)
    return MixedMembershipBlockModel(len(members)).fit(
        draw_edges(members.T, table, np.ones(N_NODES), directed=False, rng=rng)
    )


FAMILIES = {
    "mixtures": (draw_means, fit_mixture, 5),
    "views": (lambda k, rng: np.hstack([draw_means(k, rng, 6) for _ in range(3)]), fit_views, 4),
    "topics": (draw_words, fit_topics, 5),
    "noisy-or": (draw_causes, fit_causes, 4),
    "chains": (draw_symbols, fit_symbols, 3),
    "chains of vectors": (draw_means, fit_vectors, 3),
    "communities": (draw_members, fit_graph, 4),
}


# --- changes of the first component ---------------------------------------------------------------------------------


def move(family, truth, distance, model, rng):
    """Move the first component by a distance of its family."""
    moved, measure = truth.copy(), model._profile().measure
    if family == "communities":  # Nodes of the first community change places with others.
        inside, outside = np.flatnonzero(truth[0]), np.flatnonzero(truth[0] == 0)
        n = min(max(1, round(distance * len(inside) / 2)), len(inside))
        leave, join = rng.choice(inside, n, replace=False), rng.choice(outside, n, replace=False)
        moved[:, leave], moved[:, join] = truth[:, join], truth[:, leave]
        return moved
    target = rng.permutation(truth[0])
    if family in ("mixtures", "views", "chains of vectors"):
        target = truth[0] + rng.standard_normal(truth.shape[1])
    way = target - truth[0]
    moved[0] += way * min(distance / measure(truth[:1], target[None])[0, 0], 1.0)
    return moved


def split(family, truth, rng):
    """Return the truth with the two halves of its first component."""
    if family in ("mixtures", "views", "chains of vectors"):
        way = rng.standard_normal(truth.shape[1])
        way *= 3.0 / np.linalg.norm(way)
        return np.vstack([truth[:1] + way, truth[1:], truth[:1] - way])
    half = np.zeros(truth.shape[1])
    on = rng.permutation(np.flatnonzero(truth[0]))
    if family == "topics":
        on = np.r_[:6, rng.permutation(on[6:])] if on[0] < 6 else np.r_[:6, rng.permutation(on[on >= 6])]
    half[on[::2]] = 1
    parts = truth[0] * half, truth[0] * (1 - half)
    if family in ("topics", "chains"):
        parts = tuple(part / part.sum() for part in parts)
    return np.vstack([parts[0], truth[1:], parts[1]])


def changes(family, seed, kinds):
    """Yield each kind of change, the models, their truths, and the expected pairs of true components."""
    draw, fit, k = FAMILIES[family]
    rng = np.random.default_rng(seed)
    larger = draw(k + 1, rng)
    truth = larger[:k] if family != "communities" else draw(k, rng)
    even = np.full(k, 1 / k)

    def fitted(rows, shares=even):
        return fit(rows, shares, rng)

    first, second = fitted(truth), fitted(truth)
    yield "same", first, second, truth, truth, [(i, i) for i in range(k)]
    if "changed" in kinds:
        yield from moves(family, truth, first, second, fitted, rng)
    if {"new", "gone"} & set(kinds):
        yield from additions(family, truth, larger, first, second, fitted, rng)
    if {"split", "merged"} & set(kinds):
        parts, halves = split(family, truth, rng), np.r_[even[0] / 2, even[1:], even[0] / 2]
        divided = fitted(parts, halves)
        yield "split", first, divided, truth, parts, [(0, 0), (0, k)]
        yield "merged", divided, second, parts, truth, [(0, 0), (k, 0)]


def moves(family, truth, first, second, fitted, rng):
    """Yield changes of the first component."""
    errors = [m.evidence_.component_errors[order_of(m, truth)[0]] for m in (first, second)]
    for factor in (3, 5):
        moved = move(family, truth, factor * float(np.hypot(*errors)), first, rng)
        yield f"changed by {factor} joint errors", first, fitted(moved), truth, moved, [(0, 0)]


def additions(family, truth, larger, first, second, fitted, rng):
    """Yield a component more, and less."""
    k = len(truth)
    more = np.full(k + 1, 1 / (k + 1))
    if family == "communities":  # A sixth of all nodes make a community of their own.
        larger = np.vstack([truth, np.zeros(N_NODES)])
        leave = rng.choice(N_NODES, N_NODES // 6, replace=False)
        larger[:, leave] = np.eye(k + 1)[-1][:, None]
    bigger = fitted(larger, more)
    yield "new", first, bigger, truth, larger, [(None, k)]
    yield "gone", bigger, second, larger, truth, [(k, None)]


def order_of(model, truth):
    """Return the number in the model of each component of the truth."""
    profile = model._profile()
    if profile.columns is not None and str(profile.columns[0]).startswith("s"):
        truth = truth[:, [int(name[1:]) for name in profile.columns]]
    if truth.shape[1] > profile.values.shape[1]:  # Words without counts are left out of the vocabulary.
        truth = truth[:, [int(str(name).removeprefix("x")) for name in profile.columns]]
    rows, columns = linear_sum_assignment(profile.measure(truth, np.nan_to_num(profile.values)))
    order = np.full(len(truth), -1)
    order[rows] = columns
    return order


def measure(family, seeds, seconds, kinds):
    counts, ratios, start, n_worlds = defaultdict(lambda: [0, 0]), [], time.process_time(), 0
    wrong = defaultdict(lambda: defaultdict(int))
    for seed in seeds:
        if time.process_time() - start > seconds:
            break
        n_worlds += 1
        try:
            for kind, a, b, truth_a, truth_b, expected in changes(family, seed, kinds):
                status = kind.split()[0]
                places = order_of(a, truth_a), order_of(b, truth_b)
                pairs = latentia.match(a, b).pairs
                planted = {
                    tuple(None if i is None else int(order[i]) for i, order in zip(pair, places, strict=True))
                    for pair in expected
                }
                named = {(pair.a, pair.b) for pair in pairs if pair.status == status}
                if kind == "same":
                    of = {(pair.a, pair.b): pair for pair in pairs}
                    ratios += [of[p].distance / of[p].joint_error for p in planted if p in of]
                right = len(planted & named) if kind == "same" else int(planted <= named)
                counts[kind][0] += right
                counts[kind][1] += len(planted) if kind == "same" else 1
                if kind != "same" and not right:
                    ends = {
                        f"{pair.status}{'' if (pair.a, pair.b) in planted else ' elsewhere'}"
                        for pair in pairs
                        if any(x is not None and (pair.a == x or pair.b == y) for x, y in planted)
                        or any(y is not None and pair.b == y for _, y in planted)
                    }
                    wrong[kind][", ".join(sorted(ends))] += 1
        except latentia.LatentiaError as error:
            print(f"{family}, seed {seed}: {error}", flush=True)
    for kind, (right, n) in counts.items():
        instead = "; ".join(f"{n} {ends}" for ends, n in wrong[kind].items())
        print(f"{family:18} {kind:28} {right:4} of {n:4}  {right / n:4.0%}  {instead}", flush=True)
    quantiles = np.quantile(ratios, [0.5, 0.95]) if ratios else (np.nan, np.nan)
    print(
        f"{family:18} distance over joint error: median {quantiles[0]:.2f}, 95% quantile {quantiles[1]:.2f}; "
        f"{n_worlds} worlds, {time.process_time() - start:.0f} s",
        flush=True,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=50)
    parser.add_argument("--first-seed", type=int, default=700)
    parser.add_argument("--seconds", type=float, default=np.inf, help="CPU seconds for each family")
    parser.add_argument("--kinds", nargs="*", default=["changed", "new", "gone", "split", "merged"], help="beside same")
    parser.add_argument("--families", nargs="*", default=list(FAMILIES))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in arguments.families:
        measure(
            name,
            range(arguments.first_seed, arguments.first_seed + arguments.worlds),
            arguments.seconds,
            arguments.kinds,
        )
