"""What all commands share: options, folders of results, and numbers of components that are compared."""

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console
from shell import latentia as latentia_on_a_screen

import latentia
from latentia import mixtures
from latentia.cli import _shared as shared
from latentia.cli._options import option_of, render_error
from latentia.cli.commands import app, command_of
from latentia.datasets import planted
from latentia.evidence import Check, Evidence, at_most
from latentia.exceptions import DroppedDataWarning, FileNotice, LatentiaError, parameters_written, write_parameter
from latentia.passes import formats
from latentia.summaries import Column, Table

LEARN = ("topics", "labels", "hmm", "mixture", "ica", "noisy-or", "matrix", "communities", "dictionary")
LONG = {
    "topics": "--topics", "labels": "--topics", "hmm": "--states", "mixture": "--components", "ica": "--sources",
    "noisy-or": "--causes", "matrix": "--rank", "communities": "--communities", "dictionary": "--atoms",
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
    options = {name for each in command_of(command).params for name in each.opts}
    shared_by_all = {
        "--out",
        "--refine",
        "--cache",
        "--no-cache",
        "--encoding",
        "--json",
        "--seed",
        "--jobs",
        "--evidence",
        "--force",
        "--quiet",
    }
    assert options >= {"-k", LONG[command]} | shared_by_all


def test_older_names_of_the_number_are_kept():
    found = [
        {name for each in command_of(c).params for name in each.opts} for c in ("noisy-or", "matrix", "dictionary")
    ]
    assert "-m" in found[0]
    assert "-r" in found[1]
    assert "-m" in found[2]


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
        ("-3", "give a number"), ("1:101", "101 numbers of topics; at most 100 can be compared"),
        ("1:99999999999999999999", "-k 1:99999999999999999999: no data supports that many topics"),
        ("9" * 5000, "-k 9{40}: no data supports that many topics"), ("٣", "give a number of topics"),
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
    with pytest.raises(LatentiaError) as error, shared.name_source("x.csv"):
        raise LatentiaError("too much.", parameter=parameter, value=9)
    assert render_error(error.value) == f"x.csv: {option} 9: too much."
    with pytest.raises(LatentiaError, match=r"^x.csv, line 3: wrong$"), shared.name_source("y.csv"):
        raise LatentiaError("wrong", source="x.csv", place="line 3")
    with (
        pytest.raises(LatentiaError, match="^x.csv: use --cache, or --no-cache.$"),
        shared.name_source("x.csv"),
        parameters_written(option_of),
    ):
        raise LatentiaError(f"use {write_parameter('cache')}, or {write_parameter('cache', False)}.")


# --- how files are read ---------------------------------------------------------------------------------------------


@pytest.fixture
def counts(tmp_path):
    """A table of counts, of which binary copies are kept."""
    X = np.random.default_rng(0).integers(0, 3, (200, 20))
    cells = [f"{i + 1} {j + 1} {X[i, j]}" for i, j in np.argwhere(X)]
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / "x.mtx"
    path.write_text("\n".join(["%%MatrixMarket matrix coordinate integer general", f"200 20 {len(cells)}", *cells]))
    return path


@pytest.mark.parametrize(
    ("command", "options"),
    [("topics", ["-k", 2]), ("mixture", ["-k", 2]), ("ica", ["-k", 2]), ("matrix", ["-k", 2])],
)
def test_where_binary_copies_are_kept(call, rows, counts, tmp_path, command, options):
    if command == "matrix":  # of pairs: square
        counts.write_text(counts.read_text().replace("200 20 ", "200 200 "))
    arguments = [command, counts, *options, "--refine", 0, "--force", "--out", tmp_path / "o"]
    call(*arguments, "--no-cache")
    assert sorted(path.name for path in counts.parent.iterdir()) == ["x.mtx"]
    result = (tmp_path / "o" / "evidence.csv").read_bytes()
    call(*arguments, "--cache", tmp_path / "copies" / "deep")
    assert sorted(path.name for path in counts.parent.iterdir()) == ["x.mtx"]
    assert [path.name.split(".")[:2] for path in (tmp_path / "copies" / "deep").iterdir()] == [["x", "mtx"]]
    call(*arguments)
    assert sorted(path.name for path in counts.parent.iterdir()) == ["x.mtx", "x.mtx.latentia-cache"]
    assert (tmp_path / "o" / "evidence.csv").read_bytes() == result


def test_apply_keeps_copies_where_it_is_told(call, counts, tmp_path):
    call("topics", counts, "-k", 2, "--refine", 0, "--no-cache", "--out", tmp_path / "o")
    for options in (["--no-cache"], ["--cache", tmp_path / "copies"]):
        call("apply", tmp_path / "o", counts, *options, "--force", "--out", tmp_path / "p")
        assert sorted(path.name for path in counts.parent.iterdir()) == ["x.mtx"]
    assert len(list((tmp_path / "copies").iterdir())) == 1


def test_no_copy_is_kept_where_the_folder_cannot_be_written(call, counts, tmp_path, monkeypatch):
    monkeypatch.setattr(formats, "can_write", lambda folder: folder != counts.parent)
    with pytest.warns(FileNotice, match=r"x\.mtx: no binary copy was stored, as the folder cannot be written"):
        call("topics", counts, "-k", 2, "--refine", 0, "--out", tmp_path / "o")
    assert sorted(path.name for path in counts.parent.iterdir()) == ["x.mtx"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--cache", "c", "--no-cache"], "--cache and --no-cache exclude each other"),
        (["--cache", __file__], "test_skeleton.py: the folder cannot be written. Choose another, or --no-cache"),
        (["--cache", f"{__file__}/c"], "c: the folder cannot be written"),
    ],
)
def test_options_of_copies_that_make_no_sense(refused, table, options, message):
    assert message in refused("mixture", table, *options)


