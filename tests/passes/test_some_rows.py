"""Some of the rows are the same ones, however they are cut into blocks and wherever these are."""

import numpy as np
import pytest
from scipy import sparse

from latentia.datasets import planted
from latentia.dictionary import IncoherentDictionary
from latentia.passes import Blocks, Folds

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

ROWS = np.random.default_rng(0).standard_normal((1000, 5))


def sources():
    table = sparse.csr_array(np.where(ROWS > 0, ROWS, 0))
    yield "cut", Blocks.from_array(ROWS, block_rows=70), ROWS
    yield "chunks", Blocks.from_dask(da.from_array(ROWS, chunks=(130, 5))), ROWS
    yield "mapped", Blocks.from_array(ROWS, block_rows=70).map(lambda block: [block[0]], [(1000, 5)]), ROWS
    delayed = [dask.delayed(sparse.csr_array)(table[a : a + 250]) for a in range(0, 1000, 250)]
    yield "sparse", Blocks.from_dask(delayed), table


@pytest.mark.parametrize(("blocks", "table"), [pytest.param(*rest, id=name) for name, *rest in sources()])
def test_some_rows_do_not_depend_on_how_they_are_cut(blocks, table):
    whole, folds = Blocks.from_array(table), Folds(4, 3)
    for one, other in ((blocks, whole), (blocks.group((0, 2), folds), whole.group((0, 2), folds))):
        for most in (1, 17, 400, 5000):
            (found,), (expected,) = one.some_rows(most), other.some_rows(most)
            assert found.shape[0] == min(most, other.n_rows)
            np.testing.assert_array_equal(*(t.toarray() if sparse.issparse(t) else t for t in (found, expected)))


@pytest.mark.filterwarnings("ignore::latentia.exceptions.LatentiaWarning")
@pytest.mark.parametrize("rows", [700, 97, 7])
def test_atoms_of_chunks_are_those_of_the_array(rows):
    X = planted.sparse_codes(2000, n_features=16, n_components=20, sparsity=2, noise=0.05, random_state=1).X
    for refine, rounding in ((0, 1e-9), (5, 0.01)):  # rounds amplify it where atoms are used by few rows
        one, other = (
            IncoherentDictionary(20, sparsity=2, refine=refine, n_splits=0).fit(data)
            for data in (X, da.from_array(X, chunks=(rows, -1)))
        )
        np.testing.assert_allclose(one.components_, other.components_, atol=rounding)
