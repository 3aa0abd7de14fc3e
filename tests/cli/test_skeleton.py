"""What all commands share: options, folders of results, and numbers of components that are compared."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pytest
import typer
from rich.console import Console

import latentia
from latentia.cli import _shared as shared
from latentia.cli.main import app
from latentia.datasets import planted
from latentia.evidence import Check, Evidence, at_most
from latentia.exceptions import LatentiaError

LEARN = ("topics", "labels", "hmm", "mixture", "ica", "noisy-or", "matrix")
LONG = {
    "topics": "--topics", "labels": "--topics", "hmm": "--states", "mixture": "--components", "ica": "--sources",
    "noisy-or": "--causes", "matrix": "--rank",
}  # fmt: skip


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Rows of three components in four columns."""
    target = tmp_path_factory.mktemp("skeleton") / "x.csv"
    data = planted.gaussian_mixture(1500, n_components=3, n_features=4, separation=10)
    target.write_text("\n".join(["a,b,c,d", *(",".join(f"{v:.6g}" for v in row) for row in data.X)]))
    return target


# --- options --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", LEARN)
def test_every_command_that_learns_has_the_same_options(command):
    options = {name for each in typer.main.get_command(app).commands[command].params for name in each.opts}
    assert options >= {"-k", LONG[command], "--out", "--refine", "--seed", "--jobs", "--evidence", "--force", "--quiet"}


def test_older_names_of_the_number_are_kept():
    commands = typer.main.get_command(app).commands
    found = [{name for each in commands[c].params for name in each.opts} for c in ("noisy-or", "matrix")]
    assert "-m" in found[0]
    assert "-r" in found[1]


@pytest.mark.parametrize(
    ("text", "sizes"),
    [("7", [7]), ("2:4", [2, 3, 4]), ("10:50:20", [10, 30, 50]), ("10:45:20", [10, 30]), ("3:3", [3])],
)
def test_sizes(text, sizes):
    assert shared.parse_sizes(text, "topics") == sizes


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0", "at least 1 of the topics"), ("0:3", "no number of topics"), ("4:2", "no number of topics"),
        ("2:9:0", "no number of topics"), ("a", "give a number of topics, or FROM:TO:STEP"), ("1:2:3:4", "give a number"),
        ("-3", "give a number"), ("1:101", "101 numbers of topics; 100 can be compared"),
    ],
)  # fmt: skip
def test_sizes_that_are_none(text, message):
    with pytest.raises(LatentiaError, match=message):
        shared.parse_sizes(text, "topics")


@pytest.mark.parametrize(
    ("parameter", "option"),
    [
        ("n_components", "-k"),
        ("n_jobs", "--jobs"),
        ("random_state", "--seed"),
        ("refine", "--refine"),
        ("tau", "--tau"),
    ],
)
def test_errors_name_the_option_instead_of_the_parameter(parameter, option):
    with pytest.raises(LatentiaError, match=f"^x.csv: {option} 9: too much.$"), shared.named("x.csv"):
        raise LatentiaError("too much.", parameter=parameter, value=9)
    with pytest.raises(LatentiaError, match=r"^x.csv, line 3: wrong$"), shared.named("x.csv"):
        raise LatentiaError("x.csv, line 3: wrong")


# --- what is printed ------------------------------------------------------------------------------------------------


def test_the_default_output_is_short_and_all_checks_are_there_on_request(call, table, tmp_path):
    options = ["-k", 3, "--no-scale", "--refine", 1]
    printed = call("mixture", table, *options, "--out", tmp_path / "o")
    assert len(printed.splitlines()) <= 20
    assert "tensor residual" not in printed
    assert re.search(r"^  ok   expected error +0\.\d+  needed <= ", printed, re.MULTILINE)
    printed = call("mixture", table, *options, "--evidence", "--out", tmp_path / "p")
    assert "tensor residual" in printed
    assert "All checks:" not in printed
    assert "NO" not in printed


