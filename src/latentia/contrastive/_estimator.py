"""What the estimators of one component of two views share: parameters, the fit up to the covariance of s1, and evidence."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from .._base import Estimator, halves_of_rows
from .._parameters import Choice as OneOf
from .._parameters import Constraint, Integer, OrNone
from ..evidence import Check, Evidence, Misfit, PartErrors, PartFits, above, at_least, error_checks
from ..exceptions import LatentiaError
from ..passes import Blocks
from ._extract import Extracted, extract, parts_of_cumulant
from ._linear_map import Choice, Signal, choose, held_out_share
from ._views import JointMoments, two_views, view_table

__all__ = ["CONSTRAINTS", "ContrastiveEstimator", "Order"]

_FROM_NOISE = 4.0  # standard deviations of the shared signal, which Gaussian views seldom have
_TOLD = 0.25  # of the noise, from which on a shared direction is told from none


@dataclass(frozen=True)
class Order:
    """The order of the cumulants: 3, 4 or "auto"."""

    needed: str = "3, 4 or 'auto' is needed"

    def allows(self, value: Any) -> bool:
        return (isinstance(value, str) and value == "auto") or Integer(3, 4).allows(value)


CONSTRAINTS: Mapping[str, Constraint] = {
    "method": OneOf("auto", "bls", "gtls", "eq2"),
    "order": Order(),
    "n_shared": OrNone(Integer(1)),
}


class ContrastiveEstimator(Estimator):
    """Base: a model of s1 in u = s1 + s2, v = A s2 + s3.

    A family says what it learns from the covariance, cumulants and target of s1, and how far two answers are apart.
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = CONSTRAINTS
    _target: ClassVar[bool] = False
    _limit: ClassVar[float] = 0.3
    _most: ClassVar[float] = np.inf
    _symbol: ClassVar[str] = "mean relative error"
    _unit: ClassVar[str] = "relative to its size"

    linear_map_: np.ndarray
    inverse_map_: np.ndarray
    mean_: np.ndarray
    n_features_v_: int

    # --- what a family writes -----------------------------------------------------------------------------------

    @abstractmethod
    def _learn(self, own: Own) -> Any:
        """What the moments of s1 say, as a record or an array."""

    @abstractmethod
    def _keep(self, learned: Any, own: Own) -> None:
        """Set the attributes."""

    @abstractmethod
    def _apart(self, learned: Any, other: Any) -> np.ndarray:
        """Distance of each component of one answer from another one, shape (K,), in the unit of the expected error."""

    def _accuracy(self, learned: Any) -> float:
        """Limit of the expected error."""
        return self._limit

    def _more_checks(self, learned: Any, own: Own, blocks: Blocks) -> list[Check]:
        """Lines of its own."""
        return []

    # --- the fit ------------------------------------------------------------------------------------------------

    def _fit(self, U: Any, V: Any, y: Any = None) -> Any:
        """Find the shared part, remove it from the moments of u, and learn from what is left."""
        blocks = two_views(self, U, V, self._checked_target(y), target=self._target)
        # Two passes: columns, and joint moments of four groups of rows.
        moments = JointMoments(blocks, self._seed, n_jobs=self.n_jobs, progress=self.verbose)  # type: ignore[attr-defined]
        choice, signal = choose(moments, self.method, self.order, self.n_shared)  # type: ignore[attr-defined]
        # The linear map, the moments of s1 and what they say, for all rows and for parts of them.
        fits: PartFits[Any, Any] = PartFits(
            moments.dealt,
            recover=lambda groups: Own(moments, extract(moments, groups, choice)),
            finish=lambda own, groups: self._learn(own),
            distance=self._apart,
            most=self._most,
        )
        own, learned = fits.whole()
        self._keep(learned, own)
        self.linear_map_, self.inverse_map_, self.mean_ = own.linear_map, own.inverse_map, own.mean_u
        self._mean_v, self._own_given_views = own.mean_v, own.given_views
        self.n_passes_ = moments.n_passes
        # Evidence. What parts of the data cannot see is how far the answer is pulled towards no correction.
        pull = self._apart(learned, self._learn(own.alternative()))
        parts = fits.errors(learned, self.n_splits).widened(pull, self._most)  # type: ignore[attr-defined]
        checks = self._checks(learned, own, parts, signal, choice) + self._more_checks(learned, own, blocks)
        self.evidence_ = Evidence(checks, parts.errors).bind(self)
        return self

    def _checked_target(self, y: Any) -> Any:
        return y

    def _checks(self, learned: Any, own: Own, parts: PartErrors, signal: Signal, choice: Choice) -> list[Check]:
        moments = own.moments
        rank, d = choice.n_shared, moments.n_views
        misfit = Misfit.of(signal.left, signal.left_noise, max(signal.whole, 0.0), (d - rank) * rank)
        singular = np.linalg.svd(own.found.map.forward, compute_uv=False)[:rank]
        kappa = f"kappa_{signal.order}"
        return [
            *error_checks(
                parts, self._accuracy(learned), self._symbol, self._unit, self._nouns[0], n_rows=own.found.sums.n
            ),
            *misfit.checks(0.0, "shared directions"),
            Check(
                "shared cumulant above noise", f"|{kappa}| / sd", signal.deviations, above(_FROM_NOISE, "noise"),
                f"The cross-cumulants of order {signal.order} of both views, in standard deviations of their noise. They are "
                "all that the shared part is told by; a Gaussian one has none.",
                "Lemma 3.1", "veto",
                "Nothing tells the shared part: it looks Gaussian, or the rows are too few. Use V as covariates.",
            ),
            Check(
                "held-out cumulants explained", "share", held_out_share(moments, choice), above(0.0, "none"),
                "How much of the cumulants of V, of other rows than A was learned from, A explains from those of U; one where "
                "the model holds.",
                "not in the paper", "veto",
                "The linear map says nothing of other rows: do not use it.",
            ),
            Check(
                "weakest shared direction", "signal / noise", float(signal.strengths[-1]), at_least(_TOLD),
                f"Of {rank} shared directions the one whose cumulants are least above their noise: what it adds to U may "
                "remain.",
                "Lemma 3.1", "caution",
                "Some shared directions are not told from noise: give n_shared, the number of those that there are, fewer "
                "columns, or more rows.",
            ),
            Check(
                "conditioning of A", "sigma_1 / sigma_r", float(singular[0] / max(singular[-1], np.finfo(float).tiny)), None,
                "Largest over smallest singular value of A, columns in unit variance: errors grow with its square.",
                "Lemma B.3",
            ),
            Check(
                "linear map", choice.inverse, float(choice.order), None,
                "Order of the cumulants that it comes from. gtls: total least squares, where the signal is clearly above the "
                "noise; bls: least squares for the inverse, which falls back to regression on V where it is not.",
                "section 3.1",
            ),
        ]  # fmt: skip

    def _halves(self, X: Any, random_state: int, **fit_parameters: Any) -> list[dict[str, Any]]:
        return [{"U": half.pop("X"), **half} for half in halves_of_rows(random_state, X=X, **fit_parameters)]

    # --- use ----------------------------------------------------------------------------------------------------

    def _own_rows(self, U: Any, V: Any) -> np.ndarray:
        """Rows of s1: with V the best linear estimate from both views; without, U is taken to be s1 itself."""
        if V is None and not isinstance(U, Blocks):
            table = view_table(U, "U")
            if table.shape[1] != self.n_features_in_:
                raise LatentiaError(
                    f"U has {table.shape[1]} features and the model was fitted on {self.n_features_in_}."
                )
            return table
        blocks = two_views(self, U, V, reset=False)
        center = np.concatenate([self.mean_, self._mean_v])
        return self.mean_ + np.vstack([(np.hstack(block[:2]) - center) @ self._own_given_views.T for block in blocks])


