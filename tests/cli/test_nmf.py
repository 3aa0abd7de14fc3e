import json
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

import latentia
from latentia.datasets import planted, read_image
from latentia.datasets.images import write_image
from latentia.exceptions import EvidenceWarning, LatentiaError
from latentia.nmf import ApproximateNMF, SeparableNMF
from latentia.nmf._anchors import METHODS
from latentia.report.nmf import METHODS as EXPLAINED

pytest.importorskip("PIL.Image", reason="images need Pillow")

FILES = ["anchors.csv", "components.csv", "evidence.csv", "model.npz", "report.html", "result.json", "weights.csv"]
HEIGHT, WIDTH = 12, 25


@pytest.fixture(scope="module")
def data():
    drawn = planted.separable_rows(HEIGHT * WIDTH, 30, 4, n_pure=5, noise=0.02)
    return replace(drawn, X=np.abs(drawn.X))


def _write(path, X, names):
    lines = (",".join([f"sample {i}", *(f"{value:.8g}" for value in row)]) for i, row in enumerate(X))
    path.write_text("\n".join([",".join(["id", *names]), *lines]) + "\n")
    return path


def _names(d):
    return [f"sensor {i}" for i in range(d)]


@pytest.fixture(scope="module")
def path(data, tmp_path_factory):
    return _write(tmp_path_factory.mktemp("nmf") / "rows.csv", data.X, _names(30))


@pytest.fixture(scope="module")
def learned(path, tmp_path_factory):
    from latentia.cli.commands import app

    out = tmp_path_factory.mktemp("results") / "o"
    app(["nmf", str(path), "-r", "4", "--names", "id", "--out", str(out), "--quiet"], standalone_mode=False)
    return out


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """Mixtures of four pictures, which are there too."""
    folder = tmp_path_factory.mktemp("pictures")
    rng = np.random.default_rng(0)
    parts = np.zeros((4, 10, 14))
    parts[0, 1:4, 1:5], parts[1, 6:9, 1:5], parts[2, 1:4, 8:13], parts[3, 6:9, 8:13] = 1, 1, 1, 1
    shares = np.vstack([np.eye(4), rng.dirichlet(np.ones(4), 60)])
    for i, share in enumerate(shares):
        write_image(folder / f"{i:02d}.png", np.tensordot(share, parts, 1))
    return folder


def _entries(found, first):
    return np.array([[float(value) for name, value in list(row.items())[first:] if name != "name"] for row in found])


def _apart(true, found):
    """Distance of each true component to the nearest that was found, relative to its length."""
    return np.linalg.norm(true[:, None] - found[None], axis=2).min(axis=1) / np.linalg.norm(true, axis=1)


# --- tables ---------------------------------------------------------------------------------------------------------


def test_a_table(call, rows, written, path, data, tmp_path):
    out = tmp_path / "o"
    printed = call("nmf", path, "-r", 4, "--out", out)
    assert "rows.csv: 300 rows, 30 columns" in printed
    assert "4 components" in printed
    left = float(re.search(r"Left over: ([\d.]+)% of the length of all rows", printed)[1])
    assert left < 4
    assert written(out) == FILES
    components, weights = _entries(rows(out / "components.csv"), 5), _entries(rows(out / "weights.csv"), 1)
    assert _apart(data.components, components).max() < 0.05
    assert (weights >= 0).all()
    assert np.linalg.norm(data.X - weights @ components) / np.linalg.norm(data.X) == pytest.approx(left / 100, rel=0.02)
    anchors = rows(out / "anchors.csv")
    assert {int(one["row"]) - 2 for one in anchors} <= set(data.anchors.ravel().tolist())
    assert all(float(one["share of the row"]) > 0.9 for one in anchors)
    assert sum(float(one["share"]) for one in anchors) == pytest.approx(1, abs=1e-5)


def test_tables_agree_with_the_model(rows, learned, data):
    model = latentia.load(learned / "model.npz")
    found = rows(learned / "components.csv")
    np.testing.assert_allclose(_entries(found, 5), model.components_, rtol=1e-6, atol=1e-9)
    assert list(found[0])[:6] == ["component", "share", "found again", "expected error", "grade", "sensor 0"]
    for i, row in enumerate(found):
        assert int(row["component"]) == i
        assert float(row["expected error"]) == pytest.approx(model.evidence_.component_errors[i], abs=1e-4)
        assert row["grade"] == model.evidence_.components[i].grade
    weights = rows(learned / "weights.csv")
    assert weights[7]["name"] == "sample 7"
    np.testing.assert_allclose(_entries(weights, 2), model.transform(data.X), atol=1e-4)
    for row, anchor in zip(rows(learned / "anchors.csv"), model.anchors_, strict=True):
        assert row["name"] == f"sample {anchor}"
        assert int(row["row"]) == anchor + 2  # the line of the file


