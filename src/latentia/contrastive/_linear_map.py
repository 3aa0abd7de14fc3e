"""The linear map between the views, from cross-cumulants that only the shared part has.

With u = s1 + s2 and v = A s2 + s3, every cross-cumulant M whose other modes have both views depends on s2 alone, so that its
last mode gives A: M_v = M_u A^T. Estimates have noise, and there are three ways to solve for A or its left inverse B.

- "eq2", the paper's: least squares for A, from kappa_4(v, u, u, .), and B = A^+.
- "bls": least squares for B. It regresses the noise of M_u on that of M_v as well, which is what regressing u on v gives:
  where the signal is weak, B falls back to the regression of u on v.
- "gtls": generalised total least squares. The noise of (M_u, M_v) is proportional to the covariance S of (u, v), so that the
  leading generalised eigenvectors of the Gram matrix in the metric S span the rows (I, A^T). No bias, but no fallback either.

Where A is given, the cumulants test it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from ..exceptions import LatentiaError
from ..linalg.ratios import ratio_of
from .views import Grams, JointMoments, JointSums

_CLEAR_STRENGTH = 2.0  # total least squares needs a weakest signal of so many times the noise
_MIN_STRENGTH = 0.25  # signals below this share of the noise count as none


@dataclass(frozen=True)
class Signal:
    """The shared cumulants, compared with their noise.

    Attributes
    ----------
    order : int
    strengths : ndarray of shape (n_shared,)
        Eigenvalues of the signal of (u, v) in the metric of their covariance, over the noise's; descending.
    in_v : ndarray of shape (n_shared,)
        The same for v alone.
    deviations : float
        Norm of the signal in standard deviations of its noise, from products of groups of rows.
    scatter : float
        Standard deviation of an entry of the signal, over the noise's eigenvalues.
    residual : float
        Signal and noise in the directions that no A explains.
    residual_noise : float
        Noise in these directions.
    total : float
        Signal in all directions.
    """

    order: int
    strengths: np.ndarray
    in_v: np.ndarray
    deviations: float
    scatter: float
    residual: float
    residual_noise: float
    total: float


@dataclass(frozen=True)
class Choice:
    """The solvers of A and B and the order of their cumulants, chosen on all rows and shared by fits of parts.

    ``given_map`` is a given A, shape (d_v, d_u), in units of the columns' standard deviations.
    """

    forward: str
    inverse: str
    order: int
    n_shared: int
    given_map: np.ndarray | None = None

    @property
    def is_unbiased(self) -> bool:
        """Return True unless A and B are biased towards the regression of one view on the other."""
        return self.inverse in ("gtls", "known")


@dataclass(frozen=True)
class LinearMap:
    """The map A and its left inverse B, in units of the columns' standard deviations.

    Attributes
    ----------
    forward : ndarray of shape (d_v, d_u)
        A.
    inverse : ndarray of shape (d_u, d_v)
        B.
    unbiased : ndarray of shape (d_v, d_u)
        A of total least squares, without bias and without a fallback.
    visible_directions : ndarray of shape (d_u, d_u)
        Projection on the directions of u with signal, each weighted by the signal's share in signal and noise.
    signal_share : float
        Share of the signal that remains in least squares for B, which is biased towards the regression of u on v: the mean over
        the n_shared strongest directions of v. 1 for the other methods.
    choice : Choice
    """

    forward: np.ndarray
    inverse: np.ndarray
    unbiased: np.ndarray
    visible_directions: np.ndarray
    signal_share: float
    choice: Choice


def choose_given_map(moments: JointMoments, linear_map: np.ndarray, method: str) -> Choice:
    """Return the choice for a given A, shape (d_v, d_u), in the units of the data."""
    given_map = linear_map * moments.scale[moments.u] / moments.scale[moments.v][:, None]
    solver = "eq2" if method == "eq2" else "known"
    return Choice(solver, solver, 4, linear_map.shape[1], given_map)


def choose_method(moments: JointMoments, method: str, order: int | str, n_shared: int | None) -> tuple[Choice, Signal]:
    """Choose the cumulants with the stronger signal, and total least squares where it is clearly above the noise."""
    d_u = moments.widths[0]
    rank = d_u if n_shared is None else int(n_shared)
    if rank > min(moments.widths[:2]):
        raise LatentiaError(
            f"views of {moments.widths[0]} and {moments.widths[1]} columns share at most {min(moments.widths[:2])} dimensions.",
            parameter="n_shared", value=n_shared,
        )  # fmt: skip
    signals = [measure_signal(moments, signal_of_order, rank) for signal_of_order in list_orders(method, order)]
    signal = max(
        signals,
        key=lambda signal_of_order: float(ratio_of(signal_of_order.strengths[-1], signal_of_order.scatter)),
    )
    if method != "auto":
        return Choice(method, method, signal.order, rank), signal
    forward = "gtls" if signal.strengths[-1] > _MIN_STRENGTH else "least squares"
    return Choice(forward, "gtls" if signal.in_v[-1] > _CLEAR_STRENGTH else "bls", signal.order, rank), signal


def list_orders(method: str, order: int | str) -> list[int]:
    """List the orders of the cumulants to compare."""
    if order != "auto":
        return [int(order)]
    return [4] if method == "eq2" else [3, 4]


def measure_signal(moments: JointMoments, order: int, rank: int) -> Signal:
    """Measure the signal of all rows."""
    d = moments.n_views
    sums, grams = moments.group_sums(moments.folds.all), moments.grams(moments.folds.all, order)
    metric = sums.covariance[:d, :d]
    root = linalg.solve_triangular(_cholesky(metric), np.eye(d), lower=True)
    signal, noise = root @ grams.signal @ root.T, float(np.trace(root @ grams.noise @ root.T)) / d
    noise = max(noise, np.finfo(float).tiny)
    pairs = np.array([root @ pair @ root.T for pair in grams.pairs])
    spread = ((pairs - signal) ** 2).sum(axis=0) / max(len(pairs) - 1, 1) / len(pairs)
    scatter = float(np.sqrt(spread.mean()))
    strengths = np.linalg.eigvalsh(signal)[::-1][:rank]
    v = moments.v
    in_v = linalg.eigh(grams.signal[v, v], metric[v, v], eigvals_only=True)[::-1][:rank]
    # No A explains the directions after the leading ones.
    _, vectors = np.linalg.eigh(root @ grams.total @ root.T)
    unexplained = vectors[:, : d - rank]
    residual = float(np.trace(unexplained.T @ root @ grams.total @ root.T @ unexplained))
    residual_noise = float(np.trace(unexplained.T @ root @ grams.noise @ root.T @ unexplained))
    return Signal(
        order, strengths / noise, in_v / noise, float(ratio_of(np.trace(signal), scatter * np.sqrt(d))),
        scatter / noise, residual, residual_noise, float(np.trace(signal)),
    )  # fmt: skip


def compute_held_out_share(moments: JointMoments, choice: Choice) -> float:
    """Return the share of the signal in v that least squares for A, from half of the rows, explains in the other half.

    It is near one where the model holds and the signal is strong. Products of residuals of two groups have no noise in the
    mean: below zero no map is better than this one. (Total least squares has no bound where a direction has no signal.)
    """
    residuals, totals = [], []
    u, v = moments.u, moments.v
    for split in moments.folds.splits:
        for learned, held_out in (split, split[::-1]):
            grams, metric = (
                moments.grams(learned, choice.order),
                np.linalg.inv(moments.group_sums(learned).covariance[v, v]),
            )
            rows = _residual_rows(
                moments, _solve_least_squares(grams.total[u, u], grams.total[u, v], choice.n_shared).T
            )
            signal = moments.grams(held_out, choice.order).signal
            residuals.append(float(np.trace(rows @ signal @ rows.T @ metric)))
            totals.append(float(np.trace(signal[v, v] @ metric)))
    total = float(np.mean(totals))
    return 1 - float(np.mean(residuals)) / total if total > 0 else -np.inf


def measure_residual(moments: JointMoments, choice: Choice) -> float | None:
    """Measure the cross-cumulants of third and fourth order that A does not explain, in standard deviations: the larger one.

    Products of two groups have no noise in the mean, so that both are about zero where the model holds. Measured for total
    least squares, which has no bias, and for a given map where fourth moments are kept; otherwise None.
    """
    if not choice.is_unbiased or (choice.given_map is not None and not moments.keeps_fourth):
        return None
    sums = moments.group_sums(moments.folds.all)
    rows = _residual_rows(moments, find_map(moments, moments.folds.all, sums, choice).forward)
    metric = np.linalg.inv(sums.covariance[moments.v, moments.v])
    deviations = []
    for order in (3, 4):
        pairs = moments.grams(moments.folds.all, order).pairs
        residuals = np.einsum("ia,pab,jb,ij->p", rows, pairs, rows, metric, optimize=True)
        error = float(residuals.std(ddof=1)) / np.sqrt(len(residuals))
        deviations.append(float(ratio_of(residuals.mean(), error)))
    return max(deviations)


def fit_scale_of_given_map(moments: JointMoments, choice: Choice) -> tuple[float, float]:
    """Return the multiple of a given map that fits the cumulants, and how far it is from one, in standard deviations.

    A single number is a sharper test than all entries of the residual. It compares M_v A^T with A M_u A^T, in the metric of v,
    for the order with the clearer signal; the noise comes from leaving out groups of rows. (1, 0) without a given map.
    """
    if choice.given_map is None or choice.inverse != "known" or not moments.keeps_fourth:
        return 1.0, 0.0
    forward, u, v = choice.given_map, moments.u, moments.v
    metric = np.linalg.inv(moments.group_sums(moments.folds.all).covariance[v, v])
    best = 0.0, 1.0, 0.0
    for order in (3, 4):
        products = []
        for removed in (None, *moments.folds.all):
            signal = moments.grams(tuple(g for g in moments.folds.all if g != removed), order).signal
            products.append(
                (np.sum(metric @ signal[v, u] * forward), np.sum(metric @ forward @ signal[u, u] * forward))
            )
        cross, reference = np.array(products).T
        reference_noise, noise = (
            max(_jackknife(values[1:]), np.finfo(float).tiny) for values in (reference, cross - reference)
        )
        best = max(
            best, (reference[0] / reference_noise, cross[0] / reference[0], abs(cross[0] - reference[0]) / noise)
        )
    return float(best[1]), float(best[2])


def _jackknife(estimates: np.ndarray) -> float:
    """Return the standard error of an estimate, from estimates without a group each."""
    return float(np.sqrt((len(estimates) - 1) * estimates.var()))


def _residual_rows(moments: JointMoments, forward: np.ndarray) -> np.ndarray:
    """Return (-A, I), which maps (M_u, M_v) to M_v - M_u A^T."""
    rows = np.zeros((moments.widths[1], moments.n_views))
    rows[:, moments.u], rows[:, moments.v] = -forward, np.eye(moments.widths[1])
    return rows


def find_map(moments: JointMoments, groups: tuple[int, ...], sums: JointSums, choice: Choice) -> LinearMap:
    """Solve for A and B from the rows of some groups."""
    u, v = moments.u, moments.v
    if choice.inverse == "known" and choice.given_map is not None:
        forward = choice.given_map
        weighted = np.linalg.solve(sums.covariance[v, v], forward)
        inverse = np.linalg.solve(forward.T @ weighted, weighted.T)  # the left inverse with the least variance of v
        return LinearMap(forward, inverse, forward, np.eye(len(inverse)), 1.0, choice)
    grams = moments.grams(groups, choice.order, whitened=choice.forward != "eq2")
    if choice.forward == "eq2":
        by_equation_2 = _solve_least_squares(grams.total[u, u], grams.total[u, v], choice.n_shared).T
        forward = by_equation_2 if choice.given_map is None else choice.given_map
        scale_u, scale_v = moments.scale[u], moments.scale[v]  # A^+ in the units of the data
        inverse = np.linalg.pinv(forward * scale_v[:, None] / scale_u) * scale_v / scale_u[:, None]
        return LinearMap(forward, inverse, forward, np.eye(len(inverse)), 1.0, choice)
    by_total_least_squares = _total_least_squares(grams, sums, moments, choice.n_shared)
    inverse, signal_share = by_total_least_squares[1], 1.0
    if choice.inverse == "bls":
        inverse = _solve_least_squares(grams.total[v, v], grams.total[v, u]).T
        shares = _compute_signal_shares(grams, sums, v)[0]
        signal_share = float(np.sort(shares)[-choice.n_shared :].mean())
    if choice.forward == "gtls":
        forward = by_total_least_squares[0]
    elif choice.forward == "bls" and inverse.shape[0] == inverse.shape[1]:
        forward = np.linalg.pinv(inverse)
    else:
        forward = _solve_least_squares(grams.total[u, u], grams.total[u, v]).T
    signal_shares, vectors = _compute_signal_shares(grams, sums, u)
    visible = sums.covariance[u, u] @ (vectors * signal_shares) @ vectors.T
    return LinearMap(forward, inverse, by_total_least_squares[0], visible, signal_share, choice)


def _total_least_squares(
    grams: Grams, sums: JointSums, moments: JointMoments, rank: int
) -> tuple[np.ndarray, np.ndarray]:
    """Solve for A by total least squares, and return with it the left inverse with the least noise of v."""
    d, u, v = moments.n_views, moments.u, moments.v
    metric = sums.covariance[:d, :d]
    _cholesky(metric)
    _, vectors = linalg.eigh(grams.total, metric)
    rows = metric @ vectors[:, d - rank :]
    rows_u, rows_v = rows[u], rows[v]
    weighted = np.linalg.solve(metric[v, v], rows_v)
    return rows_v @ np.linalg.pinv(rows_u), rows_u @ np.linalg.pinv(rows_v.T @ weighted) @ weighted.T


def _compute_signal_shares(grams: Grams, sums: JointSums, view: slice) -> tuple[np.ndarray, np.ndarray]:
    """Return shares of the signal in signal and noise, in the directions of a view that diagonalise it, and these directions.

    For v: least squares for B adds this share of the correction to the regression of u on v.
    """
    covariance = sums.covariance[view, view]
    strengths, vectors = linalg.eigh(grams.signal[view, view], covariance)
    noise = float(np.trace(np.linalg.solve(covariance, grams.noise[view, view]))) / len(strengths)
    strengths = np.maximum(strengths, 0)
    return strengths / (strengths + max(noise, np.finfo(float).tiny)), vectors


def _solve_least_squares(gram: np.ndarray, right: np.ndarray, rank: int | None = None) -> np.ndarray:
    """Solve normal equations; in the leading directions alone where ``rank`` is given."""
    if rank is None or rank >= len(gram):
        return np.asarray(np.linalg.lstsq(gram, right, rcond=None)[0])
    values, vectors = np.linalg.eigh(gram)
    top = vectors[:, -rank:]
    return np.asarray(top @ ((top.T @ right) / np.maximum(values[-rank:], np.finfo(float).tiny)[:, None]))


def _cholesky(metric: np.ndarray) -> np.ndarray:
    try:
        return np.linalg.cholesky(metric)
    except np.linalg.LinAlgError:
        raise LatentiaError(
            "U and V depend on each other linearly: a combination of their columns is constant. One view must not be computed "
            "from the other, and they must not have columns in common."
        ) from None
