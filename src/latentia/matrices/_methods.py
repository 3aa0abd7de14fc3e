"""Methods of every fitted matrix: entries, distances, samples, neighbours, communities, topics."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from .. import _fields as of
from .._parameters import Number, OrNone, check_parameter, seed_of
from .._validation import array_of, column_names, number_array
from ..exceptions import LatentiaError
from ..fitting.base import Estimator, check_size, fitted
from ..linalg import scaled_eigenspace
from ..moments import symmetric_counts
from ._matrix import SymmetricMatrix, WordClusters
from ._moves import move_labels
from ._ordered import (
    AsymmetricMatrix,
)
from ._pair_counts import DenseTable, read_pair_counts, read_square_counts
from ._topics import PairTopics, topics_from_anchors, topics_from_triples
from .factored import LowRankProduct, total_distance

_MAX_ENTRIES = 1 << 28  # entries of an array of rows: 2 GiB


class MatrixMethods(Estimator):
    """Methods of every fitted matrix: entries, distances, samples, neighbours, communities, topics."""

    marginals_: Annotated[np.ndarray, of.shares("V")]
    column_marginals_: Annotated[np.ndarray, of.optional(of.shares("W"))]
    spectrum_: Annotated[np.ndarray, of.numbers("*")]
    noise_level_: Annotated[float, of.number(0.0)]
    n_kept_: Annotated[int, of.count()]
    n_pairs_: Annotated[float, of.number(0.0)]
    embedding_: Annotated[np.ndarray, of.numbers("V E")]
    column_embedding_: Annotated[np.ndarray, of.optional(of.numbers("W E"))]
    components_: Annotated[np.ndarray, of.optional(of.numbers("R V", 0.0))]
    core_: Annotated[np.ndarray, of.optional(of.numbers("R R", 0.0))]
    _matrix: SymmetricMatrix | AsymmetricMatrix
    _scale: Annotated[np.ndarray, of.numbers("V", 0.0)]
    _communities: WordClusters

    @fitted
    def entries(self, i: Any, j: Any) -> np.ndarray:
        """Return probabilities of the pairs (i, j), of the broadcast shape of the two arrays of words.

        Parameters
        ----------
        i : int or array-like of int
            First words of the pairs.
        j : int or array-like of int
            Second words of the pairs.

        Returns
        -------
        ndarray of the broadcast shape of i and j

        Raises
        ------
        LatentiaError
            If there is no such word.
        """
        i, j = self._check_words(i), self._check_words(j, columns=True)
        try:
            np.broadcast_shapes(i.shape, j.shape)
        except ValueError:
            raise LatentiaError(
                f"i has the shape {i.shape} and j {j.shape}: expected equally many words, or shapes that broadcast."
            ) from None
        return self._matrix.entries(i, j)

    @fitted
    def rows(self, i: Any) -> np.ndarray:
        """Return rows of B, shape (M,) for one word and (n, M) for n: nonnegative, and all rows together sum to one.

        The first call makes a pass over the M x M matrix in tiles, to find its sum.

        Parameters
        ----------
        i : int or array-like of int
            Words.

        Returns
        -------
        ndarray of shape (M,) or (n, M)

        Raises
        ------
        LatentiaError
            If there is no such word, or if that many rows do not fit an array.
        """
        words = np.arange(self.n_features_in_)[i] if isinstance(i, slice) else self._check_words(i)
        if words.ndim > 1:
            raise LatentiaError(f"Words have the shape {words.shape}: expected one word, or a list of them.")
        if words.size * self._n_columns > _MAX_ENTRIES:
            raise LatentiaError(
                f"{words.size} rows of {self._n_columns} entries do not fit an array: ask for some rows at a time, or for "
                "entries."
            )
        probabilities = self._matrix.factored.rows(np.atleast_1d(words)) * self._matrix.scale
        return probabilities[0] if words.ndim == 0 else probabilities

    @fitted
    def conditional(self, i: Any) -> np.ndarray:
        """Return probabilities of the other word of a pair given one, shape (M,) or (n, M); rows sum to one.

        Parameters
        ----------
        i : int or array-like of int
            The given words.

        Returns
        -------
        ndarray of shape (M,) or (n, M)
        """
        rows = np.atleast_2d(self.rows(i))
        sums = rows.sum(axis=1, keepdims=True)
        fallback = self.marginals_ if self.symmetric else self.column_marginals_
        probabilities = np.where(sums > 0, rows / np.where(sums > 0, sums, 1.0), fallback)
        return probabilities[0] if np.ndim(i) == 0 and not isinstance(i, slice) else probabilities

    @fitted
    def l1_distance(self, other: Any) -> float:
        """Return sum_ij |B_ij - B'_ij| (0 to 2), in one pass over tiles.

        Parameters
        ----------
        other : ProbabilityMatrix, array of shape (M, M), or anything with ``size`` and ``rows(slice, columns)``
            Such as a planted truth.

        Returns
        -------
        float
        """
        matrix, scale = self._matrix, 1.0
        if isinstance(other, MatrixMethods):
            check_is_fitted(other)
            other, scale = other._matrix.factored, other._matrix.scale
        elif not hasattr(other, "rows"):
            table = number_array(other.toarray() if sparse.issparse(other) else other, "other")
            if table.ndim != 2 or (self.symmetric and table.shape[0] != table.shape[1]):
                raise LatentiaError(f"other has the shape {table.shape}: expected a square array.")
            other = DenseTable(table)
        width = getattr(other, "width", other.size)
        if (other.size, width) != (matrix.factored.size, self._n_columns):
            raise LatentiaError(
                f"The matrices have {matrix.factored.size} and {other.size} words, {self._n_columns} and {width} columns: "
                "expected equally many."
            )
        return total_distance(matrix.factored, other, (matrix.scale, scale), self.n_jobs)

    @fitted
    def score(self, C: Any, y: Any = None) -> float:
        """Return the mean log-likelihood of a pair of held-out counts (M, M) in nats; higher is better.

        B is mixed with 1% of the product of smoothed marginals, so that nothing is impossible.

        Parameters
        ----------
        C : sparse matrix or array-like of shape (M, M)
            Counts of pairs on the same words.
        y : ignored

        Returns
        -------
        float

        Raises
        ------
        LatentiaError
            If C has another size than the data of the fit.
        """
        counts = read_square_counts(C) if self.symmetric else read_pair_counts(C)
        if counts.shape != (self.n_features_in_, self._n_columns):
            expected = f"{self.n_features_in_}" if self.symmetric else f"{self.n_features_in_} x {self._n_columns}"
            actual = f"{counts.shape[0]}" if self.symmetric else f"{counts.shape[0]} x {counts.shape[1]}"
            raise LatentiaError(f"The counts have {actual} words and the model {expected}.")
        return self._matrix.log_likelihood(counts, self.marginals_)

    @fitted
    def sample(self, n_samples: int = 1, random_state: Any = 0) -> np.ndarray:
        """Draw pairs, shape (n_samples, 2).

        Parameters
        ----------
        n_samples : int, default=1
            Number of pairs.
        random_state : int, RandomState or Generator, default=0
            Seed of the draws.

        Returns
        -------
        ndarray of int, shape (n_samples, 2)
        """
        n_samples, rng = check_size(n_samples), np.random.default_rng(seed_of(random_state))
        sums = self._matrix.row_sums()
        if not sums.any():
            raise LatentiaError("The matrix is zero: no pair can be drawn from it.")
        firsts, n = np.unique(np.searchsorted(np.cumsum(sums / sums.sum()), rng.random(n_samples)), return_counts=True)
        firsts = np.minimum(firsts, len(sums) - 1)
        seconds = []
        step = max(1, (1 << 22) // self._n_columns)
        for start in range(0, len(firsts), step):
            cumulated = np.cumsum(np.maximum(self._matrix.factored.rows(firsts[start : start + step]), 0), axis=1)
            for row, times in zip(cumulated, n[start : start + step], strict=True):
                seconds.append(np.searchsorted(row, rng.random(times) * row[-1], side="right"))
        pairs = np.column_stack([np.repeat(firsts, n), np.minimum(np.concatenate(seconds), self._n_columns - 1)])
        return rng.permutation(pairs)

    def _rows_in_memory(self, X: Any) -> np.ndarray:
        """Return pairs of words, a row each, as `sample` draws and `fit_pairs` reads them."""
        pairs = array_of(X, "X")
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            raise LatentiaError(
                f"news: expected pairs of words as numbers, of shape (N, 2), as for fit_pairs; found shape {pairs.shape}."
            )
        return pairs

    def _row_scores(self, X: Any) -> np.ndarray:
        return np.asarray(np.log(np.maximum(self.entries(*X.T), np.finfo(float).tiny)))

    def _draw_alike(self, X: Any, rng: np.random.Generator) -> np.ndarray:
        return self.sample(len(X), rng)

    def _n_rows_of_fit(self) -> float:
        return self.n_pairs_

    def _fit_rest(self, X: Any) -> tuple[Any, int]:
        rest: Any = clone(self).set_params(n_components=1)
        return rest.fit_pairs(X, self.n_features_in_), 0

    @fitted
    def most_similar(self, word: Any, n: int = 10, *, min_count: int = 50) -> list[tuple[Any, float]]:
        """Return words whose embeddings have the largest cosine with that of ``word``, and the cosines, in order.

        Parameters
        ----------
        word : int or str
            A number, or a word of the vocabulary.
        n : int
            Number of words.
        min_count : int
            Least number of times that a word occurs in pairs to be listed; embeddings of rarer words are mostly noise.

        Returns
        -------
        list of (word, cosine)

        Raises
        ------
        LatentiaError
            If the word is not in the vocabulary.
        """
        n = check_size(n, "n")
        check_parameter("min_count", min_count, Number(0, closed="low"))
        names = column_names(self)
        if isinstance(word, str):
            if names is None or word not in list(names):
                raise LatentiaError(f"{word!r} is not in the vocabulary" + (", which was not given." * (names is None)))
            word = list(names).index(word)
        words = self._check_words(word)
        if words.ndim:
            raise LatentiaError(f"word has the shape {words.shape}: expected one word.")
        index = int(words)
        norms = np.linalg.norm(self.embedding_, axis=1)
        if not self.n_kept_ or norms[index] == 0:
            raise LatentiaError(f"Word {word} has no embedding: it occurs in no pair, or the matrix has rank one.")
        cosines = self.embedding_ @ self.embedding_[index] / np.where(norms > 0, norms * norms[index], np.inf)
        cosines[(1 + self.symmetric) * self.n_pairs_ * self.marginals_ < min_count] = -np.inf
        cosines[index] = -np.inf
        n = min(n, len(cosines))
        best = np.flatnonzero(cosines >= np.partition(cosines, -n)[-n])
        best = best[np.argsort(-cosines[best], kind="stable")][:n]
        best = best[np.isfinite(cosines[best])]
        return [(int(k) if names is None else names[k], float(cosines[k])) for k in best]

    @property
    @fitted
    def labels_(self) -> np.ndarray:
        """Communities: R clusters by k-means of the R - 1 leading vectors, shape (M,).

        Rows of the vectors, times their eigenvalues, are scaled to unit length, so that clusters do not follow frequency or
        degree; two communities differ by sign. Directions below the edge are used too; ``evidence_`` shows if they are above
        the noise. `communities` is better for graphs.
        """
        return self._communities.labels

    @fitted
    def communities(self, C: Any, *, resolution: float | None = None) -> np.ndarray:
        """Return ``labels_`` after moves of single nodes along the edges of the graph.

        A node moves to the community with the most edges to it beyond chance, given all degrees, until no node moves; the
        number of communities does not grow. It is more accurate for graphs than ``labels_``, and needs the edges once more.

        Parameters
        ----------
        C : sparse matrix or array-like of shape (M, M)
            The counts or the adjacency matrix that the model was fitted on.
        resolution : float, optional
            Weight of the edges expected by chance: 1 for modularity, more for smaller communities. By default that of the
            most likely degree-corrected block model.

        Returns
        -------
        ndarray of int, shape (M,)

        Raises
        ------
        LatentiaError
            If C has another size than the data of the fit, or the pairs are ordered.

        References
        ----------
        M. Newman, Equivalence between modularity optimization and maximum likelihood methods for community detection, Phys.
        Rev. E 94 (2016).
        """
        check_parameter("resolution", resolution, OrNone(Number(0)))
        if not self.symmetric:
            raise LatentiaError("expected symmetric=True for communities.", parameter="symmetric", value=False)
        counts, _ = symmetric_counts(read_square_counts(C))
        if counts.shape[0] != self.n_features_in_:
            raise LatentiaError(f"The counts have {counts.shape[0]} words and the model {self.n_features_in_}.")
        start, n_clusters = self._communities, min(self.n_components, self.n_features_in_)
        if start.points.shape[1] + 1 < n_clusters:  # with fewer pairs than words the matrix has no directions
            space = scaled_eigenspace(
                counts, n_clusters - 1, tau=self.tau, calibrate=False, random_state=self._seed, n_jobs=self.n_jobs
            )
            start = WordClusters(space.vectors * np.abs(space.observed), self.marginals_, self._seed)
        return move_labels(counts, start.labels, n_clusters, resolution)

    @fitted
    def topics(self, triples: Any = None, *, anchors: Any = None, min_count: int = 20) -> PairTopics:
        """Return a topic model B = P^T W P, from documents of three words or else from anchor words.

        Parameters
        ----------
        triples : array-like of int, shape (n, 3), optional
            Documents of three words each, all of one topic. W is then diagonal.
        anchors : array-like of int, shape (R,), optional
            For each topic a word that occurs in no other topic; by default chosen among the words that occur at least
            ``min_count`` times.
        min_count : int, default=20
            Least number of times that a word occurs to be an anchor.

        Returns
        -------
        PairTopics
        """
        if not self.symmetric:
            raise LatentiaError("expected symmetric=True for topics.", parameter="symmetric", value=False)
        spectral = self._build_spectral_factors()
        rank = spectral.factor.shape[1]
        if rank < self.n_components:
            raise LatentiaError(
                f"{rank} directions are above the noise, which carry at most {rank} topics.",
                at_most=rank, parameter="n_components", value=self.n_components,
            )  # fmt: skip
        if triples is not None:
            if (np.diag(spectral.core) <= 0).any():
                raise LatentiaError("B has a negative eigenvalue, so it has no topics with independent words.")
            return topics_from_triples(spectral, self.marginals_, triples, self._seed)
        check_parameter("min_count", min_count, Number(0, closed="low"))
        min_frequency = min_count / (2 * self.n_pairs_)
        return topics_from_anchors(spectral, self.marginals_, self.n_components, anchors, min_frequency, self.n_jobs)

    def _build_spectral_factors(self) -> LowRankProduct:
        """Return r r^T and the kept directions as factors, without the lower limit of entries."""
        values = np.sign(self.spectrum_) * np.sqrt(np.maximum(self.spectrum_**2 - self.noise_level_**2, 0))
        kept_values = values[: self.n_kept_]
        directions = self.embedding_ / np.sqrt(np.abs(kept_values)) * np.sqrt(self._scale)[:, None]
        return LowRankProduct(
            np.column_stack([self.marginals_, directions]), np.diag(np.concatenate([[1.0], kept_values]))
        )

    @property
    def _n_columns(self) -> int:
        return self.n_features_in_ if self.symmetric else len(self.column_marginals_)

    def _check_words(self, i: Any, columns: bool = False) -> np.ndarray:
        words, size = array_of(i, "words"), self._n_columns if columns else self.n_features_in_
        words = words.astype(np.int64) if not words.size else words
        if words.dtype.kind not in "iu" or (words.size and (words.min() < 0 or words.max() >= size)):
            raise LatentiaError(f"Expected words as whole numbers from 0 to {size - 1}.")
        return words

    def _check_fitted(self) -> None:
        if type(self._matrix) is not (SymmetricMatrix if self.symmetric else AsymmetricMatrix):
            raise LatentiaError("_matrix is not that of pairs with or without order")
        if isinstance(self._matrix, AsymmetricMatrix):
            if not {"column_marginals_", "column_embedding_"} <= vars(self).keys():
                raise LatentiaError("column_marginals_ is missing")
            self._matrix.check()
            return
        factored = self._matrix.factored
        if factored.limits is not None:
            return
        if not hasattr(self, "components_") or not hasattr(self, "core_"):
            raise LatentiaError("_matrix.factored.limits is missing")
        if not np.array_equal(factored.factor, self.components_.T) or not np.array_equal(factored.core, self.core_):
            raise LatentiaError("_matrix.factored is not that of components_ and core_")