def test_a_copy_is_announced_with_the_options_of_the_command(shell, counts, tmp_path):
    code, said = shell("topics", counts, "-k", 2, "--refine", 0, "--quiet", "--out", tmp_path / "o")
    assert code == 0
    assert said.startswith(f"note: {counts}: a binary copy, which later runs read faster, was stored beside it as ")
    assert said.endswith("You can delete it at any time. --cache DIR writes it elsewhere; --no-cache writes none.\n")


def test_an_encoding_that_was_found_is_announced(shell, tmp_path):
    lines = ["name,a,b", *(f"caf\xe9,{i % 7},{i % 3}" for i in range(60))]
    (tmp_path / "x.csv").write_bytes("\n".join(lines).encode("latin-1"))
    code, said = shell("ica", tmp_path / "x.csv", "--refine", 0, "--quiet", "--out", tmp_path / "o")
    assert code == 0
    assert "was read as Windows-1252 (Latin-1). If letters look wrong, give the encoding with --encoding.\n" in said
    assert "encoding=" not in said


@pytest.fixture
def holes(table, tmp_path):
    """The same rows, of which three lack a value."""
    lines = table.read_text().splitlines()
    for i in (3, 7, 20):
        lines[i] = ",".join(["NA", *lines[i].split(",")[1:]])
    target = tmp_path / "holes.csv"
    target.write_text("\n".join(lines))
    return target


@pytest.mark.parametrize(("command", "file"), [("mixture", "labels.csv"), ("ica", "sources.csv")])
def test_cells_without_a_value(call, rows, refused, holes, tmp_path, command, file):
    said = refused(command, holes)
    options = ["-k", 2, "--refine", 0]
    assert "holes.csv, line 4, column 'a': no value ('NA'). Fill it in or delete the line. Or use other columns" in said
    ways = "--missing drop leaves such rows out, and --missing mean fills such cells"
    kept = ", and --missing keep treats them as missing" if command == "mixture" else ""
    assert said.endswith(f"{ways}{kept}.")
    assert "missing=" not in said
    assert "--missing 'zero': use one of drop, mean" in refused(command, holes, "--missing", "zero")
    out = tmp_path / "o"
    with pytest.warns(DroppedDataWarning, match="3 of 1500 rows lack a value and were left out: line 4, 8, 21"):
        call(command, holes, "--missing", "drop", *options, "--out", out)
    found = rows(out / file)
    assert len(found) == 1497
    assert not {"4", "8", "21"} & {row["row"] for row in found}
    assert "holes.csv, without 3 of 1,500 rows, which lack a value" in (out / "report.html").read_text("utf-8")
    with pytest.warns(FileNotice, match="3 cells without a value were filled with the mean of their column: 3 in 'a'"):
        call(command, holes, "--missing", "mean", *options, "--force", "--out", out)
    assert len(rows(out / file)) == 1500
    assert "holes.csv, with means in 3 cells that had no value" in (out / "report.html").read_text("utf-8")


