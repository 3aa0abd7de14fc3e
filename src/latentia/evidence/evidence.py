"""The evidence of a fitted model: its checks, a grade, advice, and a record of each component."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np
from sklearn.base import clone

from .. import _fields as of
from .._control_characters import escape_controls
from .._frames import frame_of_rows
from ..exceptions import LatentiaError
from ._html import evidence_page
from .checks import EXPECTED_ERROR, Check, describe
from .grades import Component, Components, Grade, Status, component_grades, grade_of, status
from .repeats import again_sentence

_COLUMNS = ("name", "symbol", "measured", "needed", "holds", "meaning", "reference")
_WIDTH = 110
_USE = "Use them for rows like those that were learned from."


@dataclass
class Evidence:
    """Evidence of a fit: how large its errors are, whether the model describes the data, and what to do.

    ``print(model.evidence_)`` shows the grade, the advice and the checks that they rest on.

    Attributes
    ----------
    checks : list of Check
    component_errors : ndarray of shape (K,) or None
        Expected error of each component, from fits on halves of the data; None if they were not computed. For distributions
        it is an l1 distance (0 to 2); other families say in their documentation what it is. It is the error if the
        data is what the model says, widened by the misfit where one was found.
    subject : str
        What the verdict is on, where it is not the components.
    nouns : (str, str, str)
        What one component is called, several, and the rows of the data.
    shares : ndarray of shape (K,) or None
        What share of the data each component stands for.
    found_again : ndarray of shape (K,) or None
        How much of what people read of each component is the same in fits on halves of the data, see
        `latentia.evidence.repeats`; None where it was not measured.
    topics : Evidence or None
        Of a classifier that predicts without its topics: what the data says of these. Grade, verdict and checks are then on the
        predictions, and ``components`` and expected errors on the topics.
    """

    checks: list[Check]
    component_errors: Annotated[np.ndarray | None, of.numbers("K", 0.0)] = None
    subject: str = ""
    nouns: tuple[str, str, str] = ("component", "components", "rows")
    shares: Annotated[np.ndarray | None, of.shares("K")] = None
    topics: Evidence | None = None
    found_again: Annotated[np.ndarray | None, of.shares("K")] = None
    _estimator: Any = field(default=None, repr=False, compare=False)

    # --- the verdict --------------------------------------------------------------------------------------------

    @property
    def grade(self) -> Grade:
        """One of "supported", "with care", "partly" and "not supported". What was not measured is not supported."""
        return grade_of(self.checks, self._judged)

    @property
    def holds(self) -> bool:
        """Whether the grade is the first one."""
        return self.grade == "supported"

    @property
    def components(self) -> Components:
        """A record of each component: number, share of the data, expected error, grade, and whether it is found again.

        It is empty where no errors were measured.
        """
        if self.topics is not None:
            return self.topics.components
        grades = component_grades(self.checks, self.component_errors, self.limit)
        errors: Any = [] if self.component_errors is None else self.component_errors
        shares, found = (_numbers(values, len(grades)) for values in (self.shares, self.found_again))
        records = zip(shares, map(float, errors), grades, found, strict=False)
        return Components([Component(i, *record) for i, record in enumerate(records)])

    @property
    def of_components(self) -> Evidence:
        """The evidence that says of the components what it does: itself, or that on the topics of a classifier."""
        return self if self.topics is None else self.topics

    @property
    def _judged(self) -> Components:
        """The components, if the verdict is on them."""
        return self.components if self.topics is None else Components([])

    @property
    def verdict(self) -> str:
        """The grade as a sentence."""
        _, many, rows = self.nouns
        again = again_sentence(self._judged, self.grade, self.nouns)
        if self.grade == "partly" or (self.grade == "with care" and len(self._judged)):
            supported, care = self.components.of("supported"), self.components.of("with care")
            n, rest = len(self.components), len(self.components.of("not supported"))
            parts = [
                f"{len(supported)} of {n} {many} can be used{_of_data(supported, rows)}" if supported else "",
                f"{len(care)} with care{_of_data(care, rows) if not supported else ''}" if supported
                else f"{len(care)} of {n} {many} can be used with care{_of_data(care, rows)}" if care else "",
                f"{rest} not" if rest else "",
            ]  # fmt: skip
            head = "PARTLY SUPPORTED" if self.grade == "partly" else "SUPPORTED WITH CARE"
            return f"{head}. {', '.join(part for part in parts if part)}{again}."
        if self.grade in ("supported", "with care"):
            how = " WITH CARE" if self.grade == "with care" else ""
            return f"SUPPORTED{how}. The data supports {_subject(self)}{again}."
        if self.measured:
            numbers = " as numbers" if again else ""
            return f"NOT SUPPORTED. The data does not support {_subject(self)}{numbers}{again}."
        return f"NOT MEASURED. How far to trust {_subject(self)} was not measured."

    @property
    def advice(self) -> str:
        """Next steps, as far as they follow from the data."""
        if self.topics is None:
            return self._next
        many, graded = self.topics.nouns[1], self.topics.grade if self.topics.measured else "not measured"
        return f"{self._next} The predictions do not use the {many}, which are graded separately: {graded}."

    def forget_sizes(self, compared: Collection[int]) -> None:
        """Advise no number of components that was fitted for a comparison."""
        for one in (self, self.topics):
            if one is not None:
                one.checks = [
                    replace(check, remedy="", suggests=0) if check.suggests in compared else check
                    for check in one.checks
                ]

    @property
    def on_components(self) -> bool:
        """Whether the verdict is on the components, and not on predictions."""
        return any(check.name == EXPECTED_ERROR for check in self.checks)

    @property
    def _next(self) -> str:
        if self.grade == "supported":
            if len(self.components) == 1 and self.on_components:
                return f"The {self.nouns[0]} can be used."
            return f"The {self.nouns[1]} can be read and compared one by one." if self.on_components else _USE
        order = {"veto": 0, "verdict": 1, "caution": 2, "note": 3}
        wanting = sorted(
            (check for check in self.checks if check.holds is False or status(check) in ("bad", "open")),
            key=lambda check: ({"bad": 0, "open": 1, "look": 2}.get(status(check), 3), order[check.role]),
        )
        too_many = any(check.name == EXPECTED_ERROR and status(check) == "bad" for check in self.checks)
        most = len(self.component_errors) if too_many and self.component_errors is not None else np.inf
        remedies = [check.remedy for check in wanting if check.remedy and check.suggests <= most]
        said = list(dict.fromkeys(remedies))[:2]
        usable = self.components.of("supported") or self.components.of("with care")
        if self.grade == "partly":
            numbers = ", ".join(str(one.component) for one in usable[:10]) + (", ..." if len(usable) > 10 else "")
            said.insert(0, f"Use {self.nouns[1] if len(usable) > 1 else self.nouns[0]} {numbers}.")
        return " ".join(said) or "Read the checks below, and use it with that in mind."

    @property
    def failed(self) -> list[Check]:
        """The checks because of which the grade is not the first one."""
        return [check for check in self.checks if status(check) in ("bad", "look", "open")]

    @property
    def measured(self) -> bool:
        """Whether all that the grade rests on was measured, or what was measured is bad."""
        found = [status(check) for check in self.checks]
        return "bad" in found or ("open" not in found and any(check.role == "verdict" for check in self.checks))

    @property
    def expected_error(self) -> float | None:
        """Mean expected error of a component; None if it was not measured."""
        if self.topics is not None:
            return self.topics.expected_error
        value = next((check.measured for check in self.checks if check.name == EXPECTED_ERROR), None)
        return None if value is None or isinstance(value, str) else float(value)

    @property
    def limit(self) -> float | None:
        """The mean expected error up to which the components are supported."""
        if self.topics is not None:
            return self.topics.limit
        return next((c.bound.limit for c in self.checks if c.name == EXPECTED_ERROR and c.bound is not None), None)

    def __getitem__(self, name: str) -> Check:
        """The check of that name, also of the topics."""
        checks = self.checks + ([] if self.topics is None else self.topics.checks)
        for check in checks:
            if check.name == name:
                return check
        raise KeyError(f"{name!r}; there are {', '.join(check.name for check in checks)}")

    # --- fits on parts ------------------------------------------------------------------------------------------

    def stability(self, X: Any, n_splits: int = 2, random_state: int = 0, **fit_parameters: Any) -> np.ndarray:
        """Expected error of each component, from independent fits on disjoint random halves of the data.

        Parameters
        ----------
        X : the data that the model was fitted on, in any form that ``fit`` takes
        n_splits : int
            Random splits into two halves, averaged; each costs two fits on half of the data.
        **fit_parameters
            What else ``fit`` took: ``lengths`` of sequences, ``views`` of a table.

        Returns
        -------
        ndarray of shape (K,)
        """
        from .stability import half_split_errors

        if self._estimator is None:
            raise LatentiaError("This evidence has no model. Use the evidence_ attribute of a fitted or loaded one.")
        options: dict[str, Any] = {"n_splits": n_splits, "random_state": random_state}
        return half_split_errors(self._estimator, X, **options, **fit_parameters)

    def bind(self, estimator: Any) -> Evidence:
        """Take names and shares of the components from a fitted estimator, and let `stability` refit copies of it.

        Parameters and what is compared are kept, not the estimator: fitting it again leaves this evidence what it was.
        """
        self.nouns = estimator._nouns
        self.shares = estimator._shares() if self.shares is None else self.shares
        if self.topics is not None:
            self.topics.bind(estimator)
        self._estimator = clone(estimator)
        if hasattr(estimator, "n_components_"):  # the number that was chosen
            self._estimator.n_components = estimator.n_components_
        for name in estimator._compared:
            if hasattr(estimator, name):
                setattr(self._estimator, name, getattr(estimator, name))
        return self

    # --- tables -------------------------------------------------------------------------------------------------

    def rests_on(self) -> list[tuple[Status, Check]]:
        """The checks that decide, each with "ok", "look", "bad", or "open" where it was not measured."""
        return [(status(check), check) for check in self.checks if status(check)]

    def to_frame(self) -> Any:
        """The checks as a data frame of pandas, or of polars: see `latentia.summaries.Table.to_frame`."""
        return frame_of_rows(self.rows(), "Evidence.to_frame", list(_COLUMNS))

    def rows(self) -> list[dict[str, Any]]:
        """The checks as dictionaries of name, symbol, measured, needed, holds, meaning and reference."""
        return [{column: getattr(check, column) for column in _COLUMNS} for check in self.checks]

    def table(self) -> str:
        """All checks, also those that are not part of the verdict, as text."""
        texts = [("check", "measured", "needed", "", "meaning"), *(describe(check) for check in self.checks)]
        widths = [max(len(row[i]) for row in texts) for i in range(4)]
        lines = [
            "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=False)) + "  " + row[4] for row in texts
        ]
        return "\n".join([lines[0], "-" * min(100, max(map(len, lines))), *lines[1:], self.verdict])

    def to_markdown(self) -> str:
        """Verdict, advice, and the checks that they rest on, as a table in Markdown."""
        lines = [
            f"**{self.verdict}** {self.advice}",
            "",
            "| | check | measured | needed | meaning |",
            "|---|---|---|---|---|",
        ]
        for mark, check in self.rests_on():
            name, measured, needed, _, meaning = (text.replace("|", "\\|") for text in describe(check))
            lines.append(f"| {mark} | {name} | {measured} | {needed} | {meaning} |")
        if self.topics is not None:
            lines += ["", f"### {self.topics.nouns[1].capitalize()}", "", self.topics.to_markdown()]
        return "\n".join(lines)

    def __str__(self) -> str:
        lines = [*textwrap.wrap(self.verdict, _WIDTH), *textwrap.wrap(self.advice, _WIDTH), ""]
        for mark, check in self.rests_on():
            name, measured, needed, _, _ = describe(check)
            lines.append(f"  {mark:<5} {name:<26} {measured:>10}   needed {needed}")
        if self.closing:
            lines += ["", self.closing]
        if self.topics is not None:
            lines += ["", f"--- {self.topics.nouns[1]}", str(self.topics)]
        return escape_controls("\n".join(lines))

    @property
    def closing(self) -> str:
        """Note on the meaning of errors, and where the other checks are."""
        notes = sum(check.role == "note" for check in self.checks)
        more = f"{notes} more measurements (not part of the verdict): evidence_.table()." if notes else ""
        errors = "Expected errors assume that the data follows the model; where a misfit was found, they include it."
        return f"{errors} {more}".strip() if self.on_components else more

    def _repr_html_(self) -> str:
        """What notebooks show."""
        return evidence_page(self)


def _subject(evidence: Evidence) -> str:
    """What the verdict is on."""
    n, (one, many, _) = 0 if evidence.component_errors is None else len(evidence.component_errors), evidence.nouns
    return evidence.subject or (f"these {n} {many}" if n > 1 else f"this {one}" if n else "this fit")


def _numbers(values: np.ndarray | None, n: int) -> list[float | None]:
    """Of each component, where they are known."""
    return [None] * n if values is None or len(values) != n else [float(value) for value in values]


def _of_data(components: Sequence[Component], rows: str) -> str:
    shares = [one.share for one in components]
    if not shares or any(share is None for share in shares):
        return ""
    return f" ({sum(share or 0.0 for share in shares):.0%} of the {rows})"
