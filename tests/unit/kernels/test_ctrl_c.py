"""Ctrl-C ends a long kernel between two blocks of rows, and the next call is right."""

import re
import signal
import threading
from pathlib import Path

import numpy as np
import pytest

from distfreeuq._kernels import _logistic

SOURCES = Path(__file__).parents[3] / "src_c"


class Pressed(Exception):
    """What Python raises for the signal."""


@pytest.fixture
def pressed_soon():
    """Raise `Pressed` in this thread a twentieth of a second from now."""
    if not hasattr(signal, "setitimer"):
        pytest.skip("this system has no timer that signals")
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals are for the main thread")

    def press(*_):
        raise Pressed

    before = signal.signal(signal.SIGALRM, press)
    yield lambda: signal.setitimer(signal.ITIMER_REAL, 0.05)
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    signal.signal(signal.SIGALRM, before)


def products(n, n_classes, n_blocks, threads):
    """Return the arguments of a kernel that takes seconds for 20,000 rows."""
    rng = np.random.default_rng(0)
    pairs, features = (m * (m + 1) // 2 for m in (n_classes, n_classes + 1))
    return (
        True,
        rng.normal(size=(n, n_classes)),
        rng.integers(0, n_classes, n),
        np.ones(n),
        np.eye(n_classes),
        np.zeros(n_classes),
        np.zeros((n_blocks, 2 * pairs, features)),
        threads,
    )


@pytest.mark.parametrize("threads", [1, 2])
def test_a_kernel_ends_before_its_last_block(threads, pressed_soon):
    arguments = products(20_000, 30, 16, threads)
    pressed_soon()
    with pytest.raises(Pressed):
        _logistic._sum_linear_products(*arguments)
    sums = arguments[6]
    assert sums[0].any() and not sums[-1].any()
    # and the next is as ever
    few, again = products(300, 4, 2, threads), products(300, 4, 2, 1)
    _logistic._sum_linear_products(*few)
    _logistic._sum_linear_products(*again)
    np.testing.assert_array_equal(few[6], again[6])


def test_a_kernel_in_another_thread_is_not_disturbed(pressed_soon):
    arguments, whole = products(3000, 20, 8, 1), products(3000, 20, 8, 1)
    _logistic._sum_linear_products(*whole)
    worker = threading.Thread(target=_logistic._sum_linear_products, args=arguments)
    worker.start()
    pressed_soon()
    with pytest.raises(Pressed):
        threading.Event().wait(30)
    worker.join()
    np.testing.assert_array_equal(arguments[6], whole[6])


# A loop over values is over before anybody has pressed a key.
OVER_BLOCKS = re.compile(
    r"\n    for (?!i\b)\w+ in prange\((?!threads).*?\n    \w", re.S
)


def unwatched(text):
    """Return the parallel loops over blocks of rows that do not look at Ctrl-C."""
    loops = OVER_BLOCKS.findall(text)
    return [loop for loop in loops if "is_pressed" not in loop or "end_wat" not in text]


@pytest.mark.skipif(not SOURCES.is_dir(), reason="needs the sources of the core")
def test_every_loop_over_blocks_looks():
    sources = {path.name: path.read_text() for path in SOURCES.glob("*.pyx")}
    found = sum(len(OVER_BLOCKS.findall(text)) for text in sources.values())
    assert found > 25
    assert {
        name: loops for name in sources if (loops := unwatched(sources[name]))
    } == {}


def test_a_loop_that_does_not_look_would_be_found():
    loop = "\n    for b in prange(B, nogil=True):\n        work(b)\n    return"
    assert len(unwatched(loop)) == 1
