"""Topics by anchor words.

Model. Topics are rows a_k of A (K x V), distributions over words. A document draws proportions w from any distribution
with second moment R = E[w w^T], and each of its words from w^T A. Two different words of a document then have the joint
distribution Q = A^T R A. An anchor word of topic k occurs in topic k alone, so its conditional row of Q is that of the
topic, and the row of every other word is a convex combination of the anchors' rows, with weights P(topic | word).

Source: R. Ge, Provable Algorithms for Machine Learning Problems, thesis, Princeton 2013, chapters 3 and 4 and
section 3.5.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from scipy import sparse

from .. import _fields as of
from .._parameters import (
    Anything,
    Choice,
    Integer,
    NComponents,
    Number,
    OrNone,
    Seed,
    check_parameter,
    check_parameters,
)
from .._validation import check_vocabulary, column_names, weighted
from ..evidence import Check, Evidence, Misfit, PartErrors, separation_limit
from ..evidence.limits import MAX_L1_ERROR
from ..exceptions import LatentiaError
from ..fitting.base import fitted, fitting
from ..fitting.stages import Fitted, Subset
from ..likelihood import Refine, Refined
from ..metrics import nearest_distances, nearest_others
from ..moments import Cooccurrence
from ..passes import Blocks, Folds, assign_folds
from ..simplex import simplex_least_squares
from . import _embedding
from ._anchors import Anchor, choose_anchors, exclusive_words, parse_anchors, vertex_rows
from ._corpus import (
    Documents,
    Words,
    check_n_topics,
    count_documents,
    merge_rare_words,
    min_documents_of_word,
    order_documents,
)
from ._cross_validation import cross_validate_spectrum
from ._dirichlet import dirichlet_by_likelihood, dirichlet_from_moment
from ._documents import Admixture
from ._embedding import Embedding, GroupSketches
from ._evidence import AnchorFit, anchor_checks, exclusive_share, measure_unexplained_share
from ._prediction import UnseenDocuments, prediction_checks, select_unseen_documents
from ._recover import recover_topics
from ._refine import (
    Refiner,
    Starts,
    TopicRefinement,
    completion_scores,
    content_folds,
    include_posterior_spread,
    n_candidates,
    refinement_checks,
    smooth_topics,
)
from .prevalence import measure_confusions
from .sufficient_statistics import AdditiveTopics, CorpusSums, SumSketches

_GAP = Number(0, 1)
_SUBSET_TOL = 1e-4  # Duality gap for subsets of the documents; searches with a larger one end where rounding leads.
_STORED_TOL = 1e-14  # Duality gap for stored sums, so that the order of additions changes nothing else.


class AnchorTopics(Admixture, AdditiveTopics["_CorpusSketch", Refined]):
    """Topic model by anchor words.

    Every topic has an expected error. Anchor words give the initial topics; Gibbs sampling refines them, with draws that are
    hashes of the documents. So the result depends on no seed, and up to five million stored counts on no order of documents.

    Choose it for a corpus of hundreds of documents or more, if topics should be the same on every run, with a measure of their
    reliability. With ``refine=0`` it assumes nothing about the proportions of the topics. It needs, for each topic, some word
    that is rare in the others. With some hundreds of documents expect few reliable topics; the evidence tells which.

    Parameters
    ----------
    n_components : int, "auto" or several, default=20
        Number of topics K.
        A range or list tries each value and keeps the one the evidence recommends; "auto" tries 2 to 100. See
        ``n_components_``, ``recommendation_`` and ``comparison_``. Each number costs a fit.
    embedding : {"subspace", "projection"}, default="subspace"
        Space in which the rows of Q are compared: the leading eigenspace of D^-1/2 Q D^-1/2, with D = diag(Q 1), or the random
        projection of the thesis.
    anchors : {"greedy", "lp"} or list, default="greedy"
        Choice of anchors: each farthest from the span of the ones before (Alg. 4.3), or by the linear programs of section 3.5
        (at most 2000 candidate words). Or the anchors themselves, one entry for each topic: a word, a list of words whose
        occurrences count together (a tandem anchor), or a dict from words to strengths, the share of a word's occurrences that
        belong to the topic. Words are column names or numbers. Entries without a usable word are skipped, and topics without an
        entry get greedy anchors.
    refine : int or "auto", default="auto"
        Sweeps over the documents that refine the recovered topics (difference 9).

        - "auto" samples the topics of all words: 20 to 100 sweeps until the likelihood converges, and 40 that are averaged. It
          starts from the topics of the anchors or, if the data has more directions, from more topics, whichever predicts
          held-out documents better. If the recovered topics or collapsed variational Bayes predict clearly better, they are
          the result. Counts that are not whole numbers are swept by variational Bayes, not sampled.
        - A number is the number of sweeps from the topics of the anchors, half of which are averaged.
        - 0 keeps to the theorems, and so does ``embedding="projection"``.

        See ``refinement_``, and in the evidence *refinement has converged* and *noise of the draws*.
    min_df : int, optional
        Number of documents that an anchor word must occur in; by default one in 200, but at least 3 and at most 50.
    runoff_df : int, default=2
        Words in fewer documents than this are merged into one runoff word (Lemma 3.16) and share its topics.
    dirichlet : {"likelihood", "moments"}, default="likelihood"
        Estimate of the Dirichlet parameters of the proportions: by likelihood, along with refined topics, or else by document
        completion from a grid of scales; or by Algorithm 3.4.
    n_splits : int, default=3
        Number of random splits into halves, at most 3, whose fits give the expected errors. They cost no pass over the
        documents; with ``refine`` a single split is used, whose halves are fitted as all documents are: about as much work
        again. With 0 no errors are measured.
    tol : float, default=1e-6
        Relative duality gap of the weights of a word; 1e-14 for kept moments.
    vocabulary : sequence of str or dict, optional
        Words of the columns, if the data has no column names; or a dict from words to columns, such as the ``vocabulary_`` of
        scikit-learn's vectorizers.
    vectorizer : vectorizer of scikit-learn, optional
        Counts the words if ``fit`` gets texts; a copy of it is fitted. By default a `latentia.words.WordVectorizer`, for
        English texts.
    keep_moments : bool, default=False
        Whether to store sums over the documents, with ``embedding="projection"``, so that documents can be added or removed
        later: 16 kB for each word, for any number of documents. The topics are then those of the sums, without refinement.
    random_state : int, default=0
        Seed of the splits, hence of the expected errors, and of the columns of ``embedding="projection"``. None or a
        RandomState draws a seed.
    n_jobs : int, optional
        Number of threads. Results are bitwise identical for any value.
    verbose : bool or int, default=False
        Whether to show progress and the remaining time.

    Attributes
    ----------
    components_ : ndarray of shape (K, V)
        Word probabilities of the topics; rows sum to one.
    anchors_ : ndarray of int, shape (K,)
        Column of each topic's anchor word, or the first word of a tandem anchor. For a refined topic: the most frequent among
        its most exclusive words, unless you supplied the anchor.
    anchor_words_ : list of list
        Anchor words of every topic, by name if the columns have names.
    prevalence_ : ndarray of shape (K,)
        Share of each topic in the corpus.
    topic_covariance_ : ndarray of shape (K, K)
        R = E[w w^T], positive semidefinite, sums to one.
    dirichlet_ : ndarray of shape (K,)
        Dirichlet parameters of the proportions.
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
    moments_ : Sums
        Stored sums: ``moments_.n_bytes`` is their size, ``moments_.n_rows`` the number of documents.
    n_passes_ : int
        Number of passes over the documents, without those for the expected errors.

    Notes
    -----
    Differences from the thesis:

    1. Q uses all ordered pairs of different words of a document, not one random split into halves. It is never formed: products
       Q B stream the documents.
    2. The default embedding is an eigenspace after scaling, not a random projection; recovery uses it as well.
    3. Greedy anchors are not single words: each vertex is a mean over the words near the farthest one, so that no document
       decides alone (in both loops of Alg. 4.3). Rows are first shrunk towards the mean by signal / (signal + noise), with the
       noise of each row measured over the documents; raw rows make rare words anchors. (Not with "projection" or
       `fit_moments`, where the noise is unknown.)
    4. Such means lie inside the simplex. They are moved outwards by means over ever fewer words, as far as the noise allows;
       anchors of the user stay as they are.
    5. The weights of words come from least squares, RecoverL2, by pairwise coordinate descent to a duality gap instead of
       exponentiated gradient. RecoverKL and Recover are functions of `latentia.papers.topics`.
    6. R is projected to the positive semidefinite matrices and scaled to sum one.
    7. The probability of the runoff word in a topic is divided among its words in proportion to their frequency; the thesis
       gives these words probability zero. The error remains within that of the lemma.
    8. Likelihoods use topics mixed with 5% of the word frequencies, so that no word is impossible.
    9. ``refine`` is not in the thesis: collapsed Gibbs sampling (Griffiths and Steyvers 2004), whose probabilities are
       averaged, with an estimated Dirichlet parameter for each topic and each word (Wallach et al. 2009). Draws are hashes of
       the content of the documents, and do not depend on a seed or an order. Above 30 million words a part of the documents is
       sampled, and all are drawn once with its topics. Expected errors are those of halves of the documents, and at least the
       spread of the posterior.

    References
    ----------
    R. Ge, thesis, Princeton 2013, chapters 3 and 4. S. Arora, R. Ge, Y. Halpern, D. Mimno, A. Moitra, D. Sontag,
    Y. Wu, M. Zhu, A practical algorithm for topic modeling with provable guarantees, ICML 2013. T. Griffiths, M. Steyvers,
    Finding scientific topics, PNAS 101, 2004. H. Wallach, D. Mimno, A. McCallum, Rethinking LDA: why priors matter, NIPS
    2009.

    Examples
    --------
    >>> from latentia.datasets import planted
    >>> from latentia.topics import AnchorTopics
    >>> corpus = planted.topic_corpus(2000, n_topics=10, n_words=1000)
    >>> model = AnchorTopics(10).fit(corpus.counts)
    >>> model.components_.shape
    (10, 1000)
    >>> model.evidence_.holds
    True
    """

    _constraints: ClassVar = {
        "embedding": Choice("subspace", "projection"),
        "anchors": Anything(),
        "min_df": OrNone(Integer(0)),
        "runoff_df": Integer(0),
        "dirichlet": Choice("likelihood", "moments"),
        "tol": _GAP,
    }
    _max_distance: ClassVar = 2.0
    topic_covariance_: Annotated[np.ndarray, of.numbers("K K")]
    anchors_: Annotated[np.ndarray, of.places("K", below="V")]
    anchor_words_: Annotated[list[list[Any]], of.Field(types=("int64", "int32", "str"))]
    _anchors: list[Anchor]
    _embedding: Embedding
    _words: Words
    _documents: Documents

    def __init__(
        self,
        n_components: NComponents = 20,
        *,
        embedding: Literal["subspace", "projection"] = "subspace",
        anchors: Any = "greedy",
        refine: Refine = "auto",
        min_df: int | None = None,
        runoff_df: int = 2,
        dirichlet: Literal["likelihood", "moments"] = "likelihood",
        n_splits: int = 3,
        tol: float = 1e-6,
        vocabulary: Any = None,
        vectorizer: Any = None,
        keep_moments: bool = False,
        random_state: Seed = 0,
        n_jobs: int | None = None,
        verbose: int = False,
    ) -> None:
        self.n_components = n_components
        self.embedding = embedding
        self.anchors = anchors
        self.refine = refine
        self.min_df = min_df
        self.runoff_df = runoff_df
        self.dirichlet = dirichlet
        self.n_splits = n_splits
        self.tol = tol
        self.vocabulary = vocabulary
        self.vectorizer = vectorizer
        self.keep_moments = keep_moments
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # --- fitting ------------------------------------------------------------------------------------------------

    @fitting
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> AnchorTopics:
        """Learn topics from counts.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or Blocks of shape (n_documents, V), or texts
            Nonnegative counts of words in documents; or the documents themselves, as a sequence of str or
            `latentia.datasets.Texts`, which all methods take then.
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

    def _assign_folds(self, rows: Blocks) -> Folds:
        return assign_folds(rows, self._seed, 4 if self.embedding == "subspace" else 2 if self.n_splits else 1)

    def _moments(self, rows: Blocks, folds: Folds) -> _CorpusSketch:
        """Count the words of the documents in canonical order, sketch Q, and prepare the refinement."""
        order = order_documents(rows)
        table_folds = order.folds(folds)
        q = Cooccurrence(order.blocks, folds=order.merge_groups(table_folds), n_jobs=self.n_jobs, progress=self.verbose)
        documents = count_documents(q.sums, rows.n_rows)
        words = merge_rare_words(q, self.runoff_df).restore(order)
        check_n_topics(self.n_components, documents, q.size)
        choice = self._choose_candidates(documents, words)
        if self.embedding == "projection":
            sketches = _embedding.projection(q, self._seed, table_folds)
        else:
            sketches = _embedding.subspace(q, self.n_components, table_folds)
        free = self._steps == "auto" and not choice.given
        return self._add_refiner(_CorpusSketch(sketches, words, documents, choice, order, self.n_components, free))

    def _moments_from_sums(self, sums: CorpusSums) -> _CorpusSketch:
        """Make the sketch of stored sums: of all words, without merging rare ones."""
        counted = sums.words
        documents = count_documents(counted, sums.n_rows)
        probabilities = sums.paired.sum(axis=0) / documents.used
        words = Words(np.arange(len(probabilities)), counted.document_frequency, probabilities)
        check_n_topics(self.n_components, documents, words.n_kept)
        sketches = SumSketches(sums, Folds(self._groups))
        return _CorpusSketch(
            sketches, words, documents, self._choose_candidates(documents, words), None, self.n_components, False
        )

    def _recover(self, moments: _CorpusSketch, subset: Subset, choices: Any) -> _Recovered:
        """Choose anchors (Algorithm 4.3), and recover topics from them (RecoverL2)."""
        embedding, choice = moments.combine(subset.groups), moments.choice
        tol = self.tol if subset.is_whole else max(self.tol, _SUBSET_TOL)
        if isinstance(moments.sketches, SumSketches):
            tol = min(self.tol, _STORED_TOL)
        anchors = choose_anchors(embedding, moments.n_topics, *choice)
        topics = recover_topics(embedding, anchors, choice.codes, tol=tol, n_jobs=self.n_jobs)
        return _Recovered(anchors, moments.words.spread(topics))

    def _refine(self, recovered: _Recovered, moments: _CorpusSketch, subset: Subset, choices: Any) -> Refined:
        """Sample the topics of all words, from the start that predicts half of the documents best."""
        refined = TopicRefinement.from_recovery(recovered.topics)
        if moments.refiner is not None:
            refined = moments.refiner.refine_groups(subset.groups, self._starts(recovered, moments, subset.groups))
        return Refined(refined, refined.refinement)

    def _checks(self, fitted: Fitted[_CorpusSketch, Refined]) -> tuple[list[Check], PartErrors]:
        """Measure errors on halves, widen them by errors that all halves share, and check anchors, predictions and sweeps."""
        learned: TopicRefinement = fitted.model.parameters
        parts = fitted.errors(self._splits(learned))
        bias = Misfit(share=measure_unexplained_share(self._embedding) / 2).bias(nearest_others(learned.topics))
        prediction_checks = [] if parts.errors is None or fitted.rows is None else self._prediction_checks(fitted)
        parts = include_posterior_spread(parts, learned, fitted.recovered.topics, prediction_checks).widen(
            bias, self._max_distance
        )
        return [*self._anchor_checks(parts), *prediction_checks, *refinement_checks(learned)], parts

    def _set_fitted_attributes(self, fitted: Fitted[_CorpusSketch, Refined]) -> None:
        moments = fitted.moments
        learned: TopicRefinement = fitted.model.parameters
        self._set_refinement_attributes(learned.refinement)
        n_passes = moments.sketches.n_passes + len(self.refinement_)
        shown_words = exclusive_words(learned.topics, moments.words) if learned.is_swept else None
        fitted_arguments = (
            moments.cross_validated,
            fitted.recovered.anchors,
            learned.topics,
            moments.words,
            moments.documents,
        )
        self._set_topic_attributes(*fitted_arguments, n_passes, shown_words)
        if learned.dirichlet is not None and self.dirichlet == "likelihood":
            self.dirichlet_ = learned.dirichlet
        elif moments.sketches.documents is None or self.dirichlet == "moments":
            self.dirichlet_ = dirichlet_from_moment(self.topic_covariance_)
        else:
            self.dirichlet_ = _estimate_dirichlet(self, moments.order.restore_table(moments.sketches.documents))
        self._confusions = measure_confusions(fitted, self._splits(learned), learned)
        if fitted.rows is not None:
            self._order_words(fitted, moments.documents.length)

    def _distance(self, first: Refined, second: Refined, moments: Any) -> np.ndarray:
        return nearest_distances(first.parameters.topics, second.parameters.topics)

    def _cost(self) -> Literal["algebra"]:
        """Return "algebra": three quarters are fitted only if no half can be, and `_splits` limits the halves to one pair."""
        return "algebra"

    @fitting
    def fit_moments(self, Q: Any, *, tol: float | None = None) -> AnchorTopics:
        """Learn topics from a given co-occurrence matrix, for instance an exact one.

        Parameters
        ----------
        Q : array of shape (V, V)
            Joint probabilities of two words; symmetric, nonnegative; scaled to sum one here.
        tol : float, optional
            Relative duality gap, in place of the parameter ``tol``.

        Returns
        -------
        self
            Without documents there are no expected errors and no refinement.
        """
        tol = self.tol if tol is None else tol
        check_parameter("tol", tol, _GAP)
        cooccurrence = _check_cooccurrence(Q)
        if self.n_components > len(cooccurrence):
            raise LatentiaError(
                f"Q of {len(cooccurrence)} words supports at most {len(cooccurrence)} topics.",
                at_most=len(cooccurrence),
                parameter="n_components",
                value=self.n_components,
            )
        self.n_features_in_, self._column_names = len(cooccurrence), None
        check_vocabulary(self)
        documents, words = (
            Documents(),
            Words(np.arange(len(cooccurrence)), np.full(len(cooccurrence), np.inf), cooccurrence.sum(axis=1)),
        )
        embedding = _embedding.exact(cooccurrence, self.n_components, self.embedding, self._seed)
        anchors = choose_anchors(embedding, self.n_components, *self._choose_candidates(documents, words))
        topics = recover_topics(embedding, anchors, words.codes, tol=tol, n_jobs=self.n_jobs)
        self._set_topic_attributes(embedding, anchors, topics, words, documents)
        self.dirichlet_ = dirichlet_from_moment(self.topic_covariance_)
        return self._set_evidence_without_errors("There are no documents to split.")

    @fitted
    def reanchor(self, anchors: Any = None, *, replace: Mapping[int, Any] | None = None) -> AnchorTopics:
        """Return a copy of the fitted model with other anchors, without touching the data again.

        Parameters
        ----------
        anchors : list, optional
            Anchors of all topics, as in the constructor. If there are fewer than K, greedy anchors are added. More than K are
            an error, since the fit has stored K dimensions.
        replace : dict from topic number to anchor, optional
            Anchors of some topics to change, keeping the others; None as an anchor removes the topic.

        Returns
        -------
        AnchorTopics
            A new model; this one is unchanged. Its expected errors need the data (``evidence_.stability(X)``), and its
            topics are not refined, since that needs the documents.
        """
        if (anchors is None) == (replace is None):
            raise LatentiaError("reanchor: expected either anchors= for all topics or replace= for some.")
        if isinstance(anchors, str):
            raise LatentiaError(f"reanchor: expected a list of words, or of lists of words; anchors is {anchors!r}.")
        model = copy.deepcopy(self)
        if hasattr(model, "n_components_"):  # The chosen number of topics.
            model.n_components = model.n_components_
        if replace is not None:
            anchors = _replace_anchors(model._anchors, replace)
            model.n_components = len(anchors)
        model.anchors, model.refine = anchors, 0
        check_parameters(model)
        model._check_parameters()
        check_vocabulary(model)
        embedding, words = model._embedding, model._words
        choice = model._choose_candidates(model._documents, words)
        n_given, n_kept = len(choice.given), embedding.sketch.shape[1]
        if n_given > n_kept:
            raise LatentiaError(
                f"reanchor: expected at most {n_kept} anchors, the dimensions of the fit; there are {n_given}. Fit again with "
                "these anchors and as many topics."
            )
        model.anchors = [dict(zip(anchor.words, anchor.strengths, strict=True)) for anchor in choice.given]
        model.n_components = max(model.n_components, n_given)
        chosen = choose_anchors(embedding, model.n_components, *choice)
        topics = words.spread(recover_topics(embedding, chosen, words.codes, tol=model.tol, n_jobs=model.n_jobs))
        model._set_topic_attributes(embedding, chosen, topics, words, model._documents)
        model.dirichlet_ = self.dirichlet_.sum() * model.prevalence_
        return model._set_evidence_without_errors("The anchors were edited: call evidence_.stability(X).")

    def _merge_parts(self, weights: np.ndarray, joined: np.ndarray) -> None:
        parts = [np.flatnonzero(row) for row in joined]
        largest = [part[self.prevalence_[part].argmax()] for part in parts]
        vertices = weights @ vertex_rows(self._embedding, self._anchors, self._words.codes)
        self._anchors = [
            _merge_anchors(self._anchors, *part_and_vertex) for part_and_vertex in zip(parts, vertices, strict=True)
        ]
        self.anchors_ = self.anchors_[largest]
        self.anchor_words_ = [[word for k in part for word in self.anchor_words_[k]] for part in parts]
        self.topic_covariance_ = joined @ self.topic_covariance_ @ joined.T
        super()._merge_parts(weights, joined)

    @property
    def _steps(self) -> Refine:
        """Number of sweeps, or "auto"; with a random projection "auto" is 0."""
        return 0 if self.refine == "auto" and self.embedding == "projection" else self.refine

    # --- within the stages --------------------------------------------------------------------------------------

    def _choose_candidates(self, documents: Documents, words: Words) -> _AnchorChoice:
        """Return the user's anchors, and candidate words for the others."""
        has_no_anchors = isinstance(self.anchors, str)
        user_anchors = (
            [] if has_no_anchors else parse_anchors(self.anchors, column_names(self), words.exclusive_columns)
        )
        min_documents = min_documents_of_word(documents.used) if self.min_df is None else self.min_df
        frequent = np.flatnonzero(words.document_frequency >= max(min_documents, self.runoff_df))
        frequent = frequent[np.argsort(words.codes[frequent], kind="stable")]
        return _AnchorChoice(user_anchors, frequent, words.codes, self.anchors if has_no_anchors else "greedy")

    def _starts(self, recovered: _Recovered, moments: _CorpusSketch, groups: tuple[int, ...]) -> Starts:
        """Return the topics of the anchors and, if the data has more directions, more topics."""
        topics_of: dict[str, Any] = {"anchors": lambda: recovered.topics}
        if moments.n_tried > self.n_components:
            topics_of["search"] = lambda: _find_more_topics(self, moments, groups)
        return Starts(recovered.topics, None, topics_of)

    def _add_refiner(self, moments: _CorpusSketch) -> _CorpusSketch:
        """Return the sketch with a refiner, if topics are refined."""
        if self._steps == 0:
            return moments
        folds = content_folds(moments.order, moments.sketches.folds)
        moments_by_content = replace(moments, sketches=replace(moments.sketches, folds=folds))

        def starts_of(groups: tuple[int, ...]) -> Starts:
            recovered = self._recover(moments_by_content, Subset(groups, folds, None), None)
            return self._starts(recovered, moments_by_content, groups)

        refiner = Refiner(
            moments.order, moments.sketches.folds, folds, moments.words.probabilities, moments.n_entries, self._steps,
            starts_of, n_jobs=self.n_jobs, progress=bool(self.verbose),
        )  # fmt: skip
        return replace(moments, refiner=refiner)

    def _splits(self, learned: TopicRefinement) -> int:
        """Return the number of splits into halves: at most one if the fits need sweeps."""
        return min(self.n_splits, 1) if learned.is_swept else self.n_splits

    def _prediction_checks(self, fitted: Fitted[_CorpusSketch, Refined]) -> list[Check]:
        """Check how topics of some documents predict the words of others."""
        moments = fitted.moments
        frequencies = moments.words.probabilities

        def predict(held_out: UnseenDocuments) -> np.ndarray:
            refinement: TopicRefinement = fitted.model_of(held_out.learned).parameters
            dirichlet = refinement.dirichlet
            if dirichlet is None:
                moment = moments.combine(held_out.learned).topic_moment(moments.words.merge(refinement.topics))
                dirichlet = self.dirichlet_.sum() * np.maximum(moment.sum(axis=1), 1e-6)
            return completion_scores(refinement.topics, dirichlet, frequencies, held_out.counts)

        held_out = select_unseen_documents(fitted.rows, fitted.folds, fitted.model.parameters.is_swept)
        return prediction_checks(predict, frequencies, held_out, fitted.rows, fitted.folds)

    def _set_topic_attributes(
        self,
        embedding: Embedding,
        anchors: list[Anchor],
        topics: np.ndarray,
        words: Words,
        documents: Documents,
        n_passes: int = 0,
        exclusive_columns: np.ndarray | None = None,
    ) -> None:
        """Set the attributes that follow from topics and exclusive words, all but the Dirichlet parameters."""
        self._embedding, self._anchors = embedding, anchors
        self._words, self._documents = words, documents
        names = column_names(self)
        self.components_, self.word_frequencies_ = topics, words.probabilities
        word_columns = [anchor.words for anchor in anchors]
        if exclusive_columns is not None:
            word_columns = [a.words if a.given else (int(w),) for a, w in zip(anchors, exclusive_columns, strict=True)]
        self.anchors_ = np.array([first for first, *_ in word_columns])
        self.anchor_words_ = [[str(names[w]) if names is not None else w for w in columns] for columns in word_columns]
        self.topic_covariance_ = embedding.topic_moment(words.merge(topics))
        self.prevalence_ = self.topic_covariance_.sum(axis=1)
        self.n_passes_, self._n_features_out = n_passes, len(topics)
        self._confusions = np.empty((0, len(topics), len(topics)))
        self.__dict__.pop("_word_order", None)  # It belongs to the documents of another fit.

    def _anchor_checks(self, parts: PartErrors) -> list[Check]:
        """Check the expected errors, and the assumptions of the theorems on anchors and topics."""
        embedding, words = self._embedding, self._words
        vertices = vertex_rows(embedding, self._anchors, words.codes)
        anchor_words = [list(anchor.words) for anchor in self._anchors]
        measured = AnchorFit(
            embedding=embedding,
            vertices=vertices,
            weights=simplex_least_squares(embedding.rows, vertices, tol=1e-2, n_jobs=self.n_jobs),
            moment=self.topic_covariance_,
            prevalence=self.prevalence_,
            anchor_documents=np.array([words.document_frequency[columns].max() for columns in anchor_words]),
            anchor_probability=np.array([self.components_[k, columns].sum() for k, columns in enumerate(anchor_words)]),
            exclusive_share=exclusive_share(self.components_, self.prevalence_),
            documents=self._documents,
            words=words,
            dirichlet_total=float(self.dirichlet_.sum()),
        )
        return anchor_checks(measured, parts, separation_limit(self.components_, "cityblock", MAX_L1_ERROR))

    def _set_evidence_without_errors(self, reason: str) -> AnchorTopics:
        """Set the evidence of a model without documents; return the model."""
        self.evidence_ = Evidence(self._anchor_checks(PartErrors.missing(reason)), None).bind(self)
        return self

    def _check_parameters(self) -> None:
        if isinstance(self.anchors, str):
            check_parameter("anchors", self.anchors, Choice("greedy", "lp"))
        elif not isinstance(self.anchors, Sequence):
            raise LatentiaError("expected 'greedy', 'lp' or a list of words.", parameter="anchors", value=self.anchors)

    def _check_fitted(self) -> None:
        super()._check_fitted()
        anchors = self._anchors
        if len(anchors) != len(self.components_) or len(self.anchor_words_) != len(anchors):
            raise LatentiaError("_anchors are not words of every topic")
        if any(len(anchor.words) != len(anchor.strengths) or not anchor.words for anchor in anchors):
            raise LatentiaError("_anchors have no strength for every word")
        if (np.bincount(self._words.codes, minlength=len(self._embedding.sketch)) == 0).any():
            raise LatentiaError("_words.codes leave out columns of the embedding")


