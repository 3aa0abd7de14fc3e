"""Documents with embeddings, for `EmbeddingTopics`.

The true error of a topic is the l2 distance of its mean to that of many new documents of the nearest true topic, among the
directions that the model sees. In wrong worlds embeddings lie between topics, on a curve, or say nothing of the words.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist, pdist

from latentia.topics import EmbeddingTopics

from .world import Case, Rng, labels_of, spread_shares, worlds

Draw = Callable[[Rng, np.ndarray], np.ndarray]
_NEW = 20_000


def documents(
    rng: Rng,
    n: int = 3000,
    k: int = 6,
    d: int = 40,
    sep: float = 6.0,
    *,
    fold: float = 1.0,
    asked: int | None = None,
    told: float = 1.0,
    noise: Draw | None = None,
    after: Callable[[np.ndarray], np.ndarray] | None = None,
    true: bool = True,
) -> Case:
    """``told`` is the share of a document's words that come from its topic; ``noise(rng, labels)`` makes embeddings' own."""
    means = rng.standard_normal((k, d))
    means *= sep / np.median(pdist(means)) if k > 1 else 0.0
    cone = 2 * rng.standard_normal(d)
    words, shares = rng.dirichlet(np.full(150, 0.1), k), spread_shares(k, fold)
    common = words.mean(axis=0)
    scales = np.exp(0.3 * rng.standard_normal(d))
    noise = noise or (lambda rng, labels: scales * rng.standard_normal((len(labels), d)))

    def draw(size: int) -> tuple[sparse.csr_array, np.ndarray, np.ndarray]:
        labels = labels_of(rng, size, shares)
        table = (means + cone)[labels] + noise(rng, labels)
        counts = rng.multinomial(20, told * words[labels] + (1 - told) * common)
        return sparse.csr_array(counts), after(table) if after else table, labels

    counts, table, _ = draw(n)
    _, new, labels = draw(_NEW)

    def distances(model: EmbeddingTopics) -> np.ndarray:
        found = model.directions(None, new)
        return cdist(model.means_, np.array([found[labels == j].mean(axis=0) for j in range(k)]))

    return Case(
        lambda refine: EmbeddingTopics(k if asked is None else asked),
        lambda model: model.fit(counts, table),
        distances if true else None,
    )


def tails(degrees: float, d: int = 40) -> Draw:
    return lambda rng, labels: rng.standard_t(degrees, (len(labels), d)) / np.sqrt(degrees / (degrees - 2))


def own_scales(low: float, high: float, k: int = 6, d: int = 40) -> Draw:
    scales = np.geomspace(low, high, k)
    return lambda rng, labels: scales[labels, None] * rng.standard_normal((len(labels), d))


def curve(table: np.ndarray) -> np.ndarray:
    """Places along a circle in the first two columns take the place of groups."""
    angle = 2 * np.pi * np.random.default_rng(0).random(len(table))
    return np.hstack([6 * np.cos(angle)[:, None], 6 * np.sin(angle)[:, None], table[:, 2:] * 0.5])


WORLDS = worlds(
    "EmbeddingTopics",
    right={
        "plenty": lambda rng: documents(rng, 6000),
        "twenty topics": lambda rng: documents(rng, 6000, 20),
        "few documents": lambda rng: documents(rng, 300),
        "wide": lambda rng: documents(rng, 2000, 6, 200),
        "narrow": lambda rng: documents(rng, 3000, 4, 8),
        "shares 20-fold": lambda rng: documents(rng, 6000, fold=20),
        "near": lambda rng: documents(rng, sep=4.0),
        "hardly apart": lambda rng: documents(rng, sep=3.0),
        "far": lambda rng: documents(rng, sep=10.0),
        "words half told": lambda rng: documents(rng, told=0.5),
    },
    wrong={
        "heavy tails": lambda rng: documents(rng, noise=tails(4)),
        "sizes differ": lambda rng: documents(rng, noise=own_scales(0.6, 1.6)),
        "too few": lambda rng: documents(rng, asked=4),
        "too many": lambda rng: documents(rng, asked=9),
        "a circle": lambda rng: documents(rng, after=curve, told=0.0, true=False),
        "words say nothing": lambda rng: documents(rng, told=0.0, true=False),
    },
    empty={
        "one cloud": lambda rng: documents(rng, k=1, asked=5, true=False),
        "one cloud, wide": lambda rng: documents(rng, 1000, 1, 200, asked=5, true=False),
        "one cloud, heavy tails": lambda rng: documents(rng, k=1, asked=5, noise=tails(5), true=False),
        "few documents of one cloud": lambda rng: documents(rng, 200, 1, asked=5, true=False),
    },
)
