"""Prevalence of topics in groups of documents and over time, with error bars.

Model: the words of a document have the mean A^T w, with topics in the rows of A (K x V) and proportions w. So an unbiased
estimate of w from the document's word frequencies x, for any length, is

    B x,    B = (A P^-1 A^T)^-1 A P^-1,    P = diag(frequencies of the corpus),

by weighted least squares. The estimate of a single document is noisy. The mean over a group estimates the mean of w there, and
the spread of B x over the documents gives its error, with the noise of the words. Proportions of single documents, as
``transform`` returns them, are biased towards the prior, and so are their means.

Topics have errors as well. With A + E in place of A the mean of a group moves by B E^T w. The fits on halves of the documents,
which give the errors of the evidence, give samples of E: half of the difference between the topics of both halves.

Intervals are Wilson's, with the number of documents at which a proportion would have the measured variance (E. Korn,
B. Graubard, Survey Methodology 24, 1998): they stay within 0 and 1, and are longer on the side of one half.
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
from .._validation import list_of
from ..effects.estimates import component_error_variance
from ..exceptions import LatentiaError
from ..fitting.base import fitted
from ..fitting.stages import Fitted
from ..linalg.ratios import ratio_of
from ..metrics import match_components
from .periods import Periods, assign_periods, is_blank

_MAX_GROUPS = 200
_PSEUDO_DOCUMENTS = 10.0  # Weight of the spread within all groups in that of one group, in documents.
_LEVEL = Number(0.0, 1.0)


@dataclass(frozen=True)
class Interval:
    """Estimates with their bounds, arrays of one shape.

    Attributes
    ----------
    value, low, high : ndarray
    clear : ndarray of bool or None
        For differences: True if zero lies outside bounds that hold for all of them together with the chance of a single one
        (Bonferroni). Differences of topics that are not supported are never clear.
    """

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    clear: np.ndarray | None = None

    @classmethod
    def about(
        cls, value: np.ndarray, error: np.ndarray, level: float, degrees_of_freedom: Any, not_supported: Sequence[int]
    ) -> Interval:
        """Compute bounds of differences, topics on the last axis, from standard errors and degrees of freedom."""
        margin, simultaneous_margin = (
            student.ppf(1 - (1 - level) / 2 / n, degrees_of_freedom) * error for n in (1, max(value.size, 1))
        )
        clear = np.abs(value) > simultaneous_margin
        clear[..., list(not_supported)] = False
        return cls(value, value - margin, value + margin, clear)


@dataclass(frozen=True)
class Prevalence:
    """Mean proportions of topics in groups of documents, or in periods.

    Attributes
    ----------
    labels : list of str
        Labels of the G groups or periods.
    n_documents : ndarray of int, shape (G,)
        Number of documents with words in each group.
    share : Interval of shape (G, K)
        Mean proportion of every topic in the documents of each group, between 0 and 1.
    difference : Interval of shape (G, K)
        Differences of these from the means over all other documents.
    change : Interval of shape (K,) or None
        Rise of a straight line through the shares of the periods, weighted by their documents, from the first to the last. It
        describes these periods, even if their shares do not lie on a line. None for groups.
    topics : list of str
        Names of the topics.
    level : float
        Chance with which an interval holds the true value.
    places : ndarray of shape (G,) or None
        Mean times of the periods, dates in years; None for groups.
    n_left_out : int
        Documents without a group or time, or without words.
    topic_errors : bool
        Whether the intervals include errors of the topics: False after a fit with ``n_splits=0``.
    numbers : ndarray of int, shape (G,), or None
        For periods of dates: number of units, such as months, from the first one to each. None for groups and numbers.
    axis : list of str
        For periods of dates: labels at the numbers 0, 1, ..., also of periods without documents.
    not_supported : list of int
        Numbers of the topics that the evidence does not support, whose differences are never clear.
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
        """Return a row for every group and topic.

        Returns
        -------
        list of dict
            Group, topic, share and its interval, and the difference from the other documents, its interval, and if it is clear.
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
        """Return a row for every topic, with its change and trend; no rows for groups.

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
        """Return the clear rows of `trends`, or of `rows` for groups, the largest first.

        Two groups are represented by the one with the larger share.

        Returns
        -------
        list of dict
            With the keys of `rows` or `trends`.
        """
        if self.change is not None:
            return sorted((row for row in self.trends() if row["trend"]), key=lambda row: -abs(row["change"]))
        has_two_groups = len(self.labels) == 2
        clear = (row for row in self.rows() if row["clear"] and (not has_two_groups or row["difference"] > 0))
        return sorted(clear, key=lambda row: -abs(row["difference"]))

    def most_moving(self, n: int) -> list[int]:
        """Return the n topics with the largest changes or differences relative to their bounds, the largest first.

        Parameters
        ----------
        n : int
            Number of topics.

        Returns
        -------
        list of int
            Numbers of topics.
        """
        changes = self.difference if self.change is None else self.change
        ratios = np.abs(changes.value) / np.maximum((changes.high - changes.low) / 2, 1e-12)
        ratios = ratios.max(axis=0) if ratios.ndim > 1 else ratios
        return [int(k) for k in np.argsort(-ratios, kind="stable")[:n]]

    def to_frame(self) -> Any:
        """Return `rows` as a data frame of pandas, or of polars: see `latentia.summaries.Table.to_frame`.

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


def measure_confusions(fitted: Fitted, n_splits: int, refined: Any = None) -> np.ndarray:
    """Measure the effect of errors of topics on proportions, shape (n, K, K): row k times proportions is the error of topic k.

    The errors are those of the fits on halves of the documents, and of draws from the posterior of ``refined`` topics, scaled
    to the errors of the halves. Without halves there are none.
    """
    topics = np.asarray(fitted.model.parameters.topics)
    by_words, confusions = unmixing_matrix(topics, topics.mean(axis=0)), []
    for halves in fitted.halves(n_splits):
        first, second = (_match_topics(half.parameters.topics, topics) for half in halves)
        confusions.append(by_words @ (first - second).T / 2)
    if confusions and refined is not None and len(refined.confusions):
        errors = np.asarray(fitted.errors(n_splits).errors)
        confusions += list(refined.confusions * np.maximum(errors / np.maximum(refined.spread, 1e-300), 1.0))
    return np.array(confusions).reshape(len(confusions), len(topics), len(topics))


def _match_topics(part: np.ndarray, topics: np.ndarray) -> np.ndarray:
    """Sort the topics of a half by the topics that they match."""
    return part[match_components(part, topics)[0]]


def assign_groups(values: Sequence[Any]) -> tuple[np.ndarray, list[str]]:
    """Return the group of every row, -1 without one, and the labels, sorted as numbers or by the alphabet."""
    texts = [None if is_blank(value) else str(value).strip() for value in list_of(values, "groups")]
    labels = sorted({text for text in texts if text is not None}, key=_number_sort_key)
    if not labels:
        raise LatentiaError("None of the documents has a group.")
    if len(labels) > _MAX_GROUPS:
        raise LatentiaError(
            f"Expected at most {_MAX_GROUPS} groups; there are {len(labels):,}, such as {labels[0]!r} and {labels[-1]!r}. If "
            "they are times or other numbers, ask for the prevalence over them."
        )
    place = {label: i for i, label in enumerate(labels)}
    return np.array([-1 if text is None else place[text] for text in texts], dtype=np.int64), labels


def _number_sort_key(text: str) -> tuple[bool, float, str]:
    try:
        return False, float(text), text
    except ValueError:
        return True, 0.0, text


def measure_prevalence(
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
    """Measure mean proportions in groups of documents.

    Parameters
    ----------
    tables : iterable of arrays or sparse matrices of shape (n, V)
        Counts of the documents.
    of_rows : ndarray of int, shape (n_documents,)
        Group of every document, -1 for none.
    labels : list of str
    model : tuple of topics (K, V), shares of the topics (K,), names of the topics
    errors : ndarray of shape (n_splits, K, K)
        See `measure_confusions`.
    level : float
    periods : Periods, optional
        Given if the groups are periods.
    not_supported : sequence of int
        Numbers of the topics that the evidence does not support.
    """
    topics, shares, names = model
    sums = _Sums.from_tables(tables, of_rows, len(labels), unmixing_matrix(topics, shares @ topics))
    present = np.flatnonzero(sums.n > 0)
    if not len(present):
        raise LatentiaError("None of the documents with a group or time has words of the topics. Check the vocabulary.")
    sums = _Sums(sums.n[present], sums.first[present], sums.second[present])
    means, variances = sums.means(), sums.variances()
    overall_means = sums.n @ means / sums.n.sum()
    degrees_of_freedom = (sums.n - 1 + _PSEUDO_DOCUMENTS)[:, None]
    squared_margin = student.ppf((1 + level) / 2, degrees_of_freedom) ** 2 * (
        variances + component_error_variance(means, errors)
    )
    smoothed_shares = (sums.first + _PSEUDO_DOCUMENTS * overall_means) / (sums.n[:, None] + _PSEUDO_DOCUMENTS)
    share = _wilson_interval(np.clip(means, 0, 1), np.clip(smoothed_shares, 0, 1), squared_margin)
    # Errors of the topics move the mean of the other documents as they move the mean of the group.
    n_others = sums.n.sum() - sums.n
    weight = np.divide(sums.n.sum(), n_others, out=np.zeros(len(n_others)), where=n_others > 0)[:, None]
    differences = (means - overall_means) * weight
    other_variances = (sums.n**2 @ variances - sums.n[:, None] ** 2 * variances) / np.maximum(n_others, 1)[:, None] ** 2
    difference_errors = np.sqrt(variances + other_variances + component_error_variance(differences, errors))
    change = None
    if periods is not None:
        change = _fit_line(periods.places[present], sums.n, means, variances, errors, level, not_supported)
    return Prevalence(
        [labels[g] for g in present],
        sums.n.astype(np.int64),
        share,
        Interval.about(differences, difference_errors, level, degrees_of_freedom, not_supported),
        change,
        list(names),
        level,
        None if periods is None else periods.places[present],
        len(of_rows) - int(sums.n.sum()),
        len(errors) > 0,
        None if periods is None or periods.numbers is None else periods.numbers[present],
        [] if periods is None else periods.axis,
        list(not_supported),
    )


@dataclass(frozen=True)
class _Sums:
    """Number of documents of each group, (G,), and sums of their estimates B x and of the squares of these, (G, K)."""

    n: np.ndarray
    first: np.ndarray
    second: np.ndarray

    @classmethod
    def from_tables(cls, tables: Iterable[Any], of_rows: np.ndarray, n_groups: int, by_words: np.ndarray) -> _Sums:
        n, (first, second) = np.zeros(n_groups), np.zeros((2, n_groups, len(by_words)))
        is_known_word, start = by_words.any(axis=0), 0
        for table in tables:
            counts = sparse.csr_array(table)
            lengths = np.asarray(counts @ is_known_word.astype(float)).ravel()
            scores = (counts @ by_words.T) / np.where(lengths > 0, lengths, 1.0)[:, None]
            group = np.where(lengths > 0, of_rows[start : start + len(lengths)], -1)
            start += len(lengths)
            rows = np.flatnonzero(group >= 0)
            member = sparse.csr_array((np.ones(len(rows)), (group[rows], rows)), shape=(n_groups, len(group)))
            n += np.bincount(group[rows], minlength=n_groups)
            first += member @ scores
            second += member @ scores**2
        return cls(n, first, second)

    def means(self) -> np.ndarray:
        return self.first / self.n[:, None]

    def variances(self) -> np.ndarray:
        """Return the variances of the means, (G, K), shrunk to those of all documents for groups of few."""
        n, means = self.n[:, None], self.means()
        squares = np.maximum(self.second - n * means**2, 0)
        pooled = squares.sum(axis=0) / max(float((self.n - 1).sum()), 1.0)
        pooled = np.where(pooled > 0, pooled, self.second.sum(axis=0) / self.n.sum())
        return (squares + _PSEUDO_DOCUMENTS * pooled) / (n - 1 + _PSEUDO_DOCUMENTS) / n


def unmixing_matrix(topics: np.ndarray, frequencies: np.ndarray) -> np.ndarray:
    """Compute B, shape (K, V), zero for words without probability in any topic."""
    weighted = np.divide(topics, frequencies, out=np.zeros_like(topics), where=frequencies > 0)
    return np.linalg.lstsq(weighted @ topics.T, weighted, rcond=1e-10)[0]


def _wilson_interval(value: np.ndarray, center: np.ndarray, squared_margin: np.ndarray) -> Interval:
    """Compute Wilson's bounds of proportions from squared margins at ``center``; all of shape (G, K).

    A center that is nearer to 0 or 1 than its margin does not determine the number of documents, and is moved to the margin.
    """
    margin = np.minimum(np.sqrt(squared_margin), 0.5)
    center = np.clip(center, margin, 1 - margin)
    scaled_variance = ratio_of(squared_margin, center * (1 - center))  # z^2 / n
    numerator, margin = (
        value + scaled_variance / 2,
        np.sqrt(scaled_variance * value * (1 - value) + scaled_variance**2 / 4),
    )
    return Interval(
        value,
        np.maximum((numerator - margin) / (1 + scaled_variance), 0),
        np.minimum((numerator + margin) / (1 + scaled_variance), 1),
    )


def _fit_line(
    places: np.ndarray,
    n_documents: np.ndarray,
    means: np.ndarray,
    variances: np.ndarray,
    errors: np.ndarray,
    level: float,
    not_supported: Sequence[int],
) -> Interval | None:
    """Fit a line by least squares to the periods; return its rise from the first to the last one, shape (K,)."""
    if len(places) < 2:
        return None
    centred = places - n_documents @ places / n_documents.sum()
    weights = np.ptp(places) * n_documents * centred / (n_documents @ centred**2)
    rise = weights @ means
    variance = weights**2 @ variances + component_error_variance(rise[None], errors)[0]
    return Interval.about(rise, np.sqrt(variance), level, np.inf, not_supported)


class PrevalenceModel:
    """Base of models that measure topics in groups of documents and over time."""

    _confusions: np.ndarray
    components_: np.ndarray

    @fitted
    def prevalence_by(self: Any, X: Any, groups: Sequence[Any], *, level: float = 0.9) -> Prevalence:
        """Measure the topics in groups of documents, with error bars.

        Parameters
        ----------
        X : as in ``transform``
            Documents, which need not be those of the fit.
        groups : sequence of length n_documents
            Group of every document, such as a party or a journal. Documents with None, NaN or blanks are left out.
        level : float, default=0.9
            Chance with which an interval holds the true value.

        Returns
        -------
        Prevalence
            Mean proportions in each group and their differences from all other documents, with bounds.

        Notes
        -----
        Documents have equal weights, whatever their length, and count as independent: many by one author, or copies, contain
        less information than the bounds assume. Intervals include the choice of documents, the noise of their words and, unless
        ``n_splits`` is 0, the errors of the topics from fits on halves of the documents. They assume that the topics are real:
        see ``evidence_``.

        Source: not in the papers.
        """
        of_rows, labels = assign_groups(groups)
        return self._measure_prevalence(X, of_rows, labels, level, None)

    @fitted
    def prevalence_over(
        self: Any, X: Any, times: Sequence[Any], *, period: str | float | None = None, level: float = 0.9
    ) -> Prevalence:
        """Measure the topics over time, or along any number, with error bars.

        Parameters
        ----------
        X : as in ``transform``
            Documents, which need not be those of the fit.
        times : sequence of length n_documents
            Numbers, dates, or texts that are either, such as 1984 or 2024-05-31; None, NaN and blanks are left out.
        period : {"day", "week", "month", "quarter", "year", "decade", "century"} or float, optional
            Unit for dates, or the width of periods of numbers; by default it gives at most 24 periods.
        level : float, default=0.9
            Chance with which an interval holds the true value.

        Returns
        -------
        Prevalence
            Mean proportions in each period, and ``change``, the rise of a straight line through them, with bounds. See
            `prevalence_by` for what the bounds include.
        """
        periods = assign_periods(times, period)
        return self._measure_prevalence(X, periods.of_rows, periods.labels, level, periods)

    def _measure_prevalence(
        self: Any, X: Any, of_rows: np.ndarray, labels: list[str], level: float, periods: Periods | None
    ) -> Prevalence:
        check_parameter("level", level, _LEVEL)
        blocks = self._blocks(X, reset=False)
        if blocks.n_rows != len(of_rows):
            raise LatentiaError(
                f"Expected a group or time for each of {blocks.n_rows} documents; there are {len(of_rows)}."
            )
        model = self.components_, self._shares(), list(self.get_feature_names_out())
        return measure_prevalence(
            self._tables(blocks), of_rows, labels, model, self._confusions, level=level, periods=periods,
            not_supported=self.evidence_.not_supported(len(self.components_)),
        )  # fmt: skip
