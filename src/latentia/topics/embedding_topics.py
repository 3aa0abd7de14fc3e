"""Topics of documents with embeddings: groups in the space of the embeddings, described by the words of their documents.

Model. Document d has an embedding x_d in R^D, of which only the direction u_d = x_d / |x_d| matters. About the mean direction
u, and in the leading principal directions P, it is

    z_d = P (u_d - u) / |P (u_d - u)|.

"mixture": a document has topic k with probability w_k, and z_d is Gaussian about mu_k with a covariance that all topics share.
"ica": P (u_d - u) = A s_d with independent sources s_d. The sign of source k makes its long tail positive, and the share of
topic k in a document is max(s_dk, 0)^2 divided by the sum of these.

With shares r_dk the probability of word v in topic k is the mean of its frequencies in the documents, weighted by r_dk.

Source: not in the papers. D. Garcia-Romero and C. Espy-Wilson, Interspeech 2011, normalise directions about their mean; see M.
Grootendorst, BERTopic, arXiv 2203.05794, and M. Kardos and others, S3, arXiv 2406.09556, for clusters and for independent
sources of embeddings.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.base import TransformerMixin

from .. import _fields as of
from .._parameters import Choice, NComponents, OrNone, Seed
from .._validation import check_same_rows, column_names, number_table
from ..effects import Memberships
from ..evidence import Check, Evidence
from ..evidence.checks import REAL_OR_SIMULATED
from ..exceptions import LatentiaError, NotSupportedWarning
from ..families import estimator
from ..fitting.base import Estimator, fitted, fitting, halves_of_rows
from ..fitting.covariates import CovariateEffects
from ..metrics import word_probabilities
from ..moments.counts import as_counts, check_counts
from ..passes import Blocks, assign_folds
from ..words import texts_of
from ._documents import WordModel
from ._embedders import Embedder, embed
from .display_words import order_words
from .word_recall import measure_word_recall, word_recall_checks

_SIZES = (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50)
"""Numbers of topics that "auto" compares at least."""
_OVERSAMPLE = 12  # Principal directions beyond the number of topics.
_SHAPE_REMEDY = (
    "Groups differ in shape, or stand for several topics each: compare with more topics, or covariance_type='full'."
)
_TINY = 1e-12  # Shorter vectors have no direction.
_SPREAD, _SHAPE = "spread about components", "better than full covariances"


@dataclass(frozen=True)
class Frame:
    """Mean and principal directions of the directions of embeddings.

    Attributes
    ----------
    mean : ndarray of shape (D,)
        Mean direction.
    basis : ndarray of shape (D, B)
        Principal directions about the mean.
    unit : bool
        Whether coordinates are scaled to length one.
    """

    mean: Annotated[np.ndarray, of.numbers("D")]
    basis: Annotated[np.ndarray, of.numbers("D B")]
    unit: bool

    @classmethod
    def fit(cls, embeddings: np.ndarray, size: int, unit: bool) -> Frame:
        """Compute the ``size`` leading directions of embeddings (n, D)."""
        directions = _normalise_rows(embeddings)
        mean = directions.mean(axis=0)
        directions = directions - mean
        basis = np.linalg.eigh(directions.T @ directions)[1][:, ::-1][:, :size]
        return cls(mean, np.ascontiguousarray(basis), unit)

    def __call__(self, embeddings: np.ndarray) -> np.ndarray:
        """Return the coordinates of embeddings, shape (n, B)."""
        coordinates = (_normalise_rows(embeddings) - self.mean) @ self.basis
        return _normalise_rows(coordinates) if self.unit else coordinates


class EmbeddingTopics(TransformerMixin, CovariateEffects, WordModel):
    """Topics of documents with embeddings, described by their words.

    Embeddings of a language model are close for texts of similar meaning. A mixture finds the groups, and the words of their
    documents describe them. The fit is deterministic, assigns every document to a topic, and measures the reliability of both:
    the groups, and their description by words.

    Choose it instead of BERTopic if every run must give the same topics and no document may be left out. Choose `AnchorTopics`
    or `SingleTopicModel` for words without embeddings.

    Parameters
    ----------
    n_components : int, "auto" or several, default=10
        Number of topics K.
        A range or list tries each value and keeps the one the evidence recommends; "auto" tries 2 to 50 and more. See
        ``n_components_``, ``recommendation_`` and ``comparison_``. Each number costs a fit.
    method : {"mixture", "ica"}, default="mixture"
        "mixture": a document has one topic, with some probability. "ica": topics are independent directions of meaning, and a
        document can have several; it needs more documents.
    covariance_type : {"tied", "full", "diag", "spherical"}, default="tied"
        Shape of the groups of the mixture, see `latentia.mixtures.SphericalGaussianMixture`.
    embedder : callable or str, optional
        Function from a list of texts to an array (n_documents, D), for texts without given embeddings. "model2vec:NAME" and
        "fastembed:NAME" are models of these packages, which read or download them.
    n_splits : int, default=3
        Random splits into halves whose fits give the expected errors; a single one is used. With 0 no errors are measured.
    vocabulary : sequence of str or dict, optional
        Words of the columns, for counts without column names; or a dict from words to columns.
    vectorizer : vectorizer of scikit-learn, optional
        Counts the words of texts; a copy of it is fitted. By default a `latentia.words.WordVectorizer`, for English.
    random_state : int, default=0
        Seed of the splits. None or a RandomState draws a seed.
    n_jobs : int, optional
        Number of threads. Results are bitwise identical for any value.
    verbose : bool or int, default=False
        Whether to show progress and the remaining time.

    Attributes
    ----------
    components_ : ndarray of shape (K, V)
        Word probabilities of the topics, with equal weights of documents; rows sum to one.
    weights_ : ndarray of shape (K,)
        Mean share of every topic in the documents.
    means_ : ndarray of shape (K, D)
        Means of the topics among the directions of the embeddings, see `directions`; unit vectors for "ica".
    recall_ : ndarray of shape (K,)
        Share of the documents of each topic that their words alone assign to it, learned on other documents.
    word_frequencies_ : ndarray of shape (V,)
        Frequencies of the words, documents weighing equally.
    groups_ : SphericalGaussianMixture or TensorICA
        Model of the coordinates of the embeddings.
    vectorizer_ : vectorizer
        Vectorizer that counted the words, if the model was fitted on texts.
    evidence_ : Evidence
        Evidence of the groups, with their expected l2 errors in lengths of a direction, and a check that words identify them.
    n_passes_ : int
        Number of passes over the data, which stay in memory.

    Notes
    -----
    1. Directions of length one are not Gaussian. So a deviation from the Gaussian shape is a note in the evidence instead of a
       caution, and so are different shapes of groups if embeddings have at most K + 12 columns.
    2. The topics are found without the words, so that their recall by words tests both.
    3. Principal directions are those of all documents, also for the fits on halves.

    References
    ----------
    Not in the papers as a whole. M. Grootendorst, BERTopic, arXiv 2203.05794, for clusters of embeddings described by words.
    M. Kardos and others, S3, arXiv 2406.09556, for independent sources of embeddings. D. Garcia-Romero, C. Espy-Wilson,
    Interspeech 2011, for directions about their mean.

    Examples
    --------
    >>> from latentia.datasets import planted
    >>> from latentia.topics import EmbeddingTopics
    >>> data = planted.embedded_corpus(1000, n_topics=4)
    >>> model = EmbeddingTopics(4, vocabulary=data.vocabulary).fit(data.counts, data.embeddings)
    >>> model.top_words(3).shape
    (4, 3)
    """

    _compared: ClassVar = ("means_", "vectorizer_")
    _constraints: ClassVar = {
        "method": Choice("mixture", "ica"), "covariance_type": Choice("tied", "full", "diag", "spherical"),
        "embedder": OrNone(Embedder()),
    }  # fmt: skip
    weights_: Annotated[np.ndarray, of.distributions("K")]
    means_: Annotated[np.ndarray, of.numbers("K D")]
    recall_: Annotated[np.ndarray, of.Field("K", low=0.0, high=1.0, finite=False)]
    groups_: Estimator
    _frame: Frame
    _signs: Annotated[np.ndarray, of.numbers("J", -1.0, 1.0)]
    _joined: Annotated[np.ndarray, of.shares("K J")]
    _confusions: Annotated[np.ndarray, of.optional(of.numbers("* K K"))]

    def __init__(
        self,
        n_components: NComponents = 10,
        *,
        method: str = "mixture",
        covariance_type: str = "tied",
        embedder: str | Callable[[list[str]], Any] | None = None,
        n_splits: int = 3,
        vocabulary: Any = None,
        vectorizer: Any = None,
        random_state: Seed = 0,
        n_jobs: int | None = None,
        verbose: int = False,
    ) -> None:
        self.n_components = n_components
        self.method = method
        self.covariance_type = covariance_type
        self.embedder = embedder
        self.n_splits = n_splits
        self.vocabulary = vocabulary
        self.vectorizer = vectorizer
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # --- fitting ------------------------------------------------------------------------------------------------

    @fitting
    def fit(self, X: Any, embeddings: Any = None) -> EmbeddingTopics:
        """Learn topics.

        Parameters
        ----------
        X : sequence of str, table or Blocks of shape (n_documents, V)
            Texts, or counts of their words. Blocks may have the embeddings as their second part.
        embeddings : array-like of shape (n_documents, D), optional
            Embeddings of the documents in the same order; without them ``embedder`` makes them of the texts.

        Returns
        -------
        self

        Raises
        ------
        LatentiaError
            If a parameter is out of its range, if there is not one embedding for each document, if an entry is not a number,
            or if there are too few documents for the topics.
        """
        counts, table = self._read(X, embeddings)
        coordinates = self._fit_frame(table)
        self.groups_ = self._fit_groups(coordinates)
        self._orient_sources(coordinates)
        shares = self._shares_of(coordinates)
        self._describe_topics(counts, shares)
        self.evidence_ = self._make_evidence(counts, shares).bind(self)
        return self

    def _read_arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        X, embeddings = _split_pair(*args, **kwargs)
        texts = texts_of(X)
        embeddings = self._embed_texts(texts) if embeddings is None else embeddings
        counted, _ = super()._read_arguments((X if texts is None else texts,), {})
        return (*counted, embeddings), {}

    def _candidates(self, X: Any, embeddings: Any = None) -> Sequence[int]:
        """Return all sizes: numbers that are too small, for groups of groups, can have larger errors than the right one."""
        return _SIZES

    def _read(self, X: Any, embeddings: Any) -> tuple[sparse.csr_array, np.ndarray]:
        """Check counts (n, V) and embeddings (n, D)."""
        blocks = list(self._blocks(X, reset=True))
        for block in blocks:
            check_counts(as_counts(block[0]), block.rows, column_names(self))
        counts = sparse.vstack([sparse.csr_array(block[0], dtype=np.float64) for block in blocks], format="csr")
        table = _embedding_table(embeddings, blocks)
        check_same_rows(X=counts.shape[0], embeddings=len(table))
        if not counts.sum():
            raise LatentiaError("Expected documents with words; none of them has a word. Check the vocabulary.")
        self.n_passes_ = 1
        return counts, table

    def _fit_frame(self, table: np.ndarray) -> np.ndarray:
        """Fit the frame; return the coordinates of embeddings in it."""
        mixture, (n, width) = self.method == "mixture", table.shape
        size = self.n_components + (_OVERSAMPLE if mixture else 0)
        max_topics = n if mixture else min(n, width)
        if self.n_components > max_topics:
            raise LatentiaError(
                f"{n} documents with embeddings of {width} columns support at most {max_topics} topics.",
                at_most=max_topics, parameter="n_components", value=self.n_components,
            )  # fmt: skip
        self._frame = Frame.fit(table, min(size, width), unit=mixture)
        return self._frame(table)

    def _fit_groups(self, coordinates: np.ndarray) -> Any:
        """Fit the mixture, or the sources."""
        options = {name: vars(self)[name] for name in ("n_components", "n_splits", "n_jobs", "verbose")}
        options |= {"random_state": self._seed}
        if self.method == "mixture":
            groups = estimator("SphericalGaussianMixture")(covariance_type=self.covariance_type, **options)
        else:
            groups = estimator("TensorICA")(**options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotSupportedWarning)  # This fit has a warning for it.
            return groups.fit(coordinates)

    def _orient_sources(self, coordinates: np.ndarray) -> None:
        """Set the means of the topics, and the signs that make long tails of sources positive."""
        if self.method == "mixture":
            centers = self.groups_.means_  # type: ignore[attr-defined]
            self._signs = np.ones(len(centers))
        else:
            sources = np.asarray(self.groups_.transform(coordinates))  # type: ignore[attr-defined]
            self._signs = np.where((sources**3).sum(axis=0) < 0, -1.0, 1.0)
            centers = _normalise_rows(self.groups_.mixing_.T * self._signs[:, None])  # type: ignore[attr-defined]
        self.means_ = centers @ self._frame.basis.T
        self._joined = np.eye(len(centers))
        self._n_features_out = len(centers)

    def _shares_of(self, coordinates: np.ndarray) -> np.ndarray:
        """Compute the shares of the topics at these coordinates, shape (n, K)."""
        groups: Any = self.groups_
        if self.method == "mixture":
            return np.asarray(groups.predict_proba(coordinates) @ self._joined.T)
        strength = np.maximum(np.asarray(groups.transform(coordinates)) * self._signs, 0.0) ** 2
        total = strength.sum(axis=1, keepdims=True)
        shares = np.where(total > 0, strength / np.where(total > 0, total, 1.0), 1 / strength.shape[1])
        return np.asarray(shares @ self._joined.T)

    def _describe_topics(self, counts: sparse.csr_array, shares: np.ndarray) -> None:
        """Set the shares and words of the topics."""
        self.weights_ = shares.mean(axis=0) / shares.mean(axis=0).sum()
        self.components_ = word_probabilities(counts, shares)
        self.word_frequencies_ = word_probabilities(counts, np.ones((len(shares), 1)))[0]
        self._word_order = order_words(self.components_, self._probabilities_elsewhere(), counts)

    def _make_evidence(self, counts: sparse.csr_array, shares: np.ndarray) -> Evidence:
        """Return the evidence of the groups, with the recall of their words."""
        group_evidence, labels = self.groups_.evidence_, shares.argmax(axis=1)
        self.recall_ = measure_word_recall(
            counts, labels, shares.shape[1], assign_folds(Blocks.from_array(counts), self._seed)
        )
        checks = [_adapt_check(check, self._frame.basis) for check in group_evidence.checks]
        checks += word_recall_checks(self.recall_, labels)
        return Evidence(
            checks, group_evidence.component_errors, shares=self.weights_, found_again=group_evidence.found_again
        )

    def _distances(self, other: EmbeddingTopics) -> np.ndarray:
        return cdist(self.means_, other.means_).min(axis=1)

    def _halves(self, X: Any, random_state: int, **fit_parameters: Any) -> list[dict[str, Any]]:
        X, embeddings = _split_pair(X, **fit_parameters)
        if isinstance(X, Blocks):
            tables = {} if embeddings is None else {"embeddings": embeddings}
            return halves_of_rows(random_state, X=X, **tables)
        texts = texts_of(X)
        embeddings = self._embed_texts(texts) if embeddings is None else embeddings
        return halves_of_rows(random_state, X=self.counted(X), embeddings=np.asarray(embeddings))

    # --- use ----------------------------------------------------------------------------------------------------

    @fitted
    def transform(self, X: Any, embeddings: Any = None) -> np.ndarray:
        """Return the shares of the topics in every document, shape (n_documents, K); of a mixture their probabilities.

        Parameters
        ----------
        X : sequence of str, table or Blocks of shape (n_documents, V), or None
            Documents, as `fit` takes them, or a pair (X, embeddings); topics of documents depend on their embeddings alone.
        embeddings : array-like of shape (n_documents, D), optional
            Their embeddings; without them ``embedder`` makes them of the texts.

        Returns
        -------
        ndarray of shape (n_documents, K)
            Rows sum to one.

        Raises
        ------
        LatentiaError
            If there are no embeddings, if they have another width, or if there is not one for each document.
        """
        return self._shares_of(self._frame(self._table(X, embeddings)))

    def predict(self, X: Any, embeddings: Any = None) -> np.ndarray:
        """Return the topic of every document, shape (n_documents,): the one with the largest share.

        Parameters
        ----------
        X, embeddings : as in `transform`

        Returns
        -------
        ndarray of int, shape (n_documents,)
        """
        return np.asarray(self.transform(X, embeddings)).argmax(axis=1)

    def fit_transform(self, X: Any, embeddings: Any = None) -> np.ndarray:
        """Learn topics, and return their shares in every document.

        Parameters
        ----------
        X, embeddings : as in `fit`

        Returns
        -------
        ndarray of shape (n_documents, K)
        """
        embeddings = self._embed_texts(texts_of(X)) if embeddings is None and self.embedder is not None else embeddings
        return self.fit(X, embeddings).transform(X, embeddings)

    def fit_predict(self, X: Any, embeddings: Any = None) -> np.ndarray:
        """Learn topics, and return the topic of every document.

        Parameters
        ----------
        X, embeddings : as in `fit`

        Returns
        -------
        ndarray of int, shape (n_documents,)
        """
        return np.asarray(self.fit_transform(X, embeddings)).argmax(axis=1)

    @fitted
    def directions(self, X: Any, embeddings: Any = None) -> np.ndarray:
        """Return the directions of documents, of which ``means_`` are means.

        Parameters
        ----------
        X, embeddings : as in `transform`

        Returns
        -------
        ndarray of shape (n_documents, D)
            Of length one with a mixture.
        """
        return self._frame(self._table(X, embeddings)) @ self._frame.basis.T

    def _memberships(self, X: Any) -> Memberships:
        if not isinstance(self.groups_, CovariateEffects) or len(self._joined) < self._joined.shape[1]:
            raise LatentiaError('effects need a mixture whose topics have not been merged: method="mixture".')
        return self.groups_._memberships(self._frame(self._table(X)))

    def _plug_in_shares(self, X: Any) -> np.ndarray:
        return np.asarray(self.transform(X))

    def _names_of_components(self) -> list[str]:
        return [str(name) for name in self.get_feature_names_out()]

    def _merge_parts(self, weights: np.ndarray, joined: np.ndarray) -> None:
        self.weights_, self.means_ = joined @ self.weights_, weights @ self.means_
        self.recall_, self._joined = weights @ np.nan_to_num(self.recall_), joined @ self._joined

    # --- reading ------------------------------------------------------------------------------------------------

    def _embed_texts(self, texts: list[str] | None) -> Any:
        """Embed texts by the embedder; return None without texts or embedder."""
        if texts is not None and self.embedder is not None:
            return embed(texts, self.embedder)
        return None

    def _table(self, X: Any, embeddings: Any = None) -> np.ndarray:
        """Return the checked embeddings of new documents, shape (n, D)."""
        X, embeddings = _split_pair(X, embeddings)
        texts = texts_of(X)
        embeddings = self._embed_texts(texts) if embeddings is None else embeddings
        if isinstance(X, Blocks) or (texts is None and X is not None):
            blocks = list(self._blocks(X, reset=False))
            table = _embedding_table(embeddings, blocks)
            check_same_rows(X=sum(block[0].shape[0] for block in blocks), embeddings=len(table))
        else:
            table = _embedding_table(embeddings, [])
            check_same_rows(X=len(table) if texts is None else len(texts), embeddings=len(table))
        if table.shape[1] != len(self._frame.mean):
            raise LatentiaError(
                f"Expected embeddings of {len(self._frame.mean)} columns, as in the fit; they have {table.shape[1]}."
            )
        return table

    def _check_fitted(self) -> None:
        groups: Any = self.groups_
        size = len(groups.means_ if self.method == "mixture" else groups.components_)
        if size != self._joined.shape[1] or groups.n_features_in_ != self._frame.basis.shape[1]:
            raise LatentiaError("groups_ has other sizes than the topics")


def _normalise_rows(rows: np.ndarray) -> np.ndarray:
    """Scale rows to length one; rows without a direction become zero."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.where(lengths > _TINY, rows / np.where(lengths > _TINY, lengths, 1.0), 0.0)


