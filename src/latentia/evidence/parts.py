"""Expected errors of a fit, from fits on parts of the data.

Write the answer as truth plus noise that is an average over rows. A fit on half of the rows has noise of twice the variance,
and the fit on all rows is near the mean of the two halves. So the distance between full fit and half fit has the distribution
of the distance between full fit and truth: sigma^2 (2 + 2) / 4 = sigma^2, without a factor. It cannot see bias that all fits
share, such as topics without anchor words.

The error of a component is its distance to the nearest component of the half fit: an unsupported component has no near one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class PartErrors:
    """Expected errors of a fit, from fits on parts of the data.

    Attributes
    ----------
    errors : ndarray of shape (K,) or None
        Expected error of each component; None if no part could be fitted or none was requested.
    n_parts, n_failed : int
        Number of parts, and of those on which the fit failed.
    reason : str
        Reason why there are no errors, or why the last part failed.
    shared : float
        Mean square of the bias that `widen` added, which more rows do not reduce.
    """

    errors: np.ndarray | None
    n_parts: int = 0
    n_failed: int = 0
    reason: str = ""
    shared: float = 0.0

    def widen(self, bias: np.ndarray, max_error: float = np.inf) -> PartErrors:
        """Return the errors widened by a bias of each component, shape (K,), that all parts share."""
        if self.errors is None:
            return self
        shared = self.shared + float(np.mean(np.square(bias)))
        return replace(self, errors=np.minimum(np.hypot(self.errors, bias), max_error), shared=shared)

    def raise_to(self, errors: np.ndarray) -> PartErrors:
        """Return errors that are at least ``errors``, shape (K,)."""
        return self if self.errors is None else replace(self, errors=np.maximum(self.errors, errors))

    @classmethod
    def missing(cls, reason: str = "Needs fits on parts of the data: call evidence_.stability(X).") -> PartErrors:
        """Return a record without errors, with the reason."""
        return cls(None, reason=reason)
