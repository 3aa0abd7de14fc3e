"""Functions of higher rooms that methods of estimators call; `latentia` registers them, so that no estimator imports them."""

from collections.abc import Callable
from typing import Any

presenters: dict[str, Callable[..., Any]] = {}
"""By the name of a method the function that does it."""
