"""How much of each topic there is in groups of documents, and over time, with error bars.

Model: the words of a document have the mean A^T w, with topics in the rows of A (K x V) and proportions w; so its frequencies
of words x say of w, without bias and whatever its length,

    B x,    B = (A P^-1 A^T)^-1 A P^-1,    P = diag(frequencies of the corpus),

weighted least squares. A single document's answer is noisy; the mean over a group estimates the mean of w there, and the spread
of B x over the documents tells its error, noise of the words included. Proportions of single documents, as ``transform`` gives
them, lean to the prior, and their means do so too.

Topics have errors as well. With A + E in place of A the mean of a group moves by B E^T w. The fits on halves of the documents,
from which the evidence has its errors, give samples of E: half of the difference of the two halves' topics.

Intervals are Wilson's, with the number of documents at which a proportion would have the variance that was found (E. Korn,
B. Graubard, Survey Methodology 24, 1998): they stay within 0 and 1, and reach further to the side of one half.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from scipy.stats import t as student

from .._frames import frame_of_rows
from .._parameters import Number, check_parameter
from ..effects.estimates import component_error_variance
from ..exceptions import LatentiaError
from ..fitting.base import fitted
from ..fitting.stages import Fitted
from ..metrics import match_components
from .periods import Periods, is_blank, periods_of

_MOST_GROUPS = 200
_POOLED = 10.0  # documents by which the spread of all groups counts in that of one
_LEVEL = Number(0.0, 1.0)


@dataclass(frozen=True)
class Interval:
    """Estimates with their bounds, arrays of one shape.

    Attributes
    ----------
    value, low, high : ndarray
    clear : ndarray of bool or None
        Of differences, whether they are none of chance: zero lies outside of bounds so wide that all of them together hold
        with the chance of a single one (Bonferroni). None of a topic that is not supported is clear.
    """

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    clear: np.ndarray | None = None

    @classmethod
    def about(
        cls, value: np.ndarray, error: np.ndarray, level: float, freedom: Any, not_supported: Sequence[int]
    ) -> Interval:
        """Bounds of differences with these standard errors and degrees of freedom, of topics on the last axis."""
        reach, far = (student.ppf(1 - (1 - level) / 2 / n, freedom) * error for n in (1, max(value.size, 1)))
        clear = np.abs(value) > far
        clear[..., list(not_supported)] = False
        return cls(value, value - reach, value + reach, clear)


@dataclass(frozen=True)
class Prevalence:
    """Mean proportions of topics in groups of documents, or in periods.

    Attributes
    ----------
    labels : list of str
        Of the groups or periods, G of them.
    n_documents : ndarray of int, shape (G,)
        Documents with words in each.
    share : Interval of shape (G, K)
        Mean proportion of every topic in the documents of each, between 0 and 1.
    difference : Interval of shape (G, K)
        Of these from the mean over all other documents.
    change : Interval of shape (K,) or None
        By how much a straight line through the shares of the periods, weighted by their documents, rises from the first to the
        last: of these very periods, whether they lie on a line or not. None for groups.
    topics : list of str
        Names of the topics.
    level : float
        Chance with which an interval holds the true value.
    places : ndarray of shape (G,) or None
        Mean times of the periods, dates in years; None for groups.
    n_left_out : int
        Documents without a group or time, or without words.
    topic_errors : bool
        Whether the intervals know of errors of the topics: not after a fit with ``n_splits=0``.
    numbers : ndarray of int, shape (G,), or None
        Of periods of dates: how many months, say, after the first one each is. None for groups and numbers.
    axis : list of str
        Of periods of dates: labels at the numbers 0, 1, ..., also of periods without documents.
    not_supported : list of int
        Numbers of the topics that the evidence does not support: nothing of them is clear.
    """

    labels: list[str]
    n_documents: np.ndarray
    share: Interval
    difference: Interval
    change: Interval | None
    topics: list[str]
    level: float
    places: np.ndarray | None
    n_left_out: int
    topic_errors: bool
    numbers: np.ndarray | None = None
    axis: list[str] = field(default_factory=list)
    not_supported: Sequence[int] = ()

    def rows(self) -> list[dict[str, Any]]:
        """A row for every group and topic.

        Returns
        -------
        list of dict
            Group, topic, share, its interval, difference from the other documents, and whether that is clear.
        """
        return [
            {
                "group": label, "documents": int(self.n_documents[g]), "topic": k, "name": name,
                "share": float(self.share.value[g, k]),
                "low": float(self.share.low[g, k]), "high": float(self.share.high[g, k]),
                "difference": float(self.difference.value[g, k]),
                "difference low": float(self.difference.low[g, k]),
                "difference high": float(self.difference.high[g, k]),
                "clear": bool(np.asarray(self.difference.clear)[g, k]),
            }
            for g, label in enumerate(self.labels)
            for k, name in enumerate(self.topics)
        ]  # fmt: skip

    def trends(self) -> list[dict[str, Any]]:
        """A row for every topic: its change, and whether it rises or falls; none for groups.

        Returns
        -------
        list of dict
        """
        if self.change is None:
            return []
        signs = np.where(np.asarray(self.change.clear), np.sign(self.change.value), 0).astype(int)
        return [
            {
                "topic": k, "name": name, "change": float(self.change.value[k]), "low": float(self.change.low[k]),
                "high": float(self.change.high[k]), "trend": ("", "rises", "falls")[signs[k]],
            }
            for k, name in enumerate(self.topics)
        ]  # fmt: skip

    def clear_rows(self) -> list[dict[str, Any]]:
        """Those of `trends`, or for groups of `rows`, that are none of chance, the largest first.

        Of two groups the one that has more stands for both.

        Returns
        -------
        list of dict
            With the keys of `rows` or `trends`.
        """
        if self.change is not None:
            return sorted((row for row in self.trends() if row["trend"]), key=lambda row: -abs(row["change"]))
        two = len(self.labels) == 2
        clear = (row for row in self.rows() if row["clear"] and (not two or row["difference"] > 0))
        return sorted(clear, key=lambda row: -abs(row["difference"]))

    def most_moving(self, n: int) -> list[int]:
        """The n topics whose changes or differences are largest beside their bounds, the largest first.

        Parameters
        ----------
        n : int
            How many to return.

        Returns
        -------
        list of int
            Numbers of topics.
        """
        moved = self.difference if self.change is None else self.change
        beyond = np.abs(moved.value) / np.maximum((moved.high - moved.low) / 2, 1e-12)
        beyond = beyond.max(axis=0) if beyond.ndim > 1 else beyond
        return [int(k) for k in np.argsort(-beyond, kind="stable")[:n]]

    def to_frame(self) -> Any:
        """A row for every group and topic as a data frame of pandas, or of polars: see `latentia.summaries.Table.to_frame`.

        Returns
        -------
        DataFrame
            The columns are the keys of `rows`.

        Raises
        ------
        MissingExtraError
            If pandas is not installed.
        """
        return frame_of_rows(self.rows(), "Prevalence.to_frame")


def confusions_of(fitted: Fitted, n_splits: int, refined: Any = None) -> np.ndarray:
    """What errors of topics make of proportions, shape (n, K, K): row k times proportions is the error of topic k's.

    They are those of the fits on halves of the documents, and of draws from the posterior of ``refined`` topics, which are as
    large as the halves say; without halves there are none.
    """
    topics = np.asarray(fitted.model.parameters.topics)
    by_words, found = unmixing(topics, topics.mean(axis=0)), []
    for halves in fitted.halves(n_splits):
        first, second = (_matched(half.parameters.topics, topics) for half in halves)
        found.append(by_words @ (first - second).T / 2)
    if found and refined is not None and len(refined.confusions):
        of_halves = np.asarray(fitted.errors(n_splits).errors)
        found += list(refined.confusions * np.maximum(of_halves / np.maximum(refined.spread, 1e-300), 1.0))
    return np.array(found).reshape(len(found), len(topics), len(topics))


def _matched(part: np.ndarray, topics: np.ndarray) -> np.ndarray:
    """The topics of a part in the order of those that they are nearest to."""
    return part[match_components(part, topics)[0]]


def groups_of(values: Sequence[Any]) -> tuple[np.ndarray, list[str]]:
    """Group of every row, -1 where it has none, and labels in the order of numbers, or else of the alphabet."""
    texts = [None if is_blank(value) else str(value).strip() for value in values]
    labels = sorted({text for text in texts if text is not None}, key=_by_number)
    if not labels:
        raise LatentiaError("None of the documents has a group.")
    if len(labels) > _MOST_GROUPS:
        raise LatentiaError(
            f"There are {len(labels):,} groups, such as {labels[0]!r} and {labels[-1]!r}: {_MOST_GROUPS} are the most. If they "
            "are times or other numbers, ask for the prevalence over them."
        )
    place = {label: i for i, label in enumerate(labels)}
    return np.array([-1 if text is None else place[text] for text in texts], dtype=np.int64), labels


def _by_number(text: str) -> tuple[bool, float, str]:
    try:
        return False, float(text), text
    except ValueError:
        return True, 0.0, text


def prevalence(
    tables: Iterable[Any],
    of_rows: np.ndarray,
    labels: list[str],
    model: tuple[np.ndarray, np.ndarray, Sequence[str]],
    errors: np.ndarray,
    *,
    level: float,
    periods: Periods | None = None,
    not_supported: Sequence[int] = (),
) -> Prevalence:
    """Mean proportions in groups of documents.

    Parameters
    ----------
    tables : iterable of arrays or sparse matrices of shape (n, V)
        Counts of the documents.
    of_rows : ndarray of int, shape (n_documents,)
        Group of every document, -1 for none.
    labels : list of str
    model : tuple of topics (K, V), shares of the topics (K,), names of the topics
    errors : ndarray of shape (n_splits, K, K)
        See `confusions_of`.
    level : float
    periods : Periods, optional
        Where the groups are periods.
    not_supported : sequence of int
        Numbers of the topics of which nothing is clear.
    """
    topics, shares, names = model
    sums = _Sums.of(tables, of_rows, len(labels), unmixing(topics, shares @ topics))
    kept = np.flatnonzero(sums.n > 0)
    if not len(kept):
        raise LatentiaError("None of the documents with a group or time has words that the topics know.")
    sums = _Sums(sums.n[kept], sums.first[kept], sums.second[kept])
    means, variances = sums.means(), sums.variances()
    every = sums.n @ means / sums.n.sum()
    freedom = (sums.n - 1 + _POOLED)[:, None]
    spread = student.ppf((1 + level) / 2, freedom) ** 2 * (variances + component_error_variance(means, errors))
    likely = (sums.first + _POOLED * every) / (sums.n[:, None] + _POOLED)
    share = _wilson(np.clip(means, 0, 1), np.clip(likely, 0, 1), spread)
    # Differences from the other documents, whose mean moves with errors of the topics as the group's own does.
    left = sums.n.sum() - sums.n
    weight = np.divide(sums.n.sum(), left, out=np.zeros(len(left)), where=left > 0)[:, None]
    apart = (means - every) * weight
    rest = (sums.n**2 @ variances - sums.n[:, None] ** 2 * variances) / np.maximum(left, 1)[:, None] ** 2
    apart_error = np.sqrt(variances + rest + component_error_variance(apart, errors))
    change = None
    if periods is not None:
        change = _line(periods.places[kept], sums.n, means, variances, errors, level, not_supported)
    return Prevalence(
        [labels[g] for g in kept],
        sums.n.astype(np.int64),
        share,
        Interval.about(apart, apart_error, level, freedom, not_supported),
        change,
        list(names),
        level,
        None if periods is None else periods.places[kept],
        len(of_rows) - int(sums.n.sum()),
        len(errors) > 0,
        None if periods is None or periods.numbers is None else periods.numbers[kept],
        [] if periods is None else periods.axis,
        list(not_supported),
    )


@dataclass(frozen=True)
class _Sums:
    """Documents of each group (G,), and sums of what they say of the topics and of its squares, (G, K)."""

    n: np.ndarray
    first: np.ndarray
    second: np.ndarray

    @classmethod
    def of(cls, tables: Iterable[Any], of_rows: np.ndarray, n_groups: int, by_words: np.ndarray) -> _Sums:
        n, (first, second) = np.zeros(n_groups), np.zeros((2, n_groups, len(by_words)))
        known, start = by_words.any(axis=0), 0
        for table in tables:
            counts = sparse.csr_array(table)
            lengths = np.asarray(counts @ known.astype(float)).ravel()
            said = (counts @ by_words.T) / np.where(lengths > 0, lengths, 1.0)[:, None]
            group = np.where(lengths > 0, of_rows[start : start + len(lengths)], -1)
            start += len(lengths)
            rows = np.flatnonzero(group >= 0)
            member = sparse.csr_array((np.ones(len(rows)), (group[rows], rows)), shape=(n_groups, len(group)))
            n += np.bincount(group[rows], minlength=n_groups)
            first += member @ said
            second += member @ said**2
        return cls(n, first, second)

    def means(self) -> np.ndarray:
        return self.first / self.n[:, None]

    def variances(self) -> np.ndarray:
        """Of the means, (G, K): of each group's documents, and, the fewer these are, of all."""
        n, means = self.n[:, None], self.means()
        squares = np.maximum(self.second - n * means**2, 0)
        pooled = squares.sum(axis=0) / max(float((self.n - 1).sum()), 1.0)
        pooled = np.where(pooled > 0, pooled, self.second.sum(axis=0) / self.n.sum())
        return (squares + _POOLED * pooled) / (n - 1 + _POOLED) / n