def test_apply_leaves_rows_without_a_value_out(call, rows, refused, table, holes, tmp_path):
    call("mixture", table, "-k", 2, "--refine", 0, "--out", tmp_path / "m")
    said = refused("apply", tmp_path / "m", holes)
    ways = "--missing keep treats them as missing, and --missing drop leaves such rows out."
    assert said.endswith(f"no value ('NA'). Fill it in or delete the line. {ways}")
    assert "--missing 'mean': use one of keep, drop" in refused("apply", tmp_path / "m", holes, "--missing", "mean")
    with pytest.warns(DroppedDataWarning, match="3 of 1500 rows"):
        call("apply", tmp_path / "m", holes, "--missing", "drop", "--out", tmp_path / "p")
    assert len(rows(tmp_path / "p" / "labels.csv")) == 1497


@pytest.mark.parametrize(
    ("command", "options", "file"),
    [
        ("mixture", ["--refine", 0], "labels.csv"),
        ("ica", [], "sources.csv"),
        ("dictionary", ["--sparsity", 1], "codes.csv"),
        ("nmf", [], "weights.csv"),
        ("contrast", [], "scores.csv"),
        ("network", [], "codes.csv"),
        ("noisy-or", [], "posteriors.csv"),
    ],
)
def test_rows_keep_their_names(call, rows, tmp_path, command, options, file):
    rng = np.random.default_rng(0)
    values = rng.gamma(np.repeat(np.eye(6) * 9 + 1, 50, axis=0))
    values[:, 0] += rng.exponential(5, 300)
    if command == "noisy-or":
        values = np.where(values > 5, 1, 0)
    if command == "network":
        values = planted.sparse_network(1000, (100, 20), 5, 0.04).Y.toarray().astype(int)
    names = [f"plant {i}, {'of its own ' if i == 7 else ''}x" for i in range(len(values))]
    lines = [f'"{name}",{",".join(f"{v:.4g}" for v in row)}' for name, row in zip(names, values, strict=True)]
    lines[20] = lines[20].rpartition(",")[0] + ","  # dropped, with its name
    path = tmp_path / "x.csv"
    path.write_text("\n".join([f"who,{','.join(f'c{i}' for i in range(values.shape[1]))}", *lines]) + "\n")
    V = values[:, 1:3] + rng.normal(size=(len(values), 2))
    (tmp_path / "v.csv").write_text("who,p,q\n" + "".join(f"no {i},{a:.4g},{b:.4g}\n" for i, (a, b) in enumerate(V)))
    other = [tmp_path / "v.csv"] if command == "contrast" else []
    size = [] if command in ("contrast", "network") else ["-k", 2]
    missing = ["--missing", "drop"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        printed = call(command, path, *other, *size, *options, *missing, "--out", tmp_path / "o")
        call("apply", tmp_path / "o", path, *other, *missing, "--out", tmp_path / "p")
    assert "rows are named as in 'who': plant 0, x, plant 1, x, plant 2, x and " in printed
    for folder in ("o", "p"):
        found = rows(tmp_path / folder / file)
        assert {(row["row"], row["name"]) for row in found} <= {(str(i + 2), name) for i, name in enumerate(names)}
        assert len({row["name"] for row in found}) > 250
        assert "plant 20, x" not in {row["name"] for row in found}


# --- what is printed ------------------------------------------------------------------------------------------------


def test_the_default_output_is_short_and_all_checks_are_there_on_request(call, table, tmp_path):
    options = ["-k", 3, "--no-scale", "--refine", 1]
    printed = call("mixture", table, *options, "--out", tmp_path / "o")
    assert len(printed.splitlines()) <= 20
    assert "tensor residual" not in printed
    assert re.search(r"^  ok   error +0\.\d+  needed <= ", printed, re.MULTILINE)
    printed = call("mixture", table, *options, "--evidence", "--out", tmp_path / "p")
    assert "tensor residual" in printed
    assert "All checks:" not in printed
    assert "NO" not in printed


def test_advice_names_no_number_that_was_compared(call, table, tmp_path, monkeypatch):
    line = Check("rank supported", "r", 3.0, at_most(2), "more", "", "caution", "Compare with 3.", 3)
    fit = mixtures.SphericalGaussianMixture.fit

    def fitted(model, X):
        model = fit(model, X)
        model.evidence_.checks = [Check("expected error", "e", 0.1, at_most(0.5), "far", "", "verdict"), line]
        return model

    monkeypatch.setattr(mixtures.SphericalGaussianMixture, "fit", fitted)
    assert "Compare with 3." in call("mixture", table, "-k", 2, "--refine", 0, "--out", tmp_path / "o")
    printed = call("mixture", table, "-k", "2:3", "--refine", 0, "--out", tmp_path / "p")
    assert "Compare with 3." not in printed
    assert "Compare with 3." in (tmp_path / "o" / "report.html").read_text("utf-8")
    assert "Compare with 3." not in (tmp_path / "p" / "report.html").read_text("utf-8")
    assert "Compare with 3." not in latentia.load(tmp_path / "p" / "model.npz").evidence_.advice


def test_what_was_not_measured_is_not_called_bad(call, rows, shell, tmp_path):
    graph = planted.mixed_membership_graph(200, 2, alpha0=0.1, degree=30, snr=4).adjacency.tocoo()
    edges = [f"{i},{j}" for i, j in zip(*graph.coords, strict=True) if i < j]
    (tmp_path / "g.csv").write_text("\n".join(["from,to", *edges]))
    command = ["communities", tmp_path / "g.csv", "-k", 2, "--refine", 0, "--splits", 0]
    printed = call(*command, "--out", tmp_path / "o")
    assert "NOT MEASURED." in printed
    assert "Needs fits on parts of the data: give --splits 1 or more." in " ".join(printed.split())
    assert not re.search(r"NOT SUPPORTED|^  bad", printed, re.MULTILINE)
    first, *checks = rows(tmp_path / "o" / "evidence.csv")
    assert (first["says"], "NOT MEASURED." in first["meaning"]) == ("not measured", True)
    assert not {"bad", "not supported"} & {row["says"] for row in checks}
    assert "stability(X)" not in str(checks)
    assert {row["grade"] for row in rows(tmp_path / "o" / "communities.csv")} == {""}
    said = app([*map(str, command), "--out", str(tmp_path / "p"), "--quiet", "--json"], standalone_mode=False)
    assert (said["grade"], said["expected_error"], said["components"]) == ("not measured", None, [])


@pytest.mark.parametrize("size", [3, 4])
def test_screen_files_and_report_say_what_the_evidence_says(call, rows, table, tmp_path, size):
    out = tmp_path / "o"
    printed = call("mixture", table, "-k", size, "--no-scale", "--out", out)
    evidence = latentia.load(out / "model.npz").evidence_
    assert " ".join(printed.split()).count(" ".join(f"{evidence.verdict} {evidence.advice}".split())) == 1
    said = re.findall(r"^  (ok|look|bad) +", printed, re.MULTILINE)
    assert said == [mark for mark, _ in [*evidence.marks, *evidence.reasons]]
    checks = rows(out / "evidence.csv")
    assert checks[0]["says"] == evidence.grade
    names = [one.name for one in evidence.statements]
    assert [row["name"] for row in checks[1:]] == names + [check.name for check in evidence.checks]
    marks = [*evidence.marks, *evidence.rests_on()]
    assert [row["says"] for row in checks[1:] if row["says"]] == [mark for mark, _ in marks]
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
    assert (
        sum(line.startswith(("  open found again", "  ok   error", "  open structure", "  look fit")) for line in lines)
        == 4
    )
    assert any("for some" in line for line in lines) == full


def test_ten_components_are_listed(capsys):
    columns = Column("thing", range(12)), Column("words", [["[red] " * 50]] * 12, kind="words")
    shared.print_listing(Table("things", columns, caption="12 [b]things", file="x.csv"), Console(width=60))
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
            raise LatentiaError(
                f"this data supports at most {most} components.", parameter="n_components", value=size, at_most=most
            )
        return SimpleNamespace(size=size, evidence_=evidence)

    choose = shared.highest("score", "{} things are best.")
    return shared.Comparison("things", "some", fit, lambda model: {"score": values[model.size]}, choose)


def test_numbers_that_the_data_cannot_carry_are_skipped(capsys):
    how, console = _comparison(3, {2: 0.5, 3: 0.1}), Console()
    compared = shared._compare_sizes(how, [2, 3, 4, 5], console, False, lambda model: model.evidence_)
    model, rows, best, why = shared._choose_and_fit(how, compared, how.fit, lambda model: model.evidence_, console)
    assert model.size == 2
    assert [(row["things"], row["score"], row["grade"]) for row in rows] == [
        (2, 0.5, "not measured"), (3, 0.1, "not measured"),
    ]  # fmt: skip
    assert rows[0]["needed"] == "<= 0.4"
    assert "goodness of fit" not in rows[0]
    assert np.isnan(rows[0]["expected error"])
    assert (best, why) == (2, "2 things are best.")
    printed = capsys.readouterr().out
    assert "-k 4 and more are skipped: this data supports at most 3 components." in printed
    assert "2 things are best." in printed
    with pytest.raises(LatentiaError, match="at most 1 components"):
        shared._compare_sizes(_comparison(1, {}), [2, 3], Console(), False, lambda model: model.evidence_)


def test_what_was_not_measured_is_never_the_best():
    rows = [{"k": 1, "x": float("nan")}, {"k": 2, "x": 3.0}, {"k": 3, "x": 5.0}]
    assert shared.highest("x", "{}")(rows) == (3, "3")


def test_a_range_ends_where_the_columns_do(call, rows, table, tmp_path):
    printed = call("mixture", table, "-k", "2:6", "--refine", 0, "--out", tmp_path / "o")
    assert "x.csv: 1500 rows of 4 columns support at most 4 components: the range stops there." in printed
    assert [row["components"] for row in rows(tmp_path / "o" / "comparison.csv")] == ["2", "3", "4"]


# --- folders of results ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("matrix", "words.csv"), ("labels", "labels.csv"), ("noisy-or", "network.bif"), ("mixture", "labels.csv"),
        ("hmm", "paths.csv"), ("ica", "mixing.csv"), ("topics", "topics.csv"), ("mixture", "model.npz"),
        ("communities", "memberships.csv"), ("dictionary", "atoms.png"), ("network", "units.csv"),
    ],
)  # fmt: skip
def test_a_file_that_no_run_wrote_is_refused_before_any_work(tmp_path, command, name):
    (tmp_path / "o").mkdir()
    (tmp_path / "o" / name).write_text("mine")
    with pytest.raises(LatentiaError, match=f"{name}: would be replaced, but was written or changed outside"):
        app([command, str(tmp_path / "absent"), "--out", str(tmp_path / "o"), "--force"], standalone_mode=False)
    assert (tmp_path / "o" / name).read_text() == "mine"


