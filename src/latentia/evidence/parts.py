"""Fits on parts of the data, and what they say of the fit on all of it.

Write the answer as truth plus noise that is an average over rows. A fit on half of the rows has noise with twice the
variance, and the fit on all of them is near the mean of the two halves; so the distance of the full fit from a half fit
has the distribution of the distance of the full fit from the truth: sigma^2 (2 + 2) / 4 = sigma^2. No factor is needed.
What it cannot see is bias that all fits share, such as topics without anchor words.

A component's error is its distance to the nearest component of the half fit: a component that the data does not
support has no near one.
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
        Expected error of each component; None if no part could be fitted, or none was asked for.
    n_parts, n_failed : int
        Parts, and those on which the model could not be fitted.
    reason : str
        Why there are no errors, or why the last part failed.
    shared : float
        Mean square of what `widened` added, which more rows do not make smaller.
    """

    errors: np.ndarray | None
    n_parts: int = 0
    n_failed: int = 0
    reason: str = ""
    shared: float = 0.0

    def widened(self, bias: np.ndarray, most: float = np.inf) -> PartErrors:
        """The same with a bias of each component, shape (K,), that all parts share."""
        if self.errors is None:
            return self
        shared = self.shared + float(np.mean(np.square(bias)))
        return replace(self, errors=np.minimum(np.hypot(self.errors, bias), most), shared=shared)

    def at_least(self, errors: np.ndarray) -> PartErrors:
        """Return the errors where parts differ by more than ``errors``, shape (K,), and these elsewhere."""
        return self if self.errors is None else replace(self, errors=np.maximum(self.errors, errors))

    @classmethod
    def none(cls, reason: str = "Needs fits on parts of the data: call evidence_.stability(X).") -> PartErrors:
        """No errors, and why."""
        return cls(None, reason=reason)
