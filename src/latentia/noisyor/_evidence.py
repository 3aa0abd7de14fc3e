"""The evidence table of a noisy-or network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..evidence import Check, Misfit, PartErrors, above, at_least, at_most, bounds, equal_to, error_checks, rank_checks
from ..metrics.matching import nearest_other_distance
from ._em import LEAST_GAIN, MOST_CROWDED, MOST_ENUMERATED, RefinedNetwork
from ._goodness import Goodness, most_mean_square
from ._learners import Learner, Spectrum
from .absences import AbsenceMoments, CountedAbsences, ObservedAbsences
from .inference import Network
from .inference.search import MOST_FOUND

_LINKED = 0.05  # strength from which a cause counts as linked to a finding
_FEW = 20  # joint absences
_MOST_LIMIT = 0.3
_ACCURACY = 0.1  # of PMI
_TINY = 1e-12
_LEFT = 0.05
MOST_PRIOR = 0.7
_OF_ROWS = (CountedAbsences, ObservedAbsences)


@dataclass(frozen=True)
class Measured:
    """What the fit knows about itself."""

    refined: RefinedNetwork
    learner: Learner
    spectrum: Spectrum
    source: AbsenceMoments
    parts: PartErrors
    n_unused: int
    misfit: Misfit | None
    goodness: Goodness | None
    trivial: Sequence[Check]
    gaps: tuple[float, int] | None = None


def spectral_boundedness(weights: np.ndarray, order: int = 2) -> float:
    """tau of Definition 2.3: the least with G G^T <= tau (F F^T + sigma_m(F F^T) I), for weights (m, n).

    F = 1 - exp(-W) and G = 1 - exp(-2 W), of order 2; Theorem 3.3 asks it of orders 3 and 4 too. With
    F = U S V^T it is the largest eigenvalue of G^T (F F^T + s I)^-1 G, which needs matrices of n x m alone. Infinite if F has
    not rank m.
    """
    first, second = -np.expm1(-weights.T), -np.expm1(-order * weights.T)
    basis, values, _ = np.linalg.svd(first, full_matrices=False)
    smallest = values[-1] ** 2
    if smallest <= (_TINY * values[0]) ** 2:
        return np.inf
    inside = basis.T @ second
    outside = second - basis @ inside
    gram = inside.T @ (inside / (values**2 + smallest)[:, None]) + outside.T @ outside / smallest
    return float(np.linalg.eigvalsh(gram)[-1])


def incoherence(weights: np.ndarray) -> float:
    """mu of Definition 3.2 of F = 1 - exp(-W), weights (m, n): 1 at best, n / m at worst."""
    m, n = weights.shape
    basis = np.linalg.svd(-np.expm1(-weights.T), full_matrices=False)[0]
    return float((basis**2).sum(axis=1).max() * n / m)


def noisy_or_checks(measured: Measured) -> list[Check]:
    """The lines of the evidence table."""
    network, parts = measured.refined.network, measured.parts
    m, limit, symbol = network.m, _limit(network.weights), "mean |W_k - W'_k| / |W_k|"
    n_rows = round(measured.source.n_rows.sum()) if isinstance(measured.source, _OF_ROWS) else 0
    checks = error_checks(parts, limit, symbol, "relative to its size", "cause", n_rows=n_rows)
    checks += measured.trivial
    if measured.misfit is not None:
        checks += measured.misfit.checks(noun="causes")
    if measured.goodness is not None:
        checks += measured.goodness.checks(limit)
    checks += _rank(measured, m)
    if measured.learner.likely is not None:
        low, high = measured.learner.likely
        also = f"So do {low} to {high}." if low < high else "Other numbers are clearly worse."
        checks.append(
            Check(
                "number of causes", "m", float(m), None,
                "With this number of causes networks of halves of the rows predict pairs of findings in the other halves best. "
                + also,
                "not in the paper",
            )
        )  # fmt: skip
    agreement = measured.learner.agreement
    if agreement is not None:
        worst = int(agreement.argmax())
        checks.append(
            Check(
                "partitions agree", "max_k |W_k - W_k(partition)| / |W_k|", float(agreement[worst]), at_most(0.5),
                f"Distance of cause {worst}, the least stable, to what one partition of the findings finds.", "Algorithm 1",
            )
        )  # fmt: skip
    checks += [*_theorem(network), *_systematic(measured), *_em(measured.refined)]
    if isinstance(measured.source, _OF_ROWS):
        checks += _absences(measured.source)
    if isinstance(measured.source, ObservedAbsences):
        checks += _missing(measured.source.share_missing, measured.gaps)
    if measured.n_unused:
        meaning = "Findings that no row has, or every row, or that are copies of others: they were left out."
        checks.append(Check("findings left out", "", float(measured.n_unused), None, meaning, "model"))
    return checks


def _theorem(network: Network) -> list[Check]:
    """What Theorems 3.1 and 3.3 assume."""
    m, n = network.weights.shape
    strengths = -np.expm1(-network.weights)
    linked = strengths >= _LINKED
    active = float((network.priors[:, None] * linked).sum(axis=0).mean())
    density = float(linked.mean())
    tau, mu = spectral_boundedness(network.weights), incoherence(network.weights)
    tau_of_all = max(tau, *(spectral_boundedness(network.weights, order) for order in (3, 4)))
    rho = float(network.priors.mean())
    return [
        Check(
            "causes on at a finding", "rho p m", active, at_most(1, "c of the theorem"),
            f"Mean number of causes on that are linked to a finding (strength at least {_LINKED:g}). Small: absences say much.",
            "Theorem 3.1",
        ),
        Check(
            "spectral boundedness", "tau", tau, at_most(1 / max(rho, _TINY), "1 / rho"),
            "How much G = 1 - exp(-2 W), the systematic error, exceeds F = 1 - exp(-W) at worst. Of QMR-DT: under 6.",
            "Definition 2.3",
        ),
        Check(
            "incoherence", "mu", mu, at_most(np.sqrt(n / m), "sqrt(n / m)"),
            "Whether a few findings carry a cause alone: 1 at best, n / m at worst.", "Definition 3.2",
        ),
        Check(
            "error of the theorem", "eta = sqrt(p m) rho tau^1.5", bounds.noisy_or_error(m, density, rho, tau_of_all),
            None,
            "Relative error that remains with unlimited rows and no corrections, up to a constant. Its tau is the largest of "
            "1 - exp(-l W), l = 2, 3, 4.", "Theorem 3.3",
        ),
    ]  # fmt: skip


def _systematic(measured: Measured) -> list[Check]:
    """Errors that all parts of the rows share."""
    most = float(measured.refined.network.priors.max())
    lines = [
        Check(
            "most frequent cause", "max_k rho_k", most, at_most(MOST_PRIOR),
            "Of causes that are nearly always on absences say too little.", "Theorem 3.1", "note",
        )
    ]  # fmt: skip
    remaining = measured.learner.remaining
    if remaining is not None and not measured.refined.n_steps:
        worst = int(remaining.argmax())
        lines.append(
            Check(
                "left by the corrections", "relative to its size", float(remaining[worst]), at_most(_LEFT),
                f"Systematic error of cause {worst}, if the rounds went on as they do: it is part of the expected error. Raise "
                "corrections to take it off.", "Theorem 3.3",
            )
        )  # fmt: skip
    return lines


def _em(refined: RefinedNetwork) -> list[Check]:
    """Whether EM has converged, and what it cannot sum over."""
    if not len(refined.refinement.log_likelihood):
        return []
    made = (
        f"{refined.n_steps} steps." if refined.n_steps else "Above, there is no EM: the network is that of the moments."
    )
    lines = []
    if refined.n_steps:
        lines.append(
            Check(
                "EM has converged", "log-likelihood, nats a parameter", refined.remaining, at_most(LEAST_GAIN),
                f"{made} What further ones would gain, or, of a number that was asked for, what the last one gained. What is "
                "missing then is missing from the parts of the data too, and from the expected error.",
                "not in the paper",
            )
        )  # fmt: skip
    if refined.network.m > MOST_ENUMERATED:
        lines.append(
            Check(
                "rows with many explanations", "share of the rows", refined.crowded, at_most(MOST_CROWDED),
                f"Rows with more than {MOST_FOUND} likely configurations of causes: EM sums over these alone. Many such rows "
                "bias it, in all parts of the data alike. " + ("" if refined.n_steps else made),
                "not in the paper", "veto" if refined.n_steps else "note",
            )
        )  # fmt: skip
    return lines


def _limit(weights: np.ndarray) -> float:
    """Error up to which causes are told apart: a third of the distance to the nearest other, relative, or .3."""
    if len(weights) == 1:
        return _MOST_LIMIT
    lengths = np.maximum(np.linalg.norm(weights, axis=1, keepdims=True), _TINY)
    return min(_MOST_LIMIT, nearest_other_distance(weights / lengths, "euclidean") / 3)


def _rank(measured: Measured, m: int) -> list[Check]:
    """How many directions the data carries, and the last that the causes need."""
    spectrum = measured.spectrum
    last, following = float(spectrum.values[m - 1]), float(spectrum.values[m]) if len(spectrum.values) > m else 0.0
    # Directions beyond these are no sign of more causes, since terms of higher order have them too: goodness of fit takes these
    # into account.
    lines = rank_checks(spectrum.values[:m], spectrum.noise, m, reference="section 3") if spectrum.noise else []
    return [
        *lines,
        Check(
            "smallest singular value", f"sigma_{m}(PMI)", last, above(spectrum.noise, "noise"),
            f"The last direction of pairs that the causes need; the next is {following:.2g}.", "section 3",
        ),
    ]  # fmt: skip


def _missing(share: float, gaps: tuple[float, int] | None) -> list[Check]:
    """How many cells are not known, and whether that depends on other findings."""
    lines = [
        Check(
            "missing cells", "share", share, None,
            "Joint absences are shares of the rows in which findings are known, and EM sums the others out. Both ask that "
            "whether a cell is known does not depend on what it would say.", "model",
        )
    ]  # fmt: skip
    if gaps is not None:
        score, n_pairs = gaps
        lines.append(
            Check(
                "missing by chance", "mean z^2 of pairs", score, at_most(most_mean_square(n_pairs), "1 for noise"),
                "How often a cell is missing where another finding is present, against chance. Above the limit it depends "
                "on the row what is known of it: tests that were ordered because of other findings, say.", "model", "caution",
                "Which cells are missing goes with the findings: fit the rows that were asked everything alone, and compare.",
            )
        )  # fmt: skip
    return lines


def _absences(source: CountedAbsences | ObservedAbsences) -> list[Check]:
    table, n_rows = source.fewest_absences()
    pairs = table[np.triu_indices(len(table), 1)]
    few, least = int((pairs < _FEW).sum()), int(pairs.min())
    needed = bounds.noisy_or_rows(max(least, 0.5) / n_rows, source.n_features, _ACCURACY)
    return [
        Check(
            "pairs seldom absent together", f"N P_ij < {_FEW}", float(few), equal_to(0),
            f"Pairs of {len(pairs)}; the rarest joint absence occurs {least} times. Their PMI is noise: findings that "
            "are nearly always present help little.", "Lemma E.1",
        ),
        Check(
            "sample size of the theorem", "N", float(n_rows), at_least(needed),
            f"Rows at which every PMI of a pair is within {_ACCURACY:g} (constant 1).", "Lemma E.1",
        ),
    ]  # fmt: skip
