import gzip
import os
import shutil
import threading

import numpy as np
import pytest

import latentia
from latentia.cli import labels as command
from latentia.cli.commands import app
from latentia.datasets import planted
from latentia.exceptions import DroppedDataWarning, LatentiaError
from latentia.metrics import document_auc, ndcg_at_k, precision_at_k, propensities, propensity_scored_precision_at_k
from latentia.multilabel import measures
from latentia.passes import Blocks

FILES = [
    "evidence.csv", "labels.csv", "metrics.csv", "model.npz", "predictions.csv", "report.html", "result.json", "topics.csv",
]  # fmt: skip


@pytest.fixture(scope="module")
def truth():
    return planted.label_model(4, 120, 12, features=25)


@pytest.fixture(scope="module")
def files(truth, tmp_path_factory):
    """A training and a test file with their sizes in the first line."""
    folder = tmp_path_factory.mktemp("labels")
    truth.write(folder / "train.txt", 1500, 0)
    text = truth.write(folder / "test.txt", 80, 1).read_bytes()
    (folder / "test.txt.gz").write_bytes(gzip.compress(text, mtime=0))
    return folder


@pytest.fixture(scope="module")
def fitted(files, tmp_path_factory):
    """The folder of results, the model, and the test rows."""
    out = tmp_path_factory.mktemp("results") / "o"
    arguments = ["labels", files / "train.txt", "--test", files / "test.txt.gz", "-k", 4, "--top", 3, "--out", out]
    app([*map(str, arguments), "--quiet"], standalone_mode=False)
    return out, latentia.load(out / "model.npz"), Blocks.from_files(files / "test.txt")


def test_predictions_are_those_of_the_model(fitted, written, rows):
    out, model, test = fitted
    assert written(out) == FILES
    written = rows(out / "predictions.csv")
    labels, scores = model.top_labels(test, 3)
    assert [int(row["label"]) for row in written] == labels.ravel().tolist()
    assert [int(row["row"]) for row in written] == np.repeat(np.arange(1, 81), 3).tolist()
    assert [int(row["rank"]) for row in written] == [1, 2, 3] * 80
    np.testing.assert_allclose([float(row["score"]) for row in written], scores.ravel(), rtol=1e-5)
    proba = np.sort(model.predict_proba(test), axis=1)[:, :-4:-1]
    np.testing.assert_allclose([float(row["probability"]) for row in written], proba.ravel(), rtol=1e-5)


def test_metrics_are_those_of_the_library(fitted, rows):
    out, model, test = fitted
    found = {row["metric"]: float(row["value"]) for row in rows(out / "metrics.csv")}
    Y, top = test[0][1], model.top_labels(test, 5)[0]
    p = propensities(model.label_frequencies_ * 1500, 1500)
    expected = {"document-averaged AUC": np.nanmean(document_auc(Y, model.decision_function(test)))}
    for k in (1, 3, 5):
        expected[f"precision@{k}"] = precision_at_k(Y, top, k).mean()
        expected[f"nDCG@{k}"] = np.nanmean(ndcg_at_k(Y, top, k))
        expected[f"propensity-scored precision@{k}"] = propensity_scored_precision_at_k(Y, top, k, p)
    assert found == pytest.approx(expected, abs=1e-4)
    first = rows(out / "metrics.csv")[1]
    most = int(model.label_frequencies_.argmax())
    assert float(first["most frequent labels"]) == pytest.approx(Y[:, [most]].mean(), abs=1e-4)
    assert int(rows(out / "metrics.csv")[4]["rows"]) == (np.diff(Y.indptr) > 0).sum()


def test_topics_and_their_labels(fitted, rows):
    out, model, _ = fitted
    topics, labels = rows(out / "topics.csv"), rows(out / "labels.csv")
    assert len(topics) == 4 * 50
    assert len(labels) == 4 * 12
    best = model.word_probabilities_.argmax(axis=1)
    assert [int(row["word"]) for row in topics if row["rank"] == "1"] == best.tolist()
    assert [float(row["share"]) for row in topics[::50]] == pytest.approx(model.weights_.tolist(), abs=1e-6)
    errors = [float(row["expected error (l1 of 2)"]) for row in topics[::50]]
    assert errors == pytest.approx(model.evidence_.component_errors.tolist(), abs=1e-4)
    own = [row for row in labels if row["topic"] == "1"]
    assert float(own[0]["probability"]) == pytest.approx(model.label_probabilities_[1].max(), abs=1e-6)
    assert int(own[0]["label"]) == model.label_probabilities_[1].argmax()


