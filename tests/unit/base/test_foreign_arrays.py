"""Tensors and Arrow arrays: the numbers and names they hold, without their library.

The stand-ins refuse what the real ones refuse; where those are installed they are
tried too.
"""

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


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
def test_real_tensors(dtype):
    torch = pytest.importorskip("torch")
    tensor = torch.tensor(PROBS, dtype=getattr(torch, dtype), requires_grad=True)
    assert threshold(tensor) == threshold(PROBS.astype(np.float32))
    labels = torch.tensor([0, 0, 1, 1])
    assert dfu.split_conformal(tensor, labels, alpha=0.4, score="lac").thresholds[
        0
    ] == threshold(PROBS)


def test_real_arrow_arrays():
    arrow = pytest.importorskip("pyarrow")
    for names in (arrow.array(NAMES), arrow.chunked_array([NAMES[:1], NAMES[1:]])):
        assert threshold(PROBS, names) == threshold(PROBS)
    columns = arrow.array(PROBS[:, 1])
    fit = dfu.split_conformal(
        columns, NAMES, alpha=0.4, classes=["a", "b"], score="lac"
    )
    assert fit.thresholds[0] == threshold(PROBS)
