"""Workers of any kind: the same numbers, and the user's threads as they were."""

import time
import warnings

import joblib
import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq import theorems
from distfreeuq._numerics import parallel

BACKENDS = ["threading", "multiprocessing", "loky"]
N, K = 120, 3
RNG = np.random.default_rng(0)
LABELS, LABELS_TARGET = RNG.integers(0, K, (2, N))
LOGITS, LOGITS_TARGET = RNG.normal(size=(2, N, K))
LOGITS[np.arange(N), LABELS] += 2.0
LOGITS_TARGET[np.arange(N), LABELS_TARGET] += 2.0
PROBS, PROBS_TARGET = (
    np.exp(z) / np.exp(z).sum(axis=1, keepdims=True) for z in (LOGITS, LOGITS_TARGET)
)


@pytest.fixture(autouse=True)
def three_threads():
    before = dfu.get_num_threads()
    dfu.set_num_threads(3)
    yield
    dfu.set_num_threads(before)


def uniform(rng):
    return rng.random()


def threads_in_a_task(draw, rng):
    return {"draw": draw, "threads": dfu.get_num_threads()}


def greedy(draw, rng):
    """Set the threads of its own task."""
    dfu.set_num_threads(7)
    return {"draw": draw, "threads": dfu.get_num_threads()}


def assess(n_jobs):
    result = dfu.assess(PROBS, LABELS, n_boot=700, n_sim=0, rng=1, n_jobs=n_jobs)
    return np.stack([result.low, result.high])


def compare(n_jobs):
    result = dfu.compare(
        {"a": PROBS, "b": PROBS**2 / (PROBS**2).sum(axis=1, keepdims=True)},
        LABELS,
        n_boot=700,
        rng=1,
        n_jobs=n_jobs,
    )
    return np.stack([result.low, result.high])


def compare_calibrations(n_jobs):
    weight = np.linspace(0.5, 1.5, N)
    result = dfu.compare_calibrations(
        LOGITS,
        LABELS,
        sample_weight=weight,
        calibrators="temperature",
        n_rep=20,
        rng=1,
        n_jobs=n_jobs,
    )
    return result.mean


def confint_of_mlls(n_jobs):
    fit = dfu.mlls(PROBS, LABELS, PROBS_TARGET)
    return fit.confint(method="bootstrap", n_boot=20, rng=1, n_jobs=n_jobs)


def confint_of_soft_bbse(n_jobs):
    fit = dfu.bbse(PROBS, LABELS, PROBS_TARGET, soft=True)
    return fit.confint(method="bootstrap", n_boot=20, rng=1, n_jobs=n_jobs)


def simulate(n_jobs):
    return dfu.simulate(uniform, threads_in_a_task, 20, rng=1, n_jobs=n_jobs).values[
        :, 0
    ]


def verify(n_jobs):
    result = theorems.verify("split-coverage-exact", n_sim=300, n_jobs=n_jobs)
    return np.array([record.hits for record in result.claims])


PUBLIC = [
    assess,
    compare,
    compare_calibrations,
    confint_of_mlls,
    confint_of_soft_bbse,
    simulate,
    verify,
]


@pytest.mark.filterwarnings(
    "ignore:This process .* is multi-threaded:DeprecationWarning"
)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", PUBLIC)
def test_public_functions_run_on_every_backend_and_leave_the_threads(function, backend):
    alone = function(1)
    assert dfu.get_num_threads() == 3
    with joblib.parallel_config(backend=backend):
        together = function(2)
    assert dfu.get_num_threads() == 3
    np.testing.assert_array_equal(together, alone)


@pytest.mark.filterwarnings(
    "ignore:This process .* is multi-threaded:DeprecationWarning"
)
@pytest.mark.parametrize("backend", BACKENDS)
def test_workers_have_one_thread_each(backend):
    with joblib.parallel_config(backend=backend):
        found = dfu.simulate(uniform, threads_in_a_task, 20, rng=1, n_jobs=2)
    assert found.values[:, 1].tolist() == [1.0] * 20
    alone = dfu.simulate(uniform, threads_in_a_task, 3, rng=1)
    assert alone.values[:, 1].tolist() == [3.0] * 3


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_a_task_that_sets_its_threads_leaves_all_others(backend):
    with joblib.parallel_config(backend=backend):
        found = dfu.simulate(uniform, greedy, 20, rng=1, n_jobs=2)
        assert found.values[:, 1].tolist() == [7.0] * 20
        later = dfu.simulate(uniform, threads_in_a_task, 20, rng=1, n_jobs=2)
    assert later.values[:, 1].tolist() == [1.0] * 20
    assert dfu.get_num_threads() == 3


@pytest.mark.parametrize("backend", BACKENDS)
def test_tasks_that_catch_warnings_leave_the_filters(backend):
    """Threads put the filters back in any order, and would swallow later warnings."""
    before = list(warnings.filters)
    for _ in range(5):
        with joblib.parallel_config(backend=backend):
            list(parallel.in_order(catch_warnings, range(40), 2))
        assert list(warnings.filters) == before
        with pytest.warns(UserWarning, match="later"):
            warnings.warn("later", stacklevel=1)


def catch_warnings(item):
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        time.sleep(0.001 * (item % 3))


def negative(item):
    if item == 5:
        raise RuntimeError("five")
    return -item


@pytest.mark.filterwarnings(
    "ignore:This process .* is multi-threaded:DeprecationWarning"
)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_results_in_order_and_as_they_come(backend, n_jobs):
    items = [*range(6, 50)]
    with joblib.parallel_config(backend=backend):
        in_order = list(parallel.in_order(negative, iter(items), n_jobs))
        completed = list(parallel.as_completed(negative, items, n_jobs))
        with parallel.Workers(n_jobs) as workers:  # for several rounds
            rounds = [list(workers.run(negative, items)) for _ in range(2)]
    expected = [-item for item in items]
    assert in_order == rounds[0] == rounds[1] == expected
    assert sorted(completed, reverse=True) == expected
    assert list(parallel.on_threads(negative, items, n_jobs)) == expected


@pytest.mark.filterwarnings(
    "ignore:This process .* is multi-threaded:DeprecationWarning"
)
@pytest.mark.parametrize("backend", BACKENDS)
def test_an_error_of_a_task_is_raised_and_the_threads_stay(backend):
    with (
        joblib.parallel_config(backend=backend),
        pytest.raises(RuntimeError, match="five"),
    ):
        list(parallel.in_order(negative, range(50), 2))
    assert dfu.get_num_threads() == 3
