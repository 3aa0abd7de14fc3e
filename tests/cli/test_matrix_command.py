import gzip
import re
from itertools import combinations

import numpy as np
import pytest

import latentia
from latentia.datasets import planted
from latentia.exceptions import EvidenceWarning

WORDS = 400


@pytest.fixture(scope="module")
def data():
    return planted.word_pairs(40_000, n_components=3, n_words=WORDS)


@pytest.fixture(scope="module")
def path(data, tmp_path_factory):
    target = tmp_path_factory.mktemp("matrix") / "pairs.txt"
    table = data.counts.tocoo()
    lines = [f"w{i} w{j} {int(n)}" for i, j, n in zip(*table.coords, table.data, strict=True)]
    target.write_text("\n".join(lines) + "\n")
    return target


def test_a_list_of_pairs(call, rows, written, path, data, tmp_path):
    out = tmp_path / "o"
    printed = call("matrix", path, "-r", 3, "--out", out)
    assert "pairs.txt: 40,000 pairs of 400 words, 100 per word" in printed
    assert "The most characteristic words" in printed
    assert re.search(r"^  \w+ +error +\S+ +needed <= ", printed, re.MULTILINE)
    assert written(out) == [
        "evidence.csv", "model.npz", "nearest.csv", "report.html", "result.json", "spectrum.csv", "words.csv",
    ]  # fmt: skip
    printed = call("news", out, path, "--out", tmp_path / "news")
    assert "No alarm" in printed
    assert "40,000 pairs" in printed
    words = rows(out / "words.csv")
    model = latentia.load(out / "model.npz")
    assert [row["word"] for row in words] == list(model.vocabulary)
    assert sum(float(row["share"]) for row in words) == pytest.approx(1, abs=1e-5)
    assert sum(float(row["seen"]) for row in words) == pytest.approx(80_000)
    order = [int(word[1:]) for word in model.vocabulary]
    truth = data.rows(slice(None))[np.ix_(order, order)]
    assert np.abs(model.rows(slice(None)) - truth).sum() < 0.4
    spectrum = rows(out / "spectrum.csv")
    assert [row["kept"] for row in spectrum] == ["yes", "yes"]
    assert all(float(row["shrunk"]) < float(row["eigenvalue"]) for row in spectrum)
    first = rows(out / "nearest.csv")[0]
    assert (first["nearest"], f"{model.most_similar(first['word'], 1)[0][1]:.4f}") == (
        model.most_similar(first["word"], 1)[0][0], first["cosine"],
    )  # fmt: skip


def test_a_range_is_compared_and_old_files_go(call, rows, path, tmp_path):
    out = tmp_path / "o"
    call("matrix", path, "-k", 2, "--communities", "--out", out)
    assert (out / "labels.csv").exists()
    printed = call("matrix", path, "--rank", "1:7:2", "--near", "w0", "--out", out, "--force")
    compared = rows(out / "comparison.csv")
    assert [row["rank"] for row in compared] == ["1", "3", "5", "7"]
    assert float(compared[1]["above independent words"]) > 0.02
    assert float(compared[0]["above independent words"]) == 0
    best = max(compared, key=lambda row: float(row["held-out log-likelihood"]))["rank"]
    assert f"Rank {best} has the highest held-out log-likelihood" in printed
    assert latentia.load(out / "model.npz").n_components == int(best)
    assert "Nearest words, with cosines" in printed
    assert rows(out / "nearest.csv")[0]["word"] == "w0"
    assert not (out / "labels.csv").exists()


def test_communities_of_a_graph(call, rows, tmp_path):
    graph = planted.block_model(600, n_blocks=2, degree=12.0, snr=4.0, random_state=1)
    upper = np.argwhere(np.triu(graph.adjacency.toarray(), 1))
    (tmp_path / "graph.csv").write_text("\n".join(["from,to", *(f"{i},{j}" for i, j in upper)]))
    printed = call("matrix", tmp_path / "graph.csv", "-r", 2, "--communities", "--out", tmp_path / "o")
    assert "2 communities, the largest first" in printed
    assert "SUPPORTED. The data supports these 2 communities." in printed
    assert rows(tmp_path / "o" / "evidence.csv")[0]["says"] == "supported"
    found = rows(tmp_path / "o" / "labels.csv")
    nodes = np.array([int(row["node"]) for row in found])
    right = np.mean(graph.labels[nodes] == [int(row["community"]) for row in found])
    assert max(right, 1 - right) > 0.9
    assert (np.diff(nodes) > 0).all()
    sizes = np.bincount([int(row["community"]) for row in found])
    assert sizes[0] >= sizes[1]
    assert "All communities" in (tmp_path / "o" / "report.html").read_text("utf-8")


def test_edges_in_both_orders_are_counted_once(call, tmp_path):
    (tmp_path / "x.txt").write_text("\n".join(f"{a} {b}\n{b} {a}" for a, b in combinations("abcd", 2)))
    printed = call("matrix", tmp_path / "x.txt", "-r", 2, "--communities", "--out", tmp_path / "o")
    assert "x.txt: 6 edges of 4 nodes, 1.5 per node; all edges are there in both orders" in printed
    assert "this matrix" not in printed


