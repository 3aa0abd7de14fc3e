"""Single-topic model: every document is about one topic.

Model. A document draws a topic h with P(h = k) = w_k and each of its words from the distribution mu_k. Three
different words x_1, x_2, x_3 of a document, as unit vectors, then have

    E[x_1 x_2] = sum_k w_k mu_k mu_k^T,      E[x_1 x_2 x_3] = sum_k w_k mu_k^(x 3).

Source: R. Ge, Provable Algorithms for Machine Learning Problems, thesis, Princeton 2013, sections 7.2 and 7.3.1,
Theorem 7.2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import logsumexp

from .. import _fields as of
from .._parameters import NComponents, Seed, seed_of
from .._validation import weighted, weighted_mean
from ..evidence import Check, Misfit, PartErrors, at_most, spread_of_documents
from ..exceptions import LatentiaError
from ..fitting.base import check_size, fitted, fitting
from ..fitting.stages import Fitted, Staged, Subset
from ..likelihood import (
    STILL,
    LeaveOneOutUpdate,
    Refine,
    Refined,
    Refinement,
    Responsibilities,
    WordSampler,
    multinomial_log_likelihood,
    multinomial_responsibilities,
    over,
    refine,
)
from ..metrics import l1_distances, nearest_others, split_tokens
from ..passes import Blocks, Folds, sample_rows
from ._by_moments import (
    ROUGH,
    CorpusMoments,
    Recovered,
    TopicShares,
    clear,
    distance,
    misfit_of,
    moment_checks,
    moments_of,
    recover,
    share_left_out,
)
from ._documents import SMOOTHING, OfDocuments
from ._mixing import Corpus, Mixing, mixing_by_moments
from ._prediction import OtherDocuments, other_documents, prediction_checks
from ._refine import smoothed
from .prevalence import confusions_of

_SOFTLY = 0.7  # share of the word frequencies in the topics that "auto" starts from
_PSEUDO = 0.01  # pseudo-counts of a word that are started from, on average
_OF_PAIRS = 0.6  # of the share of the pairs that topics leave
_SURE = 2.0  # standard errors of the noise that do not count
_SIDEWAYS = 1.2  # error of a topic, in distances of its documents from one another
_ALIKE = 0.1  # distance up to which documents are as good as of one topic
_CLEARLY, _DOCUMENTS = 2.0, 4000  # standard errors of a loss in likelihood, and documents that it is measured on
_SURELY = 5.0  # nats that a document counts for at most, so that no few long ones decide
_LEAN = 0.25  # of the pseudo-counts that predict best: topics with these are nearest to true ones in l1


class Clusters(NamedTuple):
    """Topics, and what became of the documents.

    Attributes
    ----------
    topics : ndarray of shape (K, V)
    shares : ndarray of shape (K,)
        Of the topics in the documents.
    smoothing : ndarray of shape (K,)
        Share of the word frequencies that each topic is mixed with in likelihoods.
    moved : float, optional
        Share of the documents that the last pass of refinement moved, where there was more than one.
    """

    topics: np.ndarray
    shares: np.ndarray
    smoothing: np.ndarray
    moved: float | None = None

    def sorted(self) -> Clusters:
        """The same, the largest share first."""
        order = np.argsort(-self.shares, kind="stable")
        return Clusters(self.topics[order], self.shares[order], self.smoothing[order], self.moved)

    def model(self, frequencies: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Topics that no word is impossible in, and their shares: what likelihoods are taken of."""
        share = self.smoothing[:, None]
        return (1 - share) * self.topics + share * smoothed(frequencies, frequencies, 1.0), self.shares


