import numpy as np
import pytest
from scipy.spatial.distance import cdist

import latentia
from latentia.datasets import planted

UNITS = np.array([1.0, 1000.0, 0.01, 1.0, 1.0, 50.0])


@pytest.fixture(scope="module")
def data():
    return planted.gaussian_mixture(2000, n_components=3, n_features=6, separation=10, random_state=1)


@pytest.fixture(scope="module")
def path(data, tmp_path_factory):
    """The rows in mixed units, with a number, a name and a quoted field."""
    target = tmp_path_factory.mktemp("mixture") / "rows.csv"
    lines = [f'{i},"n, {i}",' + ",".join(f"{v:.8g}" for v in row) for i, row in enumerate(data.X * UNITS)]
    target.write_text("\n".join(["id,name,a,b,c,d,e,f", *lines]))
    return target


def agreement(labels, truth):
    table = np.zeros((labels.max() + 1, truth.max() + 1))
    np.add.at(table, (labels, truth), 1)
    return table.max(axis=1).sum() / len(truth)


def test_components_of_a_table(call, rows, written, path, data, tmp_path):
    out = tmp_path / "o"
    printed = call("mixture", path, "-k", 3, "--ignore", "id", "--out", out)
    assert "2,000 rows, 6 columns: a, b, c, d, e, f" in printed
    assert "not used: id, name (id)" in printed
    assert "standard deviations" in printed
    assert written(out) == [
        "evidence.csv", "labels.csv", "means.csv", "model.npz", "report.html", "result.json", "scaling.csv",
    ]  # fmt: skip
    means = np.array([[float(row[name]) for name in "abcdef"] for row in rows(out / "means.csv")]) / UNITS
    assert cdist(data.means, means).min(axis=1).max() < 0.5
    labels = rows(out / "labels.csv")
    assert labels[0]["row"] == "2"
    assert agreement(np.array([int(row["component"]) for row in labels]), data.labels) > 0.97
    scaling = rows(out / "scaling.csv")
    scaled = [
        (x - float(s["subtracted"])) / float(s["divided by"]) for x, s in zip(data.X[0] * UNITS, scaling, strict=True)
    ]
    assert latentia.load(out / "model.npz").predict([scaled])[0] == int(labels[0]["component"])


def test_a_range_is_compared(call, rows, recommended, data, tmp_path):
    path = tmp_path / "round.csv"  # in one unit: components of scaled columns are not round
    path.write_text("\n".join(["a,b,c,d,e,f", *(",".join(f"{v:.8g}" for v in row) for row in data.X)]))
    printed = call(
        "mixture", path, "-k", "2:4", "--columns", "a,d,e,f", "--no-scale", "--refine", 3, "--out", tmp_path / "o"
    )
    compared = rows(tmp_path / "o" / "comparison.csv")
    assert [row["components"] for row in compared] == ["2", "3", "4"]
    best, why = recommended(printed, compared)
    assert best == 3
    assert "held-out log-likelihood" in why
    assert len(rows(tmp_path / "o" / "means.csv")) == 3
    assert float(compared[1]["held-out log-density"]) > float(compared[0]["held-out log-density"])


def test_views_of_yes_and_no(call, rows, tmp_path):
    data = planted.product_mixture(3000, n_components=2, n_features=9)
    lines = [",".join(f"{int(v)}" for v in row) for row in data.X]
    (tmp_path / "q.csv").write_text("\n".join([",".join(f"q{i}" for i in range(9)), *lines]))
    views = "q0,q1,q2; q3,q4,q5; q6,q7,q8"
    call("mixture", tmp_path / "q.csv", "-k", 2, "--views", views, "--out", tmp_path / "o")
    model = latentia.load(tmp_path / "o" / "model.npz")
    assert model.distribution == "bernoulli"
    assert (
        agreement(np.array([int(row["component"]) for row in rows(tmp_path / "o" / "labels.csv")]), data.labels) > 0.9
    )
    assert not (tmp_path / "o" / "scaling.csv").exists()


