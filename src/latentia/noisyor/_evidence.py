"""The evidence table of a noisy-or network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..evidence import Check, Misfit, PartErrors, above, at_least, at_most, bounds, equal_to, error_checks, rank_checks
from ..evidence.limits import MAX_DIRECTION_ERROR
from ..metrics.matching import nearest_other_distance
from ._em import MAX_CROWDED, MAX_ENUMERATED, MIN_GAIN, NetworkRefinement
from ._goodness import Goodness, max_mean_square
from ._learners import Learner, Spectrum
from .absences import AbsenceCounts, AbsenceMoments, ObservedAbsences
from .inference import Network
from .inference.search import MAX_CONFIGURATIONS

_MIN_LINK_STRENGTH = 0.05  # strength from which a cause counts as linked to a finding
_MIN_ABSENCES = 20  # joint absences below which the PMI of a pair is noise
_PMI_ACCURACY = 0.1  # accuracy of PMI in the sample size of the theorem
_TINY = 1e-12
_MAX_REMAINING = 0.05  # relative systematic error that needs no further corrections
MAX_PRIOR = 0.7  # prior above which absences say too little of a cause
_ROW_SOURCES = (AbsenceCounts, ObservedAbsences)


@dataclass(frozen=True)
class FitDiagnostics:
    """Results of a fit that the evidence table is made from."""

    refined: NetworkRefinement
    learner: Learner
    spectrum: Spectrum
    source: AbsenceMoments
    parts: PartErrors
    n_unused: int
    misfit: Misfit | None
    goodness: Goodness | None
    trivial: Sequence[Check]
    gaps: tuple[float, int] | None = None


def compute_spectral_boundedness(weights: np.ndarray, order: int = 2) -> float:
    """Compute tau of Definition 2.3: the smallest with G G^T <= tau (F F^T + sigma_m(F F^T) I), for weights (m, n).

    F = 1 - exp(-W) and G = 1 - exp(-2 W) for order 2; Theorem 3.3 needs orders 3 and 4 too. With F = U S V^T it is the largest
    eigenvalue of G^T (F F^T + s I)^-1 G, which needs only matrices of n x m. Infinite if the rank of F is below m.
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


def compute_incoherence(weights: np.ndarray) -> float:
    """Compute mu of Definition 3.2 for F = 1 - exp(-W), weights (m, n): 1 at best, n / m at worst."""
    m, n = weights.shape
    basis = np.linalg.svd(-np.expm1(-weights.T), full_matrices=False)[0]
    return float((basis**2).sum(axis=1).max() * n / m)


def noisy_or_checks(measured: FitDiagnostics) -> list[Check]:
    """List the lines of the evidence table."""
    network, parts = measured.refined.network, measured.parts
    m, limit, symbol = network.m, _error_limit(network.weights), "mean |W_k - W'_k| / |W_k|"
    n_rows = round(measured.source.n_rows.sum()) if isinstance(measured.source, _ROW_SOURCES) else 0
    checks = error_checks(parts, limit, symbol, "relative to its size", "cause", n_rows=n_rows)
    checks += measured.trivial
    if measured.misfit is not None:
        checks += measured.misfit.checks(noun="causes")
    if measured.goodness is not None:
        checks += measured.goodness.checks(limit)
    checks += _rank_checks(measured, m)
    if measured.learner.likely is not None:
        low, high = measured.learner.likely
        range_text = f"{low} to {high} predict as well." if low < high else "Other numbers are clearly worse."
        checks.append(
            Check(
                "number of causes", "m", float(m), None,
                "With this number of causes, networks of half of the rows best predict pairs of findings in the other half. "
                + range_text,
                "not in the paper",
            )
        )  # fmt: skip
    agreement = measured.learner.agreement
    if agreement is not None:
        worst = int(agreement.argmax())
        checks.append(
            Check(
                "partitions agree", "max_k |W_k - W_k(partition)| / |W_k|", float(agreement[worst]), at_most(0.5),
                f"Mean distance of cause {worst}, the least stable, to the nearest cause recovered from one partition.",
                "Algorithm 1",
            )
        )  # fmt: skip
    checks += [*_theorem_checks(network), *_systematic_checks(measured), *_em_checks(measured.refined)]
    if isinstance(measured.source, _ROW_SOURCES):
        checks += _absence_checks(measured.source)
    if isinstance(measured.source, ObservedAbsences):
        checks += _missing_checks(measured.source.share_missing, measured.gaps)
    if measured.n_unused:
        meaning = "Findings that are in no row or in every row, or copies of other findings."
        checks.append(Check("findings left out", "", float(measured.n_unused), None, meaning, "model"))
    return checks


