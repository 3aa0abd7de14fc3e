"""Files as people have them, by kind: what each column is taken for, and what is said."""

import gzip
import json
from datetime import datetime

import numpy as np
import pytest

from latentia.datasets import read_graph, read_pairs, read_sequences, readers
from latentia.datasets.baskets import read_baskets
from latentia.exceptions import LatentiaError
from latentia.reading import ColumnOptions, look_at, read

pytest.importorskip("polars")
RNG = np.random.default_rng(0)


def table(tmp_path, *columns, name="x.csv", separator=",", quote='"'):
    """A file of columns, a heading and cells each, all quoted."""
    rows = zip(*([head, *cells] for head, cells in columns), strict=True)
    lines = [separator.join(f"{quote}{cell}{quote}" for cell in row) for row in rows]
    (tmp_path / name).write_text("\n".join(lines) + "\n")
    return tmp_path / name


def column(tmp_path, name, cells, **options):
    reading = read(table(tmp_path, ("w", [f"{i % 7}.5" for i in range(len(cells))]), (name, cells)), **options)
    return reading, reading.column(name)


def test_two_values_with_a_few_cells_of_a_third_are_doubted_first(tmp_path):
    for cells, is_doubted in (
        (["ja", "nein", "nein"] * 30 + ["vielleicht"], True),
        (["yes", "no"] * 20 + ["maybe", "maybe", "?!"], True),
        (["left", "right"] * 100 + ["lefft"], True),
        (["left", "right", "middle"] * 30, False),
        (["yes", "no", "maybe"] * 30, False),
    ):
        reading, found = column(tmp_path, "Husten", cells)
        assert (found.role, bool(found.doubt)) == ("category", is_doubted)
        if is_doubted:
            assert reading.rows()[0][0] == "Husten"
            codes = found.doubt.rpartition("--missing-codes ")[2].strip("'").split(",")
            assert column(tmp_path, "Husten", cells, missing_codes=codes)[1].role == "binary"


# --- codes of missing answers -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ([1, 2, 3, 4, 5], 9),
        ([1, 2, 3, 4, 5], 99),
        ([1, 2, 3, 4, 5], -9),
        ([18, 35, 60, 71], 999),
        ([18, 35, 60, 71], -99),
        ([0.5, 1.25, 2.5, 3.75], -99),
        ([0.5, 1.25, 2.5, 3.75], 99),
        ([100.5, 180.25], 999),
        ([20, 41, 64], -1),
        ([1, 2, 3, 4], 8),
        ([10, 20, 75, 85, 90, 60, 95], 99),
    ],
)
def test_codes_of_missing_answers_are_named_and_can_be_removed(tmp_path, values, code):
    cells = [values[i % len(values)] + (0.25 * (i % 3) if isinstance(values[0], float) else 0) for i in range(60)] + [
        code
    ] * 5
    reading, found = column(tmp_path, "score", cells)
    assert str(code) in found.suspects
    option = f"score={code}" if abs(code) < 10 else f"{code}"  # A short one may be an answer in other columns.
    assert any(f"--missing-codes {option}" in line for line in reading.lines())
    _, empty = column(tmp_path, "score", [*cells[:60], *[""] * 5])
    for codes in ([code], [option]):
        without, found = column(tmp_path, "score", cells, missing_codes=codes)
        assert (found.n_missing, found.role, found.suspects) == (5, empty.role, empty.suspects)
        np.testing.assert_array_equal(np.isnan(without.values(["score"])[:, 0]), np.arange(65) >= 60)


def test_a_code_beside_the_last_of_many_values(tmp_path):
    ages = [18 + (7 * i) % 73 for i in range(300)]
    assert column(tmp_path, "age", [*ages, 99])[1].suspects == ("99",)
    assert column(tmp_path, "age", [*ages, 98, 99, 99])[1].suspects == ("99", "98")
    assert column(tmp_path, "age", [*ages, 92])[1].suspects == ()
    percent = [(37 * i) % 101 for i in range(303)]
    assert column(tmp_path, "rate", [*percent, *[99] * 15])[1].suspects == ("99",)
    assert column(tmp_path, "rate", percent)[1].suspects == ()