# --- records ------------------------------------------------------------------------------------------------------


class _Recovered(NamedTuple):
    """Anchors, and topics (K, V) over all words. The embedding of a subset is too large to store."""

    anchors: list[Anchor]
    topics: np.ndarray


@dataclass(frozen=True)
class _CorpusSketch:
    """Words, documents, the sketch of Q, and the choice of anchors.

    Attributes
    ----------
    sketches : GroupSketches
    words : Words
    documents : Documents
    choice : _AnchorChoice
    order : CanonicalOrder or None
        Documents on which topics are refined; None for stored sums.
    n_topics : int
        Number of topics to recover.
    free : bool
        Whether refinement may start from other topics than those of the anchors.
    refiner : Refiner or None
    """

    sketches: GroupSketches | SumSketches
    words: Words
    documents: Documents
    choice: _AnchorChoice
    order: Any
    n_topics: int
    free: bool
    refiner: Refiner | None = None

    def combine(self, groups: tuple[int, ...]) -> Embedding:
        """Return the sketch of some groups together."""
        if groups == self.sketches.folds.all:
            return self.embedding
        return self.sketches.embedding(groups, self.n_topics)

    @cached_property
    def embedding(self) -> Embedding:
        """Sketch of all documents."""
        return self.sketches.embedding(self.sketches.folds.all, self.n_topics)

    @cached_property
    def cross_validated(self) -> Embedding:
        """Sketch of all documents; eigenvalues beyond the topics are at most their cross-validated values."""
        folds = self.sketches.folds
        if self.rank <= self.n_topics or not folds.splits:
            return self.embedding
        frequent = np.isin(self.order.columns, self.choice.candidates)
        spectrum, k = self.embedding.spectrum, self.n_topics
        cross_validated = cross_validate_spectrum(
            self.order.blocks, folds, frequent, self.documents.length, len(spectrum)
        )
        return replace(self.embedding, spectrum=np.append(spectrum[:k], np.minimum(spectrum[k:], cross_validated[k:])))

    @property
    def n_entries(self) -> float:
        return float(self.words.document_frequency.sum())

    @property
    def rank(self) -> int:
        """Number of directions above the noise; 0 if the noise is unknown."""
        embedding = self.embedding
        return int((embedding.spectrum > embedding.noise_edge()).sum()) if embedding.noise > 0 else 0

    @property
    def n_tried(self) -> int:
        """Number of topics at the start of a search: more than asked for, if the data has more directions."""
        return n_candidates(self.n_topics, self.rank) if self.free else self.n_topics