def unmixing(topics: np.ndarray, frequencies: np.ndarray) -> np.ndarray:
    """B, shape (K, V), zero for words that no topic has."""
    weighted = np.divide(topics, frequencies, out=np.zeros_like(topics), where=frequencies > 0)
    return np.linalg.lstsq(weighted @ topics.T, weighted, rcond=1e-10)[0]


def _wilson(value: np.ndarray, about: np.ndarray, spread: np.ndarray) -> Interval:
    """Bounds of proportions with so many squared standard errors, taken at ``about``; all of shape (G, K).

    A proportion that is nearer to 0 or 1 than its bound says nothing of the number of documents: the bound is taken then.
    """
    reach = np.minimum(np.sqrt(spread), 0.5)
    about = np.clip(about, reach, 1 - reach)
    per = spread / np.maximum(about * (1 - about), np.finfo(float).tiny)  # z^2 / n
    centre, reach = value + per / 2, np.sqrt(per * value * (1 - value) + per**2 / 4)
    return Interval(value, np.maximum((centre - reach) / (1 + per), 0), np.minimum((centre + reach) / (1 + per), 1))


def _line(
    places: np.ndarray,
    n: np.ndarray,
    means: np.ndarray,
    variances: np.ndarray,
    errors: np.ndarray,
    level: float,
    not_supported: Sequence[int],
) -> Interval | None:
    """Rise of the line of least squares through periods of n documents, from the first to the last place, shape (K,)."""
    if len(places) < 2:
        return None
    about = places - n @ places / n.sum()
    slope = np.ptp(places) * n * about / (n @ about**2)
    rise = slope @ means
    variance = slope**2 @ variances + component_error_variance(rise[None], errors)[0]
    return Interval.about(rise, np.sqrt(variance), level, np.inf, not_supported)