def test_a_code_of_one_column_is_a_value_in_others(tmp_path):
    path = table(tmp_path, ("a", [1, 2, 9, 9] * 9), ("b", [7, 8, 9, 10] * 9))
    data = read(path, missing_codes=["a=9"])
    assert [data.column(name).n_missing for name in "ab"] == [18, 0]
    path = table(tmp_path, ("a", ["1,5", "2,5", "-99,00"] * 9), ("b", ["7", "8", "9,5"] * 9), separator=";", quote="")
    assert read(path, missing_codes=[-99]).column("a").n_missing == 9
    with pytest.raises(LatentiaError, match="missing_codes='c': .*no such column"):
        read(path, missing_codes=["c=9"])


@pytest.mark.parametrize(
    "cells",
    [
        [18, 25, 99 - 4, 97, 98, 99],
        [-9, -8, -7, -6, 0, 3],
        [0.99, 0.5, 0.25, 1.0, 0.75, 0.1],
        [97, 133, 150, 162, 171, 204],  # A code that is no negative number is above the others.
        [38, 70, 41.5, 55, 62, 80, 90, 71, 98],  # Whole among whole ones.
    ],
)
def test_neighbours_of_other_values_are_no_codes(tmp_path, cells):
    assert column(tmp_path, "score", cells * 5)[1].suspects == ()


@pytest.mark.parametrize("empty", ["#N/A", "#DIV/0!", "--", ".", "missing", "NA", "?", "NULL", "n/a", ""])
def test_words_for_missing(tmp_path, empty):
    reading, found = column(tmp_path, "score", ["1.5", "2.25", empty, "3"])
    assert (found.role, found.n_missing) == ("measurement", 1)
    np.testing.assert_array_equal(reading.values(["score"])[:, 0], [1.5, 2.25, np.nan, 3])


# --- two values -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "positive"),
    [
        ("1", "0", "1"),
        ("1", "2", "1"),
        ("0", "100", "100"),
        ("yes", "no", "yes"),
        ("Yes", "No", "Yes"),
        ("True", "False", "True"),
        ("present", "absent", "present"),
        ("m", "f", "f"),
        ("ill", "well", "well"),
        ("1.5", "2.5", "2.5"),
        ("-1", "1", "1"),
        ("positive", "negative", "positive"),
        ("t", "f", "t"),
        ("high", "low", "low"),
    ],
)
def test_two_values_are_a_binary_column(tmp_path, first, second, positive):
    cells = [first, second, first, first, second] * 4
    reading, found = column(tmp_path, "b", cells)
    assert found.role == "binary"
    np.testing.assert_array_equal(reading.values(["b"])[:, 0], [cell == positive for cell in cells])
    other = second if positive == first else first
    turned, _ = column(tmp_path, "b", cells, positive={"b": other})
    np.testing.assert_array_equal(turned.values(["b"])[:, 0], [cell == other for cell in cells])


@pytest.mark.parametrize(("mark", "blank"), [("x", ""), ("t", "?"), ("yes", "")])
def test_blank_may_mean_absent(tmp_path, mark, blank):
    cells = [mark, blank, blank, mark] * 5
    reading, found = column(tmp_path, "b", cells)
    assert (found.role, found.n_missing) == ("binary", 10)
    assert "--empty absent" in found.doubt
    assert np.isnan(reading.values(["b"])).sum() == 10
    reading, found = column(tmp_path, "b", cells, empty="absent")
    assert reading.values(["b"])[:, 0].tolist() == [1, 0, 0, 1] * 5


# --- ids and clocks ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "cells", "role"),
    [
        ("Unnamed: 0", range(30), "id"),
        ("anything", range(1, 31), "id"),
        ("patient_id", 1000 + RNG.permutation(30) * 7, "id"),
        ("time", np.arange(30) * 5, "clock"),
        ("timestamp", 1_600_000_000 + np.arange(30) * 60, "clock"),
        ("year", range(1990, 2020), "clock"),
        ("height", 150 + RNG.permutation(30), "count"),
        ("time", RNG.permutation(30), "count"),
        ("x1", RNG.normal(size=30), "measurement"),
        ("score", range(50, 80), "count"),
        ("id", [1, 1, 2, 2, 3, 3] * 5, "count"),
        ("depth", np.arange(30) * 2.5, "measurement"),
    ],
)
def test_numbers_are_left_out_only_where_names_and_values_say_so(tmp_path, name, cells, role):
    reading, found = column(tmp_path, name, list(cells))
    assert found.role == role
    assert (name in reading.used) == (role in ("count", "measurement"))
    reading, found = column(tmp_path, name, list(cells), roles={name: "measurement"})
    assert name in reading.used