def test_what_is_printed(call, files, tmp_path):
    printed = call("labels", files / "train.txt", "--test", files / "test.txt", "-k", 4, "--out", tmp_path / "o")
    assert "train.txt: 1,500 rows, 120 words, 12 labels" in printed
    assert "and 5 passes over the data" in printed
    assert "Predicted 80 rows in" in printed
    for text in ("document-averaged AUC", "precision@5", "nDCG@3", " error ", "Wrote evidence.csv, labels.csv"):
        assert text in printed
    assert "random sample" not in printed


def test_without_test_rows_nothing_is_predicted(call, written, files, tmp_path):
    out = tmp_path / "o"
    call("labels", files / "train.txt", "--test", files / "test.txt", "-k", 4, "--out", out)
    printed = call("labels", files / "train.txt", "-k", 4, "--out", out, "--force")
    assert "Predicted" not in printed
    assert "4 topics" in printed
    assert written(out) == [f for f in FILES if f not in ("metrics.csv", "predictions.csv")]


def test_the_bayes_head_and_refinement(call, rows, files, tmp_path):
    options = ["--head", "bayes", "--moments", "occurrence", "--refine", 2, "--seed", 3]
    printed = call(
        "labels", files / "train.txt", "--test", files / "test.txt", "-k", 4, *options, "--out", tmp_path / "o"
    )
    model = latentia.load(tmp_path / "o" / "model.npz")
    assert (model.head, model.refine, model.random_state, model.moments) == ("bayes", 2, 3, "occurrence")
    assert "The ridge head" not in printed
    assert all(row["score"] == row["probability"] for row in rows(tmp_path / "o" / "predictions.csv"))


def test_predictions_alone(call, rows, written, files, tmp_path):
    train, out = files / "train.txt", tmp_path / "o"
    printed = call(
        "labels", train, "--test", files / "test.txt", "-k", 4, "--head", "full", "--no-topics", "--out", out
    )
    assert "Labels are predicted by ridge regression on all words." in printed
    assert "2 passes over the data" in printed
    assert written(out) == [f for f in FILES if f not in ("labels.csv", "topics.csv")]
    model = latentia.load(out / "model.npz")
    assert (model.head_, model.topics, model.word_features_) == ("full", False, None)
    assert len(rows(out / "predictions.csv")) == 5 * 80
    page = (out / "report.html").read_text("utf-8")
    assert "no topics were asked for" in page
    assert 'id="topics"' not in page
    assert "3 topics" not in call("labels", train, "-k", 3, "--no-topics", "--out", tmp_path / "p")


def test_a_range_is_compared(call, rows, files, tmp_path):
    train, test = files / "train.txt", files / "test.txt"
    printed = call("labels", train, "--test", test, "-k", "2:6:2", "--out", tmp_path / "o")
    assert "Comparison (held out: the rows of --test)" in printed
    compared = rows(tmp_path / "o" / "comparison.csv")
    assert list(compared[0])[:4] == ["topics", "grade", "expected error", "needed"]
    assert list(compared[0])[-2:] == ["precision@1", "document AUC"]
    best = max(compared, key=lambda row: float(row["precision@1"]))
    assert f"{best['topics']} topics have the highest held-out precision@1" in printed
    metrics = {row["metric"]: float(row["value"]) for row in rows(tmp_path / "o" / "metrics.csv")}
    assert metrics["precision@1"] == pytest.approx(float(best["precision@1"]), abs=1e-4)
    assert metrics["document-averaged AUC"] == pytest.approx(float(best["document AUC"]), abs=1e-4)
    assert "Other numbers of topics" in (tmp_path / "o" / "report.html").read_text("utf-8")
    printed = call("labels", train, "-k", "3:5", "--head", "bayes", "--out", tmp_path / "p")
    assert "Comparison (held out: one row in ten)" in printed
    assert len(rows(tmp_path / "p" / "comparison.csv")) == 3


