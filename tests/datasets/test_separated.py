"""Separators, encodings, decimal commas, workbooks, and cells without a value."""

import datetime
import gzip
import io
import re
import sys
import warnings
import zipfile

import numpy as np
import pytest

from latentia.datasets import read_pairs, read_table, read_text_pairs
from latentia.datasets.readers import read_corpus, read_texts
from latentia.datasets.tables import CellError, ColumnChoice
from latentia.exceptions import DroppedDataWarning, FileNotice, LatentiaError
from latentia.passes import Blocks
from latentia.reading._dialect import SAMPLE
from latentia.reading._tables import _Text


def write(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return path


def everything(kinds):
    return ColumnChoice([n for n in kinds if kinds[n] != "text"], [n for n in kinds if kinds[n] == "text"])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.csv", "id,a,b\nu,1.5,2\nv,3,4\n"),
        ("x.csv", "id;a;b\nu;1,5;2\nv;3,0;4\n"),
        ("x.csv", "id;a;b\nu;1.5;2\nv;3;4\n"),
        ("x.csv", "id\ta\tb\nu\t1,5\t2\nv\t3\t4\n"),
        ("x.csv", "id|a|b\nu|1.5|2\nv|3|4\n"),
        ("x.csv", "sep=;\nid;a;b\nu;1,5;2\nv;3,0;4\n"),
        ("x.csv", "sep=|\r\nid|a|b\r\nu|1,5|2\r\nv|3|4"),
        ("x.tsv", "id;a;b\nu;1.5;2\nv;3;4\n"),
        ("x.csv", '"id";"a";"b"\n"u";"1,5";"2"\n"v";"3";"4"\n'),
        ("x.dat", "id a b\nu 1.5 2\nv 3 4\n"),
        ("x.txt", "  id   a  b\n  u  1.5  2 \n  v    3  4\n"),
    ],
)
def test_any_separator(tmp_path, name, text):
    table = read_table(write(tmp_path / name, text), everything)
    np.testing.assert_array_equal(table.values, [[1.5, 2], [3, 4]])
    assert (table.columns, table.texts) == (["a", "b"], {"id": ["u", "v"]})
    first = 1 + text.lower().startswith("sep=")
    assert (list(table.rows), table.unit) == ([first + 1, first + 2], "line")


@pytest.mark.parametrize(
    ("text", "noted"),
    [
        (
            "id;a;b\nu;1,500;1\nv;900;2\nw;-2,250;3\n",
            "x.csv, column 'a': all commas stand before .*: 1,500 is 1.500. If they group",
        ),
        ("id;a;b\nu;1,500;2,000\nv;1,750;3,000\n", "column 'a', 'b': all commas stand before three digits"),
        ("id;a;b\nu;1,500;2\nv;1,75;3\n", None),
        ("id;a;b\nu;1,500;2,5\nv;1,750;3,5\n", None),  # another column says what commas are
        ("id;a;b\nu;0,125;2\nv;0,250;3\n", None),
        ("id\ta\tb\nu\t0,125\t2\nv\t0,250\t3\n", None),
    ],
)
def test_commas_that_may_group_thousands_are_told(tmp_path, text, noted):
    path = write(tmp_path / "x.csv", text)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        table = read_table(path, everything)
    first = text.splitlines()[1].replace("\t", ";").split(";")[1]
    assert table.values[0, 0] == float(first.replace(",", "."))
    assert [bool(re.search(noted or "$^", str(one.message))) for one in heard] == [True] * (noted is not None)
    assert all(isinstance(one.message, FileNotice) for one in heard)


