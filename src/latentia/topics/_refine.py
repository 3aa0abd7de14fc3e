"""Refinement of recovered topics by the words of all documents, outside the theorems.

Topics are sampled (`latentia.topics._sampling`) from the start that predicts held-out words best. Sampling assumes Dirichlet
proportions. If they are not Dirichlet, sweeps of collapsed variational Bayes (`latentia.topics._collapsed`) or the recovered
topics may predict better; held-out words decide that too.
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
from ..evidence.limits import STANDARD_ERRORS
from ..exceptions import LatentiaError
from ..likelihood import EStep, Refine, Refinement, fold_in, over, refine, token_probabilities
from ..metrics import l1_distances, split_tokens
from ..passes import Blocks, Folds
from ._collapsed import SweepUpdate, allocate_shares, fit_in_memory
from ._ordering import CanonicalOrder
from ._sampling import MAX_OCCURRENCES, TopicPosterior, is_samplable, mean_proportions, sample_topics

_N_FOLDS = 4  # Folds for the choice of a way.
_N_STRETCHES = 1000  # Stretches of documents, in canonical order, that stay in one of these folds.
_COMPARISON_SMOOTHING = (
    1e-3  # Share of the word frequencies in compared topics: a larger one would hide what they gain.
)
_PREDICTED_WORDS = 200_000  # Words of the documents that compare the ways.
SMOOTHING = 0.05  # Share of the word frequencies in topics, for likelihoods.
LARGE = 5_000_000
"""From this many stored counts on, documents keep their order, and sweeps do not compete with sampling."""
MAX_RELATIVE_GAIN = 5e-4
"""Converged topics gain at most this share of the log-likelihood."""
_N_AVERAGED, _N_AVERAGED_OF_PART = 40, 20  # Sweeps of a chain after its burn-in, of all documents and of a subset.
_MAX_WORDS_OF_CHOICE = 2_000_000  # Occurrences of words for the choice of the start.
_SHORT_BURN_IN = 20  # Sweeps of the chains that choose the start.
# Nats a word, a tenth of a percent of perplexity: sweeps won by .00015 where sampled topics were nearer to the truth.
_MIN_GAIN = 1e-3
_ALPHA, _WORD_PRIOR = 0.05, 0.03  # Pseudo-counts of sweeps: of a topic in a document, and of a word in a topic.
_SOFT_WEIGHT = 0.5  # Weight of the topics in a soft start; the rest are word frequencies.
_SEARCH_WEIGHT = 0.1  # The same at the start of a search.
_PINCH = 1e-6  # Weight of the word frequencies in other starts of sweeps, so that every word is possible.
_CANDIDATES_PER_TOPIC = 1.5  # Topics at the start of a search, for each topic of the result.
_MAX_SEARCH_WORK = 100_000_000  # Stored counts times topics that a search reads.
_SEARCH_SWEEPS = 10  # Sweeps before topics are joined,
_JOINING_WAVES, _SWEEPS_PER_WAVE = 5, 2  # waves of joining, and sweeps after each.
_STOPPING_RULE = 3e-5, 2, 10  # Negligible relative gain of a sweep, how often in a row, and the fewest sweeps.
_LARGE_STOPPING_RULE = MAX_RELATIVE_GAIN, 1, 6  # The same for large corpora.


class Way(NamedTuple):
    """A start and a method of refinement.

    Attributes
    ----------
    start : str
        Name of the start.
    method : {"sampling", "sweeps", "none"}
    """

    start: str
    method: Literal["sampling", "sweeps", "none"]


@dataclass(frozen=True)
class TopicRefinement:
    """Refined topics, with their errors.

    Attributes
    ----------
    topics : ndarray of shape (K, V)
    dirichlet : ndarray of shape (K,) or None
        Parameters of the proportions; None without refinement.
    shares : ndarray of shape (K,)
        Shares of the topics in all words; empty without refinement.
    refinement : Refinement
    way : Way
    spread, noise, confusions
        As in `TopicPosterior`; empty without sampling.
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
        """Return True if refinement has changed the topics."""
        return self.dirichlet is not None

    def reorder(self, order: np.ndarray) -> TopicRefinement:
        """Return these topics in another order."""
        names = ("topics", "dirichlet", "shares", "spread", "noise")
        values = {name: getattr(self, name) for name in names}
        values = {name: value[order] for name, value in values.items() if value is not None and len(value)}
        return replace(self, **values, confusions=self.confusions[:, order[:, None], order])

    @classmethod
    def from_recovery(cls, topics: np.ndarray) -> TopicRefinement:
        """Return topics without refinement."""
        empty, confusions = np.empty(0), np.empty((0, len(topics), len(topics)))
        return cls(topics, None, empty, Refinement.no_steps(), Way("recovered", "none"), empty, empty, confusions)


