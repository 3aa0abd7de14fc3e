"""Caches serve as long as they are whole and their file has the same content, and nothing of a killed run remains."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
import pytest
from scipy import sparse

from latentia import LatentiaError
from latentia.datasets.readers import read_corpus
from latentia.exceptions import FileNotice
from latentia.passes import Blocks, formats, read_cache, write_cache
from latentia.passes.cache import _digest
from latentia.system import scratch as _scratch

TEXT = "2\n3\n3\n1 1 4\n1 3 2\n2 2 1\n"
TABLE = np.array([[4, 0, 2], [0, 1, 0]])
CACHE = "docword.x.txt.latentia-cache"


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "docword.x.txt"
    file.write_text(TEXT)
    return file


def table(path, **options):
    return Blocks.from_files(path, **options).table().toarray()


@pytest.mark.parametrize("whole", [1 << 28, 0])
def test_other_content_of_the_same_size_and_time_is_noticed(path, whole, monkeypatch):
    monkeypatch.setattr(formats, "_MAX_WHOLE_HASH", whole)
    monkeypatch.setattr(formats, "_SAMPLE_SIZE", 4)
    np.testing.assert_array_equal(table(path), TABLE)
    times = path.stat()
    path.write_text(TEXT.replace("1 1 4", "1 1 5"))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert table(path)[0, 0] == 5


def test_the_same_content_is_not_converted_again(path, monkeypatch):
    table(path)
    path.touch()
    monkeypatch.setitem(formats._CONVERTERS, "uci", lambda *_: pytest.fail("converted again"))
    np.testing.assert_array_equal(table(path), TABLE)


def test_a_vocabulary_of_the_same_size_and_time_is_noticed(path, tmp_path):
    words = tmp_path / "vocab.x.txt"
    words.write_text("a\nb\nc\n")
    os.utime(words, ns=(0, 0))
    assert Blocks.from_files(path).names == ["a", "b", "c"]
    words.write_text("a\nb\nd\n")
    os.utime(words, ns=(0, 0))
    assert Blocks.from_files(path).names == ["a", "b", "d"]


def test_a_file_that_changes_while_it_is_read_is_refused(path, monkeypatch):
    convert = formats._CONVERTERS["uci"]

    def slow(*arguments):
        convert(*arguments)
        path.write_text(TEXT + "\n")

    monkeypatch.setitem(formats._CONVERTERS, "uci", slow)
    with pytest.raises(LatentiaError, match=r"docword\.x\.txt: the file changed while it was read"):
        table(path)
    assert not (path.parent / CACHE).exists()


@pytest.mark.parametrize("part", ["0-data.bin", "0-indices.bin", "0-indptr.bin", "header.json"])
@pytest.mark.parametrize("bit", [0, 6])
def test_a_bit_of_a_cache_that_flips_is_noticed(path, part, bit):
    table(path)
    file = path.parent / CACHE / part
    data = bytearray(file.read_bytes())
    data[-4] ^= 1 << bit
    file.write_bytes(data)
    with pytest.raises(LatentiaError, match="damaged|expected a cache that this version reads"):
        read_cache(path.parent / CACHE)
    np.testing.assert_array_equal(table(path), TABLE)
    np.testing.assert_array_equal(read_cache(path.parent / CACHE)[0][0].toarray(), TABLE)


@pytest.mark.parametrize(
    "change",
    [
        {"dtype": "object"},
        {"dtype": "complex128"},
        {"dtype": 5},
        {"n_rows": 10**15},
        {"n_rows": -1},
        {"n_rows": 2.5},
        {"n_rows": "2"},
        {"n_columns": 2},
        {"kind": "dense"},
        {"nnz": 10**12},
        {"checksums": None},
    ],
)
def test_headers_that_lie(path, change):
    table(path)
    file = path.parent / CACHE / "header.json"
    header = json.loads(file.read_text().partition("\n")[2])
    header["tables"][0].update(change)
    text = json.dumps(header)
    file.write_text(f"{_digest(text)}\n{text}\n")
    with pytest.raises(LatentiaError, match=r"latentia-cache.* the cache is damaged"):
        read_cache(path.parent / CACHE)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1j])
def test_what_is_no_number_is_not_written(tmp_path, value):
    for block in (np.array([[1, value]]), sparse.csr_array(np.array([[1, value]]))):
        with pytest.raises(LatentiaError, match="expected finite numbers in table 0"):
            write_cache(tmp_path / "c", [(block,)])
    assert not list(tmp_path.iterdir())


def test_a_cache_beside_the_file_is_announced_once(path):
    with pytest.warns(
        FileNotice, match="stored beside it as docword.x.txt.latentia-cache .* cache=False keeps none"
    ) as said:
        table(path)
    assert "cache=" not in said[0].message.fact
    assert said[0].filename == __file__
    table(path)


@pytest.mark.filterwarnings("error")
def test_caches_elsewhere_or_nowhere(path, tmp_path, monkeypatch):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    blocks = Blocks.from_files(path, cache=False)
    assert not list((tmp_path / "temporary").iterdir())
    np.testing.assert_array_equal(blocks.table().toarray(), TABLE)
    np.testing.assert_array_equal(table(path, cache=tmp_path / "elsewhere"), TABLE)
    np.testing.assert_array_equal(read_corpus(path, cache=False).counts.toarray(), TABLE)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["docword.x.txt", "elsewhere", "temporary"]


@pytest.mark.parametrize(
    ("name", "text", "options", "message"),
    [
        (
            "docword.x.txt",
            TEXT,
            {"zero_based": True},
            r"^zero_based=True: no option of this format \(uci\), which has none",
        ),
        (
            "x.svm",
            "0 0:1\n",
            {"colums": ["a"]},
            r"^colums=\['a'\]: .* \(svmlight\), which has zero_based, labels_zero_b",
        ),
        ("x.txt", "0 1\n", {"format": "pairs", "n_words": 5}, "^n_words=5: no option"),
        ("docword.x.txt", TEXT, {"format": "ucy"}, "format='ucy': use one of uci, "),
    ],
)
def test_unknown_options_are_refused(tmp_path, name, text, options, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(LatentiaError, match=message):
        Blocks.from_files(tmp_path / name, **options)


def test_a_folder_that_cannot_be_written(path, monkeypatch):
    said = "no binary copy was stored, as the folder cannot be written: later runs convert the file again. cache=FOLDER"
    monkeypatch.setattr(formats, "can_write", lambda folder: False)
    with pytest.warns(FileNotice, match=said):
        np.testing.assert_array_equal(table(path), TABLE)
    assert not (path.parent / CACHE).exists()


@pytest.mark.parametrize("damage", [False, True])
def test_a_copy_in_a_folder_that_cannot_be_written(path, monkeypatch, damage):
    table(path)
    monkeypatch.setattr(formats, "can_write", lambda folder: False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(table(path), TABLE)  # it is good, and used
    before = sorted(file.name for file in path.parent.rglob("*"))
    if damage:
        (path.parent / CACHE / "0-data.bin").write_bytes(b"")
    else:
        path.write_text(TEXT.replace("1 1 4", "1 1 5"))  # it is stale
    with pytest.warns(FileNotice, match="no binary copy was stored"):
        found = table(path)
    assert found[0, 0] == (4 if damage else 5)
    assert sorted(file.name for file in path.parent.rglob("*")) == before


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() == 0, reason="nothing is forbidden to root")
def test_whether_a_folder_can_be_written(tmp_path):
    assert _scratch.can_write(tmp_path)
    tmp_path.chmod(0o500)
    try:
        assert not _scratch.can_write(tmp_path)
    finally:
        tmp_path.chmod(0o700)


def test_where_no_file_can_be_made(tmp_path):
    (tmp_path / "file").touch()
    assert _scratch.can_write(tmp_path)
    assert not list(tmp_path.glob("*.*"))
    assert not _scratch.can_write(tmp_path / "file")
    assert not _scratch.can_write(tmp_path / "absent")


def test_a_copy_that_cannot_be_written_is_named(path, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(
        LatentiaError, match=r"latentia-cache: the binary copy cannot be written \(.*\)\. Make room, or name"
    ):
        table(path, cache=tmp_path / "file" / "copies")


# --- killed runs ------------------------------------------------------------------------------------------------

CONVERT = """
import sys, time
from latentia.passes import Blocks, cache
append = cache.CacheWriter.append
def slow(*arguments):
    append(*arguments)
    print("writing", flush=True)
    time.sleep(60)
