"""`latentia mixture --distribution mixed`: numbers and categories together."""

import csv

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from latentia.exceptions import DroppedDataWarning, LatentiaError

COLOURS, LETTERS = ["red", "green", "blue"], ["a", "b", "c", "d"]


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """A file of people in three groups, with a name, numbers with gaps, categories and a column of 0 and 1."""
    rng = np.random.default_rng(0)
    groups, path = rng.integers(0, 3, 900), tmp_path_factory.mktemp("kinds") / "people.csv"
    chances = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    letters = np.array([[0.7, 0.1, 0.1, 0.1], [0.1, 0.7, 0.1, 0.1], [0.1, 0.1, 0.1, 0.7]])
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "age", "income", "colour", "smoker", "letter", "owner"])
        for i, k in enumerate(groups):
            writer.writerow(
                [
                    f"p{i}", round(30 + 10 * k + 5 * rng.normal(), 1),
                    round(2000 * (1 + k) + 400 * rng.normal(), 2) if rng.random() > 0.05 else "",
                    rng.choice(COLOURS, p=chances[k]), "yes" if rng.random() < (0.9, 0.2, 0.5)[k] else "no",
                    rng.choice(LETTERS, p=letters[k]), int(rng.random() < (0.1, 0.5, 0.9)[k]),
                ]
            )  # fmt: skip
    return path, groups


def components(path):
    with open(path, encoding="utf-8", newline="") as file:
        return [int(row["component"]) for row in csv.DictReader(file)]


def test_groups_of_mixed_columns_are_recovered_and_applied(call, people, tmp_path):
    path, groups = people
    out = tmp_path / "o"
    said = call("mixture", path, "-k", 3, "--distribution", "mixed", "--missing", "keep", "--out", out)
    assert "Columns as numbers: age, income" in said
    assert "Columns as categories:" in said
    for name in ("colour", "smoker", "letter", "owner"):
        assert name in said.split("Columns as categories:")[1]
    labels = components(out / "labels.csv")
    assert adjusted_rand_score(groups, labels) >= 0.95
    with open(out / "columns.csv", encoding="utf-8", newline="") as file:
        assert {row["column"] for row in csv.DictReader(file)} == {
            "age",
            "income",
            "colour",
            "smoker",
            "letter",
            "owner",
        }
    with open(out / "means.csv", encoding="utf-8", newline="") as file:
        features = next(csv.reader(file))
    assert [name for name in features if name.startswith(("smoker", "owner"))] == ["smoker = yes", "owner = 1"]
    assert "smoker = no" not in (out / "report.html").read_text().split("All columns")[0]
    call("apply", out, path, "--missing", "keep", "--out", tmp_path / "again")
    assert components(tmp_path / "again" / "labels.csv") == labels


def test_a_category_that_the_fit_has_not_seen_is_named(call, people, tmp_path):
    path, _ = people
    call("mixture", path, "-k", 2, "--distribution", "mixed", "--missing", "keep", "--out", tmp_path / "o")
    lines = path.read_text(encoding="utf-8").replace("red", "mauve").splitlines()
    (tmp_path / "new.csv").write_text("\n".join(lines[:20]), encoding="utf-8")
    with pytest.warns(DroppedDataWarning, match="column 'colour' holds 'mauve'"):
        call("apply", tmp_path / "o", tmp_path / "new.csv", "--missing", "keep", "--out", tmp_path / "a")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--views", "age;income;owner"], "--views: leave it out with --distribution mixed"),
        (["--covariance", "full"], "--covariance: leave it out with --distribution mixed"),
        (["--columns", "age,colour"], "expected three or more columns of numbers or categories, found age, colour"),
        (["--columns", "age,colour,absent"], "absent"),
    ],
)
def test_options_that_do_not_go_together(call, people, tmp_path, options, message):
    with pytest.raises(LatentiaError, match=message):
        call("mixture", people[0], "--distribution", "mixed", "--missing", "keep", *options, "--out", tmp_path / "o")