@pytest.mark.parametrize("name", ["lipid", "amount_paid", "bid", "acid", "Android", "NO"])
def test_words_that_end_as_ids_do_are_measured(tmp_path, name):
    reading, found = column(tmp_path, name, (100 + 7 * RNG.permutation(30)).tolist())
    assert (found.role, found.doubt, name in reading.used) == ("count", "", True)


@pytest.mark.parametrize(
    ("name", "cells", "role"),
    [
        ("hours", [3, 5, 7, 18, 43, 85, 91, 98, 100, 130, 230, 487], "count"),  # sorted times between failures
        ("time", np.cumsum(RNG.exponential(size=30) ** 2).round(3), "measurement"),
        ("year", [1900, 1904, 1906, 1908, 1912, 1920, 1924, 1948, 1952, 1980, 1999, 2004], "clock"),
        ("day", [3, 4, 5, 8, 9, 10, 11, 12, 15, 16, 17, 18], "clock"),
        ("stamp_time", 1_600_000_000 + np.cumsum(RNG.integers(1, 9999, 30)), "clock"),
    ],
)
def test_a_clock_ticks_and_a_sorted_duration_does_not(tmp_path, name, cells, role):
    reading, found = column(tmp_path, name, list(cells))
    assert (found.role, name in reading.used) == (role, role != "clock")
    assert role == "clock" or "--role" in found.doubt


def test_rows_are_counted_once(tmp_path):
    path = table(tmp_path, ("n", range(1, 31)), ("age", range(1, 31)), ("alive", RNG.integers(0, 900, 30)))
    data = read(path)
    assert [column.role for column in data.columns] == ["id", "count", "count"]
    assert "--role age=id" in data.column("age").doubt


@pytest.mark.parametrize(
    ("name", "cells", "role"),
    [
        ("tree", np.tile(np.arange(1, 31), 4), "group"),  # as often each
        ("v7", np.repeat(100 + 13 * RNG.permutation(30), RNG.integers(2, 6, 30)), "group"),  # side by side
        ("fips", RNG.integers(1, 60, 120), "group"),
        ("home_state", RNG.integers(1, 51, 120), "group"),
        ("schoolid", RNG.integers(1, 60, 120), "group"),
        ("ccode", RNG.integers(1, 999, 120), "group"),
        ("birth_year", RNG.integers(1930, 2000, 120), "clock"),
        ("q1", np.sort(RNG.choice(5000, 120, replace=False)), "id"),
    ],
)
def test_numbers_that_may_name_groups_or_rows_are_said(tmp_path, name, cells, role):
    _, found = column(tmp_path, name, list(cells))
    assert (found.role, f"--role {name}={role}" in found.doubt) == ("count", True)


@pytest.mark.parametrize("most", ["3+", "5 or more", ">4"])
def test_numbers_and_a_text_of_more_are_categories(tmp_path, most):
    reading, found = column(tmp_path, "children", [0, 1, 2, most, 1, 0] * 9)
    assert (found.role, reading.used) == ("category", ["w"])
    assert f"--missing-codes '{most}'" in found.doubt
    assert column(tmp_path, "children", [0, 1, 2, "refused", 1, 0] * 9)[1].role == "measurement"


@pytest.mark.parametrize("cells", [RNG.poisson(40, 200), np.sort(RNG.poisson(300, 90)), RNG.permutation(200)])
def test_measurements_that_come_back_are_no_groups(tmp_path, cells):
    assert column(tmp_path, "x", list(cells))[1].doubt == ""


def test_a_line_of_text_is_no_heading(tmp_path):
    text = "\n".join(f"Chapter {i}\t" + f"word{i} and much that follows it " * 9 for i in range(12))
    (tmp_path / "book.txt").write_text(text)
    assert look_at(tmp_path / "book.txt", ColumnOptions()).columns == ()


