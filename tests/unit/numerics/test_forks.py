"""Processes that are forked, and pools within pools: they compute, and never hang."""

import multiprocessing
import os
import sys
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq import InputError
from distfreeuq._kernels import threads
from distfreeuq._numerics import blas

PATIENCE = 60.0
"""Seconds after which a child that does not answer counts as hanging."""

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
pytestmark = pytest.mark.filterwarnings(
    "ignore:This process .* is multi-threaded:DeprecationWarning",
    "ignore:Loky-backed parallel loops cannot be:UserWarning",
)

RNG = np.random.default_rng(0)
LABELS = RNG.integers(0, 4, 3000)
LOGITS = RNG.normal(size=(3000, 4)) + 2.0 * np.eye(4)[LABELS]
PROBS = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)


def numbers_of_fits():
    """Return what a few fits found, each by other kernels, two with BLAS."""
    return [
        dfu.split_conformal(PROBS, LABELS, rng=0).thresholds[0],
        dfu.temperature_scaling(LOGITS, LABELS).temperature,
        dfu.vector_scaling(LOGITS[:300], LABELS[:300]).scale[0],
        dfu.bbse(PROBS, LABELS, PROBS[:1000]).label_weight[0],
        dfu.metrics.ece(PROBS, LABELS),
    ]


def in_a_fork(function, *args):
    """Return what the function returns in a forked child, or its exception."""
    fork = multiprocessing.get_context("fork")
    ours, theirs = fork.Pipe()
    child = fork.Process(target=_send, args=(theirs, function, args))
    child.start()
    try:
        assert ours.poll(PATIENCE), "the child hangs"
        return ours.recv()
    finally:
        child.kill()
        child.join()


def _send(pipe, function, args):
    try:
        pipe.send(function(*args))
    except Exception as error:
        pipe.send(error)


@pytest.fixture
def two_threads():
    """Let the kernels have used two threads, and have them used no more later."""
    before = dfu.get_num_threads()
    dfu.set_num_threads(2)
    dfu.metrics.ece(np.full((40_000, 4), 0.25), np.zeros(40_000, dtype=int))
    yield
    dfu.set_num_threads(before)


# ------------------------------------------------------------------- threads of kernels


@needs_fork
@pytest.mark.usefixtures("two_threads")
def test_a_fork_has_one_thread_and_is_refused_more():
    assert in_a_fork(dfu.get_num_threads) == 1
    assert in_a_fork(dfu.set_num_threads, 1) is None
    error = in_a_fork(dfu.set_num_threads, 2)
    assert isinstance(error, InputError)
    assert str(error) == (
        "The 'n' parameter of set_num_threads must be 1 in a process that was forked "
        "(one that is spawned can have more). Got 2 instead."
    )
    dfu.set_num_threads(2)  # the parent goes on as before


@needs_fork
@pytest.mark.usefixtures("two_threads")
def test_a_fork_by_a_worker_that_had_more_threads_has_one():
    with threads.one_thread_here():
        dfu.set_num_threads(2)
        assert dfu.get_num_threads() == 2
        assert in_a_fork(dfu.get_num_threads) == 1


@needs_fork
@pytest.mark.usefixtures("two_threads")
def test_a_fork_of_a_fork_computes():
    assert in_a_fork(in_a_fork, numbers_of_fits) == numbers_of_fits()


# ------------------------------------------------------------------------------- BLAS


class Occupied:
    """Another thread that is within `context` as long as this one is."""

    def __init__(self, context):
        self.context, self.inside, self.leave = context, threading.Event(), None

    def __enter__(self):
        self.leave = threading.Event()
        self.thread = threading.Thread(target=self._stay)
        self.thread.start()
        assert self.inside.wait(PATIENCE)

    def _stay(self):
        with self.context:
            self.inside.set()
            self.leave.wait(PATIENCE)

    def __exit__(self, *failure):
        self.leave.set()
        self.thread.join(PATIENCE)


def blas_threads():
    return [switch.read() for switch in blas._switches()]


def blas_threads_after_a_fit():
    with blas._one_thread():
        assert set(blas_threads()) <= {1}
    return blas_threads()


@needs_fork
def test_a_fork_while_another_thread_holds_the_lock_can_fit():
    with Occupied(blas._limit.lock):
        assert in_a_fork(blas_threads_after_a_fit) == blas_threads()


@needs_fork
def test_a_fork_while_another_thread_fits_restores_what_was_before_that_fit():
    before = blas_threads()
    with Occupied(blas._one_thread()):
        assert in_a_fork(blas_threads_after_a_fit) == before
    assert blas_threads() == before


@needs_fork
def test_a_fork_from_within_a_fit_can_leave_it():
    context = blas._one_thread()
    before = blas_threads()
    with context:
        assert in_a_fork(_leave_and_fit, context) == before
    assert blas_threads() == before


def _leave_and_fit(context):
    context.__exit__(None, None, None)
    return blas_threads_after_a_fit()


# --------------------------------------------------------------------- many at a time


@needs_fork
@pytest.mark.slow
@pytest.mark.usefixtures("two_threads")
def test_forks_while_other_threads_fit_compute_the_same():
    expected, stop = numbers_of_fits(), threading.Event()

    def fit_on_and_on():
        while not stop.is_set():
            numbers_of_fits()

    workers = [threading.Thread(target=fit_on_and_on) for _ in range(2)]
    for worker in workers:
        worker.start()
    try:
        for _ in range(40):
            assert in_a_fork(numbers_of_fits) == expected
    finally:
        stop.set()
        for worker in workers:
            worker.join(PATIENCE)


@pytest.mark.slow
def test_eight_threads_compute_the_same():
    expected = numbers_of_fits()
    with ThreadPoolExecutor(8) as pool:
        found = [pool.submit(numbers_of_fits) for _ in range(48)]
        assert all(task.result(PATIENCE) == expected for task in found)


def _on_threads(_number):
    with ThreadPoolExecutor(4) as pool:
        tasks = [pool.submit(numbers_of_fits) for _ in range(4)]
        return [task.result(PATIENCE) for task in tasks]


@pytest.mark.slow
@pytest.mark.parametrize(
    "method", [pytest.param("fork", marks=needs_fork), "spawn", "forkserver"]
)
@pytest.mark.usefixtures("two_threads")
def test_threads_within_processes_compute_the_same(method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system cannot start processes by {method}")
    expected = numbers_of_fits()
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        for task in [pool.submit(_on_threads, number) for number in range(4)]:
            assert task.result(2 * PATIENCE) == [expected] * 4


def _nested(n_jobs, backend):
    from joblib import Parallel, delayed

    inner = Parallel(n_jobs, backend=backend)
    return inner(delayed(numbers_of_fits)() for _ in range(3))


@pytest.mark.slow
@pytest.mark.parametrize("inner", ["threading", "loky"])
@pytest.mark.parametrize("outer", ["threading", "loky", "multiprocessing"])
def test_pools_within_pools_compute_the_same(outer, inner):
    from joblib import Parallel, delayed

    if outer == "multiprocessing" and sys.platform == "win32":
        pytest.skip("starts this module anew")
    expected = numbers_of_fits()
    pool = Parallel(2, backend=outer, timeout=2 * PATIENCE)
    found = pool(delayed(_nested)(2, inner) for _ in range(2))
    assert found == [[expected] * 3] * 2


def _two_threads_here(_number):
    dfu.set_num_threads(2)
    return numbers_of_fits()


@pytest.mark.slow
def test_processes_that_start_anew_can_have_more_threads():
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        found = pool.submit(_two_threads_here, 0).result(2 * PATIENCE)
    assert found == numbers_of_fits()
