"""What the pages say of the code is so: the README's example runs, and every check that decides is on its page."""

import re
from importlib import import_module
from operator import attrgetter
from pathlib import Path

import pytest
from contract import CASES

ROOT = Path(__file__).parents[1]


def code_blocks(page):
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text("utf-8"), re.DOTALL)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::latentia.exceptions.LatentiaWarning")
def test_the_examples_of_the_readme_run(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
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


def test_what_the_page_on_the_api_names_is_there():
    rows = re.findall(
        r"^\| `(latentia[\w.]*)` \| (.*) \|$", (ROOT / "docs" / "api.md").read_text("utf-8"), re.MULTILINE
    )
    assert len(rows) > 10
    for module, names in rows:
        for name in re.findall(r"`([\w.]+)`", names):
            assert attrgetter(name)(import_module(module)), f"{module}.{name}"
