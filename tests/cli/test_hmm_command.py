import gzip
import html
import json
import re

import numpy as np
import pytest

import latentia
from latentia.cli import hmm as command
from latentia.datasets import planted
from latentia.exceptions import EvidenceWarning, FileNotice

LENGTHS = [40] * 150


@pytest.fixture(scope="module")
def chain():
    return planted.hidden_markov_chain(sum(LENGTHS), n_states=3, n_symbols=6, lengths=LENGTHS)


@pytest.fixture(scope="module")
def words(chain):
    """The chain as sequences of words."""
    return np.array(["Red", "green", "Blue", "<i>", "white", "12"])[chain.symbols].reshape(-1, 40)


@pytest.fixture(scope="module")
def text(words, tmp_path_factory):
    path = tmp_path_factory.mktemp("hmm") / "words.txt.gz"
    with gzip.open(path, "wt") as file:
        file.write("\n\n".join(" ".join(line) for line in words))
    return path


@pytest.fixture(scope="module")
def vectors(chain, tmp_path_factory):
    """The chain as measurements of two things, of which only the means know the state."""
    values = np.array([[0.0, 500.0], [8.0, 100.0], [4.0, 900.0]])[chain.states]
    values += np.random.default_rng(0).standard_normal(values.shape) * [1.0, 50.0]
    path = tmp_path_factory.mktemp("hmm") / "vectors.csv"
    lines = [f"p{i // 40},{i},{a:.5f},{b:.5f}" for i, (a, b) in enumerate(values)]
    path.write_text("\n".join(["patient,second,pulse,pressure", *lines]))
    return path


def test_sequences_of_symbols_a_line(call, rows, written, text, chain, words, tmp_path):
    out = tmp_path / "o"
    printed = call("hmm", text, "-k", 3, "--out", out)
    assert "150 sequences, 6,000 steps, 6 symbols" in printed
    assert re.search(r"^  \w+ +error +0\.\d+ +needed <= 0\.", printed, re.MULTILINE)
    assert written(out) == [
        "evidence.csv", "model.npz", "paths.csv", "report.html", "result.json", "states.csv", "transitions.csv",
    ]  # fmt: skip
    model = latentia.load(out / "model.npz")
    states = rows(out / "states.csv")
    assert len(states) == 3 * 6
    first = [row for row in states if row["state"] == "0"]
    assert sum(float(row["probability"]) for row in first) == pytest.approx(1, abs=1e-6)
    assert first[0]["symbol"] == model.symbols_[model.emissionprob_[0].argmax()]
    frequency = (words == first[0]["symbol"]).mean()
    assert float(first[0]["lift"]) == pytest.approx(float(first[0]["probability"]) / frequency, rel=1e-3)
    moves = rows(out / "transitions.csv")
    stay = float(moves[1]["to 1"])
    assert float(moves[1]["mean stay"]) == pytest.approx(1 / (1 - stay), rel=1e-3)
    path = rows(out / "paths.csv")
    assert len(path) == 6000
    assert [path[41][name] for name in ("sequence", "step", "symbol")] == ["line 3", "2", words[1, 1]]
    assert all(0 < float(row["probability"]) <= 1 for row in path)
    agreement = np.zeros((3, 3))
    np.add.at(agreement, (chain.states, [int(row["state"]) for row in path]), 1)
    assert agreement.max(axis=1).sum() / 6000 > 0.7


def test_rare_symbols_and_lower_case(call, rows, text, words, tmp_path):
    names, counts = np.unique(words, return_counts=True)
    limit = int(np.sort(counts)[2])
    call("hmm", text, "-k", 2, "--refine", 1, "--min-count", limit, "--lower", "--out", tmp_path / "o")
    kept = {name.lower() for name, count in zip(names, counts, strict=True) if count >= limit}
    assert {row["symbol"] for row in rows(tmp_path / "o" / "states.csv")} == kept | {"<rare>"}


