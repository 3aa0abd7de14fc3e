"""Latent Dirichlet allocation by tensor decomposition.

Model. A document draws proportions h from a Dirichlet distribution with parameters alpha_k, sum alpha_0 = a0,
and each of its words from sum_k h_k mu_k. For three different words x_1, x_2, x_3 of a document and m = E[x_1],

    M_2 = E[x_1 x_2] - a0 / (a0 + 1) m m^T                            = sum_k alpha_k / (a0 (a0 + 1)) mu_k mu_k^T,
    M_3 = E[x_1 x_2 x_3] - a0 / (a0 + 2) (E[x_1 x_2 m] + its two rotations)
          + 2 a0^2 / ((a0 + 1) (a0 + 2)) m^(x 3)                      = sum_k 2 alpha_k / (a0 (a0 + 1) (a0 + 2)) mu_k^(x 3).

Whitening by M_2 makes M_3 orthogonal, with eigenvalues lambda_k = 2 / (alpha_0 + 2) (alpha_0 (alpha_0 + 1) /
alpha_k)^(1/2).

Source: A. Anandkumar, D. Foster, D. Hsu, S. Kakade, Y.-K. Liu, A spectral algorithm for latent Dirichlet allocation,
NIPS 2012, for the moments; R. Ge, thesis, Princeton 2013, chapter 7, for the decomposition.
"""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from scipy.optimize import brentq

from ..evidence import Check
from ..exceptions import LatentiaError
from ..moments import WordMoments, lda_corrected
from ..passes import Blocks
from ._by_moments import ByMoments
from ._documents import SMOOTHING, Admixture
from ._refine import refine_topics, smoothed

__all__ = ["SpectralLDA"]

_RANGE = (0.01, 100.0)


