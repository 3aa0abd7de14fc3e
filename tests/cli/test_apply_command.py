"""A saved model and other data: on the file that it learned from, every family writes the table that its command wrote."""

import shutil

import numpy as np
import pytest
from sources import SOURCES, write_csv

import latentia
from latentia.cli.commands import app
from latentia.datasets import planted
from latentia.exceptions import DroppedDataWarning, FileNotice, LatentiaError
from latentia.families import FAMILIES
from latentia.ica import TensorICA
from latentia.matrices import ProbabilityMatrix
from latentia.mixtures import MultiViewMixture, SphericalGaussianMixture
from latentia.noisyor import NoisyOr
from latentia.sequences import SpectralHMM
from latentia.topics import AnchorTopics

rng = np.random.default_rng


COMMANDS = {"topics", "hmm", "mixture", "ica", "noisy-or", "labels"}
"""Commands whose files are not compared with those of `apply` elsewhere."""
SAME_TABLE = [name for name, (command, _) in SOURCES.items() if command in COMMANDS and name != "texts by group"]
"""Sources for which both write the same table; groups are columns that `apply` does not read."""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """The folder of results of a family, its source, and the table that it writes; learned when first asked for."""
    known = {}

    def learned(family):
        if family not in known:
            command, make = SOURCES[family]
            file = next(one.applied for one in FAMILIES if one.command == command)
            folder = tmp_path_factory.mktemp("learned")
            source, *options = make(folder)
            arguments = [command, source, *options, "--out", folder / "o", "--quiet"]
            app([*map(str, arguments)], standalone_mode=False)
            known[family] = folder / "o", folder / "test.txt" if command == "labels" else source, file
        return known[family]

    return learned


# --- the file that it was learned from ------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::latentia.exceptions.LatentiaWarning")
@pytest.mark.parametrize("family", SAME_TABLE)
def test_the_file_that_was_learned_from_gives_the_table_of_the_command(call, written, results, tmp_path, family):
    out, source, file = results(family)
    printed = call("apply", out, source, "--out", tmp_path / "a")
    assert written(tmp_path / "a") == [file]
    assert (tmp_path / "a" / file).read_bytes() == (out / file).read_bytes()
    assert printed.splitlines()[-1].startswith(f"Wrote {file} of the ")
    assert source.name in printed


def test_the_model_alone_will_do(call, results, tmp_path):
    out, source, file = results("mixture")
    shutil.copy(out / "model.npz", tmp_path / "mine.npz")
    call("apply", tmp_path / "mine.npz", source, "--out", tmp_path / "a", "--jobs", 1)
    assert (tmp_path / "a" / file).read_bytes() == (out / file).read_bytes()


def test_pairs(call, rows, tmp_path):
    counts = planted.word_pairs(20_000, n_components=3, n_words=60).counts.tocoo()
    lines = [f"w{i} w{j} {int(n)}" for i, j, n in zip(*counts.coords, counts.data, strict=True)]
    (tmp_path / "pairs.txt").write_text("\n".join(lines) + "\n")
    call("matrix", tmp_path / "pairs.txt", "-k", 3, "--out", tmp_path / "o")
    (tmp_path / "new.csv").write_text("from,to\nw3,w1\nw1,w3\nw5,zebra\nw2,w2\n")
    printed = call("apply", tmp_path / "o", tmp_path / "new.csv", "--out", tmp_path / "a")
    assert "1 pairs with 1 words that the model does not have are ignored" in printed
    model, found = latentia.load(tmp_path / "o" / "model.npz"), rows(tmp_path / "a" / "pairs.csv")
    assert sorted((row["word"], row["other word"]) for row in found) == [("w1", "w3"), ("w2", "w2"), ("w3", "w1")]
    words = list(model.vocabulary)
    for row in found:
        i, j = words.index(row["word"]), words.index(row["other word"])
        probability = float(model.entries(i, j))
        assert float(row["probability"]) == pytest.approx(probability, rel=1e-6)
        ratio = probability / (model.marginals_[i] * model.marginals_[j])
        assert float(row["pmi"]) == pytest.approx(np.log(ratio), abs=1e-4)
    (tmp_path / "strange.csv").write_text("from,to\na,b\n")
    with pytest.raises(LatentiaError, match="the model knows none of its pairs"):
        call("apply", tmp_path / "o", tmp_path / "strange.csv", "--out", tmp_path / "b")


