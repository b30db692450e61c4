"""Accuracy without labels on real rows: better than confidences, and held."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.theorem.binomial import Judge
from vignettes.replication import performance_without_labels as study
from vignettes.replication.weight_intervals import Population

DRAWS = 30
ROOT = Path(__file__).parents[2]
TABLE = pd.read_csv(Path(study.__file__).with_name("performance_without_labels.csv"))


def test_the_page_has_the_table_and_says_what_is_in_it():
    page = (ROOT / "docs" / "searches.md").read_text()
    assert study.page_table(TABLE) in page
    assert (TABLE["draws"] == 200).all()
    moved = TABLE[TABLE["proportions"] == "Dirichlet(1)"]
    assert set(moved["n = m"]) == set(study.SIZES)
    assert (TABLE["finite-sample covers"] >= 0.99).all()
    # in 200 draws of nominal .95, each by itself
    covered = TABLE["asymptotic covers"]
    few_of_many = TABLE["classifier"].str.startswith("CIFAR-100") & (
        TABLE["n = m"] < 5000
    )
    assert covered.min() == covered[few_of_many].min() == 0.89
    assert covered[~few_of_many].between(0.91, 0.995).all()
    tables = moved[moved["classifier"].str.contains("regression")]
    rivals = ["source accuracy", "mean confidence", "calibrated confidence"]
    for rival in rivals:
        errors = tables[f"error, {rival}"]
        assert (errors > 2 * tables["error, target_performance"]).all(), rival


@pytest.fixture(params=["cifar10", "credit"])
def population(request, data_folder):
    if request.param == "cifar10":
        data_folder(study.NETS[0].folder)
        return Population(study.NETS[0])
    data_folder("credit-default")
    return study.credit()


@pytest.mark.slow
def test_intervals_hold_the_accuracy_and_confidences_miss_it(population):
    line = study.measure(population, 2000, True, DRAWS, seed=0)
    judge = Judge(claims=4)
    judge.at_least(round(DRAWS * line["asymptotic covers"]), DRAWS, 0.9)
    judge.at_least(round(DRAWS * line["finite-sample covers"]), DRAWS, 0.95)
    assert line["error, target_performance"] < line["error, mean confidence"]


@pytest.mark.slow
def test_the_truth_is_the_accuracy_of_a_large_target(population):
    rng = np.random.default_rng(0)
    k = population.counts.size
    q = rng.dirichlet(np.ones(k))
    probs, labels = population.sample(rng, q, 200_000)
    by_class = [(probs[labels == c].argmax(axis=1) == c).mean() for c in range(k)]
    hits = float((probs.argmax(axis=1) == labels).mean())
    assert hits == pytest.approx(float(q @ by_class), abs=0.01)
