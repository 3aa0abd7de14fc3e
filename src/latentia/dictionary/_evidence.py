"""Checks of the assumptions of the theorems on the fitted dictionary, and of its codes on rows that it was not learned from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln
from scipy.stats import chi2

from ..evidence import (
    Check,
    Misfit,
    PartErrors,
    at_least,
    at_most,
    error_checks,
    trivial_checks,
    within,
)
from ..evidence.limits import MAX_DIRECTION_ERROR, NOISE_RATIO, STANDARD_ERRORS
from ..linalg.ratios import ratio_of
from ..metrics import atom_coherence
from ._sparse_codes import CodeSums
from ._sparsity import MAX_UNDERCODED_SHARE, measure_undercoding
from ._start import Start
from .pursuit import Codes, matching_pursuit

_MIN_USES = 0.2  # atoms with a smaller share of the mean number of uses are hardly used
_QUANTILES = 0.1, 0.5, 0.9
MAX_JOINT_SHARE = 0.5  # atoms that share more of their uses, beyond chance, are not separable
_MAX_JOINT_ATOMS = 0.05  # largest share of such atoms
_SMALL_COEFFICIENT = 0.1  # coefficients below this share of an atom's typical size are not uses
_NEGLIGIBLE_SHARE = 1e-4  # residuals below this share of the rows' energy are always acceptable
_ZERO_SHARE = 1e-10  # share of the energy that counts as nothing


@dataclass(frozen=True)
class Measurements:
    """Measurements after a fit, for the checks.

    Attributes
    ----------
    atoms : ndarray of shape (m, n)
    sparsity : int
    sums : CodeSums
        Sums of all rows, with these atoms.
    start : Start
    rows : ndarray of shape (r, n)
        A sample of the rows.
    codes : Codes
        Codes of the sample, with one atom more than the sparsity if possible.
    errors : list of float
        Relative squared error of every round.
    noise : float
        Standard deviation of the noise of an entry.
    """

    atoms: np.ndarray
    sparsity: int
    sums: CodeSums
    start: Start
    rows: np.ndarray
    codes: Codes
    errors: list[float]
    noise: float

    def misfit(self) -> Misfit:
        """Compare the scatter of residuals with that of noise, without a tenth on either side, where pursuit may fail."""
        residuals, energy = self.codes.residuals[:, self.sparsity], self.codes.residuals[:, 0]
        degrees_of_freedom = max(self.atoms.shape[1] - self.sparsity, 1)
        low, middle, high = (float(q) for q in np.quantile(residuals, _QUANTILES))
        if middle <= _NEGLIGIBLE_SHARE * float(energy.mean()):
            return Misfit.from_norms(1.0, 1.0, 1.0)
        spread = (high - low) / float(np.diff(chi2.ppf([_QUANTILES[0], _QUANTILES[2]], degrees_of_freedom))[0])
        noise = middle / float(chi2.median(degrees_of_freedom))
        return Misfit.from_norms(
            2 * degrees_of_freedom * spread**2, 2 * degrees_of_freedom * noise**2, float(energy.mean()) ** 2
        )

    def joint_shares(self) -> np.ndarray:
        """Return for every atom the largest share of uses together with one other atom, beyond chance; shape (m,).

        These are lower bounds. Rows identify the span of atoms that always occur together, but not their directions.
        """
        table = self.codes.dense(len(self.atoms))
        sizes = np.sqrt(np.square(table).sum(axis=0) / np.maximum((table != 0).sum(axis=0), 1))
        is_used = (np.abs(table) > _SMALL_COEFFICIENT * sizes).astype(np.float32)
        uses, by_chance = np.maximum(is_used.sum(axis=0), 1.0), float(is_used.mean(axis=0).max())
        joint_uses = is_used.T @ is_used
        np.fill_diagonal(joint_uses, 0)
        share = joint_uses.max(axis=1) / uses
        lower_bounds = share - STANDARD_ERRORS * np.sqrt(share * (1 - share) / uses)
        return np.asarray((lower_bounds - by_chance) / max(1 - by_chance, _ZERO_SHARE))


def dictionary_checks(
    measured: Measurements, parts: PartErrors, misfit: Misfit, joint_shares: np.ndarray, offset: float
) -> list[Check]:
    """Build the checks of the evidence."""
    m, n = measured.atoms.shape
    k, sums = measured.sparsity, measured.sums
    largest = float(atom_coherence(measured.atoms).max())
    limit = min(MAX_DIRECTION_ERROR, float(np.sqrt(2 - 2 * np.minimum(atom_coherence(measured.atoms), 1)).mean()) / 3)
    n_used = int((sums.uses >= _MIN_USES * sums.uses.mean()).sum())
    amplitude = float(np.sqrt(np.trace(sums.gram) / max(sums.uses.sum(), 1)))
    unit = "0 is exact, 1.41 has nothing in common"
    checks = error_checks(parts, limit, "mean |d - d'|", unit, "atom", n_rows=sums.n_rows)
    checks += misfit.checks(NOISE_RATIO, "atoms")
    checks += [
        Check(
            "atoms in use", "", float(n_used), at_least(np.ceil(0.9 * m), f"of {m}"),
            "Atoms with at least a fifth of the mean number of rows that use an atom.", "the model", "note",
            f"There are more atoms than the data supports: ask for {n_used}.", n_used,
        ),
        Check(
            "rows that want another atom", "", measure_undercoding(measured.codes, k, m, n)
            if measured.codes.residuals.shape[1] > k + 1 else None, at_most(MAX_UNDERCODED_SHARE),
            "Rows of which another atom would explain half as much again as it would explain of noise.", "the model", "note",
            "Rows use more atoms than the sparsity allows, or there are more atoms than requested.",
        ),
        Check(
            "atoms that come together", "", float((joint_shares > MAX_JOINT_SHARE).mean()), at_most(_MAX_JOINT_ATOMS),
            "Share of the atoms that hardly occur without a certain other one. Rows identify the span of such atoms, but not "
            "their directions.", "not in the paper", "note",
            "Read atoms that always occur together as one group: their directions within its span are not identified.",
        ),
        Check(
            "mean of the rows", "|E[y]|^2 / E|y|^2", offset, at_most(0.05),
            "Coefficients should have mean zero.", "Definition 5.2", "note", "Subtract the mean of each row or column first.",
        ),
        Check(
            "coherence", "mu = max |d_i . d_j| n^1/2", largest * np.sqrt(n), None,
            f"Largest cosine of two atoms, {largest:.2f}, in units of chance.", "Definition 5.1",
        ),
        Check(
            "sparsity for which codes are unique", "k", float(k),
            at_most(0.5 / max(largest, 1e-300)),
            "Below n^1/2 / (2 mu) no other code is as sparse, whatever the row.", "section 5.1.2",
        ),
        Check(
            "sparsity over dimension", "k / n^1/2", k / np.sqrt(n), at_most(0.4),
            "Beyond it the connection graph seldom finds clusters.", "Theorem 5.4",
        ),
        Check(
            "noise over signal", "s / (k c^2 / n)^1/2", float(ratio_of(measured.noise, amplitude * np.sqrt(k / n))),
            at_most(0.4),
            "Standard deviation of an entry's noise over that of its signal.", "Theorem 5.4",
        ),
        *_graph_checks(measured),
        Check(
            "rounds have converged", "relative change", _last_change(measured.errors),
            at_most(0.01), f"{len(measured.errors)} rounds. Relative change of the error in the last one.", "not in the paper",
        ),
    ]  # fmt: skip
    return checks


def _last_change(errors: list[float]) -> float | None:
    """Return the share by which the last round changed the error."""
    if len(errors) < 2:
        return None
    return 0.0 if errors[-1] <= _ZERO_SHARE else abs(errors[-2] / errors[-1] - 1)


def _graph_checks(measured: Measurements) -> list[Check]:
    """Build checks of the connection graph, if there is one."""
    start = measured.start
    m, k = len(measured.atoms), measured.sparsity
    if not start.threshold:
        return []
    checks = [
        Check(
            "clusters of the graph", "", float(len(start.clusters.sets)), at_least(m, "atoms"),
            f"Clusters of the connection graph of {len(start.rows)} rows. Atoms without one begin as rows.", "Theorem 5.21",
        )
    ]  # fmt: skip
    if start.clusters.sets:
        size, expected = float(np.median([len(cluster) for cluster in start.clusters.sets])), len(start.rows) * k / m
        checks.append(
            Check(
                "size of the clusters", "|S| m / (p k)", size / expected, within(0.5, 1.6),
                "Median size over the size that the sparsity implies.", "Algorithm 5.1",
            )
        )  # fmt: skip
    checks.append(
        Check(
            "precision of edges", "", _edge_precision(measured), at_least(0.5),
            "Share of connected pairs of rows that share an atom in their codes.", "Lemma 5.13",
        )
    )  # fmt: skip
    return checks


def _edge_precision(measured: Measurements) -> float | None:
    """Return the share of pairs with a product above the threshold whose codes share an atom, in a sample of the rows."""
    rows = measured.rows
    supports = (measured.codes.dense(len(measured.atoms)) != 0).astype(np.float32)
    linked = np.triu(np.abs(rows @ rows.T) > measured.start.threshold, 1)
    return float((supports @ supports.T)[linked].astype(bool).mean()) if linked.any() else None


def new_row_checks(
    learned: np.ndarray, new_rows: np.ndarray, atoms: np.ndarray, sparsity: int, sums: CodeSums
) -> list[Check]:
    """Check that the dictionary describes new rows better than as many principal directions do.

    A row's likelihood under its best support, less the logarithm of the number of supports, is a lower bound of that under all
    supports: with S the support, N(0, t^2 D_S^T D_S + s^2 I) over (m choose k).
    """
    m, n = atoms.shape
    codes = matching_pursuit(new_rows, atoms, sparsity)
    amplitude = max(float(np.trace(sums.gram)) / max(float(sums.uses.sum()), 1.0), np.finfo(float).tiny)
    min_noise = max(_NEGLIGIBLE_SHARE * sums.energy, np.finfo(float).tiny) / max(sums.n_rows * n, 1)
    noise = max(sums.residual / max(sums.n_rows * (n - sparsity), 1), min_noise) if n > sparsity else min_noise
    fitted = _log_density(new_rows, atoms, codes, amplitude, noise)
    fitted -= gammaln(m + 1) - gammaln(sparsity + 1) - gammaln(m - sparsity + 1)
    trivial = _log_density_of_directions(learned, new_rows, min(sparsity, n - 1), min_noise)
    return trivial_checks(fitted, trivial, extra=0, n_rows=2, against="principal directions")


def _log_density(rows: np.ndarray, atoms: np.ndarray, codes: Codes, amplitude: float, noise: float) -> np.ndarray:
    """Return log N(y; 0, t^2 D_S^T D_S + s^2 I) of every row with its support S, by Woodbury's identity."""
    n, k = rows.shape[1], codes.atoms.shape[1]
    chosen = codes.atoms >= 0
    places = np.where(chosen, codes.atoms, 0)
    are_chosen = chosen[:, :, None] & chosen[:, None, :]
    gram = (atoms @ atoms.T)[places[:, :, None], places[:, None, :]] * are_chosen
    inner = np.eye(k) + amplitude / noise * gram
    products = np.take_along_axis(rows @ atoms.T, places, axis=1) * chosen
    solved = np.linalg.solve(inner, products[:, :, None])[:, :, 0]
    square = np.einsum("rn,rn->r", rows, rows) - amplitude / noise * np.einsum("ri,ri->r", products, solved)
    square = np.maximum(square, codes.residuals[:, -1])
    log_det = n * np.log(noise) + np.linalg.slogdet(inner)[1]
    return np.asarray(-0.5 * (square / noise + log_det + n * np.log(2 * np.pi)))


def _log_density_of_directions(learned: np.ndarray, new_rows: np.ndarray, k: int, min_noise: float) -> np.ndarray:
    """Return the log-density of rows under a Gaussian about the origin with k principal directions, and noise in the others."""
    n = learned.shape[1]
    k = min(k, len(learned))
    _, singular, directions = np.linalg.svd(learned, full_matrices=False)  # avoids a matrix of features by features
    values, vectors = singular[:k] ** 2 / max(len(learned), 1), directions[:k].T
    rest = max(
        (float(np.einsum("ij,ij->", learned, learned)) / max(len(learned), 1) - values.sum()) / (n - k), min_noise
    )
    values = np.maximum(values, rest)
    squares_along = (new_rows @ vectors) ** 2
    square = np.einsum("ij,ij->i", new_rows, new_rows) - squares_along.sum(axis=1)
    return np.asarray(
        -0.5 * (squares_along / values + np.log(values)).sum(axis=1)
        - 0.5 * (square / rest + (n - k) * np.log(rest) + n * np.log(2 * np.pi))
    )
