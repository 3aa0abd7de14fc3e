import copy

import numpy as np
import pytest

from latentia.passes import Blocks, accumulate


class Total:
    def zero(self):
        return np.zeros(3)

    def add(self, state, block):
        return state + block[0].sum(axis=0)

    def merge(self, first, second):
        return first + second


class Product:
    """X^T X in place, a task a column."""

    def zero(self):
        return np.zeros((3, 3))

    def add_tasks(self, state, block, parallel):
        x = block[0]

        def task(j):
            state[:, j] += x.T @ x[:, j]

        parallel(task, 3)
        return state


class Memory:
    """A checkpoint that keeps every state and dies after some saves."""

    def __init__(self, state=None, die_after=None):
        self.state, self.saves, self.die_after = state, 0, die_after

    def load(self):
        return copy.deepcopy(self.state)

    def save(self, state):
        self.state = copy.deepcopy(state)
        self.saves += 1
        if self.saves == self.die_after:
            raise KeyboardInterrupt


@pytest.fixture
def blocks():
    return Blocks.from_array(np.random.default_rng(0).standard_normal((1000, 3)) * 1e6, block_rows=37)


def test_same_bits_for_any_number_of_workers(blocks):
    alone = accumulate(blocks, [Total(), Product()], n_jobs=1)
    for n_jobs in (2, 3, 5):
        together = accumulate(blocks, [Total(), Product()], n_jobs=n_jobs)
        assert all((a == b).all() for a, b in zip(alone, together, strict=True))
    x = np.vstack([block[0] for block in blocks])
    np.testing.assert_allclose(alone[0], x.sum(axis=0), rtol=1e-9)
    np.testing.assert_allclose(alone[1], x.T @ x, rtol=1e-12)


def test_a_killed_pass_resumes_with_the_same_bits(blocks):
    whole = accumulate(blocks, [Total(), Product()])
    checkpoint = Memory(die_after=11)
    with pytest.raises(KeyboardInterrupt):
        accumulate(blocks, [Total(), Product()], checkpoint=checkpoint)
    resumed = Memory(checkpoint.state)
    again = accumulate(blocks, [Total(), Product()], n_jobs=2, checkpoint=resumed)
    assert all((a == b).all() for a, b in zip(whole, again, strict=True))
    assert resumed.saves < len(blocks)


def test_one_statistic_gives_one_sum_and_no_blocks_the_zero(blocks):
    assert accumulate(blocks, Total()).shape == (3,)
    assert (accumulate(Blocks.from_array(np.empty((0, 3))), Total()) == 0).all()


def test_progress_goes_to_standard_error(blocks, capsys):
    accumulate(blocks, Total(), progress="counting")
    captured = capsys.readouterr()
    assert captured.out == ""


def test_an_error_in_a_block_is_raised(blocks):
    class Broken(Total):
        def add(self, state, block):
            raise ValueError(f"block {block.number}")

    for n_jobs in (1, 2):
        with pytest.raises(ValueError, match="block 0"):
            accumulate(blocks, Broken(), n_jobs=n_jobs)
