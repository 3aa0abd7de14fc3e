"""Two tables of the same rows: what the first has and the second has not."""

import json

import numpy as np
import pytest

import latentia
from latentia.cli.commands import app
from latentia.datasets import planted

rng = np.random.default_rng


def _write(path, columns, values, separator=","):
    cells = [[f"{v:.10g}" if isinstance(v, float) else str(v) for v in row] for row in values]
    path.write_text("\n".join(separator.join(row) for row in [list(columns), *cells]) + "\n")
    return path


def _names(letter, width):
    return [f"{letter}{i}" for i in range(width)]


def _views(folder, problem, n=12_000, d=4, **more):
    """Files of two planted views, U with the target last, and what was planted."""
    data = planted.contrastive_views(n, d, problem, **({"linear_map": "orthogonal"} | more))
    columns, rows = _names("u", d), [list(map(float, row)) for row in data.U]
    if data.y is not None:
        columns = [*columns, "y"]
        rows = [[*row, float(y)] for row, y in zip(rows, data.y, strict=True)]
    first = _write(folder / "u.csv", columns, rows)
    return first, _write(folder / "v.csv", _names("v", data.V.shape[1]), data.V), data


@pytest.fixture(scope="module")
def regression(tmp_path_factory):
    """The files, what was planted, and the results."""
    folder = tmp_path_factory.mktemp("regression")
    first, second, data = _views(folder, "regression")
    out = folder / "o"
    arguments = ["contrast", first, second, "--fit", "regression", "--target", "y", "--out", out, "--quiet"]
    app([*map(str, arguments)], standalone_mode=False)
    return first, second, data, out


def test_a_map_that_is_known(call, rows, tmp_path):
    """Of a file, with rows in any order, in the units of the data; scaled columns have the same directions."""
    first, second, data = _views(tmp_path, "pca", n=150)
    order = [2, 0, 3, 1]
    cells = [[f"v{i}", *map(float, data.linear_map[i])] for i in order]
    file = _write(tmp_path / "known.csv", ["column of V", *_names("u", 4)], cells)
    printed = call("contrast", first, second, "-k", 1, "--linear-map", file, "--no-scale", "--out", tmp_path / "o")
    assert "SUPPORTED" in printed
    assert "NOT SUPPORTED" not in printed
    written = [[float(row[name]) for name in _names("u", 4)] for row in rows(tmp_path / "o" / "map.csv")]
    np.testing.assert_allclose(written, data.linear_map, atol=1e-7)
    call("contrast", first, second, "-k", 1, "--linear-map", tmp_path / "o" / "map.csv", "--out", tmp_path / "s")
    again = [[float(row[name]) for name in _names("u", 4)] for row in rows(tmp_path / "s" / "map.csv")]
    np.testing.assert_allclose(again, data.linear_map, atol=1e-7)


def test_coefficients_of_what_u_has_alone(rows, written, regression):
    _, _, data, out = regression
    assert written(out) == [
        "coefficients.csv", "evidence.csv", "map.csv", "model.npz", "report.html", "result.json", "scores.csv",
    ]  # fmt: skip
    found = rows(out / "coefficients.csv")
    assert [row["column"] for row in found] == _names("u", 4)
    error = {
        name: np.sum((np.array([float(row[name]) for row in found]) - data.truth) ** 2)
        for name in ("this fit", "U alone", "CCA", "V as covariates")
    }
    assert error["this fit"] < 0.03 < min(error["U alone"], error["CCA"], error["V as covariates"])
    for row, truth in zip(found, data.truth, strict=True):
        assert abs(float(row["this fit"]) - truth) < 3 * float(row["plus or minus"]) + 0.02
    model = latentia.load(out / "model.npz")
    scores = [float(row["predicted"]) for row in rows(out / "scores.csv")]
    np.testing.assert_allclose(scores, model.predict(data.U, data.V), rtol=1e-4, atol=1e-5)
    a = np.array([[float(row[name]) for name in _names("u", 4)] for row in rows(out / "map.csv")])
    np.testing.assert_allclose(a, data.linear_map, atol=0.2)