class SingleTopicModel(OfDocuments, Staged):
    """Clusters of documents with one topic each, by tensor decomposition.

    The fit is deterministic and gives an expected error for every topic. The decomposition makes four passes over the
    documents; refining it makes more until documents hardly move, mostly 5 to 100.

    Choose it for short documents of three words or more that are about one thing each (titles, messages, findings), or
    for a first look at clusters of documents. For documents that mix topics use `SpectralLDA` or `AnchorTopics`. It needs
    topics that are linearly independent, and some thousands of documents; with ``refine`` some hundreds are enough where
    topics are clear.

    Parameters
    ----------
    n_components : int, "auto" or several, default=10
        Number of topics K.
        A range or list tries each value and keeps the one the evidence recommends; "auto" tries 2 to 100. See
        ``n_components_``, ``recommendation_`` and ``comparison_``. Each number costs a fit.
    refine : int or "auto", default="auto"
        Passes over the documents from the recovered topics, each of which asks where every document belongs given all
        others. "auto" starts softly, from topics that are mostly word frequencies, and goes on until a pass moves less than
        .25% of the documents, 200 passes at most. A number sets how many passes there are, from the topics themselves. 0
        keeps to the theorem. See ``refinement_``, and *refinement has converged* in the evidence. Its memory is n_documents x
        K numbers of 4 bytes and V x K of 8.
    n_splits : int, default=3
        Number of random splits into halves, at most 3, whose fits give the expected errors. They cost no pass over the
        documents; with ``refine`` a single split is used, and both halves are refined from their own topics and from those of
        all documents, which costs one to three times as much as refining. With 0 no errors are measured.
    vocabulary : sequence of str or dict, optional
        Words of the columns, where the data has no column names; or a dict from words to columns, such as the
        ``vocabulary_`` of scikit-learn's vectorizers.
    vectorizer : vectorizer of scikit-learn, optional
        What counts the words, where ``fit`` is given texts; a copy of it is fitted. By default a
        `latentia.words.WordVectorizer`, for English texts.
    random_state : int, default=0
        Seed of the starts and splits. None or a RandomState draws a seed.
    n_jobs : int, optional
        Number of threads. Results are bitwise identical for any value.
    verbose : bool or int, default=False
        Whether to show progress and the remaining time.

    Attributes
    ----------
    components_ : ndarray of shape (K, V)
        Word probabilities of the topics, the largest share first; rows sum to one.
    weights_ : ndarray of shape (K,)
        Shares of the topics.
    smoothing_ : ndarray of shape (K,)
        Share of the word frequencies that each topic is mixed with in likelihoods and predictions: what the documents ask for
        after ``refine``, 5% otherwise.
    word_frequencies_ : ndarray of shape (V,)
        Frequencies of the words, documents weighing equally.
    vectorizer_ : vectorizer
        What counted the words, where the model was fitted on texts.
    evidence_ : Evidence
        Checks of the assumptions, and the expected l1 error of every topic (``component_errors``).
    refinement_ : ndarray of shape (n_steps,)
        Log-likelihood of every document given all others, summed, at every pass of refinement, in nats; in the first pass under
        the topics that it starts from. It rises, but not always to the end: it is not what the passes maximise.
    n_iter_ : int
        Number of steps of refinement.
    converged_ : bool
        Whether further steps would gain only a negligible amount; only ``refine="auto"`` looks at that.
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
    5. ``refine`` is not in the thesis: collapsed variational Bayes of order zero for a mixture of multinomials. A document is
       left out of its topic's counts and share before it is asked where it belongs, so that it does not vote for the topic
       that it is in; plain EM makes short texts worse. Documents move in batches of 64 to 1024, in their order.
    6. The pseudo-counts of the words in a topic, in proportion to the word frequencies, are those under which documents are
       most likely given all others. Predictions have them all (``smoothing_``), topics a quarter of them, which brings them
       nearest to the true ones in l1.
    7. Likelihoods of topics that are not refined use 5% of the word frequencies, so that no word is impossible.
    8. The evidence of refined topics measures the fit on pairs of words, how far documents of one topic are from one another,
       and whether each topic helps to predict documents that it was not learned from.

    References
    ----------
    R. Ge, thesis 2013, chapter 7. A. Anandkumar, D. Hsu, S. Kakade, A method of moments for mixture models
    and hidden Markov models, COLT 2012. A. Asuncion, M. Welling, P. Smyth, Y. W. Teh, On smoothing and inference for
    topic models, UAI 2009. J. Yin, J. Wang, A Dirichlet multinomial mixture model-based approach for short text clustering,
    KDD 2014.

    Examples
    --------
    >>> from latentia.datasets import planted
    >>> from latentia.topics import SingleTopicModel
    >>> corpus = planted.topic_corpus(5000, n_topics=5, n_words=300, length=20, proportions="single")
    >>> model = SingleTopicModel(5).fit(corpus.counts)
    >>> model.predict(corpus.counts).shape
    (5000,)
    """

    _max_distance: ClassVar = 2.0
    weights_: Annotated[np.ndarray, of.distributions("K")]
    smoothing_: Annotated[np.ndarray, of.shares("K")]

    def __init__(
        self,
        n_components: NComponents = 10,
        *,
        refine: Refine = "auto",
        n_splits: int = 3,
        vocabulary: Any = None,
        vectorizer: Any = None,
        random_state: Seed = 0,
        n_jobs: int | None = None,
        verbose: int = False,
    ) -> None:
        self.n_components = n_components
        self.refine = refine
        self.n_splits = n_splits
        self.vocabulary = vocabulary
        self.vectorizer = vectorizer
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # --- fitting ------------------------------------------------------------------------------------------------

    @fitting
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> SingleTopicModel:
        """Learn topics from counts.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or Blocks of shape (n_documents, V), or texts
            Nonnegative counts of words in documents; or the documents themselves, as a sequence of str or
            `latentia.datasets.Texts`, which all methods take then. Documents of one word or none are skipped, and those of
            two count for pairs alone.
        y : ignored
        sample_weight : array-like of int, shape (n_rows,), optional
            How often each row is there.

        Returns
        -------
        self

        Raises
        ------
        LatentiaError
            If a parameter is out of its range, if X has NaN, infinite or negative entries, or if so few documents or
            words are left that they cannot carry the topics. The message says what was found, where, and what to do.
        """
        return self._fit_stages(weighted(self._blocks(X, reset=True), sample_weight))

    def _moments(self, rows: Blocks, folds: Folds) -> CorpusMoments:
        """Passes over the documents: words, coordinates, and moments in these of four groups of documents."""
        return moments_of(rows, self.n_components, folds, n_jobs=self.n_jobs, progress=self.verbose)

    def _recover(self, moments: CorpusMoments, subset: Subset, full_fit: Recovered | None) -> Recovered:
        """Theorem 7.2: whiten the pairs, and decompose the triples."""
        options = {} if full_fit is None else {"tol": ROUGH}
        return recover(moments.of(subset.groups), self.n_components, self._seed, **options)

    def _refine(self, recovered: Recovered, moments: CorpusMoments, subset: Subset, full_fit: Any) -> Refined:
        """Passes of leave-one-out assignment over the documents, the largest share first."""
        return self._assigned(recovered.found, moments, subset)

    def _restart(self, model: Refined, moments: CorpusMoments, subset: Subset) -> Refined | None:
        clusters: Clusters = model.parameters
        return self._assigned(TopicShares(clusters.topics, clusters.shares), moments, subset) if self._steps else None

    def _checks(self, fitted: Fitted) -> tuple[list[Check], PartErrors]:
        """Errors of parts, and what all parts share: misfit, topics that predict nothing, documents of several topics."""
        moments: CorpusMoments = fitted.moments
        refined: Refined = fitted.model
        topics, recovered = refined.parameters.topics, fitted.recovered
        parts = fitted.errors(self.n_splits)
        others = other_documents(fitted.rows, moments.folds, self._steps > 0) if self.n_splits else None
        misfit = self._misfit(refined.parameters, recovered, moments)
        idle, lines = _idle(lambda groups: self._learned_from(fitted, groups), others, fitted, topics)
        several, more = self._of_several_topics(fitted, parts)
        bias = np.maximum(several, idle)
        parts = parts.widen(np.hypot(misfit.bias(nearest_others(topics)), bias), self._max_distance)
        checks = moment_checks(refined, recovered.fit, moments, moments.of, parts, misfit)
        checks += [*more, *lines, *(_settled(refined) if self._steps else [])]
        return checks + self._of_other_documents(fitted, others), parts

    def _set_fitted_attributes(self, fitted: Fitted) -> None:
        moments: CorpusMoments = fitted.moments
        self.components_, self.weights_, self.smoothing_, _ = fitted.model.parameters
        self.word_frequencies_ = moments.word_probabilities
        self._set_refinement_attributes(fitted.model.refinement)
        self.n_passes_, self._n_features_out = moments.n_passes + len(self.refinement_), len(self.components_)
        self._confusions = confusions_of(fitted, self.n_splits)
        self._order_words(fitted, moments.documents.length)

    def _distance(self, first: Refined, second: Refined, moments: Any) -> np.ndarray:
        return distance(first, second)

    def _cost(self) -> Literal["algebra", "passes"]:
        return "passes" if self._steps else "algebra"

    def _learned_from(self, fitted: Fitted, groups: tuple[int, ...]) -> Clusters:
        """The likelier one of the two fits on some groups, from their moments and from the fit on all."""
        fits = [fitted.model_of(groups), fitted.refined_from_full(groups)]
        best: Refined = max(
            (one for one in fits if one is not None), key=lambda one: one.refinement.log_likelihood[-1:].sum()
        )
        return best.parameters

    def _of_several_topics(self, fitted: Fitted, parts: PartErrors) -> tuple[np.ndarray, list[Check]]:
        """What documents of several topics make of the topics, and a line."""
        moments: CorpusMoments = fitted.moments
        clusters: Clusters = fitted.model.parameters
        if self._steps:
            return _alike(clusters, fitted.rows, moments.word_probabilities, parts)
        mixing = Mixing(fitted.recovered.found.topics)
        if clear(parts, clusters.topics):
            mixing = mixing_by_moments(Corpus(moments.of, fitted.recovery_of, moments.folds, self._seed))
        return mixing.bias(clusters.topics), mixing.of_single_topics()

    def _of_other_documents(self, fitted: Fitted, others: OtherDocuments | None) -> list[Check]:
        """How topics of some documents predict the words of others."""
        frequencies = fitted.moments.word_probabilities

        def predicted(others: OtherDocuments) -> np.ndarray:
            return _completion(others.counts, *self._learned_from(fitted, others.learned).model(frequencies))

        return prediction_checks(predicted, frequencies, others, fitted.rows, fitted.moments.folds)

    @property
    def _steps(self) -> int:
        """Passes of refinement; one stands for as many as it takes."""
        return 1 if self.refine == "auto" else self.refine

    def _misfit(self, clusters: Clusters, recovered: Recovered, moments: CorpusMoments) -> Misfit:
        """What the topics leave of the moments: of pairs of words, and of the tensor where they come from it alone."""
        of_tensor = misfit_of(recovered.fit, moments, moments.of)
        if of_tensor.ratio is None:
            return of_tensor
        of_pairs = _misfit_of_pairs(clusters, moments)
        if self._steps:
            beyond = share_left_out(recovered.fit, moments, moments.of)
            return replace(of_pairs, share=float(np.hypot(of_pairs.share, beyond)))
        return replace(of_tensor, share=max(of_tensor.share, of_pairs.share))

    def _assigned(self, found: TopicShares, moments: CorpusMoments, part: Subset) -> Refined:
        """After passes over the documents of a part."""
        if not self._steps:
            return Refined(Clusters(*found, np.full(len(found.shares), SMOOTHING)).sorted(), Refinement.no_steps())
        overall, some = moments.word_probabilities, part.rows
        frequencies = smoothed(overall, overall, 1.0)
        start = smoothed(found.topics, overall, _SOFTLY if self.refine == "auto" else SMOOTHING)
        held = Responsibilities.empty(some.n_rows, len(frequencies), len(start))
        pseudo = np.array([_PSEUDO * len(frequencies)])
        update = LeaveOneOutUpdate(start, found.shares, pseudo, frequencies, held)
        refinement = refine(update, over(some, self.n_jobs, self.verbose), self.refine, until=held.converged)
        _, shares, (pseudo,) = refinement.values
        topics = held.estimate(_LEAN * pseudo * frequencies)
        smoothing = (1 - _LEAN) * pseudo / (held.words + pseudo)
        moved = held.moved if len(refinement.log_likelihood) > 1 else None
        return Refined(Clusters(topics, shares, smoothing, moved).sorted(), refinement)

    # --- use ----------------------------------------------------------------------------------------------------

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable topic of every document, shape (n_documents,).

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or Blocks of shape (n_documents, V), or texts
            Documents, as `fit` takes them.

        Returns
        -------
        ndarray of int, shape (n_documents,)
        """
        return self.predict_proba(X).argmax(axis=1)

    @fitted
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of the topics of every document, shape (n_documents, K).

        An empty document gets the weights.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or Blocks of shape (n_documents, V), or texts
            Documents, as `fit` takes them.

        Returns
        -------
        ndarray of shape (n_documents, K)

        Raises
        ------
        LatentiaError
            If X has other columns than the data of the fit, or entries that are no counts.
        """
        return np.vstack([multinomial_responsibilities(t, *self._model(), n_jobs=self.n_jobs) for t in self._tables(X)])

    def transform(self, X: Any) -> np.ndarray:
        """Return the same as `predict_proba`.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or Blocks of shape (n_documents, V), or texts
            Documents, as `fit` takes them.

        Returns
        -------
        ndarray of shape (n_documents, K)
        """
        return self.predict_proba(X)

    @fitted
    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> float:
        """Return the mean log-probability in nats of a document's sequence of words; higher is better.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or Blocks of shape (n_documents, V), or texts
            Documents, as `fit` takes them.
        y : ignored
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the rows.

        Returns
        -------
        float
        """
        parts = [multinomial_log_likelihood(t, *self._model(), n_jobs=self.n_jobs) for t in self._tables(X)]
        return weighted_mean(np.concatenate(parts), sample_weight)

    @fitted
    def sample(
        self, n_samples: int = 100, length: int = 20, random_state: Any = 0
    ) -> tuple[sparse.csr_array, np.ndarray]:
        """Draw documents from the fitted model.

        Parameters
        ----------
        n_samples : int
        length : int
            Number of words of every document.
        random_state : int, RandomState, Generator or None

        Returns
        -------
        counts : csr_array of shape (n_samples, V)
        topics : ndarray of int, shape (n_samples,)
        """
        n_samples, length = check_size(n_samples, "n_samples"), check_size(length, "length")
        check_size(n_samples * length, "n_samples * length")
        rng = np.random.default_rng(seed_of(random_state))
        topics = rng.choice(len(self.weights_), size=n_samples, p=self.weights_)
        draws = length * (topics[:, None] == np.arange(len(self.weights_)))
        return WordSampler(self.components_)(draws, rng), topics

    def _merge_parts(self, weights: np.ndarray, joined: np.ndarray) -> None:
        self.weights_, self.smoothing_ = joined @ self.weights_, weights @ self.smoothing_

    def _completion(self, counts: sparse.csr_array) -> np.ndarray:
        """Return the log-likelihood of one half of the words of documents given the other half, shape (n,)."""
        return _completion(counts, *self._model())

    def _model(self) -> tuple[np.ndarray, np.ndarray]:
        return Clusters(self.components_, self.weights_, self.smoothing_).model(self.word_frequencies_)