def _theorem_checks(network: Network) -> list[Check]:
    """List the assumptions of Theorems 3.1 and 3.3."""
    m, n = network.weights.shape
    strengths = -np.expm1(-network.weights)
    linked = strengths >= _MIN_LINK_STRENGTH
    active = float((network.priors[:, None] * linked).sum(axis=0).mean())
    density = float(linked.mean())
    tau, mu = compute_spectral_boundedness(network.weights), compute_incoherence(network.weights)
    tau_of_all = max(tau, *(compute_spectral_boundedness(network.weights, order) for order in (3, 4)))
    rho = float(network.priors.mean())
    return [
        Check(
            "causes on at a finding", "rho p m", active, at_most(1, "c of the theorem"),
            f"Mean number of causes on and linked to a finding (strength at least {_MIN_LINK_STRENGTH:g}). If it is small, "
            "absences say much.",
            "Theorem 3.1",
        ),
        Check(
            "spectral boundedness", "tau", tau, at_most(1 / max(rho, _TINY), "1 / rho"),
            "How much G = 1 - exp(-2 W), the systematic error, exceeds F = 1 - exp(-W) at worst. QMR-DT has less than 6.",
            "Definition 2.3",
        ),
        Check(
            "incoherence", "mu", mu, at_most(np.sqrt(n / m), "sqrt(n / m)"),
            "Whether a few findings carry a cause alone: 1 at best, n / m at worst.", "Definition 3.2",
        ),
        Check(
            "error of the theorem", "eta = sqrt(p m) rho tau^1.5", bounds.noisy_or_error(m, density, rho, tau_of_all),
            None,
            "Relative error with unlimited rows and no corrections, up to a constant. Its tau is the largest for "
            "1 - exp(-l W), l = 2, 3, 4.", "Theorem 3.3",
        ),
    ]  # fmt: skip


def _systematic_checks(measured: FitDiagnostics) -> list[Check]:
    """List the errors that all parts of the rows share."""
    max_prior = float(measured.refined.network.priors.max())
    lines = [
        Check(
            "most frequent cause", "max_k rho_k", max_prior, at_most(MAX_PRIOR),
            "If a cause is nearly always on, absences say too little about it.", "Theorem 3.1", "note",
        )
    ]  # fmt: skip
    remaining = measured.learner.remaining
    if remaining is not None and not measured.refined.n_steps:
        worst = int(remaining.argmax())
        lines.append(
            Check(
                "left by the corrections", "relative to its size", float(remaining[worst]), at_most(_MAX_REMAINING),
                f"Systematic error of cause {worst} that further rounds would remove; the expected error includes it. Raise "
                "corrections to remove it.", "Theorem 3.3",
            )
        )  # fmt: skip
    return lines


