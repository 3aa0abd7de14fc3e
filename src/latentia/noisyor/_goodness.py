"""Whether rows are what a noisy-or network says: by pairs of findings, and by causes that are drawn for some rows.

If the network holds, rows x together with causes d that are drawn from their posteriors, p(d | x), are draws from the network
itself. So three things that it says can be looked at as if causes had been observed:

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
from ..likelihood.rows import scaled_exp
from ..passes import Blocks, Folds
from ._em import Configurations, NoisyOrUpdate
from ._findings import fill_gaps_with_nan, list_missing, list_present, read_cells
from ._recovery import scale_pairs, subtract_pairs
from .absences import AbsenceMoments
from .inference import posteriors
from .inference.network import Network

_DRAWS = 4
_N_DEVIATIONS = 3.0  # standard deviations of the spread that do not count
_MAX_CAUSE_PAIRS = 4.0  # mean square of standard scores, one for noise
_MAX_FINDING_PAIRS, _NOISE = 0.25, 4.0  # the same of findings: above one, and in standard deviations of the mean
_NATS_PER_PARAMETER = 2.0  # nats a parameter: those that were chosen to stay fit rows better than one nat each
_FADED_PRIOR_SHARE = 1e-3  # of the time that causes were on
_MAX_CLASSES = 60  # of which some thousand rows say anything
_MAX_CLASS_GAIN = 0.05  # nats a row, up to which classes are no better than causes
_STARTS, _STEPS, _MIN_CHANCE = 2, 60, 1e-9  # of EM for classes, and least chance of a finding in them
_TINY = 1e-12


@dataclass(frozen=True)
class Goodness:
    """What rows with drawn causes say.

    Attributes
    ----------
    together : float or None
        Mean square of the standard scores of pairs of causes; None for a single one.
    left : float
        Of pairs of findings given the causes.
    n_pairs : int
        Of findings.
    spread : (float, float)
        Mean of t^2 over the causes that are on, and its standard error.
    """

    cause_pairs: float | None
    finding_pairs: float
    n_pairs: int
    spread: tuple[float, float]

    @property
    def bias(self) -> float:
        """Relative error of the weights that goes with the spread, where it is clearly more than noise."""
        return float(np.sqrt(max(self.spread[0] - _N_DEVIATIONS * self.spread[1], 0.0)))

    def checks(self, limit: float) -> list[Check]:
        """The lines, which ask for care where they fail."""
        max_score = max_mean_square(self.n_pairs)
        return [
            Check(
                "causes independent", "mean z^2 of pairs", self.cause_pairs, at_most(_MAX_CAUSE_PAIRS, "1 for noise"),
                "How often two causes are on in the same rows, against chance. Above the limit causes go together or shut each "
                "other out, or there are too many of them.", "Definition 2.1", "caution",
                "Some causes go together more or less often than by chance: read them as a group, or compare with fewer.",
            ),
            Check(
                "findings independent", "mean z^2 of pairs", self.finding_pairs, at_most(max_score, "1 for noise"),
                "How often two findings are in the same rows, against what the causes of these rows say. Above the limit "
                "findings depend on each other beside the causes, or causes are missing.", "Definition 2.1", "note",
                "Findings go together in ways that these causes do not explain: compare with more causes, and leave out "
                "findings that repeat others.",
            ),
            Check(
                "rows of a cause alike", "relative to its size", self.bias, at_most(limit),
                "How much a cause differs from row to row, beyond chance: its weights should be the same in all rows. "
                "Expected errors are widened by it.", "Definition 2.1", "note",
                "Causes act differently in different rows: compare with other numbers of causes, let the prior be "
                "estimated, or split the rows.",
            ),
        ]  # fmt: skip


def max_mean_square(n_pairs: int) -> float:
    """Up to which a mean square of standard scores of so many pairs passes for noise."""
    return float(1 + max(_MAX_FINDING_PAIRS, _NOISE * np.sqrt(2 / max(n_pairs, 1))))


def compute_pair_misfit(network: Network, source: AbsenceMoments, folds: Folds) -> Misfit:
    """Of joint absences of pairs: what the network leaves of scaled PMI2, against half of the difference of two halves."""
    logs = source.logs(folds.all)
    scale = np.exp(logs.single / 2)
    upper = np.triu_indices(source.n_features, 1)
    pairs = scale_pairs(logs, scale)
    residual, pairs = subtract_pairs(pairs, scale, network)[upper], pairs[upper]
    first_half, second_half = (scale_pairs(source.logs(half), scale)[upper] for half in folds.splits[0])
    noise = (first_half - second_half) / 2
    return Misfit.of(float(residual @ residual), float(noise @ noise), float(pairs @ pairs))


def compute_goodness(network: Network, rows: Any, seed: int) -> Goodness:
    """Of some rows of 0 and 1, shape (n, n_findings)."""
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
        # Of every cause that is on: (a r)^2 - (a^2) (r^2), and what a change of its weights would make of a r.
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
    """Log-likelihoods of rows of 0 and 1 under a network, over the configurations of EM, and under independent findings.

    Of rows that are too crowded for EM, over all configurations, or a sample of them.
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
    """The network with causes that are hardly ever on, where independent findings are likelier than with them, else None.

    Each weight and prior is charged two nats, for what it owes to rows that it was learned from. Leaks then give the
    frequencies.
    """
    with_causes, independent = compare_with_independence(network, rows, frequency, crowded)
    min_gain = _NATS_PER_PARAMETER * (np.count_nonzero(network.weights) + network.m) / n_rows
    if float((with_causes - independent).mean()) >= min_gain:
        return None
    priors = _FADED_PRIOR_SHARE * network.priors
    p_absent = np.prod(1 + priors[:, None] * np.expm1(-network.weights), axis=0)  # of what the causes would show
    return replace(network, priors=priors, leak=np.clip(1 - (1 - frequency) / p_absent, _TINY, 1 - _TINY))


