"""Weights with labels of some target rows on real networks: the committed table."""

from pathlib import Path

import numpy as np
import pandas as pd

from vignettes.replication import weights_with_labels as study

TABLE = pd.read_csv(Path(study.__file__).with_name("weights_with_labels.csv"))
PAGE = (Path(__file__).parents[2] / "docs" / "searches.md").read_text()


def test_the_page_has_the_table():
    assert study.page_table(TABLE) in PAGE


def test_what_the_page_says():
    assert (TABLE["covered"] >= 0.94).all()
    assert (TABLE["region"] >= 0.94).all()
    assert (TABLE["capped missed"] <= study.DELTA).all()
    assert (TABLE["width"] < 1.0).all()
    assert (TABLE["error"] < TABLE["without"]).all()
    hundred = TABLE["classifier"].str.startswith("CIFAR-100")
    of_moments = ~TABLE["estimate"].str.startswith("MLLS")
    few = TABLE[of_moments & ~hundred]
    assert (few["error"] < 1.05 * few["labels alone"]).all()
    many = TABLE[hundred]
    assert (many["error"] > 1.3 * many["labels alone"]).all()
    good = TABLE[TABLE["classifier"].str.startswith("CIFAR-10 ")]
    good = good[good["estimate"] == "MLLS after BCTS"]
    assert (good["error"] < good["labels alone"]).all()


def test_rlls_has_bbse_s_lines():
    numbers = TABLE.select_dtypes(np.number).columns.difference(["error", "without"])
    for one, other in (("BBSE", "RLLS"), ("soft BBSE", "soft RLLS")):
        lines = (TABLE[TABLE["estimate"] == name][numbers] for name in (one, other))
        np.testing.assert_array_equal(*lines)


def test_a_draw_of_the_study_is_measured(data_folder):
    data_folder(study.NETS[1].folder)
    population = study.Population(study.NETS[1])
    lines = study.measure(population, 2, 500, 100, study.PRIORS[0], seed=0)
    assert [line["estimate"] for line in lines] == list(study.ESTIMATORS)
    assert set(TABLE.columns) == {"classifier", *lines[0]}