@dataclass(frozen=True)
class DocumentSet:
    """Documents on which topics are refined.

    Attributes
    ----------
    order : CanonicalOrder
    frequencies : ndarray of shape (V,)
        Frequencies of the words, by the columns of the data.
    n_entries : float
        Number of stored counts, at least about.
    share : float
        Share of these documents among all. Their part in the sampled words is the same, so that a comparison of two methods on
        a part of the documents holds for all of them.
    n_jobs, progress
        As in `latentia.passes.accumulate`.
    """

    order: CanonicalOrder
    frequencies: np.ndarray
    n_entries: float
    share: float = 1.0
    n_jobs: int | None = None
    progress: bool = False

    @cached_property
    def table(self) -> sparse.csr_array | None:
        """Counts to sample, of at most their share of `MAX_OCCURRENCES` words; None if they are not whole numbers."""
        table = _sample_documents(self.order.blocks, self.n_entries, self.share * MAX_OCCURRENCES)
        return table if is_samplable(table) else None

    def subsample(self) -> DocumentSet:
        """Select as many documents as the choice of a start needs."""
        table = self.table
        if table is None or table.sum() <= _MAX_WORDS_OF_CHOICE:
            return self
        table = _sample_documents(Blocks.from_array(table), float(table.nnz), _MAX_WORDS_OF_CHOICE)
        return replace(self, order=replace(self.order, blocks=Blocks.from_array(table)), n_entries=float(table.nnz))

    def smooth(self, topics: np.ndarray) -> np.ndarray:
        """Smooth topics by the word frequencies, over the columns of the table."""
        return self.order.arrange(smooth_topics(topics, self.frequencies, SMOOTHING))


class Starts(NamedTuple):
    """Starts of a refinement.

    Attributes
    ----------
    recovered : ndarray of shape (K, V)
        Recovered topics, which give the order of the refined ones.
    dirichlet : ndarray of shape (K,) or None
        Parameters of their proportions, if recovered.
    topics_of : dict from names to functions
        Each returns topics of shape (K', V), or None; sweeps start at the last one. More than K topics start a search that
        joins the most similar ones on the way.
    """

    recovered: np.ndarray
    dirichlet: np.ndarray | None
    topics_of: dict[str, Callable[[], np.ndarray | None]]


def n_candidates(n_topics: int, rank: int) -> int:
    """Return the number of topics at the start of a search, in data with ``rank`` directions above the noise."""
    return max(min(int(_CANDIDATES_PER_TOPIC * n_topics), rank), n_topics)


