"""Provable dictionary learning from the connection graph.

Model. A row is y = c D + e: atoms d_1, ..., d_m of unit length in R^n, which are incoherent, |d_i . d_j| <= mu / n^1/2; a code
c with k coefficients that are not zero, of random sign and at least about 1 in size; noise e. There may be more atoms than
features.

Rows whose product is large share an atom. In the graph of these rows, three rows that share one atom have about p k / m common
neighbours, and others far fewer; so a connected pair gives the rows of its atom, and their direction of largest variance is it.

Source: R. Ge, thesis, Princeton 2013, chapter 5 (with S. Arora and A. Moitra).
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import TransformerMixin

from .. import _fields as of
from .._parameters import Choice, Integer, NComponents, OrNone, Seed
from .._validation import number_table, table_blocks, weighted, weighted_mean
from ..evidence import Check, ComponentView, PartErrors
from ..exceptions import EvidenceWarning, LatentiaError, warn
from ..fitting.base import OutputNames, fitted, fitting
from ..fitting.stages import Fitted, Staged, Subset
from ..likelihood import Refine, Refinement, over, refine
from ..metrics import atom_coherence, atom_distances
from ..moments import ColumnSpan, span_without_constants
from ..passes import Blocks, Folds, accumulate, sample_rows
from ._averages import AVERAGING_PASSES, average_rows
from ._evidence import MAX_JOINT_SHARE, Measurements, dictionary_checks, new_row_checks
from ._sparse_codes import AtomsUpdate, CodeSums, Rounds
from ._sparsity import suggest_sparsity
from ._split import split_atoms
from ._start import Start, start_from
from .pursuit import Codes, matching_pursuit

_MIN_FEATURES_PER_ATOM = 4  # features for every atom that a row may use, where the sparsity is estimated
_ROUNDS_PER_SPARSITY = 5
_ROWS_PER_ATOM = 24  # sampled rows per atom, to search for merged atoms
_DIRECTION_ERROR = 0.75  # error of a direction that is only known within a plane: about an eighth of a turn
_ZERO_SHARE = 1e-12  # residuals below this share of the rows' squared length are zero
_MAX_SWAPS, _ROUNDS_OF_SWAP, _GAIN = 8, 10, 0.9995  # a swap must reduce the residual to this share
_MAX_ATOMS = 1000  # atoms in the search for their number
_SHARES = 0.5, 0.8, 0.9, 1.0, 1.1  # "auto" compares these multiples of the number of clusters
_GROWTH = 4  # largest change of the sparsity at a time
_MAX_CHANGES = 12
_SAMPLE = 2000
_ONE_FEATURE = 0.75  # atoms with a larger share in one feature may be noise; planted atoms have up to half


class IncoherentDictionary(OutputNames, TransformerMixin, Staged[Folds, "_AtomsFit"]):
    """Dictionary learning that starts from the clusters of the connection graph.

    Choose it for rows that are combinations of a few of many atoms, also for more atoms than features: the graph finds the
    atoms, where alternating methods start from random rows and depend on them. It needs rows of far fewer than n^1/2 atoms
    each, and some tens of rows for an atom. Where the graph gives too few clusters, the other atoms start as random rows, with
    a warning; the answer is then that of other learners, in fewer rounds.

    It can replace scikit-learn's ``DictionaryLearning`` or ``MiniBatchDictionaryLearning``.

    Parameters
    ----------
    n_components : int, "auto" or several, default=100
        Number of atoms m. A range or list tries each value and keeps the one the evidence recommends; so does "auto". See
        ``n_components_``, ``recommendation_`` and ``comparison_``. Each number costs a fit. "auto" compares numbers near
        that of the clusters of the graph.
    sparsity : int, optional
        Atoms k that a row may use. By default it is estimated: first from the number of clusters that a row is in, then from
        the point where the next atom explains much less of the median row, or else where few rows want another atom.
    init : {"graph", "random"}, default="graph"
        "random" starts from random rows: the standard method of optimal directions.
    atom_update : {"svd", "average"}, default="svd"
        The atom of a cluster: the direction of largest variance (Algorithm 5.3), or the mean of the rows with one sign
        (Algorithm 5.2).
    clique_order : int, default=3
        Rows of a tuple in the search for clusters. More than 3 (Algorithm 5.4) separate clusters where rows use too many atoms
        for triples.
    refine : int or "auto", default="auto"
        Rounds of the method of optimal directions with matching pursuit, each a pass over the data: "auto" continues until the
        error converges. 0 follows the theorem: averages of all rows, in three passes.
    n_splits : int, default=3
        Whether fits on two halves of the rows give the expected errors, which costs a fit. With 0 there are no errors.
    random_state : int, default=0
        Seed of tuples, rows and halves. None or a RandomState draws a seed.
    n_jobs : int, optional
        Number of threads. Results are bitwise identical for any value.
    verbose : bool or int, default=False
        Whether to show progress and the remaining time.

    Attributes
    ----------
    components_ : ndarray of shape (m, n)
        Atoms, of unit length, the most used first; their largest entry is positive.
    usage_ : ndarray of shape (m,)
        Share of the rows that use each atom.
    sparsity_ : int
        As given, or as estimated.
    start_ : {"graph", "random"}
        "graph" if at least half of the atoms started from clusters of the graph.
    noise_ : float
        Standard deviation of the noise of an entry.
    reconstruction_err_ : float
        Share of the rows' squared length in the residuals of their codes.
    refinement_ : ndarray of shape (n_rounds,)
        Log-likelihood of the rows in every round, in nats, at its best variance of the noise.
    n_iter_ : int
        Number of steps of refinement.
    converged_ : bool
        Whether further steps would gain only a negligible amount; only ``refine="auto"`` looks at that.
    errors_ : ndarray of shape (n_rounds,)
        Share of the rows' squared length in the residuals, in every round.
    evidence_ : Evidence
        Checks of the assumptions. Expected errors (``component_errors``) are distances of atoms to the true ones up to sign
        (0 to 1.41).
    n_passes_ : int
        Number of passes over the data, those for the expected errors not counted.

    Notes
    -----
    Differences from the thesis:

    1. Two rows are connected if their product exceeds 2.25 times its size by chance; the thesis takes 1/2, with coefficients of
       size 1 (and means the absolute value, which Definition 5.14 lacks).
    2. The graph has 24 rows for an atom, at most 20,000; the other differences of the search are those of
       `latentia.dictionary.clusters.recover_graph`.
    3. With ``refine=0`` matching pursuit with the atoms of these clusters assigns any row to clusters, with the sign or size of
       its coefficient. Averages are over all rows, with the sign of the coefficient, and are computed three times, as better
       atoms assign rows better. "svd" weights rows by their coefficients: a step of power iteration.
    4. ``refine`` is not in the thesis. Its rounds start from the directions of the clusters, and use all rows.
    5. The last line of Algorithm 5.2 sums the rows Y; the print says X.

    References
    ----------
    R. Ge, thesis 2013, chapter 5. S. Arora, R. Ge, A. Moitra, COLT 2014.

    Examples
    --------
    >>> from latentia.datasets import planted
    >>> from latentia.dictionary import IncoherentDictionary
    >>> from latentia.metrics import atom_distances
    >>> data = planted.sparse_codes(4000, n_features=32, n_components=48, sparsity=2)
    >>> model = IncoherentDictionary(48, sparsity=2).fit(data.X)
    >>> bool(atom_distances(data.components, model.components_).max() < 0.01)
    True
    """

    _constraints: ClassVar = {
        "sparsity": OrNone(Integer(1)),
        "init": Choice("graph", "random"),
        "atom_update": Choice("svd", "average"),
        "clique_order": Integer(3, 8),
    }
    _nouns, _max_distance = ("atom", "atoms", "rows"), float(np.sqrt(2))
    components_: Annotated[np.ndarray, of.numbers("K V", -1.0 - of.TOLERANCE, 1.0 + of.TOLERANCE)]
    usage_: Annotated[np.ndarray, of.shares("K")]
    errors_: Annotated[np.ndarray, of.numbers("R", 0.0)]
    sparsity_: Annotated[int, of.count(1)]
    start_: Literal["graph", "random"]
    noise_: Annotated[float, of.number(0.0)]
    reconstruction_err_: Annotated[float, of.number(0.0)]
    refinement_: Annotated[np.ndarray, of.numbers("*")]
    n_iter_: Annotated[int, of.count()]
    converged_: bool
    _n_features_out: Annotated[int, of.size("K")]

    def __init__(
        self,
        n_components: NComponents = 100,
        *,
        sparsity: int | None = None,
        init: Literal["graph", "random"] = "graph",
        atom_update: Literal["svd", "average"] = "svd",
        clique_order: int = 3,
        refine: Refine = "auto",
        n_splits: int = 3,
        random_state: Seed = 0,
        n_jobs: int | None = None,
        verbose: int = False,
    ) -> None:
        self.n_components = n_components
        self.sparsity = sparsity
        self.init = init
        self.atom_update = atom_update
        self.clique_order = clique_order
        self.refine = refine
        self.n_splits = n_splits
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # --- fitting ------------------------------------------------------------------------------------------------

    @fitting
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> IncoherentDictionary:
        """Learn the atoms.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or Blocks of shape (n_rows, n)
            Rows should have mean zero: subtract that of each patch of an image, or that of each column of a table.
        y : ignored
        sample_weight : array-like of int, shape (n_rows,), optional
            How often each row occurs.

        Returns
        -------
        self

        Raises
        ------
        LatentiaError
            If a parameter is out of its range, if X has NaN or infinite entries, or too few rows for this number of atoms.
        """
        blocks = weighted(table_blocks(self, X, reset=True), sample_weight)
        self._check_sizes(blocks)
        return self._fit_in_span(blocks)

    def _span_of(self, rows: Any, further_tables: Sequence[Any]) -> ColumnSpan | None:
        return span_without_constants(rows, keep_zeros=False)

    def _expand_columns(self, span: ColumnSpan) -> None:
        self.components_ = span.coefficients(self.components_)

    def _moments(self, rows: Blocks, folds: Folds) -> Folds:
        """Return the folds: there are no moments, as the graph is made of rows."""
        return folds

    def _recover(self, moments: Folds, subset: Subset, choices: Any) -> Start:
        """Recover initial atoms (Algorithm 5.1): the connection graph of some rows, its clusters, and their directions."""
        return start_from(
            subset.rows, self.n_components, method=self.init, atom_update=self.atom_update, order=self.clique_order,
            seed=self._seed, n_jobs=self.n_jobs,
        )  # fmt: skip

    def _shared_choices(self, recovered: Start, model: _AtomsFit) -> _Choices:
        return _Choices(model.sparsity)

    def _refine(self, recovered: Start, moments: Folds, subset: Subset, choices: _Choices | None) -> _AtomsFit:
        """Run averages (Algorithm 5.2) or rounds, the most used atom first; parts use the sparsity of all rows."""
        given_sparsity = self.sparsity or (None if choices is None else choices.sparsity)
        max_sparsity = max(1, min(recovered.atoms.shape[1] // _MIN_FEATURES_PER_ATOM, len(recovered.atoms) - 1))
        atoms, k, n_passes = recovered.atoms, given_sparsity or min(recovered.sparsity, max_sparsity), 0
        if given_sparsity is None:
            atoms, k, n_passes = self._estimate_sparsity(atoms, k, max_sparsity, subset.rows)
        elif self.refine == 0:
            atoms, n_passes = self._refine_for_sparsity(atoms, k, subset.rows)
        refined = self._rounds(atoms, k, subset.rows, self.refine)
        if self.refine == "auto":
            refined = self._escape_local_optimum(refined, subset.rows)
        return refined.sorted()._replace(n_passes=refined.n_passes + n_passes)

    def _cost(self) -> Literal["passes"]:
        return "passes"

    def _distance(self, first: _AtomsFit, second: _AtomsFit, moments: Any) -> np.ndarray:
        return atom_distances(first.atoms, second.atoms)

    def _component_view(self, fitted: Fitted[Folds, _AtomsFit]) -> ComponentView:
        """Return the codes of rows."""
        return ComponentView(np.asarray(self.transform(fitted.comparison_rows)).T, signed=True)

    def _may_be_nothing(self, fitted: Fitted[Folds, _AtomsFit], checks: Sequence[Check]) -> np.ndarray:
        """Return True also for atoms of one feature, which independent heavy-tailed features produce."""
        one_feature = (self.components_**2).max(axis=1) > _ONE_FEATURE
        return one_feature | np.asarray(super()._may_be_nothing(fitted, checks))

    def _checks(self, fitted: Fitted[Folds, _AtomsFit]) -> tuple[list[Check], PartErrors]:
        """Compute errors from parts, widened for misfit and joint atoms; and check a half's atoms on other rows."""
        measured = _measure(fitted, self.n_jobs)
        misfit, coherence = measured.misfit(), np.minimum(atom_coherence(measured.atoms), 1.0)
        errors = fitted.errors(self.n_splits).widen(misfit.bias(np.sqrt(2 - 2 * coherence)), self._max_distance)
        joint_shares = measured.joint_shares()
        errors = errors.widen(np.where(joint_shares > MAX_JOINT_SHARE, _DIRECTION_ERROR, 0.0), self._max_distance)
        checks = dictionary_checks(measured, errors, misfit, joint_shares, _measure_offset(measured.rows))
        if self.n_splits:
            folds: Folds = fitted.moments
            learned, new_rows = (_sample_dense_rows(fitted.rows.group(half, folds)) for half in folds.splits[0])
            half: _AtomsFit = fitted.model_of(folds.splits[0][0])
            checks += new_row_checks(learned, new_rows, half.atoms, half.sparsity, half.sums)
        return checks, errors

    def _escape_local_optimum(self, refined: _AtomsFit, blocks: Blocks) -> _AtomsFit:
        """Swap weak atoms for missing directions, then split merged atoms, as long as residuals shrink."""
        rows = _dense(sample_rows(blocks, _ROWS_PER_ATOM * len(refined.atoms))[0])
        for kind in ("lacking", "split"):
            for _ in range(_MAX_SWAPS):
                if refined.sums.relative_error <= _ZERO_SHARE:
                    return refined
                if kind == "lacking":
                    swap_weak_atoms = refined.sums.swap_weak_atoms(refined.atoms)
                else:
                    codes = matching_pursuit(rows, refined.atoms, refined.sparsity, n_jobs=self.n_jobs)
                    swap_weak_atoms = split_atoms(refined.atoms, refined.sums, rows, codes)
                trial = (
                    None
                    if swap_weak_atoms is None
                    else self._rounds(swap_weak_atoms, refined.sparsity, blocks, _ROUNDS_OF_SWAP)
                )
                if trial is None:
                    break
                refined = refined._replace(n_passes=refined.n_passes + trial.n_passes)
                if trial.sums.residual > _GAIN * refined.sums.residual:
                    break
                refined = trial.append_history(refined)
        return refined

    def _rounds(self, atoms: np.ndarray, k: int, blocks: Blocks, steps: Refine) -> _AtomsFit:
        """Run rounds, and a final pass with the atoms that they end with."""
        rounds = Rounds()
        refinement = refine(
            AtomsUpdate(atoms, k, rounds, self._seed), self._pass_over(blocks), steps, until=rounds.converged
        )
        last = AtomsUpdate(refinement.values[0], k, rounds, self._seed)
        sums: CodeSums = accumulate(blocks, last, self.n_jobs)
        return _AtomsFit(last.atoms, k, sums, refinement, rounds.errors, len(rounds.errors) + 1)

    def _estimate_sparsity(
        self, atoms: np.ndarray, k: int, max_sparsity: int, blocks: Blocks
    ) -> tuple[np.ndarray, int, int]:
        """Refine atoms until their codes suggest the current sparsity; return atoms, sparsity and number of passes."""
        rows, n_passes = _sample_dense_rows(blocks), 0
        for _ in range(_MAX_CHANGES):
            atoms, n_more = self._refine_for_sparsity(atoms, k, blocks)
            n_passes += n_more
            codes = matching_pursuit(rows, atoms, min(k + _GROWTH, max_sparsity) + 1, n_jobs=self.n_jobs)
            suggested = min(suggest_sparsity(codes, *atoms.shape), max_sparsity)
            if suggested == k:
                break
            k = suggested
        return atoms, k, n_passes

    def _refine_for_sparsity(self, atoms: np.ndarray, k: int, blocks: Blocks) -> tuple[np.ndarray, int]:
        """Return averages over all rows with ``refine=0``, otherwise the atoms of a few rounds; and the number of passes."""
        if self.refine == 0:
            return average_rows(blocks, atoms, k, self.atom_update, self.n_jobs), AVERAGING_PASSES
        (atoms,) = refine(
            AtomsUpdate(atoms, k, Rounds(), self._seed), self._pass_over(blocks), _ROUNDS_PER_SPARSITY
        ).values
        return atoms, _ROUNDS_PER_SPARSITY

    def _pass_over(self, blocks: Blocks) -> Any:
        return over(blocks, self.n_jobs, self.verbose)

    def _set_fitted_attributes(self, fitted: Fitted[Folds, _AtomsFit]) -> None:
        """Set fitted attributes, and warn if the graph gave too few atoms."""
        model = fitted.model
        start: Start = fitted.recovered
        atoms, sums = model.atoms, model.sums
        signs = np.sign(np.take_along_axis(atoms, np.abs(atoms).argmax(axis=1)[:, None], axis=1))
        self.components_ = atoms * np.where(signs == 0, 1.0, signs)
        self.usage_, self.sparsity_ = sums.uses / max(sums.n_rows, 1), model.sparsity
        self.start_ = "graph" if start.is_from_graph else "random"
        self.noise_, self.reconstruction_err_ = model.noise, sums.relative_error
        self.errors_ = np.array(model.errors)
        self._set_refinement_attributes(model.refinement)
        self.n_passes_, self._n_features_out = model.n_passes, len(atoms)
        if self.init == "graph" and not start.is_from_graph and self.n_components > 1:
            warn(
                f"The connection graph gave {start.n_clusters} of the {len(atoms)} atoms; the others started as random rows: "
                "rows use too many atoms, or there is too much noise, for its guarantee. See evidence_.",
                EvidenceWarning,
            )

    def _check_sizes(self, blocks: Blocks) -> None:
        if self.n_components > blocks.n_rows:
            raise LatentiaError(
                f"{blocks.n_rows} rows support at most {blocks.n_rows} atoms.",
                at_most=blocks.n_rows, parameter="n_components", value=self.n_components,
            )  # fmt: skip
        max_sparsity = min(self.n_components, self.n_features_in_)
        if self.sparsity is not None and self.sparsity > max_sparsity:
            raise LatentiaError(
                f"{self.n_components} atoms of {self.n_features_in_} features allow a sparsity of at most {max_sparsity}.",
                parameter="sparsity", value=self.sparsity,
            )  # fmt: skip

    def _candidates(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Sequence[int] | None:
        """Return numbers of atoms near the number of clusters from a generous search."""
        blocks = weighted(table_blocks(copy(self), X, reset=True), sample_weight)
        rows = min(blocks.n_rows, _MAX_ATOMS)
        start = start_from(
            blocks, rows, method="graph", atom_update="svd", order=self.clique_order, seed=0, n_jobs=self.n_jobs
        )
        n = start.n_clusters
        return sorted({max(2, round(share * n)) for share in _SHARES}) if n > 1 else None

    def _shares(self) -> np.ndarray | None:
        return self.usage_ / max(float(self.usage_.sum()), np.finfo(float).tiny)

    def _distances(self, reference: IncoherentDictionary) -> np.ndarray:
        return atom_distances(self.components_, reference.components_)

    # --- use ----------------------------------------------------------------------------------------------------

    @fitted
    def transform(self, X: Any) -> np.ndarray:
        """Return the codes of rows, at most ``sparsity_`` coefficients each, by orthogonal matching pursuit.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or Blocks of shape (n_rows, n)
            Rows with the columns of the fit.

        Returns
        -------
        ndarray of shape (n_rows, m)

        Raises
        ------
        LatentiaError
            If X has another number of columns than the data of the fit, or NaN.
        """
        blocks = table_blocks(self, X, reset=False)
        codes = [self._codes(block[0]).dense(len(self.components_)) for block in blocks]
        return np.concatenate(codes)

    @fitted
    def inverse_transform(self, X: Any) -> np.ndarray:
        """Return the rows that codes stand for, shape (n_rows, n).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, m)
            Codes.

        Returns
        -------
        ndarray of shape (n_rows, n)
        """
        codes = number_table(X)
        if codes.shape[1] != len(self.components_):
            raise LatentiaError(
                f"Codes have {codes.shape[1]} columns; expected {len(self.components_)}, one for each atom."
            )
        rows = np.asarray(codes @ self.components_)
        return rows if "_span" not in vars(self) else rows + self._span.offset

    @fitted
    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> float:
        """Return minus the mean squared length of the residual of a row; higher is better.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or Blocks of shape (n_rows, n)
            Rows with the columns of the fit.
        y : ignored
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the rows.

        Returns
        -------
        float
        """
        blocks = table_blocks(self, X, reset=False)
        residuals = np.concatenate([self._codes(block[0]).residuals[:, -1] for block in blocks])
        return -weighted_mean(residuals, sample_weight)

    def _codes(self, rows: Any) -> Codes:
        rows, atoms, span = _dense(rows), self.components_, vars(self).get("_span")
        if span is not None:
            rows, atoms = span.select(rows), span.select(atoms)
        return matching_pursuit(rows, atoms, self.sparsity_, n_jobs=self.n_jobs)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class _Choices(NamedTuple):
    """Sparsity of the full fit, which subsets take over."""

    sparsity: int


class _AtomsFit(NamedTuple):
    """Refined atoms, the sparsity, the sums of a pass with the atoms, and the history of the refinement."""

    atoms: np.ndarray
    sparsity: int
    sums: CodeSums
    refinement: Refinement
    errors: list[float]
    n_passes: int

    @property
    def noise(self) -> float:
        """Standard deviation of the noise of an entry."""
        degrees_of_freedom = max(self.sums.n_rows, 1) * max(self.atoms.shape[1] - self.sparsity, 1)
        return float(np.sqrt(self.sums.residual / degrees_of_freedom))

    def append_history(self, first: _AtomsFit) -> _AtomsFit:
        """Return this answer with the history of earlier rounds before its own."""
        history = np.concatenate([first.refinement.log_likelihood, self.refinement.log_likelihood])
        refinement = replace(self.refinement, log_likelihood=history)
        return self._replace(refinement=refinement, errors=first.errors + self.errors, n_passes=first.n_passes)

    def sorted(self) -> _AtomsFit:
        """Return the answer with the most used atom first."""
        order = np.argsort(-self.sums.uses, kind="stable")
        return self._replace(atoms=self.atoms[order], sums=self.sums.reorder(order))


def _measure(fitted: Fitted[Folds, _AtomsFit], n_jobs: int | None) -> Measurements:
    model = fitted.model
    rows = _sample_dense_rows(fitted.rows)
    codes = matching_pursuit(rows, model.atoms, model.sparsity + 1, n_jobs=n_jobs)
    return Measurements(
        model.atoms, model.sparsity, model.sums, fitted.recovered, rows, codes, model.errors, model.noise
    )


def _sample_dense_rows(blocks: Blocks) -> np.ndarray:
    """Return a dense sample of the rows."""
    return _dense(sample_rows(blocks, _SAMPLE)[0])


def _measure_offset(rows: np.ndarray) -> float:
    """Return the share of the rows' squared length in their mean, beyond chance."""
    energy = float(np.einsum("ij,ij->", rows, rows)) / max(len(rows), 1)
    mean = rows.mean(axis=0)
    return max(float(mean @ mean) / energy - 1 / len(rows), 0.0) if energy > 0 else 0.0


def _dense(table: Any) -> np.ndarray:
    return np.ascontiguousarray(table.toarray() if sparse.issparse(table) else table, dtype=np.float64)
