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


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::latentia.exceptions.LatentiaWarning")
def test_the_examples_of_the_page_for_beginners_run(monkeypatch, tmp_path):
    pytest.importorskip("matplotlib").use("agg")
    monkeypatch.chdir(tmp_path)
    names = {}
    for code in code_blocks("docs/get-started.md"):  # each goes on from the one before
        exec(compile(code, "docs/get-started.md", "exec"), names)
    assert names["mixture"].n_components_ == 4
    assert (tmp_path / "topics.html").exists()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::latentia.exceptions.LatentiaWarning")
def test_the_examples_of_the_guides_give_what_the_pages_say():
    def run(page):
        text = (ROOT / page).read_text("utf-8").split("## An example\n")[1]
        names = {}
        exec(compile(re.search(r"```python\n(.*?)```", text, re.DOTALL)[1], page, "exec"), names)
        return names

    club = run("docs/communities.md")["model"]
    assert club.evidence_.grade == "supported"
    assert abs(club.memberships_[2].min() - 0.4) < 0.1
    assert run("docs/tensors.md")["model"].n_components_ == 3
    books = run("docs/multilabel.md")
    assert abs(books["model"].score(books["X"][books["test"]], books["books"][books["test"]]) - 0.73) < 0.02


def test_links_between_the_pages_lead_somewhere():
    pages = {page.name: page.read_text("utf-8") for page in (ROOT / "docs").glob("*.md")}
    for name, text in pages.items():
        for target, anchor in re.findall(r"\]\(([\w-]+\.md)?(?:#([^)]*))?\)", text):
            assert not target or target in pages, f"{name}: {target}"
            headings = re.findall(r"^#+ (.*)$", pages[target or name], re.MULTILINE)
            slugs = {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}
            assert not anchor or anchor in slugs, f"{name}: {target}#{anchor}"


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
