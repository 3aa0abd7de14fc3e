import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from latentia import LatentiaError
from latentia.tensor import decompose
from latentia.tensor.cp import _random_starts
from latentia.tensor.operators import SymmetricFour, SymmetricThree, tensor_norm
from latentia.tensor.polar import ascent

METHODS = ["polar", "als"]


def planted(k, noise=0.0, seed=0, order=3, weights=None):
    """A symmetric orthogonal tensor with noise of operator norm ``noise`` times the smallest weight; vectors; weights."""
    rng = np.random.default_rng(seed)
    v = np.linalg.qr(rng.standard_normal((k, k)))[0]
    w = rng.uniform(1, 2, k) if weights is None else np.asarray(weights, float)
    letters = "abcd"[:order]
    terms = ",".join(f"k{c}" for c in letters)
    tensor = np.einsum(f"k,{terms}->{letters}", w, *[v] * order, optimize=True)
    if noise:
        e = symmetric(rng.standard_normal((k,) * 3))
        tensor += e * noise * w.min() / tensor_norm(e)
    return tensor, v, w


def symmetric(t):
    orders = [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]
    return sum(t.transpose(p) for p in orders) / 6


def errors(found, true):
    """l2 errors of vectors up to order and sign."""
    cosine = np.abs(true @ found.T)
    i, j = linear_sum_assignment(-cosine)
    return np.sqrt(2 - 2 * np.minimum(cosine[i, j], 1))


@pytest.mark.parametrize("method", METHODS)
def test_exact_tensors_are_recovered(method):
    tensor, v, w = planted(8, seed=1)
    weights, vectors, info = decompose(tensor, 8, method=method)
    assert errors(vectors, v).max() < 1e-4
    np.testing.assert_allclose(weights, np.sort(w)[::-1], rtol=1e-5)
    assert info.residual < 1e-4
    assert info.orthogonality_defect < 1e-4
    assert info.stable.all()
    assert info.converged
    assert info.iterations >= 1


@pytest.mark.parametrize("method", METHODS)
def test_noise_moves_vectors_within_the_theorem(method):
    tensor, v, w = planted(10, noise=0.02, seed=2)
    found = decompose(tensor, 10, method=method)
    assert errors(found.vectors, v).max() <= 8 * 0.02 * w.min() / w.min()
    assert np.abs(found.weights - np.sort(w)[::-1]).max() <= 5 * 0.02 * w.min()


@pytest.mark.parametrize("seed", range(3))
def test_default_recovers_all_where_noise_equals_the_smallest_weight(seed):
    tensor, v, _ = planted(50, noise=1.0, seed=seed)
    assert errors(decompose(tensor).vectors, v).max() < 0.5


def test_fewer_components_than_dimensions():
    rng = np.random.default_rng(3)
    v = np.linalg.qr(rng.standard_normal((12, 4)))[0].T
    tensor = np.einsum("k,ka,kb,kc->abc", [4.0, 3, 2, 1], v, v, v)
    weights, vectors, _ = decompose(tensor, 4)
    assert vectors.shape == (4, 12)
    assert errors(vectors, v).max() < 1e-4
    np.testing.assert_allclose(weights, [4, 3, 2, 1], rtol=1e-5)


def test_four_modes_keep_the_sign_of_the_weights():
    tensor, v, w = planted(6, order=4, weights=[5, -4, 3, -2, 1.5, -1])
    weights, vectors, info = decompose(tensor, 6)
    np.testing.assert_allclose(weights, w, rtol=1e-6)
    assert errors(vectors, v).max() < 1e-6
    assert info.residual < 1e-6


def test_equal_weights_are_no_obstacle():
    tensor, v, _ = planted(15, weights=np.ones(15))
    assert errors(decompose(tensor).vectors, v).max() < 1e-6


def test_three_different_modes():
    rng = np.random.default_rng(4)
    families = [np.linalg.qr(rng.standard_normal((d, 5)))[0].T for d in (8, 6, 7)]
    tensor = np.einsum("k,ka,kb,kc->abc", [3.0, 2.5, 2, 1.5, 1], *families)
    weights, vectors, _ = decompose(tensor + 1e-4 * rng.standard_normal(tensor.shape), 5, method="als")
    np.testing.assert_allclose(weights, [3, 2.5, 2, 1.5, 1], rtol=1e-2)
    for mode, family in zip(vectors, families, strict=True):
        assert errors(mode, family).max() < 1e-2
    fitted = np.einsum("k,ka,kb,kc->abc", weights, *vectors)
    assert np.linalg.norm(fitted - tensor) < 0.01 * np.linalg.norm(tensor)


def test_als_takes_components_that_are_not_orthogonal_and_starts():
    rng = np.random.default_rng(5)
    a, b, c = (rng.standard_normal((4, d)) for d in (6, 5, 7))
    tensor = np.einsum("ka,kb,kc->abc", a, b, c)
    found = decompose(tensor, 4, method="als")
    assert found.info.residual < 1e-3
    again = decompose(tensor, 4, method="als", starts=found.vectors)
    assert again.info.residual <= found.info.residual + 1e-9
    assert again.info.iterations < found.info.iterations


def test_of_starts_that_are_not_stable_the_best_is_kept():
    for seed in range(6):
        noise = SymmetricThree(symmetric(np.random.default_rng(seed).standard_normal((8, 8, 8))))
        one, best = (ascent(noise, 8, np.random.default_rng(1), n_init=n).weights for n in (1, 4))
        assert best @ best >= one @ one


