"""Memory of dictionaries of wide tables: about that of the table, and no matrix of features by features."""

import tracemalloc

import numpy as np
import pytest

from latentia.dictionary import IncoherentDictionary


@pytest.mark.filterwarnings("ignore::latentia.exceptions.LatentiaWarning")
def test_wide_tables_take_no_matrix_of_features_by_features():
    X = np.random.default_rng(0).standard_normal((200, 4000))
    model = IncoherentDictionary(20, sparsity=10, refine=2)
    model.fit(X[:, :50])  # kernels are compiled here
    tracemalloc.start()
    try:
        model.fit(X)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 10 * X.nbytes < 4000**2 * 8
