"""The README: its figures are those of the results, its families are all there, and its links and commands work."""

import re
import shutil
import sys
from pathlib import Path

import pytest
from pages import TERMINAL, agree
from shell import latentia
from test_api import public_estimators
from try_package import readme_commands, write_files

from latentia.cli.commands import COMMANDS, LEARN_NOTHING

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
START, END = "<!-- figures of benchmarks/readme_figures.py -->", "<!-- end of figures -->"

pytestmark = pytest.mark.filterwarnings("ignore::latentia.exceptions.LatentiaWarning")


@pytest.fixture
def figures(monkeypatch):
    """The script that writes the figures."""
    if not (ROOT / "benchmarks" / "results" / "topics_recover_planted.json").is_file():
        pytest.skip("the results of the benchmarks are not here")
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import readme_figures

    yield readme_figures
    for name in ("readme_figures", "_common"):
        sys.modules.pop(name, None)


def test_figures_are_those_of_the_results(figures):
    written = README.partition(START)[2].partition(END)[0].strip()
    assert written == figures.block(), "run python benchmarks/readme_figures.py"


def test_the_first_answer_of_the_readme_is_that_of_the_code(capsys, monkeypatch):
    for name, value in TERMINAL.items():
        monkeypatch.setenv(name, value)
    code, said = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", README, re.DOTALL).groups()
    exec(code, {})
    assert agree(capsys.readouterr().out, said)


def test_the_results_would_change_the_readme(figures, monkeypatch):
    """The comparison is of figures that are read, not of a copy."""
    before, read = figures.block(), figures.row

    def doubled(name, **keys):
        return {key: 2 * value if isinstance(value, float) else value for key, value in read(name, **keys).items()}

    monkeypatch.setattr(figures, "row", doubled)
    after = figures.block().splitlines()
    changed = [new != old for new, old in zip(after, before.splitlines(), strict=True)]
    assert sum(changed) == len(figures.TASKS)


def test_there_are_no_other_measured_figures():
    """What has a decimal point stands in the block, or is the version of Python."""
    prose = README.partition(START)[0] + README.partition(END)[2]
    prose = re.sub(r"```.*?```", "", prose, flags=re.DOTALL)
    assert set(re.findall(r"(?<![\w.])\d*\.\d+", prose)) <= {"3.11"}


@pytest.mark.parametrize(("value", "text"), [
    (0.1739, ".17"), (0.2, ".20"), (0.0552, ".055"), (1.0106, "1.0"), (4.957, "5.0"),
    (20.2, "20"), (0.999, "1.0"), (9.96, "10"),
])  # fmt: skip
def test_numbers_have_two_digits_that_count(figures, value, text):
    assert figures.number(value) == text


def test_every_estimator_and_every_command_stands_in_the_table():
    table = README.partition("## What is there")[2].partition("## ")[0]
    estimators = {estimator.__name__ for estimator in public_estimators()}
    assert estimators <= set(re.findall(r"\w+", table))
    assert {f"`{name}`" for name in COMMANDS} - {f"`{name}`" for name in LEARN_NOTHING} <= set(
        re.findall(r"`[\w-]+`", table)
    )


def test_pictures_exist_and_nothing_else_is_linked():
    """A package index shows the README too, and has no files beside it."""
    assert {path for path in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README) if (ROOT / path).is_file()} == {
        "docs/demo.png", "docs/error_against_time.png"
    }  # fmt: skip
    assert not re.findall(r"(?<!!)\[[^\]]+\]\(", README)
    for page in re.findall(r"`([\w-]+\.md)`", README):
        assert (ROOT / "docs" / page).is_file() or (ROOT / page).is_file(), page


def test_a_fresh_clone_needs_one_command():
    targets = dict(re.findall(r"^([\w-]+): (.*)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    named = set(re.findall(r"`make ([\w-]+)`", README))
    assert {"demo", "test"} <= named <= targets.keys()
    assert all(targets[name].startswith("$(VENV)/.installed") for name in named)


# --- what a new user types -------------------------------------------------------------------------------------------

TYPED = [words for words in readme_commands() if "results" in words[2:]]
SMALL = {"5:30:5": "2:3", "50": "5", "2:10": "2:4", "2:8": "2:4", "15": "15", "2:6": "2:3"}
"""Numbers to compare in a small example."""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with the files that the commands read."""
    folder = tmp_path_factory.mktemp("readme")
    write_files(folder)
    return folder


@pytest.mark.parametrize("words", TYPED, ids=lambda words: " ".join(words[:2]))
def test_the_commands_of_the_readme_run(words, files, monkeypatch):
    """As they stand, but for numbers to compare; `try_package.py` runs them with theirs, each in a process of its own."""
    monkeypatch.chdir(files)
    shutil.rmtree("results", ignore_errors=True)
    words = [SMALL[word] if option == "-k" else word for option, word in zip(["", *words], words, strict=False)]
    done = latentia(*words, "--quiet")
    assert done.returncode == 0, done.stderr
    assert (files / "results" / "report.html").is_file()


def test_no_command_of_the_readme_is_left_out():
    table = README.partition("## One command")[2].partition("## ")[0]
    assert len(TYPED) == len(re.findall(r"--out results", table)) >= 7
    others = [words[0] for words in readme_commands() if words not in TYPED]
    assert others == ["demo", "apply", "COMMAND", "app"]


def test_the_check_of_the_script_agrees(figures, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["readme_figures.py", "--check"])
    with pytest.raises(SystemExit) as end:
        figures.main()
    assert end.value.code is None
    monkeypatch.setattr(figures, "block", lambda: "other figures")
    with pytest.raises(SystemExit, match="run python"):
        figures.main()
