import re

import numpy as np
import pytest
from scipy import sparse

import latentia
from latentia.datasets import planted
from latentia.deep import SparseNetwork
from latentia.evidence import Evidence
from latentia.exceptions import EvidenceWarning, LatentiaError

FILES = [
    "codes.csv", "columns.csv", "edges.csv", "evidence.csv", "model.npz", "report.html", "result.json", "units.csv",
]  # fmt: skip


@pytest.fixture(scope="module")
def data():
    return planted.sparse_network(3000, (200, 40), 5, 0.02)


def _table(Y):
    return Y.toarray() if sparse.issparse(Y) else np.asarray(Y)


def _write(path, Y, form="{:d}", names=None):
    names = names or [f"item {i}" for i in range(Y.shape[1])]
    table = _table(Y)
    table = table.astype(int) if table.dtype == bool else table
    lines = (",".join([str(i), *(form.format(value) for value in row)]) for i, row in enumerate(table))
    path.write_text("\n".join([",".join(["id", *names]), *lines]) + "\n")
    return path


@pytest.fixture(scope="module")
def path(data, tmp_path_factory):
    return _write(tmp_path_factory.mktemp("network") / "rows.csv", data.Y)


@pytest.fixture(scope="module")
def learned(path, tmp_path_factory):
    from latentia.cli.commands import app

    out = tmp_path_factory.mktemp("results") / "o"
    app(["network", str(path), "--ignore", "id", "--out", str(out), "--quiet"], standalone_mode=False)
    return out


def _matrix(path, Y):
    i, j = sparse.csr_array(Y).nonzero()
    cells = [f"{a + 1} {b + 1}" for a, b in zip(i, j, strict=True)]
    header = ["%%MatrixMarket matrix coordinate pattern general", f"{Y.shape[0]} {Y.shape[1]} {len(cells)}"]
    path.write_text("\n".join([*header, *cells]) + "\n")
    return path


def _members(found, key="switches on"):
    return [{int(name.split()[1]) for name in row[key].split("; ") if name} for row in found]


def _true(data, sign=1):
    table = data.layers[0].toarray()
    return [set(np.flatnonzero(row == sign)) for row in table]


# --- tables ---------------------------------------------------------------------------------------------------------


def test_a_table(call, rows, written, path, data, tmp_path):
    out = tmp_path / "o"
    printed = call("network", path, "--ignore", "id", "--out", out)
    assert "rows.csv: 3,000 rows, 200 columns" in printed
    n = int((data.Y.sum(axis=0) > 0).sum())
    assert f"{n} columns, " in printed
    assert "40 units" in printed
    assert "SUPPORTED. 40 of 40 units are found again in" in printed
    assert written(out) == FILES
    found = _members(rows(out / "units.csv"))
    assert len(found) == 40
    assert sorted(map(sorted, found)) == sorted(map(sorted, _true(data)))


def test_tables_agree_with_the_model(rows, learned, data):
    model = latentia.load(learned / "model.npz")
    kept = [int(name.split()[1]) for name in model.reading_["columns"]]
    assert kept == np.flatnonzero(_table(data.Y).any(axis=0)).tolist()
    found = rows(learned / "units.csv")
    edges = model.layers_[0].toarray()
    for i, row in enumerate(found):
        assert (int(row["unit"]), int(row["layer"])) == (i, 1)
        assert float(row["on in"]) == pytest.approx(model.densities_[0][i], abs=1e-6)
        assert float(row["expected error"]) == pytest.approx(model.evidence_.component_errors[i], abs=1e-4)
        assert row["grade"] == model.evidence_.components[i].grade
        assert int(row["undetermined"]) == model.undetermined_[0][[i]].nnz
    for key, sign in (("switches on", 1), ("switches off", -1)):
        expected = [{kept[j] for j in np.flatnonzero(row == sign)} for row in edges]
        assert _members(found, key) == expected
    table = np.zeros_like(edges)
    for row in rows(learned / "edges.csv"):
        table[int(row["unit"]), kept.index(int(row["to"].split()[1]))] = int(row["sign"])
    np.testing.assert_array_equal(table, edges)
    for j, row in enumerate(rows(learned / "columns.csv")):
        assert float(row["mean"]) == pytest.approx(_table(data.Y)[:, kept[j]].mean(), rel=1e-4)
        for key, sign in (("switched on by", 1), ("switched off by", -1)):
            assert [int(k) for k in row[key].split()] == np.flatnonzero(edges[:, j] == sign).tolist()
    on = model.encode(_table(data.Y)[:, kept])
    codes = rows(learned / "codes.csv")
    assert [int(row["row"]) for row in codes[:2]] == [2, 3]
    assert [[int(k) for k in row["layer 1"].split()] for row in codes] == [
        np.sort(on.indices[a:b]).tolist() for a, b in zip(on.indptr[:-1], on.indptr[1:], strict=True)
    ]