def test_a_sparse_matrix(call, rows, data, tmp_path):
    entries = [f"{i + 1} {j + 1} {v:.6g}" for (i, j), v in np.ndenumerate(data.X)]
    header = "%%MatrixMarket matrix coordinate real general"
    (tmp_path / "x.mtx").write_text("\n".join([header, f"2000 6 {len(entries)}", *entries]))
    call("mixture", tmp_path / "x.mtx", "-k", 3, "--refine", 2, "--out", tmp_path / "o")
    labels = rows(tmp_path / "o" / "labels.csv")
    assert labels[0]["row"] == "1"
    assert agreement(np.array([int(row["component"]) for row in labels]), data.labels) > 0.97


def test_parquet_is_read_as_csv_is(call, rows, data, tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = dict(zip("abcdef", data.X.T, strict=True)) | {"name": [f"x{i}" for i in range(2000)]}
    parquet.write_table(pa.table(columns), tmp_path / "x.parquet")
    printed = call("mixture", tmp_path / "x.parquet", "-k", 3, "--refine", 2, "--no-scale", "--out", tmp_path / "o")
    assert "not used: name (id)" in printed
    assert len(rows(tmp_path / "o" / "labels.csv")) == 2000


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("", [], "x.csv: the file is empty"),
        ("a,b\n", [], "no rows below the header"),
        ("a\n1\n", [], "1 column of numbers; a mixture needs two or more. There are a."),
        ("a,b\nx,y\n", [], "no column of numbers; a mixture needs two or more. There are a, b."),
        ("a,b\n1,2\n3,\n", [], "x.csv, line 3, column 'b': no value (''). Fill it in or delete the line. Or use"),
        ("a,b\n1,2\n3,4\n5,x\n", [], "x.csv, line 4, column 'b': 'x' is not a number"),
        ("a,b\n1,2\n3,inf\n", [], "x.csv, line 3, column 'b': 'inf' is not a number"),
        ('a,b\n1,"2,5"\n3,4.5\n', [], "line 3, column 'b': a number with a point, and one in line 2 with a comma"),
        ('a,b\n"1\n",2\n3,z\n5,6\n', [], "x.csv, line 4, column 'b': 'z'"),
        ("a,b\n1\n", [], "x.csv, line 2: 1 fields, and the header has 2"),
        ("a,a\n1,2\n", [], "two columns are called 'a'"),
        ("1.5,2.5\n1,2\n", [], "line 1: expected the names of the columns, and found numbers"),
        ("a;b\n1;2;3\n", [], "line 2: 3 fields, and the header has 2. Put fields that contain ';'"),
        ("a,b\n1,2\n2,1\n", ["-k", "3"], "2 rows of 2 columns support at most 2 components: -k 3 is too large"),
        ("a,b\n1,2\n2,1\n", ["-k", "x"], "-k 'x': give a number of components"),
        ("a,b\n1,2\n2,1\n", ["--columns", "a,z"], "no column 'z', which --columns names. There are a, b."),
        ("a,b\n1,2\n2,1\n", ["--ignore", "z"], "no column 'z', which --ignore names"),
        ("a,b\n1,2\n2,1\n", ["--columns", "a", "--ignore", "a"], "both name 'a'"),
        ("a,b\n1,2\n2,1\n", ["--views", "a;b"], "expected three or more groups of columns"),
        ("a,b\n1,2\n2,1\n", ["--views", "a;b;a"], "--views names 'a' twice"),
        ("a,b\n1,2\n2,1\n", ["--views", "a;b;c"], "no column 'c', which --views names"),
        ("a,b\n1,2\n2,1\n", ["--views", "a;b;c", "--no-scale"], "leave it out"),
        ("a,b\n1,2\n2,1\n", ["--distribution", "gaussian"], "--distribution needs --views"),
    ],
)
def test_bad_input(refused, tmp_path, content, options, message):
    (tmp_path / "x.csv").write_text(content)
    assert message in refused("mixture", tmp_path / "x.csv", *options)


