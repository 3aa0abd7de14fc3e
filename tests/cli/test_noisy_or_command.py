import numpy as np
import pytest

import latentia
from latentia.datasets import planted
from latentia.exceptions import DroppedDataWarning, LatentiaWarning

NETWORK = planted.noisy_or_network(18, 3, leak=0.02, random_state=2)
NAMES = ["fever", "cough, dry", "sore throat", "rash", *(f"sign {i}" for i in range(4, 18))]


def table(X, names, extra=()):
    """Lines of a CSV file; ``extra`` are columns (name, values) that come first."""
    header = ",".join(f'"{name}"' for name in [*(name for name, _ in extra), *names])
    rows = [",".join([*(str(values[i]) for _, values in extra), *map(str, row)]) for i, row in enumerate(X.astype(int))]
    return "\n".join([header, *rows, ""])


@pytest.fixture(scope="module")
def given():
    return NETWORK.sample(4000, random_state=1).X


@pytest.fixture(scope="module")
def path(given, tmp_path_factory):
    """The findings, and columns that are none."""
    target = tmp_path_factory.mktemp("noisy-or") / "ward.csv"
    extra = [("patient", [f"P{i}" for i in range(len(given))]), ("age", [20 + i % 60 for i in range(len(given))])]
    target.write_text(table(given, NAMES, extra))
    return target


def largest_error(strengths):
    return max(
        np.linalg.norm(true - strengths, axis=1).min() / np.linalg.norm(true) for true in 1 - np.exp(-NETWORK.weights)
    )


def test_causes_of_a_table(call, rows, written, path, given, tmp_path):
    out = tmp_path / "o"
    printed = call("noisy-or", path, "-m", 3, "--ignore", "age", "--row", 7, "--row", 4, "--out", out)
    assert "4,000 rows, 18 columns: fever, cough, dry, sore throat" in printed
    assert "not used: patient (id); age (not chosen)" in printed
    assert "3 causes, most frequent first" in printed
    assert f"P5 (line 7): {given[5].sum()} findings present" in printed
    assert written(out) == [
        "causes.csv", "edges.csv", "evidence.csv", "findings.csv", "model.npz", "network.bif", "posteriors.csv",
        "report.html", "result.json",
    ]  # fmt: skip
    causes = rows(out / "causes.csv")
    strengths = np.array([[float(row[name]) for name in NAMES] for row in causes])
    assert largest_error(strengths) < 0.15
    assert all(0 < float(row["error of prevalence"]) < 0.1 for row in causes)
    edges = rows(out / "edges.csv")
    assert len(edges) == (strengths >= 0.05).sum()
    assert {edge["finding"] for edge in edges} <= set(NAMES)
    findings = rows(out / "findings.csv")
    np.testing.assert_allclose([float(row["frequency"]) for row in findings], given.mean(axis=0), atol=1e-6)
    posteriors = rows(out / "posteriors.csv")
    model = latentia.load(out / "model.npz")
    assert (posteriors[0]["row"], posteriors[-1]["row"], posteriors[0]["method"]) == ("2", "4001", "exact")
    np.testing.assert_allclose(
        [[float(row[name]) for name in model.cause_names_] for row in posteriors[:20]],
        model.predict_proba(given[:20]),
        rtol=1e-4,
    )
    assert model.graph()[0].finding in NAMES
    assert "P5 (line 7)" in (out / "report.html").read_text("utf-8")


def test_the_number_of_causes_comes_from_the_data_and_old_files_go(call, rows, path, tmp_path):
    out = tmp_path / "o"
    names = ",".join(name for name in NAMES if "," not in name)
    call("noisy-or", path, "--columns", names, "-k", "2:3", "--out", out)
    assert (out / "comparison.csv").exists()
    again = ("--force", "--refine", 1, "--prior", 0.3)
    printed = call("noisy-or", path, "--columns", names, "--out", out, *again)
    assert "3 causes, a number estimated from the data" in printed
    assert [row["prevalence"] for row in rows(out / "causes.csv")] == ["0.300000"] * 3
    assert not (out / "comparison.csv").exists()


def test_a_range_is_compared(call, rows, path, tmp_path):
    printed = call("noisy-or", path, "-m", "2:3", "--ignore", "age", "--out", tmp_path / "o")
    compared = rows(tmp_path / "o" / "comparison.csv")
    assert [row["causes"] for row in compared] == ["2", "3"]
    assert float(compared[1]["held-out log-likelihood"]) > float(compared[0]["held-out log-likelihood"])
    assert float(compared[1]["behind the highest"]) == 0
    assert "3 causes have the highest held-out log-likelihood" in printed
    assert len(rows(tmp_path / "o" / "causes.csv")) == 3


