"""Rows on a cluster of local processes: a killed worker, an error, and no debris."""

import os
import signal
import threading
import time

import dask.array as da
import numpy as np
import pytest

import distfreeuq as dfu

pytest.importorskip("distributed", reason="needs the extra 'dask'")
pytestmark = pytest.mark.slow

GENERATOR = np.random.default_rng(0)
PROBS = GENERATOR.dirichlet([2, 1, 1], 1200)
LABELS = GENERATOR.integers(0, 3, 1200)


@pytest.fixture(scope="module")
def cluster():
    from dask.distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as local,
        Client(local) as client,
    ):
        yield client


def chunked(probs=PROBS, rows=30):
    return da.from_array(probs, (rows, 3)), da.from_array(LABELS, 2 * rows)


def nothing_is_left(cluster):
    """Say whether the cluster soon holds nothing of what was computed."""
    for _ in range(100):
        if not cluster.futures:
            return True
        time.sleep(0.05)
    return False


def test_fits_sets_and_coverage_are_those_in_memory(cluster):
    rows, labels = chunked()
    fit = dfu.split_conformal(rows, labels, rng=0)
    plain = dfu.split_conformal(PROBS, LABELS, rng=0)
    assert np.array_equal(fit.thresholds, plain.thresholds)
    sets = fit.predict(rows)
    assert str(sets.evaluate(labels)) == str(plain.predict(PROBS).evaluate(LABELS))
    whole = dfu.tally(PROBS, LABELS, rng=0)
    assert np.array_equal(
        dfu.tally(rows, labels, rng=0).scores.scores, whole.scores.scores
    )
    assert nothing_is_left(cluster)


def test_an_error_in_a_block_is_the_user_s_and_leaves_nothing(cluster):
    bad = PROBS.copy()
    bad[1111] = 0.5
    with pytest.raises(dfu.InputError, match=r"a sum of 1\.5 at row 1111 instead"):
        dfu.split_conformal(*chunked(bad), rng=0)
    assert nothing_is_left(cluster)


def test_a_worker_killed_in_the_middle_changes_nothing(cluster, tmp_path):
    def slow_lac(probs):
        (tmp_path / f"{os.getpid()}-{time.monotonic_ns()}").touch()
        time.sleep(0.05)
        return 1.0 - probs

    victim = min(cluster.run(os.getpid).values())
    killed = []

    def kill_when_at_work():
        while not killed:
            if len(list(tmp_path.glob(f"{victim}-*"))) >= 3:
                os.kill(victim, signal.SIGKILL)
                killed.append(len(list(tmp_path.iterdir())))
            time.sleep(0.01)

    killer = threading.Thread(target=kill_when_at_work, daemon=True)
    killer.start()
    fit = dfu.split_conformal(*chunked(), score=slow_lac)
    killer.join(timeout=30)
    assert killed and killed[0] < 40  # of 40 blocks
    plain = dfu.split_conformal(PROBS, LABELS, score=lambda probs: 1.0 - probs)
    assert np.array_equal(fit.thresholds, plain.thresholds)
    assert np.array_equal(fit.scores, plain.scores)
    assert victim not in cluster.run(os.getpid).values()
    assert nothing_is_left(cluster)


def test_a_worker_killed_in_a_pass_of_an_iterative_fit_changes_nothing(
    cluster, tmp_path
):
    def slowly(rows):
        (tmp_path / f"{os.getpid()}-{time.monotonic_ns()}").touch()
        time.sleep(0.005)
        return rows

    victim = min(cluster.run(os.getpid).values())
    killed = []

    def kill_in_the_fourth_pass():
        while not killed:
            if len(list(tmp_path.iterdir())) >= 35:  # of 10 blocks in a pass
                os.kill(victim, signal.SIGKILL)
                killed.append(victim)
            time.sleep(0.01)

    killer = threading.Thread(target=kill_in_the_fourth_pass, daemon=True)
    killer.start()
    rows, labels = chunked(rows=120)
    lazy = rows.map_blocks(slowly, dtype=rows.dtype, meta=np.empty((0, 3)))
    fit = dfu.mlls(lazy, labels, PROBS[::2])
    killer.join(timeout=30)
    assert killed and victim not in cluster.run(os.getpid).values()
    plain = dfu.mlls(PROBS, LABELS, PROBS[::2])
    np.testing.assert_allclose(fit.raw, plain.raw, rtol=1e-10)
    assert fit.calibration_test.p_value == plain.calibration_test.p_value
    assert nothing_is_left(cluster)
