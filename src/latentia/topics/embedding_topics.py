"""Topics of documents that have embeddings: groups in the space of the embeddings, told by the words of their documents.

Model. Document d has an embedding x_d in R^D of which the direction counts, u_d = x_d / |x_d|. About the mean direction, and in
the leading principal directions P, it is

    z_d = P (u_d - u) / |P (u_d - u)|.

"mixture": a document is of topic k with probability w_k, and z_d is Gaussian about mu_k with a covariance that all topics
share. "ica": P (u_d - u) = A s_d with independent sources s_d; source k is turned so that its long tail is positive, and the
share of topic k in a document is max(s_dk, 0)^2 over the sum of these.

With shares r_dk the probability of word v in topic k is the mean of its frequencies in the documents, weighted by r_dk.

Source: not in the papers. Directions about their mean are what D. Garcia-Romero and C. Espy-Wilson make one long, in
Interspeech 2011; see M. Grootendorst, BERTopic, arXiv 2203.05794, and M. Kardos and others, S3, arXiv 2406.09556, for clusters
and for independent sources of embeddings.
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
from ._documents import WithWords
from ._embedders import Embedder, embed
from ._shown import ordered_words
from ._told import recall_of_words, words_tell

_SIZES = (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50)
"""Numbers of topics that "auto" compares at least."""
_OVERSAMPLE = 12  # principal directions beyond the number of topics
_MORE = "Groups differ in shape, or stand for several topics each: compare with more topics, or covariance_type='full'."
_TINY = 1e-12  # of a length
_SPREAD, _SHAPE = "spread about components", "better than full covariances"


@dataclass(frozen=True)
class Frame:
    """What directions of embeddings are seen in.

    Attributes
    ----------
    mean : ndarray of shape (D,)
        Of the directions.
    basis : ndarray of shape (D, B)
        Principal directions about it.
    unit : bool
        Whether what is left is made one long.
    """

    mean: Annotated[np.ndarray, of.numbers("D")]
    basis: Annotated[np.ndarray, of.numbers("D B")]
    unit: bool

    @classmethod
    def of(cls, embeddings: np.ndarray, size: int, unit: bool) -> Frame:
        """The ``size`` leading directions of embeddings (n, D)."""
        directions = _one_long(embeddings)
        mean = directions.mean(axis=0)
        directions = directions - mean
        basis = np.linalg.eigh(directions.T @ directions)[1][:, ::-1][:, :size]
        return cls(mean, np.ascontiguousarray(basis), unit)

    def __call__(self, embeddings: np.ndarray) -> np.ndarray:
        """Coordinates, shape (n, B)."""
        found = (_one_long(embeddings) - self.mean) @ self.basis
        return _one_long(found) if self.unit else found


class EmbeddingTopics(TransformerMixin, CovariateEffects, WithWords):
    """Topics of documents with embeddings, described by their words.

    Embeddings of a language model know which texts mean alike; a mixture finds the groups, and the words of their documents
    tell what they are about. The fit is deterministic, gives every document to a topic, and says how far to trust both:
    the groups, and whether the words identify them.

    Choose it in place of BERTopic where a run must give the topics of the run before, and where no document may be left out.
    Choose `AnchorTopics` or `SingleTopicModel` where there are words alone: they need no embeddings.

    Parameters
    ----------
    n_components : int, "auto" or several, default=10
        Number of topics K.
        A range or list tries each value and keeps the one the evidence recommends; "auto" tries 2 to 50 and more. See
        ``n_components_``, ``recommendation_`` and ``comparison_``. Each number costs a fit.
    method : {"mixture", "ica"}, default="mixture"
        "mixture": a document is of one topic, up to doubt. "ica": topics are independent directions of meaning, and a document
        may be of several; it needs more documents.
    covariance_type : {"tied", "full", "diag", "spherical"}, default="tied"
        Shape of the groups of the mixture, see `latentia.mixtures.SphericalGaussianMixture`.
    embedder : callable or str, optional
        From a list of texts to an array (n_documents, D): it makes the embeddings where none are given. "model2vec:NAME" and
        "fastembed:NAME" are models of these packages, which read or download them.
    n_splits : int, default=3
        Random splits into halves whose fits give the expected errors; a single one is used. With 0 no errors are measured.
    vocabulary : sequence of str or dict, optional
        Words of the columns, where counts are given that have no column names; or a dict from words to columns.
    vectorizer : vectorizer of scikit-learn, optional
        What counts the words of texts; a copy of it is fitted. By default a `latentia.words.WordVectorizer`, for English.
    random_state : int, default=0
        Seed of the splits. None or a RandomState draws a seed.
    n_jobs : int, optional
        Number of threads. Results are bitwise identical for any value.
    verbose : bool or int, default=False
        Whether to show progress and the remaining time.

    Attributes
    ----------
    components_ : ndarray of shape (K, V)
        Word probabilities of the topics, documents weighing equally; rows sum to one.
    weights_ : ndarray of shape (K,)
        Mean share of every topic in the documents.
    means_ : ndarray of shape (K, D)
        Where the topics are among the directions of the embeddings, see `directions`; of "ica" unit vectors.
    recall_ : ndarray of shape (K,)
        Share of the documents of each topic whose words alone name it, learned on other documents.
    word_frequencies_ : ndarray of shape (V,)
        Frequencies of the words, documents weighing equally.
    groups_ : SphericalGaussianMixture or TensorICA
        What was fitted to the coordinates of the embeddings.
    vectorizer_ : vectorizer
        What counted the words, where the model was fitted on texts.
    evidence_ : Evidence
        That of the groups, with their expected l2 errors in lengths of a direction, and whether the words identify them.
    n_passes_ : int
        Number of passes over the data, which is kept in memory.

    Notes
    -----
    1. Directions of length one are no Gaussians: that rows lie otherwise about a topic is a note in the evidence, and no
       caution. So is that groups differ in shape, where embeddings have no more columns than K + 12.
    2. Words take no part in finding the topics, so that how well they identify them is a test of both.
    3. Principal directions are those of all documents, also where parts are fitted for the expected errors.

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
            If a parameter is out of its range, if there are no embeddings, or not one for each document, if an entry is no
            number, or if there are too few documents for the topics.
        """
        counts, table = self._read(X, embeddings)
        coordinates = self._framed(table)
        self.groups_ = self._grouped(coordinates)
        self._turned(coordinates)
        shares = self._shares_of(coordinates)
        self._tell(counts, shares)
        self.evidence_ = self._component_shares(counts, shares).bind(self)
        return self

    def _read_arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        X, embeddings = _pair(*args, **kwargs)
        texts = texts_of(X)
        embeddings = self._embedded(texts) if embeddings is None else embeddings
        counted, _ = super()._read_arguments((X if texts is None else texts,), {})
        return (*counted, embeddings), {}

    def _candidates(self, X: Any, embeddings: Any = None) -> Sequence[int]:
        """All of these: what is too small for groups of groups may have larger errors than what is right."""
        return _SIZES

    def _read(self, X: Any, embeddings: Any) -> tuple[sparse.csr_array, np.ndarray]:
        """Counts (n, V) and embeddings (n, D), checked."""
        blocks = list(self._blocks(X, reset=True))
        for block in blocks:
            check_counts(as_counts(block[0]), block.rows, column_names(self))
        counts = sparse.vstack([sparse.csr_array(block[0], dtype=np.float64) for block in blocks], format="csr")
        table = _numbers(embeddings, blocks)
        check_same_rows(X=counts.shape[0], embeddings=len(table))
        if not counts.sum():
            raise LatentiaError("None of the documents has a word: nothing distinguishes the topics.")
        self.n_passes_ = 1
        return counts, table

    def _framed(self, table: np.ndarray) -> np.ndarray:
        """Coordinates of embeddings, in a frame that is kept."""
        mixture, (n, width) = self.method == "mixture", table.shape
        size = self.n_components + (_OVERSAMPLE if mixture else 0)
        most = n if mixture else min(n, width)
        if self.n_components > most:
            raise LatentiaError(
                f"{n} documents with embeddings of {width} columns support at most {most} topics.",
                at_most=most, parameter="n_components", value=self.n_components,
            )  # fmt: skip
        self._frame = Frame.of(table, min(size, width), unit=mixture)
        return self._frame(table)

    def _grouped(self, coordinates: np.ndarray) -> Any:
        """The mixture, or sources."""
        options = {name: vars(self)[name] for name in ("n_components", "n_splits", "n_jobs", "verbose")}
        options |= {"random_state": self._seed}
        if self.method == "mixture":
            groups = estimator("SphericalGaussianMixture")(covariance_type=self.covariance_type, **options)
        else:
            groups = estimator("TensorICA")(**options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotSupportedWarning)  # this fit says so itself
            return groups.fit(coordinates)

    def _turned(self, coordinates: np.ndarray) -> None:
        """Where the topics are; sources are turned to their long tails."""
        if self.method == "mixture":
            centers = self.groups_.means_  # type: ignore[attr-defined]
            self._signs = np.ones(len(centers))
        else:
            sources = np.asarray(self.groups_.transform(coordinates))  # type: ignore[attr-defined]
            self._signs = np.where((sources**3).sum(axis=0) < 0, -1.0, 1.0)
            centers = _one_long(self.groups_.mixing_.T * self._signs[:, None])  # type: ignore[attr-defined]
        self.means_ = centers @ self._frame.basis.T
        self._joined = np.eye(len(centers))
        self._n_features_out = len(centers)

    def _shares_of(self, coordinates: np.ndarray) -> np.ndarray:
        """Shares of the topics at these coordinates, shape (n, K)."""
        groups: Any = self.groups_
        if self.method == "mixture":
            return np.asarray(groups.predict_proba(coordinates) @ self._joined.T)
        strength = np.maximum(np.asarray(groups.transform(coordinates)) * self._signs, 0.0) ** 2
        total = strength.sum(axis=1, keepdims=True)
        shares = np.where(total > 0, strength / np.where(total > 0, total, 1.0), 1 / strength.shape[1])
        return np.asarray(shares @ self._joined.T)

    def _tell(self, counts: sparse.csr_array, shares: np.ndarray) -> None:
        """Words of the topics."""
        self.weights_ = shares.mean(axis=0) / shares.mean(axis=0).sum()
        self.components_ = word_probabilities(counts, shares)
        self.word_frequencies_ = word_probabilities(counts, np.ones((len(shares), 1)))[0]
        self._word_order = ordered_words(self.components_, self._others(), counts)

    def _component_shares(self, counts: sparse.csr_array, shares: np.ndarray) -> Evidence:
        """The evidence of the groups, and whether the words identify them."""
        of_groups, labels = self.groups_.evidence_, shares.argmax(axis=1)
        self.recall_ = recall_of_words(
            counts, labels, shares.shape[1], assign_folds(Blocks.from_array(counts), self._seed)
        )
        checks = [_on_a_sphere(one, self._frame.basis) for one in of_groups.checks]
        checks += words_tell(self.recall_, labels)
        return Evidence(checks, of_groups.component_errors, shares=self.weights_, found_again=of_groups.found_again)

    def _distances(self, other: EmbeddingTopics) -> np.ndarray:
        return cdist(self.means_, other.means_).min(axis=1)

    def _halves(self, X: Any, random_state: int, **fit_parameters: Any) -> list[dict[str, Any]]:
        X, embeddings = _pair(X, **fit_parameters)
        if isinstance(X, Blocks):
            tables = {} if embeddings is None else {"embeddings": embeddings}
            return halves_of_rows(random_state, X=X, **tables)
        texts = texts_of(X)
        embeddings = self._embedded(texts) if embeddings is None else embeddings
        return halves_of_rows(random_state, X=self.counted(X), embeddings=np.asarray(embeddings))

    # --- use ----------------------------------------------------------------------------------------------------

    @fitted
    def transform(self, X: Any, embeddings: Any = None) -> np.ndarray:
        """Return the shares of the topics in every document, shape (n_documents, K); of a mixture their probabilities.

        Parameters
        ----------
        X : sequence of str, table or Blocks of shape (n_documents, V), or None
            Documents, as `fit` takes them, or a pair (X, embeddings); topics of documents hang on their embeddings alone.
        embeddings : array-like of shape (n_documents, D), optional
            Their embeddings; without them ``embedder`` makes them of the texts.

        Returns
        -------
        ndarray of shape (n_documents, K)
            Rows sum to one.

        Raises
        ------
        LatentiaError
            If there are no embeddings, or such of another width, or not one for each document.
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
        embeddings = self._embedded(texts_of(X)) if embeddings is None and self.embedder is not None else embeddings
        return self.fit(X, embeddings).transform(X, embeddings)

    def fit_predict(self, X: Any, embeddings: Any = None) -> np.ndarray:
        """Learn topics, and return that of every document.

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
        """Return where documents are among the directions of the embeddings: what ``means_`` are means of.

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
            raise LatentiaError(
                'effects are measured of a mixture whose topics have not been merged: method="mixture".'
            )
        return self.groups_._memberships(self._frame(self._table(X)))

    def _plug_in_shares(self, X: Any) -> np.ndarray:
        return np.asarray(self.transform(X))

    def _names_of_components(self) -> list[str]:
        return [str(name) for name in self.get_feature_names_out()]

    def _merge_parts(self, weights: np.ndarray, joined: np.ndarray) -> None:
        self.weights_, self.means_ = joined @ self.weights_, weights @ self.means_
        self.recall_, self._joined = weights @ np.nan_to_num(self.recall_), joined @ self._joined

    # --- reading ------------------------------------------------------------------------------------------------

    def _embedded(self, texts: list[str] | None) -> Any:
        """Embeddings of texts by the embedder; None where there are no texts, so that they must be elsewhere."""
        if texts is not None and self.embedder is not None:
            return embed(texts, self.embedder)
        return None

    def _table(self, X: Any, embeddings: Any = None) -> np.ndarray:
        """Embeddings of new documents, checked, shape (n, D)."""
        X, embeddings = _pair(X, embeddings)
        texts = texts_of(X)
        embeddings = self._embedded(texts) if embeddings is None else embeddings
        if isinstance(X, Blocks) or (texts is None and X is not None):
            blocks = list(self._blocks(X, reset=False))
            table = _numbers(embeddings, blocks)
            check_same_rows(X=sum(block[0].shape[0] for block in blocks), embeddings=len(table))
        else:
            table = _numbers(embeddings, [])
            check_same_rows(X=len(table) if texts is None else len(texts), embeddings=len(table))
        if table.shape[1] != len(self._frame.mean):
            raise LatentiaError(
                f"The embeddings have {table.shape[1]} columns and those of the fit {len(self._frame.mean)}."
            )
        return table

    def _check_fitted(self) -> None:
        groups: Any = self.groups_
        size = len(groups.means_ if self.method == "mixture" else groups.components_)
        if size != self._joined.shape[1] or groups.n_features_in_ != self._frame.basis.shape[1]:
            raise LatentiaError("groups_ has other sizes than the topics")


