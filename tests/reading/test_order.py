"""Order of the rows of sequences: by the clock or date of a table, within each sequence."""

import numpy as np
import pytest

from latentia.datasets import read_sequences
from latentia.exceptions import FileNotice, LatentiaError
from latentia.reading import ColumnOptions, look_at, read, reading_as

pytest.importorskip("polars")
DAYS = [f"{1 + 3 * (t % 9):02d}.{1 + t // 9:02d}.2024" for t in range(20)]
STATES = ["calm", "pain", "fever"]


def visits(tmp_path, shuffled=True, name="visits.csv", heads=("Patient", "Tag", "Zustand"), days=DAYS, n=12):
    """Visits of patients with dates, in their order or mixed; returns the path and the steps of each patient in order."""
    rng = np.random.default_rng(0)
    steps = {f"P{i:02d}": [STATES[j] for j in rng.integers(0, 3, len(days))] for i in range(n)}
    rows = [(who, day, step) for who, chain in steps.items() for day, step in zip(days, chain, strict=True)]
    if shuffled:
        rows = [rows[i] for i in rng.permutation(len(rows))]
    (tmp_path / name).write_text("\n".join([";".join(heads), *(";".join(map(str, row)) for row in rows)]) + "\n")
    return tmp_path / name, steps


def chains(data):
    ends = np.cumsum(data.lengths)
    return {name: list(data.steps[end - n : end]) for name, end, n in zip(data.names, ends, data.lengths, strict=True)}


def roles(**named):
    return reading_as(ColumnOptions(named))


def test_steps_stand_in_the_order_of_a_date(tmp_path):
    path, steps = visits(tmp_path)
    with pytest.warns(FileNotice, match=r"not in the order of 'Tag'; those of each 'Patient' were sorted by it"):
        data = read_sequences(path, column="Zustand", sequence="Patient")
    assert chains(data) == steps
    assert data.order_is_known
    lines = path.read_text().splitlines()
    assert [lines[row - 1].split(";")[2] for row in data.rows] == list(data.steps)


@pytest.mark.parametrize(
    "times",
    [
        range(20),
        [f"{9 + t // 4}:{15 * (t % 4):02d}" for t in range(20)],
        [f"24.12.2023 {t}:05" for t in range(20)],
        [f"2023-12-{t + 1:02d}" for t in range(20)],
        [20231201 + t for t in range(20)],
        [1.7e9 + 3600 * t for t in range(20)],
    ],
)
def test_a_clock_of_any_notation_orders_the_steps(tmp_path, times):
    path, steps = visits(tmp_path, days=list(times), heads=("who", "when", "state"))
    with roles(who="group", when="clock"), pytest.warns(FileNotice, match="sorted by it"):
        assert chains(read_sequences(path, column="state")) == steps


def test_one_sequence_is_sorted_by_its_clock(tmp_path):
    path, steps = visits(tmp_path, n=1)
    with roles(Tag="clock"), pytest.warns(FileNotice, match="'Tag'; they were sorted by it"):
        assert list(read_sequences(path, column="Zustand").steps) == steps["P00"]


def test_two_clocks_order_by_the_first_and_then_the_second(tmp_path):
    path, steps = visits(
        tmp_path, days=[f"{2000 + t // 4};{t % 4 + 1}" for t in range(20)], heads=("who", "a;b", "state")
    )
    with roles(a="clock", b="clock", who="group"), pytest.warns(FileNotice, match="order of 'a' and 'b'"):
        assert chains(read_sequences(path, column="state")) == steps


def test_a_clock_of_other_texts_is_refused_with_its_cell(tmp_path):
    path, _ = visits(tmp_path, days=["10:05", "early", "late", "noon"], heads=("who", "when", "state"))
    with (
        roles(who="group", when="clock"),
        pytest.raises(LatentiaError, match=r"line \d+, column 'when'.*a date or a time"),
    ):
        read_sequences(path, column="state")


def test_rows_without_a_moment_follow_the_others(tmp_path):
    (tmp_path / "x.csv").write_text("who,day,state\na,,u\na,2024-01-02,v\nb,2024-01-03,u\na,2024-01-01,u\nb,,v\n")
    with pytest.warns(FileNotice, match="2 rows without a value there are last"):
        data = read_sequences(tmp_path / "x.csv", column="state", sequence="who")
    assert chains(data) == {"a": ["u", "v", "u"], "b": ["u", "v"]}


def test_mixed_rows_without_a_clock_are_said_to_be_in_unknown_order(tmp_path):
    path, _ = visits(tmp_path, days=list("abcdefghijklmnopqrst"), heads=("who", "what", "state"))
    with pytest.warns(FileNotice, match=r"as no column gives another: --role NAME=clock"):
        data = read_sequences(path, column="state", sequence="who")
    assert not data.order_is_known


def test_read_puts_rows_in_order(tmp_path):
    path, steps = visits(tmp_path)
    data = read(path)
    assert data.shape == "sequences"
    assert data.texts("Zustand") == [step for who in dict.fromkeys(data.texts("Patient")) for step in steps[who]]
    assert any("sorted by it" in note for note in data.notes)
    path, steps = visits(tmp_path, n=1)
    assert read(path, roles={"Tag": "clock"}).texts("Zustand") == steps["P00"]


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("heads", [("Patient", "Tag", "Zustand"), ("Boot", "am", "Wetter")])
def test_sequences_are_recognised_sorted_or_not_and_under_any_name(tmp_path, shuffled, heads):
    path, _ = visits(tmp_path, shuffled, heads=heads)
    reading = look_at(path, ColumnOptions(), name="x.csv")
    assert (reading.shape, reading.sequence, reading.clocks) == ("sequences", heads[0], (heads[1],))
    assert reading.commands[0] == f"latentia hmm x.csv -k 2:6 --sequence {heads[0]} --column {heads[2]}"


@pytest.mark.parametrize("shuffled", [False, True])
def test_numbers_that_count_the_steps_of_each_sequence_are_a_clock(tmp_path, shuffled):
    path, _ = visits(tmp_path, shuffled, days=list(range(1, 21)), heads=("subject", "visit", "state"))
    reading = look_at(path, ColumnOptions())
    assert (reading.sequence, reading.clocks, reading.column("visit").role) == ("subject", ("visit",), "clock")


def test_rows_with_dates_that_are_no_steps_stay_a_table(tmp_path):
    rng = np.random.default_rng(1)
    rows = [f"P{i:03d};{DAYS[rng.integers(20)]};ward {rng.integers(4)};{rng.normal():.3f}" for i in range(200)]
    (tmp_path / "x.csv").write_text("\n".join(["Patient;Tag;Station;Hb", *rows]))
    assert look_at(tmp_path / "x.csv", ColumnOptions()).shape == "table"


def test_a_suggestion_goes_once_it_is_followed(tmp_path):
    path, _ = visits(tmp_path)
    assert "--sequence" in " ".join(look_at(path, ColumnOptions()).notes)
    assert "--sequence" not in " ".join(look_at(path, ColumnOptions({"Patient": "group"})).notes)
