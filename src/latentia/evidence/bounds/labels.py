"""Documents and errors of multi-label learning by moments: Multi-label learning for large text corpora using latent variable
model with provable guarantees, 2017, Theorem 1.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ...exceptions import LatentiaError
from ._positive import check_positive


def multilabel_documents(
    n_components: int,
    *,
    smallest: float,
    pairs: float,
    triples: float,
    imbalance: float = 1.0,
    delta: float = 0.05,
    longest: float = 1.0,
    constant: float = 1.0,
) -> float:
    """Return the documents that multi-label learning by moments needs, max(n_1, n_2, n_3) (Theorem 1 of that paper).

    With e = 1 + sqrt(log(1 / delta) / 2) and sigma the smallest of the K eigenvalues of M_2: n_1 = log K + log log(K
    sqrt(imbalance)), n_2 = (e / (d_2 sigma))^2 and n_3 = K^2 (10 / (d_2 sigma^2.5) + 2 sqrt 2 / (d_3 sigma^1.5))^2 e^2.

    Parameters
    ----------
    n_components : K
    smallest : float
        sigma_K, of M_2 = X^T X / sum nnz^2, whose entries sum to one.
    pairs, triples : float
        d_2 and d_3: means over documents of nnz(x)^2 and nnz(x)^3.
    imbalance : float
        Ratio of the largest to the smallest topic weight.
    delta : float
        Probability of failure.
    longest : float
        Largest nnz(x). The proof assumes |x| <= 1 but divides by d of unscaled vectors; with this number both sides agree:
        d_2 and d_3 are divided by it and by its power 1.5. (The same assumption |y| <= 1 is left as it is.) 1 is as printed.
    constant : float, default=1.0
        Constant of the theorem, which it leaves open.

    Returns
    -------
    float
    """
    check_positive(smallest=smallest, pairs=pairs, triples=triples, longest=longest)
    noise = _whitening_error(smallest, pairs / longest, triples / longest**1.5)
    e, k = _deviation(delta), n_components
    n_1 = math.log(k) + math.log(max(math.log(k * math.sqrt(imbalance)), 1.0))
    n_2 = (e * longest / (pairs * smallest)) ** 2
    return constant * max(n_1, n_2, (k * noise * e) ** 2)


class MultiLabelErrors(NamedTuple):
    """Promised errors: of mu_k = W^+ u_k and gamma_k in l2, and of a weight pi_k."""

    words: float
    labels: float
    weight: float


def multilabel_errors(
    n_documents: int,
    *,
    largest: float,
    smallest: float,
    pairs: float,
    triples: float,
    labelled_pairs: float,
    delta: float = 0.05,
    longest: float = 1.0,
) -> MultiLabelErrors:
    """Return the errors of multi-label learning by moments after N documents (Theorem 1 of that paper).

    Two misprints are corrected according to the paper's proof: the first term of the bound on pi_k has d_2 where d_3 is
    printed (equations 44 and 47), and that on gamma_k has 2 + 2 sqrt 2 where 2 + sqrt 2 is printed (equation 50).

    Parameters
    ----------
    n_documents : N
    largest, smallest : float
        sigma_1 and sigma_K of M_2.
    labelled_pairs : float
        d_l: mean over documents of nnz(y) nnz(x)^2.
    pairs, triples, delta, longest
        As in `multilabel_documents`.

    Returns
    -------
    MultiLabelErrors
    """
    check_positive(n_documents=n_documents, largest=largest, smallest=smallest, labelled_pairs=labelled_pairs)
    d_2, d_3, d_l = pairs / longest, triples / longest**1.5, labelled_pairs / longest
    e, root = _deviation(delta) / math.sqrt(n_documents), math.sqrt(largest)
    tensor = 2 * e * _whitening_error(smallest, d_2, d_3)
    words = 8 * root * tensor + 4 * root * e / (d_2 * smallest)
    whitening = (2 + 2 * math.sqrt(2)) * 2 * e / (d_2 * smallest**2)
    labels = 16 * tensor / smallest + whitening + 8 * _deviation(delta / 2) / math.sqrt(n_documents) / (d_l * smallest)
    return MultiLabelErrors(words, labels, 10 * tensor)


def _whitening_error(smallest: float, d_2: float, d_3: float) -> float:
    return 10 / (d_2 * smallest**2.5) + 2 * math.sqrt(2) / (d_3 * smallest**1.5)


def _deviation(delta: float) -> float:
    if not 0 < delta < 1:
        raise LatentiaError(f"delta={delta}: expected a probability between 0 and 1.")
    return 1 + math.sqrt(math.log(1 / delta) / 2)
