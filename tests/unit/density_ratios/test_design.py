"""Frames with texts, categories and formulas."""

import copy
import pickle

import numpy as np
import pandas as pd
import patsy
import pytest

import distfreeuq as dfu

RNG = np.random.default_rng(0)
CITIES = np.array(["Bern", "Oslo", "Rome"])


def rows(n, prior, shift):
    return pd.DataFrame(
        {"age": RNG.normal(shift, 1, n), "city": RNG.choice(CITIES, n, p=prior)}
    )


SOURCE, TARGET = rows(300, [0.2, 0.3, 0.5], 0.0), rows(200, [0.5, 0.3, 0.2], 0.5)


def by_hand(frame):
    oslo, rome = (frame["city"] == "Oslo"), (frame["city"] == "Rome")
    return np.column_stack([frame["age"], oslo, rome])


def test_texts_are_coded_by_level(tmp_path):
    fit = dfu.density_ratio(SOURCE, TARGET, rng=0)
    plain = dfu.density_ratio(by_hand(SOURCE), by_hand(TARGET), rng=0)
    assert fit.features == ("age", "city[Oslo]", "city[Rome]")
    np.testing.assert_array_equal(fit.source_weight, plain.source_weight)
    np.testing.assert_array_equal(fit.weight(TARGET), plain.weight(by_hand(TARGET)))
    assert "city[Rome]" in str(fit)
    fit.save(tmp_path / "ratio.npz")
    again = dfu.load(tmp_path / "ratio.npz")
    np.testing.assert_array_equal(again.weight(TARGET), fit.weight(TARGET))


def test_categories_other_frames_and_levels_of_one_sample():
    expected = dfu.density_ratio(SOURCE, TARGET, rng=0).source_weight
    as_categories = [frame.astype({"city": "category"}) for frame in (SOURCE, TARGET)]
    found = dfu.density_ratio(*as_categories, rng=0).source_weight
    np.testing.assert_array_equal(found, expected)
    numbered = [
        frame.assign(city=np.searchsorted(CITIES, frame["city"])).astype(
            {"city": "category"}
        )
        for frame in (SOURCE, TARGET)
    ]
    by_number = dfu.density_ratio(*numbered, rng=0)
    assert by_number.features == ("age", "city[1]", "city[2]")
    np.testing.assert_array_equal(by_number.source_weight, expected)
    no_rome = SOURCE[SOURCE["city"] != "Rome"]
    with pytest.warns(dfu.SupportWarning):
        fit = dfu.density_ratio(no_rome, TARGET, rng=0)
    assert fit.features[-1] == "city[Rome]"


def test_frames_of_polars_and_arrow():
    polars = pytest.importorskip("polars", reason="polars is not installed")
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    expected = dfu.density_ratio(SOURCE, TARGET, rng=0).source_weight
    columns = [
        {name: frame[name].tolist() for name in frame} for frame in (SOURCE, TARGET)
    ]
    for make in (polars.DataFrame, arrow.table):
        for formula in (None, "age + city"):
            found = dfu.density_ratio(*map(make, columns), formula=formula, rng=0)
            np.testing.assert_allclose(found.source_weight, expected, rtol=1e-10)


def test_formulas_are_those_of_patsy():
    formula = "age * city + np.exp(age)"
    fit = dfu.density_ratio(SOURCE, TARGET, formula=formula, rng=0)
    both = patsy.dmatrix(formula, pd.concat([SOURCE, TARGET]), return_type="dataframe")
    matrix = both.drop(columns="Intercept").to_numpy()
    plain = dfu.density_ratio(matrix[:300], matrix[300:], rng=0)
    np.testing.assert_array_equal(fit.source_weight, plain.source_weight)
    np.testing.assert_allclose(fit.weight(TARGET[:9]), plain.weight(matrix[300:309]))
    assert fit.features == tuple(both.columns[1:])


def test_a_formula_is_copied_and_pickled_but_in_no_file(tmp_path):
    fit = dfu.density_ratio(SOURCE, TARGET, formula="center(age) + city", rng=0)
    for again in (copy.deepcopy(fit), pickle.loads(pickle.dumps(fit))):
        np.testing.assert_array_equal(again.weight(TARGET), fit.weight(TARGET))
    with pytest.raises(dfu.InputError, match="no formula, which is code"):
        fit.save(tmp_path / "ratio.npz")


def weight_of(**changed):
    return dfu.density_ratio(SOURCE, TARGET, rng=0).weight(TARGET.assign(**changed))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: weight_of(city="Lima"), "did not have .* 'Lima' at row 0"),
        (lambda: weight_of(age="x"), "numbers in column 'age'. Got 'x' at row 0"),
        (lambda: weight_of(age=np.nan), "finite numbers in column 'age'. Got nan at"),
        (lambda: weight_of(more=1), "with the columns 'age', 'city', in this order"),
        (
            lambda: dfu.density_ratio(SOURCE, TARGET, rng=0).weight([[1.0, 2.0]]),
            "a frame with the columns 'age', 'city'",
        ),
        (
            lambda: dfu.density_ratio(SOURCE.assign(city=None), TARGET),
            "column 'city', none missing. Got None at row 0",
        ),
        (
            lambda: dfu.density_ratio(SOURCE, TARGET[["city", "age"]]),
            r"Got '.*' at row 0, column 1 \('city'\).* pandas.get_dummies",
        ),
        (
            lambda: dfu.density_ratio(SOURCE, TARGET, formula="height"),
            "'formula' .* such as .* 'height' .*not defined",
        ),
        (lambda: dfu.density_ratio(SOURCE, TARGET, formula=3), "'formula' .* Got 3"),
        (lambda: dfu.density_ratio(SOURCE, TARGET, formula="1"), "has no columns"),
        (
            lambda: dfu.density_ratio([[1.0]] * 9, [[2.0]] * 9, formula="x"),
            "'source' .* a frame, as a formula names columns",
        ),
        (
            lambda: dfu.density_ratio(
                SOURCE.assign(day=pd.Timestamp("2020-01-01")), TARGET.assign(day=3)
            ),
            "numbers in column 'day'. Got an array of dtype",
        ),
    ],
)  # fmt: skip
def test_what_is_refused_names_the_column(call, message):
    with pytest.raises(dfu.InputError, match=message):
        call()


def test_a_formula_with_new_levels_is_refused():
    fit = dfu.density_ratio(SOURCE, TARGET, formula="city", rng=0)
    with pytest.raises(
        dfu.InputError, match=r"'x' .* rows for which 'city' has numbers"
    ):
        fit.weight(pd.DataFrame({"city": ["Lima"]}))


def test_other_functions_name_the_column_that_is_no_number():
    with pytest.raises(dfu.InputError, match=r"column 1 \('city'\)"):
        dfu.indistinguishable_features(SOURCE, [0] * 300, TARGET, n_hidden=2)
