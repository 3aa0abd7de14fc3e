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
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from .. import _fields as of
from .._parameters import Choice, Integer, NComponents, OrNone, Seed
from .._validation import number_table, table_blocks, weighted, weighted_mean
from ..evidence import Check, ComponentView, PartErrors
from ..exceptions import EvidenceWarning, LatentiaError, warn
from ..fitting.base import fitted, fitting
from ..fitting.stages import Fitted, Staged, Subset
from ..likelihood import Refine, Refinement, over, refine
from ..metrics import atom_coherence, atom_distances
from ..moments import ColumnSpan, span_without_constants
from ..passes import Blocks, Folds, accumulate, sample_rows
from ._averages import AVERAGED, averages
from ._evidence import TOGETHER, Measured, dictionary_checks, others_checks
from ._sparse_codes import AtomsUpdate, CodeSums, Rounds
from ._sparsity import better_sparsity
from ._split import split
from ._start import Start, start_from
from .pursuit import Codes, matching_pursuit

_LEAST_DIMENSIONS = 4  # features for every atom that a row may use, where the sparsity is found
_ROUNDS_EACH = 5
_ROWS_PER_ATOM = 24  # that splits are looked for in
_TURNED = 0.75  # distance of directions from others of their plane, about: those of an eighth of a turn
_EXACT = 1e-12  # share of the rows' squared length that counts as nothing
_MOST_SWAPS, _ROUNDS_OF_SWAP, _GAIN = 8, 10, 0.9995  # for directions that rows lack, and what is left to be worth it
_MOST_ATOMS = 1000  # where their number is looked for
_SHARES = 0.5, 0.8, 0.9, 1.0, 1.1  # of the clusters, that "auto" compares
_GROWTH = 4  # atoms a row more or fewer that are looked at together
_MOST_CHANGES = 12
_SAMPLE = 2000
_ONE_FEATURE = 0.75  # share of an atom in one feature; those of planted dictionaries have up to half