@dataclass(frozen=True)
class Own:
    """Moments of s1 in the units of the data."""

    moments: JointMoments
    found: Extracted

    def alternative(self) -> Own:
        """If what the linear map may miss of the shared part is removed as well."""
        found = self.found
        other = replace(found.map, forward=found.map.unbiased)
        return replace(self, found=replace(found, covariance=found.alternative, map=other))

    @property
    def scale(self) -> np.ndarray:
        """Standard deviations of the columns of u, shape (d_u,)."""
        return self.moments.scale[self.moments.u]

    @property
    def covariance(self) -> np.ndarray:
        """Of s1, shape (d_u, d_u)."""
        return self.found.covariance * np.outer(self.scale, self.scale)

    @property
    def target(self) -> np.ndarray:
        """Covariance of s1 with y, shape (d_u,)."""
        assert self.found.target is not None
        return self.found.target * self.scale * self.moments.scale[self.moments.y]

    @property
    def mean_u(self) -> np.ndarray:
        m = self.moments
        return np.asarray(m.center[m.u] + self.found.sums.mean[m.u] * m.scale[m.u])

    @property
    def mean_v(self) -> np.ndarray:
        m = self.moments
        return np.asarray(m.center[m.v] + self.found.sums.mean[m.v] * m.scale[m.v])

    @property
    def mean_y(self) -> float:
        m = self.moments
        return float((m.center[m.y] + self.found.sums.mean[m.y] * m.scale[m.y])[0])

    @property
    def linear_map(self) -> np.ndarray:
        """A, shape (d_v, d_u)."""
        return np.asarray(self.found.map.forward * self.moments.scale[self.moments.v][:, None] / self.scale)

    @property
    def inverse_map(self) -> np.ndarray:
        """B, shape (d_u, d_v)."""
        return np.asarray(self.found.map.inverse * self.scale[:, None] / self.moments.scale[self.moments.v])

    @property
    def given_views(self) -> np.ndarray:
        """Weights of the best linear estimate of s1 from u and v, shape (d_u, d_u + d_v)."""
        m, d = self.moments, self.moments.n_views
        joint = self.found.sums.covariance[:d, :d]
        crossed = np.zeros((m.widths[0], d))
        crossed[:, m.u] = self.found.covariance
        weights = np.linalg.solve(joint, crossed.T).T
        return np.asarray(weights * self.scale[:, None] / m.scale[:d])

    def cumulant(self, order: int) -> np.ndarray:
        """Third or fourth cumulant of s1, in units of the columns' standard deviations: equation 3."""
        joint = self.moments.tensor(self.found.groups, order)
        return parts_of_cumulant(joint, self.found.map.forward, self.found.map.inverse, 1, False)
