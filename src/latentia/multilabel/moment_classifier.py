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
from collections.abc import Callable, Iterator
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin

from .. import _fields as of
from .._base import Estimator, check_size, fitted, fitting, halves_of_rows
from .._parameters import Choice, Flag, Integer, Names, NComponents, Number, OrNone, Seed, check_parameter
from .._validation import check_same_rows, check_vocabulary, column_names, table_blocks
from ..evidence import PartErrors, PartFits
from ..exceptions import EvidenceWarning, LatentiaError, warn
from ..likelihood import Refine
from ..metrics import document_auc, nearest_distances
from ..moments.counts import as_counts, check_counts
from ..passes import Blocks, Plan
from ..simplex import distributions
from ._algorithm_1 import PaperTopics
from ._calibration import Calibration
from ._choice import Chosen, Heads, allowed_heads, choose, left_out, rows_in_memory
from ._debiased import DebiasedTopics, of_part
from ._documents import Documents, Passes, overall_words, read_documents
from ._evidence import evidence_of_head, weigh_evidence
from ._explain import Explanation, explain_by_head, explain_by_topics
from ._features import features, words
from ._head import linear_head
from ._labels import LabelSets, label_sets
from ._likelihood import LogProbabilities, log_probabilities, topic_posterior
from ._parts import PartMoments
from ._scores import LinearScores, project
from ._topics import Recovered, Recovery, Topics, one_topic, refined_topics

__all__ = ["MomentMultiLabelClassifier"]

_MOST_BYTES = 1 << 34


