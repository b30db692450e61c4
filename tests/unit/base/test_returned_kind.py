"""What was computed comes back in the kind of the rows."""

import numpy as np
import pandas as pd
import pytest

import distfreeuq as dfu

PROBS = np.array([[0.75, 0.25], [0.5, 0.5], [0.125, 0.875]])
LABELS = ["no", "yes", "yes"]


def fitted(rows=PROBS):
    return dfu.split_conformal(
        rows, LABELS, alpha=0.4, score="lac", classes=["no", "yes"]
    )


def test_frames_keep_their_index_and_have_the_classes_as_columns():
    index = pd.Index([7, 3, 5], name="patient")
    rows = pd.DataFrame(PROBS, columns=["no", "yes"], index=index)
    sets = fitted().predict(rows)
    back = dfu.in_kind(sets, rows)
    pd.testing.assert_index_equal(back.index, index)
    assert list(back.columns) == ["no", "yes"]
    np.testing.assert_array_equal(back.to_numpy(), sets.mask)
    vector = dfu.in_kind(PROBS[:, 1], rows)
    assert isinstance(vector, pd.Series) and vector.index.equals(index)
    features = pd.DataFrame({"x": [1, 2, 3]}, index=index)
    named = dfu.in_kind(PROBS, features, classes=[("a", 1), ("a", 2)])
    assert list(named.columns) == [("a", 1), ("a", 2)] and named.columns.nlevels == 1
    assert list(dfu.in_kind(PROBS, features).columns) == [0, 1]
    assert list(dfu.in_kind(PROBS, rows["yes"]).columns) == [0, 1]


def test_arrays_and_lists_come_back_as_arrays():
    for rows in (PROBS, PROBS.tolist()):
        assert type(dfu.in_kind(PROBS, rows)) is np.ndarray


def test_polars():
    polars = pytest.importorskip("polars", reason="polars is not installed")
    rows = polars.DataFrame(PROBS, schema=["no", "yes"])
    back = dfu.in_kind(fitted().predict(rows), rows)
    assert back.schema == {"no": polars.Boolean, "yes": polars.Boolean}
    assert dfu.in_kind(PROBS[:, 0], rows["no"]).to_list() == PROBS[:, 0].tolist()
    with pytest.raises(dfu.InputError, match="names whose texts differ"):
        dfu.in_kind(PROBS, rows, classes=[1, "1"])
    with pytest.raises(dfu.InputError, match=r"'rows' parameter .* a LazyFrame"):
        dfu.in_kind(PROBS, rows.lazy())


def test_arrow():
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    rows = arrow.table({"no": PROBS[:, 0], "yes": PROBS[:, 1]})
    for given in (rows, rows.to_batches()[0]):
        back = dfu.in_kind(PROBS, given)
        assert back.equals(rows)
    assert dfu.in_kind(PROBS[:, 0], rows["no"]).to_pylist() == PROBS[:, 0].tolist()


def test_what_narwhals_wraps():
    narwhals = pytest.importorskip("narwhals", reason="narwhals is not installed")
    rows = pd.DataFrame(PROBS, columns=["no", "yes"], index=["p", "q", "r"])
    wrapped = narwhals.from_native(rows)
    sets = fitted(wrapped).predict(wrapped)
    back = dfu.in_kind(sets, wrapped)
    assert type(back) is type(wrapped)
    assert back.to_native().index.tolist() == ["p", "q", "r"]


def test_numbers_that_a_tensor_cannot_hold_are_told_or_rounded():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    rows = torch.tensor(PROBS)
    for dtype in (np.longdouble, ">f8"):
        back = dfu.in_kind(PROBS.astype(dtype), rows)
        assert back.dtype == torch.float64 and torch.equal(back, rows)
    with pytest.raises(dfu.InputError, match=r"'values' .* what a Tensor can hold"):
        dfu.in_kind(PROBS.astype(str), rows)


class Namespaced:
    """As arrays of the Array API's."""

    device = "far away"

    def __init__(self, array):
        self.array = np.asarray(array)

    def __len__(self):
        return len(self.array)

    def __array_namespace__(self):
        return self

    def asarray(self, array, *, device):
        assert device == self.device
        if array.dtype not in (np.float32, np.float64, bool):
            raise TypeError("no such dtype")
        return Namespaced(array)


def test_arrays_of_the_array_api_go_back_to_their_device():
    back = dfu.in_kind(PROBS, Namespaced(PROBS))
    assert isinstance(back, Namespaced)
    np.testing.assert_array_equal(back.array, PROBS)


def test_numbers_that_others_do_not_hold_are_rounded_or_refused():
    for dtype in (np.longdouble, ">f8"):
        back = dfu.in_kind(PROBS.astype(dtype), Namespaced(PROBS))
        np.testing.assert_array_equal(back.array, PROBS)
    with pytest.raises(
        dfu.InputError, match=r"'values' .* what a Namespaced can hold.*no such dtype"
    ):
        dfu.in_kind(PROBS.astype(str), Namespaced(PROBS))


@pytest.mark.parametrize(
    ("values", "rows", "classes", "message"),
    [
        (PROBS, PROBS[:2], None, "'rows' .* of the 3 rows that 'values' has. Got 2"),
        (PROBS, 3, None, "'rows' parameter of in_kind must be an array or a list, or"),
        (PROBS, {1, 2, 3}, None, "'rows' parameter of in_kind must be an array or a"),
        (PROBS[None], PROBS, None, r"'values' .* of shape \(n,\) or \(n, K\)"),
        ("abc", PROBS, None, "'values' .* an array of numbers. Got 'abc'"),
        (PROBS, PROBS, ["a"], "'classes' .* one name for each of the 2 columns"),
        (PROBS[:, 0], PROBS, ["a"], "'classes' .* None for one number per row"),
    ],
)
def test_what_cannot_be_given_back_is_refused(values, rows, classes, message):
    with pytest.raises(dfu.InputError, match=message):
        dfu.in_kind(values, rows, classes=classes)