def test_pairs_of_texts(call, rows, tmp_path):
    draw = rng(0)
    nouns, verbs = ["cat", "dog", "cow", "hen"], ["eats", "sees", "likes", "hears"]
    text = " ".join(f"{draw.choice(nouns)} {draw.choice(verbs)}" for _ in range(2000))
    (tmp_path / "x.txt").write_text(text)
    call("matrix", tmp_path / "x.txt", "--bigrams", "-k", 2, "--out", tmp_path / "o")
    (tmp_path / "new.txt").write_text("The cat eats. Cat dog")
    printed = call("apply", tmp_path / "o", tmp_path / "new.txt", "--out", tmp_path / "a")
    assert "1 pairs with 1 words that the model does not have are ignored" in printed
    pmi = {(row["word"], row["other word"]): float(row["pmi"]) for row in rows(tmp_path / "a" / "pairs.csv")}
    assert set(pmi) == {("cat", "eats"), ("eats", "cat"), ("cat", "dog")}
    assert pmi["cat", "eats"] > 0 > pmi["cat", "dog"]


# --- other data -----------------------------------------------------------------------------------------------------


def _cells(path):
    return [line.split(",") for line in path.read_text().splitlines()]


@pytest.mark.parametrize("family", ["mixture", "views", "sources", "findings"])
def test_columns_are_found_by_name(call, rows, results, tmp_path, family):
    out, source, file = results(family)
    table = np.array(_cells(source))
    shuffled = rng(1).permutation(table.shape[1])
    more = np.array([["remark"], *[["x"]] * (len(table) - 1)])
    lines = np.hstack([more, table[:, shuffled]])[:21]
    (tmp_path / "new.csv").write_text("\n".join(",".join(line) for line in lines))
    call("apply", out, tmp_path / "new.csv", "--out", tmp_path / "a")
    found, expected = rows(tmp_path / "a" / file), rows(out / file)[:20]
    assert [float(x) for row in found for x in row.values() if x != "exact"] == pytest.approx(
        [float(x) for row in expected for x in row.values() if x != "exact"], rel=1e-4, abs=1e-4
    )


