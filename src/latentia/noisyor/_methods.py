"""Methods of fitted networks: causes of a row, explanations, draws, names, a graph."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, Self
from weakref import WeakKeyDictionary

import numpy as np
from scipy import sparse
from sklearn.base import TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from .. import _fields as of
from .._parameters import Number, check_parameter, seed_of
from .._validation import array_of, list_of, weighted_mean
from ..comparing.drift import estimate_shares
from ..evidence import RealAndSimulated
from ..exceptions import LatentiaError
from ..fitting.base import Estimator, OutputNames, check_size, fitted
from ..fitting.stages import Fitted
from ..likelihood import noisy_or_rows
from ..passes import Blocks, sample_rows
from ._bif import write_bif
from ._findings import split_gaps
from .baskets import is_baskets
from .inference import SAMPLING, Network, Posteriors, attributions, posteriors, questions
from .inference.questions import Question

_MAX_DRAWN = 1000  # findings up to which simulated rows are compared with real ones
_N_NAMING, _MIN_NAMING_STRENGTH = 2, 0.1  # findings that name a cause, and their smallest strength
_N_DRAWN = 5  # Drawn rows for each unexplained one, to fit a new cause.
_MIN_FREQUENCY = 1e-9  # smallest frequency of a finding, in divisions
_CACHED_NETWORKS: WeakKeyDictionary[Any, tuple[Any, Network]] = WeakKeyDictionary()


class Edge(NamedTuple):
    """An edge: cause, finding, the probability that the cause switches the finding on, and -log of its complement."""

    cause: str
    finding: str
    strength: float
    weight: float


@dataclass(frozen=True)
class Diagnosis:
    """Diagnosis of one row: probabilities of causes and findings.

    Attributes
    ----------
    probabilities : ndarray of shape (m,)
        Posterior of each cause.
    error : float
        Accuracy of the probabilities: rounding if ``exact``, otherwise a standard error, or the share of unlisted
        configurations.
    exact : bool
        Whether they are sums over all configurations, not samples or sums over likely configurations alone.
    attribution : ndarray of shape (m, n)
        How much each finding speaks for each cause, in nats: the fall of the log odds if the finding were unknown.
    log_likelihood : float
        log P(row) in nats.
    """

    probabilities: np.ndarray
    error: float
    exact: bool
    attribution: np.ndarray
    log_likelihood: float


class NetworkMethods(TransformerMixin, OutputNames, Estimator):
    """Methods of fitted networks: causes of a row, explanations, draws, names, a graph."""

    weights_: Annotated[np.ndarray, of.numbers("K V", 0.0)]
    strengths_: Annotated[np.ndarray, of.shares("K V")]
    priors_: Annotated[np.ndarray, of.shares("K")]
    leak_: Annotated[np.ndarray, of.shares("V")]
    n_components_range_: Annotated[tuple[int, int] | None, of.count()]
    _given_names: dict[int, str]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return P(cause on | row), shape (n_rows, m): `posterior` without its accuracy.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n), DataFrame or Blocks
            Rows with the findings of the fit.

        Returns
        -------
        ndarray of shape (n_rows, m)

        Raises
        ------
        LatentiaError
            If X has another number of findings than the data of the fit, or others than 0 and 1.
        """
        return self.posterior(X).probabilities

    def transform(self, X: Any) -> np.ndarray:
        """Return the same as `predict_proba`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n), DataFrame or Blocks
            Rows with the findings of the fit.

        Returns
        -------
        ndarray of shape (n_rows, m)
        """
        return self.predict_proba(X)

    @fitted
    def posterior(self, X: Any) -> Posteriors:
        """Return the posterior of every cause for every row, with its method and accuracy.

        Up to 14 causes the sum is over all 2^m configurations. With more, rows with at most 14 present findings (16 if memory
        allows) have sums over subsets of these, and other rows are sampled until the standard error is near 0.01. With more
        than 60 causes, sums run over subsets of up to some 8 findings, and over likely configurations for rows with more;
        rows with too many likely configurations are sampled. A row takes less than 1 ms with up to 14 causes, and 5 to 30 ms
        with 15 to 60; a warning comes before this takes minutes.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or Blocks of shape (n_rows, n)
            1 present, 0 absent, NaN unknown, which is not the same as absent. Or lists of items, if findings have names; items
            that the model does not know are ignored.

        Returns
        -------
        Posteriors
            ``probabilities`` (n_rows, m), ``log_likelihood``, ``method`` and ``error`` (n_rows,).
        """
        present, observed = self._findings(X)
        return posteriors(self._network, present, observed, random_state=self._seed, n_jobs=self.n_jobs)

    @fitted
    def explain(self, x: Any) -> Diagnosis:
        """Return the posterior of one row, and which of its findings speak for each cause.

        Parameters
        ----------
        x : array-like of shape (n,) or (1, n), or a basket
            A row as in `posterior`, or the names of its items.

        Returns
        -------
        Diagnosis
        """
        if is_baskets([x]):
            x = [x]
        table = sparse.issparse(x) or hasattr(x, "columns") or isinstance(x, Blocks) or is_baskets(x)
        present, observed = self._findings(x if table else np.atleast_2d(array_of(x, "x")))
        if len(present) != 1:
            raise LatentiaError(f"x has {len(present)} rows; expected one row.")
        options: dict[str, Any] = {"random_state": self._seed, "n_jobs": self.n_jobs}
        posterior = posteriors(self._network, present, observed, **options)
        attribution = attributions(self._network, present[0], None if observed is None else observed[0], **options)
        exact, log_likelihood = bool(posterior.method[0] < SAMPLING), float(posterior.log_likelihood[0])
        return Diagnosis(posterior.probabilities[0], float(posterior.error[0]), exact, attribution, log_likelihood)

    @fitted
    def ask(self, x: Any, n: int = 5) -> list[Question]:
        """List the findings to ask for next, those first whose answers are expected to tell most about the causes.

        Each finding is judged alone. To ask several in turn, ask for the first, put its answer into ``x``, and call again.

        Parameters
        ----------
        x : array-like of shape (n_features,) or (1, n_features)
            The answers so far: 1 present, 0 absent, NaN not asked yet.
        n : int, default=5
            Number of findings.

        Returns
        -------
        list of Question
            ``finding``, ``number``, ``probability`` that it is present, ``gain`` in nats.

        Raises
        ------
        LatentiaError
            If all findings are known, or x has several rows.
        """
        n = check_size(n, "n")
        present, observed = self._findings(x if hasattr(x, "columns") else np.atleast_2d(array_of(x, "x")))
        if len(present) != 1 or observed is None:
            raise LatentiaError(
                "Expected one row with NaN for the findings that are still unknown; x "
                + ("has no NaN." if len(present) == 1 else f"has {len(present)} rows.")
            )
        network, names = self._network, self._finding_names()
        posterior = posteriors(network, present, observed, random_state=self._seed, n_jobs=self.n_jobs)
        probabilities, gains = questions(network, posterior.probabilities[0])
        unasked = np.flatnonzero(~observed[0])
        order = unasked[np.argsort(-gains[unasked], kind="stable")][:n]
        return [Question(names[i], int(i), float(probabilities[i]), float(gains[i])) for i in order]

    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> float:
        """Return the mean log-likelihood of a row in nats, a lower bound where rows are sampled; higher is better.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n), DataFrame or Blocks
            Rows with the findings of the fit.
        y : ignored
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the rows.

        Returns
        -------
        float
        """
        return weighted_mean(self.posterior(X).log_likelihood, sample_weight)

    @fitted
    def sample(self, n_samples: int = 1, random_state: Any = 0) -> tuple[np.ndarray, np.ndarray]:
        """Draw rows from the network, bool (n_samples, n), and the causes that are on in them, bool (n_samples, m).

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows.
        random_state : int, RandomState or Generator, default=0
            Seed of the draws.

        Returns
        -------
        X : ndarray of bool, shape (n_samples, n)
            Findings.
        causes : ndarray of bool, shape (n_samples, m)
            The causes that are on.
        """
        n_samples, rng = check_size(n_samples, "n_samples"), np.random.default_rng(seed_of(random_state))
        return noisy_or_rows(self.weights_, self.priors_, self.leak_, n_samples, rng)

    def _row_scores(self, X: Any) -> np.ndarray:
        return np.asarray(self.posterior(X).log_likelihood)

    def _draw_alike(self, X: Any, rng: np.random.Generator) -> np.ndarray:
        present, observed = self._findings(X)
        rows = self.sample(len(present), rng)[0].astype(np.float64)
        return rows if observed is None else np.where(observed, rows, np.nan)

    def _shares_by(self, X: Any, of_rows: np.ndarray, labels: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        return self.priors_, estimate_shares(self.predict_proba(X), self.priors_, of_rows, len(labels))

    def _fit_rest(self, X: Any) -> tuple[Any, int]:
        """Fit one cause more to X and drawn rows, in which the new cause is off: in X alone it is hardly ever."""
        present, observed = self._findings(X)
        rows = np.asarray(present, dtype=np.float64) if observed is None else np.where(observed, present, np.nan)
        drawn = [
            self._draw_alike(X, np.random.default_rng([self._seed, i])) for i in range(max(_N_DRAWN, 400 // len(rows)))
        ]
        blocks = Blocks.from_array(np.vstack([rows, *drawn]), names=self.column_names)
        wider = clone(self).set_params(n_components=len(self.priors_) + 1).fit(blocks)
        return wider, int(wider._distances(self).argmax())

    def _real_and_simulated(self, fitted: Fitted, rng: np.random.Generator) -> RealAndSimulated | None:
        (rows,) = sample_rows(fitted.rows)
        if rows.shape[1] > _MAX_DRAWN:
            return None
        real = np.asarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=np.float64)
        return RealAndSimulated(real, self._draw_alike(Blocks.from_array(real), rng), self.column_names or ())

    @property
    def cause_names_(self) -> list[str]:
        check_is_fitted(self)
        return [self._given_names.get(k, name) for k, name in enumerate(self._default_names())]

    @property
    def given_names(self) -> dict[int, str]:
        """Names that `name_causes` gave, by the numbers of their causes."""
        return dict(self._given_names)

    @fitted
    def name_causes(self, names: Mapping[int, str] | Sequence[str]) -> Self:
        """Name causes; `graph`, `write_bif`, reports and saved models then use the names.

        Parameters
        ----------
        names : dict of int to str, or sequence of m str
            Names of all causes (a sequence), or of some (a dict from number to name).

        Returns
        -------
        self
        """
        m = len(self.priors_)
        is_mapping = isinstance(names, Mapping)
        new_names = dict(names.items() if is_mapping else enumerate(list_of(names, "names")))  # type: ignore[union-attr]
        if not is_mapping and len(new_names) != m:
            raise LatentiaError(
                f"names has {len(new_names)} names; expected {m}, one for each cause, or a dictionary from number to name."
            )
        for k, name in new_names.items():
            if not isinstance(k, int | np.integer) or not 0 <= k < m:
                raise LatentiaError(f"names has a cause {k!r}; expected numbers from 0 to {m - 1}.")
            if not isinstance(name, str) or not name.strip():
                raise LatentiaError(f"The name of cause {k} is {name!r}; expected a text.")
        new_names = self._given_names | {int(k): name for k, name in new_names.items()}
        all_names = [new_names.get(k, name) for k, name in enumerate(self._default_names())]
        duplicates = [name for name in all_names if all_names.count(name) > 1]
        if duplicates:
            raise LatentiaError(f"Two causes are called {duplicates[0]!r}. Give different names.")
        self._given_names = new_names
        return self

    @fitted
    def graph(self, threshold: float = 0.05) -> list[Edge]:
        """List edges from causes to findings with a strength of at least ``threshold``, the strongest of each cause first.

        Parameters
        ----------
        threshold : float, default=0.05
            Smallest strength of an edge.

        Returns
        -------
        list of Edge
        """
        check_parameter("threshold", threshold, Number(0, 1, "both"))
        causes, findings = self.cause_names_, self._finding_names()
        edges = []
        for k, row in enumerate(self.strengths_):
            order = np.argsort(-row, kind="stable")
            order = order[(row[order] >= threshold) & (row[order] > 0)]
            edges += [Edge(causes[k], findings[i], float(row[i]), float(self.weights_[k, i])) for i in order]
        return edges

    @fitted
    def write_bif(self, path: str | os.PathLike[str], threshold: float = 0.05) -> None:
        """Write the network as a Bayes net in BIF, which pgmpy and others read, without edges weaker than ``threshold``.

        A finding's table has 2^parents columns; with more than 12 parents there is an error.

        Parameters
        ----------
        path : str or path
            File to write.
        threshold : float, default=0.05
            Strength below which an edge is left out.

        Raises
        ------
        LatentiaError
            If a finding has more than 12 parents.
        """
        write_bif(path, self._network, self.cause_names_, self._finding_names(), threshold)

    @property
    def _network(self) -> Network:
        """The network, cached with the tables of inference as long as its parameters are the same."""
        values = self.weights_, self.priors_, self.leak_
        key, cached = (*map(id, values), *(float(value.sum()) for value in values)), _CACHED_NETWORKS.get(self)
        if cached is None or cached[0] != key:
            cached = _CACHED_NETWORKS[self] = key, Network(*values)
        return cached[1]

    @property
    def _n_features_out(self) -> int:
        return len(self.priors_)

    def _default_names(self) -> list[str]:
        """Name each cause after the one or two findings of which it explains most, weighted by its strengths."""
        m = len(self.priors_)
        if self._column_names is None:
            return [f"cause {k}" for k in range(m)]
        present = 1 - (1 - self.leak_) * np.prod(1 - self.priors_[:, None] * self.strengths_, axis=0)
        information = self.strengths_**2 * self.priors_[:, None] / np.maximum(present, _MIN_FREQUENCY)
        names: list[str] = []
        for k, row in enumerate(information):
            naming = [
                i for i in np.argsort(-row, kind="stable")[:_N_NAMING] if self.strengths_[k, i] >= _MIN_NAMING_STRENGTH
            ]
            name = " + ".join(str(self._column_names[i]) for i in naming) or f"cause {k}"
            n_same = sum(earlier == name or earlier.startswith(f"{name} (") for earlier in names)
            names.append(f"{name} ({n_same + 1})" if n_same else name)
        return names

    def _finding_names(self) -> list[str]:
        names = self._column_names
        return [f"finding {i}" for i in range(self.n_features_in_)] if names is None else [str(name) for name in names]

    def _findings(self, X: Any) -> tuple[np.ndarray, np.ndarray | None]:
        """Return which findings are present, and which are known (None for all), both bool (n_rows, n)."""
        names = X.names if isinstance(X, Blocks) else None
        if names is not None and self._column_names is not None and list(names) != list(self._column_names):
            raise LatentiaError("The columns of the blocks differ from those of the fit, or have another order.")
        tables = [split_gaps(block[0], block.rows, self._column_names) for block in self._read(X, reset=False)]
        present = np.vstack([present_rows for present_rows, _ in tables])
        if all(missing is None for _, missing in tables):
            return present, None
        observed = [
            np.ones(present_rows.shape, bool) if missing is None else ~missing for present_rows, missing in tables
        ]
        return present, np.vstack(observed)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _check_fitted(self) -> None:
        names, k = self._given_names, len(self.weights_)
        if not all(0 <= i < k for i in names) or len(set(names.values())) < len(names):
            raise LatentiaError("_given_names are not those of causes")
