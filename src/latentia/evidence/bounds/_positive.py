"""Validation of the arguments of bounds."""

from __future__ import annotations

from ...exceptions import LatentiaError


def check_positive(**values: float) -> None:
    """Raise for the first value that is not above 0."""
    for name, value in values.items():
        if not value > 0:
            raise LatentiaError(f"{name}={value}: must be positive for the bound to be finite.")