def test_simpler_methods_are_those_of_scikit_learn(rows, regression):
    from sklearn.linear_model import LinearRegression

    _, _, data, out = regression
    found = rows(out / "coefficients.csv")
    both = np.hstack([data.U, data.V])
    for name, table in (("U alone", data.U), ("V as covariates", both)):
        expected = LinearRegression().fit(table, data.y).coef_[:4]
        np.testing.assert_allclose([float(row[name]) for row in found], expected, rtol=1e-5)


def test_other_rows(call, written, rows, regression, tmp_path):
    first, second, data, out = regression
    call("apply", out, first, second, "--out", tmp_path / "a")
    assert written(tmp_path / "a") == ["scores.csv"]
    assert (tmp_path / "a" / "scores.csv").read_bytes() == (out / "scores.csv").read_bytes()
    printed = call("apply", out, first, "--out", tmp_path / "b")
    assert "without V the shared part is not removed" in printed
    model = latentia.load(out / "model.npz")
    scores = [float(row["predicted"]) for row in rows(tmp_path / "b" / "scores.csv")]
    np.testing.assert_allclose(scores, model.predict(data.U), rtol=1e-4, atol=1e-5)


def test_other_rows_that_do_not_fit(refused, regression, tmp_path):
    first, second, _, out = regression
    short = _write(tmp_path / "short.csv", _names("v", 4), np.ones((5, 4)))
    assert "u.csv has 12,000 rows and" in refused("apply", out, first, short)
    assert "no column 'v0', which the model needs" in refused("apply", out, first, first)
    assert "no column 'u0', which the model needs" in refused("apply", out, second, first)


def test_other_models_take_one_source(call, refused, tmp_path):
    table = _write(tmp_path / "x.csv", "ab", planted.independent_sources(3000, 2).X)
    call("ica", table, "--out", tmp_path / "r")
    assert "x.csv: a TensorICA is applied to one source" in refused("apply", tmp_path / "r", table, table)


def test_directions_and_a_range(call, rows, recommended, tmp_path):
    first, second, data = _views(tmp_path, "pca")
    out = tmp_path / "o"
    printed = call("contrast", first, second, "-k", "1:9", "--no-scale", "--out", out)
    assert "4 columns of U support at most 4 directions: the range stops there." in printed
    size, _ = recommended(printed, rows(out / "comparison.csv"))
    found = rows(out / "directions.csv")
    assert len(found) == size
    direction = np.array([float(found[0][name]) for name in _names("u", 4)])
    assert abs(direction @ data.truth) > 0.98
    assert found[0]["grade"] == "supported"
    others = [row for row in rows(out / "peers.csv") if row["direction"] == "0"]
    assert [row["method"] for row in others] == ["U alone", "CCA", "V as covariates"]
    naive = np.array([float(others[0][name]) for name in _names("u", 4)])
    assert abs(naive @ data.truth) < abs(direction @ data.truth)


def test_by_default_two_directions_of_scaled_columns(call, rows, tmp_path):
    first, second, data = _views(tmp_path, "pca", 3000)
    call("contrast", first, second, "--out", tmp_path / "a")
    _write(tmp_path / "u.csv", _names("u", 4), data.U * [1, 1000, 0.01, 5] + 7)
    printed = call("contrast", first, second, "--out", tmp_path / "b")
    assert "Columns of U are scaled" in printed
    one, other = (rows(tmp_path / name / "directions.csv") for name in "ab")
    assert len(one) == len(other) == 2
    for name in _names("u", 4):
        assert float(one[0][name]) == pytest.approx(float(other[0][name]), abs=1e-5)
    spread = [float(row["divided by"]) for row in rows(tmp_path / "b" / "scaling.csv")]
    np.testing.assert_allclose(spread, data.U.std(axis=0, ddof=1) * [1, 1000, 0.01, 5], rtol=1e-5)
    maps = [np.array([[float(row[n]) for n in _names("u", 4)] for row in rows(tmp_path / f / "map.csv")]) for f in "ab"]
    np.testing.assert_allclose(maps[1] * [1, 1000, 0.01, 5], maps[0], atol=1e-4)