def test_values_above_a_threshold_are_on(call, rows, written, path, data, tmp_path):
    rng = np.random.default_rng(0)
    values = _table(data.Y) * rng.integers(2, 9, data.Y.shape) + rng.integers(0, 2, data.Y.shape)
    source = _write(tmp_path / "x.csv", values)
    call("network", source, "--above", 1, "--ignore", "id", "--out", tmp_path / "o")
    found = _members(rows(tmp_path / "o" / "units.csv"))
    assert sorted(map(sorted, found)) == sorted(map(sorted, _true(data)))
    call("apply", tmp_path / "o", source, "--out", tmp_path / "a")
    assert (tmp_path / "a" / "codes.csv").read_bytes() == (tmp_path / "o" / "codes.csv").read_bytes()


def test_a_bag_of_words(call, rows, data, tmp_path):
    Y = sparse.coo_array(data.Y)
    counts = np.random.default_rng(0).integers(1, 4, Y.nnz)
    cells = [f"{i + 1} {j + 1} {c}" for i, j, c in zip(*Y.coords, counts, strict=True)]
    (tmp_path / "docword.x.txt").write_text("\n".join(["3000", "200", str(len(cells)), *cells]) + "\n")
    (tmp_path / "words.txt").write_text("\n".join(f"word {i}" for i in range(200)) + "\n")
    source, words = tmp_path / "docword.x.txt", tmp_path / "words.txt"
    options = ["--vocabulary", words, "--above", 0, "--no-cache"]
    printed = call("network", source, *options, "--min-count", 60, "--out", tmp_path / "o")
    assert re.search(r"\d+ columns on in fewer than 60 rows left out\.", printed)
    found = _members(rows(tmp_path / "o" / "units.csv"))
    frequent = set(np.flatnonzero(_table(data.Y).sum(axis=0) >= 60))
    expected = [one & frequent for one in _true(data)]
    assert sum(one in expected for one in found) >= 0.9 * len(expected)
    names = [row["column"] for row in rows(tmp_path / "o" / "columns.csv")]
    assert names == [f"word {i}" for i in sorted(frequent)]
    (tmp_path / "vocab.x.txt").write_text("\n".join(f"word {i}" for i in [*range(1, 200), 0]) + "\n")
    printed = call("apply", tmp_path / "o", source, "--no-cache", "--out", tmp_path / "a")  # words in another order
    assert len(rows(tmp_path / "a" / "codes.csv")) == 3000


def test_a_matrix(call, rows, data, learned, tmp_path):
    call("network", _matrix(tmp_path / "x.mtx", data.Y), "--no-cache", "--out", tmp_path / "o")
    for own, other in zip(rows(tmp_path / "o" / "units.csv"), rows(learned / "units.csv"), strict=True):
        assert (own["on in"], own["expected error"]) == (other["on in"], other["expected error"])