def test_pure_noise_is_called_unstable():
    noise = symmetric(np.random.default_rng(7).standard_normal((30, 30, 30)))
    info = decompose(noise).info
    assert info.stable.mean() < 0.9
    assert info.residual > 0.5


@pytest.mark.parametrize("method", METHODS)
def test_the_same_seed_gives_the_same_bits(method):
    tensor, _, _ = planted(7, noise=0.1)
    first, second = (decompose(tensor, 7, random_state=3, method=method) for _ in range(2))
    assert (first.vectors == second.vectors).all()
    assert (first.weights == second.weights).all()


def test_single_precision():
    tensor, v, _ = planted(12, noise=0.05, seed=9)
    found = decompose(tensor.astype(np.float32))
    assert errors(found.vectors, v).max() < 0.1


def test_packed_operators_agree_with_einsum():
    rng = np.random.default_rng(0)
    t3 = symmetric(rng.standard_normal((5, 5, 5)))
    t4, _, _ = planted(5, order=4)
    rows, basis = rng.standard_normal((3, 5)), np.linalg.qr(rng.standard_normal((5, 2)))[0]
    three, four = SymmetricThree(t3), SymmetricFour.from_tensor(t4)
    np.testing.assert_allclose(three.contract(rows), np.einsum("abc,mb,mc->ma", t3, rows, rows))
    np.testing.assert_allclose(four.contract(rows), np.einsum("abcd,mb,mc,md->ma", t4, rows, rows, rows))
    np.testing.assert_allclose(four.matrices(rows), np.einsum("abcd,mc,md->mab", t4, rows, rows))
    np.testing.assert_allclose(four.norm_squared(), (t4**2).sum())
    flat = t4.reshape(5, -1)
    np.testing.assert_allclose(four.unfolding_gram(), flat @ flat.T)
    np.testing.assert_allclose(three.project(basis).full, np.einsum("abc,ai,bj,ck->ijk", t3, basis, basis, basis))
    small = SymmetricFour.from_tensor(
        np.einsum("abcd,ai,bj,ck,dl->ijkl", t4, basis, basis, basis, basis, optimize=True)
    )
    np.testing.assert_allclose(four.project(basis).packed, small.packed, atol=1e-12)


def test_operator_norm():
    tensor, _, w = planted(9)
    assert tensor_norm(tensor) == pytest.approx(w.max(), rel=1e-6)


@pytest.mark.parametrize(
    ("tensor", "options", "message"),
    [
        (np.zeros((3, 3, 3)), {}, "T is zero"),
        (np.ones((3, 3)), {}, "three or four modes"),
        (np.full((2, 2, 2), np.nan), {}, "nan at \\(0, 0, 0\\)"),
        (np.random.default_rng(0).random((3, 3, 3)), {}, "symmetric T"),
        (np.ones((3, 3, 3)), {"n_components": 2}, "^n_components=2: this tensor supports at most 1: singular value 2"),
        (np.ones((3, 3, 3)), {"n_components": 4}, "^n_components=4: this tensor supports at most 3: T has shape"),
        (np.ones((3, 3, 3)), {"n_components": 0}, "^n_components=0: expected a whole number of at least 1"),
        (np.ones((3, 3, 3)), {"method": "jennrich"}, "^method=.jennrich.: use one of .*latentia.papers.tensors"),
        (np.ones((2, 2, 2, 2)), {"method": "als"}, "takes three modes"),
        (np.array([[["a"]]]), {}, "real numbers"),
        (np.ones((3, 3, 3)), {"n_components": 10**9}, "at most 3"),
        (np.ones((3, 4, 5)), {"n_components": 10**9, "method": "als"}, "at most 12: T has shape \\(3, 4, 5\\)"),
        (np.ones((3, 3, 3)), {"n_components": 10**30, "method": "als"}, "at most 9"),
        (np.ones((3, 3, 3)), {"n_init": None}, "^n_init=None"),
        (np.ones((3, 3, 3)), {"max_iter": True}, "^max_iter=True"),
        (np.ones((3, 3, 3)), {"tol": np.nan}, "^tol=nan"),
        (np.ones((3, 3, 3)), {"random_state": "x"}, "^random_state='x'"),
        *[
            (
                np.ones(shape),
                {"n_components": 2, "method": method, "starts": starts},
                "^starts: Expected finite numbers",
            )
            for shape, method in (((3, 3, 3), "als"), ((3, 4, 5), "als"), ((3, 3, 3), "polar"))
            for starts in ("x", [[1, 2]], np.full((2, 3), np.nan), np.ones((1, 3)), [np.ones((2, 3))] * 2)
        ],
        (np.ones((3, 3, 3)), {"method": "als", "starts": 5}, "^starts: Expected a list"),
    ],
)
def test_bad_input(tensor, options, message):
    with pytest.raises(LatentiaError, match=message):
        decompose(tensor, **options)


def test_starts_are_drawn_one_by_one():
    """So many starts as fit into no memory are no error: an interrupt ends them."""
    tensor, *_ = planted(3)
    starts = _random_starts(tensor, 3, 10**15, np.random.default_rng(0))
    assert [factor.shape for factor in next(starts)] == [(3, 3)] * 3
