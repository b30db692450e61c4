"""Tensors and Arrow arrays: the numbers and names they hold, without their library.

The stand-ins refuse what the real ones refuse; where those are installed they are
tried too.
"""

from typing import ClassVar

import numpy as np
import pytest

import distfreeuq as dfu

PROBS = np.array([[0.75, 0.25], [0.5, 0.5], [0.25, 0.75], [0.125, 0.875]])
NAMES = ["a", "a", "b", "b"]


class Tensor:
    """As PyTorch's: attached to a graph it has no array, and bfloat16 has none."""

    def __init__(self, array, dtype="torch.float32", attached=True):
        self.array, self.dtype, self.attached = np.asarray(array), dtype, attached

    def detach(self):
        return Tensor(self.array, self.dtype, attached=False)

    def cpu(self):
        return self

    def float(self):
        return Tensor(self.array.astype(np.float32), "torch.float32", self.attached)

    def numpy(self):
        if self.attached:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad.")
        if self.dtype == "torch.bfloat16":
            raise TypeError("Got unsupported ScalarType BFloat16")
        return self.array

    def __array__(self, dtype=None, copy=None):
        return self.numpy()

    def __len__(self):
        return len(self.array)


class ArrowArray:
    """As pyarrow's: strings have no array without a copy."""

    def __init__(self, items):
        self.items = items

    def to_numpy(self, zero_copy_only=True):
        if zero_copy_only:
            raise ValueError("Needed to copy 1 chunks, but zero_copy_only was True")
        return np.array(self.items, dtype=object)

    def __array__(self, dtype=None, copy=None):
        return self.to_numpy(zero_copy_only=False)

    def __len__(self):
        return len(self.items)


def threshold(probs, labels=NAMES):
    fit = dfu.split_conformal(probs, labels, alpha=0.4, classes=["a", "b"], score="lac")
    return float(fit.thresholds[0])


@pytest.mark.parametrize("dtype", ["torch.float32", "torch.bfloat16"])
def test_tensors_are_detached_and_cast(dtype):
    tensor = Tensor(PROBS.astype(np.float32), dtype)
    assert threshold(tensor) == threshold(PROBS.astype(np.float32))
    assert tensor.attached  # which is the user's own


def test_arrow_strings_are_labels():
    assert threshold(PROBS, ArrowArray(NAMES)) == threshold(PROBS)
    with pytest.raises(dfu.InputError, match=r"'labels' parameter .* None at row 1"):
        threshold(PROBS, ArrowArray(["a", None, "b", "b"]))


def test_an_array_that_no_way_leads_to_is_named():
    class Refuses:
        def to_numpy(self):
            raise ValueError("no")

        def __array__(self, dtype=None, copy=None):
            raise ValueError("never")

    with pytest.raises(dfu.InputError, match=r"'probs' parameter .* \(never\)"):
        threshold(Refuses())


class DeviceArray:
    """As CuPy's: on a GPU, which NumPy does not reach by itself."""

    __cuda_array_interface__: ClassVar[dict[str, object]] = {}

    def __init__(self, array):
        self.array = array

    def get(self):
        return self.array

    def __array__(self, dtype=None, copy=None):
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")

    def __len__(self):
        return len(self.array)


class Capsule:
    """What has DLPack's protocol and nothing else."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **how):
        return self.array.__dlpack__(**how)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class MaybeLater:
    """As xarray's DataArray: it has Dask's protocol, whether or not it is Dask's."""

    ndim = 2

    def __init__(self, array, graph):
        self.array, self.graph = array, graph

    def __dask_graph__(self):
        return self.graph

    def __array__(self, dtype=None, copy=None):
        return self.array

    def __len__(self):
        return len(self.array)


def test_the_protocol_of_dask_alone_does_not_refuse_rows():
    assert threshold(MaybeLater(PROBS, None)) == threshold(PROBS)
    with pytest.raises(dfu.InputError, match="all rows are needed at once"):
        threshold(MaybeLater(PROBS, {"a": 1}))


class Elsewhere:
    """A query that has not been run."""

    def collect(self):
        raise AssertionError


def test_arrays_of_devices_and_of_dlpack():
    assert threshold(DeviceArray(PROBS)) == threshold(PROBS)
    assert threshold(Capsule(PROBS.copy())) == threshold(PROBS)


def test_rows_of_another_width_are_told_with_their_shape():
    fit = dfu.split_conformal(PROBS, [0, 0, 1, 1], alpha=0.4, score="lac")
    wide = np.full((4, 3), 1 / 3)
    for rows in (Tensor(wide), DeviceArray(wide), Capsule(wide)):
        with pytest.raises(dfu.InputError, match=r"Got shape \(4, 3\)"):
            fit.predict(rows)


