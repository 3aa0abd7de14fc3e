"""Noisy-or networks: independent hidden causes, each of which may switch on binary findings.

Model. Causes d_k are on with probability rho_k, independently, and

    P(finding i absent | d) = (1 - leak_i) exp(-sum_k W_ki d_k).

So a cause that is on switches finding i on with probability F_ki = 1 - exp(-W_ki), whatever the others do.

Reading order of a fit: `_moments`, `recover_in_rounds`, `noisyor._recovery.recover`, `noisyor._em.refine_network`, `_checks`.

Source: S. Arora, R. Ge, T. Ma, A. Risteski, Provable learning of noisy-or networks, STOC 2017.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np

from .. import _fields as of
from .._parameters import Integer, NComponents, Number, OrNone, Seed, Sizes
from .._validation import table_blocks, weighted
from ..comparing.profile import Profile
from ..evidence import Check, ComponentView, Misfit, PartErrors, bounds, trivial_checks
from ..exceptions import LatentiaError, LatentiaWarning, warn
from ..fitting.additive import Additive
from ..fitting.base import fitting
from ..fitting.stages import Fitted, Subset
from ..likelihood import Refine, Refinement, over
from ..moments import CountSums
from ..passes import Blocks, Folds, accumulate, sample_rows
from ._em import MAX_CROWDED, NetworkRefinement, refine_network
from ._evidence import MAX_PRIOR, FitDiagnostics, noisy_or_checks
from ._goodness import (
    Goodness,
    check_against_classes,
    compare_with_independence,
    compute_goodness,
    compute_pair_misfit,
    fade_causes,
    score_missingness,
)
from ._growth import MAX_GROWN, choose_start
from ._landmarks import Landmarks, count_causes_above_noise
from ._learners import (
    MAX_SOLVED,
    Learner,
    Spectrum,
    bound_causes,
    compute_pair_spectrum,
    recover_in_rounds,
    relative_distances,
)
from ._methods import NetworkMethods
from ._recovery import MIN_ODDS, draw_partitions
from ._sufficient_statistics import AbsenceStatistics, count_absences
from .absences import AbsenceCounts, AbsenceMoments, ObservedAbsences, RowPacking, make_absences
from .baskets import choose_items, is_baskets, make_basket_table
from .inference import Network

_SAMPLED_ROWS, _CROWDED_ROWS = 2000, 300  # rows on which a network is compared with independent findings
_DEVIATIONS = 2.0  # standard deviations of the gain over independent findings that pass for noise
_MIN_ROWS = 100  # fewer rows have no joint absences of triples to speak of
_N_PARTITIONS = 5  # random partitions of the findings into three sets, whose networks the evidence compares
_MAX_ERROR = 2.0  # largest relative error of a cause, that of one without agreement
_CLASS_ROWS = 10_000  # rows that classes are fitted to
_MAX_LISTED = 5  # findings that a warning names

Groups = tuple[int, ...]


class NoisyOr(NetworkMethods, Additive["_Moments", NetworkRefinement]):
    """Noisy-or network, fitted by decomposition of joint absences.

    The fit is deterministic, and gives an expected error for every cause. Moments take one pass over the data; by default EM
    follows, with some 15 more.

    Choose it for binary findings that several hidden causes may explain at a time, each of which makes findings more
    probable and none less: symptoms and diseases, faults and alarms, words and subjects. For
    mutually exclusive causes use `latentia.mixtures`. Every cause must be off often: the method uses findings that are
    absent together.

    Parameters
    ----------
    n_components : int, range, list or "auto", optional
        Number of causes m. By default the number whose networks of halves of the rows best predict pairs of findings in the
        other halves (``n_components_range_``); above 60, the number of directions of pairs above their noise. A range or list
        tries each value and keeps the one the evidence recommends; "auto" tries 2 to 100. See ``n_components_``,
        ``recommendation_`` and ``comparison_``. Each number costs a fit.
    prior : float, optional
        P(cause on), the same for all causes; by default each is estimated.
    corrections : int, default=2
        Number of rounds in which moments of higher order, computed from the network so far, are subtracted. More of them
        serve moments without EM (``refine=0`` or ``keep_moments=True``) where a cause is often on: see *left by the
        corrections* in the evidence.
    refine : int or "auto", default="auto"
        EM from the moments, over the likely configurations of causes of each row. "auto" climbs the likelihood until further
        steps would gain next to nothing, drops links that the data does not support, and climbs on; it is skipped if more than
        30% of the rows have more likely configurations than are summed. A number gives plain steps, each a pass over the data,
        which drop no links. 0 keeps to the theorem.
    max_weight : float, default=5.0
        nu_u, the largest weight: a strength of 1 - exp(-5) = 0.993.
    min_df : int, default=5
        For baskets: smallest number of baskets with an item.
    max_triples : int, default=150_000_000
        Number of triples of findings to count. With more than 965 findings, triples of a random sample of them are counted,
        and the weights of the others come from pairs. With more than 60 causes the sample is chosen, with at least two
        findings for every cause.
    n_splits : int, default=3
        Number of random splits into halves, at most 3, whose fits give the expected errors. They cost no pass over the
        data; with ``refine`` a single split is used, which costs up to twice as much as refining. With 0 no errors are
        measured.
    keep_moments : bool, default=False
        Whether to keep counts of all triples of findings, for at most 300 findings, so that rows can be added (`partial_fit`)
        or removed (`forget`), and models merged (`latentia.merge`): 8 n^3 / 3 + 40 n^2 bytes, 76 MB at most; up to 20
        findings all kinds of rows are counted, 2^(n + 3) bytes. No finding may be unknown, and there is no EM.
    random_state : int, default=0
        Seed of the splits, and of the partitions of findings that the evidence compares. None or a RandomState draws a seed.
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
        Names of causes in `graph`, files and reports: those given by `name_causes`, else the one or two most informative
        findings of each cause, or "cause 0" and so on if findings have no names.
    n_components_ : int
        Number of causes, m.
    n_components_range_ : (int, int) or None
        Smallest and largest number of causes that predict held-out halves as well as the estimated one; None if
        ``n_components`` was given.
    spectrum_ : ndarray of shape (n_eigenvalues,)
        Leading eigenvalues of PMI2 between scaled findings, the largest first.
    noise_level_ : float
        Largest eigenvalue of noise alone.
    moments_ : Sums
        Sufficient statistics: ``moments_.n_bytes`` is their size, ``moments_.n_rows`` the number of rows.
    evidence_ : Evidence
        Checks of the assumptions, and the expected error of each cause, |W_k - W'_k|_2 / |W_k|_2 (``component_errors``).
    refinement_ : ndarray of shape (n_steps,)
        Log-likelihood of the data at each E-step of ``refine``, in nats.
    n_iter_ : int
        Number of steps of refinement.
    converged_ : bool
        Whether further steps would gain next to nothing; always False unless ``refine="auto"``.
    n_passes_ : int
        Number of passes over the data, without those for expected errors: one, and one for each E-step of ``refine``.

    Notes
    -----
    Differences from the paper, whose algorithms as printed are in `latentia.papers.noisy_or`:

    1. The factor of PMI2 is fitted to all pairs at once, with an unknown diagonal, where Algorithm 4 whitens three sets of
       findings by products of blocks. All triples of distinct findings then have one symmetric core in its coordinates,
       fitted by least squares, where the paper takes the triples of one partition. On exact moments the error halves
       (0.045 for 0.085 at n = 60), no set needs to carry rank m, and a cause of three findings, which a partition
       splits with probability 2/9, is not missed. Counting all triples costs as much as 4.5 partitions.
    2. Findings are scaled by sqrt P(absent), which makes the noise of their moments alike.
    3. Moments of higher order are subtracted and the decomposition is repeated (``corrections``).
    4. Triples are decomposed by polar iteration, which needs no threshold zeta.
    5. EM follows (``refine``). With up to 10 causes it starts from a network grown cause by cause from the rows, or from
       random strengths of a fixed seed, if that is clearly likelier than the network of the moments, as happens on data that
       follow no such network.
    6. Unless given, priors are estimated, from the eigenvalues of the whitened tensor.
    7. A leak cancels in both moments and is estimated afterwards, from single findings.
    8. Half a row is added to every count, and to the number of rows: logarithms of such shares have no bias of order 1 / N.
    9. Findings may be unknown in some rows. Joint absences are then shares of the rows in which all findings of a pair or
       triple are known, and EM sums unknown findings out.
    10. The number of causes is estimated, where the paper assumes it known.
    11. With more than 60 causes, or more than a third of the findings, only triples of landmarks are counted, findings chosen
        by pivoted QR. The missing part of their core, triples with a repeated finding, is imputed from the network of the last
        round; solving for it would take 41 m^3 numbers and time that grows as m^4. Links below 0.05 are dropped. Causes need no
        three sets of findings then: m may be up to about n - sqrt(2 n).
    12. If independent findings are likelier than the recovered network, and the prior is not given, priors shrink to a
        thousandth, so that the network predicts as independence does.

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
    _compared, _max_distance = ("weights_",), _MAX_ERROR
    _constraints: ClassVar = {
        "n_components": OrNone(Sizes()),
        "prior": OrNone(Number(0, 1)),
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
            1 or True where a finding is present, 0 where it is absent, NaN (in data frames also None or NA) where it is
            unknown. Or for every row a list, tuple or set of the names of its items; items in fewer than ``min_df`` baskets
            are ignored.
        y : ignored
        sample_weight : array-like of int, shape (n_rows,), optional
            Number of times each row counts.

        Returns
        -------
        self

        Raises
        ------
        LatentiaError
            If a parameter is out of its range, if X has values other than 0, 1 and missing, if there are more causes than
            pairs of findings can separate, or too few rows.
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
                f"moments is a {type(moments).__name__}; expected latentia.noisyor.ExactAbsences. Give rows to fit."
            )
        self.n_features_in_, self._column_names = moments.n_features, None
        self._check_number(moments.n_features)
        folds, is_used = Folds(seed=self._seed), np.ones(moments.n_features, bool)
        frequency = -np.expm1(moments.logs(folds.all).single)
        return self._fit_stages(None, _Moments(moments, is_used, frequency, folds), folds)

    def _moments(self, rows: Blocks, folds: Folds) -> _Moments:
        """Pack the rows into bits, in four folds, in one pass; all counts come from these."""
        packing = RowPacking(self.n_features_in_, folds, self._column_names)
        packed = accumulate(rows, packing, self.n_jobs, progress=self.verbose and "reading")
        counts = make_absences(packed, np.arange(self.n_features_in_), self.n_jobs)
        del packed
        return self._select_findings(counts, folds)

    def _sums(self, rows: Blocks, folds: Folds, like: Any) -> CountSums:
        """Count all triples of findings."""
        return count_absences(rows, folds, self._column_names, self.n_jobs, self.verbose and "reading")

    def _moments_from_sums(self, sums: CountSums) -> _Moments:
        """Return the moments of sufficient statistics."""
        _check_rows(sums.n_rows)
        return self._select_findings(AbsenceStatistics(sums, self.n_jobs), Folds(seed=self._seed))

    def _select_findings(self, counts: AbsenceCounts | ObservedAbsences, folds: Folds) -> _Moments:
        is_used = _find_usable(counts, self._finding_names())
        source = counts if is_used.all() else counts.select(np.flatnonzero(is_used))
        return _Moments(source, is_used, counts.frequency, folds)

    def _shared_choices(self, recovered: _Recovered, model: NetworkRefinement) -> _Choices:
        return _Choices(recovered.learner, model.refused, model.is_grown)

    def _recover(self, moments: _Moments, subset: Subset, choices: _Choices | None) -> _Recovered:
        """Recover the network from the factor of pairs, and the components of triples in its coordinates (Algorithm 1)."""
        learner = self._learner(moments) if choices is None else choices.learner
        return _Recovered(learner, learner.network(subset.groups))

    def _refine(
        self,
        recovered: _Recovered | NetworkRefinement,
        moments: _Moments,
        subset: Subset,
        choices: _Choices | None,
    ) -> NetworkRefinement:
        """Refine the network by EM on the rows of a subset, if EM was possible on all rows."""
        steps = 0 if choices is not None and choices.refused else self._steps(moments)
        if not steps:
            return NetworkRefinement(recovered.network, Refinement.no_steps())
        e_step = over(moments.restrict(subset.rows), self.n_jobs, self.verbose)
        options: dict[str, Any] = {"fixed_prior": self.prior is not None, "max_weight": self.max_weight}
        start, is_grown = recovered.network, False
        if steps == "auto" and start.m <= MAX_GROWN and (choices is None or choices.is_grown):
            (sample,) = sample_rows(moments.restrict(subset.rows), _SAMPLED_ROWS)
            start, is_grown = choose_start(start, sample, self.prior, **options)
        refined = refine_network(start, e_step, steps, MAX_CROWDED if choices is None else 1.0, **options)
        refined = replace(refined, is_grown=is_grown)
        return refined if choices is not None else self._compare_with_independence(refined, moments, subset)

    def _compare_with_independence(
        self, refined: NetworkRefinement, moments: _Moments, subset: Subset
    ) -> NetworkRefinement:
        """Return a network at least as likely as independent findings.

        This is not checked with more than 60 causes if rows have too many likely configurations for EM.
        """
        crowded = refined.refused
        if self.prior is not None or (crowded and refined.network.m > MAX_SOLVED):
            return refined
        (rows,) = sample_rows(moments.restrict(subset.rows), _CROWDED_ROWS if crowded else _SAMPLED_ROWS)
        faded = fade_causes(refined.network, rows, moments.frequency[moments.is_used], subset.rows.n_rows, crowded)
        return refined if faded is None else replace(refined, network=faded, before=refined.network)

    def _restart(self, model: NetworkRefinement, moments: _Moments, subset: Subset) -> NetworkRefinement | None:
        """Refine again from the network of all rows, unless the number of EM steps was given.

        With very many causes this would end near the network of all rows, lost causes included, and hide errors.
        """
        is_restarted = not model.refused and self._steps(moments) == "auto" and model.network.m <= MAX_SOLVED
        choices = _Choices(learner=None, refused=model.refused, is_grown=model.is_grown)  # recovery is not repeated
        return self._refine(model, moments, subset, choices) if is_restarted else None

    def _distance(self, first: NetworkRefinement, second: NetworkRefinement, moments: Any) -> np.ndarray:
        return relative_distances(first.network.weights, second.network.weights).min(axis=1)

    def _component_view(self, fitted: Fitted[_Moments, NetworkRefinement]) -> ComponentView:
        """Show the strengths of findings."""
        return ComponentView(self.strengths_, ordered=False)

    def _cost(self) -> Literal["free", "passes"]:
        return "passes" if self.refine or len(self.priors_) > MAX_SOLVED else "free"

    def _checks(self, fitted: Fitted[_Moments, NetworkRefinement]) -> tuple[list[Check], PartErrors]:
        """Measure errors by parts of the rows and in common to all parts, and the goodness of fit."""
        moments = fitted.moments
        learner, refined, m = fitted.recovered.learner, fitted.model, fitted.model.network.m
        parts = fitted.errors(moments.splits(self.n_splits))
        if parts.errors is not None:
            parts = replace(parts, errors=_add_systematic_errors(parts.errors, refined, learner))
        self.prior_errors_ = _compute_prior_errors(fitted) if self.prior is None else None
        misfit, goodness, trivial, gaps = self._goodness(fitted)
        if goodness is not None:
            parts = parts.widen(np.full(m, goodness.bias), _MAX_ERROR)
        spectrum, n_unused = Spectrum(self.spectrum_, self.noise_level_), int((~moments.is_used).sum())
        measured = FitDiagnostics(
            refined, learner, spectrum, moments.source, parts, n_unused, misfit, goodness, trivial, gaps
        )
        return noisy_or_checks(measured), parts

    def _set_fitted_attributes(self, fitted: Fitted[_Moments, NetworkRefinement]) -> None:
        """Set the network; unused findings are due to their leak alone."""
        moments = fitted.moments
        network, is_used = fitted.model.network, moments.is_used
        self.weights_ = np.zeros((network.m, len(is_used)))
        self.weights_[:, is_used] = network.weights
        self.leak_ = np.where(is_used, 0.0, moments.frequency)
        self.leak_[is_used] = network.leak
        self.strengths_, self.priors_ = -np.expm1(-self.weights_), network.priors
        self.n_components_, self.n_components_range_ = network.m, fitted.recovered.learner.likely
        self._given_names: dict[int, str] = {}
        self._set_refinement_attributes(fitted.model.refinement)
        self.n_passes_ = bool(moments.n_rows) + len(self.refinement_)
        if fitted.groups == fitted.folds.all:
            self._set_spectrum_attributes(fitted)

    def _set_spectrum_attributes(self, fitted: Fitted[_Moments, NetworkRefinement]) -> None:
        moments, network = fitted.moments, fitted.model.network
        scale = fitted.recovered.learner.scale
        spectrum = compute_pair_spectrum(moments.source, fitted.model.before or network, moments.folds, scale)
        self.spectrum_, self.noise_level_ = spectrum.values[: 3 * network.m + 10], spectrum.noise
        if spectrum.noise and spectrum.rank < network.m:
            _warn_rank(network.m, spectrum.rank)

    def _goodness(
        self, fitted: Fitted[_Moments, NetworkRefinement]
    ) -> tuple[Misfit | None, Goodness | None, list[Check], tuple[float, int] | None]:
        """Measure the fit of pairs of findings and of some rows, and how well half of the rows predicts the other half."""
        moments = fitted.moments
        (first, second), *_ = fitted.folds.splits
        half = fitted.cached_model(first)
        if half is None:
            return None, None, [], None
        network = fitted.model.network
        misfit = compute_pair_misfit(network, moments.source, moments.folds)
        if fitted.rows is None:
            return misfit, None, [], None
        (rows,) = sample_rows(moments.restrict(fitted.rows.group(second, fitted.folds)))
        of_causes, of_chance = compare_with_independence(half.network, rows, moments.frequency[moments.is_used])
        trivial = trivial_checks(
            of_causes, of_chance,
            extra=0, n_rows=fitted.rows.n_rows, against="independent findings", deviations=_DEVIATIONS,
        )  # fmt: skip
        (train,) = sample_rows(moments.restrict(fitted.rows.group(first, fitted.folds)), _CLASS_ROWS)
        trivial += check_against_classes(of_causes, rows, train, network.m, self._seed)
        return misfit, compute_goodness(network, rows, self._seed), trivial, score_missingness(rows)

    def _steps(self, moments: _Moments) -> Refine:
        """Return the steps of EM: none without rows."""
        return 0 if self.refine == "auto" and not moments.n_rows else self.refine

    def _check_number(self, n: int) -> None:
        """Raise if the findings cannot separate so many causes."""
        max_causes = bounds.noisy_or_causes(n)
        if (self.n_components or 1) > max_causes:
            raise LatentiaError(
                f"{n} findings can separate at most {max_causes} causes: more causes have more strengths than there are pairs "
                "of findings.",
                at_most=max_causes, parameter="n_components", value=self.n_components,
            )  # fmt: skip

    def _learner(self, moments: _Moments) -> Learner:
        source, folds, n = moments.source, moments.folds, moments.source.n_features
        self._check_number(n)
        # Beyond max_triples, those of some of the findings are counted.
        size = int((6 * self.max_triples) ** (1 / 3))
        findings = np.arange(n) if n <= size else np.sort(np.random.default_rng(self._seed).permutation(n)[:size])
        partitions = draw_partitions(findings, _N_PARTITIONS, self._seed)
        k, max_causes, likely = self._bound_number_of_causes(source, folds, size)
        rounds = {"prior": self.prior, "corrections": self.corrections, "max_weight": self.max_weight}
        has_many_causes = (k or 0) > min(MAX_SOLVED, n // 3)
        selections = _list_selections(
            folds, moments.splits(self.n_splits), has_many_causes or bool(self._steps(moments))
        )
        if k is not None and has_many_causes:
            return Landmarks(source, k, selections, size, rounds, likely, self.verbose)
        return recover_in_rounds(source, findings, partitions, k, max_causes, selections, folds, rounds, self.verbose)

    def _bound_number_of_causes(
        self, source: AbsenceMoments, folds: Folds, size: int
    ) -> tuple[int | None, int, tuple[int, int] | None]:
        """Return the number of causes, if it is known, the largest one worth trying, and the range of likely ones.

        If there are too many causes to compare numbers, the number is that of the directions of pairs above their noise.
        """
        k, n = self.n_components, source.n_features
        if k is not None:
            return k, k, None
        max_solved = min(MAX_SOLVED, n // 3)
        max_causes = bound_causes(source, folds) if n <= size else max_solved
        if max_causes < MAX_SOLVED:
            return None, max_causes, None
        k, likely = count_causes_above_noise(source, folds)
        if k > max_solved or n <= size:
            return k, k, likely
        return None, min(k + 2, max_solved), None

    def _read(self, X: Any, *, reset: bool = True) -> Blocks:
        if not isinstance(X, Blocks) and is_baskets(X):
            if not reset and self._column_names is None:
                raise LatentiaError(
                    "The findings of the model have no names. Give rows of 0 and 1, not lists of items."
                )
            items = choose_items(X, self.min_df) if reset else [str(name) for name in self._column_names]
            X = Blocks.from_array(make_basket_table(X, items), names=items)
        return table_blocks(self, _replace_gaps(X), reset=reset, column_noun="findings", dtype="numeric", missing=True)

    def _profile(self) -> Profile:
        return Profile(
            self.weights_, self.priors_, self.column_names, distances=relative_distances, missing="left out",
            join="maximum",
        )  # fmt: skip

    def _distances(self, other: NoisyOr) -> np.ndarray:
        return np.minimum(relative_distances(self.weights_, other.weights_).min(axis=1), _MAX_ERROR)


# --- what a network is learned from -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Moments:
    """Joint absences of the used findings.

    Attributes
    ----------
    source : AbsenceMoments
    is_used : ndarray of bool, shape (n,)
    frequency : ndarray of shape (n,)
        P(finding present).
    folds : Folds
    """

    source: AbsenceMoments
    is_used: np.ndarray
    frequency: np.ndarray
    folds: Folds

    @property
    def n_rows(self) -> int:
        """Number of counted rows; 0 for exact moments."""
        return round(self.source.n_rows.sum()) if isinstance(self.source, AbsenceCounts | ObservedAbsences) else 0

    def splits(self, n_splits: int) -> int:
        return n_splits if self.n_rows else 0

    def restrict(self, blocks: Blocks) -> Blocks:
        """Return the columns of the used findings."""
        if self.is_used.all():
            return blocks
        columns = np.flatnonzero(self.is_used)
        return blocks.map(lambda block: [block[0][:, columns]], [(blocks.n_rows, len(columns))])


class _Choices(NamedTuple):
    """Choices of the full fit that fits of subsets take over.

    Attributes
    ----------
    learner : Learner
        Number of causes, basis and partitions, with the moments of each subset.
    refused : bool
        True if EM was not possible on all rows.
    is_grown : bool
        True if EM on all rows did not start from the network of the moments.
    """

    learner: Any
    refused: bool
    is_grown: bool


class _Recovered(NamedTuple):
    """The network of the moments of some rows, and its learner."""

    learner: Learner
    network: Network


def _find_usable(counts: AbsenceCounts | ObservedAbsences, names: list[str]) -> np.ndarray:
    """Find the findings that vary and are no copies, bool (n,); warnings name the others."""
    varying = counts.find_varying()
    if not varying.all():
        warn(
            f"{int((~varying).sum())} findings are present in no row or in all of them and say nothing about causes: "
            f"{_list_names(~varying, names)}. They get no weights; their leak is their frequency.",
            LatentiaWarning,
        )
    copied = counts.find_copies(varying)
    if copied.any():
        warn(
            f"{int(copied.sum())} findings are present in exactly the rows of an earlier one: {_list_names(copied, names)}. "
            "Copies get no weights; their leak is their frequency.",
            LatentiaWarning,
        )
    is_used = varying & ~copied
    if is_used.sum() < 3:
        raise LatentiaError(
            f"{int(is_used.sum())} of {len(is_used)} findings vary between rows and are no copies; expected at least 3, as a "
            "cause shows in three findings. Add findings."
        )
    return is_used


def _list_names(chosen: np.ndarray, names: list[str]) -> str:
    """List the names of the first chosen findings."""
    numbers = np.flatnonzero(chosen)
    return ", ".join(repr(names[i]) for i in numbers[:_MAX_LISTED]) + (", ..." if len(numbers) > _MAX_LISTED else "")


def _check_rows(n: int) -> None:
    if n < _MIN_ROWS:
        raise LatentiaError(
            f"Found {n} rows; expected at least {_MIN_ROWS}, and better thousands, for joint absences of triples."
        )


def _warn_rank(m: int, rank: int) -> None:
    warn(
        f"{m} causes, and pairs of findings show {rank} directions above noise: causes beyond that number may be invented. "
        "Ask for fewer causes or use more rows.",
        LatentiaWarning,
    )


def _replace_gaps(X: Any) -> Any:
    """Return data frames with gaps as floats with NaN, and anything else as it is."""
    if not (hasattr(X, "isna") and hasattr(X, "astype")):
        return X
    gaps = X.isna()
    try:
        return X.astype(object).where(~gaps, np.nan).astype(float) if np.asarray(gaps, dtype=bool).any() else X
    except (TypeError, ValueError, OverflowError):  # the check of tables names entries that are no numbers
        return X


# --- errors -------------------------------------------------------------------------------------------------------


def _list_selections(folds: Folds, n_splits: int, refined: bool) -> list[Groups]:
    """List all rows and the parts that error estimates need: for refined fits, the halves of one split."""
    if not n_splits:
        return [folds.all]
    halves = [half for split in folds.splits[: 1 if refined else n_splits] for half in split]
    three_quarters = [] if refined else [tuple(i for i in folds.all if i != g) for g in folds.all]
    return [folds.all, *halves, *three_quarters]


def _add_systematic_errors(errors: np.ndarray, refined: NetworkRefinement, learner: Learner) -> np.ndarray:
    """Add the errors that all parts of the rows share: missing corrections, and causes without findings or too often on."""
    if learner.remaining is not None and not refined.n_steps:
        errors = np.minimum(np.hypot(errors, learner.remaining), _MAX_ERROR)
    priors = refined.network.priors
    odds = priors / np.maximum(1 - priors, np.finfo(float).tiny)
    stuck = (odds <= MIN_ODDS * (1 + 1e-6)) | (priors > MAX_PRIOR)
    empty = ~refined.network.weights.any(axis=1)  # halves have such a cause too, which would look like agreement
    return np.where(stuck | empty, _MAX_ERROR, errors)


def _compute_prior_errors(fitted: Fitted[_Moments, NetworkRefinement]) -> np.ndarray | None:
    """Compute the mean distance of each prior to that of the nearest cause of every half, (m,); None without halves."""
    network: Network = fitted.model.network
    cached_models = [fitted.cached_model(half) for split in fitted.folds.splits for half in split]
    halves: list[Network] = [half.network for half in cached_models if half is not None]
    if not halves:
        return None
    nearest = [half.priors[relative_distances(network.weights, half.weights).argmin(axis=1)] for half in halves]
    return np.abs(np.array(nearest) - network.priors).mean(axis=0)