def test_a_word_inside_of_a_heading_is_no_receipt(tmp_path):
    gears = ("transmission_speed", ["M6", "A4", "M5"] * 10)
    path = table(tmp_path, gears, ("mfr_code", ["AB", "CD"] * 15), ("mpg", RNG.normal(20, 3, 30).round(1)))
    assert read(path).shape == "table"


def test_an_id_that_is_missing_in_places_orders_no_sequences(tmp_path):
    path = table(tmp_path, ("division_id", ["W", "E", "", "C"] * 10), ("x", RNG.normal(size=40).round(2)))
    assert read(path).shape == "table"


@pytest.mark.parametrize(
    "cells", [["007", "012", "101"], ["123456789012345678", "123456789012345679", "9"], ["p1", "p2", "p3"]]
)
def test_ids_keep_their_digits(tmp_path, cells):
    reading = read(table(tmp_path, ("code", cells), ("x", ["1.5", "2", "2.5"])))
    assert reading.column("code").role in ("id", "category")
    assert reading.texts("code") == cells


# --- numbers as people write them -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "values", "separator"),
    [
        (["45%", "7.5%", "100%"], [45, 7.5, 100], ","),
        (["$1,234", "$99", "$12,345.50"], [1234, 99, 12345.5], ","),
        (["1 234", "999", "12 345,5"], [1234, 999, 12345.5], ";"),
        (["1.234,56", "2,5", "12.345.678,9"], [1234.56, 2.5, 12345678.9], ";"),
        (["\u20ac5", "7 \u20ac", "-\u20ac3"], [5, 7, -3], ";"),
        (["(5)", "7", "8"], [-5, 7, 8], ","),
        (["1'234", "5", "6"], [1234, 5, 6], ","),
        (["1,5", "2", "3,25"], [1.5, 2, 3.25], ","),
        (["1,234,567", "1", "2"], [1234567, 1, 2], "\t"),
        (["1e3", "2.5E-1", "3"], [1000, 0.25, 3], ","),
    ],
)
def test_numbers_as_people_write_them(tmp_path, cells, values, separator):
    path = table(tmp_path, ("w", list("abc")), ("x", cells), separator=separator)
    np.testing.assert_allclose(read(path).values(["x"])[:, 0], values, rtol=1e-15)


@pytest.mark.parametrize(
    ("cells", "separator", "why"),
    [
        (["1,234", "5", "6"], "\t", "'1,234' is not a number"),
        (["1,5", "2.5", "3"], ";", "with a comma. Write all with the same"),
        (["45%", "0.5", "7%"], ",", "has no percent sign"),
        (["1,234,567", "1,5", "3"], ",", "Commas group thousands in some"),
    ],
)
def test_numbers_that_mean_two_things_are_refused(tmp_path, cells, separator, why):
    path = table(tmp_path, ("w", list("abc")), ("x", cells), separator=separator)
    with pytest.raises(LatentiaError, match=f"line . *, column 'x': .*{why}|line ., column 'x': .*{why}"):
        read(path).values(["x"])


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("day", ["24 Dec 2019", "3 Jan 2020", "1 Feb 2020"]),
        ("day", ["2019-12-24", "2020-01-03", "2020-02-01"]),
        ("day", ["24.12.2019", "03.01.2020", "01.02.2020"]),
        ("day", ["12/24/2019", "01/13/2020", "02/01/2020"]),
        ("day", ["December 24, 2019", "January 3, 2020", "February 1, 2020"]),
        ("month", ["Dec 2019", "Jan 2020", "Feb 2020"]),
        ("x", ["2019-12-24 10:30", "2020-01-03 00:00", "2020-02-01 23:59"]),
    ],
)
def test_dates_as_people_write_them(tmp_path, name, cells):
    assert column(tmp_path, name, cells)[1].role == "date"


@pytest.mark.parametrize(
    ("name", "cells", "says"),
    [
        ("date", [20191224, 20200103, 20191101], "20191224"),
        ("date", [43823, 43800, 43900], "spreadsheet"),
        ("created_time", [1.6e9, 1.61e9, 1.5e9], "1970"),
    ],
)
def test_numbers_that_may_be_dates_are_said(tmp_path, name, cells, says):
    assert says in column(tmp_path, name, cells)[1].doubt


