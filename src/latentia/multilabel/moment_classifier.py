"""Multi-label classification of large text by the method of moments.

Model. A document draws a topic h with P(h = k) = pi_k. Given the topic, words v are present independently with
probability mu_kv = P[v | h = k], and labels l independently with probability gamma_kl = P[l | h = k]. With x in {0, 1}^D
the words that are present and y in {0, 1}^L the labels,

    E[x (x) x] = sum_k pi_k mu_k mu_k^T,   E[x^(x 3)] = sum_k pi_k mu_k^(x 3),
    E[y (x) x (x) x] = sum_k pi_k gamma_k (x) mu_k (x) mu_k

off the diagonals, which a whitening and a tensor decomposition turn into pi, mu and gamma. A new document has the label
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
from ._algorithm_1 import PaperTopics
from ._choice import Chosen, Heads, allowed_heads, choose, left_out, rows_in_memory
from ._debiased import DebiasedTopics, of_part
from ._documents import Documents, Passes, read_documents
from ._evidence import evidence_of_head, posterior_of, weigh_evidence
from ._head import linear_head
from ._labels import LabelSets, label_sets
from ._methods import LabelMethods
from ._parts import PartMoments
from ._topics import Recovered, Recovery, Topics, one_topic, refined_topics


class MomentMultiLabelClassifier(LabelMethods, Staged):
    """Multi-label classifier by the method of moments: a low-rank model of (D + L) K parameters.

    The fit is deterministic, makes a few passes over the data without iterations, and gives an expected error for every topic.

    Choose it for text (or any nonnegative sparse features) with a few to hundreds of thousands of labels, for more rows
    than one likes to go through often, or to see why a label was given. Where there is one linear classifier for each label,
    of all words, it learns such a one too, all labels together, and where there cannot be, the head of rank K is what runs.

    Two models are learned in the same passes. The topics (``weights_``, ``word_probabilities_``, ``label_probabilities_``)
    are the paper's generative model; a linear head predicts better, and is the default.

    Parameters
    ----------
    n_components : int, default=50
        Number K of topics, and of directions of the ridge head.
    moments : {"auto", "occurrence", "factorial", "paper"}, default="auto"
        "occurrence" looks at which words are present, "factorial" at counts of words that are drawn one after the other
        (``word_probabilities_`` sum to one then); both use different words of a document only, so that their moments
        are unbiased. "auto" is "factorial" if some entry is above one and all are whole numbers, else "occurrence".
        "paper" is Algorithm 1 as printed.
    head : {"auto", "ridge", "logistic", "full", "bayes"}, default="auto"
        What predicts.

        - "ridge": the moment head, ridge regression on K supervised directions. It needs the passes that there are, and no
          rows in memory.
        - "logistic": logistic regression of every label on all words, helped by the ridge score; in the K directions of
          the moment head where D x L is above 2^24. It holds the rows in memory.
        - "full": ridge regression on all words, for D (or rows) up to some thousands. It holds the rows in memory.
        - "bayes": the posterior of the topics (the paper, section 4).
        - "auto": whichever of the first three ranks the labels of a fifth of the rows best, fitted to all rows. Those are
          compared that work and memory allow: with more than 2^25 entries of X or 2^27 rows x labels, where a step of
          logistic regression takes above 4e9 flops on all words and 4e10 in K directions, or with fewer than 50 rows,
          it is "ridge". See ``head_``.
    topics : bool, default=True
        Whether to learn topics. Without them there is no tensor of size K^3 to fill and decompose, ``n_components`` is the
        number of directions alone, and the evidence is on the head.
    refine : int or "auto", default=0
        EM from the recovered topics, over words and labels: "auto" makes accelerated steps until they converge, a number
        that many plain ones, each a pass over the data. 0 keeps to the theorem, and so does "auto" for ``moments="paper"``. The
        linear heads do not use the topics; with ``head="bayes"``, or to read the topics, 3 to 10 steps are worth it. See
        ``refinement_``, and *EM has converged* in the evidence.
    decomposition : {"polar", "power", "joint"}, default="polar"
        Of the whitened tensor, for ``moments="paper"``; see `latentia.tensor.decompose`.
    eta : float, default=0.0
        Words that a document lacks count only in topics where they have at least this probability (section 4). It saves no
        time here.
    n_splits : int, default=1
        Number of random splits into halves, at most 3, whose topics give the expected errors. They cost no pass over the
        data; with ``refine`` a single split is used, which costs as much as refining. With 0, or ``moments="paper"``, no
        errors are measured: see ``evidence_.stability``.
    vocabulary, label_names : sequence of str, optional
        Names of the columns of X and Y for explanations and reports, where these have none.
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
        P[word present | topic]; with "factorial" rows sum to one, and with "paper" but for negative entries, cut at 1e-10.
    label_probabilities_ : ndarray of shape (K, L)
        P[label | topic]; with "paper" rows sum to one.
    head_ : {"ridge", "logistic", "full", "bayes"}
        What predicts; with ``head="auto"`` what was chosen.
    word_features_ : ndarray of shape (D, H), float32, or None
        U of the head, orthonormal columns: scores are f^T U ``coef_`` + ``intercept_`` for features f of the words. None
        where the head looks at all words: U is then the identity, and scores are f^T ``coef_`` + ``intercept_``. H is K, or
        fewer where words and labels have no more directions. Absent with ``head="bayes"``, as are the next two.
    coef_ : ndarray of shape (H, L), or (D, L) where ``word_features_`` is None
    intercept_ : ndarray of shape (L,)
    inverse_document_frequency_ : ndarray of shape (D,) or None
        Weights of the words in f; None if X came weighted, that is with fractions.
    label_frequencies_ : ndarray of shape (L,)
        Share of the documents with the label.
    word_frequencies_ : ndarray of shape (D,)
        Share of the documents with the word.
    classes_ : ndarray of shape (L,)
        Numbers of the labels; the classes where ``fit`` was given one class a row.
    evidence_ : Evidence
        Of the predictions of a linear head: whether it ranks labels better than their frequencies do, and as well as naive
        Bayes, on rows that had no part in their own scores. ``evidence_.topics`` is then on the topics, which such a head does
        not use; with ``head="bayes"`` it is all on the topics. ``component_errors`` are expected l1 errors of the topics' word
        distributions.
    refinement_ : ndarray of shape (n_steps,)
        Log-likelihood of words and labels at every step of EM, in nats.
    n_iter_ : int
        Number of steps of refinement.
    converged_ : bool
        Whether further steps would gain only a negligible amount; only ``refine="auto"`` looks at that.
    n_passes_ : int
        Number of passes over the data, those for the expected errors of refined topics not counted.

    Notes
    -----
    Differences from the paper:

    1. Moments use different words of a document (no diagonals). With diagonals, as printed, a word co-occurs with itself,
       and pi = lambda^-2 carries the factor sum nnz^2 / sum nnz^3. Here mu, gamma and pi are the probabilities of the
       model itself: nothing is normalised that the model does not normalise. An occurrence has no pair with itself, and
       the model's diagonal is found together with the topics, in up to ten rounds (one, with more than 20 topics).
    2. Algorithm 1 normalises mu_k and gamma_k to sum to one and then uses mu_k as the probabilities of equation (2).
       "paper" does so; negative entries count as 1e-10.
    3. They are taken in K + 12 coordinates, near the leading eigenspace of M_2 with words divided by the root of their
       frequency, of at most 16,384 words, the most frequent; all words and labels get probabilities.
    4. Where M_2 without its diagonal has no K eigenvalues above the noise, as much of its diagonal is kept as lifts the
       last one to the noise; a component that is noise stays noise, and its expected error says so.
    5. The tensor is decomposed by polar iteration, not by deflation.
    6. "Three passes" need all pairs of words in memory. Here, without them, all of it, head and error bars included, is five,
       and up to four more with the ridge head and fewer labels than K; "paper" makes up to nine, and one more with a head in
       memory, four with the ridge head.
    7. Posteriors are computed in logarithms; absent words enter through one constant a topic, so that eta saves nothing.
    8. Linear heads and ``refine`` are not in the paper.
    9. Probabilities of linear heads are calibrated: two slopes and a shift for all labels, fitted to rows that had no part in
       their scores, which leave every ranking as it is.

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
        "moments": Choice("auto", "occurrence", "factorial", "paper"),
        "head": Choice("auto", "ridge", "logistic", "full", "bayes"),
        "topics": Flag(),
        "decomposition": Choice("polar", "power", "joint"),
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
        decomposition: str = "polar",
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
        self.decomposition = decomposition
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
            How often each row is there.

        Returns
        -------
        self

        Raises
        ------
        LatentiaError
            If a parameter is out of its range, if X has NaN, infinite or negative entries, if Y has others than 0 and
            1, or if X and Y differ in rows.
        """
        passes = Passes(weighted(self._labelled_blocks(X, Y), sample_weight), self.n_jobs, self.verbose)
        # The first pass: how often words and labels occur, and with that what the topics are learned from.
        documents = read_documents(passes, self.moments, self.head != "bayes", self.word_names)
        self._check_count(documents)
        return self._fit_stages(documents)

    def _assign_folds(self, rows: Documents) -> Folds:
        """Four groups for expected errors of topics; Algorithm 1 as printed has moments of all rows alone."""
        if not self.topics or self.moments == "paper":
            return Folds(1, self._seed)
        return assign_folds(rows.blocks, self._seed, 4 if self.n_splits else 1)

    def _moments(self, rows: Documents, folds: Folds) -> _Learned:
        """Topics, if they are asked for, and the linear head, if there is one, in passes that they share."""
        heads = allowed_heads(self.head, rows.seen, self.n_components)
        plans = [] if self.head == "bayes" else [self._plan_of_head(rows, heads)]
        found, results = (
            self._recovery.recover(rows, plans, folds) if self.topics else (None, rows.passes.follow(plans))
        )
        if isinstance(found, LatentiaError):
            found = self._without_topics(rows, found)
        chosen = None
        if results and heads is None:
            chosen = left_out(results[0], rows.blocks, rows.seen)
        elif results and heads is not None:
            chosen = choose(results[0], heads, self.n_components, self._seed)
        return _Learned(rows, found, chosen)

    def _recover(self, moments: _Learned, subset: Subset, full_fit: Topics | None) -> Topics | None:
        """Section 3: the whitened tensor's components, and from them the topics' words and labels."""
        if moments.found is None or full_fit is None:
            return None if moments.found is None else moments.found.topics
        return of_part(moments.parts, subset.groups, self.n_components, moments.documents.labels)

    def _refine(self, recovered: Topics | None, moments: _Learned, subset: Subset, full_fit: Any) -> Refined | None:
        """EM from the topics; those of a part have frequent words alone."""
        if recovered is None:
            return None
        if subset.is_whole:
            return refined_topics(recovered, moments.documents, moments.documents.blocks, self._steps)
        return (
            self._refined_part(recovered, moments, subset) if self._steps else Refined(recovered, Refinement.no_steps())
        )

    def _set_fitted_attributes(self, fitted: Fitted) -> None:
        learned: _Learned = fitted.moments
        documents, chosen = learned.documents, learned.chosen
        self.word_frequencies_, self.label_frequencies_ = documents.word_frequencies, documents.labels
        self.inverse_document_frequency_, self._occurrences = documents.weights, documents.occurrences
        self.head_ = "bayes" if chosen is None else chosen.head.kind
        self._calibration = None if chosen is None else chosen.calibration
        if chosen is not None:
            head = chosen.head
            self.word_features_, self.coef_, self.intercept_ = head.features, head.coefficients, head.intercept
            self._penalty, self._explained = head.penalty, head.explained
        self.n_passes_, self.converged_ = documents.passes.n, False
        if learned.found is not None:
            topics: Topics = fitted.model.parameters
            self.word_probabilities_, self.label_probabilities_ = topics.words, topics.labels
            self.weights_, self._share = topics.weights, learned.found.share
            self._set_refinement_attributes(fitted.model.refinement)
            self.n_passes_ += len(self.refinement_)

    def _checks(self, fitted: Fitted) -> Evidence:
        """Of the predictions, and of the topics where there are any."""
        learned: _Learned = fitted.moments
        documents, found, chosen = learned.documents, learned.found, learned.chosen
        if found is None:
            assert chosen is not None
            return evidence_of_head(self, documents, chosen)
        parts, half = PartErrors.missing("Needs fits on parts of the data: call evidence_.stability(X, Y=Y)."), None
        if found.parts is not None and self.n_splits:
            parts = fitted.errors(self.n_splits)
            half = fitted.cached_model(found.parts.folds.splits[0][0])
        first = None if half is None else half.parameters
        return weigh_evidence(self, documents, found, chosen, fitted.model.refinement, parts, first)

    def _component_view(self, fitted: Fitted) -> ComponentView:
        """Probabilities of the topics in some documents, by their frequent words: parts have no labels."""
        learned: _Learned = fitted.moments
        documents, parts = learned.documents, learned.parts
        words = self.word_probabilities_
        words = words[:, parts.words] if words.shape[1] != len(parts.words) else words
        topics = Topics(words, self.label_probabilities_, self.weights_)
        return ComponentView(posterior_of(documents, parts, topics).T, ordered=False)

    @property
    def _max_distance(self) -> float:
        return 2.0

    def _cost(self) -> Literal["free", "algebra", "passes"]:
        return "passes" if self._steps else "free" if self.n_splits > 1 else "algebra"

    def _distance(self, first: Refined, second: Refined, moments: _Learned) -> np.ndarray:
        """l1, of the topics' distributions of frequent words."""
        words = first.parameters.words[:, moments.parts.words]
        return nearest_distances(_sum_one(words), _sum_one(second.parameters.words))

    def _refined_part(self, part: Topics, moments: _Learned, of: Subset) -> Refined:
        """A part's topics, of the frequent words, after EM on its rows."""
        documents, frequent = moments.documents, moments.parts.words
        # Rare words have the same probability in all topics until the first step.
        every = np.tile(documents.words, (len(part.weights), 1))
        every[:, frequent] = part.words
        rows = documents.blocks.group(of.groups, of.folds)
        found = refined_topics(Topics(every, part.labels, part.weights), documents, rows, self._steps)
        topics: Topics = found.parameters
        return Refined(Topics(topics.words[:, frequent], topics.labels, topics.weights), found.refinement)

    def _check_parameters(self) -> None:
        if self.moments == "paper" and self.refine not in (0, "auto"):
            raise LatentiaError(
                "Algorithm 1 as printed has no refinement; use it with other moments.",
                parameter="refine", value=self.refine,
            )  # fmt: skip
        if not self.topics and self.head == "bayes":
            raise LatentiaError(
                "head='bayes' predicts with the topics: leave topics=True.", parameter="topics", value=False
            )
        if not self.topics and not isinstance(self.n_components, numbers.Integral):
            raise LatentiaError(
                "numbers of topics are compared, and with topics=False there are none: give one number of directions.",
                parameter="n_components", value=self.n_components,
            )  # fmt: skip

    def _labelled_blocks(self, X: Any, Y: Any) -> Blocks:
        """Blocks of X and Y; remembers the width and names of both, and the form of Y."""
        if isinstance(X, Blocks):
            if Y is not None:
                raise LatentiaError("X is blocks and Y a table: make blocks of both, Blocks.from_array(X, Y).")
            if len(X.shapes) < 2:
                raise LatentiaError("These blocks have no labels: they need two parts, X and Y.")
            blocks = table_blocks(self, X, reset=True, column_noun="words")
            self._labels = LabelSets(np.arange(X.shapes[1][1]))
        else:
            if Y is None:
                raise LatentiaError(
                    f"This {type(self).__name__} estimator requires y to be passed, but the target y is None: give label "
                    "sets, a table of 0 and 1 with a column for every label."
                )
            words = table_blocks(self, X, reset=True, column_noun="words")
            labels, self._labels = label_sets(Y)
            check_same_rows(X=words.n_rows, Y=labels.shape[0])
            blocks = Blocks.from_array(words.table(), labels)
        check_vocabulary(self)
        self.classes_ = self._labels.classes
        if self.label_names is not None and len(self.label_names) != len(self.classes_):
            raise LatentiaError(
                f"label_names has {len(self.label_names)} names and Y {len(self.classes_)} columns: they must agree."
            )
        return blocks

    def _check_count(self, documents: Documents) -> None:
        """Refuse more topics than can be learned, and warn of those that are thin."""
        seen, k = documents.seen, self.n_components
        n, words_seen, usable = seen.n_rows, int((seen.document_frequency > 0).sum()), int(seen.usable[2])
        if k > min(n, words_seen):
            raise LatentiaError(
                f"{n} rows with {words_seen} different words carry at most {min(n, words_seen)} "
                f"{'topics' if self.topics else 'directions'}.",
                at_most=min(n, words_seen), parameter="n_components", value=k,
            )  # fmt: skip
        if self.topics and n < k**2:
            unused = "." if self.head == "bayes" else "; the predictions do not use them."
            warn(
                f"{n} rows are fewer than K^2 = {k**2} for {k} topics, and moments need more (paper, section 6). Ask for "
                f"fewer topics, or do not rely on them{unused}",
                EvidenceWarning,
            )
        if self.topics and not documents.occurrences and usable < 2 * k:
            raise LatentiaError(
                f"{usable} of {n} rows have three words or more, and moments of counts need two of them for each topic at the "
                "very least.",
                parameter="n_components", value=k,
            )  # fmt: skip

    def _plan_of_head(self, documents: Documents, heads: Heads | None) -> Plan:
        """Passes for the moment head, or the one that brings the rows into memory where heads are compared."""
        if heads is not None:
            return rows_in_memory(self.n_jobs)
        seen = documents.seen
        return linear_head(seen.label_counts, seen.n_rows, len(seen.document_frequency), self.n_components, self._seed)

    def _without_topics(self, documents: Documents, why: LatentiaError) -> Recovered:
        """A single topic, where the head does not need them and the words carry none."""
        if self.head == "bayes":
            raise why
        warn(
            f"The words carry no {self.n_components} topics, so that all documents are one; the head does without: "
            f"{why.message}",
            EvidenceWarning,
        )
        return one_topic(documents)

    @property
    def _recovery(self) -> Recovery:
        """How topics are learned."""
        if self.moments == "paper":
            return PaperTopics(self.n_components, self.decomposition, self._seed)
        return DebiasedTopics(self.n_components)

    @property
    def _steps(self) -> Refine:
        """Of refining, which Algorithm 1 as printed does not have."""
        return 0 if self.moments == "paper" else self.refine

    # --- use ----------------------------------------------------------------------------------------------------

    # --- helpers ------------------------------------------------------------------------------------------------

    def _distances(self, other: MomentMultiLabelClassifier) -> np.ndarray:
        if not self.topics:
            raise LatentiaError(
                "there are no topics to compare: fit with topics=True.", parameter="topics", value=False
            )
        own, others = (m.word_probabilities_ / m.word_probabilities_.sum(axis=1, keepdims=True) for m in (self, other))
        return nearest_distances(own, others)

    def _halves(self, X: Any, random_state: int, **fit_parameters: Any) -> list[dict[str, Any]]:
        if not isinstance(X, Blocks) and fit_parameters.get("Y") is None:
            raise LatentiaError("stability needs the labels as well: stability(X, Y=Y).")
        return halves_of_rows(random_state, X=X, **fit_parameters)


def _sum_one(rows: np.ndarray) -> np.ndarray:
    """Word probabilities as distributions."""
    return distributions(rows, np.ones(rows.shape[1]))


@dataclass(frozen=True)
class _Learned:
    """What the passes that topics and the head share have brought.

    Attributes
    ----------
    documents : Documents
    found : Recovered or None
        Topics by moments, if they were asked for.
    chosen : Chosen or None
        The linear head, if there is one.
    """

    documents: Documents
    found: Recovered | None
    chosen: Chosen | None

    @property
    def parts(self) -> PartMoments:
        """Moments of groups of documents."""
        assert self.found is not None
        assert self.found.parts is not None
        return self.found.parts
