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
_TAIL, _GAPS = 20, 3  # distinct values beside a code, and how many of their usual gaps lie between them and it
_LIKERT = 10  # A smaller code is one of answers, which are few whole numbers.
_ROUND = 5  # Scores that are all multiples of it have no other.
_LONE = 3  # gap that makes a code of a single answer
_WHOLE = 0.5  # of fractions, of which a code is told by being whole
_MODE = 4  # times that a code inside of the other values is as frequent as any of these
_SPREAD = 0.25, 0.75
_SAMPLED = 5000


def suspect_codes(values: np.ndarray) -> tuple[str, ...]:
    """Find the values of a column that may be codes of missing answers.

    A code is the largest value, or the least one and negative, one of the numbers that surveys use, and no neighbour of the
    others: of whole numbers the next one is not there, and of others it is far away or the only one that is whole.

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
            if code not in _CODES or (end is np.min and code > 0):
                break
            others = rest[rest != code]
            if not len(others) or not _stands_out(code, others, len(rest) - len(others)):
                break
            found.append(code)
            rest = others
    found += _modes(rest)
    return tuple(f"{code:.15g}" for code in sorted(found, reverse=True))


def _modes(values: np.ndarray) -> list[float]:
    """Return a code that stands between the other values and is several times as frequent as any of them."""
    distinct, times = np.unique(values, return_counts=True)
    if len(distinct) <= _LIKERT:
        return []
    mode, second = float(distinct[times.argmax()]), int(np.partition(times, -2)[-2])
    often = times.max() >= _MODE * second
    return [mode] if often and mode in _CODES and abs(mode) >= _LIKERT else []


def _stands_out(code: float, others: np.ndarray, times: int) -> bool:
    """Return True if a value at the end of the others is no neighbour of these."""
    above = code > float(others.max())
    nearest = float(others.max() if above else others.min())
    low, high = np.quantile(others, _SPREAD)
    spread = max(float(high - low), float(np.ptp(others)) / 10)
    gap = abs(code - nearest)
    share = float((others[:_SAMPLED] % 1 == 0).mean())
    whole = share == 1
    if code < 0 and nearest >= 0:
        return code != -1 or float(others.max()) > 1  # -1, 0 and 1 are a scale
    more = others[others != nearest]
    if nearest in _CODES and gap <= 2 and len(more) and _stands_out(nearest, more, _LEAST):
        return True  # 98 beside 99 is another code, as it is no neighbour of the rest either.
    if whole and code % _ROUND and not (others % _ROUND).any():
        return True  # 99 among 10, 20 and 85.
    if abs(code) < _LIKERT:
        values = np.unique(others)
        steps = float(np.diff(values).max()) if len(values) > 1 else 0.0
        apart = gap > max(1.0, steps) and (times >= _LEAST or gap >= _LONE)
        return whole and apart and len(values) < _LIKERT
    if share < _WHOLE and code == round(code) and times >= _LEAST:
        return gap > _GAP / 5 * spread
    often = times >= 2 * _LEAST and times > 2 * int((others == nearest).sum())
    return gap > max(min(_GAP * spread, _GAPS * _usual_gap(others, above)), 1.0) or (whole and gap > 1 and often)


def _usual_gap(values: np.ndarray, above: bool) -> float:
    """Return the mean gap between the distinct values at one end, without the largest."""
    distinct = np.unique(values)
    gaps = np.sort(np.diff(distinct[-_TAIL:] if above else distinct[:_TAIL]))[:-1]
    return float(gaps.mean()) if len(gaps) else np.inf