@pytest.mark.parametrize(
    ("family", "column"),
    [
        ("mixture", "c"),
        ("views", "h"),
        ("sources", "y"),
        ("findings", "f3"),
        ("vectors", "a"),
        ("a column of symbols", "who"),
    ],
)
def test_a_column_that_is_missing_is_named(call, results, tmp_path, family, column):
    out, source, _ = results(family)
    header, *lines = source.read_text().splitlines()
    renamed = ",".join("other" if name == column else name for name in header.split(","))
    (tmp_path / "new.csv").write_text("\n".join([renamed, *lines]))
    with pytest.raises(LatentiaError, match=f"new.csv: no column '{column}', which the model needs. There are"):
        call("apply", out, tmp_path / "new.csv", "--out", tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_a_cell_that_is_no_number_is_named_without_other_columns(call, results, tmp_path):
    (tmp_path / "new.csv").write_text("a,b,c,d\n1,2,3,4\n1,2,,4\n")
    said = (
        r"line 3, column 'c': no value \(''\)\. Fill it in or delete the line\. --missing keep treats them as missing, "
        r"and --missing drop leaves such rows out\.$"
    )
    with pytest.raises(LatentiaError, match=said):
        call("apply", results("mixture")[0], tmp_path / "new.csv", "--out", tmp_path / "a")
    (tmp_path / "new.csv").write_text(",".join(f"f{i}" for i in range(18)) + "\n" + ",".join("2" * 18) + "\n")
    with pytest.raises(
        LatentiaError, match=r"column 'f0': 2, and findings are 1 \(present\) or 0 \(absent\)\. So do 17"
    ):
        call("apply", results("findings")[0], tmp_path / "new.csv", "--out", tmp_path / "a")


def test_words_that_the_model_does_not_have_are_ignored_and_counted(call, rows, results, tmp_path):
    out = results("texts")[0]
    (tmp_path / "new.txt").write_text("The king and the ZEBRA king\nzebra quark\nking\n")
    printed = call("apply", out, tmp_path / "new.txt", "--out", tmp_path / "a")
    assert "new.txt: 3 documents" in printed
    assert "3 of 6 words are unknown to the model and ignored." in printed
    model, found = latentia.load(out / "model.npz"), rows(tmp_path / "a" / "documents.csv")
    words = [str(word) for word in model.vocabulary]
    table = np.zeros((1, len(words)), int)
    table[0, words.index("king")] = 2
    shares = [float(found[0][f"topic {i}"]) for i in range(4)]
    assert shares == pytest.approx(model.transform(table)[0].tolist(), abs=1e-5)
    (tmp_path / "new.txt").write_text("zebra quark\n")
    with pytest.raises(LatentiaError, match="the model knows none of its words"):
        call("apply", out, tmp_path / "new.txt", "--out", tmp_path / "b")


def test_counts_are_matched_by_their_words(call, rows, results, tmp_path):
    out, _, file = results("counts")
    (tmp_path / "docword.q.txt").write_text("2\n3\n3\n1 1 7\n1 3 2\n2 2 5\n")
    (tmp_path / "vocab.q.txt").write_text("w9\nzebra\nw2\n")
    printed = call("apply", out, tmp_path / "docword.q.txt", "--out", tmp_path / "a")
    assert "5 of 14 words are unknown to the model" in printed
    model = latentia.load(out / "model.npz")
    table = np.zeros((1, model.n_features_in_), int)
    table[0, [9, 2]] = 7, 2
    known, without_words = ([row[f"topic {i}"] for i in range(3)] for row in rows(tmp_path / "a" / file))
    np.testing.assert_allclose(np.array([known], float), model.transform(table), atol=1e-5)
    assert without_words == ["", "", ""]
    (tmp_path / "vocab.q.txt").unlink()
    with pytest.raises(LatentiaError, match="expected 120 columns, as many as the model's words"):
        call("apply", out, tmp_path / "docword.q.txt", "--out", tmp_path / "b")


def test_symbols_that_the_model_does_not_have(call, rows, results, tmp_path):
    (tmp_path / "new.txt").write_text("RED red\n\nZebra red\n")
    printed = call("apply", results("symbols")[0], tmp_path / "new.txt", "--out", tmp_path / "a")
    assert "1 of 4 steps have symbols that count as <rare>" in printed
    found = rows(tmp_path / "a" / "paths.csv")
    assert [row["symbol"] for row in found] == ["red", "red", "<rare>", "red"]
    assert [row["sequence"] for row in found] == ["line 1", "line 1", "line 3", "line 3"]
    (tmp_path / "new.csv").write_text("who,page\n1,p0\n1,p9\n")
    printed = call("apply", results("a column of symbols")[0], tmp_path / "new.csv", "--out", tmp_path / "b")
    assert "1 of 2 steps have symbols that the model does not have: they are taken as not known" in printed
    assert len(rows(tmp_path / "b" / "paths.csv")) == 2
    (tmp_path / "new.txt").write_text("s1 s2\ns3 q\n")
    with pytest.raises(LatentiaError, match=r"new.txt: 1 steps have symbols that the model does not have"):
        call("apply", results("two states")[0], tmp_path / "new.txt", "--out", tmp_path / "c")


def test_rows_without_labels(call, rows, results, tmp_path):
    out, source, file = results("labelled")
    lines = [line.partition(" ")[2] for line in source.read_text().splitlines()[1:6]]
    (tmp_path / "new.txt").write_text("".join(f" {line}\n" for line in lines))
    call("apply", out, tmp_path / "new.txt", "--out", tmp_path / "a")
    assert rows(tmp_path / "a" / file) == rows(out / file)[:15]
    (tmp_path / "new.txt").write_text("1 121 0\n 0:1\n")
    with pytest.raises(LatentiaError, match="new.txt: expected 120 words, as in the model; found 121 words"):
        call("apply", out, tmp_path / "new.txt", "--out", tmp_path / "b")


# --- models that were saved in Python -------------------------------------------------------------------------------


def _saved(model, folder):
    return latentia.save(model, folder / "m.npz")


def test_a_model_from_python_takes_all_columns_of_numbers(call, rows, tmp_path):
    data = planted.gaussian_mixture(900, n_components=3, n_features=4, separation=10)
    model = SphericalGaussianMixture(3).fit(data.X)
    write_csv(tmp_path / "x.csv", "a,b,c,d,name", [(*row, "x") for row in data.X[:50]])
    call("apply", _saved(model, tmp_path), tmp_path / "x.csv", "--out", tmp_path / "a")
    found = [int(row["component"]) for row in rows(tmp_path / "a" / "labels.csv")]
    assert found == model.predict(data.X[:50]).tolist()
    write_csv(tmp_path / "x.csv", "a,b,c", data.X[:5, :3])
    with pytest.raises(
        LatentiaError, match="expected 4 columns of numbers, as in the model, which knows no names; found 3"
    ):
        call("apply", tmp_path / "m.npz", tmp_path / "x.csv", "--out", tmp_path / "b")


@pytest.mark.parametrize("kind", [TensorICA, NoisyOr, SphericalGaussianMixture])
def test_a_model_from_python_knows_its_columns(call, tmp_path, kind):
    pd = pytest.importorskip("pandas")
    if kind is NoisyOr:
        X = planted.noisy_or_network(18, 3, leak=0.02, random_state=2).sample(2000, random_state=1).X.astype(int)
    else:
        X = planted.independent_sources(3000, n_components=3).X
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])])
    model = kind(3, random_state=0).fit(frame)
    frame.iloc[:9, ::-1].to_csv(tmp_path / "x.csv", index=False)
    call("apply", _saved(model, tmp_path), tmp_path / "x.csv", "--out", tmp_path / "a")
    (written,) = [path for path in (tmp_path / "a").iterdir() if path.suffix == ".csv"]
    found = np.array(
        [[float(x) for x in row[1 : 2 if kind is SphericalGaussianMixture else 4]] for row in _cells(written)[1:]]
    )
    expected = model.predict(frame[:9])[:, None] if kind is SphericalGaussianMixture else model.transform(frame[:9])
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


