"""Evidence of a fitted model: its checks, a grade, advice, and a record of each component."""

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
    """Evidence on a fit: how large its errors are, whether the model describes the data, and what to do.

    ``print(model.evidence_)`` shows the grade, the advice and the four statements that they follow from.

    Attributes
    ----------
    checks : list of Check
    component_errors : ndarray of shape (K,) or None
        Expected error of each component, from fits on halves of the data; None if not computed. For distributions it is an
        l1 distance (0 to 2); other families document their distance. It assumes that the data follows the model; a measured
        misfit widens it.
    subject : str
        Subject of the verdict, if it is not the components.
    nouns : (str, str, str)
        Singular and plural noun for components, and plural noun for rows.
    shares : ndarray of shape (K,) or None
        Share of the data that each component describes.
    found_again : ndarray of shape (K,) or None
        How much of each component, as people read it, repeats in fits on halves of the data, see
        `latentia.evidence.repeats`; None if not measured.
    topics : Evidence or None
        For a classifier that predicts without its topics: the evidence on these topics. Grade, verdict and checks are then
        about the predictions, ``components`` and expected errors about the topics.
    missing : str
        Reason why something was not measured.
    rival : str
        Comparison with a second method of other assumptions, which sees errors shared by all parts of the rows.
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
        """Four statements that grade, verdict, advice and components follow from, in this order.

        They are records of ``name``, ``value``, ``needed``, ``passed`` and ``sentence``: *found again*, *error*, *structure*
        and *fit*. ``passed`` is None if a statement was not measured.
        """
        return make_statements(self.checks, self.found_again, self.nouns, self.missing, self.rival)

    @property
    def marks(self) -> list[tuple[Status, Statement]]:
        """Statements, each with "ok", "look", "bad", or "open" if it was not measured."""
        return [(mark_of_statement(statement, self.checks), statement) for statement in self.statements]

    @property
    def grade(self) -> Grade:
        """Grade: "supported", "with care", "partly" or "not supported". What was not measured is not supported."""
        return grade_of(self.statements, self.checks, self.components if self.topics is None else Components([]))

    @property
    def holds(self) -> bool:
        """True if the grade is "supported"."""
        return self.grade == "supported"

    @property
    def components(self) -> Components:
        """Record of each component: number, share of the data, found again, expected error, grade.

        Empty if no errors were measured.
        """
        if self.topics is not None:
            return self.topics.components
        grades = component_grades(self.statements, self.checks, self.component_errors, self.limit, self.found_again)
        errors: Any = [] if self.component_errors is None else self.component_errors
        shares, repeats = (_component_numbers(values, len(grades)) for values in (self.shares, self.found_again))
        records = zip(shares, repeats, map(float, errors), grades, strict=False)
        return Components([Component(i, *record) for i, record in enumerate(records)])

    def not_supported(self, n_components: int) -> list[int]:
        """Return the numbers of the components that are not supported; all of them if no errors were measured."""
        components = self.components
        if len(components) != n_components:
            return list(range(n_components))
        return [component.component for component in components.of("not supported")]

    @property
    def of_components(self) -> Evidence:
        """Evidence on the components: this object, or the evidence on the topics of a classifier."""
        return self if self.topics is None else self.topics

    @property
    def verdict(self) -> str:
        """Grade as a sentence: how many components are found again, and how many can be used."""
        return headline(self)

    @property
    def advice(self) -> str:
        """Next steps, as far as they follow from the data."""
        if self.topics is None:
            return next_steps(self)
        plural, grade = self.topics.nouns[1], self.topics.grade if self.topics.measured else "not measured"
        return f"{next_steps(self)} The predictions do not use the {plural}, which are graded separately: {grade}."

    def forget_sizes(self, sizes: Collection[int]) -> None:
        """Drop advice to try numbers of components that were compared already."""
        for evidence in (self, self.topics):
            if evidence is not None:
                evidence.checks = [
                    replace(check, remedy="", suggests=0) if check.suggests in sizes else check
                    for check in evidence.checks
                ]

    @property
    def on_components(self) -> bool:
        """True if the verdict is about the components, not about predictions."""
        return any(check.name == EXPECTED_ERROR for check in self.checks)

    @property
    def failed(self) -> list[Check]:
        """Checks that keep statements from passing."""
        return [check for check in self.checks if status(check) in ("bad", "look", "open")]

    @property
    def measured(self) -> bool:
        """True if everything the grade rests on was measured, or some measurement is bad."""
        marks = [status(check) for check in self.checks]
        return "bad" in marks or ("open" not in marks and any(check.role == "verdict" for check in self.checks))

    @property
    def expected_error(self) -> float | None:
        """Mean expected error of a component; None if it was not measured."""
        if self.topics is not None:
            return self.topics.expected_error
        value = next((check.measured for check in self.checks if check.name == EXPECTED_ERROR), None)
        return None if value is None or isinstance(value, str) else float(value)

    @property
    def limit(self) -> float | None:
        """Largest mean expected error of supported components."""
        if self.topics is not None:
            return self.topics.limit
        return next((c.bound.limit for c in self.checks if c.name == EXPECTED_ERROR and c.bound is not None), None)

    def rows_needed(self, error: float | None = None) -> RowsNeeded:
        """Return how many rows give a mean expected error of ``error`` per component.

        The square of the error of n rows is a^2 / n + s^2. If the statement *fit* has passed, s is 0; otherwise s is the misfit
        that all parts share and that more rows do not reduce: an error below s needs infinitely many rows. The interval covers
        90% of true errors, which are within a factor 1.5 of the expected ones. A fit of far fewer rows may lose components;
        this formula does not foresee that.

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
            If expected errors were not measured, or fall with something other than rows, or if ``error`` is not positive.
        """
        if self.topics is not None:
            return self.topics.rows_needed(error)
        check = next((check for check in self.checks if check.name == EXPECTED_ERROR), None)
        if check is None or not check.n_rows or self.expected_error is None or self.limit is None:
            raise LatentiaError("rows_needed: this fit has no expected errors that depend on the number of rows.")
        error = self.limit if error is None else error
        check_parameter("error", error, Number(low=0.0))
        return rows_at(self.expected_error, error, check.n_rows, shared_part(check, self.statements[3].passed))

    def __getitem__(self, name: str) -> Check:
        """Return the check of that name, also among those of the topics."""
        checks = self.checks + ([] if self.topics is None else self.topics.checks)
        for check in checks:
            if check.name == name:
                return check
        raise KeyError(f"no check {name!r}; there are {', '.join(check.name for check in checks)}")

    # --- fits on parts ------------------------------------------------------------------------------------------

    def stability(self, *data: Any, n_splits: int = 2, random_state: int = 0, **named: Any) -> np.ndarray:
        """Estimate the error of each component from independent fits on disjoint random halves of the data.

        Parameters
        ----------
        *data, **named
            The arguments of ``fit``, by position or name: ``stability(X)``, ``stability(X, lengths=lengths)``, ``stability(U,
            V, y)``.
        n_splits : int
            Random splits into two halves, averaged, at most 100; each costs two fits on half of the data.

        Returns
        -------
        ndarray of shape (K,)
        """
        from .stability import half_split_errors

        if self._estimator is None:
            raise LatentiaError("This evidence has no model. Use the evidence_ attribute of a fitted or loaded model.")
        options: dict[str, Any] = {"n_splits": n_splits, "random_state": random_state}
        return half_split_errors(self._estimator, *data, **options, **named)

    def bind(self, estimator: Any) -> Evidence:
        """Take nouns and shares of the components from a fitted estimator, and let `stability` refit copies of it.

        The evidence keeps a copy with the parameters and compared attributes, so that refitting the estimator does not change
        it.
        """
        self.nouns, self.rival = estimator._nouns, self.rival or estimator._rival
        self.shares = estimator._shares() if self.shares is None else self.shares
        if self.topics is not None:
            self.topics.bind(estimator)
        self._estimator = clone(estimator)
        if hasattr(estimator, "n_components_"):  # the chosen number
            self._estimator.n_components = estimator.n_components_
        for name in (*estimator._compared, "n_features_in_", "n_features_v_"):
            if hasattr(estimator, name):
                setattr(self._estimator, name, getattr(estimator, name))
        return self

    # --- tables -------------------------------------------------------------------------------------------------

    def rests_on(self) -> list[tuple[Status, Check]]:
        """Return the checks that statements rest on, each with "ok", "look", "bad", or "open" if not measured."""
        return [(status(check), check) for check in self.checks if status(check)]

    @property
    def reasons(self) -> list[tuple[Status, Check]]:
        """Checks that keep statements from passing, with marks, without those that statements name."""
        statement_checks = {statement.check for statement in self.statements if statement.passed is False}
        return [(mark, check) for mark, check in self.rests_on()
                if mark != "ok" and check.name != EXPECTED_ERROR and check.name.lower() not in statement_checks]  # fmt: skip

    def to_frame(self) -> Any:
        """Return statements and checks as a data frame of pandas or polars: see `latentia.summaries.Table.to_frame`."""
        return frame_of_rows(self.rows(), "Evidence.to_frame", list(_COLUMNS))

    def rows(self) -> list[dict[str, Any]]:
        """Return statements and checks as dictionaries of name, symbol, measured, needed, holds, meaning, reference."""
        statement_rows = [
            dict(zip(_COLUMNS, (s.name, "", s.value, s.needed, s.passed, s.sentence, "statement"), strict=True))
            for s in self.statements
        ]
        return statement_rows + [{column: getattr(check, column) for column in _COLUMNS} for check in self.checks]

    def table(self) -> str:
        """Format the four statements and all checks, also those outside the verdict, as text."""
        texts = [("statement, check", "measured", "needed", "", "meaning"), *map(_describe_statement, self.statements),
                 *(describe(check) for check in self.checks)]  # fmt: skip
        widths = [max(len(row[i]) for row in texts) for i in range(4)]
        lines = [
            "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=False)) + "  " + row[4] for row in texts
        ]
        return "\n".join([lines[0], "-" * min(100, max(map(len, lines))), *lines[1:], self.verdict])

    def to_markdown(self) -> str:
        """Format verdict, advice, the four statements and the failed checks in Markdown."""
        lines = [
            f"**{self.verdict}** {self.advice}",
            "",
            "| | statement | measured | needed | meaning |",
            "|---|---|---|---|---|",
        ]
        statement_texts = [(mark, _describe_statement(statement)) for mark, statement in self.marks]
        for mark, texts in [*statement_texts, *((mark, describe(check)) for mark, check in self.reasons)]:
            name, measured, needed, _, meaning = (" ".join(text.replace("|", "\\|").split()) for text in texts)
            lines.append(f"| {mark} | {name} | {measured} | {needed} | {meaning} |")
        if self.topics is not None:
            lines += ["", f"### {self.topics.nouns[1].capitalize()}", "", self.topics.to_markdown()]
        return escape_controls("\n".join(lines))

    def __str__(self) -> str:
        lines = [*textwrap.wrap(self.verdict, _WIDTH), *textwrap.wrap(self.advice, _WIDTH), ""]
        statement_texts = [(mark, _describe_statement(statement), statement.check) for mark, statement in self.marks]
        for mark, texts, check in [*statement_texts, *((mark, describe(check), "") for mark, check in self.reasons)]:
            name, measured, needed = texts[:3]
            limits = ", ".join(part for part in (f"needed {needed}" if needed else "", check) if part)
            lines.append(f"  {mark:<5} {name:<26} {measured:>12}   {limits}".rstrip())
        if closing := closing_sentence(self):
            lines += ["", closing]
        if self.topics is not None:
            lines += ["", f"--- {self.topics.nouns[1]}", str(self.topics)]
        return escape_controls("\n".join(lines))

    def _repr_html_(self) -> str:
        """Return HTML for notebooks."""
        return evidence_page(self)


def _describe_statement(statement: Statement) -> Sequence[str]:
    """Return a statement as a row of texts, as `describe` does for checks."""
    mark = {True: "yes", False: "NO", None: ""}[statement.passed]
    return statement.name, statement.measured, statement.needed, mark, statement.sentence


def _component_numbers(values: np.ndarray | None, n: int) -> list[float | None]:
    """Return one number per component; None where there is none."""
    return [None] * n if values is None or len(values) != n else [float(value) for value in values]
