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
    in_own_order,
    least_documents,
    merge_rare_words,
)
from ._dirichlet import dirichlet_by_likelihood, dirichlet_from_moment
from ._documents import Admixture
from ._embedding import Embedding, GroupSketches
from ._evidence import TRUSTED, Measured, anchor_checks, own_share, share_left_out
from ._kept import AddedDocuments, CorpusSums, KeptSketches
from ._prediction import OtherDocuments, other_documents, prediction_checks
from ._recover import inverse_topics, kl_topics, l2_topics
from ._refine import (
    RefinedTopics,
    Refiner,
    Starts,
    completion,
    content_folds,
    n_candidates,
    refinement_checks,
    smoothed,
    with_spread,
)
from ._repeated import repeated_in
from .prevalence import confusions_of

_GAP = Number(0, 1)
_PART_TOL = 1e-3  # duality gap for parts of the documents, whose noise is far larger
_KEPT_TOL = 1e-14  # of moments that are added: their order changes nothing else then


class AnchorTopics(Admixture, AddedDocuments):
    """Topic model by anchor words.

    Neither a seed nor the order of documents or words enters the answer, which comes with an expected error for every topic.
    Anchor words give a start that is good everywhere; the words of all documents then refine it, as Gibbs sampling would, but
    without chance.

    Choose it for a corpus of hundreds of documents or more, where topics should be the same on every run and carry a
    statement of how far they can be trusted. With ``refine=0`` it assumes nothing about the proportions of the topics. It
    needs, for each topic, some word that is rare in the others. With some hundreds of documents expect few reliable topics;
    the evidence says which.

    Parameters
    ----------
    n_components : int, "auto" or several, default=20
        Number of topics K.
        A range or list tries each value and keeps the one the evidence recommends; "auto" tries 2 to 100. See
        ``n_components_``, ``recommendation_`` and ``comparison_``. Each number costs a fit.
    embedding : {"subspace", "projection"}, default="subspace"
        Columns in which the rows of Q are compared: the leading eigenspace of D^-1/2 Q D^-1/2, with D = diag(Q 1), or
        the thesis's random projection.
    anchors : {"greedy", "lp"} or list, default="greedy"
        How anchors are found: farthest from the span of those found (Alg. 4.3), or by the linear programs of section
        3.5 (at most 2000 candidate words). Or the anchors themselves, one entry for each topic: a word, a list of words
        whose occurrences count together (a tandem anchor), or a dict from words to strengths, the share of a word's
        occurrences that belong to the topic. Words are column names or numbers. Entries without a usable word are
        skipped, and topics without an entry get greedy anchors.
    recover : {"l2", "kl", "inverse"}, default="l2"
        RecoverL2, RecoverKL (Alg. 4.2; one more pass) or Recover (Alg. 3.2 and 3.3; one more pass). The fit measures no
        errors for the latter two; ``evidence_.stability`` does.
    refine : int or "auto", default="auto"
        Sweeps over the documents that refine the recovered topics (difference 9). "auto" samples the topics of all words
        from the topics of the anchors, or from more of them where the data has more directions, whichever predicts other
        documents better: 20 to 100 sweeps until the likelihood rises no more, and 40 that are averaged. Where sampling
        predicts clearly worse than the recovered topics or than sweeps of collapsed variational Bayes, these stand. Counts
        that are not whole are swept, not sampled. There is no refinement in the
        papers' variants (``embedding="projection"``, ``recover`` other than "l2"). A number sets how many sweeps there are,
        from the topics of the anchors: half of them are averaged. 0 keeps to the theorems. See ``refinement_``, and in the
        evidence *refinement has converged* and *noise of the draws*.
    min_df : int, optional
        Number of documents that an anchor word must occur in; by default one in 200, but at least 3 and at most 50.
    runoff_df : int, default=2
        Words in fewer documents than this are merged into one runoff word (Lemma 3.16), and share its topics.
    dirichlet : {"likelihood", "moments"}, default="likelihood"
        Dirichlet parameters of the proportions: by likelihood, which is estimated along with the topics where these are
        refined, and by document completion from a grid of scales otherwise; or by Algorithm 3.4.
    n_splits : int, default=3
        Number of random splits into halves, at most 3, whose fits give the expected errors. They cost no pass over the
        documents; with ``refine`` a single split is used, whose halves are fitted as all documents are: about as much work
        again. With 0 no errors are measured.
    tol : float, default=1e-6
        Relative duality gap at which a word's weights are accepted; 1e-14 of kept moments.
    vocabulary : sequence of str or dict, optional
        Words of the columns, where the data has no column names; or a dict from words to columns, such as the
        ``vocabulary_`` of scikit-learn's vectorizers.
    vectorizer : vectorizer of scikit-learn, optional
        What counts the words, where ``fit`` is given texts; a copy of it is fitted. By default a
        `latentia.words.WordVectorizer`, for English texts.
    keep_moments : bool, default=False
        Whether sums over the documents are kept, of ``embedding="projection"``, so that other documents can be added or taken
        away: 16 kB for each word, whatever the number of documents. The answer is then that of these sums, not refined.
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
        Column of each topic's anchor word; of a tandem anchor its first word. Of a refined topic it is the most frequent of
        the words that are nearly as much its own as any is, unless you gave its anchor.
    anchor_words_ : list of list
        Every topic's anchor words, by name where the columns have names.
    prevalence_ : ndarray of shape (K,)
        Share of each topic in the corpus.
    topic_covariance_ : ndarray of shape (K, K)
        R = E[w w^T], positive semidefinite, sums to one.
    dirichlet_ : ndarray of shape (K,)
        Dirichlet parameters of the proportions.
    word_frequencies_ : ndarray of shape (V,)
        Frequencies of the words, documents weighing equally.
    vectorizer_ : vectorizer
        What counted the words, where the model was fitted on texts.
    evidence_ : Evidence
        Checks of the assumptions, and the expected l1 error of every topic (``component_errors``).
    refinement_ : ndarray of shape (n_steps,)
        Log-likelihood of the words at every sweep, each word predicted from all others, in nats.
    n_iter_ : int
        Number of steps of refinement.
    converged_ : bool
        Whether further steps would gain only a negligible amount; only ``refine="auto"`` looks at that.
    moments_ : Sums
        What is kept: ``moments_.n_bytes`` is its size, ``moments_.n_rows`` the number of documents.
    n_passes_ : int
        Number of passes over the documents, those for the expected errors not counted.

    Notes
    -----
    Differences from the thesis:

    1. Q uses all ordered pairs of different words of a document, not one random split into halves, and is never
       formed: products Q B stream the documents.
    2. The default embedding is an eigenspace after scaling, not a random projection; recovery, too, happens in it.
    3. Greedy anchors are not single words: each vertex is a mean over the words near the farthest one, so that no document
       decides alone, found twice over (both loops of Alg. 4.3). Rows are first drawn towards the mean by signal / (signal +
       noise), with the noise of each row measured over the documents; raw rows make rare words anchors. (Not with "projection"
       or `fit_moments`, where the noise is not known.)
    4. Such means lie inside of the simplex. They are moved outwards by means over ever fewer words, as far as the noise lets
       them; given anchors stay as they are.
    5. The simplex-constrained problems are solved by pairwise coordinate descent to a duality gap, not by
       exponentiated gradient.
    6. R is projected to the positive semidefinite matrices and scaled to sum one.
    7. The probability of the runoff word in a topic is divided among its words in proportion to their frequency, where
       the thesis gives these words probability zero; the error stays within the lemma's.
    8. Likelihoods use topics mixed with 5% of the word frequencies, so that no word is impossible.
    9. ``refine`` is not in the thesis: collapsed Gibbs sampling (Griffiths and Steyvers 2004), whose probabilities are
       averaged, with a Dirichlet parameter for each topic and one for each word, both estimated (Wallach et al. 2009). Draws
       are hashes of the content of the documents, so that no seed and no order enters. Of more than 30 million words a part of
       the documents is sampled, and all are drawn once with its topics. Expected errors are those of halves of the documents,
       and at least the spread of the posterior.

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
        "recover": Choice("l2", "kl", "inverse"),
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
        recover: Literal["l2", "kl", "inverse"] = "l2",
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
        self.recover = recover
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

    def _assign_folds(self, rows: Blocks) -> Folds:
        return assign_folds(rows, self._seed, 4 if self.embedding == "subspace" else 2 if self.n_splits else 1)

    def _moments(self, rows: Blocks, folds: Folds) -> _Counted:
        """Passes over the documents, in their own order: words; then the sketch of Q, and a sample of the documents."""
        order = in_own_order(rows)
        groups = order.folds(folds)
        q = Cooccurrence(order.blocks, folds=order.whole(groups), n_jobs=self.n_jobs, progress=self.verbose)
        documents = count_documents(q.sums, rows.n_rows)
        words = merge_rare_words(q, self.runoff_df).restored(order)
        check_n_topics(self.n_components, documents, q.size)
        choice = self._choice(documents, words)
        if self.embedding == "projection":
            sketches = _embedding.projection(q, self._seed, groups)
        else:
            sketches = _embedding.subspace(q, self.n_components, groups)
        free = self._steps == "auto" and not choice.given
        return self._with_refiner(_Counted(sketches, words, documents, choice, order, self.n_components, free))

    def _moments_from_sums(self, sums: CorpusSums) -> _Counted:
        """Of all words, without a sample of documents: rare words are not merged."""
        counted = sums.words
        documents = count_documents(counted, sums.n_rows)
        probabilities = sums.paired.sum(axis=0) / documents.used
        words = Words(np.arange(len(probabilities)), counted.document_frequency, probabilities)
        check_n_topics(self.n_components, documents, words.n_kept)
        sketches = KeptSketches(sums, Folds(self._groups))
        return _Counted(sketches, words, documents, self._choice(documents, words), None, self.n_components, False)

    def _recover(self, moments: _Counted, subset: Subset, full_fit: Any) -> _Recovered:
        """Algorithms 4.3 and 4.2: anchors, and topics from them."""
        embedding, choice = moments.of(subset.groups), moments.choice
        tol = self.tol if subset.is_whole else max(self.tol, _PART_TOL)
        if isinstance(moments.sketches, KeptSketches):
            tol = min(self.tol, _KEPT_TOL)
        anchors = choose_anchors(embedding, moments.n_topics, *choice)
        topics = _from_anchors(self, anchors, embedding, choice.codes, moments.sketches.q, tol)
        return _Recovered(anchors, moments.words.spread(topics))

    def _refine(self, recovered: _Recovered, moments: _Counted, subset: Subset, full_fit: Any) -> Refined:
        """Sample the topics of all words; one half of the documents tells from which start."""
        refined = RefinedTopics.none(recovered.topics)
        if moments.refiner is not None:
            refined = moments.refiner.refined(subset.groups, self._starts(recovered, moments, subset.groups))
        return Refined(refined, refined.refinement)

    def _checks(self, fitted: Fitted) -> tuple[list[Check], PartErrors]:
        """Errors of parts, widened by what all parts share; anchors, other documents, and sweeps."""
        learned: RefinedTopics = fitted.model.parameters
        unmeasured = f"Not measured for recover={self.recover!r}: call evidence_.stability(X)."
        parts = fitted.errors(self._splits(learned)) if self.recover == "l2" else PartErrors.missing(unmeasured)
        bias = Misfit(share=share_left_out(self._embedding) / 2).bias(nearest_others(learned.topics))
        others = [] if parts.errors is None or fitted.rows is None else self._of_other_documents(fitted)
        parts = with_spread(parts, learned, fitted.recovered.topics, others).widen(bias, self._max_distance)
        return [*self._of_anchors(parts), *others, *refinement_checks(learned)], parts

    def _set_fitted_attributes(self, fitted: Fitted) -> None:
        moments: _Counted = fitted.moments
        learned: RefinedTopics = fitted.model.parameters
        self._set_refinement_attributes(learned.refinement)
        n_passes = moments.sketches.n_passes + len(self.refinement_)
        own = exclusive_words(learned.topics, moments.words) if learned.is_swept else None
        found = moments.repeated, fitted.recovered.anchors, learned.topics, moments.words, moments.documents
        self._read_off(*found, n_passes, own)
        if learned.dirichlet is not None and self.dirichlet == "likelihood":
            self.dirichlet_ = learned.dirichlet
        elif moments.sketches.documents is None or self.dirichlet == "moments":
            self.dirichlet_ = dirichlet_from_moment(self.topic_covariance_)
        else:
            self.dirichlet_ = _proportions(self, moments.order.restored_table(moments.sketches.documents))
        self._confusions = confusions_of(fitted, self._splits(learned), learned)
        if fitted.rows is not None:
            self._order_words(fitted, moments.documents.length)

    def _distance(self, first: Refined, second: Refined, moments: Any) -> np.ndarray:
        return nearest_distances(first.parameters.topics, second.parameters.topics)

    def _cost(self) -> Literal["algebra"]:
        """Of refined parts too, of which `_splits` has fewer."""
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
            Without documents there are no expected errors, and ``refine`` is not used.
        """
        tol = self.tol if tol is None else tol
        check_parameter("tol", tol, _GAP)
        q = _checked_moments(Q)
        if self.n_components > len(q):
            raise LatentiaError(
                f"Q of {len(q)} words supports at most {len(q)} topics.",
                at_most=len(q),
                parameter="n_components",
                value=self.n_components,
            )
        self.n_features_in_, self._column_names = len(q), None
        check_vocabulary(self)
        documents, words = Documents(), Words(np.arange(len(q)), np.full(len(q), np.inf), q.sum(axis=1))
        embedding = _embedding.exact(q, self.n_components, self.embedding, self._seed)
        anchors = choose_anchors(embedding, self.n_components, *self._choice(documents, words))
        topics = _from_anchors(self, anchors, embedding, words.codes, q, tol)
        self._read_off(embedding, anchors, topics, words, documents)
        self.dirichlet_ = dirichlet_from_moment(self.topic_covariance_)
        return self._without_parts("There are no documents to split.")

    @fitted
    def reanchor(self, anchors: Any = None, *, replace: Mapping[int, Any] | None = None) -> AnchorTopics:
        """Return a copy of the fitted model with other anchors, without touching the data again.

        Parameters
        ----------
        anchors : list, optional
            Anchors of all topics, as in the constructor. If there are fewer than K, greedy anchors are added. More than K
            cannot be told apart in what the fit has kept, and are an error.
        replace : dict from topic number to anchor, optional
            Anchors of some topics to change, keeping the others; None as an anchor removes the topic.

        Returns
        -------
        AnchorTopics
            A new model; this one is unchanged. Its expected errors need the data (``evidence_.stability(X)``), and its
            topics are recovered by "l2" and not refined, since the rest needs the documents.
        """
        if (anchors is None) == (replace is None):
            raise LatentiaError("reanchor: give either anchors= for all topics or replace= for some.")
        if isinstance(anchors, str):
            raise LatentiaError(f"reanchor: anchors={anchors!r}; give a list of words, or of lists of words.")
        model = copy.deepcopy(self)
        if hasattr(model, "n_components_"):  # the number that was chosen
            model.n_components = model.n_components_
        if replace is not None:
            anchors = _replaced(model._anchors, replace)
            model.n_components = len(anchors)
        model.anchors, model.refine, model.recover = anchors, 0, "l2"
        check_parameters(model)
        model._check_parameters()
        check_vocabulary(model)
        embedding, words = model._embedding, model._words
        choice = model._choice(model._documents, words)
        n_given, n_kept = len(choice.given), embedding.sketch.shape[1]
        if n_given > n_kept:
            raise LatentiaError(
                f"reanchor: {n_given} anchors, and the fit kept {n_kept} dimensions. Fit again with these anchors and as many "
                "topics."
            )
        model.anchors = [dict(zip(anchor.words, anchor.strengths, strict=True)) for anchor in choice.given]
        model.n_components = max(model.n_components, n_given)
        chosen = choose_anchors(embedding, model.n_components, *choice)
        topics = words.spread(_from_anchors(model, chosen, embedding, words.codes, None, model.tol))
        model._read_off(embedding, chosen, topics, words, model._documents)
        model.dirichlet_ = self.dirichlet_.sum() * model.prevalence_
        return model._without_parts("The anchors were edited: call evidence_.stability(X).")

    def _merge_parts(self, weights: np.ndarray, joined: np.ndarray) -> None:
        parts = [np.flatnonzero(row) for row in joined]
        largest = [part[self.prevalence_[part].argmax()] for part in parts]
        vertices = weights @ vertex_rows(self._embedding, self._anchors, self._words.codes)
        self._anchors = [_merged_anchor(self._anchors, *one) for one in zip(parts, vertices, strict=True)]
        self.anchors_ = self.anchors_[largest]
        self.anchor_words_ = [[word for k in part for word in self.anchor_words_[k]] for part in parts]
        self.topic_covariance_ = joined @ self.topic_covariance_ @ joined.T
        super()._merge_parts(weights, joined)

    @property
    def _steps(self) -> Refine:
        """Sweeps; "auto" makes none of the variants of the papers."""
        of_papers = self.embedding == "projection" or self.recover != "l2"
        return 0 if self.refine == "auto" and of_papers else self.refine

    # --- within the stages --------------------------------------------------------------------------------------

    def _choice(self, documents: Documents, words: Words) -> _Choice:
        """The anchors that are given, and the words that the others may be."""
        none_given = isinstance(self.anchors, str)
        given = [] if none_given else parse_anchors(self.anchors, column_names(self), words.own_columns)
        least = least_documents(documents.used) if self.min_df is None else self.min_df
        frequent = np.flatnonzero(words.document_frequency >= max(least, self.runoff_df))
        frequent = frequent[np.argsort(words.codes[frequent], kind="stable")]
        return _Choice(given, frequent, words.codes, self.anchors if none_given else "greedy")

    def _starts(self, found: _Recovered, moments: _Counted, groups: tuple[int, ...]) -> Starts:
        """Return the topics of the anchors, and more of them where the data has more directions."""
        topics_of: dict[str, Any] = {"anchors": lambda: found.topics}
        if moments.n_tried > self.n_components:
            topics_of["search"] = lambda: _more_topics(self, moments, groups)
        return Starts(found.topics, None, topics_of)

    def _with_refiner(self, moments: _Counted) -> _Counted:
        """Return the moments with what refines topics, where they are refined."""
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

    def _splits(self, learned: RefinedTopics) -> int:
        """How many pairs of halves are fitted: one where that takes sweeps, none where the recovery takes a pass."""
        if self.recover != "l2":
            return 0
        return min(self.n_splits, 1) if learned.is_swept else self.n_splits

    def _of_other_documents(self, fitted: Fitted) -> list[Check]:
        """How topics of some documents predict the words of others."""
        moments: _Counted = fitted.moments
        frequencies = moments.words.probabilities

        def predicted(others: OtherDocuments) -> np.ndarray:
            part: RefinedTopics = fitted.model_of(others.learned).parameters
            dirichlet = part.dirichlet
            if dirichlet is None:
                moment = moments.of(others.learned).topic_moment(moments.words.merge(part.topics))
                dirichlet = self.dirichlet_.sum() * np.maximum(moment.sum(axis=1), 1e-6)
            return completion(part.topics, dirichlet, frequencies, others.counts)

        others = other_documents(fitted.rows, fitted.folds, fitted.model.parameters.is_swept)
        return prediction_checks(predicted, frequencies, others, fitted.rows, fitted.folds)

    def _read_off(
        self,
        embedding: Embedding,
        anchors: list[Anchor],
        topics: np.ndarray,
        words: Words,
        documents: Documents,
        n_passes: int = 0,
        own: np.ndarray | None = None,
    ) -> None:
        """Set what follows from the topics over all words and their own words, all but the Dirichlet parameters."""
        self._embedding, self._anchors = embedding, anchors
        self._words, self._documents = words, documents
        names = column_names(self)
        self.components_, self.word_frequencies_ = topics, words.probabilities
        shown = [anchor.words for anchor in anchors]
        if own is not None:
            shown = [a.words if a.given else (int(w),) for a, w in zip(anchors, own, strict=True)]
        self.anchors_ = np.array([first for first, *_ in shown])
        self.anchor_words_ = [[str(names[w]) if names is not None else w for w in some] for some in shown]
        self.topic_covariance_ = embedding.topic_moment(words.merge(topics))
        self.prevalence_ = self.topic_covariance_.sum(axis=1)
        self.n_passes_, self._n_features_out = n_passes, len(topics)
        self._confusions = np.empty((0, len(topics), len(topics)))
        self.__dict__.pop("_word_order", None)  # of documents

    def _of_anchors(self, parts: PartErrors) -> list[Check]:
        """The expected errors, and what the theorems assume of the anchors and topics that have been read off."""
        embedding, words = self._embedding, self._words
        vertices = vertex_rows(embedding, self._anchors, words.codes)
        anchor_words = [list(anchor.words) for anchor in self._anchors]
        measured = Measured(
            embedding=embedding,
            vertices=vertices,
            weights=simplex_least_squares(embedding.rows, vertices, tol=1e-2, n_jobs=self.n_jobs),
            moment=self.topic_covariance_,
            prevalence=self.prevalence_,
            anchor_documents=np.array([words.document_frequency[own].max() for own in anchor_words]),
            anchor_probability=np.array([self.components_[k, own].sum() for k, own in enumerate(anchor_words)]),
            own_share=own_share(self.components_, self.prevalence_),
            documents=self._documents,
            words=words,
            dirichlet_total=float(self.dirichlet_.sum()),
        )
        return anchor_checks(measured, parts, separation_limit(self.components_, "cityblock", TRUSTED))

    def _without_parts(self, reason: str) -> AnchorTopics:
        """Set the evidence of a model that has no documents; return the model."""
        self.evidence_ = Evidence(self._of_anchors(PartErrors.missing(reason)), None).bind(self)
        return self

    def _check_parameters(self) -> None:
        if isinstance(self.anchors, str):
            check_parameter("anchors", self.anchors, Choice("greedy", "lp"))
        elif not isinstance(self.anchors, Sequence):
            raise LatentiaError("use 'greedy', 'lp' or a list of words.", parameter="anchors", value=self.anchors)

    def _check_fitted(self) -> None:
        super()._check_fitted()
        anchors = self._anchors
        if len(anchors) != len(self.components_) or len(self.anchor_words_) != len(anchors):
            raise LatentiaError("_anchors are not words of every topic")
        if any(len(one.words) != len(one.strengths) or not one.words for one in anchors):
            raise LatentiaError("_anchors have no strength for every word")
        if (np.bincount(self._words.codes, minlength=len(self._embedding.sketch)) == 0).any():
            raise LatentiaError("_words.codes leave out columns of the embedding")