def test_real_values(call, rows, tmp_path):
    data = planted.sparse_network(4000, (60, 12), 4, 0.04, observed="real", noise=0.1)
    source = _write(tmp_path / "x.csv", data.Y, "{:.6g}")
    printed = call("network", source, "--real", "--ignore", "id", "--out", tmp_path / "o")
    assert "raises" in printed
    found = rows(tmp_path / "o" / "units.csv")
    true = list(zip(_true(data), _true(data, -1), strict=True))
    assert sum(pair in true for pair in zip(_members(found), _members(found, "switches off"), strict=True)) >= 11
    assert "Raises" in (tmp_path / "o" / "report.html").read_text("utf-8")
    call("apply", tmp_path / "o", source, "--denoise", "--out", tmp_path / "a")
    rebuilt = np.array([[float(v) for v in list(row.values())[1:]] for row in rows(tmp_path / "a" / "denoised.csv")])
    clean = data.hidden[0].toarray().astype(int) @ data.layers[0].toarray()
    assert np.abs(rebuilt - clean).mean() < 0.05


def _with_a_second_layer(model):
    """The model with five units above those it has, each of which switches on eight of them and one off."""
    n = model.layers_[0].shape[0]
    edges = np.zeros((5, n), np.int8)
    for unit in range(5):
        edges[unit, 8 * unit : 8 * unit + 8], edges[unit, 8 * unit - 1] = 1, -1
    model.layers_.append(sparse.csr_array(edges))
    model.undetermined_.append(sparse.csr_array(np.eye(5, n, 3, dtype=bool)))
    model.densities_.append(np.full(5, 0.01))
    model.evidence_ = Evidence(model.evidence_.checks, np.append(model.evidence_.component_errors, np.full(5, 0.1)))
    return model


def test_two_layers(call, rows, path, data, tmp_path, monkeypatch):
    fit = SparseNetwork.fit
    monkeypatch.setattr(SparseNetwork, "fit", lambda self, Y: _with_a_second_layer(fit(self.set_params(n_layers=1), Y)))
    printed = call("network", path, "--layers", 2, "--ignore", "id", "--out", tmp_path / "o")
    assert "45 units: 40 in layer 1, 5 in layer 2" in printed
    found = rows(tmp_path / "o" / "units.csv")
    assert [int(row["unit"]) for row in found] == list(range(45))
    assert [row["layer"] for row in found] == ["1"] * 40 + ["2"] * 5
    assert found[41]["switches on"] == "; ".join(f"unit {i}" for i in range(8, 16))
    assert found[41]["switches off"] == "unit 7"
    assert found[41]["undetermined"] == "1"
    model = latentia.load(tmp_path / "o" / "model.npz")
    kept = [int(name.split()[1]) for name in model.reading_["columns"]]
    top = model.encode(_table(data.Y)[:, kept]).toarray()
    codes = rows(tmp_path / "o" / "codes.csv")
    assert [row["layer 2"] for row in codes] == [" ".join(str(40 + k) for k in np.flatnonzero(row)) for row in top]


def test_nothing_but_noise(call, rows, tmp_path):
    Y = np.random.default_rng(0).random((600, 40)) < 0.1
    source = _write(tmp_path / "x.csv", Y)
    with pytest.warns(EvidenceWarning, match="No hidden unit found"):
        printed = call("network", source, "--ignore", "id", "--out", tmp_path / "o")
    assert "No units were found" in printed
    assert "NOT SUPPORTED" in printed
    assert rows(tmp_path / "o" / "units.csv") == []
    call("apply", tmp_path / "o", source, "--denoise", "--out", tmp_path / "a")
    assert {v for row in rows(tmp_path / "a" / "denoised.csv") for v in list(row.values())[1:]} == {"0"}


# --- other rows -----------------------------------------------------------------------------------------------------


def test_other_rows(call, rows, learned, data, tmp_path):
    model = latentia.load(learned / "model.npz")
    names = model.reading_["columns"]
    Y = _table(data.Y)[:40, [int(name.split()[1]) for name in names]]
    flipped = Y ^ (np.random.default_rng(0).random(Y.shape) < 0.01)
    order = np.random.default_rng(1).permutation(len(names))
    source = _write(tmp_path / "new.csv", flipped[:, order], names=[names[i] for i in order])
    call("apply", learned, source, "--out", tmp_path / "a")
    on = model.encode(flipped).toarray()
    found = rows(tmp_path / "a" / "codes.csv")
    assert [[int(k) for k in row["layer 1"].split()] for row in found] == [np.flatnonzero(row).tolist() for row in on]
    call("apply", learned, source, "--denoise", "--force", "--out", tmp_path / "a")
    found = rows(tmp_path / "a" / "denoised.csv")
    assert list(found[0]) == ["row", *names]
    rebuilt = np.array([[int(row[name]) for name in names] for row in found])
    np.testing.assert_array_equal(rebuilt, model.denoise(flipped).toarray())
    assert (rebuilt != Y).mean() < (flipped != Y).mean()


