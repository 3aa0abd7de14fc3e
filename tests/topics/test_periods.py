"""Times of documents and their periods."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest

from latentia.exceptions import LatentiaError
from latentia.topics.periods import assign_periods


def test_years_stand_for_themselves_while_they_are_few() -> None:
    found = assign_periods(["1990", 1992, None, "1990", float("nan"), " "])
    assert found.labels == ["1990", "1992"]
    assert found.of_rows.tolist() == [0, 1, -1, 0, -1, -1]
    assert found.places.tolist() == [1990, 1992]


def test_many_numbers_are_put_into_round_widths() -> None:
    years = assign_periods(list(range(1900, 2000)))
    assert years.labels[0] == "1900 to 1904"
    assert len(years.labels) == 20
    shares = assign_periods(np.linspace(0, 1, 101).tolist())
    assert shares.labels[:2] == ["0 to 0.05", "0.05 to 0.1"]
    assert assign_periods(list(range(1900, 2000)), "decade").labels[-1] == "1990 to 1999"
    assert assign_periods([1.0, 2.0, 3.0], 2).labels == ["0 to 1", "2 to 3"]


@pytest.mark.parametrize(
    ("times", "labels", "unit"),
    [
        (["2024-05-31", "2024-06-01"], ["2024-05-31", "2024-06-01"], "day"),
        (["1999-05-15", "2000-01-15"], ["1999-05-15", "2000-01-15"], "day"),
        ([np.datetime64("2000-01-01") + 30 * i for i in range(20)], None, "day"),
        ([date(1900 + i, 3, 1) for i in range(40)], ["1900s", "1910s", "1920s", "1930s"], "decade"),
        (["31.12.1999", "1.1.2000"], ["1999-12-31", "2000-01-01"], "day"),
        (["12/31/1999", "1/2/2000"], ["1999-12-31", "2000-01-02"], "day"),
        (["31/12/1999", "1/2/2000"], ["1999-12-31", "2000-02-01"], "day"),
        (["2024-05-31T12:30:00Z", "2024-06"], ["2024-05-31", "2024-06-01"], "day"),
    ],
)  # fmt: skip
def test_dates_in_many_forms(times: list[object], labels: list[str] | None, unit: str) -> None:
    found = assign_periods(times)
    assert found.unit == unit
    assert labels is None or found.labels == labels


@pytest.mark.parametrize(
    ("unit", "label"),
    [
        ("week", "week of 2024-05-27"), ("month", "2024-05"), ("quarter", "2024 Q2"), ("year", "2024"), ("decade", "2020s"),
        ("century", "2000 to 2099"),
    ],
)  # fmt: skip
def test_units(unit: str, label: str) -> None:
    found = assign_periods(["2024-05-31"], unit)
    assert found.labels == [label]
    assert found.places[0] == pytest.approx(2024.41, abs=0.01)


@pytest.mark.parametrize(
    ("times", "period", "words"),
    [
        (["3/4/2020", "5/6/2020"], None, "may name the day or the month first"),
        (["2020-01-01", "soon"], None, "document 2; it is 'soon'"),
        (["2020-01-01", "1/2/20"], None, "document 2"),
        ([None, ""], None, "None of the documents has a time"),
        (["2020-01-01"], 5.0, "one of day"),
        ([1, 2, 3], "month", "are numbers"),
        ([1, 2, 3], -1.0, "positive width"),
    ],
)
def test_times_that_cannot_be_used(times: list[object], period: object, words: str) -> None:
    with pytest.raises(LatentiaError, match=words):
        assign_periods(times, period)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("times", "unit", "numbers", "axis"),
    [
        (["2024-06-01", "2024-07-31"], "month", [0, 1], ["2024-06", "2024-07"]),
        (["2023-11-05", "2024-02-01"], "month", [0, 3], ["2023-11", "2023-12", "2024-01", "2024-02"]),
        (["2024-05-31", "2024-06-12"], "week", [0, 2], [f"week of 2024-{day}" for day in ("05-27", "06-03", "06-10")]),
        (["1968-02-01", "1985-01-01"], "decade", [0, 2], ["1960s", "1970s", "1980s"]),
        (["1899-01-01", "2024-01-01"], "day", [0, 1], ["1899-01-01", "2024-01-01"]),
    ],
)  # fmt: skip
def test_periods_are_counted_in_their_unit(times: list[object], unit: str, numbers: list[int], axis: list[str]) -> None:
    found = assign_periods(times, unit)
    assert found.numbers is not None
    assert found.numbers.tolist() == numbers
    assert found.axis == axis
