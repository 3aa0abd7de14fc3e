"""Tables with named columns."""

import gzip
import os
import threading

import numpy as np
import pytest

from latentia.datasets import read_table
from latentia.datasets.tables import CellError, ColumnChoice
from latentia.exceptions import LatentiaError
from latentia.passes import Blocks

CSV = 'id,name,x\n1,"a, b",0.5\n\n2,c,"1.5"\n'


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.csv", CSV.encode()),
        ("X.CSV.GZ", gzip.compress(CSV.encode(), mtime=0)),
        ("x.csv", CSV.replace("\n", "\r").encode("utf-8-sig")),
        ("x.csv", CSV.encode("utf-16")),
        ("x.tsv", CSV.replace('"a, b"', "a; b").replace(",", "\t").replace(";", ",").encode()),
    ],
)
def test_columns_of_numbers_are_read_by_default(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    table = read_table(tmp_path / name)
    np.testing.assert_array_equal(table.values, [[1, 0.5], [2, 1.5]])
    assert (table.columns, table.left_out, table.unit) == (["id", "x"], ["name"], "line")
    assert table.rows == [2, 4]
    table = read_table(tmp_path / name, lambda kinds: ColumnChoice(["x"], [n for n in kinds if kinds[n] == "text"]))
    assert (table.columns, table.texts) == (["x"], {"name": ["a, b", "c"]})


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_read_to_its_end(tmp_path):
    os.mkfifo(tmp_path / "x.csv")
    text = "a,b\n" + "1,2\n" * 40_000
    threading.Thread(target=(tmp_path / "x.csv").write_text, args=(text,), daemon=True).start()
    assert read_table(tmp_path / "x.csv").values.shape == (40_000, 2)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "a,b\n1,2\n3,\n",
            "x.csv, line 3, column 'b': no value (''). Fill it in or delete the line. missing='drop' leaves",
        ),
        ("a,b\n1,2\n3,4\n3,x\n", "x.csv, line 4, column 'b': 'x' is not a number. Correct it."),
    ],
)
def test_cells_that_are_no_numbers(tmp_path, content, message):
    (tmp_path / "x.csv").write_text(content)
    with pytest.raises(CellError) as error:
        read_table(tmp_path / "x.csv")
    assert message in str(error.value)
    assert "missing=" not in error.value.problem


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"a,b\n1,2\n\xff\x81,3\n", "line 3: not UTF-8 text .byte 0xff"),
        (gzip.compress(b"a,b\n1,2\n" * 99, mtime=0)[:-9], "damaged or truncated"),
        (b"a,b\n1,2\n1\n", "line 3: 1 fields, and the header has 2"),
        (b'a,b\n1,2\n"1,2\n', "line 3: not readable as CSV"),
    ],
)
def test_damaged_files(tmp_path, content, message):
    (tmp_path / "x.csv").write_bytes(content)
    with pytest.raises(LatentiaError, match=f"x.csv.*{message}"):
        read_table(tmp_path / "x.csv")


def test_a_table_of_numbers(tmp_path):
    (tmp_path / "x.mtx").write_text("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n")
    table = read_table(tmp_path / "x.mtx", cache=tmp_path / "cache")
    np.testing.assert_array_equal(table.values, [[1, 3], [2, 4]])
    assert (table.columns, table.unit) == (["column 1", "column 2"], "row")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "x.mtx"]


@pytest.mark.parametrize("read", [read_table, Blocks.from_files])
def test_damaged_parquet(tmp_path, read):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "x.parquet"
    column = pa.array(np.random.default_rng(0).normal(size=10_000))
    for table, message in (
        (pa.table([column, column], names=["a", "a"]), "two columns are called 'a'. Give each its own name"),
        (pa.table({"a": column[:0]}), "the table has no rows"),
    ):
        parquet.write_table(table, path)
        with pytest.raises(LatentiaError, match=f"x.parquet: {message}"):
            read(path)
    parquet.write_table(pa.table({"a": column, "b": column}), path)
    whole = path.read_bytes()
    for damaged in (b"", whole[:-9], whole[:8] + bytes(60_000) + whole[60_008:]):
        path.write_bytes(damaged)
        with pytest.raises(LatentiaError, match="x.parquet: not a readable Parquet file"):
            read(path)
    assert [file.name for file in tmp_path.iterdir()] == ["x.parquet"]
