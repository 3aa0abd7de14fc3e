"""Overlapping communities in graphs."""

from .block_model import MixedMembershipBlockModel

__all__ = ["MixedMembershipBlockModel"]
