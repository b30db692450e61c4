"""On a cluster: the user's own joblib backend is used, and changes no number."""

import os

import joblib
import numpy as np
import pytest

import distfreeuq as dfu
from tests.unit.simulation_study import some_numbers, study

pytest.importorskip("distributed", reason="needs the extra 'dask'")


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


def where(toy, rng):
    return {"process": os.getpid(), **some_numbers(toy, rng)}


@pytest.mark.slow
def test_a_dask_cluster_gives_the_same_table(cluster, tmp_path):
    with joblib.parallel_config(backend="dask"):
        on_cluster = study(tmp_path / "study.jsonl", n_jobs=-1, n_rep=60)
    np.testing.assert_array_equal(on_cluster.values, study(n_rep=60).values)


def test_the_work_is_done_by_the_cluster_s_processes(cluster):
    with joblib.parallel_config(backend="dask"):
        result = dfu.simulate("three-gaussians", where, 60, rng=0, n_jobs=-1)
    workers = set(cluster.run(os.getpid).values())
    assert set(result.column("process").astype(int)) <= workers
    assert os.getpid() not in workers


def test_theorems_are_verified_on_a_cluster(cluster):
    from distfreeuq import theorems

    alone = theorems.verify("split-coverage", n_sim=500)
    with joblib.parallel_config(backend="dask"):
        together = theorems.verify("split-coverage", n_sim=500, n_jobs=-1)
    columns = ["experiment", "estimate", "low", "high", "verdict"]
    first, second = alone.to_frame()[columns], together.to_frame()[columns]
    assert first.equals(second)
