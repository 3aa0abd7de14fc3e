"""Refinement of topics by the words of all documents, from topics that a recovery found. Outside the theorems.

Topics are sampled (`latentia.topics._sampling`), from the start that predicts held-out words best. Sampling believes that
proportions are Dirichlet. Where they are not, sweeps of collapsed variational Bayes (`latentia.topics._collapsed`) or the
recovered topics as they are may predict better; held-out words decide that too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from ..evidence import Check, PartErrors, at_most, convergence_checks
from ..exceptions import LatentiaError
from ..likelihood import EStep, Refine, Refinement, fold_in, over, refine, token_probabilities
from ..metrics import l1_distances, split_tokens
from ..passes import Blocks, Folds
from ._collapsed import CollapsedUpdate, fit_in_memory, held_shares
from ._ordering import OwnOrder
from ._sampling import MOST_OCCURRENCES, SampledTopics, can_be_sampled, mean_proportions, sample_topics

_FOLDS, _STRETCHES = (
    4,
    1000,
)  # folds for the choice of a way; stretches of documents, in canonical order, that stay together
_TINY = 1e-3  # share of the word frequencies in topics that are compared: more of them would hide what is gained
_PREDICTED = 200_000  # words of documents by which ways are compared
SMOOTHING = 0.05  # share of the word frequencies in topics that a likelihood is taken of
LARGE = 5_000_000
"""Stored counts from which on documents keep their order, and sweeps are not tried beside sampling."""
SETTLED = 5e-4
"""Share of the log-likelihood that topics still gain at most which have converged."""
_AVERAGED, _AVERAGED_OF_PART = 40, 20  # sweeps of a chain after its burn-in
_CHOICE = 2_000_000  # occurrences of words on which the start is chosen
_SHORT_BURN_IN = 20  # sweeps of chains that only tell which start is best
_DEVIATIONS = 2.0  # standard errors by which another method than sampling must predict better
# Nats a word, a tenth of a percent of perplexity: sweeps won by .00015 where sampled topics were nearer to the truth.
_LEAST_GAIN = 1e-3
_ALPHA, _WORD_PRIOR = 0.05, 0.03  # pseudo-counts of sweeps: of a topic in a document, of a word in a topic
_SOFT = 0.5  # weight of the topics in a soft start, beside the word frequencies
_SOFTEST = 0.1  # the same of those that a search starts with
_PINCH = 1e-6  # of the word frequencies in other starts of sweeps, so that every word is possible
_MORE = 1.5  # topics that a search starts with, for each that is asked for
_SEARCHED = 100_000_000  # stored counts times topics that a search reads
_SWEEPS, _WAVES, _BETWEEN = 10, 5, 2  # sweeps before topics are joined; waves of joining; sweeps after each
_SETTLES = 3e-5, 2, 10  # relative gain of a sweep that is as good as nothing, times in a row, after so many sweeps
_LARGE_SETTLES = SETTLED, 1, 6  # the same of so many counts


class Way(NamedTuple):
    """How topics are refined.

    Attributes
    ----------
    start : str
        Name of the start.
    method : {"sampling", "sweeps", "none"}
    """

    start: str
    method: Literal["sampling", "sweeps", "none"]


@dataclass(frozen=True)
class RefinedTopics:
    """What refinement makes of topics.

    Attributes
    ----------
    topics : ndarray of shape (K, V)
    dirichlet : ndarray of shape (K,) or None
        Parameters of the proportions; None where nothing was refined.
    shares : ndarray of shape (K,)
        Of the topics in all words; empty where nothing was refined.
    refinement : Refinement
    way : Way
    spread, noise, confusions
        As of `SampledTopics`; empty where topics are not sampled.
    drift : float or None
    """

    topics: np.ndarray
    dirichlet: np.ndarray | None
    shares: np.ndarray
    refinement: Refinement
    way: Way
    spread: np.ndarray
    noise: np.ndarray
    confusions: np.ndarray
    drift: float | None = None

    @property
    def is_swept(self) -> bool:
        """Whether these are other than they were."""
        return self.dirichlet is not None

    def rearranged(self, order: np.ndarray) -> RefinedTopics:
        """Return the same with the topics in another order."""
        names = ("topics", "dirichlet", "shares", "spread", "noise")
        values = {name: getattr(self, name) for name in names}
        values = {name: value[order] for name, value in values.items() if value is not None and len(value)}
        return replace(self, **values, confusions=self.confusions[:, order[:, None], order])

    @classmethod
    def none(cls, topics: np.ndarray) -> RefinedTopics:
        """The topics as they are."""
        nothing, confusions = np.empty(0), np.empty((0, len(topics), len(topics)))
        return cls(topics, None, nothing, Refinement.no_steps(), Way("recovered", "none"), nothing, nothing, confusions)


@dataclass(frozen=True)
class DocumentSet:
    """Documents that topics are refined on.

    Attributes
    ----------
    order : OwnOrder
    frequencies : ndarray of shape (V,)
        Of the words, by the columns of the data.
    n_entries : float
        Stored counts, at least about.
    share : float
        Of all documents. So large a part of what is sampled of all is sampled of these: what a part tells of two methods then
        holds of all documents.
    n_jobs, progress
        As in `latentia.passes.accumulate`.
    """

    order: OwnOrder
    frequencies: np.ndarray
    n_entries: float
    share: float = 1.0
    n_jobs: int | None = None
    progress: bool = False

    @cached_property
    def table(self) -> sparse.csr_array | None:
        """Whole counts that can be sampled, of at most their share of `MOST_OCCURRENCES` words, if they are whole."""
        table = _some_documents(self.order.blocks, self.n_entries, self.share * MOST_OCCURRENCES)
        return table if can_be_sampled(table) else None

    def few(self) -> DocumentSet:
        """As many documents as tell which start is best."""
        table = self.table
        if table is None or table.sum() <= _CHOICE:
            return self
        table = _some_documents(Blocks.from_array(table), float(table.nnz), _CHOICE)
        return replace(self, order=replace(self.order, blocks=Blocks.from_array(table)), n_entries=float(table.nnz))

    def smoothed(self, topics: np.ndarray) -> np.ndarray:
        """Topics over the columns of the table, with a share of the word frequencies."""
        return self.order.arranged(smoothed(topics, self.frequencies, SMOOTHING))


class Starts(NamedTuple):
    """What refinement may start from.

    Attributes
    ----------
    recovered : ndarray of shape (K, V)
        Topics in whose order the refined ones come.
    dirichlet : ndarray of shape (K,) or None
        Parameters of their proportions, where they are recovered as well.
    topics_of : dict from names to functions
        Each returns topics of shape (K', V), or None where there are none; sweeps start at the last one. More than K topics
        start a search: those that are most alike are joined on the way.
    """

    recovered: np.ndarray
    dirichlet: np.ndarray | None
    topics_of: dict[str, Callable[[], np.ndarray | None]]


def n_candidates(n_topics: int, rank: int) -> int:
    """Return with how many topics a search starts, in data that carries so many directions above its noise."""
    return max(min(int(_MORE * n_topics), rank), n_topics)


@dataclass
class Refiner:
    """Refinement on all documents and on parts of them; parts go the way of all.

    Parameters
    ----------
    order : OwnOrder
    folds : Folds
        Of the rows of the table, for parts.
    choice_folds : Folds
        The same for the choice of the way: those that hang on the content of the documents alone, where they can.
    frequencies : ndarray of shape (V,)
    n_entries : float
        Stored counts of all documents, at least about.
    steps : int or "auto"
        So many sweeps, or as many as it takes to converge.
    starts_of : callable
        Of groups of documents, of ``choice_folds``: `Starts`.
    alpha_sum : float, optional
        Sum of the Dirichlet parameters, where it is known.
    n_jobs, progress
        As in `latentia.passes.accumulate`.
    """

    order: OwnOrder
    folds: Folds
    choice_folds: Folds
    frequencies: np.ndarray
    n_entries: float
    steps: Refine
    starts_of: Callable[[tuple[int, ...]], Starts]
    alpha_sum: float | None = None
    n_jobs: int | None = None
    progress: bool = False
    _first_half: RefinedTopics | None = None

    def refined(self, groups: tuple[int, ...], starts: Starts) -> RefinedTopics:
        """Return the topics of some groups."""
        way, n_averaged = self.way, _AVERAGED if groups == self.folds.all else _AVERAGED_OF_PART
        documents = self._documents(groups, self.folds)
        no_more = starts.dirichlet is None and len(starts.topics_of) == 1
        in_memory = fit_in_memory(self.n_entries, len(starts.recovered))
        if way is None and self.steps == "auto" and no_more and not in_memory and documents.table is None:
            return RefinedTopics.none(starts.recovered)  # What packed shares leave out is more than anchors err.
        if self._first_half is not None and self.folds is self.choice_folds and groups == self.folds.splits[0][0]:
            return self._first_half
        return refine_topics(starts, documents, self.steps, way, self.alpha_sum, n_averaged=n_averaged)

    @cached_property
    def way(self) -> Way | None:
        """The way by which topics of one half of the documents predict the other half best; None where there is no choice."""
        if self.steps != "auto" or not self.choice_folds.splits:
            return None
        first, second = self.choice_folds.splits[0]
        documents = self._documents(first, self.choice_folds)
        if documents.table is None or not documents.table.nnz:
            return None
        try:
            starts = self.starts_of(first)
        except LatentiaError:
            return None
        hidden = self._documents(second, self.choice_folds)
        others = self.order.restored_table(_some_documents(hidden.order.blocks, hidden.n_entries, _PREDICTED))
        way, self._first_half = _choose_way(starts, documents, others, self.alpha_sum)
        return way

    def _documents(self, groups: tuple[int, ...], folds: Folds) -> DocumentSet:
        share, order = len(groups) / folds.n, self.order.group(groups, folds)
        return DocumentSet(order, self.frequencies, share * self.n_entries, share, self.n_jobs, self.progress)


def content_folds(order: OwnOrder, folds: Folds) -> Folds:
    """Return folds that hang on the content of the documents alone, copies mostly together; as they are where they cannot."""
    if order.rows is None or folds.n != _FOLDS:
        return folds
    return Folds(_FOLDS, 0, max(1, order.blocks.n_rows // _STRETCHES))


def refine_topics(
    starts: Starts,
    documents: DocumentSet,
    steps: Refine,
    way: Way | None,
    alpha_sum: float | None = None,
    *,
    burn_in: int | Literal["auto"] = "auto",
    n_averaged: int = _AVERAGED,
) -> RefinedTopics:
    """Refine topics; without a way they are sampled from the first start, or swept from the last if they cannot be."""
    recovered, dirichlet, topics_of = starts
    table, k = documents.table, len(recovered)
    if way is None or steps != "auto":
        names = list(topics_of)
        way = Way(names[0], "sampling") if table is not None else Way(names[0 if steps != "auto" else -1], "sweeps")
    if way.method == "none":
        return RefinedTopics.none(recovered)
    start = topics_of[way.start]() if way.start in topics_of else None
    start = recovered if start is None else start
    if way.method == "sweeps" or table is None:
        if way.start != next(iter(topics_of)):  # The parameters are those of other topics.
            dirichlet = None if alpha_sum is None else np.full(k, alpha_sum / k)
        swept = _swept(start, k, documents, steps, dirichlet)
        return _in_order_of(recovered, swept, documents, way)
    start = _joined(start, k, documents)
    if steps != "auto":
        burn_in, n_averaged = steps // 2, steps - steps // 2
    effort = min(1.0, documents.share * LARGE / max(float(table.sum()), 1.0)) if steps == "auto" else 1.0
    options: dict[str, Any] = {"alpha_sum": alpha_sum, "n_jobs": documents.n_jobs, "effort": effort}
    if table.shape[0] < documents.order.blocks.n_rows:
        options["all_documents"] = documents.order.blocks
    chain = sample_topics(table, documents.smoothed(start), burn_in=burn_in, n_averaged=n_averaged, **options)
    return _in_order_of(recovered, chain, documents, way)


def _choose_way(
    starts: Starts, documents: DocumentSet, others: sparse.csr_array, alpha_sum: float | None
) -> tuple[Way, RefinedTopics]:
    """Return the way whose topics predict half of the words of other documents best from the other half, and its topics."""
    names, (observed, hidden), k = list(starts.topics_of), split_tokens(others), len(starts.recovered)
    few = documents.few()

    def joined(start: Callable[[], np.ndarray | None]) -> np.ndarray | None:
        topics = start()
        return None if topics is None else _joined(topics, k, few)

    starts = starts._replace(
        topics_of={name: cache(partial(joined, start)) for name, start in starts.topics_of.items()}
    )

    def scores_of(
        way: Way, documents: DocumentSet, alpha: np.ndarray | None = None, **options: Any
    ) -> tuple[np.ndarray, RefinedTopics]:
        refined = refine_topics(starts, documents, "auto", way, alpha_sum, n_averaged=_AVERAGED_OF_PART, **options)
        dirichlet = np.maximum(np.asarray(alpha if refined.dirichlet is None else refined.dirichlet), 1e-3)
        topics = smoothed(refined.topics, documents.frequencies, _TINY)
        proportions = mean_proportions(observed, topics, dirichlet, documents.n_jobs)
        logs = hidden.copy()
        logs.data = hidden.data * np.log(token_probabilities(hidden, topics, proportions))
        return np.asarray(logs.sum(axis=1)).ravel(), refined

    start = names[0]
    if len(names) > 1:
        short: dict[str, Any] = {"burn_in": _SHORT_BURN_IN}
        start = max(names, key=lambda name: scores_of(Way(name, "sampling"), few, **short)[0].sum())
    sampled, chosen = scores_of(Way(start, "sampling"), documents)
    alpha, highest = chosen.dirichlet, sampled.sum()
    rivals = [Way(names[-1], "sweeps")] if documents.n_entries <= LARGE else []
    for way in (*rivals, Way(names[0], "none")):
        scores, refined = scores_of(way, documents, alpha if starts.dirichlet is None else starts.dirichlet)
        gain = scores - sampled
        least = max(_DEVIATIONS * gain.std() / np.sqrt(len(gain)), _LEAST_GAIN * hidden.sum() / len(gain))
        if gain.mean() > least and scores.sum() > highest:
            chosen, highest = refined, scores.sum()
    return chosen.way, chosen


def _joined(topics: np.ndarray, n_topics: int, documents: DocumentSet) -> np.ndarray:
    """Return so many topics; of more, those that a search leaves."""
    if len(topics) <= n_topics:
        return topics
    table = sparse.csr_array(_some_rows(documents.order.blocks, documents.n_entries, len(topics)))
    return documents.order.restored(_search(documents.order.arranged(topics), n_topics, documents, table).topics)


def _some_documents(blocks: Blocks, n_entries: float, most: float) -> sparse.csr_array:
    """Return documents of at most about so many words, spread evenly; ``n_entries`` counts are stored."""
    share = most / max(n_entries, 1.0)
    table = sparse.csr_array(blocks.table() if share >= 1 else blocks.some_rows(int(share * blocks.n_rows))[0])
    share = most / max(float(table.sum()), 1.0)
    return table if share >= 1 else sparse.csr_array(table[:: int(np.ceil(1 / share))])


def with_spread(
    parts: PartErrors, refined: RefinedTopics | None, recovered: np.ndarray, of_other_documents: Sequence[Check]
) -> PartErrors:
    """Return expected errors that are at least the posterior's own, and know the noise of the draws.

    Topics that do not predict other documents are all near the word frequencies, and so are those of any part: that parts
    agree says nothing then, and an error is at least the distance to the nearest topic of the moments.
    """
    if refined is None:
        return parts
    if len(refined.spread):
        parts = parts.raise_to(np.hypot(refined.spread, refined.noise))
    if all(check.holds for check in of_other_documents):
        return parts
    return parts.raise_to(l1_distances(recovered, refined.topics).min(axis=0))


def refinement_checks(refined: RefinedTopics | None) -> list[Check]:
    """Return the lines of the evidence on the refinement: whether it has converged, and the noise of the draws."""
    if refined is None or refined.drift is None:
        return [] if refined is None else convergence_checks(refined.refinement, SETTLED)
    n_sweeps = len(refined.refinement.log_likelihood)
    return [
        Check(
            "refinement has converged", "log-likelihood", refined.drift, at_most(SETTLED),
            f"{n_sweeps} sweeps; share of the log-likelihood that the second half of the averaged ones gained.",
            "not in the paper",
        ),
        Check(
            "noise of the draws", "mean l1", float(refined.noise.mean()), None,
            "Error of the topics because a finite number of sweeps is averaged; the expected errors include it.",
            "not in the paper",
        ),
    ]  # fmt: skip


def _in_order_of(
    recovered: np.ndarray,
    result: SampledTopics | tuple[np.ndarray, np.ndarray, np.ndarray, Refinement],
    documents: DocumentSet,
    way: Way,
) -> RefinedTopics:
    """Return refined topics over the columns of the data, each in the place of the recovered one that it is nearest to."""
    nothing = np.empty(0)
    if isinstance(result, SampledTopics):
        converged = result.drift <= SETTLED
        refinement = Refinement((result.topics,), result.log_likelihood, converged, float("nan"))
        topics, alpha, shares, drift = result.topics, result.alpha, result.shares, result.drift
        spread, noise, confusions = result.spread, result.noise, result.confusions
    else:
        topics, alpha, shares, refinement = result
        spread, noise, drift, confusions = nothing, nothing, None, np.empty((0, len(topics), len(topics)))
    topics = documents.order.restored(topics)
    matched = linear_sum_assignment(l1_distances(recovered, topics))[1]
    refined = RefinedTopics(topics, alpha, shares, refinement, way, spread, noise, confusions, drift)
    return refined.rearranged(matched)


# --- sweeps of collapsed variational Bayes ------------------------------------------------------------------------


def _swept(
    start: np.ndarray,
    n_topics: int,
    documents: DocumentSet,
    steps: Refine,
    dirichlet: np.ndarray | None,
    blocks: Blocks | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, Refinement]:
    """Return topics over the columns of the table, Dirichlet parameters, shares and the sweeps, from a soft start."""
    n_entries = documents.n_entries if blocks is None else float(blocks.table().nnz)
    blocks = documents.order.blocks if blocks is None else blocks
    base, begin = documents.order.arranged(_positive(documents.frequencies)), documents.order.arranged(start)
    alpha = np.full(n_topics, _ALPHA) if dirichlet is None else dirichlet
    passes: dict[str, Any] = {"n_jobs": documents.n_jobs, "progress": documents.progress}
    options: dict[str, Any] = {"prior": np.full(len(base), _WORD_PRIOR), "learn_alpha": dirichlet is None}
    with ExitStack() as rooms:
        if len(begin) > n_topics:
            searched = _search(begin, n_topics, documents, sparse.csr_array(_some_rows(blocks, n_entries, len(begin))))
            begin, alpha = searched.topics, searched.alpha
        weight = _SOFT if dirichlet is None and steps == "auto" else 1 - _PINCH
        room = rooms.enter_context(held_shares(int(n_entries), n_topics))
        update = CollapsedUpdate(weight * begin + (1 - weight) * base, alpha, room, blocks.n_rows, **options)
        until = _until(update, *(_LARGE_SETTLES if n_entries > LARGE else _SETTLES))
        refinement = refine(update, over(blocks, **passes), steps, until=until)
    counts = update.counts.sum(axis=0)
    return refinement.values[0], update.alpha, counts / counts.sum(), refinement


def _some_rows(blocks: Blocks, n_entries: float, n_candidates: int) -> Any:
    """Return as many documents as a search reads."""
    share = min(1.0, _SEARCHED / (n_entries * n_candidates))
    return blocks.some_rows(int(share * blocks.n_rows))[0]


def _search(candidates: np.ndarray, n_topics: int, documents: DocumentSet, table: sparse.csr_array) -> CollapsedUpdate:
    """Sweep with more topics than asked for, and join those that are most alike, some at a time."""
    base, blocks = documents.order.arranged(_positive(documents.frequencies)), Blocks.from_array(table)
    with held_shares(table.nnz, len(candidates), in_memory=True) as room:
        softest = _SOFTEST * candidates + (1 - _SOFTEST) * base
        prior = np.full(len(base), _WORD_PRIOR)
        update = CollapsedUpdate(softest, np.full(len(candidates), _ALPHA), room, blocks.n_rows, prior=prior)
        e_step: EStep = over(blocks, documents.n_jobs, documents.progress)
        refine(update, e_step, _SWEEPS)
        for n_left in np.linspace(len(candidates), n_topics, _WAVES + 1).round().astype(int)[1:]:
            update.join(int(n_left))
            refine(update, e_step, _BETWEEN)
    return update


def _until(update: CollapsedUpdate, gain: float, calm: int, fewest: int) -> Callable[[], bool]:
    """Return a function that says whether the last sweeps gained as good as nothing."""

    def converged() -> bool:
        values = np.array(update.log_likelihood[-calm - 1 :])
        return update.n_sweeps >= fewest and bool((np.abs(np.diff(values)) < gain * abs(values[-1])).all())

    return converged


def completion(
    topics: np.ndarray, dirichlet: np.ndarray, frequencies: np.ndarray, counts: sparse.csr_array
) -> np.ndarray:
    """Return the log-likelihood of one half of the words of documents given the other half, shape (n,)."""
    observed, hidden = split_tokens(counts)
    topics = smoothed(topics, frequencies, SMOOTHING)
    logs = hidden.copy()
    logs.data = hidden.data * np.log(token_probabilities(hidden, topics, fold_in(observed, topics, dirichlet)))
    return np.asarray(logs.sum(axis=1)).ravel()


def smoothed(topics: np.ndarray, word_frequencies: np.ndarray, weight: float) -> np.ndarray:
    """Return topics mixed with the word frequencies, and these with a uniform pinch, so that every word is possible."""
    return (1 - weight) * topics + weight * _positive(word_frequencies)


def rounded(topics: np.ndarray) -> np.ndarray:
    """Return the same to six binary digits."""
    digits, exponents = np.frexp(topics)
    return np.asarray(np.ldexp(np.rint(digits * 64) / 64, exponents))


def _positive(word_frequencies: np.ndarray) -> np.ndarray:
    return 0.999 * word_frequencies + 0.001 / len(word_frequencies)