class _AnchorChoice(NamedTuple):
    """The user's anchors, and candidates for the others.

    Attributes
    ----------
    given : list of Anchor
        Anchors of the user.
    candidates : ndarray of int
        Words that occur in enough documents to be anchors.
    codes : ndarray of int, shape (V,)
        Column of the embedding for every word.
    method : {"greedy", "lp"}
        Method for the other anchors.
    """

    given: list[Anchor]
    candidates: np.ndarray
    codes: np.ndarray
    method: str


def find_candidate_topics(blocks: Blocks, n_components: int, n_jobs: int | None) -> np.ndarray | None:
    """Recover topics from anchors of some documents, more than asked for if the data has them, shape (K', V).

    Returns None if the documents have no such anchors.
    """
    method = AnchorTopics(n_components, n_jobs=n_jobs)
    method._seed = 0
    with warnings.catch_warnings():  # The calling estimator has warned of these documents.
        warnings.simplefilter("ignore")
        try:
            folds = method._assign_folds(blocks)
            counted = method._moments(blocks, folds)
            counted = replace(counted, n_topics=counted.n_tried)
            return method._recover(counted, Subset(folds.all, folds, None), None).topics
        except LatentiaError:
            return None


def _find_more_topics(method: AnchorTopics, moments: _CorpusSketch, groups: tuple[int, ...]) -> np.ndarray | None:
    """Recover more topics than asked for, as the start of a search."""
    if moments.n_tried == method.n_components:
        return None
    try:
        part = Subset(groups, moments.sketches.folds, None)
        return method._recover(replace(moments, n_topics=moments.n_tried), part, None).topics
    except LatentiaError:
        return None