# --- records ------------------------------------------------------------------------------------------------------


class _Recovered(NamedTuple):
    """Anchors, and topics (K, V) over all words. The embedding that they were found in is too large to keep of a part."""

    anchors: list[Anchor]
    topics: np.ndarray


@dataclass(frozen=True)
class _Counted:
    """Words, the sketch of Q, and the choices that they leave.

    Attributes
    ----------
    sketches : GroupSketches
    words : Words
    documents : Documents
    choice : _Choice
    order : OwnOrder or None
        Documents that are refined on; None of moments alone.
    n_topics : int
        How many are recovered.
    free : bool
        Whether refinement may start elsewhere than at the topics of the anchors.
    refiner : Refiner or None
    """

    sketches: GroupSketches | KeptSketches
    words: Words
    documents: Documents
    choice: _Choice
    order: Any
    n_topics: int
    free: bool
    refiner: Refiner | None = None

    def of(self, groups: tuple[int, ...]) -> Embedding:
        """The sketch of some groups."""
        if groups == self.sketches.folds.all:
            return self.embedding
        return self.sketches.embedding(groups, self.n_topics)

    @cached_property
    def embedding(self) -> Embedding:
        """The sketch of all documents."""
        return self.sketches.embedding(self.sketches.folds.all, self.n_topics)

    @cached_property
    def repeated(self) -> Embedding:
        """The same, with eigenvalues beyond the topics as large as other documents have them."""
        folds = self.sketches.folds
        if self.rank <= self.n_topics or not folds.splits:
            return self.embedding
        frequent = np.isin(self.order.columns, self.choice.candidates)
        spectrum, k = self.embedding.spectrum, self.n_topics
        others = repeated_in(self.order.blocks, folds, frequent, self.documents.length, len(spectrum))
        return replace(self.embedding, spectrum=np.append(spectrum[:k], np.minimum(spectrum[k:], others[k:])))

    @property
    def n_entries(self) -> float:
        return float(self.words.document_frequency.sum())

    @property
    def rank(self) -> int:
        """Directions above the noise; none where it is not known."""
        embedding = self.embedding
        return int((embedding.spectrum > embedding.noise_edge()).sum()) if embedding.noise > 0 else 0

    @property
    def n_tried(self) -> int:
        """Topics to start a search with: more than asked for, where the data has them."""
        return n_candidates(self.n_topics, self.rank) if self.free else self.n_topics


