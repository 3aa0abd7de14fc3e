"""Numbers that stand for missing answers: -9, 99, 999, which surveys write where nothing was measured."""

from __future__ import annotations

import numpy as np

_USUAL = (
    [7, 8, 9, 66, 77, 88, 96, 97, 98, 99, 666, 777, 888, 997, 998, 999, 9997, 9998, 9999, 99_999, 999_999]
    + [99.9, 999.9, 99.99, 999.99]
)  # fmt: skip
_CODES = frozenset({sign * code for sign in (-1.0, 1.0) for code in _USUAL} | {-1.0, -999.25})
_ROUNDS = 4  # codes of one column at each end
_LEAST = 2  # cells of a code, or a share of them below
_GAP = 0.5  # of the spread of the other values, beyond which a number is no neighbour of these
_SPREAD = 0.25, 0.75
_SAMPLED = 5000


def suspect_codes(values: np.ndarray) -> tuple[str, ...]:
    """Find the values of a column that may be codes of missing answers.

    A code is the largest or the least value, one of the numbers that surveys use, and no neighbour of the others: of whole
    numbers the next one is not there, and of others it is far away or the only one that is whole.

    Parameters
    ----------
    values : ndarray
        Numbers.

    Returns
    -------
    tuple of str
        As numbers are written, the largest first.
    """
    found: list[float] = []
    rest = values
    for end in (np.max, np.min):
        for _ in range(_ROUNDS):
            code = float(end(rest)) if len(rest) else 0.0
            if code not in _CODES:
                break
            others = rest[rest != code]
            if not len(others) or not _stands_out(code, others, len(rest) - len(others)):
                break
            found.append(code)
            rest = others
    return tuple(f"{code:.15g}" for code in sorted(found, reverse=True))


def _stands_out(code: float, others: np.ndarray, times: int) -> bool:
    """Return True if a value at the end of the others is no neighbour of these."""
    above = code > float(others.max())
    nearest = float(others.max() if above else others.min())
    low, high = np.quantile(others, _SPREAD)
    spread = max(float(high - low), float(np.ptp(others)) / 10)
    gap = abs(code - nearest)
    whole = bool((others[:_SAMPLED] % 1 == 0).all())
    if code < 0 and nearest >= 0:
        return code != -1 or float(others.max()) > 1  # -1, 0 and 1 are a scale
    if abs(code) < 10:
        values = np.unique(others)
        steps = float(np.diff(values).max()) if len(values) > 1 else 0.0
        return whole and gap > max(1.0, steps) and times >= _LEAST and len(values) <= 9
    if nearest in _CODES and gap <= 2:
        # 98 beside 99 is another code, if that in turn is no neighbour of the rest.
        more = others[others != nearest]
        return bool(len(more)) and _stands_out(nearest, more, _LEAST)
    if not whole and code == round(code) and times >= _LEAST:
        return gap > _GAP / 5 * spread
    return gap > max(_GAP * spread, 1.0) or (
        whole and gap > 1 and times >= 2 * _LEAST and times > 2 * int((others == nearest).sum())
    )