def _completion(rows: sparse.csr_array, topics: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return the log-likelihood of one half of the words of every document given the other half, shape (n,)."""
    given = multinomial_log_likelihood(split_tokens(rows)[0], topics, shares)
    return np.asarray(multinomial_log_likelihood(rows, topics, shares) - given)


# --- evidence of refined topics -----------------------------------------------------------------------------------


def _misfit_of_pairs(clusters: Clusters, corpus: CorpusMoments) -> Misfit:
    """What topics leave of the pairs of words beyond noise, in the K leading directions of these.

    In further ones, that were chosen for what these documents have, noise is larger than between halves. The shares of the
    topics are those that leave least.
    """
    second = corpus.of(corpus.folds.all).second
    leading = np.linalg.eigh(second)[1][:, -len(clusters.topics) :]
    topics, second = clusters.topics @ corpus.moments.coordinates @ leading, leading.T @ second @ leading
    pairs = np.einsum("ki,kj->ijk", topics, topics).reshape(second.size, -1)
    left = second.ravel() - pairs @ np.linalg.lstsq(pairs, second.ravel(), rcond=None)[0]
    halves = [corpus.of(first).second - corpus.of(other).second for first, other in corpus.folds.splits]
    noise = float(np.mean([((leading.T @ apart @ leading) ** 2).sum() / 4 for apart in halves]))
    whole = float((np.linalg.eigvalsh(second)[:-1] ** 2).sum())
    entries = len(second) * (len(second) + 1) / 2
    found = Misfit.from_norms(float(left @ left), noise, whole, entries, len(halves))
    return replace(found, share=_OF_PAIRS * min(found.share, 1.0))


def _alike(
    clusters: Clusters, blocks: Blocks, frequencies: np.ndarray, parts: PartErrors
) -> tuple[np.ndarray, list[Check]]:
    """How far documents of one topic are from one another in the span of the topics: what taking them for single ones costs.

    The bias of each topic, shape (K,), and a line that asks for care.
    """
    k = len(clusters.shares)
    if k == 1 or parts.errors is None:
        return np.zeros(k), []
    rows, used = sparse.csr_array(sample_rows(blocks)[0], dtype=np.float64), frequencies > 0
    rows = rows[np.asarray(rows.sum(axis=1)).ravel() >= 2]
    posterior = multinomial_responsibilities(rows, *clusters.model(frequencies))
    spread = spread_of_documents(
        rows[:, used], posterior, clusters.topics[:, used], frequencies[used], np.empty((used.sum(), 0)), counts=True
    )
    square, noise = np.array(spread.inside) / float(rows.sum() / rows.shape[0])
    own = float(clusters.shares @ parts.errors**2)
    bias = _SIDEWAYS * float(np.sqrt(max(square - own - _SURE * noise, 0.0)))
    line = Check(
        "one topic a document", "|p_d - mu_k|", bias, at_most(_ALIKE),
        "How far word probabilities of documents of one topic are from one another beyond chance, towards other topics. Errors "
        "are widened by it.",
        "not in the thesis", "caution",
        "The documents mix topics, or have other words in common: compare with latent Dirichlet allocation.",
    )  # fmt: skip
    return np.full(k, bias), [line]


def _idle(
    learned_from: Callable[[tuple[int, ...]], Clusters],
    others: OtherDocuments | None,
    fitted: Fitted,
    topics: np.ndarray,
) -> tuple[np.ndarray, list[Check]]:
    """Topics of a half of the documents that do not help to predict the others; their error is the distance to one that does.

    Returns the bias of each of the topics of all documents, shape (K,), and a line.
    """
    try:
        half = None if others is None else learned_from(others.learned)
    except LatentiaError:
        half = None
    if half is None or others is None or len(topics) == 1:
        return np.zeros(len(topics)), []
    folds: Folds = fitted.moments.folds
    unseen = fitted.rows.group([g for g in folds.all if g not in others.learned], folds)
    rows = sparse.csr_array(sample_rows(unseen, _DOCUMENTS)[0], dtype=np.float64)
    idle = _unneeded(rows, *half.model(fitted.moments.word_probabilities))
    k = len(idle)
    away = l1_distances(half.topics, half.topics[~idle]).min(axis=1)
    bias = np.where(idle, away, 0.0)[l1_distances(topics, half.topics).argmin(axis=1)]
    n_idle = int(np.count_nonzero(idle))
    line = Check(
        "topics that predict nothing", "", float(n_idle), at_most(0),
        "Topics of half of the documents that others can stand for without a clear loss in the likelihood of the other half. "
        "Expected errors are widened by their distances from those.",
        "not in the thesis", "caution", f"Half of the documents carry {k - n_idle} topics: ask for fewer than {k}.",
    )  # fmt: skip
    return bias, [line]


def _unneeded(rows: sparse.csr_array, topics: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return the topics without which documents are predicted as well, bool, shape (K,).

    Topics are merged with their nearest ones, the pair first whose merger costs least likelihood, until all mergers since the
    likelihood was highest together clearly cost some. Of two merged topics the rarer one is not needed.
    """
    remaining, idle = np.arange(len(shares)), np.zeros(len(shares), dtype=bool)
    topics, shares, logs = topics.copy(), shares.copy(), rows @ np.log(topics).T
    highest = logsumexp(logs + np.log(shares), axis=1)
    while len(remaining) > 1:
        words, weights = topics[remaining], shares[remaining]
        partner = (l1_distances(words, words) + 3.0 * np.eye(len(remaining))).argmin(axis=1)
        totals = weights + weights[partner]
        merged = (weights[:, None] * words + weights[partner, None] * words[partner]) / totals[:, None]
        merged_logs = rows @ np.log(merged).T
        ratios = _likelihood_ratios(logs[:, remaining] + np.log(weights), highest)
        rest = ratios.sum(axis=1, keepdims=True) - ratios - ratios[:, partner]
        ratios = rest + _likelihood_ratios(merged_logs + np.log(totals), highest)
        losses = -np.log(np.clip(ratios, np.exp(-_SURELY), np.exp(_SURELY)))
        best = int(losses.mean(axis=0).argmin())
        if losses[:, best].mean() > _CLEARLY * losses[:, best].std() / np.sqrt(len(losses)):
            break
        common, rarer = sorted((best, int(partner[best])))  # The largest shares come first.
        place = remaining[common]
        topics[place], shares[place], logs[:, place] = merged[best], totals[best], merged_logs[:, best]
        idle[remaining[rarer]] = True
        remaining = np.delete(remaining, rarer)
        if losses[:, best].mean() < 0:
            highest = logsumexp(logs[:, remaining] + np.log(shares[remaining]), axis=1)
    return idle


def _likelihood_ratios(logs: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Return each topic's likelihood over a reference, shape (n, K), bounded beyond what losses count."""
    return np.asarray(np.exp(np.minimum(logs - reference[:, None], 2 * _SURELY)))


def _settled(refined: Refined) -> list[Check]:
    """One line: how many documents the last pass moved."""
    clusters: Clusters = refined.parameters
    n_passes = len(refined.refinement.log_likelihood)
    return [
        Check(
            "refinement has converged", "share of the documents", clusters.moved, at_most(STILL),
            f"Moved by the last of {n_passes} passes. Parts of the data cannot see what is left to move.",
            "not in the thesis",
        )
    ]  # fmt: skip