def check_against_classes(of_causes: np.ndarray, rows: Any, train: Any, n_classes: int, seed: int) -> list[Check]:
    """Whether a mixture of as many classes, learned from other rows, describes rows better than causes do.

    None of one class, or of very many.

    Parameters
    ----------
    found : ndarray of shape (n,)
        Log-likelihood of the rows under causes.
    rows, train : tables of 0, 1 and NaN
        Of shape (n, n_findings), and those that classes are learned from.
    """
    if not 2 <= n_classes <= _MAX_CLASSES:
        return []
    chances, shares = fit_classes(fill_gaps_with_nan(train), n_classes, seed)
    _, of_classes = normalised(
        product_log_density("bernoulli", fill_gaps_with_nan(rows), chances) + np.log(shares), shares
    )
    gain = float((of_classes - of_causes).mean())
    n_suggested = max(min(n_classes, rows.shape[1] // 3), 2)  # that three groups of columns can tell apart
    return [
        Check(
            "classes of rows", "nats a row", gain, at_most(_MAX_CLASS_GAIN),
            f"What a mixture of {n_classes} classes of rows gains over as many causes in the likelihood of rows that neither "
            "was learned from. Of causes several are on in a row; a row is of one class.", "not in the paper", "note",
            f"Rows fall into classes, which describe them better than causes do: fit MultiViewMixture({n_suggested}, "
            "distribution='bernoulli') on three groups of the columns, such as np.array_split(X, 3, axis=1).",
        )
    ]  # fmt: skip


def fit_classes(table: np.ndarray, n_classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Chances of findings in classes of rows, shape (K, n_findings), and shares of classes: the likelier of two random starts.

    Each class has half a row more, with the frequencies of all. NaN is a finding that is not known.
    """
    is_known = (~np.isnan(table)).astype(float)
    present, fits = np.where(is_known > 0, table, 0.0), []
    frequency = present.sum(axis=0) / np.maximum(is_known.sum(axis=0), 1.0)
    for start in range(_STARTS):
        memberships = np.random.default_rng([seed, 105, start]).dirichlet(np.full(n_classes, 0.1), len(table)).T
        chances = (memberships @ present + 0.5 * frequency) / (memberships @ is_known + 0.5)
        update = ProductMixtureUpdate("bernoulli", chances, None, memberships.mean(axis=1), _MIN_CHANCE)
        fits.append(refine(update, over(Blocks.from_array(table)), "auto", most=_STEPS))
    chances, shares = max(fits, key=lambda one: float(one.log_likelihood[-1])).values
    rows = shares[:, None] * len(table)
    return (rows * chances + 0.5 * frequency) / (rows + 0.5), shares


def _independent_log_likelihood(present: np.ndarray, missing: np.ndarray, frequency: np.ndarray) -> np.ndarray:
    """Log-likelihood of the findings of each row that are known if each is present by its own chance, (n,)."""
    return np.asarray(present @ np.log(frequency / (1 - frequency)) + ~missing @ np.log1p(-frequency))


def score_missingness(rows: Any) -> tuple[float, int] | None:
    """How far gaps go with other findings: mean square of the standard scores of pairs, one for noise, and their number.

    Of a pair, the sum over rows of (x_i - its mean) (gap_j - its share), where i is known. None if there are no gaps.
    """
    present, missing = read_cells(rows)
    if not missing.any():
        return None
    is_known = (~missing).astype(float)
    centred = is_known * (present - present.sum(axis=0) / np.maximum(is_known.sum(axis=0), 1.0))
    gaps = missing - missing.mean(axis=0)
    products, squares = centred.T @ gaps, (centred**2).T @ gaps**2
    np.fill_diagonal(squares, 0.0)
    is_used = squares > 1.0  # a cell or two say nothing
    return (float((products[is_used] ** 2 / squares[is_used]).mean()), int(is_used.sum())) if is_used.any() else None


def _mean_square_score(causes: np.ndarray, priors: np.ndarray) -> float | None:
    """Mean square of the standard scores of pairs of drawn causes (draws, n, m); a row counts by the mean over its draws.

    Of pairs that are both on in no row, or hardly one, the variance is that of independent causes.
    """
    n_draws, n, m = causes.shape
    if m == 1:
        return None
    upper, centred = np.triu_indices(m, 1), causes - priors
    mean = sum(one.T @ one for one in centred)[upper] / (n * n_draws)
    products = (one * other for one in centred for other in centred)
    variance = sum(each.T @ each for each in products)[upper] / (n * n_draws**2) - mean**2
    expected_share = np.outer(priors, priors)[upper]
    is_rare = n * expected_share < 1
    variance[is_rare] = np.maximum(variance[is_rare], expected_share[is_rare])
    deviation = np.maximum(np.sqrt(np.maximum(variance, 0.0) / n), 1e-100)  # whose square is in range
    return float(((mean / deviation) ** 2).mean())


def _draw_causes(update: NoisyOrUpdate, rows: Any, uniform: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Causes drawn from the posteriors of rows, (draws, n, m), for ``uniform`` numbers (n, draws); log-likelihoods (n,).

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
    causes = np.zeros((*on.shape[:2], m + 1))  # the last cause is none
    np.put_along_axis(causes, np.broadcast_to(likely.causes, on.shape), on, axis=2)
    without_causes = np.log1p(-update.priors).sum() + _independent_log_likelihood(present, missing, update.leak)
    return causes[:, :, :m], without_causes + log_sums


def _draw_configurations(logs: np.ndarray, uniform: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Configurations of rows drawn by joint probabilities, given their logarithms (n, c): (n, draws); log-likelihoods (n,)."""
    shares, highest = scaled_exp(logs)
    shares = np.cumsum(shares, axis=1)
    chosen = (shares[:, None, :] < (uniform * shares[:, -1:])[:, :, None]).sum(axis=2)
    return chosen, highest + np.log(shares[:, -1])