def test_only_the_files_of_an_earlier_run_are_replaced(call, written, table, tmp_path):
    out = tmp_path / "o"
    call("mixture", table, "-k", "2:3", "--refine", 0, "--out", out)
    mine = ("words.csv", "topics.csv", "network.bif", "notes.txt")
    for name in mine:  # of commands that are not run here, and others
        (out / name).write_text(name)
    call("mixture", table, "-k", 2, "--no-scale", "--refine", 0, "--out", out, "--force")
    ours = ["evidence.csv", "labels.csv", "means.csv", "model.npz", "report.html", "result.json"]
    assert written(out) == sorted([*ours, *mine])  # comparison.csv and scaling.csv are gone
    assert [(out / name).read_text() for name in mine] == list(mine)
    digests = {name: [hashlib.sha256((out / name).read_bytes()).hexdigest()] for name in ours}
    assert json.loads((out / ".latentia.json").read_text()) == {"files": digests}
    call("ica", table, "--refine", 0, "--out", out, "--force")
    assert written(out) == sorted(
        ["evidence.csv", "mixing.csv", "model.npz", "report.html", "result.json", "sources.csv", "unmixing.csv", *mine]
    )


_MINE = hashlib.sha256(b"mine").hexdigest()
MARKERS = [
    "", "{", "[]", '{"files": 3}', '{"files": ["../y.txt", "/etc/x", 4, "..", ""]}', '{"files": ["labels.csv"]}', "[" * 5000,
    '{"files": {"labels.csv": ["' + "0" * 64 + '"], "report.html": 3, "means.csv": [[]]}}', '{"files":' * 5000,
    '{"files": {"../y.txt": ["' + _MINE + '"], "y.txt": ["' + _MINE + '"]}}',
]  # fmt: skip


