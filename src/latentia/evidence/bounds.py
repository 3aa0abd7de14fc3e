"""Sample sizes and errors that the theorems promise, as functions.

The theorems leave out constant factors; ``constant`` stands for all of them and is 1 by default. So the numbers are
orders of magnitude: what they tell is how far the proven regime is, and which quantity to improve.
Sources: Ge, thesis 2013, chapters 2 to 8; Multi-label learning for large text corpora using latent variable model
with provable guarantees, 2017, Theorem 1; Ge and Zou, Rich component analysis, 2015, appendices B and C.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..exceptions import LatentiaError

__all__ = [
    "ApproximateFactorizationBounds",
    "LonerPrograms",
    "MultiLabelErrors",
    "NetworkConditions",
    "PolynomialSystem",
    "RobustLonerBounds",
    "WeakDictionaryBounds",
    "almost_anchor_cover",
    "almost_anchor_noise_limit",
    "anchor_cover",
    "anchor_noise_limit",
    "approximate_factorization_bounds",
    "biased_gradient_error",
    "chance_of_common_neighbour",
    "community_errors",
    "community_strength",
    "contrastive_map_error",
    "contrastive_operations",
    "contrastive_rows",
    "dictionary_rows",
    "dictionary_sparsity",
    "dictionary_svd",
    "dirichlet_topic_documents",
    "disjoint_product",
    "factorization_system",
    "hyperplane_partition_count",
    "hyperplane_partition_operations",
    "l1_condition_number",
    "loner_programs",
    "multilabel_documents",
    "multilabel_errors",
    "network_conditions",
    "network_density",
    "network_rows",
    "noisy_or_error",
    "noisy_or_rows",
    "piercing_probability",
    "rich_component_operations",
    "rich_component_rows",
    "robust_loner_bounds",
    "robust_loner_noise_limit",
    "runoff_threshold",
    "simplicial_factorization_system",
    "support_threshold",
    "tensor_noise_limit",
    "tensor_samples",
    "tensor_vector_error",
    "third_moment_bounds",
    "topic_documents",
    "triple_recovery",
    "weak_dictionary",
]

_LARGEST_TAU = 1e100  # whose powers are in range


def topic_documents(
    eps: float,
    *,
    n_topics: int,
    n_words: int,
    length: float,
    separability: float,
    condition: float,
    imbalance: float = 1.0,
    covariance: bool = False,
    constant: float = 1.0,
) -> float:
    """Documents for entry-wise error eps of the topic matrix (Theorem 3.4).

    max{log n a^4 r^6 / (eps^2 p^6 gamma^2 N), log r a^2 r^4 / gamma^2}, and with ``covariance`` also
    log r r^2 / eps^2 for the topic-topic matrix R.

    Parameters
    ----------
    eps : float
        Additive error of an entry of A.
    n_topics, n_words, length : r, n and N, the words of a document
    separability : float
        p: every topic has an anchor word of at least this probability.
    condition : float
        gamma: l1 condition number of R.
    imbalance : float
        a: ratio of the largest to the smallest expected topic proportion.
    covariance : bool, default=False
        Whether the covariance of topics is to be found as well.
    constant : float, default=1.0
        Constant of the theorem, which it leaves open.

    Returns
    -------
    float
    """
    _positive(eps=eps, separability=separability, condition=condition, length=length)
    r, a, p, gamma = n_topics, imbalance, separability, condition
    sampling = math.log(n_words) * a**4 * r**6 / (eps**2 * p**6 * gamma**2 * length)
    mixing = math.log(max(r, 2)) * a**2 * r**4 / gamma**2
    moments = math.log(max(r, 2)) * r**2 / eps**2 if covariance else 0.0
    return constant * max(sampling, mixing, moments)


def dirichlet_topic_documents(
    eps: float,
    *,
    n_topics: int,
    n_words: int,
    length: float,
    separability: float,
    alpha0: float,
    imbalance: float = 1.0,
    constant: float = 1.0,
) -> float:
    """Documents for error eps of topics and Dirichlet parameters under LDA (Theorem 3.17).

    max{log n a^6 r^8 (alpha0 + 1)^4 / (eps^2 p^6 N), log r a^2 r^4 (alpha0 + 1)^2 / eps^2}, with alpha0 the sum of the
    Dirichlet parameters and the rest as in `topic_documents`.

    Parameters
    ----------
    eps : float
        Error that is asked for.
    n_topics : int
        K.
    n_words : int
        V.
    length : float
        Words of a document.
    separability : float
        p: least probability of an anchor word in its topic.
    alpha0 : float
        Sum of the Dirichlet parameters.
    imbalance : float, default=1.0
        Ratio of the largest to the smallest share.
    constant : float, default=1.0
        Constant of the theorem, which it leaves open.

    Returns
    -------
    float
    """
    _positive(eps=eps, separability=separability, length=length)
    r, a, p = n_topics, imbalance, separability
    sampling = math.log(n_words) * a**6 * r**8 * (alpha0 + 1) ** 4 / (eps**2 * p**6 * length)
    mixing = math.log(max(r, 2)) * a**2 * r**4 * (alpha0 + 1) ** 2 / eps**2
    return constant * max(sampling, mixing)


def anchor_noise_limit(robustness: float, n_topics: int) -> float:
    """Largest l2 noise of a row for which the greedy anchors are proven: 20 K eps / gamma^2 < gamma (Theorem 4.3).

    ``robustness`` is gamma, the least distance of a vertex to the span of the others: the proofs need the span, where
    Definition 4.1 says the convex hull.

    Parameters
    ----------
    robustness : float
        Least distance of a vertex to the span (or the hull) of the others.
    n_topics : int
        K.

    Returns
    -------
    float
    """
    return robustness**3 / (20 * n_topics)


def anchor_cover(noise: float, robustness: float, constant: float = 1.0) -> float:
    """Weight that an anchor may have on other topics, O(eps / gamma) (Theorem 4.3), when eps is below the limit.

    Parameters
    ----------
    noise : float
        Size of the noise.
    robustness : float
        Least distance of a vertex to the span (or the hull) of the others.
    constant : float, default=1.0
        Constant of the theorem, which it leaves open.

    Returns
    -------
    float
    """
    _positive(robustness=robustness)
    return constant * noise / robustness


def l1_condition_number(matrix: np.ndarray) -> float:
    """min over |x|_1 = 1 of |x^T B|_1 for a square matrix B whose rows are scaled to sum one (Definition 3.5).

    With y = x^T B, |x|_1 <= |y|_1 max_j |e_j^T B^-1|_1, and y = e_j attains it: the number is the inverse of the
    largest l1 norm of a row of B^-1, and 0 for a singular matrix.

    Parameters
    ----------
    matrix : array-like of shape (n, m)
        The matrix.

    Returns
    -------
    float
    """
    rows = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    try:
        return 1.0 / float(np.abs(np.linalg.inv(rows)).sum(axis=1).max())
    except np.linalg.LinAlgError:
        return 0.0


def runoff_threshold(eps: float, n_topics: int, imbalance: float = 1.0) -> float:
    """Probability below which a word may join the runoff word at the cost of eps per entry: eps / (4 a r) (Lemma 3.16).

    Parameters
    ----------
    eps : float
        Error of an entry that is accepted.
    n_topics : int
        K.
    imbalance : float, default=1.0
        Ratio of the largest to the smallest share.

    Returns
    -------
    float
    """
    return eps / (4 * imbalance * n_topics)


def tensor_noise_limit(smallest_weight: float, n_components: int, constant: float = 1.0) -> float:
    """Operator norm of the noise up to which the tensor power method is proven: C lambda_min / K (Theorem 7.9).

    Parameters
    ----------
    smallest_weight : float
        Least weight of a component of the tensor.
    n_components : int
        K, the number of components.
    constant : float, default=1.0
        Constant of the theorem, which it leaves open.

    Returns
    -------
    float
    """
    return constant * smallest_weight / n_components


def tensor_vector_error(noise: float, weight: float) -> float:
    """l2 error of a component's vector, 8 eps / lambda_k, where the noise eps is within `tensor_noise_limit` (Theorem 7.9).

    Parameters
    ----------
    noise : float
        Size of the noise.
    weight : float
        Weight of the component.

    Returns
    -------
    float
    """
    _positive(weight=weight)
    return 8 * noise / weight


def tensor_samples(
    n_samples: int, noise: float, smallest_weight: float, n_components: int, constant: float = 1.0
) -> float:
    """Rows at which noise that falls as one over the root of their number would meet `tensor_noise_limit`.

    Parameters
    ----------
    n_samples : int
        Number of rows that the noise was measured on.
    noise : float
        Size of the noise.
    smallest_weight : float
        Least weight of a component of the tensor.
    n_components : int
        K, the number of components.
    constant : float, default=1.0
        Constant of the theorem, which it leaves open.

    Returns
    -------
    float
    """
    _positive(smallest_weight=smallest_weight)
    return n_samples * (noise / tensor_noise_limit(smallest_weight, n_components, constant)) ** 2


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
    """Documents for the guarantee of multi-label learning by moments, max(n_1, n_2, n_3) (Theorem 1 of that paper).

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
        Largest nnz(x). The proof takes |x| <= 1 for granted and divides by the d of vectors that are not scaled to
        that; with this number the sides agree: d_2 and d_3 are divided by it and by its power 1.5. (Of |y| <= 1 the proof
        takes as much for granted, which is left as it is.) One is as printed.
    constant : float, default=1.0
        Constant of the theorem, which it leaves open.

    Returns
    -------
    float
    """
    _positive(smallest=smallest, pairs=pairs, triples=triples, longest=longest)
    noise = _whitened_error(smallest, pairs / longest, triples / longest**1.5)
    e, k = _deviation(delta), n_components
    n_1 = math.log(k) + math.log(max(math.log(k * math.sqrt(imbalance)), 1.0))
    n_2 = (e * longest / (pairs * smallest)) ** 2
    return constant * max(n_1, n_2, (k * noise * e) ** 2)


class MultiLabelErrors(NamedTuple):
    """Errors promised: of mu_k = W^+ u_k and of gamma_k in l2, and of a weight pi_k."""

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
    """Errors of the parameters of multi-label learning by moments after N documents (Theorem 1 of that paper).

    Two misprints are corrected after the paper's own proof: the first term of the bound on pi_k has d_2 where d_3 is
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
    _positive(n_documents=n_documents, largest=largest, smallest=smallest, labelled_pairs=labelled_pairs)
    d_2, d_3, d_l = pairs / longest, triples / longest**1.5, labelled_pairs / longest
    e, root = _deviation(delta) / math.sqrt(n_documents), math.sqrt(largest)
    tensor = 2 * e * _whitened_error(smallest, d_2, d_3)
    words = 8 * root * tensor + 4 * root * e / (d_2 * smallest)
    whitening = (2 + 2 * math.sqrt(2)) * 2 * e / (d_2 * smallest**2)
    labels = 16 * tensor / smallest + whitening + 8 * _deviation(delta / 2) / math.sqrt(n_documents) / (d_l * smallest)
    return MultiLabelErrors(words, labels, 10 * tensor)


