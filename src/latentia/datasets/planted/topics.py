"""Topic corpora that follow the admixture model.

Topics are rows a_k of a K x V matrix A of probabilities; a document draws
proportions w from a distribution T on the simplex and then each of its words from w^T A. The second moment of T,
R = E[w w^T] (K x K), and A give the exact co-occurrence matrix Q = A^T R A of two words of one document.

The base measure of the words is Zipf-like, b_v proportional to 1 / (v + 30), and a topic is
.98 Dirichlet(.04 V b) + .02 b, so that no word belongs to one topic alone unless ``anchors=True`` adds such words
(Ge, thesis 2013, section 4.3.4).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from scipy import sparse

from ...exceptions import LatentiaError
from ...likelihood.sampling import WordSampler
from ._draws import draw_separated_means, geometric_weights

_BLOCK_ROWS = 4096


@dataclass(frozen=True)
class TopicModelTruth:
    """The parameters of a planted topic model, and a sampler of documents from it.

    Attributes
    ----------
    topics : ndarray of shape (n_topics, n_words)
        Word probabilities of each topic; rows sum to one.
    prevalence : ndarray of shape (n_topics,)
        Expected share of each topic, E[w].
    dirichlet : ndarray of shape (n_topics,) or None
        Parameters of the Dirichlet distribution of the proportions; None for any other distribution.
    log_covariance : ndarray of shape (n_topics, n_topics) or None
        Covariance of the log-proportions where these are logistic-normal.
    anchors : ndarray of shape (n_topics,) or None
        Index of the word that was added for each topic alone; None without artificial anchors.
    single : bool
        Every document has one topic, drawn from the prevalence.
    """

    topics: np.ndarray
    prevalence: np.ndarray
    dirichlet: np.ndarray | None = None
    log_covariance: np.ndarray | None = None
    anchors: np.ndarray | None = None
    single: bool = False

    def proportions(self, n_documents: int, rng: np.random.Generator) -> np.ndarray:
        """Draw topic proportions, shape (n_documents, n_topics), from the model's distribution T."""
        if self.single:
            return np.eye(len(self.topics))[rng.choice(len(self.topics), size=n_documents, p=self.prevalence)]
        if self.dirichlet is not None:
            return rng.dirichlet(self.dirichlet, size=n_documents)
        assert self.log_covariance is not None
        root = np.linalg.cholesky(self.log_covariance)
        logits = rng.standard_normal((n_documents, len(self.topics))) @ root.T + np.log(self.prevalence)
        weights = np.exp(logits - logits.max(axis=1, keepdims=True))
        return weights / weights.sum(axis=1, keepdims=True)

    def second_moment(self, n_samples: int = 200_000) -> np.ndarray:
        """R = E[w w^T], shape (n_topics, n_topics): from ``n_samples`` draws if logistic-normal, exact otherwise."""
        if self.single:
            return np.diag(self.prevalence)
        if self.dirichlet is not None:
            total = self.dirichlet.sum()
            outer = np.outer(self.dirichlet, self.dirichlet) + np.diag(self.dirichlet)
            return outer / (total * (total + 1))
        rng, moment = np.random.default_rng(0), np.zeros((len(self.topics),) * 2)
        for _ in range(0, n_samples, _BLOCK_ROWS):
            weights = self.proportions(_BLOCK_ROWS, rng)
            moment += weights.T @ weights
        return moment / moment.sum()

    def cooccurrence(self) -> np.ndarray:
        """Return the exact Q = A^T R A, shape (n_words, n_words). For small vocabularies: this is a dense square array."""
        return self.topics.T @ self.second_moment() @ self.topics

    def sample_blocks(
        self, n_documents: int, length: int = 300, random_state: int = 0, block_rows: int = _BLOCK_ROWS
    ) -> Iterator[tuple[sparse.csr_array, np.ndarray]]:
        """Yield (counts, proportions) block by block, so that a corpus of any size can be written to disk.

        The same ``random_state`` yields the same documents; block b has its own stream of random numbers.
        """
        sample = WordSampler(self.topics)
        streams = np.random.SeedSequence(random_state).spawn(-(-n_documents // block_rows))
        for b, stream in enumerate(streams):
            rng = np.random.default_rng(stream)
            rows = min(block_rows, n_documents - b * block_rows)
            weights = self.proportions(rows, rng)
            yield sample(rng.multinomial(length, weights), rng), weights

    def sample(self, n_documents: int, length: int = 300, random_state: int = 0) -> PlantedTopics:
        """Draw a corpus of ``n_documents`` documents of ``length`` words each."""
        blocks = list(self.sample_blocks(n_documents, length, random_state))
        counts = sparse.vstack([counts for counts, _ in blocks], format="csr")
        return PlantedTopics(counts, np.vstack([weights for _, weights in blocks]), self)


@dataclass(frozen=True)
class PlantedTopics:
    """A corpus and the model that generated it.

    Attributes
    ----------
    counts : csr_array of shape (n_documents, n_words), int32
    proportions : ndarray of shape (n_documents, n_topics)
    truth : TopicModelTruth
    """

    counts: sparse.csr_array
    proportions: np.ndarray
    truth: TopicModelTruth = field(repr=False)

    @property
    def topics(self) -> np.ndarray:
        """Word probabilities of the planted topics, shape (n_topics, n_words)."""
        return self.truth.topics


def topic_model(
    n_topics: int = 20,
    n_words: int = 2000,
    *,
    concentration: float = 0.03,
    spread: float = 1.0,
    proportions: Literal["dirichlet", "logistic-normal", "single"] = "dirichlet",
    correlation: float = 0.0,
    n_groups: int = 10,
    log_variance: float = 9.0,
    anchors: bool = False,
    random_state: int = 0,
) -> TopicModelTruth:
    """Plant a topic model.

    Parameters
    ----------
    n_topics, n_words : int
        K and V. Artificial anchors are added to the V words.
    concentration : float
        For "dirichlet": mean Dirichlet parameter of a topic.
    spread : float
        Ratio of the largest to the smallest prevalence; topics lie between them geometrically, in random order.
    proportions : {"dirichlet", "logistic-normal", "single"}
        Distribution of the topic proportions. "single": one topic a document, drawn from the prevalence.
    correlation : float
        For "logistic-normal": correlation of the log-proportions of two topics of one group (thesis, section 4.3.5).
    n_groups : int
        For "logistic-normal": number of groups into which the topics are split.
    log_variance : float
        For "logistic-normal": variance of a log-proportion; 9 makes documents about as mixed as the default
        Dirichlet does.
    anchors : bool
        Add to every topic a word of its own, as probable as the topic's most probable word, and renormalise.
    random_state : int

    Returns
    -------
    TopicModelTruth
        The truth, from which data is drawn.
    """
    if n_topics < 1 or n_words < n_topics:
        raise LatentiaError(f"n_topics={n_topics} and n_words={n_words}: need 1 <= n_topics <= n_words.")
    rng = np.random.default_rng(random_state)
    base = 1.0 / (np.arange(n_words) + 30.0)
    base /= base.sum()
    topics = np.vstack([0.98 * _dirichlet(0.04 * n_words * base, rng) + 0.02 * base for _ in range(n_topics)])
    if anchors:
        topics = np.hstack([topics, np.diag(topics.max(axis=1))])
        topics /= topics.sum(axis=1, keepdims=True)
    prevalence = geometric_weights(n_topics, spread, rng)
    words = np.arange(n_words, n_words + n_topics) if anchors else None
    if proportions == "dirichlet":
        return TopicModelTruth(topics, prevalence, dirichlet=concentration * n_topics * prevalence, anchors=words)
    if proportions == "single":
        return TopicModelTruth(topics, prevalence, anchors=words, single=True)
    if proportions != "logistic-normal":
        raise LatentiaError(f"proportions={proportions!r}: use 'dirichlet', 'logistic-normal' or 'single'.")
    group = np.arange(n_topics) % n_groups
    covariance = log_variance * np.where(group[:, None] == group[None, :], correlation, 0.0)
    np.fill_diagonal(covariance, log_variance)
    return TopicModelTruth(topics, prevalence, log_covariance=covariance, anchors=words)


def topic_corpus(
    n_documents: int = 2000, *, length: int = 300, random_state: int = 0, **model: object
) -> PlantedTopics:
    """Plant a topic model (parameters of `topic_model`) and draw ``n_documents`` documents from it.

    Parameters
    ----------
    n_documents : int, default=2000
        Number of documents.
    length : int, default=300
        Words of a document.
    random_state : int, default=0
        Seed.
    model : parameters of `topic_model`

    Returns
    -------
    PlantedTopics
        The data and the truth that it was drawn from.
    """
    truth = topic_model(random_state=random_state, **model)  # type: ignore[arg-type]
    return truth.sample(n_documents, length, random_state=random_state + 1)


@dataclass(frozen=True)
class PlantedEmbeddings:
    """Documents of one topic each with embeddings, and the model that generated them.

    Attributes
    ----------
    counts : csr_array of shape (n_documents, n_words), int32
    embeddings : ndarray of shape (n_documents, n_features)
    labels : ndarray of int, shape (n_documents,)
        Topic of each document.
    topics : ndarray of shape (n_topics, n_words)
        Word probabilities of the planted topics.
    means : ndarray of shape (n_topics, n_features)
        Mean embeddings of the topics.
    """

    counts: sparse.csr_array
    embeddings: np.ndarray
    labels: np.ndarray
    topics: np.ndarray
    means: np.ndarray

    @property
    def vocabulary(self) -> list[str]:
        """Names of the words, "w0", "w1", ..."""
        return [f"w{i}" for i in range(self.topics.shape[1])]

    @property
    def texts(self) -> list[str]:
        """The documents as texts, "w3 w3 w17 ...", by the number of the word."""
        words = np.array(self.vocabulary, dtype=object)
        rows = (self.counts[[i]] for i in range(self.counts.shape[0]))
        return [" ".join(words[np.repeat(row.indices, row.data)]) for row in rows]


def embedded_corpus(
    n_documents: int = 2000,
    n_topics: int = 8,
    n_words: int = 400,
    n_features: int = 48,
    *,
    separation: float = 6.0,
    length: int = 20,
    spread: float = 1.0,
    random_state: int = 0,
) -> PlantedEmbeddings:
    """Plant topics of one topic a document whose embeddings are Gaussian about a mean for each topic.

    As those of language models do, embeddings lie in a cone, far from zero in one direction, and spread more in some
    directions than in others.

    Parameters
    ----------
    n_documents, n_topics, n_words, n_features : int
        n, K, V and D.
    separation : float
        Root mean square distance of two means, in root mean square deviations of an entry within topics.
    length : int
        Words of a document.
    spread : float
        Ratio of the largest to the smallest share of a topic.
    random_state : int
        The same ``random_state`` plants the same parameters for every ``n_documents``.

    Returns
    -------
    PlantedEmbeddings
    """
    truth = topic_model(n_topics, n_words, spread=spread, proportions="single", random_state=random_state)
    corpus = truth.sample(n_documents, length, random_state=random_state + 1)
    rng = np.random.default_rng([random_state, 1])
    deviations = np.exp(0.4 * rng.standard_normal(n_features))
    deviations /= np.sqrt((deviations**2).mean())
    means = draw_separated_means(n_topics, n_features, separation, rng) + 1.5 * np.abs(rng.standard_normal(n_features))
    labels = corpus.proportions.argmax(axis=1)
    noise = np.random.default_rng([random_state, 2, n_documents]).standard_normal((n_documents, n_features))
    return PlantedEmbeddings(corpus.counts, means[labels] + deviations * noise, labels, corpus.topics, means)


def _dirichlet(alpha: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw from a Dirichlet distribution through logarithms: parameters far below one would underflow otherwise."""
    log_gamma = np.log(rng.standard_gamma(alpha + 1)) + np.log(rng.random(len(alpha))) / alpha
    weights = np.exp(log_gamma - log_gamma.max())
    return weights / weights.sum()