class SpectralLDA(Admixture, ByMoments):
    """Latent Dirichlet allocation by tensor decomposition: deterministic, four passes, error bars for every topic.

    When to choose it: documents that mix some topics with proportions that are nearly Dirichlet, and topics without
    words of their own; where topics have such words, `AnchorTopics` assumes less about the proportions. It needs
    topics that are linearly independent, documents of some dozens of words, and some thousands of them.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics K.
    alpha0 : float, optional
        Sum of the Dirichlet parameters: small for documents about one topic, large for documents that mix all of
        them. By default it is found from the moments (difference 1). Too large is better than too
        small: with a true value of 1 the l1 error is 1.2 times as large at 2, and 2.7 times at .5.
    refine : int, default=0
        EM passes over the documents, started from the recovered topics. Outside the theorem; 5 to 10 are worth taking.
    n_splits : int, default=3
        Random splits into halves, at most 3, whose fits give the error bars; they cost no pass over the documents,
        but with ``refine`` one is made and costs as much as refining itself. 0 gives up the error bars.
    vocabulary : sequence of str, optional
        Words of the columns, where the data has no column names.
    random_state : int, default=0
        Seed of the starts and splits; None or a RandomState draws one.
    n_jobs : int, optional
        Threads; the result has the same bits for any number.
    verbose : bool, default=False
        Show progress and the time that remains.

    Attributes
    ----------
    components_ : ndarray of shape (K, V)
        Word probabilities of the topics, the largest share first; rows sum to one.
    dirichlet_ : ndarray of shape (K,)
        Dirichlet parameters of the proportions; their sum is ``alpha0_``.
    alpha0_ : float
        As given, or as found.
    prevalence_ : ndarray of shape (K,)
        Share of each topic, ``dirichlet_ / alpha0_``.
    word_probabilities_ : ndarray of shape (V,)
        Frequencies of the words, documents weighing equally.
    evidence_ : Evidence
        Checks of the assumptions, and expected l1 errors of the topics (``component_errors``).
    n_passes_ : int
        Passes over the documents.

    Notes
    -----
    Differences from the papers:

    1. alpha_0 need not be known. The mean of the words gives the shares alpha_k / alpha_0 without the third moment,
       and these predict the eigenvalues lambda_k; the alpha_0 at which the eigenvalues have, on average, the
       predicted size is taken. It costs no pass over the documents. Where none fits, the end of the range from .01 to
       100 is taken, and the evidence says so.
    2. Moments use all ordered triples of different words of a document, in K + 12 coordinates near the leading
       eigenspace of D^-1/2 E[x_1 x_2] D^-1/2, D = diag(E[x]); nothing of size V x V appears.
    3. Topics come from M_2 W v_k, with negative entries cut, and shares from the mean of the words.
    4. The tensor is decomposed by polar iteration (`latentia.tensor`), not by deflation.
    5. ``refine`` is EM for the topics with the Dirichlet parameters as they were found. A word is attributed to
       topics by the other words of its document: attributing it by point estimates of the proportions, itself
       included, leaves a bias.
    6. Likelihoods use topics mixed with 5% of the word frequencies, so that no word is impossible.

    References
    ----------
    A. Anandkumar, D. Foster, D. Hsu, S. Kakade, Y.-K. Liu, NIPS 2012. R. Ge, thesis 2013, chapter 7.

    Examples
    --------
    >>> from latentia.datasets import planted
    >>> from latentia.topics import SpectralLDA
    >>> corpus = planted.topic_corpus(3000, n_topics=5, n_words=300, length=100, concentration=0.2)
    >>> model = SpectralLDA(5).fit(corpus.counts)
    >>> bool(0.8 < model.alpha0_ < 1.25)
    True
    """

    def __init__(
        self,
        n_components: int = 10,
        *,
        alpha0: float | None = None,
        refine: int = 0,
        n_splits: int = 3,
        vocabulary: Any = None,
        random_state: int = 0,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.alpha0 = alpha0
        self.refine = refine
        self.n_splits = n_splits
        self.vocabulary = vocabulary
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # --- fitting: `fit` is in the base class --------------------------------------------------------------------

    def _prepare(self, moments: WordMoments) -> None:
        self.alpha0_ = float(self.alpha0) if self.alpha0 is not None else self._search_alpha0(moments)

    def _corrected(self, moments: WordMoments) -> WordMoments:
        return lda_corrected(moments, self.alpha0_)

    def _search_alpha0(self, moments: WordMoments) -> float:
        """The alpha_0 at which the eigenvalues have the size that the shares predict."""

        def excess(log_alpha0: float) -> float:
            self.alpha0_ = float(np.exp(log_alpha0))
            found = self._recover(moments)
            predicted = 2 * np.sqrt((self.alpha0_ + 1) / found.shares) / (self.alpha0_ + 2)
            return float(np.log(np.mean(found.fit.weights / predicted)))

        if self.n_components == 1:
            return 1.0  # the proportions of one topic say nothing of alpha_0
        low, high = np.log(_RANGE)
        ends = excess(low), excess(high)
        if ends[0] >= 0 or ends[1] <= 0:
            return _RANGE[0] if ends[0] >= 0 else _RANGE[1]
        return float(np.exp(brentq(excess, low, high, xtol=1e-4)))

    def _refine(self, topics: np.ndarray, shares: np.ndarray, blocks: Blocks) -> tuple[np.ndarray, np.ndarray]:
        options: dict[str, Any] = {"n_jobs": self.n_jobs, "progress": self.verbose, "dirichlet": self.alpha0_ * shares}
        topics = smoothed(topics, self.word_probabilities_, SMOOTHING) if self.refine else topics
        topics, found = refine_topics(topics, blocks, self.word_probabilities_, self.refine, **options)
        return topics, shares if found is None else found

    def _finish(self, topics: np.ndarray, shares: np.ndarray, n_passes: int) -> None:
        self.components_, self.prevalence_, self.dirichlet_ = topics, shares, self.alpha0_ * shares
        self.n_passes_, self._n_features_out = n_passes, len(topics)

    def _model_checks(self) -> list[Check]:
        if self.alpha0 is not None or self.n_components == 1:
            return []
        inside = bool(_RANGE[0] < self.alpha0_ < _RANGE[1])
        return [
            Check(
                "Dirichlet sum", "alpha_0", self.alpha0_, f"in ({_RANGE[0]:g}, {_RANGE[1]:g})", inside,
                "Where the eigenvalues of the tensor agree with the shares of the topics. At an end, they agree nowhere.",
                "Anandkumar et al. 2012",
            )
        ]  # fmt: skip

    def _check_parameters(self) -> None:
        super()._check_parameters()
        given = self.alpha0
        if given is not None and (not isinstance(given, numbers.Real) or not 0 < given < np.inf):
            raise LatentiaError(f"alpha0={given!r}: a positive number is needed, or None to find it.")