def test_rows_that_are_not_there_yet():
    with pytest.raises(dfu.InputError, match=r"Elsewhere \(call its collect method\)"):
        threshold(Elsewhere())


def test_rows_of_bfloat16_sum_to_one_within_its_precision():
    rounded = np.array([[0.3320312, 0.3320312, 0.3378906]] * 20, dtype=np.float32)
    labels = [0, 1] * 10
    fit = dfu.split_conformal(
        Tensor(rounded, "torch.bfloat16"), labels, alpha=0.4, score="lac"
    )
    assert fit.n == 20
    with pytest.raises(dfu.InputError, match="sum to one"):
        dfu.split_conformal(Tensor(rounded), labels, alpha=0.4, score="lac")


# ------------------------------------------------------- the real ones, if installed


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
def test_tensors_of_pytorch(dtype):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    tensor = torch.tensor(PROBS, dtype=getattr(torch, dtype), requires_grad=True)
    assert threshold(tensor) == threshold(PROBS.astype(np.float32))
    labels = torch.tensor([0, 0, 1, 1])
    fit = dfu.split_conformal(tensor, labels, alpha=0.4, score="lac")
    assert fit.thresholds[0] == threshold(PROBS)
    sets = dfu.in_kind(fit.predict(tensor), tensor)
    assert sets.dtype == torch.bool and sets.device == tensor.device
    assert tensor.grad is None and tensor.requires_grad


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_arrays_of_jax(dtype):
    jnp = pytest.importorskip("jax.numpy", reason="JAX is not installed")
    array = jnp.asarray(PROBS, dtype=dtype)
    assert threshold(array) == threshold(PROBS.astype(np.float32))
    fit = dfu.split_conformal(array, jnp.asarray([0, 0, 1, 1]), alpha=0.4, score="lac")
    sets = dfu.in_kind(fit.predict(array), array)
    assert isinstance(sets, type(array))
    np.testing.assert_array_equal(np.asarray(sets), fit.predict(array).mask)


def test_data_arrays_of_xarray():
    xarray = pytest.importorskip("xarray", reason="xarray is not installed")
    coords = {"class": ["a", "b"], "patient": ["p", "q", "r", "s"]}
    array = xarray.DataArray(PROBS, dims=["patient", "class"], coords=coords)
    fit = dfu.split_conformal(array, NAMES, alpha=0.4, score="lac")
    sets = fit.predict(array)
    assert sets.index == ("p", "q", "r", "s")
    back = dfu.in_kind(sets, array)
    assert back.sel(patient="p", **{"class": "a"}).item() == sets.mask[0, 0]
    with pytest.raises(dfu.InputError, match="in the fit's order"):
        fit.predict(array[:, ::-1])


def test_arrays_of_arrow():
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    for names in (arrow.array(NAMES), arrow.chunked_array([NAMES[:1], NAMES[1:]])):
        assert threshold(PROBS, names) == threshold(PROBS)
        assert threshold(PROBS, names.dictionary_encode()) == threshold(PROBS)
    columns = arrow.array(PROBS[:, 1])
    fit = dfu.split_conformal(
        columns, NAMES, alpha=0.4, classes=["a", "b"], score="lac"
    )
    assert fit.thresholds[0] == threshold(PROBS)


def test_columns_of_arrow_are_the_classes():
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    table = arrow.table({"a": PROBS[:, 0], "b": PROBS[:, 1]})
    for rows in (table, table.to_batches()[0]):
        fit = dfu.split_conformal(rows, NAMES, alpha=0.4, score="lac")
        assert fit.classes == ("a", "b")
        with pytest.raises(dfu.InputError, match="in the fit's order"):
            fit.predict(rows.select(["b", "a"]))


def test_categories_of_polars_are_labels():
    polars = pytest.importorskip("polars", reason="polars is not installed")
    frame = polars.DataFrame({"a": PROBS[:, 0], "b": PROBS[:, 1]})
    for kind in (polars.String, polars.Categorical, polars.Enum(["b", "a"])):
        labels = polars.Series(NAMES, dtype=kind)
        fit = dfu.split_conformal(frame, labels, alpha=0.4, score="lac")
        assert fit.thresholds[0] == threshold(PROBS)
    with pytest.raises(dfu.InputError, match="call its collect method"):
        fit.predict(frame.lazy())
