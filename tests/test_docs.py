"""What the pages say of the code is so: the README's example runs, and every check that decides is on its page."""

import re
from pathlib import Path

import pytest
from contract import CASES

ROOT = Path(__file__).parents[1]


def code_blocks(page):
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text("utf-8"), re.DOTALL)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::latentia.exceptions.LatentiaWarning")
def test_the_examples_of_the_readme_run(capsys):
    (example,) = [code for code in code_blocks("README.md") if "AnchorTopics" in code]
    assert "refine" not in example  # the factor that stands below it was measured without refining
    exec(compile(example, "README.md", "exec"), {})
    assert "expected error" in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore::latentia.exceptions.LatentiaWarning")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_check_that_decides_is_on_the_page_about_guarantees(case):
    page = (ROOT / "docs" / "guarantees.md").read_text("utf-8")
    for data in (case.data(), case.hopeless()):
        for check in case.new().fit(**data).evidence_.checks:
            assert check.role == "note" or f"*{check.name}*" in page, check.name