def test_a_range_is_compared(call, rows, recommended, path, tmp_path):
    printed = call("nmf", path, "-k", "2:5", "--out", tmp_path / "o")
    compared = rows(tmp_path / "o" / "comparison.csv")
    assert [row["components"] for row in compared] == ["2", "3", "4", "5"]
    errors = [float(row["held-out error"]) for row in compared]
    assert errors[2] < 0.5 * errors[1]
    assert "Comparison (held out: one row in ten)" in printed
    size, _ = recommended(printed, compared)
    assert latentia.load(tmp_path / "o" / "model.npz").n_components == size == 4


@pytest.mark.parametrize("method", [one for one in METHODS if one not in ("auto", "lp", "loners", "robust-lp")])
def test_methods(call, path, data, tmp_path, method):
    printed = call("nmf", path, "-r", 4, "--method", method, "--splits", 0, "--out", tmp_path / "o")
    model = latentia.load(tmp_path / "o" / "model.npz")
    assert model.method_ == method
    assert f"Chosen by {method}" in printed
    assert "drawn again: --splits is 0" in " ".join(printed.split())
    assert _apart(data.components, model.components_).max() < 0.2


def test_every_method_is_explained():
    assert {"auto", *EXPLAINED} == set(METHODS)


def test_options_reach_the_estimator(call, path, tmp_path):
    options = ["--mixing", "cone", "--single", "--refine", 3, "--splits", 1, "--seed", 5, "--eps", 0.5]
    call("nmf", path, "-r", 4, *options, "--out", tmp_path / "o")
    model = latentia.load(tmp_path / "o" / "model.npz")
    assert (model.mixing_kind_, model.pooled, model.refine, model.n_splits, model.random_state, model.eps) == (
        "cone", False, 3, 1, 5, 0.5,
    )  # fmt: skip


def test_nothing_but_noise(call, tmp_path):
    X = np.random.default_rng(0).random((300, 20))
    printed = call("nmf", _write(tmp_path / "x.csv", X, _names(20)), "-r", 4, "--out", tmp_path / "o")
    assert "NOT SUPPORTED" in printed


def test_negative_entries_are_told(call, data, tmp_path):
    source = _write(tmp_path / "x.csv", data.X - 0.2, _names(30))
    with pytest.warns(EvidenceWarning, match="of the entries are negative"):
        call("nmf", source, "-r", 4, "--splits", 0, "--out", tmp_path / "o")


# --- images and arrays ----------------------------------------------------------------------------------------------


def test_maps_of_an_image(call, rows, written, path, data, tmp_path):
    printed = call("nmf", path, "-r", 4, "--image", f"{WIDTH}x{HEIGHT}", "--out", tmp_path / "o")
    assert re.search(r"row \d+ column \d+", printed)
    assert written(tmp_path / "o") == sorted([*FILES, "maps.png"])
    model = latentia.load(tmp_path / "o" / "model.npz")
    for row, anchor in zip(rows(tmp_path / "o" / "anchors.csv"), model.anchors_, strict=True):
        assert row["name"] == f"row {anchor // WIDTH + 1} column {anchor % WIDTH + 1}"
    maps = read_image(tmp_path / "o" / "maps.png")
    down, across = (maps.shape[0] + 2) // (HEIGHT + 2), (maps.shape[1] + 2) // (WIDTH + 2)
    assert down * across >= 4
    y, x = divmod(int(model.anchors_[0]), WIDTH)
    assert maps[y, x].sum() < 1.2  # the darkest blue