cache.CacheWriter.append = slow
Blocks.from_files(sys.argv[1], cache={cache})
"""


@pytest.mark.skipif(_scratch.fcntl is None, reason="needs locks")
@pytest.mark.parametrize("cache", [None, False])
def test_what_a_killed_conversion_leaves_is_removed_by_the_next(path, cache, tmp_path, monkeypatch):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    environment = {**os.environ, "TMPDIR": str(tmp_path / "temporary")}
    command = [sys.executable, "-c", CONVERT.format(cache=cache), str(path)]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"writing\n"
    partial = list(tmp_path.glob(".docword*.partial")) + list(tmp_path.glob("temporary/*.scratch"))
    assert len(partial) == 1
    table(path, cache=cache)
    assert partial[0].exists()  # somebody works there
    (tmp_path / CACHE / "header.json").unlink(missing_ok=True)
    process.send_signal(signal.SIGKILL)
    process.wait()
    table(path, cache=cache)
    assert not partial[0].exists()
    assert sorted(file.name for file in tmp_path.rglob("*") if ".latentia-cache/" not in str(file)) == sorted(
        ["docword.x.txt", "temporary"] + [CACHE] * (cache is None)
    )


def test_folders_without_a_lock_are_removed_when_they_are_old(tmp_path):
    young, old, other = (
        tmp_path / name for name in ("latentia-aaaaaaaa.scratch", "latentia-bbbbbbbb.scratch", "b.scratch")
    )
    for folder in (young, old, other):
        folder.mkdir()
    for folder in (old, other):
        os.utime(folder, (time.time() - 7200,) * 2)
    with _scratch.scratch_folder(tmp_path) as folder:
        assert folder.exists()
    assert sorted(tmp_path.iterdir()) == [other, young]


AT_ONCE = """
import sys, warnings
import numpy as np
from latentia.passes import Blocks, read_cache, write_cache
warnings.simplefilter("ignore")
print("ready", flush=True)
sys.stdin.readline()
for i in range(20):
    write_cache(sys.argv[2], [[np.full((50, 4), 1000 * int(sys.argv[3]) + i)]])
    assert Blocks.from_files(sys.argv[1]).table().sum() == 7
print("done", flush=True)
"""


def test_processes_that_write_the_same_caches_at_once(path, tmp_path):
    """The last one wins, all are whole, and nothing else is left. A conversion serves all that find it."""
    command = [sys.executable, "-c", AT_ONCE, str(path), str(tmp_path / "written")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    running = [subprocess.Popen([*command, str(number)], **pipes) for number in range(2)]
    for process in running:
        assert process.stdout.readline() == "ready\n"
    for process in running:
        process.stdin.write("\n")
        process.stdin.flush()
    for process in running:
        out, errors = process.communicate()
        assert (out, errors) == ("done\n", "")
    (table,), _ = read_cache(tmp_path / "written")
    assert (table == table[0, 0]).all()
    assert table[0, 0] % 1000 == 19
    np.testing.assert_array_equal(read_cache(tmp_path / CACHE)[0][0].toarray(), TABLE)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["docword.x.txt", CACHE, "written"]
