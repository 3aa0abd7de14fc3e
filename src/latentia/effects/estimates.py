"""Linear models of memberships with unbiased estimates, and cluster-robust errors.

Memberships w_i of rows i are hidden; observed are s_i with E[s_i | w_i] = w_i, whatever the row's covariates are.

- **Effects.** Least squares of s_i on covariates x_i estimates what least squares of w_i would. Errors are those of clusters
  of rows in the form CR2, with degrees of freedom by R. Bell, D. McCaffrey (Survey Methodology 28, 2002; J. Pustejovsky,
  E. Tipton, Journal of Business and Economic Statistics 36, 2018), fewer where residuals have heavy tails: a variance of such
  has a larger one itself (E. Pitman, Biometrika 29, 1937). Few clusters tell little of a variance: they count together with
  ten degrees of freedom of the usual variance, in which two rows of a cluster are correlated by one number.
- **Outcomes.** y_i = w_i' b + z_i' c + noise. As E[s_i s_i'] is more than E[w_i w_i'], least squares of y on s draws b
  together. The moments E[w w'], from products that are unbiased row by row, and E[w y], E[w z'] give b and c (W. Fuller,
  Measurement Error Models, 1987, chapter 2). Errors are those of the estimating equations, by cluster.
- **Components have errors too.** They turn w into w + C w, of which fits on halves of the data give samples of C.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

from ..exceptions import LatentiaError
from ..linalg.ratios import ratio_of

_POOLED_FREEDOM = 10.0  # degrees of freedom of the model variance when pooled with that of clusters
_TAIL_WEIGHT = (
    0.25  # share of the excess kurtosis that costs degrees of freedom: intervals of skewed data are conservative
)
_MIN_PROPORTION = 1e-3  # smaller proportions are treated as this in relative errors
_FULLER = 4.0
_MIN_SIGNAL_SHARE = 0.1  # smallest share of signal in a second moment, in every direction
_SPLIT_FREEDOM = 3.0  # degrees of freedom of the component variance per split
_MIN_FREE_SHARE = 1e-9  # directions with a smaller share outside of one cluster depend on that cluster only
_CHUNK_ENTRIES = 5_000_000  # numbers in memory at a time
_RIDGE = 1e-10  # relative ridge of a second moment


class Memberships(ABC):
    """Unbiased estimates of the memberships of rows in components.

    Attributes
    ----------
    shares : ndarray of shape (n_rows, K)
        Unbiased estimates of memberships; rows sum to one. NaN in uninformative rows.
    errors : ndarray of shape (n_splits, K, K)
        Samples of the effect of component errors: memberships times these are errors of memberships.
    """

    shares: np.ndarray
    errors: np.ndarray

    @abstractmethod
    def squares(self, rows: np.ndarray) -> np.ndarray:
        """Return an unbiased estimate of the sum of w w' over some rows.

        Parameters
        ----------
        rows : ndarray of bool, shape (n_rows,)
            Which rows.

        Returns
        -------
        ndarray of shape (K, K)
        """

    @abstractmethod
    def apply_squares(self, coefficients: np.ndarray) -> np.ndarray:
        """Return an unbiased estimate of w w' b of every row.

        Parameters
        ----------
        coefficients : ndarray of shape (K,)
            The numbers b.

        Returns
        -------
        ndarray of shape (n_rows, K)
        """

    @abstractmethod
    def perturb_squares(self, second: np.ndarray, error: np.ndarray) -> np.ndarray:
        """Return the effect of an error of the components on the result of `squares`.

        Parameters
        ----------
        second : ndarray of shape (K, K)
            Result of `squares`.
        error : ndarray of shape (K, K)
            One of ``errors``.

        Returns
        -------
        ndarray of shape (K, K)
        """

    @property
    def is_known(self) -> np.ndarray:
        """Mask of informative rows, shape (n_rows,)."""
        return np.asarray(np.isfinite(self.shares).all(axis=1))


@dataclass(frozen=True)
class Estimates:
    """Estimates of terms (P) and components (K).

    Attributes
    ----------
    value, error, freedom : ndarray of shape (P, K)
        Estimates, standard errors, and degrees of freedom of these.
    """

    value: np.ndarray
    error: np.ndarray
    freedom: np.ndarray

    def multiply(self, sizes: np.ndarray) -> Estimates:
        """Return the estimates after dividing terms by ``sizes``."""
        with np.errstate(over="ignore"):
            value, error = self.value * sizes, self.error * sizes
        if not (np.isfinite(value).all() and np.isfinite(error).all()):
            raise LatentiaError("The effect of a covariate or outcome is out of range. Rescale it.")
        return Estimates(value, error, self.freedom)


def least_squares(
    design: np.ndarray, memberships: Memberships, rows: np.ndarray, cluster: np.ndarray, sums: np.ndarray | None = None
) -> Estimates:
    """Regress memberships on a design by least squares.

    Parameters
    ----------
    design : ndarray of shape (n_rows, P)
        Covariates, of full rank on the used rows.
    memberships : Memberships
        Of all rows.
    rows : ndarray of bool, shape (n_rows,)
        Which rows are used.
    cluster : ndarray of int, shape (n_rows,)
        Rows of a cluster depend on each other.
    sums : ndarray of shape (J, K), optional
        Weights of components in sums; their coefficients replace those of single components.

    Returns
    -------
    Estimates
        Coefficients of every term, shape (P, K) or (P, J).
    """
    x, y = design[rows], memberships.shares[rows]
    sizes = column_sizes(x)
    x = x / sizes
    sums = np.eye(y.shape[1]) if sums is None else sums
    clusters, group = np.unique(cluster[rows], return_inverse=True)
    root = _inverse_root(x.T @ x)
    q = x @ root
    value = q.T @ y
    residuals = (y - q @ value) @ sums.T
    cluster_variance, freedom = _cluster_variances(q, residuals, group, len(clusters), root)
    model_variance = _model_variances(q, residuals, group, len(clusters), root)
    freedom = freedom[:, None] / (1 + _TAIL_WEIGHT * _kurtosis(residuals, group, len(clusters)) / 2)
    pooled = (freedom * cluster_variance + _POOLED_FREEDOM * model_variance) / (freedom + _POOLED_FREEDOM)
    effective_clusters = (
        len(group) ** 2 / (np.bincount(group) ** 2.0).sum()
    )  # number of equal clusters with the same information
    total_freedom = np.maximum(freedom, np.clip(effective_clusters - x.shape[1], 1, freedom + _POOLED_FREEDOM))
    value, scale = root @ value, np.sqrt((x**2).mean(axis=0))[:, None]
    component_variance = component_error_variance(scale * value, memberships.errors, sums) / scale**2
    return _combine_variances(
        value @ sums.T, pooled, total_freedom, component_variance, len(memberships.errors)
    ).multiply(1 / sizes[:, None])


def column_sizes(table: np.ndarray) -> np.ndarray:
    """Return powers of two that bring the largest entry of each column between 1 and 2, shape (P,): no digit changes."""
    largest = np.abs(table).max(axis=0, initial=0.0)
    return np.ldexp(1.0, np.frexp(np.where(largest > 0, largest, 1.0))[1] - 1)


def _cluster_variances(
    q: np.ndarray, residuals: np.ndarray, group: np.ndarray, n: int, root: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return cluster-robust variances of the coefficients, (P, K), and their degrees of freedom, (P,).

    With orthonormal columns Q_g of a cluster and its residuals e_g, CR2 has (I - Q_g Q_g')^(-1/2) e_g in place of e_g, of which
    only Q_g' (I - Q_g Q_g')^(-1/2) = (I - Q_g' Q_g)^(-1/2) Q_g' is needed. The variance is then a sum of squares of a_g' e_g,
    and has the degrees of freedom of a sum with the mean and variance that residuals of equal variance give it.
    """
    p, k = q.shape[1], residuals.shape[1]
    order, size = np.argsort(group, kind="stable"), np.bincount(group, minlength=n)
    ends = np.concatenate([[0], np.cumsum(size)])
    variance, trace, square, cross_traces = np.zeros((p, k)), np.zeros(p), np.zeros(p), np.zeros((p, p, p))
    width = max(1, _CHUNK_ENTRIES // (p * (p + k)))
    for start in range(0, n, width):
        stop = min(start + width, n)
        rows = order[ends[start] : ends[stop]]
        local_group, chunk = group[rows] - start, q[rows]
        grams, scores = (_sum_by_group(chunk, second, local_group, stop - start) for second in (chunk, residuals[rows]))
        values, vectors = np.linalg.eigh(grams)
        free_shares = np.maximum(1 - values, 0)
        inverse = np.where(free_shares > _MIN_FREE_SHARE, 1 / np.sqrt(np.maximum(free_shares, _MIN_FREE_SHARE)), 0.0)
        half = root @ ((vectors * inverse[:, None, :]) @ vectors.transpose(0, 2, 1))
        influence = half @ grams  # a_g' Q_g for every coefficient, (n, P, P)
        length, overlap = np.einsum("gpi,gpi->gp", influence, half), np.einsum("gpi,gpi->gp", influence, influence)
        variance += ((half @ scores) ** 2).sum(axis=0)
        trace += (length - overlap).sum(axis=0)
        square += (length**2 - 2 * length * overlap).sum(axis=0)
        cross_traces += np.einsum("gpi,gpj->pij", influence, influence)
    return variance, ratio_of(trace**2, square + (cross_traces**2).sum(axis=(1, 2)))


def _kurtosis(residuals: np.ndarray, group: np.ndarray, n: int) -> np.ndarray:
    """Return the excess kurtosis, at least zero, of scaled sums of residuals (rows, K) over n clusters, (K,).

    The variance of a variance is (2 + kurtosis) times its square divided by the number of clusters.
    """
    size = np.sqrt(np.bincount(group, minlength=n))
    square = np.stack([np.bincount(group, e, n) / size for e in residuals.T]) ** 2
    return np.maximum(ratio_of((square**2).mean(axis=1), square.mean(axis=1) ** 2) - 3, 0)


def _sum_by_group(first: np.ndarray, second: np.ndarray, group: np.ndarray, n: int) -> np.ndarray:
    """Sum products of columns by group, shape (n, P, K)."""
    return np.stack([[np.bincount(group, a * b, n) for b in second.T] for a in first.T]).transpose(2, 0, 1)


def _model_variances(q: np.ndarray, residuals: np.ndarray, group: np.ndarray, n: int, root: np.ndarray) -> np.ndarray:
    """Return variances of the coefficients, (P, K), under equal variances and equal correlations within clusters.

    Rows then have the covariance a I + b Z Z' with the indicators Z of clusters. The sums of squares of residuals and of their
    sums in clusters have means that are linear in a and b. The solution accounts for the degrees of freedom of the
    coefficients, which matter if a covariate is constant within clusters.
    """
    rows, p = q.shape
    size = np.bincount(group, minlength=n)
    q_sums, residual_sums = (
        np.stack([np.bincount(group, column, n) for column in table.T]) for table in (q, residuals)
    )
    squares, squared_sums = (residuals**2).sum(axis=0), (residual_sums**2).sum(axis=1)
    shared_trace = rows - float((q_sums**2).sum())
    pair_trace = float((size**2.0).sum() - 2 * (size * q_sums**2).sum() + ((q_sums @ q_sums.T) ** 2).sum())
    determinant = (rows - p) * pair_trace - shared_trace**2
    b = np.zeros(residuals.shape[1])
    if determinant > _MIN_FREE_SHARE * (rows - p) * pair_trace:
        b = ((rows - p) * squared_sums - shared_trace * squares) / determinant
        b = np.clip(b, 0, squares / max(shared_trace, 1e-300))
    a = (squares - shared_trace * b) / (rows - p)
    return np.outer((root**2).sum(axis=1), a) + np.outer(((q_sums.T @ root.T) ** 2).sum(axis=0), b)


def outcomes(
    y: np.ndarray,
    controls: np.ndarray,
    memberships: Memberships,
    rows: np.ndarray,
    cluster: np.ndarray,
    sums: np.ndarray | None = None,
) -> Estimates:
    """Regress an outcome on memberships by unbiased moments.

    Parameters
    ----------
    y : ndarray of shape (n_rows,)
        Outcome.
    controls : ndarray of shape (n_rows, q)
        Other variables that the outcome depends on.
    memberships : Memberships
        Of all rows.
    rows : ndarray of bool, shape (n_rows,)
        Which rows are used.
    cluster : ndarray of int, shape (n_rows,)
        Rows of a cluster depend on each other.
    sums : ndarray of shape (J, K), optional
        As in `least_squares`.

    Returns
    -------
    Estimates
        Coefficients of the memberships, with controls at their means, and their differences from the mean outcome: (2, K), or
        (2, J) of sums.
    """
    n, k = int(rows.sum()), memberships.shares.shape[1]
    sums = np.eye(k) if sums is None else sums
    z = controls - (controls[rows].mean(axis=0) if n else 0.0)
    second, s = memberships.squares(rows), memberships.shares[rows]
    y, z = y[rows], z[rows]
    size = column_sizes(y[:, None])
    y, z = y / size, z / column_sizes(z)
    groups, group = np.unique(cluster[rows], return_inverse=True)
    noise = s.T @ s - second
    noise_share = _noise_share(s, np.column_stack([y, z]), noise, len(groups))
    second = second + noise_share * noise
    moments = np.block([[second, s.T @ z], [z.T @ s, z.T @ z]])
    inverse = np.linalg.inv(moments)
    coefficients = inverse @ np.concatenate([s.T @ y, z.T @ y])
    b, c = coefficients[:k], coefficients[k:]
    fitted_products = (1 - noise_share) * memberships.apply_squares(b)[rows] + noise_share * s * (s @ b)[:, None]
    scores = np.column_stack([s * (y - z @ c)[:, None] - fitted_products, z * (y - s @ b - z @ c)[:, None]])
    influence = scores @ inverse[:k].T
    value = np.stack([b, b - y.mean()]) @ sums.T
    factor = len(groups) / max(len(groups) - len(coefficients), 1)
    variance = np.empty((2, len(sums)))
    for term, term_influence in enumerate((influence, influence - (y - y.mean())[:, None] / n)):
        by_group = np.stack([np.bincount(group, e, len(groups)) for e in (term_influence @ sums.T).T])
        variance[term] = factor * (by_group**2).sum(axis=1)
    component_variance = np.zeros((1, len(sums)))
    if len(memberships.errors):
        s_products, z_products = s.T @ (y - z @ c), z.T @ s
        perturbations = [
            np.concatenate(
                [
                    term_influence @ s_products - memberships.perturb_squares(second, term_influence) @ b,
                    -z_products @ term_influence.T @ b,
                ]
            )
            for term_influence in memberships.errors
        ]
        coefficient_errors = np.array(perturbations) @ inverse[:k].T
        mean_variance = (sums**2).sum(axis=1) * (coefficient_errors**2).mean()
        component_variance = (((coefficient_errors @ sums.T) ** 2).mean(axis=0) + mean_variance)[None] / 2
    freedom = np.array([[max(len(groups) - len(coefficients), 1)]])
    return _combine_variances(value, variance, freedom, component_variance, len(memberships.errors)).multiply(size)


def _combine_variances(
    value: np.ndarray, variance: np.ndarray, freedom: np.ndarray, component_variance: np.ndarray, n_splits: int
) -> Estimates:
    """Combine the variances of rows and components, the latter with few degrees of freedom per split."""
    total = np.maximum(variance + component_variance, 1e-300)
    information = variance**2 / freedom + component_variance**2 / (_SPLIT_FREEDOM * max(n_splits, 1))
    return Estimates(value, np.sqrt(total), ratio_of(total**2, information))


def _noise_share(s: np.ndarray, controls: np.ndarray, noise: np.ndarray, n: int) -> float:
    """Return the share of noise to keep in the second moment of memberships (n, K), from 0 to 1 (Fuller, section 2.5).

    Without any noise the moment may be singular or nearly so, and estimates would diverge: some noise stays if it dominates.
    """
    residuals = s - controls @ np.linalg.lstsq(controls, s, rcond=None)[0]
    square = residuals.T @ residuals
    root = _inverse_root(square + _RIDGE * np.trace(s.T @ s) * np.eye(len(square)))
    largest = float(np.linalg.eigvalsh(root.T @ noise @ root)[-1])
    return float(min(max(1 - (1 - _MIN_SIGNAL_SHARE) / max(largest, 1e-300), 0.0) + _FULLER / n, 1.0))


def component_error_variance(means: np.ndarray, errors: np.ndarray, sums: np.ndarray | None = None) -> np.ndarray:
    """Return the variance of mean memberships (G, K), or of their sums (J, K), from errors of the components.

    Few samples of an error are unreliable: half of the variance is from each component's samples, half from all components, in
    proportion to their size.
    """
    sums = np.eye(means.shape[1]) if sums is None else sums
    if not len(errors):
        return np.zeros((len(means), len(sums)))
    off = np.array([means @ error.T for error in errors])
    size = np.maximum(np.abs(means), _MIN_PROPORTION)
    usual = np.median((off**2).mean(axis=0) / size, axis=1, keepdims=True) / (chi2.median(len(errors)) / len(errors))
    return np.asarray((((off @ sums.T) ** 2).mean(axis=0) + usual * size @ (sums**2).T) / 2)


def _inverse_root(square: np.ndarray) -> np.ndarray:
    """Return M^(-1/2), upper triangular, of a matrix of second moments: X M^(-1/2) has orthonormal columns."""
    return np.asarray(np.linalg.inv(np.linalg.cholesky(square).T))
