"""Models without components, which a fit should outperform."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._entries import missing_entries
from .given import MissingCells

_MAX_COLUMNS = 1000  # largest size of a full covariance, besides a tenth of the rows
_EM_STEPS = 10


def single_gaussian(rows: Any, n_rows: int) -> tuple[np.ndarray, int]:
    """Fit one Gaussian; return the log-density of each row, shape (n,), and its number of parameters.

    Schwarz's criterion at ``n_rows`` chooses between a sphere, one variance per column, and a full covariance. Columns that are
    constant in these rows leave only the sphere.

    Parameters
    ----------
    rows : ndarray or sparse matrix of shape (n, d)
        NaN are missing cells of density one; then a full covariance comes from a few steps of EM.
    """
    n, d = rows.shape
    gaps = None if sparse.issparse(rows) else missing_entries(rows)
    if gaps is not None:
        return _single_gaussian_observed(rows, gaps, n_rows)
    mean = np.asarray(rows.mean(axis=0)).ravel()
    squares = np.asarray(rows.multiply(rows).mean(axis=0)).ravel() if sparse.issparse(rows) else (rows**2).mean(axis=0)
    ball = max(float((squares - mean**2).mean()), np.finfo(float).tiny)
    if sparse.issparse(rows):
        distances = np.asarray(rows.multiply(rows).sum(axis=1)).ravel() - 2 * (rows @ mean) + mean @ mean
        return -0.5 * (distances / ball + d * np.log(2 * np.pi * ball)), d + 1
    centred = rows - mean
    variances = (centred**2).mean(axis=0)
    variances = np.maximum(variances, 1e-9 * max(float(variances.mean()), np.finfo(float).tiny))
    ball = float(variances.mean())
    candidates = [
        (-0.5 * ((centred**2).sum(axis=1) / ball + d * np.log(2 * np.pi * ball)), d + 1),
        (-0.5 * ((centred**2 / variances).sum(axis=1) + np.log(2 * np.pi * variances).sum()), 2 * d),
    ]
    if 1 < d <= min(_MAX_COLUMNS, n // 10):
        covariance = centred.T @ centred / n + np.diag(1e-9 * variances)
        root = np.linalg.cholesky(covariance)
        scaled = np.linalg.solve(root, centred.T)
        constant = d * np.log(2 * np.pi) + 2 * np.log(np.diag(root)).sum()
        candidates.append((-0.5 * ((scaled**2).sum(axis=0) + constant), d + d * (d + 1) // 2))
    return _select_by_schwarz(candidates, n_rows)


def _single_gaussian_observed(rows: np.ndarray, gaps: np.ndarray, n_rows: int) -> tuple[np.ndarray, int]:
    """Return `single_gaussian` of rows of which some cells are missing: with one variance a column, or a full covariance."""
    n, d = rows.shape
    candidates = [independent_features(rows, "gaussian")]
    if 1 < d <= min(_MAX_COLUMNS, n // 10):
        mean, variances = np.nanmean(rows, axis=0), np.nanvar(rows, axis=0)
        floor = np.diag(1e-9 * variances + np.finfo(float).tiny)
        covariance = np.diag(variances) + floor
        for _ in range(_EM_STEPS):
            total, squares = np.zeros(d), np.zeros((d, d))
            for _, filled, spread in MissingCells(mean[None], covariance[None], rows, gaps).expected(0):
                gap = filled - mean
                total, squares = total + gap.sum(axis=0), squares + gap.T @ gap + spread.sum(axis=0)
            step = total / n
            mean, covariance = mean + step, squares / n - np.outer(step, step) + floor
        density = MissingCells(mean[None], covariance[None], rows, gaps).log_density()[:, 0]
        candidates.append((density, d + d * (d + 1) // 2))
    return _select_by_schwarz(candidates, n_rows)


def _select_by_schwarz(candidates: list[tuple[np.ndarray, int]], n_rows: int) -> tuple[np.ndarray, int]:
    """Return the log-densities, with their number of parameters, that Schwarz's criterion prefers."""
    return max(candidates, key=lambda pair: float(pair[0].mean()) - 0.5 * pair[1] * np.log(n_rows) / n_rows)


def independent_features(rows: Any, kind: str) -> tuple[np.ndarray, int]:
    """Fit independent features; return the log-density of each row, shape (n,), and the number of parameters.

    Parameters
    ----------
    rows : ndarray or sparse matrix of shape (n, d)
        Rows of the fit and of the density.
    kind : {"bernoulli", "gaussian"}
        Zeros and ones, or numbers with a variance for each column. NaN are missing entries, of density one.
    """
    n, d = rows.shape
    missing = missing_entries(rows)
    if missing is not None:
        return _independent_observed(rows, missing, kind)
    mean = np.asarray(rows.mean(axis=0)).ravel()
    if kind == "bernoulli":
        chance = (n * mean + 0.5) / (n + 1)
        return rows @ np.log(chance / (1 - chance)) + np.log1p(-chance).sum(), d
    dense = rows.toarray() if sparse.issparse(rows) else rows
    squares = (dense - mean) ** 2
    variances = squares.mean(axis=0)
    variances = np.maximum(variances, 1e-9 * max(float(variances.mean()), np.finfo(float).tiny))
    return -0.5 * ((squares / variances).sum(axis=1) + np.log(2 * np.pi * variances).sum()), 2 * d


def _independent_observed(rows: np.ndarray, missing: np.ndarray, kind: str) -> tuple[np.ndarray, int]:
    """Return `independent_features` of rows with missing entries."""
    d, n_observed = rows.shape[1], np.maximum((~missing).sum(axis=0), 1)
    filled = np.where(missing, 0.0, rows)
    mean = filled.sum(axis=0) / n_observed
    if kind == "bernoulli":
        chance = (filled.sum(axis=0) + 0.5) / (n_observed + 1)
        return np.where(missing, 0.0, np.where(filled > 0, np.log(chance), np.log1p(-chance))).sum(axis=1), d
    squares = np.where(missing, 0.0, (rows - mean) ** 2)
    variances = squares.sum(axis=0) / n_observed
    variances = np.maximum(variances, 1e-9 * max(float(variances.mean()), np.finfo(float).tiny))
    terms = squares / variances + np.log(2 * np.pi * variances)
    return -0.5 * np.where(missing, 0.0, terms).sum(axis=1), 2 * d
