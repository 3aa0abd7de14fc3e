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
from ._documents import SMOOTHING, DocumentModel
from ._mixing import Corpus, Mixing, measure_mixing_by_moments
from ._prediction import UnseenDocuments, prediction_checks, select_unseen_documents
from ._refine import smooth_topics
from ._tensor_moments import (
    ROUGH_TOLERANCE,
    CorpusMoments,
    Recovered,
    TopicShares,
    compute_moments,
    halves_agree,
    measure_distances,
    measure_misfit,
    measure_unexplained_share,
    moment_checks,
    recover,
)
from .prevalence import measure_confusions

_SOFT_WEIGHT = 0.7  # Share of the word frequencies in the initial topics of "auto".
_PSEUDO_COUNT = 0.01  # Initial pseudo-count of a word, on average.
_PAIR_SHARE = 0.6  # Part of the unexplained share of the pairs that counts as misfit.
_NOISE_ERRORS = 2.0  # Standard errors of the noise that are subtracted.
_ERROR_PER_SPREAD = 1.2  # Error of a topic, relative to the distance between its documents.
_MAX_SPREAD = 0.1  # Up to this distance documents practically have one topic.
_STANDARD_ERRORS, _N_DOCUMENTS = 2.0, 4000  # A loss in likelihood is clear above two, on this many documents.
_MAX_LOSS = 5.0  # Nats that a document counts at most, so that a few long ones do not decide.
_PSEUDO_COUNT_SHARE = (
    0.25  # Part of the pseudo-counts that predict best: with it, topics are nearest to true ones in l1.
)


