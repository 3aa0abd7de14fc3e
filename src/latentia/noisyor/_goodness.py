"""Goodness of fit of a noisy-or network, from pairs of findings and from causes drawn for some rows.

If the network holds, rows x with causes d drawn from their posteriors, p(d | x), are draws from the network itself. Three of
its assumptions can then be checked as if causes had been observed:

- Causes are independent: sum_x (d_k - rho_k) (d_l - rho_l) is noise for each pair.
- Findings are independent given the causes: so are sums of products of residuals r_i = x_i - P(s_i = 1 | d).
- A cause is the same in all rows. If in row x it has the weights (1 + t_x) W_k, then with a_i = W_ki / P(s_i = 1 | d)

      (sum_i a_i r_i)^2 - sum_i a_i^2 r_i^2  has the mean  E[t^2] (sum_i a_i P(s_i = 0 | d) W_ki)^2,

  where k is on. The spread of t is a bias of the weights, relative to them, of about its size.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..evidence import Check, Misfit, at_most
from ..likelihood import normalised, over, refine
from ..likelihood.products import ProductMixtureUpdate, product_log_density
from ..likelihood.rows import scale_exp
from ..passes import Blocks, Folds
from ._em import Configurations, NoisyOrUpdate
from ._findings import fill_gaps_with_nan, list_missing, list_present, read_cells
from ._recovery import scale_pairs, subtract_pairs
from .absences import AbsenceMoments
from .inference import posteriors
from .inference.network import Network

_DRAWS = 4  # draws of the causes of each row
_N_DEVIATIONS = 3.0  # standard deviations of the spread that pass for noise
_MAX_CAUSE_PAIRS = 4.0  # mean square of standard scores of pairs of causes; noise alone gives one
_MAX_FINDING_EXCESS = 0.25  # excess over one of that of pairs of findings
_NOISE = 4.0  # standard deviations of the mean square that pass for noise
_NATS_PER_PARAMETER = 1.25  # least gain of a link or prior: in 70 tables of independent findings chance gave up to 1.2
_FADED_PRIOR_SHARE = 1e-3  # factor on the priors of a network that is no likelier than independence
_MAX_CLASSES = 60  # classes about which some thousand rows can say anything
_MAX_CLASS_GAIN = 0.05  # nats a row up to which classes are no better than causes
_STARTS, _STEPS, _MIN_CHANCE = 2, 60, 1e-9  # starts and steps of EM for classes, and smallest probability of a finding
_TINY = 1e-12


@dataclass(frozen=True)
class Goodness:
    """Measures of the fit of rows with drawn causes.

    Attributes
    ----------
    cause_pairs : float or None
        Mean square of the standard scores of pairs of causes; None for a single cause.
    finding_pairs : float
        Mean square of the standard scores of pairs of findings given the causes.
    n_pairs : int
        Number of pairs of findings.
    spread : (float, float)
        Mean of t^2 over the causes that are on, and its standard error.
    """

    cause_pairs: float | None
    finding_pairs: float
    n_pairs: int
    spread: tuple[float, float]

    @property
    def bias(self) -> float:
        """Relative error of the weights due to the spread, where that is clearly more than noise."""
        return float(np.sqrt(max(self.spread[0] - _N_DEVIATIONS * self.spread[1], 0.0)))

    def checks(self, limit: float) -> list[Check]:
        """List the lines of the evidence table."""
        max_score = max_mean_square(self.n_pairs)
        return [
            Check(
                "causes independent", "mean z^2 of pairs", self.cause_pairs, at_most(_MAX_CAUSE_PAIRS, "1 for noise"),
                "How often two causes are on in the same rows, compared with chance. Above the limit causes attract or exclude "
                "each other, or there are too many of them.", "Definition 2.1", "caution",
                "Some causes occur together more or less often than by chance: read them as a group, or try fewer causes.",
            ),
            Check(
                "findings independent", "mean z^2 of pairs", self.finding_pairs, at_most(max_score, "1 for noise"),
                "How often two findings are in the same rows, compared with what the causes of these rows predict. Above the "
                "limit findings also depend on each other, or causes are missing.", "Definition 2.1", "note",
                "Some findings occur together more often than these causes explain: try more causes, and leave out findings "
                "that repeat others.",
            ),
            Check(
                "rows of a cause alike", "relative to its size", self.bias, at_most(limit),
                "How much a cause differs from row to row, beyond chance: its weights should be the same in all rows. "
                "Expected errors include it.", "Definition 2.1", "note",
                "Causes act differently in different rows: try other numbers of causes, let the prior be estimated, or split "
                "the rows.",
            ),
        ]  # fmt: skip


def max_mean_square(n_pairs: int) -> float:
    """Return the largest mean square of standard scores that passes for noise, given the number of pairs."""
    return float(1 + max(_MAX_FINDING_EXCESS, _NOISE * np.sqrt(2 / max(n_pairs, 1))))


def compute_pair_misfit(network: Network, source: AbsenceMoments, folds: Folds) -> Misfit:
    """Compare the residual of scaled PMI2 with its noise, half of the difference of two halves of the rows."""
    logs = source.logs(folds.all)
    scale = np.exp(logs.single / 2)
    upper = np.triu_indices(source.n_features, 1)
    pairs = scale_pairs(logs, scale)
    residual, pairs = subtract_pairs(pairs, scale, network)[upper], pairs[upper]
    first_half, second_half = (scale_pairs(source.logs(half), scale)[upper] for half in folds.splits[0])
    noise = (first_half - second_half) / 2
    return Misfit.from_norms(float(residual @ residual), float(noise @ noise), float(pairs @ pairs))


def compute_goodness(network: Network, rows: Any, seed: int) -> Goodness:
    """Compute the goodness of fit of some rows of 0, 1 and NaN, shape (n, n_findings)."""
    update = NoisyOrUpdate.from_network(network)
    present, missing = read_cells(rows)
    causes, _ = _draw_causes(update, rows, np.random.default_rng(seed).random((len(present), _DRAWS)))
    weights, n = -np.log1p(-update.strengths), causes.shape[1]
    products = np.zeros((present.shape[1],) * 2)
    excesses, scale = np.zeros(n), 0.0
    for on in causes:
        p_present = -np.expm1(np.log1p(-update.leak) - on @ weights)
        residual = np.where(missing, 0.0, present - p_present)
        standard = residual / np.sqrt(np.maximum(p_present * (1 - p_present), _TINY))
        products += standard.T @ standard / _DRAWS
        score, slope = residual / p_present, np.where(missing, 0.0, (1 - p_present) / p_present)
        # For every cause that is on: (a r)^2 - (a^2) (r^2), and the change of a r if its weights change.
        square = (score @ weights.T) ** 2 - score**2 @ (weights**2).T
        excesses += (on * square).sum(axis=1)
        scale += float((on * (slope @ (weights**2).T) ** 2).sum())
    upper = np.triu_indices(len(products), 1)
    is_known = (~missing).astype(float)
    n_known_pairs = np.maximum((is_known.T @ is_known)[upper], 1.0)
    scale = max(scale, _TINY)
    spread = float(excesses.sum() / scale), float(excesses.std() * np.sqrt(n) / scale)
    return Goodness(
        _mean_square_score(causes, update.priors),
        float((products[upper] ** 2 / n_known_pairs).mean()),
        len(upper[0]),
        spread,
    )


def compare_with_independence(
    network: Network, rows: Any, frequency: np.ndarray, crowded: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return log-likelihoods of rows under a network, over the configurations of EM, and under independent findings.

    If rows are too crowded for EM, the sum is over all configurations, or a sample of them.
    """
    present, missing = read_cells(rows)
    if crowded:
        log_likelihood = posteriors(network, present, ~missing).log_likelihood
    else:
        _, log_likelihood = _draw_causes(NoisyOrUpdate.from_network(network), rows, np.empty((rows.shape[0], 0)))
    return log_likelihood, _independent_log_likelihood(present, missing, np.clip(frequency, _TINY, 1 - _TINY))


