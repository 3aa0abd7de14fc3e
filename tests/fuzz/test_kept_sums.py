"""Rows of any size are added and forgotten in any order: the sums are those of the rows that are left, or a row is refused."""

import numpy as np
import pytest
from fuzzing import budget

from latentia.exceptions import LatentiaError
from latentia.moments import FramedSums, WideSums
from latentia.passes import Blocks, assign_folds_by_content


@pytest.mark.parametrize("part", range(4))
def test_what_is_left_is_what_the_sums_say(part):
    refused = 0
    for seed in range(part, budget(120, 2_000), 4):
        try:
            refused += one_case(seed)
        except BaseException as error:
            raise AssertionError(f"case {seed}") from error
    assert refused


def one_case(seed):
    """How many batches were refused."""
    rng = np.random.default_rng(seed)
    width, order = int(rng.choice([1, 2, 3, 5, 70])), int(rng.choice([3, 4]))
    draw = [rng.standard_normal, lambda size: rng.gamma(1.0, size=size), lambda size: rng.poisson(2.0, size) * 1.0]
    kind, center, scale = draw[int(rng.integers(3))], 10.0 ** rng.uniform(-2, 4), 10.0 ** rng.uniform(-6, 6)
    first = (kind((400, width)) + center) * scale
    if width > 1 and rng.random() < 0.3:
        first[:, 0] = 3.7 * scale
    total, left, refused = summed(first, order), [first], 0
    for _ in range(int(rng.integers(1, 5))):
        batch = rows_far_out(first, rng)
        said = ""
        try:
            total = total.plus(summed(batch, order, total))
            left.append(batch)
        except LatentiaError as error:
            said = str(error)
        assert not said or "cannot forget" in said
        refused += bool(said)
    for number in sorted(rng.permutation(len(left) - 1)[: len(left)] + 1, reverse=True):
        batch = left.pop(number)
        for piece in np.array_split(batch, int(rng.integers(1, len(batch) + 1))):  # in other pieces than they came in
            total = total.plus(summed(piece, order, total), -1)
    whole = summed(first, order)
    deviations = np.where(first.std(axis=0) > 0, first.std(axis=0), scale)
    assert total.n_rows == len(first)
    assert (np.abs(total.columns.mean - whole.columns.mean) <= 1e-9 * deviations).all()
    assert (np.abs(np.sqrt(total.columns.variance) - np.sqrt(whole.columns.variance)) <= 1e-9 * deviations).all()
    if isinstance(total, FramedSums):
        moved = total.change_frame(whole.center, whole.scale)
        np.testing.assert_allclose(moved.sums, whole.sums, rtol=1e-9, atol=1e-7 * len(first))
    return refused


def rows_far_out(first, rng):
    """A few rows like the first ones, some cells of which are up to 10^9 deviations away."""
    batch = first[rng.integers(len(first), size=int(rng.integers(1, 6)))].copy()
    size = 10.0 ** rng.uniform(0, 6 if rng.random() < 0.8 else 9)
    there = rng.random(batch.shape) < rng.choice([0.1, 0.5, 1.0])
    return batch + there * size * np.where(np.ptp(first, axis=0) > 0, first.std(axis=0), 0) * rng.choice(
        [-1, 1], size=batch.shape
    )


def summed(rows, order, like=None):
    blocks = Blocks.from_array(rows)
    folds = assign_folds_by_content(blocks)
    if rows.shape[1] > 64:
        return WideSums.from_blocks(blocks, order, folds, 8 if like is None else 0, like)
    return FramedSums.from_blocks(blocks, order, folds, like)
