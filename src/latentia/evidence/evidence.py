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
from .grades import Component, Components, Grade, component_grades, grade_of
from .statements import Statement, Status, found_sentence, make_statements, mark_of_statement, status

_COLUMNS = ("name", "symbol", "measured", "needed", "holds", "meaning", "reference")
_WIDTH = 110
_USE = "Use them for rows like those that were learned from."


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
        return grade_of(self.statements, self.checks, self._judged)

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
        """The grade as a sentence: how many components are found again, and how many can be used."""
        if not self.measured:
            return f"NOT MEASURED. How far to trust {_subject(self)} was not measured."
        heads = {"supported": "SUPPORTED", "with care": "SUPPORTED WITH CARE", "partly": "PARTLY SUPPORTED"}
        head = heads.get(self.grade, "NOT SUPPORTED")
        if self.grade == "not supported":
            again = self._again
            return f"{head}. The data does not support {_subject(self)}{f'; {again}' if again else ''}."
        if not len(self._judged) or self.subject:
            return f"{head}. The data supports {_subject(self)}."
        return f"{head}. {'; '.join(part for part in (self._again, self._usable) if part)}."

    @property
    def _again(self) -> str:
        """How many components are found again, where that was measured."""
        found = self.found_again if self.topics is None else None
        return "" if found is None or not len(found) else found_sentence(found, self.nouns)

    @property
    def _usable(self) -> str:
        """How many components can be used, with care, and not."""
        _, many, rows = self.nouns
        well, care, none = (self.components.of(grade) for grade in ("supported", "with care", "not supported"))
        n = len(self.components)
        many = self.nouns[0] if n == 1 else many
        parts = [f"{len(well)} of {n} {many} can be used{_of_data(well, rows)}"] if well else []
        if care:
            one = f"{len(care)} with care" if well else f"{len(care)} of {n} {many} can be used with care"
            parts.append(f"{one}{'' if well else _of_data(care, rows)}")
        return ", ".join([*parts, *([f"{len(none)} not"] if none else [])])

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
        care = self.components.of("with care") if self.topics is None else []
        if self.grade == "supported":
            if not self.on_components:
                return _USE
            if len(self.components) == 1:
                return f"The {self.nouns[0]} can be used."
            if not care:
                return f"The {self.nouns[1]} can be read and compared one by one."
            return f"The {self.nouns[1]} can be read and compared, of {_numbered(care)} the main features."
        order = {"bad": 0, "open": 1, "look": 2, "": 3}
        wanting = sorted(
            (check for check in self.checks if status(check) in order and (status(check) or check.holds is False)),
            key=lambda check: (order[status(check)], check.role != "veto"),
        )
        too_many = any(check.name == EXPECTED_ERROR and status(check) == "bad" for check in self.checks)
        most = len(self.component_errors) if too_many and self.component_errors is not None else np.inf
        remedies = [check.remedy for check in wanting if check.remedy and check.suggests <= most]
        said = list(dict.fromkeys(remedies))[:2]
        usable = self.components.of("supported") or care
        if self.grade == "partly":
            said.insert(0, f"Use {self.nouns[1] if len(usable) > 1 else self.nouns[0]} {_numbered(usable)}.")
        return " ".join(said) or "Read the statements below, and use it with that in mind."

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
    def held_out(self) -> np.ndarray | None:
        """Log-likelihood of rows that were not learned from, shape (n,), by which numbers of components are compared."""
        return next((check.held_out for check in self.checks if check.held_out is not None), None)

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
        self.nouns, self.rival = estimator._nouns, estimator._rival
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
        """The checks that statements rest on, each with "ok", "look", "bad", or "open" where it was not measured."""
        return [(status(check), check) for check in self.checks if status(check)]

    @property
    def reasons(self) -> list[tuple[Status, Check]]:
        """The checks because of which statements have not passed, with their marks, but for those that statements name."""
        named = {one.sentence.partition(":")[0].lower() for one in self.statements if one.passed is False}
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
        described = [(mark, _described(one)) for mark, one in self.marks]
        for mark, texts in [*described, *((mark, describe(check)) for mark, check in self.reasons)]:
            name, measured, needed, _, _ = texts
            lines.append(f"  {mark:<5} {name:<26} {measured:>12}   {f'needed {needed}' if needed else ''}".rstrip())
        if self.closing:
            lines += ["", self.closing]
        if self.topics is not None:
            lines += ["", f"--- {self.topics.nouns[1]}", str(self.topics)]
        return escape_controls("\n".join(lines))

    @property
    def closing(self) -> str:
        """Note on the meaning of errors, and where the other checks are."""
        more = f"What they rest on, in {len(self.checks)} measurements: evidence_.table()." if self.checks else ""
        errors = "Expected errors assume that the data follows the model; where a misfit was found, they include it."
        return f"{errors} {more}".strip() if self.on_components else more

    def _repr_html_(self) -> str:
        """What notebooks show."""
        return evidence_page(self)


def _subject(evidence: Evidence) -> str:
    """What the verdict is on."""
    n, (one, many, _) = 0 if evidence.component_errors is None else len(evidence.component_errors), evidence.nouns
    return evidence.subject or (f"these {n} {many}" if n > 1 else f"this {one}" if n else "this fit")


def _described(statement: Statement) -> Sequence[str]:
    """A statement as a row of texts, as `describe` has checks."""
    mark = {True: "yes", False: "NO", None: ""}[statement.passed]
    return statement.name, statement.measured, statement.needed, mark, statement.sentence


def _numbered(components: Sequence[Component]) -> str:
    """The numbers of the first ten."""
    return ", ".join(str(one.component) for one in components[:10]) + (", ..." if len(components) > 10 else "")


def _numbers(values: np.ndarray | None, n: int) -> list[float | None]:
    """Of each component, where they are known."""
    return [None] * n if values is None or len(values) != n else [float(value) for value in values]


def _of_data(components: Sequence[Component], rows: str) -> str:
    shares = [one.share for one in components]
    if not shares or any(share is None for share in shares):
        return ""
    return f" ({sum(share or 0.0 for share in shares):.0%} of the {rows})"