def test_names(call, rows, files, tmp_path):
    (tmp_path / "l.txt").write_text("\n".join(f"tag <{i}>" for i in range(12)) + "\n\n")
    (tmp_path / "w.txt").write_text("\n".join(f"wörd{i}" for i in range(120)), encoding="utf-8")
    names = ["--labels", tmp_path / "l.txt", "--vocabulary", tmp_path / "w.txt"]
    call("labels", files / "train.txt", "--test", files / "test.txt", "-k", 4, *names, "--out", tmp_path / "o")
    model = latentia.load(tmp_path / "o" / "model.npz")
    assert model.label_names[3] == "tag <3>"
    assert rows(tmp_path / "o" / "predictions.csv")[0]["label"].startswith("tag <")
    assert rows(tmp_path / "o" / "topics.csv")[0]["word"] == f"wörd{model.word_probabilities_[0].argmax()}"


def _renumbered(text, shift):
    """The rows of a file without its first line, counted from ``shift``."""
    lines = []
    for line in text.splitlines()[1:]:
        labels, _, words = line.partition(" ")
        numbers = ",".join(str(int(label) + shift) for label in labels.split(",") if label)
        pairs = [pair.split(":") for pair in words.split()]
        lines.append(f"{numbers} " + " ".join(f"{int(v) + shift}:{n}" for v, n in pairs))
    return "\n".join(lines) + "\n"


def test_files_that_count_from_1_without_sizes(call, rows, files, fitted, tmp_path):
    for name in ("train.txt", "test.txt"):
        (tmp_path / name).write_text(_renumbered((files / name).read_text(), 1))
    arguments = [tmp_path / "train.txt", "--test", tmp_path / "test.txt", "-k", 4, "--top", 3, "--one-based"]
    call("labels", *arguments, "--out", tmp_path / "o")
    found, expected = rows(tmp_path / "o" / "predictions.csv"), rows(fitted[0] / "predictions.csv")
    assert [int(row["label"]) - 1 for row in found] == [int(row["label"]) for row in expected]
    assert [row["score"] for row in found] == [row["score"] for row in expected]
    page = (tmp_path / "o" / "report.html").read_text("utf-8")
    assert "label 12" in page
    assert "label 0<" not in page


def test_a_test_file_without_sizes_gets_those_of_the_training_file(call, rows, files, fitted, tmp_path):
    text = _renumbered((files / "test.txt").read_text(), 0).splitlines()
    (tmp_path / "few.txt").write_text("\n".join(text[:3]))  # does not show the last word, nor from where it counts
    arguments = [files / "train.txt", "--test", tmp_path / "few.txt", "-k", 4, "--top", 3]
    call("labels", *arguments, "--out", tmp_path / "o")
    assert rows(tmp_path / "o" / "predictions.csv") == rows(fitted[0] / "predictions.csv")[:9]


def test_where_binary_copies_are_kept(call, rows, files, fitted, tmp_path):
    for name in ("train.txt", "test.txt"):
        shutil.copy(files / name, tmp_path / name)
    arguments = ["labels", tmp_path / "train.txt", "--test", tmp_path / "test.txt", "-k", 4, "--top", 3]
    call(*arguments, "--no-cache", "--out", tmp_path / "o")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["o", "test.txt", "train.txt"]
    call(*arguments, "--cache", tmp_path / "copies", "--force", "--out", tmp_path / "o")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copies", "o", "test.txt", "train.txt"]
    assert sorted(path.name.split(".")[0] for path in (tmp_path / "copies").iterdir()) == ["test", "train"]
    assert rows(tmp_path / "o" / "predictions.csv") == rows(fitted[0] / "predictions.csv")


def test_cache_folders(call, rows, files, fitted, tmp_path):
    folders = [tmp_path / name for name in ("a", "b")]
    for name, folder in zip(("train.txt", "test.txt"), folders, strict=True):
        Blocks.from_files(files / name, cache=tmp_path / "caches")
        (cache,) = (tmp_path / "caches").glob(f"{name}*")
        shutil.move(cache, folder)
    call("labels", folders[0], "--test", folders[1], "-k", 4, "--top", 3, "--out", tmp_path / "o")
    assert rows(tmp_path / "o" / "predictions.csv") == rows(fitted[0] / "predictions.csv")


