"""What the rooms above an estimator do for its methods: `latentia` says who, so that `latentia._base` imports none of them."""

from collections.abc import Callable
from typing import Any

shown_by: dict[str, Callable[..., Any]] = {}
"""By the name of a method the function that does it."""
