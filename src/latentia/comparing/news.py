"""News: how much of new rows a fitted model does not explain.

Rows that a model does not explain are less probable under it than rows that it draws. With F the share of drawn rows below a
threshold and G that of new rows, at least (G - F) / (1 - F) of the new rows are unlike the drawn ones. The threshold is the one
whose lower bound is largest; bootstrap takes off what the choice of the threshold adds.

A model knows the tails of the distribution no better than the rows that it was fitted to. Drawn rows, m of them from a model of
n rows, therefore count as 1 / (1 / m + 1 / n) rows in all errors.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from typing import Any
from zlib import crc32

import numpy as np
from sklearn.utils import _safe_indexing

from .._control_characters import escape_controls
from ..exceptions import LatentiaError
from ..passes import Blocks
from .profile import align_profiles, find_largest_moves, profile_of

_TAILS = np.array([0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3])  # shares of drawn rows below the thresholds
_CAUTION = 2.0  # standard errors below a share to its lower bound
_LEVEL = 0.05  # chance of an alarm without news
_N_DRAWS, _N_NULLS, _N_BOOTSTRAPS = 4, 1000, 200  # drawn rows per row, simulated alarms, resamples
MIN_ROWS = 50
"""Least number of rows."""
_MIN_FITTED, _N_EXAMPLES = 25, 10


@dataclass(frozen=True)
class News:
    """Share of new rows that a model does not explain, and what these rows are.

    Attributes
    ----------
    share : float
        Share of the rows that are less probable than the model expects.
    interval : pair of float
        Its 90% interval.
    alarm : bool
        True if there are more such rows than chance brings in 5% of batches without news.
    components : estimator or None
        Model of the same family with one component, fitted to the least probable rows, with its evidence; for noisy-or, whose
        causes act together, with one cause more, fitted to these rows and drawn ones. None without alarm or with too few rows.
    examples : tuple of int
        Numbers of the least probable rows; empty without alarm.
    n_rows : int
        Number of rows, or of windows of a sequence.
    noun : str
        Plural noun of the rows or windows.
    largest_moves : tuple of (str, float, float)
        Columns in which the new component differs most from the mean of the model's components: values of the mean, and its.
    number : int
        Number of the new component in ``components``.
    """

    share: float
    interval: tuple[float, float]
    alarm: bool
    components: Any
    examples: tuple[int, ...]
    n_rows: int
    noun: str
    largest_moves: tuple[tuple[str, float, float], ...] = ()
    number: int = 0

    @property
    def headline(self) -> str:
        """Share of the rows that the model does not explain, and what is new in them, in sentences."""
        low, high = self.interval
        sentences = [
            f"{'Alarm: the' if self.alarm else 'No alarm: the'} model does not explain {self.share:.1%} of {self.n_rows:,} "
            f"{self.noun} (90% interval {low:.1%} to {high:.1%})."
        ]
        if self.largest_moves:
            moves = ", ".join(f"{name} {after:.3g} ({before:.3g})" for name, before, after in self.largest_moves)
            sentences.append(f"A component of these {self.noun} has (the mean of the model in brackets): {moves}.")
        return " ".join(sentences)

    def __str__(self) -> str:
        examples = ", ".join(map(str, self.examples))
        lines = [self.headline, *([f"Least probable {self.noun}: {examples}."] if examples else [])]
        return escape_controls("\n".join(lines))

    def _repr_html_(self) -> str:
        return "".join(f"<p>{escape(line)}</p>" for line in str(self).split("\n"))


def find_news(model: Any, X: Any, reference: Any = None) -> News:
    """Compare new rows with rows that a model draws, or with reference rows; see `Estimator.news`."""
    X = model._rows_in_memory(X)
    scores = _scores_of(model, X)
    _check_enough(scores, model)
    if reference is None:
        rng = np.random.default_rng([model._seed, 73])
        reference_scores = np.concatenate([_scores_of(model, model._draw_alike(X, rng)) for _ in range(_N_DRAWS)])
        size = round(1 / (1 / max(len(reference_scores), 1) + 1 / model._n_rows_of_fit()))
    else:
        with _about_reference():
            reference_scores = _scores_of(model, model._rows_in_memory(reference))
            _check_enough(reference_scores, model)
        size = len(reference_scores)
    largest = np.finfo(np.float32).max  # Single precision, as rounding differs between containers.
    rng = np.random.default_rng(crc32(np.clip(scores, -largest, largest).astype(np.float32).tobytes()))
    alarm = bool(_largest_deviation(scores, reference_scores, size) > _alarm_limit(len(scores), size, rng))
    share, threshold = _share_below(scores, reference_scores, size)
    resampled = np.array(
        [
            _share_below(rng.choice(scores, len(scores)), rng.choice(reference_scores, size), size)[0]
            for _ in range(_N_BOOTSTRAPS)
        ]
    )
    bias = resampled.mean() - share
    low, high = np.clip(np.quantile(resampled, [0.05, 0.95]) - bias, 0.0, 1.0)
    share = float(np.clip(share - bias, low, high))
    order = np.argsort(scores, kind="stable")
    unlikely = np.sort(order[: int((scores <= threshold).sum())])
    rest, number = _fit_rest(model, X, unlikely) if alarm and share * len(scores) >= _MIN_FITTED else (None, 0)
    return News(
        share, (float(low) if alarm else 0.0, float(high)), alarm, rest,
        tuple(int(i) for i in order[:_N_EXAMPLES]) if alarm else (), len(scores), model._noun_of_scores(),
        () if rest is None else _describe(rest, number, model), number,
    )  # fmt: skip


@contextmanager
def _about_reference() -> Iterator[None]:
    """Have errors name the reference, so that no one looks for their causes in X."""
    try:
        yield
    except LatentiaError as error:
        error.parameter = error.parameter or "reference"
        raise


def _check_enough(scores: np.ndarray, model: Any) -> None:
    if len(scores) < MIN_ROWS:
        raise LatentiaError(
            f"expected at least {MIN_ROWS} {model._noun_of_scores()}, found {len(scores)}. Give more, such as several batches "
            "at once."
        )


def _scores_of(model: Any, X: Any) -> np.ndarray:
    """Return the log-probability of each row, by which rows are compared."""
    with warnings.catch_warnings():  # Drawn rows have no column names.
        warnings.filterwarnings("ignore", category=UserWarning, module=r"sklearn\.utils\.validation")
        scores = model._row_scores(X)
    if scores is None:
        raise LatentiaError(f"news: a {type(model).__name__} has no probabilities of single rows.")
    return np.asarray(scores, dtype=np.float64)


def _tails(scores: np.ndarray, reference: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return thresholds, and the shares of new and of drawn rows up to them."""
    ordered = np.sort(reference)
    thresholds = ordered[np.maximum(np.ceil(_TAILS * len(reference)).astype(int) - 1, 0)]
    ours = np.searchsorted(np.sort(scores), thresholds, side="right") / len(scores)
    return thresholds, ours, np.searchsorted(ordered, thresholds, side="right") / len(reference)