class InGroups:
    """Models that tell how much of each topic groups of documents have."""

    _confusions: np.ndarray
    components_: np.ndarray

    @fitted
    def prevalence_by(self: Any, X: Any, groups: Sequence[Any], *, level: float = 0.9) -> Prevalence:
        """How much of each topic there is in groups of documents, with error bars.

        Parameters
        ----------
        X : as in ``transform``
            Documents, which need not be those of the fit.
        groups : sequence of length n_documents
            Group of every document, such as a party or a journal; None, NaN and blanks are left out.
        level : float, default=0.9
            Chance with which an interval holds the true value.

        Returns
        -------
        Prevalence
            Mean proportions in each group and their differences from all other documents, with bounds.

        Notes
        -----
        Documents weigh equally, whatever their length, and are taken to be independent: many by one author, or copies, contain
        less than the bounds assume. Intervals know of the choice of documents, of the noise of their words, and,
        unless ``n_splits`` is 0, of the errors of the topics as fits on halves of the documents show them; not of topics that
        are no topics, see ``evidence_``.

        Source: not in the papers.
        """
        of_rows, labels = groups_of(groups)
        return self._in_groups(X, of_rows, labels, level, None)

    @fitted
    def prevalence_over(
        self: Any, X: Any, times: Sequence[Any], *, period: str | float | None = None, level: float = 0.9
    ) -> Prevalence:
        """How much of each topic there is over time, or along any number, with error bars.

        Parameters
        ----------
        X : as in ``transform``
            Documents, which need not be those of the fit.
        times : sequence of length n_documents
            Numbers, dates, or texts that are either, such as 1984 or 2024-05-31; None, NaN and blanks are left out.
        period : {"day", "week", "month", "quarter", "year", "decade", "century"} or float, optional
            Of dates, or the width of periods of numbers; by default so that there are 24 at most.
        level : float, default=0.9
            Chance with which an interval holds the true value.

        Returns
        -------
        Prevalence
            Mean proportions in each period, and ``change``, the rise of a straight line through them, with bounds. See
            `prevalence_by` for what the bounds know.
        """
        periods = periods_of(times, period)
        return self._in_groups(X, periods.of_rows, periods.labels, level, periods)

    def _in_groups(
        self: Any, X: Any, of_rows: np.ndarray, labels: list[str], level: float, periods: Periods | None
    ) -> Prevalence:
        check_parameter("level", level, _LEVEL)
        blocks = self._blocks(X, reset=False)
        if blocks.n_rows != len(of_rows):
            raise LatentiaError(
                f"There are {blocks.n_rows} documents and {len(of_rows)} groups or times: they must agree."
            )
        model = self.components_, self._shares(), list(self.get_feature_names_out())
        return prevalence(
            self._tables(blocks), of_rows, labels, model, self._confusions, level=level, periods=periods,
            not_supported=self.evidence_.not_supported(len(self.components_)),
        )  # fmt: skip