# --- shapes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "Prices of 2020\n{}",
        "Prices of 2020\n\n{}",
        "Prices,,\n{}",
        "# made by us\n{}",
        "sep=,\n{}",
        "\n{}",
        "\ufeff{}",
    ],
)
def test_titles_above_the_headings(tmp_path, text):
    (tmp_path / "x.csv").write_text(text.format("a,b,c\nu,1.5,2\nv,2.5,4\nw,3.5,9\n"))
    reading = read(tmp_path / "x.csv")
    assert [column.name for column in reading.columns] == ["a", "b", "c"]
    assert reading.values(["b"])[:, 0].tolist() == [1.5, 2.5, 3.5]


@pytest.mark.parametrize(
    "text",
    [
        '"x" "y"\n"1" 2.5 3\n"2" 3.5 4\n"3" 1 2\n',
        "x,y\np,2.5,3\nq,3.5,4\nr,1,2\n",
        "x\ty\np\t2.5\t3\nq\t3.5\t4\nr\t1\t2\n",
    ],
)
def test_headings_that_are_one_shorter_name_rows(tmp_path, text):
    (tmp_path / "x.txt").write_text(text)
    from latentia.reading import ColumnOptions, open_table, reading_of

    reading = reading_of(open_table(tmp_path / "x.txt"), ColumnOptions())
    assert (reading.used, reading.column("row").role) == (["x", "y"], "id")
    assert reading.values().tolist() == [[2.5, 3], [3.5, 4], [1, 2]]


@pytest.mark.parametrize("name", ["a, b", 'say "a"', "two\nlines", "\U0001f600 mood", "a=b"])
def test_any_heading_can_be_named(tmp_path, name):
    import csv

    with open(tmp_path / "x.csv", "w", newline="") as file:
        csv.writer(file).writerows([[name, "y"], *([i + 0.5, i % 3] for i in range(12))])
    assert read(tmp_path / "x.csv", roles={name: "category"}).column(name).role == "category"


@pytest.mark.parametrize("corner", ["", "name", "node"])
def test_matrices_with_names_are_no_lists_of_edges(tmp_path, corner):
    names = ["ann", "bob", "cid", "dan"]
    A = np.array([[0, 1, 0, 2], [1, 0, 3, 0], [0, 3, 0, 1], [2, 0, 1, 0]])
    lines = [
        ",".join([corner, *names]),
        *(",".join([name, *map(str, row)]) for name, row in zip(names, A, strict=True)),
    ]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    graph = read_graph(tmp_path / "a.csv", directed=None)
    assert graph.names == names
    np.testing.assert_array_equal(graph.adjacency.toarray(), A)
    assert read_pairs(tmp_path / "a.csv").counts.sum() == A.sum()
    assert read(tmp_path / "a.csv").shape == "matrix"


@pytest.mark.parametrize("third", ["timestamp", "date", "year"])
def test_times_are_no_weights(tmp_path, third):
    (tmp_path / "e.csv").write_text(f"source,target,{third}\na,b,2001\nb,c,2003\nc,a,2002\n")
    assert set(read_graph(tmp_path / "e.csv").adjacency.data) == {1}


@pytest.mark.parametrize(
    ("heads", "options"),
    [
        (("InvoiceNo", "Description"), {}),
        (("order_id", "product"), {}),
        (("who", "what"), {"rows": "long", "columns": ["who", "what"]}),
    ],
)
def test_receipts_in_long_form(tmp_path, heads, options):
    path = table(
        tmp_path,
        (heads[0], ["1", "1", "2", "2", "2", "3"]),
        (heads[1], ["milk", "bread", "milk", "milk", "beer", "bread"]),
    )
    assert read_baskets(path, **options)[0] == [["milk", "bread"], ["milk", "beer"], ["bread"]]


def test_empty_lines_between_baskets(tmp_path):
    for end in ("\n", "\r\n"):
        (tmp_path / "b.txt").write_bytes(f"milk, bread{end}{end}beer{end}{end}".encode())
        assert read_baskets(tmp_path / "b.txt") == ([["milk", "bread"], ["beer"]], [1, 3])
        assert read_baskets(tmp_path / "b.txt", empty="absent") == ([["milk", "bread"], [], ["beer"]], [1, 2, 3])