def test_a_column_of_symbols_with_sequences(call, rows, words, tmp_path):
    lines = [f"s{i},{word}" for i, line in enumerate(words[:100]) for word in line]
    (tmp_path / "x.tsv").write_text("\n".join(["name,word", *lines]).replace(",", "\t"))
    printed = call(
        "hmm",
        tmp_path / "x.tsv",
        "-k",
        2,
        "--refine",
        1,
        "--column",
        "word",
        "--sequence",
        "name",
        "--out",
        tmp_path / "o",
    )
    assert "100 sequences, 4,000 steps, 6 symbols" in printed
    assert rows(tmp_path / "o" / "paths.csv")[40]["sequence"] == "s1"


def test_columns_of_numbers(call, rows, vectors, tmp_path):
    options = ["--columns", "pulse, pressure", "--sequence", "patient"]
    printed = call("hmm", vectors, "-k", 3, *options, "--out", tmp_path / "o")
    assert "150 sequences, 6,000 steps, columns pulse, pressure" in printed
    states = rows(tmp_path / "o" / "states.csv")
    means = sorted(float(row["mean"]) for row in states if row["column"] == "pulse")
    assert means == pytest.approx([0, 4, 8], abs=0.2)
    assert float(states[1]["standard deviation"]) == pytest.approx(50, rel=0.1)
    path = rows(tmp_path / "o" / "paths.csv")
    assert [path[40][name] for name in ("sequence", "step", "row")] == ["p1", "1", "42"]


@pytest.mark.filterwarnings("ignore::latentia.exceptions.LatentiaWarning")
def test_a_range_is_compared(call, rows, recommended, text, vectors, tmp_path):
    printed = call("hmm", text, "-k", "2:7:2", "--refine", 2, "--out", tmp_path / "o")
    assert "held out: one sequence in ten" in printed
    compared = rows(tmp_path / "o" / "comparison.csv")
    assert list(compared[0])[:4] == ["states", "grade", "expected error", "needed"]
    assert list(compared[0])[-2:] == ["held-out log-likelihood", "smallest share"]
    assert all(-np.log(6) < float(row["held-out log-likelihood"]) < -1 for row in compared)  # per step
    assert [row["states"] for row in compared] == ["2", "4"]  # six symbols show no more than their five directions
    assert "-k 6 and more are skipped: " in printed
    best, _ = recommended(printed, compared)
    assert len(latentia.load(tmp_path / "o" / "model.npz").weights_) == best
    assert "Other numbers of states" in (tmp_path / "o" / "report.html").read_text("utf-8")
    printed = call("hmm", vectors, "-k", "2:5", "--refine", 1, "--columns", "pulse,pressure", "--out", tmp_path / "v")
    assert "a tenth of every sequence" in printed
    assert [row["states"] for row in rows(tmp_path / "v" / "comparison.csv")] == ["2", "3", "4", "5"]
    options = ["--refine", 0, "--columns", "pulse,pressure", "--out", tmp_path / "m"]
    printed = call("hmm", vectors, "-k", "2:9", *options)
    assert "columns pulse, pressure support at most 3 states: the range stops there" in printed
    compared = rows(tmp_path / "v" / "comparison.csv")
    assert float(compared[1]["held-out log-likelihood"]) > float(compared[0]["held-out log-likelihood"]) + 0.1


def test_criteria_and_covariances(call, rows, vectors, tmp_path):
    options = ["--columns", "pulse,pressure", "--sequence", "patient", "-k", 3]
    printed = call("hmm", vectors, *options, "--covariance", "tied", "--out", tmp_path / "o")
    model = latentia.load(tmp_path / "o" / "model.npz")
    lines = rows(tmp_path / "o" / "covariances.csv")
    assert [line["state"] for line in lines] == ["0", "1", "2"]
    assert float(lines[0]["covariance"]) == pytest.approx(model.covariances_[0, 1], rel=1e-6)
    values = re.search(r"Log-likelihood (\S+), BIC (\S+), AIC (\S+)", printed).groups()
    value, bic, aic = (float(text.replace(",", "")) for text in values)
    n_parameters = 2 + 6 + 3 * 2 + 3
    assert bic == pytest.approx(-2 * value + n_parameters * np.log(6000), abs=1)
    assert aic == pytest.approx(-2 * value + 2 * n_parameters, abs=1)


