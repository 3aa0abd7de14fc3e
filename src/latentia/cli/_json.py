"""``--json``: a summary for programs, in place of what is printed for people."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Any

JSON = "--json"


def plain(value: Any) -> Any:
    """A value as JSON has it; NaN and infinity, which it has not, become null."""
    if hasattr(value, "tolist"):  # of NumPy
        value = value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return os.fspath(value) if isinstance(value, os.PathLike) else value
