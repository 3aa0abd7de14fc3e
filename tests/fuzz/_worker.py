"""Read damaged files one after the other in a process of its own, whose memory is limited.

python tests/fuzz/_worker.py START STOP     # the number of every case before it is read, and what is wrong
"""

import contextlib
import faulthandler
import json
import os
import resource
import shutil
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse

sys.path.insert(0, str(Path(__file__).parent))

import _references
from _cases import case, seeds

from latentia.datasets import read_graph, read_pairs, read_table, read_text_pairs
from latentia.datasets.arrays import read_array
from latentia.datasets.readers import read_corpus, read_texts
from latentia.datasets.tables import ColumnChoice
from latentia.exceptions import LatentiaError, LatentiaWarning
from latentia.passes import Blocks
from latentia.system import compressed as _compressed

MEMORY = 2 << 30  # bytes that a file of this size may take beyond what the process has
SECONDS = 10.0
UNPACKED = 1 << 22  # bytes that a file of this size may unpack to, here
SMALL = 1 << 20  # cells up to which tables are compared in full


def dense(table):
    return table.toarray() if sparse.issparse(table) else np.asarray(table)


def same(found, wanted):
    if wanted.size <= SMALL:
        assert found.shape == wanted.shape, (found.shape, wanted.shape)
        np.testing.assert_allclose(dense(found), wanted, rtol=1e-13, atol=0)


def check_table(table):
    """Finite numbers in cells that exist."""
    values = table
    if sparse.issparse(table):
        values = table.data
        assert len(table.indptr) == table.shape[0] + 1, "row pointers"
        assert table.indptr[0] == 0, "row pointers"
        assert table.indptr[-1] == len(table.indices) == len(values), "row pointers"
        assert (np.diff(table.indptr) >= 0).all(), "row pointers"
        assert not len(table.indices) or 0 <= table.indices.min() <= table.indices.max() < table.shape[1], "columns"
    assert values.dtype.kind in "iufb", values.dtype
    assert np.isfinite(values).all(), "not finite"


def check_blocks(blocks):
    assert blocks.n_rows >= 0
    for block in blocks:
        for part, shape in zip(block, blocks.shapes, strict=True):
            check_table(part)
            assert part.shape[1] == shape[1]
    assert blocks.names is None or len(blocks.names) == blocks.shapes[0][1]


def check_words(words):
    for word in words:
        assert isinstance(word, str)
        assert "\0" not in word
        assert "\ufffd" not in word


# --- readers ----------------------------------------------------------------------------------------------------


def blocks_of(path, **options):
    blocks = Blocks.from_files(path, **options)
    check_blocks(blocks)
    return blocks


def uci(path):
    found = blocks_of(path, format="uci").table()
    assert found.dtype.kind == "i"
    assert not found.nnz or found.data.min() > 0
    if found.shape[0] * found.shape[1] <= SMALL:
        same(found, _references.uci(path.read_bytes()))


def nocache(path):
    blocks_of(path, cache=False)
    assert not list(path.parent.glob("*cache"))


def market(path):
    found = blocks_of(path, format="matrixmarket").table()
    if found.shape[0] * found.shape[1] <= SMALL:
        same(found, _references.market(path.read_bytes()))


def svmlight(path, base=0, **options):
    blocks = blocks_of(path, format="svmlight", zero_based=not base, **options)
    values, labels, rows = _references.svmlight(path.read_bytes(), base)
    assert rows == blocks.n_rows, "rows"
    x, y = (sparse.vstack([block[i] for block in blocks]).tocoo() for i in (0, 1))
    found = dict(zip(zip(x.row.tolist(), x.col.tolist(), strict=True), x.data.tolist(), strict=True))
    assert found.keys() == values.keys(), "cells"
    np.testing.assert_allclose([found[cell] for cell in values], list(values.values()), rtol=1e-13)
    assert set(zip(y.row.tolist(), y.col.tolist(), strict=True)) == labels, "labels"
    assert (y.data == 1).all()


def headed(path):
    blocks_of(path)


def svmlight1(path):
    svmlight(path, 1, labels_zero_based=False)


def numbers(path):
    found = blocks_of(path, format="pairs").table()
    if path.read_bytes()[:6] != b"\x93NUMPY" and path.suffix == ".txt":
        same(found, _references.numbers(path.read_bytes()))


def everything(kinds):
    return ColumnChoice(
        [name for name in kinds if kinds[name] != "text"], [name for name in kinds if kinds[name] == "text"]
    )


def table(path, missing="error"):
    found = read_table(path, everything if path.suffix != ".mtx" else None, missing=missing)
    check_table(found.values)
    assert found.values.shape == (len(found.rows), len(found.columns))
    assert len(set(found.columns)) == len(found.columns)
    check_words([*found.columns, *(text for texts in found.texts.values() for text in texts)])
    assert all(len(texts) == len(found.rows) for texts in found.texts.values())
    assert all(text for texts in found.texts.values() for text in texts), "an empty text"
    assert missing == "drop" or not found.n_dropped
    assert missing == "mean" or not found.n_filled


