"""Single-topic model: every document is about one topic.

Model. A document draws a topic h with P(h = k) = w_k and each of its words from the distribution mu_k. Three
different words x_1, x_2, x_3 of a document, as unit vectors, then have

    E[x_1 x_2] = sum_k w_k mu_k mu_k^T,      E[x_1 x_2 x_3] = sum_k w_k mu_k^(x 3).

Source: R. Ge, Provable Algorithms for Machine Learning Problems, thesis, Princeton 2013, sections 7.2 and 7.3.1,
Theorem 7.2.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy import sparse

from .._base import check_size, fitted, fitting
from .._parameters import seed_of
from ..evidence import Evidence, PartFits
from ..likelihood import (
    MultinomialMixtureUpdate,
    Refine,
    Refined,
    Refinement,
    WordSampler,
    multinomial_log_likelihood,
    multinomial_responsibilities,
    over,
    refine,
)
from ..metrics import nearest_others
from ..passes import Blocks, RowGroups
from ._by_moments import (
    ROUGH,
    Recovered,
    TopicShares,
    clear,
    distance,
    misfit_of,
    moment_checks,
    moments_of,
    recover,
)
from ._documents import SMOOTHING, OfDocuments
from ._mixing import Corpus, Mixing, mixing_by_moments
from ._prediction import OtherDocuments, likelihood, other_documents, prediction_checks
from ._refine import smoothed, word_prior

__all__ = ["SingleTopicModel"]


class SingleTopicModel(OfDocuments):
    """Clusters of documents with one topic each, by tensor decomposition.

    The fit is deterministic, makes four passes over the documents, and gives an expected error for every topic.

    Choose it for short documents of three words or more that are about one thing each (titles, messages, findings), or
    for a first look at clusters of documents. For documents that mix topics use `SpectralLDA` or `AnchorTopics`. It needs
    topics that are linearly independent, and some thousands of documents.

    Parameters
    ----------
    n_components : int, "auto" or several, default=10
        Number of topics K.
        Of a range or list of numbers, or "auto" for 2 to 100, the one is taken that the evidence recommends: see
        ``n_components_``, ``recommendation_`` and ``comparison_`` then. Each number costs a fit.
    refine : int or "auto", default="auto"
        EM from the recovered topics, for the mixture of multinomials: a number makes that many plain steps, each a pass over
        the data; 5 are mostly enough to be as good as a fit with known topics. 0 keeps to the theorem, and so does "auto".
        See ``refinement_``, and *EM has settled* in the evidence.
    n_splits : int, default=3
        Number of random splits into halves, at most 3, whose fits give the expected errors. They cost no pass over the
        documents; with ``refine`` a single split is made, which costs as much as refining. With 0 no errors are measured.
    vocabulary : sequence of str or dict, optional
        Words of the columns, where the data has no column names; or a dict from words to columns, such as the
        ``vocabulary_`` of scikit-learn's vectorizers.
    random_state : int, default=0
        Seed of the starts and splits. None or a RandomState draws a seed.
    n_jobs : int, optional
        Number of threads. Results are bitwise identical for any value.
    verbose : bool, default=False
        Whether to show progress and the remaining time.

    Attributes
    ----------
    components_ : ndarray of shape (K, V)
        Word probabilities of the topics, the largest share first; rows sum to one.
    weights_ : ndarray of shape (K,)
        Shares of the topics.
    word_frequencies_ : ndarray of shape (V,)
        Frequencies of the words, documents weighing equally.
    evidence_ : Evidence
        Checks of the assumptions, and the expected l1 error of every topic (``component_errors``).
    refinement_ : ndarray of shape (n_steps,)
        Log-likelihood of the words at every pass of EM, in nats.
    n_passes_ : int
        Number of passes over the documents, those for the expected errors not counted.

    Notes
    -----
    Differences from the thesis:

    1. Moments use all ordered triples of different words of a document, not its first three, through falling
       factorials of counts.
    2. They are taken in K + 12 coordinates near the leading eigenspace of D^-1/2 E[x_1 x_2] D^-1/2, D = diag(E[x]);
       nothing of size V x V appears.
    3. Weights come from E[x] = sum_k w_k mu_k, not from the tensor's eigenvalues w_k^-1/2, which are noisier; topics
       from E[x_1 x_2] W v_k. Negative entries are set to zero.
    4. The tensor is decomposed by polar iteration (`latentia.tensor`), not by deflation.
    5. ``refine`` is not in the thesis: EM with 0.01 pseudo-counts, on average, for a word in a topic.
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

    components_: np.ndarray
    weights_: np.ndarray

    def __init__(
        self,
        n_components: int = 10,
        *,
        refine: Refine = "auto",
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

    # --- fitting ------------------------------------------------------------------------------------------------

    @fitting
    def fit(self, X: Any, y: Any = None) -> SingleTopicModel:
        """Learn topics from counts.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or Blocks of shape (n_documents, V)
            Nonnegative counts of words in documents. Documents of one word or none are skipped, and those of two count
            for pairs alone.
        y : ignored

        Returns
        -------
        self
        """
        blocks = self._blocks(X, reset=True)
        # Passes over the documents: words, coordinates, and moments in these of four groups of documents.
        moments = moments_of(blocks, self.n_components, self._seed, n_jobs=self.n_jobs, progress=self.verbose)
        self.word_frequencies_ = moments.word_probabilities

        @cache
        def recovered_of(groups: tuple[int, ...]) -> Recovered:
            options = {} if groups == moments.dealt.all else {"tol": ROUGH}
            return recover(moments.of(groups), self.n_components, self._seed, **options)

        @cache
        def refined_of(groups: tuple[int, ...]) -> Refined:
            return self._refined(recovered_of(groups).found, blocks, groups, moments.dealt)

        def predicted(others: OtherDocuments) -> np.ndarray:
            topics, shares = refined_of(others.learned).parameters
            return likelihood(topics, shares, self.word_frequencies_, others.counts)

        # Decomposition for all documents and for parts of them, and EM on the same documents.
        fits = PartFits(
            moments.dealt,
            recover=recovered_of,
            finish=lambda _, groups: refined_of(groups),
            distance=distance,
            most=2.0,
            cost="passes" if self._steps else "algebra",
        )
        recovered, refined = fits.whole()
        (self.components_, self.weights_), self.refinement_ = refined.parameters, refined.refinement.log_likelihood
        self.n_passes_, self._n_features_out = moments.n_passes + len(self.refinement_), len(self.components_)
        # Evidence.
        misfit = misfit_of(recovered.fit, moments.dealt, moments.of)
        parts = fits.errors(refined, self.n_splits)
        others = other_documents(blocks, moments.dealt, self._steps > 0) if self.n_splits else None
        mixing = Mixing(recovered.found.topics)
        if clear(parts, self.components_):
            mixing = mixing_by_moments(Corpus(moments.of, recovered_of, moments.dealt, self._seed))
        bias = np.hypot(misfit.bias(nearest_others(self.components_)), mixing.bias(self.components_))
        parts = parts.widened(bias, 2.0)
        checks = moment_checks(refined, recovered.fit, moments, moments.of, parts, misfit) + mixing.of_single_topics()
        checks += prediction_checks(predicted, self.word_frequencies_, others, halved=False)
        self.evidence_ = Evidence(checks, parts.errors).bind(self)
        return self

    def _refined(self, found: TopicShares, blocks: Blocks, groups: tuple[int, ...], dealt: RowGroups) -> Refined:
        """After EM on the documents of some groups, the largest share first."""
        if not self._steps:
            return Refined(found.sorted(), Refinement.none())
        start = smoothed(found.topics, self.word_frequencies_, SMOOTHING)
        update = MultinomialMixtureUpdate(start, found.shares, word_prior(self.word_frequencies_))
        refinement = refine(update, over(blocks.group(groups, dealt), self.n_jobs, self.verbose), self._steps)
        return Refined(TopicShares(*refinement.values).sorted(), refinement)

    # --- use ----------------------------------------------------------------------------------------------------

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable topic of every document, shape (n_documents,)."""
        return self.predict_proba(X).argmax(axis=1)

    @fitted
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of the topics of every document, shape (n_documents, K).

        An empty document gets the weights.
        """
        return np.vstack([multinomial_responsibilities(t, *self._model(), n_jobs=self.n_jobs) for t in self._tables(X)])

    def transform(self, X: Any) -> np.ndarray:
        """Return the same as `predict_proba`."""
        return self.predict_proba(X)

    @fitted
    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-probability in nats of a document's sequence of words; higher is better."""
        parts = [multinomial_log_likelihood(t, *self._model(), n_jobs=self.n_jobs) for t in self._tables(X)]
        return float(np.mean(np.concatenate(parts)))

    @fitted
    def sample(
        self, n_documents: int = 100, length: int = 20, random_state: Any = 0
    ) -> tuple[sparse.csr_array, np.ndarray]:
        """Draw documents from the fitted model.

        Parameters
        ----------
        n_documents : int
        length : int
            Number of words of every document.
        random_state : int, RandomState, Generator or None

        Returns
        -------
        counts : csr_array of shape (n_documents, V)
        topics : ndarray of int, shape (n_documents,)
        """
        n_documents, length = check_size(n_documents, "n_documents"), check_size(length, "length")
        check_size(n_documents * length, "n_documents * length")
        rng = np.random.default_rng(seed_of(random_state))
        topics = rng.choice(len(self.weights_), size=n_documents, p=self.weights_)
        draws = length * (topics[:, None] == np.arange(len(self.weights_)))
        return WordSampler(self.components_)(draws, rng), topics

    def _model(self) -> tuple[np.ndarray, np.ndarray]:
        return smoothed(self.components_, self.word_frequencies_, SMOOTHING), self.weights_