def test_a_sparse_matrix(call, rows, given, tmp_path):
    entries = [f"{i + 1} {j + 1} 1" for i, j in np.argwhere(given)]
    header = "%%MatrixMarket matrix coordinate integer general"
    (tmp_path / "x.mtx").write_text("\n".join([header, f"{len(given)} 18 {len(entries)}", *entries]))
    printed = call("noisy-or", tmp_path / "x.mtx", "-m", 3, "--row", 1, "--out", tmp_path / "o")
    assert f"Row 1: {given[0].sum()} findings present" in printed
    assert rows(tmp_path / "o" / "posteriors.csv")[0]["row"] == "1"
    strengths = [[float(row[f"column {i}"]) for i in range(1, 19)] for row in rows(tmp_path / "o" / "causes.csv")]
    assert largest_error(np.array(strengths)) < 0.15


def test_words_for_truth(call, rows, given, tmp_path):
    (tmp_path / "x.csv").write_text(
        "\n".join([",".join(f"f{i}" for i in range(18)), *(",".join(map(str, row)) for row in given)])
    )
    call("noisy-or", tmp_path / "x.csv", "-m", 3, "--out", tmp_path / "o")
    strengths = [[float(row[f"f{i}"]) for i in range(18)] for row in rows(tmp_path / "o" / "causes.csv")]
    assert largest_error(np.array(strengths)) < 0.15


def test_parquet_of_truth_values(call, rows, given, tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pa.table(dict(zip(NAMES, given.T, strict=True))), tmp_path / "x.parquet")
    call("noisy-or", tmp_path / "x.parquet", "-m", 3, "--out", tmp_path / "o")
    assert rows(tmp_path / "o" / "posteriors.csv")[-1]["row"] == "4000"


def test_rows_without_a_value_are_left_out(call, rows, refused, given, tmp_path):
    lines = table(given, NAMES).splitlines()
    for i in (2, 9):
        lines[i] = ",".join([*lines[i].split(",")[:-1], ""])
    (tmp_path / "x.csv").write_text("\n".join(lines))
    options = ("-k", 3, "--refine", 0)
    printed = call("noisy-or", tmp_path / "x.csv", *options, "--out", tmp_path / "gaps")
    assert "<0.1% of the cells are empty and are taken as unknown" in printed
    assert [row["row"] for row in rows(tmp_path / "gaps" / "posteriors.csv")][:3] == ["2", "3", "4"]
    assert "--missing 'mean': use one of keep, drop" in refused("noisy-or", tmp_path / "x.csv", "--missing", "mean")
    with pytest.warns(DroppedDataWarning, match="2 of 4000 rows lack a value and were left out: line 3, 10"):
        call("noisy-or", tmp_path / "x.csv", *options, "--missing", "drop", "--out", tmp_path / "o")
    assert [row["row"] for row in rows(tmp_path / "o" / "posteriors.csv")][:3] == ["2", "4", "5"]
    page = (tmp_path / "o" / "report.html").read_text("utf-8")
    assert "x.csv, without 2 of 4,000 rows, which lack a value" in page


def test_findings_to_ask_for_next(call, rows, refused, path, given, tmp_path):
    """Of rows with empty cells, as the model itself says."""
    call("noisy-or", path, "-m", 3, "--ignore", "age", "--out", tmp_path / "o")
    model, half = latentia.load(tmp_path / "o" / "model.npz"), given[:3].astype(float)
    half[:2, 9:] = np.nan
    header, *known = table(given[:3], NAMES).splitlines()
    known[:2] = [",".join(line.split(",")[:9]) + "," * 9 for line in known[:2]]
    (tmp_path / "new.csv").write_text("\n".join([header, *known, ""]))
    call("apply", tmp_path / "o", tmp_path / "new.csv", "--ask", 2, "--out", tmp_path / "a")
    found = rows(tmp_path / "a" / "posteriors.csv")
    for row, values in zip(found[:2], half, strict=False):
        assert row["ask next"].split("; ") == [question.finding for question in model.ask(values, 2)]
    assert found[2]["ask next"] == ""


def test_baskets(call, rows, tmp_path, given):
    names = [f"item {i}" for i in range(given.shape[1])]
    lines = [";".join(names[i] for i in np.flatnonzero(row)) for row in given]
    (tmp_path / "x.txt").write_text("\n".join(["item 1;never again", *lines]))
    options = ("-k", 3, "--refine", 0, "--name", "1=the second")
    with pytest.warns(DroppedDataWarning, match="1 of 19 items are in fewer than 5 baskets"):
        printed = call("noisy-or", "--baskets", tmp_path / "x.txt", *options, "--out", tmp_path / "o")
    assert "the second" in printed
    assert [row["name"] for row in rows(tmp_path / "o" / "causes.csv")][1] == "the second"
    page = (tmp_path / "o" / "report.html").read_text("utf-8")
    assert "<b>the second</b>" in page
    posteriors = rows(tmp_path / "o" / "posteriors.csv")
    call("apply", tmp_path / "o" / "model.npz", tmp_path / "x.txt", "--out", tmp_path / "again")
    assert rows(tmp_path / "again" / "posteriors.csv") == posteriors
    assert "the second" in posteriors[0]


