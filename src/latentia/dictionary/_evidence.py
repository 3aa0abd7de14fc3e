"""What the theorems assume, measured on the fitted dictionary, and how the codes do on rows that it was not learned from."""

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
from ..metrics import atom_coherence
from ._sparse_codes import CodeSums
from ._sparsity import WANTING, wanting
from ._start import Start
from .pursuit import Codes, matching_pursuit

_TRUSTED = 0.3  # error of an atom up to which it is the true one (0 to 1.41)
_SELDOM = 0.2  # of the uses that atoms have on average
_QUANTILES = 0.1, 0.5, 0.9
_SCATTER = 2.0  # variance of what is left of a row, over that of noise
TOGETHER = 0.5  # share of an atom's uses, beyond those by chance, from which another one is part of it
_FEW_TOGETHER = 0.05  # of the atoms
_SMALL = 0.1  # of the size of an atom's coefficients: smaller ones are no uses
_DEVIATIONS = 2.0
_OFFSET = 0.05  # share of the rows' energy in their mean
_HARDLY = 1e-4  # share of the rows' energy that may be left whatever it looks like
_NOTHING = 1e-10  # share of the energy that counts as nothing


@dataclass(frozen=True)
class Measured:
    """What is known after a fit.

    Attributes
    ----------
    atoms : ndarray of shape (m, n)
    sparsity : int
    sums : CodeSums
        Of all rows, with these atoms.
    start : Start
    rows : ndarray of shape (r, n)
        Some of the rows.
    codes : Codes
        Theirs, with an atom more than the sparsity where there is one.
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
        """Whether what is left of rows scatters as noise does, but for a tenth on either side, where pursuit may fail."""
        left, energy = self.codes.left[:, self.sparsity], self.codes.left[:, 0]
        free = max(self.atoms.shape[1] - self.sparsity, 1)
        low, middle, high = (float(q) for q in np.quantile(left, _QUANTILES))
        if middle <= _HARDLY * float(energy.mean()):
            return Misfit.from_norms(1.0, 1.0, 1.0)
        spread = (high - low) / float(np.diff(chi2.ppf([_QUANTILES[0], _QUANTILES[2]], free))[0])
        noise = middle / float(chi2.median(free))
        return Misfit.from_norms(2 * free * spread**2, 2 * free * noise**2, float(energy.mean()) ** 2)

    def together(self) -> np.ndarray:
        """Of every atom, the largest share of its uses that are with one other atom, beyond that by chance; shape (m,).

        The least that it surely is. Rows tell the span of atoms that always come together, and not their directions.
        """
        table = self.codes.dense(len(self.atoms))
        sizes = np.sqrt(np.square(table).sum(axis=0) / np.maximum((table != 0).sum(axis=0), 1))
        used = (np.abs(table) > _SMALL * sizes).astype(np.float32)
        uses, by_chance = np.maximum(used.sum(axis=0), 1.0), float(used.mean(axis=0).max())
        both = used.T @ used
        np.fill_diagonal(both, 0)
        share = both.max(axis=1) / uses
        sure = share - _DEVIATIONS * np.sqrt(share * (1 - share) / uses)
        return np.asarray((sure - by_chance) / max(1 - by_chance, _NOTHING))


def dictionary_checks(
    measured: Measured, parts: PartErrors, misfit: Misfit, together: np.ndarray, offset: float
) -> list[Check]:
    """The lines of the evidence."""
    m, n = measured.atoms.shape
    k, sums = measured.sparsity, measured.sums
    largest = float(atom_coherence(measured.atoms).max())
    limit = min(_TRUSTED, float(np.sqrt(2 - 2 * np.minimum(atom_coherence(measured.atoms), 1)).mean()) / 3)
    used = int((sums.uses >= _SELDOM * sums.uses.mean()).sum())
    amplitude = float(np.sqrt(np.trace(sums.gram) / max(sums.uses.sum(), 1)))
    unit = "0 is exact, 1.41 has nothing in common"
    lines = error_checks(parts, limit, "mean |d - d'|", unit, "atom", n_rows=sums.n_rows)
    lines += misfit.checks(_SCATTER, "atoms")
    lines += [
        Check(
            "atoms in use", "", float(used), at_least(np.ceil(0.9 * m), f"of {m}"),
            "Atoms that at least a fifth as many rows use as use an atom on average.", "the model", "caution",
            f"There are more atoms than the data has: ask for {used}.", used,
        ),
        Check(
            "rows that want another atom", "", wanting(measured.codes, k, m, n)
            if measured.codes.left.shape[1] > k + 1 else None, at_most(WANTING),
            "Another atom would take half as much again of what is left of them as it would of noise.", "the model", "caution",
            "Rows use more atoms than the sparsity allows, or there are more atoms than were asked for.",
        ),
        Check(
            "atoms that come together", "", float((together > TOGETHER).mean()), at_most(_FEW_TOGETHER),
            "Share of the atoms that hardly occur without a certain other one. Rows tell what such atoms span, and not their "
            "directions.", "not in the paper", "caution",
            "Read atoms that always come together as one group: their directions within its span are not identified.",
        ),
        Check(
            "mean of the rows", "|E[y]|^2 / E|y|^2", offset, at_most(_OFFSET),
            "Coefficients should have mean zero.", "Definition 5.2", "caution",
            "Subtract the mean of each row or column first.",
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
            "noise over signal", "s / (k c^2 / n)^1/2", measured.noise / max(amplitude * np.sqrt(k / n), 1e-300), at_most(0.4),
            "Standard deviation of an entry's noise over that of its signal.", "Theorem 5.4",
        ),
        *_graph_checks(measured),
        Check(
            "rounds have converged", "relative change", _last_change(measured.errors),
            at_most(0.01), f"{len(measured.errors)} rounds. Relative change of the error in the last one.", "not in the paper",
        ),
    ]  # fmt: skip
    return lines


def _last_change(errors: list[float]) -> float | None:
    """Share by which the last round changed the error."""
    if len(errors) < 2:
        return None
    return 0.0 if errors[-1] <= _NOTHING else abs(errors[-2] / errors[-1] - 1)


def _graph_checks(measured: Measured) -> list[Check]:
    """Of the connection graph, where there was one."""
    start = measured.start
    m, k = len(measured.atoms), measured.sparsity
    if not start.threshold:
        return []
    lines = [
        Check(
            "clusters of the graph", "", float(len(start.clusters.sets)), at_least(m, "atoms"),
            f"Clusters of the connection graph of {len(start.rows)} rows. Atoms without one begin as rows.", "Theorem 5.21",
        )
    ]  # fmt: skip
    if start.clusters.sets:
        size, expected = float(np.median([len(one) for one in start.clusters.sets])), len(start.rows) * k / m
        lines.append(
            Check(
                "size of the clusters", "|S| m / (p k)", size / expected, within(0.5, 1.6),
                "Median size over that which the sparsity asks for.", "Algorithm 5.1",
            )
        )  # fmt: skip
    lines.append(
        Check(
            "precision of edges", "", _edge_precision(measured), at_least(0.5),
            "Connected pairs of rows that share an atom, by the codes that were found.", "Lemma 5.13",
        )
    )  # fmt: skip
    return lines


def _edge_precision(measured: Measured) -> float | None:
    """Share of pairs with a product above the threshold whose codes share an atom, in some of the rows."""
    rows = measured.rows
    supports = (measured.codes.dense(len(measured.atoms)) != 0).astype(np.float32)
    linked = np.triu(np.abs(rows @ rows.T) > measured.start.threshold, 1)
    return float((supports @ supports.T)[linked].astype(bool).mean()) if linked.any() else None


def others_checks(
    learned: np.ndarray, others: np.ndarray, atoms: np.ndarray, sparsity: int, sums: CodeSums
) -> list[Check]:
    """Whether the dictionary of some rows describes other rows better than as many principal directions do.

    A row's likelihood under its own best support, less the logarithm of the number of supports, is a lower bound of that under
    all of them: with S the support, N(0, t^2 D_S^T D_S + s^2 I) over (m choose k).
    """
    m, n = atoms.shape
    codes = matching_pursuit(others, atoms, sparsity)
    amplitude = max(float(np.trace(sums.gram)) / max(float(sums.uses.sum()), 1.0), np.finfo(float).tiny)
    least = max(_HARDLY * sums.energy, np.finfo(float).tiny) / max(sums.n_rows * n, 1)
    noise = max(sums.left / max(sums.n_rows * (n - sparsity), 1), least) if n > sparsity else least
    fitted = _log_density(others, atoms, codes, amplitude, noise)
    fitted -= gammaln(m + 1) - gammaln(sparsity + 1) - gammaln(m - sparsity + 1)
    trivial = _of_directions(learned, others, min(sparsity, n - 1), least)
    return trivial_checks(fitted, trivial, extra=0, n_rows=2, against="principal directions")


def _log_density(rows: np.ndarray, atoms: np.ndarray, codes: Codes, amplitude: float, noise: float) -> np.ndarray:
    """log N(y; 0, t^2 D_S^T D_S + s^2 I) of every row with its own support S, by Woodbury's identity."""
    n, k = rows.shape[1], codes.atoms.shape[1]
    chosen = codes.atoms >= 0
    places = np.where(chosen, codes.atoms, 0)
    both = chosen[:, :, None] & chosen[:, None, :]
    gram = (atoms @ atoms.T)[places[:, :, None], places[:, None, :]] * both
    inner = np.eye(k) + amplitude / noise * gram
    along = np.take_along_axis(rows @ atoms.T, places, axis=1) * chosen
    solved = np.linalg.solve(inner, along[:, :, None])[:, :, 0]
    square = np.einsum("rn,rn->r", rows, rows) - amplitude / noise * np.einsum("ri,ri->r", along, solved)
    square = np.maximum(square, codes.left[:, -1])
    log_det = n * np.log(noise) + np.linalg.slogdet(inner)[1]
    return np.asarray(-0.5 * (square / noise + log_det + n * np.log(2 * np.pi)))


def _of_directions(learned: np.ndarray, others: np.ndarray, k: int, least: float) -> np.ndarray:
    """Log-density of rows under a Gaussian about the origin with k directions of its own and noise in all others."""
    n = learned.shape[1]
    k = min(k, len(learned))
    _, singular, directions = np.linalg.svd(learned, full_matrices=False)  # no matrix of features by features
    values, vectors = singular[:k] ** 2 / max(len(learned), 1), directions[:k].T
    rest = max((float(np.einsum("ij,ij->", learned, learned)) / max(len(learned), 1) - values.sum()) / (n - k), least)
    values = np.maximum(values, rest)
    along = (others @ vectors) ** 2
    square = np.einsum("ij,ij->i", others, others) - along.sum(axis=1)
    return np.asarray(
        -0.5 * (along / values + np.log(values)).sum(axis=1)
        - 0.5 * (square / rest + (n - k) * np.log(rest) + n * np.log(2 * np.pi))
    )
