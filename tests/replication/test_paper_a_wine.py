"""Podkopaev and Ramdas (2021), appendix C.2 in kind: what the committed draws say."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from vignettes.replication import paper_a_wine

TABLE = pd.read_csv(Path(paper_a_wine.__file__).with_name("wine-calibration.csv"))
LONG, EARLY = paper_a_wine.NETWORKS
MEANS = TABLE.groupby(["network", "weights"])[["class-wise bins", "distance"]].mean()


def ece(network: str, weights: str) -> float:
    return MEANS.loc[(network, weights), "class-wise bins"]


def test_every_draw_is_there():
    sizes = TABLE.groupby(["network", "weights"]).size()
    assert len(sizes) == 2 * len(paper_a_wine.WEIGHTS) and (sizes == 50).all()


@pytest.mark.parametrize("network", paper_a_wine.NETWORKS)
def test_weights_matter_and_those_of_bbse_are_far_off(network):
    assert ece(network, "oracle") < 0.06 < 0.2 < ece(network, "uncorrected")
    assert ece(network, "BBSE") > 2.5 * ece(network, "oracle")
    assert MEANS.loc[(network, "BBSE"), "distance"] > 0.2


def test_mlls_helps_where_the_network_is_nearly_calibrated():
    for name in paper_a_wine.WEIGHTS:
        if name.startswith("MLLS"):
            assert ece(EARLY, name) < 0.6 * ece(EARLY, "BBSE")


def test_mlls_is_as_good_as_the_calibration_before_it():
    assert ece(LONG, "MLLS after BCTS") > ece(LONG, "uncorrected") + 0.03
    assert ece(LONG, "MLLS after VS") < 0.6 * ece(LONG, "MLLS after BCTS")
    assert ece(LONG, "MLLS after VS") < ece(LONG, "BBSE")
    # and the summary said so
    refuted = TABLE.dropna(subset="refuted")
    refuted = (
        refuted["refuted"]
        .astype(float)
        .groupby([refuted["network"], refuted["weights"]])
    )
    share = refuted.mean()
    assert share[LONG, "MLLS after BCTS"] > 0.7 > 0.35 > share[LONG, "MLLS after VS"]
    assert (share[EARLY] < 0.35).all()


def test_intervals_hold_the_weights_calibrated_or_not():
    held = TABLE.dropna(subset="held").groupby(["network", "weights"])["held"].mean()
    # 150 intervals in each cell, of which three come from one draw
    assert (held > 0.95 - 3 * np.sqrt(0.05 * 0.95 / 50)).all()
    assert held.mean() > 0.95


def test_conformal_sets_come_to_the_oracle_s():
    frame = paper_a_wine.oracle_limit((100, 2000), 4, n_new=500)
    table = paper_a_wine.limit_table(frame)["sets differ"]
    same, other = "source, posterior of the source", "target, posterior of the source"
    assert table[same, 2000] < 0.06
    assert table["target, posterior of the target", 2000] < 0.15
    assert table[other, 2000] > 0.4
    # E|B - 0.9| of 19 rows, whose threshold is the 18th smallest: by simulation
    draws = np.sort(np.random.default_rng(0).random((40_000, 19)), axis=1)[:, 17]
    exact = paper_a_wine.exact_difference(19)
    assert exact == pytest.approx(abs(draws - 0.9).mean(), abs=1e-3)


@pytest.mark.slow
def test_no_wine_has_two_purposes(data_folder, tmp_path):
    folder = data_folder("wine-quality-white")
    wines = paper_a_wine.read_wines(folder)
    numbered = paper_a_wine.Wines(
        np.repeat(np.arange(len(wines.classes), dtype=float)[:, None], 11, axis=1),
        wines.classes,
    )
    seen = []

    def keep(x, labels, rng):
        seen.append(x[:, 0])

        def predict(rows):
            seen.append(rows[:, 0])
            return np.full((len(rows), 3), 1 / 3)

        return predict

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paper_a_wine, "fit_network", keep)
        rows = paper_a_wine.draw(numbered, LONG, 0)
    train, source, unlabelled, test = (set(part) for part in seen)
    for a, b in ((train, source), (train, unlabelled), (train, test)):
        assert not a & b
    assert not (source & unlabelled or source & test or unlabelled & test)
    assert len(source) == 1000 and len(unlabelled) == len(test) == 500
    assert np.bincount(rows.labels).tolist() == [100, 400, 500]
    paper_a_wine.draw_errors(
        {name: TABLE[TABLE["network"] == name] for name in (LONG, EARLY)},
        tmp_path / "wine.png",
    )
    assert (tmp_path / "wine.png").stat().st_size > 10_000