def test_chains_between_commas_in_a_csv_file(tmp_path):
    (tmp_path / "x.csv").write_text("B,A,B,C\nA,A,C\n" * 5)
    data = read_sequences(tmp_path / "x.csv")
    assert data.lengths.tolist() == [4, 3] * 5
    assert data.steps[:7].tolist() == list("BABCAAC")


def test_blank_rows_between_titles(tmp_path):
    (tmp_path / "x.csv").write_text("Report,,\nmade in May,,\n,,\na,b,c\n1,2.5,x\n2,3.5,y\nTotal,6,\n")
    data = read(tmp_path / "x.csv")
    assert [column.name for column in data.columns] == ["a", "b", "c"]
    assert "Report; made in May" in data.notes[0]
    assert "line 7, the last, begins with 'Total'" in data.notes[1]
    words = column(tmp_path, "rating", ["High", "Average", "Low", "Average"])[0]
    assert words.notes == ()  # A word that stands in other rows sums nothing up.


@pytest.mark.parametrize("order", [[0, 1, 2] * 10, [0, 0, 1, 2, 1] * 6, [2, 1, 0] * 10])
def test_rows_of_several_users_are_put_together(tmp_path, order):
    path = table(tmp_path, ("user", [f"u{i}" for i in order]), ("page", ["ab"[i % 2] for i in range(30)]))
    data = read_sequences(path, column="page", sequence="user")
    assert sorted(data.lengths.tolist()) == sorted(np.bincount(order).tolist())
    assert "--sequence user" in " ".join(read(path).notes)


@pytest.mark.parametrize(
    ("text", "steps", "lengths"),
    [
        ("a,b,a\nb,c\n", "ababc", [3, 2]),
        ("a, b, a\nb, c\n", "ababc", [3, 2]),
        (">x\nAC\nGT\n>y\nAA\n", "ACGTAA", [4, 2]),
        ("a b a\nb c\n", "ababc", [3, 2]),
    ],
)
def test_chains_in_lines(tmp_path, text, steps, lengths):
    (tmp_path / "s.txt").write_text(text)
    data = read_sequences(tmp_path / "s.txt")
    assert ("".join(data.steps), data.lengths.tolist()) == (steps, lengths)


TEXTS = [f"the {word} house stands by a long river in the old town" for word in ("red", "blue", "green", "white")]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("form", ["lines", "array", "nested"])
def test_texts_in_json(tmp_path, form, packed):
    items = [{"id": f"d{i}", "body": text, "year": 2000 + i} for i, text in enumerate(TEXTS)]
    text = (
        "\n".join(map(json.dumps, items))
        if form == "lines"
        else json.dumps(items if form == "array" else {"rows": items}, indent=form == "nested")
    )
    path = tmp_path / ("x.json.gz" if packed else "x.json")
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    found = readers.read_texts(path)
    assert (found.texts, found.names, found.columns["year"]) == (
        TEXTS,
        ["d0", "d1", "d2", "d3"],
        ["2000", "2001", "2002", "2003"],
    )


def test_texts_in_parquet(tmp_path):
    import polars as pl

    pl.DataFrame({"text": TEXTS, "n": [1, 2, 3, 4]}).write_parquet(tmp_path / "x.parquet")
    assert readers.read_texts(tmp_path / "x.parquet").texts == TEXTS
    assert not readers.holds_counts(tmp_path / "x.parquet")


@pytest.mark.parametrize(
    "heads", [("document", "term", "count"), ("doc_id", "word", "n"), ("term", "document", "freq")]
)
def test_a_row_for_each_document_and_word(tmp_path, heads):
    cells = {"d": ["x", "x", "y", "y"], "w": ["red", "blue", "red", "sky"], "n": ["2", "1", "1", "3"]}
    order = "wdn" if heads[0] == "term" else "dwn"
    path = table(tmp_path, *((head, cells[key]) for head, key in zip(heads, order, strict=True)))
    corpus = readers.read_corpus(path, min_df=1, max_df=1.0, stop_words=None)
    assert (corpus.vocabulary, corpus.names) == (["red", "blue", "sky"], ["x", "y"])
    np.testing.assert_array_equal(corpus.counts.toarray(), [[2, 1, 0], [1, 0, 3]])