def test_of_several_separators_the_one_that_cuts_all_rows_alike(tmp_path):
    table = read_table(write(tmp_path / "x.csv", "a (x, y);b\n1,5;2\n2;3,25\n"))
    assert table.columns == ["a (x, y)", "b"]
    np.testing.assert_array_equal(table.values, [[1.5, 2], [2, 3.25]])
    texts = read_texts(write(tmp_path / "t.csv", "id,text; in English\n1,red\n2,blue\n"), column="text; in English")
    assert texts.texts == ["red", "blue"]
    assert read_texts(write(tmp_path / "t.csv", "my text\nred house\nblue house\n")).texts == [
        "red house",
        "blue house",
    ]
    pairs = read_pairs(write(tmp_path / "p.csv", "from;to\nred;house\nblue;house\n"))
    assert pairs.words == ["red", "house", "blue"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id;a\nu;1,5\nv;2.5\n", "line 3, column 'a': a number with a point, and one in line 2 with a comma"),
        ("id\ta\nu\t1,234\nv\t2\n", "line 2, column 'a': '1,234' is not a number. Write decimals with a point, and thousands"),
        ("id,a\nu,1\nv,2_0\n", "line 3, column 'a': '2_0' is not a number"),
        ("a;b\n1;2\n3\n", "line 3: 1 fields, and the header has 2. Put fields that contain ';'"),
    ],
)  # fmt: skip
def test_numbers_that_could_mean_two_things(tmp_path, text, message):
    with pytest.raises(LatentiaError, match=f"x.csv, {message}"):
        read_table(write(tmp_path / "x.csv", text), lambda kinds: ColumnChoice(["a"]))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"])
@pytest.mark.parametrize("packed", [False, True])
def test_any_encoding(tmp_path, encoding, packed):
    text = "id;text\n1;gar\u00e7on \u2013 20 \u20ac\n2;caf\u00e9\n".encode(encoding)
    name = "x.csv.gz" if packed else "x.csv"
    (tmp_path / name).write_bytes(gzip.compress(text, mtime=0) if packed else text)
    wanted = ["gar\u00e7on \u2013 20 \u20ac", "caf\u00e9"]
    if encoding == "cp1252":
        with pytest.warns(
            FileNotice, match="is not UTF-8 and was read as Windows-1252 .Latin-1.. encoding= names another"
        ):
            assert read_texts(tmp_path / name).texts == wanted
    assert read_texts(tmp_path / name, encoding=encoding).texts == wanted


@pytest.mark.parametrize("encoding", ["ascii", "utf-8", "utf-8-sig", "utf-16", "utf-16-be", "cp1252", "cp1251"])
def test_tables_that_are_longer_than_the_sample(tmp_path, encoding):
    """Those of ASCII are read from the disk; a letter of another alphabet at the end, or an encoding, makes no difference."""
    n = 2 * SAMPLE // len("10,2.5,red")
    word = {"ascii": "red", "cp1251": "красный"}.get(encoding, "grün")
    text = "a,b,t\n" + "10,2.5,red\n" * n + f"20,3.5,{word}\n"
    (tmp_path / "x.csv").write_bytes(text.encode(encoding))
    named = encoding if encoding in ("utf-16-be", "cp1251") else None
    table = read_table(tmp_path / "x.csv", lambda kinds: ColumnChoice(["a", "b"], ["t"]), encoding=named)
    assert len(table.values) == n + 1
    np.testing.assert_array_equal(table.values[[0, -1]], [[10, 2.5], [20, 3.5]])
    assert (table.texts["t"][0], table.texts["t"][-1]) == ("red", word)
    assert (_Text.open(tmp_path / "x.csv", named).data is None) == (encoding == "ascii")


@pytest.mark.parametrize("signature", ["%PDF-1.4", "PAR1"])
def test_long_files_of_another_kind_are_no_tables(tmp_path, signature):
    (tmp_path / "x.csv").write_text(f"{signature},a\n" + "1,2\n" * SAMPLE)
    with pytest.raises(LatentiaError, match="x.csv"):
        read_table(tmp_path / "x.csv")


def test_encodings_that_are_named(tmp_path):
    path = write(tmp_path / "x.txt", "\u0434\u043e\u043c\n", "cp1251")
    assert read_texts(path, encoding="cp1251").texts == ["\u0434\u043e\u043c"]
    assert read_corpus(path, encoding="cp1251", min_df=1, max_df=1.0).vocabulary == ["\u0434\u043e\u043c"]
    with pytest.raises(
        LatentiaError, match="x.txt, line 1: not UTF-8 text .byte 0xe4.. Save it as UTF-8, or name its enc"
    ):
        read_texts(path, encoding="utf-8")
    for encoding in ("klingon", "hex", 5):
        with pytest.raises(LatentiaError, match=f"^encoding={encoding!r}: expected a text encoding"):
            read_texts(path, encoding=encoding)


