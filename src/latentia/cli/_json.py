"""``--json``: a summary for programs instead of the printed text."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

JSON = "--json"


def plain(value: Any) -> Any:
    """Convert a value for JSON: records to dicts of their fields, fractions and paths to text, NaN and infinity to null."""
    if hasattr(value, "tolist"):  # A NumPy array or number.
        value = value.tolist()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {"kind": type(value).__name__} | {
            field.name: getattr(value, field.name) for field in dataclasses.fields(value)
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
