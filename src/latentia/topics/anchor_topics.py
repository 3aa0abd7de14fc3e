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
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._validation import check_choices, check_splits, check_vocabulary, check_whole, seed_of
from ..evidence import Evidence
from ..exceptions import DroppedDataWarning, LatentiaError, NonIntegerCountWarning
from ..metrics import nearest_distances
from ..moments import Cooccurrence
from ..passes import Blocks
from ..simplex import simplex_least_squares
from . import _embedding
from ._anchors import Anchor, choose_anchors, parse_anchors, vertex_rows
from ._dirichlet import dirichlet_by_likelihood, dirichlet_from_moment, sample_rows
from ._documents import Admixture
from ._embedding import Embedding, GroupSketches
from ._evidence import Measured, topic_checks
from ._recover import inverse_topics, kl_topics, l2_topics
from ._refine import refine_topics, smoothed

__all__ = ["AnchorTopics"]


class AnchorTopics(Admixture):
    """Topic model by anchor words: deterministic, four passes over the documents, error bars for every topic.

    When to choose it: a corpus of hundreds of documents or more, where topics should be the same on every run and
    carry a statement of how far they can be trusted. It needs, for each topic, some word that is rare in the others.
    With some hundreds of documents expect few reliable topics; the evidence says which.

    Parameters
    ----------
    n_components : int, default=20
        Number of topics K.
    embedding : {"subspace", "projection"}, default="subspace"
        Columns in which the rows of Q are compared: the leading eigenspace of D^-1/2 Q D^-1/2, with D = diag(Q 1), or
        the thesis's random projection.
    anchors : {"greedy", "lp"} or list, default="greedy"
        How anchors are found: farthest from the span of those found (Alg. 4.3), or by the linear programs of section
        3.5 (at most 400 candidate words). Or the anchors themselves, one entry a topic: a word, a list of words whose
        occurrences count together (a tandem anchor), or a dict from words to strengths, the share of a word's
        occurrences that belong to the topic. Words are column names or numbers. Entries without a usable word are
        skipped, and topics without an entry get greedy anchors.
    recover : {"l2", "kl", "inverse"}, default="l2"
        RecoverL2, RecoverKL (Alg. 4.2; one more pass) or Recover (Alg. 3.2 and 3.3; one more pass). The latter two come
        without error bars, which `evidence_.stability` makes.
    refine : int, default=0
        EM passes over the documents, started from the recovered topics. The largest gain in accuracy that the data
        still holds, and outside the theorems. 3 are enough where the model is true, 10 to 15 on real text.
    min_df : int, optional
        Documents that an anchor word must occur in; by default one in 200, but at least 3 and at most 50.
    runoff_df : int, default=2
        Words in fewer documents than this are merged into one runoff word (Lemma 3.16), and share its topics.
    dirichlet : {"likelihood", "moments"}, default="likelihood"
        Scale of the Dirichlet parameters: from a grid, by the likelihood of document completion, or by Algorithm 3.4.
    n_splits : int, default=3
        Random splits into halves, at most 3, whose fits give the error bars. They cost no pass over the documents, but
        with ``refine`` each costs as much as refining itself, and one is made then. 0 gives up the error bars.
    tol : float, default=1e-4
        Relative duality gap at which a word's weights are accepted.
    vocabulary : sequence of str, optional
        Words of the columns, where the data has no column names.
    random_state : int, default=0
        Seed of the first block of columns and of the splits; None or a RandomState draws one.
    n_jobs : int, optional
        Threads; the result has the same bits for any number.
    verbose : bool, default=False
        Show progress and the time that remains.

    Attributes
    ----------
    components_ : ndarray of shape (K, V)
        Word probabilities of the topics; rows sum to one.
    anchors_ : ndarray of int, shape (K,)
        Column of each topic's anchor word; of a tandem anchor its first word.
    anchor_words_ : list of list
        Every topic's anchor words, by name where the columns have names.
    prevalence_ : ndarray of shape (K,)
        Share of each topic in the corpus.
    topic_covariance_ : ndarray of shape (K, K)
        R = E[w w^T], positive semidefinite, sums to one.
    dirichlet_ : ndarray of shape (K,)
        Dirichlet parameters of the proportions.
    word_probabilities_ : ndarray of shape (V,)
        Frequencies of the words, documents weighing equally.
    evidence_ : Evidence
        Checks of the assumptions, and expected l1 errors of the topics (``component_errors``).
    n_passes_ : int
        Passes over the documents.

    Notes
    -----
    Differences from the thesis:

    1. Q uses all ordered pairs of different words of a document, not one random split into halves, and is never
       formed: products Q B stream the documents.
    2. The default embedding is an eigenspace after scaling, not a random projection; recovery, too, happens in it.
    3. Of Algorithm 4.3 the first loop is run; `latentia.simplex.clean_up_vertices` is its second. Greedy anchors are
       chosen among rows that are drawn towards the mean by signal / (signal + noise), with the
       noise measured between halves of the data; raw rows make rare words anchors. (Not with "projection" or
       `fit_moments`, where the noise is not known.)
    4. After a first recovery each vertex becomes the mean row of the words that lie near it, as far as the measured
       noise says that this lowers its error; given anchors stay as they are.
    5. The simplex-constrained problems are solved by pairwise coordinate descent to a duality gap, not by
       exponentiated gradient.
    6. R is projected to the positive semidefinite matrices and scaled to sum one.
    7. The runoff word's topics are shared out over its words in proportion to their frequency, where the thesis gives
       these words probability zero; the error stays within the lemma's.
    8. Likelihoods use topics mixed with 5% of the word frequencies, so that no word is impossible.
    9. ``refine`` is not in the thesis: EM with pseudo-counts of .05 for a topic in a document and .01, on average,
       for a word in a topic. Proportions are point estimates, which leaves a bias of some hundredths of l1 that halves of
       the data share: on corpora so large that the expected error is below .1, do without.

    References
    ----------
    R. Ge, thesis, Princeton 2013, chapters 3 and 4. S. Arora, R. Ge, Y. Halpern, D. Mimno, A. Moitra, D. Sontag,
    Y. Wu, M. Zhu, A practical algorithm for topic modeling with provable guarantees, ICML 2013.

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

    def __init__(
        self,
        n_components: int = 20,
        *,
        embedding: Literal["subspace", "projection"] = "subspace",
        anchors: Any = "greedy",
        recover: Literal["l2", "kl", "inverse"] = "l2",
        refine: int = 0,
        min_df: int | None = None,
        runoff_df: int = 2,
        dirichlet: Literal["likelihood", "moments"] = "likelihood",
        n_splits: int = 3,
        tol: float = 1e-4,
        vocabulary: Any = None,
        random_state: int = 0,
        n_jobs: int | None = None,
        verbose: bool = False,
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
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # --- fitting ------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> AnchorTopics:
        """Learn topics from counts.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or Blocks of shape (n_documents, V)
            Nonnegative counts of words in documents.
        y : ignored

        Returns
        -------
        self
        """
        self._check_parameters()
        blocks = self._blocks(X, reset=True)
        q = self._count_words(blocks)  # pass 1: frequencies; documents are dealt into groups
        self._merge_rare_words(q)
        self._embedding, sketches = self._embed(q)  # passes 2 to 4: the sketch of Q
        anchors = self._choose_anchors(self._embedding)
        topics = self._recover_topics(self._embedding, anchors, q)
        topics = self._refine(topics, blocks)
        errors = self._half_errors(topics, sketches, blocks)
        self._finish(topics, anchors, q.n_passes + self.refine)
        self._estimate_dirichlet(blocks)
        return self._weigh_evidence(*errors)

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
            Without documents there are no error bars, and `refine` is not used.
        """
        self._check_parameters()
        q = np.asarray(Q, dtype=np.float64)
        if q.ndim != 2 or q.shape[0] != q.shape[1] or not q.size or not np.isfinite(q).all() or q.min() < 0:
            raise LatentiaError(f"Q has shape {q.shape}: a square matrix of finite, nonnegative numbers is needed.")
        if not q.any():
            raise LatentiaError("Q is zero: no two words ever occur together.")
        if not np.allclose(q, q.T, rtol=1e-6, atol=1e-12 * q.max()):
            raise LatentiaError("Q is not symmetric. Give (Q + Q.T) / 2 if it is an estimate.")
        q = (q + q.T) / (2 * q.sum())
        if self.n_components > len(q):
            raise LatentiaError(f"n_components={self.n_components} and Q has {len(q)} words: lower n_components.")
        self._remember_columns(len(q))
        self._codes = np.arange(len(q))
        self._document_frequency = np.full(len(q), np.inf)
        self._documents, self._words, self._length = _no_documents(len(q))
        self.word_probabilities_ = q.sum(axis=1)
        self._embedding = _embedding.exact(q, self.n_components, self.embedding, self._seed)
        anchors = self._choose_anchors(self._embedding)
        topics = self._recover_topics(self._embedding, anchors, q, tol)
        self._finish(topics, anchors, 0)
        self.dirichlet_ = dirichlet_from_moment(self.topic_covariance_)
        return self._weigh_evidence(None, "There are no documents to split.")

    def reanchor(self, anchors: Any = None, *, replace: dict[int, Any] | None = None) -> AnchorTopics:
        """A copy of the fitted model with other anchors, without touching the data again.

        Parameters
        ----------
        anchors : list, optional
            Anchors of all topics, as in the constructor; fewer than K are filled up greedily. More than K cannot be told
            apart in what the fit has kept, and are an error.
        replace : dict from topic number to anchor, optional
            Anchors of some topics to change, keeping the others; None as an anchor removes the topic.

        Returns
        -------
        AnchorTopics
            A new model; this one is unchanged. Its error bars need the data (``evidence_.stability(X)``), and its
            topics are recovered by "l2" and not refined, since the rest needs the documents.
        """
        check_is_fitted(self)
        if (anchors is None) == (replace is None):
            raise LatentiaError("reanchor: give either anchors= for all topics or replace= for some.")
        model = copy.copy(self)
        if replace is not None:
            unknown = [k for k in replace if not 0 <= k < len(self._anchors)]
            if unknown:
                raise LatentiaError(
                    f"reanchor: there is no topic {unknown[0]}; topics are 0 to {len(self._anchors) - 1}."
                )
            anchors = [replace.get(k, anchor) for k, anchor in enumerate(self._anchors)]
            anchors = [anchor for anchor in anchors if anchor is not None]
            model.n_components = len(anchors)
        if isinstance(anchors, str):
            raise LatentiaError(f"reanchor: anchors={anchors!r}; give a list of words, or of lists of words.")
        given = parse_anchors(anchors, self._names(), self._own_columns())
        if len(given) > self._embedding.sketch.shape[1]:
            raise LatentiaError(
                f"reanchor: {len(given)} anchors, and the fit kept {self._embedding.sketch.shape[1]} dimensions. Fit again "
                f"with n_components={len(given)} and these anchors."
            )
        model.anchors = [dict(zip(anchor.words, anchor.strengths, strict=True)) for anchor in given]
        model.n_components, model.refine, model.recover = max(model.n_components, len(given)), 0, "l2"
        model._check_parameters()
        chosen = model._choose_anchors(self._embedding, given)
        topics = model._recover_topics(self._embedding, chosen, None)
        model._finish(topics, chosen, 0)
        model.dirichlet_ = self.dirichlet_.sum() * model.prevalence_
        return model._weigh_evidence(None, "The anchors were edited: call evidence_.stability(X).")

    # --- stages of fit ------------------------------------------------------------------------------------------

    def _count_words(self, blocks: Blocks) -> Cooccurrence:
        groups = 4 if self.embedding == "subspace" else 2 if self.n_splits else 1
        options: dict[str, Any] = {"n_jobs": self.n_jobs, "progress": self.verbose}
        q = Cooccurrence(blocks, n_groups=groups, random_state=self._seed, **options)
        sums = q.sums
        used, empty, short = int(sums.used.sum()), int(sums.empty.sum()), int(sums.short.sum())
        if used == 0:
            raise LatentiaError(
                f"None of the {blocks.n_rows} documents has two words or more ({empty} are empty): there is nothing to learn "
                "from. If they are texts, check the stop words and the vocabulary."
            )
        if sums.fractional:
            warnings.warn(
                "The counts are not whole numbers. They are used as they are; tf-idf weights do not follow the model.",
                NonIntegerCountWarning,
                stacklevel=3,
            )
        if short:
            warnings.warn(
                f"{short} of {blocks.n_rows} documents have fewer than two words ({empty} have none) and were left out.",
                DroppedDataWarning,
                stacklevel=3,
            )
        self._document_frequency = sums.document_frequency
        self._documents = {"used": used, "empty": empty, "short": short - empty}
        self._length = float(sums.occurrences.sum() / max(used, 1))
        self.word_probabilities_ = q.marginal()
        return q

    def _merge_rare_words(self, q: Cooccurrence) -> None:
        """Give words in fewer than ``runoff_df`` documents one common column, the last (Lemma 3.16)."""
        frequency = self._document_frequency
        rare = frequency < self.runoff_df
        self._codes = np.arange(len(frequency))
        merging = rare.sum() > 1 and not rare.all()
        if merging:
            self._codes = np.where(rare, np.count_nonzero(~rare), np.cumsum(~rare) - 1)
            q.merge_words(self._codes)
        unseen = int((frequency == 0).sum())
        merged = int(rare.sum()) - unseen if merging else 0
        self._words = {"unseen": unseen, "merged": merged, "kept": len(frequency) - unseen - merged}
        if self.n_components > min(q.size, self._documents["used"]):
            raise LatentiaError(
                f"n_components={self.n_components} topics cannot be told apart in {self._documents['used']} documents with "
                f"{q.size} words: lower n_components."
            )

    def _embed(self, q: Cooccurrence) -> tuple[Embedding, GroupSketches]:
        if self.embedding == "projection":
            return _embedding.projection(q, self._seed)
        return _embedding.subspace(q, self.n_components, self._seed)

    def _choose_anchors(self, embedding: Embedding, given: list[Anchor] | None = None) -> list[Anchor]:
        least = np.clip(self._documents["used"] // 200, 3, 50) if self.min_df is None else self.min_df
        frequent = self._document_frequency >= max(least, self.runoff_df)
        by_name = isinstance(self.anchors, str)
        if given is None:
            given = [] if by_name else parse_anchors(self.anchors, self._names(), self._own_columns())
        method = self.anchors if by_name else "greedy"
        return choose_anchors(embedding, self.n_components, given, np.flatnonzero(frequent), self._codes, method)

    def _own_columns(self) -> np.ndarray:
        """Column of the embedding for every word, -1 for one that shares the runoff column or never occurs, shape (V,)."""
        alone = (np.bincount(self._codes)[self._codes] == 1) & (self.word_probabilities_ > 0)
        return np.where(alone, self._codes, -1)

    def _recover_topics(
        self, embedding: Embedding, anchors: list[Anchor], q: Any, tol: float | None = None
    ) -> np.ndarray:
        """Topics (K, V') over the columns of the embedding."""
        tol = self.tol if tol is None else tol
        if self.recover == "inverse":
            return inverse_topics(embedding, anchors, self._codes, q)
        if self.recover == "kl":
            return kl_topics(embedding, anchors, self._codes, q, tol=tol, random_state=self._seed)
        return l2_topics(embedding, anchors, self._codes, tol=tol, n_jobs=self.n_jobs)

    def _refine(self, topics: np.ndarray, blocks: Blocks) -> np.ndarray:
        """Topics over all words, after the EM passes."""
        topics = self._all_words(topics)
        options: dict[str, Any] = {"n_jobs": self.n_jobs, "progress": self.verbose}
        return refine_topics(topics, blocks, self.word_probabilities_, self.refine, **options)[0]

    def _half_errors(
        self, topics: np.ndarray, sketches: GroupSketches, blocks: Blocks
    ) -> tuple[np.ndarray | None, str]:
        """Mean distance of each topic to the nearest one of fits on halves, shape (K,); or None, and why."""
        if self.recover != "l2":
            return None, f"Not made for recover={self.recover!r}: call evidence_.stability(X)."
        q, distances = sketches.q, []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for groups in sketches.halves(min(self.n_splits, 1) if self.refine else self.n_splits):
                try:
                    embedding = sketches.embedding(groups)
                    half = self._recover_topics(embedding, self._choose_anchors(embedding), q)
                except LatentiaError as error:
                    return None, f"Half of the documents cannot carry the topics. {error}"
                documents = blocks.group(frozenset(groups), q.n_groups, self._seed) if self.refine else blocks
                distances.append(nearest_distances(topics, self._refine(half, documents)))
        errors = np.mean(distances, axis=0) if distances else None
        return errors, "Needs halves of the data: call evidence_.stability(X)."

    def _finish(self, topics: np.ndarray, anchors: list[Anchor], n_passes: int) -> None:
        """Read the other parameters off the topics, all but the Dirichlet's."""
        self._anchors, self.n_passes_ = anchors, n_passes
        topics = topics if topics.shape[1] == len(self._codes) else self._all_words(topics)
        self.components_ = topics
        self.anchors_ = np.array([anchor.words[0] for anchor in anchors])
        names = self._names()
        self.anchor_words_ = [[str(names[w]) if names is not None else w for w in a.words] for a in anchors]
        self._n_features_out = len(topics)

        self.topic_covariance_ = self._embedding.topic_moment(self._merged_words(topics))
        self.prevalence_ = self.topic_covariance_.sum(axis=1)

    def _estimate_dirichlet(self, blocks: Blocks) -> None:
        if self.dirichlet == "moments":
            self.dirichlet_ = dirichlet_from_moment(self.topic_covariance_)
            return
        smooth = smoothed(self.components_, self.word_probabilities_, 1e-4)
        self.dirichlet_ = dirichlet_by_likelihood(smooth, self.prevalence_, sample_rows(blocks), self.n_jobs)

    def _weigh_evidence(self, errors: np.ndarray | None, unmeasured: str) -> AnchorTopics:
        vertices = vertex_rows(self._embedding, self._anchors, self._codes)
        weights = simplex_least_squares(self._embedding.rows, vertices, tol=1e-2, n_jobs=self.n_jobs)
        documents = [self._document_frequency[list(anchor.words)].max() for anchor in self._anchors]
        probability = [self.components_[k, list(anchor.words)].sum() for k, anchor in enumerate(self._anchors)]
        measured = Measured(
            embedding=self._embedding,
            vertices=vertices,
            weights=weights,
            moment=self.topic_covariance_,
            prevalence=self.prevalence_,
            anchor_documents=np.array(documents),
            anchor_probability=np.array(probability),
            component_errors=errors,
            unmeasured=unmeasured,
            documents=self._documents,
            words=self._words,
            length=self._length,
            dirichlet_total=float(self.dirichlet_.sum()),
        )
        self.evidence_ = Evidence(topic_checks(measured), errors).bind(self)
        return self

    # --- helpers ------------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        check_choices(
            self,
            embedding=("subspace", "projection"),
            recover=("l2", "kl", "inverse"),
            dirichlet=("likelihood", "moments"),
        )
        if isinstance(self.anchors, str):
            check_choices(self, anchors=("greedy", "lp"))
        elif not isinstance(self.anchors, Sequence):
            raise LatentiaError(f"anchors={self.anchors!r}: use 'greedy', 'lp' or a list of words.")
        check_whole(self, n_components=1, refine=0, runoff_df=0)
        if self.min_df is not None:
            check_whole(self, min_df=0)
        check_splits(self, "documents")
        self._seed = seed_of(self.random_state)
        if not isinstance(self.tol, (int, float)) or not 0 < self.tol < 1:
            raise LatentiaError(f"tol={self.tol!r}: a relative gap between 0 and 1 is needed.")

    def _remember_columns(self, width: int) -> None:
        """Width of data without column names."""
        self.n_features_in_, self._column_names = width, None
        self.__dict__.pop("feature_names_in_", None)
        check_vocabulary(self)

    def _all_words(self, topics: np.ndarray) -> np.ndarray:
        """Share the runoff column out over its words: (K, V') to (K, V)."""
        p = self.word_probabilities_
        total = np.bincount(self._codes, p, topics.shape[1])[self._codes]
        alone = np.bincount(self._codes)[self._codes] == 1
        share = np.where(alone, 1.0, p / np.where(total > 0, total, 1.0))
        return topics[:, self._codes] * share

    def _merged_words(self, topics: np.ndarray) -> np.ndarray:
        """Topics over the columns of the embedding, (K, V) to (K, V')."""
        size = len(self._embedding.marginal)
        if topics.shape[1] == size:
            return topics
        return np.array([np.bincount(self._codes, row, size) for row in topics])


def _no_documents(n_words: int) -> tuple[dict[str, int], dict[str, int], float]:
    return {"used": 0, "empty": 0, "short": 0}, {"unseen": 0, "merged": 0, "kept": n_words}, 2.0
