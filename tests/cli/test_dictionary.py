import re

import numpy as np
import pytest

import latentia
from latentia.datasets import planted, read_image
from latentia.datasets.images import write_image
from latentia.dictionary import IncoherentDictionary
from latentia.exceptions import EvidenceWarning, LatentiaError
from latentia.metrics import atom_distances

pytest.importorskip("PIL.Image", reason="images need Pillow")

FILES = ["atoms.csv", "codes.csv", "evidence.csv", "model.npz", "report.html", "result.json"]


@pytest.fixture(scope="module")
def data():
    return planted.sparse_codes(3000, n_features=32, n_components=40, sparsity=2, noise=0.02)


def _write(path, X, names=None):
    names = names or [f"sensor {i}" for i in range(X.shape[1])]
    lines = (",".join([str(i), *(f"{value:.8g}" for value in row)]) for i, row in enumerate(X))
    path.write_text("\n".join([",".join(["id", *names]), *lines]) + "\n")
    return path


@pytest.fixture(scope="module")
def path(data, tmp_path_factory):
    return _write(tmp_path_factory.mktemp("dictionary") / "rows.csv", data.X)


@pytest.fixture(scope="module")
def learned(path, tmp_path_factory):
    from latentia.cli.commands import app

    out = tmp_path_factory.mktemp("results") / "o"
    options = ["-k", "40", "--ignore", "id", "--no-scale", "--out", str(out), "--quiet"]
    app(["dictionary", str(path), *options], standalone_mode=False)
    return out


@pytest.fixture(scope="module")
def picture(tmp_path_factory):
    """An image of stripes in two directions and a slope."""
    y, x = np.mgrid[:70, :90]
    image = 0.5 + 0.2 * np.sign(np.sin(x / 2)) * (y > 30) + 0.2 * np.sign(np.sin(y / 1.5)) * (y <= 30) + x / 600
    return write_image(tmp_path_factory.mktemp("images") / "stripes.png", image + 0.02 * np.sin(x * y))


@pytest.fixture(scope="module")
def of_patches(picture, tmp_path_factory):
    from latentia.cli.commands import app

    out = tmp_path_factory.mktemp("results") / "o"
    options = ["-m", "24", "--patch", "6", "--start", "random", "--splits", "0", "--refine", "5", "--out", str(out)]
    app(["dictionary", str(picture), *options, "--quiet"], standalone_mode=False)
    return out


def _draw_atoms(found):
    said = "atom", "usage", "expected error", "grade", "found again"
    return np.array([[float(value) for name, value in row.items() if name not in said] for row in found])


def _codes(found, first, shape):
    """Codes as a dense table; rows are numbered from ``first``."""
    codes = np.zeros(shape)
    for row in found:
        codes[int(row["row"]) - first, int(row["atom"])] = float(row["weight"])
    return codes


# --- tables ---------------------------------------------------------------------------------------------------------


def test_a_table(call, rows, written, path, data, tmp_path):
    out = tmp_path / "o"
    printed = call("dictionary", path, "-k", 40, "--sparsity", 2, "--ignore", "id", "--no-scale", "--out", out)
    assert "rows.csv: 3,000 rows, 32 columns" in printed
    assert "40 atoms, the most used first" in printed
    assert re.search(r"Up to 2 atoms a row, [12]\.\d needed on average; the residual is 0?\.?\d", printed)
    assert written(out) == FILES
    atoms = _draw_atoms(rows(out / "atoms.csv"))
    assert atom_distances(data.components, atoms).max() < 0.05
    np.testing.assert_allclose(np.linalg.norm(atoms, axis=1), 1, atol=1e-6)
    codes = _codes(rows(out / "codes.csv"), 2, (3000, 40))
    assert ((codes != 0).sum(axis=1) <= 2).all()
    assert np.linalg.norm(data.X - codes @ atoms) / np.linalg.norm(data.X) < 0.2


