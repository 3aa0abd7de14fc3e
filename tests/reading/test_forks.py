"""Processes that were forked after tables were read."""

import multiprocessing
import sys

import pytest

from latentia import LatentiaError
from latentia.reading import read


def _problem(path):
    try:
        return read(path).n_rows
    except LatentiaError as error:
        return str(error)


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no forks here")
def test_a_forked_process_says_that_it_cannot_read(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "".join(f"{i % 7},{i % 5}.5\n" for i in range(2000)))
    assert read(path).n_rows == 2000
    assert "polars" in sys.modules
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert "'spawn'" in pool.apply_async(_problem, [path]).get(timeout=60)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply_async(_problem, [path]).get(timeout=120) == 2000
