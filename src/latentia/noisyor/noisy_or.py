"""Noisy-or networks: independent hidden causes, and binary findings that each of them may switch on.

Model. Causes d_k are on with probability rho_k, independently, and with F_ki = 1 - exp(-W_ki)

    P(finding i absent | d) = (1 - leak_i) exp(-sum_k W_ki d_k):

a cause that is on switches finding i on with probability F_ki, whatever the others do.

Source: S. Arora, R. Ge, T. Ma, A. Risteski, Provable learning of noisy-or networks, STOC 2017.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np

from .. import _fields as of
from .._parameters import Integer, NComponents, Number, OrNone, Seed, Sizes
from .._validation import table_blocks, weighted
from ..evidence import Check, ComponentView, Misfit, PartErrors, bounds, trivial_checks
from ..exceptions import LatentiaError, LatentiaWarning, warn
from ..fitting.additive import Additive
from ..fitting.base import fitting
from ..fitting.stages import Fitted, Subset
from ..likelihood import Refine, Refinement, over
from ..moments import CountSums
from ..passes import Blocks, Folds, accumulate, sample_rows
from ._em import MOST_CROWDED, RefinedNetwork, refined_network
from ._evidence import MOST_PRIOR, Measured, noisy_or_checks
from ._goodness import (
    Goodness,
    against_classes,
    against_independence,
    hardly_on,
    missing_by_chance,
    pairs_misfit,
    rows_goodness,
)
from ._growth import MOST_GROWN, likelier_start
from ._kept import KeptAbsences, kept_counts
from ._landmarks import Landmarks, causes_above_noise
from ._learners import (
    MOST_SOLVED,
    IterativeRecovery,
    Learner,
    Printed,
    Spectrum,
    most_causes,
    pair_spectrum,
    relative_distances,
)
from ._methods import NetworkMethods
from ._recovery import LEAST_ODDS, random_partitions
from .absences import AbsenceMoments, CountedAbsences, ObservedAbsences, PackedRows, absences_of_rows
from .baskets import basket_table, chosen_items, is_baskets
from .inference import Network

_SAMPLED_ROWS, _CROWDED_ROWS = 2000, 300  # on which a network is compared with independent findings
_DEVIATIONS = 2.0  # of the gain over independent findings that do not count
_MIN_ROWS = 100
_MOST_ERROR = 2.0
_OF_CLASSES = 10_000  # rows that classes are learned from
_LISTED = 5  # findings that a warning names

Groups = tuple[int, ...]


class NoisyOr(NetworkMethods, Additive):
    """Noisy-or network, fitted by decomposition of joint absences.

    The fit is deterministic, and gives an expected error for every cause. Moments take one pass over the data; by default EM
    follows, with some 15 more.

    Choose it for binary findings of which several causes at a time may be responsible, none of them observed, each making
    findings more probable and none less: symptoms and diseases, faults and alarms, words and the things spoken of. For
    mutually exclusive causes use `latentia.mixtures`. Every cause must be absent often: the method uses findings that are
    absent together.

    Parameters
    ----------
    n_components : int, range, list or "auto", optional
        Number of causes m. By default the one whose networks of halves of the rows predict pairs of findings in the
        other halves best (``n_components_range_``); of more than 60, as many as pairs of findings show directions above
        their noise. A range or list tries each value and keeps the one the evidence recommends; "auto" tries 2 to 100. See
        ``n_components_``, ``recommendation_`` and ``comparison_``. Each number costs a fit.
    prior : float, optional
        P(cause on), the same for all causes; by default each is estimated.
    n_partitions : int, default=5
        Number of random partitions of the findings into three sets, as in the paper. The network is learned from all
        triples of findings; what it would be from those that one partition splits is compared with it, for the evidence.
    corrections : int, default=2
        Number of rounds in which moments of higher order, computed from the network so far, are subtracted. With
        ``n_partitions=1, corrections=0`` the algorithm is that of the paper, as printed.
    refine : int or "auto", default="auto"
        EM from the moments, over each row's own likely configurations of causes. "auto" climbs the likelihood until further
        steps would gain next to nothing, leaves out links that the data does not support, and climbs on; it makes no EM where
        more than 30% of the rows have more likely configurations than are summed, nor for the algorithm as printed. A
        number is one of plain steps, each a pass over the data, which leave out no links. 0 keeps to the theorem.
    max_weight : float, default=5.0
        nu_u, the largest weight: a strength of 1 - exp(-5) = 0.993.
    min_df : int, default=5
        Of baskets: the least number of them that an item must be in.
    max_triples : int, default=150_000_000
        Number of triples of findings to count. With more than 965 findings the triples of a random sample of them are
        counted, and the weights of the other findings are learned from pairs. With more than 60 causes they are chosen, and
        at least two for every cause.
    n_splits : int, default=3
        Number of random splits into halves, at most 3, whose fits give the expected errors. They cost no pass over the
        data; with ``refine`` a single split is used, which costs up to twice as much as refining. With 0 no errors are
        measured.
    keep_moments : bool, default=False
        Whether to keep counts of all triples of findings, of at most 300, so that rows can be added (`partial_fit`), taken away
        (`forget`), and models merged (`latentia.merge`): 8 n^3 / 3 bytes and 40 n^2, 76 MB at most; of up to 20 findings all
        kinds of rows are counted, 2^(n + 3) bytes. No finding may be unknown. The answer is then the theorem's.
    random_state : int, default=0
        Seed of the partitions and splits. None or a RandomState draws a seed.
    n_jobs : int, optional
        Number of threads. Results are bitwise identical for any value.
    verbose : bool or int, default=False
        Whether to show progress and the remaining time.

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
    cause_names_ : list of m str
        What causes are called in `graph`, files and reports: what `name_causes` was given, else the one or two findings
        that say most of each cause, or "cause 0" and so on where findings have no names.
    n_components_ : int
        Number of causes, m.
    n_components_range_ : (int, int) or None
        Least and largest number of causes that predict held-out halves as well as the estimated one; None if
        ``n_components`` was given.
    spectrum_ : ndarray of shape (n_eigenvalues,)
        Leading eigenvalues of PMI2 between scaled findings, the largest first.
    noise_level_ : float
        The largest eigenvalue that noise alone would have.
    moments_ : Sums
        What is kept: ``moments_.n_bytes`` is its size, ``moments_.n_rows`` the number of rows.
    evidence_ : Evidence
        Checks of the assumptions, and the expected error of each cause, |W_k - W'_k|_2 / |W_k|_2 (``component_errors``).
    refinement_ : ndarray of shape (n_steps,)
        Log-likelihood of the data at each E-step of ``refine``, in nats.
    n_iter_ : int
        Number of steps of refinement.
    converged_ : bool
        Whether further steps would gain only a negligible amount; only ``refine="auto"`` looks at that.
    n_passes_ : int
        Number of passes over the data, those for the expected errors not counted: one, and one for each E-step of ``refine``.

    Notes
    -----
    Differences from the paper, but for those from 6 on none with ``n_partitions=1, corrections=0``:

    1. The factor of PMI2 is fitted to all pairs at once, with an unknown diagonal, where Algorithm 4 whitens three sets of
       findings by products of blocks. All triples of distinct findings then have one symmetric core in its coordinates,
       fitted by least squares, where the paper takes the triples of one partition. On exact moments the error halves
       (0.045 for 0.085 at n = 60), no set needs to carry rank m, and a cause of three findings, which a partition
       splits with probability 2/9, is not missed. Counting all triples costs as much as 4.5 partitions.
    2. Findings are scaled by sqrt P(absent), which makes the noise of their moments alike.
    3. Moments of higher order are subtracted and the decomposition is repeated (``corrections``).
    4. Triples are decomposed by polar iteration, which needs no threshold zeta; Algorithm 2 is used as printed.
    5. EM follows (``refine``). Of up to 10 causes it starts from a network that is grown cause by cause from the rows where
       that is clearly likelier than the one of the moments, as in data that no such network has made.
    6. Unless given, priors are estimated, from the eigenvalues of the whitened tensor.
    7. A leak cancels in both moments and is estimated afterwards, from single findings.
    8. Half a row is added to every count, and to the number of rows: logarithms of such shares have no bias of order 1 / N.
    9. Findings may be unknown in some rows. Joint absences are then shares of the rows in which all findings of a pair or
       triple are known, and EM sums unknown findings out.
    10. The number of causes is found from the data, where the paper knows it.
    11. With more than 60 causes, or more than a third of the findings, triples are those of landmarks, findings that pivoted QR
        chooses, and what is missing of their core, triples with a finding twice, is imputed from the network of the round
        before, not solved for: that would take 41 m^3 numbers and time that grows as m^4. Links below 0.05 are left out. Causes
        need no three sets of findings then: m may be up to about n - sqrt(2 n).
    12. Where independent findings are likelier than the network found, unless its prior is given, its causes are hardly ever on
        (a thousandth of their priors), so that it predicts as they do.

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

    _nouns = ("cause", "causes", "rows")
    _compared, _max_distance = ("weights_",), _MOST_ERROR
    _constraints: ClassVar = {
        "n_components": OrNone(Sizes()),
        "prior": OrNone(Number(0, 1)),
        "n_partitions": Integer(1),
        "corrections": Integer(0),
        "max_weight": Number(0, 30, "high"),
        "max_triples": Integer(1000),
        "min_df": Integer(1),
    }

    spectrum_: Annotated[np.ndarray, of.numbers("*")]
    noise_level_: Annotated[float, of.number(0.0)]
    prior_errors_: Annotated[np.ndarray | None, of.numbers("K", 0.0)]
    refinement_: Annotated[np.ndarray, of.numbers("*")]
    n_iter_: Annotated[int, of.count()]
    converged_: bool

    def __init__(
        self,
        n_components: NComponents | None = None,
        *,
        prior: float | None = None,
        n_partitions: int = 5,
        corrections: int = 2,
        refine: Refine = "auto",
        max_weight: float = 5.0,
        min_df: int = 5,
        max_triples: int = 150_000_000,
        n_splits: int = 3,
        keep_moments: bool = False,
        random_state: Seed = 0,
        n_jobs: int | None = None,
        verbose: int = False,
    ) -> None:
        self.n_components = n_components
        self.prior = prior
        self.n_partitions = n_partitions
        self.corrections = corrections
        self.refine = refine
        self.max_weight = max_weight
        self.min_df = min_df
        self.max_triples = max_triples
        self.n_splits = n_splits
        self.keep_moments = keep_moments
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # --- fitting ------------------------------------------------------------------------------------------------

    @fitting
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> NoisyOr:
        """Learn the network.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n), DataFrame, Blocks, or list of baskets
            1 or True where a finding is present, 0 where it is absent, NaN (in data frames also None or NA) where it is not
            known. Or for every row a list, tuple or set of the names of the items that are in it; items in fewer than
            ``min_df`` baskets are left out.
        y : ignored
        sample_weight : array-like of int, shape (n_rows,), optional
            How often each row is there.

        Returns
        -------
        self

        Raises
        ------
        LatentiaError
            If a parameter is out of its range, if X has others than 0 and 1 (and missing values), if there are more
            causes than pairs of findings can tell apart, or too few rows.
        """
        blocks = weighted(self._read(X), sample_weight)
        _check_rows(blocks.n_rows)
        self._check_number(blocks.shapes[0][1])
        return self._fit_stages(blocks)

    @fitting
    def fit_moments(self, moments: AbsenceMoments) -> NoisyOr:
        """Learn the network from exact moments, such as `latentia.noisyor.ExactAbsences`, without expected errors.

        ``n_components`` must be given, and there are no rows to ``refine`` on.

        Parameters
        ----------
        moments : AbsenceMoments
            Joint absences of pairs and triples.

        Returns
        -------
        self

        Raises
        ------
        LatentiaError
            Without ``n_components``.
        """
        if self.n_components is None:
            raise LatentiaError("exact moments need the number of causes.", parameter="n_components", value=None)
        if self.refine not in (0, "auto"):
            raise LatentiaError("exact moments have no rows to refine on.", parameter="refine", value=self.refine)
        if not all(hasattr(moments, name) for name in ("n_features", "logs", "all_triples")):
            raise LatentiaError(
                f"moments is a {type(moments).__name__}: take latentia.noisyor.ExactAbsences; rows go to fit."
            )
        self.n_features_in_, self._column_names = moments.n_features, None
        self._check_number(moments.n_features)
        folds, used = Folds(seed=self._seed), np.ones(moments.n_features, bool)
        frequency = -np.expm1(moments.logs(folds.all).single)
        return self._fit_stages(None, _Moments(moments, used, frequency, folds), folds)

    def _moments(self, rows: Blocks, folds: Folds) -> _Moments:
        """One pass packs the rows into bits, in four groups, and all counts are taken from them."""
        packing = PackedRows(self.n_features_in_, folds, self._column_names)
        packed = accumulate(rows, packing, self.n_jobs, progress=self.verbose and "reading")
        counts = absences_of_rows(packed, np.arange(self.n_features_in_), self.n_jobs)
        del packed
        return self._of_counts(counts, folds)

    def _sums(self, rows: Blocks, folds: Folds, like: Any) -> CountSums:
        """All triples of findings."""
        return kept_counts(rows, folds, self._column_names, self.n_jobs, self.verbose and "reading")

    def _moments_from_sums(self, sums: CountSums) -> _Moments:
        """The same as of rows."""
        _check_rows(sums.n_rows)
        return self._of_counts(KeptAbsences(sums, self.n_jobs), Folds(seed=self._seed))

    def _of_counts(self, counts: CountedAbsences | ObservedAbsences, folds: Folds) -> _Moments:
        used = _usable(counts, self._finding_names())
        source = counts if used.all() else counts.of(np.flatnonzero(used))
        return _Moments(source, used, counts.frequency, folds)

    def _recover(self, moments: _Moments, subset: Subset, full_fit: _Recovered | None) -> _Recovered:
        """Algorithm 1: the factor of the pairs, and the triples' components in its coordinates."""
        learner = self._learner(moments) if full_fit is None else full_fit.learner
        return _Recovered(learner, learner.network(subset.groups))

    def _refine(
        self, recovered: _Recovered | RefinedNetwork, moments: _Moments, subset: Subset, full_fit: RefinedNetwork | None
    ) -> RefinedNetwork:
        """EM on the rows; of parts where it could be made on all rows."""
        steps = 0 if full_fit is not None and full_fit.refused else self._steps(moments)
        if not steps:
            return RefinedNetwork(recovered.network, Refinement.no_steps())
        rows = over(moments.of_used(subset.rows), self.n_jobs, self.verbose)
        options: dict[str, Any] = {"fixed_prior": self.prior is not None, "max_weight": self.max_weight}
        start, is_grown = recovered.network, False
        if steps == "auto" and start.m <= MOST_GROWN and (full_fit is None or full_fit.is_grown):
            (sample,) = sample_rows(moments.of_used(subset.rows), _SAMPLED_ROWS)
            start, is_grown = likelier_start(start, sample, self.prior, **options)
        refined = refined_network(start, rows, steps, MOST_CROWDED if full_fit is None else 1.0, **options)
        refined = replace(refined, is_grown=is_grown)
        return refined if full_fit is not None else self._likelier(refined, moments, subset)

    def _likelier(self, refined: RefinedNetwork, moments: _Moments, part: Subset) -> RefinedNetwork:
        """A network that is likelier than independent findings, which every one contains.

        Where rows have too many likely configurations for EM, and there are more than 60 causes, it is not known.
        """
        crowded = refined.refused
        if self.prior is not None or (crowded and refined.network.m > MOST_SOLVED):
            return refined
        (rows,) = sample_rows(moments.of_used(part.rows), _CROWDED_ROWS if crowded else _SAMPLED_ROWS)
        faded = hardly_on(refined.network, rows, moments.frequency[moments.used], part.rows.n_rows, crowded)
        return refined if faded is None else replace(refined, network=faded, before=refined.network)

    def _restart(self, model: RefinedNetwork, moments: _Moments, subset: Subset) -> RefinedNetwork | None:
        """A number of steps may not have settled: more are more likely.

        Of very many causes EM from those of all rows, lost ones among them, would end near them on a part as well.
        """
        own = not model.refused and self._steps(moments) == "auto" and model.network.m <= MOST_SOLVED
        return self._refine(model, moments, subset, model) if own else None

    def _distance(self, first: RefinedNetwork, second: RefinedNetwork, moments: Any) -> np.ndarray:
        return relative_distances(first.network.weights, second.network.weights).min(axis=1)

    def _component_view(self, fitted: Fitted) -> ComponentView:
        """Strengths of findings."""
        return ComponentView(self.strengths_, ordered=False)

    def _cost(self) -> Literal["free", "passes"]:
        return "passes" if self.refine or self._as_printed or len(self.priors_) > MOST_SOLVED else "free"

    def _checks(self, fitted: Fitted) -> tuple[list[Check], PartErrors]:
        """Errors by parts of the rows, and what all parts share; and whether rows are what the network says."""
        moments: _Moments = fitted.moments
        learner, refined, m = fitted.recovered.learner, fitted.model, fitted.model.network.m
        parts = fitted.errors(moments.splits(self.n_splits))
        if parts.errors is not None:
            parts = replace(parts, errors=_with_systematic(parts.errors, refined, learner))
        self.prior_errors_ = _prior_errors(fitted) if self.prior is None else None
        misfit, goodness, trivial, gaps = self._goodness(fitted)
        if goodness is not None:
            parts = parts.widen(np.full(m, goodness.bias), _MOST_ERROR)
        spectrum, n_unused = Spectrum(self.spectrum_, self.noise_level_), int((~moments.used).sum())
        measured = Measured(
            refined, learner, spectrum, moments.source, parts, n_unused, misfit, goodness, trivial, gaps
        )
        return noisy_or_checks(measured), parts

    def _set_fitted_attributes(self, fitted: Fitted) -> None:
        """The network; findings that were left out are due to their leak alone."""
        moments: _Moments = fitted.moments
        network, used = fitted.model.network, moments.used
        self.weights_ = np.zeros((network.m, len(used)))
        self.weights_[:, used] = network.weights
        self.leak_ = np.where(used, 0.0, moments.frequency)
        self.leak_[used] = network.leak
        self.strengths_, self.priors_ = -np.expm1(-self.weights_), network.priors
        self.n_components_, self.n_components_range_ = network.m, fitted.recovered.learner.likely
        self._given_names: dict[int, str] = {}
        self._set_refinement_attributes(fitted.model.refinement)
        self.n_passes_ = bool(moments.n_rows) + len(self.refinement_)
        if fitted.groups == fitted.folds.all:
            self._keep_spectrum(fitted)

    def _keep_spectrum(self, fitted: Fitted) -> None:
        moments, network = fitted.moments, fitted.model.network
        scale = fitted.recovered.learner.scale
        spectrum = pair_spectrum(moments.source, fitted.model.before or network, moments.folds, scale)
        self.spectrum_, self.noise_level_ = spectrum.values[: 3 * network.m + 10], spectrum.noise
        if spectrum.noise and spectrum.rank < network.m:
            _warn_of_rank(network.m, spectrum.rank)

    def _goodness(self, fitted: Fitted) -> tuple[Misfit | None, Goodness | None, list[Check], tuple[float, int] | None]:
        """Whether the network describes pairs of findings and some rows, and whether that of one half predicts the other."""
        moments: _Moments = fitted.moments
        (first, second), *_ = fitted.folds.splits
        half = fitted.cached_model(first)
        if half is None:
            return None, None, [], None
        network = fitted.model.network
        misfit = pairs_misfit(network, moments.source, moments.folds)
        if fitted.rows is None:
            return misfit, None, [], None
        (rows,) = sample_rows(moments.of_used(fitted.rows.group(second, fitted.folds)))
        of_causes, of_chance = against_independence(half.network, rows, moments.frequency[moments.used])
        trivial = trivial_checks(
            of_causes, of_chance,
            extra=0, n_rows=fitted.rows.n_rows, against="independent findings", deviations=_DEVIATIONS,
        )  # fmt: skip
        (train,) = sample_rows(moments.of_used(fitted.rows.group(first, fitted.folds)), _OF_CLASSES)
        trivial += against_classes(of_causes, rows, train, network.m, self._seed)
        return misfit, rows_goodness(network, rows, self._seed), trivial, missing_by_chance(rows)

    def _steps(self, moments: _Moments) -> Refine:
        """Steps of EM: none without rows, nor, unless they are asked for, by the algorithm as printed."""
        return 0 if self.refine == "auto" and (not moments.n_rows or self._as_printed) else self.refine

    def _check_number(self, n: int) -> None:
        """Raise where so many findings cannot tell the causes apart that are asked for."""
        most = max(n // 3, 1) if self._as_printed else bounds.noisy_or_causes(n)
        if (self.n_components or 1) > most:
            why = (
                "three sets of findings must do so, and each of them needs a finding for every cause"
                if self._as_printed
                else "more would have more strengths than there are pairs of findings"
            )
            raise LatentiaError(
                f"{n} findings can separate at most {most} causes: {why}.",
                at_most=most, parameter="n_components", value=self.n_components,
            )  # fmt: skip

    def _learner(self, moments: _Moments) -> Learner:
        source, folds, n = moments.source, moments.folds, moments.source.n_features
        self._check_number(n)
        # Beyond max_triples, those of some of the findings are counted.
        size = int((6 * self.max_triples) ** (1 / 3))
        findings = np.arange(n) if n <= size else np.sort(np.random.default_rng(self._seed).permutation(n)[:size])
        partitions = random_partitions(findings, self.n_partitions, self._seed)
        k, most, likely = self._numbers(source, folds, size)
        rounds = {"prior": self.prior, "corrections": self.corrections, "max_weight": self.max_weight}
        if not self._as_printed:
            many = (k or 0) > min(MOST_SOLVED, n // 3)
            selections = _selections(folds, moments.splits(self.n_splits), many or bool(self._steps(moments)))
            if k is not None and many:
                return Landmarks(source, k, selections, size, rounds, likely, self.verbose)
            return IterativeRecovery(source, findings, partitions, k, most, selections, folds, rounds, self.verbose)
        if k is None:
            found = IterativeRecovery(source, findings, [], None, most, [folds.all], folds, rounds)
            k, likely = len(found.network(folds.all).priors), found.likely
        options = {"prior": self.prior, "max_weight": self.max_weight, "seed": self._seed}
        return Printed(source, partitions[0], k, likely, self.verbose, **options)

    def _numbers(
        self, source: AbsenceMoments, folds: Folds, size: int
    ) -> tuple[int | None, int, tuple[int, int] | None]:
        """The number of causes, if it is known, the most that are worth trying, and numbers as likely.

        More of them than can be tried are those that pairs show above their noise.
        """
        k, n = self.n_components, source.n_features
        if k is not None:
            return k, k, None
        solved = min(MOST_SOLVED, n // 3)
        most = most_causes(source, folds) if n <= size else solved
        if most < MOST_SOLVED or self._as_printed:
            return None, most, None
        k, likely = causes_above_noise(source, folds)
        return (k, k, likely) if k > solved or n <= size else (None, min(k + 2, solved), None)

    def _read(self, X: Any, *, reset: bool = True) -> Blocks:
        if not isinstance(X, Blocks) and is_baskets(X):
            if not reset and self._column_names is None:
                raise LatentiaError(
                    "The model was fitted on findings without names: give rows of 0 and 1, not lists of items."
                )
            items = chosen_items(X, self.min_df) if reset else [str(name) for name in self._column_names]
            X = Blocks.from_array(basket_table(X, items), names=items)
        return table_blocks(self, _with_nan(X), reset=reset, column_noun="findings", dtype="numeric", missing=True)

    def _distances(self, other: NoisyOr) -> np.ndarray:
        return np.minimum(relative_distances(self.weights_, other.weights_).min(axis=1), _MOST_ERROR)

    # --- use ----------------------------------------------------------------------------------------------------

    # --- helpers ------------------------------------------------------------------------------------------------

    @property
    def _as_printed(self) -> bool:
        return self.n_partitions == 1 and self.corrections == 0


# --- what a network is learned from -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Moments:
    """Joint absences of the findings that are used.

    Attributes
    ----------
    source : AbsenceMoments
    used : ndarray of bool, shape (n,)
    frequency : ndarray of shape (n,)
        P(finding present).
    folds : Folds
    """

    source: AbsenceMoments
    used: np.ndarray
    frequency: np.ndarray
    folds: Folds

    @property
    def n_rows(self) -> int:
        """Rows that were counted, none of exact moments."""
        return round(self.source.n_rows.sum()) if isinstance(self.source, CountedAbsences | ObservedAbsences) else 0

    def splits(self, asked: int) -> int:
        return asked if self.n_rows else 0

    def of_used(self, blocks: Blocks) -> Blocks:
        """Rows of these findings."""
        if self.used.all():
            return blocks
        columns = np.flatnonzero(self.used)
        return blocks.map(lambda block: [block[0][:, columns]], [(blocks.n_rows, len(columns))])


class _Recovered(NamedTuple):
    """The network of the moments of some rows, and what has learned it."""

    learner: Learner
    network: Network


def _usable(counts: CountedAbsences | ObservedAbsences, names: list[str]) -> np.ndarray:
    """Findings to learn from, bool (n,): they vary, and are no copies; a warning names the others."""
    varying = counts.varying()
    if not varying.all():
        warn(
            f"{int((~varying).sum())} findings are present in no row or in all of them and say nothing about causes: "
            f"{_listed(~varying, names)}. They get no weights, and their frequency as leak.",
            LatentiaWarning,
        )
    copied = counts.copies(varying)
    if copied.any():
        warn(
            f"{int(copied.sum())} findings are present in the very rows of another one before them: {_listed(copied, names)}"
            ". A copy is no finding of its own: it gets no weights, and its frequency as leak.",
            LatentiaWarning,
        )
    used = varying & ~copied
    if used.sum() < 3:
        raise LatentiaError(
            f"{int(used.sum())} of {len(used)} findings differ from row to row and from each other, and a cause shows in "
            "three or more: there is nothing to learn."
        )
    return used


def _listed(chosen: np.ndarray, names: list[str]) -> str:
    """Names of the first chosen findings."""
    numbers = np.flatnonzero(chosen)
    return ", ".join(repr(names[i]) for i in numbers[:_LISTED]) + (", ..." if len(numbers) > _LISTED else "")


def _check_rows(n: int) -> None:
    if n < _MIN_ROWS:
        raise LatentiaError(
            f"{n} rows: joint absences of triples need at least {_MIN_ROWS}, and thousands to be of use."
        )


def _warn_of_rank(m: int, rank: int) -> None:
    warn(
        f"{m} causes, and pairs of findings show {rank} directions beside noise: causes beyond that number may be invented. "
        "Ask for fewer causes or use more rows.",
        LatentiaWarning,
    )


def _with_nan(X: Any) -> Any:
    """Data frames with gaps as floats with NaN; anything else as it is."""
    if not (hasattr(X, "isna") and hasattr(X, "astype")):
        return X
    gaps = X.isna()
    try:
        return X.astype(object).where(~gaps, np.nan).astype(float) if np.asarray(gaps, dtype=bool).any() else X
    except (TypeError, ValueError, OverflowError):  # what is no number is looked for where tables are checked
        return X


# --- errors -------------------------------------------------------------------------------------------------------


def _selections(folds: Folds, n_splits: int, refined: bool) -> list[Groups]:
    """All rows, and the parts that fits will ask for: of refined fits, the halves of one split."""
    if not n_splits:
        return [folds.all]
    halves = [half for split in folds.splits[: 1 if refined else n_splits] for half in split]
    quarters = [] if refined else [tuple(i for i in folds.all if i != g) for g in folds.all]
    return [folds.all, *halves, *quarters]


def _with_systematic(errors: np.ndarray, refined: RefinedNetwork, learner: Learner) -> np.ndarray:
    """Errors by parts of the rows, with what these share: corrections not made, causes without findings or on too often."""
    if learner.remaining is not None and not refined.n_steps:
        errors = np.minimum(np.hypot(errors, learner.remaining), _MOST_ERROR)
    priors = refined.network.priors
    odds = priors / np.maximum(1 - priors, np.finfo(float).tiny)
    stuck = (odds <= LEAST_ODDS * (1 + 1e-6)) | (priors > MOST_PRIOR)
    empty = ~refined.network.weights.any(axis=1)  # and so is one of each half, which looks like agreement
    return np.where(stuck | empty, _MOST_ERROR, errors)


def _prior_errors(fitted: Fitted) -> np.ndarray | None:
    """Mean distance of each prior to that of the nearest cause of every half, shape (m,); None without halves."""
    network: Network = fitted.model.network
    made = [fitted.cached_model(half) for split in fitted.folds.splits for half in split]
    halves: list[Network] = [half.network for half in made if half is not None]
    if not halves:
        return None
    nearest = [half.priors[relative_distances(network.weights, half.weights).argmin(axis=1)] for half in halves]
    return np.abs(np.array(nearest) - network.priors).mean(axis=0)
