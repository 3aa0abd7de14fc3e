"""``--json``: a summary for programs, in place of what is printed for people."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

JSON = "--json"


def plain(value: Any) -> Any:
    """A value as JSON has it: records by their fields, fractions and paths as texts, and NaN and infinity as null."""
    if hasattr(value, "tolist"):  # of NumPy
        value = value.tolist()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {"kind": type(value).__name__} | {
            one.name: getattr(value, one.name) for one in dataclasses.fields(value)
        }
    elif hasattr(value, "_asdict"):
        value = {"kind": type(value).__name__} | value._asdict()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    return value if isinstance(value, bool | int | float | str | None) else str(value)