def test_bad_input_ends_with_code_2(shell, tmp_path):
    (tmp_path / "x.doc").write_text("a b\n")
    code, message = shell("mixture", tmp_path / "x.doc", "--out", tmp_path / "o")
    assert code == 2
    assert "expected a table as .csv, .tsv, .xlsx, .parquet or .mtx" in message
    assert "Traceback" not in message


def test_a_missing_value_in_parquet(refused, tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pa.table({"a": [1.0, 2.0, None], "b": [1, 2, 3]}), tmp_path / "x.parquet")
    assert "x.parquet, row 3, column 'a': no value" in refused("mixture", tmp_path / "x.parquet")


def test_other_shapes_more_components_than_columns_and_criteria(call, rows, path, tmp_path):
    printed = call("mixture", path, "-k", 8, "--columns", "a,b", "--covariance", "diag", "--out", tmp_path / "o")
    model = latentia.load(tmp_path / "o" / "model.npz")
    assert model.covariances_.shape == (8, 2)
    assert "BIC" in printed
    call("mixture", path, "-k", "2:3", "--columns", "a,b,c", "--covariance", "full", "--out", tmp_path / "range")
    compared = rows(tmp_path / "range" / "comparison.csv")
    assert float(compared[1]["BIC"]) < float(compared[0]["BIC"])


def test_cells_of_views_may_be_missing(call, rows, refused, tmp_path):
    data = planted.product_mixture(3000, n_components=2, n_features=9)
    holes = np.random.default_rng(0).random(data.X.shape) < 0.1
    lines = [
        ",".join("" if hole else f"{int(v)}" for v, hole in zip(*pair, strict=True))
        for pair in zip(data.X, holes, strict=True)
    ]
    (tmp_path / "q.csv").write_text("\n".join([",".join(f"q{i}" for i in range(9)), *lines]))
    views = "q0,q1,q2; q3,q4,q5; q6,q7,q8"
    call("mixture", tmp_path / "q.csv", "-k", 2, "--views", views, "--missing", "keep", "--out", tmp_path / "o")
    found = np.array([int(row["component"]) for row in rows(tmp_path / "o" / "labels.csv")])
    assert agreement(found, data.labels) > 0.85
    assert latentia.load(tmp_path / "o" / "model.npz").distribution == "bernoulli"


def test_cells_may_be_missing(call, rows, tmp_path):
    data = planted.gaussian_mixture(600, n_components=3, n_features=5, random_state=1)
    holes = np.random.default_rng(0).random(data.X.shape) < 0.1
    lines = [
        ",".join("" if hole else f"{v:.5f}" for v, hole in zip(*pair, strict=True))
        for pair in zip(data.X, holes, strict=True)
    ]
    (tmp_path / "x.csv").write_text("\n".join(["a,b,c,d,e", *lines]))
    call("mixture", tmp_path / "x.csv", "-k", 3, "--missing", "keep", "--out", tmp_path / "o")
    call("apply", tmp_path / "o", tmp_path / "x.csv", "--missing", "keep", "--out", tmp_path / "p")
    for folder in ("o", "p"):
        found = np.array([int(row["component"]) for row in rows(tmp_path / folder / "labels.csv")])
        assert agreement(found, data.labels) > 0.95


def test_a_column_that_may_be_labels_is_announced(call, tmp_path):
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=600)
    rows = np.c_[rng.normal(size=(600, 4)) + 6 * np.eye(4)[labels], labels]
    np.savetxt(tmp_path / "x.csv", rows, fmt="%.4f", delimiter=",", header="a,b,c,d,species", comments="")
    printed = call("mixture", tmp_path / "x.csv", "-k", 3, "--out", tmp_path / "o")
    assert (
        "note: column 'species': 3 whole numbers; if they are codes of categories, --role species=category" in printed
    )
    printed = call("mixture", tmp_path / "x.csv", "-k", 3, "--ignore", "species", "--out", tmp_path / "p")
    assert "whole numbers" not in printed