def test_a_saved_model_is_a_start(call, refused, text, vectors, tmp_path):
    call("hmm", text, "-k", 3, "--out", tmp_path / "first")
    model = tmp_path / "first" / "model.npz"
    call("hmm", text, "-k", 3, "--init", model, "--out", tmp_path / "again")
    again = latentia.load(tmp_path / "again" / "model.npz")
    assert again.start_ == "init"
    np.testing.assert_allclose(again.emissionprob_, latentia.load(model).emissionprob_, atol=0.02)
    assert "use -k 3" in refused("hmm", text, "-k", 2, "--init", model)
    assert "expected a chain of columns of numbers" in refused(
        "hmm", vectors, "-k", 3, "--columns", "pulse,pressure", "--init", model
    )


def test_missing_steps(call, refused, rows, chain, words, vectors, tmp_path):
    gone = np.random.default_rng(0).random(chain.symbols.size) < 0.1
    column = np.where(gone, "", words.ravel())
    table = tmp_path / "words.csv"
    table.write_text("\n".join(["word,who", *(f"{word},p{i // 40}" for i, word in enumerate(column))]))
    options = ["-k", 3, "--column", "word", "--sequence", "who"]
    assert "--missing keep treats them as missing" in refused("hmm", table, *options)
    printed = call("hmm", table, *options, "--missing", "keep", "--out", tmp_path / "o")
    assert f"6,000 steps, {gone.sum():,} of them missing, 6 symbols" in printed
    paths = rows(tmp_path / "o" / "paths.csv")
    assert len(paths) == 6000
    numbers = tmp_path / "numbers.csv"
    lines = vectors.read_text().splitlines()
    numbers.write_text("\n".join(line if i % 9 else line[: line.rindex(",") + 1] for i, line in enumerate(lines, 1)))
    options = ["-k", 3, "--columns", "pulse,pressure", "--sequence", "patient", "--missing", "keep"]
    assert "single cells missing" in call("hmm", numbers, *options, "--out", tmp_path / "v")
    call("apply", tmp_path / "v", numbers, "--missing", "keep", "--out", tmp_path / "a")
    assert rows(tmp_path / "a" / "paths.csv") == rows(tmp_path / "v" / "paths.csv")
    means = sorted(latentia.load(tmp_path / "v" / "model.npz").means_[:, 0])
    assert means == pytest.approx([0, 4, 8], abs=0.3)


def test_what_is_held_out():
    steps = np.array([*"ab" * 20, "z", *"ab" * 20])
    one = command.Sequences(steps, np.array([81]), ["1"], None, [], "x")
    train, test, what = command._hold_out(one)
    assert what == "a tenth of every sequence"
    assert 7 <= test.lengths.sum() <= 9
    assert train.lengths.sum() + test.lengths.sum() == 81
    assert "".join(train.steps[: train.lengths[0]]) == "".join(steps[: train.lengths[0]])
    many = command.Sequences(np.array([*"abc" * 30]), np.full(30, 3), [], None, [], "x")
    train, test, what = command._hold_out(many)
    assert what == "one sequence in ten"
    assert train.lengths.tolist() == [3] * 27
    assert test.lengths.tolist() == [3] * 3
    # A symbol that is nowhere else ends a sequence that is measured.
    lone = np.array([*"abc" * 30])
    first = int(np.flatnonzero(command.Folds(10, 1).of(np.arange(30)) == 0)[0])
    lone[3 * first + 1] = "q"
    train, test, _ = command._hold_out(command.Sequences(lone, np.full(30, 3), [], None, [], "x"))
    assert test.lengths.tolist() == [1, 1, 3, 3]
    assert "q" not in test.steps