def test_texts(call, rows, tmp_path):
    rng = np.random.default_rng(0)
    nouns, verbs = ["cat", "dog", "cow", "hen"], ["eats", "sees", "likes", "hears"]
    text = " ".join(f"{rng.choice(nouns)} {rng.choice(verbs)}" for _ in range(2000))
    with gzip.open(tmp_path / "x.txt.gz", "wt") as file:
        file.write(text + " unique")
    printed = call("matrix", tmp_path / "x.txt.gz", "--bigrams", "-r", 2, "--near", "Cat", "--out", tmp_path / "o")
    assert "8 words" in printed
    assert "1 rarer words are skipped" in printed
    nearest = {
        row["nearest"]: float(row["cosine"]) for row in rows(tmp_path / "o" / "nearest.csv") if row["word"] == "cat"
    }
    assert min(nearest[word] for word in nouns[1:]) > 0.9
    assert max(nearest[word] for word in verbs) < 0
    spectrum = rows(tmp_path / "o" / "spectrum.csv")
    assert float(spectrum[0]["eigenvalue"]) < 0  # nouns follow verbs


def test_ordered_pairs(call, rows, refused, tmp_path):
    rng = np.random.default_rng(0)
    nouns, verbs = ["cat", "dog", "cow", "hen"], ["eats", "sees", "likes", "hears"]
    (tmp_path / "x.txt").write_text(" ".join(f"{rng.choice(nouns)} {rng.choice(verbs)}" for _ in range(2000)))
    options = ("--bigrams", "--ordered", "--near", "cat")
    printed = call("matrix", tmp_path / "x.txt", *options, "-r", 2, "--out", tmp_path / "o")
    assert "3,999 pairs of 8 words" in printed
    assert "What goes with what" in printed
    after = [row["second"] for row in rows(tmp_path / "o" / "following.csv") if row["first"] == "cat"]
    assert set(after[:4]) == set(verbs)
    assert "What goes with what" in (tmp_path / "o" / "report.html").read_text("utf-8")
    compared = call("matrix", tmp_path / "x.txt", *options, "-r", "1:3:1", "--out", tmp_path / "o", "--force")
    assert "has the highest held-out log-likelihood" in compared
    call("apply", tmp_path / "o" / "model.npz", tmp_path / "x.txt", "--out", tmp_path / "a")
    assert "communities need pairs without order" in refused("matrix", tmp_path / "x.txt", "--ordered", "--communities")
    assert "leave out --refine" in refused("matrix", tmp_path / "x.txt", *options, "--refine", "3")


def test_refinement_is_a_number_of_steps_or_goes_on_until_it_has_settled(call, tmp_path):
    pairs = planted.word_pairs(30_000, 2, 30, contrast=3.0, random_state=0).counts.tocoo()
    (tmp_path / "x.csv").write_text(
        "\n".join(["from,to,times", *(f"{i},{j},{n}" for i, j, n in zip(*pairs.coords, pairs.data, strict=True))])
    )
    for refine in ("auto", 3):
        out = tmp_path / str(refine)
        call("matrix", tmp_path / "x.csv", "-r", 2, "--refine", refine, "--out", out)
        model = latentia.load(out / "model.npz")
        assert model.refine == refine
        assert len(model.refinement_) == 3 if refine == 3 else len(model.refinement_) > 3


def test_nothing_but_noise(call, tmp_path):
    rng = np.random.default_rng(3)
    pairs = rng.integers(0, 300, (900, 2))
    np.save(tmp_path / "x.npy", pairs)
    printed = call("matrix", tmp_path / "x.npy", "-r", 4, "--near", 7, "--out", tmp_path / "o")
    assert "not known" in printed
    page = (tmp_path / "o" / "report.html").read_text("utf-8")
    assert "No direction stands out of the noise" in page


def test_too_few_pairs(call, tmp_path):
    (tmp_path / "x.txt").write_text(
        "\n".join(f"{a} {b}" for a, b in zip(range(0, 60, 2), range(1, 60, 2), strict=True))
    )
    with pytest.warns(EvidenceWarning, match="less than one pair a word"):
        call("matrix", tmp_path / "x.txt", "-r", 2, "--out", tmp_path / "o")


TRIANGLE = "\n".join(f"{a} {b} 9" for a, b in combinations("abc", 2))


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        ("x.txt", "one two three four\n", [], "For running text give a window"),
        ("x.txt", TRIANGLE, ["-r", 4], "x.txt: 3 words support at most 3 dimensions: -k 4 is too large"),
        ("x.txt", TRIANGLE, ["-r", "0"], "give at least 1 of the dimensions"),
        ("x.txt", TRIANGLE, ["-r", 1, "--communities"], "expected at least two communities"),
        ("x.txt", TRIANGLE, ["--near", "z"], "x.txt has no such word"),
        ("x.txt", TRIANGLE, ["--lines"], "--lines is for texts: add --bigrams"),
        ("x.txt", TRIANGLE, ["--bigrams", "--columns", "a,b"], "--columns is for pairs that were counted before"),
        ("x.txt", TRIANGLE, ["--tau", 0, "-r", 2], "x.txt: --tau 0.0: expected a number above 0"),
        ("x.mtx", "%%MatrixMarket matrix coordinate integer general\n2 3 1\n1 2 4\n", [], "2 rows and 3 columns"),
        ("x.mtx", "%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 2 4\n", ["--vocabulary", "no"], "no such file"),
    ],
)  # fmt: skip
def test_bad_input(refused, tmp_path, name, content, options, message):
    (tmp_path / name).write_text(content)
    assert message in refused("matrix", tmp_path / name, *options)


def test_the_shell_says_what_is_wrong(shell, tmp_path):
    code, error = shell("matrix", tmp_path / "none.txt", "--out", tmp_path / "o")
    assert code == 2
    assert "none.txt: no such file" in error