def test_tables_agree_with_the_model(rows, learned, data):
    model = latentia.load(learned / "model.npz")
    found = rows(learned / "atoms.csv")
    np.testing.assert_allclose(_draw_atoms(found), model.components_, atol=1e-7)
    assert list(found[0])[:6] == ["atom", "usage", "found again", "expected error", "grade", "sensor 0"]
    for i, row in enumerate(found):
        assert int(row["atom"]) == i
        assert float(row["usage"]) == pytest.approx(model.usage_[i], abs=1e-6)
        assert float(row["expected error"]) == pytest.approx(model.evidence_.component_errors[i], abs=1e-4)
        assert row["grade"] == model.evidence_.components[i].grade
        assert float(row["found again"]) == pytest.approx(model.evidence_.components[i].found_again, abs=1e-3)
    codes = _codes(rows(learned / "codes.csv"), 2, (3000, 40))
    np.testing.assert_allclose(codes, model.transform(data.X), atol=1e-4)
    weights = [abs(float(row["weight"])) for row in rows(learned / "codes.csv") if row["row"] == "2"]
    assert weights == sorted(weights, reverse=True)


def test_columns_are_scaled_unless_told_not_to(call, rows, written, data, tmp_path):
    units = 10.0 ** np.arange(-3, 3).repeat(6)[:32]
    source = _write(tmp_path / "x.csv", data.X * units + 5)
    printed = call("dictionary", source, "-k", 40, "--ignore", "id", "--splits", 0, "--out", tmp_path / "o")
    assert "Columns are scaled: weights and errors are in standard deviations." in printed
    assert written(tmp_path / "o") == sorted([*FILES, "scaling.csv"])
    scaling = rows(tmp_path / "o" / "scaling.csv")
    np.testing.assert_allclose([float(row["divided by"]) for row in scaling], (data.X * units).std(axis=0), rtol=1e-4)
    atoms = _draw_atoms(rows(tmp_path / "o" / "atoms.csv")) * (data.X.std(axis=0))
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    assert np.median(atom_distances(data.components, atoms)) < 0.05
    call("apply", tmp_path / "o", source, "--denoise", "--out", tmp_path / "a")
    rebuilt = np.array([[float(v) for v in list(row.values())[1:]] for row in rows(tmp_path / "a" / "denoised.csv")])
    assert np.linalg.norm((rebuilt - 5) / units - data.X) / np.linalg.norm(data.X) < 0.2


def test_a_range_is_compared(call, rows, recommended, path, tmp_path):
    options = ["--sparsity", 2, "--ignore", "id", "--no-scale", "--refine", 8, "--out", tmp_path / "o"]
    printed = call("dictionary", path, "-k", "20:40:20", *options)
    compared = rows(tmp_path / "o" / "comparison.csv")
    assert [row["atoms"] for row in compared] == ["20", "40"]
    assert float(compared[1]["held-out error"]) < float(compared[0]["held-out error"]) < 1
    assert "Comparison (held out: one row in ten)" in printed
    size, _ = recommended(printed, compared)
    assert latentia.load(tmp_path / "o" / "model.npz").n_components == size == 40


@pytest.mark.filterwarnings("ignore::latentia.exceptions.EvidenceWarning")
def test_as_many_as_it_takes(call, rows, recommended, path, tmp_path, monkeypatch):
    monkeypatch.setattr(IncoherentDictionary, "_candidates", lambda self, X: [30, 40])
    printed = call("dictionary", path, "-k", "auto", "--ignore", "id", "--refine", 3, "--out", tmp_path / "o")
    # The best is among the last two, so that larger numbers are tried until it is not.
    compared = rows(tmp_path / "o" / "comparison.csv")
    assert [row["atoms"] for row in compared] == ["30", "40", "46", "53", "61"]
    best, _ = recommended(printed, compared)
    assert best in (40, 46)  # the planted number, or the next one that was compared
    assert len(rows(tmp_path / "o" / "atoms.csv")) == best