def _whitened_error(smallest: float, d_2: float, d_3: float) -> float:
    return 10 / (d_2 * smallest**2.5) + 2 * math.sqrt(2) / (d_3 * smallest**1.5)


def _deviation(delta: float) -> float:
    if not 0 < delta < 1:
        raise LatentiaError(f"delta={delta}: a probability between 0 and 1 is needed.")
    return 1 + math.sqrt(math.log(1 / delta) / 2)


def _positive(**values: float) -> None:
    for name, value in values.items():
        if not value > 0:
            raise LatentiaError(f"{name}={value}: must be positive for the bound to be finite.")


def noisy_or_rows(least_absence: float, n_findings: int, accuracy: float = 0.1) -> float:
    """Rows at which every PMI is within ``accuracy``: log n / (delta^2 min P_S) (Lemmas E.1 and E.2 of the noisy-or paper).

    Parameters
    ----------
    least_absence : float
        Smallest probability that all findings of a pair (E.1) or triple (E.2) are absent.
    n_findings : int
        The union bound is over pairs of findings; the paper prints log m.
    accuracy : float
        delta.

    Returns
    -------
    float
    """
    _positive(least_absence=least_absence, accuracy=accuracy)
    return math.log(max(n_findings, 2)) / (accuracy**2 * least_absence)