def test_the_line_of_what_is_not_text(tmp_path):
    for end in ("\n", "\r\n", "\r"):
        path = tmp_path / "x.txt"
        path.write_bytes((f"caf\u00e9{end}" * 700_000).encode() + b"caf\xe9")
        with pytest.raises(LatentiaError, match="x.txt, line 700001: not UTF-8 text .byte 0xe9"):
            read_texts(path)


def test_a_vocabulary_of_any_encoding(tmp_path):
    (tmp_path / "docword.x.txt").write_text("1\n2\n1\n1 2 3\n")
    write(tmp_path / "vocab.x.txt", "caf\u00e9\nna\u00efve\n", "cp1252")
    with pytest.warns(FileNotice, match=r"vocab\.x\.txt: is not UTF-8"):
        assert Blocks.from_files(tmp_path / "docword.x.txt").names == ["caf\u00e9", "na\u00efve"]


# --- folders ----------------------------------------------------------------------------------------------------


def test_files_of_a_folder_that_are_no_texts_are_left_out(tmp_path):
    write(tmp_path / "a.txt", "red house")
    write(tmp_path / "b.txt", "caf\u00e9", "cp1252")
    (tmp_path / "c.pdf").write_bytes(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
    (tmp_path / "d.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    (tmp_path / "e.bin").write_bytes(bytes(range(256)))
    (tmp_path / "f.txt.gz").write_bytes(gzip.compress(b"blue house" * 99, mtime=0)[:-9])
    with pytest.warns() as said:
        texts = read_texts(tmp_path)
    assert (texts.texts, texts.names) == (["red house", "caf\u00e9"], ["a.txt", "b.txt"])
    assert texts.skipped == ["c.pdf", "d.png", "e.bin", "f.txt.gz"]
    assert [warning.category for warning in said] == [DroppedDataWarning, FileNotice]
    assert "4 of 6 files were left out. c.pdf: not a text file, but a PDF document. Save" in str(said[0].message)
    assert "f.txt.gz: the compressed file is damaged" in str(said[0].message)
    assert "read as Windows-1252 (Latin-1): b.txt." in str(said[1].message)


def test_a_folder_without_any_text(tmp_path):
    (tmp_path / "c.pdf").write_bytes(b"%PDF-1.4\n")
    with pytest.raises(
        LatentiaError, match="none of its 1 files can be read as text. c.pdf: not a text file, but a PDF"
    ):
        read_texts(tmp_path)
    with pytest.raises(LatentiaError, match="^encoding='x'"):
        read_texts(tmp_path, encoding="x")


def test_a_folder_of_a_bag_of_words(tmp_path):
    (tmp_path / "docword.txt").write_text("1\n2\n1\n1 2 3\n")
    (tmp_path / "vocab.txt").write_text("red\nblue\n")
    for _ in range(2):  # without and with its cache
        corpus = read_corpus(tmp_path)
        assert corpus.vocabulary == ["red", "blue"]
        np.testing.assert_array_equal(corpus.counts.toarray(), [[0, 3]])


def test_other_files_beside_a_bag_of_words_are_no_texts(tmp_path):
    for name, count in (("train", 3), ("test", 4)):
        write(tmp_path / f"docword-{name}.txt", f"1\n2\n1\n1 2 {count}\n")
    write(tmp_path / "vocab.txt", "red\nblue\n")
    write(tmp_path / "labels.txt", "1\n")
    with pytest.warns(FileNotice, match=r"docword-train.txt was read, and not docword-test.txt, labels.txt\.") as said:
        corpus = read_corpus(tmp_path, cache=False)
    assert (corpus.vocabulary, corpus.counts.sum(), len(said)) == (["red", "blue"], 3, 1)
    (tmp_path / "docword-train.txt").rename(tmp_path / "docword-rest.txt")
    with pytest.raises(
        LatentiaError, match=r"2 tables of counts: docword-rest.txt, docword-test.txt. Name one of them"
    ):
        read_corpus(tmp_path)


# --- workbooks --------------------------------------------------------------------------------------------------


def workbook(path, *sheets):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for i, rows in enumerate(sheets):
        sheet = book.create_sheet(f"sheet {i}")
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def test_the_first_sheet_of_a_workbook(tmp_path):
    day = datetime.date(2020, 2, 1)
    rows = [["a", "b", "day", "text"], [1, 2.5, day, "red house"], [], [True, 0.1, day, "blue house"]]
    path = workbook(tmp_path / "x.xlsx", rows)
    table = read_table(path, everything)
    np.testing.assert_array_equal(table.values, [[1, 2.5], [1, 0.1]])
    assert table.texts == {"day": ["2020-02-01"] * 2, "text": ["red house", "blue house"]}
    assert (table.rows, table.unit) == ([2, 4], "row")
    assert read_texts(path).names == ["row 2", "row 4"]
    assert read_text_pairs(path, min_count=2).words == ["house"]
    path = workbook(tmp_path / "two.xlsx", rows, [["z"]])
    with pytest.warns(FileNotice, match=r"two\.xlsx: of 2 sheets the first, 'sheet 0', was read"):
        read_table(path)


def test_sheets_by_name_and_number_and_hidden_ones(tmp_path):
    path = workbook(tmp_path / "x.xlsx", [["a"], [1]], [["b"], [2]], [["c"], [3]])
    columns = {sheet: read_table(path, sheet=sheet).columns for sheet in ("sheet 1", "1", "3")}
    assert columns == {"sheet 1": ["b"], "1": ["a"], "3": ["c"]}
    for sheet in ("0", "4", "-1", "sheet 9"):
        with pytest.raises(LatentiaError, match="no such sheet. There are sheet 0, sheet 1, sheet 2"):
            read_table(path, sheet=sheet)
    book = pytest.importorskip("openpyxl").load_workbook(path)
    book.worksheets[0].sheet_state = book.worksheets[2].sheet_state = "hidden"
    book.save(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_table(path).columns == ["b"]
    assert read_table(path, sheet="1").columns == ["a"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([["a", "b"], [1, None], [2, 3]], "x.xlsx, row 2, column 'b': no value .''.. Fill it in or delete the row."),
        ([["a", "b"], [1, "x"], [2, 3], [4, 5]], "x.xlsx, row 2, column 'b': 'x' is not a number"),
        ([["a"], [1], [1, 2]], "x.xlsx, row 3: expected 1 cells as in the headings, row 1, and found 2"),
        ([], "x.xlsx: the first sheet is empty"),
        ([["a", "a"], [1, 2]], "x.xlsx, line 1: two columns are called 'a'"),
    ],
)
def test_sheets_that_are_no_tables(tmp_path, rows, message):
    with pytest.raises(LatentiaError, match=message):
        read_table(workbook(tmp_path / "x.xlsx", rows))


def test_damaged_workbooks(tmp_path):
    path = workbook(tmp_path / "x.xlsx", [["a"], [1]])
    data = path.read_bytes()
    for damaged in (b"", data[:-30], b"text"):
        path.write_bytes(damaged)
        with pytest.raises(LatentiaError, match="x.xlsx: not a readable (zip archive|Excel workbook)"):
            read_table(path)
    with zipfile.ZipFile(io.BytesIO(data)) as parts:
        files = {name: parts.read(name) for name in parts.namelist()}
    sheet = next(name for name in files if "sheet1.xml" in name)
    files[sheet] = files[sheet].replace(b'r="A2"', b'r="XFD1048576"').replace(b'<row r="2"', b'<row r="1048576"')
    with zipfile.ZipFile(path, "w") as parts:
        for name, content in files.items():
            parts.writestr(name, content)
    with pytest.raises(LatentiaError, match="x.xlsx, row .*too many empty cells for a file of this size"):
        read_table(path)


def test_workbooks_without_the_package(tmp_path, monkeypatch):
    (tmp_path / "x.xlsx").write_bytes(b"PK")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(
        LatentiaError, match=r"unless you save the sheet as .csv, needs the package 'openpyxl', which is not installed"
    ):
        read_table(tmp_path / "x.xlsx")
    for name in ("x.xls", "x.ods"):
        (tmp_path / name).write_bytes(b"")
        with pytest.raises(LatentiaError, match=f"{name}: expected a table as .csv, .tsv, .xlsx"):
            read_table(tmp_path / name)


# --- missing values ---------------------------------------------------------------------------------------------

HOLES = "a,b,t\n1,2,x\n,4,y\n5,NA,z\n7,8,\n9,4,w\n"


def parquet(path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = {"a": [1, None, 5, 7, 9], "b": [2.0, 4.0, float("nan"), 8.0, 4.0], "t": ["x", "y", "z", None, "w"]}
    parquet.write_table(pa.table(columns), path)
    return path


@pytest.mark.parametrize("kind", ["csv", "xlsx", "parquet"])
def test_rows_that_lack_a_value_are_left_out(tmp_path, kind):
    path = tmp_path / f"x.{kind}"
    if kind == "csv":
        write(path, HOLES)
    elif kind == "xlsx":
        workbook(path, [["a", "b", "t"], [1, 2, "x"], [None, 4, "y"], [5, None, "z"], [7, 8, None], [9, 4, "w"]])
    else:
        parquet(path)
    unit, first = ("line", 2) if kind == "csv" else ("row", 2 if kind == "xlsx" else 1)
    lacking = f"{unit} {first + 1}, {first + 2}, {first + 3}"
    with pytest.warns(DroppedDataWarning, match=f"3 of 5 rows lack a value and were left out: {lacking}; 1 in 'a', "):
        table = read_table(path, everything, missing="drop")
    np.testing.assert_array_equal(table.values, [[1, 2], [9, 4]])
    assert (table.texts, list(table.rows)) == ({"t": ["x", "w"]}, [first, first + 4])
    assert (table.n_dropped, table.n_filled, table.unit) == (3, 0, unit)
    with pytest.warns(
        FileNotice, match="2 cells without a value were filled with the mean of their column: 1 in 'a', 1 in 'b'"
    ):
        table = read_table(path, missing="mean")
    np.testing.assert_array_equal(table.values, [[1, 2], [5.5, 4], [5, 4.5], [7, 8], [9, 4]])
    assert (table.n_dropped, table.n_filled) == (0, 2)
    with pytest.raises(CellError, match=f"{unit} {first + 3}, column 't': no value, and texts have no mean"):
        read_table(path, everything, missing="mean")
    with pytest.raises(CellError, match=f"{unit} {first + 1}, column 'a': no value.* missing='drop' leaves") as error:
        read_table(path)
    assert error.value.missing


def test_findings_without_a_value(tmp_path):
    path = write(tmp_path / "x.csv", "fever,cough\ntrue,0\n?,1\nfalse,true\n")
    with pytest.warns(DroppedDataWarning, match="1 of 3 rows lack a value and were left out: line 3; 1 in 'fever'"):
        np.testing.assert_array_equal(read_table(path, missing="drop").values, [[1, 0], [0, 1]])


@pytest.mark.parametrize(
    ("text", "missing", "message"),
    [
        ("a,b\n1,\n,2\n", "drop", "x.csv: each of the 2 rows lacks a value.*1 in 'a', 1 in 'b'"),
        ("a,b\n1,\n3,\n", "mean", "x.csv, column 'b': expected at least one value for a mean"),
        ("a,b\n1,inf\n3,\n", "mean", "line 2, column 'b': 'inf' is not a number"),
        ("a,b\n1,x\n3,\n", "drop", "line 2, column 'b': 'x' is not a number"),
        ("a,b\n1,2\n", "median", "^missing='median': expected 'error', 'drop', 'mean' or 'keep'"),
    ],
)
def test_what_missing_cannot_mend(tmp_path, text, missing, message):
    with pytest.raises(LatentiaError, match=message):
        read_table(write(tmp_path / "x.csv", text), lambda kinds: ColumnChoice(["a", "b"]), missing=missing)


def test_a_mean_of_large_numbers(tmp_path):
    path = write(tmp_path / "x.csv", "a,b\n1e308,1\n1.5e308,2\n,3\n")
    with pytest.warns(FileNotice):
        assert read_table(path, missing="mean").values[2, 0] == pytest.approx(1.25e308)


def test_missing_numbers_never_pass_as_blocks(tmp_path):
    path = parquet(tmp_path / "x.parquet")
    with pytest.raises(LatentiaError, match="x.parquet, row 2, column 'a': no value. Correct it, or drop the row"):
        Blocks.from_files(path, columns=["a", "b"])
    with pytest.raises(LatentiaError, match="x.parquet, row 3, column 'b': nan is not a number"):
        Blocks.from_files(path, columns=["b"])


@pytest.mark.parametrize(
    ("name", "text", "options", "message"),
    [
        ("docword.x.txt", "2147483647\n3\n1\n1 1 1\n", {}, "lines 1 and 2: 2147483647 rows and 3 columns, in a file of 21"),
        ("docword.x.txt", "3\n2147483647\n1\n1 1 1\n", {}, "lines 1 and 2: 3 rows and 2147483647 columns, in a file"),
        ("x.svm", "0 0:1\n0 2147483646:1\n", {}, "line 2: expected features from 0 to 9999999, not 2147483646.*n_features="),
        ("x.svm", "0 0:1\n2147483646 1:1\n", {}, "line 2: expected labels from 0 to 9999999, not 2147483646.*give n_labels="),
        ("x.svm", "1 2147483647 2\n0 0:1\n", {"format": "svmlight"}, "says 2147483647 features.*If that is right, give n_feat"),
        ("x.txt", "0 1\n0 2147483646\n", {"format": "pairs"}, "line 2: expected two whole numbers from 0 to 10000000, found"),
    ],
)  # fmt: skip
def test_one_large_number_takes_no_memory(tmp_path, name, text, options, message):
    with pytest.raises(LatentiaError, match=f"{name}.*{message}"):
        Blocks.from_files(write(tmp_path / name, text), **options)
    if name == "x.svm" and not options:
        blocks = Blocks.from_files(tmp_path / name, n_features=2**31 - 1, n_labels=2**31 - 1)
        assert blocks.shapes == ((2, 2**31 - 1), (2, 2**31 - 1))


def test_one_large_number_of_an_array(tmp_path):
    np.save(tmp_path / "x.npy", np.array([[0, 1], [5, 2147483000]]))
    for read in (read_pairs, Blocks.from_files):
        with pytest.raises(LatentiaError, match="x.npy: Pair 1 has the word 2147483000. Expected whole numbers"):
            read(tmp_path / "x.npy")
    np.save(tmp_path / "x.npy", np.array([[0, 1, 1], [5, 2, np.nan]]))
    with pytest.raises(LatentiaError, match="x.npy: Pair 1 is counted nan times"):
        Blocks.from_files(tmp_path / "x.npy")


@pytest.mark.parametrize("line_break", ["\r", "\n", "\r\n", "\r \r\r"])
@pytest.mark.parametrize("end", ["\r", "\n", "\r\n"])
@pytest.mark.parametrize("n_rows", [1, 2, 5])
def test_no_row_is_lost_below_headings_with_line_breaks(tmp_path, line_break, end, n_rows):
    lines = [f'a,"b{line_break}c",d', *(f"{i},{i}.5,0" for i in range(n_rows)), ""]
    (tmp_path / "x.csv").write_bytes(end.join(lines).encode())
    found = read_table(tmp_path / "x.csv")
    assert found.columns == ["a", f"b{line_break}c", "d"]
    np.testing.assert_array_equal(found.values, [[i, i + 0.5, 0] for i in range(n_rows)])
