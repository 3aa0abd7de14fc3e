import numpy as np
import pytest

import latentia
from latentia.metrics import amari_index


@pytest.fixture(scope="module")
def mixed():
    """A square wave, a saw tooth and bursts; and how three signals of very different units mix them."""
    t = np.arange(4000) / 100
    bursts = np.random.default_rng(0).laplace(size=len(t))
    sources = np.column_stack([np.sign(np.sin(t)), 1.7 * t % 1, bursts])
    return sources, np.array([[1.0, 2.0, -1.0], [100.0, -50.0, 80.0], [0.01, 0.01, 0.02]])


@pytest.fixture(scope="module")
def path(mixed, tmp_path_factory):
    sources, mixing = mixed
    target = tmp_path_factory.mktemp("ica") / "signals.csv"
    lines = [f"{i}," + ",".join(f"{v:.8g}" for v in row) for i, row in enumerate(sources @ mixing.T + 7)]
    target.write_text("\n".join(["time,left,right,top", *lines]))
    return target


def test_signals_are_separated(call, rows, written, path, mixed, tmp_path):
    out = tmp_path / "o"
    printed = call("ica", path, "--ignore", "time", "--out", out)
    assert "4,000 rows, 3 columns: left, right, top" in printed
    assert written(out) == [
        "evidence.csv", "mixing.csv", "model.npz", "report.html", "result.json", "sources.csv", "unmixing.csv",
    ]  # fmt: skip
    unmixing = np.array([[float(row[n]) for n in ("left", "right", "top")] for row in rows(out / "unmixing.csv")])
    assert amari_index(unmixing, mixed[1]) < 0.05
    mixing = np.array([[float(row[f"source {k}"]) for k in range(3)] for row in rows(out / "mixing.csv")])
    np.testing.assert_allclose(mixing @ unmixing, np.eye(3), atol=1e-3)
    found = np.array([[float(row[f"source {k}"]) for k in range(3)] for row in rows(out / "sources.csv")])
    np.testing.assert_allclose(found.std(axis=0), 1, rtol=0.01)
    overlap = np.abs(np.corrcoef(found.T, mixed[0].T)[:3, 3:])
    assert (overlap.max(axis=1) > 0.98).all()
    assert latentia.load(out / "model.npz").components_.shape == (3, 3)


def test_a_range_takes_the_most_sources_that_the_evidence_supports(call, rows, recommended, path, tmp_path):
    printed = call("ica", path, "-k", "1:5", "--ignore", "time", "--out", tmp_path / "o")
    assert "signals.csv: 3 columns support at most 3 sources: the range stops there." in printed
    assert "Comparison (on all rows)" in printed
    compared = rows(tmp_path / "o" / "comparison.csv")
    assert recommended(printed, compared) == (3, "the largest number that the evidence supports")
    assert [row["sources"] for row in compared] == ["1", "2", "3"]
    assert float(compared[2]["variance kept"]) == pytest.approx(1)
    assert float(compared[0]["variance kept"]) <= float(compared[1]["variance kept"])
    assert len(rows(tmp_path / "o" / "unmixing.csv")) == 3


def test_a_range_without_good_sources_takes_the_least_crosstalk(call, rows, recommended, tmp_path):
    values = np.random.default_rng(0).standard_normal((600, 4))
    (tmp_path / "x.csv").write_text("\n".join(["a,b,c,d", *(",".join(map(str, row)) for row in values)]))
    printed = call("ica", tmp_path / "x.csv", "-k", "2:4", "--refine", 0, "--out", tmp_path / "o")
    compared = rows(tmp_path / "o" / "comparison.csv")
    best, why = recommended(printed, compared)
    assert why == "the lowest expected error, but the evidence supports none of these numbers"
    assert len(rows(tmp_path / "o" / "unmixing.csv")) == best


def test_columns_that_count_the_rows_are_pointed_out(call, path, tmp_path):
    printed = call("ica", path, "-k", 2, "--refine", 0, "--out", tmp_path / "o")
    assert "note: column 'time': left out; if it is a measurement, --role time=measurement" in printed
    assert "not used: time (clock)" in printed


@pytest.mark.filterwarnings("ignore::latentia.exceptions.DroppedDataWarning")
@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("a\n1\n", [], "1 column of numbers; two or more signals are needed"),
        ("a,b\n1,2\n2,4\n", ["-k", "3"], "2 columns support at most 2 sources: -k 3 is too large"),
        ("a,b\n1,2\n,4\n", [], "x.csv, line 3, column 'a': no value"),
        ("a,b\n1,2\n2,2\n3,2\n", [], "x.csv: 1 column with different values; two or more signals are needed"),
    ],
)
def test_bad_input(refused, tmp_path, content, options, message):
    (tmp_path / "x.csv").write_text(content)
    assert message in refused("ica", tmp_path / "x.csv", *options)


def test_bad_input_ends_with_code_2(shell, tmp_path):
    (tmp_path / "x.csv").write_text("a,b\n1,2\n,4\n")
    code, message = shell("ica", tmp_path / "x.csv", "--out", tmp_path / "o")
    assert code == 2
    assert "line 3" in message
    assert "Traceback" not in message