def test_a_file_that_was_changed_since_its_run_is_not_replaced(call, table, tmp_path):
    out = tmp_path / "o"
    call("ica", table, "--refine", 0, "--out", out)
    (out / "sources.csv").write_text("mine")
    with pytest.raises(
        LatentiaError, match=r"sources.csv: would be replaced, but was written or changed outside of latentia"
    ):
        call("ica", table, "--refine", 0, "--out", out, "--force")
    assert (out / "sources.csv").read_text() == "mine"


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="no links")
def test_links_that_lead_in_a_loop_are_an_error(call, table, tmp_path):
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    for arguments in (("ica", loop, "--out", tmp_path / "o"), ("ica", table, "--out", loop)):
        with pytest.raises(LatentiaError, match="loop"):
            call(*arguments)


@pytest.mark.parametrize("content", MARKERS, ids=range(len(MARKERS)))
def test_a_damaged_list_of_files_names_none(call, table, tmp_path, content):
    out, beside = tmp_path / "o", tmp_path / "y.txt"
    out.mkdir()
    beside.write_text("mine")
    (out / ".latentia.json").write_text(content)
    (out / "labels.csv").write_text("mine")
    with pytest.raises(LatentiaError, match="written or changed outside of latentia"):
        call("mixture", table, "--out", out, "--force")
    (out / "labels.csv").unlink()
    call("mixture", table, "-k", 2, "--refine", 0, "--out", out, "--force")
    assert beside.read_text() == "mine"


