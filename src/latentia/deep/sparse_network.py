"""Sparse deep networks, learned layer by layer.

Model. Units of the top layer h^(l) are on independently, each with a small probability. Below,

    h^(i-1) = 1[G_(i-1) h^(i) > 0],     edges of G in {-1, 0, 1},

down to the observed layer, which is y = h^(0) (bits), or y = G_0 h^(1) and noise (real columns). Few units are on at a time, so
that a unit that is on has many columns of its own: columns that fire together tell the positive edges, the share of a unit's
columns that is on tells whether it is, and pairs of units that are on together tell the negative edges.

Source: R. Ge, Provable algorithms for machine learning problems, PhD thesis, Princeton 2013, chapter 6.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import TransformerMixin

from .. import _fields as of
from .._parameters import Choice, Integer, Seed, seed_of
from .._validation import check_sizes, number_array, table_blocks, weighted
from ..evidence import Check, ComponentView, Evidence, PartErrors, mean_repeat_shares
from ..exceptions import EvidenceWarning, LatentiaError, warn
from ..fitting.base import OutputNames, check_size, fitted, fitting
from ..fitting.stages import Fitted, Staged, Subset
from ..likelihood import Refine
from ..passes import Blocks, Folds
from ._evidence import NetworkMeasurements, checks, compute_shares, expected_errors, measure, unit_distances
from ._layers import Layer, Rows, Settings, add_negative_edges, decode_rows, encode_rows, learn_layers, take_rows
from ._real import RealLayer
from ._statistics import BinaryRows
from ._units import MAX_POLISHES

_OF_COLUMNS = ("scale", "offset", "noise", "variance")  # parameters of each column in a real layer


class SparseNetwork(OutputNames, TransformerMixin, Staged["_Table", list[Layer]]):
    """Sparse deep network: hidden layers of units that are on or off, learned from below.

    The fit finds which columns belong to each unit, with signs, and how many units there are; it says for every pair of a unit
    and a column whether the data leaves the edge open, and gives an expected error for every unit.

    Choose it for tables of 0 and 1 with few ones (tags, symptoms, spikes, words that occur) where several causes are present
    at a time and each switches on a set of columns. A unit must be on in some 50 rows and have at least 4 columns. For causes
    that switch each column on with a probability of its own, see `latentia.noisyor.NoisyOr`.

    Parameters
    ----------
    n_layers : int, default=1
        Hidden layers. Fewer are learned where units of the next one cannot be detected.
    input_type : {"binary", "real"}, default="binary"
        Whether the table has 0 and 1, or real columns that are sums of edges and noise.
    refine : int or "auto", default="auto"
        Rounds in which the members of all units are decided again, by the rows where no other unit explains a column; "auto"
        for as many as are needed to converge, 5 at most. 0 keeps units as they have grown. Real columns converge in any case.
    n_splits : int, default=1
        Splits into halves for the expected errors: one is used, of two fits on half of the rows. 0 uses none.
    random_state : int, default=0
        Seed of the halves, and of starting directions for real columns. None or a RandomState draws a seed.
    n_jobs : int, optional
        Number of threads. Results are bitwise identical for any value.
    verbose : bool or int, default=False
        Accepted for all estimators; the rows are read once.

    Attributes
    ----------
    layers_ : list of csr_array of int8, shape (n_units, n_below)
        Edges 1 and -1 of every hidden layer, the lowest first: its units in rows, those that fire most first, and in columns
        the units, or columns of the table, below.
    undetermined_ : list of csr_array of bool, of the same shapes
        Pairs where the data shows neither an edge nor its absence. In such places 0 in ``layers_`` means that nothing is known.
    densities_ : list of ndarray of shape (n_units,)
        Share of the rows in which each unit is on.
    observed_density_ : float
        Share of ones in the table; of entries that are not 0 where columns are real.
    scale_, offset_, noise_ : ndarray of shape (n_features_in_,)
        Of real columns: y = offset + scale * (G h + noise * z), z standard normal. None for bits.
    variance_ : ndarray of shape (n_features_in_,)
        Of real columns. None for bits.
    n_features_in_ : int
    n_passes_ : int
        Number of times that the data was read: one, or two where rows have copies.
    evidence_ : Evidence
        Checks of the assumptions. Expected errors (``component_errors``), of the units of the lowest layer first, are Jaccard
        distances 1 - |S & S'| / |S | S'| of a unit's positive edges to those of the true unit (0 to 1).

    Notes
    -----
    Differences from the thesis (Algorithms 6.1 to 6.7):

    1. No threshold on counts of triples, which needs rho: pairs that are on together beyond chance are seeds, a profile of the
       rows that have both, and further columns as long as these rows are of several units, gives the members, and these
       converge on the columns that are on in most rows where 60% of the *other* members are.
    2. A set is a unit if it shortens the description of the rows by more nats than it takes to name it and its rows, so that
       accidents of noise are none, however many sets there are to choose from.
    3. Members are then decided by the rows in which no other unit of a column is on, and the growing starts again on the ones
       that no unit explains. A unit that is on where a larger one is, is a fragment, and dropped.
    4. The encoder asks for 60% of the positive edges of each unit, whatever their number (in place of .3 d').
    5. Negative edges are decided by odds of all rows with exactly one positive parent on, without those in which a negative
       parent that is known is on, not by single rows: Algorithm 6.5 loses an edge to one wrong bit. Pairs that occurred less
       than six times are left open.

    References
    ----------
    R. Ge, PhD thesis, Princeton 2013, chapter 6. S. Arora, A. Bhaskara, R. Ge, T. Ma, Provable bounds for learning some deep
    representations, ICML 2014.

    Examples
    --------
    >>> from latentia.datasets import planted
    >>> from latentia.deep import SparseNetwork
    >>> network = planted.sparse_network(3000, (400, 100), 10, 0.02)
    >>> model = SparseNetwork().fit(network.Y)
    >>> model.layers_[0].shape
    (100, 400)
    """

    _compared = ("layers_",)
    _nouns = ("unit", "units", "rows")
    _draws_rows: ClassVar[bool] = False
    _constraints: ClassVar = {"n_layers": Integer(1), "input_type": Choice("binary", "real")}
    layers_: Annotated[list[sparse.csr_array], of.sparse_matrix("U# W#", "int8", -1, 1)]
    undetermined_: Annotated[list[sparse.csr_array], of.sparse_matrix("U# W#", "bool")]
    densities_: Annotated[list[np.ndarray], of.shares("U#")]
    observed_density_: Annotated[float, of.share()]
    scale_: Annotated[np.ndarray | None, of.numbers("V", of.MIN_MAGNITUDE)]
    offset_: Annotated[np.ndarray | None, of.numbers("V")]
    noise_: Annotated[np.ndarray | None, of.numbers("V", 0.0)]
    variance_: Annotated[np.ndarray | None, of.numbers("V", 0.0)]
    evidence_: Annotated[Evidence, of.Letters({"K": "U"})]

    def __init__(
        self,
        n_layers: int = 1,
        *,
        input_type: Literal["binary", "real"] = "binary",
        refine: Refine = "auto",
        n_splits: int = 1,
        random_state: Seed = 0,
        n_jobs: int | None = None,
        verbose: int = False,
    ) -> None:
        self.n_layers = n_layers
        self.input_type = input_type
        self.refine = refine
        self.n_splits = n_splits
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # --- fitting ------------------------------------------------------------------------------------------------

    @fitting
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> SparseNetwork:
        """Learn the network.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or Blocks of shape (n_rows, n_observed)
            0 and 1, or with ``input_type="real"`` any numbers.
        y : ignored
        sample_weight : array-like of int, shape (n_rows,), optional
            How often each row is there.

        Returns
        -------
        self

        Raises
        ------
        LatentiaError
            If a parameter is out of its range, or if X has NaN, infinite entries, or with ``input_type="binary"`` others
            than 0 and 1.
        """
        blocks = table_blocks(self, X, reset=True, column_noun="columns", dtype="numeric", min_columns=2)
        return self._fit_stages(weighted(blocks, sample_weight))

    def _moments(self, rows: Blocks, folds: Folds) -> _Table:
        """Read the rows in one pass and keep them, since layers are learned from them."""
        table, numbers = self._rows(rows)
        return _Table(table, folds.of(numbers), folds)

    def _recover(self, moments: _Table, subset: Subset, choices: Any) -> list[Layer]:
        """Learn positive edges of each layer and codes of the rows, from which the next layer is learned (Algorithm 6.1)."""
        n_polishes = MAX_POLISHES if self.refine == "auto" else int(self.refine)
        return learn_layers(moments.select_rows(subset), Settings(self.n_layers, n_polishes, self._seed, self.n_jobs))

    def _refine(self, recovered: list[Layer], moments: _Table, subset: Subset, choices: Any) -> list[Layer]:
        """Add negative edges, the last step of Algorithm 6.1."""
        return add_negative_edges(moments.rows, recovered, self.n_jobs)

    def _checks(self, fitted: Fitted[_Table, list[Layer]]) -> tuple[list[Check], PartErrors]:
        """Return checks of each layer, and the errors of units by odds of edges and by fits to halves."""
        table: _Table = fitted.moments
        layers: list[Layer] = fitted.model
        if not layers[0].edges.shape[0]:
            parts = PartErrors(None, reason="There is no unit to measure the error of.")
        elif self.n_splits:
            parts = expected_errors(table.rows, layers, table.group, table.folds, fitted.recovery_of, self.n_jobs)
        else:
            parts = PartErrors.missing()
        described = measure(table.rows, layers, self.n_jobs)
        return checks(NetworkMeasurements(layers, described, parts, len(table.group), self.n_layers)), parts

    def _set_fitted_attributes(self, fitted: Fitted[_Table, list[Layer]]) -> None:
        layers: list[Layer] = fitted.model
        rows: Rows = fitted.moments.rows
        self.layers_ = [layer.edges for layer in layers]
        self.undetermined_ = [layer.undetermined for layer in layers]
        self.densities_ = [layer.hidden.rates for layer in layers]
        n_ones = np.count_nonzero(rows) if isinstance(rows, np.ndarray) else len(rows.indices)
        self.observed_density_ = n_ones / (len(fitted.moments.group) * self.n_features_in_)
        for name in _OF_COLUMNS:
            setattr(self, f"{name}_", None if layers[0].real is None else getattr(layers[0].real, name))
        self.n_passes_ = 1 if fitted.moments.folds.leaders is None else 2
        self._warn()

    def _repeat_shares(self, fitted: Fitted[_Table, list[Layer]]) -> np.ndarray | None:
        """Compare the columns below units with fits on three quarters of the rows, since halves may lack units."""
        if not self.n_splits:
            return None
        parts = []
        for left_out in fitted.folds.splits[0]:
            part = tuple(group for group in fitted.folds.all if group != left_out[0])
            parts.append(ComponentView(_count_paths(fitted.recovery_of(part))))
        return mean_repeat_shares(ComponentView(_count_paths(fitted.model)), parts)

    def _component_shares(self, fitted: Fitted[_Table, list[Layer]]) -> np.ndarray:
        return compute_shares(fitted.model)

    def _rows(self, blocks: Blocks) -> tuple[Rows, np.ndarray]:
        """Return the whole table, and the numbers of its rows in the source."""
        tables, numbers = [], []
        for block in blocks:
            tables.append(check_sizes(block[0], rows=block.rows, names=blocks.names))
            numbers.append(block.rows)
        if self.input_type == "real":
            return np.vstack([_dense(table) for table in tables]), np.concatenate(numbers)
        parts = [_check_binary(table, rows, blocks.names) for table, rows in zip(tables, numbers, strict=True)]
        sizes = np.concatenate([np.diff(part.indptr) for part in parts])
        indices = np.concatenate([part.indices for part in parts])
        bits = BinaryRows(self.n_features_in_, np.append(0, np.cumsum(sizes)), indices.astype(np.int32))
        return bits, np.concatenate(numbers)

    def _warn(self) -> None:
        if not self.layers_[0].shape[0]:
            warn(
                "No hidden unit found: no group of columns is active together often enough. The model says nothing about the "
                "data.",
                EvidenceWarning,
            )
        elif len(self.layers_) < self.n_layers:
            warn(
                f"No units found in layer {len(self.layers_) + 1}: the model has {len(self.layers_)} of {self.n_layers} "
                "layers.",
                EvidenceWarning,
            )

    def _distances(self, second: SparseNetwork) -> np.ndarray:
        return unit_distances(self.layers_, second.layers_)

    # --- use ----------------------------------------------------------------------------------------------------

    @fitted
    def encode(self, X: Any, layer: int | None = None) -> sparse.csr_array:
        """Return the units that are on in every row, csr_array of bool, shape (n_rows, n_units).

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or Blocks of shape (n_rows, n_observed)
        layer : int, optional
            Hidden layer, 1 for the lowest; by default the highest.

        Returns
        -------
        csr_array of bool, shape (n_rows, n_units)

        Raises
        ------
        LatentiaError
            If X has another number of columns than the data of the fit, or there is no such layer.
        """
        layers = self._layers(layer)
        blocks = table_blocks(self, X, reset=False, column_noun="columns", dtype="numeric")
        return encode_rows(self._rows(blocks)[0], layers, self.n_jobs).table()

    @fitted
    def decode(self, H: Any, layer: int | None = None) -> sparse.csr_array | np.ndarray:
        """Return the observed rows that units say, shape (n_rows, n_observed): csr_array of bool, or numbers if they are real.

        Parameters
        ----------
        H : array-like or sparse matrix of shape (n_rows, n_units)
            1 where a unit is on.
        layer : int, optional
            Hidden layer of these units, 1 for the lowest; by default the highest.

        Returns
        -------
        csr_array of bool, or ndarray, of shape (n_rows, n_observed)
        """
        layers = self._layers(layer)
        table = H if sparse.issparse(H) else np.atleast_2d(number_array(H, "H"))
        n_units = layers[-1].edges.shape[0]
        if table.ndim != 2 or table.shape[1] != n_units:
            raise LatentiaError(
                f"Expected H with {n_units} columns, one per unit of layer {len(layers)}; found the shape {table.shape}."
            )
        table = sparse.csr_array(table)
        hidden = BinaryRows.from_table(_check_binary(table, np.arange(table.shape[0]), None))
        rows = decode_rows(hidden, layers, self.n_jobs)
        return rows if isinstance(rows, np.ndarray) else rows.table()

    def denoise(self, X: Any) -> sparse.csr_array | np.ndarray:
        """Return every row as the network has it, ``decode(encode(X))``, shape (n_rows, n_observed).

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or Blocks of shape (n_rows, n_observed)
            Rows with the columns of the fit.

        Returns
        -------
        csr_array of bool, or ndarray, of shape (n_rows, n_observed)
        """
        return self.decode(self.encode(X))

    def transform(self, X: Any) -> np.ndarray:
        """Return the units of the highest layer that are on in every row, as numbers 0 and 1, shape (n_rows, n_units).

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or Blocks of shape (n_rows, n_observed)
            Rows with the columns of the fit.

        Returns
        -------
        ndarray of shape (n_rows, n_units)
        """
        return self.encode(X).toarray().astype(np.float64)

    @fitted
    def sample(
        self, n_samples: int = 1, random_state: Any = 0
    ) -> tuple[sparse.csr_array | np.ndarray, sparse.csr_array]:
        """Draw rows without flips or noise: Y (n_samples, n_observed), and the units on top, (n_samples, n_units).

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows.
        random_state : int, RandomState or Generator, default=0
            Seed of the draws.

        Returns
        -------
        Y : csr_array of bool, or ndarray, of shape (n_samples, n_observed)
        units : csr_array of bool, shape (n_samples, n_units)
            Units on top that are on.
        """
        n_samples, rng = check_size(n_samples), np.random.default_rng(seed_of(random_state))
        rates = self.densities_[-1]
        counts = rng.binomial(n_samples, rates)
        rows = [np.sort(rng.choice(n_samples, count, replace=False)) for count in counts]
        units = np.repeat(np.arange(len(rates)), counts)
        entries = np.ones(len(units), bool), (np.concatenate([np.empty(0, np.int64), *rows]), units)
        H = sparse.csr_array(entries, shape=(n_samples, len(rates)))
        H.sort_indices()
        return self.decode(H), H

    @property
    def _n_features_out(self) -> int:
        return int(self.layers_[-1].shape[0])

    def _layers(self, layer: int | None) -> list[Layer]:
        """Return the layers up to this one."""
        n = len(self.layers_)
        if layer is not None and (not isinstance(layer, (int, np.integer)) or not 1 <= layer <= n):
            raise LatentiaError(f"the model has the hidden layers 1 to {n}.", parameter="layer", value=layer)
        no_rows = BinaryRows(0, np.zeros(1, np.int64), np.empty(0, np.int32))
        return [
            Layer(edges, undetermined, no_rows, self._real_layer() if number == 0 else None)
            for number, (edges, undetermined) in enumerate(zip(self.layers_, self.undetermined_, strict=True))
        ][:layer]

    def _real_layer(self) -> RealLayer | None:
        if self.scale_ is None:
            return None
        columns = {name: getattr(self, f"{name}_") for name in _OF_COLUMNS}
        return RealLayer(self.layers_[0], self.undetermined_[0], densities=self.densities_[0], **columns)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _check_fitted(self) -> None:
        widths = [self.n_features_in_, *(layer.shape[0] for layer in self.layers_)]
        below = [layer.shape[1] for layer in self.layers_]
        if not below or below != widths[:-1] or not len(below) == len(self.undetermined_) == len(self.densities_):
            raise LatentiaError("the shapes of layers_ do not fit each other")
        if {getattr(self, f"{name}_") is not None for name in _OF_COLUMNS} != {self.input_type == "real"}:
            raise LatentiaError("scale_ and noise_ do not fit input_type")


class _Table(NamedTuple):
    """All rows, the group of each, and the folds."""

    rows: Rows
    group: np.ndarray
    folds: Folds

    def select_rows(self, subset: Subset) -> Rows:
        """Return the rows of a subset."""
        return (
            self.rows if subset.is_whole else take_rows(self.rows, np.flatnonzero(np.isin(self.group, subset.groups)))
        )


def _dense(table: Any) -> np.ndarray:
    return np.asarray(table.toarray() if sparse.issparse(table) else table, dtype=np.float64)


def _check_binary(table: Any, rows: np.ndarray, names: Any) -> sparse.csr_array:
    """Return the ones of a table of 0 and 1, or raise an error that names the first other value."""
    binary = sparse.csr_array(table)
    if binary.has_canonical_format is False:
        binary = binary.copy()
        binary.sum_duplicates()
    wrong = (binary.data != 0) & (binary.data != 1)
    if wrong.any():
        entry = int(np.argmax(wrong))
        row, column = int(np.searchsorted(binary.indptr, entry, side="right")) - 1, int(binary.indices[entry])
        name = f"column {column}" if names is None else f"column {names[column]!r}"
        raise LatentiaError(
            f"Expected 0 or 1 in {name}; row {rows[row]} holds {binary.data[entry]:g}. Cut the data at a threshold, such as "
            'X > 0, or use input_type="real" for real columns.'
        )
    if not binary.data.all():
        binary = binary.copy()
        binary.eliminate_zeros()
    return binary


def _count_paths(layers: list[Layer]) -> np.ndarray:
    """Count the paths of positive edges from each unit of all layers to each column, shape (n_units, n_observed)."""
    below = [layers[0].members.astype(float)]
    for layer in layers[1:]:
        below.append(layer.members @ below[-1])
    return np.vstack([reach.toarray() for reach in below])
