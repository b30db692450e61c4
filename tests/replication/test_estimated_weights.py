"""The study of sets with estimated weights: what its committed table says."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from vignettes.replication import estimated_weights

TABLE = pd.read_csv(Path(estimated_weights.__file__).with_name("estimated-weights.csv"))


def sizes() -> pd.DataFrame:
    """Return mean sizes, a row per setting and a column per method."""
    return TABLE.pivot_table("size", ["network", "n", "shift"], "method")


def test_the_table_has_every_setting():
    assert len(sizes()) == 36
    assert (TABLE["coverage"] > 0.89).all()


def test_what_the_texts_count():
    size = sizes()
    by_class, sure = (
        size["label-conditional"],
        size["label-conditional, confidence"],
    )
    estimated = size["estimated, confidence"]
    assert (size["directional, MLLS"] < by_class).sum() == 29
    assert (size["robust"] > by_class).sum() == 35
    assert (size["combined"] < by_class).sum() == 12
    assert (estimated < sure).sum() == 11 and (estimated > sure).sum() == 14


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