@dataclass
class Refiner:
    """Refinement on all documents and on subsets, which are refined in the same way.

    Parameters
    ----------
    order : CanonicalOrder
    folds : Folds
        Folds of the rows of the table, for subsets.
    choice_folds : Folds
        Folds for the choice of the way, which depend on the content of the documents alone where possible.
    frequencies : ndarray of shape (V,)
    n_entries : float
        Number of stored counts of all documents, at least about.
    steps : int or "auto"
        Number of sweeps, or "auto" until convergence.
    starts_of : callable
        Returns the `Starts` of groups of documents, of ``choice_folds``.
    alpha_sum : float, optional
        Sum of the Dirichlet parameters, if known.
    n_jobs, progress
        As in `latentia.passes.accumulate`.
    """

    order: CanonicalOrder
    folds: Folds
    choice_folds: Folds
    frequencies: np.ndarray
    n_entries: float
    steps: Refine
    starts_of: Callable[[tuple[int, ...]], Starts]
    alpha_sum: float | None = None
    n_jobs: int | None = None
    progress: bool = False
    _first_half: TopicRefinement | None = None

    def refine_groups(self, groups: tuple[int, ...], starts: Starts) -> TopicRefinement:
        """Refine the topics of some groups."""
        way, n_averaged = self.way, _N_AVERAGED if groups == self.folds.all else _N_AVERAGED_OF_PART
        documents = self._documents(groups, self.folds)
        has_only_anchors = starts.dirichlet is None and len(starts.topics_of) == 1
        in_memory = fit_in_memory(self.n_entries, len(starts.recovered))
        if way is None and self.steps == "auto" and has_only_anchors and not in_memory and documents.table is None:
            return TopicRefinement.from_recovery(
                starts.recovered
            )  # Rounding shares to fit into memory would lose more.
        if self._first_half is not None and self.folds is self.choice_folds and groups == self.folds.splits[0][0]:
            return self._first_half
        return refine_topics(starts, documents, self.steps, way, self.alpha_sum, n_averaged=n_averaged)

    @cached_property
    def way(self) -> Way | None:
        """The way by which topics of one half of the documents predict the other half best; None without a choice."""
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
        held_out = self.order.restore_table(_sample_documents(hidden.order.blocks, hidden.n_entries, _PREDICTED_WORDS))
        way, self._first_half = _choose_way(starts, documents, held_out, self.alpha_sum)
        return way

    def _documents(self, groups: tuple[int, ...], folds: Folds) -> DocumentSet:
        share, order = len(groups) / folds.n, self.order.group(groups, folds)
        return DocumentSet(order, self.frequencies, share * self.n_entries, share, self.n_jobs, self.progress)


