"""Topic models."""

from .anchor_topics import AnchorTopics

__all__ = ["AnchorTopics"]