def test_an_array_of_an_image(call, rows, data, tmp_path):
    cube = data.X.reshape(HEIGHT, WIDTH, 30)
    np.save(tmp_path / "x.npy", cube)
    np.savez(tmp_path / "x.npz", cube=cube, truth=data.components, label=np.array(["a"]))
    sparse.save_npz(tmp_path / "sparse.npz", sparse.csr_array(data.X))
    printed = call("nmf", tmp_path / "x.npy", "-r", 4, "--splits", 0, "--out", tmp_path / "o")
    assert f"x.npy: {WIDTH} x {HEIGHT} pixels in 30 bands." in printed
    assert (tmp_path / "o" / "maps.png").exists()
    assert list(rows(tmp_path / "o" / "components.csv")[0])[4:7] == ["1", "2", "3"]
    for name in ("x.npz", "sparse.npz"):
        call("nmf", tmp_path / name, "-r", 4, "--splits", 0, "--force", "--out", tmp_path / "p")
        found = latentia.load(tmp_path / "p" / "model.npz").components_
        np.testing.assert_allclose(found, latentia.load(tmp_path / "o" / "model.npz").components_, rtol=1e-6)
    call("nmf", tmp_path / "x.npz", "-r", 2, "--array", "truth", "--splits", 0, "--force", "--out", tmp_path / "p")
    assert len(rows(tmp_path / "p" / "weights.csv")) == 4
    call("apply", tmp_path / "o", tmp_path / "x.npy", "--out", tmp_path / "a")
    assert (tmp_path / "a" / "weights.csv").read_bytes() == (tmp_path / "o" / "weights.csv").read_bytes()


def test_a_folder_of_pictures(call, rows, written, pictures, tmp_path):
    printed = call("nmf", pictures, "-r", 4, "--out", tmp_path / "o")
    assert "64 pictures of 14 x 10 pixels, grey." in printed
    assert written(tmp_path / "o") == sorted([*FILES, "components.png"])
    assert {row["name"] for row in rows(tmp_path / "o" / "anchors.csv")} == {f"0{i}.png" for i in range(4)}
    assert read_image(tmp_path / "o" / "components.png").shape == (2 * 12 - 2, 2 * 16 - 2)
    page = (tmp_path / "o" / "report.html").read_text("utf-8")
    assert len(re.findall('<img src="data:image/png;base64,[^"]+" alt="component', page)) == 4
    call("apply", tmp_path / "o", pictures / "07.png", "--out", tmp_path / "a")
    (found,) = rows(tmp_path / "a" / "weights.csv")
    trained = rows(tmp_path / "o" / "weights.csv")[7]
    assert {k: v for k, v in found.items() if k != "row"} == {k: v for k, v in trained.items() if k != "row"}


def test_rows_that_are_pictures(call, path, tmp_path):
    call("nmf", path, "-r", 4, "--shape", "6x5", "--splits", 0, "--out", tmp_path / "o")
    assert read_image(tmp_path / "o" / "components.png").shape[:2] == (2 * 7 - 2, 2 * 8 - 2)


# --- other rows -----------------------------------------------------------------------------------------------------


def test_other_rows(call, rows, learned, data, tmp_path):
    model = latentia.load(learned / "model.npz")
    new = data.X[::7][:, ::-1]
    source = _write(tmp_path / "new.csv", new, _names(30)[::-1])
    printed = call("apply", learned, source, "--out", tmp_path / "a")
    assert "Unexplained part of a row:" in printed
    np.testing.assert_allclose(
        _entries(rows(tmp_path / "a" / "weights.csv"), 1), model.transform(data.X[::7]), atol=1e-4
    )


@pytest.mark.parametrize("learner", [SeparableNMF, ApproximateNMF])
def test_a_model_from_python(call, refused, rows, data, tmp_path, learner):
    file = latentia.save(learner(4, n_splits=0).fit(data.X), tmp_path / "m.npz")
    source = _write(tmp_path / "x.csv", data.X[:20], _names(30))
    call("apply", file, source, "--out", tmp_path / "a")
    assert len(rows(tmp_path / "a" / "weights.csv")) == 20
    np.save(tmp_path / "x.npy", data.X[:, :7])
    assert "expected 30 columns, as in the fit; found 7" in refused("apply", file, tmp_path / "x.npy")


# --- errors ---------------------------------------------------------------------------------------------------------

