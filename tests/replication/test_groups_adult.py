"""Calibration and coverage by sex and race on the census data Adult."""

import pytest

from vignettes.replication import groups_adult


@pytest.mark.slow
def test_thresholds_by_group_cover_every_group(data_folder, tmp_path):
    data_folder("adult")
    by_sex, by_race = groups_adult.run(tmp_path)
    for section, name in ((by_sex, "sex"), (by_race, "race")):
        table = section.tables["Prediction sets"]
        table["low"] = table["coverage"].str.extract(r"\[([\d.]+)", expand=False)
        table["high"] = table["coverage"].str.extract(r", ([\d.]+)", expand=False)
        ends = table.astype({"low": float, "high": float}).set_index(["sets", name])
        # a level of 95 % for some twenty intervals: with room for those that miss
        assert (ends.loc["every group", "high"] > 0.89).all()
        assert (ends.loc["every class in every group", "high"] > 0.89).all()
    one = by_sex.tables["Prediction sets"].set_index(["sets", "sex"])["coverage"]
    # one threshold covers men too seldom, and women too often
    assert float(one["one threshold", "Male"][:5]) < 0.895
    assert float(one["one threshold", "Female"][:5]) > 0.92
