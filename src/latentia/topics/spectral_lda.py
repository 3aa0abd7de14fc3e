"""Latent Dirichlet allocation by tensor decomposition.

Model. A document draws proportions h from a Dirichlet distribution with parameters alpha_k, sum alpha_0 = a0,
and each of its words from sum_k h_k mu_k. For three different words x_1, x_2, x_3 of a document and m = E[x_1],

    M_2 = E[x_1 x_2] - a0 / (a0 + 1) m m^T                            = sum_k alpha_k / (a0 (a0 + 1)) mu_k mu_k^T,
    M_3 = E[x_1 x_2 x_3] - a0 / (a0 + 2) (E[x_1 x_2 m] + its two rotations)
          + 2 a0^2 / ((a0 + 1) (a0 + 2)) m^(x 3)                      = sum_k 2 alpha_k / (a0 (a0 + 1) (a0 + 2)) mu_k^(x 3).

Whitening by M_2 makes M_3 orthogonal, with eigenvalues lambda_k = 2 / (alpha_0 + 2) (alpha_0 (alpha_0 + 1) /
alpha_k)^(1/2).

Source: A. Anandkumar, D. Foster, D. Hsu, S. Kakade, Y.-K. Liu, A spectral algorithm for latent Dirichlet allocation,
NIPS 2012, for the moments; R. Ge, thesis, Princeton 2013, chapter 7, for the decomposition.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np

from .. import _fields as of
from .._parameters import NComponents, Number, OrNone, Seed
from .._validation import check_vocabulary, weighted
from ..evidence import Check, PartErrors, between
from ..exceptions import LatentiaError
from ..fitting.base import fitting
from ..fitting.stages import Fitted, Staged, Subset
from ..likelihood import Refine, Refined, Refinement
from ..metrics import nearest_others
from ..moments import HiddenMoments, WordMoments, correct_for_lda
from ..passes import Blocks, Folds, assign_folds
from ._corpus import order_documents
from ._documents import SMOOTHING, Admixture
from ._mixing import Corpus, Mixing, measure_mixing_by_prediction
from ._ordering import CanonicalOrder
from ._prediction import UnseenDocuments, prediction_checks, select_unseen_documents
from ._refine import (
    Refiner,
    Starts,
    TopicRefinement,
    completion_scores,
    content_folds,
    include_posterior_spread,
    refinement_checks,
    round_topics,
    smooth_topics,
)
from ._tensor_moments import (
    ALPHA0,
    ROUGH_TOLERANCE,
    CorpusMoments,
    HiddenCorpus,
    Recovered,
    compute_moments,
    eigenvalue_excess,
    halves_agree,
    measure_distances,
    measure_misfit,
    moment_checks,
    recover,
    search_alpha0,
)
from .anchor_topics import find_candidate_topics
from .prevalence import measure_confusions

_SEED = 0  # Seed of halves and decompositions: the result does not depend on a seed.


@dataclass(frozen=True)
class _LDAMoments:
    """Moments of the words, alpha_0, and the refiner of topics, if they are refined."""

    corpus: CorpusMoments | HiddenCorpus
    alpha0: float
    refiner: Refiner | None = None
    _corrected: dict[tuple[int, ...], WordMoments] = field(default_factory=dict)

    def combine(self, groups: tuple[int, ...]) -> WordMoments:
        """Return M_2 and M_3 of some groups together."""
        if groups not in self._corrected:
            self._corrected[groups] = correct_for_lda(self.corpus.combine(groups), self.alpha0)
        return self._corrected[groups]

    @property
    def n_entries(self) -> float:
        assert isinstance(self.corpus, CorpusMoments)
        return float(self.corpus.moments.q.sums.document_frequency.sum())


class _Mixture(NamedTuple):
    """Topics (K, V), the Dirichlet parameters of their proportions (K,), and how they were refined."""

    topics: np.ndarray
    dirichlet: np.ndarray
    refined: TopicRefinement | None = None

    def sorted(self) -> _Mixture:
        """Sort the topics by their shares, the largest first."""
        order = np.argsort(-self.dirichlet, kind="stable")
        refined = None if self.refined is None else self.refined.reorder(order)
        return _Mixture(self.topics[order], self.dirichlet[order], refined)


class SpectralLDA(Admixture, Staged[_LDAMoments, Refined]):
    """Latent Dirichlet allocation by tensor decomposition.

    The decomposition takes four passes over the documents, sweeps over their words refine it, and every topic comes with an
    expected error.

    Choose it for documents that mix some topics with proportions that are nearly Dirichlet, and topics without words of
    their own; where topics have such words, `AnchorTopics` assumes less about the proportions. It needs topics that are
    linearly independent, documents of some dozens of words, and some thousands of them.

    Parameters
    ----------
    n_components : int, "auto" or several, default=10
        Number of topics K.
        A range or list tries each value and keeps the one the evidence recommends; "auto" tries 2 to 100. See
        ``n_components_``, ``recommendation_`` and ``comparison_``. Each number costs a fit.
    alpha0 : float, optional
        Sum of the Dirichlet parameters: small for documents about one topic, large for documents that mix all topics. By
        default it is estimated from the moments (difference 1). Too large is better than too small: with a true value of 1 the
        l1 error is 1.2 times as large at 2, and 2.7 times at 0.5.
    refine : int or "auto", default="auto"
        Sweeps over the documents that refine the recovered topics (difference 5). "auto" samples until the likelihood
        converges and averages 40 sweeps, unless that predicts other documents clearly worse. A number is the number of sweeps,
        half of which are averaged. 0 keeps to the theorem. See ``refinement_``, and *refinement has converged* in the
        evidence.
    n_splits : int, default=3
        Number of random splits into halves, at most 3, whose fits give the expected errors. They cost no pass over the
        documents; with ``refine`` a single split is used, whose halves are fitted as all documents are: about as much work
        again. With 0 no errors are measured.
    vocabulary : sequence of str or dict, optional
        Words of the columns, where the data has no column names; or a dict from words to columns, such as the
        ``vocabulary_`` of scikit-learn's vectorizers.
    vectorizer : vectorizer of scikit-learn, optional
        Counts the words if ``fit`` gets texts; a copy of it is fitted. By default a `latentia.words.WordVectorizer`, for
        English texts.
    random_state : int, default=0
        Seed of the draws of the evidence; the topics do not depend on it. None or a RandomState draws a seed.
    n_jobs : int, optional
        Number of threads. Results are bitwise identical for any value.
    verbose : bool or int, default=False
        Whether to show progress and the remaining time.

    Attributes
    ----------
    components_ : ndarray of shape (K, V)
        Word probabilities of the topics, the largest share first; rows sum to one.
    dirichlet_ : ndarray of shape (K,)
        Dirichlet parameters of the proportions; their sum is ``alpha0_``.
    alpha0_ : float
        The parameter ``alpha0``, or its estimate: by refinement, or by the moments without refinement.
    prevalence_ : ndarray of shape (K,)
        Share of each topic, ``dirichlet_ / alpha0_``.
    word_frequencies_ : ndarray of shape (V,)
        Frequencies of the words, documents weighing equally.
    vectorizer_ : vectorizer
        Vectorizer that counted the words, if the model was fitted on texts.
    evidence_ : Evidence
        Checks of the assumptions, and the expected l1 error of every topic (``component_errors``).
    refinement_ : ndarray of shape (n_steps,)
        Log-likelihood of the words at every sweep, each word predicted from all others, in nats.
    n_iter_ : int
        Number of steps of refinement.
    converged_ : bool
        Whether further steps would gain a negligible amount; measured with ``refine="auto"`` only.
    n_passes_ : int
        Number of passes over the documents, without those for the expected errors.

    Notes
    -----
    Differences from the papers:

    1. alpha_0 need not be known. The mean of the words gives the shares alpha_k / alpha_0 without the third moment, and these
       predict the eigenvalues lambda_k. The estimate is the smallest alpha_0 at which the eigenvalues have, on average, the
       predicted size. It costs no pass over the documents. The search goes from 0.01 to 100; if no value fits, alpha_0 is 100
       and the fit is not supported.
    2. Moments use all ordered triples of different words of a document, in K + 12 coordinates near the leading
       eigenspace of D^-1/2 E[x_1 x_2] D^-1/2, D = diag(E[x]); nothing of size V x V appears.
    3. Topics come from M_2 W v_k, with negative entries set to zero, and shares from the mean of the words.
    4. The tensor is decomposed by polar iteration (`latentia.tensor`), not by deflation.
    5. ``refine`` is not in the papers: collapsed Gibbs sampling as in `AnchorTopics`; a given alpha_0 stays fixed.
    6. Likelihoods use topics mixed with 5% of the word frequencies, so that no word is impossible.

    References
    ----------
    A. Anandkumar, D. Foster, D. Hsu, S. Kakade, Y.-K. Liu, NIPS 2012. R. Ge, thesis 2013, chapter 7.

    Examples
    --------
    >>> from latentia.datasets import planted
    >>> from latentia.topics import SpectralLDA
    >>> corpus = planted.topic_corpus(3000, n_topics=5, n_words=300, length=100, concentration=0.2)
    >>> model = SpectralLDA(5).fit(corpus.counts)
    >>> bool(0.8 < model.alpha0_ < 1.25)
    True
    """

    _constraints: ClassVar = {"alpha0": OrNone(Number(1e-6, 1e6, "both"))}
    _max_distance: ClassVar = 2.0
    alpha0_: Annotated[float, of.number(0.0)]

    def __init__(
        self,
        n_components: NComponents = 10,
        *,
        alpha0: float | None = None,
        refine: Refine = "auto",
        n_splits: int = 3,
        vocabulary: Any = None,
        vectorizer: Any = None,
        random_state: Seed = 0,
        n_jobs: int | None = None,
        verbose: int = False,
    ) -> None:
        self.n_components = n_components
        self.alpha0 = alpha0
        self.refine = refine
        self.n_splits = n_splits
        self.vocabulary = vocabulary
        self.vectorizer = vectorizer
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # --- fitting ------------------------------------------------------------------------------------------------

    @fitting
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> SpectralLDA:
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

    @fitting
    def fit_moments(self, moments: HiddenMoments) -> SpectralLDA:
        """Learn topics from the third cumulant of the word probabilities of documents.

        Parameters
        ----------
        moments : HiddenMoments
            Cumulants of order 3 of probabilities of words, which add up to one in each row, from
            `latentia.contrastive.contrast_moments` with their mean. ``alpha0`` must be given: an estimate from moments
            with so much noise was far off in 2 of 4 planted sets, alike in all halves.

        Returns
        -------
        self
            Without documents there is no refinement.
        """
        if self.alpha0 is None and self.n_components > 1:
            raise LatentiaError(
                "fit_moments: expected the sum of the Dirichlet parameters, which these moments hardly identify. Give alpha0.",
                parameter="alpha0", value=None,
            )  # fmt: skip
        return self._fit_hidden_moments(moments, 3, self._moments_from_hidden)

    def _moments_from_hidden(self, hidden: HiddenMoments) -> _LDAMoments:
        check_vocabulary(self)
        corpus = HiddenCorpus(hidden)
        return _LDAMoments(corpus, self._alpha0(corpus.combine(hidden.folds.all)))

    def _assign_folds(self, rows: Blocks) -> Folds:
        return assign_folds(rows, _SEED)

    def _moments(self, rows: Blocks, folds: Folds) -> _LDAMoments:
        """Count words, find coordinates, and compute the moments of four groups of documents in them."""
        corpus = compute_moments(rows, self.n_components, folds, n_jobs=self.n_jobs, progress=self.verbose)
        moments = _LDAMoments(corpus, self._alpha0(corpus.combine(folds.all)))
        return self._add_refiner(moments, order_documents(rows)) if self.refine else moments

    def _recover(self, moments: _LDAMoments, subset: Subset, choices: Any) -> Recovered:
        """Whiten M_3 by M_2 and decompose it."""
        options = {} if subset.is_whole else {"tol": ROUGH_TOLERANCE}
        return recover(moments.combine(subset.groups), self.n_components, _SEED, **options)

    def _refine(self, recovered: Recovered, moments: _LDAMoments, subset: Subset, choices: Any) -> Refined:
        """Sample the topics of all words; the largest topic comes first."""
        topics, dirichlet = recovered.parameters.topics, moments.alpha0 * recovered.parameters.shares
        refiner = moments.refiner
        if refiner is None:
            return Refined(_Mixture(topics, dirichlet).sorted(), Refinement.no_steps())
        starts = self._starts(recovered, moments, refiner.order.group(subset.groups, refiner.folds))
        refined = refiner.refine_groups(subset.groups, starts)
        if refined.dirichlet is not None:
            topics, dirichlet = refined.topics, refined.dirichlet
        return Refined(_Mixture(topics, dirichlet, refined).sorted(), refined.refinement)

    def _starts(self, recovered: Recovered, moments: _LDAMoments, documents: CanonicalOrder) -> Starts:
        """Return the topics of the tensor, and those of anchors, which may be more.

        Moments of documents in another order differ by rounding; topics of few digits do not.
        """
        topics = round_topics(smooth_topics(recovered.parameters.topics, moments.corpus.word_probabilities, SMOOTHING))

        def search() -> np.ndarray | None:
            candidates = find_candidate_topics(documents.blocks, self.n_components, self.n_jobs)
            return None if candidates is None else documents.restore(candidates)

        topics_of = {"tensors": lambda: topics, "search": search}
        return Starts(recovered.parameters.topics, moments.alpha0 * recovered.parameters.shares, topics_of)

    def _add_refiner(self, moments: _LDAMoments, order: CanonicalOrder) -> _LDAMoments:
        """Return the moments with a refiner."""
        folds = order.folds(moments.corpus.folds)
        choice = content_folds(order, folds)

        def starts_of(groups: tuple[int, ...]) -> Starts:
            documents = order.group(groups, choice)
            if choice is folds:
                recovered = recover(moments.combine(groups), self.n_components, _SEED, tol=ROUGH_TOLERANCE)
            else:
                recovered = self._recover_part(documents, moments.alpha0)
            return self._starts(recovered, moments, documents)

        refiner = Refiner(
            order, folds, choice, moments.corpus.word_probabilities, moments.n_entries, self.refine,
            starts_of, self.alpha0, self.n_jobs, bool(self.verbose),
        )  # fmt: skip
        return replace(moments, refiner=refiner)

    def _recover_part(self, order: CanonicalOrder, alpha0: float) -> Recovered:
        """Recover the topics of some documents, over the columns of the data."""
        with warnings.catch_warnings():  # The fit on all documents has warned before.
            warnings.simplefilter("ignore")
            corpus = compute_moments(order.blocks, self.n_components, Folds(1), n_jobs=self.n_jobs, progress=False)
        part = recover(correct_for_lda(corpus.combine((0,)), alpha0), self.n_components, _SEED, tol=ROUGH_TOLERANCE)
        return replace(part, parameters=part.parameters._replace(topics=order.restore(part.parameters.topics)))

    def _checks(self, fitted: Fitted[_LDAMoments, Refined]) -> tuple[list[Check], PartErrors]:
        """Measure errors on halves, widen them by errors that all halves share, and check moments, predictions and alpha_0."""
        moments = fitted.moments
        recovered: Recovered = fitted.recovered
        refined: Refined = fitted.model
        topics, corpus, alpha0 = refined.parameters.topics, moments.corpus, moments.alpha0
        parts = fitted.errors(self.n_splits)
        mixing = self._mixing(fitted, parts)
        misfit = measure_misfit(recovered.fit, corpus, moments.combine)
        bias = np.hypot(misfit.bias(nearest_others(topics)), mixing.bias(topics))
        prediction_checks = self._prediction_checks(fitted)
        parts = include_posterior_spread(
            parts, refined.parameters.refined, recovered.parameters.topics, prediction_checks
        )
        parts = parts.widen(bias, self._max_distance)
        return [
            *moment_checks(refined, recovered.fit, corpus, moments.combine, parts, misfit),
            *prediction_checks,
            *refinement_checks(refined.parameters.refined),
            *self._dirichlet_sum(alpha0),
            *mixing.proportion_checks(alpha0),
        ], parts

    def _set_fitted_attributes(self, fitted: Fitted[_LDAMoments, Refined]) -> None:
        moments = fitted.moments
        refined: Refined = fitted.model
        self.components_, self.dirichlet_ = refined.parameters.topics, refined.parameters.dirichlet
        self.alpha0_ = float(self.dirichlet_.sum())
        self._set_refinement_attributes(refined.refinement)
        self.prevalence_, self.word_frequencies_ = self.dirichlet_ / self.alpha0_, moments.corpus.word_probabilities
        self.n_passes_ = moments.corpus.n_passes + len(self.refinement_)
        self._n_features_out = len(self.components_)
        self._confusions = measure_confusions(fitted, self.n_splits, refined.parameters.refined)
        if fitted.rows is not None:
            self._order_words(fitted, moments.corpus.documents.length)

    def _distance(self, first: Refined, second: Refined, moments: Any) -> np.ndarray:
        return measure_distances(first, second)

    def _cost(self) -> Literal["algebra", "passes"]:
        return "passes" if self.refine else "algebra"

    def _mixing(self, fitted: Fitted[_LDAMoments, Refined], parts: PartErrors) -> Mixing:
        """Measure how proportions that are not Dirichlet move unrefined topics, if halves agree on these."""
        moments = fitted.moments
        model: _Mixture = fitted.model.parameters
        is_refined = model.refined is not None and model.refined.dirichlet is not None
        if is_refined or not halves_agree(parts, model.topics):
            return Mixing(fitted.recovered.parameters.topics)
        folds = moments.corpus.folds
        corpus = Corpus(moments.corpus.combine, fitted.recovery_of, folds, self._seed)
        held_out = select_unseen_documents(fitted.rows, folds, refined=False) if self._has_documents(fitted) else None
        return measure_mixing_by_prediction(corpus, moments.alpha0, held_out)

    def _has_documents(self, fitted: Fitted[_LDAMoments, Refined]) -> bool:
        return self.n_splits > 0 and fitted.rows is not None

    def _prediction_checks(self, fitted: Fitted[_LDAMoments, Refined]) -> list[Check]:
        """Check how topics of some documents predict the words of others."""
        corpus = fitted.moments.corpus

        def predict(held_out: UnseenDocuments) -> np.ndarray:
            mixture = fitted.model_of(held_out.learned).parameters
            return completion_scores(mixture.topics, mixture.dirichlet, corpus.word_probabilities, held_out.counts)

        held_out = (
            select_unseen_documents(fitted.rows, corpus.folds, self.refine != 0)
            if self._has_documents(fitted)
            else None
        )
        return prediction_checks(predict, corpus.word_probabilities, held_out, fitted.rows, corpus.folds)

    def _alpha0(self, moments: WordMoments) -> float:
        """Return the given alpha_0 or its estimate; with one topic it is arbitrary."""
        if self.alpha0 is not None:
            return float(self.alpha0)
        return 1.0 if self.n_components == 1 else self._estimate_alpha0(moments)

    def _estimate_alpha0(self, moments: WordMoments) -> float:
        """Estimate the alpha_0 at which the eigenvalues have the size that the shares predict."""

        def excess_at(alpha0: float) -> float:
            return eigenvalue_excess(recover(correct_for_lda(moments, alpha0), self.n_components, _SEED), alpha0)

        return search_alpha0(excess_at)

    def _dirichlet_sum(self, alpha0: float) -> list[Check]:
        if self.alpha0 is not None or self.n_components == 1:
            return []
        return [
            Check(
                "Dirichlet sum", "alpha_0", alpha0, between(0, ALPHA0[1]),
                "At this value the eigenvalues of the tensor agree with the shares of the topics; at the upper end, at none.",
                "Anandkumar et al. 2012", "note",
                "No mixture of topics has the moments of these documents: ask for fewer topics, or use anchor words.",
            )
        ]  # fmt: skip
