"""Numbers that stand for missing answers: -9, 99, 999, which surveys write where nothing was measured."""

from __future__ import annotations

import numpy as np

_POSITIVE_CODES = (
    [7, 8, 9, 66, 77, 88, 96, 97, 98, 99, 666, 777, 888, 997, 998, 999, 9997, 9998, 9999, 99_999, 999_999]
    + [99.9, 999.9, 99.99, 999.99]
)  # fmt: skip
_CODES = frozenset({sign * code for sign in (-1.0, 1.0) for code in _POSITIVE_CODES} | {-1.0, -999.25})
_MAX_CODES = 4  # at each end of a column
_MIN_REPEATS = 2  # cells that hold a code
_MIN_RELATIVE_GAP = 0.5  # between a code and the other values, as a share of their spread
_N_TAIL_VALUES, _MIN_GAP_RATIO = 20, 3  # A code lies three usual gaps beyond the 20 distinct values next to it.
_MAX_SCALE_VALUE = 10  # A smaller code belongs to a scale of answers: a few whole numbers.
_SCORE_STEP = 5  # Where all scores are multiples of it, another number is a code.
_MIN_SINGLE_GAP = 3  # gap beyond which a single answer is a code
_MAX_WHOLE_SHARE = 0.5  # of whole numbers among fractions; below it a whole number can be a code
_MIN_MODE_RATIO = 4  # A code between the other values is four times as frequent as any of them.
_SPREAD_QUANTILES = 0.25, 0.75
_SAMPLE_SIZE = 5000


def suspect_codes(values: np.ndarray) -> tuple[str, ...]:
    """Find the values of a column that may be codes of missing answers.

    A code is one of the numbers that surveys use. It is the largest value, or negative and the smallest, and stands apart from
    the other values: among whole numbers its neighbour is absent; among fractions it is far away or the only whole number.

    Parameters
    ----------
    values : ndarray
        Numbers.

    Returns
    -------
    tuple of str
        The codes as text, the largest first.
    """
    codes: list[float] = []
    remaining = values
    for end in (np.max, np.min):
        for _ in range(_MAX_CODES):
            code = float(end(remaining)) if len(remaining) else 0.0
            if code not in _CODES or (end is np.min and code > 0):
                break
            other_values = remaining[remaining != code]
            if not len(other_values) or not _stands_out(code, other_values, len(remaining) - len(other_values)):
                break
            codes.append(code)
            remaining = other_values
    codes += _find_mode_codes(remaining)
    return tuple(f"{code:.15g}" for code in sorted(codes, reverse=True))


def _find_mode_codes(values: np.ndarray) -> list[float]:
    """Return a code among the other values that is several times as frequent as any of them."""
    distinct, times = np.unique(values, return_counts=True)
    if len(distinct) <= _MAX_SCALE_VALUE:
        return []
    mode, second = float(distinct[times.argmax()]), int(np.partition(times, -2)[-2])
    often = times.max() >= _MIN_MODE_RATIO * second
    return [mode] if often and mode in _CODES and abs(mode) >= _MAX_SCALE_VALUE else []


def _stands_out(code: float, other_values: np.ndarray, times: int) -> bool:
    """Return True if the smallest or largest value stands apart from the others."""
    above = code > float(other_values.max())
    nearest = float(other_values.max() if above else other_values.min())
    low, high = np.quantile(other_values, _SPREAD_QUANTILES)
    spread = max(float(high - low), float(np.ptp(other_values)) / 10)
    gap = abs(code - nearest)
    share = float((other_values[:_SAMPLE_SIZE] % 1 == 0).mean())
    all_whole = share == 1
    if code < 0 and nearest >= 0:
        return code != -1 or float(other_values.max()) > 1  # -1, 0 and 1 are a scale
    farther_values = other_values[other_values != nearest]
    if nearest in _CODES and gap <= 2 and len(farther_values) and _stands_out(nearest, farther_values, _MIN_REPEATS):
        return True  # 98 beside 99 is another code if it stands apart from the rest as well.
    if all_whole and code % _SCORE_STEP and not (other_values % _SCORE_STEP).any():
        return True  # 99 among 10, 20 and 85.
    if abs(code) < _MAX_SCALE_VALUE:
        values = np.unique(other_values)
        steps = float(np.diff(values).max()) if len(values) > 1 else 0.0
        is_isolated = gap > max(1.0, steps) and (times >= _MIN_REPEATS or gap >= _MIN_SINGLE_GAP)
        return all_whole and is_isolated and len(values) < _MAX_SCALE_VALUE
    if share < _MAX_WHOLE_SHARE and code == round(code) and times >= _MIN_REPEATS:
        return gap > _MIN_RELATIVE_GAP / 5 * spread
    often = times >= 2 * _MIN_REPEATS and times > 2 * int((other_values == nearest).sum())
    return gap > max(min(_MIN_RELATIVE_GAP * spread, _MIN_GAP_RATIO * _usual_gap(other_values, above)), 1.0) or (
        all_whole and gap > 1 and often
    )


def _usual_gap(values: np.ndarray, above: bool) -> float:
    """Return the mean gap between the distinct values at one end, without the largest."""
    distinct = np.unique(values)
    gaps = np.sort(np.diff(distinct[-_N_TAIL_VALUES:] if above else distinct[:_N_TAIL_VALUES]))[:-1]
    return float(gaps.mean()) if len(gaps) else np.inf
