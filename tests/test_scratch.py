"""All that writes files: whole or not at all, on a full disk, after Ctrl-C, and whatever lies in the folder."""

import ast
import contextlib
import os
import re
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

import latentia
from latentia.datasets import planted
from latentia.exceptions import LatentiaError
from latentia.mixtures import SphericalGaussianMixture
from latentia.noisyor import NoisyOr
from latentia.passes import Blocks, write_cache
from latentia.system import scratch as _scratch

resource = pytest.importorskip("resource")

ROWS = planted.gaussian_mixture(300, n_components=2, n_features=200, separation=8).X
MODEL = SphericalGaussianMixture(2, refine=2).fit(ROWS)
NETWORK = NoisyOr(2, refine=2)
WRITERS = {
    "model.npz": lambda path: latentia.save(MODEL, path),
    "page.html": MODEL.report,
    "network.bif": lambda path: NETWORK.write_bif(path),
    "corpus.txt": lambda path: planted.label_model(3, n_words=300, n_labels=20).write(path, 2000),
    "tables": lambda path: write_cache(path, [[ROWS]]),
}


@pytest.fixture(scope="module", autouse=True)
def network():
    NETWORK.fit(planted.noisy_or_network(20, 2, leak=0.03).sample(3000).X)


@contextlib.contextmanager
def full_disk(size=1000):
    """No file of this process grows beyond so many bytes."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def contents(folder):
    return {str(path): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.mark.parametrize("name", WRITERS)
def test_on_a_full_disk_nothing_changes_and_the_file_is_named(name, tmp_path):
    target = tmp_path / name
    WRITERS[name](target)
    before = contents(tmp_path)
    assert before
    with full_disk(), pytest.raises(LatentiaError, match=rf"{name}: .*cannot be written \(File too large\)"):
        WRITERS[name](target)
    assert contents(tmp_path) == before


def table_of(name):
    """A file of 2,000 rows."""
    rows = range(1, 2001)
    return {
        "docword.x.txt": "2000\n3\n2000\n" + "".join(f"{i} 1 4\n" for i in rows),
        "x.mtx": "%%MatrixMarket matrix array integer general\n2000 1\n" + "".join(f"{i}\n" for i in rows),
        "y.mtx": "%%MatrixMarket matrix coordinate integer general\n2000 3 2000\n"
        + "".join(f"{i} 1 4\n" for i in rows),
        "x.svm": "".join(f"1,2 {i % 50}:1\n" for i in rows),
        "pairs.txt": "".join(f"{i} {i + 1}\n" for i in rows),
    }[name]


@pytest.mark.filterwarnings("ignore::latentia.exceptions.FileNotice")
@pytest.mark.parametrize("name", ["docword.x.txt", "x.mtx", "y.mtx", "x.svm", "pairs.txt"])
@pytest.mark.parametrize("cache", [None, False])
def test_on_a_full_disk_a_conversion_leaves_nothing_and_is_named(name, cache, tmp_path, monkeypatch):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / name).write_text(table_of(name))
    options = (
        {"format": "pairs"}
        if name == "pairs.txt"
        else {"format": "svmlight", "zero_based": True}
        if name == "x.svm"
        else {}
    )
    before = contents(tmp_path)
    with full_disk(), pytest.raises(LatentiaError, match=rf"{name}.*: .*cannot be .*\(File too large\)"):
        Blocks.from_files(tmp_path / name, cache=cache, **options)
    assert contents(tmp_path) == before
    assert Blocks.from_files(tmp_path / name, cache=cache, **options).n_rows == 2000


@pytest.mark.parametrize("name", WRITERS)
def test_links_are_not_followed(name, tmp_path):
    (tmp_path / "folder").mkdir()
    for link in (name, f".{name}.{os.getpid()}.partial", f".{name}.partial", f"{name}.partial"):
        (tmp_path / "folder" / link).symlink_to(tmp_path / "victim")
    (tmp_path / "victim").write_text("mine")
    with contextlib.suppress(LatentiaError):
        WRITERS[name](tmp_path / "folder" / name)
    assert (tmp_path / "victim").read_text() == "mine"


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, OSError(28, "No space left on device")])
def test_an_interrupted_file_is_not_there(error, tmp_path):
    (tmp_path / "file").write_text("before")

    def write():
        with _scratch.atomic_file(tmp_path / "file") as file:
            file.write(b"after")
            raise error

    with pytest.raises(LatentiaError if isinstance(error, OSError) else error):
        write()
    assert contents(tmp_path) == {str(tmp_path / "file"): b"before"}


def test_permissions_are_those_of_other_files(tmp_path):
    (tmp_path / "plain").touch()
    with _scratch.atomic_file(tmp_path / "whole"):
        pass
    assert (tmp_path / "whole").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize("lock", [None, "lock", "latentia.lock.new", "latentia.lock"])
@pytest.mark.parametrize("name", [".latentia-thesis.partial", ".latentia-a1b2c3d4.partial", ".latentia-12345678.old"])
def test_what_is_no_scratch_folder_of_ours_is_not_swept(name, lock, tmp_path):
    if lock and lock.startswith("latentia") and name == ".latentia-a1b2c3d4.partial":
        pytest.skip("which is one")
    folder = tmp_path / name
    folder.mkdir()
    (folder / "thesis.tex").write_text("mine")
    if lock:
        (folder / lock).touch()
    for path in (*folder.iterdir(), folder):
        os.utime(path, (time.time() - 1e6,) * 2)
    with _scratch.atomic_file(tmp_path / "file"):
        pass
    assert (folder / "thesis.tex").read_text() == "mine"


def test_a_folder_with_other_files_is_not_replaced_by_a_cache(tmp_path):
    write_cache(tmp_path / "tables", [[np.ones((2, 2))]])
    (tmp_path / "tables" / "thesis.tex").write_text("mine")
    before = contents(tmp_path)
    with pytest.raises(LatentiaError, match="the folder holds other files"):
        write_cache(tmp_path / "tables", [[np.ones((3, 3))]])
    assert contents(tmp_path) == before


IN_FOLDERS_OF_THEIR_OWN = {
    "app/jobs.py",  # the log of a process, and the lock that it holds
    "app/workspace.py",  # an upload, before it is moved to its name
    "_scratch.py",
    "passes/cache.py",
    "passes/formats/_text.py",
    "cli/_results.py",
    "cli/_exact.py",
}


def test_files_are_written_by_one_function():
    """Everything else would have to get links, full disks and killed processes right once more."""
    source, found = Path(latentia.__file__).parent, set()
    for path in source.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            modes = [
                one.value for one in [*node.args, *(k.value for k in node.keywords)] if isinstance(one, ast.Constant)
            ]
            writes = called == "open" and any(re.fullmatch(r"[rbt]*[wax+][bt+]*", str(mode)) for mode in modes)
            if writes or called in {"write_text", "write_bytes", "savefig", "mktemp"}:
                found.add(f"{path.relative_to(source).as_posix()}")
    assert found <= IN_FOLDERS_OF_THEIR_OWN