def test_means_are_in_the_units_of_the_file(call, rows, tmp_path):
    first, second, data = _views(tmp_path, "mixture", 20_000)
    units = np.array([1, 100, 0.1, 5])
    _write(tmp_path / "u.csv", _names("u", 4), data.U * units)
    call("contrast", first, second, "--fit", "mixture", "-k", 4, "--out", tmp_path / "o")
    means = np.array([[float(row[name]) for name in _names("u", 4)] for row in rows(tmp_path / "o" / "means.csv")])
    for mean in data.truth:
        assert np.linalg.norm(means / units - mean, axis=1).min() < 0.4
    labels = rows(tmp_path / "o" / "scores.csv")
    assert len(labels) == 20_000
    assert {row["component"] for row in labels} <= set("0123")
    call("apply", tmp_path / "o", first, second, "--out", tmp_path / "a")
    assert (tmp_path / "a" / "scores.csv").read_bytes() == (tmp_path / "o" / "scores.csv").read_bytes()


def test_couplings(call, written, rows, refused, tmp_path):
    first, second, data = _views(tmp_path, "ising", 20_000, 9)
    printed = call("contrast", first, second, "--fit", "ising", "--out", tmp_path / "r")
    assert "scores.csv" not in written(tmp_path / "r")
    assert "36 couplings of the part that only U has" in printed
    found = {
        (row["column"], row["other column"]): float(row["this fit"]) for row in rows(tmp_path / "r" / "couplings.csv")
    }
    planted_ = np.array([found[f"u{i}", f"u{j}"] for i, j in data.edges])
    assert np.corrcoef(planted_, data.truth)[0, 1] > 0.9
    assert "has no answer for single rows" in refused("apply", tmp_path / "r", first)
    (tmp_path / "edges.txt").write_text("".join(f"u{i},u{j}\n" for i, j in data.edges) + "\n")
    printed = call(
        "contrast", first, second, "--fit", "ising", "--edges", tmp_path / "edges.txt", "--out", tmp_path / "e"
    )
    assert "18 couplings of the part that only U has" in printed
    few = {
        (row["column"], row["other column"]): float(row["this fit"]) for row in rows(tmp_path / "e" / "couplings.csv")
    }
    assert set(few) == {(f"u{i}", f"u{j}") for i, j in data.edges}
    assert np.corrcoef([few[f"u{i}", f"u{j}"] for i, j in data.edges], data.truth)[0, 1] > 0.9
    (tmp_path / "edges.txt").write_text("u0 u1\nu0 w\n")
    told = refused(
        "contrast", first, second, "--fit", "ising", "--edges", tmp_path / "edges.txt", "--out", tmp_path / "f"
    )
    assert "line 2: U has no column 'w'" in told


def test_penalties(call, rows, tmp_path):
    first, second, _ = _views(tmp_path, "regression", 3000)
    options = ["--fit", "regression", "--target", "y"]
    call("contrast", first, second, *options, "--out", tmp_path / "p")
    call("contrast", first, second, *options, "--penalty", "l1", "--alpha", "0.1", "--out", tmp_path / "q")
    plain, lasso = (
        np.array([float(row["this fit"]) for row in rows(tmp_path / name / "coefficients.csv")]) for name in "pq"
    )
    assert np.abs(lasso).sum() < 0.8 * np.abs(plain).sum()
    assert (lasso == 0).any()


def test_parts(call, rows, tmp_path):
    first, second, data = _views(tmp_path, "regression")
    call("contrast", first, second, "--fit", "components", "--ignore", "y", "--out", tmp_path / "o")
    own = [row for row in rows(tmp_path / "o" / "parts.csv") if row["name"] == "s1"]
    matrix = np.array([float(row["covariance"]) for row in own]).reshape(4, 4)
    np.testing.assert_allclose(matrix, np.cov(data.own.T), atol=0.12)
    assert len(rows(tmp_path / "o" / "scores.csv")) == 12_000