def noisy_or_error(n_causes: int, density: float, prior: float, tau: float) -> float:
    """eta = sqrt(m p) rho tau^1.5, the relative l2 error of a column of weights up to a constant and logarithms (Theorem 3.3).

    Parameters
    ----------
    n_causes : m
    density : float
        p, the share of weights that are not zero.
    prior : float
        rho.
    tau : float
        Spectral boundedness.

    Returns
    -------
    float
    """
    if not tau < _LARGEST_TAU:  # no bound at all
        return math.inf
    return math.sqrt(n_causes * density) * prior * tau**1.5


def contrastive_map_error(eps: float, *, norm: float, radius: float, cumulant: float, constant: float = 1.0) -> float:
    """Error of the linear map from fourth cumulants within eps in Frobenius norm: eps |A|^2 R^4 / sigma_4^2 (Lemma B.3).

    Parameters
    ----------
    eps : float
    norm : float
        |A|, at least 1.
    radius : float
        R: all parts are within this distance of zero.
    cumulant : float
        sigma_4, the smallest singular value of the unfolded kappa_4(V, U, U, U).
    constant : float, default=1.0
        Constant of the theorem, which it leaves open.

    Returns
    -------
    float
    """
    _positive(eps=eps, norm=norm, radius=radius, cumulant=cumulant)
    return constant * eps * norm**2 * radius**4 / cumulant**2


def contrastive_rows(
    eta: float,
    *,
    order: int,
    norm: float,
    radius: float,
    cumulant: float,
    least_map: float,
    constant: float = 1.0,
) -> float:
    """Rows for error eta of a cumulant of s1: (t R)^(2 t) |A|^10 R^16 / (sigma_4^4 sigma_A^4 eta^2) (Lemma B.3).

    Parameters
    ----------
    eta : float
        Error in Frobenius norm.
    order : int
        t.
    norm, radius, cumulant
        As in `contrastive_map_error`.
    least_map : float
        sigma_A, the smallest singular value of A.
    constant : float, default=1.0
        Constant of the theorem, which it leaves open.

    Returns
    -------
    float
    """
    _positive(eta=eta, order=order, norm=norm, radius=radius, cumulant=cumulant, least_map=least_map)
    return constant * (order * radius) ** (2 * order) * norm**10 * radius**16 / (cumulant**4 * least_map**4 * eta**2)


def contrastive_operations(n_features: int, order: int, constant: float = 1.0) -> float:
    """Operations for the cumulants of s1, s2 and s3: (t d)^(t + 2) (Theorem 3.2).

    `latentia.contrastive` needs d^t of them a row, and d^(t + 1) once.

    Parameters
    ----------
    n_features : int
        d, the number of features of a view.
    order : int
        t, the order of the cumulants.
    constant : float, default=1.0
        Constant of the theorem, which it leaves open.

    Returns
    -------
    float
    """
    _positive(n_features=n_features, order=order)
    return constant * float(order * n_features) ** (order + 2)