class _Choice(NamedTuple):
    """What anchors there may be.

    Attributes
    ----------
    given : list of Anchor
        Those of the user.
    candidates : ndarray of int
        Words that occur in enough documents to be one.
    codes : ndarray of int, shape (V,)
        Column of the embedding for every word.
    method : {"greedy", "lp"}
        How the others are found.
    """

    given: list[Anchor]
    candidates: np.ndarray
    codes: np.ndarray
    method: str


def start_of_search(blocks: Blocks, n_components: int, n_jobs: int | None) -> np.ndarray | None:
    """Return topics of anchors of some documents, more than asked for where the data has them, shape (K', V).

    None where the documents have no such anchors.
    """
    method = AnchorTopics(n_components, n_jobs=n_jobs)
    method._seed = 0
    with warnings.catch_warnings():  # Another estimator has said what there is to say of these documents.
        warnings.simplefilter("ignore")
        try:
            folds = method._assign_folds(blocks)
            counted = method._moments(blocks, folds)
            counted = replace(counted, n_topics=counted.n_tried)
            return method._recover(counted, Subset(folds.all, folds, None), None).topics
        except LatentiaError:
            return None


def _more_topics(method: AnchorTopics, moments: _Counted, groups: tuple[int, ...]) -> np.ndarray | None:
    """More topics than asked for, to start a search from."""
    if moments.n_tried == method.n_components:
        return None
    try:
        part = Subset(groups, moments.sketches.folds, None)
        return method._recover(replace(moments, n_topics=moments.n_tried), part, None).topics
    except LatentiaError:
        return None


