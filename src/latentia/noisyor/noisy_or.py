"""Noisy-or networks: independent hidden causes, and binary findings that each of them may switch on.

Model. Causes d_k are on with probability rho_k, independently, and with F_ki = 1 - exp(-W_ki)

    P(finding i absent | d) = (1 - leak_i) exp(-sum_k W_ki d_k):

a cause that is on switches finding i on with probability F_ki, whatever the others do.

Source: S. Arora, R. Ge, T. Ma, A. Risteski, Provable learning of noisy-or networks, STOC 2017.
"""

from __future__ import annotations

import numbers
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._validation import check_splits, check_whole, seed_of, table_blocks
from ..evidence import EVERYONE, HALVES, Evidence, errors_from_groups
from ..exceptions import LatentiaError, LatentiaWarning
from ..moments import AbsenceMoments, CountedAbsences, PackedRows, binary_rows, noisy_or_rows
from ..passes import Blocks, MappedBlocks, accumulate, row_groups
from ._bif import write_bif
from ._em import NoisyOrUpdate, configurations, left_out
from ._evidence import MOST_LEFT_OUT, MOST_PRIOR, Measured, noisy_or_checks
from ._learners import InRounds, Learner, Printed, Spectrum, most_causes, pair_spectrum, relative_distances
from ._posterior import SAMPLING, Network, Posteriors, evidence_for, posteriors
from ._recovery import LEAST_ODDS, random_partitions

__all__ = ["Diagnosis", "Edge", "NoisyOr"]

_MIN_ROWS = 100
_MOST_ERROR = 2.0


class Edge(NamedTuple):
    """A cause, a finding, the probability that the cause switches the finding on, and -log of its complement."""

    cause: str
    finding: str
    strength: float
    weight: float


@dataclass(frozen=True)
class Diagnosis:
    """What the findings of one row say.

    Attributes
    ----------
    probabilities : ndarray of shape (m,)
        Posterior of each cause.
    error : float
        Accuracy of the probabilities: rounding if ``exact``, otherwise a standard error.
    exact : bool
        Whether they come from a sum over all that may be, not from sampling.
    evidence : ndarray of shape (m, n)
        How much each finding speaks for each cause, in nats: by how much the logarithm of the odds would fall if
        it were not known whether the finding is present.
    log_likelihood : float
        log P(row) in nats.
    """

    probabilities: np.ndarray
    error: float
    exact: bool
    evidence: np.ndarray
    log_likelihood: float