def biased_gradient_error(eps: float, convexity: float) -> float:
    """Distance of the solution of a gradient that is off by eps: 8^(1/2) eps / mu (Lemma 4.1).

    Parameters
    ----------
    eps : float
        Norm of the error of the gradient.
    convexity : float
        mu: the negative log-likelihood is mu-strongly convex.

    Returns
    -------
    float
    """
    _positive(eps=eps, convexity=convexity)
    return math.sqrt(8) * eps / convexity


def rich_component_rows(
    eta: float,
    *,
    n_components: int,
    distinguishing: int,
    chain: int,
    order: int,
    norm: float,
    radius: float,
    cumulant: float,
    least_map: float,
    constant: float = 1.0,
) -> float:
    """Rows for error eta of a cumulant of a component: (p L R |A| / (sigma_A sigma_kappa))^(q (L + t)) / eta^2 (Lemma B.6).

    The lemma has a constant in the exponent, which is ``constant`` here.

    Parameters
    ----------
    eta : float
        Error in Frobenius norm.
    n_components : int
        p.
    distinguishing : int
        L, the size of the largest distinguishing set.
    chain : int
        q, the length of the longest chain of sets that contain each other.
    order : int
        t, at least L.
    norm, radius, least_map
        As in `contrastive_rows`, over all maps that are not zero.
    cumulant : float
        sigma_kappa, the smallest singular value of the unfolded cumulants of order L + 1.
    constant : float, default=1.0
        Constant of the theorem, which it leaves open.

    Returns
    -------
    float
    """
    _positive(eta=eta, norm=norm, radius=radius, cumulant=cumulant, least_map=least_map)
    base = n_components * distinguishing * radius * norm / (least_map * cumulant)
    return base ** (constant * chain * (distinguishing + order)) / eta**2


def rich_component_operations(n_features: int, n_views: int, distinguishing: int, order: int) -> float:
    """Operations for cumulants of all components, up to a power: (L + t)! (d k)^(L + t) (Theorem 3.4).

    Parameters
    ----------
    n_features, n_views : int
        d and k.
    distinguishing, order : int
        L and t.

    Returns
    -------
    float
    """
    return math.factorial(distinguishing + order) * float(n_features * n_views) ** (distinguishing + order)


def community_strength(n_nodes: int, n_components: int, constant: float = 1.0) -> float:
    """(p - q) / sqrt(p) that recovery needs: k / sqrt(n) (Theorem 8.4), p and q being edge probabilities inside and across.

    Parameters
    ----------
    n_nodes : int
        n, the number of nodes.
    n_components : int
        K, the number of components.
    constant : float, default=1.0
        Constant of the theorem, which it leaves open.

    Returns
    -------
    float
    """
    _positive(n_nodes=n_nodes, n_components=n_components)
    return constant * n_components / math.sqrt(n_nodes)


def community_errors(
    n_nodes: int, n_components: int, inside: float, across: float, constant: float = 1.0
) -> tuple[float, float]:
    """Errors of memberships and of connectivity that Theorem 8.4 promises.

    The largest l1 error of a community's memberships over all nodes, sqrt(n p) / (p - q), and that of an entry of P,
    k sqrt(p) / sqrt(n).

    Parameters
    ----------
    n_nodes, n_components : int
        n and k.
    inside, across : float
        p and q, probabilities of edges, p > q.
    constant : float, default=1.0
        Constant of the theorem, which it leaves open.

    Returns
    -------
    (float, float)
        Both numbers, in the order of the summary.
    """
    _positive(n_nodes=n_nodes, n_components=n_components, inside=inside)
    if not 0 <= across < inside:
        raise LatentiaError(f"across={across}: a number of at least 0 and below inside={inside} is needed.")
    memberships = math.sqrt(n_nodes * inside) / (inside - across)
    return constant * memberships, constant * n_components * math.sqrt(inside / n_nodes)


def support_threshold(n_nodes: int, n_components: int, inside: float, across: float, constant: float = 1.0) -> float:
    """xi from which on Algorithm 8.3 finds every membership, and none below half of it (Theorem 8.6).

    sqrt(p) k / ((p - q) sqrt(n)).

    Parameters
    ----------
    n_nodes : int
        n, the number of nodes.
    n_components : int
        K, the number of components.
    inside : float
        Probability of an edge inside of a community.
    across : float
        Probability of an edge between communities.
    constant : float, default=1.0
        Constant of the theorem, which it leaves open.

    Returns
    -------
    float
    """
    _positive(n_nodes=n_nodes, n_components=n_components, inside=inside)
    if not 0 <= across < inside:
        raise LatentiaError(f"across={across}: a number of at least 0 and below inside={inside} is needed.")
    return constant * math.sqrt(inside) * n_components / ((inside - across) * math.sqrt(n_nodes))


def dictionary_sparsity(
    n_features: int, n_components: int, incoherence: float, *, order: int = 3, constant: float = 1.0
) -> float:
    """Atoms a row may use for the connection graph to tell the supports: c min(m^((l - 1) / (2 l - 1)), n^(1/2) / (mu log n)).

    Theorems 5.4, 5.21 and 5.23 for triples, where the first is m^(2/5), and Theorem 5.33 for tuples of ``order`` l.

    Parameters
    ----------
    n_features, n_components : int
        n and m.
    incoherence : float
        mu: n^(1/2) times the largest |A_i . A_j|.
    order : int
        l, at least 3.
    constant : float, default=1.0
        Constant of the theorem, which it leaves open.

    Returns
    -------
    float
    """
    _positive(n_features=n_features - 1, n_components=n_components, incoherence=incoherence, order=order - 2)
    by_atoms = n_components ** ((order - 1) / (2 * order - 1))
    return constant * min(by_atoms, math.sqrt(n_features) / (incoherence * math.log(n_features)))


