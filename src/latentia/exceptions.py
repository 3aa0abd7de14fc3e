"""Errors and warnings: each says what was found, where, and what to do."""

from __future__ import annotations

__all__ = [
    "AnchorWarning",
    "DroppedDataWarning",
    "EvidenceWarning",
    "LatentiaError",
    "LatentiaWarning",
    "MissingExtraError",
    "NegativeRecoveryWarning",
    "NonIntegerCountWarning",
]


class LatentiaError(ValueError):
    """Input or parameters that cannot be used. A `ValueError`, so that existing handlers catch it."""


class MissingExtraError(LatentiaError, ImportError):
    """An optional package is not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package {package!r}, which is not installed. "
            f"Install it with: pip install 'latentia[{extra}]'"
        )


class LatentiaWarning(UserWarning):
    """Base of every warning that this library raises."""


class AnchorWarning(LatentiaWarning):
    """Anchor words that were asked for are missing, too rare, or repeated."""


class DroppedDataWarning(LatentiaWarning):
    """Rows or columns that the model cannot use were left out."""


class EvidenceWarning(LatentiaWarning):
    """An assumption of the method's theorem does not hold on this data."""


class NegativeRecoveryWarning(LatentiaWarning):
    """A recovery by matrix inversion produced negative probabilities, which were clipped."""


class NonIntegerCountWarning(LatentiaWarning):
    """Counts were expected and the values are not whole numbers."""