@pytest.fixture(scope="module")
def switching():
    """A chain of two states over many symbols, as words."""
    chain = planted.two_state_chain(20_000, n_symbols=200, emissions="halves")
    return chain, np.array([f"s{i}" for i in range(200)])[chain.symbols]


def test_two_states_over_many_symbols(call, rows, switching, tmp_path):
    chain, steps = switching
    (tmp_path / "x.txt").write_text(" ".join(steps))
    printed = call("hmm", tmp_path / "x.txt", "--two-state", "--out", tmp_path / "o")
    assert "2 states, most visited first" in printed
    assert "Entropy rate: " in printed
    model = latentia.load(tmp_path / "o" / "model.npz")
    assert model.detected_
    path = np.array([int(row["state"]) for row in rows(tmp_path / "o" / "paths.csv")])
    right = (path == chain.states).mean()
    assert max(right, 1 - right) > 0.9
    assert "computed from the noise" in (tmp_path / "o" / "report.html").read_text("utf-8")


def test_no_second_state(call, tmp_path):
    steps = np.random.default_rng(0).integers(0, 300, 3000)
    (tmp_path / "x.csv").write_text("\n".join(["step", *map(str, steps)]))
    with pytest.warns(EvidenceWarning, match="No second state was detected"):
        call("hmm", tmp_path / "x.csv", "--two-state", "-k", 2, "--kind", "symbols", "--out", tmp_path / "o")
    assert "No second state was found" in (tmp_path / "o" / "report.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        ("x.txt", "", [], "x.txt: expected symbols, found an empty file"),
        (
            "x.txt",
            "a b a b a\n",
            ["-k", "9"],
            "x.txt: 1 sequence, 5 steps, 2 symbols support at most 2 states: -k 9 is too large",
        ),
        ("x.txt", "a b c\n", ["--min-count", "2"], "fewer than two symbols occur 2 times or more; lower --min-count"),
        ("x.txt", "a a a\n", [], "fewer than two symbols are there"),
        (
            "x.txt",
            "a b c\n",
            ["--two-state", "-k", "3"],
            "-k 3: --two-state has two states; give one of the two options",
        ),
        ("x.csv", "a,b\n1.5,2\n", ["--two-state"], "--two-state needs symbols, but these steps are numbers"),
        ("x.txt", "a b c\n", ["--column", "a"], "a text file has no columns; leave --column out"),
        ("x.txt", "a b c\n", ["--two-state", "-k", "2:3"], "-k 2:3: --two-state has two states"),
        (
            "x.csv",
            "a,b\n1.5,2\n2,1\n",
            ["-k", "4:5", "--refine", "0"],
            "columns a, b support at most 3 states: -k 4 is too large",
        ),
        ("x.txt", "1 2 3\n", ["--kind", "vectors"], "Save vectors as .csv, one step per line"),
        ("x.txt", "a b\n", ["--kind", "pears"], "--kind 'pears': use one of auto, symbols, vectors"),
        ("x.txt", "a b\n", ["--jobs", "0"], "--jobs 0"),
        ("x.csv", "a,b\nx,y\n", [], "which column holds the symbols? There are a, b; name one with --column"),
        ("x.csv", "a,b\nx,y\n", ["--column", "c"], "no column 'c', which --column names. There are a, b."),
        ("x.csv", "a,b\nx,1\n", ["--sequence", "c"], "no column 'c', which --sequence names"),
        ("x.csv", "a,b\nx,1\n", ["--column", "a", "--columns", "b"], "give one of the two"),
        ("x.csv", "a,b\nx,1\n", ["--column", "a", "--sequence", "a"], "Use it for one of the two"),
        ("x.csv", "a,b\nx,1\n,2\n", ["--column", "a"], "x.csv, line 3, column 'a': no value"),
        ("x.csv", "a,b\n1.5,1\nn/a,2\n", [], "x.csv, line 3, column 'a': no value ('n/a')"),
        ("x.csv", "a,b\n1.5,1\n2.5,2\n", ["--lower"], "are for symbols"),
        ("x.txt", "a b a b a\n", ["-k", "2", "--covariance", "full"], "needs columns of numbers"),
        ("x.txt", "a b a b a\n", ["--covariance", "round"], "--covariance 'round': use one of diag, full, tied"),
        (
            "x.txt",
            "a b a b a\n",
            ["--two-state", "--init", "m.npz"],
            "--init: x.txt: --two-state has none; leave it out",
        ),
        (
            "x.csv",
            "a,s\nx,1\ny,\n",
            ["--column", "a", "--sequence", "s", "--missing", "keep"],
            "expected the name of a sequence",
        ),
        ("x.csv", "a,b\n1.5,1\n2.5,2\n", ["--missing", "mean"], "--missing 'mean': use one of keep"),
    ],
)
def test_bad_input(refused, tmp_path, name, content, options, message):
    (tmp_path / name).write_text(content)
    assert message in refused("hmm", tmp_path / name, *options)