def dictionary_rows(
    n_components: int, sparsity: float, eps: float | None = None, *, noise: float = 0.0, constant: float = 1.0
) -> float:
    """Rows for error eps of every atom: max{m^2 / k^2 log m, m log m / eps^2, m sigma^2 log m / eps^2}.

    The first is for the supports alone (Theorems 5.21 and 5.33), the others are for the atoms by averages of signed rows
    (Theorems 5.4 and 5.23) and under Gaussian noise of standard deviation sigma.

    Parameters
    ----------
    n_components : int
        m.
    sparsity : float
        k, atoms a row uses.
    eps : float, optional
        l2 distance of an atom; without it the rows are those for the supports.
    noise : float
        sigma, for coefficients of size one.
    constant : float, default=1.0
        Constant of the theorem, which it leaves open.

    Returns
    -------
    float
    """
    _positive(n_components=n_components, sparsity=sparsity)
    rows = (n_components / sparsity) ** 2 * math.log(n_components)
    if eps is not None:
        _positive(eps=eps)
        rows = max(rows, max(1.0, noise**2) * n_components * math.log(n_components) / eps**2)
    return constant * rows


def dictionary_svd(
    n_features: int, n_components: int, sparsity: float, incoherence: float, constant: float = 1.0
) -> tuple[float, float]:
    """Rows, and error zeta of every atom, where atoms are the largest singular vectors of their rows (Theorem 5.28).

    zeta = max{mu k / n^(1/2), (k / m)^(1/2)} (Definition 5.26), which more rows do not make smaller, and
    max{m^2 / k^2 log m, m n log m log n / zeta^2} rows.

    Parameters
    ----------
    n_features, n_components : int
        n and m.
    sparsity, incoherence : float
        k and mu.
    constant : float, default=1.0
        Constant of the theorem, which it leaves open.

    Returns
    -------
    (float, float)
        Both numbers, in the order of the summary.
    """
    _positive(n_features=n_features, n_components=n_components, sparsity=sparsity, incoherence=incoherence)
    zeta = max(incoherence * sparsity / math.sqrt(n_features), math.sqrt(sparsity / n_components))
    logs = math.log(n_components) * math.log(n_features)
    rows = max(dictionary_rows(n_components, sparsity), n_components * n_features * logs / zeta**2)
    return constant * rows, zeta


class WeakDictionaryBounds(NamedTuple):
    """What is promised for coefficients that depend on each other: atoms a row may use, rows, and error of an atom."""

    sparsity: float
    rows: float
    error: float


def weak_dictionary(
    n_features: int,
    n_components: int,
    sparsity: float,
    incoherence: float,
    *,
    slack: float = 0.0,
    constant: float = 1.0,
) -> WeakDictionaryBounds:
    """Bounds where coefficients are neither centred nor independent, and atoms are weakly correlated (Theorem 5.9).

    Sparsity up to min(m^(1/4), n^(1/4 - s/2) / mu^(1/2)), max{m^2 / k^2 log m, m n^(3/2) log m log n / (k^2 mu)} rows, and
    error k mu^(1/2) / n^(1/4 - s/2).

    Parameters
    ----------
    n_features, n_components : int
        n and m.
    sparsity, incoherence : float
        k and mu.
    slack : float
        s: two atoms are used together at most n^s times as often as if they were independent.
    constant : float, default=1.0
        Constant of the theorem, which it leaves open.

    Returns
    -------
    WeakDictionaryBounds
    """
    _positive(n_features=n_features, n_components=n_components, sparsity=sparsity, incoherence=incoherence)
    n, m, k = n_features, n_components, sparsity
    root = n ** (0.25 - slack / 2)
    logs = math.log(m) * math.log(n)
    return WeakDictionaryBounds(
        constant * min(m**0.25, root / math.sqrt(incoherence)),
        constant * max(dictionary_rows(m, k), m * n**1.5 * logs / (k**2 * incoherence)),
        constant * k * math.sqrt(incoherence) / root,
    )


def disjoint_product(
    n_features: int, sparsity: float, incoherence: float, *, certain: bool = True, constant: float = 1.0
) -> float:
    """Largest inner product of two rows without a common atom: their pair is an edge by mistake only where it is above 1/2.

    k^2 mu / n^(1/2) for any signs of the coefficients (Lemma 5.11), and with ``certain=False`` k mu log n / n^(1/2) with high
    probability, for random signs (Lemma 5.13). Coefficients are of size one.

    Parameters
    ----------
    n_features : int
        n, the number of features.
    sparsity : float
        k, the number of atoms that a row uses.
    incoherence : float
        mu: atoms have inner products of at most mu / sqrt(n).
    certain : bool, default=True
        Whether it holds for all pairs of rows, or with high probability.
    constant : float, default=1.0
        Constant of the theorem, which it leaves open.

    Returns
    -------
    float
    """
    _positive(n_features=n_features, sparsity=sparsity, incoherence=incoherence)
    if certain:
        return sparsity**2 * incoherence / math.sqrt(n_features)
    return constant * sparsity * incoherence * math.log(n_features) / math.sqrt(n_features)


