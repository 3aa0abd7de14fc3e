"""Nothing that is said of a fit contradicts its four statements: on screen, page, tables, in JSON and the methods text."""

from __future__ import annotations

import io
import re
import warnings
from typing import Any

import pytest
from contract import CASES
from rich.console import Console

from latentia.cli._shared import _evidence_record, print_evidence
from latentia.evidence import STATEMENTS, Evidence, repeats_sentence
from latentia.exceptions import LatentiaWarning

pytestmark = pytest.mark.filterwarnings("ignore::latentia.exceptions.LatentiaWarning")
USABLE = ("supported", "with care")


def contradictions(evidence: Evidence) -> list[str]:
    """What grade, headline and components say against the statements, and against each other."""
    passed = {one.name: one.passed for one in evidence.statements}
    said = evidence.of_components
    records, found = list(said.components), []
    usable = [one for one in records if one.grade in USABLE]
    if evidence.grade == "supported" and not all(passed.values()):
        found.append("supported, though a statement has not passed")
    if evidence.grade in USABLE and passed["structure"] is False:
        found.append("graded without structure")
    if evidence.topics is None and evidence.grade in USABLE and len(usable) < len(records):
        found.append("all is graded, though some components cannot be used")
    if evidence.topics is None and evidence.grade == "not supported" and usable:
        found.append("components can be used of a fit that cannot")
    if any(one.found_again is not None and one.found_again < 0.5 for one in usable):
        found.append("a component can be used that other rows have less than half of")
    if any(one.grade == "supported" and one.expected_error > said.limit for one in records):
        found.append("a component is supported whose error is above the limit")
    for number, total, care in re.findall(r"(\d+) of (\d+) \w+ can be used( with care)?", evidence.verdict):
        own = [one for one in records if one.grade == ("with care" if care else "supported")]
        if (int(number), int(total)) != (len(own), len(records)):
            found.append("the headline counts other components than the table")
    if (
        "found again" in evidence.verdict
        and repeats_sentence(evidence.found_again, evidence.nouns) not in evidence.verdict
    ):
        found.append("the headline counts others as found again than the table")
    if evidence.measured == (evidence.verdict.startswith("NOT MEASURED")):
        found.append("the headline says it was not measured")
    return found


def in_order(text: str, parts: list[str]) -> bool:
    """Whether all parts are in a text, in their order."""
    at = 0
    for part in parts:
        at = text.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True


def screen(evidence: Evidence) -> str:
    console = Console(file=io.StringIO(), width=400, force_terminal=False)
    print_evidence(evidence, console)
    return console.file.getvalue()


def models(case: Any) -> list[Any]:
    """A model of data that it can describe, and of data without structure."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentiaWarning)
        return [case.shared(), case.lost()[0]]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_nothing_contradicts_the_four_statements(case, tmp_path):
    for number, model in enumerate(models(case)):
        evidence = model.evidence_
        for one in filter(None, (evidence, evidence.topics)):
            assert contradictions(one) == []
            assert tuple(said.name for said in one.statements) == STATEMENTS
            assert all(said.sentence for said in one.statements)
        names, sentences = list(STATEMENTS), [one.sentence for one in evidence.statements]
        assert in_order(screen(evidence), [evidence.verdict, *(f" {name} " for name in names)])
        assert in_order(str(evidence), [f" {name} " for name in names])
        assert in_order(evidence.to_markdown(), [evidence.verdict, *(f"| {name} |" for name in names)])
        assert in_order(evidence._repr_html_(), [f"<b>{name}</b>" for name in names])
        assert [row["name"] for row in evidence.rows()[:4]] == names
        assert [one["name"] for one in _evidence_record(evidence)["statements"]] == names
        table = model.summary().tables["evidence"]
        assert [list(column.values)[:4] for column in table.columns if column.name == "name"] == [names]
        assert in_order(model.methods_text(), ["Found again", "Error", "Structure", "Fit"])
        page = model.report(tmp_path / f"{number}.html").read_text("utf-8")
        assert in_order(page, [f"<b>{name}</b>" for name in names])
        assert all(sentence.split("'")[0][:40] in page for sentence in sentences if "<" not in sentence[:40])


def test_contradictions_are_seen():
    case = next(case for case in CASES if case.name == "SphericalGaussianMixture")
    evidence = case.shared().evidence_
    assert contradictions(evidence) == []

    class Louder(Evidence):
        grade = "supported"

    louder = Louder(evidence.checks[:1], evidence.component_errors, found_again=0 * evidence.found_again)
    assert "supported, though a statement has not passed" in contradictions(louder)
