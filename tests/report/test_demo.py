"""``latentia demo``: one page that opens the report of every family, in a browser at all widths and in both colours."""

import hashlib
import json
import re
from pathlib import Path

import pytest

import latentia
from latentia.cli.commands import COMMANDS, LEARN_NOTHING, app
from latentia.cli.demo import CHAPTERS
from latentia.evidence.grades import GRADES

NAMES = [chapter.name for chapter in CHAPTERS]


@pytest.fixture(scope="module")
def summary(tmp_path_factory):
    """What the command returns for programs, of a run into a folder where an earlier run left its files."""
    out = tmp_path_factory.mktemp("demo") / "o"
    out.mkdir()
    (out / "report.html").write_text("of an earlier run")
    digest = hashlib.sha256(b"of an earlier run").hexdigest()
    (out / ".latentia.json").write_text(json.dumps({"files": {"report.html": [digest]}}))
    (out / "mine.txt").write_text("a file of somebody else")
    return app(["demo", "--out", str(out)], standalone_mode=False)


@pytest.fixture(scope="module")
def folder(summary):
    return Path(summary["out"])


def test_every_family_has_a_report_and_a_model(summary, folder):
    assert set(summary["files"]) == {"index.html", *(f"{name}.{end}" for name in NAMES for end in ("html", "npz"))}
    there = {path.name for path in folder.iterdir() if not path.name.startswith(".")}
    assert there == {*summary["files"], "mine.txt"}  # what the earlier run left is gone, and nothing else
    for family in summary["families"]:
        model = latentia.load(folder / f"{family['name']}.npz")
        assert type(model).__name__ == family["estimator"]
        assert model.evidence_.grade == family["grade"]


def test_every_command_that_learns_has_a_chapter():
    used = {chapter.command.split()[1] for chapter in CHAPTERS}
    assert used == set(COMMANDS) - set(LEARN_NOTHING)


def test_the_index_says_what_the_reports_say(summary, folder, read_page):
    page = read_page(folder / "index.html")
    links = [attrs["href"] for tag, attrs in page.tags if tag == "a"]
    assert links == [f"{name}.html" for name in NAMES]
    badges = [attrs["class"] for tag, attrs in page.tags if tag == "span" and "badge" in attrs.get("class", "")]
    assert len(badges) == len(NAMES)
    assert page.addresses == []
    for family in summary["families"]:
        report = (folder / family["page"]).read_text("utf-8")
        assert f'class="card verdict {family_mark(family["grade"])}"' in report
        assert family["answer"] in page.cells
        assert family["question"] in page.cells


def family_mark(grade):
    return dict(zip(GRADES, ("good", "care", "partly", "bad"), strict=True))[grade]


def test_it_ends_well_and_finds_what_was_planted(summary):
    grades = {family["name"]: family["grade"] for family in summary["families"]}
    assert "not supported" not in grades.values()
    assert sum(grade == "supported" for grade in grades.values()) >= 7
    answers = {family["name"]: family["answer"] for family in summary["families"]}
    assert answers["dictionary"].startswith("96 of 96 atoms")
    assert answers["networks"].startswith("80 of 80 hidden units")
    assert float(re.search(r"worst die ([\d.]+) off", answers["sequences"])[1]) < 0.1
    assert float(re.search(r"probabilities is (\d\.\d+)", answers["causes"])[1]) < 0.1
    assert int(re.search(r"(\d+)% of the nodes", answers["communities"])[1]) > 95
    assert int(re.search(r"(\d+)% of 297", answers["labels"])[1]) > 90


@pytest.mark.parametrize(("width", "theme"), [(400, "light"), (1400, "dark")])
def test_pages_open_in_silence(browser, folder, width, theme):
    """Without a message, a request, or anything wider than the window."""
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    media = {"features": [{"name": "prefers-color-scheme", "value": theme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    try:
        for name in ("index", *NAMES):
            browser.get((folder / f"{name}.html").as_uri())
            assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0, name
            assert browser.execute_script("return document.documentElement.scrollWidth") <= width, name
            ground = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
            assert (sum(map(int, re.findall(r"\d+", ground)[:3])) > 380) == (theme == "light"), name
        assert [entry["message"] for entry in browser.get_log("browser")] == []
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