class IncoherentDictionary(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Staged):
    """Dictionary learning that starts from the clusters of the connection graph.

    Choose it for rows that are combinations of a few of many atoms, more atoms than features included: the graph finds the
    atoms, where alternating methods begin with random rows and end where these lead. It needs rows of far fewer than n^1/2
    atoms each, and some tens of rows for an atom. Where the graph finds too few clusters the other atoms begin as random rows,
    with a warning; the fit is then what other learners give, in fewer rounds.

    It can stand where scikit-learn's ``DictionaryLearning`` or ``MiniBatchDictionaryLearning`` stands.

    Parameters
    ----------
    n_components : int, "auto" or several, default=100
        Number of atoms m. A range or list tries each value and keeps the one the evidence recommends; so does "auto". See
        ``n_components_``, ``recommendation_`` and ``comparison_``. Each number costs a fit. "auto" compares numbers near
        that of the clusters which the graph finds.
    sparsity : int, optional
        Atoms k that a row may use. By default it is estimated: it begins with the clusters that a row is in; then it
        is where the next atom takes much less of the median row, or else where few rows want another atom.
    init : {"graph", "random"}, default="graph"
        "random" begins with random rows: the method of optimal directions as others have it.
    atom_update : {"svd", "average"}, default="svd"
        What a cluster's atom is: the direction of largest variance (Algorithm 5.3), or the mean of the rows with one sign
        (Algorithm 5.2).
    clique_order : int, default=3
        Rows of a tuple in the search for clusters. More than 3 (Algorithm 5.4) tell clusters apart where rows use too many
        atoms for triples.
    refine : int or "auto", default="auto"
        Rounds of the method of optimal directions with matching pursuit: "auto" makes them until the error converges, a number
        that many, each a pass over the data. 0 keeps to the theorem: averages of all rows, in three passes.
    n_splits : int, default=3
        Whether fits on two halves of the rows give the expected errors, which costs a fit. With 0 there are none.
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
        Where the atoms began: "graph" if clusters gave half of them or more.
    noise_ : float
        Standard deviation of the noise of an entry.
    reconstruction_err_ : float
        Share of the rows' squared length that the codes leave.
    refinement_ : ndarray of shape (n_rounds,)
        Log-likelihood of the rows in every round, in nats, at its best variance of the noise.
    n_iter_ : int
        Number of steps of refinement.
    converged_ : bool
        Whether further steps would gain only a negligible amount; only ``refine="auto"`` looks at that.
    errors_ : ndarray of shape (n_rounds,)
        Share of the rows' squared length that was left in every round.
    evidence_ : Evidence
        Checks of the assumptions. Expected errors (``component_errors``) are distances of atoms to the true ones up to sign
        (0 to 1.41).
    n_passes_ : int
        Number of passes over the data, those for the expected errors not counted.

    Notes
    -----
    Differences from the thesis:

    1. Two rows are connected if their product exceeds 2.25 times the size that products have by chance; the thesis takes 1/2,
       with coefficients of size 1 (and means the absolute value, which Definition 5.14 lacks).
    2. The graph has 24 rows for an atom, at most 20,000; the other differences of the search are those of
       `latentia.dictionary.clusters.recover_graph`.
    3. With ``refine=0`` codes of matching pursuit with the atoms of these clusters say which clusters any row is in, and the
       sign or size of its coefficient. Averages are of all rows, those of one sign turned, and are computed three times, as
       better atoms assign rows better. "svd" weighs rows by their coefficients: a step of power iteration.
    4. ``refine`` is not in the thesis. Its rounds begin with the clusters' own directions, and take all rows themselves.
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
            How often each row is there.

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

    def _span_of(self, rows: Any, more: Sequence[Any]) -> ColumnSpan | None:
        return span_without_constants(rows)

    def _widen(self, span: ColumnSpan) -> None:
        self.components_ = span.coefficients(self.components_)

    def _moments(self, rows: Blocks, folds: Folds) -> Folds:
        """There are none: the graph is made of rows."""
        return folds

    def _recover(self, moments: Folds, subset: Subset, full_fit: Any) -> Start:
        """Algorithm 5.1: the connection graph of some rows, its clusters, and their directions."""
        return start_from(
            subset.rows, self.n_components, method=self.init, columns=self.atom_update, order=self.clique_order,
            seed=self._seed, n_jobs=self.n_jobs,
        )  # fmt: skip

    def _refine(self, recovered: Start, moments: Folds, subset: Subset, full_fit: _Refined | None) -> _Refined:
        """Averages (Algorithm 5.2) or rounds, the most used atom first; parts use the sparsity found on all rows."""
        known = self.sparsity or (None if full_fit is None else full_fit.sparsity)
        most = max(1, min(recovered.atoms.shape[1] // _LEAST_DIMENSIONS, len(recovered.atoms) - 1))
        atoms, k, n_passes = recovered.atoms, known or min(recovered.sparsity, most), 0
        if known is None:
            atoms, k, n_passes = self._with_sparsity(atoms, k, most, subset.rows)
        elif self.refine == 0:
            atoms, n_passes = self._begun(atoms, k, subset.rows)
        refined = self._rounds(atoms, k, subset.rows, self.refine)
        if self.refine == "auto":
            refined = self._out_of_optimum(refined, subset.rows)
        return refined.sorted()._replace(n_passes=refined.n_passes + n_passes)

    def _cost(self) -> Literal["passes"]:
        return "passes"

    def _distance(self, first: _Refined, second: _Refined, moments: Any) -> np.ndarray:
        return atom_distances(first.atoms, second.atoms)

    def _component_view(self, fitted: Fitted) -> ComponentView:
        """Codes of rows."""
        return ComponentView(np.asarray(self.transform(fitted.comparison_rows)).T, signed=True)

    def _may_be_nothing(self, fitted: Fitted, checks: Sequence[Check]) -> np.ndarray:
        """Atoms of one feature too: heavy-tailed features that have nothing to do with each other give such."""
        one_feature = (self.components_**2).max(axis=1) > _ONE_FEATURE
        return one_feature | np.asarray(super()._may_be_nothing(fitted, checks))

    def _checks(self, fitted: Fitted) -> tuple[list[Check], PartErrors]:
        """Errors of parts, widened by what codes leave and where atoms come together; and a half's atoms on other rows."""
        measured = _measured(fitted, self.n_jobs)
        misfit, alike = measured.misfit(), np.minimum(atom_coherence(measured.atoms), 1.0)
        parts = fitted.errors(self.n_splits).widen(misfit.bias(np.sqrt(2 - 2 * alike)), self._max_distance)
        together = measured.together()
        parts = parts.widen(np.where(together > TOGETHER, _TURNED, 0.0), self._max_distance)
        checks = dictionary_checks(measured, parts, misfit, together, _offset(measured.rows))
        if self.n_splits:
            folds: Folds = fitted.moments
            learned, others = (_some(fitted.rows.group(half, folds)) for half in folds.splits[0])
            half: _Refined = fitted.model_of(folds.splits[0][0])
            checks += others_checks(learned, others, half.atoms, half.sparsity, half.sums)
        return checks, parts

    def _out_of_optimum(self, found: _Refined, blocks: Blocks) -> _Refined:
        """Make room for directions that rows lack, then split atoms that stand for two, as long as less is left in the end."""
        rows = _dense(sample_rows(blocks, _ROWS_PER_ATOM * len(found.atoms))[0])
        for way in ("lacking", "split"):
            for _ in range(_MOST_SWAPS):
                if found.sums.relative_error <= _EXACT:
                    return found
                if way == "lacking":
                    swapped = found.sums.swapped(found.atoms)
                else:
                    codes = matching_pursuit(rows, found.atoms, found.sparsity, n_jobs=self.n_jobs)
                    swapped = split(found.atoms, found.sums, rows, codes)
                tried = None if swapped is None else self._rounds(swapped, found.sparsity, blocks, _ROUNDS_OF_SWAP)
                if tried is None:
                    break
                found = found._replace(n_passes=found.n_passes + tried.n_passes)
                if tried.sums.left > _GAIN * found.sums.left:
                    break
                found = tried.after(found)
        return found

    def _rounds(self, atoms: np.ndarray, k: int, blocks: Blocks, steps: Refine) -> _Refined:
        """Rounds, and a pass with the atoms that they end with."""
        rounds = Rounds()
        refinement = refine(
            AtomsUpdate(atoms, k, rounds, self._seed), self._over(blocks), steps, until=rounds.converged
        )
        last = AtomsUpdate(refinement.values[0], k, rounds, self._seed)
        sums: CodeSums = accumulate(blocks, last, self.n_jobs)
        return _Refined(last.atoms, k, sums, refinement, rounds.errors, len(rounds.errors) + 1)

    def _with_sparsity(self, atoms: np.ndarray, k: int, most: int, blocks: Blocks) -> tuple[np.ndarray, int, int]:
        """Atoms, sparsity and number of passes: a few for each sparsity, until the codes suggest the one they have."""
        rows, n_passes = _some(blocks), 0
        for _ in range(_MOST_CHANGES):
            atoms, more = self._begun(atoms, k, blocks)
            n_passes += more
            codes = matching_pursuit(rows, atoms, min(k + _GROWTH, most) + 1, n_jobs=self.n_jobs)
            better = min(better_sparsity(codes, *atoms.shape), most)
            if better == k:
                break
            k = better
        return atoms, k, n_passes

    def _begun(self, atoms: np.ndarray, k: int, blocks: Blocks) -> tuple[np.ndarray, int]:
        """Averages over all rows where the theorem is asked for, else the atoms of a few rounds; and the number of passes."""
        if self.refine == 0:
            return averages(blocks, atoms, k, self.atom_update, self.n_jobs), AVERAGED
        (atoms,) = refine(AtomsUpdate(atoms, k, Rounds(), self._seed), self._over(blocks), _ROUNDS_EACH).values
        return atoms, _ROUNDS_EACH

    def _over(self, blocks: Blocks) -> Any:
        return over(blocks, self.n_jobs, self.verbose)

    def _set_fitted_attributes(self, fitted: Fitted) -> None:
        """Set what is learned, and warn where the graph gave too little."""
        model: _Refined = fitted.model
        start: Start = fitted.recovered
        atoms, sums = model.atoms, model.sums
        signs = np.sign(np.take_along_axis(atoms, np.abs(atoms).argmax(axis=1)[:, None], axis=1))
        self.components_ = atoms * np.where(signs == 0, 1.0, signs)
        self.usage_, self.sparsity_ = sums.uses / max(sums.n_rows, 1), model.sparsity
        self.start_ = "graph" if start.of_graph else "random"
        self.noise_, self.reconstruction_err_ = model.noise, sums.relative_error
        self.errors_ = np.array(model.errors)
        self._set_refinement_attributes(model.refinement)
        self.n_passes_, self._n_features_out = model.n_passes, len(atoms)
        if self.init == "graph" and not start.of_graph and self.n_components > 1:
            warn(
                f"The connection graph gave {start.n_clusters} of the {len(atoms)} atoms, and the others began as random rows: "
                "rows use too many atoms, or there is too much noise, for its guarantee. See evidence_.",
                EvidenceWarning,
            )

    def _check_sizes(self, blocks: Blocks) -> None:
        if self.n_components > blocks.n_rows:
            raise LatentiaError(
                f"{blocks.n_rows} rows support at most {blocks.n_rows} atoms.",
                at_most=blocks.n_rows, parameter="n_components", value=self.n_components,
            )  # fmt: skip
        most = min(self.n_components, self.n_features_in_)
        if self.sparsity is not None and self.sparsity > most:
            raise LatentiaError(
                f"{self.n_components} atoms of {self.n_features_in_} features allow a sparsity of at most {most}.",
                parameter="sparsity", value=self.sparsity,
            )  # fmt: skip

    def _candidates(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Sequence[int] | None:
        """Numbers near that of the clusters which a generous search finds."""
        blocks = weighted(table_blocks(copy(self), X, reset=True), sample_weight)
        rows = min(blocks.n_rows, _MOST_ATOMS)
        start = start_from(
            blocks, rows, method="graph", columns="svd", order=self.clique_order, seed=0, n_jobs=self.n_jobs
        )
        n = start.n_clusters
        return sorted({max(2, round(share * n)) for share in _SHARES}) if n > 1 else None

    def _shares(self) -> np.ndarray | None:
        return self.usage_ / max(float(self.usage_.sum()), np.finfo(float).tiny)

    def _distances(self, other: IncoherentDictionary) -> np.ndarray:
        return atom_distances(self.components_, other.components_)

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
            raise LatentiaError(f"Codes have {codes.shape[1]} columns, and there are {len(self.components_)} atoms.")
        rows = np.asarray(codes @ self.components_)
        return rows if "_span" not in vars(self) else rows + self._span.offset

    @fitted
    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> float:
        """Return minus the mean squared length that the codes leave of a row; higher is better.

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
        left = np.concatenate([self._codes(block[0]).left[:, -1] for block in blocks])
        return -weighted_mean(left, sample_weight)

    def _codes(self, rows: Any) -> Codes:
        rows, atoms, span = _dense(rows), self.components_, vars(self).get("_span")
        if span is not None:
            rows, atoms = span.select(rows), span.select(atoms)
        return matching_pursuit(rows, atoms, self.sparsity_, n_jobs=self.n_jobs)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class _Refined(NamedTuple):
    """Atoms, the atoms a row may use, the sums of a pass with them, and how they came about."""

    atoms: np.ndarray
    sparsity: int
    sums: CodeSums
    refinement: Refinement
    errors: list[float]
    n_passes: int

    @property
    def noise(self) -> float:
        """Standard deviation of the noise of an entry."""
        free = max(self.sums.n_rows, 1) * max(self.atoms.shape[1] - self.sparsity, 1)
        return float(np.sqrt(self.sums.left / free))

    def after(self, first: _Refined) -> _Refined:
        """The same, with the rounds before."""
        history = np.concatenate([first.refinement.log_likelihood, self.refinement.log_likelihood])
        refinement = replace(self.refinement, log_likelihood=history)
        return self._replace(refinement=refinement, errors=first.errors + self.errors, n_passes=first.n_passes)

    def sorted(self) -> _Refined:
        """The same, the most used atom first."""
        order = np.argsort(-self.sums.uses, kind="stable")
        return self._replace(atoms=self.atoms[order], sums=self.sums.in_order(order))


def _measured(fitted: Fitted, n_jobs: int | None) -> Measured:
    model: _Refined = fitted.model
    rows = _some(fitted.rows)
    codes = matching_pursuit(rows, model.atoms, model.sparsity + 1, n_jobs=n_jobs)
    return Measured(model.atoms, model.sparsity, model.sums, fitted.recovered, rows, codes, model.errors, model.noise)


def _some(blocks: Blocks) -> np.ndarray:
    """Some of the rows."""
    return _dense(sample_rows(blocks, _SAMPLE)[0])


def _offset(rows: np.ndarray) -> float:
    """Share of the rows' squared length that their mean has, beyond that which it has by chance."""
    energy = float(np.einsum("ij,ij->", rows, rows)) / max(len(rows), 1)
    mean = rows.mean(axis=0)
    return max(float(mean @ mean) / energy - 1 / len(rows), 0.0) if energy > 0 else 0.0


def _dense(table: Any) -> np.ndarray:
    return np.ascontiguousarray(table.toarray() if sparse.issparse(table) else table, dtype=np.float64)
