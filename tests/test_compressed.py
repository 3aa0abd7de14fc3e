"""The one door for compressed files: content as it was packed, limits, and damage."""

import bz2
import gzip
import io
import lzma
import tracemalloc
import zipfile

import numpy as np
import pytest
from scipy import sparse

from latentia import LatentiaError
from latentia.datasets import read_graph, read_table
from latentia.datasets.arrays import read_array
from latentia.system import compressed as _compressed
from latentia.system.compressed import open_archive, open_decompressed, read_member

COMPRESS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
CONTENT = np.random.default_rng(0).bytes(300_000) + bytes(900_000)


def opened(path):
    return open_decompressed(path, open(path, "rb"))


@pytest.mark.parametrize("ending", COMPRESS)
@pytest.mark.parametrize("n_streams", [1, 3])
def test_streams_are_read_as_they_were_packed(tmp_path, ending, n_streams):
    path = tmp_path / f"x.{ending}"
    path.write_bytes(COMPRESS[ending](CONTENT) * n_streams + bytes(8 if ending != "bz2" else 0))
    with opened(path) as file:
        assert file.read(7) == CONTENT[:7]
        file.seek(0)
        assert file.read() == CONTENT * n_streams
        assert file.tell() == len(CONTENT) * n_streams
        file.seek(299_999)
        assert file.read(2) == CONTENT[299_999:300_001]


@pytest.mark.parametrize("ending", COMPRESS)
def test_damaged_streams_are_refused(tmp_path, ending):
    packed, path = COMPRESS[ending](CONTENT), tmp_path / f"x.{ending}"
    for damaged in (
        packed[:-3],
        packed[: len(packed) // 2],
        packed[:5000] + b"damage" + packed[5006:],
        packed + b"more",
    ):
        path.write_bytes(damaged)
        with opened(path) as file, pytest.raises(LatentiaError, match=rf"x\.{ending}: the compressed file is damaged"):
            file.read()


def test_an_xz_file_that_asks_for_much_memory_is_refused(tmp_path):
    filters = [
        {"id": lzma.FILTER_LZMA2, "dict_size": 1 << 30, "mode": lzma.MODE_FAST, "mf": lzma.MF_HC3, "nice_len": 5}
    ]
    try:
        (tmp_path / "x.xz").write_bytes(lzma.compress(b"red", filters=filters))
    except MemoryError:
        pytest.skip("too little memory to make such a file")
    with opened(tmp_path / "x.xz") as file, pytest.raises(LatentiaError, match="damaged .*[Mm]emory"):
        file.read()


def zipped(path, members, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def read_all(path):
    with open_archive(path) as archive:
        return [read_member(archive, member) for member in archive.infolist()]


def refused(path, read=read_all):
    """The message with which an archive, or what reads it, refuses it; little memory is taken for it."""
    tracemalloc.start()
    with pytest.raises(LatentiaError) as error:
        read(path)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 1 << 23
    assert path.name in str(error.value)
    return str(error.value)


def test_archives_keep_the_limits(tmp_path, monkeypatch):
    monkeypatch.setattr(_compressed, "_MIN_LIMIT_BYTES", 1 << 20)
    path = tmp_path / "x.zip"
    zipped(path, {"a": b"red", "b": bytes(1 << 19)})
    assert list(map(len, read_all(path))) == [3, 1 << 19]
    zipped(path, {"a": bytes(3 << 20)})
    assert "unpack to more than 1048576" in refused(path)
    zipped(path, {str(i): bytes(1 << 16) for i in range(20)})
    assert "unpack to more than" in refused(path)
    zipped(path, {str(i): b"" for i in range(10_001)})
    assert "10001 files" in refused(path)
    zipped(path, {"a": b"red"}, zipfile.ZIP_LZMA)
    assert "another method than deflate" in refused(path)
    path.write_bytes(b"PK\x03\x04 red")
    assert "not a readable zip archive" in refused(path)


def test_archives_that_declare_what_they_cannot_hold_are_refused(tmp_path):
    path = tmp_path / "x.zip"
    zipped(path, {"a": b"red" * 9})
    sizes = (27).to_bytes(4, "little")
    path.write_bytes(path.read_bytes().replace(sizes, (1 << 24).to_bytes(4, "little")))
    assert "cannot hold" in refused(path)
    zipped(path, {"a": b"1", "b": b"2"})
    path.write_bytes(path.read_bytes().replace(b"b", b"a"))
    assert "same name" in refused(path)


@pytest.mark.parametrize("kind", ["arrays", "sparse", "graph", "workbook"])
def test_every_reader_of_archives_goes_through_the_door(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(_compressed, "_MIN_LIMIT_BYTES", 1 << 20)
    path = tmp_path / ("x.xlsx" if kind == "workbook" else "x.npz")
    if kind == "arrays":
        np.savez_compressed(path, a=np.zeros((3000, 500)))
    elif kind == "workbook":
        zipped(path, {"xl/workbook.xml": b" " * (3 << 20)})
    else:
        square = sparse.csr_array((np.zeros(400_000), np.zeros(400_000, np.int32), [0, *[400_000] * 9]), shape=(9, 9))
        sparse.save_npz(path, square)
    read = {"workbook": read_table, "graph": read_graph}.get(kind, read_array)
    if kind == "workbook":
        pytest.importorskip("openpyxl")
    assert "unpack to more than" in refused(path, read)


def test_arrays_that_declare_more_than_they_hold_are_refused(tmp_path):
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "<f8", "fortran_order": False, "shape": (10**9, 10**3)})
    path = tmp_path / "x.npz"
    zipped(path, {"a.npy": head.getvalue()})
    assert "holds other data" in refused(path, read_array)
