"""What a file says in other words gives the same fit, and a model reads other files as its own."""

import csv

import numpy as np
import pytest

import latentia
from latentia.reading import read

pytest.importorskip("polars")
FITS = {
    "mixture": (["-k", 2, "--refine", 0], ["--missing", "keep"]),
    "noisy-or": (["-k", 1, "--refine", 0, "--columns", "cough,fever,rash,pain"], []),
    "nmf": (["-k", 2], ["--missing", "mean"]),
    "ica": (["-k", 2, "--refine", 0, "--ignore", "rash,pain"], ["--missing", "mean"]),
}
TWO = {"yes": "no", "M": "F", "2": "1", "1": "-1", "a": "b", "True": "False"}
BITS = ["cough", "fever", "rash", "pain"]


@pytest.fixture(scope="module")
def people():
    """Rows of two groups that differ in two measurements and in four findings."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 400)
    chances = np.where(group[:, None] == 1, 0.8, (0.1, 0.2, 0.15, 0.1))
    sizes = 5 + 3 * np.abs(rng.laplace(size=(400, 2))) + 4 * group[:, None]
    return {
        "patient": [f"p{i}" for i in range(400)],
        **{name: bits.tolist() for name, bits in zip(BITS, (rng.random((400, 4)) < chances).astype(int).T, strict=True)},
        "dose": sizes[:, 0].round(2).tolist(), "weight": sizes[:, 1].round(2).tolist(),
    }  # fmt: skip


def write(path, columns):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([list(columns), *zip(*columns.values(), strict=True)])
    return path


def arrays(folder):
    """The numbers of a model."""
    model = latentia.load(folder / "model.npz")
    return {name: value for name, value in vars(model).items() if isinstance(value, np.ndarray)}


def assert_same(first, second):
    one, two = arrays(first), arrays(second)
    assert one.keys() == two.keys()
    for name, value in one.items():
        np.testing.assert_array_equal(value, two[name], err_msg=name)


@pytest.mark.parametrize("command", FITS)
@pytest.mark.parametrize("one", TWO)
def test_any_two_values_fit_as_0_and_1(call, people, tmp_path, command, one):
    words = {name: [(TWO[one], one)[bit] for bit in people[name]] for name in BITS}
    path = write(tmp_path / "words.csv", people | words)
    coded = {name: read(path).values([name])[:, 0].astype(int).tolist() for name in BITS}
    write(tmp_path / "bits.csv", people | coded)
    for name in ("words", "bits"):
        call(command, tmp_path / f"{name}.csv", *FITS[command][0], "--out", tmp_path / name)
    assert_same(tmp_path / "words", tmp_path / "bits")


@pytest.mark.parametrize("command", FITS)
@pytest.mark.parametrize("code", ["-9", "99", "refused"])
def test_codes_of_missing_answers_fit_as_empty_cells(call, people, tmp_path, command, code):
    rng = np.random.default_rng(1)
    for name, cell in (("codes", code), ("empty", "")):
        columns = {
            name: [cell if lost else value for value, lost in zip(cells, rng.random(400) < 0.05, strict=True)]
            for name, cells in people.items()
            if name != "patient"
        }
        rng = np.random.default_rng(1)
        write(tmp_path / f"{name}.csv", columns)
    options, missing = FITS[command]
    call(command, tmp_path / "codes.csv", *options, *missing, "--missing-codes", code, "--out", tmp_path / "codes")
    call(command, tmp_path / "empty.csv", *options, *missing, "--out", tmp_path / "empty")
    assert_same(tmp_path / "codes", tmp_path / "empty")


@pytest.mark.filterwarnings("ignore::latentia.exceptions.DroppedDataWarning")
@pytest.mark.parametrize("command", FITS)
def test_other_files_are_read_as_that_of_the_model(call, people, tmp_path, command):
    answers = ["no", "yes"]
    columns = {"form": [f"f{i}" for i in range(400)], "site": [i % 7 for i in range(400)], **people} | {
        name: [answers[i] for i in people[name]] for name in BITS
    }
    columns |= {"dose": [-9 if i % 40 == 0 else dose for i, dose in enumerate(people["dose"])]}
    path, (options, missing) = write(tmp_path / "people.csv", columns), FITS[command]
    given = ["--id", "patient", "--role", "site=category", "--missing-codes", "dose=-9", "--positive", "cough=no"]
    call(command, path, *options, *missing, *given, "--out", tmp_path / "model")
    other = {name: cells[:50] for name, cells in columns.items() if name != "site"}
    other["cough"] = ["no"] * 50  # One of the two values says nothing of the other.
    write(tmp_path / "other.csv", other)
    ways = ["--missing", "drop"] if "mean" in missing else []
    for name, again in (("short", []), ("long", ["--id", "patient", "--missing-codes", "dose=-9"])):
        call("apply", tmp_path / "model", tmp_path / "other.csv", *ways, *again, "--out", tmp_path / name)
    short, long = ([file.read_text() for file in (tmp_path / name).glob("*.csv")] for name in ("short", "long"))
    assert short == long
    named = list(csv.DictReader(short[0].splitlines()))
    assert named[0]["name"] == ("p1" if "mean" in missing else "p0")  # p0 lacks its dose.
    write(tmp_path / "nameless.csv", {name: cells for name, cells in other.items() if name != "patient"})
    call("apply", tmp_path / "model", tmp_path / "nameless.csv", *ways, "--out", tmp_path / "nameless")


def test_a_sheet_and_a_column_of_names_are_kept(call, people, rows, tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["nothing"])
    sheet = book.create_sheet("people")
    names = [f"{i % 50}-{i // 50}" for i in range(400)]
    for row in [["who", "dose", "weight"], *zip(names, people["dose"], people["weight"], strict=True)]:
        sheet.append(row)
    book.save(tmp_path / "people.xlsx")
    call("nmf", tmp_path / "people.xlsx", "-k", 2, "--sheet", "people", "--names", "who", "--out", tmp_path / "model")
    call("apply", tmp_path / "model", tmp_path / "people.xlsx", "--out", tmp_path / "a")
    (found,) = (rows(path) for path in (tmp_path / "a").glob("*.csv"))
    assert [row["name"] for row in found] == names


def test_receipts_are_read_by_the_columns_of_the_model(call, rows, tmp_path):
    rng = np.random.default_rng(0)
    pairs = [(f"{i}", item) for i in range(1500) for item in "abcdef" if rng.random() < (0.7 if i % 3 else 0.1)]
    write(tmp_path / "r.csv", dict(zip(("who", "what"), zip(*pairs, strict=True), strict=True)))
    options = ["--baskets", "--rows", "long", "--columns", "who,what"]
    call("noisy-or", tmp_path / "r.csv", *options, "-k", 1, "--refine", 0, "--out", tmp_path / "m")
    call("apply", tmp_path / "m", tmp_path / "r.csv", "--out", tmp_path / "a")
    (found,) = (rows(path) for path in (tmp_path / "a").glob("*.csv"))
    assert [row["row"] for row in found] == list(dict.fromkeys(who for who, _ in pairs))


@pytest.mark.filterwarnings("ignore::latentia.exceptions.DroppedDataWarning")
def test_sequences_contrasts_and_updates_know_codes_too(call, people, tmp_path):
    answers = {"smokes": [("no", "yes")[bit] for bit in people["cough"]]}
    path = write(tmp_path / "x.csv", {name: people[name] for name in ("patient", "dose", "weight")} | answers)
    few = {name: [-9, *cells[1:60]] for name, cells in people.items() if name in ("dose", "weight")}
    write(tmp_path / "few.csv", {"patient": people["patient"][:60], **few, "smokes": ["yes"] * 60})
    codes = ["--missing-codes", "-9"]
    call("hmm", path, "--columns", "dose,weight,smokes", "-k", 2, "--refine", 0, "--missing", "keep", *codes,
         "--out", tmp_path / "hmm")  # fmt: skip
    unknown = {name: ["", *cells[1:]] for name, cells in few.items()}
    write(tmp_path / "empty.csv", {"patient": people["patient"][:60], **unknown, "smokes": ["yes"] * 60})
    for name in ("few", "empty"):
        call("apply", tmp_path / "hmm", tmp_path / f"{name}.csv", "--out", tmp_path / name)
    coded, empty = ([file.read_text() for file in (tmp_path / name).glob("*.csv")] for name in ("few", "empty"))
    assert coded == empty
    rng = np.random.default_rng(0)
    write(tmp_path / "v.csv", {"a": rng.normal(size=400).round(3), "b": rng.normal(size=400).round(3)})
    call(
        "contrast",
        path,
        tmp_path / "v.csv",
        "-k",
        1,
        "--columns",
        "dose,weight",
        *codes,
        "--out",
        tmp_path / "contrast",
    )
    call("apply", tmp_path / "contrast", tmp_path / "few.csv", "--missing", "drop", "--out", tmp_path / "rows")
    with open(*(tmp_path / "rows").glob("*.csv"), encoding="utf-8") as file:
        assert [row["name"] for row in csv.DictReader(file)] == people["patient"][1:60]
    call(
        "mixture", path, "-k", 2, "--keep-moments", "--no-scale", "--ignore", "smokes", *codes, "--out", tmp_path / "m"
    )
    write(tmp_path / "more.csv", {name: people[name][:60] for name in ("dose", "weight")})
    call("update", tmp_path / "m", tmp_path / "more.csv", "--out", tmp_path / "m2")
    assert latentia.load(tmp_path / "m2" / "model.npz").reading_["missing_codes"] == ["-9"]


def test_amounts_beside_0_keep_their_size(call, people, tmp_path):
    columns = {"items": [3 * bit for bit in people["cough"]], "rooms": [1 + bit for bit in people["rash"]]}
    path = write(tmp_path / "x.csv", columns | {name: people[name] for name in ("dose", "weight")})
    call("nmf", path, "-k", 2, "--out", tmp_path / "o")
    assert latentia.load(tmp_path / "o" / "model.npz").reading_["codings"] == [["rooms", "1", "2"]]
