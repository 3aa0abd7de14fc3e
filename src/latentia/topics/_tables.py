"""Presentation of topics: their words, tables of topics and documents, topics of a word, and merging of topics."""

from __future__ import annotations

import copy
import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, TypeVar

import numpy as np

from .._frames import row_names_of
from .._parameters import Integer, Number, check_parameter
from .._validation import column_names, list_of, number_table
from ..evidence import Check, Evidence
from ..evidence.checks import EXPECTED_ERROR
from ..exceptions import LatentiaError, MissingExtraError
from ..fitting.base import Estimator, OutputNames, fitted
from ..metrics import RELEVANCE, other_topics, top_words
from ..metrics.relevance import relevance as relevance_of
from ..words import check_texts
from ._plain import PlainTable

_TITLE_WORDS = 3
_SHARE = Number(0, 1, "both")

T = TypeVar("T", bound="TopicTables")


class TopicTables(OutputNames, Estimator):
    """Tables of a model with word probabilities ``components_`` and shares of topics."""

    components_: np.ndarray
    _confusions: np.ndarray
    _word_order: np.ndarray

    @property
    def topic_names(self) -> list[str]:
        """Names of the topics from a command; empty for topics without one."""
        return [str(name) for name in self.reading_.get("topic_names", ())] or [""] * len(self.components_)

    # --- words ------------------------------------------------------------------------------------------------------

    @fitted
    def top_words(self, n: int = 10, *, relevance: float | None = None) -> np.ndarray:
        """Return the words that stand for each topic, the best first.

        By default relevant words that certainly occurred in the same documents as the others, in the data of the fit, come
        first.

        Parameters
        ----------
        n : int
            Number of words.
        relevance : float, optional
            Rank by relevance instead, with this weight of a word's probability in the topic beside its lift, that is, how
            much more probable it is there than in the other topics: 1 ranks by probability, 0 by lift. See
            `latentia.metrics.relevance`.

        Returns
        -------
        ndarray of str, shape (K, n)
            Words without names are "word 0", "word 1", and so on.
        """
        return self._word_labels(self._names())[self.word_columns(n, relevance=relevance)]

    @fitted
    def word_columns(self, n: int = 10, *, relevance: float | None = None) -> np.ndarray:
        """Return the columns of the words that `top_words` returns.

        Parameters
        ----------
        n : int
            Number of words.
        relevance : float, optional
            As in `top_words`.

        Returns
        -------
        ndarray of int, shape (K, n)
        """
        check_parameter("n", n, Integer(1))
        return top_words(self._rank_scores(relevance), n)

    @fitted
    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return names of the topics, the columns of `transform`.

        Parameters
        ----------
        input_features : sequence of str, optional
            Words of the columns, where the model does not know them; those of a data frame that it was fitted on must be
            the same. Not used where it was fitted on texts.

        Returns
        -------
        ndarray of str, shape (K,)
            The name of the topic from a command, or one such as "topic0_god_lord_king", with the topic's first three words;
            without words "anchortopics0" and so on, by the name of the class.
        """
        input_features = None if hasattr(self, "vectorizer_") else input_features  # These name texts, not words.
        plain = super().get_feature_names_out(input_features)
        names = self._names()
        if names is None and input_features is not None and len(input_features) == self.n_features_in_:
            names = input_features
        if names is not None:
            words = self._word_labels(names)[self.word_columns(_TITLE_WORDS)]
            plain = np.array(
                ["_".join([f"topic{k}", *topic_words]) for k, topic_words in enumerate(words)], dtype=object
            )
        given_names = np.array(self.topic_names, dtype=object)
        return np.where(given_names == "", plain, given_names) if any(given_names) else np.asarray(plain)

    @fitted
    def inverse_transform(self, W: Any) -> np.ndarray:
        """Return the expected probabilities of the words of documents with these topics.

        Parameters
        ----------
        W : array-like of shape (n_documents, K)
            Shares of topics, as `transform` returns them.

        Returns
        -------
        ndarray of shape (n_documents, V)
        """
        shares = number_table(W, "W", sparse_allowed=False)
        if shares.shape[1] != len(self.components_) or shares.min() < 0:
            raise LatentiaError(
                f"W: expected nonnegative shares of {len(self.components_)} topics; it has shape {shares.shape}."
            )
        return np.asarray(shares @ self.components_)

    @fitted
    def name_topics(
        self,
        namer: Callable[[list[str], list[str]], str],
        texts: Any,
        shares: Any,
        *,
        n_words: int = 10,
        n_documents: int = 5,
    ) -> list[str]:
        """Name the topics by a function, such as one that asks a language model.

        Parameters
        ----------
        namer : callable
            From the words of a topic and the documents with the largest shares of it, lists of str, to its name. It is called
            once for each topic, in their order; nothing else leaves the machine.
        texts : sequence of str of length n_documents
            Documents.
        shares : array-like of shape (n_documents, K)
            Their shares, as `transform` returns them.
        n_words, n_documents : int
            Most words and documents that ``namer`` is given.

        Returns
        -------
        list of str of length K
        """
        check_parameter("n_documents", n_documents, Integer(1))
        documents, table = check_texts(texts), number_table(shares, "shares", sparse_allowed=False)
        if table.shape != (len(documents), len(self.components_)):
            raise LatentiaError(
                f"shares: expected a row for each of {len(documents)} texts and a column for each of {len(self.components_)} "
                f"topics; it has shape {table.shape}."
            )
        top_documents = np.argsort(-table, axis=0, kind="stable")[:n_documents].T
        words = self.top_words(n_words)
        try:
            return [
                str(namer(list(map(str, topic_words)), [documents[row] for row in rows]))
                for topic_words, rows in zip(words, top_documents, strict=True)
            ]
        except Exception as error:  # A function of the user may raise anything.
            raise LatentiaError(
                f"Called with words and documents, it raised {type(error).__name__}: {error}", parameter="namer"
            ) from error

    # --- tables -----------------------------------------------------------------------------------------------------

    @fitted
    def topic_table(self, n_words: int = 10, *, relevance: float | None = None) -> Any:
        """Return a table of the topics, the largest first.

        Parameters
        ----------
        n_words : int
        relevance : float, optional
            How words are ranked, see `top_words`.

        Returns
        -------
        pandas.DataFrame
            Index: number of the topic. Columns: share of the corpus; expected error and grade, where errors were measured;
            anchor words, where the model has them; and the words that stand for the topic. Without pandas a plain table,
            which prints the same and has ``index``, ``columns``, ``head()``, ``iterrows()`` and ``table["words"]``.
        """
        shares, records = self._topic_shares(), self.evidence_.components
        columns: dict[str, Any] = {"share": shares.tolist()}
        if len(records) == len(shares):
            columns |= {
                "expected error": [record.expected_error for record in records],
                "grade": [record.grade for record in records],
            }
        if hasattr(self, "anchor_words_"):
            columns["anchor words"] = [" ".join(map(str, words)) for words in self.anchor_words_]
        columns["words"] = [" ".join(words) for words in self.top_words(n_words, relevance=relevance)]
        return make_topic_table(columns, np.argsort(-shares, kind="stable").tolist())

    def document_table(self, X: Any, names: Sequence[Any] | None = None) -> Any:
        """Return a table of the shares of all topics in every document.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or Blocks of shape (n_documents, V), or texts
            Documents, in any form that ``fit`` takes.
        names : sequence of length n_documents, optional
            Names of the documents. By default those that X has: the index of a data frame or Series, the names of
            `latentia.datasets.Texts`.

        Returns
        -------
        pandas.DataFrame of shape (n_documents, K)
            Rows sum to one. Columns are named by `get_feature_names_out`.

        Raises
        ------
        MissingExtraError
            pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError:
            raise MissingExtraError("pandas", "data", "document_table") from None
        shares = self.transform(X)  # type: ignore[attr-defined]
        names = None if names is None else pd.Index(list_of(names, "names"), tupleize_cols=False)
        if names is None:
            document_names = getattr(X, "names", None) if hasattr(X, "texts") else row_names_of(X)
            names = document_names if document_names is not None and len(document_names) == len(shares) else None
        elif len(names) != len(shares):
            raise LatentiaError(f"names: expected one for each of {len(shares)} documents; there are {len(names)}.")
        return pd.DataFrame(np.asarray(shares), index=names, columns=self.get_feature_names_out())

    @fitted
    def find_topics(self, words: Any, n: int | None = None, *, relevance: float | None = None) -> Any:
        """Return the topics of a word, the most probable first.

        Parameters
        ----------
        words : str, int or several
            A word or its column. Of several words, probabilities are averaged.
        n : int, optional
            Number of topics; by default all.
        relevance : float, optional
            How words are ranked, see `top_words`.

        Returns
        -------
        pandas.DataFrame
            Index: number of the topic. Columns: probability, that an occurrence of the word belongs to the topic; rank of the
            word among those that stand for the topic, from 1 (of several words the best rank); and these words. Without
            pandas a plain table, as of `topic_table`.

        Raises
        ------
        LatentiaError
            If the model does not have the word. The message names words with a similar spelling.
        """
        if n is not None:
            check_parameter("n", n, Integer(1))
        scores = self._rank_scores(relevance)
        columns = self._columns(words)
        joint = self._topic_shares()[:, None] * self.components_[:, columns]
        total = joint.sum(axis=0)
        # A word without probability in any topic leaves the shares of the topics as they are.
        posterior = np.where(total > 0, joint / np.where(total > 0, total, 1.0), self._topic_shares()[:, None]).mean(
            axis=1
        )
        ranks = [(scores > scores[:, [column]]).sum(axis=1) + 1 for column in columns]
        table = {
            "probability": posterior.tolist(),
            "rank": np.min(ranks, axis=0).tolist(),
            "words": [" ".join(topic_words) for topic_words in self.top_words(relevance=relevance)],
        }
        return make_topic_table(table, np.argsort(-posterior, kind="stable")[:n].tolist())

    # --- merging ----------------------------------------------------------------------------------------------------

    @fitted
    def merge(self: T, groups: Iterable[Iterable[int]]) -> T:
        """Return a model in which groups of topics are merged, without reading the data again.

        Parameters
        ----------
        groups : sequence of sequences of int
            Topics to merge, such as ``[[0, 3], [5, 7]]``.

        Returns
        -------
        estimator
            A new model; this one is unchanged. A merged topic takes the place of the first of its topics, and is their mean,
            weighted by shares. Its expected error is the mean of theirs, an upper bound, as errors of topics that are confused
            with each other cancel. All other checks are those of the topics before merging; ``evidence_.stability(X)`` fits the
            new number of topics again and compares with them.
        """
        parts, shares = self._parse_groups(groups), self._topic_shares()
        weights, joined = np.zeros((2, len(parts), len(shares)))
        for k, part in enumerate(parts):
            part_shares = shares[part]
            weights[k, part] = part_shares / part_shares.sum() if part_shares.sum() > 0 else 1 / len(part)
            joined[k, part] = 1.0
        model = copy.deepcopy(self)
        for name in {"n_components_", "comparison_", "recommendation_"} & vars(
            model
        ).keys():  # They describe the number before merging.
            delattr(model, name)
        model.n_components = len(parts)  # type: ignore[attr-defined]
        model._n_features_out = len(parts)
        model.components_ = weights @ self.components_
        model._merge_parts(weights, joined)
        if hasattr(self, "_confusions"):  # Errors of proportions, by splits.
            model._confusions = joined @ self._confusions @ weights.T
        if hasattr(self, "_word_order"):
            model._word_order = _merge_word_orders(self._word_order, weights)
        model.evidence_ = _merge_evidence(self.evidence_, weights).bind(model)
        return model

    def _merge_parts(self, weights: np.ndarray, joined: np.ndarray) -> None:
        """Merge the attributes of a class: ``weights`` of old topics give new ones, ``joined`` sums over the old ones."""
        raise NotImplementedError

    def _parse_groups(self, groups: Any) -> list[list[int]]:
        """Parse groups; return the old topics of each topic after merging."""
        k = len(self.components_)
        try:
            parsed_groups = [[int(topic) for topic in group if Integer(0).allows(topic)] for group in groups]
            is_valid = [len(parsed) == len(list(group)) for parsed, group in zip(parsed_groups, groups, strict=True)]
        except TypeError:
            raise LatentiaError(
                f"merge: groups={groups!r}; give a list of lists of topics, such as [[0, 3]]."
            ) from None
        chosen = [topic for group in parsed_groups for topic in group]
        if not all(is_valid) or not all(parsed_groups) or any(topic >= k for topic in chosen):
            raise LatentiaError(f"merge: groups={groups!r}; topics are whole numbers from 0 to {k - 1}.")
        if len(set(chosen)) < len(chosen):
            twice = next(topic for topic in chosen if chosen.count(topic) > 1)
            raise LatentiaError(f"merge: topic {twice} is in two groups, or twice in one. Name it once.")
        return sorted([sorted(group) for group in parsed_groups] + [[k] for k in range(k) if k not in chosen])

    # --- helpers ----------------------------------------------------------------------------------------------------

    def _topic_shares(self) -> np.ndarray:
        """Return the share of each topic in the corpus, shape (K,)."""
        shares = self._shares()
        return np.full(len(self.components_), 1 / len(self.components_)) if shares is None else shares

    def _names(self) -> Sequence[str] | None:
        """Return the words of the columns, if known."""
        return column_names(self)

    def _word_labels(self, names: Sequence[str] | None) -> np.ndarray:
        """Return the words of the columns, shape (V,), or "word 0" and so on if unknown."""
        width = self.components_.shape[1]
        return np.array([f"word {i}" for i in range(width)] if names is None else [str(n) for n in names], dtype=object)

    def _relevance(self, weight: float = RELEVANCE) -> np.ndarray:
        """Compute the relevance of each word to each topic, shape (K, V)."""
        return relevance_of(self.components_, self._probabilities_elsewhere(), weight)

    def _probabilities_elsewhere(self) -> np.ndarray:
        """Return the word probabilities of the other topics of each topic, shape (K, V)."""
        return other_topics(self.components_, self._topic_shares())

    def _rank_scores(self, weight: float | None = None) -> np.ndarray:
        """Score each word of each topic, shape (K, V): by relevance, or first the words that are shown first."""
        if weight is not None:
            check_parameter("relevance", weight, _SHARE)
            return self._relevance(weight)
        scores, first = self._relevance(), getattr(self, "_word_order", np.empty((len(self.components_), 0), int))
        np.put_along_axis(scores, first, scores.max() + np.arange(first.shape[1], 0, -1.0)[None], axis=1)
        return scores

    def _columns(self, words: Any) -> list[int]:
        """Return the columns of words that are given by name or column."""
        names, width = self._names(), self.components_.shape[1]
        several = [words] if isinstance(words, (str, Integral)) else list_of(words, "words")
        if not several:
            raise LatentiaError("find_topics: no words were given.")
        places = {} if names is None else {str(name): column for column, name in enumerate(names)}
        return [self._column(word, places, width) for word in several]

    def _column(self, word: Any, places: dict[str, int], width: int) -> int:
        if isinstance(word, Integral) and not isinstance(word, bool):
            if 0 <= int(word) < width:
                return int(word)
            raise LatentiaError(f"find_topics: there is no word {word}; columns are 0 to {width - 1}.")
        if not places:
            raise LatentiaError(
                f"find_topics: {word!r} is a word, and the model knows columns only. Fit it with vocabulary=, or on texts."
            )
        column = places.get(str(word), places.get(str(word).lower()))
        if column is not None:
            return column
        close_words = difflib.get_close_matches(str(word).lower(), places, n=3, cutoff=0.7)
        hint = f" Similar words: {', '.join(close_words)}." if close_words else ""
        if hasattr(self, "vectorizer_"):
            hint += " The vectorizer leaves out stop words, and words in very few or very many documents."
        raise LatentiaError(f"find_topics: {word!r} is not in the vocabulary ({width:,} words).{hint}")


