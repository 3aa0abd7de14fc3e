"""Multi-label classification of large text by the method of moments.

Model. A document draws a topic h with P(h = k) = pi_k. Given the topic, words v are present independently with
probability mu_kv = P[v | h = k], and labels l independently with probability gamma_kl = P[l | h = k]. With the words
x in {0, 1}^D that are present and the labels y in {0, 1}^L,

    E[x (x) x] = sum_k pi_k mu_k mu_k^T,   E[x^(x 3)] = sum_k pi_k mu_k^(x 3),
    E[y (x) x (x) x] = sum_k pi_k gamma_k (x) mu_k (x) mu_k

off the diagonals. A whitening and a tensor decomposition turn these moments into pi, mu and gamma. A new document has label
probabilities sum_k gamma_kl P[h = k | x].

Source: paper "Multi-label learning for large text corpora using latent variable model with provable guarantees",
sections 2 to 4, Algorithm 1, Theorem 1.
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from .._parameters import Choice, Flag, Names, NComponents, Number, OrNone, Seed
from .._validation import check_same_rows, check_vocabulary, table_blocks, weighted
from ..evidence import ComponentView, Evidence, PartErrors
from ..exceptions import EvidenceWarning, LatentiaError, warn
from ..fitting.base import fitting, halves_of_rows
from ..fitting.stages import Fitted, Staged, Subset
from ..likelihood import Refine, Refined, Refinement
from ..metrics import nearest_distances
from ..passes import Blocks, Folds, Plan, assign_folds
from ..simplex import distributions
from ._choice import Chosen, Heads, choose, choose_kinds, leave_own_labels_out, rows_in_memory
from ._debiased import recover_part, recover_topics
from ._documents import Documents, Passes, read_documents
from ._evidence import evidence_of_head, posterior_of, weigh_evidence
from ._head import linear_head
from ._labels import LabelSets, read_label_sets
from ._methods import LabelMethods
from ._parts import PartMoments
from ._topics import SMOOTHING, Recovered, Topics, make_single_topic, refine_topics


class MomentMultiLabelClassifier(LabelMethods, Staged["_Moments", Any]):
    """Multi-label classifier by the method of moments: a low-rank model of (D + L) K parameters.

    The fit is deterministic, makes a few passes over the data without iterations, and gives an expected error for every topic.

    Choose it for text (or any nonnegative sparse features) with a few to hundreds of thousands of labels, for data too large
    for many passes, or to see why a label was given. If there is room for a linear classifier of all words for each label, it
    learns these too, all labels together; otherwise it uses a head of rank K.

    Two models are learned in the same passes. The topics (``weights_``, ``word_probabilities_``, ``label_probabilities_``)
    are the paper's generative model; a linear head predicts better, and is the default.

    Parameters
    ----------
    n_components : int, default=50
        Number K of topics, and of directions of the ridge head.
    moments : {"auto", "occurrence", "factorial"}, default="auto"
        "occurrence" uses which words are present, "factorial" counts of words that are drawn one after the other
        (``word_probabilities_`` then sum to one). Both use different words of a document only, so that moments are
        unbiased. "auto" is "factorial" if some entry is above one and all are whole numbers, else "occurrence".
    head : {"auto", "ridge", "logistic", "full", "bayes"}, default="auto"
        Head that predicts.

        - "ridge": the moment head, ridge regression on K supervised directions. It needs no further pass, and no rows in
          memory.
        - "logistic": logistic regression of every label on all words, helped by the ridge score; in the K directions of
          the moment head where D x L is above 2^24. It holds the rows in memory.
        - "full": ridge regression on all words, for D (or rows) up to some thousands. It holds the rows in memory.
        - "bayes": the posterior of the topics (the paper, section 4).
        - "auto": the one of the first three that ranks the labels of a fifth of the rows best, fitted to all rows, as far as
          work and memory allow. It is "ridge" with more than 2^25 entries of X or 2^27 rows x labels, if a step of logistic
          regression takes above 4e9 flops on all words and 4e10 in K directions, or with fewer than 50 rows. See ``head_``.
    topics : bool, default=True
        Whether to learn topics. Without them there is no tensor of size K^3, ``n_components`` is only the number of
        directions, and the evidence is on the head.
    refine : int or "auto", default=0
        EM from the recovered topics, over words and labels: "auto" makes accelerated steps until they converge, a number
        that many plain ones, each a pass over the data. 0 keeps to the theorem. The linear heads do not use the topics; with
        ``head="bayes"``, or to read the topics, 3 to 10 steps are worth it. See ``refinement_``, and *EM has converged* in the
        evidence.
    eta : float, default=0.0
        Absent words count only in topics where they have at least this probability (section 4). It saves no time here.
    n_splits : int, default=1
        Number of random splits into halves, at most 3, whose topics give the expected errors. They cost no pass over the
        data; with ``refine`` a single split is used, which costs as much as refining. With 0 no errors are
        measured: see ``evidence_.stability``.
    vocabulary, label_names : sequence of str, optional
        Names of the columns of X and Y for explanations and reports, if the tables have none.
    random_state : int, default=0
        Seed of the starts and splits. None or a RandomState draws a seed.
    n_jobs : int, optional
        Number of threads. Results are bitwise identical for any value.
    verbose : bool or int, default=False
        Whether to show progress and the remaining time.

    Attributes
    ----------
    weights_ : ndarray of shape (K,)
        pi, descending; they sum to one. Absent with ``topics=False``, as are the next two.
    word_probabilities_ : ndarray of shape (K, D)
        P[word present | topic]; with "factorial" rows sum to one.
    label_probabilities_ : ndarray of shape (K, L)
        P[label | topic].
    head_ : {"ridge", "logistic", "full", "bayes"}
        Head that predicts; with ``head="auto"`` the chosen one.
    word_features_ : ndarray of shape (D, H), float32, or None
        U of the head, orthonormal columns: scores are f^T U ``coef_`` + ``intercept_`` for features f of the words. None
        if the head uses all words: U is then the identity, and scores are f^T ``coef_`` + ``intercept_``. H is K, or fewer if
        words and labels have fewer directions. Absent with ``head="bayes"``, as are the next two.
    coef_ : ndarray of shape (H, L), or (D, L) where ``word_features_`` is None
    intercept_ : ndarray of shape (L,)
    inverse_document_frequency_ : ndarray of shape (D,) or None
        Weights of the words in f; None if X is weighted already, that is, has fractions.
    label_frequencies_ : ndarray of shape (L,)
        Share of the documents with the label.
    word_frequencies_ : ndarray of shape (D,)
        Share of the documents with the word.
    classes_ : ndarray of shape (L,)
        Numbers of the labels, or the classes if ``fit`` was given one class a row.
    evidence_ : Evidence
        Evidence on the predictions of a linear head: whether it ranks labels better than their frequencies do, and as well as
        naive Bayes, on held-out rows. ``evidence_.topics`` is then on the topics, which such a head does not use; with
        ``head="bayes"`` all evidence is on the topics. ``component_errors`` are expected l1 errors of the topics' word
        distributions.
    refinement_ : ndarray of shape (n_steps,)
        Log-likelihood of words and labels at every step of EM, in nats.
    n_iter_ : int
        Number of steps of refinement.
    converged_ : bool
        Whether further steps would gain next to nothing; always False unless ``refine="auto"``.
    n_passes_ : int
        Number of passes over the data, without those for expected errors of refined topics.

    Notes
    -----
    Differences from the paper, whose Algorithm 1 as printed is `latentia.papers.multilabel.learn_labelled_topics`:

    1. Moments use different words of a document (no diagonals). With diagonals, as printed, a word co-occurs with itself,
       and pi = lambda^-2 carries the factor sum nnz^2 / sum nnz^3. Here mu, gamma and pi are the probabilities of the
       model itself: nothing is normalised that the model does not normalise. An occurrence has no pair with itself;
       the model's diagonal is computed together with the topics, in up to ten rounds (one with more than 20 topics).
    2. Algorithm 1 normalises mu_k and gamma_k to sum to one and then uses mu_k as the probabilities of equation (2). Here they
       are used as they are.
    3. They are taken in K + 12 coordinates, near the leading eigenspace of M_2 with words divided by the root of their
       frequency, of at most 16,384 words, the most frequent; all words and labels get probabilities.
    4. If M_2 without its diagonal has fewer than K eigenvalues above the noise, a diagonal is added that raises the last one
       to the noise. A component that is noise stays noise, and its expected error shows it.
    5. The tensor is decomposed by polar iteration, not by deflation.
    6. "Three passes" need all pairs of words in memory. Here, without them, all of it, head and error bars included, is five,
       and up to four more with the ridge head and fewer labels than K.
    7. Posteriors are computed in logarithms; absent words enter through one constant a topic, so that eta saves nothing.
    8. Linear heads and ``refine`` are not in the paper.
    9. Probabilities of linear heads are calibrated by two slopes and a shift for all labels, fitted to held-out rows; no
       ranking changes.

    References
    ----------
    Multi-label learning for large text corpora using latent variable model with provable guarantees (under review, 2017).
    H.-F. Yu, P. Jain, P. Kar, I. S. Dhillon, Large-scale multi-label learning with missing labels, ICML 2014 (LEML).
    M. Kull, T. Silva Filho, P. Flach, Beta calibration, AISTATS 2017.

    Examples
    --------
    >>> from latentia.datasets import planted
    >>> from latentia.multilabel import MomentMultiLabelClassifier
    >>> corpus = planted.labelled_corpus(4000, n_topics=5, n_words=400, n_labels=40)
    >>> model = MomentMultiLabelClassifier(5).fit(corpus.X, corpus.Y)
    >>> model.n_passes_
    5
    >>> model.predict_proba(corpus.X[:3], n_labels=2).nnz
    6
    """

    _compared = ("word_probabilities_",)
    _constraints: ClassVar = {
        "moments": Choice("auto", "occurrence", "factorial"),
        "head": Choice("auto", "ridge", "logistic", "full", "bayes"),
        "topics": Flag(),
        "eta": Number(0, 1, closed="low"),
        "label_names": OrNone(Names()),
    }

    def __init__(
        self,
        n_components: NComponents = 50,
        *,
        moments: str = "auto",
        head: str = "auto",
        topics: bool = True,
        refine: Refine = 0,
        eta: float = 0.0,
        n_splits: int = 1,
        vocabulary: Any = None,
        label_names: Any = None,
        random_state: Seed = 0,
        n_jobs: int | None = None,
        verbose: int = False,
    ) -> None:
        self.n_components = n_components
        self.moments = moments
        self.head = head
        self.topics = topics
        self.refine = refine
        self.eta = eta
        self.n_splits = n_splits
        self.vocabulary = vocabulary
        self.label_names = label_names
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # --- fitting ------------------------------------------------------------------------------------------------

    @fitting
    def fit(self, X: Any, Y: Any = None, *, sample_weight: Any = None) -> MomentMultiLabelClassifier:
        """Learn topics and the head.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or Blocks of shape (n_rows, D)
            Nonnegative: occurrences, counts or weights of words. Blocks may have two parts, X and Y.
        Y : array-like, sparse matrix or DataFrame of shape (n_rows, L), optional
            0/1 label sets, which may be empty; or one class for each row, shape (n_rows,).
        sample_weight : array-like of int, shape (n_rows,), optional
            Number of times each row counts.

        Returns
        -------
        self

        Raises
        ------
        LatentiaError
            If a parameter is out of its range, if X has NaN, infinite or negative entries, if Y has values other than
            0 and 1, or if X and Y differ in rows.
        """
        passes = Passes(weighted(self._read_labelled_blocks(X, Y), sample_weight), self.n_jobs, self.verbose)
        # The first pass counts words and labels, and decides in which form topics use the words.
        documents = read_documents(passes, self.moments, self.head != "bayes", self.word_names)
        self._check_count(documents)
        return self._fit_stages(documents)

    def _assign_folds(self, rows: Documents) -> Folds:
        """Assign rows to four folds, for expected errors of topics."""
        if not self.topics:
            return Folds(1, self._seed)
        return assign_folds(rows.blocks, self._seed, 4 if self.n_splits else 1)

    def _moments(self, rows: Documents, folds: Folds) -> _Moments:
        """Compute topics and the linear head, if there are any, in shared passes."""
        heads = choose_kinds(self.head, rows.counts, self.n_components)
        plans = [] if self.head == "bayes" else [self._plan_of_head(rows, heads)]
        recovered, results = (
            recover_topics(rows, self.n_components, plans, folds) if self.topics else (None, rows.passes.follow(plans))
        )
        if isinstance(recovered, LatentiaError):
            recovered = self._replace_topics(rows, recovered)
        chosen_head = None
        if results and heads is None:
            chosen_head = leave_own_labels_out(results[0], rows.blocks, rows.counts)
        elif results and heads is not None:
            chosen_head = choose(results[0], heads, self.n_components, self._seed)
        return _Moments(rows, recovered, chosen_head)

    def _recover(self, moments: _Moments, subset: Subset, choices: Any) -> Topics | None:
        """Recover words and labels of topics from the components of the whitened tensor (section 3)."""
        if moments.recovered is None or subset.is_whole:
            return None if moments.recovered is None else moments.recovered.topics
        return recover_part(moments.parts, subset.groups, self.n_components, moments.documents.labels)

    def _refine(self, recovered: Topics | None, moments: _Moments, subset: Subset, choices: Any) -> Refined | None:
        """Refine topics by EM; topics of a part have frequent words alone."""
        if recovered is None:
            return None
        if subset.is_whole:
            return refine_topics(recovered, moments.documents, moments.documents.blocks, self.refine)
        return (
            self._refine_part(recovered, moments, subset) if self.refine else Refined(recovered, Refinement.no_steps())
        )

    def _set_fitted_attributes(self, fitted: Fitted[_Moments, Any]) -> None:
        learned: _Moments = fitted.moments
        documents, chosen_head = learned.documents, learned.chosen_head
        self.word_frequencies_, self.label_frequencies_ = documents.word_frequencies, documents.labels
        self.inverse_document_frequency_, self._occurrences = documents.weights, documents.occurrences
        self.head_ = "bayes" if chosen_head is None else chosen_head.head.kind
        self._calibration = None if chosen_head is None else chosen_head.calibration
        if chosen_head is not None:
            head = chosen_head.head
            self.word_features_, self.coef_, self.intercept_ = head.features, head.coefficients, head.intercept
            self._penalty, self._explained = head.penalty, head.explained
        self.n_passes_, self.converged_ = documents.passes.n, False
        if learned.recovered is not None:
            topics: Topics = fitted.model.parameters
            self.word_probabilities_, self.label_probabilities_ = topics.words, topics.labels
            self.weights_, self._share = topics.weights, SMOOTHING
            self._set_refinement_attributes(fitted.model.refinement)
            self.n_passes_ += len(self.refinement_)

    def _checks(self, fitted: Fitted[_Moments, Any]) -> Evidence:
        """Judge the predictions, and the topics if there are any."""
        learned: _Moments = fitted.moments
        documents, recovered, chosen_head = learned.documents, learned.recovered, learned.chosen_head
        if recovered is None:
            assert chosen_head is not None
            return evidence_of_head(self, documents, chosen_head)
        parts, first_half = (
            PartErrors.missing("Needs fits on parts of the data: call evidence_.stability(X, Y=Y)."),
            None,
        )
        if recovered.parts is not None and self.n_splits:
            parts = fitted.errors(self.n_splits)
            first_half = fitted.cached_model(recovered.parts.folds.splits[0][0])
        first_half_topics = None if first_half is None else first_half.parameters
        return weigh_evidence(
            self, documents, recovered, chosen_head, fitted.model.refinement, parts, first_half_topics
        )

    def _component_view(self, fitted: Fitted[_Moments, Any]) -> ComponentView:
        """Show probabilities of the topics in some documents, by frequent words: topics of parts have no labels."""
        learned: _Moments = fitted.moments
        documents, parts = learned.documents, learned.parts
        words = self.word_probabilities_
        words = words[:, parts.words] if words.shape[1] != len(parts.words) else words
        topics = Topics(words, self.label_probabilities_, self.weights_)
        return ComponentView(posterior_of(documents, parts, topics).T, ordered=False)

    @property
    def _max_distance(self) -> float:
        return 2.0

    def _cost(self) -> Literal["free", "algebra", "passes"]:
        return "passes" if self.refine else "free" if self.n_splits > 1 else "algebra"

    def _distance(self, first: Refined, second: Refined, moments: _Moments) -> np.ndarray:
        """Compute l1 distances of the topics' distributions of frequent words."""
        words = first.parameters.words[:, moments.parts.words]
        return nearest_distances(_sum_one(words), _sum_one(second.parameters.words))

    def _refine_part(self, part: Topics, moments: _Moments, subset: Subset) -> Refined:
        """Refine topics of a part, with frequent words alone, by EM on its rows."""
        documents, frequent = moments.documents, moments.parts.words
        # Rare words start with the same probability in all topics.
        all_words = np.tile(documents.words, (len(part.weights), 1))
        all_words[:, frequent] = part.words
        rows = documents.blocks.group(subset.groups, subset.folds)
        refined = refine_topics(Topics(all_words, part.labels, part.weights), documents, rows, self.refine)
        topics: Topics = refined.parameters
        return Refined(Topics(topics.words[:, frequent], topics.labels, topics.weights), refined.refinement)

    def _check_parameters(self) -> None:
        if not self.topics and self.head == "bayes":
            raise LatentiaError(
                "head='bayes' predicts with the topics. Use topics=True.", parameter="topics", value=False
            )
        if not self.topics and not isinstance(self.n_components, numbers.Integral):
            raise LatentiaError(
                "topics=False leaves no topics to compare. Give one number of directions.",
                parameter="n_components", value=self.n_components,
            )  # fmt: skip

    def _read_labelled_blocks(self, X: Any, Y: Any) -> Blocks:
        """Return blocks of X and Y, and set the width and names of both, and the form of Y."""
        if isinstance(X, Blocks):
            if Y is not None:
                raise LatentiaError("X is blocks and Y a table; expected blocks of both. Use Blocks.from_array(X, Y).")
            if len(X.shapes) < 2:
                raise LatentiaError("These blocks have one part; expected two, X and Y.")
            blocks = table_blocks(self, X, reset=True, column_noun="words")
            self._labels = LabelSets(np.arange(X.shapes[1][1]))
        else:
            if Y is None:
                raise LatentiaError(
                    f"This {type(self).__name__} estimator requires y to be passed, but the target y is None: give label "
                    "sets, a table of 0 and 1 with a column for every label."
                )
            words = table_blocks(self, X, reset=True, column_noun="words")
            labels, self._labels = read_label_sets(Y)
            check_same_rows(X=words.n_rows, Y=labels.shape[0])
            blocks = Blocks.from_array(words.table(), labels)
        check_vocabulary(self)
        self.classes_ = self._labels.classes
        if self.label_names is not None and len(self.label_names) != len(self.classes_):
            raise LatentiaError(
                f"label_names has {len(self.label_names)} names; expected {len(self.classes_)}, one for each column of Y."
            )
        return blocks

    def _check_count(self, documents: Documents) -> None:
        """Raise if there are more topics than can be learned, and warn if there are few documents for them."""
        counts, k = documents.counts, self.n_components
        n, words_seen, n_usable = counts.n_rows, int((counts.document_frequency > 0).sum()), int(counts.usable[2])
        if k > min(n, words_seen):
            raise LatentiaError(
                f"{n} rows with {words_seen} different words carry at most {min(n, words_seen)} "
                f"{'topics' if self.topics else 'directions'}.",
                at_most=min(n, words_seen), parameter="n_components", value=k,
            )  # fmt: skip
        if self.topics and n < k**2:
            unused = "." if self.head == "bayes" else "; the predictions do not use them."
            warn(
                f"Found {n} rows; {k} topics need more than K^2 = {k**2} (paper, section 6). Ask for fewer topics, or do not "
                f"rely on them{unused}",
                EvidenceWarning,
            )
        if self.topics and not documents.occurrences and n_usable < 2 * k:
            raise LatentiaError(
                f"{n_usable} of {n} rows have at least three words; moments of counts need at least two such "
                "rows for each topic.",
                parameter="n_components", value=k,
            )  # fmt: skip

    def _plan_of_head(self, documents: Documents, heads: Heads | None) -> Plan:
        """Plan the passes for the moment head, or the one that reads the rows into memory if heads are compared."""
        if heads is not None:
            return rows_in_memory(self.n_jobs)
        counts = documents.counts
        return linear_head(
            counts.label_counts, counts.n_rows, len(counts.document_frequency), self.n_components, self._seed
        )

    def _replace_topics(self, documents: Documents, why: LatentiaError) -> Recovered:
        """Return a single topic if the words carry no topics and the head does not need them."""
        if self.head == "bayes":
            raise why
        warn(
            f"The words carry fewer than {self.n_components} topics: all documents get one topic, which the head does not "
            f"need. {why.message}",
            EvidenceWarning,
        )
        return make_single_topic(documents)

    def _distances(self, other: MomentMultiLabelClassifier) -> np.ndarray:
        if not self.topics:
            raise LatentiaError(
                "the model has no topics to compare. Fit with topics=True.", parameter="topics", value=False
            )
        first, second = (
            m.word_probabilities_ / m.word_probabilities_.sum(axis=1, keepdims=True) for m in (self, other)
        )
        return nearest_distances(first, second)

    def _halves(self, X: Any, random_state: int, **fit_parameters: Any) -> list[dict[str, Any]]:
        if not isinstance(X, Blocks) and fit_parameters.get("Y") is None:
            raise LatentiaError("stability needs the labels as well. Call stability(X, Y=Y).")
        return halves_of_rows(random_state, X=X, **fit_parameters)


def _sum_one(rows: np.ndarray) -> np.ndarray:
    """Return word probabilities as distributions."""
    return distributions(rows, np.ones(rows.shape[1]))


@dataclass(frozen=True)
class _Moments:
    """Results of the passes that topics and head share.

    Attributes
    ----------
    documents : Documents
    found : Recovered or None
        Topics recovered from moments, if there are any.
    chosen : Chosen or None
        The linear head, if there is one.
    """

    documents: Documents
    recovered: Recovered | None
    chosen_head: Chosen | None

    @property
    def parts(self) -> PartMoments:
        """Moments of groups of documents."""
        assert self.recovered is not None
        assert self.recovered.parts is not None
        return self.recovered.parts
