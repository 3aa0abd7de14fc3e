"""Linear models of memberships that are known without bias, with errors that hold for clusters of rows.

Memberships w_i of rows i are not seen; what is seen is s_i with E[s_i | w_i] = w_i, whatever the row's covariates are.

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

_POOLED = 10.0  # degrees of freedom by which the usual variance counts in that of clusters
_TAILS = (
    0.25  # of the excess kurtosis that takes degrees of freedom: of skewed numbers intervals hold more than they say
)
_LEAST = 1e-3  # proportion up to which relative errors are taken as if it were that
_FULLER = 4.0
_TRUE = 0.1  # of a second moment, in every direction, that is taken to be no noise
_OF_A_SPLIT = 3.0  # degrees of freedom of a variance by components
_FIXED = 1e-9  # share of a direction beyond one cluster up to which only that cluster tells of it
_BLOCK = 5_000_000  # numbers held at a time
_SOLID = 1e-10  # of a second moment, as if it had such noise


class Memberships(ABC):
    """Memberships of rows in components, known without bias.

    Attributes
    ----------
    shares : ndarray of shape (n_rows, K)
        Unbiased for the memberships; rows sum to one. NaN in rows that say nothing.
    errors : ndarray of shape (n_splits, K, K)
        Samples of what errors of the components make of memberships: row k times these is the error of that in component k.
    """

    shares: np.ndarray
    errors: np.ndarray

    @abstractmethod
    def squares(self, rows: np.ndarray) -> np.ndarray:
        """Return what is unbiased for the sum of w w' over some rows.

        Parameters
        ----------
        rows : ndarray of bool, shape (n_rows,)
            Which rows.

        Returns
        -------
        ndarray of shape (K, K)
        """

    @abstractmethod
    def applied(self, coefficients: np.ndarray) -> np.ndarray:
        """Return what is unbiased for w w' b of every row.

        Parameters
        ----------
        coefficients : ndarray of shape (K,)
            The numbers b.

        Returns
        -------
        ndarray of shape (n_rows, K)
        """

    @abstractmethod
    def disturbed(self, second: np.ndarray, error: np.ndarray) -> np.ndarray:
        """Return by how much an error of the components moves what `squares` returns.

        Parameters
        ----------
        second : ndarray of shape (K, K)
            What it returns.
        error : ndarray of shape (K, K)
            One of ``errors``.

        Returns
        -------
        ndarray of shape (K, K)
        """

    @property
    def known(self) -> np.ndarray:
        """Rows that say something, bool, shape (n_rows,)."""
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

    def divided(self, sizes: np.ndarray) -> Estimates:
        """Return the estimates of terms that are so many times as large."""
        with np.errstate(over="ignore"):
            value, error = self.value / sizes, self.error / sizes
        if not (np.isfinite(value).all() and np.isfinite(error).all()):
            raise LatentiaError(
                "A covariate or outcome is so small or large that its effect is out of range: rescale it."
            )
        return Estimates(value, error, self.freedom)


def least_squares(
    design: np.ndarray, members: Memberships, rows: np.ndarray, cluster: np.ndarray, sums: np.ndarray | None = None
) -> Estimates:
    """Regress memberships on a design by least squares.

    Parameters
    ----------
    design : ndarray of shape (n_rows, P)
        Covariates, of full rank on the rows that are used.
    members : Memberships
        Of all rows.
    rows : ndarray of bool, shape (n_rows,)
        Which rows are used.
    cluster : ndarray of int, shape (n_rows,)
        Rows of a cluster depend on each other.
    sums : ndarray of shape (J, K), optional
        Weights of components in sums, of which the coefficients are estimated in the place of those of each component.

    Returns
    -------
    Estimates
        Coefficients of every term, shape (P, K) or (P, J).
    """
    x, y = design[rows], members.shares[rows]
    sizes = column_sizes(x)
    x = x / sizes
    sums = np.eye(y.shape[1]) if sums is None else sums
    found, group = np.unique(cluster[rows], return_inverse=True)
    root = _inverse_root(x.T @ x)
    q = x @ root
    value = q.T @ y
    left = (y - q @ value) @ sums.T
    robust, freedom = _robust(q, left, group, len(found), root)
    usual = _usual(q, left, group, len(found), root)
    freedom = freedom[:, None] / (1 + _TAILS * _kurtosis(left, group, len(found)) / 2)
    pooled = (freedom * robust + _POOLED * usual) / (freedom + _POOLED)
    even = len(group) ** 2 / (np.bincount(group) ** 2.0).sum()  # clusters of one size that tell as much
    most = np.maximum(freedom, np.clip(even - x.shape[1], 1, freedom + _POOLED))
    value, scale = root @ value, np.sqrt((x**2).mean(axis=0))[:, None]
    by_components = moved(scale * value, members.errors, sums) / scale**2
    return _together(value @ sums.T, pooled, most, by_components, len(members.errors)).divided(sizes[:, None])


def column_sizes(table: np.ndarray) -> np.ndarray:
    """Return powers of two that bring the largest entry of each column between 1 and 2, shape (P,): no digit changes."""
    largest = np.abs(table).max(axis=0, initial=0.0)
    return np.ldexp(1.0, np.frexp(np.where(largest > 0, largest, 1.0))[1] - 1)


def _robust(
    q: np.ndarray, left: np.ndarray, group: np.ndarray, n: int, root: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Variances of the coefficients, (P, K), by n clusters, and their degrees of freedom, (P,).

    With orthonormal columns Q_g of a cluster and its residuals e_g, CR2 has (I - Q_g Q_g')^(-1/2) e_g in place of e_g, of which
    only Q_g' (I - Q_g Q_g')^(-1/2) = (I - Q_g' Q_g)^(-1/2) Q_g' is needed. The variance is then a sum of squares of a_g' e_g,
    and has the degrees of freedom of a sum with the mean and variance that residuals of equal variance give it.
    """
    p, k = q.shape[1], left.shape[1]
    order, size = np.argsort(group, kind="stable"), np.bincount(group, minlength=n)
    ends = np.concatenate([[0], np.cumsum(size)])
    variance, trace, square, both = np.zeros((p, k)), np.zeros(p), np.zeros(p), np.zeros((p, p, p))
    width = max(1, _BLOCK // (p * (p + k)))
    for start in range(0, n, width):
        stop = min(start + width, n)
        rows = order[ends[start] : ends[stop]]
        own, some = group[rows] - start, q[rows]
        each, says = (_summed(some, other, own, stop - start) for other in (some, left[rows]))
        values, vectors = np.linalg.eigh(each)
        free = np.maximum(1 - values, 0)
        inverse = np.where(free > _FIXED, 1 / np.sqrt(np.maximum(free, _FIXED)), 0.0)
        half = root @ ((vectors * inverse[:, None, :]) @ vectors.transpose(0, 2, 1))
        turned = half @ each  # a_g' Q_g for every coefficient, (n, P, P)
        length, along = np.einsum("gpi,gpi->gp", turned, half), np.einsum("gpi,gpi->gp", turned, turned)
        variance += ((half @ says) ** 2).sum(axis=0)
        trace += (length - along).sum(axis=0)
        square += (length**2 - 2 * length * along).sum(axis=0)
        both += np.einsum("gpi,gpj->pij", turned, turned)
    return variance, trace**2 / np.maximum(square + (both**2).sum(axis=(1, 2)), 1e-300)


def _kurtosis(left: np.ndarray, group: np.ndarray, n: int) -> np.ndarray:
    """Excess kurtosis of the sums of residuals (rows, K) over n clusters, of one size, and zero where it is less, (K,).

    The variance of a variance is 2 + this times its square by the number of clusters.
    """
    size = np.sqrt(np.bincount(group, minlength=n))
    square = np.stack([np.bincount(group, e, n) / size for e in left.T]) ** 2
    return np.maximum((square**2).mean(axis=1) / np.maximum(square.mean(axis=1) ** 2, 1e-300) - 3, 0)


def _summed(first: np.ndarray, second: np.ndarray, group: np.ndarray, n: int) -> np.ndarray:
    """Sums of products of columns by group, shape (n, P, K)."""
    return np.stack([[np.bincount(group, a * b, n) for b in second.T] for a in first.T]).transpose(2, 0, 1)


def _usual(q: np.ndarray, left: np.ndarray, group: np.ndarray, n: int, root: np.ndarray) -> np.ndarray:
    """Variances of the coefficients, (P, K), if all rows had the same one, and pairs of a cluster the same correlation.

    Rows then have the covariance a I + b Z Z' with the indicators Z of clusters. The sums of squares of residuals and of their
    sums in clusters have means that are linear in a and b. Solved for these, they know what the coefficients take from
    residuals, which is much where a covariate is the same in all rows of a cluster.
    """
    rows, p = q.shape
    size = np.bincount(group, minlength=n)
    of_q, of_left = (np.stack([np.bincount(group, column, n) for column in table.T]) for table in (q, left))
    squares, squared_sums = (left**2).sum(axis=0), (of_left**2).sum(axis=1)
    both = rows - float((of_q**2).sum())
    of_pairs = float((size**2.0).sum() - 2 * (size * of_q**2).sum() + ((of_q @ of_q.T) ** 2).sum())
    determinant = (rows - p) * of_pairs - both**2
    b = np.zeros(left.shape[1])
    if determinant > _FIXED * (rows - p) * of_pairs:
        b = ((rows - p) * squared_sums - both * squares) / determinant
        b = np.clip(b, 0, squares / max(both, 1e-300))
    a = (squares - both * b) / (rows - p)
    return np.outer((root**2).sum(axis=1), a) + np.outer(((of_q.T @ root.T) ** 2).sum(axis=0), b)


def outcomes(
    y: np.ndarray,
    controls: np.ndarray,
    members: Memberships,
    rows: np.ndarray,
    cluster: np.ndarray,
    sums: np.ndarray | None = None,
) -> Estimates:
    """Regress an outcome on memberships by moments without bias.

    Parameters
    ----------
    y : ndarray of shape (n_rows,)
        Outcome.
    controls : ndarray of shape (n_rows, q)
        What else the outcome depends on.
    members : Memberships
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
    n, k = int(rows.sum()), members.shares.shape[1]
    sums = np.eye(k) if sums is None else sums
    z = controls - (controls[rows].mean(axis=0) if n else 0.0)
    second, s = members.squares(rows), members.shares[rows]
    y, z = y[rows], z[rows]
    size = column_sizes(y[:, None])
    y, z = y / size, z / column_sizes(z)
    groups, group = np.unique(cluster[rows], return_inverse=True)
    noise = s.T @ s - second
    kept = _kept(s, np.column_stack([y, z]), noise, len(groups))
    second = second + kept * noise
    whole = np.block([[second, s.T @ z], [z.T @ s, z.T @ z]])
    inverse = np.linalg.inv(whole)
    found = inverse @ np.concatenate([s.T @ y, z.T @ y])
    b, c = found[:k], found[k:]
    both = (1 - kept) * members.applied(b)[rows] + kept * s * (s @ b)[:, None]
    left = np.column_stack([s * (y - z @ c)[:, None] - both, z * (y - s @ b - z @ c)[:, None]])
    each = left @ inverse[:k].T
    value = np.stack([b, b - y.mean()]) @ sums.T
    factor = len(groups) / max(len(groups) - len(found), 1)
    variance = np.empty((2, len(sums)))
    for term, one in enumerate((each, each - (y - y.mean())[:, None] / n)):
        by_group = np.stack([np.bincount(group, e, len(groups)) for e in (one @ sums.T).T])
        variance[term] = factor * (by_group**2).sum(axis=1)
    by_components = np.zeros((1, len(sums)))
    if len(members.errors):
        of_s, of_z = s.T @ (y - z @ c), z.T @ s
        turned = [
            np.concatenate([one @ of_s - members.disturbed(second, one) @ b, -of_z @ one.T @ b])
            for one in members.errors
        ]
        off = np.array(turned) @ inverse[:k].T
        usual = (sums**2).sum(axis=1) * (off**2).mean()
        by_components = (((off @ sums.T) ** 2).mean(axis=0) + usual)[None] / 2
    freedom = np.array([[max(len(groups) - len(found), 1)]])
    return _together(value, variance, freedom, by_components, len(members.errors)).divided(1 / size)


def _together(
    value: np.ndarray, variance: np.ndarray, freedom: np.ndarray, by_components: np.ndarray, n_splits: int
) -> Estimates:
    """Estimates with the variance of rows and that of components, of which each split tells with few degrees of freedom."""
    total = np.maximum(variance + by_components, 1e-300)
    known = variance**2 / freedom + by_components**2 / (_OF_A_SPLIT * max(n_splits, 1))
    return Estimates(value, np.sqrt(total), total**2 / np.maximum(known, 1e-300))


def _kept(s: np.ndarray, others: np.ndarray, noise: np.ndarray, n: int) -> float:
    """How much of the noise of memberships (n, K) is left in their second moment, from 0 to 1 (Fuller, section 2.5).

    Less all of it, this may not be positive, or so nearly not that estimates fly off: some is left where it is nearly all.
    """
    apart = s - others @ np.linalg.lstsq(others, s, rcond=None)[0]
    square = apart.T @ apart
    root = _inverse_root(square + _SOLID * np.trace(s.T @ s) * np.eye(len(square)))
    most = float(np.linalg.eigvalsh(root.T @ noise @ root)[-1])
    return float(min(max(1 - (1 - _TRUE) / max(most, 1e-300), 0.0) + _FULLER / n, 1.0))


def moved(means: np.ndarray, errors: np.ndarray, sums: np.ndarray | None = None) -> np.ndarray:
    """Variance of mean memberships (G, K), of their differences, or of their sums (J, K), by errors of the components.

    Few samples of an error tell little of it: half is what they say of each component, half what they say of the
    usual one, relative to its proportion.
    """
    sums = np.eye(means.shape[1]) if sums is None else sums
    if not len(errors):
        return np.zeros((len(means), len(sums)))
    off = np.array([means @ one.T for one in errors])
    size = np.maximum(np.abs(means), _LEAST)
    usual = np.median((off**2).mean(axis=0) / size, axis=1, keepdims=True) / (chi2.median(len(errors)) / len(errors))
    return np.asarray((((off @ sums.T) ** 2).mean(axis=0) + usual * size @ (sums**2).T) / 2)


def _inverse_root(square: np.ndarray) -> np.ndarray:
    """M^(-1/2), upper triangular, of a matrix of second moments: X M^(-1/2) has orthonormal columns."""
    return np.asarray(np.linalg.inv(np.linalg.cholesky(square).T))