def content_folds(order: CanonicalOrder, folds: Folds) -> Folds:
    """Return folds by the content of the documents, with copies mostly together; without canonical order the same folds."""
    if order.rows is None or folds.n != _N_FOLDS:
        return folds
    return Folds(_N_FOLDS, 0, max(1, order.blocks.n_rows // _N_STRETCHES))


def refine_topics(
    starts: Starts,
    documents: DocumentSet,
    steps: Refine,
    way: Way | None,
    alpha_sum: float | None = None,
    *,
    burn_in: int | Literal["auto"] = "auto",
    n_averaged: int = _N_AVERAGED,
) -> TopicRefinement:
    """Refine topics. Without a way, sample from the first start, or sweep from the last one if sampling is impossible."""
    recovered, dirichlet, topics_of = starts
    table, k = documents.table, len(recovered)
    if way is None or steps != "auto":
        names = list(topics_of)
        way = Way(names[0], "sampling") if table is not None else Way(names[0 if steps != "auto" else -1], "sweeps")
    if way.method == "none":
        return TopicRefinement.from_recovery(recovered)
    start = topics_of[way.start]() if way.start in topics_of else None
    start = recovered if start is None else start
    if way.method == "sweeps" or table is None:
        if way.start != next(iter(topics_of)):  # The Dirichlet parameters belong to the topics of the first start.
            dirichlet = None if alpha_sum is None else np.full(k, alpha_sum / k)
        swept = _sweep(start, k, documents, steps, dirichlet)
        return _match_to_recovered(recovered, swept, documents, way)
    start = _reduce_topics(start, k, documents)
    if steps != "auto":
        burn_in, n_averaged = steps // 2, steps - steps // 2
    effort = min(1.0, documents.share * LARGE / max(float(table.sum()), 1.0)) if steps == "auto" else 1.0
    options: dict[str, Any] = {"alpha_sum": alpha_sum, "n_jobs": documents.n_jobs, "effort": effort}
    if table.shape[0] < documents.order.blocks.n_rows:
        options["all_documents"] = documents.order.blocks
    chain = sample_topics(table, documents.smooth(start), burn_in=burn_in, n_averaged=n_averaged, **options)
    return _match_to_recovered(recovered, chain, documents, way)


def _choose_way(
    starts: Starts, documents: DocumentSet, held_out: sparse.csr_array, alpha_sum: float | None
) -> tuple[Way, TopicRefinement]:
    """Choose the way whose topics predict half of the words of held-out documents best; return it and its topics."""
    start_names, (observed, hidden), k = list(starts.topics_of), split_tokens(held_out), len(starts.recovered)
    subsample = documents.subsample()

    def reduce(start: Callable[[], np.ndarray | None]) -> np.ndarray | None:
        topics = start()
        return None if topics is None else _reduce_topics(topics, k, subsample)

    starts = starts._replace(
        topics_of={name: cache(partial(reduce, start)) for name, start in starts.topics_of.items()}
    )

    def score(
        way: Way, documents: DocumentSet, alpha: np.ndarray | None = None, **options: Any
    ) -> tuple[np.ndarray, TopicRefinement]:
        refined = refine_topics(starts, documents, "auto", way, alpha_sum, n_averaged=_N_AVERAGED_OF_PART, **options)
        dirichlet = np.maximum(np.asarray(alpha if refined.dirichlet is None else refined.dirichlet), 1e-3)
        topics = smooth_topics(refined.topics, documents.frequencies, _COMPARISON_SMOOTHING)
        proportions = mean_proportions(observed, topics, dirichlet, documents.n_jobs)
        logs = hidden.copy()
        logs.data = hidden.data * np.log(token_probabilities(hidden, topics, proportions))
        return np.asarray(logs.sum(axis=1)).ravel(), refined

    start = start_names[0]
    if len(start_names) > 1:
        short: dict[str, Any] = {"burn_in": _SHORT_BURN_IN}
        start = max(start_names, key=lambda name: score(Way(name, "sampling"), subsample, **short)[0].sum())
    posterior, chosen = score(Way(start, "sampling"), documents)
    alpha, highest = chosen.dirichlet, posterior.sum()
    rivals = [Way(start_names[-1], "sweeps")] if documents.n_entries <= LARGE else []
    for way in (*rivals, Way(start_names[0], "none")):
        scores, refined = score(way, documents, alpha if starts.dirichlet is None else starts.dirichlet)
        gain = scores - posterior
        min_gain = max(STANDARD_ERRORS * gain.std() / np.sqrt(len(gain)), _MIN_GAIN * hidden.sum() / len(gain))
        if gain.mean() > min_gain and scores.sum() > highest:
            chosen, highest = refined, scores.sum()
    return chosen.way, chosen


def _reduce_topics(topics: np.ndarray, n_topics: int, documents: DocumentSet) -> np.ndarray:
    """Reduce topics to ``n_topics`` by a search that joins them."""
    if len(topics) <= n_topics:
        return topics
    table = sparse.csr_array(_search_rows(documents.order.blocks, documents.n_entries, len(topics)))
    return documents.order.restore(_search(documents.order.arrange(topics), n_topics, documents, table).topics)


def _sample_documents(blocks: Blocks, n_entries: float, max_words: float) -> sparse.csr_array:
    """Sample documents of at most about ``max_words`` words, evenly spread; ``n_entries`` counts are stored."""
    share = max_words / max(n_entries, 1.0)
    table = sparse.csr_array(blocks.table() if share >= 1 else blocks.some_rows(int(share * blocks.n_rows))[0])
    share = max_words / max(float(table.sum()), 1.0)
    return table if share >= 1 else sparse.csr_array(table[:: min(int(np.ceil(1 / share)), table.shape[0])])


def include_posterior_spread(
    parts: PartErrors, refined: TopicRefinement | None, recovered: np.ndarray, prediction_checks: Sequence[Check]
) -> PartErrors:
    """Widen expected errors to at least the spread of the posterior and the noise of the draws.

    Topics that do not predict held-out documents are near the word frequencies, in every subset, so that the agreement of
    subsets means nothing. An error is then at least the distance to the nearest recovered topic.
    """
    if refined is None:
        return parts
    if len(refined.spread):
        parts = parts.raise_to(np.hypot(refined.spread, refined.noise))
    if all(check.holds for check in prediction_checks):
        return parts
    return parts.raise_to(l1_distances(recovered, refined.topics).min(axis=0))


def refinement_checks(refined: TopicRefinement | None) -> list[Check]:
    """Return the checks on the convergence of the refinement and the noise of the draws."""
    if refined is None or refined.drift is None:
        return [] if refined is None else convergence_checks(refined.refinement, MAX_RELATIVE_GAIN)
    n_sweeps = len(refined.refinement.log_likelihood)
    return [
        Check(
            "refinement has converged", "log-likelihood", refined.drift, at_most(MAX_RELATIVE_GAIN),
            f"{n_sweeps} sweeps; share of the log-likelihood that the second half of the averaged ones gained.",
            "not in the paper",
        ),
        Check(
            "noise of the draws", "mean l1", float(refined.noise.mean()), None,
            "Error of the topics because a finite number of sweeps is averaged; the expected errors include it.",
            "not in the paper",
        ),
    ]  # fmt: skip


def _match_to_recovered(
    recovered: np.ndarray,
    result: TopicPosterior | tuple[np.ndarray, np.ndarray, np.ndarray, Refinement],
    documents: DocumentSet,
    way: Way,
) -> TopicRefinement:
    """Return refined topics over the columns of the data, in the order of the nearest recovered ones."""
    empty = np.empty(0)
    if isinstance(result, TopicPosterior):
        converged = result.drift <= MAX_RELATIVE_GAIN
        refinement = Refinement((result.topics,), result.log_likelihood, converged, float("nan"))
        topics, alpha, shares, drift = result.topics, result.alpha, result.shares, result.drift
        spread, noise, confusions = result.spread, result.noise, result.confusions
    else:
        topics, alpha, shares, refinement = result
        spread, noise, drift, confusions = empty, empty, None, np.empty((0, len(topics), len(topics)))
    topics = documents.order.restore(topics)
    order = linear_sum_assignment(l1_distances(recovered, topics))[1]
    refined = TopicRefinement(topics, alpha, shares, refinement, way, spread, noise, confusions, drift)
    return refined.reorder(order)


# --- sweeps of collapsed variational Bayes ------------------------------------------------------------------------


def _sweep(
    start: np.ndarray,
    n_topics: int,
    documents: DocumentSet,
    steps: Refine,
    dirichlet: np.ndarray | None,
    blocks: Blocks | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, Refinement]:
    """Sweep from a soft start; return topics over the columns of the table, Dirichlet parameters, shares and sweeps."""
    n_entries = documents.n_entries if blocks is None else float(blocks.table().nnz)
    blocks = documents.order.blocks if blocks is None else blocks
    frequencies, initial_topics = (
        documents.order.arrange(_smooth_frequencies(documents.frequencies)),
        documents.order.arrange(start),
    )
    alpha = np.full(n_topics, _ALPHA) if dirichlet is None else dirichlet
    passes: dict[str, Any] = {"n_jobs": documents.n_jobs, "progress": documents.progress}
    options: dict[str, Any] = {"prior": np.full(len(frequencies), _WORD_PRIOR), "learn_alpha": dirichlet is None}
    with ExitStack() as stack:
        if len(initial_topics) > n_topics:
            searched = _search(
                initial_topics,
                n_topics,
                documents,
                sparse.csr_array(_search_rows(blocks, n_entries, len(initial_topics))),
            )
            initial_topics, alpha = searched.topics, searched.alpha
        topic_weight = _SOFT_WEIGHT if dirichlet is None and steps == "auto" else 1 - _PINCH
        shares = stack.enter_context(allocate_shares(int(n_entries), n_topics))
        update = SweepUpdate(
            topic_weight * initial_topics + (1 - topic_weight) * frequencies, alpha, shares, blocks.n_rows, **options
        )
        until = _stopping_rule(update, *(_LARGE_STOPPING_RULE if n_entries > LARGE else _STOPPING_RULE))
        refinement = refine(update, over(blocks, **passes), steps, until=until)
    counts = update.counts.sum(axis=0)
    return refinement.values[0], update.alpha, counts / counts.sum(), refinement


def _search_rows(blocks: Blocks, n_entries: float, n_candidates: int) -> Any:
    """Return the documents that a search reads."""
    share = min(1.0, _MAX_SEARCH_WORK / (n_entries * n_candidates))
    return blocks.some_rows(int(share * blocks.n_rows))[0]


def _search(candidates: np.ndarray, n_topics: int, documents: DocumentSet, table: sparse.csr_array) -> SweepUpdate:
    """Sweep with more topics than asked for, and join the most similar ones in waves."""
    frequencies, blocks = documents.order.arrange(_smooth_frequencies(documents.frequencies)), Blocks.from_array(table)
    with allocate_shares(table.nnz, len(candidates), in_memory=True) as shares:
        softest = _SEARCH_WEIGHT * candidates + (1 - _SEARCH_WEIGHT) * frequencies
        prior = np.full(len(frequencies), _WORD_PRIOR)
        update = SweepUpdate(softest, np.full(len(candidates), _ALPHA), shares, blocks.n_rows, prior=prior)
        e_step: EStep = over(blocks, documents.n_jobs, documents.progress)
        refine(update, e_step, _SEARCH_SWEEPS)
        for n_left in np.linspace(len(candidates), n_topics, _JOINING_WAVES + 1).round().astype(int)[1:]:
            update.join(int(n_left))
            refine(update, e_step, _SWEEPS_PER_WAVE)
    return update


def _stopping_rule(update: SweepUpdate, max_gain: float, n_calm: int, min_sweeps: int) -> Callable[[], bool]:
    """Return a function that tests whether the last sweeps gained a negligible amount."""

    def converged() -> bool:
        values = np.array(update.log_likelihood[-n_calm - 1 :])
        return update.n_sweeps >= min_sweeps and bool((np.abs(np.diff(values)) < max_gain * abs(values[-1])).all())

    return converged


def completion_scores(
    topics: np.ndarray, dirichlet: np.ndarray, frequencies: np.ndarray, counts: sparse.csr_array
) -> np.ndarray:
    """Return the log-likelihood of one half of the words of documents given the other half, shape (n,)."""
    observed, hidden = split_tokens(counts)
    topics = smooth_topics(topics, frequencies, SMOOTHING)
    logs = hidden.copy()
    logs.data = hidden.data * np.log(token_probabilities(hidden, topics, fold_in(observed, topics, dirichlet)))
    return np.asarray(logs.sum(axis=1)).ravel()


def smooth_topics(topics: np.ndarray, word_frequencies: np.ndarray, weight: float) -> np.ndarray:
    """Mix topics with the word frequencies, and these with a small uniform part, so that every word is possible."""
    return (1 - weight) * topics + weight * _smooth_frequencies(word_frequencies)


def round_topics(topics: np.ndarray) -> np.ndarray:
    """Round topics to six binary digits."""
    digits, exponents = np.frexp(topics)
    return np.asarray(np.ldexp(np.rint(digits * 64) / 64, exponents))


def _smooth_frequencies(word_frequencies: np.ndarray) -> np.ndarray:
    return 0.999 * word_frequencies + 0.001 / len(word_frequencies)
