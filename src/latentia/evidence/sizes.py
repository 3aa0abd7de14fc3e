"""How many components: one rule for all families, by the grades of fits and by how well they predict rows that were held out.

A number whose fit is *not supported* is never taken while another number's fit has a better grade, nor one of whose components
some cannot be used while another number's fit is *supported*. Of the others it is the smallest one whose held-out
log-likelihood is within one standard error of the best, of differences in the same rows, and at most .02 nats a row below it:
likelihood goes on rising a little long after components have become arbitrary.

Where a family has no likelihood, or fits have no halves, the grades and the expected error decide: too many components are
within the noise, and the error jumps. So the largest number of the best grade is taken before it jumps for good; where fits are
partly supported at best, the largest with about the least error, and where none is supported, the one with the least among
those that predict better than a model without components, if any do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .checks import number_text
from .evidence import Evidence
from .grades import GRADES, Grade

CANDIDATES = (2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 17, 20, 24, 29, 35, 42, 50, 60, 72, 86, 100)
"""Numbers of components that "auto" compares, a fifth apart where there are many."""

_JUMP = 1.7  # times the error before it, in limits,
_FROM = 0.25  # and from a quarter of the limit on
_AS_GOOD = 1.1  # times the least error
_HOPELESS = 4  # sizes in a row of a worse grade, or of errors well above the least one, after one that is better
_WELL_ABOVE = 1.25
_UP, _DOWN = 0.15, 0.75  # to the next numbers beyond those compared
_MOST_BELOW = 0.02  # nats a row below the best held-out likelihood


@dataclass(frozen=True)
class Size:
    """The evidence of a fit with a given number of components.

    Attributes
    ----------
    n_components : int
    grade : Grade
    expected_error, limit : float or None
    goodness : float or None
        What the components leave of the moments, over noise.
    vetoed : bool
        Whether a veto failed: the fit predicts no better than a model without components, for instance.
    held_out : ndarray or None
        Log-likelihood of rows, or groups of rows, that were not learned from, the same ones for all numbers; nats a row.
    """

    n_components: int
    grade: Grade
    expected_error: float | None
    limit: float | None
    goodness: float | None = None
    vetoed: bool = False
    held_out: np.ndarray | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, n_components: int, evidence: Evidence) -> Size:
        """From the evidence of a fit, on its components."""
        evidence = evidence.topics or evidence
        fit = next((check for check in evidence.checks if check.name == "goodness of fit"), None)
        goodness = fit.measured if fit is not None and isinstance(fit.measured, (int, float)) else None
        held_out = next((check.held_out for check in evidence.checks if check.held_out is not None), None)
        vetoed = any(check.role == "veto" and check.holds is False for check in evidence.checks)
        return cls(n_components, evidence.grade, evidence.expected_error, evidence.limit, goodness, vetoed, held_out)

    @property
    def ratio(self) -> float:
        """Expected error over its limit; infinite where it was not measured."""
        if self.expected_error is None or not self.limit:
            return float("inf")
        return self.expected_error / self.limit

    @property
    def error(self) -> float:
        """Expected error; infinite where it was not measured."""
        return float("inf") if self.expected_error is None else self.expected_error

    def row(self) -> dict[str, Any]:
        """As a row of a table."""
        return {
            "n_components": self.n_components,
            "grade": self.grade,
            "expected error": self.expected_error,
            "limit": self.limit,
            "goodness of fit": self.goodness,
            "held out": None if self.held_out is None else float(self.held_out.mean()),
        }


def enough_sizes(sizes: Sequence[Size]) -> bool:
    """Whether larger numbers need not be tried: four in a row are worse than the best.

    By held-out likelihood, where there is one: none of the four would be taken. Else in grade or by a quarter in their error:
    components that stand for several each make small numbers bad, so that the best one must be partly supported.
    """
    if len(sizes) <= _HOPELESS:
        return False
    if _comparable(sizes):
        best = max(sizes, key=_mean_held_out)
        return best not in sizes[-_HOPELESS:] and not any(_as_likely(size, best) for size in sizes[-_HOPELESS:])
    best = min(sizes, key=lambda size: (GRADES.index(size.grade), size.error))
    worse = [size.grade != best.grade or size.error > _WELL_ABOVE * best.error for size in sizes[-_HOPELESS:]]
    return best.grade != "not supported" and all(worse)


def beyond(sizes: Sequence[Size]) -> int | None:
    """The number to compare next, where the best one is at an end of those compared; None elsewhere.

    It is a larger one only where the error of the best is within its limit: on real data likelihood may rise without end.
    Without likelihoods it is a smaller one, too, where no number can be used.
    """
    tried = sorted(size.n_components for size in sizes)
    best = recommend(sizes)[0]
    size = next(size for size in sizes if size.n_components == best)
    usable, likely = size.grade in ("supported", "with care"), _comparable(sizes)
    if best in tried[-2:] and (usable or (likely and size.ratio <= 1)):
        return tried[-1] + max(1, round(_UP * tried[-1]))
    if tried[0] > 1 and (best == tried[0] or not (usable or likely)):
        return max(1, int(_DOWN * tried[0]))
    return None


def all_sizes(sizes: Iterable[int], found: Sequence[Size]) -> Iterable[int]:
    """These numbers."""
    return sizes


def until_enough(sizes: Iterable[int], found: Sequence[Size]) -> Iterator[int]:
    """These numbers, one by one, until ``found``, which grows meanwhile, has `enough_sizes`."""
    for size in sizes:
        yield size
        if enough_sizes(found):
            return


def and_beyond(sizes: Iterable[int], found: Sequence[Size]) -> Iterator[int]:
    """These numbers, one by one, and more `beyond` them by what ``found``, which grows meanwhile, has."""
    yield from sizes
    while (size := beyond(found)) is not None:
        yield size


def recommend(sizes: Sequence[Size], many: str = "components") -> tuple[int, str]:
    """The number of components to take, and why, in a sentence.

    Parameters
    ----------
    sizes : sequence of Size
    many : str
        What several components are called.
    """
    ordered = sorted(sizes, key=lambda size: size.n_components)
    grades = {size.grade for size in ordered}
    wanting = {"not supported", "partly"} if "supported" in grades else {"not supported"}
    usable = [size for size in ordered if size.grade not in wanting] or ordered
    if _comparable(usable):
        most_likely = max(usable, key=_mean_held_out)
        chosen = next(size for size in usable if size is most_likely or _as_likely(size, most_likely))
        return chosen.n_components, _reason(chosen, most_likely, many)
    best = min((size.grade for size in ordered), key=GRADES.index)
    of_best = [size for size in ordered if size.grade == best]
    if best in ("supported", "with care"):
        chosen = of_best[0]
        jumped = False
        for size in of_best[1:]:
            jumped |= size.ratio > _FROM and size.ratio > _JUMP * chosen.ratio
            if not jumped or size.ratio <= _AS_GOOD * chosen.ratio:
                chosen, jumped = size, False
        why = "the most that the evidence supports" + (" with care" if best == "with care" else "")
        why += " before the expected error jumps" if chosen is not of_best[-1] else ""
    else:
        of_best = [size for size in of_best if not size.vetoed] or of_best
        least = min(size.error for size in of_best)
        near = _AS_GOOD if best == "partly" else 1.0
        chosen = [size for size in of_best if size.error <= near * least][-1]
        why = "the largest number whose error is close to the lowest"
        why = why if best == "partly" else "the least expected error, but the evidence supports none of these numbers"
    error = "not measured" if chosen.expected_error is None else number_text(chosen.expected_error)
    limit = "" if chosen.limit is None else f", limit {number_text(chosen.limit)}"
    return chosen.n_components, f"{chosen.n_components} {many}: {why} (expected error {error}{limit}, {chosen.grade})."


def _comparable(sizes: Sequence[Size]) -> bool:
    """Whether all have the likelihoods of the same rows."""
    lengths = {None if size.held_out is None else len(size.held_out) for size in sizes}
    return None not in lengths and len(lengths) == 1 and all(np.isfinite(_mean_held_out(size)) for size in sizes)


def _mean_held_out(size: Size) -> float:
    return -np.inf if size.held_out is None else float(size.held_out.mean())


def as_likely(held_out: np.ndarray, best: np.ndarray) -> bool:
    """Return True if rows are as likely as under the best model: within a paired standard error, and .02 nats a row."""
    below = best - held_out
    error = float(below.std()) / np.sqrt(max(len(below) - 1, 1))
    return float(below.mean()) <= min(error, _MOST_BELOW)


def _as_likely(size: Size, best: Size) -> bool:
    assert size.held_out is not None
    assert best.held_out is not None
    return as_likely(size.held_out, best.held_out)


def _reason(chosen: Size, best: Size, many: str) -> str:
    """The number and why it was taken."""
    likely = f"held-out log-likelihood {number_text(_mean_held_out(chosen))} a row"
    if chosen is best:
        why = f"the best {likely}"
    else:
        why = (
            f"the smallest with about the best {likely} ({best.n_components} have {number_text(_mean_held_out(best))})"
        )
    none = "; the evidence supports none of these numbers" if chosen.grade == "not supported" else ""
    return f"{chosen.n_components} {many}: {why} ({chosen.grade}{none})."


def falls(promised: Size, final: Size) -> bool:
    """Whether the fit of all rows has a worse grade than that of some promised."""
    return GRADES.index(final.grade) > GRADES.index(promised.grade)
