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
from .._parameters import Number, check_parameter
from ..exceptions import LatentiaError
from ._html import evidence_page
from .checks import EXPECTED_ERROR, Check, describe
from .grades import Component, Components, Grade, component_grades, grade_of
from .rows import RowsNeeded, rows_at, shared_part
from .sentences import closing_sentence, headline, next_steps
from .statements import Statement, Status, make_statements, mark_of_statement, status

_COLUMNS = ("name", "symbol", "measured", "needed", "holds", "meaning", "reference")
_WIDTH = 110


@dataclass
class Evidence:
    """Evidence of a fit: how large its errors are, whether the model describes the data, and what to do.

    ``print(model.evidence_)`` shows the grade, the advice and the four statements that they follow from.

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
    missing : str
        Why something was not measured.
    rival : str
        Whether a second method with other assumptions is known, which sees errors that all parts of the rows share.
    """

    checks: list[Check]
    component_errors: Annotated[np.ndarray | None, of.numbers("K", 0.0)] = None
    subject: str = ""
    nouns: tuple[str, str, str] = ("component", "components", "rows")
    shares: Annotated[np.ndarray | None, of.shares("K")] = None
    topics: Evidence | None = None
    found_again: Annotated[np.ndarray | None, of.shares("K")] = None
    missing: str = ""
    rival: str = ""
    _estimator: Any = field(default=None, repr=False, compare=False)

    # --- the verdict --------------------------------------------------------------------------------------------

    @property
    def statements(self) -> tuple[Statement, Statement, Statement, Statement]:
        """The four statements that grade, verdict, advice and components follow from, in this order.

        They are records of ``name``, ``value``, ``needed``, ``passed`` and ``sentence``: *found again*, *error*, *structure*
        and *fit*. ``passed`` is None where a statement was not measured.
        """
        return make_statements(self.checks, self.found_again, self.nouns, self.missing, self.rival)

    @property
    def marks(self) -> list[tuple[Status, Statement]]:
        """The statements, each with "ok", "look", "bad", or "open" where it was not measured."""
        return [(mark_of_statement(one, self.checks), one) for one in self.statements]

    @property
    def grade(self) -> Grade:
        """One of "supported", "with care", "partly" and "not supported". What was not measured is not supported."""
        return grade_of(self.statements, self.checks, self.components if self.topics is None else Components([]))

    @property
    def holds(self) -> bool:
        """Whether the grade is the first one."""
        return self.grade == "supported"

    @property
    def components(self) -> Components:
        """A record of each component: number, share of the data, whether it is found again, expected error, grade.

        It is empty where no errors were measured.
        """
        if self.topics is not None:
            return self.topics.components
        grades = component_grades(self.statements, self.checks, self.component_errors, self.limit, self.found_again)
        errors: Any = [] if self.component_errors is None else self.component_errors
        shares, found = (_numbers(values, len(grades)) for values in (self.shares, self.found_again))
        records = zip(shares, found, map(float, errors), grades, strict=False)
        return Components([Component(i, *record) for i, record in enumerate(records)])

    def not_supported(self, n_components: int) -> list[int]:
        """Return the numbers of the components that are not supported: all of them where no errors were measured."""
        components = self.components
        if len(components) != n_components:
            return list(range(n_components))
        return [component.component for component in components.of("not supported")]

    @property
    def of_components(self) -> Evidence:
        """The evidence that says of the components what it does: itself, or that on the topics of a classifier."""
        return self if self.topics is None else self.topics

    @property
    def verdict(self) -> str:
        """The grade as a sentence: how many components are found again, and how many can be used."""
        return headline(self)

    @property
    def advice(self) -> str:
        """Next steps, as far as they follow from the data."""
        if self.topics is None:
            return next_steps(self)
        many, graded = self.topics.nouns[1], self.topics.grade if self.topics.measured else "not measured"
        return f"{next_steps(self)} The predictions do not use the {many}, which are graded separately: {graded}."

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
    def failed(self) -> list[Check]:
        """The checks because of which statements have not passed."""
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

    def rows_needed(self, error: float | None = None) -> RowsNeeded:
        """Return how many rows bring the mean expected error of a component down, or up, to ``error``.

        The square of the error of n rows is a^2 / n + s^2. Where the statement *fit* has passed s is 0; else it is what misfit
        adds to fits of all parts alike, which stays however many rows there are: an error below s needs an infinite number.
        The interval is what true errors vary by: 90% of them are within a factor 1.5 of the expected one. A fit of far
        fewer rows than there are may lose components, which this does not foresee.

        Parameters
        ----------
        error : float, optional
            In the unit of ``component_errors``; by default the limit, up to which components are *supported*.

        Returns
        -------
        RowsNeeded

        Raises
        ------
        LatentiaError
            If expected errors were not measured, or fall with something else than rows, or if ``error`` is not positive.
        """
        if self.topics is not None:
            return self.topics.rows_needed(error)
        check = next((check for check in self.checks if check.name == EXPECTED_ERROR), None)
        if check is None or not check.n_rows or self.expected_error is None or self.limit is None:
            raise LatentiaError("How the errors of this fit fall with the number of rows was not measured.")
        error = self.limit if error is None else error
        check_parameter("error", error, Number(low=0.0))
        return rows_at(self.expected_error, error, check.n_rows, shared_part(check, self.statements[3].passed))

    def __getitem__(self, name: str) -> Check:
        """The check of that name, also of the topics."""
        checks = self.checks + ([] if self.topics is None else self.topics.checks)
        for check in checks:
            if check.name == name:
                return check
        raise KeyError(f"{name!r}; there are {', '.join(check.name for check in checks)}")

    # --- fits on parts ------------------------------------------------------------------------------------------

    def stability(self, *data: Any, n_splits: int = 2, random_state: int = 0, **named: Any) -> np.ndarray:
        """Expected error of each component, from independent fits on disjoint random halves of the data.

        Parameters
        ----------
        *data, **named
            What ``fit`` took, by position or name: ``stability(X)``, ``stability(X, lengths=lengths)``, ``stability(U, V, y)``.
        n_splits : int
            Random splits into two halves, averaged; each costs two fits on half of the data.

        Returns
        -------
        ndarray of shape (K,)
        """
        from .stability import half_split_errors

        if self._estimator is None:
            raise LatentiaError("This evidence has no model. Use the evidence_ attribute of a fitted or loaded one.")
        options: dict[str, Any] = {"n_splits": n_splits, "random_state": random_state}
        return half_split_errors(self._estimator, *data, **options, **named)

    def bind(self, estimator: Any) -> Evidence:
        """Take names and shares of the components from a fitted estimator, and let `stability` refit copies of it.

        Parameters, widths and what is compared are kept, not the estimator: fitting it again leaves this evidence what it was.
        """
        self.nouns, self.rival = estimator._nouns, self.rival or estimator._rival
        self.shares = estimator._shares() if self.shares is None else self.shares
        if self.topics is not None:
            self.topics.bind(estimator)
        self._estimator = clone(estimator)
        if hasattr(estimator, "n_components_"):  # the number that was chosen
            self._estimator.n_components = estimator.n_components_
        for name in (*estimator._compared, "n_features_in_", "n_features_v_"):
            if hasattr(estimator, name):
                setattr(self._estimator, name, getattr(estimator, name))
        return self

    # --- tables -------------------------------------------------------------------------------------------------

    def rests_on(self) -> list[tuple[Status, Check]]:
        """The checks that statements rest on, each with "ok", "look", "bad", or "open" where it was not measured."""
        return [(status(check), check) for check in self.checks if status(check)]

    @property
    def reasons(self) -> list[tuple[Status, Check]]:
        """The checks because of which statements have not passed, with their marks, but for those that statements name."""
        named = {one.check for one in self.statements if one.passed is False}
        return [(mark, check) for mark, check in self.rests_on()
                if mark != "ok" and check.name != EXPECTED_ERROR and check.name.lower() not in named]  # fmt: skip

    def to_frame(self) -> Any:
        """The statements and the checks as a data frame of pandas, or of polars: see `latentia.summaries.Table.to_frame`."""
        return frame_of_rows(self.rows(), "Evidence.to_frame", list(_COLUMNS))

    def rows(self) -> list[dict[str, Any]]:
        """The four statements, and the checks, as dictionaries of name, symbol, measured, needed, holds, meaning, reference."""
        said = [dict(zip(_COLUMNS, (one.name, "", one.value, one.needed, one.passed, one.sentence, "statement"), strict=True))
                for one in self.statements]  # fmt: skip
        return said + [{column: getattr(check, column) for column in _COLUMNS} for check in self.checks]

    def table(self) -> str:
        """The four statements, and all checks, also those that are not part of the verdict, as text."""
        texts = [("statement, check", "measured", "needed", "", "meaning"), *map(_described, self.statements),
                 *(describe(check) for check in self.checks)]  # fmt: skip
        widths = [max(len(row[i]) for row in texts) for i in range(4)]
        lines = [
            "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=False)) + "  " + row[4] for row in texts
        ]
        return "\n".join([lines[0], "-" * min(100, max(map(len, lines))), *lines[1:], self.verdict])

    def to_markdown(self) -> str:
        """Verdict, advice, the four statements, and the checks that did not hold, as a table in Markdown."""
        lines = [
            f"**{self.verdict}** {self.advice}",
            "",
            "| | statement | measured | needed | meaning |",
            "|---|---|---|---|---|",
        ]
        described = [(mark, _described(one)) for mark, one in self.marks]
        for mark, texts in [*described, *((mark, describe(check)) for mark, check in self.reasons)]:
            name, measured, needed, _, meaning = (text.replace("|", "\\|") for text in texts)
            lines.append(f"| {mark} | {name} | {measured} | {needed} | {meaning} |")
        if self.topics is not None:
            lines += ["", f"### {self.topics.nouns[1].capitalize()}", "", self.topics.to_markdown()]
        return "\n".join(lines)

    def __str__(self) -> str:
        lines = [*textwrap.wrap(self.verdict, _WIDTH), *textwrap.wrap(self.advice, _WIDTH), ""]
        described = [(mark, _described(one), one.check) for mark, one in self.marks]
        for mark, texts, check in [*described, *((mark, describe(check), "") for mark, check in self.reasons)]:
            name, measured, needed = texts[:3]
            limits = ", ".join(part for part in (f"needed {needed}" if needed else "", check) if part)
            lines.append(f"  {mark:<5} {name:<26} {measured:>12}   {limits}".rstrip())
        if closing := closing_sentence(self):
            lines += ["", closing]
        if self.topics is not None:
            lines += ["", f"--- {self.topics.nouns[1]}", str(self.topics)]
        return escape_controls("\n".join(lines))

    def _repr_html_(self) -> str:
        """What notebooks show."""
        return evidence_page(self)


def _described(statement: Statement) -> Sequence[str]:
    """A statement as a row of texts, as `describe` has checks."""
    mark = {True: "yes", False: "NO", None: ""}[statement.passed]
    return statement.name, statement.measured, statement.needed, mark, statement.sentence


def _numbers(values: np.ndarray | None, n: int) -> list[float | None]:
    """Of each component, where they are known."""
    return [None] * n if values is None or len(values) != n else [float(value) for value in values]
