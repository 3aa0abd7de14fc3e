"""Number of components: one rule for all families, from the grades of fits and their held-out likelihood.

A number whose fit is *not supported* is never chosen if another fit has a better grade, nor one whose fit is *partly* supported
if another is *supported* or can be used *with care*. Among the others, the rule chooses the smallest number whose held-out
log-likelihood is within one standard error of the best (of differences in the same rows) and at most .02 nats a row below it:
likelihood keeps rising a little long after components have become arbitrary.

If a family has no likelihood, or fits have no halves, the grades and the expected error decide: with too many components the
error jumps. The rule chooses the largest number of the best grade before the error jumps for good. If fits are partly supported
at best, it chooses the largest number with about the lowest error; if none is supported, the one with the lowest error among
those that predict better than a model without components, if there are any.
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

_JUMP_FACTOR = 1.7  # an error jumps if it exceeds the one before it by this factor,
_JUMP_MIN_RATIO = 0.25  # and exceeds this multiple of the limit
_NEAR_BEST_FACTOR = 1.1  # errors within this factor of the lowest are about as good
_STOP_AFTER = 4  # stop after this many sizes in a row that are worse than the best
_WORSE_FACTOR = 1.25  # times the lowest error: such errors count as worse
_STEP_UP, _STEP_DOWN = 0.15, 0.75  # relative steps to the next numbers above and below those compared
_MAX_LIKELIHOOD_LOSS = 0.02  # nats a row that a chosen number may lose against the best held-out likelihood


@dataclass(frozen=True)
class Size:
    """Evidence of a fit with a given number of components.

    Attributes
    ----------
    n_components : int
    grade : Grade
    expected_error, limit : float or None
    goodness : float or None
        Residual of the moments relative to noise.
    vetoed : bool
        Whether a veto failed; for instance, the fit predicts no better than a model without components.
    held_out : ndarray or None
        Log-likelihood of held-out rows, or groups of rows, the same for all numbers; nats a row.
    """

    n_components: int
    grade: Grade
    expected_error: float | None
    limit: float | None
    goodness: float | None = None
    vetoed: bool = False
    held_out: np.ndarray | None = field(default=None, compare=False, repr=False)

    @classmethod
    def from_evidence(cls, n_components: int, evidence: Evidence) -> Size:
        """Build a size from the evidence of a fit on its components."""
        evidence = evidence.topics or evidence
        goodness_check = next((check for check in evidence.checks if check.name == "goodness of fit"), None)
        goodness = (
            goodness_check.measured
            if goodness_check is not None and isinstance(goodness_check.measured, (int, float))
            else None
        )
        held_out = next((check.held_out for check in evidence.checks if check.held_out is not None), None)
        vetoed = any(check.role == "veto" and check.holds is False for check in evidence.checks)
        return cls(n_components, evidence.grade, evidence.expected_error, evidence.limit, goodness, vetoed, held_out)

    @property
    def ratio(self) -> float:
        """Expected error over its limit; infinite if it was not measured."""
        if self.expected_error is None or not self.limit:
            return float("inf")
        return self.expected_error / self.limit

    @property
    def error(self) -> float:
        """Expected error; infinite if it was not measured."""
        return float("inf") if self.expected_error is None else self.expected_error

    def row(self) -> dict[str, Any]:
        """Return a row of a table."""
        return {
            "n_components": self.n_components,
            "grade": self.grade,
            "expected error": self.expected_error,
            "limit": self.limit,
            "goodness of fit": self.goodness,
            "held out": None if self.held_out is None else float(self.held_out.mean()),
        }


def enough_sizes(sizes: Sequence[Size]) -> bool:
    """Return True if larger numbers need not be tried: the last four are worse than the best.

    By held-out likelihood, if there is one: none of the four would be chosen. Otherwise by grade, or by an error that is a
    quarter larger; the best must then be partly supported at least, since merged components make small numbers bad.
    """
    if len(sizes) <= _STOP_AFTER:
        return False
    if _share_held_out_rows(sizes):
        best = max(sizes, key=_mean_held_out)
        return best not in sizes[-_STOP_AFTER:] and not any(_is_as_likely(size, best) for size in sizes[-_STOP_AFTER:])
    best = min(sizes, key=lambda size: (GRADES.index(size.grade), size.error))
    are_worse = [size.grade != best.grade or size.error > _WORSE_FACTOR * best.error for size in sizes[-_STOP_AFTER:]]
    return best.grade != "not supported" and all(are_worse)


def beyond(sizes: Sequence[Size]) -> int | None:
    """Return the number to compare next, if the best one is at an end of those compared; otherwise None.

    A larger one follows only if the error of the best is within its limit: on real data likelihood may rise without end. A
    smaller one also follows if no number can be used and there are no likelihoods.
    """
    compared = sorted(size.n_components for size in sizes)
    best = recommend(sizes)[0]
    size = next(size for size in sizes if size.n_components == best)
    is_usable, has_likelihoods = size.grade in ("supported", "with care"), _share_held_out_rows(sizes)
    if best in compared[-2:] and (is_usable or (has_likelihoods and size.ratio <= 1)):
        return compared[-1] + max(1, round(_STEP_UP * compared[-1]))
    if compared[0] > 1 and (best == compared[0] or not (is_usable or has_likelihoods)):
        return max(1, int(_STEP_DOWN * compared[0]))
    return None


def all_sizes(sizes: Iterable[int], results: Sequence[Size]) -> Iterable[int]:
    """Return all numbers."""
    return sizes


def until_enough(sizes: Iterable[int], results: Sequence[Size]) -> Iterator[int]:
    """Yield numbers one by one until ``results``, which grow meanwhile, are `enough_sizes`."""
    for size in sizes:
        yield size
        if enough_sizes(results):
            return


def and_beyond(sizes: Iterable[int], results: Sequence[Size]) -> Iterator[int]:
    """Yield these numbers, then more `beyond` them as ``results``, which grow meanwhile, require."""
    yield from sizes
    while (size := beyond(results)) is not None:
        yield size


def recommend(sizes: Sequence[Size], noun: str = "components") -> tuple[int, str]:
    """Return the recommended number of components, and the reason in a sentence.

    Parameters
    ----------
    sizes : sequence of Size
    noun : str
        Plural noun for components.
    """
    ordered = sorted(sizes, key=lambda size: size.n_components)
    allowed = find_allowed_grades(size.grade for size in ordered)
    usable = [size for size in ordered if size.grade in allowed]
    if _share_held_out_rows(usable):
        most_likely = max(usable, key=_mean_held_out)
        chosen = next(size for size in usable if size is most_likely or _is_as_likely(size, most_likely))
        return chosen.n_components, _reason(chosen, most_likely, noun)
    best = min((size.grade for size in ordered), key=GRADES.index)
    best_graded = [size for size in ordered if size.grade == best]
    if best in ("supported", "with care"):
        chosen = best_graded[0]
        has_jumped = False
        for size in best_graded[1:]:
            has_jumped |= size.ratio > _JUMP_MIN_RATIO and size.ratio > _JUMP_FACTOR * chosen.ratio
            if not has_jumped or size.ratio <= _NEAR_BEST_FACTOR * chosen.ratio:
                chosen, has_jumped = size, False
        why = "the largest number that the evidence supports" + (" with care" if best == "with care" else "")
        why += " before the expected error jumps" if chosen is not best_graded[-1] else ""
    else:
        best_graded = [size for size in best_graded if not size.vetoed] or best_graded
        min_error = min(size.error for size in best_graded)
        tolerance = _NEAR_BEST_FACTOR if best == "partly" else 1.0
        chosen = [size for size in best_graded if size.error <= tolerance * min_error][-1]
        why = "the largest number whose error is close to the lowest"
        why = why if best == "partly" else "the lowest expected error, but the evidence supports none of these numbers"
    error = "not measured" if chosen.expected_error is None else number_text(chosen.expected_error)
    limit = "" if chosen.limit is None else f", limit {number_text(chosen.limit)}"
    return chosen.n_components, f"{chosen.n_components} {noun}: {why} (expected error {error}{limit}, {chosen.grade})."


def find_allowed_grades(grades: Iterable[str]) -> set[str]:
    """Return the grades that a chosen number may have: those that can be used, else partly supported, else any."""
    measured = set(grades)
    return measured & {"supported", "with care"} or measured - {"not supported"} or measured


def _share_held_out_rows(sizes: Sequence[Size]) -> bool:
    """Return True if all sizes have likelihoods of the same rows."""
    lengths = {None if size.held_out is None else len(size.held_out) for size in sizes}
    return None not in lengths and len(lengths) == 1 and all(np.isfinite(_mean_held_out(size)) for size in sizes)


def _mean_held_out(size: Size) -> float:
    return -np.inf if size.held_out is None else float(size.held_out.mean())


def as_likely(held_out: np.ndarray, best: np.ndarray) -> bool:
    """Return True if rows are as likely as under the best model: within a paired standard error, and .02 nats a row."""
    losses = best - held_out
    error = float(losses.std()) / np.sqrt(max(len(losses) - 1, 1))
    return float(losses.mean()) <= min(error, _MAX_LIKELIHOOD_LOSS)


def _is_as_likely(size: Size, best: Size) -> bool:
    assert size.held_out is not None
    assert best.held_out is not None
    return as_likely(size.held_out, best.held_out)


def _reason(chosen: Size, best: Size, noun: str) -> str:
    """Return a sentence with the chosen number and the reason."""
    likelihood_text = f"held-out log-likelihood {number_text(_mean_held_out(chosen))} a row"
    if chosen is best:
        why = f"the best {likelihood_text}"
    else:
        best_text = f"{best.n_components} have {number_text(_mean_held_out(best))}"
        why = f"the smallest with about the best {likelihood_text} ({best_text})"
    warning = "; the evidence supports none of these numbers" if chosen.grade == "not supported" else ""
    return f"{chosen.n_components} {noun}: {why} ({chosen.grade}{warning})."


def is_worse_than_promised(promised: Size, final: Size) -> bool:
    """Return True if the fit of all rows has a worse grade than that of some rows."""
    return GRADES.index(final.grade) > GRADES.index(promised.grade)