@pytest.mark.parametrize("size", [3, 4])
def test_screen_files_and_report_say_what_the_evidence_says(call, rows, table, tmp_path, size):
    out = tmp_path / "o"
    printed = call("mixture", table, "-k", size, "--no-scale", "--out", out)
    evidence = latentia.load(out / "model.npz").evidence_
    assert " ".join(printed.split()).count(" ".join(f"{evidence.verdict} {evidence.advice}".split())) == 1
    said = re.findall(r"^  (ok|look|bad) +", printed, re.MULTILINE)
    assert said == [mark for mark, _ in evidence.rests_on()]
    checks = rows(out / "evidence.csv")
    assert checks[0]["says"] == evidence.grade
    assert [row["name"] for row in checks[1:]] == [check.name for check in evidence.checks]
    assert [row["says"] for row in checks[1:] if row["says"]] == said
    means = rows(out / "means.csv")
    assert [row["grade"] for row in means] == [one.grade for one in evidence.components]
    assert all(f"{float(row['expected error']):.2f}  {row['grade']}" in printed for row in means)
    assert evidence.advice in (out / "report.html").read_text("utf-8")


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("width", [70, 100, 200])
def test_lines_of_checks_end_where_the_screen_does(capsys, width, full):
    checks = [
        Check(
            "expected error", "", 0.1, at_most(0.4, "a unit of its own"), "A meaning of many words. " * 9, "", "verdict"
        ),
        Check("something", "", 3.0, at_most(2), "Another meaning. " * 20, "", "caution", "Mind it."),
        Check("for some", "N", 3.0, at_most(1), "A note. " * 20, "theorem"),
    ]
    shared.print_evidence(Evidence(checks, np.array([0.1])), Console(width=width, force_terminal=True), full=full)
    lines = re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().out).splitlines()
    assert lines[0].startswith("SUPPORTED WITH CARE. ")
    assert "Mind it." in lines[1:3]
    assert max(map(len, lines[:-2])) <= width
    assert sum(line.startswith(("  ok   expected", "  look something")) for line in lines) == 2
    assert any("for some" in line for line in lines) == full


def test_ten_components_are_listed(capsys):
    rows = [[str(i), "[red] " * 50] for i in range(12)]
    shared.print_components(Console(width=60), "12 [b]things", {"thing": "right", "words": "left"}, rows, "x.csv")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 + 10 + 1
    assert lines[0].strip() == "12 [b]things"
    assert lines[-1] == "2 more in x.csv"
    assert max(map(len, lines)) <= 60


# --- comparing ------------------------------------------------------------------------------------------------------


def _comparison(most, values):
    """Fits that carry so many components, and the values that are measured."""
    evidence = Evidence([Check("expected error", "", None, at_most(0.4), "", "", "verdict")])

    def fit(size):
        if size > most:
            raise LatentiaError(f"this data supports at most {most} components.", parameter="n_components", value=size)
        return SimpleNamespace(size=size, evidence_=evidence)

    choose = shared.highest("score", "{} things are best.")
    return shared.Comparison("things", "some", fit, lambda model: {"score": values[model.size]}, choose)


def test_numbers_that_the_data_cannot_carry_are_skipped(capsys):
    rows, best = shared._compared(_comparison(3, {2: 0.5, 3: 0.1}), [2, 3, 4, 5], Console(), False)
    assert [(row["things"], row["score"], row["grade"]) for row in rows] == [
        (2, 0.5, "not supported"), (3, 0.1, "not supported"),
    ]  # fmt: skip
    assert rows[0]["needed"] == "<= 0.4"
    assert "goodness of fit" not in rows[0]
    assert np.isnan(rows[0]["expected error"])
    assert best == 2
    printed = capsys.readouterr().out
    assert "-k 4 and more are skipped: this data supports at most 3 components." in printed
    assert "2 things are best." in printed
    with pytest.raises(LatentiaError, match="at most 1 components"):
        shared._compared(_comparison(1, {}), [2, 3], Console(), False)


def test_what_was_not_measured_is_never_the_best():
    rows = [{"k": 1, "x": float("nan")}, {"k": 2, "x": 3.0}, {"k": 3, "x": 5.0}]
    assert shared.highest("x", "{}")(rows) == (3, "3")


def test_a_range_ends_where_the_columns_do(call, rows, table, tmp_path):
    printed = call("mixture", table, "-k", "2:6", "--refine", 1, "--out", tmp_path / "o")
    assert "x.csv: 1500 rows of 4 columns carry at most 4 components: the range ends there." in printed
    assert [row["components"] for row in rows(tmp_path / "o" / "comparison.csv")] == ["2", "3", "4"]


