"""The shape of components, by the likelihood of held-out rows.

Rows are assigned to folds by a hash of their content, and fits to the other folds predict the rows of each fold. The chosen
shape is the one with the fewest parameters under which rows are as likely as under the best, by the rule that also compares
numbers of components. Neither the order of the rows nor rounding errors of their scale change the folds.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ..evidence import Check, as_likely
from ..evidence.checks import number_text
from ..exceptions import LatentiaError
from ..likelihood import log, normalised
from ..passes import Blocks, content_keys
from ._missing import log_density
from ._moves import Shape
from ._rows import Mixture, n_parameters

SHAPES: tuple[Shape, ...] = ("spherical", "diag", "tied", "full")
"""Shapes that ``covariance_type="auto"`` compares."""
_FOLDS = 5
_MAX_ROWS = 5000
_MAX_FEATURES = 1 << 23  # products of columns in all rows, which EM sums for each component
_ROWS_PER_COLUMN = 10  # With fewer rows a covariance matrix is not compared.
_MAX_COLUMNS = 100  # largest covariance matrix
_MAX_READ = 1 << 25  # cells that are read to choose rows by their content


@dataclass(frozen=True)
class ShapeScore:
    """Likelihood of held-out rows under components of one shape.

    Attributes
    ----------
    shape : {"spherical", "diag", "tied", "full"}
    n_parameters : int
    held_out : ndarray of shape (n,)
        Log-likelihood of each row under the fit to the other folds.
    """

    shape: Shape
    n_parameters: int
    held_out: np.ndarray

    @property
    def mean(self) -> float:
        """Mean log-likelihood in nats per row."""
        return float(self.held_out.mean())


def score_shapes(
    blocks: Blocks, shapes: Sequence[Shape], k: int, fit: Callable[[np.ndarray, Shape], Mixture]
) -> list[ShapeScore]:
    """Cross-validate the shapes that the rows can carry, in order of their number of parameters.

    Parameters
    ----------
    blocks : Blocks
        Rows of numbers, NaN where a cell is missing.
    shapes : sequence of str
    k : int
        Number of components.
    fit : callable
        ``fit(rows, shape)``: fits a mixture to some rows.
    """
    n, width = blocks.n_rows, blocks.shapes[0][1]
    shapes = [shape for shape in shapes if len(shapes) == 1 or shape in ("spherical", "diag") or _can_carry(n, width)]
    rows = _comparable_rows(blocks, any(shape in ("tied", "full") for shape in shapes))
    folds = list(_folds(rows))
    scores = []
    for shape in sorted(shapes, key=lambda candidate: n_parameters(k, width, candidate)):
        with contextlib.suppress(LatentiaError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            held_out = np.empty(len(rows))
            for fold in folds:
                held_out[fold] = _log_likelihood(fit(rows[~fold], shape), rows[fold])
            scores.append(ShapeScore(shape, n_parameters(k, width, shape), held_out))
    return [score for score in scores if np.isfinite(score.mean)]


def choose_shape(scores: Sequence[ShapeScore]) -> ShapeScore:
    """Choose the shape with the fewest parameters whose held-out rows are as likely as under the best shape."""
    best = max(scores, key=lambda score: score.mean)
    return next(score for score in scores if score is best or as_likely(score.held_out, best.held_out))


def build_held_out_check(score: ShapeScore, scores: Sequence[ShapeScore]) -> Check:
    """Build the check on held-out rows."""
    listed = ", ".join(f"{candidate.shape} {number_text(candidate.mean)}" for candidate in scores)
    compared = f" By shape: {listed}." if len(scores) > 1 else ""
    return Check(
        "held-out log-likelihood", "nats a row", score.mean, None,
        f"Mean log-likelihood of {len(score.held_out):,} rows, each under a fit to the other {_FOLDS - 1} of {_FOLDS} folds."
        + compared,
        "not in the paper", held_out=score.held_out,
    )  # fmt: skip


def _can_carry(n_rows: int, width: int) -> bool:
    """Return True if there are enough rows, and few enough columns, for covariance matrices."""
    return width <= _MAX_COLUMNS and n_rows >= _ROWS_PER_COLUMN * width


def _comparable_rows(blocks: Blocks, matrices: bool) -> np.ndarray:
    """Return rows in the order of their content, few enough for many fits."""
    width = blocks.shapes[0][1]
    n_features = width * (width + 3) // 2 if matrices else 2 * width
    max_rows = max(min(_MAX_ROWS, _MAX_FEATURES // n_features), min(_ROWS_PER_COLUMN * width, _MAX_ROWS))
    (rows,) = blocks.some_rows(max(_MAX_READ // width, max_rows))
    table = np.asarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=np.float64)
    return table[np.argsort(content_keys(table), kind="stable")[:max_rows]]


def _folds(rows: np.ndarray) -> Iterator[np.ndarray]:
    """Yield masks of the rows of each fold; copies of a row share a fold."""
    fold = content_keys(rows, seed=1) % np.uint64(_FOLDS)
    return (fold == number for number in range(_FOLDS) if (fold == number).any())


def _log_likelihood(mixture: Mixture, rows: Any) -> np.ndarray:
    return normalised(log_density(mixture, rows, np.arange(len(rows))) + log(mixture.weights), mixture.weights)[1]