def texts(path):
    found = read_texts(path)
    check_words(found.texts)
    assert len(found.texts) == len(found.names) > 0


def corpus(path):
    found = read_corpus(path, min_df=1, max_df=1.0, stop_words=None)
    check_blocks(found.blocks)
    assert found.vocabulary is None or len(found.vocabulary) == found.blocks.shapes[0][1]


def pairs(path):
    found = read_pairs(path)
    check_table(found.counts)
    assert found.counts.shape == (len(found.words),) * 2
    assert len(set(found.words)) == len(found.words)
    check_words(found.words)


def text_pairs(path):
    found = read_text_pairs(path, min_count=1)
    check_table(found.counts)
    check_words(found.words)


def array(path):
    found = read_array(path)
    check_table(found.values)


def graph(path):
    found = read_graph(path)
    check_table(found.adjacency)


READERS = {
    "array": array,
    "graph": graph,
    "blocks": blocks_of,
    "cache": lambda path: blocks_of(path, format="cache"),
    "corpus": corpus,
    "drop": lambda path: table(path, "drop"),
    "headed": headed,
    "market": market,
    "mean": lambda path: table(path, "mean"),
    "nocache": nocache,
    "numbers": numbers,
    "pairs": pairs,
    "parquet": lambda path: blocks_of(path, columns=["a", "b"]),
    "svmlight": svmlight,
    "svmlight1": svmlight1,
    "table": table,
    "text pairs": text_pairs,
    "texts": texts,
    "uci": uci,
}


# --- a case -----------------------------------------------------------------------------------------------------


def write(folder, seed, content):
    for name, data in seed.beside.items():
        (folder / name).write_bytes(data)
    path = folder / seed.name
    if isinstance(content, dict):
        path.mkdir()
        for name, data in content.items():
            (path / name).write_bytes(data)
    else:
        path.write_bytes(content)
    return path


def problem_of(found, folder):
    """What is wrong with the reading of a case, or None, and whether the file was read."""
    path = write(folder, found.seed, found.content)
    before = {file.relative_to(folder) for file in folder.rglob("*")}
    problem, read, start = None, False, time.process_time()
    try:
        READERS[found.reader](path)
        read = True
    except LatentiaError as error:
        if found.seed.name not in str(error) and error.parameter is None:
            problem = f"the error does not name the file: {error}"
    except OSError as error:
        if str(folder) not in str(error):
            problem = f"OSError without a path: {error}"
    except AssertionError as error:
        problem = f"garbage: {str(error)[:300]}"
    except Exception as error:
        problem = f"{type(error).__name__}: {str(error)[:300]}"
    seconds = time.process_time() - start  # others may have the machine meanwhile
    if seconds > SECONDS:
        problem = f"{seconds:.1f} seconds"
    after = {file.relative_to(folder) for file in folder.rglob("*")} - before
    left = [file for file in after if not (read and file.parts[0].endswith(".latentia-cache"))]
    if left:
        problem = problem or f"left behind: {left[:3]}"
    return problem, read


def temporary(root):
    folder = Path(root) / "temporary"
    folder.mkdir()
    tempfile.tempdir = str(folder)
    return folder


def run(start, stop, root):
    """Say the number of every case before it is read, and what is wrong with it after."""
    scratch, all_seeds, n_read = temporary(root), seeds(), 0
    _compressed._MOST_ALWAYS = UNPACKED
    for i in range(len(all_seeds)):  # compiled and imported before anything is measured
        for reader in all_seeds[i].readers:
            folder = Path(tempfile.mkdtemp(dir=root))
            with contextlib.suppress(LatentiaError):
                READERS[reader](write(folder, all_seeds[i], all_seeds[i].content))
            shutil.rmtree(folder)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, resource.RLIM_INFINITY))
    for number in range(start, stop):
        print(json.dumps([number, None]), flush=True)
        found = case(number, all_seeds)
        folder = Path(tempfile.mkdtemp(dir=root))
        problem, read = problem_of(found, folder)
        n_read += read
        if not problem and list(scratch.iterdir()):
            problem = f"left among the temporary files: {[file.name for file in scratch.iterdir()]}"
        if problem:
            print(json.dumps([number, f"{found.seed.name}, {found.reader}: {problem}"]), flush=True)
        for left in scratch.iterdir():
            shutil.rmtree(left, ignore_errors=True)
        shutil.rmtree(folder)
    print(json.dumps(["read", n_read]), flush=True)


if __name__ == "__main__":
    faulthandler.enable()
    warnings.simplefilter("error", RuntimeWarning)
    warnings.simplefilter("ignore", LatentiaWarning)
    with tempfile.TemporaryDirectory() as root:
        run(int(sys.argv[1]), int(sys.argv[2]), root)
