"""Methods of fitted classifiers: scores, probabilities, label sets, topics of rows, explanations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin

from .. import _fields as of
from .._parameters import Integer, Number, check_parameter
from .._validation import array_of, check_same_rows, column_names, number_array, table_blocks, weighted_mean, weights_of
from ..exceptions import LatentiaError
from ..fitting.base import Estimator, check_size, fitted
from ..metrics import document_auc
from ..moments.counts import as_counts, check_counts
from ._calibration import Calibration
from ._documents import overall_words
from ._explain import Explanation, explain_by_head, explain_by_topics
from ._features import features, words
from ._labels import LabelSets, read_classes, read_labels_like
from ._likelihood import LogProbabilities, log_probabilities, topic_posterior
from ._scores import LinearScores, project

_MAX_BYTES = 1 << 34  # bytes of a dense array of scores: 16 GB


def _no_topics(table: Any) -> np.ndarray:
    """Return an empty posterior, of a model without topics."""
    return np.zeros((table.shape[0], 0))


def _sparse_rows(indices: np.ndarray, values: np.ndarray, n_columns: int) -> sparse.csr_array:
    """Return a table with the given columns and values in every row, columns ascending."""
    order = np.argsort(indices, axis=1, kind="stable")
    data, columns = np.take_along_axis(values, order, 1).ravel(), np.take_along_axis(indices, order, 1).ravel()
    indptr = np.arange(len(indices) + 1) * indices.shape[1]
    return sparse.csr_array((data, columns, indptr), shape=(len(indices), n_columns))


class LabelMethods(ClassifierMixin, Estimator):
    """Methods of fitted classifiers: scores, probabilities, label sets, topics of rows, explanations."""

    weights_: Annotated[np.ndarray, of.optional(of.shares("K"))]
    word_probabilities_: Annotated[np.ndarray, of.optional(of.shares("K V"))]
    label_probabilities_: Annotated[np.ndarray, of.optional(of.shares("K L"))]
    word_frequencies_: Annotated[np.ndarray, of.numbers("V", 0.0)]
    label_frequencies_: Annotated[np.ndarray, of.shares("L")]
    inverse_document_frequency_: Annotated[np.ndarray | None, of.numbers("V", 0.0, of.MAX_SINGLE_MAGNITUDE)]
    classes_: Annotated[np.ndarray, of.symbols("L")]
    word_features_: Annotated[np.ndarray | None, of.optional(of.Field("V H", ("float32", "float64")))]
    coef_: Annotated[np.ndarray, of.optional(of.numbers("H L", -of.MAX_SINGLE_MAGNITUDE, of.MAX_SINGLE_MAGNITUDE))]
    intercept_: Annotated[np.ndarray, of.optional(of.numbers("L", -of.MAX_SINGLE_MAGNITUDE, of.MAX_SINGLE_MAGNITUDE))]
    refinement_: Annotated[np.ndarray, of.optional(of.numbers("*"))]
    n_iter_: Annotated[int, of.optional(of.count())]
    converged_: bool
    head_: Literal["bayes", "ridge", "logistic", "full"]
    _labels: LabelSets
    _occurrences: bool
    _calibration: Calibration | None
    _penalty: Annotated[float, of.optional(of.number(0.0))]
    _explained: Annotated[float | None, of.optional(of.number())]
    _share: Annotated[float, of.optional(of.share())]

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
        blocks = table_blocks(self, X, reset=False, column_noun="words")
        self._check_size(blocks.n_rows)
        scores, coordinates = self._scores(), self._coordinates_of()
        return np.concatenate([scores(coordinates(table)) for table in self._tables(blocks)])

    def _two_classes(self, scores: np.ndarray) -> np.ndarray:
        return scores[:, 1] - scores[:, 0] if self._labels.one_class and len(self.classes_) == 2 else scores

    @fitted
    def predict_proba(self, X: Any, n_labels: int | None = None) -> Any:
        """Return probabilities of the labels: a strictly increasing function of the raw scores, the same for all labels.

        For linear heads it is fitted to held-out scores (with the moment head alone, to scores without the contribution of a
        row's own labels), so that about three in ten labels with a probability of .3 are right. It changes no ranking.
        Posterior probabilities of ``head="bayes"`` stay as they are. If ``fit`` was given classes, rows are divided by their
        sum.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or Blocks of shape (n_rows, D)
        n_labels : int, optional
            Return the probabilities of this many labels of every row, the most probable ones.

        Returns
        -------
        ndarray of shape (n_rows, L), or csr_array with ``n_labels`` entries a row
        """
        if n_labels is None:
            proba = self.probability_of(self._all_scores(X))
            return proba / proba.sum(axis=1, keepdims=True) if self._labels.one_class else proba
        indices, scores = self.top_labels(X, n_labels)
        return _sparse_rows(indices, self.probability_of(scores), len(self.label_frequencies_))

    @fitted
    def top_labels(self, X: Any, n_labels: int = 5) -> tuple[np.ndarray, np.ndarray]:
        """Return the labels with the highest scores of every row, best first.

        Labels are chosen in single precision, which does not order scores that agree to about 1e-6; their scores are then
        computed in double precision.

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
    def predict(self, X: Any, n_labels: int | None = None, threshold: float | Literal["f1"] = 0.5) -> Any:
        """Return label sets: the ``n_labels`` most probable labels of every row, or those with a probability of ``threshold``.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or Blocks of shape (n_rows, D)
            Nonnegative weights of words, with the columns of the fit.
        n_labels : int, optional
            Number of labels of each row; by default all that are probable enough.
        threshold : float or "f1", default=0.5
            Smallest probability of a predicted label, if ``n_labels`` is not given. "f1" takes ``threshold_``, which had the
            highest micro F1 on rows that were held out in the fit.

        Returns
        -------
        Table of 0 and 1 of shape (n_rows, L), sparse unless ``fit`` was given a dense one; the most probable class of
        every row, shape (n_rows,), where ``fit`` was given classes, whatever ``n_labels`` and ``threshold``.
        """
        if self._labels.one_class:
            return self.classes_[self.top_labels(X, 1)[0][:, 0]]
        if isinstance(threshold, str) and threshold == "f1":
            threshold = self.threshold_
        check_parameter("threshold", threshold, Number(0, 1, "both"))
        if n_labels is not None:
            indices, _ = self.top_labels(X, n_labels)
            table = _sparse_rows(indices, np.ones(indices.shape, np.int8), len(self.label_frequencies_))
        else:
            scores, coordinates = self._scores(), self._coordinates_of()

            def is_probable(part: np.ndarray) -> np.ndarray:
                return self.probability_of(part) >= threshold

            table = sparse.vstack([scores.where(coordinates(t), is_probable) for t in self._tables(X)], format="csr")
        return self._labels.like_fitted(table)

    @fitted
    def posterior(self, X: Any) -> np.ndarray:
        """Return P[h = k | x] of the topics, shape (n_rows, K). Absent words count too, unless words are counts.

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
                "the model has no topics, and so no posterior. Fit with topics=True.", parameter="topics", value=False
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
            True label sets, also as lists of labels, or classes where ``fit`` was given classes.
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the rows.

        Returns
        -------
        float
        """
        if self._labels.one_class:
            predicted, classes = self.predict(X), read_classes(y, "y")
            check_same_rows(X=len(predicted), y=len(classes))
            return weighted_mean(predicted == classes, sample_weight)
        labels, scores = self._read_label_sets(y), self._all_scores(X)
        check_same_rows(X=len(scores), y=labels.shape[0])
        auc = document_auc(labels, scores)
        weights = weights_of(sample_weight, len(auc))
        is_known = np.isfinite(auc) & (True if weights is None else weights > 0)
        if not is_known.any():
            raise LatentiaError("No row of y has a label and lacks another; the AUC needs such rows.")
        return weighted_mean(auc[is_known], None if weights is None else weights[is_known])

    def _read_label_sets(self, Y: Any, name: str = "y") -> Any:
        """Return label sets of other rows, in any form that ``fit`` takes, with a column for each label of the fit."""
        return read_labels_like(Y, self._labels, name)

    @fitted
    def explain(self, X: Any, labels: Any = None, n_words: int = 5, n_topics: int = 3) -> list[list[Explanation]]:
        """Return the words and topics behind labels of rows.

        Parameters
        ----------
        X : rows, a few of them
        labels : sequence of int, optional
            Columns of Y; by default the three best of every row.
        n_words, n_topics : int
            Numbers of words and topics to name.

        Returns
        -------
        A list for every row with an `Explanation` for every label
        """
        for name, n in (("n_words", n_words), ("n_topics", n_topics)):
            check_parameter(name, n, Integer(0))
        labels = None if labels is None else self._columns_of(labels)
        explain_rows = explain_by_topics if self.head == "bayes" else explain_by_head
        scores, coordinates = self._scores(), self._coordinates_of()
        posterior = self._posterior_of() if self.topics else _no_topics
        explanations: list[list[Explanation]] = []
        for table in self._tables(X):
            labels_of_rows = (
                scores.top(coordinates(table), 3)[0] if labels is None else np.tile(labels, (table.shape[0], 1))
            )
            explanations += explain_rows(
                self, table, labels_of_rows, posterior(table), n_words=n_words, n_topics=n_topics
            )
        return explanations

    def _columns_of(self, labels: Any) -> np.ndarray:
        """Return checked column numbers of Y."""
        columns, n_labels = np.atleast_1d(array_of(labels, "labels")), len(self.classes_)
        if columns.dtype.kind not in "iu" or columns.ndim != 1 or not ((columns >= 0) & (columns < n_labels)).all():
            raise LatentiaError(f"labels={labels!r}; expected columns of Y, whole numbers from 0 to {n_labels - 1}.")
        return columns

    @property
    def _nouns(self) -> tuple[str, str, str]:  # type: ignore[override]
        return ("topic", "topics", "documents") if self.topics else ("prediction", "predictions", "documents")

    def _tables(self, X: Any) -> Iterator[Any]:
        """Yield checked tables of new rows, one block at a time."""
        for block in table_blocks(self, X, reset=False, column_noun="words"):
            check_counts(as_counts(block[0]), block.rows, self.word_names)
            yield block[0]

    def _coordinates_of(self) -> Callable[[Any], Any]:
        """Return the map from a table to the coordinates of linear scores: (n, H), features (n, D), or the posterior."""
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
        """Return the topics in logarithms, as posteriors use them."""
        return log_probabilities(
            self.word_probabilities_, self.weights_, occurrences=self._occurrences, threshold=self.eta,
            share=self._share, overall=overall_words(self.word_frequencies_, self._occurrences),
        )  # fmt: skip

    def _label_model(self) -> np.ndarray:
        """Return label probabilities of the topics as scores use them, shape (K, L)."""
        return (1 - self._share) * self.label_probabilities_ + self._share * self.label_frequencies_

    def _scores(self) -> LinearScores:
        if self.head == "bayes":
            return LinearScores(self._label_model(), np.zeros(self.label_probabilities_.shape[1]))
        return LinearScores(self.coef_, self.intercept_)

    def probability_of(self, scores: np.ndarray) -> np.ndarray:
        """Return the probabilities of raw scores.

        Parameters
        ----------
        scores : ndarray of any shape
            From `top_labels` or `decision_function`.

        Returns
        -------
        ndarray of the same shape
        """
        try:
            scores = number_array(scores, "scores")
        except LatentiaError as error:
            error.problem = f"expected raw scores, as decision_function returns them. {error.problem}"
            raise
        if np.isnan(scores).any():
            raise LatentiaError(
                "expected raw scores, as decision_function returns them; found NaN.", parameter="scores"
            )
        return scores if self._calibration is None else self._calibration(scores)

    @property
    def threshold_(self) -> float:
        """Threshold of probabilities with the highest micro F1 on held-out rows; 0.5 without such rows."""
        return 0.5 if self._calibration is None else self._calibration.threshold

    def _check_size(self, rows: int) -> None:
        size = 8 * rows * len(self.label_frequencies_)
        if size > _MAX_BYTES:
            raise LatentiaError(
                f"Scores of {rows} rows for {len(self.label_frequencies_)} labels take {size / 2**30:.0f} GB: "
                "use top_labels(X, n), or predict_proba(X, n_labels=n)."
            )

    @property
    def one_class(self) -> bool:
        """True if ``fit`` was given one class a row, not label sets."""
        return bool(self._labels.one_class)

    @property
    def word_names(self) -> Any:
        """Words of the columns, if they are known."""
        return column_names(self)

    @property
    def names_of_labels(self) -> Any:
        """Names of the labels: given ones, those of the table, or the classes; None without names."""
        if self.label_names is None and self._labels.one_class:
            return [str(c) for c in self.classes_]
        return self.label_names if self.label_names is not None else self._labels.names

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
