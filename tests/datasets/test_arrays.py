import numpy as np
import pytest
from scipy import sparse

from latentia.datasets.arrays import is_array, read_array
from latentia.exceptions import LatentiaError


@pytest.fixture
def table():
    return np.random.default_rng(0).random((12, 3))


def test_names_of_files():
    assert is_array("a/X.NPY")
    assert is_array("x.npz")
    assert not is_array("x.csv")


@pytest.mark.parametrize("dtype", [np.float32, np.int16, bool])
def test_a_table(table, tmp_path, dtype):
    given = (10 * table).astype(dtype)
    np.save(tmp_path / "x.npy", given)
    found = read_array(tmp_path / "x.npy")
    np.testing.assert_array_equal(found.values, given.astype(float))
    assert found.values.dtype == np.float64
    assert (found.name, found.image) == ("", None)


def test_an_image_of_bands(table, tmp_path):
    np.save(tmp_path / "x.npy", table.reshape(3, 4, 3))
    found = read_array(tmp_path / "x.npy")
    np.testing.assert_array_equal(found.values, table)
    assert found.image == (3, 4)


def test_rows_that_are_pixels(table, tmp_path):
    np.save(tmp_path / "x.npy", table)
    np.save(tmp_path / "cube.npy", table.reshape(3, 4, 3))
    assert read_array(tmp_path / "x.npy", image=(4, 3), shape=(1, 3)).image is None
    assert read_array(tmp_path / "cube.npy", image=(3, 4)).image == (3, 4)
    with pytest.raises(LatentiaError, match="image='3x5': these are 15 pixels, and x.npy has 12 rows"):
        read_array(tmp_path / "x.npy", image=(5, 3))
    with pytest.raises(LatentiaError, match="shape='2x2': these are 4 pixels, and cube.npy has 3 columns"):
        read_array(tmp_path / "cube.npy", shape=(2, 2))
    with pytest.raises(LatentiaError, match="image='3x4': cube.npy: holds an image of 4 x 3 pixels; leave it out"):
        read_array(tmp_path / "cube.npy", image=(4, 3))


def test_one_of_several_arrays(table, tmp_path):
    np.savez(tmp_path / "x.npz", small=table[:2], large=table, long=np.zeros(1000), text=np.array([["a" * 50] * 50]))
    assert read_array(tmp_path / "x.npz").name == "large"
    np.testing.assert_array_equal(read_array(tmp_path / "x.npz", "small").values, table[:2])
    with pytest.raises(LatentiaError, match="no array 'other'. There are small, large, long, text"):
        read_array(tmp_path / "x.npz", "other")
    with pytest.raises(LatentiaError, match=r"array 'long': expected numbers .* found shape \(1000,\)"):
        read_array(tmp_path / "x.npz", "long")
    with pytest.raises(LatentiaError, match="array 'text': expected numbers .* shape"):
        read_array(tmp_path / "x.npz", "text")


def test_a_sparse_matrix(table, tmp_path):
    given = sparse.csr_array(np.where(table > 0.5, table, 0))
    sparse.save_npz(tmp_path / "x.npz", given)
    found = read_array(tmp_path / "x.npz").values
    assert sparse.issparse(found)
    assert abs(found - given).max() == 0


def test_files_that_are_no_tables(tmp_path):
    np.save(tmp_path / "empty.npy", np.zeros((0, 3)))
    np.save(tmp_path / "objects.npy", np.array([[{}]], dtype=object))
    np.savez(tmp_path / "none.npz")
    (tmp_path / "text.npy").write_text("a,b\n1,2\n")
    (tmp_path / "damaged.npz").write_bytes(b"PK\x03\x04 not a zip file")
    for name, message in (
        ("empty.npy", r"shape \(0, 3\)"),
        ("objects.npy", "not a readable file of NumPy"),
        ("none.npz", "expected arrays, found none in the file"),
        ("damaged.npz", "not a readable zip archive"),
        ("text.npy", r"not a readable file of NumPy \(it begins like neither .npy nor .npz\)\.$"),
        ("missing.npy", "no such file"),
    ):
        with pytest.raises(LatentiaError, match=message):
            read_array(tmp_path / name)
    np.save(tmp_path / "x.npy", np.zeros((2, 2)))
    with pytest.raises(LatentiaError, match="a .npy file holds one array, which has no name; leave 'a' out"):
        read_array(tmp_path / "x.npy", "a")
    with pytest.raises(LatentiaError, match="expected a file, found a folder"):
        read_array(tmp_path)
