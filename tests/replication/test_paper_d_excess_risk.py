"""Zhao et al. (2020), Theorem 4.1: simulated excess risks stay below both bounds."""

from vignettes.replication import paper_d_excess_risk as paper_d


def test_excess_risks_are_below_the_bounds(tmp_path):
    (section,) = paper_d.run(tmp_path, quick=True)
    assert len(section.tables) == 2
    for table in section.tables.values():
        paper, tight = table["Theorem 4.1 as in the paper"], table["tighter constants"]
        assert (table["largest"] < tight).all() and (6 * tight < paper).all()
        # the excess falls like 1 / n: by more than the bounds' factor from 50 to 6400
        falls = table["mean"].iloc[0] / table["mean"].iloc[-1]
        assert falls > 3 * tight.iloc[0] / tight.iloc[-1]
    (path,) = section.figures.values()
    assert path.stat().st_size > 20_000
