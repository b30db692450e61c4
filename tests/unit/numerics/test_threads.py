"""Threads change how long a call takes, and nothing else."""

import multiprocessing
import os
import re
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq import InputError
from distfreeuq._kernels import _checks, threads
from tests.unit.odd_values import odd_values

# Large enough for several threads, each with several chunks of rows.
N, K = 4000, 100
PROBS = np.random.default_rng(0).dirichlet(np.ones(K), size=N)
LABELS = np.arange(N) % K


@pytest.fixture(autouse=True)
def threads_as_before():
    before = dfu.get_num_threads()
    yield
    dfu.set_num_threads(before)


def everything(probs: np.ndarray) -> list[np.ndarray]:
    fit = dfu.split_conformal(probs, LABELS, rng=0)
    sets = fit.predict(probs)
    return [
        fit.scores,
        fit.thresholds,
        sets.mask,
        sets.sizes,
        fit.p_values(probs[:500]),
        dfu.nested_scores(probs, score="saps"),
    ]


def assert_equal_lists(one: list[np.ndarray], other: list[np.ndarray]) -> None:
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


def test_enough_work_for_several_threads_here():
    dfu.set_num_threads(4)
    assert threads.threads_for(PROBS.size) == 4


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_results_do_not_depend_on_the_number_of_threads(dtype):
    probs = PROBS.astype(dtype)
    dfu.set_num_threads(1)
    alone = everything(probs)
    for number in (2, 3, 7):
        dfu.set_num_threads(number)
        assert_equal_lists(everything(probs), alone)


@pytest.mark.parametrize("number", [1, 2, 7])
def test_the_first_bad_row_does_not_depend_on_the_number_of_threads(number):
    dfu.set_num_threads(number)
    for first in (0, 1, 999, N - 1):
        probs = PROBS.copy()
        probs[first:, 3] += 1.0
        with pytest.raises(InputError, match=f"at row {first} instead"):
            dfu.nested_scores(probs)


def test_threads_are_as_many_as_there_is_work_for():
    dfu.set_num_threads(1000)
    assert threads.threads_for(0) == threads.threads_for(60_000) == 1
    assert 1 < threads.threads_for(1_000_000) < 100
    dfu.set_num_threads(2)
    assert threads.threads_for(10**9) == 2


def test_only_a_sensible_integer_is_a_number_of_threads():
    dfu.set_num_threads(3)
    for what, value in odd_values().items():
        if what in ("1", "int64"):
            dfu.set_num_threads(value)
            assert dfu.get_num_threads() == value
            dfu.set_num_threads(3)
            continue
        with pytest.raises(
            InputError,
            match=r"^The 'n' parameter of set_num_threads must be an integer",
        ):
            dfu.set_num_threads(value)
    assert dfu.get_num_threads() == 3
    message = re.escape("must be an integer of at most 1024. Got 1025 instead.")
    with pytest.raises(InputError, match=message):
        dfu.set_num_threads(1025)


@pytest.mark.skipif(not _checks._OPENMP, reason="the core is built without OpenMP")
@pytest.mark.parametrize("number", ["1", "2", "5"])
def test_the_environment_sets_the_default(number):
    code = "import distfreeuq; print(distfreeuq.get_num_threads())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "OMP_NUM_THREADS": number},
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == [number]


def _report(queue, probs) -> None:
    queue.put((dfu.get_num_threads(), everything(probs)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings(
    "ignore:This process .* is multi-threaded:DeprecationWarning"
)
def test_a_forked_child_computes_after_its_parent_used_threads():
    dfu.set_num_threads(2)
    expected = everything(PROBS)  # starts OpenMP's threads
    fork = multiprocessing.get_context("fork")
    queue = fork.SimpleQueue()
    child = fork.Process(target=_report, args=(queue, PROBS))
    child.start()
    arrived = threading.Event()
    received = []

    def wait_for_it() -> None:
        received.append(queue.get())
        arrived.set()

    threading.Thread(target=wait_for_it, daemon=True).start()
    try:
        assert arrived.wait(timeout=60), "the child hangs"
    finally:
        child.kill()
        child.join()
    number, found = received[0]
    assert number == 1
    assert_equal_lists(found, expected)
    assert dfu.get_num_threads() == 2
    assert_equal_lists(everything(PROBS), expected)  # the parent goes on


@pytest.mark.parametrize("number", [1, 2])
def test_python_threads_do_not_disturb_each_other(number):
    dfu.set_num_threads(number)
    inputs = [np.roll(PROBS, shift, axis=1) for shift in range(3)]
    expected = [everything(probs) for probs in inputs]
    failures: list[BaseException] = []

    def repeat(which: int) -> None:
        try:
            for _ in range(3):
                assert_equal_lists(everything(inputs[which]), expected[which])
        except BaseException as error:
            failures.append(error)

    workers = [threading.Thread(target=repeat, args=(which,)) for which in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert failures == []


def test_kernels_let_other_python_threads_run():
    probs = np.random.default_rng(0).dirichlet(np.ones(50), size=50_000)
    counted = [0]
    stop = threading.Event()

    def count() -> None:
        while not stop.is_set():
            counted[0] += 1
            time.sleep(0)  # gives up the lock

    switch = sys.getswitchinterval()
    counter = threading.Thread(target=count)
    try:
        # Python itself now takes the lock from no thread: the main one must give it up.
        sys.setswitchinterval(1000.0)
        counter.start()
        before = counted[0]
        [i * i for i in range(200_000)]
        in_python = counted[0] - before
        before = counted[0]
        for _ in range(1000):  # the counter's turn may be long in coming
            _checks._first_bad_row(probs, True, 1e-6, 1)
            in_kernel = counted[0] - before
            if in_kernel > 0:
                break
    finally:
        sys.setswitchinterval(switch)
        stop.set()
        counter.join()
    assert in_python == 0  # else this test could not fail
    assert in_kernel > 0


def test_bootstrap_is_the_same_on_any_number_of_threads():
    rng = np.random.default_rng(0)
    probs, labels = rng.random(70_000), rng.integers(0, 2, 70_000)
    results = []
    for number in (1, 2):
        dfu.set_num_threads(number)
        results.append(dfu.assess(probs, labels, n_boot=40, n_sim=0, rng=1))
    np.testing.assert_array_equal(results[0].low, results[1].low)
    np.testing.assert_array_equal(results[0].high, results[1].high)