def test_a_sparse_matrix(call, rows, data, tmp_path):
    X = np.where(np.abs(data.X) > 0.15, data.X, 0)
    cells = [f"{i + 1} {j + 1} {X[i, j]:.8g}" for i, j in np.argwhere(X)]
    lines = ["%%MatrixMarket matrix coordinate real general", f"3000 32 {len(cells)}", *cells]
    (tmp_path / "x.mtx").write_text("\n".join(lines) + "\n")
    call("dictionary", tmp_path / "x.mtx", "-k", 40, "--splits", 0, "--no-cache", "--no-scale", "--out", tmp_path / "o")
    atoms = _draw_atoms(rows(tmp_path / "o" / "atoms.csv"))
    assert np.median(atom_distances(data.components, atoms)) < 0.3
    call("apply", tmp_path / "o", tmp_path / "x.mtx", "--no-cache", "--out", tmp_path / "a")
    assert (tmp_path / "a" / "codes.csv").read_bytes() == (tmp_path / "o" / "codes.csv").read_bytes()


def test_nothing_but_noise(call, tmp_path):
    source = _write(tmp_path / "x.csv", np.random.default_rng(0).standard_normal((800, 20)))
    with pytest.warns(EvidenceWarning, match="The connection graph gave"):
        printed = call("dictionary", source, "-k", 20, "--ignore", "id", "--out", tmp_path / "o")
    assert "NOT SUPPORTED" in printed


# --- other rows -----------------------------------------------------------------------------------------------------


def test_other_rows(call, rows, learned, data, tmp_path):
    model = latentia.load(learned / "model.npz")
    new = planted.sparse_codes(50, n_features=32, n_components=40, sparsity=2, random_state=5)
    names = [f"sensor {i}" for i in range(32)]
    order = np.random.default_rng(0).permutation(32)
    source = _write(tmp_path / "new.csv", new.X[:, order], [names[i] for i in order])
    call("apply", learned, source, "--out", tmp_path / "a")
    codes = _codes(rows(tmp_path / "a" / "codes.csv"), 2, (50, 40))
    np.testing.assert_allclose(codes, model.transform(new.X), atol=1e-4)
    call("apply", learned, source, "--denoise", "--force", "--out", tmp_path / "a")
    found = rows(tmp_path / "a" / "denoised.csv")
    assert list(found[0]) == ["row", *names]
    rebuilt = np.array([[float(row[name]) for name in names] for row in found])
    np.testing.assert_allclose(rebuilt, model.transform(new.X) @ model.components_, atol=1e-4)


def test_a_model_from_python(call, rows, data, tmp_path):
    file = latentia.save(IncoherentDictionary(40, n_splits=0).fit(data.X), tmp_path / "m.npz")
    source = _write(tmp_path / "x.csv", data.X[:20])
    fewer = tmp_path / "fewer.csv"
    fewer.write_text("\n".join(line.rpartition(",")[0] for line in source.read_text().splitlines()))
    with pytest.raises(
        LatentiaError, match="expected 32 columns of numbers, as in the model, which knows no names; found 31"
    ):
        call("apply", file, fewer, "--out", tmp_path / "a")
    call("apply", file, source, "--out", tmp_path / "a")  # the numbers of the rows are left out
    assert len({row["row"] for row in rows(tmp_path / "a" / "codes.csv")}) == 20


# --- images ---------------------------------------------------------------------------------------------------------


def test_an_image(call, rows, written, picture, tmp_path):
    out = tmp_path / "o"
    options = ["-m", 24, "--sparsity", 3, "--patch", 6, "--n-patches", 1500, "--start", "random", "--splits", 0]
    printed = call("dictionary", picture, *options, "--out", out)
    assert "stripes.png: 90 x 70 pixels, grey; 1,500 of 5,525 patches of 6 x 6, each without its mean." in printed
    assert written(out) == ["atoms.csv", "atoms.png", "evidence.csv", "model.npz", "report.html", "result.json"]
    decibels = float(re.search(r"stripes\.png: rebuilt with a PSNR of ([\d.]+) dB", printed)[1])
    assert decibels > 25
    model = latentia.load(out / "model.npz")
    assert model.components_.shape == (24, 36)
    np.testing.assert_allclose(model.components_.mean(axis=1), 0, atol=1e-9)
    assert list(rows(out / "atoms.csv")[0])[4:6] == ["row 1 column 1", "row 1 column 2"]
    assert read_image(out / "atoms.png").shape == (5 * 7 - 1, 5 * 7 - 1)
    page = (out / "report.html").read_text("utf-8")
    assert len(re.findall('<img src="data:image/png;base64,[^"]+" alt="(?:atom|stripes)', page)) == 24 + 2
    assert f"PSNR <b>{decibels:.1f} dB" in page