def test_a_model_from_python(call, rows, data, tmp_path):
    file = latentia.save(SparseNetwork(n_splits=0).fit(data.Y), tmp_path / "m.npz")
    source = _write(tmp_path / "x.csv", _table(data.Y)[:20])
    source.write_text("\n".join(line.partition(",")[2] for line in source.read_text().splitlines()))
    call("apply", file, source, "--out", tmp_path / "a")
    assert len(rows(tmp_path / "a" / "codes.csv")) == 20


def test_other_models_have_no_rows_to_write(call, tmp_path):
    data = planted.gaussian_mixture(200, n_components=2, n_features=3, separation=9)
    (tmp_path / "x.csv").write_text("\n".join(["a,b,c", *(",".join(f"{v:.6g}" for v in row) for row in data.X)]))
    call("mixture", tmp_path / "x.csv", "-k", 2, "--out", tmp_path / "o")
    with pytest.raises(LatentiaError, match="--denoise: a SphericalGaussianMixture has no rows to write"):
        call("apply", tmp_path / "o", tmp_path / "x.csv", "--denoise", "--out", tmp_path / "a")


# --- errors ---------------------------------------------------------------------------------------------------------

TABLE = "a,b,c,d\n1,0,0,1\n0,1,0,1\n1,1,1,0\n"


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        ("x.csv", TABLE, ["--real", "--above", 1], "--real and --above: give one of the two"),
        ("x.csv", TABLE, ["--real", "--min-count", 2], "--min-count 2: real values are not on or off; leave it out"),
        ("x.csv", TABLE, ["--min-count", 3], "x.csv: 0 columns of 4 are on in 3 rows or more, and a unit switches 4"),
        (
            "x.csv",
            TABLE.replace("1,1,1,0", "1,1,7,0") + "1,0,1,1\n",
            [],
            "x.csv, line 4, column 'c': 7, and values are 1 (on) or 0 (off).",
        ),
        (
            "x.csv",
            TABLE.replace("1,1,1,0", "1,1,7,0") + "1,0,1,1\n",
            [],
            "exclude such columns with --ignore c, or use real values",
        ),
        ("x.csv", TABLE.replace("1,0", "0.5,2"), [], "Give a threshold with --above"),
        ("x.csv", TABLE, ["--vocabulary", "words.txt"], "--vocabulary: x.csv has names of columns; leave it out"),
        ("x.csv", "a,b,c\n1,0,1\n", [], "3 columns of numbers; a unit switches 4 columns or more"),
        ("x.csv", TABLE + "1,,0,1\n", [], "x.csv, line 5, column 'b': no value"),
        ("x.csv", TABLE + "1,nan,0,1\n", [], "--missing drop leaves such rows out"),
        ("x.csv", TABLE + "1,x,0,1\n", [], "x.csv, line 5, column 'b': 'x' is not a number"),
        ("x.csv", "", [], "x.csv: the file is empty"),
        ("x.txt", "2\n3\n1\n1 1 4\n", ["--columns", "a"], "--columns: a bag of words has no columns to choose"),
        ("x.txt", "some words\nand others\n", [], "x.txt"),
    ],
)
def test_bad_input(refused, tmp_path, name, content, options, message):
    (tmp_path / name).write_text(content)
    assert message in refused("network", tmp_path / name, *options)


def test_the_shell_says_what_is_wrong(shell, tmp_path):
    code, error = shell("network", tmp_path / "none.csv", "--out", tmp_path / "o")
    assert code == 2
    assert "none.csv: no such file" in error
    code, error = shell("network", tmp_path / "none.csv", "--layers", "0", "--out", tmp_path / "o")
    assert code == 2
    assert "'--layers'" in error