def test_bad_input_ends_with_code_2(shell, tmp_path):
    code, message = shell("hmm", tmp_path / "absent.txt", "--out", tmp_path / "o")
    assert code == 2
    assert "absent.txt: no such file" in message
    assert "Traceback" not in message
    assert list(tmp_path.iterdir()) == []


def _visits(tmp_path, name, symbols, seed):
    """Visits of ten patients with dates, mixed."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(10):
        state = 0
        for day in range(1, 29):
            state = state if rng.random() < 0.8 else 1 - state
            symbol = symbols[state if rng.random() < 0.9 else rng.integers(len(symbols))]
            rows.append(f"P{i}\t2024-01-{day:02d}\t{symbol}")
    (tmp_path / name).write_text("\n".join(["Patient\tTag\tZustand", *rng.permutation(rows)]) + "\n")
    return tmp_path / name


@pytest.mark.parametrize("option", [["--sequence", "Patient"], ["--role", "Patient=group"]])
def test_steps_are_put_in_the_order_of_a_date_which_page_and_record_say(call, rows, tmp_path, option):
    path, out = _visits(tmp_path, "x.tsv", ["calm", "pain"], 0), tmp_path / "o"
    with pytest.warns(FileNotice, match="sorted by it"):
        call("hmm", path, "-k", 2, "--column", "Zustand", *option, "--out", out)
    (record,) = json.loads((out / "result.json").read_text())["read"]
    note = "rows are not in the order of 'Tag'; those of each 'Patient' were sorted by it"
    assert record["notes"] == [note]
    assert note in html.unescape((out / "report.html").read_text())
    lines = [line.split("\t") for line in path.read_text().splitlines()]
    found = rows(out / "paths.csv")
    expected = [
        symbol
        for name in dict.fromkeys(row["sequence"] for row in found)
        for who, _, symbol in sorted(lines)
        if who == name
    ]
    assert [row["symbol"] for row in found] == expected
    new = _visits(tmp_path, "new.tsv", ["calm", "pain", "coma"], 1)
    with pytest.warns(FileNotice, match=r"new.tsv: symbols that the model does not have: 'coma' \(\d+\)"):
        call("apply", out, new, "--out", tmp_path / "a")
    assert [row["step"] for row in rows(tmp_path / "a" / "paths.csv")] == [
        str(t) for _ in range(10) for t in range(1, 29)
    ]


def test_mixed_rows_without_a_clock_are_doubted_on_the_page(call, tmp_path):
    path = _visits(tmp_path, "x.tsv", ["calm", "pain"], 0)
    with pytest.warns(FileNotice, match="no column gives another"):
        call(
            "hmm",
            path,
            "-k",
            2,
            "--column",
            "Zustand",
            "--sequence",
            "Patient",
            "--role",
            "Tag=ignored",
            "--out",
            tmp_path / "o",
        )
    assert "no column gives their order" in (tmp_path / "o" / "report.html").read_text()
