"""Park et al. (2020), table 1 and figure 2 in kind: what the committed runs say."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import distfreeuq as dfu
from vignettes.replication import paper_c
from vignettes.replication.domains import Domain
from vignettes.replication.report import as_text

TABLE = pd.read_csv(
    Path(paper_c.__file__).with_name("learnt-features.csv"),
    keep_default_na=False,
    na_values=[""],
)
MEANS = TABLE.groupby(["shift", "method"])[["ECE", "error", "ess", "discriminator"]]
MEANS = MEANS.mean()


def ece(shift, method):
    return MEANS.loc[(shift, method), "ECE"]


def test_every_run_is_there():
    assert list(TABLE["shift"].unique()) == [*paper_c.SHIFTS, *paper_c.OBJECTS]
    assert (TABLE.groupby("shift").size() == 50).all()


def test_f_errs_about_as_often_as_the_paper_s():
    assert MEANS.loc[("M → U", "None"), "error"] == pytest.approx(22.5, abs=4.0)
    assert MEANS.loc[("U → M", "None"), "error"] == pytest.approx(47.4, abs=10.0)


def test_without_shift_all_calibrations_are_alike():
    values = [ece("M → M", method) for method in paper_c.METHODS[1:]]
    assert max(values) < 2.5 and max(values) - min(values) < 1.0


@pytest.mark.parametrize("shift", ["M → U", "U → M"])
def test_the_paper_s_method_is_better_than_a_temperature_of_the_source(shift):
    for method in ("FL+Temp.", "FL+IW+Temp."):
        assert ece(shift, method) < 0.8 * ece(shift, "Temp.")
    assert ece(shift, "IW+Temp.") < ece(shift, "Temp.") < 1.2 * ece(shift, "None")
    assert ece(shift, "FL+IW+Temp.") < ece(shift, "FL+Temp.")


def test_from_usps_to_mnist_weights_need_no_learnt_features():
    # as in the paper, whose IW+Temp. is at 7.68 and Temp. at 36.89
    assert ece("U → M", "IW+Temp.") < ece("U → M", "FL+Temp.")
    assert ece("U → M", "IW+Temp.") < 0.75 * ece("U → M", "Temp.")


def test_learnt_features_make_the_digits_more_alike_and_weights_worth_more():
    for shift in ("M → U", "U → M"):
        plain, learnt = MEANS.loc[shift].loc[["IW+Temp.", "FL+IW+Temp."], "ess"]
        assert learnt > 1.5 * plain
        before, after = MEANS.loc[shift].loc[["None", "FL+Temp."], "discriminator"]
        assert after < before - 0.03


def test_no_row_has_two_purposes():
    def numbered(n):
        return Domain(np.arange(n, dtype=float)[:, None], np.arange(n) % 10)

    large, small = numbered(500), numbered(300)
    for source, target in ((large, large), (large, small), (small, large)):
        rows = paper_c.split(source, target, seed=0)
        parts = [
            value[:, 0] for name, value in rows._asdict().items() if name[0] == "x"
        ]
        of_source, of_target = np.concatenate(parts[:2]), np.concatenate(parts[2:])
        if source is target:
            of_source = of_target = np.concatenate(parts)
        for rows_of, domain in ((of_source, source), (of_target, target)):
            assert np.unique(rows_of).size == rows_of.size == len(domain.y)


@pytest.mark.slow
def test_a_run_tables_and_figures(data_folder, tmp_path):
    data_folder("office-caltech-surf")
    frame, run = paper_c.study("A → C", 1, 10, progress=False)
    frames = {"A → C": frame, "M → U": TABLE[TABLE["shift"] == "M → U"]}
    table = paper_c.table_1(frames)
    assert table.loc[("M → U", "paper"), "Temp."] == "12.16 / 11.88"
    assert ("A → C", "paper") not in table.index
    assert "own ECE, FL+IW" in paper_c.weights_table(frames).index
    paper_c.draw_reliability({"A → C": run}, tmp_path / "figure.png")
    plain, learnt = paper_c.weights_of_runs("A → C", 2, 3)
    assert plain.shape == learnt.shape == (2, 384)
    spread = paper_c.spread_table({"phi": plain, "psi": learnt})
    assert (spread["rows"] == 384).all()
    paper_c.draw_weights({"phi": plain}, tmp_path / "weights.png")
    for name in ("figure", "weights"):
        assert (tmp_path / f"{name}.png").stat().st_size > 10_000
    assert isinstance(run.fit, dfu.CovariateShiftCalibrationResult)
    section = paper_c.Section("title", paper_c.TEXT, tables={"table": table})
    assert "M → U" in as_text(section)