def chance_of_common_neighbour(sparsity: float, n_components: int, shared: float = 0.0) -> float:
    """Probability that a row shares atoms with each of three rows that have no atom in common (Lemma 5.19), at most.

    k^6 / m^3 + 3 k^3 (a + b + c) / m^2, where the first two rows share a atoms, and so on: ``shared`` is the sum of the three.
    Rows with a common atom have at least k / (8 m).

    Parameters
    ----------
    sparsity : float
        k, the number of atoms that a row uses.
    n_components : int
        m, the number of atoms.
    shared : float, default=0.0
        a + b + c: how many atoms two of the three rows share, summed over the pairs.

    Returns
    -------
    float
    """
    _positive(sparsity=sparsity, n_components=n_components)
    k, m = sparsity, n_components
    return min(1.0, k**6 / m**3 + 3 * k**3 * shared / m**2)


def piercing_probability(sparsity: float, n_components: int, order: int, shared: float = 1.0) -> float:
    """Probability that a row shares atoms with each of ``order`` rows without a common one, at most (Corollary 5.32).

    sum over 2 <= s < l of (C_s + (l k)^(s - 1)) (k / m)^s, and over s >= l of (l k^2 / m)^s, with C_s = Q s (s + 1) from
    Lemma 5.31. Rows with a common atom have at least 2^-l k / m.

    Parameters
    ----------
    sparsity : float
        k.
    n_components : int
        m.
    order : int
        l, at least 3.
    shared : float
        Q, atoms that two rows share at most.

    Returns
    -------
    float
    """
    _positive(sparsity=sparsity, n_components=n_components, order=order - 2)
    k, m, tuples = sparsity, n_components, order
    few = sum((shared * s * (s + 1) + (tuples * k) ** (s - 1)) * (k / m) ** s for s in range(2, tuples))
    ratio = tuples * k**2 / m
    return min(1.0, few + ratio**tuples / (1 - ratio)) if ratio < 1 else 1.0


def network_rows(n_units: int, density: float, constant: float = 1.0) -> float:
    """Rows for all edges of a sparse network: log^2 n / rho^2 (Theorems 6.1, 6.6 and 6.14).

    Parameters
    ----------
    n_units : int
        n, units of the largest layer.
    density : float
        rho: how often a unit of the top layer is active; of the layer above, for a single layer.
    constant : float, default=1.0
        Constant of the theorem, which it leaves open.

    Returns
    -------
    float
    """
    _positive(n_units=n_units, density=density)
    return constant * (math.log(n_units) / density) ** 2


def network_density(degree: float, *, order: int = 2, constant: float = 1.0) -> float:
    """Density of a hidden layer below which co-firing tells common parents: d^-2 for pairs, d^(-3/2) for triples.

    For pairs this is Theorem 6.6, for triples rho_y^3 << rho of Lemma 6.8, with rho_y = rho d. ``degree`` is d, the number of
    parents of a node.

    Parameters
    ----------
    degree : float
        d, the expected number of parents.
    order : {2, 3}, default=2
        Pairs or triples of columns.
    constant : float, default=1.0
        Constant of the theorem, which it leaves open.

    Returns
    -------
    float
    """
    _positive(degree=degree)
    if order not in (2, 3):
        raise LatentiaError(f"order={order}: use 2 for pairs or 3 for triples.")
    return float(constant * degree ** (-order / (order - 1)))


def triple_recovery(n_units: int, n_nodes: int, degree: float) -> tuple[float, float]:
    """m^3 d'^8 / n^8, far below one where sets are found from triples, and operations m (d'^3 + n) (Theorem 6.20).

    Parameters
    ----------
    n_units, n_nodes : int
        m sets of n nodes.
    degree : float
        d', nodes of a set.

    Returns
    -------
    (float, float)
        Both numbers, in the order of the summary.
    """
    _positive(n_units=n_units, n_nodes=n_nodes, degree=degree)
    return n_units**3 * degree**8 / n_nodes**8, n_units * (degree**3 + n_nodes)


def third_moment_bounds(density: float) -> tuple[float, float]:
    """|E[y_u y_v y_s]| of a real layer: at most rho / 10 without a common parent, at least .6 rho with a single one.

    Theorem 6.21, whose statement has the two numbers in each other's place: the proof has them as here.

    Parameters
    ----------
    density : float
        rho, the share of rows in which a unit is on.

    Returns
    -------
    (float, float)
        Both numbers, in the order of the summary.
    """
    _positive(density=density)
    return 0.1 * density, 0.6 * density


class NetworkConditions(NamedTuple):
    """Ratios that Theorem 6.1 needs far below one, from the lowest layer up; ``real`` is empty for a binary observed layer.

    ``degrees`` has 1 / d_i and 1 / d'_i, ``triples`` n_i^3 d'_(i-1)^8 / n_(i-1)^8, ``densities`` rho_i^3 / rho_(i+1),
    and ``real`` rho_1 d_0 (which need only be bounded), d_0^(3/2) / (d_1 d_2), d_0^(1/2) / d_1 and d_0^2 / n_1.
    """

    degrees: tuple[float, ...]
    triples: tuple[float, ...]
    densities: tuple[float, ...]
    real: tuple[float, ...]