def test_what_is_read_is_not_replaced(call, table, tmp_path):
    out = tmp_path / "o"
    call("ica", table, "--refine", 0, "--out", out)
    sources = (out / "sources.csv").read_bytes()
    with pytest.raises(LatentiaError, match=r"sources.csv: is an input and would be replaced"):
        call("mixture", out / "sources.csv", "-k", 2, "--out", out, "--force")
    with pytest.raises(LatentiaError, match=r"model.npz: is an input and would be replaced"):
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


def test_what_a_killed_run_left_is_removed_by_the_next(call, table, tmp_path):
    out = tmp_path / "o"
    code = (
        "import os, sys; from pathlib import Path; from latentia.cli._results import Results; "
        "Results(Path(sys.argv[1]), Path('x'), ()).write(lambda folder: ((folder / 'a.csv').write_text('x'), os._exit(9)))"
    )
    assert subprocess.run([sys.executable, "-c", code, out], check=False).returncode == 9
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(".o.")
    call("ica", table, "--refine", 0, "--out", out)
    assert [path.name for path in tmp_path.iterdir()] == ["o"]
    assert sorted(json.loads((out / ".latentia.json").read_text())["files"]) == sorted(
        path.name for path in out.iterdir() if not path.name.startswith(".")
    )


# --- what a start costs ---------------------------------------------------------------------------------------------


def started(*arguments, code=""):
    """Exit code, what was printed, and the modules that were imported for it."""
    script = f"""
import atexit, sys
sys.argv = ["latentia", *{[*map(str, arguments)]!r}]
atexit.register(lambda: print("\\nmodules:", *sys.modules))
{code}
from latentia.cli import main
main()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    printed, _, modules = done.stdout.rpartition("modules:")
    return done.returncode, printed + done.stderr, set(modules.split())


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["--version"], 0, latentia.__version__),
        (["--help"], 0, "noisy-or"),
        ([], 0, "noisy-or"),
        (["topicz"], 2, "Did you mean 'topics'"),
        (["--wrong"], 2, "No such option"),
        (["--json", "topicz"], 2, "No such option"),
    ],
)
def test_nothing_heavy_is_imported_before_a_command_is_called(arguments, code, says):
    found, printed, modules = started(*arguments)
    assert (found, says in printed) == (code, True)
    assert "latentia.cli.commands" in modules
    assert not modules & {"numpy", "scipy", "sklearn", "pandas", "numba", "jinja2", "joblib", "latentia.topics"}


ONE_AFTER_THE_OTHER = """
import sys
from latentia.cli.commands import run
for command in ("apply", "topics", "noisy-or"):
    sys.argv = ["latentia", command, "--help"]
    try:
        run()
    except SystemExit as end:
        print("\\nmodules:", end.code or 0, *sys.modules)
