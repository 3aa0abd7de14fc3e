"""Dask collections with chunks that are empty, odd, or cannot be made: the answer of the table in memory, or a clear error."""

import warnings

import numpy as np
import pytest

from latentia import LatentiaError
from latentia.datasets import planted
from latentia.mixtures import SphericalGaussianMixture

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pandas = pytest.importorskip("pandas")

ROWS = planted.gaussian_mixture(400, n_components=3, n_features=4, separation=8, random_state=0).X


def frame(table, names="abcd"):
    return pandas.DataFrame(table, columns=list(names))


def from_pieces(*pieces):
    delayed = [dask.delayed(lambda piece=piece: piece)() for piece in pieces]
    return dd.from_delayed(delayed, meta=frame(ROWS[:0]), verify_meta=False)


def fail():
    raise RuntimeError("disk gone")


def spoiled(value):
    table = ROWS.copy()
    table[5, 1] = value
    return da.from_array(table, chunks=(100, 4))


SAME = {
    "an empty part": lambda: from_pieces(frame(ROWS[:200]), frame(ROWS[:0]), frame(ROWS[200:])),
    "an empty first part": lambda: from_pieces(frame(ROWS[:0]), frame(ROWS)),
    "a part of single precision": lambda: from_pieces(frame(ROWS[:200]), frame(ROWS[200:].astype(np.float32))),
    "chunks across columns": lambda: da.from_array(ROWS, chunks=(100, 3)),
    "small chunks": lambda: da.from_array(ROWS, chunks=(27, 4)),
    "unknown sizes": lambda: dd.from_pandas(frame(ROWS), npartitions=4).to_dask_array(),
    "missing cells that are none": lambda: da.ma.masked_greater(da.from_array(ROWS, chunks=(100, 4)), 1e9),
    "nullable numbers": lambda: dd.from_pandas(frame(ROWS).convert_dtypes(), npartitions=2),
    "one delayed table": lambda: dask.delayed(lambda: ROWS)(),
}
REFUSED = {
    "no part with rows": (lambda: from_pieces(frame(ROWS[:0]), frame(ROWS[:0])), "no rows|0 sample"),
    "no rows": (lambda: da.from_array(ROWS[:0], chunks=(100, 4)), "no rows|0 sample"),
    "no columns": (lambda: da.from_array(ROWS[:, :0], chunks=(100, 4)), "0 feature"),
    "infinity": (lambda: spoiled(np.inf), "infinity"),
    "fewer columns": (lambda: from_pieces(frame(ROWS[:200]), frame(ROWS[200:, :3], "abc")), "other numbers of columns"),
    "another order": (lambda: from_pieces(frame(ROWS[:200]), frame(ROWS[200:])[list("dcba")]), "'d' where chunk 0 has 'a'"),
    "another name": (lambda: from_pieces(frame(ROWS[:200]), frame(ROWS[200:], "abcx")), "column 'x' where chunk 0 has 'd'"),
    "a name twice": (lambda: dd.from_pandas(frame(ROWS, "abca"), npartitions=2), "2 columns have the name 'a'"),
    "objects": (lambda: dd.from_pandas(frame(ROWS).astype(object), npartitions=2), "column 'a' has dtype"),
    "dates": (lambda: dd.from_pandas(frame(ROWS).assign(a=pandas.Timestamp(0)), npartitions=2), "column 'a' has dtype"),
    "complex numbers": (lambda: da.from_array(ROWS + 1j, chunks=(100, 4)), "expected numbers"),
    "a part that raises": (lambda: [dask.delayed(lambda: ROWS[:200])(), dask.delayed(fail)()], "RuntimeError: disk gone"),
    "an array that raises": (
        lambda: da.from_delayed(dask.delayed(fail)(), shape=ROWS.shape, dtype=float), "RuntimeError: disk gone"
    ),
    "no table": (lambda: [dask.delayed(lambda: 5)()], "0 dimensions"),
    "a sum": (lambda: da.from_array(ROWS, chunks=(100, 4)).sum(), "0 dimensions"),
    "a column": (lambda: dd.from_pandas(frame(ROWS), npartitions=2)["a"], "1 features"),
}  # fmt: skip


@pytest.fixture(scope="module")
def model():
    return SphericalGaussianMixture(3).fit(ROWS)


@pytest.fixture(autouse=True)
def strict():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


@pytest.mark.parametrize("kind", SAME)
def test_chunks_give_the_answer_of_the_table(kind, model):
    found = SphericalGaussianMixture(3).fit(SAME[kind]())
    np.testing.assert_allclose(found.means_, model.means_, rtol=1e-6)
    np.testing.assert_array_equal(model.predict(SAME[kind]()), model.predict(ROWS))
    assert model.summary(SAME[kind]()).tables


@pytest.mark.parametrize("kind", REFUSED)
def test_chunks_that_are_no_table_are_refused(kind, model):
    make, said = REFUSED[kind]
    uses = [model.predict, model.summary] + ([SphericalGaussianMixture(3).fit] if kind != "a column" else [])
    for use in uses:
        with pytest.raises(LatentiaError, match=said):
            use(make())


def test_one_row_and_missing_cells_are_read_as_in_memory(model):
    one = da.from_array(ROWS[:1], chunks=(100, 4))
    np.testing.assert_array_equal(model.predict(one), model.predict(ROWS[:1]))
    with pytest.raises(LatentiaError, match="1 rows"):
        SphericalGaussianMixture(3).fit(one)
    holes = spoiled(np.nan)
    np.testing.assert_array_equal(model.predict(holes), model.predict(holes.compute()))
    with pytest.raises(LatentiaError, match="NaN or infinity"):
        SphericalGaussianMixture(3).fit(holes)
