"""The study of sets with estimated weights: what its committed table says."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from vignettes.replication import estimated_weights, estimated_weights_tables

TABLE = estimated_weights_tables.read_means()
ROOT = Path(estimated_weights_tables.__file__).parents[2]


def sizes() -> pd.DataFrame:
    """Return mean sizes, a row per setting and a column per method."""
    return TABLE.pivot_table("size", ["network", "n", "shift"], "method")


def test_the_table_has_every_setting():
    assert len(sizes()) == 144
    methods = TABLE.groupby(["network", "n", "shift"])["method"].nunique()
    assert set(TABLE["network"]) == set(estimated_weights.NETWORKS)
    assert set(TABLE["shift"]) == set(estimated_weights.SHIFTS)
    # BBSE has no weights where a class is never predicted, counted or averaged
    assert (methods[methods < 21].index.get_level_values("n") == 300).all()
    assert (methods >= 19).all()
    promised = TABLE["method"].map(estimated_weights_tables.PROMISES) != "none"
    assert (TABLE.loc[promised, "coverage"] > 0.885).all()


def compared(method: str, other: str) -> tuple[int, int]:
    """Return in how many settings one method's sets are smaller, and larger."""
    size = sizes()
    return (
        int((size[method] < size[other]).sum()),
        int((size[method] > size[other]).sum()),
    )


def test_what_the_texts_count():
    by_class, sure = "label-conditional", "label-conditional, confidence"
    assert compared("directional, MLLS", by_class) == (119, 25)
    assert compared("directional, BBSE", by_class) == (101, 43)
    assert compared("robust", by_class) == (2, 142)
    assert compared("combined", by_class) == (20, 124)
    assert compared("estimated, confidence", sure) == (81, 35)
    assert compared("directional, confidence", "estimated, confidence") == (140, 1)
    assert compared("directional, soft BBSE", "directional, BBSE") == (119, 7)
    assert compared("directional, soft BBSE", "directional, MLLS") == (5, 131)
    assert compared("rank-calibrated", by_class) == (122, 14)
    assert compared("known weights, PAS", "known weights") == (144, 0)
    assert (sizes()["rank-calibrated"] / sizes()[by_class]).max() < 1.0165
    below = TABLE[TABLE["coverage"] < 0.9].groupby("method").size()
    ignoring = ["clustered", "interpolated", "no correction", "no correction, PAS"]
    assert below[ignoring].tolist() == [31, 16, 76, 66]
    smallest = TABLE.groupby("method")["coverage"].min()
    assert smallest[ignoring].round(3).tolist() == [0.885, 0.887, 0.886, 0.853]
    assert smallest["directional, MLLS, PAS"] == pytest.approx(0.896, abs=5e-4)
    assert smallest["directional, MLLS"] == pytest.approx(0.895, abs=5e-4)
    assert smallest["plug-in, BBSE"] == pytest.approx(0.891, abs=5e-4)
    plugged = [name for name in smallest.index if name.startswith("plug-in")]
    assert smallest[plugged].idxmin() == "plug-in, RLLS"
    assert smallest["plug-in, RLLS"] == pytest.approx(0.889, abs=5e-4)


@pytest.mark.parametrize("file", estimated_weights_tables.texts())
def test_the_texts_have_the_tables_of_the_means(file):
    text = (ROOT / file).read_text()
    for name, table in estimated_weights_tables.texts()[file].items():
        assert estimated_weights_tables.between_marks(text, name) == table, name


@pytest.mark.slow
def test_a_draw_agrees_with_the_table(data_folder):
    data_folder("cifar10-resnet50-logits")
    name = "CIFAR-10, ResNet-50"
    network = estimated_weights.load_network(name)
    drawn = [
        estimated_weights.one_draw(network, "one class .5", 1000, seed)
        for seed in range(2)
    ]
    frame = pd.DataFrame([record for records in drawn for record in records])
    found = frame.groupby("method")["size"].mean()
    setting = (
        (TABLE["network"] == name)
        & (TABLE["n"] == 1000)
        & (TABLE["shift"] == "one class .5")
    )
    held = TABLE[setting].set_index("method")["size"]
    assert np.allclose(found / held.reindex(found.index), 1.0, atol=0.15)