class Clusters(NamedTuple):
    """Topics of clusters of documents.

    Attributes
    ----------
    topics : ndarray of shape (K, V)
    shares : ndarray of shape (K,)
        Shares of the topics in the documents.
    smoothing : ndarray of shape (K,)
        Share of the word frequencies in each topic, for likelihoods.
    moved : float, optional
        Share of the documents that the last of several passes of refinement moved.
    """

    topics: np.ndarray
    shares: np.ndarray
    smoothing: np.ndarray
    moved: float | None = None

    def sorted(self) -> Clusters:
        """Sort the topics by their shares, the largest first."""
        order = np.argsort(-self.shares, kind="stable")
        return Clusters(self.topics[order], self.shares[order], self.smoothing[order], self.moved)

    def model(self, frequencies: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return topics in which every word is possible, and their shares, for likelihoods."""
        share = self.smoothing[:, None]
        return (1 - share) * self.topics + share * smooth_topics(frequencies, frequencies, 1.0), self.shares


class SingleTopicModel(DocumentModel, Staged[CorpusMoments, Refined]):
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
        Passes over the documents from the recovered topics. Each assigns every document given all others. "auto" starts
        softly, from topics that are mostly word frequencies, and stops when a pass moves less than .25% of the documents, or
        after 200 passes. A number is the number of passes, from the recovered topics. 0 keeps to the theorem. See
        ``refinement_``, and *refinement has converged* in the evidence. It needs memory for n_documents x K numbers of 4 bytes
        and V x K of 8.
    n_splits : int, default=3
        Number of random splits into halves, at most 3, whose fits give the expected errors. They cost no pass over the
        documents; with ``refine`` a single split is used, and both halves are refined from their own topics and from those of
        all documents, which costs one to three times as much as refining. With 0 no errors are measured.
    vocabulary : sequence of str or dict, optional
        Words of the columns, where the data has no column names; or a dict from words to columns, such as the
        ``vocabulary_`` of scikit-learn's vectorizers.
    vectorizer : vectorizer of scikit-learn, optional
        Counts the words if ``fit`` gets texts; a copy of it is fitted. By default a `latentia.words.WordVectorizer`, for
        English texts.
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
        Share of the word frequencies in each topic, for likelihoods and predictions: estimated with ``refine``, 5% otherwise.
    word_frequencies_ : ndarray of shape (V,)
        Frequencies of the words, documents weighing equally.
    vectorizer_ : vectorizer
        Vectorizer that counted the words, if the model was fitted on texts.
    evidence_ : Evidence
        Checks of the assumptions, and the expected l1 error of every topic (``component_errors``).
    refinement_ : ndarray of shape (n_steps,)
        Sum of the log-likelihoods of every document given all others, at every pass of refinement, in nats; in the first pass
        under the initial topics. It rises, but not always to the end, since the passes do not maximise it.
    n_iter_ : int
        Number of steps of refinement.
    converged_ : bool
        Whether further steps would gain a negligible amount; measured with ``refine="auto"`` only.
    n_passes_ : int
        Number of passes over the documents, without those for the expected errors.

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
       removed from its topic's counts and share before it is assigned, so that it does not influence its assignment; plain EM
       makes short texts worse. Documents move in batches of 64 to 1024, in their order.
    6. The pseudo-counts of the words in a topic, in proportion to the word frequencies, are those under which documents are
       most likely given all others. Predictions use all of them (``smoothing_``), topics a quarter, which is nearest to the
       true topics in l1.
    7. Likelihoods of topics without refinement use 5% of the word frequencies, so that no word is impossible.
    8. The evidence of refined topics measures the fit to pairs of words, the distances between documents of one topic, and the
       contribution of each topic to the prediction of held-out documents.

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
            Number of copies of each row.

        Returns
        -------
        self

        Raises
        ------
        LatentiaError
            If a parameter is out of its range, if X has NaN, infinite or negative entries, or if too few documents or words
            remain for the topics.
        """
        return self._fit_stages(weighted(self._blocks(X, reset=True), sample_weight))

    def _moments(self, rows: Blocks, folds: Folds) -> CorpusMoments:
        """Count words, find coordinates, and compute the moments of four groups of documents in them."""
        return compute_moments(rows, self.n_components, folds, n_jobs=self.n_jobs, progress=self.verbose)

    def _recover(self, moments: CorpusMoments, subset: Subset, choices: Any) -> Recovered:
        """Whiten the pairs and decompose the triples (Theorem 7.2)."""
        options = {} if subset.is_whole else {"tol": ROUGH_TOLERANCE}
        return recover(moments.combine(subset.groups), self.n_components, self._seed, **options)

    def _refine(self, recovered: Recovered, moments: CorpusMoments, subset: Subset, choices: Any) -> Refined:
        """Assign documents, each given all others, in passes; the largest topic comes first."""
        return self._assign_documents(recovered.parameters, moments, subset)

    def _restart(self, model: Refined, moments: CorpusMoments, subset: Subset) -> Refined | None:
        clusters: Clusters = model.parameters
        return (
            self._assign_documents(TopicShares(clusters.topics, clusters.shares), moments, subset)
            if self._steps
            else None
        )

    def _checks(self, fitted: Fitted[CorpusMoments, Refined]) -> tuple[list[Check], PartErrors]:
        """Measure errors on halves, and errors that all halves share: misfit, idle topics, documents of several topics."""
        moments = fitted.moments
        refined: Refined = fitted.model
        topics, recovered = refined.parameters.topics, fitted.recovered
        parts = fitted.errors(self.n_splits)
        held_out = select_unseen_documents(fitted.rows, moments.folds, self._steps > 0) if self.n_splits else None
        misfit = self._misfit(refined.parameters, recovered, moments)
        idle_bias, idle_checks = _measure_idle_topics(
            lambda groups: self._likelier_fit(fitted, groups), held_out, fitted, topics
        )
        mixing_bias, mixing_checks = self._measure_mixing(fitted, parts)
        bias = np.maximum(mixing_bias, idle_bias)
        parts = parts.widen(np.hypot(misfit.bias(nearest_others(topics)), bias), self._max_distance)
        checks = moment_checks(refined, recovered.fit, moments, moments.combine, parts, misfit)
        checks += [*mixing_checks, *idle_checks, *(_convergence_checks(refined) if self._steps else [])]
        return checks + self._prediction_checks(fitted, held_out), parts

    def _set_fitted_attributes(self, fitted: Fitted[CorpusMoments, Refined]) -> None:
        moments = fitted.moments
        self.components_, self.weights_, self.smoothing_, _ = fitted.model.parameters
        self.word_frequencies_ = moments.word_probabilities
        self._set_refinement_attributes(fitted.model.refinement)
        self.n_passes_, self._n_features_out = moments.n_passes + len(self.refinement_), len(self.components_)
        self._confusions = measure_confusions(fitted, self.n_splits)
        self._order_words(fitted, moments.documents.length)

    def _distance(self, first: Refined, second: Refined, moments: Any) -> np.ndarray:
        return measure_distances(first, second)

    def _cost(self) -> Literal["algebra", "passes"]:
        return "passes" if self._steps else "algebra"

    def _likelier_fit(self, fitted: Fitted[CorpusMoments, Refined], groups: tuple[int, ...]) -> Clusters:
        """Return the likelier fit on some groups: the one from their moments, or the one from the full fit."""
        fits = [fitted.model_of(groups), fitted.refine_full_fit(groups)]
        best: Refined = max(
            (fit for fit in fits if fit is not None), key=lambda fit: fit.refinement.log_likelihood[-1:].sum()
        )
        return best.parameters

    def _measure_mixing(
        self, fitted: Fitted[CorpusMoments, Refined], parts: PartErrors
    ) -> tuple[np.ndarray, list[Check]]:
        """Measure the error from documents of several topics; return it for each topic, with a check."""
        moments = fitted.moments
        clusters: Clusters = fitted.model.parameters
        if self._steps:
            return _measure_spread(clusters, fitted.rows, moments.word_probabilities, parts)
        mixing = Mixing(fitted.recovered.parameters.topics)
        if halves_agree(parts, clusters.topics):
            mixing = measure_mixing_by_moments(Corpus(moments.combine, fitted.recovery_of, moments.folds, self._seed))
        return mixing.bias(clusters.topics), mixing.single_topic_checks()

    def _prediction_checks(
        self, fitted: Fitted[CorpusMoments, Refined], held_out: UnseenDocuments | None
    ) -> list[Check]:
        """Check how topics of some documents predict the words of others."""
        frequencies = fitted.moments.word_probabilities

        def predict(held_out: UnseenDocuments) -> np.ndarray:
            return _completion(held_out.counts, *self._likelier_fit(fitted, held_out.learned).model(frequencies))

        return prediction_checks(predict, frequencies, held_out, fitted.rows, fitted.moments.folds)

    @property
    def _steps(self) -> int:
        """Number of passes of refinement; 1 for "auto"."""
        return 1 if self.refine == "auto" else self.refine

    def _misfit(self, clusters: Clusters, recovered: Recovered, moments: CorpusMoments) -> Misfit:
        """Measure the misfit of the topics to pairs of words, and of unrefined topics to the tensor."""
        tensor_misfit = measure_misfit(recovered.fit, moments, moments.combine)
        if tensor_misfit.ratio is None:
            return tensor_misfit
        pair_misfit = _misfit_of_pairs(clusters, moments)
        if self._steps:
            unexplained = measure_unexplained_share(recovered.fit, moments, moments.combine)
            return replace(pair_misfit, share=float(np.hypot(pair_misfit.share, unexplained)))
        return replace(tensor_misfit, share=max(tensor_misfit.share, pair_misfit.share))

    def _assign_documents(self, topic_shares: TopicShares, moments: CorpusMoments, subset: Subset) -> Refined:
        """Assign the documents of a subset in passes, starting from some topics."""
        if not self._steps:
            return Refined(
                Clusters(*topic_shares, np.full(len(topic_shares.shares), SMOOTHING)).sorted(), Refinement.no_steps()
            )
        overall, rows = moments.word_probabilities, subset.rows
        frequencies = smooth_topics(overall, overall, 1.0)
        start = smooth_topics(topic_shares.topics, overall, _SOFT_WEIGHT if self.refine == "auto" else SMOOTHING)
        responsibilities = Responsibilities.empty(rows.n_rows, len(frequencies), len(start))
        pseudo = np.array([_PSEUDO_COUNT * len(frequencies)])
        update = LeaveOneOutUpdate(start, topic_shares.shares, pseudo, frequencies, responsibilities)
        refinement = refine(
            update, over(rows, self.n_jobs, self.verbose), self.refine, until=responsibilities.converged
        )
        _, shares, (pseudo,) = refinement.values
        topics = responsibilities.estimate(_PSEUDO_COUNT_SHARE * pseudo * frequencies)
        smoothing = (1 - _PSEUDO_COUNT_SHARE) * pseudo / (responsibilities.words + pseudo)
        share_moved = responsibilities.moved if len(refinement.log_likelihood) > 1 else None
        return Refined(Clusters(topics, shares, smoothing, share_moved).sorted(), refinement)

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
    log_first_half = multinomial_log_likelihood(split_tokens(rows)[0], topics, shares)
    return np.asarray(multinomial_log_likelihood(rows, topics, shares) - log_first_half)


# --- evidence of refined topics -----------------------------------------------------------------------------------


def _misfit_of_pairs(clusters: Clusters, corpus: CorpusMoments) -> Misfit:
    """Measure what the topics do not explain of the pairs of words beyond noise, in their K leading directions.

    In further directions, which depend on these documents, noise is larger than between halves. The shares of the topics are
    those of least squares.
    """
    second = corpus.combine(corpus.folds.all).second
    leading = np.linalg.eigh(second)[1][:, -len(clusters.topics) :]
    topics, second = clusters.topics @ corpus.moments.coordinates @ leading, leading.T @ second @ leading
    pairs = np.einsum("ki,kj->ijk", topics, topics).reshape(second.size, -1)
    residual = second.ravel() - pairs @ np.linalg.lstsq(pairs, second.ravel(), rcond=None)[0]
    halves = [
        corpus.combine(first_half).second - corpus.combine(second_half).second
        for first_half, second_half in corpus.folds.splits
    ]
    noise = float(np.mean([((leading.T @ difference @ leading) ** 2).sum() / 4 for difference in halves]))
    total = float((np.linalg.eigvalsh(second)[:-1] ** 2).sum())
    entries = len(second) * (len(second) + 1) / 2
    misfit = Misfit.from_norms(float(residual @ residual), noise, total, entries, len(halves))
    return replace(misfit, share=_PAIR_SHARE * min(misfit.share, 1.0))


def _measure_spread(
    clusters: Clusters, blocks: Blocks, frequencies: np.ndarray, parts: PartErrors
) -> tuple[np.ndarray, list[Check]]:
    """Measure the distances between documents of one topic in the span of the topics.

    Returns the bias of each topic, shape (K,), and a check that asks for care.
    """
    k = len(clusters.shares)
    if k == 1 or parts.errors is None:
        return np.zeros(k), []
    rows, is_used = sparse.csr_array(sample_rows(blocks)[0], dtype=np.float64), frequencies > 0
    rows = rows[np.asarray(rows.sum(axis=1)).ravel() >= 2]
    posterior = multinomial_responsibilities(rows, *clusters.model(frequencies))
    spread = spread_of_documents(
        rows[:, is_used],
        posterior,
        clusters.topics[:, is_used],
        frequencies[is_used],
        np.empty((is_used.sum(), 0)),
        counts=True,
    )
    squared_spread, noise = np.array(spread.inside) / float(rows.sum() / rows.shape[0])
    topic_error = float(clusters.shares @ parts.errors**2)
    bias = _ERROR_PER_SPREAD * float(np.sqrt(max(squared_spread - topic_error - _NOISE_ERRORS * noise, 0.0)))
    line = Check(
        "one topic a document", "|p_d - mu_k|", bias, at_most(_MAX_SPREAD),
        "Distance between the word probabilities of documents of one topic beyond chance, towards other topics. Errors are "
        "widened by it.",
        "not in the thesis", "caution",
        "The documents mix topics, or have other words in common: compare with latent Dirichlet allocation.",
    )  # fmt: skip
    return np.full(k, bias), [line]


def _measure_idle_topics(
    likelier_fit: Callable[[tuple[int, ...]], Clusters],
    held_out: UnseenDocuments | None,
    fitted: Fitted[CorpusMoments, Refined],
    topics: np.ndarray,
) -> tuple[np.ndarray, list[Check]]:
    """Find topics of one half of the documents that do not help to predict the other half.

    The error of such a topic is its distance to the nearest one that helps. Returns the bias of each topic of the full fit,
    shape (K,), and a check.
    """
    try:
        half = None if held_out is None else likelier_fit(held_out.learned)
    except LatentiaError:
        half = None
    if half is None or held_out is None or len(topics) == 1:
        return np.zeros(len(topics)), []
    folds: Folds = fitted.moments.folds
    unseen = fitted.rows.group([g for g in folds.all if g not in held_out.learned], folds)
    rows = sparse.csr_array(sample_rows(unseen, _N_DOCUMENTS)[0], dtype=np.float64)
    is_idle = _find_redundant_topics(rows, *half.model(fitted.moments.word_probabilities))
    k = len(is_idle)
    distances = l1_distances(half.topics, half.topics[~is_idle]).min(axis=1)
    bias = np.where(is_idle, distances, 0.0)[l1_distances(topics, half.topics).argmin(axis=1)]
    n_idle = int(np.count_nonzero(is_idle))
    line = Check(
        "topics that predict nothing", "", float(n_idle), at_most(0),
        "Topics of half of the documents that other topics can replace without a clear loss in the likelihood of the other "
        "half. Expected errors are widened by the distances to these.",
        "not in the thesis", "caution", f"Half of the documents carry {k - n_idle} topics: ask for fewer than {k}.",
    )  # fmt: skip
    return bias, [line]


def _find_redundant_topics(rows: sparse.csr_array, topics: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return a mask of the topics that prediction does not need, shape (K,).

    Topics are merged with their nearest ones, first the pair whose merger costs least likelihood, until all mergers since the
    highest likelihood clearly cost some together. Of two merged topics the rarer one is redundant.
    """
    remaining, is_redundant = np.arange(len(shares)), np.zeros(len(shares), dtype=bool)
    topics, shares, logs = topics.copy(), shares.copy(), rows @ np.log(topics).T
    highest = logsumexp(logs + np.log(shares), axis=1)
    while len(remaining) > 1:
        words, weights = topics[remaining], shares[remaining]
        partner = (l1_distances(words, words) + 3.0 * np.eye(len(remaining))).argmin(axis=1)
        totals = weights + weights[partner]
        merged = (weights[:, None] * words + weights[partner, None] * words[partner]) / totals[:, None]
        merged_logs = rows @ np.log(merged).T
        ratios = _likelihood_ratios(logs[:, remaining] + np.log(weights), highest)
        other_ratios = ratios.sum(axis=1, keepdims=True) - ratios - ratios[:, partner]
        ratios = other_ratios + _likelihood_ratios(merged_logs + np.log(totals), highest)
        losses = -np.log(np.clip(ratios, np.exp(-_MAX_LOSS), np.exp(_MAX_LOSS)))
        best = int(losses.mean(axis=0).argmin())
        if losses[:, best].mean() > _STANDARD_ERRORS * losses[:, best].std() / np.sqrt(len(losses)):
            break
        common_topic, rarer_topic = sorted((best, int(partner[best])))  # The largest shares come first.
        place = remaining[common_topic]
        topics[place], shares[place], logs[:, place] = merged[best], totals[best], merged_logs[:, best]
        is_redundant[remaining[rarer_topic]] = True
        remaining = np.delete(remaining, rarer_topic)
        if losses[:, best].mean() < 0:
            highest = logsumexp(logs[:, remaining] + np.log(shares[remaining]), axis=1)
    return is_redundant


def _likelihood_ratios(logs: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Return the ratio of each topic's likelihood to a reference, shape (n, K), bounded."""
    return np.asarray(np.exp(np.minimum(logs - reference[:, None], 2 * _MAX_LOSS)))


def _convergence_checks(refined: Refined) -> list[Check]:
    """Check how many documents the last pass moved."""
    clusters: Clusters = refined.parameters
    n_passes = len(refined.refinement.log_likelihood)
    return [
        Check(
            "refinement has converged", "share of the documents", clusters.moved, at_most(STILL),
            f"Moved by the last of {n_passes} passes. Halves of the data do not show the error of moves that remain.",
            "not in the thesis",
        )
    ]  # fmt: skip