"""


def test_a_command_imports_no_family_but_its_own():
    """Nor with it those of the commands that were called before it."""
    done = subprocess.run([sys.executable, "-c", ONE_AFTER_THE_OTHER], capture_output=True, text=True, check=True)
    families = {
        "communities", "contrastive", "deep", "dictionary", "ica", "matrices", "mixtures", "multilabel", "nmf", "noisyor",
        "sequences", "topics",
    }  # fmt: skip
    printed = re.split("\nmodules: (.*)\n", done.stdout)
    assert len(printed) == 7
    for said, listed, own in zip(printed[::2], printed[1::2], ([], [], ["noisyor"]), strict=False):
        code, *modules = listed.split()
        assert code == "0"
        assert "--out" in said
        assert {name for name in families if f"latentia.{name}" in modules} <= {*own, "topics"}


# --- letters that a screen does not have ----------------------------------------------------------------------------

STRICT = "sys.stdout.reconfigure(encoding='ascii', errors='strict'); sys.stderr.reconfigure(encoding='ascii', errors='strict')"


@pytest.mark.parametrize("arguments", [["--help"], ["mixture", "--help"], ["topic\u0435"], ["mixture", "\u0435.csv"]])
def test_what_cannot_be_encoded_is_escaped(arguments):
    if "mixture" in arguments:
        done = latentia_on_a_screen(*arguments, encoding="ascii")
        code, printed = done.returncode, done.stdout + done.stderr
    else:  # a process of its own, which loads little
        code, printed, _ = started(*arguments, code=STRICT)
    assert code == (0 if "--help" in arguments else 2)
    assert "Traceback" not in printed
    assert printed.isascii()
    assert ("\\u0435" in printed) == (code == 2)


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_results_on_a_screen_that_has_no_other_letters(table, tmp_path, options):
    lines = table.read_text().splitlines()
    source = tmp_path / "\u0435.csv"
    source.write_text("\n".join([",".join(f"{name}\u0436" * 15 for name in "abcd"), *lines[1:300]]), "utf-8")
    command = ["mixture", source, "-k", 2, "--refine", 0, "--out", tmp_path / "o", *options]
    done = latentia_on_a_screen(*command, encoding="ascii")
    printed = done.stdout + done.stderr
    assert done.returncode == 0, printed
    assert "Traceback" not in printed
    assert "\\u0435.csv" in printed


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("module", ["typer", "sklearn", "latentia.topics"])
def test_ctrl_c_while_modules_are_loaded(module):
    code = f"""
import os, signal, sys
class Interrupt:
    def find_spec(name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt)
sys.argv = ["latentia", "topics", "x.txt"]
from latentia.cli import main
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.strip(), done.stdout) == (130, "interrupted", "")


@pytest.mark.skipif(sys.platform == "win32", reason="signals and pipes with names")
def test_ctrl_c_while_a_file_is_read_leaves_nothing(tmp_path):
    pipe = tmp_path / "x.csv"
    os.mkfifo(pipe)
    (tmp_path / "tmp").mkdir()
    command = [sys.executable, "-m", "latentia", "mixture", pipe, "--out", tmp_path / "o"]
    environment = os.environ | {"TMPDIR": str(tmp_path / "tmp")}
    with (
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        ) as process,
        open(pipe, "w") as file,  # opens when the command reads, which waits for the rest then
    ):
        file.write("a,b\n1,2\n")
        file.flush()
        time.sleep(0.5)
        assert [path.name for path in (tmp_path / "tmp").iterdir()]
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[1]
    assert (process.returncode, said.strip()) == (130, "interrupted")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tmp", "x.csv"]
    assert not list((tmp_path / "tmp").iterdir())


BOXED = """
import os, signal, threading
import numpy as np
from numba import njit
from latentia import cli

@njit
def arrays(n):
    total = 0.0
    for i in range(n):
        total += np.sin(i)
    return np.full(3, total), np.full(4, total), n

arrays(10)
signal.signal(signal.SIGINT, cli._stop)
threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
for _ in range(100):
    arrays(20_000_000)
"""


def test_ctrl_c_while_a_compiled_function_returns_arrays():
    # A signal that comes meanwhile is handled where an exception is not looked for.
    done = subprocess.run([sys.executable, "-c", BOXED], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.strip()) == (130, "interrupted")


def test_ctrl_c_after_the_work_changes_nothing():
    code = (
        "import atexit, os, signal, sys; from latentia import cli; from latentia.cli import commands; "
        "atexit.register(lambda: os.kill(os.getpid(), signal.SIGINT)); sys.argv = ['latentia', '--version']; cli.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{latentia.__version__}\n", "")


@pytest.mark.parametrize("out", ["/proc/o", "/proc/sys"])
def test_a_folder_that_cannot_be_written_is_refused_before_any_work(table, monkeypatch, out):
    if not os.path.isdir("/proc/sys"):
        pytest.skip("needs /proc")
    monkeypatch.setattr("latentia.mixtures.SphericalGaussianMixture.fit", lambda *_: pytest.fail("fitted"))
    with pytest.raises(LatentiaError, match=f"^--out {out}: cannot be written"):
        app(["mixture", str(table), "-k", "2", "--out", out, "--force", "--quiet"], standalone_mode=False)