def network_conditions(
    sizes: Sequence[int], degrees: Sequence[float], density: float, *, real: bool = False
) -> NetworkConditions:
    """The conditions of Theorem 6.1, as ratios.

    With rho_(i-1) = rho_i d_(i-1) / 2. Theorem 6.14 has the condition on densities the wrong way round: rho_i^3 << rho_(i+1)
    is what its proof uses.

    Parameters
    ----------
    sizes : sequence of int
        n_0, ..., n_l: units of each layer from the observed one up.
    degrees : sequence of float
        d_0, ..., d_(l-1): parents that a node of layer i has in layer i + 1, of either sign.
    density : float
        rho_l, of the top layer.
    real : bool
        The observed layer is real. Degrees above the top are left out of its ratios.

    Returns
    -------
    NetworkConditions
    """
    if len(degrees) != len(sizes) - 1 or not len(degrees):
        raise LatentiaError(f"sizes={sizes}, degrees={degrees}: a degree for each hidden layer is needed.")
    _positive(density=density, sizes=min(sizes), degrees=min(degrees))
    forward = [d * below / above for d, below, above in zip(degrees, sizes[:-1], sizes[1:], strict=True)]
    rho = [density]
    for d in reversed(degrees):
        rho.insert(0, rho[0] * d / 2)
    triples = [above**3 * d**8 / below**8 for d, below, above in zip(forward, sizes[:-1], sizes[1:], strict=True)]
    first = 1 if real else 0
    densities = [rho[i] ** 3 / rho[i + 1] for i in range(first, len(degrees))]
    of_real: list[float] = []
    if real:
        above = list(degrees[1:3])
        d = degrees[0]
        of_real = [rho[1] * d]
        if above:
            of_real += [d**1.5 / math.prod(above), math.sqrt(d) / above[0]]
        of_real.append(d**2 / sizes[1])
    ratios = [1 / d for d in [*degrees, *forward]]
    return NetworkConditions(tuple(ratios), tuple(triples), tuple(densities), tuple(of_real))


class PolynomialSystem(NamedTuple):
    """Systems of polynomial inequalities whose solutions are nonnegative factorizations.

    ``log10_operations`` is for all of them, with the constant in the exponent.
    """

    n_variables: int
    n_constraints: int
    degree: int
    log10_operations: float


def simplicial_factorization_system(n_rows: int, n_columns: int, rank: int, constant: float = 1.0) -> PolynomialSystem:
    """What decides whether a matrix of rank r has a nonnegative factorization by r components: (n m)^(c r^2) (Theorem 2.6).

    The unknowns are S and T, of shape (r, r), with A = C S and W = T R for independent columns C and rows R: entries of both
    are nonnegative, and C S T R = M.

    Parameters
    ----------
    n_rows : int
        n, the number of rows.
    n_columns : int
        m, the number of columns.
    rank : int
        r.
    constant : float, default=1.0
        Constant of the theorem, which it leaves open.

    Returns
    -------
    PolynomialSystem
    """
    _positive(n_rows=n_rows, n_columns=n_columns, rank=rank)
    n, m, r = n_rows, n_columns, rank
    return PolynomialSystem(2 * r**2, (n + m) * r + n * m, 2, constant * r**2 * math.log10(n * m))


def factorization_system(n_rows: int, n_columns: int, n_components: int, constant: float = 1.0) -> PolynomialSystem:
    """What decides whether the nonnegative rank is at most r: (n m)^(c r^2 2^r) (Theorem 2.24).

    For every pair of partitions of the rows and of the columns (Corollary 2.23) a system in up to 2^r maps of shape (r, r) for
    each factor. Moitra 2012 needs no more than (n m)^(c r^2).

    Parameters
    ----------
    n_rows : int
        n, the number of rows.
    n_columns : int
        m, the number of columns.
    n_components : int
        K, the number of components.
    constant : float, default=1.0
        Constant of the theorem, which it leaves open.

    Returns
    -------
    PolynomialSystem
    """
    _positive(n_rows=n_rows, n_columns=n_columns, n_components=n_components)
    n, m, r = n_rows, n_columns, n_components
    return PolynomialSystem(2 * r**2 * 2**r, (n + m) * r + n * m, 2, constant * r**2 * 2.0**r * math.log10(n * m))


def hyperplane_partition_count(n_points: int, rank: int, *, affine: bool = False) -> int:
    """Most partitions of n points of rank s by a hyperplane through 0: 2 sum over i < s of (n - 1 over i) (Cover 1965).

    This is reached in general position, without a hyperplane through points; ``affine`` is for hyperplanes anywhere. Partitions
    that put the points in the hyperplane on one side can be more if points are opposite to each other.

    Parameters
    ----------
    n_points : int
        n, the number of points.
    rank : int
        s, the rank of the points.
    affine : bool, default=False
        Whether hyperplanes need not contain the origin.

    Returns
    -------
    int
    """
    _positive(n_points=n_points, rank=rank)
    return 2 * sum(math.comb(n_points - 1, i) for i in range(rank + affine))


