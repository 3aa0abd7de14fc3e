"""The README: its figures are those of the results, its families are all there, and its links and commands work."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from test_api import public_estimators

from latentia.cli.commands import _COMMANDS

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
    assert {f"`{name}`" for name in _COMMANDS} - {"`apply`", "`demo`"} <= set(re.findall(r"`[\w-]+`", table))


def test_pictures_exist_and_nothing_else_is_linked():
    """A package index shows the README too, and has no files beside it."""
    assert {path for path in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README) if (ROOT / path).is_file()} == {
        "docs/demo.png", "docs/error_against_time.png"
    }  # fmt: skip
    assert not re.findall(r"(?<!!)\[[^\]]+\]\(", README)
    for page in re.findall(r"`([\w-]+\.md)`", README):
        assert (ROOT / "docs" / page).is_file() or (ROOT / page).is_file(), page


# --- the four ways of a new user ------------------------------------------------------------------------------------

WORDS = {"sea": "ship sail wave harbour captain anchor storm", "farm": "field harvest plough cattle barn seed wheat"}


def command(name):
    """The command that the README gives."""
    (found,) = re.findall(rf"`latentia ({name}[ .][^`]*)`", README.partition("## One command")[2].partition("## ")[0])
    return found.split()


@pytest.fixture
def files(tmp_path):
    """What the commands read, under the names that they have in the README."""
    import numpy as np

    from latentia.datasets import planted

    rng = np.random.default_rng(0)
    pools = [[word + end for word in words.split() for end in "abcdefghijkl"] for words in WORDS.values()]
    texts, tags = [], []
    for _ in range(400):
        mixed = rng.dirichlet([0.3, 0.3])
        texts.append(" ".join(rng.choice(pools[k]) for k in rng.choice(2, 40, p=mixed)))
        tags.append(";".join(np.array(list(WORDS))[mixed > 0.3]))
    (tmp_path / "texts").mkdir()
    for i, text in enumerate(texts):
        (tmp_path / "texts" / f"{i}.txt").write_text(text)
    lines = [f'"{text}","{tag}"' for text, tag in zip(texts, tags, strict=True)]
    (tmp_path / "posts.csv").write_text("\n".join(["text,tags", *lines]))
    graph = planted.mixed_membership_graph(400, 3, alpha0=0.1, degree=30, snr=4).adjacency.tocoo()
    pairs = [f"node {a},node {b}" for a, b in zip(graph.row, graph.col, strict=True) if a < b]
    (tmp_path / "links.csv").write_text("\n".join(["from,to", *pairs]))
    table = planted.noisy_or_network(16, 3, leak=0.02).sample(3000).X
    table = table.toarray() if hasattr(table, "toarray") else np.asarray(table)
    rows = [",".join(map(str, row)) for row in table.astype(int)]
    (tmp_path / "patients.csv").write_text("\n".join([",".join(f"symptom {j}" for j in range(16)), *rows]))
    receipts = [",".join(f"item {j}" for j in np.flatnonzero(row)) for row in table]
    (tmp_path / "receipts.txt").write_text("\n".join(receipts))
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize(("name", "sizes"), [
    ("topics", "2:3"), ("labels", "5"), ("communities", "2:4"), ("noisy-or patients", "2:4"),
    ("noisy-or --baskets", "3"),
])  # fmt: skip
def test_the_commands_of_the_readme_run(name, sizes, files):
    """As they stand, but for the numbers to compare, which are those of a small example."""
    words = command(name)
    words[words.index("-k") + 1] = sizes
    done = subprocess.run(
        [sys.executable, "-m", "latentia", *words, "--quiet"], cwd=files, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (files / "results" / "report.html").is_file()


def test_the_check_of_the_script_agrees(figures, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["readme_figures.py", "--check"])
    with pytest.raises(SystemExit) as end:
        figures.main()
    assert end.value.code is None
    monkeypatch.setattr(figures, "block", lambda: "other figures")
    with pytest.raises(SystemExit, match="run python"):
        figures.main()