def test_many_scores_are_sampled_and_chunked(call, rows, files, fitted, monkeypatch, tmp_path):
    arguments = [files / "train.txt", "--test", files / "test.txt", "-k", 4]
    monkeypatch.setattr(measures, "_CHUNK_SCORES", 50)
    call("labels", *arguments, "--out", tmp_path / "whole")
    assert rows(tmp_path / "whole" / "metrics.csv") == rows(fitted[0] / "metrics.csv")
    monkeypatch.setattr(measures, "_MAX_SCORES", 30 * 12)
    printed = call("labels", *arguments, "--out", tmp_path / "o")
    assert "document-averaged AUC: On a random sample of 30 of 80 rows." in printed
    first, *others = rows(tmp_path / "o" / "metrics.csv")
    assert 20 < int(first["rows"]) <= 30
    assert others == rows(fitted[0] / "metrics.csv")[1:]


def test_fewer_labels_than_are_counted(call, rows, tmp_path):
    model = planted.label_model(2, 60, 3, features=15, labels=1.0)
    model.write(tmp_path / "train.txt", 400, 0)
    model.write(tmp_path / "test.txt", 30, 1)
    call(
        "labels", tmp_path / "train.txt", "--test", tmp_path / "test.txt", "-k", 2, "--top", 9, "--out", tmp_path / "o"
    )
    assert len(rows(tmp_path / "o" / "predictions.csv")) == 30 * 3
    assert "precision@3" in [row["metric"] for row in rows(tmp_path / "o" / "metrics.csv")]
    assert "precision@5" not in [row["metric"] for row in rows(tmp_path / "o" / "metrics.csv")]


def test_predictions_hold_one_block_at_a_time(fitted, files, monkeypatch):
    """What is asked of the model at once is a block, and what is kept of it are five numbers a row."""
    _, model, _ = fitted
    test = Blocks.from_files(files / "test.txt", block_rows=32)
    seen, asked = command._Predictions(), []
    real = type(model).top_labels
    monkeypatch.setattr(type(model), "top_labels", lambda self, X, n: asked.append(X.n_rows) or real(self, X, n))
    assert len(list(command._predictions(model, test, command.Names("label"), 7, False, seen))) == 80 * 7
    assert asked == [32, 32, 16]
    assert [piece.shape for piece in seen.first] == [(32, 5), (32, 5), (16, 5)]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_rows_to_predict_may_come_from_a_pipe(call, rows, files, fitted, tmp_path):
    os.mkfifo(tmp_path / "test.pipe")
    text = (files / "test.txt").read_bytes()
    threading.Thread(target=(tmp_path / "test.pipe").write_bytes, args=(text,), daemon=True).start()
    arguments = ["--test", tmp_path / "test.pipe", "-k", 4, "--top", 3]
    call("labels", files / "train.txt", *arguments, "--out", tmp_path / "o")
    assert rows(tmp_path / "o" / "predictions.csv") == rows(fitted[0] / "predictions.csv")


# --- what is refused --------------------------------------------------------------------------------------------


ROWS = "0 0:1 1:1 2:1\n1 1:1 2:1\n2 3:1 4:1\n"


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("3 5 4\n 0:1\n 1:1\n 2:1\n", ["-k", "2"], "x.txt: None of the 3 rows has a label"),
        ("3 5 0\n 0:1\n 1:1\n 2:1\n", [], "x.txt: expected labels, found none"),
        ("3 5 4\n" + ROWS, ["-k", "4"], "x.txt: 3 rows, 5 words, 4 labels support at most 3 topics: -k 4 is too large"),
        ("3 5 4\n" + ROWS.replace("1:1", "1:x", 1), [], "x.txt, line 2: expected 'label,label feature:value ...'"),
        (
            "3 5 4\n" + ROWS.replace("4:1", "5:1"),
            [],
            "x.txt, line 4: --zero-based/--one-based: expected features from 0 to 4, not 5, found '2 3:1 5:1'. Does the "
            "file count from 1?",
        ),
        ("1 1:1\n2 2:1\n", [], "--zero-based/--one-based: "),
        ("2 1:1\n0 2:1\n", ["--one-based"], "--labels-zero-based/--labels-one-based: "),
        ("2\n0\n", ["--one-based"], "x.txt: expected the number of features"),
        ("3 5 4\n" + ROWS, ["--head", "pear"], "--head 'pear': use one of auto, ridge, logistic, full, bayes"),
        ("3 5 4\n" + ROWS, ["--no-topics", "--head", "bayes"], "--no-topics: --head bayes predicts with the topics"),
        ("3 5 4\n" + ROWS, ["--no-topics", "-k", "1:2"], "--no-topics: -k compares numbers of topics"),
        ("3 5 4\n" + ROWS, ["--moments", "pear"], "--moments 'pear': use one of auto, occurrence, factorial"),
        ("3 5 4\n" + ROWS, ["--jobs", "0"], "--jobs 0"),
        ("3 5 4\n" + ROWS, ["--test", "absent.txt"], "--test absent.txt: no such file"),
        ("3 5 4\n" + ROWS, ["--vocabulary", "absent.txt"], "--vocabulary absent.txt: no such file"),
        ("a b\n", [], "x.txt, line 1: expected 'label,label feature:value ...'"),
    ],
)
def test_bad_input(refused, tmp_path, content, options, message):
    (tmp_path / "x.txt").write_text(content)
    assert message in refused("labels", tmp_path / "x.txt", *options)