def fade_causes(
    network: Network, rows: Any, frequency: np.ndarray, n_rows: int, crowded: bool = False
) -> Network | None:
    """Return the network with causes that are hardly ever on if independent findings are likelier, else None.

    Each link and prior must gain more than by chance on the rows it was learned from. Leaks then give the frequencies.
    """
    with_causes, independent = compare_with_independence(network, rows, frequency, crowded)
    min_gain = _NATS_PER_PARAMETER * (network.n_links + network.m) / n_rows
    if float((with_causes - independent).mean()) >= min_gain:
        return None
    priors = _FADED_PRIOR_SHARE * network.priors
    # P(finding absent) of the causes without the leak.
    p_absent = np.prod(1 + priors[:, None] * np.expm1(-network.weights), axis=0)
    return replace(network, priors=priors, leak=np.clip(1 - (1 - frequency) / p_absent, _TINY, 1 - _TINY))


def check_against_classes(of_causes: np.ndarray, rows: Any, train: Any, n_classes: int, seed: int) -> list[Check]:
    """Check whether a mixture of as many classes, learned from other rows, describes rows better than causes do.

    There is no line for a single class, or for more than 60.

    Parameters
    ----------
    of_causes : ndarray of shape (n,)
        Log-likelihood of the rows under causes.
    rows, train : tables of 0, 1 and NaN
        Rows to describe, shape (n, n_findings), and those that classes are learned from.
    """
    if not 2 <= n_classes <= _MAX_CLASSES:
        return []
    chances, shares = fit_classes(fill_gaps_with_nan(train), n_classes, seed)
    _, of_classes = normalised(
        product_log_density("bernoulli", fill_gaps_with_nan(rows), chances) + np.log(shares), shares
    )
    gain = float((of_classes - of_causes).mean())
    n_suggested = max(min(n_classes, rows.shape[1] // 3), 2)  # as many as three groups of columns can separate
    return [
        Check(
            "classes of rows", "nats a row", gain, at_most(_MAX_CLASS_GAIN),
            f"Gain of a mixture of {n_classes} classes of rows over as many causes, in the likelihood of rows that neither was "
            "learned from. A row belongs to one class, but may have several causes.", "not in the paper", "note",
            f"Rows fall into classes, which describe them better than causes do: fit MultiViewMixture({n_suggested}, "
            "distribution='bernoulli') on three groups of the columns, such as np.array_split(X, 3, axis=1).",
        )
    ]  # fmt: skip


def fit_classes(table: np.ndarray, n_classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Fit classes of rows by EM; return probabilities of findings, (K, n_findings), and shares of classes.

    The likelier of two random starts. Each class has half a row more, with the frequencies of all rows. NaN is an unknown
    finding.
    """
    is_known = (~np.isnan(table)).astype(float)
    present, fits = np.where(is_known > 0, table, 0.0), []
    frequency = present.sum(axis=0) / np.maximum(is_known.sum(axis=0), 1.0)
    for start in range(_STARTS):
        memberships = np.random.default_rng([seed, 105, start]).dirichlet(np.full(n_classes, 0.1), len(table)).T
        chances = (memberships @ present + 0.5 * frequency) / (memberships @ is_known + 0.5)
        update = ProductMixtureUpdate("bernoulli", chances, None, memberships.mean(axis=1), _MIN_CHANCE)
        fits.append(refine(update, over(Blocks.from_array(table)), "auto", max_steps=_STEPS))
    chances, shares = max(fits, key=lambda fit: float(fit.log_likelihood[-1])).values
    rows = shares[:, None] * len(table)
    return (rows * chances + 0.5 * frequency) / (rows + 0.5), shares


def _independent_log_likelihood(present: np.ndarray, missing: np.ndarray, frequency: np.ndarray) -> np.ndarray:
    """Return the log-likelihood of the known findings of each row under independence, (n,)."""
    return np.asarray(present @ np.log(frequency / (1 - frequency)) + ~missing @ np.log1p(-frequency))


def score_missingness(rows: Any) -> tuple[float, int] | None:
    """Return how far gaps depend on other findings: the mean square of standard scores of pairs, and their number.

    The score of a pair is the sum over rows of (x_i - its mean) (gap_j - its share), where i is known. The mean square is one
    for noise. None if there are no gaps.
    """
    present, missing = read_cells(rows)
    if not missing.any():
        return None
    is_known = (~missing).astype(float)
    centred = is_known * (present - present.sum(axis=0) / np.maximum(is_known.sum(axis=0), 1.0))
    gaps = missing - missing.mean(axis=0)
    products, squares = centred.T @ gaps, (centred**2).T @ gaps**2
    np.fill_diagonal(squares, 0.0)
    is_used = squares > 1.0  # pairs with a cell or two say nothing
    return (float((products[is_used] ** 2 / squares[is_used]).mean()), int(is_used.sum())) if is_used.any() else None


def _mean_square_score(causes: np.ndarray, priors: np.ndarray) -> float | None:
    """Return the mean square of standard scores of pairs of drawn causes (draws, n, m); a row counts by the mean of its draws.

    For pairs that are expected together in less than one row, the variance is at least that of independent causes.
    """
    n_draws, n, m = causes.shape
    if m == 1:
        return None
    upper, centred = np.triu_indices(m, 1), causes - priors
    mean = sum(draw.T @ draw for draw in centred)[upper] / (n * n_draws)
    products = (first * second for first in centred for second in centred)
    variance = sum(product.T @ product for product in products)[upper] / (n * n_draws**2) - mean**2
    expected_share = np.outer(priors, priors)[upper]
    is_rare = n * expected_share < 1
    variance[is_rare] = np.maximum(variance[is_rare], expected_share[is_rare])
    deviation = np.maximum(np.sqrt(np.maximum(variance, 0.0) / n), 1e-100)  # whose square is in range
    return float(((mean / deviation) ** 2).mean())


def _draw_causes(update: NoisyOrUpdate, rows: Any, uniform: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Draw causes from the posteriors of rows, (draws, n, m), by ``uniform`` numbers (n, draws); return log-likelihoods too.

    Both are over the configurations that EM sums over: all of them, or with many causes the likely ones of each row.
    """
    present, missing = read_cells(rows)
    if update.enumerate_all:
        configurations = Configurations.enumerate(update)
        chosen, log_likelihood = _draw_configurations(configurations.log_joint(present, missing), uniform)
        return configurations.table[chosen.T], log_likelihood
    likely = update.search_configurations(*list_present(rows), *list_missing(rows))
    chosen, log_sums = _draw_configurations(likely.logs, uniform)
    masks = np.take_along_axis(likely.masks, chosen, axis=1).T[:, :, None]
    on = masks >> np.arange(likely.causes.shape[1]) & 1
    m = len(update.priors)
    causes = np.zeros((*on.shape[:2], m + 1))  # the last place stands for no cause
    np.put_along_axis(causes, np.broadcast_to(likely.causes, on.shape), on, axis=2)
    without_causes = np.log1p(-update.priors).sum() + _independent_log_likelihood(present, missing, update.leak)
    return causes[:, :, :m], without_causes + log_sums


def _draw_configurations(logs: np.ndarray, uniform: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Draw configurations of rows, (n, draws), given log joint probabilities (n, c); return log-likelihoods (n,) too."""
    shares, highest = scale_exp(logs)
    shares = np.cumsum(shares, axis=1)
    chosen = (shares[:, None, :] < (uniform * shares[:, -1:])[:, :, None]).sum(axis=2)
    return chosen, highest + np.log(shares[:, -1])