class MomentMultiLabelClassifier(ClassifierMixin, Estimator):
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
        EM from the recovered topics, over words and labels: "auto" makes accelerated steps until they have settled, a number
        that many plain ones, each a pass over the data. 0 keeps to the theorem, and so does "auto" for ``moments="paper"``. The
        linear heads do not use the topics; with ``head="bayes"``, or to read the topics, 3 to 10 steps are worth it. See
        ``refinement_``, and *EM has settled* in the evidence.
    decomposition : {"polar", "power", "joint"}, default="polar"
        Of the whitened tensor, for ``moments="paper"``; see `latentia.tensor.decompose`.
    eta : float, default=0.0
        Absent words count only in topics where they have at least this probability (section 4). It saves no time here.
    n_splits : int, default=1
        Number of random splits into halves, at most 3, whose topics give the expected errors. They cost no pass over the
        data; with ``refine`` a single split is made, which costs as much as refining. With 0, or ``moments="paper"``, no
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

    weights_: Annotated[np.ndarray, of.optional(of.shares("K"))]
    word_probabilities_: Annotated[np.ndarray, of.optional(of.shares("K V"))]
    label_probabilities_: Annotated[np.ndarray, of.optional(of.shares("K L"))]
    word_frequencies_: Annotated[np.ndarray, of.numbers("V", 0.0)]
    label_frequencies_: Annotated[np.ndarray, of.shares("L")]
    inverse_document_frequency_: Annotated[np.ndarray | None, of.numbers("V", 0.0, of.MOST_SINGLE)]
    classes_: Annotated[np.ndarray, of.symbols("L")]
    word_features_: Annotated[np.ndarray | None, of.optional(of.Field("V H", ("float32", "float64")))]
    coef_: Annotated[np.ndarray, of.optional(of.numbers("H L", -of.MOST_SINGLE, of.MOST_SINGLE))]
    intercept_: Annotated[np.ndarray, of.optional(of.numbers("L", -of.MOST_SINGLE, of.MOST_SINGLE))]
    refinement_: Annotated[np.ndarray, of.optional(of.numbers("*"))]
    head_: Literal["bayes", "ridge", "logistic", "full"]
    _labels: LabelSets
    _occurrences: bool
    _calibration: Calibration | None
    _penalty: Annotated[float, of.optional(of.number(0.0))]
    _explained: Annotated[float | None, of.optional(of.number())]
    _share: Annotated[float, of.optional(of.share())]

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
    def fit(self, X: Any, Y: Any = None) -> MomentMultiLabelClassifier:
        """Learn topics and the head.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or Blocks of shape (n_rows, D)
            Nonnegative: occurrences, counts or weights of words. Blocks may have two parts, X and Y.
        Y : array-like, sparse matrix or DataFrame of shape (n_rows, L), optional
            0/1 label sets, which may be empty; or one class for each row, shape (n_rows,).

        Returns
        -------
        self

        Raises
        ------
        LatentiaError
            If a parameter is out of its range, if X has NaN, infinite or negative entries, if Y has others than 0 and
            1, or if X and Y differ in rows.
        """
        passes = Passes(self._labelled_blocks(X, Y), self.n_jobs, self.verbose)
        # The first pass: how often words and labels occur, and with that what the topics are learned from.
        documents = read_documents(passes, self.moments, self.head != "bayes", self._word_names())
        self._check_count(documents)
        # Topics and the head, from passes that they share.
        found, chosen = self._learned(documents)
        self._set_head(documents, chosen)
        if found is None:
            assert chosen is not None
            self.n_passes_ = documents.passes.n
            self.evidence_ = evidence_of_head(self, documents, chosen).bind(self)
            return self
        # EM.
        topics, refinement = refined_topics(found.topics, documents, documents.blocks, self._steps)
        self._set_topics(found, topics)
        self.refinement_ = refinement.log_likelihood
        self.n_passes_ = documents.passes.n + len(self.refinement_)
        # Evidence.
        parts, half = self._part_errors(found, documents)
        self.evidence_ = weigh_evidence(self, documents, found, chosen, refinement, parts, half).bind(self)
        return self

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
            blocks = table_blocks(self, X, reset=True, what="words")
            self._labels = LabelSets(np.arange(X.shapes[1][1]))
        else:
            if Y is None:
                raise LatentiaError(
                    f"This {type(self).__name__} estimator requires y to be passed, but the target y is None: give label "
                    "sets, a table of 0 and 1 with a column for every label."
                )
            words = table_blocks(self, X, reset=True, what="words")
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
                parameter="n_components", value=k,
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

    def _learned(self, documents: Documents) -> tuple[Recovered | None, Chosen | None]:
        """Topics, if they are asked for, and the linear head, if there is one, in passes that they share."""
        heads = allowed_heads(self.head, documents.seen, self.n_components)
        plans = [] if self.head == "bayes" else [self._plan_of_head(documents, heads)]
        found: Recovered | LatentiaError | None
        if self.topics:
            found, results = self._recovery.recover(documents, plans)
        else:
            found, results = None, documents.passes.follow(plans)
        if isinstance(found, LatentiaError):
            found = self._without_topics(documents, found)
        if not results:
            return found, None
        if heads is None:
            return found, left_out(results[0], documents.blocks, documents.seen)
        return found, choose(results[0], heads, self.n_components, self._seed)

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
            f"{why.problem}",
            EvidenceWarning,
        )
        return one_topic(documents)

    @property
    def _recovery(self) -> Recovery:
        """How topics are learned."""
        if self.moments == "paper":
            return PaperTopics(self.n_components, self.decomposition, self._seed)
        return DebiasedTopics(self.n_components, self.n_splits > 0, self._seed)

    @property
    def _steps(self) -> Refine:
        """Of refining, which Algorithm 1 as printed does not have."""
        return 0 if self.moments == "paper" else self.refine

    def _set_head(self, documents: Documents, chosen: Chosen | None) -> None:
        self.word_frequencies_, self.label_frequencies_ = documents.word_frequencies, documents.labels
        self.inverse_document_frequency_, self._occurrences = documents.weights, documents.occurrences
        self.head_ = "bayes" if chosen is None else chosen.head.kind
        self._calibration = None
        if chosen is not None:
            head = chosen.head
            self.word_features_, self.coef_, self.intercept_ = head.features, head.coefficients, head.intercept
            self._penalty, self._explained, self._calibration = head.penalty, head.explained, chosen.calibration

    def _set_topics(self, found: Recovered, topics: Topics) -> None:
        self._share = found.share
        self.word_probabilities_, self.label_probabilities_ = topics.words, topics.labels
        self.weights_ = topics.weights

    def _part_errors(self, found: Recovered, documents: Documents) -> tuple[PartErrors, Topics | None]:
        """l1 distances of the topics' distributions of frequent words to the nearest ones of fits on parts of the rows.

        And the topics of the first half, of the frequent words alone.
        """
        parts, k, labels = found.parts, self.n_components, documents.labels
        if parts is None or not self.n_splits:
            return PartErrors.none("Needs fits on parts of the data: call evidence_.stability(X, Y=Y)."), None
        halves: dict[tuple[int, ...], Topics] = {}

        def finish(part: Topics, groups: tuple[int, ...]) -> np.ndarray:
            halves[groups] = self._finished(part, parts, documents, groups)
            return _sum_one(halves[groups].words)

        fits = PartFits(
            parts.dealt,
            recover=lambda groups: of_part(parts, groups, k, labels),
            finish=finish,
            distance=nearest_distances,
            most=2.0,
            cost="passes" if self._steps else "free" if self.n_splits > 1 else "algebra",
        )
        errors = fits.errors(_sum_one(self.word_probabilities_[:, parts.words]), self.n_splits)
        return errors, halves.get(parts.dealt.splits[0][0])

    def _finished(self, part: Topics, parts: PartMoments, documents: Documents, groups: tuple[int, ...]) -> Topics:
        """A part's topics, of the frequent words, after EM on its rows."""
        if not self._steps:
            return part
        # Rare words have the same probability in all topics until the first step.
        every = np.tile(documents.words, (len(part.weights), 1))
        every[:, parts.words] = part.words
        rows = documents.blocks.group(groups, parts.dealt)
        whole = Topics(every, part.labels, part.weights)
        found = refined_topics(whole, documents, rows, self._steps).parameters
        return Topics(found.words[:, parts.words], found.labels, found.weights)

    # --- use ----------------------------------------------------------------------------------------------------

    @fitted
    def decision_function(self, X: Any) -> np.ndarray:
        """Return raw scores of all labels, shape (n_rows, L): of the linear head, or sum_k gamma_kl P[h = k | x].

        A dense array; for many labels use `top_labels`, or `predict_proba` with ``n_labels``. Of two classes it is the
        difference of their scores, shape (n_rows,).

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or Blocks of shape (n_rows, D)
            Nonnegative weights of words, with the columns of the fit.

        Returns
        -------
        ndarray of shape (n_rows, L), or (n_rows,) for two classes
        """
        return self._two_classes(self._all_scores(X))

    def _all_scores(self, X: Any) -> np.ndarray:
        blocks = table_blocks(self, X, reset=False, what="words")
        self._check_size(blocks.n_rows)
        scores, coordinates = self._scores(), self._coordinates_of()
        return np.concatenate([scores(coordinates(table)) for table in self._tables(blocks)])

    def _two_classes(self, scores: np.ndarray) -> np.ndarray:
        return scores[:, 1] - scores[:, 0] if self._labels.one_class and len(self.classes_) == 2 else scores

    @fitted
    def predict_proba(self, X: Any, n_labels: int | None = None) -> Any:
        """Return probabilities of the labels: a strictly increasing function of the raw scores, the same for all labels.

        For linear heads it is fitted to scores of rows that had no part in them (held out where heads were compared; where
        there is the moment head alone, some rows less what their own labels added), so that of the labels with a
        probability of .3 about three in ten are right. It changes no ranking. Posterior probabilities of ``head="bayes"``
        are left alone. Where ``fit`` was given classes, rows are divided by their sum.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or Blocks of shape (n_rows, D)
        n_labels : int, optional
            Return the probabilities of so many most probable labels of every row.

        Returns
        -------
        ndarray of shape (n_rows, L), or csr_array with ``n_labels`` entries a row
        """
        if n_labels is None:
            proba = self._probability(self._all_scores(X))
            return proba / proba.sum(axis=1, keepdims=True) if self._labels.one_class else proba
        indices, scores = self.top_labels(X, n_labels)
        return _sparse_rows(indices, self._probability(scores), len(self.label_frequencies_))

    @fitted
    def top_labels(self, X: Any, n_labels: int = 5) -> tuple[np.ndarray, np.ndarray]:
        """Return the labels with the highest scores of every row, best first.

        Labels are chosen in single precision, which leaves open the order of scores that agree to about 1e-6; their
        scores are then computed in double precision.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or Blocks of shape (n_rows, D)
            Nonnegative weights of words, with the columns of the fit.
        n_labels : int, default=5
            How many labels of each row.

        Returns
        -------
        labels : ndarray of int32, shape (n_rows, n_labels)
            Column numbers of Y.
        scores : ndarray of shape (n_rows, n_labels)
        """
        n_labels = check_size(n_labels, "n_labels")
        scores, coordinates = self._scores(), self._coordinates_of()
        pieces = [scores.top(coordinates(table), n_labels, self.n_jobs) for table in self._tables(X)]
        return np.concatenate([p[0] for p in pieces]), np.concatenate([p[1] for p in pieces])

    @fitted
    def predict(self, X: Any, n_labels: int | None = None, threshold: float = 0.5) -> Any:
        """Return label sets: the ``n_labels`` most probable labels of every row, or those with a probability of ``threshold``.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or Blocks of shape (n_rows, D)
            Nonnegative weights of words, with the columns of the fit.
        n_labels : int, optional
            How many labels each row gets; by default as many as are probable enough.
        threshold : float, default=0.5
            Least probability of a label, where ``n_labels`` is not given.

        Returns
        -------
        Table of 0 and 1 of shape (n_rows, L), sparse unless ``fit`` was given a dense one; the most probable class of
        every row, shape (n_rows,), where ``fit`` was given classes, whatever ``n_labels`` and ``threshold``.
        """
        if self._labels.one_class:
            return self.classes_[self.top_labels(X, 1)[0][:, 0]]
        check_parameter("threshold", threshold, Number(0, 1, "both"))
        if n_labels is not None:
            indices, _ = self.top_labels(X, n_labels)
            found = _sparse_rows(indices, np.ones(indices.shape, np.int8), len(self.label_frequencies_))
        else:
            scores, coordinates = self._scores(), self._coordinates_of()

            def chosen(part: np.ndarray) -> np.ndarray:
                return self._probability(part) >= threshold

            found = sparse.vstack([scores.where(coordinates(t), chosen) for t in self._tables(X)], format="csr")
        return self._labels.like_fitted(found)

    @fitted
    def posterior(self, X: Any) -> np.ndarray:
        """Return P[h = k | x] of the topics, shape (n_rows, K). That words are absent counts as well, but for counts.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or Blocks of shape (n_rows, D)
            Nonnegative weights of words, with the columns of the fit.

        Returns
        -------
        ndarray of shape (n_rows, K)

        Raises
        ------
        LatentiaError
            With ``topics=False``.
        """
        if not self.topics:
            raise LatentiaError(
                "there are no topics, and so no posterior: fit with topics=True.", parameter="topics", value=False
            )
        posterior = self._posterior_of()
        return np.vstack([posterior(table) for table in self._tables(X)])

    @fitted
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the document-averaged AUC of the label sets, the paper's measure; accuracy where ``fit`` was given classes.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or Blocks of shape (n_rows, D)
            Nonnegative weights of words, with the columns of the fit.
        y : array-like or sparse matrix of shape (n_rows, L), or (n_rows,)
            True label sets, or classes where ``fit`` was given classes.
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the rows.

        Returns
        -------
        float
        """
        if self._labels.one_class:
            return super().score(X, y, sample_weight)
        labels, scores = y if sparse.issparse(y) else np.asarray(y), self._all_scores(X)
        if labels.ndim == 2:
            check_same_rows(X=len(scores), y=labels.shape[0])
        auc = document_auc(labels, scores)
        known = np.isfinite(auc)
        if not known.any():
            raise LatentiaError("No row of y has a label and lacks another: there is no AUC.")
        return float(
            np.average(auc[known], weights=None if sample_weight is None else np.asarray(sample_weight)[known])
        )

    @fitted
    def explain(self, X: Any, labels: Any = None, n_words: int = 5, n_topics: int = 3) -> list[list[Explanation]]:
        """Return the words and topics behind labels of rows.

        Parameters
        ----------
        X : rows, a few of them
        labels : sequence of int, optional
            Columns of Y; by default the three best of every row.
        n_words, n_topics : int
            How many to name.

        Returns
        -------
        A list for every row with an `Explanation` for every label
        """
        for name, n in (("n_words", n_words), ("n_topics", n_topics)):
            check_parameter(name, n, Integer(0))
        labels = None if labels is None else self._columns_of(labels)
        tell = explain_by_topics if self.head == "bayes" else explain_by_head
        scores, coordinates = self._scores(), self._coordinates_of()
        posterior = self._posterior_of() if self.topics else _no_topics
        explanations: list[list[Explanation]] = []
        for table in self._tables(X):
            wanted = scores.top(coordinates(table), 3)[0] if labels is None else np.tile(labels, (table.shape[0], 1))
            explanations += tell(self, table, wanted, posterior(table), n_words=n_words, n_topics=n_topics)
        return explanations

    def _columns_of(self, labels: Any) -> np.ndarray:
        """Checked column numbers of Y."""
        columns, n_labels = np.atleast_1d(np.asarray(labels)), len(self.classes_)
        if columns.dtype.kind not in "iu" or columns.ndim != 1 or not ((columns >= 0) & (columns < n_labels)).all():
            raise LatentiaError(f"labels={labels!r}: columns of Y are needed, whole numbers from 0 to {n_labels - 1}.")
        return columns

    # --- helpers ------------------------------------------------------------------------------------------------

    @property
    def _nouns(self) -> tuple[str, str, str]:  # type: ignore[override]
        return ("topic", "topics", "documents") if self.topics else ("prediction", "predictions", "documents")

    def _tables(self, X: Any) -> Iterator[Any]:
        """Checked tables of new rows, one block at a time."""
        for block in table_blocks(self, X, reset=False, what="words"):
            check_counts(as_counts(block[0]), block.rows, self._word_names())
            yield block[0]

    def _coordinates_of(self) -> Callable[[Any], Any]:
        """Maps a table to what scores are linear in: coordinates (n, H), features of the words (n, D), or the posterior."""
        if self.head == "bayes":
            return self._posterior_of()
        weights, basis = self.inverse_document_frequency_, self.word_features_
        if basis is None:
            return lambda t: features(t, weights)
        return lambda t: project(features(t, weights), basis, self.n_jobs)

    def _posterior_of(self) -> Callable[[Any], np.ndarray]:
        model = self._log_model()
        return lambda table: topic_posterior(words(table, self._occurrences), model, self.n_jobs)

    def _log_model(self) -> LogProbabilities:
        """The topics as posteriors use them."""
        return log_probabilities(
            self.word_probabilities_, self.weights_, occurrences=self._occurrences, threshold=self.eta,
            share=self._share, overall=overall_words(self.word_frequencies_, self._occurrences),
        )  # fmt: skip

    def _label_model(self) -> np.ndarray:
        """Label probabilities of the topics as scores use them, shape (K, L)."""
        return (1 - self._share) * self.label_probabilities_ + self._share * self.label_frequencies_

    def _scores(self) -> LinearScores:
        if self.head == "bayes":
            return LinearScores(self._label_model(), np.zeros(self.label_probabilities_.shape[1]))
        return LinearScores(self.coef_, self.intercept_)

    def _probability(self, scores: np.ndarray) -> np.ndarray:
        return scores if self._calibration is None else self._calibration(scores)

    def _check_size(self, rows: int) -> None:
        size = 8 * rows * len(self.label_frequencies_)
        if size > _MOST_BYTES:
            raise LatentiaError(
                f"Scores of {rows} rows for {len(self.label_frequencies_)} labels take {size / 2**30:.0f} GB: "
                "use top_labels(X, n), or predict_proba(X, n_labels=n)."
            )

    def _word_names(self) -> Any:
        return column_names(self)

    def _names_of_labels(self) -> Any:
        if self.label_names is None and self._labels.one_class:
            return [str(c) for c in self.classes_]
        return self.label_names if self.label_names is not None else self._labels.names

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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.target_tags.required = True
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.poor_score = True
        return tags

    def _check_fitted(self) -> None:
        is_linear = self.head != "bayes"
        needed = ["word_features_", "coef_", "intercept_"] if is_linear else []
        if self.topics:
            needed += ["weights_", "word_probabilities_", "label_probabilities_", "_share", "refinement_"]
        missing = [name for name in needed if name not in vars(self)]
        if missing:
            raise LatentiaError(f"{missing[0]} is missing")
        if is_linear is (self._calibration is None):
            raise LatentiaError("_calibration is not that of the head")
        if is_linear and self.word_features_ is None and len(self.coef_) != self.n_features_in_:
            raise LatentiaError("coef_ has not a row for every word")
        if self.label_names is not None and len(self.label_names) != len(self.label_frequencies_):
            raise LatentiaError("label_names does not name every label")
        np.dtype(self._labels.dtype)


def _no_topics(table: Any) -> np.ndarray:
    """Shares of no topics."""
    return np.zeros((table.shape[0], 0))


def _sparse_rows(indices: np.ndarray, values: np.ndarray, n_columns: int) -> sparse.csr_array:
    """A table with the given columns and values in every row, columns ascending."""
    order = np.argsort(indices, axis=1, kind="stable")
    data, columns = np.take_along_axis(values, order, 1).ravel(), np.take_along_axis(indices, order, 1).ravel()
    indptr = np.arange(len(indices) + 1) * indices.shape[1]
    return sparse.csr_array((data, columns, indptr), shape=(len(indices), n_columns))


def _sum_one(rows: np.ndarray) -> np.ndarray:
    """Word probabilities as distributions."""
    return distributions(rows, np.ones(rows.shape[1]))
