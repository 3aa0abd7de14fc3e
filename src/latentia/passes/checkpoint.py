"""What a pass needs in order to be resumed: the place it had reached and the sums so far."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

__all__ = ["Checkpoint", "PassState"]


@dataclass
class PassState:
    """A pass in progress.

    Attributes
    ----------
    next_block : int
        Number of the first block that has not been folded in.
    sums : list
        One entry a statistic: the stack of (level, partial sum) of a small one, the sum itself of a large one.
    """

    next_block: int = 0
    sums: list[Any] = field(default_factory=list)


class Checkpoint(Protocol):
    """Where `accumulate` keeps the state of a pass. A pass that is resumed gives the same bits as one that is not."""

    def load(self) -> PassState | None:
        """The state to resume from, or None to start anew."""

    def save(self, state: PassState) -> None:
        """Called after every window of blocks. The state is only valid during the call: write it or copy it."""