def test_a_folder_of_images_in_colour(call, picture, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    image = read_image(picture)
    write_image(folder / "a.png", image[:40])
    write_image(folder / "b.png", np.stack([image, image[::-1], 1 - image], axis=2)[:40])
    write_image(folder / "c.png", image[:4])
    options = ["-m", 16, "--patch", 5, "--start", "random", "--splits", 0, "--refine", 3]
    printed = call("dictionary", folder, *options, "--out", tmp_path / "o")
    assert "note: c.png is smaller than 5 x 5 pixels and is left out." in printed
    assert "in: 2 images, colour; all 6,192 patches of 5 x 5, each without its mean in every colour." in printed
    model = latentia.load(tmp_path / "o" / "model.npz")
    assert model.components_.shape == (16, 75)
    np.testing.assert_allclose(model.components_.reshape(16, 25, 3).mean(axis=1), 0, atol=1e-9)
    for name in ("a.png", "b.png"):
        call("apply", tmp_path / "o", folder / name, "--force", "--out", tmp_path / "p")
        found, given = read_image(tmp_path / "p" / "image.png"), read_image(folder / name)
        assert found.shape == given.shape
        assert np.abs(found - given).mean() < 0.1
    call("dictionary", folder, *options, "--grey", "--force", "--out", tmp_path / "o")
    assert latentia.load(tmp_path / "o" / "model.npz").components_.shape == (16, 25)


def test_rebuilding_and_denoising_an_image(call, of_patches, picture, tmp_path):
    clean = read_image(picture)
    noisy = np.clip(clean + 0.1 * np.random.default_rng(0).standard_normal(clean.shape), 0, 1)
    write_image(tmp_path / "noisy.png", noisy)
    errors = []
    for options in ([], ["--denoise"]):
        printed = call("apply", of_patches, tmp_path / "noisy.png", *options, "--force", "--out", tmp_path / "a")
        errors.append(np.sqrt(np.mean((read_image(tmp_path / "a" / "image.png") - clean) ** 2)))
    before = np.sqrt(np.mean((noisy - clean) ** 2))
    assert max(errors) < 0.8 * before
    level = float(re.search(r"above noise of ([\d.]+), white being 1", printed)[1])
    assert level == pytest.approx(0.1, rel=0.3)


def test_a_grey_dictionary_rebuilds_every_colour(call, of_patches, picture, tmp_path):
    image = read_image(picture)
    colours = np.stack([image, image[::-1], 1 - image], axis=2)
    write_image(tmp_path / "x.png", colours)
    call("apply", of_patches, tmp_path / "x.png", "--out", tmp_path / "a")
    found = read_image(tmp_path / "a" / "image.png")
    assert np.abs(found - colours).mean() < 0.05
    write_image(tmp_path / "one.png", colours[:, :, 2])
    call("apply", of_patches, tmp_path / "one.png", "--force", "--out", tmp_path / "a")
    np.testing.assert_allclose(read_image(tmp_path / "a" / "image.png"), found[:, :, 2], atol=1e-9)


def test_held_out_patches_lie_together(call, rows, picture, tmp_path):
    options = ["--patch", 5, "--start", "random", "--refine", 2, "--out", tmp_path / "o"]
    printed = call("dictionary", picture, "-k", "8:16:8", *options)
    assert "Comparison (held out: one patch in ten)" in printed
    assert [row["atoms"] for row in rows(tmp_path / "o" / "comparison.csv")] == ["8", "16"]


# --- errors ---------------------------------------------------------------------------------------------------------

TABLE = "a,b,c\n1,2,3\n3,1,1\n2,2,5\n"


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        ("x.csv", TABLE, ["-k", "many"], "give a number of atoms, or FROM:TO:STEP as in 10:50:10, or auto"),
        ("x.csv", TABLE, ["-k", 4], "x.csv: 3 rows support at most 3 atoms: -k 4 is too large"),
        (
            "x.csv",
            TABLE,
            ["-k", "2:3", "--splits", 0],
            "--splits 0: -k 2:3 compares fits on parts of the rows",
        ),
        ("x.csv", TABLE, ["-k", 3, "--sparsity", 4], "--sparsity 4: x.csv has 3 columns; give fewer atoms a row"),
        (
            "x.csv",
            TABLE,
            ["-k", 2, "--sparsity", 3],
            "--sparsity 3: 2 atoms of 3 features allow a sparsity of at most 2",
        ),
        ("x.csv", TABLE, ["-k", 2, "--start", "svd"], "--start 'svd': use one of graph, random"),
        ("x.csv", TABLE, ["-k", 2, "--patch", 8], "--patch: x.csv: a table has no patches; leave it out"),
        ("x.csv", TABLE, ["-k", 2, "--n-patches", 8], "--n-patches: x.csv: a table has no patches"),
        ("x.csv", "a,b\n1,2\n,3\n", ["-k", 2], "line 3, column 'a': no value"),
        ("x.csv", "a,b\n1,2\nx,3\n4,5\n", ["-k", 2], "line 3, column 'a': 'x' is not a number"),
        ("x.csv", "a,b\nx,y\n", ["-k", 2], "no column of numbers; atoms need two or more"),
        ("x.csv", "", ["-k", 2], "x.csv: the file is empty"),
        ("x.txt", "one two\nthree\n", ["-k", 2], "x.txt"),
        ("x.png", "no picture", ["-k", 2], "x.png: expected a PNG, JPEG or TIFF image"),
        ("x.png", "", ["-k", 2, "--columns", "a"], "--columns: x.png: an image has no columns; leave it out"),
        ("x.png", "", ["-k", 2, "--no-scale"], "--scale: x.png: an image has no columns"),
        ("x.png", "", ["-k", 2, "--missing", "drop"], "--missing: x.png: an image has no columns"),
    ],
)
def test_bad_input(refused, tmp_path, name, content, options, message):
    (tmp_path / name).write_text(content)
    assert message in refused("dictionary", tmp_path / name, *options)