def _merge_word_orders(order: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Merge the orders of words of topics by reciprocal ranks."""
    standing = np.zeros((len(order), order.max(initial=0) + 1))
    np.put_along_axis(standing, order, 1.0 / np.arange(1, order.shape[1] + 1)[None], axis=1)
    return top_words(weights @ standing, order.shape[1])


def _merge_evidence(evidence: Evidence, weights: np.ndarray) -> Evidence:
    """Return the evidence of merged topics, whose errors are at most the means of those before."""
    before = evidence.component_errors
    errors = None if before is None else weights @ before
    checks = [
        replace(check, measured=float(errors.mean())) if check.name == EXPECTED_ERROR and errors is not None else check
        for check in evidence.checks
    ]
    line = Check(
        "merged topics", "K before merging", float(weights.shape[1]), None,
        "The errors are means over the topics that were merged, which are upper bounds; all other checks describe the topics "
        "before merging.",
        "not in the thesis", "note",
    )  # fmt: skip
    return Evidence([*checks, line], errors, subject=evidence.subject)


def make_topic_table(columns: Mapping[str, Sequence[Any]], order: Sequence[int]) -> Any:
    """Return a data frame with a row for each topic, or a `PlainTable` without pandas.

    Parameters
    ----------
    columns : dict of sequences
        Values of all topics, in the order of their numbers.
    order : sequence of int
        Topics in the order of the rows.
    """
    try:
        import pandas  # noqa: F401
    except ImportError:
        return PlainTable({name: [values[k] for k in order] for name, values in columns.items()}, order)
    from ._frames import TopicTable

    frame = TopicTable(columns)
    frame.index.name = "topic"
    return frame.iloc[order]