def test_progress_leaves_no_lines_in_a_log(shell, table, tmp_path):
    assert shell("mixture", table, "-k", "2:3", "--out", tmp_path / "o") == (0, "")


@pytest.mark.parametrize("command", ["mixture", "ica", "hmm"])
def test_the_encoding_of_a_table(call, refused, tmp_path, command):
    lines = ["\u044f,a,b", *(f"x{i},{i % 7},{i % 3}" for i in range(60))]
    (tmp_path / "x.csv").write_bytes("\n".join(lines).encode("cp1251"))
    said = refused(command, tmp_path / "x.csv", "--columns", "absent", "--encoding", "cp1251")
    assert "There are \u044f, a, b" in said
    said = refused(command, tmp_path / "x.csv", "-k", 2, "--encoding", "ascii")
    assert "x.csv, line 1: not ASCII text" in said
    options = ["--columns", "a,b", "-k", 2, "--refine", 1, "--encoding", "cp1251"]
    call(command, tmp_path / "x.csv", *options, "--out", tmp_path / "o")
    assert (tmp_path / "o" / "model.npz").exists()


@pytest.mark.parametrize("command", ["mixture", "matrix", "topics"])
def test_what_is_no_text_has_no_encoding(refused, counts, command):
    said = refused(command, counts, "-k", 2, "--encoding", "utf-8")
    assert said == f"--encoding utf-8: {counts} is no text, and its encoding cannot be chosen. Leave it out."


def test_a_table_of_results_is_exact(tmp_path):
    shared.write_csv(tmp_path / "x.csv", ["a", "b"], [[1, 'x, "y"'], [np.float64(0.5), ""]])
    assert (tmp_path / "x.csv").read_bytes() == b'a,b\r\n1,"x, ""y"""\r\n0.5,\r\n'


def test_a_command_goes_on_from_its_checkpoint(table, tmp_path, call, monkeypatch):
    from latentia.passes import checkpoint as room

    monkeypatch.setattr(room, "_WRITE_SHARE", np.inf)
    whole, kept, again = tmp_path / "whole", tmp_path / "kept", tmp_path / "again"
    call("mixture", table, "-k", "3", "--out", whole)
    own, written = room._Folder._write, iter(range(3))

    class Killed(BaseException):
        pass

    def dying(self, name, pieces):
        own(self, name, pieces)
        if next(written, None) is None:
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(room._Folder, "_write", dying)
        with pytest.raises(Killed):
            call("mixture", table, "-k", "3", "--out", again, "--checkpoint", kept)
    assert any(kept.glob("*-pass-*"))
    assert not again.exists()
    with pytest.raises(LatentiaError, match=r"other parameters \(n_components\)"):
        call("mixture", table, "-k", "2", "--out", again, "--checkpoint", kept)
    call("mixture", table, "-k", "3", "--out", again, "--checkpoint", kept)
    assert not kept.exists()
    one, other = latentia.load(whole / "model.npz"), latentia.load(again / "model.npz")
    np.testing.assert_array_equal(one.means_, other.means_)


def test_an_address_without_a_scheduler_is_an_error(table, refused, impatient):
    assert "no Dask scheduler answers" in refused("mixture", table, "-k", "3", "--scheduler", "tcp://127.0.0.1:9")


def test_messages_name_what_their_reader_types():
    """A parameter in Python, an option on the command line; what a file holds is left as it is."""
    named = {("columns",): "columns=", ("missing", "keep"): "missing='keep'", ("classes", False): "classes=False"}
    assert {asked: write_parameter(*asked) for asked in named} == named
    with parameters_written(option_of):
        options = {
            ("columns_v",): "--columns-v", ("size",): "--patch", ("missing", "keep"): "--missing keep",
            ("cache", False): "--no-cache", ("classes", True): "--fit logistic",
        }  # fmt: skip
        assert {asked: write_parameter(*asked) for asked in options} == options
    assert write_parameter("columns") == "columns="
    heading = "x.csv: no column 'size=. cache=False', which columns= names."
    assert render_error(LatentiaError(heading)) == heading
    assert render_error(LatentiaError("too many", parameter="n_components", value=9)) == "-k 9: too many"
