import numpy as np
import pytest

from latentia import LatentiaError
from latentia.moments import ViewMoments, ViewSums, common_frame
from latentia.moments.vectors import Coordinates
from latentia.passes import Blocks, Folds, accumulate
from latentia.tensor import decompose


def population(k=3, sizes=(4, 5, 6), seed=0, noise=0.3):
    """Exact moments of three views with spherical noise: means (three of (K, d_a)), weights, sums."""
    rng = np.random.default_rng(seed)
    means = [rng.standard_normal((k, d)) for d in sizes]
    w = rng.dirichlet(np.full(k, 5.0))
    pairs = {(a, b): means[a].T @ np.diag(w) @ means[b] for a in range(3) for b in range(3)}
    for a in range(3):
        pairs[a, a] = pairs[a, a] + noise * np.eye(sizes[a])
    third = np.einsum("k,ka,kb,kc->abc", w, *means)
    sketches = {pair: moment for pair, moment in pairs.items() if pair[0] != pair[1]}
    return means, w, ViewSums(10**9, [w @ m for m in means], pairs, third, sketches, {})


@pytest.mark.parametrize("seed", range(3))
def test_exact_moments_give_exact_means(seed):
    means, w, sums = population(seed=seed)
    frame = common_frame(sums, 3)
    v = decompose(frame.tensor, 3).vectors
    found = [frame.mean_given(sums.sketches, a, v) for a in range(3)]
    order = [int(np.argmin(np.linalg.norm(found[0] - mean, axis=1))) for mean in means[0]]
    for a in range(3):
        np.testing.assert_allclose(found[a][order], means[a], atol=1e-5)
    np.testing.assert_allclose(frame.weights(v)[order], w, atol=1e-5)
    assert frame.asymmetry < 1e-5
    assert (frame.spectrum[:3] > 1e-3).all()


def test_too_many_components_say_what_is_supported():
    _, _, sums = population()
    with pytest.raises(LatentiaError, match="^n_components=4: .* this data supports at most 3 components"):
        common_frame(sums, 4)


def test_sums_against_numpy():
    rng = np.random.default_rng(1)
    tables = [rng.random((90, d)) for d in (3, 4, 2)]
    coordinates = [Coordinates(t.mean(axis=0), np.eye(t.shape[1])) for t in tables]
    groups = rng.integers(0, 4, 90)
    moments = ViewMoments(coordinates, lambda block: (block, groups[block.rows]), squares=True)
    found = moments.of(accumulate(Blocks.from_array(*tables, block_rows=20), moments), (0, 2))
    chosen = np.isin(groups, (0, 2))
    y = [c(t)[chosen] for c, t in zip(coordinates, tables, strict=True)]
    n = chosen.sum()
    assert found.n == n
    np.testing.assert_allclose(found.third, np.einsum("na,nb,nc->abc", *y) / n)
    np.testing.assert_allclose(found.pairs[2, 0], y[2].T @ y[0] / n)
    np.testing.assert_allclose(found.sketches[1, 2], tables[1][chosen].T @ y[2] / n)
    centred = (tables[1] - tables[1].mean(axis=0))[chosen]
    np.testing.assert_allclose(found.squares[1, 0], (centred**2).T @ y[0] / n)


def test_neighbours_share_a_group():
    groups = Folds(4, 0, 50).of(np.arange(1000))
    assert all(len(set(groups[i : i + 50])) == 1 for i in range(0, 1000, 50))
    assert len(set(groups)) == 4