def _em_checks(refined: NetworkRefinement) -> list[Check]:
    """List the lines on EM: convergence, and rows with too many explanations."""
    if not len(refined.refinement.log_likelihood):
        return []
    steps_text = (
        f"{refined.n_steps} steps."
        if refined.n_steps
        else "Above the limit there is no EM: the network is that of the moments."
    )
    lines = []
    if refined.n_steps:
        lines.append(
            Check(
                "EM has converged", "log-likelihood, nats a parameter", refined.remaining, at_most(MIN_GAIN),
                f"{steps_text} Gain of further steps, or of the last step if their number was given. If EM has not converged, "
                "neither have fits on parts of the data, and the expected error misses the difference.",
                "not in the paper",
            )
        )  # fmt: skip
    if refined.network.m > MAX_ENUMERATED:
        lines.append(
            Check(
                "rows with many explanations", "share of the rows", refined.crowded, at_most(MAX_CROWDED),
                f"Rows with more than {MAX_CONFIGURATIONS} likely configurations of causes; EM sums over {MAX_CONFIGURATIONS}. "
                "Many such rows bias EM, in all parts of the data alike. " + ("" if refined.n_steps else steps_text),
                "not in the paper", "veto" if refined.n_steps else "note",
            )
        )  # fmt: skip
    return lines


def _error_limit(weights: np.ndarray) -> float:
    """Return the largest error that still separates causes: a third of the smallest relative distance, at most .3."""
    if len(weights) == 1:
        return MAX_DIRECTION_ERROR
    lengths = np.maximum(np.linalg.norm(weights, axis=1, keepdims=True), _TINY)
    return min(MAX_DIRECTION_ERROR, nearest_other_distance(weights / lengths, "euclidean") / 3)


def _rank_checks(measured: FitDiagnostics, m: int) -> list[Check]:
    """List the lines on directions: how many the data carries, and the last that the causes need."""
    spectrum = measured.spectrum
    last, following = float(spectrum.values[m - 1]), float(spectrum.values[m]) if len(spectrum.values) > m else 0.0
    # Further directions are no sign of more causes, as terms of higher order have them too; goodness of fit accounts for that.
    lines = rank_checks(spectrum.values[:m], spectrum.noise, m, reference="section 3") if spectrum.noise else []
    return [
        *lines,
        Check(
            "smallest singular value", f"sigma_{m}(PMI)", last, above(spectrum.noise, "noise"),
            f"The last direction of pairs that the causes need; the next is {following:.2g}.", "section 3",
        ),
    ]  # fmt: skip


def _missing_checks(share: float, gaps: tuple[float, int] | None) -> list[Check]:
    """List the lines on gaps: their share, and whether they depend on other findings."""
    lines = [
        Check(
            "missing cells", "share", share, None,
            "Joint absences are shares of the rows in which findings are known, and EM sums unknown ones out. Both assume "
            "that whether a cell is known does not depend on its value.", "model",
        )
    ]  # fmt: skip
    if gaps is not None:
        score, n_pairs = gaps
        lines.append(
            Check(
                "missing by chance", "mean z^2 of pairs", score, at_most(max_mean_square(n_pairs), "1 for noise"),
                "How often a cell is missing where another finding is present, compared with chance. Above the limit gaps "
                "depend on the row, such as tests that were ordered because of other findings.", "model", "caution",
                "Gaps depend on the findings: fit only the rows without gaps, and compare.",
            )
        )  # fmt: skip
    return lines


def _absence_checks(source: AbsenceCounts | ObservedAbsences) -> list[Check]:
    table, n_rows = source.fewest_absences()
    pairs = table[np.triu_indices(len(table), 1)]
    n_rare, n_rarest = int((pairs < _MIN_ABSENCES).sum()), int(pairs.min())
    needed = bounds.noisy_or_rows(max(n_rarest, 0.5) / n_rows, source.n_features, _PMI_ACCURACY)
    return [
        Check(
            "pairs seldom absent together", f"N P_ij < {_MIN_ABSENCES}", float(n_rare), equal_to(0),
            f"Out of {len(pairs)} pairs; the rarest joint absence occurs {n_rarest} times. The PMI of these pairs is noise: "
            "findings that are nearly always present help little.", "Lemma E.1",
        ),
        Check(
            "sample size of the theorem", "N", float(n_rows), at_least(needed),
            f"Rows with which every PMI of a pair has an error below {_PMI_ACCURACY:g} (constant 1).", "Lemma E.1",
        ),
    ]  # fmt: skip
