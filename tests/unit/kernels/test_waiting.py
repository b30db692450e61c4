"""Threads that wait: BLAS is held to one, and OpenMP's soon sleep."""

import os
from threading import Barrier, Thread

import pytest

from distfreeuq._kernels._waiting import short_waits
from distfreeuq._numerics import blas


@pytest.fixture
def two_threads():
    """Let every BLAS we know use two threads, and restore what was."""
    switches = blas._switches()
    if not switches:
        pytest.skip("no BLAS whose threads can be counted")
    before = [switch.read() for switch in switches]
    for switch in switches:
        switch.set(2)
    if counts(switches) != [2] * len(switches):
        pytest.skip("a BLAS without threads")
    yield switches
    for switch, number in zip(switches, before, strict=True):
        switch.set(number)


def counts(switches):
    return [switch.read() for switch in switches]


def test_blas_has_one_thread_within_and_as_many_as_before_afterwards(two_threads):
    @blas.on_one_blas_thread
    def fit(depth):
        assert counts(two_threads) == [1] * len(two_threads)
        if depth:
            fit(depth - 1)
            assert counts(two_threads) == [1] * len(two_threads)
        else:
            raise LookupError

    with pytest.raises(LookupError):
        fit(3)
    assert counts(two_threads) == [2] * len(two_threads)


def test_fits_that_overlap_restore_what_the_first_found(two_threads):
    both_inside, one_has_left = Barrier(2), Barrier(2)

    @blas.on_one_blas_thread
    def leaves_first():
        both_inside.wait(10)

    @blas.on_one_blas_thread
    def leaves_last():
        both_inside.wait(10)
        one_has_left.wait(10)

    def first():
        leaves_first()
        one_has_left.wait(10)

    threads = [Thread(target=first), Thread(target=leaves_last)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert counts(two_threads) == [2] * len(two_threads)


def test_waits_are_short_only_while_the_core_is_loaded(monkeypatch):
    for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY"):
        monkeypatch.delenv(name, raising=False)
    with short_waits():
        assert int(os.environ["GOMP_SPINCOUNT"]) > 0
    assert "GOMP_SPINCOUNT" not in os.environ


@pytest.mark.parametrize("name", ["GOMP_SPINCOUNT", "OMP_WAIT_POLICY"])
def test_who_has_decided_how_to_wait_is_obeyed(monkeypatch, name):
    monkeypatch.delenv("GOMP_SPINCOUNT", raising=False)
    monkeypatch.setenv(name, "123")
    with short_waits():
        assert os.environ[name] == "123"
        assert name == "GOMP_SPINCOUNT" or "GOMP_SPINCOUNT" not in os.environ
    assert os.environ[name] == "123"
