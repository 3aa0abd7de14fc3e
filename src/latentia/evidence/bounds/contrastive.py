"""Rows, errors and operations of contrastive and rich components: Ge and Zou, Rich component analysis, 2015."""

from __future__ import annotations

import math

from ._positive import check_positive


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
    check_positive(eps=eps, norm=norm, radius=radius, cumulant=cumulant)
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
    check_positive(eta=eta, order=order, norm=norm, radius=radius, cumulant=cumulant, least_map=least_map)
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
    check_positive(n_features=n_features, order=order)
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
    check_positive(eps=eps, convexity=convexity)
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
    check_positive(eta=eta, norm=norm, radius=radius, cumulant=cumulant, least_map=least_map)
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
