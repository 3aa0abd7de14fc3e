"""``latentia update`` and ``latentia merge``."""

import os
from pathlib import Path

import numpy as np
import pytest

import latentia
from latentia.cli._results import Results
from latentia.datasets import planted

HEADER = "one,two,three"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three files of signals, and of clouds."""
    found = tmp_path_factory.mktemp("days")
    tables = {
        "signals": planted.independent_sources(2400, 3, random_state=0).X,
        "clouds": planted.gaussian_mixture(1200, n_components=3, n_features=3, separation=9, random_state=0).X + 50,
    }
    for name, X in tables.items():
        for i, part in enumerate([*np.array_split(X, 3), X]):
            np.savetxt(found / f"{name}{i}.csv", part, delimiter=",", header=HEADER, comments="", fmt="%.9g")
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("command", "name"), [("ica", "signals"), ("mixture", "clouds")])
def test_rows_are_added_forgotten_and_merged(call, rows, folder, tmp_path, command, name):
    options = ["-k", 3, "--no-cache", "--keep-moments", *(["--no-scale"] if command == "mixture" else [])]
    for i in (0, 1, 3):
        call(command, folder / f"{name}{i}.csv", *options, "--out", tmp_path / str(i))
    printed = call("update", tmp_path / "0", folder / f"{name}1.csv", "--no-cache")
    assert f"{latentia.load(tmp_path / '0' / 'model.npz').moments_.n_rows:,} rows in all" in printed
    call("update", tmp_path / "0", folder / f"{name}2.csv", "--no-cache", "--out", tmp_path / "all")
    table = "mixing.csv" if command == "ica" else "means.csv"
    first, second = (rows(tmp_path / out / table) for out in ("all", "3"))
    assert [row.keys() for row in first] == [row.keys() for row in second]
    for one, other in zip(first, second, strict=True):
        for key in one:
            assert one[key] == other[key] or float(one[key]) == pytest.approx(float(other[key]), abs=1e-6)
    printed = call("merge", tmp_path / "0", tmp_path / "1", "--out", tmp_path / "both")
    assert ("are not compared" in printed) == (command == "ica")
    assert latentia.load(tmp_path / "both" / "model.npz").reading_["columns"] == HEADER.split(",")
    printed = call("update", tmp_path / "both", folder / f"{name}1.csv", "--forget", "--no-cache")
    assert "Forgot" in printed
    assert "SHA-256" in printed
    again, before = (latentia.load(tmp_path / out / "model.npz") for out in ("both", "0"))
    assert again.moments_.n_rows == before.moments_.n_rows


@pytest.fixture(scope="module")
def views(tmp_path_factory):
    """Halves of two views of the same rows, and all rows."""
    found, data = tmp_path_factory.mktemp("views"), planted.contrastive_views(4000, 3, "pca", linear_map="orthogonal")
    for letter, X in (("u", data.U), ("v", data.V)):
        header = ",".join(f"{letter}{i}" for i in range(3))
        for i, part in enumerate([*np.array_split(X, 2), X]):
            np.savetxt(found / f"{letter}{i}.csv", part, delimiter=",", header=header, comments="", fmt="%.17g")
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("fit", ["pca", "mixture", "ising", "components"])
def test_rows_of_two_tables_are_added_forgotten_and_merged(call, refused, views, tmp_path, fit):
    options = ["--fit", fit, "--keep-moments", *(["--no-scale"] if fit in ("pca", "mixture") else [])]
    for i in range(3):
        call("contrast", views / f"u{i}.csv", views / f"v{i}.csv", *options, "--out", tmp_path / str(i))
    call("merge", tmp_path / "0", tmp_path / "1", "--out", tmp_path / "both")
    assert "give that of V after this one" in refused("update", tmp_path / "0", views / "u1.csv")
    call("update", tmp_path / "0", views / "u1.csv", views / "v1.csv")
    both, whole, added = (latentia.load(tmp_path / out / "model.npz") for out in ("both", "2", "0"))
    for model in (both, added):
        assert model.moments_.n_rows == 4000
        np.testing.assert_allclose(model.linear_map_, whole.linear_map_, atol=1e-6)
        assert model.evidence_.grade == whole.evidence_.grade
    first = latentia.load(tmp_path / "1" / "model.npz")
    printed = call("update", tmp_path / "0", views / "u0.csv", views / "v0.csv", "--forget")
    assert "Forgot 2,000 rows" in printed
    np.testing.assert_allclose(latentia.load(tmp_path / "0" / "model.npz").linear_map_, first.linear_map_, atol=1e-6)


def test_rows_of_two_tables_in_the_units_of_the_first(call, views, tmp_path):
    call("contrast", views / "u0.csv", views / "v0.csv", "--keep-moments", "--out", tmp_path / "0")
    before = latentia.load(tmp_path / "0" / "model.npz")
    call("update", tmp_path / "0", views / "u1.csv", views / "v1.csv")
    U, V = (np.loadtxt(views / f"{letter}1.csv", delimiter=",", skiprows=1) for letter in "uv")
    expected = before.partial_fit((U - before.reading_["subtracted"]) / before.reading_["divided_by"], V)
    model = latentia.load(tmp_path / "0" / "model.npz")
    np.testing.assert_allclose(model.components_, expected.components_, atol=1e-9)


def test_moments_that_are_not_kept(refused, views, tmp_path):
    tables = views / "u0.csv", views / "v0.csv"
    assert "Python" in refused("contrast", *tables, "--fit", "regression", "--target", "u0", "--keep-moments")
    assert "--keep-moments" in refused("contrast", tables[0], "--background", tables[0], "--keep-moments")


@pytest.mark.filterwarnings("ignore")
def test_merging_says_where_sites_disagree(call, rows, tmp_path):
    for site, seed, shift in (("north", 1, 0), ("east", 2, 0), ("south", 3, 4)):
        rng = np.random.default_rng(seed)
        means = 9 * np.eye(3) + shift * np.outer([1, 0, 0], [0, 1, 0])
        X = means[rng.integers(3, size=900)] + rng.standard_normal((900, 3))
        np.savetxt(tmp_path / f"{site}.csv", X, delimiter=",", header=HEADER, comments="", fmt="%.9g")
        options = ["-k", 3, "--no-cache", "--keep-moments", "--no-scale"]
        call("mixture", tmp_path / f"{site}.csv", *options, "--out", tmp_path / site)
    printed = call("merge", *(tmp_path / site for site in ("north", "east", "south")), "--out", tmp_path / "all")
    assert f"{tmp_path / 'south'} (b) disagree" in printed.replace("\n", " ")
    assert f"{tmp_path / 'east'} (b) disagree" not in printed.replace("\n", " ")
    table = rows(tmp_path / "all" / "matches.csv")
    assert [Path(row["site of b"]).name for row in table] == ["east"] * 3 + ["south"] * 3
    assert "Matched components" in (tmp_path / "all" / "report.html").read_text()
    assert latentia.load(tmp_path / "all" / "model.npz").moments_.n_rows == 2700


def test_what_cannot_be_updated_or_merged(call, refused, folder, tmp_path):
    plain, scaled, other = tmp_path / "p", tmp_path / "s", tmp_path / "t"
    call("ica", folder / "signals0.csv", "--no-cache", "--out", plain)
    assert "--keep-moments" in refused("update", plain, folder / "signals1.csv")
    kept = tmp_path / "k"
    call("ica", folder / "signals0.csv", "--no-cache", "--keep-moments", "--out", kept)
    assert "are in one source" in refused("update", kept, folder / "signals1.csv", folder / "signals2.csv")
    assert "no model found" in refused("merge", tmp_path / "nothing")
    for out, i in ((scaled, 0), (other, 1)):
        call("mixture", folder / f"clouds{i}.csv", "-k", 3, "--keep-moments", "--no-cache", "--out", out)
    assert "scaling each file by itself" in refused("merge", scaled, other)
    assert "given twice" in refused("merge", scaled, other, scaled / "model.npz")
    assert "no column" not in refused("merge", scaled, plain)


class StoppedError(BaseException):
    """A process is killed, as far as files tell."""


def stopped_after(number, folder):
    """`os.replace` that ends the process before move ``number`` into a folder."""
    moves, plain = [], os.replace

    def move(source, target):
        if Path(target).parent == folder:
            moves.append(target)
            if len(moves) == number:
                raise StoppedError
        plain(source, target)

    return move


@pytest.mark.parametrize("number", range(1, 7))
def test_a_step_that_is_stopped_anywhere_is_made_once(tmp_path, monkeypatch, number):
    out = tmp_path / "o"

    def write(n_rows):
        def files(folder):
            for name in ("evidence.csv", "means.csv", "report.html", "result.json", "model.npz"):
                (folder / name).write_text(str(n_rows))

        return files

    def add(step):
        results = Results(out, tmp_path / "x.csv", (), force=True, step=step)
        results.check()
        n_rows = int((out / "model.npz").read_text())
        results.write(write(n_rows if results.is_done() else n_rows + 1))

    Results(out, tmp_path / "x.csv", ()).write(write(1))
    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", stopped_after(number, out))
        with pytest.raises(StoppedError):
            add("first")
    add("first")
    assert {path.name: path.read_text() for path in out.iterdir() if path.name[0] != "."} == dict.fromkeys(
        ["evidence.csv", "means.csv", "report.html", "result.json", "model.npz"], "2"
    )
    add("first")  # The same rows may come again.
    add("second")
    assert (out / "model.npz").read_text() == "4"


@pytest.mark.filterwarnings("ignore")
def test_an_update_that_is_stopped_adds_its_rows_once(call, folder, tmp_path, monkeypatch):
    out, rows = tmp_path / "o", folder / "clouds1.csv"
    call("mixture", folder / "clouds0.csv", "-k", 3, "--keep-moments", "--no-cache", "--out", out)
    for more in (
        0,
        2,
    ):  # Files that are moved after the list of files; the second time all of them, but not the list again.
        n_files = len([path for path in out.iterdir() if path.name[0] != "."])
        with monkeypatch.context() as patched:
            patched.setattr(os, "replace", stopped_after(n_files + 2 if more else 2, out))
            with pytest.raises(StoppedError):
                call("update", out, rows, "--no-cache")
        printed = call("update", out, rows, "--no-cache")
        assert ("the model is unchanged" in printed) == bool(more)
    assert latentia.load(out / "model.npz").moments_.n_rows == 1200


@pytest.mark.filterwarnings("ignore")
def test_documents_are_added_to_topics_and_forgotten(call, refused, tmp_path):
    words = [f"word{letter}{other}" for letter in "abcdefgh" for other in "abcdefgh"]
    corpus = planted.topic_corpus(600, n_topics=3, n_words=len(words), length=80, random_state=0)
    texts = [" ".join(np.repeat(words, row)) for row in corpus.counts.toarray()]
    for name, part in {"first": texts[:400], "more": texts[400:], "all": texts}.items():
        (tmp_path / f"{name}.txt").write_text("\n".join(part))
    options = ["-k", 3, "--refine", 0, "--min-df", 1, "--max-df", 1, "--keep-moments"]
    call("topics", tmp_path / "first.txt", *options, "--out", tmp_path / "a")
    call("topics", tmp_path / "all.txt", *options, "--out", tmp_path / "b")
    printed = call("update", tmp_path / "a", tmp_path / "more.txt")
    assert "600 rows in all" in printed
    added, fitted = (latentia.load(tmp_path / out / "model.npz") for out in "ab")
    np.testing.assert_allclose(added.components_, fitted.components_, atol=1e-6)
    assert "Forgot 200 rows" in call("update", tmp_path / "a", tmp_path / "more.txt", "--forget")
    call("topics", tmp_path / "first.txt", "-k", 3, "--model", "lda", "--refine", 0, "--out", tmp_path / "lda")
    assert "Learn it again from all rows: a SpectralLDA stores no moments" in refused(
        "update", tmp_path / "lda", tmp_path / "more.txt"
    )
    assert "--model lda has no moments to keep" in refused(
        "topics", tmp_path / "first.txt", "--model", "lda", "--keep-moments"
    )
