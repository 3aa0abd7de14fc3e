"""``latentia news``: rows that a saved model does not explain, by batches."""

import json

import numpy as np
import pytest

MEANS = 7 * np.eye(4)


def write_rows(path, seed, n_new=0):
    """Write rows about three means in two months, and in the second rows about a fourth; columns have very different scales."""
    rng = np.random.default_rng(seed)
    old = MEANS[rng.integers(3, size=600)] + rng.standard_normal((600, 4))
    old[:300] = MEANS[rng.choice(3, 300, p=[0.8, 0.1, 0.1])] + rng.standard_normal((300, 4))
    rows = np.vstack([old, MEANS[[3]] + rng.standard_normal((n_new, 4))]) * [1, 1000, 0.01, 1]
    cells = [f"2024-0{1 + (i >= 300)}-15,{','.join(f'{value:.6g}' for value in row)}" for i, row in enumerate(rows)]
    path.write_text("\n".join(["when,one,=<b>two,three,four", *cells]) + "\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    for name, seed, n_new in (("old", 1, 0), ("kept", 2, 0), ("new", 3, 120)):
        write_rows(folder / f"{name}.csv", seed, n_new)
    return folder


@pytest.mark.filterwarnings("ignore")
def test_new_rows_are_measured_by_batches(call, refused, rows, written, folder, tmp_path):
    call("mixture", folder / "old.csv", "-k", 3, "--ignore", "when", "--no-cache", "--out", tmp_path / "model")
    out = tmp_path / "new"
    printed = call("news", tmp_path / "model", folder / "new.csv", "--batch", "when", "--no-cache", "--out", out)
    assert "Alarm: the model does not explain" in printed
    assert written(out) == ["batches.csv", "examples.csv", "report.html", "result.json", "shares.csv"]
    record = json.loads((out / "result.json").read_text())
    assert record["alarm"]
    assert record["share"] == pytest.approx(120 / 720, abs=0.05)
    assert record["largest_moves"][0][0] == "four"
    assert record["largest_moves"][0][2] == pytest.approx(7, abs=0.5)
    january, february = rows(out / "batches.csv")
    assert (january["alarm"], february["alarm"]) == ("no", "yes")
    assert float(february["low"]) <= 120 / 420 <= float(february["high"])
    shares = rows(out / "shares.csv")
    assert len(shares) == 6
    largest = max((row for row in shares if row["batch"] == january["batch"]), key=lambda row: float(row["share"]))
    assert float(largest["low"]) <= 0.8 <= float(largest["high"])
    assert min(int(row["line"]) for row in rows(out / "examples.csv")) > 600
    page = (out / "report.html").read_text()
    assert "News by batch" in page
    calm = call("news", tmp_path / "model", folder / "kept.csv", "--no-cache", "--out", tmp_path / "calm")
    assert "No alarm" in calm
    assert written(tmp_path / "calm") == ["report.html", "result.json"]
    call(
        "news", tmp_path / "model", folder / "new.csv", "--reference", folder / "kept.csv", "--no-cache",
        "--out", tmp_path / "reference",
    )  # fmt: skip
    assert json.loads((tmp_path / "reference" / "result.json").read_text())["alarm"]
    assert "--batch" in refused("news", tmp_path / "model", folder / "new.csv", "--batch", "which", "--no-cache")
    write_rows(tmp_path / "none.csv", 4)
    (tmp_path / "few.csv").write_text("".join((tmp_path / "none.csv").open().readlines()[:11]))
    message = refused(
        "news", tmp_path / "model", folder / "new.csv", "--reference", tmp_path / "few.csv", "--no-cache",
    )  # fmt: skip
    assert "few.csv: --reference: News need at least 50 rows, found 10" in " ".join(message.split())


def test_documents_and_sequences(call, refused, rows, tmp_path):
    rng = np.random.default_rng(0)
    words = np.array([f"{letter}{i:02}word" for letter in "abc" for i in range(20)])
    texts = [" ".join(rng.choice(words[20 * t : 20 * t + 20], 40)) for t in rng.integers(2, size=400)]
    new = texts[:150] + [" ".join(rng.choice(np.r_[words[:20], words[20:40]], 40)) for _ in range(80)]
    (tmp_path / "old.csv").write_text("text,site\n" + "".join(f"{text},north\n" for text in texts))
    sites = ["north"] * 150 + ["south"] * 80
    (tmp_path / "new.csv").write_text(
        "text,site\n" + "".join(f"{text},{s}\n" for text, s in zip(new, sites, strict=True))
    )
    call("topics", tmp_path / "old.csv", "--column", "text", "-k", 2, "--words", r"\w+", "--out", tmp_path / "topics")
    call("news", tmp_path / "topics", tmp_path / "new.csv", "--batch", "site", "--out", tmp_path / "out")
    assert [row["batch"] for row in rows(tmp_path / "out" / "batches.csv")] == ["north", "south"]
    steps = "".join("a b " * 40 + "c d " * 40 for _ in range(20))
    (tmp_path / "steps.txt").write_text(steps + "\n")
    call("hmm", tmp_path / "steps.txt", "-k", 2, "--out", tmp_path / "hmm")
    call("news", tmp_path / "hmm", tmp_path / "steps.txt", "--out", tmp_path / "windows")
    assert json.loads((tmp_path / "windows" / "result.json").read_text())["n_rows"] == 160
    assert "--batch" in refused("news", tmp_path / "hmm", tmp_path / "steps.txt", "--batch", "x")


@pytest.mark.filterwarnings("ignore")
def test_models_without_news_are_refused(call, refused, folder, tmp_path):
    call("ica", folder / "old.csv", "--ignore", "when", "--no-cache", "--out", tmp_path / "ica")
    assert "news are not measured" in refused("news", tmp_path / "ica", folder / "new.csv")