@pytest.fixture(scope="module")
def patients(tmp_path_factory):
    """Rows of two clouds, of which the older ones are more often in the first; one age is not known."""
    rng = np.random.default_rng(0)
    age = rng.uniform(20, 80, 400).round(1)
    means = np.where(rng.random((400, 1)) < age[:, None] / 100, [4.0, 0, 0], [0, 4.0, 0])
    lines = [f"{a:.4f},{b:.4f},{c:.4f}" for a, b, c in means + rng.normal(size=(400, 3))]
    ages = ["", *map(str, age[1:])]
    target = tmp_path_factory.mktemp("patients") / "rows.csv"
    head = "a,b,c,age,site"
    target.write_text("\n".join([head, *(f"{line},{ages[i]},s{i // 8}" for i, line in enumerate(lines))]))
    return target


def test_effects_of_other_columns(call, rows, patients, tmp_path):
    pytest.importorskip("formulaic")
    out, other = tmp_path / "o", tmp_path / "p"
    printed = call("mixture", patients, "-k", 2, "--refine", 3, "--effects", "~ age", "--cluster", "site", "--out", out)
    assert "3 columns: a, b, c" in printed
    assert "not used" not in printed
    assert "Effects of age, the clearest first; 399 rows in 50 clusters, 1 left out:" in printed
    found = rows(out / "effects.csv")
    slopes = [(float(row["low"]), float(row["high"])) for row in found if row["term"] == "age"]
    assert len(found) == 4
    assert sorted(low < 0.01 < high or low < -0.01 < high for low, high in slopes) == [True, True]
    assert "Effects of age" in (out / "report.html").read_text()
    columns = ["--columns", "a,b,c", "--scale"]
    call(
        "mixture", patients, "-k", 2, "--refine", 3, "--effects", "~ age", "--cluster", "site", *columns, "--out", other
    )
    assert rows(other / "effects.csv") == found


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--effects", "~ weight"], "no column 'weight', which --effects '~ weight' names"),
        (["--effects", "~ age +"], "--effects '~ age +': It cannot be read"),
        (["--effects", "~ age", "--columns", "a,age"], "column 'age' is also in --columns"),
        (["--effects", "~ age", "--cluster", "ward"], "no column 'ward'"),
        (["--cluster", "site", "--columns", "a,b"], "--cluster needs --effects"),
    ],
)
def test_effects_that_cannot_be_measured_end_the_run_before_it_learns(refused, options, words, patients):
    pytest.importorskip("formulaic")
    assert words in refused("mixture", patients, "-k", 2, *options)


def test_what_tells_real_rows_from_drawn_ones_has_the_names_of_the_file(tmp_path, call):
    rng = np.random.default_rng(0)
    skewed = rng.exponential(size=600) + np.repeat([0, 9], 300)
    lines = [f"{a:.4f},{b:.4f}" for a, b in zip(skewed, rng.standard_normal(600), strict=True)]
    (tmp_path / "d.csv").write_text("\n".join(["waiting,other", *lines]) + "\n")
    shown = call("mixture", tmp_path / "d.csv", "-k", 2, "--evidence", "--out", tmp_path / "o")
    assert "waiting" in shown.partition("They differ most in")[2]


def test_shapes_are_compared_with_numbers_by_default(call, rows, tmp_path):
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=300)
    lines = [f"{12 * x:.5f},{5 * k + y:.5f}" for k, x, y in zip(labels, *rng.standard_normal((2, 300)), strict=True)]
    (tmp_path / "x.csv").write_text("\n".join(["a,b", *lines]))
    printed = call("mixture", tmp_path / "x.csv", "-k", "2:3", "--no-scale", "--out", tmp_path / "o")
    compared = rows(tmp_path / "o" / "comparison.csv")
    assert compared[0]["shape"] in ("diag", "tied", "full")
    assert f"Shape of the components: {compared[0]['shape']}." in printed
    found = np.array([int(row["component"]) for row in rows(tmp_path / "o" / "labels.csv")])
    assert agreement(found, labels) > 0.95