# --- folders of results ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("matrix", "words.csv"), ("labels", "labels.csv"), ("noisy-or", "network.bif"), ("mixture", "labels.csv"),
        ("hmm", "paths.csv"), ("ica", "mixing.csv"), ("topics", "topics.csv"), ("mixture", "model.npz"),
    ],
)  # fmt: skip
def test_a_file_that_no_run_wrote_is_refused_before_any_work(tmp_path, command, name):
    (tmp_path / "o").mkdir()
    (tmp_path / "o" / name).write_text("mine")
    with pytest.raises(LatentiaError, match=f"{name}: would be replaced, and no earlier run wrote it"):
        app([command, str(tmp_path / "absent"), "--out", str(tmp_path / "o"), "--force"], standalone_mode=False)
    assert (tmp_path / "o" / name).read_text() == "mine"


def test_only_the_files_of_an_earlier_run_are_replaced(call, written, table, tmp_path):
    out = tmp_path / "o"
    call("mixture", table, "-k", "2:3", "--refine", 0, "--out", out)
    mine = ("words.csv", "topics.csv", "network.bif", "notes.txt")
    for name in mine:  # of commands that are not run here, and others
        (out / name).write_text(name)
    call("mixture", table, "-k", 2, "--no-scale", "--refine", 0, "--out", out, "--force")
    ours = ["evidence.csv", "labels.csv", "means.csv", "model.npz", "report.html"]
    assert written(out) == sorted([*ours, *mine])  # comparison.csv and scaling.csv are gone
    assert [(out / name).read_text() for name in mine] == list(mine)
    assert json.loads((out / ".latentia.json").read_text()) == {"files": ours}
    call("ica", table, "--refine", 0, "--out", out, "--force")
    assert written(out) == sorted(
        ["evidence.csv", "mixing.csv", "model.npz", "report.html", "sources.csv", "unmixing.csv", *mine]
    )


@pytest.mark.parametrize("content", ["", "{", "[]", '{"files": 3}', '{"files": ["../y.txt", "/etc/x", 4, "..", ""]}'])
def test_a_damaged_list_of_files_names_none(call, table, tmp_path, content):
    out, beside = tmp_path / "o", tmp_path / "y.txt"
    out.mkdir()
    beside.write_text("mine")
    (out / ".latentia.json").write_text(content)
    (out / "labels.csv").write_text("mine")
    with pytest.raises(LatentiaError, match="no earlier run wrote it"):
        call("mixture", table, "--out", out, "--force")
    (out / "labels.csv").unlink()
    call("mixture", table, "-k", 2, "--refine", 0, "--out", out, "--force")
    assert beside.read_text() == "mine"


def test_what_is_read_is_not_replaced(call, table, tmp_path):
    out = tmp_path / "o"
    call("ica", table, "--refine", 0, "--out", out)
    sources = (out / "sources.csv").read_bytes()
    with pytest.raises(LatentiaError, match=r"sources.csv: is read, and would be replaced"):
        call("mixture", out / "sources.csv", "-k", 2, "--out", out, "--force")
    with pytest.raises(LatentiaError, match=r"model.npz: is read, and would be replaced"):
        call("apply", out, table, "--out", out, "--force")
    assert (out / "sources.csv").read_bytes() == sources


def test_nothing_is_replaced_where_a_run_fails(call, written, table, tmp_path):
    out = tmp_path / "o"
    call("ica", table, "--refine", 0, "--out", out)
    before = {name: (out / name).read_bytes() for name in written(out)}
    (tmp_path / "bad.csv").write_text("a,b\n1,1\n1,1\n")
    with pytest.raises(LatentiaError, match=r"bad.csv: "):
        call("ica", tmp_path / "bad.csv", "--out", out, "--force")
    assert {name: (out / name).read_bytes() for name in written(out)} == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.csv", "o"]


def test_a_table_of_results_is_exact(tmp_path):
    shared.write_csv(tmp_path / "x.csv", ["a", "b"], [[1, 'x, "y"'], [np.float64(0.5), ""]])
    assert (tmp_path / "x.csv").read_bytes() == b'a,b\r\n1,"x, ""y"""\r\n0.5,\r\n'