# --- files ----------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::latentia.exceptions.LatentiaWarning")
def test_rows_that_lack_a_value_leave_all_files(call, rows, tmp_path):
    data = planted.contrastive_views(3000, 3, "logistic", linear_map="orthogonal")
    first = [[f"{v:.6g}" for v in row] for row in data.U]
    second = [[f"{v:.6g}".replace(".", ",") for v in row] for row in data.V]
    target = [["yes" if y else "no"] for y in data.y]
    first[3][1], second[7][2], target[11][0] = "", "NA", "NA"
    _write(tmp_path / "u.csv", "abc", first)
    _write(tmp_path / "v.csv", "xyz", second, ";")
    _write(tmp_path / "y.csv", ["ill"], target)
    arguments = [
        "contrast",
        tmp_path / "u.csv",
        tmp_path / "v.csv",
        "--fit",
        "logistic",
        "--target",
        tmp_path / "y.csv",
    ]
    printed = call(*arguments, "--missing", "drop", "--out", tmp_path / "o")
    assert "3 of 3,000 rows lack a value in one of the files and are left out of all." in printed
    scores = rows(tmp_path / "o" / "scores.csv")
    assert [int(row["row"]) for row in scores] == [i + 2 for i in range(3000) if i not in (3, 7, 11)]
    assert {row["class"] for row in scores} == {"yes", "no"}
    model, kept = latentia.load(tmp_path / "o" / "model.npz"), np.delete(np.arange(3000), [3, 7, 11])
    chance = [float(row["probability of yes"]) for row in scores]
    np.testing.assert_allclose(chance, model.predict_proba(data.U[kept], data.V[kept])[:, 1], atol=1e-3)
    # Means are put into U and V; a target is never made up.
    printed = call(*arguments, "--missing", "mean", "--out", tmp_path / "m")
    assert "1 of 3,000 rows lack a value" in printed
    assert len(rows(tmp_path / "m" / "scores.csv")) == 2999
    call("apply", tmp_path / "o", tmp_path / "u.csv", tmp_path / "v.csv", "--missing", "drop", "--out", tmp_path / "a")
    assert [row["row"] for row in rows(tmp_path / "a" / "scores.csv")] == [
        str(i + 2) for i in range(3000) if i not in (3, 7)
    ]


def test_one_file_that_has_both(call, rows, tmp_path):
    data = planted.contrastive_views(3000, 3, "regression", linear_map="orthogonal")
    table = np.column_stack([data.U, data.V, data.y, np.ones(3000)])
    path = _write(tmp_path / "both.csv", ["a", "b", "c", "x", "y", "z", "t", "one"], table)
    options = ["--columns", "a,b,c,one", "--columns-v", "x,y,z", "--fit", "regression", "--target", "t"]
    printed = call("contrast", path, path, *options, "--out", tmp_path / "o")
    assert "note: constant columns of U are left out: one." in printed
    assert [row["column"] for row in rows(tmp_path / "o" / "coefficients.csv")] == list("abc")