TABLE = "a,b,c\n1,2,3\n3,1,1\n2,2,5\n4,1,2\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-r", "many"], "give a number of components, or FROM:TO:STEP as in 10:50:10, or auto"),
        (["-r", 4], "x.csv: 4 rows of 3 columns support at most 3 components: -k 4 is too large"),
        (["-k", "2:3", "--splits", 0], "--splits 0: -k 2:3 compares what fits on parts of the rows say"),
        (["-r", 2, "--method", "svd"], "--method 'svd': use one of auto, spa, farthest"),
        (["-r", 2, "--mixing", "ball"], "--mixing 'ball': use one of auto, simplex, cone"),
        (["-r", 2, "--eps", 0], "--eps 0.0: expected a number above 0"),
        (["-r", 2, "--refine", "much"], "--refine much: give a number of steps"),
        (["-r", 2, "--image", "3"], "--image '3': give width and height in pixels, as in 95x60"),
        (["-r", 2, "--image", "3x3"], "--image 3x3: these are 9 pixels, and x.csv has 4 rows"),
        (["-r", 2, "--shape", "2x2"], "--shape 2x2: these are 4 pixels, and x.csv has 3 columns"),
        (
            ["-r", 2, "--shape", "3x1", "--image", "4x1"],
            "--image and --shape: rows are pixels of one image or pictures",
        ),
        (["-r", 2, "--array", "x"], "--array: x.csv: only .npz files have arrays with names; leave it out"),
        (["-r", 2, "--names", "d"], "no column 'd', which --names names"),
        (["-r", 2, "--columns", "a"], "1 column of numbers; mixtures need two or more"),
    ],
)
def test_what_cannot_be_is_refused(refused, tmp_path, options, message):
    (tmp_path / "x.csv").write_text(TABLE)
    assert message in refused("nmf", tmp_path / "x.csv", *options)


def test_arrays_that_are_no_tables_are_refused(refused, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros(5))
    assert "expected numbers of shape (rows, columns)" in refused("nmf", tmp_path / "x.npy")
    np.savez(tmp_path / "x.npz", a=np.zeros((3, 2)))
    assert "no array 'b'. There are a." in refused("nmf", tmp_path / "x.npz", "--array", "b")
    (tmp_path / "y.npy").write_bytes(b"nothing")
    assert "not a readable file of NumPy" in refused("nmf", tmp_path / "y.npy")
    assert "z.npy: no such file" in refused("nmf", tmp_path / "z.npy")
    assert "--columns: x.npy: an array has no columns with names" in refused(
        "nmf", tmp_path / "x.npy", "--columns", "a"
    )


