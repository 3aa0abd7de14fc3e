"""The linear map between the views, from cross-cumulants that only the shared part has.

With u = s1 + s2 and v = A s2 + s3, every cross-cumulant M whose other modes have both views depends on s2 alone, so that its
last mode gives A: M_v = M_u A^T. Estimates have noise, and there are three ways to solve for A or its left inverse B.

- "eq2", the paper's: least squares for A, from kappa_4(v, u, u, .), and B = A^+.
- "bls": least squares for B. It regresses the noise of M_u on that of M_v as well, which is what regressing u on v gives:
  where the signal is weak, B falls back to the regression of u on v.
- "gtls": generalised total least squares. The noise of (M_u, M_v) is proportional to the covariance S of (u, v), so that the
  leading generalised eigenvectors of the Gram matrix in the metric S span the rows (I, A^T). No bias, but no fallback either.

Where A is known nothing has to be solved, and the cumulants are left to test it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from ..exceptions import LatentiaError
from .views import Grams, JointMoments, JointSums

_ENOUGH = 2.0  # times the noise that the weakest signal must have for total least squares
_LEAST = 0.25  # of the noise, below which a signal is not told from none


@dataclass(frozen=True)
class Signal:
    """How far the shared cumulants are above their noise.

    Attributes
    ----------
    order : int
    strengths : ndarray of shape (n_shared,)
        Eigenvalues of the signal of (u, v) in the metric of their covariance, over the noise's; descending.
    in_v : ndarray of shape (n_shared,)
        The same of v alone.
    deviations : float
        Norm of the signal in standard deviations of its noise, as pairs of parts of the data tell it.
    scatter : float
        Standard deviation of an entry of the signal, over the noise's eigenvalues.
    left : float
        Signal and noise where no A has any signal.
    left_noise : float
        Noise alone, where that is.
    whole : float
        Signal of all directions.
    """

    order: int
    strengths: np.ndarray
    in_v: np.ndarray
    deviations: float
    scatter: float
    left: float
    left_noise: float
    whole: float


@dataclass(frozen=True)
class Choice:
    """What was chosen on all rows, for the fits of parts as well: how A and B are solved for, and from which cumulants.

    ``known`` is a given A, shape (d_v, d_u), in units of the columns' standard deviations.
    """

    forward: str
    inverse: str
    order: int
    n_shared: int
    known: np.ndarray | None = None

    @property
    def unbiased(self) -> bool:
        """Whether A and B are not pulled towards the regression of one view on the other."""
        return self.inverse in ("gtls", "known")


@dataclass(frozen=True)
class LinearMap:
    """In units of the columns' standard deviations.

    Attributes
    ----------
    forward : ndarray of shape (d_v, d_u)
        A.
    inverse : ndarray of shape (d_u, d_v)
        B.
    unbiased : ndarray of shape (d_v, d_u)
        A of total least squares, which least squares for B does not pull anywhere; without any fallback.
    seen : ndarray of shape (d_u, d_u)
        Projection on the directions of u with signal, each by the share of it in signal and noise.
    kept : float
        Share of the signal that least squares for B keeps from its pull towards the regression of u on v: the mean of as many
        directions of v as s2 has. 1 without it.
    choice : Choice
    """

    forward: np.ndarray
    inverse: np.ndarray
    unbiased: np.ndarray
    seen: np.ndarray
    kept: float
    choice: Choice


def given(moments: JointMoments, linear_map: np.ndarray, method: str) -> Choice:
    """A known A, shape (d_v, d_u), in the units of the data."""
    known = linear_map * moments.scale[moments.u] / moments.scale[moments.v][:, None]
    solved = "eq2" if method == "eq2" else "known"
    return Choice(solved, solved, 4, linear_map.shape[1], known)


def choose(moments: JointMoments, method: str, order: int | str, n_shared: int | None) -> tuple[Choice, Signal]:
    """The cumulants with the stronger signal, and total least squares where it is clearly above the noise."""
    d_u = moments.widths[0]
    rank = d_u if n_shared is None else int(n_shared)
    if rank > min(moments.widths[:2]):
        raise LatentiaError(
            f"views of {moments.widths[0]} and {moments.widths[1]} columns share at most {min(moments.widths[:2])} dimensions.",
            parameter="n_shared", value=n_shared,
        )  # fmt: skip
    found = [measure(moments, one, rank) for one in orders_of(method, order)]
    signal = max(found, key=lambda one: float(one.strengths[-1] / max(one.scatter, np.finfo(float).tiny)))
    if method != "auto":
        return Choice(method, method, signal.order, rank), signal
    forward = "gtls" if signal.strengths[-1] > _LEAST else "least squares"
    return Choice(forward, "gtls" if signal.in_v[-1] > _ENOUGH else "bls", signal.order, rank), signal


def orders_of(method: str, order: int | str) -> list[int]:
    """The orders of the cumulants that are compared."""
    if order != "auto":
        return [int(order)]
    return [4] if method == "eq2" else [3, 4]


def measure(moments: JointMoments, order: int, rank: int) -> Signal:
    """The signal of all rows."""
    d = moments.n_views
    sums, grams = moments.of(moments.folds.all), moments.grams(moments.folds.all, order)
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
    # What the leading directions leave, which no A explains.
    _, vectors = np.linalg.eigh(root @ grams.whole @ root.T)
    rest = vectors[:, : d - rank]
    left = float(np.trace(rest.T @ root @ grams.whole @ root.T @ rest))
    left_noise = float(np.trace(rest.T @ root @ grams.noise @ root.T @ rest))
    return Signal(
        order, strengths / noise, in_v / noise, float(np.trace(signal)) / max(scatter * np.sqrt(d), np.finfo(float).tiny),
        scatter / noise, left, left_noise, float(np.trace(signal)),
    )  # fmt: skip


def held_out_share(moments: JointMoments, choice: Choice) -> float:
    """Share of the signal in v that least squares for A, from half of the rows, explains in the other half.

    Near one where the model holds and the signal is strong. Products of the residuals of two groups have no noise of their own
    in the mean: below zero the map says less than none. (Total least squares has no bound where a direction has no signal.)
    """
    left, whole = [], []
    u, v = moments.u, moments.v
    for split in moments.folds.splits:
        for learned, other in (split, split[::-1]):
            grams, weight = moments.grams(learned, choice.order), np.linalg.inv(moments.of(learned).covariance[v, v])
            rows = _residual_rows(moments, _solved(grams.whole[u, u], grams.whole[u, v], choice.n_shared).T)
            signal = moments.grams(other, choice.order).signal
            left.append(float(np.trace(rows @ signal @ rows.T @ weight)))
            whole.append(float(np.trace(signal[v, v] @ weight)))
    total = float(np.mean(whole))
    return 1 - float(np.mean(left)) / total if total > 0 else -np.inf


def left_by_map(moments: JointMoments, choice: Choice) -> float | None:
    """What A leaves of the cross-cumulants of third and of fourth order, in standard deviations: the larger one.

    Products of two groups have no noise of their own in the mean, so that it is about zero for both orders where the model
    holds. Of total least squares, which has no bias of its own, and of a known map where fourth moments are kept.
    """
    if not choice.unbiased or (choice.known is not None and not moments.keeps_fourth):
        return None
    sums = moments.of(moments.folds.all)
    rows = _residual_rows(moments, find_map(moments, moments.folds.all, sums, choice).forward)
    weight = np.linalg.inv(sums.covariance[moments.v, moments.v])
    found = []
    for order in (3, 4):
        pairs = moments.grams(moments.folds.all, order).pairs
        left = np.einsum("ia,pab,jb,ij->p", rows, pairs, rows, weight, optimize=True)
        error = float(left.std(ddof=1)) / np.sqrt(len(left))
        found.append(float(left.mean()) / max(error, np.finfo(float).tiny))
    return max(found)


def scale_of_known_map(moments: JointMoments, choice: Choice) -> tuple[float, float]:
    """The factor that cumulants tell a known map by, and how far it is from one, in standard deviations of its noise.

    Of one number much more is told than of all that A may leave: M_v A^T beside A M_u A^T, in the metric of v, of the order
    whose signal is clearer. Noise is that of leaving out groups of rows. One, and zero, where nothing is known or told.
    """
    if choice.known is None or choice.inverse != "known" or not moments.keeps_fourth:
        return 1.0, 0.0
    forward, u, v = choice.known, moments.u, moments.v
    weight = np.linalg.inv(moments.of(moments.folds.all).covariance[v, v])
    best = 0.0, 1.0, 0.0
    for order in (3, 4):
        found = []
        for left in (None, *moments.folds.all):
            signal = moments.grams(tuple(g for g in moments.folds.all if g != left), order).signal
            found.append((np.sum(weight @ signal[v, u] * forward), np.sum(weight @ forward @ signal[u, u] * forward)))
        crossed, own = np.array(found).T
        own_noise, noise = (max(_jackknife(one[1:]), np.finfo(float).tiny) for one in (own, crossed - own))
        best = max(best, (own[0] / own_noise, crossed[0] / own[0], abs(crossed[0] - own[0]) / noise))
    return float(best[1]), float(best[2])


def _jackknife(without: np.ndarray) -> float:
    """Standard error from estimates without a group each."""
    return float(np.sqrt((len(without) - 1) * without.var()))


def _residual_rows(moments: JointMoments, forward: np.ndarray) -> np.ndarray:
    """(-A, I), which takes M_v - M_u A^T from (M_u, M_v)."""
    rows = np.zeros((moments.widths[1], moments.n_views))
    rows[:, moments.u], rows[:, moments.v] = -forward, np.eye(moments.widths[1])
    return rows


def find_map(moments: JointMoments, groups: tuple[int, ...], sums: JointSums, choice: Choice) -> LinearMap:
    """A and B from the rows of some groups."""
    u, v = moments.u, moments.v
    if choice.inverse == "known" and choice.known is not None:
        forward = choice.known
        weighted = np.linalg.solve(sums.covariance[v, v], forward)
        inverse = np.linalg.solve(forward.T @ weighted, weighted.T)  # of left inverses that with least of v
        return LinearMap(forward, inverse, forward, np.eye(len(inverse)), 1.0, choice)
    grams = moments.grams(groups, choice.order, whitened=choice.forward != "eq2")
    if choice.forward == "eq2":
        learned = _solved(grams.whole[u, u], grams.whole[u, v], choice.n_shared).T
        forward = learned if choice.known is None else choice.known
        of_u, of_v = moments.scale[u], moments.scale[v]  # A^+ is that of the data's units
        inverse = np.linalg.pinv(forward * of_v[:, None] / of_u) * of_v / of_u[:, None]
        return LinearMap(forward, inverse, forward, np.eye(len(inverse)), 1.0, choice)
    total = _total_least_squares(grams, sums, moments, choice.n_shared)
    inverse, of_signal = total[1], 1.0
    if choice.inverse == "bls":
        inverse = _solved(grams.whole[v, v], grams.whole[v, u]).T
        shares = _kept(grams, sums, v)[0]
        of_signal = float(np.sort(shares)[-choice.n_shared :].mean())
    if choice.forward == "gtls":
        forward = total[0]
    elif choice.forward == "bls" and inverse.shape[0] == inverse.shape[1]:
        forward = np.linalg.pinv(inverse)
    else:
        forward = _solved(grams.whole[u, u], grams.whole[u, v]).T
    kept, vectors = _kept(grams, sums, u)
    seen = sums.covariance[u, u] @ (vectors * kept) @ vectors.T
    return LinearMap(forward, inverse, total[0], seen, of_signal, choice)


def _total_least_squares(
    grams: Grams, sums: JointSums, moments: JointMoments, rank: int
) -> tuple[np.ndarray, np.ndarray]:
    """A, and the left inverse with the least noise of v."""
    d, u, v = moments.n_views, moments.u, moments.v
    metric = sums.covariance[:d, :d]
    _cholesky(metric)
    _, vectors = linalg.eigh(grams.whole, metric)
    rows = metric @ vectors[:, d - rank :]
    of_u, of_v = rows[u], rows[v]
    weighted = np.linalg.solve(metric[v, v], of_v)
    return of_v @ np.linalg.pinv(of_u), of_u @ np.linalg.pinv(of_v.T @ weighted) @ weighted.T


def _kept(grams: Grams, sums: JointSums, view: slice) -> tuple[np.ndarray, np.ndarray]:
    """Shares of the signal in signal and noise, in the directions of a view that diagonalise it, and these, in columns.

    Of v: what least squares for B adds to the regression of u on v is this share of what it should add.
    """
    covariance = sums.covariance[view, view]
    strengths, vectors = linalg.eigh(grams.signal[view, view], covariance)
    noise = float(np.trace(np.linalg.solve(covariance, grams.noise[view, view]))) / len(strengths)
    strengths = np.maximum(strengths, 0)
    return strengths / (strengths + max(noise, np.finfo(float).tiny)), vectors


def _solved(gram: np.ndarray, right: np.ndarray, rank: int | None = None) -> np.ndarray:
    """Least squares from normal equations; of the leading directions alone where ``rank`` is given."""
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