def test_many_causes_and_a_table_that_is_too_large(call, rows, tmp_path):
    data = planted.noisy_or_network(54, 16, density=0.2, leak=0.1, random_state=3).sample(120)
    (tmp_path / "x.csv").write_text(table(data.X, [f"f{i}" for i in range(54)]))
    options = (
        "-m",
        16,
        "--refine",
        0,
        "--threshold",
        0,
        "--corrections",
        1,
        "--out",
        tmp_path / "o",
    )
    with pytest.warns(LatentiaWarning, match="directions above noise"):
        printed = call("noisy-or", tmp_path / "x.csv", *options)
    assert "network.bif is not written. --threshold 0.0: Finding" in printed
    assert not (tmp_path / "o" / "network.bif").exists()
    posteriors = rows(tmp_path / "o" / "posteriors.csv")
    assert len(posteriors) == 120
    assert {row["method"] for row in posteriors} <= {"exact", "sampled"}


BITS = "\n".join(["a,b,c,d,e,f", *("1,0,1,0,1,0", "0,1,0,1,0,1") * 60, ""])


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("", [], "x.csv: the file is empty"),
        ("a,b,c\nyes,no,yes\n", [], "no column of numbers; a cause shows in three findings or more, written as 1 (present)"),
        ("a,b,c\nyes,1,1\n0,1,1\n1,1,1\n", [], "x.csv, line 2, column 'a': 'yes' is not a number"),
        ("a,b\n1,0\n", [], "2 columns of numbers; a cause shows in three findings or more, written"),
        ("a,b,c\n1,0,1\n1,,0\n", [], "x.csv: Found 2 rows; expected at least 100"),
        ("a,b,c\n1,0,1\n", ["--name", "flu"], "--name flu: expected a number and a name"),
        ("a,b,c\n1,0,1\n", ["--baskets", "--ignore", "a"], "--baskets: the file has no columns"),
        (
            "a,b,c\n1,0,1\n1,2,0\n1,1,0\n", [],
            "x.csv, line 3, column 'b': 2, and findings are 1 (present) or 0 (absent). Exclude",
        ),
        ("a,b c,c,d\n1,5,1,7\n", [], 'column \'b c\': 5, and findings are 1 (present) or 0 (absent). So does column \'d\'.'),
        ("a,b c,c,d\n1,5,1,7\n", [], '--ignore "b c,d", or name the findings with --columns'),
        ("a,b,c\n2,5,1.5\n", [], "So do 2 other columns."),
        ("a,b,c\n1,0,1\n0,1,1\n", [], "at least 100"),
        (BITS, ["--causes", 0], "-k 0: give at least 1 of the causes"),
        (BITS, ["-m", "4"], "6 findings support at most 3 causes: -k 4 is too large"),
        (BITS, ["-m", "x"], "-k 'x': give a number of causes"),
        (BITS, ["-m", "3:2"], "-k '3:2': no number of causes in that range"),
        (BITS, ["--prior", "1"], "--prior 1.0: expected a share between 0 and 1"),
        (BITS, ["--row", "1"], "--row 1: x.csv has no row there. Rows begin in line 2 and end in line 121."),
        (BITS, ["--columns", "a,z"], "no column 'z', which --columns names"),
        (BITS, ["--ignore", "z"], "no column 'z', which --ignore names"),
        (BITS, ["--jobs", "0"], "--jobs 0"),
    ],
)  # fmt: skip
def test_bad_input(refused, tmp_path, content, options, message):
    (tmp_path / "x.csv").write_text(content)
    assert message in refused("noisy-or", tmp_path / "x.csv", *options)


def test_a_matrix_that_is_not_binary(refused, tmp_path):
    entries = "\n".join(["1 1 1", "1 3 2", "2 2 1", "3 1 0.5"])
    (tmp_path / "x.mtx").write_text(f"%%MatrixMarket matrix coordinate real general\n3 3 4\n{entries}\n")
    message = refused("noisy-or", tmp_path / "x.mtx")
    assert "x.mtx, row 3, column 'column 1': 0.5, and findings are 1 (present) or 0 (absent)" in message
    assert '--ignore "column 1,column 3"' in message


def test_bad_input_ends_with_code_2(shell, tmp_path):
    (tmp_path / "x.csv").write_text("a,b,c\n1,0,3\n")
    code, message = shell("noisy-or", tmp_path / "x.csv", "--out", tmp_path / "o")
    assert code == 2
    assert "column 'c': 3" in message
    assert "Traceback" not in message
