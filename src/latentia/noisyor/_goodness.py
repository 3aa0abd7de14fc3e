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
from ..likelihood.rows import scale_exp
from ..passes import Blocks, Folds
from ._em import Configurations, NoisyOrUpdate
from ._findings import cells_of, missing_findings, present_findings, rows_with_nan
from ._recovery import left_of_pairs, scaled_pairs
from .absences import AbsenceMoments
from .inference import posteriors
from .inference.network import Network

_DRAWS = 4
_SURE = 3.0  # standard deviations of the spread that do not count
_MOST_TOGETHER = 4.0  # mean square of standard scores, one for noise
_MOST_LEFT, _NOISE = 0.25, 4.0  # the same of findings: above one, and in standard deviations of the mean
_CHARGE = 2.0  # nats a parameter: those that were chosen to stay fit rows better than one nat each
_HARDLY = 1e-3  # of the time that causes were on
_MOST_CLASSES = 60  # of which some thousand rows say anything
_CLASSES = 0.05  # nats a row, up to which classes are no better than causes
_STARTS, _STEPS, _LEAST = 2, 60, 1e-9  # of EM for classes, and least chance of a finding in them
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

    together: float | None
    left: float
    n_pairs: int
    spread: tuple[float, float]

    @property
    def bias(self) -> float:
        """Relative error of the weights that goes with the spread, where it is clearly more than noise."""
        return float(np.sqrt(max(self.spread[0] - _SURE * self.spread[1], 0.0)))

    def checks(self, limit: float) -> list[Check]:
        """The lines, which ask for care where they fail."""
        most = most_mean_square(self.n_pairs)
        return [
            Check(
                "causes independent", "mean z^2 of pairs", self.together, at_most(_MOST_TOGETHER, "1 for noise"),
                "How often two causes are on in the same rows, against chance. Above the limit causes go together or shut each "
                "other out, or there are too many of them.", "Definition 2.1", "caution",
                "Some causes go together more or less often than by chance: read them as a group, or compare with fewer.",
            ),
            Check(
                "findings independent", "mean z^2 of pairs", self.left, at_most(most, "1 for noise"),
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


def most_mean_square(n_pairs: int) -> float:
    """Up to which a mean square of standard scores of so many pairs passes for noise."""
    return float(1 + max(_MOST_LEFT, _NOISE * np.sqrt(2 / max(n_pairs, 1))))


def pairs_misfit(network: Network, source: AbsenceMoments, dealt: Folds) -> Misfit:
    """Of joint absences of pairs: what the network leaves of scaled PMI2, against half of the difference of two halves."""
    logs = source.logs(dealt.all)
    scale = np.exp(logs.single / 2)
    upper = np.triu_indices(source.n_features, 1)
    pairs = scaled_pairs(logs, scale)
    left, pairs = left_of_pairs(pairs, scale, network)[upper], pairs[upper]
    one, other = (scaled_pairs(source.logs(half), scale)[upper] for half in dealt.splits[0])
    noise = (one - other) / 2
    return Misfit.from_norms(float(left @ left), float(noise @ noise), float(pairs @ pairs))


def rows_goodness(network: Network, rows: Any, seed: int) -> Goodness:
    """Of some rows of 0 and 1, shape (n, n_findings)."""
    update = NoisyOrUpdate.of(network)
    present, missing = cells_of(rows)
    causes, _ = _drawn(update, rows, np.random.default_rng(seed).random((len(present), _DRAWS)))
    weights, n = -np.log1p(-update.strengths), causes.shape[1]
    left = np.zeros((present.shape[1],) * 2)
    excess, scale = np.zeros(n), 0.0
    for on in causes:
        chance = -np.expm1(np.log1p(-update.leak) - on @ weights)
        residual = np.where(missing, 0.0, present - chance)
        standard = residual / np.sqrt(np.maximum(chance * (1 - chance), _TINY))
        left += standard.T @ standard / _DRAWS
        score, slope = residual / chance, np.where(missing, 0.0, (1 - chance) / chance)
        # Of every cause that is on: (a r)^2 - (a^2) (r^2), and what a change of its weights would make of a r.
        square = (score @ weights.T) ** 2 - score**2 @ (weights**2).T
        excess += (on * square).sum(axis=1)
        scale += float((on * (slope @ (weights**2).T) ** 2).sum())
    upper = np.triu_indices(len(left), 1)
    known = (~missing).astype(float)
    together_known = np.maximum((known.T @ known)[upper], 1.0)
    scale = max(scale, _TINY)
    spread = float(excess.sum() / scale), float(excess.std() * np.sqrt(n) / scale)
    return Goodness(
        _mean_square(causes, update.priors), float((left[upper] ** 2 / together_known).mean()), len(upper[0]), spread
    )


def against_independence(
    network: Network, rows: Any, frequency: np.ndarray, crowded: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Log-likelihoods of rows of 0 and 1 under a network, over the configurations of EM, and under independent findings.

    Of rows that are too crowded for EM, over all configurations, or a sample of them.
    """
    present, missing = cells_of(rows)
    if crowded:
        found = posteriors(network, present, ~missing).log_likelihood
    else:
        _, found = _drawn(NoisyOrUpdate.of(network), rows, np.empty((rows.shape[0], 0)))
    return found, _independent(present, missing, np.clip(frequency, _TINY, 1 - _TINY))


def hardly_on(network: Network, rows: Any, frequency: np.ndarray, n_rows: int, crowded: bool = False) -> Network | None:
    """The network with causes that are hardly ever on, where independent findings are likelier than with them, else None.

    Each weight and prior is charged two nats, for what it owes to rows that it was learned from. Leaks then give the
    frequencies.
    """
    of_causes, of_chance = against_independence(network, rows, frequency, crowded)
    charged = _CHARGE * (np.count_nonzero(network.weights) + network.m) / n_rows
    if float((of_causes - of_chance).mean()) >= charged:
        return None
    priors = _HARDLY * network.priors
    absent = np.prod(1 + priors[:, None] * np.expm1(-network.weights), axis=0)  # of what the causes would show
    return replace(network, priors=priors, leak=np.clip(1 - (1 - frequency) / absent, _TINY, 1 - _TINY))


def against_classes(found: np.ndarray, rows: Any, train: Any, n_classes: int, seed: int) -> list[Check]:
    """Whether a mixture of as many classes, learned from other rows, describes rows better than causes do.

    None of one class, or of very many.

    Parameters
    ----------
    found : ndarray of shape (n,)
        Log-likelihood of the rows under causes.
    rows, train : tables of 0, 1 and NaN
        Of shape (n, n_findings), and those that classes are learned from.
    """
    if not 2 <= n_classes <= _MOST_CLASSES:
        return []
    chances, shares = classes_of(rows_with_nan(train), n_classes, seed)
    _, of_classes = normalised(product_log_density("bernoulli", rows_with_nan(rows), chances) + np.log(shares), shares)
    gain = float((of_classes - found).mean())
    most = max(min(n_classes, rows.shape[1] // 3), 2)  # that three groups of columns can tell apart
    return [
        Check(
            "classes of rows", "nats a row", gain, at_most(_CLASSES),
            f"What a mixture of {n_classes} classes of rows gains over as many causes in the likelihood of rows that neither "
            "was learned from. Of causes several are on in a row; a row is of one class.", "not in the paper", "note",
            f"Rows fall into classes, which describe them better than causes do: fit MultiViewMixture({most}, "
            "distribution='bernoulli') on three groups of the columns, such as np.array_split(X, 3, axis=1).",
        )
    ]  # fmt: skip


def classes_of(table: np.ndarray, n_classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Chances of findings in classes of rows, shape (K, n_findings), and shares of classes: the likelier of two random starts.

    Each class has half a row more, with the frequencies of all. NaN is a finding that is not known.
    """
    known = (~np.isnan(table)).astype(float)
    present, fits = np.where(known > 0, table, 0.0), []
    frequency = present.sum(axis=0) / np.maximum(known.sum(axis=0), 1.0)
    for start in range(_STARTS):
        dealt = np.random.default_rng([seed, 105, start]).dirichlet(np.full(n_classes, 0.1), len(table)).T
        chances = (dealt @ present + 0.5 * frequency) / (dealt @ known + 0.5)
        update = ProductMixtureUpdate("bernoulli", chances, None, dealt.mean(axis=1), _LEAST)
        fits.append(refine(update, over(Blocks.from_array(table)), "auto", max_steps=_STEPS))
    chances, shares = max(fits, key=lambda one: float(one.log_likelihood[-1])).values
    rows = shares[:, None] * len(table)
    return (rows * chances + 0.5 * frequency) / (rows + 0.5), shares


def _independent(present: np.ndarray, missing: np.ndarray, chance: np.ndarray) -> np.ndarray:
    """Log-likelihood of the findings of each row that are known if each is present by its own chance, (n,)."""
    return np.asarray(present @ np.log(chance / (1 - chance)) + ~missing @ np.log1p(-chance))


def missing_by_chance(rows: Any) -> tuple[float, int] | None:
    """How far gaps go with other findings: mean square of the standard scores of pairs, one for noise, and their number.

    Of a pair, the sum over rows of (x_i - its mean) (gap_j - its share), where i is known. None if there are no gaps.
    """
    present, missing = cells_of(rows)
    if not missing.any():
        return None
    known = (~missing).astype(float)
    centred = known * (present - present.sum(axis=0) / np.maximum(known.sum(axis=0), 1.0))
    gaps = missing - missing.mean(axis=0)
    products, squares = centred.T @ gaps, (centred**2).T @ gaps**2
    np.fill_diagonal(squares, 0.0)
    used = squares > 1.0  # a cell or two say nothing
    return (float((products[used] ** 2 / squares[used]).mean()), int(used.sum())) if used.any() else None


def _mean_square(causes: np.ndarray, priors: np.ndarray) -> float | None:
    """Mean square of the standard scores of pairs of drawn causes (draws, n, m); a row counts by the mean over its draws.

    Of pairs that are both on in no row, or hardly one, the variance is that of independent causes.
    """
    n_draws, n, m = causes.shape
    if m == 1:
        return None
    upper, centred = np.triu_indices(m, 1), causes - priors
    mean = sum(one.T @ one for one in centred)[upper] / (n * n_draws)
    both = (one * other for one in centred for other in centred)
    variance = sum(each.T @ each for each in both)[upper] / (n * n_draws**2) - mean**2
    chance = np.outer(priors, priors)[upper]
    rare = n * chance < 1
    variance[rare] = np.maximum(variance[rare], chance[rare])
    deviation = np.maximum(np.sqrt(np.maximum(variance, 0.0) / n), 1e-100)  # whose square is in range
    return float(((mean / deviation) ** 2).mean())


def _drawn(update: NoisyOrUpdate, rows: Any, uniform: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Causes drawn from the posteriors of rows, (draws, n, m), for ``uniform`` numbers (n, draws); log-likelihoods (n,).

    Both are over the configurations that EM sums over: all of them, or with many causes the likely ones of each row.
    """
    present, missing = cells_of(rows)
    if update.enumerate_all:
        every = Configurations.of(update)
        chosen, log_likelihood = _chosen(every.log_joint(present, missing), uniform)
        return every.table[chosen.T], log_likelihood
    likely = update.likely(*present_findings(rows), *missing_findings(rows))
    chosen, beyond = _chosen(likely.logs, uniform)
    masks = np.take_along_axis(likely.masks, chosen, axis=1).T[:, :, None]
    on = masks >> np.arange(likely.causes.shape[1]) & 1
    m = len(update.priors)
    drawn = np.zeros((*on.shape[:2], m + 1))  # the last cause is none
    np.put_along_axis(drawn, np.broadcast_to(likely.causes, on.shape), on, axis=2)
    without_causes = np.log1p(-update.priors).sum() + _independent(present, missing, update.leak)
    return drawn[:, :, :m], without_causes + beyond


def _chosen(logs: np.ndarray, uniform: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Configurations of rows drawn by joint probabilities, given their logarithms (n, c): (n, draws); log-likelihoods (n,)."""
    shares, highest = scale_exp(logs)
    shares = np.cumsum(shares, axis=1)
    chosen = (shares[:, None, :] < (uniform * shares[:, -1:])[:, :, None]).sum(axis=2)
    return chosen, highest + np.log(shares[:, -1])
