import csv
import re

import pytest
from shell import latentia

from latentia.cli._options import render_error
from latentia.cli.commands import app
from latentia.evidence.grades import GRADES
from latentia.exceptions import LatentiaError


@pytest.fixture
def call(capsys):
    """Run a command in this process; its output."""

    def run(*arguments):
        capsys.readouterr()
        app([*map(str, arguments), "--quiet"], standalone_mode=False)
        return capsys.readouterr().out

    return run


@pytest.fixture
def refused(tmp_path):
    """Run a command that must fail, and leave the folder of results out; its message."""

    def run(*arguments):
        before = sorted(path.name for path in tmp_path.iterdir())
        with pytest.raises(LatentiaError) as error:
            app([*map(str, arguments), "--out", str(tmp_path / "o"), "--quiet"], standalone_mode=False)
        assert sorted(path.name for path in tmp_path.iterdir() if not path.name.endswith("cache")) == before
        return render_error(error.value)

    return run


@pytest.fixture
def shell():
    """Run a command as users do; its exit code and what it wrote to standard error."""

    def run(*arguments):
        done = latentia(*arguments)
        return done.returncode, done.stderr

    return run


@pytest.fixture(scope="session")
def written():
    """Names of the files of results in a folder, in order."""
    return lambda folder: sorted(file.name for file in folder.iterdir() if not file.name.startswith("."))


@pytest.fixture(scope="session")
def rows():
    """Read a CSV file as dictionaries."""

    def read(path):
        with open(path, newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    return read


@pytest.fixture(scope="session")
def recommended():
    """The number that a comparison recommends in what was printed, and why; it is supported if any number is."""

    def check(printed, compared):
        noun = next(iter(compared[0]))
        (found,) = re.findall(rf"^(\d+) {noun}: (the .+) \((.+)\)\.$", printed, re.MULTILINE)
        size, why, grade = found
        (row,) = (row for row in compared if row[noun] == size)
        grades = [row["grade"] for row in compared]
        assert re.search(rf"(^|, ){row['grade']}(;|$)", grade)
        assert row["grade"] != "not supported" or set(grades) == {"not supported"}
        if "held-out log-likelihood" in why:
            assert ("supports none" in grade) == (row["grade"] == "not supported")
            likelihood, best, most = re.fullmatch(
                r"the .*best held-out log-likelihood (\S+) a row(?: \((\d+) have (\S+)\))?", why
            ).groups()
            assert why.startswith("the best") == (best is None)
            assert best is None or (int(size) < int(best) and float(likelihood) <= float(most))
            return int(size), why
        assert row["grade"] == min(grades, key=GRADES.index)
        rivals = [one for one in compared if one["grade"] == row["grade"]]
        errors = [float(one["expected error"]) for one in rivals]
        if "close to the lowest" in why:
            assert float(row["expected error"]) <= 1.1 * min(errors)
        elif why.startswith("the lowest"):
            assert float(row["expected error"]) == min(errors)
        elif "before the expected error jumps" in why:
            assert float(rivals[rivals.index(row) + 1]["expected error"]) > 1.7 * float(row["expected error"])
        else:
            assert row is rivals[-1]
        return int(size), why

    return check