def _one_long(rows: np.ndarray) -> np.ndarray:
    """Rows of length one; those without a direction are zero."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.where(lengths > _TINY, rows / np.where(lengths > _TINY, lengths, 1.0), 0.0)


def _on_a_sphere(check: Check, basis: np.ndarray) -> Check:
    """Of the shape of groups: none is a Gaussian's, and in few dimensions each lies in a plane of its own."""
    if check.name in (_SPREAD, REAL_OR_SIMULATED) or (check.name == _SHAPE and basis.shape[0] == basis.shape[1]):
        return replace(check, role="note", remedy="")
    return replace(check, role="caution", remedy=_MORE) if check.name == _SHAPE else check


def _pair(X: Any, embeddings: Any = None) -> tuple[Any, Any]:
    """Documents and embeddings, which may come as a pair or as the two parts of Blocks."""
    if isinstance(X, tuple) and len(X) == 2 and not isinstance(X[0], str) and embeddings is None:
        return X
    if isinstance(X, Blocks) and embeddings is None and len(X.shapes) < 2:
        raise LatentiaError("The Blocks have no embeddings: give them as their second part, or as embeddings=.")
    return X, embeddings


def _numbers(embeddings: Any, blocks: list[Any]) -> np.ndarray:
    """Embeddings as finite numbers; where none are given, the second part of blocks."""
    if embeddings is None and blocks and len(blocks[0]) > 1:
        embeddings = np.vstack([np.asarray(block[1]) for block in blocks])
    if isinstance(embeddings, Blocks):
        embeddings = embeddings.table()
    if sparse.issparse(embeddings):
        embeddings = embeddings.toarray()
    if embeddings is None or not hasattr(embeddings, "__len__"):
        raise LatentiaError(
            "There are no embeddings: give an array with a row for each document, embeddings=, or embedder= and texts."
        )
    table = number_table(embeddings, "embeddings", sparse_allowed=False, min_rows=1)
    return np.ascontiguousarray(table, dtype=np.float64)
