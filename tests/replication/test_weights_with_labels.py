"""Weights with labels of some target rows on real networks: the committed table."""

from pathlib import Path

import numpy as np
import pandas as pd

import distfreeuq as dfu
from vignettes.replication import weights_with_labels as study

TABLE = pd.read_csv(Path(study.__file__).with_name("weights_with_labels.csv"))
PAGE = (Path(__file__).parents[2] / "docs" / "searches.md").read_text()


def test_the_page_has_the_table():
    assert study.page_table(TABLE) in PAGE


HUNDRED = TABLE["classifier"].str.startswith("CIFAR-100")
BBSE = TABLE["estimate"].isin(["BBSE", "soft BBSE"])


def test_what_the_page_says_of_intervals():
    scarce = HUNDRED & TABLE["proportions"].str.startswith("30 rows")
    assert TABLE[~HUNDRED]["covered"].min() == 0.935
    assert (TABLE[HUNDRED & ~scarce]["covered"] > 0.99).all()
    assert TABLE[scarce]["covered"].min() == 0.8
    assert (TABLE["region"] >= 0.9).all()
    assert (TABLE["capped missed"] <= 0.01).all()
    few = TABLE[BBSE & ~HUNDRED]
    for name, many, low, high in (
        ("AG News", True, 0.22, 0.65),
        ("AG News", False, 0.5, 0.95),
        ("CIFAR-10 ", True, 0.81, 0.96),
        ("CIFAR-10 ", False, 0.96, 1.0),
    ):
        lines = few[few["classifier"].str.startswith(name)]
        width = lines[(lines["labels"] >= 100) == many]["width"]
        assert width.between(low, high).all(), name


def test_what_the_page_says_of_errors():
    few, many = TABLE[BBSE & ~HUNDRED], TABLE[BBSE & HUNDRED]
    assert (few["error"] < 1.01 * few["labels alone"]).all()
    assert (few["error"] < 1.01 * few["without"]).all()
    lost = many["error"] > many["labels alone"]
    assert (lost == (many["proportions"] == "one class at .9")).all()
    by_likelihood = TABLE["estimate"].str.startswith("MLLS")
    poor = TABLE[by_likelihood & TABLE["classifier"].str.startswith("AG News")]
    assert (poor["error"] > poor["labels alone"]).sum() == 15
    assert len(poor) == 24


def test_rlls_has_bbse_s_lines():
    of_intervals = ["covered", "region", "width", "capped missed"]
    for one, other in (("BBSE", "RLLS"), ("soft BBSE", "soft RLLS")):
        by_name = [TABLE[TABLE["estimate"] == name] for name in (one, other)]
        errors = (lines["error"].to_numpy() for lines in by_name)
        np.testing.assert_allclose(*errors, atol=0.016)
        # of a hundred classes BBSE has no weights in some draws
        few = (lines[~HUNDRED[lines.index]][of_intervals] for lines in by_name)
        np.testing.assert_array_equal(*few)


def test_a_draw_of_the_study_is_measured(data_folder):
    data_folder(study.NETS[1].folder)
    population = study.Population(study.NETS[1])
    lines = study.measure(population, 2, 500, 100, study.PRIORS[0], seed=0)
    assert [line["estimate"] for line in lines] == list(study.ESTIMATORS)
    assert set(TABLE.columns) == {"classifier", *lines[0]}


def test_clipping_is_what_loses_with_a_hundred_classes(data_folder):
    """Eight draws that are not the table's; the page has their errors."""
    data_folder(study.NETS[2].folder)
    population = study.Population(study.NETS[2])
    rng, n, r = np.random.default_rng(5), 2000, 200
    found = []
    for _ in range(8):
        p, q = study.proportions(
            "one class at .9", rng, 100, n, population.most_confused
        )
        source, labels = population.sample(rng, p, n)
        target, truth = population.sample(rng, q, n)
        some = np.full(n, np.nan)
        some[:r] = truth[:r]
        fit = dfu.bbse(source, labels, target, labels_target=some)
        alone = np.bincount(truth[:r], minlength=100) / r
        shares = fit.raw * fit.source_prior, alone, fit.target_prior
        found.append([np.square(share - q).sum() for share in shares])
    raw, alone, clipped = np.sqrt(np.mean(found, axis=0))
    np.testing.assert_allclose([raw, alone, clipped], [0.040, 0.030, 0.071], atol=2e-3)