def test_parquet(call, rows, tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    data = planted.contrastive_views(1000, 3, "pca", linear_map="orthogonal")
    frame = pd.DataFrame(data.V, columns=list("xyz"))
    frame.iloc[5, 0] = np.nan
    frame.to_parquet(tmp_path / "v.parquet")
    _write(tmp_path / "u.csv", "abc", data.U)
    with pytest.warns(latentia.exceptions.LatentiaWarning, match="1 of 1000 rows lack a value"):
        call("contrast", tmp_path / "u.csv", tmp_path / "v.parquet", "--missing", "drop", "--out", tmp_path / "o")
    assert [int(row["row"]) for row in rows(tmp_path / "o" / "scores.csv")] == [i + 2 for i in range(1000) if i != 5]


def test_a_narrow_second_table(call, tmp_path):
    first, _, data = _views(tmp_path, "pca", 3000)
    narrow = _write(tmp_path / "n.csv", "xy", data.V[:, :2])
    printed = call("contrast", first, narrow, "--out", tmp_path / "o")
    assert "note: V has 2 columns and U 4: they can share 2 at most, as with --shared 2." in printed
    assert latentia.load(tmp_path / "o" / "model.npz").n_shared == 2


def test_wide_tables(call, refused, tmp_path):
    values = rng(0).standard_exponential((200, 70))
    shared = values[:, :35]
    first = _write(tmp_path / "u.csv", _names("u", 35), shared + rng(1).standard_normal((200, 35)))
    second = _write(tmp_path / "v.csv", _names("v", 35), shared + values[:, 35:])
    target = _write(tmp_path / "t.csv", ["t"], rng(2).integers(0, 2, (200, 1)))
    assert "70 columns in both tables, and --fit logistic takes at most 64" in refused(
        "contrast", first, second, "--fit", "logistic", "--target", target
    )
    printed = call("contrast", first, second, "--fit", "mixture", "--out", tmp_path / "m")
    assert "2 components of the part that only U has" in printed
    printed = call("contrast", first, second, "--out", tmp_path / "r")
    assert "2 directions of the part that only U has" in printed


# --- evidence -------------------------------------------------------------------------------------------------------


def test_a_gaussian_shared_part_is_not_supported(call, rows, tmp_path):
    first, second, _ = _views(tmp_path, "regression", 4000, shared="gaussian")
    printed = call("contrast", first, second, "--fit", "regression", "--target", "y", "--out", tmp_path / "o")
    assert "NOT SUPPORTED." in printed
    assert "Use V as covariates." in " ".join(printed.split())
    assert {row["grade"] for row in rows(tmp_path / "o" / "coefficients.csv")} == {"not supported"}


def test_programs_get_the_distances(tmp_path):
    first, second, _ = _views(tmp_path, "pca", 2000)
    done = app(["contrast", str(first), str(second), "--out", str(tmp_path / "o"), "--quiet"], standalone_mode=False)
    assert set(done["differences"]) == {"U alone", "CCA", "V as covariates"}
    assert done["source_v"] == str(second)
    json.dumps(done["differences"])


def test_the_same_data_gives_the_same_files(call, tmp_path):
    first, second, _ = _views(tmp_path, "mixture", 3000)
    for name, jobs in (("a", 1), ("b", 2)):
        call("contrast", first, second, "--fit", "mixture", "-k", "2:3", "--jobs", jobs, "--out", tmp_path / name)
    for path in (tmp_path / "a").iterdir():
        if (
            path.suffix != ".npz" and path.name != ".latentia.json"
        ):  # Which hold the number of jobs, and a digest of it.
            assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes(), path.name


# --- what is refused ------------------------------------------------------------------------------------------------

U = "a,b,t,c\n" + "\n".join(f"{i % 7},{i * i % 11},{i % 3},5" for i in range(40)) + "\n"
V = "x,y\n" + "\n".join(f"{i % 5},{i * 3 % 13}" for i in range(40)) + "\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--fit", "forest"], "--fit 'forest': use one of pca, regression"),
        (["--method", "best"], "--method 'best': use one of auto, bls, gtls, eq2"),
        (["--order", "5"], "--order '5': use one of auto, 3, 4"),
        (["--fit", "regression"], "--fit regression needs --target"),
        (["--target", "t"], "--target is for --fit regression and logistic"),
        (["--fit", "ising", "-k", "3"], "-k is for --fit pca and mixture"),
        (["--fit", "ising", "--scale"], "--scale/--no-scale is for --fit pca and mixture"),
        (["--edges", "e.txt"], "--edges is for --fit ising"),
        (["--fit", "ising", "--edges", "nowhere"], "--edges nowhere: no such file"),
        (["--penalty", "l1"], "--penalty is for --fit regression"),
        (["--fit", "regression", "--target", "t", "--alpha", "1"], "--alpha 1 needs --penalty l1 or l2"),
        (["--fit", "regression", "--target", "t", "--penalty", "l3"], "--penalty 'l3': use one of l1, l2"),
        (["-k", "9"], "support at most 3 directions: -k 9 is too large"),
        (["--shared", "9"], "--shared 9: U has 3 columns and V 2: they share at most 2 dimensions"),
        (["--linear-map", "identity"], "--linear-map identity: U has 3 columns and V 2"),
        (["--linear-map", "u.csv"], "no such file"),
        (["--ignore", "nope"], "--ignore names 'nope', and neither"),
        (["--columns", "a,b", "--ignore", "a"], "--columns and --ignore both name 'a'"),
        (["--columns-v", "a"], "no column 'a', which --columns-v names"),
        (["--columns", "a"], "1 column of numbers; expected at least two"),
        (["--fit", "regression", "--target", "q"], "--target q: no such file, and no such column in"),
        (["--fit", "regression", "--target", "c"], "--target c: it is 5 in all 40 rows"),
        (
            ["--fit", "logistic", "--target", "t"],
            "--target t: expected two classes, found 3 different values (0, 1, 2).",
        ),
        (["--fit", "regression", "--target", "t", "--columns", "a,t"], "--columns and --target both name 't'"),
    ],
)
def test_options_that_cannot_be(refused, tmp_path, options, message):
    (tmp_path / "u.csv").write_text(U)
    (tmp_path / "v.csv").write_text(V)
    assert message in refused("contrast", tmp_path / "u.csv", tmp_path / "v.csv", *options)


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ("x,y\n1,2\n", "u.csv has 40 rows and"),
        ("x,y\n" + "1,2\n" * 40, "all 2 columns of V are constant over 40 rows"),
        ("x,y\n" + ",2\n" * 2 + "1,2\n" * 38, "no value"),
        (
            "x,y,z\n" + "\n".join(f"{i % 5},{i % 7},{i % 5 + i % 7}" for i in range(40)),
            "columns depend on each other: x of V",
        ),
        ("x\n" + "\n".join(f"{i * i % 11}" for i in range(40)), "columns depend on each other: b of U, x of V"),
    ],
)
def test_tables_that_do_not_fit(refused, tmp_path, second, message):
    (tmp_path / "u.csv").write_text(U)
    (tmp_path / "v.csv").write_text(second)
    assert message in refused("contrast", tmp_path / "u.csv", tmp_path / "v.csv", "--ignore", "c")