@pytest.fixture
def nothing_is_fitted(monkeypatch):
    def fail(self, *_):
        raise AssertionError("a fit began")

    monkeypatch.setattr(command.MomentMultiLabelClassifier, "fit", fail)


@pytest.mark.usefixtures("nothing_is_fitted")
@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1 121 12\n0 0:1\n", "expected 120 words and 12 labels, as in {train}; found 121 words and 12 labels"),
        ("1 120 11\n0 0:1\n", "expected 120 words and 12 labels, as in {train}; found 120 words and 11 labels"),
        ("0 120:1\n", "expected features from 0 to 119, not 120"),
        ("12 0:1\n", "expected labels from 0 to 11, not 12"),
        ("2 120 12\n0 0:1\n", "promises 2 rows and 1 were found"),
        ("2 120 12\n0 0:1\n0 3:-1\n", "a count of -1.0 in row 1, column 3"),
    ],
)
def test_a_test_file_is_checked_before_the_fit(refused, files, tmp_path, content, message):
    (tmp_path / "t.txt").write_text(content)
    found = refused("labels", files / "train.txt", "--test", tmp_path / "t.txt")
    assert message.format(train=files / "train.txt") in found
    assert "t.txt" in found


@pytest.mark.usefixtures("nothing_is_fitted")
def test_names_must_agree_with_the_file(refused, files, tmp_path):
    (tmp_path / "n.txt").write_text("a\n\nb\n")
    assert "n.txt: expected 12 names, one for each of the labels in" in refused(
        "labels", files / "train.txt", "--labels", tmp_path / "n.txt"
    )
    (tmp_path / "n.txt").write_text("\n".join(["a"] * 11 + ["", "b"] + ["a"] * 107))
    assert "n.txt, line 12: expected a name" in refused(
        "labels", files / "train.txt", "--vocabulary", tmp_path / "n.txt"
    )


def test_a_cache_without_labels_is_refused(refused, tmp_path_factory):
    folder = tmp_path_factory.mktemp("words")
    (folder / "docword.x.txt").write_text("2\n3\n3\n1 1 2\n1 2 1\n2 3 1\n")
    Blocks.from_files(folder / "docword.x.txt")
    assert "expected labels, found none" in refused("labels", folder / "docword.x.txt.latentia-cache")


def test_bad_input_ends_with_code_2(shell, tmp_path):
    code, message = shell("labels", tmp_path / "absent.txt", "--out", tmp_path / "o")
    assert code == 2
    assert "absent.txt: no such file" in message
    assert "Traceback" not in message
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_results_is_kept(files, tmp_path):
    (tmp_path / "o").mkdir()
    (tmp_path / "o" / "mine.txt").write_text("x")
    with pytest.raises(LatentiaError, match="the folder is not empty"):
        app(["labels", str(files / "train.txt"), "--out", str(tmp_path / "o")], standalone_mode=False)


