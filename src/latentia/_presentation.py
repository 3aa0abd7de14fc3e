"""Register of functions of higher layers that methods of estimators call without importing them."""

from collections.abc import Callable
from typing import Any

presenters: dict[str, Callable[..., Any]] = {}
"""Functions by the name of the method that calls them."""