def test_other_models_from_python(call, rows, tmp_path):
    chain = planted.hidden_markov_chain(3000, n_states=2, n_symbols=5)
    model = SpectralHMM(2).fit(chain.symbols)
    (tmp_path / "x.txt").write_text(" ".join(map(str, chain.symbols[:30])))
    call("apply", _saved(model, tmp_path), tmp_path / "x.txt", "--out", tmp_path / "a")
    assert [int(row["state"]) for row in rows(tmp_path / "a" / "paths.csv")] == model.predict(
        chain.symbols[:30]
    ).tolist()
    counts = planted.word_pairs(5000, n_components=2, n_words=40).counts
    matrix = ProbabilityMatrix(2).fit(counts)
    (tmp_path / "x.txt").write_text("3 5\n")
    call("apply", _saved(matrix, tmp_path), tmp_path / "x.txt", "--out", tmp_path / "b")
    (row,) = rows(tmp_path / "b" / "pairs.csv")
    assert float(row["probability"]) == pytest.approx(float(matrix.entries(3, 5)), rel=1e-6)
    corpus = planted.topic_corpus(300, n_topics=3, n_words=80)
    topics = AnchorTopics(3).fit(corpus.counts)
    (tmp_path / "x.txt").write_text("some words\n")
    with pytest.raises(LatentiaError, match="the model was fitted without a vocabulary"):
        call("apply", _saved(topics, tmp_path), tmp_path / "x.txt", "--out", tmp_path / "c")
    data = planted.product_mixture(3000, n_components=2, n_features=9)
    views = MultiViewMixture(2, distribution="bernoulli").fit(data.X, views=[range(3), range(3, 6), range(6, 9)])
    with pytest.raises(LatentiaError, match="does not name the columns of its views"):
        call("apply", _saved(views, tmp_path), tmp_path / "x.txt", "--out", tmp_path / "c")


def test_what_is_no_model(shell, tmp_path):
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    code, message = shell("apply", tmp_path / "none", tmp_path / "x.csv", "--out", tmp_path / "o")
    assert code == 2
    assert "none: no model found. Give a folder of results, or its model.npz." in message
    code, message = shell("apply", tmp_path / "x.csv", tmp_path / "x.csv", "--out", tmp_path / "o")
    assert code == 2
    assert "not a model saved by latentia" in message
    assert "Traceback" not in message


@pytest.mark.parametrize("option", ["--column", "--split"])
def test_an_empty_option_is_not_passed_over(option, refused, tmp_path):
    X = planted.gaussian_mixture(100, n_components=2, n_features=2).X
    latentia.save(SphericalGaussianMixture(2, n_splits=0).fit(X), tmp_path / "model.npz")
    np.savetxt(tmp_path / "rows.csv", X, delimiter=",", header="a,b", comments="")
    said = refused("apply", tmp_path / "model.npz", tmp_path / "rows.csv", option, "")
    assert said.startswith(option)
    assert said.endswith("leave it out.")


# --- rows without values --------------------------------------------------------------------------------------------


def _patients(path, gaps=(), separator=";", seed=0, n=120):
    """Three values of two groups of patients, with gaps at (row, column)."""
    draw = rng(seed)
    values = np.round(draw.normal(size=(n, 3)) + 6 * (np.arange(n) % 2)[:, None], 2).astype(str)
    for row, column in gaps:
        values[row, column] = ""
    names = [f"P{i:03d}" for i in range(n)]
    lines = [separator.join([name, *cells]) for name, cells in zip(names, values, strict=True)]
    path.write_text("\n".join([separator.join(["id", "a", "b", "c"]), *lines]) + "\n")
    return path


_EMPTY = [(4, 0), (4, 1), (4, 2), (9, 0), (9, 1), (9, 2)]