def test_a_table_of_counts(tmp_path):
    counts = RNG.poisson(2, size=(20, 12))
    path = table(
        tmp_path, ("doc", [f"d{i}" for i in range(20)]), *((f"word{chr(97 + j)}", counts[:, j]) for j in range(12))
    )
    corpus = readers.read_corpus(path, min_df=1, max_df=1.0, stop_words=None)
    assert corpus.names == [f"d{i}" for i in range(20)]
    np.testing.assert_array_equal(corpus.counts.toarray(), counts)


def test_a_table_of_counts_with_an_empty_cell_is_no_corpus(tmp_path):
    counts = RNG.poisson(2, size=(20, 12)).astype(object)
    counts[3, 4] = ""
    path = table(tmp_path, *((f"word{chr(97 + j)}", counts[:, j]) for j in range(12)))
    with pytest.raises(LatentiaError):
        readers.read_corpus(path, min_df=1, max_df=1.0, stop_words=None)


# --- tags -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "tags"),
    [
        (["['a', 'b']", "nan", "['b']"], [["a", "b"], [], ["b"]]),
        (['["a","b"]', "", '["c"]'], [["a", "b"], [], ["c"]]),
        (["#a #b", "#b", "#c"], [["a", "b"], ["b"], ["c"]]),
        (["__label__a __label__b", "__label__b", ""], [["a", "b"], ["b"], []]),
        (["{'a', 'b'}", "{'c'}", ""], [["a", "b"], ["c"], []]),
        (["a; b", "b", "c"], [["a", "b"], ["b"], ["c"]]),
        (["<a><b>", "<b>", ""], [["a", "b"], ["b"], []]),
    ],
)
def test_lists_of_tags_in_cells(cells, tags):
    assert readers.split_tags(cells) == tags


def test_frames_are_read_as_files_are(tmp_path):
    pd = pytest.importorskip("pandas")
    path = table(
        tmp_path,
        ("pid", [f"p{i}" for i in range(12)]),
        ("ill", ["yes", "no", "no"] * 4),
        ("x", RNG.normal(size=12).round(3)),
    )
    frame = pd.read_csv(path)
    found, again = read(path), read(frame)
    assert [(c.name, c.role) for c in found.columns] == [(c.name, c.role) for c in again.columns]
    np.testing.assert_array_equal(found.values(), again.values())
    assert len(found.lines()) <= 8
    assert "<table>" in found._repr_html_()


@pytest.mark.parametrize("n", [4999, 5000, 5001, 12_345])
def test_long_columns_have_the_roles_of_short_ones(tmp_path, n):
    columns = {
        "town": ["Bern", "Ulm", "Graz"], "note": [f"{word} was seen by us here" for word in ("fox", "owl")],
        "share": ["12,5 %", "7,5 %"], "size": ["0.5", "1.25", "2"], "day": ["2020-02-01", "2021-03-04"],
    }  # fmt: skip
    long, short = (
        read(
            table(tmp_path, *((name, [cells[i % len(cells)] for i in range(rows)]) for name, cells in columns.items()))
        )
        for rows in (n, 60)
    )
    for name in columns:
        assert long.column(name).role == short.column(name).role
        assert long.column(name).n_missing == 0


def test_a_file_of_headings_alone_is_an_error(tmp_path):
    for text in ("Patient;Alter;Fieber;Husten\n", "a,b,c\n"):
        (tmp_path / "x.csv").write_text(text)
        for look in (read, lambda path: look_at(path, ColumnOptions())):
            with pytest.raises(LatentiaError, match="no rows below the header"):
                look(tmp_path / "x.csv")


def test_days_of_frames_and_parquet_have_no_time():
    pl = pytest.importorskip("polars")
    days = [datetime(2024, 8, 1 + i) for i in range(20)]
    times = [datetime(2024, 8, 1 + i, 9, 30) for i in range(20)]
    reading = read(pl.DataFrame({"day": days, "time": times, "x": range(20)}))
    assert reading.texts("day")[:2] == ["2024-08-01", "2024-08-02"]
    assert reading.texts("time")[0].startswith("2024-08-01T09:30:00")
    assert [reading.column(name).role for name in ("day", "time")] == ["date", "date"]