# --- real data --------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::latentia.exceptions.EvidenceWarning")  # 4,880 rows are fewer than 100^2
def test_bibtex(call, rows, data, tmp_path):
    for name in ("train.txt.gz", "test.txt.gz"):
        shutil.copy(data / "bibtex" / name, tmp_path)
    arguments = [tmp_path / "train.txt.gz", "--test", tmp_path / "test.txt.gz", "-k", 100]
    assert "4,880 rows, 1,836 words, 159 labels" in call("labels", *arguments, "--out", tmp_path / "o")
    found = {row["metric"]: float(row["value"]) for row in rows(tmp_path / "o" / "metrics.csv")}
    assert found["document-averaged AUC"] > 0.92
    assert found["precision@1"] > 0.62
    assert len(rows(tmp_path / "o" / "predictions.csv")) == 5 * 2515


# --- texts and tags -----------------------------------------------------------------------------------------------


def posts(path, n=120, tags="; ", heading="id,body,tags\n", first=0):
    """Posts of two kinds, with the words of their kinds and tags for these; one in ten has none."""
    lines = []
    for i in range(first, first + n):
        kind = ("sport", "music")[i % 2]
        words = " ".join(f"{kind}{(i * 7 + j * j) % 12} word{(i + j) % 30}" for j in range(40))
        lines.append(f'{i},"{words}, the","{tags.join([kind, "all"]) if i % 10 else ""}"\n')
    path.write_text(heading + "".join(lines))
    return path


def test_texts_and_tags_of_a_table(call, rows, written, tmp_path):
    out = tmp_path / "o"
    printed = call("labels", posts(tmp_path / "p.csv"), "--column", "body", "-k", 2, "--out", out)
    assert "p.csv: 120 rows, 54 words, 3 labels" in printed
    assert "On one row in ten, by a model of the others" in printed
    assert "metrics.csv" in written(out)
    found = {row["metric"]: float(row["value"]) for row in rows(out / "metrics.csv")}
    assert found["document-averaged AUC"] > 0.95
    predicted = rows(out / "predictions.csv")
    assert {row["label"] for row in predicted} == {"all", "music", "sport"}
    assert all(row["row"].startswith("line ") for row in predicted)
    assert len({row["row"] for row in predicted}) == 12
    model = latentia.load(out / "model.npz")
    assert list(model.label_names) == ["all", "music", "sport"]
    assert "sport3" in model.vocabulary
    new = tmp_path / "new.csv"
    new.write_text("text\nsport1 sport2 word3 zebra\nmusic1 music2 word4\n")
    assert "1 of 7 words are unknown to the model" in call(
        "apply", out, new, "--column", "text", "--out", tmp_path / "a"
    )
    best = [
        row["label"]
        for row in rows(tmp_path / "a" / "predictions.csv")
        if row["label"] != "all" and int(row["rank"]) < 3
    ]
    assert best == ["sport", "music"]


def test_other_posts_to_test_on(call, rows, tmp_path):
    train, test = posts(tmp_path / "p.csv", tags="|"), posts(tmp_path / "q.csv", 30, tags=", ", first=120)
    test.write_text(test.read_text() + '999,"sport1 word2","rare"\n')
    with pytest.warns(DroppedDataWarning, match=r"q.csv: 1 tag without a training row cannot be predicted: rare"):
        call("labels", train, "--column", "body", "--test", test, "-k", 2, "--out", tmp_path / "o")
    assert len({row["row"] for row in rows(tmp_path / "o" / "predictions.csv")}) == 31


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--column", "text"], "no column 'text'. There are id, body, tags"),
        (["--column", "body", "--tags", "topics"], "--tags topics: "),
        (
            ["--column", "tags"],
            "which column holds the tags? Besides the texts there are id, body; name one with --tags",
        ),
        (["--column", "body", "--one-based"], "--zero-based: p.csv: its words and tags have names; leave it out"),
        (["--column", "body", "--tags", "empty"], "expected tags, found none"),
        (["--column", "body", "--test", "absent.csv"], "--test absent.csv: no such file"),
    ],
)
def test_posts_that_cannot_be_used(refused, tmp_path, options, message):
    path = posts(tmp_path / "p.csv")
    if "empty" in options:
        path.write_text("body,empty\nred house,\nblue house,\n")
    assert message in refused("labels", path, "-k", 2, *options)


def test_counts_have_no_columns_of_texts(refused, tmp_path):
    (tmp_path / "x.txt").write_text("2 3 2\n0 0:1\n1 2:1\n")
    message = refused("labels", tmp_path / "x.txt", "--tags", "t")
    assert "--tags: x.txt: it holds counts of words, and is no table of texts; leave it out" in message