class NoisyOr(TransformerMixin, ClassNamePrefixFeaturesOutMixin, BaseEstimator):
    """Noisy-or network by decomposition of absences: one pass over the data, deterministic, no random restarts.

    When to choose it: binary findings of which several causes at a time may be responsible, none of them observed, each
    making findings more probable and none less (symptoms and diseases, faults and alarms, words and the things spoken of). For
    groups that exclude each other see `latentia.mixtures`. Every cause must be absent often: the method lives on findings
    that are absent together.

    Parameters
    ----------
    n_components : int, optional
        Number of causes m. By default the smallest number whose moments leave no more of PMI than larger ones do.
    prior : float, optional
        P(cause on), the same for all; by default each is estimated.
    n_partitions : int, default=5
        Random partitions of the findings in three sets, as in the paper. The network is learned from all triples of
        findings; what it would be from those that one partition splits is compared with it, for the evidence.
    corrections : int, default=2
        Rounds in which moments of higher order, computed from the network so far, are taken off. With
        ``n_partitions=1, corrections=0`` the algorithm is that of the paper, as printed.
    refine : int, default=0
        EM passes over the data, started from the moments. Outside the theorem.
    max_weight : float, default=5.0
        nu_u, the largest weight: a strength of 1 - exp(-5) = .993.
    max_triples : int, default=150_000_000
        Triples of findings to count; with more than 965 findings, those of a random sample that keeps to it. The weights
        of the other findings are learned from pairs.
    n_splits : int, default=3
        Random splits into halves, at most 3, whose fits give the error bars; they cost no pass over the data, but with
        ``refine`` one is made and costs as much as refining itself. 0 gives up the error bars.
    random_state : int, default=0
        Seed of partitions and splits; None or a RandomState draws one.
    n_jobs : int, optional
        Threads; the result has the same bits for any number.
    verbose : bool, default=False
        Show progress and the time that remains.

    Attributes
    ----------
    weights_ : ndarray of shape (m, n)
        W; the most frequent cause first.
    strengths_ : ndarray of shape (m, n)
        F = 1 - exp(-W): probability that the cause alone switches the finding on.
    priors_ : ndarray of shape (m,)
        rho, how often each cause is on.
    prior_errors_ : ndarray of shape (m,) or None
        Expected errors of ``priors_``, from fits on halves of the data.
    leak_ : ndarray of shape (n,)
        P(finding present | no cause on).
    spectrum_ : ndarray
        Leading eigenvalues of PMI2 between scaled findings, the largest first.
    noise_ : float
        The largest eigenvalue that noise alone would have.
    evidence_ : Evidence
        Checks of the assumptions, and the expected error of each cause, |W_k - W'_k|_2 / |W_k|_2.
    n_passes_ : int
        Passes over the data: one, and one a step of ``refine``. Error bars of refined networks take as many again.

    Notes
    -----
    Differences from the paper, but for the last three none with ``n_partitions=1, corrections=0``:

    1. The factor of PMI2 is fitted to all pairs at once, with an unknown diagonal, where Algorithm 4 whitens three sets of
       findings by products of blocks. All triples of distinct findings then have one symmetric core in its coordinates,
       fitted by least squares, where the paper takes the triples of one partition. On exact moments the error halves
       (.045 for .085 at n = 60), no set needs to carry rank m, and a cause of three findings, which a partition
       splits with probability 2/9, is not missed. Counting all triples costs as much as 4.5 partitions.
    2. Findings are scaled by sqrt P(absent), which makes the noise of their moments alike.
    3. Moments of higher order are subtracted and the decomposition is repeated (``corrections``).
    4. Triples are decomposed by polar iteration, which needs no threshold zeta; Algorithm 2 is used as printed.
    5. Unless given, priors are estimated, from the eigenvalues of the whitened tensor.
    6. A leak cancels in both moments and is estimated afterwards, from single findings.
    7. Half a row is added to every count.

    References
    ----------
    S. Arora, R. Ge, T. Ma, A. Risteski, Provable learning of noisy-or networks, STOC 2017, Algorithms 1 to 4.

    Examples
    --------
    >>> from latentia.datasets import planted
    >>> from latentia.noisyor import NoisyOr
    >>> data = planted.noisy_or_network(60, 10, leak=0.02).sample(20_000)
    >>> model = NoisyOr(10).fit(data.X)
    >>> model.weights_.shape
    (10, 60)
    >>> model.predict_proba(data.X[:3]).shape
    (3, 10)
    """

    _compared = ("weights_",)
    _seed: int

    def __init__(
        self,
        n_components: int | None = None,
        *,
        prior: float | None = None,
        n_partitions: int = 5,
        corrections: int = 2,
        refine: int = 0,
        max_weight: float = 5.0,
        max_triples: int = 150_000_000,
        n_splits: int = 3,
        random_state: int = 0,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.prior = prior
        self.n_partitions = n_partitions
        self.corrections = corrections
        self.refine = refine
        self.max_weight = max_weight
        self.max_triples = max_triples
        self.n_splits = n_splits
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # --- fitting ------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> NoisyOr:
        """Learn the network.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n), DataFrame or Blocks
            1 or True where a finding is present, 0 where it is absent.
        y : ignored

        Returns
        -------
        self
        """
        self._check_parameters()
        blocks = self._read(X, reset=True)
        if blocks.n_rows < _MIN_ROWS:
            raise LatentiaError(
                f"{blocks.n_rows} rows: joint absences of triples need at least {_MIN_ROWS}, and thousands to be of use."
            )
        # One pass packs the rows into bits, in four groups; all counts are taken from them.
        packing = PackedRows(
            self.n_features_in_, lambda block: row_groups(block.rows, 4, self._seed), self._column_names
        )
        packed = accumulate(blocks, packing, self.n_jobs, progress=self.verbose and "reading")
        everything = CountedAbsences(packed, np.arange(self.n_features_in_), self.n_jobs)
        used = self._usable(everything)
        if used.sum() < 3:
            raise LatentiaError(
                f"{int(used.sum())} of {len(used)} findings differ from row to row and from each other, and a cause shows in "
                "three or more: there is nothing to learn."
            )
        source = everything if used.all() else CountedAbsences(packed, np.flatnonzero(used), self.n_jobs)
        del packed
        self.n_passes_ = 1 + self.refine
        frequency = everything.present.sum(axis=0) / everything.n_rows.sum()
        return self._learn(source, used, frequency, blocks)

    def fit_moments(self, moments: AbsenceMoments) -> NoisyOr:
        """Learn the network from exact moments, such as `latentia.moments.ExactAbsences`, without error bars.

        ``n_components`` must be given.
        """
        self._check_parameters()
        if self.n_components is None or self.refine:
            raise LatentiaError(
                "Exact moments need n_components, and have no rows to refine on: set n_components, refine=0."
            )
        if not all(hasattr(moments, name) for name in ("n_features", "logs", "all_triples")):
            raise LatentiaError(
                f"moments is a {type(moments).__name__}: take latentia.moments.ExactAbsences; rows go to fit."
            )
        self.n_features_in_, self._column_names, self.n_passes_ = moments.n_features, None, 0
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        used = np.ones(moments.n_features, bool)
        return self._learn(moments, used, -np.expm1(moments.logs(EVERYONE).single), None)

    def _learn(self, source: AbsenceMoments, used: np.ndarray, frequency: np.ndarray, blocks: Blocks | None) -> NoisyOr:
        n_splits = 0 if blocks is None else self.n_splits
        halves = () if blocks is None else HALVES[0]
        learner = self._learner(source, halves, n_splits)
        rows = None if blocks is None else _some_columns(blocks, used)
        network = self._refined(learner.network(EVERYONE), rows)
        part_priors: list[np.ndarray] = []
        left_out = self._left_out(learner.network(EVERYONE)) if rows is not None and self.refine else None

        def fit(groups: tuple[int, ...]) -> Network:
            some = rows.group(frozenset(groups), 4, self._seed) if rows is not None and self.refine else rows
            return self._refined(learner.network(groups), some)

        def distance(other: Network) -> np.ndarray:
            apart = relative_distances(network.weights, other.weights)
            part_priors.append(other.priors[apart.argmin(axis=1)])
            return apart.min(axis=1)

        cheap = not self.refine and not self._as_printed
        parts = errors_from_groups(fit, distance, n_splits, cheap=cheap, most=_MOST_ERROR)
        if parts.errors is not None:
            parts = replace(parts, errors=_with_systematic(parts.errors, network, learner, self.refine))
        spectrum = pair_spectrum(source, network, halves)
        self._finish(network, used, frequency, spectrum, part_priors)
        measured = Measured(network, learner, spectrum, source, parts, int((~used).sum()), left_out)
        self.evidence_ = Evidence(noisy_or_checks(measured), parts.errors).bind(self)
        return self

    def _learner(self, source: AbsenceMoments, halves: Sequence[tuple[int, ...]], n_splits: int) -> Learner:
        n, k = source.n_features, self.n_components
        if n < 3 * (k or 1):
            raise LatentiaError(
                f"{n} findings that vary and n_components={k or 1}: three sets of findings must tell the causes apart, so at "
                f"least three findings a cause are needed. Use at most n_components={max(n // 3, 1)}."
            )
        # Beyond max_triples, those of a random sample of the findings are counted.
        size = int((6 * self.max_triples) ** (1 / 3))
        findings = np.arange(n) if n <= size else np.sort(np.random.default_rng(self._seed).permutation(n)[:size])
        partitions = random_partitions(findings, self.n_partitions, self._seed)
        most = most_causes(source, self._seed, halves) if k is None else k
        rounds = {"prior": self.prior, "corrections": self.corrections, "max_weight": self.max_weight}
        if not self._as_printed:
            selections = _selections(n_splits)
            return InRounds(source, findings, partitions, k, most, selections, rounds, self.verbose)
        if k is None:
            k = len(InRounds(source, findings, [], None, most, [EVERYONE], rounds).network(EVERYONE).priors)
        options = {"prior": self.prior, "max_weight": self.max_weight, "seed": self._seed}
        return Printed(source, partitions[0], k, self.verbose, **options)

    def _left_out(self, network: Network) -> float:
        """Share of the rows that EM has no configuration for; a warning says so."""
        share = left_out(network.priors, configurations(len(network.priors)))
        if share > MOST_LEFT_OUT:
            warnings.warn(
                f"refine={self.refine}: in {share:.0%} of the rows more causes are on than EM can try for "
                f"{len(network.priors)} causes, which biases it. Use refine=0.",
                LatentiaWarning, stacklevel=5,
            )  # fmt: skip
        return share

    def _refined(self, network: Network, rows: Blocks | None) -> Network:
        """After the EM passes."""
        if not self.refine or rows is None:
            return network
        table = configurations(len(network.priors))
        for step in range(self.refine):
            update = NoisyOrUpdate(network, table, self.prior is not None, self.max_weight)
            label = self.verbose and f"refining {step + 1} of {self.refine}"
            network = update.updated(accumulate(rows, update, self.n_jobs, progress=label))
        order = np.argsort(-network.priors, kind="stable")
        return Network(network.weights[order], network.priors[order], network.leak)

    def _finish(
        self,
        network: Network,
        used: np.ndarray,
        frequency: np.ndarray,
        spectrum: Spectrum,
        part_priors: list[np.ndarray],
    ) -> None:
        """The attributes; findings that were left out are due to their leak alone."""
        self.weights_ = np.zeros((len(network.priors), len(used)))
        self.weights_[:, used] = network.weights
        self.leak_ = np.where(used, 0.0, frequency)
        self.leak_[used] = network.leak
        self.strengths_, self.priors_ = -np.expm1(-self.weights_), network.priors
        halves = np.array(part_priors[: 2 * self.n_splits])
        self.prior_errors_ = np.abs(halves - self.priors_).mean(axis=0) if len(halves) and self.prior is None else None
        self.spectrum_, self.noise_ = spectrum.values[: 3 * len(network.priors) + 10], spectrum.noise
        if spectrum.noise and spectrum.rank < len(network.priors):
            warnings.warn(
                f"n_components={len(network.priors)}, and pairs of findings show {spectrum.rank} directions beside noise: "
                "causes beyond that number may be invented. Lower n_components or use more rows.",
                LatentiaWarning, stacklevel=4,
            )  # fmt: skip

    def _read(self, X: Any, reset: bool) -> Blocks:
        return table_blocks(self, X, reset=reset, what="findings", dtype="numeric")

    def _usable(self, counts: CountedAbsences) -> np.ndarray:
        """Findings that are neither never nor always present; a warning names the others."""
        present, n = counts.present.sum(axis=0), counts.n_rows.sum()
        used = (present > 0) & (present < n)
        if not used.all():
            names = self._finding_names()
            listed = ", ".join(repr(names[i]) for i in np.flatnonzero(~used)[:5])
            warnings.warn(
                f"{int((~used).sum())} findings are present in no row or in all of them and tell nothing of causes: {listed}"
                f"{', ...' if (~used).sum() > 5 else ''}. They get no weights, and their frequency as leak.",
                LatentiaWarning, stacklevel=3,
            )  # fmt: skip
        copied = _copies(counts, used)
        if copied.any():
            names = self._finding_names()
            listed = ", ".join(repr(names[i]) for i in np.flatnonzero(copied)[:5])
            warnings.warn(
                f"{int(copied.sum())} findings are present in the very rows of another one before them: {listed}"
                f"{', ...' if copied.sum() > 5 else ''}. A copy is no finding of its own: it gets no weights, and its "
                "frequency as leak.",
                LatentiaWarning, stacklevel=3,
            )  # fmt: skip
        return used & ~copied

    def _distances(self, other: NoisyOr) -> np.ndarray:
        return np.minimum(relative_distances(self.weights_, other.weights_).min(axis=1), _MOST_ERROR)

    # --- use ----------------------------------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> np.ndarray:
        """P(cause on | row), shape (n_rows, m): `posterior` without its accuracy."""
        return self.posterior(X).probabilities

    def transform(self, X: Any) -> np.ndarray:
        """The same as `predict_proba`."""
        return self.predict_proba(X)

    def posterior(self, X: Any) -> Posteriors:
        """Posterior of every cause for every row, how it was found, and how accurate it is.

        Up to 14 causes all 2^m configurations are summed. With more, rows with at most 14 findings present, and 16 where
        memory allows, are summed over subsets of these, and others are sampled until the standard error is near .01.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n)
            1 present, 0 absent; NaN where it is not known, which is not the same as absent.

        Returns
        -------
        Posteriors
            ``probabilities`` (n_rows, m), ``log_likelihood``, ``method`` and ``error`` (n_rows,).
        """
        present, observed = self._findings(X)
        return posteriors(self._network, present, observed, random_state=self._seed, n_jobs=self.n_jobs)

    def explain(self, x: Any) -> Diagnosis:
        """Posterior of one row, and which of its findings speak for each cause.

        Parameters
        ----------
        x : array-like of shape (n,) or (1, n)
            As a row of `posterior`.
        """
        row = x if sparse.issparse(x) or hasattr(x, "columns") else np.atleast_2d(np.asarray(x))
        present, observed = self._findings(row)
        if len(present) != 1:
            raise LatentiaError(f"x has {len(present)} rows: one row is explained at a time.")
        options: dict[str, Any] = {"random_state": self._seed, "n_jobs": self.n_jobs}
        found = posteriors(self._network, present, observed, **options)
        evidence = evidence_for(self._network, present[0], None if observed is None else observed[0], **options)
        exact, log_likelihood = bool(found.method[0] != SAMPLING), float(found.log_likelihood[0])
        return Diagnosis(found.probabilities[0], float(found.error[0]), exact, evidence, log_likelihood)

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-likelihood of a row, in nats; of rows that are sampled, a lower bound. Higher is better."""
        return float(self.posterior(X).log_likelihood.mean())

    def sample(self, n_rows: int = 1, random_state: Any = 0) -> tuple[np.ndarray, np.ndarray]:
        """Rows of the network, bool (n_rows, n), and the causes that are on in them, bool (n_rows, m)."""
        check_is_fitted(self)
        if not isinstance(n_rows, numbers.Integral) or n_rows < 1:
            raise LatentiaError(f"n_rows={n_rows!r}: a whole number of at least 1 is needed.")
        rng = np.random.default_rng(seed_of(random_state))
        return noisy_or_rows(self.weights_, self.priors_, self.leak_, n_rows, rng)

    def graph(self, threshold: float = 0.05) -> list[Edge]:
        """Edges from causes to findings with a strength of at least ``threshold``, the strongest of each cause first."""
        check_is_fitted(self)
        if not 0 <= threshold <= 1:
            raise LatentiaError(f"threshold={threshold!r}: a strength from 0 to 1 is needed.")
        causes, findings = self._cause_names(), self._finding_names()
        edges = []
        for k, row in enumerate(self.strengths_):
            order = np.argsort(-row, kind="stable")
            order = order[(row[order] >= threshold) & (row[order] > 0)]
            edges += [Edge(causes[k], findings[i], float(row[i]), float(self.weights_[k, i])) for i in order]
        return edges

    def write_bif(self, path: str | os.PathLike[str], threshold: float = 0.05) -> None:
        """Write the network as a Bayes net in BIF, which pgmpy and others read; weaker edges than ``threshold`` are left out.

        A finding's table has 2^parents columns; with more than 12 parents there is an error.
        """
        check_is_fitted(self)
        write_bif(path, self._network, self._cause_names(), self._finding_names(), threshold)

    # --- helpers ------------------------------------------------------------------------------------------------

    @property
    def _network(self) -> Network:
        check_is_fitted(self)
        return Network(self.weights_, self.priors_, self.leak_)

    @property
    def _n_features_out(self) -> int:
        return len(self.priors_)

    @property
    def _as_printed(self) -> bool:
        return self.n_partitions == 1 and self.corrections == 0

    def _cause_names(self) -> list[str]:
        return [f"cause {k}" for k in range(len(self.priors_))]

    def _finding_names(self) -> list[str]:
        names = self._column_names
        return [f"finding {i}" for i in range(self.n_features_in_)] if names is None else [str(name) for name in names]

    def _findings(self, X: Any) -> tuple[np.ndarray, np.ndarray | None]:
        """Which findings are present, and which are known (None: all), both bool (n_rows, n)."""
        check_is_fitted(self)
        observed = None
        if isinstance(X, Blocks):
            if X.names is not None and self._column_names is not None and list(X.names) != list(self._column_names):
                raise LatentiaError(
                    "The blocks have other columns, or in another order, than those that fit was given."
                )
        elif not sparse.issparse(X):
            known = _known(X)
            if not known.all():
                observed = known
                X = X.where(known, 0) if hasattr(X, "columns") else np.where(known, np.asarray(X, dtype=float), 0.0)
        tables = [binary_rows(block[0], block.rows, self._column_names) for block in self._read(X, reset=False)]
        return np.vstack(tables), observed

    def _check_parameters(self) -> None:
        check_whole(self, n_partitions=1, corrections=0, refine=0, max_triples=1000)
        if self.n_components is not None:
            check_whole(self, n_components=1)
        if self.prior is not None and not (isinstance(self.prior, numbers.Real) and 0 < self.prior < 1):
            raise LatentiaError(
                f"prior={self.prior!r}: a probability between 0 and 1 is needed, or None to estimate it."
            )
        if not (isinstance(self.max_weight, numbers.Real) and 0 < self.max_weight < np.inf):
            raise LatentiaError(f"max_weight={self.max_weight!r}: a positive number is needed.")
        check_splits(self, "rows")
        self._seed = seed_of(self.random_state)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _known(X: Any) -> np.ndarray:
    """Which cells have a value, bool (n_rows, n)."""
    if hasattr(X, "isna"):
        return ~np.asarray(X.isna(), dtype=bool)
    try:
        return ~np.isnan(np.asarray(X, dtype=float))
    except (TypeError, ValueError) as error:
        raise LatentiaError(f"The findings must be 0, 1 or NaN ({error}).") from error


def _copies(counts: CountedAbsences, used: np.ndarray) -> np.ndarray:
    """Findings that are present in just the rows of an earlier one."""
    together, present = counts.together.sum(axis=0), counts.present.sum(axis=0)
    same = (together == present[:, None]) & (together == present) & used[:, None] & used
    return np.triu(same, 1).any(axis=0)


def _with_systematic(errors: np.ndarray, network: Network, learner: Learner, refine: int) -> np.ndarray:
    """Errors by parts of the rows, with what these share: corrections not made, and causes that are on too often."""
    if learner.remaining is not None and not refine:
        errors = np.minimum(np.hypot(errors, learner.remaining), _MOST_ERROR)
    odds = network.priors / np.maximum(1 - network.priors, np.finfo(float).tiny)
    stuck = (odds <= LEAST_ODDS * (1 + 1e-6)) | (network.priors > MOST_PRIOR)
    return np.where(stuck, _MOST_ERROR, errors)


def _selections(n_splits: int) -> list[tuple[int, ...]]:
    """All rows, the halves of the splits, and three quarters."""
    if not n_splits:
        return [EVERYONE]
    halves = [half for split in HALVES[:n_splits] for half in split]
    return [EVERYONE, *halves, *(tuple(i for i in EVERYONE if i != g) for g in EVERYONE)]


def _some_columns(blocks: Blocks, used: np.ndarray) -> Blocks:
    if used.all():
        return blocks
    columns = np.flatnonzero(used)
    return MappedBlocks(blocks, lambda block: [block[0][:, columns]], [(blocks.n_rows, len(columns))])