def _check_cooccurrence(Q: Any) -> np.ndarray:
    """Check a co-occurrence matrix; make it exactly symmetric, with sum one, shape (V, V)."""
    try:
        q = np.asarray(Q.toarray() if sparse.issparse(Q) else Q, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise LatentiaError(f"Expected a matrix of numbers as Q: {error}") from error
    if q.ndim != 2 or q.shape[0] != q.shape[1] or not q.size or not np.isfinite(q).all() or q.min() < 0:
        raise LatentiaError(f"Expected a square matrix of finite, nonnegative numbers as Q; it has shape {q.shape}.")
    if not q.any():
        raise LatentiaError("Q is zero: no two words ever occur together.")
    if not np.allclose(q, q.T, rtol=1e-6, atol=1e-12 * q.max()):
        raise LatentiaError("Q is not symmetric. Give (Q + Q.T) / 2 if it is an estimate.")
    return np.asarray((q + q.T) / (2 * q.sum()))


def _merge_anchors(anchors: list[Anchor], part: np.ndarray, vertex: np.ndarray) -> Anchor:
    """Merge the anchors of topics into one at ``vertex``; the anchor of a single topic stays as it is."""
    if len(part) == 1:
        return anchors[part[0]]
    merged = [anchors[k] for k in part]
    words, strengths = (tuple(x for anchor in merged for x in getattr(anchor, name)) for name in ("words", "strengths"))
    return Anchor(words, strengths, any(anchor.given for anchor in merged), vertex)


def _replace_anchors(anchors: list[Anchor], replace: Mapping[int, Any]) -> list[Any]:
    """Replace the anchors of some topics; None removes a topic."""
    if not isinstance(replace, Mapping):
        raise LatentiaError("reanchor: expected a dict from topic numbers to anchors as replace=.")
    unknown = [k for k in replace if k not in range(len(anchors))]
    if unknown:
        raise LatentiaError(f"reanchor: there is no topic {unknown[0]}; topics are 0 to {len(anchors) - 1}.")
    return [anchor for k, anchor_before in enumerate(anchors) if (anchor := replace.get(k, anchor_before)) is not None]


def _estimate_dirichlet(model: AnchorTopics, documents: sparse.csr_array) -> np.ndarray:
    """Estimate the Dirichlet parameters of the proportions, shape (K,), on some documents."""
    smooth = smooth_topics(model.components_, model.word_frequencies_, 1e-4)
    return dirichlet_by_likelihood(smooth, model.prevalence_, documents, model.n_jobs)