def test_pictures_that_differ_are_refused(refused, pictures, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    assert "no images in this folder" in refused("nmf", folder)
    write_image(folder / "a.png", np.zeros((4, 5)))
    write_image(folder / "b.png", np.zeros((5, 4)))
    assert "b.png: expected 5 x 4 pixels, as in a.png; found 4 x 5 pixels" in refused("nmf", folder)
    assert "give a folder of pictures" in refused("nmf", pictures / "00.png")
    assert "--shape: in: pictures have a shape of their own" in refused("nmf", folder, "--shape", "5x4")


def test_other_pictures_are_refused(call, refused, pictures, path, tmp_path):
    call("nmf", pictures, "-r", 4, "--splits", 0, "--out", tmp_path / "m")
    write_image(tmp_path / "x.png", np.ones((3, 3)))
    message = refused("apply", tmp_path / "m", tmp_path / "x.png")
    assert "expected pictures of 14 x 10 pixels, as in the fit; found 3 x 3 pixels" in message
    assert "since the model was fitted on pictures" in refused("apply", tmp_path / "m", path)


# --- exact ----------------------------------------------------------------------------------------------------------


def _exact_table(path, M, names=None):
    names = names or [f"c{j}" for j in range(len(M[0]))]
    path.write_text("\n".join([",".join(names), *(",".join(map(str, row)) for row in M)]) + "\n")
    return path


def _product(rows, folder):
    A = [[Fraction(value) for value in list(row.values())[1:]] for row in rows(folder / "A.csv")]
    W = [[Fraction(value) for value in list(row.values())[1:]] for row in rows(folder / "W.csv")]
    return [[sum(a * W[k][j] for k, a in enumerate(row)) for j in range(len(W[0]))] for row in A]


HEXAGON = [[(0, 0, 1, 2, 2, 1)[(j - i) % 6] for j in range(6)] for i in range(6)]


def test_an_exact_factorization(call, rows, written, tmp_path):
    pytest.importorskip("flint", reason="exact factorization needs python-flint")
    M = [["1/2", "0.25", "3"], ["1", "1/2", "6"], ["0", "1", "1/3"], ["1/2", "5/4", "10/3"]]
    source = _exact_table(tmp_path / "x.csv", M)
    printed = call("nmf", source, "-r", 2, "--exact", "--out", tmp_path / "o")
    assert "M = A W exactly, with 2 components: the product was checked in exact numbers." in printed
    assert written(tmp_path / "o") == ["A.csv", "W.csv", "certificate.json"]
    assert _product(rows, tmp_path / "o") == [[Fraction(value) for value in row] for row in M]
    certificate = json.loads((tmp_path / "o" / "certificate.json").read_text())
    assert (certificate["result"], certificate["r"], certificate["verified"]) == ("factorization", 2, True)
    assert certificate["matrix"] == M
    call("nmf", source, "-r", 1, "--exact", "--force", "--out", tmp_path / "o")
    assert written(tmp_path / "o") == ["certificate.json"]  # of the run before nothing is left


def test_a_proof_that_there_is_no_factorization(call, tmp_path):
    pytest.importorskip("flint", reason="exact factorization needs python-flint")
    source = _exact_table(tmp_path / "x.csv", HEXAGON)
    printed = call("nmf", source, "-r", 4, "--exact", "--out", tmp_path / "o")
    assert "Impossible with 4 components, and the proof was checked in exact numbers." in printed
    certificate = json.loads((tmp_path / "o" / "certificate.json").read_text())
    assert certificate["result"] == "impossible"
    assert certificate["verified"]
    assert certificate["proof"]["kind"]


def test_the_fewest_components(call, rows, tmp_path):
    pytest.importorskip("flint", reason="exact factorization needs python-flint")
    source = _exact_table(tmp_path / "x.csv", HEXAGON)
    printed = call("nmf", source, "-r", "auto", "--exact", "--out", tmp_path / "o")
    assert "The nonnegative rank is 5: both bounds were checked in exact numbers." in printed
    assert _product(rows, tmp_path / "o") == HEXAGON


def test_exact_tables_that_cannot_be(refused, tmp_path):
    pytest.importorskip("flint", reason="exact factorization needs python-flint")
    source = _exact_table(tmp_path / "x.csv", [[1, "many"], [2, 3]])
    assert "'many', which is not a finite number" in refused("nmf", source, "-r", 1, "--exact")
    assert "with --exact give one number of components, or auto" in refused("nmf", source, "-r", "1:2", "--exact")
    assert "--image: x.csv: --exact does not use it" in refused("nmf", source, "-r", 1, "--exact", "--image", "1x2")
    assert "--budget: x.csv: is for --exact" in refused("nmf", source, "-r", 1, "--budget", 3)
    np.save(tmp_path / "x.npy", np.ones((2, 2)))
    assert "hold rounded numbers; give a table" in refused("nmf", tmp_path / "x.npy", "-r", 1, "--exact")


def test_counts(tmp_path, capsys):
    from latentia.cli.commands import app

    rng = np.random.default_rng(0)
    counts = rng.poisson(rng.gamma(0.3, 40, (200, 3)) @ rng.dirichlet(np.full(20, 0.2), 3))
    path, out = _write(tmp_path / "counts.csv", counts, _names(20)), tmp_path / "o"
    app(["nmf", str(path), "-r", "3", "--counts", "--no-cache", "--out", str(out), "--quiet"], standalone_mode=False)
    assert {one.name for one in out.iterdir() if one.name[0] != "."} == set(FILES) - {"anchors.csv"}
    model = latentia.load(out / "model.npz")
    weights = np.loadtxt(out / "weights.csv", delimiter=",", skiprows=1, usecols=(2, 3, 4))
    np.testing.assert_allclose(weights, model.transform(counts), rtol=1e-4, atol=1e-4)
    options = ["apply", str(out), str(path), "--no-cache", "--out", str(tmp_path / "a"), "--quiet"]
    app(options, standalone_mode=False)
    assert (tmp_path / "a" / "weights.csv").read_text() == (out / "weights.csv").read_text()
    with pytest.raises(LatentiaError, match="--counts chooses no rows"):
        app(["nmf", str(path), "--counts", "--eps", "1", "--out", str(tmp_path / "b")], standalone_mode=False)


def test_cells_may_be_missing(data, call, rows, tmp_path):
    holes = np.random.default_rng(0).random(data.X.shape) < 0.1
    lines = [
        ",".join("" if hole else f"{value:.6f}" for value, hole in zip(*pair, strict=True))
        for pair in zip(data.X, holes, strict=True)
    ]
    (tmp_path / "x.csv").write_text("\n".join([",".join(f"c{i}" for i in range(30)), *lines]))
    call("nmf", tmp_path / "x.csv", "-k", 4, "--missing", "keep", "--out", tmp_path / "o")
    call("apply", tmp_path / "o", tmp_path / "x.csv", "--missing", "keep", "--out", tmp_path / "p")
    model = latentia.load(tmp_path / "o" / "model.npz")
    assert np.abs(model.components_[:, None] - data.components).max(axis=2).min(axis=1).max() < 0.2
    assert rows(tmp_path / "p" / "weights.csv") == rows(tmp_path / "o" / "weights.csv")