def _checked_moments(Q: Any) -> np.ndarray:
    """A co-occurrence matrix, exactly symmetric and of sum one, shape (V, V)."""
    try:
        q = np.asarray(Q.toarray() if sparse.issparse(Q) else Q, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise LatentiaError(f"Q is no matrix of numbers: {error}") from error
    if q.ndim != 2 or q.shape[0] != q.shape[1] or not q.size or not np.isfinite(q).all() or q.min() < 0:
        raise LatentiaError(f"Q has shape {q.shape}: a square matrix of finite, nonnegative numbers is needed.")
    if not q.any():
        raise LatentiaError("Q is zero: no two words ever occur together.")
    if not np.allclose(q, q.T, rtol=1e-6, atol=1e-12 * q.max()):
        raise LatentiaError("Q is not symmetric. Give (Q + Q.T) / 2 if it is an estimate.")
    return np.asarray((q + q.T) / (2 * q.sum()))


def _merged_anchor(anchors: list[Anchor], part: np.ndarray, vertex: np.ndarray) -> Anchor:
    """The anchor of topics that become one, whose row is at the vertex; that of a single topic as it is."""
    if len(part) == 1:
        return anchors[part[0]]
    own = [anchors[k] for k in part]
    words, strengths = (tuple(x for one in own for x in getattr(one, name)) for name in ("words", "strengths"))
    return Anchor(words, strengths, any(one.given for one in own), vertex)


def _replaced(anchors: list[Anchor], replace: Mapping[int, Any]) -> list[Any]:
    """Anchors of all topics with some replaced, and without those replaced by None."""
    if not isinstance(replace, Mapping):
        raise LatentiaError("reanchor: replace= takes a dict from topic numbers to anchors.")
    unknown = [k for k in replace if k not in range(len(anchors))]
    if unknown:
        raise LatentiaError(f"reanchor: there is no topic {unknown[0]}; topics are 0 to {len(anchors) - 1}.")
    return [anchor for k, own in enumerate(anchors) if (anchor := replace.get(k, own)) is not None]


def _from_anchors(
    method: AnchorTopics, anchors: list[Anchor], embedding: Embedding, codes: np.ndarray, q: Any, tol: float
) -> np.ndarray:
    """Topics over the columns of the embedding, (K, V')."""
    if method.recover == "inverse":
        return inverse_topics(embedding, anchors, codes, q)
    if method.recover == "kl":
        return kl_topics(embedding, anchors, codes, q, tol=tol, random_state=method._seed)
    return l2_topics(embedding, anchors, codes, tol=tol, n_jobs=method.n_jobs)


def _proportions(model: AnchorTopics, documents: sparse.csr_array) -> np.ndarray:
    """Dirichlet parameters of the proportions, shape (K,), by some documents."""
    smooth = smoothed(model.components_, model.word_frequencies_, 1e-4)
    return dirichlet_by_likelihood(smooth, model.prevalence_, documents, model.n_jobs)