def hyperplane_partition_operations(n_points: int, rank: int, constant: float = 1.0) -> float:
    """Choices by which all hyperplane partitions are listed: m^s (s + 2)^s (Theorem 2.22).

    `latentia.nmf.hyperplane_partitions` goes through the (m over s - 1) hyperplanes of independent points instead.

    Parameters
    ----------
    n_points : int
        n, the number of points.
    rank : int
        s, the rank of the points.
    constant : float, default=1.0
        Constant of the theorem, which it leaves open.

    Returns
    -------
    float
    """
    _positive(n_points=n_points, rank=rank)
    return constant * (n_points * (rank + 2.0)) ** rank


class LonerPrograms(NamedTuple):
    """Linear programs that tell loners, each with these numbers of variables and of equations."""

    n_programs: int
    n_variables: int
    n_equations: int


def loner_programs(n_rows: int, n_columns: int) -> LonerPrograms:
    """What an exact separable factorization takes: is a row in the convex hull of the other ones, for each row (Theorem 2.46).

    Copies of a row are left out of its program. There is no condition: M = A W has to hold exactly.

    Parameters
    ----------
    n_rows : int
        n, the number of rows.
    n_columns : int
        m, the number of columns.

    Returns
    -------
    LonerPrograms
    """
    _positive(n_rows=n_rows - 1, n_columns=n_columns)
    return LonerPrograms(n_rows, n_rows - 1, n_columns + 1)


class RobustLonerBounds(NamedTuple):
    """What Theorem 2.48 promises of robust loners.

    Attributes
    ----------
    distance : float
        d: rows of l1 distance below it are left out when a row is tested. A robust loner is within d + eps of a row of W.
    margin : float
        Above 0 where the theorem holds.
    residual : float
        l1 norm of a row of M' - A' W', at most.
    """

    distance: float
    margin: float
    residual: float


def robust_loner_bounds(eps: float, robustness: float) -> RobustLonerBounds:
    """d = 10 eps / alpha + 2 eps, residual d + 2 eps, if 40 eps / alpha + 13 eps < alpha (Theorem 2.48).

    The thesis has half of the terms in 1 / alpha. But a row with the share x of other components is up to 2 x from its anchor,
    so that leaving out rows within d leaves out those with x <= 5 eps / alpha only if d >= 10 eps / alpha + 2 eps.

    Parameters
    ----------
    eps : float
        l1 noise of a row of M', whose noiseless rows sum to one.
    robustness : float
        alpha: no row of W is closer to the convex hull of the others, in l1.

    Returns
    -------
    RobustLonerBounds
    """
    _positive(robustness=robustness)
    distance = 10 * eps / robustness + 2 * eps
    return RobustLonerBounds(distance, robustness - (40 * eps / robustness + 13 * eps), distance + 2 * eps)


def robust_loner_noise_limit(robustness: float) -> float:
    """Largest l1 noise of a row for which robust loners are proven to be anchors: alpha^2 / (40 + 13 alpha) (Theorem 2.48).

    Parameters
    ----------
    robustness : float
        Least distance of a vertex to the span (or the hull) of the others.

    Returns
    -------
    float
    """
    return robustness**2 / (40 + 13 * robustness)


class ApproximateFactorizationBounds(NamedTuple):
    """Relative error that is proven, and delta, below which singular values of A are left to the convex program."""

    error: float
    cutoff: float


def approximate_factorization_bounds(
    eps: float, n_components: int, constant: float = 1.0
) -> ApproximateFactorizationBounds:
    """Error eps^(1/2) r^(1/4) in Frobenius norm, with delta = (eps / r^(1/2))^(1/2) (Theorem 2.49).

    ``eps`` is the relative error of the best nonnegative factorization by r components. Lemma 2.53 needs the factor A' from a
    nonnegative least-squares problem, which the text does not say.

    Parameters
    ----------
    eps : float
        Error that is asked for.
    n_components : int
        K, the number of components.
    constant : float, default=1.0
        Constant of the theorem, which it leaves open.

    Returns
    -------
    ApproximateFactorizationBounds
    """
    _positive(n_components=n_components)
    return ApproximateFactorizationBounds(
        constant * math.sqrt(eps) * n_components**0.25, math.sqrt(eps / math.sqrt(n_components))
    )


def almost_anchor_cover(noise: float, robustness: float) -> float:
    """Weight that an almost anchor may have on other topics: 10 eps / gamma, if eps < gamma / 100 (Theorem 3.20).

    Robust loners are rows of l1 distance *more* than 2 eps to the convex hull of the rows outside their neighbourhood
    (Definition 3.23 has "at most").

    Parameters
    ----------
    noise : float
        eps, the l1 noise of a row.
    robustness : float
        gamma: no row of W is closer to the convex hull of the others, in l1.

    Returns
    -------
    float
    """
    _positive(robustness=robustness)
    return 10 * noise / robustness


def almost_anchor_noise_limit(robustness: float) -> float:
    """Largest l1 noise of a row for which almost anchors are proven: gamma / 100 (Theorem 3.20).

    Parameters
    ----------
    robustness : float
        Least distance of a vertex to the span (or the hull) of the others.

    Returns
    -------
    float
    """
    return robustness / 100
