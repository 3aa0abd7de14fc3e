"""``--json``: one object on standard output, whatever happens, and all else on standard error."""

import json
import math
import re
import subprocess
import sys

import numpy as np
import pytest
from shell import latentia

from latentia.cli._json import plain
from latentia.datasets import planted

SHARED = {
    "advice", "checks", "command", "comparison", "components", "estimator", "expected_error", "files", "grade", "latentia",
    "n_components", "out", "read", "source", "statements", "verdict", "warnings",
}  # fmt: skip
ABSENT = "No such option:? '?--absent"  # Click 8.5 or later has quotes instead of the colon
CRITERIA = {"labels": {"topics"}, "hmm": {"log_likelihood", "bic", "aic"}, "mixture": {"bic", "aic"}}


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """Run a command with --json; its exit code, the one object that it printed, and what else it said."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        done = latentia(*arguments, "--json")
        return done.returncode, json.loads(done.stdout, parse_constant=pytest.fail), done.stderr

    return run


def test_a_process_prints_one_object_too(files):
    command = [
        sys.executable,
        "-m",
        "latentia",
        "mixture",
        "rows.csv",
        "-k",
        "3",
        "--refine",
        "0",
        "--out",
        "o",
        "--json",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=files)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["command"] == "mixture"
    done = subprocess.run([*command, "--absent"], capture_output=True, text=True, check=False, cwd=files)
    assert done.returncode == 2
    assert re.search(ABSENT, json.loads(done.stdout)["error"])
    assert "Traceback" not in done.stderr


@pytest.fixture
def files(tmp_path):
    """A small file for every command."""
    rng = np.random.default_rng(0)
    data = planted.gaussian_mixture(300, n_components=3, n_features=3, separation=8)
    rows = ["a,b,c", *(",".join(f"{v:.4g}" for v in row) for row in data.X)]
    (tmp_path / "rows.csv").write_text("\n".join(rows))
    words = [f"{a}{b}{a}" for a in "bcdfgklm" for b in "aeiou"]
    lines = [" ".join(rng.choice(words[20 * (i % 2) : 20 * (i % 2) + 20], 30)) for i in range(80)]
    (tmp_path / "texts.txt").write_text("\n".join(lines))
    (tmp_path / "pairs.csv").write_text("from,to\n" + "\n".join(",".join(rng.choice(words, 2)) for _ in range(400)))
    sick = rng.random((300, 2)) < 0.3
    found = np.repeat(sick, 3, axis=1) & (rng.random((300, 6)) < 0.9)
    (tmp_path / "findings.csv").write_text("\n".join(["u,v,w,x,y,z", *(",".join(map(str, row)) for row in found * 1)]))
    lines = [f"{i % 2} {3 * (i % 2)}:1 {3 * (i % 2) + 1}:{i % 3 + 1} {6 + i % 3}:1" for i in range(80)]
    graph = planted.mixed_membership_graph(200, 2, alpha0=0.1, degree=20, snr=4).adjacency
    (tmp_path / "edges.txt").write_text("\n".join(f"{i} {j}" for i, j in zip(*graph.nonzero(), strict=True) if i < j))
    (tmp_path / "labels.svm").write_text("\n".join(lines))
    return tmp_path


@pytest.mark.parametrize(
    ("command", "file", "options"),
    [
        ("topics", "texts.txt", ["-k", 2]),
        ("labels", "labels.svm", ["-k", 2, "--zero-based"]),
        ("hmm", "texts.txt", ["-k", 2]),
        ("mixture", "rows.csv", ["-k", 3]),
        ("ica", "rows.csv", []),
        ("noisy-or", "findings.csv", ["-k", 2]),
        ("matrix", "pairs.csv", ["-k", 2]),
        ("communities", "edges.txt", ["-k", 2]),
        ("dictionary", "rows.csv", ["-k", 4]),
        ("network", "findings.csv", []),
    ],
)
def test_every_command_prints_one_object(programs, files, command, file, options):
    code, found, said = programs(command, file, *options, "--refine", 1, "--out", "o")
    assert code == 0, said
    assert found.keys() == SHARED | CRITERIA.get(command, set())
    assert found["command"] == command
    assert found["source"] == file
    assert found["files"] == sorted(path.name for path in (files / "o").iterdir() if not path.name.startswith("."))
    assert found["verdict"] in " ".join(said.split())
    assert found["grade"] in ("supported", "with care", "partly", "not supported")
    assert {check["name"] for check in found.get("topics", found)["checks"]} >= {"expected error"}
    assert [one["component"] for one in found["components"]] == list(range(len(found["components"])))
    code, applied, said = programs("apply", "o", file, "--out", "p")
    assert code == 0, said
    assert applied["command"] == "apply"
    assert applied["estimator"] == found["estimator"]
    assert applied["files"] == [path.name for path in (files / "p").iterdir() if not path.name.startswith(".")]


def test_what_a_range_recommends(programs, files, rows):
    code, found, said = programs("mixture", "rows.csv", "-k", "2:9", "--refine", 0, "--out", "o")
    assert code == 0, said
    compared = found["comparison"]
    assert [row["components"] for row in compared["rows"]] == [2, 3]
    assert compared["recommended"] == found["n_components"] == 3
    assert compared["why"] in " ".join(said.split())
    assert [row["components"] for row in rows(files / "o" / "comparison.csv")] == ["2", "3"]


def test_warnings_are_in_the_object(programs, files):
    lines = (files / "rows.csv").read_text().splitlines()
    (files / "rows.csv").write_text("\n".join([*lines, "NA,1,2"]))
    code, found, said = programs("mixture", "rows.csv", "-k", 3, "--missing", "drop", "--out", "o")
    assert code == 0
    assert any("1 of 301 rows lack a value" in text for text in found["warnings"])
    assert "1 of 301 rows lack a value" in said


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["mixture", "absent.csv"], r"absent\.csv: no such file"),
        (["mixture", "rows.csv", "-k", "x"], "-k 'x': give a number of components"),
        (["mixture", "rows.csv", "--absent"], ABSENT),
        (["mixture", "rows.csv", "--seed", "-1"], "Invalid value for '--seed'"),
        (["mixture"], "Missing argument"),
        (["apply", "absent", "rows.csv"], "absent: no model found"),
        (["mixture", "rows.csv", "--encoding", "klingon"], "--encoding klingon: expected a text encoding"),
    ],
)
def test_errors_are_objects_too(programs, files, arguments, problem):
    code, found, said = programs(*arguments)
    assert code == 2
    assert re.search(problem, found["error"])
    assert "Traceback" not in said


def test_a_summary_that_cannot_be_printed(files):
    command = [sys.executable, "-m", "latentia", "apply", "absent", "rows.csv", "--json"]
    try:
        with open("/dev/full", "w") as full:
            done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    except OSError:
        pytest.skip("needs /dev/full")
    assert done.returncode == 2
    assert "error: the summary cannot be printed" in done.stderr


def test_plain_values():
    value = {"a": (np.float64(1.5), np.int64(2), math.nan, np.array([1.0, np.inf])), 3: None, "b": True}
    assert plain(value) == {"a": [1.5, 2, None, [1.0, None]], "3": None, "b": True}
