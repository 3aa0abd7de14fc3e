"""Single-topic model: every document is about one topic.

Model. A document draws a topic h with P(h = k) = w_k and each of its words from the distribution mu_k. Three
different words x_1, x_2, x_3 of a document, as unit vectors, then have

    E[x_1 x_2] = sum_k w_k mu_k mu_k^T,      E[x_1 x_2 x_3] = sum_k w_k mu_k^(x 3).

Source: R. Ge, Provable Algorithms for Machine Learning Problems, thesis, Princeton 2013, sections 7.2 and 7.3.1,
Theorem 7.2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from ..moments import MultinomialMixtureUpdate, WordSampler, multinomial_log_likelihood, multinomial_responsibilities
from ..passes import Blocks, accumulate
from ._by_moments import ByMoments
from ._documents import SMOOTHING
from ._refine import smoothed, word_prior

__all__ = ["SingleTopicModel"]


class SingleTopicModel(ByMoments):
    """Clusters of documents by tensor decomposition: deterministic, four passes, error bars for every topic.

    When to choose it: short documents about one thing each (titles, messages, findings), three words or more, or a
    first look at clusters of documents. Documents that mix topics are the business of `SpectralLDA` or
    `AnchorTopics`. It needs topics that are linearly independent, and some thousands of documents.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics K.
    refine : int, default=0
        EM passes over the documents for the mixture of multinomials, started from the recovered topics. Outside the
        theorem; 5 are mostly enough to be as good as a fit with known topics.
    n_splits : int, default=3
        Random splits into halves, at most 3, whose fits give the error bars; they cost no pass over the documents,
        but with ``refine`` one is made and costs as much as refining itself. 0 gives up the error bars.
    vocabulary : sequence of str, optional
        Words of the columns, where the data has no column names.
    random_state : int, default=0
        Seed of the starts and splits; None or a RandomState draws one.
    n_jobs : int, optional
        Threads; the result has the same bits for any number.
    verbose : bool, default=False
        Show progress and the time that remains.

    Attributes
    ----------
    components_ : ndarray of shape (K, V)
        Word probabilities of the topics, the largest share first; rows sum to one.
    weights_ : ndarray of shape (K,)
        Shares of the topics.
    word_probabilities_ : ndarray of shape (V,)
        Frequencies of the words, documents weighing equally.
    evidence_ : Evidence
        Checks of the assumptions, and expected l1 errors of the topics (``component_errors``).
    n_passes_ : int
        Passes over the documents.

    Notes
    -----
    Differences from the thesis:

    1. Moments use all ordered triples of different words of a document, not its first three, through falling
       factorials of counts.
    2. They are taken in K + 12 coordinates near the leading eigenspace of D^-1/2 E[x_1 x_2] D^-1/2, D = diag(E[x]);
       nothing of size V x V appears.
    3. Weights come from E[x] = sum_k w_k mu_k, not from the tensor's eigenvalues w_k^-1/2, which are noisier; topics
       from E[x_1 x_2] W v_k. Negative entries are cut.
    4. The tensor is decomposed by polar iteration (`latentia.tensor`), not by deflation.
    5. ``refine`` is not in the thesis: EM with .01 pseudo-counts, on average, for a word in a topic.
    6. Likelihoods use topics mixed with 5% of the word frequencies, so that no word is impossible.

    References
    ----------
    R. Ge, thesis 2013, chapter 7. A. Anandkumar, D. Hsu, S. Kakade, A method of moments for mixture models
    and hidden Markov models, COLT 2012.

    Examples
    --------
    >>> from latentia.datasets import planted
    >>> from latentia.topics import SingleTopicModel
    >>> corpus = planted.topic_corpus(5000, n_topics=5, n_words=300, length=20, proportions="single")
    >>> model = SingleTopicModel(5).fit(corpus.counts)
    >>> model.predict(corpus.counts).shape
    (5000,)
    """

    def __init__(
        self,
        n_components: int = 10,
        *,
        refine: int = 0,
        n_splits: int = 3,
        vocabulary: Any = None,
        random_state: int = 0,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.refine = refine
        self.n_splits = n_splits
        self.vocabulary = vocabulary
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # --- fitting: `fit` is in the base class --------------------------------------------------------------------

    def _refine(self, topics: np.ndarray, shares: np.ndarray, blocks: Blocks) -> tuple[np.ndarray, np.ndarray]:
        prior = word_prior(self.word_probabilities_)
        for step in range(self.refine):
            topics = topics if step else smoothed(topics, self.word_probabilities_, SMOOTHING)
            update = MultinomialMixtureUpdate(topics, shares)
            label = self.verbose and f"refining {step + 1} of {self.refine}"
            topics, shares = update.updated(accumulate(blocks, update, self.n_jobs, progress=label), prior)
        return topics, shares

    def _finish(self, topics: np.ndarray, shares: np.ndarray, n_passes: int) -> None:
        self.components_, self.weights_ = topics, shares
        self.n_passes_, self._n_features_out = n_passes, len(topics)

    # --- use ----------------------------------------------------------------------------------------------------

    def predict(self, X: Any) -> np.ndarray:
        """Most probable topic of every document, shape (n_documents,)."""
        return self.predict_proba(X).argmax(axis=1)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the topics of every document, shape (n_documents, K); for an empty document the weights."""
        return np.vstack([multinomial_responsibilities(t, *self._model(), n_jobs=self.n_jobs) for t in self._tables(X)])

    def transform(self, X: Any) -> np.ndarray:
        """The same as `predict_proba`."""
        return self.predict_proba(X)

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-probability, in nats, of a document's sequence of words. Higher is better."""
        parts = [multinomial_log_likelihood(t, *self._model(), n_jobs=self.n_jobs) for t in self._tables(X)]
        return float(np.mean(np.concatenate(parts)))

    def sample(
        self, n_documents: int = 100, length: int = 20, random_state: int = 0
    ) -> tuple[sparse.csr_array, np.ndarray]:
        """Draw documents from the fitted model.

        Returns
        -------
        counts : csr_array of shape (n_documents, V)
        topics : ndarray of int, shape (n_documents,)
        """
        check_is_fitted(self)
        rng = np.random.default_rng(random_state)
        topics = rng.choice(len(self.weights_), size=n_documents, p=self.weights_)
        draws = length * (topics[:, None] == np.arange(len(self.weights_)))
        return WordSampler(self.components_)(draws, rng), topics

    def _model(self) -> tuple[np.ndarray, np.ndarray]:
        return smoothed(self.components_, self.word_probabilities_, SMOOTHING), self.weights_