def _adapt_check(check: Check, basis: np.ndarray) -> Check:
    """Adapt a check of the shape of groups to directions, which are not Gaussian and, in few dimensions, lie in planes."""
    if check.name in (_SPREAD, REAL_OR_SIMULATED) or (check.name == _SHAPE and basis.shape[0] == basis.shape[1]):
        return replace(check, role="note", remedy="")
    return replace(check, role="caution", remedy=_SHAPE_REMEDY) if check.name == _SHAPE else check


def _split_pair(X: Any, embeddings: Any = None) -> tuple[Any, Any]:
    """Split documents and embeddings, which may come as a pair or as the two parts of Blocks."""
    if isinstance(X, tuple) and len(X) == 2 and not isinstance(X[0], str) and embeddings is None:
        return X
    if isinstance(X, Blocks) and embeddings is None and len(X.shapes) < 2:
        raise LatentiaError("The Blocks have no embeddings. Give them as their second part, or as embeddings=.")
    return X, embeddings


def _embedding_table(embeddings: Any, blocks: list[Any]) -> np.ndarray:
    """Check embeddings for finite numbers; by default they are the second part of blocks."""
    if embeddings is None and blocks and len(blocks[0]) > 1:
        embeddings = np.vstack([np.asarray(block[1]) for block in blocks])
    if isinstance(embeddings, Blocks):
        embeddings = embeddings.table()
    if sparse.issparse(embeddings):
        embeddings = embeddings.toarray()
    if embeddings is None or not hasattr(embeddings, "__len__"):
        raise LatentiaError(
            "There are no embeddings. Give an array with a row for each document, embeddings=, or embedder= and texts."
        )
    table = number_table(embeddings, "embeddings", sparse_allowed=False, min_rows=1)
    return np.ascontiguousarray(table, dtype=np.float64)
