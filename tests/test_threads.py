"""Tasks on threads: each runs once, errors reach the caller, and a task may ask for more."""

import threading

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from latentia.system.threads import single_blas_thread, threads


@pytest.mark.parametrize("n_workers", [1, 2, 5])
@pytest.mark.parametrize("n_tasks", [0, 1, 3, 50])
def test_every_task_runs_once(n_workers, n_tasks):
    done = []
    with threads(n_workers) as parallel:
        parallel(done.append, n_tasks)
        parallel(done.append, n_tasks)
    assert sorted(done) == sorted([*range(n_tasks), *range(n_tasks)])


@pytest.mark.parametrize("n_workers", [1, 3])
def test_an_error_reaches_the_caller_when_all_have_stopped(n_workers):
    running, lock = [0], threading.Lock()

    def task(i):
        with lock:
            running[0] += 1
        try:
            if i == 5:
                raise ValueError("five")
        finally:
            with lock:
                running[0] -= 1

    with threads(n_workers) as parallel:
        with pytest.raises(ValueError, match="five"):
            parallel(task, 1000)
        assert running == [0]
        done = []
        parallel(done.append, 4)
    assert sorted(done) == [0, 1, 2, 3]


def test_a_task_may_ask_for_more():
    done = []
    with threads(2) as parallel:
        parallel(lambda i: parallel(lambda j: done.append((i, j)), 3), 4)
    assert len(done) == len(set(done)) == 12


def blas():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_blas_is_held_to_one_thread_until_the_last_user_leaves():
    first, second = threading.Event(), threading.Event()
    with threadpool_limits(2, user_api="blas"):
        before = blas()

        def outlives():
            with single_blas_thread():
                first.set()
                second.wait()

        other = threading.Thread(target=outlives, daemon=True)
        with single_blas_thread():
            other.start()
            first.wait()
            with single_blas_thread():
                assert set(blas()) == {1}
        assert set(blas()) == {1}
        second.set()
        other.join()
        assert blas() == before
