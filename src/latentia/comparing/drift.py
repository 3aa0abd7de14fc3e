"""Drift: news and shares of components in batches of rows, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from .._entries import is_missing
from .._validation import list_of
from ..exceptions import LatentiaError
from ..summaries import Column, Table
from .news import MIN_ROWS, News, find_news
from .profile import check_model, name_components, profile_of

_Z = 1.645  # Normal quantile of 90% intervals.
_MAX_STEPS, _TOLERANCE = 500, 1e-7  # steps of EM for the shares of a batch, and the move at which it ends


@dataclass(frozen=True)
class Drift:
    """News and shares of the components in batches.

    Attributes
    ----------
    labels : tuple of str
        Names of the G batches.
    n_rows : tuple of int
        Numbers of their rows.
    news : tuple of News or None
        News of each batch; None with fewer than 50 rows, or 50 windows of 20 steps.
    shares : ndarray of shape (G, K, 3), or None
        Share of every component in each batch, and its 90% interval; None if the family has no shares of rows.
    names : tuple of str
        Names of the components.
    expected_shares : ndarray of shape (K,)
        Shares of the model.
    nouns : (str, str, str)
        Singular and plural noun for components, and plural noun for rows.
    """

    labels: tuple[str, ...]
    n_rows: tuple[int, ...]
    news: tuple[News | None, ...]
    shares: np.ndarray | None
    names: tuple[str, ...]
    expected_shares: np.ndarray
    nouns: tuple[str, str, str]

    def lines(self) -> list[str]:
        """Return sentences with the batches that alarm, and the numbers of shares that differ from the model."""
        measured = {label: news for label, news in zip(self.labels, self.news, strict=True) if news is not None}
        alarms = [label for label, news in measured.items() if news.alarm]
        lines = [f"{len(alarms)} of {len(measured)} batches alarm{': ' if alarms else ''}{', '.join(alarms)}."]
        if len(measured) < len(self.labels):
            lines = lines if measured else []
            n_short = len(self.labels) - len(measured)
            lines.append(f"{n_short} of {len(self.labels)} batches have too few {self.nouns[2]} to measure their news.")
        if self.shares is not None:
            n_differing = int(
                ((self.shares[..., 1] > self.expected_shares) | (self.shares[..., 2] < self.expected_shares)).sum()
            )
            n_shares = self.shares.shape[0] * self.shares.shape[1]
            lines.append(
                f"{n_differing} of {n_shares} shares of {self.nouns[1]} in batches differ from those of the model."
            )
        return lines

    def table(self) -> Table:
        """Return the news of each batch as a table."""
        values = [
            (news.share, *news.interval, "yes" if news.alarm else "no") if news else (None, None, None, "too few rows")
            for news in self.news
        ]
        shares, lows, highs, alarms = map(list, zip(*values, strict=True))
        return Table(
            "batches",
            (
                Column("batch", self.labels, kind="name"), Column(self.nouns[2], self.n_rows, short=","),
                *_share_columns(shares, lows, highs), Column("alarm", alarms, kind="text"),
            ),
            "News by batch",
            f"Share of the {self.nouns[2]} that the model does not explain, with its 90% interval. Without news 5% of batches "
            "alarm.",
            file="batches.csv",
        )  # fmt: skip

    def shares_table(self) -> Table | None:
        """Return the shares of the components in each batch as a table; None if the family has none."""
        if self.shares is None:
            return None
        cells = [(k, g) for k in range(len(self.names)) for g in range(len(self.labels))]
        shares, lows, highs = (list(map(float, values)) for values in np.array([self.shares[g, k] for k, g in cells]).T)
        expected = [float(self.expected_shares[k]) for k, _ in cells]
        outside = [not low <= share <= high for low, share, high in zip(lows, expected, highs, strict=True)]
        return Table(
            "shares",
            (
                Column(self.nouns[0], [self.names[k] for k, _ in cells], kind="name"),
                Column("batch", [self.labels[g] for _, g in cells], kind="text"), *_share_columns(shares, lows, highs),
                Column("model", expected, ".6g", ".1%", heading="In the model", head="in the model"),
                Column("differs", ["yes" if value else "no" for value in outside], kind="text"),
            ),
            f"Shares of {self.nouns[1]} by batch",
            f"Share of each of the {self.nouns[1]} in each batch, with its 90% interval. *Differs*: the share in the model is "
            "outside of the interval, as one in ten is by chance.",
            file="shares.csv", tall=True,
        )  # fmt: skip


def _share_columns(shares: list[Any], lows: list[Any], highs: list[Any]) -> tuple[Column, ...]:
    return tuple(
        Column(name, values, ".6g", ".1%") for name, values in (("share", shares), ("low", lows), ("high", highs))
    )


def measure_drift(
    model: Any, X: Any, batches: Sequence[Any], *, labels: Sequence[str] | None = None, reference: Any = None
) -> Drift:
    """Measure the news of a model, and the shares of its components, in batches of rows.

    Parameters
    ----------
    model : estimator
        A fitted model that has ``news``.
    X : as in ``model.news``
    batches : sequence of length n_rows
        Batch of every row, such as a month or a site; None or NaN for rows without one.
    labels : sequence of str, optional
        Order of the batches; by default that of the alphabet.
    reference : as X, optional
        Rows without news; see ``model.news``.

    Returns
    -------
    Drift
        Its tables are ``table()`` and ``shares_table()``. Intervals of shares contain the choice of rows; only those of topics
        also the errors of the components.
    """
    check_model(model, "measure_drift: expected a fitted model")
    texts = [None if is_missing(batch) else str(batch) for batch in list_of(batches, "batches")]
    X = model._rows_in_memory(X)
    X = X if getattr(X, "shape", ()) else list_of(X, "X")
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    if len(texts) != n_rows:
        raise LatentiaError(f"batches: expected one for each of {n_rows:,} rows, found {len(texts):,}.")
    present = {text for text in texts if text is not None}
    names = [label for label in (sorted(present) if labels is None else map(str, labels)) if label in present]
    if not names:
        raise LatentiaError(
            "batches: expected a batch of some rows, found none. Give their names, and no others in labels."
        )
    numbers = {name: g for g, name in enumerate(names)}
    of_rows = np.array([-1 if text is None else numbers.get(text, -1) for text in texts])
    rows = [np.flatnonzero(of_rows == g) for g in range(len(names))]
    min_rows = MIN_ROWS * len(model._steps_of(np.zeros(1, dtype=int)))
    news = [find_news(model, _safe_indexing(X, part), reference) if len(part) >= min_rows else None for part in rows]
    expected, shares = model._shares_by(X, of_rows, names) or (np.empty(0), None)
    profile = None if model._profile() is None else profile_of(model)
    words = [""] * len(expected) if profile is None else name_components(profile, [[k] for k in range(len(expected))])
    components = getattr(model, "cause_names_", None) or [
        ": ".join(filter(None, [f"{model.nouns[0]} {k}", text])) for k, text in enumerate(words)
    ]
    return Drift(
        tuple(names), tuple(map(len, rows)), tuple(news), shares, tuple(map(str, components)),
        np.asarray(expected), model.nouns,
    )  # fmt: skip


def estimate_shares(probabilities: np.ndarray, weights: np.ndarray, of_rows: np.ndarray, n_batches: int) -> np.ndarray:
    """Estimate the shares of components in batches, with 90% intervals, shape (G, K, 3).

    Components keep their parameters. A row's probabilities r_k of its components, divided by the weights of the model, are
    its likelihoods l_k up to a factor. EM gives the shares w of greatest likelihood; products of l / (l w) their information.
    Components that may be present together, whose probabilities do not sum to one, are estimated each against its absence.
    Intervals are Wilson's, for the number of rows at which a proportion has that variance.
    """
    if not np.allclose(probabilities.sum(axis=1), 1.0, atol=1e-6):
        pairs = (
            (np.column_stack([p, 1 - p]), np.array([w, 1 - w])) for p, w in zip(probabilities.T, weights, strict=True)
        )
        return np.concatenate([estimate_shares(*pair, of_rows, n_batches)[:, :1] for pair in pairs], axis=1)
    likelihoods = probabilities / np.maximum(weights, np.finfo(float).tiny)
    result = np.full((n_batches, len(weights), 3), np.nan)
    for g in range(n_batches):
        rows = likelihoods[of_rows == g]
        shares = np.maximum(weights, 1e-3) / np.maximum(weights, 1e-3).sum()
        for _ in range(_MAX_STEPS):
            before, shares = shares, shares * (rows / (rows @ shares)[:, None]).mean(axis=0)
            if np.abs(shares - before).max() < _TOLERANCE:
                break
        result[g] = _wilson(shares, _variances(rows / (rows @ shares)[:, None]), len(rows))
    return result


def _variances(scores: np.ndarray) -> np.ndarray:
    """Return the variances of shares that sum to one, from the derivatives of the log-likelihood."""
    n, k = scores.shape
    free = np.eye(k) - 1 / k
    return np.asarray(np.diag(np.linalg.pinv(free @ (scores.T @ scores / n) @ free, rcond=1e-10)) / n)


def _wilson(shares: np.ndarray, variances: np.ndarray, n_rows: int) -> np.ndarray:
    centre = np.clip(shares, 1 / (n_rows + 2), 1 - 1 / (n_rows + 2))
    n = np.clip(centre * (1 - centre) / np.maximum(variances, 1e-300), 1.0, n_rows)
    middle = (shares + _Z**2 / 2 / n) / (1 + _Z**2 / n)
    margin = _Z / (1 + _Z**2 / n) * np.sqrt(shares * (1 - shares) / n + _Z**2 / 4 / n**2)
    return np.column_stack([shares, np.maximum(middle - margin, 0.0), np.minimum(middle + margin, 1.0)])