def test_images_that_say_nothing(refused, tmp_path):
    write_image(tmp_path / "one.png", np.ones((1, 1)))
    said = refused("dictionary", tmp_path / "one.png", "-k", 2)
    assert "one.png: expected at least 8 x 8 pixels, found 1 x 1 pixels. Choose smaller patches with --patch" in said
    write_image(tmp_path / "flat.png", np.full((20, 20), 1 / 3))
    said = refused("dictionary", tmp_path / "flat.png", "-k", 2)
    assert "flat.png: all patches are of one colour: there is nothing to learn from" in said
    (tmp_path / "texts").mkdir()
    assert "found no images in this folder" in refused("dictionary", tmp_path / "texts", "-k", 2)


def test_data_that_the_model_is_not_of(refused, learned, of_patches, path, picture, tmp_path):
    said = refused("apply", learned, picture)
    assert "stripes.png: this is an image; the model was learned from columns of a table" in said
    assert "rows.csv: expected an image (PNG, JPEG or TIFF), as the model has atoms of patches" in refused(
        "apply", of_patches, path
    )
    assert "--missing: stripes.png is an image" in refused("apply", of_patches, picture, "--missing", "drop")
    write_image(tmp_path / "small.png", np.ones((3, 9)))
    said = refused("apply", of_patches, tmp_path / "small.png")
    assert "small.png: 9 x 3 pixels; the model has patches of 6 x 6" in said


def test_the_shell_says_what_is_wrong(shell, tmp_path):
    code, error = shell("dictionary", tmp_path / "none.png", "--out", tmp_path / "o")
    assert code == 2
    assert "none.png: no such file" in error
    code, error = shell("dictionary", tmp_path / "none.png", "--patch", "1", "--out", tmp_path / "o")
    assert code == 2
    assert "'--patch'" in error
