"""Equal matrices give the same bits, however they are stored, and stay as they were."""

import numpy as np
import pytest
from contract import CASES
from scipy import sparse
from test_api import answers, same, same_numbers

from latentia import LatentiaError
from latentia.passes import Blocks

pytestmark = pytest.mark.filterwarnings("ignore::latentia.exceptions.LatentiaWarning")


def untidy(table, seed=0):
    """A CSR matrix equal to a table: row starts of int64, columns unsorted, zeros stored, and some entries cut in two."""
    rng, coo = np.random.default_rng(seed), sparse.coo_array(table)
    zeros = [rng.integers(0, n, coo.nnz // 2 + 1) for n in table.shape]
    twice = rng.random(coo.nnz) < 0.3 if coo.dtype.kind == "f" else np.zeros(coo.nnz, bool)
    halves = np.where(twice, coo.data / 2, coo.data).astype(coo.dtype)
    rows, columns = (np.concatenate([place, place[twice], more]) for place, more in zip(coo.coords, zeros, strict=True))
    data = np.concatenate([halves, halves[twice], np.zeros(len(zeros[0]), coo.dtype)])
    order = rng.permutation(len(data))
    order = order[np.argsort(rows[order], kind="stable")]
    starts = np.append(0, np.cumsum(np.bincount(rows, minlength=table.shape[0])))
    found = sparse.csr_array(table.shape, dtype=data.dtype)
    found.data, found.indices, found.indptr = data[order], columns[order].astype(np.int64), starts.astype(np.int64)
    return found


def shuffled_pairs(table):
    coo = sparse.coo_array(untidy(table, 1))
    order = np.random.default_rng(2).permutation(coo.nnz)
    return sparse.coo_array((coo.data[order], tuple(place[order] for place in coo.coords)), shape=coo.shape)


SPARSE = {
    "untidy": untidy,
    "pairs": shuffled_pairs,
    "by columns": lambda table: sparse.csc_array(untidy(table)),
    "matrix": lambda table: sparse.csr_matrix(table),
}
DENSE = {
    "by columns": np.asfortranarray,
    "strided": lambda table: np.repeat(table, 2, axis=-1)[..., ::2],
    "swapped bytes": lambda table: table.astype(table.dtype.newbyteorder(">")),
}


def takes_sparse(case):
    """Whether the first table of ``fit`` may be sparse."""
    table = next(iter(case.data().values()))
    return sparse.issparse(table) or case.estimator.__sklearn_tags__().input_tags.sparse


def numbers_of(value):
    """A table of numbers for every kind of input that a case has."""
    if sparse.issparse(value):
        return sparse.csr_array(value)
    return np.asarray(value)


def stored(case, form, forms):
    """The data of a case with each of its tables stored in another form."""

    def other(name, value):
        if name == "views":
            return value
        if isinstance(value, list):
            return [form(np.asarray(one)) for one in value]
        value = numbers_of(value)
        if forms is SPARSE and value.ndim == 2:
            return form(sparse.csr_array(value))
        return value if sparse.issparse(value) or value.dtype.kind == "b" else form(value)

    return {name: other(name, value) for name, value in case.data().items()}


def arrays(data):
    """Copies of all arrays of the tables."""
    found = []
    for value in data.values():
        if sparse.issparse(value):
            places = [value.row, value.col] if value.format == "coo" else [value.indices, value.indptr]
            found += [value.data.copy(), *(place.copy() for place in places)]
        elif isinstance(value, np.ndarray):
            found.append(value.copy())
    return found


def fits():
    for case in CASES:
        forms = SPARSE if takes_sparse(case) else DENSE
        for name, form in forms.items():
            yield pytest.param(case, form, forms, id=f"{case.name}-{name}")


PLAIN = {}


def plain(case, forms):
    """The fit of the tidy form, made once, and what it says."""
    if case.name not in PLAIN:
        data = stored(case, (lambda table: table) if forms is DENSE else sparse.csr_array, forms)
        model = case.new(n_splits=0).fit(**data)
        PLAIN[case.name] = model, answers(case, model, data)
    return PLAIN[case.name]


@pytest.mark.parametrize(("case", "form", "forms"), list(fits()))
def test_equal_tables_give_the_same_bits(case, form, forms):
    model, said = plain(case, forms)
    data = stored(case, form, forms)
    before = arrays(data)
    other = case.new(n_splits=0).fit(**data)
    same_numbers(model, other)
    same(said, answers(case, other, data))
    for one, kept in zip(arrays(data), before, strict=True):
        np.testing.assert_array_equal(one, kept)


@pytest.mark.parametrize("form", SPARSE.values(), ids=SPARSE)
def test_blocks_of_equal_matrices_are_the_same_arrays(form):
    table = sparse.random_array((50, 20), density=0.2, random_state=0, format="csr")
    (expected,), (found,) = Blocks.from_array(table)[0], Blocks.from_array(form(table))[0]
    for name in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
        assert getattr(found, name).dtype == getattr(expected, name).dtype


@pytest.mark.parametrize("damage", ["column", "negative", "starts", "end", "short"])
@pytest.mark.parametrize("case", [case for case in CASES if takes_sparse(case)], ids=lambda case: case.name)
def test_damaged_matrices_are_refused(case, damage):
    data = stored(case, sparse.csr_array, SPARSE)
    name = next(iter(data))
    table = data[name] = sparse.csr_array(data[name], copy=True)
    if damage == "column":
        table.indices[3] = table.shape[1] + 10**6
    elif damage == "negative":
        table.indices[3] = -5
    elif damage == "starts":
        table.indptr[2] = table.indptr[-1] + 7
    elif damage == "end":
        table.indptr[-1] += 1000
    else:
        table.data = table.data[:-3]
    with pytest.raises(LatentiaError, match="damaged|no table"):
        case.new(n_splits=0).fit(**data)