def test_rows_without_values_are_left_out_and_counted_and_get_an_empty_answer(call, rows, tmp_path):
    path, out = _patients(tmp_path / "x.csv", [*_EMPTY, (6, 1)]), tmp_path / "o"
    said = r"x.csv: 2 of 120 rows have no value in these columns and were left out: line 6, 11\."
    with pytest.warns(FileNotice, match=said):
        call("mixture", path, "-k", 2, "--missing", "keep", "--out", out)
    assert [row["name"] for row in rows(out / "labels.csv")] == [f"P{i:03d}" for i in range(120) if i not in (4, 9)]
    with pytest.warns(FileNotice, match=r"2 of 120 rows have no value .* get an empty answer: line 6, 11"):
        call("apply", out, path, "--out", tmp_path / "a")
    found = rows(tmp_path / "a" / "labels.csv")
    assert [(row["row"], row["name"]) for row in found] == [(str(i + 2), f"P{i:03d}") for i in range(120)]
    assert [i for i, row in enumerate(found) if not any([*row.values()][2:])] == [4, 9]
    assert [row for row in found if row["row"] not in ("6", "11")] == rows(out / "labels.csv")


@pytest.mark.filterwarnings("ignore::latentia.exceptions.LatentiaWarning")
@pytest.mark.parametrize("option", ["drop", "mean", "keep"])
def test_a_mixture_of_any_treatment_of_gaps_answers_rows_with_gaps(call, rows, tmp_path, option):
    call("mixture", _patients(tmp_path / "x.csv", [(6, 1)]), "-k", 2, "--missing", option, "--out", tmp_path / "o")
    call("apply", tmp_path / "o", _patients(tmp_path / "new.csv", [(0, 0), (7, 2)], n=10), "--out", tmp_path / "a")
    found = rows(tmp_path / "a" / "labels.csv")
    labels = [row["component"] for row in found]
    assert len(set(labels)) == 2
    assert labels == [labels[i % 2] for i in range(10)]


@pytest.mark.filterwarnings("ignore::latentia.exceptions.LatentiaWarning")
@pytest.mark.parametrize("command", [["ica"], ["dictionary", "-k", 2]])
def test_families_that_need_all_cells_leave_the_answer_empty(call, rows, tmp_path, command):
    path = _patients(tmp_path / "x.csv", [(6, 1)])
    path.write_text(path.read_text().replace("-", ""))
    name, *options = command
    call(name, path, *options, "--missing", "mean", "--out", tmp_path / "o")
    with pytest.warns(
        FileNotice, match=r"2 of 10 rows lack a value in these columns and get an empty answer: line 2, 9"
    ):
        call("apply", tmp_path / "o", _patients(tmp_path / "new.csv", [(0, 0), (7, 2)], n=10), "--out", tmp_path / "a")
    (file,) = (path for path in (tmp_path / "a").iterdir() if path.suffix == ".csv")
    found = rows(file)
    assert [row["name"] for row in found] == [f"P{i:03d}" for i in range(10)]
    assert [i for i, row in enumerate(found) if not any([*row.values()][2:])] == [0, 7]


def test_blank_rows_of_a_file_are_left_out_and_errors_name_its_lines(call, tmp_path):
    header, *lines = _patients(tmp_path / "x.csv").read_text().splitlines()
    lines = [*lines[:5], ";;;", "; ;;", *lines[5:9], "P900;1.5;what;2.5", *lines[9:]]
    (tmp_path / "x.csv").write_text("\n".join([header, *lines]))
    with pytest.raises(LatentiaError, match="line 13, column 'b'"):
        call("mixture", tmp_path / "x.csv", "-k", 2, "--columns", "a,b,c", "--out", tmp_path / "o")
    (tmp_path / "x.csv").write_text("\n".join([header, *lines]).replace("what", "3"))
    printed = call("mixture", tmp_path / "x.csv", "-k", 2, "--out", tmp_path / "o")
    assert "note: 2 rows without any value were left out: line 7, 8" in printed


@pytest.mark.filterwarnings("ignore::latentia.exceptions.LatentiaWarning")
def test_rows_with_gaps_are_left_out_of_an_update(call, tmp_path):
    out = tmp_path / "o"
    call(
        "mixture", _patients(tmp_path / "x.csv", [(6, 1)]), "-k", 2, "--missing", "drop", "--keep-moments", "--out", out
    )
    with pytest.warns(DroppedDataWarning, match="1 of 60 rows lack a value and were left out: line 4"):
        call("update", out, _patients(tmp_path / "new.csv", [(2, 0)], n=60, seed=1))
