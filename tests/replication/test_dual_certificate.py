"""The comparison with the dual certificate: what its committed table says."""

from pathlib import Path

import pandas as pd
import pytest

from vignettes.replication import dual_certificate, estimated_weights

FOLDER = Path(dual_certificate.__file__).parent
TABLE = pd.read_csv(FOLDER / "dual-certificate.csv")
SETTING = ["network", "n"]


def test_the_certificate_has_the_largest_sets_everywhere():
    size = TABLE.pivot_table("size", SETTING, "method", sort=False)
    assert list(size.index) == list(dual_certificate.SETTINGS)
    others = size.drop(columns="certificate")
    assert (size["certificate"] > others.max(axis=1)).all()
    coverage = TABLE.set_index("method")["coverage"]
    assert (coverage > 0.895).all() and coverage["certificate"].min() > 0.9


def test_the_theory_page_has_the_table():
    page = (FOLDER.parents[1] / "docs/theory.md").read_text()
    size = TABLE.pivot_table("relative size", SETTING, "method", sort=False)
    covered = TABLE.pivot_table("coverage", SETTING, "method", sort=False)
    for (name, n), row in size.iterrows():
        cells = [
            f"{row[m]:.2f}" for m in ("label-conditional", "robust", "certificate")
        ]
        share = f"{covered.loc[(name, n), 'certificate']:.3f}"
        assert f"| {name} | {n} | {' | '.join(cells)} | {share} |" in page


@pytest.mark.slow
def test_a_draw_agrees_with_the_table(data_folder):
    data_folder("cifar10-resnet50-logits")
    name, n = "CIFAR-10, ResNet-50", 1000
    network = estimated_weights.load_network(name)
    drawn = dual_certificate.one_draw(network, name, n, seed=0)
    found = pd.DataFrame(drawn).set_index("method")["size"]
    held = TABLE[(TABLE["network"] == name) & (TABLE["n"] == n)].set_index("method")
    assert (found / held["size"]).between(0.9, 1.1).all()