def test_few_rows(refused, tmp_path):
    first, second, _ = _views(tmp_path, "pca", 12)
    assert "expected at least 16 rows, and better hundreds; found 12" in refused("contrast", first, second)
    (tmp_path / "f").mkdir()
    first, second, _ = _views(tmp_path / "f", "pca", 18, 10)
    assert "18 rows and 20 columns in both tables" in refused("contrast", first, second)


def test_a_table_against_itself(refused, tmp_path):
    (tmp_path / "u.csv").write_text(U)
    assert "is given as U and as V, and both have column 'a'" in refused(
        "contrast", tmp_path / "u.csv", tmp_path / "u.csv"
    )


def test_a_target_of_more_columns_and_of_words(refused, tmp_path):
    (tmp_path / "u.csv").write_text(U)
    (tmp_path / "v.csv").write_text(V)
    (tmp_path / "w.csv").write_text("w\n" + "yes\nno\n" * 20)
    views = tmp_path / "u.csv", tmp_path / "v.csv"
    assert "expected one column, found 4 (a, b, t, c)" in refused(
        "contrast", *views, "--fit", "regression", "--target", tmp_path / "u.csv"
    )
    said = refused("contrast", *views, "--fit", "regression", "--target", tmp_path / "w.csv")
    assert "--target w: expected a column of numbers" in said
    assert "Use --fit logistic for two classes" in said


def test_bad_input_ends_with_code_2(shell, tmp_path):
    (tmp_path / "u.csv").write_text(U)
    code, message = shell("contrast", tmp_path / "u.csv", tmp_path / "none.csv", "--out", tmp_path / "o")
    assert code == 2
    assert "none.csv: no such file" in message
    assert "Traceback" not in message
    assert not (tmp_path / "o").exists()
