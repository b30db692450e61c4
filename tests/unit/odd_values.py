"""Things people hand over by mistake, and a few that nobody would."""

import collections
import datetime
import decimal
import fractions
import io
from array import array
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse


class RaisesAsArray:
    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("no array today")


class RaisesAsText:
    def __float__(self) -> float:
        raise RuntimeError("no float today")

    def __repr__(self) -> str:
        raise RuntimeError("no text today")


class RaisesAsKey:
    def __hash__(self) -> int:
        raise RuntimeError("no hash today")


def odd_values() -> dict[str, Any]:
    """Return the values by name, made anew: iterators can be used only once."""
    n = 12
    rng = np.random.default_rng(5)
    probs = rng.dirichlet([1, 1, 1], size=n)
    labels = np.arange(n) % 3
    spoiled = {}
    for name, entry in {"nan": np.nan, "inf": np.inf, "negative": -0.1}.items():
        spoiled[f"probs with {name}"] = probs.copy()
        spoiled[f"probs with {name}"][7, 1] = entry
    objects = np.empty(n, dtype=object)
    objects[:] = [RaisesAsText() for _ in range(n)]
    return {
        # single things
        "None": None,
        "True": True,
        "0": 0,
        "1": 1,
        "-1": -1,
        "0.5": 0.5,
        "nan": float("nan"),
        "inf": np.inf,
        "-inf": -np.inf,
        "smallest": 5e-324,
        "below one": float(np.nextafter(1.0, 0.0)),
        "complex": 1j,
        "text": "x",
        "empty text": "",
        "bytes": b"x",
        "float32": np.float32(0.5),
        "longdouble": np.longdouble(0.5),
        "int64": np.int64(2),
        "bool_": np.bool_(True),
        "2**63": 2**63,
        "uint64": np.uint64(2**63),
        "10**400": 10**400,
        "-10**400": -(10**400),
        "10**5000": 10**5000,
        "fraction": fractions.Fraction(1, 2),
        "huge fraction": fractions.Fraction(10**400),
        "decimal": decimal.Decimal("0.5"),
        "NA": pd.NA,
        "NaT": pd.NaT,
        "span of time": np.timedelta64(2, "s"),
        # by its bits: NumPy 2.5 warns where a span without unit is made
        "span without unit": np.int64(2).view("m8"),
        "date": datetime.date(2020, 1, 1),
        "ellipsis": ...,
        "class": int,
        "frame class": pd.DataFrame,
        "function": len,
        "module": np,
        "slice": slice(3),
        "buffer": io.BytesIO(b"x"),
        # containers
        "[]": [],
        "[1]": [1],
        "[[1]]": [[1]],
        "[[[1]]]": [[[1]]],
        "[[]]": [[]],
        "()": (),
        "ragged": [[0.5, 0.5], [1.0]],
        "number and list": [1, [2]],
        "set": {0, 1},
        "dict": {0: 1},
        "keys": {0: 1}.keys(),
        "values": {0: 1}.values(),
        "counter": collections.Counter([1]),
        "generator": (i for i in range(3)),
        "map": map(int, "012"),
        "range": range(3),
        "deque": collections.deque([0, 1, 2]),
        "array.array": array("d", [0.5, 0.5]),
        "memoryview": memoryview(b"abc"),
        "mixed names": ["a", 1, None] * (n // 3),
        "unhashable": [[1], {}] * (n // 2),
        "list of sets": [{1}] * n,
        "huge labels": [2**70] * n,
        "raises as array": RaisesAsArray(),
        "list that raises": [RaisesAsArray()] * n,
        "raises as text": RaisesAsText(),
        "raises as key": [RaisesAsKey()] * n,
        # arrays
        "0-d": np.array(0.5),
        "0-d object": np.array(None),
        "0-d text": np.array("x"),
        "(0,)": np.empty(0),
        "(0, 2)": np.empty((0, 2)),
        "(0, 3)": np.empty((0, 3)),
        "(n, 0)": np.empty((n, 0)),
        "(n, 1)": np.ones((n, 1)),
        "(3, 3, 3)": np.full((3, 3, 3), 1 / 3),
        "probs": probs,
        "probs times 7": probs * 7,
        "probs times 1.001": probs * 1.001,
        **spoiled,
        "longdouble beyond float64": np.full((n, 3), np.longdouble("1e4000")),
        "complex probs": probs + 0j,
        "text of numbers": probs.astype(str),
        "objects of text": probs.astype(str).astype(object),
        "objects with None": np.array([None, 1], dtype=object),
        "objects that raise": objects,
        "masked probs": np.ma.array(probs, mask=probs < 0.1),
        "masked labels": np.ma.array(labels, mask=labels == 1),
        "sparse matrix": scipy.sparse.csr_matrix(probs),
        "sparse array": scipy.sparse.coo_array(probs),
        "records": np.rec.array([(1, 2.0)], dtype=[("a", int), ("b", float)]),
        "structured": np.zeros(n, dtype=[("a", float), ("b", int)]),
        "dates": np.array(["2020-01-01"] * n, dtype="M8[D]"),
        "NaTs": np.array(["NaT"] * n, dtype="M8[ns]"),
        "durations": np.ones(n, dtype="m8[s]"),
        "labels": labels,
        "labels short": labels[:-1],
        "labels as row": labels[None],
        "labels minus one": labels - 1,
        "labels plus half": labels + 0.5,
        "labels with nan": np.where(labels == 1, np.nan, labels),
        "labels with inf": np.where(labels == 1, np.inf, labels),
        "labels as text": labels.astype(str),
        "labels as bytes": labels.astype("S1"),
        "labels 2**64 - 1": np.full(n, 2**64 - 1, dtype=np.uint64),
        "zeros": np.zeros(n),
        "minus ones": -np.ones(n),
        "infinities": np.full(n, np.inf),
        "nans": np.full(n, np.nan),
        # pandas
        "frame": pd.DataFrame(probs, columns=list("abc")),
        "frame, column twice": pd.DataFrame(probs, columns=list("aba")),
        "frame, column nan": pd.DataFrame(probs, columns=["a", np.nan, "b"]),
        "frame with text": pd.DataFrame({"a": probs[:, 0], "b": ["x"] * n}),
        "frame with NA": pd.DataFrame(probs).astype("Float64").mask(probs < 0.1),
        "series with NA": pd.Series([0, None] * (n // 2), dtype="Int64"),
        "series of text": pd.Series(["a"] * n),
        "categorical": pd.Categorical(["a"] * n),
        "dates index": pd.date_range("2020-01-01", periods=n),
        # random numbers
        "RandomState": np.random.RandomState(0),
        "BitGenerator": np.random.PCG64(0),
        "np.random": np.random,
    }