def _largest_deviation(scores: np.ndarray, reference: np.ndarray, size: int) -> float:
    """Return the largest excess of new rows in a tail, in standard errors of two samples of the same distribution."""
    _, ours, expected = _tails(scores, reference)
    pooled = (len(scores) * ours + size * expected) / (len(scores) + size)
    errors = np.sqrt(np.maximum(pooled * (1 - pooled), 1e-12) * (1 / len(scores) + 1 / size))
    return float(((ours - expected) / errors).max())


def _alarm_limit(n: int, m: int, rng: np.random.Generator) -> float:
    """Return the deviation that samples of n and m rows of one distribution, whichever it is, exceed by chance."""
    counts = np.maximum(np.ceil(_TAILS * m).astype(int), 1)
    # The drawn tails are uniform order statistics: sums of gamma steps, relative to all of them.
    steps = rng.gamma(np.diff(counts, prepend=0, append=m + 1), size=(_N_NULLS, len(counts) + 1))
    mass = np.maximum(steps / steps.sum(axis=1, keepdims=True), 0.0)
    ours = rng.multinomial(n, mass / mass.sum(axis=1, keepdims=True))[:, :-1].cumsum(axis=1) / n
    expected = counts / m
    pooled = (n * ours + m * expected) / (n + m)
    errors = np.sqrt(np.maximum(pooled * (1 - pooled), 1e-12) * (1 / n + 1 / m))
    return float(np.quantile(((ours - expected) / errors).max(axis=1), 1 - _LEVEL))


def _share_below(scores: np.ndarray, reference: np.ndarray, size: int) -> tuple[float, float]:
    """Return the share of new rows that the threshold with the largest lower bound tells, and that threshold."""
    thresholds, ours, expected = _tails(scores, reference)
    shares = (ours - expected) / np.maximum(1 - expected, 1e-12)
    errors = np.sqrt(ours * (1 - ours) / len(scores) + expected * (1 - expected) / size) / np.maximum(
        1 - expected, 1e-12
    )
    best = int((shares - _CAUTION * errors).argmax())
    return float(shares[best]), float(thresholds[best])


def _describe(rest: Any, number: int, model: Any) -> tuple[tuple[str, float, float], ...]:
    """Return the columns in which a new component differs most from the mean of the components of a model."""
    if model._profile() is None or rest._profile() is None:
        return ()
    profile, new, names, _ = align_profiles(profile_of(model), profile_of(rest))
    mean, row = np.average(profile.values, axis=0, weights=profile.shares), new.values[number]
    if profile.missing == "zero":  # Words that a topic has are shown, and none that it lacks.
        mean = np.minimum(mean, row)
    return find_largest_moves(profile, mean, row, names)


def _fit_rest(model: Any, X: Any, rows: np.ndarray) -> tuple[Any, int]:
    """Fit a new component to some rows; return its model and its number there, or None if the family cannot."""
    if len(rows) < _MIN_FITTED or isinstance(X, Blocks):
        return None, 0
    try:
        rest, number = model._fit_rest(_safe_indexing(X, model._steps_of(rows)))
    except LatentiaError:
        return None, 0
    rest.reading_ = model.reading_
    return rest, number
