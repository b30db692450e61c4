"""Accuracy without labels on real rows: better than confidences, and held."""

import numpy as np
import pytest

from tests.theorem.binomial import Judge
from vignettes.replication import performance_without_labels as study
from vignettes.replication.weight_intervals import Population

pytestmark = pytest.mark.slow

DRAWS = 30


@pytest.fixture(params=["cifar10", "credit"])
def population(request, data_folder):
    if request.param == "cifar10":
        data_folder(study.NETS[0].folder)
        return Population(study.NETS[0])
    data_folder("credit-default")
    return study.credit()


def test_intervals_hold_the_accuracy_and_confidences_miss_it(population):
    line = study.measure(population, 2000, True, DRAWS, seed=0)
    judge = Judge(claims=4)
    judge.at_least(round(DRAWS * line["asymptotic covers"]), DRAWS, 0.9)
    judge.at_least(round(DRAWS * line["finite-sample covers"]), DRAWS, 0.95)
    assert line["error, target_performance"] < line["error, mean confidence"]


def test_the_truth_is_the_accuracy_of_a_large_target(population):
    rng = np.random.default_rng(0)
    k = population.counts.size
    q = rng.dirichlet(np.ones(k))
    probs, labels = population.sample(rng, q, 200_000)
    by_class = [(probs[labels == c].argmax(axis=1) == c).mean() for c in range(k)]
    hits = float((probs.argmax(axis=1) == labels).mean())
    assert hits == pytest.approx(float(q @ by_class), abs=0.01)
